//! Measures a program's hooks in a home: whole processes, as the program starts them (R12.5).

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use heirloom_engine::error::Result;
use heirloom_engine::home::Home;
use serde_json::json;

use crate::binary;
use crate::measure::{Costs, command_fed};
use crate::synthetic::Asked;

/// Events of a session, in order; all sessions belong to one project. Only prompts are given recalled items.
const EVENTS: [(&str, &str); 4] = [
    ("session start", "SessionStart"),
    ("prompt", "UserPromptSubmit"),
    ("turn end", "Stop"),
    ("session end", "SessionEnd"),
];

/// Folder of the project: one of those of [`crate::synthetic`].
const PROJECT: &str = "/home/user/project-0";

/// Lock held by the one-shot worker that a hook starts.
const WORKER: &str = "worker";

/// Maximum wait for that worker, which must not run during the next measurement.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `rounds` sessions of Claude Code with one prompt each; `start` makes the command from arguments. Work that
/// hooks leave to the worker is done in between.
pub fn measure(
    start: &dyn Fn(&[String]) -> Command,
    home: &Path,
    asked: &[Asked],
    rounds: u32,
) -> Result<Vec<(&'static str, Costs)>> {
    let opened = Home::open(home)?;
    let prompts = prompts(asked);
    let mut out: Vec<(&str, Costs)> = EVENTS.iter().map(|(what, _)| (*what, Costs::default())).collect();
    for round in 0..=rounds.max(1) {
        for ((_, event), (_, costs)) in EVENTS.iter().zip(&mut out) {
            let payload = json!({
                "session_id": format!("lab-{round}"), "cwd": PROJECT, "hook_event_name": event,
                "transcript_path": home.join("no-transcript.jsonl"), "source": "startup", "reason": "other",
                "prompt_id": format!("prompt-{round}"), "prompt": prompts[round as usize % prompts.len()],
                "last_assistant_message": "That is done, and the tests pass.",
            });
            let command = start(&binary::hook(home, "claude-code", event));
            let cost = command_fed(command, payload.to_string().as_bytes())?;
            // The first round warms the caches.
            if round > 0 {
                costs.push(cost);
            }
            wait_for_worker(&opened)?;
        }
    }
    Ok(out)
}

/// Returns questions of about ten words, as people ask them.
fn prompts(asked: &[Asked]) -> Vec<String> {
    let of = |which: usize| asked.get(which).map_or(&[][..], |kind| &kind.queries).iter();
    // Each question has some rare words, and some more with a frequent one among them.
    let prompts: Vec<String> =
        of(1).zip(of(2)).map(|(few, many)| format!("Why did we do {few} with {many}?")).collect();
    if prompts.is_empty() { vec!["What is left to do here?".into()] } else { prompts }
}

fn wait_for_worker(home: &Home) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while home.try_lock(WORKER)?.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
