//! `MEMORY.md`, Tier 1: current work, commitments, memories that always hold, the memories of each project in numbers,
//! and references into the past, across all threads (R7.1).
//!
//! Lines are chosen by score ([`score`](super::score)), never by their position. Every line has a scope: the file
//! contains the lines of all scopes, but a session is given the text of its own threads only ([`for_thread`], R10.3).

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use rusqlite::{OptionalExtension, params};

use super::edits::line_key;
use super::page::{due_said, due_words, end_of_day, line, moment, short};
use super::running::running;
pub use super::scoping::Scope;
use super::scoping::{Owed, Standing, owed};
use super::score::{Candidate, Chosen, Score, choose, shares};
use super::threads::{Stand, recent, stand};
use super::unfiled::{Unfiled, of_threadless};
use super::why::Why;
use crate::clock::Millis;
use crate::continuity::open_loop;
use crate::error::Result;
use crate::home::Digest;
use crate::ledger::Read;
use crate::ledger::codes::CHUNK;
use crate::lineage;
use crate::lineage::distillate::Item;
use crate::memory::leaf::class_of;
use crate::memory::{Class, class::Verification};
use crate::next_step::See;
use crate::pages::{PageKey, dismissals};
use crate::redact::redact;
use crate::scope::{AgentNo, FileNo, NodeId, ThreadNo};
use crate::text::similarity;
use crate::thread::{self, ThreadRow};
use crate::tokens::tokens;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind};

/// The token budget of the whole block.
const TOKENS: usize = 1_500;

/// Age in milliseconds from which a thread not worked in is no longer current. If all are that old, the age counts from
/// the day of the last work: someone who comes back after a long time wants to know where they were.
pub(super) const LATELY_MS: Millis = 30 * 24 * 3_600_000;

/// Largest number of threads that are read.
const THREADS: usize = 30;

/// Largest number of open items without a file shown for one thread, and the time they are shown after they were said,
/// in milliseconds. A conversation that ended makes files of its open items, so these items are from one that goes on,
/// or from history.
const UNFILED: usize = 5;
const UNFILED_MS: Millis = 14 * 24 * 3_600_000;

/// Number of days after its deadline for which an open item without a file is still shown. Silence does not end a
/// promise, but after two months it is either done or given up.
pub(super) const OVERDUE_DAYS: i32 = 60;

/// Largest number of memories read for the section of those that always hold: the pinned ones and the newest.
const ALWAYS: i64 = 500;

/// Number of months listed under Further back, and of months back that are searched for them.
const MONTHS: usize = 6;
const MONTHS_BACK: i64 = 36;

/// Tokens reserved for a heading and the line "… and 12 more".
const HEADING: usize = 22;

/// Largest number of lines of other threads, of which only the label is given.
const ELSEWHERE: usize = 12;

/// The sections of Tier 1, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Section {
    /// One line for each current thread.
    Now,
    /// Open loops and blocked items.
    Commitments,
    /// Accepted memories that hold everywhere, and pinned ones.
    Always,
    /// The number of memories of each project.
    Standing,
    /// Months, with references to nodes of the lineage.
    Further,
}

impl Section {
    const ALL: [Section; 5] =
        [Section::Now, Section::Commitments, Section::Always, Section::Standing, Section::Further];

    pub fn title(self) -> &'static str {
        match self {
            Section::Now => "Now",
            Section::Commitments => "Commitments",
            Section::Always => "Always",
            Section::Standing => "Standing memory",
            Section::Further => "Further back",
        }
    }

    /// Returns the command that shows the whole section.
    fn see(self) -> &'static str {
        match self {
            Section::Now | Section::Further => "thread list",
            Section::Commitments => "loop list",
            Section::Always | Section::Standing => "memory list",
        }
    }

    /// Returns its share of the budget if the sections need more than there is.
    fn weight(self) -> usize {
        match self {
            Section::Now | Section::Commitments => 35,
            _ => 30,
        }
    }
}

/// A line of Tier 1, or a line that was left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier1Line {
    pub section: Section,
    /// The text without list mark and reference, with credentials redacted.
    pub text: String,
    /// The reference `heirloom expand` accepts for more detail.
    pub reference: Option<String>,
    /// Scope that decides which sessions may be given its text.
    pub scope: Scope,
    pub score: f64,
    pub reasons: Vec<String>,
    /// For a thread's line: the number of open items of the thread.
    pub open: usize,
    /// Why the line is not in the file; `None` if it is in the file.
    pub left_out: Option<String>,
}

impl Tier1Line {
    fn new(section: Section, text: String, reference: Option<String>, scope: Scope, score: Score) -> Tier1Line {
        Tier1Line::clean(section, redact(&text).into_owned(), reference, scope, score)
    }

    /// Makes a line with credentials redacted from its text.
    fn clean(section: Section, text: String, reference: Option<String>, scope: Scope, score: Score) -> Tier1Line {
        Tier1Line {
            section,
            text,
            reference,
            scope,
            score: score.value,
            reasons: score.reasons,
            open: 0,
            left_out: None,
        }
    }

    fn markdown(&self) -> String {
        let reference = self.reference.as_ref().map(|r| format!(" · [{r}]")).unwrap_or_default();
        format!("- {}{reference}\n", self.text)
    }
}

impl From<Tier1Line> for Why {
    fn from(l: Tier1Line) -> Why {
        Why {
            section: l.section.title().to_owned(),
            text: l.text,
            reference: l.reference,
            score: Some(l.score),
            reasons: l.reasons,
            left_out: l.left_out,
        }
    }
}

const NO_ROOM: &str = "no room today: others score higher, and it is not its turn";
const DISMISSED: &str = "a person took it out, and it has not changed since";
const NOT_IN_FILE: &str = "only given to sessions of its project";

pub(super) fn render(at: &AssistantHome, tx: &Read) -> Result<String> {
    let lines = tier1(at, tx)?;
    let mut out = profile_section(at, tx)?;
    for section in Section::ALL {
        let of: Vec<&Tier1Line> = lines.iter().filter(|l| l.section == section).collect();
        let left = of.iter().filter(|l| l.left_out.as_deref() == Some(NO_ROOM)).count();
        if left == 0 && of.iter().all(|l| l.left_out.is_some()) {
            continue;
        }
        out.push_str(&format!("## {}\n", section.title()));
        of.iter().filter(|l| l.left_out.is_none()).for_each(|l| out.push_str(&l.markdown()));
        if left > 0 {
            out.push_str(&format!("- … and {left} more: `{}`\n", See::new(section.see())));
        }
        out.push('\n');
    }
    if out.is_empty() {
        out.push_str(&format!(
            "Nothing yet. `{}` keeps a memory, `{}` a commitment.\n",
            See::new("remember \"…\""),
            See::new("loop add \"…\"")
        ));
    }
    Ok(format!("{}\n", out.trim_end()))
}

/// Returns the section with the operator's profile, which every session is given; empty if the profile is empty.
fn profile_section(at: &AssistantHome, tx: &Read) -> Result<String> {
    let values = super::profile::lines(tx, at.agent_no)?;
    let empty = values.is_empty();
    Ok(if empty { String::new() } else { format!("## {}\n{}\n", super::profile::TITLE, values.concat()) })
}

/// Returns every line of Tier 1: first those in the file, in its order, then those left out, each with its scope, score
/// and reasons.
///
/// The reads are bounded: a few nodes of each of the thirty threads worked in last, all open loops, the memories that
/// always hold, and counts.
pub fn tier1(at: &AssistantHome, tx: &Read) -> Result<Vec<Tier1Line>> {
    let day = Day::of(at, tx)?;
    let loops = owed(tx, at.agent_no, Kind::OpenLoop)?;
    let mut rows = recent(tx, at.agent_no, day.latest - LATELY_MS, THREADS)?;
    let live = running(tx, at.agent_no, at.ledger.now())?;
    for r in live.iter().rev() {
        if let Some(no) = r.thread_no.filter(|no| !rows.iter().any(|row| row.no == *no)) {
            rows.insert(0, ThreadRow { last_at: r.last_at, ..thread::row(tx, at.agent_no, no)? });
        }
    }
    let (mut stands, mut standing) = (Vec::new(), Standing::new(tx, at.agent_no));
    for mut row in rows {
        let last = live.iter().filter(|r| r.thread_no == Some(row.no)).filter_map(|r| r.last_at).max();
        row.last_at = row.last_at.max(last);
        let stand = stand(tx, &mut standing, &row, &loops, &live)?;
        stands.push((row, stand));
    }
    // A loop that is the subject of a thread or its next step is shown in the thread's line.
    let (mut now, steps): (Vec<Tier1Line>, Vec<Vec<&str>>) =
        stands.iter().map(|(row, stand)| day.of_thread(row, stand, &loops)).unzip();
    let known: HashSet<ThreadNo> = stands.iter().map(|(row, _)| row.no).collect();
    let idle = day.idle(tx, at.agent_no, &loops, &known)?;
    let mut places = HashMap::new();
    let mut owed_lines: Vec<(Tier1Line, Option<&str>)> =
        loops.iter().map(|l| (day.of_loop(l, &mut places), Some(l.id()))).collect();
    for ((row, stand), line) in stands.iter().zip(&now) {
        let lines = day.unfiled(at, &mut standing, row, stand, &line.text)?;
        owed_lines.extend(lines.into_iter().map(|l| (l, None)));
    }
    for item in of_threadless(at, &mut standing, &live, &loops)?.iter().take(UNFILED) {
        let scope = match item.thread.strip_prefix("project/") {
            Some(id) => Scope::Workspace(id.to_owned()),
            None => Scope::Thread(ThreadNo(0), item.thread.clone()),
        };
        owed_lines.push((day.of_unfiled(item, scope, false), None));
    }
    let mut always = day.always(tx, at.agent_no)?;
    let known_of = known_of_projects(tx, at.agent_no)?;
    let mut further = further(at, tx, &day)?;
    day.dismiss(&mut now);
    day.dismiss(&mut always);
    day.dismiss(&mut further);

    let fixed: usize = known_of.iter().chain(&further).filter(|l| l.left_out.is_none()).map(cost).sum();
    let fixed_headings = usize::from(!known_of.is_empty()) + usize::from(!further.is_empty());
    let fixed = fixed + tokens(&profile_section(at, tx)?);
    let mut budget = TOKENS.saturating_sub(fixed + (fixed_headings + 3) * HEADING);
    let need = |lines: &[Tier1Line]| lines.iter().filter(|l| l.left_out.is_none()).map(cost).sum::<usize>();
    let owed_need: usize = owed_lines.iter().map(|(l, _)| cost(l)).sum();
    let weights = [Section::Now, Section::Commitments, Section::Always].map(Section::weight);
    let share = shares(&[need(&now), owed_need, need(&always)], &weights, budget)[0];
    budget -= fill(&mut now, share, day.number);

    // An item shown in a thread's line is not shown again elsewhere.
    let shown: HashSet<&str> =
        now.iter().zip(steps).filter(|(line, _)| line.left_out.is_none()).flat_map(|(_, step)| step).collect();
    let mut commitments: Vec<Tier1Line> = Vec::new();
    for (mut line, id) in owed_lines {
        if id.is_some_and(|id| shown.contains(id)) {
            line.left_out = Some("stands under Now, in the line of its thread".into());
        }
        commitments.push(line);
    }
    day.dismiss(&mut commitments);
    let share = shares(&[need(&commitments), need(&always)], &weights[1..], budget)[0];
    budget -= fill(&mut commitments, share, day.number);
    fill(&mut always, budget, day.number);

    let (mut out, mut left_out) = (Vec::new(), Vec::new());
    for mut list in [now, commitments, always] {
        list.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| key(a).cmp(key(b))));
        let (shown, left): (Vec<_>, Vec<_>) = list.into_iter().partition(|l| l.left_out.is_none());
        out.extend(shown);
        left_out.extend(left);
    }
    for line in known_of.into_iter().chain(further) {
        if line.left_out.is_none() { out.push(line) } else { left_out.push(line) }
    }
    out.extend(left_out);
    out.extend(idle);
    Ok(out)
}

/// Chooses which lines of a section fit into its share; returns the tokens they use.
fn fill(lines: &mut [Tier1Line], share: usize, day: i64) -> usize {
    let open: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].left_out.is_none()).collect();
    let candidates: Vec<Candidate> = open
        .iter()
        .map(|i| Candidate { score: lines[*i].score, key: key(&lines[*i]), tokens: cost(&lines[*i]) })
        .collect();
    let chosen = choose(&candidates, share, day);
    let mut used = 0;
    for (i, chosen) in open.into_iter().zip(chosen) {
        match chosen {
            Chosen::No => lines[i].left_out = Some(NO_ROOM.into()),
            Chosen::InTurn => lines[i].reasons.push("its turn today".into()),
            Chosen::ByScore => {}
        }
        if chosen != Chosen::No {
            used += cost(&lines[i]);
        }
    }
    used
}

fn cost(line: &Tier1Line) -> usize {
    tokens(&line.markdown())
}

/// Returns the tie-breaker of a line: its id if it has one, so that the line keeps its position when its text changes.
fn key(line: &Tier1Line) -> &str {
    line.reference.as_deref().unwrap_or(&line.text)
}

/// Returns the urgency of a commitment as a score.
pub(super) fn urgency(entry: &Entry, now: Millis, today: Option<Date>) -> Score {
    let mut score = Score::default();
    score.recent(moment(entry.field("reopened").or_else(|| entry.field("opened"))), now);
    score.priority(entry.field("priority"));
    score.due(entry.field("due").and_then(|d| d.parse().ok()), today);
    score.pinned(pinned(entry));
    score
}

fn pinned(entry: &Entry) -> bool {
    entry.fields.get("pinned") == Some(&true.into())
}

/// The day a page is rendered on, and the dismissed items.
struct Day {
    /// The end of the day, so that the same state gives the same page all day long.
    now: Millis,
    /// The same, or the time of the last work if that is longer ago than [`LATELY_MS`].
    latest: Millis,
    today: Option<Date>,
    /// Days since 1970-01-01.
    number: i64,
    dismissed: HashMap<String, Digest>,
    digests: HashMap<String, Digest>,
}

impl Day {
    fn of(at: &AssistantHome, tx: &Read) -> Result<Day> {
        let (now, today) = (end_of_day(at), at.day_of(at.ledger.now()));
        let last = recent(tx, at.agent_no, Millis::MIN, 1)?.first().and_then(|row| row.last_at);
        let latest = last.filter(|last| now - last > LATELY_MS).unwrap_or(now);
        let dismissed = dismissals::of(tx, at.agent_no, &PageKey::Memory)?;
        let mut digests = HashMap::new();
        for item in dismissed.keys().filter(|i| i.contains(':')) {
            digests.extend(file_table::item(tx, at.agent_no, item)?.map(|e| (item.clone(), e.digest)));
        }
        Ok(Day { now, latest, today, number: now.div_euclid(24 * 3_600_000), dismissed, digests })
    }

    /// Marks the lines a person dismissed as left out.
    fn dismiss(&self, lines: &mut [Tier1Line]) {
        for line in lines.iter_mut().filter(|l| l.left_out.is_none()) {
            let Some(reference) = &line.reference else { continue };
            // An item with a file is dismissed until the file changes, any other until its line changes.
            let gone = match self.digests.get(reference) {
                Some(digest) => self.dismissed.get(reference) == Some(digest),
                None => self.dismissed.contains_key(&line_key(reference, &line.markdown()).0),
            };
            line.left_out = gone.then(|| DISMISSED.to_owned());
        }
    }

    /// Returns a thread's line, and the ids of the loops shown in it: its subject and its next step.
    fn of_thread<'l>(&self, row: &ThreadRow, stand: &Stand<'l>, loops: &[Owed]) -> (Tier1Line, Vec<&'l str>) {
        let d = &stand.distillate;
        let mut score = Score::default();
        score.recent(row.last_at, self.now);
        let blocked = d.blocked.last();
        if blocked.is_some() {
            score.add(0.5, "blocked");
        }
        let urgent = stand.loops.iter().map(|l| {
            let mut most = Score::default();
            most.priority(l.entry.field("priority"));
            most.due(l.entry.field("due").and_then(|d| d.parse().ok()), self.today);
            most
        });
        if let Some(most) = urgent.max_by(|a, b| a.value.total_cmp(&b.value)).filter(|m| m.value > 0.0) {
            score.add(most.value, &format!("a loop in it: {}", most.reasons.join(", ")));
        }
        let (mut parts, mut shown): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        let its_loop = |item: &Item| {
            let words = similarity::words(&item.text);
            stand.loops.iter().find(|l| l.is(item, &words)).copied()
        };
        let named = |l: &Owed| format!("{} [{}]{}", short(&l.entry.title, 90), l.id(), self.due(&l.entry));
        let next = d.next_steps.first();
        let same = |a: &str, b: &str| similarity::same_words(a, b);
        if let Some(now) = stand.now().filter(|n| next.is_none_or(|x| !same(&x.text, &n.text))) {
            // A loop is shown with the id that closes it and with its day.
            match its_loop(now) {
                Some(l) => {
                    parts.push(named(l));
                    shown.push(l.id());
                }
                None => parts.push(short(&now.text, 90)),
            }
        }
        if let Some(blocked) = blocked.filter(|b| stand.now().is_none_or(|n| !same(&n.text, &b.text))) {
            parts.push(format!("blocked: {}{}", short(&blocked.text, 90), id_in_brackets(blocked)));
        }
        if let Some(next) = next.filter(|x| blocked.is_none_or(|b| !same(&b.text, &x.text))) {
            let words = similarity::words(&next.text);
            match its_loop(next) {
                Some(l) => {
                    parts.push(format!("next: {}", named(l)));
                    shown.push(l.id());
                }
                // A commitment that holds everywhere is given to every session, so it is not put into the line of one
                // thread.
                None if loops.iter().any(|l| l.scope == Scope::AgentWide && l.is(next, &words)) => {}
                None => parts.push(format!("next: {}{}", short(&next.text, 90), id_in_brackets(next))),
            }
        }
        if parts.is_empty() {
            parts.push(stand.words(90).unwrap_or_else(|| "nothing told yet".into()));
        }
        let text = format!("**{}**: {}{}", line(&row.label), parts.join(" · "), stand.by());
        let scope = Scope::Thread(row.no, row.label.clone());
        let mut line = Tier1Line::new(Section::Now, text, Some(stand.reference(row)), scope, score);
        line.open = stand.open();
        (line, shown)
    }

    /// Returns lines for threads that were not worked in lately but still have open items; they have no line under Now.
    fn idle(&self, tx: &Read, agent_no: AgentNo, loops: &[Owed], known: &HashSet<ThreadNo>) -> Result<Vec<Tier1Line>> {
        let mut open: BTreeMap<ThreadNo, (String, usize)> = BTreeMap::new();
        for owed in loops {
            if let Scope::Thread(no, label) = &owed.scope
                && !known.contains(no)
            {
                open.entry(*no).or_insert_with(|| (label.clone(), 0)).1 += 1;
            }
        }
        let mut out = Vec::new();
        for (no, (label, open)) in open.into_iter().filter(|(no, _)| no.0 > 0) {
            let newest: Option<NodeId> = tx
                .prepare_cached(
                    "SELECT node_no FROM nodes WHERE thread_no = ?1 AND agent_no = ?2 AND length(key) > 0
                     ORDER BY last_at DESC LIMIT 1",
                )?
                .query_row((no, agent_no), |r| r.get(0))
                .optional()?;
            let text = format!("**{}**", line(&label));
            let reference = match newest {
                Some(node) => node.to_string(),
                None => thread::row(tx, agent_no, no)?.key,
            };
            let scope = Scope::Thread(no, label);
            let mut line = Tier1Line::new(Section::Now, text, Some(reference), scope, Score::default());
            line.open = open;
            line.left_out = Some("closed, or not worked in for 30 days".into());
            out.push(line);
        }
        Ok(out)
    }

    /// Returns the line of a loop. `places` caches the text of each scope, because thousands of loops may belong to a
    /// few threads.
    fn of_loop<'l>(&self, owed: &'l Owed, places: &mut HashMap<&'l Scope, String>) -> Tier1Line {
        let entry = &owed.entry;
        let place = places.entry(&owed.scope).or_insert_with_key(|scope| {
            let name = match scope {
                Scope::AgentWide => return String::new(),
                Scope::Thread(_, label) => label,
                Scope::Workspace(id) => project_name(id),
            };
            redact(&format!(" · {}", short(name, 40))).into_owned()
        });
        // Titles in the file table are already redacted.
        let due = self.due(entry);
        let due = if due.is_empty() { due } else { redact(&due).into_owned() };
        let score = urgency(entry, self.now, self.today);
        let text = format!("{}{place}{due}", line(&entry.title));
        Tier1Line::clean(Section::Commitments, text, Some(owed.id().to_owned()), owed.scope.clone(), score)
    }

    fn due(&self, entry: &Entry) -> String {
        entry.field("due").map(|said| format!(" · {}", due_said(said, self.today))).unwrap_or_default()
    }

    /// Returns lines for the newest open items of a thread that have no file, except those its own line shows.
    fn unfiled(
        &self,
        at: &AssistantHome,
        standing: &mut Standing,
        row: &ThreadRow,
        stand: &Stand,
        line: &str,
    ) -> Result<Vec<Tier1Line>> {
        let mut out = Vec::new();
        for item in stand.open_items.iter().rev() {
            let is_blocked = stand.distillate.blocked.iter().any(|b| b.text == item.text);
            // The line of a thread contains the beginning of the blocked item and of the next step.
            if line.contains(short(&item.text, 90).trim_end_matches('…')) {
                continue;
            }
            if let Some(found) = Unfiled::of(at, standing, item, (&row.key, &row.label), false)? {
                let old = standing.at(item)?.is_some_and(|said| self.latest - said > UNFILED_MS);
                if old && !found.counts_still(self.today) {
                    continue;
                }
                let scope = Scope::Thread(row.no, row.label.clone());
                out.push(self.of_unfiled(&found, scope, is_blocked));
            }
            if out.len() == UNFILED {
                break;
            }
        }
        Ok(out)
    }

    fn of_unfiled(&self, item: &Unfiled, scope: Scope, is_blocked: bool) -> Tier1Line {
        let mut score = Score::default();
        score.recent(item.since, self.now);
        let due = item.due.as_deref().and_then(|d| d.parse::<Date>().ok());
        score.due(due, self.today);
        let mut text = line(&item.title);
        if is_blocked {
            score.add(0.6, "blocked");
            text = format!("Blocked: {text}");
        }
        text.push_str(&format!(" · {}", short(&item.label, 40)));
        text.extend(due.map(|due| format!(" · {}", due_words(due, self.today))));
        Tier1Line::new(Section::Commitments, text, Some(item.id.clone()), scope, score)
    }

    /// Returns lines for accepted memories that hold everywhere, and for pinned ones.
    fn always(&self, tx: &Read, agent_no: AgentNo) -> Result<Vec<Tier1Line>> {
        let mut statement = tx.prepare_cached(
            "SELECT file_no FROM catalogue
             WHERE agent_no = ?1 AND kind = 'memory' AND state = 'active' AND coalesce(status, '') != 'superseded'
               AND (class IN ('preference', 'identity') OR coalesce(fields ->> 'pinned', 0) = 1)
             ORDER BY coalesce(fields ->> 'pinned', 0) = 1 DESC, fields ->> 'observed' DESC, file_no LIMIT ?2",
        )?;
        let numbers: Vec<FileNo> =
            statement.query_map(params![agent_no, ALWAYS], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut out = Vec::new();
        for no in numbers {
            let Some(entry) = file_table::numbered(tx, agent_no, no)? else { continue };
            let mut score = Score::default();
            score.recent(moment(entry.field("observed")), self.now);
            score.pinned(pinned(&entry));
            let said = entry.field("summary").filter(|s| !s.is_empty()).unwrap_or(&entry.title);
            let mut text = line(said);
            let mut scope = Scope::AgentWide;
            if let Some(id) = entry.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")) {
                text.push_str(&format!(" · {}", short(project_name(id), 40)));
                scope = Scope::Workspace(id.to_owned());
            }
            if let Some(class) = class_of(&entry).filter(|c| c.verification() != Verification::None) {
                text.push_str(&format!(" · {class}, {}", careful(class)));
            }
            let id = entry.item.clone().unwrap_or_else(|| entry.path.to_string());
            out.push(Tier1Line::new(Section::Always, text, Some(id), scope, score));
        }
        Ok(out)
    }
}

/// Returns the id that closes an open item mentioned in a line: ` [l:…]`.
fn id_in_brackets(item: &Item) -> String {
    let id = item.file.clone().or_else(|| open_loop::id_of(&item.text));
    id.map(|id| format!(" [{id}]")).unwrap_or_default()
}

fn careful(class: Class) -> &'static str {
    match class.verification() {
        Verification::MustReconfirm => "reconfirm before use",
        _ => "check before use",
    }
}

/// Returns the readable part of a workspace id.
fn project_name(id: &str) -> &str {
    id.rsplit_once("--").map_or(id, |(name, _)| name)
}

/// Returns the number of memories: one line for the file, and one line per project for that project's own sessions.
fn known_of_projects(tx: &Read, agent_no: AgentNo) -> Result<Vec<Tier1Line>> {
    let mut statement = tx.prepare_cached(
        "SELECT scope, class, count(*) FROM catalogue
         WHERE agent_no = ?1 AND kind = 'memory' AND state = 'active' AND coalesce(status, '') != 'superseded'
         GROUP BY scope, class",
    )?;
    let rows = statement.query_map([agent_no], |r| {
        Ok((r.get::<_, Option<String>>(0)?, r.get::<_, Option<String>>(1)?, r.get::<_, i64>(2)?))
    })?;
    let mut counts: BTreeMap<String, BTreeMap<Class, i64>> = BTreeMap::new();
    for row in rows {
        let (Some(scope), Some(class), n) = row? else { continue };
        if let (Some(id), Ok(class)) = (scope.strip_prefix("workspace/"), Class::parse(&class)) {
            *counts.entry(id.to_owned()).or_default().entry(class).or_default() += n;
        }
    }
    if counts.is_empty() {
        return Ok(Vec::new());
    }
    let mut all: BTreeMap<Class, i64> = BTreeMap::new();
    counts.values().flatten().for_each(|(class, n)| *all.entry(*class).or_default() += n);
    let score = || Score { value: 1.0, reasons: vec!["always told".into()] };
    let text = format!("{} in this agent", in_words(&all));
    let mut out =
        vec![Tier1Line::new(Section::Standing, text, Some("memory/MEMORY.md".into()), Scope::AgentWide, score())];
    for (id, of) in counts {
        let text = format!("{} of {}", in_words(&of), line(project_name(&id)));
        let reference = Some(format!("memory/workspace/{id}/MEMORY.md"));
        let mut line = Tier1Line::new(Section::Standing, text, reference, Scope::Workspace(id), score());
        line.left_out = Some(NOT_IN_FILE.into());
        out.push(line);
    }
    Ok(out)
}

/// Formats counts in words: `12 facts, 1 procedure`.
fn in_words(counts: &BTreeMap<Class, i64>) -> String {
    let some = counts.iter().filter(|(_, n)| **n > 0);
    some.map(|(class, n)| format!("{n} {class}{}", if *n == 1 { "" } else { "s" })).collect::<Vec<_>>().join(", ")
}

/// Returns lines for the newest months with any activity: how many sessions and threads, and the newest node of each.
fn further(at: &AssistantHome, tx: &Read, day: &Day) -> Result<Vec<Tier1Line>> {
    let mut out = Vec::new();
    let Some(this) = day.today.map(|d| d.first_of_month()) else { return Ok(out) };
    let start = |date: Date| date.to_zoned(at.zone.clone()).map(|z: Zoned| z.timestamp().as_millisecond()).ok();
    for back in 0..MONTHS_BACK {
        if out.len() == MONTHS {
            break;
        }
        let Ok(month) = this.checked_sub(back.months()) else { break };
        let Some((from, to)) = start(month).zip(month.checked_add(1.month()).ok().and_then(start)) else { break };
        let sessions: i64 = tx
            .prepare_cached("SELECT count(*) FROM sessions WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3")?
            .query_row(params![at.agent_no, from, to], |r| r.get(0))?;
        let threads: i64 = tx
            .prepare_cached(
                "SELECT count(DISTINCT thread_no) FROM nodes WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3",
            )?
            .query_row(params![at.agent_no, from, to], |r| r.get(0))?;
        let Some(node) = newest_of(tx, at.agent_no, from, to)? else { continue };
        let many = |n: i64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let name = month.strftime(if month.year() == this.year() { "%B" } else { "%B %Y" });
        let text = format!("{name}: {}, {}", many(sessions, "session"), many(threads, "thread"));
        let score = Score { value: 1.0, reasons: vec!["one of the newest months".into()] };
        out.push(Tier1Line::new(Section::Further, text, Some(node.to_string()), Scope::AgentWide, score));
    }
    Ok(out)
}

/// Returns the newest summary within a period; of those that end together, the most condensed.
fn newest_of(tx: &Read, agent_no: AgentNo, from: Millis, to: Millis) -> Result<Option<NodeId>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT node_no FROM nodes WHERE agent_no = ?1 AND last_at >= ?2 AND last_at < ?3
           AND kind != {CHUNK} AND abandoned = 0 AND length(key) > 0
         ORDER BY last_at DESC, depth DESC, node_no DESC LIMIT 8"
    ))?;
    let found: Vec<i64> =
        statement.query_map(params![agent_no, from, to], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    for no in found {
        // A node of an unfinished act is not visible yet.
        if lineage::find(tx, agent_no, NodeId(no))?.is_some() {
            return Ok(Some(NodeId(no)));
        }
    }
    Ok(None)
}

/// Returns Tier 1 as given to a session (R7.1): the text of the agent's own items and of the session's threads; of
/// every other thread only its label, the number of open items and an id; and the memory counts of the session's
/// project.
///
/// `own`: the session's thread and the threads linked to it, by number ([`crate::thread::canonical`]); `workspace`: the
/// id of its project. Dismissed lines stay out; lines of the session's own that did not fit into the file are included.
/// The text has at most the length of the file's block and is not fenced.
pub fn for_thread(lines: &[Tier1Line], own: &[ThreadNo], workspace: Option<&str>) -> String {
    let is_own = |scope: &Scope| match scope {
        Scope::AgentWide => true,
        Scope::Thread(no, _) => own.contains(no),
        Scope::Workspace(id) => workspace == Some(id.as_str()),
    };
    let mut left = TOKENS;
    let mut out = String::new();
    // The session's own lines come before the agent-wide ones, so that they are cut last.
    for section in [Section::Now, Section::Commitments, Section::Always, Section::Standing] {
        let mut of: Vec<&Tier1Line> = lines
            .iter()
            .filter(|l| l.section == section && is_own(&l.scope))
            .filter(|l| match section {
                Section::Standing => l.scope != Scope::AgentWide,
                _ => l.left_out.as_deref().is_none_or(|why| why == NO_ROOM),
            })
            .collect();
        of.sort_by(|a, b| {
            let wide = |l: &Tier1Line| l.scope == Scope::AgentWide;
            let (a_key, b_key) = (key(a), key(b));
            wide(a).cmp(&wide(b)).then(b.score.total_cmp(&a.score)).then_with(|| a_key.cmp(b_key))
        });
        // A long section leaves room for the following ones.
        let most = if section == Section::Standing { left } else { left * 2 / 3 };
        let (text, used) = within(section.title(), of.iter().map(|l| l.markdown()), most, section.see());
        out.push_str(&text);
        left -= used;
    }
    let mut others: BTreeMap<&Scope, (f64, usize, Option<&str>)> = BTreeMap::new();
    for line in lines.iter().filter(|l| !is_own(&l.scope)) {
        // A thread's line already counts the thread's open items, commitments included.
        let open = match (&line.scope, line.section) {
            (Scope::Thread(..), Section::Now) => line.open,
            (Scope::Thread(ThreadNo(0), _) | Scope::Workspace(_), Section::Commitments) => 1,
            _ => continue,
        };
        let other = others.entry(&line.scope).or_insert((line.score, 0, None));
        other.0 = other.0.max(line.score);
        other.1 += open;
        // The id of a loop is derived from its text and could reveal it; a node's id or a thread's key could not.
        other.2 = other.2.or(line.reference.as_deref().filter(|_| line.section == Section::Now));
    }
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_by(|a, b| (b.1.1 > 0).cmp(&(a.1.1 > 0)).then(b.1.0.total_cmp(&a.1.0)).then(a.0.cmp(b.0)));
    let more = others.len().saturating_sub(ELSEWHERE);
    let mut elsewhere: Vec<String> = others
        .into_iter()
        .take(ELSEWHERE)
        .map(|(scope, (_, open, node))| {
            let label = match scope {
                Scope::Thread(_, label) => label,
                Scope::Workspace(id) => project_name(id),
                Scope::AgentWide => "",
            };
            let open = if open == 0 { "nothing open".to_owned() } else { format!("{open} open") };
            let node = node.map(|n| format!(" · [{n}]")).unwrap_or_default();
            format!("- **{}**: {open}{node}\n", redact(&short(label, 60)))
        })
        .collect();
    if more > 0 {
        elsewhere.push(format!("- … and {more} more: `{}`\n", See::new("thread list")));
    }
    out.push_str(&within("Elsewhere", elsewhere.into_iter(), left, Section::Now.see()).0);
    out.trim_end().to_owned()
}

/// Returns a section within a token budget, and the tokens it uses; empty if it has no lines.
fn within(title: &str, lines: impl Iterator<Item = String>, budget: usize, see: &str) -> (String, usize) {
    let (mut body, mut used, mut left_out) = (String::new(), HEADING, 0);
    for line in lines {
        let cost = tokens(&line);
        if left_out > 0 || used + cost > budget {
            left_out += 1;
            continue;
        }
        used += cost;
        body.push_str(&line);
    }
    if left_out > 0 && used <= budget {
        body.push_str(&format!("- … and {left_out} more: `{}`\n", See::new(see)));
    }
    if body.is_empty() || used > budget {
        return (String::new(), 0);
    }
    (format!("## {title}\n{body}\n"), used)
}
