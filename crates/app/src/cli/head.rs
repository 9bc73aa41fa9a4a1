//! `heirloom head`

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::pages::shared::{LARGEST_SECTION, Page, Sections};
use heirloom_engine::pages::{PageKey, lease};
use heirloom_engine::redact::redact;
use heirloom_engine::render::outside::{self, Acquired, Busy, Change, Committed, Granted, NotNow};
use heirloom_engine::render::revisions::{self, Line, Overview};
use heirloom_engine::render::{self, why};
use heirloom_engine::tree::AssistantHome;
use serde_json::{Map, Value, json};

use crate::context::{Context, Global};
use crate::error::{Exit, kind_name};
use crate::print::{self, Paint};

/// Heads: the pages programs read first, what other programs put into them, and their revisions
///
/// MEMORY.md, ACTIVE.md, the index of threads and the head of each thread are rendered; besides, a program may keep
/// named sections in them. To write one: acquire the head, commit the section with the epoch and the revision that came
/// with it, release the head. A commit that meets a busy head is refused (75) and kept: it lands when the head is free.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// The heads, who is at work on them, and what waits
    List,
    /// What a head says: the rendered block and the sections
    Show {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD", default_value = "memory")]
        head: String,
        /// The head of this thread, whatever it is called
        #[arg(long, value_name = "T", conflicts_with = "head")]
        thread: Option<String>,
        /// As it was in this revision
        #[arg(long, value_name = "N")]
        revision: Option<i64>,
        /// Why each line is there, and what was left out
        #[arg(long, conflicts_with = "revision")]
        why: bool,
    },
    /// The revisions of a head, newest first
    Log {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// The lines in which two revisions differ
    Diff {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The older one
        #[arg(value_name = "A")]
        from: i64,
        /// The newer one [default: the newest there is]
        #[arg(value_name = "B")]
        to: Option<i64>,
    },
    /// Bring the sections of a revision back, as a new revision
    ///
    /// The rendered block follows from what is known now and is rendered anew. What you yourself wrote around it is not
    /// part of a revision; earlier states of the file are in heirloom show --revisions MEMORY.md.
    Restore {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The revision
        #[arg(value_name = "N")]
        revision: i64,
    },
    /// Take a head, to commit sections to it
    ///
    /// Prints the epoch and the revision a commit has to name. Acquiring again fences your older self.
    Acquire {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// Your name for yourself: letters, digits and - _ . : @ /
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// For how long
        #[arg(long, value_name = "SECS", default_value_t = lease::TTL / 1000, value_parser = clap::value_parser!(i64).range(1..=60))]
        ttl: i64,
    },
    /// Put a section in, replace it, or take it out (with nothing in it)
    ///
    /// It stays as it is until you replace it; at most 4 KiB, and 8 sections a head. Refused and kept for later (75)
    /// where somebody else is at work, the lease has run out, or the head has another revision by now.
    Commit {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The section: 1 to 40 of a-z, 0-9 and -
        #[arg(long, value_name = "NAME")]
        section: String,
        /// The name the head was acquired in
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// The epoch that came with the lease
        #[arg(long, value_name = "E", allow_negative_numbers = true)]
        epoch: i64,
        /// The revision the words rest on: the one that came with the lease, or that of your last commit
        #[arg(long, value_name = "R", allow_negative_numbers = true)]
        base: i64,
        /// Where the words are; - is standard input
        #[arg(long, value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    /// Give a head back
    Release {
        /// memory, active, threads, or a thread's key or name
        #[arg(value_name = "HEAD")]
        head: String,
        /// The name it was acquired in
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// The epoch that came with the lease
        #[arg(long, value_name = "E", allow_negative_numbers = true)]
        epoch: i64,
    },
}

const ACTOR: &str = "cli head";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    match args.command {
        Command::List => list(&context),
        Command::Show { head, thread, revision, why: asked } => {
            let at = look(&context)?;
            let head = match thread {
                Some(thread) => at.read(|tx| render::shared::thread_named(tx, at.agent_no, &thread))?,
                None => named(&at, &head)?,
            };
            match asked {
                true => explain(&at, &head, context.json),
                false => show(&at, &head, revision, context.json),
            }
        }
        Command::Log { head, limit } => {
            let at = look(&context)?;
            log(&at, &named(&at, &head)?, limit, &context)
        }
        Command::Diff { head, from, to } => {
            let at = look(&context)?;
            diff(&at, &named(&at, &head)?, from, to, context.json)
        }
        Command::Restore { head, revision } => {
            let at = act(&context)?;
            restore(&at, &named(&at, &head)?, revision, context.json)
        }
        Command::Acquire { head, owner, ttl } => {
            let at = act(&context)?;
            let head = named(&at, &head)?;
            match outside::acquire(&at, &head, &owner, ttl * 1000)? {
                Acquired::Granted(grant) => granted(&at, &head, &owner, &grant, context.json),
                Acquired::Held(busy) => held(&at, &head, &busy, context.json),
            }
        }
        Command::Commit { head, section, owner, epoch, base, file } => {
            let at = act(&context)?;
            let head = named(&at, &head)?;
            let content = words(&file)?;
            let change = Change { section: &section, owner: &owner, content: &content };
            match outside::commit(&at, &head, &change, epoch, base)? {
                Committed::Stands { revision, published } => {
                    committed(&at, &head, (&section, revision, epoch, published), context.json)
                }
                Committed::Refused(not_now) => refused(&at, &head, &section, &not_now, context.json),
            }
        }
        Command::Release { head, owner, epoch } => {
            let at = act(&context)?;
            let head = named(&at, &head)?;
            let released = outside::release(&at, &head, &owner, epoch)?;
            if context.json {
                print::line(&json!({"head": name_of(&at, &head)?, "released": released}).to_string());
            } else {
                print::line(if released { "Given back." } else { "It was not yours any more." });
            }
            Ok(Exit::Ok)
        }
    }
}

/// For commands that write.
fn act(context: &Context) -> Result<AssistantHome<'_>> {
    // An agent nobody knows does not come into being by a slip of the pen.
    context.agent_no()?;
    context.assistant(ACTOR)
}

/// For commands that read.
fn look(context: &Context) -> Result<AssistantHome<'_>> {
    context.agent_no()?;
    let found = context.look_at_assistant(ACTOR)?;
    Ok(found.ok_or_else(|| Error::not_found("there are no pages yet").hint("heirloom up makes them"))?.0)
}

fn named(at: &AssistantHome, name: &str) -> Result<PageKey> {
    at.read(|tx| render::shared::named(tx, at.agent_no, name))
}

/// What it is called here: `memory`, or a thread's key.
fn name_of(at: &AssistantHome, head: &PageKey) -> Result<String> {
    Ok(revisions::look(at, head)?.name)
}

fn sections_json(sections: &Sections) -> Value {
    let each = sections
        .iter()
        .map(|(name, s)| (name.clone(), json!({"owner": s.owner, "content": redact(&s.content)})))
        .collect::<Map<_, _>>();
    Value::Object(each)
}

fn seconds(ms: i64) -> String {
    format!("{} s", (ms.max(0) + 999) / 1000)
}

fn list(context: &Context) -> Result<Exit> {
    let at = look(context)?;
    let heads = revisions::list(&at)?;
    if context.json {
        let list = heads.iter().map(overview_json).collect::<Result<Vec<_>>>()?;
        print::line(&json!({"heads": list}).to_string());
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = heads
        .iter()
        .map(|o| {
            let waits = match o.deferred.len() {
                0 => String::new(),
                n => format!("{} waiting", print::counted(n as u64, "commit")),
            };
            let holder = o.holder.as_ref().map(|b| format!("{} for {}", print::safe_line(&b.by), seconds(b.for_ms)));
            vec![
                print::cut(&print::safe_line(o.label.as_deref().unwrap_or(&o.name)), 40),
                format!("revision {}", o.state.revision),
                print::counted(o.sections.len() as u64, "section"),
                holder.unwrap_or_else(|| "free".into()),
                waits,
            ]
        })
        .collect();
    print::list(&rows, rows.len());
    Ok(Exit::Ok)
}

fn overview_json(o: &Overview) -> Result<Value> {
    let sections = o
        .sections
        .iter()
        .map(|(name, s)| json!({"section": name, "owner": s.owner, "bytes": s.content.len()}))
        .collect::<Vec<_>>();
    let deferred = o.deferred.iter().map(|(name, owner)| json!({"section": name, "owner": owner})).collect::<Vec<_>>();
    Ok(json!({
        "head": o.name, "label": o.label.as_deref().map(redact), "path": o.head.path()?.as_str(),
        "revision": o.state.revision, "published": o.published, "epoch": o.state.epoch,
        "holder": o.holder.as_ref().map(|b| b.by.as_str()), "free_in_ms": o.holder.as_ref().map_or(0, |b| b.for_ms),
        "sections": sections, "deferred": deferred,
    }))
}

fn show(at: &AssistantHome, head: &PageKey, revision: Option<i64>, json: bool) -> Result<Exit> {
    let overview = revisions::look(at, head)?;
    let number = revision.unwrap_or(overview.state.revision);
    if revision.is_none() && number == 0 {
        return Err(Error::not_found(format!("{} was not rendered yet", overview.name))
            .hint("it is with the next command that changes something; the file itself is left as it is till then"));
    }
    let page = revisions::revision(at, head, number)?;
    if json {
        let content = redact(&page.rendered).into_owned();
        print::line(
            &json!({"head": overview.name, "path": head.path()?.as_str(), "revision": number,
                    "newest": overview.state.revision, "content": content, "sections": sections_json(&page.sections)})
            .to_string(),
        );
        return Ok(Exit::Ok);
    }
    let place = at.shown(&head.path()?);
    print::line(&Paint::stdout().dim(&format!("{} · revision {number} · {place}", print::safe_line(&overview.name))));
    print::line("");
    print::out(&text(&page));
    Ok(Exit::Ok)
}

/// Every line of a head as it would be rendered now, with what speaks for it, and what was left out.
fn explain(at: &AssistantHome, head: &PageKey, json: bool) -> Result<Exit> {
    let lines = at.read(|tx| why::why(at, tx, head))?;
    if json {
        let list: Vec<Value> = lines
            .iter()
            .map(|l| {
                json!({"agent_id": at.agent.as_str(), "section": l.section, "text": redact(&l.text), "reference": l.reference,
                       "score": l.score.map(|s| (s * 1000.0).round() / 1000.0), "reasons": l.reasons, "left_out": l.left_out})
            })
            .collect();
        print::line(&json!({"head": name_of(at, head)?, "lines": list}).to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    let mut section = None;
    for line in &lines {
        if section != Some(&line.section) {
            print::line(&paint.bold(&print::safe_line(&line.section)));
            section = Some(&line.section);
        }
        let score = line.score.map(|s| format!("{s:5.2}  ")).unwrap_or_default();
        let reference = line.reference.as_deref().map(|r| format!(" [{r}]")).unwrap_or_default();
        print::line(&format!("  {score}{}{}", print::safe_line(&redact(&line.text)), print::safe_line(&reference)));
        let mut reasons = line.reasons.join(", ");
        if let Some(out) = &line.left_out {
            reasons = format!("left out: {out}; {reasons}");
        }
        print::line(&paint.dim(&format!("         {}", print::safe_line(reasons.trim_end_matches("; ")))));
    }
    Ok(Exit::Ok)
}

/// A revision for people.
fn text(page: &Page) -> String {
    let text = page.text();
    match text.ends_with('\n') || text.is_empty() {
        true => redact(&text).into_owned(),
        false => format!("{}\n", redact(&text)),
    }
}

fn log(at: &AssistantHome, head: &PageKey, limit: usize, context: &Context) -> Result<Exit> {
    let (entries, all) = revisions::log(at, head, limit)?;
    if context.json {
        let list: Vec<Value> = entries
            .iter()
            .map(|e| {
                let digest: String = e.digest.iter().map(|b| format!("{b:02x}")).collect();
                json!({"revision": e.revision, "epoch": e.epoch, "owner": e.owner,
                       "at": heirloom_engine::clock::rfc3339(e.at), "digest": digest, "sections": e.sections,
                       "forgotten": e.forgotten})
            })
            .collect();
        print::line(&json!({"head": name_of(at, head)?, "revisions": list, "all": all}).to_string());
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        print::line("It has no revision yet.");
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let gone = if e.forgotten { "its rendered words were forgotten" } else { "" };
            let sections = if e.sections.is_empty() { "no sections".to_owned() } else { e.sections.join(", ") };
            vec![
                e.revision.to_string(),
                print::when(Some(e.at), now),
                print::safe_line(&e.owner),
                print::cut(&sections, 60),
                gone.to_owned(),
            ]
        })
        .collect();
    print::list(&rows, all as usize);
    Ok(Exit::Ok)
}

fn diff(at: &AssistantHome, head: &PageKey, from: i64, to: Option<i64>, json: bool) -> Result<Exit> {
    let to = match to {
        Some(to) => to,
        None => revisions::look(at, head)?.state.revision,
    };
    let says = |n: i64| -> Result<String> { Ok(text(&revisions::revision(at, head, n)?)) };
    let lines = revisions::diff(&says(from)?, &says(to)?);
    if json {
        let list: Vec<Value> = lines
            .iter()
            .map(|(kind, line)| {
                let kind = match kind {
                    Line::Same => "same",
                    Line::Added => "added",
                    Line::Removed => "removed",
                };
                json!({"change": kind, "text": line})
            })
            .collect();
        print::line(&json!({"head": name_of(at, head)?, "from": from, "to": to, "lines": list}).to_string());
        return Ok(Exit::Ok);
    }
    if lines.is_empty() {
        print::line("They say the same.");
    }
    let paint = Paint::stdout();
    for (kind, line) in &lines {
        let line = print::safe(line);
        print::line(&match kind {
            Line::Same => paint.dim(&format!("  {line}")),
            Line::Added => paint.bold(&format!("+ {line}")),
            Line::Removed => paint.warn(&format!("- {line}")),
        });
    }
    Ok(Exit::Ok)
}

fn restore(at: &AssistantHome, head: &PageKey, revision: i64, json: bool) -> Result<Exit> {
    let now = revisions::restore(at, head, revision)?;
    let overview = revisions::look(at, head)?;
    if json {
        print::line(
            &json!({"head": overview.name, "from": revision, "revision": now,
                    "sections": overview.sections.keys().collect::<Vec<_>>()})
            .to_string(),
        );
    } else {
        let sections = print::counted(overview.sections.len() as u64, "section");
        print::line(&format!("The sections are those of revision {revision} again ({sections}): revision {now}"));
    }
    Ok(Exit::Ok)
}

fn granted(at: &AssistantHome, head: &PageKey, owner: &str, grant: &Granted, json: bool) -> Result<Exit> {
    let name = name_of(at, head)?;
    if json {
        print::line(
            &json!({"head": name, "epoch": grant.epoch, "base_revision": grant.base_revision, "owner": owner,
                    "lease_until_ms_from_now": grant.for_ms, "content": redact(&grant.content),
                    "sections": sections_json(&grant.sections)})
            .to_string(),
        );
        return Ok(Exit::Ok);
    }
    print::line(&format!(
        "{} is {owner}'s for {} · epoch {} · revision {}",
        print::safe_line(&name),
        seconds(grant.for_ms),
        grant.epoch,
        grant.base_revision
    ));
    let next = format!(
        "  heirloom head commit {name:?} --section NAME --owner {owner} --epoch {} --base {} < words.md",
        grant.epoch, grant.base_revision
    );
    print::line(&Paint::stdout().dim(&next));
    Ok(Exit::Ok)
}

fn held(at: &AssistantHome, head: &PageKey, busy: &Busy, json: bool) -> Result<Exit> {
    let name = name_of(at, head)?;
    let what = format!("{} is at work on {name}", busy.by);
    let next = format!("it is free in {} at the latest; try again", seconds(busy.for_ms));
    if json {
        print::line(
            &json!({"head": name, "holder": busy.by, "free_in_ms": busy.for_ms, "error": error_json(&what, &next)})
                .to_string(),
        );
    } else {
        print::note(&format!("heirloom: {what}"));
        print::note(&format!("          {next}"));
    }
    Ok(Exit::Busy)
}

fn error_json(what: &str, next: &str) -> Value {
    json!({"kind": kind_name(ErrorKind::Busy), "what": what, "next": next})
}

fn committed(
    at: &AssistantHome,
    head: &PageKey,
    (section, revision, epoch, published): (&str, i64, i64, bool),
    json: bool,
) -> Result<Exit> {
    let name = name_of(at, head)?;
    if json {
        print::line(
            &json!({"head": name, "section": section, "revision": revision, "epoch": epoch, "published": published,
                    "deferred": false})
            .to_string(),
        );
        return Ok(Exit::Ok);
    }
    print::line(&format!("{section} stands in revision {revision} of {}", print::safe_line(&name)));
    if !published {
        print::note("somebody is at work on the file itself; the next command puts it there");
    }
    Ok(Exit::Ok)
}

fn refused(at: &AssistantHome, head: &PageKey, section: &str, not_now: &NotNow, json: bool) -> Result<Exit> {
    let name = name_of(at, head)?;
    let what = format!("{section} was not committed to {name}: {}", not_now.why);
    let next = match not_now.deferred {
        true => "it is kept and lands when the head is free; or acquire the head and commit again",
        false => "it is not kept: acquire the head and commit again",
    };
    if json {
        print::line(
            &json!({"head": name, "section": section, "deferred": not_now.deferred,
                    "holder": not_now.holder.as_ref().map(|b| b.by.as_str()),
                    "free_in_ms": not_now.holder.as_ref().map_or(0, |b| b.for_ms),
                    "current_epoch": not_now.epoch, "current_revision": not_now.revision,
                    "error": error_json(&what, next)})
            .to_string(),
        );
    } else {
        print::note(&format!("heirloom: {what}"));
        print::note(&format!("          {next}"));
    }
    Ok(Exit::Busy)
}

/// The words of a section, from a file or standard input; read a little further than what fits, which is then refused.
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
