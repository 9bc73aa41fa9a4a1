//! `heirloom doctor`

use std::collections::BTreeMap;

use heirloom_engine::budget::Pause;
use heirloom_engine::error::{ErrorKind, Result};
use heirloom_engine::home::Home;
use heirloom_engine::transcript::read::{self, SessionFilter};
use heirloom_harness::install::trust::Trusted;
use serde_json::json;

use crate::connection::{Program, State, Target};
use crate::context::{Context, Global, home_options};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::service::{Seen, look};
use crate::{config, connection, programs, retention};

/// Check the home, its store, its files, and the programs on this machine; repairs nothing
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Measure the speed of this home: a search, a hook and an import, in a copy that is removed afterwards
    #[arg(long)]
    speed: bool,
}

/// One check and its result.
pub struct Check {
    pub subject: &'static str,
    pub ok: bool,
    pub what: String,
    /// The action the user should take; `None` if the check passed.
    pub next: Option<String>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if args.speed {
        return super::speed::run(global);
    }
    let checks = look_at_all(global)?;
    let good = checks.iter().all(|c| c.ok);
    if global.json {
        let list: Vec<_> =
            checks.iter().map(|c| json!({"subject": c.subject, "ok": c.ok, "what": c.what, "next": c.next})).collect();
        print::line(&json!({"ok": good, "checks": list}).to_string());
    } else {
        let paint = Paint::stdout();
        for c in &checks {
            let mark = if c.ok { paint.accent("ok") } else { paint.warn("! ") };
            print::line(&format!("{mark}  {:12} {}", c.subject, print::safe_line(&c.what)));
            if let Some(next) = &c.next {
                print::line(&format!("                 {}", print::safe_line(next)));
            }
        }
    }
    Ok(if good { Exit::Ok } else { Exit::Problems })
}

/// Runs every check; the checks of one program follow each other.
pub fn look_at_all(global: &Global) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    // A lost ledger must not be made anew by looking at it.
    let opened = match Context::to_check(global) {
        Err(e) if e.kind() == ErrorKind::NotFound => Context::open(global),
        other => other,
    };
    let context = match opened {
        Ok(context) => Some(context),
        // A program is connected, but no session has arrived yet: the home does not exist, and that is fine.
        Err(e) if e.kind() == ErrorKind::NotFound && is_any_connected(global) => {
            checks.push(Check {
                subject: "Home",
                ok: true,
                what: format!("{e}; the next session of a connected program makes it"),
                next: e.next_step().map(str::to_owned),
            });
            None
        }
        Err(e) => {
            checks.push(Check {
                subject: "Home",
                ok: false,
                what: e.to_string(),
                next: e.next_step().map(str::to_owned),
            });
            None
        }
    };
    if let Some(context) = &context {
        home(context, &mut checks);
        settings(context, &mut checks);
        store(context, &mut checks)?;
        backup(context, &mut checks);
        files(context, &mut checks)?;
        service(context.home(), global, &mut checks);
    } else if let Some(home) = home_alone(global) {
        // Settings that make no sense keep the memory from being opened, but not a service that began before them.
        service(&home, global, &mut checks);
    }
    let versions = context.as_ref().map(versions).transpose()?.unwrap_or_default();
    let programs = checks.len();
    machine(&versions, &mut checks);
    connections(global, &mut checks);
    let titles: Vec<&str> = heirloom_harness::ALL.iter().map(|h| h.spec().title).collect();
    checks[programs..].sort_by_key(|c| titles.iter().position(|t| *t == c.subject));
    Ok(checks)
}

fn home(context: &Context, checks: &mut Vec<Check>) {
    let ok = |subject, what| Check { subject, ok: true, what, next: None };
    checks.push(ok("Home", format!("{} ({})", context.home().root().display(), context.home_from.shown())));
    if context.is_read_only() {
        checks.push(Check {
            subject: "Home",
            ok: false,
            what: "cannot be written; nothing new is stored".into(),
            next: Some("check its owner, its permissions and whether its file system is mounted read-only".into()),
        });
    }
    let findings = context.home().findings();
    if findings.is_empty() {
        checks.push(ok("Permissions", "private: folders 0700, files 0600".into()));
    }
    for f in findings {
        checks.push(Check {
            subject: "Permissions",
            ok: false,
            what: format!("{}: {}", f.path.display(), f.what),
            next: Some(f.fix),
        });
    }
}

/// Checks parts of the settings that no other check reads. Without a finding, nothing is added.
fn settings(context: &Context, checks: &mut Vec<Check>) {
    let read = config::file(context.home()).and_then(|file| {
        file.known_only()?;
        file.lineage.limits()?;
        file.judged_by().map(drop)
    });
    if let Err(e) = read {
        let next = e.next_step().map(str::to_owned);
        checks.push(Check { subject: "Settings", ok: false, what: e.to_string(), next });
    }
}

/// Checks the age of the last backup, a failure since, and whether the backups asked for by the settings are made.
fn backup(context: &Context, checks: &mut Vec<Check>) {
    let mut add = |ok: bool, what: String, next: Option<String>| {
        checks.push(Check { subject: "Backup", ok, what, next });
    };
    let (seen, now) = (context.backups_seen(), context.now());
    let plan = match config::file(context.home()).and_then(|file| file.backup.plan()) {
        Ok(plan) => plan,
        Err(e) => return add(false, e.to_string(), e.next_step().map(str::to_owned)),
    };
    if let (Some(at), Some(why)) = (seen.failed_at, &seen.why) {
        let next = "once that is mended: heirloom backup".to_owned();
        add(false, format!("failed {}: {why}", print::when(Some(at), now)), Some(next));
    }
    let last = match (seen.at, &seen.to) {
        (Some(at), Some(to)) => format!("the last {} in {to}", print::when(Some(at), now)),
        _ => "none yet".to_owned(),
    };
    match plan {
        // A backup may take twice its interval before it counts as late: the machine may have been off.
        Some(plan) if seen.at.is_none_or(|at| now - at > 2 * plan.rotation.every) && seen.failed_at.is_none() => {
            let next = "heirloom backup makes it; by itself the service does: heirloom service install".to_owned();
            add(false, format!("{last}; the settings ask for one more often"), Some(next));
        }
        Some(plan) => add(true, format!("{last}; {} are kept", print::count(plan.rotation.keep as u64)), None),
        None if seen.at.is_none() => add(true, last, Some("heirloom backup DIR".into())),
        None => add(true, last, None),
    }
}

fn store(context: &Context, checks: &mut Vec<Check>) -> Result<()> {
    let problem = heirloom_engine::verify::quick_look(context.ledger())?;
    checks.push(Check {
        subject: "Ledger",
        ok: problem.is_none(),
        next: problem.is_some().then(|| "see what is affected: heirloom verify".into()),
        what: problem.unwrap_or_else(|| format!("{}, structure sound", print::bytes(context.ledger().bytes_on_disk()))),
    });
    if let Some(at) = context.ledger().made_anew()? {
        checks.push(Check {
            subject: "Ledger",
            ok: false,
            what: format!(
                "the one before was gone {}; this one was made in its place",
                print::when(Some(at), context.now())
            ),
            next: Some("what was said before is only in a backup: heirloom restore --from DIR".into()),
        });
    }
    match context.index() {
        Ok(index) => {
            let coverage = context.read(|tx| index.coverage(tx));
            let (ok, what, next) = match coverage {
                Ok(c) if c.missing == 0 => {
                    let size = print::bytes(index.bytes_on_disk());
                    let vectors = context.read(|tx| index.vectors_missing(tx))?;
                    match vectors.turns {
                        0 => (true, format!("{size}, up to date"), None),
                        turns => (
                            false,
                            format!(
                                "{size}, vectors of {} of {} are still being made",
                                print::count(turns),
                                print::counted(vectors.of_turns, "turn")
                            ),
                            Some("heirloom work".to_owned()),
                        ),
                    }
                }
                Ok(c) => {
                    (false, format!("{} behind", print::counted(c.missing, "turn")), Some("heirloom work".to_owned()))
                }
                Err(e) => (false, e.to_string(), Some("heirloom reindex".to_owned())),
            };
            checks.push(Check { subject: "Index", ok, what, next });
            let (model, model_at) = context.model();
            checks.push(match context.without_model() {
                Some(e) => Check {
                    subject: "Meaning",
                    ok: false,
                    what: format!("found by words only: {e}"),
                    next: e.next_step().map(str::to_owned),
                },
                None => Check {
                    subject: "Meaning",
                    ok: true,
                    what: format!("{} ({model_at})", model.unwrap_or("no model")),
                    next: None,
                },
            });
        }
        Err(e) => checks.push(Check {
            subject: "Index",
            ok: false,
            what: e.to_string(),
            next: Some("heirloom reindex".into()),
        }),
    }
    if let Some(model) = context.acting_as("cli doctor").language_model()? {
        let off = match (&model.problem, &model.pause) {
            (Some(problem), _) => Some(problem.clone()),
            (None, Some(Pause::Refused { why })) => Some(why.clone()),
            _ => None,
        };
        let key = crate::config::file(context.home())?.model.key_at();
        let key = key.map_or(String::new(), |key| format!(", its key from {key}"));
        let rests = match &model.pause {
            Some(Pause::Rests { why, .. }) => format!("; it rests: {why}"),
            _ => String::new(),
        };
        let name = model.model.as_deref().unwrap_or("none");
        checks.push(Check {
            subject: "Model",
            ok: off.is_none(),
            what: match &off {
                Some(why) if model.model.is_none() => why.clone(),
                Some(why) => format!("{name} is not asked: {why}"),
                None => format!("{name}, today {}{key}{rests}", super::model::spent(&model)),
            },
            next: off.is_some().then(|| "once that is mended: heirloom model test".to_owned()),
        });
    }
    if let Some(no) = context.read(|tx| read::agent_no(tx, context.agent()))? {
        let n = context.read(|tx| read::totals(tx, no))?.quarantined;
        if n > 0 {
            checks.push(Check {
                subject: "Set aside",
                ok: true,
                what: format!("{} could not be decoded; the bytes are kept", print::counted(n, "record")),
                next: Some("heirloom show --quarantine".into()),
            });
        }
    }
    Ok(())
}

/// Checks the visible files.
fn files(context: &Context, checks: &mut Vec<Check>) -> Result<()> {
    let visible = match super::visible::look(&context.acting_as("cli doctor")) {
        Ok(Some(visible)) => visible,
        Ok(None) => {
            let lost = context.acting_as("cli doctor").lost_tree()?;
            checks.extend(lost.map(|lost| Check {
                subject: "Files",
                ok: false,
                what: format!("{} {}", lost.folder, lost.what),
                next: Some("any command that changes something makes new pages there".into()),
            }));
            return Ok(());
        }
        Err(e) if matches!(e.kind(), ErrorKind::Refused | ErrorKind::NotFound) => {
            let next = e.next_step().map(str::to_owned);
            checks.push(Check { subject: "Files", ok: false, what: e.to_string(), next });
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let good = visible.wrong.is_empty();
    checks.push(Check {
        subject: "Files",
        ok: good,
        what: format!("{}  {}", visible.root, super::visible::summary(&visible)),
        next: None,
    });
    checks.extend(visible.wrong.into_iter().map(|what| Check { subject: "Files", ok: false, what, next: None }));
    checks.extend(visible.notes.into_iter().map(|what| Check { subject: "Files", ok: true, what, next: None }));
    Ok(())
}

/// Returns the version of each program, taken from its newest session.
fn versions(context: &Context) -> Result<BTreeMap<String, String>> {
    let Some(no) = context.read(|tx| read::agent_no(tx, context.agent()))? else { return Ok(BTreeMap::new()) };
    let mut sessions = context.read(|tx| read::sessions(tx, no, &SessionFilter::default()))?;
    sessions.sort_by_key(|s| s.last_at);
    let seen = sessions.into_iter().filter_map(|s| Some((s.key.harness().to_owned(), s.version?)));
    Ok(seen.collect())
}

fn machine(versions: &BTreeMap<String, String>, checks: &mut Vec<Check>) {
    let host = config::host();
    for found in programs::look(&host, None) {
        let title = found.harness.spec().title;
        let Some(root) = &found.root else {
            let what = if Program::Hooked(found.harness).is_here(&host) {
                "no sessions yet"
            } else {
                "not found on this machine"
            };
            checks.push(Check { subject: title, ok: true, what: what.into(), next: None });
            continue;
        };
        checks.push(Check {
            subject: title,
            ok: found.errors.is_empty(),
            what: match found.errors.first() {
                Some(e) => e.to_string(),
                None => format!(
                    "{}  {}, {}{}",
                    root.display(),
                    print::counted(found.files.len() as u64, "store"),
                    print::bytes(found.bytes),
                    versions.get(found.harness.spec().name).map_or(String::new(), |v| format!(", last seen as {v}"))
                ),
            },
            next: found.errors.first().and_then(|e| e.next_step().map(str::to_owned)),
        });
        if found.harness.spec().name == "claude-code" && !found.files.is_empty() {
            let rule = retention::claude_code(&host);
            let soon = retention::soon_deleted(&found.files, &rule);
            checks.push(Check {
                subject: title,
                ok: soon == 0,
                what: format!(
                    "deletes sessions after {} days{}; {} within {} days",
                    rule.days,
                    if rule.is_default { " (its default)" } else { "" },
                    if soon == 0 { "none".to_owned() } else { print::count(soon) },
                    retention::SOON_DAYS
                ),
                next: (soon > 0).then(|| {
                    format!(
                        "heirloom import keeps them; to keep Claude Code's own files too, set \"cleanupPeriodDays\" in {}",
                        rule.settings.display()
                    )
                }),
            });
        }
    }
}

/// Returns the home without its memory. `None` if there is none.
fn home_alone(global: &Global) -> Option<Home> {
    let at = config::home(global.home.as_deref()).ok()?;
    Home::open_with(&at.value, &home_options()).ok()
}

/// Checks whether a service runs and how it notices changes. A home without a service passes.
fn service(home: &Home, global: &Global, checks: &mut Vec<Check>) {
    let mut add = |ok: bool, what: String, next: Option<String>| {
        checks.push(Check { subject: "Service", ok, what, next });
    };
    let Some(Seen { running, connections }) = look(home) else {
        return add(
            true,
            "does not run, and is not needed".into(),
            Some("to notice what is written as it is: heirloom service install".into()),
        );
    };
    if connections.is_none() {
        return add(
            false,
            format!("process {} does not answer", running.pid),
            Some("heirloom service stop, then start".into()),
        );
    }
    let at = super::service::listens(&running);
    add(true, format!("process {}, build {}, at {at}", running.pid, running.build), None);
    if let Some(why) = &running.old_settings {
        let next = "correct it: the service uses it as soon as it makes sense".to_owned();
        add(false, format!("uses older settings: {why}"), Some(next));
    }
    match &running.watching.why {
        Some(why) => add(
            false,
            format!("looks for changes every two seconds: {why}"),
            Some("raise the limit (sysctl), or leave it: only power is lost".into()),
        ),
        None => add(true, format!("watches {}", print::counted(running.watching.roots.len() as u64, "folder")), None),
    }
    if running.environment != config::environment(global) {
        let next = "start it anew with this environment: heirloom service stop, then start".to_owned();
        add(
            false,
            "has other folders of programs, or another agent, than this shell; hooks from here do without it".into(),
            Some(next),
        );
    }
}

/// Whether a program here is connected, by Heirloom or by hand.
fn is_any_connected(global: &Global) -> bool {
    let host = config::host();
    let by_hand = |how| {
        let hooked =
            connection::connectable().filter(|program| matches!(program, Program::Hooked(_)) && program.is_here(&host));
        let mut targets = hooked.filter_map(|program| Target::look(program, &host, &how).ok());
        targets.any(|target| target.has_ours())
    };
    !super::connect::record(global).is_empty() || connection::installed(global).is_ok_and(by_hand)
}

/// Checks the connections of the programs on this machine.
fn connections(global: &Global, checks: &mut Vec<Check>) {
    let host = config::host();
    let how = match connection::installed(global) {
        Ok(how) => how,
        Err(e) => {
            let next = e.next_step().map(str::to_owned);
            return checks.push(Check { subject: "Connections", ok: false, what: e.to_string(), next });
        }
    };
    for program in connection::connectable().filter(|program| program.is_here(&host)) {
        let mut add = |ok: bool, what: String, next: Option<String>| {
            checks.push(Check { subject: program.title(), ok, what, next });
        };
        let looked = match program {
            Program::Hooked(_) => Target::look(program, &host, &how).map(Some),
            Program::Asking(_) => Target::look_mcp(program, &host, &how),
        };
        let looked = looked.and_then(|target| target.map(|t| t.state().map(|state| (t, state))).transpose());
        let (target, state) = match looked {
            Ok(Some(looked)) => looked,
            Ok(None) => continue,
            Err(e) => {
                add(false, e.to_string(), e.next_step().map(str::to_owned));
                continue;
            }
        };
        let connect = Some(format!("heirloom connect {}", program.name()));
        // A settings file that is broken keeps the program itself from working, whether it is connected or not.
        let asking = Target::look_mcp(program, &host, &how).ok().flatten();
        let mut wrong: Vec<String> = Vec::new();
        for e in [Some(&target), asking.as_ref()].into_iter().flatten().filter_map(|target| target.check().err()) {
            if !wrong.contains(&e.to_string()) {
                wrong.push(e.to_string());
                add(false, e.to_string(), e.next_step().map(str::to_owned));
            }
        }
        if state == State::Not {
            add(true, "not connected".into(), connect);
            continue;
        }
        if let Some((path, why)) = target.forbidden() {
            add(false, format!("{} keeps it from calling Heirloom: {why}", path.display()), None);
        }
        if let Some((what, next)) = target.obstacle() {
            add(false, what.into(), Some(next.into()));
        }
        if let Some((what, next)) = target.remark() {
            add(true, what.into(), Some(next.into()));
        }
        let gone: Vec<String> = target.calls().into_iter().filter(|path| !connection::can_run(path)).collect();
        for path in &gone {
            add(false, format!("calls {path}, which cannot be run; its turns go on without Heirloom"), connect.clone());
        }
        let lacks = target.lacks();
        if !lacks.is_empty() {
            add(false, format!("does not give Heirloom its permission: {}", lacks.join(", ")), connect.clone());
        }
        match state {
            State::Otherwise(how) if target.has_ours() => {
                let next = format!("keep one of the two: heirloom disconnect {}", program.name());
                add(false, format!("{how}, and by its settings: everything is told twice"), Some(next));
            }
            State::Otherwise(how) => add(true, how.into(), None),
            State::Connected => match target.trusted() {
                Ok(None) => add(true, "connected".into(), None),
                Ok(Some(Trusted::Yes)) => add(true, "connected, and its hooks are trusted".into(), None),
                Ok(Some(Trusted::Off)) => {
                    let next = "switch them on in codex: /hooks".to_owned();
                    add(false, "connected, but some of its hooks are switched off".into(), Some(next));
                }
                Ok(Some(trust)) => {
                    let why = match trust {
                        Trusted::Modified => "changed since you trusted them",
                        _ => "not trusted yet",
                    };
                    let next =
                        "open codex, type /hooks and trust Heirloom's; or heirloom connect codex --trust".to_owned();
                    // Untrusted new hooks pass this check, since connect already asked for trust; hooks whose trusted
                    // form has changed fail it.
                    let is_new = trust == Trusted::No;
                    add(is_new, format!("connected, but its hooks are {why} and do not run"), Some(next));
                }
                Err(e) if wrong.contains(&e.to_string()) => {}
                Err(e) => add(false, e.to_string(), e.next_step().map(str::to_owned)),
            },
            // Missing binaries and permissions were already reported above.
            State::Older | State::Partly if !gone.is_empty() || !lacks.is_empty() => {}
            State::Older => add(false, "connected, but in an older form or for another home".into(), connect),
            State::Partly => add(false, "connected in part only".into(), connect),
            State::Not => {}
        }
    }
}
