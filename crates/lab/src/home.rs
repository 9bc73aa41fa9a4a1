//! A temporary home, opened through the engine's door. All imports, indexing, searches and contexts of the laboratory
//! go through this module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_embed::StaticTable;
use heirloom_engine::capture::Totals;
use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::{compaction, handoff};
use heirloom_engine::engine::{Embeddings, Engine, How, Options, Settings, Source};
use heirloom_engine::error::{ErrorKind, Problem, Result};
use heirloom_engine::home::layout;
use heirloom_engine::index::{Embedder, Index};
use heirloom_engine::inject::{self, Ask, Capabilities, Event, Given};
use heirloom_engine::instance::Lent;
use heirloom_engine::ledger::Ledger;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::recall::{self, Filter, Hint, Hit};
use heirloom_engine::scope::{AgentId, SessionKey, TurnId};
use heirloom_engine::transcript::read::{self, SessionFilter, SessionRow, Turn};
use heirloom_engine::tree::AssistantHome;
use heirloom_harness::{Form, Harness, HostPaths};
use jiff::tz::TimeZone;

use crate::sources::{Sources, user_home};

pub use heirloom_engine::report::import::Imported;

/// Actor name in the audit.
pub const ACTOR: &str = "lab";

/// A home with one agent, made for a measurement. Its days are those of UTC, so that a measurement gives the same
/// result everywhere.
pub struct LabHome {
    engine: Engine,
}

impl LabHome {
    /// Makes the home, or opens an existing one, with the embedding table of the product.
    pub fn create(root: &Path) -> Result<LabHome> {
        LabHome::create_with(root, AgentId::main(), Arc::new(StaticTable::built_in()))
    }

    /// Does what [`LabHome::create`] does, for a given agent and embedding model.
    pub fn create_with(root: &Path, agent: AgentId, embedder: Arc<dyn Embedder>) -> Result<LabHome> {
        let options = Options {
            programs: heirloom_harness::on_machine(&HostPaths::default()),
            settings: Arc::new(move |_| {
                let embedder = embedder.clone();
                Ok(Settings {
                    agent: agent.clone(),
                    user_home: user_home(),
                    embeddings: Embeddings::load("given", true, move || Ok(embedder.clone())),
                    ..Settings::default()
                })
            }),
            ..Options::default()
        };
        let engine = Engine::open(root, How::Create, options)?.acting_as(ACTOR);
        engine.add_agent(engine.agent())?;
        Ok(LabHome { engine })
    }

    /// Returns the ledger, for measurements of single steps.
    pub fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    /// Returns the assistant home of the agent; makes it if there is none.
    pub fn assistant(&self) -> Result<AssistantHome<'_>> {
        self.engine.assistant()
    }

    /// Returns the index after bringing it up to date: words, vectors, and the files of the assistant home.
    pub fn index(&self) -> Result<Lent<'_>> {
        let mut index = self.engine.index()?;
        index.catch_up(self.ledger(), None, &mut |_| {})?;
        index.fill_vectors(self.ledger(), None, &mut |_| {})?;
        index.catch_up_files(&self.assistant()?, None)?;
        Ok(index)
    }

    /// Reads the files into ledger and index without distilling them.
    pub fn store(&self, sources: &Sources) -> Result<(Totals, Vec<Problem>)> {
        self.engine.store(&named(sources))
    }

    /// Does everything `heirloom import` does: stores, distils, indexes the result, and renders the pages.
    pub fn import(&self, sources: &Sources) -> Result<Imported> {
        self.engine.import(&named(sources))
    }

    /// Returns the turns for a question, best first, as `heirloom search` finds them.
    pub fn search(&self, index: &mut Index, question: &str, filter: &Filter) -> Result<Vec<Hit>> {
        let query = recall::understand(self.ledger(), self.engine.agent(), question, &TimeZone::UTC)?;
        Ok(recall::search(self.ledger(), index, self.engine.agent(), &query, filter)?.hits)
    }

    /// Searches as [`LabHome::search`] does; a question without searchable words finds nothing.
    pub fn ask(&self, index: &mut Index, question: &str, filter: &Filter) -> Result<Vec<Hit>> {
        match self.search(index, question, filter) {
            Err(e) if e.kind() == ErrorKind::Usage => Ok(Vec::new()),
            found => found,
        }
    }

    /// Returns the context that a new session of a project is given with a prompt, within a budget of tokens.
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
                keeps_words: false,
                characters: usize::MAX,
            },
        };
        let audience = recall::Audience::at(&at, &ask.session, &ask.hint)?;
        let most = inject::budget::items(Some(budget));
        let asked = recall::Question { text: prompt, most, deep: false, prompt: true };
        inject::assemble(&at, &ask, recall::recall(&at, index, Some(&audience), &asked)?)
    }

    /// Returns the sessions of the agent.
    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        let agent_no = self.assistant()?.agent_no;
        self.engine.read(|tx| read::sessions(tx, agent_no, &SessionFilter::default()))
    }

    /// Returns the turns of a session in order; of its main line only, or of all lanes.
    pub fn turns(&self, session: &SessionRow, main_only: bool) -> Result<Vec<Turn>> {
        let mut turns = Vec::new();
        self.engine.read(|tx| {
            read::session_turns(tx, &Opener::default(), session, main_only.then_some(""), |turn| {
                turns.push(turn);
                Ok(())
            })
        })?;
        Ok(turns)
    }

    /// Returns the distillate a compaction of the session up to `last` would store, and the handoff rendered from it.
    /// Nothing is stored.
    pub fn compacted(&self, session: &SessionRow, last: TurnId) -> Result<(Distillate, String)> {
        let (at, limits) = (self.assistant()?, Limits::default());
        let distillate = compaction::preview(&Pass::new(&at, limits), session.no, last)?;
        let text = handoff::render(&distillate, limits.handoff_tokens);
        Ok((distillate, text))
    }
}

fn named(sources: &Sources) -> Vec<Source> {
    let source = |(harness, form, path): &(&'static dyn Harness, Form, PathBuf)| Source {
        program: harness.spec().name,
        form: *form,
        path: path.clone(),
    };
    sources.files.iter().map(source).collect()
}

/// Returns the files whose sizes make up a home on disk: the ledger and the index.
pub fn databases(root: &Path) -> [std::path::PathBuf; 2] {
    [layout::RUNTIME_DB, layout::INDEX_DB].map(|path| root.join(path.as_str()))
}
