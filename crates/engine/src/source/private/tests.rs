//! Tests of masking private spans, in every form a span comes in.

use proptest::prelude::*;

use super::*;

fn record(bytes: &str) -> String {
    let masked = mask_record(bytes.as_bytes()).into_owned();
    assert_eq!(masked.len(), bytes.len(), "a record keeps its length");
    assert_eq!(*mask_record(&masked), *masked, "masking twice is masking once");
    String::from_utf8(masked).unwrap()
}

#[test]
fn spans_are_masked_and_nothing_else_is() {
    for (given, kept) in [
        (r#"{"text":"a <private>b c</private> d"}"#, r#"{"text":"a <private>***</private> d"}"#),
        (r#"{"text":"<PRIVATE>b</Private> d"}"#, r#"{"text":"<PRIVATE>*</Private> d"}"#),
        (
            r#"{"text":"\u003cprivate\u003eb\u003c/private\u003e d"}"#,
            r#"{"text":"\u003cprivate\u003e*\u003c/private\u003e d"}"#,
        ),
        (
            r#"{"arguments":"{\"cmd\":\"echo \\u003Cprivate\\u003Eb\\\\n\\u003C/private\\u003E\"}"}"#,
            r#"{"arguments":"{\"cmd\":\"echo \\u003Cprivate\\u003E******\\u003C/private\\u003E\"}"}"#,
        ),
        (r#"{"text":"&lt;private&gt;b&lt;/private&gt;"}"#, r#"{"text":"&lt;private&gt;*&lt;/private&gt;"}"#),
        (
            r#"{"text":"&#60;private&#62;b&#x3C;/private&#x3e; c"}"#,
            r#"{"text":"&#60;private&#62;*&#x3C;/private&#x3e; c"}"#,
        ),
        // Letters of the tag may be escaped, too: after decoding it is the same tag.
        (r#"{"text":"<\u0070rivate>b</priv\u0061te> d"}"#, r#"{"text":"<\u0070rivate>*</priv\u0061te> d"}"#),
        (
            r#"{"text":"\u003c\u0050\u0052ivate\u003eb\u003c\u002fprivate\u003e d"}"#,
            r#"{"text":"\u003c\u0050\u0052ivate\u003e*\u003c\u002fprivate\u003e d"}"#,
        ),
        (r#"{"text":"<private>b<\/private> d"}"#, r#"{"text":"<private>*<\/private> d"}"#),
        (
            r#"{"arguments":"{\"cmd\":\"<\\u0070rivate>b</private>\"}"}"#,
            r#"{"arguments":"{\"cmd\":\"<\\u0070rivate>*</private>\"}"}"#,
        ),
        (
            r#"{"content":[{"text":"a <\u00"},{"text":"70rivate>b</private>c"}]}"#,
            r#"{"content":[{"text":"a <\u00"},{"text":"70rivate>*</private>c"}]}"#,
        ),
        (r#"{"text":"a <\npre>b"}"#, r#"{"text":"a <\npre>b"}"#),
        (
            r#"{"text":"<private>a<private>b</private>c</private>d"}"#,
            r#"{"text":"<private>**********************</private>d"}"#,
        ),
        // A span with quotation marks and letters beyond ASCII.
        (r#"{"text":"<private>\"ü\\</private>"}"#, r#"{"text":"<private>******</private>"}"#),
        (r#"{"text":"<private reason=\"mine\">b</private>"}"#, r#"{"text":"<private reason=\"mine\">*</private>"}"#),
        (r#"{"text":"< private >b</ private >"}"#, r#"{"text":"< private >*</ private >"}"#),
        // A span whose other tag is missing reaches to the end, or back to the beginning, of the message's words.
        (r#"{"text":"a <private>b","id":"c"}"#, r#"{"text":"a <private>*","id":"c"}"#),
        (r#"{"text":"a b</private> c"}"#, r#"{"text":"***</private> c"}"#),
        (
            r#"{"content":[{"type":"text","text":"<private>a"},{"type":"text","text":"b</private>c"}]}"#,
            r#"{"content":[{"type":"text","text":"<private>*"},{"type":"text","text":"*</private>c"}]}"#,
        ),
        (
            r#"{"content":["<private>a",{"type":"tool","output":"b"},"c"],"id":"d"}"#,
            r#"{"content":["<private>*",{"type":"tool","output":"*"},"*"],"id":"d"}"#,
        ),
        (r#"{"<private>a</private>":"b"}"#, r#"{"<private>*</private>":"b"}"#),
        // Member names that are texts, too.
        (r#"{"<private>a":"b"}"#, r#"{"<private>*":"b"}"#),
        // Records that are not JSON, or are cut off.
        ("a <private>b</private> c", "a <private>*</private> c"),
        (r#"{"text":"a <private>b"#, r#"{"text":"a <private>*"#),
        (r#"{"text":"a <private>b</priv"#, r#"{"text":"a <private>*******"#),
        // Tags that are only spoken of.
        (
            r#"{"text":"the `<private>` tag, closed by `</private>`"}"#,
            r#"{"text":"the `<private>` tag, closed by `</private>`"}"#,
        ),
        (r#"{"text":"`<private>b</private>`"}"#, r#"{"text":"`<private>*</private>`"}"#),
        // Words that look like tags.
        (
            r#"{"text":"<privateer> Box<Private> <private/> private"}"#,
            r#"{"text":"<privateer> Box<Private>*******************"}"#,
        ),
        (
            r#"{"text":"<privateer> <private/> <private-key> private> b"}"#,
            r#"{"text":"<privateer> <private/> <private-key> private> b"}"#,
        ),
    ] {
        assert_eq!(record(given), kept);
    }
}

/// Masks records of one message.
fn records(given: &[&str], message: impl Fn(usize) -> Message) -> Vec<String> {
    let mut masker = Masker::default();
    let masked = given.iter().enumerate().map(|(n, bytes)| {
        let masked = masker.record(bytes.as_bytes(), |_| message(n));
        String::from_utf8(masked.into_owned()).unwrap()
    });
    masked.collect()
}

#[test]
fn a_span_goes_on_in_the_next_record_of_its_message() {
    let part = |_| Message::Part("m".into());
    assert_eq!(
        records(&[r#"{"text":"a <private>b"}"#, r#"{"text":"c"}"#, r#"{"text":"d</private> e"}"#], part),
        [r#"{"text":"a <private>*"}"#, r#"{"text":"*"}"#, r#"{"text":"*</private> e"}"#]
    );
    // Tags that are cut at any place.
    assert_eq!(
        records(&[r#"{"delta":"a <pri"}"#, r#"{"delta":"vate>b</"}"#, r#"{"delta":"private> c"}"#], |_| Message::None),
        [r#"{"delta":"a <pri"}"#, r#"{"delta":"vate>***"}"#, r#"{"delta":"private> c"}"#]
    );
    // A span does not go on in another message.
    let other = |n| if n == 0 { Message::Part("m".into()) } else { Message::Whole };
    assert_eq!(
        records(&[r#"{"text":"<private>b"}"#, r#"{"text":"c"}"#], other),
        [r#"{"text":"<private>*"}"#, r#"{"text":"c"}"#]
    );
}

#[test]
fn a_line_too_long_to_be_decoded_is_masked_over_its_pieces() {
    let mut line = vec![b'x'; MAX_LINE - 9];
    line.extend(b"<private>");
    let mut masker = Masker::default();
    assert_eq!(*masker.record(&line, |_| Message::Whole), *line);
    assert_eq!(*masker.record(b"hidden\n", |_| Message::Whole), *b"******\n");
    assert_eq!(*masker.record(b"{\"a\":1}\n", |_| Message::Whole), *b"{\"a\":1}\n");
}

#[test]
fn a_turn_has_three_stars() {
    assert_eq!(mask_text("a <private>a long secret</private> b"), "a <private>***</private> b");
    assert_eq!(mask_text("a <private>x</private> b"), "a <private>*</private> b");
    assert_eq!(mask_text("a <private>a long secret"), "a <private>***");
    assert_eq!(mask_text("a long secret</private> b"), "***</private> b");
    assert_eq!(
        shorten("no ******** tag <private>*****</private> *****"),
        "no ******** tag <private>***</private> *****"
    );
    assert!(matches!(mask_text("nothing < of > that"), Cow::Borrowed(_)));
}

/// Makes words of a person, of which `SECRET` is private.
fn spoken() -> impl Strategy<Value = (String, bool)> {
    let piece = prop_oneof![
        Just("<private>SECRET ü\n\"\\SECRET</private>"),
        Just("<PRIVATE>SECRET<private>SECRET</private>SECRET</PRIVATE>"),
        Just("<private class=\"x\">SECRET</private>"),
        Just("`<private>`"),
        Just("words\\"),
        Just("ü <b>"),
        Just("\n"),
    ];
    (proptest::collection::vec(piece, 0..6), any::<bool>())
        .prop_map(|(pieces, open)| (pieces.concat() + if open { "<private>SECRET" } else { "" }, open))
}

proptest! {
    #[test]
    fn nothing_private_is_left_whatever_the_quoting((words, _) in spoken(), levels in 1..4usize, escaped in any::<bool>()) {
        let mut json = words;
        for _ in 0..levels {
            json = serde_json::json!({ "text": json }).to_string();
            if escaped {
                json = json.replace('<', "\\u003c").replace('>', "\\u003E");
            }
        }
        let masked = record(&json);
        prop_assert!(!masked.contains("SECRET"), "{masked}");
        prop_assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
    }

    #[test]
    fn nothing_private_is_left_wherever_it_is_cut((words, _) in spoken(), cuts in proptest::collection::vec(0..200usize, 0..8)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at % (words.len() + 1)).collect();
        cuts.retain(|at| words.is_char_boundary(*at));
        cuts.sort_unstable();
        cuts.push(words.len());
        let (mut pieces, mut from) = (Vec::new(), 0);
        for at in cuts {
            pieces.push(serde_json::json!({"type": "delta", "delta": &words[from..at]}).to_string());
            from = at;
        }
        let given: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let kept: String = records(&given, |_| Message::Part("m".into())).concat();
        // A secret cut in two would not be found by looking for all of it.
        for half in ["SEC", "RET", "ECRE"] {
            prop_assert!(!kept.contains(half), "{kept}");
        }
    }

    #[test]
    fn any_bytes_keep_their_length(bytes in proptest::collection::vec(prop_oneof![
        Just(b"<private>".to_vec()), Just(b"</private>".to_vec()), Just(b"\"".to_vec()), Just(b"\\".to_vec()),
        Just(b"u003c".to_vec()), Just(b"<".to_vec()), Just(b"{".to_vec()), Just(b"[".to_vec()), Just(b"\n".to_vec()),
        any::<u8>().prop_map(|b| vec![b]),
    ], 0..24)) {
        let bytes = bytes.concat();
        prop_assert_eq!(mask_record(&bytes).len(), bytes.len());
    }
}

#[test]
fn an_open_span_ends_with_its_message() {
    let mut masker = Masker::default();
    let mut masked = |bytes: &[u8], message: &str| {
        let message = Message::Part(message.to_owned());
        String::from_utf8(masker.record(bytes, |_| message).into_owned()).unwrap()
    };
    assert_eq!(masked(br#"{"text":"a <private>b"}"#, "1"), r#"{"text":"a <private>*"}"#);
    assert_eq!(masked(br#"{"text":"c"}"#, "1"), r#"{"text":"*"}"#);
    assert_eq!(masked(br#"{"text":"d"}"#, "2"), r#"{"text":"d"}"#);
}
