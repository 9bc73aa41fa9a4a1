//! Documents are held to the code, and the sample sessions to the decoders.
//!
//! What a document names must exist, every requirement has a row in `docs/specs/dependencies.yaml`, decisions and notes
//! link both ways, and what FORMAT.md tells a stranger to do is done here to a ledger made for the purpose.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

mod demo {
    //! The sessions of `heirloom up --demo`, through the real adapters.

    use std::path::{Path, PathBuf};

    use heirloom_engine::event::{Decoded, Fact, RecordClass, Role, TurnKind};
    use heirloom_harness::{Harness, by_name};

    pub fn files(below: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![below.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }

    pub fn program_of(path: &str) -> &'static dyn Harness {
        let name = match path.split('/').next() {
            Some("claude") => "claude-code",
            Some("codex") => "codex",
            _ => "turns",
        };
        by_name(name).unwrap()
    }

    fn decode_all() -> Vec<(String, Vec<Decoded>)> {
        let demo = super::repository().join("crates/app/demo");
        let mut out = Vec::new();
        for path in files(&demo) {
            let shown = path.strip_prefix(&demo).unwrap().display().to_string();
            let program = program_of(&shown);
            let bytes = std::fs::read(&path).unwrap();
            assert!(bytes.ends_with(b"\n"), "{shown} ends with a newline");
            assert!(program.recognises(&path, &bytes[..bytes.len().min(64 << 10)]), "{shown} is told by its head");
            let mut decoder = program.decoder(&program.place(&path), &[]);
            let lines = bytes.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n');
            out.push((shown, lines.map(|line| decoder.line(line)).collect()));
        }
        out
    }

    #[test]
    fn every_line_of_the_samples_is_understood() {
        let (mut turns, mut bytes) = (0, 0);
        for (file, records) in decode_all() {
            for (i, record) in records.iter().enumerate() {
                let place = format!("{file}:{}", i + 1);
                assert_ne!(record.class, RecordClass::Quarantined, "{place}: {:?}", record.reason);
                assert_ne!(record.class, RecordClass::Unknown, "{place}");
                for turn in record.turns.iter().filter(|t| !t.echo) {
                    assert!(turn.at.is_some() && turn.entry.is_some(), "{place}: {turn:?}");
                    turns += 1;
                }
            }
            let path = super::repository().join("crates/app/demo").join(&file);
            bytes += path.metadata().unwrap().len();
        }
        assert!((60..=140).contains(&turns), "{turns} turns");
        assert!(bytes < 120 << 10, "{bytes} bytes go into the binary");
    }

    #[test]
    fn the_samples_show_what_there_is_to_show() {
        let all = decode_all();
        let turns = || all.iter().flat_map(|(_, records)| records).flat_map(|r| &r.turns);
        let facts = || all.iter().flat_map(|(_, records)| records).flat_map(|r| &r.facts);
        assert!(turns().any(|t| t.kind == TurnKind::CompactSummary));
        assert!(turns().any(|t| t.kind == TurnKind::Thinking) && turns().any(|t| t.failed));
        assert!(facts().any(|f| matches!(f, Fact::Compaction { .. })));
        assert!(facts().any(|f| matches!(f, Fact::LaneCall { .. })), "a sub-agent and the call that started it");
        let lane = all.iter().find(|(file, _)| file.contains("subagents")).unwrap();
        assert!(lane.1.iter().flat_map(|r| &r.turns).all(|t| t.role != Role::User), "nobody types to a sub-agent");
        for words in ["drop Redis", "RSS feed", "refund_twice", "E24", "ZEPHYR", "夕食", "Schornsteinfeger"] {
            assert!(turns().any(|t| t.text.contains(words)), "{words}");
        }
        let once = turns().filter(|t| !t.echo && t.text.contains("feed-validator-report.txt")).count();
        assert_eq!(once, 1, "a file name that occurs once");
        // Codex writes messages twice: each echo repeats a turn of its run.
        for (file, records) in &all {
            let said: Vec<_> = records.iter().flat_map(|r| &r.turns).filter(|t| !t.echo).collect();
            for echo in records.iter().flat_map(|r| &r.turns).filter(|t| t.echo) {
                assert!(said.iter().any(|t| t.run == echo.run && t.role == echo.role && t.text == echo.text), "{file}");
            }
        }
    }
}

mod format {
    //! FORMAT.md against a real ledger: the sample sessions, captured, checked, found, and read back without Heirloom.

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

    /// The only code block of that language in a document.
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

    /// Imports these files, each as its program's.
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

    /// A memory of the sample sessions.
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

    /// A generation of a file as it is exported; the newest where none is named.
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
            // As it is now, an unterminated end included.
            assert_eq!(exported(&world, &path, None), *content);
        }
        assert_eq!(new_turns, [2, 0, 0, 1]);
        // What the file was before it was rewritten, with the end that never became a line.
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

    /// The two numbers of blocks, as the code has them.
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

    /// A reader without Heirloom relies on what stands in the frame: its size, its checksum, no dictionary.
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
}

mod source {
    //! What ARCHITECTURE.md says is absent from the engine.

    use std::path::Path;

    /// Every source file of the engine without comments and without its tests.
    fn engine() -> Vec<(String, String)> {
        let root = super::repository().join("crates/engine/src");
        let code = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
        };
        let files = super::demo::files(&root).into_iter();
        let files = files.filter(|f| f.extension().is_some_and(|e| e == "rs") && !f.ends_with("tests.rs"));
        let files = files.filter(|f| !f.to_string_lossy().contains("/tests/"));
        files.map(|f| (f.strip_prefix(&root).unwrap().display().to_string(), code(&f))).collect()
    }

    #[test]
    fn the_engine_is_synchronous_and_knows_no_program() {
        let programs = ["claude", "codex", "opencode", "openclaw"];
        let absent = [
            "async ",
            ".await",
            "println!",
            "eprintln!",
            "std::env",
            "env::var",
            "thread::spawn",
            "thread::scope",
            "std::net",
        ];
        let engine = engine();
        assert!(engine.len() > 30, "{} files", engine.len());
        for (file, code) in engine {
            let small = code.to_lowercase();
            let named = programs.iter().find(|w| small.contains(**w));
            let found = named.or_else(|| absent.iter().find(|w| code.contains(**w)));
            assert_eq!(found, None, "crates/engine/src/{file}");
        }
        let manifest = std::fs::read_to_string(super::repository().join("crates/engine/Cargo.toml")).unwrap();
        for word in ["tokio", "futures", "async", "reqwest", "hyper"] {
            assert!(!manifest.contains(word), "the engine depends on {word}");
        }
    }

    #[test]
    fn elsewhere_than_on_unix_the_build_ends_with_a_sentence() {
        let home = super::repository().join("crates/engine/src/home/mod.rs");
        let text = std::fs::read_to_string(home).unwrap();
        assert!(text.contains("#[cfg(not(unix))]\ncompile_error!(\"Heirloom runs on Unix (Linux, macOS) only.\");"));
    }
}

mod documents {
    //! What documents name exists, decisions and notes find each other, every requirement has its row.

    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use super::repository;

    /// Every requirement there is. The requirements themselves are kept outside the repository.
    const IDS: &[(&str, u32)] = &[
        ("R3.", 6),
        ("R4.", 6),
        ("R5.", 5),
        ("R6.", 9),
        ("R7.", 5),
        ("R8.", 5),
        ("R9.", 6),
        ("R10.", 10),
        ("R11.", 5),
        ("R12.", 6),
        ("R13.", 5),
        ("R14.", 5),
        ("D", 11),
    ];

    /// Command words that documents may use although the program does not have them yet.
    const PLANNED_COMMANDS: &[&str] = &["run", "serve", "mcp"];

    #[derive(Default, Debug)]
    struct Row {
        title: String,
        state: String,
        built_in: Vec<String>,
        tests: Vec<String>,
        depends_on: Vec<String>,
        note: String,
    }

    fn read(path: &str) -> String {
        std::fs::read_to_string(repository().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Files of the repository, as paths from its root; what is built or fetched is left out.
    fn files() -> Vec<PathBuf> {
        let (root, mut found) = (repository(), Vec::new());
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if ["target", ".git", "node_modules"].contains(&name.as_str()) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path)
                } else {
                    found.push(path.strip_prefix(&root).unwrap().to_owned())
                }
            }
        }
        found.sort();
        found
    }

    fn markdown() -> Vec<(PathBuf, String)> {
        let of_us = files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "md"));
        of_us.map(|f| (f.clone(), read(f.to_str().unwrap()))).collect()
    }

    /// The fixed simple form described at the top of the file; anything else is an error.
    fn requirements() -> BTreeMap<String, Row> {
        let text = read("docs/specs/dependencies.yaml");
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        let mut current = String::new();
        for (i, line) in text.lines().enumerate() {
            let place = format!("dependencies.yaml:{}: {line}", i + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(id) = line.strip_suffix(':').filter(|id| !id.starts_with(' ')) {
                current = id.to_owned();
                assert!(rows.insert(id.to_owned(), Row::default()).is_none(), "{place}: twice");
                continue;
            }
            let (key, value) = line.strip_prefix("  ").and_then(|l| l.split_once(": ")).expect(&place);
            let row = rows.get_mut(&current).expect(&place);
            let list = || {
                let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')).expect(&place);
                inner.split(", ").filter(|v| !v.is_empty()).map(str::to_owned).collect::<Vec<_>>()
            };
            match key {
                "title" => row.title = value.to_owned(),
                "state" => row.state = value.to_owned(),
                "note" => row.note = value.to_owned(),
                "built_in" => row.built_in = list(),
                "tests" => row.tests = list(),
                "depends_on" => row.depends_on = list(),
                _ => panic!("{place}: unknown key"),
            }
        }
        rows
    }

    #[test]
    fn every_requirement_has_its_row() {
        let rows = requirements();
        let mut ids: Vec<String> =
            IDS.iter().flat_map(|(prefix, last)| (1..=*last).map(move |n| format!("{prefix}{n}"))).collect();
        ids.sort();
        assert_eq!(rows.keys().cloned().collect::<Vec<_>>(), ids);
        for (id, row) in &rows {
            assert!(!row.title.is_empty(), "{id} has no title");
            for other in &row.depends_on {
                assert!(rows.contains_key(other), "{id} depends on {other}, which there is not");
            }
            match row.state.as_str() {
                "built" | "partly" => {
                    assert!(
                        !row.built_in.is_empty() && !row.tests.is_empty(),
                        "{id} says neither where nor how it is held"
                    );
                    assert!(row.state == "built" || !row.note.is_empty(), "{id} does not say what is missing");
                }
                "not yet" => {
                    assert!(row.built_in.is_empty() && row.tests.is_empty(), "{id} is not built and names code")
                }
                other => panic!("{id}: {other:?} is none of built, partly, not yet"),
            }
        }
    }

    #[test]
    fn requirements_do_not_depend_on_themselves() {
        let rows = requirements();
        fn visit(id: &str, rows: &BTreeMap<String, Row>, trail: &mut Vec<String>) {
            assert!(!trail.iter().any(|t| t == id), "a circle: {} → {id}", trail.join(" → "));
            trail.push(id.to_owned());
            for other in &rows[id].depends_on {
                visit(other, rows, trail);
            }
            trail.pop();
        }
        for id in rows.keys() {
            visit(id, &rows, &mut Vec::new());
        }
    }

    #[test]
    fn places_and_tests_of_requirements_exist() {
        for (id, row) in requirements() {
            for path in &row.built_in {
                assert!(repository().join(path).is_file(), "{id}: there is no {path}");
            }
            for test in &row.tests {
                let (path, name) = test.split_once("::").map_or((test.as_str(), None), |(p, n)| (p, Some(n)));
                assert!(repository().join(path).is_file(), "{id}: there is no {path}");
                let text = read(path);
                let mut tests = text.split("#[test]").skip(1).map(|rest| rest.split('(').next().unwrap_or_default());
                let found = tests.any(|test| name.is_none_or(|name| test.trim_end().ends_with(&format!("fn {name}"))));
                assert!(found, "{id}: {path} has no test {}", name.unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_index_of_requirements_says_the_same() {
        let (index, rows) = (read("docs/specs/INDEX.md"), requirements());
        for (id, row) in &rows {
            let line = index.lines().find(|l| l.starts_with(&format!("| {id} |"))).unwrap_or_else(|| panic!("no {id}"));
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            assert_eq!(cells[3], row.state, "{line}");
            assert!(cells[2].contains(&row.title), "{line}");
            assert_eq!(cells[4].replace("&lt;", "<"), row.note, "{line}");
        }
        let listed = index.lines().filter_map(|l| l.strip_prefix("| ")?.split(' ').next());
        let mut listed: Vec<_> = listed.filter(|id| id.chars().any(|c| c.is_ascii_digit())).collect();
        listed.sort_unstable();
        assert_eq!(listed, rows.keys().map(String::as_str).collect::<Vec<_>>(), "each once and nothing else");
        let count = |state: &str| rows.values().filter(|r| r.state == state).count();
        let sum = format!("{} built, {} partly, {} not yet", count("built"), count("partly"), count("not yet"));
        assert!(index.replace('\n', " ").contains(&sum), "{sum}");
    }

    /// D1 to D11 are decisions 0001 to 0011: requirement, list and page tell the same state.
    #[test]
    fn decisions_have_the_states_of_their_requirements() {
        let (rows, list) = (requirements(), read("docs/adr/README.md"));
        let pages: Vec<_> =
            files().into_iter().filter(|f| f.starts_with("docs/adr") && !f.ends_with("README.md")).collect();
        for (i, page) in pages.iter().enumerate() {
            let file = page.file_name().unwrap().to_str().unwrap();
            let line = list.lines().find(|l| l.contains(&format!("({file})"))).unwrap();
            let listed = line.trim_end_matches(" |").rsplit("| ").next().unwrap();
            let text = read(page.to_str().unwrap());
            let told = text.split_once("**State.** ").unwrap().1;
            let begins = match listed {
                "built" => "Built",
                "partly" => "Partly built",
                _ => "Not built yet",
            };
            assert!(told.starts_with(begins), "{file} is {listed} in the list");
            if let Some(row) = rows.get(&format!("D{}", i + 1)) {
                assert_eq!(row.state, listed, "{file}");
            }
        }
    }

    #[test]
    fn decisions_and_notes_link_both_ways() {
        let list = read("docs/adr/README.md");
        let notes_list = read("docs/notes/README.md");
        let below = |folder: &str| {
            files().into_iter().filter(move |f| f.starts_with(folder) && !f.ends_with("README.md")).collect::<Vec<_>>()
        };
        let name = |f: &Path| f.file_name().unwrap().to_str().unwrap().to_owned();
        let notes: Vec<(String, String)> =
            below("docs/notes").iter().map(|f| (name(f), read(f.to_str().unwrap()))).collect();
        for (note, _) in &notes {
            assert!(notes_list.contains(&format!("({note})")), "{note} is not in docs/notes/README.md");
        }
        let decisions = below("docs/adr");
        for (i, file) in decisions.iter().enumerate() {
            let (file, text) = (name(file), read(file.to_str().unwrap()));
            assert!(file.starts_with(&format!("{:04}-", i + 1)), "{file} is number {}", i + 1);
            assert!(list.contains(&format!("({file})")), "{file} is not in docs/adr/README.md");
            assert!(text.starts_with(&format!("# {:04} · ", i + 1)) && text.contains("**State.** "), "{file}");
            let told: Vec<_> = notes.iter().filter(|(note, _)| text.contains(&format!("../notes/{note}"))).collect();
            assert!(!told.is_empty(), "{file} links to no note");
            for (note, story) in told {
                assert!(story.contains(&format!("../adr/{file}")), "{note} does not link back to {file}");
            }
        }
        for (note, story) in &notes {
            for target in links(story).filter(|t| t.starts_with("../adr/")) {
                let text = read(&format!("docs/adr/{}", target.trim_start_matches("../adr/")));
                assert!(text.contains(&format!("../notes/{note}")), "{target} does not link back to {note}");
            }
        }
    }

    /// Targets of Markdown links, outside code blocks.
    fn links(text: &str) -> impl Iterator<Item = String> {
        let prose: String = text.split("```").step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(t, _)| t.to_owned());
        targets.collect::<Vec<_>>().into_iter()
    }

    /// The anchors of a document's headings, as hosts of repositories make them.
    fn anchors(text: &str) -> Vec<String> {
        let prose: String = text.split("```").step_by(2).collect();
        let headings =
            prose.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim().to_owned());
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        headings.map(|h| h.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
    }

    #[test]
    fn links_lead_somewhere() {
        // Pages that are written into a home lead to places there.
        for (file, text) in markdown().into_iter().filter(|(file, _)| !file.to_string_lossy().contains("/bootstrap/")) {
            for target in links(&text) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (path, anchor) = target.split_once('#').map_or((target.as_str(), None), |(p, a)| (p, Some(a)));
                let full = repository().join(file.parent().unwrap()).join(path);
                let full = if path.is_empty() { repository().join(&file) } else { full };
                assert!(full.exists(), "{}: {target}", file.display());
                if let Some(anchor) = anchor {
                    let there = anchors(&std::fs::read_to_string(&full).unwrap());
                    assert!(there.iter().any(|a| a == anchor), "{}: {target}; there is {there:?}", file.display());
                }
            }
        }
    }

    /// What stands between single backticks, outside code blocks.
    fn code_spans(text: &str) -> Vec<String> {
        let prose: String = text.split("```").step_by(2).collect();
        prose.split('`').skip(1).step_by(2).map(|s| s.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn paths_named_in_documents_exist() {
        let parts = ["crates/", "docs/", "scripts/", "tools/", ".ci/"];
        for (file, text) in markdown() {
            for span in code_spans(&text) {
                let plain = !span.contains([' ', '*', '<', '{', '…']);
                if plain && parts.iter().any(|p| span.starts_with(p)) {
                    let path = span.split("::").next().unwrap();
                    assert!(repository().join(path).exists(), "{}: `{span}`", file.display());
                }
            }
        }
    }

    #[test]
    fn the_format_names_the_schema_this_build_writes() {
        let format = read("docs/FORMAT.md");
        let said = format!("`user_version` {}.", heirloom_engine::ledger::SCHEMA_VERSION);
        assert!(format.contains(&said), "{said}");
    }

    #[test]
    fn commands_named_in_documents_exist() {
        let help = std::process::Command::new(env!("CARGO_BIN_EXE_heirloom")).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let commands: Vec<&str> = help
            .split_once("Commands:")
            .map(|(_, rest)| rest.lines().skip(1).take_while(|l| !l.is_empty()))
            .into_iter()
            .flatten()
            .filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' '))?.split(' ').next())
            .collect();
        assert!(commands.contains(&"search"), "{help}");
        for planned in PLANNED_COMMANDS {
            assert!(!commands.contains(planned), "{planned} is built: take it off the list of what is not");
        }
        for (file, text) in markdown() {
            for span in code_spans(&text) {
                let Some(word) = span.strip_prefix("heirloom ").and_then(|rest| rest.split(' ').next()) else {
                    continue;
                };
                let is_word = word.chars().all(|c| c.is_ascii_lowercase());
                let known = commands.contains(&word) || PLANNED_COMMANDS.contains(&word);
                assert!(!is_word || known, "{}: `{span}`", file.display());
            }
        }
    }

    /// Words that have no place in a product: machines it was written on, and how.
    #[test]
    fn nothing_tells_of_the_machine_it_was_written_on() {
        // Put together here, or this file would be the first to be found.
        let everywhere = [
            concat!("work", "place"),
            concat!("help", "er-"),
            concat!("/wo", "rk/"),
            concat!("/ro", "ot/"),
            concat!("crates", ".io"),
            concat!("registry", ".npmjs"),
        ];
        // In code these two words mean a conversation, which is what the code is about.
        let in_prose = concat!("this ", "session");
        for file in files() {
            // The vocabulary of a language model has every word.
            let vocabulary = file.extension().is_some_and(|e| e == "bin" || e == "golden");
            if file.ends_with("Cargo.lock") || vocabulary {
                continue;
            }
            let bytes = std::fs::read(repository().join(&file)).unwrap();
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            let prose = file.extension().is_some_and(|e| e == "md" || e == "yaml");
            for word in everywhere.iter().copied().chain(prose.then_some(in_prose)) {
                if let Some(at) = text.find(word) {
                    let line = text[..at].lines().count();
                    panic!("{}:{line}: {word:?}", file.display());
                }
            }
        }
    }
}
