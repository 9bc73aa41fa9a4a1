//! What a text names explicitly (R10.3): threads, projects, people, ids. Content of another thread is admitted only if
//! the thread is named; similarity never admits it.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::Read;
use crate::scope::{AgentNo, NodeId, ThreadNo, TurnId};
use crate::thread;

/// The most words of a text that are examined: a prompt names its subject early.
const WORDS: usize = 1_000;

/// The longest name, in words.
const LONGEST: usize = 6;

/// Words that mark the word beside them as a name.
const CUES: [&str; 10] =
    ["project", "thread", "repo", "repository", "workspace", "codebase", "projekt", "projet", "proyecto", "progetto"];

/// What a text names.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Named {
    /// Canonical numbers of threads.
    pub threads: BTreeSet<ThreadNo>,
    /// Ids of items: `t9c11`, `n7f3a`, `l:…`.
    pub ids: BTreeSet<String>,
}

/// Finds what a text names among the threads and items of this agent.
pub fn named(tx: &Read, agent_no: AgentNo, text: &str) -> Result<Named> {
    let words: Vec<Word> = words(text);
    let mut out = Named::default();
    for word in &words {
        if is_id(word.text) {
            out.ids.insert(word.text.to_owned());
        }
        if word.text.contains('/') {
            out.threads.extend(of_key(tx, agent_no, word.text)?);
            out.threads.extend(of_path(tx, agent_no, word.text)?);
        }
    }
    for (at, first) in words.iter().enumerate() {
        let mut phrase = String::new();
        for word in words[at..].iter().take(LONGEST) {
            if !phrase.is_empty() {
                phrase.push(' ');
            }
            phrase.push_str(word.text);
            let several = phrase.contains(' ');
            if !several && !first.is_distinct(at.checked_sub(1).map(|i| &words[i]), words.get(at + 1)) {
                continue;
            }
            if let Some(no) = thread::known_as(tx, agent_no, &phrase)? {
                // German capitalises every noun, so a capital alone identifies only people.
                let row = thread::row(tx, agent_no, thread::canonical(tx, no)?)?;
                let before = at.checked_sub(1).map(|i| &words[i]);
                let by_capital = !several && first.is_only_large(before, words.get(at + 1));
                if !by_capital || row.key.starts_with("person/") {
                    out.threads.insert(row.no);
                }
            }
            if word.ends {
                break;
            }
        }
    }
    Ok(out)
}

struct Word<'t> {
    text: &'t str,
    /// A sentence, a quotation or a line ends after it.
    ends: bool,
    /// It is in quotes or code marks.
    quoted: bool,
    /// It begins a sentence, where a capital means nothing.
    begins: bool,
}

impl Word<'_> {
    /// Whether a single word can be meant as a name: a common lower-case word inside a sentence cannot.
    fn is_distinct(&self, before: Option<&Word>, behind: Option<&Word>) -> bool {
        (self.is_large() || self.is_marked(before, behind)) && self.text.chars().count() >= 2
    }

    /// Whether its capital is the only sign that it is a name.
    fn is_only_large(&self, before: Option<&Word>, behind: Option<&Word>) -> bool {
        self.is_large() && !self.is_marked(before, behind)
    }

    fn is_large(&self) -> bool {
        !self.begins && self.text.chars().next().is_some_and(char::is_uppercase)
    }

    fn is_marked(&self, before: Option<&Word>, behind: Option<&Word>) -> bool {
        let cue = |w: Option<&Word>| w.is_some_and(|w| CUES.contains(&w.text.to_lowercase().as_str()));
        let odd = self.text.contains(['-', '_', '.', '@', ':']) || self.text.chars().any(|c| c.is_ascii_digit());
        let unspaced = self.text.chars().any(|c| c as u32 > 0x2e80);
        odd || self.quoted || unspaced || cue(before) || cue(behind)
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word> = Vec::new();
    for line in text.lines() {
        let mut begins = true;
        for raw in line.split_whitespace() {
            let quoted = raw.starts_with(['"', '\'', '`', '“', '„', '«']);
            let word = raw.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '@' | '_' | '~'));
            let word = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
            if word.is_empty() {
                continue;
            }
            let ends = raw.ends_with(['.', '!', '?', ';', ':', '"', '`', '”', '“', '»', ')']);
            out.push(Word { text: word, ends, quoted, begins });
            begins = raw.ends_with(['.', '!', '?']);
            if out.len() == WORDS {
                return out;
            }
        }
        if let Some(last) = out.last_mut() {
            last.ends = true;
        }
    }
    out
}

fn is_id(word: &str) -> bool {
    let item = word.split_once(':').is_some_and(|(kind, rest)| {
        matches!(kind, "l" | "m" | "p" | "a" | "d" | "u" | "x") && rest.len() >= 2 && !rest.contains(':')
    });
    let number = |w: &str| w.len() >= 3 && (TurnId::parse(w).is_some() || NodeId::parse(w).is_some());
    item || (number(word) && word.chars().any(|c| c.is_ascii_digit()))
}

/// A thread by its key: `project/…`, `topic/…`.
fn of_key(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<ThreadNo>> {
    let found: Option<ThreadNo> = tx
        .prepare_cached("SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?;
    found.map(|no| thread::canonical(tx, no)).transpose()
}

/// The thread of the project a full path lies in: the root itself or anything below it.
fn of_path(tx: &Read, agent_no: AgentNo, path: &str) -> Result<Option<ThreadNo>> {
    if !path.starts_with('/') {
        return Ok(None);
    }
    let mut find = tx.prepare_cached(
        "SELECT h.thread_no FROM workspaces v JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
         JOIN threads h ON h.agent_no = v.agent_no AND h.thread_key = 'project/' || w.workspace_id
         WHERE v.agent_no = ?1 AND v.root = ?2",
    )?;
    let mut at = Some(std::path::Path::new(path));
    while let Some(folder) = at {
        use std::os::unix::ffi::OsStrExt;
        let found: Option<ThreadNo> =
            find.query_row(params![agent_no, folder.as_os_str().as_bytes()], |r| r.get(0)).optional()?;
        if let Some(no) = found {
            return Ok(Some(thread::canonical(tx, no)?));
        }
        at = folder.parent().filter(|p| p.as_os_str().len() > 1);
    }
    Ok(None)
}
