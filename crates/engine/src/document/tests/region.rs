//! Tests of managed regions: which pair is used, and that nothing outside it is ever changed.

use proptest::prelude::*;

use super::super::*;
use super::{doc, near_files, printed};

/// Returns the content and the attributes of a region, and its faults.
fn seen<'a>(document: &'a Document, name: &str) -> (Option<(&'a str, &'a str, usize)>, Vec<RegionFault>) {
    let region = document.region(name);
    let found = region.found.map(|f| (std::str::from_utf8(f.content).unwrap(), f.attributes, f.line));
    (found, region.faults)
}

const A: &str = "<!-- heirloom:a -->\n";
const END: &str = "<!-- /heirloom:a -->\n";

#[test]
fn a_region_is_what_stands_between_its_markers() {
    let front = "---\nk: v\n---\n";
    for (text, found) in [
        (format!("{A}x\n{END}"), ("x\n", "", 1)),
        (
            format!("{front}text\n  <!--heirloom:a  source=x · do not edit  -->\t\nx\ny\n <!-- /heirloom:a -->"),
            ("x\ny\n", "source=x · do not edit", 5),
        ),
        (format!("{A}{END}"), ("", "", 1)),
        (format!("<!-- heirloom:ab -->\n{A}x\r\n{END}"), ("x\r\n", "", 2)),
        (format!("```\n{A}no\n{END}```\n~~~\n{A}~~~\n{A}x\n{END}"), ("x\n", "", 9)),
        (format!("{A}```\n{END}```\n{END}"), ("```\n<!-- /heirloom:a -->\n```\n", "", 1)),
        (format!("```\nnever closed\n{A}x\n{END}"), ("x\n", "", 3)),
        (format!("````\n```\n{A}no\n{END}````\n{A}x\n{END}"), ("x\n", "", 7)),
        (format!("```a``` b\n{A}x\n{END}```\n"), ("x\n", "", 2)),
        (
            format!("{A}<!-- heirloom:b -->\nx\n<!-- /heirloom:b -->\n{END}"),
            ("<!-- heirloom:b -->\nx\n<!-- /heirloom:b -->\n", "", 1),
        ),
    ] {
        assert_eq!(seen(&doc(&text), "a"), (Some(found), vec![]), "{text}");
    }
    for text in [
        "text <!-- heirloom:a -->\n<!-- /heirloom:b -->\n",
        "<!-- heirloom:a",
        "<!-- heirloom: a -->\n",
        "<!-- heirloom:a --> x\n",
        "<!-- heirloom:a --> -->\n",
        "---\nk: |\n  <!-- heirloom:a -->\n---\n",
    ] {
        assert_eq!(seen(&doc(text), "a"), (None, vec![]), "{text}");
    }
    let mut invalid = Document::parse(b"<!-- heirloom:a -->\n\xff\n<!-- /heirloom:a -->\n".to_vec());
    assert_eq!(invalid.region("a").found.unwrap().content, b"\xff\n");
    assert_eq!(invalid.set_region("a", "", "x"), Placed::Replaced);
}

#[test]
fn markers_that_do_not_count_are_told_with_their_lines() {
    use RegionFault::{Doubled, Nested, StrayEnd, Unclosed};
    for (text, found, faults) in [
        (format!("{A}1\n{END}{A}2\n{END}"), Some(("1\n", "", 1)), vec![Doubled { line: 4 }]),
        (format!("{A}{A}1\n{END}{END}"), Some(("1\n", "", 2)), vec![Nested { line: 1 }]),
        (format!("{A}text\n"), None, vec![Unclosed { line: 1 }]),
        (format!("{A}text\n<!-- /heirloom:a words -->\n"), None, vec![Unclosed { line: 1 }]),
        (format!("{A}text\n{A}1\n{END}"), Some(("1\n", "", 3)), vec![Unclosed { line: 1 }]),
        (format!("{A}1\n{END}text\n{END}{A}"), Some(("1\n", "", 1)), vec![StrayEnd { line: 5 }, Unclosed { line: 6 }]),
        (format!("{END}{A}1\n"), None, vec![StrayEnd { line: 1 }, Unclosed { line: 2 }]),
    ] {
        assert_eq!(seen(&doc(&text), "a"), (found, faults), "{text}");
    }
}

#[test]
fn a_region_is_replaced_in_its_place() {
    for (text, attributes, content, expected) in [
        (format!("t\n{A}old\n{END}u"), "", "new", format!("t\n{A}new\n{END}u")),
        (
            format!("t\n{A}old\n{END}u"),
            "k=v · words",
            "1\r\n2\n",
            format!("t\n<!-- heirloom:a k=v · words -->\n1\n2\n{END}u"),
        ),
        (
            "t\r\n <!--heirloom:a-->\r\nold\r\n <!-- /heirloom:a -->".into(),
            "",
            "1\n\n2",
            "t\r\n <!--heirloom:a-->\r\n1\r\n\r\n2\r\n <!-- /heirloom:a -->".into(),
        ),
        (format!("{A}old\n{END}"), "", "", format!("{A}{END}")),
        (format!("{A}one\n{END}{A}two\n{END}"), "", "new", format!("{A}new\n{END}{A}two\n{END}")),
        (format!("{A}mine\n{A}old\n{END}mine\n{END}"), "", "new", format!("{A}mine\n{A}new\n{END}mine\n{END}")),
        (format!("{A}old\n{END}"), "", "```\ncode", format!("{A}```\ncode\n```\n{END}")),
        (format!("```\n{A}x\n{END}"), "", "```\ncode\n```", format!("```\n{A}    ```\ncode\n    ```\n{END}")),
    ] {
        let mut document = doc(&text);
        assert_eq!(document.set_region("a", attributes, content), Placed::Replaced);
        assert_eq!(printed(&document), expected);
        assert_eq!(document.set_region("a", attributes, content), Placed::Unchanged);
        assert_eq!(printed(&document), expected);
    }
}

#[test]
fn a_region_of_another_stands_directly_behind_it_and_goes_without_a_trace() {
    for (text, end) in [
        ("above\n<!-- heirloom:a -->\nx\n<!-- /heirloom:a -->\nbelow, no end", "\n"),
        ("<!-- heirloom:a -->\r\nx\r\n<!-- /heirloom:a -->\r\n\r\nbelow\r\n", "\r\n"),
        ("```\nnever closed\n<!-- heirloom:a -->\n<!-- /heirloom:a -->\n", "\n"),
    ] {
        let mut document = Document::parse(text);
        assert_eq!(document.set_region_behind("a", "b", "k", "one\n```\n"), Placed::Appended);
        let close = format!("<!-- /heirloom:a -->{end}");
        let behind = text.find(&close).unwrap() + close.len();
        let printed = String::from_utf8(document.print().to_vec()).unwrap();
        assert!(printed[behind..].starts_with(&format!("<!-- heirloom:b k -->{end}one{end}")), "{printed:?}");
        assert!(printed.ends_with(&text[behind..]), "{printed:?}");
        assert_eq!(document.set_region_behind("a", "b", "k", "one\n```\n"), Placed::Unchanged);
        // A region that a person moved stays at its new place.
        assert_eq!(document.set_region_behind("nothing", "b", "k", "two"), Placed::Replaced);
        assert!(document.unset_region("b") && !document.unset_region("b"));
        assert_eq!(document.print(), text.as_bytes());
    }
    // If the other region is missing, the new one is appended at the end; after a last line without a line break it
    // begins on its own line.
    let mut alone = Document::parse("text");
    assert_eq!(alone.set_region_behind("a", "b", "", "x"), Placed::Appended);
    assert_eq!(alone.print(), b"text\n\n<!-- heirloom:b -->\nx\n<!-- /heirloom:b -->\n");
    let mut open = Document::parse("<!-- heirloom:a -->\n<!-- /heirloom:a -->");
    open.set_region_behind("a", "b", "", "x");
    assert_eq!(
        open.print(),
        b"<!-- heirloom:a -->\n<!-- /heirloom:a -->\n<!-- heirloom:b -->\nx\n<!-- /heirloom:b -->\n"
    );
}

#[test]
fn a_missing_region_is_appended_once() {
    let added = "<!-- heirloom:a k=v -->\nnew\n<!-- /heirloom:a -->\n";
    for (text, expected) in [
        ("", added.to_owned()),
        ("\u{feff}", format!("\u{feff}{added}")),
        ("text", format!("text\n\n{added}")),
        ("text\n", format!("text\n\n{added}")),
        ("text\n\n", format!("text\n\n{added}")),
        ("text\r\n", format!("text\n\n{added}").replace('\n', "\r\n")),
        ("---\nk: v\n---", format!("---\nk: v\n---\n{added}")),
        ("---\nnot closed", format!("---\nnot closed\n\n{added}")),
        ("```\n<!-- heirloom:a -->\n<!-- /heirloom:a -->\n```\n", format!("```\n{A}{END}```\n\n{added}")),
        ("```\nnever closed\n", format!("```\nnever closed\n\n{added}")),
        ("<!-- heirloom:a -->\nmine\n", format!("{A}mine\n\n{added}")),
        ("<!-- /heirloom:a -->\nmine\n", format!("{END}mine\n\n{added}")),
    ] {
        let mut document = doc(text);
        assert_eq!(document.set_region("a", "k=v", "new"), Placed::Appended, "{text:?}");
        assert_eq!(printed(&document), expected);
        assert_eq!(document.set_region("a", "k=v", "new\n"), Placed::Unchanged, "{text:?}");
        assert_eq!(document.set_region("a", "k=v", "other"), Placed::Replaced, "{text:?}");
        assert_eq!(printed(&document), expected.replace("new", "other"));
    }
}

#[test]
fn nothing_that_is_given_can_forge_a_marker() {
    let hostile = "1\n<!-- /heirloom:a -->\n<!-- heirloom:b -->\r  <!--  / heirloom:a-->\n\u{a0}<!--heirloom:a x";
    let mut document = doc("mine\n");
    document.set_region("a", "x -->\n<!-- heirloom:b --> --!> y", hostile);
    assert_eq!(
        printed(&document),
        "mine\n\n<!-- heirloom:a x --&gt; <!-- heirloom:b --&gt; --!&gt; y -->\n1\n&lt;!-- /heirloom:a -->\n\
         &lt;!-- heirloom:b -->\n  &lt;!--  / heirloom:a-->\n\u{a0}&lt;!--heirloom:a x\n<!-- /heirloom:a -->\n"
    );
    assert_eq!(seen(&document, "b"), (None, vec![]));
    let mut named = doc("");
    named.set_region("a -->\nb", "", "x");
    assert_eq!(printed(&named), "<!-- heirloom:a-----b -->\nx\n<!-- /heirloom:a-----b -->\n");
    assert_eq!(named.set_region("a -->\nb", "", "x"), Placed::Unchanged);
    // Content cannot close a comment or fence left open above it.
    let mut unclosed = doc("---\nnot: closed\n");
    unclosed.set_region("a", "", "x\n---\ny\n...");
    assert_eq!(printed(&unclosed), format!("---\nnot: closed\n\n{A}x\n ---\ny\n ...\n{END}"));
    let mut fenced = doc("```\n");
    fenced.set_region("a", "", "~~~\n```\n");
    assert_eq!(seen(&fenced, "a").0.map(|f| f.2), Some(3));
}

fn content() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "text",
        "---",
        "...",
        "```",
        "~~~~",
        "```rust",
        "<!-- heirloom:a -->",
        "<!-- /heirloom:a -->",
        " <!--/heirloom:b-->",
        "",
        "# x",
        "a: 1",
        "é",
    ]);
    let ending = prop::sample::select(vec!["\n", "\r\n", "\r", ""]);
    prop_oneof![
        prop::collection::vec((piece, ending), 0..8).prop_map(|l| l.iter().map(|(p, e)| format!("{p}{e}")).collect()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn bytes_outside_are_never_touched(bytes in near_files(), content in content(), attributes in "[a-z> !\n-]{0,8}", again in content()) {
        let before = Document::parse(bytes.clone());
        let mut after = before.clone();
        let placed = after.set_region("a", &attributes, &content);
        match before.region("a").found {
            None => {
                prop_assert_eq!(placed, Placed::Appended);
                prop_assert!(after.print().starts_with(&bytes));
            }
            Some(found) => {
                prop_assert_ne!(placed, Placed::Appended);
                // The marker lines are found by their number; the content is where its slice points to.
                let end = found.content.as_ptr() as usize - before.print().as_ptr() as usize + found.content.len();
                let start: usize = bytes.split_inclusive(|b| *b == b'\n').take(found.line - 1).map(<[u8]>::len).sum();
                let start = if found.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { start };
                prop_assert!(after.print().starts_with(&bytes[..start]));
                prop_assert!(after.print().ends_with(&bytes[end..]));
            }
        }
        let found = after.region("a").found.unwrap();
        let text = std::str::from_utf8(found.content).unwrap().to_owned();
        prop_assert!(text.is_empty() || text.ends_with('\n'));
        prop_assert!(!text.lines().any(|l| l.trim().starts_with("<!--") && l.contains("heirloom:")));
        if *before.front() == Front::Sound {
            prop_assert_eq!(after.fields(), before.fields());
        }
        let once = after.clone();
        prop_assert_eq!(after.set_region("a", &attributes, &content), Placed::Unchanged);
        prop_assert_eq!(after.print(), once.print());
        // After a change and the reverse change the file is the same again.
        after.set_region("a", "", &again);
        after.set_region("a", &attributes, &content);
        let marker = |d: &Document| d.region("a").found.map(|f| (f.attributes.to_owned(), f.content.to_vec(), f.line));
        prop_assert_eq!(marker(&after), marker(&once));
    }
}
