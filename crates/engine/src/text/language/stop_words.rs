//! Words that occur in every text and distinguish none. Queries leave them out unless they have no other words
//! (RETRIEVAL: +6 R@10). Other frequent words are recognised by their frequency.
//!
//! A function word of one language is a content word of another ("die", "war", "son"), so only the words of one
//! language are dropped: that of the query, or English if it cannot be determined.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::{section, sections};

/// A language whose function words are known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Russian,
    Ukrainian,
    Polish,
    Czech,
}

/// The languages in the order of the file, which also decides between equally likely ones.
pub const ALL: [Language; 11] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
    Language::Russian,
    Language::Ukrainian,
    Language::Polish,
    Language::Czech,
];

/// The lists of function words, and a list of those that are content words in English: one such word alone does not
/// identify its language.
pub(super) const STOP_WORDS: &str = include_str!("stop_words.txt");

struct Known {
    /// Bit set of the languages in which a word is a function word.
    words: HashMap<&'static str, u16>,
    english_too: HashSet<&'static str>,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut words: HashMap<&'static str, u16> = HashMap::new();
        for (n, (_, list)) in sections(STOP_WORDS).take(ALL.len()).enumerate() {
            for word in list.split_ascii_whitespace() {
                *words.entry(word).or_default() |= 1 << n;
            }
        }
        let english_too = section(STOP_WORDS, "words of content in english");
        Known { words, english_too: english_too.split_ascii_whitespace().collect() }
    })
}

/// Returns the language of lower-case words, identified by function words and by letters that only one language has.
///
/// A language other than English needs more such words than English has: two, or one that is not also an English
/// content word.
pub fn language<'w>(words: impl Iterator<Item = &'w str>) -> Language {
    let known = known();
    let (mut found, mut sure) = ([0u32; ALL.len()], [0u32; ALL.len()]);
    let mut seen = HashSet::new();
    for word in words.filter(|w| seen.insert(*w)) {
        let bits = known.words.get(word).copied().unwrap_or(0);
        // A single letter may be a variable, an axis or the name of a language, so it is no evidence.
        let clear = word.chars().count() > 1 && !known.english_too.contains(word);
        for n in (0..ALL.len()).filter(|n| bits & (1 << n) != 0) {
            found[n] += 1;
            sure[n] += u32::from(clear);
        }
        let letters = |list: &[char]| u32::from(bits == 0 && word.contains(list));
        // A word in Cyrillic letters is in no language above these two.
        let cyrillic = word.chars().all(|c| matches!(c, 'а'..='я' | 'ё'));
        found[7] += u32::from(cyrillic && bits == 0);
        sure[7] += u32::from(cyrillic && bits == 0);
        found[8] += letters(&['і', 'ї', 'є', 'ґ']);
        sure[8] += letters(&['і', 'ї', 'є', 'ґ']);
        found[9] += letters(&['ł', 'ż', 'ś', 'ą', 'ę', 'ć', 'ń', 'ź']);
        found[10] += letters(&['ě', 'ř', 'ů']);
        found[1] += letters(&['ä', 'ö', 'ü', 'ß']);
        found[2] += letters(&['ç', 'œ', 'ê', 'è']);
        found[3] += letters(&['ñ', '¿', '¡']);
        found[5] += letters(&['ã', 'õ']);
    }
    let mut best = 0;
    for n in 1..ALL.len() {
        if sure[n] > 0 && (found[n], sure[n]) > (found[best], if best == 0 { u32::MAX } else { sure[best] }) {
            best = n;
        }
    }
    ALL[best]
}

/// Whether a lower-case word is a function word of a language.
pub fn is_stop_word(word: &str, language: Language) -> bool {
    let bit = ALL.iter().position(|l| *l == language).unwrap_or(0);
    known().words.get(word).is_some_and(|bits| bits & (1 << bit) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_question() {
        let left = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            let language = language(words.iter().copied());
            let left: Vec<&str> = words.into_iter().filter(|w| !is_stop_word(w, language)).collect();
            format!("{language:?}: {}", left.join(" "))
        };
        for (text, want) in [
            ("why did we drop the redis", "English: drop redis"),
            ("die hard", "English: die hard"),
            ("star war", "English: star war"),
            ("my son has a man", "English: son man"),
            ("what did the war do to his son", "English: war son"),
            ("van door", "English: van door"),
            ("redis", "English: redis"),
            ("c compiler", "English: c compiler"),
            ("y axis", "English: y axis"),
            ("warum war die migration so langsam", "German: migration langsam"),
            ("was hat der kunde über redis gesagt", "German: kunde redis gesagt"),
            ("wann haben wir redis entfernt", "German: redis entfernt"),
            ("warum redis", "German: redis"),
            ("größere tabellen", "English: größere tabellen"),
            ("pourquoi avons nous supprimé redis", "French: supprimé redis"),
            ("le fils de mon ami", "French: fils ami"),
            ("por qué quitamos la cola", "Spanish: quitamos cola"),
            ("perché abbiamo tolto il database", "Italian: tolto database"),
            ("por que não usamos o banco", "Portuguese: usamos banco"),
            ("waarom hebben we de wachtrij verwijderd", "Dutch: wachtrij verwijderd"),
            ("в чём заключалась неполадка с голосовым вводом", "Russian: заключалась неполадка голосовым вводом"),
            ("неполадка", "Russian: неполадка"),
            ("чому ми прибрали redis", "Ukrainian: прибрали redis"),
            ("dlaczego usunęliśmy redis", "Polish: usunęliśmy redis"),
            ("proč jsme odstranili redis", "Czech: odstranili redis"),
            ("jest tests in ci", "English: jest tests ci"),
            ("pod restarts", "English: pod restarts"),
        ] {
            assert_eq!(left(text), want, "{text}");
        }
    }
}
