//! The schema of a model's answer, and the checks that make it harmless (R6.7, R14.4): unknown fields are refused,
//! sizes are bounded, the turns it names must be among those of the request, texts become one plain line with
//! credentials redacted. Nothing in an answer is executed or followed; it only becomes text of a node.

use serde::Deserialize;

use super::summarizer::{SummarizerError, Summary, SummaryRequest};
use crate::lineage::distillate::{Distillate, Item, LONGEST_ITEM, Proposed, Touch, TouchedFile};
use crate::redact::redact;
use crate::scope::TurnId;
use crate::tokens::tokens;

/// The JSON Schema (2020-12) of an answer, for a caller that asks a model. Published as `docs/schema/distillate.json`.
pub const SCHEMA: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Summary of a stretch of conversation",
  "description": "Texts are one plain line each. Every item names the turns it came from; only turns of the request may be named. Leave out what the conversation does not say.",
  "type": "object",
  "required": ["summary", "distillate"],
  "additionalProperties": false,
  "properties": {
    "summary": {
      "description": "One or two sentences, never longer than what is summarised.",
      "type": "string",
      "minLength": 1,
      "maxLength": 4000
    },
    "distillate": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "goal": { "description": "What the user is after now.", "$ref": "#/$defs/item" },
        "constraints": { "description": "Directives and preferences, in the user's words only.", "$ref": "#/$defs/items" },
        "requirements": { "description": "Rules and acceptance criteria of the task in hand, from its ticket or document.", "$ref": "#/$defs/items" },
        "done": { "$ref": "#/$defs/items" },
        "in_progress": { "$ref": "#/$defs/items" },
        "blocked": { "$ref": "#/$defs/items" },
        "fixed": { "description": "Failures that were found and mended, each with what mended it.", "$ref": "#/$defs/items" },
        "decisions": { "description": "Statements of choice.", "$ref": "#/$defs/items" },
        "open_loops": { "description": "Unresolved requests, promises, failures, questions.", "$ref": "#/$defs/items" },
        "next_steps": { "$ref": "#/$defs/items" },
        "context": { "description": "Error messages, commands, names and numbers the next one will need.", "$ref": "#/$defs/items" },
        "files": { "type": "array", "maxItems": 60, "items": { "$ref": "#/$defs/file" } },
        "proposals": { "type": "array", "maxItems": 20, "items": { "$ref": "#/$defs/proposal" } }
      }
    }
  },
  "$defs": {
    "turns": {
      "description": "Turns of the request, oldest first.",
      "type": "array",
      "minItems": 1,
      "maxItems": 32,
      "items": { "type": "string", "pattern": "^t[0-9a-fA-F]{1,12}$" }
    },
    "text": { "type": "string", "minLength": 1, "maxLength": 400 },
    "item": {
      "type": "object",
      "required": ["text", "turns"],
      "additionalProperties": false,
      "properties": { "text": { "$ref": "#/$defs/text" }, "turns": { "$ref": "#/$defs/turns" } }
    },
    "items": { "type": "array", "maxItems": 20, "items": { "$ref": "#/$defs/item" } },
    "file": {
      "type": "object",
      "required": ["path", "touch", "turns"],
      "additionalProperties": false,
      "properties": {
        "path": { "$ref": "#/$defs/text" },
        "touch": { "enum": ["read", "changed", "created", "deleted"] },
        "turns": { "$ref": "#/$defs/turns" }
      }
    },
    "proposal": {
      "type": "object",
      "required": ["title", "text", "class", "turns"],
      "additionalProperties": false,
      "properties": {
        "title": { "$ref": "#/$defs/text" },
        "text": { "$ref": "#/$defs/text" },
        "class": { "enum": ["fact", "procedure", "blocker", "reference"] },
        "turns": { "$ref": "#/$defs/turns" }
      }
    }
  }
}
"##;

/// Maximum bytes of an answer.
pub const LARGEST_ANSWER: usize = 256 * 1024;

/// Maximum bytes stored of the reason for a missing answer.
pub const LONGEST_REASON: usize = 300;

/// The limits of the schema, in characters and items.
const LONGEST_SUMMARY: usize = 4_000;
const LONGEST_TEXT: usize = 400;
const MOST_ITEMS: usize = 20;
const MOST_FILES: usize = 60;
const MOST_TURNS: usize = 32;

/// Classes that may be proposed; preferences come only from the user's own words (R9.5).
const CLASSES: [&str; 4] = ["fact", "procedure", "blocker", "reference"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    summary: String,
    distillate: Lists,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Lists {
    #[serde(deserialize_with = "present")]
    goal: Option<Line>,
    constraints: Vec<Line>,
    requirements: Vec<Line>,
    done: Vec<Line>,
    in_progress: Vec<Line>,
    blocked: Vec<Line>,
    fixed: Vec<Line>,
    decisions: Vec<Line>,
    open_loops: Vec<Line>,
    next_steps: Vec<Line>,
    context: Vec<Line>,
    files: Vec<File>,
    proposals: Vec<Proposal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    turns: Vec<TurnId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    touch: Touch,
    turns: Vec<TurnId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposal {
    title: String,
    text: String,
    class: String,
    turns: Vec<TurnId>,
}

/// A goal that is present must have a value: `null` is not valid.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Line>, D::Error> {
    Line::deserialize(from).map(Some)
}

/// Parses an answer. Refuses one that does not match the schema, names a turn it was not given, or is longer than its
/// source.
pub fn parse(answer: &[u8], request: &SummaryRequest) -> Result<Summary, SummarizerError> {
    if answer.len() > LARGEST_ANSWER {
        return Err(SummarizerError::TooLarge(answer.len()));
    }
    // The error message repeats no field or value of the answer, because an answer may contain anything.
    let answer: Answer = serde_json::from_slice(answer)
        .map_err(|e| SummarizerError::Form(format!("line {}, column {}", e.line(), e.column())))?;
    let lines = |list: Vec<Line>| list.into_iter().map(|l| Item { text: l.text, turns: l.turns, file: None }).collect();
    let Lists {
        goal,
        constraints,
        requirements,
        done,
        in_progress,
        blocked,
        fixed,
        decisions,
        open_loops,
        next_steps,
        context,
        ..
    } = answer.distillate;
    let (files, proposals) = (answer.distillate.files, answer.distillate.proposals);
    let distillate = Distillate {
        goal: goal.map(|l| Item { text: l.text, turns: l.turns, file: None }),
        constraints: lines(constraints),
        requirements: lines(requirements),
        done: lines(done),
        in_progress: lines(in_progress),
        blocked: lines(blocked),
        fixed: lines(fixed),
        decisions: lines(decisions),
        open_loops: lines(open_loops),
        next_steps: lines(next_steps),
        context: lines(context),
        files: files.into_iter().map(|f| TouchedFile { path: f.path, touch: f.touch, turns: f.turns }).collect(),
        proposals: proposals
            .into_iter()
            .map(|p| Proposed { title: p.title, text: p.text, class: p.class, turns: p.turns, file: None })
            .collect(),
    };
    checked(Summary { text: answer.summary, distillate }, request)
}

/// Checks a summary against its request and makes its texts plain, so that it may be stored. Also used for summaries
/// that did not come through [`parse`]. Its links from items to files are dropped: a summariser cannot decide which
/// file carries an item.
pub fn checked(summary: Summary, request: &SummaryRequest) -> Result<Summary, SummarizerError> {
    let Summary { text, distillate: mut d } = summary;
    if text.chars().count() > LONGEST_SUMMARY {
        return Err(SummarizerError::TooLong { has: tokens(&text), may: request.room() });
    }
    let text = plain(&text, usize::MAX);
    if text.is_empty() {
        return Err(SummarizerError::Empty);
    }
    let has = tokens(&text);
    if has > request.room() {
        return Err(SummarizerError::TooLong { has, may: request.room() });
    }
    let mut said = 0;
    let Distillate {
        goal,
        constraints,
        requirements,
        done,
        in_progress,
        blocked,
        fixed,
        decisions,
        files,
        open_loops,
        next_steps,
        context,
        proposals,
    } = &mut d;
    for list in
        [constraints, requirements, done, in_progress, blocked, fixed, decisions, open_loops, next_steps, context]
    {
        bounded(list.len(), MOST_ITEMS, "items in a list")?;
        for item in list {
            said += line(&mut item.text)?;
            item.file = None;
            turns(&mut item.turns, request)?;
        }
    }
    if let Some(goal) = goal {
        said += line(&mut goal.text)?;
        goal.file = None;
        turns(&mut goal.turns, request)?;
    }
    bounded(files.len(), MOST_FILES, "files")?;
    for file in files {
        said += line(&mut file.path)?;
        turns(&mut file.turns, request)?;
    }
    bounded(proposals.len(), MOST_ITEMS, "proposals")?;
    for proposal in proposals {
        said += line(&mut proposal.title)? + line(&mut proposal.text)?;
        if !CLASSES.contains(&proposal.class.as_str()) {
            return Err(SummarizerError::Form("a class of memory there is none of".into()));
        }
        proposal.file = None;
        turns(&mut proposal.turns, request)?;
    }
    // Items carried over are part of the input, so they raise the limit.
    let before: usize =
        request.before.map_or(0, |b| b.lists().iter().flat_map(|(_, l)| l.iter()).map(|i| tokens(&i.text)).sum());
    let may = usize::try_from(request.source_tokens).unwrap_or(usize::MAX).saturating_add(before);
    if said > may {
        return Err(SummarizerError::TooLong { has: said, may });
    }
    Ok(Summary { text, distillate: d })
}

fn bounded(has: usize, most: usize, what: &str) -> Result<(), SummarizerError> {
    if has > most {
        return Err(SummarizerError::Form(format!("{has} {what}, at most {most} are taken")));
    }
    Ok(())
}

/// Makes a text plain. Returns its tokens.
fn line(text: &mut String) -> Result<usize, SummarizerError> {
    if text.chars().count() > LONGEST_TEXT {
        return Err(SummarizerError::Form(format!("a text of more than {LONGEST_TEXT} characters")));
    }
    *text = plain(text, LONGEST_ITEM);
    if text.is_empty() {
        return Err(SummarizerError::Form("an empty text".into()));
    }
    Ok(tokens(text))
}

/// Checks that every turn was given; sorts them and removes duplicates.
fn turns(turns: &mut Vec<TurnId>, request: &SummaryRequest) -> Result<(), SummarizerError> {
    if turns.is_empty() {
        return Err(SummarizerError::Form("an item without the turns it came from".into()));
    }
    bounded(turns.len(), MOST_TURNS, "turns of an item")?;
    if let Some(foreign) = turns.iter().find(|t| !request.allowed.contains(t)) {
        return Err(SummarizerError::ForeignTurn(*foreign));
    }
    turns.sort_unstable();
    turns.dedup();
    Ok(())
}

/// Makes one line of plain text with credentials redacted, at most `most` bytes: without terminal controls, direction
/// marks, invisible characters (joiners stay) and our own markers.
pub(super) fn plain(text: &str, most: usize) -> String {
    let visible = |c: &char| {
        !matches!(*c as u32,
            0x00AD | 0x061C | 0x180E | 0x200B | 0x200E | 0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0xFFF9..=0xFFFB
            | 0xE0000..=0xE007F)
    };
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(visible).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = redact(&text).replace("<!--", "<! --").replace("-->", "-- >");
    if text.len() <= most {
        return text;
    }
    format!("{}…", text[..text.floor_char_boundary(most.saturating_sub('…'.len_utf8()))].trim_end())
}
