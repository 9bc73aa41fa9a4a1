//! A model that delegates to a sub-agent: the sub-agent's task is not a user's prompt and gets no context of ours; its
//! words are stored once, in its own lane; and the parent session is as it would be without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use heirloom_testkit::fake_model::{Asked, Purpose, Reply, Script};
use serde_json::{Value, json};

use super::hooked::{at_rest, is_kept_once, ours};
use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};

/// The user's prompt, the sub-agent's task, the sub-agent's finding, and the final answer to the user.
const ASKED: &str = "Have somebody measure the planks.";
const SENT: &str = "Measure every plank of the barn and say how long they are.";
const FOUND: &str = "The planks are 4711 long.";
const SAID: &str = "All planks were measured.";

/// Scripts a model that sends one sub-agent, with whichever tool the program offers, and waits for it if that takes a
/// tool, too. `told` counts the final answers.
fn delegates(told: Arc<AtomicUsize>) -> Script {
    Box::new(move |asked| {
        let tells = || {
            let times = told.fetch_add(1, Ordering::SeqCst) + 1;
            Reply::text(format!("{SAID} Told {times} times."))
        };
        let has = |name: &str| asked.tools.iter().any(|t| t.name == name);
        let sends = || {
            let work = json!({"description": "measure planks", "prompt": SENT, "subagent_type": "general-purpose"});
            if has("Agent") || has("Task") {
                return Reply::call(if has("Agent") { "Agent" } else { "Task" }, work);
            }
            if has("task") {
                let work = json!({"description": "measure planks", "prompt": SENT, "subagent_type": "general"});
                return Reply::call("task", work);
            }
            if has("sessions_spawn") {
                return Reply::call("sessions_spawn", json!({"task": SENT}));
            }
            // OpenClaw lists the tool in a catalogue, behind one tool that calls the others.
            if has("tool_call") {
                return Reply::call("tool_call", json!({"id": "sessions_spawn", "args": {"task": SENT}}));
            }
            if has("spawn_agent") {
                return Reply::call("spawn_agent", json!({"message": SENT}));
            }
            let names: Vec<&str> = asked.tools.iter().map(|t| t.name.as_str()).collect();
            Reply::text(format!("There is nobody to send: {names:?}"))
        };
        match asked.purpose {
            Purpose::Turn if asked.prompt.contains("Good night") => Some(Reply::text("Sleep well.")),
            // Some programs report the finding with a prompt they write themselves.
            Purpose::Turn if asked.prompt.contains(FOUND) => Some(tells()),
            Purpose::Turn if asked.prompt.contains(SENT) => Some(Reply::text(FOUND)),
            Purpose::Turn if asked.prompt.contains(ASKED) => Some(sends()),
            // The tool only starts the sub-agent: another tool waits for the finding.
            Purpose::Turn if asked.after_tool && has("wait_agent") && !asked.heard.contains(FOUND) => {
                Some(Reply::call("wait_agent", whom(asked)))
            }
            Purpose::Turn if asked.after_tool => Some(tells()),
            _ => None,
        }
    })
}

/// Returns the agent for which Codex must wait: the one it reported as sent.
fn whom(asked: &Asked) -> Value {
    let tool = asked.tools.iter().find(|t| t.name == "wait_agent").expect("it was looked for");
    let list = tool.takes.iter().find(|name| name.as_str() != "timeout_ms").expect("whom to wait for");
    let id = asked.heard.rsplit("\"agent_id\":\"").next().and_then(|rest| rest.split('"').next()).unwrap_or_default();
    json!({list.as_str(): [id], "timeout_ms": 30_000})
}

fn keeps_to_itself(machine: &Machine, program: &mut dyn Program) {
    machine.connect(program.name());
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let project = machine.project("barn");
    let told: Arc<AtomicUsize> = Arc::default();
    machine.model.answers(delegates(Arc::clone(&told)));
    let first = program.turn(&project, ASKED, None);
    assert_eq!(first.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&first.heard));
    // If no tool waits for the sub-agent, it may still be working.
    let heard = (0..300).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let asked = machine.model.asked_since(0).into_iter();
        asked.filter(|a| a.purpose == Purpose::Turn).find(|a| a.prompt.contains(SENT)).map(|a| a.heard)
    });
    let heard = heard.unwrap_or_else(|| panic!("no sub-agent was sent: {}", first.stdout));
    assert!(!heard.contains("<heirloom-memory") && !heard.contains("short sentences"), "{}", ours(&heard));
    let second = program.turn(&project, "Good night.", Some(&first.session));
    assert_eq!(second.session, first.session);
    assert_eq!(second.heard.matches("Answer in short sentences").count(), 1, "not twice: {}", ours(&second.heard));

    at_rest(machine);
    machine.world.import(0, &[]);
    let main = format!("{}:{}", program.name(), first.session);
    let mut all: Vec<Value> = Vec::new();
    for session in machine.world.sessions() {
        all.extend(machine.world.turns(&session));
    }
    let shown: Vec<String> = all.iter().map(line).collect();
    println!("{}", shown.join("\n"));
    let by = |role: &str| all.iter().filter(|t| t["role"] == role && t["kind"] == "message").collect::<Vec<_>>();
    let text = |t: &Value| t["text"].as_str().unwrap().trim().trim_matches('"').to_owned();
    let prompts: Vec<String> = by("user").into_iter().map(text).collect();
    assert_eq!(prompts, [ASKED, "Good night."], "nobody else said anything:\n{}", shown.join("\n"));
    let sent: Vec<&Value> =
        all.iter().filter(|t| t["kind"] == "machine-prompt" && t["text"].as_str().unwrap().contains(SENT)).collect();
    assert_eq!(sent.len(), 1, "{}", shown.join("\n"));
    let found: Vec<&Value> = by("assistant").into_iter().filter(|t| text(t) == FOUND).collect();
    assert_eq!(found.len(), 1, "{}", shown.join("\n"));
    let place = |t: &Value| (t["session"].clone(), t["lane"].clone());
    assert_eq!(place(sent[0]), place(found[0]), "{}", shown.join("\n"));
    assert_ne!(place(found[0]), (json!(main), json!("")), "not in the main line:\n{}", shown.join("\n"));
    for turn in by("user") {
        assert_eq!(place(turn), (json!(main), json!("")), "{turn}");
    }
    let said =
        by("assistant").into_iter().filter(|t| text(t).starts_with(SAID) && place(t) == (json!(main), json!("")));
    assert_eq!(said.count(), told.load(Ordering::SeqCst), "every answer once:\n{}", shown.join("\n"));
    is_kept_once(machine, &[program]);
    let log = std::fs::read_to_string(machine.world.test.home().join("logs/hooks.log")).unwrap_or_default();
    println!("hooks.log:\n{log}");
}

fn line(turn: &Value) -> String {
    let text: String = turn["text"].as_str().unwrap().chars().take(160).collect();
    format!("{} {} lane={} {} {}: {text:?}", turn["turn"], turn["session"], turn["lane"], turn["role"], turn["kind"])
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_subagent_of_claude_code_keeps_to_itself() {
    let machine = Machine::new();
    keeps_to_itself(&machine, &mut ClaudeCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_subagent_of_codex_keeps_to_itself() {
    let machine = Machine::new();
    keeps_to_itself(&machine, &mut Codex::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_subagent_of_opencode_keeps_to_itself() {
    let machine = Machine::new();
    keeps_to_itself(&machine, &mut OpenCode::on(&machine));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_subagent_of_openclaw_keeps_to_itself() {
    let machine = Machine::new();
    keeps_to_itself(&machine, &mut OpenClaw::on(&machine));
}

/// The sub-agent is asked again in a later process, whose plugin was not there when the sub-agent began.
#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_subagent_of_opencode_that_is_asked_again_keeps_to_itself() {
    const AGAIN: &str = "Have the same one count them.";
    const COUNT: &str = "Count all planks of the barn.";
    let machine = Machine::new();
    let mut program = OpenCode::on(&machine);
    machine.connect(program.name());
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let project = machine.project("barn");
    machine.model.answers(delegates(Arc::default()));
    let first = program.turn(&project, ASKED, None);
    machine.model.answers(Box::new(|asked| {
        let id = asked.heard.split("<task id=\"").nth(1).and_then(|rest| rest.split('"').next());
        match asked.purpose {
            Purpose::Turn if asked.prompt.contains(COUNT) => Some(Reply::text("There are twelve.")),
            Purpose::Turn if asked.prompt.contains(AGAIN) => {
                let more =
                    json!({"description": "count planks", "prompt": COUNT, "subagent_type": "general", "task_id": id});
                Some(Reply::call("task", more))
            }
            _ => None,
        }
    }));
    let mark = machine.model.mark();
    let second = program.turn(&project, AGAIN, Some(&first.session));
    assert_eq!(second.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&second.heard));
    let heard = machine.heard_since(mark, COUNT);
    assert!(heard.contains(SENT), "it is the same one: {heard}");
    assert!(!heard.contains("<heirloom-memory"), "{}", ours(&heard));
    at_rest(&machine);
    machine.world.import(0, &[]);
    assert_eq!(machine.world.sessions(), [format!("opencode:{}", first.session)]);
    let turns = machine.world.turns(&format!("opencode:{}", first.session));
    let prompts: Vec<&str> = turns
        .iter()
        .filter(|t| t["role"] == "user" && t["kind"] == "message")
        .map(|t| t["text"].as_str().unwrap().trim_matches('"'))
        .collect();
    assert_eq!(prompts, [ASKED, AGAIN], "{turns:#?}");
    is_kept_once(&machine, &[&mut program]);
}
