//! Converts text to the form it has in the full-text index: scripts without spaces are split into characters, and runs
//! that are not words are left out.
//!
//! This differs from [`super::words`] because the full-text engine splits the words, and its rule is fixed by existing
//! indexes: every change here needs a new `INDEX_VERSION`.

use super::scripts::{is_emoji, is_mark, is_unspaced};

/// Separator inserted between characters of scripts without spaces. It is invisible and not a letter, so the full-text
/// engine splits there, and a snippet can remove it.
pub const BREAK: char = '\u{200b}';

/// Prefix of the word that represents an emoji, because the full-text engine treats emoji as punctuation.
const EMOJI: &str = "xqe";

/// Maximum length of a word; longer runs of letters and digits are encoded data (base64, hex dumps). A SHA-512 in hex
/// has 128 characters.
const LONGEST_WORD: usize = 128;

/// Folds text for indexing and for queries: both sides must use it.
pub fn fold(text: &str) -> String {
    if text.is_ascii() && !has_long_run(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut word = 0usize;
    let mut word_start = 0usize;
    for c in text.chars() {
        if is_unspaced(c) {
            out.push(BREAK);
            out.push(c);
            out.push(BREAK);
            word = 0;
        } else if is_emoji(c) {
            out.push(BREAK);
            out.push_str(&format!("{EMOJI}{:x}", u32::from(c)));
            out.push(BREAK);
            word = 0;
        } else if c.is_ascii_alphanumeric() || matches!(c, '+' | '=') {
            if word == 0 {
                word_start = out.len();
            }
            word += 1;
            out.push(c);
        } else {
            if word > LONGEST_WORD {
                out.truncate(word_start);
            }
            word = 0;
            out.push(c);
        }
    }
    if word > LONGEST_WORD {
        out.truncate(word_start);
    }
    out
}

/// Returns folded text as people read it: without separators, and with emoji restored.
pub fn unfold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split(BREAK) {
        let bare = |c: char| c.is_control();
        let word = piece.trim_matches(bare);
        let emoji = word.strip_prefix(EMOJI).and_then(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
        match emoji.filter(|c| is_emoji(*c)) {
            Some(c) => out.push_str(&piece.replace(word, c.encode_utf8(&mut [0; 4]))),
            None => out.push_str(piece),
        }
    }
    out
}

fn has_long_run(text: &str) -> bool {
    let mut run = 0;
    text.bytes().any(|b| {
        run = if b.is_ascii_alphanumeric() || b == b'+' || b == b'=' { run + 1 } else { 0 };
        run > LONGEST_WORD
    })
}

/// Returns the words of a name or a query as the index stores them: letters and digits, with one space for everything
/// else; characters of unspaced scripts are separate words.
pub fn words_of(text: &str) -> String {
    let folded = fold(text);
    let mut out = String::new();
    for c in folded.chars() {
        if c.is_alphanumeric() || is_mark(c) {
            out.push(c);
        } else if c == BREAK {
            if !out.is_empty() && !out.ends_with([' ', BREAK]) {
                out.push(BREAK);
            }
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    // A combining mark has no meaning without a letter.
    if !out.contains(char::is_alphanumeric) {
        return String::new();
    }
    out.trim_matches([' ', BREAK]).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert_eq!(fold("fn main() { println!(\"hi\") }"), "fn main() { println!(\"hi\") }");
        assert_eq!(fold("Größe und naïve Wörter"), "Größe und naïve Wörter");
    }

    #[test]
    fn characters_of_unspaced_scripts_stand_alone() {
        let folded = fold("東京へ行く ok");
        assert_eq!(folded.replace(BREAK, "|"), "|東||京||へ||行||く| ok");
    }

    #[test]
    fn emoji_are_words_and_come_back() {
        let text = "shipped 🚀🎉! ok ✅";
        assert_eq!(words_of(text).replace(BREAK, "|"), "shipped xqe1f680|xqe1f389| ok xqe2705");
        assert_eq!(unfold(&fold(text)), text);
        assert_eq!(unfold("xqe is no emoji, xqe41 neither"), "xqe is no emoji, xqe41 neither");
    }

    #[test]
    fn encoded_data_is_left_out_and_hashes_are_kept() {
        let blob = "QUJD".repeat(100);
        assert_eq!(fold(&format!("before {blob} after")), "before  after");
        let sha = "ab12".repeat(32);
        assert_eq!(fold(&sha), sha);
    }
}
