//! Handles a program's hook calls: one match on the moment. Storey 4 (R5.2, R7.3, R12.1).
//!
//! | moment | in the hook itself | left to the worker |
//! |---|---|---|
//! | session starts | gives the stable part: pages, memory, thread, handoff; reads a copy's store first | whatever is due |
//! | prompt | stores the prompt; gives what recall finds for it | – |
//! | turn ends | stores the answer and a little of the program's store | the rest of the store and the answer's turn after it, chunks, heads, index |
//! | before a compaction | stores the turns so far, announces the cut, prints the newest handoff | – |
//! | after a compaction | begins a new epoch, reads the program's summary; gives again what fell out of the context | node, handoff, file journal, heads |
//! | session ends | stores the end, which closes the session | the rest of the store, node, loops, pages |
//!
//! Each moment is one write transaction, whatever it stores and gives. The id of the call is stored in it, so that a
//! call which arrives twice is stored once and gets nothing the second time. Nothing here waits for a model, creates a
//! home, migrates, scans files or writes the index.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;

use crate::audience::{Audience, Hint, Keeps};
use crate::capture::Capture;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::event::{Beginning, Decoded, Fact, Moment, NewTurn, RecordClass, Role, TurnKind};
use crate::index::Index;
use crate::inject::epoch::{self, Cause};
use crate::inject::{self, Ask, Capabilities, ContextId, Event};
use crate::ledger::Write;
use crate::ledger::forgotten_names::ForgottenNames;
use crate::ledger::hook_calls;
use crate::ledger::job_queue::{self, JobKind};
use crate::lineage::undistilled;
use crate::program::{HookCall, Program};
use crate::recall::{self, Question, Recalled};
use crate::scope::SessionKey;
use crate::source::private::{mask_record, mask_text};
use crate::source::project::project_root;
use crate::text::similarity;
use crate::transcript::{self, workspaces};
use crate::tree::AssistantHome;

/// The result of a hook call.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct HookOutcome {
    /// The text for the program; empty if there is none.
    pub block: String,
    pub given: Option<ContextId>,
    /// Whether there is work for a worker.
    pub work: bool,
    /// Reasons why the result may be incomplete.
    pub degraded: Vec<String>,
}

/// Most tokens of a handoff given to a summariser, which also has the conversation.
const FOR_SUMMARISERS: usize = 600;

/// Largest difference between the time at which the original of a copy answered last, told in whole seconds, and the
/// time of its last stored turn: an answer is stored with the time it began, and a hook tells it when it has ended.
const ANSWERED_WITHIN: Millis = 3_000;

/// Handles one call. `index`: for recall; without an index nothing is recalled. `user_home`: the user's home directory,
/// which is never a project.
pub fn handle(
    at: &AssistantHome,
    capture: &mut Capture,
    index: Option<&mut Index>,
    program: &dyn Program,
    call: &HookCall,
    user_home: Option<&Path>,
) -> Result<HookOutcome> {
    if let Some(id) = call.id
        && at.read(|tx| hook_calls::is_known(tx, id))?
    {
        return Ok(HookOutcome::default());
    }
    let mut call = without_private(call);
    let forgotten = at.read(ForgottenNames::load)?;
    forgotten.mark(&mut call.event.session);
    let call = &call;
    let event = &call.event;
    let key = SessionKey::new(program.name(), &event.session);
    let hint = Hint { workspace: project_of(at, event.cwd.as_deref(), user_home)?, thread: None };
    let keeps = Keeps { words: call.injection.keeps_words, ..Keeps::default() };
    let cut = at.read(|tx| epoch::told_cut(tx, at.agent_no, &key))?;
    let audience = Audience { keeps, cut, ..Audience::at(at, &key, &hint)? };
    let store = event.store.as_deref().filter(|path| is_below_a_root(program, path));
    let untold = event.store.as_deref().map_or(event.without_store, |path| !is_expected(program, path));
    let without_store = store.is_none() && untold;
    let step = Step { at, program, call, key, hint, audience, store, without_store, told: Cell::new(Told::Not) };
    let done = step.take(capture, index);
    // Another process stored the call while this one was working on it.
    if step.told.get() == Told::ByOthers { Ok(HookOutcome::default()) } else { done }
}

/// Returns the call without text that a person marked private: such text is neither stored nor searched for.
fn without_private(call: &HookCall) -> HookCall {
    let mut call = call.clone();
    if let Cow::Owned(payload) = mask_record(&call.payload) {
        call.payload = payload;
    }
    if let Moment::Prompt { text, .. } | Moment::TurnEnd { answer: Some(text) } = &mut call.event.moment
        && let Cow::Owned(masked) = mask_text(text)
    {
        *text = masked;
    }
    call
}

/// Whether the call is stored, and by which process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Not,
    /// This process stored the call.
    Here,
    ByOthers,
}

/// Returns the meaning of a turn end's payload without the program's store: the answer in it, if it has one.
pub fn answer_told(call: &HookCall) -> Option<Decoded> {
    match &call.event.moment {
        Moment::TurnEnd { answer } => turn_of_answer(call, answer.as_deref(), false).map(|turn| told(call, turn)),
        _ => None,
    }
}

/// Makes the turn of an answer. `None` without the program's id of the run, unless there is no store: only the id can
/// show later that the store has the same turn.
fn turn_of_answer(call: &HookCall, answer: Option<&str>, without_store: bool) -> Option<NewTurn> {
    let run = call.event.run.clone();
    let text = answer.filter(|text| !text.trim().is_empty() && (run.is_some() || without_store))?;
    Some(NewTurn { run, ..NewTurn::new(Role::Assistant, TurnKind::Message, text) })
}

/// Makes the meaning of a payload with one turn.
fn told(call: &HookCall, turn: NewTurn) -> Decoded {
    let cwd = &call.event.cwd;
    let turn = NewTurn { at: Some(call.at), cwd: cwd.clone(), ..turn };
    let facts = cwd.iter().map(|cwd| Fact::Cwd(cwd.clone())).collect();
    Decoded { turns: vec![turn], facts, ..Decoded::of(RecordClass::Conversation) }
}

/// Returns the id of the project a folder belongs to; of a project with aliases, its main id.
fn project_of(at: &AssistantHome, cwd: Option<&str>, user_home: Option<&Path>) -> Result<Option<String>> {
    let Some(project) = cwd.and_then(|cwd| project_root(Path::new(cwd), user_home)) else { return Ok(None) };
    let id = project.workspace_id;
    at.read(|tx| Ok(Some(workspaces::canonical_workspace(tx, at.agent_no, &id)?.unwrap_or(id))))
}

/// Whether a path in a payload is below a folder where the program keeps its sessions (R14.3).
fn is_below_a_root(program: &dyn Program, path: &Path) -> bool {
    // A link in a program's folder may lead anywhere.
    if crate::source::find::is_a_file_of_its_own(path).is_err() {
        return false;
    }
    let Ok(path) = path.canonicalize() else { return false };
    let mut roots = program.roots().into_iter().filter_map(|root| root.canonicalize().ok());
    program.form(&path).is_some() && roots.any(|root| path.starts_with(root))
}

/// Whether a path in a payload is where the program keeps its sessions, so that the session will be read once the file
/// is there.
fn is_expected(program: &dyn Program, path: &Path) -> bool {
    program.form(path).is_some() && program.roots().into_iter().any(|root| path.starts_with(root))
}

struct Step<'s> {
    at: &'s AssistantHome<'s>,
    program: &'s dyn Program,
    call: &'s HookCall,
    key: SessionKey,
    /// The project of its working directory.
    hint: Hint,
    audience: Audience,
    /// The program's store of this session, if it may be read (R14.3).
    store: Option<&'s Path>,
    /// Whether no store will have the words of the call.
    without_store: bool,
    told: Cell<Told>,
}

impl Step<'_> {
    /// Handles the moment of the call.
    fn take(&self, capture: &mut Capture, index: Option<&mut Index>) -> Result<HookOutcome> {
        let event = &self.call.event;
        // A sub-agent's messages are not prompts and it is given nothing; its store is read like any other.
        if !event.lane.is_empty() {
            return match event.moment {
                Moment::TurnEnd { .. } | Moment::End => self.later(capture, "hook.subagent"),
                _ => Ok(HookOutcome::default()),
            };
        }
        match &event.moment {
            Moment::Start(Beginning::Startup) => self.begin(Event::Start),
            // The context may have been cut when no context could be given.
            // A copied session has turns of its original in its context. Its store says so, but may be written only
            // with its first prompt.
            Moment::Start(Beginning::Resume | Beginning::Fork) if self.audience.known.is_some() => self.go_on(),
            Moment::Start(beginning @ (Beginning::Resume | Beginning::Fork)) => {
                if self.store.is_some() {
                    self.write(capture, "hook.resumed", Plan::StoreThen(None), |tx| self.read_later(tx))?;
                } else if let (Beginning::Fork, Some(original)) = (beginning, self.original()?) {
                    self.write(capture, "hook.forked", Plan::CopyOf(original), |_| Ok(()))?;
                }
                self.go_on()
            }
            Moment::Start(Beginning::Clear) => self.begin(Event::Clear),
            Moment::Start(Beginning::Compact) => {
                // The program's own summary is in the context that begins now, so the store is read first.
                self.write(capture, "hook.compacted", Plan::StoreThen(None), |tx| {
                    epoch::cut(tx, &self.audience, Cause::Compact)?;
                    self.read_later(tx)
                })?;
                // A program may resume before it reports the cut.
                self.go_on()
            }
            Moment::Prompt { text, entry, first_chance } => {
                self.prompt(capture, index, text, entry.as_deref(), *first_chance)
            }
            Moment::TurnEnd { answer } => self.turn_end(capture, answer.as_deref()),
            Moment::Compacting { heard } => self.compacting(capture, *heard),
            Moment::Compacted => self.cut(capture, Cause::Compact, "hook.compacted"),
            Moment::Cleared => self.cut(capture, Cause::Clear, "hook.cleared"),
            Moment::End => self.end(capture),
        }
    }

    fn ask<'a>(&self, event: Event, prompt: Option<&'a str>) -> Ask<'a> {
        Ask {
            session: self.key.clone(),
            event,
            hint: self.hint.clone(),
            prompt,
            budget: None,
            can: Capabilities::of(self.call),
        }
    }

    /// Gives the items that fell out of the context; if they were given since, gives only new items.
    fn go_on(&self) -> Result<HookOutcome> {
        let cut =
            self.at.read(|tx| Ok(epoch::was_cut(tx, &self.audience)? && !epoch::was_given(tx, &self.audience)?))?;
        self.begin(if cut { Event::Compact } else { Event::Resume })
    }

    /// Returns the session that a new one is a copy of, if the program tells only when the original answered last: the
    /// one session of the program and the folder that answered then.
    fn original(&self) -> Result<Option<SessionKey>> {
        let (Some(silent_for), Some(cwd)) = (self.call.event.silent_for, &self.call.event.cwd) else { return Ok(None) };
        let answered = self.call.at - silent_for;
        let all = self.at.read(|tx| {
            transcript::recent::answered_at(
                tx,
                self.at.agent_no,
                cwd,
                (answered - ANSWERED_WITHIN, answered + ANSWERED_WITHIN),
            )
        })?;
        let mut all = all.into_iter().filter(|key| key.harness() == self.program.name() && *key != self.key);
        Ok(all.next().filter(|_| all.next().is_none()))
    }

    /// Gives the context for the beginning of a session.
    fn begin(&self, event: Event) -> Result<HookOutcome> {
        let ask = self.ask(event, None);
        if !self.call.gives {
            return Ok(HookOutcome::default());
        }
        let given = inject::give_with(self.at, &ask, Recalled::default(), |tx| self.claim(tx))?;
        let now = self.at.ledger.now();
        // A session that stops without an end is closed ten minutes later, by the next process that works.
        let due = self.at.read(|tx| Ok(job_queue::counts(tx, now)?.due + undistilled::counts(tx, now, None)?.0))? > 0;
        Ok(HookOutcome { block: given.block, given: given.id, work: due, degraded: given.degraded })
    }

    /// Stores the prompt and gives what recall finds for it; if the session has been given nothing yet, also the
    /// context for its beginning.
    fn prompt(
        &self,
        capture: &mut Capture,
        index: Option<&mut Index>,
        text: &str,
        entry: Option<&str>,
        first_chance: bool,
    ) -> Result<HookOutcome> {
        if !self.call.gives {
            if let Some(turn) = self.turn_of_prompt(text, entry) {
                self.write(capture, "hook.prompt", Plan::Turn(turn), |_| Ok(()))?;
            }
            return Ok(HookOutcome { work: true, ..HookOutcome::default() });
        }
        // The program may have ended before it reported the cut. If it stores no context of ours, nothing can be in its
        // context twice.
        if !self.call.injection.stores && self.at.read(|tx| epoch::is_announced(tx, &self.audience))? {
            // The call itself is not stored here but with the prompt.
            let cut = |tx: &mut Write| epoch::cut(tx, &self.audience, Cause::Compact);
            self.commit(capture, "hook.compacted", Plan::Nothing, cut)?;
        }
        let event = match first_chance && !self.at.read(|tx| epoch::was_given(tx, &self.audience))? {
            true => self.beginning()?,
            false => Event::Prompt,
        };
        let ask = self.ask(event, Some(text));
        let mut degraded = Vec::new();
        let recalled = match index.filter(|_| !text.trim().is_empty()) {
            Some(index) => {
                let question = Question { text, most: inject::budget::items(None), deep: false, prompt: true };
                match recall::recall(self.at, index, Some(&self.audience), &question) {
                    Ok(mut recalled) => {
                        // A turn that asks the same question is no answer.
                        recalled.items.retain(|item| !similarity::same_words(&item.text, text));
                        recalled
                    }
                    Err(e) => {
                        degraded.push(format!("nothing was recalled: {e}"));
                        Recalled::default()
                    }
                }
            }
            None => Recalled::default(),
        };
        let planned = inject::plan(self.at, &ask, recalled)?;
        let plan = self.turn_of_prompt(text, entry).map_or(Plan::Nothing, Plan::Turn);
        let given = self.write(capture, "hook.prompt", plan, |tx| planned.clone().record(tx, self.at, &ask))?;
        degraded.extend(given.degraded);
        Ok(HookOutcome { block: given.block, given: given.id, work: false, degraded })
    }

    /// Makes the turn of a prompt. `None` without the program's own id of the run, as only the id can show later that the
    /// store has the same turn: then the store's turn is kept, or this one if there is no store.
    fn turn_of_prompt(&self, text: &str, entry: Option<&str>) -> Option<NewTurn> {
        let run = self.call.event.run.clone();
        if text.trim().is_empty() || (run.is_none() && !self.without_store) {
            return None;
        }
        let entry = entry.map(str::to_owned);
        Some(NewTurn { run, entry, ..NewTurn::new(Role::User, TurnKind::Message, text) })
    }

    /// Returns the event that began the epoch of a program's first prompt.
    fn beginning(&self) -> Result<Event> {
        self.at.read(|tx| {
            Ok(match epoch::cause(tx, self.at.agent_no, &self.key)? {
                Some(Cause::Clear) => Event::Clear,
                _ if epoch::was_cut(tx, &self.audience)? => Event::Compact,
                _ if self.audience.known.is_some() => Event::Resume,
                _ => Event::Start,
            })
        })
    }

    /// Stores the available part of the turn, and leaves the rest to the worker.
    fn turn_end(&self, capture: &mut Capture, answer: Option<&str>) -> Result<HookOutcome> {
        let turn = turn_of_answer(self.call, answer, self.without_store);
        let told = turn.is_some();
        self.write(capture, "hook.turn_end", Plan::StoreThen(turn), |tx| self.queue_reading(tx, None, told))?;
        Ok(HookOutcome { work: true, ..HookOutcome::default() })
    }

    /// Stores the turns and gives the summariser the handoff.
    fn compacting(&self, capture: &mut Capture, heard: bool) -> Result<HookOutcome> {
        self.write(capture, "hook.compacting", Plan::StoreThen(None), |tx| {
            epoch::announce(tx, &self.audience)?;
            self.read_later(tx)
        })?;
        if !heard || !self.call.gives {
            return Ok(HookOutcome { work: true, ..HookOutcome::default() });
        }
        let ask = Ask { budget: Some(FOR_SUMMARISERS), ..self.ask(Event::Compact, None) };
        let told = inject::assemble(self.at, &ask, Recalled::default())?;
        Ok(HookOutcome { block: told.block, given: None, work: true, degraded: told.degraded })
    }

    fn cut(&self, capture: &mut Capture, cause: Cause, action: &'static str) -> Result<HookOutcome> {
        self.write(capture, action, Plan::Nothing, |tx| {
            epoch::cut(tx, &self.audience, cause)?;
            self.read_later(tx)
        })?;
        Ok(HookOutcome { work: true, ..HookOutcome::default() })
    }

    /// Stores the end. The store may have turns that are not read yet, so the worker stores it once more after reading.
    fn end(&self, capture: &mut Capture) -> Result<HookOutcome> {
        self.write(capture, "hook.session_end", Plan::Nothing, |tx| {
            if let Some(session_no) = transcript::end_told(tx, self.at.agent_no, &self.key, self.call.at, false)? {
                undistilled::mark(tx, &[session_no])?;
            }
            self.queue_reading(tx, Some(self.call.at), false)
        })?;
        Ok(HookOutcome { work: true, ..HookOutcome::default() })
    }

    /// Leaves everything to the worker.
    fn later(&self, capture: &mut Capture, action: &'static str) -> Result<HookOutcome> {
        self.write(capture, action, Plan::Nothing, |tx| self.read_later(tx))?;
        Ok(HookOutcome { work: true, ..HookOutcome::default() })
    }

    /// Plans the record of the payload, with the turn it contains.
    fn plan_payload(&self, capture: &mut Capture, turn: &NewTurn) -> Result<()> {
        let event = &self.call.event;
        let decoded = told(self.call, turn.clone());
        capture.hook_payload(self.program, &self.at.agent, &event.session, &self.call.payload, decoded)
    }

    /// Plans the record of the payload without a turn; [`Capture::told_answers`] makes the turn later.
    fn plan_record(&self, capture: &mut Capture) -> Result<()> {
        let decoded = Decoded::of(RecordClass::Meta);
        capture.hook_payload(self.program, &self.at.agent, &self.call.event.session, &self.call.payload, decoded)
    }

    /// Plans the record of the payload, with the fact that the session is a copy of another one.
    fn plan_copy(&self, capture: &mut Capture, original: &SessionKey) -> Result<()> {
        let event = &self.call.event;
        let cwd = event.cwd.iter().map(|cwd| Fact::Cwd(cwd.clone()));
        let facts = cwd.chain([Fact::ForkOf { native: original.native().to_owned() }]).collect();
        let decoded = Decoded { facts, ..Decoded::of(RecordClass::Meta) };
        capture.hook_payload(self.program, &self.at.agent, &event.session, &self.call.payload, decoded)
    }

    /// Plans the new part of the program's file, if it is small.
    fn little(&self, capture: &mut Capture) -> Result<bool> {
        match self.store {
            Some(path) if self.program.foreign().is_none() => capture.file_if_small(self.program, &self.at.agent, path),
            _ => Ok(false),
        }
    }

    /// Records in this transaction that the call is stored; an error if another process has stored it meanwhile.
    fn claim(&self, tx: &mut Write) -> Result<()> {
        if let (Some(id), Told::Not) = (self.call.id, self.told.get())
            && !hook_calls::store(tx, id)?
        {
            self.told.set(Told::ByOthers);
            return Err(Error::refused("another process has stored this call"));
        }
        Ok(())
    }

    /// Commits like [`Step::commit`], in a transaction that also stores the call's id.
    fn write<T>(
        &self,
        capture: &mut Capture,
        action: &'static str,
        plan: Plan,
        also: impl Fn(&mut Write) -> Result<T>,
    ) -> Result<T> {
        let out = self.commit(capture, action, plan, |tx| {
            self.claim(tx)?;
            also(tx)
        })?;
        self.told.set(Told::Here);
        Ok(out)
    }

    /// Commits the plan and the moment's own writes in one transaction. If another process is reading the store, the
    /// plan is made again without the store.
    fn commit<T>(
        &self,
        capture: &mut Capture,
        action: &'static str,
        plan: Plan,
        also: impl Fn(&mut Write) -> Result<T>,
    ) -> Result<T> {
        let mut may_read = true;
        loop {
            match &plan {
                Plan::Nothing => {}
                Plan::Turn(turn) => self.plan_payload(capture, turn)?,
                Plan::CopyOf(original) => self.plan_copy(capture, original)?,
                Plan::StoreThen(turn) => {
                    let read = may_read && self.little(capture)?;
                    match turn {
                        Some(turn) if read || self.store.is_none() => self.plan_payload(capture, turn)?,
                        // The answer must come after the part of the store that precedes it: the worker makes its turn
                        // once it has read that part. The record is stored now.
                        Some(_) => self.plan_record(capture)?,
                        None => {}
                    }
                }
            }
            if let Some(out) = capture.commit_with(action, Some(self.at.agent_no), &also)? {
                return Ok(out);
            }
            may_read = false;
        }
    }

    /// Queues a job that reads the program's store.
    fn read_later(&self, tx: &mut Write) -> Result<()> {
        self.queue_reading(tx, None, false)
    }

    /// Queues a job that reads the program's store; `ended`: the job then stores that the session ended at that time;
    /// `told`: the job then makes turns of the answers this hook reported.
    fn queue_reading(&self, tx: &mut Write, ended: Option<Millis>, told: bool) -> Result<()> {
        let mut payload = serde_json::json!({
            "harness": self.program.name(), "agent": self.at.agent.as_str(),
            "path": self.store.map(|p| p.to_string_lossy()),
        });
        if let Some(at) = ended {
            payload["ended"] = serde_json::json!({ "session": self.key.as_str(), "at": at });
        }
        if told {
            payload["told"] = serde_json::json!({
                "session": self.call.event.session, "hook": self.call.hook, "at": self.call.at,
            });
        }
        // Each call queues a job of its own: a running job may already have passed the newest records.
        let now = tx.now();
        let key = format!("{}/{}/{now}", self.program.name(), self.key.native());
        job_queue::enqueue(tx, JobKind::Capture, &key, &payload.to_string(), now).map(drop)
    }
}

/// Records that a moment stores.
enum Plan {
    Nothing,
    /// The turn of the payload.
    Turn(NewTurn),
    /// The payload, which begins a copy of this session.
    CopyOf(SessionKey),
    /// The new part of the program's store, then the turn of the payload.
    StoreThen(Option<NewTurn>),
}
