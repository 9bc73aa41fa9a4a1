//! Chooses the texts of a document that are embedded: bare text, without date and speaker (RETRIEVAL §3: names and
//! dates pull every vector toward a person or a day; they are only indexed as words).

use crate::event::TurnKind;

/// Approximate bytes of text per vector; a vector of many paragraphs is similar to nothing in particular.
const PART_BYTES: usize = 1500;

/// Largest number of vectors of one text; the rest is found by words.
const MOST_PARTS: usize = 16;

/// Bytes of tool calls and results that are embedded: the beginning names the command, the file, the error. Measured on
/// 99 MB of Claude Code transcripts: 3.5 MB of text are embedded, a vector for each turn; importing goes from 65 to 56
/// MB/s of source with a model that makes 39 MB/s of text, and to 49 MB/s with one that makes 10 (R15: 25). In real
/// sessions tool calls and results are 16 % of the source in full and 2 % when cut to this length.
const BEGINNING: usize = 300;

/// Returns the parts of a turn's text that get a vector each.
pub(super) fn of_turn(kind: TurnKind, text: &str) -> Vec<&str> {
    match kind {
        TurnKind::Message | TurnKind::CompactSummary => parts(text, MOST_PARTS),
        TurnKind::Thinking | TurnKind::MachinePrompt => parts(text, 1),
        TurnKind::ToolCall | TurnKind::ToolResult => {
            let beginning = &text[..text.floor_char_boundary(BEGINNING)];
            parts(beginning, 1)
        }
    }
}

/// Splits a text into at most `most` parts.
fn parts(text: &str, most: usize) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() && out.len() < most {
        let limit = rest.floor_char_boundary(PART_BYTES);
        let cut = match rest.len() <= PART_BYTES {
            true => rest.len(),
            false => {
                let half = rest.floor_char_boundary(PART_BYTES / 2);
                let behind = |found: usize| half + found + 1;
                let tail = &rest[half..limit];
                tail.rfind("\n\n").or_else(|| tail.rfind('\n')).or_else(|| tail.rfind(' ')).map_or(limit, behind)
            }
        };
        let (part, after) = rest.split_at(cut);
        out.push(part.trim_end());
        rest = after.trim_start();
    }
    out
}

/// Returns a file's parts, each with its title in front, because a leaf of one line says little without it.
pub(in crate::index) fn of_file(title: &str, text: &str) -> Vec<String> {
    let parts = parts(text, MOST_PARTS);
    if parts.is_empty() && !title.trim().is_empty() {
        return vec![title.to_owned()];
    }
    parts.into_iter().map(|part| format!("{title}\n{part}")).collect()
}

/// Returns the parts of a node's summary.
pub(in crate::index) fn of_node(summary: &str) -> Vec<String> {
    parts(summary, MOST_PARTS).into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_it_pauses_and_the_beginning_is_whole() {
        assert_eq!(parts("  one line \n", 3), ["one line"]);
        assert!(parts(" \n\t ", 3).is_empty());
        let paragraphs = format!("{}\n\n{}", "a ".repeat(600), "b ".repeat(600));
        let cut = parts(&paragraphs, 9);
        assert_eq!(cut.len(), 2);
        assert!(!cut[0].contains('b') && !cut[1].contains('a'));
        for text in ["日本語".repeat(4000), "x".repeat(60_000), "é\n".repeat(9000)] {
            let cut = parts(&text, MOST_PARTS);
            assert!(cut.len() <= MOST_PARTS && cut.iter().all(|p| p.len() <= PART_BYTES && !p.is_empty()));
            assert!(text.starts_with(cut[0]));
        }
        assert_eq!(of_turn(TurnKind::ToolResult, &"é".repeat(900))[0].len(), BEGINNING);
        assert_eq!(of_turn(TurnKind::Message, &"word ".repeat(9000)).len(), MOST_PARTS);
        assert_eq!(of_file("Tea", ""), ["Tea"]);
        assert_eq!(of_file("Tea", "oolong"), ["Tea\noolong"]);
    }
}
