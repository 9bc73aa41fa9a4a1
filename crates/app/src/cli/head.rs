//! `heirloom head`

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Millis;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::pages::head_lease;
use heirloom_engine::pages::shared::LARGEST_SECTION;
use heirloom_engine::render::head_commits::Change;
use heirloom_engine::report::heads::{
    BusyReport, HeadAcquired, HeadCommit, HeadCommitted, HeadDiff, HeadExplained, HeadGranted, HeadLog, HeadRestored,
    HeadShown, HeadsReport,
};
use serde::Serialize;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Heads: the pages programs read first, the sections other programs write into them, and their revisions
///
/// MEMORY.md, ACTIVE.md, the index of threads and the head of each thread are rendered; a program may add named
/// sections to them. To write a section: acquire the head, commit the section with the epoch and the revision that came
/// with the lease, release the head. A commit to a busy head is refused (75) and kept: it is applied when the head is
/// free.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List the heads, who holds them, and which commits wait
    List,
    /// Print a head: its rendered block and its sections
    Show {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD", default_value = "memory")]
        head: String,
        /// The head of this thread, for a name that is also the name of another head
        #[arg(long, value_name = "T", conflicts_with = "head")]
        thread: Option<String>,
        /// Show the head as it was in this revision
        #[arg(long, value_name = "N")]
        revision: Option<i64>,
        /// Show why each line is there, and what was left out
        #[arg(long, conflicts_with = "revision")]
        why: bool,
    },
    /// List the revisions of a head, newest first
    Log {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// Maximum number of revisions
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Print the lines in which two revisions differ
    Diff {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The older revision
        #[arg(value_name = "A")]
        from: i64,
        /// The newer revision [default: the newest there is]
        #[arg(value_name = "B")]
        to: Option<i64>,
    },
    /// Restore the sections of a revision, as a new revision
    ///
    /// The rendered block follows from what is known now and is rendered anew. Text you wrote around it is not part of
    /// a revision; earlier states of the file are in heirloom show --revisions MEMORY.md.
    Restore {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// Number of the revision
        #[arg(value_name = "N")]
        revision: i64,
    },
    /// Acquire a head, to commit sections to it
    ///
    /// Prints the epoch and the revision a commit must name. Acquiring a head again under the same name makes the
    /// earlier lease invalid.
    Acquire {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// Name the caller chooses for itself: letters, digits and - _ . : @ /
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// Duration of the lease in seconds
        #[arg(long, value_name = "SECS", default_value_t = head_lease::TTL / 1000, value_parser = clap::value_parser!(i64).range(1..=60))]
        ttl: i64,
    },
    /// Write, replace or remove a section (an empty one is removed)
    ///
    /// A section stays until it is replaced; at most 4 KiB, and 8 sections a head. The commit is refused and kept for
    /// later (75) if another writer holds the head, the lease has expired, or the head has a newer revision.
    Commit {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The section: 1 to 40 of a-z, 0-9 and -
        #[arg(long, value_name = "NAME")]
        section: String,
        /// Owner name the head was acquired with
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// Epoch returned with the lease
        #[arg(long, value_name = "E", allow_negative_numbers = true)]
        epoch: i64,
        /// Revision the content is based on: the one returned with the lease, or that of your last commit
        #[arg(long, value_name = "R", allow_negative_numbers = true)]
        base: i64,
        /// File with the content; - is standard input
        #[arg(long, value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    /// Release a head
    Release {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// Owner name the head was acquired with
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// Epoch returned with the lease
        #[arg(long, value_name = "E", allow_negative_numbers = true)]
        epoch: i64,
    },
}

const ACTOR: &str = "cli head";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let json = global.json;
    match args.command {
        Command::List => print_as(json, &engine.heads()?, list),
        Command::Show { head, thread, revision, why } => {
            let head = match thread {
                Some(thread) => engine.head_of_thread(&thread)?,
                None => head,
            };
            match why {
                true => print_as(json, &engine.explain_head(&head)?, explain),
                false => print_as(json, &engine.head(&head, revision)?, show),
            }
        }
        Command::Log { head, limit } => {
            print_as(json, &engine.head_log(&head, limit)?, |report| log(report, engine.now()))
        }
        Command::Diff { head, from, to } => print_as(json, &engine.head_diff(&head, from, to)?, diff),
        Command::Restore { head, revision } => print_as(json, &engine.restore_head(&head, revision)?, restored),
        Command::Acquire { head, owner, ttl } => match engine.acquire_head(&head, &owner, ttl * 1000)? {
            HeadAcquired::Granted(report) => print_as(json, &report, granted),
            HeadAcquired::Held(report) => {
                print_as(json, &report, |report| busy(&report.error))?;
                Ok(Exit::Busy)
            }
        },
        Command::Commit { head, section, owner, epoch, base, file } => {
            let content = words(&file)?;
            let change = Change { section: &section, owner: &owner, content: &content };
            match engine.commit_head(&head, &change, epoch, base)? {
                HeadCommit::Stands(report) => print_as(json, &report, committed),
                HeadCommit::Refused(report) => {
                    print_as(json, &report, |report| busy(&report.error))?;
                    Ok(Exit::Busy)
                }
            }
        }
        Command::Release { head, owner, epoch } => {
            print_as(json, &engine.release_head(&head, &owner, epoch)?, |report| {
                print::line(if report.released { "Given back." } else { "It was not yours any more." });
            })
        }
    }
}

/// Prints a report as JSON or for people.
fn print_as<R: Serialize>(json: bool, report: &R, people: impl FnOnce(&R)) -> Result<Exit> {
    if json {
        print::report(report);
    } else {
        people(report);
    }
    Ok(Exit::Ok)
}

fn seconds(ms: Millis) -> String {
    format!("{} s", (ms.max(0) + 999) / 1000)
}

fn list(report: &HeadsReport) {
    let rows: Vec<Vec<String>> = report
        .heads
        .iter()
        .map(|head| {
            let waits = match head.deferred.len() {
                0 => String::new(),
                n => format!("{} waiting", print::counted(n as u64, "commit")),
            };
            let holder = head.holder.as_ref();
            let holder = holder.map(|by| format!("{} for {}", print::safe_line(by), seconds(head.free_in_ms)));
            vec![
                print::cut(&print::safe_line(head.label.as_deref().unwrap_or(&head.head)), 40),
                format!("revision {}", head.revision),
                print::counted(head.sections.len() as u64, "section"),
                holder.unwrap_or_else(|| "free".into()),
                waits,
            ]
        })
        .collect();
    print::list(&rows, rows.len());
}

fn show(report: &HeadShown) {
    let (name, file) = (print::safe_line(&report.head), &report.file);
    print::line(&Paint::stdout().dim(&format!("{name} · revision {} · {file}", report.revision)));
    print::line("");
    print::out(&report.text);
}

/// Prints every line the head would have if rendered now, with the reasons for it, and what was left out.
fn explain(report: &HeadExplained) {
    let paint = Paint::stdout();
    let mut section = None;
    for line in &report.lines {
        if section != Some(&line.section) {
            print::line(&paint.bold(&print::safe_line(&line.section)));
            section = Some(&line.section);
        }
        let score = line.score.map(|s| format!("{s:5.2}  ")).unwrap_or_default();
        let reference = line.reference.as_deref().map(|r| format!(" [{r}]")).unwrap_or_default();
        print::line(&format!("  {score}{}{}", print::safe_line(&line.text), print::safe_line(&reference)));
        let mut reasons = line.reasons.join(", ");
        if let Some(out) = &line.left_out {
            reasons = format!("left out: {out}; {reasons}");
        }
        print::line(&paint.dim(&format!("         {}", print::safe_line(reasons.trim_end_matches("; ")))));
    }
}

fn log(report: &HeadLog, now: Millis) {
    if report.revisions.is_empty() {
        print::line("It has no revision yet.");
    }
    let rows: Vec<Vec<String>> = report
        .revisions
        .iter()
        .map(|r| {
            let gone = if r.forgotten { "its rendered words were forgotten" } else { "" };
            let sections = if r.sections.is_empty() { "no sections".to_owned() } else { r.sections.join(", ") };
            vec![
                r.revision.to_string(),
                print::when(Some(r.at_ms), now),
                print::safe_line(&r.owner),
                print::cut(&sections, 60),
                gone.to_owned(),
            ]
        })
        .collect();
    print::list(&rows, report.all as usize);
}

fn diff(report: &HeadDiff) {
    if report.lines.is_empty() {
        print::line("They say the same.");
    }
    let paint = Paint::stdout();
    for line in &report.lines {
        let text = print::safe(&line.text);
        print::line(&match line.change {
            "added" => paint.bold(&format!("+ {text}")),
            "removed" => paint.warn(&format!("- {text}")),
            _ => paint.dim(&format!("  {text}")),
        });
    }
}

fn restored(report: &HeadRestored) {
    let HeadRestored { from, revision, .. } = report;
    let sections = print::counted(report.sections.len() as u64, "section");
    print::line(&format!("The sections are those of revision {from} again ({sections}): revision {revision}"));
}

fn granted(report: &HeadGranted) {
    let HeadGranted { head, owner, epoch, base_revision, .. } = report;
    print::line(&format!(
        "{} is {owner}'s for {} · epoch {epoch} · revision {base_revision}",
        print::safe_line(head),
        seconds(report.lease_until_ms_from_now),
    ));
    let next = format!(
        "  heirloom head commit {head:?} --section NAME --owner {owner} --epoch {epoch} --base {base_revision} < words.md"
    );
    print::line(&Paint::stdout().dim(&next));
}

fn committed(report: &HeadCommitted) {
    let HeadCommitted { head, section, revision, published, .. } = report;
    print::line(&format!("{section} stands in revision {revision} of {}", print::safe_line(head)));
    if !published {
        print::note("somebody is at work on the file itself; the next command puts it there");
    }
}

/// Prints that another writer holds the head or has changed it.
fn busy(report: &BusyReport) {
    print::note(&format!("heirloom: {}", report.what));
    print::note(&format!("          {}", report.next));
}

/// Reads the text of a section from a file or standard input. It reads slightly more than the limit, so that a text
/// that is too long is refused and not cut.
fn words(file: &Path) -> Result<String> {
    let stdin = file == Path::new("-");
    if stdin && std::io::stdin().is_terminal() {
        return Err(Error::usage("there are no words").hint("name a file with --file, or send them to standard input"));
    }
    let most = LARGEST_SECTION as u64 * 4;
    let mut bytes = Vec::new();
    match stdin {
        true => std::io::stdin()
            .lock()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|e| Error::usage("standard input cannot be read").because(e))?,
        false => std::fs::File::open(file)
            .and_then(|f| f.take(most).read_to_end(&mut bytes))
            .map_err(|e| Error::io("read", file, e))?,
    };
    String::from_utf8(bytes).map_err(|_| Error::usage("a section is text, and this is not UTF-8"))
}
