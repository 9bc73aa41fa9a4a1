//! Settings, in order of precedence: command line, environment, `config.toml` in the home, default. Every value records
//! its origin. Nothing is ever read from the current directory (R14.3).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use heirloom_embed::{Endpoint, HttpEmbedder, StaticTable};
use heirloom_engine::budget::Budget;
use heirloom_engine::distill::advance::Limits;
use heirloom_engine::distill::model_summarizer;
use heirloom_engine::engine::{LanguageModel, Settings, Wrong};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::home::layout;
use heirloom_engine::index::Embedder;
use heirloom_engine::judge::decay::Policy;
use heirloom_engine::judge::{Category, Weights};
use heirloom_engine::scope::AgentId;
use heirloom_harness::HostPaths;
use heirloom_model::{Choice, Folders, Key, Kind};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::print;

/// The origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Option,
    Environment(&'static str),
    File,
    Default,
}

impl From {
    pub fn shown(self) -> String {
        match self {
            From::Option => "given on the command line".into(),
            From::Environment(name) => format!("from {name}"),
            From::File => "from config.toml".into(),
            From::Default => "default".into(),
        }
    }
}

/// A value and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set<T> {
    pub value: T,
    pub from: From,
}

/// Keys of a section that mean nothing.
pub type Unknown = BTreeMap<String, IgnoredAny>;

/// Refuses keys that mean nothing, since a misspelt one would silently do nothing. Only what reads the section fails:
/// conversations are stored whatever the settings say. `at`: the section as an error names it.
pub fn known_only(at: &str, unknown: &Unknown, known: &[&str]) -> Result<()> {
    let Some(name) = unknown.keys().next() else { return Ok(()) };
    let nearest = known.iter().map(|key| (distance(name, key), key)).min();
    let nearest =
        nearest.filter(|(far, key)| far * 2 < key.len().max(3)).map(|(_, key)| format!("did you mean {key}? "));
    let (last, others) = known.split_last().unwrap_or((&"none", &[]));
    let all = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Err(Error::usage(format!("{at} has no {}", print::safe_line(name)))
        .hint(format!("{}its keys are {all}", nearest.unwrap_or_default())))
}

/// Returns the number of letters to add, drop, change or swap to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let swapped = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swapped)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

/// `config.toml`.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct File {
    pub daemon: Daemon,
    pub lineage: Lineage,
    pub embeddings: Embeddings,
    pub model: Model,
    pub judge: Judge,
    pub decay: Decay,
    pub backup: crate::backup::Settings,
    /// Sections that mean nothing ([`File::known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const SECTIONS: [&str; 7] = ["daemon", "lineage", "embeddings", "model", "judge", "decay", "backup"];

/// Settings of the language model (D5). Without a kind, no model is asked.
#[derive(Deserialize, Clone, PartialEq, Default, Debug)]
#[serde(default)]
pub struct Model {
    /// `claude`, `codex`, `openclaw`, `ollama`, `anthropic`, `openai` or `command`.
    pub kind: Option<String>,
    pub model: Option<String>,
    pub url: Option<String>,
    /// Program and arguments, for the kind `command`.
    pub command: Option<Vec<String>>,
    /// Name of the environment variable that holds the key, or `state/model.key`.
    pub key_from: Option<String>,
    /// Program that prints the key, with its whole path, and its arguments. It is run without a shell when a question is
    /// sent.
    pub key_command: Option<Vec<String>>,
    /// Maximum number of tokens per day; `calls` is the maximum number of questions per day.
    pub tokens: Option<u64>,
    pub calls: Option<u64>,
    /// Time limit of one request: 5 to 240 seconds.
    pub seconds: Option<u64>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const MODEL: [&str; 9] = ["kind", "model", "url", "command", "key_from", "key_command", "tokens", "calls", "seconds"];

/// Upper bound for the time limit of a request, in seconds: two such requests still end before a call counts as lost.
const LONGEST_REQUEST: u64 = 240;

impl Model {
    /// Returns the model of the settings, with its key. `Usage` for settings that make no sense, `Refused` for a key
    /// that other users can read.
    pub fn choice(&self, home: &heirloom_engine::home::Home) -> Result<Choice> {
        known_only("the section model of config.toml", &self.unknown, &MODEL)?;
        let key = match &self.key_from {
            None => None,
            Some(from) if from == layout::MODEL_KEY.as_str() => Some(key_file(home)?),
            Some(name) => match std::env::var(name) {
                Ok(key) if !key.is_empty() => Some(Key::parse(&key)?),
                _ => {
                    return Err(Error::usage(format!("{} is not set: the key of the language model", print::safe_line(name)))
                        .hint("export it where the worker and the service see it, or store it: heirloom model use … --key-stdin"));
                }
            },
        };
        self.choice_with(home, key)
    }

    /// Returns the model of the settings with a key that is not stored yet.
    pub fn choice_with(&self, home: &heirloom_engine::home::Home, key: Option<Key>) -> Result<Choice> {
        if key.is_none() && self.key_from.is_some() {
            return self.choice(home);
        }
        known_only("the section model of config.toml", &self.unknown, &MODEL)?;
        let named = self.kind.as_deref().unwrap_or_default();
        let kind = Kind::parse(named).ok_or_else(|| {
            let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            Error::usage(format!("there is no kind of language model {}", print::safe_line(named)))
                .hint(format!("the kinds are {}", all.join(", ")))
        })?;
        self.budget().checked(model_summarizer::smallest())?;
        let seconds = self.seconds.unwrap_or(120);
        if !(5..=LONGEST_REQUEST).contains(&seconds) {
            return Err(Error::usage("the section model of config.toml has seconds that cannot be")
                .hint(format!("seconds is 5 to {LONGEST_REQUEST}")));
        }
        Ok(Choice {
            model: self.model.clone(),
            url: self.url.clone(),
            command: self.command.clone().unwrap_or_default(),
            key,
            key_command: self.key_program()?,
            timeout: Duration::from_secs(seconds),
            ..Choice::new(kind)
        })
    }

    /// Returns the program that prints the key, with its arguments; empty if there is none. `Usage` for settings that
    /// make no sense: a relative path would be looked up in the current directory (R14.3).
    fn key_program(&self) -> Result<Vec<String>> {
        let Some(command) = &self.key_command else { return Ok(Vec::new()) };
        let wrong = |what: &str| {
            Err(Error::usage(format!("the section model of config.toml {what}"))
                .hint("write it like key_command = [\"/usr/bin/pass\", \"show\", \"NAME\"]"))
        };
        if self.key_from.is_some() {
            return wrong("has both key_from and key_command: leave one of the two out");
        }
        match command.first() {
            Some(program) if Path::new(program).is_absolute() => Ok(command.clone()),
            Some(_) => wrong("has a key_command without the whole path of its program"),
            None => wrong("has a key_command that names no program"),
        }
    }

    /// Describes where the key comes from, for printing: `the variable X`, `state/model.key`, `the program secret-tool`.
    /// `None`: the settings name no key.
    pub fn key_at(&self) -> Option<String> {
        let program = self.key_command.iter().flatten().next().map(|path| {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("the program {}", print::safe_line(&name))
        });
        program.or_else(|| match self.key_from.as_deref()? {
            file if file == layout::MODEL_KEY.as_str() => Some(file.to_owned()),
            name => Some(format!("the variable {}", print::safe_line(name))),
        })
    }

    pub fn budget(&self) -> Budget {
        let usual = Budget::default();
        Budget { tokens: self.tokens.unwrap_or(usual.tokens), calls: self.calls.unwrap_or(usual.calls) }
    }

    /// Describes where the model is reached, for printing: the program, or the address with credentials redacted.
    pub fn at(&self) -> String {
        let usual = self.kind.as_deref().and_then(Kind::parse).and_then(Kind::usual_url);
        match (&self.command, self.url.as_deref().or(usual)) {
            (Some(command), _) => heirloom_engine::redact::redact(&command.join(" ")).into_owned(),
            (None, Some(url)) => heirloom_engine::redact::redact(url).into_owned(),
            (None, None) => "nowhere".into(),
        }
    }

    /// Returns the values for the section, in their order.
    pub fn values(&self) -> Vec<(&'static str, toml::Value)> {
        let text = |name, value: &Option<String>| value.clone().map(|v| (name, toml::Value::String(v)));
        let number = |name, value: Option<u64>| {
            value.and_then(|v| i64::try_from(v).ok()).map(|v| (name, toml::Value::Integer(v)))
        };
        let command = self.command.clone().map(|c| ("command", toml::Value::from(c)));
        let key_command = self.key_command.clone().map(|c| ("key_command", toml::Value::from(c)));
        let texts = [text("kind", &self.kind), text("model", &self.model), text("url", &self.url), command];
        let numbers = [number("tokens", self.tokens), number("calls", self.calls), number("seconds", self.seconds)];
        texts.into_iter().chain([text("key_from", &self.key_from), key_command]).chain(numbers).flatten().collect()
    }

    /// Returns the model as the engine takes it. `None` if no model is asked.
    fn language_model(self, home: &heirloom_engine::home::Home) -> Option<LanguageModel> {
        // A misspelt `kind` is reported, too.
        if self.kind.is_none() && self.unknown.is_empty() {
            return None;
        }
        let budget = self.budget();
        // The digest leaves the budget out: a model that refused is asked again when the digest changes, and a new budget
        // does not change why it refused.
        let settings = Model { tokens: None, calls: None, ..self.clone() };
        let mut digest = [0; 16];
        digest.copy_from_slice(&heirloom_engine::home::digest(format!("{settings:?}").as_bytes())[..16]);
        let (home, options) = (home.root().to_owned(), crate::context::home_options());
        let load = move || -> Result<Arc<dyn heirloom_engine::model::Model>> {
            let home = heirloom_engine::home::Home::open_with(&home, &options)?;
            Ok(Arc::new(self.choice(&home)?.open(model_folders(&home))?))
        };
        Some(LanguageModel { load: Box::new(load), budget, digest })
    }
}

/// Returns the folders in which a program is run that is asked as a language model.
pub fn model_folders(home: &heirloom_engine::home::Home) -> Folders {
    let at = |path: &heirloom_engine::home::RelPath| home.root().join(path.as_str());
    Folders { empty: at(&layout::MODEL), scratch: at(&layout::SCRATCH) }
}

/// Reads the key that is stored in the home. `Refused` if other users can read it.
fn key_file(home: &heirloom_engine::home::Home) -> Result<Key> {
    use std::os::unix::fs::PermissionsExt as _;
    let lost = || {
        Error::not_found("the key of the language model is not in state/model.key")
            .hint("store it again: heirloom model use … --key-stdin")
    };
    let path = home.file_path(&layout::MODEL_KEY)?;
    let mode = path.symlink_metadata().map_err(|_| lost())?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(
            Error::refused("the key of the language model can be read by others").hint("chmod 600 state/model.key")
        );
    }
    let bytes = home.read(&layout::MODEL_KEY, 16 << 10)?.ok_or_else(lost)?;
    Key::parse(&String::from_utf8_lossy(&bytes))
}

/// Importance of each category of messages, from 1 to 10; a missing value is that of [`Weights`].
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct Judge {
    pub decision: Option<u8>,
    pub discovery: Option<u8>,
    pub implementation: Option<u8>,
    pub issue: Option<u8>,
    pub success: Option<u8>,
    pub feeling: Option<u8>,
    pub philosophy: Option<u8>,
    pub sentiment: Option<u8>,
    pub acknowledgment: Option<u8>,
    /// Importance from which a message is kept in front; `keep_from` sets it for single categories.
    pub keep: Option<u8>,
    pub keep_from: BTreeMap<String, u8>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Rule for dropping vectors of old, unimportant chunks; a missing value is that of [`Policy`].
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct Decay {
    pub on: bool,
    pub after_days: Option<u32>,
    pub below: Option<u8>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const DECAY: [&str; 3] = ["on", "after_days", "below"];

impl File {
    /// Refuses sections that mean nothing, and keys of the section `daemon` that do.
    pub fn known_only(&self) -> Result<()> {
        if let Some(name) = self.unknown.keys().next() {
            let known = SECTIONS.iter().map(|section| (distance(name, section), section)).min();
            let nearest = known.filter(|(far, _)| *far <= 2).map(|(_, section)| format!("did you mean [{section}]? "));
            return Err(Error::usage(format!(
                "config.toml has something that means nothing: {}",
                print::safe_line(name)
            ))
            .hint(format!("{}its sections are {}", nearest.unwrap_or_default(), SECTIONS.join(", "))));
        }
        known_only("the section daemon of config.toml", &self.daemon.unknown, &DAEMON)
    }

    /// Returns the judge's weights and the decay policy of the settings. `Usage` if a value is out of range.
    pub fn judged_by(&self) -> Result<(Weights, Policy)> {
        let mut weights = Weights::default();
        let j = &self.judge;
        let known: Vec<&str> = Category::ALL.iter().map(|c| c.name()).chain(["keep", "keep_from"]).collect();
        known_only("the section judge of config.toml", &j.unknown, &known)?;
        known_only("the section decay of config.toml", &self.decay.unknown, &DECAY)?;
        let set = [
            j.decision,
            j.discovery,
            j.implementation,
            j.issue,
            j.success,
            j.feeling,
            j.philosophy,
            j.sentiment,
            j.acknowledgment,
        ];
        for (to, set) in weights.importance.iter_mut().zip(set) {
            *to = set.unwrap_or(*to);
        }
        if let Some(keep) = j.keep {
            (weights.keep, weights.keep_plain) = ([keep; 9], keep);
        }
        for (name, keep) in &j.keep_from {
            let category = Category::named(name).ok_or_else(|| {
                let all: Vec<&str> = Category::ALL.iter().map(|c| c.name()).collect();
                Error::usage(format!("the section judge.keep_from of config.toml names {}", print::safe_line(name)))
                    .hint(format!("the categories are {}", all.join(", ")))
            })?;
            weights.keep[category as usize] = *keep;
        }
        let default = Policy::default();
        let policy = Policy {
            on: self.decay.on,
            after_days: self.decay.after_days.unwrap_or(default.after_days),
            below: self.decay.below.unwrap_or(default.below),
        };
        let sound = |n: &u8| (1..=10).contains(n);
        let all = weights.importance.iter().chain(&weights.keep).chain([&weights.keep_plain, &policy.below]).all(sound);
        if !all || policy.after_days == 0 {
            return Err(Error::usage("the section judge or decay of config.toml has a value that cannot be")
                .hint("importance, keep and below are 1 to 10, after_days is at least 1"));
        }
        Ok((weights, policy))
    }
}

/// Settings of the embedding model. Without an endpoint or a folder, the built-in table is used.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct Embeddings {
    /// The URL of an OpenAI-compatible endpoint, including `/embeddings`.
    pub endpoint: Option<String>,
    pub model: Option<String>,
    pub dimensions: Option<usize>,
    /// Name of the environment variable that holds the endpoint's key.
    pub key_from: Option<String>,
    /// Folder with a sentence model of the MiniLM kind; only for builds that can run one.
    pub model_folder: Option<PathBuf>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const EMBEDDINGS: [&str; 5] = ["endpoint", "model", "dimensions", "key_from", "model_folder"];

/// The location of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelAt<'s> {
    BuiltIn,
    Endpoint { url: &'s str, model: &'s str, dimensions: usize },
    Folder(&'s Path),
}

impl ModelAt<'_> {
    /// Describes the location for people: `built in`, `from https://…`, `from /models/minilm`.
    pub fn shown(&self) -> String {
        match self {
            ModelAt::BuiltIn => "built in".into(),
            ModelAt::Endpoint { url, .. } => format!("from {}", heirloom_engine::redact::redact(url)),
            ModelAt::Folder(folder) => format!("from {}", folder.display()),
        }
    }
}

impl Embeddings {
    /// Returns the location of the model. `Usage` if the settings contradict each other.
    pub fn model_at(&self) -> Result<ModelAt<'_>> {
        known_only("the section embeddings of config.toml", &self.unknown, &EMBEDDINGS)?;
        match (&self.endpoint, &self.model_folder) {
            (Some(_), Some(_)) => {
                Err(Error::usage("the section embeddings of config.toml names both an endpoint and a model_folder")
                    .hint("one model places all texts: leave one of the two out"))
            }
            (None, None) => Ok(ModelAt::BuiltIn),
            (None, Some(folder)) if folder.is_absolute() => Ok(ModelAt::Folder(folder)),
            // Relative paths are refused, so that nothing below the current directory is read (R14.3).
            (None, Some(folder)) => {
                let shown = print::safe_line(&folder.display().to_string());
                Err(Error::usage(format!("model_folder in config.toml is no whole path: {shown}"))
                    .hint("write it from the root on: model_folder = \"/…\""))
            }
            (Some(url), None) => match (&self.model, self.dimensions) {
                (Some(model), Some(dimensions)) => Ok(ModelAt::Endpoint { url, model, dimensions }),
                _ => Err(Error::usage("the section embeddings of config.toml names an endpoint and not its model")
                    .hint("say model = \"…\" and dimensions = …, or leave the section out")),
            },
        }
    }

    /// Creates the model. An endpoint is not contacted yet; a folder is read. Fails like [`Embeddings::model_at`], and
    /// if the folder contains no such model or this build cannot run one.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        match self.model_at()? {
            ModelAt::BuiltIn => Ok(Arc::new(StaticTable::built_in())),
            ModelAt::Endpoint { .. } => Ok(Arc::new(HttpEmbedder::new(self.endpoint()?)?)),
            ModelAt::Folder(folder) => of_folder(folder),
        }
    }

    /// Returns the endpoint with its key. `Usage` if the settings name none.
    pub fn endpoint(&self) -> Result<Endpoint> {
        let ModelAt::Endpoint { url, model, dimensions } = self.model_at()? else {
            return Err(Error::usage("the settings name no embedding endpoint"));
        };
        let mut endpoint = Endpoint::new(url, model, dimensions);
        let key = self.key_from.as_deref().and_then(|name| std::env::var(name).ok());
        endpoint.key = key.filter(|k| !k.is_empty());
        Ok(endpoint)
    }
}

#[cfg(feature = "minilm")]
fn of_folder(folder: &Path) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(heirloom_minilm::MiniLm::open(folder)?))
}

#[cfg(not(feature = "minilm"))]
fn of_folder(folder: &Path) -> Result<Arc<dyn Embedder>> {
    let what = format!("this build of heirloom runs no model from a folder ({})", folder.display());
    Err(Error::refused(what).hint(
        "build one that does: cargo build --release -p heirloom --features minilm; or leave model_folder out of config.toml",
    ))
}

/// Limits for cutting conversations into chunks and for compaction; a missing value is that of [`Limits`].
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct Lineage {
    /// Number of turns at which a chunk is full; `chunk_tokens` is the number of tokens.
    pub chunk_turns: Option<usize>,
    pub chunk_tokens: Option<u64>,
    /// Number of turns without a compaction after which Heirloom makes one, and the same in tokens; 0 means never.
    pub compact_turns: Option<u64>,
    pub compact_tokens: Option<u64>,
    /// Number of the newest tokens that stay uncompacted.
    pub tail_tokens: Option<u64>,
    /// Maximum length of a handoff, in tokens.
    pub handoff_tokens: Option<usize>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const LINEAGE: [&str; 6] =
    ["chunk_turns", "chunk_tokens", "compact_turns", "compact_tokens", "tail_tokens", "handoff_tokens"];

impl Lineage {
    /// Returns the limits after checking them.
    pub fn limits(&self) -> Result<Limits> {
        known_only("the section lineage of config.toml", &self.unknown, &LINEAGE)?;
        let mut limits = Limits::default();
        limits.chunk.turns = self.chunk_turns.unwrap_or(limits.chunk.turns);
        limits.chunk.tokens = self.chunk_tokens.unwrap_or(limits.chunk.tokens);
        limits.compact_turns = self.compact_turns.unwrap_or(limits.compact_turns);
        limits.compact_tokens = self.compact_tokens.unwrap_or(limits.compact_tokens);
        limits.tail_tokens = self.tail_tokens.unwrap_or(limits.tail_tokens);
        limits.handoff_tokens = self.handoff_tokens.unwrap_or(limits.handoff_tokens);
        if limits.chunk.turns == 0 || limits.chunk.tokens == 0 || !(200..=8_000).contains(&limits.handoff_tokens) {
            return Err(Error::usage("the section lineage of config.toml has a value that cannot be")
                .hint("chunk_turns and chunk_tokens are at least 1, handoff_tokens is 200 to 8000"));
        }
        Ok(limits)
    }
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub struct Daemon {
    /// Default agent.
    pub workspace: Option<String>,
    /// Port the service listens on; 0 means any free port.
    pub port: Option<u16>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

pub const DAEMON: [&str; 2] = ["workspace", "port"];

/// Returns the settings of a home for the engine. `agent` is the command-line option, if given.
pub fn settings(home: &heirloom_engine::home::Home, agent: Option<&str>) -> Result<Settings> {
    let file = file(home)?;
    let model = file.model.clone().language_model(home);
    Ok(Settings {
        model,
        agent: self::agent(agent, &file)?.value,
        limits: file.lineage.limits().map_err(|e| Wrong::from(&e)),
        judge: file.judged_by().map_err(|e| Wrong::from(&e)),
        zone: print::machine_zone(),
        user_home: user_home(),
        embeddings: match file.embeddings.model_at() {
            // A misspelt key does not take the search away: words find as before, and `doctor` names the key.
            Err(e) if !file.embeddings.unknown.is_empty() => {
                let wrong = Wrong::from(&e);
                let none = heirloom_engine::engine::Embeddings::load("as config.toml has it", false, move || {
                    Err(Error::from(&wrong))
                });
                none.or_older(|| Ok(Arc::new(StaticTable::built_in())))
            }
            Err(e) => heirloom_engine::engine::Embeddings::wrong(Wrong::from(&e)),
            Ok(at) => {
                let (shown, is_built_in) = (at.shown(), at == ModelAt::BuiltIn);
                let wanted =
                    heirloom_engine::engine::Embeddings::load(shown, is_built_in, move || file.embeddings.embedder());
                // The built-in table answers until the vectors of the chosen model are made.
                match is_built_in {
                    true => wanted,
                    false => wanted.or_older(|| Ok(Arc::new(StaticTable::built_in()))),
                }
            }
        },
    })
}

/// Returns the home's path: from `--home`, `HEIRLOOM_HOME`, `LIONCLAW_HOME`, or `~/.heirloom`.
pub fn home(option: Option<&Path>) -> Result<Set<PathBuf>> {
    if let Some(path) = option {
        return Ok(Set { value: path.to_owned(), from: From::Option });
    }
    for name in ["HEIRLOOM_HOME", "LIONCLAW_HOME"] {
        if let Some(path) = variable(name) {
            return Ok(Set { value: path, from: From::Environment(name) });
        }
    }
    match user_home() {
        Some(home) => Ok(Set { value: home.join(".heirloom"), from: From::Default }),
        None => Err(Error::usage("there is no home directory (HOME is not set)")
            .hint("say where the memory lives: --home DIR or HEIRLOOM_HOME=DIR")),
    }
}

/// Reads the settings file of a home; a missing file reads as empty.
pub fn file(home: &heirloom_engine::home::Home) -> Result<File> {
    let Some(bytes) = home.read(&layout::CONFIG, 1 << 20)? else { return Ok(File::default()) };
    let text = String::from_utf8(bytes).map_err(|e| Error::usage("config.toml is not UTF-8").because(e))?;
    toml::from_str(&text).map_err(|e| {
        let what = format!("{} cannot be read: {}", home.root().join(layout::CONFIG.as_str()).display(), e.message());
        Error::usage(what).hint("correct it or move it away")
    })
}

/// Checks everything a service reads from the settings of its home, except the sections `model` and `backup`: what is
/// wrong there keeps only models and backups from working, and is told by `doctor`.
pub fn make_sense(home: &heirloom_engine::home::Home, agent: Option<&str>) -> Result<()> {
    let file = file(home)?;
    file.known_only()?;
    file.lineage.limits()?;
    file.judged_by()?;
    file.embeddings.model_at()?;
    self::agent(agent, &file).map(drop)
}

/// Returns the agent: from `--agent`, `HEIRLOOM_AGENT`, `daemon.workspace` in the settings, or `main`.
pub fn agent(option: Option<&str>, file: &File) -> Result<Set<AgentId>> {
    if let Some(name) = option {
        return Ok(Set { value: AgentId::parse(name)?, from: From::Option });
    }
    if let Some(name) = std::env::var("HEIRLOOM_AGENT").ok().filter(|n| !n.is_empty()) {
        return Ok(Set { value: AgentId::parse(&name)?, from: From::Environment("HEIRLOOM_AGENT") });
    }
    if let Some(name) = &file.daemon.workspace {
        return Ok(Set { value: AgentId::parse(name)?, from: From::File });
    }
    Ok(Set { value: AgentId::main(), from: From::Default })
}

/// Returns the places where programs keep their files on this machine.
pub fn host() -> HostPaths {
    HostPaths {
        home: user_home().unwrap_or_default(),
        claude_config_dir: variable("CLAUDE_CONFIG_DIR"),
        codex_home: variable("CODEX_HOME"),
        xdg_config_home: variable("XDG_CONFIG_HOME").filter(|p| p.is_absolute()),
        xdg_data_home: variable("XDG_DATA_HOME").filter(|p| p.is_absolute()),
        // OpenClaw's state folder is below `OPENCLAW_HOME` if only that is set.
        openclaw_state_dir: variable("OPENCLAW_STATE_DIR")
            .or_else(|| variable("OPENCLAW_HOME").map(|own| own.join(".openclaw"))),
        openclaw_config_path: variable("OPENCLAW_CONFIG_PATH"),
        system: Some(PathBuf::from("/")),
    }
}

/// Returns a digest of what a hook and the service that answers it must have in common: where the programs keep their
/// sessions, the default agent, and the clock.
pub fn environment(global: &crate::context::Global) -> String {
    use std::hash::{Hash as _, Hasher as _};
    let agent = global.agent.clone().or_else(|| std::env::var("HEIRLOOM_AGENT").ok().filter(|name| !name.is_empty()));
    // The hash is equal in every process of the same build, which is enough here.
    let mut hasher = std::hash::DefaultHasher::new();
    (format!("{:?}", host()), agent, std::env::var_os("HEIRLOOM_NOW")).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns whether the user accepts a home on a network file system.
pub fn allow_network_fs() -> bool {
    std::env::var("HEIRLOOM_ALLOW_NETWORK_FS").is_ok_and(|v| v == "1")
}

/// Returns the folder for caches, which can be deleted at any time.
pub fn cache() -> Option<PathBuf> {
    variable("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| user_home().map(|h| h.join(".cache")))
}

pub fn user_home() -> Option<PathBuf> {
    variable("HOME")
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}
