//! Finds what both sides stated: constraints, decisions, completed work, fixed failures, facts.

use std::borrow::Cow;

use super::answer;
use super::choices;
use super::decides::{declares, follows, is_choice, is_own, is_reasoned, prefers};
use super::exchange::Exchange;
use super::forms::Choice;
use super::goal::{is_errand, vocabulary};
use super::list::{JOIN, List, Noted, replacing};
use super::marks::{Mark, retracts};
use super::prompt::{self, Prompt, Purpose};
use super::restricted::{is_restricted, is_terse_rule, limit, restricts};
use super::story;
use crate::distill::over::{drops, says_over};
use crate::lineage::distillate::{Distillate, Item};
use crate::scope::TurnId;
use crate::statement::{Label, Statement};
use crate::text::headings::{Topic, topic};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower};
use crate::text::similarity::Bag;
use crate::text::words::{Marks, split};

/// Maximum length of a rule with its list, in bytes: two lines of a handoff.
const LONGEST_LIST: usize = 260;

/// Maximum lengths of a failure and of what is announced against it, in bytes: together a line of a handoff.
const FAULT: usize = 180;
const CURE: usize = 140;

/// Maximum number of remarks beside a request that become constraints: a long message explains more than it demands.
const MOST_REMARKS: usize = 8;

/// Maximum number of rules and constraints. Long sessions of unseen authors had up to sixteen that count; a handoff has
/// room for them.
const MOST_RULES: usize = 16;

/// Maximum number of statements of a person's message that reports in passing.
const PASSING: usize = 4;

/// Maximum number of words of a model's sentence that reports in passing what is over.
const REPORTED: usize = 14;

/// Prefix of a decision that was taken back, before the words that did so.
pub const TAKEN_BACK: &str = "Taken back: ";

/// Minimum bytes of a goal whose end was cut off.
const SHOWN: usize = 120;

/// Number of sentences from which a request counts as a specification of its matter.
const SPECIFIES: usize = 5;

/// The lists made from the words of both sides.
pub struct Told {
    pub constraints: List,
    pub decisions: List,
    pub done: List,
    pub context: List,
    pub fixed: List,
    /// The turns of the current goal, and its words.
    in_hand: Vec<TurnId>,
    goal: String,
}

impl Told {
    pub fn of(exchanges: &[Exchange], before: &Distillate, goal: Option<&Item>) -> Told {
        let mut told = Told {
            constraints: List::carrying(MOST_RULES, &before.constraints),
            decisions: List::carrying(10, &before.decisions),
            done: List::new(14),
            context: List::carrying(10, &before.context),
            fixed: List::new(8),
            in_hand: goal.map_or(Vec::new(), |g| g.turns.clone()),
            goal: goal.map_or(String::new(), |g| g.text.clone()),
        };
        for (i, exchange) in exchanges.iter().enumerate() {
            let follows = before.goal.is_some() || exchanges[..i].iter().any(|e| e.prompt.is_some());
            let runs = i + 1 == exchanges.len() && exchange.runs() && follows;
            told.person(exchange, exchanges[..i].last(), (runs, i + 2 >= exchanges.len()));
            choices::answered(&mut told.decisions, exchange, exchanges[..i].last());
            choices::confirmed(&mut told.decisions, exchange);
            told.chosen(&exchange.chosen);
            told.reported(exchange);
            told.tabled(exchange);
            let next = exchanges.get(i + 1).and_then(|e| e.prompt.as_ref());
            // A repair that the person is to try has not helped yet.
            let last = i + 1 == exchanges.len();
            let failed = next.is_some_and(Prompt::complains) || last && exchange.asks_to_try();
            told.model(exchange, last, failed);
        }
        told
    }

    /// Adds what the person chose in forms: how the work has to be.
    fn chosen(&mut self, chosen: &[Choice]) {
        for choice in chosen.iter().filter(|choice| choice.decides()) {
            self.constraints.tell(&choice.text(), &choice.turns, 3);
        }
    }

    /// Adds the person's rules, decisions and facts. `runs`: nothing has answered the message yet, so its requests are
    /// listed as being worked on. `newest`: it is one of the last two.
    fn person(&mut self, exchange: &Exchange, before: Option<&Exchange>, (runs, newest): (bool, bool)) {
        let Some(prompt) = &exchange.prompt else { return };
        let asked = before.and_then(|e| e.answer.as_ref()).and_then(|a| Some((a.statements.last()?, a.turn)));
        let asked = asked.filter(|(last, _)| last.asks);
        // A request of several sentences also says how its matter is to be done.
        let in_hand = self.in_hand.contains(&prompt.turn) || prompt.own.len() >= SPECIFIES;
        // A brief tells how things were or will be; a short message reports.
        let in_passing = prompt.own.len() <= PASSING;
        let mut listed = 0;
        // A decision that this message takes back, until the decision that replaces it is read.
        let mut replaced: Option<Item> = None;
        for (at, s) in prompt.own.iter().enumerate() {
            if at < listed || prompt.answer_at(at).is_some() {
                continue;
            }
            if s.label == Label::Directive
                && let Some((rule, items)) = with_its_list(&prompt.own, at)
            {
                self.constraints.add(&rule, prompt.turn, 3);
                listed = at + items;
                continue;
            }
            // A message of one sentence that was taken for a request asks for it, whatever its tense.
            let is_the_request =
                prompt.own.len() == 1 && matches!(prompt.purpose, Purpose::Request | Purpose::Question);
            if in_passing && !is_the_request && reports(s) {
                // "Recompiled, go on" tells nothing.
                if s.words() > 2 {
                    self.done.add(&s.text, prompt.turn, 1);
                }
                // "We don't need to migrate it any more" is no rule.
                if s.label == Label::Directive {
                    continue;
                }
            }
            if let Some(about) = taken_back(s) {
                // The replacement is often in the sentence beside the retraction, so a short message is compared as a
                // whole.
                let about = if prompt.own.len() <= 3 { Bag::of(&prompt.words()) } else { about };
                self.constraints.drop_about(&about, 2);
                // The other sentences of a long message are about other things.
                let by = if prompt.own.len() <= 3 { prompt.words() } else { s.text.clone() };
                replaced = replaced.or_else(|| self.decisions.take_replaced(&by));
                // "We drop Redis. Let's go with Postgres.": the second sentence is the decision now.
                let decides = |s: &Statement| s.label == Label::Decision && taken_back(s).is_none();
                if replaced.is_some() && prompt.own[at + 1..].iter().any(decides) {
                    continue;
                }
                if !matches!(s.label, Label::Decision | Label::Directive) {
                    continue;
                }
            }
            match s.label {
                _ if declares(&s.text) => self.decide(&s.text, prompt.turn, replaced.take()),
                Label::Identity => self.context.add(&s.text, prompt.turn, 3),
                // "Yes, always" makes a constraint of what the model asked.
                Label::Directive | Label::Assent
                    if s.words() <= 3
                        && (s.label == Label::Directive || s.second == Some(Label::Directive))
                        && asked.is_some() =>
                {
                    let Some((question, turn)) = asked else { continue };
                    let task = prompt::task_of(&question.text).unwrap_or_else(|| question.text.clone());
                    self.constraints.tell(&format!("{}{JOIN}{}", cut(&task, 200), s.text), &[turn, prompt.turn], 3);
                }
                // "Wait for the first task" ends with the next messages, and a rule that ends in a colon says nothing
                // without its list.
                Label::Directive if !newest && is_for_now(&s.text) || s.text.ends_with([':', '：']) => {}
                Label::Directive if prompt::weight_of(s) >= least(s) => {
                    // A rule of a list of rules outlasts one that is about the step in hand.
                    self.constraints.add(&s.text, prompt.turn, 3 + u8::from(is_under_rules(s)));
                }
                Label::Decision if s.standalone || prompt::weight_of(s) >= 3 => {
                    self.decide(&s.text, prompt.turn, replaced.take());
                }
                // Such a sentence binds as much as an item in a list of rules, so it has the same weight.
                _ if prompt.surely_commands() && is_terse_rule(s) => self.constraints.add(&s.text, prompt.turn, 4),
                Label::Finding if s.sure && prompt::weight_of(s) >= 2 => self.context.add(&s.text, prompt.turn, 3),
                _ if s.second == Some(Label::Directive) => self.constraints.add(&s.text, prompt.turn, 2),
                _ => {}
            }
        }
        for pair in prompt.answers.iter().filter(|pair| !pair.puts_off) {
            self.constraints.tell(&pair.text, &pair.turns, 3);
        }
        self.chosen(&prompt.chosen);
        if let Some(old) = replaced.filter(|_| prompt.own.iter().any(|s| forgets(&s.text))) {
            let turns = [&old.turns[..], &[prompt.turn]].concat();
            self.decisions.tell(
                &format!("{TAKEN_BACK}{}{JOIN}{}", cut(&old.text, 160), cut(&prompt.words(), 160)),
                &turns,
                3,
            );
        }
        // Answers to questions are told with their questions.
        if !prompt.answers.is_empty() {
            return;
        }
        if self.in_hand.contains(&prompt.turn) {
            for clause in prompt.own.iter().flat_map(|s| unshown(&s.text, &self.goal)) {
                self.constraints.add(clause, prompt.turn, 1);
            }
        }
        if is_restricted(prompt) && !self.in_hand.contains(&prompt.turn) {
            // The whole request is listed under "in progress" while it is worked on, so only its rule is added.
            let rule = if runs { limit(&prompt.core) } else { prompt.core.clone() };
            self.constraints.tell(&rule, &prompt.turns, 1);
        }
        if prompt.purpose == Purpose::Request {
            // The other sentences of a request say how it is to be done; for the goal's own request, all of them count.
            let mut remarks = 0;
            // The order of the sentences tells explanations from specifications: before its request, a person explains
            // the situation; after it, how the result has to be.
            let wants =
                |s: &&Statement| s.label == Label::Request && s.sure || demands(&s.text) && !story::defines(&s.text);
            let request = prompt.own.iter().find(wants).map(|s| s.range.start);
            let is_story = story::is_story(&prompt.own);
            let explains = |s: &Statement| {
                request.is_none_or(|at| s.range.start < at) && explains(s)
                    || !s.bullet
                        && (story::narrates(&s.text) || story::observes(s) || story::introduces(&s.text))
                        && !surely_demands(&s.text)
                    || is_story && !s.bullet && !surely_demands(&s.text)
            };
            // A sentence that only announces a list says nothing without that list.
            let says = |s: &&Statement| {
                !s.relayed
                    && !prompt::is_shell_line(&s.text)
                    && prompt::weight_of(s) >= 3
                    && !s.text.trim_end().ends_with([':', '：'])
                    && !Mark::Praise.is_in(s)
            };
            for s in prompt.beside().filter(says).filter(|s| !declares(&s.text)) {
                match s.label {
                    // A sentence of the request in hand is listed under "in progress". One that sets a rule is added here,
                    // too, because the rule outlasts the request.
                    Label::Request if runs && !s.asks && restricts(&s.text) => {
                        self.constraints.add(&s.text, prompt.turn, 2)
                    }
                    Label::Request if runs => {}
                    // The goal says it in so many words, and it limits nothing.
                    Label::Request
                        if s.sure
                            && self.goal.contains(s.text.trim_end_matches(['.', '!', '?']))
                            && !restricts(&s.text) => {}
                    // "We have to use that one, right?" asks whether it is so.
                    _ if s.asks && !s.sure => {}
                    Label::Request if s.sure || in_hand && !explains(s) && !is_copied(s) => {
                        self.constraints.add(&s.text, prompt.turn, 2)
                    }
                    // A sentence that may itself be a request is part of the goal.
                    Label::Remark if s.second == Some(Label::Request) => {}
                    Label::Request | Label::Remark | Label::Finding | Label::Remaining
                        if in_hand && remarks < MOST_REMARKS =>
                    {
                        match () {
                            _ if is_copied(s) => continue,
                            _ if !explains(s) => self.constraints.add(&s.text, prompt.turn, 1),
                            // "I ran it and opened the file" only leads up to the request.
                            _ if is_story || is_own(&s.text) || s.words() < 8 => continue,
                            _ => self.context.add(&s.text, prompt.turn, 0),
                        }
                        remarks += 1;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adds what an answer without work says is over: "I have sent Marta the table."
    fn reported(&mut self, exchange: &Exchange) {
        let Some(answer) = exchange.answer.as_ref().filter(|_| !exchange.worked) else { return };
        if exchange.prompt.as_ref().is_some_and(|p| p.purpose == Purpose::Question) {
            return;
        }
        let said = answer.statements.iter().filter(|s| s.words() <= REPORTED && reports(s));
        for s in said.filter(|s| !Mark::Announcement.is_in(s)).take(1) {
            self.done.add(&s.text, answer.turn, 0);
        }
    }

    /// Adds what the table of a report says is done.
    fn tabled(&mut self, exchange: &Exchange) {
        let Some(answer) = &exchange.answer else { return };
        for row in &answer.done_rows {
            self.done.add(row, answer.turn, 1);
        }
    }

    /// Adds a decision, together with the one it replaces.
    fn decide(&mut self, text: &str, turn: TurnId, replaced: Option<Item>) {
        let text = &without_label(text);
        match replaced {
            // "We drop Redis" said twice reverses nothing.
            Some(old) if retracts(&old.text) && retracts(text) => {
                self.decisions.tell(text, &[&old.turns[..], &[turn]].concat(), 4)
            }
            Some(old) => {
                let turns = [&old.turns[..], &[turn]].concat();
                self.decisions.tell(&replacing(text, &old.text), &turns, 4);
            }
            None => self.decisions.add(text, turn, 4),
        }
    }

    /// Adds decisions, completed work, fixed failures and facts from the model's messages. `failed`: the next prompt
    /// says that the work did not help.
    fn model(&mut self, exchange: &Exchange, last: bool, failed: bool) {
        // The answer to a question explains: "Using A instead of B avoids this" decides nothing, unless the model means
        // to do so.
        let explains = !exchange.acted && exchange.prompt.as_ref().is_some_and(|p| p.purpose == Purpose::Question);
        for message in exchange.messages() {
            let chosen = |s: &&Statement| {
                is_choice(s) && (!explains || declares(&s.text) || is_own(&s.text))
                    || exchange.worked && !explains && follows(s)
            };
            for s in message.statements.iter().filter(chosen) {
                self.decisions.add(&without_label(&s.text), message.turn, 2);
            }
            for s in message.statements.iter().filter(|s| exchange.wrote && !failed && prefers(s)) {
                self.decisions.add(&s.text, message.turn, 1);
            }
        }
        self.remarks(exchange);
        let Some(answer) = &exchange.answer else { return };
        // The report of a change says why it was made this way and not another; that of a repair, what was wrong.
        let repairs = exchange.prompt.as_ref().is_some_and(Prompt::reports_fault);
        let changes = exchange.wrote && !failed && !repairs;
        for s in answer.statements.iter().filter(|s| changes && is_reasoned(s)) {
            self.decisions.add(&s.text, answer.turn, 1);
        }
        let ask = exchange.prompt.as_ref().filter(|p| p.is_substantive() && !self.in_hand.contains(&p.turn));
        // A restricted request is listed under the constraints.
        let ask = ask.filter(|p| !is_errand(&p.core) && p.answers.is_empty() && !is_restricted(p));
        let report = exchange.prompt.as_ref().and_then(|p| p.report.clone());
        // If the person only asked a question, or no tool was used, no work was done.
        let did = exchange.acted && exchange.prompt.as_ref().is_none_or(|p| p.purpose != Purpose::Question);
        // Without a tool call, a list is a proposal rather than a report of work.
        let commanded = exchange.prompt.as_ref().is_none_or(Prompt::surely_commands);
        let achieved = |s: &Statement| s.sure || commanded;
        let reports = answer::gathered(&answer.statements);
        let mut best = answer::best(&reports, if last { 5 } else { 3 }, 8);
        if exchange.prompt.as_ref().is_some_and(|p| p.purpose != Purpose::Question) {
            best.retain(|s| !is_polite(s));
        }
        // "Next, let's update the controller" and "Make sure it compiles" report nothing.
        best.retain(|s| !Mark::Announcement.is_in(s) && !Mark::Advice.is_in(s));
        if best.iter().any(|s| !is_verdict(s)) {
            best.retain(|s| !is_verdict(s));
        }
        // The result of a request is the work that was done; the answer may begin with what was to be done.
        let is_request = exchange.acted && exchange.prompt.as_ref().is_some_and(|p| p.purpose == Purpose::Request);
        if let Some(done) = best.iter().position(|s| s.label == Label::Done).filter(|_| is_request && report.is_none())
        {
            best[..=done].rotate_right(1);
        }
        // An attempt that did not help counts neither as done nor as a fix; its findings may still be true.
        if failed {
            for s in best.iter().filter(|s| s.label == Label::Finding) {
                self.context.add(&s.text, answer.turn, 0);
            }
            return;
        }
        let commanded_it = |p: &&Prompt| p.surely_commands() || p.purpose == Purpose::Request && exchange.wrote;
        let faulty = ask.is_some_and(Prompt::reports_fault);
        if let (Some(prompt), [], true) = (ask.filter(commanded_it), &best[..], exchange.acted) {
            // "The button isn't under the text" is no work done.
            let list = if faulty { &mut self.fixed } else { &mut self.done };
            list.tell(&prompt.core, &prompt.turns, 2);
        }
        for (k, s) in best.iter().enumerate() {
            if k == 0
                && let Some(report) = &report
            {
                // The item is the failure, then its cause and its fix.
                let short = best.iter().take(2).filter(|t| t.text.len() < 200).count();
                let both = best.iter().take(if short == 2 { 2 } else { 1 }).copied();
                let text = answered(&cut(report, 150), &cut(&prompt::joined(both), 235));
                let reported = exchange.prompt.as_ref().map_or(answer.turn, |p| p.turn);
                self.fixed.tell(&text, &[reported, answer.turn], 3);
                continue;
            }
            if k == 0
                && let Some(prompt) = ask
            {
                // "You will need to reload the settings" is no result of the request that was carried out.
                let tells =
                    !exchange.acted || matches!(s.label, Label::Done | Label::Finding) || is_setback(s) || faulty;
                let text = match tells || prompt.purpose == Purpose::Question {
                    true => answered(&cut(&prompt.core, 130), &cut(&s.text, 230)),
                    false => prompt.core.clone(),
                };
                let Some(mut noted) = Noted::new(&text, answer.turn, 3) else { continue };
                noted.also(&prompt.turns);
                // If no work was done, the answer is not added as done: it may be worth knowing, a mere acknowledgement
                // is not.
                if prompt.purpose == Purpose::Question || !(exchange.acted || s.label == Label::Done && achieved(s)) {
                    if prompt.purpose == Purpose::Question || prompt.surely_commands() && !echoes(s, prompt) {
                        self.context.put(noted);
                    } else if matches!(s.label, Label::Finding | Label::Remaining) && is_fault(s) {
                        self.fixed.put(noted);
                    } else if s.label == Label::Finding && !echoes(s, prompt) {
                        self.context.add(&s.text, answer.turn, 1);
                    }
                } else if faulty {
                    self.fixed.put(noted);
                } else if is_setback(s) {
                    self.context.add(&s.text, answer.turn, 1);
                } else {
                    self.done.put(noted)
                }
                continue;
            }
            match s.label {
                Label::Done if !did && !achieved(s) || is_owed(s) => {}
                // "✅ can have a state" explains, where nothing was asked to be done.
                Label::Done if !exchange.acted && !commanded && s.ticked == Some(true) => {}
                // "`colour` - the selector of colours" describes what was found.
                Label::Done if !exchange.edited && s.bullet && !s.sure && !is_under_results(s) => {}
                // "New: retry what failed, remove the debug logs" plans, where nothing was to be mended.
                Label::Done if is_fault(s) && s.bullet && !repairs && s.text.matches(',').count() > 1 => {}
                Label::Done if is_fault(s) && (is_guess(&s.text) || is_vague(s) && is_hoped(&s.text)) => {}
                Label::Done if is_fault(s) => self.fixed.add(&s.text, answer.turn, 2),
                Label::Done if !is_not(&s.text) && !is_setback(s) => self.done.add(&s.text, answer.turn, 2),
                Label::Finding | Label::Remark
                    if answer::worth(s) >= 10 && !exchange.prompt.as_ref().is_some_and(|p| echoes(s, p)) =>
                {
                    self.context.add(&s.text, answer.turn, 1 + u8::from(answer::concludes(s)))
                }
                _ => {}
            }
        }
    }

    /// Adds findings and completed work from messages before the answer: the best statements of each.
    fn remarks(&mut self, exchange: &Exchange) {
        for (n, message) in exchange.remarks.iter().enumerate() {
            let next = exchange.remarks.get(n + 1).or(exchange.answer.as_ref());
            let best = answer::best(&message.statements, 2, 8);
            // A sighting and its diagnosis are two faults of one message; the next message mends the diagnosis.
            let diagnosis = best.iter().rposition(|s| is_fault(s));
            for (k, s) in best.into_iter().enumerate() {
                match s.label {
                    Label::Finding | Label::Done | Label::Blocked
                        if is_fault(s) && (is_guess(&s.text) || is_vague(s)) => {}
                    Label::Finding | Label::Done | Label::Blocked if is_fault(s) && !is_owed(s) => {
                        let here = cure(&message.statements, s).map(|cure| (cure, message.turn));
                        let next = next.filter(|_| Some(k) == diagnosis);
                        let cure = here.or_else(|| next.and_then(|next| Some((remedy(&next.statements)?, next.turn))));
                        match cure {
                            Some((cure, turn)) => {
                                let text = format!("{}{JOIN}{}", cut(&s.text, FAULT), cut(&cure.text, CURE));
                                self.fixed.tell(&text, &[message.turn, turn], 1);
                            }
                            // A failure that was only seen, with neither its place nor what was done, says nothing.
                            None if !answer::says(s) && !s.sure => {}
                            None => self.fixed.add(&s.text, message.turn, 1),
                        }
                    }
                    // "I've checked it" says nothing that was done.
                    Label::Done if !is_not(&s.text) && !is_owed(s) && answer::says(s) => {
                        self.done.add(&s.text, message.turn, 1)
                    }
                    Label::Finding if s.sure && answer::worth(s) >= 14 => self.context.add(&s.text, message.turn, 0),
                    _ => {}
                }
            }
        }
    }
}

/// Returns the clauses of a request dictated in one breath that the line of the goal has no room for.
fn unshown<'t>(request: &'t str, goal: &str) -> Vec<&'t str> {
    let cut_off = goal.split(JOIN).filter_map(|part| part.strip_suffix('…')).map(str::trim_end);
    let Some(shown) = cut_off.filter(|part| part.len() >= SHOWN).find(|part| request.starts_with(part)) else {
        return Vec::new();
    };
    let clauses = request.split_inclusive([',', ';', '，', '；']);
    let mut end = 0;
    let unseen = clauses.filter(|clause| {
        end += clause.len();
        // Of a clause that the cut goes through, less than half was shown.
        end > shown.len() && 2 * (end - shown.len()) > clause.len()
    });
    let clauses = unseen.map(|clause| clause.trim().trim_end_matches([',', ';', '，', '；']));
    clauses.filter(|clause| Bag::of(clause).len() >= 3).collect()
}

/// Whether a sentence only opens the answer to a request, in any language: it names nothing and reports nothing. The
/// first sentence of the answer to a question is the answer.
fn is_polite(s: &Statement) -> bool {
    let says = answer::names(&s.text) || Mark::Fault.is_in(s);
    s.label == Label::Remark && !s.sure && s.paragraph == 0 && !s.bullet && !says
}

/// Returns what the model announces against a failure right after naming it: "'delete' is a reserved word. We'll rename
/// it to `deleteUser`".
fn cure<'s>(statements: &'s [Statement], fault: &Statement) -> Option<&'s Statement> {
    let at = statements.iter().position(|s| std::ptr::eq(s, fault))?;
    statements[at + 1..].iter().take(2).find(|s| is_cure(s))
}

/// Returns what the message after one that names a failure announces first.
fn remedy(statements: &[Statement]) -> Option<&Statement> {
    statements.iter().take(2).find(|s| is_cure(s))
}

/// Whether a statement announces a change and names what is changed.
fn is_cure(s: &Statement) -> bool {
    let announces = Mark::Means.is_in(s) || Mark::Announcement.is_in(s);
    announces && answer::names(&s.text) && !s.asks && !is_fault(s)
}

/// Whether an answer only repeats what the person said: "Noted: white, not grey."
fn echoes(s: &Statement, prompt: &Prompt) -> bool {
    let (said, told) = (vocabulary(&s.text), vocabulary(&prompt.words()));
    let shared = said.iter().filter(|w| told.binary_search(w).is_ok()).count();
    let known = prompt.words();
    let new = |w: &str| w.bytes().any(|b| b.is_ascii_digit()) && !known.contains(w);
    let tells = s.text.split(|c: char| !c.is_alphanumeric()).any(new);
    prompt.purpose != Purpose::Question && !tells && shared > 1 && 5 * shared >= 3 * said.len()
}

/// Whether a text says that something was not done: "Not done, because …", "Noch nicht gebucht".
pub fn is_not(text: &str) -> bool {
    let low = lower(&text[..text.floor_char_boundary(24)]);
    ["not ", "nicht ", "noch nicht ", "pas ", "no ", "non ", "não "].iter().any(|n| low.starts_with(n))
}

/// Joins what was asked and its answer. A prompt that only attaches a file asks nothing that can be read.
fn answered(asked: &str, answer: &str) -> String {
    match asked.split_whitespace().all(|word| word.starts_with('@')) {
        true => answer.to_owned(),
        false => format!("{asked}{JOIN}{answer}"),
    }
}

/// Whether a statement is in a list of what is demanded or missing: "Things the guide requires that I'm not doing:".
fn is_owed(s: &Statement) -> bool {
    let demands = phrases!(
        "require|requires|required|should|must|need|needs|not|isn't|aren't|don't|doesn't|missing|lacks / soll|muss|fehlt|fehlen|nicht / doit|manque / debe|falta|faltan / deve|manca|mancano"
    );
    let is_demand = |h: &str| matches!(topic(h), Topic::Open | Topic::Rules) || demands.stand_in(h);
    s.bullet && s.heading.as_deref().is_some_and(is_demand)
}

/// Whether a statement is in a list of results: "Summary of changes:".
fn is_under_results(s: &Statement) -> bool {
    s.heading.as_deref().is_some_and(|heading| topic(heading) == Topic::Done)
}

/// Whether a diagnosis is only a guess: "The problem is likely due to …".
fn is_guess(text: &str) -> bool {
    phrases!("likely|probably|perhaps|maybe|possibly|might|could|may / wahrscheinlich|vermutlich|vielleicht|könnte / probablement|peut-être|pourrait / probablemente|quizás|podría / probabilmente|forse|potrebbe / provavelmente|talvez|poderia")
        .stand_in(text)
}

/// Whether a statement is in a list of rules: "Some rules while building the app:".
fn is_under_rules(s: &Statement) -> bool {
    s.heading.as_deref().is_some_and(|heading| topic(heading) == Topic::Rules)
}

/// Whether a sentence says how the work was checked, not what was done: "All 15 tests pass."
fn is_verdict(s: &Statement) -> bool {
    s.words() <= 9
        && split(&lower(&s.text), Marks::Dropped).windows(2).take(3).any(|words| {
            phrases!("tests|test|suite|checks|build|lint|linter|types|compilation pass|passes|passed|passing|green|succeeds|succeeded|successful|clean|is|are")
                .begin(words)
                .next()
                .is_some()
        })
}

/// Whether a sentence reports a failure; "0 failures" and "If the file is missing, …" report none.
pub fn is_fault(s: &Statement) -> bool {
    Mark::Fault.is_in(s) && !Mark::NoFault.is_in(s) && !Mark::Hypothetical.is_in(s)
}

/// Whether an answer says that the work did not succeed: "Retry still fails", "couldn't connect to the display".
fn is_setback(s: &Statement) -> bool {
    matches!(s.label, Label::Blocked) || Mark::StillWrong.is_in(s) || Mark::Unable.is_in(s)
}

/// Phrases of a retraction in scripts without blanks.
const EAST: [&str; 14] = [
    "改成",
    "改存",
    "改为",
    "改為",
    "改用",
    "换成",
    "換成",
    "取消",
    "不用了",
    "算了",
    "に変更",
    "やめ",
    "ではなく",
    "元に戻",
];

/// Whether a statement reports in passing that a matter is over: "I sent Marta the table", "we don't need it any more".
fn reports(s: &Statement) -> bool {
    let other = match s.label {
        Label::Request => s.sure,
        Label::Decision | Label::Directive => true,
        _ => false,
    };
    let is_whole = !s.asks && !s.bullet && !s.text.ends_with([':', '：']);
    is_whole && if other { drops(&s.text) } else { says_over(&s.text) }
}

/// Returns the words of a retraction, to find the items it cancels: "we drop Redis", "forget what I said about tests",
/// "you may push now".
pub fn taken_back(s: &Statement) -> Option<Bag> {
    let east = || !s.text.is_ascii() && EAST.iter().any(|part| s.text.contains(part));
    (!s.bag().is_empty() && (Mark::Retraction.is_in(s) || east())).then(|| s.bag().clone())
}

/// Whether a text cancels a decision without naming a replacement: "Forget what I said about the server".
fn forgets(text: &str) -> bool {
    phrases!("forget what i said / forget about / never mind / scratch that / ignore what i said / take back / vergiss / oublie|oubliez / olvida / dimentica / esquece").stand_in(text)
}

/// Whether a statement only hopes that something helps: "The issue should now be fixed."
fn is_hoped(text: &str) -> bool {
    phrases!("should / sollte / devrait / debería / dovrebbe / deveria / должно / měl|mělo by").stand_in(text)
}

/// Whether a short statement about a failure does not say which: "There are still errors".
fn is_vague(s: &Statement) -> bool {
    s.words() <= 7 && !answer::names(&s.text)
}

/// Removes a label like "My decision:", because the section's heading says so already.
fn without_label(text: &str) -> Cow<'_, str> {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest.trim_start());
    let mut letters = rest.chars();
    match letters.next().filter(|_| declares(text)) {
        Some(first) => Cow::Owned(first.to_uppercase().chain(letters).collect()),
        None => Cow::Borrowed(text),
    }
}

/// Returns a rule that ends in a colon together with the list it announces, in one line, and the number of statements
/// used. `None`: the rule announces no list, or one too long for a line.
fn with_its_list(own: &[Statement], at: usize) -> Option<(String, usize)> {
    let items: Vec<&str> = prompt::listed(own, at).iter().map(|s| s.text.as_str()).collect();
    let text = format!("{} {}", own[at].text.trim_end(), items.join("; "));
    (!items.is_empty() && text.len() <= LONGEST_LIST).then_some((text, 1 + items.len()))
}

/// Returns the minimum weight of a rule: "you're supposed to follow that" needs more than "no mocks", and "plan first" in
/// a list of rules needs less. "Only this repo" points to no other sentence.
fn least(s: &Statement) -> usize {
    let names_its_place = phrases!(
        "this|current repo|repository|project|branch|folder|directory|workspace / dieses|diesem|diesen|dieser repo|projekt|ordner|branch / ce|cette projet|dépôt|dossier|branche / este|esta repo|proyecto|carpeta|rama / questo|questa repo|progetto|cartella / этот|этом проект|проекте|репозиторий|репозитории"
    );
    match s.standalone || names_its_place.stand_in(&s.text) {
        true if s.bullet && is_under_rules(s) => 1,
        true => 2,
        false => 4,
    }
}

/// Whether a line beside a request was copied from a log: "Failed to export metrics: code 14".
fn is_copied(s: &Statement) -> bool {
    let is_sentence = s.text.ends_with(['.', '!', '?', '。', '！', '？']);
    !s.bullet && (is_fault(s) || !is_sentence && prompt::is_machine(&s.text) || is_console(&s.text))
}

/// Whether a text quotes a line of a browser's console: `Navbar.tsx:36 positions: {…}`, `"useLookups.ts:9 GET …"`.
fn is_console(text: &str) -> bool {
    let is_place = |word: &str| {
        let (file, line) = word.trim_start_matches(['"', '“', '\'']).rsplit_once(':').unwrap_or_default();
        !line.is_empty()
            && line.bytes().all(|b| b.is_ascii_digit())
            && prompt::names_a_file(file)
            && !file.contains('/')
    };
    let quoted = |word: &str| word.starts_with(['"', '“', '\'']);
    text.split_whitespace().enumerate().any(|(n, word)| (n == 0 || quoted(word)) && is_place(word))
}

/// Whether a sentence beside a request explains the matter and demands nothing: "Displacement oscillates between both
/// ends". A list's item is a demand, whatever its words.
fn explains(s: &Statement) -> bool {
    // A request begins with its verb, an explanation with its subject.
    let tells = phrases!(
        "the|a|an|this|that|these|those|it|they|there|he|she|we|we're|i|i'm|im|my|our|your|its|then|with|in|on|at|as|since|because|currently|right|also|so|and|but / der|die|das|den|dem|ein|eine|dieser|diese|dieses|es|er|sie|ich|wir|mein|meine|unser|unsere|mit|dann|da|weil|aktuell / le|la|les|l|un|une|ce|cette|ces|il|elle|ils|je|j'ai|nous|mon|ma|notre|avec|puis|car / el|los|las|una|este|esta|estos|yo|mi|nuestro|nuestra|con|luego|porque / lo|gli|questo|questa|io|mio|mia|nostro|poi|perché / o|os|as|um|uma|eu|meu|minha|nosso / это|этот|эта|он|она|оно|они|я|мы|мой|моя|наш|у|в|на|с / to|ten|ta|tento|já|my|můj|moje|náš|v|na|s"
    );
    let begins = tells.begin(&split(&lower(&s.text), Marks::Dropped)).next().is_some() || story::defines(&s.text);
    !s.bullet && s.words() >= 5 && begins && !demands(&s.text)
}

/// Whether a text says how something has to be.
fn demands(text: &str) -> bool {
    phrases!("should|shouldn't|must|mustn't|need|needs|want|wants|only|always|never|no|don't|without|instead|please|required|allowed|supposed|able|deadline|due|budget|limit|maximum|minimum|exactly to? / soll|sollte|sollen|muss|müssen|darf|nur|immer|nie|kein|keine|ohne|bitte / doit|doivent|faut|toujours|jamais|sans|seulement / debe|deben|tiene|siempre|nunca|solo|sin|no / deve|devono|sempre|mai|solo|senza / deve|devem|nunca|sem|não / должен|должна|должно|нужно|надо|только|без / musí|jen|pouze|bez|nesmí")
        .stand_in(text)
}

/// Whether a text says how something has to be, in words that stories seldom have.
fn surely_demands(text: &str) -> bool {
    phrases!("should|must|please|instead / make|be sure / soll|sollte|sollen|muss|müssen|bitte / doit|doivent|faut / debe|deben|debería / deve|devono|devem / должен|должна|должно|нужно|надо / musí").stand_in(text)
}

/// Whether a rule is about the next step only: "Do not write any code yet", "Wait for the first task".
fn is_for_now(text: &str) -> bool {
    phrases!("yet / wait for|until|till / noch nicht|nichts|kein|keine|keinen / warte auf|bis / pas encore / attends que / todavía no / espera a|que")
        .stand_in(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_only_attaches_a_file_is_not_quoted() {
        assert_eq!(answered("@terminals/3.txt:196-207", "The remote is missing."), "The remote is missing.");
        assert_eq!(answered("see @terminals/3.txt", "It is missing."), "see @terminals/3.txt → It is missing.");
    }
}
