//! Makes summaries with a language model (D5, R6.3, R14.4). The prompt is a file beside this one.
//!
//! The input is redacted, shortened and fenced. The answer is checked against the input: an item that names no turn of
//! the input is dropped, and so is an item that is not borne by the turns it names ([`Passage::bears`]). Items that have
//! effects, or bind people, are never taken from a model: constraints, requirements, open loops, blocked matters, next
//! steps, files and proposals stay as found without one; what a model says is blocked or next is kept as a note
//! ([`kept_from`]).
//!
//! A conversation is one question, however long it is: answers about its parts would each report what was so in that part,
//! and joined they would keep what is long out of date. What does not fit is chosen ([`chosen`]): the beginning, the end,
//! and between them what the person said, first what they said once only. An item that later words of the person take back
//! is dropped, whether these words were given to the model or not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::deterministic::{is_replaced, retracts};
use super::summarizer::{Material, Summarizer, SummarizerError, Summary, SummaryRequest};
use super::{Said, schema};
use crate::budget::reserved;
use crate::event::{Role, TurnKind};
use crate::lineage::Kind;
use crate::lineage::distillate::{Distillate, Item};
use crate::lineage::model_summary::WORTH_A_CALL;
use crate::model::{Ask, Model, Purpose};
use crate::quoting::{Passage, Quoted, Tongue};
use crate::redact::redact;
use crate::scope::TurnId;
use crate::text::relayed::relayed;
use crate::text::similarity::same_words;
use crate::tokens::{cut, tokens};

const PROMPT: &str = include_str!("model_prompt.md");

/// Maximum tokens of a conversation that a model gets: a long evening's work fits once tool results are shortened, and
/// the budget of a day is enough for some twenty such questions.
const MOST_GIVEN: usize = 12_000;

/// Maximum tokens of an answer: eight items in each of eight lists.
const MOST_ANSWERED: usize = 3_000;

/// Maximum tokens of each turn of a person, of the agent, and of a tool. If the result is too long with one row, the
/// next row is used.
const ROOM: [(usize, usize, usize); 4] = [(1_200, 500, 150), (600, 250, 50), (300, 120, 0), (150, 50, 0)];

/// Maximum tokens of a turn's own words with which items are compared, if parts of the turn are somebody else's.
const OWN: usize = 1_200;

/// A summariser that asks a language model.
pub struct ModelSummarizer<'m> {
    model: &'m dyn Model,
    /// Number of items that were dropped.
    dropped: AtomicU64,
}

impl<'m> ModelSummarizer<'m> {
    pub fn new(model: &'m dyn Model) -> ModelSummarizer<'m> {
        ModelSummarizer { model, dropped: AtomicU64::new(0) }
    }

    /// Returns the number of items of all answers that were dropped, because they are not about what the model was given.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns the question for a request as the model would get it.
    pub fn question(request: &SummaryRequest) -> String {
        Given::of(request).quoted.question
    }
}

/// Returns the tokens that every question has besides its subject: the instructions and the form of the answer.
pub fn constant_tokens() -> u64 {
    (tokens(PROMPT) + tokens(schema::SCHEMA)) as u64
}

/// Returns the tokens that the smallest question about a conversation reserves.
pub fn smallest() -> u64 {
    let (tokens_in, tokens_out) = reserved(constant_tokens() + WORTH_A_CALL, MOST_ANSWERED as u64);
    tokens_in + tokens_out
}

/// Estimates the tokens a call uses for a source of this many: the input is shortened, and answers are short.
pub fn estimated(source_tokens: u64) -> u64 {
    const ANSWER: u64 = 700;
    constant_tokens() + source_tokens.min(MOST_GIVEN as u64) + ANSWER
}

impl Summarizer for ModelSummarizer<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizerError> {
        let given = Given::of(request);
        let purpose = if request.kind == Kind::Compaction { Purpose::Compaction } else { Purpose::Summary };
        let schema: Value = serde_json::from_str(schema::SCHEMA).map_err(|e| SummarizerError::Form(e.to_string()))?;
        let ask =
            Ask { purpose, system: PROMPT, input: &given.quoted.question, schema: &schema, max_output: MOST_ANSWERED };
        let answer = self.model.answer(&ask).map_err(SummarizerError::Failed)?;
        if answer.text.len() > schema::LARGEST_ANSWER {
            return Err(SummarizerError::TooLarge(answer.text.len()));
        }
        let mut value: Value = serde_json::from_str(&answer.text)
            .map_err(|e| SummarizerError::Form(format!("line {}, column {}", e.line(), e.column())))?;
        let (all, kept) = given.keep_what_is_there(&mut value);
        self.dropped.fetch_add((all - kept) as u64, Ordering::Relaxed);
        if all > 0 && kept == 0 {
            return Err(SummarizerError::Form("none of its items is about what it was given".into()));
        }
        // The summary names no turns, so it has to be borne by the whole input. A handoff is made of the items alone and
        // has no use for the summary.
        let is_used = request.kind != Kind::Compaction;
        let summary = value["summary"].as_str().unwrap_or_default();
        // An empty summary is refused with its own reason.
        if is_used && !summary.trim().is_empty() && !given.bears_summary(summary) {
            return Err(SummarizerError::Form("its summary says what it was not given".into()));
        }
        schema::parse(value.to_string().as_bytes(), request)
    }
}

/// The input of a model.
struct Given {
    quoted: Quoted,
    /// The turns an answer may name, with all that the input says of each.
    turns: BTreeMap<TurnId, Words>,
    /// The whole input.
    all: Passage,
    /// The language of the person.
    spoken: Tongue,
    /// Sentences in which the person takes something back, of all turns, with their turns.
    taken_back: Vec<(TurnId, String)>,
}

/// The words that the input has of a turn.
#[derive(Default)]
struct Words {
    all: String,
    /// The same without a tool's output, and without the words of others that a person or the model passes on.
    own: String,
}

/// Lists of an answer that say what was meant to be done. A page can say much about that (R14.3).
const MEANT: [&str; 4] = ["goal", "decisions", "in_progress", "next_steps"];

/// Lists of an answer that say what holds now. What was done or mended stays so when a plan changes.
const OF_NOW: [&str; 5] = ["goal", "decisions", "in_progress", "next_steps", "context"];

impl Given {
    fn of(request: &SummaryRequest) -> Given {
        let (mut turns, mut taken_back) = (BTreeMap::new(), Vec::new());
        let mut spoken = String::new();
        let what = match request.kind {
            Kind::Compaction => "a conversation whose context is cut here; the one who goes on sees your notes only",
            Kind::Condensed => "several summaries of one piece of work, oldest first",
            _ => "a conversation that is over for now",
        };
        let head = format!("This is {what}. The summary may have at most {} tokens.", request.room());
        let mut quoted = String::new();
        if let Some(noted) = request.before {
            let _ = writeln!(quoted, "Noted without a model:");
            note(&mut quoted, noted, &mut turns);
        }
        match request.material {
            Material::Turns(said) => {
                let (lines, is_whole) = shortened(said, MOST_GIVEN.saturating_sub(tokens(&quoted)));
                taken_back = retractions(said);
                let _ = match is_whole {
                    true => writeln!(quoted, "The conversation:"),
                    false => writeln!(
                        quoted,
                        "The beginning and the end of a long conversation; between them only words of the person:"
                    ),
                };
                let by_id: BTreeMap<TurnId, &Said> = said.iter().map(|turn| (turn.id, turn)).collect();
                for (turn, line) in lines {
                    // Without the id in front.
                    let words = line.split_once("] ").map_or(line.as_str(), |(_, words)| words);
                    let own = by_id.get(&turn).map_or(words.into(), |said| own_words(said, words));
                    say(&mut turns, turn, words, &own);
                    let _ = writeln!(quoted, "{line}");
                }
                for turn in said.iter().filter(|turn| is_person(turn)) {
                    let _ = writeln!(spoken, "{}", turn.text);
                }
            }
            Material::Summaries(nodes) => {
                for node in nodes {
                    let summary = cut(node.summary, ROOM[0].1);
                    let _ = writeln!(quoted, "Summary: {summary}");
                    note(&mut quoted, node.distillate, &mut turns);
                    // A summary is about all turns that its items name.
                    for (_, items) in node.distillate.lists() {
                        let newest = items.iter().filter_map(|item| item.turns.last());
                        newest.for_each(|turn| say(&mut turns, *turn, &summary, &summary));
                    }
                    let _ = writeln!(spoken, "{summary}");
                }
                quoted = cut(&quoted, MOST_GIVEN);
            }
        }
        turns.retain(|turn, _| request.allowed.contains(turn));
        let (all, spoken) = (Passage::of(&redact(&quoted)), Tongue::of(&spoken));
        Given { quoted: Quoted::new(&head, &quoted), turns, all, spoken, taken_back }
    }

    /// Removes from an answer items that name no given turn, contain something not given or were taken back later, and
    /// ids of turns that were not given. Returns the number of items before and after.
    fn keep_what_is_there(&self, answer: &mut Value) -> (usize, usize) {
        let (mut all, mut kept) = (0, 0);
        let Some(lists) = answer.get_mut("distillate").and_then(Value::as_object_mut) else { return (0, 0) };
        for (name, list) in lists.iter_mut() {
            let is_of_now = OF_NOW.contains(&name.as_str());
            match list {
                Value::Array(items) => {
                    all += items.len();
                    items.retain_mut(|item| self.keeps(item, name) && !(is_of_now && self.is_taken_back(item)));
                    kept += items.len();
                }
                goal => {
                    all += 1;
                    if self.keeps(goal, name) && !(is_of_now && self.is_taken_back(goal)) {
                        kept += 1;
                    } else {
                        *goal = Value::Null;
                    }
                }
            }
        }
        lists.retain(|_, value| !value.is_null());
        (all, kept)
    }

    fn keeps(&self, item: &mut Value, list: &str) -> bool {
        let Some(turns) = item.get_mut("turns").and_then(Value::as_array_mut) else { return false };
        turns.retain(|t| t.as_str().and_then(TurnId::parse).is_some_and(|t| self.turns.contains_key(&t)));
        let said = turns.iter().filter_map(|t| self.turns.get(&TurnId::parse(t.as_str()?)?));
        let is_meant = MEANT.contains(&list);
        let said =
            said.map(|words| if is_meant { words.own.as_str() } else { &words.all }).collect::<Vec<_>>().join("\n");
        let named = !said.is_empty();
        named && item["text"].as_str().or(item["path"].as_str()).is_some_and(|text| self.bears(&said, text))
    }

    /// Whether an item is borne by what the turns it names say. Names have to be in the input.
    fn bears(&self, said: &str, text: &str) -> bool {
        Passage::of(&redact(said)).bears(text, self.spoken) && self.all.has_names(text)
    }

    fn bears_summary(&self, summary: &str) -> bool {
        self.all.bears(summary, self.spoken) && self.all.has_names(summary)
    }
}

impl Given {
    /// Whether the person took back later what an item says.
    fn is_taken_back(&self, item: &Value) -> bool {
        let turns = item["turns"].as_array().into_iter().flatten();
        let newest = turns.filter_map(|t| t.as_str().and_then(TurnId::parse)).max();
        let text = item["text"].as_str().unwrap_or_default();
        // Words that take something back themselves are the newer state.
        let later = self.taken_back.iter().filter(|(turn, _)| newest.is_some_and(|newest| *turn > newest));
        !retracts(text) && later.into_iter().any(|(_, sentence)| is_replaced(text, sentence))
    }
}

/// Returns the sentences in which the person takes something back.
fn retractions(said: &[Said]) -> Vec<(TurnId, String)> {
    let mut out = Vec::new();
    for turn in said.iter().filter(|turn| is_person(turn)) {
        for line in turn.text.lines().filter(|line| retracts(line)) {
            let all = crate::text::sentences::split(line, usize::MAX);
            out.extend(all.into_iter().map(|at| &line[at]).filter(|s| retracts(s)).map(|s| (turn.id, s.to_owned())));
        }
    }
    out
}

fn is_person(turn: &Said) -> bool {
    (turn.role, turn.kind) == (Role::User, TurnKind::Message)
}

/// Writes a distillate as lines, each with its turns, and collects these turns.
fn note(to: &mut String, distillate: &Distillate, turns: &mut BTreeMap<TurnId, Words>) {
    for (name, items) in distillate.lists() {
        for item in items {
            // The newest turns of an item are enough to identify it.
            let newest = &item.turns[item.turns.len().saturating_sub(3)..];
            let ids: Vec<String> = newest.iter().map(ToString::to_string).collect();
            let own = &item.text[..relayed(&item.text).unwrap_or(item.text.len())];
            newest.iter().for_each(|turn| say(turns, *turn, &item.text, own));
            let _ = writeln!(to, "- {name}: {} [{}]", item.text, ids.join(" "));
        }
    }
}

/// Adds words to what is known of a turn.
fn say(turns: &mut BTreeMap<TurnId, Words>, turn: TurnId, words: &str, own: &str) {
    let said = turns.entry(turn).or_default();
    for (to, words) in [(&mut said.all, words), (&mut said.own, own)] {
        to.push_str(words);
        to.push('\n');
    }
}

/// Returns the part of a turn's words that its speaker says themselves. `words`: what the input shows of the turn.
fn own_words<'w>(turn: &Said, words: &'w str) -> Cow<'w, str> {
    if turn.kind == TurnKind::ToolResult {
        return "".into();
    }
    let paragraphs = || turn.text.split("\n\n");
    if turn.kind != TurnKind::Message || !paragraphs().any(|p| relayed(p).is_some()) {
        return words.into();
    }
    let own: Vec<&str> = paragraphs().map(|p| &p[..relayed(p).unwrap_or(p.len())]).collect();
    cut(&own.join("\n"), OWN).into()
}

/// Returns the turns as lines, within this many tokens, and whether all are there: they are shortened alike, and if that
/// is not enough, some are chosen.
fn shortened(said: &[Said], most: usize) -> (Vec<(TurnId, String)>, bool) {
    for room in ROOM {
        let lines: Vec<(TurnId, String)> = said.iter().filter_map(|turn| Some((turn.id, line(turn, room)?))).collect();
        if length(&lines) <= most {
            return (lines, true);
        }
    }
    (chosen(said, most), false)
}

/// Returns lines of a conversation that is too long: a tenth of the room for its beginning, where the goal is; up to a half
/// for what the person said after that; and the rest for the end, which says how it stands.
fn chosen(said: &[Said], most: usize) -> Vec<(TurnId, String)> {
    let lines: Vec<Option<String>> = said.iter().map(|turn| line(turn, ROOM[ROOM.len() - 1])).collect();
    let needs = |at: usize| lines[at].as_ref().map_or(0, |line| tokens(line) + 1);
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut take = |left: &mut usize, order: &mut dyn Iterator<Item = usize>, goes_on: bool| {
        for at in order {
            if taken.contains(&at) {
                continue;
            }
            match needs(at) {
                needs if needs <= *left => {
                    *left -= needs;
                    taken.insert(at);
                }
                _ if goes_on => {}
                _ => break,
            }
        }
    };
    let mut left = most / 10;
    take(&mut left, &mut (0..said.len()), false);
    let mut words = most / 2;
    take(&mut words, &mut by_weight(said, &needs).into_iter(), true);
    let mut rest = most - most / 10 - most / 2 + left + words;
    take(&mut rest, &mut (0..said.len()).rev(), false);
    let of = |at: usize| lines[at].clone().map(|line| (said[at].id, line));
    taken.into_iter().filter_map(of).collect()
}

/// Returns the places of the person's messages, first those that say most that no other message says: each word counts the
/// less, the more messages have it, and a long message has to say more than a short one. Of equals the newer comes first.
fn by_weight(said: &[Said], needs: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let words = |turn: &Said| -> BTreeSet<String> {
        let all = turn.text.split(|c: char| !c.is_alphanumeric());
        all.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
    };
    let messages: Vec<(usize, BTreeSet<String>)> =
        said.iter().enumerate().filter(|(_, turn)| is_person(turn)).map(|(at, turn)| (at, words(turn))).collect();
    let mut has: BTreeMap<&str, u64> = BTreeMap::new();
    for word in messages.iter().flat_map(|(_, words)| words) {
        *has.entry(word).or_default() += 1;
    }
    // In thousandths, so that equal messages are equal.
    let weight = |at: usize, words: &BTreeSet<String>| {
        let sum: u64 = words.iter().map(|word| 1_000 / has.get(word.as_str()).copied().unwrap_or(1)).sum();
        sum / (needs(at) as u64 + 10)
    };
    let mut order: Vec<(u64, usize)> = messages.iter().map(|(at, words)| (weight(*at, words), *at)).collect();
    order.sort_by_key(|order| std::cmp::Reverse(*order));
    order.into_iter().map(|(_, at)| at).collect()
}

fn length(lines: &[(TurnId, String)]) -> usize {
    lines.iter().map(|(_, line)| tokens(line) + 1).sum()
}

/// Returns a turn on one line; `None` if its kind gets no tokens, or it has no text.
fn line(turn: &Said, (person, agent, tool): (usize, usize, usize)) -> Option<String> {
    let (who, room) = match (turn.role, turn.kind) {
        (Role::User, TurnKind::Message) => ("person".to_owned(), person),
        (_, TurnKind::Message) => ("agent".to_owned(), agent),
        // A failed result says more than a successful one, so it gets more tokens.
        _ => {
            let failed = if turn.failed { " failed" } else { "" };
            (
                format!("tool {}{failed}", turn.tool.as_deref().unwrap_or("")),
                if turn.failed { tool.max(50) } else { tool },
            )
        }
    };
    let text = turn.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = cut(&text, room);
    (!text.is_empty()).then(|| format!("[{}] {who}: {text}", turn.id))
}

/// Returns the model's distillate, with the lists that are never taken from a model replaced by those found without
/// one. Blocked matters and next steps become open loops, so a model's are notes.
pub fn kept_from(without_model: &Distillate, model: Distillate) -> Distillate {
    let own = without_model.clone();
    let noted = |list: Vec<Item>, own: &[Item], word: &'static str| {
        let new = list.into_iter().filter(|item| !own.iter().any(|o| same_words(&o.text, &item.text)));
        new.map(move |item| Item { text: format!("{word}: {}", item.text), ..item }).collect::<Vec<_>>()
    };
    let mut context = model.context;
    context.extend(noted(model.blocked, &own.blocked, "Blocked"));
    context.extend(noted(model.next_steps, &own.next_steps, "Next"));
    Distillate {
        goal: model.goal.or(own.goal),
        done: model.done,
        in_progress: model.in_progress,
        blocked: own.blocked,
        fixed: model.fixed,
        decisions: model.decisions,
        next_steps: own.next_steps,
        context,
        constraints: own.constraints,
        requirements: own.requirements,
        files: own.files,
        open_loops: own.open_loops,
        proposals: own.proposals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, Failure};
    use crate::scope::RunNo;

    struct Says(&'static str);

    impl Model for Says {
        fn name(&self) -> &str {
            "fake/one"
        }

        fn answer(&self, _: &Ask) -> Result<Answer, Failure> {
            Ok(Answer { text: self.0.into(), tokens_in: None, tokens_out: None, cost: None })
        }
    }

    #[test]
    fn a_summary_that_is_not_used_spoils_no_handoff() {
        let said = Said {
            id: TurnId::parse("t1").unwrap(),
            role: Role::User,
            kind: TurnKind::Message,
            run: RunNo(1),
            main: true,
            speaker: None,
            tool: None,
            call: None,
            failed: false,
            at: None,
            text: "The import takes 14 seconds now, with the index on customers.name.".repeat(20),
        };
        let answer = r#"{"summary":"It took 99 minutes.","distillate":{
            "done":[{"text":"14 seconds with the index","turns":["t1"]},{"text":"99 minutes","turns":["t1"]}]}}"#;
        let of = |kind| {
            let turns = [said.clone()];
            ModelSummarizer::new(&Says(answer)).summarize(&SummaryRequest::of_turns(kind, &turns, None, None, 200))
        };
        let handoff = of(Kind::Compaction).unwrap();
        assert_eq!(handoff.distillate.done.len(), 1, "{handoff:?}");
        assert!(of(Kind::Session).is_err(), "a summary that is shown has to be true");
    }
}
