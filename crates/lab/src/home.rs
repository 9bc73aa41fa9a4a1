//! A throw-away home, opened by the engine's own rooms. The one place of the laboratory that puts them together: what
//! imports, indexes, searches or asks for a context does it through here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heirloom_embed::StaticTable;
use heirloom_engine::assistant::AssistantHome;
use heirloom_engine::capture::{Capture, Program, Totals};
use heirloom_engine::clock::Clock;
use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::{compaction, handoff};
use heirloom_engine::error::{Error, ErrorKind, Problem, Result};
use heirloom_engine::head::{self, Occasion};
use heirloom_engine::home::{Home, layout};
use heirloom_engine::index::{Embedder, Index};
use heirloom_engine::inject::{self, Ask, Capabilities, Event, Given};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::jobs::{self, JobKind};
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::recall::{self, Filter, Hint, Hit};
use heirloom_engine::scope::{AgentId, SessionKey, TurnId};
use heirloom_engine::transcript::read::{self, SessionFilter, SessionRow, Turn};
use heirloom_engine::worker;
use heirloom_harness::Form;
use jiff::tz::TimeZone;

use crate::sources::{Sources, user_home};

/// Who the audit says it was.
pub const ACTOR: &str = "lab";

/// How long the index waits for another process. There is none but the hooks that are measured.
const INDEX_BUSY: Duration = Duration::from_secs(5);

/// Turns of one import from which on the index is put in order at once, as `heirloom import` does.
const SETTLE_FROM: u64 = 20_000;

/// A home with one agent, made for a measurement. Days are those of UTC, so that a measurement is the same everywhere.
pub struct LabHome {
    home: Home,
    pub ledger: Ledger,
    agent: AgentId,
    embedder: Arc<dyn Embedder>,
}

/// What an import stored, and what it could not read.
pub struct Imported {
    pub totals: Totals,
    pub problems: Vec<Problem>,
}

impl LabHome {
    /// Makes the home, or opens the one that is there, with the embedding table of the product.
    pub fn create(root: &Path) -> Result<LabHome> {
        LabHome::create_with(root, AgentId::main(), Arc::new(StaticTable::built_in()))
    }

    /// [`LabHome::create`] for an agent and with a model of the caller's.
    pub fn create_with(root: &Path, agent: AgentId, embedder: Arc<dyn Embedder>) -> Result<LabHome> {
        let home = Home::create(root)?;
        for folder in layout::DIRECTORIES {
            home.create_dir_all(folder)?;
        }
        let path = home.file_path(&layout::RUNTIME_DB)?;
        if !path.exists() {
            // Made first, so that it and the logs beside it are private from the first byte on.
            let _existed = home.write_new(&layout::RUNTIME_DB, b"")?;
        }
        let backups = home.open_dir(&layout::BACKUPS)?.shown().to_owned();
        let ledger = Ledger::open(&path, &backups, Clock::System, Open::Full)?;
        ledger.write(Audit::new(ACTOR, "agent.add"), |tx| read::ensure_agent(tx, &agent).map(drop))?;
        Ok(LabHome { home, ledger, agent, embedder })
    }

    /// The assistant home of the agent, furnished where there is none.
    pub fn assistant(&self) -> Result<AssistantHome<'_>> {
        let missing = || Error::not_found("the agent of the made-up home is not in its ledger");
        let agent_no = self.ledger.read(|tx| read::agent_no(tx, &self.agent))?.ok_or_else(missing)?;
        AssistantHome::create(&self.home, &self.ledger, &self.agent, agent_no, ACTOR, TimeZone::UTC)
    }

    /// The index with everything in it that was stored: words, vectors, and the files of the assistant home.
    pub fn index(&self) -> Result<Index> {
        let mut index = self.open_index()?;
        index.catch_up(&self.ledger, None, &mut |_| {})?;
        index.fill_vectors(&self.ledger, None, &mut |_| {})?;
        index.catch_up_files(&self.assistant()?, None)?;
        Ok(index)
    }

    fn open_index(&self) -> Result<Index> {
        let path = self.home.file_path(&layout::INDEX_DB)?;
        Index::open(&path, self.ledger.id(), INDEX_BUSY)?.0.with_embedder(self.embedder.clone())
    }

    /// Reads the files into ledger and index; nothing is distilled yet.
    pub fn store(&self, sources: &Sources) -> Result<Imported> {
        let mut index = self.open_index()?;
        let scratch = self.home.open_dir(&layout::SCRATCH)?.shown().to_owned();
        let user_home = user_home();
        let mut capture = Capture::new(&self.ledger, Some(&mut index), ACTOR, &scratch, user_home.as_deref())?;
        for (harness, form, path) in &sources.files {
            let spec = harness.spec();
            let program = Program {
                name: spec.name,
                global_ids: spec.global_ids,
                place: &|path| harness.place(path),
                decoder: &|placement, state| harness.decoder(placement, state),
                foreign: harness.foreign(),
            };
            match form {
                Form::Lines => capture.file(&program, &self.agent, path)?,
                Form::Foreign => capture.database(&program, &self.agent, path)?,
            }
        }
        let (totals, problems) = capture.finish()?;
        index.catch_up(&self.ledger, None, &mut |_| {})?;
        if totals.turns > SETTLE_FROM {
            index.settle()?;
        }
        if totals.turns > 0 {
            self.ledger.write(Audit::new(ACTOR, "job.enqueue"), |tx| {
                let due = tx.now();
                jobs::enqueue(tx, JobKind::CloseIdle, "all", "{}", due).map(drop)
            })?;
            worker::drain(&self.ledger, &mut index, ACTOR, &mut |_| Ok(()))?;
        }
        Ok(Imported { totals, problems })
    }

    /// All that `heirloom import` does: stores, distils, indexes what came of it, renders the pages.
    pub fn import(&self, sources: &Sources) -> Result<Imported> {
        let mut done = self.store(sources)?;
        let at = self.assistant()?;
        done.problems.extend(worker::distil(&at, Limits::default(), None, &mut |_| {})?.problems);
        self.open_index()?.catch_up(&self.ledger, None, &mut |_| {})?;
        head::refresh(&at, Occasion::Look)?;
        Ok(done)
    }

    /// The turns for a question, best first, as `heirloom search` finds them.
    pub fn search(&self, index: &mut Index, question: &str, filter: &Filter) -> Result<Vec<Hit>> {
        let query = recall::understand(&self.ledger, &self.agent, question, &TimeZone::UTC)?;
        Ok(recall::search(&self.ledger, index, &self.agent, &query, filter)?.hits)
    }

    /// [`LabHome::search`] where a question in which nothing can be looked for finds nothing.
    pub fn ask(&self, index: &mut Index, question: &str, filter: &Filter) -> Result<Vec<Hit>> {
        match self.search(index, question, filter) {
            Err(e) if e.kind() == ErrorKind::Usage => Ok(Vec::new()),
            found => found,
        }
    }

    /// What a new session of a project is given with a prompt, within a budget of tokens.
    pub fn context(&self, index: &mut Index, workspace: Option<String>, prompt: &str, budget: usize) -> Result<Given> {
        let at = self.assistant()?;
        let ask = Ask {
            session: SessionKey::new("lab", "a-week-later"),
            event: Event::Prompt,
            hint: Hint { workspace, thread: None },
            prompt: Some(prompt),
            budget: Some(budget),
            can: Capabilities {
                program: "lab".into(),
                channel: "stdout".into(),
                stores: true,
                keeps_tail: true,
                characters: usize::MAX,
            },
        };
        let place = inject::place_of(&at, &ask.session, &ask.hint)?;
        let most = inject::budget::items(Event::Prompt, Some(budget));
        let asked = recall::Question { text: prompt, most, deep: false };
        inject::assemble(&at, &ask, recall::recall(&at, index, Some(&place), &asked)?)
    }

    /// The sessions of the agent.
    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        let agent_no = self.assistant()?.agent_no;
        self.ledger.read(|tx| read::sessions(tx, agent_no, &SessionFilter::default()))
    }

    /// The turns of a session in order; of its main line only, or of all lanes.
    pub fn turns(&self, session: &SessionRow, main_only: bool) -> Result<Vec<Turn>> {
        let mut turns = Vec::new();
        self.ledger.read(|tx| {
            read::session_turns(tx, &Opener::default(), session, main_only.then_some(""), |turn| {
                turns.push(turn);
                Ok(())
            })
        })?;
        Ok(turns)
    }

    /// What a compaction of the session up to `last` would be made of, and the handoff rendered from it. Nothing is
    /// stored.
    pub fn compacted(&self, session: &SessionRow, last: TurnId) -> Result<(Distillate, String)> {
        let (at, limits) = (self.assistant()?, Limits::default());
        let distillate = compaction::preview(&Pass::new(&at, limits), session.no, last)?;
        let text = handoff::render(&distillate, limits.handoff_tokens);
        Ok((distillate, text))
    }
}

/// The files whose sizes tell what a home takes on disk: the ledger and the index.
pub fn databases(root: &Path) -> [std::path::PathBuf; 2] {
    [layout::RUNTIME_DB, layout::INDEX_DB].map(|path| root.join(path.as_str()))
}
