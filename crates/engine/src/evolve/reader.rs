//! Reads a session once: the commands that succeeded, explicit statements of a person about the project, refused calls,
//! and the steps of the work in order. Pure: turns in, findings out.
//!
//! Evidence is a person's words or a successful call. Text that programs write in a person's name, injected context,
//! machine prompts, tool output and our own commands are no evidence, nor is a call that runs what a page said (R5.4,
//! R14.3).

use std::borrow::Cow;
use std::collections::HashMap;

use super::commands;
use super::outside;
use super::sentences::{Told, told};
use crate::clock::Millis;
use crate::distill::work_state::shell::{self, Simple};
use crate::distill::work_state::{calls, checks, outcome};
use crate::event::{Role, TurnKind, unwrapped};
use crate::recall::spoken;
use crate::redact::redact;
use crate::scope::{RunNo, TurnId, named};
use crate::skill::mine::Step;
use crate::text::plain::ends;
use crate::transcript::read::Turn;

/// Version of the reader, increased when sessions must be read again because it finds something else.
pub const READER: i64 = 7;

/// Maximum number of findings of a session, and of steps.
const MOST: usize = 200;
const MOST_STEPS: usize = 600;
/// The value of a blocker that a person told.
pub const TOLD: &str = "told";

/// Maximum bytes of an output in which failures and commands are looked for.
const MOST_READ: usize = 64 * 1024;

/// Maximum number of texts from outside, such as fetched pages, of a session that are kept for comparison, and of a
/// person's messages: a few MB.
const MOST_FOREIGN: usize = 32;
const MOST_HEARD: usize = 400;

/// Maximum number of commands in such texts that are remembered of a session.
const MOST_MENTIONED: usize = 60;

/// Maximum bytes of a person's message in which commands are looked for. A longer one is a paste.
const MOST_SAID: usize = 4 * 1024;

named! {
    /// The kind of a finding.
    pub enum Kind {
        /// A command of the project that succeeded.
        Command = "command",
        /// A sentence of a person about the project.
        Fact = "fact",
        /// A sentence of a person that says that something is no longer so.
        Retraction = "retraction",
        /// A procedure in a person's words.
        Procedure = "procedure",
        /// A command that was not allowed to run, or a person's words about what must not be done.
        Blocker = "blocker",
        /// A command that a text from outside the project gave, and not the person.
        Borrowed = "borrowed",
        /// A command that succeeded and that the person gave.
        Given = "given",
    }
}

/// Something a session shows about its project.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub kind: Kind,
    pub subject: String,
    pub value: String,
    /// A person's words, or the command.
    pub sentence: String,
    /// Whether the person says that this changes an earlier state.
    pub changed: bool,
    /// Number of runs of the session that show it.
    pub times: u32,
    /// The first turns and the newest turn that show it.
    pub turns: Vec<TurnId>,
    pub at: Option<Millis>,
    /// The model that found it; `None`: it was found without a model.
    pub by: Option<By>,
}

impl Finding {
    /// The finding of a command that succeeded.
    fn of_command(kind: Kind, habit: commands::Habit, result: &Turn) -> Finding {
        Finding {
            kind,
            subject: habit.subject,
            value: habit.command.clone(),
            sentence: habit.command,
            changed: false,
            times: 1,
            turns: vec![result.id],
            at: result.at,
            by: None,
        }
    }
}

/// The values that only a model's finding has.
#[derive(Clone, PartialEq, Debug)]
pub struct By {
    pub model: String,
    /// Between 0 and 1.
    pub confidence: f64,
    /// Id of the memory that no longer holds because of it.
    pub contradicts: Option<String>,
}

/// The result of reading a session.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Shown {
    pub findings: Vec<Finding>,
    /// Steps in the order in which they were taken, in the main lane.
    pub steps: Vec<Step>,
}

/// A call waiting for its result.
struct Call {
    turn: TurnId,
    tool: String,
    input: String,
}

/// Reads the turns of a session one by one.
#[derive(Default)]
pub struct Reader {
    /// The user's name, for conversations that name their speakers.
    user: Option<String>,
    shown: Shown,
    calls: HashMap<String, Call>,
    last_call: Option<Call>,
    /// The facts of the last two messages, which the next message may retract.
    fresh: Vec<(usize, usize)>,
    messages: usize,
    /// The run in which each finding was last counted.
    counted: HashMap<usize, RunNo>,
    /// Texts from outside the project that calls read: pages, issues, documents of other people's packages.
    foreign: Vec<String>,
    /// Number of commands that such texts mention.
    mentioned: usize,
    /// The person's short messages.
    heard: Vec<String>,
}

impl Reader {
    pub fn new(user: Option<String>) -> Reader {
        Reader { user: user.map(|name| name.trim().to_lowercase()), ..Reader::default() }
    }

    /// Reads one turn.
    pub fn turn(&mut self, turn: &Turn) {
        match (turn.role, turn.kind) {
            (Role::User, TurnKind::Message) if turn.lane.is_empty() && self.is_the_user(turn) => self.message(turn),
            (_, TurnKind::ToolCall) => {
                let call =
                    Call { turn: turn.id, tool: turn.tool.clone().unwrap_or_default(), input: turn.text.clone() };
                match &turn.call {
                    Some(id) => drop(self.calls.insert(id.clone(), call)),
                    None => self.last_call = Some(call),
                }
            }
            (_, TurnKind::ToolResult) => {
                let call = match &turn.call {
                    Some(id) => self.calls.remove(id),
                    None => self.last_call.take(),
                };
                if let Some(call) = call {
                    self.answered(&call, turn);
                }
            }
            _ => {}
        }
    }

    pub fn finish(self) -> Shown {
        self.shown
    }

    /// Whether a message is the user's. In a conversation of several people, others speak too.
    fn is_the_user(&self, turn: &Turn) -> bool {
        match (&turn.speaker, &self.user) {
            (Some(speaker), Some(user)) => speaker.trim().to_lowercase() == *user,
            _ => true,
        }
    }

    fn message(&mut self, turn: &Turn) {
        let prompt = unwrapped(&turn.text);
        let Some(said) = spoken(turn.role, turn.kind, prompt) else { return };
        self.messages += 1;
        let messages = self.messages;
        if said.len() <= MOST_SAID && self.heard.len() < MOST_HEARD {
            self.heard.push(said.to_string());
        }
        self.fresh.retain(|(_, at)| at + 1 >= messages);
        for what in told(&said) {
            let (kind, subject, value, sentence, changed) = match what {
                Told::Fact { subject, value, text, changed } => (Kind::Fact, subject, value, text, changed),
                Told::Retraction { subject, value, text } => (Kind::Retraction, subject, value, text, true),
                Told::Rule { subject, text } => (Kind::Blocker, subject, TOLD.to_owned(), text, false),
                Told::Procedure { subject, text } => (Kind::Procedure, subject, String::new(), text, false),
                Told::TakenBack => {
                    if let Some((at, _)) = self.fresh.pop() {
                        // The finding keeps its index, so that the indexes of others stay valid.
                        self.shown.findings[at].times = 0;
                    }
                    continue;
                }
            };
            // A statement with a credential is never remembered.
            if redact(&sentence) != sentence {
                continue;
            }
            let at = self.found(
                turn,
                Finding {
                    kind,
                    subject,
                    value,
                    sentence,
                    changed,
                    times: 1,
                    turns: vec![turn.id],
                    at: turn.at,
                    by: None,
                },
            );
            if let Some(at) = at.filter(|_| matches!(kind, Kind::Fact | Kind::Procedure)) {
                self.fresh.push((at, messages));
            }
        }
    }

    /// Reads a call and its result.
    fn answered(&mut self, call: &Call, result: &Turn) {
        let output = result.text.as_str();
        if outside::reads(&call.tool, &call.input) && self.foreign.len() < MOST_FOREIGN {
            let text = ends(output, MOST_READ).concat();
            for habit in outside::mentioned(&text) {
                if self.mentioned < MOST_MENTIONED {
                    self.mentioned += 1;
                    self.found(result, Finding::of_command(Kind::Borrowed, habit, result));
                }
            }
            self.foreign.push(text);
        }
        let asked = calls::unwrapped(&call.tool, &call.input);
        let commands: Vec<Cow<str>> = asked
            .iter()
            .filter_map(|(_, input)| outcome::command(input))
            .map(|c| Cow::Owned(commands::script(c).into_owned()))
            .collect();
        let [script] = &commands[..] else { return };
        let simples = shell::parse(script);
        if simples.is_empty() || outcome::goes_on(output).is_some() || call.input.contains("run_in_background: true") {
            return;
        }
        if outcome::is_refused(output) {
            return self.refused(&simples, call, result, "refused");
        }
        let failed = result.failed || outcome::exits_badly(output) || output.starts_with("Script failed");
        if failed && is_denied(output) {
            self.refused(&simples, call, result, "denied");
        }
        let passed = !failed && !checks::says_failed(&ends(output, MOST_READ)) && !is_push_refused(output);
        // A script that runs with other rights is never remembered.
        let is_higher = script.split_whitespace().any(|w| matches!(w, "sudo" | "su" | "doas"));
        let sure = certain(script, &simples);
        for (at, simple) in simples.iter().enumerate() {
            let words: Vec<&str> = simple.args.iter().map(|a| a.text.as_str()).collect();
            if self.origin(&words.join(" ")) == Some(Kind::Borrowed) {
                if passed && let Some(habit) = commands::habit(simple) {
                    self.found(result, Finding::of_command(Kind::Borrowed, habit, result));
                }
                continue;
            }
            // A draft says where a step is missing, so that nobody takes the rest for the whole.
            let step = if is_higher { None } else { commands::step(simple) };
            if result.lane.is_empty()
                && self.shown.steps.len() < MOST_STEPS
                && let Some(text) = step.or_else(|| commands::left_out(simple))
            {
                self.shown.steps.push(Step { turn: result.id, text, succeeded: passed && sure[at] });
            }
            if is_higher {
                continue;
            }
            if passed
                && sure[at]
                && let Some(habit) = commands::habit(simple)
            {
                if let Some(origin) = self.origin(&habit.command) {
                    self.found(result, Finding::of_command(origin, habit.clone(), result));
                    if origin == Kind::Borrowed {
                        continue;
                    }
                }
                self.found(result, Finding::of_command(Kind::Command, habit, result));
            }
        }
    }

    /// Returns who gave a command in this session, as far as it is known: the person, or else a text from outside the
    /// project. Running what such a text says shows what that text wants, not how the project is worked on.
    fn origin(&self, command: &str) -> Option<Kind> {
        let gives = |text: &String| text.contains(command);
        if self.heard.iter().any(gives) {
            return Some(Kind::Given);
        }
        // A single word stands in many texts by chance.
        (command.contains([' ', '/']) && self.foreign.iter().any(gives)).then_some(Kind::Borrowed)
    }

    fn refused(&mut self, simples: &[Simple], call: &Call, result: &Turn, how: &str) {
        let Some(name) = simples.iter().rev().find_map(commands::named) else { return };
        self.found(
            result,
            Finding {
                kind: Kind::Blocker,
                subject: name.clone(),
                value: how.to_owned(),
                sentence: name,
                changed: false,
                times: 1,
                turns: vec![call.turn, result.id],
                at: result.at,
                by: None,
            },
        );
    }

    /// Adds a finding, or counts it again. Returns its index; `None`: there are too many findings.
    fn found(&mut self, turn: &Turn, new: Finding) -> Option<usize> {
        let same = |f: &Finding| f.kind == new.kind && f.subject == new.subject && f.value == new.value && f.times > 0;
        match self.shown.findings.iter().position(same) {
            Some(at) => {
                let known = &mut self.shown.findings[at];
                if self.counted.insert(at, turn.run) != Some(turn.run) {
                    known.times += 1;
                    known.at = new.at.or(known.at);
                }
                known.turns.truncate(3);
                known.turns.extend(new.turns.last().filter(|t| !known.turns.contains(t)).copied());
                Some(at)
            }
            None if self.shown.findings.len() < MOST => {
                let at = self.shown.findings.len();
                self.counted.insert(at, turn.run);
                self.shown.findings.push(new);
                Some(at)
            }
            None => None,
        }
    }
}

/// Returns for each command of a script whether the success of the script proves its own success: a command before `;`,
/// `||` or a new line may have failed, and a filter at the end of a pipe is not the command that was checked.
fn certain(script: &str, simples: &[Simple]) -> Vec<bool> {
    let loose = script.contains("||") || script.contains(';') || script.trim().contains('\n') || script.contains(" & ");
    let filters =
        |s: &Simple| matches!(s.program(), "head" | "tail" | "grep" | "tee" | "cat" | "wc" | "sort" | "less" | "rg");
    let last = simples.iter().rposition(|s| !filters(s));
    (0..simples.len()).map(|at| !loose || Some(at) == last).collect()
}

/// Whether git says in an output that it pushed nothing. A filter behind it hides its exit code.
fn is_push_refused(output: &str) -> bool {
    let says = |line: &str| line.contains("! [rejected]") || line.starts_with("error: failed to push");
    ends(output, MOST_READ).iter().flat_map(|part| part.lines()).any(|line| says(line.trim_start()))
}

/// Whether an output says that an action was not allowed.
fn is_denied(output: &str) -> bool {
    let low = ends(output, 4_096).concat().to_lowercase();
    // "remote: Permission to team/app.git denied to bot."
    let apart = low.lines().any(|l| l.contains("permission to ") && l.contains(" denied"));
    apart
        || [
            "permission denied",
            "(forbidden)",
            "403 forbidden",
            "is forbidden: user",
            "operation not permitted",
            "eacces",
            "requires approval",
            "not allowed by",
            "access denied",
            "access is denied",
            "accessdenied",
            "not authorized",
            "not authorised",
            "unauthorized to",
            "insufficient privilege",
            "insufficientprivilege",
            "not have permission",
            "insufficient permission",
            "must be owner of",
            "protected branch",
            "read-only file system",
            // sudo and doas without a terminal to ask at.
            "a password is required",
        ]
        .iter()
        .any(|mark| low.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_surely_ran_counts() {
        let of = |script: &str| certain(script, &shell::parse(script));
        assert_eq!(of("cd api && just ci 2>&1 | tail -5"), [true, true, true]);
        assert_eq!(of("just ci; echo done"), [false, true]);
        assert_eq!(of("just ci || true"), [false, true]);
        assert_eq!(of("just ci\njust deploy | tail -3"), [false, true, false]);
    }

    #[test]
    fn a_push_that_was_refused_did_not_succeed() {
        assert!(is_push_refused("To example.org:api\n ! [rejected]  main -> main (fetch first)\n"));
        assert!(is_push_refused("error: failed to push some refs to 'example.org:api'"));
        assert!(!is_push_refused("To example.org:api\n   1a2b3c..4d5e6f  main -> main\n"));
    }

    #[test]
    fn a_denied_command_is_told_from_a_failed_one() {
        assert!(is_denied("mkdir: cannot create directory '/srv': Permission denied"));
        assert!(is_denied("sudo: a terminal is required to read the password; sudo: a password is required"));
        assert!(is_denied("remote: Permission to team/app.git denied to bot.\nfatal: unable to access"));
        assert!(is_denied("Error from server (Forbidden): User \"bot\" cannot create resource \"pods\""));
        assert!(!is_denied("error[E0308]: mismatched types"));
    }
}
