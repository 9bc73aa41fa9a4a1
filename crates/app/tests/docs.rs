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

    use heirloom_engine::capture::{Capture, Program};
    use heirloom_engine::clock::Clock;
    use heirloom_engine::home::{Home, layout};
    use heirloom_engine::index::Index;
    use heirloom_engine::ledger::{Ledger, Open};
    use heirloom_engine::recall::{Filter, search};
    use heirloom_engine::scope::AgentId;
    use heirloom_engine::verify::verify;

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

    fn world() -> World {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::create(&dir.path().join("home")).unwrap();
        let path = home.file_path(&layout::RUNTIME_DB).unwrap();
        let backups = home.root().join(layout::BACKUPS.as_str());
        let ledger = Ledger::open(&path, &backups, Clock::System, Open::Full).unwrap();
        let index = home.file_path(&layout::INDEX_DB).unwrap();
        let (mut index, _) = Index::open(&index, ledger.id(), Duration::from_secs(1)).unwrap();
        let scratch = home.root().join(layout::SCRATCH.as_str());
        let mut capture = Capture::new(&ledger, Some(&mut index), "test", &scratch, None).unwrap();
        let demo = super::repository().join("crates/app/demo");
        for path in super::demo::files(&demo) {
            let shown = path.strip_prefix(&demo).unwrap().display().to_string();
            let harness = super::demo::program_of(&shown);
            let program = Program {
                name: harness.spec().name,
                global_ids: harness.spec().global_ids,
                place: &|path| harness.place(path),
                decoder: &|placement, state| harness.decoder(placement, state),
                foreign: harness.foreign(),
            };
            capture.file(&program, &AgentId::main(), &path).unwrap();
        }
        let (totals, problems) = capture.finish().unwrap();
        assert!(problems.is_empty() && totals.quarantined == 0, "{problems:?}");
        World { dir, ledger, index }
    }

    #[test]
    fn the_samples_pass_the_check_and_are_found() {
        let mut world = world();
        let report = verify(&world.ledger, Some(&world.index), &mut |_| {}).unwrap();
        assert_eq!(report.findings, []);
        let mut best = |query: &str| {
            let filter = Filter { limit: 3, ..Filter::default() };
            let found = search(&world.ledger, &mut world.index, &AgentId::main(), query, &filter).unwrap();
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

    #[test]
    fn the_codes_and_columns_are_those_of_the_document() {
        let text = std::fs::read_to_string(super::repository().join("docs/FORMAT.md")).unwrap();
        let schema = super::repository().join("crates/engine/src/ledger/migrations/0001_ledger.sql");
        let schema = std::fs::read_to_string(schema).unwrap();
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

    #[test]
    fn the_home_has_the_folders_of_the_document() {
        let text = std::fs::read_to_string(super::repository().join("docs/FORMAT.md")).unwrap();
        for folder in layout::DIRECTORIES {
            assert!(text.contains(&format!("{}/", folder.as_str())), "{}", folder.as_str());
        }
        assert!(Path::new(layout::RUNTIME_DB.as_str()).starts_with(layout::STATE.as_str()));
    }
}
