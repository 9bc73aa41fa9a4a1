//! The index rows of a turn.
//!
//! A row id packs agent, turn and part into one number, so that "only this agent" is a range of row ids, which the
//! full-text engine applies before it scores anything. Every other limit of a search is a token in the `scope` column.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::word_parts::{self, Stored};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::{AgentNo, SessionKey, SessionNo, TurnId, WorkspaceNo};
use crate::text::indexed::fold;
use crate::transcript::{kind_name, role_name, twin};

const PART_BITS: u32 = 6;
const TURN_BITS: u32 = 40;

/// Approximate bytes of a part. Long texts are split, so that a match in long tool output is not outweighed by its
/// length.
const PART_BYTES: usize = 24 * 1024;

const MAX_PARTS: usize = 1 << PART_BITS;

/// Agent, turn and part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowId {
    pub agent_no: AgentNo,
    pub turn_no: i64,
    pub part: i64,
}

impl RowId {
    pub fn pack(self) -> i64 {
        (self.agent_no.0 << (TURN_BITS + PART_BITS)) | (self.turn_no << PART_BITS) | self.part
    }

    pub fn unpack(row: i64) -> RowId {
        RowId {
            agent_no: AgentNo(row >> (TURN_BITS + PART_BITS)),
            turn_no: (row >> PART_BITS) & ((1 << TURN_BITS) - 1),
            part: row & ((1 << PART_BITS) - 1),
        }
    }

    /// Returns the first and last row id of an agent's turns from `first` to `last`.
    pub fn range(agent_no: AgentNo, first: i64, last: i64) -> (i64, i64) {
        let last = last.min((1 << TURN_BITS) - 1);
        (
            RowId { agent_no, turn_no: first.max(0), part: 0 }.pack(),
            RowId { agent_no, turn_no: last, part: MAX_PARTS as i64 - 1 }.pack(),
        )
    }
}

/// A turn as it is indexed.
pub(super) struct Doc<'a> {
    pub agent_no: AgentNo,
    pub turn_no: TurnId,
    pub session_no: SessionNo,
    pub workspace_no: Option<WorkspaceNo>,
    pub harness: &'a str,
    pub role: Role,
    pub kind: TurnKind,
    pub at: Option<Millis>,
    pub speaker: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub text: &'a str,
}

/// The token that limits a search: `kind` is `w`orkspace, `s`ession, `h`arness, `r`ole or `k`ind of turns, the `f`ile's
/// kind, its st`a`te, `c`lass or `p`lace of files, the `n`ode's kind and its `t`hread. The prefix `xq` distinguishes it
/// from words.
pub fn scope_token(kind: char, value: &str) -> String {
    let value: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("xq{kind}{value}")
}

/// Returns the tokens of a turn that limit a search.
pub(super) fn scope_of(doc: &Doc) -> Vec<String> {
    let mut scope = vec![
        scope_token('s', &doc.session_no.to_string()),
        scope_token('h', doc.harness),
        scope_token('r', role_name(doc.role)),
        scope_token('k', kind_name(doc.kind)),
    ];
    scope.extend(doc.workspace_no.map(|no| scope_token('w', &no.to_string())));
    scope
}

/// Stores the rows of a turn and returns how many there are.
pub(super) fn insert(conn: &Connection, doc: &Doc, stored: &mut Stored) -> Result<i64> {
    word_parts::insert(conn, doc, stored)?;
    let scope = scope_of(doc).join(" ");
    let head = head(doc);
    let mut statement = conn.prepare_cached("INSERT INTO fts (rowid, text, scope) VALUES (?1, ?2, ?3)")?;
    let mut rows = 0i64;
    for part in parts(doc.text) {
        let row = RowId { agent_no: doc.agent_no, turn_no: doc.turn_no.0, part: rows }.pack();
        let text = format!("{head}{}", fold(part));
        statement.execute(params![row, text, scope])?;
        rows += 1;
    }
    Ok(rows)
}

/// Returns date, speaker and tool, which are part of the indexed text because questions name them (RETRIEVAL: +4 R@10).
fn head(doc: &Doc) -> String {
    let mut head = String::new();
    if let Some(at) = doc.at.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()) {
        head.push_str(&at.strftime("%-d %B %Y ").to_string());
    }
    for name in [doc.speaker, doc.tool].into_iter().flatten() {
        head.push_str(&fold(name));
        head.push(' ');
    }
    head
}

/// Splits a text into parts of about [`PART_BYTES`], at a line or a space near the limit.
pub(super) fn parts(text: &str) -> Vec<&str> {
    if text.len() <= PART_BYTES {
        return vec![text];
    }
    let size = PART_BYTES.max(text.len().div_ceil(MAX_PARTS - 1));
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > size && out.len() < MAX_PARTS - 1 {
        let (limit, half) = (rest.floor_char_boundary(size), rest.floor_char_boundary(size / 2));
        let cut = rest[half..limit].rfind(['\n', ' ']).map_or(limit, |at| half + at);
        let (part, after) = rest.split_at(cut.max(1));
        out.push(part);
        rest = after;
    }
    out.push(rest);
    out
}

/// Indexes up to `limit` turns after `from`. Returns the last turn, rows by agent number, turns and bytes of text.
/// `each` is called with every turn that gets rows.
pub(super) fn copy(
    tx: &Read,
    opener: &Opener,
    conn: &Connection,
    (from, limit): (TurnId, i64),
    words: &mut Stored,
    each: &mut dyn FnMut(&Doc),
) -> Result<(TurnId, BTreeMap<AgentNo, i64>, i64, usize)> {
    let (mut stored, mut bytes) = (BTreeMap::new(), 0);
    let (last, turns) = read(tx, opener, (from, TurnId(i64::MAX), limit), &mut |doc| {
        *stored.entry(doc.agent_no).or_insert(0) += insert(conn, doc, words)?;
        bytes += doc.text.len() + 64;
        each(doc);
        Ok(())
    })?;
    Ok((last, stored, turns, bytes))
}

/// Reads up to `limit` turns after `from` and up to `to`, without forgotten ones. Returns the last turn and the number
/// of turns, forgotten ones included.
pub(super) fn read(
    tx: &Read,
    opener: &Opener,
    (from, to, limit): (TurnId, TurnId, i64),
    each: &mut dyn FnMut(&Doc) -> Result<()>,
) -> Result<(TurnId, i64)> {
    let mut statement = tx.prepare_cached(
        "SELECT t.turn_no, s.agent_no, t.session_no, t.workspace_no, s.session_key, role, kind, t.at, sp.name, tl.name,
                t.block_no, text_offset, text_length, t.forgotten IS NOT NULL,
                EXISTS (SELECT 1 FROM witnesses w WHERE w.turn_no = t.turn_no AND w.record_no = t.record_no AND w.echo)
         FROM turns t JOIN sessions s USING (session_no)
         LEFT JOIN names sp ON sp.name_no = t.speaker_no LEFT JOIN names tl ON tl.name_no = t.tool_no
         WHERE turn_no > ?1 AND turn_no <= ?3 ORDER BY turn_no LIMIT ?2",
    )?;
    let mut rows = statement.query((from, limit, to))?;
    let (mut last, mut turns) = (from, 0);
    while let Some(r) = rows.next()? {
        (last, turns) = (r.get(0)?, turns + 1);
        // A forgotten turn has no rows.
        if r.get(13)? {
            continue;
        }
        // Homes of earlier versions have two turns of a message whose echo came first; only one is indexed.
        if r.get(14)? && twin::of_echo(tx, opener, last)?.is_some() {
            continue;
        }
        // A damaged turn must not keep the others from being indexed; `verify` reports it.
        let text = opener.slice(tx, r.get(10)?, r.get(11)?, r.get(12)?).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let key = SessionKey::from(r.get::<_, String>(4)?);
        let (speaker, tool): (Option<String>, Option<String>) = (r.get(8)?, r.get(9)?);
        let doc = Doc {
            agent_no: r.get(1)?,
            turn_no: last,
            session_no: r.get(2)?,
            workspace_no: r.get(3)?,
            harness: key.harness(),
            role: crate::transcript::role_from_code(r.get(5)?),
            kind: crate::transcript::kind_from_code(r.get(6)?),
            at: r.get(7)?,
            speaker: speaker.as_deref(),
            tool: tool.as_deref(),
            text: &text,
        };
        each(&doc)?;
    }
    Ok((last, turns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ids_read_back_and_sort_by_turn() {
        let id = RowId { agent_no: AgentNo(3), turn_no: 0x9c11, part: 5 };
        assert_eq!(RowId::unpack(id.pack()), id);
        let (first, last) = RowId::range(AgentNo(3), 0, i64::MAX);
        assert!(first <= id.pack() && id.pack() <= last);
        let other = RowId { agent_no: AgentNo(4), turn_no: 1, part: 0 };
        assert!(other.pack() > last);
    }

    #[test]
    fn parts_lose_no_byte() {
        for text in
            ["short".to_owned(), "é".repeat(40_000), "ab ".to_owned() + &"日本".repeat(30_000), "word ".repeat(500_000)]
        {
            let parts = parts(&text);
            assert_eq!(parts.concat(), text);
            assert!(parts.len() <= MAX_PARTS);
        }
    }
}
