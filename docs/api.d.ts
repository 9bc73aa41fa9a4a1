// The types of Heirloom's HTTP API, made from openapi.json: BLESS=1 cargo test -p heirloom-http

/** Failures of a job that were marked as seen. */
export type AcknowledgedReport = {
  /** How many runs that concerns. */
  acknowledged: number;
  job: string;
};

/** The result of writing a memory: the new one, or the existing one. */
export type Added = {
  change: Outcome;
  class: Class;
  /** `m:…`; empty if it was forgotten. */
  id: string;
  /** `None` if it was forgotten. */
  path: RelPath | null;
  scope: string;
  /** The ids of the memories it supersedes. */
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
  /** The one that is meant where none is named. */
  default: string;
};

/** A node further above. */
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
  /** The model whose words the summary has: `claude/haiku`. Null without one. */
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
  /** The first and the last turn it covers, and when those were said. */
  turns: [string, string];
  /** What the node says without the model. */
  without_model: WithoutModel | null;
};

/** Requests after they were made or answered. */
export type AnsweredReport = {
  events: RequestReport[];
};

/** What became of the lines that were sent. */
export type Appended = {
  /** One for each line that was not blank, in their order. */
  lines: LineReport[];
  /** Lines that could not be used. */
  refused: number;
  turns: LinesTaken;
};

/** What a model was asked about, and what it may still be asked about. */
export type Asked = {
  done: number;
  due: number;
};

/** What is remembered of the last backups, in `state/backup.json`. */
export type BackupsSeen = {
  /** When the last one was made, in milliseconds; null: never. */
  at: number | null;
  /** When an attempt failed since, and why; null: none has. */
  failed_at: number | null;
  /** Where it is. */
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

/** A node with what is below it. */
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
  /** The model whose words the summary has: `claude/haiku`. Null without one. */
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
  /** The first and the last turn it covers, and when those were said. */
  turns: [string, string];
  /** What the node says without the model. */
  without_model: WithoutModel | null;
};

/** What may be used in a day; configurable. */
export type Budget = {
  calls: number;
  tokens: number;
};

/** Something sessions show. */
export type CandidateReport = {
  /** When its state changed last. */
  changed: string;
  class: Class;
  confidence: number;
  evidence: EvidenceReport[];
  /** The memory or the proposal it became. */
  item: string | null;
  /** The language model that found it, where nothing else did. */
  model: string | null;
  sessions: number;
  state: "waiting" | "proposed" | "written" | "known" | "rejected" | "undone";
  text: string;
  workspace: string;
};

/** Some items of a list. */
export type CandidateReportPage = {
  items: CandidateReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** The effect of an upsert. */
export type Change = "new" | "changed" | "same";

/** Memories after they were changed. */
export type ChangedMemories = {
  items: MemoryReport[];
};

/** Something of an agent's. */
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

/** One thing that was looked at. */
export type Check = {
  /** What to do about it, where something is to be done. */
  next: string | null;
  ok: boolean;
  /** A part of the home, or a program by its title. */
  subject: string;
  what: string;
};

/** What was looked at on this machine: the home, the service, the programs and what connects them. */
export type ChecksReport = {
  checks: Check[];
  /** Nothing needs a person. */
  ok: boolean;
};

/** The class of a memory. */
export type Class = "preference" | "identity" | "fact" | "procedure" | "blocker" | "reference";

/** A code for one use. */
export type Code = {
  code: string;
  /** For how many seconds it is good. */
  seconds: number;
};

/** What a compaction of a session came to. */
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
  /** The last turn it takes the place of. */
  until: string;
} | {
  distillate: Distillate;
  /** How often the context of the session was cut. */
  epoch: number;
  handoff: string;
  /** One node for each thread; the last is that of the conversation. */
  nodes: CompactedNode[];
  /** The turns behind it, which stay as they are. */
  preserved: string[];
  tokens: number;
  /** The last turn it takes the place of. */
  until: string | null;
});

/** A node a compaction made. */
export type CompactedNode = {
  agent_id: string;
  /** How many turns it covers. */
  count: number;
  id: string;
  /** Whose words it has: those of the program, of a model, or our own. */
  source: "harness" | "deterministic" | "model";
  thread: string;
  /** The first and the last turn it covers. */
  turns: string[];
};

/** Something of an agent's. */
export type CompactionOfAgent = {
  agent_id: string;
  at: string;
  cause: string;
  lane: string;
  node: string | null;
  /** The last turn that the handoff replaces. */
  until: string;
};

/** Something of an agent's. */
export type ContextItemOfAgent = {
  agent_id: string;
  id: string;
  part: string;
};

/** A context that was put together. */
export type ContextReport = {
  agent_id: string;
  /** What the program is given; empty where there is nothing to give. */
  block: string;
  /** Why it is less than it could be. */
  degraded: string[];
  dropped: Dropped[];
  /** Counts up each time the context of the session is cut. */
  epoch: number;
  event: string;
  /** How the prompt was understood and what was recalled for it, where that was asked for. */
  explain?: PromptExplained | null;
  /** Equal requests over equal memory have equal ones. */
  fingerprint: string;
  /** Where it was recorded; `None` where it was only looked at, or nothing in it is new. */
  id: string | null;
  /** In the order they are printed. */
  parts: PartReport[];
  session: string;
  thread: string | null;
  tokens: number;
  workspace: string | null;
};

/** A thread and how much is in it. */
export type CountedThread = {
  created_at: string;
  kind: string;
  label: string;
  /** When it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** Where its page stands, below the assistant home. */
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

/** What became of one item. */
export type DecidedReport = {
  id: string;
  memories: Added[];
  /** `accepted`, `rejected`, `undone` or `changed`. */
  outcome: string;
  /** The file words were put back into. */
  path: string | null;
  /** The files of a skill that were written. */
  placed: string[];
  /** The value of the profile that was set: `profile:language`. */
  profile: string | null;
  /** Undone: memories that were removed. */
  removed: string[];
  /** Undone: memories that are current again. */
  restored: string[];
  /** Memories that are superseded now. */
  superseded: string[];
  title: string;
};

/** What decisions came to, in the order they were made. */
export type DecisionsReport = {
  items: DecidedReport[];
  /** What was not decided, and why. */
  refused: RefusedReport[];
};

export type DeferredReport = {
  owner: string;
  section: string;
};

export type DiffLine = {
  /** `same`, `added` or `removed`. */
  change: string;
  text: string;
};

/** The structured part of a node. Lists are in the order in which things were said; a budget keeps the items at the end (the newest) first, except for constraints, which do not lose weight with age. */
export type Distillate = {
  blocked?: DistilledItem[];
  /** Directives and preferences, only in the user's own words. */
  constraints?: DistilledItem[];
  /** Error messages, commands, names and numbers needed to continue. */
  context?: DistilledItem[];
  /** Choices that were stated. */
  decisions?: DistilledItem[];
  done?: DistilledItem[];
  files?: TouchedFile[];
  /** Failures that were found and mended, each with what mended it. */
  fixed?: DistilledItem[];
  /** The matter in hand, in the user's words: the request that opened it and, behind an arrow, the newest one. */
  goal?: DistilledItem | null;
  in_progress?: DistilledItem[];
  next_steps?: DistilledItem[];
  /** Unresolved requests, promises, failures and questions. */
  open_loops?: DistilledItem[];
  proposals?: Proposed[];
  /** Rules and acceptance criteria of the task in hand, read in its ticket or document: `shop-4 → Refunds are idempotent`. Said by the task, not by the user (R14.3). */
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

/** Some items of a list. */
export type EntryPage = {
  items: Entry[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A visible file, as the file table has it. */
export type EntryReport = {
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** The keys of its front matter. */
  fields: unknown;
  id: string | null;
  path: string;
  /** What is wrong with the file. */
  problem: string | null;
  scope: string | null;
  status: string | null;
  title: string;
};

/** Something of an agent's. */
export type EntryReportOfAgent = {
  agent_id: string;
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** The keys of its front matter. */
  fields: unknown;
  id: string | null;
  path: string;
  /** What is wrong with the file. */
  problem: string | null;
  scope: string | null;
  status: string | null;
  title: string;
};

/** Some items of a list. */
export type EntryReportPage = {
  items: EntryReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A piece of evidence. */
export type EvidenceReport = {
  session: string;
  text: string;
  turn: string;
};

/** What a reference stands for. */
export type ExpandReport = {
  /** The words, where they were asked for and there are any. */
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
});

/** Something of an agent's. */
export type ExpandedFileOfAgent = {
  agent_id: string;
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** There is more of it. */
  cut: boolean;
  /** The keys of its front matter. */
  fields: unknown;
  /** Where it lies on this machine; `None`: out of reach. */
  file: string | null;
  id: string | null;
  kind: string;
  /** The line that was named. */
  line: number | null;
  path: string;
  /** What is wrong with the file. */
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
  /** The model whose words the summary has: `claude/haiku`. Null without one. */
  model: string | null;
  /** What was made in its place, when something of it was forgotten. */
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
  /** The first and the last turn it covers, and when those were said. */
  turns: [string, string];
  /** What the node says without the model. */
  without_model: WithoutModel | null;
};

/** How the query was understood, what each score is made of, what the search was limited to. */
export type Explained = {
  /** What is near in meaning is found even without a word of the query. */
  by_meaning_too: boolean;
  files: FileScore[];
  hits: TurnScore[];
  less: string[];
  limits: Record<string, string>;
  /** What was looked for by meaning. */
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
  /** Where it lies on this machine. */
  file: string;
  id: string | null;
  kind: string;
  /** The line that answers, counted from 1. */
  line: number;
  matches: number[][];
  path: string;
  /** Rendered from other files and turns; behind those. */
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

/** The parts of a score. A turn's are added up; a file's words and date are added and multiplied by its weight. */
export type FileScore = {
  /** Cosine to the query, if it was compared; it counts if greater than 0. */
  cosine: number | null;
  /** Gain for lying in a time the query mentions. */
  date: number;
  /** What its neighbours add. */
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

/** A visible file, or some lines of it. */
export type FileSubject = {
  file: ExpandedFileOfAgent;
  /** Where to go on: its source, and what stands in brackets in the text. */
  references: string[];
  source: ProvenanceOfAgent;
};

/** A visible file with its text, without credentials. */
export type FileTextReport = {
  /** Its text without the front matter. */
  body: string;
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** The keys of its front matter. */
  fields: unknown;
  /** Where it lies on this machine; `None`: out of reach. */
  file: string | null;
  /** `None`: it does not grow old. */
  fresh_until?: string | null;
  id: string | null;
  kind: string;
  path: string;
  /** What is wrong with the file. */
  problem: string | null;
  scope: string | null;
  /** It should be looked at again. */
  stale?: boolean;
  /** The policy it grows old by. */
  staleness?: string;
  state: string;
  status: string | null;
  /** What is remembered, without the heading. */
  text?: string;
  title: string;
  verification?: string;
};

/** Memories that were forgotten. */
export type ForgottenMemories = {
  /** Their ids. */
  forgotten: (string | null)[];
  /** How many archived proposals that said the same went with them. */
  with: number;
};

/** A section that stands. */
export type HeadCommitted = {
  /** Never: it stands. */
  deferred: boolean;
  epoch: number;
  head: string;
  /** In the file, too; else the next command puts it there. */
  published: boolean;
  revision: number;
  section: string;
};

/** The lines in which two revisions of a head differ, and those around them. */
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

/** A head that was acquired. */
export type HeadGranted = {
  base_revision: number;
  /** The rendered block of that revision. */
  content: string;
  epoch: number;
  head: string;
  lease_until_ms_from_now: number;
  owner: string;
  sections: Record<string, Section>;
};

/** Revisions of a head, newest first. */
export type HeadLog = {
  /** How many are kept in all. */
  all: number;
  head: string;
  revisions: HeadRevision[];
};

/** A head that was given back. */
export type HeadReleased = {
  head: string;
  /** `false`: it belonged to another one by then. */
  released: boolean;
};

/** A head, who is at work on it, and what waits. */
export type HeadReport = {
  /** Commits that wait for it to be free. */
  deferred: DeferredReport[];
  epoch: number;
  /** In how many milliseconds it is free at the latest. */
  free_in_ms: number;
  /** `memory`, or a thread's key. */
  head: string;
  holder: string | null;
  /** Of a thread. */
  label: string | null;
  path: string;
  /** The revision that stands in the file. */
  published: number;
  revision: number;
  sections: SectionOverview[];
};

/** Some items of a list. */
export type HeadReportPage = {
  items: HeadReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A head whose sections are those of an older revision again. */
export type HeadRestored = {
  /** The older revision. */
  from: number;
  head: string;
  /** The revision that stands now. */
  revision: number;
  /** The names of its sections. */
  sections: string[];
};

/** One revision, as listed. */
export type HeadRevision = {
  at: string;
  digest: string;
  epoch: number;
  /** Its rendered words were forgotten. */
  forgotten: boolean;
  /** Who committed it; `heirloom`: it was rendered. */
  owner: string;
  revision: number;
  /** The names of its sections. */
  sections: string[];
};

/** What a revision of a head says. */
export type HeadShown = {
  /** The rendered block. */
  content: string;
  head: string;
  /** The newest there is. */
  newest: number;
  path: string;
  revision: number;
  sections: Record<string, Section>;
};

/** Whether somebody is at home. */
export type Health = {
  /** Whom it answers for where a request names nobody. */
  agent: string;
  /** `<schema>.<version>` of the process. */
  build: string;
  /** The newest number of the audit. */
  newest: number;
  /** Always true; no answer is the other case. */
  ok: boolean;
};

/** What an import came to. */
export type Imported = {
  bytes: number;
  /** Spans marked private, which were left out. */
  private: number;
  problems: InputProblem[];
  /** Records that were stored. */
  records: number;
  seconds: number;
  /** Records that could not be decoded; their bytes are kept. */
  set_aside: number;
  sources: SourcesRead;
  turns: TurnsRead;
};

/** A context that was given, with what its lines cost. */
export type Injection = {
  agent_id: string;
  at: string;
  /** The capabilities of the program. */
  can: unknown;
  /** `request`, `profile`, `lines`, `dropped`, `dropped_more`, `degraded`, `block` and `digest`, as they are stored; `None`: they were forgotten. */
  content: unknown;
  epoch: number;
  event: string;
  fingerprint: string;
  id: string;
  /** The tokens of each line of the block, by the estimate budgets are kept by. */
  line_tokens: number[];
  session: SessionKey;
  /** Whether the content is what was stored, by its digest; `None` for one that is forgotten or from before there were such digests. */
  sound: boolean | null;
  tokens: number;
};

/** A finding that is not a failure: something in the input that could not be used, and its position. */
export type InputProblem = {
  /** One-based line, where there is one. */
  line: number | null;
  /** Byte offset in that file, where there is one. */
  offset: number | null;
  /** The file (or `database#table/row`) it concerns, as shown to people. */
  place: string;
  /** What is wrong and what was done about it. */
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

/** Something of an agent's. */
export type JobReportOfAgent = {
  agent_id: string;
  runs: JobRunReportOfAgent[];
};

/** One run of a scheduled job (table `scheduled_runs`). */
export type JobRunNo = number;

/** Something of an agent's. */
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

/** Something of an agent's. */
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
  /** How many may still be asked for. */
  due: number;
  /** Chunks of messages it has judged. */
  judged: Asked;
  /** Kind and model: `claude/haiku`. Null where it cannot be had. */
  model: string | null;
  /** Why it is not asked now. */
  pause: Pause | null;
  /** Why it cannot be had. */
  problem: string | null;
  /** Sessions whose person's words it has read for what is to be remembered. */
  read: Asked;
  /** What was used today. */
  spent: Spent;
  /** How many summaries have a model's words. */
  summaries: number;
};

/** A line with what speaks for it. */
export type LineExplained = {
  agent_id: string;
  /** Why it is not on the page; `None`: it is. */
  left_out: string | null;
  reasons: string[];
  /** What `expand` takes to go deeper. */
  reference: string | null;
  /** Where lines are chosen by score. */
  score: number | null;
  /** The heading it stands under. */
  section: string;
  text: string;
};

/** What became of one live line. */
export type LineReport = {
  line: number;
  /** Always true. */
  ok: boolean;
  session: string;
  /** `stored`, or `known` where it was stored before. */
  state: string;
  turn: string | null;
} | {
  /** Why it cannot be used. */
  error: string;
  line: number;
  /** Always false. */
  ok: boolean;
};

export type LinesTaken = {
  /** Those that were stored before. */
  known: number;
  new: number;
};

/** A thread it is linked to. */
export type LinkReport = {
  at: string;
  label: string;
  thread: string;
  /** What they have to do with each other. */
  why: string | null;
};

/** Visible files that came from a node. */
export type LinkedReport = {
  memory: EntryReportOfAgent[];
  /** There are more than are given. */
  more: boolean;
  open_loops: EntryReportOfAgent[];
  proposals: EntryReportOfAgent[];
};

/** A session in a list. */
export type ListedSession = {
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session it was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** What it is called: its title, what it is after, or the first line said in it; empty where there is none of these. */
  name: string;
  /** The command that resumes it in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** The number of turns first seen here, and of those shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** Some items of a list. */
export type ListedSessionPage = {
  items: ListedSession[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A thread in a list, and what it is about. */
export type ListedThread = {
  created_at: string;
  /** What it is after, else what is being done in it, in a line. Null: nothing says so. */
  goal: string | null;
  /** Where the session that was named was in it. */
  in_session: StretchReport[];
  kind: string;
  label: string;
  /** When it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** The key of the thread it was merged into. */
  merged_into: string | null;
  /** Where its page stands, below the assistant home. */
  page: string;
  runs: number;
  sessions: number;
  /** `active` or `closed`. */
  state: string;
  thread: string;
};

/** Some items of a list. */
export type ListedThreadPage = {
  items: ListedThread[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A memory that was found. */
export type MemoryHit = {
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** The keys of its front matter. */
  fields: unknown;
  /** `None`: it does not grow old. */
  fresh_until: string | null;
  id: string | null;
  /** The line that answers, counted from 1. */
  line: number;
  path: string;
  /** What is wrong with the file. */
  problem: string | null;
  scope: string | null;
  score: number;
  snippet: string;
  /** It should be looked at again. */
  stale: boolean;
  /** The policy it grows old by. */
  staleness: string;
  status: string | null;
  title: string;
  verification: string;
  why: WhyFile;
};

/** A memory: its row of the file table, and what its class makes of its age. */
export type MemoryReport = {
  /** A person changed it last. */
  by_hand: boolean;
  class: string | null;
  /** The keys of its front matter. */
  fields: unknown;
  /** `None`: it does not grow old. */
  fresh_until: string | null;
  id: string | null;
  path: string;
  /** What is wrong with the file. */
  problem: string | null;
  scope: string | null;
  /** It should be looked at again. */
  stale: boolean;
  /** The policy it grows old by. */
  staleness: string;
  status: string | null;
  title: string;
  verification: string;
};

/** Some items of a list. */
export type MemoryReportPage = {
  items: MemoryReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** Memories with words of a query, best first. */
export type MemorySearchReport = {
  /** Changed files that are not in the index yet. */
  files_not_indexed: number;
  hits: MemoryHit[];
  /** What was looked for, of the query. */
  looked_for: string;
  query: string;
  /** Words left out because they stand nearly everywhere. */
  too_frequent: string[];
  understood: Understood;
};

/** The model that places texts in space. */
export type ModelReport = {
  /** Where it is: `built in`. */
  at: string;
  /** The model whose vectors answer now; null where there are none. */
  in_use: string | null;
  /** Null: words alone are searched. */
  model: string | null;
  /** Why the one that is wanted cannot be had. */
  problem: string | null;
  /** How far the wanted model has come, while an older one's vectors answer. */
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
  /** The model whose words the summary has: `claude/haiku`. Null without one. */
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
  /** The first and the last turn it covers, and when those were said. */
  turns: [string, string];
  /** What the node says without the model. */
  without_model: WithoutModel | null;
};

/** What stands before and after, oldest first. */
export type NodeReportNeighbours = {
  after: NodeReport[];
  before: NodeReport[];
};

/** A node and what is around it. */
export type NodeSubject = {
  /** What stands above its parents, nearest first. */
  ancestors: Ancestor[];
  children: BranchReport[];
  linked: LinkedReport;
  /** There are more below than are given. */
  more_below: boolean;
  neighbours: NodeReportNeighbours;
  node: ExpandedNode;
  parents: NodeReport[];
  /** The other children of its parents. */
  siblings: NodeReport[];
};

/** A line of what is being worked on. */
export type NowLine = {
  /** How many items are open in it. */
  open: number;
  /** Where it leads to. */
  reference: string | null;
  text: string;
};

/** A memory, or a value of the profile, that would be superseded. */
export type OlderReport = {
  id: string;
  text: string;
};

/** An open loop with its text, or an open item that has no file yet. */
export type OneItem = FileTextReport | UnfiledReport;

/** An open loop, which is a file, or an open item of pages that has none yet. */
export type OpenItem = EntryReport | UnfiledReport;

/** Some items of a list. */
export type OpenItemPage = {
  items: OpenItem[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** The token of a page. */
export type Opened = {
  /** The agents it may ask for; the first is meant where a request names none. */
  agents: string[];
  /** For how many seconds it is good, while the process lives. */
  seconds: number;
  token: string;
};

export type OriginForm = "file" | "database" | "live" | "hook";

/** The outcome of writing a memory. */
export type Outcome = "new" | "same" | "forgotten" | "outranked";

/** The turns of a session, in sections. */
export type Outline = {
  /** The number of the section, counted from 0, with the turn that was asked for. Null: it is in none. */
  at: number | null;
  sections: OutlineSection[];
};

/** Turns of a session, one behind the other. */
export type OutlineSection = {
  /** How long their words are, in bytes. */
  bytes: number;
  count: number;
  /** Sent as `cursor` to the session's turns, with `count` as `limit`, it gives these turns. Null: the first ones. */
  cursor: string | null;
  /** The first turn. */
  first: string;
};

/** What is there to see first: what was worked on, and what is being worked on now. */
export type Overview = {
  home: string;
  /** What is being worked on, as MEMORY.md says it. */
  now: NowLine[];
  stored: Totals;
  threads: number;
};

/** The state of a request for access. */
export type Pairing = "pending" | "approved" | "denied";

/** Which bytes of a turn's text are given: the first, the length of the text, the end. */
export type PartOfTurn = {
  from: number;
  of: number;
  to: number;
};

/** A part of a context. */
export type PartReport = {
  /** The same in every session of the thread until a page changes. */
  cacheable: boolean;
  /** What its lines lead to: ids `expand` takes. */
  items: string[];
  part: string;
  text: string;
  tokens: number;
};

/** Something of an agent's. */
export type PassageReportOfAgent = {
  /** Whether it is on a branch its program left. */
  abandoned: boolean;
  agent_id: string;
  at: string | null;
  /** The turn it belongs behind, if it arrived late. */
  belongs_behind: string | null;
  /** The tool call it belongs to. */
  call: string | null;
  /** The program's own id for it. */
  entry: string;
  failed: boolean;
  /** Whether its text was forgotten. */
  forgotten: boolean;
  id: string;
  kind: string;
  /** Empty for the main line, else the sub-agent's. */
  lane: string;
  model: string | null;
  /** The entry it answers. */
  parent: string | null;
  /** The first byte, the end and the total length, if this is a part. */
  part: PartOfTurn | null;
  /** How often the program rewrote it. */
  revision: number;
  role: string;
  run: RunNo;
  session: SessionKey;
  speaker: string | null;
  /** Empty if it was forgotten. */
  text: string;
  thread: string | null;
  tool: string | null;
  turn: string;
  /** `[input, output, cache read, cache write]` tokens of the model message, if the record states them. */
  usage: unknown;
  workspace: string | null;
};

/** Why a model is not asked now. */
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

/** Something of an agent's. */
export type PendingReportOfAgent = {
  agent_id: string;
  confidence: number;
  id: string;
  kind: string;
  /** What it became. */
  result: string | null;
  /** In how many turns it was noticed. */
  seen: number;
  session: string | null;
  state: string;
  text: string;
  title: string;
  turn: string | null;
};

/** An answer that is an error. */
export type Problem = {
  /** What there is by now, where an edit rests on something older. */
  current?: unknown;
  /** What went wrong. */
  detail: string;
  /** What the command line ends with for it. */
  exit: number;
  /** Who holds what is needed. */
  holder?: string | null;
  /** What to do next. */
  next?: string | null;
  status: number;
  /** The kind, for people. */
  title: string;
  /** `urn:heirloom:<kind>`: what a program branches on. */
  type: string;
};

/** How much of it is of one program. */
export type ProgramShare = {
  /** Its name for people. */
  program: string;
  sessions: number;
  turns: number;
};

/** The projects of an agent, the one last worked in first. */
export type ProjectsReport = {
  workspaces: WorkspaceRow[];
};

/** How a prompt was understood, and what was recalled for it. */
export type PromptExplained = {
  recalled: WhyRecalled[];
  understood: Understood;
};

/** Memory suggested by something that was said; it becomes a proposal, never memory by itself. */
export type Proposed = {
  /** `fact`, `procedure`, `blocker`, `reference`: knowledge of the project (R9.5 leaves preferences to the prompts). */
  class: string;
  file?: string | null;
  text: string;
  title: string;
  turns: string[];
};

/** Something of an agent's. */
export type ProvenanceOfAgent = {
  agent_id: string;
  /** The language model that found it, where nothing else did: `claude/haiku`. */
  model: string | null;
  /** The id of a lineage node. */
  node: string | null;
  session: string | null;
  turns: string[];
  type: "user" | "prompt" | "program" | "hand" | "distilled";
};

/** What a recall answers. */
export type RecallReport = {
  agent_id: string;
  /** Why it is less than it could be. */
  degraded: string[];
  /** What was found and left out. */
  dropped: Dropped[];
  /** Best first. */
  items: RecalledItemOfAgent[];
  query: string;
  /** The thread in which it may be told; `None` where no place was named. */
  thread: string | null;
  /** How the question was understood, where that was asked for. */
  understood?: Understood | null;
};

/** Something of an agent's. */
export type RecalledItemOfAgent = {
  agent_id: string;
  /** When it was said, observed or written. */
  at: string | null;
  /** Id that `heirloom expand` takes: `m:…`, `l:…`, `n7f3a`, `t9c11`. */
  id: string;
  /** `preference`, `fact`, `open loop`, `compaction`, `user`, … */
  kind: string;
  /** Cautions for its user: `stale`, `check before use`, `reconfirm before use`, `unsure`. */
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

/** What a program wrote for a turn. */
export type RecordText = {
  /** How many bytes it has. */
  bytes: number;
  /** There is more of it than is given: `heirloom show --raw` gives all of it, byte for byte. */
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

/** What remembering came to. */
export type RememberedReport = {
  items: Added[];
};

/** How many turns a new model has gone through, of how many. */
export type Renewing = {
  of_turns: number;
  turns: number;
};

/** A context that was given before, with its words. */
export type ReplayReport = {
  agent_id: string;
  at: string;
  /** The capabilities of the program. */
  can: unknown;
  /** `request`, `profile`, `lines`, `dropped`, `dropped_more`, `degraded`, `block` and `digest`, as they are stored; `None`: they were forgotten. */
  content: unknown;
  epoch: number;
  event: string;
  fingerprint: string;
  id: string;
  session: SessionKey;
  /** Whether the content is what was stored, by its digest; `None` for one that is forgotten or from before there were such digests. */
  sound: boolean | null;
  tokens: number;
};

/** Something of an agent's. */
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
  /** Whether the content is what was stored, by its digest; `None` for one that is forgotten or from before there were such digests. */
  sound: boolean | null;
  tokens: number;
};

/** Some items of a list. */
export type ReplayedOfAgentPage = {
  items: ReplayedOfAgent[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A request to be let in on a channel, without credentials. */
export type RequestReport = {
  at: number;
  /** What an act did to it. */
  change?: Change | null;
  channel: string;
  decided_at: number | null;
  detail: string | null;
  /** `c:17`. */
  id: string;
  name: string | null;
  peer: string;
  state: Pairing;
};

/** Some items of a list. */
export type RequestReportPage = {
  items: RequestReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A request to make room was heard. */
export type Retiring = {
  retiring: boolean;
};

/** A run: a prompt and what follows it up to the next (table `turn_results`). */
export type RunNo = number;

/** Something of an agent's. */
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

/** A run of a job. */
export type RunReport = {
  /** Whether its failure was acknowledged. */
  acknowledged: boolean;
  /** The path of the artifact with its output. */
  artifact: string | null;
  /** The command with credentials redacted. */
  command: string;
  ended_at: number | null;
  error: string | null;
  exit_code: number | null;
  job: string;
  /** The exit code that was passed on, where the run was recorded just now. */
  passed?: number | null;
  run: JobRunNo;
  signal: number | null;
  started_at: number;
  status: Status;
};

/** Some items of a list. */
export type RunReportPage = {
  items: RunReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** The normalised result of a run. */
export type RunRow = {
  answer: string | null;
  closed_by: string | null;
  /** The program's own id for it. */
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

/** What a search answers. */
export type SearchReport = {
  /** It is less than it could be. */
  degraded: boolean;
  explain?: Explained | null;
  /** Visible files, best first. */
  files: FileHitReport[];
  /** Changed files that are not in the index yet. */
  files_not_indexed: number;
  /** Turns, best first. */
  hits: TurnHit[];
  /** Why it is less than it could be. */
  less: string[];
  /** What was looked for, of the query. */
  looked_for: string;
  /** How long it took, in milliseconds. */
  ms: number;
  /** Turns that are not in the index yet. */
  not_indexed: number;
  query: string;
  /** Words left out because they stand nearly everywhere. */
  too_frequent: string[];
  understood: Understood;
};

/** A section an outside writer has put into a head. */
export type Section = {
  content: string;
  owner: string;
};

export type SectionOverview = {
  bytes: number;
  owner: string;
  section: string;
};

/** A session that was marked as over. */
export type SessionEnded = {
  /** It was not over before. */
  ended: boolean;
  session: string;
};

/** `<harness>:<the program's own session id>` (D3). */
export type SessionKey = string;

/** A session in a thread, with its runs there. */
export type SessionOfThread = {
  first: string;
  last: string;
  last_at: string | null;
  runs: number;
  session: string;
  /** What it is called; empty where there is nothing to call it. */
  title: string;
};

/** A session. */
export type SessionReport = {
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session it was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** The command that resumes it in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** The number of turns first seen here, and of those shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** Something of an agent's. */
export type SessionReportOfAgent = {
  agent_id: string;
  cwd: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** The session it was copied from. */
  fork_of: string | null;
  harness: string;
  last_at: string | null;
  /** The command that resumes it in its own program. */
  resume: string | null;
  session: SessionKey;
  shared_turns: number;
  started_at: string | null;
  title: string | null;
  /** The number of turns first seen here, and of those shared with the session it was copied from. */
  turns: number;
  /** The version of its program. */
  version: string | null;
  workspace: string | null;
  workspace_id: string | null;
};

/** A session and what tells of it. */
export type SessionSubject = {
  compactions: CompactionOfAgent[];
  lanes: LaneRowOfAgent[];
  /** Newest first. */
  nodes: NodeReport[];
  session: SessionReportOfAgent;
  /** The thread it is in now. */
  thread: ThreadRowOfAgent | null;
};

/** A session that belongs to a thread from now on. */
export type SessionSwitched = {
  session: string;
  /** `None`: the one it belongs to by itself. */
  thread: ThreadReport | null;
};

/** Something of an agent's. */
export type SetAsideOfAgent = {
  agent_id: string;
  cut: boolean;
  /** When its bytes were forgotten. */
  forgotten: string | null;
  id: string;
  /** The row of a database it came from; empty in a file of lines. */
  key: string;
  length: number;
  line: number | null;
  /** Where it begins in its source. */
  offset: number;
  path: string;
  reason: string;
  session: string | null;
  /** Credentials are redacted. */
  text: string;
};

/** A turn that was asked for, without the credentials in its text. */
export type ShownTurn = {
  at: string | null;
  /** The tool call it belongs to. */
  call: string | null;
  /** The program's own id for it. */
  entry: string;
  failed: boolean;
  /** When its words were forgotten. */
  forgotten: string | null;
  kind: string;
  /** Empty for the main line, else the sub-agent's. */
  lane: string;
  model: string | null;
  /** The entry it answers. */
  parent: string | null;
  /** How often the program rewrote it. */
  revision: number;
  role: string;
  run: RunNo;
  session: SessionKey;
  speaker: string | null;
  /** Empty if it was forgotten. */
  text: string;
  thread: string | null;
  tool: string | null;
  turn: string;
  /** `[input, output, cache read, cache write]` tokens of the model message, if the record states them. */
  usage: unknown;
  workspace: string | null;
};

/** Some items of a list. */
export type ShownTurnPage = {
  items: ShownTurn[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** A procedure that recurs, as the draft of a skill. */
export type SkillReport = {
  /** The SKILL.md it would be. */
  draft: string;
  /** Sessions, newest first, with the turns of the steps. */
  evidence: SkillRun[];
  /** `k:7`. */
  id: string;
  name: string;
  /** Files that were written after a yes. */
  placed: string[];
  runs: number;
  /** How many sessions show it, how often it was begun, and how often all of it succeeded. */
  sessions: number;
  state: "draft" | "accepted" | "rejected";
  steps: string[];
  succeeded: number;
  /** The project, by its workspace id. */
  workspace: string;
};

/** Some items of a list. */
export type SkillReportPage = {
  items: SkillReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
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
  /** How often it was begun: 1 where the file was never rewritten. */
  generations: number;
  /** The rows of a database; empty for a file. */
  key: string;
  lane: string;
  path: string;
  records: number;
};

/** What became of the session stores. */
export type SourcesRead = {
  /** Those that could not be read at all. */
  failed: number;
  /** Those with something new. */
  read: number;
  /** Those that were rewritten: their new contents were kept as a new generation. */
  rewritten: number;
  /** Those that were as they had been. */
  unchanged: number;
};

/** What calls used together. */
export type Spent = {
  /** How many of the calls, and of the tokens, were about material older than a day. */
  backlog_calls: number;
  backlog_tokens: number;
  calls: number;
  /** In millionths of a US dollar, as far as models told. */
  cost: number;
  /** Of questions and answers; of calls that go on the most they may use. */
  tokens: number;
};

/** A line of a state, with the turns it came from. */
export type StateItem = {
  text: string;
  turns: string[];
};

/** What a thread is after, what is open in it and what comes next. */
export type StateReport = {
  goal: StateItem | null;
  next: StateItem[];
  open: StateItem[];
};

/** The state of a run. */
export type Status = "running" | "done" | "failed";

/** The state of a memory. */
export type StatusReport = {
  agent: string;
  /** The visible files; null where there are none yet, or where they are out of reach. */
  assistant: VisibleReport | null;
  /** The last backup, and whether one failed since. */
  backup: BackupsSeen;
  embeddings: ModelReport;
  /** Changed files that are not in the search index yet. Null where it does not fit the files. */
  files_not_indexed: number | null;
  first_at: string | null;
  home: string;
  index_bytes: number;
  jobs: Counts;
  /** The language model; null where the settings name none. */
  language_model: LanguageModelReport | null;
  last_at: string | null;
  ledger_bytes: number;
  /** Turns that are not in the search index yet. Null where the index does not fit the ledger. */
  not_indexed: number | null;
  programs: ProgramShare[];
  records: number;
  sessions: number;
  /** Records that could not be decoded; their bytes are kept. */
  set_aside: number;
  source_bytes: number;
  turns: number;
  /** Projects; those joined by an alias count once. */
  workspaces: number;
  /** What is wrong, each with what to do about it. */
  wrong: string[];
};

/** What is stored of one session. */
export type StoredSession = {
  boundaries: BoundaryRow[];
  lanes: LaneRow[];
  /** What it is called: its title, what it is after, or the first line said in it; empty where there is none of these. */
  name: string;
  records: RecordsReport[];
  runs: RunRow[];
  session: SessionReport;
  sources: SourceReport[];
};

/** Turns of one lane, one behind the other, in one thread. */
export type StretchReport = {
  first: string;
  lane: string;
  last: string;
  runs: number;
};

/** What superseding came to: the older memory, or what was remembered in its place. */
export type Superseded = ChangedMemories | RememberedReport;

/** A thread after an act. */
export type ThreadChanged = {
  /** `false`: it was so before. */
  changed: boolean;
  thread: ThreadReport;
};

/** Where a thread stands. */
export type ThreadDetails = {
  links: LinkReport[];
  /** Threads that were merged into it. */
  merged: NamedThread[];
  /** Its other names. */
  names: string[];
  /** Its newest nodes. */
  nodes: NodeOfThread[];
  /** People besides the operator. */
  people: string[];
  programs: string[];
  /** Last worked in first. */
  sessions: SessionOfThread[];
  state: StateReport;
  thread: CountedThread;
};

/** A thread, without the credentials in its label. */
export type ThreadReport = {
  created_at: string;
  kind: string;
  label: string;
  /** When it was last worked in, according to its nodes and runs. */
  last_at: string | null;
  /** Where its page stands, below the assistant home. */
  page: string;
  /** `active` or `closed`. */
  state: string;
  thread: string;
};

/** Something of an agent's. */
export type ThreadRowOfAgent = {
  agent_id: string;
  created_at: string;
  label: string;
  /** When it was last worked in, according to its nodes and runs. */
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

/** A time a query speaks of. */
export type TimeReport = {
  /** A time of the day on any day, as `20:59 to 21:09`; it then has no ends. */
  clock?: string | null;
  from: string | null;
  /** Everything else is left out; else what lies in it comes forward. */
  limit: boolean;
  precision: string;
  /** The words it was told in. */
  text: string;
  until: string | null;
};

/** Tokens of what a node stands over, and of its summary. */
export type TokensReport = {
  source: number;
  summary: number;
};

/** Tokens as the program reported them; the ledger stores more of them. Tokens of a run, as its program counted them. */
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
  /** Projects; those joined by an alias count once. */
  workspaces: number;
};

/** What a tool did to a file. */
export type Touch = "read" | "changed" | "created" | "deleted";

/** A file a tool read or changed. */
export type TouchedFile = {
  /** Relative to the project if it lies in it, otherwise as the tool was given it. */
  path: string;
  /** The strongest operation on it. */
  touch: Touch;
  /** The newest turns that touched it, oldest first. */
  turns: string[];
};

/** A page of words. */
export type TranscriptReport = {
  /** Where to go on; `None` when all has been given. */
  next: string | null;
  turns: PassageReportOfAgent[];
};

/** A turn that was found. */
export type TurnHit = {
  at: string | null;
  entry: string;
  harness: string;
  kind: string;
  /** Empty for the main line, else the sub-agent's. */
  lane: string;
  /** Where the matches stand in the snippet, in characters: `[start, end]`. */
  matches: number[][];
  /** Turns found, too, that say the same: the other half of a tool call, copies of a file. */
  others: string[];
  /** The command that resumes the session in its own program. */
  resume: string | null;
  role: string;
  score: number;
  session: string;
  show: string;
  /** The words around the matches. */
  snippet: string;
  speaker: string | null;
  tool: string | null;
  turn: string;
  why: WhyTurn;
  workspace: string | null;
};

/** Something of an agent's. */
export type TurnOnlyOfAgent = {
  agent_id: string;
  id: string;
};

/** What stands before and after, oldest first. */
export type TurnOnlyOfAgentNeighbours = {
  after: TurnOnlyOfAgent[];
  before: TurnOnlyOfAgent[];
};

/** Something of an agent's. */
export type TurnPlaceOfAgent = {
  agent_id: string;
  id: string;
  /** How to get at the exact bytes. */
  raw: string;
};

/** The parts of a score. A turn's are added up; a file's words and date are added and multiplied by its weight. */
export type TurnScore = {
  beside: string | null;
  /** Cosine to the query, if it was compared; it counts if greater than 0. */
  cosine: number | null;
  /** Gain for lying in a time the query mentions. */
  date: number;
  /** What its neighbours add. */
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

/** A turn and where it stands. Its words are the transcript. */
export type TurnSubject = {
  neighbours: TurnOnlyOfAgentNeighbours;
  /** The nodes over it, its chunk first. */
  nodes: NodeReport[];
  run: RunOfTurnOfAgent | null;
  turn: TurnPlaceOfAgent;
};

/** What became of the turns. */
export type TurnsRead = {
  /** Told again by another record. */
  known: number;
  new: number;
  /** Shared with the session they were copied from. */
  shared: number;
};

/** A turn, with its neighbours where they were asked for. */
export type TurnsReport = {
  turns: ShownTurn[];
};

/** How a query was understood. */
export type Understood = {
  /** It asks what a person said, asked, wanted or decided: their turns and the answers to them come first. */
  by_person: boolean;
  people: string[];
  times: TimeReport[];
  /** Nothing was found in its limits, so they were let go. */
  widened: boolean;
};

/** An open item that has no file: it can be resolved by its id like any loop. */
export type UnfiledReport = {
  due: string | null;
  id: string;
  /** Whether the conversation that says it goes on. */
  running: boolean;
  since: string | null;
  text: string;
  thread: string;
  title: string;
  turns: string[];
};

/** What recomputing everything came to. */
export type Verified = {
  audit_rows: number;
  /** Stored data is not what it was; else what was found can be made again. */
  damaged: boolean;
  files: number;
  findings: VerifyFinding[];
  /** Nothing was found. */
  ok: boolean;
  /** Records, turns, files and rows of the audit that were looked at. */
  records: number;
  seconds: number;
  turns: number;
};

/** Something that is not what it was. */
export type VerifyFinding = {
  /** Stored data; else what is made of it. */
  damaged: boolean;
  subject: string;
  what: string;
};

/** The visible files of an agent, counted, and what is wrong with them. */
export type VisibleReport = {
  /** How many there are of each kind. */
  files: Record<string, number>;
  /** What should be known and is not wrong. */
  notes: string[];
  /** How many notices about the user wait for their yes. */
  pending_memory: number;
  /** The folder they lie in. */
  root: string;
};

/** Something that waits. */
export type WaitingReport = {
  /** The class of the memory; `profile` for a value of the profile; `None` for words kept aside. */
  class: string | null;
  confidence: number | null;
  /** What a yes would remember, or put back. */
  entries: string[];
  /** What was said or shown, each with its turn: `t12: just ci`. Empty where the proposer told none. */
  evidence: string[];
  /** `p:…`, `u:17`, `s:…`, `r:12`. */
  id: string;
  /** `proposal`, `noticed`, `supersession` or `edit`. */
  kind: string;
  /** The language model that found it, where nothing else did. */
  model: string | null;
  path: string | null;
  /** Why a yes would be refused as it stands. */
  problem: string | null;
  /** What a yes would take the place of. */
  replaces: OlderReport[];
  scope: string | null;
  /** In how many turns it was noticed. */
  seen: number | null;
  session: string | null;
  since: string | null;
  title: string;
  turns: string[];
  /** Changes with what the item says. */
  version: string;
};

/** Some items of a list. */
export type WaitingReportPage = {
  items: WaitingReport[];
  /** Sent as `cursor`, it gives the next page. Null: this was the last one. */
  next: string | null;
};

/** Why a file was found: words of the query that stand in it, of how many. */
export type WhyFile = {
  matched: number;
  of: number;
};

/** Why something was recalled. */
export type WhyRecalled = {
  id: string;
  marks: string[];
  reasons: string[];
  score: number;
  stage: "structured" | "lineage" | "transcript";
};

/** Why a turn was found. */
export type WhyTurn = {
  /** The turn beside which it was found. */
  beside: string | null;
  cosine: number | null;
  /** Words of the query that stand in it, of how many. */
  matched: number;
  of: number;
};

/** What a node says without a model, where a model's words are shown. */
export type WithoutModel = {
  distillate: Distillate;
  source: "harness" | "deterministic" | "model";
  summary: string;
};

/** A word that was looked up. */
export type WordReport = {
  kind: string;
  text: string;
  /** How many turns have it, where that was counted. */
  turns: number | null;
};

/** A workspace in a list. */
export type WorkspaceRow = {
  /** The workspace this one continues. */
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
      /** It is no Markdown: it is kept in a fence. */
      plain?: boolean;
      /** What is kept, as Markdown. */
      text: string;
      /** A few words; the file is named after them and the day. */
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
      /** What else they say. */
      detail?: string | null;
      /** What they call themselves. */
      name?: string | null;
      /** Who asks, as the channel names them. */
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
      /** The most tokens. */
      budget?: number | null;
      /** Only show what would be given. */
      dry_run?: boolean;
      /** start, resume, clear, compact or prompt; else prompt with a prompt, and start without. */
      event?: string | null;
      /** With how the prompt was understood and what was recalled for it. */
      explain?: boolean;
      /** The program keeps nothing of what it is given: everything of this epoch is given again. */
      for_one_call?: boolean;
      /** What the person says. */
      prompt?: string | null;
      /** The session: program:id, or the beginning of one that is stored. */
      session: string;
      /** The thread it belongs to. */
      thread?: string | null;
      /** The program keeps no turns: the newest are given, too. */
      with_tail?: boolean;
      /** The project of a session nothing is stored of yet: its id, label or whole path. */
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
      /** Your name for yourself: letters, digits and - _ . : @ / */
      owner: string;
      /** For how many seconds: 1 to 60. */
      ttl?: number | null;
    };
    reply: HeadGranted;
  };
  /** Put a section in, replace it, or take it out. */
  "POST /v1/heads/{head}/commit": {
    path: { head: string };
    query: {};
    body: {
      /** The revision the words rest on. */
      base: number;
      /** The words, at most 4 KiB; empty takes the section out. */
      content: string;
      /** The epoch that came with the lease. */
      epoch: number;
      /** The name the head was acquired in. */
      owner: string;
      /** 1 to 40 of a-z, 0-9 and -. */
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
      /** The epoch that came with the lease. */
      epoch: number;
      /** The name it was acquired in. */
      owner: string;
    };
    reply: HeadReleased;
  };
  /** Bring the sections of a revision back, as a new one. */
  "POST /v1/heads/{head}/restore": {
    path: { head: string };
    query: {};
    body: {
      /** The revision whose sections come back. */
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
      /** Files and folders in place of the programs' own. Only through the socket. */
      paths?: string[];
      /** Only these programs; else all of them. */
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
      /** Why it failed, where no exit code says so: it could not be started, its time was up. */
      error?: string | null;
      /** Its exit code; 0 is success. This, `signal` or `error`. */
      exit_code?: number | null;
      /** What it printed, which becomes an artifact; of a long text the beginning and the end. */
      output?: string;
      /** The signal that ended it. */
      signal?: number | null;
      /** When it began, in milliseconds since 1970; else now. */
      started_at?: number | null;
    };
    reply: RunReport;
  };
  /** What is open, newest first; open items of pages that have no file yet come last. */
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
      /** By when: YYYY-MM-DD. */
      due?: string | null;
      /** What else there is to say, as Markdown. */
      text?: string | null;
      /** A few words; the same title is the same loop. */
      title: string;
      /** It belongs to this project: its id, label or whole path. */
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
      /** How it ended. */
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
      /** preference, identity, fact, procedure, blocker or reference; else fact in a project, and preference elsewhere. */
      class?: string | null;
      /** How sure it is, from 0 to 1. */
      confidence?: number | null;
      /** What it is about, where the title does not say. */
      subject?: string | null;
      /** Words to find it by. */
      tags?: string[];
      /** What is to be remembered, as Markdown. */
      text: string;
      /** A few words; another text of this title takes this one's place. Else the first sentence. */
      title?: string | null;
      /** The project it belongs to: its id, label or whole path. */
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
      /** How sure it is, from 0 to 1. */
      confidence?: number | null;
      /** What lists show of it. */
      summary?: string | null;
      /** Its tags from now on. */
      tags?: string[] | null;
      /** The new text. */
      text?: string | null;
      /** A new title; the file keeps its name. */
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
      /** Let go of it again. */
      off?: boolean;
    };
    reply: ChangedMemories;
  };
  /** Put something else in its place; it stays as history. */
  "POST /v1/memory/{id}/supersede": {
    path: { id: string };
    query: {};
    body: {
      /** The memory that holds instead. */
      by?: string | null;
      /** What holds now, where it is not remembered yet. */
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
      /** preference, identity, fact, procedure, blocker or reference; else fact in a project, and preference elsewhere. */
      class?: string | null;
      /** How sure it is, from 0 to 1. */
      confidence?: number | null;
      /** What is to be remembered; each becomes a memory of its own. */
      entries: string[];
      /** A few words; the same title is the same proposal. Else the first sentence. */
      title?: string | null;
      /** The project it belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: Item;
  };
  /** Say yes or no to several; what cannot be decided says why. */
  "POST /v1/proposals/decide": {
    path: {};
    query: {};
    body: {
      /** Yes or no. */
      answer: "accept" | "reject";
      /** Of a yes: what it contradicts holds as well. */
      both?: boolean;
      items: {
        id: string;
        /** The `version` that was seen; another one by now is refused. */
        version?: string | null;
      }[];
      /** Of a no: why not. */
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
      /** Ids; without any, what was decided last. */
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
      /** What it contradicts holds as well. */
      both?: boolean;
      /** The `version` that was seen; another one by now is refused. */
      version?: string | null;
    };
    reply: DecidedReport;
  };
  /** Change what would be remembered, before the yes. */
  "POST /v1/proposals/{id}/edit": {
    path: { id: string };
    query: {};
    body: {
      /** preference, identity, fact, procedure, blocker or reference. */
      class?: string | null;
      /** The new texts; a proposal with several memories has one for each. */
      entries?: string[] | null;
      /** agent: it holds everywhere. Else `workspace` says where. */
      scope?: string | null;
      /** The project it belongs to: its id, label or whole path. */
      workspace?: string | null;
    };
    reply: WaitingReport;
  };
  /** Say no. */
  "POST /v1/proposals/{id}/reject": {
    path: { id: string };
    query: {};
    body: {
      /** Why not; it is kept with a proposal. */
      reason?: string | null;
      /** The `version` that was seen; another one by now is refused. */
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
    query: { archived?: boolean; class?: string; explain?: boolean; harness?: string; kind?: string; limit?: number; q: string; role?: string; session?: string; since?: string; thread?: string; until?: string; workspace?: string };
    body: never;
    reply: SearchReport;
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
      /** The agents it may ask for; else the one of this request. */
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
      /** Only show the handoff. */
      dry_run?: boolean;
      /** The last turn the handoff takes the place of: a turn (t9c11) or its program's own id; else all of it. */
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
      /** The thread; a key topic/… or lane/… that is new begins one. Null: the one it belongs to by itself. */
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
      /** What they have to do with each other. */
      why?: string | null;
    };
    reply: ThreadsChanged;
  };
  /** Make a thread part of another. */
  "POST /v1/threads/{key}/merge": {
    path: { key: string };
    query: {};
    body: {
      /** The thread it becomes part of. */
      into: string;
    };
    reply: ThreadChanged;
  };
  /** Call a thread something else; old names lead to it still. */
  "POST /v1/threads/{key}/name": {
    path: { key: string };
    query: {};
    body: {
      /** A few words. */
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
