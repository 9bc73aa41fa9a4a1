//! Writes the draft of a skill: a SKILL.md as agentskills.io describes it, from a procedure that recurs (R11.4). Pure.
//!
//! The draft names the steps, when to use them, and where they were seen. It allows no tools: that is for a person to
//! say.

use super::mine::{LEFT_OUT, deed};
use crate::document::Document;
use crate::error::Result;
use serde_json::{Map, Value};

/// Maximum length of a skill's name and description, in characters.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;

/// The content of a draft.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    pub name: String,
    /// Number of the candidate.
    pub candidate: i64,
    /// Name of the project, as people use it.
    pub project: String,
    /// Steps, with those that are left out.
    pub steps: Vec<String>,
    pub sessions: usize,
    pub runs: usize,
    pub succeeded: usize,
    /// Turns that show the steps, newest session first.
    pub turns: Vec<String>,
}

/// Returns the name of a procedure: its action and its project, in small letters, digits and single hyphens, at most 64
/// characters.
pub fn name(project: &str, steps: &[String]) -> String {
    let deeds: Vec<&str> = steps.iter().filter_map(|s| deed(s)).collect();
    let what = match () {
        () if deeds.iter().any(|d| matches!(*d, "publish" | "release" | "tag" | "dist")) => "release",
        () if deeds.iter().any(|d| matches!(*d, "deploy" | "rollout" | "apply")) => "deploy",
        () => deeds.last().copied().unwrap_or("procedure"),
    };
    slug(&format!("{what}-{project}"))
}

/// Returns a text as the name of a folder.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(LONGEST_NAME);
    let out = out.trim_end_matches('-');
    if out.is_empty() { "procedure".to_owned() } else { out.to_owned() }
}

impl Draft {
    /// Returns the description: what the procedure does and when to use it.
    pub fn description(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|s| marked(s)).collect();
        let what = self.name.split('-').next().unwrap_or("procedure");
        let (project, steps) = (&self.project, steps.join(", "));
        let text = match what {
            "procedure" => {
                format!("A procedure of {project}: {steps}, in this order. Use when one of these steps is asked for.")
            }
            what => format!(
                "The {what} procedure of {project}: {steps}, in this order. Use when asked to {what} {project} or to do one of \
                 these steps."
            ),
        };
        match text.char_indices().nth(LONGEST_DESCRIPTION - 1) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    /// Returns the whole file.
    pub fn text(&self) -> Result<String> {
        let mut doc = Document::new();
        doc.set("name", &self.name.as_str().into())?;
        doc.set("description", &self.description().into())?;
        let metadata = Map::from_iter([
            ("heirloom-candidate".to_owned(), Value::from(self.candidate.to_string())),
            ("heirloom-evidence".to_owned(), Value::from(self.turns.join(" "))),
        ]);
        doc.set("metadata", &Value::Object(metadata))?;
        doc.set_body(&self.body())?;
        Ok(String::from_utf8_lossy(doc.print()).into_owned())
    }

    fn body(&self) -> String {
        let steps: String = self.steps.iter().enumerate().map(|(n, s)| format!("{}. {}\n", n + 1, marked(s))).collect();
        let missing = match self.steps.iter().any(|s| s.starts_with(LEFT_OUT)) {
            true => "A step that is left out could do harm when nobody looks: stop there and ask how it is done.\n\n",
            false => "",
        };
        let slots = match self.steps.iter().any(|s| s.contains('<')) {
            true => "What stands in `<angle brackets>` differs each time: take it from the task, or ask.\n\n",
            false => "",
        };
        format!(
            "# {}\n\nThese steps succeeded together {} of {} times, in {} sessions of {}.\n\n{steps}\n{slots}{missing}\
             Stop where a step fails and say so; do not go on with the next one. Ask before a step that cannot be taken back.\n",
            self.name.replace('-', " "),
            self.succeeded,
            self.runs,
            self.sessions,
            self.project,
        )
    }
}

/// Returns a step as code, and the name of one that is left out as it is.
fn marked(step: &str) -> String {
    if step.starts_with(LEFT_OUT) { step.to_owned() } else { format!("`{step}`") }
}

/// Returns the id of a candidate as people see it: `k:7`.
pub fn id(candidate: i64) -> String {
    format!("k:{candidate}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            name: name("My API", &["just ci".into(), "git tag <version>".into(), "git push --tags".into()]),
            candidate: 7,
            project: "my-api".into(),
            steps: vec!["just ci".into(), "git tag <version>".into(), "git push --tags".into()],
            sessions: 3,
            runs: 4,
            succeeded: 4,
            turns: vec!["t1a".into(), "t2b".into()],
        }
    }

    #[test]
    fn a_draft_is_what_the_form_asks_for() {
        let text = draft().text().unwrap();
        let doc = Document::parse(text.clone().into_bytes());
        let fields = doc.fields();
        assert_eq!(fields["name"], "release-my-api");
        assert!(fields["description"].as_str().unwrap().len() <= LONGEST_DESCRIPTION);
        assert_eq!(fields["metadata"]["heirloom-candidate"], "7");
        assert!(!text.contains("allowed-tools") && text.lines().count() < 500, "{text}");
        assert!(text.contains("2. `git tag <version>`"), "{text}");
    }

    #[test]
    fn a_draft_says_where_a_step_is_missing() {
        let mut draft = draft();
        assert!(!draft.text().unwrap().contains("left out"));
        draft.steps.insert(1, "(left out: `aws s3 sync … --delete`, which deletes)".into());
        let text = draft.text().unwrap();
        assert!(text.contains("\n2. (left out: `aws s3 sync … --delete`, which deletes)\n3. `git tag"), "{text}");
        assert!(text.contains("stop there and ask"), "{text}");
    }

    #[test]
    fn a_name_is_a_folder() {
        let cases =
            [("Größe & Co", "gr-e-co"), ("--x--", "x"), ("日本", "procedure"), (&"a".repeat(80), &"a".repeat(64))];
        for (text, wanted) in cases {
            assert_eq!(slug(text), wanted);
        }
    }
}
