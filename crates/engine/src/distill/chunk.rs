//! Determines where chunks close (R6.2). Pure: turns in ledger order in, ranges out.
//!
//! A chunk closes at a number of turns or tokens, and always where the thread changes, where the tree forks and at the
//! end of the input, if nothing can follow it. It ends on a run boundary unless one run is larger than a chunk.

use crate::scope::RunNo;

/// The properties of a turn that decide where chunks are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub run: RunNo,
    pub tokens: u64,
    /// Thread, used only for comparison.
    pub thread: usize,
    /// The run of this turn begins at a turn before the last one of the previous run.
    pub forks: bool,
}

/// Number of turns and tokens at which a chunk is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub turns: usize,
    pub tokens: u64,
}

impl Default for Size {
    fn default() -> Size {
        // The sizes of SPEC R6.2.
        Size { turns: 32, tokens: 6_000 }
    }
}

/// Returns the ends of the chunks that close: `[4, 9]` are the pieces 0..4 and 4..9. `ends`: nothing follows the input
/// (a compaction, the end of the session), so the last chunk closes however small it is. `whole`: the last run is
/// complete; an incomplete run closes a chunk only when the chunk is full.
pub fn cuts(pieces: &[Piece], size: Size, ends: bool, whole: bool) -> Vec<usize> {
    let mut cuts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let full = |from: usize, to: usize| {
        to - from > size.turns || pieces[from..to].iter().map(|p| p.tokens).sum::<u64>() > size.tokens
    };
    while at < pieces.len() {
        let first = pieces[at];
        let run_end = at + pieces[at..].iter().take_while(|p| (p.run, p.thread) == (first.run, first.thread)).count();
        let breaks = at > start && (pieces[at - 1].thread != first.thread || first.forks);
        if breaks || (at > start && full(start, run_end)) {
            cuts.push(at);
            start = at;
        }
        let last = run_end == pieces.len();
        if full(start, run_end) {
            // A run larger than a chunk is cut inside.
            let mut tokens = 0;
            for (i, piece) in pieces.iter().enumerate().take(run_end).skip(start) {
                if i > start && (i - start >= size.turns || tokens + piece.tokens > size.tokens) {
                    cuts.push(i);
                    start = i;
                    tokens = 0;
                }
                tokens += piece.tokens;
            }
            // The rest of that run becomes a chunk of its own: the next run joins it only while this run may still
            // continue.
            if !last || ends {
                cuts.push(run_end);
                start = run_end;
            }
        } else if run_end - start == size.turns && (!last || whole || ends) {
            cuts.push(run_end);
            start = run_end;
        }
        at = run_end;
    }
    if ends && start < pieces.len() {
        cuts.push(pieces.len());
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        // Each letter is a run; a capital letter means that the run forks; a digit after the letter is the thread.
        let mut out: Vec<Piece> = Vec::new();
        for word in text.split_whitespace() {
            let mut chars = word.chars();
            let run = chars.next().unwrap();
            let thread = chars.next().and_then(|c| c.to_digit(10)).unwrap_or(0) as usize;
            let lower = RunNo(run.to_ascii_lowercase() as i64);
            let begins = out.last().is_none_or(|p| p.run != lower);
            out.push(Piece { run: lower, tokens: 10, thread, forks: begins && run.is_ascii_uppercase() });
        }
        out
    }

    fn shown(text: &str, turns: usize, ends: bool) -> Vec<usize> {
        cuts(&pieces(text), Size { turns, tokens: 1_000 }, ends, true)
    }

    #[test]
    fn chunks_end_on_run_boundaries() {
        assert_eq!(shown("a a a b b c", 4, false), vec![3]);
        assert_eq!(shown("a a a b b c", 4, true), vec![3, 6]);
        assert_eq!(shown("a a b b", 4, false), vec![4]);
        assert_eq!(shown("a a", 4, false), Vec::<usize>::new());
        assert_eq!(shown("", 4, true), Vec::<usize>::new());
    }

    #[test]
    fn a_run_larger_than_a_chunk_is_cut_inside() {
        assert_eq!(shown("a a a a a a a b", 3, true), vec![3, 6, 7, 8]);
        assert_eq!(shown("a b b b b b", 3, true), vec![1, 4, 6]);
    }

    #[test]
    fn threads_and_forks_close_a_chunk() {
        assert_eq!(shown("a1 a1 b2 b2 c1", 9, true), vec![2, 4, 5]);
        assert_eq!(shown("a a b b C c", 9, true), vec![4, 6]);
    }

    #[test]
    fn tokens_close_a_chunk() {
        let size = Size { turns: 99, tokens: 30 };
        assert_eq!(cuts(&pieces("a a b b c c"), size, true, true), vec![2, 4, 6]);
        let huge = [Piece { run: RunNo(1), tokens: 5_000_000, thread: 0, forks: false }];
        assert_eq!(cuts(&huge, size, true, true), vec![1]);
        assert_eq!(cuts(&huge, size, false, true), Vec::<usize>::new());
    }

    #[test]
    fn every_cut_is_ahead_of_the_one_before_and_the_end_is_reached() {
        let mut rng = heirloom_testkit::Rng::new(7);
        for _ in 0..2_000 {
            let mut all = Vec::new();
            let (mut run, mut thread) = (1, 0);
            for _ in 0..rng.below(80) {
                if rng.below(4) == 0 {
                    run += 1;
                    thread = rng.below(3);
                }
                let forks = all.last().is_none_or(|p: &Piece| p.run != RunNo(run)) && rng.below(9) == 0;
                all.push(Piece { run: RunNo(run), tokens: rng.below(40) as u64, thread, forks });
            }
            let size = Size { turns: 1 + rng.below(12), tokens: 1 + rng.below(200) as u64 };
            let cuts = cuts(&all, size, true, true);
            let mut from = 0;
            for cut in &cuts {
                assert!(*cut > from, "{cuts:?}");
                let chunk = &all[from..*cut];
                assert!(chunk.len() <= size.turns.max(1), "{cuts:?}");
                assert!(chunk.iter().all(|p| p.thread == chunk[0].thread));
                assert!(chunk.len() == 1 || chunk.iter().map(|p| p.tokens).sum::<u64>() <= size.tokens);
                from = *cut;
            }
            assert_eq!(from, all.len());
        }
    }
}
