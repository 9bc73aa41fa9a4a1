//! The passage of a text that shows why it was found.
//!
//! The full-text engine itself marks the matches, on a small table in memory, so the marks agree with what matched,
//! stems and accents included.

use std::borrow::Cow;

use rusqlite::{Connection, Transaction};

use crate::error::Result;
use crate::text::indexed::{BREAK, fold, unfold};
use crate::text::sentences;
use crate::tokens::{cut, tokens};

/// Marks around a match; control characters, so that they cannot be confused with text.
pub const MATCH_START: char = '\u{2}';
pub const MATCH_END: char = '\u{3}';

/// Stands for a [`BREAK`] of the text itself while a passage is cut, because [`unfold`] removes those that [`fold`] put
/// in: a terminal must show that a word hides a character.
const BREAK_OF_TEXT: char = '\u{4}';

/// Bytes of a long text that are given to the full-text engine: enough for one passage.
const WINDOW_BYTES: usize = 3000;

/// Largest number of pieces of a long text passed to the engine if no needle occurs in the text; the engine folds
/// endings and accents.
const MOST_PIECES: usize = 256;

/// Words in a passage; the engine allows at most 64.
const PASSAGE_WORDS: i64 = 28;

/// Returns the text without the numbers that programs put before the lines of a file they read: `  12→fn main() {`, or
/// with a tab in place of the arrow. Numbers before a tab must follow each other, because a table may have a first column
/// of numbers.
pub fn unnumbered(text: &str) -> Cow<'_, str> {
    let number = |line: &str| -> Option<(u64, usize, bool)> {
        let start = line.len() - line.trim_start_matches(' ').len();
        let end = start + line[start..].bytes().take_while(u8::is_ascii_digit).count();
        let mark = line[end..].chars().next().filter(|c| matches!(c, '→' | '\t'))?;
        Some((line[start..end].parse().ok()?, end + mark.len_utf8(), mark == '→'))
    };
    let mut numbered = 0;
    let mut before: Option<u64> = None;
    for (n, _, arrow) in text.lines().filter_map(number) {
        let follows = arrow || before.is_some_and(|before| before + 1 == n);
        numbered += usize::from(follows);
        before = Some(n);
    }
    let all = text.lines().count();
    if numbered < 2 || !text.contains('→') && 2 * numbered < all {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split('\n').map(|line| &line[number(line).map_or(0, |n| n.1)..]).collect();
    Cow::Owned(lines.join("\n"))
}

/// A small table with the index's tokenizer, used to cut passages. It is in the connection's temporary schema.
pub struct Scratch<'c> {
    conn: &'c Connection,
}

impl<'c> Scratch<'c> {
    pub fn new(conn: &'c Connection) -> Result<Scratch<'c>> {
        conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage USING fts5(text, tokenize='{}');
             CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage_tokens USING fts5vocab(temp, passage, instance);",
            crate::index::TOKENIZER
        ))?;
        Ok(Scratch { conn })
    }

    /// Returns a transaction for cutting several passages: at its end the rows put into the table are rolled back,
    /// which costs a third of storing and deleting each one. `None` in the middle of a transaction.
    pub fn cutting(&self) -> Result<Option<Transaction<'c>>> {
        // Dropping it rolls back.
        Ok(if self.conn.is_autocommit() { Some(self.conn.unchecked_transaction()?) } else { None })
    }

    /// Returns the tokens the engine makes of each text, in order.
    pub fn tokens(&self, texts: &[&str]) -> Result<Vec<Vec<String>>> {
        self.conn.prepare_cached("DELETE FROM temp.passage")?.execute([])?;
        let mut insert = self.conn.prepare_cached("INSERT INTO temp.passage (rowid, text) VALUES (?1, ?2)")?;
        for (row, text) in (0i64..).zip(texts) {
            insert.execute(rusqlite::params![row, text])?;
        }
        let mut found: Vec<(i64, i64, String)> = self
            .conn
            .prepare_cached("SELECT doc, \"offset\", term FROM temp.passage_tokens")?
            .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        found.sort_unstable();
        let mut out = vec![Vec::new(); texts.len()];
        for (row, _, token) in found {
            if let Some(tokens) = out.get_mut(row as usize) {
                tokens.push(token);
            }
        }
        Ok(out)
    }

    /// Returns the best passage for a full-text expression, with matches between [`MATCH_START`] and [`MATCH_END`];
    /// without a match or an expression, the beginning. White space is folded into single spaces.
    pub fn passage(&self, text: &str, expression: &str, needles: &[String]) -> Result<String> {
        let clean = |part: &str| -> String {
            let plain = |c: char| match c {
                BREAK => BREAK_OF_TEXT,
                c if c.is_control() => ' ',
                c => c,
            };
            fold(&part.chars().map(plain).collect::<String>())
        };
        let parts = window(text, needles).map_or_else(|| pieces(text), |found| vec![found]);
        if expression.is_empty() {
            return Ok(tidy(&beginning(&clean(parts.first().copied().unwrap_or_default()))));
        }
        let alone = parts.len() == 1 && !self.conn.is_autocommit();
        if !alone {
            self.conn.prepare_cached("DELETE FROM temp.passage")?.execute([])?;
        }
        let mut insert = self.conn.prepare_cached("INSERT INTO temp.passage (text) VALUES (?1)")?;
        for part in &parts {
            insert.execute([clean(part)])?;
        }
        // `ORDER BY` makes the engine prepare a second statement at each call, which costs more than all the rest; a
        // single part needs no order.
        let which = match parts.len() {
            1 => "AND rowid = ?5 LIMIT 1",
            _ => "AND rowid <= ?5 ORDER BY rank, rowid LIMIT 1",
        };
        let (last, start, end) = (self.conn.last_insert_rowid(), MATCH_START.to_string(), MATCH_END.to_string());
        let found: Option<String> = self
            .conn
            .prepare_cached(&format!(
                "SELECT snippet(passage, 0, ?2, ?3, '…', ?4) FROM temp.passage WHERE passage MATCH ?1 {which}"
            ))?
            .query_row(rusqlite::params![expression, start, end, PASSAGE_WORDS, last], |r| r.get(0))
            .map(Some)
            .or_else(|e| if e == rusqlite::Error::QueryReturnedNoRows { Ok(None) } else { Err(e) })?;
        Ok(tidy(&found.unwrap_or_else(|| beginning(&clean(parts.first().copied().unwrap_or_default())))))
    }

    /// Returns the number of the line that matches an expression best, according to the engine.
    pub fn best_line<'l>(
        &self,
        lines: impl Iterator<Item = (usize, &'l str)>,
        expression: &str,
    ) -> Result<Option<usize>> {
        if expression.is_empty() {
            return Ok(None);
        }
        self.conn.prepare_cached("DELETE FROM temp.passage")?.execute([])?;
        let mut insert = self.conn.prepare_cached("INSERT INTO temp.passage (rowid, text) VALUES (?1, ?2)")?;
        for (number, line) in lines {
            insert.execute(rusqlite::params![number as i64, fold(line)])?;
        }
        let found: rusqlite::Result<i64> = self
            .conn
            .prepare_cached("SELECT rowid FROM temp.passage WHERE passage MATCH ?1 ORDER BY rank, rowid LIMIT 1")?
            .query_row([expression], |r| r.get(0));
        match found {
            Ok(number) => Ok(Some(number as usize)),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// Splits a long text into pieces.
fn pieces(text: &str) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() && out.len() < MOST_PIECES {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(WINDOW_BYTES));
        out.push(piece);
        rest = behind;
    }
    out
}

/// Returns the part of a long text with the most different needles close together; `None` if it contains none.
fn window<'t>(text: &'t str, needles: &[String]) -> Option<&'t str> {
    if text.len() <= WINDOW_BYTES {
        return Some(text);
    }
    let lower = text.to_ascii_lowercase();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (which, needle) in needles.iter().enumerate() {
        let finder = memchr::memmem::Finder::new(needle.as_bytes());
        // The first hundred occurrences of a frequent needle are enough to find a good passage.
        places.extend(finder.find_iter(lower.as_bytes()).take(100).map(|at| (at, which)));
    }
    places.sort_unstable();
    let mut best = (0usize, 0usize);
    for (i, (start, _)) in places.iter().enumerate() {
        let mut seen = 0u64;
        for (_, which) in places[i..].iter().take_while(|(at, _)| at - start < WINDOW_BYTES / 2) {
            seen |= 1 << (which % 64);
        }
        let score = seen.count_ones() as usize;
        if score > best.0 {
            best = (score, *start);
        }
    }
    if best.0 == 0 {
        return None;
    }
    let mut from = best.1.saturating_sub(WINDOW_BYTES / 4);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = (from + WINDOW_BYTES).min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    Some(&text[from..to])
}

/// Largest number of tokens of a plain passage: enough to answer, with the text around the words that were asked for.
pub(super) const PLAIN_TOKENS: usize = 200;

/// Largest number of bytes of a sentence that is kept whole; a longer one is cut at blanks.
const SENTENCE: usize = 300;

/// Weight of the nearness of a sentence against the share of the needles in it. The answer to "how do amounts have to be
/// written" has none of these words: "numeric columns are typed as strings".
const NEAR: f64 = 0.8;

/// Least worth of a sentence apart from the best ones, on the scale of `NEAR`, and the tokens of the sign before it.
const ANSWERS: f64 = 0.35;
const GAP_TOKENS: usize = 2;

/// The measures by which the sentences of a passage are chosen.
#[derive(Clone, Copy)]
pub(super) struct Sought<'s> {
    /// Parts of words in plain lower case.
    pub needles: &'s [String],
    /// The weight of each of them; without weights all are equal.
    pub weights: &'s [f64],
    /// The cosine of a sentence to the question, if it costs microseconds.
    pub near: Option<&'s dyn Fn(&str) -> f64>,
}

impl Sought<'_> {
    /// Returns the share of the needles in a set, by weight.
    fn share(&self, has: u64) -> f64 {
        let (mut found, mut all) = (0.0, 0.0);
        for n in 0..self.needles.len() {
            let weight = self.weights.get(n).copied().unwrap_or(1.0);
            all += weight;
            found += if has & (1 << (n % 64)) != 0 { weight } else { 0.0 };
        }
        if all > 0.0 { found / all } else { 0.0 }
    }
}

/// Returns the best passage for a question, unmarked and without the engine: whole sentences around those that have most
/// of its needles and are nearest to it, as many as fit; without a match, the first sentences. For passages given to
/// programs, not shown to people: it ends where a sentence ends, unless that sentence is longer than the passage.
pub(super) fn plain(text: &str, sought: &Sought) -> String {
    let needles = sought.needles;
    let part = window(text, needles).unwrap_or_else(|| &text[..text.floor_char_boundary(WINDOW_BYTES)]);
    let clean = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let lines: String = part.chars().filter(|c| *c != BREAK).map(clean).collect();
    let mut all = sentences_of(&lines, needles);
    if let Some(near) = sought.near
        && all.iter().map(|s| s.tokens).sum::<usize>() > PLAIN_TOKENS
    {
        all.iter_mut().for_each(|sentence| sentence.near = near(sentence.text).max(0.0));
    }
    // The window may begin and end inside a sentence; such a partial sentence is left out.
    let first = usize::from(all.len() > 2 && part.as_ptr() > text.as_ptr());
    let last = all.len()
        - usize::from(all.len() > first + 1 && part.as_bytes().as_ptr_range().end < text.as_bytes().as_ptr_range().end);
    let Some(all) = all.get(first..last).filter(|all| !all.is_empty()) else { return String::new() };
    let taken = chosen(all, sought);
    let mut said = String::new();
    for (n, sentence) in all.iter().enumerate().filter(|(n, _)| taken[*n]) {
        let gap = if n > 0 && !taken[n - 1] { " … " } else { " " };
        said.push_str(if said.is_empty() { "" } else { gap });
        said.push_str(sentence.text);
    }
    let said = without_marker(&said);
    if tokens(said) > PLAIN_TOKENS { cut(said, PLAIN_TOKENS) } else { said.to_owned() }
}

/// Returns which sentences make the passage: the best run, a little of what is before it, other sentences that answer,
/// and as much around the run as fits.
fn chosen(all: &[Sentence], sought: &Sought) -> Vec<bool> {
    let (mut from, mut to) = best(all, sought);
    let mut taken = vec![false; all.len()];
    taken[from..to].fill(true);
    let mut room = PLAIN_TOKENS.saturating_sub(all[from..to].iter().map(|s| s.tokens).sum());
    // Sentences before the matching words explain more often what they are about than sentences after them (+.04 of the
    // answers' words on questions about programs' sessions), so they are added first.
    let mut lead = room / 2;
    while let Some(before) = from.checked_sub(1).filter(|n| all[*n].tokens <= lead) {
        (lead, room, from) = (lead - all[before].tokens, room - all[before].tokens, before);
        taken[before] = true;
    }
    // The parts of an answer may be far from each other.
    let worth = |s: &Sentence| sought.share(s.has) + NEAR * s.near;
    let mut others: Vec<usize> = (0..all.len()).filter(|n| !taken[*n] && worth(&all[*n]) >= ANSWERS).collect();
    others.sort_by(|a, b| worth(&all[*b]).total_cmp(&worth(&all[*a])).then(a.cmp(b)));
    for other in others {
        if all[other].tokens + GAP_TOKENS <= room {
            room -= all[other].tokens + GAP_TOKENS;
            taken[other] = true;
        }
    }
    while let Some(before) = from.checked_sub(1).filter(|n| taken[*n] || all[*n].tokens <= room) {
        room -= if taken[before] { 0 } else { all[before].tokens };
        (from, taken[before]) = (before, true);
    }
    while to < all.len() && (taken[to] || all[to].tokens <= room) {
        room -= if taken[to] { 0 } else { all[to].tokens };
        taken[to] = true;
        to += 1;
    }
    taken
}

/// Returns a passage without the marker of the list or table it begins in: the marker belongs to lines that are not shown.
fn without_marker(mut said: &str) -> &str {
    while let Some(rest) = ["- ", "* ", "• ", "→ ", "| "].iter().find_map(|marker| said.strip_prefix(marker)) {
        said = rest.trim_start();
    }
    said
}

/// Whether a line only rules off the head of a table: `|---|:--:|`.
fn is_table_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+'))
}

/// A sentence of a passage.
struct Sentence<'t> {
    text: &'t str,
    /// Bit set of the needles it contains.
    has: u64,
    tokens: usize,
    /// Its cosine to the question.
    near: f64,
}

/// Returns the sentences of each line.
fn sentences_of<'t>(lines: &'t str, needles: &[String]) -> Vec<Sentence<'t>> {
    let mut out = Vec::new();
    for line in lines.lines().filter(|line| !is_table_rule(line)) {
        for range in sentences::split(line, SENTENCE) {
            let text = &line[range];
            let lower = text.to_lowercase();
            let of = |(n, needle): (usize, &String)| u64::from(lower.contains(needle.as_str())) << (n % 64);
            let has = needles.iter().enumerate().map(of).fold(0, |all, one| all | one);
            out.push(Sentence { text, has, tokens: tokens(text) + 1, near: 0.0 });
        }
    }
    out
}

/// Returns the run of sentences that fits and is best by words and nearness; of equal ones the shortest, of equally long
/// ones the first.
fn best(all: &[Sentence], sought: &Sought) -> (usize, usize) {
    let (mut best, mut most, mut least) = ((0, 1), 0.0, 0);
    for from in 0..all.len() {
        let (mut has, mut near, mut cost) = (0, 0.0f64, 0);
        for (n, sentence) in all[from..].iter().enumerate() {
            cost += sentence.tokens;
            if cost > PLAIN_TOKENS && n > 0 {
                break;
            }
            has |= sentence.has;
            near = near.max(sentence.near);
            let worth = sought.share(has) + NEAR * near;
            if worth > most || worth == most && most > 0.0 && cost < least {
                (best, most, least) = ((from, from + n + 1), worth, cost);
            }
        }
    }
    best
}

fn beginning(text: &str) -> String {
    let mut out: String = text.chars().take(180).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

fn tidy(text: &str) -> String {
    let text = unfold(text).replace(BREAK_OF_TEXT, BREAK.encode_utf8(&mut [0; 4]));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines_are_left_out() {
        assert_eq!(unnumbered("  1→fn main() {\n 12→}\nend"), "fn main() {\n}\nend");
        assert_eq!(unnumbered("3→4 is a step"), "3→4 is a step");
        assert_eq!(unnumbered("1\t# Task\n2\t\n3\tFind the reason"), "# Task\n\nFind the reason");
        for table in ["12\tBerlin\n7\tRom\n9\tParis", "1\tone\nand\nmuch\nmore\n2\ttwo"] {
            assert_eq!(unnumbered(table), table);
        }
    }

    #[test]
    fn a_passage_keeps_the_invisible_characters_of_the_text() {
        let conn = Connection::open_in_memory().unwrap();
        let scratch = Scratch::new(&conn).unwrap();
        let text = "The pass\u{200b}word of the 鍵\u{200b}🔑 is\u{4} kept";
        let found = scratch.passage(text, "kept", &["kept".to_owned()]).unwrap();
        assert_eq!(found, "The pass\u{200b}word of the 鍵\u{200b}🔑 is \u{2}kept\u{3}");
        assert_eq!(scratch.passage(text, "", &[]).unwrap(), "The pass\u{200b}word of the 鍵\u{200b}🔑 is kept");
    }

    fn of(text: &str, needles: &[&str]) -> String {
        let needles: Vec<String> = needles.iter().map(|n| (*n).to_owned()).collect();
        plain(text, &Sought { needles: &needles, weights: &[], near: None })
    }

    #[test]
    fn a_passage_is_chosen_by_rare_words_and_by_meaning() {
        let filler = "One two three four five six seven eight nine ten. ".repeat(30);
        let text = format!("The script is run, the script. {filler}Amounts are strings. {filler}");
        let needles = ["script", "run", "amounts"].map(str::to_owned);
        let chosen = |weights: &[f64], near: Option<&dyn Fn(&str) -> f64>| {
            plain(&text, &Sought { needles: &needles, weights, near }).contains("Amounts are strings.")
        };
        assert!(!chosen(&[], None), "two words of three");
        assert!(chosen(&[1.0, 1.0, 3.0], None), "the rare word weighs more");
        let near = |sentence: &str| if sentence.contains("strings") { 0.9 } else { 0.1 };
        assert!(chosen(&[], Some(&near)), "the sentence that says it in other words");
        // Two parts of an answer, far from each other.
        let text = format!("The image is kept in the registry. {filler}The database is a file. {filler}");
        let found = of(&text, &["registry", "database"]);
        assert!(found.starts_with("The image is kept in the registry. … One"), "{found}");
        assert!(found.contains("nine ten. The database is a file."), "{found}");
    }

    #[test]
    fn a_plain_passage_is_whole_sentences_around_the_words_that_were_asked_for() {
        assert_eq!(of("We chose Postgres\n for the queue.", &["queue"]), "We chose Postgres for the queue.");
        let filler = "One two three four five six seven eight nine ten. ".repeat(30);
        let text =
            format!("The queue is new. {filler}It is kept in Postgres, as the queue of mail was. It stays. {filler}");
        let found = of(&text, &["queue", "postgres"]);
        assert!(found.contains("nine ten. It is kept in Postgres, as the queue of mail was."), "{found}");
        assert!(found.starts_with("One two") && found.ends_with('.') && tokens(&found) <= PLAIN_TOKENS, "{found}");
        // Words of one answer may be in two sentences.
        let two = format!("{filler}The worker was slow. A port was missing: 6543.\n{filler}");
        let found = of(&two, &["worker", "port"]);
        assert!(found.contains("The worker was slow. A port was missing: 6543."), "{found}");
    }

    #[test]
    fn a_plain_passage_begins_with_words() {
        let list = "- `rum get` -- one filter\n- `rum list` -- all filters";
        assert_eq!(of(list, &["filters"]), "`rum get` -- one filter - `rum list` -- all filters");
        assert_eq!(of("→ Yes, add a note.", &["note"]), "Yes, add a note.");
        assert_eq!(of("| Key | From |\n|---|:--|\n| root | random |", &["random"]), "Key | From | | root | random |");
    }

    #[test]
    fn a_plain_passage_of_what_has_none_of_the_words_is_the_beginning() {
        assert_eq!(of("short", &["queue"]), "short");
        assert_eq!(of("", &["queue"]), "");
        let found = of(&"A word of it. ".repeat(2000), &[]);
        assert!(found.starts_with("A word") && found.ends_with("of it.") && tokens(&found) <= PLAIN_TOKENS, "{found}");
    }

    #[test]
    fn a_plain_passage_is_short_whatever_its_words_are() {
        let blob = "QUJD".repeat(5000);
        for text in [
            format!("see {blob} end"),
            blob.clone(),
            format!("{} queue {blob}", "x".repeat(100_000)),
            "新しいキューに請求書サービスを移行する。".repeat(300),
            "look at src/recall/snippet.rs and ".repeat(300),
        ] {
            let found = of(&text, &["queue", "see", "look"]);
            assert!(tokens(&found) <= PLAIN_TOKENS && !found.is_empty(), "{} {found}", tokens(&found));
        }
    }
}
