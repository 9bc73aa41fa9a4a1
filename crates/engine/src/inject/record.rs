//! What was given, kept so that it can be given again word for word and explained (R10.4, R4.3).

use std::fmt;

use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::{Ask, Given, dedup, print};
use crate::assistant::AssistantHome;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::scope::SessionKey;
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

/// zstd level: what is stored is some kilobytes, once a prompt.
const LEVEL: i32 = 3;

/// The longest content that is read back.
const LARGEST: usize = 4 << 20;

/// Records a context and what it gave. Where the program does not keep what it is given, what the session holds already
/// goes with it, byte for byte (R10.6).
pub(super) fn store(tx: &mut Write, at: &AssistantHome, ask: &Ask, mut given: Given) -> Result<Given> {
    if given.parts.is_empty() {
        return standing_only(tx, ask, given);
    }
    let mut key = [0u8; 32];
    getrandom::fill(&mut key).map_err(|e| Error::new(ErrorKind::Machine, "no randomness").because(e))?;
    let request = super::request(ask, &given.place, given.epoch, &given.parts);
    let before = if ask.can.stores { String::new() } else { standing(tx, &given)? };
    let next: i64 = tx
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'contexts'", [], |r| r.get(0))
        .optional()?
        .unwrap_or(0);
    let id = ContextId(next + 1);
    let digest = print::hex(&blake3::keyed_hash(&key, print::body(&given.parts).as_bytes()).as_bytes()[..8]);
    let block = print::block(&given, Some((id, &digest)), tx.now(), &at.agent);
    let content = json!({
        "request": request, "degraded": given.degraded, "block": block,
        "profile": given.parts.iter().map(|p| json!({
            "part": p.part.name(), "cacheable": p.cacheable, "tokens": p.tokens,
            "items": p.items().collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "dropped": given.dropped.iter().map(|d| json!({"id": d.id, "why": d.why})).collect::<Vec<_>>(),
    });
    let packed = zstd::bulk::compress(content.to_string().as_bytes(), LEVEL)
        .map_err(|e| Error::new(ErrorKind::Machine, "a context could not be packed").because(e))?;
    let manifest = manifest(tx, &ask.can.manifest())?;
    tx.execute(
        "INSERT INTO contexts (context_no, agent_no, session_key, event, epoch, manifest_no, tokens, at, fingerprint,
                                   content, key, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            id.0,
            at.agent_no,
            given.place.session.as_str(),
            ask.event.name(),
            given.epoch as i64,
            manifest,
            tokens(&block) as i64,
            tx.now(),
            given.fingerprint.as_bytes(),
            packed,
            key.as_slice(),
            digest.as_bytes(),
        ],
    )?;
    let items: Vec<(String, Vec<u8>)> = given
        .parts
        .iter()
        .flat_map(|p| p.said.iter().map(|(item, said)| (item.as_deref().unwrap_or(p.part.name()), said)))
        .map(|(item, said)| (item.to_owned(), dedup::digest_of(&key, said)))
        .collect();
    dedup::note(tx, &given.place, given.epoch, id.0, &items)?;
    tx.note("context", id.to_string());
    tx.note("items", items.len());
    given.id = Some(id);
    given.block = before + &block;
    given.tokens = tokens(&given.block);
    Ok(given)
}

/// Nothing is new: a program that keeps nothing is given again what the session holds.
pub(super) fn standing_only(tx: &Read, ask: &Ask, mut given: Given) -> Result<Given> {
    if !ask.can.stores {
        given.block = standing(tx, &given)?;
        given.tokens = tokens(&given.block);
    }
    Ok(given)
}

/// All blocks a session's context holds since it was cut last, in the order they were given.
fn standing(tx: &Read, given: &Given) -> Result<String> {
    let mut statement = tx.prepare_cached(
        "SELECT content FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND epoch = ?3 ORDER BY context_no",
    )?;
    let place = &given.place;
    let rows = statement
        .query_map(params![place.agent_no, place.session.as_str(), given.epoch as i64], |r| r.get::<_, Vec<u8>>(0))?;
    let mut out = String::new();
    for packed in rows {
        out.push_str(open(&packed?)?.and_then(|c| Some(c.get("block")?.as_str()?.to_owned())).as_deref().unwrap_or(""));
    }
    Ok(out)
}

fn manifest(tx: &Write, manifest: &Value) -> Result<i64> {
    let text = manifest.to_string();
    let digest = blake3::hash(text.as_bytes());
    tx.prepare_cached("INSERT INTO capability_manifests (digest, manifest) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![digest.as_bytes().as_slice(), text])?;
    Ok(tx
        .prepare_cached("SELECT manifest_no FROM capability_manifests WHERE digest = ?1")?
        .query_row([digest.as_bytes().as_slice()], |r| r.get(0))?)
}

/// `None`: a forget took it away.
fn open(packed: &[u8]) -> Result<Option<Value>> {
    if packed.is_empty() {
        return Ok(None);
    }
    let damaged = || Error::damaged("what was given cannot be read any more");
    let raw = zstd::bulk::decompress(packed, LARGEST).map_err(|e| damaged().because(e))?;
    Ok(Some(serde_json::from_slice(&raw).map_err(|e| damaged().because(e))?))
}

/// A context that was given, as it was.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    pub id: ContextId,
    pub session: SessionKey,
    pub event: String,
    pub epoch: u64,
    pub at: Millis,
    pub fingerprint: String,
    pub tokens: u64,
    /// What the program could take.
    pub can: Value,
    /// `None`: a forget took the words away. Else `request`, `profile`, `dropped`, `degraded`, `block` (FORMAT.md).
    pub content: Option<Value>,
}

impl Replayed {
    /// What the program was given, byte for byte.
    pub fn block(&self) -> Option<&str> {
        self.content.as_ref()?.get("block")?.as_str()
    }
}

/// What was given. `NotFound` where there is none such of this agent.
pub fn replay(tx: &Read, agent_no: i64, id: ContextId) -> Result<Replayed> {
    let found = tx
        .prepare_cached(
            "SELECT session_key, event, epoch, at, fingerprint, tokens, manifest, content
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
                content: None,
            };
            Ok((replayed, r.get::<_, Vec<u8>>(7)?))
        })
        .optional()?;
    let Some((replayed, packed)) = found else {
        return Err(
            Error::not_found(format!("nothing was given as {id}")).hint("heirloom context list shows what was given")
        );
    };
    Ok(Replayed { content: open(&packed)?, ..replayed })
}

/// The newest contexts of a session, or of all, newest first, without their words.
pub fn list(tx: &Read, agent_no: i64, session: Option<&SessionKey>, most: usize) -> Result<Vec<Replayed>> {
    let mut statement = tx.prepare_cached(
        "SELECT context_no FROM contexts WHERE agent_no = ?1 AND (?2 IS NULL OR session_key = ?2)
         ORDER BY context_no DESC LIMIT ?3",
    )?;
    let rows =
        statement.query_map(params![agent_no, session.map(|s| s.as_str()), most as i64], |r| r.get::<_, i64>(0))?;
    rows.map(|no| replay(tx, agent_no, ContextId(no?))).collect()
}
