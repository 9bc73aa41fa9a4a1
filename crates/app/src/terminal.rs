//! Prints what the engine reports while a command runs, as notes and progress bars on standard error.

use std::sync::{Mutex, PoisonError};

use heirloom_engine::engine::{Listener, Notice, Progress, Task};
use heirloom_engine::error::Error;
use heirloom_engine::holder::Holder;
use indicatif::ProgressBar;

use crate::print;

/// Number of sessions from which a progress bar is drawn: fewer are distilled before a bar could be read.
const WORTH_A_BAR: u64 = 8;

/// Prints notices and draws progress bars.
pub struct Terminal {
    /// True if JSON was requested: no bars, and no note about a missing model, which the JSON contains.
    json: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    pub fn new(json: bool) -> Terminal {
        Terminal { json, bar: Mutex::default() }
    }
}

impl Listener for Terminal {
    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::WordsOnly(_) if self.json => {}
            other => print::note(&sentence(other)),
        }
    }

    fn progress(&self, progress: Progress) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Begin(task, steps) => *bar = Some(drawn(task, steps, self.json)),
            Progress::End => bar.take().into_iter().for_each(|bar| bar.finish_and_clear()),
            Progress::Done(steps) => bar.iter().for_each(|bar| bar.set_position(steps)),
            Progress::More(steps) => bar.iter().for_each(|bar| bar.inc(steps)),
            Progress::Source(n, of) => bar.iter().for_each(|bar| bar.set_message(format!("{n}/{of}"))),
        }
    }
}

fn sentence(notice: &Notice) -> String {
    match notice {
        Notice::LedgerMadeAnew => "WARNING: state/runtime.db was not there although this home has been in use; every \
             conversation was in it. A new, empty one was made. If you have a backup, put it back before you go on: \
             heirloom restore --from DIR. Sessions the programs still have come back with: heirloom import"
            .to_owned(),
        Notice::SpoolLeft(e) => format!("what hooks left in the spool is not stored yet: {e}; it is tried again"),
        Notice::ForgettingLeft(e) => format!("something forgotten is not gone everywhere yet: {e}; it is tried again"),
        Notice::PagesLeft(e) => format!("the pages could not be refreshed: {e}"),
        Notice::PageLeft(problem) => format!("a page could not be refreshed: {problem}"),
        Notice::PagesOutOfReach(e) => format!("the visible pages could not be brought up to date: {e}"),
        Notice::FilesLeftOut(e) => format!("notes were left out: {}", with_next_step(e)),
        Notice::MomentLeft(e) => format!("the pages of this conversation could not be brought up to date: {e}"),
        Notice::LinesProposed(id) if id.starts_with("l:") => {
            format!("your line in MEMORY.md is kept as the open loop {id}: heirloom loop show {id}")
        }
        Notice::LinesProposed(id) => {
            format!("your lines in MEMORY.md are kept as the proposal {id}: heirloom proposal show {id}")
        }
        Notice::WordsOnly(e) => format!("by words only: {e}{}", on_the_next_line(e)),
        Notice::IndexMayRemember(e) => {
            format!("the search index may still hold words of it: {e}; heirloom reindex makes it anew")
        }
    }
}

/// Says for which process this one waits.
pub fn waiting(holder: &Holder) {
    let how = match (holder.is_stopped, holder.pid) {
        (true, Some(pid)) => format!(", which is suspended: kill -CONT {pid}, or fg in its terminal"),
        _ => " …".to_owned(),
    };
    print::note(&format!("heirloom: waiting for {holder}{how}"));
}

/// Returns an error and its next step in one line.
pub fn with_next_step(error: &Error) -> String {
    error.next_step().map_or_else(|| error.to_string(), |next| format!("{error}; {next}"))
}

fn on_the_next_line(error: &Error) -> String {
    error.next_step().map(|next| format!("\n  {next}")).unwrap_or_default()
}

/// Layout of a bar that counts files.
const FILES: &str = "{prefix:9}  {bar:32.cyan/dim}  {human_pos}/{human_len} files";

fn drawn(task: Task, steps: u64, json: bool) -> ProgressBar {
    let (name, template) = match task {
        Task::Importing => ("Importing", print::BYTES),
        Task::Verifying => ("Verifying", print::BYTES),
        Task::Looking => ("Looking", print::BYTES),
        Task::BackingUp => ("Backing up", print::BYTES),
        Task::PuttingBack => ("Putting back", print::BYTES),
        Task::Exporting => ("Exporting", FILES),
        Task::TakingIn => ("Taking in", FILES),
        Task::Indexing => ("Indexing", "{prefix:9}  {bar:32.cyan/dim}  {human_pos}/{human_len} turns"),
        Task::Distilling => ("Distilling", "{prefix:10} {bar:32.cyan/dim}  {human_pos}/{human_len} sessions"),
    };
    let is_short = task == Task::Distilling && steps < WORTH_A_BAR;
    print::bar(steps, name, template, json || is_short)
}
