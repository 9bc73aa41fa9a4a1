//! Tests which parts of the engine this crate may use: its vocabulary, and the functions that make a text harmless.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn the_vocabulary_and_nothing_else() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 10);
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for used in code
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .flat_map(|l| l.split("heirloom_engine::").skip(1))
        {
            let room: String = used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            assert!(["error", "model", "tokens"].contains(&room.as_str()), "{} uses {room}", file.display());
        }
    }
}
