//! Tokens for access over TCP, each for some agents. Only digests are stored; the token itself is shown once, when it
//! is made.

use blake3::Hash;
use heirloom_engine::clock::rfc3339;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, Publication, Published, digest, layout};

use heirloom_engine::scope::AgentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format version of the file.
const VERSION: u32 = 1;
/// Maximum size of the file in bytes.
const LARGEST: u64 = 1 << 20;
/// Maximum number of tokens.
const MOST: usize = 1_000;
/// Prefix of every token, so that people and secret scanners recognise it.
const PREFIX: &str = "hlm_";

/// The tokens of a home. Every check reads the file again, so that a revoked token is refused with the next request.
#[derive(Clone)]
pub struct Tokens {
    engine: Engine,
}

/// A token in a list.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Debug)]
pub struct Listed {
    /// Name of the token, for `revoke` and for the audit.
    pub name: String,
    /// Agents the token opens; the first is used if a request names none.
    pub agents: Vec<String>,
    pub created: String,
}

/// All tokens.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TokensReport {
    pub tokens: Vec<Listed>,
}

/// A token that was made.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Issued {
    #[serde(flatten)]
    pub listed: Listed,
    /// The token. It is stored nowhere and cannot be shown again.
    pub token: String,
}

/// Access a token gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    pub name: String,
    pub agents: Vec<AgentId>,
}

#[derive(Serialize, Deserialize, Default)]
struct File {
    version: u32,
    tokens: Vec<Stored>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    listed: Listed,
    /// BLAKE3 of the token, in hex.
    digest: String,
}

impl Tokens {
    pub fn of(engine: &Engine) -> Tokens {
        Tokens { engine: engine.clone() }
    }

    /// All tokens, oldest first.
    pub fn list(&self) -> Result<Vec<Listed>> {
        Ok(read(self.engine.home())?.0.tokens.into_iter().map(|stored| stored.listed).collect())
    }

    /// Makes a token. `Usage` for an invalid name or for no agents, `Refused` if the name is taken.
    pub fn issue(&self, name: &str, agents: &[AgentId]) -> Result<Issued> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
            return Err(Error::usage("a token's name is 1 to 40 of letters, digits and - _ . @")
                .hint("name it after the program that will hold it"));
        }
        if agents.is_empty() {
            return Err(Error::usage("a token is for at least one agent").hint("⟨agent list⟩ shows them"));
        }
        let token = secret()?;
        let mut names: Vec<String> = Vec::new();
        for agent in agents {
            if !names.iter().any(|known| known == agent.as_str()) {
                names.push(agent.as_str().to_owned());
            }
        }
        let listed = Listed { name: name.to_owned(), agents: names, created: rfc3339(self.engine.now()) };
        let stored = Stored { listed: listed.clone(), digest: blake3::hash(token.as_bytes()).to_hex().to_string() };
        self.change(|file| {
            if file.tokens.iter().any(|t| t.listed.name == name) {
                return Err(Error::refused(format!("there is a token called {name} already"))
                    .hint(format!("another name, or ⟨token revoke {name}⟩ first")));
            }
            if file.tokens.len() >= MOST {
                return Err(Error::refused("there are a thousand tokens").hint("⟨token list⟩ shows what can go"));
            }
            file.tokens.push(stored);
            Ok(())
        })?;
        Ok(Issued { listed, token })
    }

    /// Revokes a token. `NotFound` if no token has this name.
    pub fn revoke(&self, name: &str) -> Result<Listed> {
        self.change(|file| {
            let at = file.tokens.iter().position(|t| t.listed.name == name);
            let at = at.ok_or_else(|| {
                Error::not_found(format!("there is no token called {name:?}")).hint("⟨token list⟩ shows them")
            })?;
            Ok(file.tokens.remove(at).listed)
        })
    }

    /// Returns the access a token gives; `None` if it is unknown. Every stored digest is compared, so the time taken
    /// does not depend on the token.
    pub(crate) fn who(&self, token: &str) -> Result<Option<Grant>> {
        let (file, _) = read(self.engine.home())?;
        let given = blake3::hash(token.as_bytes());
        let mut found = None;
        for stored in file.tokens {
            // `Hash` compares in constant time.
            if Hash::from_hex(&stored.digest).is_ok_and(|known| known == given) {
                found = Some(stored.listed);
            }
        }
        Ok(found.and_then(|listed| {
            let agents: Vec<AgentId> = listed.agents.iter().filter_map(|a| AgentId::parse(a).ok()).collect();
            (!agents.is_empty()).then_some(Grant { name: listed.name, agents })
        }))
    }

    fn change<T>(&self, f: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
        let home = self.engine.home();
        let held = home.lock("tokens")?;
        let (mut file, old) = read(home)?;
        let out = f(&mut file)?;
        file.version = VERSION;
        let mut bytes = serde_json::to_vec_pretty(&file).map_err(|e| Error::damaged("no list of tokens").because(e))?;
        bytes.push(b'\n');
        let base = old.as_deref().map(digest);
        let what = Publication { path: &layout::TOKENS, bytes: &bytes, base, own: base };
        match home.publish(&held, &what, self.engine.now(), &mut |_| Ok(()))? {
            Published::Written(_) | Published::Unchanged(_) | Published::Displaced(_) => Ok(out),
            Published::Moved | Published::Deferred { .. } => {
                Err(Error::new(ErrorKind::Busy, "somebody is writing the list of tokens").hint("try again"))
            }
        }
    }
}

/// Returns a random secret in the form of a token.
pub(crate) fn secret() -> Result<String> {
    use base64::Engine as _;
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| Error::new(ErrorKind::Machine, "no random numbers").because(e))?;
    Ok(format!("{PREFIX}{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}

fn read(home: &Home) -> Result<(File, Option<Vec<u8>>)> {
    let Some(bytes) = home.read(&layout::TOKENS, LARGEST)? else { return Ok((File::default(), None)) };
    let hint = "delete state/tokens.json and make the tokens again";
    let file: File = serde_json::from_slice(&bytes)
        .map_err(|e| Error::damaged("the list of tokens cannot be read").because(e).hint(hint))?;
    if file.version > VERSION {
        return Err(Error::refused("the list of tokens is of a newer version of Heirloom").hint("upgrade this one"));
    }
    Ok((file, Some(bytes)))
}
