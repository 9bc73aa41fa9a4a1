//! Reads the outcome of a call from its result, in the forms the programs use.

use super::{blocks, calls, input, shell};
use crate::scope::TurnId;

/// A finished call.
pub struct Call<'c> {
    pub tool: &'c str,
    pub input: &'c str,
    pub output: &'c str,
    pub failed: bool,
    pub call: TurnId,
    pub result: TurnId,
    pub main: bool,
}

/// Returns the command of a shell call.
pub fn command(input: &str) -> Option<&str> {
    shell::command_in(input).or_else(|| input.starts_with("[\"").then_some(input))
}

/// Whether the user refused the call: it did nothing and did not fail.
pub fn is_refused(output: &str) -> bool {
    let head = &output[..output.floor_char_boundary(2048)];
    let refused = [
        "doesn't want to proceed",
        "rejected by the user",
        "user rejected",
        "aborted by the user",
        "denied by the user",
    ];
    refused.iter().any(|r| head.contains(r))
        || head.starts_with("Tool execution aborted")
        || head.contains("Cancelled: parallel tool call")
        || head.contains("Sibling tool call errored")
        || head.starts_with("[Request interrupted")
}

/// Returns the id of a script that continues after this result.
pub fn goes_on(output: &str) -> Option<&str> {
    let head = &output[..output.floor_char_boundary(600)];
    let (_, rest) = ["Script running with cell ID ", "Process running with session ID "]
        .iter()
        .find_map(|mark| head.split_once(mark))?;
    rest.split(char::is_whitespace).next().filter(|id| !id.is_empty())
}

/// Whether an output reports a failing exit code. Some programs report it only there, in the first lines or the last:
/// `Command exited with code 1`.
pub fn exits_badly(output: &str) -> bool {
    let code = |line: &str| {
        let line = line.trim().trim_matches(['(', ')', '[', ']', '.']);
        let leads = ["Command exited with code ", "Process exited with code ", "Exit code: "];
        leads
            .iter()
            .find_map(|lead| line.strip_prefix(lead))
            .is_some_and(|code| code != "0" && code.parse::<u32>().is_ok())
    };
    output.lines().take(4).any(code) || output.lines().next_back().is_some_and(code)
}

/// Whether a patch did not apply, although the script around it ended well.
pub fn patch_failed(asked: &[calls::Asked], output: &str) -> bool {
    let patches = asked.iter().any(|(tool, input)| tool.contains("patch") || input.contains("*** Begin Patch"));
    let head = &output[..output.floor_char_boundary(2048)];
    patches
        && [
            "verification failed",
            "Failed to find expected lines",
            "Invalid Context",
            "Invalid patch",
            "patch rejected",
            "Failed to find context",
        ]
        .iter()
        .any(|mark| head.contains(mark))
}

/// Returns the id of a command that runs in the background.
pub fn background(call: &Call, inputs: &[&str]) -> Option<String> {
    let head = &call.output[..call.output.floor_char_boundary(600)];
    let told = ["running in background with ID: ", "Monitor started (task "].iter().find_map(|m| head.split_once(m));
    if let Some((_, rest)) = told {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        return Some(rest[..end].to_owned());
    }
    let asked = inputs.iter().any(|i| input::field(i, "run_in_background") == Some("true"));
    (asked && !call.failed).then(|| call.call.to_string())
}

/// Returns the plan of a call the user agreed to.
pub fn plan_of(input: &str, output: &str) -> Option<String> {
    if let Some((_, plan)) = output.split_once("## Approved Plan") {
        return plan.split_once('\n').map(|(_, plan)| plan.to_owned());
    }
    if output.contains("\"rejected\"") || !(output.contains("pproved") || output.contains("accepted")) {
        return None;
    }
    let json = blocks::fences(output).find_map(|(_, json)| serde_json::from_str::<serde_json::Value>(json).ok());
    if let Some(plan) = json.as_ref().and_then(|j| j.get("plan")?.as_str()) {
        return Some(plan.to_owned());
    }
    let from = input.find("plan: ").filter(|at| *at == 0 || input[..*at].ends_with('\n'))? + "plan: ".len();
    Some(input[from..].to_owned())
}
