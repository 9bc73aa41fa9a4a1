//! The title of a conversation in a line of a page: it names the matter, never just "continue" or "Implement the plan."

use super::page::{flat, short};
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage::{self, Kind};
use crate::redact::redact;
use crate::scope::SessionNo;
use crate::text::similarity;
use crate::transcript::read::{self, SessionRow};

/// Words that say nothing about the matter, in the supported languages; a title of only these is not used.
const EMPTY: &str = "continue continuing proceed resume go ahead start begin implement implementation plan plans execute \
    following fix solve work working task tasks ticket issue issues next step steps thing things please yes okay sure \
    thanks hello session conversation untitled new look see help need want let lets make sense \
    weiter weitermachen machen mach fortfahren fortsetzen umsetzen bitte danke hallo plane schritt aufgabe \
    continuer continue poursuivre suivant merci bonjour continuar continúa seguir sigue siguiente gracias hola";

/// Whether a text says nothing about its matter.
pub(super) fn is_empty(text: &str) -> bool {
    let known = similarity::words(EMPTY);
    similarity::words(text).iter().all(|word| known.binary_search(word).is_ok())
}

/// Returns the title of a conversation: the one its program gave it, else its goal, else its first prompt. Empty if
/// nothing is known.
pub(super) fn of_session(tx: &Read, opener: &Opener, session_no: SessionNo, given: Option<&str>) -> Result<String> {
    let given = given.map(flat).filter(|t| !t.is_empty());
    if let Some(title) = given.as_ref().filter(|t| !is_empty(t)) {
        return Ok(title.clone());
    }
    for kind in [Kind::Session, Kind::Compaction] {
        if let Some(goal) = lineage::newest(tx, session_no, kind, None)?.and_then(|node| node.distillate.goal)
            && !is_empty(&goal.text)
        {
            return Ok(goal.text);
        }
    }
    let first = read::first_prompt(tx, opener, session_no)?.unwrap_or_default();
    Ok(if first.trim().is_empty() { given.unwrap_or_default() } else { first })
}

/// Longest name of a session in a list, in characters.
const LONGEST_NAME: usize = 120;

/// Returns the name of a session for lists: its title ([`of_session`]), else the first line of its first message; cut after
/// a word, without credentials. Empty where there is neither.
pub fn name_of(tx: &Read, opener: &Opener, session: &SessionRow) -> Result<String> {
    let title = of_session(tx, opener, session.no, session.title.as_deref())?;
    let title = match title.is_empty() {
        true => read::first_message(tx, opener, session.no)?.unwrap_or_default(),
        false => title,
    };
    Ok(first_line(&title))
}

/// Returns the names of several sessions, in their order.
pub fn names_of<'s>(tx: &Read, sessions: impl IntoIterator<Item = &'s SessionRow>) -> Result<Vec<String>> {
    let opener = Opener::default();
    sessions.into_iter().map(|session| name_of(tx, &opener, session)).collect()
}

/// Returns the first line that has words, short enough for a list. The text is redacted before it is cut: half of a
/// credential would not be recognised.
pub fn first_line(text: &str) -> String {
    let clean = redact(text);
    short(clean.lines().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or(&clean), LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_ends_with_a_word() {
        assert_eq!(first_line("\n---\nMove the queue to Postgres.\nIt is slow."), "Move the queue to Postgres");
        let long = first_line(&"several words ".repeat(40));
        assert!(
            long.chars().count() <= LONGEST_NAME && (long.ends_with("several…") || long.ends_with("words…")),
            "{long}"
        );
        assert_eq!(first_line("  "), "");
    }

    #[test]
    fn a_title_names_a_matter() {
        for text in [
            "continue",
            "Implement the plan.",
            "ok, go ahead",
            "Weiter!",
            "fix this",
            "",
            "please proceed with the next step",
        ] {
            assert!(is_empty(text), "{text}");
        }
        for text in ["Fix the login page", "Refund orders twice", "Umzug der Tabelle", "登录页面", "API-17"] {
            assert!(!is_empty(text), "{text}");
        }
    }
}
