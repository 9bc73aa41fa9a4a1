//! Takes the reasoning off the beginning of a model's message.

/// Beginnings of the names of the tags between which models and programs put the reasoning: `<think>`, `<thinking>`, and
/// Aider's `<thinking-content-7bbe…>`.
const NAMES: [&str; 2] = ["think", "reasoning"];

/// Returns a message without the reasoning it begins with; empty if the message has nothing else.
pub fn without_thoughts(said: &str) -> &str {
    let begun = said.trim_start();
    let name = begun.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
    let is_thought = |name: &&str| {
        let first = name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        NAMES.iter().any(|thought| first.starts_with(thought)) && !name.contains(char::is_whitespace)
    };
    let Some(name) = name.filter(is_thought) else { return said };
    let closes = format!("</{name}>");
    begun.find(&closes).map_or("", |at| &begun[at + closes.len()..])
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
        for said in ["Use <think> for it.", "<thinker name=x>kept</thinker>", "<b>kept</b>", "<3 thanks>"] {
            assert_eq!(without_thoughts(said), said);
        }
    }
}
