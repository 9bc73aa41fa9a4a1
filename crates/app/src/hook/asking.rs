//! Asks the service of the home about a hook's call, which costs a hook little more than its process. The service is never
//! needed: where nobody listens, the hook does what it does without one. Once the call is sent it is not also stored here;
//! what is not known to be stored goes into the spool under the same id.

use std::path::Path;
use std::time::{Duration, Instant};

use heirloom_engine::ledger::SCHEMA_VERSION;
use heirloom_engine::program::HookId;
use heirloom_service::Running;
use heirloom_service::client::{Question, Silence, ask};

use crate::config;
use crate::context::Global;

/// How long before the process must end the call goes into the spool.
pub const RESERVE: Duration = Duration::from_millis(150);

/// How long a service may take to hear that it is of an older build.
const RETIRE: Duration = Duration::from_millis(50);

/// What came of asking.
pub enum Asked {
    /// What the hook prints, which may be nothing.
    Answered(Vec<u8>),
    /// Nobody was asked.
    Nobody,
    /// It was sent, and nobody knows whether it is stored.
    Unknown(String),
}

/// Asks, if there is a service that stores what this build would store.
pub fn ask_service(global: &Global, at: (&str, &str), id: HookId, payload: &[u8], until: Instant) -> Asked {
    let (program, event) = at;
    let Ok(home) = config::home(global.home.as_deref()) else { return Asked::Nobody };
    let Some(running) = Running::read(&home.value) else { return Asked::Nobody };
    // Programs elsewhere, another agent, another clock: it would answer for somebody else.
    if running.environment != config::environment(global) {
        return Asked::Nobody;
    }
    match running.schema() {
        Some(schema) if schema == SCHEMA_VERSION => {}
        Some(schema) if schema < SCHEMA_VERSION => {
            retire(&running.socket);
            return Asked::Nobody;
        }
        _ => return Asked::Nobody,
    }
    let path = format!("/v1/hooks/{program}/{event}");
    let id = id.to_string();
    let headers = [("heirloom-hook-id", id.as_str()), ("content-type", "application/octet-stream")];
    match ask(&running.socket, &Question { method: "POST", path: &path, headers: &headers, body: payload, until }) {
        Ok(answer) if matches!(answer.status, 200 | 204) => Asked::Answered(answer.body),
        Ok(answer) => Asked::Unknown(format!("the service answered {}", answer.status)),
        Err(Silence::NobodyThere) => Asked::Nobody,
        Err(Silence::NoAnswer(why)) => Asked::Unknown(why.to_owned()),
    }
}

/// Tells a service of an older build to make room.
fn retire(socket: &Path) {
    let until = Instant::now() + RETIRE;
    let _ = ask(socket, &Question { method: "POST", path: "/v1/daemon/retire", headers: &[], body: b"", until });
}
