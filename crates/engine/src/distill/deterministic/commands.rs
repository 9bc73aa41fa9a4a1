//! Commands that show the state of the work: tests, builds, deployments, commits. A command that failed and has not
//! succeeded since is a blocker; one that succeeded is worth keeping.

use super::files::{Deed, add_from_result, deeds};
use super::list::{JOIN, Noted};
use super::shell::{self, Simple};
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::plain::ends;
use crate::text::plain::{cut, plain};

/// Bytes of a result that are read, half from either end.
const MOST_READ: usize = 6 * 1024;
/// The most commands remembered.
const MOST: usize = 64;

/// A command whose outcome matters.
#[derive(Debug)]
struct Run {
    key: String,
    text: String,
    turn: TurnId,
    seq: usize,
    count: usize,
    /// The invocation and its error, if it failed the last time.
    failure: Option<Failure>,
    ever_passed: bool,
}

#[derive(Debug)]
struct Failure {
    command: String,
    error: String,
    call: TurnId,
    result: TurnId,
}

/// The relevant commands so far.
#[derive(Debug, Default)]
pub struct Commands {
    runs: Vec<Run>,
    commit: Option<(String, TurnId)>,
}

/// What a finished call showed.
#[derive(Default)]
pub struct Outcome {
    pub deeds: Vec<Deed>,
    /// Commits it made, as reported by git.
    pub commits: Vec<String>,
    /// The command itself, if it closed something that has a name.
    pub closed: Option<String>,
    /// Whether it ran tests that passed.
    pub passed_tests: bool,
}

impl Commands {
    /// A call and its result.
    pub fn finished(
        &mut self,
        tool: &str,
        input: &str,
        turn: TurnId,
        result: (&str, bool, TurnId),
        seq: usize,
    ) -> Outcome {
        let (output, flagged, result_turn) = result;
        let mut outcome = Outcome::default();
        // The user refused the call: nothing was done and nothing failed.
        let refused = flagged
            && (output.contains("doesn't want to proceed")
                || output.contains("rejected by the user")
                || output.contains("user rejected")
                || output.contains("was aborted by the user"));
        if refused {
            return outcome;
        }
        let Some(command) = shell::command_in(input).or_else(|| input.starts_with("[\"").then_some(input)) else {
            if !flagged {
                outcome.deeds = deeds(tool, input);
                add_from_result(tool, input, output, &mut outcome.deeds);
            }
            return outcome;
        };
        let script = shell::script(command);
        let simples = shell::parse(&script);
        let telling = simples.iter().filter_map(|s| Some((key(s)?, s))).next_back();
        let parts = ends(output, MOST_READ);
        let failed = flagged || telling.is_some() && says_failed(&parts);
        if !failed {
            outcome.deeds = deeds(tool, input);
            add_from_result(tool, input, output, &mut outcome.deeds);
            if script.contains("git") && script.contains("commit") {
                outcome.commits = commits(&parts, &simples);
                if let Some(last) = outcome.commits.last() {
                    self.commit = Some((last.clone(), result_turn));
                }
            }
            outcome.closed = simples.iter().find_map(closing);
        }
        if let Some((key, _)) = telling {
            outcome.passed_tests = !failed && tests(&key);
            // A command in the background has no outcome yet.
            let background = output.contains("running in background") || input.contains("run_in_background: true");
            if !background {
                self.note(key, &script, turn, failed.then(|| (error_line(&parts), result_turn)), seq);
            }
        }
        outcome
    }

    fn note(&mut self, key: String, script: &str, turn: TurnId, failure: Option<(String, TurnId)>, seq: usize) {
        let text = shown(script);
        if let Some(at) = self.runs.iter().position(|r| r.key == key) {
            let mut run = self.runs.remove(at);
            run.count += 1;
            if failure.is_none() {
                // Keep the shortest form that worked.
                if !run.ever_passed || text.len() <= run.text.len() {
                    run.text = text.clone();
                }
                run.ever_passed = true;
                run.turn = turn;
            } else if !run.ever_passed {
                (run.text, run.turn) = (text.clone(), turn);
            }
            run.failure = failure.map(|(error, result)| Failure { command: text, error, call: turn, result });
            run.seq = seq;
            self.runs.push(run);
            return;
        }
        if self.runs.len() == MOST {
            let oldest = self.runs.iter().position(|r| r.failure.is_none()).unwrap_or(0);
            self.runs.remove(oldest);
        }
        let ever_passed = failure.is_none();
        let failure = failure.map(|(error, result)| Failure { command: text.clone(), error, call: turn, result });
        self.runs.push(Run { key, text, turn, seq, count: 1, failure, ever_passed });
    }

    /// Commands whose last run failed, with their errors.
    pub fn failures(&self) -> Vec<Noted> {
        let open = self.runs.iter().filter_map(|r| {
            let Failure { command, error, call, result } = r.failure.as_ref()?;
            let text = if error.is_empty() {
                cut(command, 160)
            } else {
                format!("{}{JOIN}{}", cut(command, 140), cut(error, 220))
            };
            let mut noted = Noted::new(&text, *result, 4, r.seq)?;
            noted.also(&[*call]);
            Some(noted)
        });
        let mut open: Vec<Noted> = open.collect();
        let extra = open.len().saturating_sub(4);
        open.drain(..extra);
        open
    }

    /// The commands that worked, most used first, and the last commit.
    pub fn worth_knowing(&self) -> Vec<Item> {
        let mut worked: Vec<&Run> =
            self.runs.iter().filter(|r| r.ever_passed && r.failure.is_none() && lasting(&r.key)).collect();
        worked.sort_by_key(|r| std::cmp::Reverse((r.count.min(5), r.seq)));
        worked.truncate(5);
        worked.sort_by_key(|r| r.seq);
        let noted = worked.iter().filter_map(|r| Noted::new(&cut(&r.text, 160), r.turn, 2, r.seq));
        noted.map(|n| n.item).collect()
    }

    pub fn last_commit(&self) -> Option<&(String, TurnId)> {
        self.commit.as_ref()
    }
}

/// The command on one line, without parts that only trim its output.
fn shown(script: &str) -> String {
    let first = script.lines().find(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#')).unwrap_or("");
    let first = first.split(" | tail").next().unwrap_or(first).split(" | head").next().unwrap_or(first);
    plain(first.split(" 2>&1").next().unwrap_or(first).trim())
}

/// Identifies repeated runs of a command: its program and subcommand.
fn key(simple: &Simple) -> Option<String> {
    let program = simple.program();
    let mut operands = simple.operands().filter(|a| a.certain).map(|a| a.text.as_str());
    let sub = match program {
        "npm" | "pnpm" | "yarn" | "bun" | "uv" | "poetry" | "pipenv" | "npx" | "bunx" | "bundle" | "hatch" | "rye"
        | "pdm" | "deno" => {
            let first = operands.next()?;
            if matches!(first, "run" | "exec" | "run-script" | "task") {
                format!("{first} {}", operands.next()?)
            } else {
                first.to_owned()
            }
        }
        "cargo" | "mix" | "go" | "make" | "just" | "gradle" | "gradlew" | "mvn" | "mvnw" | "dotnet" | "rails"
        | "rake" | "composer" | "docker" | "docker-compose" | "podman" | "kubectl" | "helm" | "terraform" | "bazel"
        | "swift" | "flutter" | "dart" | "zig" | "stack" | "cabal" | "sbt" | "lein" | "nix" | "tox" | "nox"
        | "pre-commit" | "alembic" | "prisma" | "fly" | "flyctl" | "vercel" | "heroku" | "ansible-playbook"
        | "artisan" | "task" | "invoke" | "meson" | "ninja" | "scons" => {
            let first = operands.next().unwrap_or("");
            // `docker compose run api npm test` differs from `docker compose up`.
            let deep = matches!(first, "compose" | "run" | "exec" | "stack" | "buildx") || program == "docker-compose";
            if deep {
                [first].into_iter().chain(operands.take(4)).collect::<Vec<_>>().join(" ")
            } else {
                first.to_owned()
            }
        }
        "pytest" | "jest" | "vitest" | "tsc" | "eslint" | "ruff" | "mypy" | "flake8" | "black" | "prettier"
        | "phpunit" | "rspec" | "ctest" | "cmake" | "playwright" | "cypress" | "mocha" | "ava" | "tap" | "clippy"
        | "rustfmt" | "gofmt" | "golangci-lint" | "shellcheck" | "xcodebuild" | "pyright" | "pylint" | "biome"
        | "oxlint" | "rubocop" | "credo" | "luacheck" | "busted" | "webpack" | "vite" | "rollup" | "esbuild"
        | "turbo" | "nx" | "lerna" | "ng" => String::new(),
        "python" | "python3" | "node" | "ruby" | "perl" | "php" | "bash" | "sh" => {
            if simple.has("-c") || simple.has("-e") {
                return None;
            }
            operands.next()?.to_owned()
        }
        "git" => operands
            .next()
            .filter(|s| matches!(*s, "push" | "merge" | "rebase" | "cherry-pick" | "commit" | "pull"))?
            .to_owned(),
        "pip" | "pip3" | "apt" | "apt-get" | "brew" | "gem" => {
            operands.next().filter(|s| matches!(*s, "install"))?.to_owned()
        }
        _ if simple.args.first().is_some_and(|a| a.text.starts_with("./") || a.text.ends_with(".sh")) => String::new(),
        _ => return None,
    };
    Some(format!("{program} {sub}").trim_end().to_owned())
}

fn has_word(key: &str, words: &[&str]) -> bool {
    key.split([' ', ':', '-', '.', '/', '_']).any(|w| words.contains(&w))
}

fn tests(key: &str) -> bool {
    has_word(
        key,
        &[
            "test",
            "tests",
            "pytest",
            "jest",
            "vitest",
            "nextest",
            "ctest",
            "rspec",
            "phpunit",
            "playwright",
            "cypress",
            "mocha",
            "check",
            "ci",
            "verify",
        ],
    )
}

/// Whether a command is likely to be needed again, unlike a one-time installation.
fn lasting(key: &str) -> bool {
    const WANTED: [&str; 30] = [
        "build",
        "lint",
        "run",
        "start",
        "dev",
        "serve",
        "clippy",
        "fmt",
        "format",
        "credo",
        "typecheck",
        "tsc",
        "eslint",
        "ruff",
        "mypy",
        "bench",
        "migrate",
        "deploy",
        "up",
        "watch",
        "black",
        "prettier",
        "pylint",
        "make",
        "sh",
        "py",
        "compose",
        "server",
        "seed",
        "pyright",
    ];
    tests(key) || has_word(key, &WANTED)
}

/// The commits a command made: as git reports them, else from its `-m` option.
fn commits(parts: &[&str], simples: &[Simple]) -> Vec<String> {
    let reported = parts.iter().flat_map(|p| p.lines()).map(str::trim).filter(|l| {
        l.starts_with('[')
            && l.split_once("] ").is_some_and(|(head, subject)| {
                let hash = head.trim_start_matches('[').rsplit(' ').next().unwrap_or("");
                hash.len() >= 6 && hash.bytes().all(|b| b.is_ascii_hexdigit()) && !subject.is_empty()
            })
    });
    let reported: Vec<String> = reported.take(5).map(str::to_owned).collect();
    if !reported.is_empty() {
        return reported;
    }
    let message = simples
        .iter()
        .find(|s| s.program() == "git" && s.operands().next().is_some_and(|a| a.text == "commit"))
        .and_then(|s| {
            let at = s.args.iter().position(|a| matches!(a.text.as_str(), "-m" | "-am" | "--message"))?;
            let text = s.args.get(at + 1)?.text.as_str();
            // `-m "$(cat <<'EOF' …)"`: the subject is the line after the marker.
            let line = text.lines().find(|l| !l.trim().is_empty() && !l.contains("<<"))?;
            Some(line.trim().to_owned())
        });
    message.into_iter().collect()
}

/// `bd close X-4`, `gh issue close 12`: a command that closes a ticket.
fn closing(simple: &Simple) -> Option<String> {
    let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
    if matches!(simple.program(), "echo" | "printf" | "grep" | "rg" | "cat" | "git" | "sed" | "find" | "ls")
        || words.len() > 14
    {
        return None;
    }
    let closes =
        words.iter().skip(1).take(3).any(|w| matches!(*w, "close" | "done" | "complete" | "finish" | "resolve"))
            || words.iter().any(|w| matches!(*w, "--status=done" | "--status=closed" | "--status=completed"));
    let named = words.iter().skip(2).any(|w| w.bytes().any(|b| b.is_ascii_digit()));
    (closes && named).then(|| words.join(" "))
}

/// Programs before a pipe fail without a failing exit code: "3 failures", "test result: FAILED".
fn says_failed(parts: &[&str]) -> bool {
    let Some(end) = parts.last() else { return false };
    let mut from = end.len().saturating_sub(2048);
    while !end.is_char_boundary(from) {
        from += 1;
    }
    let low = end[from..].to_ascii_lowercase();
    if low.contains("test result: failed")
        || low.contains("npm err!")
        || low.contains("** (mix)")
        || low.contains("error: could not compile")
        || low.contains("error: test failed")
    {
        return true;
    }
    let words: Vec<&str> =
        low.split(|c: char| c.is_whitespace() || c == ',' || c == '=').filter(|w| !w.is_empty()).collect();
    words.windows(2).any(|w| {
        let count = w[0].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let what = w[1].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        matches!(what, "failed" | "failures" | "failing" | "failure")
            && count.bytes().all(|b| b.is_ascii_digit())
            && count.bytes().any(|b| b != b'0')
    })
}

/// The line of an output that describes the error.
fn error_line(parts: &[&str]) -> String {
    let lines = || {
        parts
            .iter()
            .flat_map(|p| p.lines())
            .map(str::trim)
            .filter(|l| l.len() >= 4 && !l.starts_with("Exit code") && !l.contains("exited with code"))
    };
    let strong = lines().find(|l| {
        let low = l.get(..200.min(l.len())).map_or_else(|| l.to_ascii_lowercase(), str::to_ascii_lowercase);
        (low.starts_with("error")
            || low.starts_with("fatal")
            || low.starts_with("** (")
            || low.contains("error:")
            || low.contains("panicked at")
            || low.contains("exception:")
            || low.contains("assertionerror")
            || low.starts_with("e   ")
            || low.contains("npm err!"))
            && !low.contains("0 error")
    });
    let weak = || {
        lines().find(|l| {
            let low = l.to_ascii_lowercase();
            low.contains("fail")
                || low.contains("error")
                || low.contains("not found")
                || low.contains("denied")
                || low.contains("cannot")
                || low.contains("refused")
                || low.contains("rejected")
        })
    };
    let line = strong.or_else(weak).or_else(|| lines().next_back()).unwrap_or("");
    plain(line)
}
