//! Our own questions over sessions of programs: what a developer asks a week later. Beside the ranking, it is measured
//! whether the context a program would be given with the question contains the answer.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use heirloom_engine::error::{Error, Result};
use heirloom_engine::inject::Given;
use heirloom_engine::scope::AgentId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::measures::{recall as share, reciprocal_rank};
use super::{Args, median, tenth, write_lines};
use crate::home::LabHome;
use crate::measure::Measured;
use crate::print;
use crate::sources::Sources;

/// Number of tokens of the context that is examined.
const BUDGET: usize = 2_000;

/// Minimum length in bytes: shorter texts of turns occur in a context by chance.
const SHORT: usize = 24;

/// Ranks at which recall is reported.
const AT: [usize; 3] = [5, 10, 20];

/// One question of the file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    pub id: String,
    pub kind: String,
    pub question: String,
    /// Each list is one thing to be found; any of its turns will do. A turn is written `session entry`, both as the
    /// program wrote them, so that they stay valid after another import.
    pub evidence: Vec<Vec<String>>,
}

/// A stored turn.
struct Stored {
    id: String,
    text: String,
}

/// Stored turns by `session entry`, and the project of each session.
#[derive(Default)]
struct Known {
    turns: HashMap<String, Stored>,
    project: HashMap<String, Option<String>>,
}

/// Result of one question.
struct Answered<'q> {
    question: &'q Question,
    /// Ranks at which its evidence was found.
    found: Vec<usize>,
    ranked: Vec<String>,
    /// Number of its pieces of evidence in the context.
    in_context: usize,
    /// Length of the context in tokens.
    tokens: usize,
}

pub(super) fn run(args: &Args, folder: &Path, file: &Path, for_people: bool) -> Result<Value> {
    let questions = read_file(file)?;
    if let Some(missing) = args.sources.iter().find(|s| !s.is_dir()) {
        return Ok(skipped(for_people, &format!("there are no sessions at {}", missing.display())));
    }
    let home = LabHome::create_with(&folder.join("home"), AgentId::main(), args.embedder()?)?;
    print::progress("importing");
    home.import(&Sources::of(&args.sources)?)?;
    let sources = Known::of(&home)?;
    let (known, unknown): (Vec<&Question>, Vec<&Question>) =
        questions.iter().partition(|q| q.evidence.iter().flatten().all(|turn| sources.turns.contains_key(turn)));
    if known.is_empty() {
        return Ok(skipped(for_people, "none of the sessions that answer the questions is in these folders"));
    }
    let mut index = home.index()?;
    print::progress("asking");
    let (mut answered, mut times) = (Vec::new(), Vec::new());
    for question in known {
        let measured = Measured::start();
        let hits = args.leg.turns(&home, &mut index, &question.question)?;
        times.push(measured.stop().cpu * 1e3);
        let ranked: Vec<String> =
            hits.iter().map(|h| format!("{} {}", h.turn.session.as_str(), h.turn.entry)).collect();
        let rank = |turns: &Vec<String>| ranked.iter().position(|r| turns.contains(r)).map(|n| n + 1);
        let found = question.evidence.iter().filter_map(rank).collect();
        // The context is that of a session in the project of the first piece of evidence.
        let session = question.evidence[0][0].split(' ').next().unwrap_or_default();
        let project = sources.project.get(session).cloned().flatten();
        let given = home.context(&mut index, project, &question.question, BUDGET)?;
        let in_context = question.evidence.iter().filter(|turns| stands(&given, turns, &sources)).count();
        answered.push(Answered { question, found, ranked, in_context, tokens: given.tokens });
    }
    if let Some(path) = &args.ranked {
        let line = |a: &Answered| json!({"question_id": a.question.id, "ranked": a.ranked, "found": a.found, "in_context": a.in_context});
        write_lines(path, &answered.iter().map(line).collect::<Vec<_>>())?;
    }
    let left_out: Vec<&str> = unknown.iter().map(|q| q.id.as_str()).collect();
    let groups = groups(&answered);
    let ms = median(times);
    if for_people {
        show(&groups, args.leg.name(), ms, &left_out);
    }
    Ok(json!({
        "set": "questions", "measures": "retrieval recall in percent, not answer accuracy", "leg": args.leg.name(),
        "budget": BUDGET, "median_cpu_ms": tenth(ms), "skipped": Value::Null, "left_out": left_out,
        "groups": groups.iter().map(|(name, g)| (name.clone(), g.to_json())).collect::<serde_json::Map<_, _>>(),
    }))
}

fn skipped(for_people: bool, why: &str) -> Value {
    if for_people {
        print::line(&format!("Skipped: {why}."));
    }
    json!({"set": "questions", "skipped": why})
}

pub(super) fn read_file(file: &Path) -> Result<Vec<Question>> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::io("read", file, e))?;
    let mut out: Vec<Question> = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let wrong = |why: String| Error::usage(format!("{}, line {}: {why}", file.display(), n + 1));
        let question: Question = serde_json::from_str(line).map_err(|e| wrong(e.to_string()))?;
        if question.evidence.is_empty() || question.evidence.iter().any(Vec::is_empty) {
            return Err(wrong("a question needs the turns that answer it".into()));
        }
        if out.iter().any(|q| q.id == question.id) {
            return Err(wrong(format!("{} was asked before", question.id)));
        }
        out.push(question);
    }
    match out.is_empty() {
        true => Err(Error::usage(format!("{} asks nothing", file.display()))),
        false => Ok(out),
    }
}

impl Known {
    fn of(home: &LabHome) -> Result<Known> {
        let mut out = Known::default();
        for session in home.sessions()? {
            let key = session.key.as_str().to_owned();
            for turn in home.turns(&session, false)? {
                let stored = Stored { id: turn.id.to_string(), text: flat(&turn.text) };
                out.turns.insert(format!("{key} {}", turn.entry), stored);
            }
            out.project.insert(key, session.workspace_id);
        }
        Ok(out)
    }
}

/// Returns whether one of these turns is in a context: its id is among the items, or its text is printed whole.
fn stands(given: &Given, turns: &[String], sources: &Known) -> bool {
    let block = flat(&given.block);
    turns.iter().filter_map(|turn| sources.turns.get(turn)).any(|turn| {
        let named = given.parts.iter().any(|p| p.items().any(|item| item == turn.id));
        named || (turn.text.len() >= SHORT && block.contains(&turn.text))
    })
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sums over the questions of a kind.
#[derive(Default)]
struct Group {
    n: usize,
    at: [f64; AT.len()],
    mrr: f64,
    /// Sum of the shares of evidence in the context.
    in_context: f64,
    /// Number of questions with all of their evidence in the context.
    whole: usize,
    tokens: usize,
}

impl Group {
    fn add(&mut self, a: &Answered) {
        let all = a.question.evidence.len();
        self.n += 1;
        for (sum, k) in self.at.iter_mut().zip(AT) {
            *sum += share(&a.found, all, k);
        }
        self.mrr += reciprocal_rank(&a.found);
        self.in_context += a.in_context as f64 / all as f64;
        self.whole += usize::from(a.in_context == all);
        self.tokens += a.tokens;
    }

    /// Returns percentages: recall at each rank, MRR, evidence in the context, questions with all of it in the context.
    fn means(&self) -> [f64; AT.len() + 3] {
        let n = self.n.max(1) as f64;
        let [five, ten, twenty] = self.at;
        [five, ten, twenty, self.mrr, self.in_context, self.whole as f64].map(|sum| 100.0 * sum / n)
    }

    fn to_json(&self) -> Value {
        let [five, ten, twenty, mrr, in_context, whole] = self.means().map(tenth);
        json!({"n": self.n, "R@5": five, "R@10": ten, "R@20": twenty, "MRR": mrr, "in_context": in_context,
               "whole_in_context": whole, "context_tokens": self.tokens / self.n.max(1)})
    }
}

/// Returns the group of all questions first, then one for each kind.
fn groups(answered: &[Answered]) -> Vec<(String, Group)> {
    let mut all = Group::default();
    let mut kinds: BTreeMap<&str, Group> = BTreeMap::new();
    for a in answered {
        all.add(a);
        kinds.entry(&a.question.kind).or_default().add(a);
    }
    std::iter::once(("all".to_owned(), all)).chain(kinds.into_iter().map(|(k, g)| (k.to_owned(), g))).collect()
}

fn show(groups: &[(String, Group)], leg: &str, ms: f64, left_out: &[&str]) {
    let n = groups.first().map_or(0, |(_, g)| g.n);
    print::line(&format!(
        "{} over sessions of programs, leg {leg}, {ms:.1} ms of CPU per question (median).",
        print::counted(n as u64, "question")
    ));
    print::line("Retrieval recall in percent, not answer accuracy.\n");
    let head = ["kind", "n", "R@5", "R@10", "R@20", "MRR", "in context", "all of it in context", "tokens"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, group) in groups {
        let mut row = vec![name.clone(), group.n.to_string()];
        row.extend(group.means().iter().map(|v| format!("{v:.1}")));
        row.push((group.tokens / group.n.max(1)).to_string());
        rows.push(row);
    }
    print::out(&print::table(&rows));
    print::line(&format!(
        "\nIn context: the share of evidence whose turn, by its id or its whole words, stands in what a new session \
         of the project is given with the question, within {BUDGET} tokens."
    ));
    if !left_out.is_empty() {
        print::line(&format!("Left out, as their sessions are not in these folders: {}.", left_out.join(", ")));
    }
}
