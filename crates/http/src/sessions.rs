//! Sessions of the page. A code that can be used once is made for the person at this machine and exchanged for a token
//! that lives at most as long as the process. The code travels in the fragment of a URL, which no server and no log
//! sees; the token is never part of a URL.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use blake3::Hash;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::AgentId;

use crate::tokens::{Grant, secret};

/// Validity of a code.
pub const CODE: Duration = Duration::from_secs(60);
/// Validity of a page's token.
pub const SESSION: Duration = Duration::from_secs(12 * 3600);
/// Maximum number of codes, and of tokens; a new one pushes out the oldest.
const MOST: usize = 32;

/// A code or token: its digest, the agents it opens, and the end of its validity.
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
    /// Makes a code for these agents.
    pub fn code(&self, agents: Vec<AgentId>) -> Result<String> {
        hold(&self.codes, agents, CODE)
    }

    /// Exchanges a code for a token, once. `Refused` for a code that is unknown, used or expired.
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

    /// Returns the agents that a page's token opens.
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

/// Removes expired entries and returns the rest.
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
