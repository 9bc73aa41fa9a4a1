//! Estimates a text's length in tokens: one estimate, used everywhere (R10.4). Storey 0.

/// Returns the estimated tokens of a text: one for four bytes, and one for each character of a script written without
/// spaces.
pub fn tokens(text: &str) -> usize {
    let (mut bytes, mut wide) = (0usize, 0usize);
    if text.is_ascii() {
        return text.len().div_ceil(4);
    }
    for c in text.chars() {
        if matches!(c as u32, 0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF) {
            wide += 1;
        } else {
            bytes += c.len_utf8();
        }
    }
    bytes.div_ceil(4) + wide
}

/// Returns the beginning of a text, at most `most` tokens long, cut after a word if possible, with `…` if something is
/// left out.
pub fn cut(text: &str, most: usize) -> String {
    if tokens(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    // The ellipsis has three bytes, which are one token.
    let room = most - 1;
    let (mut bytes, mut wide, mut end, mut word) = (0usize, 0usize, 0usize, 0usize);
    for (at, c) in text.char_indices() {
        if matches!(c as u32, 0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF) {
            wide += 1;
        } else {
            bytes += c.len_utf8();
        }
        if bytes.div_ceil(4) + wide > room {
            break;
        }
        if c.is_whitespace() {
            word = at;
        }
        end = at + c.len_utf8();
    }
    let end = if word > end / 2 { word } else { end };
    format!("{}…", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_cuts() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("abcde"), 2);
        assert_eq!(tokens("日本語"), 3);
        for text in ["one two three four five six seven", "日本語の文章です", "ααααααααααααααααα", "x"]
        {
            for most in 0..12 {
                let short = cut(text, most);
                assert!(tokens(&short) <= most, "{text:?} {most} {short:?}");
            }
        }
        assert_eq!(cut("one two three", 3), "one two…");
    }
}
