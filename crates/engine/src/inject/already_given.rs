//! Lines that a session's model already has, so that nothing is given twice in other words (R10.6): the blocks given
//! since its context was cut, the summary its program wrote, the person's messages its program kept, and the lines of
//! the block being assembled.

use rusqlite::params;

use super::budget::{Part, core};
use super::held::Stretch;
use crate::audience::Audience;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::memory::remember::{begins_by_asking, remembered};
use crate::recall::live::Live;
use crate::recall::replay::{ContextId, open};
use crate::scope::{NodeId, TurnId};
use crate::text::sentences;
use crate::text::similarity::{self, ItemWords};
use crate::transcript::read;

/// Number of earlier blocks that are read again, newest first: a long session has many, and each costs some
/// microseconds.
const BLOCKS: usize = 40;

/// Largest number of bytes of the summary and of the person's kept messages that are compared.
const RESTORED: usize = 48 * 1024;

/// Largest number of bytes of a sentence that is compared as one.
const SENTENCE: usize = 600;

/// Least number of words with which the beginning of a line, cut by an ellipsis, counts as the whole line.
const CUT: usize = 8;

/// Where the model got a line from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    /// A part of this block.
    Part(Part),
    /// An earlier block.
    Context(ContextId),
    /// The program, after it cut the context.
    Program,
}

impl Source {
    pub fn why(self) -> String {
        match self {
            Source::Part(part) => format!("stands in {}", part.name()),
            Source::Context(id) => format!("says what {id} said"),
            Source::Program => "its program says it after the compaction".to_owned(),
        }
    }
}

/// A line in the form in which lines are compared.
#[derive(Clone, Debug)]
pub(super) struct Line {
    words: ItemWords,
    /// Words with a digit, which must all match: ticket 12 is not ticket 13, however alike the rest is.
    numbers: ItemWords,
    /// Ids in its brackets.
    pub refs: Vec<String>,
    /// Its sentences of more than one word.
    sentences: Vec<Line>,
    /// Whether it was cut: it ends in an ellipsis.
    cut: bool,
}

impl Line {
    pub fn of(text: &str) -> Line {
        let core = core(text);
        let each = sentences::split(core, SENTENCE).into_iter().map(|range| Line::sentence(&core[range]));
        let sentences = each.filter(|sentence| sentence.len() > 1).collect();
        Line { refs: references(text), sentences, ..Line::sentence(core) }
    }

    /// Makes the line of a sentence without the name of its speaker or of its kind before it. "Remember that we prune in
    /// February" says what "We prune in February" says.
    fn sentence(text: &str) -> Line {
        let text = sentences::unlabelled(text.trim_start_matches("- "));
        let asked = if begins_by_asking(text) { remembered(text) } else { Vec::new() };
        Line::plain(if let [only] = &asked[..] { only.text.as_str() } else { text })
    }

    fn plain(text: &str) -> Line {
        let numbers: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.bytes().any(|b| b.is_ascii_digit()))
            .collect();
        let numbers = similarity::words(&numbers.join(" "));
        let cut = text.trim_end_matches(['.', ' ']).ends_with('…');
        Line { words: similarity::words(text), numbers, refs: Vec::new(), sentences: Vec::new(), cut }
    }

    /// Returns its length in words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether this line says nothing that the other line does not say.
    pub fn repeats(&self, other: &Line) -> bool {
        if self.words.len() < 2 || other.words.is_empty() {
            return false;
        }
        let shared = similarity::shared(&self.words, &other.words);
        // The other line was cut by an ellipsis; its reference leads to the rest.
        if other.cut && other.words.len() >= CUT && shared * 10 >= other.words.len() * 9 {
            return true;
        }
        if similarity::shared(&self.numbers, &other.words) < self.numbers.len() {
            return false;
        }
        let of_one = self.refs.iter().any(|r| other.refs.contains(r));
        // Two files of the memory are different matters, unless they say the same word for word.
        let file = |line: &Line| line.refs.iter().any(|id| id.contains(':'));
        if file(self) && file(other) && !of_one {
            return similarity::same(&self.words, &other.words);
        }
        similarity::same(&self.words, &other.words)
            || self.words.len() > 3 && shared * 10 >= self.words.len() * 8
            || self.words.len() > 2 && of_one && shared * 10 >= self.words.len() * 6
    }
}

/// Lines that a model has, each with its source.
#[derive(Default, Debug)]
pub(super) struct Told(Vec<(Line, Source)>);

impl Told {
    /// Reads the lines that the model of an audience has from Heirloom and from its program. `stretches`: the contexts
    /// it holds.
    pub fn of(tx: &Read, audience: &Audience, stretches: &[Stretch]) -> Result<Told> {
        let mut told = Told::default();
        let mut statement = tx.prepare_cached(
            "SELECT context_no, content FROM contexts WHERE agent_no = ?1 AND session_key = ?2 AND epoch = ?3 AND at <= ?4
             ORDER BY context_no DESC LIMIT ?5",
        )?;
        let mut left = BLOCKS;
        for Stretch { session, epoch, until } in stretches.iter().rev() {
            let with = params![audience.agent_no, session, *epoch as i64, until, left as i64];
            let rows = statement.query_map(with, |r| Ok((r.get::<_, i64>(0)?, r.get::<_, Vec<u8>>(1)?)))?;
            for row in rows {
                let (no, packed) = row?;
                left = left.saturating_sub(1);
                // A context that cannot be read any more was given all the same; its items are known from the ledger.
                let Ok(Some(content)) = open(&packed) else { continue };
                let block = content.get("block").and_then(|block| block.as_str()).unwrap_or_default();
                for line in block.lines().filter(|line| !line.starts_with(['<', '#'])) {
                    told.add(Line::of(line), Source::Context(ContextId(no)));
                }
            }
        }
        let (opener, mut left) = (Opener::default(), RESTORED);
        for turn in Live::of(tx, audience)?.restored(tx)? {
            let Some(found) = read::find_turn(tx, &opener, audience.agent_no, turn)? else { continue };
            let text = &found.text[..found.text.floor_char_boundary(left)];
            left -= text.len();
            for line in text.lines() {
                for range in sentences::split(line, SENTENCE) {
                    told.add(Line { refs: vec![turn.to_string()], ..Line::sentence(&line[range]) }, Source::Program);
                }
            }
        }
        Ok(told)
    }

    pub fn add(&mut self, line: Line, source: Source) {
        if !line.words.is_empty() || !line.refs.is_empty() {
            self.0.push((line, source));
        }
    }

    /// Returns the source from which the model has all of a line, other than the part `but`. For a line of this block,
    /// naming the same file of the memory is enough.
    pub fn says(&self, line: &Line, but: Part) -> Option<Source> {
        let others = || self.0.iter().filter(move |(_, source)| *source != Source::Part(but));
        let is_file = |id: &String| id.contains(':');
        let same_file = |other: &Line| line.refs.iter().any(|id| is_file(id) && other.refs.contains(id));
        for (other, source) in others() {
            if line.repeats(other) || matches!(source, Source::Part(_)) && same_file(other) {
                return Some(*source);
            }
        }
        Told::by_sentences(line, others).or_else(|| Told::by_turn(line, others))
    }

    /// Returns the source of a line's first sentence if the model has each of its sentences.
    fn by_sentences<'t, I: Iterator<Item = &'t (Line, Source)>>(line: &Line, others: impl Fn() -> I) -> Option<Source> {
        let mut first = None;
        for sentence in line.sentences.iter().filter(|_| line.sentences.len() > 1) {
            let (_, source) = others().find(|(other, _)| sentence.repeats(other))?;
            first = first.or(Some(*source));
        }
        first
    }

    /// Returns a source if several lines about the same turn together say all of a line.
    fn by_turn<'t, I: Iterator<Item = &'t (Line, Source)>>(line: &Line, others: impl Fn() -> I) -> Option<Source> {
        let mut of_one = others().filter(|(other, _)| line.refs.iter().any(|id| other.refs.contains(id)));
        let (first, source) = of_one.next()?;
        let mut all = first.words.clone();
        let mut more = false;
        for (other, _) in of_one {
            all.extend(&other.words);
            more = true;
        }
        all.sort_unstable();
        all.dedup();
        let enough = line.words.len() > 3
            && similarity::shared(&line.numbers, &all) == line.numbers.len()
            && similarity::shared(&line.words, &all) * 10 >= line.words.len() * 8;
        (more && enough).then_some(*source)
    }
}

/// Returns the ids in the brackets at the end of a line.
pub(super) fn references(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = line.trim_end();
    while let Some((before, inner)) = rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        let ids: Vec<&str> = inner.split(' ').filter(|id| is_id(id)).collect();
        if ids.is_empty() {
            break;
        }
        out.splice(0..0, ids.into_iter().map(str::to_owned));
        rest = before.trim_end();
    }
    out
}

fn is_id(text: &str) -> bool {
    TurnId::parse(text).is_some()
        || NodeId::parse(text).is_some()
        || text.split_once(':').is_some_and(|(kind, rest)| kind.len() == 1 && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_up_to_an_ellipsis_is_not_told_again_in_full() {
        let cut = Line::of("the loader now reads each ledger file once and keeps its rows in a flat table of… [t5]");
        let full = "the loader now reads each ledger file once and keeps its rows in a flat table of 90 entries, registered \
                    by a loop of two lines [t5]";
        assert!(Line::of(full).repeats(&cut));
        assert!(!Line::of("the loader now reads each journal twice and drops its rows [t5]").repeats(&cut));
        assert!(!Line::of(full).repeats(&Line::of("the loader now reads… [t5]")));
    }

    #[test]
    fn a_line_that_says_less_in_other_words_is_a_repetition_and_one_that_says_more_is_none() {
        let long = Line::of("- We keep the mail queue in Postgres, because one process is enough. · 18 Nov · [t5]\n");
        for short in [
            "- the mail queue is kept in Postgres: one process is enough [t9]\n",
            "**Decided**: keeping the mail queue in Postgres, one process enough",
            "- Postgres for the mail queue [t5]\n",
        ] {
            assert!(Line::of(short).repeats(&long), "{short}");
        }
        for other in [
            "- We keep the print queue in Redis. [t9]\n",
            "- The mail queue listens on port 6543 and is restarted at night by cron. [t5]\n",
            "- ok\n",
            "- We keep the mail queue in Postgres 17, because one process is enough. [t9]\n",
        ] {
            assert!(!Line::of(other).repeats(&long), "{other}");
        }
    }

    #[test]
    fn a_sentence_and_the_request_to_keep_it_say_the_same() {
        let (kept, asked) =
            ("- We only prune in February · [u:1]\n", "- Remember that we only prune in February [t3]\n");
        assert!(Line::of(kept).repeats(&Line::of(asked)) && Line::of(asked).repeats(&Line::of(kept)));
        assert!(!Line::of("- Remember that we only prune in March [t3]\n").repeats(&Line::of(kept)));
    }

    #[test]
    fn what_several_lines_have_told_is_no_news_as_one() {
        let mut told = Told::default();
        let given = Source::Context(ContextId(1));
        told.add(Line::of("**Doing.** Please get the roof fixed before winter. [n2]"), given);
        told.add(Line::of("- We decided to take the offer of Maier because of the gutter. · 20 Nov · [t2]"), given);
        told.add(Line::of("- Sign the offer · since 20 Nov · [l:sign-the-offer]"), given);
        let both = "- Please get the roof fixed before winter. Decided: we take the offer of Maier because of the gutter. Open: sign the offer. (summary, 2026-11-20 10:01) [n3]\n";
        assert_eq!(told.says(&Line::of(both), Part::Recall), Some(given));
        let more = "- Please get the roof fixed before winter. The ladder of the neighbour is broken. (summary, 2026-11-20 10:01) [n3]\n";
        assert_eq!(told.says(&Line::of(more), Part::Recall), None);
    }

    #[test]
    fn references_stand_in_brackets_at_the_end() {
        assert_eq!(references("- Postgres [t5 t6] [l:queue]\n"), ["t5", "t6", "l:queue"]);
        assert_eq!(references("- see [the page] and [x]"), [""; 0]);
        assert_eq!(references("**Doing.** ZEPHYR [nb]"), ["nb"]);
    }
}
