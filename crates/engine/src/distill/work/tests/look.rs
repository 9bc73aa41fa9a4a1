//! Prints the state of the work of whole sessions, for a person to inspect; not part of the ordinary run:
//! `LOOK=folder cargo test -p heirloom-engine --lib distill::work::tests::look -- --ignored --nocapture`. The folder holds
//! sessions as `heirloom show --session KEY --full --json` prints them; `NAME.cut` beside one names the entry up to which
//! it is read, `NAME.root` the project's folder.

use super::*;

fn load(text: &str) -> Vec<(Said, String)> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let of = |v: &serde_json::Value, k: &str| v[k].as_str().map(str::to_owned);
    let turns = json["turns"].as_array().unwrap().iter().map(|t| {
        let said = Said {
            id: TurnId::parse(t["turn"].as_str().unwrap()).unwrap(),
            role: match t["role"].as_str().unwrap() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                "tool" => Role::Tool,
                _ => Role::System,
            },
            kind: match t["kind"].as_str().unwrap() {
                "message" => TurnKind::Message,
                "thinking" => TurnKind::Thinking,
                "tool-call" => TurnKind::ToolCall,
                "tool-result" => TurnKind::ToolResult,
                "compact-summary" => TurnKind::CompactSummary,
                _ => TurnKind::MachinePrompt,
            },
            run: RunNo(t["run"].as_i64().unwrap_or(0)),
            main: t["lane"].as_str().unwrap_or("").is_empty(),
            speaker: of(t, "speaker"),
            tool: of(t, "tool"),
            call: of(t, "call"),
            failed: t["failed"].as_bool().unwrap_or(false),
            at: None,
            text: of(t, "text").unwrap_or_default(),
        };
        (said, of(t, "entry").unwrap_or_default())
    });
    turns.collect()
}

#[test]
#[ignore = "to look at"]
fn look() {
    let Ok(folder) = std::env::var("LOOK") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
        let beside = |end: &str| std::fs::read_to_string(path.with_extension(end)).ok().map(|t| t.trim().to_owned());
        let all = load(&std::fs::read_to_string(path).unwrap());
        let cut = beside("cut").and_then(|cut| all.iter().rposition(|(_, e)| e.contains(&cut)));
        let turns: Vec<Said> = all.into_iter().take(cut.map_or(usize::MAX, |c| c + 1)).map(|(s, _)| s).collect();
        let root = beside("root");
        let (work, _) = track(&turns, root.as_deref(), None);
        println!("== {}\n{}", path.file_stem().unwrap().to_string_lossy(), show(&work));
    }
}
