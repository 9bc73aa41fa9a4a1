//! Contexts that programs were given, read back word for word (R10.4, R4.3). [`crate::inject`] writes them.

use std::fmt;

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::clock::{Millis, as_rfc3339};
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::scope::{AgentNo, SessionKey};
use crate::tokens::tokens;

/// A context that was given, printed as `x:17`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ContextId(pub i64);

impl ContextId {
    pub fn parse(text: &str) -> Option<ContextId> {
        text.strip_prefix("x:")?.parse().ok().filter(|n| *n > 0).map(ContextId)
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x:{}", self.0)
    }
}

impl Serialize for ContextId {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl schemars::JsonSchema for ContextId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContextId".into()
    }

    fn json_schema(of: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(of)
    }
}

/// The most bytes of content that are read back.
const LARGEST: usize = 4 << 20;

/// Unpacks stored content. Returns `None` if a forget removed the text.
pub(crate) fn open(packed: &[u8]) -> Result<Option<Value>> {
    if packed.is_empty() {
        return Ok(None);
    }
    let damaged = || Error::damaged("what was given cannot be read any more");
    let raw = zstd::bulk::decompress(packed, LARGEST).map_err(|e| damaged().because(e))?;
    Ok(Some(serde_json::from_slice(&raw).map_err(|e| damaged().because(e))?))
}

/// Returns the digest of a context's content without its digest field, keyed with the context's key.
pub(crate) fn digest_of_content(key: &[u8], content: &Value) -> String {
    let Ok(key) = <[u8; 32]>::try_from(key) else { return String::new() };
    let mut content = content.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("digest");
    }
    blake3::keyed_hash(&key, content.to_string().as_bytes()).to_hex()[..16].to_owned()
}

/// A context as it was given.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Replayed {
    pub id: ContextId,
    pub session: SessionKey,
    pub event: String,
    pub epoch: u64,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Millis,
    pub fingerprint: String,
    pub tokens: u64,
    /// The capabilities of the program.
    pub can: Value,
    /// Whether the content still has its stored digest; `None` if the content is forgotten or has no digest because an
    /// older version wrote it.
    pub sound: Option<bool>,
    /// `None` if a forget removed the text; else an object with `request`, `profile`, `lines`, `dropped`, `degraded`,
    /// `block` (FORMAT.md).
    #[serde(skip)]
    pub content: Option<Value>,
}

impl Replayed {
    /// Returns the text the program was given, byte for byte.
    pub fn block(&self) -> Option<&str> {
        self.content.as_ref()?.get("block")?.as_str()
    }

    /// Whether the columns of its row agree with its content: event, session and number of tokens.
    pub(crate) fn is_consistent(&self) -> bool {
        let Some(content) = &self.content else { return true };
        let long = self.block().is_none_or(|block| tokens(block) as u64 == self.tokens);
        let says = |field: &str, here: &str| content["request"][field].as_str().is_none_or(|there| there == here);
        long && says("event", &self.event) && says("session", self.session.as_str())
    }

    /// Returns the ids its lines refer to, each once, with the part it is in; `heirloom expand` accepts them.
    pub fn items(&self) -> Vec<(&str, &str)> {
        let parts = self.content.as_ref().and_then(|c| c.get("profile")?.as_array());
        let mut out: Vec<(&str, &str)> = Vec::new();
        for part in parts.into_iter().flatten() {
            let name = part["part"].as_str().unwrap_or_default();
            for id in part["items"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if out.iter().all(|(_, known)| *known != id) {
                    out.push((name, id));
                }
            }
        }
        out
    }
}

/// Reads one context. `NotFound` if this agent has none with the id.
pub fn replay(tx: &Read, agent_no: AgentNo, id: ContextId) -> Result<Replayed> {
    let found = tx
        .prepare_cached(
            "SELECT session_key, event, epoch, at, fingerprint, tokens, manifest, content, key
             FROM contexts JOIN capability_manifests USING (manifest_no) WHERE context_no = ?1 AND agent_no = ?2",
        )?
        .query_row(params![id.0, agent_no], |r| {
            let replayed = Replayed {
                id,
                session: SessionKey::from(r.get::<_, String>(0)?),
                event: r.get(1)?,
                epoch: r.get::<_, i64>(2)? as u64,
                at: r.get(3)?,
                fingerprint: String::from_utf8_lossy(&r.get::<_, Vec<u8>>(4)?).into_owned(),
                tokens: r.get::<_, i64>(5)? as u64,
                can: serde_json::from_str(&r.get::<_, String>(6)?).unwrap_or_default(),
                sound: None,
                content: None,
            };
            Ok((replayed, r.get::<_, Vec<u8>>(7)?, r.get::<_, Vec<u8>>(8)?))
        })
        .optional()?;
    let Some((replayed, packed, key)) = found else {
        return Err(Error::not_found(format!("nothing was given as {id}")).hint("⟨context list⟩ shows what was given"));
    };
    let content = open(&packed)?;
    let digest = content.as_ref().and_then(|content| content.get("digest")?.as_str().map(str::to_owned));
    let sound = content.as_ref().zip(digest).map(|(content, digest)| digest_of_content(&key, content) == digest);
    Ok(Replayed { content, sound, ..replayed })
}

/// Returns contexts that differ from what was given, each with what is wrong, and the number of contexts that are gone.
/// Numbers are assigned once and no context is ever removed, so a gap in the numbers shows a loss.
pub fn unsound(tx: &Read) -> Result<(Vec<(ContextId, String)>, u64)> {
    let mut statement = tx.prepare("SELECT context_no, agent_no FROM contexts ORDER BY context_no")?;
    let mut rows = statement.query([])?;
    let (mut unsound, mut there) = (Vec::new(), 0u64);
    while let Some(r) = rows.next()? {
        let id = ContextId(r.get(0)?);
        there += 1;
        match replay(tx, r.get(1)?, id) {
            Ok(replayed) if replayed.sound == Some(false) || !replayed.is_consistent() => {
                unsound.push((id, "it is not what was given".to_owned()));
            }
            Ok(_) => {}
            Err(e) => unsound.push((id, e.to_string())),
        }
    }
    let given: Option<i64> =
        tx.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'contexts'", [], |r| r.get(0)).optional()?;
    Ok((unsound, (given.unwrap_or(0).max(0) as u64).saturating_sub(there)))
}

/// Lists the newest contexts of a session, or of all sessions, newest first, without their content; `before`: only
/// earlier ones.
pub fn list(
    tx: &Read,
    agent_no: AgentNo,
    session: Option<&SessionKey>,
    before: Option<ContextId>,
    most: usize,
) -> Result<Vec<Replayed>> {
    let mut statement = tx.prepare_cached(
        "SELECT context_no FROM contexts WHERE agent_no = ?1 AND (?2 IS NULL OR session_key = ?2)
           AND context_no < ?3 ORDER BY context_no DESC LIMIT ?4",
    )?;
    let (session, before) = (session.map(|s| s.as_str()), before.map_or(i64::MAX, |id| id.0));
    let rows = statement.query_map(params![agent_no, session, before, most as i64], |r| r.get::<_, i64>(0))?;
    rows.map(|no| replay(tx, agent_no, ContextId(no?))).collect()
}
