//! Tests of the language room: data in, text out.

use proptest::prelude::*;

use super::blocks::{Block, Reach, blocks};
use super::words::{Marks, humps, runs, split};
use super::{quotes, scripts, sentences};

mod patterns;

const WHOLE: Reach = Reach { whole: 4000, ends: 1000 };

fn said(text: &str) -> Vec<String> {
    blocks(text, WHOLE).into_iter().map(|b| text[b.range].to_owned()).collect()
}

fn shown(text: &str, of: impl Fn(&Block) -> String) -> String {
    blocks(text, WHOLE).iter().map(|b| format!("{}{}", of(b), &text[b.range.clone()])).collect::<Vec<_>>().join(" | ")
}

#[test]
fn what_nobody_typed_as_a_sentence_is_left_out() {
    for (text, want) in [
        ("Look:\n```rust\nlet x = 1;\n```\nFix it.", "Look: | Fix it."),
        ("Look:\n~~~\nalways\n```\n~~~\nFix it.", "Look: | Fix it."),
        ("Mine.\n\n    code\n\tcode\nMine too.", "Mine. | Mine too."),
        ("> theirs\nmine", "mine"),
        ("| a | b |\n|---|---|\nmine", "mine"),
        ("src/\n├── app.js  ← the entry\n│   └── api.js\n┌───┬───┐\n│ a │ b │\nmine", "src/ | mine"),
        ("<note>\ntheirs\n\ntheirs\n</note>\nmine", "mine"),
        ("mine <b>bold</b> and <note>theirs\ntheirs</note> more", "mine <b>bold</b> and | more"),
        ("Vec<String> is mine", "Vec<String> is mine"),
        ("2026-05-01 12:00:00 started\n[INFO] up\nERROR: down\n{\"a\": 1}\n$ ls\nmine", "mine"),
        ("[the page](https://example.org) is mine\n[1] theirs", "[the page](https://example.org) is mine | [1] theirs"),
        (
            "-- Configuring done\nmake: *** [all] Error 70\nbuild -create-all -output out/all.zip\nwidth ........ 15\nthe tools := all of them\nmine",
            "mine",
        ),
        ("mine - and mine - too, with -O2", "mine - and mine - too, with -O2"),
        ("Traceback (most recent call last):\n  here\nand here\n\nmine", "mine"),
        ("diff --git a b\n@@ -1 +1 @@\n- old\n+ new\n\nmine", "mine"),
        ("```\nnever closed\nalways", ""),
        ("", ""),
    ] {
        assert_eq!(said(text).join(" | "), want, "{text}");
    }
}

#[test]
fn lines_are_blocks_unless_they_were_wrapped() {
    let long = "This line is long enough to have been wrapped by an editor";
    let wide = "A program that takes a pasted prompt line by line puts an empty line between the li";
    for (text, want) in [
        ("one\ntwo".to_owned(), "one | two".to_owned()),
        (format!("{long}\nand goes on"), format!("{long}\nand goes on")),
        (format!("{long}.\nand another"), format!("{long}. | and another")),
        (format!("{long}\nAnother"), format!("{long} | Another")),
        (format!("{long}\n\nand another"), format!("{long} | and another")),
        (format!("{wide}\n\nand goes on"), format!("{wide}\n\nand goes on")),
        (format!("{wide}\n\n\n- and another"), format!("{wide} | and another")),
        (format!("{wide}\n\n```\ncode\n```\nand another"), format!("{wide} | and another")),
    ] {
        assert_eq!(said(&text).join(" | "), want);
    }
}

#[test]
fn items_have_bullets_and_boxes() {
    let item = |b: &Block| match (b.item, b.ticked) {
        (false, _) => String::new(),
        (true, None) => "- ".into(),
        (true, Some(done)) => format!("{done} "),
    };
    for (text, want) in [
        ("- a\n* b\n1. c\n12) d\n• e\n–  f", "- a | - b | - c | - d | - e | - f"),
        ("- [ ] a\n- [x] b\n[ ] c\n✅ d\n- ☐ e", "false a | true b | false c | true d | false e"),
        ("2026. A year\n-a", "2026. A year | -a"),
        ("- a\n    goes on", "- a | goes on"),
    ] {
        assert_eq!(shown(text, item), want, "{text}");
    }
}

#[test]
fn headings_and_announcements_tell_what_stands_under_them() {
    let under = |b: &Block| b.under.map_or(String::new(), |t| format!("{t:?}: "));
    for (text, want) in [
        ("# Next steps\na\n\nb", "Next: a | Next: b"),
        ("## Rules\n- a\n## Summary\n- b", "Rules: a | Done: b"),
        ("Still open:\n- a\n- b\nc", "Still open: | Open: a | Open: b | c"),
        ("**Decisions**\n- a", "Decisions: **Decisions** | Decisions: a"),
    ] {
        assert_eq!(shown(text, under), want, "{text}");
    }
    let rule = |b: &Block| if b.listed_rule { "rule ".into() } else { String::new() };
    assert_eq!(shown("From now on:\n- a\n- b\n\nc\n- d", rule), "From now on: | rule a | rule b | c | d");
}

#[test]
fn what_may_be_pasted_is_told() {
    let doubt = |b: &Block| match (b.pasted, b.behind_paste, b.document) {
        (false, false, false) => String::new(),
        (pasted, behind, document) => format!(
            "{}{}{} ",
            ["", "P"][usize::from(pasted)],
            ["", "b"][usize::from(behind)],
            ["", "d"][usize::from(document)]
        ),
    };
    for (text, want) in [
        ("The error message is:\n\na\n\nb", "The error message is: | Pb a | Pb b"),
        ("Bob wrote:\na", "Bob wrote: | Pb a"),
        ("Translate this:\na", "Translate this: | b a"),
        ("The error message is:\n```\nx\n```\na", "The error message is: | a"),
        ("My preferences:\n- a", "My preferences: | a"),
        ("a\n# One\nb\n# Two\nc", "a | d b | d c"),
        ("a\n# One\nb", "a | b"),
    ] {
        assert_eq!(shown(text, doubt), want, "{text}");
    }
}

#[test]
fn of_a_long_text_both_ends_are_read() {
    let filler = "The quick brown fox jumps over the lazy dog.\n".repeat(200);
    let found = said(&format!("first\n{filler}middle\n{filler}last"));
    assert!(found[0] == "first" && found.last().unwrap() == "last" && !found.contains(&"middle".to_owned()));
    let fenced = format!("first\n```\n{filler}```\nlast");
    assert_eq!(said(&fenced), ["first", "last"], "what is fenced does not count as length");
    let cut: Vec<(bool, bool)> = blocks(&filler.replace('\n', " "), WHOLE).into_iter().map(|b| b.cut).collect();
    assert_eq!(cut, [(false, true), (true, false)]);
}

#[test]
fn sentences_are_cut_at_stops() {
    for (text, want) in [
        ("One. Two! Three? Four", "One. | Two! | Three? | Four"),
        ("e.g. this, Dr. No and v1.2 of a.rs. Next.", "e.g. this, Dr. No and v1.2 of a.rs. | Next."),
        ("I say no. Then no. 5 is it.", "I say no. | Then no. 5 is it."),
        ("am 14. November. Gut.", "am 14. November. | Gut."),
        ("He said \"One. Two.\" Then he left.", "He said \"One. Two.\" | Then he left."),
        (
            "Run `a. b` first (see there. Or here!) and stop :( Again. Fine.",
            "Run `a. b` first (see there. Or here!) and stop :( Again. | Fine.",
        ),
        ("**Done.** Next.", "**Done.** | Next."),
        ("请用中文。谢谢！", "请用中文。 | 谢谢！"),
        ("Wait... what", "Wait... | what"),
        ("The visible “…” are part of the titles. Done.", "The visible “…” are part of the titles. | Done."),
        ("Hm… Now it works.", "Hm… | Now it works."),
        ("  ", ""),
    ] {
        let found: Vec<&str> = sentences::split(text, usize::MAX).into_iter().map(|r| &text[r]).collect();
        assert_eq!(found.join(" | "), want, "{text}");
    }
    assert_eq!(sentences::split(&"word ".repeat(100), 100).len(), 5);
}

#[test]
fn quotations_code_and_tags_are_quoted() {
    for (text, want) in [
        ("he said \"always use tabs\" to me", "\"always use tabs\""),
        ("“eins” „zwei“ «trois» 'four' ‘five’ `six`", "“eins” | „zwei“ | «trois» | 'four' | ‘five’ | `six`"),
        ("don't, it's 5\" wide, the dogs' home", ""),
        ("<note>never push</note> and <br> here", "<note>never push</note> | <br>"),
        ("a < b and c > d", ""),
        ("\"open", ""),
    ] {
        let found: Vec<&str> = quotes::spans(text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(found.join(" | "), want, "{text}");
    }
}

#[test]
fn signs_within_a_word_belong_to_it() {
    for (text, want) in [
        ("Don’t stop, it's e-mail.", "Don’t stop it's e-mail"),
        ("see src/main.rs:12 and foo::bar(x) or a_b", "see src/main.rs:12 and foo::bar x or a_b"),
        ("#12 @ann ~/x .env $HOME /etc", "#12 @ann ~/x .env $HOME /etc"),
        ("(see https://example.org/a?b=1&c=2).", "see https://example.org/a?b=1&c=2"),
        ("10,000 of 3,x and/or tl;dr key=value", "10,000 of 3 x and/or tl;dr key=value"),
        ("_always_ *never* __init__ `code`", "always never init code"),
        ("C++, C# and F#; a + b -- c - d—e", "C++ C# and F# a b c d e"),
        ("src/ and a: b", "src and a b"),
        ("cafe\u{301} und Straße", "cafe\u{301} und Straße"),
        ("東京へ行く。はい", "東京へ行く はい"),
        ("… ?!", ""),
    ] {
        let found: Vec<&str> = split(text, Marks::Dropped).into_iter().map(|w| &text[w.start..w.end]).collect();
        assert_eq!(found.join(" "), want, "{text}");
    }
    let text = "Use \"no tabs\", ok?";
    let found: Vec<String> = split(text, Marks::Kept)
        .into_iter()
        .map(|w| format!("{}{}", if w.quoted { "q:" } else { "" }, &text[w.start..w.end]))
        .collect();
    assert_eq!(found.join(" "), "Use q:\" q:no q:tabs q:\" , ok ?");
    assert_eq!(runs("src/main_a.rs 3x", &[]).map(|(_, w)| w).collect::<Vec<_>>(), ["src", "main", "a", "rs", "3x"]);
    assert_eq!(runs("src/main_a.rs", &['_']).collect::<Vec<_>>(), [(0, "src"), (4, "main_a"), (11, "rs")]);
    assert_eq!(humps("HTTPServerName"), ["HTTP", "Server", "Name"]);
}

#[test]
fn scripts_without_spaces_are_known() {
    assert!("東京タワーは서울กรุง".chars().all(scripts::is_unspaced));
    assert!(!"aäßéжא".chars().any(scripts::is_unspaced));
    assert_eq!(scripts::script('タ'), scripts::Script::Katakana);
}

const PIECES: &[&str] = &[
    "a",
    "Never",
    " ",
    "\n",
    "\n\n",
    "\t",
    "    ",
    ".",
    "…",
    "。",
    "?",
    ":",
    ",",
    "'",
    "’",
    "\"",
    "“",
    "”",
    "`",
    "```\n",
    "~~~\n",
    "<a>",
    "</a>",
    "<",
    ">",
    "> ",
    "- ",
    "[ ] ",
    "# ",
    "**",
    "(",
    ")",
    "/",
    "://",
    "#",
    "_",
    "-",
    "=",
    "+",
    "İ",
    "ß",
    "日本",
    "\u{301}",
    "\u{200b}",
    "🦀",
    "\r\n",
    "\0",
    "12",
    "The error says:",
    "From now on:",
];

proptest! {
    /// Every range is valid, in order, and no range overlaps another.
    #[test]
    fn any_text_is_read(parts in prop::collection::vec(prop::sample::select(PIECES), 0..60), any in any::<String>()) {
        for text in [parts.concat(), any] {
            let mut last = 0;
            for block in blocks(&text, Reach { whole: 60, ends: 20 }) {
                prop_assert!(block.range.start >= last && !text[block.range.clone()].trim().is_empty());
                last = block.range.end;
                let said = &text[block.range];
                let mut from = 0;
                for range in sentences::split(said, 30) {
                    prop_assert!(range.start >= from && !range.is_empty());
                    from = range.end;
                    let mut at = 0;
                    for word in split(&said[range.clone()], Marks::Kept) {
                        prop_assert!(word.start >= at && word.end > word.start);
                        at = word.end;
                        prop_assert!(!said[range.clone()][word.start..word.end].contains(char::is_whitespace));
                    }
                }
            }
        }
    }
}
