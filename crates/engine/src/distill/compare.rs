//! How good a distillate is, held against the summary the program's own model wrote of the same turns.
//!
//! The summary is read by its headings (Claude's numbered sections, Markdown headings, bold lines) for the files it
//! names as changed, what it calls pending, and what the user directed. Nothing is judged by taste: a thing is found
//! where an item shares its ids or most of its words.

use std::collections::HashMap;

use super::Said;
use super::deterministic::{JOIN, Words, acts, is_follow_up, lower, plain};
use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::scope::TurnId;

/// One thing the summary names.
#[derive(Clone, PartialEq, Debug)]
pub struct Named {
    pub text: String,
    /// Its words are somewhere in the turns; what the model saw elsewhere nobody can find.
    pub in_turns: bool,
    /// What of the distillate has it.
    pub found: Option<String>,
    /// It also survived into the handoff.
    pub told: bool,
}

/// A summary and a distillate side by side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Files the summary names as changed.
    pub files: Vec<Named>,
    pub pending: Vec<Named>,
    /// What the user directed, without "yes" and "continue".
    pub directives: Vec<Named>,
    pub summary_tokens: usize,
    pub handoff_tokens: usize,
    /// Items, or parts of them, that are not in the turns they name.
    pub invented: Vec<String>,
}

impl Comparison {
    /// How many of those that are in the turns were found, and how many there are.
    pub fn found(named: &[Named]) -> (usize, usize) {
        let there = named.iter().filter(|n| n.in_turns);
        (there.clone().filter(|n| n.found.is_some()).count(), there.count())
    }
}

/// Tokens, roughly: a quarter of the bytes.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Holds a distillate of `turns`, and the handoff rendered from it, against a program's summary of them.
pub fn compare(summary: &str, distillate: &Distillate, handoff: &str, turns: &[Said]) -> Comparison {
    let sections = sections(body(summary));
    let whole = Whole::of(turns);
    let told = spaced(handoff);
    let mut comparison = Comparison {
        summary_tokens: tokens(summary),
        handoff_tokens: tokens(handoff),
        invented: invented(distillate, &whole),
        ..Default::default()
    };
    for path in changed(&sections) {
        let found = distillate.files.iter().find(|f| f.touch != Touch::Read && same_path(&f.path, &path));
        let name = path.rsplit('/').next().unwrap_or(&path);
        comparison.files.push(Named {
            in_turns: whole.has(name),
            told: found.is_some() && told.contains(&spaced(name)),
            found: found.map(|f| f.path.clone()),
            text: path,
        });
    }
    let open = [&distillate.open_loops, &distillate.in_progress, &distillate.next_steps, &distillate.blocked];
    let open: Vec<&Item> = open.into_iter().flatten().chain(&distillate.goal).collect();
    for text in items(&sections, Topic::Pending).into_iter().filter(|t| !is_nothing(t)) {
        comparison.pending.push(named(head(&text), false, &open, &told, &whole));
    }
    let said = [
        &distillate.constraints,
        &distillate.decisions,
        &distillate.open_loops,
        &distillate.context,
        &distillate.next_steps,
    ];
    let said: Vec<&Item> = distillate.goal.iter().chain(said.into_iter().flatten()).collect();
    for text in items(&sections, Topic::Prompts).into_iter().chain(items(&sections, Topic::Rules)) {
        let words = quoted(&text);
        if words.starts_with('(') || is_nothing(words) || is_follow_up(words) {
            continue;
        }
        comparison.directives.push(named(words.to_owned(), true, &said, &told, &whole));
    }
    comparison
}

fn named(text: String, verbatim: bool, items: &[&Item], told: &str, whole: &Whole) -> Named {
    let bag = Words::of(&text);
    let fits = items.iter().map(|i| (*i, Words::of(&i.text))).filter(|(_, b)| is_found(&bag, b));
    let found = fits.max_by_key(|(_, b)| (100 * bag.shared(b)).saturating_sub(b.len().min(99))).map(|(i, _)| i);
    Named {
        in_turns: if verbatim { whole.has(&text) } else { whole.has_most(&bag) },
        told: found.is_some_and(|i| told.contains(spaced(&i.text).trim_end_matches(' '))),
        found: found.map(|i| i.text.clone()),
        text,
    }
}

/// The same ticket, or at least half of the words.
fn is_found(wanted: &Words, item: &Words) -> bool {
    if wanted.ids.iter().any(|id| item.ids.binary_search(id).is_ok()) {
        return true;
    }
    !wanted.is_empty() && 2 * wanted.shared(item) >= wanted.len()
}

fn is_nothing(text: &str) -> bool {
    let low = lower(text);
    low.len() < 3
        || ["none", "no pending", "no explicit", "nothing", "all tasks", "n/a"].iter().any(|n| low.starts_with(n))
}

/// The name of a task: what stands before the explanation.
fn head(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words[..words.len().min(24)].join(" ")
}

/// What a bullet of "all user messages" quotes.
fn quoted(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('“', '”')] {
        if let Some(from) = text.find(open).map(|i| i + open.len_utf8())
            && let Some(length) = text[from..].rfind(close).filter(|l| *l > 2)
        {
            return &text[from..from + length];
        }
    }
    text
}

fn same_path(one: &str, other: &str) -> bool {
    one == other || one.ends_with(&format!("/{other}")) || other.ends_with(&format!("/{one}"))
}

/// What a section is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Topic {
    Files,
    Prompts,
    Pending,
    Rules,
    Other,
}

struct Section<'s> {
    topic: Topic,
    lines: Vec<&'s str>,
}

/// The summary proper: without what the program or the model wrote before it.
fn body(summary: &str) -> &str {
    let inner = summary.split_once("<summary>").map_or(summary, |(_, s)| s);
    let inner = inner.split_once("</summary>").map_or(inner, |(s, _)| s);
    match inner.split_once("\nSummary:\n") {
        Some((_, rest)) => rest,
        None => inner,
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut found = vec![Section { topic: Topic::Other, lines: Vec::new() }];
    let mut fenced = false;
    // A numbered list inside a section has items; where sections are numbered, their titles end with a colon.
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let title = if line.starts_with('#') {
            Some(line.trim_start_matches('#').trim())
        } else if line.starts_with("**")
            && (line.trim_end().ends_with("**") || line.trim_end().ends_with("**:") || line.trim_end().ends_with(":"))
        {
            Some(line)
        } else {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            line[digits..]
                .strip_prefix(". ")
                .filter(|t| digits > 0 && t.len() < 80 && t.trim_end().trim_end_matches('*').ends_with(':'))
        };
        match title {
            Some(title) => found.push(Section { topic: topic(title), lines: Vec::new() }),
            None => found.last_mut().expect("there is a first").lines.push(line),
        }
    }
    found
}

fn topic(title: &str) -> Topic {
    let low = lower(title);
    let has = |words: &[&str]| words.iter().any(|w| low.contains(w));
    if has(&["user message", "user prompts", "user requests"]) {
        Topic::Prompts
    } else if has(&["file", "code section", "changes made"]) {
        Topic::Files
    } else if has(&[
        "pending",
        "todo",
        "to-do",
        "remaining",
        "open task",
        "open loop",
        "unfinished",
        "outstanding",
        "in progress",
    ]) {
        Topic::Pending
    } else if has(&["constraint", "preference", "user instruction", "user directive", "guideline", "rules"]) {
        Topic::Rules
    } else {
        Topic::Other
    }
}

/// Length of a bullet or number with the blanks before it.
fn bullet(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match trimmed
        .strip_prefix("- ")
        .or_else(|| trimmed.strip_prefix("* "))
        .or_else(|| trimmed.strip_prefix("• "))
    {
        Some(rest) => rest,
        None if digits > 0 => trimmed[digits..].strip_prefix(". ").or_else(|| trimmed[digits..].strip_prefix(") "))?,
        None => return None,
    };
    Some((indent, rest.trim_start_matches("[ ] ").trim()))
}

/// The outermost bullets of the sections on a topic, or their lines where there are none.
fn items(sections: &[Section], topic: Topic) -> Vec<String> {
    let mut found = Vec::new();
    for section in sections.iter().filter(|s| s.topic == topic) {
        let bullets: Vec<(usize, &str)> = section.lines.iter().filter_map(|l| bullet(l)).collect();
        let outermost = bullets.iter().map(|(i, _)| *i).min().unwrap_or(0);
        let own = bullets.iter().filter(|(i, t)| *i == outermost && !t.contains("[x]")).map(|(_, t)| plain(t));
        found.extend(own);
        if bullets.is_empty() {
            found.extend(section.lines.iter().map(|l| plain(l)).filter(|l| l.len() > 3));
        }
    }
    found.truncate(200);
    found
}

/// Paths the summary names as changed.
fn changed(sections: &[Section]) -> Vec<String> {
    const CHANGE: [&str; 34] = [
        "added",
        "add ",
        "modified",
        "created",
        "new ",
        "updated",
        "edited",
        "changed",
        "change ",
        "removed",
        "deleted",
        "renamed",
        "refactored",
        "implemented",
        "registered",
        "made ",
        "wrote",
        "written",
        "rewrote",
        "rewritten",
        "fixed",
        "replaced",
        "moved",
        "extended",
        "wired",
        "introduced",
        "adds ",
        "switched",
        "converted",
        "extracted",
        "bumped",
        "dropped",
        "now ",
        "moved to",
    ];
    const READ: [&str; 9] = [
        "read ",
        "reviewed",
        "examined",
        "for context",
        "reference",
        "inspected",
        "unchanged",
        "not modified",
        "looked at",
    ];
    let mut found: Vec<String> = Vec::new();
    let about_files = sections.iter().any(|s| s.topic == Topic::Files);
    for section in sections.iter().filter(|s| !about_files || s.topic == Topic::Files) {
        // A path with what is said of it, up to the next path that begins a bullet.
        let mut blocks: Vec<(Vec<String>, String)> = Vec::new();
        let outermost = section.lines.iter().filter_map(|l| bullet(l)).map(|(i, _)| i).min().unwrap_or(0);
        for line in &section.lines {
            let here = bullet(line);
            let begins = here.is_none_or(|(indent, _)| indent == outermost);
            let paths = if begins { paths(here.map_or(*line, |(_, t)| t), about_files) } else { Vec::new() };
            if !paths.is_empty() {
                blocks.push((paths, lower(line)));
            } else if let Some(last) = blocks.last_mut() {
                last.1.push('\n');
                last.1.push_str(&lower(line));
            }
        }
        for (paths, said) in blocks {
            let change = CHANGE.iter().any(|c| said.contains(c));
            let read = READ.iter().any(|r| said.contains(r));
            if change || about_files && !read {
                for path in paths {
                    if !found.iter().any(|f| same_path(f, &path)) {
                        found.push(path);
                    }
                }
            }
        }
    }
    found
}

/// Paths at the beginning of a bullet; elsewhere in a line they are only mentioned.
fn paths(text: &str, bare: bool) -> Vec<String> {
    let head =
        text.split(" — ").next().unwrap_or(text).split(" - ").next().unwrap_or(text).split(": ").next().unwrap_or(text);
    let mut found = Vec::new();
    for (at, word) in head.split_whitespace().enumerate() {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '_' | '~'))
            .trim_end_matches(['.', ':']);
        let name = word.rsplit('/').next().unwrap_or(word);
        let extension = name.rsplit_once('.').is_some_and(|(stem, end)| {
            (!stem.is_empty() || word.contains('/'))
                && (1..=8).contains(&end.len())
                && end.bytes().all(|b| b.is_ascii_alphanumeric())
                && !end.bytes().all(|b| b.is_ascii_digit())
        });
        let path = extension && !word.contains("://") && !word.contains(['(', ')', '*', '{', '=']);
        if path && (word.contains('/') || bare && at < 3) {
            found.push(word.trim_start_matches("./").to_owned());
        }
    }
    found
}

/// The turns' words, to look for items in.
struct Whole {
    by_turn: HashMap<TurnId, String>,
    all: Vec<(Words, ())>,
}

impl Whole {
    fn of(turns: &[Said]) -> Whole {
        let own = |s: &&Said| s.kind != crate::event::TurnKind::CompactSummary;
        let by_turn = turns.iter().filter(own).map(|s| (s.id, spaced(&s.text))).collect();
        let all =
            turns.iter().filter(own).filter(|s| s.text.len() < 64 * 1024).map(|s| (Words::of(&s.text), ())).collect();
        Whole { by_turn, all }
    }

    fn has(&self, text: &str) -> bool {
        let words = spaced(text);
        self.by_turn.values().any(|t| t.contains(&words))
    }

    /// Whether one turn has most of these words.
    fn has_most(&self, wanted: &Words) -> bool {
        self.all.iter().any(|(words, ())| is_found(wanted, words))
    }
}

/// Lower-case words with one blank between and around them.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for c in lower(text).chars() {
        // What `plain` takes out parts no words.
        if c == '*' || acts(c) && !c.is_whitespace() {
            continue;
        }
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
    out
}

/// Parts of items that are in none of the turns they name. Items of turns that are not here cannot be judged.
fn invented(distillate: &Distillate, whole: &Whole) -> Vec<String> {
    let mut found = Vec::new();
    let lists = distillate.lists();
    let items = lists.iter().flat_map(|(_, l)| l.iter()).map(|i| (&i.text, &i.turns));
    for (text, turns) in items.chain(distillate.proposals.iter().map(|p| (&p.text, &p.turns))) {
        let texts: Vec<&String> = turns.iter().filter_map(|t| whole.by_turn.get(t)).collect();
        if texts.is_empty() {
            continue;
        }
        for piece in text.split(JOIN).flat_map(|p| p.split('…')).flat_map(|p| p.split("[redacted:")) {
            let words = spaced(piece);
            // A cut may have left half a word at the end; a redacted piece begins with what was put there.
            let whole_words = words.trim();
            if whole_words.is_empty() || text.contains("[redacted:") {
                continue;
            }
            let words = format!(" {whole_words} ");
            if !texts.iter().any(|t| t.contains(&words) || text.contains('…') && t.contains(words.trim_end())) {
                found.push(format!("{piece} ({text})"));
            }
        }
    }
    for file in &distillate.files {
        let name = spaced(file.path.rsplit('/').next().unwrap_or(&file.path));
        let texts: Vec<&String> = file.turns.iter().filter_map(|t| whole.by_turn.get(t)).collect();
        // A file a commit made is named in the commit's result, the turn behind the call.
        if !texts.is_empty()
            && !texts.iter().any(|t| t.contains(&name))
            && !whole.by_turn.values().any(|t| t.contains(&name))
        {
            found.push(file.path.clone());
        }
    }
    found
}
