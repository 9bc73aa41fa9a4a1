//! Everything in plain files that other programs read, and a home made of them again (R14.5, D6).
//!
//! What people and programs want to read stands in files of its own: the bytes of each session, turns, nodes, the visible
//! files. The way back needs more than that, so every table of the ledger is there, too, a row a line. `export.json` names
//! each file with its digest and comes last; the folder gets its name only then.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Instance;
use super::backup::{Part, Receiving, has_only, hex, part_of, rename_new, sync_folder, take_back};
use crate::clock::rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Home, HomeOptions, Kind, NewFile, RelPath, layout};
use crate::ledger::blocks::Opener;
use crate::ledger::{Read, SCHEMA_VERSION, dump};
use crate::report::upkeep::{Exported, PutBack};
use crate::scope::{AgentNo, BlockNo};
use crate::sqlite::wal_path;
use crate::transcript::codes;
use crate::transcript::export::{self, Part as Piece};
use crate::transcript::read::{self, SessionFilter};
use crate::transcript::workspaces;

/// The list of what is in an export.
pub const LIST: &str = "export.json";

/// The version of the form.
const VERSION: u64 = 1;

/// Folders of the home that are copied as they are.
const FOLDERS: [RelPath; 2] = [layout::WORKSPACES, layout::RUNTIME];

const LARGEST: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct List {
    v: u64,
    /// When the ledger was last written: the same memory gives the same export, whenever that is made.
    at: String,
    ledger: String,
    schema: i64,
    tables: Vec<String>,
    files: BTreeMap<String, Part>,
}

impl Instance {
    /// Writes everything into the folder `to`, which is not there or empty. Nothing is redacted.
    pub fn export_all(&self, to: &Path) -> Result<Exported> {
        let receiving = Receiving::beside(self, to)?;
        let folder = receiving.folder.clone();
        let mut trees = Vec::new();
        for agent in self.agents()? {
            trees.extend(self.assistant_as_it_is(&agent, "export")?);
        }
        // Files and ledger as of one moment.
        let locks = match self.read_only {
            true => Vec::new(),
            false => trees.iter().map(|at| at.lock_unscanned()).collect::<Result<Vec<_>>>()?,
        };
        let mut writing = Writing { folder: &folder, files: BTreeMap::new() };
        for path in FOLDERS {
            writing.copy(&self.home, &path, 0)?;
        }
        let (at, tables, sessions, turns) = self.ledger.read(|tx| {
            let at =
                tx.query_row("SELECT at FROM audit ORDER BY audit_no DESC LIMIT 1", [], |r| r.get(0)).optional()?;
            let tables = dump::tables(tx)?;
            for table in &tables {
                writing.put(&format!("ledger/{table}.jsonl"), |out| dump::write(tx, table, out))?;
            }
            let sessions = writing.sessions(tx)?;
            let turns = writing.put("turns.jsonl", |out| turns(tx, out))?;
            writing.put("nodes.jsonl", |out| nodes(tx, out))?;
            Ok((at.unwrap_or(0), tables, sessions, turns))
        })?;
        drop(locks);
        let list = List {
            v: VERSION,
            at: rfc3339(at),
            ledger: self.ledger.id().to_owned(),
            schema: SCHEMA_VERSION,
            tables,
            files: std::mem::take(&mut writing.files),
        };
        let text = serde_json::to_vec_pretty(&list)
            .map_err(|e| Error::new(ErrorKind::Machine, "the list of the export").because(e))?;
        super::backup::write_file(&folder.join(LIST), &text)?;
        let to = receiving.named(to)?;
        Ok(Exported {
            exported: to.display().to_string(),
            files: list.files.len() as u64,
            bytes: list.files.values().map(|part| part.bytes).sum(),
            sessions,
            turns,
        })
    }
}

struct Writing<'a> {
    folder: &'a Path,
    files: BTreeMap<String, Part>,
}

impl Writing<'_> {
    fn put<T>(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
        use std::os::unix::fs::OpenOptionsExt;
        let at = self.folder.join(name);
        let failed = |e: std::io::Error| Error::io("write", &at, e);
        super::backup::make_folder(at.parent().unwrap_or(self.folder))?;
        let file = File::options().write(true).create_new(true).mode(0o600).open(&at).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        let written = write(&mut out)?;
        out.into_inner().map_err(|e| failed(e.into_error()))?.sync_all().map_err(failed)?;
        self.files.insert(name.to_owned(), part_of(&at, &mut blake3::Hasher::new())?);
        Ok(written)
    }

    fn copy(&mut self, home: &Home, path: &RelPath, depth: usize) -> Result<()> {
        let entries = match home.list(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            listed => listed?,
        };
        for entry in entries {
            let Some(below) = entry.name.to_str().and_then(|name| path.join(name).ok()) else { continue };
            match entry.kind {
                Kind::Directory if depth < 16 => self.copy(home, &below, depth + 1)?,
                Kind::File => {
                    let Some(bytes) = home.read(&below, LARGEST)? else { continue };
                    self.put(&format!("files/{below}"), |out| {
                        out.write_all(&bytes).map_err(|e| Error::io("write", Path::new(below.as_str()), e))
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The bytes of every session: its files, or its rows, or its records.
    fn sessions(&mut self, tx: &Read) -> Result<u64> {
        let mut count = 0;
        for agent in workspaces::agents(tx)? {
            let Some(agent_no) = read::agent_no(tx, &crate::scope::AgentId::parse(&agent.agent)?)? else { continue };
            for session in read::sessions(tx, agent_no, &SessionFilter::default())? {
                count += 1;
                let key = session.key.as_str();
                let folder = format!("sessions/{}/{}", agent.agent, plain(key));
                self.session(tx, agent_no, key, &folder)?;
            }
        }
        Ok(count)
    }

    fn session(&mut self, tx: &Read, agent_no: AgentNo, key: &str, folder: &str) -> Result<()> {
        let mut parts = Vec::new();
        let (first, _) = export::part_of_session(tx, agent_no, key, None, None)?;
        match first {
            Piece::File(..) => {
                for stream in export::files_of_session(tx, agent_no, key)? {
                    let name = stream.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
                    parts.push((format!("{folder}/{}-{}", stream.no, plain(&name)), Piece::newest(stream)));
                }
            }
            other => parts.push((format!("{folder}/records.jsonl"), other)),
        }
        for (name, part) in parts {
            self.put(&name, |out| export::write(tx, &part, out, &mut |_| {}))?;
        }
        Ok(())
    }
}

/// A name for a file: what is no letter, digit, dot, dash or underscore becomes a dash; with a digest where that changed it.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let kept: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(120).collect();
    let kept = kept.trim_start_matches('.').to_owned();
    if kept == name { kept } else { format!("{kept}-{}", &hex(name.as_bytes())[..8]) }
}

/// What was said, a turn a line.
fn turns(tx: &Read, out: &mut dyn Write) -> Result<u64> {
    let opener = Opener::default();
    let mut statement = tx.prepare(
        "SELECT turn_no, agent_id, session_key, coalesce(lane, ''), role, kind, at, entry, parent, t.failed,
           (SELECT name FROM names WHERE name_no = speaker_no), (SELECT name FROM names WHERE name_no = tool_no),
           (SELECT name FROM names WHERE name_no = model_no), block_no, text_offset, text_length, t.forgotten IS NOT NULL
         FROM turns t JOIN sessions USING (session_no) JOIN agents USING (agent_no) LEFT JOIN lanes USING (lane_no)
         ORDER BY turn_no",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(r) = rows.next()? {
        let is_forgotten: bool = r.get(16)?;
        let text = match is_forgotten {
            true => Vec::new(),
            false => opener.slice(tx, r.get::<_, BlockNo>(13)?, r.get(14)?, r.get(15)?)?,
        };
        let said = |n: usize| r.get::<_, Option<String>>(n);
        let at: Option<i64> = r.get(6)?;
        let line = json!({
            "turn": format!("t{:x}", r.get::<_, i64>(0)?), "agent": said(1)?, "session": said(2)?, "lane": said(3)?,
            "role": codes::role_name(codes::role_of(r.get(4)?)), "kind": codes::kind_name(codes::kind_of(r.get(5)?)), "at": at.map(rfc3339), "entry": said(7)?,
            "parent": said(8)?, "failed": r.get::<_, i64>(9)? != 0, "speaker": said(10)?, "tool": said(11)?,
            "model": said(12)?, "forgotten": is_forgotten, "text": String::from_utf8_lossy(&text),
        });
        put_line(out, &line)?;
        count += 1;
    }
    Ok(count)
}

/// The summaries, a node a line.
fn nodes(tx: &Read, out: &mut dyn Write) -> Result<()> {
    let mut statement = tx.prepare(
        "SELECT node_no, agent_id, kind, depth, session_key, first_turn, last_turn, turns, summary
         FROM nodes n JOIN agents a ON a.agent_no = n.agent_no LEFT JOIN sessions USING (session_no) ORDER BY node_no",
    )?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let line = json!({
            "node": r.get::<_, i64>(0)?, "agent": r.get::<_, String>(1)?, "kind": r.get::<_, i64>(2)?,
            "depth": r.get::<_, i64>(3)?, "session": r.get::<_, Option<String>>(4)?,
            "first_turn": format!("t{:x}", r.get::<_, i64>(5)?), "last_turn": format!("t{:x}", r.get::<_, i64>(6)?),
            "turns": r.get::<_, i64>(7)?, "summary": r.get::<_, String>(8)?,
        });
        put_line(out, &line)?;
    }
    Ok(())
}

fn put_line(out: &mut dyn Write, line: &serde_json::Value) -> Result<()> {
    writeln!(out, "{line}").map_err(|e| Error::io("write", Path::new("a line of the export"), e))
}

/// Whether a folder is an export of everything.
pub fn is_export(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

/// Makes the home at `root`, which must have no memory, of an export. Every file of the export is compared with its list
/// before anything is written. `Damaged` where one is not what it was.
pub fn import_export(from: &Path, root: &Path, options: &HomeOptions) -> Result<PutBack> {
    let at = from.join(LIST);
    let text = fs::read(&at).map_err(|e| Error::io("read", &at, e))?;
    let list: List = serde_json::from_slice(&text)
        .map_err(|e| Error::damaged(format!("{} cannot be read", at.display())).because(e))?;
    if list.v > VERSION || list.schema > SCHEMA_VERSION {
        return Err(Error::refused("the export is of a newer version of heirloom").hint("update heirloom"));
    }
    for (name, part) in &list.files {
        let plain = RelPath::parse(name).map_err(|e| Error::damaged("the list of the export").because(e))?;
        let found = part_of(&from.join(plain.as_str()), &mut blake3::Hasher::new())?;
        if found != *part {
            return Err(Error::damaged(format!("{} is not what was exported", from.join(name).display())));
        }
    }
    let home = Home::create_with(root, options)?;
    let ledger = home.root().join(layout::RUNTIME_DB.as_str());
    let exported: BTreeMap<&str, &Part> =
        list.files.iter().filter_map(|(name, part)| Some((name.strip_prefix("files/")?, part))).collect();
    // What is there may have been left by an attempt that did not end.
    let is_free = has_only(&home, &layout::WORKSPACES, &|path| exported.get(path).copied())?;
    if home.stat(&layout::RUNTIME_DB)?.is_some() || !is_free || wal_path(&ledger).symlink_metadata().is_ok() {
        return Err(Error::refused(format!("{} has a memory already", home.root().display()))
            .hint("an export becomes a home of its own: --home DIR"));
    }
    let begun = ledger.with_file_name(crate::home::temporary_name()?);
    super::backup::write_file(&begun, b"")?;
    let mut lines = |table: &str| -> Result<Box<dyn std::io::BufRead>> {
        let name = format!("ledger/{table}.jsonl");
        let Some(_) = list.files.get(&name) else {
            return Err(Error::damaged(format!("{name} is not in the list of the export")));
        };
        let path = from.join(&name);
        Ok(Box::new(BufReader::new(File::open(&path).map_err(|e| Error::io("read", &path, e))?)))
    };
    let mut written = Vec::new();
    let made = dump::make(&begun, list.schema, &list.tables, &mut lines).and_then(|()| {
        for (name, part) in &list.files {
            let Some(path) = name.strip_prefix("files/") else { continue };
            let path = RelPath::parse(path)?;
            if !FOLDERS.iter().any(|folder| path.as_str().starts_with(&format!("{folder}/"))) {
                return Err(Error::damaged(format!("the export names {path}, which no export has")));
            }
            let bytes = fs::read(from.join(name)).map_err(|e| Error::io("read", &from.join(name), e))?;
            if hex(&bytes) != part.digest {
                return Err(Error::damaged(format!("{name} has just been changed")));
            }
            if let Some(folder) = path.parent() {
                home.create_dir_all(&folder)?;
            }
            if matches!(home.write_new(&path, &bytes)?, NewFile::Written) {
                written.push(path);
            }
        }
        // The ledger last: without it this is no memory.
        fs::hard_link(&begun, &ledger)
            .or_else(|_| rename_new(&begun, &ledger))
            .map_err(|e| Error::io("name", &ledger, e))
    });
    let _ = fs::remove_file(&begun);
    if let Err(e) = made {
        take_back(&home, &written);
        return Err(e);
    }
    sync_folder(ledger.parent().unwrap_or(home.root()))?;
    Ok(PutBack {
        home: home.root().display().to_string(),
        files: list.files.len() as u64,
        bytes: list.files.values().map(|part| part.bytes).sum(),
        of: list.at,
    })
}
