//! Rules that can be checked in the source: which room uses which, and that no change bypasses the audit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each room with its storey, as in the tour in `lib.rs`.
const STOREYS: &[(&str, u8)] = &[
    ("scope", 0),
    ("event", 0),
    ("program", 0),
    ("next_step", 0),
    ("title", 0),
    ("tokens", 0),
    ("clock", 0),
    ("zone", 0),
    ("moment", 0),
    ("model", 0),
    ("error", 0),
    ("spool", 1),
    ("document", 1),
    ("redact", 1),
    ("holder", 1),
    ("home", 1),
    ("ledger", 1),
    ("pages", 1),
    ("tree", 1),
    ("source", 1),
    ("sqlite", 1),
    ("text", 1),
    ("transcript", 2),
    ("lineage", 2),
    ("thread", 2),
    ("continuity", 2),
    ("memory", 2),
    ("profile", 2),
    ("statement", 2),
    ("budget", 2),
    ("quoting", 2),
    ("audience", 3),
    ("capture", 3),
    ("distill", 3),
    ("review", 3),
    ("render", 3),
    ("index", 3),
    ("recall", 3),
    ("inject", 3),
    ("judge", 3),
    ("skill", 3),
    ("evolve", 3),
    ("lifecycle", 4),
    ("verify", 4),
    ("forget", 4),
    ("worker", 4),
    ("report", 4),
    ("instance", 5),
    ("engine", 5),
];

/// Allowed uses within a storey. All others must go to a lower storey.
const BESIDE: &[(&str, &str)] = &[
    ("scope", "error"),
    ("error", "next_step"),
    ("event", "clock"),
    ("moment", "clock"),
    ("moment", "error"),
    ("model", "scope"),
    ("program", "clock"),
    ("program", "event"),
    ("title", "scope"),
    ("title", "error"),
    ("redact", "text"),
    ("source", "home"),
    ("source", "sqlite"),
    ("home", "holder"),
    ("ledger", "holder"),
    ("ledger", "sqlite"),
    ("pages", "home"),
    ("pages", "ledger"),
    ("tree", "pages"),
    ("tree", "home"),
    ("tree", "ledger"),
    ("tree", "document"),
    ("tree", "redact"),
    ("spool", "home"),
    ("spool", "source"),
    ("capture", "index"),
    ("engine", "instance"),
    ("audience", "render"),
    ("recall", "audience"),
    ("inject", "audience"),
    ("recall", "index"),
    ("recall", "distill"),
    ("recall", "render"),
    ("inject", "distill"),
    ("inject", "render"),
    ("inject", "recall"),
    ("render", "distill"),
    ("evolve", "distill"),
    ("evolve", "review"),
    ("evolve", "recall"),
    ("evolve", "skill"),
    ("evolve", "judge"),
    ("judge", "recall"),
    ("review", "recall"),
    ("review", "skill"),
    ("report", "forget"),
    ("report", "verify"),
];

pub fn sources(root: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), text);
            }
        }
    }
    found
}

fn engine() -> BTreeMap<PathBuf, String> {
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

pub fn room_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the words that follow `prefix` in code, without comments.
fn named_after(text: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
        for rest in line.split(prefix).skip(1) {
            let inside = rest.strip_prefix('{').map_or(rest, |r| r.split('}').next().unwrap_or(r));
            let one = inside.len() == rest.len();
            for part in inside.split(',').take(if one { 1 } else { usize::MAX }) {
                let name: String = part.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                if !name.is_empty() {
                    names.push(name);
                }
            }
        }
    }
    names
}

#[test]
fn every_room_uses_only_what_stands_below_it() {
    let storey: BTreeMap<&str, u8> = STOREYS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in engine() {
        let room = room_of(&path);
        if room == "lib" {
            continue;
        }
        let Some(own) = storey.get(room.as_str()) else {
            wrong.push(format!("{} stands on no storey", path.display()));
            continue;
        };
        for used in named_after(&text, "crate::") {
            let fine = used == room
                || storey.get(used.as_str()).is_some_and(|below| below < own)
                || BESIDE.contains(&(room.as_str(), used.as_str()));
            if !fine {
                wrong.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_tour_in_lib_rs_names_the_same_storeys() {
    let text = &engine()[Path::new("lib.rs")];
    let mut told: Vec<(String, u8)> = Vec::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("//! | ")) {
        let Some(number) = line.chars().next().and_then(|c| c.to_digit(10)) else { continue };
        let rooms = line.split("[`").skip(1).filter_map(|r| r.split('`').next());
        told.extend(rooms.map(|r| (r.to_owned(), number as u8)));
    }
    let mut expected: Vec<(String, u8)> = STOREYS.iter().map(|(r, s)| ((*r).to_owned(), *s)).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    for (room, _) in STOREYS {
        assert!(text.contains(&format!("pub mod {room};")), "{room} is no module");
    }
}

#[test]
fn harnesses_use_the_vocabulary_and_nothing_else() {
    let allowed = ["event", "program", "scope", "error", "clock"];
    for (path, text) in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/src")) {
        for used in named_after(&text, "heirloom_engine::") {
            assert!(allowed.contains(&used.as_str()), "{} uses {used}", path.display());
        }
    }
}

#[test]
fn what_is_kept_is_never_updated_or_deleted() {
    for (path, text) in engine() {
        // Forgetting at a person's request is the one exception (D6); it never chooses rows by itself.
        if room_of(&path) == "forget" || path.ends_with("lineage/tombstone.rs") {
            continue;
        }
        // For a turn that only a hook reported, the store's ids are filled in later; its text stays (R4.4).
        let confirmed = "UPDATE turns SET entry = ?2, record_no = ?3, parent = ?4, at = coalesce(?5, at),";
        let text = match path.ends_with("append/provisional.rs") {
            true => text.replacen(confirmed, "", 1),
            false => text.clone(),
        };
        // Forgetting a name rewrites the audit rows that contain it, and chains them anew (R14.2).
        let reworded = "UPDATE audit SET actor = ?2, detail = ?3, prev = ?4, hash = ?5 WHERE audit_no = ?1";
        let text = match path.ends_with("ledger/audit.rs") {
            true => text.replacen(reworded, "", 1),
            false => text,
        };
        // An append takes the text of known turns out of blocks that it stored itself, before anybody can read them.
        let own_blocks = "UPDATE blocks SET data = ?2 WHERE block_no = ?1";
        let text = match path.ends_with("ledger/blocks.rs") {
            true => text.replacen(own_blocks, "", 1),
            false => text,
        };
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        for table in ["turns", "records", "blocks", "audit", "witnesses", "turn_references", "quarantine", "nodes"] {
            for verb in ["update", "delete from", "replace into", "insert or replace into"] {
                let found = flat.match_indices(&format!("{verb} {table}")).any(|(at, m)| {
                    flat[at + m.len()..].chars().next().is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
                });
                assert!(!found, "{}: {verb} {table}", path.display());
            }
        }
    }
}
