//! What of a turn its speaker said in their own words, cut into sentences. Left out: code, quotations, tagged spans,
//! tables, logs. One pass over at most [`MOST`] bytes of a turn.

use std::cell::OnceCell;

use super::cues::{self, Cue, Hit};
use super::words::{Bag, Word, lower, plain, words};

/// Of a longer turn, half of this from either end is read.
const MOST: usize = 24 * 1024;
/// In bytes; what is longer is cut into several.
const LONGEST: usize = 1000;
/// A line that ends near the margin and goes on in lower case was wrapped.
const WRAPPED: usize = 56;

/// What a sentence stands under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Under {
    Nothing,
    Done,
    Next,
    Open,
    Rules,
    Decisions,
    /// Any other heading or announcement.
    Other,
}

/// A sentence, or an item of a list.
#[derive(Debug)]
pub struct Sentence {
    /// One plain line; not yet redacted or bounded.
    pub text: String,
    low: String,
    words: Vec<Word>,
    hits: OnceCell<Vec<Hit>>,
    starts: OnceCell<Vec<(usize, u64)>>,
    /// An item of a list.
    pub bullet: bool,
    /// Ticked, or to be ticked.
    pub ticked: Option<bool>,
    pub under: Under,
    /// What stands behind "the error is:" may be somebody else's.
    pub pasted: bool,
    /// The first of its paragraph or item.
    pub first: bool,
    /// Of the last paragraph.
    pub last: bool,
    paragraph: usize,
}

impl Sentence {
    fn new(text: String, block: &Block, first: bool) -> Sentence {
        let low = lower(&text);
        let words = words(&low);
        Sentence {
            text,
            low,
            words,
            hits: OnceCell::new(),
            starts: OnceCell::new(),
            bullet: block.bullet,
            ticked: block.ticked,
            under: block.under,
            pasted: block.pasted,
            first,
            last: false,
            paragraph: block.paragraph,
        }
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |w| &self.low[w.from as usize..w.to as usize])
    }

    /// The text in lower case.
    pub fn low(&self) -> &str {
        &self.low
    }

    pub fn quoted(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|w| w.quoted)
    }

    /// Whether one of the phrases (parted by `|`) stands in the sentence as whole words, quoted or not.
    pub fn says(&self, phrases: &'static str) -> bool {
        cues::say(&self.low, self.starts.get_or_init(|| cues::starts(&self.low)), phrases)
    }

    pub fn bag(&self) -> Bag {
        Bag::of_words(&self.low, &self.words)
    }

    /// The cues outside quotations, in order.
    pub fn hits(&self) -> &[Hit] {
        self.hits.get_or_init(|| cues::find(self))
    }

    pub fn has(&self, cue: Cue) -> bool {
        self.hits().iter().any(|h| h.cue == cue)
    }

    pub fn hit(&self, cue: Cue) -> Option<Hit> {
        self.hits().iter().find(|h| h.cue == cue).copied()
    }

    /// Where the statement begins, behind "please", "also", "ok".
    pub fn start(&self) -> usize {
        let mut at = 0;
        while let Some(hit) = self.hits().iter().find(|h| h.cue == Cue::Lead && h.from == at) {
            at = hit.to;
        }
        if at >= self.len() { 0 } else { at }
    }

    /// Whether a cue begins the statement.
    pub fn begins(&self, cue: Cue) -> bool {
        let start = self.start();
        self.hits().iter().any(|h| h.cue == cue && (h.from == start || h.from == 0))
    }

    /// Whether a cue of that kind stands before the word.
    pub fn before(&self, cue: Cue, at: usize) -> bool {
        self.hits().iter().any(|h| h.cue == cue && h.from < at)
    }

    pub fn asks(&self) -> bool {
        self.text.trim_end_matches(['"', '”', ')', '*', '_', ' ', '!']).ends_with(['?', '？'])
    }

    /// The text from a word on.
    pub fn from_word(&self, at: usize) -> &str {
        let from = self.words.get(at).map_or(0, |w| w.from as usize);
        // Lower case may be of another length; then the whole sentence must do.
        let same = self.low.len() == self.text.len();
        if same { self.text.get(from..).unwrap_or(&self.text) } else { &self.text }
    }

    /// What stands between a word and the one before it.
    fn gap(&self, at: usize) -> &str {
        match (at.checked_sub(1).and_then(|b| self.words.get(b)), self.words.get(at)) {
            (Some(before), Some(word)) => &self.low[before.to as usize..word.from as usize],
            _ => "",
        }
    }

    /// Whether a clause begins at the word: behind a mark or a conjunction.
    pub fn joint(&self, at: usize) -> bool {
        at == 0
            || self.gap(at).contains([',', ';', ':', '—', '–', '(', '.', '!'])
            || self.gap(at).contains(" - ")
            || matches!(self.word(at - 1), "and" | "but" | "und" | "aber" | "et" | "mais" | "y" | "pero" | "then" | "so" | "oder" | "or")
    }

    /// Where the clause of a word begins.
    pub fn clause_of(&self, at: usize) -> usize {
        (0..=at).rev().find(|i| self.joint(*i)).unwrap_or(0)
    }

    /// Whether the word begins its clause, but for "please" and the like.
    pub fn clause_starts(&self, at: usize) -> bool {
        let mut from = self.clause_of(at);
        while from < at {
            let lead = self.hits().iter().find(|h| matches!(h.cue, Cue::Lead | Cue::Besides) && h.from == from && h.to <= at);
            match lead {
                Some(hit) => from = hit.to,
                None => break,
            }
        }
        let you = matches!(self.word(from), "you" | "we" | "du" | "wir" | "tu" | "vous" | "nous");
        from >= at || you && from + 1 == at && self.joint(from)
    }

    /// Whether nobody else is said to do it: "always run" against "the server always runs".
    pub fn subjectless(&self, at: usize) -> bool {
        self.clause_starts(at)
    }

    /// Whether a new clause has begun since the supposition before the word.
    pub fn joint_before(&self, at: usize) -> bool {
        let last = self.hits().iter().rev().find(|h| h.cue == Cue::Hypothesis && h.from < at).map_or(0, |h| h.to);
        (last..=at).any(|i| i > last && self.gap(i).contains([',', ';', ':']))
    }

    /// Whether the word is followed by another with nothing but a blank between.
    pub fn adjoins(&self, at: usize) -> bool {
        self.gap(at + 1) == " "
    }

    /// Whether the word stands in brackets.
    pub fn in_brackets(&self, at: usize) -> bool {
        let before = self.words.get(at).map_or("", |w| &self.low[..w.from as usize]);
        before.matches('(').count() > before.matches(')').count()
    }

    /// Whether something is asked for before the word.
    pub fn before_is_request(&self, at: usize) -> bool {
        self.hits().iter().any(|h| matches!(h.cue, Cue::Task | Cue::Request) && h.from < at)
    }

    /// Whether the other sentence stands right behind in the same paragraph line.
    pub fn follows(&self, next: &Sentence) -> bool {
        self.paragraph == next.paragraph && !next.bullet && !next.first
    }

    /// Most of it is in quotation marks.
    pub fn is_quotation(&self) -> bool {
        let quoted = self.words.iter().filter(|w| w.quoted).count();
        quoted > 2 && 5 * quoted >= 4 * self.words.len()
    }
}

/// A paragraph line or item as it was written.
struct Block {
    raw: String,
    bullet: bool,
    ticked: Option<bool>,
    under: Under,
    pasted: bool,
    paragraph: usize,
}

/// The sentences of a turn, in order.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for part in ends(text) {
        let from = found.len();
        for block in blocks(part) {
            split(&block, &mut found);
        }
        if let Some(last) = found.get(from..).and_then(|f| f.last()).map(|s: &Sentence| s.paragraph) {
            found[from..].iter_mut().for_each(|s| s.last = s.paragraph == last);
        }
    }
    found
}

/// The text, or both ends of a long one.
pub fn ends(text: &str) -> Vec<&str> {
    bounded(text, MOST)
}

/// The text, or both ends of one longer than `most`, cut at lines where there are any.
pub fn bounded(text: &str, most: usize) -> Vec<&str> {
    if text.len() <= most {
        return vec![text];
    }
    let (mut head, mut tail) = (most / 2, text.len() - most / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let head = text[..head].rsplit_once('\n').map_or(&text[..head], |(whole, _)| whole);
    let tail = text[tail..].split_once('\n').map_or(&text[tail..], |(_, whole)| whole);
    vec![head, tail]
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut heading, mut announced) = (Under::Nothing, Under::Nothing);
    let (mut open, mut paragraph, mut listing, mut diff) = (false, 0, false, false);
    // Something pasted was announced; it stands behind the next empty line, or up to it.
    let (mut announces, mut pasted) = (false, false);
    let mut fence: Option<(u8, usize)> = None;
    // Tags nothing closes; after a few the text is no markup and is not searched again.
    let mut unclosed = 0;
    let mut at = 0;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i);
        let full = text[at..end].trim_end();
        let trimmed = full.trim_start();
        let (start, indent) = (at, full.len() - trimmed.len());
        at = end + 1;
        let mark = trimmed.bytes().next().unwrap_or(0);
        if fence.is_some() || matches!(mark, b'`' | b'~') {
            let run = trimmed.bytes().take_while(|b| *b == mark).count();
            if let Some((open_mark, length)) = fence {
                if mark == open_mark && run >= length && trimmed.len() == run {
                    fence = None;
                }
                continue;
            }
            if run >= 3 && !trimmed[run..].contains('`') {
                // What was announced is the fence itself.
                (fence, open, announces) = (Some((mark, run)), false, false);
                continue;
            }
        }
        if trimmed.is_empty() {
            (open, diff) = (false, false);
            paragraph += 1;
            if announces {
                (announces, pasted) = (false, true);
            }
            continue;
        }
        if mark == b'<' && unclosed < 8 {
            if let Some(past) = tagged(&text[start + indent..]) {
                at = start + indent + past;
                open = false;
                continue;
            }
            unclosed += 1;
        }
        if let Some(title) = heading_of(trimmed) {
            heading = under(title);
            (announced, open, listing, announces, pasted) = (Under::Nothing, false, false, false, false);
            paragraph += 1;
            continue;
        }
        diff |= trimmed.starts_with("@@") || trimmed.starts_with("diff --git");
        let (bullet, ticked) = bullet(trimmed);
        let code = bullet == 0 && indent >= 4 && !listing && !open || full.starts_with('\t') && bullet == 0 && !listing;
        if code || matches!(mark, b'>' | b'|') || diff && matches!(mark, b'+' | b'-') || is_machine(trimmed) {
            open = false;
            announces = false;
            continue;
        }
        let body = trimmed[bullet..].trim();
        listing = bullet > 0 || listing && indent > 0;
        if bullet == 0 && indent == 0 {
            announced = Under::Nothing;
        }
        let standing = if announced == Under::Nothing { heading } else { announced };
        let wrapped = open
            && bullet == 0
            && found.last().is_some_and(|b| {
                let last = b.raw.rsplit('\n').next().unwrap_or(&b.raw);
                last.len() >= WRAPPED
                    && !b.raw.ends_with(['.', '!', '?', ':'])
                    && (body.chars().next().is_some_and(|c| c.is_lowercase() || matches!(c, '`' | '(')))
            });
        match found.last_mut() {
            Some(last) if wrapped => {
                last.raw.push('\n');
                last.raw.push_str(body);
            }
            _ => {
                let raw = body.to_owned();
                found.push(Block { raw, bullet: bullet > 0, ticked, under: standing, pasted, paragraph });
            }
        }
        open = true;
        if body.ends_with([':', '：']) || body.ends_with(":**") {
            announced = under(body);
            announces = bullet == 0 && announces_paste(body);
        } else if announces && bullet == 0 {
            // "The error is:" and the error on the next line.
            if let Some(last) = found.last_mut() {
                last.pasted = true;
            }
        }
    }
    found
}

/// The end of a tagged span that begins the text.
fn tagged(text: &str) -> Option<usize> {
    let name: usize = text[1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')).count();
    if name == 0 || name > 48 || !text.as_bytes()[1].is_ascii_alphabetic() {
        return None;
    }
    let close = format!("</{}>", &text[1..=name]);
    memchr::memmem::find(text.as_bytes(), close.as_bytes()).map(|i| i + close.len())
}

fn heading_of(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&level) && line[level..].starts_with(' ') {
        return Some(line[level..].trim());
    }
    // A line of emphasis alone: **Next steps** or **Next steps:**
    let inner = line.strip_prefix("**")?.strip_suffix("**")?;
    (inner.len() <= 60 && !inner.contains("**") && !inner.ends_with(['.', '!', '?'])).then_some(inner)
}

/// Length of the bullet or number an item begins with, and whether it is ticked.
fn bullet(line: &str) -> (usize, Option<bool>) {
    let marks: [(&str, Option<bool>); 20] = [
        ("- [ ] ", Some(false)), ("* [ ] ", Some(false)), ("- [x] ", Some(true)), ("- [X] ", Some(true)),
        ("* [x] ", Some(true)), ("[ ] ", Some(false)), ("[x] ", Some(true)), ("- ✅ ", Some(true)), ("✅ ", Some(true)),
        ("✓ ", Some(true)), ("✔ ", Some(true)), ("☑ ", Some(true)), ("☐ ", Some(false)), ("- ☐ ", Some(false)),
        ("- ", None), ("* ", None), ("• ", None), ("– ", None), ("+ ", None), ("→ ", None),
    ];
    if let Some((mark, ticked)) = marks.iter().find(|(m, _)| line.starts_with(m)) {
        return (mark.len(), *ticked);
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    if (1..=2).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        return (digits + 2, None);
    }
    (0, None)
}

fn under(title: &str) -> Under {
    if title.len() > 120 {
        return Under::Other;
    }
    let low = lower(title);
    let has = |list: &str| cues::stands(&low, list);
    if has("next steps|next step|what's next|whats next|up next|coming up|nächste schritte|nächster schritt|prochaines étapes|próximos pasos|where to go from here") {
        Under::Next
    } else if has("remaining|todo|todos|to do|to-do|open questions|open items|open issues|open points|open loops|pending|left to do|still to do|still open|outstanding|not done|not yet|follow-ups|follow-up|known issues|blockers|offen|offene punkte|restant|reste à faire|pendiente|pendientes") {
        Under::Open
    } else if has("decisions|decision|decided|entscheidungen|décisions|decisiones") {
        Under::Decisions
    } else if has("rules|rule|constraints|constraint|requirements|preferences|guidelines|conventions|ground rules|important|must|regeln|anforderungen|vorgaben|règles|contraintes|exigences|reglas|requisitos|restricciones|from now on|keep in mind|don'ts|non-goals") {
        Under::Rules
    } else if has("summary|changes|what i did|what was done|what changed|done|completed|implemented|results|result|fixed|added|accomplished|so far|highlights|zusammenfassung|änderungen|erledigt|résumé|fait|modifications|resumen|hecho|cambios") {
        Under::Done
    } else {
        Under::Other
    }
}

/// "The error message is:", "Bob wrote:": what follows is not the speaker's.
fn announces_paste(line: &str) -> bool {
    let low = lower(line);
    cues::stands(
        &low,
        "says|said|wrote|writes|error|errors|output|log|logs|prompt|traceback|stack trace|message|messages|email|e-mail|\
         mail|issue|ticket|paste|pasted|article|readme|docs|documentation|transcript|post|comment|response|reply|answer|\
         text|file|content|schreibt|schrieb|fehler|ausgabe|nachricht|écrit|erreur|texte|dice|escribió|mensaje|texto|salida",
    )
}

/// A line no person typed as a sentence: code, a log, JSON, a shell prompt.
fn is_machine(line: &str) -> bool {
    const STARTS: [&str; 22] = [
        "//", "/*", "*/", "#!", "$ ", "% ", ">>>", "--- ", "+++", "{", "}", "[{", "[\"", "\":", "@@", "diff ", "---",
        "===", "Traceback (", "File \"", "[Request", "[Image",
    ];
    if STARTS.iter().any(|s| line.starts_with(s)) || ["{", "};", ");", "],", "},"].iter().any(|e| line.ends_with(e)) {
        return true;
    }
    if line.starts_with("at ") && line.contains('(') && line.contains(':') {
        return true;
    }
    let bytes = line.as_bytes();
    let stamp = bytes[0].is_ascii_digit()
        && bytes.iter().take(12).filter(|b| matches!(b, b':' | b'-' | b'/')).count() >= 2
        && bytes.iter().take(8).filter(|b| b.is_ascii_digit()).count() >= 4;
    let level = line.split_ascii_whitespace().take(4).any(|w| {
        let w = w.trim_matches(|c: char| !c.is_ascii_alphabetic());
        matches!(w, "INFO" | "WARN" | "WARNING" | "ERROR" | "DEBUG" | "TRACE" | "FATAL" | "PANIC")
    });
    let first = line.split_ascii_whitespace().next().unwrap_or("");
    let error = first.strip_suffix(':').is_some_and(|w| {
        ["Error", "Exception", "error", "warning", "fatal"].iter().any(|e| w.ends_with(e)) || w.starts_with("error[")
    });
    if stamp || level || error {
        return true;
    }
    let odd = bytes
        .iter()
        .filter(|b| b.is_ascii_punctuation() && !matches!(b, b'.' | b',' | b'\'' | b'"' | b'`' | b'*' | b'-' | b'_' | b'/'))
        .count();
    odd * 4 > line.len().max(16)
}

/// Cuts a block into sentences.
fn split(block: &Block, found: &mut Vec<Sentence>) {
    let text = plain(&block.raw);
    let (mut start, mut first, mut code, mut depth) = (0, true, false, 0_u32);
    let mut chars = text.char_indices().peekable();
    let take = |part: &str, first: &mut bool, found: &mut Vec<Sentence>| {
        let part = part.trim();
        if part.chars().any(char::is_alphanumeric) {
            found.push(Sentence::new(part.to_owned(), block, *first));
            *first = false;
        }
    };
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        match c {
            '`' => code = !code,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let wide = matches!(c, '。' | '！' | '？');
        let stop = matches!(c, '.' | '!' | '?' | '…');
        let long = end - start > LONGEST && c == ' ';
        if long {
            (code, depth) = (false, 0);
        } else if code || depth > 0 || !wide && !stop {
            continue;
        } else if stop {
            let after = chars.peek().map_or(' ', |(_, c)| *c);
            let closes = matches!(after, '"' | '”' | '»') && text[end + after.len_utf8()..].starts_with([' ']);
            if !after.is_whitespace() && !closes || c == '.' && abbreviates(&text[start..at]) {
                continue;
            }
            if closes {
                chars.next();
                take(&text[start..end + after.len_utf8()], &mut first, found);
                start = end + after.len_utf8();
                continue;
            }
        }
        take(&text[start..end], &mut first, found);
        start = end;
    }
    take(&text[start..], &mut first, found);
}

fn abbreviates(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or(before).to_lowercase();
    matches!(
        word.as_str(),
        "e.g" | "i.e" | "vs" | "mr" | "mrs" | "ms" | "dr" | "prof" | "z.b" | "d.h" | "u.a" | "bzw" | "ca" | "approx"
            | "incl" | "p.ej" | "sr" | "sra" | "p.ex" | "st" | "nr" | "cf" | "etc" | "usw" | "no" | "fig" | "mio"
    ) && !(word == "no" && before.len() <= 3)
        || word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i"
        // "am 14. November", "2. do this"
        || (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}
