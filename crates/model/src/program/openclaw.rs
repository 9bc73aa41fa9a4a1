//! Asks OpenClaw once: `openclaw infer model run --local`, a completion without an agent, tools or a session.

use heirloom_engine::model::{Answer, Failure};
use serde_json::Value;

use super::{Call, Folders, Output, Preset, Variables};
use crate::asking::Question;

pub(crate) struct OpenClaw {
    /// The model as `provider/model`; `None`: OpenClaw's own default.
    pub model: Option<String>,
}

/// Most bytes of a prompt, which is passed as an argument: Linux allows 128 KiB for one.
const LONGEST_PROMPT: usize = 120 << 10;

impl Preset for OpenClaw {
    fn known_as(&self) -> Option<&'static str> {
        Some("openclaw")
    }

    fn quieted_by(&self) -> Variables {
        &[("OPENCLAW_NO_AUTO_UPDATE", "1"), ("DO_NOT_TRACK", "1")]
    }

    fn call(&self, question: &Question, _: &Folders) -> Result<Call, Failure> {
        // An argument ends at a NUL.
        let prompt = question.as_text(true, true).replace('\0', " ");
        if prompt.len() > LONGEST_PROMPT {
            return Err(Failure::Unusable("the question is longer than openclaw takes".into()));
        }
        let mut arguments: Vec<&str> = vec!["infer", "model", "run", "--local", "--json"];
        if let Some(model) = &self.model {
            arguments.extend(["--model", model]);
        }
        arguments.extend(["--prompt", &prompt]);
        let arguments = arguments.into_iter().map(Into::into).collect();
        Ok(Call { arguments, ..Call::default() })
    }

    fn read(&self, output: &Output, _: &Call) -> Result<Answer, Failure> {
        let unusable = |why: &str| Failure::Unusable(why.to_owned());
        // Log lines may come before the report, which begins with the first brace.
        let report = output.text.find('{').map(|at| &output.text[at..]).unwrap_or_default();
        let told: Value = serde_json::from_str(report.trim()).map_err(|_| unusable("openclaw printed no JSON"))?;
        if told["ok"] == false {
            return Err(unusable("openclaw ended with an error"));
        }
        let outputs = told["outputs"].as_array().map_or(&[][..], Vec::as_slice);
        let text: String = outputs.iter().filter_map(|o| o["text"].as_str()).collect();
        Ok(Answer { text, tokens_in: None, tokens_out: None, cost: None })
    }
}
