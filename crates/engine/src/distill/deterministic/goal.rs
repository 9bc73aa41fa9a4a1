//! The user's current goal, which is not simply the last prompt. "Continue" and "did you push?" refer to the current
//! goal, "tackle them too" continues it, "also fix the typo" adds to it; only a new request replaces it.

use super::cues::Cue;
use super::list::{JOIN, Noted};
use super::sentences::Sentence;
use crate::lineage::distillate::{Item, LONGEST_ITEM};
use crate::scope::TurnId;
use crate::text::language::sayings;
use crate::text::patterns::phrases;
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// The most bytes of a goal taken from one prompt.
const LONGEST: usize = 280;

/// How a prompt relates to the current goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prompt {
    /// About the current work: an assent, a status question, a directive.
    FollowUp,
    /// Asks for something in addition.
    Additional,
    /// Continues the goal: "tackle them".
    Continuation,
    /// Asks for something else.
    Request,
    /// A question, or a report without a request.
    Aside,
}

/// The goal while it may change.
#[derive(Debug)]
pub struct Goal {
    standing: Option<Noted>,
    /// It is a question rather than a request for work.
    question: bool,
    /// It was answered: a question may now replace it.
    finished: bool,
    /// A prompt that becomes the goal if work follows it.
    aside: Option<(Noted, usize)>,
}

impl Goal {
    pub fn new(before: Option<&Item>) -> Goal {
        Goal { standing: before.and_then(Noted::carried), question: false, finished: false, aside: None }
    }

    /// Reads a prompt by the user. Returns its kind and what it asks for.
    pub fn hear(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) -> (Prompt, Option<Noted>) {
        let stands = self.standing.is_some();
        let (mut prompt, told) = classify(sentences, stands);
        self.aside = None;
        let Some(noted) = told.and_then(|text| Noted::new(&text, turn, 3, seq)) else { return (prompt, None) };
        let asks = prompt == Prompt::Aside;
        if asks {
            let own = noted.bag.len() >= 3;
            let open =
                self.standing.as_ref().is_none_or(|g| self.question || self.finished && g.bag.shared(&noted.bag) == 0);
            if !stands || own && open {
                prompt = Prompt::Request;
            } else {
                self.aside = Some((noted.clone(), 0));
            }
        }
        match prompt {
            Prompt::Request => {
                self.standing = Some(noted.clone());
                (self.question, self.finished) = (asks, false);
            }
            Prompt::Continuation => {
                if let Some(goal) = &mut self.standing {
                    goal.go_on(&noted);
                    self.finished = false;
                }
            }
            _ => {}
        }
        (prompt, Some(noted))
    }

    /// Work was done after the last prompt: that prompt is the goal.
    pub fn worked(&mut self, changed: bool) {
        if let Some((_, calls)) = &mut self.aside {
            *calls += if changed { 3 } else { 1 };
            if *calls >= 6 && self.finished {
                self.standing = self.aside.take().map(|(noted, _)| noted);
                self.finished = false;
            }
        }
    }

    /// A run ended.
    pub fn answered(&mut self) {
        self.finished = true;
    }

    /// The user accepted an offer of the assistant: the work continues with it.
    pub fn accepted(&mut self, noted: &Noted) {
        self.aside = None;
        match &mut self.standing {
            Some(goal) if !self.question => goal.go_on(noted),
            _ => {
                self.standing = Some(noted.clone());
                self.question = false;
            }
        }
        self.finished = false;
    }

    pub fn text(&self) -> Option<&Noted> {
        self.standing.as_ref()
    }

    /// The user gave the goal up.
    pub fn given_up(&mut self, about: &Bag) {
        if self.standing.as_ref().is_some_and(|g| about.settles(&g.bag)) {
            self.standing = None;
        }
    }

    pub fn into_item(self) -> Option<Item> {
        self.standing.map(|n| n.item)
    }
}

impl Noted {
    /// Keeps the goal's own words first and the latest addition last.
    fn go_on(&mut self, with: &Noted) {
        let first = self.item.text.split(JOIN).next().unwrap_or_default();
        let text = format!("{}{JOIN}{}", cut(first, LONGEST_ITEM / 2 - 8), cut(&with.item.text, LONGEST_ITEM / 2 - 8));
        self.bag = Bag::of(&text);
        self.item.text = text;
        self.also(&with.item.turns);
    }
}

const ASSENT: &str = "yes|yeah|yep|yup|y|no|nope|ok|okay|k|sure|thanks|thank|thx|ty|great|perfect|nice|good|cool|continue|proceed|go|on|ahead|\
    keep|going|do|it|try|again|check|looks|lgtm|carry|next|done|works|awesome|right|correct|exactly|fine|please|retry|resume|wait|stop|hi|hello|hey|hallo|hola|salut|bonjour|you|that|this|so|much|a|lot|very|well|work|job|the|all|and|now|for|is|sounds|\
    ja|nein|weiter|mach|danke|gut|genau|passt|super|prima|oui|non|merci|d'accord|vas-y|parfait|continuez|sí|si|sigue|continúa|gracias|vale|adelante|bien|haha|lol|hm|hmm|morning|evening|push|commit|pushed";

/// Whether a prompt only assents.
fn is_assent(sentences: &[Sentence]) -> bool {
    let words: usize = sentences.iter().map(Sentence::len).sum();
    words <= 8
        && sentences.iter().all(|s| {
            (0..s.len())
                .all(|i| ASSENT.split('|').any(|w| w == s.word(i)) || s.word(i).bytes().all(|b| b.is_ascii_digit()))
        })
}

/// "did you push?", "is it done?", "why did you …?".
fn is_status(s: &Sentence) -> bool {
    if !s.asks() && !matches!(s.word(0), "status") {
        return false;
    }
    let start = s.start();
    let (first, second) = (s.word(start), s.word(start + 1));
    let past =
        matches!(first, "did" | "have" | "has" | "are" | "were" | "was" | "hast" | "habt" | "as-tu" | "avez-vous");
    let you = matches!(
        second,
        "you" | "we" | "it" | "that" | "they" | "this" | "the" | "all" | "there" | "everything" | "du" | "ihr"
    );
    let why = matches!(first, "why" | "warum" | "what" | "how" | "where" | "wieso")
        && matches!(second, "did" | "didn't" | "have" | "haven't" | "do" | "are" | "were")
        && matches!(s.word(start + 2), "you" | "we" | "they");
    past && you && s.len() <= 12
        || why && s.len() <= 14
        || s.len() <= 5
            && matches!(
                first,
                "is" | "done"
                    | "any"
                    | "status"
                    | "what's"
                    | "whats"
                    | "how's"
                    | "why"
                    | "really"
                    | "and"
                    | "what"
                    | "when"
                    | "where"
            )
}

fn is_request(s: &Sentence) -> bool {
    if s.is_quotation() || super::directives::is_retraction(s) && !s.has(Cue::Task) {
        return false;
    }
    let start = s.start();
    let at = |cue: Cue| s.hits().iter().find(|h| h.cue == cue && h.from == start).copied();
    if at(Cue::Directive).is_some() && at(Cue::Task).is_none() {
        return false;
    }
    // "Let's take the second one" chooses.
    let chooses =
        at(Cue::Choice).is_some_and(|h| matches!(s.word(h.to - 1), "take" | "use" | "try") && h.to - h.from > 1);
    if chooses && !s.asks() && s.len() <= 8 {
        return false;
    }
    let task = at(Cue::Task).is_some() && !s.asks();
    let wish =
        s.hits().iter().any(|h| h.cue == Cue::Request && (h.from <= start && h.to > start || s.clause_starts(h.from)));
    // "If the build is green, deploy it": the request follows a comma.
    let behind =
        s.len() > 3 && s.hits().iter().any(|h| h.cue == Cue::Task && h.from > start && s.joint(h.from) && !s.asks());
    let pleads = s.low().contains("please") || s.low().contains("bitte") || s.low().contains("por favor");
    let wish = wish && !(s.asks() && matches!(s.word(start), "how"));
    task || wish || behind && s.begins(Cue::Hypothesis) || pleads && s.hits().iter().any(|h| h.cue == Cue::Task)
}

/// The kind of a prompt, and the words of its request.
fn classify(sentences: &[Sentence], stands: bool) -> (Prompt, Option<String>) {
    let own: Vec<&Sentence> = {
        let clean: Vec<_> = sentences.iter().filter(|s| !s.pasted && !s.is_quotation()).collect();
        // All of it is pasted: the last paragraph may be the user's.
        if clean.is_empty() { sentences.iter().filter(|s| s.last).collect() } else { clean }
    };
    let count: usize = own.iter().map(|s| s.len()).sum();
    if own.is_empty() || is_assent(sentences) {
        return (Prompt::FollowUp, None);
    }
    let asked = own.iter().position(|s| is_request(s) && !is_status(s) && !allows(s));
    if stands && asked.is_none() && own.iter().all(|s| is_status(s) || s.len() <= 2) {
        return (Prompt::FollowUp, None);
    }
    let Some(asked) = asked else {
        let own: Vec<_> = own
            .into_iter()
            .filter(|s| !super::directives::is_directive(s) && !super::directives::is_retraction(s))
            .collect();
        let told = own.iter().find(|s| s.asks() && s.len() >= 4).or_else(|| own.iter().find(|s| s.len() >= 4));
        return match told {
            Some(s) if count >= 4 => (Prompt::Aside, Some(cut(&s.text, LONGEST))),
            _ => (Prompt::FollowUp, None),
        };
    };
    let sentence = own[asked];
    // "Find out why and fix it": the subject was named before.
    let bare = asked > 0 && sentence.bag().len() <= 3;
    let text = if bare { led_up_to(&own, asked) } else { words_from(&own, asked) };
    if !stands {
        return (Prompt::Request, Some(text));
    }
    let replaces = own[0].says(sayings!("replaces"));
    if replaces {
        return (Prompt::Request, Some(text));
    }
    if own[0].begins(Cue::Besides) || sentence.begins(Cue::Besides) {
        return (Prompt::Additional, Some(text));
    }
    let corrects = matches!(own[0].word(0), "no" | "nope" | "wrong" | "nein" | "non")
        || own[0].says(phrases!("instead / that's wrong / not what i / that is wrong"))
        || sentence.len() <= 1;
    if corrects && count <= 30 {
        return (Prompt::Additional, Some(text));
    }
    let back = sentence.says(sayings!("refers back"));
    if back && count <= 16 && sentence.bag().len() <= 4 {
        // "new beads were added. tackle them": the sentence before names the subject.
        let from = if asked > 0 && asked <= 2 { 0 } else { asked };
        return (Prompt::Continuation, Some(words_from(&own, from)));
    }
    (Prompt::Request, Some(text))
}

/// The prompt's words from a sentence on, as far as they fit; omissions are marked.
fn words_from(own: &[&Sentence], from: usize) -> String {
    let mut text = String::new();
    for (i, s) in own.iter().enumerate().skip(from) {
        let words = s.text.as_str();
        if text.is_empty() {
            text.push_str(&cut(words, LONGEST));
        } else if text.len() + words.len() + 5 > LONGEST || super::directives::is_directive(s) || text.ends_with('…')
        {
            break;
        } else {
            text.push_str(if own[i - 1].follows(s) { " " } else { " … " });
            text.push_str(words);
        }
    }
    text
}

/// "You can push now" permits and asks for nothing new.
fn allows(s: &Sentence) -> bool {
    super::directives::is_retraction(s) && matches!(s.word(s.start()), "you" | "we" | "du")
}

/// A short request, with the sentences that led up to it.
fn led_up_to(own: &[&Sentence], asked: usize) -> String {
    let request = cut(&own[asked].text, LONGEST / 2);
    let first = (0..asked).find(|i| own[*i].len() >= 4 && !own[*i].asks()).unwrap_or(asked);
    let mut text = String::new();
    for i in first..asked {
        let words = &own[i].text;
        let room = LONGEST.saturating_sub(request.len() + text.len() + 6);
        if super::directives::is_directive(own[i]) || !text.is_empty() && words.len() > room {
            break;
        }
        text.push_str(if text.is_empty() {
            ""
        } else if own[i - 1].follows(own[i]) {
            " "
        } else {
            " … "
        });
        text.push_str(&cut(words, room));
    }
    let next = text.is_empty() || own[asked - 1].follows(own[asked]) && text.ends_with(own[asked - 1].text.as_str());
    format!(
        "{text}{}{request}",
        if text.is_empty() {
            ""
        } else if next {
            " "
        } else {
            " … "
        }
    )
}
