// The types of Heirloom's HTTP API, made from openapi.json: BLESS=1 cargo test -p heirloom-http

/** A job whose failures were marked as seen. */
export type AcknowledgedReport = {
  /** Number of runs that were marked. */
  acknowledged: number;
  job: string;
};

/** The result of writing a memory: the new one, or the existing one. */
export type Added = {
  change: Outcome;
  class: Class;
  /** Id of the memory, `m:…`; empty if the text was forgotten. */
  id: string;
  /** Path of the memory's file; `None` if the text was forgotten. */
  path: RelPath | null;
  scope: string;
  /** Ids of the memories that the new memory supersedes. */
  superseded: string[];
  title: string;
};

/** An agent in a list. */
export type AgentRow = {
  agent: string;
  created_at: string;
  sessions: number;
};

/** The agents of a home. */
export type AgentsReport = {
  agents: AgentRow[];
  /** Agent that is used if none is named. */
  default: string;
};

/** A node above the parents of the node that was asked for. */
export type Ancestor = {
  /** Whether all its turns lie on an abandoned branch. */
  abandoned: boolean;
  agent_id: string;
  /** The number of turns it covers. */
  count: number;
  created_at: string;
  /** 0 for a chunk of turns, one more with each condensing. */
  depth: number;
  distance: number;
  distillate: Distillate;
  /** Whether its text was forgotten; its position in the DAG stays. */
  forgotten: boolean;
  id: string;
  kind: "chunk" | "session" | "compaction" | "condensed";
  lane: string | null;
  /** The model that wrote the summary, such as `claude/haiku`. Null if none did. */
  model: string | null;
  /** The node this one replaces because part of that node was forgotten. */
  replaces: string | null;
  session: SessionKey | null;
  source: "harness" | "deterministic" | "model";
  summary: string;
  /** The turn that contains the program's complete summary. */
  summary_turn: string | null;
  /** The thread key it was created with. */
  thread: string;
  time: [string | null, string | null];
  tokens: TokensReport;
  /** The first and the last turn it covers, and the times at which these were said. */
  turns: [string, string];
  /** The node's content without the model. */
  without_model: WithoutModel | null;
};

/** The number and hash of an audit row. Noted elsewhere (on paper, in a mail), it shows later that the chain up to this row is the same. */
export type Anchor = {
  /** In hex. */
  hash: string;
  no: number;
};

/** Requests that were just made or answered. */
export type AnsweredReport = {
  events: RequestReport[];
};

/** Results for the lines that were sent. */
export type Appended = {
  /** One entry for each line that was not blank, in the order sent. */
  lines: LineReport[];
  /** Number of lines that could not be used. */
  refused: number;
  turns: LinesTaken;
};

/** Number of things a model was asked about, and of things it may still be asked about. */
export type Asked = {
  done: number;
  due: number;
};

/** The last backups, as noted in `state/backup.json`. */
export type BackupsSeen = {
  /** Time of the last backup, in milliseconds; null if there was none. */
  at: number | null;
  /** Time and reason of an attempt that failed since; null if none failed. */
  failed_at: number | null;
  /** Folder or file of the last backup. */
  to: string | null;
  why: string | null;
};

/** A point where a context was compacted, or the program started a new one. */
export type BoundaryRow = {
  at: string | null;
  /** `compaction` or `segment`. */
  kind: string;
  reason: string | null;
};

/** A node with the nodes below it. */
export type BranchReport = {
  /** Whether all its turns lie on an abandoned branch. */
  abandoned: boolean;
  agent_id: string;
  children?: BranchReport[];
  /** The number of turns it covers. */
  count: number;
  created_at: string;
  /** 0 for a chunk of turns, one more with each condensing. */
  depth: number;
  distillate: Distillate;
  /** Whether its text was forgotten; its position in the DAG stays. */
  forgotten: boolean;
  id: string;
  kind: "chunk" | "session" | "compaction" | "condensed";
  lane: string | null;
  /** The model that wrote the summary, such as `claude/haiku`. Null if none did. */
  model: string | null;
  /** The node this one replaces because part of that node was forgotten. */
  replaces: string | null;
  session: SessionKey | null;
  source: "harness" | "deterministic" | "model";
  summary: string;
  /** The turn that contains the program's complete summary. */
  summary_turn: string | null;
  /** The thread key it was created with. */
  thread: string;
  time: [string | null, string | null];
  tokens: TokensReport;
  /** The first and the last turn it covers, and the times at which these were said. */
  turns: [string, string];
  /** The node's content without the model. */
  without_model: WithoutModel | null;
};

/** Maximum tokens and calls in a day; configurable. */
export type Budget = {
  calls: number;
  tokens: number;
};

/** A fact or rule that sessions show and that may become a memory or a proposal. */
export type CandidateReport = {
  /** Time of the last change of its state. */
  changed: string;
  class: Class;
  confidence: number;
  evidence: EvidenceReport[];
  /** Id of the memory or proposal that the candidate became. */
  item: string | null;
  /** Language model that found the candidate, if nothing else found it. */
  model: string | null;
  sessions: number;
  state: "waiting" | "proposed" | "written" | "known" | "rejected" | "undone";
  text: string;
  workspace: string;
};

/** One page of a list. */
export type CandidateReportPage = {
  items: CandidateReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** The effect of an upsert. */
export type Change = "new" | "changed" | "same";

/** Memories after they were changed. */
export type ChangedMemories = {
  items: MemoryReport[];
};

/** A value, with the agent it belongs to. */
export type ChannelReportOfAgent = {
  agent_id: string;
  at: string;
  channel: string;
  decided_at: string | null;
  detail: string | null;
  id: string;
  name: string | null;
  peer: string;
  state: string;
};

/** Result of one check. */
export type Check = {
  /** Next step for the person, if there is one. */
  next: string | null;
  ok: boolean;
  /** Part of the home, or title of the program, that was checked. */
  subject: string;
  what: string;
};

/** Results of the checks on this machine: the home, the service, the programs and their connections. */
export type ChecksReport = {
  checks: Check[];
  /** True if no check found anything a person must fix. */
  ok: boolean;
};

/** The class of a memory. */
export type Class = "preference" | "identity" | "fact" | "procedure" | "blocker" | "reference";

/** A code that can be used once. */
export type Code = {
  code: string;
  /** Validity of the code in seconds. */
  seconds: number;
};

/** Result of a compaction of one session. */
export type CompactReport = {
  agent_id: string;
  /** The key of the session. */
  session: string;
} & ({
  /** Always null. */
  handoff: string | null;
  /** Always empty. */
  nodes: CompactedNode[];
} | {
  distillate: Distillate;
  /** Always true. */
  dry_run: boolean;
  handoff: string;
  tokens: number;
  /** Last turn that the handoff would replace. */
  until: string;
} | {
  distillate: Distillate;
  /** Number of times the context of the session was cut. */
  epoch: number;
  handoff: string;
  /** One node for each thread; the last is the node of the conversation. */
  nodes: CompactedNode[];
  /** Turns after the last replaced one; they stay in the context unchanged. */
  preserved: string[];
  tokens: number;
  /** Last turn that the handoff replaces. */
  until: string | null;
});

/** A node a compaction made. */
export type CompactedNode = {
  agent_id: string;
  /** Number of turns that the node covers. */
  count: number;
  id: string;
  /** Author of the words: the outside program, a language model, or Heirloom's own summarizer. */
  source: "harness" | "deterministic" | "model";
  thread: string;
  /** First and last turn that the node covers. */
  turns: string[];
};

/** A value, with the agent it belongs to. */
export type CompactionOfAgent = {
  agent_id: string;
  at: string;
  cause: string;
  lane: string;
  node: string | null;
  /** The last turn that the handoff replaces. */
  until: string;
};

/** A value, with the agent it belongs to. */
export type ContextItemOfAgent = {
  agent_id: string;
  id: string;
  part: string;
};

/** A context that was just assembled. */
export type ContextReport = {
  agent_id: string;
  /** Text for the program; empty if there is nothing to give. */
  block: string;
  /** Reasons why the context is less complete than it could be. */
  degraded: string[];
  dropped: Dropped[];
  /** Number of the epoch; rises by one each time the context of the session is cut. */
  epoch: number;
  event: string;
  /** How the prompt was understood and what was recalled for it; only if the request asked for an explanation. */
  explain?: PromptExplained | null;
  /** Digest of the request: equal requests over equal memory have equal fingerprints. */
  fingerprint: string;
  /** Id of the record of this context; `None` after a dry run, or if the context contains nothing new. */
  id: string | null;
  /** Parts of the block, in the order they are printed. */
  parts: PartReport[];
  session: string;
  thread: string | null;
  tokens: number;
  workspace: string | null;
};

/** A thread and the numbers of its sessions, runs and turns. */
export type CountedThread = {
  created_at: string;
  kind: string;
  label: string;
  /** Time at which it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** Path of the thread's page, below the assistant home. */
  page: string;
  runs: number;
  sessions: number;
  /** `active` or `closed`. */
  state: string;
  thread: string;
  turns: number;
};

/** The number of jobs in each state. */
export type Counts = {
  dead: number;
  due: number;
  later: number;
  running: number;
};

/** Result of the decision about one item. */
export type DecidedReport = {
  id: string;
  memories: Added[];
  /** Outcome of the decision: `accepted`, `rejected`, `undone` or `changed`. */
  outcome: string;
  /** File that the kept words were restored into. */
  path: string | null;
  /** Files of a skill that were written. */
  placed: string[];
  /** Profile value that was set, such as `profile:language`. */
  profile: string | null;
  /** Memories that an undo removed. */
  removed: string[];
  /** Memories that an undo made current again. */
  restored: string[];
  /** Memories that the decision superseded. */
  superseded: string[];
  title: string;
};

/** Results of decisions, in the order they were made. */
export type DecisionsReport = {
  items: DecidedReport[];
  /** Items that were not decided, and why. */
  refused: RefusedReport[];
};

export type DeferredReport = {
  owner: string;
  section: string;
};

export type DiffLine = {
  /** How the line changed: `same`, `added` or `removed`. */
  change: string;
  text: string;
};

/** The structured part of a node. Items are in the order in which they were said. A budget keeps the newest items, at the end of each list, first; constraints are the exception, because they do not lose weight with age. */
export type Distillate = {
  blocked?: DistilledItem[];
  /** Directives and preferences, only in the user's own words. */
  constraints?: DistilledItem[];
  /** Error messages, commands, names and numbers needed to continue. */
  context?: DistilledItem[];
  /** Decisions that were stated. */
  decisions?: DistilledItem[];
  done?: DistilledItem[];
  files?: TouchedFile[];
  /** Failures that were found and fixed, each with its fix. */
  fixed?: DistilledItem[];
  /** The matter in hand, in the user's words: the request that opened it and, after an arrow, the newest request. */
  goal?: DistilledItem | null;
  in_progress?: DistilledItem[];
  next_steps?: DistilledItem[];
  /** Unresolved requests, promises, failures and questions. */
  open_loops?: DistilledItem[];
  proposals?: Proposed[];
  /** Rules and acceptance criteria of the task in hand, read from its ticket or document: `shop-4 → Refunds are idempotent`. They come from the task, not from the user (R14.3). */
  requirements?: DistilledItem[];
};

/** One item of a distillate, in a sentence or two. */
export type DistilledItem = {
  /** The visible file of the item, once there is one: `l:…`, `p:…`. */
  file?: string | null;
  /** One line of plain text, at most [`LONGEST_ITEM`] bytes, credentials redacted. */
  text: string;
  /** The turns where it was said or done, oldest first; never empty. */
  turns: string[];
};

/** An item that was found and left out. */
export type Dropped = {
  id: string;
  why: string;
};

/** One row of the audit log. */
export type Entry = {
  action: string;
  actor: string;
  agent: string | null;
  at: string;
  detail: unknown;
  no: number;
};

/** One page of a list. */
export type EntryPage = {
  items: Entry[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A visible file, as its row in the file table describes it. */
export type EntryReport = {
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Keys and values of the front matter. */
  fields: unknown;
  id: string | null;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  status: string | null;
  title: string;
};

/** A value, with the agent it belongs to. */
export type EntryReportOfAgent = {
  agent_id: string;
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Keys and values of the front matter. */
  fields: unknown;
  id: string | null;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  status: string | null;
  title: string;
};

/** One page of a list. */
export type EntryReportPage = {
  items: EntryReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A piece of evidence: words from one turn. */
export type EvidenceReport = {
  session: string;
  text: string;
  turn: string;
};

/** The thing a reference leads to. */
export type ExpandReport = {
  /** A page of the turns below it, if the request asked for turns and there are any. */
  transcript: TranscriptReport | null;
} & (NodeSubject | TurnSubject | FileSubject | SessionSubject | {
  nodes: NodeReport[];
  thread: ThreadRowOfAgent;
} | {
  pending: PendingReportOfAgent;
} | {
  channel: ChannelReportOfAgent;
} | {
  job: JobReportOfAgent;
} | {
  context: ReplayReport;
  items: ContextItemOfAgent[];
} | {
  quarantine: SetAsideOfAgent;
} | {
  matter: MatterReportOfAgent;
});

/** A value, with the agent it belongs to. */
export type ExpandedFileOfAgent = {
  agent_id: string;
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Whether the text was cut because it is too long. */
  cut: boolean;
  /** Keys and values of the front matter. */
  fields: unknown;
  /** Path of the file on this machine; `None` if the visible files cannot be reached. */
  file: string | null;
  id: string | null;
  kind: string;
  /** Line that the reference names, counted from 1. */
  line: number | null;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  state: string;
  status: string | null;
  text: string;
  title: string;
};

/** The node that was asked for. */
export type ExpandedNode = {
  /** Whether all its turns lie on an abandoned branch. */
  abandoned: boolean;
  agent_id: string;
  /** The number of turns it covers. */
  count: number;
  created_at: string;
  /** 0 for a chunk of turns, one more with each condensing. */
  depth: number;
  distillate: Distillate;
  /** Whether its text was forgotten; its position in the DAG stays. */
  forgotten: boolean;
  id: string;
  kind: "chunk" | "session" | "compaction" | "condensed";
  lane: string | null;
  /** The model that wrote the summary, such as `claude/haiku`. Null if none did. */
  model: string | null;
  /** Id of the node made in place of this one after some of its content was forgotten. */
  replaced_by: string | null;
  /** The node this one replaces because part of that node was forgotten. */
  replaces: string | null;
  session: SessionKey | null;
  source: "harness" | "deterministic" | "model";
  summary: string;
  /** The turn that contains the program's complete summary. */
  summary_turn: string | null;
  /** The thread key it was created with. */
  thread: string;
  time: [string | null, string | null];
  tokens: TokensReport;
  /** The first and the last turn it covers, and the times at which these were said. */
  turns: [string, string];
  /** The node's content without the model. */
  without_model: WithoutModel | null;
};

/** How the query was understood, how each score is made up, and the limits of the search. */
export type Explained = {
  /** Whether turns near in meaning are found even without a word of the query. */
  by_meaning_too: boolean;
  files: FileScore[];
  hits: TurnScore[];
  less: string[];
  limits: Record<string, string>;
  /** Text that was compared by meaning. */
  meaning: string;
  people: string[];
  phrases: string[];
  stop_words: string[];
  times: TimeReport[];
  too_frequent: string[];
  words: WordReport[];
};

/** A visible file that was found. */
export type FileHitReport = {
  class: string | null;
  /** Path of the file on this machine. */
  file: string;
  id: string | null;
  kind: string;
  /** Line that matches best, counted from 1. */
  line: number;
  matches: number[][];
  path: string;
  /** Whether the file is rendered from other files and turns; such a file ranks below its sources. */
  rendered: boolean;
  scope: string | null;
  score: number;
  show: string;
  snippet: string;
  state: string;
  status: string | null;
  title: string;
  why: WhyFile;
};

/** The parts of a score. Those of a turn are added up; for a file, words and date are added and multiplied by its weight. */
export type FileScore = {
  /** Cosine to the query, if it was compared; it counts if greater than 0. */
  cosine: number | null;
  /** Gain for lying in a time the query mentions. */
  date: number;
  /** Score by meaning: the cosine times its weight, which is greater in sessions of programs than in conversations. */
  meaning: number;
  /** Share of its neighbours' scores. */
  neighbours: number;
  path: string;
  /** In a conversation between two people: speaker, length and matches of its session; negative for a question. */
  people: number;
  /** The sum; a hit's score is this divided by the best hit's. */
  sum: number;
  /** Factor for the kind of item: lower if it is archived or superseded. */
  weight: number;
  /** Score by words: 1 for the best. */
  words: number;
};

/** A visible file, or some of its lines. */
export type FileSubject = {
  file: ExpandedFileOfAgent;
  /** References to follow: the source of the file, and the references in brackets in its text. */
  references: string[];
  source: ProvenanceOfAgent;
};

/** A visible file with its text. Credentials are removed. */
export type FileTextReport = {
  /** Text of the file without the front matter. */
  body: string;
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Keys and values of the front matter. */
  fields: unknown;
  /** Path of the file on this machine; `None` if the visible files cannot be reached. */
  file: string | null;
  /** Time from which the memory is stale; `None` if it never becomes stale. */
  fresh_until?: string | null;
  id: string | null;
  kind: string;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  /** Whether somebody should verify the memory again. */
  stale?: boolean;
  /** Policy by which the memory becomes stale. */
  staleness?: string;
  state: string;
  status: string | null;
  /** Text of the memory, without the heading. */
  text?: string;
  title: string;
  verification?: string;
};

/** Memories that were forgotten. */
export type ForgottenMemories = {
  /** Ids of the forgotten memories. */
  forgotten: (string | null)[];
  /** Number of archived proposals with the same words that were forgotten too. */
  with: number;
};

/** A section that was committed. */
export type HeadCommitted = {
  /** Always false: the commit was not deferred. */
  deferred: boolean;
  epoch: number;
  head: string;
  /** Whether the file shows the revision already; if not, the next command writes it. */
  published: boolean;
  revision: number;
  section: string;
};

/** The lines in which two revisions of a head differ, with the lines around them. */
export type HeadDiff = {
  from: number;
  head: string;
  lines: DiffLine[];
  to: number;
};

/** Every line of a head as it would be rendered now, and what was left out. */
export type HeadExplained = {
  head: string;
  lines: LineExplained[];
};

/** The lease on a head that was acquired. */
export type HeadGranted = {
  base_revision: number;
  /** The rendered block of the base revision. */
  content: string;
  epoch: number;
  head: string;
  lease_until_ms_from_now: number;
  owner: string;
  sections: Record<string, Section>;
};

/** Revisions of a head, newest first. */
export type HeadLog = {
  /** Number of all revisions that are kept. */
  all: number;
  head: string;
  revisions: HeadRevision[];
};

/** A head whose lease was released. */
export type HeadReleased = {
  head: string;
  /** `false` if another owner held the lease by then. */
  released: boolean;
};

/** A head, its lease and its deferred commits. */
export type HeadReport = {
  /** Commits that are applied when the lease ends. */
  deferred: DeferredReport[];
  epoch: number;
  /** Milliseconds until the lease ends at the latest. */
  free_in_ms: number;
  /** Name of the head: `memory`, or the key of a thread. */
  head: string;
  holder: string | null;
  /** Label of the thread, if the head belongs to one. */
  label: string | null;
  path: string;
  /** Revision that is now in the file. */
  published: number;
  revision: number;
  sections: SectionOverview[];
};

/** One page of a list. */
export type HeadReportPage = {
  items: HeadReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A head whose sections were restored from an older revision. */
export type HeadRestored = {
  /** The older revision. */
  from: number;
  head: string;
  /** The new revision made by the restore. */
  revision: number;
  /** Names of the restored sections. */
  sections: string[];
};

/** One revision, as listed. */
export type HeadRevision = {
  at: string;
  digest: string;
  epoch: number;
  /** Whether the rendered text of the revision was forgotten. */
  forgotten: boolean;
  /** Program that committed the revision; `heirloom` if it was rendered. */
  owner: string;
  revision: number;
  /** Names of the sections in the revision. */
  sections: string[];
};

/** The content of one revision of a head. */
export type HeadShown = {
  /** The rendered block of the page. */
  content: string;
  head: string;
  /** Number of the newest revision. */
  newest: number;
  path: string;
  revision: number;
  sections: Record<string, Section>;
};

/** Answer of the health check. */
export type Health = {
  /** Agent this process answers for if a request names none. */
  agent: string;
  /** Build of the process: `<schema>.<version>`. */
  build: string;
  /** Newest row number of the audit. */
  newest: number;
  /** Always true: a process that is not healthy does not answer. */
  ok: boolean;
};

/** The reason why some questions are not asked today, although the model is asked others. */
export type HeldBack = {
  state: "little-left";
} | {
  state: "for-summaries";
} | {
  state: "older";
} | {
  calls: number;
  state: "older-never";
  tokens: number;
};

/** Result of an import. */
export type Imported = {
  bytes: number;
  /** Number of spans marked private; they were not stored. */
  private: number;
  problems: InputProblem[];
  /** Number of records stored. */
  records: number;
  seconds: number;
  /** Number of records that could not be decoded; their bytes are kept. */
  set_aside: number;
  sources: SourcesRead;
  turns: TurnsRead;
};

/** A context that was given, with the token count of each line. */
export type Injection = {
  agent_id: string;
  at: string;
  /** The capabilities of the program. */
  can: unknown;
  /** The stored object with `request`, `profile`, `lines`, `dropped`, `dropped_more`, `degraded`, `block` and `digest`; `None` if it was forgotten. */
  content: unknown;
  epoch: number;
  event: string;
  fingerprint: string;
  id: string;
  /** Tokens of each line of the block, by the estimate that budgets use. */
  line_tokens: number[];
  session: SessionKey;
  /** Whether the content still has its stored digest; `None` if the content is forgotten or has no digest because an older version wrote it. */
  sound: boolean | null;
  tokens: number;
};

/** A problem in the input that is not a failure: a part of it could not be used, at this position. */
export type InputProblem = {
  /** One-based line, where there is one. */
  line: number | null;
  /** Byte offset in that file, where there is one. */
  offset: number | null;
  /** The file (or `database#table/row`) with the problem, as shown to people. */
  place: string;
  /** The fault, and how it was handled. */
  what: string;
};

/** An item after an act. */
export type Item = {
  change: Change;
  /** `l:…`, `p:…`. */
  id: string;
  path: RelPath;
  title: string;
};

/** The last runs of a job, newest first. */
export type JobReport = {
  job: string;
  runs: RunReport[];
};

/** A value, with the agent it belongs to. */
export type JobReportOfAgent = {
  agent_id: string;
  runs: JobRunReportOfAgent[];
};

/** One run of a scheduled job (table `scheduled_runs`). */
export type JobRunNo = number;

/** A value, with the agent it belongs to. */
export type JobRunReportOfAgent = {
  agent_id: string;
  /** Path of the artifact with its output. */
  artifact: string | null;
  command: string;
  ended_at: string | null;
  error: string | null;
  exit_code: number | null;
  name: string;
  run: JobRunNo;
  signal: number | null;
  started_at: string;
  status: string;
};

/** The main line or a sub-agent of a session. */
export type LaneRow = {
  /** Empty for the main line. */
  lane: string;
  /** The tool call that started a sub-agent. */
  parent_call: string | null;
  turns: number;
};

/** A value, with the agent it belongs to. */
export type LaneRowOfAgent = {
  agent_id: string;
  /** Empty for the main line. */
  lane: string;
  /** The tool call that started a sub-agent. */
  parent_call: string | null;
  turns: number;
};

/** The language model of the settings. */
export type LanguageModelReport = {
  /** The most it may use in a day. */
  budget: Budget;
  /** Number of summaries the model may still be asked for. */
  due: number;
  /** Number of summaries, sessions and chunks the model is not asked about any more, because its answers could not be used. Another model, other settings or a successful trial bring them back. */
  given_up: number;
  /** Why some questions that wait are not asked today. */
  held_back: HeldBack | null;
  /** Numbers of chunks of messages the model has judged, and of those still due. */
  judged: Asked;
  /** Kind and name of the model, such as `claude/haiku`; null if it cannot be loaded. */
  model: string | null;
  /** Why the model is not asked now. */
  pause: Pause | null;
  /** Why the model cannot be loaded. */
  problem: string | null;
  /** Numbers of sessions whose user turns the model has read to find memories, and of those still due. */
  read: Asked;
  /** Its use today. */
  spent: Spent;
  /** Number of summaries written by a model. */
  summaries: number;
};

/** A line of a head with its score and the reasons for it. */
export type LineExplained = {
  agent_id: string;
  /** Why the line is not on the page; `None` if it is. */
  left_out: string | null;
  reasons: string[];
  /** Reference that `expand` accepts for the source of the line. */
  reference: string | null;
  /** Score of the line, in sections that choose lines by score. */
  score: number | null;
  /** Heading above the line. */
  section: string;
  text: string;
};

/** Result of storing one live line. */
export type LineReport = {
  line: number;
  /** Always true. */
  ok: boolean;
  session: string;
  /** `stored`, or `known` if the line was stored before. */
  state: string;
  turn: string | null;
} | {
  /** Why the line cannot be used. */
  error: string;
  line: number;
  /** Always false. */
  ok: boolean;
};

export type LinesTaken = {
  /** Number of turns that were stored before. */
  known: number;
  new: number;
};

/** A thread that this thread is linked to. */
export type LinkReport = {
  at: string;
  label: string;
  thread: string;
  /** Why the threads are linked. */
  why: string | null;
};

/** Visible files made from a node. */
export type LinkedReport = {
  memory: EntryReportOfAgent[];
  /** Whether there are more such files than are given here. */
  more: boolean;
  open_loops: EntryReportOfAgent[];
  proposals: EntryReportOfAgent[];
};

/** A session in a list. */
export type ListedSession = {
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session this one was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** Display name: the session's title, else its goal, else the first line said in it; empty if it has none of these. */
  name: string;
  /** Command that resumes the session in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** Number of turns first seen in this session, and of turns shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** One page of a list. */
export type ListedSessionPage = {
  items: ListedSession[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A thread in a list, and what it is about. */
export type ListedThread = {
  created_at: string;
  /** Goal of the thread, else its newest item in progress, in one line; null if the thread has neither. */
  goal: string | null;
  /** Stretches of turns of the named session that are in this thread. */
  in_session: StretchReport[];
  kind: string;
  label: string;
  /** Time at which it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** Key of the thread it was merged into. */
  merged_into: string | null;
  /** Path of the thread's page, below the assistant home. */
  page: string;
  runs: number;
  sessions: number;
  /** `active` or `closed`. */
  state: string;
  thread: string;
};

/** One page of a list. */
export type ListedThreadPage = {
  items: ListedThread[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A value, with the agent it belongs to. */
export type MatterReportOfAgent = {
  agent_id: string;
  at: string;
  id: string;
  /** Kind of the remark: `settled`, `same` or `title`. */
  kind: string;
  /** The loop it is about; null if it is gone. */
  loop: EntryReport | null;
  /** The language model that made the remark. */
  model: string;
  /** The loop that is the same. */
  other: EntryReport | null;
  /** State of the remark: `waiting`, `accepted` or `rejected`. */
  state: string;
  /** The model's reason: words that settle the loop, or the title it would give; may be empty. */
  text: string;
  /** The turn it cites; its words are in `transcript`. */
  turn: string | null;
};

/** A memory that was found. */
export type MemoryHit = {
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Keys and values of the front matter. */
  fields: unknown;
  /** Time from which the memory is stale; `None` if it never becomes stale. */
  fresh_until: string | null;
  id: string | null;
  /** Line that matches best, counted from 1. */
  line: number;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  score: number;
  snippet: string;
  /** Whether somebody should verify the memory again. */
  stale: boolean;
  /** Policy by which the memory becomes stale. */
  staleness: string;
  status: string | null;
  title: string;
  verification: string;
  why: WhyFile;
};

/** A memory: its row of the file table, and its age by the rules of its class. */
export type MemoryReport = {
  /** Whether a person, not Heirloom, changed the file last. */
  by_hand: boolean;
  class: string | null;
  /** Keys and values of the front matter. */
  fields: unknown;
  /** Time from which the memory is stale; `None` if it never becomes stale. */
  fresh_until: string | null;
  id: string | null;
  path: string;
  /** Problem found in the file. */
  problem: string | null;
  scope: string | null;
  /** Whether somebody should verify the memory again. */
  stale: boolean;
  /** Policy by which the memory becomes stale. */
  staleness: string;
  status: string | null;
  title: string;
  verification: string;
};

/** One page of a list. */
export type MemoryReportPage = {
  items: MemoryReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** Memories that match a query, best first. */
export type MemorySearchReport = {
  /** Number of changed files that are not in the index yet. */
  files_not_indexed: number;
  hits: MemoryHit[];
  /** Words of the query that were looked up. */
  looked_for: string;
  query: string;
  /** Words that were left out because nearly every file has them. */
  too_frequent: string[];
  understood: Understood;
};

/** The embedding model, which makes vectors of texts. */
export type ModelReport = {
  /** Where the model runs, such as `built in`. */
  at: string;
  /** Model whose vectors are searched now; null if there are no vectors. */
  in_use: string | null;
  /** Name of the model; null if only words are searched. */
  model: string | null;
  /** Why the model that the settings name cannot be loaded. */
  problem: string | null;
  /** Progress of the model that the settings name, while vectors of an older model are still in use. */
  renewing: Renewing | null;
};

export type NamedThread = {
  label: string;
  thread: string;
};

/** A node of a thread. */
export type NodeOfThread = {
  depth: number;
  first: string;
  kind: string;
  last: string;
  last_at: string | null;
  node: string;
  summary: string;
};

/** A node of the lineage. */
export type NodeReport = {
  /** Whether all its turns lie on an abandoned branch. */
  abandoned: boolean;
  agent_id: string;
  /** The number of turns it covers. */
  count: number;
  created_at: string;
  /** 0 for a chunk of turns, one more with each condensing. */
  depth: number;
  distillate: Distillate;
  /** Whether its text was forgotten; its position in the DAG stays. */
  forgotten: boolean;
  id: string;
  kind: "chunk" | "session" | "compaction" | "condensed";
  lane: string | null;
  /** The model that wrote the summary, such as `claude/haiku`. Null if none did. */
  model: string | null;
  /** The node this one replaces because part of that node was forgotten. */
  replaces: string | null;
  session: SessionKey | null;
  source: "harness" | "deterministic" | "model";
  summary: string;
  /** The turn that contains the program's complete summary. */
  summary_turn: string | null;
  /** The thread key it was created with. */
  thread: string;
  time: [string | null, string | null];
  tokens: TokensReport;
  /** The first and the last turn it covers, and the times at which these were said. */
  turns: [string, string];
  /** The node's content without the model. */
  without_model: WithoutModel | null;
};

/** The items before and after this one, oldest first. */
export type NodeReportNeighbours = {
  after: NodeReport[];
  before: NodeReport[];
};

/** A node with its surroundings in the lineage. */
export type NodeSubject = {
  /** Nodes above the parents, nearest first. */
  ancestors: Ancestor[];
  children: BranchReport[];
  linked: LinkedReport;
  /** Whether the node has more descendants than are given here. */
  more_below: boolean;
  neighbours: NodeReportNeighbours;
  node: ExpandedNode;
  parents: NodeReport[];
  /** Other children of the parents of the node. */
  siblings: NodeReport[];
};

/** A line about current work. */
export type NowLine = {
  /** Number of open items in that work. */
  open: number;
  /** Reference that the line leads to. */
  reference: string | null;
  text: string;
};

/** A memory or profile value that would be superseded. */
export type OlderReport = {
  id: string;
  text: string;
};

/** An open loop with its text, or an open item that has no file yet. */
export type OneItem = FileTextReport | UnfiledReport;

/** An open loop, which is a file, or an open item in a page that has no file yet. */
export type OpenItem = EntryReport | UnfiledReport;

/** One page of a list. */
export type OpenItemPage = {
  items: OpenItem[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** Token of a page. */
export type Opened = {
  /** Agents the token opens; the first is used if a request names none. */
  agents: string[];
  /** Validity of the token in seconds; it also ends with the process. */
  seconds: number;
  token: string;
};

export type OriginForm = "file" | "database" | "live" | "hook";

/** The outcome of writing a memory. */
export type Outcome = "new" | "same" | "forgotten" | "outranked";

/** The turns of a session, in sections. */
export type Outline = {
  /** Index, from 0, of the section with the requested turn; null if no section has it. */
  at: number | null;
  sections: OutlineSection[];
};

/** A section: consecutive turns of a session. */
export type OutlineSection = {
  /** Length of the turns' words in bytes. */
  bytes: number;
  count: number;
  /** Cursor of the section: sent as `cursor` to the session's turns, with `count` as `limit`, it returns these turns. Null for the first section. */
  cursor: string | null;
  /** Id of the section's first turn. */
  first: string;
};

/** The overview that is shown first: sessions worked in last, and current work. */
export type Overview = {
  home: string;
  /** Current work, as MEMORY.md shows it. */
  now: NowLine[];
  stored: Totals;
  threads: number;
};

/** The state of a request for access. */
export type Pairing = "pending" | "approved" | "denied";

/** The part of a turn's text that is given, in bytes: start, total length, end. */
export type PartOfTurn = {
  from: number;
  of: number;
  to: number;
};

/** A part of a context. */
export type PartReport = {
  /** Whether the part stays the same in every session of the thread until a page changes. */
  cacheable: boolean;
  /** Ids that the lines of the part lead to; `expand` accepts them. */
  items: string[];
  part: string;
  text: string;
  tokens: number;
};

/** A value, with the agent it belongs to. */
export type PassageReportOfAgent = {
  /** Whether the turn is on a branch that its program abandoned. */
  abandoned: boolean;
  agent_id: string;
  at: string | null;
  /** Turn that should come before this one, if this one arrived late. */
  belongs_behind: string | null;
  /** Id of the tool call the turn belongs to. */
  call: string | null;
  /** The program's own id for the turn. */
  entry: string;
  failed: boolean;
  /** Whether its text was forgotten. */
  forgotten: boolean;
  id: string;
  kind: string;
  /** Lane of the turn: empty for the main line, otherwise the sub-agent's. */
  lane: string;
  model: string | null;
  /** Entry id of the turn that this one answers. */
  parent: string | null;
  /** Start, end and total length in bytes, if only a part of the turn is given. */
  part: PartOfTurn | null;
  /** Number of times the program rewrote the turn. */
  revision: number;
  role: string;
  run: RunNo;
  session: SessionKey;
  speaker: string | null;
  /** Text of the turn; empty if it was forgotten. */
  text: string;
  thread: string | null;
  tool: string | null;
  turn: string;
  /** `[input, output, cache read, cache write]` tokens of the model message, if the record states them. */
  usage: unknown;
  workspace: string | null;
};

/** The reason why a model is not asked now. */
export type Pause = {
  state: "refused";
  why: string;
} | {
  state: "rests";
  until: string;
  why: string;
} | {
  state: "spent";
};

/** A value, with the agent it belongs to. */
export type PendingReportOfAgent = {
  agent_id: string;
  confidence: number;
  id: string;
  kind: string;
  /** Id of the memory or profile value it became. */
  result: string | null;
  /** Number of turns in which it was noticed. */
  seen: number;
  session: string | null;
  state: string;
  text: string;
  title: string;
  turn: string | null;
};

/** Body of an error answer. */
export type Problem = {
  /** Current state of the thing, if the edit was based on an older one. */
  current?: unknown;
  /** Description of what went wrong. */
  detail: string;
  /** Exit code the command line has for this error. */
  exit: number;
  /** Process or program that holds what the request needs. */
  holder?: string | null;
  /** Suggested next step. */
  next: string;
  status: number;
  /** Kind of the error in words for people. */
  title: string;
  /** Kind of the error as `urn:heirloom:<kind>`; programs branch on it. */
  type: string;
};

/** Sessions and turns of one outside program. */
export type ProgramShare = {
  /** Display name of the program. */
  program: string;
  sessions: number;
  turns: number;
};

/** Projects of an agent, last worked in first. */
export type ProjectsReport = {
  workspaces: WorkspaceRow[];
};

/** How a prompt was understood, and which items were recalled for it. */
export type PromptExplained = {
  recalled: WhyRecalled[];
  understood: Understood;
};

/** Memory that the conversation suggests; it becomes a proposal, never memory by itself. */
export type Proposed = {
  /** `fact`, `procedure`, `blocker`, `reference`: knowledge of the project. Preferences are taken from prompts instead (R9.5). */
  class: string;
  file?: string | null;
  text: string;
  title: string;
  turns: string[];
};

/** A value, with the agent it belongs to. */
export type ProvenanceOfAgent = {
  agent_id: string;
  /** The language model that found the item, if nothing else did: `claude/haiku`. */
  model: string | null;
  /** The id of a lineage node. */
  node: string | null;
  session: string | null;
  turns: string[];
  type: "user" | "prompt" | "program" | "hand" | "distilled";
};

/** The answer of a recall. */
export type RecallReport = {
  agent_id: string;
  /** Reasons why the answer is less complete than it could be. */
  degraded: string[];
  /** Items that were found and left out. */
  dropped: Dropped[];
  /** Items, best first. */
  items: RecalledItemOfAgent[];
  query: string;
  /** Thread whose audience the answer is for; `None` if the request named no place. */
  thread: string | null;
  /** How the question was understood; only if the request asked for an explanation. */
  understood?: Understood | null;
};

/** A value, with the agent it belongs to. */
export type RecalledItemOfAgent = {
  agent_id: string;
  /** Time at which it was said, observed or written. */
  at: string | null;
  /** Id that `heirloom expand` takes: `m:…`, `l:…`, `n7f3a`, `t9c11`. */
  id: string;
  /** `preference`, `fact`, `open loop`, `compaction`, `user`, … */
  kind: string;
  /** Cautions for its user: `stale`, `check before use`, `reconfirm before use`, `unsure`; `by MODEL` for a summary that a language model wrote. */
  marks: string[];
  /** Why it was recalled, in words. */
  reasons: string[];
  /** 1.0 for the best item of its recall. */
  score: number;
  stage: "structured" | "lineage" | "transcript";
  /** Its text on one line, credentials redacted. */
  text: string;
  /** Label of its thread, if it is from another thread that was named. */
  thread: string | null;
};

/** Text of the record a program stored for a turn. */
export type RecordText = {
  /** Size of the whole record in bytes. */
  bytes: number;
  /** True if the text is only the record's beginning; `heirloom show --raw` prints all of it, byte for byte. */
  cut: boolean;
  text: string;
  turn: string;
};

/** Records of one class. */
export type RecordsReport = {
  bytes: number;
  class: string;
  records: number;
};

/** An item that could not be decided. */
export type RefusedReport = {
  id: string;
  next: string | null;
  what: string;
};

/** A relative path of plain components: no `..`, no `.`, no empty component, no control characters. Input is parsed once where it enters; a value of this type is safe to use. */
export type RelPath = string;

/** Memories that `remember` added. */
export type RememberedReport = {
  items: Added[];
};

/** Number of turns that a new model has embedded, and of turns in all. */
export type Renewing = {
  of_turns: number;
  turns: number;
};

/** A recorded context, with its text. */
export type ReplayReport = {
  agent_id: string;
  at: string;
  /** The capabilities of the program. */
  can: unknown;
  /** The stored object with `request`, `profile`, `lines`, `dropped`, `dropped_more`, `degraded`, `block` and `digest`; `None` if it was forgotten. */
  content: unknown;
  epoch: number;
  event: string;
  fingerprint: string;
  id: string;
  session: SessionKey;
  /** Whether the content still has its stored digest; `None` if the content is forgotten or has no digest because an older version wrote it. */
  sound: boolean | null;
  tokens: number;
};

/** A value, with the agent it belongs to. */
export type ReplayedOfAgent = {
  agent_id: string;
  at: string;
  /** The capabilities of the program. */
  can: unknown;
  epoch: number;
  event: string;
  fingerprint: string;
  id: string;
  session: SessionKey;
  /** Whether the content still has its stored digest; `None` if the content is forgotten or has no digest because an older version wrote it. */
  sound: boolean | null;
  tokens: number;
};

/** One page of a list. */
export type ReplayedOfAgentPage = {
  items: ReplayedOfAgent[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A request of a person to be let into a channel. Name and detail are without credentials. */
export type RequestReport = {
  at: number;
  /** Change that an act made to the request; absent in lists. */
  change?: Change | null;
  channel: string;
  decided_at: number | null;
  detail: string | null;
  /** Id of the request, such as `c:17`. */
  id: string;
  name: string | null;
  peer: string;
  state: Pairing;
};

/** One page of a list. */
export type RequestReportPage = {
  items: RequestReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** Confirms that the process was asked to end for a newer build. */
export type Retiring = {
  retiring: boolean;
};

/** A run: a prompt and everything up to the next prompt (table `turn_results`). */
export type RunNo = number;

/** A value, with the agent it belongs to. */
export type RunOfTurnOfAgent = {
  agent_id: string;
  answer: string | null;
  lane: string;
  last_at: string | null;
  model: string | null;
  opened_at: string | null;
  prompt: string | null;
  run: RunNo;
  status: string;
};

/** One run of a scheduled job. */
export type RunReport = {
  /** Whether a person acknowledged the failure. */
  acknowledged: boolean;
  /** The path of the artifact with its output. */
  artifact: string | null;
  /** The command with credentials redacted. */
  command: string;
  ended_at: number | null;
  error: string | null;
  exit_code: number | null;
  job: string;
  /** Exit code that was passed on; only in the report of a run that was just recorded. */
  passed?: number | null;
  run: JobRunNo;
  signal: number | null;
  started_at: number;
  status: Status;
};

/** One page of a list. */
export type RunReportPage = {
  items: RunReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** The normalised result of a run. */
export type RunRow = {
  answer: string | null;
  closed_by: string | null;
  /** The program's own id for the run. */
  key: string | null;
  lane: string;
  last_at: string | null;
  model: string | null;
  opened_at: string | null;
  prompt: string | null;
  request_fingerprint: string | null;
  run: RunNo;
  status: string;
  stop_reason: string | null;
  usage: TokensUsed;
};

/** A page of what a search found. */
export type SearchPage = {
  /** Whether the answer is less complete than it could be. */
  degraded: boolean;
  explain?: Explained | null;
  /** Visible files, best first. */
  files: FileHitReport[];
  /** Number of changed files that are not in the index yet. */
  files_not_indexed: number;
  /** Turns, best first. */
  hits: TurnHit[];
  /** Reasons why the answer is less complete than it could be. */
  less: string[];
  /** Words of the query that were looked up. */
  looked_for: string;
  /** Duration of the search in milliseconds. */
  ms: number;
  /** Cursor of the next page, to be sent as `cursor` with the same search; null on the last page. */
  next: string | null;
  /** Number of turns that are not in the index yet. */
  not_indexed: number;
  query: string;
  /** Words that were left out because nearly every turn has them. */
  too_frequent: string[];
  understood: Understood;
};

/** A section that an outside program has put into a head. */
export type Section = {
  content: string;
  owner: string;
};

export type SectionOverview = {
  bytes: number;
  owner: string;
  section: string;
};

/** A session that was marked as ended. */
export type SessionEnded = {
  /** Whether this call ended it; `false` if it was ended before. */
  ended: boolean;
  session: string;
};

/** A session's key: `<harness>:<the program's own session id>` (D3). */
export type SessionKey = string;

/** A session in a thread, with the number of its runs there. */
export type SessionOfThread = {
  first: string;
  last: string;
  last_at: string | null;
  runs: number;
  session: string;
  /** Name of the session; empty if it has no title and no prompt. */
  title: string;
};

/** A session with the name of its program. */
export type SessionReport = {
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session this one was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** Command that resumes the session in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** Number of turns first seen in this session, and of turns shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** A value, with the agent it belongs to. */
export type SessionReportOfAgent = {
  agent_id: string;
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session this one was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** Command that resumes the session in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** Number of turns first seen in this session, and of turns shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** A session, with its nodes, compactions and thread. */
export type SessionSubject = {
  compactions: CompactionOfAgent[];
  lanes: LaneRowOfAgent[];
  /** Nodes of the session, newest first. */
  nodes: NodeReport[];
  session: SessionReportOfAgent;
  /** Thread that the session is in now. */
  thread: ThreadRowOfAgent | null;
};

/** A session that was put into a thread. */
export type SessionSwitched = {
  session: string;
  /** The thread; `None` if the session belongs again to the thread that is derived from its runs. */
  thread: ThreadReport | null;
};

/** A value, with the agent it belongs to. */
export type SetAsideOfAgent = {
  agent_id: string;
  cut: boolean;
  /** When the bytes were forgotten. */
  forgotten: string | null;
  id: string;
  /** Key of the database row the bytes came from; empty for a file of lines. */
  key: string;
  length: number;
  line: number | null;
  /** Position of the first byte in its source. */
  offset: number;
  path: string;
  reason: string;
  session: string | null;
  /** The bytes as text, with credentials redacted. */
  text: string;
};

/** A turn that was asked for, without the credentials in its text. */
export type ShownTurn = {
  at: string | null;
  /** Id of the tool call the turn belongs to. */
  call: string | null;
  /** The program's own id for the turn. */
  entry: string;
  failed: boolean;
  /** Time at which the text of the turn was forgotten. */
  forgotten: string | null;
  kind: string;
  /** Lane of the turn: empty for the main line, otherwise the sub-agent's. */
  lane: string;
  model: string | null;
  /** Entry id of the turn that this one answers. */
  parent: string | null;
  /** Number of times the program rewrote the turn. */
  revision: number;
  role: string;
  run: RunNo;
  session: SessionKey;
  speaker: string | null;
  /** Text of the turn; empty if it was forgotten. */
  text: string;
  thread: string | null;
  tool: string | null;
  turn: string;
  /** `[input, output, cache read, cache write]` tokens of the model message, if the record states them. */
  usage: unknown;
  workspace: string | null;
};

/** One page of a list. */
export type ShownTurnPage = {
  items: ShownTurn[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** A procedure that recurs, with the draft of a skill made from it. */
export type SkillReport = {
  /** Text of the `SKILL.md` that accepting the candidate would write. */
  draft: string;
  /** The newest successful run of each session, newest first, with the turns of its steps. */
  evidence: SkillRun[];
  /** Id of the skill candidate, such as `k:7`. */
  id: string;
  name: string;
  /** Paths of the files written after a person accepted the candidate. */
  placed: string[];
  runs: number;
  /** Number of sessions that show the procedure, of times it was begun, and of times all its steps succeeded. */
  sessions: number;
  /** Steps as the draft shows them: with the names of those that are left out, because they could do harm. */
  shown: string[];
  state: "draft" | "accepted" | "rejected";
  steps: string[];
  succeeded: number;
  /** Workspace id of the project. */
  workspace: string;
};

/** One page of a list. */
export type SkillReportPage = {
  items: SkillReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** One run of a procedure. */
export type SkillRun = {
  session: string;
  turns: string[];
};

/** A file or database a session was read from, or the channel it came through. */
export type SourceReport = {
  bytes: number;
  form: OriginForm;
  /** Number of generations of the source: 1 if the file was never rewritten. */
  generations: number;
  /** Key of the database row; empty for a file. */
  key: string;
  lane: string;
  path: string;
  records: number;
};

/** Numbers of session stores, by what the import found. */
export type SourcesRead = {
  /** Stores that could not be read at all. */
  failed: number;
  /** Stores with new content. */
  read: number;
  /** Stores that were rewritten; their new content was kept as a new generation. */
  rewritten: number;
  /** Stores without new content. */
  unchanged: number;
};

/** Sum of what several calls used. */
export type Spent = {
  /** Number of calls and of tokens that were about material older than a day. */
  backlog_calls: number;
  backlog_tokens: number;
  calls: number;
  /** Cost in millionths of a US dollar, as far as the models reported it. */
  cost: number;
  /** Tokens of questions and answers; for running calls, the most they may use. */
  tokens: number;
};

/** A line of a state, with the turns it came from. */
export type StateItem = {
  text: string;
  turns: string[];
};

/** The goal of a thread, its open items and its next steps. */
export type StateReport = {
  goal: StateItem | null;
  next: StateItem[];
  open: StateItem[];
};

/** The state of a run. */
export type Status = "running" | "done" | "failed";

/** The state of an agent's memory. */
export type StatusReport = {
  agent: string;
  /** The visible files; null if there are none yet or they cannot be reached. */
  assistant: VisibleReport | null;
  /** The last row of the audit chain; null if nothing was written yet. */
  audit: Anchor | null;
  /** The last backup, and whether one failed since. */
  backup: BackupsSeen;
  embeddings: ModelReport;
  /** Number of changed files that are not in the search index yet; null if the index does not fit the files. */
  files_not_indexed: number | null;
  first_at: string | null;
  home: string;
  index_bytes: number;
  jobs: Counts;
  /** The language model; null if the settings name none. */
  language_model: LanguageModelReport | null;
  last_at: string | null;
  ledger_bytes: number;
  /** Number of turns that are not in the search index yet; null if the index does not fit the ledger. */
  not_indexed: number | null;
  programs: ProgramShare[];
  records: number;
  sessions: number;
  /** Number of records that could not be decoded; their bytes are kept. */
  set_aside: number;
  source_bytes: number;
  turns: number;
  /** Number of projects; projects joined by an alias count once. */
  workspaces: number;
  /** Problems, each with what to do about it. */
  wrong: string[];
};

/** Stored data of one session. */
export type StoredSession = {
  boundaries: BoundaryRow[];
  lanes: LaneRow[];
  /** Display name: the session's title, else its goal, else the first line said in it; empty if it has none of these. */
  name: string;
  records: RecordsReport[];
  runs: RunRow[];
  session: SessionReport;
  sources: SourceReport[];
};

/** Consecutive turns of one lane that are in one thread. */
export type StretchReport = {
  first: string;
  lane: string;
  last: string;
  runs: number;
};

/** Result of superseding: the older leaf, or the new one that was remembered in its place. */
export type Superseded = ChangedMemories | RememberedReport;

/** A thread after an act. */
export type ThreadChanged = {
  /** `false` if the thread was like this before. */
  changed: boolean;
  thread: ThreadReport;
};

/** A thread in detail. */
export type ThreadDetails = {
  links: LinkReport[];
  /** Threads that were merged into this one. */
  merged: NamedThread[];
  /** Other names of the thread. */
  names: string[];
  /** The newest nodes of the thread. */
  nodes: NodeOfThread[];
  /** People in the thread, without the operator. */
  people: string[];
  programs: string[];
  /** Sessions, last worked in first. */
  sessions: SessionOfThread[];
  state: StateReport;
  thread: CountedThread;
};

/** A thread, without the credentials in its label. */
export type ThreadReport = {
  created_at: string;
  kind: string;
  label: string;
  /** Time at which it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** Path of the thread's page, below the assistant home. */
  page: string;
  /** `active` or `closed`. */
  state: string;
  thread: string;
};

/** A value, with the agent it belongs to. */
export type ThreadRowOfAgent = {
  agent_id: string;
  created_at: string;
  label: string;
  /** Time at which it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** `active` or `closed`. */
  state: string;
  thread: string;
};

/** Two threads after an act. */
export type ThreadsChanged = {
  changed: boolean;
  threads: ThreadReport[];
};

/** A time that a query names. */
export type TimeReport = {
  /** Time of day on any day, as `20:59 to 21:09`; `from` and `until` are then null. */
  clock?: string | null;
  from: string | null;
  /** Whether everything outside the time is left out; if not, turns within it only rank higher. */
  limit: boolean;
  precision: string;
  /** Words of the query that name the time. */
  text: string;
  until: string | null;
};

/** Tokens of the turns or nodes that a node covers, and of its summary. */
export type TokensReport = {
  source: number;
  summary: number;
};

/** Tokens of a run, as its program counted them; the ledger stores more of them. */
export type TokensUsed = {
  cache_read: number | null;
  cache_write: number | null;
  input: number | null;
  output: number | null;
};

/** The amount of data stored for an agent. */
export type Totals = {
  first_at: string | null;
  last_at: string | null;
  sessions: number;
  source_bytes: number;
  turns: number;
  /** Number of projects; projects joined by an alias count once. */
  workspaces: number;
};

/** The effect of a tool on a file. */
export type Touch = "read" | "changed" | "created" | "deleted";

/** A file a tool read or changed. */
export type TouchedFile = {
  /** Path of the file: relative to the project if the file is inside it, otherwise as the tool got it. */
  path: string;
  /** The strongest operation on the file. */
  touch: Touch;
  /** The newest turns that touched it, oldest first. */
  turns: string[];
};

/** One page of turns with their text. */
export type TranscriptReport = {
  /** Reference to the next page; `None` after the last page. */
  next: string | null;
  turns: PassageReportOfAgent[];
};

/** A turn that was found. */
export type TurnHit = {
  at: string | null;
  entry: string;
  harness: string;
  kind: string;
  /** Lane of the turn: empty for the main line, else the name of the sub-agent. */
  lane: string;
  /** Positions of the matches in the snippet, in characters: `[start, end]`. */
  matches: number[][];
  /** Other turns found that say the same: the other half of a tool call, or copies of a file. */
  others: string[];
  /** The command that resumes the session in its own program. */
  resume: string | null;
  role: string;
  score: number;
  session: string;
  show: string;
  /** Text around the matches. */
  snippet: string;
  speaker: string | null;
  tool: string | null;
  turn: string;
  why: WhyTurn;
  workspace: string | null;
};

/** A value, with the agent it belongs to. */
export type TurnOnlyOfAgent = {
  agent_id: string;
  id: string;
};

/** The items before and after this one, oldest first. */
export type TurnOnlyOfAgentNeighbours = {
  after: TurnOnlyOfAgent[];
  before: TurnOnlyOfAgent[];
};

/** A value, with the agent it belongs to. */
export type TurnPlaceOfAgent = {
  agent_id: string;
  id: string;
  /** The command that prints the exact bytes of the record. */
  raw: string;
};

/** The parts of a score. Those of a turn are added up; for a file, words and date are added and multiplied by its weight. */
export type TurnScore = {
  beside: string | null;
  /** Cosine to the query, if it was compared; it counts if greater than 0. */
  cosine: number | null;
  /** Gain for lying in a time the query mentions. */
  date: number;
  /** Score by meaning: the cosine times its weight, which is greater in sessions of programs than in conversations. */
  meaning: number;
  /** Share of its neighbours' scores. */
  neighbours: number;
  /** In a conversation between two people: speaker, length and matches of its session; negative for a question. */
  people: number;
  /** The sum; a hit's score is this divided by the best hit's. */
  sum: number;
  turn: string;
  /** Factor for the kind of item: lower if it is archived or superseded. */
  weight: number;
  /** Score by words: 1 for the best. */
  words: number;
};

/** A turn and its place in the session. The text of the turn is in `transcript`. */
export type TurnSubject = {
  neighbours: TurnOnlyOfAgentNeighbours;
  /** Nodes that cover the turn; the chunk it is in comes first. */
  nodes: NodeReport[];
  run: RunOfTurnOfAgent | null;
  turn: TurnPlaceOfAgent;
};

/** Numbers of turns, by whether they were known. */
export type TurnsRead = {
  /** Turns that were stored before and came again in another record. */
  known: number;
  new: number;
  /** Turns shared with the session they were copied from. */
  shared: number;
};

/** A turn, with its neighbours if the request asked for them. */
export type TurnsReport = {
  turns: ShownTurn[];
};

/** How a query was understood. */
export type Understood = {
  /** Whether the query asks what a person said, asked, wanted or decided: turns of that person and the answers to them rank first. */
  by_person: boolean;
  people: string[];
  times: TimeReport[];
  /** Whether the search was repeated without time limits because nothing was found within them. */
  widened: boolean;
};

/** An open item without a file. It can be resolved by its id like an open loop. */
export type UnfiledReport = {
  due: string | null;
  id: string;
  /** Whether the conversation with the item is still going on. */
  running: boolean;
  since: string | null;
  text: string;
  thread: string;
  title: string;
  turns: string[];
};

/** Result of recomputing everything that is stored. */
export type Verified = {
  audit_rows: number;
  /** True if stored data is damaged; false if everything found can be rebuilt. */
  damaged: boolean;
  files: number;
  findings: VerifyFinding[];
  /** True if nothing was found. */
  ok: boolean;
  /** Number of records checked; the next fields count turns, files and audit rows. */
  records: number;
  seconds: number;
  turns: number;
};

/** One deviation that verify found. */
export type VerifyFinding = {
  /** True if stored data is damaged; false if it can be rebuilt from stored data. */
  damaged: boolean;
  subject: string;
  what: string;
};

/** Counts and problems of an agent's visible files. */
export type VisibleReport = {
  /** Number of files of each kind. */
  files: Record<string, number>;
  /** Remarks that are not problems. */
  notes: string[];
  /** Number of notices about the user that wait for a yes. */
  pending_memory: number;
  /** Folder of the visible files. */
  root: string;
};

/** An item that waits for a yes. */
export type WaitingReport = {
  /** Class of the memory; `profile` for a value of the profile; `None` for words kept aside. */
  class: string | null;
  confidence: number | null;
  /** Texts that a yes would remember or restore. */
  entries: string[];
  /** Words or outcomes that support the item, each with its turn: `t12: just ci`. Empty if the proposer named none. */
  evidence: string[];
  /** Id of the item: `p:…`, `u:17`, `s:…`, `k:3`, `o:5`, `r:12`. */
  id: string;
  /** Kind of the item: `supersession`, `noticed`, `proposal`, `skill`, `matter` or `edit`. */
  kind: string;
  /** Language model that found the item, if nothing else found it. */
  model: string | null;
  path: string | null;
  /** Why a yes would be refused at present. */
  problem: string | null;
  /** Memories or profile values that a yes would supersede. */
  replaces: OlderReport[];
  scope: string | null;
  /** Number of turns in which it was noticed. */
  seen: number | null;
  session: string | null;
  since: string | null;
  title: string;
  turns: string[];
  /** Version of the content; it changes whenever the item says something else. */
  version: string;
};

/** One page of a list. */
export type WaitingReportPage = {
  items: WaitingReport[];
  /** Cursor of the next page, to be sent as `cursor`; null on the last page. */
  next: string | null;
};

/** Why a file was found: the number of words of the query that are in it, and of words in the query. */
export type WhyFile = {
  matched: number;
  of: number;
};

/** Why one item was recalled. */
export type WhyRecalled = {
  id: string;
  marks: string[];
  reasons: string[];
  score: number;
  stage: "structured" | "lineage" | "transcript";
};

/** Why a turn was found. `matched` of `of` words of the query are in it. */
export type WhyTurn = {
  /** Neighbouring turn that matched the query, if the turn itself was only found beside it. */
  beside: string | null;
  cosine: number | null;
  /** Number of words of the query that are in the turn, and of words in the query. */
  matched: number;
  of: number;
};

/** The content of a node without a model, for nodes whose model summary is shown. */
export type WithoutModel = {
  distillate: Distillate;
  source: "harness" | "deterministic" | "model";
  summary: string;
};

/** A word of the query that was looked up. */
export type WordReport = {
  kind: string;
  text: string;
  /** Number of turns that have the word, if they were counted. */
  turns: number | null;
};

/** A workspace in a list. */
export type WorkspaceRow = {
  /** The workspace this one is an alias of. */
  alias_of: string | null;
  label: string;
  last_at: string | null;
  root: string;
  sessions: number;
  workspace: string;
};

/** What each route takes and answers. A problem is answered with another status than 2xx. */
export interface Routes {
  /** The agents that may be asked for. */
  "GET /v1/agents": {
    path: {};
    query: {};
    body: never;
    reply: AgentsReport;
  };
  /** Store a live conversation: a JSON line for each turn; the same record twice is one turn. */
  "POST /v1/append": {
    path: {};
    query: {};
    body: string;
    reply: Appended;
  };
  /** What was made and kept, newest first. */
  "GET /v1/artifacts": {
    path: {};
    query: { cursor?: string; limit?: number };
    body: never;
    reply: EntryReportPage;
  };
  /** Keep a text; a taken name gets -2, -3. */
  "POST /v1/artifacts": {
    path: {};
    query: {};
    body: {
      /** The text is not Markdown: it is stored in a fence. */
      plain?: boolean;
      /** Text of the artifact, as Markdown. */
      text: string;
      /** Title in a few words; the file is named after the title and the day. */
      title: string;
    };
    reply: Item;
  };
  /** An artifact with its text. */
  "GET /v1/artifacts/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: FileTextReport;
  };
  /** Who changed what, newest first: one row for each transaction. */
  "GET /v1/audit": {
    path: {};
    query: { cursor?: string; limit?: number };
    body: never;
    reply: EntryPage;
  };
  /** Who waits to be let in on a channel, newest first. */
  "GET /v1/channels/requests": {
    path: {};
    query: { all?: boolean; cursor?: string; limit?: number };
    body: never;
    reply: RequestReportPage;
  };
  /** Note that somebody asks to be let in; while they wait, asking again is the same request. */
  "POST /v1/channels/requests": {
    path: {};
    query: {};
    body: {
      /** The channel, as its program names it: `telegram`. */
      channel: string;
      /** Message the person sent with the request. */
      detail?: string | null;
      /** Name the person goes by. */
      name?: string | null;
      /** Id of the person, as the channel names them. */
      peer: string;
    };
    reply: AnsweredReport;
  };
  /** Note that they were let in. */
  "POST /v1/channels/requests/{id}/approve": {
    path: { id: string };
    query: {};
    body: {};
    reply: AnsweredReport;
  };
  /** Note that they were not let in. */
  "POST /v1/channels/requests/{id}/deny": {
    path: { id: string };
    query: {};
    body: {};
    reply: AnsweredReport;
  };
  /** What a session is given at a start, with a prompt, after a compaction; recorded unless it is a dry run. */
  "POST /v1/context": {
    path: {};
    query: {};
    body: {
      /** Maximum number of tokens. */
      budget?: number | null;
      /** Only show what would be given; store nothing. */
      dry_run?: boolean;
      /** start, resume, clear, compact or prompt; default prompt if `prompt` is set, start otherwise. */
      event?: string | null;
      /** Include how the prompt was understood and what was recalled for it. */
      explain?: boolean;
      /** The program does not keep the context it is given: everything of this epoch is given again. */
      for_one_call?: boolean;
      /** The person's prompt. */
      prompt?: string | null;
      /** The session: program:id, or the beginning of the id of a stored session. */
      session: string;
      /** Thread the session belongs to. */
      thread?: string | null;
      /** The program does not keep turns: the newest ones are given as well. */
      with_tail?: boolean;
      /** Project of a session of which nothing is stored yet: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: ContextReport;
  };
  /** Ask the process to make room for a newer one. Only through the socket. */
  "POST /v1/daemon/retire": {
    path: {};
    query: {};
    body: {};
    reply: Retiring;
  };
  /** Home, service, programs and what connects them, each with what to do. */
  "GET /v1/doctor": {
    path: {};
    query: {};
    body: never;
    reply: ChecksReport;
  };
  /** What changed, as it changes: server-sent events that say what to read again, never what it says. */
  "GET /v1/events": {
    path: {};
    query: { after?: number };
    body: never;
    reply: string;
  };
  /** What sessions were found to show about their projects, best first. */
  "GET /v1/evolve": {
    path: {};
    query: { all?: boolean; cursor?: string; limit?: number };
    body: never;
    reply: CandidateReportPage;
  };
  /** What any reference stands for: above, below and around it, and its words. */
  "GET /v1/expand": {
    path: {};
    query: { cursor?: string; depth?: number; id: string; limit?: number; transcript?: boolean };
    body: never;
    reply: ExpandReport;
  };
  /** The heads, who is at work on them, and what waits. */
  "GET /v1/heads": {
    path: {};
    query: { cursor?: string; limit?: number };
    body: never;
    reply: HeadReportPage;
  };
  /** What a head says: the rendered block and the sections. */
  "GET /v1/heads/{head}": {
    path: { head: string };
    query: { revision?: number };
    body: never;
    reply: HeadShown;
  };
  /** Take a head, to commit sections to it. */
  "POST /v1/heads/{head}/acquire": {
    path: { head: string };
    query: {};
    body: {
      /** Name the caller chooses for itself: letters, digits and - _ . : @ / */
      owner: string;
      /** Duration of the lease in seconds: 1 to 60. */
      ttl?: number | null;
    };
    reply: HeadGranted;
  };
  /** Put a section in, replace it, or take it out. */
  "POST /v1/heads/{head}/commit": {
    path: { head: string };
    query: {};
    body: {
      /** Revision the new content is based on. */
      base: number;
      /** New content of the section, at most 4 KiB; empty removes the section. */
      content: string;
      /** Epoch returned with the lease. */
      epoch: number;
      /** Owner name the lease was acquired with. */
      owner: string;
      /** Name of the section: 1 to 40 of a-z, 0-9 and -. */
      section: string;
    };
    reply: HeadCommitted;
  };
  /** The lines in which two revisions differ. */
  "GET /v1/heads/{head}/diff": {
    path: { head: string };
    query: { from: number; to?: number };
    body: never;
    reply: HeadDiff;
  };
  /** The revisions of a head, newest first. */
  "GET /v1/heads/{head}/log": {
    path: { head: string };
    query: { limit?: number };
    body: never;
    reply: HeadLog;
  };
  /** Give a head back. */
  "POST /v1/heads/{head}/release": {
    path: { head: string };
    query: {};
    body: {
      /** Epoch returned with the lease. */
      epoch: number;
      /** Owner name the lease was acquired with. */
      owner: string;
    };
    reply: HeadReleased;
  };
  /** Bring the sections of a revision back, as a new one. */
  "POST /v1/heads/{head}/restore": {
    path: { head: string };
    query: {};
    body: {
      /** Revision whose sections are restored. */
      revision: number;
    };
    reply: HeadRestored;
  };
  /** Why each line of a head is there, and what was left out. */
  "GET /v1/heads/{head}/why": {
    path: { head: string };
    query: {};
    body: never;
    reply: HeadExplained;
  };
  /** Whether somebody is at home. */
  "GET /v1/health": {
    path: {};
    query: {};
    body: never;
    reply: Health;
  };
  /** A program's hook: its payload as it is; answers what the hook prints. Only through the socket. */
  "POST /v1/hooks/{program}/{event}": {
    path: { program: string; event: string };
    query: {};
    body: string;
    reply: string;
  };
  /** Read what is new in the programs' session stores. */
  "POST /v1/import": {
    path: {};
    query: {};
    body: {
      /** Files and folders to read in place of the programs' own stores. Only accepted through the socket. */
      paths?: string[];
      /** Names of the programs to import; empty for all of them. */
      programs?: string[];
    };
    reply: Imported;
  };
  /** What was given to sessions, newest first, without the words. */
  "GET /v1/injections": {
    path: {};
    query: { cursor?: string; limit?: number; session?: string };
    body: never;
    reply: ReplayedOfAgentPage;
  };
  /** A context that was given, word for word, and why. */
  "GET /v1/injections/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: Injection;
  };
  /** Every scheduled job and how it ended last, newest first. */
  "GET /v1/jobs": {
    path: {};
    query: { cursor?: string; limit?: number };
    body: never;
    reply: RunReportPage;
  };
  /** The last runs of a job, newest first. */
  "GET /v1/jobs/{name}": {
    path: { name: string };
    query: { limit?: number };
    body: never;
    reply: JobReport;
  };
  /** Mark a job's failures as seen. */
  "POST /v1/jobs/{name}/ack": {
    path: { name: string };
    query: {};
    body: {};
    reply: AcknowledgedReport;
  };
  /** Record a run that has ended; the same command begun at the same moment is the same run. */
  "POST /v1/jobs/{name}/runs": {
    path: { name: string };
    query: {};
    body: {
      /** The command line, as a person would read it. */
      command: string;
      /** Reason of a failure without an exit code, such as a command that could not be started or ran out of time. */
      error?: string | null;
      /** Exit code; 0 is success. One of `exit_code`, `signal` and `error` is needed. */
      exit_code?: number | null;
      /** Output of the job, stored as an artifact; of a long output only the beginning and the end are kept. */
      output?: string;
      /** Number of the signal that ended the job. */
      signal?: number | null;
      /** Start time in milliseconds since 1970; default now. */
      started_at?: number | null;
    };
    reply: RunReport;
  };
  /** What is open: first what has a due date, the earliest first; then the newest, and open items of pages that have no file yet last. */
  "GET /v1/loops": {
    path: {};
    query: { cursor?: string; limit?: number; resolved?: boolean; workspace?: string };
    body: never;
    reply: OpenItemPage;
  };
  /** Open a loop; one of this title that is open already is added to. */
  "POST /v1/loops": {
    path: {};
    query: {};
    body: {
      /** Due date: YYYY-MM-DD. */
      due?: string | null;
      /** Further text, as Markdown. */
      text?: string | null;
      /** Title in a few words; adding the same title again returns the same loop. */
      title: string;
      /** Project the loop belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: Item;
  };
  /** An open loop with its text. */
  "GET /v1/loops/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: OneItem;
  };
  /** Open a resolved loop again. */
  "POST /v1/loops/{id}/reopen": {
    path: { id: string };
    query: {};
    body: {};
    reply: Item;
  };
  /** Close a loop; its file goes to the archive. */
  "POST /v1/loops/{id}/resolve": {
    path: { id: string };
    query: {};
    body: {
      /** Note on how the loop ended. */
      note?: string | null;
    };
    reply: Item;
  };
  /** What is remembered, pinned first, then newest first. */
  "GET /v1/memory": {
    path: {};
    query: { class?: string; cursor?: string; limit?: number; pinned?: boolean; stale?: boolean; superseded?: boolean; tag?: string; workspace?: string };
    body: never;
    reply: MemoryReportPage;
  };
  /** Remember something a person said to remember; programs propose. */
  "POST /v1/memory": {
    path: {};
    query: {};
    body: {
      /** preference, identity, fact, procedure, blocker or reference; default fact in a project, preference elsewhere. */
      class?: string | null;
      /** Confidence, from 0 to 1. */
      confidence?: number | null;
      /** Subject of the leaf, if the title does not say it. */
      subject?: string | null;
      /** Tags, for finding it. */
      tags?: string[];
      /** Text to remember, as Markdown. */
      text: string;
      /** Title in a few words; default the first sentence. A new text under an existing title supersedes the older leaf. */
      title?: string | null;
      /** Project the leaf belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: RememberedReport;
  };
  /** Memories with these words, best first. */
  "GET /v1/memory/search": {
    path: {};
    query: { class?: string; limit?: number; q: string; tag?: string; workspace?: string };
    body: never;
    reply: MemorySearchReport;
  };
  /** A memory with its text, and whether it is still good. */
  "GET /v1/memory/{id}": {
    path: { id: string };
    query: { workspace?: string };
    body: never;
    reply: FileTextReport;
  };
  /** Change a memory; the old text is kept as a revision. */
  "POST /v1/memory/{id}/edit": {
    path: { id: string };
    query: {};
    body: {
      /** Confidence, from 0 to 1. */
      confidence?: number | null;
      /** Summary shown in lists. */
      summary?: string | null;
      /** New list of tags; it replaces the present ones. */
      tags?: string[] | null;
      /** The new text. */
      text?: string | null;
      /** New title; the file keeps its name. */
      title?: string | null;
    };
    reply: FileTextReport;
  };
  /** Remove it without a trace; no program brings it back. */
  "POST /v1/memory/{id}/forget": {
    path: { id: string };
    query: {};
    body: {};
    reply: ForgottenMemories;
  };
  /** Keep it in front, or let go of it again. */
  "POST /v1/memory/{id}/pin": {
    path: { id: string };
    query: {};
    body: {
      /** Remove the pin instead of setting it. */
      off?: boolean;
    };
    reply: ChangedMemories;
  };
  /** Put something else in its place; it stays as history. */
  "POST /v1/memory/{id}/supersede": {
    path: { id: string };
    query: {};
    body: {
      /** Id of the leaf that holds instead. */
      by?: string | null;
      /** Text that holds now, if it is not remembered yet. */
      text?: string | null;
    };
    reply: Superseded;
  };
  /** Say that it still holds. */
  "POST /v1/memory/{id}/verify": {
    path: { id: string };
    query: {};
    body: {};
    reply: ChangedMemories;
  };
  /** A summary, what it was made of, and what was made of it. */
  "GET /v1/nodes/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: ExpandReport;
  };
  /** A summary with more levels below it, and with its words. */
  "GET /v1/nodes/{id}/expand": {
    path: { id: string };
    query: { cursor?: string; depth?: number; limit?: number; transcript?: boolean };
    body: never;
    reply: ExpandReport;
  };
  /** What was worked on, and what is being worked on now. */
  "GET /v1/now": {
    path: {};
    query: {};
    body: never;
    reply: Overview;
  };
  /** This document. */
  "GET /v1/openapi.json": {
    path: {};
    query: {};
    body: never;
    reply: Record<string, unknown>;
  };
  /** Everything that waits for a yes: by kind, the newest of each first. */
  "GET /v1/proposals": {
    path: {};
    query: { cursor?: string; limit?: number };
    body: never;
    reply: WaitingReportPage;
  };
  /** Propose memory; what waits under this title is added to. */
  "POST /v1/proposals": {
    path: {};
    query: {};
    body: {
      /** preference, identity, fact, procedure, blocker or reference; default fact in a project, preference elsewhere. */
      class?: string | null;
      /** Confidence, from 0 to 1. */
      confidence?: number | null;
      /** Texts to remember; each becomes a leaf of its own. */
      entries: string[];
      /** Title in a few words; default the first sentence. Adding the same title again returns the same proposal. */
      title?: string | null;
      /** Project the proposal belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: Item;
  };
  /** Say yes or no to several; what cannot be decided says why. */
  "POST /v1/proposals/decide": {
    path: {};
    query: {};
    body: {
      /** Answer to a waiting item. */
      answer: "accept" | "reject";
      /** With a yes: keep the leaf this item contradicts, too. */
      both?: boolean;
      items: {
        id: string;
        /** `version` of the item the person saw; the decision is refused if the item has changed since. */
        version?: string | null;
      }[];
      /** With a no: the reason. */
      reason?: string | null;
    };
    reply: DecisionsReport;
  };
  /** Proposals that were merged or rejected, newest first. */
  "GET /v1/proposals/decided": {
    path: {};
    query: { cursor?: string; limit?: number; status?: string; workspace?: string };
    body: never;
    reply: EntryReportPage;
  };
  /** Take decisions back; without ids, the last one. */
  "POST /v1/proposals/undo": {
    path: {};
    query: {};
    body: {
      /** Ids of decisions to undo; empty for the last decision. */
      items?: string[];
    };
    reply: DecisionsReport;
  };
  /** One of them: what it says, where that was said, what it replaces. */
  "GET /v1/proposals/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: WaitingReport;
  };
  /** Say yes. */
  "POST /v1/proposals/{id}/accept": {
    path: { id: string };
    query: {};
    body: {
      /** Keep the leaf this item contradicts, too. */
      both?: boolean;
      /** `version` of the item the person saw; the decision is refused if the item has changed since. */
      version?: string | null;
    };
    reply: DecidedReport;
  };
  /** Change what would be remembered, before the yes. */
  "POST /v1/proposals/{id}/edit": {
    path: { id: string };
    query: {};
    body: {
      /** New class: preference, identity, fact, procedure, blocker or reference. */
      class?: string | null;
      /** New texts; a proposal with several leaves needs one for each. */
      entries?: string[] | null;
      /** `agent` if the leaf holds everywhere; otherwise `workspace` names the project. */
      scope?: string | null;
      /** Project the leaf belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: WaitingReport;
  };
  /** Say no. */
  "POST /v1/proposals/{id}/reject": {
    path: { id: string };
    query: {};
    body: {
      /** Reason, which is stored with a proposal. */
      reason?: string | null;
      /** `version` of the item the person saw; the decision is refused if the item has changed since. */
      version?: string | null;
    };
    reply: DecidedReport;
  };
  /** Take a decision back. */
  "POST /v1/proposals/{id}/undo": {
    path: { id: string };
    query: {};
    body: {};
    reply: DecidedReport;
  };
  /** The little that answers a question: memory, then summaries, then the words (the three tiers). */
  "GET /v1/recall": {
    path: {};
    query: { deep?: boolean; explain?: boolean; limit?: number; q: string; session?: string; thread?: string; workspace?: string };
    body: never;
    reply: RecallReport;
  };
  /** Find turns and visible files, best first: words, "phrases", begin*, times. */
  "GET /v1/search": {
    path: {};
    query: { archived?: boolean; class?: string; cursor?: string; explain?: boolean; harness?: string; kind?: string; limit?: number; q: string; role?: string; session?: string; since?: string; thread?: string; until?: string; workspace?: string };
    body: never;
    reply: SearchPage;
  };
  /** Exchange a code for the token of a page; the only request without a token. */
  "POST /v1/session": {
    path: {};
    query: {};
    body: {
      /** The code. */
      code: string;
    };
    reply: Opened;
  };
  /** A code for one use, with which a page gets its token within a minute. Only through the socket. */
  "POST /v1/session/code": {
    path: {};
    query: {};
    body: {
      /** Agents the page may ask for; default the agent of this request. */
      agents?: string[];
    };
    reply: Code;
  };
  /** Sessions of all programs, the one last worked in first. */
  "GET /v1/sessions": {
    path: {};
    query: { cursor?: string; harness?: string; limit?: number; since?: string; until?: string; workspace?: string };
    body: never;
    reply: ListedSessionPage;
  };
  /** What is stored of one session: files, records, runs, results. */
  "GET /v1/sessions/{key}": {
    path: { key: string };
    query: { brief?: boolean };
    body: never;
    reply: StoredSession;
  };
  /** Let one handoff take the place of what was said; nothing is deleted. */
  "POST /v1/sessions/{key}/compact": {
    path: { key: string };
    query: {};
    body: {
      /** Only show the handoff; store nothing. */
      dry_run?: boolean;
      /** Last turn the handoff replaces: a turn (t9c11) or the program's own id of one; default the whole session. */
      until?: string | null;
    };
    reply: CompactReport;
  };
  /** Mark a session as over. */
  "POST /v1/sessions/{key}/end": {
    path: { key: string };
    query: {};
    body: {};
    reply: SessionEnded;
  };
  /** How many turns a session has, in sections, and how long they are: what a reader needs before the words. */
  "GET /v1/sessions/{key}/outline": {
    path: { key: string };
    query: { at?: string };
    body: never;
    reply: Outline;
  };
  /** From its next prompt on, let a session belong to a thread. */
  "POST /v1/sessions/{key}/switch": {
    path: { key: string };
    query: {};
    body: {
      /** The thread; a new key topic/… or lane/… creates it. Null: the thread Heirloom assigns by itself. */
      thread?: string | null;
    };
    reply: SessionSwitched;
  };
  /** What was said in a session, in its order: the main line, then each sub-agent. The transcript. */
  "GET /v1/sessions/{key}/turns": {
    path: { key: string };
    query: { cursor?: string; lane?: string; limit?: number };
    body: never;
    reply: ShownTurnPage;
  };
  /** Procedures that recur, those that most sessions show first. */
  "GET /v1/skills": {
    path: {};
    query: { all?: boolean; cursor?: string; limit?: number };
    body: never;
    reply: SkillReportPage;
  };
  /** One of them, as the SKILL.md it would be. */
  "GET /v1/skills/{id}": {
    path: { id: string };
    query: {};
    body: never;
    reply: SkillReport;
  };
  /** Say yes: it is written into the project's folder of the memory. Into a program's folder only a command writes it. */
  "POST /v1/skills/{id}/accept": {
    path: { id: string };
    query: {};
    body: {};
    reply: SkillReport;
  };
  /** Say no: it is not drafted again. */
  "POST /v1/skills/{id}/reject": {
    path: { id: string };
    query: {};
    body: {};
    reply: SkillReport;
  };
  /** What is stored, how big, what is pending, what is wrong. */
  "GET /v1/status": {
    path: {};
    query: {};
    body: never;
    reply: StatusReport;
  };
  /** What is being worked on, last worked in first. */
  "GET /v1/threads": {
    path: {};
    query: { all?: boolean; cursor?: string; limit?: number; session?: string };
    body: never;
    reply: ListedThreadPage;
  };
  /** Where a thread stands: goal, what is open, people, sessions, nodes. */
  "GET /v1/threads/{key}": {
    path: { key: string };
    query: {};
    body: never;
    reply: ThreadDetails;
  };
  /** Take a thread off the list, until something new begins in it. */
  "POST /v1/threads/{key}/close": {
    path: { key: string };
    query: {};
    body: {};
    reply: ThreadChanged;
  };
  /** Say that two threads may know of each other. */
  "POST /v1/threads/{key}/link": {
    path: { key: string };
    query: {};
    body: {
      /** The other thread. */
      other: string;
      /** Relation between the two threads. */
      why?: string | null;
    };
    reply: ThreadsChanged;
  };
  /** Make a thread part of another. */
  "POST /v1/threads/{key}/merge": {
    path: { key: string };
    query: {};
    body: {
      /** Thread this one is merged into. */
      into: string;
    };
    reply: ThreadChanged;
  };
  /** Call a thread something else; old names lead to it still. */
  "POST /v1/threads/{key}/name": {
    path: { key: string };
    query: {};
    body: {
      /** New name in a few words. */
      name: string;
    };
    reply: ThreadChanged;
  };
  /** Put a closed thread back on the list. */
  "POST /v1/threads/{key}/reopen": {
    path: { key: string };
    query: {};
    body: {};
    reply: ThreadChanged;
  };
  /** Take a link away. */
  "POST /v1/threads/{key}/unlink": {
    path: { key: string };
    query: {};
    body: {
      /** The other thread. */
      other: string;
    };
    reply: ThreadsChanged;
  };
  /** Take a merged thread out again. */
  "POST /v1/threads/{key}/unmerge": {
    path: { key: string };
    query: {};
    body: {};
    reply: ThreadChanged;
  };
  /** Sessions of a stretch of time, the one last worked in first. */
  "GET /v1/timeline": {
    path: {};
    query: { cursor?: string; harness?: string; limit?: number; since?: string; until?: string; workspace?: string };
    body: never;
    reply: ListedSessionPage;
  };
  /** Something that was said, with turns before and behind it. */
  "GET /v1/turns/{id}": {
    path: { id: string };
    query: { around?: number };
    body: never;
    reply: TurnsReport;
  };
  /** What its program wrote for a turn, as text: at most 1 MiB, credentials redacted. */
  "GET /v1/turns/{id}/record": {
    path: { id: string };
    query: {};
    body: never;
    reply: RecordText;
  };
  /** Recompute everything that is stored, and name what differs. It takes a while. */
  "POST /v1/verify": {
    path: {};
    query: {};
    body: {};
    reply: Verified;
  };
  /** The agent's projects, the one last worked in first. */
  "GET /v1/workspaces": {
    path: {};
    query: {};
    body: never;
    reply: ProjectsReport;
  };
}
