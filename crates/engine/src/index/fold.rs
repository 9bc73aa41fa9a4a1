//! What words are before the full-text engine sees them: scripts without spaces are cut into characters, and runs that
//! are no words are left out.

/// Put between the characters of scripts that write no spaces. Invisible and no letter, so the full-text engine breaks
/// there, and a snippet can drop it again.
pub const BREAK: char = '\u{200b}';

/// Longer runs of letters and digits are encoded data (base64, hex dumps). A SHA-512 in hex has 128 characters.
const LONGEST_WORD: usize = 128;

/// Text as it is indexed and as queries are written: applied to both sides alike.
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

fn has_long_run(text: &str) -> bool {
    let mut run = 0;
    text.bytes().any(|b| {
        run = if b.is_ascii_alphanumeric() || b == b'+' || b == b'=' { run + 1 } else { 0 };
        run > LONGEST_WORD
    })
}

/// Scripts that put no spaces between words (Han, Kana, Thai, Lao, Khmer, Burmese), and Hangul, whose particles are
/// glued to their words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x2E80..=0x2FDF | 0x3005..=0x3007
        | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
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
    fn encoded_data_is_left_out_and_hashes_are_kept() {
        let blob = "QUJD".repeat(100);
        assert_eq!(fold(&format!("before {blob} after")), "before  after");
        let sha = "ab12".repeat(32);
        assert_eq!(fold(&sha), sha);
    }
}
