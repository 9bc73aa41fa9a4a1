//! Questions over labelled sessions of many authors. Each is asked of the whole home and within the session that
//! answers it; the ranking weights of programs' sessions are used as shipped, varied one by one, and fitted with
//! authors held out.
//!
//! A folder of labelled sessions has `gold/recall_gold.jsonl` (one question a line) and `gold/corpus_meta.json` (other
//! names of a record, calls with their results, summaries that count neither way). It is not part of this repository.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use heirloom_engine::error::{Error, Result};
use heirloom_engine::index::Index;
use heirloom_engine::recall::{Filter, Weights};
use heirloom_engine::scope::{AgentId, SessionNo};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::measures::{recall as share, reciprocal_rank};
use super::{Args, DEEP, median, tenth, write_lines};
use crate::home::LabHome;
use crate::measure::Measured;
use crate::print;
use crate::sources::Sources;

#[derive(Deserialize)]
struct Gold {
    question_id: String,
    /// Short name of the session, which is also its author's.
    session: String,
    session_id: String,
    category: String,
    question: String,
    all_of: Vec<Vec<String>>,
}

/// Information about the records of the sessions.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    neutral: BTreeMap<String, Value>,
    #[serde(default)]
    alias: HashMap<String, String>,
    /// Maps a tool call to its result, and the result to its call.
    #[serde(default)]
    pair: HashMap<String, String>,
}

impl Meta {
    /// Returns the canonical name of a record: of a call and its result, the smaller name.
    fn one(&self, record: &str) -> String {
        let record = self.alias.get(record).map_or(record, String::as_str);
        let other = self.pair.get(record).map_or(record, String::as_str);
        record.min(other).to_owned()
    }
}

/// A question, and the place where it is asked.
struct Case {
    id: String,
    author: String,
    kind: String,
    question: String,
    /// Session to search in; `None` for the whole home.
    within: Option<SessionNo>,
    /// Things to be found; each is found by any one of its records.
    evidence: Vec<BTreeSet<String>>,
}

/// Ranks at which the evidence of a case was found.
type Found = Vec<usize>;

/// A weight that is varied: its name, the value that switches it off, and the values to try.
struct Knob {
    name: &'static str,
    of: fn(&mut Weights) -> &mut f64,
    off: f64,
    tried: &'static [f64],
}

const KNOBS: [Knob; 9] = [
    Knob { name: "person", of: |w| &mut w.person, off: 1.0, tried: &[1.0, 1.25, 1.5, 1.75] },
    Knob { name: "answer", of: |w| &mut w.answer, off: 1.0, tried: &[1.0, 1.15, 1.25, 1.4] },
    Knob { name: "remark", of: |w| &mut w.remark, off: 1.0, tried: &[0.7, 0.85, 1.0, 1.15] },
    Knob { name: "call", of: |w| &mut w.call, off: 1.0, tried: &[0.75, 0.9, 1.0] },
    Knob { name: "result", of: |w| &mut w.result, off: 1.0, tried: &[0.65, 0.8, 1.0] },
    Knob { name: "cosine", of: |w| &mut w.cosine, off: 1.0, tried: &[0.7, 1.0, 1.3, 1.6, 2.0] },
    Knob { name: "short", of: |w| &mut w.short, off: 0.0, tried: &[0.0, 0.2, 0.4, 0.6] },
    Knob { name: "neighbour", of: |w| &mut w.neighbour, off: 0.0, tried: &[0.0, 0.1, 0.15, 0.25] },
    Knob { name: "run", of: |w| &mut w.run, off: 0.0, tried: &[0.0, 0.1, 0.2, 0.3] },
];

/// Number of hits read per case in a fit: reading hits is most of its cost.
const READ: usize = 15;

/// Changes of a mean below this are chance: a fit takes another value only for more.
const WORTH: f64 = 0.004;

/// The home that is asked, and the results so far, by weights.
struct Asked<'a> {
    args: &'a Args,
    home: &'a LabHome,
    index: &'a mut Index,
    meta: &'a Meta,
    cases: &'a [Case],
    known: Vec<(Weights, Vec<Found>)>,
}

pub(super) fn run(args: &Args, folder: &Path, labelled: &Path, for_people: bool) -> Result<Value> {
    let gold: Vec<Gold> = lines(&labelled.join("gold/recall_gold.jsonl"))?;
    let path = labelled.join("gold/corpus_meta.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, e))?;
    let meta: Meta = serde_json::from_str(&text).map_err(|e| Error::usage(format!("{}: {e}", path.display())))?;
    let home = LabHome::create_with(&folder.join("home"), AgentId::main(), args.embedder()?)?;
    print::progress("importing");
    home.import(&Sources::of(&args.sources)?)?;
    let cases = cases(args, &home, &gold, &meta)?;
    let mut index = home.index()?;
    let mut times = Vec::new();
    let ranked = ranked(args, &home, &mut index, &meta, &cases, (&Weights::default(), DEEP), &mut times)?;
    if let Some(path) = &args.ranked {
        let line = |(case, ranked): (&Case, &Vec<String>)| json!({"question_id": case.id, "within": case.within.is_some(), "ranked": ranked});
        write_lines(path, &cases.iter().zip(&ranked).map(line).collect::<Vec<_>>())?;
    }
    let mut asked = Asked { args, home: &home, index: &mut index, meta: &meta, cases: &cases, known: Vec::new() };
    let found = asked.with(&Weights::default())?;
    let ms = median(times);
    if for_people {
        print::line(&format!(
            "{} over labelled sessions, leg {}, {ms:.1} ms of CPU per question (median). Retrieval recall, not answer accuracy.\n",
            print::counted(gold.len() as u64, "question"),
            args.leg.name()
        ));
        print::out(&print::table(&by_kind(&cases, &found)));
    }
    let mut out = json!({
        "set": "labelled", "leg": args.leg.name(), "median_cpu_ms": tenth(ms),
        "all": means(&cases, &found, |_| true).map(|(name, m)| (name.to_owned(), m.to_json())).collect::<serde_json::Map<_, _>>(),
    });
    if args.fit {
        out["fit"] = fit(&mut asked, for_people)?;
    }
    Ok(out)
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
    let wrong = |n: usize, e| Error::usage(format!("{}, line {}: {e}", path.display(), n + 1));
    let filled = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    filled.map(|(n, line)| serde_json::from_str(line).map_err(|e| wrong(n, e))).collect()
}

/// Returns every question twice, for the whole home and for its session; and the questions of `--questions`, for the
/// whole home, as one more author.
fn cases(args: &Args, home: &LabHome, gold: &[Gold], meta: &Meta) -> Result<Vec<Case>> {
    let sessions = home.sessions()?;
    let mut out = Vec::new();
    for g in gold {
        let session = sessions.iter().find(|s| s.key.as_str().ends_with(&g.session_id));
        let no = session.map(|s| s.no).ok_or_else(|| {
            Error::not_found(format!("the session {} is not among the sources", g.session_id))
                .hint("unpack the sessions (xz -dk) and name their folder with --sources")
        })?;
        for within in [None, Some(no)] {
            out.push(Case {
                id: g.question_id.clone(),
                author: g.session.clone(),
                kind: g.category.clone(),
                question: g.question.clone(),
                within,
                evidence: g.all_of.iter().map(|some| some.iter().map(|r| meta.one(r)).collect()).collect(),
            });
        }
    }
    if let Some(file) = &args.questions {
        for q in super::questions::read_file(file)? {
            let known = q.evidence.iter().flatten().all(|turn| {
                turn.split_once(' ').is_some_and(|(key, _)| sessions.iter().any(|s| s.key.as_str() == key))
            });
            let entry = |turn: &String| meta.one(turn.rsplit(' ').next().unwrap_or_default());
            if known {
                out.push(Case {
                    id: q.id.clone(),
                    author: "own".into(),
                    kind: q.kind.clone(),
                    question: q.question.clone(),
                    within: None,
                    evidence: q.evidence.iter().map(|some| some.iter().map(entry).collect()).collect(),
                });
            }
        }
    }
    Ok(out)
}

/// Returns the records found for each case, each under its canonical name.
fn ranked(
    args: &Args,
    home: &LabHome,
    index: &mut Index,
    meta: &Meta,
    cases: &[Case],
    (weights, limit): (&Weights, usize),
    times: &mut Vec<f64>,
) -> Result<Vec<Vec<String>>> {
    let mut out = Vec::new();
    for case in cases {
        let filter = Filter {
            limit,
            legs: args.leg.legs(),
            sessions: case.within.map(|no| vec![no]),
            weights: *weights,
            ..Filter::default()
        };
        let measured = Measured::start();
        let hits = home.ask(index, &case.question, &filter)?;
        times.push(measured.stop().cpu * 1e3);
        let mut records: Vec<String> = Vec::new();
        for hit in hits {
            let entry = hit.turn.entry.rsplit('/').next().unwrap_or_default();
            let record = match entry.strip_prefix('@') {
                Some(_) => meta.one(&format!("{}{entry}", case_of_offset(meta, entry, &case.author))),
                None => meta.one(entry),
            };
            if !meta.neutral.contains_key(&record) && !records.contains(&record) {
                records.push(record);
            }
        }
        out.push(records);
    }
    Ok(out)
}

/// A record named by its place in a file carries its session's name in front; returns that name.
fn case_of_offset<'a>(meta: &'a Meta, entry: &str, author: &'a str) -> &'a str {
    let known = meta.alias.values().find(|name| name.ends_with(entry));
    known.and_then(|name| name.strip_suffix(entry)).unwrap_or(author)
}

impl Asked<'_> {
    fn with(&mut self, weights: &Weights) -> Result<Vec<Found>> {
        if let Some((_, found)) = self.known.iter().find(|(w, _)| w == weights) {
            return Ok(found.clone());
        }
        let ranked = ranked(self.args, self.home, self.index, self.meta, self.cases, (weights, READ), &mut Vec::new())?;
        let rank =
            |some: &BTreeSet<String>, ranked: &[String]| ranked.iter().position(|r| some.contains(r)).map(|n| n + 1);
        let found: Vec<Found> = self
            .cases
            .iter()
            .zip(&ranked)
            .map(|(case, ranked)| case.evidence.iter().filter_map(|some| rank(some, ranked)).collect())
            .collect();
        self.known.push((*weights, found.clone()));
        Ok(found)
    }

    /// Returns the weights that are best without the held-out author, changing the given ones one at a time.
    fn best(&mut self, from: Weights, held_out: Option<&str>) -> Result<Weights> {
        let mut best = from;
        let mut worth = self.worth(&best, held_out)?;
        for _ in 0..2 {
            for knob in &KNOBS {
                for value in knob.tried {
                    let mut other = best;
                    *(knob.of)(&mut other) = *value;
                    let of_other = self.worth(&other, held_out)?;
                    if of_other > worth + WORTH {
                        (best, worth) = (other, of_other);
                    }
                }
            }
        }
        Ok(best)
    }

    /// Returns the mean of R@5, R@10 and MRR over the sets, without the held-out author.
    fn worth(&mut self, weights: &Weights, held_out: Option<&str>) -> Result<f64> {
        let found = self.with(weights)?;
        let sets: Vec<f64> = means(self.cases, &found, |c| held_out != Some(c.author.as_str()))
            .filter(|(_, m)| m.n > 0)
            .map(|(_, m)| (m.five + m.ten + m.mrr) / (3.0 * m.n as f64))
            .collect();
        Ok(sets.iter().sum::<f64>() / sets.len().max(1) as f64)
    }
}

/// Sums over the questions of a set.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: usize,
    five: f64,
    ten: f64,
    mrr: f64,
}

impl Sums {
    fn add(&mut self, case: &Case, found: &Found) {
        let all = case.evidence.len();
        self.n += 1;
        self.five += share(found, all, 5);
        self.ten += share(found, all, 10);
        self.mrr += reciprocal_rank(found);
    }

    fn means(&self) -> [f64; 3] {
        [self.five, self.ten, self.mrr].map(|sum| sum / self.n.max(1) as f64)
    }

    fn cells(&self) -> Vec<String> {
        match self.n {
            0 => vec!["-".into(); 3],
            _ => self.means().iter().map(|m| format!("{m:.3}")).collect(),
        }
    }

    fn to_json(self) -> Value {
        let [five, ten, mrr] = self.means().map(|m| (m * 1000.0).round() / 1000.0);
        json!({"n": self.n, "R@5": five, "R@10": ten, "MRR": mrr})
    }
}

/// The three sets of cases: whole home, within the session, our own questions.
const SETS: [&str; 3] = ["whole home", "within the session", "own questions"];

fn set(case: &Case) -> usize {
    match (&case.within, case.author.as_str()) {
        (None, "own") => 2,
        (None, _) => 0,
        (Some(_), _) => 1,
    }
}

fn means(
    cases: &[Case],
    found: &[Found],
    counts: impl Fn(&Case) -> bool,
) -> impl Iterator<Item = (&'static str, Sums)> {
    let mut sums = [Sums::default(); SETS.len()];
    for (case, found) in cases.iter().zip(found).filter(|(case, _)| counts(case)) {
        sums[set(case)].add(case, found);
    }
    SETS.into_iter().zip(sums)
}

fn head(first: &str) -> Vec<String> {
    let sets = SETS.iter().flat_map(|set| [format!("{set}: R@5"), "R@10".into(), "MRR".into()]);
    std::iter::once(first.to_owned()).chain(sets).collect()
}

fn row(name: &str, cases: &[Case], found: &[Found], counts: impl Fn(&Case) -> bool) -> Vec<String> {
    let cells = means(cases, found, counts).flat_map(|(_, sums)| sums.cells());
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn by_kind(cases: &[Case], found: &[Found]) -> Vec<Vec<String>> {
    let kinds: BTreeSet<&str> = cases.iter().map(|c| c.kind.as_str()).collect();
    let mut rows = vec![head("kind"), row("all", cases, found, |_| true)];
    rows.extend(kinds.into_iter().map(|kind| row(kind, cases, found, |c| c.kind == kind)));
    rows
}

/// Makes the table of single changes, fits the weights to all cases, and measures what a fit is worth for an author it
/// has not seen.
fn fit(asked: &mut Asked, for_people: bool) -> Result<Value> {
    let shipped = Weights::default();
    let mut rows = vec![head("weights")];
    let mut put = |name: &str, cases: &[Case], found: &[Found]| rows.push(row(name, cases, found, |_| true));
    put("as shipped", asked.cases, &asked.with(&shipped)?);
    put("all off", asked.cases, &asked.with(&Weights::NONE)?);
    for knob in &KNOBS {
        print::progress(&format!("without {}", knob.name));
        let mut without = shipped;
        *(knob.of)(&mut without) = knob.off;
        let found = asked.with(&without)?;
        put(&format!("without {}", knob.name), asked.cases, &found);
        for value in knob.tried.iter().filter(|v| **v != knob.off && **v != *(knob.of)(&mut { shipped })) {
            let mut other = shipped;
            *(knob.of)(&mut other) = *value;
            let found = asked.with(&other)?;
            put(&format!("{} {value}", knob.name), asked.cases, &found);
        }
    }
    print::progress("fitting");
    let fitted = asked.best(Weights::NONE, None)?;
    put("fitted to all", asked.cases, &asked.with(&fitted)?);
    // Each author is measured with weights that were fitted to the others.
    let authors: BTreeSet<String> = asked.cases.iter().map(|c| c.author.clone()).collect();
    let mut held_out = vec![Found::new(); asked.cases.len()];
    let mut folds = BTreeMap::new();
    for author in authors {
        print::progress(&format!("fitting without {author}"));
        let weights = asked.best(Weights::NONE, Some(&author))?;
        for (n, found) in asked.with(&weights)?.into_iter().enumerate() {
            if asked.cases[n].author == author {
                held_out[n] = found;
            }
        }
        folds.insert(author, weights);
    }
    put("fitted, author held out", asked.cases, &held_out);
    let values = |w: &Weights| -> Value {
        KNOBS.iter().map(|k| (k.name.to_owned(), json!(*(k.of)(&mut { *w })))).collect::<serde_json::Map<_, _>>().into()
    };
    if for_people {
        print::line("");
        print::out(&print::table(&rows));
        print::line(&format!("\nFitted to all: {}", values(&fitted)));
        for (author, weights) in &folds {
            print::line(&format!("Without {author}: {}", values(weights)));
        }
    }
    Ok(json!({
        "fitted": values(&fitted),
        "held_out": means(asked.cases, &held_out, |_| true).map(|(name, m)| (name.to_owned(), m.to_json())).collect::<serde_json::Map<_, _>>(),
        "folds": folds.iter().map(|(author, w)| (author.clone(), values(w))).collect::<serde_json::Map<_, _>>(),
        "rows": rows,
    }))
}
