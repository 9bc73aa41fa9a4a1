//! Tracks an edit from edited to committed to pushed, as git's commands and their output show it.

use super::item;
use super::shell::Simple;
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::plain::{cut, plain};

/// Maximum number of paths and commits remembered.
const MOST: usize = 400;

#[derive(Debug, Default)]
pub struct Git {
    /// Whether this session uses git: it asks for the state of the work, or commits.
    used: bool,
    /// Files edited since the last commit that contains them, each with the turn of its last edit.
    edited: Vec<(String, TurnId)>,
    /// Number of edited files that an earlier range counted but did not name.
    unnamed: usize,
    staged: Vec<String>,
    all_staged: bool,
    commits: Vec<Item>,
    /// Number of the commits that are pushed.
    pushed: usize,
    last_push: Option<Item>,
    /// Whether the session pushes, or git said how far the branch is ahead.
    pushes: bool,
}

const SINCE: &str = " edited since the last commit: ";
const UNPUSHED: &str = "Committed and not pushed: ";

impl Git {
    /// Takes over an item that an earlier range left open. Returns whether it was such an item.
    pub fn carry(&mut self, carried: &Item) -> bool {
        let last = carried.turns.last().copied().unwrap_or(TurnId(0));
        if let Some((count, files)) = carried.text.split_once(SINCE) {
            let Some(count) = count.split(' ').next().and_then(|n| n.parse::<usize>().ok()) else { return false };
            let names = files.split(", ").filter(|f| !f.is_empty() && !f.ends_with(" more"));
            self.edited.extend(names.map(|f| (f.to_owned(), last)));
            self.unnamed = count.saturating_sub(self.edited.len()).min(10_000);
            self.used = true;
            return true;
        }
        let Some(commits) = carried.text.strip_prefix(UNPUSHED) else { return false };
        self.commits.extend(commits.split("; ").filter_map(|c| item(c, &carried.turns)));
        (self.used, self.pushes) = (true, true);
        true
    }

    pub fn edited(&mut self, path: &str, turn: TurnId) {
        self.edited.retain(|(p, _)| p != path);
        if self.edited.len() == MOST {
            self.edited.remove(0);
            self.unnamed += 1;
        }
        self.edited.push((path.to_owned(), turn));
    }

    /// Forgets edited files that were temporary and are deleted, or that a commit contains.
    pub fn gone(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.edited.retain(|(p, _)| !is_gone(p));
    }

    /// Reads the git commands of a script; if it failed, only that it asked for the state. `shortened` returns the path
    /// under which a file is known. Returns the commits the script made.
    pub fn ran(
        &mut self,
        simples: &[Simple],
        parts: &[&str],
        (turn, failed): (TurnId, bool),
        shortened: impl Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let mut made = Vec::new();
        if parts.iter().any(|p| p.contains("not a git repository")) {
            return made;
        }
        for simple in simples.iter().filter(|s| s.program() == "git") {
            let words = words(simple);
            let Some(&sub) = words.first() else { continue };
            let option = |letter: char, long: &str| {
                simple.args.iter().skip(1).any(|a| {
                    a.text == long
                        || a.text.strip_prefix('-').is_some_and(|o| !o.starts_with('-') && o.contains(letter))
                })
            };
            self.used |= matches!(sub, "status" | "diff" | "add" | "commit" | "push" | "stash" | "restore");
            if failed {
                continue;
            }
            match sub {
                "add" | "stage" => {
                    let paths = &words[1..];
                    self.all_staged |= option('A', "--all")
                        || option('u', "--update")
                        || paths.iter().any(|p| matches!(*p, "." | ":/" | "*" | "./"));
                    self.staged.extend(paths.iter().take(MOST).filter_map(|p| shortened(p.trim_end_matches('/'))));
                }
                "commit" if !simple.has("--dry-run") => {
                    let told = commits(parts, simples);
                    let nothing =
                        parts.iter().any(|p| p.contains("nothing to commit") || p.contains("no changes added"));
                    if nothing && told.is_empty() {
                        continue;
                    }
                    self.committed(option('a', "--all"));
                    for commit in told {
                        self.commits.extend(item(&commit, &[turn]));
                        if !made.contains(&commit) {
                            made.push(commit);
                        }
                    }
                    self.commits.dedup_by(|a, b| a.text == b.text);
                }
                "push" if !simple.has("--dry-run") => self.pushed(parts, turn),
                "status" => self.status(parts, &shortened),
                "checkout" | "restore" if sub == "restore" || simple.has("--") => {
                    let paths: Vec<String> = words[1..].iter().filter_map(|p| shortened(p)).collect();
                    if !simple.has("--staged") {
                        self.edited.retain(|(p, _)| !covered(p, &paths));
                    }
                }
                "reset" if simple.has("--hard") => self.clear(),
                "stash" if matches!(words.get(1).copied(), None | Some("push" | "save")) => self.clear(),
                _ => {}
            }
        }
        made
    }

    /// Notes a commit made by another program: all edits count as committed.
    pub fn took(&mut self, commit: &str, turn: TurnId) {
        self.used = true;
        self.clear();
        self.commits.extend(item(commit, &[turn]));
    }

    fn clear(&mut self) {
        self.edited.clear();
        self.unnamed = 0;
        self.staged.clear();
        self.all_staged = false;
    }

    fn committed(&mut self, all: bool) {
        // Without an earlier `git add` the staged files are unknown; since an empty commit fails, all edits count as
        // committed.
        if all || self.all_staged || self.staged.is_empty() {
            self.clear();
        } else {
            let staged = std::mem::take(&mut self.staged);
            self.edited.retain(|(p, _)| !covered(p, &staged));
            self.unnamed = 0;
        }
        if self.commits.len() > MOST {
            self.commits.remove(0);
            self.pushed = self.pushed.saturating_sub(1);
        }
    }

    fn pushed(&mut self, parts: &[&str], turn: TurnId) {
        let refused = |l: &str| l.contains("[rejected]") || l.starts_with("error: ") || l.starts_with("fatal: ");
        if parts.iter().flat_map(|p| p.lines()).any(|l| refused(l.trim_start())) {
            return;
        }
        self.pushes = true;
        self.pushed = self.commits.len();
        let line = parts.iter().flat_map(|p| p.lines()).find(|l| l.contains(" -> ")).map_or("pushed", str::trim);
        self.last_push = item(line, &[turn]);
    }

    /// Reads `git status`: the files it lists are changed; edits it does not list are committed or gone.
    fn status(&mut self, parts: &[&str], shortened: &impl Fn(&str) -> Option<String>) {
        let text = parts.concat();
        if text.contains("working tree clean") || text.contains("nothing to commit") {
            self.clear();
        }
        if text.contains("Your branch is ahead of") || text.contains("[ahead ") {
            self.pushes = true;
        } else if text.contains("Your branch is up to date with") {
            self.pushed = self.commits.len();
        }
        let short = |l: &str| {
            let (state, path) = l.split_at_checked(3)?;
            let fits = state.ends_with(' ')
                && state.trim().chars().all(|c| "MADRCU?!".contains(c))
                && !state.trim().is_empty();
            fits.then(|| path.rsplit(" -> ").next().unwrap_or(path).trim().to_owned())
        };
        let long = |l: &str| {
            let l = l.trim_start();
            let kinds = ["modified:", "new file:", "deleted:", "renamed:"];
            kinds.iter().find_map(|k| l.strip_prefix(k)).map(|p| p.rsplit(" -> ").next().unwrap_or(p).trim().to_owned())
        };
        let whole = parts.len() == 1;
        let told: Vec<String> = text.lines().filter_map(|l| long(l).or_else(|| short(l))).collect();
        let listed: Vec<String> = told.iter().filter_map(|p| shortened(p.trim_end_matches('/'))).collect();
        let long_form = text.contains("Untracked files:");
        if whole && !listed.is_empty() && !long_form {
            let ends = |p: &str, l: &str| p.ends_with(l) || l.ends_with(p);
            self.edited.retain(|(p, _)| covered(p, &listed) || listed.iter().any(|l| ends(p, l)));
            self.unnamed = 0;
        }
    }

    /// Returns the edits that no commit contains, if this session uses git at all.
    pub fn uncommitted(&self, short: &dyn Fn(&str) -> String) -> Option<Item> {
        let secret = |p: &str| {
            p.rsplit('/').next().is_some_and(|n| n == ".env" || n.starts_with(".env.") && n.ends_with("local"))
        };
        let ours = |p: &str| !secret(p) && !short(p).starts_with(['/', '~']);
        let files: Vec<&(String, TurnId)> = self.edited.iter().filter(|(p, _)| ours(p)).collect();
        let count = files.len() + self.unnamed;
        if !self.used || count == 0 {
            return None;
        }
        const NAMED: usize = 6;
        let mut names: Vec<String> = files.iter().rev().take(NAMED).rev().map(|(p, _)| short(p)).collect();
        if count > names.len() {
            names.push(format!("{} more", count - names.len()));
        }
        let mut turns: Vec<TurnId> = files.iter().rev().take(4).map(|(_, t)| *t).collect();
        turns.sort();
        turns.dedup();
        let noun = if count == 1 { "file" } else { "files" };
        item(&format!("{count} {noun}{SINCE}{}", names.join(", ")), &turns)
    }

    /// Returns the commits made and not pushed, if this session pushes.
    pub fn unpushed(&self) -> Option<Item> {
        let waiting = self.commits.get(self.pushed..).filter(|w| self.pushes && !w.is_empty())?;
        let texts: Vec<String> = waiting.iter().rev().take(4).rev().map(|c| cut(&c.text, 90)).collect();
        let mut turns: Vec<TurnId> = waiting.iter().flat_map(|c| c.turns.clone()).collect();
        turns.sort();
        turns.dedup();
        turns.drain(..turns.len().saturating_sub(4));
        item(&format!("{UNPUSHED}{}", texts.join("; ")), &turns)
    }

    /// Returns the commits of this range, and its last push.
    pub fn into_parts(self) -> (Vec<Item>, Option<Item>) {
        (self.commits, self.last_push)
    }
}

/// Whether a carried item was written by [`Git`].
pub fn is_told(text: &str) -> bool {
    text.starts_with(UNPUSHED) || text.contains(SINCE) && text.starts_with(|c: char| c.is_ascii_digit())
}

fn covered(path: &str, by: &[String]) -> bool {
    by.iter().any(|b| {
        path == b
            || path.strip_prefix(b.as_str()).is_some_and(|r| r.starts_with('/'))
            // The command ran in a folder below, so its path is shorter.
            || path.strip_suffix(b.as_str()).is_some_and(|r| r.ends_with('/'))
    })
}

/// Returns the subcommand and its operands, without the options of git itself: `git -C folder -c key=value commit`.
fn words(simple: &Simple) -> Vec<&str> {
    let mut args = simple.args.iter().skip(1).map(|a| a.text.as_str());
    let mut found = Vec::new();
    while let Some(arg) = args.next() {
        if found.is_empty() && matches!(arg, "-C" | "-c" | "--git-dir" | "--work-tree") {
            args.next();
        } else if !arg.starts_with('-') {
            found.push(arg);
        }
    }
    found
}

/// Returns the files that a script stages by their names and commits. Folders are left out, because what changed in them
/// is unknown.
pub fn committed_by_name(simples: &[Simple]) -> Vec<String> {
    let (mut staged, mut committed) = (Vec::new(), Vec::new());
    for simple in simples.iter().filter(|s| s.program() == "git") {
        match words(simple)[..] {
            ["add" | "stage", ref paths @ ..] => {
                let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
                let is_file = |path: &&&str| name(path).trim_start_matches('.').contains('.') && !path.contains('*');
                staged.extend(paths.iter().filter(is_file).take(MOST).map(|path| (*path).to_owned()));
            }
            ["commit", ..] if !simple.has("--dry-run") => committed.append(&mut staged),
            _ => {}
        }
    }
    committed
}

/// Returns the commits a command made: as git reports them, else from its `-m` option.
pub fn commits(parts: &[&str], simples: &[Simple]) -> Vec<String> {
    let mut found = Vec::new();
    for line in parts.iter().flat_map(|p| p.lines()) {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[')
            && let Some((inside, subject)) = head.split_once("] ")
            && !subject.is_empty()
        {
            let hash = inside.trim_end_matches(" (root-commit)").rsplit(' ').next().unwrap_or("");
            if (7..=40).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit()) && inside.contains(' ') {
                found.push(plain(line));
            }
        }
    }
    if !found.is_empty() {
        return found;
    }
    let message = simples.iter().find(|s| s.program() == "git" && words(s).first() == Some(&"commit")).and_then(|s| {
        let takes = |a: &str| a == "--message" || a.starts_with('-') && !a.starts_with("--") && a.ends_with('m');
        let at = s.args.iter().position(|a| takes(&a.text))?;
        let text = s.args.get(at + 1)?.text.as_str();
        // In `-m "$(cat <<'EOF' …)"`, the subject is the line after the marker.
        let line = text.lines().find(|l| !l.trim().is_empty() && !l.contains("<<"))?;
        Some(line.trim().to_owned())
    });
    message.into_iter().collect()
}
