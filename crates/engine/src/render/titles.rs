//! The title of a conversation in a line of a page: it names the matter, never just "continue" or "Implement the plan."

use super::page::flat;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage::{self, Kind};
use crate::scope::SessionNo;
use crate::text::similarity;
use crate::transcript::read;

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

#[cfg(test)]
mod tests {
    use super::*;

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
