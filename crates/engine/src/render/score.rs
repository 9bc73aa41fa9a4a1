//! Chooses lines for a bounded page by a score with reasons; a share of the budget is kept for lines with a low score
//! (R7.1). Pure.
//!
//! The position in a list never counts: equal items rotate from day to day, so that none starves the others.

use jiff::civil::Date;

use crate::clock::Millis;

/// The half-life of recency, in days. Recency never falls below the floor.
const HALF_LIFE_DAYS: f64 = 14.0;
const FLOOR: f64 = 0.2;

/// Score of a pinned item, which does not age.
const PINNED: f64 = 10.0;

/// Share of a list's budget, in percent, for lines whose score is too low.
const IN_TURN: usize = 20;

const DAY_MS: f64 = 86_400_000.0;

/// The score of a line, with reasons.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Score {
    pub value: f64,
    /// Each part of the score in words, for `heirloom head show --why`.
    pub reasons: Vec<String>,
}

impl Score {
    /// Adds a part; a part of zero adds no reason.
    pub fn add(&mut self, value: f64, why: &str) {
        if value != 0.0 {
            self.value += value;
            self.reasons.push(format!("{why} {value:+.2}"));
        }
    }

    /// Adds recency: 1 today; the part above the floor halves every fourteen days. An unknown `then` counts as old.
    pub fn recent(&mut self, then: Option<Millis>, now: Millis) {
        let days = (now.saturating_sub(then.unwrap_or(0)).max(0)) as f64 / DAY_MS;
        let value = FLOOR + (1.0 - FLOOR) * 0.5f64.powf(days / HALF_LIFE_DAYS);
        let why = match then {
            Some(_) if days < 1.0 => "of today".to_owned(),
            Some(_) => format!("{} days old", days as i64),
            None => "of unknown age".to_owned(),
        };
        self.add(value, &why);
    }

    pub fn priority(&mut self, word: Option<&str>) {
        match word {
            Some("high") => self.add(1.0, "high priority"),
            Some("low") => self.add(-0.3, "low priority"),
            _ => {}
        }
    }

    pub fn due(&mut self, due: Option<Date>, today: Option<Date>) {
        let (Some(due), Some(today)) = (due, today) else { return };
        match due.since(today).map_or(365, |s| s.get_days()) {
            ..=-1 => self.add(1.2, "overdue"),
            0..=1 => self.add(1.0, "due"),
            2..=7 => self.add(0.6, "due within a week"),
            _ => self.add(0.2, "has a date"),
        }
    }

    pub fn pinned(&mut self, is: bool) {
        if is {
            self.add(PINNED, "pinned");
        }
    }
}

/// Whether and why a candidate was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    ByScore,
    /// Its score is too low, but today it is its turn in the rotation.
    InTurn,
    No,
}

/// A line to choose from.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate<'c> {
    pub score: f64,
    /// Key that breaks ties and determines the rotation; the same from day to day.
    pub key: &'c str,
    pub tokens: usize,
}

/// Chooses the candidates that fit into a budget of tokens; `day` counts days. The result is in the order of the
/// candidates. Every candidate is chosen once within as many days as there are candidates, provided that each fits into
/// a fifth of the budget (or the largest into all of it) and the candidates stay the same.
pub fn choose(from: &[Candidate], budget: usize, day: i64) -> Vec<Chosen> {
    let mut out = vec![Chosen::No; from.len()];
    let total: usize = from.iter().map(|c| c.tokens).sum();
    if total <= budget {
        out.fill(Chosen::ByScore);
        return out;
    }
    let largest = from.iter().map(|c| c.tokens).max().unwrap_or(0);
    let turn = (budget * IN_TURN / 100).max(largest).min(budget);
    let order = by_score(from);
    let mut left = budget - turn;
    for at in order {
        if from[at].tokens > left {
            break;
        }
        left -= from[at].tokens;
        out[at] = Chosen::ByScore;
    }
    // The window advances by as many candidates as certainly fit, so that the windows of consecutive days skip none.
    let mut keys: Vec<usize> = (0..from.len()).collect();
    keys.sort_by_key(|at| from[*at].key);
    let step = (turn / largest.max(1)).max(1) as i64;
    let first = (day.saturating_mul(step)).rem_euclid(from.len() as i64) as usize;
    let mut left = left + turn;
    for at in keys.iter().cycle().skip(first).take(keys.len()) {
        if out[*at] != Chosen::No {
            continue;
        }
        if from[*at].tokens > left {
            break;
        }
        left -= from[*at].tokens;
        out[*at] = Chosen::InTurn;
    }
    out
}

/// Returns the indices of the candidates, the highest score first.
fn by_score(from: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..from.len()).collect();
    order.sort_by(|a, b| from[*b].score.total_cmp(&from[*a].score).then_with(|| from[*a].key.cmp(from[*b].key)));
    order
}

/// Divides a budget between lists by weight; tokens that one does not need pass to those that need more.
pub fn shares(needs: &[usize], weights: &[usize], budget: usize) -> Vec<usize> {
    let mut out = vec![0; needs.len()];
    let mut open: Vec<usize> = (0..needs.len()).collect();
    let mut left = budget;
    loop {
        let weight: usize = open.iter().map(|i| weights[*i]).sum();
        let content: Vec<usize> =
            open.iter().copied().filter(|i| needs[*i] <= left * weights[*i] / weight.max(1)).collect();
        if content.is_empty() {
            for i in &open {
                out[*i] = left * weights[*i] / weight.max(1);
            }
            return out;
        }
        for i in &content {
            out[*i] = needs[*i];
            left -= needs[*i];
        }
        open.retain(|i| !content.contains(i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equals(n: usize, tokens: usize) -> Vec<(String, usize)> {
        (0..n).map(|i| (format!("l:{i:03}"), tokens + i % 7)).collect()
    }

    fn candidates(of: &[(String, usize)]) -> Vec<Candidate<'_>> {
        of.iter().map(|(key, tokens)| Candidate { score: 1.0, key, tokens: *tokens }).collect()
    }

    #[test]
    fn equals_take_turns_and_a_budget_holds() {
        for (n, budget) in [(60, 400), (61, 333), (7, 50), (200, 1_000)] {
            let of = equals(n, 20);
            let from = candidates(&of);
            let mut shown = vec![0; n];
            for day in 20_000..20_000 + n as i64 {
                let chosen = choose(&from, budget, day);
                let used: usize =
                    from.iter().zip(&chosen).filter(|(_, c)| **c != Chosen::No).map(|(f, _)| f.tokens).sum();
                assert!(used <= budget, "{used} of {budget}");
                assert_eq!(chosen, choose(&from, budget, day));
                for (at, c) in chosen.iter().enumerate() {
                    shown[at] += usize::from(*c != Chosen::No);
                }
            }
            assert!(shown.iter().all(|s| *s > 0), "{n} in {budget}: {shown:?}");
        }
    }

    #[test]
    fn the_highest_score_always_stands() {
        let of = equals(60, 20);
        let mut from = candidates(&of);
        from[41].score = 9.0;
        for day in 0..90 {
            assert_eq!(choose(&from, 200, day)[41], Chosen::ByScore);
        }
    }

    #[test]
    fn what_one_does_not_need_the_others_get() {
        assert_eq!(shares(&[10, 500, 500], &[1, 1, 1], 300), [10, 145, 145]);
        assert_eq!(shares(&[10, 20, 30], &[3, 3, 3], 300), [10, 20, 30]);
        assert_eq!(shares(&[900, 0, 0], &[3, 3, 3], 300), [300, 0, 0]);
        assert_eq!(shares(&[], &[], 300), [0usize; 0]);
        assert!(shares(&[900, 900, 1], &[5, 3, 2], 301).iter().sum::<usize>() <= 301);
    }

    #[test]
    fn recency_has_a_floor_and_what_is_pinned_is_above_all() {
        let (day, now) = (86_400_000, 1_795_262_400_000);
        let of = |days: i64| {
            let mut score = Score::default();
            score.recent(Some(now - days * day), now);
            score.value
        };
        assert!(of(0) > of(7) && of(7) > of(100) && of(10_000) >= FLOOR && (of(14) - 0.6).abs() < 1e-9);
        let mut old = Score::default();
        old.recent(Some(0), now);
        old.pinned(true);
        let mut urgent = Score::default();
        urgent.recent(Some(now), now);
        urgent.priority(Some("high"));
        urgent.due(Some(jiff::civil::date(2026, 1, 1)), Some(jiff::civil::date(2026, 2, 1)));
        assert!(old.value > urgent.value);
        assert_eq!(urgent.reasons, ["of today +1.00", "high priority +1.00", "overdue +1.20"]);
    }
}
