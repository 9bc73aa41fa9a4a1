//! The indexed words of a visible file: its title, the readable values of its front matter, and its text. In heads and
//! indexes, text rendered from other files is left out; otherwise every word would be found twice. In other rendered
//! pages only the words taken from their sources are kept, not the words every such page has.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::rows::{parts, scope_token};
use crate::document::Document;
use crate::text::indexed::fold;
use crate::tree::file_table::{Entry, Kind};

/// Front matter keys whose values are for programs, or have a column or a token of their own. `verification:
/// check-before-use` would make every leaf match a question with "use" in it.
const UNSPOKEN: &[&str] =
    &["id", "title", "class", "scope", "flush", "format", "source", "workspace", "verification", "staleness"];

/// A file as it is indexed.
pub(super) struct Words {
    pub title: String,
    pub parts: Vec<String>,
    /// The text for an embedder, without front matter, whose dates pull every vector toward a day.
    pub plain: String,
    pub scope: String,
}

pub(super) fn words(entry: &Entry, doc: &Document) -> Words {
    let mut text = format!("{}\n", entry.path.name());
    for (_, value) in doc.fields().iter().filter(|(key, _)| !UNSPOKEN.contains(&key.as_str())) {
        spoken(value, &mut text);
    }
    if let Some(class) = &entry.class {
        text.push_str(class);
        text.push('\n');
    }
    let body = doc.body();
    let hidden = rendered(entry.kind, doc);
    let seen = (doc.body_line()..).zip(body.split_inclusive('\n'));
    let spoken = seen.filter(|(line, _)| !hidden.iter().any(|lines| lines.contains(line))).map(|(_, words)| words);
    let plain: String = match entry.kind.is_rendered() {
        true => spoken.filter_map(of_source).flat_map(|words| [words, "\n"]).collect(),
        false => spoken.collect(),
    };
    text.push_str(&plain);
    Words {
        title: fold(&entry.title),
        parts: parts(&text).into_iter().map(fold).collect(),
        scope: tokens(entry).join(" "),
        plain,
    }
}

/// Returns the words of a line of a rendered page that come from its source: without the name of its list ("- Still
/// open: …"), counts and ids in brackets. `None` for the title, which has a column of its own, and for lines of counts.
fn of_source(line: &str) -> Option<&str> {
    let line = line.trim();
    let counts = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" · ");
    if line.is_empty() || counts || line.starts_with("# ") {
        return None;
    }
    let line = line.strip_prefix("- ").unwrap_or(line);
    let is_name = |name: &str| {
        name.len() <= 16 && name.starts_with(char::is_uppercase) && name.chars().all(|c| c.is_alphabetic() || c == ' ')
    };
    let mut said = line.split_once(": ").filter(|(name, _)| is_name(name)).map_or(line, |(_, said)| said);
    while let Some((rest, id)) = said.rsplit_once(" [")
        && id.ends_with(']')
        && !id.contains(' ')
    {
        said = rest.trim_end_matches([' ', '·']);
    }
    let counted = |words: &str| words.strip_suffix(" turns").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    Some(said.rsplit_once(" · ").filter(|(_, last)| counted(last)).map_or(said, |(rest, _)| rest))
}

/// Appends a value; a date is also appended as people write it, because questions name dates.
fn spoken(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            match text.get(..10).and_then(|day| day.parse::<jiff::civil::Date>().ok()) {
                Some(date) => out.push_str(&format!("{} {}", &text[..10], date.strftime("%-d %B %Y"))),
                None => out.push_str(text),
            }
            out.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|v| spoken(v, out)),
        _ => {}
    }
}

/// Returns the tokens that limit a search: kind, state, class, scope.
fn tokens(entry: &Entry) -> Vec<String> {
    let mut tokens = vec![scope_token('f', entry.kind.name()), scope_token('a', entry.state.name())];
    tokens.extend(entry.class.as_deref().map(|class| scope_token('c', &class.to_lowercase())));
    let workspace = entry.scope.as_deref().and_then(|s| s.strip_prefix("workspace/"));
    tokens.extend(workspace.map(|id| scope_token('p', id)));
    tokens
}

/// Returns the lines of a file that were rendered from others, markers included; these are found at their source. A
/// daily note or a rollup consists of rendered lines, so only its markers are returned.
fn rendered(kind: Kind, doc: &Document) -> Vec<RangeInclusive<usize>> {
    if !kind.is_rendered() {
        return Vec::new();
    }
    let body = doc.body();
    let mut names: Vec<&str> = body.lines().filter_map(region_name).collect();
    names.sort_unstable();
    names.dedup();
    let mut hidden = Vec::new();
    for found in names.into_iter().filter_map(|name| doc.region(name).found) {
        let last = found.line + found.content.iter().filter(|b| **b == b'\n').count() + 1;
        match kind {
            Kind::Head | Kind::Index => hidden.push(found.line..=last),
            _ => hidden.extend([found.line..=found.line, last..=last]),
        }
    }
    hidden
}

/// Returns the lines of a file that are not searched: rendered lines, and front matter keys that are for programs.
pub(crate) fn unspoken(kind: Kind, doc: &Document) -> Vec<RangeInclusive<usize>> {
    let mut hidden = rendered(kind, doc);
    let front = String::from_utf8_lossy(doc.print());
    let mut quiet = false;
    for (number, line) in (1..doc.body_line()).zip(front.lines()) {
        // An indented line or a list item belongs to the key above.
        if !line.starts_with([' ', '\t', '-', '#']) || line.trim_end() == "---" {
            let key = line.split_once(':').map_or("", |(key, _)| key.trim().trim_matches(['"', '\'']));
            quiet = key.is_empty() || (UNSPOKEN.contains(&key) && !matches!(key, "title" | "class"));
        }
        if quiet {
            hidden.push(number..=number);
        }
    }
    hidden
}

/// Returns the name in a line that opens a region.
fn region_name(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix("<!--")?.trim_start().strip_prefix("heirloom:")?;
    inner.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_is_left_out_of_heads_and_kept_in_daily_notes() {
        let text = "---\nformat: 1\n---\n# Mine\nabove\n<!-- heirloom:head · edit -->\n- one\n- two\n<!-- /heirloom:head -->\nbelow\n";
        let doc = Document::parse(text.as_bytes().to_vec());
        assert_eq!(rendered(Kind::Head, &doc), [6..=9]);
        assert_eq!(rendered(Kind::Index, &doc), [6..=9]);
        assert_eq!(rendered(Kind::Daily, &doc), [6..=6, 9..=9]);
        assert!(rendered(Kind::Leaf, &doc).is_empty());
        let front = "---\nid: x\ntitle: T\nsource:\n  type: user\ntags:\n- a\n---\nbody\n";
        let hidden = unspoken(Kind::Leaf, &Document::parse(front.as_bytes().to_vec()));
        assert_eq!(hidden, [1..=1, 2..=2, 4..=4, 5..=5, 8..=8]);
        let open = Document::parse(b"a\n<!-- heirloom:head -->\nb\n".to_vec());
        assert!(rendered(Kind::Head, &open).is_empty(), "what is not closed belongs to people");
    }

    #[test]
    fn of_rendered_pages_only_what_their_sources_say_is_kept() {
        for (line, want) in [
            ("# Week 17 of 2026", None),
            ("1 session · 2 threads · 630 turns · claude-code", None),
            ("- Still open: migrate the queue [l:migrate-the-queue]", Some("migrate the queue")),
            (
                "- 10:37 Session in api: seed the products · 91 turns · [nd]",
                Some("10:37 Session in api: seed the products"),
            ),
            ("- Error E0277: the trait bound [is not met]", Some("Error E0277: the trait bound [is not met]")),
            ("said by a person", Some("said by a person")),
            ("   ", None),
        ] {
            assert_eq!(of_source(line), want, "{line}");
        }
    }

    #[test]
    fn dates_are_written_out_and_lists_read() {
        let mut out = String::new();
        spoken(&serde_json::json!(["2026-11-30", "2026-05-02T10:00:00Z", "plain", 7, {"a": "b"}]), &mut out);
        assert_eq!(out, "2026-11-30 30 November 2026\n2026-05-02 2 May 2026\nplain\n");
    }
}
