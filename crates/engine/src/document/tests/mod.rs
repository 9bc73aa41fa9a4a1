//! Tests of documents on hand-picked files and on generated ones.

mod front;
mod prose;
mod region;

use proptest::prelude::*;

use super::*;

fn doc(text: &str) -> Document {
    Document::parse(text)
}

fn printed(document: &Document) -> &str {
    std::str::from_utf8(document.print()).unwrap()
}

/// Almost valid files: pieces of front matter, markers and fences in any order, with either line break.
fn near_files() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "---",
        "---",
        "---",
        "...",
        "--- ",
        " ---",
        "----",
        "a: 1",
        "b: two # said so",
        "a: [x,",
        "]",
        "tags:",
        "- a",
        "  - b",
        "c: |",
        "  text",
        "  # in text",
        "# comment",
        "\"q k\": 'it''s'",
        "{a: 1}",
        "? x",
        "&n z: *n",
        "",
        "",
        "<!-- heirloom:a -->",
        "<!-- /heirloom:a -->",
        "  <!-- heirloom:b x: y -->  ",
        "<!-- /heirloom:b -->",
        "<!-- heirloom:a k=v -->",
        "text",
        "# Title",
        "- Key: value",
        "```",
        "```rust",
        "~~~",
        "````",
        "    ```",
        "\u{feff}",
        "é\t",
        "k: <!-- heirloom:a -->",
        "v\r",
    ]);
    let ending = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "", "\r"]);
    let lines = prop::collection::vec((piece, ending), 0..24);
    let extra = prop::option::weighted(0.1, (any::<prop::sample::Index>(), any::<u8>()));
    (any::<bool>(), prop::bool::weighted(0.1), lines, extra).prop_map(|(opened, bom, lines, extra)| {
        let mut bytes = if bom { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        if opened {
            bytes.extend_from_slice(b"---\n");
        }
        for (line, ending) in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(ending.as_bytes());
        }
        if let Some((at, byte)) = extra {
            bytes.insert(at.index(bytes.len() + 1), byte);
        }
        bytes
    })
}

fn whole(document: &Document, bytes: &[u8]) -> Result<(), TestCaseError> {
    prop_assert_eq!(document.print(), bytes);
    prop_assert!(*document.front() == Front::Sound || document.fields().is_empty());
    let body = document.body();
    prop_assert!(String::from_utf8_lossy(bytes).ends_with(&*body));
    let before = bytes.split_inclusive(|b| *b == b'\n').take(document.body_line() - 1).map(<[u8]>::len).sum::<usize>();
    let bom = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    prop_assert_eq!(String::from_utf8_lossy(&bytes[before.max(bom)..]), body);
    let _ = (document.heading(), document.bullets(), document.region("a"));
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_printed_as_they_were(bytes in any::<Vec<u8>>(), near in near_files()) {
        whole(&Document::parse(bytes.clone()), &bytes)?;
        whole(&Document::parse(near.clone()), &near)?;
    }

    #[test]
    fn a_change_does_what_it_says_or_nothing(bytes in near_files(), key in "[abcz]|tags|q k", text in "[a-c:# -]{0,6}") {
        let before = Document::parse(bytes.clone());
        let mut after = before.clone();
        match after.set(&key, &text.clone().into()) {
            Ok(()) => {
                let mut expected = before.fields().clone();
                expected.insert(key.clone(), text.clone().into());
                prop_assert_eq!(after.fields(), &expected);
                prop_assert_eq!(after.body(), before.body());
            }
            Err(e) => {
                prop_assert_eq!(e.kind(), crate::error::ErrorKind::Refused);
                prop_assert!(e.next_step().is_some());
                prop_assert_eq!(after.print(), &bytes[..]);
            }
        }
        let mut gone = before.clone();
        match gone.unset(&key) {
            Ok(()) => {
                let mut expected = before.fields().clone();
                expected.remove(&key);
                prop_assert_eq!(gone.fields(), &expected);
                prop_assert_eq!(gone.body(), before.body());
            }
            Err(_) => prop_assert_eq!(gone.print(), &bytes[..]),
        }
    }
}

/// Reads hostile files; each takes minutes if a nested loop goes over the whole file.
#[test]
fn hostile_files_are_read_at_once() {
    let times = |piece: &str| piece.repeat((1 << 20) / piece.len());
    let shrinking: String = (3..1400).rev().map(|n| "`".repeat(n) + "\n").collect();
    let mut slowest = (std::time::Duration::ZERO, String::new());
    for text in [
        times("---\n"),
        "---\n".to_owned() + &times("a\n"),
        times("<!-- heirloom:a -->\n"),
        times("<!-- /heirloom:a -->\n"),
        times("<!-- heirloom:a -->\n<!-- /heirloom:a -->\n"),
        times("```a\n"),
        times("```\n~~~\n"),
        times("# \n"),
        times("- a: b\n"),
        times("\n"),
        shrinking,
        "---\n".to_owned() + &"k: &a [*a, # \n".repeat(4600) + "---\n",
        "---\na: b".to_owned() + &" #".repeat(32_000) + "\n---\n",
        "---\na: b\n".to_owned() + &"'".repeat(65_000) + "\n---\n",
    ] {
        let start = std::time::Instant::now();
        let mut document = doc(&text);
        let _ = (document.heading(), document.bullets(), document.region("a"));
        let _ = document.set("a", &"z".into());
        document.set_region("b", "", "text");
        let took = (start.elapsed(), text.chars().take(40).collect());
        slowest = slowest.max(took);
    }
    assert!(slowest.0.as_secs() < 5, "{slowest:?}");
}
