//! Finds quotations within a text: quotation marks, code spans, tagged spans. They are not the speaker's own words.

use std::ops::Range;

use memchr::memmem::Finder;

/// Pairs of marks that open and close a quotation.
const PAIRS: [(char, char); 10] = [
    ('`', '`'),
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('”', '”'),
    ('«', '»'),
    ('»', '«'),
    ('「', '」'),
    ('‘', '’'),
    ('\'', '\''),
];

/// Returns the quoted spans of a block or sentence, marks included, in order and without overlap.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    quotations(text, &mut found);
    tagged(text, &mut found);
    found.sort_by_key(|span| span.start);
    merged(found)
}

/// Whether a byte is in one of the spans.
pub fn covered(spans: &[Range<usize>], at: usize) -> bool {
    span_at(spans, at).is_some()
}

/// Returns the span that contains a byte.
pub fn span_at(spans: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let i = spans.partition_point(|span| span.end <= at);
    spans.get(i).filter(|span| span.start <= at)
}

/// Finds quotations in marks. A quotation opens before a letter or mark and closes after one, so apostrophes and inches
/// do not count.
fn quotations(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut open: [Option<usize>; PAIRS.len()] = [None; PAIRS.len()];
    // These are the first bytes of the marks above.
    let may_mark = |b: &u8| matches!(b, b'`' | b'"' | b'\'' | 0xe2 | 0xc2 | 0xe3);
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(may_mark) {
        at += next;
        let c = text[at..].chars().next().unwrap_or(' ');
        let end = at + c.len_utf8();
        if PAIRS.iter().any(|(o, close)| c == *o || c == *close) {
            let before = text[..at].chars().next_back().unwrap_or(' ');
            let after = text[end..].chars().next().unwrap_or(' ');
            for ((opens, closes), from) in PAIRS.iter().zip(&mut open) {
                match *from {
                    None if c == *opens && !before.is_alphanumeric() && !after.is_whitespace() => *from = Some(at),
                    Some(start) if c == *closes && !before.is_whitespace() && !after.is_alphanumeric() => {
                        found.push(start..end);
                        *from = None;
                    }
                    _ => {}
                }
            }
        }
        at = end;
    }
}

/// Finds tagged spans such as `<note>…</note>`; if a tag has no closing tag, only the tag itself.
fn tagged(text: &str, found: &mut Vec<Range<usize>>) {
    let mut closings = Closings::of(text);
    let mut look = 0;
    while let Some(open) = memchr::memchr(b'<', &text.as_bytes()[look..]).map(|i| look + i) {
        look = open + 1;
        if let Some((name, head_end)) = tag(text, open) {
            let end = closings.after(name, head_end).unwrap_or(head_end);
            found.push(open..end);
            look = end;
        }
    }
}

pub(super) fn merged(spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

/// Returns the name of the tag that opens at `at`, and the offset of its end.
pub(super) fn tag(text: &str, at: usize) -> Option<(&str, usize)> {
    let name = tag_name(&text[at + 1..]);
    let after = at + 1 + name.len();
    let rest = &text.as_bytes()[after..text.len().min(after + 300)];
    let close = memchr::memchr(b'>', rest)?;
    (!name.is_empty() && matches!(rest[0], b'>' | b' ' | b'/' | b'\t')).then_some((name, after + close + 1))
}

fn tag_name(text: &str) -> &str {
    let name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.');
    let length = text.bytes().take(64).take_while(|b| name(b)).count();
    if text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) { &text[..length] } else { "" }
}

/// The positions of closing tags. Each name is searched for once through the text, and the number of names is limited,
/// so that a text of a million tags is read in linear time.
pub struct Closings<'t> {
    text: &'t str,
    names: Vec<Closing<'t>>,
}

struct Closing<'t> {
    name: &'t str,
    tag: Finder<'static>,
    /// The last closing tag found, if there is one.
    next: Option<Range<usize>>,
}

impl<'t> Closings<'t> {
    /// Maximum number of tag names that are distinguished.
    const MOST: usize = 32;

    pub fn of(text: &'t str) -> Closings<'t> {
        Closings { text, names: Vec::new() }
    }

    /// Returns the end of the first `</name>` that begins at `from` or later. Some programs repeat attributes in it:
    /// `</pasted_content id="1f15">`.
    pub fn after(&mut self, name: &'t str, from: usize) -> Option<usize> {
        let text = self.text.as_bytes();
        let known = self.names.iter().position(|c| c.name == name);
        let i = known.or_else(|| {
            if self.names.len() == Self::MOST {
                return None;
            }
            let tag = Finder::new(&format!("</{name}")).into_owned();
            let mut closing = Closing { name, tag, next: None };
            closing.look(text, from);
            self.names.push(closing);
            Some(self.names.len() - 1)
        })?;
        let closing = &mut self.names[i];
        if closing.next.as_ref().is_some_and(|next| next.start < from) {
            closing.look(text, from);
        }
        closing.next.as_ref().map(|next| next.end)
    }
}

impl Closing<'_> {
    /// Most bytes of the attributes of a closing tag.
    const ATTRIBUTES: usize = 100;

    fn look(&mut self, text: &[u8], mut from: usize) {
        self.next = None;
        while let Some(start) = self.tag.find(&text[from..]).map(|i| from + i) {
            from = start + self.tag.needle().len();
            let rest = &text[from..text.len().min(from + Closing::ATTRIBUTES)];
            let close = memchr::memchr2(b'>', b'\n', rest).filter(|at| rest[*at] == b'>');
            if let Some(close) = close.filter(|at| *at == 0 || rest[0] == b' ') {
                self.next = Some(start..from + close + 1);
                return;
            }
        }
    }
}
