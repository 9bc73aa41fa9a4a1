//! The words that people state things with: lead-ins, verbs of the present tense, requests, names. Pure; the lists are
//! `sentences.txt`.

use std::sync::LazyLock;

use crate::text::language::section;
use crate::text::patterns::{Words, words};
use crate::text::plain::lower;
use crate::text::words::Word;

pub(super) const LISTS: &str = include_str!("sentences.txt");

macro_rules! listed {
    ($name:literal) => {{
        static LIST: std::sync::LazyLock<crate::text::patterns::Phrases> = std::sync::LazyLock::new(|| {
            crate::text::patterns::Phrases::of(crate::text::language::section(super::grammar::LISTS, $name))
        });
        &*LIST
    }};
}

macro_rules! among {
    ($name:literal) => {{
        static LIST: std::sync::LazyLock<crate::text::patterns::Words> = std::sync::LazyLock::new(|| {
            let list = crate::text::language::section(super::grammar::LISTS, $name);
            crate::text::patterns::Words::of(&list.replace('|', " "))
        });
        &*LIST
    }};
}
pub(super) use among;
pub(super) use listed;

/// English verbs of the list, in the forms of the present tense.
pub(super) static BARE: LazyLock<Words> = LazyLock::new(|| Words::of(section(LISTS, "verbs")));

pub(super) static THIRD: LazyLock<Words> = LazyLock::new(|| {
    let third = |verb: &str| match verb.char_indices().next_back() {
        Some((at, 'y')) if !verb[..at].ends_with(['a', 'e', 'o', 'u']) => format!("{}ies", &verb[..at]),
        _ if verb.ends_with(['s', 'x', 'o']) || verb.ends_with("sh") || verb.ends_with("ch") => format!("{verb}es"),
        _ => format!("{verb}s"),
    };
    let all: Vec<String> = section(LISTS, "verbs").split_whitespace().map(third).collect();
    Words::of(&format!("{} is are has have", all.join(" ")))
});

pub(super) static SMALL: LazyLock<Words> = LazyLock::new(|| Words::of(&section(LISTS, "small").replace('|', " ")));

/// Marks all words as unquoted: code spans are names in a statement, so their words count as said.
pub(super) fn unquoted(all: &[Word]) -> Vec<Word> {
    all.iter().map(|w| Word { quoted: false, ..*w }).collect()
}

pub(super) fn singular(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 3 && !stem.ends_with(['s', 'e']) && stem.is_ascii() => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Returns the words after lead-ins such as "by the way,".
pub(super) fn after_leads(words: &[Word]) -> &[Word] {
    let mut rest = words;
    loop {
        let marks = rest.iter().take_while(|w| !w.word).count();
        rest = &rest[marks..];
        // "No, the port is 1" begins with a lead-in, "no port is open" does not.
        let denies = rest.first().is_some_and(|w| words!("no nein well").has_hash(w.hash))
            && rest.get(1).is_some_and(|w| w.word);
        match listed!("leads").begin(rest).map(|(_, taken)| taken).filter(|taken| *taken > 1 || !denies).max() {
            Some(taken) if taken < rest.len() => rest = &rest[taken..],
            _ => return rest,
        }
    }
}

/// Whether a word names a single thing: a number, a path, a version, a name. The first word of a sentence is always
/// capitalised, so only its inside counts.
pub(super) fn names_something(word: &str, first: bool) -> bool {
    let inside = word.chars().skip(usize::from(first));
    let mut chars = inside.clone();
    is_hard(word)
        || chars.any(|c| c.is_uppercase()) && word.chars().any(char::is_alphabetic) && word != "I"
        || word.len() > 3 && word.contains('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !first
}

/// Whether a word is a number, a path, a version or an identifier.
pub(super) fn is_hard(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '@' | '#'))
        || word.trim_end_matches('.').contains('.')
        || word.contains("::")
}

/// Whether the verb after "and" has the subject of the clause before: "… and get synced every night".
pub(super) fn goes_on(and: &Word, behind: &[Word]) -> bool {
    let ambiguous =
        behind.first().is_some_and(|w| BARE.has_hash(w.hash) || words!("can could must muss").has_hash(w.hash));
    let object = behind.get(1).is_some_and(|w| among!("after request").has_hash(w.hash));
    words!("and und").has_hash(and.hash) && ambiguous && !object
}

/// Whether words begin like a request: "look at …", "please …", "can you …".
pub(super) fn is_request(words: &[Word], text: &str) -> bool {
    let said: Vec<Word> = after_leads(words).iter().filter(|w| w.word).copied().collect();
    let joins = words!("so and then please just bitte und dann also");
    let skip = said.iter().take_while(|w| joins.has_hash(w.hash)).count();
    let Some(first) = said.get(skip) else { return false };
    if !among!("requests").has_hash(first.hash) {
        return false;
    }
    // "Build artifacts go to …" begins with a noun.
    let rest = &said[skip + 1..];
    if among!("only verbs").has_hash(first.hash) {
        return true;
    }
    // A verb of another language is a slip of the pen: "Push t hat to main".
    let english = rest.iter().any(|w| words!("the a to of as with from into this that").has_hash(w.hash));
    let is_finite =
        |at: usize| is_finite(rest, at, text) && !(english && among!("german verbs").has_hash(rest[at].hash));
    let determined = rest.iter().take(4).position(|w| among!("after request").has_hash(w.hash)).unwrap_or(4);
    let noun = (1..rest.len().min(5)).find(|at| *at <= determined && is_finite(*at));
    noun.is_none()
}

/// Whether the word at an index is a verb that tells how things are, as far as its neighbours show it.
pub(super) fn is_finite(said: &[Word], at: usize, text: &str) -> bool {
    let w = &said[at];
    let before = said.get(at.wrapping_sub(1));
    let determiners = words!(
        "the a an our your my their its this that all every each no to of in on at by with from for und der die das den dem ein eine"
    );
    if before.is_some_and(|b| determiners.has_hash(b.hash)) {
        return false;
    }
    if text[w.end..].starts_with(':') {
        return false;
    }
    let of =
        said.get(at + 1).is_some_and(|n| words!("of").has_hash(n.hash)) && !words!("consists consist").has_hash(w.hash);
    let like =
        words!("look looks").has_hash(w.hash) && said.get(at + 1).is_some_and(|n| words!("like").has_hash(n.hash));
    if like {
        return true;
    }
    if of || text[..w.start].ends_with(['-', '/', '`']) {
        return false;
    }
    let must = words!("must may").has_hash(w.hash)
        && said.get(at + 1).is_some_and(|n| text[n.start..n.end].chars().all(char::is_lowercase));
    let not = words!("isn't aren't don't doesn't hasn't haven't").has_hash(w.hash);
    if must || not || among!("german verbs").has_hash(w.hash) || THIRD.has_hash(w.hash) {
        return true;
    }
    if of_unknown_verb(said, at, text) {
        return true;
    }
    // The bare form goes with a plural: "claims over 10k need a second approver".
    let places = words!("of in on for with at from over under above below older newer per");
    let head =
        said[..at].iter().position(|w| places.has_hash(w.hash)).and_then(|place| said.get(place.wrapping_sub(1)));
    let plural = head.is_some_and(|w| text[w.start..w.end].ends_with('s'));
    if plural && BARE.has_hash(w.hash) {
        return true;
    }
    let raw = |w: &Word| lower(&text[w.start..w.end]);
    BARE.has_hash(w.hash)
        && before.is_some_and(|b| {
            let b = raw(b);
            b.ends_with('s')
                && !b.ends_with("ss")
                && !matches!(b.as_str(), "is" | "was" | "has" | "does" | "this" | "its")
                || matches!(
                    b.as_str(),
                    "we" | "people"
                        | "data"
                        | "never"
                        | "always"
                        | "only"
                        | "also"
                        | "don't"
                        | "doesn't"
                        | "not"
                        | "longer"
                )
        })
}

/// Whether a word in no list has the form and the place of a verb: "every service exposes /healthz", "der Leser hängt an
/// COM4".
pub(super) fn of_unknown_verb(said: &[Word], at: usize, text: &str) -> bool {
    let raw = |w: &Word| &text[w.start..w.end];
    let (word, Some(next)) = (raw(&said[at]), said.get(at + 1)) else { return false };
    if word.len() < 4 || !word.chars().all(char::is_lowercase) || among!("momentary").has_hash(said[at].hash) {
        return false;
    }
    let starts = words!("the our a an every each any").has_hash(said[0].hash);
    let plain = |w: &Word| raw(w).chars().all(|c| c.is_lowercase() || c == '-');
    // After a singular noun; a preposition or an article follows.
    let third = word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is");
    let opens = words!("the a an on in at to from with by through over via into its all only every each no up out")
        .has_hash(next.hash);
    let noun = at >= 1 && (plain(&said[at - 1]) || at >= 2) && !raw(&said[at - 1]).ends_with('s');
    let english = third && starts && at >= 2 && noun && (opens || names_something(raw(next), false));
    // After a plural the verb has no ending: "subscriptions renew on …", "the lockers phone home every …".
    let ends = ["s", "ed", "ing", "ly"];
    let many = raw(&said[at - usize::from(at > 0)]);
    let plural =
        at >= 1 && many.ends_with('s') && many.len() > 3 && !["ss", "us", "is"].iter().any(|e| many.ends_with(e));
    let momentary = among!("momentary").has(&format!("{word}s"));
    let verb = !momentary
        && !ends.iter().any(|e| word.ends_with(e))
        && !SMALL.has_hash(said[at].hash)
        && !names_something(word, false);
    let towards = |w: &Word| {
        words!("on in at to from with by through over via into after before every each within").has_hash(w.hash)
    };
    let alone = said[..at].iter().all(|w| !towards(w) && !THIRD.has_hash(w.hash));
    if plural
        && verb
        && alone
        && (towards(next) || said.get(at + 2).is_some_and(|w| words!("every each").has_hash(w.hash)))
    {
        return true;
    }
    let article = words!("der die das unser unsere alle jeder jede jedes").has_hash(said[0].hash);
    let capital = at == 2 && raw(&said[1]).starts_with(char::is_uppercase);
    let german = article && capital && (word.ends_with('t') || word.ends_with("en"));
    english || german
}

/// Words of the list [specific] that can be a value alone.
pub(super) const SPECIFIC_WORDS: &str = "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday \
     saturdays sunday sundays daily weekly monthly nightly hourly midnight noon january february march april june july august \
     september october november december montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag \
     freitags samstag samstags sonntag sonntags täglich wöchentlich monatlich nachts mitternacht tabs spaces npm yarn pnpm";

/// Returns the words that tell what a statement is about: no function words, no verbs that link.
pub(super) fn content(said: &[Word], text: &str, without: &[String]) -> Vec<String> {
    let small = &*SMALL;
    let of = said
        .iter()
        .filter(|w| !small.has_hash(w.hash) && !THIRD.has_hash(w.hash))
        .map(|w| lower(&text[w.start..w.end]));
    of.filter(|w| !without.contains(w)).map(|w| singular(&w)).take(8).collect()
}

/// Returns a text as a sentence of its own.
pub(super) fn shown(text: &str) -> String {
    let body = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = body.trim_end_matches(['.', '!', ',', ';', ':', ' ']);
    let mut chars = body.chars();
    let first = body.split(' ').next().unwrap_or_default();
    let is_plain = first.chars().all(|c| c.is_lowercase() || matches!(c, '\'' | '’'));
    let body = match chars.next() {
        Some(c) if is_plain => c.to_uppercase().chain(chars).collect(),
        _ => body.to_owned(),
    };
    format!("{body}.")
}
