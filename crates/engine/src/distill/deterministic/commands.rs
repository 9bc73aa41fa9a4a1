//! Finds the commands that an answer leaves to the person: its numbered steps with a block of commands each, or the shell
//! block at its end, below a sentence that addresses them ("Once the folder is gone, you can run:"). The block is read in any language; the sentence in those with a list.

use crate::statement::Statement;
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower, plain};
use crate::text::words::{Marks, split};

/// Languages of fences that hold commands.
const SHELLS: [&str; 10] =
    ["bash", "sh", "shell", "zsh", "fish", "console", "terminal", "powershell", "pwsh", "shellsession"];

/// Maximum number of commands; a longer block is a script.
const MOST: usize = 4;

/// Maximum length of the item, in bytes: two lines of a handoff.
const LONGEST: usize = 240;

/// Maximum number of characters after the block; with more, the answer goes on to something else.
const BEHIND: usize = 400;

/// Maximum bytes between the sentence and its block.
const BETWEEN: usize = 40;

/// Phrases that address the person, in scripts without blanks.
const EAST: [&str; 6] = ["运行", "執行", "执行", "请", "実行", "してください"];

/// Maximum number of numbered steps.
const STEPS: usize = 7;

/// Returns what an answer leaves to the person, one line for each step: the commands at its end, or its numbered steps
/// that have a block of commands each.
pub fn left_to_person(text: &str, statements: &[Statement]) -> Vec<String> {
    let steps = steps(text);
    if steps.len() > 1 { steps } else { Vec::from_iter(at_the_end(text, statements)) }
}

/// Returns the numbered lines that end in a colon, and the numbered headings, each above a block of commands: "1. Check the
/// version:". Nothing if more than a remark follows the last block. Lines are read instead of statements, because a line
/// in bold is a heading.
fn steps(text: &str) -> Vec<String> {
    let blocks = blocks(text);
    let mut out = Vec::new();
    for (n, block) in blocks.iter().enumerate() {
        let before = &text[n.checked_sub(1).map_or(0, |last| blocks[last].end)..block.fence];
        let Some(lead) = before.lines().rfind(|line| !line.trim().is_empty()).and_then(step) else { continue };
        // "`pip show x` → not found" shows what a command printed.
        if !(block.is_shell || is_command(block.body)) || block.body.contains('→') {
            continue;
        }
        let lead = lead.trim_end_matches([':', '：']);
        out.push(match commands_of(block.body) {
            Some(commands) => cut(&format!("{lead}: {commands}"), LONGEST),
            None => lead.to_owned(),
        });
    }
    let ends = blocks.last().is_some_and(|b| text[b.end..].chars().count() <= BEHIND);
    out.truncate(if ends { STEPS } else { 0 });
    out
}

/// Returns the text of a numbered heading, or of a numbered line that ends in a colon, without its number and signs.
fn step(line: &str) -> Option<String> {
    let is_heading = line.starts_with('#');
    let line = line.trim().trim_start_matches(['#', '*', '_', ' ']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')', '、']).filter(|_| (1..=2).contains(&digits))?;
    let said = plain(rest.trim());
    (is_heading || said.ends_with([':', '：'])).then_some(said)
}

/// Returns the lines of a block of commands; `None` if there are too many.
fn commands_of(body: &str) -> Option<String> {
    let commands: Vec<&str> = body
        .lines()
        .map(|line| line.trim().trim_start_matches("$ "))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    (1..=MOST).contains(&commands.len()).then(|| format!("`{}`", commands.join("`, `")))
}

/// Whether a block without the name of a shell is one call of a program with code for it: `python -c "`.
fn is_command(body: &str) -> bool {
    let mut words = body.split_whitespace();
    let calls = words.next().is_some_and(|program| matches!(program, "python" | "python3" | "node" | "ruby" | "php"));
    calls && words.next().is_some_and(|option| matches!(option, "-c" | "-e" | "-r" | "-m"))
}

/// Returns the sentence and its commands in one line; `None` if the answer leaves none.
fn at_the_end(text: &str, statements: &[Statement]) -> Option<String> {
    let blocks = blocks(text);
    let Block { fence: start, end, body, .. } = *blocks.iter().rfind(|b| b.is_shell)?;
    if text[end..].chars().count() > BEHIND {
        return None;
    }
    let lead = statements.iter().rfind(|s| s.range.end <= start)?;
    let follows = text.get(lead.range.end..start).is_some_and(|gap| gap.trim().len() <= BETWEEN);
    if !follows || !lead.text.ends_with([':', '：']) || !addresses(&lead.text) {
        return None;
    }
    Some(cut(&format!("{} {}", lead.text, commands_of(body)?), LONGEST))
}

/// A fenced block of code.
struct Block<'t> {
    /// Where its fence begins, and where it ends.
    fence: usize,
    end: usize,
    body: &'t str,
    /// Whether its language is that of a shell.
    is_shell: bool,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let (mut found, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let (start, told) = (at, line.trim());
        at += line.len();
        let Some(rest) = told.strip_prefix("```") else { continue };
        open = match open {
            None => Some((start, at, SHELLS.contains(&rest.trim().to_ascii_lowercase().as_str()))),
            Some((fence, body, is_shell)) => {
                found.push(Block { fence, end: at, body: &text[body..start], is_shell });
                None
            }
        };
    }
    found
}

/// Whether a sentence tells the person to do something: "Then run:", "To start it, you can use:".
fn addresses(lead: &str) -> bool {
    let orders = phrases!(
        "then|now|next|and|please|finally|so? run|rerun|execute|start|restart|rebuild|try|retry|use|install|uninstall|check|verify|test|deploy|apply|pull / then if / after the|that|this / führe|starte|installiere / dann|jetzt führe|starte / um / lance|lancez|exécute|exécutez / pour / ejecuta|ejecute|corre|instala|lanza / para / esegui|lancia|installa / per / execute|rode|instale / запустите|выполните / чтобы / spusť|spusťte"
    );
    let allows = phrases!(
        "you|we can|could|should|may|must|need|have / you'll need / if you haven't / when|once|whenever you're? ready / du|sie kannst|können|musst|müssen / vous|tu pouvez|peux|devez|dois / puedes|puede|debes / puoi|può|devi / você pode / вы|ты можете|можешь / můžete|můžeš"
    );
    let low = lower(lead);
    let begins = orders.begin(&split(&low, Marks::Dropped)).next().is_some();
    begins || allows.stand_in(&low) || !lead.is_ascii() && EAST.iter().any(|part| lead.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::deterministic::marks::statements;
    use crate::statement::Speaker;

    fn left(text: &str) -> Option<String> {
        at_the_end(text, &statements(text, Speaker::Model, true))
    }

    #[test]
    fn commands_below_a_sentence_to_the_person_are_left_to_them() {
        for (text, said) in [
            (
                "The references are gone.\n\nOnce you remove the old folder, you can run:\n\n```bash\ncd infra\nterraform plan\n```\n\n\
                 This deletes the functions.\n",
                "Once you remove the old folder, you can run: `cd infra`, `terraform plan`",
            ),
            ("Fertig. Dann starte neu mit:\n```sh\n$ make up\n```", "Dann starte neu mit: `make up`"),
            ("Listo. Ejecuta:\n```bash\n# en la raíz\nnpm run seed\n```", "Ejecuta: `npm run seed`"),
            ("已经改好了。\n\n请运行：\n```bash\npython train.py\n```", "请运行： `python train.py`"),
        ] {
            assert_eq!(left(text).unwrap_or_default(), said, "{text}");
        }
    }

    #[test]
    fn a_report_a_script_and_an_earlier_block_leave_nothing() {
        for text in [
            "I checked it with:\n```bash\ncargo test\n```",
            "You can run:\n```python\nmain()\n```",
            "You can run:\n```bash\na\nb\nc\nd\ne\n```",
        ] {
            assert_eq!(left(text), None, "{text}");
        }
        let long =
            format!("You can run:\n```bash\nmake\n```\n{}", "The rest is about the layout of the page. ".repeat(12));
        assert_eq!(left(&long), None);
    }
}
