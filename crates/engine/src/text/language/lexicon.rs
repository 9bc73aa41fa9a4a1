//! The vocabulary of people's statements about themselves, from `lexicon.txt` and `languages.tsv`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::section;
use crate::text::patterns::Words;

pub(super) const LEXICON: &str = include_str!("lexicon.txt");

fn list(name: &str) -> Words {
    Words::of(section(LEXICON, name))
}

/// Verbs for an assistant's conduct in a conversation, hardly ever used for a program.
pub static CONDUCT: LazyLock<Words> = LazyLock::new(|| list("conduct"));

/// Verbs for an assistant's work on text and code; a specification may use them for a program, too.
pub static WORK: LazyLock<Words> = LazyLock::new(|| list("work"));

/// Words that show that a sentence is about the conversation rather than a program.
pub static CONVERSATION: LazyLock<Words> = LazyLock::new(|| list("conversation"));

/// Parts of programs: a sentence with one of these is a specification.
pub static PROGRAM: LazyLock<Words> = LazyLock::new(|| list("program"));

/// Adjectives used with "be".
pub static MANNER: LazyLock<Words> = LazyLock::new(|| list("manner"));

/// Objects of preferences in the first person that only say that something is liked.
pub static TASTE: LazyLock<Words> = LazyLock::new(|| list("taste"));

/// The last word of a profession.
pub static ROLES: LazyLock<Words> = LazyLock::new(|| list("roles"));

/// Last words of German professions, like [`ROLES`].
pub static GERMAN_ROLES: LazyLock<&str> = LazyLock::new(|| section(LEXICON, "german_roles"));

/// Last words of French professions, like [`ROLES`].
pub static FRENCH_ROLES: LazyLock<Words> = LazyLock::new(|| list("french_roles"));

/// Last words of Spanish professions, like [`ROLES`].
pub static SPANISH_ROLES: LazyLock<Words> = LazyLock::new(|| list("spanish_roles"));

/// Short names of time zones.
pub static ZONES: LazyLock<Words> = LazyLock::new(|| list("zones"));

/// Words that follow "my name is", "call me" or "I live in" but are not names.
pub static NO_NAME: LazyLock<Words> = LazyLock::new(|| list("no_name"));

/// The words of pronouns such as "she/her".
pub static PRONOUNS: LazyLock<Words> = LazyLock::new(|| list("pronouns"));

/// Returns the English name of a language.
pub fn language(word: &str) -> Option<&'static str> {
    static NAMES: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| include_str!("languages.tsv").lines().filter_map(|line| line.split_once('\t')).collect());
    NAMES.get(word).copied()
}
