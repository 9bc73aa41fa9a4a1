//! Threads, projects, people and ids that a text names explicitly (R10.3). Content of another thread is admitted only
//! if the thread is named; similarity never admits it.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::Read;
use crate::scope::{AgentNo, NodeId, ThreadNo, TurnId};
use crate::text::language::COMMON_WORDS;
use crate::text::language::stop_words::{self, is_stop_word};
use crate::thread;

/// Largest number of words of a text that are examined: a prompt names its subject early.
const WORDS: usize = 1_000;

/// Largest number of words in a name.
const LONGEST: usize = 6;

/// Words that mark the word beside them as a name.
const CUES: [&str; 10] =
    ["project", "thread", "repo", "repository", "workspace", "codebase", "projekt", "projet", "proyecto", "progetto"];

/// Everything a text names.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Named {
    /// Canonical numbers of threads.
    pub threads: BTreeSet<ThreadNo>,
    /// Ids of the projects among them.
    pub workspaces: BTreeSet<String>,
    /// The words that name them, in lower case.
    pub names: BTreeSet<String>,
    /// Ids of items: `t9c11`, `n7f3a`, `l:…`.
    pub ids: BTreeSet<String>,
    /// The ids of turns and nodes among them that are in brackets, as pages and contexts print them: `t480` alone may be
    /// anything.
    pub bracketed: BTreeSet<String>,
}

/// Finds what a text names among the threads and items of this agent.
pub fn named(tx: &Read, agent_no: AgentNo, text: &str) -> Result<Named> {
    let words: Vec<Word> = words(text);
    let mut out = Named::default();
    for word in &words {
        if is_id(word.text) || (word.bracketed && is_numbered(word.text)) {
            out.ids.insert(word.text.to_owned());
        }
        if word.bracketed && is_numbered(word.text) {
            out.bracketed.insert(word.text.to_owned());
        }
        if let Some((first, _)) = word.text.split_once('/') {
            out.threads.extend(of_key(tx, agent_no, word.text)?);
            out.threads.extend(match first {
                "" => of_path(tx, agent_no, word.text)?,
                "~" => of_home_path(tx, agent_no, word.text)?,
                // `bluebird/src/main.rs`
                _ if is_rare(first) => match thread::known_as(tx, agent_no, first)? {
                    Some(no) => Some(thread::canonical(tx, no)?),
                    None => None,
                },
                _ => None,
            });
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
            // German writes a genitive without an apostrophe, as in `Bluebirds Farben`.
            let genitive = phrase.strip_suffix('s').filter(|name| !several && is_rare(name));
            let known = match (thread::known_as(tx, agent_no, &phrase)?, genitive) {
                (None, Some(name)) => thread::known_as(tx, agent_no, name)?,
                (known, _) => known,
            };
            if let Some(no) = known {
                let row = thread::row(tx, agent_no, thread::canonical(tx, no)?)?;
                let before = at.checked_sub(1).map(|i| &words[i]);
                // For a common word, a capital letter alone identifies only people, because German capitalises every
                // noun.
                let by_capital = !several && !is_rare(&phrase) && first.is_only_large(before, words.get(at + 1));
                if !by_capital || row.key.starts_with("person/") {
                    out.threads.insert(row.no);
                    out.names.extend(phrase.split(' ').map(str::to_lowercase));
                }
            }
            if word.ends {
                break;
            }
        }
    }
    for no in &out.threads {
        let row = thread::row(tx, agent_no, *no)?;
        out.workspaces.extend(row.key.strip_prefix("project/").map(str::to_owned));
    }
    Ok(out)
}

/// Whether a word is in few texts, so that it can be a name without further signs.
fn is_rare(word: &str) -> bool {
    let lower = word.to_lowercase();
    let common = |word: &str| COMMON_WORDS.has(word) || stop_words::ALL.iter().any(|l| is_stop_word(word, *l));
    lower.chars().count() >= 3
        && lower.chars().any(char::is_alphabetic)
        && !common(&lower)
        && !lower.strip_suffix('s').is_some_and(common)
}

struct Word<'t> {
    text: &'t str,
    /// Whether a sentence, a quotation or a line ends after the word.
    ends: bool,
    /// Whether the word is in quotes or code marks.
    quoted: bool,
    /// Whether the word is in brackets, as ids are printed.
    bracketed: bool,
    /// Whether the word begins a sentence, where a capital letter means nothing.
    begins: bool,
}

impl Word<'_> {
    /// Whether a single word can be meant as a name; a common lower-case word inside a sentence cannot.
    fn is_distinct(&self, before: Option<&Word>, behind: Option<&Word>) -> bool {
        (self.is_large() || self.is_marked(before, behind) || is_rare(self.text)) && self.text.chars().count() >= 2
    }

    /// Whether its capital letter is the only sign that the word is a name.
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
        let (mut begins, mut bracketed) = (true, false);
        for raw in line.split_whitespace() {
            bracketed |= raw.contains('[');
            let quoted = raw.starts_with(['"', '\'', '`', '“', '„', '«']);
            let word = raw.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '@' | '_' | '~'));
            let word = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
            if word.is_empty() {
                continue;
            }
            let ends = raw.ends_with(['.', '!', '?', ';', ':', '"', '`', '”', '“', '»', ')']);
            out.push(Word { text: word, ends, quoted, bracketed, begins });
            bracketed &= !raw.contains(']');
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
    item || (word.len() >= 3 && is_numbered(word))
}

/// Whether a word is an id of a turn or node: `t9c11`, `n4`.
fn is_numbered(word: &str) -> bool {
    (TurnId::parse(word).is_some() || NodeId::parse(word).is_some()) && word.chars().any(|c| c.is_ascii_digit())
}

/// Returns the thread with this key: `project/…`, `topic/…`.
fn of_key(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<ThreadNo>> {
    let found: Option<ThreadNo> = tx
        .prepare_cached("SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?;
    found.map(|no| thread::canonical(tx, no)).transpose()
}

/// Returns the thread of the one project that contains a path below a home directory: `~/bluebird`, `~/bluebird/src`.
/// The home directory is not known here, so the path is compared with the ends of the projects' roots.
fn of_home_path(tx: &Read, agent_no: AgentNo, path: &str) -> Result<Option<ThreadNo>> {
    let parts: Vec<&str> = path.trim_start_matches("~/").split('/').filter(|p| !p.is_empty()).collect();
    let mut roots =
        tx.prepare_cached("SELECT DISTINCT root FROM workspaces WHERE agent_no = ?1 AND root IS NOT NULL")?;
    let roots: Vec<Vec<u8>> = roots.query_map([agent_no], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    for end in (1..=parts.len()).rev() {
        let tail = format!("/{}", parts[..end].join("/"));
        let found: Vec<&Vec<u8>> = roots.iter().filter(|root| root.ends_with(tail.as_bytes())).collect();
        if let [root] = found[..]
            && let Ok(root) = std::str::from_utf8(root)
        {
            return of_path(tx, agent_no, root);
        }
    }
    Ok(None)
}

/// Returns the thread of the project that contains a full path: the root itself or anything below it.
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
