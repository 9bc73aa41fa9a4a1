//! The handoff: one bounded document that replaces what was compacted (R6.3). Pure.

use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::tokens::{cut, tokens};

/// Maximum tokens of a handoff.
pub const TOKENS: usize = 1_200;

/// Heading of the requirements, which come from the task and are not words of the user.
const REQUIREMENTS: &str = "Requirements\nFrom the task, not from the user:";

/// Renders a distillate within a budget. Each section first gets its share by weight; then sections that need more get
/// the unused tokens of the others, in turns. Every item names its turns. Credentials were redacted when the items were
/// made.
pub fn render(d: &Distillate, budget: usize) -> String {
    let sections: Vec<Section> = [
        ("Goal", lines(d.goal.as_slice()), 10),
        ("Constraints and preferences", lines(&d.constraints), 14),
        (REQUIREMENTS, lines(&d.requirements), 8),
        ("In progress", lines(&d.in_progress), 10),
        ("Blocked", lines(&d.blocked), 6),
        ("Open loops", lines(&d.open_loops), 12),
        ("Next steps", lines(&d.next_steps), 8),
        ("Decisions", lines(&d.decisions), 12),
        ("Errors and fixes", lines(&d.fixed), 12),
        ("Done", lines(&d.done), 14),
        ("Files", files(d), 22),
        ("Context", lines(&d.context), 10),
        ("Proposed memory", d.proposals.iter().map(|p| format!("- {} [{}]\n", p.text, refs(&p.turns))).collect(), 4),
    ]
    .into_iter()
    .filter(|(_, lines, _)| !lines.is_empty())
    .map(|(title, lines, weight)| Section { head: format!("## {title}\n"), lines, weight, taken: 0 })
    .collect();
    filled(sections, budget).iter().map(Section::text).collect()
}

/// A section while it is filled.
struct Section {
    head: String,
    lines: Vec<String>,
    weight: usize,
    /// Number of lines taken, from the end: the newest items are last and must not be lost.
    taken: usize,
}

impl Section {
    /// Takes lines while their cost fits into `room`. Returns the tokens they cost.
    fn take(&mut self, room: usize) -> usize {
        let mut cost = 0;
        loop {
            match self.take_line(room - cost) {
                0 => return cost,
                line => cost += line,
            }
        }
    }

    /// Takes one line if it fits into `room`. Returns the tokens it costs.
    fn take_line(&mut self, room: usize) -> usize {
        let Some(at) = self.lines.len().checked_sub(1 + self.taken) else { return 0 };
        let line = tokens(&self.lines[at]);
        let cost = if self.taken == 0 { tokens(&self.head) + line } else { line };
        if cost > room {
            return 0;
        }
        self.taken += 1;
        cost
    }

    fn text(&self) -> String {
        if self.taken == 0 {
            return String::new();
        }
        format!("{}{}", self.head, self.lines[self.lines.len() - self.taken..].concat())
    }
}

/// Gives every section its share, then the unused tokens to those that need more.
fn filled(mut sections: Vec<Section>, budget: usize) -> Vec<Section> {
    let total: usize = sections.iter().map(|s| s.weight).sum();
    let mut left = budget;
    for section in &mut sections {
        let share = budget * section.weight / total.max(1);
        left -= section.take(share.min(left));
        // A line longer than the share is cut rather than lost.
        let room = share.min(left).saturating_sub(tokens(&section.head) + 1);
        if section.taken == 0 && room >= 8 {
            let line = section.lines.last_mut().expect("a section has lines");
            *line = format!("{}\n", cut(line.trim_end(), room));
            left -= section.take(share.min(left));
        }
    }
    // The files get unused tokens first, because a list of files that is cut short looks complete. The other sections
    // get them in turns, a line each, so that a long list of one kind leaves room for the others.
    if let Some(files) = sections.iter_mut().find(|s| s.head.contains("Files")) {
        left -= files.take(left);
    }
    loop {
        let before = left;
        for section in &mut sections {
            left -= section.take_line(left);
        }
        if left == before {
            return sections;
        }
    }
}

fn lines(items: &[Item]) -> Vec<String> {
    items.iter().map(|i| format!("- {} [{}]\n", i.text, i.file.clone().unwrap_or_else(|| refs(&i.turns)))).collect()
}

fn refs(turns: &[crate::scope::TurnId]) -> String {
    // Only the first and the last turn are named.
    match turns {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} {last}"),
    }
}

/// Returns the changed files by kind of change, many paths per line. Files only read are left out, because reading
/// changes nothing.
fn files(d: &Distillate) -> Vec<String> {
    let mut out = Vec::new();
    for (touch, word) in [(Touch::Deleted, "deleted"), (Touch::Created, "created"), (Touch::Changed, "changed")] {
        let of: Vec<_> = d.files.iter().filter(|f| f.touch == touch).collect();
        // Paths of one kind in lines of five, so that a budget can drop the older ones.
        for chunk in of.chunks(5) {
            let paths: Vec<&str> = chunk.iter().map(|f| f.path.as_str()).collect();
            let last = chunk.last().and_then(|f| f.turns.last()).map(|t| format!(" [{t}]")).unwrap_or_default();
            out.push(format!("- {word}: {}{last}\n", paths.join(", ")));
        }
    }
    out
}
