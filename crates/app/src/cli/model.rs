//! `heirloom model`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use heirloom_engine::budget::{Budget, HeldBack, Pause};
use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Publication, digest, layout};
use heirloom_engine::report::model::{LanguageModelReport, ModelPreview, ModelTrial};
use heirloom_model::{Key, Kind};
use serde::Serialize;
use toml::Value;

use super::connect::{can_ask, confirm};
use crate::config::{self, Model};
use crate::context::{Context, Global, clock};
use crate::error::Exit;
use crate::open_key;
use crate::print;
use crate::section;

/// The language model that writes better summaries: a program you already have, a server of yours, or a provider
///
/// No model is needed, and none is asked until you choose one here. Questions to it contain text of your conversations
/// with credentials removed; its answers are checked against that text and stored beside what is found without it.
///
/// The section `model` of config.toml has the choice: `kind`, `model`, `url`, `command`; the key in `key_from` (a variable, or
/// `state/model.key`) or `key_command` (a list: the program that prints it, with its whole path, and its arguments); the budget
/// of a day in `tokens` and `calls`; `seconds`, the longest time of one question (5 to 240). A summary is one question, however
/// long the session is. To note facts, a long session is read in parts, with at most eight questions.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Show the chosen model, its use today, and whether it is asked now
    Status,
    /// Choose a model: shows a sample question and the amount per day, and asks before it writes
    ///
    /// claude, codex and openclaw are the programs on this machine with the login they have, called without hooks or
    /// sessions, in an empty folder; their use counts against your plan. claude and openclaw are offered no tools. codex
    /// decides by its model: its newest ones are offered some (a shell that may only read, sub-agents), which makes a
    /// question 25 kB instead of 5 kB; --model gpt-5.1 leaves two harmless ones. ollama runs on this machine. A URL is a server that
    /// speaks OpenAI's protocol. Anything else is a command, which gets the question on standard input and prints JSON.
    Use(Use),
    /// Ask the chosen model a small question to see whether it answers; after a refusal this turns the model on again
    Test,
    /// Ask no model any more; stored answers stay
    Off,
}

#[derive(clap::Args, Debug)]
struct Use {
    /// claude, codex, openclaw, ollama, anthropic, openai, a URL, or a command with its arguments (behind --)
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,

    /// The model's name, as the program or provider knows it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Address of a provider, if it is not the usual one
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE", group = "key")]
    key_from: Option<String>,

    /// Read the key from standard input and keep it in state/model.key, which only you can read
    #[arg(long, group = "key")]
    key_stdin: bool,

    /// The entry of this machine's keyring that holds the key: secret-tool is asked for it, on macOS security
    ///
    /// To store the key under a name, on Linux: secret-tool store --label NAME service NAME; on macOS: security
    /// add-generic-password -s NAME -a NAME -w. Both ask for the key. The question of security takes 128 characters and
    /// cuts off the rest; put a longer key in with the app Keychain Access, as a password item of this name.
    #[arg(long, value_name = "NAME", group = "key")]
    keyring: Option<String>,

    /// A command that prints the key, as 'pass show NAME'; no shell reads it, and it is run when a question is sent
    ///
    /// It prints one line, the key. It may ask for a passphrase in a window; on a terminal only if the command that needs the
    /// key runs in one, so never from a hook, the worker or the service.
    #[arg(long, value_name = "COMMAND", group = "key")]
    key_command: Option<String>,

    /// Maximum number of tokens per day [default: 300000]
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,

    /// Maximum number of questions per day [default: 60]
    #[arg(long, value_name = "N")]
    calls: Option<u64>,

    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// The report of `model use`.
#[derive(Serialize)]
struct Chosen {
    /// Kind and model: `claude/haiku`.
    model: String,
    /// Where the key comes from; null if the model gets none.
    key: Option<String>,
    #[serde(flatten)]
    preview: ModelPreview,
    budget: Budget,
    /// True if the choice was written to the settings.
    written: bool,
}

/// The report of `model status`.
#[derive(Serialize)]
struct State {
    /// Null if the settings name no model.
    language_model: Option<LanguageModelReport>,
    /// Where the model's key comes from: a variable, a file or a program; null if it gets none.
    key: Option<String>,
}

/// The report of `model off`.
#[derive(Serialize)]
struct Off {
    /// True if a model was chosen before.
    was_on: bool,
    /// The file of the home that still holds the key; null if there is none.
    key: Option<String>,
}

/// Number of lines of a sample question shown before a model is chosen.
const SHOWN_LINES: usize = 14;

/// Maximum length of a key, in bytes.
const LONGEST_KEY: u64 = 16 << 10;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Status => status(global),
        Command::Use(wanted) => take(global, &wanted),
        Command::Test => test(global),
        Command::Off => off(global),
    }
}

fn status(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let key = config::file(context.home())?.model.key_at();
    let state = State { language_model: context.acting_as("cli model").language_model()?, key };
    Ok(print::answer(global.json, &state, || match &state.language_model {
        None => {
            print::line("No language model is asked. Summaries are made without one.");
            print::line("Choose one: heirloom model use claude (or codex, ollama, a URL …)");
        }
        Some(report) => {
            let mut rows = rows(report);
            if let Some(key) = &state.key {
                rows.insert(1, vec!["  key".into(), format!("comes from {key}")]);
            }
            print::out(&print::table(&rows));
        }
    }))
}

/// Prints the lines about the language model that `model status` and `status` share.
pub fn rows(report: &LanguageModelReport) -> Vec<Vec<String>> {
    let row = |name: &str, what: String| vec![name.to_owned(), what];
    let name = report.model.as_deref().map_or("none that can be asked".into(), print::safe_line);
    let state = match (&report.problem, &report.pause) {
        (Some(problem), _) => print::safe_line(problem),
        (None, None) => held_back(report.held_back),
        (None, Some(Pause::Refused { why })) => {
            format!("off: {}; once that is mended: heirloom model test", print::safe_line(why))
        }
        (None, Some(Pause::Rests { until, why })) => {
            let until = print::when(Some(*until), clock().now());
            format!("rests until {until}: {} (to ask sooner: heirloom model test)", print::safe_line(why))
        }
        (None, Some(Pause::Spent)) => "the budget of the day is spent; again tomorrow".into(),
    };
    let mut rows = vec![
        row("Model", name),
        row("  now", state),
        row("  today", spent(report)),
        row(
            "  summaries",
            format!("{} by a model, {} to ask for", print::count(report.summaries), print::count(report.due)),
        ),
        row(
            "  sessions",
            format!("{} read by a model, {} to read", print::count(report.read.done), print::count(report.read.due)),
        ),
        row(
            "  importance",
            format!(
                "{} judged by a model, {} to judge",
                print::counted(report.judged.done, "chunk"),
                print::count(report.judged.due)
            ),
        ),
    ];
    if report.given_up > 0 {
        let what = match report.given_up {
            1 => "1 thing, because its answers could not be used".to_owned(),
            many => format!("{} things, because their answers could not be used", print::count(many)),
        };
        rows.push(row("  given up", format!("{what}; to ask again: heirloom model test")));
    }
    rows
}

/// Describes what the model is asked today.
fn held_back(what: Option<HeldBack>) -> String {
    match what {
        None => "is asked when there is something to summarise, to read or to judge".into(),
        Some(HeldBack::LittleLeft) => {
            "what is left of the day's budget is too little for a question; again tomorrow".into()
        }
        Some(HeldBack::ForSummaries) => {
            "is asked for summaries only: four fifths of the day's budget are spent; the rest tomorrow".into()
        }
        Some(HeldBack::Older) => {
            "is asked about today's work only: the quarter of the budget for older material is used up; again tomorrow"
                .into()
        }
        Some(HeldBack::OlderNever { tokens, calls }) => format!(
            "is never asked about older material: a quarter of the budget is too little for a question; it takes {} and {} a day",
            print::counted(tokens, "token"),
            print::counted(calls, "question")
        ),
    }
}

/// Describes how much of today's budget is used: `4 of 60 questions, 31,000 of 300,000 tokens`.
pub fn spent(report: &LanguageModelReport) -> String {
    let (spent, budget) = (&report.spent, &report.budget);
    let cost = if spent.cost > 0 { format!(", ${:.2}", spent.cost as f64 / 1e6) } else { String::new() };
    format!(
        "{} of {}, {} of {}{cost}",
        print::count(spent.calls),
        print::counted(budget.calls, "question"),
        print::count(spent.tokens),
        print::counted(budget.tokens, "token")
    )
}

fn take(global: &Global, wanted: &Use) -> Result<Exit> {
    // The home's folder for model programs is created here if an older home lacks it.
    let context = Context::existing(global)?;
    let mut settings = settings(&context, wanted)?;
    let key = wanted.key_stdin.then(read_key).transpose()?;
    if key.is_some() {
        settings.key_from = Some(layout::MODEL_KEY.as_str().to_owned());
    }
    let choice = settings.choice_with(context.home(), key.clone())?;
    let folders = config::model_folders(context.home());
    // A missing program or an untested version is reported now, not when the worker first calls it.
    choice.look(&folders).map_err(|e| {
        Error::refused(format!("{}: {e}", choice.name()))
            .hint("nothing was written; another model: heirloom model use --help")
    })?;
    choice.look_for_key(&folders).map_err(|e| {
        Error::refused(format!("{}: {e}", choice.name()))
            .hint("nothing was written; once that is mended: the same command")
    })?;
    choice.open(folders)?;
    let mut chosen = Chosen {
        model: choice.name(),
        key: settings.key_at(),
        preview: context.acting_as("cli model").model_preview()?,
        budget: settings.budget(),
        written: false,
    };
    if !global.json {
        people(&chosen, settings.at());
        if let Some(key) = &chosen.key {
            print::line(&format!("Its key comes from {key} and is sent to this address only."));
        }
    }
    if !wanted.yes {
        if !can_ask(global) {
            return Err(Error::refused("nothing was written: there is no terminal to ask at")
                .hint("to go on: the same command with --yes"));
        }
        if !confirm("Ask this model from now on?") {
            print::line("Nothing was written.");
            return Ok(Exit::Ok);
        }
    }
    if let Some(key) = key {
        write_key(&context, &key)?;
    }
    write(&context, &settings.values())?;
    chosen.written = true;
    context.acting_as("cli model").model_chosen()?;
    if global.json {
        print::report(&chosen);
    } else {
        print::line(
            "It is asked by the worker and the service when there is something to summarise, to read or to judge.",
        );
        print::line("Try it: heirloom model test · No more: heirloom model off");
    }
    Ok(Exit::Ok)
}

fn people(chosen: &Chosen, at: String) {
    let preview = &chosen.preview;
    print::line(&format!("{}  ({})", print::safe_line(&chosen.model), print::safe_line(&at)));
    match &preview.prompt {
        Some(prompt) => {
            print::line("It would be asked, with the instructions of Heirloom before it:");
            let lines: Vec<&str> = prompt.lines().collect();
            for line in lines.iter().take(SHOWN_LINES) {
                print::line(&format!("  │ {}", print::cut(&print::safe_line(line), 110)));
            }
            if lines.len() > SHOWN_LINES {
                print::line(&format!("  │ … {} more", print::counted((lines.len() - SHOWN_LINES) as u64, "line")));
            }
            print::line(&format!("That is about {}.", print::counted(preview.prompt_tokens, "token")));
        }
        None if preview.calls_a_day > 0.0 => print::line(
            "There is no sample question now; sessions that no worker has read yet give one (heirloom work --drain).",
        ),
        None => print::line("There is nothing to ask about yet."),
    }
    let Budget { tokens, calls } = chosen.budget;
    print::line(&format!(
        "A day like those of the last fortnight: about {} questions, {}. Never more than {} and {} a day.",
        preview.calls_a_day,
        print::counted(preview.tokens_a_day, "token"),
        print::counted(calls, "question"),
        print::counted(tokens, "token")
    ));
    if preview.backlog > 0 {
        print::line(&format!(
            "{} asked for little by little, with at most a quarter of each day's budget.",
            match preview.backlog {
                1 => "1 older summary is".to_owned(),
                many => format!("{} older summaries are", print::count(many)),
            }
        ));
    }
}

/// The report of `model test`.
#[derive(Serialize)]
struct Tried {
    #[serde(flatten)]
    trial: ModelTrial,
    /// Advice against the failure: the next step of the person. Null if the model answered.
    next: Option<&'static str>,
}

/// Words of failures, and what to do about them. The first that fits counts.
const NEXT: [(&str, &str); 13] = [
    ("not logged in", "log in with the program itself, then test again"),
    ("its key cannot be read", "look at the program that prints it, then test again"),
    ("key is not accepted", "give it a valid key: heirloom model use … with --key-from, --keyring or --key-stdin"),
    ("nothing left to spend", "top up the account, or choose another model: heirloom model use"),
    (
        "no such model or address",
        "look at the model's name and the address: heirloom model use … --model NAME --url URL",
    ),
    ("does not know the model", "look at the model's name: heirloom model use … --model NAME"),
    ("moved to another address", "give it the new address: heirloom model use … --url URL"),
    ("did not answer within", "test again; if it is slow, a smaller model, or seconds = 240 in [model] of config.toml"),
    (
        "status 429",
        "nothing: it is asked again after the pause; where that is often so, fewer --calls or another model",
    ),
    (
        "asked too often",
        "nothing: it is asked again after the pause; where that is often so, fewer --calls or another model",
    ),
    ("usage limit", "nothing: it is asked again after the pause; to ask another one: heirloom model use"),
    ("cannot be reached", "look whether its server runs, and at its address: heirloom model use … --url URL"),
    ("no address is known", "look at its address and at the network: heirloom model use … --url URL"),
];

/// Returns what to do about the failure of a trial.
fn next_of(trial: &ModelTrial) -> Option<&'static str> {
    let why = trial.failure.as_deref()?;
    let known = NEXT.iter().find(|(words, _)| why.contains(words)).map(|(_, next)| *next);
    Some(known.unwrap_or(match trial.kind {
        Some("later") => "test again in a few minutes",
        Some("unusable") => "test again; a model that cannot keep to a form is of no use here: heirloom model use",
        _ => "once that is mended: heirloom model test",
    }))
}

fn test(global: &Global) -> Result<Exit> {
    let trial = Context::existing(global)?.acting_as("cli model").try_model()?;
    let tried = Tried { next: next_of(&trial), trial };
    let trial = &tried.trial;
    let exit = match trial.failure {
        Some(_) => Exit::Problems,
        None => Exit::Ok,
    };
    print::answer(global.json, &tried, || match &trial.failure {
        Some(why) => {
            print::line(&format!("{}: {}", print::safe_line(&trial.model), print::safe_line(why)));
            tried.next.iter().for_each(|next| print::line(&format!("  next: {next}")));
        }
        None => {
            let tokens = match (trial.tokens_in, trial.tokens_out) {
                (Some(a), Some(b)) => format!(" · {} in, {} out", print::counted(a, "token"), print::count(b)),
                _ => String::new(),
            };
            let cost = trial.cost.filter(|c| *c > 0).map_or(String::new(), |c| format!(" · ${:.4}", c as f64 / 1e6));
            print::line(&format!(
                "{} answers. {:.1} s{tokens}{cost}",
                print::safe_line(&trial.model),
                trial.ms as f64 / 1e3
            ));
        }
    });
    Ok(exit)
}

fn off(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let was_on = config::file(context.home())?.model.kind.is_some();
    write(&context, &[])?;
    context.acting_as("cli model").model_changed()?;
    let key = context.home().read(&layout::MODEL_KEY, LONGEST_KEY)?;
    let key = key.map(|_| context.home().root().join(layout::MODEL_KEY.as_str()).display().to_string());
    let off = Off { was_on, key };
    Ok(print::answer(global.json, &off, || {
        print::line(if was_on {
            "No language model is asked any more. What it wrote stays."
        } else {
            "None was asked."
        });
        if let Some(key) = &off.key {
            print::line(&format!(
                "Its key stays in {}; remove the file if you need it no more.",
                print::safe_line(key)
            ));
        }
    }))
}

/// Builds the settings for a model from the arguments; limits set before are kept.
fn settings(context: &Context, wanted: &Use) -> Result<Model> {
    let before = config::file(context.home())?.model;
    let first = wanted.what.first().map(String::as_str).unwrap_or_default();
    let named = Kind::parse(first).filter(|kind| *kind != Kind::Command);
    let is_url = first.contains("://");
    let kind = named.unwrap_or(if is_url { Kind::OpenAi } else { Kind::Command });
    if (is_url || named.is_some()) && wanted.what.len() > 1 {
        return Err(Error::usage(format!("{} takes no arguments", print::safe_line(first)))
            .hint("a command of your own stands behind --: heirloom model use -- COMMAND …"));
    }
    let of_provider = [
        ("--url", wanted.url.is_some()),
        ("--key-from", wanted.key_from.is_some()),
        ("--key-stdin", wanted.key_stdin),
        ("--keyring", wanted.keyring.is_some()),
        ("--key-command", wanted.key_command.is_some()),
    ];
    if let Some((option, _)) = of_provider.iter().find(|(_, given)| *given && !kind.is_provider()) {
        return Err(Error::usage(format!("{option} is about a provider")).hint("leave it out"));
    }
    no_open_key(wanted, kind)?;
    let has_key =
        wanted.key_from.is_some() || wanted.key_stdin || wanted.keyring.is_some() || wanted.key_command.is_some();
    // At an address of their own, people have servers that ask for none.
    if matches!(kind, Kind::Anthropic | Kind::OpenAi) && !is_url && wanted.url.is_none() && !has_key {
        return Err(Error::usage(format!("{} asks for a key, and none is named", kind.name())).hint(
            "name where it is: --key-from VARIABLE, --keyring NAME or --key-command COMMAND; or store it: --key-stdin",
        ));
    }
    if kind == Kind::Command && wanted.model.is_some() {
        return Err(Error::usage("a command names its model itself").hint("leave --model out"));
    }
    let is_set = |name: &String| std::env::var(name).is_ok_and(|key| !key.is_empty());
    if let Some(name) = wanted.key_from.as_ref().filter(|name| !is_set(name)) {
        return Err(Error::usage(format!("{} is not set", print::safe_line(name))).hint(
            "export the key under this name where the worker and the service see it, or use --keyring or --key-stdin",
        ));
    }
    let command = match kind {
        Kind::Command => {
            let mut command = wanted.what.clone();
            command[0] = program(first)?;
            Some(command)
        }
        kind if kind.is_preset() => Some(vec![program(kind.name())?]),
        _ => None,
    };
    Ok(Model {
        kind: Some(kind.name().to_owned()),
        model: wanted.model.clone(),
        url: if is_url { Some(address(first)) } else { wanted.url.clone() },
        command,
        key_from: wanted.key_from.clone(),
        key_command: key_command(wanted)?,
        tokens: wanted.tokens.or(before.tokens),
        calls: wanted.calls.or(before.calls),
        seconds: before.seconds,
        unknown: config::Unknown::new(),
    })
}

/// Refuses a key that stands open in the arguments. It is named without its value.
fn no_open_key(wanted: &Use, kind: Kind) -> Result<()> {
    let command: Vec<String> =
        wanted.key_command.iter().flat_map(|c| c.split_whitespace().map(str::to_owned)).collect();
    let words: &[String] = if kind == Kind::Command { &wanted.what } else { &[] };
    let found = open_key::in_words(words).or_else(|| open_key::in_words(&command));
    if let Some(name) = found {
        return Err(Error::usage(format!("{} looks like a key in the open", print::safe_line(&name))).hint(
            "config.toml and the machine's list of processes would show it: let the command read it from a variable or a file",
        ));
    }
    let urls = wanted.url.iter().chain(wanted.what.first());
    match urls.map(String::as_str).filter(|url| url.contains("://")).find_map(open_key::in_address) {
        Some(name) => Err(Error::usage(format!("the address has a key in the open: {}", print::safe_line(&name)))
            .hint("put the key where keys go: --key-from or --key-stdin")),
        None => Ok(()),
    }
}

/// Returns the command that prints the key, if the arguments name one: its program with the whole path, and its arguments.
fn key_command(wanted: &Use) -> Result<Option<Vec<String>>> {
    let words: Vec<&str> = match (&wanted.keyring, &wanted.key_command) {
        (Some(name), _) if name.trim().is_empty() || name.starts_with('-') => {
            return Err(
                Error::usage("this is no name of an entry in a keyring").hint("--keyring NAME, as it was stored")
            );
        }
        (Some(name), _) if cfg!(target_os = "macos") => vec!["security", "find-generic-password", "-w", "-s", name],
        (Some(name), _) => vec!["secret-tool", "lookup", "service", name],
        (None, Some(command)) if command.contains(['\'', '"', '\\', '|', '$', '`', ';', '<', '>']) => {
            return Err(Error::usage("no shell reads --key-command: it has signs that only a shell understands").hint(
                "use a script of yours, or write the words as a list into config.toml: key_command = [\"/…\", \"…\"]",
            ));
        }
        (None, Some(command)) => command.split_whitespace().collect(),
        (None, None) => return Ok(None),
    };
    let Some((first, arguments)) = words.split_first() else {
        return Err(Error::usage("--key-command names no program").hint("write it like 'pass show NAME'"));
    };
    Ok(Some([program(first)?].into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()))
}

/// Completes a server's URL: `http://127.0.0.1:1234` becomes `…/v1`, where servers of this protocol answer.
fn address(url: &str) -> String {
    let bare = url.trim_end_matches('/');
    let has_path = bare.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { bare.to_owned() } else { format!("{bare}/v1") }
}

/// Returns the absolute path of a program, which is given as a path or searched in the folders of PATH. Relative
/// folders of PATH are skipped (R14.3).
fn program(named: &str) -> Result<String> {
    let found = match named.contains('/') {
        true => std::path::absolute(named).ok().filter(|path| path.is_file()),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
            folders.iter().map(|folder| folder.join(named)).find(|path| is_program(path))
        }
    };
    let found = found.and_then(|path| path.to_str().map(str::to_owned));
    found.ok_or_else(|| {
        Error::not_found(format!("there is no program {}", print::safe_line(named)))
            .hint("install it, or name it with its whole path")
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn read_key() -> Result<Key> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST_KEY).read_to_string(&mut text);
    read.map_err(|e| Error::usage("no key can be read from standard input").because(e))?;
    Key::parse(&text)
}

fn write(context: &Context, values: &[(&str, Value)]) -> Result<()> {
    let home = context.home();
    let old = home.read(&layout::CONFIG, 1 << 20)?;
    let text = String::from_utf8(old.clone().unwrap_or_default())
        .map_err(|e| Error::usage("config.toml is not UTF-8").because(e))?;
    let new = section::replaced(&text, "model", values)?;
    if new == text {
        return Ok(());
    }
    publish(context, &layout::CONFIG, new.as_bytes(), old.as_deref())
}

fn write_key(context: &Context, key: &Key) -> Result<()> {
    let old = context.home().read(&layout::MODEL_KEY, LONGEST_KEY)?;
    publish(context, &layout::MODEL_KEY, format!("{}\n", key.secret()).as_bytes(), old.as_deref())
}

fn publish(context: &Context, path: &heirloom_engine::home::RelPath, bytes: &[u8], old: Option<&[u8]>) -> Result<()> {
    let home = context.home();
    let held = home
        .try_lock("config")?
        .ok_or_else(|| Error::new(ErrorKind::Busy, "another heirloom is writing config.toml").hint("try again"))?;
    let base = old.map(digest);
    let what = Publication { path, bytes, base, own: base };
    home.publish(&held, &what, Clock::System.now(), &mut |_| Ok(())).map(drop)
}
