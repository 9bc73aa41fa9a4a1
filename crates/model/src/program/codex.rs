//! Asks Codex once: `codex exec` with the options under which it was seen to fire no hook and write no session.

use std::ffi::OsString;
use std::io::Write as _;

use heirloom_engine::model::{Answer, Failure};

use super::{Call, Folders, Output, Preset};
use crate::asking::{LARGEST_ANSWER, Question};
use crate::schema::dialect;

pub(crate) struct Codex {
    /// The model; `None`: Codex's own default. The person's own settings are not read.
    pub model: Option<String>,
}

/// Features that would fire hooks, load something or offer tools. The newest models are offered tools all the same: Codex
/// takes them from its list of models, and no feature switches them off. They run in the empty folder, in a sandbox that
/// only reads.
const DISABLED: [&str; 6] = ["hooks", "shell_tool", "plugins", "apps", "multi_agent", "goals"];

/// Settings without which Codex sends statistics and looks for a newer version. The person may have switched that off, in
/// the settings that are not read; Codex knows no variables for it.
const QUIETED_BY: [&str; 3] =
    ["analytics.enabled=false", "otel.metrics_exporter=\"none\"", "check_for_update_on_startup=false"];

impl Preset for Codex {
    fn known_as(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn call(&self, question: &Question, folders: &Folders) -> Result<Call, Failure> {
        let file = |suffix: &str, text: &str| {
            let made = tempfile::Builder::new().prefix("model-").suffix(suffix).tempfile_in(&folders.scratch);
            made.and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file)).map_err(|e| Failure::Later {
                why: format!("a file for codex cannot be written to {} ({})", folders.scratch.display(), e.kind()),
                after: None,
            })
        };
        let schema = file(".json", &dialect(question.ask.schema).to_string())?;
        let instructions = file(".md", question.ask.system)?;
        let answer = file(".txt", "")?;
        let mut arguments: Vec<OsString> = Vec::new();
        arguments.extend(["exec", "--ephemeral", "--ignore-user-config", "--ignore-rules"].map(Into::into));
        for feature in DISABLED {
            arguments.extend(["--disable", feature].map(Into::into));
        }
        let instructions_at = format!("model_instructions_file={}", quoted(&instructions.path().display().to_string()));
        let settings = ["web_search=\"disabled\"", "skills.include_instructions=false", &instructions_at];
        for setting in settings.into_iter().chain(QUIETED_BY) {
            arguments.extend(["-c", setting].map(Into::into));
        }
        arguments.extend(["-s", "read-only", "--skip-git-repo-check", "-C"].map(Into::into));
        arguments.push(folders.empty.clone().into());
        arguments.extend(["--output-schema".into(), schema.path().into(), "-o".into(), answer.path().into()]);
        if let Some(model) = &self.model {
            arguments.extend(["-m".into(), model.into()]);
        }
        arguments.push("-".into());
        Ok(Call { arguments, input: question.as_text(false, false), files: vec![schema, instructions, answer] })
    }

    fn read(&self, _: &Output, call: &Call) -> Result<Answer, Failure> {
        let unusable = |why: &str| Failure::Unusable(why.to_owned());
        let answer = call.files.last().ok_or_else(|| unusable("codex was given no file for its answer"))?;
        let size = answer.path().metadata().map_or(0, |m| m.len());
        if size > LARGEST_ANSWER as u64 {
            return Err(Failure::Unusable(format!("codex wrote more than {LARGEST_ANSWER} bytes")));
        }
        // Codex may have replaced our file by another one, so it is opened again by its path.
        let bytes = std::fs::read(answer.path()).map_err(|_| unusable("codex wrote no answer"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.trim().is_empty() {
            return Err(unusable("codex wrote no answer"));
        }
        Ok(Answer { text, tokens_in: None, tokens_out: None, cost: None })
    }
}

/// Quotes a text for TOML, which quotes like JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
