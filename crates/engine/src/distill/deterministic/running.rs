//! Finds what was being worked on when a range ended: the last request, how far it is, and what was left beside it.

use super::answer;
use super::exchange::{Exchange, Message};
use super::list::JOIN;
use super::marks::Mark;
use super::open::{Open, Settled, UNCONFIRMED, WAITS, WHOLE, is_blocker, is_order, is_plea};
use super::prompt::{Prompt, Purpose, joined, names_a_file, weight, weight_of};
use crate::statement::{Label, Statement, is_pair};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, cut_front};

/// Maximum length of each part of a complaint with its matter, in bytes.
const PART: usize = 150;

/// Length in bytes from which a sentence is several that were said in one breath.
const SPOKEN: usize = 200;

/// Most statements of a message that tells how far the work is.
const REMARK: usize = 10;

impl Open {
    /// Adds the request the model was working on when the range ended. `follows`: the goal was set before the range.
    pub(super) fn running(&mut self, exchange: &Exchange, earlier: &[Exchange], follows: bool, settled: &Settled) {
        let Some(prompt) = &exchange.prompt else { return };
        // A complaint that was answered with nothing but words is not mended yet.
        // "We still have to migrate the table" is no complaint.
        let owes = prompt.promises() || prompt.own.iter().any(|s| Mark::Left.is_in(s));
        let complains = !owes && (prompt.complains() || prompt.purpose == Purpose::Reject);
        let unmet = complains && !exchange.worked && !exchange.wrote || is_stalled(exchange, prompt);
        let is_open = exchange.runs() || unmet;
        if !is_open {
            self.unconfirmed(exchange, prompt, earlier, owes);
            return;
        }
        // "Where were we?" asks for the work and is none; "And the invoices?" names some.
        let asks_back = prompt.purpose == Purpose::Question && weight(&prompt.ask) == 0;
        if prompt.accepted.len() > 1 {
            for (text, turn) in &prompt.accepted {
                self.in_progress.add(text, *turn, 5);
            }
        } else if !prompt.core.is_empty()
            && !asks_back
            && !matches!(prompt.purpose, Purpose::GoOn | Purpose::Note)
            && (follows || earlier.iter().any(|e| e.prompt.is_some()))
        {
            // "That's not the reason" says nothing without the matter it is about; "No, there are none" answers the last
            // of several messages about it.
            let back = if prompt.refers_back { 4 } else { 1 };
            let mut matter = earlier.iter().rev().take(back).filter_map(|e| e.prompt.as_ref());
            // "Please do" says nothing without the question before it, however short.
            let bare = prompt.refers_back && prompt.turns.len() == 1 && weight(&prompt.ask) <= 1;
            let asks = |p: &&Prompt| matches!(p.purpose, Purpose::Request | Purpose::Question) && weight(&p.ask) > 1;
            match matter.find(|p| p.is_substantive() || bare && asks(p)).filter(|_| complains || bare) {
                Some(before) => {
                    let text = format!("{}{JOIN}{}", cut(&before.core, PART), cut(&in_hand(prompt), PART));
                    self.in_progress.tell(&text, &[&before.turns[..], &prompt.turns].concat(), 5);
                }
                None => self.in_progress.tell(&in_hand(prompt), &prompt.turns, 5),
            }
            // Each thing that the message asks for is open.
            let asks = |s: &&Statement| {
                s.label == Label::Request
                    && weight_of(s) >= 2
                    && !Mark::Praise.is_in(s)
                    && !s.text.ends_with([':', '：'])
                    && !prompt.core.contains(&s.text)
            };
            for s in prompt.beside().filter(asks).filter(|s| !settled.after(prompt.at, s.bag())) {
                self.in_progress.add(&s.text, prompt.turn, 4);
            }
        }
        self.steps(prompt, earlier);
        self.resumed(prompt, earlier);
        self.choosing(exchange, earlier);
        self.undone(prompt, earlier);
        self.unmended(prompt, earlier);
        self.interrupted(prompt, earlier, settled);
        if let Some(report) = &prompt.report {
            self.in_progress.add(report, prompt.turn, 5);
        }
        if prompt.refers_back
            && let Some(message) = earlier.iter().rev().find_map(|e| e.answer.as_ref())
        {
            for s in pointed_at(message).into_iter().filter(|_| points_at_list(prompt)) {
                self.loops.add(&s.text, message.turn, 3);
            }
        }
        // The newest remarks tell how far the work is. A long message explains something.
        for message in exchange.messages().rev().take(2).filter(|m| m.statements.len() <= REMARK) {
            for s in answer::best(&message.statements, 2, 6)
                .into_iter()
                .filter(|s| !s.bullet && !s.text.ends_with([':', '：']) && !is_blocker(s))
            {
                self.in_progress.add(ahead(&s.text), message.turn, 3);
            }
        }
        self.current_step(exchange);
    }

    /// Adds the request before a message that asks for nothing new, if nothing was done for it: "Did you do something?"
    fn undone(&mut self, prompt: &Prompt, earlier: &[Exchange]) {
        let asks = |e: &Exchange| e.prompt.as_ref().is_some_and(|p| p.purpose == Purpose::Request);
        if prompt.purpose == Purpose::Request || !earlier.iter().any(|e| e.wrote) {
            return;
        }
        let Some(exchange) = earlier.iter().rev().take(3).find(|e| asks(e)).filter(|e| !e.worked && !e.wrote) else {
            return;
        };
        let Some(before) = exchange.prompt.as_ref().filter(|p| p.surely_commands() && p.is_substantive()) else {
            return;
        };
        self.in_progress.tell(&before.core, &before.turns, 4);
        for s in before.beside().filter(|s| s.label == Label::Request && s.sure) {
            self.in_progress.add(&s.text, before.turn, 3);
        }
    }

    /// Adds the failure reported before a message that only goes on ("recompiled, continue"): until that is answered,
    /// nothing says that it was mended.
    fn unmended(&mut self, prompt: &Prompt, earlier: &[Exchange]) {
        if !matches!(prompt.purpose, Purpose::GoOn | Purpose::Note) {
            return;
        }
        let Some(exchange) = earlier.last().filter(|e| !e.confirmed) else { return };
        let Some(before) = exchange.prompt.as_ref().filter(|p| p.complains() || p.reports_fault()) else { return };
        let told = before.report.as_deref().unwrap_or(&before.core);
        self.blocked.tell(&cut(told, PART), &before.turns, 4);
    }

    /// Adds what else a message asked for that was interrupted by one that asks for nothing: "Only this repo, please."
    fn interrupted(&mut self, prompt: &Prompt, earlier: &[Exchange], settled: &Settled) {
        let stopped = earlier.last().filter(|e| e.runs()).and_then(|e| e.prompt.as_ref());
        let Some(before) = stopped.filter(|_| matches!(prompt.purpose, Purpose::Note | Purpose::GoOn)) else { return };
        let asks = |s: &&Statement| s.label == Label::Request && weight_of(s) >= 2 && !s.text.ends_with([':', '：']);
        for s in before.beside().filter(asks).filter(|s| !settled.after(before.at, s.bag())) {
            self.in_progress.add(&s.text, before.turn, 4);
        }
    }

    /// Adds the failure that the last message reports, if the model changed something for it: whether that helped was
    /// never said. "That did not fix it" is told with the request before it. `owes`: the message is about work that is
    /// left.
    fn unconfirmed(&mut self, exchange: &Exchange, prompt: &Prompt, earlier: &[Exchange], owes: bool) {
        let reported = prompt.report.as_deref().filter(|_| matches!(prompt.purpose, Purpose::Report | Purpose::Empty));
        let told = reported.or_else(|| Some(&*prompt.core).filter(|_| prompt.complains() || prompt.reports_fault()));
        let changed = exchange.edited && !exchange.confirmed || exchange.asks_to_try();
        let Some(told) = told.filter(|_| changed && !owes) else { return };
        let matter = earlier.iter().rev().filter_map(|e| e.prompt.as_ref()).find(|before| before.is_substantive());
        match matter.filter(|_| prompt.refers_back && reported.is_none()) {
            Some(before) => {
                let text = format!("{UNCONFIRMED}{}{JOIN}{}", cut(&before.core, PART), cut(told, PART));
                self.loops.tell(&text, &[&before.turns[..], &prompt.turns].concat(), 3);
            }
            None => self.loops.tell(&format!("{UNCONFIRMED}{}", cut(told, PART)), &prompt.turns, 3),
        }
    }

    /// Adds the numbered steps of the last answer, if the person only said that they are to be carried out: "proceed".
    fn steps(&mut self, prompt: &Prompt, earlier: &[Exchange]) {
        let answer = earlier.last().and_then(|e| e.answer.as_ref()).filter(|_| prompt.purpose == Purpose::GoOn);
        let Some(answer) = answer else { return };
        let steps: Vec<&Statement> = answer.numbers.iter().map(|(_, at)| &answer.statements[*at]).collect();
        let orders = steps.iter().filter(|s| is_order(&s.text)).count();
        if steps.len() < 2 || 2 * orders < steps.len() {
            return;
        }
        for step in steps.into_iter().take(6).filter(|s| s.label != Label::Done && s.ticked != Some(true)) {
            self.in_progress.add(&step.text, answer.turn, 4);
        }
    }

    /// Adds what the model asked the person for, once they say that it is there: "yapf is now installed".
    fn resumed(&mut self, prompt: &Prompt, earlier: &[Exchange]) {
        let reports = matches!(prompt.purpose, Purpose::Note | Purpose::GoOn) && prompt.own.len() <= 2;
        let Some(answer) = earlier.last().and_then(|e| e.answer.as_ref()).filter(|_| reports) else { return };
        let wanted = answer.statements.iter().rev().take(3).find(|s| is_plea(s) || is_blocker(s));
        if let Some(wanted) = wanted.filter(|s| weight_of(s) >= 3) {
            let text = format!("{}{JOIN}{}", cut(&wanted.text, PART), cut(&prompt.words(), PART));
            self.in_progress.tell(&text, &[answer.turn, prompt.turn], 4);
        }
    }

    /// Adds the questions of a form without an answer, and the matter that the person's choices belong to.
    fn choosing(&mut self, exchange: &Exchange, earlier: &[Exchange]) {
        if let Some(form) = &exchange.form {
            for question in form.questions() {
                self.next.add(&format!("{WAITS}{}", cut(question, WHOLE)), form.turn, 3);
            }
        }
        let Some(prompt) = exchange.prompt.as_ref().filter(|p| !p.chosen.is_empty() && p.own.is_empty()) else {
            return;
        };
        if let Some(before) = earlier.iter().rev().filter_map(|e| e.prompt.as_ref()).find(|p| p.is_substantive()) {
            let turns = [&before.turns[..], &[prompt.turn]].concat();
            self.in_progress.tell(&before.core, &turns, 4);
        }
    }

    /// Adds the step that the model announced last: "Let me fix the command line to give friendly errors."
    fn current_step(&mut self, exchange: &Exchange) {
        let Some(message) = exchange.messages().next_back() else { return };
        // "Let me check:" says too little.
        let says = |s: &&Statement| {
            let announces = Mark::Announcement.is_in(s) || names_next_step(&s.text);
            announces && !Mark::Courtesy.is_in(s) && !s.asks && !s.bullet && weight_of(s) >= 4
        };
        if let Some(step) = message.statements.iter().rfind(says) {
            self.in_progress.add(ahead(&step.text).trim_end_matches([':', '：']), message.turn, 3);
        }
    }
}

/// Whether a sentence says what comes next.
fn names_next_step(text: &str) -> bool {
    phrases!(
        "as a next step / next i'll|i|i'm / als nächstes / anschließend / im nächsten schritt / ensuite je|nous / prochaine étape / a continuación / ahora voy / como siguiente paso / prossimo passo / em seguida / próximo passo / следующим шагом / теперь / další krok"
    )
    .stand_in(text)
}

/// Returns the clause of a sentence that says what comes next: of "the tests pass; next I'll install the packages", the
/// second one.
fn ahead(text: &str) -> &str {
    text.rsplit(['；', ';']).find(|clause| names_next_step(clause)).unwrap_or(text).trim()
}

/// Whether the model could not begin what was asked, because it needs something of the person first.
fn is_stalled(exchange: &Exchange, prompt: &Prompt) -> bool {
    let waits = |answer: &Message| answer.statements.iter().rev().take(3).any(is_blocker);
    !exchange.acted
        && prompt.purpose == Purpose::Request
        && prompt.is_substantive()
        && exchange.answer.as_ref().is_some_and(waits)
}

/// Returns the text of a request that is being worked on. A short one whose first sentence is not in its core is quoted
/// whole, because nothing has answered that sentence yet ("The arrows are still wrong. Is the plot right?").
fn in_hand(prompt: &Prompt) -> String {
    let own = || prompt.own.iter().filter(|s| s.label != Label::Assent);
    let all = joined(own());
    let is_told = own().next().is_none_or(|first| prompt.core.contains(&first.text));
    // An accepted offer contains the words of two turns, so it keeps its core.
    if prompt.turns.len() > 1 || is_told && all.len() <= WHOLE {
        return prompt.core.clone();
    }
    if all.len() <= WHOLE {
        return all;
    }
    // A person who thinks aloud asks at the end: "… so I think that's all right, should I just go for it".
    let last = own().next_back().filter(|s| matches!(s.label, Label::Finding | Label::Remark | Label::Request));
    match last.filter(|s| s.text.len() > SPOKEN && !prompt.core.contains(&s.text)) {
        Some(s) => format!("{} {}", cut(&prompt.core, PART), cut_front(&s.text, PART)),
        None => prompt.core.clone(),
    }
}

/// Whether an item only says what the person is to see or check: "Make sure both run: - the server shows its address".
fn is_expected(s: &Statement) -> bool {
    let checks = phrases!(
        "make|be sure / ensure / verify / you|it should|will|shall now? see|show / to check|test|verify / überprüfe|prüfe / solltest du? sehen / vérifiez|vérifie / assurez-vous / asegúrate|verifica|comprueba / assicurati|controlla / verifique|certifique-se / убедитесь|проверьте / zkontrolujte|ověřte"
    );
    s.heading.as_deref().is_some_and(|heading| checks.stand_in(heading))
}

/// Whether a request is about what was listed before, and names nothing else: "fix this", "do all of them". "Attach the
/// original icon to this" is about something else.
fn points_at_list(prompt: &Prompt) -> bool {
    let several = phrases!(
        "these|those|them|both / all of / diese|alle|beide / ces|ceux|tous / estos|esos|todos / questi|tutti / эти|все"
    );
    prompt.purpose == Purpose::Request && (weight(&prompt.ask) <= 2 || several.stand_in(&prompt.ask))
}

/// Returns the list of a message, which is what "fix this" or "implement the plan" refers to.
fn pointed_at(message: &Message) -> Vec<&Statement> {
    let bullets: Vec<&Statement> = message
        .statements
        .iter()
        .filter(|s| s.bullet && s.level == 0 && !s.asks && !matches!(s.label, Label::Pasted | Label::Done))
        .filter(|s| !names_a_file(&s.text) && !is_pair(&s.text) && !is_expected(s) && !s.text.ends_with([':', '：']))
        .collect();
    if bullets.len() > 1 { bullets.into_iter().take(6).collect() } else { Vec::new() }
}
