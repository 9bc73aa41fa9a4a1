//! Finds the failure that a pasted text reports: a log, a stack trace, the output of a command.

use crate::statement::{here_documents, source_lines};
use crate::text::plain::{cut, plain};
use crate::text::similarity::Bag;

/// Returns the line of pasted text that names a failure, with the line of another one if both are named alike.
pub fn failure_in(text: &str) -> Option<String> {
    let mut best: Option<(u8, String)> = None;
    let mut second: Option<String> = None;
    let lines: Vec<&str> = text.lines().take(4_000).collect();
    let quoted = here_documents(&lines).into_iter().zip(source_lines(&lines)).map(|(script, source)| script || source);
    for (line, is_quoted) in lines.iter().zip(quoted) {
        let line = line.trim();
        if is_quoted || line.len() < 8 || line.len() > 2_000 {
            continue;
        }
        let low = line.to_ascii_lowercase();
        let named = ["error:", "error ts", "error[", "exception:", "failed:", "fatal:", "panicked at", "err!"]
            .iter()
            .any(|w| low.contains(w));
        let worded = [
            "error",
            "failed",
            "cannot ",
            "can't ",
            "not found",
            "denied",
            "refused",
            "unable to",
            "no such",
            "violates",
            "is a directory",
        ]
        .iter()
        .any(|w| low.contains(w));
        let score = u8::from(named) * 2 + u8::from(worded);
        let told = || cut(&plain(line), 220);
        match &best {
            _ if score == 0 => {}
            Some((most, first)) if score == *most => {
                if score > 2 && second.is_none() {
                    second = Some(told()).filter(|told| !Bag::of(first).is_like(&Bag::of(told)));
                }
            }
            Some((most, _)) if score < *most => {}
            _ => (best, second) = (Some((score, told())), None),
        }
    }
    let (_, first) = best?;
    Some(second.map_or_else(|| first.clone(), |second| format!("{} … {}", cut(&first, 140), cut(&second, 140))))
}
