//! Tests of front matter: which is read, which counts as damaged, and what a change leaves alone.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::{doc, printed};
use crate::error::ErrorKind;

fn fields(yaml: &str) -> Value {
    let document = doc(&format!("---\n{yaml}\n---\nbody\n"));
    assert_eq!(*document.front(), Front::Sound, "{yaml:?}");
    assert_eq!(document.body(), "body\n", "{yaml:?}");
    Value::Object(document.fields().clone())
}

#[test]
fn values_are_read_as_people_mean_them() {
    for (yaml, expected) in [
        ("a: 2026-11-20T17:40:02Z", json!("2026-11-20T17:40:02Z")),
        ("a: 2026-11-20", json!("2026-11-20")),
        ("a: 30d", json!("30d")),
        ("a: no", json!("no")),
        ("a: yes", json!("yes")),
        ("a: 007", json!("007")),
        ("a: 1_000", json!("1_000")),
        ("a: 12:30:45", json!("12:30:45")),
        ("a: .inf", json!(".inf")),
        ("a: 12", json!(12)),
        ("a: -1.5", json!(-1.5)),
        ("a: 1e5", json!(100_000.0)),
        ("a: true # sure", json!(true)),
        ("a: \"[[Tea]]\"", json!("[[Tea]]")),
        ("a:\n- x\n- y", json!(["x", "y"])),
        ("a: |\n  one\n\n  two", json!("one\n\ntwo\n")),
        ("a: &x [1]", json!([1])),
        ("a: {b: [1, {c: d}]}", json!({"b": [1, {"c": "d"}]})),
        ("a:", json!(null)),
    ] {
        assert_eq!(fields(yaml)["a"], expected, "{yaml:?}");
    }
    let document = doc("---\na: x\nb: 1\n---\n");
    assert_eq!((document.text("a"), document.text("b"), document.text("c")), (Some("x"), None, None));
    assert_eq!((document.get("b"), document.get("c")), (Some(&json!(1)), None));
}

#[test]
fn front_matter_begins_and_ends_at_lines_of_three_dashes() {
    for (text, body, line) in [
        ("---\na: 1\n---\nbody", "body", 4),
        ("---\r\na: 1\r\n---\r\nbody", "body", 4),
        ("--- \t\na: 1\n...  \nbody", "body", 4),
        ("\u{feff}---\na: 1\n---\n\n body", "\n body", 4),
        ("---\na: 1\n---", "", 4),
        ("---\na: 1\n # ---\n---\n---\nx", "---\nx", 5),
    ] {
        let document = doc(text);
        assert_eq!((document.front(), document.get("a")), (&Front::Sound, Some(&json!(1))), "{text:?}");
        assert_eq!((&*document.body(), document.body_line()), (body, line), "{text:?}");
    }
    for empty in ["---\n---\nx", "---\n\n# only words\n---\nx"] {
        assert_eq!((doc(empty).front(), doc(empty).fields().len()), (&Front::Sound, 0));
        assert_eq!(doc(empty).body(), "x");
    }
    for text in ["", "x", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n----\n", "--- a\n---\n", "\u{feff}x"]
    {
        let document = doc(text);
        assert_eq!((document.front(), document.body_line()), (&Front::Missing, 1), "{text:?}");
        assert_eq!(document.body(), text.trim_start_matches('\u{feff}'));
    }
    assert_eq!(Document::new().print(), b"");
}

#[test]
fn damaged_front_matter_is_shown_with_its_line_and_never_touched() {
    let large = format!("---\na: {}\n---\n", "x".repeat(64 * 1024));
    let deep = format!("---\na: 1\nb: {}{}\n---\n", "[".repeat(60), "]".repeat(60));
    let bomb = "---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: [*c,*c,*c,*c,*c,*c,*c,*c]\n---\n";
    for (text, line, what) in [
        ("---", 1, "not closed"),
        ("---\na: 1\n", 1, "not closed"),
        ("---\na: 1\n ---\n--- x\n", 1, "not closed"),
        ("---\na: 1\nb: 2\na: 3\n---\n", 4, "`a` stands there twice"),
        ("---\na: 1\n\"a\": 3\n---\n", 3, "`a` stands there twice"),
        ("---\n!x a: 1\na: 3\n---\n", 0, "twice"),
        ("---\na: {b: 1, b: 2}\n---\n", 2, "`b` stands there twice"),
        ("---\n- a\n- b\n---\n", 2, "`key: value`"),
        ("---\njust words\n---\n", 2, "`key: value`"),
        ("---\n~\n---\n", 2, "`key: value`"),
        ("---\na: b\n1: x\n---\n", 0, "not text: 1"),
        ("---\ntrue: x\n---\n", 0, "not text: true"),
        ("---\na: {null: x}\n---\n", 0, "not text: null"),
        ("---\na:\n\tb: c\n---\n", 3, "tabs"),
        ("---\nx: y\na: \u{1}\n---\n", 3, "character"),
        ("---\n# \0\n---\n", 2, "character"),
        ("---\na: b: c\n---\n", 2, "not allowed"),
        ("---\na: *x\n---\n", 2, "unknown"),
        ("---\na: [1\n---\n", 2, "bracket"),
        ("---\na: 1\n--- !x\nb: 2\n---\n", 0, "more than one"),
        (&large, 1, "64 KiB"),
        (&deep, 0, "beyond reason"),
        (bomb, 0, "beyond reason"),
    ] {
        let mut document = doc(text);
        let Front::Damaged(said) = document.front().clone() else { panic!("{text:.80?}: {:?}", document.front()) };
        assert!(said.contains(what) && said.starts_with("line "), "{text:.80?}: {said}");
        assert!(line == 0 || said.starts_with(&format!("line {line}: ")), "{text:.80?}: {said}");
        assert!(document.fields().is_empty());
        assert_eq!((&*document.body(), document.body_line()), (text, 1));
        for refused in
            [document.set("a", &json!(1)), document.set("zz", &json!(1)), document.unset("a"), document.set_body("new")]
        {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Refused);
            assert!(refused.to_string().contains(&said) && refused.next_step().is_some());
        }
        assert_eq!(printed(&document), text);
    }
    let invalid = Document::parse(b"---\na: 1\nb: \xff\n---\nbody".to_vec());
    assert_eq!(*invalid.front(), Front::Damaged("line 3: the front matter is not valid UTF-8".into()));
    let mut utf16 = Document::parse(b"\xff\xfe-\0-\0".to_vec());
    assert!(matches!(utf16.front(), Front::Damaged(_)) && utf16.set("a", &json!(1)).is_err());
}

/// Sets `key` in front matter and returns the front matter.
fn after_set(yaml: &str, key: &str, value: Value) -> String {
    let mut document = doc(&format!("---\n{yaml}---\nbody"));
    document.set(key, &value).unwrap();
    assert_eq!(document.get(key), Some(&value));
    let text = printed(&document);
    text.strip_prefix("---\n").and_then(|t| t.strip_suffix("---\nbody")).unwrap().to_owned()
}

#[test]
fn a_change_keeps_every_other_line() {
    let yaml = "# of mine\nb: 1  # one\n\nunknown-key:   'kept'\n# about a\na: old # why\ntags: # all\n- x\n# half\n- y\n\n  # in between\nlast: |\n  text\n  # text too\n# the end\n";
    for (key, value, from, to) in [
        ("a", json!("new"), "a: old # why\n", "a: new # why\n"),
        ("b", json!(2), "b: 1  # one\n", "b: 2  # one\n"),
        ("unknown-key", json!(["x", 1]), "unknown-key:   'kept'\n", "unknown-key:   [x, 1]\n"),
        ("tags", json!([]), "tags: # all\n- x\n# half\n- y\n\n  # in between\n", "tags: []\n"),
        ("last", json!({"k": "v"}), "last: |\n  text\n  # text too\n", "last: {k: v}\n"),
        ("fresh", json!("2026-11-20T17:40:02Z"), "# the end\n", "# the end\nfresh: 2026-11-20T17:40:02Z\n"),
    ] {
        assert_eq!(after_set(yaml, key, value.clone()), yaml.replacen(from, to, 1), "{key}");
        // Repeats the change in a file with the other line break, a byte order mark, no final newline and a body that
        // is not UTF-8.
        let crlf = |yaml: &str| {
            let mut bytes = format!("\u{feff}---\n{yaml}...\nbody\n").replace('\n', "\r\n").into_bytes();
            bytes.extend_from_slice(b"\xff end");
            bytes
        };
        let mut document = Document::parse(crlf(yaml));
        document.set(key, &value).unwrap();
        assert_eq!(document.print(), crlf(&yaml.replacen(from, to, 1)), "{key}");
    }
}

#[test]
fn an_equal_value_changes_no_byte() {
    for text in [
        "---\na:    'x'   # c\nb: {c: [1,2]}\n---\n",
        "---\n{a: x, b: {c: [1, 2]}}\n---\n",
        "---\n  b: {c: [1,2]}\n  a: x\n---",
    ] {
        let mut document = doc(text);
        document.set("a", &json!("x")).unwrap();
        document.set("b", &json!({"c": [1, 2]})).unwrap();
        document.unset("c").unwrap();
        assert_eq!(printed(&document), text);
    }
}

#[test]
fn only_what_is_a_comment_is_kept_as_one() {
    for (line, expected) in [
        ("a: \"x # y\" # z", "a: v # z"),
        ("a: x#y", "a: v"),
        ("a: x #y # z", "a: v #y # z"),
        ("a: # nothing", "a: v # nothing"),
        ("a: x # y\n  # z\n", "a: v # y\n  # z\n"),
        ("a:\n  # z", "a: v\n  # z"),
        ("a: |\n  # text", "a: v"),
        ("a:", "a: v"),
        ("a : x", "a : v"),
        ("a: 'x # y'", "a: v"),
        ("a: [b, 'c # d']\t# e", "a: v\t# e"),
        ("'a': x # y", "'a': v # y"),
        ("\"\\u0061\": x", "\"\\u0061\": v"),
    ] {
        assert_eq!(after_set(&format!("{line}\nb: 1\n"), "a", json!("v")), format!("{expected}\nb: 1\n"), "{line}");
    }
}

#[test]
fn front_matter_is_made_where_there_is_none() {
    for (text, expected) in [
        ("", "---\na: x\n---\n"),
        ("body", "---\na: x\n---\nbody"),
        ("\r\n---\r\n", "---\r\na: x\r\n---\r\n\r\n---\r\n"),
        ("\u{feff}body\n", "\u{feff}---\na: x\n---\nbody\n"),
        ("---\n---\nbody", "---\na: x\n---\nbody"),
        ("---\n---", "---\na: x\n---"),
    ] {
        let mut document = doc(text);
        document.set("a", &json!("x")).unwrap();
        assert_eq!(printed(&document), expected, "{text:?}");
    }
}

#[test]
fn unset_takes_the_lines_of_one_key() {
    for (yaml, key, expected) in [
        ("a: 1\nb: 2\nc: 3\n", "b", "a: 1\nc: 3\n"),
        (
            "a: 1\n# about b\nb:\n  - x\n  # inside\n  - y\n\n# about c\nc: 3\n",
            "b",
            "a: 1\n# about b\n\n# about c\nc: 3\n",
        ),
        ("a: 1 # x\n", "a", ""),
        ("a: 1\n", "b", "a: 1\n"),
    ] {
        let mut document = doc(&format!("---\n{yaml}---\nbody"));
        document.unset(key).unwrap();
        assert_eq!(printed(&document), format!("---\n{expected}---\nbody"));
        assert_eq!(document.get(key), None);
    }
    let mut none = doc("body");
    none.unset("a").unwrap();
    assert_eq!(printed(&none), "body");
}

#[test]
fn what_cannot_be_changed_line_by_line_is_left_alone() {
    for text in [
        "---\n{a: 1, b: 2}\n---\n",
        "---\n  a: 1\n  b: 2\n---\n",
        "---\na: &x [1]\nb: *x\n---\n",
        "---\nz: &x [0]\na: &x [1]\nb: *x\n---\n",
        "---\na: [\nb: 1,\n]\nb: 1\n---\n",
        "---\n? a\n: 1\n---\n",
        "---\n!!str a: 1\nb: 2\n---\n",
        "---\na: 1\rb: 2\n---\n",
    ] {
        let mut document = doc(text);
        assert_eq!(*document.front(), Front::Sound, "{text:?}");
        let refused = document.set("a", &json!("new")).unwrap_err();
        assert_eq!((refused.kind(), refused.next_step()), (ErrorKind::Refused, Some("edit it by hand")), "{text:?}");
        document.unset("a").unwrap_err();
        assert_eq!(printed(&document), text);
    }
    let mut large = doc("---\na: 1\n---\n");
    large.set("a", &json!("x".repeat(70_000))).unwrap_err();
    assert_eq!(large.get("a"), Some(&json!(1)));
}

#[test]
fn values_are_quoted_where_somebody_could_take_them_for_something_else() {
    for (value, expected) in [
        (json!("tea, no sugar"), "tea, no sugar"),
        (json!("2026-11-20"), "2026-11-20"),
        (json!("2026-11-20T17:40:02.5+01:00"), "2026-11-20T17:40:02.5+01:00"),
        (json!("30d"), "30d"),
        (json!("it's"), "it's"),
        (json!("https://example.org/#x"), "https://example.org/#x"),
        (json!("größer"), "größer"),
        (
            json!(["a", "b, c", "2026-11-20T17:40:02Z", 1, null, true]),
            "[a, \"b, c\", 2026-11-20T17:40:02Z, 1, null, true]",
        ),
        (json!({"k": "v", "x y": {"1": []}}), "{k: v, x y: {\"1\": []}}"),
        (json!(1.0), "1.0"),
        (json!(""), "\"\""),
        (json!("yes"), "\"yes\""),
        (json!("Null"), "\"Null\""),
        (json!("1e5"), "\"1e5\""),
        (json!("0x1f"), "\"0x1f\""),
        (json!("12:30"), "\"12:30\""),
        (json!("007"), "\"007\""),
        (json!("~"), "\"~\""),
        (json!("- x"), "\"- x\""),
        (json!("#x"), "\"#x\""),
        (json!("a #x"), "\"a #x\""),
        (json!("a: x"), "\"a: x\""),
        (json!("a:"), "\"a:\""),
        (json!(" a"), "\" a\""),
        (json!("[[Tea]]"), "\"[[Tea]]\""),
        (json!("---"), "\"---\""),
        (json!("a\n---\nb\t\"\\"), "\"a\\n---\\nb\\t\\\"\\\\\""),
        (json!("\u{0}\u{85}\u{2028}\u{202e}\u{feff}"), "\"\\u0000\\u0085\\u2028\\u202e\\ufeff\""),
    ] {
        assert_eq!(after_set("", "a", value), format!("a: {expected}\n"));
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-a:# \"'\\\\\\[\\]{},&*!|>%@`?=~\n\r\t0-9.eExé\u{2028}]{0,12}",
        "[0-9TZ:. +_-]{0,12}",
        "(?s).{0,20}"
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn any_value_under_any_key_reads_back(key in any_text(), value in any_value(), other in any_value(), crlf in any::<bool>()) {
        let text = "---\nfirst: 'x' # c\n# d\n---\nbody\n";
        let text = if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        for start in ["", &text] {
            let mut document = doc(start);
            let mut expected = document.fields().clone();
            for value in [&value, &other] {
                document.set(&key, value).unwrap();
                expected.insert(key.clone(), value.clone());
                prop_assert_eq!(document.fields(), &expected);
                let again = Document::parse(document.print());
                prop_assert_eq!(again.fields(), &expected);
            }
            if key != "first" && !start.is_empty() {
                document.unset(&key).unwrap();
                prop_assert_eq!(printed(&document), start);
            }
        }
    }
}

/// One key in the forms people write it (`%` is the key), and the text around such keys.
fn entry() -> impl Strategy<Value = (&'static str, &'static str)> {
    let written = vec![
        "%: plain\n",
        "%:   'it''s # in'  # why\n",
        "\"%\": [a, {b: c}] # why\n",
        "%:\n",
        "% : 12\n",
        "%:\n- a\n# in it\n- b\n",
        "%:\n  - a\n\n  # in it\n  - b: c\n",
        "%: |+\n  text\n  # text\n\n  %: text\n",
        "%: >-\n   folded\n   text\n",
        "%:\n  a: 1\n  b: 2\n",
        "%: [a,\n  b]\n",
        "%: \"two\n  lines\"\n",
        "%: two\n  lines\n",
    ];
    let around = vec!["", "", "# note\n", "#a: no\n\n", "# one\n\n# two\n"];
    (prop::sample::select(written), prop::sample::select(around))
}

proptest! {
    #[test]
    fn the_lines_of_one_key_are_replaced_and_no_other(
        entries in prop::collection::vec(entry(), 1..6), at in any::<prop::sample::Index>(), crlf in any::<bool>(), bom in any::<bool>(), end in "\\PC{0,5}",
    ) {
        let at = at.index(entries.len());
        let whole = |changed: &dyn Fn(&str, &str) -> String| {
            let lines = entries.iter().enumerate().map(|(i, (written, around))| {
                let written = written.replace('%', &format!("key {i}"));
                format!("{}{around}", if i == at { changed(&format!("key {i}"), &written) } else { written })
            });
            let text = format!("{}---\n# top\n{}---\n{end}", if bom { "\u{feff}" } else { "" }, lines.collect::<String>());
            if crlf { text.replace('\n', "\r\n") } else { text }
        };
        let key = format!("key {at}");
        let mut document = doc(&whole(&|_, written| written.to_owned()));
        prop_assert_eq!((document.front(), document.fields().len()), (&Front::Sound, entries.len()));
        document.set(&key, &json!("new")).unwrap();
        let expected = whole(&|key, written| {
            let behind = written.split_once(':').unwrap();
            let gap = if written.starts_with(&format!("{key}:   ")) { "   " } else { " " };
            let comment = behind.1.find("# why").map_or("", |c| behind.1[behind.1[..c].trim_end().len()..].trim_end());
            format!("{}:{gap}new{comment}\n", behind.0)
        });
        prop_assert_eq!(printed(&document), expected);
        document.unset(&key).unwrap();
        prop_assert_eq!(printed(&document), whole(&|_, _| String::new()));
    }
}
