//! Reads the state of the work from tool calls and their results: files and how far they are committed, checks, task
//! lists, tickets, background processes, and the summaries the programs write themselves. Only the forms of tools'
//! inputs and outputs decide, never words of a natural language.
//!
//! A [`Tracker`] reads the turns of a range in order. Items that an earlier range left open come with its distillate:
//! their texts have a fixed form, by which the tracker recognises its own items ([`is_state`]). This room knows no
//! session, page or statement.

mod blocks;
pub(crate) mod calls;
pub(crate) mod checks;
mod edits;
mod exported;
mod files;
mod git;
mod input;
pub(crate) mod kinds;
mod lists;
pub(crate) mod outcome;
mod screens;
pub(crate) mod shell;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;
mod tickets;
mod tracker;

pub use self::input::{field, list, plain_tool};
pub use self::lists::Checkbox;
pub use self::summary::{Summary, told};
pub use self::tasks::{Status, Task};
pub use self::tickets::Ticket;
pub use self::tracker::{Tracker, has_calls};
use crate::lineage::distillate::{Item, LONGEST_ITEM, TouchedFile};
use crate::scope::TurnId;
use crate::text::plain::{cut, plain};

/// The effects of one turn, for the timeline of the caller. A call counts in the turn of its result.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Paths of project files that were edited, as they are listed.
    pub edited: Vec<String>,
    /// Commits as git reports them: `[main 1a2b3c4] subject`.
    pub committed: Vec<String>,
    pub pushed: bool,
    /// Whether the turn did more than look: a search, a reading, or a command whose outcome says nothing does not
    /// count.
    pub acted: bool,
    /// The check a command ran, and whether it passed.
    pub checked: Option<(String, bool)>,
    /// Whether a call failed; a call the user refused does not count.
    pub failed: bool,
    pub refused: bool,
    pub tasks_done: Vec<Item>,
    /// The command that closed a ticket or another thing with an id.
    pub closed: Option<String>,
    /// Whether a plan was approved.
    pub planned: bool,
}

/// Something that failed and later passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mended {
    /// The command that failed, or the file that the failed edit was for.
    pub what: String,
    /// The line with the error; may be empty.
    pub error: String,
    pub failed: TurnId,
    pub passed: TurnId,
    /// Files edited between failure and success.
    pub files: Vec<String>,
}

impl Mended {
    /// Returns one line: the command and its error.
    pub fn text(&self) -> String {
        let error = if self.error.is_empty() { String::new() } else { format!(": {}", cut(&self.error, 220)) };
        line(&format!("`{}`{error}", cut(&self.what, 120)))
    }

    /// Returns what became of it: "passes after edits of src/cache.rs". A later attempt to edit the same file says only
    /// that.
    pub fn outcome(&self) -> String {
        const NAMED: usize = 3;
        if self.files == [self.what.as_str()] {
            return "edited".to_owned();
        }
        match self.files.len() {
            0 => "passes".to_owned(),
            n if n <= NAMED => format!("passes after edits of {}", self.files.join(", ")),
            n => {
                let named = &self.files[n - NAMED..];
                format!("passes after edits of {} and {} more", named.join(", "), n - NAMED)
            }
        }
    }
}

/// A ticket or a document of the project that a tool printed.
#[derive(Clone, Debug)]
pub struct TaskText {
    /// The ticket's id, or the document's path.
    pub name: String,
    pub text: String,
    pub turn: TurnId,
}

/// The state of the work at the end of a range. Lists are in the order in which things happened.
#[derive(Debug, Default)]
pub struct Work {
    /// Project files that were changed, the newest last.
    pub files: Vec<TouchedFile>,
    /// Files that were only read.
    pub read: Vec<TouchedFile>,
    pub commits: Vec<Item>,
    /// The last push.
    pub pushed: Option<Item>,
    /// Edits since the last commit, if the session uses git.
    pub uncommitted: Option<Item>,
    /// Commits since the last push, if the session pushes.
    pub unpushed: Option<Item>,
    /// Checks that fail: "`cargo test` fails: first line of the error".
    pub failing: Vec<Item>,
    pub mended: Vec<Mended>,
    /// Checks that did not run after the last edits.
    pub not_rerun: Option<Item>,
    /// Commands that succeeded and are likely to be needed again.
    pub commands: Vec<Item>,
    pub tasks: Vec<Task>,
    /// Background processes that were started and whose end was not seen.
    pub running: Vec<Item>,
    /// The newest summary the program wrote itself.
    pub summary: Option<Summary>,
    /// The newest plan the user approved: its title and steps.
    pub plan: Option<Item>,
    pub tickets: Vec<Ticket>,
    /// `- [ ]` lines of the project's documents and of tickets that were printed, by file or id.
    pub checkboxes: Vec<(String, Vec<Checkbox>)>,
    /// The texts of tickets and documents that a tool printed, the newest last.
    pub texts: Vec<TaskText>,
    /// Blanks to fill in that a tool wrote into a document.
    pub placeholders: Vec<Item>,
}

/// Whether the tracker wrote an item. It takes such items over from the earlier distillate and returns those that still
/// hold, so a caller that carries items over leaves them out.
pub fn is_state(text: &str) -> bool {
    checks::is_told(text)
        || git::is_told(text)
        || blocks::refused(text).is_some()
        || text.starts_with(RUNS)
        || tasks::id_in(text).is_some()
}

/// Whether a command that passes shows that another one passes too: the same check, or a narrower one.
pub fn shows_passing(passed: &str, failed: &str) -> bool {
    let of = |command: &str| -> Vec<kinds::Check> {
        shell::parse(command.trim_end_matches('…')).iter().filter_map(kinds::check).collect()
    };
    let (passed, failed) = (of(passed), of(failed));
    !failed.is_empty() && failed.iter().all(|failed| passed.iter().any(|passed| passed.covers(failed)))
}

/// Returns the id at the end of a task's text: "Ship it (task 9)".
pub fn task_id(text: &str) -> Option<&str> {
    tasks::id_in(text)
}

const RUNS: &str = "Runs in the background: `";

/// Returns the text of an item: one plain line, credentials redacted, at most [`LONGEST_ITEM`] bytes.
fn line(text: &str) -> String {
    cut(&crate::redact::redact(&plain(text)), LONGEST_ITEM)
}

/// Makes an item; `None` if no text is left.
fn item(text: &str, turns: &[TurnId]) -> Option<Item> {
    let text = line(text);
    let fits = text.chars().any(char::is_alphanumeric) && !turns.is_empty();
    fits.then(|| Item { text, turns: turns.to_vec(), file: None })
}
