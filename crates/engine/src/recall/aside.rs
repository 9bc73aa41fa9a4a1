//! Leaves texts out of a prompt's context that share words with the prompt and answer nothing: a model's reasoning and its
//! announcements ("Let me check the settings file now."), questions without their answers, headings.

use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::statement::only_announces;
use crate::text::sentences;
use crate::text::thoughts::without_thoughts;
use crate::transcript::kind_from_code;
use crate::transcript::read::Turn;

/// Largest number of bytes of a message that can only announce something: a longer one has results in it.
const LONGEST: usize = 600;

/// Returns the part of a turn that is meant for the person, or that a tool answered; `None` if there is none. `said`:
/// the text of the turn.
pub(super) fn spoken_out<'t>(tx: &Read, turn: &Turn, said: &'t str) -> Result<Option<&'t str>> {
    if turn.kind == TurnKind::Thinking {
        return Ok(None);
    }
    if turn.kind != TurnKind::Message || turn.role != Role::Assistant {
        return Ok(Some(said));
    }
    let said = without_thoughts(said);
    if said.trim().is_empty() || said.len() <= LONGEST && goes_on(tx, turn)? && only_announces(said) {
        return Ok(None);
    }
    Ok(Some(said))
}

/// Whether a message of a person only asks: it tells that something was asked, and not what was answered.
pub(super) fn only_asks(turn: &Turn, said: &str) -> bool {
    turn.kind == TurnKind::Message && turn.role == Role::User && said.len() <= LONGEST && asks(said)
}

fn asks(said: &str) -> bool {
    let mut sentences = sentences::of_lines(said, LONGEST);
    let mut asked = false;
    sentences.all(|sentence| {
        asked |= sentence.ends_with(['?', '？']);
        sentence.ends_with(['?', '？']) || sentence.split_whitespace().count() < 3
    }) && asked
}

/// Whether a message is only the heading of something that stands elsewhere: `**Commit 3: the module**`.
pub(super) fn is_heading(said: &str) -> bool {
    let line = said.trim();
    let bold =
        line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).is_some_and(|text| !text.contains("**"));
    !line.contains('\n') && (bold || line.starts_with("# ") || line.starts_with("## "))
}

/// Whether the model goes on to a tool after this turn.
fn goes_on(tx: &Read, turn: &Turn) -> Result<bool> {
    let next: Option<i64> = tx
        .prepare_cached(
            "SELECT n.kind FROM turns t JOIN turns n ON n.session_no = t.session_no AND n.lane_no = t.lane_no
               AND n.turn_no > t.turn_no AND n.forgotten IS NULL
             WHERE t.turn_no = ?1 ORDER BY n.turn_no LIMIT 1",
        )?
        .query_row([turn.id], |r| r.get(0))
        .optional()?;
    Ok(next.is_some_and(|kind| kind_from_code(kind) != TurnKind::Message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_only_says_what_comes_next_announces() {
        for said in [
            "Let me check the settings file now.",
            "The user wants me to research the providers.",
            "I'll start by looking at the schema.",
            "Now let me run the tests:",
            "Now update PROGRESS.md and commit.",
            "Good. Now let me write the parser.",
            "Checking the pricing of the container service.",
            "Ich schaue mir jetzt die Datei an.",
            "Voy a revisar la configuración ahora.",
            "Busco dónde está definido ese ítem del menú.",
            "Je regarde où il est défini.",
        ] {
            assert!(only_announces(said), "{said}");
        }
        for said in [
            "The failing tests read the .env file, because the variables are gone. Let me patch them.",
            "Now the tests pass: 79 of 79.",
            "`Directory.Build.props` wasn't copied into the Docker image — adding it to the Dockerfile.",
            "The `numeric` columns are typed as `string` in the entities. Let me fix the seed file.",
            "We keep the mail queue in Postgres.",
        ] {
            assert!(!only_announces(said), "{said}");
        }
    }

    #[test]
    fn bare_questions_and_headings_tell_nothing() {
        for said in ["Is there another way just using git?", "hm, ok. why is it red?\nSince when?", "なぜ？"] {
            assert!(asks(said), "{said}");
        }
        for said in ["Is it red? I changed the schema yesterday.", "Use Postgres.", "ok", ""] {
            assert!(!asks(said), "{said}");
        }
        assert!(is_heading("**Commit 3: Python module definition**") && is_heading("## Plan"));
        assert!(!is_heading("**Postgres** is **fast**") && !is_heading("# Plan\nUse Postgres."));
    }
}
