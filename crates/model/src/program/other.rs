//! Asks any command: it gets the whole question on its standard input and prints one JSON object.

use std::ffi::OsString;

use heirloom_engine::model::{Answer, Failure};

use super::{Call, Folders, Output, Preset};
use crate::asking::Question;

pub(crate) struct Other {
    /// Arguments of the program.
    pub arguments: Vec<String>,
}

impl Preset for Other {
    fn known_as(&self) -> Option<&'static str> {
        None
    }

    fn call(&self, question: &Question, _: &Folders) -> Result<Call, Failure> {
        let arguments: Vec<OsString> = self.arguments.iter().map(Into::into).collect();
        Ok(Call { arguments, input: question.as_text(true, true), files: Vec::new() })
    }

    fn read(&self, output: &Output, _: &Call) -> Result<Answer, Failure> {
        if !output.status.success() {
            // The command's failure says nothing about the question, which therefore loses no try.
            let why = format!("the command ended with {}", output.status);
            return Err(Failure::Later { why, after: None });
        }
        Ok(Answer { text: output.text.clone(), tokens_in: None, tokens_out: None, cost: None })
    }
}
