//! The state of the work, from what tools did and answered: files and their way to a commit, checks, task lists, tickets,
//! what runs in the background, and the summaries the programs write themselves. No word of a natural language decides
//! anything; only the forms of tools' inputs and outputs do.
//!
//! A range of turns is read in order by a [`Tracker`]. What an earlier range left open comes with its distillate: the
//! items' texts have a fixed form, by which the tracker knows its own again ([`is_state`]). Knows no session, page or
//! statement.

mod blocks;
mod calls;
mod checks;
mod edits;
mod files;
mod git;
mod input;
mod kinds;
mod lists;
mod shell;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;
mod tickets;

use std::borrow::Cow;
use std::collections::HashMap;

pub use self::summary::Summary;
pub use self::tasks::{Status, Task};
pub use self::tickets::Ticket;
use super::Said;
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Item, LONGEST_ITEM, Touch, TouchedFile};
use crate::scope::TurnId;
use crate::text::plain::{cut, ends, plain};

/// The most calls waiting for a result; more are dropped.
const MOST_WAITING: usize = 256;
/// Bytes of a command's output that are read, half from either end.
const MOST_READ: usize = 6 * 1024;
/// The most background processes, and failed edits, remembered.
const MOST: usize = 32;

/// What one turn did, for the timeline of the caller. A call counts in the turn of its result.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Paths of project files, as they are listed.
    pub edited: Vec<String>,
    /// Commits as git reports them: `[main 1a2b3c4] subject`.
    pub committed: Vec<String>,
    pub pushed: bool,
    /// The check a command ran, and whether it passed.
    pub checked: Option<(String, bool)>,
    /// A call failed; a call the user refused does not count.
    pub failed: bool,
    pub refused: bool,
    pub tasks_done: Vec<Item>,
    /// The command that closed something with an id.
    pub closed: Option<String>,
    /// A plan was approved.
    pub planned: bool,
}

/// Something that failed and later passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mended {
    /// The command, or the file an edit was meant for.
    pub what: String,
    /// The line that told the error; may be empty.
    pub error: String,
    pub failed: TurnId,
    pub passed: TurnId,
    /// Files edited between the two.
    pub files: Vec<String>,
}

impl Mended {
    /// One line: the command and its error.
    pub fn text(&self) -> String {
        let error = if self.error.is_empty() { String::new() } else { format!(": {}", cut(&self.error, 220)) };
        line(&format!("`{}`{error}", cut(&self.what, 120)))
    }
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
    /// Commands that worked and are likely to be needed again.
    pub commands: Vec<Item>,
    pub tasks: Vec<Task>,
    /// Background processes that were started and not seen to end.
    pub running: Vec<Item>,
    /// The newest summary the program wrote itself.
    pub summary: Option<Summary>,
    /// The newest plan the user approved: its title and steps.
    pub plan: Option<Item>,
    pub tickets: Vec<Ticket>,
    /// `- [ ]` lines of the project's documents and of tickets that were printed, by file or id.
    pub checkboxes: Vec<(String, Vec<Task>)>,
    /// Blanks to fill in that a tool wrote into a document.
    pub placeholders: Vec<Item>,
}

/// Whether an item was written by this room. The tracker takes such items over from the distillate before, and returns
/// those that still hold: a caller that carries items over leaves them out.
pub fn is_state(text: &str) -> bool {
    checks::is_told(text) || git::is_told(text) || text.starts_with(RUNS) || tasks::id_in(text).is_some()
}

const RUNS: &str = "Runs in the background: `";

/// A background process.
#[derive(Debug)]
struct Running<'r> {
    id: String,
    script: Cow<'r, str>,
    item: Item,
}

/// An edit that failed.
#[derive(Debug)]
struct Missed {
    path: String,
    error: String,
    turn: TurnId,
}

/// Reads every turn of a range in order.
#[derive(Debug)]
pub struct Tracker<'r> {
    waiting: Vec<&'r Said>,
    /// Scripts that go on after their first result, by the id it told.
    cells: HashMap<String, &'r Said>,
    files: files::Files<'r>,
    checks: checks::Checks,
    git: git::Git,
    tasks: tasks::Tasks,
    lists: lists::Lists,
    tickets: tickets::Tickets,
    summary: Option<Summary>,
    running: Vec<Running<'r>>,
    /// Background processes that ended, for their output may be read later.
    ended: Vec<Running<'r>>,
    missed: Vec<Missed>,
    /// Edits a message proposed, to be applied by the program.
    proposed: Vec<(&'r str, TurnId)>,
    /// The program tells which edits it applied.
    reports: bool,
    /// A result was seen.
    answered: bool,
}

impl<'r> Tracker<'r> {
    /// `root`: the project's folder, to shorten paths. `before`: the distillate of what came before.
    pub fn new(root: Option<&'r str>, before: Option<&Distillate>) -> Tracker<'r> {
        let mut tracker = Tracker {
            waiting: Vec::new(),
            cells: HashMap::new(),
            files: files::Files::new(root),
            checks: checks::Checks::default(),
            git: git::Git::default(),
            tasks: tasks::Tasks::default(),
            lists: lists::Lists::default(),
            tickets: tickets::Tickets::default(),
            summary: None,
            running: Vec::new(),
            ended: Vec::new(),
            missed: Vec::new(),
            proposed: Vec::new(),
            reports: false,
            answered: false,
        };
        let Some(before) = before else { return tracker };
        for (name, items) in before.lists() {
            if matches!(name, "done" | "decisions" | "constraints" | "goal") {
                continue;
            }
            let status = if name == "in_progress" { Status::Begun } else { Status::Open };
            for item in items.iter().filter(|i| is_state(&i.text) && !i.turns.is_empty()) {
                let _ = tracker.checks.carry(item)
                    || tracker.git.carry(item)
                    || tracker.tasks.carry(item, status)
                    || tracker.carry_running(item);
            }
        }
        tracker
    }

    fn carry_running(&mut self, item: &Item) -> bool {
        let Some((script, id)) = item.text.strip_prefix(RUNS).and_then(|t| t.rsplit_once("` (")) else { return false };
        let (id, script) = (id.trim_end_matches(')').to_owned(), Cow::Owned(script.to_owned()));
        self.running.push(Running { id, script, item: item.clone() });
        true
    }

    /// Reads the next turn; `at` is its position in the range. Returns what it did.
    pub fn read(&mut self, at: usize, said: &'r Said) -> Event {
        // Numbers below 100 are for items carried over.
        let seq = at + 100;
        let mut event = Event::default();
        match (said.role, said.kind) {
            (_, TurnKind::ToolCall) => {
                if self.waiting.len() == MOST_WAITING {
                    self.waiting.remove(0);
                }
                self.waiting.push(said);
            }
            (_, TurnKind::ToolResult) => {
                self.answered = true;
                match self.call_of(said) {
                    Some(call) => self.finished(call, said, seq, &mut event),
                    None => self.told(said, seq, &mut event),
                }
            }
            (Role::Assistant, TurnKind::Message) => {
                if blocks::has_blocks(&said.text) {
                    self.told(said, seq, &mut event);
                }
                if let Some((_, plan)) = said.text.split_once("<proposed_plan>").filter(|_| said.main) {
                    self.tasks.proposed(plan.split("</proposed_plan>").next().unwrap_or(plan), said.id);
                }
                self.proposed.extend(blocks::edited(&said.text).into_iter().map(|p| (p, said.id)));
                self.proposed.truncate(MOST_WAITING);
            }
            (Role::User, TurnKind::Message) => self.take_proposed(seq, &mut event),
            (_, TurnKind::CompactSummary) => self.summary = summary::parse(&said.text, said.id).or(self.summary.take()),
            (_, TurnKind::MachinePrompt) => self.notified(said),
            _ => {}
        }
        event
    }

    fn call_of(&mut self, result: &Said) -> Option<&'r Said> {
        let by_id = result.call.as_ref().and_then(|id| self.waiting.iter().rposition(|w| w.call.as_ref() == Some(id)));
        let last = || if result.call.is_none() { self.waiting.len().checked_sub(1) } else { None };
        by_id.or_else(last).map(|at| self.waiting.remove(at))
    }

    /// A call with its result.
    fn finished(&mut self, call: &'r Said, result: &'r Said, seq: usize, event: &mut Event) {
        let output = result.text.as_str();
        if result.failed && is_refused(output) {
            event.refused = true;
            return;
        }
        let tool = input::plain_tool(call.tool.as_deref().or(result.tool.as_deref()).unwrap_or(""));
        // A script that goes on: its end comes as the result of a later call that names it.
        if let Some(id) = goes_on(output) {
            let call = self.continued(&tool, &call.text).unwrap_or(call);
            if self.cells.len() < MOST {
                self.cells.insert(id.to_owned(), call);
            }
            return;
        }
        let (call, tool) = match self.continued(&tool, &call.text) {
            Some(call) => (call, input::plain_tool(call.tool.as_deref().unwrap_or(""))),
            None => (call, tool),
        };
        let asked = calls::unwrapped(&tool, &call.text);
        let failed = result.failed
            || output.starts_with("Script failed")
            || patch_failed(&asked, output)
            || asked.iter().any(|(_, input)| command(input).is_some()) && exits_badly(output);
        // Several commands of one script share its output.
        let (commands, others): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(_, input)| command(input).is_some());
        for (tool, input) in &others {
            let one = Call { tool, input, output, failed, call: call.id, result: result.id, main: call.main };
            self.tool(&one, seq, event);
        }
        if !commands.is_empty() {
            let inputs: Vec<&str> = commands.iter().map(|(_, input)| input.as_ref()).collect();
            let tool = commands[0].0.as_str();
            let one = Call { tool, input: "", output, failed, call: call.id, result: result.id, main: call.main };
            self.shell(&one, &inputs, seq, event);
        }
        event.failed |= failed;
    }

    /// The call that a later call waits for.
    fn continued(&mut self, tool: &str, input: &str) -> Option<&'r Said> {
        if !matches!(tool, "wait" | "writestdin") {
            return None;
        }
        let id = ["cell_id", "session_id"].iter().find_map(|k| input::field(input, k))?;
        self.cells.remove(id)
    }

    /// Calls and results an imported history tells as text.
    fn told(&mut self, said: &'r Said, seq: usize, event: &mut Event) {
        for block in blocks::blocks(&said.text) {
            let blocks::Block { tool, input, output, failed } = &block;
            let one = Call { tool, input, output, failed: *failed, call: said.id, result: said.id, main: said.main };
            match command(input) {
                Some(_) if exits_badly(output) => self.shell(&Call { failed: true, ..one }, &[input], seq, event),
                Some(_) => self.shell(&one, &[input], seq, event),
                None => self.tool(&one, seq, event),
            }
            event.failed |= failed;
        }
        let applied = blocks::applied(&said.text);
        if !applied.told {
            return;
        }
        self.reports = true;
        self.proposed.clear();
        for path in applied.files {
            self.deed(&files::Deed { path: path.to_owned(), touch: Touch::Changed }, said.id, seq, true, event);
        }
        for path in applied.failed {
            let error = said.text.lines().find(|l| l.contains(path) && l.contains("failed")).unwrap_or("");
            let error = error.trim_start_matches(['#', ' ']);
            self.miss(path, error, said.id);
            event.failed = true;
        }
        for (hash, subject) in applied.commits {
            let commit = format!("[{hash}] {}", plain(subject));
            self.git.took(&commit, said.id);
            event.committed.push(commit);
        }
    }

    /// Edits proposed in a history that does not tell what became of them.
    fn take_proposed(&mut self, seq: usize, event: &mut Event) {
        for (path, turn) in std::mem::take(&mut self.proposed) {
            if !self.reports && !self.answered {
                self.deed(&files::Deed { path: path.to_owned(), touch: Touch::Changed }, turn, seq, true, event);
            }
        }
    }

    /// The output of a background process was read: by its id, or from its file.
    fn output_read(&mut self, asked: &str, output: &str, result: TurnId) {
        let id = ["task_id", "bash_id", "shell_id"].iter().find_map(|k| input::field(asked, k));
        let file = |r: &Running| asked.contains(&format!("/tasks/{}.output", r.id));
        let Some(process) = self.ended.iter().find(|r| Some(r.id.as_str()) == id || file(r)) else { return };
        let run = checks::Run {
            simples: &shell::parse(&process.script),
            output: &ends(output, MOST_READ),
            failed: false,
            call: process.item.turns[0],
            result,
        };
        self.checks.ran(&run);
    }

    /// A call of a tool that is not a shell.
    fn tool(&mut self, call: &Call, seq: usize, event: &mut Event) {
        let Call { tool, input, output, .. } = *call;
        if matches!(tool, "taskstop" | "killshell" | "killbash") && !call.failed {
            let id = ["task_id", "shell_id", "bash_id"].iter().find_map(|k| input::field(input, k));
            self.running.retain(|r| Some(r.id.as_str()) != id);
            return;
        }
        if !call.failed && call.main && !self.ended.is_empty() {
            self.output_read(input, output, call.result);
        }
        let mut deeds = match tool {
            "write" if input.starts_with("path: ") && !input.contains('\n') => {
                vec![files::Deed { path: input["path: ".len()..].to_owned(), touch: Touch::Changed }]
            }
            tool => files::deeds(tool, input),
        };
        if call.failed {
            let meant = || deeds.iter().filter(|d| d.touch != Touch::Read);
            // Of several files of a patch, the one the error names.
            if let Some(deed) = meant().find(|d| output.contains(&d.path)).or_else(|| meant().next()) {
                let leads = ["Script ", "Wall time", "Output:", "Exit code"];
                let mut lines = output.lines().map(str::trim);
                let error = lines.find(|l| !l.is_empty() && !leads.iter().any(|h| l.starts_with(h))).unwrap_or("");
                self.miss(&deed.path, error, call.result);
            }
            return;
        }
        files::add_from_result(tool, output, &mut deeds);
        for deed in &deeds {
            self.deed(deed, call.call, seq, call.main, event);
        }
        if !call.main {
            return;
        }
        if let [deed] = &deeds[..]
            && let Some(path) = self.files.shortened(&deed.path).filter(|p| !files::is_apart(p))
        {
            if deed.touch == Touch::Read {
                self.lists.read(&path, output, call.result);
            } else if lists::is_document(&path)
                && let (Some(new), old) = input::written(input)
            {
                self.lists.wrote(&path, new, old, call.call);
            }
        }
        event.tasks_done.extend(self.tasks.call(tool, input, output, call.call));
        if matches!(tool, "exitplanmode" | "createplan" | "submitplan" | "planexit") {
            let plan = plan_of(input, output);
            if let Some(plan) = plan {
                self.tasks.planned(&plan, call.call);
                event.planned = true;
            }
        }
    }

    /// Commands of a shell, with the output they share.
    fn shell(&mut self, call: &Call, inputs: &[&str], seq: usize, event: &mut Event) {
        let scripts: Vec<Cow<str>> = inputs.iter().filter_map(|i| command(i)).map(|c| shell::script(c)).collect();
        let script = match &scripts[..] {
            [one] => Cow::Borrowed(one.as_ref()),
            many => Cow::Owned(many.join("\n")),
        };
        // A command in the background has no outcome yet.
        if let Some(id) = background(call, inputs) {
            self.start(id, &script, call);
            return;
        }
        let simples = shell::parse(&script);
        let parts = ends(call.output, MOST_READ);
        if script.contains("/tasks/") && call.main {
            self.output_read(&script, call.output, call.result);
        }
        for input in inputs {
            let mut deeds = files::deeds(call.tool, input);
            // Of a failed script, all but the last command may have run.
            if call.failed {
                deeds = edits::commands_before_last(input);
            }
            for deed in &deeds {
                self.deed(deed, call.call, seq, call.main, event);
            }
        }
        let committed = script.contains("commit") && !git::commits(&parts, &[]).is_empty();
        let (files, ended) = (&self.files, (call.result, call.failed && !committed));
        event.committed.extend(self.git.ran(&simples, &parts, ended, |p| files.shortened(p)));
        if committed {
            let taken = files::by_commit(&parts);
            let paths: Vec<String> = taken.iter().filter_map(|d| self.files.add(d, call.call, seq)).collect();
            self.git.gone(|p| paths.iter().any(|t| t == p));
        }
        for simple in simples.iter().filter(|s| matches!(s.program(), "cd" | "pushd")) {
            if let Some(to) = simple.operands().next().filter(|a| a.certain) {
                self.files.went(&to.text);
            }
        }
        if !call.main {
            return;
        }
        let run = checks::Run {
            simples: &simples,
            output: &parts,
            failed: call.failed,
            call: call.call,
            result: call.result,
        };
        event.checked = self.checks.ran(&run).or(event.checked.take());
        if !call.failed {
            for simple in &simples {
                let closed = self.tickets.ran(simple, &parts, call.result);
                event.closed = closed.or(event.closed.take());
                // Acceptance criteria of a ticket are boxes, too.
                if let Some(id) = tickets::Tickets::shown(simple) {
                    self.lists.told(id, call.output, call.result);
                }
            }
            event.pushed |=
                simples.iter().any(|s| s.program() == "git" && s.operands().next().is_some_and(|a| a.text == "push"));
        }
    }

    fn deed(&mut self, deed: &files::Deed, turn: TurnId, seq: usize, main: bool, event: &mut Event) {
        // Sub-agents read many files; only their changes are kept.
        if !main && deed.touch == Touch::Read {
            return;
        }
        let added = self.files.add(deed, turn, seq);
        if deed.touch == Touch::Deleted {
            let files = &self.files;
            self.git.gone(|p| files.is_gone(p));
            self.checks.gone(|p| files.is_gone(p));
        }
        let Some(path) = added.filter(|p| !self.files.is_gone(p)) else { return };
        self.git.edited(&path, turn);
        self.checks.edited(&path, turn);
        if let Some(at) = self.missed.iter().position(|m| m.path == path) {
            let Missed { error, turn: failed, path } = self.missed.remove(at);
            self.checks.mend(path, error, vec![failed], turn, Vec::new());
        }
        if main {
            self.tasks.began();
        }
        if !event.edited.contains(&path) {
            event.edited.push(path);
        }
    }

    fn miss(&mut self, path: &str, error: &str, turn: TurnId) {
        if let Some(path) = self.files.shortened(path) {
            self.missed.truncate(MOST - 1);
            self.missed.insert(0, Missed { path, error: line(error), turn });
        }
    }

    fn start(&mut self, id: String, script: &str, call: &Call) {
        self.checks.started(&shell::parse(script));
        let shown = cut(&checks::shown(script), 140);
        if let Some(item) = item(&format!("{RUNS}{shown}` ({id})"), &[call.call]).filter(|_| call.main) {
            self.running.truncate(MOST - 1);
            self.running.insert(0, Running { id, script: Cow::Owned(script.to_owned()), item });
        }
    }

    /// A notice of the program: a background process ended.
    fn notified(&mut self, said: &Said) {
        let tag = |name: &str| {
            let (_, rest) = said.text.split_once(&format!("<{name}>"))?;
            rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside.trim())
        };
        let (Some(id), Some(status)) = (tag("task-id").or_else(|| tag("shell-id")), tag("status")) else { return };
        let Some(at) = self.running.iter().position(|r| r.id == id).filter(|_| status != "running") else { return };
        self.ended.truncate(MOST - 1);
        self.ended.insert(0, self.running.remove(at));
        let ended = &self.ended[0];
        let summary = tag("summary").unwrap_or("");
        // Stopped by a signal is no failure.
        let code = summary.rsplit("exit code ").next().and_then(|c| c.trim_end_matches(')').parse::<u32>().ok());
        let stopped = code.is_some_and(|c| matches!(c, 129 | 130 | 137 | 143 | 144));
        if matches!(status, "completed" | "failed") && !stopped {
            let run = checks::Run {
                simples: &shell::parse(&ended.script),
                output: &[summary],
                failed: status == "failed",
                call: ended.item.turns[0],
                result: said.id,
            };
            self.checks.ran(&run);
        }
    }

    /// The state at the end of the range.
    pub fn finish(mut self) -> Work {
        // A history whose calls have no results: they happened.
        if !self.answered {
            for call in std::mem::take(&mut self.waiting) {
                let tool = input::plain_tool(call.tool.as_deref().unwrap_or(""));
                for (tool, input) in calls::unwrapped(&tool, &call.text) {
                    let one = Call {
                        tool: &tool,
                        input: &input,
                        output: "",
                        failed: false,
                        call: call.id,
                        result: call.id,
                        main: call.main,
                    };
                    for deed in files::deeds(one.tool, one.input) {
                        self.deed(&deed, call.id, usize::MAX, call.main, &mut Event::default());
                    }
                }
            }
        }
        self.take_proposed(usize::MAX, &mut Event::default());
        let base = self.files.base();
        let short = |p: &str| p.strip_prefix(&base).unwrap_or(p).to_owned();
        let (uncommitted, not_rerun) = (self.git.uncommitted(&short), self.checks.not_rerun(&short));
        let (files, read) = self.files.into_lists(&base);
        let (tasks, plan) = self.tasks.into_parts();
        let (checkboxes, placeholders) = self.lists.into_parts(&short);
        let mut running: Vec<Item> = self.running.into_iter().map(|r| r.item).collect();
        running.reverse();
        let unpushed = self.git.unpushed();
        let (commits, pushed) = self.git.into_parts();
        Work {
            files,
            read,
            commits,
            pushed,
            uncommitted,
            unpushed,
            failing: self.checks.failing(),
            not_rerun,
            commands: self.checks.commands(),
            mended: self.checks.into_mended(),
            tasks,
            running,
            summary: self.summary,
            plan,
            tickets: self.tickets.into_list(),
            checkboxes,
            placeholders,
        }
    }
}

/// A finished call.
struct Call<'c> {
    tool: &'c str,
    input: &'c str,
    output: &'c str,
    failed: bool,
    call: TurnId,
    result: TurnId,
    main: bool,
}

/// The command of a shell call.
fn command(input: &str) -> Option<&str> {
    shell::command_in(input).or_else(|| input.starts_with("[\"").then_some(input))
}

/// The user refused the call: nothing was done and nothing failed.
fn is_refused(output: &str) -> bool {
    let head = &output[..output.floor_char_boundary(2048)];
    let refused = [
        "doesn't want to proceed",
        "rejected by the user",
        "user rejected",
        "aborted by the user",
        "denied by the user",
    ];
    refused.iter().any(|r| head.contains(r))
        || head.starts_with("Tool execution aborted")
        || head.contains("Cancelled: parallel tool call")
        || head.contains("Sibling tool call errored")
        || head.starts_with("[Request interrupted")
}

/// The id of a script that goes on after this result.
fn goes_on(output: &str) -> Option<&str> {
    let head = &output[..output.floor_char_boundary(600)];
    let (_, rest) = ["Script running with cell ID ", "Process running with session ID "]
        .iter()
        .find_map(|mark| head.split_once(mark))?;
    rest.split(char::is_whitespace).next().filter(|id| !id.is_empty())
}

/// Some programs tell the exit code in the output only, in its first lines or its last: `Command exited with code 1`.
fn exits_badly(output: &str) -> bool {
    let code = |line: &str| {
        let line = line.trim().trim_matches(['(', ')', '[', ']', '.']);
        let leads = ["Command exited with code ", "Process exited with code ", "Exit code: "];
        leads
            .iter()
            .find_map(|lead| line.strip_prefix(lead))
            .is_some_and(|code| code != "0" && code.parse::<u32>().is_ok())
    };
    output.lines().take(4).any(code) || output.lines().next_back().is_some_and(code)
}

/// A patch that did not fit, in a script that ended well.
fn patch_failed(asked: &[calls::Asked], output: &str) -> bool {
    let patches = asked.iter().any(|(tool, input)| tool.contains("patch") || input.contains("*** Begin Patch"));
    let head = &output[..output.floor_char_boundary(2048)];
    patches
        && [
            "verification failed",
            "Failed to find expected lines",
            "Invalid Context",
            "Invalid patch",
            "patch rejected",
            "Failed to find context",
        ]
        .iter()
        .any(|mark| head.contains(mark))
}

/// The id of a command that runs in the background.
fn background(call: &Call, inputs: &[&str]) -> Option<String> {
    let head = &call.output[..call.output.floor_char_boundary(600)];
    let told = ["running in background with ID: ", "Monitor started (task "].iter().find_map(|m| head.split_once(m));
    if let Some((_, rest)) = told {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        return Some(rest[..end].to_owned());
    }
    let asked = inputs.iter().any(|i| input::field(i, "run_in_background") == Some("true"));
    (asked && !call.failed).then(|| call.call.to_string())
}

/// The plan of a call the user agreed to.
fn plan_of(input: &str, output: &str) -> Option<String> {
    if let Some((_, plan)) = output.split_once("## Approved Plan") {
        return plan.split_once('\n').map(|(_, plan)| plan.to_owned());
    }
    if output.contains("\"rejected\"") || !(output.contains("pproved") || output.contains("accepted")) {
        return None;
    }
    let json = blocks::fences(output).find_map(|(_, json)| serde_json::from_str::<serde_json::Value>(json).ok());
    if let Some(plan) = json.as_ref().and_then(|j| j.get("plan")?.as_str()) {
        return Some(plan.to_owned());
    }
    let from = input.find("plan: ").filter(|at| *at == 0 || input[..*at].ends_with('\n'))? + "plan: ".len();
    Some(input[from..].to_owned())
}

/// The text of an item: one plain line, credentials redacted, at most [`LONGEST_ITEM`] bytes.
fn line(text: &str) -> String {
    cut(&crate::redact::redact(&plain(text)), LONGEST_ITEM)
}

/// An item; `None` if no text is left.
fn item(text: &str, turns: &[TurnId]) -> Option<Item> {
    let text = line(text);
    let fits = text.chars().any(char::is_alphanumeric) && !turns.is_empty();
    fits.then(|| Item { text, turns: turns.to_vec(), file: None })
}
