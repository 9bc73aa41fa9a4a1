//! Searches stored bytes for words, literally and as programs quote them inside JSON, several levels deep. Pure.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::text::scripts::is_unspaced;

/// Most levels of quoting that are searched: JSON in a string of JSON in a string of JSON.
const LEVELS: usize = 3;

/// The texts to search for.
pub struct Words {
    exact: Vec<Finder<'static>>,
    /// Texts in lower case; the searched text is then folded to lower case, too.
    folded: Vec<String>,
    /// Whether a text counts only where no letter or digit adjoins it.
    whole: bool,
}

impl Words {
    /// Makes the search; without texts nothing matches. `ignore_case`: matches letters of either case.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>, ignore_case: bool) -> Words {
        let texts = texts.into_iter().filter(|t| !t.is_empty());
        let mut words = Words { exact: Vec::new(), folded: Vec::new(), whole: false };
        match ignore_case {
            true => words.folded = texts.map(str::to_lowercase).collect(),
            false => words.exact = texts.map(|t| Finder::new(t.as_bytes()).into_owned()).collect(),
        }
        words
    }

    /// Makes the search for names: `Bob` is not found in `Bobby`.
    pub fn names<'t>(names: impl IntoIterator<Item = &'t str>, ignore_case: bool) -> Words {
        Words { whole: true, ..Words::new(names, ignore_case) }
    }

    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.folded.is_empty()
    }

    /// Whether bytes contain one of the texts literally.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        let counts = |at: usize, length: usize, bytes: &[u8]| !self.whole || is_whole(bytes, at, at + length);
        if self.exact.iter().any(|f| f.find_iter(bytes).any(|at| counts(at, f.needle().len(), bytes))) {
            return true;
        }
        if self.folded.is_empty() {
            return false;
        }
        let folded = String::from_utf8_lossy(bytes).to_lowercase();
        self.folded
            .iter()
            .any(|t| folded.match_indices(t.as_str()).any(|(at, t)| counts(at, t.len(), folded.as_bytes())))
    }

    /// Whether bytes contain one of the texts, literally or as a JSON string (`\n`, `\"`, `\u00e9`), also nested.
    pub fn are_quoted_in(&self, bytes: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut bytes = Cow::Borrowed(bytes);
        for _ in 0..=LEVELS {
            if self.are_in(&bytes) {
                return true;
            }
            if memchr::memchr(b'\\', &bytes).is_none() {
                return false;
            }
            bytes = Cow::Owned(unquoted(&bytes, &mut |_, _, _| {}));
        }
        false
    }

    /// Returns the ranges of the bytes that contain the texts as [`Words::are_quoted_in`] finds them: once they are
    /// overwritten, it finds nothing there.
    pub fn quoted_stretches(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        let mut text = bytes.to_vec();
        // Where each byte of the text stands in the bytes, and where they end.
        let mut places: Vec<usize> = (0..=bytes.len()).collect();
        for _ in 0..=LEVELS {
            all.extend(self.stretches(&text).into_iter().map(|r| places[r.start]..places[r.end]));
            if memchr::memchr(b'\\', &text).is_none() {
                break;
            }
            let mut next = Vec::with_capacity(places.len());
            text = unquoted(&text, &mut |from, length, plain| {
                next.extend((0..length).map(|i| places[if plain { from + i } else { from }]));
            });
            next.push(bytes.len());
            places = next;
        }
        let mut masked = bytes.to_vec();
        all.iter().for_each(|r| masked[r.clone()].fill(b'*'));
        // Lower case can depend on what stands around a letter: then everything goes.
        match self.are_quoted_in(&masked) {
            true => std::iter::once(0..bytes.len()).collect(),
            false => all,
        }
    }

    /// Returns the ranges of bytes that contain the texts literally.
    fn stretches(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let counts = |r: &Range<usize>, bytes: &[u8]| !self.whole || is_whole(bytes, r.start, r.end);
        let mut all: Vec<Range<usize>> = Vec::new();
        for finder in &self.exact {
            let found = finder.find_iter(bytes).map(|at| at..at + finder.needle().len());
            all.extend(found.filter(|r| counts(r, bytes)));
        }
        if !self.folded.is_empty() {
            let (folded, places) = folded(bytes);
            for text in &self.folded {
                let found = folded.match_indices(text.as_str()).map(|(at, text)| at..at + text.len());
                all.extend(found.filter(|r| counts(r, folded.as_bytes())).map(|r| places[r.start]..places[r.end]));
            }
        }
        all
    }
}

/// Returns the bytes as a text in lower case, and where each of its bytes comes from.
fn folded(bytes: &[u8]) -> (String, Vec<usize>) {
    let (mut text, mut places, mut at) = (String::with_capacity(bytes.len()), Vec::with_capacity(bytes.len()), 0);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            text.extend(c.to_lowercase());
            places.resize(text.len(), at);
            at += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            places.resize(text.len(), at);
            at += chunk.invalid().len();
        }
    }
    places.push(bytes.len());
    (text, places)
}

/// Whether a stretch is a whole word: no letter or digit adjoins it, unless its script writes words without spaces.
pub(super) fn is_whole(bytes: &[u8], start: usize, end: usize) -> bool {
    let letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let ends_with_letter = |bytes: &[u8]| last_char(bytes).is_some_and(letter);
    let begins_with_letter = |bytes: &[u8]| first_char(bytes).is_some_and(letter);
    let (inside, before, behind) = (&bytes[start..end], &bytes[..start], &bytes[end..]);
    !(begins_with_letter(inside) && ends_with_letter(before) || ends_with_letter(inside) && begins_with_letter(behind))
}

fn first_char(bytes: &[u8]) -> Option<char> {
    bytes[..bytes.len().min(4)].utf8_chunks().next()?.valid().chars().next()
}

fn last_char(bytes: &[u8]) -> Option<char> {
    let near = &bytes[bytes.len().saturating_sub(4)..];
    let last = near.utf8_chunks().last()?;
    last.valid().chars().next_back().filter(|_| last.invalid().is_empty())
}

/// Returns the bytes with JSON escapes resolved; other bytes stay. `piece` is told for each piece of the result where it
/// comes from, its length, and whether it was copied byte for byte.
fn unquoted(bytes: &[u8], piece: &mut impl FnMut(usize, usize, bool)) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        piece(bytes.len() - rest.len(), at, true);
        rest = &rest[at..];
        let before = out.len();
        let plain = |b: u8, out: &mut Vec<u8>| {
            out.push(b);
            2
        };
        let taken = match rest.get(1) {
            Some(b @ (b'"' | b'\\' | b'/')) => plain(*b, &mut out),
            Some(b'n') => plain(b'\n', &mut out),
            Some(b't') => plain(b'\t', &mut out),
            Some(b'r') => plain(b'\r', &mut out),
            Some(b'b') => plain(8, &mut out),
            Some(b'f') => plain(12, &mut out),
            Some(b'u') => character(rest, &mut out),
            _ => plain_backslash(&mut out),
        };
        piece(bytes.len() - rest.len(), out.len() - before, false);
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest);
    piece(bytes.len() - rest.len(), rest.len(), true);
    out
}

fn plain_backslash(out: &mut Vec<u8>) -> usize {
    out.push(b'\\');
    1
}

/// Decodes `\u00e9`, or a surrogate pair; returns the number of bytes read.
fn character(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let unit = |at: usize| -> Option<u16> {
        let hex = bytes.get(at..at + 6).filter(|h| h.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&hex[2..]).ok()?, 16).ok()
    };
    let Some(first) = unit(0) else { return plain_backslash(out) };
    let second = unit(6).filter(|_| (0xd800..0xdc00).contains(&first));
    let units: Vec<u16> = std::iter::once(first).chain(second).collect();
    match char::decode_utf16(units.iter().copied()).next() {
        Some(Ok(c)) => {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            c.len_utf16() * 6
        }
        _ => plain_backslash(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole_word() {
        let names = Words::names(["Roof", "/srv/barn", "田中"], false);
        for said in
            ["Roof", "the Roof.", "\"Roof's\"", "topic/Roof", "a\\nRoof", "a/srv/barn/x", "私は田中です", "é Roof ü"]
        {
            assert!(names.are_quoted_in(said.as_bytes()), "{said}");
        }
        for said in ["Roofer", "my Roofs", "dRoof", "Roof2", "éRoof", "Roofü", "/srv/barns", "roof"] {
            assert!(!names.are_quoted_in(said.as_bytes()), "{said}");
        }
        assert!(Words::names(["roof"], true).are_in(b"Roofer of the ROOF"));
        assert!(!Words::names(["roof"], true).are_in("Roofer ÉROOF".as_bytes()));
    }

    #[test]
    fn words_are_found_however_they_are_quoted() {
        let text = "the \"pass\" is\nhünter/2 🐎";
        let words = Words::new([text], false);
        let once = serde_json::to_string(text).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let thrice = serde_json::to_string(&twice).unwrap();
        let ascii = once.replace('ü', "\\u00fc").replace('🐎', "\\uD83D\\ude0e").replace('/', "\\/");
        for quoted in [text, &once, &twice, &thrice] {
            assert!(words.are_quoted_in(format!("{{\"x\":{quoted}}}").as_bytes()), "{quoted}");
        }
        assert!(!words.are_quoted_in(ascii.as_bytes()), "another character");
        assert!(words.are_quoted_in(ascii.replace("\\ude0e", "\\uDC0E").as_bytes()));
        assert!(!words.are_quoted_in(text.to_uppercase().as_bytes()));
        assert!(Words::new([text], true).are_quoted_in(text.to_uppercase().as_bytes()));
        assert!(!Words::new([""], false).are_quoted_in(b"anything"));
        for broken in ["\\", "\\u", "\\u12", "\\uD83Dx", "\\x", "\\uD83D\\u0041"] {
            assert_eq!(
                unquoted(broken.as_bytes(), &mut |_, _, _| {}),
                broken.replace("\\u0041", "A").as_bytes(),
                "{broken}"
            );
        }
    }

    #[test]
    fn stretches_cover_the_words_however_they_are_quoted_and_nothing_else() {
        let text = "the \"pass\" is\nhünter/2 🐎";
        let once = serde_json::to_string(text).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let thrice = serde_json::to_string(&twice).unwrap();
        let escaped = once.replace('ü', "\\u00fc").replace('🐎', "\\uD83D\\uDC0E");
        for quoted in [text, &once, &twice, &thrice, &escaped] {
            let inner = quoted.trim_matches(['"', '\\']);
            for (text, ignore_case) in [(text.to_owned(), false), (text.to_uppercase(), true)] {
                let words = Words::new([text.as_str()], ignore_case);
                let (before, behind) = (b"{\"\xffx\\n\":".as_slice(), b", \"y\": \"z\"}".as_slice());
                let bytes = [before, quoted.as_bytes(), behind].concat();
                let mut masked = bytes.clone();
                words.quoted_stretches(&bytes).into_iter().for_each(|r| masked[r].fill(b'*'));
                assert!(!words.are_quoted_in(&masked));
                let stars = "*".repeat(inner.len());
                let expected = [before, quoted.replace(inner, &stars).as_bytes(), behind].concat();
                assert_eq!(String::from_utf8_lossy(&masked), String::from_utf8_lossy(&expected), "{quoted}");
            }
        }
        assert!(Words::names(["roof"], true).quoted_stretches(b"roofer, dRoof").is_empty());
        let found = Words::names(["roof"], true).quoted_stretches(b"a roofer's\\nRoof");
        assert_eq!(found.first(), Some(&(12..16)));
        // A capital sigma becomes another letter at the end of a word.
        let sigma = Words::new(["ΟΔΟΣ"], true);
        let bytes = "η ΟΔΟΣ".as_bytes();
        assert!(sigma.are_quoted_in(bytes));
        assert_eq!(sigma.quoted_stretches(bytes).first(), Some(&(0..bytes.len())));
    }
}
