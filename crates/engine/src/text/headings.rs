//! What a heading, or a line that ends in a colon, says of what stands under it.

use super::language::{MAY_BE_PASTE, PASTE};
use super::patterns::{Words, phrases};
use super::plain::lower;
use super::words::{Marks, runs, split};

/// What stands under a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    Done,
    Next,
    Open,
    Rules,
    Decisions,
    Other,
}

/// What stands under this title.
pub fn topic(title: &str) -> Topic {
    if title.len() > 120 {
        return Topic::Other;
    }
    let next = phrases!(
        "next step|steps / what's|whats next / up next / coming up / nächste|nächster schritt|schritte / \
        prochaines étapes / próximos pasos / where to go from here"
    );
    let open = phrases!(
        "remaining|todo|todos|to-do|pending|outstanding|follow-up|follow-ups|blockers|offen|restant|pendiente|pendientes / \
        to do / open questions|items|issues|points|loops / left|still to do / still open / not done|yet / known issues / \
        offene punkte / reste à faire"
    );
    let decisions = phrases!("decision|decisions|decided|entscheidungen|décisions|decisiones");
    let rules = phrases!(
        "rule|rules|constraint|constraints|requirements|preferences|guidelines|conventions|important|must|regeln|\
        anforderungen|vorgaben|règles|contraintes|exigences|reglas|requisitos|restricciones|don'ts|non-goals / \
        from now on / keep in mind"
    );
    let done = phrases!(
        "summary|changes|done|completed|implemented|result|results|fixed|added|accomplished|highlights|\
        zusammenfassung|änderungen|erledigt|résumé|fait|modifications|resumen|hecho|cambios / what i did / what was done / \
        what changed / so far / in place"
    );
    let topics = [(next, Topic::Next), (open, Topic::Open), (decisions, Topic::Decisions), (rules, Topic::Rules)];
    let words = split(title, Marks::Dropped);
    let found = topics.into_iter().chain([(done, Topic::Done)]).find(|(phrases, _)| phrases.stand(&words));
    found.map_or(Topic::Other, |(_, topic)| topic)
}

/// "From now on:", "My preferences:", "House rules:": the items under it hold for good.
pub fn announces_rules(line: &str) -> bool {
    let words = split(line, Marks::Dropped);
    let standing = phrases!("from now on / going forward / ab jetzt / désormais / a partir de ahora");
    let mine = phrases!("my|ground|house|standing|general|meine|mes|mis");
    let rules =
        phrases!("preferences|rules|habits|preference|style|vorlieben|regeln|préférences|règles|preferencias|reglas");
    words.len() <= 10 && (standing.stand(&words) || mine.stand(&words) && rules.stand(&words))
}

/// "The error message is:", "Bob wrote:": what follows is hardly the speaker's.
pub fn announces_paste(line: &str) -> bool {
    has_word(last_sentence(line), &PASTE)
}

/// "The following:", "Translate this:": what follows may not be the speaker's.
pub fn may_announce_paste(line: &str) -> bool {
    let last = last_sentence(line);
    has_word(last, &PASTE) || has_word(last, &MAY_BE_PASTE)
}

fn last_sentence(line: &str) -> &str {
    line.trim_end_matches(['.', '!', '?', '*']).rsplit(['.', '!', '?']).next().unwrap_or(line)
}

fn has_word(text: &str, list: &Words) -> bool {
    runs(text, &['-']).any(|(_, word)| list.has(&lower(word)))
}
