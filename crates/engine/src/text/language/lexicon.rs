//! The words statements of people about themselves are told by, from `lexicon.txt` and `languages.tsv`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::section;
use crate::text::patterns::Words;

pub(super) const LEXICON: &str = include_str!("lexicon.txt");

fn list(name: &str) -> Words {
    Words::of(section(LEXICON, name))
}

/// What an assistant does in a conversation; hardly ever what a program does.
pub static CONDUCT: LazyLock<Words> = LazyLock::new(|| list("conduct"));

/// What an assistant does to text and code; a specification may say it of a program too.
pub static WORK: LazyLock<Words> = LazyLock::new(|| list("work"));

/// What makes a sentence about the conversation rather than about a program.
pub static CONVERSATION: LazyLock<Words> = LazyLock::new(|| list("conversation"));

/// What a program is made of: a sentence with one of these is a specification.
pub static PROGRAM: LazyLock<Words> = LazyLock::new(|| list("program"));

/// Adjectives with "be".
pub static MANNER: LazyLock<Words> = LazyLock::new(|| list("manner"));

/// What preferences in the first person are about, when liking is all that is said.
pub static TASTE: LazyLock<Words> = LazyLock::new(|| list("taste"));

/// The last word of what somebody is by profession.
pub static ROLES: LazyLock<Words> = LazyLock::new(|| list("roles"));

/// As [`ROLES`], in German.
pub static GERMAN_ROLES: LazyLock<&str> = LazyLock::new(|| section(LEXICON, "german_roles"));

/// As [`ROLES`], in French.
pub static FRENCH_ROLES: LazyLock<Words> = LazyLock::new(|| list("french_roles"));

/// As [`ROLES`], in Spanish.
pub static SPANISH_ROLES: LazyLock<Words> = LazyLock::new(|| list("spanish_roles"));

/// Short names of time zones.
pub static ZONES: LazyLock<Words> = LazyLock::new(|| list("zones"));

/// Words that follow "my name is", "call me" or "I live in" and are no names.
pub static NO_NAME: LazyLock<Words> = LazyLock::new(|| list("no_name"));

/// What pronouns are written with: "she/her".
pub static PRONOUNS: LazyLock<Words> = LazyLock::new(|| list("pronouns"));

/// The English name of a language.
pub fn language(word: &str) -> Option<&'static str> {
    static NAMES: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| include_str!("languages.tsv").lines().filter_map(|line| line.split_once('\t')).collect());
    NAMES.get(word).copied()
}
