//! `heirloom completions`

use clap::CommandFactory;
use clap_complete::Shell;
use heirloom_engine::error::{Error, Result};
use serde::Serialize;

use crate::context::Global;
use crate::error::Exit;
use crate::print;

/// Print a shell's completion script for Heirloom's commands and options
///
/// bash: heirloom completions bash > ~/.local/share/bash-completion/completions/heirloom
/// zsh: heirloom completions zsh > a folder of your $fpath, as _heirloom
/// fish: heirloom completions fish > ~/.config/fish/completions/heirloom.fish
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The shell [default: the one in $SHELL]
    #[arg(value_name = "SHELL")]
    shell: Option<Shell>,
}

/// The output of `completions --json`.
#[derive(Serialize)]
struct Report {
    shell: String,
    script: String,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let shell = args.shell.or_else(Shell::from_env).ok_or_else(|| {
        Error::usage("$SHELL names no shell that is known").hint("name one: bash, elvish, fish, powershell, zsh")
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "heirloom", &mut script);
    if !global.json {
        return Ok(print::raw(&script));
    }
    let script = String::from_utf8_lossy(&script).into_owned();
    print::report(&Report { shell: shell.to_string(), script });
    Ok(Exit::Ok)
}
