//! Progress as the assistant reports it: done, begun, blocked, next, findings.

use super::cues::Cue;
use super::list::{List, Noted};
use super::sentences::Sentence;
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::headings::Topic;
use crate::text::language::sayings;
use crate::text::patterns::phrases;
use crate::text::similarity::Bag;

/// What one sentence of the assistant says about the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    Done,
    Begun,
    /// To be done later, or open.
    Later,
    Next,
    Blocked,
    Found,
    Nothing,
}

/// The progress so far.
#[derive(Debug)]
pub struct Progress {
    done: List,
    begun: List,
    blocked: List,
    next: List,
    found: List,
    /// The newest statement about tests and builds; it replaces earlier ones.
    status: Option<Noted>,
    /// The user asked for something after `next` was said.
    overtaken: bool,
}

impl Progress {
    pub fn new(before: Option<&crate::lineage::distillate::Distillate>) -> Progress {
        Progress {
            done: List::new(20),
            begun: List::carrying(4, before.map(|b| &b.in_progress[..])),
            blocked: List::carrying(6, before.map(|b| &b.blocked[..])),
            next: List::carrying(8, before.map(|b| &b.next_steps[..])),
            found: List::new(5),
            status: None,
            overtaken: false,
        }
    }

    /// The user asked for something else.
    pub fn overtake(&mut self) {
        self.overtaken = true;
    }

    /// The user accepted an offer: it comes next.
    pub fn accepted(&mut self, offers: &[Noted]) {
        for noted in offers {
            self.overtaken = true;
            self.next.put(noted.clone());
        }
    }

    /// Reads a message of the assistant. `last`: it ends its run, with no work after it. Returns what was completed,
    /// and what is to be done later.
    pub fn hear<'s>(
        &mut self,
        turn: TurnId,
        seq: usize,
        sentences: &'s [Sentence],
        last: bool,
    ) -> (Vec<Bag>, Vec<&'s Sentence>) {
        let (mut done, mut later) = (Vec::new(), Vec::new());
        let mut said_next = false;
        if last {
            // The last message of a run replaces what was begun.
            self.begun.clear();
            self.blocked.retain(|n| n.weight > 2);
        }
        for (at, s) in sentences.iter().enumerate() {
            let bag = s.bag();
            match says(s, last) {
                Says::Done => {
                    self.settle(bag);
                    if is_status(s) {
                        // "All green" adds nothing to "43 tests pass".
                        let counted = s.low().bytes().any(|b| b.is_ascii_digit());
                        if counted || self.status.is_none() {
                            self.status = Noted::new(&s.text, turn, 3, seq)
                                .filter(|n| counted || n.bag.len() >= 2)
                                .or(self.status.take());
                        }
                    } else if announces(s, sentences.get(at + 1)) {
                        // The work it announces follows it.
                    } else if bag.len() >= 2 || last && s.len() >= 3 && !bag.is_empty() {
                        let headline = last && (s.bullet && s.under == Some(Topic::Done) || s.first && !s.bullet);
                        self.done.add(
                            &s.text,
                            turn,
                            if headline {
                                4
                            } else if last {
                                3
                            } else {
                                2
                            },
                            seq,
                        );
                    }
                    done.push(bag.clone());
                }
                Says::Begun if !last && !bag.is_empty() => {
                    self.begun.add(&s.text, turn, weigh_begun(s, bag), seq);
                }
                Says::Later => later.push(s),
                Says::Next => {
                    if !said_next && (last || self.overtaken) {
                        self.next.clear();
                        said_next = true;
                    }
                    if !bag.is_empty() {
                        self.next.add(&s.text, turn, if last { 3 } else { 2 }, seq);
                    }
                }
                Says::Blocked if bag.len() >= 2 => self.blocked.add(&s.text, turn, if last { 4 } else { 2 }, seq),
                Says::Found if bag.len() >= 3 && !s.text.ends_with([':', '：']) => {
                    self.found.add(&s.text, turn, 2, seq)
                }
                _ => {}
            }
        }
        if last && self.overtaken && !said_next {
            self.next.clear();
        }
        self.overtaken &= !last;
        (done, later)
    }

    /// Work shown done by something else: a commit, a closed ticket.
    pub fn did(&mut self, text: &str, turn: TurnId, seq: usize) {
        self.done.add(text, turn, 5, seq);
        // The commit contains the work in progress; work with a name of its own may take several commits.
        self.begun.retain(|n| n.weight > 2);
    }

    /// Removes what a statement of completed work settles.
    pub fn settle(&mut self, done: &Bag) {
        for list in [&mut self.begun, &mut self.blocked, &mut self.next] {
            list.settle(done);
        }
    }

    /// Tests passed: their blockers are removed.
    pub fn passed(&mut self) {
        self.blocked.retain(|n| n.weight > 2 && n.seq == 0);
    }

    pub fn into_lists(mut self) -> Lists {
        if let Some(status) = self.status.take() {
            self.done.put(status);
        }
        // Of what was begun, the last item with a name, and those after it; exploring counts only if there is nothing
        // else.
        let named = self.begun.iter().filter(|n| n.weight >= 3 && n.seq >= 100).map(|n| n.seq).max();
        let newest = self.begun.iter().filter(|n| n.weight >= 2).map(|n| n.seq).max();
        let last = self.begun.iter().map(|n| n.seq).max();
        let since = newest.unwrap_or(0).saturating_sub(24);
        self.begun.retain(|n| {
            n.seq < 100
                || Some(n.seq) == named
                || n.weight >= 2 && n.seq >= since
                || newest.is_none() && Some(n.seq) == last
        });
        let begun = self.begun.into_items();
        Lists {
            done: self.done.into_items(),
            in_progress: begun,
            blocked: self.blocked.into_items(),
            next: self.next.into_items(),
            found: self.found.into_items(),
        }
    }
}

/// The lists progress results in.
pub struct Lists {
    pub done: Vec<Item>,
    pub in_progress: Vec<Item>,
    pub blocked: Vec<Item>,
    pub next: Vec<Item>,
    pub found: Vec<Item>,
}

/// "Yes, everything is pushed:", "Summary of what was done:": a line that introduces a list, not work itself.
fn announces(s: &Sentence, next: Option<&Sentence>) -> bool {
    if !s.text.trim_end_matches(['*', ' ']).ends_with([':', '：']) {
        return false;
    }
    let answers = matches!(
        s.word(0),
        "yes" | "yep" | "yeah" | "no" | "here" | "here's" | "ja" | "nein" | "hier" | "oui" | "voici" | "sí" | "aquí"
    );
    let titles = s.says(sayings!("titles"));
    answers || titles || s.bag().len() < 3 || next.is_some_and(|n| n.bullet && !s.bullet)
}

/// "All 43 tests pass", "clippy is clean".
fn is_status(s: &Sentence) -> bool {
    s.len() <= 20
        && s.says(sayings!("checks"))
        && !s.begins(Cue::Participle)
        && !s.says(phrases!("added|wrote|fixed|created|implemented"))
}

/// Work with a name weighs most, exploring least.
fn weigh_begun(s: &Sentence, bag: &Bag) -> u8 {
    let from = s.hit(Cue::Start).map_or(0, |h| h.to);
    let looks = (from..from + 4).any(|i| {
        matches!(
            s.word(i),
            "check"
                | "read"
                | "look"
                | "see"
                | "explore"
                | "understand"
                | "search"
                | "find"
                | "verify"
                | "view"
                | "examine"
                | "inspect"
                | "wait"
                | "try"
                | "list"
                | "open"
                | "grep"
                | "run"
                | "think"
                | "get"
                | "fetch"
                | "review"
                | "first"
                | "figure"
                | "close"
                | "commit"
                | "continue"
                | "compile"
                | "also"
        )
    });
    if crate::text::similarity::is_id(s.word(from)) {
        return 3;
    }
    let ticket = (1..=2).contains(&bag.ids.len()) && !s.text.ends_with(':');
    match (ticket, looks) {
        (_, true) => 1,
        (true, false) => 3,
        (false, false) => 2,
    }
}

/// Classifies a sentence of the assistant. `last`: it is in the last message of a run.
pub fn says(s: &Sentence, last: bool) -> Says {
    if s.asks() || s.is_quotation() || s.pasted || s.len() == 0 {
        return Says::Nothing;
    }
    match s.ticked {
        Some(true) => return Says::Done,
        Some(false) => return Says::Later,
        None => {}
    }
    if last && s.bullet {
        match s.under {
            Some(Topic::Open) => return Says::Later,
            Some(Topic::Next) => return Says::Next,
            _ => {}
        }
    }
    // "Let me know" waits and begins nothing.
    if s.says(phrases!("let me know / let me hear / sag bescheid")) {
        return Says::Nothing;
    }
    let will = begins_hard(s);
    if let Some(hit) = s.hits().iter().find(|h| h.cue == Cue::Blocked) {
        let free = s.hits().iter().any(|h| h.cue == Cue::Negation && h.to <= hit.from && h.from + 3 >= hit.from)
            || s.says(sayings!("overcome"));
        let ours = !s.before(Cue::Hypothesis, hit.from) && !s.before(Cue::Reported, hit.from) && !will;
        if ours && !free && !is_done(s, last) {
            return Says::Blocked;
        }
    }
    let later = s.hits().iter().find(|h| h.cue == Cue::Later && !s.before(Cue::Hypothesis, h.from));
    if let Some(hit) = later {
        let strong = s.says(sayings!("surely later"));
        let past = s.word(hit.from) == "later" && s.hits().iter().any(|h| h.cue == Cue::Done && h.from < hit.from);
        let put_off = s.says(sayings!("put off until"));
        if (last || strong)
            && !past
            && (!will || put_off)
            && !s.low().starts_with("nothing")
            && !s.low().starts_with("no ")
        {
            return Says::Later;
        }
    }
    if last && !will && s.has(Cue::Negation) && s.says(phrases!("yet|noch")) && !s.has(Cue::Hypothesis) {
        return Says::Later;
    }
    if is_done(s, last) && !will && !s.says(phrases!("fully booked / sold out")) {
        return Says::Done;
    }
    if (last || !will)
        && s.hits().iter().any(|h| h.cue == Cue::Next && h.from <= s.start() + 1)
        && !s.before(Cue::Hypothesis, 1)
        || last && will && !s.low().contains("let me know")
    {
        // "Next steps:" introduces them.
        return if s.text.ends_with(':') && s.len() <= 4 { Says::Nothing } else { Says::Next };
    }
    if s.hits().iter().any(|h| h.cue == Cue::Finding && !s.before(Cue::Hypothesis, h.from)) && !will {
        return Says::Found;
    }
    if s.begins(Cue::Start) {
        return Says::Begun;
    }
    Says::Nothing
}

/// "Let me …", "I'll …": nothing after it in the sentence is done yet.
fn begins_hard(s: &Sentence) -> bool {
    let start = s.start();
    let at = if matches!(s.word(start), "now" | "next" | "first" | "then" | "jetzt" | "maintenant" | "ahora") {
        start + 1
    } else {
        start
    };
    matches!(
        (s.word(at), s.word(at + 1)),
        ("let", "me")
            | ("let's", _)
            | ("i'll", _)
            | ("ill", _)
            | ("i", "will" | "need" | "should" | "want" | "am" | "can")
            | ("we", "need" | "should" | "can" | "will")
            | ("i'm", "going" | "now")
            | ("going", "to")
            | ("ich", "werde")
            | ("lass", "mich")
            | ("je", "vais")
            | ("voy", "a")
            | ("we'll", _)
    )
}

fn is_done(s: &Sentence, last: bool) -> bool {
    let start = s.start();
    let negated = |at: usize| s.hits().iter().any(|h| h.cue == Cue::Negation && h.from + 4 >= at && h.from <= at + 1);
    let modal = |at: usize| {
        (at.saturating_sub(2)..at).any(|i| {
            matches!(
                s.word(i),
                "can"
                    | "could"
                    | "should"
                    | "will"
                    | "would"
                    | "must"
                    | "to"
                    | "be"
                    | "may"
                    | "when"
                    | "until"
                    | "after"
                    | "before"
                    | "need"
                    | "needs"
            )
        })
    };
    let told = s.hits().iter().any(|h| {
        h.cue == Cue::Done
            && !modal(h.from)
            && !s.in_brackets(h.from)
            && !s.before(Cue::Hypothesis, h.from)
            && !s.before(Cue::Reported, h.from)
            && !(matches!(s.word(h.from), "no" | "keine")
                || negated(h.from)
                || (h.from..h.to).any(|i| matches!(s.word(i), "not" | "nicht")))
            || h.cue == Cue::Done && matches!(s.word(h.from), "no" | "0")
    });
    // "Set", "split" and "started" may be imperatives, but not in a list of completed work.
    let ambiguous = matches!(
        s.word(start),
        "set" | "split" | "started" | "stopped" | "checked" | "sent" | "new" | "closed" | "mis" | "tested" | "used"
    );
    let participle = s.hits().iter().any(|h| h.cue == Cue::Participle && h.from == start)
        && (!ambiguous || last && (s.bullet || s.len() >= 4));
    let listed =
        last && s.bullet && s.under == Some(Topic::Done) && s.len() >= 2 && !s.has(Cue::Later) && !s.has(Cue::Blocked);
    told || participle && !s.has(Cue::Hypothesis) && !s.word(start + 1).is_empty() || listed
}
