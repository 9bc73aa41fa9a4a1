//! `heirloom-lab statements`: classifies each sentence of labelled conversations and compares it with its label, by
//! author.

mod train;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::statement::{self, Label, Seen, Speaker, Trust};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::print;

/// Classify labelled sentences: precision and recall of each label and each rule, with authors held out
#[derive(clap::Args, Debug)]
pub struct Args {
    /// File with labelled sentences, one JSON object a line
    file: PathBuf,
    /// Write the filter's weights, learned from all sentences, into this file
    #[arg(long, value_name = "OUT")]
    train: Option<PathBuf>,
    /// Number of parts the authors are divided into; each part is judged by a filter that learned from the others
    #[arg(long, default_value_t = 8)]
    folds: usize,
    /// List every sentence that is classified wrongly
    #[arg(long)]
    wrong: Option<String>,
    /// Write the features of each sentence into this file
    #[arg(long, value_name = "OUT")]
    dump: Option<PathBuf>,
}

/// One labelled sentence of the file.
#[derive(Deserialize)]
struct Item {
    id: String,
    author: String,
    role: String,
    #[serde(default, rename = "final")]
    last: bool,
    #[serde(default)]
    bullet: bool,
    #[serde(default)]
    kind: String,
    under: Option<String>,
    before: Option<String>,
    text: String,
    after: Option<String>,
    label: String,
    second: Option<String>,
}

/// A labelled sentence as the engine sees it in its context.
pub struct Example {
    pub id: String,
    pub author: String,
    pub speaker: Speaker,
    pub text: String,
    pub label: Label,
    pub second: Option<Label>,
    /// The engine's view; `None` if its form shows that it was pasted, so that it is left out.
    pub seen: Option<Seen>,
    /// Label the engine gives it, and whether that label is sure.
    pub taken: (Label, bool),
}

/// Measures, and trains if requested.
pub fn run(args: &Args, for_people: bool) -> Result<Value> {
    let examples = load(&args.file)?;
    let mut report = json!({"sentences": examples.len()});
    let now: Vec<Taken> = examples.iter().map(|e| e.taken).collect();
    report["now"] = table("as it is (the filter has seen these authors)", &examples, &now, for_people);
    let rules: Vec<Taken> = examples
        .iter()
        .map(|e| {
            e.seen.as_ref().map_or((Label::Pasted, true), |s| {
                s.ruled.map_or((Label::Remark, false), |(label, trust)| (label, trust == Trust::Sure))
            })
        })
        .collect();
    report["rules"] = table("rules alone", &examples, &rules, for_people);
    report["by_rule"] = by_rule(&examples, for_people);
    let held = train::held_out(&examples, args.folds);
    report["held_out"] = table("rules and filter, authors held out", &examples, &held, for_people);
    if let Some(label) = &args.wrong {
        wrong(&examples, &held, label);
    }
    if let Some(out) = &args.dump {
        dump(&examples, out)?;
    }
    if let Some(out) = &args.train {
        let bytes = train::weights(&examples, args.folds);
        std::fs::write(out, bytes).map_err(|e| Error::io("write", out, e))?;
    }
    Ok(report)
}

/// A given label, and whether it is sure.
pub type Taken = (Label, bool);

fn load(file: &Path) -> Result<Vec<Example>> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::io("read", file, e))?;
    let mut examples = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad =
            |e: String| Error::usage(format!("line {} of {} is no labelled sentence: {e}", n + 1, file.display()));
        let item: Item = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        let label = Label::of(&item.label).ok_or_else(|| bad(format!("no label is called {}", item.label)))?;
        examples.push(example(item, label));
    }
    Ok(examples)
}

/// Places the sentence between its neighbours, under its heading.
fn example(item: Item, label: Label) -> Example {
    let mut text = String::new();
    let mut line = |part: &str| {
        if !part.trim().is_empty() {
            text.push_str(part.trim_end());
            text.push('\n');
        }
    };
    if let Some(under) = &item.under {
        let bare = under.trim().trim_matches(['*', '#', ' ']);
        line(&if bare.ends_with([':', '：']) { bare.to_owned() } else { format!("## {bare}\n") });
    }
    line(item.before.as_deref().unwrap_or_default());
    let marked = item.text.starts_with(['-', '*', '•', '+']) || item.text.starts_with(|c: char| c.is_ascii_digit());
    // A block was in a fence, unless it is a table.
    let fenced = item.kind == "block" && !item.text.starts_with('|');
    let said = if fenced {
        format!("```\n{}\n```", item.text)
    } else if item.bullet && !marked {
        format!("- {}", item.text)
    } else {
        item.text.clone()
    };
    let from = text.len();
    let to = from + said.len();
    text.push_str(&said);
    text.push('\n');
    text.push_str(item.after.as_deref().unwrap_or_default());
    let speaker = if item.role == "user" { Speaker::Person } else { Speaker::Model };
    let shared = |range: &std::ops::Range<usize>| range.end.min(to).saturating_sub(range.start.max(from));
    let best = |seen: Vec<Seen>| seen.into_iter().filter(|s| shared(&s.range) > 0).max_by_key(|s| shared(&s.range));
    let taken = statement::read(&text, speaker, item.last)
        .into_iter()
        .filter(|s| shared(&s.range) > 0)
        .max_by_key(|s| shared(&s.range));
    Example {
        seen: best(statement::seen(&text, speaker, item.last)),
        taken: taken.map_or((Label::Pasted, true), |s| (s.label, s.sure)),
        id: item.id,
        author: item.author,
        speaker,
        text: item.text,
        label,
        second: item.second.as_deref().and_then(Label::of),
    }
}

/// Computes precision and recall of each label, for all sentences and for sure ones. A second label counts as right,
/// too.
fn table(title: &str, examples: &[Example], taken: &[Taken], for_people: bool) -> Value {
    let mut rows = vec![["label", "n", "P", "R", "F1", "sure: n", "P", "R", "P by author"].map(str::to_owned).to_vec()];
    let mut labels = BTreeMap::new();
    for label in Label::ALL {
        let n = examples.iter().filter(|e| e.label == label).count();
        let score = |sure: bool| {
            let hits: Vec<(&Example, &Taken)> =
                examples.iter().zip(taken).filter(|(_, t)| t.0 == label && (t.1 || !sure)).collect();
            let right = hits.iter().filter(|(e, _)| e.label == label || e.second == Some(label)).count();
            let first = hits.iter().filter(|(e, _)| e.label == label).count();
            let authors: BTreeSet<&str> = hits.iter().map(|(e, _)| e.author.as_str()).collect();
            let mean: f64 = authors
                .iter()
                .map(|author| {
                    let own: Vec<_> = hits.iter().filter(|(e, _)| e.author == **author).collect();
                    own.iter().filter(|(e, _)| e.label == label || e.second == Some(label)).count() as f64
                        / own.len() as f64
                })
                .sum::<f64>()
                / authors.len().max(1) as f64;
            (hits.len(), right as f64 / hits.len().max(1) as f64, first as f64 / n.max(1) as f64, mean)
        };
        let ((shown, p, r, _), (sure, sp, sr, mean)) = (score(false), score(true));
        let f1 = if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 };
        let two = |x: f64| format!("{x:.2}");
        rows.push(vec![
            label.name().into(),
            n.to_string(),
            two(p),
            two(r),
            two(f1),
            sure.to_string(),
            two(sp),
            two(sr),
            two(mean),
        ]);
        labels.insert(label.name(), json!({"n": n, "shown": shown, "precision": p, "recall": r, "f1": f1, "sure": sure, "sure_precision": sp, "sure_recall": sr, "sure_precision_by_author": mean}));
    }
    if for_people {
        print::line(&format!("{title}:"));
        print::out(&print::table(&rows));
    }
    json!(labels)
}

/// Counts how often each rule is the first to hold, and how often it is right.
fn by_rule(examples: &[Example], for_people: bool) -> Value {
    let mut rows = vec![["line", "first", "right", "P", "authors", "P by author", "rule"].map(str::to_owned).to_vec()];
    let mut found = Vec::new();
    for (line, label, text) in statement::written_rules() {
        let hits: Vec<&Example> =
            examples.iter().filter(|e| e.seen.as_ref().is_some_and(|s| s.rules.first() == Some(&line))).collect();
        let right = |e: &&Example| e.label == label || e.second == Some(label);
        let n = hits.iter().filter(|e| right(e)).count();
        let authors: BTreeSet<&str> = hits.iter().map(|e| e.author.as_str()).collect();
        let each = authors.iter().map(|author| {
            let own: Vec<_> = hits.iter().filter(|e| e.author == *author).collect();
            own.iter().filter(|e| right(e)).count() as f64 / own.len() as f64
        });
        let mean = each.sum::<f64>() / authors.len().max(1) as f64;
        let p = n as f64 / hits.len().max(1) as f64;
        rows.push(vec![
            line.to_string(),
            hits.len().to_string(),
            n.to_string(),
            format!("{p:.2}"),
            authors.len().to_string(),
            format!("{mean:.2}"),
            text.to_owned(),
        ]);
        found.push(json!({"line": line, "rule": text, "first": hits.len(), "right": n, "precision": p, "authors": authors.len(), "precision_by_author": mean}));
    }
    if for_people {
        print::line("each rule, where no earlier one holds:");
        print::out(&print::table(&rows));
    }
    json!(found)
}

fn wrong(examples: &[Example], taken: &[Taken], label: &str) {
    for (e, t) in examples
        .iter()
        .zip(taken)
        .filter(|(e, t)| e.label != t.0 && (e.label.name() == label || t.0.name() == label || label == "all"))
    {
        let sure = if t.1 { "!" } else { " " };
        let rules = e.seen.as_ref().map_or(String::from("-"), |s| format!("{:?}", s.rules));
        print::line(&format!(
            "{:10} taken for {:10}{sure} {:?} {rules} {}",
            e.label.name(),
            t.0.name(),
            e.speaker,
            print::excerpt(&e.text.replace('\n', "⏎"), 150)
        ));
    }
}

fn dump(examples: &[Example], out: &Path) -> Result<()> {
    let lines: Vec<String> = examples
        .iter()
        .map(|e| {
            json!({
                "id": e.id, "author": e.author, "label": e.label.name(), "second": e.second.map(Label::name),
                "features": e.seen.as_ref().map(|s| &s.features), "rules": e.seen.as_ref().map(|s| &s.rules),
                "ruled": e.seen.as_ref().and_then(|s| s.ruled).map(|(l, trust)| (l.name(), trust == Trust::Sure)),
            })
            .to_string()
        })
        .collect();
    std::fs::write(out, lines.join("\n")).map_err(|e| Error::io("write", out, e))
}
