//! Extracts from a person's words, with a language model, findings that the word lists miss (R11.3, R14.3). The answer
//! is checked word by word; accepted items become findings beside those found without a model, and are treated alike:
//! evidence, candidates, a person's yes.
//!
//! The model gets only the words of one person in one session: no tool output, no page, no pasted document, no words of
//! an agent. So machine-written text can never become a finding, whatever the model answers. An item must name a turn
//! of the input and quote words of that turn; its own words must be in that turn, too. A sentence that doubts, reports,
//! asks or mocks is no evidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use super::candidate::{Gist, Stored};
use super::reader::{By, Finding, Kind};
use super::sentences;
use crate::clock::Millis;
use crate::event::{Role, TurnKind, unwrapped};
use crate::memory::remember::remembered;
use crate::quoting::{Quoted, even, has_exact};
use crate::recall::spoken;
use crate::redact::redact;
use crate::scope::{SessionNo, TurnId};
use crate::statement::about_person::signals;
use crate::text::blocks::{Reach, blocks};
use crate::text::denial::{denials, has_opposites};
use crate::text::plain::{self, lower};
use crate::text::relayed::relayed;
use crate::text::sentences::of_lines;
use crate::tokens::{cut, tokens};
use crate::transcript::read::Turn;

pub const PROMPT: &str = include_str!("extraction_prompt.md");

/// Minimum confidence of an item that is accepted; the lower one counts if a finding without a model says the same
/// (R11.3).
pub const TAKEN_FROM: f64 = 0.82;
pub const TAKEN_CORROBORATED: f64 = 0.60;

/// Maximum number of items in an answer, and maximum tokens and bytes of an answer.
const MOST: usize = 12;
pub const MOST_ANSWERED: usize = 1_500;
const LARGEST_ANSWER: usize = 64 * 1024;

/// Maximum tokens of a person's words, and of one message, that the model gets; a session with fewer than the last
/// number of tokens is not worth a call.
const MOST_GIVEN: usize = 4_000;
const MESSAGE: usize = 500;
const WORTH_A_CALL: usize = 12;

/// Maximum number of questions about one session. A session of a thousand short messages is read whole with it; of a longer
/// one the beginning and the rest of the end are read.
pub const PARTS: usize = 8;

/// Maximum tokens of one message in a session that needs more questions than that: all messages are shortened alike, with
/// the first number that is enough.
const SHORTER: [usize; 3] = [160, 80, 40];

/// Maximum number of existing memories that the model gets.
const KNOWN: usize = 20;

/// Maximum length of a statement, and of a procedure, in bytes.
const LONGEST: usize = 240;
const LONGEST_WAY: usize = 600;

/// Minimum number of words in a quotation.
const QUOTED_WORDS: usize = 3;

/// Maximum size of a message that is read whole, and of either end that is read of a longer one, in characters: as for
/// notices.
const REACH: Reach = Reach { whole: 4_000, ends: 1_000 };

/// The words of a person in one turn, without pasted or quoted text.
#[derive(Clone, PartialEq, Debug)]
pub struct Passage {
    pub turn: TurnId,
    pub at: Option<Millis>,
    pub text: String,
}

/// An existing memory that the model gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownMemory {
    pub id: String,
    pub text: String,
}

/// Returns a person's own statements in one of their turns: no pasted text, no document, no quotation. Sentences they
/// ask to remember, or say about themselves, are left out too, because notices are made of them (R9.5). `None`: nothing
/// is left.
pub fn passage(turn: &Turn) -> Option<Passage> {
    if turn.role != Role::User || turn.kind != TurnKind::Message || !turn.lane.is_empty() {
        return None;
    }
    let said = spoken(turn.role, turn.kind, unwrapped(&turn.text))?;
    let mut taken: Vec<std::ops::Range<usize>> = remembered(&said).into_iter().map(|r| r.range).collect();
    taken.extend(signals(&said).into_iter().map(|s| s.range));
    let mut text = String::new();
    for block in blocks(&said, REACH) {
        let own = !(block.document || block.pasted || block.behind_paste);
        if !own || taken.iter().any(|t| t.start < block.range.end && block.range.start < t.end) {
            continue;
        }
        let said = &said[block.range];
        let said = &said[..relayed(said).unwrap_or(said.len())];
        let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{line}");
    }
    let text = cut(text.trim_end(), MESSAGE);
    (!text.is_empty()).then_some(Passage { turn: turn.id, at: turn.at, text })
}

/// Splits what a person said in a session into the parts for one question each, oldest first, at most [`PARTS`] of them.
///
/// Each part is filled before the next begins, so that the parts stay the same when the session goes on; only the last
/// one grows. Messages of a session that is too long for that are first shortened. If that is not enough, the first part
/// and the newest parts are kept. No part: the person said too little.
pub fn parts(passages: &[Passage]) -> Vec<Vec<Passage>> {
    let mut parts = filled(passages.to_vec());
    for room in SHORTER {
        if parts.len() <= PARTS {
            break;
        }
        let shorter = passages.iter().map(|p| Passage { text: cut(&p.text, room), ..p.clone() });
        parts = filled(shorter.collect());
    }
    if parts.len() > PARTS {
        parts.drain(1..parts.len() - (PARTS - 1));
    }
    if parts.len() == 1 && parts[0].iter().map(needs).sum::<usize>() < WORTH_A_CALL {
        parts.clear();
    }
    parts
}

fn filled(passages: Vec<Passage>) -> Vec<Vec<Passage>> {
    let (mut parts, mut left): (Vec<Vec<Passage>>, usize) = (Vec::new(), 0);
    for passage in passages {
        let needs = needs(&passage);
        match parts.last_mut() {
            Some(part) if needs <= left => {
                left -= needs;
                part.push(passage);
            }
            _ => {
                left = MOST_GIVEN.saturating_sub(needs);
                parts.push(vec![passage]);
            }
        }
    }
    parts
}

fn line(passage: &Passage) -> String {
    format!("[{}] {}", passage.turn, passage.text)
}

fn needs(passage: &Passage) -> usize {
    tokens(&line(passage)) + 1
}

/// Returns the question about one part of a session.
pub fn question(part: &[Passage], known: &[KnownMemory]) -> Quoted {
    let mut material = String::from("Known already:\n");
    for memory in known.iter().take(KNOWN) {
        let _ = writeln!(material, "({}) {}", memory.id, memory.text);
    }
    let lines: Vec<String> = part.iter().map(line).collect();
    let _ = writeln!(material, "What the person said:\n{}", lines.join("\n"));
    Quoted::new("This is what one person said in one conversation, oldest first.", &material)
}

/// Returns the findings of earlier parts of a session as the model gets them with a later part, so that it can say what no
/// longer holds. They have ids that no memory has: `earlier:3`, with the place of the finding in `others`.
pub fn earlier(others: &[Stored], session_no: SessionNo, before: TurnId) -> Vec<KnownMemory> {
    let is_earlier = |s: &Stored| {
        let said = matches!(s.finding.kind, Kind::Fact | Kind::Procedure);
        said && s.session_no == session_no && s.finding.turns.iter().max().is_some_and(|turn| *turn < before)
    };
    let found = others.iter().enumerate().filter(|(_, s)| is_earlier(s));
    let all = found.map(|(n, s)| KnownMemory { id: format!("{EARLIER}{n}"), text: s.finding.sentence.clone() });
    all.collect()
}

/// Prefix of the ids of findings in earlier parts.
const EARLIER: &str = "earlier:";

/// Returns the tokens that every question has besides its subject.
pub fn constant_tokens() -> u64 {
    (tokens(PROMPT) + tokens(&schema().to_string())) as u64
}

/// Estimates the number of questions about one session, and their tokens.
pub fn estimated(passages: &[Passage]) -> (u64, u64) {
    const ANSWER: u64 = 300;
    let parts = parts(passages);
    let calls = parts.len() as u64;
    (calls, calls * (constant_tokens() + ANSWER) + parts.iter().flatten().map(needs).sum::<usize>() as u64)
}

/// Returns the schema of the answer.
pub fn schema() -> Value {
    let text = |most: usize| json!({"type": "string", "maxLength": most});
    json!({
        "type": "object", "required": ["items"], "additionalProperties": false,
        "properties": {"items": {"type": "array", "maxItems": MOST, "items": {
            "type": "object", "additionalProperties": false,
            "required": ["kind", "subject", "value", "text", "turn", "quote", "confidence", "contradicts"],
            "properties": {
                "kind": {"type": "string", "enum": ["fact", "procedure", "retraction"]},
                "subject": text(80), "value": text(120), "text": text(LONGEST_WAY),
                "turn": text(20), "quote": text(LONGEST_WAY),
                "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                "contradicts": {"anyOf": [text(40), {"type": "null"}]},
            },
        }}},
    })
}

/// An item of the model's answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    kind: String,
    subject: String,
    value: String,
    text: String,
    turn: String,
    quote: String,
    confidence: f64,
    #[serde(default)]
    contradicts: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    items: Vec<Item>,
}

/// The checked items of an answer.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Extracted {
    pub findings: Vec<Finding>,
    /// Number of items that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, usize>,
}

/// Checks an answer against the input. `others`: the findings of the project without a model. The error says why
/// nothing of the answer can be used.
pub fn read(
    answer: &str,
    model: &str,
    passages: &[Passage],
    known: &[KnownMemory],
    others: &[Stored],
) -> Result<Extracted, &'static str> {
    if answer.len() > LARGEST_ANSWER {
        return Err("it is longer than any answer");
    }
    let answered: Answered = serde_json::from_str(answer).map_err(|_| "it is not of the agreed form")?;
    if answered.items.len() > MOST {
        return Err("it has more items than were asked for");
    }
    let mut out = Extracted::default();
    for item in answered.items {
        match checked(&item, model, passages, known, others) {
            Ok(finding) if out.findings.iter().any(|f| f.sentence == finding.sentence) => {}
            Ok(finding) => out.findings.push(finding),
            Err(why) => *out.dropped.entry(why).or_default() += 1,
        }
    }
    Ok(out)
}

/// Returns the finding of an item, or the reason why the item is dropped.
fn checked(
    item: &Item,
    model: &str,
    passages: &[Passage],
    known: &[KnownMemory],
    others: &[Stored],
) -> Result<Finding, &'static str> {
    let kind = match item.kind.as_str() {
        "fact" => Kind::Fact,
        "procedure" => Kind::Procedure,
        "retraction" => Kind::Retraction,
        _ => return Err("of no known kind"),
    };
    let turn = TurnId::parse(&item.turn).ok_or("names no turn")?;
    let passage = passages.iter().find(|p| p.turn == turn).ok_or("names a turn it was not given")?;
    let said = even(&passage.text);
    let quote = even(&item.quote);
    if quote.split(' ').count() < QUOTED_WORDS || !said.contains(&quote) {
        return Err("quotes what was not said");
    }
    let sentence = sentence_of(&passage.text, &quote);
    if sentences::is_not_meant(&sentence) {
        return Err("doubts, reports, asks or mocks");
    }
    if kind == Kind::Fact && sentences::asks_or_passes(&sentence) {
        return Err("asks for something, or is so only now");
    }
    let after = passages.iter().skip_while(|p| p.turn != turn).skip(1);
    if after.filter(|p| p.turn != turn).take(2).any(|p| sentences::takes_back(&p.text)) {
        return Err("was taken back");
    }
    let text = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let longest = if kind == Kind::Procedure { LONGEST_WAY } else { LONGEST };
    if text.is_empty() || text.len() > longest || redact(&text) != text {
        return Err("is too long, empty or has a credential in it");
    }
    let low = lower(&sentence);
    if !has_exact(&low, &text) || !stands(&low, &text) {
        return Err("says what the quoted words do not");
    }
    if denials(&text) != denials(&sentence) || has_opposites(&text, &sentence) {
        return Err("drops or adds a no");
    }
    let (subject, value) = (even(&item.subject), even(&item.value));
    let is_there = |words: &str| words.split(' ').all(|w| low.contains(w.trim_matches(['`', '"', '.', ','])));
    if subject.is_empty() || !is_there(&subject) || !is_there(&value) {
        return Err("is about what the quoted words are not");
    }
    if kind == Kind::Fact && value.is_empty() {
        return Err("says nothing of its subject");
    }
    let value = if kind == Kind::Procedure { String::new() } else { value };
    let own = others.iter().filter(|s| s.finding.by.is_none());
    let says = |s: &Stored| {
        !value.is_empty() && s.finding.value == value || Gist::of(&s.finding.sentence).is_like(&Gist::of(&sentence))
    };
    let same: Vec<&Stored> = own.filter(|s| says(s)).collect();
    if same.iter().any(|s| s.finding.kind == kind && s.finding.turns.contains(&turn)) {
        return Err("was found without it");
    }
    let corroborated = same.iter().any(|s| matches!(s.finding.kind, Kind::Fact | Kind::Procedure | Kind::Command));
    let from = if corroborated { TAKEN_CORROBORATED } else { TAKEN_FROM };
    if !(from..=1.0).contains(&item.confidence) {
        return Err("is not sure enough");
    }
    // Words of an earlier part are replaced by taking over their subject: of statements about the same subject, the
    // newest that changes it holds.
    let place = item.contradicts.as_deref().and_then(|id| id.strip_prefix(EARLIER)?.parse::<usize>().ok());
    let replaced = place.and_then(|n| others.get(n)).filter(|s| {
        let before = s.finding.turns.iter().max().is_some_and(|t| *t < turn);
        let shared = shares_a_word(&subject, &s.finding.sentence) || shares_a_word(&s.finding.subject, &sentence);
        before && shared && even(&s.finding.sentence) != even(&text)
    });
    let (subject, value) = match replaced {
        Some(old) if kind == Kind::Retraction => (old.finding.subject.clone(), old.finding.value.clone()),
        Some(old) => (old.finding.subject.clone(), value),
        None => (subject, value),
    };
    // A memory is only contradicted by a statement about the same subject.
    let contradicts = item.contradicts.as_deref().and_then(|id| known.iter().find(|m| m.id == id));
    let contradicts = contradicts.filter(|m| even(&m.text) != even(&text) && shares_a_word(&subject, &m.text));
    Ok(Finding {
        kind,
        subject,
        value,
        sentence: text,
        changed: contradicts.is_some() || replaced.is_some(),
        times: 1,
        turns: vec![turn],
        at: passage.at,
        by: Some(By {
            model: model.to_owned(),
            confidence: item.confidence,
            contradicts: contradicts.map(|m| m.id.clone()),
        }),
    })
}

/// Returns the whole sentences of a text that contain a quotation, because the words around a quotation may retract it.
fn sentence_of(text: &str, quote: &str) -> String {
    let whole: Vec<&str> = of_lines(text, usize::MAX).collect();
    // Take the smallest number of consecutive sentences that contain the quotation.
    for length in 1..=whole.len() {
        for some in whole.windows(length) {
            let joined = some.join(" ");
            if even(&joined).contains(quote) {
                return joined;
            }
        }
    }
    text.to_owned()
}

/// Returns the sentence of a passage that has most words of a statement; `None`: none has any.
pub fn said_as(passage: &Passage, statement: &str) -> Option<String> {
    let sought = stems(statement);
    let has = |sentence: &str| {
        let low = lower(sentence);
        sought.iter().filter(|stem| low.contains(stem.as_str())).count()
    };
    let (most, best) = of_lines(&passage.text, usize::MAX).map(|s| (has(s), s)).max_by_key(|(most, _)| *most)?;
    (most > 0).then(|| plain::cut(best, LONGEST))
}

/// Number of letters of a word that are compared, because endings differ.
const STEM: usize = 5;

fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() >= 4);
    words.map(|w| lower(w).chars().take(STEM).collect()).collect()
}

/// Whether a text is made of the words of another one: at least four in five of its longer words occur there.
fn stands(lower_text: &str, text: &str) -> bool {
    let stems = stems(text);
    let there = stems.iter().filter(|stem| lower_text.contains(stem.as_str())).count();
    !stems.is_empty() && there * 5 >= stems.len() * 4
}

fn shares_a_word(subject: &str, text: &str) -> bool {
    let low = lower(text);
    stems(subject).iter().any(|stem| low.contains(stem.as_str()))
}

/// Returns the memories that the model gets: those that share most words with the person's words.
pub fn related(passages: &[Passage], all: Vec<KnownMemory>) -> Vec<KnownMemory> {
    let said: String = passages.iter().map(|p| lower(&p.text)).collect::<Vec<_>>().join(" ");
    let shared = |m: &KnownMemory| stems(&m.text).iter().filter(|stem| said.contains(stem.as_str())).count();
    let mut all: Vec<(usize, KnownMemory)> = all.into_iter().map(|m| (shared(&m), m)).filter(|(n, _)| *n > 0).collect();
    all.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    all.into_iter().take(KNOWN).map(|(_, m)| m).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "The box that answers our webhooks is called pelican and stands in Falkenstein. \
        I think the cache is on port 6390. Is the vault in secrets/v2? \
        The old readme says the service listens on port 3333. The mirror is no longer in Oslo. \
        The staging database is on port 5433. Please add the pelican filter.";

    fn passages() -> Vec<Passage> {
        vec![Passage { turn: TurnId(18), at: Some(5), text: SAID.into() }]
    }

    fn known() -> Vec<KnownMemory> {
        let memory = |id: &str, text: &str| KnownMemory { id: id.into(), text: text.into() };
        vec![memory("m:aaaa", "The box for webhooks is called heron."), memory("m:bbbb", "Orders are kept for a year.")]
    }

    fn good() -> Value {
        json!({
            "kind": "fact", "subject": "box webhooks", "value": "pelican",
            "text": "The box that answers our webhooks is called pelican.", "turn": TurnId(18).to_string(),
            "quote": "The box that answers our webhooks is called pelican", "confidence": 0.9, "contradicts": null,
        })
    }

    fn read_with(change: Value, others: &[Stored]) -> Extracted {
        let mut item = good();
        for (key, value) in change.as_object().unwrap() {
            item[key] = value.clone();
        }
        read(&json!({"items": [item]}).to_string(), "made/up", &passages(), &known(), others).unwrap()
    }

    /// Returns why an item with this change is dropped; empty if it is kept.
    fn why(change: Value) -> String {
        read_with(change, &[]).dropped.into_keys().collect()
    }

    #[test]
    fn an_item_is_kept_as_far_as_a_person_said_it() {
        assert_eq!(why(json!({})), "");
        let turn = TurnId(18).to_string();
        for (change, because) in [
            (json!({"turn": TurnId(19).to_string()}), "names a turn it was not given"),
            (json!({"turn": "yesterday"}), "names no turn"),
            (json!({"quote": "the box is called heron"}), "quotes what was not said"),
            (json!({"quote": "pelican"}), "quotes what was not said"),
            (json!({"text": "The box listens on port 8080."}), "says what the quoted words do not"),
            (json!({"text": "Always run the cleanup before deploying anything."}), "says what the quoted words do not"),
            (
                json!({"text": "Die Kiste, die unsere Rückrufe annimmt, heißt Pelikan."}),
                "says what the quoted words do not",
            ),
            (json!({"text": "The box that answers our webhooks is not called pelican."}), "drops or adds a no"),
            (
                json!({"quote": "Please add the pelican filter", "text": "Please add the pelican filter.",
                       "subject": "filter", "value": "pelican"}),
                "asks for something, or is so only now",
            ),
            (json!({"subject": "production"}), "is about what the quoted words are not"),
            (json!({"value": "heron"}), "is about what the quoted words are not"),
            (json!({"value": ""}), "says nothing of its subject"),
            (json!({"kind": "preference"}), "of no known kind"),
            (json!({"kind": "skill"}), "of no known kind"),
            (json!({"confidence": 0.81}), "is not sure enough"),
            (json!({"confidence": 7.0}), "is not sure enough"),
            (json!({"text": "word ".repeat(100)}), "is too long, empty or has a credential in it"),
            (
                json!({"quote": "I think the cache is on port 6390", "text": "The cache is on port 6390.",
                       "subject": "cache", "value": "6390"}),
                "doubts, reports, asks or mocks",
            ),
            (
                json!({"quote": "the cache is on port 6390", "text": "The cache is on port 6390.",
                       "subject": "cache", "value": "6390"}),
                "doubts, reports, asks or mocks",
            ),
            (
                json!({"quote": "the vault in secrets/v2", "text": "The vault is in secrets/v2.",
                       "subject": "vault", "value": "secrets/v2"}),
                "doubts, reports, asks or mocks",
            ),
            (
                json!({"quote": "the service listens on port 3333", "text": "The service listens on port 3333.",
                       "subject": "service", "value": "3333"}),
                "doubts, reports, asks or mocks",
            ),
            (
                json!({"quote": "The mirror is no longer in Oslo", "text": "The mirror is in Oslo.",
                       "subject": "mirror", "value": "oslo", "turn": turn}),
                "drops or adds a no",
            ),
        ] {
            assert_eq!(why(change.clone()), because, "{change}");
        }
    }

    /// The word lists that are needed without a model judge no finding that a model made of a person's words.
    #[test]
    fn a_checked_item_needs_no_listed_verb() {
        for (said, subject, value) in [
            ("The pier gate can hold nine barges or twelve punts.", "pier gate", "nine barges"),
            ("Every skipper gets a paper receipt, even for zero dues.", "skipper", "paper receipt"),
            ("Orders will be archived by the night porter.", "orders", "night porter"),
            ("Harbour dues already include the pilot.", "harbour dues", "pilot"),
        ] {
            let passages = [Passage { turn: TurnId(18), at: Some(5), text: said.into() }];
            let item = json!({
                "kind": "fact", "subject": subject, "value": value, "text": said, "turn": TurnId(18).to_string(),
                "quote": said, "confidence": 0.9, "contradicts": null,
            });
            let read = read(&json!({"items": [item]}).to_string(), "made/up", &passages, &[], &[]).unwrap();
            assert_eq!((read.findings.len(), read.dropped), (1, BTreeMap::new()), "{said}");
        }
    }

    #[test]
    fn what_is_less_sure_needs_a_finding_without_a_model() {
        let found = |kind, value: &str, turn: i64| Stored {
            source: SessionNo(0),
            session_no: SessionNo(1),
            session: "little:1".into(),
            finding: Finding {
                kind,
                subject: "webhook box".into(),
                value: value.into(),
                sentence: format!("The webhook box is {value}."),
                changed: false,
                times: 1,
                turns: vec![TurnId(turn)],
                at: Some(1),
                by: None,
            },
        };
        let unsure = json!({"confidence": 0.6});
        assert_eq!(read_with(unsure.clone(), &[]).findings.len(), 0);
        assert_eq!(read_with(unsure.clone(), &[found(Kind::Fact, "pelican", 3)]).findings.len(), 1);
        assert_eq!(read_with(unsure, &[found(Kind::Retraction, "pelican", 3)]).findings.len(), 0);
        assert_eq!(read_with(json!({"confidence": 0.59}), &[found(Kind::Fact, "pelican", 3)]).findings.len(), 0);
        let same = read_with(json!({}), &[found(Kind::Fact, "pelican", 18)]);
        assert_eq!(same.dropped.into_keys().collect::<Vec<_>>(), ["was found without it"]);
    }

    #[test]
    fn a_memory_is_contradicted_only_by_what_is_about_the_same() {
        let of = |id: &str| {
            let found = read_with(json!({"contradicts": id}), &[]).findings.remove(0);
            (found.changed, found.by.unwrap().contradicts)
        };
        assert_eq!(of("m:aaaa"), (true, Some("m:aaaa".into())));
        assert_eq!(of("m:bbbb"), (false, None), "about something else");
        assert_eq!(of("m:cccc"), (false, None), "there is no such memory");
    }

    #[test]
    fn what_is_of_no_form_is_refused_as_a_whole() {
        let of = |answer: &str| read(answer, "made/up", &passages(), &known(), &[]).unwrap_err();
        for bad in ["", "I would rather ask: which project?", "{}", "[]", r#"{"items":[{"kind":"fact"}]}"#] {
            assert_eq!(of(bad), "it is not of the agreed form", "{bad}");
        }
        let mut more = good();
        more["run"] = json!("rm -rf /");
        assert_eq!(of(&json!({"items": [more]}).to_string()), "it is not of the agreed form");
        assert_eq!(of(&"x".repeat(2 << 20)), "it is longer than any answer");
        assert_eq!(of(&json!({"items": vec![good(); MOST + 1]}).to_string()), "it has more items than were asked for");
    }
}
