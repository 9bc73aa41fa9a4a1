//! Records contexts, so that they can be read back word for word ([`crate::recall::replay`]) and explained (R10.4,
//! R4.3).

use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::held::{self, Stretch};
use super::{Ask, Given, PartGiven, Said, print};
use crate::audience::Audience;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::recall::Dropped;
use crate::recall::replay::{ContextId, digest_of_content, open};
use crate::scope::AgentNo;
use crate::tokens::tokens;
use crate::tree::AssistantHome;

/// Largest number of left-out candidates stored with their reasons, because the prompt waits for the record.
const DROPPED: usize = 32;

/// zstd level: each record has a few kilobytes and is written once per prompt.
const LEVEL: i32 = 3;

impl Given {
    /// Records a planned context in the caller's transaction and returns it with its id (R4.2).
    pub(crate) fn record(self, tx: &mut Write, at: &AssistantHome, ask: &Ask) -> Result<Given> {
        store(tx, at, ask, self)
    }
}

/// Records a context and the items in it. For a program that does not store what it is given, the blocks that the
/// session already holds are put before it, byte for byte (R10.6).
fn store(tx: &mut Write, at: &AssistantHome, ask: &Ask, mut given: Given) -> Result<Given> {
    // The same hook may be called twice at once, by a plugin and by the settings: the second context was planned before
    // the first one was recorded, so items that the first gave are removed here.
    if last(tx, &given.audience, given.epoch)? > given.seen {
        let held = held::held(tx, at.agent_no, &held::stretches(tx, &given.audience, given.epoch)?)?;
        given.parts.retain(|p| {
            let has = |said: &Said| held.has(said.item.as_deref().unwrap_or(p.part.name()), &said.version);
            !p.said.iter().all(has)
        });
    }
    if given.parts.is_empty() {
        return standing_only(tx, ask, given);
    }
    let mut key = [0u8; 32];
    getrandom::fill(&mut key).map_err(|e| Error::new(ErrorKind::Machine, "no randomness").because(e))?;
    let request = super::request(ask, &given.audience, given.epoch, &given.parts);
    let before = if ask.can.stores { String::new() } else { standing(tx, &given)? };
    let next: i64 = tx
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'contexts'", [], |r| r.get(0))
        .optional()?
        .unwrap_or(0);
    let id = ContextId(next + 1);
    let digest = print::hex(&blake3::keyed_hash(&key, print::body(&given.parts).as_bytes()).as_bytes()[..8]);
    let block = print::block(&given, Some((id, &digest)), at);
    let mut content = json!({
        "request": request, "degraded": given.degraded, "block": block,
        "profile": given.parts.iter().map(|p| json!({
            "part": p.part.name(), "cacheable": p.cacheable, "tokens": p.tokens,
            "items": p.items().collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "lines": print::lines(&given.parts).map(|(part, said, line)| why(part, said, line)).collect::<Vec<_>>(),
        "dropped": dropped(&given.dropped),
        "dropped_more": given.dropped.len().saturating_sub(DROPPED),
    });
    content["digest"] = digest_of_content(&key, &content).into();
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
            given.audience.session.as_str(),
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
        .flat_map(|p| p.said.iter().map(|said| (said.item.as_deref().unwrap_or(p.part.name()), &said.version)))
        .map(|(item, version)| (item.to_owned(), held::digest_of(&key, version)))
        .collect();
    held::note(tx, &given.audience, given.epoch, id.0, &items)?;
    tx.note("context", id.to_string());
    tx.note("items", items.len());
    given.id = Some(id);
    given.block = before + &block;
    given.tokens = tokens(&given.block);
    Ok(given)
}

/// Returns the stored explanation of a line.
fn why(part: &PartGiven, said: &Said, line: usize) -> Value {
    let score = said.why.score.map(crate::recall::trace::round);
    json!({
        "line": line, "part": part.part.name(), "id": said.item, "stage": said.why.stage, "score": score,
        "why": said.why.reasons,
    })
}

/// Returns the left-out items and reasons, up to the limit. Reasons that begin "more than" say least and come last.
fn dropped(all: &[Dropped]) -> Vec<Value> {
    let (more, first): (Vec<&Dropped>, Vec<&Dropped>) = all.iter().partition(|d| d.why.starts_with("more than "));
    first.into_iter().chain(more).take(DROPPED).map(|d| json!({"id": d.id, "why": d.why})).collect()
}

/// Returns the last context a session was given in an epoch.
pub(super) fn last(tx: &Read, audience: &Audience, epoch: u64) -> Result<ContextId> {
    let last: Option<i64> = tx
        .prepare_cached("SELECT max(context_no) FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND epoch = ?3")?
        .query_row(params![audience.agent_no, audience.session.as_str(), epoch as i64], |r| r.get(0))?;
    Ok(ContextId(last.unwrap_or(0)))
}

/// For the case that nothing is new: a program that stores nothing is given again what the session holds.
pub(super) fn standing_only(tx: &Read, ask: &Ask, mut given: Given) -> Result<Given> {
    if !ask.can.stores {
        given.block = standing(tx, &given)?;
        given.tokens = tokens(&given.block);
    }
    Ok(given)
}

/// Returns all blocks of a session's context since it was last cut, in the order they were given; for a fork, the
/// blocks of its parent come first.
fn standing(tx: &Read, given: &Given) -> Result<String> {
    let mut statement = tx.prepare_cached(
        "SELECT content FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND epoch = ?3 AND at <= ?4
         ORDER BY context_no",
    )?;
    let mut out = String::new();
    for Stretch { session, epoch, until } in held::stretches(tx, &given.audience, given.epoch)? {
        let with = params![given.audience.agent_no, session, epoch as i64, until];
        let rows = statement.query_map(with, |r| r.get::<_, Vec<u8>>(0))?;
        for packed in rows {
            let content = open(&packed?)?;
            out.push_str(content.as_ref().and_then(|c| c.get("block")?.as_str()).unwrap_or_default());
        }
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

/// Removes the text of all contexts given to programs of this agent, in the transaction of a forget. The rows stay and
/// show that contexts were given.
pub(crate) fn forget(tx: &Write, agent_no: AgentNo) -> Result<()> {
    // The digest is removed too, because with it a person could confirm a guess of the words.
    tx.prepare_cached(
        "UPDATE contexts SET content = zeroblob(0), key = zeroblob(0), digest = zeroblob(0), fingerprint = zeroblob(0)
         WHERE agent_no = ?1 AND length(content) > 0",
    )?
    .execute([agent_no])?;
    Ok(())
}
