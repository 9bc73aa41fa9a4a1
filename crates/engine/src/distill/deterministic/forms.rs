//! Reads the choices of a person in a form of the program: a question with options, and what was chosen. They say most
//! plainly how the work has to be. A form is a tool call with its result, or a message of questions and answers.

use std::ops::Range;

use serde_json::Value;

use super::list::JOIN;
use crate::distill::Said;
use crate::distill::work_state::{field, list as listed, plain_tool};
use crate::event::{Role, TurnKind};
use crate::scope::TurnId;
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower, plain};
use crate::text::words::{Marks, split};

/// Maximum length of a question and of its answer, in bytes: together a line of a handoff.
const QUESTION: usize = 110;
const ANSWER: usize = 150;

/// Maximum number of questions of a form that are read. The programs put at most four.
const MOST: usize = 12;

/// Most questions with answers in a message that is a form.
const MOST_CARDS: usize = 6;

/// Tools that put questions to the person, under the names that several programs give them.
const TOOLS: [&str; 7] =
    ["askuserquestion", "askuser", "askfollowupquestion", "ask", "question", "requestuserinput", "promptuser"];

/// Phrases that programs write before the answers in the result of such a tool.
const ANSWERED: [&str; 2] = ["answered your question", "questions have been answered"];

/// A question with the person's answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    pub question: String,
    pub answer: String,
    /// The turns of the question and of the answer.
    pub turns: Vec<TurnId>,
}

impl Choice {
    /// Returns question and answer as one line.
    pub fn text(&self) -> String {
        // Programs mark the option that the model would take.
        let answer = self.answer.replace(" (Recommended)", "");
        format!("{}{JOIN}{}", cut(&self.question, QUESTION), cut(&answer, ANSWER))
    }

    /// Whether the answer decides something. "Looks complete" and "Continue" only let the work go on.
    pub fn decides(&self) -> bool {
        let goes_on = phrases!(
            "continue|proceed|approve|approved|accept|done|skip|cancel|other / go ahead / looks good|complete|right|correct|fine / work on it now / weiter|fertig|passt|abbrechen / sieht gut aus / continuer|terminé / continuar|adelante|listo / continua|prosegui / далее|продолжить|готово"
        );
        let words = split(&lower(&self.answer), Marks::Dropped);
        !words.is_empty() && goes_on.begin(&words).all(|(_, taken)| taken < words.len())
    }
}

/// A form that the model put to the person in a tool call.
#[derive(Debug)]
pub struct Form {
    pub turn: TurnId,
    pub call: Option<String>,
    /// The id and the text of each question.
    questions: Vec<(String, String)>,
}

impl Form {
    /// Reads the form of a tool call; `None` if the tool puts no questions.
    pub fn of(said: &Said) -> Option<Form> {
        // A tool of a server, `mcp__search__ask`, asks others than the person.
        let tool = said.tool.as_deref().filter(|tool| said.kind == TurnKind::ToolCall && !tool.contains("__"))?;
        if !TOOLS.contains(&plain_tool(tool).as_str()) {
            return None;
        }
        let told = listed(&said.text, &["questions"]).unwrap_or_default();
        let mut questions: Vec<(String, String)> = told.iter().take(MOST).filter_map(question).collect();
        if let Some(one) = field(&said.text, "question").filter(|_| questions.is_empty()) {
            questions.push((String::new(), plain(one)));
        }
        Some(Form { turn: said.id, call: said.call.clone(), questions })
    }

    /// Reads the form of a history that gives call and result as one text, whose first line names the tool.
    pub fn recorded(said: &Said) -> Option<Form> {
        const NAMES: [&str; 2] = ["AskUserQuestion", "request_user_input"];
        let first = said.text.lines().next().filter(|_| said.role == Role::Tool && said.call.is_none())?;
        let named = NAMES.iter().any(|name| first.contains(name));
        named.then(|| Form { turn: said.id, call: None, questions: Vec::new() })
    }

    /// Whether a turn is the result of this form.
    pub fn is_answered_by(&self, said: &Said) -> bool {
        said.role == Role::Tool && said.kind == TurnKind::ToolResult && said.call == self.call
    }

    /// Returns the questions.
    pub fn questions(&self) -> impl Iterator<Item = &str> {
        self.questions.iter().map(|(_, text)| text.as_str())
    }

    /// Returns the choices in the result of this form.
    pub fn choices(&self, result: &Said) -> Vec<Choice> {
        let mut pairs = match serde_json::from_str::<Value>(&result.text) {
            Ok(told) => self.by_id(&told),
            Err(_) => quoted(&result.text),
        };
        pairs.retain(|(question, _)| self.questions.is_empty() || self.questions().any(|asked| asked == question));
        let turns = || vec![self.turn, result.id];
        pairs.into_iter().map(|(question, answer)| Choice { question, answer, turns: turns() }).collect()
    }

    /// Reads answers by the ids of their questions: `{"answers": {"db": {"answers": ["SQLite"]}}}`.
    fn by_id(&self, told: &Value) -> Vec<(String, String)> {
        let Some(answers) = told.get("answers").and_then(Value::as_object) else { return Vec::new() };
        let text = |id: &str| self.questions.iter().find(|(of, text)| of == id || text == id).map(|(_, text)| text);
        let all = answers.iter().take(MOST).filter_map(|(id, answer)| {
            let answer = answer.get("answers").unwrap_or(answer);
            let chosen: Vec<&str> = match answer {
                Value::String(one) => vec![one],
                Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            // An answer to a question that the form did not ask is somebody else's.
            let question = text(id)?.clone();
            (!chosen.is_empty()).then(|| (question, plain(&chosen.join(", "))))
        });
        all.collect()
    }
}

/// Returns the id and the text of a question in a tool's input.
fn question(told: &Value) -> Option<(String, String)> {
    let text = |key: &str| told.get(key).and_then(Value::as_str);
    let question = plain(text("question").or_else(|| text("prompt"))?);
    Some((text("id").unwrap_or(&question).to_owned(), question))
}

/// Reads the pairs of a sentence: `… answered your questions: "Which port?"="8080", "Which host?"="the old one".`
fn quoted(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let Some((_, rest)) = ANSWERED.iter().find_map(|told| text.split_once(told)) else { return out };
    let mut rest = rest.split_once(':').map_or("", |(_, rest)| rest);
    while let Some((_, after)) = rest.split_once('"')
        && let Some((question, after)) = after.split_once("\"=")
        && out.len() < MOST
    {
        let (answer, left) = match after.strip_prefix('"') {
            Some(told) => {
                let ends = ["\", \"", "\"; \"", "\". You can", "\"\n", "\" user notes", "\" selected preview"];
                let end = ends.iter().filter_map(|end| told.find(end)).min().or_else(|| told.rfind('"'));
                told.split_at(end.unwrap_or(told.len()))
            }
            // Some programs quote chosen options only, and give an answer that the person typed without marks.
            None => after.split_at(after.find(", \"").or_else(|| after.find(". You can")).unwrap_or(after.len())),
        };
        out.push((plain(question), plain(answer)));
        // The quotation mark that ends this answer does not begin the next question.
        rest = left.strip_prefix('"').unwrap_or(left);
    }
    out
}

/// Reads a message that gives questions with their answers, each on a line that begins with a letter and a colon:
/// `Q: Which port? / A: 8080`. Returns them with the bytes of the message that they take.
pub fn cards(text: &str) -> Vec<(String, String, Range<usize>)> {
    let mut out: Vec<(String, String, Range<usize>)> = Vec::new();
    let (mut at, mut open): (usize, Option<(char, String, usize)>) = (0, None);
    let (mut answers, mut asked): (Option<char>, Option<char>) = (None, None);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match lettered(line) {
            Some((letter, told)) if told.ends_with(['?', '？']) && asked.is_none_or(|a| a == letter) => {
                asked = Some(letter);
                open = Some((letter, plain(told), at));
            }
            Some((letter, told)) if answers.is_none_or(|a| a == letter) => match open.take() {
                Some((of, question, from)) if of != letter => {
                    answers = Some(letter);
                    out.push((question, plain(told), from..end));
                }
                _ => {}
            },
            _ => {}
        }
        at = end;
    }
    // A pasted page of questions and answers has more of them, or longer answers.
    let is_form = out.len() <= MOST_CARDS && out.iter().all(|(_, answer, _)| answer.len() <= ANSWER);
    if is_form { out } else { Vec::new() }
}

/// Returns the letter that a line begins with, and the rest: of `Q: Which port?`, `Q` and "Which port?".
fn lettered(line: &str) -> Option<(char, &str)> {
    let (head, rest) = line.trim().split_once([':', '：'])?;
    let mut letters = head.chars();
    let letter = letters.next().filter(|c| c.is_alphabetic())?;
    let rest = rest.trim();
    (letters.next().is_none() && !rest.is_empty()).then_some((letter, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        quoted(text)
    }

    fn pair(question: &str, answer: &str) -> (String, String) {
        (question.to_owned(), answer.to_owned())
    }

    #[test]
    fn the_result_of_a_form_gives_its_pairs() {
        let told = r#"User has answered your questions: "Which port?"="8080", "Which "old" host?"="the "blue" one". You can now continue with the user's answers in mind."#;
        assert_eq!(pairs(told), [pair("Which port?", "8080"), pair("Which \"old\" host?", "the \"blue\" one")]);
        let typed = r#"User has answered your questions: "Which port?"=none, use a socket, "Which host?"="moss". You can now continue"#;
        assert_eq!(pairs(typed), [pair("Which port?", "none, use a socket"), pair("Which host?", "moss")]);
        let noted = "User has answered your questions:\n\n\"Which port?\"=\"8080\" user notes: only for now\nYou can now continue";
        assert_eq!(pairs(noted), [pair("Which port?", "8080")]);
        assert_eq!(pairs("The page says: \"a\"=\"b\""), []);
        assert_eq!(pairs("User has answered your questions: "), []);
        assert_eq!(pairs("User has answered your questions: \"Which port?\"=\""), [pair("Which port?", "")]);
    }

    #[test]
    fn cards_are_lines_of_questions_and_answers() {
        let told = |text: &str| cards(text).into_iter().map(|(q, a, _)| pair(&q, &a)).collect::<Vec<_>>();
        assert_eq!(
            told("P: Como medir?\nR: As três visões\nP: Incluir a linha?\nR: Sim, com ouro"),
            [pair("Como medir?", "As três visões"), pair("Incluir a linha?", "Sim, com ouro")]
        );
        assert_eq!(told("Q: Which port?\nA: 8080\n\nand keep the old one open"), [pair("Which port?", "8080")]);
        assert_eq!(told("C: is the drive full?\nC: yes"), []);
        assert_eq!(told("A: the first\nB: the second"), []);
    }
}
