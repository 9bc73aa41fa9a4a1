//! Finds the phrases that the lists of a distillate look for in a statement, all in one pass while the statement's
//! words are split. The phrases are data, in `phrases.txt`.

use std::ops::Range;
use std::sync::LazyLock;

use crate::statement::{Speaker, Statement, read_marked, says_all};
use crate::text::language::sections;
use crate::text::patterns::Phrases;
use crate::text::plain::lower;
use crate::text::words::{self, Word};

/// A set of [`Mark`]s.
pub type Marks = u32;

/// The bit of a stressed statement, behind those of the marks.
const STRESSED: Marks = 1 << NAMES.len();

/// A list of phrases in `phrases.txt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Something was merged.
    Merged,
    /// "we drop Redis", "forget what I said about tests", "you may push now".
    Retraction,
    /// "0 failures".
    NoFault,
    Fault,
    /// Only at the beginning of a statement: "TODO: rotate the certificates".
    ToDo,
    /// "We still have to migrate the table."
    Left,
    /// The model says that it did not try, check or commit something: later work leaves that as it is.
    Unproved,
    /// "You need to enable it in the console": a step for the person.
    Yours,
    /// Only at the beginning: "I'll update the docs".
    Promise,
    Later,
    /// Only at the beginning: "If that fails, we could …".
    Hypothetical,
    /// "Anything else?", "let me know": such a question waits for no answer.
    Courtesy,
    /// "Let me …" at the beginning, or "I'm also adding …" anywhere: the model announces more work.
    Announcement,
    /// Only at the beginning: "To draw the chart"; see [`Mark::announce`].
    Aim,
    /// "I will", "we can".
    Means,
    /// "I'm", before a participle.
    Progressive,
    /// Only at the beginning: "Once the import is through"; the rest of the statement says what follows then.
    Awaits,
    /// "I'll", after [`Mark::Awaits`]: the promise is for later.
    Mine,
    /// "Missing", "left": a question with it asks what is still to be done, an answer with it says so.
    Lacking,
    /// "Put that on the list": the matter is kept for later.
    Listed,
    /// "It still doesn't work": the earlier attempt did not help.
    StillWrong,
    /// Only at the beginning: "Make sure the packages are installed": the model tells the person what to do.
    Advice,
    /// "I cannot create the commit", "couldn't connect".
    Unable,
    /// "This works now, thanks!" says that the work was liked, not how it is to be done.
    Praise,
    /// "instead of", "so that", "to avoid": the statement gives the reason for how something was done.
    Reasoned,
    /// "The rest remains unchanged": nothing was done.
    Unchanged,
    /// Only at the beginning: "All committed", "ready for the next task", which report no work.
    Idle,
    /// "So I'm taking the larger one": the model draws a conclusion for what it does.
    Concluded,
    /// "The keys are deliberately not copied."
    OnPurpose,
}

/// The marks in the order of the file, each with the name of its list there.
const NAMES: [(Mark, &str); 29] = [
    (Mark::Merged, "merged"),
    (Mark::Retraction, "retraction"),
    (Mark::NoFault, "no fault"),
    (Mark::Fault, "fault"),
    (Mark::ToDo, "to do"),
    (Mark::Left, "left"),
    (Mark::Unproved, "unproved"),
    (Mark::Yours, "yours"),
    (Mark::Promise, "promise"),
    (Mark::Later, "later"),
    (Mark::Hypothetical, "hypothetical"),
    (Mark::Courtesy, "courtesy"),
    (Mark::Announcement, "announcement"),
    (Mark::Aim, "aim"),
    (Mark::Means, "means"),
    (Mark::Progressive, "progressive"),
    (Mark::Awaits, "awaits"),
    (Mark::Mine, "mine"),
    (Mark::Lacking, "lacking"),
    (Mark::Listed, "listed"),
    (Mark::StillWrong, "still wrong"),
    (Mark::Advice, "advice"),
    (Mark::Unable, "unable"),
    (Mark::Praise, "praise"),
    (Mark::Reasoned, "reasoned"),
    (Mark::Unchanged, "unchanged"),
    (Mark::Idle, "idle"),
    (Mark::Concluded, "concluded"),
    (Mark::OnPurpose, "on purpose"),
];

const FILE: &str = include_str!("phrases.txt");

static LISTS: LazyLock<Phrases<Mark>> = LazyLock::new(|| {
    let mark = |name: &str| NAMES.iter().find(|(_, n)| *n == name).map(|(mark, _)| *mark);
    Phrases::labelled(sections(FILE).filter_map(|(name, list)| mark(name).map(|mark| (mark, list))))
});

impl Mark {
    fn bit(self) -> Marks {
        1 << self as u16
    }

    /// Whether the mark counts only at the beginning of a statement.
    fn begins(self) -> bool {
        matches!(
            self,
            Mark::ToDo
                | Mark::Promise
                | Mark::Hypothetical
                | Mark::Announcement
                | Mark::Aim
                | Mark::Awaits
                | Mark::Advice
                | Mark::Idle
        )
    }

    /// Whether a statement only says how something is going to be done: "To draw the chart, I will provide the blocks",
    /// "Once I see the file, I can provide the blocks".
    pub fn announce(s: &Statement) -> bool {
        Mark::Promise.is_in(s) || (Mark::Aim.is_in(s) || Mark::Awaits.is_in(s)) && Mark::Means.is_in(s)
    }

    /// Whether a statement has the mark.
    pub fn is_in(self, s: &Statement) -> bool {
        s.marks & self.bit() != 0
    }
}

/// Returns the marks of a sentence in lower case, given its words.
fn marks(low: &str, words: &[Word]) -> Marks {
    let mut found = 0;
    for at in 0..words.len() {
        for (mark, taken) in LISTS.begin(&words[at..]) {
            if mark == Mark::Progressive {
                // "I'm also adding": a participle within the next two words.
                let mut next = words[at + taken..].iter().take(2);
                if next.any(|w| low[w.start..w.end].ends_with("ing")) {
                    found |= Mark::Announcement.bit();
                }
            } else if (at == 0 || !mark.begins()) && !(mark == Mark::ToDo && says_all(low)) {
                found |= mark.bit();
            }
        }
    }
    if !low.is_ascii() && announces(low) {
        found |= Mark::Announcement.bit();
    }
    if !low.is_ascii() && is_left(low) {
        found |= Mark::Left.bit();
    }
    // A promise may wait for something: "Once the import is through, I'll drop the old table."
    if found & Mark::Awaits.bit() != 0 && found & Mark::Mine.bit() != 0 {
        found |= Mark::Promise.bit() | Mark::Later.bit();
    }
    found
}

/// Whether a sentence in a script without blanks announces a step: it begins with "let me" in Chinese, or ends with a
/// Japanese verb of doing that is not in the past.
fn announces(low: &str) -> bool {
    const BEGIN: [&str; 12] =
        ["让我", "讓我", "我来", "我來", "接下来", "接下來", "现在我", "現在我", "下面我", "首先我", "次に", "まず"];
    const END: [&str; 6] = ["します", "行います", "進めます", "始めます", "直します", "いきます"];
    let end = low.trim_end_matches(['。', '！', '!', '.', '：', ':']);
    BEGIN.iter().any(|part| low.starts_with(part)) || END.iter().any(|part| end.ends_with(part))
}

/// Whether a sentence in a script without blanks says that work is left: "`z` はまだ直していません", "还没有测试".
fn is_left(low: &str) -> bool {
    let yet =
        low.contains("まだ") && ["ません", "ない", "です"].iter().any(|end| low.trim_end_matches('。').ends_with(end));
    yet || ["还没", "還沒", "尚未", "仍未", "暂未", "暫未", "有待", "別途対応が必要", "아직"]
        .iter()
        .any(|part| low.contains(part))
}

/// Whether a text retracts something, or replaces one thing by another.
pub fn retracts(text: &str) -> bool {
    let low = lower(text);
    let words = words::split(&low, words::Marks::Dropped);
    marks(&low, &words) & Mark::Retraction.bit() != 0
}

/// Returns the statements of a message, with their marks.
pub fn statements(text: &str, speaker: Speaker, last: bool) -> Vec<Statement> {
    let mut found = read_marked(text, speaker, last, marks);
    let bold = bold(text);
    for s in found.iter_mut().filter(|_| !bold.is_empty()) {
        let within = |part: &Range<usize>| part.end.min(s.range.end).saturating_sub(part.start.max(s.range.start));
        let covered: usize = bold.iter().map(within).sum();
        if 2 * covered > s.range.len() {
            s.marks |= STRESSED;
        }
    }
    found
}

/// Returns the bold parts of a text; each is within one line.
fn bold(text: &str) -> Vec<Range<usize>> {
    const SIGN: &str = "**";
    let (mut out, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let mut open: Option<usize> = None;
        for (place, _) in line.match_indices(SIGN) {
            match open.take() {
                Some(from) => out.push(at + from..at + place),
                None => open = Some(place + SIGN.len()),
            }
        }
        at += line.len();
    }
    out
}

/// Whether a statement is stressed by its writer: most of it is in bold. Models stress what they conclude.
pub fn is_stressed(s: &Statement) -> bool {
    s.marks & STRESSED != 0
}

/// Replaces the text of a statement, and finds its marks again.
pub fn reword(s: &mut Statement, text: &str) {
    let low = lower(text);
    let words = words::split(&low, words::Marks::Dropped);
    s.marks = marks(&low, &words);
    s.reword(text, &low, &words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_of_the_file_is_a_mark() {
        let names: Vec<&str> = sections(FILE).map(|(name, _)| name).collect();
        assert_eq!(names, NAMES.map(|(_, name)| name));
    }

    #[test]
    fn marks_stand_where_they_count() {
        let of = |text: &str| statements(text, Speaker::Model, true).remove(0);
        assert!(Mark::ToDo.is_in(&of("TODO: rotate the certificates.")));
        assert!(!Mark::ToDo.is_in(&of("Todo verificado y funcionando.")));
        assert!(!Mark::ToDo.is_in(&of("The page says todo: rotate the certificates.")));
        assert!(Mark::Announcement.is_in(&of("The tests pass, so I'm also adding a case.")));
        assert!(!Mark::Announcement.is_in(&of("The tests pass and I'm glad of it.")));
        assert!(Mark::announce(&of("To draw the chart, I will provide the blocks.")));
        assert!(Mark::announce(&of("Once I see the file, I can provide the blocks.")));
        assert!(!Mark::announce(&of("To my knowledge the chart is drawn.")));
        let then = of("When the import is through, I'll drop the old table.");
        assert!(Mark::Promise.is_in(&then) && Mark::Later.is_in(&then));
        assert!(!Mark::Promise.is_in(&of("When the import is through, the old table goes.")));
        assert!(Mark::Fault.is_in(&of("The build was broken.")) && !Mark::NoFault.is_in(&of("The build was broken.")));
    }
}
