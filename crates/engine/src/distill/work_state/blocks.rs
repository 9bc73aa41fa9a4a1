//! Reads tool calls that imported histories contain as text: SpecStory's blocks, Aider's edits, and what Aider reports
//! about those edits.

use std::borrow::Cow;

use super::input::plain_tool;

/// Maximum number of blocks read in one text.
const MOST: usize = 200;

/// A tool call written as a block of Markdown, with its result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// `write`, `read`, `shell` or the plain name of the tool.
    pub tool: String,
    /// The input as `key: value` lines.
    pub input: String,
    pub output: String,
    pub failed: bool,
}

const MARK: &str = "Tool use: **";

/// Whether a text contains such blocks.
pub fn has_blocks(text: &str) -> bool {
    text.contains(MARK)
}

/// Returns the blocks of a text, in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let starts: Vec<usize> = memchr::memmem::find_iter(text.as_bytes(), MARK).take(MOST).collect();
    let mut found = Vec::new();
    for (i, &at) in starts.iter().enumerate() {
        let from = i.checked_sub(1).map_or(0, |b| starts[b] + MARK.len());
        let tag = text[from..at].rfind("<tool-use").map_or("", |t| &text[from + t..at]);
        let end =
            starts.get(i + 1).map_or(text.len(), |&next| text[at..next].rfind("<tool-use").map_or(next, |t| at + t));
        found.extend(block(tag, &text[at + MARK.len()..end]));
    }
    found
}

fn block(tag: &str, text: &str) -> Option<Block> {
    let (name, rest) = text.split_once("**")?;
    // Older exports have no summary around the name of the tool; the label is then the rest of its line.
    let (label, body) = rest.split_once("</summary>").or_else(|| rest.split_once('\n')).unwrap_or((rest, ""));
    let kind = attribute(tag, "data-tool-type").unwrap_or("");
    let tool = plain_tool(name);
    let label = label.trim().trim_start_matches('•').trim();
    // The path or the command is in the label, or first in the body, as code.
    let told = label.split_once(": ").map(|(_, told)| told).or_else(|| code(label));
    let told = told.map(unescaped);
    let rejected = attribute(tag, "data-edit-status") == Some("rejected")
        || body.contains("Status: **error**")
        || body.contains("Status: **failed**")
        || body.contains("User decision: **rejected**")
        || body.contains("\nError: ");
    let listed = parameters(body);
    let listed =
        |keys: &[&str]| keys.iter().find_map(|k| listed.iter().find(|(key, _)| key == k).map(|(_, value)| *value));
    if let Some(command) = listed(&["command"]) {
        let output = fences(body).last().map_or("", |(_, o)| o).to_owned();
        return Some(Block { tool: "bash".into(), input: format!("command: {command}"), output, failed: rejected });
    }
    if let Some(todos) = listed(&["todoList"]).and_then(printed_todos) {
        return Some(Block { tool, input: todos, output: String::new(), failed: rejected });
    }
    let shell = kind == "shell" || kind.is_empty() && matches!(tool.as_str(), "runterminalcmd" | "bash" | "shell");
    if shell {
        let mut fences = fences(body);
        let first = fences.next();
        let (command, output) = match (first, code(body.lines().find(|l| l.starts_with('`')).unwrap_or(""))) {
            (Some(("bash" | "sh" | "shell" | "powershell" | "zsh", command)), _) => {
                (Cow::Borrowed(command), fences.next())
            }
            (first, Some(command)) => (Cow::Borrowed(command), first),
            (first, None) => (told?, first),
        };
        let output = output.map_or("", |(_, o)| o).to_owned();
        return Some(Block { tool: "bash".into(), input: format!("command: {command}"), output, failed: rejected });
    }
    let parameters = fences(body).find(|(lang, _)| *lang == "json").map_or("", |(_, json)| json);
    let path = told.or_else(|| {
        ["file_path", "filePath", "target_file", "relativeWorkspacePath", "path"]
            .iter()
            .find_map(|k| quoted(parameters, k))
            .map(Cow::Borrowed)
    });
    let path = path.or_else(|| listed(&["filePath", "file_path", "path", "dirPath"]).map(Cow::Borrowed));
    let path = path.or_else(|| made(body).map(Cow::Borrowed));
    match kind {
        "write" if path.is_none() && tool == "applypatch" => {
            Some(Block { tool, input: String::new(), output: body.to_owned(), failed: rejected })
        }
        "write" | "read" => {
            // A failed edit leaves a block without a path; such a block proves no change.
            let input = format!("path: {}", path?);
            Some(Block { tool: kind.into(), input, output: String::new(), failed: rejected })
        }
        "search" => None,
        _ => {
            let output = body.to_owned();
            let input = path.map(|p| format!("path: {p}")).unwrap_or_default();
            Some(Block { tool, input, output, failed: rejected })
        }
    }
}

/// Returns the parameters that a block lists: "- filePath: `lib/a.ex`". Parameters of several lines are left out.
fn parameters(body: &str) -> Vec<(&str, &str)> {
    let Some((_, listed)) = body.split_once("**Input:**") else { return Vec::new() };
    let pair = |line| {
        let (key, value) = str::strip_prefix(line, "- ")?.split_once(": ")?;
        Some((key, value.strip_prefix('`')?.strip_suffix('`')?))
    };
    listed.lines().take_while(|line| !line.starts_with("```")).filter_map(pair).collect()
}

/// Returns a list of tasks as JSON that an export printed as Go prints maps: `[map[id:1 status:completed title:Add it]]`.
fn printed_todos(text: &str) -> Option<String> {
    let list = text.strip_prefix('[')?.strip_suffix(']')?;
    let tasks = list.split("map[").skip(1).take(MOST).map(|task| {
        let task = task.trim_end().trim_end_matches(']');
        // Keys are in alphabetical order, so `status` is a word of its own and `title` the rest.
        let (before, title) = task.rsplit_once(" title:")?;
        let status = before.rsplit_once(" status:")?.1.split(' ').next()?;
        Some(serde_json::json!({"content": title, "status": status}))
    });
    let tasks = tasks.collect::<Option<Vec<_>>>()?;
    (!tasks.is_empty()).then(|| format!("todos: {}", serde_json::Value::Array(tasks)))
}

/// Returns the path in a tool's result: "File created successfully at: P", "The file P has been updated".
fn made(body: &str) -> Option<&str> {
    body.lines().find_map(|line| {
        if let Some(path) = line.split_once(" at: ").map(|(_, p)| p.trim()).filter(|p| p.starts_with(['/', '.'])) {
            return Some(path.split(' ').next().unwrap_or(path));
        }
        let words = line.strip_prefix("The file ")?;
        Some(words.split_once(" has been ")?.0)
    })
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let rest = &tag[tag.find(name)? + name.len()..];
    rest.strip_prefix("=\"")?.split('"').next()
}

fn code(text: &str) -> Option<&str> {
    text.split_once('`')?.1.split_once('`').map(|(inside, _)| inside).filter(|c| !c.is_empty())
}

/// Returns the value of a JSON key, if it is a string without escapes.
pub fn quoted<'t>(json: &'t str, key: &str) -> Option<&'t str> {
    let at = json.find(&format!("\"{key}\""))? + key.len() + 2;
    let value = json[at..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split('"').next().filter(|v| !v.contains('\\') || v.contains(":\\\\"))
}

/// Returns the fenced blocks of a text: their languages and contents.
pub fn fences(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = if rest.starts_with("```") { 0 } else { rest.find("\n```")? + 1 };
        let ticks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (lang, body) = rest[at + ticks..].split_once('\n')?;
        let close = "`".repeat(ticks);
        let end =
            if body.starts_with(&close) { 0 } else { body.find(&format!("\n{close}")).map_or(body.len(), |e| e + 1) };
        rest = body.get(end + ticks..).unwrap_or("");
        Some((lang.trim(), &body[..end]))
    })
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text.trim());
    }
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&quot;", "\""), ("&#39;", "'"), ("&#96;", "`")];
    let mut out = text.trim().to_owned();
    for (from, to) in pairs {
        out = out.replace(from, to);
    }
    Cow::Owned(out.replace("&amp;", "&"))
}

/// Returns the files that an assistant's message edits in Aider's form: SEARCH/REPLACE blocks with the file's name on
/// the line above, before or inside the fence.
pub fn edited(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    if !text.contains("<<<<<<< SEARCH") {
        return found;
    }
    let mut before: [&str; 3] = [""; 3];
    let mut last = None;
    for line in text.lines() {
        if line.starts_with("<<<<<<< SEARCH") {
            // The name is a line of its own (`src/a.py`), or on the fence (```python src/a.py). A second block in the
            // same fence edits the same file.
            let word =
                |l: &'_ str| if l.starts_with("```") { l.rfind([' ', ':', '`']).map_or(0, |at| at + 1) } else { 0 };
            let name = before.iter().rev().find_map(|l| file_name(&l[word(l)..])).or(last);
            if let Some(name) = name
                && !found.contains(&name)
                && found.len() < MOST
            {
                found.push(name);
            }
            last = name;
        }
        if !line.trim().is_empty() {
            before.rotate_left(1);
            before[2] = line;
        }
    }
    found
}

/// Returns the file name on a line that contains nothing else.
fn file_name(line: &str) -> Option<&str> {
    let name = line.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ':', ' ']).trim_matches('`');
    let fits = !name.is_empty()
        && name.len() <= 200
        && !name.contains(char::is_whitespace)
        && !name.contains(['<', '>', '(', '{', '=', ';', '"'])
        && name.rsplit(['/', '\\']).next().is_some_and(|n| n.trim_matches('.').contains('.') || n.starts_with('.'))
        && name.chars().any(char::is_alphanumeric);
    fits.then_some(name)
}

/// The report of Aider after a message: files it wrote, and commits with hash and subject.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Applied<'t> {
    pub files: Vec<&'t str>,
    /// Files whose edits Aider could not apply.
    pub failed: Vec<&'t str>,
    pub commits: Vec<(&'t str, &'t str)>,
    /// Files it could not write, add or edit, and commits it could not make, each with the error line.
    pub refused: Vec<(&'t str, Cow<'t, str>)>,
    /// Whether Aider reports that all other edits of the message applied, without naming them.
    pub others: bool,
    /// Whether the text is a report of Aider.
    pub told: bool,
}

pub fn applied(text: &str) -> Applied<'_> {
    let mut out = Applied::default();
    for line in text.lines().take(400) {
        if let Some(path) = line.strip_prefix("Applied edit to ").map(str::trim) {
            // Aider sometimes takes a heading of the answer for a file name ("4. Push to the remote"); such names are
            // ignored.
            let named = |name: &str| !name.contains(' ') || name.rfind('.').is_some_and(|dot| name.len() - dot <= 6);
            out.files.extend(Some(path).filter(|path| named(path.rsplit(['/', '\\']).next().unwrap_or(path))));
        } else if let Some(rest) = line.strip_prefix("Commit ")
            && let Some((hash, subject)) = rest.split_once(' ')
            && (7..=40).contains(&hash.len())
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
        {
            out.commits.push((hash, subject.trim()));
        } else if line.starts_with("Unable to commit: ") {
            // git's own message is on a later line.
            let after = text.split_once("Unable to commit: ").and_then(|(_, rest)| rest.split_once("stderr: '"));
            let said = after.and_then(|(_, rest)| rest.lines().next()).map(|l| l.trim_end_matches([':', '\'', ' ']));
            let told = said.map_or(Cow::Borrowed(line), |said| Cow::Owned(format!("Unable to commit: {said}")));
            out.refused.push((COMMIT, told));
        } else if let Some((path, told)) = refused(line) {
            out.refused.push((path, Cow::Borrowed(told)));
        } else if let Some((_, path)) = line.split_once("block failed to exactly match lines in ") {
            out.failed.push(path.trim());
        } else if line.starts_with("# The other ") && line.contains(" applied successfully") {
            out.others = true;
        } else {
            out.told |= line.starts_with("Tokens: ") && line.contains(" sent, ");
        }
    }
    out.told |= !(out.files.is_empty() && out.commits.is_empty() && out.failed.is_empty() && out.refused.is_empty());
    out
}

/// Stands for the path where Aider could not commit.
pub const COMMIT: &str = "git commit";

/// Reads an error line of Aider: "Unable to write file P after 5 attempts: E: 'P'", "Unable to add P: E", "Skipping
/// edits to P that matches gitignore spec.", "Unable to commit: E". Returns the path, or [`COMMIT`], and the message.
pub fn refused(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("Skipping edits to ") {
        let (path, _) = rest.split_once(" that matches ")?;
        return Some((path, line.trim_end_matches('.')));
    }
    let rest = line.strip_prefix("Unable to ")?;
    if rest.starts_with("commit: ") {
        return Some((COMMIT, line));
    }
    let (path, _) = match rest.strip_prefix("write file ") {
        Some(rest) => rest.split_once(" after ")?,
        None => rest.strip_prefix("add ")?.split_once(": ")?,
    };
    let told = line.strip_suffix('\'').and_then(|l| l.rsplit_once(": '")).map_or(line, |(told, _)| told);
    Some((path, told))
}
