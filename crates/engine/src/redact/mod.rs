//! Redacts credentials from text wherever it leaves the engine: prompt, MCP, files, UI and logs. Stored text is not
//! changed. Storey 1.
//!
//! The text is scanned once. Three table look-ups per byte tell where a credential or the name of one may begin; rules
//! run only there. The tables are constants, so there is no start-up cost. Rules look a bounded distance ahead and
//! back, or remember where they have been, so that the scan is linear for every text.
//!
//! There are four kinds of rules: [`families`] recognise a credential by its own shape, most of them as data in
//! [`rules`]; [`assigned`] by the name it is assigned to (`password = …`, `Authorization: …`); [`commands`] by the
//! option of a command (`mysql -p…`); [`spoken`] by a sentence that tells it (`my password is …`). A name alone is not
//! enough: the value must look like a secret ([`value`]), because `max_tokens: 4096`, `token: string` and
//! `password=${PW}` are common in conversations about programs.
//!
//! These are not found: a secret under an innocent name and without a shape of its own; passphrases of words with
//! spaces, except in `my password is …`; plain words given to a token (`"token": "production"`); anything encoded once
//! more (base64, hex, gzip); a credential broken by a line end, except after a backslash.

mod assigned;
mod commands;
mod families;
mod rules;
mod spoken;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

pub use families::Kind;

/// Beginning of a replacement. Text that begins like this is skipped, so that redaction is idempotent.
const MARK: &str = "[redacted:";

/// The position of a credential in a text, and its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Byte range in the text, on character boundaries.
    pub range: Range<usize>,
    pub kind: Kind,
}

/// Returns the text with credential spans replaced by `[redacted:KIND]`; borrowed if it has none.
pub fn redact(text: &str) -> Cow<'_, str> {
    replaced(text, |_, _| {})
}

/// Redacts like [`redact`], but keeps line breaks inside a credential, so that line numbers do not change.
pub fn redact_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |out, secret| out.extend(secret.chars().filter(|c| *c == '\n')))
}

/// Redacts a text like [`redact_lines`] if it may contain a private key. Readers that take single lines or sentences out of
/// a text call this first, because a line from the middle of a key does not show what it is.
pub fn without_private_keys(text: &str) -> Cow<'_, str> {
    match memchr::memmem::find(text.as_bytes(), b"-----BEGIN ") {
        Some(_) => redact_lines(text),
        None => Cow::Borrowed(text),
    }
}

/// Serialises a text without its credentials.
pub fn as_redacted<S: serde::Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&redact(text))
}

/// Serialises like [`as_redacted`], for a text that may be missing.
pub fn as_redacted_or_null<S: serde::Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&text.as_deref().map(redact), to)
}

/// Serialises a value without the credentials in its texts.
pub fn as_redacted_value<T: serde::Serialize, S: serde::Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    let value = serde_json::to_value(value).map_err(serde::ser::Error::custom)?;
    serde::Serialize::serialize(&redacted(value), to)
}

/// Returns a value without the credentials in its texts.
pub fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(redacted).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(key, value)| (key, redacted(value))).collect()),
        other => other,
    }
}

/// Replaces the credentials of a text. `keep` appends the part of a credential that is kept after its mark.
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

/// Returns the spans that would be replaced, in order and not overlapping.
pub fn spans(text: &str) -> Vec<Span> {
    let mut scan =
        Scan { text, bytes: text.as_bytes(), found: Vec::new(), rule_start: 0, runs: Default::default(), oldest: 0 };
    let mut at = 0;
    while let Some((candidate, mask)) = families::next(scan.bytes, at) {
        at = scan.run_rules(candidate, mask).unwrap_or(candidate + 1);
    }
    scan.found
}

/// The state of one scan.
struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    found: Vec<Span>,
    /// One byte after the position at which the running rule was started.
    rule_start: usize,
    /// The runs of word characters measured most recently, so that each long run is measured once. A token has at most
    /// five parts.
    runs: [Range<usize>; 8],
    oldest: usize,
}

impl Scan<'_> {
    /// Runs the rules that may begin here. Returns where to continue, if one found something.
    fn run_rules(&mut self, at: usize, mask: u128) -> Option<usize> {
        self.rule_start = at + 1;
        families::of(mask).find_map(|family| family.read(self, at))
    }

    /// Returns a credential recognised by shape that begins here. It determines the kind of a value whose name
    /// announces a secret.
    fn shape_at(&mut self, at: usize) -> Option<Span> {
        let mask = families::mask(self.bytes, at);
        families::of(mask)
            .find_map(|family| family.shape(self, at))
            .or_else(|| families::telegram(self, at))
            .or_else(|| families::terraform(self, at))
            .or_else(|| families::mailchimp(self, at))
            .or_else(|| families::azure(self, at))
    }

    /// Adds a span, and before it the credentials the rule skipped: in `https://TOKEN:password@host` the user is a
    /// credential, too.
    fn add(&mut self, range: Range<usize>, kind: Kind) -> Option<usize> {
        let mut at = self.found.last().map_or(0, |last| last.range.end).max(self.rule_start);
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

    /// Returns the byte before `at`; after a redacted span, the bracket that ends its replacement.
    fn before(&self, at: usize) -> u8 {
        if self.found.last().is_some_and(|last| last.range.end == at) {
            return b']';
        }
        at.checked_sub(1).map_or(0, |before| self.bytes[before])
    }

    fn starts(&self, at: usize, with: &str) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    /// Returns the end of the run of bytes from here that satisfy `fine`.
    fn run(&self, at: usize, fine: impl Fn(u8) -> bool) -> usize {
        at + self.bytes[at..].iter().take_while(|b| fine(**b)).count()
    }

    /// Returns the end of the run of letters, digits, `_` and `-` from here. Three dashes end it: they are a horizontal
    /// rule or the frame of a key.
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
    /// `%3D`) and the end of a terminal colour do not count as part of the word after them.
    fn may_begin(&self, at: usize) -> bool {
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
