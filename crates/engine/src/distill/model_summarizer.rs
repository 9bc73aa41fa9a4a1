//! Makes summaries with a language model (D5, R6.3, R14.4). The prompt is a file beside this one.
//!
//! The input is redacted, shortened and fenced. The answer is checked against the input: an item that names no turn of
//! the input is dropped, and so is an item with a number, path or name that the input does not contain. Items that have
//! effects, or bind people, are never taken from a model: constraints, requirements, open loops, files and proposals
//! stay as found without one ([`kept_from`]).
//! stay those found without one ([`kept_from`]).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::summarizer::{Material, Summarizer, SummarizerError, Summary, SummaryRequest};
use super::{Said, schema};
use crate::event::{Role, TurnKind};
use crate::lineage::Kind;
use crate::lineage::distillate::Distillate;
use crate::model::{Ask, Model, Purpose};
use crate::quoting::Quoted;
use crate::scope::TurnId;
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

/// A summariser that asks a language model.
pub struct ModelSummarizer<'m> {
    model: &'m dyn Model,
}

impl<'m> ModelSummarizer<'m> {
    pub fn new(model: &'m dyn Model) -> ModelSummarizer<'m> {
        ModelSummarizer { model }
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
        if all > 0 && kept == 0 {
            return Err(SummarizerError::Form("none of its items is about what it was given".into()));
        }
        // The summary names no turns, so its numbers, paths and names must be somewhere in the input.
        if !given.quoted.has_exact(value["summary"].as_str().unwrap_or_default()) {
            return Err(SummarizerError::Form("its summary says what it was not given".into()));
        }
        schema::parse(value.to_string().as_bytes(), request)
    }
}

/// The input of a model.
struct Given {
    quoted: Quoted,
    /// The turns an answer may name.
    turns: BTreeSet<TurnId>,
}

impl Given {
    fn of(request: &SummaryRequest) -> Given {
        let mut turns = BTreeSet::new();
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
                let _ = writeln!(quoted, "The conversation:");
                for (turn, line) in shortened(said, MOST_GIVEN.saturating_sub(tokens(&quoted))) {
                    turns.insert(turn);
                    let _ = writeln!(quoted, "{line}");
                }
            }
            Material::Summaries(nodes) => {
                for node in nodes {
                    let _ = writeln!(quoted, "Summary: {}", cut(node.summary, ROOM[0].1));
                    note(&mut quoted, node.distillate, &mut turns);
                }
                quoted = cut(&quoted, MOST_GIVEN);
            }
        }
        turns.retain(|turn| request.allowed.contains(turn));
        Given { quoted: Quoted::new(&head, &quoted), turns }
    }

    /// Removes from an answer items that name no given turn or contain something not given, and ids of turns that were
    /// not given. Returns the number of items before and after.
    fn keep_what_is_there(&self, answer: &mut Value) -> (usize, usize) {
        let (mut all, mut kept) = (0, 0);
        let Some(lists) = answer.get_mut("distillate").and_then(Value::as_object_mut) else { return (0, 0) };
        for list in lists.values_mut() {
            match list {
                Value::Array(items) => {
                    all += items.len();
                    items.retain_mut(|item| self.keeps(item));
                    kept += items.len();
                }
                goal => {
                    all += 1;
                    if self.keeps(goal) {
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

    fn keeps(&self, item: &mut Value) -> bool {
        let Some(turns) = item.get_mut("turns").and_then(Value::as_array_mut) else { return false };
        turns.retain(|t| t.as_str().and_then(TurnId::parse).is_some_and(|t| self.turns.contains(&t)));
        let named = !turns.is_empty();
        named && item["text"].as_str().or(item["path"].as_str()).is_some_and(|text| self.quoted.has_exact(text))
    }
}

/// Writes a distillate as lines, each with its turns, and collects these turns.
fn note(to: &mut String, distillate: &Distillate, turns: &mut BTreeSet<TurnId>) {
    for (name, items) in distillate.lists() {
        for item in items {
            // The newest turns of an item are enough to identify it.
            let newest = &item.turns[item.turns.len().saturating_sub(3)..];
            let ids: Vec<String> = newest.iter().map(ToString::to_string).collect();
            turns.extend(newest);
            let _ = writeln!(to, "- {name}: {} [{}]", item.text, ids.join(" "));
        }
    }
}

/// Returns the turns as lines, within this many tokens: all of them are shortened alike; if that is not enough, the
/// middle is left out.
fn shortened(said: &[Said], most: usize) -> Vec<(TurnId, String)> {
    let mut lines = Vec::new();
    for room in ROOM {
        lines = said.iter().filter_map(|turn| Some((turn.id, line(turn, room)?))).collect();
        if length(&lines) <= most {
            return lines;
        }
    }
    // Keep the beginning, then as much of the end as fits.
    let (mut left, mut begins, mut ends) = (most, 0, lines.len());
    while begins < lines.len() && tokens(&lines[begins].1) < left && left > most - most / 5 {
        left -= tokens(&lines[begins].1) + 1;
        begins += 1;
    }
    while ends > begins && tokens(&lines[ends - 1].1) < left {
        left -= tokens(&lines[ends - 1].1) + 1;
        ends -= 1;
    }
    lines.drain(begins..ends);
    lines
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
/// one.
pub fn kept_from(without_model: &Distillate, model: Distillate) -> Distillate {
    let own = without_model.clone();
    Distillate {
        goal: model.goal.or(own.goal),
        done: model.done,
        in_progress: model.in_progress,
        blocked: model.blocked,
        fixed: model.fixed,
        decisions: model.decisions,
        next_steps: model.next_steps,
        context: model.context,
        constraints: own.constraints,
        requirements: own.requirements,
        files: own.files,
        open_loops: own.open_loops,
        proposals: own.proposals,
    }
}
