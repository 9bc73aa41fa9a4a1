//! `heirloom skill`

use clap::ValueEnum;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;
use heirloom_engine::report::evolve::{RunReport, SkillReport};
use heirloom_engine::scope::TurnId;
use heirloom_engine::skill;

use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Skills: drafts of recurring procedures that your programs can use
///
/// Without a command: the waiting drafts. A draft is made of commands that succeeded in the same order in at least
/// three sessions of a project. Nothing is written before you say yes and where to. A skill that you edited by hand, or
/// that existed before, is never touched.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List drafts that wait for your decision, those seen in most sessions first
    List {
        /// Include accepted and rejected drafts
        #[arg(long)]
        all: bool,
    },
    /// Show one draft as the file it would become, and the sessions its steps come from
    Show {
        /// Id (k:…) or name
        #[arg(value_name = "SKILL")]
        name: String,
    },
    /// Accept: write the draft as a SKILL.md
    Accept {
        /// Id (k:…) or name
        #[arg(value_name = "SKILL")]
        name: String,
        /// Folder to write to: claude (.claude/skills of the project), agents (.agents/skills), workspace (the
        /// project's folder of the memory); can be given more than once
        #[arg(long, value_name = "PLACE", required = true)]
        into: Vec<Place>,
    },
    /// Reject: the procedure is not drafted again. A file that was already written stays
    Reject {
        /// Id (k:…) or name
        #[arg(value_name = "SKILL")]
        name: String,
    },
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub(super) enum Place {
    Claude,
    Agents,
    Workspace,
}

impl From<Place> for skill::Into {
    fn from(place: Place) -> skill::Into {
        match place {
            // Claude Code reads `.claude/skills`; Codex and OpenCode read `.agents/skills`.
            Place::Claude => skill::Into::Project(".claude/skills".into()),
            Place::Agents => skill::Into::Project(".agents/skills".into()),
            Place::Workspace => skill::Into::Workspace,
        }
    }
}

const ACTOR: &str = "cli skill";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    match args.command.unwrap_or(Command::List { all: false }) {
        Command::List { all } => {
            let report = engine.skills(all)?;
            Ok(print::answer(global.json, &report, || {
                if report.skills.is_empty() {
                    print::line("No procedure recurs that is not decided yet.");
                }
                report.skills.iter().for_each(one);
                if report.skills.iter().any(|s| s.state == skill::State::Draft) {
                    print::line(
                        &Paint::stdout().dim("heirloom skill show k:… · accept k:… --into claude · reject k:…"),
                    );
                }
            }))
        }
        Command::Show { name } => {
            let report = engine.skill(&name)?;
            let words = words_of(&engine, report.evidence.first())?;
            Ok(print::answer(global.json, &report, || {
                one(&report);
                print::line("");
                report.draft.lines().for_each(|line| print::line(&print::safe_line(line)));
                print::line("");
                for (n, run) in report.evidence.iter().enumerate() {
                    let paint = Paint::stdout();
                    if n > 0 {
                        let seen = format!("Seen in {}: {}", run.session, run.turns.join(" "));
                        print::line(&paint.dim(&print::safe_line(&seen)));
                        continue;
                    }
                    print::line(&paint.dim(&print::safe_line(&format!("Seen in {}:", run.session))));
                    for ((turn, words), step) in run.turns.iter().zip(&words).zip(&report.steps) {
                        let words = print::cut(&print::safe_line(&format!("{step}: {words}")), WORDS);
                        print::line(&format!("    {}  {words}", paint.dim(turn)));
                    }
                }
                let turn = report.evidence.iter().flat_map(|run| &run.turns).next();
                let read = turn.map_or(String::new(), |turn| format!("heirloom expand {turn} · "));
                let id = &report.id;
                if report.state == skill::State::Draft {
                    let next = format!("{read}heirloom skill accept {id} --into claude · heirloom skill reject {id}");
                    print::line(&Paint::stdout().dim(&print::safe_line(&next)));
                }
            }))
        }
        Command::Accept { name, into } => {
            let places: Vec<skill::Into> = into.into_iter().map(Into::into).collect();
            let before = engine.skill(&name)?.placed;
            let report = engine.accept_skill(&name, &places)?;
            Ok(print::answer(global.json, &report, || {
                // Places of an earlier yes stand first and were left alone; a place named again was written again.
                let named = places.len().max(report.placed.len().saturating_sub(before.len()));
                let written = report.placed.iter().rev().take(named).rev();
                written.for_each(|path| print::line(&format!("Written: {}", print::safe_line(path))));
            }))
        }
        Command::Reject { name } => {
            let report = engine.reject_skill(&name)?;
            Ok(print::answer(global.json, &report, || {
                print::line(&format!("Rejected: {}", report.name));
                for path in &report.placed {
                    print::line(&format!("It is written, and stays until you delete it: {}", print::safe_line(path)));
                }
            }))
        }
    }
}

/// Most characters shown of a turn that is evidence.
const WORDS: usize = 160;

/// Returns the words of a run's turns, which are the results of its steps: a draft is judged by what happened.
fn words_of(engine: &Engine, run: Option<&RunReport>) -> Result<Vec<String>> {
    let turns = run.into_iter().flat_map(|run| &run.turns).filter_map(|turn| TurnId::parse(turn));
    let said = |id| Ok(engine.turns(id, 0)?.turns.into_iter().next().map_or(String::new(), |shown| shown.turn.text));
    turns.map(said).collect()
}

fn one(s: &SkillReport) {
    let paint = Paint::stdout();
    let state = if s.state == skill::State::Draft { String::new() } else { format!(", {}", s.state) };
    let about = format!(
        "{} of {} runs in {} of {}{state}",
        s.succeeded,
        s.runs,
        print::counted(s.sessions, "session"),
        label_of(&s.workspace)
    );
    print::line(&format!("{}  {}  {}", s.id, paint.bold(&s.name), paint.dim(&print::safe_line(&about))));
    print::line(&print::safe_line(&format!("    {}", s.shown.join(" → "))));
    s.placed.iter().for_each(|path| print::line(&paint.dim(&print::safe_line(&format!("    {path}")))));
}
