//! `heirloom expand`

use heirloom_engine::clock::Millis;
use heirloom_engine::error::Result;
use heirloom_engine::inject::Replayed;
use heirloom_engine::lineage::Node;
use heirloom_engine::lineage::distillate::{Distillate, Item, Touch};
use heirloom_engine::next_step::See;
use heirloom_engine::recall::expand::{
    Branch, FileView, MOST_TURNS, MatterView, NodeView, Reach, Reference, SessionView, Subject, TURNS, ThreadView,
    Transcript, TurnView,
};
use heirloom_engine::redact::redact;
use heirloom_engine::report::expanded::{ExpandReport, SubjectReport};
use heirloom_engine::scope::{NodeId, TurnId};
use heirloom_engine::tree::provenance::Provenance;

use super::show;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Follow a reference down to the turns: shows what it refers to, and what is above, below and around it
///
/// Credentials are shown as [redacted:KIND]; heirloom show --raw t… prints the exact bytes of a turn.
// `[redacted:KIND]` is the text that is printed; rustdoc takes it for a link.
#[allow(rustdoc::broken_intra_doc_links)]
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The reference as it stands in brackets: a node (n7f3a), a turn (t9c11), an item (l:… p:… m:… a:…), u:17, o:17,
    /// c:17, j:NAME, q:17; a context a program was given (x:17), a file of the assistant home with or without a line
    /// (MEMORY.md:12), a session, a thread
    #[arg(value_name = "ID", required = true, num_args = 1..)]
    id: Vec<String>,

    /// Levels below a node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=16))]
    depth: u8,

    /// Print the turns' words, too: 20 turns or 8 KiB at once, and the command for the next page
    #[arg(long)]
    transcript: bool,

    /// Turns in a page of words
    #[arg(long, short = 'n', value_name = "N", default_value_t = TURNS as u16, value_parser = clap::value_parser!(u16).range(1..=MOST_TURNS as i64))]
    limit: u16,

    /// Continue behind the page of words that printed this cursor
    #[arg(long, value_name = "C")]
    cursor: Option<String>,
}

/// Maximum number of lines printed for a section; JSON contains all of them.
const LINES: usize = 6;

/// Maximum number of lines printed for one turn if several are printed.
const TURN_LINES: usize = 12;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let reference = Reference::parse(&args.id.join(" "))?;
    let engine = Context::open(global)?.acting_as("cli expand");
    let reach =
        Reach { depth: args.depth.into(), transcript: args.transcript, limit: args.limit.into(), cursor: args.cursor };
    let report = engine.expand(&reference, &reach)?;
    Ok(print::answer(global.json, &report, || {
        Page { now: engine.now(), paint: Paint::stdout(), reference: &reference }.show(&report, &reach)
    }))
}

struct Page<'a> {
    now: Millis,
    paint: Paint,
    reference: &'a Reference,
}

impl Page<'_> {
    fn show(&self, report: &ExpandReport, reach: &Reach) {
        let found = &report.found;
        // A cursor asks for a further page of words: the first page has already printed everything else.
        if reach.cursor.is_none() {
            match &found.subject {
                Subject::Node(view) => self.node(view),
                // A turn is printed as its words first, with the nodes above it after them.
                Subject::Turn(view) => return self.turn(view, found.transcript.as_ref(), reach),
                Subject::File(view) => self.file(view),
                Subject::Session(view) => {
                    let resume = match &report.subject {
                        SubjectReport::Session(subject) => subject.session.resume.clone(),
                        _ => None,
                    };
                    self.session(view, resume);
                }
                Subject::Thread(view) => self.thread(view),
                Subject::Pending(p) => {
                    self.title(
                        &redact(&p.title),
                        &[p.id(), p.state.name().into(), print::when(Some(p.created_at), self.now)],
                    );
                    print::line(&print::safe(&redact(&p.text)));
                    let turn = p.turn.map(|t| self.way("the words it was noticed in", &t.to_string()));
                    self.section("Below", turn.into_iter().collect());
                }
                Subject::Matter(view) => self.matter(view),
                Subject::Channel(e) => {
                    let who = e.name.clone().unwrap_or_else(|| e.peer.clone());
                    self.title(
                        &who,
                        &[e.id(), e.channel.clone(), e.state.name().into(), print::when(Some(e.at), self.now)],
                    );
                    if let Some(detail) = &e.detail {
                        print::line(&print::safe(detail));
                    }
                    print::line(
                        &self.paint.dim(&format!("heirloom channel approve {0} · heirloom channel deny {0}", e.no)),
                    );
                }
                Subject::Job(runs) => {
                    let name = runs.first().map_or("", |r| r.name.as_str());
                    self.title(name, &[self.reference.to_string(), "scheduled job".into()]);
                    let rows = runs.iter().map(|r| {
                        let artifact =
                            r.artifact.as_deref().map(|a| format!("  heirloom expand {a}")).unwrap_or_default();
                        format!("{}  {}{artifact}", print::when(Some(r.started_at), self.now), r.status().name())
                    });
                    self.section("Runs", rows.collect());
                }
                Subject::Context(given) => self.context(given),
                Subject::Quarantine(aside) => {
                    let q = &aside.quarantined;
                    self.title(
                        &q.reason,
                        &[q.id.to_string(), q.path.display().to_string(), print::bytes(q.length as u64)],
                    );
                    print::line(print::safe(&aside.text).trim_end());
                    print::line(&self.paint.dim(&format!("heirloom show --raw {}", q.id)));
                }
            }
        }
        if let Some(transcript) = &found.transcript {
            let alone = matches!(found.subject, Subject::Turn(_) | Subject::Matter(_));
            self.words(transcript, reach, alone);
        }
    }

    fn title(&self, title: &str, facts: &[String]) {
        print::line(&self.paint.bold(&print::cut(&print::safe_line(title), print::width())));
        let facts: Vec<&str> = facts.iter().map(String::as_str).filter(|f| !f.is_empty()).collect();
        print::line(&self.paint.dim(&print::safe_line(&facts.join(" · "))));
    }

    fn section(&self, title: &str, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        print::line(&format!("\n{}", self.paint.bold(title)));
        for line in &lines {
            print::line(&format!("  {line}"));
        }
    }

    /// Prints a section of nodes, followed by the command that expands the node `to`.
    fn onward(&self, title: &str, mut lines: Vec<String>, to: Option<NodeId>) {
        lines.extend(to.map(|id| self.paint.dim(&format!("heirloom expand {id}"))));
        self.section(title, lines);
    }

    /// Returns a line with a description and the command that shows the thing.
    fn way(&self, what: &str, id: &str) -> String {
        format!("{}  {}", print::safe_line(what), self.paint.dim(&See::of("expand", id).to_string()))
    }

    fn node(&self, view: &NodeView) {
        let node = &view.node;
        self.title(&format!("{} {}", kind_of(node), node.id), &self.facts(node));
        if node.forgotten {
            print::line("Its words were forgotten.");
            if let Some(instead) = &view.replaced_by {
                print::line(&self.way("In its place:", &instead.id.to_string()));
            }
        }
        if node.abandoned {
            print::line("Its program left this branch: nothing of it counts.");
        }
        if !node.summary.is_empty() {
            print::line(&format!("\n{}", print::safe(&redact(&node.summary))));
        }
        self.distillate(&node.distillate);
        if let Some(without) = &node.without_model {
            let summary = redact(&without.summary);
            let lines: Vec<String> = summary.lines().map(|line| print::cut(&print::safe_line(line), 160)).collect();
            self.section("Without the model", first(&lines, false));
            self.only_without_model(&without.distillate, &node.distillate);
        }
        let linked = view.linked.open_loops.iter().chain(&view.linked.memory).chain(&view.linked.proposals);
        let linked: Vec<String> = linked
            .map(|e| {
                format!("{} [{}]", print::cut(&print::safe_line(&e.title), 70), e.item.as_deref().unwrap_or_default())
            })
            .collect();
        self.section("Files that came from it", first(&linked, view.linked.more));
        let mut below = Vec::new();
        for child in &view.children {
            self.tree(child, 0, &mut below);
        }
        let deeper = view.children.first().map(|c| c.node.id);
        self.onward("Below", first(&below, view.more_below), deeper);
        let above = view.parents.iter().chain(view.ancestors.iter().map(|(_, n)| n));
        let above: Vec<String> = above.map(|n| self.line(n)).collect();
        self.onward("Above", first(&above, false), view.parents.first().map(|n| n.id));
        let around = view.before.iter().map(|n| format!("before  {}", self.line(n)));
        let around = around.chain(view.after.iter().map(|n| format!("after   {}", self.line(n))));
        let mut around: Vec<String> = around.collect();
        let is_beside = |n: &&Node| !view.before.iter().chain(&view.after).any(|o| o.id == n.id);
        let beside: Vec<String> = view.siblings.iter().filter(is_beside).map(|n| n.id.to_string()).take(12).collect();
        if !beside.is_empty() {
            around.push(format!("beside  {}", beside.join(" ")));
        }
        self.onward("Around", around, view.after.first().or(view.before.first()).map(|n| n.id));
        self.section("Words", self.words_of(node));
    }

    fn facts(&self, node: &Node) -> Vec<String> {
        let when = match node.times {
            (Some(from), Some(to)) if print::day(from) != print::day(to) => print::days(from, to),
            (_, to) => print::when(to, self.now),
        };
        let mut facts = vec![when, print::counted(node.count, "turn")];
        facts.extend(node.session.as_ref().map(|s| programs::title(s).to_owned()));
        facts.extend(node.session.as_ref().map(|s| s.to_string()));
        facts.extend(node.lane.clone().filter(|l| !l.is_empty()).map(|l| format!("sub-agent {l}")));
        facts.push(node.thread.clone());
        facts.push(match node.source.name() {
            "harness" => "told by its program".into(),
            "model" => format!("told by {}", node.model.as_deref().unwrap_or("a model")),
            _ => String::new(),
        });
        facts
    }

    fn item(&self, i: &Item) -> String {
        let refs = match &i.file {
            Some(file) => file.clone(),
            None => ends(&i.turns),
        };
        format!("{} {}", print::cut(&print::safe_line(&redact(&i.text)), 160), self.paint.dim(&format!("[{refs}]")))
    }

    fn distillate(&self, d: &Distillate) {
        for (name, items) in d.lists() {
            let newest: Vec<String> = items.iter().rev().map(|i| self.item(i)).collect();
            self.section(heading(name), first(&newest, false));
        }
        let files: Vec<String> = d
            .files
            .iter()
            .rev()
            .map(|f| {
                let touch = match f.touch {
                    Touch::Read => "read",
                    Touch::Changed => "changed",
                    Touch::Created => "created",
                    Touch::Deleted => "deleted",
                };
                format!(
                    "{} {touch} {}",
                    print::safe_line(&redact(&f.path)),
                    self.paint.dim(&format!("[{}]", ends(&f.turns)))
                )
            })
            .collect();
        self.section("Files", first(&files, false));
    }

    /// Prints what was found without the model and is not in its answer.
    fn only_without_model(&self, without: &Distillate, told: &Distillate) {
        let known: Vec<&str> = told.lists().iter().flat_map(|(_, items)| *items).map(|i| i.text.as_str()).collect();
        for (name, items) in without.lists() {
            let only = items.iter().rev().filter(|i| !known.contains(&i.text.as_str()));
            let lines: Vec<String> = only.map(|i| self.item(i)).collect();
            self.section(&format!("{}, without the model", heading(name)), first(&lines, false));
        }
    }

    /// Returns one line about a node.
    fn line(&self, node: &Node) -> String {
        let subject = if node.forgotten { "its words were forgotten".to_owned() } else { subject_of(node) };
        let mut line = format!(
            "{}  {:10}  {:>9}  {}",
            self.paint.accent(&format!("{:6}", node.id.to_string())),
            kind_of(node).to_lowercase(),
            print::counted(node.count, "turn"),
            print::when(node.times.1, self.now)
        );
        line.push_str(&format!("  {}", print::cut(&print::safe_line(&subject), 70)));
        if node.abandoned {
            line.push_str("  (left)");
        }
        line
    }

    fn tree(&self, branch: &Branch, level: usize, lines: &mut Vec<String>) {
        lines.push(format!("{}{}", "  ".repeat(level), self.line(&branch.node)));
        for child in &branch.children {
            self.tree(child, level + 1, lines);
        }
    }

    fn words_of(&self, node: &Node) -> Vec<String> {
        let mut lines = vec![format!(
            "{} to {}  {}",
            node.turns.0,
            node.turns.1,
            self.paint.dim(&format!("heirloom expand {} --transcript", node.id))
        )];
        lines.extend(node.summary_turn.map(|t| self.way("the summary of its program", &t.to_string())));
        lines
    }

    fn turn(&self, view: &TurnView, words: Option<&Transcript>, reach: &Reach) {
        let run = view.run.as_ref();
        let other = |t: &TurnId| *t != view.id;
        let mut facts: Vec<String> = run.map(|r| format!("its run: {}", r.status)).into_iter().collect();
        facts.extend(run.and_then(|r| r.prompt).filter(other).map(|p| format!("asked in {p}")));
        facts.extend(run.and_then(|r| r.answer).filter(other).map(|a| format!("answered in {a}")));
        self.title(&format!("Turn {}", view.id), &facts);
        if let Some(transcript) = words {
            self.words(transcript, reach, true);
        }
        let above: Vec<String> = view.nodes.iter().map(|n| self.line(n)).collect();
        let above = if above.is_empty() { vec!["in no chunk yet".into()] } else { above };
        self.onward("Above", above, view.nodes.first().map(|n| n.id));
        let ids = |turns: &[TurnId]| turns.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(" ");
        let mut around = Vec::new();
        for (word, turns) in [("before", &view.before), ("after ", &view.after)] {
            if !turns.is_empty() {
                around.push(format!("{word}  {}", ids(turns)));
            }
        }
        self.section("Around", around);
    }

    fn file(&self, view: &FileView) {
        let e = &view.entry;
        let mut facts = vec![e.item.clone().unwrap_or_default(), e.kind.name().into()];
        facts.extend(e.status.clone());
        facts.push(e.path.to_string());
        let model = Provenance::from_value(e.fields.get("source")).model;
        facts.extend(model.map(|model| format!("found by {model}")));
        self.title(&e.title, &facts);
        print::line(&format!("\n{}", print::safe(&view.text).trim_end()));
        if view.cut {
            print::line(&self.paint.dim(&format!("… all of it: {}", See::of("show", e.path.as_str()))));
        }
        let ways: Vec<String> = view.references.iter().map(|r| See::of("expand", &r.to_string()).to_string()).collect();
        self.section("Below", first(&ways, false));
    }

    fn matter(&self, view: &MatterView) {
        let about = view.about.as_ref();
        let says = match view.kind {
            "settled" => "is settled",
            "same" => "is the same as another loop",
            _ => "has a better title",
        };
        let by = format!("by {}", view.model);
        let title = about.map_or("an open loop that is gone".into(), |e| redact(&e.title));
        self.title(
            &title,
            &[view.id.clone(), says.into(), view.state.into(), by, print::when(Some(view.at), self.now)],
        );
        let reason = if view.kind == "settled" { "Because of the words" } else { "As" };
        let reason = Some(redact(&view.text)).filter(|text| !text.is_empty()).map(|text| (reason, text));
        reason.into_iter().for_each(|(title, text)| self.section(title, vec![print::safe_line(&text)]));
        let loops = about.into_iter().chain(&view.other);
        let loops = loops.map(|e| self.way(&redact(&e.title), e.item.as_deref().unwrap_or(e.path.as_str())));
        self.section("About", loops.collect());
        let cited = view.turn.map(|turn| self.way("the turn it cites", &turn.to_string()));
        self.section("Below", cited.into_iter().collect());
        if view.state == "waiting" {
            let id = &view.id;
            print::line(&format!(
                "\n{}",
                self.paint.dim(&format!("heirloom review accept {id} · heirloom review reject {id}"))
            ));
        }
    }

    fn context(&self, given: &Replayed) {
        let tokens = print::counted(given.tokens, "token");
        let facts = [
            given.event.clone(),
            print::when(Some(given.at), self.now),
            given.session.to_string(),
            tokens,
            format!("epoch {}", given.epoch),
        ];
        self.title(&format!("Context {}", given.id), &facts);
        match given.block() {
            Some(block) => print::line(&format!("\n{}", print::safe(block).trim_end())),
            None => print::line("Its words were forgotten; that it was given is still known."),
        }
        let items = given.items();
        let ways: Vec<String> = items.iter().map(|(part, id)| format!("{part:8} {}", See::of("expand", id))).collect();
        self.section("Below", first(&ways, false));
        let why = format!("heirloom context replay {} --why", given.id);
        self.section("Why each part is there, and what was left out", vec![self.paint.dim(&why)]);
    }

    fn session(&self, view: &SessionView, resume: Option<String>) {
        let s = &view.session;
        let title = s.title.as_deref().map(redact);
        let mut facts = vec![programs::title(&s.key).to_owned(), print::when(s.last_at, self.now)];
        facts.push(print::counted(s.turns + s.shared_turns, "turn"));
        facts.extend(view.thread.as_ref().map(|t| t.key.clone()));
        facts.extend(resume);
        self.title(title.as_deref().unwrap_or(s.key.as_str()), &facts);
        let nodes: Vec<String> = view.nodes.iter().map(|n| self.line(n)).collect();
        self.onward("Below", first(&nodes, false), view.nodes.first().map(|n| n.id));
        let ends = view.compactions.iter().map(|c| {
            let node = c.node.map(|n| format!("  heirloom expand {n}")).unwrap_or_default();
            format!("{} up to {}  {}{node}", c.cause, c.until, print::when(Some(c.at), self.now))
        });
        self.section("Compactions", first(&ends.collect::<Vec<_>>(), false));
        let words = format!("{} --transcript", See::of("expand", s.key.as_str()));
        self.section("Words", vec![self.paint.dim(&words)]);
    }

    fn thread(&self, view: &ThreadView) {
        let t = &view.thread;
        let facts = [t.key.clone(), t.state.clone(), print::when(t.last_at, self.now)];
        self.title(&t.label, &facts);
        let nodes: Vec<String> = view.nodes.iter().map(|n| self.line(n)).collect();
        self.onward("Below", first(&nodes, false), view.nodes.first().map(|n| n.id));
        let words = format!("{} --transcript", See::of("expand", &t.key));
        self.section("Words", vec![self.paint.dim(&words)]);
    }

    fn words(&self, transcript: &Transcript, reach: &Reach, alone: bool) {
        for passage in &transcript.turns {
            print::line("");
            let mut head = show::heading(&passage.turn, self.now, self.paint);
            if passage.abandoned {
                head.push_str("  (on a branch its program left)");
            }
            if let Some(behind) = passage.belongs_behind {
                head.push_str(&format!("  (arrived late, belongs behind {behind})"));
            }
            if let Some((from, to, of)) = passage.part {
                head.push_str(&self.paint.dim(&format!("  bytes {from} to {to} of {of}")));
            }
            print::line(&head);
            if passage.forgotten {
                print::line("Its words were forgotten.");
                continue;
            }
            let text = print::safe(&passage.turn.text);
            let lines: Vec<&str> = text.trim_end().lines().collect();
            // One turn asked for alone, and turns of a further page, are printed in full.
            let whole = alone || reach.cursor.is_some() || reach.limit != TURNS || lines.len() <= TURN_LINES;
            print::line(&if whole { lines.join("\n") } else { lines[..TURN_LINES].join("\n") });
            if !whole {
                let more = print::counted((lines.len() - TURN_LINES) as u64, "more line");
                print::line(&self.paint.dim(&format!("… {more}: heirloom expand {}", passage.turn.id)));
            }
        }
        if transcript.next.is_some() || transcript.turns.len() == 1 {
            print::line("");
        }
        if let Some(next) = &transcript.next {
            let limit = if reach.limit == TURNS { String::new() } else { format!(" --limit {}", reach.limit) };
            let again = See::of("expand", &self.reference.to_string());
            print::line(&self.paint.dim(&format!("more: {again} --cursor {next}{limit}")));
        }
        if let [only] = transcript.turns.as_slice() {
            print::line(&self.paint.dim(&format!("the exact bytes: heirloom show --raw {}", only.turn.id)));
        }
    }
}

/// Returns the first lines of a section, followed by the number of lines left out.
fn first(lines: &[String], more: bool) -> Vec<String> {
    let mut out: Vec<String> = lines.iter().take(LINES.max(8)).cloned().collect();
    if lines.len() > out.len() || more {
        let left = lines.len() - out.len();
        let and = if more { " and others" } else { "" };
        out.push(format!("… {} more{and} (--json)", print::count(left as u64)));
    }
    out
}

fn ends(turns: &[TurnId]) -> String {
    match turns {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} {last}"),
    }
}

fn kind_of(node: &Node) -> String {
    match node.kind.name() {
        "chunk" => "Chunk".into(),
        "session" => "Session".into(),
        "compaction" => "Compaction".into(),
        _ => format!("History {}", node.depth),
    }
}

/// Returns the subject of a node in one line.
fn subject_of(node: &Node) -> String {
    let goal = node.distillate.goal.as_ref().map(|g| g.text.as_str());
    let about = if node.summary.trim().is_empty() { goal.unwrap_or("") } else { &node.summary };
    redact(about).into_owned()
}

fn heading(list: &str) -> &'static str {
    match list {
        "goal" => "Goal",
        "constraints" => "Constraints",
        "requirements" => "Required by the task",
        "done" => "Done",
        "in_progress" => "In progress",
        "blocked" => "Blocked",
        "fixed" => "Errors and fixes",
        "decisions" => "Decided",
        "open_loops" => "Open",
        "next_steps" => "Next",
        _ => "Context",
    }
}
