//! Reads the rows of a table in a message that say something is done: `| GitHub repo | created and pushed ✓ |`.
//!
//! A model often ends long work with such a table and no sentence. Tables are left out of the sentences of a message,
//! because most compare things; so a row counts only by the state it gives.

use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower};
use crate::text::similarity::Bag;

/// Signs that say that something is done, and signs that say that it is not.
const TICKS: [char; 5] = ['✓', '✔', '✅', '☑', '🗸'];
const CROSSES: [char; 6] = ['✗', '✘', '❌', '✖', '⏳', '⬜'];

/// Maximum number of words of a cell that is nothing but a state: "done", "completed and tested".
const STATE: usize = 4;

/// Maximum length of a row as a sentence, in bytes.
const LONGEST: usize = 240;

/// Returns what the rows of all tables in a text say is done, each as a sentence without its state.
pub fn done_rows(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut fenced = false;
    let mut table: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().map(str::trim).chain([""]) {
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        match line.strip_prefix('|').filter(|_| !fenced) {
            Some(row) => table.push(row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim).collect()),
            None if table.is_empty() => {}
            None => rows_of(&std::mem::take(&mut table), &mut out),
        }
    }
    out
}

/// Whether a row is about an item of a plan: the item has all words of the row's name, or the row's name is a file's in
/// capitals. "GitHub Actions: …" is about "Add GitHub Actions release workflow".
pub fn is_about(row: &str, item: &str) -> bool {
    let name = row.split_once(": ").map_or(row, |(name, _)| name);
    let (of_name, of_item) = (Bag::of(name), Bag::of(item));
    let in_capitals = name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase());
    let low = lower(item);
    of_name.len() > 1 && of_name.shared(&of_item) == of_name.len()
        || in_capitals && low.split(|c: char| !c.is_alphanumeric()).any(|word| word == lower(name))
}

fn rows_of(table: &[Vec<&str>], out: &mut Vec<String>) {
    let [head, line, rows @ ..] = table else { return };
    if !line.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'))) {
        return;
    }
    let states = phrases!(
        "status|state|progress / stand|zustand|ergebnis / statut|état|avancement / estado|stato / статус|состояние / stav"
    );
    let is_state =
        |cell: &&str| states.stand_in(cell) || ["状态", "進捗", "进度", "상태"].iter().any(|s| cell.contains(s));
    let named = head.iter().position(is_state);
    // "| Offline | ✅ | ❌ |" compares two things.
    let crossed = |cell: &&str| cell.contains(CROSSES);
    if named.is_none() && rows.iter().flatten().any(crossed) {
        return;
    }
    for row in rows {
        let Some(at) = named.or(row.len().checked_sub(1)).filter(|at| *at > 0 && *at < row.len()) else { continue };
        let others = row.iter().enumerate().filter(|(n, _)| *n != at);
        let compares = named.is_none() && others.clone().any(|(_, cell)| cell.contains(TICKS));
        if compares || !says_done(row[at], named.is_some()) {
            continue;
        }
        // A number in the first column counts the rows.
        let cells =
            row.iter().map(|cell| bare(cell)).filter(|c| c.chars().any(char::is_alphabetic) && !is_only_state(c));
        let cells: Vec<String> = cells.collect();
        let Some((first, rest)) = cells.split_first() else { continue };
        let said = if rest.is_empty() { first.clone() } else { format!("{first}: {}", rest.join(", ")) };
        out.push(cut(&said, LONGEST));
    }
}

/// Whether a cell says that its row is done: by a tick at either end or, below the head of a state, by a word.
fn says_done(cell: &str, named: bool) -> bool {
    !cell.contains(CROSSES) && (cell.starts_with(TICKS) || cell.ends_with(TICKS) || named && is_only_state(&bare(cell)))
}

/// Whether a cell is nothing but a word for done.
fn is_only_state(cell: &str) -> bool {
    let done = phrases!(
        "done / complete|completed / finished / fixed / merged / implemented / shipped / erledigt / fertig / abgeschlossen / behoben / umgesetzt / terminé|terminée / fait|faite / fini|finie / corrigé|corrigée / hecho|hecha / listo|lista / completado|completada / terminado|terminada / fatto / completato / concluído / готово / выполнено / hotovo"
    );
    let not = phrases!("not|in|to|partly|almost / nicht|noch|teilweise / pas|presque / no|casi / non / не / ne");
    let low = lower(cell);
    low.split_whitespace().count() <= STATE
        && (done.stand_in(&low) && !not.stand_in(&low) || ["完成", "已完成", "完了", "완료"].contains(&low.as_str()))
}

/// Returns a cell without marks and signs of its state.
fn bare(cell: &str) -> String {
    let plain: String = cell.chars().filter(|c| !TICKS.contains(c) && !matches!(c, '*' | '\u{fe0f}')).collect();
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_about_the_item_that_has_its_name() {
        for (row, item, about) in [
            ("GitHub Actions: triggers on a tag", "Add GitHub Actions release workflow", true),
            ("CHANGELOG: mapped to the history", "Rewrite `CHANGELOG.md` in another format", true),
            ("Tags: pushed", "Tag `v1.4.1` and cut the first release", false),
            ("GitHub repo: created", "Add GitHub Actions release workflow", false),
        ] {
            assert_eq!(is_about(row, item), about, "{row} | {item}");
        }
    }

    #[test]
    fn rows_with_a_state_are_told_from_comparisons() {
        let table = |head: &str, rows: &[&str]| {
            let columns = head.matches('|').count() - 1;
            done_rows(&format!(
                "Here is what was done:\n\n{head}\n|{}\n{}\n\nMore.",
                "---|".repeat(columns),
                rows.join("\n")
            ))
        };
        assert_eq!(
            table(
                "| Task | Status |",
                &[
                    "| **GitHub repo** | `a/typr` created and pushed ✓ |",
                    "| `go.mod` | ✅ done |",
                    "| Docs | pending |",
                    "| Docs of the API | not done |",
                    "| Release | ⏳ waits for the key |",
                ]
            ),
            ["GitHub repo: `a/typr` created and pushed", "`go.mod`"]
        );
        assert_eq!(
            table("| # | Aufgabe | Stand |", &["| 1 | Rechnung verschickt | erledigt |"]),
            ["Rechnung verschickt"]
        );
        assert_eq!(table("| 任务 | 状态 |", &["| 登录页面 | 已完成 |", "| 部署 | 未完成 |"]), ["登录页面"]);
        assert_eq!(table("| What | |", &["| Tests run | ✓ |"]), ["Tests run"]);
        for (head, row) in [
            ("| Feature | A | B |", "| Offline | ✅ | ❌ |"),
            ("| Feature | A | B |", "| Offline | ✅ | ✅ |"),
            ("| Name | Notes |", "| `typr` | short, done by many |"),
        ] {
            assert_eq!(table(head, &[row]), [""; 0], "{row}");
        }
        assert_eq!(done_rows("```\n| Task | Status |\n|---|---|\n| a b | done |\n```"), [""; 0]);
        assert_eq!(done_rows("| a | b |\n| c | ✓ |"), [""; 0], "no table without a line below its head");
    }
}
