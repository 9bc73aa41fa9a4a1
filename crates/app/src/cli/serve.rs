//! `heirloom serve`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use heirloom_engine::engine::{Engine, How};
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::Home;
use heirloom_engine::ledger::SCHEMA_VERSION;
use heirloom_engine::report::import::Imported;
use heirloom_http::{Api, Caller, Check, ChecksReport, ImportRequest, Parts, Tokens};
use heirloom_service::{Chore, Ended, Service, Tcp, Via, Wires, running};

use super::import::Plan;
use crate::context::{Global, home_options, options};
use crate::error::Exit;
use crate::hook::answering;
use crate::{config, heap, print, programs};

/// Default port of the service.
pub const PORT: u16 = 7347;

/// Run the service: watch the programs' sessions, answer hooks and the HTTP API, and do what falls due
///
/// While the service runs, search finds new turns within two seconds, and a hook takes little longer than starting its
/// process. The service is optional: without it, hooks and commands do this work themselves. It listens on
/// run/heirloom.sock in the home, for processes of this user, and on a port of 127.0.0.1, for programs with a token.
/// Ctrl-C ends it. To start it with your session: heirloom service install.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The port on 127.0.0.1; 0 is any free port [default: daemon.port in config.toml, else 7347 or any free port]
    #[arg(long, value_name = "PORT", conflicts_with_all = ["listen", "no_tcp"])]
    port: Option<u16>,

    /// The address to listen on, of this machine only: 127.0.0.1:7347, [::1]:7347
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "no_tcp")]
    listen: Option<SocketAddr>,

    /// Listen on the socket only
    #[arg(long)]
    no_tcp: bool,

    /// Look for changes every two seconds instead of waiting for the system to report them
    #[arg(long)]
    poll: bool,

    /// Set by heirloom service start: run in a session of its own
    #[arg(long, hide = true)]
    detached: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if args.detached {
        let _ = rustix::process::setsid();
    }
    heap::one();
    let at = config::home(global.home.as_deref())?;
    let home = Home::open_with(&at.value, &home_options()).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Error::not_found(format!("there is no memory at {} yet", at.value.display())).hint("⟨up⟩ makes it")
        }
        _ => e,
    })?;
    let lock = running::claim(&home)?;
    let settings = config::file(&home)?;
    config::known_only("the section daemon of config.toml", &settings.daemon.unknown, &config::DAEMON)?;
    let tcp = tcp(&args, settings.daemon.port);
    drop(home);
    let engine = Engine::open(&at.value, How::Existing, options(global))?.acting_as("service");
    let root = engine.home().root().to_owned();
    let build = build();
    let (for_router, said) = (engine.clone(), build.clone());
    let looks = Global { home: Some(root.clone()), ..global.clone() };
    let service = Service {
        engine,
        programs: heirloom_harness::on_machine(&config::host()),
        tcp,
        build,
        environment: config::environment(global),
        poll: args.poll,
        router: Box::new(move |wires| heirloom_http::router(Api::new(parts(for_router, looks, wires, said)))),
        mark: |via, extensions| {
            extensions.insert(match via {
                Via::Socket => Caller::Socket,
                Via::Tcp { port } => Caller::Tcp { port },
            });
        },
        say: Arc::new(|what| print::note(&format!("heirloom: {what}"))),
        check: {
            let agent = global.agent.clone();
            Arc::new(move |home| config::make_sense(home, agent.as_deref()))
        },
        chore: Some(chore()),
    };
    match heirloom_service::serve(service, lock)? {
        Ended::Asked => Ok(Exit::Ok),
        Ended::Retired => {
            print::note("heirloom: the ledger is of a newer build, which has to serve it; this one has ended");
            Ok(Exit::Ok)
        }
        Ended::HomeGone => {
            Err(Error::not_found(format!("{} was moved or deleted; the service has ended", root.display()))
                .hint("start it again where the home is now: heirloom serve --home DIR"))
        }
    }
}

/// Makes the backups the settings ask for. The settings are read each time, so a changed config.toml needs no restart.
/// Settings that make no sense are reported once, and all other work goes on.
fn chore() -> Chore {
    let said = Mutex::new(String::new());
    let plan = move |engine: &Engine| {
        let plan = config::file(engine.home()).and_then(|file| file.backup.plan());
        let wrong = plan.as_ref().err().map_or_else(String::new, ToString::to_string);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if *said != wrong && !wrong.is_empty() {
            print::note(&format!("heirloom: no backups are made: {wrong}"));
        }
        *said = wrong;
        plan.ok().flatten()
    };
    let (plan, for_due) = {
        let plan = Arc::new(plan);
        (Arc::clone(&plan), plan)
    };
    Chore {
        due: Arc::new(move |engine| for_due(engine).map(|plan| plan.next(engine))),
        run: Arc::new(move |engine| {
            let Some(plan) = plan(engine) else { return Ok(None) };
            let report = plan.run(engine).map_err(|e| Error::new(e.kind(), format!("the backup failed: {e}")))?;
            Ok(Some(format!("backed up to {}", print::safe_line(&report.backup))))
        }),
    }
}

/// Returns the build of this binary: `<schema of the ledger>.<version>`.
pub fn build() -> String {
    format!("{SCHEMA_VERSION}.{}", env!("CARGO_PKG_VERSION"))
}

fn tcp(args: &Args, in_file: Option<u16>) -> Tcp {
    let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    match (args.no_tcp, args.listen, args.port.or(in_file)) {
        (true, _, _) => Tcp::No,
        (_, Some(at), _) => Tcp::Only(at),
        (_, None, Some(port)) => Tcp::Only(here(port)),
        (_, None, None) => Tcp::Preferred(here(PORT)),
    }
}

fn parts(engine: Engine, global: Global, wires: Wires, build: String) -> Parts {
    let for_hooks = engine.acting_as("hook");
    Parts {
        tokens: Tokens::of(&engine),
        hooks: Arc::new(move |request| answering::answer(&for_hooks, request)),
        import: Arc::new(import),
        doctor: Arc::new(move |_| {
            let checks = super::doctor::look_at_all(&global)?;
            let ok = checks.iter().all(|c| c.ok);
            let shown = |c: super::doctor::Check| Check {
                subject: c.subject.to_owned(),
                ok: c.ok,
                what: print::safe_line(&c.what),
                next: c.next.map(|next| print::safe_line(&next)),
            };
            Ok(ChecksReport { ok, checks: checks.into_iter().map(shown).collect() })
        }),
        retire: wires.retire,
        changes: wires.changes,
        build,
        engine,
    }
}

/// Reads session stores as `heirloom import` does.
fn import(engine: &Engine, request: ImportRequest) -> Result<Imported> {
    let mut plan = Plan::default();
    let named = match request.programs.as_slice() {
        [] => None,
        [name] => Some(name.as_str()),
        _ if request.paths.is_empty() => None,
        _ => return Err(Error::usage("files named are of one program")),
    };
    let harness = named.map(|name| {
        heirloom_harness::by_name(name).ok_or_else(|| Error::usage(format!("there is no program {name:?}")))
    });
    let harness = harness.transpose()?;
    if request.paths.is_empty() {
        for found in programs::look(&config::host(), named) {
            let is_wanted =
                request.programs.is_empty() || request.programs.iter().any(|p| p == found.harness.spec().name);
            if is_wanted {
                plan.take(found);
            }
        }
    }
    for path in &request.paths {
        plan.path(path, harness);
    }
    plan.import(engine)
}
