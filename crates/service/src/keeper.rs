//! The keeper: the one thread that reads the programs' stores and sees to what falls due.
//!
//! It sleeps until a hint arrives, until something falls due, or until the next look at everything (ten minutes). After
//! a hint it waits a fifth of a second, so that many hints become one round. A round does what `heirloom import` and
//! `heirloom work` do, so an event that is missed costs time and never loses a line. Due work, which may take minutes
//! when thousands of sessions end at once, runs on a thread of its own, one pass at a time, so that a new line is found
//! within two seconds meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heirloom_engine::clock::Millis;
use heirloom_engine::engine::{Engine, Source};
use heirloom_engine::error::Result;
use heirloom_engine::home::layout;
use heirloom_engine::program::{Form, Program};
use heirloom_engine::report::upkeep::Worked;
use heirloom_engine::scope::AgentId;
use heirloom_engine::source::find::find;
use heirloom_engine::transcript::workspaces;
use tokio::sync::{mpsc, watch as tokio_watch};

use crate::hints::{Hints, Seen};
use crate::looks::Looks;
use crate::running::{Running, Watching};
use crate::serve::{Chore, Order, Say};
use crate::settings::{self, InUse};
use crate::upgrade::Executable;
use crate::watch::{Root, Watch, place, roots};

/// Time in which further hints are gathered.
const GATHER: Duration = Duration::from_millis(200);

/// Interval between two looks at everything.
const TICK: Duration = Duration::from_secs(600);

/// Time without work and requests after which memory held for speed is released.
const REST: Duration = Duration::from_secs(60);

/// Pause before work that could not be done is tried again.
const VAIN: Duration = Duration::from_secs(60);

/// Pause before a spool that could not be emptied is looked at again; `SPOOL_LATER` if nothing in it can be stored now.
const SPOOL_AGAIN: Duration = Duration::from_secs(5);
const SPOOL_LATER: Duration = Duration::from_secs(300);

/// Pause before the first chore, so that whatever was written while no service ran is read first.
const BEFORE_CHORES: Duration = Duration::from_secs(5);

/// Interval at which the keeper checks whether a chore has ended and when the next one is due.
const CHORES_AGAIN: Duration = Duration::from_secs(60);

/// Pause between two passes over due work.
const WORK_PAUSE: Duration = Duration::from_secs(1);

/// Maximum pause after a round with work, so that a program that writes without end does not keep a core busy.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The keeper with everything it needs.
pub struct Keeper {
    pub engine: Engine,
    pub programs: Vec<Arc<dyn Program>>,
    pub hints: Arc<Hints>,
    /// Newest row number of the audit.
    pub changes: tokio_watch::Sender<u64>,
    pub orders: mpsc::UnboundedSender<Order>,
    pub running: Running,
    /// Look for changes instead of watching.
    pub poll: bool,
    pub executable: Option<Arc<Executable>>,
    pub say: Say,
    pub settings: Arc<InUse>,
    pub chore: Option<Chore>,
}

/// State the keeper holds between two rounds.
struct Round {
    watch: Option<Watch>,
    looks: Option<Looks>,
    /// Contents of config.toml when it was looked at last.
    settings: Option<Vec<u8>>,
    tick: Instant,
    /// Time at which work falls due. `None` while a pass runs, and if nothing is going to be due.
    work: Option<Instant>,
    /// The running pass over due work: the channel of its outcome, and its thread.
    pass: Option<(Receiver<Result<Worked>>, JoinHandle<()>)>,
    /// Time at which the spool is looked at again.
    spool: Option<Instant>,
    /// Time at which the chore is looked at again; `doing` is the thread that runs it.
    chore: Option<Instant>,
    doing: Option<JoinHandle<()>>,
    /// Earliest time for the next pass over due work.
    not_before: Instant,
    rest: Option<Instant>,
    requests: u64,
    day: String,
    said: Option<String>,
    /// Device and inode of the home's folder.
    home: Option<(u64, u64)>,
}

impl Keeper {
    /// Runs rounds until the process ends.
    pub fn keep(mut self) {
        let now = Instant::now();
        let mut round = Round {
            watch: None,
            looks: None,
            settings: self.settings.text().cloned(),
            tick: now + TICK,
            work: Some(now),
            pass: None,
            spool: None,
            chore: self.chore.is_some().then_some(now + BEFORE_CHORES),
            doing: None,
            not_before: now,
            rest: Some(now + REST),
            requests: 0,
            day: self.day(),
            said: None,
            home: place(self.engine.home().root()),
        };
        self.begin_watching(&mut round);
        // The home may have been moved, and the settings changed, before they were watched.
        self.hints.leave(|seen| (seen.all, seen.spool, seen.places, seen.settings) = (true, true, true, true));
        loop {
            let times = [
                Some(round.tick),
                round.work,
                round.spool,
                round.chore,
                round.rest,
                round.looks.as_ref().map(Looks::next),
            ];
            let until = times.into_iter().flatten().min().unwrap_or(round.tick);
            let mut seen = self.hints.wait(until);
            if !seen.is_empty() && !seen.stop {
                std::thread::sleep(GATHER);
                seen.add(self.hints.take());
            }
            if seen.stop {
                if let Some((_, thread)) = round.pass {
                    let _ = thread.join();
                }
                return;
            }
            let began = Instant::now();
            if self.round(&mut round, seen) {
                std::thread::sleep((began.elapsed() * 2).min(LONGEST_PAUSE));
            }
        }
    }

    /// Runs one round. Returns whether anything was read or done.
    fn round(&mut self, round: &mut Round, mut seen: Seen) -> bool {
        if let Some(looks) = &mut round.looks {
            looks.look(&mut seen);
        }
        let now = Instant::now();
        if now >= round.tick {
            round.tick = now + TICK;
            (seen.all, seen.places, seen.settings) = (true, true, true);
            // A new build would read the settings and end if they make no sense, so it waits for better ones.
            if self.executable.as_ref().is_some_and(|ours| ours.was_replaced())
                && self.settings.wrong(self.engine.home()).is_none()
            {
                self.order(Order::Replace("a new build is in our place"));
            }
            self.begin_day(round);
        }
        if seen.places {
            let root = self.engine.home().root();
            if place(root) != round.home || !root.join(layout::RUNTIME_DB.as_str()).exists() {
                self.order(Order::HomeGone);
                return false;
            }
            seen.all |= self.look_for_roots(round);
        }
        if seen.settings {
            self.look_at_settings(round);
        }
        let mut did = false;
        if seen.spool || round.spool.is_some_and(|at| at <= now) {
            did |= self.take_spool(round);
        }
        if seen.all || !seen.files.is_empty() {
            did = true;
            let sources = if seen.all { self.everything(round) } else { self.named(seen.files.iter()) };
            self.read(round, &sources);
        }
        self.tell();
        let is_due = round.work.is_some_and(|at| at <= now);
        if did || is_due || seen.ledger || seen.spool || seen.worked {
            did |= self.work(round);
            self.tell();
        }
        if round.chore.is_some_and(|at| at <= now) {
            self.chore(round);
        }
        self.rest(round, did || seen.ledger || seen.asked || round.pass.is_some());
        did
    }

    /// Stores the calls that hooks left in the spool. Calls that cannot be stored now, or are still being written, are
    /// tried again.
    fn take_spool(&self, round: &mut Round) -> bool {
        let taken = self.engine.take_spool();
        let failed = taken.is_err();
        let stored = self.tried(round, taken).unwrap_or(0);
        let folder = self.engine.home().root().join(layout::SPOOL.as_str());
        let left = std::fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok);
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        let is_unfinished = left.iter().any(|name| name.as_encoded_bytes().starts_with(b"."));
        let pause = if failed || stored > 0 || is_unfinished { SPOOL_AGAIN } else { SPOOL_LATER };
        round.spool = (!left.is_empty()).then(|| Instant::now() + pause);
        stored > 0
    }

    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Begins again with changed settings. If they make no sense, the process keeps those it has, and says why.
    fn look_at_settings(&mut self, round: &mut Round) {
        let home = self.engine.home();
        let settings = settings::text(home);
        if settings == round.settings {
            return;
        }
        let wrong = self.settings.wrong(home);
        if wrong.is_none() && !self.settings.are_of(&settings) {
            self.order(Order::Replace("config.toml has changed"));
        }
        round.settings = settings;
        let old_settings = wrong.map(|wrong| format!("config.toml was changed and is not used: {wrong}"));
        if self.running.old_settings != old_settings {
            (self.say)(old_settings.as_deref().unwrap_or("config.toml makes sense again"));
            self.running.old_settings = old_settings;
            let said = self.running.write(self.engine.home());
            self.tried(round, said);
        }
    }

    fn day(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.engine.now()).unwrap_or_default();
        now.to_zoned(self.engine.zone()).date().to_string()
    }

    /// At the beginning of a day, looks at every agent's files: pages that show days change, and memories grow stale.
    fn begin_day(&mut self, round: &mut Round) {
        let day = self.day();
        if day == round.day {
            return;
        }
        round.day = day;
        let agents = self.tried(round, self.engine.read(workspaces::agents)).unwrap_or_default();
        for agent in agents.iter().filter_map(|row| AgentId::parse(&row.agent).ok()) {
            let looked = self.engine.for_agent(agent).look().map(drop);
            self.tried(round, looked);
        }
        round.work = Some(Instant::now());
    }

    fn begin_watching(&mut self, round: &mut Round) {
        let home = self.engine.home().root().to_owned();
        let roots = roots(&self.programs);
        let far =
            roots.iter().find_map(|root| Some((&root.path, heirloom_engine::home::network_file_system(&root.path)?)));
        let refused = match (self.poll, far) {
            (true, _) => Some("asked for with --poll".to_owned()),
            (_, Some((path, name))) => Some(format!("{} is on a network file system ({name})", path.display())),
            _ => match Watch::begin(&home, roots.clone(), Arc::clone(&self.hints)) {
                Ok(watch) => {
                    round.watch = Some(watch);
                    None
                }
                Err(why) => Some(why),
            },
        };
        self.watching(round, refused, &roots);
    }

    /// Polls for changes if `refused` says why they cannot be watched, and reports what is watched.
    fn watching(&mut self, round: &mut Round, refused: Option<String>, roots: &[Root]) {
        if let Some(why) = &refused {
            (self.say)(&format!("looks for changes every two seconds: {why}"));
            round.watch = None;
            round.looks = Some(Looks::begin(self.engine.home().root()));
        }
        let there = roots.iter().map(|root| root.path.clone()).filter(|path| path.is_dir()).collect();
        let watching = Watching { by_events: refused.is_none(), why: refused, roots: there };
        if self.running.watching != watching {
            self.running.watching = watching;
            let said = self.running.write(self.engine.home());
            self.tried(round, said);
        }
    }

    /// Watches programs' folders that have been created or replaced. Returns whether there are any.
    fn look_for_roots(&mut self, round: &mut Round) -> bool {
        let before = self.running.watching.roots.clone();
        let roots = roots(&self.programs);
        let mut refused = self.running.watching.why.clone();
        let mut is_new = false;
        if let Some(watch) = &mut round.watch {
            let looked = watch.look_for_folders();
            (is_new, refused) = (looked == Ok(true), looked.err());
        }
        if refused.is_none() || round.looks.is_none() {
            self.watching(round, refused, &roots);
        }
        is_new || self.running.watching.roots.iter().any(|root| !before.contains(root))
    }

    /// Returns every store of every program.
    fn everything(&mut self, round: &mut Round) -> Vec<Source> {
        let mut sources = Vec::new();
        for program in &self.programs {
            sources.extend(self.engine.stores_of(program.as_ref()).0);
        }
        if let Some(looks) = &mut round.looks {
            looks.stores(sources.iter().map(|source| source.path.as_path()));
        }
        sources
    }

    /// Returns the stores that hints named, and the stores in folders they named.
    fn named<'p>(&self, paths: impl Iterator<Item = &'p PathBuf>) -> Vec<Source> {
        let roots = roots(&self.programs);
        let mut sources = Vec::new();
        for path in paths {
            let Some(root) = roots.iter().find(|root| path.starts_with(&root.path)) else { continue };
            let source = |path: PathBuf, form: Form| Source { program: root.program.name(), form, path };
            if path.is_dir() {
                let (files, _) = find(path, &|path: &Path| root.program.form(path).is_some());
                sources
                    .extend(files.into_iter().filter_map(|file| Some(source(file.clone(), root.program.form(&file)?))));
            } else if let Some(form) = root.program.form(path)
                && path.exists()
            {
                sources.push(source(path.clone(), form));
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        sources.dedup();
        sources
    }

    /// Reads what is new in these stores into ledger and index, so that searches find it.
    fn read(&mut self, round: &mut Round, sources: &[Source]) {
        if sources.is_empty() {
            return;
        }
        let read = self.engine.store(sources);
        let Some((_, problems)) = self.tried(round, read) else { return };
        for problem in problems.iter().take(3) {
            self.tell_of(round, problem.to_string());
        }
    }

    /// Takes the outcome of a pass that has ended, begins one if work is due, and otherwise computes when work falls due
    /// next. Returns whether the pass that ended did anything.
    fn work(&self, round: &mut Round) -> bool {
        let mut did = false;
        if let Some((outcome, _)) = &round.pass {
            let worked = match outcome.try_recv() {
                Err(TryRecvError::Empty) => return false,
                Ok(worked) => self.tried(round, worked),
                Err(TryRecvError::Disconnected) => None,
            };
            round.pass = None;
            for problem in worked.iter().flat_map(|worked| &worked.problems).take(3) {
                self.tell_of(round, problem.to_string());
            }
            did = worked.is_some_and(|worked| worked.done > 0);
            round.not_before = Instant::now() + if did { WORK_PAUSE } else { VAIN };
        }
        if self.engine.due().unwrap_or(0) > 0 {
            match round.not_before {
                later if Instant::now() < later => round.work = Some(later),
                _ => self.begin_pass(round),
            }
            return did;
        }
        let next = self.engine.next_due().ok().flatten();
        round.work = next.map(|at| {
            let pause = u64::try_from(at - self.engine.now()).unwrap_or(0) + 50;
            // The system clock may be set meanwhile, so the pause is limited.
            Instant::now() + Duration::from_millis(pause).min(TICK)
        });
        did
    }

    /// Begins a pass over due work on a thread of its own, which leaves a hint when it ends.
    fn begin_pass(&self, round: &mut Round) {
        let (send, outcome) = sync_channel(1);
        let (engine, hints) = (self.engine.clone(), Arc::clone(&self.hints));
        let thread = std::thread::Builder::new().name("work".into()).spawn(move || {
            let _ = send.send(engine.work());
            hints.leave(|seen| seen.worked = true);
        });
        match thread {
            Ok(thread) => (round.work, round.pass) = (None, Some((outcome, thread))),
            Err(_) => round.work = Some(Instant::now() + VAIN),
        }
    }

    /// Starts the chore on its own thread if it is due, and sets the time to look at it again.
    fn chore(&self, round: &mut Round) {
        let Some(chore) = &self.chore else { return };
        round.chore = Some(Instant::now() + CHORES_AGAIN);
        if round.doing.as_ref().is_some_and(|doing| !doing.is_finished()) {
            return;
        }
        let pause = (chore.due)(&self.engine).map_or(Millis::MAX, |due| due.saturating_sub(self.engine.now()));
        if pause > 0 {
            let pause = Duration::from_millis(u64::try_from(pause).unwrap_or(0) + 50);
            // The clock or the settings may change meanwhile, so the pause is limited.
            round.chore = Some(Instant::now() + pause.min(TICK));
            return;
        }
        let (chore, engine, say) = (chore.clone(), self.engine.clone(), Arc::clone(&self.say));
        let doing = std::thread::Builder::new().name("chore".into()).spawn(move || match (chore.run)(&engine) {
            Ok(what) => what.iter().for_each(|what| say(what)),
            Err(e) => say(&e.to_string()),
        });
        round.doing = doing.ok();
    }

    /// Releases memory held for speed, one minute after the last activity.
    fn rest(&self, round: &mut Round, happened: bool) {
        let now = Instant::now();
        let requests = self.hints.requests();
        if happened || requests != round.requests {
            round.requests = requests;
            round.rest = Some(now + REST);
        } else if round.rest.is_some_and(|at| at <= now) {
            round.rest = None;
            self.engine.rest();
            self.hints.rests();
        }
    }

    /// Publishes the newest row number of the audit.
    fn tell(&self) {
        let newest = self.engine.read(heirloom_engine::ledger::audit::newest);
        if let Ok(newest) = newest {
            self.changes.send_if_modified(|known| std::mem::replace(known, newest) != newest);
        }
    }

    /// Returns the value; reports an error once.
    fn tried<T>(&self, round: &mut Round, outcome: Result<T>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(e) => {
                self.tell_of(round, e.to_string());
                None
            }
        }
    }

    fn tell_of(&self, round: &mut Round, what: String) {
        if round.said.as_ref() != Some(&what) {
            (self.say)(&what);
            round.said = Some(what);
        }
    }
}
