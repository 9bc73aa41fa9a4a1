//! Every requirement has an entry in dependencies.yaml, each entry states what is true, and INDEX.md is made from it.

use std::collections::BTreeMap;

use heirloom_engine::ledger::job_queue::JobKind;

use super::{commands, files, read, repository};

/// All requirements: chapter, prefix, and number of the last one.
const CHAPTERS: &[(&str, &str, u32)] = &[
    ("Decisions", "D", 11),
    ("Home", "R3.", 6),
    ("Ledger", "R4.", 6),
    ("Capture", "R5.", 5),
    ("Compaction and lineage", "R6.", 9),
    ("Heads", "R7.", 5),
    ("Continuity files", "R8.", 5),
    ("Durable memory", "R9.", 6),
    ("Recall and context", "R10.", 10),
    ("Evolve and judge", "R11.", 5),
    ("Harnesses", "R12.", 6),
    ("Surfaces", "R13.", 5),
    ("Safety", "R14.", 5),
];

/// An entry of dependencies.yaml.
#[derive(Default, Debug)]
pub struct Entry {
    pub title: String,
    pub asks: String,
    pub state: String,
    pub built_in: Vec<String>,
    pub tests: Vec<String>,
    pub depends_on: Vec<String>,
    pub note: String,
    /// Things whose absence the note describes; they must not exist.
    pub missing: Vec<String>,
}

fn ids() -> impl Iterator<Item = String> {
    CHAPTERS.iter().flat_map(|(_, prefix, last)| (1..=*last).map(move |n| format!("{prefix}{n}")))
}

/// Parses the fixed simple form described at the top of the file; anything else is an error.
pub fn requirements() -> BTreeMap<String, Entry> {
    let text = read("docs/specs/dependencies.yaml");
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let mut current = String::new();
    for (i, line) in text.lines().enumerate() {
        let place = format!("dependencies.yaml:{}: {line}", i + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(id) = line.strip_suffix(':').filter(|id| !id.starts_with(' ')) {
            current = id.to_owned();
            assert!(entries.insert(id.to_owned(), Entry::default()).is_none(), "{place}: twice");
            continue;
        }
        let (key, value) = line.strip_prefix("  ").and_then(|l| l.split_once(": ")).expect(&place);
        let entry = entries.get_mut(&current).expect(&place);
        let list = || {
            let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')).expect(&place);
            inner.split(", ").filter(|v| !v.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        match key {
            "title" => entry.title = value.to_owned(),
            "asks" => entry.asks = value.to_owned(),
            "state" => entry.state = value.to_owned(),
            "note" => entry.note = value.to_owned(),
            "built_in" => entry.built_in = list(),
            "tests" => entry.tests = list(),
            "depends_on" => entry.depends_on = list(),
            "missing" => entry.missing = list(),
            _ => panic!("{place}: unknown key"),
        }
    }
    entries
}

#[test]
fn every_requirement_has_its_entry() {
    let entries = requirements();
    let mut all: Vec<String> = ids().collect();
    all.sort();
    assert_eq!(entries.keys().cloned().collect::<Vec<_>>(), all);
    for (id, entry) in &entries {
        assert!(!entry.title.is_empty(), "{id} has no title");
        let (words, sentences) = (entry.asks.split_whitespace().count(), entry.asks.matches(". ").count() + 1);
        assert!(entry.asks.ends_with('.') && sentences == 1 && words >= 8, "{id}: say in one sentence what it asks");
        assert!(!entry.asks.contains('|') && !entry.note.contains('|'), "{id}: a table has no room for a |");
        for other in &entry.depends_on {
            assert!(entries.contains_key(other), "{id} depends on {other}, which does not exist");
        }
        let (built, tested) = (!entry.built_in.is_empty(), !entry.tests.is_empty());
        match entry.state.as_str() {
            "built" => {
                assert!(built && tested && entry.missing.is_empty(), "{id} is built: where, and what is missing?")
            }
            "partly" => {
                assert!(built && tested, "{id} says neither where it is built nor which test holds it");
                assert!(!entry.note.is_empty() && !entry.missing.is_empty(), "{id} does not say what is missing");
            }
            "not yet" => {
                assert!(!built && !tested, "{id} is not built and names code");
                assert!(!entry.missing.is_empty(), "{id} does not say what is missing");
            }
            other => panic!("{id}: {other:?} is none of built, partly, not yet"),
        }
    }
}

#[test]
fn requirements_do_not_depend_on_themselves() {
    let entries = requirements();
    fn visit(id: &str, entries: &BTreeMap<String, Entry>, trail: &mut Vec<String>) {
        assert!(!trail.iter().any(|t| t == id), "a circle: {} → {id}", trail.join(" → "));
        trail.push(id.to_owned());
        for other in &entries[id].depends_on {
            visit(other, entries, trail);
        }
        trail.pop();
    }
    for id in entries.keys() {
        visit(id, &entries, &mut Vec::new());
    }
}

/// Returns whether a file of the repository has a test, with that name if one is given.
fn has_test(path: &str, name: Option<&str>) -> bool {
    let text = read(path);
    // Another attribute, such as `#[ignore = "…"]`, may stand between `#[test]` and the function.
    let mut tests = text.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split('(').next());
    tests.any(|test| name.is_none_or(|name| name == test))
}

#[test]
fn every_promise_of_security_names_a_test_that_exists() {
    let text = read("docs/SECURITY.md");
    let table = text.split("| Promise | Test |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() >= 12, "{} promises", rows.len());
    for row in rows {
        let tests: Vec<&str> = row.split('`').filter(|part| part.contains(".rs::")).collect();
        assert!(!tests.is_empty(), "which test shows it? {row}");
        for test in tests {
            let (path, name) = test.split_once("::").unwrap();
            assert!(has_test(path, Some(name)), "{test} does not exist");
        }
    }
}

#[test]
fn places_and_tests_of_requirements_exist() {
    for (id, entry) in requirements() {
        for path in &entry.built_in {
            assert!(repository().join(path).is_file(), "{id}: there is no {path}");
        }
        for test in &entry.tests {
            let (path, name) = test.split_once("::").map_or((test.as_str(), None), |(p, n)| (p, Some(n)));
            assert!(repository().join(path).is_file(), "{id}: there is no {path}");
            assert!(has_test(path, name), "{id}: {path} has no test {}", name.unwrap_or_default());
        }
    }
}

/// Returns the ledger's tables and columns, as `jobs` and `jobs.kind`.
fn schema() -> Vec<String> {
    let mut found = Vec::new();
    for file in files().into_iter().filter(|f| f.starts_with("crates/engine/src/ledger/migrations")) {
        let sql = read(file.to_str().unwrap());
        for table in sql.split("CREATE TABLE ").skip(1) {
            let (name, body) = table.split_once(" (").unwrap();
            let columns = body.lines().map(str::trim).take_while(|l| !l.starts_with(')'));
            found.push(name.to_owned());
            found.extend(columns.filter_map(|l| Some(format!("{name}.{}", l.split(' ').next()?))));
        }
        for added in sql.split("ALTER TABLE ").skip(1) {
            if let Some((name, rest)) = added.split_once(" ADD COLUMN ") {
                found.push(format!("{name}.{}", rest.split([' ', ';']).next().unwrap()));
            }
        }
    }
    assert!(found.iter().any(|t| t == "turns") && found.iter().any(|c| c == "jobs.kind"), "{found:?}");
    found
}

/// Returns whether words occur in the code of a file or folder of the repository, without comments.
fn says(path: &str, words: &str) -> bool {
    let below: Vec<_> = files().into_iter().filter(|f| f.starts_with(path)).collect();
    assert!(!below.is_empty(), "there is no {path}");
    below.iter().any(|file| {
        let bytes = std::fs::read(repository().join(file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().any(|l| !l.trim_start().starts_with("//") && l.contains(words))
    })
}

/// Checks that things the notes call missing do not exist.
#[test]
fn what_remarks_say_is_missing_is_missing() {
    let (schema, commands) = (schema(), commands());
    for (id, entry) in requirements() {
        for missing in &entry.missing {
            let exists = match missing.split_once(' ') {
                Some(("heirloom", name)) => commands.iter().any(|c| c == name),
                Some(("table" | "column", name)) => schema.iter().any(|s| s == name),
                Some(("job", name)) => JobKind::ALL.iter().any(|kind| kind.name() == name),
                Some(("room", name)) => {
                    let room = repository().join("crates/engine/src").join(name);
                    room.exists() || room.with_extension("rs").exists()
                }
                Some(("words", rest)) => {
                    let (words, path) = rest.rsplit_once(" in ").expect("words WORDS in PATH");
                    says(path, words)
                }
                Some(_) => panic!("{id}: {missing:?} has none of the forms dependencies.yaml begins with"),
                None => {
                    assert!(missing.contains('/'), "{id}: {missing:?} is no path");
                    match missing.split_once("::") {
                        // A missing test names an existing file, in which it is to be written.
                        Some((path, test)) => has_test(path, Some(test)),
                        None => repository().join(missing).exists(),
                    }
                }
            };
            assert!(!exists, "{id}: {missing:?} exists now: mend the remark {:?}", entry.note);
        }
    }
}

/// Returns the tables of INDEX.md.
fn made(entries: &BTreeMap<String, Entry>) -> String {
    let count = |state: &str| entries.values().filter(|e| e.state == state).count();
    let mut out = format!(
        "\n{} requirements: {} built, {} partly, {} not yet.\n",
        entries.len(),
        count("built"),
        count("partly"),
        count("not yet")
    );
    let decisions: Vec<_> = files().into_iter().filter(|f| f.starts_with("docs/adr")).collect();
    for (chapter, prefix, last) in CHAPTERS {
        out.push_str(&format!("\n## {chapter}\n\n| Id | What it asks | State | Remark |\n|---|---|---|---|\n"));
        for n in 1..=*last {
            let id = format!("{prefix}{n}");
            let entry = &entries[&id];
            let page = format!("docs/adr/{n:04}-");
            let page = decisions
                .iter()
                .filter(|_| *prefix == "D")
                .find_map(|f| f.to_str().unwrap().starts_with(&page).then(|| f.file_name().unwrap().to_str().unwrap()));
            let title = match page {
                Some(page) => format!("[{}](../adr/{page})", entry.title),
                None => entry.title.clone(),
            };
            let row = format!("| {id} | **{title}.** {} | {} | {} |\n", entry.asks, entry.state, entry.note);
            out.push_str(&row.replace('<', "&lt;"));
        }
    }
    out.push('\n');
    out
}

/// Compares the tables in INDEX.md with the entries; `BLESS=1` writes them.
#[test]
fn the_index_is_made_from_the_entries() {
    let index = read("docs/specs/INDEX.md");
    let (before, rest) = index.split_once("<!-- made from dependencies.yaml -->\n").unwrap();
    let (tables, after) = rest.split_once("<!-- end -->").unwrap();
    let made = made(&requirements());
    if std::env::var_os("BLESS").is_some() {
        let whole = format!("{before}<!-- made from dependencies.yaml -->\n{made}<!-- end -->{after}");
        std::fs::write(repository().join("docs/specs/INDEX.md"), whole).unwrap();
        return;
    }
    assert!(tables == made, "INDEX.md is not what dependencies.yaml says; BLESS=1 cargo test docs rewrites it");
}

/// Returns ids such as `R9.5` and `D3` in a text, if each is a word of its own.
fn cited(text: &str) -> Vec<String> {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | ':');
    let words = text.split(|c: char| !word(c)).map(|w| w.trim_end_matches(['.', ':']));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let is_id = |w: &&str| match w.as_bytes().first() {
        Some(b'R') => w[1..].split_once('.').is_some_and(|(chapter, n)| digits(chapter) && digits(n)),
        Some(b'D') => digits(&w[1..]),
        _ => false,
    };
    words.filter(is_id).map(str::to_owned).collect()
}

#[test]
fn every_id_in_the_sources_and_documents_is_a_requirement() {
    assert_eq!(cited("(R9.5, D3.) R10 xR1.2 D3:1 `R14.3` R1.x"), ["R9.5", "D3", "R14.3"]);
    let (known, mut cites) = (ids().collect::<Vec<_>>(), 0);
    for file in files() {
        let kind = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !["rs", "sql", "js", "py", "toml", "md"].contains(&kind) || file.starts_with("fuzz/corpus") {
            continue;
        }
        let text = read(file.to_str().unwrap());
        // In Rust only comments are checked: strings of tests contain ids of other things.
        let lines = text.lines().map(|l| if kind == "rs" { l.split_once("//").map_or("", |(_, c)| c) } else { l });
        for (i, line) in lines.enumerate() {
            for id in cited(line) {
                assert!(known.contains(&id), "{}:{}: there is no requirement {id}", file.display(), i + 1);
                cites += 1;
            }
        }
    }
    assert!(cites > 300, "{cites} ids are cited");
}
