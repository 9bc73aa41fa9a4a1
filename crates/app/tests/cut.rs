//! A file that is read while it is being written: cut anywhere, imported, completed and imported again, it is stored as
//! if it had been read once.

use std::fs;
use std::path::{Path, PathBuf};

use heirloom_testkit::{Rng, recordings};

use crate::world::{World, files};

const CUTS_PER_FILE: usize = 20;

fn import_named(world: &World, files: &[(PathBuf, Vec<u8>)]) {
    // The program is named, because half a first line does not show which program wrote it.
    for program in ["claude-code", "codex", "openclaw"] {
        let of = |path: &Path| match path.parent().unwrap().file_name().unwrap().to_str().unwrap().as_bytes()[0] {
            b'0' => "claude-code",
            b'1' => "codex",
            _ => "openclaw",
        };
        let mut args = vec!["import", "--harness", program];
        args.extend(files.iter().filter(|(p, _)| of(p) == program).map(|(p, _)| p.to_str().unwrap()));
        let json = world.json_of(0, &args);
        assert_eq!(json["set_aside"], 0, "{json}");
    }
}

fn complete(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let there = path.metadata().unwrap().len() as usize;
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&bytes[there..]).unwrap();
}

/// Changes a text into that of another session: every UUID ends in `mark`, and so do the ids of the captures' fake
/// model.
fn with_uuids_of(text: &str, mark: &str) -> String {
    let text = text.replace("fake", mark);
    let shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".as_bytes();
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    while at + shape.len() <= out.len() {
        let is_uuid = shape.iter().zip(&out[at..]).all(|(s, b)| match s {
            b'-' => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        });
        if is_uuid {
            out[at + shape.len() - mark.len()..at + shape.len()].copy_from_slice(mark.as_bytes());
            at += shape.len();
        } else {
            at += 1;
        }
    }
    String::from_utf8(out).unwrap()
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn a_file_cut_anywhere_and_completed_is_stored_as_if_read_once() {
        let shared = recordings();
        let samples = shared.join("harness/samples");
        let sources = [
            samples.join("claude/transcripts/-home-user-project/8b7f209a-bfe6-4421-93ea-8719a14befe4.jsonl"),
            files(&samples.join("codex"), "01a1ffd8-97f0-7932-beb3-13ee310d4ea0.jsonl").remove(0),
            samples.join("openclaw/transcripts/session.jsonl"),
        ];
        let (cut, once) = (World::new(), World::new());
        let folder = cut.test.folder("sessions");
        let mut rng = Rng::new(4);
        let mut whole: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for (which, source) in sources.iter().enumerate() {
            let text = fs::read_to_string(source).unwrap();
            let name = source.file_name().unwrap().to_str().unwrap();
            for trial in 0..CUTS_PER_FILE {
                let mark = format!("{which}{trial:03}");
                let path = folder.join(mark.clone()).join(with_uuids_of(name, &mark));
                let bytes = with_uuids_of(&text, &mark).into_bytes();
                assert_eq!(bytes.len(), text.len());
                let at = match trial {
                    // Cuts around the end of a line are always tried; the others are random.
                    0 => bytes.iter().position(|b| *b == b'\n').unwrap(),
                    1 => bytes.iter().position(|b| *b == b'\n').unwrap() + 1,
                    2 => bytes.len() - 1,
                    _ => rng.below(bytes.len()),
                };
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &bytes[..at]).unwrap();
                whole.push((path, bytes));
            }
        }
        import_named(&cut, &whole);
        for (path, bytes) in &whole {
            if path.metadata().unwrap().len() > 0 {
                cut.exports(path);
            }
            complete(path, bytes);
        }
        import_named(&cut, &whole);
        import_named(&once, &whole);
        for (path, _) in &whole {
            cut.exports(path);
        }
        let (cut_content, once_content) = (cut.content(), once.content());
        assert_eq!(cut_content.len(), whole.len());
        for (key, turns) in &once_content {
            for (n, turn) in turns.iter().enumerate() {
                assert_eq!(cut_content[key].get(n), Some(turn), "{key}");
            }
            assert_eq!(cut_content[key].len(), turns.len(), "{key}");
        }
        // Copies of one session have equal scores, and their order depends on the order of storing: only the texts of
        // hits with all words are compared.
        let said = |world: &World, query: &str| {
            let hits = world.found(query);
            let all_words = hits.iter().filter(|h| h["why"]["matched"] == h["why"]["of"]);
            let mut found: Vec<_> = all_words.map(|h| h["snippet"].to_string()).collect();
            found.sort();
            found.dedup();
            found
        };
        let words =
            once_content.values().flatten().filter(|t| t["role"] == "user").map(|t| t["text"].as_str().unwrap());
        let mut queries: Vec<String> = words
            .map(|t| t.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
            .filter(|q| !q.is_empty())
            .collect();
        queries.sort();
        queries.dedup();
        for query in queries.iter().take(6) {
            assert_eq!(said(&cut, query), said(&once, query), "{query}");
        }
        cut.verified();
    }
}
