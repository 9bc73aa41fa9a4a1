//! Reads tool calls as Codex and Claude Code show them on the screen, copied into a history: `• Edited src/a.rs (+3
//! -1)`, `⏺ Write(src/a.rs)`, `Ran cargo test`. Also reads the files that a report lists, for histories that show no
//! calls.

use super::blocks::Block;

/// Maximum number of calls read in one text.
const MOST: usize = 200;

/// Maximum bytes of a text that are read.
const MOST_TEXT: usize = 256 * 1024;

/// The signs both programs put before a call.
const MARKS: [char; 4] = ['•', '●', '⏺', '✔'];

/// The tool a line reports, by the word it begins with.
const VERBS: [(&str, &str); 16] = [
    ("edited", "write"),
    ("edit", "write"),
    ("multiedit", "write"),
    ("notebookedit", "write"),
    ("updated", "write"),
    ("update", "write"),
    ("write", "write"),
    ("wrote", "write"),
    ("added", "createfile"),
    ("created", "createfile"),
    ("create", "createfile"),
    ("deleted", "deletefile"),
    ("delete", "deletefile"),
    ("read", "read"),
    ("ran", "bash"),
    ("bash", "bash"),
];

/// Whether a message contains such calls. Only lines with the sign count in messages, because people and models write
/// sentences with the same words.
pub fn has_marked(text: &str) -> bool {
    text.contains(MARKS) && text.lines().any(|line| line.starts_with(MARKS) && head(line).is_some())
}

/// Returns the calls of a text, in order. `marked`: only those with the sign.
pub fn blocks(text: &str, marked: bool) -> Vec<Block> {
    let text = &text[..text.floor_char_boundary(MOST_TEXT)];
    let mut found: Vec<Block> = Vec::new();
    // Whether the next lines are the output of the last call; a line that begins another call of any kind ends it.
    let mut open = false;
    for line in text.lines() {
        let is_marked = line.starts_with(MARKS);
        let is_head = is_marked || !line.starts_with([' ', '\t', '│', '└', '⎿']);
        if is_head
            && found.len() < MOST
            && (is_marked || !marked)
            && let Some(block) = head(line)
        {
            found.push(block);
            open = true;
        } else if is_marked {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            let said = line.trim_start_matches([' ', '\t', '│', '└', '⎿']);
            if last.tool == "bash" {
                last.output.push_str(said);
                last.output.push('\n');
            } else if last.output.is_empty() {
                last.failed = is_failure(said);
                last.output = said.to_owned();
            }
        }
    }
    found
}

/// Returns the call that a line reports: `Edited src/a.rs (+3 -1)`, `Write(src/a.rs)`, `Ran cargo test`.
fn head(line: &str) -> Option<Block> {
    let line = line.trim_start_matches(MARKS).trim();
    let end = line.find(|c: char| !c.is_ascii_alphabetic())?;
    let word = line[..end].to_ascii_lowercase();
    let tool = VERBS.iter().find(|(verb, _)| *verb == word)?.1;
    let rest = &line[end..];
    let inside = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
    let told = inside.or_else(|| rest.strip_prefix(' '))?.trim();
    if tool == "bash" {
        // "Bash install the tools" describes the call's purpose; the command itself is elsewhere.
        let is_command = !told.is_empty() && (inside.is_some() || word == "ran");
        return is_command.then(|| Block { tool: tool.into(), input: format!("command: {told}"), ..Block::default() });
    }
    // The path is followed by the numbers of lines, which are dropped.
    let path = told.split_once(" (").map_or(told, |(path, _)| path).trim_matches('`');
    is_path(path).then(|| Block { tool: tool.into(), input: format!("path: {path}"), ..Block::default() })
}

/// Whether the text after an edit says that the edit failed.
fn is_failure(said: &str) -> bool {
    let low = said[..said.floor_char_boundary(60)].to_ascii_lowercase();
    ["edit failed", "write failed", "error", "failed", "user rejected", "rejected", "string to replace not found"]
        .iter()
        .any(|head| low.starts_with(head))
}

/// Whether a text is only a path: one word, with letters in its extension or a folder before it.
fn is_path(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    !path.is_empty()
        && path.len() <= 300
        && !path.contains(|c: char| c.is_whitespace() || "<>(){}=;\"'*,?|`".contains(c))
        && !path.contains("://")
        && name.chars().any(char::is_alphanumeric)
        && (ending.chars().any(char::is_alphabetic) || path.contains(['/', '\\']))
}

/// Returns the files that a report lists as changed: bullets that begin with a path in code or bold, below a line that
/// announces changed files ("**Files changed:**").
pub fn reported(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut listed = false;
    for line in text.lines() {
        let bare = line.trim();
        let bullet = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")).or_else(|| bare.strip_prefix("• "));
        let Some(item) = bullet else {
            // A blank line between the heading and its list does not end the list.
            if !bare.is_empty() {
                listed = announces_files(bare);
            }
            continue;
        };
        if !listed || found.len() == MOST {
            continue;
        }
        let item = item.trim_start_matches('*');
        // The text after " - " describes the change: `go.mod` & `go.sum` - added a dependency
        let told = item.split(" - ").next().unwrap_or(item);
        for path in told.split('`').skip(1).step_by(2).filter(|path| is_path(path)) {
            if item.starts_with('`') && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Whether a line announces changed files: "**Files changed:**", "## Modified files", "Geänderte Dateien:".
fn announces_files(line: &str) -> bool {
    let is_heading = line.starts_with(['#', '*']) || line.ends_with(':');
    let low = line.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| low.contains(part));
    let files = [
        "files",
        "dateien",
        "fichiers",
        "archivos",
        "ficheros",
        "arquivos",
        "file modificati",
        "файлы",
        "文件",
        "ファイル",
    ];
    let changed = [
        "changed",
        "modified",
        "committed",
        "created",
        "updated",
        "added",
        "edited",
        "geändert",
        "neu",
        "angelegt",
        "modifiés",
        "créés",
        "modificados",
        "creados",
        "criados",
        "modificati",
        "измен",
        "созда",
        "修改",
        "更新",
        "创建",
        "変更",
        "作成",
    ];
    // "Files that need to be changed" is a plan.
    let planned = [" to be ", "will ", "need", "should", "would", "must ", "müssen", "sollen", "werden"];
    is_heading && line.len() <= 80 && has(&files) && has(&changed) && !has(&planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, marked: bool) -> Vec<String> {
        let one = |b: Block| format!("{} {}{}", b.tool, b.input, if b.failed { " failed" } else { "" });
        blocks(text, marked).into_iter().map(one).collect()
    }

    #[test]
    fn a_screen_of_codex_is_read() {
        let text = "• Ran cargo test -q\n  └ 3 passed\n• Edited src/a.rs (+3 -1)\n    10 -old\n    10 +new\n\
                    • Added src/b.rs (+20 -0)\n• Explored\n  └ Read c.rs\n";
        assert_eq!(
            told(text, true),
            ["bash command: cargo test -q", "write path: src/a.rs", "createfile path: src/b.rs"]
        );
        assert_eq!(blocks(text, true)[0].output, "3 passed\n");
    }

    #[test]
    fn a_screen_of_claude_code_is_read() {
        let text = "⏺ Write(src/a.py)\n  ⎿  Wrote 10 lines to src/a.py\n⏺ Update(src/b.py)\n  ⎿  Error: not found\n\
                    ⏺ Bash(pytest -q)\n  ⎿  2 passed\n⏺ Now the docs are updated.\n";
        assert_eq!(
            told(text, true),
            ["write path: src/a.py", "write path: src/b.py failed", "bash command: pytest -q"]
        );
        let bare = "Edit src/a.py\nAdded 188 lines\nEdit src/b.py\nEdit failed\nBash Install the tools\npip install x";
        assert_eq!(told(bare, false), ["write path: src/a.py", "write path: src/b.py failed"]);
        assert!(told(bare, true).is_empty() && !has_marked(bare));
    }

    #[test]
    fn sentences_are_no_calls() {
        for text in [
            "Added notes.txt to the chat",
            "Updated 2.0",
            "Read the docs first",
            "Created a table (users)",
            "Deleted.",
            "Write code that lasts",
            "• Updated the docs of src/a.rs",
            "Edited 3 files (+3 -1)",
        ] {
            assert!(told(text, false).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_report_lists_its_files() {
        let text = "All done.\n\n**Files committed:**\n- `internal/social.go` - new\n- `go.mod` & `go.sum` - zerolog\n\n\
                    ## Next\n- `later.go` - split it\n";
        assert_eq!(reported(text), ["internal/social.go", "go.mod", "go.sum"]);
        assert!(reported("Files to be changed:\n- `a.go`").is_empty());
        assert!(reported("The files:\n- `a.go` is broken").is_empty());
        assert_eq!(reported("Geänderte Dateien:\n* `src/haus.rs`"), ["src/haus.rs"]);
    }
}
