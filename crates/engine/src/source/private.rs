//! Removes text that a person marked private, before anything is stored (R14.2, D6): of `<private>…</private>` the
//! ledger gets the tags, and a `*` for each byte between them.
//!
//! A record keeps its length this way, so cursors still count the bytes of the program's file; and masking the same
//! bytes again gives the same result, so a file can be compared in masked form with its stored records. Of the text
//! between the tags, stored data shows only the length.
//!
//! Anything that may be meant as a span counts as one: tags are recognised in either case, with attributes, escaped for
//! JSON any number of times (`\u003cprivate\u003e`, `<\u0070rivate>`) or for HTML, in every text of a record. Spans nest. An opening tag
//! without its closing tag reaches to the end of the message, over all records with parts of that message; a closing
//! tag without its opening tag reaches back to the beginning of its text, which may have been cut. The one exception: a
//! tag that stands alone between two backticks is only mentioned and neither opens nor closes a span.

use std::borrow::Cow;

use crate::event::{Cell, Decoded, NewTurn, Row};
use crate::source::file::MAX_LINE;

/// Byte that replaces each private byte.
const STAR: u8 = b'*';

/// Number of stars that replace a span in the text of a turn.
const STARS: usize = 3;

/// Most bytes that the attributes of a tag may have.
const MOST_ATTRIBUTES: usize = 100;

/// Deepest nesting of a JSON record whose member names are followed; texts below it count as having no name.
const DEEPEST: usize = 512;

/// Member names under which programs store words. A span that is still open at the end of such a text goes on in the
/// next such text.
const NAMES_OF_WORDS: &[&[u8]] = &[
    b"text",
    b"content",
    b"thinking",
    b"reasoning",
    b"delta",
    b"output",
    b"input",
    b"message",
    b"prompt",
    b"arguments",
    b"result",
    b"stdout",
    b"stderr",
    b"summary",
    b"response",
    b"answer",
    b"body",
];

/// The message a record belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// The record alone is no message: a header, a piece of a stream.
    None,
    /// The record is a whole message, or a part that cannot be assigned to one.
    Whole,
    /// The record is part of the message with this id.
    Part(String),
}

impl Message {
    /// Returns the message of a decoded record.
    pub fn of(decoded: &Decoded) -> Message {
        let Some(turn) = decoded.turns.first() else { return Message::None };
        let NewTurn { role, kind, message, call, .. } = turn;
        match message.as_ref().or(call.as_ref()) {
            Some(id) => Message::Part(format!("{role:?} {kind:?} {id}")),
            None => Message::Whole,
        }
    }
}

/// Masks the records of one stream in their order.
#[derive(Clone, Debug, Default)]
pub struct Masker {
    /// Number of opening tags whose closing tags have not come yet.
    depth: usize,
    /// Member name of the text that contains the first of these opening tags.
    name: Vec<u8>,
    /// Beginning of a tag that was cut at the end of a text.
    cut: Vec<u8>,
    message: Option<Message>,
    /// Whether the record before this one ended inside a line too long to be decoded.
    mid_line: bool,
    spans: u64,
}

/// Position of a text in a record.
struct Text {
    start: usize,
    end: usize,
    name: (u32, u32),
    is_name: bool,
}

impl Masker {
    /// Returns the number of spans masked so far.
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// Masks a record of a file (a line with its newline, or a piece of a longer line), a hook's payload or a canonical
    /// row. `message`: returns the message the record belongs to; called only if that matters.
    pub fn record<'b>(&mut self, bytes: &'b [u8], message: impl FnOnce(&[u8]) -> Message) -> Cow<'b, [u8]> {
        let ends = bytes.last() == Some(&b'\n');
        let was_long = self.mid_line;
        self.mid_line = !ends && (was_long || bytes.len() >= MAX_LINE);
        let is_long = was_long || self.mid_line || bytes.len() > MAX_LINE;
        if !is_long && !self.is_open() && !may_have_tags(bytes) {
            return Cow::Borrowed(bytes);
        }
        let mut out = bytes.to_vec();
        let content = bytes.len() - usize::from(ends);
        if is_long {
            // Such a line is not decoded, so it can be masked as a single text.
            self.text(&mut out, &Text { start: 0, end: content, name: (0, 0), is_name: false }, true);
            if ends {
                self.close();
            }
        } else {
            self.begin(message(&bytes[..content]));
            for text in texts(&bytes[..content]) {
                self.text(&mut out, &text, false);
            }
        }
        if out == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(out) }
    }

    /// Masks the texts of a row. Returns whether the row changed.
    pub fn row(&mut self, row: &mut Row) -> bool {
        let matters = |cell: &Cell| match cell {
            Cell::Text(text) => may_have_tags(text.as_bytes()),
            Cell::RawText(bytes) | Cell::Blob(bytes) => may_have_tags(bytes),
            _ => false,
        };
        if !self.is_open() && !row.columns.iter().any(|(_, cell)| matters(cell)) {
            return false;
        }
        self.begin(match row.text("message_id") {
            Some(id) => Message::Part(format!("{} {id}", row.table)),
            None => Message::Whole,
        });
        let mut changed = false;
        for (_, cell) in &mut row.columns {
            let bytes = match cell {
                Cell::Text(text) => text.as_bytes(),
                Cell::RawText(bytes) | Cell::Blob(bytes) => bytes.as_slice(),
                _ => continue,
            };
            let mut out = bytes.to_vec();
            for text in texts(bytes) {
                self.text(&mut out, &text, false);
            }
            if out == bytes {
                continue;
            }
            changed = true;
            *cell = match (&*cell, String::from_utf8(out)) {
                (Cell::Text(_), Ok(text)) => Cell::Text(text),
                (Cell::Blob(_), Ok(text)) => Cell::Blob(text.into_bytes()),
                (Cell::Blob(_), Err(e)) => Cell::Blob(e.into_bytes()),
                (_, Ok(text)) => Cell::RawText(text.into_bytes()),
                (_, Err(e)) => Cell::RawText(e.into_bytes()),
            };
        }
        changed
    }

    fn is_open(&self) -> bool {
        self.depth > 0 || !self.cut.is_empty()
    }

    fn close(&mut self) {
        self.depth = 0;
        self.cut.clear();
    }

    /// Prepares for a record of this message: an open span of another message ends here.
    fn begin(&mut self, message: Message) {
        let goes_on = match (&self.message, &message) {
            (Some(Message::Part(a)), Message::Part(b)) => a == b,
            (Some(Message::Part(_) | Message::None), Message::None) => true,
            _ => false,
        };
        if !goes_on {
            self.close();
            self.message = Some(message);
        } else if message != Message::None {
            self.message = Some(message);
        }
    }

    /// Masks one text of a record in `out`. `joined`: the text continues the one before it.
    fn text(&mut self, out: &mut [u8], text: &Text, joined: bool) {
        let name = out[text.name.0 as usize..text.name.1 as usize].to_vec();
        let bytes = out[text.start..text.end].to_vec();
        let joined = joined
            || (!text.is_name && self.is_open() && (name == self.name || NAMES_OF_WORDS.contains(&name.as_slice())));
        let mut tags = tags(&bytes);
        if joined && !self.cut.is_empty() {
            let cut = [std::mem::take(&mut self.cut), bytes.clone()].concat();
            match tag_at(&cut, 0) {
                Found::Tag(Tag { end, closes, .. }) => {
                    tags.insert(0, Tag { start: 0, end: end - (cut.len() - bytes.len()), closes });
                }
                // The whole text is a further part of the cut tag.
                Found::Cut => {
                    if self.depth > 0 {
                        self.mask(&mut out[text.start..text.end]);
                    }
                    self.cut = cut;
                    return;
                }
                Found::Nothing => {}
            }
        }
        // A text under another member name is not part of the span, unless the span ends in it.
        if self.depth > 0 && !joined && !matches!(tags.first(), Some(Tag { closes: true, .. })) {
            if tags.is_empty() {
                return;
            }
            self.depth = 0;
        }
        let (mut from, mut last) = (0, 0);
        for tag in &tags {
            if tag.closes && self.depth <= 1 {
                self.mask(&mut out[text.start + if self.depth == 0 { last } else { from }..text.start + tag.start]);
                self.depth = 0;
                last = tag.end;
            } else if tag.closes {
                self.depth -= 1;
            } else {
                if self.depth == 0 {
                    from = tag.end;
                    self.name.clone_from(&name);
                }
                self.depth += 1;
            }
        }
        if self.depth > 0 {
            self.mask(&mut out[text.start + from..text.end]);
            if text.is_name {
                self.depth = 0;
            }
        }
        if !text.is_name
            && let Some(at) = cut_at(&bytes)
        {
            self.cut = bytes[at..].to_vec();
            if self.depth == 0 {
                self.name = name;
            }
        }
    }

    fn mask(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            bytes.fill(STAR);
            self.spans += 1;
        }
    }
}

/// Masks a payload of a hook, or another record that is a message of its own.
pub fn mask_record(bytes: &[u8]) -> Cow<'_, [u8]> {
    Masker::default().record(bytes, |_| Message::Whole)
}

/// Masks a text and shortens its spans, as turns are stored.
pub fn mask_text(text: &str) -> Cow<'_, str> {
    if !may_have_tags(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out = text.as_bytes().to_vec();
    let whole = Text { start: 0, end: out.len(), name: (0, 0), is_name: false };
    Masker::default().text(&mut out, &whole, true);
    let masked = String::from_utf8(out).unwrap_or_default();
    Cow::Owned(shorten(&masked).into_owned())
}

/// Replaces each masked span of a text by three stars, whatever its length.
pub fn shorten(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !may_have_tags(bytes) || !bytes.windows(STARS + 1).any(|run| run.iter().all(|b| *b == STAR)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut copied) = (String::new(), 0);
    for tag in tags(bytes) {
        // Finds the stars after an opening tag, or before a closing one.
        let (start, end) = match tag.closes {
            false => (tag.end, tag.end + bytes[tag.end..].iter().take_while(|b| **b == STAR).count()),
            true => (tag.start - bytes[..tag.start].iter().rev().take_while(|b| **b == STAR).count(), tag.start),
        };
        if end > start + STARS && start >= copied {
            out.push_str(&text[copied..start + STARS]);
            copied = end;
        }
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Shortens the texts of a decoded record.
pub fn shorten_all(decoded: &mut Decoded) {
    for turn in &mut decoded.turns {
        if let Cow::Owned(text) = shorten(&turn.text) {
            turn.text = text;
        }
    }
}

/// Whether there may be a tag, or the beginning of one at the end of a text. It never misses a tag but may see one
/// where there is none. It is fast because all records of an import pass through it, and almost none has a tag.
fn may_have_tags(bytes: &[u8]) -> bool {
    let begins = |at: usize| {
        let rest = bytes[at..].iter().skip_while(|b| b.is_ascii_whitespace() || **b == b'/');
        let same = rest.clone().zip(b"private").take_while(|(b, p)| b.to_ascii_lowercase() == **p).count();
        // A backslash may begin an escaped letter of the tag.
        same == 7 || rest.clone().nth(same).is_none_or(|b| matches!(*b, b'"' | b'\\'))
    };
    memchr::memchr_iter(b'<', bytes).any(|at| begins(at + 1))
        || ["u003c", "u003C", "&lt;", "&#60;", "&#x3c;", "&#x3C;"]
            .iter()
            .any(|sign| memchr::memmem::find_iter(bytes, sign).any(|at| begins(at + sign.len())))
}

/// A tag, as a range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tag {
    start: usize,
    end: usize,
    closes: bool,
}

enum Found {
    Tag(Tag),
    /// The text ends before it is clear whether this is a tag.
    Cut,
    Nothing,
}

/// Returns the tags of a text, without those that are only mentioned.
fn tags(bytes: &[u8]) -> Vec<Tag> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(found) = memchr::memchr3(b'<', b'\\', b'&', &bytes[at..]) {
        at += found;
        match tag_at(bytes, at) {
            Found::Tag(tag) => {
                at = tag.end;
                let spoken_of = tag.start.checked_sub(1).is_some_and(|before| bytes[before] == b'`')
                    && bytes.get(tag.end) == Some(&b'`');
                if !spoken_of {
                    all.push(tag);
                }
            }
            _ => at += bytes[at..].iter().take_while(|b| **b == b'\\').count().max(1),
        }
    }
    all
}

/// Returns where a tag begins that the end of the text cuts off.
fn cut_at(bytes: &[u8]) -> Option<usize> {
    let first = bytes.len().saturating_sub(2 * MOST_ATTRIBUTES);
    let mut at = first;
    while let Some(found) = memchr::memchr3(b'<', b'\\', b'&', &bytes[at..]) {
        at += found;
        if matches!(tag_at(bytes, at), Found::Cut) {
            return Some(at);
        }
        at += bytes[at..].iter().take_while(|b| **b == b'\\').count().max(1);
    }
    None
}

/// Reads the tag that begins at `start`.
fn tag_at(bytes: &[u8], start: usize) -> Found {
    let blank = |at: usize| at + bytes[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = match sign(bytes, start, b'<') {
        Ok(Some(end)) => blank(end),
        Ok(None) => return Found::Nothing,
        Err(Ended) => return Found::Cut,
    };
    let closes = match letter(bytes, at, b'/') {
        Ok(end) => end.map(|end| at = blank(end)).is_some(),
        Err(Ended) => return Found::Cut,
    };
    for one in b"private" {
        match letter(bytes, at, *one) {
            Ok(Some(end)) => at = end,
            Ok(None) => return Found::Nothing,
            Err(Ended) => return Found::Cut,
        }
    }
    let name_ends = at;
    while at < bytes.len() && at - name_ends <= MOST_ATTRIBUTES {
        match sign(bytes, at, b'>') {
            Ok(Some(end)) if bytes[at - 1] != b'/' => return Found::Tag(Tag { start, end, closes }),
            // `<private/>` encloses nothing.
            Ok(Some(_)) => return Found::Nothing,
            Ok(None) => {}
            Err(Ended) => return Found::Cut,
        }
        let first = at == name_ends;
        let is_blank = bytes[at].is_ascii_whitespace()
            || (bytes[at] == b'\\' && bytes[at..].iter().find(|b| **b != b'\\').is_some_and(|b| b"nrt".contains(b)));
        if (first && !is_blank && bytes[at] != b'/') || bytes[at] == b'<' {
            return Found::Nothing;
        }
        at += 1;
    }
    if at == bytes.len() { Found::Cut } else { Found::Nothing }
}

/// The text ended before it was clear what the bytes are.
struct Ended;

/// Returns the end of this letter of a tag at this position, in either case, plain or escaped for JSON.
fn letter(bytes: &[u8], at: usize, wanted: u8) -> Result<Option<usize>, Ended> {
    let rest = bytes.get(at..).unwrap_or_default();
    let run = rest.iter().take_while(|b| **b == b'\\').count();
    let Some(next) = rest.get(run) else { return Err(Ended) };
    if run == 0 || (wanted == b'/' && next == &b'/') {
        return Ok(next.eq_ignore_ascii_case(&wanted).then_some(at + run + 1));
    }
    let code = &rest[run..rest.len().min(run + 5)];
    let fits = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
    match code.strip_prefix(b"u00") {
        Some(digits) if digits.len() == 2 => {
            let same = fits(digits).is_some_and(|found| found.eq_ignore_ascii_case(&wanted));
            Ok(same.then_some(at + run + 5))
        }
        _ if code.len() < 5 && (b"u00".starts_with(code) || code.starts_with(b"u00")) => Err(Ended),
        _ => Ok(None),
    }
}

/// Returns the end of the `<` or `>` at this position, plain or escaped.
fn sign(bytes: &[u8], at: usize, sign: u8) -> Result<Option<usize>, Ended> {
    let rest = &bytes[at..];
    let escaped = |rest: &[u8], forms: &[&[u8]]| {
        for form in forms {
            let form = *form;
            if rest.len() >= form.len() && rest[..form.len()].eq_ignore_ascii_case(form) {
                return Ok(Some(form.len()));
            }
            if rest.len() < form.len() && form[..rest.len()].eq_ignore_ascii_case(rest) {
                return Err(Ended);
            }
        }
        Ok(None)
    };
    match rest.first() {
        Some(b) if *b == sign => Ok(Some(at + 1)),
        Some(b'\\') => {
            let run = rest.iter().take_while(|b| **b == b'\\').count();
            let form: &[u8] = if sign == b'<' { b"u003c" } else { b"u003e" };
            Ok(escaped(&rest[run..], &[form])?.map(|length| at + run + length))
        }
        Some(b'&') => {
            let forms: [&[u8]; 3] =
                if sign == b'<' { [b"&lt;", b"&#60;", b"&#x3c;"] } else { [b"&gt;", b"&#62;", b"&#x3e;"] };
            Ok(escaped(rest, &forms)?.map(|length| at + length))
        }
        _ => Ok(None),
    }
}

/// Returns the texts of a record: the strings of JSON with their member names, or the whole record.
fn texts(bytes: &[u8]) -> Vec<Text> {
    let start = bytes.strip_prefix(b"\xEF\xBB\xBF").map_or(0, |_| 3);
    let first = bytes[start..].iter().find(|b| !b.is_ascii_whitespace());
    if !matches!(first, Some(b'{' | b'[')) {
        return vec![Text { start: 0, end: bytes.len(), name: (0, 0), is_name: false }];
    }
    let mut all = Vec::new();
    let (mut name, mut above, mut too_deep) = ((0, 0), Vec::new(), 0usize);
    let mut at = start;
    while let Some(b) = bytes.get(at) {
        match b {
            b'{' | b'[' if above.len() < DEEPEST => above.push(name),
            b'{' | b'[' => too_deep += 1,
            b'}' | b']' if too_deep > 0 => too_deep -= 1,
            b'}' | b']' => name = above.pop().unwrap_or_default(),
            b'"' => {
                let end = string_end(bytes, at + 1);
                let next = bytes[end..].iter().skip(1).find(|b| !b.is_ascii_whitespace());
                let is_name = next == Some(&b':');
                if is_name {
                    name = (at as u32 + 1, end as u32);
                }
                all.push(Text { start: at + 1, end, name, is_name });
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    all
}

/// Returns the end of the string that began before `at`: its quotation mark, or the end of a record that was cut.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
        if at >= bytes.len() {
            break;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
