//! Answers of Ollama's chat, each in one piece. Its requests are read like those of [`super::chat`].

use serde_json::json;

use super::http::Outgoing;
use super::{Answer, Does, OUTPUT_TOKENS};

pub(super) fn write(answer: &Answer) -> Outgoing {
    let message = match &answer.does {
        Does::Say(text) => json!({"role": "assistant", "content": text}),
        Does::Call(tool, arguments) => {
            let call = json!({"function": {"name": tool.name, "arguments": arguments}});
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        }
    };
    let whole = json!({
        "model": answer.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": true,
        "done_reason": "stop", "prompt_eval_count": answer.input_tokens, "eval_count": OUTPUT_TOKENS,
    });
    Outgoing::json(200, &whole)
}
