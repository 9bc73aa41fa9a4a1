//! Makes one plain line of a text.

use std::borrow::Cow;

/// Returns the text as one line for people: white space collapsed, emphasis and terminal controls removed.
pub fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let odd = |b: &u8| !matches!(b, b' '..=b'~') || *b == b'*';
    if !bytes.iter().any(odd) && !bytes.windows(2).any(|w| w == b"  ") {
        return text.trim_matches(' ').to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut code, mut starred, mut before) = (false, false, ' ');
    while let Some(c) = chars.next() {
        let c = if c.is_whitespace() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') { ' ' } else { c };
        if acts(c) || c == ' ' && (out.is_empty() || before == ' ') {
            continue;
        }
        if c == '`' {
            code = !code;
        }
        if c == '*' && !code {
            let after = chars.peek().copied().unwrap_or(' ');
            if after == '*' {
                chars.next();
                continue;
            }
            // Emphasis opens before a letter and closes after one; `*.rs` and `2 * 3` have no emphasis.
            let opens = !starred && after.is_alphanumeric() && !before.is_alphanumeric() && before != '/';
            if opens || starred && before != ' ' && !after.is_alphanumeric() {
                starred = !starred;
                continue;
            }
        }
        out.push(c);
        before = c;
    }
    out.truncate(out.trim_end().len());
    out
}

/// Whether a character is a control, changes the direction of text, or is invisible.
pub fn acts(c: char) -> bool {
    c != ' ' && c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{ad}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Cuts a text to at most `most` bytes, at a word, with an ellipsis if text was removed.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(most.saturating_sub('…'.len_utf8()))];
    let whole = if text[head.len()..].starts_with(' ') { head } else { head.rsplit_once(' ').map_or(head, |(h, _)| h) };
    // A text without spaces is cut anywhere.
    let whole = if whole.len() * 2 < head.len() { head } else { whole };
    format!("{}…", whole.trim_end_matches([' ', ',', ';', ':', '(', '`']))
}

/// Returns the end of a text, at a clause if one begins there: a person who thinks aloud asks at the end.
pub fn cut_front(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let tail = &text[text.ceil_char_boundary(text.len() - most)..];
    let clause = tail.rsplit_once([',', ';', '.', '，']).map(|(_, rest)| rest.trim_start());
    let rest = clause.filter(|rest| rest.len() >= most / 5).or_else(|| Some(tail.split_once(' ')?.1)).unwrap_or(tail);
    Cow::Owned(format!("… {rest}"))
}

/// Returns a text in lower case with straight apostrophes: the form in which words are looked up.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.to_lowercase().replace(['’', '‘', 'ʼ'], "'")
}

/// Returns the whole text, or both ends of one longer than `most` bytes, cut at line breaks if there are any.
pub fn ends(text: &str, most: usize) -> Vec<&str> {
    if text.len() <= most {
        return vec![text];
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    let head = text[..head].rsplit_once('\n').map_or(&text[..head], |(whole, _)| whole);
    let tail = text[tail..].split_once('\n').map_or(&text[tail..], |(_, whole)| whole);
    vec![head, tail]
}
