//! Measures a distillate against the summary that the program's own model wrote of the same turns.
//!
//! The summary is parsed by its headings (Claude's numbered sections, Markdown headings, bold lines) for the files it
//! names as changed, the tasks it calls pending, and the user's directives. Nothing is judged by taste: a thing counts
//! as found if an item of the distillate shares its ids or most of its words.

use std::collections::HashMap;

use heirloom_engine::distill::Said;
use heirloom_engine::distill::deterministic::{JOIN, is_follow_up};
use heirloom_engine::distill::work_state::is_state;
use heirloom_engine::event::{Role, TurnKind};
use heirloom_engine::lineage::distillate::{Distillate, Item, Touch};
use heirloom_engine::scope::TurnId;
use heirloom_engine::text::plain::{acts, lower, plain};
use heirloom_engine::text::similarity::Bag as Words;

/// One thing that the summary names.
#[derive(Clone, PartialEq, Debug)]
pub struct Named {
    pub text: String,
    /// True if its words stand somewhere in the turns; text the model saw elsewhere cannot be found by anybody.
    pub in_turns: bool,
    /// Item of the distillate that contains it.
    pub found: Option<String>,
    /// True if it also survived into the handoff.
    pub told: bool,
}

/// A summary and a distillate side by side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Files the summary names as changed.
    pub files: Vec<Named>,
    pub pending: Vec<Named>,
    /// Directives of the user, without "yes" and "continue".
    pub directives: Vec<Named>,
    pub summary_tokens: usize,
    pub handoff_tokens: usize,
    /// Items, or parts of items, that are not in the turns they name.
    pub invented: Vec<String>,
}

impl Comparison {
    /// Returns how many of the things that are in the turns were found, and how many there are.
    pub fn found(named: &[Named]) -> (usize, usize) {
        let there = named.iter().filter(|n| n.in_turns);
        (there.clone().filter(|n| n.found.is_some()).count(), there.count())
    }
}

/// Estimates tokens as a quarter of the bytes.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// Compares a distillate of `turns`, and the handoff rendered from it, with a program's summary of the same turns.
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
    let mut pending = items(&sections, Topic::Pending);
    if !sections.iter().any(|s| s.topic == Topic::Pending) {
        pending = items(&sections, Topic::Next);
    }
    for text in pending.into_iter().filter(|t| !is_nothing(t)) {
        comparison.pending.push(named(head(&text), Where::Anywhere, &open, &told, &whole));
    }
    let said = [
        &distillate.constraints,
        &distillate.decisions,
        &distillate.open_loops,
        &distillate.context,
        &distillate.next_steps,
    ];
    let said: Vec<&Item> = distillate.goal.iter().chain(said.into_iter().flatten()).collect();
    // Summaries quote messages in the user's words, and rules in the model's words.
    for (topic, place) in [(Topic::Prompts, Where::Verbatim), (Topic::Rules, Where::Prompts)] {
        for text in items(&sections, topic) {
            let words = quoted(&text);
            if words.starts_with('(') || is_nothing(words) || is_follow_up(words) {
                continue;
            }
            comparison.directives.push(named(words.to_owned(), place, &said, &told, &whole));
        }
    }
    comparison
}

/// Condition for a thing the summary names to count as being in the turns.
#[derive(Clone, Copy)]
enum Where {
    Verbatim,
    /// Most of its words in one prompt.
    Prompts,
    /// Most of its words in one turn.
    Anywhere,
}

fn named(text: String, place: Where, items: &[&Item], told: &str, whole: &Whole) -> Named {
    let bag = Words::of(&text);
    let fits = items.iter().map(|i| (*i, Words::of(&i.text))).filter(|(_, b)| is_found(&bag, b));
    let found = fits.max_by_key(|(_, b)| (100 * bag.shared(b)).saturating_sub(b.len().min(99))).map(|(i, _)| i);
    Named {
        in_turns: match place {
            Where::Verbatim => whole.has(&text),
            Where::Prompts => whole.has_most(&bag, true),
            Where::Anywhere => whole.has_most(&bag, false),
        },
        told: found.is_some_and(|i| told.contains(spaced(&i.text).trim_end_matches(' '))),
        found: found.map(|i| i.text.clone()),
        text,
    }
}

/// Returns whether an item has the same ticket id, or at least half of the words.
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

/// Returns the name of a task: its first words, before the explanation.
fn head(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words[..words.len().min(24)].join(" ")
}

/// Returns the quotation in a bullet of "all user messages".
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

/// Topic of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Topic {
    /// Files that were changed.
    Files,
    /// Files that matter, changed or not.
    Relevant,
    Prompts,
    Pending,
    /// Next steps: counted as pending if no section is about pending tasks.
    Next,
    Rules,
    Other,
}

struct Section<'s> {
    topic: Topic,
    lines: Vec<&'s str>,
}

/// Returns the summary proper, without the text the program or the model wrote before it.
fn body(summary: &str) -> &str {
    let inner = summary.split_once("<summary>").map_or(summary, |(_, s)| s);
    let inner = inner.split_once("</summary>").map_or(inner, |(s, _)| s);
    match inner.split_once("\nSummary:\n") {
        Some((_, rest)) => rest,
        None => inner,
    }
}

/// Depth of bold lines and lines that end with a colon: below every marked heading.
const BOLD: usize = 8;

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut found = vec![Section { topic: Topic::Other, lines: Vec::new() }];
    // `level` is the depth of the heading that set the topic: deeper lines belong to that topic.
    let (mut fenced, mut level, mut marked) = (false, 0, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let last = found.last_mut().expect("there is a first");
        let Some((depth, title, rest)) = heading(line, marked) else {
            last.lines.push(line);
            continue;
        };
        marked |= line.starts_with('#');
        let about = topic(title);
        if last.topic != Topic::Other && depth > level && (about == Topic::Other || !paths(title, true).is_empty()) {
            // Such headings belong to the section above: "### src/a.rs" below "## Files", "1. Fix the parser:" below
            // "## Pending".
            last.lines.push(line.trim_start_matches('#').trim_start());
            continue;
        }
        level = depth;
        found.push(Section { topic: about, lines: if rest.is_empty() { Vec::new() } else { vec![rest] } });
    }
    found
}

/// Parses a heading: its depth, its title, and the rest of the line. Headings are Markdown's, a bold line, "3. Files:",
/// "7. **Pending Tasks**", and a line that is only a known title and a colon.
fn heading(line: &str, marked: bool) -> Option<(usize, &str, &str)> {
    let hashes = line.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
        return Some((hashes, line[hashes..].trim(), ""));
    }
    let end = line.trim_end();
    if line.starts_with("**") && (end.ends_with("**") || end.ends_with("**:") || end.ends_with(':')) {
        return Some((BOLD, end, ""));
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "));
    if let Some(title) = numbered.filter(|_| digits > 0) {
        let depth = if marked { BOLD - 1 } else { 1 };
        let bare = title.trim_end();
        if title.len() < 80
            && (bare.trim_end_matches('*').ends_with(':') || bare.starts_with("**") && bare.ends_with("**"))
        {
            return Some((depth, title, ""));
        }
        // A heading with its content on the same line: "7. Pending Tasks: none".
        let (title, rest) = title.split_once(": ")?;
        let known = title.len() < 40 && topic(title) != Topic::Other && paths(title, true).is_empty();
        return known.then_some((depth, title, rest));
    }
    // A known title on a line of its own: "Pending tasks:".
    let title = end.strip_suffix(':').filter(|t| t.len() < 48 && t.starts_with(char::is_alphabetic))?;
    let known = topic(title) != Topic::Other && title.split_whitespace().count() <= 6;
    known.then_some((BOLD + 1, title, ""))
}

fn topic(title: &str) -> Topic {
    let low = lower(title);
    let has = |words: &[&str]| words.iter().any(|w| low.contains(w));
    if has(&["user message", "user prompt", "user request", "user quer", "what the user asked"]) {
        Topic::Prompts
    } else if has(&["file", "code section", "changes made", "code changes"]) {
        if has(&["read", "examined", "reviewed", "inspected", "referenced", "to look at"]) {
            Topic::Other
        } else if has(&["relevant", "important", "key file"]) {
            Topic::Relevant
        } else {
            Topic::Files
        }
    } else if has(&[
        "pending",
        "todo",
        "to-do",
        "to do",
        "remaining",
        "remains",
        "left to",
        "open task",
        "open loop",
        "open item",
        "unfinished",
        "outstanding",
        "in progress",
        "in-progress",
        "not done",
        "blocked",
        "offene",
    ]) {
        Topic::Pending
    } else if has(&["next step", "what's next", "whats next", "nächste schritte"]) {
        Topic::Next
    } else if has(&["constraint", "preference", "instruction", "directive", "guideline", "rules", "vorgaben"]) {
        Topic::Rules
    } else {
        Topic::Other
    }
}

/// Returns the indentation of a bullet or number, and the text after it.
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
    Some((indent, rest.trim_start_matches("[ ] ").trim_start_matches("☐ ").trim()))
}

/// Returns the outermost bullets of the sections on a topic; their lines if they have no bullets.
fn items(sections: &[Section], topic: Topic) -> Vec<String> {
    let mut found = Vec::new();
    for section in sections.iter().filter(|s| s.topic == topic) {
        let bullets: Vec<(usize, &str)> = section.lines.iter().filter_map(|l| bullet(l)).collect();
        let outermost = bullets.iter().map(|(i, _)| *i).min().unwrap_or(0);
        let own = bullets
            .iter()
            .filter(|(i, t)| {
                *i == outermost && !t.contains("[x]") && !t.contains("[X]") && !t.starts_with(['✅', '✓', '☑'])
            })
            .map(|(_, t)| plain(t));
        found.extend(own);
        if bullets.is_empty() {
            found.extend(section.lines.iter().map(|l| plain(l)).filter(|l| l.len() > 3));
        }
    }
    found.truncate(200);
    found
}

/// Returns the paths that the summary names as changed.
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
    let about_files = sections.iter().any(|s| matches!(s.topic, Topic::Files | Topic::Relevant));
    for section in sections.iter().filter(|s| !about_files || matches!(s.topic, Topic::Files | Topic::Relevant)) {
        // Each block is a path and the text about it, up to the next path that begins a bullet.
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
            if change || section.topic == Topic::Files && !read {
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

/// Returns the paths at the beginning of a bullet; elsewhere in a line paths are only mentioned.
fn paths(text: &str, bare: bool) -> Vec<String> {
    let head =
        text.split(" — ").next().unwrap_or(text).split(" - ").next().unwrap_or(text).split(": ").next().unwrap_or(text);
    let mut found = Vec::new();
    for (at, word) in head.split_whitespace().enumerate() {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '_' | '~'))
            .trim_end_matches(['.', ':']);
        // A path with line numbers, such as `src/a.rs:12-40`, names the file.
        let word = match word.split_once(':') {
            Some((path, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => path,
            _ => word,
        };
        let name = word.rsplit('/').next().unwrap_or(word);
        let extension = name.rsplit_once('.').is_some_and(|(stem, end)| {
            (!stem.is_empty() || word.contains('/'))
                && (1..=8).contains(&end.len())
                && end.bytes().all(|b| b.is_ascii_alphanumeric())
                && !end.bytes().all(|b| b.is_ascii_digit())
        });
        let known = matches!(name, "Makefile" | "Dockerfile" | "justfile" | "Gemfile" | "Rakefile" | "Procfile");
        let path = (extension || known) && !word.contains("://") && !word.contains(['(', ')', '*', '{', '=']);
        if path && (word.contains('/') || bare && at < 3) {
            found.push(word.trim_start_matches("./").to_owned());
        }
    }
    found
}

/// The turns' words, for finding items in them.
struct Whole {
    by_turn: HashMap<TurnId, String>,
    /// Words of each turn, and whether the user said them.
    all: Vec<(Words, bool)>,
}

impl Whole {
    fn of(turns: &[Said]) -> Whole {
        let own = |s: &&Said| s.kind != TurnKind::CompactSummary;
        let by_turn = turns.iter().filter(own).map(|s| (s.id, spaced(&s.text))).collect();
        let all = turns
            .iter()
            .filter(own)
            .filter(|s| s.text.len() < 64 * 1024)
            .map(|s| {
                let prompt = s.main && s.role == Role::User;
                (Words::of(&s.text), prompt)
            })
            .collect();
        Whole { by_turn, all }
    }

    fn has(&self, text: &str) -> bool {
        let words = spaced(text);
        self.by_turn.values().any(|t| t.contains(&words))
    }

    /// Returns whether one turn, or one prompt, has most of these words.
    fn has_most(&self, wanted: &Words, prompts: bool) -> bool {
        self.all.iter().any(|(words, prompt)| (*prompt || !prompts) && is_found(wanted, words))
    }
}

/// Returns lower-case words separated and surrounded by single blanks.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for c in lower(text).chars() {
        // Characters that `plain` removes do not separate words.
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

/// Returns the parts of items that are in none of the turns they name. Items of turns that are not given cannot be
/// judged.
fn invented(distillate: &Distillate, whole: &Whole) -> Vec<String> {
    let mut found = Vec::new();
    let lists = distillate.lists();
    let items = lists.iter().flat_map(|(_, l)| l.iter()).map(|i| (&i.text, &i.turns));
    for (text, turns) in items.chain(distillate.proposals.iter().map(|p| (&p.text, &p.turns))) {
        let texts: Vec<&String> = turns.iter().filter_map(|t| whole.by_turn.get(t)).collect();
        // The state of the work has a generated form, which no turn contains.
        if texts.is_empty() || is_state(text) {
            continue;
        }
        for piece in text.split(JOIN).flat_map(|p| p.split('…')).flat_map(|p| p.split("[redacted:")) {
            let words = spaced(piece);
            // A cut text may end in half a word; a redacted one begins with its placeholder.
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
        // A file changed by a commit is named in the commit's result, which is the turn after the call.
        if !texts.is_empty()
            && !texts.iter().any(|t| t.contains(&name))
            && !whole.by_turn.values().any(|t| t.contains(&name))
        {
            found.push(file.path.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the files, pending tasks and directives that are parsed from a summary.
    fn read(summary: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let c = compare(summary, &Distillate::default(), "", &[]);
        let texts = |n: &[Named]| n.iter().map(|n| n.text.clone()).collect();
        (texts(&c.files), texts(&c.pending), texts(&c.directives))
    }

    #[test]
    fn numbered_sections_are_read() {
        let (files, pending, directives) = read(
            "<analysis>\nsrc/not.rs changed\n</analysis>\n<summary>\n1. Primary Request and Intent:\n   Rebuild the importer.\n\n\
             3. Files and Code Sections:\n   - `src/import.rs`\n     - Added batching\n     ```rust\n- `src/fake.rs` added\n     ```\n   \
             - `src/main.rs:12-40` (read for context)\n   - `Makefile`\n     - Updated the target\n\n6. All user messages:\n   \
             - \"Rebuild the importer with batching\"\n   - \"continue\"\n\n7. Pending Tasks:\n   - Measure the throughput\n   \
             - [x] Write the parser\n\n8. Current Work:\n   Was editing src/other.rs.\n\n9. Optional Next Step:\n   Run the benchmark suite.\n</summary>",
        );
        assert_eq!(files, ["src/import.rs", "Makefile"]);
        assert_eq!(pending, ["Measure the throughput"]);
        assert_eq!(directives, ["Rebuild the importer with batching"]);
    }

    #[test]
    fn bold_numbers_and_titles_on_one_line_are_read() {
        let (files, pending, _) = read(
            "1. **Files Modified**\n   - src/a.ts: added a hook\n2. **Errors and fixes**\n   - src/b.ts crashed\n3. Pending Tasks: None",
        );
        assert_eq!(files, ["src/a.ts"]);
        assert!(pending.is_empty());
        let (_, pending, _) = read("7. Pending Tasks: Deploy the preview to staging\n8. Current Work:\nnothing");
        assert_eq!(pending, ["Deploy the preview to staging"]);
    }

    #[test]
    fn headings_below_headings_belong_to_them() {
        let (files, pending, _) = read(
            "## Files changed\n\n### src/queue.go\nRewrote the loop.\n\n### `src/queue_test.go`\nNew cases.\n\n**docs/queue.md**\n- updated\n\n\
             ## Remaining work\n\n1. Fix the flaky shutdown test:\n   - it hangs on CI\n2. Tag the release\n\n## Notes\n- The port is 8080\n",
        );
        assert_eq!(files, ["src/queue.go", "src/queue_test.go", "docs/queue.md"]);
        assert_eq!(pending, ["Fix the flaky shutdown test:", "Tag the release"]);
    }

    #[test]
    fn goal_instructions_accomplished_is_read() {
        let (files, pending, directives) = read(
            "## Goal\n\nMove the site to Astro.\n\n## Instructions\n\n- Never touch the legacy folder\n\n## Discoveries\n\n\
             - src/util.ts is unused\n\n## Accomplished\n\n- Ported the layout\n\n### In Progress\n- Port the blog pages\n\n\
             ## Next Steps\n- Remove Gatsby\n\n## Relevant files / directories\n\n- `src/layout.astro` — created, the layout\n- `src/config.ts` — the site's settings\n",
        );
        assert_eq!(files, ["src/layout.astro"]);
        assert_eq!(pending, ["Port the blog pages"]);
        assert_eq!(directives, ["Never touch the legacy folder"]);
    }

    #[test]
    fn plain_titles_are_read() {
        let (files, pending, directives) = read(
            "Progress and key decisions:\n- Added retries in src/net.py\n- Updated tests/test_net.py\n\nConstraints and user preferences:\n\
             - Keep the public API stable\n\nWhat remains to be done:\n1. Document the retry options\n2. Open a pull request\n",
        );
        assert!(files.iter().all(|f| f.starts_with("src/") || f.starts_with("tests/")), "{files:?}");
        assert_eq!(pending, ["Document the retry options", "Open a pull request"]);
        assert_eq!(directives, ["Keep the public API stable"]);
    }

    #[test]
    fn next_steps_are_pending_where_nothing_else_is() {
        let (_, pending, _) = read("## Summary\nPorted it.\n\n## Next steps\n- Add an index on title\n");
        assert_eq!(pending, ["Add an index on title"]);
    }

    #[test]
    fn what_no_section_names_is_not_named() {
        let (files, pending, directives) = read("I looked around and found nothing to do.\n");
        assert!(files.is_empty() && pending.is_empty() && directives.is_empty());
    }
}
