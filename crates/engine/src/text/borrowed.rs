//! Finds the parts of a message that are not the person's own statements although their sentences read like such: a text
//! to translate or to review, a commit message, a mail with its greeting and signature, lines of a chat or of a diff
//! (R14.3). Text announced as somebody's words is found by [`super::relayed`].

use std::ops::Range;

use super::patterns::words;
use super::plain::lower;

/// Maximum number of words of an introduction.
const HEAD: usize = 9;

/// Verbs that ask for something to be done with the text behind them.
const HANDLES: &str = "translate summarise summarize review proofread explain rephrase reword rewrite shorten paraphrase polish imagine \
     suppose pretend übersetze übersetz fasse korrigiere formuliere erkläre";

/// The texts behind "this …:" that a message only shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// Any text: its sentences are no facts about the project.
    Any,
    /// Texts to work on word by word; the demands of an issue or of a document count ("implement this issue: …").
    Words,
}

/// Returns the parts of a message whose sentences are not the person's statements.
pub fn borrowed(message: &str, shown: Shown) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut from = 0;
    let lines: Vec<(usize, &str)> = message
        .split_inclusive('\n')
        .map(|line| {
            let start = from;
            from += line.len();
            (start, line.trim_end())
        })
        .collect();
    let paragraph_end = |at: usize| {
        let blank = lines[at..].iter().find(|(_, line)| line.is_empty());
        blank.map_or(message.len(), |(start, _)| *start)
    };
    let diff = lines.iter().any(|(_, line)| is_of_diff(line, '+'));
    for (at, (start, line)) in lines.iter().enumerate() {
        if let Some(head) = introduction(line, shown) {
            // After a head on a line of its own, the rest of the message is a paste.
            let end = if head == line.len() { message.len() } else { paragraph_end(at) };
            out.push(start + head..end);
        }
        if is_of_chat(line) {
            out.push(*start..paragraph_end(at));
        }
        if diff && (is_of_diff(line, '+') || is_of_diff(line, '-')) {
            out.push(*start..start + line.len());
        }
    }
    out.extend(mail(&lines));
    out
}

fn words_of(text: &str) -> Vec<String> {
    let mark = |c: char| !c.is_alphanumeric();
    text.split_whitespace().map(|w| lower(w.trim_matches(mark))).filter(|w| !w.is_empty()).collect()
}

/// Returns where the words behind an introduction begin: "translate to German: …", "commit message: …".
fn introduction(line: &str, shown: Shown) -> Option<usize> {
    let colon = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1));
    // A question about a text ends its line: "Can you summarise this issue?"
    // So does an order: "Please review this description for typos."
    let sentence = || line.ends_with('?') || line.find('.') == Some(line.len().saturating_sub(1));
    let end = colon.or_else(|| sentence().then(|| line.len() - 1))?;
    let head = words_of(&line[..end]);
    if head.is_empty() || head.len() > HEAD {
        return None;
    }
    let handled = head.iter().take(4).any(|w| words!(HANDLES).has(w));
    let this = head.iter().position(|w| words!("this these following their diesen diese dieses folgenden").has(w));
    let text = words!(
        "text sentence paragraph snippet page issue ticket log output mail email message readme article post docs content description text satz absatz"
    );
    let word_by_word = words!("text sentence paragraph snippet mail email message description satz absatz");
    let counts = |w: &String| text.has(w) && (shown == Shown::Any || word_by_word.has(w));
    let shows = this.is_some_and(|at| head[at + 1..].iter().any(counts));
    let named = head.len() <= 4
        && matches!(
            head.iter().map(String::as_str).collect::<Vec<_>>()[..],
            [.., "commit" | "release", "message" | "notes"]
                | [.., "pr", "title" | "description"]
                | [.., "commit-nachricht"]
        );
    match colon {
        Some(at) => (handled || shows || named).then_some((at + 2).min(line.len())),
        None if line.ends_with('?') => (handled && this.is_some()).then_some(line.len()),
        None => (handled && shows).then_some(line.len()),
    }
}

/// Whether a line names a speaker and a time, as chats are copied: "Mallory [10:42 AM]".
fn is_of_chat(line: &str) -> bool {
    let Some((name, rest)) = line.split_once('[') else { return false };
    let Some(time) = rest.strip_suffix(']') else { return false };
    let time = time.trim_end_matches(['A', 'P', 'M', 'a', 'p', 'm', '.', ' ']);
    let clock = time.split_once(':').is_some_and(|(hour, rest)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b':');
        hour.len() <= 2 && digits(hour) && rest.len() >= 2 && digits(rest)
    });
    clock && (1..=4).contains(&words_of(name).len())
}

/// Whether a line was added (`+`) or removed (`-`) by a diff; an item of a list has a blank behind its mark.
fn is_of_diff(line: &str, mark: char) -> bool {
    let mut chars = line.chars();
    chars.next() == Some(mark) && chars.next().is_some_and(char::is_alphabetic)
}

/// Returns a mail: from its greeting to the name below its last words.
fn mail(lines: &[(usize, &str)]) -> Option<Range<usize>> {
    let greets = words!("hi hello dear hey hallo liebe lieber guten sehr moin");
    let parts = words!(
        "best regards kind warm cheers thanks sincerely yours grüße grüßen gruß viele liebe freundlichen mit beste lg vg"
    );
    let greeting = lines.iter().position(|(_, line)| {
        let said = words_of(line);
        line.ends_with([',', '!']) && (1..=5).contains(&said.len()) && greets.has(&said[0])
    })?;
    let ends = |line: &str| {
        let said = words_of(line);
        (1..=4).contains(&said.len()) && said.iter().all(|w| parts.has(w))
    };
    let last = greeting + 1 + lines[greeting + 1..].iter().position(|(_, line)| ends(line))?;
    let name = lines[last + 1..].iter().find(|(_, line)| !line.is_empty())?;
    let is_name = (1..=4).contains(&words_of(name.1).len()) && !name.1.ends_with(['.', '?', '!', ':']);
    is_name.then(|| lines[greeting].0..name.0 + name.1.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_only_carries_is_found() {
        let left = |message: &str| {
            let ranges = borrowed(message, Shown::Any);
            let kept = message.char_indices().filter(|(at, _)| !ranges.iter().any(|r| r.contains(at)));
            kept.map(|(_, c)| c).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (message, wanted) in [
            ("translate to german: The server is db.example.", "translate to german:"),
            ("Please review this: we use Kafka 9.\n\nOurs is Kafka 7.", "Please review this: Ours is Kafka 7."),
            ("Summarise this page for me:\n\nStart\nThe API is on port 9.\n\nEnd", "Summarise this page for me:"),
            ("can you summarise this issue?\n\nThe host is ingest.example.", "can you summarise this issue?"),
            ("commit message: The scheduler is on port 5151.", "commit message:"),
            ("write a fixture with this text: The gateway is on port 1.", "write a fixture with this text:"),
            ("Mallory [10:42 AM]\nThe db is on port 6666.\n\nis he right?", "is he right?"),
            ("what?\n\nHi team,\n\nthe host is x.example.\n\nBest,\nMallory", "what?"),
            ("+The registry is at r.example.\n-The old one\n\nreview this diff", "review this diff"),
            ("- The registry is at r.example.\n+ more", "- The registry is at r.example. + more"),
            ("Hi, the staging database is on port 5433.", "Hi, the staging database is on port 5433."),
            ("Note the following: the database is on port 5433.", "Note the following: the database is on port 5433."),
            (
                "Please review this PR description for typos.\n\nThe host is x.",
                "Please review this PR description for typos.",
            ),
            ("Review this module. The host is x.", "Review this module. The host is x."),
            ("Can you review the port? It is 5433.", "Can you review the port? It is 5433."),
            ("The mirror array [0:12] is on port 5.", "The mirror array [0:12] is on port 5."),
        ] {
            assert_eq!(left(message), wanted, "{message}");
        }
        for odd in ["", ":", "?", "[", "[]:", "+", "é:", "hi,", "hi,\nbest", "review this:", "translate:\n"] {
            borrowed(odd, Shown::Words);
        }
    }
}
