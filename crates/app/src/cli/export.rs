//! `heirloom export`

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::home::{ExportReport, FileWritten};
use heirloom_engine::transcript::export::{self, Beside, Part, StreamRow, Written};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Write a session as its program wrote it, byte for byte; or the whole memory as plain files
///
/// A session from a database is written as its rows, one canonical JSON line each (docs/FORMAT.md). A session with
/// sub-agents is written as its main line, as one lane with --lane, or as all its files with --all --out DIR. Forgotten
/// records are left out and counted.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session to export
    #[arg(long, value_name = "KEY", required_unless_present_any = ["source", "all"])]
    session: Option<String>,

    /// Export the session file with this path, with all sessions in it
    #[arg(long, value_name = "PATH", conflicts_with = "session")]
    source: Option<PathBuf>,

    /// File to write to; an existing file is not overwritten without --force [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,

    /// Export the file of this sub-agent
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,

    /// With --session: write every file of the session into the folder --out. Alone: write the whole memory as plain
    /// files into a new folder (docs/FORMAT.md); heirloom import of that folder makes a home of it again
    #[arg(long, conflicts_with = "lane")]
    all: bool,

    /// New folder for the whole memory
    #[arg(value_name = "DIR", requires = "all", conflicts_with_all = ["session", "source", "out"])]
    folder: Option<PathBuf>,

    /// Export an older generation of a file that was rewritten; 0 is the oldest
    #[arg(long, value_name = "N")]
    generation: Option<i64>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    if let (true, None, None) = (args.all, &args.session, &args.source) {
        let to = args.folder.as_ref().or(args.out.as_ref());
        let to =
            to.ok_or_else(|| Error::usage("the whole memory goes into a folder").hint("heirloom export --all DIR"))?;
        return whole(global, &context, to);
    }
    if args.all && args.out.is_none() {
        return Err(Error::usage("--all writes files").hint("say where to: --out DIR"));
    }
    let agent_no = context.agent_no()?;
    let name = args.session.as_deref().unwrap_or_default();
    if args.all {
        let files = context.read(|tx| export::files_of_session(tx, agent_no, name))?;
        let parts = files.into_iter().map(|stream| (Some(path_in(&args, &stream)), Part::newest(stream)));
        return write(&context, &args, parts.collect());
    }
    let (part, beside) = match &args.source {
        Some(path) => {
            let path = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone());
            let part = context.read(|tx| export::part_of_file(tx, agent_no, &path, args.generation))?;
            part.ok_or_else(|| {
                Error::not_found(format!("{} was never imported", path.display())).hint("see heirloom session show KEY")
            })?
        }
        None => {
            let lane = args.lane.as_deref();
            context.read(|tx| export::part_of_session(tx, agent_no, name, lane, args.generation))?
        }
    };
    beside.iter().for_each(say);
    write(&context, &args, vec![(args.out.clone(), part)])
}

fn whole(global: &Global, context: &Context, to: &Path) -> Result<Exit> {
    let report = context.acting_as("cli export").export_all(to)?;
    Ok(print::answer(global.json, &report, || {
        print::line(&format!(
            "{}  {}, {}: {}, {}",
            print::safe_line(&report.exported),
            print::counted(report.files, "file"),
            print::bytes(report.bytes),
            print::counted(report.sessions, "session"),
            print::counted(report.turns, "turn")
        ));
        for left in &report.left_out {
            print::note(&format!("not in it: {}", print::safe_line(left)));
        }
    }))
}

fn say(beside: &Beside) {
    print::note(&match beside {
        Beside::Mixed { path, session } => format!(
            "{} holds several sessions; these are the lines of {session}. The whole file: heirloom export --source {}",
            path.display(),
            path.display()
        ),
        Beside::AlsoKept(path) => format!("also kept: {} (heirloom export --source)", path.display()),
        Beside::Rows(n) => format!(
            "the session also has {} of a database, which are not in this file (heirloom show --session)",
            print::counted(*n, "row")
        ),
        Beside::Rewritten(n) => {
            let times = print::counted(*n, "time");
            format!("the file was rewritten {times}; older ones: --generation 0 to {}", n - 1)
        }
    });
}

/// Returns the path of a session's file below the folder `--out`; files of sub-agents go into a subfolder.
fn path_in(args: &Args, stream: &StreamRow) -> PathBuf {
    let mut path = args.out.clone().unwrap_or_else(|| ".".into());
    if !stream.lane.is_empty() {
        path.push("subagents");
    }
    path.join(stream.path.file_name().unwrap_or(stream.path.as_os_str()))
}

/// Writes each part to its file, or to standard output if it has none.
fn write(context: &Context, args: &Args, parts: Vec<(Option<PathBuf>, Part)>) -> Result<Exit> {
    let mut report = ExportReport::default();
    for (path, part) in parts {
        let Some(path) = path else {
            let mut out = std::io::BufWriter::with_capacity(1 << 16, print::Raw);
            let written = context.read(|tx| export::write(tx, &part, &mut out, &mut |_| {}))?;
            note_forgotten(written.forgotten);
            out.flush().map_err(|e| Error::io("write", Path::new("standard output"), e))?;
            return Ok(Exit::Ok);
        };
        if args.all {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
        }
        let written = to_file(context, &path, args.force, &part)?;
        report.written.push(FileWritten::of(&path, written));
    }
    Ok(print::answer(context.json, &report, || {
        for file in &report.written {
            print::line(&format!("{}  {}", file.path, print::bytes(file.bytes)));
            note_forgotten(file.forgotten);
        }
    }))
}

/// Prints the number of records an export leaves out because they were forgotten (D6).
fn note_forgotten(records: u64) {
    if records > 0 {
        print::note(&format!("{} forgotten and left out", print::counted(records, "record")));
    }
}

/// Writes to a temporary file and moves it into place, so that an interrupted export leaves no partial file.
fn to_file(context: &Context, path: &Path, force: bool, part: &Part) -> Result<Written> {
    if path.is_dir() {
        return Err(Error::usage(format!("{} is a folder", path.display())).hint("name a file, or use --all"));
    }
    if path.exists() && !force {
        return Err(Error::refused(format!("{} exists", path.display())).hint("overwrite it with --force"));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |e: std::io::Error| Error::io("write", path, e);
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    // Only its owner may read the file, whatever the umask: an export contains everything, secrets included.
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(fail)?;
    let mut out = std::io::BufWriter::new(file);
    let bar = print::bar(0, "Exporting", print::BYTES, context.json);
    let written = context.read(|tx| export::write(tx, part, &mut out, &mut |n| bar.inc(n)));
    let done = written.and_then(|written| {
        let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.sync_all().map_err(fail)?;
        std::fs::rename(&beside, path).map_err(fail)?;
        Ok(written)
    });
    bar.finish_and_clear();
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done
}
