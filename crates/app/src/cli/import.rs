//! `heirloom import`

use std::path::{Path, PathBuf};

use heirloom_engine::engine::{Engine, Source, import_export, is_export};
use heirloom_engine::error::{Error, ErrorKind, Problem, Result};
use heirloom_engine::report::import::Imported;
use heirloom_engine::source::find::find;
use heirloom_harness::{Form, Harness};

use super::{report, restore};
use crate::context::{Context, Global, home_options};
use crate::error::Exit;
use crate::terminal::Terminal;
use crate::{config, print, programs};

/// Import sessions: those of all programs on this machine, or the files named
///
/// Reads only what is new since the last import; running it again costs almost nothing. The programs' own files are
/// never changed. A record that cannot be decoded is kept and set aside, and the rest is imported (exit code 1).
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Files or folders; the folder of a heirloom export --all, into a home without a memory; `-` reads plain turns
    /// from standard input [default: the usual places of all programs]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Import only this program's sessions, or treat the named files as this program's
    #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw"])]
    harness: Option<String>,

    /// Read the named files as plain turns: one JSON object per line with `session` and `text`
    #[arg(long, value_name = "FORMAT", value_parser = ["turns"], conflicts_with = "harness")]
    format: Option<String>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if let [folder] = args.paths.as_slice()
        && is_export(folder)
    {
        return whole(global, folder);
    }
    let context = Context::create(global)?;
    let named = args.harness.as_deref().or(args.format.as_deref()).and_then(heirloom_harness::by_name);
    if args.paths.iter().any(|p| p == Path::new("-")) {
        if args.paths.len() > 1 || args.harness.is_some() {
            return Err(Error::usage("- stands alone, with --format turns"));
        }
        return super::append::import_stdin(global, &context);
    }
    let mut plan = Plan::default();
    if args.paths.is_empty() {
        if args.format.is_some() {
            return Err(Error::usage("--format turns needs files, or - for standard input"));
        }
        for found in programs::look(&config::host(), args.harness.as_deref()) {
            plan.take(found);
        }
    } else {
        if let [path] = args.paths.as_slice()
            && std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
        {
            return Err(Error::not_found(format!("there is no {}", path.display())).hint("check the path"));
        }
        for path in &args.paths {
            plan.path(path, named);
        }
    }
    let nothing_found = plan.is_empty();
    let done = plan.import(&context.acting_as("cli import"))?;
    if global.json {
        print::report(&done);
    } else if nothing_found {
        print::line("No sessions of Claude Code, Codex, OpenCode or OpenClaw were found on this machine.");
        print::line("Name files or folders to import: heirloom import PATH…");
    } else {
        report::incomplete(&done);
        print::line(&report::summary(&done));
    }
    Ok(exit(&done))
}

/// Makes a home from an export of everything.
fn whole(global: &Global, folder: &Path) -> Result<Exit> {
    let root = config::home(global.home.as_deref())?.value;
    let report = import_export(folder, &root, &home_options(), &Terminal::new(global.json))?;
    restore::said(global, "cli import", "Imported into", &report)
}

/// Returns the exit code of a command that imports.
pub fn exit(done: &Imported) -> Exit {
    if done.problems.is_empty() { Exit::Ok } else { Exit::Problems }
}

/// The sources to read.
#[derive(Default)]
pub struct Plan {
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

impl Plan {
    /// Adds all session stores of a program.
    pub fn take(&mut self, found: programs::Found) {
        for path in found.files {
            if let Some(form) = found.harness.claims(&path) {
                self.add(found.harness, form, path);
            }
        }
        self.problems.extend(found.errors.iter().map(|e| Problem::of(Path::new(""), e)));
    }

    /// Adds a file or folder that the user named.
    pub fn path(&mut self, path: &Path, named: Option<&'static dyn Harness>) {
        if !path.is_dir() {
            match programs::whose(path, named) {
                Ok((harness, form)) => self.add(harness, form, path.to_owned()),
                Err(e) => self.problems.push(Problem::of(path, &e)),
            }
            return;
        }
        // In a folder that belongs to no program, file names prove nothing: every file that looks like a transcript is
        // tried.
        let looks = |p: &Path| match named {
            Some(h) if h.spec().name != "turns" => h.claims(p).is_some() || is_lines(p),
            Some(_) => is_lines(p),
            None => heirloom_harness::ALL.iter().any(|h| h.claims(p).is_some()) || is_lines(p),
        };
        let (files, errors) = find(path, &looks);
        self.problems.extend(errors.iter().map(|e| Problem::of(path, e)));
        if files.is_empty() && errors.is_empty() {
            self.problems.push(Problem::of(path, &Error::usage("there is no session file in it")));
        }
        for file in files {
            match programs::whose(&file, named) {
                Ok((harness, form)) => self.add(harness, form, file),
                // Other files in a folder are ignored; a file that cannot be read and a pipe are
                // problems.
                Err(e) if e.kind() == ErrorKind::Usage && file.is_file() => {}
                Err(e) => self.problems.push(Problem::of(&file, &e)),
            }
        }
    }

    fn add(&mut self, harness: &'static dyn Harness, form: Form, path: PathBuf) {
        self.sources.push(Source { program: harness.spec().name, form, path });
    }

    /// Adds the demo's conversation in the plain format.
    pub fn demo_turns(&mut self, folder: &Path) {
        if let Some(turns) = heirloom_harness::by_name("turns") {
            for file in find(folder, &|p| p.to_string_lossy().ends_with(".turns.jsonl")).0 {
                self.add(turns, Form::Lines, file);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.problems.is_empty()
    }

    /// Imports the sources. Problems from collecting the sources come first in the report.
    pub fn import(self, engine: &Engine) -> Result<Imported> {
        let mut done = engine.import(&self.sources)?;
        done.problems.splice(0..0, self.problems);
        Ok(done)
    }
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "jsonl")
}
