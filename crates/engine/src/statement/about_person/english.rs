//! Reads strong signals in English.

mod directives;

use std::sync::LazyLock;

use self::directives::directive;
use super::profile::{self, Value};
use super::prose::{Sentence, Token};
use super::{
    Context, Found, Joint, SignalKind, clauses, eat, has, has_phrase, is_question, joined, led, trimmed, unmarked,
};
use crate::text::language::lexicon;
use crate::text::patterns::{Phrases, Words, one_of, phrases, words};

/// Phrases before a statement that carry no meaning.
static LEADS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "please|pls|plz|kindly / also / please? note that / and / but / so / ok|okay|k / btw|fyi|ps|p.s / by the \
        way / oh|ah|um|well / hey|hi|hello|hallo there? / good morning|evening|afternoon / thanks|thx|cheers / \
        thank you / just / one more thing / one last thing / one thing / one|another \
        rule|preference|note|request|reminder / yes|yeah|yep|no|nope , / \
        great|perfect|nice|cool|good|awesome|looks|lgtm good? / again / sorry / then / \
        important|reminder|rule|rules|preference|preferences|note|nb / in addition / additionally / for the record \
        / for your? future? reference|information|info / heads up / to be clear / as|like i said / actually / in \
        short / personally / first of all / very|most important / remember to / make it a habit to / my rule : / \
        house rule : / ground rule :",
    )
});

/// "Remember that …": announces a statement that is to be kept.
static REMEMBER: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "remember : / remember , i|i'm|my / remember that / remember this|these? : / remember this|these? , / \
        remember for? later : / remember i|i'm|im|my|me / always? keep in mind that|:? / bear in mind that|:? / \
        don't|dont|do forget that|: / do not forget that|: / make a note that|: / note to self|yourself : / \
        add|save|commit this|it? to your? memory :|that / memorize|memorise that|: :?",
    )
});

/// Phrases before a statement that make it last beyond the current work.
static STANDING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "from now on|onward|onwards / from here on out? / from this point on|onward|onwards|forward / from today \
        on|onwards / starting now / going forward|forwards / moving forward|forwards / henceforth / in the? future \
        / in all? future conversations|chats|sessions|replies|answers / for all? future \
        conversations|chats|sessions|replies|answers|reference / at all times / across all \
        conversations|sessions|chats / in every|all \
        conversation|conversations|session|sessions|chat|chats|reply|replies|answer|answers|response|responses / \
        for every|all reply|replies|answer|answers|response|responses|conversations",
    )
});

/// The same kind of phrases, which count at any position.
static LASTING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "from now on|onward|onwards / from here on / from this point on|onward|onwards / going forward|forwards / \
        moving forward|forwards / henceforth",
    )
});

/// Phrases for the general case. Such a statement may also describe a program, because programs have defaults too.
static GENERAL: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::of("by default / in general / generally speaking? / as a general? rule of? thumb?"));

/// Phrases at the end of a statement that make it last, or that carry no meaning.
static TAILS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "from now on / from now onwards / from here on / from here on out / going forward / going forwards / moving \
        forward / henceforth / in future / in the future / at all times / every single time / in all conversations \
        / in all sessions / please / thanks / thank you / thx / ok / okay / pls / by default / in general / always \
        / for all future conversations / in every session / in every conversation / in every chat",
    )
});

/// Words before a first-person statement which show that somebody else is speaking.
pub static SUSPECT: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "if unless whether suppose imagine pretend assume assuming say says said saying told tells wrote writes \
        states claims claim claimed claiming docs documentation readme according example e.g input output error \
        message prints returns test string reply replies text like as when because why think thinks believe he she \
        they character persona quote",
    )
});

static SUBJECTS: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "the a an this that it they he she we you there these those my our its his her their i who which it's \
        that's he's she's we're they're i'm i've you're we've i'll we'll there's every each some all any because \
        since when while where why how what if unless",
    )
});

/// Returns the signals of one sentence.
pub fn read<'t>(prompt: &str, sentence: &'t Sentence, context: &Context) -> Vec<Found<'t>> {
    let tokens = &sentence.tokens[..];
    let tagged = has_phrase(tokens, phrases!(", ok|okay|alright|please|thanks ?"));
    let asks = is_question(tokens) && !tagged || asks(led(tokens, &LEADS));
    let (mut found, mut done): (Vec<Found<'t>>, bool) = (Vec::new(), false);
    for (from, joint) in clauses(tokens) {
        let (before, here) = (&tokens[..from], &tokens[from..]);
        let (mut clause, mut frame) = (led(here, &LEADS), Frame::default());
        frame.listed = sentence.listed && joint == Joint::Start;
        frame.context = Some(context);
        if let Some(rest) = eat(clause, &REMEMBER) {
            // The pattern may have consumed the first word of the statement to be remembered.
            let last = clause.len() - rest.len() - 1;
            let own = one_of(&clause[last], words!("i i'm im my me"));
            frame.said_that = !own || last > 1;
            clause = led(if own { &clause[last..] } else { rest }, &LEADS);
            frame.remember = true;
        }
        clause = frame.open(clause);
        if has(before, &SUSPECT) && !before.is_empty() {
            continue;
        }
        let speaks = joint != Joint::Colon || frame.may_stand(before, joint, clause);
        if let Some((key, value, confidence, rest)) = about_me(prompt, clause).filter(|_| speaks) {
            // "My name is Marta, can you help me?" states a name; "My name is Marta?" asks.
            if !asks
                || joint == Joint::Start
                    && rest.first().is_some_and(|t| matches!(t.low.as_str(), "," | ";" | "—" | "–" | "."))
            {
                if !found.iter().any(|f| matches!(&f.kind, SignalKind::Profile { key: k, .. } if *k == key)) {
                    found.push(Found { kind: SignalKind::Profile { key, value }, core: clause, confidence });
                }
                continue;
            }
        }
        if asks || done || !frame.may_stand(before, joint, clause) {
            continue;
        }
        let wishes = several(clause, &frame);
        if wishes.is_empty() {
            found.extend(wish(clause, &frame));
        }
        found.extend(wishes);
        done = found.iter().any(|f| !matches!(f.kind, SignalKind::Profile { .. }));
    }
    found
}

/// Reads one statement.
fn wish<'t>(clause: &'t [Token], frame: &Frame) -> Option<Found<'t>> {
    first_person(clause, frame).or_else(|| directive(clause, frame)).or_else(|| remembered(clause, frame))
}

/// Reads the wishes of one clause: "I prefer …, and never …" has two statements, to which the phrases before the clause
/// apply alike.
fn several<'t>(clause: &'t [Token], frame: &Frame) -> Vec<Found<'t>> {
    let lasting = frame.standing || has_phrase(clause, &LASTING);
    let open = |rest: &'t [Token]| {
        let mut next =
            Frame { standing: lasting || frame.listed, listed: false, condition: false, said_that: false, ..*frame };
        let rest = next.open(led(rest, &LEADS));
        leads_with(rest, words!("always never don't dont do stop no only i i'd you please")).then_some((rest, next))
    };
    // Only the first part may be the object of "remember": "remember that I …".
    let read = |part: &'t [Token], frame: Frame| {
        let first = part.first().map(|t| t.start) == clause.first().map(|t| t.start);
        if first { wish(part, &frame) } else { first_person(part, &frame).or_else(|| directive(part, &frame)) }
    };
    joined::wishes(clause, Frame { standing: lasting, ..*frame }, open, read)
}

/// The phrases before a clause that determine how it is read.
#[derive(Clone, Copy, Default)]
struct Frame<'c> {
    remember: bool,
    /// Whether it was "remember that" or "remember:", not only "remember".
    said_that: bool,
    /// Whether "from now on" came before, or the clause is an item of a list under it.
    standing: bool,
    general: bool,
    /// Whether "in this repository" came before.
    project: bool,
    /// Whether "if you …, " came before: then only a directive with always or never counts.
    condition: bool,
    listed: bool,
    context: Option<&'c Context>,
}

static PROJECT: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(
        "in|for|within|across|inside this|our|the repo|repository|project|workspace|codebase|monorepo|code-base",
    )
});

impl Frame<'_> {
    /// Consumes the phrases at the front that make a statement last, and records them in the frame.
    fn open<'t>(&mut self, mut tokens: &'t [Token]) -> &'t [Token] {
        loop {
            let next = if let Some(rest) = eat(tokens, &STANDING) {
                self.standing = true;
                rest
            } else if let Some(rest) = eat(tokens, &GENERAL) {
                self.general = true;
                rest
            } else if let Some(rest) = eat(tokens, &PROJECT) {
                self.project = true;
                rest
            } else {
                return tokens;
            };
            tokens = led(next, &LEADS);
        }
    }

    /// Whether a statement may begin here, after the part of the sentence before it.
    fn may_stand(&self, before: &[Token], joint: Joint, clause: &[Token]) -> bool {
        let before = led(before, &LEADS);
        let Some(first) = before.iter().find(|t| t.word) else { return true };
        if joint == Joint::Colon {
            return !one_of(first, &TASKS)
                && has(
                    before,
                    words!("rule rules preference preferences favour favor request note reminder remember thing"),
                );
        }
        let mine = clause.first().is_some_and(|t| one_of(t, words!("i i'd i'm my")));
        match joint {
            _ if self.standing || self.remember => true,
            Joint::Start | Joint::Break => true,
            _ if mine => true,
            Joint::Comma | Joint::Word => !one_of(first, &SUBJECTS) && (joint == Joint::Comma || is_imperative(first)),
            Joint::Colon => false,
        }
    }
}

fn is_imperative(token: &Token) -> bool {
    one_of(token, &lexicon::CONDUCT)
        || one_of(token, &lexicon::WORK)
        || one_of(token, &TASKS)
        || one_of(token, words!("don't do never always only stop"))
}

/// Whether the tokens ask a question: "should I always …", "do you prefer …", "why …".
fn asks(tokens: &[Token]) -> bool {
    let verbs = words!(
        "should can could would do does did is are will may shall must have has am was were isn't aren't don't \
        doesn't didn't won't wouldn't shouldn't can't couldn't"
    );
    let subjects =
        words!("i you we it he she they the this that there my your our these those people users someone anyone");
    let words = words!("why what how who which where whose what's how's who's");
    leads_with(tokens, words) || leads_with(tokens, verbs) && leads_with(&tokens[1..], subjects)
}

static TASKS: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "implement create build add make fix refactor update design develop port convert migrate rewrite extend \
        change remove rename generate write introduce support set let use replace move draft code",
    )
});

/// Whether the sentence asks to build something; the next sentences may then describe the result.
pub fn is_task(tokens: &[Token]) -> bool {
    let start = led(tokens, &LEADS);
    let start = eat(
        start,
        phrases!(
            "can|could|would you please? / i'd|i would? like you? to / i want|need you? to / we need|want|have to / \
            help me / let's / you should|must / your task is to"
        ),
    )
    .unwrap_or(start);
    let shall = has(tokens, words!("should must shall needs supports"))
        && start.first().is_some_and(|t| one_of(t, &SUBJECTS) && !one_of(t, words!("i you")));
    start.first().is_some_and(|t| t.word && one_of(t, &TASKS)) && words(start) >= 2
        || shall
        || eat(
            start,
            phrases!(
                "i need|want a|an / we need|want a|an / a|an function|class|component|script|service|tool|program|app"
            ),
        )
        .is_some()
}

/// Whether the sentence assigns a role: "You are a …".
pub fn is_persona(tokens: &[Token]) -> bool {
    let start = led(tokens, &LEADS);
    eat(
        start,
        phrases!(
            "you are a|an|the|my|now|working|tasked|in|reviewing|helping / you're a|an|the|my|now / your \
            task|job|role|goal|mission is / act|behave as / role|task|system|context : / as a|an|the"
        ),
    )
    .is_some()
}

fn about_me<'t>(prompt: &str, tokens: &'t [Token]) -> Option<Value<'t>> {
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "my full|real|first? name is|'s / my name's / i'm|im called|named / i am called|named / i go by the \
            name of?"
        ),
    ) {
        return profile::name(prompt, rest);
    }
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "you can|may|should call me / call me / just call me / i'd|i would? like you to call me / i'd|i would? \
            prefer|like to be called / address me as / refer to me as / i go by"
        ),
    ) {
        return profile::pronouns(rest).or_else(|| profile::nickname(prompt, rest));
    }
    if let Some(rest) = eat(
        tokens,
        phrases!("my preferred? pronouns are|: :? / my preferred? pronouns / i use / pronouns|pronoun : / i go by"),
    ) && let Some(found) = profile::pronouns(rest)
    {
        return Some(found);
    }
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "my local? timezone|time-zone is|: set? to? / my time zone is|: set? to? / i'm|im in|on the? timezone / \
            i am in|on the? timezone / i'm|im in|on / i am in|on / i live|work in|on the? timezone / my local time \
            is / timezone :"
        ),
    ) && let Some(found) = profile::timezone(prompt, rest)
    {
        return plain_end(found, words!("time timezone zone time-zone so and but right currently now here"));
    }
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "i currently? live in / i'm|im currently? based|located|living in|at? / i am currently? \
            based|located|living in / i currently? reside in / my location|city is|: / my home town? is"
        ),
    ) {
        return profile::location(prompt, rest);
    }
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "my native|first|mother|preferred|main|primary language is|: / my language is|: / my mother tongue is / \
            my preferred language for replies is"
        ),
    ) {
        return profile::language(rest, 0.9);
    }
    if let Some(rest) = eat(tokens, phrases!("i only|mostly|mainly? speak")) {
        return profile::language(rest, 0.85);
    }
    if let Some(rest) = eat(
        tokens,
        phrases!(
            "i'm|im a|an|the / i am a|an|the / i work as a|an|the? / my job|role|profession|occupation|title is \
            a|an|the? / my job title is a|an|the? / i'm|im currently working as a|an / by profession|trade i'm \
            a|an"
        ),
    ) {
        let played = has(rest, words!("scenario story example game roleplay role-play hypothetical novel"));
        return profile::role(prompt, rest, &lexicon::ROLES, &profile::STOPS, 0).filter(|_| !played);
    }
    None
}

/// Returns a value only if it ends the clause or a word from `fine` follows it.
fn plain_end<'t>(found: Value<'t>, fine: &Words) -> Option<Value<'t>> {
    found.3.first().is_none_or(|t| !t.word || one_of(t, fine)).then_some(found)
}

/// Reads "I prefer …" and similar statements.
fn first_person<'t>(tokens: &'t [Token], frame: &Frame) -> Option<Found<'t>> {
    if frame.condition {
        return None;
    }
    let core = trimmed(tokens, &TAILS);
    let found = |confidence| {
        let kind = if frame.project { SignalKind::Rule } else { SignalKind::Preference };
        Some(Found { kind, core, confidence })
    };
    let one_off = |t: &[Token]| is_one_off(t, frame.project);
    if let Some(rest) = eat(
        core,
        phrases!(
            "i strongly|generally|usually|really|personally|typically|normally|always|much|definitely|also? \
            prefer|favour|favor / my general? preference is / my preferred|favourite|favorite / in general i \
            prefer"
        ),
    ) {
        let named = eat(core, phrases!("my preferred|favourite|favorite")).is_some();
        let verb = !named || has(&rest[..rest.len().min(5)], words!("is are"));
        let always = eat(core, phrases!("i always|generally|usually")).is_some();
        return if verb && preferable(rest, always, frame) && !one_off(rest) && (!named || domain(rest)) {
            found(0.8)
        } else {
            None
        };
    }
    if let Some(rest) = eat(
        core,
        phrases!(
            "i always|usually|generally|typically|normally want|like|expect / i never want|like|need / i \
            don't|dont|do ever want / i do not ever want / i want|need|expect you always|never"
        ),
    ) {
        // "I always want to cry when …" is not an instruction.
        let about = domain(rest) || has(rest, words!("you your"));
        return if about && !leads_with(rest, words!("the")) && !one_off(rest) { found(0.8) } else { None };
    }
    if let Some(rest) = eat(
        core,
        phrases!(
            "i always|usually|typically|normally|only|never \
            use|write|indent|format|squash|rebase|work|code|commit|develop"
        ),
    ) {
        return if !has(rest, words!("the but and it when error errors get got"))
            && !one_off(rest)
            && rest.iter().any(|t| t.word)
        {
            found(0.65)
        } else {
            None
        };
    }
    if let Some(rest) =
        eat(core, phrases!("i'd|i would? really|much? rather|prefer that|if|it? if? you / i'd|i would? rather you"))
    {
        return if has(rest, words!("always never ever")) && !one_off(rest) { found(0.85) } else { None };
    }
    if (frame.standing || has_phrase(tokens, &LASTING))
        && let Some(rest) =
            eat(core, phrases!("i want|need|expect|prefer|would / i'd like|prefer|rather|love|appreciate"))
    {
        return if !one_off(rest) && words(rest) >= 2 && domain(rest) { found(0.85) } else { None };
    }
    if let Some(rest) = eat(
        core,
        phrases!(
            "i hate|dislike|like|love|prefer it? when you / i don't|dont|do like|want it? when you / i can't stand \
            it? when you / i do not like it? when you"
        ),
    ) {
        return if !one_off(rest)
            && domain(&rest[1.min(rest.len())..]) | has(rest, &lexicon::CONDUCT)
            && !has(rest, words!("the did were was said"))
        {
            found(0.75)
        } else {
            None
        };
    }
    if let Some(rest) = eat(
        core,
        phrases!(
            "i really|generally|usually? like|love to see|have|get|review|read|receive|be / i \
            really|absolutely|generally|usually|also|strongly? like|love|hate|dislike|detest|loathe / i really? \
            can't|cannot stand / i really? don't|dont like|want / i do not like|want"
        ),
    ) {
        let soon = &rest[..rest.len().min(5)];
        let doing = soon.first().is_some_and(|t| {
            t.low.ends_with("ing") && !one_of(t, words!("having seeing getting naming formatting spelling"))
        });
        let bare = !doing
            && !leads_with(rest, words!("the your how what that it when if is to a an being doing you my i"))
            && !has(soon, words!("the your more another an a"));
        // "I don't want comments in the diff" is a task; such a wish lasts only with a word that makes it last.
        let wants = eat(core, phrases!("i really? don't|dont want / i do not want")).is_some();
        return if bare
            && !wants
            && has(soon, &lexicon::TASTE)
            && !one_off(rest)
            && !has(rest, words!("the because so lol but"))
        {
            found(0.65)
        } else {
            None
        };
    }
    let senses =
        phrases!("colorblind|colourblind|color-blind|colour-blind|dyslexic|deaf|left-handed / color|colour blind");
    let am = eat(core, phrases!("i'm|im / i am")).unwrap_or_default();
    if eat(am, senses).is_some() {
        let end = core
            .iter()
            .position(|t| !t.word && matches!(t.low.as_str(), "," | ";" | "—" | "–") || one_of(t, words!("so and")));
        return Some(Found { kind: SignalKind::Identity, core: &core[..end.unwrap_or(core.len())], confidence: 0.85 });
    }
    None
}

/// Whether the preference is a way of working, not one of several options just offered.
fn preferable(rest: &[Token], always: bool, frame: &Frame) -> bool {
    let rest = unmarked(rest);
    let Some(first) = rest.first().filter(|t| t.word) else { return false };
    let offered = words!(
        "it them option options approach approaches version variant solution number both neither either former \
        latter second first your yours that this these those one none not plan a. b. another more less him her"
    );
    if first.low.chars().count() == 1 && first.low != "a" || one_of(first, offered) && !first.quoted {
        return eat(
            rest,
            phrases!(
                "not to be / that you / it when|if you / less verbose|verbosity|talk|text / more \
                concise|verbose|detailed|detail / your answers|replies|responses|explanations / not using|having"
            ),
        )
        .is_some();
    }
    let known =
        words!("metric imperial oxford imperative terminal command 24-hour 24h iso functional passive active simplest");
    let definite = rest.iter().zip(rest.iter().skip(1)).any(|(a, b)| a.low == "the" && !a.quoted && !one_of(b, known));
    // "I always prefer the builder pattern" is about all future work, unless it refers to existing things.
    let pointed = words!("you your we it is was were has had old new other same current existing last next");
    let lasting = always && !has(rest, pointed) && !has(rest, offered);
    if definite && !frame.project && !lasting {
        return false;
    }
    let article = one_of(first, words!("a an one two three"));
    let general = words!(
        "tone style format layout theme mode editor approach way answer language voice font look register level \
        amount spelling notation clock"
    );
    if has(rest, words!("instead rather better")) && rest.len() <= 3 {
        return false;
    }
    !article || has(rest, general)
}

/// Reads a first-person sentence that the person asked to be remembered.
fn remembered<'t>(tokens: &'t [Token], frame: &Frame) -> Option<Found<'t>> {
    let first = tokens.first()?;
    let mine = one_of(first, words!("i i'm im i've i'd my"));
    let episodic = words!(
        "already yesterday today tonight tomorrow earlier currently recently told said asked tried changed added \
        fixed did was were had went wanted mentioned sent gave showed wrote made going gonna"
    );
    if !frame.remember
        || !mine
        || has(tokens, episodic)
        || is_one_off(&tokens[1..], false)
        || words(tokens) < 3 && !one_of(first, words!("i'm im"))
    {
        return None;
    }
    let near = &tokens[..tokens.len().min(4)];
    let states = first.low != "my"
        || frame.said_that && has(tokens, words!("is are has have likes prefers lives works speaks isn't aren't"))
        || has(&near[..near.len().min(3)], words!("is are"));
    states.then(|| Found { kind: SignalKind::Identity, core: trimmed(tokens, &TAILS), confidence: 0.9 })
}

fn talks(tokens: &[Token]) -> bool {
    has(tokens, &lexicon::CONVERSATION)
}

/// Whether the tokens contain a term that an assistant's habits can be about.
fn domain(tokens: &[Token]) -> bool {
    talks(tokens)
        || has(tokens, &lexicon::TASTE)
        || has(
            tokens,
            words!(
                "git branch main master diff build ci lint linter formatter clippy dependency dependencies library \
                libraries package packages imports lines line indentation pnpm npm yarn cargo rust python test \
                tests secret secrets force production prod database migrations migration files script scripts \
                function backup backups assumptions assumption plan steps step sources source links units dates \
                table details brief detail steps changelog units metric celsius english verbose concise short \
                answer passwords password shell bash fish zsh editor vim emacs font theme"
            ),
        )
}

fn leads_with(tokens: &[Token], list: &Words) -> bool {
    unmarked(tokens).first().is_some_and(|t| t.word && !t.quoted && one_of(t, list))
}

fn words(tokens: &[Token]) -> usize {
    tokens.iter().filter(|t| t.word).count()
}

/// Whether the tokens refer to the current work and so mean nothing in another conversation.
fn is_one_off(tokens: &[Token], project: bool) -> bool {
    let mut tokens = trimmed(tokens, &TAILS);
    let mut here = Vec::new();
    while let Some(token) = tokens.first() {
        if let Some(rest) = eat(tokens, &STANDING).or_else(|| eat(tokens, &PROJECT).filter(|_| project)) {
            tokens = rest;
            continue;
        }
        here.push(token);
        tokens = &tokens[1..];
    }
    here.iter().enumerate().any(|(i, t)| {
        let next = here.get(i + 1).filter(|n| n.word).map_or("", |n| n.low.as_str());
        let last = i.checked_sub(1).map_or("", |i| here[i].low.as_str());
        // The name of a naming style, such as snake_case, is not an identifier of the current work.
        if t.name {
            return !project && !one_of(t, words!("snake_case camelcase pascalcase screaming_snake_case kebab-case"));
        }
        if t.quoted || !t.word {
            return false;
        }
        match t.low.as_str() {
            "this" | "these" | "those" | "here" | "above" | "below" | "there" | "today" | "tonight" | "tomorrow"
            | "now" | "currently" | "temporarily" | "yesterday" | "anymore" => {
                let fine = project && t.low == "here" || t.low == "there" && words!("is are").has(next);
                !fine && !words!("even up-to").has(last)
            }
            "yet" => next.is_empty(),
            "that" => {
                next.is_empty()
                    || words!("do doing like of with for in on use using change touch say than all again about")
                        .has(last)
                    || words!("file function way again one branch part thing test method class module line bit is was")
                        .has(next)
            }
            "it" => {
                words!("do use touch change delete remove revert").has(last)
                    || i == 0 && words!("in again to like on the with and").has(next)
            }
            "time" | "moment" | "being" => words!("this the").has(last),
            _ => false,
        }
    })
}
