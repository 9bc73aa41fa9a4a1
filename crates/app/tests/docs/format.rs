//! FORMAT.md against a real ledger: the sample sessions are captured, verified, found, and read back without Heirloom.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use heirloom_engine::capture::{Capture, Totals};
use heirloom_engine::clock::Clock;
use heirloom_engine::home::{Home, layout};
use heirloom_engine::index::Index;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Ledger, Open};
use heirloom_engine::recall::{Filter, search, understand};
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::transcript::export;
use heirloom_engine::verify::verify;
use heirloom_harness::{Harness, HostPaths, OnMachine, by_name};

struct World {
    dir: tempfile::TempDir,
    ledger: Ledger,
    index: Index,
}

impl World {
    fn ledger_path(&self) -> PathBuf {
        self.dir.path().join("home/state/runtime.db")
    }

    fn read_py(&self, args: &[&str]) -> Vec<u8> {
        let script = self.dir.path().join("read.py");
        std::fs::write(&script, fenced("docs/FORMAT.md", "python")).unwrap();
        let out = Command::new("python3").arg(&script).arg(self.ledger_path()).args(args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    }
}

/// Returns the only code block of that language in a document.
fn fenced(document: &str, language: &str) -> String {
    let text = std::fs::read_to_string(super::repository().join(document)).unwrap();
    let fence = format!("```{language}\n");
    let mut blocks = text.split(fence.as_str()).skip(1);
    let block = blocks.next().and_then(|rest| rest.split("```").next()).unwrap().to_owned();
    assert!(blocks.next().is_none(), "{document} has one block of {language}");
    block
}

fn empty() -> World {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::create(&dir.path().join("home")).unwrap();
    let path = home.file_path(&layout::RUNTIME_DB).unwrap();
    let backups = home.root().join(layout::BACKUPS.as_str());
    let ledger = Ledger::open(&path, &backups, Clock::System, Open::Full).unwrap();
    let index = home.file_path(&layout::INDEX_DB).unwrap();
    let (index, _) = Index::open(&index, ledger.id(), Duration::from_secs(1)).unwrap();
    World { dir, ledger, index }
}

/// Imports these files, each with its program's decoder.
fn import(world: &mut World, files: &[(&'static dyn Harness, PathBuf)]) -> Totals {
    let scratch = world.dir.path().join("home").join(layout::SCRATCH.as_str());
    let mut capture = Capture::new(&world.ledger, Some(&mut world.index), "test", &scratch, None).unwrap();
    for (harness, path) in files {
        let program = OnMachine { harness: *harness, host: HostPaths::default() };
        capture.file(&program, &AgentId::main(), path).unwrap();
    }
    let (totals, problems) = capture.finish().unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    totals
}

/// Makes a memory of the sample sessions.
fn world() -> World {
    let demo = super::repository().join("crates/app/demo");
    let program = |path: &Path| super::demo::program_of(path.strip_prefix(&demo).unwrap().to_str().unwrap());
    let files: Vec<_> = super::demo::files(&demo).into_iter().map(|path| (program(&path), path)).collect();
    let mut world = empty();
    assert_eq!(import(&mut world, &files).quarantined, 0);
    world
}

#[test]
fn the_samples_pass_the_check_and_are_found() {
    let mut world = world();
    let report = verify(&world.ledger, Some(&world.index), &mut |_| {}).unwrap();
    assert_eq!(report.findings, []);
    let mut best = |query: &str| {
        let filter = Filter { limit: 3, ..Filter::default() };
        let query = understand(&world.ledger, &AgentId::main(), query, &jiff::tz::TimeZone::UTC).unwrap();
        let found = search(&world.ledger, &mut world.index, &AgentId::main(), &query, &filter).unwrap();
        found.hits.iter().map(|h| h.turn.text.clone()).collect::<Vec<_>>().join("\n---\n")
    };
    for (query, expected) in [
        ("why did we drop redis", "we drop Redis"),
        ("refund twice index", "refund_twice"),
        ("RSS feed", "full text or summary"),
        ("feed-validator-report.txt", "214 posts"),
        ("23505", "order_events_once"),
        ("coriander", "no coriander"),
        ("E24", "Ablaufschlauch"),
        ("夕食", "夕食"),
        ("benchmark table for Marta", "27 November"),
    ] {
        let found = best(query);
        assert!(found.contains(expected), "{query}: {found}");
    }
}

#[test]
fn a_ledger_is_read_with_the_lines_of_the_document() {
    let world = world();
    for tool in ["python3", "zstd"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: {tool} is not installed");
            return;
        }
    }
    let list = String::from_utf8(world.read_py(&[])).unwrap();
    assert_eq!(list.lines().count(), 5, "{list}");
    assert!(list.contains("turns:whatsapp:household 2026-10-31 07:14:00"), "{list}");
    let household = String::from_utf8(world.read_py(&["turns:whatsapp:household"])).unwrap();
    assert!(household.contains("Jonas: War das Sieb."), "{household}");
    for path in super::demo::files(&super::repository().join("crates/app/demo")) {
        let out = world.read_py(&["--file", path.to_str().unwrap()]);
        assert!(out == std::fs::read(&path).unwrap(), "{} comes back byte for byte", path.display());
    }
}

/// Exports a generation of a file; the newest if none is named.
fn exported(world: &World, path: &Path, generation: Option<i64>) -> String {
    let path = path.canonicalize().unwrap();
    let mut out = Vec::new();
    let done = world.ledger.read(|tx| {
        let stream = export::stream_of_file(tx, AgentNo(1), &path)?.unwrap();
        let generation = generation.unwrap_or(stream.generation);
        export::write_stream(tx, &Opener::default(), &stream, generation, &mut out, &mut |_| {})
    });
    done.unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn generations_and_pending_bytes_are_as_described() {
    let mut world = empty();
    let path = world.dir.path().join("notes.jsonl");
    let turns = [(by_name("turns").unwrap(), path.clone())];
    let line = |n: u32| format!("{{\"session\":\"s\",\"id\":{n},\"text\":\"number {n}\"}}\n");
    let first = format!("{}\n{}", line(1), line(2));
    let grown = format!("{first}{{\"session\":\"s\",\"text\":\"not yet");
    let rewritten = line(3);
    let mut new_turns = Vec::new();
    for content in [&first, &first, &grown, &rewritten] {
        std::fs::write(&path, content).unwrap();
        new_turns.push(import(&mut world, &turns).turns);
        assert_eq!(verify(&world.ledger, None, &mut |_| {}).unwrap().findings, []);
        // The export equals the file as it is now, including an unterminated end.
        assert_eq!(exported(&world, &path, None), *content);
    }
    assert_eq!(new_turns, [2, 0, 0, 1]);
    // The older generation is the file before it was rewritten, including the end that never became a line.
    assert_eq!(exported(&world, &path, Some(0)), grown);
    assert_eq!(exported(&world, &path, Some(1)), rewritten);
}

#[test]
fn the_codes_and_columns_are_those_of_the_document() {
    let text = std::fs::read_to_string(super::repository().join("docs/FORMAT.md")).unwrap();
    let migrations = super::demo::files(&super::repository().join("crates/engine/src/ledger/migrations"));
    assert!(migrations.len() > 1);
    let schema: String = migrations.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for table in schema.split("CREATE TABLE ").skip(1) {
        let (name, body) = table.split_once(" (").unwrap();
        let paragraph = text.split(&format!("\n**{name}** ")).nth(1).unwrap_or_else(|| panic!("no table {name}"));
        let paragraph = paragraph.split("\n\n**").next().unwrap();
        let whole = if name == "audit" { text.split("### Audit").nth(1).unwrap() } else { paragraph };
        for line in body.lines().map(str::trim).take_while(|l| !l.starts_with(')')) {
            let column = line.split(' ').next().unwrap_or_default();
            if column.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !column.is_empty() {
                assert!(whole.contains(&format!("`{column}`")), "{name}.{column} is not in FORMAT.md");
            }
        }
    }
}

/// Checks the two numbers about blocks against the code.
#[test]
fn the_numbers_of_blocks_are_those_of_the_documents() {
    let read = |path: &str| std::fs::read_to_string(super::repository().join(path)).unwrap();
    let code = read("crates/engine/src/ledger/blocks.rs");
    let number = |before: &str| -> u32 {
        let rest = code.split_once(before).unwrap_or_else(|| panic!("no {before:?}")).1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    let (kib, level) = (number("TARGET_RAW: usize = "), number("LEVEL: i32 = "));
    for document in ["docs/FORMAT.md", "docs/adr/0013-records-packed-in-blocks.md"] {
        let text = read(document).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("{kib} KiB")), "{document} should say {kib} KiB");
        assert!(text.contains(&format!("(level {level}, no dictionary")), "{document} should say level {level}");
    }
}

/// A reader without Heirloom relies on the frame: its size, its checksum, and that it uses no dictionary.
#[test]
fn frames_are_as_described() {
    let world = world();
    let blocks = world.ledger.read(|tx| {
        let mut statement = tx.prepare("SELECT raw_length, data FROM blocks")?;
        let rows = statement.query_map([], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, Vec<u8>>(1)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    });
    let blocks = blocks.unwrap();
    assert!(!blocks.is_empty());
    for (raw_length, data) in blocks {
        assert_eq!(data[..4], [0x28, 0xb5, 0x2f, 0xfd], "a zstd frame");
        let (checksum, dictionary) = (data[4] & 0b100 != 0, data[4] & 0b11 != 0);
        // A single segment begins with its size: one byte, two (less 256), four or eight.
        let (single, size) = (data[4] & 0b10_0000 != 0, data[4] >> 6);
        assert!(checksum && !dictionary && (single || size > 0), "{:08b}", data[4]);
        let at = &data[if single { 5 } else { 6 }..];
        let told = match size {
            0 => u64::from(at[0]),
            1 => u64::from(u16::from_le_bytes([at[0], at[1]])) + 256,
            2 => u64::from(u32::from_le_bytes(at[..4].try_into().unwrap())),
            _ => u64::from_le_bytes(at[..8].try_into().unwrap()),
        };
        assert_eq!(told as i64, raw_length);
    }
}

#[test]
fn the_index_has_the_version_of_the_document() {
    let text = std::fs::read_to_string(super::repository().join("docs/FORMAT.md")).unwrap();
    let code = std::fs::read_to_string(super::repository().join("crates/engine/src/index/mod.rs")).unwrap();
    let rest = code.split_once("INDEX_VERSION: &str = \"").unwrap().1;
    let version = rest.split('"').next().unwrap();
    assert!(text.contains(&format!("- `meta`: `version` (`{version}`)")), "the index is of version {version}");
    assert!(text.contains(&format!("`state/index.db` | no, derived | {version} |")), "{version}");
    let tokenizer = code.split_once("TOKENIZER: &str = \"").unwrap().1.split('"').next().unwrap();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("`{tokenizer}`")), "{tokenizer}");
}

#[test]
fn the_home_has_the_folders_of_the_document() {
    let text = std::fs::read_to_string(super::repository().join("docs/FORMAT.md")).unwrap();
    for folder in layout::DIRECTORIES {
        assert!(text.contains(&format!("{}/", folder.as_str())), "{}", folder.as_str());
    }
    assert!(Path::new(layout::RUNTIME_DB.as_str()).starts_with(layout::STATE.as_str()));
}
