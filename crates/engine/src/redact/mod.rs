//! Credentials are taken out of text on every way out: prompt, MCP, files, UI and logs. What is kept stays as it was.
//! Storey 1.
//!
//! One pass. Three table look-ups per byte tell where a credential or the name of one may begin; only there a rule is
//! asked. The tables are constants, so text without a candidate costs no start and one walk. Rules look a bounded way
//! ahead and back or remember where they have been, so that no text makes the walk more than linear.
//!
//! Two kinds of rules: [`families`] know a credential by its own shape, [`assigned`] by the name it is given to
//! (`password = …`, `Authorization: …`). A name alone is not enough: the value has to look like a secret ([`value`]),
//! because `max_tokens: 4096`, `token: string` and `password=${PW}` are what conversations about programs consist of.
//!
//! Not found: a secret under an innocent name and without a shape of its own; passphrases of words with spaces; bare
//! words given to a token (`"token": "production"`); anything encoded once more (base64, hex, gzip); a credential broken
//! by a line end, except after a backslash. Knows nothing about where the text comes from or goes to.

mod assigned;
mod families;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::ops::Range;

pub use families::Kind;

/// How a replaced span begins. Such text is stepped over, so that redacting twice is redacting once.
const MARK: &str = "[redacted:";

/// A credential in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Bytes of the text, on character boundaries.
    pub range: Range<usize>,
    pub kind: Kind,
}

/// The text with credential spans replaced by `[redacted:KIND]`; borrowed when there was none.
pub fn redact(text: &str) -> Cow<'_, str> {
    replaced(text, |_, _| {})
}

/// The same, with the line breaks of what was replaced kept, so that every line stays in its place.
pub fn redact_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |out, secret| out.extend(secret.chars().filter(|c| *c == '\n')))
}

/// `keep` adds what is to stay of a span behind its mark.
fn replaced(text: &str, keep: impl Fn(&mut String, &str)) -> Cow<'_, str> {
    let spans = spans(text);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for Span { range, kind } in spans {
        out.push_str(&text[copied..range.start]);
        out.push_str(MARK);
        out.push_str(kind.name());
        out.push(']');
        keep(&mut out, &text[range.clone()]);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The spans that would be replaced, in order and not overlapping.
pub fn spans(text: &str) -> Vec<Span> {
    let mut scan =
        Scan { text, bytes: text.as_bytes(), found: Vec::new(), asked: 0, runs: Default::default(), oldest: 0 };
    let mut at = 0;
    while let Some((candidate, mask)) = families::next(scan.bytes, at) {
        at = scan.ask(candidate, mask).unwrap_or(candidate + 1);
    }
    scan.found
}

/// A text on its way through the rules.
struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    found: Vec<Span>,
    /// Where the rule was asked that is at work.
    asked: usize,
    /// The long runs of word characters measured last, so that each is measured once. A token has at most five parts.
    runs: [Range<usize>; 8],
    oldest: usize,
}

impl Scan<'_> {
    /// Asks the rules that may begin here. Where to go on, if one has found something.
    fn ask(&mut self, at: usize, mask: u64) -> Option<usize> {
        self.asked = at + 1;
        families::of(mask).find_map(|family| family.read(self, at))
    }

    /// A credential known by its own shape that begins here: what a value under a telling name really is.
    fn shape_at(&mut self, at: usize) -> Option<Span> {
        let mask = families::mask(self.bytes, at);
        families::of(mask).find_map(|family| family.shape(self, at)).or_else(|| families::telegram(self, at))
    }

    /// Takes a span, and before it those the rule has looked past: in `https://TOKEN:password@host` the user is one too.
    fn add(&mut self, range: Range<usize>, kind: Kind) -> Option<usize> {
        let mut at = self.found.last().map_or(0, |last| last.range.end).max(self.asked);
        while at < range.start
            && let Some((candidate, mask)) = families::next(&self.bytes[..range.start], at)
        {
            at = candidate + 1;
            let shape = families::of(mask).find_map(|family| family.shape(self, candidate));
            if let Some(span) = shape.filter(|span| span.range.end <= range.start) {
                at = span.range.end;
                self.found.push(span);
            }
        }
        let end = range.end;
        self.found.push(Span { range, kind });
        Some(end)
    }

    fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The byte before; where something was taken out before, the bracket that will stand there.
    fn before(&self, at: usize) -> u8 {
        if self.found.last().is_some_and(|last| last.range.end == at) {
            return b']';
        }
        at.checked_sub(1).map_or(0, |before| self.bytes[before])
    }

    fn starts(&self, at: usize, with: &str) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    /// The end of the run from here of bytes that are `fine`.
    fn run(&self, at: usize, fine: impl Fn(u8) -> bool) -> usize {
        at + self.bytes[at..].iter().take_while(|b| fine(**b)).count()
    }

    /// The end of the run of letters, digits, `_` and `-` from here. Dashes in a row are a rule or the frame of a key.
    fn word_end(&mut self, at: usize) -> usize {
        if let Some(known) = self.runs.iter().find(|run| run.contains(&at)) {
            return known.end;
        }
        let mut end = self.run(at, is_word);
        if let Some(dashes) = memchr::memmem::find(&self.bytes[at..end], b"---") {
            end = at + dashes;
        }
        if end - at > 64 {
            self.runs[self.oldest] = at..end;
            self.oldest = (self.oldest + 1) % self.runs.len();
        }
        end
    }

    /// Whether a credential may begin here: not in the middle of a word. The letter of an escape (`\n`, `\u001b`,
    /// `%3D`) and the end of a terminal colour are no part of the word they touch.
    fn free(&self, at: usize) -> bool {
        if !self.before(at).is_ascii_alphanumeric() {
            return true;
        }
        let head = &self.bytes[at.saturating_sub(16)..at];
        let hex = |n: usize| head.len() >= n && head[head.len() - n..].iter().all(u8::is_ascii_hexdigit);
        let before = |n: usize, what: &[u8]| head.len() >= n && head[..head.len() - n].ends_with(what);
        let colour = || {
            let rest = head.strip_suffix(b"m").or(head.strip_suffix(b"K"));
            rest.is_some_and(|rest| {
                let digits = rest.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
                rest[..rest.len() - digits].ends_with(b"[")
            })
        };
        (matches!(self.before(at), b'n' | b'r' | b't') && before(1, b"\\"))
            || (hex(2) && (before(2, b"%") || before(2, b"\\x")))
            || (hex(4) && before(4, b"\\u"))
            || colour()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
