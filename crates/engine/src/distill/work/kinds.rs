//! What a command verifies: the kind of check and its target, not its spelling. `cargo test -q orders`,
//! `cd api && cargo test orders` and the tests of `just ci` are the same check as far as they cover each other.

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
    /// Whether its outcome is a statement about the code.
    pub fn is_check(self) -> bool {
        !matches!(self, Kind::Run | Kind::Minor)
    }
}

/// What a command verifies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub kind: Kind,
    /// The tools of one language; empty for a task runner, which may run any. For other commands, the program and what
    /// it was told to do.
    pub family: String,
    /// The packages, files or names it is limited to.
    pub targets: Vec<String>,
    /// The command, without what only leads to it.
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
            // Tests are built first, and what is built has passed the compiler.
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
    matches!(family, "rust" | "go" | "dotnet" | "jvm" | "swift" | "zig" | "elixir")
}

/// What a simple command verifies; `None` if its outcome means nothing.
pub fn check(simple: &Simple) -> Option<Check> {
    let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
    let words = bare(&words);
    let program = words.first()?.rsplit(['/', '\\']).next().unwrap_or("");
    let program = program.strip_suffix(".exe").or_else(|| program.strip_suffix(".cmd")).unwrap_or(program);
    let rest = &words[1..];
    let mut operands = Operands::of(rest);
    let first = operands.words.first().copied().unwrap_or("");
    use Kind::{Build, Format, Lint, Run, Test, Types};
    let mut skip = 1;
    let (kind, family) = match program {
        "cargo" => {
            let kind = match first {
                "test" | "nextest" | "t" => Test,
                "clippy" => Lint,
                "check" | "c" => Types,
                "build" | "b" => Build,
                "fmt" => Format,
                _ => Run,
            };
            if operands.words.get(1) == Some(&"run") && first == "nextest" {
                skip = 2;
            }
            (if rest.contains(&"--no-run") { Build } else { kind }, "rust")
        }
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => {
            let named = matches!(first, "run" | "run-script" | "task" | "exec" | "x");
            skip = 1 + usize::from(named);
            let name = if named { operands.words.get(1).copied().unwrap_or("") } else { first };
            let kind = match name {
                "t" => Some(Test),
                "fmt" => Some(Format),
                "install" | "i" | "ci" | "add" | "remove" | "init" | "create" if !named => None,
                name => by_name(name),
            };
            (kind.unwrap_or(Run), "js")
        }
        "jest" | "vitest" | "mocha" | "ava" | "playwright" | "cypress" | "karma" | "tap" => {
            skip = usize::from(matches!(first, "run" | "test"));
            (Test, "js")
        }
        "tsc" | "vue-tsc" | "tsgo" | "svelte-check" => (Types, "js"),
        "eslint" | "biome" | "oxlint" | "stylelint" | "tslint" | "standard" | "xo" => (Lint, "js"),
        "prettier" => (Format, "js"),
        "webpack" | "rollup" | "esbuild" => (Build, "js"),
        "vite" | "next" | "astro" | "nuxt" | "remix" | "ng" | "turbo" | "nx" | "lerna" | "expo" => {
            let name = if first == "run" { operands.words.get(1).copied().unwrap_or("") } else { first };
            (by_name(name).unwrap_or(Run), "js")
        }
        "pytest" | "py.test" | "tox" | "nox" | "unittest" => {
            skip = 0;
            (Test, "python")
        }
        "ruff" if first == "format" => (Format, "python"),
        "ruff" | "flake8" | "pylint" | "bandit" => {
            skip = usize::from(first == "check");
            (Lint, "python")
        }
        "mypy" | "pyright" | "basedpyright" | "pyre" | "ty" => {
            skip = usize::from(first == "check");
            (Types, "python")
        }
        "black" | "isort" | "yapf" => {
            skip = 0;
            (Format, "python")
        }
        "go" => match first {
            "test" => (Test, "go"),
            "vet" => (Lint, "go"),
            "build" | "install" => (Build, "go"),
            _ => (Run, "go"),
        },
        "golangci-lint" | "staticcheck" => (Lint, "go"),
        "gofmt" | "goimports" => (Format, "go"),
        "mix" => match first {
            "test" => (Test, "elixir"),
            "credo" => (Lint, "elixir"),
            "dialyzer" => (Types, "elixir"),
            "compile" => (Build, "elixir"),
            "format" => (Format, "elixir"),
            name => (by_name(name).unwrap_or(Run), "elixir"),
        },
        "dotnet" | "swift" | "zig" | "flutter" | "dart" | "stack" | "cabal" | "lein" | "xcodebuild" => {
            let family = if program == "flutter" || program == "xcodebuild" { "dart" } else { program };
            let kind = match first {
                "analyze" => Lint,
                name => by_name(name).unwrap_or(if program == "xcodebuild" { Build } else { Run }),
            };
            (kind, family)
        }
        "mvn" | "mvnw" | "gradle" | "gradlew" | "gradlew.bat" | "sbt" => {
            let kind = match first.rsplit(':').next().unwrap_or(first) {
                "package" | "compile" | "assemble" | "install" | "classes" => Build,
                "verify" | "check" => Test,
                name => by_name(name).unwrap_or(Run),
            };
            (kind, "jvm")
        }
        "phpunit" | "pest" => {
            skip = 0;
            (Test, "php")
        }
        "phpstan" | "psalm" => (Types, "php"),
        "rspec" | "minitest" => {
            skip = 0;
            (Test, "ruby")
        }
        "rubocop" | "standardrb" => (Lint, "ruby"),
        "rails" | "rake" | "artisan" | "composer" => (by_name(first).unwrap_or(Run), "ruby"),
        "ctest" | "busted" => (Test, "c"),
        "cmake" if rest.contains(&"--build") => (Build, "c"),
        "ninja" | "meson" | "bazel" | "buck2" | "scons" => (by_name(first).unwrap_or(Build), "c"),
        "shellcheck" | "actionlint" | "yamllint" | "hadolint" | "markdownlint" | "clippy" | "luacheck" => {
            skip = 0;
            (Lint, program)
        }
        "rustfmt" | "shfmt" | "clang-format" | "stylua" => (Format, "rust"),
        "make" | "just" | "task" | "invoke" | "hatch" | "mage" | "earthly" | "moon" | "pre-commit" | "lefthook" => {
            (by_name(first).unwrap_or(if program == "make" && first.is_empty() { Build } else { Run }), "")
        }
        "python" | "python3" | "node" | "ruby" | "perl" | "php" | "bash" | "sh" | "zsh" | "deno-run" | "tsx"
        | "ts-node" | "streamlit" | "uvicorn" | "gunicorn" | "flask" => {
            if program == "node" && rest.contains(&"--test") {
                skip = 0;
                (Test, "js")
            } else if rest.iter().any(|w| matches!(*w, "-c" | "-e" | "--eval" | "-lc")) || first.is_empty() {
                return None;
            } else if first == "manage.py" && operands.words.get(1) == Some(&"test") {
                skip = 2;
                (Test, "python")
            } else {
                let name = first.rsplit('/').next().unwrap_or(first);
                (script(name).unwrap_or(Run), if program.starts_with("python") { "python" } else { "" })
            }
        }
        "docker" | "docker-compose" | "podman" => {
            let built = operands.words.iter().take(2).any(|w| *w == "build");
            (if built { Build } else { Run }, "docker")
        }
        "terraform" | "tofu" => (if matches!(first, "validate" | "plan") { Lint } else { Run }, "terraform"),
        "kubectl" | "helm" | "ansible-playbook" | "alembic" | "prisma" | "fly" | "flyctl" | "vercel" | "heroku"
        | "wrangler" | "netlify" | "firebase" | "gcloud" | "aws" | "az" | "supabase" | "pulumi" | "serverless" => {
            (Run, "")
        }
        "git" => match first {
            "push" | "merge" | "rebase" | "cherry-pick" | "commit" | "pull" => (Run, ""),
            _ => (Kind::Minor, ""),
        },
        "pip" | "pip3" | "apt" | "apt-get" | "brew" | "gem" | "uv" | "poetry" | "pdm" | "conda" => {
            (if matches!(first, "install" | "add" | "sync") { Run } else { Kind::Minor }, "")
        }
        // Their failure is an answer, not an error.
        "ls" | "cat" | "grep" | "rg" | "egrep" | "find" | "fd" | "test" | "[" | "[[" | "which" | "type" | "diff"
        | "cmp" | "cd" | "echo" | "printf" | "head" | "tail" | "sed" | "awk" | "stat" | "file" | "wc" | "true"
        | "false" | "sleep" | "kill" | "pkill" | "pgrep" | "lsof" | "ps" | "export" | "source" | "." | "set" | "rm"
        | "mkdir" | "touch" | "cp" | "mv" | "tee" | "sort" | "jq" | "xargs" | "for" | "do" | "done" | "case"
        | "wait" | "nc" | "ping" | "dig" | "exit" | "timeout" | "fi" | "" => return None,
        _ if words[0].starts_with("./") || words[0].ends_with(".sh") => (script(program).unwrap_or(Run), ""),
        _ => (Kind::Minor, ""),
    };
    let text = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    if !kind.is_check() {
        // `docker compose run api npm test` differs from `docker compose up`.
        let deep = matches!(first, "compose" | "run" | "exec" | "stack" | "buildx" | "task");
        let told: Vec<&str> = operands.words.iter().take(if deep { 4 } else { 1 }).copied().collect();
        let family = format!("{program} {}", told.join(" ")).trim_end().to_owned();
        return Some(Check { kind, family, targets: Vec::new(), text });
    }
    let from = skip.min(operands.words.len());
    let mut targets: Vec<String> = operands.words.drain(from..).map(target).collect();
    targets.append(&mut operands.limits);
    // Everything: `./...`, `.`, `src`, `tests/`.
    targets.retain(|t| !matches!(t.as_str(), "" | "." | "..." | "src" | "tests" | "test" | "all" | "--all"));
    targets.sort();
    targets.dedup();
    Some(Check { kind, family: family.to_owned(), targets, text })
}

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
        const LIMITS: [&str; 16] = [
            "-p",
            "--package",
            "--test",
            "--bin",
            "--example",
            "-k",
            "-m",
            "-t",
            "--filter",
            "-F",
            "--grep",
            "-g",
            "--project",
            "--testNamePattern",
            "-run",
            "--tests",
        ];
        const VALUES: [&str; 22] = [
            "-j",
            "--jobs",
            "--features",
            "--target",
            "--profile",
            "--manifest-path",
            "-n",
            "--config",
            "-c",
            "-C",
            "--prefix",
            "--cwd",
            "--dir",
            "-f",
            "--file",
            "--timeout",
            "--reporter",
            "--configuration",
            "-o",
            "--tb",
            "--cov",
            "--maxfail",
        ];
        let (mut operands, mut limits) = (Vec::new(), Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--" => break,
                w if LIMITS.contains(&w) => limits.extend(words.next().map(|v| target(v))),
                w if VALUES.contains(&w) => drop(words.next()),
                w if w.starts_with('-') => {
                    if let Some((option, value)) = w.split_once('=').filter(|(o, _)| LIMITS.contains(o)) {
                        let _ = option;
                        limits.push(target(value));
                    }
                }
                w if w.starts_with('+') || w.chars().all(|c| c.is_ascii_digit()) => {}
                w => operands.push(w),
            }
        }
        Operands { words: operands, limits }
    }
}

/// The command without what only leads to it: `timeout 60`, `uv run`, `npx`, `python -m`.
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

/// The kind of check a task is named after: `test:unit`, `type-check`, `ci`.
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

/// The kind of check a script is named after: `run-tests.sh`, `test_orders.py`.
fn script(name: &str) -> Option<Kind> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    by_name(stem).filter(|k| matches!(k, Kind::Test | Kind::Lint | Kind::All))
}
