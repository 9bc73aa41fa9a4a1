//! What of a turn its speaker said in their own words, as paragraphs and items. Left out: code, quotations, tagged spans,
//! tables, logs. One pass over at most [`MOST`] bytes of a turn.

use super::cues;
use super::words::lower;

/// Of a longer turn, half of this from either end is read.
const MOST: usize = 24 * 1024;
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

/// A paragraph line or item as it was written.
pub struct Block {
    pub raw: String,
    pub bullet: bool,
    pub ticked: Option<bool>,
    pub under: Under,
    pub pasted: bool,
    pub paragraph: usize,
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

/// The paragraphs and items of a text, in order.
pub fn blocks(text: &str) -> Vec<Block> {
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
        ("- [ ] ", Some(false)),
        ("* [ ] ", Some(false)),
        ("- [x] ", Some(true)),
        ("- [X] ", Some(true)),
        ("* [x] ", Some(true)),
        ("[ ] ", Some(false)),
        ("[x] ", Some(true)),
        ("- ✅ ", Some(true)),
        ("✅ ", Some(true)),
        ("✓ ", Some(true)),
        ("✔ ", Some(true)),
        ("☑ ", Some(true)),
        ("☐ ", Some(false)),
        ("- ☐ ", Some(false)),
        ("- ", None),
        ("* ", None),
        ("• ", None),
        ("– ", None),
        ("+ ", None),
        ("→ ", None),
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
    if has(
        "next steps|next step|what's next|whats next|up next|coming up|nächste schritte|nächster schritt|prochaines étapes|próximos pasos|where to go from here",
    ) {
        Under::Next
    } else if has(
        "remaining|todo|todos|to do|to-do|open questions|open items|open issues|open points|open loops|pending|left to do|still to do|still open|outstanding|not done|not yet|follow-ups|follow-up|known issues|blockers|offen|offene punkte|restant|reste à faire|pendiente|pendientes",
    ) {
        Under::Open
    } else if has("decisions|decision|decided|entscheidungen|décisions|decisiones") {
        Under::Decisions
    } else if has(
        "rules|rule|constraints|constraint|requirements|preferences|guidelines|conventions|ground rules|important|must|regeln|anforderungen|vorgaben|règles|contraintes|exigences|reglas|requisitos|restricciones|from now on|keep in mind|don'ts|non-goals",
    ) {
        Under::Rules
    } else if has(
        "summary|changes|what i did|what was done|what changed|done|completed|implemented|results|result|fixed|added|accomplished|so far|highlights|in place|zusammenfassung|änderungen|erledigt|résumé|fait|modifications|resumen|hecho|cambios",
    ) {
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
        "//",
        "/*",
        "*/",
        "#!",
        "$ ",
        "% ",
        ">>>",
        "--- ",
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
        .filter(|b| {
            b.is_ascii_punctuation() && !matches!(b, b'.' | b',' | b'\'' | b'"' | b'`' | b'*' | b'-' | b'_' | b'/')
        })
        .count();
    odd * 4 > line.len().max(16)
}
