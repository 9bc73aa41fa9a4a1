//! Tests of the body: its text, its heading, its bullets.

use super::super::*;
use super::{doc, printed};

#[test]
fn set_body_replaces_the_body_only() {
    for (text, body, expected) in [
        ("---\na: 1 # c\n---\nold\n", "new\ntext", "---\na: 1 # c\n---\nnew\ntext"),
        ("---\r\na: 1\r\n---\r\nold", "x\ny\r\nz\n", "---\r\na: 1\r\n---\r\nx\r\ny\r\nz\r\n"),
        ("---\na: 1\n---", "x", "---\na: 1\n---\nx"),
        ("---\na: 1\n---", "", "---\na: 1\n---"),
        ("---\na: 1\n---\nold", "---\nb: 1\n---\n", "---\na: 1\n---\n---\nb: 1\n---\n"),
        ("\u{feff}old", "\u{feff}new", "\u{feff}new"),
        ("old", "", ""),
        ("", "a\r\rb", "a\n\nb"),
    ] {
        let mut document = doc(text);
        document.set_body(body).unwrap();
        assert_eq!(printed(&document), expected);
    }
    for body in ["---\na: 1\n---\n", "---", "\u{feff}---\n"] {
        let mut document = doc("old");
        document.set_body(body).unwrap_err();
        assert_eq!(printed(&document), "old");
    }
    let lossy = Document::parse(b"---\na: 1\n---\nx\xffy".to_vec());
    assert_eq!(lossy.body(), "x\u{fffd}y");
}

#[test]
fn the_heading_is_the_first_one_outside_of_code() {
    for (text, expected) in [
        ("# Tea", Some("Tea")),
        ("---\n# no: heading\n---\n\ntext\n## two\n#no\n#\n   # Tea  and #1 ##  \r\n# Other", Some("Tea and #1")),
        ("```\n# code\n````\n# Tea#", Some("Tea#")),
        ("~~~ sh\n# code\n```\n# code\n~~~\n# Tea", Some("Tea")),
        ("    # code\n#\tTea", Some("Tea")),
        ("```\n# code", None),
        ("text", None),
        ("---\nbroken\n# a comment\n---\n# Tea\n", Some("Tea")),
    ] {
        let expected = expected.map(|t| if t == "Tea and #1" { "Tea  and #1" } else { t });
        assert_eq!(doc(text).heading().as_deref(), expected, "{text:?}");
    }
}

#[test]
fn bullets_are_read_at_the_beginning_or_below_the_heading() {
    let pairs = |text: &str| -> Vec<(String, String)> { doc(text).bullets() };
    let expected = [("Status".to_owned(), "open: yes".to_owned()), ("Due".to_owned(), String::new())];
    for text in [
        "- Status: open: yes\n- Due:\n",
        "---\na: 1\n---\n\n- Status:  open: yes \r\n- Due:\r\n\r\n- Later: no\r\n",
        "# Tea\n- Status: open: yes\n- Due:\ntext\n- Later: no\n",
        "intro\n\n# Tea\n\n- Status: open: yes\n- Due:\n- https://example.org\n- Later: no\n",
    ] {
        assert_eq!(pairs(text), expected, "{text:?}");
    }
    for text in
        ["", "# Tea\ntext\n- Status: open\n", "text\n- Status: open\n", "  - Status: open\n", "-Status: open", "- : x"]
    {
        assert_eq!(pairs(text), [], "{text:?}");
    }
}
