//! LoCoMo: imports its conversations as plain turns, asks its questions, and looks for its evidence.
//!
//! The data is CC BY-NC 4.0 and no part of Heirloom: the person who measures supplies the file.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::index::Embedder;
use heirloom_engine::scope::AgentId;
use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::measures::{Asked, COLUMNS, Means, ids, measure};
use super::published::PUBLISHED;
use super::{Args, median, tenth, write_lines};
use crate::home::LabHome;
use crate::measure::Measured;
use crate::sources::Sources;
use crate::{make_dir, print};

/// Hint where the file can be obtained.
const WHERE: &str = "locomo10.json is in the repository snap-research/locomo (data/locomo10.json, CC BY-NC 4.0, for \
measuring only); give its path";

/// LoCoMo's own names for its categories, by number.
const CATEGORIES: [&str; 5] = ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];

/// Groups of questions, in display order.
const GROUPS: [&str; 7] =
    ["all", "all but adversarial", "single-hop", "multi-hop", "temporal", "open-domain", "adversarial"];

/// A conversation of the file.
struct Conversation {
    sample: String,
    /// Plain turns, one line each, in the form the import reads.
    lines: Vec<Value>,
    /// Session number of each turn.
    sessions: HashMap<String, u32>,
    questions: Vec<(String, String, Asked)>,
}

pub(super) fn run(args: &Args, folder: &Path, file: &Path, for_people: bool) -> Result<Value> {
    let all = read(file)?;
    let wanted = wanted(&args.conversations, all.len())?;
    make_dir(folder)?;
    let embedder = args.embedder()?;
    let conversations: Vec<&Conversation> = wanted.iter().map(|n| &all[*n]).collect();
    let total: usize = conversations.iter().map(|c| c.questions.len()).sum();
    let (mut means, mut ranked, mut times) = (Means::default(), Vec::new(), Vec::new());
    for conversation in &conversations {
        print::progress(&format!("{}: importing", conversation.sample));
        let home = home(folder, conversation, embedder.clone())?;
        let mut index = home.index()?;
        print::progress(&format!("{}: asking", conversation.sample));
        for (id, question, asked) in &conversation.questions {
            let measured = Measured::start();
            let hits = args.leg.turns(&home, &mut index, question)?;
            times.push(measured.stop().cpu * 1e3);
            let turns: Vec<String> = hits.into_iter().map(|h| h.turn.entry).collect();
            let measures = measure(asked, &turns, &conversation.sessions);
            means.add("all", &measures);
            means.add(asked.group, &measures);
            if asked.group != "adversarial" {
                means.add("all but adversarial", &measures);
            }
            ranked.push(json!({"sample_id": conversation.sample, "question_id": id, "ranked": turns}));
        }
    }
    if let Some(path) = &args.ranked {
        write_lines(path, &ranked)?;
    }
    let names: Vec<&str> = conversations.iter().map(|c| c.sample.as_str()).collect();
    let ms = median(times);
    if for_people {
        show(&means, args.leg.name(), &names, total, ms);
    }
    Ok(to_json(&means, args.leg.name(), &names, ms))
}

/// Imports one more conversation into the home, as an agent of its own and in one thread.
fn home(folder: &Path, conversation: &Conversation, embedder: Arc<dyn Embedder>) -> Result<LabHome> {
    let path = folder.join(format!("{}.jsonl", conversation.sample));
    let write = || -> std::io::Result<()> {
        let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
        conversation.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        out.flush()
    };
    write().map_err(|e| Error::io("write", &path, e))?;
    let home = LabHome::create_with(&folder.join("home"), AgentId::parse(&conversation.sample)?, embedder)?;
    let done = home.import(&Sources::of(&[path])?)?;
    match done.problems.first() {
        None => Ok(home),
        Some(problem) => Err(Error::usage(format!("{} was not imported whole: {}", conversation.sample, problem.what))),
    }
}

/// Returns the requested conversations by their place in the file; all if none is named.
fn wanted(named: &[usize], all: usize) -> Result<Vec<usize>> {
    match named.iter().find(|n| **n >= all) {
        Some(n) => Err(Error::usage(format!("there is no conversation {n}"))
            .hint(format!("the file has {all}: 0 to {}", all.saturating_sub(1)))),
        None if named.is_empty() => Ok((0..all).collect()),
        None => Ok(named.to_vec()),
    }
}

fn read(file: &Path) -> Result<Vec<Conversation>> {
    let bytes = std::fs::read(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("there is no {}", file.display())).hint(WHERE),
        _ => Error::io("read", file, e),
    })?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Error::usage(format!("{} is no JSON: {e}", file.display())).hint(WHERE))?;
    let samples = value.as_array().filter(|a| !a.is_empty());
    let samples = samples.ok_or_else(|| not_locomo("it is no list of conversations"))?;
    let all: Vec<Conversation> = samples.iter().map(conversation).collect::<Result<_>>()?;
    match all.iter().all(|c| c.questions.is_empty()) {
        true => Err(not_locomo("it has conversations and no questions")),
        false => Ok(all),
    }
}

fn not_locomo(why: &str) -> Error {
    Error::usage(format!("this is not LoCoMo's file: {why}")).hint(WHERE)
}

fn conversation(sample: &Value) -> Result<Conversation> {
    let name = sample["sample_id"].as_str().ok_or_else(|| not_locomo("a conversation has no sample_id"))?.to_owned();
    let said = &sample["conversation"];
    let people = [&said["speaker_a"], &said["speaker_b"]];
    let mut numbers: Vec<u32> = said
        .as_object()
        .ok_or_else(|| not_locomo("a conversation has no sessions"))?
        .keys()
        .filter_map(|key| key.strip_prefix("session_")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let (mut lines, mut sessions) = (Vec::new(), HashMap::new());
    for number in numbers {
        let when = said[format!("session_{number}_date_time")].as_str().unwrap_or_default();
        let start = begun(when).ok_or_else(|| not_locomo(&format!("{when:?} is no date as it writes them")))?;
        for (minute, turn) in said[format!("session_{number}")].as_array().into_iter().flatten().enumerate() {
            let id = turn["dia_id"].as_str().ok_or_else(|| not_locomo("a turn has no dia_id"))?;
            let mut text = turn["text"].as_str().unwrap_or_default().trim().to_owned();
            if let Some(caption) = turn["blip_caption"].as_str().filter(|c| !c.is_empty()) {
                text.push_str(&format!(" [image: {caption}]"));
            }
            sessions.insert(id.to_owned(), number);
            // Turns are one minute apart: the file has no times within a session.
            lines.push(json!({
                "session": format!("{name}-{number:02}"), "id": id, "time": rfc3339(start + minute as i64 * 60_000),
                "speaker": turn["speaker"], "role": "user", "participants": people, "thread": name, "text": text,
            }));
        }
    }
    let mut questions = Vec::new();
    for (n, asked) in sample["qa"].as_array().into_iter().flatten().enumerate() {
        let question = asked["question"].as_str().ok_or_else(|| not_locomo("a question has no words"))?;
        let category = asked["category"].as_u64().and_then(|c| CATEGORIES.get((c as usize).checked_sub(1)?));
        let group = category.ok_or_else(|| not_locomo("a question has no category from 1 to 5"))?;
        let mut raw: Vec<String> = Vec::new();
        let mut evidence: Vec<String> = Vec::new();
        for one in asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !raw.iter().any(|r| r == one) {
                raw.push(one.to_owned());
            }
            for id in ids(one) {
                if sessions.contains_key(&id) && !evidence.contains(&id) {
                    evidence.push(id);
                }
            }
        }
        questions.push((format!("{name}:q{n}"), question.to_owned(), Asked { group, evidence, raw }));
    }
    Ok(Conversation { sample: name, lines, sessions, questions })
}

/// Parses a time like `1:56 pm on 8 May, 2023`, taken as UTC.
fn begun(when: &str) -> Option<i64> {
    let when = when.split_whitespace().collect::<Vec<_>>().join(" ");
    let (time, date) = when.split_once(" on ")?;
    let (clock, half) = time.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour: i64 = hour.parse().ok().filter(|h| (1..=12).contains(h))?;
    let minute: i64 = minute.parse().ok().filter(|m| (0..60).contains(m))?;
    let afternoon = match half.to_lowercase().as_str() {
        "am" => 0,
        "pm" => 12,
        _ => return None,
    };
    let day = jiff::civil::Date::strptime("%d %B, %Y", date).ok()?;
    let at = DateTime::from(day).checked_add((hour % 12 + afternoon).hours().minutes(minute)).ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

fn show(means: &Means, leg: &str, names: &[&str], total: usize, ms: f64) {
    print::line(&format!(
        "LoCoMo: {} in {}, leg {leg}, {ms:.1} ms of CPU per question (median).",
        print::counted(total as u64, "question"),
        names.join(", ")
    ));
    print::line("Retrieval recall in percent, not answer accuracy: no model reads or answers anything.\n");
    let mut rows = vec![["set", "n"].iter().chain(&COLUMNS).map(|c| (*c).to_owned()).collect::<Vec<_>>()];
    for group in GROUPS {
        if let Some((n, of)) = means.of(group) {
            let mut row = vec![group.to_owned(), n.to_string()];
            row.extend(of.iter().map(|v| if v.is_nan() { "-".to_owned() } else { format!("{v:.1}") }));
            rows.push(row);
        }
    }
    print::out(&print::table(&rows));
    print::line("\nPublished by others, same definition of mp_session (share of evidence sessions among the first k):");
    let figure = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{v:.1}"));
    let rows: Vec<Vec<String>> = PUBLISHED
        .iter()
        .map(|p| {
            let figures = format!("{}@5 {}  @10 {}", p.metric, figure(p.at_5), figure(p.at_10));
            vec![format!("  {}", p.whose), figures, p.source.to_owned()]
        })
        .collect();
    print::out(&print::table(&rows));
}

fn to_json(means: &Means, leg: &str, names: &[&str], ms: f64) -> Value {
    let mut groups = serde_json::Map::new();
    for group in GROUPS {
        if let Some((n, of)) = means.of(group) {
            let mut row = serde_json::Map::from_iter([("n".to_owned(), json!(n))]);
            row.extend(
                COLUMNS.iter().zip(of).map(|(c, v)| ((*c).to_owned(), json!(v.is_finite().then_some(tenth(v))))),
            );
            groups.insert(group.to_owned(), Value::Object(row));
        }
    }
    json!({
        "set": "locomo", "measures": "retrieval recall in percent, not answer accuracy", "leg": leg,
        "conversations": names, "median_cpu_ms": tenth(ms), "groups": groups,
        "published": PUBLISHED.iter().map(|p| json!({
            "whose": p.whose, "metric": p.metric, "at_5": p.at_5, "at_10": p.at_10, "source": p.source,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_the_file_writes_them() {
        let at = |when: &str| begun(when).map(rfc3339);
        assert_eq!(at("1:56 pm on 8 May, 2023").as_deref(), Some("2023-05-08T13:56:00.000Z"));
        assert_eq!(at("12:09 am on 13  September, 2023").as_deref(), Some("2023-09-13T00:09:00.000Z"));
        assert_eq!(at("12:30 pm on 1 January, 2024").as_deref(), Some("2024-01-01T12:30:00.000Z"));
        for bad in ["", "8 May, 2023", "13:00 pm on 8 May, 2023", "1:60 pm on 8 May, 2023", "1:56 pm on 31 June, 2023"]
        {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
