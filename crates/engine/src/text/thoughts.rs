//! Takes the reasoning off the beginning of a model's message.

/// Beginnings of the names of the tags between which models and programs put the reasoning: `<think>`, `<thinking>`, and
/// Aider's `<thinking-content-7bbe…>`.
const NAMES: [&str; 2] = ["think", "reasoning"];

/// Returns a message without the reasoning it begins with; empty if the message has nothing else.
pub fn without_thoughts(said: &str) -> &str {
    divided(said).map_or(said, |(_, rest)| rest)
}

/// Returns what a message tells: the message without the reasoning it begins with, or the reasoning without its tags if
/// the message has nothing else.
pub fn told_or_thought(said: &str) -> &str {
    match divided(said) {
        None => said,
        Some((thought, rest)) if rest.trim().is_empty() => untitled(thought),
        Some((_, rest)) => rest,
    }
}

/// Returns reasoning without the element in which exports fold it: `<details><summary>Thought Process</summary>`.
fn untitled(thought: &str) -> &str {
    let Some(rest) = thought.trim().strip_prefix("<details>") else { return thought };
    let rest =
        rest.trim_start().strip_prefix("<summary>").and_then(|r| r.split_once("</summary>")).map_or(rest, |r| r.1);
    rest.trim().trim_end_matches("</details>").trim()
}

/// Divides a message into the reasoning it begins with and the rest; `None` if it begins with none.
fn divided(said: &str) -> Option<(&str, &str)> {
    let begun = said.trim_start();
    let name = begun.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
    let is_thought = |name: &&str| {
        let first = name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        NAMES.iter().any(|thought| first.starts_with(thought)) && !name.contains(char::is_whitespace)
    };
    let name = name.filter(is_thought)?;
    let (opens, closes) = (name.len() + 2, format!("</{name}>"));
    Some(match begun.find(&closes) {
        Some(at) => (&begun[opens..at], &begun[at + closes.len()..]),
        None => (&begun[opens..], ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_loses_the_reasoning_it_begins_with() {
        assert_eq!(without_thoughts("<think>Perhaps redis.</think>\nWe use Postgres."), "\nWe use Postgres.");
        assert_eq!(without_thoughts(" <thinking>Perhaps redis."), "");
        let of_aider = "<thinking-content-7bbeb8>\nPerhaps redis.\n</thinking-content-7bbeb8>\nWe use Postgres.";
        assert_eq!(without_thoughts(of_aider), "\nWe use Postgres.");
        assert_eq!(told_or_thought("<think>Perhaps redis.</think>\nWe use Postgres."), "\nWe use Postgres.");
        let folded = "<think><details><summary>Thought Process</summary>\nPerhaps redis.</details></think>\n";
        assert_eq!(told_or_thought(folded), "Perhaps redis.");
        assert_eq!(told_or_thought("We use Postgres."), "We use Postgres.");
        for said in ["Use <think> for it.", "<thinker name=x>kept</thinker>", "<b>kept</b>", "<3 thanks>"] {
            assert_eq!(without_thoughts(said), said);
        }
    }
}
