//! `heirloom export`

use std::io::Write;
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::transcript::export::{self, StreamRow, Written};
use heirloom_engine::transcript::prepare::OriginForm;
use heirloom_engine::transcript::read;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Write a session back, byte for byte as its program wrote it
///
/// For programs that keep sessions in a database: its rows, one canonical JSON line each (docs/FORMAT.md). A session
/// with sub-agents: the main line, or one with --lane, or all files with --all --out DIR. What was forgotten is left out
/// and counted.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session
    #[arg(long, value_name = "KEY", required_unless_present = "source")]
    session: Option<String>,

    /// The session file with this path, whatever sessions are in it
    #[arg(long, value_name = "PATH", conflicts_with = "session")]
    source: Option<PathBuf>,

    /// Where to; an existing file is not overwritten without --force [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,

    /// This sub-agent's file
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,

    /// Every file of the session, into the folder --out
    #[arg(long, requires = "out", conflicts_with = "lane")]
    all: bool,

    /// An older generation of a file that was rewritten; 0 is the oldest
    #[arg(long, value_name = "N")]
    generation: Option<i64>,

    /// Overwrite
    #[arg(long)]
    force: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    if let Some(path) = &args.source {
        let canonical = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone());
        let stream = context.read(|tx| export::stream_of_file(tx, agent_no, &canonical))?;
        let stream = stream.ok_or_else(|| {
            Error::not_found(format!("{} was never imported", canonical.display()))
                .hint("see heirloom session show KEY")
        })?;
        return one(&context, &args, &stream);
    }
    let name = args.session.as_deref().unwrap_or_default();
    let session = context.read(|tx| read::session_named(tx, agent_no, name))?;
    let streams = context.read(|tx| export::streams(tx, session.no))?;
    let files: Vec<&StreamRow> = streams.iter().filter(|s| s.form == OriginForm::File).collect();
    let rows: Vec<StreamRow> = streams.iter().filter(|s| s.form == OriginForm::Database).cloned().collect();

    if args.all {
        return all_files(&context, &args, &files);
    }
    let wanted = args.lane.as_deref().unwrap_or("");
    let mut of_lane: Vec<&StreamRow> = files.iter().copied().filter(|s| s.lane == wanted).collect();
    if !rows.is_empty() && of_lane.is_empty() {
        let rows: Vec<StreamRow> = match &args.lane {
            Some(lane) => rows.into_iter().filter(|s| s.lane == *lane).collect(),
            None => rows,
        };
        return write(&context, &args, &mut |out, progress| {
            context.read(|tx| export::write_rows(tx, &Opener::default(), &rows, out, progress))
        });
    }
    if of_lane.is_empty() {
        if let Some(lane) = &args.lane {
            let known: Vec<&str> = files.iter().map(|s| s.lane.as_str()).filter(|l| !l.is_empty()).collect();
            return Err(Error::not_found(format!("{} has no sub-agent {lane:?}", session.key))
                .hint(if known.is_empty() { "it has none".into() } else { format!("it has: {}", known.join(", ")) }));
        }
        // Said live, or in a file that mixes several sessions: the lines that are this session's.
        return write(&context, &args, &mut |out, _| {
            context.read(|tx| export::write_session_records(tx, &Opener::default(), session.no, out))
        });
    }
    if context.read(|tx| export::is_mixed(tx, of_lane[0].no))? {
        print::note(&format!(
            "{} holds several sessions; these are the lines of {}. The whole file: heirloom export --source {}",
            of_lane[0].path.display(),
            session.key,
            of_lane[0].path.display()
        ));
        return write(&context, &args, &mut |out, _| {
            context.read(|tx| export::write_session_records(tx, &Opener::default(), session.no, out))
        });
    }
    // The same session in several files (a copy, another folder): the one with the most in it; the others are named.
    of_lane.sort_by_key(|s| (std::cmp::Reverse(s.bytes), s.no));
    for other in &of_lane[1..] {
        print::note(&format!("also kept: {} (heirloom export --source)", other.path.display()));
    }
    if !rows.is_empty() {
        let n = print::counted(rows.len() as u64, "row");
        print::note(&format!(
            "the session also has {n} of a database, which are not in this file (heirloom show --session)"
        ));
    }
    one(&context, &args, of_lane[0])
}

fn one(context: &Context, args: &Args, stream: &StreamRow) -> Result<Exit> {
    let generation = args.generation.unwrap_or(stream.generation);
    if stream.generation > 0 && args.generation.is_none() {
        print::note(&format!(
            "the file was rewritten {}; older ones: --generation 0 to {}",
            print::counted(stream.generation as u64, "time"),
            stream.generation - 1
        ));
    }
    write(context, args, &mut |out, progress| {
        context.read(|tx| export::write_stream(tx, &Opener::default(), stream, generation, out, progress))
    })
}

fn all_files(context: &Context, args: &Args, files: &[&StreamRow]) -> Result<Exit> {
    let folder = args.out.as_deref().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
    let mut written = Vec::new();
    for stream in files {
        let name = stream.path.file_name().unwrap_or(stream.path.as_os_str());
        let path = match stream.lane.as_str() {
            "" => folder.join(name),
            _ => {
                let below = folder.join("subagents");
                std::fs::create_dir_all(&below).map_err(|e| Error::io("make", &below, e))?;
                below.join(name)
            }
        };
        let done = to_file(context, &path, args.force, &mut |out, progress| {
            context.read(|tx| export::write_stream(tx, &Opener::default(), stream, stream.generation, out, progress))
        })?;
        written.push((path, done));
    }
    if context.json {
        let list: Vec<_> = written.iter().map(|(path, done)| written_json(path, *done)).collect();
        print::line(&json!({"written": list}).to_string());
    } else {
        for (path, done) in &written {
            print::line(&format!("{}  {}", path.display(), print::bytes(done.bytes)));
            note_forgotten(*done);
        }
    }
    Ok(Exit::Ok)
}

type Writer<'w> = dyn FnMut(&mut dyn Write, &mut dyn FnMut(u64)) -> Result<Written> + 'w;

fn write(context: &Context, args: &Args, writer: &mut Writer) -> Result<Exit> {
    match &args.out {
        None => {
            let mut out = std::io::BufWriter::with_capacity(1 << 16, print::Raw);
            let done = writer(&mut out, &mut |_| {})?;
            note_forgotten(done);
            out.flush().map_err(|e| Error::io("write", Path::new("standard output"), e))?;
        }
        Some(path) => {
            let done = to_file(context, path, args.force, writer)?;
            if context.json {
                print::line(&json!({"written": [written_json(path, done)]}).to_string());
            } else {
                print::line(&format!("{}  {}", path.display(), print::bytes(done.bytes)));
                note_forgotten(done);
            }
        }
    }
    Ok(Exit::Ok)
}

fn written_json(path: &Path, done: Written) -> serde_json::Value {
    json!({"path": path.display().to_string(), "bytes": done.bytes, "forgotten": done.forgotten})
}

/// What is not in an export is said (D6).
fn note_forgotten(done: Written) {
    if done.forgotten > 0 {
        print::note(&format!("{} forgotten and left out", print::counted(done.forgotten, "record")));
    }
}

/// Written beside and moved into place: an export that is cut off leaves no half file under its name.
fn to_file(context: &Context, path: &Path, force: bool, writer: &mut Writer) -> Result<Written> {
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
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside).map_err(fail)?;
    let mut out = std::io::BufWriter::new(file);
    let bar = print::bar(0, "Exporting", print::BYTES, context.json);
    let done = writer(&mut out, &mut |n| bar.inc(n)).and_then(|n| {
        let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.sync_all().map_err(fail)?;
        std::fs::rename(&beside, path).map_err(fail)?;
        Ok(n)
    });
    bar.finish_and_clear();
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done
}
