//! Tracks commands whose outcome shows the state of the work. A failure is open until the same or a wider check passes;
//! then it counts as fixed. Each failure is kept once, however the command was spelled.

use super::files::is_apart;
use super::kinds::{Check, Kind, check};
use super::shell::{self, Simple};
use super::{Mended, item};
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::plain::{cut, plain};

/// Maximum number of failures, and of kinds of check, that are remembered.
const MOST: usize = 64;
const MOST_MENDED: usize = 20;
/// Bytes kept of a failed output, to find the files and names in it.
const KEPT: usize = 4 * 1024;

/// A check that fails.
#[derive(Debug)]
struct Failure {
    /// The checks that have not passed since the failure.
    open: Vec<Check>,
    text: String,
    error: String,
    output: String,
    turns: Vec<TurnId>,
    /// Number of edits before the failure.
    edits: usize,
}

/// A check that this session runs.
#[derive(Debug)]
struct Known {
    check: Check,
    turn: TurnId,
    /// Number of edits before the check last ran.
    edits: usize,
    count: usize,
    passed: bool,
}

#[derive(Debug, Default)]
pub struct Checks {
    failures: Vec<Failure>,
    known: Vec<Known>,
    mended: Vec<Mended>,
    /// Edited files that a check can cover, in the order of the edits.
    edited: Vec<(String, TurnId)>,
}

/// A run of a command.
pub struct Run<'t> {
    pub simples: &'t [Simple],
    pub output: &'t [&'t str],
    /// Whether the program reported a failure. A later part of a command line may hide the exit code of an earlier one.
    pub failed: bool,
    pub call: TurnId,
    pub result: TurnId,
}

const FAILS: &str = "` fails";
const STALE: &str = "Not run since ";

impl Checks {
    /// Takes over an item that an earlier range left open. Returns whether it was such an item.
    pub fn carry(&mut self, carried: &Item) -> bool {
        let text = carried.text.as_str();
        let of = |command: &str| shell::parse(command).iter().filter_map(check).collect::<Vec<Check>>();
        if let Some((command, error)) = text.strip_prefix('`').and_then(|t| t.split_once(FAILS)) {
            let error = error.strip_prefix(": ").unwrap_or("");
            let open = of(command.trim_end_matches('…'));
            if open.is_empty() {
                return false;
            }
            self.failures.push(Failure {
                open,
                text: command.to_owned(),
                error: error.to_owned(),
                output: error.to_owned(),
                turns: carried.turns.clone(),
                edits: 0,
            });
            return true;
        }
        let Some((files, commands)) = text.strip_prefix(STALE).and_then(|t| t.split_once(" edited: ")) else {
            return false;
        };
        let turn = carried.turns.first().copied().unwrap_or(TurnId(0));
        let commands: Vec<&str> = commands.split('`').skip(1).step_by(2).collect();
        // The commands are listed newest first.
        for command in commands.into_iter().rev() {
            self.known.extend(of(command).into_iter().take(1).map(|check| Known {
                check,
                turn,
                edits: 0,
                count: 1,
                passed: true,
            }));
        }
        let last = carried.turns.last().copied().unwrap_or(turn);
        let files = files.trim_end_matches(" were").trim_end_matches(" was");
        self.edited.extend(files.split(", ").map(|f| (f.to_owned(), last)));
        true
    }

    /// Notes that a file was edited.
    pub fn edited(&mut self, path: &str, turn: TurnId) {
        const PROSE: [&str; 16] = [
            "md",
            "mdx",
            "txt",
            "rst",
            "adoc",
            "png",
            "jpg",
            "jpeg",
            "svg",
            "gif",
            "pdf",
            "log",
            "csv",
            "jsonl",
            "lock",
            "gitignore",
        ];
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.rsplit_once('.').is_some_and(|(_, end)| PROSE.contains(&end)) {
            self.edited.push((path.to_owned(), turn));
        }
    }

    /// Forgets edits of temporary files that have been deleted.
    pub fn gone(&mut self, is_gone: impl Fn(&str) -> bool) {
        let newest = self.edited.iter_mut().rev().take(1000);
        newest.filter(|(p, _)| !p.is_empty() && is_gone(p)).for_each(|(p, _)| p.clear());
    }

    /// Notes that a command was started anew: its last failure no longer counts.
    pub fn started(&mut self, simples: &[Simple]) {
        let checks: Vec<Check> = simples.iter().filter_map(check).filter(|c| c.kind != Kind::Minor).collect();
        self.failures.retain(|f| !f.open.iter().all(|o| checks.iter().any(|c| c.covers(o))));
    }

    /// Notes that a command ran to its end. If the command is a check, returns it and whether it passed.
    pub fn ran(&mut self, run: &Run) -> Option<(String, bool)> {
        let checks: Vec<Check> = run.simples.iter().filter_map(check).collect();
        let last = checks.iter().rfind(|c| c.kind.is_check()).or_else(|| checks.last())?.clone();
        let is_check = last.kind.is_check();
        let failed = run.failed
            || is_check && says_failed(run.output)
            || is_script(&checks) && ends_in_trace(run.output)
            || installs(&last) && refuses(run.output);
        let now = self.edited.len();
        // A script in a folder for temporary files is no check of the project: it is gone tomorrow.
        let lasts = |c: &&Check| !c.text.split_whitespace().any(is_apart);
        for check in checks.iter().filter(|c| c.kind.is_check() && c.kind != Kind::Format).filter(lasts) {
            let known = self.known.iter().position(|k| k.check.covers(check) && check.covers(&k.check));
            match known {
                Some(at) => {
                    let known = &mut self.known[at];
                    known.turn = run.call;
                    known.edits = now;
                    known.count += 1;
                    known.passed |= !failed;
                    if check.text.len() < known.check.text.len() {
                        known.check.text.clone_from(&check.text);
                    }
                }
                None if self.known.len() < MOST => {
                    let check = check.clone();
                    self.known.push(Known { check, turn: run.call, edits: now, count: 1, passed: !failed });
                }
                None => {}
            }
        }
        if failed {
            self.failed(run, checks);
        } else {
            self.passed(run, &checks);
        }
        Some((last.text, !failed))
    }

    fn failed(&mut self, run: &Run, checks: Vec<Check>) {
        let blamed = blamed(checks, run.output);
        let Some(last) = blamed.last() else { return };
        let error = error_line(run.output);
        let output: String = run.output.concat();
        let output = output[output.ceil_char_boundary(output.len().saturating_sub(KEPT))..].to_owned();
        // Earlier failures of the same check are merged with this one.
        let before: Vec<usize> = (0..self.failures.len())
            .filter(|i| blamed.iter().any(|c| self.failures[*i].open.iter().any(|o| c.covers(o) || o.covers(c))))
            .collect();
        let mut failure = Failure {
            text: last.text.clone(),
            open: blamed,
            error,
            output,
            turns: vec![run.call, run.result],
            edits: self.edited.len(),
        };
        for at in before.into_iter().rev() {
            let old = self.failures.remove(at);
            failure.turns.insert(0, old.turns[0]);
            // The check fails for another reason now, so the first error is fixed.
            if !old.error.is_empty() && !same_error(&old.error, &failure.error) {
                let between = self.between(old.edits);
                self.mend(old.text.clone(), old.error, old.turns, run.result, between);
            } else {
                failure.edits = old.edits;
            }
            // A narrow run does not show that the wider check passes, so that one stays open.
            for open in old.open {
                if !failure.open.iter().any(|c| c.covers(&open)) {
                    failure.open.push(open);
                }
            }
        }
        failure.turns.sort();
        failure.turns.dedup();
        if self.failures.len() == MOST {
            let minor = self.failures.iter().position(|f| f.open.iter().all(|c| c.kind == Kind::Minor)).unwrap_or(0);
            self.failures.remove(minor);
        }
        self.failures.push(failure);
    }

    fn passed(&mut self, run: &Run, checks: &[Check]) {
        let mut settled = Vec::new();
        for (at, failure) in self.failures.iter_mut().enumerate() {
            let named =
                |c: &Check| !c.targets.is_empty() && c.targets.iter().all(|t| failure.output.contains(t.as_str()));
            failure.open.retain(|open| {
                !checks.iter().any(|c| c.covers(open) || c.kind == open.kind && c.family == open.family && named(c))
            });
            if failure.open.is_empty() {
                settled.push(at);
            }
        }
        for at in settled.into_iter().rev() {
            let failure = self.failures.remove(at);
            let between = self.between(failure.edits);
            self.mend(failure.text, failure.error, failure.turns, run.result, between);
        }
    }

    /// Returns the files edited after this many edits.
    fn between(&self, edits: usize) -> Vec<String> {
        let mut between: Vec<String> = Vec::new();
        for (path, _) in self.edited.get(edits..).unwrap_or_default().iter().rev().take(200) {
            if !between.contains(path) && between.len() < 8 && !path.is_empty() {
                between.insert(0, path.clone());
            }
        }
        between
    }

    /// Notes that something failed and later passed.
    pub fn mend(&mut self, what: String, error: String, turns: Vec<TurnId>, passed: TurnId, files: Vec<String>) {
        let Some(failed) = turns.last().copied() else { return };
        if self.mended.len() == MOST_MENDED {
            self.mended.remove(0);
        }
        self.mended.push(Mended { what, error, failed, passed, files });
    }

    /// Returns the checks that fail, with their errors.
    pub fn failing(&self) -> Vec<Item> {
        let open = self.failures.iter().filter(|f| f.open.iter().any(|c| c.kind != Kind::Minor));
        let mut open: Vec<Item> = open
            .filter_map(|f| {
                let error = if f.error.is_empty() { String::new() } else { format!(": {}", cut(&f.error, 220)) };
                item(&format!("`{}{FAILS}{error}", cut(&f.text, 120)), &f.turns)
            })
            .collect();
        open.drain(..open.len().saturating_sub(4));
        open
    }

    /// Returns the checks that did not run after the last edits.
    pub fn not_rerun(&self, short: &dyn Fn(&str) -> String) -> Option<Item> {
        let newest = self.edited.iter().rposition(|(p, _)| !p.is_empty())?;
        let since = |k: &Known| k.edits <= newest;
        let mut known: Vec<&Known> = self.known.iter().filter(|k| k.passed && since(k)).collect();
        // A check is left out if a wider one ran since, or if it is listed as failing.
        known.retain(|k| !self.known.iter().any(|o| !since(o) && o.check.covers(&k.check)));
        known.retain(|k| !self.failures.iter().any(|f| f.open.iter().any(|c| c.covers(&k.check))));
        let all = known.clone();
        known.retain(|k| !all.iter().any(|o| !std::ptr::eq(*o, *k) && o.check.covers(&k.check) && o.turn > k.turn));
        let from = known.iter().map(|k| k.edits).max()?;
        known.retain(|k| k.count > 1 || k.edits == from);
        let commands: Vec<String> =
            known.iter().rev().take(3).map(|k| format!("`{}`", cut(&k.check.text, 80))).collect();
        let (mut files, mut turns): (Vec<String>, Vec<TurnId>) = (Vec::new(), Vec::new());
        for (path, turn) in self.edited[from..].iter().filter(|(p, _)| !p.is_empty()) {
            let path = short(path);
            if !files.contains(&path) && files.len() < 4 {
                files.push(path);
            }
            if turns.last() != Some(turn) {
                turns.push(*turn);
            }
        }
        turns.drain(..turns.len().saturating_sub(4));
        let verb = if files.len() == 1 { "was" } else { "were" };
        item(&format!("{STALE}{} {verb} edited: {}", files.join(", "), commands.join(", ")), &turns)
    }

    /// Returns the commands that succeeded, most used first.
    pub fn commands(&self) -> Vec<Item> {
        let mut worked: Vec<&Known> = self.known.iter().filter(|k| k.passed).collect();
        worked.sort_by_key(|k| std::cmp::Reverse((k.count.min(5), k.turn)));
        worked.truncate(5);
        worked.sort_by_key(|k| k.turn);
        worked.iter().filter_map(|k| item(&cut(&k.check.text, 160), &[k.turn])).collect()
    }

    pub fn into_mended(self, short: &dyn Fn(&str) -> String) -> Vec<Mended> {
        let shortened =
            |m: Mended| Mended { files: m.files.iter().map(|f| short(f)).collect(), what: short(&m.what), ..m };
        self.mended.into_iter().map(shortened).collect()
    }
}

/// Whether a carried item was written by [`Checks`].
pub fn is_told(text: &str) -> bool {
    text.starts_with('`') && text.contains(FAILS) || text.starts_with(STALE) && text.contains(" edited: `")
}

/// Whether two error lines report the same error, perhaps at another line of the file.
fn same_error(a: &str, b: &str) -> bool {
    let words = |t: &str| {
        t.split(|c: char| !c.is_alphabetic()).filter(|w| w.len() > 2).take(12).map(str::to_owned).collect::<Vec<_>>()
    };
    words(a) == words(b)
}

/// Returns the checks of a failed chain of commands that failed, as far as the output shows it.
fn blamed(mut checks: Vec<Check>, output: &[&str]) -> Vec<Check> {
    let real = checks.iter().any(|c| c.kind.is_check());
    let run = checks.iter().any(|c| c.kind == Kind::Run);
    checks.retain(|c| c.kind.is_check() == real && (real || !run || c.kind == Kind::Run));
    let low = output.concat().to_ascii_lowercase();
    let kinds: &[Kind] = if low.contains("test result: failed") || low.contains("failures:") || counted_failures(&low) {
        &[Kind::Test, Kind::All]
    } else if low.contains("could not compile") || low.contains("error ts") || low.contains("error[e") {
        &[Kind::Types, Kind::Build, Kind::Lint, Kind::Test, Kind::All]
    } else if low.contains("diff in ") || low.contains("would reformat") || low.contains("code style issues") {
        &[Kind::Format, Kind::All]
    } else {
        return checks;
    };
    let tests = kinds[0] == Kind::Test;
    let some = checks.iter().any(|c| kinds.contains(&c.kind));
    checks.retain(|c| !some || kinds.contains(&c.kind));
    // If several checks cannot compile, the first of them stopped the chain.
    if kinds.len() > 2 {
        checks.truncate(1);
    }
    for check in checks.iter_mut().filter(|c| tests && c.kind == Kind::All) {
        check.kind = Kind::Test;
    }
    checks
}

fn is_script(checks: &[Check]) -> bool {
    checks.last().is_some_and(|c| c.kind == Kind::Run && c.family.starts_with("python"))
}

/// Whether a command installs packages.
fn installs(check: &Check) -> bool {
    const INSTALLERS: [&str; 7] = ["pip", "pip3", "uv", "poetry", "pdm", "conda", "gem"];
    check.kind == Kind::Run && check.family.split(' ').next().is_some_and(|program| INSTALLERS.contains(&program))
}

/// Whether a line of an output begins with "error:". Imported histories have no exit codes.
fn refuses(parts: &[&str]) -> bool {
    let lines = parts.iter().flat_map(|p| p.lines());
    lines.map(|l| l.trim_start_matches(|c: char| !c.is_ascii_alphabetic())).any(|l| {
        let head = l[..l.floor_char_boundary(24)].to_ascii_lowercase();
        head.split_once(':').is_some_and(|(label, _)| matches!(label, "error" | "configuration error" | "fatal"))
    })
}

/// Whether an output ends with the trace of a Python program. Behind a pipe, its exit code does not show the failure.
fn ends_in_trace(parts: &[&str]) -> bool {
    let Some(end) = parts.last() else { return false };
    let last = end.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("");
    let name = last.split(':').next().unwrap_or("").rsplit('.').next().unwrap_or("");
    (name.ends_with("Error") || name.ends_with("Exception"))
        && parts.iter().any(|p| p.contains("Traceback (most recent"))
}

/// Returns the command on one line, without parts that only trim its output.
pub fn shown(script: &str) -> String {
    let first = script.lines().find(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#')).unwrap_or("");
    let first = first.split(" | tail").next().unwrap_or(first).split(" | head").next().unwrap_or(first);
    plain(first.split(" 2>&1").next().unwrap_or(first).trim())
}

/// Whether an output reports a failure: "3 failures", "test result: FAILED". Programs before a pipe fail without a
/// failing exit code.
pub(crate) fn says_failed(parts: &[&str]) -> bool {
    let Some(end) = parts.last() else { return false };
    let low = end[end.ceil_char_boundary(end.len().saturating_sub(2048))..].to_ascii_lowercase();
    ["test result: failed", "npm err!", "** (mix)", "error: could not compile", "error: test failed", "build failed"]
        .iter()
        .any(|mark| low.contains(mark))
        || low.contains(": error ts")
        || counted_failures(&low)
}

/// Whether a text counts failures: "3 failed", "failures: 2".
fn counted_failures(low: &str) -> bool {
    let words: Vec<&str> =
        low.split(|c: char| c.is_whitespace() || c == ',' || c == '=').filter(|w| !w.is_empty()).collect();
    words.windows(2).enumerate().any(|(at, w)| {
        let count = w[0].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let what = w[1].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        // "Found 3 errors (3 fixed, 0 remaining)." is no failure.
        let fixed = || words[at..].iter().take(6).any(|w| w.contains("fixed"));
        (matches!(what, "failed" | "failures" | "failing" | "failure")
            || matches!(what, "error" | "errors" | "problems") && !fixed())
            && !count.is_empty()
            && count.bytes().all(|b| b.is_ascii_digit())
            && count.bytes().any(|b| b != b'0')
    })
}

/// Returns the line of an output that describes the error.
pub fn error_line(parts: &[&str]) -> String {
    let lines = || {
        parts
            .iter()
            .flat_map(|p| p.lines())
            .map(str::trim)
            .filter(|l| l.len() >= 4 && !l.starts_with("Exit code") && !l.contains("exited with code"))
            // "Script error:" only introduces the error, so the next line is taken.
            .filter(|l| (!l.ends_with(':') || l.len() > 40) && *l != "Script failed")
    };
    let head = |l: &str| l[..l.floor_char_boundary(200)].to_ascii_lowercase();
    let strong = lines().find(|l| {
        let low = head(l);
        (low.starts_with("error")
            || low.starts_with("fatal")
            || low.starts_with("** (")
            || low.contains("error:")
            || low.contains(": error ")
            || low.contains("panicked at")
            || low.contains("exception:")
            || low.contains("command not found")
            || low.starts_with("e   ")
            || low.contains("npm err!"))
            && !low.contains("0 error")
    });
    let weak = || {
        lines().find(|l| {
            let low = head(l);
            ["fail", "error", "not found", "denied", "cannot", "refused", "rejected"].iter().any(|m| low.contains(m))
        })
    };
    let line = strong.or_else(weak).or_else(|| lines().next_back()).unwrap_or("");
    plain(line)
}
