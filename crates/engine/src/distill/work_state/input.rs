//! Reads the input of a tool call as it is stored: `key: value` lines, in which a value may have several lines.

use serde_json::Value;

/// Maximum bytes of a value that is parsed as JSON.
const LARGEST: usize = 256 * 1024;

/// Returns a tool's name without the program's prefix and spelling: `mcp__fs__write_file` is `writefile`.
pub fn plain_tool(name: &str) -> String {
    let last = name.rsplit("__").next().unwrap_or(name);
    let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
    let plain: String =
        last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).take(40).collect();
    // The name may end with a version of the tool's interface: `edit_file_v2`.
    match plain.strip_suffix("v2").or_else(|| plain.strip_suffix("v3")) {
        Some(name) if name.len() > 3 => name.to_owned(),
        _ => plain,
    }
}

/// Returns the value of a `key: value` line.
pub fn field<'t>(input: &'t str, key: &str) -> Option<&'t str> {
    input
        .lines()
        .take(200)
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(": "))
        .map(str::trim)
        .filter(|v| !v.is_empty())
}

/// Returns the values of a list under one of some keys, or of an input that is a list itself.
pub fn list(input: &str, keys: &[&str]) -> Option<Vec<Value>> {
    if input.len() > LARGEST {
        return None;
    }
    let value = input.lines().find_map(|l| keys.iter().find_map(|k| l.strip_prefix(k)?.strip_prefix(": ")));
    serde_json::from_str(value.unwrap_or(input).trim()).ok()
}

/// Returns the path among `key: value` lines: one before the first long value, else the last line that has one.
pub fn path(input: &str) -> Option<&str> {
    const PATHS: [&str; 15] = [
        "file_path: ",
        "filePath: ",
        "path: ",
        "notebook_path: ",
        "file: ",
        "filename: ",
        "target_file: ",
        "absolute_path: ",
        "relative_path: ",
        "relativeWorkspacePath: ",
        "TargetFile: ",
        "AbsolutePath: ",
        "pathInProject: ",
        "target_notebook: ",
        "uri: ",
    ];
    let path = |line: &'_ str| PATHS.iter().find_map(|k| line.strip_prefix(k).map(|v| line.len() - v.len()));
    let mut at = 0;
    for line in input.split('\n').take(40) {
        if let Some(from) = path(line) {
            return Some(line[from..].trim()).filter(|v| !v.is_empty());
        }
        if LONG.iter().any(|k| line.strip_prefix(k).is_some_and(|l| l.starts_with(": "))) {
            // The lines of a long value may look like keys; the last such line of the input is the program's own.
            return input[at..]
                .rsplit('\n')
                .take(20)
                .find_map(|l| path(l).map(|from| l[from..].trim()))
                .filter(|v| !v.is_empty());
        }
        at += line.len() + 1;
    }
    // The input may be just a path.
    let bare = input.trim();
    (bare.starts_with(['/', '~', '.']) && !bare.contains(char::is_whitespace)).then_some(bare)
}

/// Keys whose values are text of any length.
const LONG: [&str; 17] = [
    "old_string",
    "new_string",
    "content",
    "contents",
    "oldString",
    "newString",
    "old_str",
    "new_str",
    "file_text",
    "edits",
    "text",
    "new_source",
    "insert_text",
    "code",
    "code_edit",
    "diff",
    "patch",
];

/// Returns the text a call writes, and the text it replaces: each up to the next of these keys or the end of the input.
pub fn written(input: &str) -> (Option<&str>, Option<&str>) {
    let after = |keys: &[&str]| {
        keys.iter().find_map(|key| {
            let from = if input.strip_prefix(key).is_some_and(|r| r.starts_with(": ")) {
                key.len() + 2
            } else {
                input.find(&format!("\n{key}: "))? + key.len() + 3
            };
            let rest = &input[from..];
            let ends = ["old_string", "new_string", "oldString", "newString", "old_str", "new_str", "replace_all"];
            let end = ends.iter().filter_map(|k| rest.find(&format!("\n{k}: "))).min().unwrap_or(rest.len());
            Some(&rest[..end])
        })
    };
    let new = after(&[
        "content",
        "contents",
        "new_string",
        "newString",
        "new_str",
        "file_text",
        "new_source",
        "insert_text",
        "code_edit",
    ]);
    (new, after(&["old_string", "oldString", "old_str"]))
}
