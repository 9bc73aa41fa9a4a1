//! Finds procedures that recur: the same steps, in the same order, that succeeded in several sessions (R11.4). Pure.
//!
//! Steps are commands with slots for the parts that differ from run to run. Only steps that several sessions share
//! count, so that a few other commands in between do not matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::scope::{SessionNo, TurnId};
use crate::text::patterns::words;

/// The beginning of a step that is no part of a procedure, but is named where it is missing.
pub const LEFT_OUT: &str = "(left out: ";

/// Minimum and maximum number of steps of a procedure.
const STEPS: std::ops::RangeInclusive<usize> = 3..=12;
/// Minimum number of sessions in which a procedure succeeded.
pub const SESSIONS: usize = 3;
/// Minimum share of a procedure's runs that succeeded.
pub const SUCCESS: f64 = 0.8;
/// Maximum number of other steps between two steps of a procedure.
const BETWEEN: usize = 3;
/// Maximum number of procedures found in a project.
const MOST: usize = 20;

/// A step of a session's work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub turn: TurnId,
    /// The command with slots.
    pub text: String,
    pub succeeded: bool,
}

impl Step {
    /// Whether the step only names a command that a procedure leaves out.
    fn is_left_out(&self) -> bool {
        self.text.starts_with(LEFT_OUT)
    }
}

impl Mined {
    /// Returns the steps as a draft shows them, with the names of those that are left out.
    pub fn shown(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            out.extend(self.left_out.iter().filter(|(gap, _)| *gap == at).map(|(_, name)| name.clone()));
            out.push(step.clone());
        }
        out
    }
}

/// A procedure that recurs.
#[derive(Clone, PartialEq, Debug)]
pub struct Mined {
    pub steps: Vec<String>,
    /// Commands that most runs had between two steps and that are left out, because they must not be repeated unseen: the
    /// number of steps before each, and its name.
    pub left_out: Vec<(usize, String)>,
    /// Number of runs, and number of runs in which all steps succeeded.
    pub runs: usize,
    pub succeeded: usize,
    /// The newest run that succeeded in each session, with the turns of its steps.
    pub evidence: Vec<(SessionNo, Vec<TurnId>)>,
}

/// Words for actions that affect the world outside the project's folder, or its history: the action, and words of
/// commands and of people's scripts that mean it. Steps without such an action are ordinary work on code, unless they
/// are jobs of the project itself ([`is_own_job`]).
const DEEDS: [(&str, &[&str]); 18] = [
    ("push", &["push"]),
    ("tag", &["tag"]),
    ("publish", &["publish", "veröffentlichen", "veroeffentlichen", "publier", "publicar", "pubblica", "发布"]),
    (
        "deploy",
        &["deploy", "ausliefern", "ausrollen", "déployer", "deployer", "livrer", "desplegar", "implantar", "部署"],
    ),
    ("release", &["release", "rilascia"]),
    ("migrate", &["migrate", "migrieren", "migrer", "migrar"]),
    ("migration", &["migration"]),
    ("upgrade", &["upgrade"]),
    ("version", &["version"]),
    ("bump", &["bump"]),
    ("upload", &["upload", "hochladen", "subir"]),
    ("apply", &["apply"]),
    ("rollout", &["rollout"]),
    ("seed", &["seed"]),
    ("restore", &["restore", "wiederherstellen", "restaurer", "restaurar"]),
    ("backup", &["backup", "sichern", "sauvegarder", "sauvegarde", "respaldar", "respaldo"]),
    ("rotate", &["rotate"]),
    ("dist", &["dist"]),
];

/// Returns the action of a step, if it has such a word.
pub fn deed(step: &str) -> Option<&'static str> {
    let parts: Vec<&str> = step.split([' ', '/', ':', '-', '_', '.']).collect();
    DEEDS.into_iter().find(|(_, words)| words.iter().any(|w| parts.contains(w))).map(|(deed, _)| deed)
}

/// Whether a step runs a script or a task of the project itself that is no check: two such steps in one order are a
/// procedure, whatever they are called.
fn is_own_job(step: &str) -> bool {
    let mut words = step.split(' ').skip_while(|w| words!("python python3 node bash sh ruby uv run poetry").has(w));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_script = first.contains('/') && !first.starts_with(['/', '~', '<']) && !first.contains("node_modules");
    let is_task = words!("make just task rake invoke inv nox mage").has(first) && !second.is_empty();
    let checks = |w: &str| {
        let parts = || w.split(['-', '_', ':', '.', '/']);
        parts()
            .any(|p| words!("test tests lint fmt format check checks ci build types dev start run serve clean").has(p))
    };
    (is_script || is_task) && !checks(first) && !checks(second)
}

/// Returns the procedures of a project, the longest and most frequent first.
pub fn mine(sessions: &[(SessionNo, Vec<Step>)]) -> Vec<Mined> {
    let mut frequent: BTreeMap<&str, BTreeSet<SessionNo>> = BTreeMap::new();
    for (no, steps) in sessions {
        for step in steps.iter().filter(|s| !s.is_left_out()) {
            frequent.entry(step.text.as_str()).or_default().insert(*no);
        }
    }
    frequent.retain(|_, of| of.len() >= SESSIONS);
    let mut found: BTreeMap<Vec<&str>, Noted> = BTreeMap::new();
    for (no, steps) in sessions {
        for run in chains(steps, &|text| frequent.contains_key(text)) {
            for length in STEPS {
                for window in run.windows(length) {
                    note(&mut found, *no, steps, window);
                }
            }
        }
    }
    let enough = |m: &Mined| m.evidence.len() >= SESSIONS && m.succeeded as f64 >= SUCCESS * m.runs as f64;
    let mut found: Vec<Mined> = found.into_values().map(Noted::mined).filter(enough).collect();
    found.sort_by(|a, b| {
        (b.steps.len(), b.evidence.len()).cmp(&(a.steps.len(), a.evidence.len())).then_with(|| a.steps.cmp(&b.steps))
    });
    let mut out: Vec<Mined> = Vec::new();
    for mined in found {
        let within = |longer: &Mined| longer.steps.windows(mined.steps.len()).any(|w| w == mined.steps);
        // A part of a longer procedure is listed only if it recurs much more often.
        if !out.iter().any(|longer| within(longer) && 2 * longer.evidence.len() > mined.evidence.len()) {
            out.push(mined);
        }
    }
    out.truncate(MOST);
    out
}

/// Returns the places of the recurring steps, in chains with few other steps in between. A step repeated directly counts
/// once, with its last result.
fn chains(steps: &[Step], recurs: &dyn Fn(&str) -> bool) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new()];
    let mut between = 0;
    for (at, step) in steps.iter().enumerate().filter(|(_, s)| !s.is_left_out()) {
        if !recurs(&step.text) {
            between += 1;
            continue;
        }
        let run = out.last_mut().filter(|_| between <= BETWEEN);
        between = 0;
        match run {
            Some(run) => match run.last_mut().filter(|last| steps[**last].text == step.text) {
                Some(last) => *last = at,
                None => run.push(at),
            },
            None => out.push(vec![at]),
        }
    }
    out
}

/// A procedure while its runs are counted.
struct Noted {
    mined: Mined,
    /// Number of runs that succeeded and did this between two steps.
    gaps: BTreeMap<(usize, String), usize>,
}

impl Noted {
    fn mined(self) -> Mined {
        let most = |count: &usize| 2 * count > self.mined.succeeded;
        let left_out = self.gaps.iter().filter(|(_, count)| most(count)).map(|(gap, _)| gap.clone()).collect();
        Mined { left_out, ..self.mined }
    }
}

fn note<'s>(found: &mut BTreeMap<Vec<&'s str>, Noted>, no: SessionNo, steps: &'s [Step], window: &[usize]) {
    let texts: Vec<&str> = window.iter().map(|at| steps[*at].text.as_str()).collect();
    let distinct: BTreeSet<&str> = texts.iter().copied().collect();
    // Repeating the same few steps is ordinary work, not a procedure.
    let is_work = !texts.iter().any(|t| deed(t).is_some()) && texts.iter().filter(|t| is_own_job(t)).count() < 2;
    if distinct.len() < texts.len() || is_work {
        return;
    }
    let noted = found.entry(texts.clone()).or_insert_with(|| Noted {
        mined: Mined {
            steps: texts.iter().map(|t| (*t).to_owned()).collect(),
            left_out: Vec::new(),
            runs: 0,
            succeeded: 0,
            evidence: Vec::new(),
        },
        gaps: BTreeMap::new(),
    });
    let mined = &mut noted.mined;
    mined.runs += 1;
    if window.iter().all(|at| steps[*at].succeeded) {
        mined.succeeded += 1;
        mined.evidence.retain(|(session, _)| *session != no);
        mined.evidence.push((no, window.iter().map(|at| steps[*at].turn).collect()));
        for (gap, pair) in window.windows(2).enumerate() {
            let between = steps[pair[0]..pair[1]].iter().filter(|s| s.is_left_out()).map(|s| s.text.clone());
            for text in between.collect::<BTreeSet<_>>() {
                *noted.gaps.entry((gap + 1, text)).or_default() += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(no: i64, steps: &[&str]) -> (SessionNo, Vec<Step>) {
        let step = |(at, text): (usize, &&str)| Step {
            turn: TurnId(no * 100 + at as i64),
            text: text.trim_end_matches('!').to_owned(),
            succeeded: !text.ends_with('!'),
        };
        (SessionNo(no), steps.iter().enumerate().map(step).collect())
    }

    fn shown(sessions: &[(SessionNo, Vec<Step>)]) -> Vec<String> {
        mine(sessions).iter().map(|m| format!("{} ({}/{})", m.steps.join(" > "), m.succeeded, m.runs)).collect()
    }

    #[test]
    fn what_recurs_with_little_in_between_is_found_once_and_whole() {
        let release = ["just ci", "python bump.py <version>", "git tag <version>", "git push --tags"];
        let noisy =
            ["just ci", "cat x", "python bump.py <version>", "git tag <version>", "npm view", "git push --tags"];
        let found = shown(&[session(1, &release), session(2, &noisy), session(3, &release)]);
        assert_eq!(found, ["just ci > python bump.py <version> > git tag <version> > git push --tags (3/3)"]);
        assert!(shown(&[session(1, &release), session(2, &release)]).is_empty(), "two sessions are not enough");
        let by_script = ["make prüfen", "./skripte/ausliefern.sh", "curl localhost"];
        let own = ["just manifest", "python tools/stamp.py <number>", "./scripts/pack.sh <path>"];
        for steps in [by_script, own] {
            assert_eq!(shown(&[1, 2, 3].map(|n| session(n, &steps))).len(), 1, "{steps:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_named_in_its_place_if_most_runs_did_it() {
        let deletes = "(left out: `aws s3 sync … --delete`, which deletes)";
        let whole = ["git tag <version>", "make docs", deletes, "./deploy.sh prod <number>"];
        let other =
            ["git tag <version>", "(left out: `rm …`, which deletes)", "make docs", "./deploy.sh prod <number>"];
        let found = mine(&[session(1, &whole), session(2, &whole), session(3, &other)]);
        assert_eq!(found.len(), 1, "a step that is left out makes no other procedure");
        assert_eq!(found[0].steps, ["git tag <version>", "make docs", "./deploy.sh prod <number>"]);
        assert_eq!(found[0].shown(), whole);
        assert_eq!((found[0].runs, found[0].succeeded), (3, 3));
    }

    #[test]
    fn what_fails_often_or_only_goes_round_is_none() {
        let fails = ["just ci", "git tag <version>", "git push --tags!"];
        let works = ["just ci", "git tag <version>", "git push --tags"];
        let half = [session(1, &works), session(2, &works), session(3, &works), session(4, &fails)];
        assert!(shown(&half).is_empty(), "three of four are too few");
        let round = ["cargo fmt", "cargo clippy", "cargo test"];
        assert!(shown(&[1, 2, 3, 4].map(|n| session(n, &round))).is_empty(), "it changes nothing outside");
    }
}
