//! `heirloom mcp`

use std::path::PathBuf;
use std::sync::Arc;

use heirloom_engine::engine::{Engine, How};
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::next_step;
use heirloom_mcp::{Memory, Opening, serve_stdio, tool_for};

use crate::context::{Global, options};
use crate::error::Exit;
use crate::{config, heap};

/// Serve this memory to one program over the Model Context Protocol, on standard input and output
///
/// A program that speaks the protocol starts this command itself. Its settings name the command heirloom with the
/// argument mcp, for example {"mcpServers": {"heirloom": {"command": "heirloom", "args": ["mcp"]}}}. The program is
/// given only what a session in its folder may see. It can recall, search, open what was said, propose memory, and add
/// and close open loops; it cannot forget, merge or change settings. The server ends with the program and holds no lock
/// or file between requests.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The project's folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    heap::one();
    end_with_parent();
    // The caller is a model that calls tools and has no command line, so next steps name the tool where there is one.
    next_step::word_with(tool_for);
    let folder = match args.folder {
        Some(folder) if !folder.is_dir() => {
            return Err(Error::not_found(format!("there is no folder {}", folder.display())).hint("leave out --folder"));
        }
        Some(folder) => Some(folder),
        None => project_folder(),
    };
    let global = global.clone();
    let opening: Opening = Arc::new(move || {
        let at = config::home(global.home.as_deref())?;
        Engine::open(&at.value, How::Look, options(&global))
    });
    let served = serve_stdio(Memory::new(opening, folder));
    served.map_err(|e| Error::new(ErrorKind::Machine, e.to_string()))?;
    Ok(Exit::Ok)
}

/// Returns the current folder, unless it is the user's home or above it: desktop programs start their servers there.
fn project_folder() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let home = config::user_home().map(|home| home.canonicalize().unwrap_or(home));
    let is_above = home.map_or(here.parent().is_none(), |home| home.starts_with(&here));
    (!is_above).then_some(here)
}

/// Asks the kernel to end this process together with its parent: a client that is killed does not close our input.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        let before = getppid();
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        // The parent may have ended before the kernel was asked.
        if getppid() != before {
            std::process::exit(0);
        }
    }
}
