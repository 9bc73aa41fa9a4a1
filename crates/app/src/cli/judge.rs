//! `heirloom judge`

use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::TurnId;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// How important what was said is taken to be, and why
///
/// Messages are judged by words, ten at a time. It decides what comes first: in search among equals, in what sessions are
/// learned from. Nothing is withheld or deleted by it.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// The importance of each category, with what your decisions taught; of a turn, what was said of its chunk
    Explain {
        /// A turn (t…)
        #[arg(value_name = "TURN")]
        turn: Option<String>,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let Command::Explain { turn } = args.command;
    let turn = turn.map(|id| {
        let wrong = || Error::usage(format!("{:?} is no turn", print::safe_line(&id))).hint("turns look like t9c11");
        TurnId::parse(&id).ok_or_else(wrong)
    });
    let report = Context::open(global)?.acting_as("cli judge").explain_judge(turn.transpose()?)?;
    Ok(print::answer(global.json, &report, || {
        let paint = Paint::stdout();
        if let Some(chunk) = &report.chunk {
            let category = chunk.category.map_or("nothing in particular", |c| c.name());
            print::line(&format!(
                "{} of 10: {category}, {} to {} of {}",
                chunk.importance, chunk.first_turn, chunk.last_turn, chunk.session
            ));
            print::line(&paint.dim(&format!("  by {}, which alone say {}", chunk.source, chunk.plain)));
            if !chunk.words.is_empty() {
                let words = print::safe_line(&chunk.words.join(", "));
                print::line(&paint.dim(&format!("  in this turn: {words}")));
            }
            return;
        }
        let mut rows = Vec::new();
        for c in &report.categories {
            let decided = format!("+{} −{} forgotten {}", c.accepted, c.rejected, c.forgotten);
            let now = match c.learned_importance == c.importance {
                true => format!("{}", c.importance),
                false => format!("{} (set: {})", c.learned_importance, c.importance),
            };
            rows.push(vec![
                c.category.name().to_owned(),
                now,
                format!("{:+.2}", c.offset),
                decided,
                print::counted(c.chunks, "chunk"),
            ]);
        }
        print::out(&print::table(&rows));
        print::line(&paint.dim(&format!(
            "kept in front from {} on; {} say nothing in particular; [judge] in config.toml sets the numbers",
            report.keep,
            print::counted(report.plain_chunks, "chunk")
        )));
    }))
}
