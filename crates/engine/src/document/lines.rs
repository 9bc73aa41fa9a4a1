//! Lines ended by LF or CRLF (the last one perhaps by neither), and the code fences among them.

use std::ops::Range;

/// Returns the lines from `at` on, each with its line break.
pub(super) fn lines(bytes: &[u8], mut at: usize) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).map_or(bytes.len(), |found| at + found + 1);
        let line = at..end;
        at = end;
        Some(line)
    })
}

/// Returns a line without its line break.
pub(super) fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the line break of a file, taken from its first line. A file without any gets LF, unless it ends in a lone
/// CR.
pub(super) fn line_break(bytes: &[u8]) -> &'static str {
    match memchr::memchr(b'\n', bytes) {
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => "\r\n",
        None if bytes.ends_with(b"\r") => "\r\n",
        _ => "\n",
    }
}

/// Returns the lines of a text from a caller, with any line breaks.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let now = rest?;
        let Some(at) = now.find(['\r', '\n']) else { return rest.take() };
        let width = if now[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&now[at + width..]);
        Some(&now[..at])
    })
}

/// A line of three or more backticks or tildes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    pub mark: u8,
    pub length: usize,
    /// Whether nothing follows the marks, so that the line may also close a fence.
    pub plain: bool,
}

impl Fence {
    pub(super) fn of(line: &[u8]) -> Option<Fence> {
        let indent = line.iter().take_while(|b| **b == b' ').count();
        let marks = &line[indent..];
        let mark = *marks.first().filter(|b| matches!(b, b'`' | b'~') && indent < 4)?;
        let length = marks.iter().take_while(|b| **b == mark).count();
        let words = &marks[length..];
        // A text such as `` ```a``` `` on one line is a code span.
        let fence = length >= 3 && (mark == b'~' || !words.contains(&b'`'));
        fence.then(|| Fence { mark, length, plain: words.trim_ascii().is_empty() })
    }

    pub(super) fn closes(self, opened: Fence) -> bool {
        self.plain && self.mark == opened.mark && self.length >= opened.length
    }

    /// Returns the fence that is open after this line, given the one open before it.
    pub(super) fn step(open: Option<Fence>, line: &[u8]) -> Option<Fence> {
        match (open, Fence::of(line)) {
            (None, fence) => fence,
            (Some(opened), Some(fence)) if fence.closes(opened) => None,
            (opened, _) => opened,
        }
    }
}
