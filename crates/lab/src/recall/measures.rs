//! What a ranked list is worth: recall, reciprocal rank and gain over turns and sessions, and the share of evidence
//! sessions exactly as MemPalace counts it. Plain arithmetic; knows no home.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A question with what answers it.
#[derive(Clone, Default, Debug)]
pub(super) struct Asked {
    /// What it counts to: a category, a kind.
    pub group: &'static str,
    /// Turns that answer it, those that exist, each once.
    pub evidence: Vec<String>,
    /// The evidence as the file has it: MemPalace scores against that.
    pub raw: Vec<String>,
}

/// What is measured, in the order it is shown. `sR`: sessions, ordered by their best turn. `mp_session`: the same as
/// MemPalace counts it, where a question without evidence counts as answered and ids are not repaired.
pub(super) const COLUMNS: [&str; 9] =
    ["R@5", "R@10", "R@20", "MRR", "NDCG@10", "sR@5", "sR@10", "mp_session@5", "mp_session@10"];

/// Of one question; `None` where it has no evidence to find.
pub(super) type Measures = [Option<f64>; COLUMNS.len()];

/// Scores one ranked list of turns. `sessions`: the session of every turn there is.
pub(super) fn measure(asked: &Asked, ranked: &[String], sessions: &HashMap<String, u32>) -> Measures {
    let mut seen = HashSet::new();
    let ranked: Vec<&String> = ranked.iter().filter(|id| seen.insert(id.as_str())).collect();
    let mut folded: Vec<u32> = Vec::new();
    for session in ranked.iter().filter_map(|id| sessions.get(id.as_str())) {
        if !folded.contains(session) {
            folded.push(*session);
        }
    }
    let mut out = [None; COLUMNS.len()];
    if !asked.evidence.is_empty() {
        let found: Vec<usize> =
            ranked.iter().enumerate().filter(|(_, id)| asked.evidence.contains(id)).map(|(n, _)| n + 1).collect();
        let all = asked.evidence.len();
        out[0] = Some(recall(&found, all, 5));
        out[1] = Some(recall(&found, all, 10));
        out[2] = Some(recall(&found, all, 20));
        out[3] = Some(reciprocal_rank(&found));
        out[4] = Some(gain(&found, all));
        let of: HashSet<u32> = asked.evidence.iter().filter_map(|id| sessions.get(id).copied()).collect();
        out[5] = Some(share(&of, &folded, 5));
        out[6] = Some(share(&of, &folded, 10));
    }
    let of: HashSet<u32> = asked.raw.iter().filter_map(|id| leading_session(id)).collect();
    out[7] = Some(if of.is_empty() { 1.0 } else { share(&of, &folded, 5) });
    out[8] = Some(if of.is_empty() { 1.0 } else { share(&of, &folded, 10) });
    out
}

/// The share of `all` that stands in the first `k`. `found`: the ranks, from 1.
pub(super) fn recall(found: &[usize], all: usize, k: usize) -> f64 {
    found.iter().filter(|rank| **rank <= k).count() as f64 / all.max(1) as f64
}

pub(super) fn reciprocal_rank(found: &[usize]) -> f64 {
    found.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64)
}

/// NDCG over the first ten, every piece of evidence worth the same.
fn gain(found: &[usize], all: usize) -> f64 {
    let worth = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    let ideal: f64 = (1..=all.min(10)).map(worth).sum();
    found.iter().filter(|rank| **rank <= 10).map(|rank| worth(*rank)).sum::<f64>() / ideal
}

fn share(of: &HashSet<u32>, folded: &[u32], k: usize) -> f64 {
    folded.iter().take(k).filter(|s| of.contains(s)).count() as f64 / of.len().max(1) as f64
}

/// `D3:…`: the number of the session, whatever comes behind.
fn leading_session(id: &str) -> Option<u32> {
    id.strip_prefix('D')?.split_once(':')?.0.parse().ok()
}

/// The ids in a string of evidence: several may stand in one, some with zeros or signs that do not belong there.
pub(super) fn ids(raw: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = raw;
    while let Some(at) = rest.find('D') {
        rest = &rest[at + 1..];
        let behind = rest.strip_prefix(':').unwrap_or(rest);
        let Some((session, behind)) = number(behind) else { continue };
        let Some((turn, behind)) = behind.strip_prefix(':').and_then(number) else { continue };
        out.push(format!("D{session}:{turn}"));
        rest = behind;
    }
    out
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Means per group, over the questions that have something to measure.
#[derive(Default, Debug)]
pub(super) struct Means(BTreeMap<&'static str, Sums>);

#[derive(Default, Debug)]
struct Sums {
    questions: usize,
    /// Of each column: the sum, and over how many questions.
    columns: [(f64, usize); COLUMNS.len()],
}

impl Means {
    pub(super) fn add(&mut self, group: &'static str, measures: &Measures) {
        let sums = self.0.entry(group).or_default();
        sums.questions += 1;
        for (sum, value) in sums.columns.iter_mut().zip(measures) {
            if let Some(value) = value {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }

    /// Questions of a group, and percentages in the order of [`COLUMNS`]; NaN where nothing could be measured.
    pub(super) fn of(&self, group: &str) -> Option<(usize, [f64; COLUMNS.len()])> {
        let sums = self.0.get(group)?;
        Some((sums.questions, sums.columns.map(|(sum, n)| 100.0 * sum / n as f64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_repaired() {
        let ids = |raw| ids(raw).join(" ");
        assert_eq!(ids("D8:6; D9:17"), "D8:6 D9:17");
        assert_eq!(ids("D30:05"), "D30:5");
        assert_eq!(ids("D:11:26 D20:21"), "D11:26 D20:21");
        assert_eq!(ids("D"), "");
        assert_eq!(ids("DD1:2 D3"), "D1:2");
        assert_eq!(leading_session("D8:6; D9:17"), Some(8));
        assert_eq!(leading_session("D:11:26"), None);
    }

    /// Seven turns in three sessions; the expected numbers are those of the published scorer's definitions, by hand.
    #[test]
    fn measures_are_the_published_ones() {
        let sessions: HashMap<String, u32> =
            [("D1:1", 1), ("D1:2", 1), ("D2:1", 2), ("D2:2", 2), ("D3:1", 3), ("D3:2", 3), ("D3:3", 3)]
                .map(|(id, n)| (id.to_owned(), n))
                .into();
        let list = |ids: &str| -> Vec<String> { ids.split(' ').filter(|i| !i.is_empty()).map(str::to_owned).collect() };
        let asked = Asked { group: "x", evidence: list("D1:2 D3:3"), raw: list("D1:2 D3:3") };
        // Twice the same id counts once: evidence at ranks 2 and 6.
        let found = measure(&asked, &list("D2:1 D2:1 D1:2 D1:1 D2:2 D3:1 D3:3"), &sessions);
        let ideal = 1.0 + 1.0 / 3f64.log2();
        let gained = (1.0 / 3f64.log2() + 1.0 / 7f64.log2()) / ideal;
        let expected = [0.5, 1.0, 1.0, 0.5, gained, 1.0, 1.0, 1.0, 1.0];
        for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{}: {found:?} {expected}", COLUMNS[n]);
        }
        // Nothing to find: only MemPalace counts the question, as answered.
        let none = measure(&Asked::default(), &list("D1:1"), &sessions);
        assert_eq!((none[0], none[7]), (None, Some(1.0)));
        // A turn that does not exist is no evidence for us and is for MemPalace.
        let gone = Asked { group: "x", evidence: Vec::new(), raw: list("D9:1") };
        assert_eq!(measure(&gone, &list("D1:1"), &sessions)[8], Some(0.0));
        let mut means = Means::default();
        means.add("x", &found_none());
        means.add("x", &measure(&asked, &list("D1:2 D3:3"), &sessions));
        let (n, of) = means.of("x").unwrap();
        assert_eq!((n, of[0], of[7]), (2, 100.0, 50.0));
        assert!(means.of("y").is_none());
    }

    fn found_none() -> Measures {
        let mut out = [None; COLUMNS.len()];
        out[7] = Some(0.0);
        out
    }
}
