//! Reads the summary a program writes itself when it compacts: its sections become lists. A model wrote it from
//! everything that was said, so its items must be marked as the model's.

use super::{item, line};
use crate::lineage::distillate::{Distillate, Item, Touch, TouchedFile};
use crate::scope::TurnId;

/// Maximum number of items in a section.
const MOST: usize = 16;
/// Maximum bytes of a summary that are read.
const LARGEST: usize = 256 * 1024;

/// The newest summary of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    pub turn: TurnId,
    /// Goal, pending, next, done, decisions, rules, facts and files, from its sections.
    pub distillate: Distillate,
    /// Errors and how they were fixed.
    pub errors: Vec<Item>,
    /// The user's requests, as the program lists them.
    pub asked: Vec<Item>,
}

/// A section, recognised by the headings that programs make their models write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    Goal,
    Open,
    Next,
    Begun,
    Done,
    Blocked,
    Decisions,
    Rules,
    Errors,
    Asked,
    Files,
    Context,
    Other,
}

/// Words of a heading and the section they open; the first that fits counts.
const HEADINGS: &[(&str, Section)] = &[
    ("all user messages", Section::Asked),
    ("user messages", Section::Asked),
    ("pending user ask", Section::Asked),
    ("primary request", Section::Goal),
    ("latest user request", Section::Goal),
    ("original request", Section::Goal),
    ("goal", Section::Goal),
    ("objective", Section::Goal),
    ("pending", Section::Open),
    ("open todo", Section::Open),
    ("todo", Section::Open),
    ("remaining", Section::Open),
    ("what's left", Section::Open),
    ("left to do", Section::Open),
    ("outstanding", Section::Open),
    ("open question", Section::Open),
    ("open issue", Section::Open),
    ("next step", Section::Next),
    ("next action", Section::Next),
    ("current work", Section::Begun),
    ("in progress", Section::Begun),
    ("in-progress", Section::Begun),
    ("current state", Section::Begun),
    ("blocked", Section::Blocked),
    ("blocker", Section::Blocked),
    ("error", Section::Errors),
    ("decision", Section::Decisions),
    ("constraint", Section::Rules),
    ("preference", Section::Rules),
    ("instructions", Section::Rules),
    ("rules", Section::Rules),
    ("accomplished", Section::Done),
    ("completed", Section::Done),
    ("done", Section::Done),
    ("progress", Section::Done),
    ("files", Section::Files),
    ("discover", Section::Context),
    ("critical", Section::Context),
    ("important context", Section::Context),
    ("identifiers", Section::Context),
    ("references", Section::Context),
    ("key learnings", Section::Context),
    ("problem solving", Section::Other),
    ("technical concept", Section::Other),
    ("analysis", Section::Other),
];

/// The end of the paragraph that a program puts in front of its summaries for the next model.
const PREAMBLE: &str = "use the information in this summary to assist with your own analysis:";

/// Beginnings of what programs add behind a summary for the next model.
const BEHIND: [&str; 2] =
    ["If you need specific details from before compaction", "Please continue the conversation from where"];

/// Returns what a program's summary says, without the thinking before it and the instructions around it.
pub fn told(text: &str) -> &str {
    let text = text.split_once(PREAMBLE).map_or(text, |(_, rest)| rest);
    let text = text.rsplit_once("<summary>").map_or(text, |(_, rest)| rest);
    let text = text.split("</summary>").next().unwrap_or(text);
    let text = text.split_once("\nSummary:").map_or(text, |(_, rest)| rest);
    let end = BEHIND.iter().filter_map(|behind| text.find(&format!("\n{behind}"))).min();
    text[..end.unwrap_or(text.len())].trim()
}

/// Parses a summary; `None` if it has no known section.
pub fn parse(text: &str, turn: TurnId) -> Option<Summary> {
    let text = told(&text[..text.floor_char_boundary(LARGEST)]);
    let mut sections: Vec<(Section, Vec<&str>)> = Vec::new();
    let mut fenced = false;
    for row in text.lines() {
        fenced ^= row.trim_start().starts_with("```");
        match heading(row).filter(|_| !fenced) {
            Some((section, rest)) => {
                sections.push((section, Vec::new()));
                if let (Some(rest), Some((_, rows))) = (rest, sections.last_mut()) {
                    rows.push(rest);
                }
            }
            None => {
                if let Some((_, rows)) = sections.last_mut() {
                    rows.push(row);
                }
            }
        }
    }
    let mut out = Summary { turn, distillate: Distillate::default(), errors: Vec::new(), asked: Vec::new() };
    let mut known = false;
    for (section, rows) in &sections {
        let d = &mut out.distillate;
        let list = match section {
            Section::Goal => {
                d.goal = items(rows, turn).into_iter().next().or(d.goal.take());
                known |= d.goal.is_some();
                continue;
            }
            Section::Files => {
                for path in rows.iter().filter_map(|r| path(r)).take(60) {
                    if !d.files.iter().any(|f| f.path == path) {
                        d.files.push(TouchedFile { path, touch: Touch::Read, turns: vec![turn] });
                    }
                }
                continue;
            }
            Section::Open => &mut d.open_loops,
            Section::Next => &mut d.next_steps,
            Section::Begun => &mut d.in_progress,
            Section::Done => &mut d.done,
            Section::Blocked => &mut d.blocked,
            Section::Decisions => &mut d.decisions,
            Section::Rules => &mut d.constraints,
            Section::Errors => &mut out.errors,
            Section::Asked => &mut out.asked,
            Section::Context => &mut d.context,
            Section::Other => continue,
        };
        known = true;
        list.extend(items(rows, turn));
        // For the work in hand, the first lines say what it is; the rest is detail.
        list.truncate(if *section == Section::Begun { 3 } else { MOST });
    }
    known.then_some(out)
}

/// Reads a heading: `## Next steps`, `7. Pending Tasks:`, `**Decisions**`, `Goal: ship it`. Returns its section, and
/// the text after the colon.
fn heading(row: &str) -> Option<(Section, Option<&str>)> {
    if row.starts_with([' ', '\t']) || row.len() > 400 {
        return None;
    }
    let marked = row.starts_with('#') || row.starts_with("**");
    let bare = row.trim_start_matches(['#', '*', ' ']);
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bare = match bare[digits..].strip_prefix('.') {
        Some(rest) if digits > 0 => rest.trim_start().trim_start_matches('*'),
        _ => bare,
    };
    let (title, rest) = match bare.split_once(':') {
        Some((title, rest)) => (title, rest.trim_matches(['*', ' '])),
        None => (bare, ""),
    };
    let title = title.trim_matches(['*', ' ']);
    let titled = title.len() <= 60 && title.split_whitespace().count() <= 7;
    let opens = titled && (marked || bare.contains(':'));
    if !opens {
        return None;
    }
    let low = title.to_lowercase();
    let found = HEADINGS.iter().find(|(word, _)| low.contains(word)).map(|(_, s)| *s);
    // An unknown heading of the same rank ends a section; an unknown `word: text` is text.
    let section = found.or(row.starts_with('#').then_some(Section::Other))?;
    // "Fix: the error" in a paragraph is no heading: a heading without a mark begins with its word and has no text
    // after it.
    let leads = HEADINGS.iter().any(|(word, _)| low.starts_with(word) || low.contains(&format!(" {word}")));
    (marked || digits > 0 || leads && rest.is_empty()).then_some((section, Some(rest).filter(|r| !r.is_empty())))
}

/// Returns the points of a section: its outer bullets with the lines that belong to them, or its paragraphs.
fn items(rows: &[&str], turn: TurnId) -> Vec<Item> {
    let outer = rows.iter().filter_map(|r| bullet(r)).map(|(indent, _)| indent).min();
    let mut texts: Vec<String> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for row in rows {
        if row.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || row.trim().is_empty() {
            open &= !row.trim().is_empty();
            continue;
        }
        match bullet(row) {
            Some((indent, rest)) if Some(indent) == outer => {
                texts.push(rest.trim().to_owned());
                open = true;
            }
            // Inner points are added to an outer point that only announces them.
            Some((_, rest)) => {
                if let Some(last) = texts.last_mut().filter(|t| t.ends_with(':') || t.ends_with(":**")) {
                    last.push(' ');
                    last.push_str(rest.trim());
                    last.push(';');
                }
            }
            None if open => {
                if let Some(last) = texts.last_mut() {
                    last.push(' ');
                    last.push_str(row.trim());
                }
            }
            None => {
                texts.push(row.trim().to_owned());
                open = true;
            }
        }
    }
    let empty = |t: &str| {
        let low = t.trim_matches(['.', '(', ')', '*', '_', ' ']).to_lowercase();
        low.len() < 2
            || low.ends_with([':', '：'])
            || ["none", "n/a", "no prior history", "nothing", "not applicable", "no pending"].iter().any(|e| {
                low == *e
                    || low
                        .strip_prefix(e)
                        .is_some_and(|r| r.len() < 40 && r.starts_with([' ', '.', ',', ';', ':', '-']))
            })
    };
    let texts = texts.iter().map(|t| line(t.trim_start_matches("[ ] ")));
    texts.filter(|t| !empty(t)).take(MOST).filter_map(|t| item(t.trim_end_matches(';'), &[turn])).collect()
}

/// Returns the indent of a bullet or a number, and the text after it.
fn bullet(row: &str) -> Option<(usize, &str)> {
    let text = row.trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text.strip_prefix(['-', '*', '•']).filter(|r| r.starts_with([' ', '*']));
    let rest = rest.or_else(|| text[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0));
    rest.map(|rest| (row.len() - text.len(), rest))
}

/// Returns the path that a row of the section of files is about.
fn path(row: &str) -> Option<String> {
    let row = row.trim_start();
    let bare = row.trim_start_matches(['-', '*', ' ', '#']);
    let told = match bare.strip_prefix('`') {
        Some(rest) => rest.split('`').next()?,
        None if row.len() > bare.len() => bare.split([' ', ':', '*']).next()?,
        None => return None,
    };
    let fits = told.contains(['/', '.']) && !told.contains(char::is_whitespace) && told.len() < 200 && told.len() > 2;
    let ending = told.rsplit('/').next().and_then(|n| n.rsplit_once('.')).map_or("", |(_, end)| end);
    (fits && ending.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| line(told))
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn a_summary_is_read_without_what_programs_put_around_it() {
        let introduced = "Another language model started to solve this problem and produced a summary of its thinking process. \
                     Here is the summary produced by the other language model, use the information in this summary to \
                     assist with your own analysis:\n<analysis>Think.</analysis>\n<summary>\nNext: the report.\n</summary>";
        assert_eq!(told(introduced), "Next: the report.");
        let continued = "This session is being continued from a previous conversation.\n\nAnalysis:\nThink.\n\nSummary:\n\
                      1. Primary Request: the report.\n\nIf you need specific details from before compaction, read the \
                      full transcript at: /x.jsonl";
        assert_eq!(told(continued), "1. Primary Request: the report.");
        assert_eq!(told("Goal: the report.\n"), "Goal: the report.");
    }
}
