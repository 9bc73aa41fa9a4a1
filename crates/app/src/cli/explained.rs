//! Explanation of a search result: how the query was understood, how each score was computed, and which limits applied
//! (R10.9).

use heirloom_engine::recall::query::{Kind, Term};
use heirloom_engine::recall::{Stage, Trace};
use heirloom_engine::report::search::SearchReport;
use heirloom_engine::report::understood::Understood;

use crate::print::{self, Paint};

/// The filters of a search as name and value, for people.
pub type Limits = Vec<(&'static str, String)>;

/// Returns the note below the hits about how times in the query were understood. `None` if the query names no time.
pub fn note(understood: &Understood) -> Option<String> {
    let query = &understood.query;
    if query.times.is_empty() {
        return None;
    }
    let mut parts = vec![query.shown()];
    parts.extend(query.times.iter().map(|t| understood.time_in_words(t)));
    parts.retain(|p| !p.is_empty());
    let mut note = format!("looked for: {}", print::safe_line(&parts.join(", ")));
    if understood.widened {
        note.push_str("; nothing that fits is from then, so this is from other times");
    }
    Some(note)
}

/// Prints how the query was understood.
pub fn people(understood: &Understood, found: Option<&SearchReport>, limits: &Limits) {
    let paint = Paint::stdout();
    let query = &understood.query;
    let counted = |term: &Term| {
        let turns = found.and_then(|f| f.counted.iter().find(|(t, _)| t == term)).map(|(_, turns)| *turns);
        turns.map(|n| format!(" ({})", print::counted(n as u64, "turn"))).unwrap_or_default()
    };
    let list = |kinds: &[Kind], counts: bool| -> String {
        let of = query.words.iter().filter(|t| kinds.contains(&t.kind));
        of.map(|t| format!("{}{}", understood.typed(t), if counts { counted(t) } else { String::new() }))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let terms = |terms: &[Term]| terms.iter().map(|t| understood.typed(t)).collect::<Vec<_>>().join(", ");
    let times: Vec<String> = query.times.iter().map(|t| understood.time_in_words(t)).collect();
    let persons: Vec<&str> = query.people.iter().map(|p| p.name.as_str()).collect();
    let meaning = match (query.dense_text().trim(), query.is_open()) {
        ("", _) => String::new(),
        (text, true) => format!("what is near to \"{text}\", too"),
        (_, false) => "ranks what has the words; nothing is added for being near".to_owned(),
    };
    let frequent = found.map(|f| f.all_too_frequent.join(", ")).unwrap_or_default();
    let mut rows = vec![
        ("words", list(&[Kind::Word], true)),
        ("names", list(&[Kind::Exact], true)),
        ("also as", list(&[Kind::Variant, Kind::Part], false)),
        ("failure", list(&[Kind::Report], false)),
        ("phrases", terms(&query.phrases)),
        ("brought forward", list(&[Kind::Quoted], true)),
        ("stop words", terms(&query.dropped)),
        ("too frequent", frequent),
        ("times", times.join("; ")),
        ("people", persons.join(", ")),
        ("asks for", if query.by_person { "what you said, and the answers to it".to_owned() } else { String::new() }),
        ("meaning", meaning),
    ];
    rows.extend(limits.iter().map(|(name, value)| (*name, value.clone())));
    print::line(&paint.dim("Understood as"));
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        print::line(&format!("  {}  {}", paint.dim(&format!("{name:12}")), print::safe_line(value)));
    }
    print::line("");
}

/// Returns a hit's score as a sum: `score 1.00 = words 1.00 + meaning 0.43 + neighbours 0.20, of 1.63`.
pub fn line(score: f64, trace: &Trace) -> String {
    let mut out = vec![format!("words {:.2}", trace.words)];
    let added =
        [("meaning", trace.meaning), ("neighbours", trace.neighbours), ("date", trace.date), ("people", trace.people)];
    out.extend(added.iter().filter(|(_, x)| x.abs() >= 0.005).map(|(name, x)| format!("{name} {x:.2}")));
    if let ([only], 1.0) = (out.as_slice(), trace.weight) {
        return format!("score {score:.2}: {only}");
    }
    let sum = out.join(" + ");
    let sum = if trace.weight == 1.0 { sum } else { format!("({sum}) × {:.2}", trace.weight) };
    format!("score {score:.2}: {sum} = {:.2}", trace.sum)
}

/// Returns the stage, score and reasons of a recalled item: `lineage · score 0.81 · says it, newest of its thread`.
pub fn recalled(stage: Stage, score: f64, reasons: &[String]) -> String {
    format!("{stage} · score {score:.2} · {}", reasons.join(", "))
}

/// Maximum number of ids printed for one reason.
const NAMED: usize = 6;

/// Prints what was left out, one line per reason.
pub fn left_out<'d>(dropped: impl Iterator<Item = (&'d str, &'d str)>) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (id, why) in dropped {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((why, vec![id])),
        }
    }
    if reasons.is_empty() {
        return;
    }
    // Items left out because they repeat another item share one line.
    let (same, other): (Vec<_>, Vec<_>) = reasons.into_iter().partition(|(why, _)| why.starts_with("says what "));
    print::line("\nLeft out");
    for (why, ids) in &other {
        let more = ids.len().saturating_sub(NAMED);
        let and = if more > 0 { format!(" and {} more (--json)", print::count(more as u64)) } else { String::new() };
        let ids = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(" ");
        print::line(&format!("  {}: {}{and}", print::safe_line(why), print::safe_line(&ids)));
    }
    let as_said = |why: &str| why.trim_start_matches("says what ").trim_end_matches(" says").to_owned();
    let twice: Vec<String> = same.iter().map(|(why, ids)| format!("{} (as {})", ids.join(" "), as_said(why))).collect();
    if !twice.is_empty() {
        let more = twice.len().saturating_sub(NAMED);
        let and = if more > 0 { format!(" and {} more (--json)", print::count(more as u64)) } else { String::new() };
        let shown = twice.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        print::line(&format!("  nothing twice: {}{and}", print::safe_line(&shown)));
    }
}
