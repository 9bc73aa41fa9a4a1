//! Searches stored bytes for words, literally and as programs quote them inside JSON, several levels deep. Pure.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::text::scripts::is_unspaced;

/// Most levels of quoting that are searched: JSON in a string of JSON in a string of JSON.
const LEVELS: usize = 3;

/// The texts to search for.
#[derive(Clone, Default, Debug)]
pub struct Words {
    exact: Vec<Finder<'static>>,
    /// Texts in the form of [`Fold`]; the searched text is then brought into this form, too.
    folded: Vec<String>,
    fold: Fold,
    /// Whether a text counts only where no letter or digit adjoins it.
    whole: bool,
}

/// Differences that do not count in a comparison.
#[derive(Clone, Copy, Default, Debug)]
struct Fold {
    /// Letters of either case are the same.
    case: bool,
    /// All white space of any length is the same, and so are the composed and the decomposed form of a letter ("ë" is one
    /// character or two). A person types a name one way, and programs wrote it another way.
    form: bool,
}

impl Words {
    /// Makes the search for texts as they were stored, byte by byte; without texts nothing matches.
    pub fn stored<'t>(texts: impl IntoIterator<Item = &'t str>) -> Words {
        let texts = texts.into_iter().filter(|t| !t.is_empty());
        Words { exact: texts.map(|t| Finder::new(t.as_bytes()).into_owned()).collect(), ..Words::default() }
    }

    /// Makes the search for words that a person gave; without texts nothing matches. `ignore_case`: matches letters of
    /// either case.
    pub fn given<'t>(texts: impl IntoIterator<Item = &'t str>, ignore_case: bool) -> Words {
        let fold = Fold { case: ignore_case, form: true };
        let mut words = Words { fold, ..Words::default() };
        for text in texts.into_iter().filter(|t| !t.trim().is_empty()) {
            // Text of which every form is the same is found much faster.
            if !ignore_case && text.bytes().all(|b| b.is_ascii_graphic()) {
                words.exact.push(Finder::new(text.as_bytes()).into_owned());
            } else {
                words.folded.push(folded(text.as_bytes(), fold, None));
            }
        }
        words
    }

    /// Makes the search for names that a person gave: `Bob` is not found in `Bobby`.
    pub fn names<'t>(names: impl IntoIterator<Item = &'t str>, ignore_case: bool) -> Words {
        Words { whole: true, ..Words::given(names, ignore_case) }
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
        let text = folded(bytes, self.fold, None);
        self.folded.iter().any(|word| self.found(word, &text).next().is_some())
    }

    /// Returns the ranges of a folded text that are this folded word.
    fn found(&self, word: &str, text: &str) -> impl Iterator<Item = Range<usize>> {
        let ranges = text.match_indices(word).map(|(at, word)| at..at + word.len());
        ranges.filter(|r| {
            // "Bronte" is not "Brontë", whose decomposed form begins with it.
            let goes_on = text[r.end..].chars().next().is_some_and(is_combining_mark);
            !goes_on && (!self.whole || is_whole(text.as_bytes(), r.start, r.end))
        })
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
        // If the words are still found, because stars made new ones, everything goes.
        match self.are_quoted_in(&masked) {
            true => std::iter::once(0..bytes.len()).collect(),
            false => all,
        }
    }

    /// Returns the ranges of bytes that contain the texts literally.
    pub(super) fn stretches(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let counts = |r: &Range<usize>, bytes: &[u8]| !self.whole || is_whole(bytes, r.start, r.end);
        let mut all: Vec<Range<usize>> = Vec::new();
        for finder in &self.exact {
            let found = finder.find_iter(bytes).map(|at| at..at + finder.needle().len());
            all.extend(found.filter(|r| counts(r, bytes)));
        }
        if !self.folded.is_empty() {
            let mut places = Vec::with_capacity(bytes.len());
            let text = folded(bytes, self.fold, Some(&mut places));
            for word in &self.folded {
                all.extend(self.found(word, &text).map(|r| places[r.start]..places[r.end]));
            }
        }
        all
    }
}

/// Returns the bytes as a text without the differences that do not count. `places` gets the position each of its bytes
/// comes from.
fn folded(bytes: &[u8], fold: Fold, mut places: Option<&mut Vec<usize>>) -> String {
    let (mut text, mut at) = (String::with_capacity(bytes.len()), 0);
    let mut place = |length: usize, at: usize| {
        if let Some(places) = places.as_deref_mut() {
            places.resize(length, at);
        }
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii() && !c.is_ascii_whitespace() {
                text.push(if fold.case { c.to_ascii_lowercase() } else { c });
            } else if fold.form && c.is_whitespace() {
                text.push_str(if text.ends_with(' ') { "" } else { " " });
            } else if fold.form {
                decompose_canonical(c, |part| lowered(&mut text, part, fold.case));
            } else {
                lowered(&mut text, c, fold.case);
            }
            place(text.len(), at);
            at += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            place(text.len(), at);
            at += chunk.invalid().len();
        }
    }
    place(text.len() + 1, bytes.len());
    text
}

/// Appends a character, in lower case if case does not count.
fn lowered(text: &mut String, c: char, ignore_case: bool) {
    match c {
        // The small sigma at the end of a word has another form.
        'ς' if ignore_case => text.push('σ'),
        c if ignore_case => text.extend(c.to_lowercase()),
        c => text.push(c),
    }
}

/// Whether a stretch is a whole word: no letter or digit adjoins it, unless its script writes words without spaces.
fn is_whole(bytes: &[u8], start: usize, end: usize) -> bool {
    let letter = |c: char| (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c);
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
    fn words_are_found_in_every_form_of_their_letters_and_blanks() {
        let (composed, decomposed) = ("Zo\u{eb} Bront\u{eb}", "Zoe\u{308} Bronte\u{308}");
        for name in [composed, decomposed] {
            let words = [Words::given([name], false), Words::given([name], true), Words::names([name], false)];
            for (words, said) in words.iter().flat_map(|words| {
                [
                    composed,
                    decomposed,
                    "Zo\u{eb}\nBronte\u{308}",
                    "ask Zo\u{eb} \u{a0} Bront\u{eb}.",
                    "Zoe\u{308}\\n\\tBront\\u00eb",
                ]
                .map(|said| (words, said))
            }) {
                assert!(words.are_quoted_in(said.as_bytes()), "{name:?} in {said:?}");
                let mut masked = said.as_bytes().to_vec();
                words.quoted_stretches(said.as_bytes()).into_iter().for_each(|r| masked[r].fill(b'*'));
                let left = String::from_utf8(masked).unwrap();
                assert!(!left.contains(['Z', 'B']) && left.starts_with("ask ") == said.starts_with("ask "), "{left}");
            }
            for other in ["Zo\u{eb}Bront\u{eb}", "Zoe Bronte", "zo\u{e9} bront\u{eb}"] {
                assert!(!words[1].are_quoted_in(other.as_bytes()), "{name:?} in {other:?}");
            }
        }
        assert!(!Words::given(["bronte"], true).are_in(decomposed.as_bytes()));
    }

    #[test]
    fn words_are_found_however_they_are_quoted() {
        let text = "the \"pass\" is\nhünter/2 🐎";
        let words = Words::stored([text]);
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
        assert!(Words::given([text], true).are_quoted_in(text.to_uppercase().as_bytes()));
        assert!(
            !Words::stored([""]).are_quoted_in(b"anything") && !Words::given([" "], true).are_quoted_in(b"any thing")
        );
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
                let words = Words::given([text.as_str()], ignore_case);
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
        let sigma = Words::given(["ΟΔΟΣ"], true);
        let bytes = "η ΟΔΟΣ, η οδος".as_bytes();
        assert_eq!(sigma.quoted_stretches(bytes).len(), 2);
    }
}
