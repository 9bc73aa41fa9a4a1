//! Managed regions: the parts of a file between two comment lines, which Heirloom writes. Everything else belongs to
//! people and is not changed.
//!
//! ```text
//! <!-- heirloom:NAME attributes · any words -->
//! content
//! <!-- /heirloom:NAME -->
//! ```
//!
//! The pair of markers that is used is the first opening marker whose next marker of the same name is a closing one.
//! Only the *next* marker is considered, not any later one, so that after a person deletes a closing marker the text
//! below it does not become part of a region.
//!
//! Markers in closed code fences are text. A fence that is never closed hides nothing: otherwise it would hide a region
//! that is appended below it, and each further write would append another.

use std::ops::Range;

use super::Document;
use super::front::{BOM, Front, closes};
use super::lines::{Fence, line_break, lines, split, without_break};

/// The region of one name in a file, and its faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region<'a> {
    pub found: Option<Found<'a>>,
    /// Markers of this name that are ignored, in line order.
    pub faults: Vec<RegionFault>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found<'a> {
    /// Attributes in the opening marker, after the name.
    pub attributes: &'a str,
    /// Lines between the markers.
    pub content: &'a [u8],
    /// Line of the opening marker, counted from 1.
    pub line: usize,
}

/// A marker that is ignored. `line`, counted from 1, is the line of the opening marker; for a `StrayEnd`, of the
/// closing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionFault {
    /// A second pair below the one that is used.
    Doubled { line: usize },
    /// A pair around another pair of the same name; the inner one is used.
    Nested { line: usize },
    /// No closing marker follows.
    Unclosed { line: usize },
    /// A closing marker without an opening one.
    StrayEnd { line: usize },
}

impl RegionFault {
    pub fn line(self) -> usize {
        match self {
            Self::Doubled { line } | Self::Nested { line } | Self::Unclosed { line } | Self::StrayEnd { line } => line,
        }
    }
}

/// The result of [`set_region`](super::Document::set_region).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placed {
    Replaced,
    Appended,
    Unchanged,
}

/// A marker line.
#[derive(Clone)]
struct Marker<'a> {
    name: &'a str,
    opens: bool,
    attributes: &'a str,
    place: Range<usize>,
    line: usize,
}

enum Event<'a> {
    Fence(Fence),
    Marker(Marker<'a>),
}

/// Position of the region that is used.
pub(super) struct Span<'a> {
    pub attributes: &'a str,
    pub marker: Range<usize>,
    pub content: Range<usize>,
    pub line: usize,
}

impl Document {
    /// Returns the region between the markers `<!-- heirloom:NAME … -->` and `<!-- /heirloom:NAME -->`.
    pub fn region(&self, name: &str) -> Region<'_> {
        let (span, faults) = find(&self.bytes, self.body, self.body_line, &plain_name(name));
        let found = span.map(|s| Found { attributes: s.attributes, content: &self.bytes[s.content], line: s.line });
        Region { found, faults }
    }

    /// Writes a region: in its place or, if the file has none of this name, at the end after a blank line. Every byte
    /// before the opening marker and after the content stays.
    ///
    /// No argument can forge or hide a marker. A name keeps letters, digits and `-_./` (other characters become `-`).
    /// Attributes are put on one line and cannot end the comment. In content, a line that begins like one of our
    /// markers gets `&lt;!--` for `<!--`, and an open code fence is closed. In the rare files with a code fence that is
    /// never closed, or a first `---` that opens no sound front matter, a line of content that would close it is
    /// indented.
    pub fn set_region(&mut self, name: &str, attributes: &str, content: &str) -> Placed {
        self.place_region(name, attributes, content, None)
    }

    /// Writes a region like [`Document::set_region`], except that a new region is put directly after the closing marker
    /// of the region `behind`, if there is one.
    pub fn set_region_behind(&mut self, behind: &str, name: &str, attributes: &str, content: &str) -> Placed {
        let (span, _) = find(&self.bytes, self.body, self.body_line, &plain_name(behind));
        let place = span.map(|s| self.line_end(s.content.end));
        self.place_region(name, attributes, content, place)
    }

    /// Removes a region with its markers and nothing else. Returns whether there was one.
    pub fn unset_region(&mut self, name: &str) -> bool {
        let (span, _) = find(&self.bytes, self.body, self.body_line, &plain_name(name));
        let Some(place) = span.map(|s| s.marker.start..self.line_end(s.content.end)) else { return false };
        let mut bytes = self.bytes.clone();
        bytes.drain(place);
        *self = Document::parse(bytes);
        true
    }

    /// Returns the position after the line break of the line that begins at `at`.
    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |found| at + found + 1)
    }

    fn place_region(&mut self, name: &str, attributes: &str, content: &str, place: Option<usize>) -> Placed {
        let (name, attributes) = (plain_name(name), plain_attributes(attributes));
        let dashes = matches!(self.front, Front::Damaged(_));
        // Whether a fence in the content does harm depends on the whole file, so the result is checked.
        let mut tried = self.rendered(&name, &attributes, content, place, Care { dashes, fences: false });
        if !tried.2 {
            tried = self.rendered(&name, &attributes, content, place, Care { dashes, fences: true });
        }
        let (changed, placed, _) = tried;
        if changed.bytes == self.bytes {
            return Placed::Unchanged;
        }
        *self = changed;
        placed
    }

    /// Returns the file with a region written, and whether the region is then found where it was put.
    fn rendered(
        &self,
        name: &str,
        attributes: &str,
        content: &str,
        place: Option<usize>,
        care: Care,
    ) -> (Document, Placed, bool) {
        let end = line_break(&self.bytes);
        let content = plain_content(content, end, care);
        let space = if attributes.is_empty() { "" } else { " " };
        let opening = format!("<!-- heirloom:{name}{space}{attributes} -->{end}");
        let (span, _) = find(&self.bytes, self.body, self.body_line, name);
        let (mut bytes, placed, rest) = match &span {
            // A marker with the same meaning stays as it was written.
            Some(span) if span.attributes == attributes => {
                (self.bytes[..span.marker.end].to_vec(), Placed::Replaced, span.content.end)
            }
            Some(span) => {
                let mut bytes = self.bytes[..span.marker.start].to_vec();
                bytes.extend_from_slice(opening.as_bytes());
                (bytes, Placed::Replaced, span.content.end)
            }
            None => {
                let mut bytes = self.bytes[..place.unwrap_or(self.bytes.len())].to_vec();
                if !bytes.is_empty() && bytes != BOM && !bytes.ends_with(b"\n") {
                    bytes.extend_from_slice(end.as_bytes());
                }
                let last = lines(&bytes, self.body).last();
                if place.is_none() && last.is_some_and(|l| !without_break(&bytes[l]).trim_ascii().is_empty()) {
                    bytes.extend_from_slice(end.as_bytes());
                }
                bytes.extend_from_slice(opening.as_bytes());
                (bytes, Placed::Appended, place.unwrap_or(self.bytes.len()))
            }
        };
        let begin = bytes.len();
        bytes.extend_from_slice(content.as_bytes());
        let put = begin..bytes.len();
        if placed == Placed::Appended {
            bytes.extend_from_slice(format!("<!-- /heirloom:{name} -->{end}").as_bytes());
        }
        bytes.extend_from_slice(&self.bytes[rest..]);
        let changed = Document::parse(bytes);
        let (found, _) = find(&changed.bytes, changed.body, changed.body_line, name);
        let fits = found.is_some_and(|f| f.content == put && f.attributes == attributes);
        (changed, placed, fits)
    }
}

/// Searches the text from `from` on, which is line `line` of the file.
pub(super) fn find<'a>(bytes: &'a [u8], from: usize, line: usize, name: &str) -> (Option<Span<'a>>, Vec<RegionFault>) {
    let (mut found, mut faults) = (None, Vec::new());
    // The opening markers that are not closed yet, and whether the latest marker is one of them.
    let (mut open, mut fresh): (Vec<Marker<'a>>, bool) = (Vec::new(), false);
    for marker in markers(bytes, from, line, name) {
        if marker.opens {
            open.push(marker);
            fresh = true;
            continue;
        }
        match open.pop() {
            None => faults.push(RegionFault::StrayEnd { line: marker.line }),
            Some(start) if !fresh => faults.push(RegionFault::Nested { line: start.line }),
            Some(start) if found.is_some() => faults.push(RegionFault::Doubled { line: start.line }),
            Some(start) => {
                found = Some(Span {
                    attributes: start.attributes,
                    content: start.place.end..marker.place.start,
                    marker: start.place,
                    line: start.line,
                });
            }
        }
        fresh = false;
    }
    faults.extend(open.iter().map(|start| RegionFault::Unclosed { line: start.line }));
    faults.sort_by_key(|fault| fault.line());
    (found, faults)
}

/// Returns the marker lines of one name outside code fences.
fn markers<'a>(bytes: &'a [u8], from: usize, first: usize, name: &str) -> Vec<Marker<'a>> {
    let mut events = Vec::new();
    for (i, place) in lines(bytes, from).enumerate() {
        let line = without_break(&bytes[place.clone()]);
        if let Some(fence) = Fence::of(line) {
            events.push(Event::Fence(fence));
        } else if let Some(marker) = marker_of(line, place, first + i).filter(|m| m.name == name) {
            events.push(Event::Marker(marker));
        }
    }
    // For each event, the longest closing fence of either character from there on. This tells at once whether a fence
    // is ever closed.
    let mut longest = [0, 0];
    let mut ahead = vec![longest; events.len()];
    for (event, ahead) in events.iter().zip(&mut ahead).rev() {
        *ahead = longest;
        if let Event::Fence(fence) = event
            && fence.plain
        {
            let longest = &mut longest[usize::from(fence.mark == b'~')];
            *longest = fence.length.max(*longest);
        }
    }
    let mut open: Option<Fence> = None;
    let mut found = Vec::new();
    for (event, ahead) in events.into_iter().zip(ahead) {
        match (event, open) {
            (Event::Marker(marker), None) => found.push(marker),
            (Event::Marker(_), Some(_)) => {}
            (Event::Fence(fence), None) => {
                open = Some(fence).filter(|f| ahead[usize::from(f.mark == b'~')] >= f.length);
            }
            (Event::Fence(fence), Some(opened)) if fence.closes(opened) => open = None,
            (Event::Fence(_), Some(_)) => {}
        }
    }
    found
}

fn marker_of(line: &[u8], place: Range<usize>, number: usize) -> Option<Marker<'_>> {
    let inner = line.trim_ascii().strip_prefix(b"<!--")?.strip_suffix(b"-->")?;
    let inner = std::str::from_utf8(inner).ok().filter(|i| !i.contains("-->"))?.trim();
    let (opens, rest) = match inner.strip_prefix('/') {
        Some(rest) => (false, rest),
        None => (true, inner),
    };
    let rest = rest.strip_prefix("heirloom:")?;
    let (name, attributes) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let attributes = attributes.trim();
    let well = !name.is_empty() && name.chars().all(names) && (opens || attributes.is_empty());
    well.then_some(Marker { name, opens, attributes, place, line: number })
}

fn names(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

/// Returns a name reduced to the characters allowed in a marker.
pub(super) fn plain_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if names(c) { c } else { '-' }).collect();
    if plain.is_empty() { "-".into() } else { plain }
}

/// Returns attributes that are safe in a marker: on one line, and unable to end the comment.
pub(super) fn plain_attributes(attributes: &str) -> String {
    let one_line: String = attributes.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    one_line.replace("-->", "--&gt;").replace("--!>", "--!&gt;").trim().to_owned()
}

/// The changes that content needs so that it stays inside its region.
#[derive(Clone, Copy)]
pub(super) struct Care {
    /// Whether the file begins with a `---` that does not open readable front matter; a line `---` in the content could
    /// close it.
    pub dashes: bool,
    /// Whether a code fence above is never closed; a fence in the content would close it and hide the opening marker.
    pub fences: bool,
}

/// Returns content that is safe between the markers: with the file's line breaks, one at the end; a line that looks
/// like one of our markers begins with `&lt;!--` instead of `<!--` (which Markdown shows in the same way); an open code
/// fence is closed.
pub(super) fn plain_content(content: &str, line_break: &str, care: Care) -> String {
    let mut out = String::with_capacity(content.len() + 64);
    let mut open: Option<Fence> = None;
    let text = content.strip_suffix('\n').unwrap_or(content);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if content.is_empty() {
        return out;
    }
    for line in split(text) {
        if looks_like_a_marker(line) {
            let at = line.find("<!--").unwrap_or(0);
            out.push_str(&line[..at]);
            out.push_str("&lt;");
            out.push_str(&line[at + 1..]);
        } else {
            if care.fences && Fence::of(line.as_bytes()).is_some() {
                out.push_str("    ");
            } else {
                open = Fence::step(open, line.as_bytes());
            }
            if care.dashes && closes(line.as_bytes()) {
                out.push(' ');
            }
            out.push_str(line);
        }
        out.push_str(line_break);
    }
    if let Some(fence) = open {
        out.extend(std::iter::repeat_n(char::from(fence.mark), fence.length));
        out.push_str(line_break);
    }
    out
}

/// Whether a line begins like a marker. This accepts more lines than the test for a real marker.
fn looks_like_a_marker(line: &str) -> bool {
    let Some(inner) = line.trim().strip_prefix("<!--") else { return false };
    let inner = inner.trim_start();
    inner.strip_prefix('/').unwrap_or(inner).trim_start().starts_with("heirloom:")
}
