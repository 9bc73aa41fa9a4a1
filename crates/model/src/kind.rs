//! The kinds of model, and the settings of a chosen model.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use heirloom_engine::error::{Error, Result};
use heirloom_engine::model::Failure;

use crate::anthropic::Anthropic;
use crate::asking::{Asking, Transport};
use crate::held::Held;
use crate::http::Address;
use crate::key::Key;
use crate::ollama::Ollama;
use crate::openai::OpenAi;
use crate::program::{Claude, Codex, Folders, OpenClaw, Other, Preset, Program};

/// Ways to reach a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Claude Code, with its own login.
    Claude,
    /// Codex, with its own login.
    Codex,
    /// OpenClaw, with the model of its own settings.
    OpenClaw,
    /// Ollama, usually on this machine.
    Ollama,
    Anthropic,
    /// OpenAI, or one of the many servers that speak its protocol.
    OpenAi,
    /// Any command: the question on its standard input, JSON on its standard output.
    Command,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Claude, Kind::Codex, Kind::OpenClaw, Kind::Ollama, Kind::Anthropic, Kind::OpenAi, Kind::Command];

    /// Returns the name of the kind in the settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::OpenClaw => "openclaw",
            Kind::Ollama => "ollama",
            Kind::Anthropic => "anthropic",
            Kind::OpenAi => "openai",
            Kind::Command => "command",
        }
    }

    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the kind is a program with a preset, so that its name is the program to start.
    pub fn is_preset(self) -> bool {
        matches!(self, Kind::Claude | Kind::Codex | Kind::OpenClaw)
    }

    /// Whether the kind is asked over HTTP.
    pub fn is_provider(self) -> bool {
        matches!(self, Kind::Ollama | Kind::Anthropic | Kind::OpenAi)
    }

    /// Returns the address used when the settings name none.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Kind::Ollama => Some("http://127.0.0.1:11434"),
            Kind::Anthropic => Some("https://api.anthropic.com"),
            Kind::OpenAi => Some("https://api.openai.com/v1"),
            _ => None,
        }
    }

    /// Returns the model used when the settings name none: a small one, since summaries need no more.
    pub fn usual_model(self) -> Option<&'static str> {
        match self {
            Kind::Claude => Some("haiku"),
            Kind::Anthropic => Some("claude-haiku-4-5"),
            _ => None,
        }
    }
}

/// Settings of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub kind: Kind,
    /// The model's name at its provider or program.
    pub model: Option<String>,
    /// The address of a provider. For OpenAI it includes `/v1`.
    pub url: Option<String>,
    /// The program and its arguments; for a preset, only the program.
    pub command: Vec<String>,
    /// The key, which is sent to the provider's origin and nowhere else.
    pub key: Option<Key>,
    /// The program that prints the key, with its whole path, and its arguments; empty if there is none. It is run when a
    /// question is sent, and only if `key` is `None`.
    pub key_command: Vec<String>,
    /// Longest time one request may take.
    pub timeout: Duration,
}

impl Choice {
    /// Makes a choice with defaults: two minutes for a request, since models on a person's own machine are slow.
    pub fn new(kind: Kind) -> Choice {
        Choice {
            kind,
            model: None,
            url: None,
            command: Vec::new(),
            key: None,
            key_command: Vec::new(),
            timeout: Duration::from_secs(120),
        }
    }

    /// Returns the name recorded with everything made from the model's answers: `claude/haiku`.
    pub fn name(&self) -> String {
        let program = || {
            let first = self.command.first().map(PathBuf::from);
            first.and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned()))
        };
        let model = match self.kind {
            Kind::Command => program(),
            _ => self.model.clone().or(self.kind.usual_model().map(str::to_owned)),
        };
        format!("{}/{}", self.kind.name(), model.as_deref().unwrap_or("default"))
    }

    /// Makes the model without asking it anything. `Usage` if a setting is missing or invalid, `Refused` if a key would
    /// cross a network in the clear.
    pub fn open(&self, folders: Folders) -> Result<Asking> {
        let transport: Box<dyn Transport> = match self.kind {
            Kind::Anthropic => Box::new(Anthropic {
                address: self.address("/v1/messages", ("x-api-key", ""), &folders)?,
                model: self.named_model()?,
                in_words: AtomicBool::new(false),
            }),
            Kind::OpenAi => Box::new(OpenAi {
                address: self.address("/chat/completions", ("authorization", "Bearer "), &folders)?,
                model: self.named_model()?,
                takes: AtomicUsize::new(0),
                newer_limit: AtomicBool::new(false),
            }),
            Kind::Ollama => Box::new(Ollama {
                address: self.address("/api/chat", ("authorization", "Bearer "), &folders)?,
                model: self.named_model()?,
            }),
            Kind::Claude | Kind::Codex | Kind::OpenClaw | Kind::Command => self.program(folders)?,
        };
        Ok(Asking::new(self.name(), transport))
    }

    /// Checks that the program of a preset is installed in a version that was tried. Providers and commands are not
    /// checked.
    pub fn look(&self, folders: &Folders) -> Result<(), Failure> {
        if !self.kind.is_preset() {
            return Ok(());
        }
        let preset = self.preset().map_err(|e| Failure::Refused(e.to_string()))?;
        crate::program::look(&self.program_path(), &*preset, folders, self.timeout)
    }

    /// Gets the key from the program that prints it, so that a person sees now whether that works. Fails as a question
    /// would; without such a program nothing is run.
    pub fn look_for_key(&self, folders: &Folders) -> Result<(), Failure> {
        match self.held(folders) {
            Some(held @ Held::Printed { .. }) => held.key().map(drop),
            _ => Ok(()),
        }
    }

    fn held(&self, folders: &Folders) -> Option<Held> {
        let by_program = || {
            let command = Some(self.key_command.clone()).filter(|command| !command.is_empty());
            command.map(|command| Held::by_program(command, folders.empty.clone(), self.timeout))
        };
        self.key.clone().map(Held::Given).or_else(by_program)
    }

    fn program_path(&self) -> PathBuf {
        PathBuf::from(self.command.first().map_or(self.kind.name(), String::as_str))
    }

    fn address(&self, path: &str, header: (&'static str, &str), folders: &Folders) -> Result<Address> {
        let url = self.url.as_deref().or(self.kind.usual_url()).unwrap_or_default();
        Address::new(url, path, self.held(folders), header, self.timeout)
    }

    fn named_model(&self) -> Result<String> {
        let named = self.model.clone().or(self.kind.usual_model().map(str::to_owned));
        named.filter(|name| !name.is_empty()).ok_or_else(|| {
            Error::usage(format!("{} serves several models: which one?", self.kind.name()))
                .hint("add --model NAME, as it calls it")
        })
    }

    fn preset(&self) -> Result<Box<dyn Preset>> {
        Ok(match self.kind {
            Kind::Claude => Box::new(Claude { model: self.named_model()? }),
            Kind::Codex => Box::new(Codex { model: self.model.clone() }),
            Kind::OpenClaw => Box::new(OpenClaw { model: self.model.clone() }),
            _ => Box::new(Other { arguments: self.command.iter().skip(1).cloned().collect() }),
        })
    }

    fn program(&self, folders: Folders) -> Result<Box<dyn Transport>> {
        if self.kind == Kind::Command && self.command.first().is_none_or(String::is_empty) {
            return Err(Error::usage("the settings name no command for the language model"));
        }
        let (path, preset) = (self.program_path(), self.preset()?);
        Ok(Box::new(Program { path, preset, folders, timeout: self.timeout }))
    }
}
