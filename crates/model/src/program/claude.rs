//! Asks Claude Code once: `claude -p` with the options under which it was seen to fire no hook and write no session.

use heirloom_engine::model::{Answer, Failure};
use serde_json::Value;

use super::{Call, Folders, Output, Preset, Variables};
use crate::asking::Question;
use crate::openai::millionths;
use crate::schema::dialect;

pub(crate) struct Claude {
    pub model: String,
}

/// Options without which Claude Code fires hooks, loads servers, tools and skills, or keeps a session.
const WITHOUT_TRACE: &[&str] = &[
    "--no-session-persistence",
    "--tools",
    "",
    "--safe-mode",
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--permission-prompts",
    "none",
];

impl Preset for Claude {
    fn known_as(&self) -> Option<&'static str> {
        Some("claude")
    }

    /// Without the first, each call leaves a file in `~/.claude/telemetry` if its statistics cannot be sent.
    fn quieted_by(&self) -> Variables {
        &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ]
    }

    fn call(&self, question: &Question, _: &Folders) -> Result<Call, Failure> {
        let schema = dialect(question.ask.schema).to_string();
        let mut arguments: Vec<&str> = vec!["-p"];
        arguments.extend(WITHOUT_TRACE);
        arguments.extend(["--model", &self.model, "--system-prompt", question.ask.system]);
        arguments.extend(["--json-schema", &schema, "--output-format", "json"]);
        let arguments = arguments.into_iter().map(Into::into).collect();
        Ok(Call { arguments, input: question.as_text(false, false), files: Vec::new() })
    }

    fn read(&self, output: &Output, _: &Call) -> Result<Answer, Failure> {
        let unusable = |why: &str| Failure::Unusable(why.to_owned());
        let mut told: Value =
            serde_json::from_str(output.text.trim()).map_err(|_| unusable("claude printed no JSON"))?;
        if let Some(last) = told.as_array_mut().and_then(Vec::pop) {
            told = last;
        }
        if told["is_error"] == true {
            return Err(unusable("claude ended with an error"));
        }
        let text = match &told["structured_output"] {
            Value::Null => told["result"].as_str().unwrap_or_default().to_owned(),
            answer => answer.to_string(),
        };
        let usage = &told["usage"];
        let tokens_in = usage["input_tokens"].as_u64().map(|fresh| {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            fresh + cached.iter().filter_map(|name| usage[*name].as_u64()).sum::<u64>()
        });
        let cost = told["total_cost_usd"].as_f64().map(millionths);
        Ok(Answer { text, tokens_in, tokens_out: usage["output_tokens"].as_u64(), cost })
    }
}
