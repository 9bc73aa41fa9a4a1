//! A text under change that records every edit, so that the changes can be undone byte for byte. The record contains
//! none of the surrounding text that others wrote.

use std::ops::Range;

/// One step of undoing: in the changed text, `len` bytes at `at` are replaced by `text`. Steps are in order and do not
/// overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The position in the changed text.
    pub at: usize,
    /// Number of inserted bytes.
    pub len: usize,
    /// Replaced text; empty if text was only inserted.
    pub text: String,
}

/// A piece of the text: a range of the original, or an insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Kept(Range<usize>),
    Put(String),
}

/// A text under change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    base: String,
    pieces: Vec<Piece>,
    text: String,
}

impl Draft {
    /// Makes a draft without changes.
    pub fn new(text: &str) -> Draft {
        Draft { base: text.to_owned(), pieces: vec![Piece::Kept(0..text.len())], text: text.to_owned() }
    }

    /// Continues an earlier change: `steps` lead from `text` back to the original. `None` if the steps do not fit the
    /// text.
    pub fn resume(text: &str, steps: &[Step]) -> Option<Draft> {
        let (mut base, mut pieces, mut at) = (String::new(), Vec::new(), 0);
        for step in steps {
            let kept = text.get(at..step.at)?;
            let end = step.at.checked_add(step.len)?;
            let put = text.get(step.at..end)?;
            pieces.push(Piece::Kept(base.len()..base.len() + kept.len()));
            base.push_str(kept);
            pieces.push(Piece::Put(put.to_owned()));
            base.push_str(&step.text);
            at = end;
        }
        let kept = text.get(at..)?;
        pieces.push(Piece::Kept(base.len()..base.len() + kept.len()));
        base.push_str(kept);
        Some(Draft { base, pieces, text: text.to_owned() })
    }

    /// Returns the current text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the first change.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Replaces a range of the current text by `with`. Both ends must be character boundaries.
    pub fn replace(&mut self, range: Range<usize>, with: &str) {
        self.text.replace_range(range.clone(), with);
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        let mut with = Some(with).filter(|w| !w.is_empty());
        let mut at = 0;
        for piece in std::mem::take(&mut self.pieces) {
            let len = match &piece {
                Piece::Kept(span) => span.len(),
                Piece::Put(text) => text.len(),
            };
            let (begin, end) = (at, at + len);
            at = end;
            // The parts before and after the range; both may belong to one piece.
            let before = range.start.clamp(begin, end) - begin;
            let after = range.end.clamp(begin, end) - begin;
            if range.start <= end && begin <= range.start {
                pieces.extend(part(&piece, 0..before));
                if let Some(with) = with.take() {
                    pieces.push(Piece::Put(with.to_owned()));
                }
                pieces.extend(part(&piece, after..len));
            } else if end <= range.start {
                pieces.push(piece);
            } else {
                pieces.extend(part(&piece, after..len));
            }
        }
        // Only an empty text has no piece to insert it into.
        pieces.extend(with.map(|w| Piece::Put(w.to_owned())));
        self.pieces = pieces;
    }

    /// Returns the steps that lead from the current text back to the original.
    pub fn steps(&self) -> Vec<Step> {
        let (mut steps, mut at, mut base, mut put) = (Vec::new(), 0, 0, 0);
        let mut close = |put: &mut usize, at: usize, missing: &str| {
            if *put > 0 || !missing.is_empty() {
                steps.push(Step { at: at - *put, len: *put, text: missing.to_owned() });
                *put = 0;
            }
        };
        for piece in &self.pieces {
            match piece {
                Piece::Put(text) => {
                    put += text.len();
                    at += text.len();
                }
                Piece::Kept(span) if span.is_empty() => {}
                Piece::Kept(span) => {
                    close(&mut put, at, &self.base[base..span.start]);
                    at += span.len();
                    base = span.end;
                }
            }
        }
        close(&mut put, at, &self.base[base..]);
        steps
    }
}

/// Applies the steps; `None` if they do not fit the text.
pub fn undo(text: &str, steps: &[Step]) -> Option<String> {
    Draft::resume(text, steps).map(|draft| draft.base)
}

fn part(piece: &Piece, range: Range<usize>) -> Option<Piece> {
    if range.is_empty() {
        return None;
    }
    Some(match piece {
        Piece::Kept(span) => Piece::Kept(span.start + range.start..span.start + range.end),
        Piece::Put(text) => Piece::Put(text[range].to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_change_can_be_taken_back(
            text in "[a-zé{},\n]{0,60}",
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[A-Zß]{0,6}"), 0..12),
        ) {
            let mut draft = Draft::new(&text);
            for (n, (from, to, with)) in edits.iter().enumerate() {
                let ends: Vec<usize> = draft.text().char_indices().map(|(i, _)| i).chain([draft.text().len()]).collect();
                let (a, b) = (*from.get(&ends), *to.get(&ends));
                let mut expected = draft.text().to_owned();
                expected.replace_range(a.min(b)..a.max(b), with);
                draft.replace(a.min(b)..a.max(b), with);
                prop_assert_eq!(draft.text(), &expected);
                prop_assert_eq!(draft.base(), &text);
                prop_assert_eq!(undo(draft.text(), &draft.steps()), Some(text.clone()));
                if n % 3 == 2 {
                    // A draft resumed from its recorded steps equals the draft in memory.
                    draft = Draft::resume(draft.text(), &draft.steps()).unwrap();
                }
            }
        }

        #[test]
        fn what_is_kept_for_the_way_back_holds_nothing_that_stayed(text in "[a-z]{1,40}", at in any::<prop::sample::Index>()) {
            let mut draft = Draft::new(&text);
            draft.replace(at.index(text.len() + 1)..at.index(text.len() + 1), "OURS");
            let steps = draft.steps();
            prop_assert_eq!(steps.len(), 1);
            prop_assert_eq!((steps[0].len, steps[0].text.as_str()), (4, ""));
        }
    }

    #[test]
    fn steps_that_do_not_fit_are_refused() {
        let step = |at, len| Step { at, len, text: String::new() };
        assert_eq!(undo("abc", &[step(1, 9)]), None);
        assert_eq!(undo("abc", &[step(2, 1), step(1, 1)]), None);
        assert_eq!(undo("é", &[step(1, 1)]), None);
        assert_eq!(undo("abc", &[step(usize::MAX, 2)]), None);
    }
}
