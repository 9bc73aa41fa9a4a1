//! Passes a hook's call to the home's service, so that the hook costs little more than its process. The service is
//! never needed: if none listens, the hook does the work itself. A call that was sent is not also stored here; if its
//! answer does not arrive, it goes into the spool under the same id.

use std::time::{Duration, Instant};

use heirloom_engine::ledger::SCHEMA_VERSION;
use heirloom_engine::program::HookId;
use heirloom_service::Running;
use heirloom_service::client::{Question, Silence, ask};

use crate::config;
use crate::context::Global;
use crate::service::retire;

/// Time before the deadline at which an unanswered call goes into the spool.
pub const RESERVE: Duration = Duration::from_millis(150);

/// Maximum time for asking a service of an older build to end.
const RETIRE: Duration = Duration::from_millis(50);

/// Result of asking the service.
pub enum Asked {
    /// The service answered with these bytes for the program, which may be none.
    Answered(Vec<u8>),
    /// No suitable service was found, and nothing was sent.
    Nobody,
    /// The call was sent, but nobody knows whether it is stored.
    Unknown(String),
}

/// Sends the call to the service, if one runs that would store the same as this build.
pub fn ask_service(global: &Global, at: (&str, &str), id: HookId, payload: &[u8], until: Instant) -> Asked {
    let (program, event) = at;
    let Ok(home) = config::home(global.home.as_deref()) else { return Asked::Nobody };
    let Some(running) = Running::read(&home.value) else { return Asked::Nobody };
    // A service with other program folders, another default agent or another clock would store the call differently.
    if running.environment != config::environment(global) {
        return Asked::Nobody;
    }
    match running.schema() {
        Some(schema) if schema == SCHEMA_VERSION => {}
        Some(schema) if schema < SCHEMA_VERSION => {
            retire(&running.socket, RETIRE);
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
