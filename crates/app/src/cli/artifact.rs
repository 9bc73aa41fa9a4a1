//! `heirloom artifact`

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::continuity::artifact::{LONGEST, NewArtifact, Text};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::items::EntryReport;
use heirloom_engine::tree::file_table::Kind;
use heirloom_engine::tree::provenance::{Origin, Provenance};

use super::open_loop::print_items;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Artifacts: texts that were made and are worth keeping
///
/// Each artifact is a dated file in continuity/artifacts/. Output of jobs and promoted drafts become artifacts.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List artifacts, newest first
    List {
        /// Maximum number of artifacts
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Keep a text; a taken name gets -2, -3
    Add {
        /// Title in a few words; the file is named after the title and the day
        #[arg(value_name = "TITLE")]
        title: String,
        /// The file to keep; - is standard input. Markdown stays as it is, other text is fenced
        #[arg(long, value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    /// Print an artifact's file
    Show {
        /// Id (a:…), title or file
        #[arg(value_name = "ARTIFACT")]
        name: String,
    },
}

const ACTOR: &str = "cli artifact";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { limit } => list(global, limit),
        Command::Add { title, file } => {
            let text = text(&file)?;
            let engine = Context::create(global)?.acting_as(ACTOR);
            let source = Provenance { origin: Origin::User, ..Provenance::default() };
            let new =
                NewArtifact { title, text, source, kind: None, created: engine.now(), fields: serde_json::Map::new() };
            let item = engine.keep(&new)?;
            Ok(print_items(global, &[item], "Kept"))
        }
        Command::Show { name } => {
            let none = Error::not_found("nothing was kept yet").hint("heirloom artifact add \"…\" --file F");
            super::files::show_named(global, ACTOR, Kind::Artifact, &name, none)
        }
    }
}

fn text(file: &Path) -> Result<Text> {
    let stdin = file == Path::new("-");
    if stdin && std::io::stdin().is_terminal() {
        return Err(Error::usage("there is no text to keep").hint("pipe it in, or name a file: --file F"));
    }
    let mut bytes = Vec::new();
    let most = LONGEST as u64 + 1;
    let read = match stdin {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|f| f.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(|e| Error::io("read", file, e))?;
    if bytes.trim_ascii().is_empty() {
        return Err(Error::usage("there is no text to keep").hint("an artifact says something"));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("{} is no text (not UTF-8)", file.display()))
            .hint("keep it where it is, and say in an artifact what it is and where it lies")
    })?;
    let markdown = stdin || file.extension().is_some_and(|e| e.eq_ignore_ascii_case("md") || e == "markdown");
    Ok(if markdown { Text::Markdown(text) } else { Text::Plain(text) })
}

fn list(global: &Global, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.artifacts(limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.artifacts.is_empty() {
            print::line("Nothing was kept yet.");
        }
        let now = engine.now();
        let row = |e: &EntryReport| {
            let created = e.entry.field("created").and_then(parse_rfc3339);
            vec![
                e.id.clone().unwrap_or_default(),
                print::cut(&print::safe_line(&e.title), 60),
                print::when(created, now),
            ]
        };
        print::list(&report.artifacts.iter().map(row).collect::<Vec<_>>(), report.all as usize);
    }))
}
