//! `heirloom judge`

use heirloom_engine::error::{Error, Result};
use heirloom_engine::judge::Category;
use heirloom_engine::judge::model::Standing;
use heirloom_engine::report::judge::MessageReport;
use heirloom_engine::scope::TurnId;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Show how important messages are rated, and why
///
/// Messages are rated by their words, ten at a time, and by your language model if you chose one. The rating decides
/// the order of results that are otherwise equal in search, and which sentences sessions are learned from first.
/// Nothing is withheld or deleted because of it.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Print the importance of each category, including what your decisions taught; for a turn, its rating and its chunk's
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
            match &chunk.asked {
                Some(asked) => message(asked, &paint),
                None => print::line("It is no message of the main conversation, and so not rated itself."),
            }
            print::line(&format!(
                "Its chunk: {} of 10, {category}, {} to {} of {}",
                chunk.importance, chunk.first_turn, chunk.last_turn, chunk.session
            ));
            if let Some(decides) = chunk.decided_by.as_ref().filter(|decides| chunk.asked.as_ref() != Some(decides)) {
                print::line(&paint.dim(&format!("  by words, {} of it decides:", decides.turn)));
                parts(decides, "    ", &paint);
            }
            let by = match chunk.source.as_str() {
                "words" => format!("by words, which say {} before what your decisions taught", chunk.plain),
                model => format!("by {}; words alone say {}", print::safe_line(model), chunk.plain),
            };
            print::line(&paint.dim(&format!("  {by}")));
            if let Some(now) = chunk.decided_by.as_ref().map(|d| d.importance).filter(|now| *now != chunk.plain) {
                let settings = "it was judged with other settings in [judge]";
                print::line(
                    &paint
                        .dim(&format!("  {settings}: with today's, words say {now}; a judged chunk keeps its rating")),
                );
            }
            if let (Some(category), Some(set), Some(offset)) = (chunk.category, chunk.category_importance, chunk.offset)
            {
                let taught = format!(
                    "  {} is set to {set}; your decisions shift its chunks by {offset:+.2} in log odds{}",
                    category.name(),
                    if offset == 0.0 { ", which is not at all" } else { "" }
                );
                print::line(&paint.dim(&taught));
            }
            let front = if chunk.kept { "kept in front" } else { "not kept in front" };
            print::line(&paint.dim(&format!("  {front}, which is from {} on", chunk.keep)));
            let model = match chunk.model {
                Some(Standing::Waits) => Some("your language model will be asked about it"),
                Some(Standing::Unusable) => Some("your language model was asked and said nothing that can be used"),
                Some(Standing::Old) => Some("it is too old for your language model to be asked about it"),
                Some(Standing::Judged) | None => None,
            };
            model.iter().for_each(|said| print::line(&paint.dim(&format!("  {said}"))));
            return;
        }
        let heads = ["category", "importance", "shift", "your decisions", "rated", "kept in front"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
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
                format!("{}, from {} on", c.kept, c.keep),
            ]);
        }
        print::out(&print::table(&rows));
        print::line(&paint.dim(&format!(
            "{} say nothing in particular; [judge] and [judge.keep_from] in config.toml set the numbers",
            print::counted(report.plain_chunks, "chunk")
        )));
        if report.by_model + report.model_due > 0 {
            let said = format!(
                "{} judged by a language model, {} to be asked about; the others by words",
                print::counted(report.by_model, "chunk"),
                report.model_due
            );
            print::line(&paint.dim(&said));
        }
    }))
}

/// Prints the rating of a message.
fn message(of: &MessageReport, paint: &Paint) {
    let category = of.category.map_or("nothing in particular", |c| c.name());
    print::line(&format!("{}: {} of 10, {category}", of.turn, of.importance));
    parts(of, "  ", paint);
}

/// Prints the parts of a message's rating, one on a line.
fn parts(of: &MessageReport, before: &str, paint: &Paint) {
    let line = |text: String| print::line(&paint.dim(&format!("{before}{text}")));
    line(match (of.category, of.short) {
        (Some(category), _) => format!("{} for {}, as it is set", of.base, category.name()),
        (None, true) => format!("{} for a short message without such words", of.base),
        (None, false) => format!("{} for a message without such words", of.base),
    });
    if let (Some(category), 1..) = (of.category, of.more) {
        let words = if of.more == 1 { "a second word" } else { "a second and a third word" };
        line(format!("+{} for {words} of {}", of.more, category.name()));
    }
    for found in &of.words {
        let counts = of.category == Some(found.category);
        let less = match of.short && !matches!(found.category, Category::Sentiment | Category::Acknowledgment) {
            true => " (does not count in a short message)",
            false if !counts => " (does not decide)",
            false => "",
        };
        line(format!("words of {}: {}{less}", found.category.name(), print::safe_line(&found.words.join(", "))));
    }
}
