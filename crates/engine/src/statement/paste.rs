//! Recognises pasted text by its shape: terminal prompts, logs, code without fences, documents.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::source::source_lines;
use crate::text::blocks::Block;
use crate::text::words::Word;

/// Signs of pasted text in the form of a sentence and of the lines around it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Shape {
    /// Whether a line that was left out as code, log or table is directly before the sentence, or directly after it.
    pub after_machine: bool,
    pub before_machine: bool,
    /// The share of lines so far that were machine output, in quarters.
    pub machine: u8,
    /// Whether the sentence is a terminal prompt, or comes anywhere after one.
    pub terminal: bool,
    pub behind_terminal: bool,
    /// A terminal or a program printed it: see [`recorded`].
    pub recorded: bool,
    /// It stands in a pasted page: see [`recorded`].
    pub page: bool,
    /// It stands in a shell's here-document: see [`here_documents`].
    pub here_document: bool,
    /// In a mail, after the first of two lines of its head.
    pub mail: bool,
    /// Whether the sentence follows a line that announces pasted text: "The error is:".
    pub announced: bool,
    pub may_be_announced: bool,
    /// Whether the sentence is in a document with several headings.
    pub document: bool,
    /// The share of signs and names of code in the sentence, in eighths.
    pub code: u8,
    /// Whether the line is a setting: `key: value`, `NAME=value`, a path or an address alone.
    pub setting: bool,
    /// Whether the line contains a time stamp.
    pub stamp: bool,
    /// The larger `code` of the sentences before and after this one.
    pub near: u8,
}

/// The state while the blocks of a message are read in order.
#[derive(Default)]
pub struct Scan {
    machine: usize,
    lines: usize,
    after_machine: bool,
    terminal: bool,
    /// Number of lines so far that look like the head of a mail.
    heads: usize,
}

impl Scan {
    /// Counts the lines between two blocks, which were left out.
    pub fn pass(&mut self, gap: &str) {
        let left_out = machine_lines(gap);
        self.machine += left_out;
        self.lines += left_out;
        self.after_machine = left_out > 0;
        self.terminal |= left_out > 0 && gap.lines().any(|line| is_terminal(line.trim()));
    }

    /// Returns the shape of a block; `after` is the text between the block and the next.
    pub fn shape(&mut self, said: &str, line: &str, block: &Block, after: &str) -> Shape {
        let terminal = is_terminal(line);
        self.heads += said.lines().filter(|line| heads_mail(line)).count();
        let shape = Shape {
            mail: self.heads > 1,
            after_machine: self.after_machine,
            before_machine: machine_lines(after) > 0,
            machine: (4 * self.machine / (self.lines + 1)) as u8,
            terminal,
            behind_terminal: self.terminal,
            recorded: false,
            page: false,
            here_document: false,
            announced: block.pasted,
            may_be_announced: block.behind_paste,
            document: block.document,
            setting: is_setting(line),
            stamp: has_stamp(line),
            code: 0,
            near: 0,
        };
        self.terminal |= terminal;
        self.lines += 1 + said.matches('\n').count();
        if terminal {
            self.machine += 1;
        }
        shape
    }
}

impl Shape {
    /// Returns the shape of one sentence of the block.
    pub fn of(self, text: &str, words: &[Word], length: usize) -> Shape {
        let odd = words.iter().filter(|w| is_code(text.get(w.start..w.end).unwrap_or(""))).count();
        let signs = text
            .bytes()
            .filter(|b| matches!(b, b'{' | b'}' | b'[' | b']' | b'=' | b'<' | b'>' | b'|' | b';' | b'\\' | b'#' | b'$'))
            .count();
        let code = (8 * (odd + signs) / (length + 1)).min(8) as u8;
        Shape { code, ..self }
    }
}

/// Fewest lines that begin alike, or are equal, before they count as printed by a program.
const ALIKE: usize = 3;

/// Most lines between two equal lines of one pasted page.
const APART: usize = 8;

/// Pasted parts of a person's message, as ranges of bytes in order.
#[derive(Default)]
pub struct Recorded {
    printed: Vec<Range<usize>>,
    page: Vec<Range<usize>>,
    here_documents: Vec<Range<usize>>,
}

impl Recorded {
    /// Whether a terminal or a program printed the text at this byte.
    pub fn is_printed(&self, at: usize) -> bool {
        has(&self.printed, at)
    }

    /// Whether the text at this byte stands in a shell's here-document.
    pub fn is_here_document(&self, at: usize) -> bool {
        has(&self.here_documents, at)
    }

    /// Whether the text at this byte stands in a pasted page.
    pub fn is_page(&self, at: usize) -> bool {
        has(&self.page, at)
    }
}

fn has(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

/// Whether a line was copied from a browser's console, where Chromium ends each message with a link, or from a
/// database: `ERROR:  …`, `HINT:  …`, `LINE 14: …`, `SQL state: 42883`, or from a log.
fn is_console(line: &str) -> bool {
    let linked =
        ["Understand this error", "Understand this warning"].iter().any(|link| line.trim_end().ends_with(link));
    let label = line.split_once(':').map_or("", |(label, _)| label);
    let numbered = label.strip_prefix("LINE ").is_some_and(|no| no.bytes().all(|b| b.is_ascii_digit()));
    let levels = ["ERROR", "FATAL", "WARNING", "WARN", "INFO", "DEBUG"];
    // `INFO:accelerate.utils:We will …`, `WARN[0000] The variable …`, `worker.py:66: FutureWarning: …`
    let logged = levels.iter().any(|level| {
        let rest = line.strip_prefix(level);
        rest.is_some_and(|rest| {
            let name = rest.strip_prefix(':').and_then(|rest| rest.split_once(':')).map_or("", |(name, _)| name);
            let dotted = name.contains(['.', '_']) && !name.contains(' ');
            dotted || rest.strip_prefix('[').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    let warned = line.split_once(": ").is_some_and(|(place, rest)| {
        let placed = place.rsplit_once(':').is_some_and(|(file, no)| {
            file.contains('.') && !file.contains(' ') && !no.is_empty() && no.bytes().all(|b| b.is_ascii_digit())
        });
        placed && rest.split_once(": ").is_some_and(|(kind, _)| kind.ends_with("Warning") || kind.ends_with("Error"))
    });
    // `psycopg.errors.UndefinedTable: …`: a class, unlike `config.yaml: …`.
    let raised = line.split_once(": ").is_some_and(|(class, _)| {
        let dotted = class.contains('.') && class.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
        dotted && class.rsplit('.').next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    linked
        || numbered
        || logged
        || warned
        || raised
        || matches!(label, "ERROR" | "FATAL" | "HINT" | "DETAIL" | "SQL state")
}

/// Returns where a person wrote on in their own script, directly behind a line of a log: `… offloaded to the disk.这个是？`.
fn typed_from(line: &str) -> Option<usize> {
    // Greek, Cyrillic and everything behind them: a log is in Latin letters.
    let is_own = |c: char| c as u32 >= 0x370 && c.is_alphabetic();
    let at = line.find(is_own).filter(|at| *at > 20 && is_console(line))?;
    (line[at..].chars().filter(|c| is_own(*c)).count() >= 3).then_some(at)
}

/// Finds the parts of a person's message that a terminal, a program or a page printed. Seven forms show it: lines between
/// two prompts of a terminal, lines after the last prompt up to a blank line, lines of which several begin alike (`Add -
/// …`), messages of a browser's console, a database or a log, the source of a diagram or of a program, and lines that recur, as the rows of a
/// page do (`Today`, `Normal`). A page has no prompt to mark its ends, so the rest of its paragraph belongs to it, except
/// the first line of the message: people write a sentence and paste below it.
pub fn recorded(text: &str) -> Recorded {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let printed = terminal_lines(&lines);
    let here_documents = here_documents(&lines);
    let diagram = diagram_lines(&lines);
    let source = source_lines(&lines);
    let page = paragraphs_of(&lines, &page_lines(&lines));
    let mut heads: HashMap<(&str, &str), usize> = HashMap::new();
    for head in lines.iter().filter_map(|line| head(line)) {
        *heads.entry(head).or_default() += 1;
    }
    let mut at = 0;
    let mut found = Recorded::default();
    for (i, line) in lines.iter().enumerate() {
        let range = at..at + line.len();
        at = range.end;
        let alike = || head(line).and_then(|head| heads.get(&head)).is_some_and(|n| *n >= ALIKE);
        if here_documents[i] {
            found.here_documents.push(range);
        } else if page[i] {
            found.page.push(range);
        } else if printed[i] || diagram[i] || source[i] || alike() || is_console(line) {
            found.printed.push(range.start..range.start + typed_from(line).unwrap_or(line.len()));
        }
    }
    found
}

/// For each line, whether it belongs to the source of a diagram: `@startuml`, the lines below it, and `@enduml`.
fn diagram_lines(lines: &[&str]) -> Vec<bool> {
    const KINDS: [&str; 6] = ["uml", "mindmap", "wbs", "gantt", "json", "yaml"];
    let marks = |line: &str, mark: &str| {
        let found = line.split_once(mark).map(|(_, rest)| rest);
        found.is_some_and(|rest| KINDS.iter().any(|kind| rest.starts_with(kind)))
    };
    let mut found = vec![false; lines.len()];
    let mut inside = false;
    for (i, line) in lines.iter().enumerate() {
        let begins = marks(line, "@start");
        // A person may write a sentence on the line on which the diagram begins.
        found[i] = inside || begins && line.trim_start().starts_with('@');
        inside = (inside || begins) && !marks(line, "@end");
    }
    found
}

/// Extends the rows of a page to their paragraph, except to the first line of the message.
fn paragraphs_of(lines: &[&str], rows: &[bool]) -> Vec<bool> {
    let mut page = rows.to_vec();
    let mut from = 0;
    for paragraph in lines.chunk_by(|a, b| !a.trim().is_empty() && !b.trim().is_empty()) {
        let to = from + paragraph.len();
        if rows[from..to].contains(&true) {
            page[from.max(1)..to].fill(true);
        }
        from = to;
    }
    page
}

/// For each line, whether it belongs to a shell's here-document: `cat > run.py << 'EOF'`, the lines below it, and `EOF`.
pub fn here_documents(lines: &[&str]) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let mut from = 0;
    while from < lines.len() {
        let end = delimiter(lines[from])
            .and_then(|word| lines[from + 1..].iter().position(|line| line.trim() == word).map(|n| from + 1 + n));
        if let Some(end) = end {
            found[from..=end].fill(true);
            from = end;
        }
        from += 1;
    }
    found
}

/// Returns the word that ends the here-document which a line begins: `EOF` for `cat > run.py <<-'EOF'`.
fn delimiter(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("<<")?;
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start().trim_start_matches(['\'', '"', '\\']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// For each line, whether it stands between two prompts of a terminal, or after the last one with no blank line between.
fn terminal_lines(lines: &[&str]) -> Vec<bool> {
    let prompts: Vec<usize> = (0..lines.len()).filter(|i| is_terminal(lines[*i].trim())).collect();
    let mut printed = vec![false; lines.len()];
    if let (Some(first), Some(last)) = (prompts.first(), prompts.last()) {
        let end = (*last..lines.len()).take_while(|i| i == last || !lines[*i].trim().is_empty()).last();
        (*first..=end.unwrap_or(*last)).for_each(|i| printed[i] = true);
    }
    printed
}

/// For each line, whether it is a row of a page: it, or lines a few rows above and below it, recur. Lines of states recur
/// by their first word: `Update - …`, `Investigating - …`, `Update - …`.
fn page_lines(lines: &[&str]) -> Vec<bool> {
    let mut page = vec![false; lines.len()];
    let states: Vec<(usize, &str)> =
        (0..lines.len()).filter_map(|i| head(lines[i]).filter(|h| h.1 == "-").map(|h| (i, h.0))).collect();
    let words: HashSet<&str> = states.iter().map(|(_, word)| *word).collect();
    if states.len() >= ALIKE && words.len() < states.len() {
        states.iter().for_each(|(i, _)| page[*i] = true);
    }
    let mut rows: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(char::is_alphabetic)) {
        rows.entry(line.trim()).or_default().push(i);
    }
    for rows in rows.values().filter(|rows| rows.len() >= ALIKE) {
        for pair in rows.windows(2).filter(|pair| pair[1] - pair[0] <= APART) {
            (pair[0]..=pair[1]).for_each(|i| page[i] = true);
        }
    }
    page
}

/// Returns the first two words of a line, if the second one is a sign or a number.
fn head(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_ascii_whitespace();
    let head = words.next().zip(words.next())?;
    let is_word = head.0.starts_with(char::is_alphabetic) && !head.1.contains(char::is_alphabetic);
    (is_word && words.next().is_some()).then_some(head)
}

fn machine_lines(gap: &str) -> usize {
    let bullet = |line: &str| {
        line.chars().all(|c| {
            c.is_ascii_digit()
                || matches!(
                    c,
                    '-' | '*'
                        | '•'
                        | '–'
                        | '+'
                        | '→'
                        | '.'
                        | ')'
                        | ' '
                        | '['
                        | ']'
                        | 'x'
                        | 'X'
                        | '✅'
                        | '✓'
                        | '✔'
                        | '☑'
                        | '☐'
                        | '☒'
                        | '⬜'
                        | '\u{fe0f}'
                )
        })
    };
    gap.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#') && !bullet(line)).count()
}

/// Whether a line begins with a terminal's prompt: `user@host:~$ ls`, `PS C:\>`, `C:\work> dir`, `host:dir user$`.
pub fn is_terminal(line: &str) -> bool {
    let first = line.split_ascii_whitespace().next().unwrap_or("");
    let drive = line.as_bytes().get(..3).is_some_and(|b| b[0].is_ascii_uppercase() && b[1] == b':' && b[2] == b'\\');
    let host = first.contains('@') && first.find('@').is_some_and(|at| at > 0) && !first.starts_with('@');
    line.starts_with("PS ") && line.contains('>')
        || drive && line.contains('>')
        || host && (first.ends_with(['$', '#', '%']) || first.contains(':') && line.contains(['$', '#']))
        || host && line.split_ascii_whitespace().take(4).any(|w| matches!(w, "%" | "$" | "#"))
        || line.starts_with('(') && line.split_once(") ").is_some_and(|(_, rest)| is_terminal_start(rest))
        || matches!(first, "$" | "%" | ">" | "❯" | "➜")
}

fn is_terminal_start(rest: &str) -> bool {
    rest.starts_with(['$', '%']) || rest.contains('@') && rest.contains(['$', '%', '#'])
}

/// Whether a line is a setting: `key: value`, `NAME=value`, a path or an address alone.
fn is_setting(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let (first, second, third) = (words.next().unwrap_or(""), words.next(), words.next());
    let key = |w: &str| {
        !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'"'))
    };
    let named = first.strip_suffix(':').is_some_and(|name| key(name) && name.bytes().any(|b| b.is_ascii_lowercase()));
    named && third.is_none() && first.starts_with(|c: char| c.is_ascii_lowercase())
        || first.split_once('=').is_some_and(|(name, _)| key(name)) && third.is_none()
        || second.is_none() && (first.contains("://") || first.matches('/').count() > 1 || first.contains('\\'))
}

/// Whether a line only gives something its value: "Memory: 160 GB", "Name: `demo`".
pub fn is_pair(line: &str) -> bool {
    let Some((name, value)) = line.split_once(": ") else { return false };
    let words = |text: &str| text.split_whitespace().count();
    (1..=3).contains(&words(name))
        && (1..=3).contains(&words(value))
        && (words(value) == 1 || value.contains(|c: char| c == '`' || c.is_ascii_digit()))
}

/// Whether a line belongs to the head of a mail: `From: …`, `Betreff: …`.
fn heads_mail(line: &str) -> bool {
    const HEADS: [&str; 14] = [
        "From", "To", "Cc", "Sent", "Date", "Subject", "Von", "An", "Gesendet", "Betreff", "Objet", "Asunto",
        "Oggetto", "Envoyé",
    ];
    let head = line.split_once(':').map(|(head, rest)| (head.trim(), rest.starts_with(' ')));
    head.is_some_and(|(head, spaced)| spaced && HEADS.contains(&head))
}

/// Whether a line contains a time of day with seconds: `12:57:03`.
fn has_stamp(line: &str) -> bool {
    line.as_bytes().windows(6).any(|w| {
        w[0].is_ascii_digit()
            && w[1] == b':'
            && w[2].is_ascii_digit()
            && w[3].is_ascii_digit()
            && w[4] == b':'
            && w[5].is_ascii_digit()
    })
}

/// Whether a word is code: a path, a name with signs or with capitals inside.
fn is_code(word: &str) -> bool {
    // A word with `@` names a file that the person attached.
    if word.starts_with('@') {
        return false;
    }
    let inside = word.get(1..).unwrap_or("");
    word.contains(['_', '/', '\\', '=', '@', '<', '>', '{', '}', '(', ')'])
        || word.contains("::")
        || inside.contains(['.', ':'])
        || has_hump(word)
        || word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
        || word.len() > 12 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether a word has a capital after a small letter: `camelCase`.
fn has_hump(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
}

/// Returns invisible characters of this many bytes. Blanks would look like the indentation of code.
fn blank(bytes: usize) -> String {
    let wide = if bytes.is_multiple_of(3) { bytes / 3 } else { (bytes / 3).saturating_sub(1) };
    let narrow = bytes - 3 * wide;
    "\u{200b}".repeat(wide) + &"\u{ad}".repeat(narrow / 2) + if narrow % 2 == 1 { " " } else { "" }
}

/// Removes what programs put around a person's words: the prefix of a mode ("/ask "), the tags of a prompt, the mark of an image. Invisible
/// characters of the same length take its place, so that ranges stay valid.
pub fn unwrapped(text: &str) -> Cow<'_, str> {
    if let Some(apart) = items_apart(text) {
        return Cow::Owned(apart);
    }
    let parted = prompts_apart(text);
    match parted {
        Cow::Borrowed(text) => without_frame(text),
        Cow::Owned(text) => Cow::Owned(without_frame(&text).into_owned()),
    }
}

/// Minimum number of items that show that the line breaks between them were lost.
const GLUED: usize = 3;

/// Puts each item on a line of its own, if a list lost its line breaks: "GOALS :1. Read the page.2. Find the dead
/// link.RULES :- No styles.- No forms." Each break replaces one byte, so that ranges stay valid.
fn items_apart(text: &str) -> Option<String> {
    if text.len() < 120 || text.contains('\n') {
        return None;
    }
    let bytes = text.as_bytes();
    let ends = |at: usize| matches!(bytes[at], b'.' | b':' | b')' | b';');
    let mut breaks = Vec::new();
    let mut items = 0;
    for at in 1..bytes.len().saturating_sub(3) {
        if !ends(at - 1) {
            continue;
        }
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let numbered = (1..=2).contains(&digits) && bytes[at + digits..].starts_with(b". ");
        if bytes[at..].starts_with(b"- ") || numbered {
            items += 1;
            // Replace the full stop before a number, or the hyphen of a bullet.
            breaks.push(if numbered { at - 1 } else { at });
        } else if bytes[at - 1] == b'.' && at > 1 && matches!(bytes[at - 2], b')' | b'a'..=b'z') {
            let mut next = text.get(at..).into_iter().flat_map(str::chars);
            if next.next().is_some_and(char::is_uppercase) && next.next().is_some_and(char::is_alphabetic) {
                breaks.push(at - 1);
            }
        }
    }
    if items < GLUED {
        return None;
    }
    let mut apart = bytes.to_vec();
    breaks.into_iter().for_each(|at| apart[at] = b'\n');
    String::from_utf8(apart).ok()
}

/// Puts a terminal's prompt in the middle of a line on a line of its own: people paste output directly after a
/// sentence.
fn prompts_apart(text: &str) -> Cow<'_, str> {
    let mut apart: Option<String> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // A quick check first: only lines with the sign of a host or of a drive are searched.
        if line.contains(['@', '\\']) && !is_terminal(line.trim()) {
            let blanks = line.match_indices(' ').map(|(i, _)| i).filter(|i| *i > 0).take(LOOKED_AT);
            if let Some(blank) = blanks.into_iter().find(|i| is_host(&line[i + 1..])) {
                apart.get_or_insert_with(|| text.to_owned()).replace_range(at + blank..=at + blank, "\n");
            }
        }
        at += line.len();
    }
    apart.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Maximum number of words of a line at which a prompt is looked for.
const LOOKED_AT: usize = 80;

/// Whether a text begins with a terminal's prompt that names a host or a drive.
fn is_host(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let (first, next) = (words.next().unwrap_or(""), words.take(2));
    let host = first.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    host && (first.ends_with(['$', '#', '%']) || next.into_iter().any(|w| matches!(w, "%" | "$" | "#")))
        || first.as_bytes().get(1..3) == Some(b":\\") && first.contains('>')
}

fn without_frame(text: &str) -> Cow<'_, str> {
    let slash = text.trim_start();
    let from = text.len() - slash.len();
    let mode = ["/ask ", "/code ", "/architect "].into_iter().find(|mode| slash.starts_with(mode));
    let tagged = text.contains("<user_query>");
    if mode.is_none() && !tagged && !text.contains("[Image") {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.to_owned();
    if tagged {
        // Cursor puts the time before a prompt and tags around it.
        for (opens, closes) in [("<timestamp>", "</timestamp>"), ("<user_query>", ">"), ("</user_query>", ">")] {
            let Some(open) = bytes.find(opens) else { continue };
            let Some(close) = bytes[open..].find(closes).map(|i| open + i + closes.len()) else { continue };
            bytes.replace_range(open..close, &blank(close - open));
        }
    }
    if let Some(mode) = mode {
        bytes.replace_range(from..from + mode.len(), &blank(mode.len()));
    }
    let mut at = 0;
    while let Some(open) = bytes[at..].find("[Image").map(|i| at + i) {
        let Some(close) = bytes[open..].find(']').map(|i| open + i + 1).filter(|close| close - open < 200) else {
            break;
        };
        bytes.replace_range(open..close, &blank(close - open));
        at = close;
    }
    Cow::Owned(bytes)
}
