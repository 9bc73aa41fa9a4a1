//! Tests of the table in the binary.

use std::path::Path;

use heirloom_embed::StaticTable;
use heirloom_engine::index::Embedder;
use sha2::{Digest, Sha256};

use crate::suite;

const TABLE: StaticTable = StaticTable::built_in();

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

fn cosine(a: &str, b: &str) -> f32 {
    let v = TABLE.embed(&[a, b]).unwrap();
    v[0].iter().zip(&v[1]).map(|(x, y)| x * y).sum()
}

/// lineage: R10.8
#[test]
fn the_table_conforms() {
    suite::conforms(&TABLE);
    suite::places_meanings(&TABLE);
    assert_eq!((TABLE.model(), TABLE.dimensions()), ("static-minilm-256-v1", 256));
}

/// The file is the one its card names, and under 4 MB. lineage: R10.8
#[test]
fn the_table_is_the_one_its_card_describes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("table");
    let file = std::fs::read(folder.join("static-minilm-256-v1.bin")).unwrap();
    let card = std::fs::read_to_string(folder.join("MODEL_CARD.md")).unwrap();
    assert!(file.len() < 4_000_000, "{} bytes", file.len());
    assert!(card.contains(&hex(Sha256::digest(&file))), "the card names another file");
}

/// Another program (the distillation tool, with the tokenizer library the teacher comes with) splits and adds up the same
/// texts to the same vectors, to the last bit. lineage: R10.8
#[test]
fn vectors_are_those_the_tool_computes() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("golden.json")).unwrap();
    let golden = golden.as_array().unwrap();
    assert!(golden.len() > 40);
    for row in golden {
        let text = row["text"].as_str().unwrap();
        let vector = &TABLE.embed(&[text]).unwrap()[0];
        let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(hex(Sha256::digest(&bytes)), row["sha256"], "{text:?} is {}", row["pieces"]);
    }
}

#[test]
fn what_does_not_change_the_meaning_does_not_change_the_vector() {
    for (a, b) in [
        ("Café déjà vu", "cafe deja vu"),
        ("cafe\u{301}", "CAFÉ"),
        ("key\u{200b}board", "keyboard"),
        ("one\u{2028}two", "one two"),
        ("a\u{a0}b", "a b"),
        ("İstanbul", "istanbul"),
        ("hello 世界 world", "hello world"),
        ("Москва is far", "is far"),
    ] {
        assert_eq!(TABLE.embed(&[a]).unwrap(), TABLE.embed(&[b]).unwrap(), "{a:?} and {b:?}");
    }
    assert!(TABLE.embed(&["日本語", "Привет", &"x".repeat(101)]).unwrap().concat().iter().all(|&x| x == 0.0));
    assert!(cosine(&"x".repeat(100), "x") != 0.0, "a word of 100 letters is still looked up");
}

/// A question whose words the table does not know is similar to nothing, whatever its signs.
#[test]
fn a_question_in_another_script_is_not_similar_by_its_signs() {
    let question = |text: &str| TABLE.embed_question(text).unwrap();
    for text in ["В чём неполадка?", "提交失败？", "Γιατί;", "?"] {
        assert!(question(text).iter().all(|&x| x == 0.0), "{text}");
    }
    assert_eq!(question("Что делает RAG?"), question("RAG?"));
    assert_eq!(question("pourquoi la mémoire ?"), TABLE.embed(&["pourquoi la mémoire ?"]).unwrap()[0]);
}

/// Only the first 16 KiB of a text are read, whatever the rest contains.
#[test]
fn what_is_past_the_limit_does_not_count() {
    let start = "word ".repeat(16 * 1024 / 5 + 1);
    let more = format!("{}{}", &start[..16 * 1024], "zebra ".repeat(1000));
    let same = TABLE.embed(&[&start[..16 * 1024], &more]).unwrap();
    assert_eq!(same[0], same[1]);
    // As many of the heaviest pieces as fit must not overflow the sums: a word repeated often has the same vector as
    // the word once.
    for heavy in ["a ", "!", "zebra ", "quartz "] {
        let near = cosine(&heavy.repeat(16 * 1024 / heavy.len()), heavy);
        assert!((near - 1.0).abs() < 1e-5, "{heavy:?} {near}");
    }
}
