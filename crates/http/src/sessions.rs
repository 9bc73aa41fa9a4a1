//! Sessions of a page: a code for one use, made for the person at this machine, is exchanged for a token that lives as
//! long as the process. The code travels in the fragment of an address, which no server and no log sees; the token never
//! stands in an address at all.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use blake3::Hash;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::AgentId;

use crate::tokens::{Grant, secret};

/// How long a code is good for.
pub const CODE: Duration = Duration::from_secs(60);
/// How long a page may go on without a new code.
pub const SESSION: Duration = Duration::from_secs(12 * 3600);
/// The most of each; the oldest goes.
const MOST: usize = 32;

/// What a secret allows, and until when.
struct Held {
    digest: Hash,
    agents: Vec<AgentId>,
    until: Instant,
}

#[derive(Default)]
pub struct Sessions {
    codes: Mutex<Vec<Held>>,
    open: Mutex<Vec<Held>>,
}

impl Sessions {
    /// A code for these agents.
    pub fn code(&self, agents: Vec<AgentId>) -> Result<String> {
        hold(&self.codes, agents, CODE)
    }

    /// A token for a code, once. `Refused` for a code that is none, was used, or is too old.
    pub fn exchange(&self, code: &str) -> Result<(String, Vec<AgentId>)> {
        let refused = || {
            Error::refused("this code opens nothing: it was used, or is older than a minute").hint("ask for a new one")
        };
        let mut codes = current(&self.codes);
        let digest = blake3::hash(code.as_bytes());
        let at = codes.iter().position(|held| held.digest == digest).ok_or_else(refused)?;
        let agents = codes.remove(at).agents;
        drop(codes);
        Ok((hold(&self.open, agents.clone(), SESSION)?, agents))
    }

    /// What the token of a page allows.
    pub fn who(&self, token: &str) -> Option<Grant> {
        let digest = blake3::hash(token.as_bytes());
        let open = current(&self.open);
        let held = open.iter().find(|held| held.digest == digest)?;
        Some(Grant { name: "page".into(), agents: held.agents.clone() })
    }
}

fn hold(all: &Mutex<Vec<Held>>, agents: Vec<AgentId>, lives: Duration) -> Result<String> {
    let secret = secret()?;
    let mut all = current(all);
    if all.len() >= MOST {
        all.remove(0);
    }
    all.push(Held { digest: blake3::hash(secret.as_bytes()), agents, until: Instant::now() + lives });
    Ok(secret)
}

/// Those that are still good.
fn current(all: &Mutex<Vec<Held>>) -> MutexGuard<'_, Vec<Held>> {
    let mut all = all.lock().unwrap_or_else(|e| e.into_inner());
    let now = Instant::now();
    all.retain(|held| held.until > now);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_old_ones_go() {
        let sessions = Sessions::default();
        let code = sessions.code(vec![AgentId::main()]).unwrap();
        assert!(sessions.who(&code).is_none(), "a code is no token");
        let (token, agents) = sessions.exchange(&code).unwrap();
        assert_eq!((agents, sessions.who(&token).unwrap().agents), (vec![AgentId::main()], vec![AgentId::main()]));
        assert!(sessions.exchange(&code).is_err() && sessions.exchange(&token).is_err());
        let first = sessions.code(vec![AgentId::main()]).unwrap();
        for _ in 0..MOST {
            sessions.code(vec![AgentId::main()]).unwrap();
        }
        assert!(sessions.exchange(&first).is_err());
        sessions.open.lock().unwrap()[0].until = Instant::now();
        assert!(sessions.who(&token).is_none());
    }
}
