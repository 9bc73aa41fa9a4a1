//! Words: plain text as an item shows it, and bags of stems by which two statements are compared.

use std::sync::LazyLock;

use super::cues::{self, HashedSet};
use crate::lineage::distillate::LONGEST_ITEM;

/// A word of a sentence, as a range of its lower-case text.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub from: u32,
    pub to: u32,
    /// By which it is looked up.
    pub hash: u64,
    /// Inside quotation marks or a code span.
    pub quoted: bool,
}

/// One line for people: white space collapsed, emphasis taken out, nothing a terminal would act upon.
pub fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let odd = |b: &u8| !matches!(b, b' '..=b'~') || *b == b'*';
    if !bytes.iter().any(odd) && !bytes.windows(2).any(|w| w == b"  ") {
        return text.trim_matches(' ').to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut code, mut starred, mut before) = (false, false, ' ');
    while let Some(c) = chars.next() {
        let c = if c.is_whitespace() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') { ' ' } else { c };
        if acts(c) || c == ' ' && (out.is_empty() || before == ' ') {
            continue;
        }
        if c == '`' {
            code = !code;
        }
        if c == '*' && !code {
            let after = chars.peek().copied().unwrap_or(' ');
            if after == '*' {
                chars.next();
                continue;
            }
            // Emphasis opens before a letter and closes behind one; `*.rs` and `2 * 3` are none.
            let opens = !starred && after.is_alphanumeric() && !before.is_alphanumeric() && before != '/';
            if opens || starred && before != ' ' && !after.is_alphanumeric() {
                starred = !starred;
                continue;
            }
        }
        out.push(c);
        before = c;
    }
    out.truncate(out.trim_end().len());
    out
}

/// Control characters, and those that turn or hide text.
pub fn acts(c: char) -> bool {
    c != ' ' && c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{ad}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What an item may say: one plain line without credentials, at most [`LONGEST_ITEM`] bytes.
pub fn line(text: &str) -> String {
    cut(&crate::redact::redact(&plain(text)), LONGEST_ITEM)
}

/// At most `most` bytes, cut at a word, with an ellipsis where something is missing.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    let whole = if text[end..].starts_with(' ') { head } else { head.rsplit_once(' ').map_or(head, |(h, _)| h) };
    // A text without spaces is cut where it must be.
    let whole = if whole.len() * 2 < head.len() { head } else { whole };
    format!("{}…", whole.trim_end_matches([' ', ',', ';', ':', '(', '`']))
}

/// Lower case with straight apostrophes, in which words are looked for.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.to_lowercase().replace(['’', '‘', 'ʼ'], "'")
}

const PAIRS: [(char, char); 7] =
    [('`', '`'), ('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('\'', '\'')];

/// The words of a lower-case text.
pub fn words(low: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::with_capacity(low.len() / 6 + 1);
    // The end of the quotation that is open; a mark that was looked for in vain is not looked for again.
    let (mut quoted_to, mut alone) = (0, [false; PAIRS.len()]);
    let (mut start, mut before, mut at) = (None, ' ', 0);
    let word = |from: usize, to: usize, quoted_to: usize| Word {
        from: from as u32,
        to: to as u32,
        hash: cues::hash(&low[from..to]),
        quoted: from < quoted_to,
    };
    let bytes = low.as_bytes();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    while at < low.len() {
        // Nothing happens inside a run of plain letters.
        let run = bytes[at..].iter().take_while(|b| plain(b)).count();
        if run > 0 {
            start = start.or(Some(at));
            at += run;
            before = char::from(bytes[at - 1]);
            continue;
        }
        let mut chars = low[at..].chars();
        let c = chars.next().unwrap_or(' ');
        let after = chars.next().unwrap_or(' ');
        let letter = c.is_alphanumeric() || c == '_';
        if !letter && at >= quoted_to && !before.is_alphanumeric() && !after.is_whitespace() {
            for (i, (open, close)) in PAIRS.iter().enumerate() {
                if c == *open && !alone[i] {
                    let rest = &low[at + c.len_utf8()..];
                    match closing(rest, *close) {
                        Some(length) => quoted_to = at + c.len_utf8() + length,
                        None => alone[i] = true,
                    }
                    break;
                }
            }
        }
        let inner = matches!(c, '\'' | '-' | '.' | '/' | ':' | '#' | '@' | '+' | '&')
            && start.is_some()
            && (after.is_alphanumeric() || after == '_' || matches!(c, '/' | ':') && matches!(after, '/' | ':'));
        let leads = matches!(c, '#' | '@' | '/' | '~' | '.')
            && start.is_none()
            && !before.is_alphanumeric()
            && (after.is_alphanumeric() || after == '_' || c == '~' && after == '/');
        match start {
            None if letter || leads => start = Some(at),
            Some(from) if !letter && !inner => {
                found.push(word(from, at, quoted_to));
                start = None;
            }
            _ => {}
        }
        before = c;
        at += c.len_utf8();
    }
    if let Some(from) = start {
        found.push(word(from, low.len(), quoted_to));
    }
    found
}

/// Where a quotation is closed: at a mark with no letter behind it.
fn closing(rest: &str, close: char) -> Option<usize> {
    rest.match_indices(close)
        .find(|(i, m)| !rest[i + m.len()..].chars().next().is_some_and(char::is_alphanumeric))
        .map(|(i, _)| i)
}

/// Stems and ids of a statement, sorted.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Bag {
    pub stems: Vec<u64>,
    /// Words that name one thing: `gqc.4`, `#12`, `parser.rs`, `task 3`.
    pub ids: Vec<u64>,
}

impl Bag {
    pub fn of(text: &str) -> Bag {
        let low = lower(text);
        Bag::of_words(&low, &words(&low))
    }

    pub fn of_words(low: &str, words: &[Word]) -> Bag {
        let mut bag = Bag::default();
        for (i, word) in words.iter().enumerate() {
            let text = &low[word.from as usize..word.to as usize];
            let bare = text.trim_start_matches(['#', '@', '/', '~', '.']);
            // Plain letters are no number and no name.
            if text.bytes().all(|b| b.is_ascii_alphabetic()) {
                if text.len() > 1 && !STOP.contains(&word.hash) {
                    bag.stems.push(stem(text));
                }
                continue;
            }
            let number = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
            if number {
                let before = i.checked_sub(1).map(|b| &low[words[b].from as usize..words[b].to as usize]);
                if text.starts_with('#') {
                    bag.ids.push(hash(&["#", bare]));
                } else if let Some(counted) = before.filter(|b| COUNTED.contains(b)) {
                    bag.ids.push(hash(&[counted, bare]));
                }
            } else if is_id(bare) {
                bag.ids.push(hash(&[bare]));
                // `spotter-gqc.4` is also called `gqc.4`, `src/parser.rs` also `parser.rs`.
                let tail = bare.rsplit(['-', '/', '#']).next().unwrap_or(bare);
                if tail.len() < bare.len() && is_id(tail) {
                    bag.ids.push(hash(&[tail]));
                }
            } else if !STOP.contains(&cues::hash(bare)) && bare.chars().count() > 1 {
                bag.stems.push(stem(bare));
            }
        }
        for list in [&mut bag.stems, &mut bag.ids] {
            list.sort_unstable();
            list.dedup();
        }
        bag
    }

    pub fn is_empty(&self) -> bool {
        self.stems.is_empty() && self.ids.is_empty()
    }

    pub fn len(&self) -> usize {
        self.stems.len() + self.ids.len()
    }

    /// How many stems and ids both have.
    pub fn shared(&self, other: &Bag) -> usize {
        common(&self.stems, &other.stems) + common(&self.ids, &other.ids)
    }

    /// Whether two statements say the same: nearly all words in common, and no id that only one of them has.
    pub fn is_like(&self, other: &Bag) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        // The cheap questions first: this is asked of every pair.
        if self.ids != other.ids || 4 * self.len().min(other.len()) < 3 * self.len().max(other.len()) {
            return false;
        }
        let shared = self.shared(other);
        4 * shared >= 3 * (self.len() + other.len() - shared)
    }

    /// Whether this statement, of something done, settles that one, of something to be done.
    pub fn settles(&self, open: &Bag) -> bool {
        if !open.ids.is_empty() && common(&self.ids, &open.ids) == open.ids.len() {
            return open.stems.len() < 3 || common(&self.stems, &open.stems) > 0 || open.ids.len() > 1;
        }
        let shared = self.shared(open);
        open.ids.is_empty() && shared >= 2.min(open.len()) && 2 * shared >= open.len() && shared > 0
            || !open.ids.is_empty() && shared >= 3 && 3 * shared >= 2 * open.len()
    }
}

const COUNTED: [&str; 14] = [
    "task",
    "step",
    "phase",
    "part",
    "issue",
    "pr",
    "ticket",
    "milestone",
    "chapter",
    "option",
    "item",
    "schritt",
    "étape",
    "paso",
];

/// A file, a ticket, a version, a commit: a word with digits or a dot inside.
pub fn is_id(word: &str) -> bool {
    if word.len() < 2 || word.len() > 80 || word.contains("://") {
        return false;
    }
    let digit = word.bytes().any(|b| b.is_ascii_digit());
    let letter = word.chars().any(char::is_alphabetic);
    let dotted = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && !matches!(word, "e.g" | "i.e" | "z.b" | "d.h")
    });
    digit && (letter || word.contains(['.', '-', ':'])) && !is_ordinal(word)
        || letter && (dotted || word.contains('_') || word.contains("::"))
}

fn is_ordinal(word: &str) -> bool {
    let end = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    matches!(end, "st" | "nd" | "rd" | "th" | "s" | "ms" | "k" | "m" | "x" | "kb" | "mb" | "gb" | "h" | "min" | "%")
}

fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut found) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, found) = (i + 1, j + 1, found + 1),
        }
    }
    found
}

/// FNV-1a: small and the same everywhere.
fn hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|p| p.bytes().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The word without its endings, roughly: "tests", "tested" and "testing" are one.
fn stem(word: &str) -> u64 {
    let irregular = match word {
        "wrote" | "written" | "writing" => "write",
        "ran" => "run",
        "sent" => "send",
        "built" => "build",
        "made" => "make",
        "chose" | "chosen" => "choose",
        "bought" => "buy",
        "paid" => "pay",
        "found" => "find",
        "told" => "tell",
        "kept" => "keep",
        other => other,
    };
    let mut base = irregular.trim_end_matches("'s");
    if base.is_ascii() && base.len() > 4 {
        for end in ["ing", "ed", "es", "s"] {
            if let Some(rest) = base.strip_suffix(end).filter(|r| r.len() >= 3 && !(end == "s" && r.ends_with('s'))) {
                base = rest;
                let bytes = base.as_bytes();
                let n = bytes.len();
                if end.len() > 1 && n > 3 && bytes[n - 1] == bytes[n - 2] && !matches!(bytes[n - 1], b's' | b'l') {
                    base = &base[..n - 1];
                }
                break;
            }
        }
    } else if base.len() == 4 && base.ends_with('s') && base.is_ascii() && !base.ends_with("ss") {
        base = &base[..3];
    }
    if base.len() > 3 {
        base = base.strip_suffix('e').unwrap_or(base);
    }
    let end = base.char_indices().nth(9).map_or(base.len(), |(i, _)| i);
    hash(&[&base[..end]])
}

static STOP: LazyLock<HashedSet> = LazyLock::new(|| {
    "a an the this that these those it its it's is are was were be been being am i i'm i'll i've i'd you you're your \
     we we're we've we'll our us my me mine he she they them their his her to of in on at by for with from into onto \
     as and or but so if then than also just now let let's me's there here what which who when where how why do does \
     did has have had will would can could should may might must shall not don't doesn't didn't isn't aren't wasn't \
     can't won't please all any some no yes ok okay up out over about again still very too only more most much one \
     two first next later after before once while because since via per etc both each every such same other another \
     need needs needed want wants get got go going done \
     der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden hat haben ich du \
     wir ihr sie er es mir mich dir uns nicht kein keine auch noch nur schon dann wenn als wie was zu zum zur im in am \
     an auf für mit von bei aus bitte jetzt \
     le la les un une des du de et ou mais est sont je tu nous vous il elle ils on ne pas que qui pour dans sur avec \
     par ce cette ces mon ma mes votre notre au aux se sa son \
     el los las una unos unas y o pero es son yo tú nosotros no que para por con en del al lo su sus mi se esto este \
     esta"
        .split_ascii_whitespace()
        .map(cues::hash)
        .collect()
});
