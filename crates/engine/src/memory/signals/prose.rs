//! What of a prompt its author said in their own words, cut into sentences and words.
//!
//! Left out: fenced and indented code, quotations, tagged spans, logs, stack traces, JSON, diffs, tables, and the parts
//! of a document that was pasted. Every step is one pass; the sentences come from at most [`SHORT`] characters. Knows
//! nothing about what the words mean.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::memmem::Finder;

use super::patterns::{Words, hash, words};

/// Prompts up to this many characters are read whole.
const SHORT: usize = 4000;
/// Of longer ones, this much at either end: what was pasted in between is not the author's.
const END: usize = 1000;
/// A longer sentence is no statement about oneself. In bytes.
const LONGEST_SENTENCE: usize = 500;
/// A line that ends near the margin and goes on in lower case was wrapped.
const WRAPPED: usize = 50;

/// A word or one mark of punctuation.
#[derive(Clone, Debug)]
pub struct Token {
    /// Lower case, straight apostrophes.
    pub low: String,
    /// Of `low`, by which it is looked up.
    pub hash: u64,
    pub start: usize,
    pub end: usize,
    pub word: bool,
    /// A path, a file or an identifier.
    pub name: bool,
    /// Inside quotation marks, a code span or a tagged span.
    pub quoted: bool,
}

/// One sentence in the author's own words.
#[derive(Debug)]
pub struct Sentence {
    pub range: Range<usize>,
    pub tokens: Vec<Token>,
    /// An item of a list under "From now on:" or "My preferences:".
    pub listed: bool,
}

/// The author's own sentences, in order.
pub fn sentences(prompt: &str) -> Vec<Sentence> {
    let mut outside = outside(prompt);
    window(prompt, &mut outside.lines);
    let blocks = blocks(prompt, &outside.lines);
    let mut found = Vec::new();
    for block in blocks {
        let from = outside.masks.partition_point(|m| m.start < block.range.start);
        let to = outside.masks.partition_point(|m| m.start < block.range.end);
        let mut masks = outside.masks[from..to.max(from)].to_vec();
        masks.extend(quotations(prompt, &block.range));
        masks.sort_by_key(|m| m.start);
        let masks = merged(masks);
        for range in split(prompt, &block, &masks) {
            if range.len() <= LONGEST_SENTENCE {
                let tokens = tokens(prompt, range.clone(), &masks);
                found.push(Sentence { range, tokens, listed: block.listed });
            }
        }
    }
    found
}

/// A line or a part of one.
struct Line {
    start: usize,
    end: usize,
    /// Its beginning, its end were cut off.
    cut: (bool, bool),
    /// Something lies between this line and the one before: a fence, a tagged span.
    apart: bool,
}

struct Outside {
    lines: Vec<Line>,
    /// Tagged spans within a line.
    masks: Vec<Range<usize>>,
}

/// The lines outside fences and tagged spans; of a long prompt, at least those [`window`] looks at.
fn outside(prompt: &str) -> Outside {
    let mut closings = Closings { prompt, names: Vec::new() };
    let (mut lines, mut masks) = (Lines::default(), Vec::new());
    let (mut at, mut apart, mut resumed) = (0, false, false);
    let mut fence: Option<(u8, usize)> = None;
    // The end of the line and the next tag, each looked for once.
    let (mut end, mut tag_at) = (line_end(prompt, 0), next_tag(prompt, 0));
    while at < prompt.len() {
        if end < at {
            end = line_end(prompt, at);
        }
        let text = prompt.as_bytes()[at..end].trim_ascii();
        let mark = text.first().copied().unwrap_or(0);
        if fence.is_some() || matches!(mark, b'`' | b'~') {
            let run = run_of(text, mark);
            let opens = run >= 3 && !text[run..].contains(&b'`');
            let closes = fence.is_some_and(|(open, length)| mark == open && run >= length && text.len() == run);
            if fence.is_some() || opens {
                fence = if closes { None } else { fence.or(Some((mark, run))) };
                (at, apart, resumed) = (end + 1, true, false);
                continue;
            }
        }
        // A span within a line is masked; one that begins a line or goes on parts the text.
        let (mut look, mut parted) = (at, None);
        loop {
            if tag_at < look {
                tag_at = next_tag(prompt, look);
            }
            if tag_at >= end {
                break;
            }
            let open = tag_at;
            look = open + 1;
            let Some((name, head_end)) = tag(prompt, open) else { continue };
            match closings.after(name, head_end) {
                Some(close) if close <= end && !prompt[at..open].trim().is_empty() => {
                    masks.push(open..close);
                    look = close;
                }
                Some(close) => {
                    parted = Some((open, close));
                    break;
                }
                None => masks.push(open..head_end.min(end)),
            }
        }
        let stop = parted.map_or(end, |(open, _)| open);
        let blank = parted.is_none() || prompt[at..stop].trim().is_empty();
        lines.push(Line { start: at, end: stop, cut: (resumed, parted.is_some()), apart });
        at = parted.map_or(end + 1, |(_, after)| after);
        (apart, resumed) = (parted.is_some(), parted.is_some_and(|_| !blank));
    }
    lines.head.extend(lines.tail);
    Outside { lines: lines.head, masks }
}

/// Lines as they come: of a long prompt the middle is let go.
#[derive(Default)]
struct Lines {
    head: Vec<Line>,
    head_bytes: usize,
    tail: VecDeque<Line>,
    tail_bytes: usize,
}

impl Lines {
    fn push(&mut self, line: Line) {
        let length = line.end - line.start;
        // One blank line parts as well as many.
        if let Some(last) = self.tail.back_mut().or(self.head.last_mut())
            && length == 0
            && last.start == last.end
        {
            last.apart |= line.apart;
            return;
        }
        // A character has at most four bytes.
        if self.head_bytes <= 4 * SHORT {
            self.head_bytes += length;
            self.head.push(line);
            return;
        }
        self.tail_bytes += length;
        self.tail.push_back(line);
        while let Some(first) = self.tail.front()
            && self.tail_bytes - (first.end - first.start) > 4 * END
        {
            self.tail_bytes -= first.end - first.start;
            self.tail.pop_front();
        }
    }
}

fn line_end(prompt: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &prompt.as_bytes()[at..]).map_or(prompt.len(), |i| at + i)
}

fn next_tag(prompt: &str, at: usize) -> usize {
    memchr::memchr(b'<', &prompt.as_bytes()[at..]).map_or(prompt.len(), |i| at + i)
}

fn run_of(text: &[u8], mark: u8) -> usize {
    text.iter().take_while(|b| **b == mark).count()
}

/// Where tags are closed. Each name is searched for once through the text, and few names are.
struct Closings<'p> {
    prompt: &'p str,
    names: Vec<Closing<'p>>,
}

struct Closing<'p> {
    name: &'p str,
    tag: Finder<'static>,
    /// Where the last one found begins, if there is one.
    next: Option<usize>,
}

impl<'p> Closings<'p> {
    /// More kinds of tags than this are no longer told apart.
    const MOST: usize = 32;

    /// The end of the first `</name>` that begins at `from` or later.
    fn after(&mut self, name: &'p str, from: usize) -> Option<usize> {
        let prompt = self.prompt.as_bytes();
        let known = self.names.iter().position(|c| c.name == name);
        let i = known.or_else(|| {
            if self.names.len() == Self::MOST {
                return None;
            }
            let tag = Finder::new(&format!("</{name}>")).into_owned();
            let next = tag.find(&prompt[from..]).map(|i| from + i);
            self.names.push(Closing { name, tag, next });
            Some(self.names.len() - 1)
        })?;
        let closing = &mut self.names[i];
        if closing.next.is_some_and(|next| next < from) {
            closing.next = closing.tag.find(&prompt[from..]).map(|i| from + i);
        }
        closing.next.map(|next| next + closing.tag.needle().len())
    }
}

/// The name of the tag that opens at `at`, and where the tag itself ends.
fn tag(prompt: &str, at: usize) -> Option<(&str, usize)> {
    let name = tag_name(&prompt[at + 1..]);
    let after = at + 1 + name.len();
    let rest = &prompt.as_bytes()[after..prompt.len().min(after + 300)];
    let close = memchr::memchr(b'>', rest)?;
    (!name.is_empty() && matches!(rest[0], b'>' | b' ' | b'/' | b'\t')).then_some((name, after + close + 1))
}

fn tag_name(text: &str) -> &str {
    let name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.');
    let length = text.bytes().take(64).take_while(|b| name(b)).count();
    if text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) { &text[..length] } else { "" }
}

/// Keeps the ends of a long prompt.
fn window(prompt: &str, lines: &mut Vec<Line>) {
    let mut left = SHORT;
    let long = lines.iter().any(|l| match prompt[l.start..l.end].char_indices().nth(left) {
        Some(_) => true,
        None => {
            left -= prompt[l.start..l.end].chars().count();
            false
        }
    });
    if !long {
        return;
    }
    let (mut head, mut left) = (Vec::new(), END);
    for line in lines.iter() {
        let text = &prompt[line.start..line.end];
        if let Some((i, _)) = text.char_indices().nth(left) {
            head.push(Line { end: line.start + i, cut: (line.cut.0, true), ..*line });
            break;
        }
        left -= text.chars().count();
        head.push(Line { ..*line });
    }
    let (mut tail, mut left) = (Vec::new(), END);
    for line in lines.iter().rev() {
        let text = &prompt[line.start..line.end];
        if text.char_indices().nth_back(left).is_some() {
            let kept = left.checked_sub(1).and_then(|n| text.char_indices().nth_back(n));
            let from = kept.map_or(line.end, |(i, _)| line.start + i);
            tail.push(Line { start: from, cut: (true, line.cut.1), apart: true, ..*line });
            break;
        }
        left -= text.chars().count();
        tail.push(Line { ..*line });
    }
    head.extend(tail.into_iter().rev());
    *lines = head;
}

/// Lines that were written as one.
struct Block {
    range: Range<usize>,
    cut: (bool, bool),
    listed: bool,
}

/// Joins wrapped lines, strips bullets, drops what is no prose.
fn blocks(prompt: &str, lines: &[Line]) -> Vec<Block> {
    let headings = lines.iter().filter(|l| is_heading(prompt[l.start..l.end].trim_start())).count();
    let mut found: Vec<Block> = Vec::new();
    let (mut open, mut listing, mut diff, mut pasted, mut trace) = (false, false, false, false, false);
    for line in lines {
        let full = &prompt[line.start..line.end];
        let text = full.trim();
        if line.apart {
            // What was announced is the fence itself.
            (open, diff, pasted) = (false, false, false);
        }
        if text.is_empty() {
            (open, diff, trace) = (false, false, false);
            continue;
        }
        if is_heading(text) {
            if headings >= 2 {
                break;
            }
            (open, listing) = (false, false);
            continue;
        }
        if pasted && !is_quote(text) && !is_machine(text) {
            break;
        }
        let (bullet, indent) = (bullet(text), full.len() - full.trim_start().len());
        diff |= text.starts_with("@@") || text.starts_with("diff --git") || text.starts_with("+++ ");
        trace |= is_trace(text);
        let code = bullet == 0 && (full.starts_with('\t') || indent >= 4);
        if code || trace || is_quote(text) || is_machine(text) || diff && matches!(text.as_bytes()[0], b'+' | b'-') {
            (open, pasted) = (false, false);
            continue;
        }
        if bullet == 0 && !open {
            listing &= found.last().is_some_and(|b| prompt[b.range.clone()].ends_with(':'));
        }
        let start = line.start + indent + bullet;
        let end = line.start + full.trim_end().len();
        let wrapped = open
            && bullet == 0
            && !line.cut.0
            && found.last().is_some_and(|b| {
                let before = &prompt[b.range.clone()];
                let last = before.rsplit('\n').next().unwrap_or(before);
                let goes_on = text.chars().next().is_some_and(|c| c.is_lowercase());
                last.len() >= WRAPPED && goes_on && !before.ends_with(['.', '!', '?', ':'])
            });
        match found.last_mut() {
            Some(last) if wrapped => {
                last.range.end = end;
                last.cut.1 = line.cut.1;
            }
            _ => found.push(Block { range: start..end, cut: line.cut, listed: listing && bullet > 0 }),
        }
        open = !line.cut.1;
        if text.ends_with([':', '：']) {
            listing = announces_rules(text);
            pasted = !listing && announces_paste(text);
        }
    }
    found
}

fn is_heading(text: &str) -> bool {
    let level = run_of(text.as_bytes(), b'#');
    (1..=6).contains(&level) && text[level..].starts_with(' ')
}

fn is_quote(text: &str) -> bool {
    text.starts_with('>') || text.starts_with('|')
}

/// Length of the bullet or number an item begins with.
fn bullet(text: &str) -> usize {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let mark = if digits == 0 {
        ["- [ ] ", "- [x] ", "- ", "* ", "• ", "– ", "+ "].iter().find(|m| text.starts_with(**m)).map_or(0, |m| m.len())
    } else if digits <= 2 && (rest.starts_with(". ") || rest.starts_with(") ")) {
        digits + 2
    } else {
        0
    };
    if mark == 0 { 0 } else { mark + text[mark..].len() - text[mark..].trim_start().len() }
}

/// A line no person typed as a sentence: code, a log, a table, JSON, a shell prompt.
fn is_machine(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts =
        ["//", "/*", "*/", "#!", "$ ", "% ", ">>>", "--- ", "+++", "{", "}", "[{", "[\"", "\":", "@@", "diff ", "at "];
    if starts.iter().any(|s| text.starts_with(s)) || text.ends_with('{') || text.ends_with("};") || text.ends_with(");")
    {
        return !text.starts_with("at ") || text.contains('(') && text.contains(':');
    }
    // A time, a level, an error's name.
    let stamp = bytes.first().is_some_and(u8::is_ascii_digit)
        && text.bytes().take(12).filter(|b| matches!(b, b':' | b'-' | b'/')).count() >= 2;
    let bracket = bytes[0] == b'[' && text.contains(']') && !text.starts_with("[ ]");
    let level = text.split_ascii_whitespace().take(5).any(|w| {
        let w = w.trim_matches(|c: char| !c.is_ascii_alphabetic());
        matches!(w, "INFO" | "WARN" | "WARNING" | "ERROR" | "DEBUG" | "TRACE" | "FATAL" | "FAILED" | "PANIC")
    });
    let error = text.split_ascii_whitespace().next().is_some_and(|w| {
        let w = w.trim_end_matches(':');
        ["Error", "Exception", "error", "warning"].iter().any(|e| w.ends_with(e)) && text[w.len()..].starts_with(':')
    });
    if stamp || bracket || level || error {
        return true;
    }
    let odd =
        text.bytes().filter(|b| b.is_ascii_punctuation() && !matches!(b, b'.' | b',' | b'\'' | b'"' | b'`')).count();
    odd * 4 > text.len().max(8)
}

/// A stack trace begins; it goes on to the next blank line.
fn is_trace(text: &str) -> bool {
    text.starts_with("Traceback (") || text.starts_with("thread '") || text.starts_with("Caused by:")
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|w| !w.is_empty()).map(str::to_lowercase)
}

/// "From now on:", "My preferences:", "House rules:".
fn announces_rules(text: &str) -> bool {
    let low = text.to_lowercase();
    let standing = ["from now on", "going forward", "ab jetzt", "désormais", "a partir de ahora"];
    let mine = words!("my ground house standing general meine mes mis");
    let rules =
        words!("preferences rules habits preference style vorlieben regeln préférences règles preferencias reglas");
    let all: Vec<String> = words(&low).collect();
    let told = |list: &Words| all.iter().any(|w| list.has(w));
    all.len() <= 10 && (standing.iter().any(|s| low.contains(s)) || told(mine) && told(rules))
}

/// "Here is the error:", "The docs say:", "Reply to this e-mail:": what follows was written by somebody else.
fn announces_paste(text: &str) -> bool {
    let last = text.rsplit(['.', '!', '?']).next().unwrap_or(text);
    let announce = words!(
        "say says said saying told wrote writes reads states claims error errors output log logs prompt prompts docs \
         documentation readme message messages file files following text email e-mail mail issue ticket spec \
         specification paste pasted content contents document guidelines guideline response answer example examples \
         article post comment review transcript conversation chat quote snippet input translate summarize summarise \
         rewrite proofread story letter bio persona schreibt sagt folgende folgenden fehler nachricht dit écrit \
         suivant texte dice siguiente texto mensaje"
    );
    words(last).any(|w| announce.has(&w))
}

/// What stands in quotation marks or a code span.
fn quotations(prompt: &str, block: &Range<usize>) -> Vec<Range<usize>> {
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
    let text = &prompt[block.clone()];
    let ascii = text.is_ascii();
    let mut found = Vec::new();
    for (open, close) in PAIRS {
        if ascii && !open.is_ascii() || !text.contains(open) {
            continue;
        }
        let (mut from, mut before) = (None, ' ');
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let after = chars.peek().map_or(' ', |(_, c)| *c);
            match from {
                None if c == open && !before.is_alphanumeric() && !after.is_whitespace() => from = Some(at),
                Some(start) if c == close && !before.is_whitespace() && !after.is_alphanumeric() => {
                    found.push(block.start + start..block.start + at + c.len_utf8());
                    from = None;
                }
                _ => {}
            }
            before = c;
        }
    }
    found
}

fn merged(masks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for mask in masks {
        match out.last_mut() {
            Some(last) if mask.start < last.end => last.end = last.end.max(mask.end),
            _ => out.push(mask),
        }
    }
    out
}

fn covered(masks: &[Range<usize>], at: usize) -> bool {
    let i = masks.partition_point(|m| m.end <= at);
    masks.get(i).is_some_and(|m| m.start <= at)
}

/// Where the sentences of a block lie, trimmed; what was cut at either end is dropped.
fn split(prompt: &str, block: &Block, masks: &[Range<usize>]) -> Vec<Range<usize>> {
    let text = &prompt[block.range.clone()];
    let (mut found, mut start, mut first) = (Vec::new(), 0, true);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let wide = matches!(c, '。' | '！' | '？');
        if !wide && !matches!(c, '.' | '!' | '?' | '…') || covered(masks, block.range.start + at) {
            continue;
        }
        let after = chars.peek().map_or(' ', |(_, c)| *c);
        let closes = matches!(after, ')' | ']' | '*' | '_' | '"' | '”');
        if wide && !matches!(after, '。' | '！' | '？')
            || after.is_whitespace() && !(c == '.' && abbreviates(&text[start..at]))
            || closes && c != '.'
        {
            let past = end + if closes { after.len_utf8() } else { 0 };
            if !(first && block.cut.0) {
                found.push((start, past));
            }
            (start, first) = (past, false);
            if closes {
                chars.next();
            }
        }
    }
    if !(block.cut.1 || first && block.cut.0) {
        found.push((start, text.len()));
    }
    let trimmed = found.into_iter().map(|(start, end)| {
        let sentence = text[start..end].trim();
        let from = block.range.start + start + text[start..end].len() - text[start..end].trim_start().len();
        from..from + sentence.len()
    });
    trimmed.filter(|r| !r.is_empty()).collect()
}

fn abbreviates(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or(before).to_lowercase();
    words!("e.g i.e vs mr mrs ms dr prof z.b d.h u.a bzw ca approx incl p.ej sr sra p.ex st no nr cf").has(&word)
        || word.chars().count() == 1 && word.chars().all(|c| c.is_alphabetic() && c != 'i')
}

/// The words and marks of a sentence.
fn tokens(prompt: &str, range: Range<usize>, masks: &[Range<usize>]) -> Vec<Token> {
    let text = &prompt[range.clone()];
    let mut found = Vec::new();
    let mut mark = |from: usize, to: usize, word: bool| {
        let raw = &text[from..to];
        let low = match raw.is_ascii() {
            true => raw.to_ascii_lowercase(),
            false => raw.to_lowercase().replace(['’', '‘', 'ʼ'], "'"),
        };
        let start = range.start + from;
        let name = word && is_name(raw) || text[to..].starts_with("()");
        found.push(Token {
            hash: hash(&low),
            low,
            start,
            end: range.start + to,
            word,
            name,
            quoted: covered(masks, start),
        });
    };
    let apart = |c: char| c.is_whitespace() || matches!(c, '—' | '–' | '…' | '，' | '、' | '；' | '：' | '。');
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '@' | '#' | '$' | '+');
    let mut at = 0;
    for chunk in text.split_inclusive(apart) {
        let last = chunk.chars().next_back().filter(|c| apart(*c));
        let body = &chunk[..chunk.len() - last.map_or(0, char::len_utf8)];
        let lead = body.find(inner).unwrap_or(body.len());
        let tail = body.rfind(inner).map_or(lead, |i| i + body[i..].chars().next().map_or(0, char::len_utf8));
        for (i, c) in body[..lead].char_indices() {
            mark(at + i, at + i + c.len_utf8(), false);
        }
        if lead < tail {
            mark(at + lead, at + tail, true);
        }
        for (i, c) in body[tail..].char_indices() {
            mark(at + tail + i, at + tail + i + c.len_utf8(), false);
        }
        if let Some(c) = last.filter(|c| !c.is_whitespace()) {
            mark(at + body.len(), at + body.len() + c.len_utf8(), false);
        }
        at += chunk.len();
    }
    found
}

/// `src/main.rs`, `foo_bar`, `Foo::bar`, `fooBar`, `--flag`.
fn is_name(word: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'\'' | b'-');
    let (first, rest) = word.as_bytes().split_at(1.min(word.len()));
    if first.iter().all(u8::is_ascii_alphanumeric) && rest.iter().all(plain) {
        return false;
    }
    let lower_camel = word.chars().next().is_some_and(char::is_lowercase)
        && word.chars().any(char::is_uppercase)
        && !words!("macOS iOS iPadOS iPhone iPad eBay npmJS jQuery gRPC").has(word)
        && !word.contains(['-', '\'', '’', '/']);
    let file = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && words!(
                "c cfg conf cpp css csv env go h html java js json jsx lock log md mjs py \
        rb rs sh sql toml ts tsx txt vue xml yaml yml"
            )
            .has(end)
    });
    let path = word.starts_with(['/', '~', '@', '$', '#']) || word.matches('/').count() >= 2 && !word.contains("they");
    lower_camel || file || path || word.contains('_') || word.contains("::") || word.contains("->")
}
