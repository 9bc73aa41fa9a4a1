//! Reads tool calls as OpenCode's exported transcripts contain them: the name in bold, the arguments and the result in
//! fences.

use serde_json::{Map, Value};

use super::blocks::{Block, fences, quoted};
use super::input::plain_tool;

/// The beginning of a line that names the tool of a call.
const MARK: &str = "**Tool: ";

/// Maximum number of calls read in one text.
const MOST: usize = 200;

/// Whether a text contains such calls.
pub fn has_calls(text: &str) -> bool {
    text.starts_with(MARK) || text.contains("\n**Tool: ")
}

/// Returns the calls of a text, in order.
pub fn calls(text: &str) -> Vec<Block> {
    let mut rest = text;
    let begins = std::iter::from_fn(|| {
        let at = if rest.starts_with(MARK) { 0 } else { rest.find("\n**Tool: ")? + 1 };
        rest = &rest[at + MARK.len()..];
        Some(rest)
    });
    begins.take(MOST).filter_map(call).collect()
}

/// Reads a call; the text begins with the tool's name.
fn call(text: &str) -> Option<Block> {
    let (name, rest) = text.split_once("**\n")?;
    let rest = rest.find("\n**Tool: ").map_or(rest, |next| &rest[..next]);
    let (_, input) = rest.split_once("**Input:**\n")?;
    let after = |label: &str| input.split_once(label).map(|(_, told)| fences(told).next().map_or("", |(_, text)| text));
    let error = after("\n**Error:**\n");
    Some(Block {
        tool: plain_tool(name),
        input: arguments(fences(input).next()?.1),
        output: error.or_else(|| after("\n**Output:**\n")).unwrap_or("").to_owned(),
        failed: error.is_some(),
    })
}

/// Returns the arguments as `key: value` lines, those of one line first. Of arguments that are no JSON, because an
/// export was shortened by hand, only the path and the command count.
fn arguments(json: &str) -> String {
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(json) else {
        let known = ["filePath", "file_path", "path", "command"];
        let lines = known.iter().filter_map(|key| Some(format!("{key}: {}\n", quoted(json, key)?)));
        return lines.collect();
    };
    let mut lines: Vec<String> = arguments
        .iter()
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}: {text}\n"),
            None => format!("{key}: {value}\n"),
        })
        .collect();
    lines.sort_by_key(|line| line.trim_end().contains('\n'));
    lines.concat()
}
