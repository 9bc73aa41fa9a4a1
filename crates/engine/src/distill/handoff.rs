//! The handoff: one bounded document that replaces what was compacted (R6.3). Pure.

use crate::lineage::distillate::{Distillate, Item, Touch};
use crate::tokens::{cut, tokens};

/// The most tokens of the document.
pub const TOKENS: usize = 1_200;

/// Renders a distillate within a budget. Sections share it by weight and pass on what they do not need; every item
/// names its turns. Credentials were redacted when the items were made.
pub fn render(d: &Distillate, budget: usize) -> String {
    // The weight limits what a section may take before the others have had their share.
    let sections: [(&str, Vec<String>, usize); 11] = [
        ("Goal", lines(d.goal.as_slice()), 10),
        ("Constraints and preferences", newest_last(&d.constraints), 14),
        ("Done", newest_last(&d.done), 12),
        ("In progress", newest_last(&d.in_progress), 8),
        ("Blocked", newest_last(&d.blocked), 8),
        ("Decisions", newest_last(&d.decisions), 12),
        ("Files", files(d), 16),
        ("Open loops", newest_last(&d.open_loops), 12),
        ("Next steps", lines(&d.next_steps), 8),
        ("Context", newest_last(&d.context), 6),
        ("Proposed memory", d.proposals.iter().map(|p| format!("- {} [{}]\n", p.text, refs(&p.turns))).collect(), 4),
    ];
    let total: usize = sections.iter().filter(|(_, l, _)| !l.is_empty()).map(|(.., w)| w).sum();
    let mut left = budget;
    let mut weight_left = total;
    let mut out = String::new();
    for (title, lines, weight) in sections.iter().filter(|(_, l, _)| !l.is_empty()) {
        let share = left * weight / weight_left.max(1);
        weight_left -= weight;
        let head = format!("## {title}\n");
        let mut used = tokens(&head);
        // The newest items are last and must not be lost, so the cut is at the front.
        let mut kept: Vec<&str> = Vec::new();
        for line in lines.iter().rev() {
            let cost = tokens(line);
            if used + cost > share {
                break;
            }
            used += cost;
            kept.push(line);
        }
        if kept.is_empty() {
            let first = lines.last().map_or("", String::as_str);
            let room = share.saturating_sub(tokens(&head) + 1);
            if room < 8 {
                continue;
            }
            let line = format!("{}\n", cut(first.trim_end(), room));
            out.push_str(&head);
            out.push_str(&line);
        } else {
            out.push_str(&head);
            for line in kept.iter().rev() {
                out.push_str(line);
            }
        }
        left = budget.saturating_sub(tokens(&out));
    }
    out
}

fn lines(items: &[Item]) -> Vec<String> {
    items.iter().map(|i| format!("- {} [{}]\n", i.text, i.file.clone().unwrap_or_else(|| refs(&i.turns)))).collect()
}

fn newest_last(items: &[Item]) -> Vec<String> {
    lines(items)
}

fn refs(turns: &[crate::scope::TurnId]) -> String {
    // Name only the first and the last turn.
    match turns {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} {last}"),
    }
}

/// Files by kind of change, many paths per line.
fn files(d: &Distillate) -> Vec<String> {
    let mut out = Vec::new();
    for (touch, word) in
        [(Touch::Read, "read"), (Touch::Deleted, "deleted"), (Touch::Created, "created"), (Touch::Changed, "changed")]
    {
        let of: Vec<_> = d.files.iter().filter(|f| f.touch == touch).collect();
        // Paths of one kind in lines of ten, so that a budget can drop the older ones.
        for chunk in of.chunks(10) {
            let paths: Vec<&str> = chunk.iter().map(|f| f.path.as_str()).collect();
            let last = chunk.last().and_then(|f| f.turns.last()).map(|t| format!(" [{t}]")).unwrap_or_default();
            out.push(format!("- {word}: {}{last}\n", paths.join(", ")));
        }
    }
    out
}
