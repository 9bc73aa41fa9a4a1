//! Renders a distillate as a few plain sentences. Pure.

use crate::lineage::distillate::{Distillate, Touch};
use crate::tokens::{cut, tokens};

/// Writes subject, completed work, decisions and open items in one line of at most `budget` tokens.
pub fn summarise(d: &Distillate, budget: usize) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let mut next = if out.is_empty() { String::new() } else { format!("{out} ") };
        next.push_str(text);
        if !text.ends_with(['.', '!', '?', '…', ':']) {
            next.push('.');
        }
        if out.is_empty() || tokens(&next) <= budget {
            out = next;
        }
    };
    if let Some(goal) = &d.goal {
        say(&goal.text);
    }
    for item in d.blocked.iter().rev().take(1) {
        say(&format!("Blocked: {}", item.text));
    }
    for item in d.done.iter().rev().take(2).rev() {
        say(&item.text);
    }
    for item in d.decisions.iter().rev().take(2).rev() {
        say(&format!("Decided: {}", item.text));
    }
    for item in d.open_loops.iter().rev().take(1) {
        say(&format!("Open: {}", item.text));
    }
    for item in d.next_steps.iter().take(1) {
        say(&format!("Next: {}", item.text));
    }
    let changed: Vec<&str> = d
        .files
        .iter()
        .filter(|f| f.touch != Touch::Read)
        .map(|f| f.path.rsplit('/').next().unwrap_or(&f.path))
        .collect();
    // A moved file is listed twice with the same name; it is named once.
    let changed: Vec<&str> =
        (0..changed.len()).filter(|i| !changed[i + 1..].contains(&changed[*i])).map(|i| changed[i]).collect();
    if !changed.is_empty() {
        let few: Vec<&str> = changed.iter().rev().take(3).copied().collect();
        let more = changed.len().saturating_sub(few.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        say(&format!("Changed {}{more}", few.join(", ")));
    }
    for item in d.in_progress.iter().chain(&d.context).take(1) {
        say(&item.text);
    }
    cut(&out, budget)
}
