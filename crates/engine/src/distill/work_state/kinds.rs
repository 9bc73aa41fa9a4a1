//! Finds what a command checks: the kind of check and its targets, whatever its spelling. `cargo test -q orders`, `cd
//! api && cargo test orders` and the tests of `just ci` are the same check as far as they cover each other.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::shell::Simple;

/// The kind of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Test,
    Lint,
    Types,
    Build,
    Format,
    /// A command that runs several checks: `just ci`.
    All,
    /// Any other command whose outcome matters: a deployment, a script, an installation.
    Run,
    /// A command whose failure matters only until it passes.
    Minor,
}

impl Kind {
    /// Whether the outcome says something about the code.
    pub fn is_check(self) -> bool {
        !matches!(self, Kind::Run | Kind::Minor)
    }
}

/// A check that a command runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub kind: Kind,
    /// The language whose tools it uses; empty for a task runner, which may use any. For other commands, the program
    /// and its first operands.
    pub family: String,
    /// The packages, files or names the check is limited to.
    pub targets: Vec<String>,
    /// The command, without wrappers such as `timeout 60`.
    pub text: String,
}

impl Check {
    /// Whether a pass of this check shows that the other passes too.
    pub fn covers(&self, other: &Check) -> bool {
        if !self.kind.is_check() || !other.kind.is_check() {
            return self.kind.is_check() == other.kind.is_check() && self.family == other.family;
        }
        let family = self.family == other.family || self.family.is_empty() || other.family.is_empty();
        let kind = self.kind == other.kind
            || self.kind == Kind::All
            // Tests are built before they run, and built code has passed the compiler.
            || self.kind == Kind::Test && matches!(other.kind, Kind::Build | Kind::Types) && compiled(&other.family)
            || matches!((self.kind, other.kind), (Kind::Build | Kind::Lint, Kind::Types)) && compiled(&other.family);
        let wide = self.targets.is_empty()
            || !other.targets.is_empty()
                && other.targets.iter().all(|t| {
                    self.targets
                        .iter()
                        .any(|s| t == s || t.strip_prefix(s.as_str()).is_some_and(|r| r.starts_with([':', '/'])))
                });
        family && kind && wide
    }
}

fn compiled(family: &str) -> bool {
    matches!(family, "rust" | "go" | "dotnet" | "jvm" | "swift" | "zig" | "elixir" | "dart" | "haskell" | "c")
}

/// Rules that tell the kind of a check from a program's operands, by the program's name.
static PROGRAMS: LazyLock<HashMap<&str, (&str, Vec<&str>)>> = LazyLock::new(|| {
    let lines = include_str!("kinds.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let mut found = HashMap::new();
    for line in lines {
        let mut columns = line.split('|').map(str::trim);
        let (family, programs, rules) = (columns.next(), columns.next(), columns.next());
        let rules: Vec<&str> = rules.unwrap_or("").split(' ').collect();
        for program in programs.unwrap_or("").split(' ') {
            found.insert(program, (family.unwrap_or(""), rules.clone()));
        }
    }
    found
});

/// Returns the kind of a program's run with its first operand, and the number of operands that determine it.
fn by_rules(rules: &[&str], operand: &str) -> Option<(Kind, usize)> {
    let (kind, count) = rules.iter().find_map(|rule| match rule.split_once('=') {
        Some(("*", kind)) => Some((named(kind), 0)),
        Some(("-", kind)) => operand.is_empty().then_some((named(kind), 0)),
        Some((of, kind)) => of.split(',').any(|o| o == operand).then_some((named(kind), 1)),
        None => by_name(operand).map(|kind| (Some(kind), 1)),
    })?;
    Some((kind?, count))
}

fn named(kind: &str) -> Option<Kind> {
    Some(match kind {
        "test" => Kind::Test,
        "lint" => Kind::Lint,
        "types" => Kind::Types,
        "build" => Kind::Build,
        "format" => Kind::Format,
        "run" => Kind::Run,
        "minor" => Kind::Minor,
        _ => return None,
    })
}

/// Returns the check a simple command runs; `None` if its outcome says nothing about the work.
pub fn check(simple: &Simple) -> Option<Check> {
    let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
    let words = bare(&words);
    let program = words.first()?.rsplit(['/', '\\']).next().unwrap_or("");
    let program = program.strip_suffix(".exe").or_else(|| program.strip_suffix(".cmd")).unwrap_or(program);
    let rest = &words[1..];
    // Asks about the program itself.
    if matches!(rest, ["--version" | "-V" | "version" | "--help" | "-h" | "help"]) {
        return None;
    }
    let Operands { words: mut operands, limits } = Operands::of(rest);
    // In `npm run lint` and `cargo nextest run`, the next operand names the task.
    let runs = matches!(program, "npm" | "pnpm" | "yarn" | "bun" | "deno" | "vite" | "turbo" | "nx" | "lerna")
        && operands.len() > 1
        && matches!(operands[0], "run" | "run-script" | "task" | "exec" | "x");
    if runs || operands.len() > 1 && operands[0] == "clean" {
        operands.remove(0);
    }
    // Maven and Gradle run every goal they are given: the widest tells the kind, and none is a target.
    if let Some(("jvm", rules)) = PROGRAMS.get(program).map(|(family, rules)| (*family, rules)) {
        let goals = |o: &&str| by_rules(&rules[..rules.len() - 1], o).is_some();
        let widest = operands.iter().copied().rfind(|o| matches!(by_rules(rules, o), Some((Kind::Test, _))));
        if let Some(goal) = widest.or_else(|| operands.iter().copied().rfind(goals)) {
            operands.retain(|o| !goals(o));
            operands.insert(0, goal);
        }
    }
    let first = operands.first().copied().unwrap_or("");
    let (kind, family, skip) = match (program, PROGRAMS.get(program)) {
        ("npm" | "bun" | "pnpm", _) if runs && first == "ci" => (Kind::All, "js", 1),
        ("cargo", _) if rest.contains(&"--no-run") => (Kind::Build, "rust", 1),
        ("cargo", _) if operands.starts_with(&["nextest", "run"]) => (Kind::Test, "rust", 2),
        ("cmake", _) if rest.contains(&"--build") => (Kind::Build, "c", operands.len()),
        ("docker" | "docker-compose" | "podman", _) => {
            let built = operands.iter().take(2).any(|w| *w == "build");
            (if built { Kind::Build } else { Kind::Run }, "docker", 2)
        }
        ("node", _) if rest.contains(&"--test") => (Kind::Test, "js", 0),
        ("", _) => return None,
        (_, Some((family, rules))) => {
            let (kind, skip) = by_rules(rules, first)?;
            (kind, if *family == "any" { "" } else { family }, skip)
        }
        (program, None) if RUNNERS.contains(&program) => {
            if first.is_empty() || rest.iter().any(|w| matches!(*w, "-c" | "-e" | "--eval" | "-lc")) {
                return None;
            }
            let tests = operands.starts_with(&["manage.py", "test"]);
            let kind = if tests { Some(Kind::Test) } else { script(first.rsplit('/').next().unwrap_or(first)) };
            let family = if program.starts_with("python") { "python" } else { "" };
            (kind.unwrap_or(Kind::Run), family, 1 + usize::from(tests))
        }
        (program, None) if words[0].starts_with("./") || words[0].ends_with(".sh") => {
            (script(program).unwrap_or(Kind::Run), "", 0)
        }
        _ => (Kind::Minor, "", 0),
    };
    let text = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    // `docker build -f - .` builds what is typed into it: an experiment, whose outcome says nothing about the files.
    let kind = if rest.contains(&"-") { Kind::Minor } else { kind };
    if !kind.is_check() {
        // `docker compose run api npm test` differs from `docker compose up`.
        let deep = matches!(first, "compose" | "run" | "exec" | "stack" | "buildx" | "task");
        let told: Vec<&str> = operands.iter().take(if deep { 4 } else { 1 }).copied().collect();
        let family = format!("{program} {}", told.join(" ")).trim_end().to_owned();
        return Some(Check { kind, family, targets: Vec::new(), text });
    }
    let mut targets: Vec<String> = operands.drain(skip.min(operands.len())..).map(target).collect();
    targets.extend(limits);
    // These targets stand for everything: `./...`, `.`, `src`, `tests/`.
    targets.retain(|t| !matches!(t.as_str(), "" | "." | "..." | "src" | "tests" | "test" | "all" | "--all"));
    targets.sort();
    targets.dedup();
    Some(Check { kind, family: family.to_owned(), targets, text })
}

/// Programs that run a file.
const RUNNERS: [&str; 13] =
    ["python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "tsx", "ts-node", "streamlit", "uvicorn"];

fn target(word: &str) -> String {
    word.trim_start_matches("./").trim_end_matches("...").trim_end_matches('/').to_owned()
}

/// The words after a program: operands, and the values of options that limit what is checked.
struct Operands<'w> {
    words: Vec<&'w str>,
    limits: Vec<String>,
}

impl<'w> Operands<'w> {
    fn of(words: &[&'w str]) -> Operands<'w> {
        const LIMITS: &str = "-p --package --test --bin --example -k -m -t --filter -F --grep -g --project --testNamePattern -run --tests";
        const VALUES: &str = "-j --jobs --features --target --profile --manifest-path -n --config -c -C --prefix --cwd --dir \
             -f --file --timeout --reporter --configuration -o --tb --cov --maxfail";
        let among = |list: &str, word: &str| list.split(' ').any(|w| w == word);
        let (mut operands, mut limits) = (Vec::new(), Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--" => break,
                w if among(LIMITS, w) => limits.extend(words.next().map(|v| target(v))),
                w if among(VALUES, w) => drop(words.next()),
                w if w.starts_with('-') => {
                    limits.extend(w.split_once('=').filter(|(o, _)| among(LIMITS, o)).map(|(_, value)| target(value)));
                }
                w if w.starts_with('+') || w.chars().all(|c| c.is_ascii_digit()) => {}
                w => operands.push(w),
            }
        }
        Operands { words: operands, limits }
    }
}

/// Removes wrappers from a command: `timeout 60`, `uv run`, `npx`, `python -m`.
fn bare<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    loop {
        let skip = match words {
            ["timeout" | "gtimeout", rest @ ..] => {
                1 + rest
                    .iter()
                    .take_while(|w| w.starts_with('-') || w.starts_with(|c: char| c.is_ascii_digit()))
                    .count()
            }
            ["env", rest @ ..] => 1 + rest.iter().take_while(|w| w.contains('=') || w.starts_with('-')).count(),
            ["uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch", "run", rest @ ..] => {
                2 + rest.iter().take_while(|w| w.starts_with("--")).count()
            }
            ["uv", "pip", _, ..] => 1,
            ["bundle" | "pnpm" | "yarn" | "npm", "exec", rest @ ..] => {
                2 + rest.iter().take_while(|w| w.starts_with('-')).count()
            }
            ["npx" | "bunx" | "pnpx" | "uvx" | "dlx", rest @ ..] => {
                1 + rest.iter().take_while(|w| w.starts_with('-')).count()
            }
            [python, "-m", module, ..] if python.contains("python") && *module != "venv" && *module != "pip" => 2,
            ["nice" | "xvfb-run" | "stdbuf" | "caffeinate" | "unbuffer" | "sudo" | "time", rest @ ..] => {
                1 + rest.iter().take_while(|w| w.starts_with('-')).count()
            }
            _ => return words,
        };
        if skip >= words.len() {
            return words;
        }
        words = &words[skip..];
    }
}

/// Returns the kind of check a task is named after: `test:unit`, `type-check`, `ci`.
fn by_name(name: &str) -> Option<Kind> {
    let has = |words: &[&str]| name.split([':', '-', '_', '.', '/']).any(|w| words.contains(&w));
    Some(if has(&["test", "tests", "spec", "specs", "e2e", "unit", "coverage"]) {
        Kind::Test
    } else if has(&["typecheck", "types", "type", "tsc", "typescript", "mypy"]) {
        Kind::Types
    } else if has(&["lint", "eslint", "clippy", "credo", "linting"]) {
        Kind::Lint
    } else if has(&["build", "compile", "bundle"]) {
        Kind::Build
    } else if has(&["fmt", "format", "prettier"]) {
        Kind::Format
    } else if has(&["ci", "check", "checks", "verify", "precommit", "validate", "qa", "gate", "quality"]) {
        Kind::All
    } else {
        return None;
    })
}

/// Returns the kind of check a script is named after: `run-tests.sh`, `test_orders.py`.
fn script(name: &str) -> Option<Kind> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    by_name(stem).filter(|k| matches!(k, Kind::Test | Kind::Lint | Kind::All))
}
