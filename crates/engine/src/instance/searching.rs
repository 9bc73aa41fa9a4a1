//! Search asked for by a person or program (R10.9): files and turns, in an index that was just brought up to date.

use std::time::{Duration, Instant};

use super::Instance;
use super::listener::Notice;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Role;
use crate::lineage::undistilled;
use crate::next_step::See;
use crate::recall::{self, FileFilter, FilesFound, Filter, Query, Searched};
use crate::report::hits::{FileHitReport, TurnHit};
use crate::report::search::SearchReport;
use crate::scope::{AgentId, AgentNo, WorkspaceNo};
use crate::source::project::project_root;
use crate::thread;
use crate::transcript::{read, workspaces};
use crate::tree::file_table::Kind;

/// A search: the query, and its limits.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The query: words, "phrases", prefixes (`begin*`), times in words.
    pub query: String,
    /// Whether turns and whether visible files are searched.
    pub turns: bool,
    pub files: bool,
    /// Kinds of visible files; empty for all.
    pub kinds: Vec<Kind>,
    /// Only memory of this class.
    pub class: Option<String>,
    /// Whether resolved loops and decided proposals are searched too.
    pub archived: bool,
    /// Only this project, given by its id, label or path.
    pub workspace: Option<String>,
    /// Only this thread, given by its key or name.
    pub thread: Option<String>,
    /// Only this program, given by its name.
    pub harness: Option<String>,
    /// Only this session, given by its key or a prefix of it.
    pub session: Option<String>,
    pub role: Option<Role>,
    /// Earliest and latest time.
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// Largest number of hits, for files and for turns each.
    pub limit: usize,
    /// Time for which the last scan of the visible files is relied on. Zero scans them, which costs a `stat` each.
    pub scan_holds: Duration,
}

impl Default for SearchRequest {
    /// Returns a search of everything, with eight hits of each sort.
    fn default() -> SearchRequest {
        SearchRequest {
            query: String::new(),
            turns: true,
            files: true,
            kinds: Vec::new(),
            class: None,
            archived: false,
            workspace: None,
            thread: None,
            harness: None,
            session: None,
            role: None,
            since: None,
            until: None,
            limit: 8,
            scan_holds: Duration::ZERO,
        }
    }
}

/// Name of the kind for turns, beside the kinds of visible files.
const TURN: &str = "turn";

impl SearchRequest {
    /// Names of all kinds that can be searched.
    pub const KINDS: [&str; 12] =
        [TURN, "memory", "loop", "proposal", "daily", "artifact", "rollup", "page", "head", "index", "note", "skill"];

    /// Limits the search to these kinds; without any, to the kinds its other limits apply to. `Usage` for an unknown
    /// kind, or if the limits exclude each other.
    pub fn of_kinds(mut self, kinds: &[String]) -> Result<SearchRequest> {
        if let Some(unknown) = kinds.iter().find(|kind| !SearchRequest::KINDS.contains(&kind.as_str())) {
            let shown: String = unknown.chars().take(40).collect();
            return Err(Error::usage(format!("there is no kind {shown:?}"))
                .hint(format!("one of: {}", SearchRequest::KINDS.join(", "))));
        }
        let only_turns = self.session.is_some() || self.role.is_some() || self.harness.is_some();
        let only_files = self.class.is_some();
        let named: Vec<Kind> = kinds.iter().filter_map(|kind| Kind::named(kind)).collect();
        if only_turns && (!named.is_empty() || only_files || self.archived) {
            return Err(Error::usage(
                "session, role and program are about turns; class, archived and kinds of files are not",
            )
            .hint("leave one of the two out"));
        }
        self.turns = if kinds.is_empty() { !only_files } else { kinds.iter().any(|kind| kind == TURN) };
        self.files = !only_turns && (kinds.is_empty() || !named.is_empty());
        if (only_files || !self.turns) && !self.files {
            return Err(Error::usage("turns have no class").hint("leave the class or the kind turn out"));
        }
        self.kinds = named;
        Ok(self)
    }
}

/// A project, with its numbers for turns and its ids for files.
struct Project {
    numbers: Vec<WorkspaceNo>,
    ids: Vec<String>,
    /// Error to return if nothing is found: the project has no turns, but files may still name it.
    unknown: Option<Error>,
}

impl Instance {
    /// Searches files and turns of an agent. `Usage` for an empty query or times that exclude each other, `NotFound`
    /// for an unknown project, thread or session.
    pub fn search(&self, agent: &AgentId, actor: &str, request: &SearchRequest) -> Result<SearchReport> {
        let started = Instant::now();
        let agent_no = self.known_agent(agent)?;
        if let (Some(since), Some(until)) = (request.since, request.until)
            && since > until
        {
            return Err(Error::usage("since lies after until").hint("swap the two times"));
        }
        let named = request.workspace.as_deref();
        let project = named.map(|name| self.project(agent, agent_no, name, request.files)).transpose()?;
        let threads = request
            .thread
            .as_deref()
            .map(|name| self.ledger.read(|tx| thread::members(tx, thread::named(tx, agent_no, name)?.no)));
        let session = request
            .session
            .as_deref()
            .map(|name| self.ledger.read(|tx| Ok(vec![read::session_named(tx, agent_no, name)?.no])));
        let filter = Filter {
            workspaces: project.as_ref().map(|p| p.numbers.clone()),
            harness: request.harness.clone(),
            sessions: session.transpose()?,
            threads: threads.transpose()?,
            role: request.role,
            since: request.since,
            until: request.until,
            limit: request.limit,
            ..Filter::default()
        };
        let file_filter = FileFilter {
            kinds: request.kinds.clone(),
            class: request.class.clone(),
            workspaces: project.as_ref().map(|p| p.ids.clone()),
            threads: filter.threads.clone(),
            archived: request.archived,
            since: request.since,
            until: request.until,
            limit: request.limit,
        };
        let looked = match request.files.then(|| self.look_at_lately(agent, actor, request.scan_holds)) {
            // If the pages cannot be reached, the turns are still searched.
            Some(Err(e)) if request.turns && matches!(e.kind(), ErrorKind::Refused | ErrorKind::NotFound) => {
                self.listener.notice(&Notice::FilesLeftOut(&e));
                None
            }
            looked => looked.transpose()?.flatten(),
        };
        let at = looked.as_ref();
        let mut index = self.caught_up_index(at)?;
        let mut understood = self.understand(agent, &request.query)?;
        let mut look = |query: &Query| -> Result<(Searched, FilesFound)> {
            let mut found = Searched::default();
            let mut files = FilesFound::default();
            if let Some(at) = at {
                files = recall::search_files(at, &mut index, query, &file_filter)?;
                found.looked_for.clone_from(&files.looked_for);
                found.query_cut = files.query_cut;
            }
            if request.turns {
                found = recall::search(&self.ledger, &mut index, agent, query, &filter)?;
            }
            Ok((found, files))
        };
        let (mut found, mut files) = look(&understood.query)?;
        // If the query names a wrong time, the search is repeated without the time.
        if found.hits.is_empty()
            && files.hits.is_empty()
            && let Some(wider) = understood.widen()
        {
            (found, files) = look(&wider)?;
        }
        if let Some(unknown) = project.and_then(|p| p.unknown)
            && files.hits.is_empty()
        {
            return Err(unknown);
        }
        if filter.threads.is_some() {
            let due = self.ledger.read(|tx| Ok(undistilled::counts(tx, self.ledger.now(), Some(agent_no))?.0))?;
            if due > 0 {
                let sessions = if due == 1 { "1 session".to_owned() } else { format!("{due} sessions") };
                found.less.push(format!("{sessions} not put into threads yet: {}", See::new("work")));
            }
        }
        understood.widened |= found.other_times;
        found.cut_short |= files.cut_short;
        let mut all_too_frequent = found.too_frequent.clone();
        all_too_frequent.extend(files.too_frequent.iter().filter(|w| !found.too_frequent.contains(w)).cloned());
        let less = found.less;
        let hits: Vec<TurnHit> = found.hits.into_iter().map(|hit| self.turn_hit(hit)).collect();
        let file_hits = files.hits.into_iter().filter_map(|hit| Some(FileHitReport::of(at?, hit))).collect();
        Ok(SearchReport {
            query: request.query.clone(),
            looked_for: found.looked_for,
            understood,
            files: file_hits,
            hits,
            too_frequent: found.too_frequent,
            not_indexed: found.not_indexed,
            files_not_indexed: files.not_indexed,
            degraded: found.cut_short || found.not_indexed > 0 || found.query_cut || !less.is_empty(),
            less,
            ms: (started.elapsed().as_secs_f64() * 10_000.0).round() / 10.0,
            explain: None,
            cut_short: found.cut_short,
            query_cut: found.query_cut,
            counted: found.counted,
            all_too_frequent,
        })
    }

    /// Makes the report of a hit, with the command that resumes its session.
    fn turn_hit(&self, hit: recall::Hit) -> TurnHit {
        let resume = self.resume(&hit.turn.session, hit.turn.cwd.as_deref());
        TurnHit::of(hit, resume)
    }

    fn project(&self, agent: &AgentId, agent_no: AgentNo, name: &str, with_files: bool) -> Result<Project> {
        match self.workspaces_named(agent_no, name) {
            Ok(numbers) => {
                let all = self.ledger.read(|tx| workspaces::workspaces(tx, agent_no))?;
                let ids = all.into_iter().filter(|w| numbers.contains(&w.no)).map(|w| w.id).collect();
                Ok(Project { numbers, ids, unknown: None })
            }
            Err(e) if with_files && e.kind() == ErrorKind::NotFound => match self.workspace_id(agent, name) {
                Ok(id) => Ok(Project { numbers: Vec::new(), ids: vec![id], unknown: Some(e) }),
                Err(_) => Err(e),
            },
            Err(e) => Err(e),
        }
    }

    /// Returns the workspaces that a name means; a path inside a project means that project.
    pub fn workspaces_named(&self, agent_no: AgentNo, name: &str) -> Result<Vec<WorkspaceNo>> {
        let path = std::path::Path::new(name);
        let looks_like_path = name == "." || name.contains('/') || path.is_dir();
        let project = looks_like_path
            .then(|| std::path::absolute(path).ok())
            .flatten()
            .and_then(|p| project_root(&p, self.settings.user_home.as_deref()));
        self.ledger.read(|tx| match &project {
            Some(project) => workspaces::workspace_named(tx, agent_no, &project.workspace_id).map_err(|_| {
                Error::not_found(format!("nothing is stored for the project {}", project.path.display()))
                    .hint("see ⟨workspace list⟩")
            }),
            None => workspaces::workspace_named(tx, agent_no, name),
        })
    }
}
