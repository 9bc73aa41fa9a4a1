//! Leaves a model's reasoning and its announcements ("Let me check the settings file now.") out of a prompt's context.
//! Such texts share words with the prompt, but they answer nothing.

use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::statement::only_announces;
use crate::transcript::kind_from_code;
use crate::transcript::read::Turn;

/// Largest number of bytes of a message that can only announce something: a longer one has results in it.
const LONGEST: usize = 600;

/// The tags between which some models put their reasoning at the beginning of a message.
const THOUGHTS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

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

fn without_thoughts(said: &str) -> &str {
    let begun = said.trim_start();
    match THOUGHTS.iter().find(|(opens, _)| begun.starts_with(opens)) {
        Some((_, closes)) => begun.find(closes).map_or("", |at| &begun[at + closes.len()..]),
        None => said,
    }
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
    fn reasoning_in_tags_is_no_message() {
        assert_eq!(without_thoughts("<think>Perhaps redis.</think>\nWe use Postgres."), "\nWe use Postgres.");
        assert_eq!(without_thoughts(" <thinking>Perhaps redis."), "");
        assert_eq!(without_thoughts("Use <think> for it."), "Use <think> for it.");
    }
}
