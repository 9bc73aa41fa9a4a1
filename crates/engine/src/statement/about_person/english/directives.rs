//! Reads lasting directives in English: "always …", "never …", "from now on …", "don't … unless I ask", "stop …ing".

use std::sync::LazyLock;

use super::{Frame, LASTING, LEADS, PROJECT, STANDING, TAILS, domain, is_imperative, is_one_off, leads_with, talks};
use crate::statement::about_person::prose::Token;
use crate::statement::about_person::{Context, Found, SignalKind, eat, has, has_phrase, led, trimmed, unmarked};
use crate::text::language::lexicon;
use crate::text::patterns::{Phrases, Words, one_of, phrases, words};

/// Phrases that may come before the imperative.
static WISHES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "i'd|i would? like you to / i want|need|expect you to / i'd|i would? prefer|rather that? you / you \
        should|must|shall / you are to / make|be sure that? you|to? / ensure that? you? / let's|lets / try to / \
        please / i ask you to / you'd better / i'd|i would? appreciate it if you / i told you to / i have|i've told \
        you to",
    )
});

/// Reads a lasting directive to the assistant in a clause.
pub fn directive<'t>(tokens: &'t [Token], frame: &Frame) -> Option<Found<'t>> {
    let mut frame = Frame { context: frame.context, ..*frame };
    let mut tokens = tokens;
    // A condition may come first: "Whenever you …, run …", "when I …, always …", "if you are unsure, never …".
    if let Some(rest) = eat(tokens, phrases!("whenever|everytime|anytime / every|each|any time")) {
        let rest = after_condition(rest, words!("i you we i'm you're"))?;
        let body = wished(rest);
        return finish(tokens, body, &frame, true);
    }
    if let Some(rest) = eat(tokens, phrases!("when|if|before|after|unless")) {
        let rest = after_condition(
            rest,
            words!(
                "i you we i'm you're unsure in uncertain asked something asking writing answering replying \
                responding committing pushing explaining working editing coding refactoring"
            ),
        )?;
        frame.condition = true;
        return finish(tokens, wished(rest), &frame, false);
    }
    let mut body = wished(tokens);
    let first = body.first()?;
    let may = is_imperative(first)
        || one_of(first, words!("dont no all your every any answers replies responses git"))
        || is_short(body);
    if !may && !frame.standing && !frame.listed && !frame.project && !frame.general {
        return None;
    }
    if !frame.project && has_phrase(body, &PROJECT) {
        frame.project = true;
    }
    if frame.project {
        body = eat(body, phrases!("we|everyone|everybody")).unwrap_or(body);
    }
    tokens = if eat(body, phrases!("always|never|only|don't|do|dont")).is_some() { body } else { tokens };
    let after = &body[1.min(body.len())..];
    let replies = body.first().is_some_and(|t| one_of(t, &lexicon::CONDUCT))
        || has(body, words!("answers answer replies reply responses response emojis me don't"));
    let purpose = has(body, words!("so can could will would if"));
    let standing = frame.standing || has_phrase(after, &LASTING) || replies && !purpose && has_phrase(after, &STANDING);
    finish(tokens, body, &frame, standing)
}

/// Returns the directive after a condition ("whenever you do X, …"), if the condition is about the conversation.
fn after_condition<'t>(tokens: &'t [Token], subjects: &Words) -> Option<&'t [Token]> {
    tokens.first().filter(|t| one_of(t, subjects))?;
    let comma = tokens.iter().position(|t| t.low == "," && !t.quoted)?;
    (!has(&tokens[..comma], words!("this the click press")) || has(&tokens[..comma], words!("me tests task code")))
        .then(|| led(&tokens[comma..], &LEADS))
}

fn wished(mut tokens: &[Token]) -> &[Token] {
    while let Some(rest) = eat(tokens, &WISHES) {
        tokens = unmarked(rest);
    }
    tokens
}

fn finish<'t>(core: &'t [Token], body: &'t [Token], frame: &Frame, standing: bool) -> Option<Found<'t>> {
    let context = frame.context?;
    let found = |confidence: f64| {
        let kind = if frame.project { SignalKind::Rule } else { SignalKind::Preference };
        Some(Found { kind, core: trimmed(core, &TAILS), confidence })
    };
    let second = body.iter().filter(|t| t.word).count() >= 2;
    if !second {
        return None;
    }
    if let Some(rest) = eat(
        body,
        phrases!("always|never ever? always|never? / never , ever / don't|dont you? ever / do not ever / only ever"),
    ) {
        let rest = led(rest, phrases!("please / again / try to / remember to / just"));
        let negative = eat(body, phrases!("never|don't|dont|do")).is_some();
        return strength(rest, frame, context, negative).and_then(found);
    }
    if let Some(rest) = eat(body, phrases!("stop")) {
        return stopped(rest, frame).and_then(found);
    }
    let guarded = has_phrase(
        body,
        phrases!(
            "unless i explicitly|specifically? ask|say|tell|request|want / unless asked|told|requested / unless \
            explicitly|specifically asked|told|requested / without asking / without my \
            permission|approval|consent|confirmation|okay|ok"
        ),
    );
    if let Some(rest) = eat(body, phrases!("don't|dont / do not")) {
        let ok = standing || guarded || frame.listed || frame.general && talks(rest);
        return if ok { strength(rest, frame, context, true).and_then(found) } else { None };
    }
    if frame.condition {
        return None;
    }
    if standing || frame.listed {
        if let Some(rest) = eat(body, phrases!("only|always|never")).or(Some(body))
            && let Some(confidence) = strength(rest, frame, context, false)
        {
            return found(confidence.max(0.8));
        }
        // Directives without a verb: "From now on no emojis", "all replies in German".
        let first = body.first()?;
        let bare = eat(body, phrases!("no more?"))
            .is_some_and(|rest| !leads_with(rest, words!("the this that one need problem")))
            && domain(body);
        let answers = one_of(first, words!("all your every any only answers replies responses commit"))
            && has(
                &body[..body.len().min(5)],
                words!("answers answer replies reply responses response messages commits comments"),
            );
        return if (bare || answers || is_short(body)) && !is_one_off(body, frame.project) { found(0.8) } else { None };
    }
    if frame.general && one_of(&body[0], &lexicon::CONDUCT) {
        return strength(body, frame, context, false).and_then(found);
    }
    None
}

/// Whether a directive is one of the short forms "German, please" and "short answers".
fn is_short(body: &[Token]) -> bool {
    leads_with(body, words!("german english french spanish italian dutch portuguese"))
        || eat(body, phrases!("short|shorter|concise|brief answers|replies")).is_some()
}

/// Returns the confidence that an imperative is for the assistant and is to last; `None` if it is not.
fn strength(tokens: &[Token], frame: &Frame, context: &Context, negative: bool) -> Option<f64> {
    let tokens = eat(tokens, phrases!("git")).unwrap_or(tokens);
    let verb = tokens.first().filter(|t| t.word && !t.quoted)?;
    let rest = unmarked(&tokens[1..]);
    let lone = !rest.iter().any(|t| t.word);
    if is_one_off(rest, frame.project) || leads_with(rest, words!("them they him her he she do")) {
        return None;
    }
    let firm = frame.standing || frame.remember || frame.listed || frame.project;
    if context.persona && !frame.standing && !frame.remember {
        return None;
    }
    let (talks, program) = (talks(rest), has(rest, &lexicon::PROGRAM));
    let me = has(rest, words!("me my i i'm i've asking permission"));
    let act = verb.low.as_str();
    if act == "be" {
        let manner = rest.iter().find(|t| !one_of(t, words!("more very as super extra a bit less")))?;
        return one_of(manner, &lexicon::MANNER).then_some(0.85);
    }
    if one_of(verb, &lexicon::CONDUCT) {
        let refs = words!(
            "main master origin remote branch branches force without unless production prod code changes directly \
            before after anything commits to"
        );
        let strange = match act {
            "push" | "force-push" => {
                !lone && !me && !has(rest, refs) || has(rest, words!("stack queue array list buffer onto"))
            }
            "commit" => {
                has(rest, words!("transaction tx offset offsets")) || eat(rest, phrases!("to memory")).is_some()
            }
            "greet" | "thank" | "speak" | "talk" | "guess" | "invent" | "lecture" | "praise" | "swear"
            | "compliment" => context.task && !me,
            "explain" => eat(rest, phrases!("away|yourself")).is_some(),
            _ => rest.iter().any(|t| t.low.len() == 3 && t.low.chars().all(|c| c.is_ascii_digit())),
        };
        return (!strange && (!program || me || has(rest, words!("english german french spanish tl;dr emojis emoji"))))
            .then_some(0.9);
    }
    if !one_of(verb, &lexicon::WORK) || lone && !frame.listed {
        return None;
    }
    let quoted = rest.iter().any(|t| t.quoted);
    let shaky = words!(
        "sort round split merge insert sign address begin bump call deploy do draft end finish focus follow give \
        include keep leave limit look make mention move name offer outline plan point publish put quote read \
        recommend remind run say search send share show skip start state stay stick stop tell think touch treat try \
        wait work backup provide suggest change modify check ask assume update"
    );
    let bound = match act {
        "give" => eat(rest, phrases!("up|in")).is_some(),
        "stop" | "keep" => rest.first().is_some_and(|t| t.low.ends_with("ing") && t.low != "using"),
        "ask" => !(me || has(rest, words!("first before clarification questions confirmation clarifying"))),
        "call" => eat(rest, phrases!("me")).is_none(),
        "look" => eat(rest, phrases!("at|for|up")).is_none() || eat(rest, phrases!("for the")).is_some(),
        "make" => eat(rest, phrases!("sure")).is_none() && !domain(rest),
        "assume" | "do" => negative && leads_with(rest, words!("the that it anything your")),
        _ => false,
    };
    let definite = leads_with(rest, words!("the a an"))
        && one_of(verb, words!("use add keep put include set create start show check limit run state write"))
        && leads_with(rest, words!("the"));
    let softened = eat(
        rest,
        phrases!(
            "the tests|test|linter|formatter|type-checker|build|diff / the \
            metric|oxford|imperative|simplest|active|passive / the user's|24-hour|word|words|phrase|term"
        ),
    )
    .is_some();
    if bound || program && !me && !firm || definite && !softened && !talks && !firm {
        return None;
    }
    if context.task && !talks && !firm {
        return None;
    }
    if one_of(verb, shaky)
        && !talks
        && !quoted
        && !domain(rest)
        && !firm
        && act != "ask"
        && act != "assume"
        && act != "do"
    {
        return None;
    }
    if one_of(verb, words!("do assume")) && !talks && !domain(rest) && !firm {
        return None;
    }
    Some(if talks { 0.85 } else { 0.7 })
}

/// Returns the confidence of "stop adding comments", as opposed to "stop running the server".
fn stopped(rest: &[Token], frame: &Frame) -> Option<f64> {
    let verb = rest.first().filter(|t| t.word && !t.quoted)?;
    let rest = &rest[1..];
    let conduct = words!(
        "apologizing apologising summarizing summarising explaining guessing hallucinating inventing praising \
        flattering lecturing moralizing moralising repeating assuming complimenting thanking"
    );
    let work = words!(
        "adding using saying writing putting inserting ending starting giving asking calling telling pushing \
        committing creating making"
    );
    if is_one_off(rest, frame.project)
        || leads_with(rest, words!("the your a an it to")) && !talks(rest)
        || has(rest, &lexicon::PROGRAM)
        || has(rest, words!("the from"))
    {
        return None;
    }
    if one_of(verb, conduct) {
        return Some(0.7);
    }
    (one_of(verb, work) && (talks(rest) || has(rest, &lexicon::TASTE)) && !leads_with(rest, words!("the")))
        .then_some(0.65)
}
