//! Checks that the things ARCHITECTURE.md calls absent from the engine are absent.

use std::path::Path;

/// Returns every source file of the engine, without comments and tests.
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
