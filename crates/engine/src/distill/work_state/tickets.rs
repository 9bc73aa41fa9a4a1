//! Tracks tickets as the commands of a tracker show and change them: `gh`, `glab`, `bd`, `jira`, `linear` and others of
//! the form `tracker close ID`, with rows of "id title status".

use super::line;
use super::shell::Simple;
use super::tasks::{Status, status_of};
use crate::scope::TurnId;
use crate::text::plain::cut;
use crate::text::similarity::is_id;

const MOST: usize = 60;

/// A ticket this range showed or changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub id: String,
    /// Empty if no output contained it.
    pub title: String,
    pub status: Status,
    /// Whether this range began, closed or made the ticket, and did not only look at it.
    pub ours: bool,
    /// The reason given when the ticket was closed.
    pub reason: Option<String>,
    pub turns: Vec<TurnId>,
}

#[derive(Debug, Default)]
pub struct Tickets {
    known: Vec<Ticket>,
}

impl Tickets {
    /// Returns the id of the ticket a command prints in full: `bd show shop-4`.
    pub fn shown(simple: &Simple) -> Option<&str> {
        let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
        let looks = words.iter().skip(1).take(2).any(|w| matches!(*w, "show" | "view" | "get"));
        let id = words.iter().skip(2).find(|w| !w.starts_with('-') && names(w))?;
        (looks && is_tracker(simple.program())).then(|| id.trim_start_matches('#'))
    }

    /// Notes that a command ended well. Returns the command if it closed something that has a name.
    pub fn ran(&mut self, simple: &Simple, output: &[&str], turn: TurnId) -> Option<String> {
        let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
        let program = simple.program();
        if matches!(
            program,
            "echo" | "printf" | "grep" | "rg" | "cat" | "git" | "sed" | "find" | "ls" | "npm" | "docker"
        ) || words.len() > 40
        {
            return None;
        }
        let tracker = is_tracker(program);
        let verbs = || words.iter().skip(1).take(3).copied();
        let closes = verbs().any(|w| matches!(w, "close" | "done" | "complete" | "finish" | "resolve" | "merge"))
            || told(&words, "status").is_some_and(|s| status_of(s) == Status::Done);
        let begins = verbs().any(|w| matches!(w, "start" | "claim" | "take" | "begin"))
            || told(&words, "status").is_some_and(|s| status_of(s) == Status::Begun);
        let makes = verbs().any(|w| matches!(w, "create" | "new" | "add" | "open"));
        let ids: Vec<&str> = words
            .iter()
            .skip(2)
            .copied()
            .filter(|w| !w.starts_with('-') && w.len() <= 40 && !w.contains(['=', ' ']))
            .filter(|w| names(w) || tracker && w.contains('-') && !w.contains('/'))
            .collect();
        let simple_words = words.len() <= 14;
        if closes && simple_words && !ids.is_empty() && (tracker || program.len() > 1) {
            for id in &ids {
                self.set(id, titled(output, id), Status::Done, true, turn);
            }
            let reason = ["reason", "comment", "message"].iter().find_map(|o| told(&words, o));
            let short = || words.windows(2).find(|w| matches!(w[0], "-r" | "-c" | "-m")).map(|w| w[1]);
            let reason = reason.or_else(short).map(line).filter(|r| r.contains(' '));
            if let Some(ticket) =
                self.known.iter_mut().find(|t| ids.iter().any(|id| id.trim_start_matches('#') == t.id))
            {
                ticket.reason = reason.or(ticket.reason.take());
            }
            return Some(words.join(" "));
        }
        if !tracker {
            return None;
        }
        if begins {
            ids.iter().for_each(|id| self.set(id, titled(output, id), Status::Begun, true, turn));
            return None;
        }
        if makes {
            let title = told(&words, "title").or_else(|| words.get(2).copied().filter(|w| w.contains(' ')));
            if let (Some(title), Some(id)) = (title, made(output)) {
                self.set(&id, Some(title), Status::Open, true, turn);
            }
            return None;
        }
        self.rows(output, turn);
        None
    }

    /// Reads the rows of a listing.
    fn rows(&mut self, output: &[&str], turn: TurnId) {
        for line in output.iter().flat_map(|p| p.lines()).take(200).filter(|l| l.len() < 600) {
            if let Some((id, title, status)) = table_row(line).or_else(|| marked_row(line)) {
                self.set(id, Some(title), status, false, turn);
            }
        }
    }

    fn set(&mut self, id: &str, title: Option<&str>, status: Status, ours: bool, turn: TurnId) {
        let id = id.trim_start_matches('#');
        let title = title.map(|t| cut(&line(t), 160)).unwrap_or_default();
        if let Some(known) = self.known.iter_mut().find(|t| t.id == id) {
            // The turns are read in order, so the newest status always wins.
            known.status = status;
            known.ours |= ours;
            if known.title.is_empty() {
                known.title = title;
            }
            if known.turns.last() != Some(&turn) && known.turns.len() < 8 {
                known.turns.push(turn);
            }
            return;
        }
        if self.known.len() == MOST {
            let idle = self.known.iter().position(|t| !t.ours).unwrap_or(0);
            self.known.remove(idle);
        }
        self.known.push(Ticket { id: id.to_owned(), title, status, ours, reason: None, turns: vec![turn] });
    }

    pub fn into_list(self) -> Vec<Ticket> {
        self.known
    }
}

fn is_tracker(program: &str) -> bool {
    matches!(program, "gh" | "glab" | "bd" | "beads" | "br" | "jira" | "linear" | "linearis" | "tk" | "acli" | "hub")
        || matches!(program, "issue" | "issues" | "tickets" | "ticket" | "backlog" | "tasks")
}

/// Returns the value of an option: `--status=done`, `--status done`.
fn told<'w>(words: &[&'w str], option: &str) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(i, w)| {
        let rest = w.strip_prefix("--")?.strip_prefix(option)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => words.get(i + 1).copied(),
            None => None,
        }
    })
}

fn names(word: &str) -> bool {
    let bare = word.trim_start_matches('#');
    let digits = bare.bytes().any(|b| b.is_ascii_digit());
    digits
        && (bare.bytes().all(|b| b.is_ascii_digit()) && bare.len() <= 7
            || bare.contains(['-', '.', '/']) && is_id(bare) && !bare.contains("..") && bare.len() <= 40)
}

fn stated(word: &str) -> Option<Status> {
    match word.to_ascii_lowercase().as_str() {
        "open" | "todo" | "to-do" | "to do" | "pending" | "ready" | "backlog" | "opened" | "new" | "blocked" => {
            Some(Status::Open)
        }
        "in_progress" | "in-progress" | "inprogress" | "in progress" | "doing" | "started" | "active" => {
            Some(Status::Begun)
        }
        "closed" | "done" | "completed" | "resolved" | "merged" => Some(Status::Done),
        _ => None,
    }
}

/// Reads a row of cells, of which one is an id and one a status: `12 <tab> OPEN <tab> Refunds are counted twice`.
fn table_row(line: &str) -> Option<(&str, &str, Status)> {
    let gap = if line.contains('\t') { "\t" } else { "  " };
    let cells: Vec<&str> = line.split(gap).map(str::trim).filter(|c| !c.is_empty()).collect();
    let id = cells.iter().take(3).copied().find(|c| names(c)).filter(|_| cells.len() >= 3)?;
    let status = cells.iter().find_map(|c| stated(c))?;
    let title = cells.iter().copied().filter(|c| c.contains(' ') && stated(c).is_none()).max_by_key(|c| c.len())?;
    Some((id, title, status))
}

/// Reads a row with a mark, an id, groups in brackets and a title: `○ shop-6 [● P2] [task] - Drop the old table
/// (blocked by: shop-5)`.
fn marked_row(line: &str) -> Option<(&str, &str, Status)> {
    let mut rest = line.trim_start();
    let mut status = None;
    loop {
        let first = rest.chars().next()?;
        let mark = match first {
            '○' | '●' | '❄' => Some(Status::Open),
            '◐' => Some(Status::Begun),
            '✓' | '✔' => Some(Status::Done),
            _ => None,
        };
        status = status.or(mark);
        if mark.is_some() || matches!(first, '↳' | '←' | '→' | '├' | '└' | '─' | '│' | '-' | '*' | '•')
        {
            rest = rest[first.len_utf8()..].trim_start();
        } else if first == '[' {
            rest = rest.split_once(']')?.1.trim_start();
        } else {
            break;
        }
    }
    let (id, rest) = rest.split_once([' ', ':'])?;
    let named = names(id) || status.is_some() && id.contains('-') && id.len() <= 40;
    if !named || id.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // The groups come before the title; the title ends where its properties begin.
    let mut title = rest.trim_start_matches([' ', ':', '·', '-', '–']);
    while let Some((_, after)) = title.strip_prefix('[').and_then(|t| t.split_once(']')) {
        title = after.trim_start_matches([' ', ':', '·', '-', '–']);
    }
    let ends = ["  ", " [●", " (blocked by", " (blocks", " ● P", "\t"];
    let end = ends.iter().filter_map(|e| title.find(e)).min().unwrap_or(title.len());
    let told = title[end..].split(['[', ']', '·']).find_map(|w| stated(w.trim()));
    let title = title[..end].trim();
    Some((id, title, told.or(status)?)).filter(|_| title.contains(' '))
}

/// Returns the title that an output has beside the id: `Closed issue #12 (Refunds are counted twice)`.
fn titled<'t>(output: &[&'t str], id: &str) -> Option<&'t str> {
    let line = output.iter().flat_map(|p| p.lines()).find(|l| l.contains(id) && l.trim_end().ends_with(')'))?;
    line.trim_end().strip_suffix(')')?.split_once(" (").map(|(_, title)| title)
}

/// Returns the id of a new ticket: the end of its address, or the first id in the output.
fn made(output: &[&str]) -> Option<String> {
    let text = output.concat();
    let address =
        text.split_whitespace().find(|w| w.starts_with("http") && (w.contains("/issues/") || w.contains("/pull/")));
    if let Some(number) = address.and_then(|a| a.trim_end_matches('/').rsplit('/').next()) {
        return Some(number.to_owned()).filter(|n| names(n));
    }
    let word = text.split_whitespace().map(|w| w.trim_matches([':', '.', ',', '"', '\''])).find(|w| names(w))?;
    Some(word.to_owned())
}
