//! The options every command has, and the engine opened with them.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use heirloom_engine::clock::Clock;
use heirloom_engine::engine::{Engine, How, Listener, Options, Silent};
use heirloom_engine::error::Result;
use heirloom_engine::home::HomeOptions;
use heirloom_engine::profile;
use heirloom_engine::transcript::read;
use heirloom_engine::zone;

use crate::config;
use crate::terminal::Terminal;

pub use heirloom_engine::instance::label_of;

/// Options every command has.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Global {
    /// Folder of the memory, its home [default: $HEIRLOOM_HOME, else $LIONCLAW_HOME, else ~/.heirloom]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pub home: Option<PathBuf>,

    /// Agent whose memory is used [default: $HEIRLOOM_AGENT, else daemon.workspace in config.toml, else main]
    #[arg(long, global = true, value_name = "ID", help_heading = "Everywhere")]
    pub agent: Option<String>,

    /// Print JSON for programs
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
}

/// The engine, opened for a command.
pub struct Context {
    engine: Engine,
    pub home_from: config::From,
    pub json: bool,
}

impl Deref for Context {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Context {
    /// Opens the home for commands that store something, making it if there is none.
    pub fn create(global: &Global) -> Result<Context> {
        Context::opened(global, How::Create)
    }

    /// Opens an existing home for commands that store something. A missing home is not made; missing folders in it are.
    pub fn existing(global: &Global) -> Result<Context> {
        Context::opened(global, How::Existing)
    }

    /// Opens the home for commands that only read. A missing home is an error that names the next step; a home that
    /// cannot be written is opened for reading.
    pub fn open(global: &Global) -> Result<Context> {
        Context::opened(global, How::Look)
    }

    /// Opens the home to check what is stored in it: a missing ledger is an error and is not made anew.
    pub fn to_check(global: &Global) -> Result<Context> {
        Context::opened(global, How::Check)
    }

    fn opened(global: &Global, how: How) -> Result<Context> {
        let at = config::home(global.home.as_deref())?;
        let listener: Arc<dyn Listener> = Arc::new(Terminal::new(global.json));
        let engine = Engine::open(&at.value, how, options_with(global, listener))?;
        // A failure to read the profile does not fail every command: the machine's zone is used.
        let zone_name = engine.read(|tx| match read::agent_no(tx, engine.agent())? {
            Some(no) => profile::get(tx, no, "timezone"),
            None => Ok(None),
        });
        if let Some(zone) = zone_name.ok().flatten().and_then(|name| zone::named(&name)) {
            crate::print::set_zone(zone);
        }
        Ok(Context { engine, home_from: at.from, json: global.json })
    }

    /// Returns the engine acting in a command's name, such as `cli loop`.
    pub fn acting_as(&self, actor: &str) -> Engine {
        self.engine.acting_as(actor)
    }

    /// Returns the origin of the agent's name.
    pub fn agent_from(&self, global: &Global) -> Result<config::From> {
        Ok(config::agent(global.agent.as_deref(), &config::file(self.engine.home())?)?.from)
    }
}

/// Returns the options for hooks: nothing is printed while the engine works.
pub fn options(global: &Global) -> Options {
    options_with(global, Arc::new(Silent))
}

fn options_with(global: &Global, listener: Arc<dyn Listener>) -> Options {
    let agent = global.agent.clone();
    Options {
        clock: clock(),
        home: home_options(),
        programs: heirloom_harness::on_machine(&config::host()),
        listener,
        settings: Arc::new(move |home| config::settings(home, agent.as_deref())),
    }
}

/// Returns the requirements a home must meet.
pub fn home_options() -> HomeOptions {
    HomeOptions { allow_network_fs: config::allow_network_fs() }
}

/// Returns the system clock. `HEIRLOOM_NOW` (milliseconds) fixes it for tests.
pub fn clock() -> Clock {
    std::env::var("HEIRLOOM_NOW").ok().and_then(|ms| ms.parse().ok()).map_or(Clock::System, Clock::Fixed)
}
