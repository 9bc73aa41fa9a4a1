//! Documents: whatever they name exists, links lead somewhere, decisions and notes link to each other.

use std::path::Path;

use heirloom_engine::error::ErrorKind;

use super::requirements::requirements;
use super::{commands, files, markdown, read, repository};

/// Checks that D1 to D11, the decisions 0001 to 0011, have the same state in requirement, list and page.
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

/// Returns the targets of Markdown links, outside code blocks.
fn links(text: &str) -> impl Iterator<Item = String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(t, _)| t.to_owned());
    targets.collect::<Vec<_>>().into_iter()
}

/// Returns the anchors of a document's headings, as repository hosts make them.
fn anchors(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let headings = prose.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim().to_owned());
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings.map(|h| h.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn links_lead_somewhere() {
    // Pages that are written into a home link to places in the home.
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

/// Returns the texts between single backticks, outside code blocks.
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

/// Checks the kinds of errors in API.md against the code: words, exit codes and statuses (R13.1, R13.2).
#[test]
fn the_kinds_of_errors_are_those_of_the_code() {
    let page = read("docs/API.md");
    let table = page.split("| kind | in JSON |").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    for kind in ErrorKind::ALL {
        let told = kind.told();
        let row = format!("| `{kind:?}` | `{}` | {} | {} |", told.name, told.exit, told.status);
        assert!(rows.iter().any(|line| line.starts_with(&row)), "API.md should have {row}");
    }
    assert_eq!(rows.len(), ErrorKind::ALL.len());
}

#[test]
fn the_format_names_the_schema_this_build_writes() {
    let format = read("docs/FORMAT.md");
    let said = format!("`user_version` {}.", heirloom_engine::ledger::SCHEMA_VERSION);
    assert!(format.contains(&said), "{said}");
}

#[test]
fn commands_named_in_documents_exist() {
    let commands = commands();
    // Commands that are not built yet may be named: the notes of requirements list them as missing.
    let planned: Vec<String> = requirements().values().flat_map(|r| r.missing.clone()).collect();
    for (file, text) in markdown() {
        for span in code_spans(&text) {
            let Some(word) = span.strip_prefix("heirloom ").and_then(|rest| rest.split(' ').next()) else {
                continue;
            };
            let is_word = word.chars().all(|c| c.is_ascii_lowercase());
            let known = commands.iter().any(|c| c == word) || planned.contains(&format!("heirloom {word}"));
            assert!(!is_word || known, "{}: `{span}`", file.display());
        }
    }
}

/// Checks for words that must not be in the product: names of the machines and tools it was written with.
#[test]
fn nothing_tells_of_the_machine_it_was_written_on() {
    // The words are assembled here, so that this file does not contain them.
    let everywhere = [
        concat!("work", "place"),
        concat!("help", "er-"),
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("crates", ".io"),
        concat!("registry", ".npmjs"),
    ];
    // In code these two words mean a conversation, so they are only checked in prose.
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
