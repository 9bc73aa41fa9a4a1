//! Prints the visible files that a search found.

use heirloom_engine::recall::FileHit;
use heirloom_engine::redact::redact;
use heirloom_engine::report::hits::FileHitReport;
use heirloom_engine::tree::file_table::State;

use super::{explained, search};
use crate::print::{self, Paint};

/// Prints found files under a heading: either rendered pages (`rendered`) or all other files. Returns whether there are
/// any.
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

/// Returns the id of the item in a file, or the file's path and line.
fn name(hit: &FileHit) -> String {
    let place = || format!("{}:{}", hit.entry.path, hit.line);
    print::safe_line(&hit.entry.item.clone().unwrap_or_else(place))
}
