//! Work the assistant offers to do, and the user's acceptance. An accepted offer is work to do, stated in two turns:
//! the offer names it, the answer wants it.

use super::cues::Cue;
use super::list::Noted;
use super::sentences::Sentence;
use crate::scope::TurnId;
use crate::text::language::sayings;
use crate::text::patterns::phrases;

/// The most choices of a list that are remembered.
const MOST: usize = 8;

/// The offers of the assistant's last message.
#[derive(Debug, Default)]
pub struct Offers {
    offer: Option<Noted>,
    /// The list the message asks to choose from, in its order.
    choices: Vec<Noted>,
}

impl Offers {
    /// Reads the last message of a run.
    pub fn hear(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) {
        let offer = sentences.iter().rev().find(|s| !s.is_quotation() && !s.pasted && offers(s));
        self.offer = offer.and_then(|s| Noted::new(&s.text, turn, 4, seq));
        let asks = sentences.iter().any(|s| s.asks() && s.last) || self.offer.is_some();
        let items = sentences.iter().filter(|s| asks && s.bullet && s.first && s.len() >= 2 && s.ticked != Some(true));
        self.choices = items.take(MOST).filter_map(|s| Noted::new(&s.text, turn, 4, seq)).collect();
    }

    /// Reads the user's answer. Returns the offers accepted, citing both turns. Any answer ends the offer.
    pub fn answered(&mut self, turn: TurnId, seq: usize, sentences: &[Sentence]) -> Vec<Noted> {
        let (offer, choices) = (self.offer.take(), std::mem::take(&mut self.choices));
        let words: usize = sentences.iter().map(Sentence::len).sum();
        let Some(first) = sentences.first().filter(|s| !s.asks() && !s.pasted && words <= 12) else {
            return Vec::new();
        };
        // "Yes, but not now", "no, the second one": a denied offer is not accepted.
        if sentences.iter().any(|s| s.has(Cue::Negation) || s.has(Cue::Hypothesis) || put_off(s)) {
            return Vec::new();
        }
        let chosen = chosen(first, choices.len());
        let taken: Vec<Noted> = if chosen.is_empty() {
            offer.filter(|_| assents(first)).into_iter().collect()
        } else {
            choices.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, n)| n).collect()
        };
        let both = |mut noted: Noted| {
            noted.also(&[turn]);
            noted.seq = seq;
            noted
        };
        taken.into_iter().map(both).collect()
    }
}

/// "Shall I …?", "I can also … if you like".
fn offers(s: &Sentence) -> bool {
    let proposes = if s.asks() {
        s.says(sayings!("asks to do"))
    } else {
        s.says(sayings!("if you like")) && s.says(sayings!("could do"))
    };
    // "Shall I continue?" names no work; "SQLite or Redis?" is a choice, not work.
    let named = s.bag().len() >= 2 && !s.says(sayings!("goes on"));
    proposes && named && !(s.asks() && s.says(phrases!("or|oder|ou|o")))
}

/// "Yes", "go ahead", "do it".
fn assents(s: &Sentence) -> bool {
    let start = matches!(
        s.word(0),
        "yes"
            | "yeah"
            | "yep"
            | "yup"
            | "y"
            | "sure"
            | "ok"
            | "okay"
            | "please"
            | "absolutely"
            | "definitely"
            | "ja"
            | "gerne"
            | "klar"
            | "oui"
            | "volontiers"
            | "sí"
            | "si"
            | "vale"
            | "adelante"
            | "claro"
            | "dale"
    );
    start || s.len() <= 8 && s.says(sayings!("go ahead"))
}

fn put_off(s: &Sentence) -> bool {
    s.says(sayings!("put off"))
}

/// The choices the words refer to: "the second", "2", "option b", "both", "all of them".
fn chosen(s: &Sentence, count: usize) -> Vec<usize> {
    if count == 0 || s.len() > 10 {
        return Vec::new();
    }
    if s.says(sayings!("all of them")) {
        return (0..count).collect();
    }
    let mut found = Vec::new();
    for at in 0..s.len() {
        let named = matches!(
            s.word(at.wrapping_sub(1)),
            "option" | "number" | "variant" | "nummer" | "do" | "and" | "opción" | "numéro"
        );
        let alone = named || s.len() <= 2 || at == 0 && s.len() <= 4;
        let place = match s.word(at) {
            "first" | "erste" | "ersten" | "première" | "premier" | "primera" | "primero" => 0,
            "second" | "zweite" | "zweiten" | "deuxième" | "segunda" | "segundo" => 1,
            "third" | "dritte" | "dritten" | "troisième" | "tercera" | "tercero" => 2,
            "fourth" | "vierte" | "vierten" => 3,
            "last" | "letzte" | "letzten" => count - 1,
            "a" | "b" | "c" | "d" if named && s.word(at - 1) != "do" && s.word(at - 1) != "and" => {
                usize::from(s.word(at).as_bytes()[0] - b'a')
            }
            w if alone && w.trim_start_matches('#').len() == 1 => match w.trim_start_matches('#').parse::<usize>() {
                Ok(n) if n >= 1 => n - 1,
                _ => continue,
            },
            _ => continue,
        };
        // "First run the tests" gives an order; "the first" refers to a choice.
        let the = matches!(s.word(at.wrapping_sub(1)), "the" | "die" | "das" | "den" | "la" | "le" | "el")
            || s.len() <= 3
            || named
            || alone;
        if the && place < count && !found.contains(&place) {
            found.push(place);
        }
    }
    found
}
