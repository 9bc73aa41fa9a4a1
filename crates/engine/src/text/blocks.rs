//! Reads the structure of a text: the paragraphs, lines and items its speaker wrote, without text from elsewhere.
//!
//! Left out are fenced and indented code, block quotes, tables, drawn boxes and trees, tagged spans, logs, stack traces,
//! JSON, diffs, shell prompts. Text that may have been pasted is marked, not left out: the caller decides how much doubt
//! it accepts.
//!
//! People write chat, not Markdown: a new line begins a new statement unless the line before was wrapped, `✅` and `1)`
//! are bullets, a line under a quotation answers it, `---` does not make a heading of the line above. A Markdown parser
//! would read all four differently, so this is a scanner of lines. pulldown-cmark was tried on ten thousand lines of
//! real sessions: it left out no code, quotation or table that the scanner keeps, and it kept eight hundred lines of
//! logs, traces and tagged spans.

use std::collections::VecDeque;
use std::ops::Range;

use super::headings::{self, Topic};
use super::quotes::{Closings, tag};

/// Minimum length of a line that counts as wrapped if its next line begins in lower case.
const WRAPPED: usize = 50;

/// The same for a line that is parted from the next one by an empty line: the width of a narrow terminal. A program that
/// takes a pasted prompt line by line leaves such paragraphs, which end within a sentence or within a word.
const WRAPPED_APART: usize = 76;

/// Maximum number of characters read in a text, not counting fences and tagged spans.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Texts up to this length are read whole.
    pub whole: usize,
    /// Number of characters read at either end of a longer text.
    pub ends: usize,
}

/// A line of a paragraph, or an item of a list.
#[derive(Clone, Debug)]
pub struct Block {
    /// Range in the text, without bullet and indentation.
    pub range: Range<usize>,
    /// Whether the block begins, and whether it ends, outside the part that is read.
    pub cut: (bool, bool),
    /// Whether the block is an item of a list.
    pub item: bool,
    /// The state of the item's checkbox, if it has one.
    pub ticked: Option<bool>,
    /// Whether the whole line is emphasised: it may be a heading or a statement.
    pub emphasis: bool,
    /// Topic of the heading or announcement above the block.
    pub under: Option<Topic>,
    /// Whether the block is an item under "From now on:" or "My preferences:".
    pub listed_rule: bool,
    /// Whether the block follows an announcement of pasted text: "The error message is:".
    pub pasted: bool,
    /// Whether the block comes anywhere after a line that may have announced pasted text.
    pub behind_paste: bool,
    /// Whether the block is part of a document: after the first of several headings.
    pub document: bool,
    /// The number of the paragraph.
    pub paragraph: usize,
}

/// Returns the blocks of a text, in order.
pub fn blocks(text: &str, reach: Reach) -> Vec<Block> {
    let mut lines = outside(text, reach);
    window(text, &mut lines, reach);
    let headings = lines.iter().filter(|l| heading(text[l.start..l.end].trim()).is_some()).count();
    let mut scan = Scan { text, ..Scan::default() };
    for line in &lines {
        scan.read(line, headings > 1);
    }
    scan.found
}

/// The state of the scan: facts from earlier lines that decide how the next one is read.
#[derive(Default)]
struct Scan<'t> {
    text: &'t str,
    found: Vec<Block>,
    /// Whether the last block may continue.
    open: bool,
    /// Whether the last block may continue after an empty line.
    ajar: bool,
    /// Whether a list is open.
    listing: bool,
    diff: bool,
    trace: bool,
    /// Whether pasted text was announced; it begins after the next empty line, or on the next line.
    announces: bool,
    pasted: bool,
    /// Whether the line before may have announced pasted text.
    may_announce: bool,
    behind_paste: bool,
    document: bool,
    heading: Option<Topic>,
    announced: Option<Topic>,
    rules: bool,
    paragraph: usize,
}

impl Scan<'_> {
    fn read(&mut self, line: &Line, is_document: bool) {
        let full = self.text[line.start..line.end].trim_end();
        let text = full.trim_start();
        if line.apart {
            // The announcement was about this fence.
            (self.open, self.diff, self.announces, self.may_announce) = (false, false, false, false);
            self.ajar = false;
        }
        if text.is_empty() {
            self.ajar = self.open;
            (self.open, self.diff, self.trace) = (false, false, false);
            self.paragraph += 1;
            self.pasted |= std::mem::take(&mut self.announces);
            return;
        }
        let ajar = std::mem::take(&mut self.ajar);
        if let Some(title) = heading(text) {
            self.under_heading(title);
            self.document |= is_document;
            return;
        }
        let mark = text.as_bytes()[0];
        let quote = matches!(mark, b'>' | b'|') || is_drawn(text);
        let machine = is_machine(text);
        self.behind_paste |= self.may_announce && !quote && !machine;
        self.diff |= text.starts_with("@@") || text.starts_with("diff --git") || text.starts_with("+++ ");
        self.trace |= is_trace(text);
        let (bullet, ticked) = bullet(text);
        let indent = full.len() - text.len();
        let code = bullet == 0 && !self.listing && (indent >= 4 || full.starts_with('\t'));
        if code || quote || machine || self.trace || self.diff && matches!(mark, b'+' | b'-') {
            (self.open, self.announces, self.may_announce) = (false, false, false);
            return;
        }
        if let Some(title) = emphasised(text) {
            self.under_heading(title);
            self.push(line, line.start + indent..line.start + full.len(), (false, None), true);
            return;
        }
        self.listing = bullet > 0 || self.listing && indent > 0;
        if bullet == 0 && indent == 0 {
            self.announced = None;
        }
        self.rules &= bullet > 0 || self.open || self.ends_with_colon();
        let range = line.start + indent + bullet..line.start + full.len();
        let least = if self.open { WRAPPED } else { WRAPPED_APART };
        let continues = (self.open || ajar) && bullet == 0 && !line.cut.0;
        match self.found.last_mut() {
            Some(last) if continues && is_wrapped(&self.text[last.range.clone()], text, least) => {
                last.range.end = range.end;
                last.cut.1 = line.cut.1;
            }
            _ => self.push(line, range, (bullet > 0, ticked), false),
        }
        self.open = !line.cut.1;
        if text.ends_with([':', '：']) || text.ends_with(":**") {
            self.announced = Some(headings::topic(text));
            self.rules = headings::announces_rules(text);
            self.announces = bullet == 0 && headings::announces_paste(text);
            self.may_announce = !self.rules && headings::may_announce_paste(text);
        } else if self.announces && bullet == 0 {
            // After "The error is:", the error is on the next line.
            if let Some(last) = self.found.last_mut() {
                last.pasted = true;
            }
        }
    }

    fn under_heading(&mut self, title: &str) {
        self.heading = Some(headings::topic(title));
        (self.announced, self.open, self.listing, self.rules) = (None, false, false, false);
        (self.announces, self.pasted) = (false, false);
        self.paragraph += 1;
    }

    fn push(&mut self, line: &Line, range: Range<usize>, (item, ticked): (bool, Option<bool>), emphasis: bool) {
        self.found.push(Block {
            range,
            cut: line.cut,
            item,
            ticked,
            emphasis,
            under: self.announced.or(self.heading),
            listed_rule: item && self.rules,
            pasted: self.pasted,
            behind_paste: self.behind_paste,
            document: self.document,
            paragraph: self.paragraph,
        });
    }

    fn ends_with_colon(&self) -> bool {
        self.found.last().is_some_and(|b| self.text[b.range.clone()].ends_with([':', '：']))
    }
}

/// Whether a line begins with a character for drawing: a row of a table in a terminal, a line of a tree of files.
fn is_drawn(text: &str) -> bool {
    text.starts_with(|c| matches!(c, '\u{2500}'..='\u{257F}'))
}

fn is_wrapped(before: &str, text: &str, least: usize) -> bool {
    let last = before.rsplit('\n').next().unwrap_or(before);
    last.len() >= least
        && !before.ends_with(['.', '!', '?', ':'])
        && text.starts_with(|c: char| c.is_lowercase() || matches!(c, '`' | '('))
}

/// Returns the title of a heading line.
fn heading(line: &str) -> Option<&str> {
    let level = run_of(line.as_bytes(), b'#');
    ((1..=6).contains(&level) && line[level..].starts_with(' ')).then(|| line[level..].trim())
}

/// Returns the words of a line that is all emphasis: `**Next steps**` or `**Next steps:**`.
fn emphasised(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("**")?.strip_suffix("**")?;
    (inner.len() <= 60 && !inner.contains("**") && !inner.ends_with(['.', '!', '?'])).then_some(inner)
}

/// Returns the length of the bullet or number an item begins with, and the state of its checkbox.
fn bullet(line: &str) -> (usize, Option<bool>) {
    const BOXES: [(&str, bool); 13] = [
        ("[ ] ", false),
        ("[x] ", true),
        ("[X] ", true),
        ("✅ ", true),
        ("✓ ", true),
        ("✔ ", true),
        ("☑ ", true),
        ("☐ ", false),
        ("✅\u{fe0f} ", true),
        ("✔\u{fe0f} ", true),
        ("☑\u{fe0f} ", true),
        ("☒ ", true),
        ("⬜ ", false),
    ];
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=2).contains(&digits) && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    let mark = match numbered {
        true => digits + 2,
        // "-like this": people leave the blank out.
        false
            if line
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(char::is_alphabetic) && rest.contains(' ')) =>
        {
            1
        }
        false => ["- ", "* ", "• ", "– ", "+ ", "→ "].iter().find(|m| line.starts_with(**m)).map_or(0, |m| m.len()),
    };
    let spaced = |at: usize| at + line[at..].len() - line[at..].trim_start().len();
    let mark = spaced(mark);
    match BOXES.iter().find(|(b, _)| !numbered && line[mark..].starts_with(b)) {
        Some((b, ticked)) => (spaced(mark + b.len()), Some(*ticked)),
        None => (mark, None),
    }
}

/// Whether a line was not typed as a sentence: code, a log, JSON, a shell prompt.
fn is_machine(line: &str) -> bool {
    const STARTS: [&str; 23] = [
        "//",
        "/*",
        "*/",
        "#!",
        "$ ",
        "% ",
        ">>>",
        "--- ",
        "-- ",
        "+++",
        "{",
        "}",
        "[{",
        "[\"",
        "\":",
        "@@",
        "diff ",
        "---",
        "===",
        "Traceback (",
        "File \"",
        "[Request",
        "[Image",
    ];
    if STARTS.iter().any(|s| line.starts_with(s)) || ["{", "};", ");", "],", "},"].iter().any(|e| line.ends_with(e)) {
        return true;
    }
    if line.starts_with("at ") && line.contains('(') && line.contains(':') {
        return true;
    }
    // "make: *** [all] Error 1", a leader of dots before a value, a command with its options.
    if line.contains(": *** ") || line.contains(" := ") || line.contains(".....") || is_command(line) {
        return true;
    }
    let bytes = line.as_bytes();
    // Such a line begins with a time, a log level or the name of an error.
    let stamp = bytes[0].is_ascii_digit()
        && bytes.iter().take(12).filter(|b| matches!(b, b':' | b'-' | b'/')).count() >= 2
        && bytes.iter().take(8).filter(|b| b.is_ascii_digit()).count() >= 4;
    // Links and checkboxes also begin with a bracket, but are no logs.
    let bracket =
        bytes[0] == b'[' && line.find(']').is_some_and(|at| at > 2 && !line[at + 1..].starts_with(['(', ':']));
    let level = line.split_ascii_whitespace().take(5).any(|w| {
        let w = w.trim_matches(|c: char| !c.is_ascii_alphabetic());
        matches!(w, "INFO" | "WARN" | "WARNING" | "ERROR" | "DEBUG" | "TRACE" | "FATAL" | "FAILED" | "PANIC")
    });
    let first = line.split_ascii_whitespace().next().unwrap_or("");
    let error = first.strip_suffix(':').is_some_and(|w| {
        ["Error", "Exception", "error", "warning", "fatal"].iter().any(|e| w.ends_with(e)) || w.starts_with("error[")
    });
    if stamp || bracket || level || error {
        return true;
    }
    let prose = |b: &u8| matches!(b, b'.' | b',' | b'\'' | b'"' | b'`' | b'*' | b'-' | b'_' | b'/');
    bytes.iter().filter(|b| b.is_ascii_punctuation() && !prose(b)).count() * 4 > line.len().max(16)
}

/// Whether a line is a command with options: two of them at least, and a fifth of its words.
fn is_command(line: &str) -> bool {
    if !line.contains(" -") {
        return false;
    }
    let option =
        |w: &str| w.starts_with('-') && w.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    let (mut words, mut options) = (0, 0);
    for word in line.split_ascii_whitespace() {
        words += 1;
        options += usize::from(option(word));
    }
    options > 1 && 5 * options >= words
}

/// Whether a stack trace begins on this line; it continues to the next blank line.
fn is_trace(line: &str) -> bool {
    line.starts_with("Traceback (") || line.starts_with("thread '") || line.starts_with("Caused by:")
}

/// A line or a part of one.
struct Line {
    start: usize,
    end: usize,
    /// Whether the beginning, and whether the end, was cut off.
    cut: (bool, bool),
    /// Whether a fence or tagged span separates this line from the one before.
    apart: bool,
}

/// Returns the lines outside fences and tagged spans; of a long text, at least those that [`window`] keeps.
fn outside(text: &str, reach: Reach) -> Vec<Line> {
    let mut closings = Closings::of(text);
    let mut lines = Lines { reach, head: Vec::new(), head_bytes: 0, tail: VecDeque::new(), tail_bytes: 0 };
    let (mut at, mut apart, mut resumed) = (0, false, false);
    let mut fence: Option<(u8, usize)> = None;
    // The next end of a line and the next tag; each is searched for once.
    let (mut end, mut tag_at, mut tag_end) = (find(text, b'\n', 0), find(text, b'<', 0), find(text, b'>', 0));
    while at < text.len() {
        if end < at {
            end = find(text, b'\n', at);
        }
        if end == at {
            // Several blank lines count as one.
            if fence.is_none() {
                lines.push(Line { start: at, end, cut: (resumed, false), apart });
                (apart, resumed) = (false, false);
            }
            at += run_of(&text.as_bytes()[at..], b'\n');
            continue;
        }
        let line = text.as_bytes()[at..end].trim_ascii();
        let mark = line.first().copied().unwrap_or(0);
        if fence.is_some() || matches!(mark, b'`' | b'~') {
            let run = run_of(line, mark);
            let opens = run >= 3 && !line[run..].contains(&b'`');
            let closes = fence.is_some_and(|(open, length)| mark == open && run >= length && line.len() == run);
            if fence.is_some() || opens {
                fence = if closes { None } else { fence.or(Some((mark, run))) };
                (at, apart, resumed) = (end + 1, true, false);
                continue;
            }
        }
        // A tagged span within a line is a quotation; one that begins a line or continues over several lines separates
        // the text.
        let (mut look, mut parted) = (at, None);
        loop {
            if tag_at < look {
                tag_at = find(text, b'<', look);
            }
            if tag_at >= end {
                break;
            }
            let open = tag_at;
            look = open + 1;
            if tag_end < open {
                tag_end = find(text, b'>', open);
            }
            if tag_end == text.len() {
                tag_at = text.len();
                break;
            }
            let Some((name, head_end)) = tag(text, open) else { continue };
            match closings.after(name, head_end) {
                Some(close) if close <= end && !text[at..open].trim().is_empty() => look = close,
                Some(close) => {
                    parted = Some((open, close));
                    break;
                }
                None => {}
            }
        }
        let stop = parted.map_or(end, |(open, _)| open);
        let blank = parted.is_none() || text[at..stop].trim().is_empty();
        lines.push(Line { start: at, end: stop, cut: (resumed, parted.is_some()), apart });
        at = parted.map_or(end + 1, |(_, after)| after);
        (apart, resumed) = (parted.is_some(), parted.is_some_and(|_| !blank));
    }
    lines.head.extend(lines.tail);
    lines.head
}

/// Collects lines; the middle of a long text is dropped.
struct Lines {
    reach: Reach,
    head: Vec<Line>,
    head_bytes: usize,
    tail: VecDeque<Line>,
    tail_bytes: usize,
}

impl Lines {
    fn push(&mut self, line: Line) {
        let length = line.end - line.start;
        // Several blank lines count as one.
        if let Some(last) = self.tail.back_mut().or(self.head.last_mut())
            && length == 0
            && last.start == last.end
        {
            last.apart |= line.apart;
            return;
        }
        // A character has at most four bytes.
        if self.head_bytes <= 4 * self.reach.whole {
            self.head_bytes += length;
            self.head.push(line);
            return;
        }
        self.tail_bytes += length;
        self.tail.push_back(line);
        while let Some(first) = self.tail.front()
            && self.tail_bytes - (first.end - first.start) > 4 * self.reach.ends
        {
            self.tail_bytes -= first.end - first.start;
            self.tail.pop_front();
        }
    }
}

/// Keeps both ends of a long text.
fn window(text: &str, lines: &mut Vec<Line>, reach: Reach) {
    let mut left = reach.whole;
    let long = lines.iter().any(|l| match text[l.start..l.end].char_indices().nth(left) {
        Some(_) => true,
        None => {
            left -= text[l.start..l.end].chars().count();
            false
        }
    });
    if !long {
        return;
    }
    let (mut head, mut left) = (Vec::new(), reach.ends);
    for line in lines.iter() {
        let said = &text[line.start..line.end];
        if let Some((i, _)) = said.char_indices().nth(left) {
            head.push(Line { end: line.start + i, cut: (line.cut.0, true), ..*line });
            break;
        }
        left -= said.chars().count();
        head.push(Line { ..*line });
    }
    let (mut tail, mut left) = (Vec::new(), reach.ends);
    for line in lines.iter().rev() {
        let said = &text[line.start..line.end];
        if said.char_indices().nth_back(left).is_some() {
            let kept = left.checked_sub(1).and_then(|n| said.char_indices().nth_back(n));
            let from = kept.map_or(line.end, |(i, _)| line.start + i);
            tail.push(Line { start: from, cut: (true, line.cut.1), apart: true, ..*line });
            break;
        }
        left -= said.chars().count();
        tail.push(Line { ..*line });
    }
    head.extend(tail.into_iter().rev());
    *lines = head;
}

/// Returns the next offset of a byte, or the end of the text.
fn find(text: &str, byte: u8, at: usize) -> usize {
    memchr::memchr(byte, &text.as_bytes()[at..]).map_or(text.len(), |i| at + i)
}

fn run_of(text: &[u8], mark: u8) -> usize {
    text.iter().take_while(|b| **b == mark).count()
}
