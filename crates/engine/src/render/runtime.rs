//! The runtime pages of a project: its latest turn, its blockers, its recent turns (R5.2). They are functions of the
//! ledger alone, from bounded reads, and never become memory.

use std::collections::{BTreeMap, BTreeSet};

use super::page::{line, minute};
use super::runs::{Ran, Words, names_of, of_project, refs, short};
use super::session::Standing;
use crate::clock::Millis;
use crate::distill::still_open::{give_ids, still_stands};
use crate::distill::tail;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::Item;
use crate::pages::RuntimePage;
use crate::scope::{SessionNo, TurnId};
use crate::tokens::tokens;
use crate::transcript::recent::{self, ToolTurn};
use crate::tree::AssistantHome;

/// The token budget of each page.
const TOKENS: usize = 400;

/// Largest number of lines of recent turns, and of blockers.
const RECENT: usize = 12;
const BLOCKERS: usize = 10;

/// Limits of the search for blockers: how many runs, how far back from the newest, and how many tool turns in each run.
const LOOKED_AT: usize = 24;
const LATELY_MS: Millis = 7 * 24 * 3_600_000;
const TOOLS: usize = 60;

/// Largest number of sessions whose blocked items are shown.
const SESSIONS: usize = 4;

/// Largest number of files named of one run.
const FILES: usize = 8;

/// Phrases with which tools report that permission was denied.
const DENIALS: &[&str] = &[
    "permission denied",
    "permission to use",
    "requires approval",
    "requires permission",
    "not permitted",
    "operation not allowed",
    "denied by",
    "was rejected",
    "rejected by",
    "doesn't want to proceed",
    "declined by",
];

pub(super) fn render(at: &AssistantHome, tx: &Read, workspace: &str, page: RuntimePage) -> Result<String> {
    let words = Words::new(at, tx);
    match page {
        RuntimePage::LatestTurn => latest(at, tx, &words, workspace),
        RuntimePage::RecentTurns => recent_turns(at, tx, &words, workspace),
        RuntimePage::Blockers => blockers(at, tx, &words, workspace),
    }
}

fn latest(at: &AssistantHome, tx: &Read, words: &Words, workspace: &str) -> Result<String> {
    let runs = of_project(at, tx, workspace, RECENT)?;
    let closed = runs.iter().find(|r| !r.is_open());
    // The open run is searched among those newer than the newest closed one.
    let open = runs.iter().take_while(|r| closed.is_none_or(|c| r.run.no != c.run.no)).find(|r| r.is_open());
    let mut out = String::new();
    if let Some(ran) = closed {
        out.push_str(&head_line(at, ran));
        let prompt = words.of(ran.run.prompt, 80)?;
        if !prompt.is_empty() {
            out.push_str(&format!("- Asked: {prompt}{}\n", refs(ran.run.prompt.as_slice())));
        }
        let answer = words.of(ran.run.answer, 120)?;
        if !answer.is_empty() {
            out.push_str(&format!("- Answered: {answer}{}\n", refs(ran.run.answer.as_slice())));
        }
        out.push_str(&used(at, tx, words, workspace, ran)?);
    }
    if let Some(ran) = open {
        let prompt = words.of(ran.run.prompt, 60)?;
        let since = ran.run.opened_at.map(|m| format!(" since {}", minute(at, m))).unwrap_or_default();
        out.push_str(&format!("- Still open{since}: {prompt} · `{}`", line(ran.session.as_str())));
        out.push_str(&format!("{}\n", refs(ran.run.prompt.as_slice())));
    }
    Ok(if out.is_empty() { "Nothing was said here yet.\n".into() } else { fit(&out) })
}

/// Returns the line that says how, when and where a run ended.
fn head_line(at: &AssistantHome, ran: &Ran) -> String {
    let run = &ran.run;
    let why = run.stop_reason.as_deref().map(|r| format!(" ({})", short(r, 12))).unwrap_or_default();
    let when = ran.moment().map(|m| format!(" · {}", minute(at, m))).unwrap_or_default();
    let model = run.model.as_deref().map(|m| format!(" · {}", short(m, 12))).unwrap_or_default();
    let turns: Vec<TurnId> = run.prompt.or(run.answer).into_iter().collect();
    format!(
        "- {}{why}{when} · {}{model} · `{}`{}\n",
        capital(run.status),
        line(ran.session.harness()),
        line(ran.session.as_str()),
        refs(&turns)
    )
}

/// Returns the files named by the tools of a run, and how the tool calls ended.
fn used(at: &AssistantHome, tx: &Read, words: &Words, workspace: &str, ran: &Ran) -> Result<String> {
    let tools = recent::tools(tx, ran.run.no, TOOLS)?;
    let roots = roots(at, tx, workspace)?;
    let (mut files, mut named): (Vec<String>, Vec<TurnId>) = (Vec::new(), Vec::new());
    for turn in tools.iter().rev().filter(|t| !t.is_result) {
        for path in Subject::of(&words.raw(Some(turn.id))?).paths {
            let path = short(shortened(&path, &roots), 24);
            if files.len() < FILES && !files.contains(&path) {
                files.push(path);
                named.push(turn.id);
            }
        }
    }
    let mut out = String::new();
    if !files.is_empty() {
        named.sort();
        named.dedup();
        out.push_str(&format!("- Files: {}{}\n", files.join(", "), refs(&newest(&named, 4))));
    }
    let failed: Vec<TurnId> = tools.iter().filter(|t| t.is_result && t.failed).map(|t| t.id).collect();
    if !failed.is_empty() {
        let calls = tools.iter().filter(|t| t.is_result).count();
        out.push_str(&format!("- Tools: {} of the last {calls} failed{}\n", failed.len(), refs(&newest(&failed, 4))));
    }
    Ok(out)
}

fn recent_turns(at: &AssistantHome, tx: &Read, words: &Words, workspace: &str) -> Result<String> {
    let mut out = String::new();
    for ran in of_project(at, tx, workspace, RECENT)? {
        let when = ran.moment().map_or("?".into(), |m| minute(at, m));
        let (first, rest) = match ran.run.prompt {
            Some(prompt) => (Some(prompt), ran.run.answer),
            None => (ran.run.answer, None),
        };
        let turns: Vec<TurnId> = first.into_iter().chain(rest).collect();
        out.push_str(&format!(
            "- {when} {}: {} · {}{}\n",
            ran.run.status,
            words.of(first, 14)?,
            short(ran.session.harness(), 6),
            refs(&turns)
        ));
    }
    Ok(if out.is_empty() { "Nothing was said here yet.\n".into() } else { fit(&out) })
}

/// A tool call that keeps failing: one for which permission was denied, or one that is not a command. For commands, the
/// blocked items of their session say what happened.
struct Failing {
    times: usize,
    first: TurnId,
    last: TurnId,
    /// Whether no other work followed it in its session.
    at_the_end: bool,
    session_no: SessionNo,
    is_denied: bool,
    what: String,
}

/// Failing tool calls, by tool and subject.
#[derive(Default)]
struct Failures(BTreeMap<(String, String), Failing>);

/// Returns the blocked items of a session as its own page shows them.
fn blocked(at: &AssistantHome, tx: &Read, session_no: SessionNo) -> Result<Vec<String>> {
    let before = Standing::of(tx, session_no)?.distillate;
    let d = tail::standing(tx, session_no, &before, &mut |_| Ok(true))?;
    let mut d = still_stands(tx, at.agent_no, &d)?;
    give_ids(&mut d);
    let line_of = |item: &Item| {
        let reference = item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string));
        format!("Blocked: {}{}", line(&item.text), reference.map(|r| format!(" · [{r}]")).unwrap_or_default())
    };
    Ok(d.blocked.iter().rev().map(line_of).collect())
}

fn blockers(at: &AssistantHome, tx: &Read, words: &Words, workspace: &str) -> Result<String> {
    let mut runs = of_project(at, tx, workspace, LOOKED_AT)?;
    let newest = runs.first().and_then(Ran::moment);
    runs.retain(|r| newest.zip(r.moment()).is_none_or(|(newest, then)| then >= newest - LATELY_MS));
    let mut lines = failed_runs(at, words, &runs)?;
    // Blocked items come from the pages of the sessions: a check that passed since, even if spelled differently, is no
    // longer among them.
    let mut seen = BTreeSet::new();
    for session_no in runs.iter().map(|r| r.session_no).filter(|no| seen.insert(*no)).take(SESSIONS) {
        lines.extend(blocked(at, tx, session_no)?);
    }
    let mut failures = Failures::default();
    for ran in runs.iter().rev() {
        failures.follow(tx, words, ran)?;
    }
    let mut failing: Vec<_> = failures.0.into_iter().filter(|(_, f)| f.times > 1 || f.at_the_end).collect();
    failing.sort_by_key(|(_, f)| std::cmp::Reverse((f.is_denied && f.times > 1, f.last)));
    for ((tool, subject), f) in failing {
        let word = if f.is_denied { "Not allowed" } else { "Failed" };
        let times = if f.times > 1 { format!(" {} times", f.times) } else { String::new() };
        let ends: Vec<TurnId> = if f.first == f.last { vec![f.last] } else { vec![f.first, f.last] };
        let subject = if subject.is_empty() { String::new() } else { format!(" {subject}") };
        lines.push(format!("{word}{times}: {tool}{subject}: {}{}", f.what, refs(&ends)));
    }
    if lines.is_empty() {
        return Ok("Nothing is in the way.\n".into());
    }
    lines.truncate(BLOCKERS);
    Ok(fit(&lines.iter().map(|l| format!("- {l}\n")).collect::<String>()))
}

/// Returns failed runs that no successful run of their session followed.
fn failed_runs(at: &AssistantHome, words: &Words, runs: &[Ran]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (n, ran) in runs.iter().enumerate().filter(|(_, r)| r.run.status == "failed") {
        if runs[..n].iter().any(|later| later.session_no == ran.session_no && later.run.status == "completed") {
            continue;
        }
        let why = ran.run.stop_reason.as_deref().map(|r| format!(" ({})", short(r, 16))).unwrap_or_default();
        let when = ran.moment().map(|m| format!(" · {}", minute(at, m))).unwrap_or_default();
        let turns: Vec<TurnId> = ran.run.prompt.or(ran.run.answer).into_iter().collect();
        lines.push(format!(
            "A turn failed{why}: {}{when} · {}{}",
            words.of(turns.first().copied(), 16)?,
            short(ran.session.harness(), 6),
            refs(&turns)
        ));
    }
    Ok(lines)
}

impl Failures {
    /// Processes the tool turns of one run: a failure is added, a later success of the same call removes it.
    fn follow(&mut self, tx: &Read, words: &Words, ran: &Ran) -> Result<()> {
        let tools = recent::tools(tx, ran.run.no, TOOLS)?;
        let last = tools.iter().rfind(|t| t.is_result).map(|t| t.id);
        for f in self.0.values_mut().filter(|f| f.session_no == ran.session_no) {
            // A failure followed by other work did not stop the session.
            f.at_the_end &= last.is_none();
        }
        for result in tools.iter().filter(|t| t.is_result) {
            let call = tools.iter().find(|t| !t.is_result && t.call.is_some() && t.call == result.call);
            let tool = name_of(result, call);
            let is_known = self.0.keys().any(|(t, _)| *t == tool);
            if !result.failed && !is_known {
                continue;
            }
            let subject = Subject::of(&words.raw(call.map(|c| c.id))?);
            let key = (tool.clone(), subject.in_short());
            if !result.failed {
                self.0.remove(&key);
                continue;
            }
            let what = words.of(Some(result.id), 24)?;
            let lower = what.to_lowercase();
            let is_denied = DENIALS.iter().any(|d| lower.contains(d));
            if !is_denied && subject.command.is_some() {
                continue;
            }
            let f = self.0.entry(key).or_insert(Failing {
                times: 0,
                first: result.id,
                last: result.id,
                at_the_end: false,
                session_no: ran.session_no,
                is_denied,
                what: String::new(),
            });
            (f.times, f.last, f.what, f.session_no) = (f.times + 1, result.id, what, ran.session_no);
            (f.at_the_end, f.is_denied) = (last == Some(result.id), is_denied);
        }
        Ok(())
    }
}

fn name_of(result: &ToolTurn, call: Option<&ToolTurn>) -> String {
    let name = result.tool.as_deref().or_else(|| call?.tool.as_deref()).unwrap_or("a tool");
    short(name, 12)
}

/// The subject of a tool call, found by well-known keys of its input.
#[derive(Default)]
struct Subject {
    paths: Vec<String>,
    command: Option<String>,
}

impl Subject {
    /// Parses the beginning of a call's input, which may be cut off: JSON, or a patch.
    fn of(input: &str) -> Subject {
        let mut out = Subject::default();
        for key in ["file_path", "filePath", "notebook_path", "path", "filename"] {
            if let Some(serde_json::Value::String(path)) = value_of(input, key) {
                out.paths.push(path);
                break;
            }
        }
        for key in ["command", "cmd"] {
            out.command = out.command.or_else(|| match value_of(input, key)? {
                serde_json::Value::String(command) => Some(command),
                // The array has the arguments of a command; the last one is the text that a shell is given.
                serde_json::Value::Array(words) => words.last()?.as_str().map(str::to_owned),
                _ => None,
            });
        }
        for mark in ["*** Update File: ", "*** Add File: ", "*** Delete File: "] {
            let named = input.split(['\n', '"']).flat_map(|l| l.split("\\n")).filter_map(|l| l.strip_prefix(mark));
            out.paths.extend(named.map(|p| p.trim().to_owned()));
        }
        out
    }

    /// Returns a short name of a call: its file, or the first words of its command.
    fn in_short(&self) -> String {
        let text = match (&self.command, self.paths.first()) {
            (Some(command), _) => command.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
            (None, Some(path)) => path.clone(),
            (None, None) => String::new(),
        };
        if text.is_empty() { text } else { format!("`{}`", short(&text, 24).replace('`', "'")) }
    }
}

/// Returns the value of a key anywhere in a JSON text that may be cut off.
fn value_of(input: &str, key: &str) -> Option<serde_json::Value> {
    let quoted = format!("\"{key}\"");
    let behind = &input[input.find(&quoted)? + quoted.len()..];
    let value = behind.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter().next()?.ok()
}

/// Returns the root folders of a project under all its names.
fn roots(at: &AssistantHome, tx: &Read, workspace: &str) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached("SELECT root FROM workspaces WHERE workspace_no = ?1")?;
    let mut out = Vec::new();
    for no in names_of(tx, at.agent_no, workspace)? {
        let root: Vec<u8> = statement.query_row([no], |r| r.get(0))?;
        out.push(String::from_utf8_lossy(&root).trim_end_matches('/').to_owned() + "/");
    }
    Ok(out)
}

fn shortened<'p>(path: &'p str, roots: &[String]) -> &'p str {
    roots.iter().find_map(|root| path.strip_prefix(root.as_str())).unwrap_or(path)
}

fn newest(turns: &[TurnId], most: usize) -> Vec<TurnId> {
    turns[turns.len().saturating_sub(most)..].to_vec()
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns as many whole lines as fit on a page.
fn fit(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        if tokens(&out) + tokens(line) > TOKENS {
            break;
        }
        out.push_str(line);
    }
    out
}
