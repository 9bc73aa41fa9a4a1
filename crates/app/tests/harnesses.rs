//! The tables in docs/HARNESSES.md and docs/HOOKS.md are made from the code. `BLESS=1 cargo test` rewrites them.

use std::fs;
use std::path::PathBuf;

use heirloom_harness::fidelity::{self, Fidelity, TABLE};
use heirloom_harness::{ALL, clients, hook};

/// Returns the text between a comment that begins with `begins` and the next `<!-- end -->`.
fn region<'t>(text: &'t str, begins: &str) -> (usize, &'t str) {
    let mark = text.find(begins).unwrap_or_else(|| panic!("no region {begins:?}"));
    let from = mark + text[mark..].find("-->\n").unwrap() + 4;
    let to = from + text[from..].find("<!-- end -->").unwrap();
    (from, &text[from..to])
}

#[test]
fn the_tables_in_the_documents_are_those_of_the_code() {
    let types = format!("\n```ts\n/**\n{} */\n```\n\n", hook::plugin_types());
    let tables = format!("\n{}\n", fidelity::markdown());
    let hooks = format!("\n{}\n", fidelity::hooks_markdown());
    let clients = format!("\n{}\n", clients::markdown());
    for (file, begins, made) in [
        ("docs/HARNESSES.md", "<!-- made from crates/harness/src/fidelity.rs", &tables),
        ("docs/HARNESSES.md", "<!-- made from the hooks", &hooks),
        ("docs/HARNESSES.md", "<!-- made from crates/harness/src/clients.rs", &clients),
        ("docs/HOOKS.md", "<!-- made from the fields", &types),
    ] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let (from, stands) = region(&text, begins);
        if std::env::var_os("BLESS").is_some() {
            let whole = format!("{}{made}{}", &text[..from], &text[from + stands.len()..]);
            fs::write(&path, whole).unwrap();
            continue;
        }
        assert!(
            stands == made.as_str(),
            "{file} is not what the code says; BLESS=1 cargo test -p heirloom rewrites it"
        );
    }
}

#[test]
fn the_fidelity_table_claims_what_there_are_hooks_for() {
    for harness in ALL.iter().filter(|h| !h.hooks().is_empty()) {
        let name = harness.spec().name;
        let row = TABLE.iter().find(|row| row.harness == name).unwrap_or_else(|| panic!("{name} has no row"));
        for (cell, contract) in row.cells.iter().zip(hook::Contract::ALL) {
            let hooked = harness.hooks().iter().any(|h| h.contract == contract);
            match cell {
                Fidelity::Full => assert!(hooked, "{name} has no hook for {}", contract.name()),
                Fidelity::Degraded(what) | Fidelity::Absent(what) => {
                    assert!(what.len() > 20, "{name}: say what happens")
                }
            }
        }
    }
    for row in TABLE.iter().filter(|row| !row.harness.is_empty()) {
        assert!(heirloom_harness::by_name(row.harness).is_some(), "{}", row.harness);
    }
}
