//! Finds the commands that an answer leaves to the person: the shell block at its end, below a sentence that addresses
//! them ("Once the folder is gone, you can run:"). The block is read in any language; the sentence in those with a list.

use crate::statement::Statement;
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower};
use crate::text::words::{Marks, split};

/// Languages of fences that hold commands.
const SHELLS: [&str; 10] =
    ["bash", "sh", "shell", "zsh", "fish", "console", "terminal", "powershell", "pwsh", "shellsession"];

/// Maximum number of commands; a longer block is a script.
const MOST: usize = 4;

/// Maximum length of the item, in bytes: two lines of a handoff.
const LONGEST: usize = 240;

/// Maximum bytes of text after the block; with more, the answer goes on to something else.
const BEHIND: usize = 400;

/// Maximum bytes between the sentence and its block.
const BETWEEN: usize = 40;

/// Phrases that address the person, in scripts without blanks.
const EAST: [&str; 6] = ["运行", "執行", "执行", "请", "実行", "してください"];

/// Returns the sentence and its commands in one line; `None` if the answer leaves none.
pub fn left_to_person(text: &str, statements: &[Statement]) -> Option<String> {
    let (start, end, body) = last_block(text)?;
    if text.len() - end > BEHIND {
        return None;
    }
    let lead = statements.iter().rfind(|s| s.range.end <= start)?;
    let follows = text.get(lead.range.end..start).is_some_and(|gap| gap.trim().len() <= BETWEEN);
    if !follows || !lead.text.ends_with([':', '：']) || !addresses(&lead.text) {
        return None;
    }
    let commands: Vec<&str> = body
        .lines()
        .map(|line| line.trim().trim_start_matches("$ "))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    if commands.is_empty() || commands.len() > MOST {
        return None;
    }
    Some(cut(&format!("{} `{}`", lead.text, commands.join("`, `")), LONGEST))
}

/// Returns the last fenced block with commands: where its fence begins, where it ends, and its lines.
fn last_block(text: &str) -> Option<(usize, usize, &str)> {
    let (mut found, mut open, mut at) = (None, None, 0);
    for line in text.split_inclusive('\n') {
        let (start, told) = (at, line.trim());
        at += line.len();
        let Some(rest) = told.strip_prefix("```") else { continue };
        open = match open {
            None => Some((start, at, SHELLS.contains(&rest.trim().to_ascii_lowercase().as_str()))),
            Some((fence, body, is_shell)) => {
                if is_shell {
                    found = Some((fence, at, &text[body..start]));
                }
                None
            }
        };
    }
    found
}

/// Whether a sentence tells the person to do something: "Then run:", "To start it, you can use:".
fn addresses(lead: &str) -> bool {
    let orders = phrases!(
        "then|now|next|and|please|finally|so? run|execute|start|try|use|install|check|verify|test / to / führe|starte|installiere / dann|jetzt führe|starte / um / lance|lancez|exécute|exécutez / pour / ejecuta|ejecute|corre|instala|lanza / para / esegui|lancia|installa / per / execute|rode|instale / запустите|выполните / чтобы / spusť|spusťte"
    );
    let allows = phrases!(
        "you|we can|could|should|may|must|need|have / you'll need / du|sie kannst|können|musst|müssen / vous|tu pouvez|peux|devez|dois / puedes|puede|debes / puoi|può|devi / você pode / вы|ты можете|можешь / můžete|můžeš"
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
        left_to_person(text, &statements(text, Speaker::Model, true))
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
