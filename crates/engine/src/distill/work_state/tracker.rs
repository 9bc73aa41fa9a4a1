//! Reads the turns of a range in order, pairs calls with their results, and passes each to the list it concerns.

use std::borrow::Cow;
use std::collections::HashMap;

use super::outcome::{Call, background, command, exits_badly, goes_on, is_refused, patch_failed, plan_of};
use super::*;
use crate::distill::Said;
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::{Distillate, Touch};
use crate::text::plain::ends;

/// Maximum number of calls waiting for a result; the oldest are dropped.
const MOST_WAITING: usize = 256;
/// Bytes of a command's output that are read, half from either end.
const MOST_READ: usize = 6 * 1024;
/// Maximum number of background processes, and of failed edits, remembered.
const MOST: usize = 32;

/// Maximum number of tickets and documents kept, and maximum bytes of each.
const MOST_TEXTS: usize = 12;
const LARGEST_TEXT: usize = 12 * 1024;

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
    /// Scripts that continue after their first result, by the id in that result.
    cells: HashMap<String, &'r Said>,
    files: files::Files<'r>,
    checks: checks::Checks,
    git: git::Git,
    tasks: tasks::Tasks,
    lists: lists::Lists,
    tickets: tickets::Tickets,
    summary: Option<Summary>,
    running: Vec<Running<'r>>,
    texts: Vec<TaskText>,
    /// Background processes that ended; their output may be read later.
    ended: Vec<Running<'r>>,
    missed: Vec<Missed>,
    /// Files the program could not write, each with the program's message.
    refused: Vec<(String, Item)>,
    /// Edits proposed in messages, which the program may have applied.
    proposed: Vec<(&'r str, TurnId)>,
    /// Whether the program reports which edits it applied.
    reports: bool,
    /// Whether a result was seen.
    answered: bool,
}

/// Whether a text of an imported history contains calls in one of the forms of exports.
pub fn has_calls(text: &str) -> bool {
    blocks::has_blocks(text) || exported::has_calls(text)
}

impl<'r> Tracker<'r> {
    /// `root`: the project's folder, used to shorten paths. `before`: the distillate before this range.
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
            texts: Vec::new(),
            ended: Vec::new(),
            missed: Vec::new(),
            refused: Vec::new(),
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
                    || tracker.carry_running(item)
                    || tracker.carry_refused(item);
            }
        }
        tracker
    }

    fn carry_refused(&mut self, item: &Item) -> bool {
        let Some((path, _)) = blocks::refused(&item.text) else { return false };
        self.refused.push((path.to_owned(), item.clone()));
        true
    }

    fn carry_running(&mut self, item: &Item) -> bool {
        let Some((script, id)) = item.text.strip_prefix(RUNS).and_then(|t| t.rsplit_once("` (")) else { return false };
        let (id, script) = (id.trim_end_matches(')').to_owned(), Cow::Owned(script.to_owned()));
        self.running.push(Running { id, script, item: item.clone() });
        true
    }

    /// Reads the next turn; `at` is its position in the range. Returns the turn's effects.
    pub fn read(&mut self, at: usize, said: &'r Said) -> Event {
        // Positions below 100 are reserved for items carried over.
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
                if has_calls(&said.text) || screens::has_marked(&said.text) {
                    self.told(said, seq, &mut event);
                }
                if let Some((_, plan)) = said.text.split_once("<proposed_plan>").filter(|_| said.main) {
                    self.tasks.proposed(plan.split("</proposed_plan>").next().unwrap_or(plan), said.id);
                }
                let listed = screens::reported(&said.text);
                self.proposed.extend(blocks::edited(&said.text).into_iter().chain(listed).map(|p| (p, said.id)));
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

    /// Reads a call together with its result.
    fn finished(&mut self, call: &'r Said, result: &'r Said, seq: usize, event: &mut Event) {
        let output = result.text.as_str();
        if result.failed && is_refused(output) {
            event.refused = true;
            return;
        }
        let tool = input::plain_tool(call.tool.as_deref().or(result.tool.as_deref()).unwrap_or(""));
        // The script continues: a later call that names its id has the result.
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
        // Several commands of one script share one output.
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

    /// Returns the call that a later call waits for.
    fn continued(&mut self, tool: &str, input: &str) -> Option<&'r Said> {
        if !matches!(tool, "wait" | "writestdin") {
            return None;
        }
        let id = ["cell_id", "session_id"].iter().find_map(|k| input::field(input, k))?;
        self.cells.remove(id)
    }

    /// Reads calls and results that an imported history contains as text.
    fn told(&mut self, said: &'r Said, seq: usize, event: &mut Event) {
        let mut all = blocks::blocks(&said.text);
        if all.is_empty() {
            all = exported::calls(&said.text);
        }
        if all.is_empty() {
            all = screens::blocks(&said.text, said.kind == TurnKind::Message);
        }
        // A history that shows its calls needs no edits guessed from messages.
        self.answered |= all.iter().any(|block| block.tool != "bash");
        for block in all {
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
        for (path, turn) in std::mem::take(&mut self.proposed) {
            if applied.others && !applied.failed.contains(&path) && !applied.files.contains(&path) {
                self.deed(&files::Deed { path: path.to_owned(), touch: Touch::Changed }, turn, seq, true, event);
            }
        }
        for path in applied.files {
            self.deed(&files::Deed { path: path.to_owned(), touch: Touch::Changed }, said.id, seq, true, event);
        }
        for path in applied.failed {
            let error = said.text.lines().find(|l| l.contains(path) && l.contains("failed")).unwrap_or("");
            let error = error.trim_start_matches(['#', ' ']);
            self.miss(path, error, said.id);
            event.failed = true;
        }
        // The newest report lists all files that cannot be written, so the earlier one is dropped.
        if !applied.refused.is_empty() {
            self.refused.clear();
            event.failed = true;
        }
        for (path, told) in applied.refused.into_iter().take(MOST) {
            self.refused.push((path.to_owned(), Item::new(line(&told), said.id)));
        }
        if !applied.commits.is_empty() {
            self.refused.retain(|(path, _)| path != blocks::COMMIT);
        }
        for (hash, subject) in applied.commits {
            let commit = format!("[{hash}] {}", plain(subject));
            self.git.took(&commit, said.id);
            event.committed.push(commit);
        }
    }

    /// Takes proposed edits as done, in a history that does not report what the program applied.
    fn take_proposed(&mut self, seq: usize, event: &mut Event) {
        for (path, turn) in std::mem::take(&mut self.proposed) {
            if !self.reports && !self.answered {
                self.deed(&files::Deed { path: path.to_owned(), touch: Touch::Changed }, turn, seq, true, event);
            }
        }
    }

    /// Notes that the output of a background process was read, by the process's id or from its file.
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

    /// Reads a call of a tool that is not a shell.
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
            // If a patch has several files, the error belongs to the one it names.
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
        event.acted |= !files::looks(tool);
        if let [deed] = &deeds[..]
            && let Some(path) = self.files.shortened(&deed.path).filter(|p| !files::is_apart(p))
        {
            if deed.touch == Touch::Read {
                self.lists.read(&path, output, call.result);
                if lists::is_document(&path) {
                    self.showed(&path, output, call.result);
                }
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

    /// Reads the commands of a shell call, with the output they share.
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
            // In a failed script, all but the last command may have run.
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
        if committed || !call.failed {
            // A script edits files in ways nobody can read; what is committed by name was changed.
            for path in git::committed_by_name(&simples) {
                self.files.add(&files::Deed { path, touch: Touch::Changed }, call.call, seq);
            }
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
            event.acted |= simples.iter().any(|simple| kinds::check(simple).is_some());
            for simple in &simples {
                self.listed(simple, call);
                let closed = self.tickets.ran(simple, &parts, call.result);
                event.closed = closed.or(event.closed.take());
                // Acceptance criteria of a ticket are checkboxes, so they are read as such.
                if let Some(id) = tickets::Tickets::shown(simple) {
                    self.lists.told(id, call.output, call.result);
                    self.showed(id, call.output, call.result);
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
        if deed.touch != Touch::Read {
            let path = deed.path.as_str();
            let is_it =
                |known: &str| known.strip_suffix(path).is_some_and(|r| r.is_empty() || r.ends_with(['/', '\\']));
            self.refused.retain(|(known, _)| !is_it(known));
        }
        if let Some(at) = self.missed.iter().position(|m| m.path == path) {
            let Missed { error, turn: failed, path } = self.missed.remove(at);
            self.checks.mend(path.clone(), error, vec![failed], turn, vec![path]);
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
            // Claude Code puts tags around the errors of its own tools.
            let error = error.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
            self.missed.insert(0, Missed { path, error: line(error), turn });
        }
    }

    /// Reads a list file of the project that a command printed, as `cat PLAN.md` does, or wrote lines to, as
    /// `echo '- [ ] x' >> PLAN.md` does.
    fn listed(&mut self, simple: &shell::Simple, call: &Call) {
        let document = |a: &&shell::Arg| a.certain && lists::is_document(&a.text);
        let path = |files: &files::Files, a: &shell::Arg| files.shortened(&a.text).filter(|p| !files::is_apart(p));
        for target in simple.outputs.iter().filter(document) {
            let Some(path) = path(&self.files, target) else { continue };
            let words: Vec<&str> =
                simple.args.iter().skip(1).map(|a| a.text.as_str()).chain([simple.here.as_str()]).collect();
            self.lists.read(&path, &words.join("\n"), call.call);
        }
        for printed in simple.operands().filter(document) {
            if let Some(path) = path(&self.files, printed) {
                self.lists.read(&path, call.output, call.result);
            }
        }
    }

    /// Notes a ticket or a document that was printed.
    fn showed(&mut self, name: &str, text: &str, turn: TurnId) {
        self.texts.retain(|t| t.name != name);
        if self.texts.len() == MOST_TEXTS {
            self.texts.remove(0);
        }
        let text = text[..text.floor_char_boundary(LARGEST_TEXT)].to_owned();
        self.texts.push(TaskText { name: name.to_owned(), text, turn });
    }

    fn start(&mut self, id: String, script: &str, call: &Call) {
        self.checks.started(&shell::parse(script));
        let shown = cut(&checks::shown(script), 140);
        if let Some(item) = item(&format!("{RUNS}{shown}` ({id})"), &[call.call]).filter(|_| call.main) {
            self.running.truncate(MOST - 1);
            self.running.insert(0, Running { id, script: Cow::Owned(script.to_owned()), item });
        }
    }

    /// Reads a notice of the program that a background process ended.
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
        // A process stopped by a signal did not fail.
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

    /// Returns the state at the end of the range.
    pub fn finish(mut self) -> Work {
        // If no call in a history has a result, the calls count as done. If there are only one or two, they may still
        // be waiting.
        if !self.answered && self.waiting.len() > 2 {
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
            failing: self.checks.failing().into_iter().chain(self.refused.into_iter().map(|(_, item)| item)).collect(),
            not_rerun,
            commands: self.checks.commands(),
            mended: self.checks.into_mended(&short),
            tasks,
            running,
            summary: self.summary,
            plan,
            tickets: self.tickets.into_list(),
            checkboxes,
            texts: self.texts,
            placeholders,
        }
    }
}
