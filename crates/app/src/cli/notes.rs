//! Visible files among what a search finds: which are wanted, how they are printed.

use heirloom_engine::error::{Error, Result};
use heirloom_engine::recall::FileHit;
use heirloom_engine::redact::redact;
use heirloom_engine::report::hits::FileHitReport;
use heirloom_engine::tree::file_table::{Kind, State};

use super::{explained, search};
use crate::print::{self, Paint};

/// The value of `--kind` for turns.
const TURN: &str = "turn";

/// The values of `--kind`: turns and kinds of visible files.
pub const KINDS: [&str; 12] =
    [TURN, "memory", "loop", "proposal", "daily", "artifact", "rollup", "page", "head", "index", "note", "skill"];

/// Which items a search covers.
pub struct Wanted {
    pub turns: bool,
    pub files: bool,
    /// Empty: all kinds.
    pub kinds: Vec<Kind>,
}

impl Wanted {
    /// `only_turns`: an option applies to turns only; `only_files`: one applies to files only; `of_files`: one selects
    /// files.
    pub fn of(kinds: &[String], only_turns: bool, only_files: bool, of_files: bool) -> Result<Wanted> {
        let named: Vec<Kind> = kinds.iter().filter_map(|k| Kind::named(k)).collect();
        if only_turns && (!named.is_empty() || only_files || of_files) {
            return Err(Error::usage(
                "--session, --role and --harness are about turns; --class, --archived and kinds of files are not",
            )
            .hint("leave one of the two out"));
        }
        let turns = if kinds.is_empty() { !only_files } else { kinds.iter().any(|k| k == TURN) };
        let files = !only_turns && (kinds.is_empty() || !named.is_empty());
        if (only_files || !turns) && !files {
            return Err(Error::usage("turns have no class").hint("leave --class or --kind turn out"));
        }
        Ok(Wanted { turns, files, kinds: named })
    }
}

/// Prints the files that were found, those that were rendered from others or those that were not, under a heading.
/// Returns whether there are any.
pub fn people(files: &[FileHitReport], (heading, rendered): (&str, bool), explain: bool) -> bool {
    let paint = Paint::stdout();
    let width = print::width();
    let mut any = false;
    for (n, found) in files.iter().enumerate().filter(|(_, found)| found.rendered == rendered) {
        if !any {
            print::line(&paint.dim(heading));
        }
        any = true;
        let hit = &found.hit;
        let entry = &hit.entry;
        let mut head =
            vec![paint.bold(&format!("{:>2}", n + 1)), paint.accent(&name(hit)), entry.kind.name().to_owned()];
        if entry.state == State::Archived {
            head.push(entry.status.clone().unwrap_or_else(|| "archived".into()));
        } else if entry.status.as_deref() == Some("superseded") {
            head.push("superseded".into());
        }
        head.push(print::cut(&print::safe_line(&redact(&entry.title)), 80));
        print::line(&head.join("  "));
        search::passage(&hit.passage, width, paint);
        let place = print::safe_line(&format!("{}:{}", entry.path, hit.line));
        let mut foot = vec![found.show.to_string()];
        if hit.of > 0 {
            foot.push(format!("{} of {}", hit.matched, print::counted(hit.of as u64, "term")));
        }
        if entry.item.is_some() {
            foot.push(place);
        }
        print::line(&format!("    {}", paint.dim(&foot.join(" · "))));
        if explain {
            print::line(&format!("    {}", paint.dim(&explained::line(hit.score, &hit.trace))));
        }
    }
    any
}

/// The id of an item, else its path and line.
fn name(hit: &FileHit) -> String {
    let place = || format!("{}:{}", hit.entry.path, hit.line);
    print::safe_line(&hit.entry.item.clone().unwrap_or_else(place))
}
