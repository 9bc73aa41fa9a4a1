//! Measures of a ranked list: recall, reciprocal rank and gain over turns and sessions, and the share of evidence
//! sessions exactly as MemPalace counts it. Plain arithmetic; knows no home.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A question and its evidence.
#[derive(Clone, Default, Debug)]
pub(super) struct Asked {
    /// Group of the question: a category or a kind.
    pub group: &'static str,
    /// Ids of existing turns that answer the question, each once.
    pub evidence: Vec<String>,
    /// The evidence as the file has it: MemPalace scores against that.
    pub raw: Vec<String>,
}

/// Names of the measures, in display order. `sR` is recall of sessions, ordered by their best turn. `mp_session` is
/// recall of sessions as MemPalace counts it: a question without evidence counts as answered, and ids are not repaired.
pub(super) const COLUMNS: [&str; 9] =
    ["R@5", "R@10", "R@20", "MRR", "NDCG@10", "sR@5", "sR@10", "mp_session@5", "mp_session@10"];

/// Measures of one question; `None` if it has no evidence to find.
pub(super) type Measures = [Option<f64>; COLUMNS.len()];

/// Scores one ranked list of turns. `sessions` maps every turn to its session.
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

/// Returns the share of `all` pieces of evidence within the first `k`. `found` are their ranks, from 1.
pub(super) fn recall(found: &[usize], all: usize, k: usize) -> f64 {
    found.iter().filter(|rank| **rank <= k).count() as f64 / all.max(1) as f64
}

pub(super) fn reciprocal_rank(found: &[usize]) -> f64 {
    found.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64)
}

/// Returns NDCG over the first ten; every piece of evidence counts the same.
fn gain(found: &[usize], all: usize) -> f64 {
    let worth = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    let ideal: f64 = (1..=all.min(10)).map(worth).sum();
    found.iter().filter(|rank| **rank <= 10).map(|rank| worth(*rank)).sum::<f64>() / ideal
}

fn share(of: &HashSet<u32>, folded: &[u32], k: usize) -> f64 {
    folded.iter().take(k).filter(|s| of.contains(s)).count() as f64 / of.len().max(1) as f64
}

/// Returns the session number at the beginning of an id such as `D3:…`.
fn leading_session(id: &str) -> Option<u32> {
    id.strip_prefix('D')?.split_once(':')?.0.parse().ok()
}

/// Returns the ids in a string of evidence: a string may hold several, some with stray zeros or signs.
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

/// Means per group, over the questions that could be measured.
#[derive(Default, Debug)]
pub(super) struct Means(BTreeMap<&'static str, Sums>);

#[derive(Default, Debug)]
struct Sums {
    questions: usize,
    /// For each column: the sum, and the number of questions in it.
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

    /// Returns the number of questions of a group, and percentages in the order of [`COLUMNS`]; NaN for a column that
    /// could not be measured.
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

    /// Checks seven turns in three sessions; the expected numbers were computed by hand from the published definitions.
    #[test]
    fn measures_are_the_published_ones() {
        let sessions: HashMap<String, u32> =
            [("D1:1", 1), ("D1:2", 1), ("D2:1", 2), ("D2:2", 2), ("D3:1", 3), ("D3:2", 3), ("D3:3", 3)]
                .map(|(id, n)| (id.to_owned(), n))
                .into();
        let list = |ids: &str| -> Vec<String> { ids.split(' ').filter(|i| !i.is_empty()).map(str::to_owned).collect() };
        let asked = Asked { group: "x", evidence: list("D1:2 D3:3"), raw: list("D1:2 D3:3") };
        // A repeated id counts once, so the evidence is at ranks 2 and 6.
        let found = measure(&asked, &list("D2:1 D2:1 D1:2 D1:1 D2:2 D3:1 D3:3"), &sessions);
        let ideal = 1.0 + 1.0 / 3f64.log2();
        let gained = (1.0 / 3f64.log2() + 1.0 / 7f64.log2()) / ideal;
        let expected = [0.5, 1.0, 1.0, 0.5, gained, 1.0, 1.0, 1.0, 1.0];
        for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{}: {found:?} {expected}", COLUMNS[n]);
        }
        // A question without evidence is counted by MemPalace only, as answered.
        let none = measure(&Asked::default(), &list("D1:1"), &sessions);
        assert_eq!((none[0], none[7]), (None, Some(1.0)));
        // A turn that does not exist counts as evidence for MemPalace, but not for us.
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
