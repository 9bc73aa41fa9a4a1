//! Export of the whole memory into plain files that other programs can read, and the import of such an export (R14.5, D6).
//!
//! Files for people and programs: the bytes of each session, `turns.jsonl`, `nodes.jsonl`, and the visible files. The import
//! needs more, so each table of the ledger is exported, too, one row a line. `export.json` lists each file with its digest and
//! is written last; only then the folder gets its name.
//!
//! [`everything`] produces the files of an export from a ledger. The export writes them; the import runs it again on the ledger
//! it has made and compares the files byte for byte.

mod taking_in;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Instance;
use super::backup::{DEEPEST, LARGEST, Part, Receiving, hex, make_folder, part_of, write_file};
use super::listener::{Listener, Progress, Task};
use crate::clock::rfc3339;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Home, Kind, RelPath, layout};
use crate::ledger::blocks::Opener;
use crate::ledger::{Read, SCHEMA_VERSION, dump};
use crate::report::upkeep::Exported;
use crate::scope::{AgentNo, BlockNo};
use crate::transcript::codes;
use crate::transcript::export::{self, Part as Piece};
use crate::transcript::read::{self, SessionFilter};
use crate::transcript::workspaces;

pub use taking_in::{import_export, is_export};

/// File name of the list of an export.
pub const LIST: &str = "export.json";

/// Version of the export's form.
const VERSION: u64 = 1;

/// Folder of the visible files in an export.
const FILES: &str = "files/";

/// Folders of the home that are copied file by file.
const FOLDERS: [RelPath; 2] = [layout::WORKSPACES, layout::RUNTIME];

#[derive(Serialize, Deserialize)]
struct List {
    v: u64,
    /// Time of the newest audit row, and not of the export: the same memory gives the same bytes at any time.
    at: String,
    ledger: String,
    schema: i64,
    tables: Vec<String>,
    files: BTreeMap<String, Part>,
}

/// Tables and counts of an export.
#[derive(Default)]
struct Told {
    tables: Vec<String>,
    sessions: u64,
    turns: u64,
}

/// Receiver of the files that [`everything`] produces.
trait Sink {
    /// Takes one file of the export; `write` writes its bytes into the given writer.
    fn file(&mut self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<()>;
}

/// Produces every file of an export that comes from the ledger: the tables, and with `readable` also sessions, turns and
/// nodes.
fn everything(tx: &Read, readable: bool, sink: &mut dyn Sink) -> Result<Told> {
    let mut told = Told { tables: dump::tables(tx)?, ..Told::default() };
    for table in &told.tables {
        sink.file(&format!("ledger/{table}.jsonl"), &mut |out| dump::write(tx, table, out).map(drop))?;
    }
    if readable {
        told.sessions = sessions(tx, sink)?;
        sink.file("turns.jsonl", &mut |out| turns(tx, out).map(|count| told.turns = count))?;
        sink.file("nodes.jsonl", &mut |out| nodes(tx, out))?;
    }
    Ok(told)
}

impl Instance {
    /// Exports the whole memory into the folder `to`, which must be missing or empty. Nothing is redacted.
    pub fn export_all(&self, to: &Path) -> Result<Exported> {
        let receiving = Receiving::beside(self, to)?;
        let folder = receiving.folder.clone();
        let mut left_out = Vec::new();
        let trees = self.trees("export", &mut left_out)?;
        // The locks are held until the ledger was read, so that files and ledger are of one moment.
        let locks = match self.read_only {
            true => Vec::new(),
            false => trees.iter().map(|at| at.lock_unscanned()).collect::<Result<Vec<_>>>()?,
        };
        let files = self.ledger.read(|tx| {
            let count =
                "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM sqlite_schema WHERE type = 'table')";
            Ok(tx.query_row(count, [], |r| r.get::<_, i64>(0))?)
        })?;
        self.listener.progress(Progress::Begin(Task::Exporting, files as u64));
        let mut writing =
            Writing { folder: &folder, files: BTreeMap::new(), left_out, listener: self.listener.as_ref() };
        for path in FOLDERS {
            writing.copy(&self.home, &path, 0)?;
        }
        let (at, told) = self.ledger.read(|tx| {
            let at =
                tx.query_row("SELECT at FROM audit ORDER BY audit_no DESC LIMIT 1", [], |r| r.get(0)).optional()?;
            Ok((at.unwrap_or(0), everything(tx, true, &mut writing)?))
        })?;
        drop(locks);
        self.listener.progress(Progress::End);
        let left_out = std::mem::take(&mut writing.left_out);
        let list = List {
            v: VERSION,
            at: rfc3339(at),
            ledger: self.ledger.id().to_owned(),
            schema: SCHEMA_VERSION,
            tables: told.tables,
            files: std::mem::take(&mut writing.files),
        };
        let text = serde_json::to_vec_pretty(&list)
            .map_err(|e| Error::new(ErrorKind::Machine, "the list of the export").because(e))?;
        write_file(&folder.join(LIST), &text)?;
        let to = receiving.named(to)?;
        Ok(Exported {
            exported: to.display().to_string(),
            files: list.files.len() as u64,
            bytes: list.files.values().map(|part| part.bytes).sum(),
            sessions: told.sessions,
            turns: told.turns,
            left_out,
        })
    }
}

/// Writes the files of an export into a folder and keeps their digests for the list.
struct Writing<'a> {
    folder: &'a Path,
    files: BTreeMap<String, Part>,
    left_out: Vec<String>,
    listener: &'a dyn Listener,
}

impl Sink for Writing<'_> {
    fn file(&mut self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let at = self.folder.join(name);
        let failed = |e: std::io::Error| Error::io("write", &at, e);
        make_folder(at.parent().unwrap_or(self.folder))?;
        let file = File::options().write(true).create_new(true).mode(0o600).open(&at).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        write(&mut out)?;
        out.into_inner().map_err(|e| failed(e.into_error()))?.sync_all().map_err(failed)?;
        self.files.insert(name.to_owned(), part_of(&at, &mut blake3::Hasher::new())?);
        self.listener.progress(Progress::More(1));
        Ok(())
    }
}

impl Writing<'_> {
    fn copy(&mut self, home: &Home, path: &RelPath, depth: usize) -> Result<()> {
        let entries = match home.list(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            listed => listed?,
        };
        for entry in entries {
            let Some(below) = entry.name.to_str().and_then(|name| path.join(name).ok()) else {
                self.left_out.push(format!("{path}/{}", entry.name.to_string_lossy()));
                continue;
            };
            match entry.kind {
                Kind::Directory if depth < DEEPEST => self.copy(home, &below, depth + 1)?,
                Kind::File => match home.read(&below, LARGEST) {
                    Ok(Some(bytes)) => self.file(&format!("{FILES}{below}"), &mut |out| {
                        out.write_all(&bytes).map_err(|e| Error::io("write", Path::new(below.as_str()), e))
                    })?,
                    Ok(None) => {}
                    Err(e) if e.kind() == ErrorKind::Refused => self.left_out.push(format!("{below} ({e})")),
                    Err(e) => return Err(e),
                },
                _ => self.left_out.push(below.to_string()),
            }
        }
        Ok(())
    }
}

/// Exports the bytes of every session: its files, or its records where it had none. Returns the number of sessions.
fn sessions(tx: &Read, sink: &mut dyn Sink) -> Result<u64> {
    let mut count = 0;
    for agent in workspaces::agents(tx)? {
        let Some(agent_no) = read::agent_no(tx, &crate::scope::AgentId::parse(&agent.agent)?)? else { continue };
        for session in read::sessions(tx, agent_no, &SessionFilter::default())? {
            count += 1;
            let key = session.key.as_str();
            let folder = format!("sessions/{}/{}", agent.agent, plain(key));
            session_files(tx, agent_no, key, &folder, sink)?;
        }
    }
    Ok(count)
}

fn session_files(tx: &Read, agent_no: AgentNo, key: &str, folder: &str, sink: &mut dyn Sink) -> Result<()> {
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
        sink.file(&name, &mut |out| export::write(tx, &part, out, &mut |_| {}).map(drop))?;
    }
    Ok(())
}

/// Returns a safe file name: every character but letters, digits, dot, dash and underscore becomes a dash. A changed name gets
/// a digest, so that two names stay apart.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let kept: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(120).collect();
    let kept = kept.trim_start_matches('.').to_owned();
    if kept == name { kept } else { format!("{kept}-{}", &hex(name.as_bytes())[..8]) }
}

/// Exports all turns, one a line. Returns their number.
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

/// Exports all summary nodes, one a line.
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
