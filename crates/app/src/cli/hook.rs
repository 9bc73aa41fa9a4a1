//! `heirloom hook`

use std::ffi::OsString;

use heirloom_engine::error::Result;

use crate::context::Global;
use crate::error::Exit;

/// Handle a program's hook: reads the payload from standard input and prints the answer for the program
///
/// heirloom connect writes this command into the programs' settings. It always succeeds, within a fraction of a second,
/// and prints what the program accepts or nothing; work it had to skip is noted in logs/hooks.log.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The program: claude-code, codex, opencode, openclaw
    program: String,

    /// The program's own name of the event, such as UserPromptSubmit
    event: String,
}

pub fn run(global: &Global, args: &Args) -> Result<Exit> {
    crate::hook::run(global, &args.program, &args.event);
    Ok(Exit::Ok)
}

/// Parses the arguments of a hook as programs pass them, without the argument parser, which takes longer than
/// everything else a hook does. `None` if the arguments have another form, or ask for help.
pub fn plainly(arguments: &[OsString]) -> Option<(Global, String, String)> {
    let mut rest = arguments.get(1..)?.iter();
    let mut global = Global::default();
    let mut words = Vec::new();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("--home") => global.home = Some(rest.next()?.into()),
            Some("--agent") => global.agent = Some(rest.next()?.to_str()?.to_owned()),
            Some(word) if !word.starts_with('-') => words.push(word.to_owned()),
            _ => return None,
        }
    }
    let [command, program, event] = words.try_into().ok()?;
    (command == "hook").then_some((global, program, event))
}

/// Returns whether the arguments are those of a hook, even of an invalid call.
pub fn is_meant(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--home" | "--agent") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => return other == Some("hook"),
        }
    }
    false
}
