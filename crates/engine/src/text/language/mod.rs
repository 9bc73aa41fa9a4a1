//! Word lists, which are data files beside this one, and properties of languages.
//!
//! A file with several lists has a name in brackets above each; text before the first name is a comment.

use std::sync::LazyLock;

use super::patterns::Words;

pub mod endings;
pub mod german;
pub mod lexicon;
pub mod stop_words;

/// Lower-case abbreviations that end in a full stop, without it.
pub static ABBREVIATIONS: LazyLock<Words> = LazyLock::new(|| Words::of(include_str!("abbreviations.txt")));

const ANNOUNCEMENTS: &str = include_str!("announcements.txt");

/// Words of a line that ends in a colon and announces pasted text.
pub static PASTE: LazyLock<Words> = LazyLock::new(|| Words::of(section(ANNOUNCEMENTS, "pasted")));

/// Words of a line that ends in a colon and may announce pasted text.
pub static MAY_BE_PASTE: LazyLock<Words> = LazyLock::new(|| Words::of(section(ANNOUNCEMENTS, "may be pasted")));

/// Phrases that ask to remember something, and rules for the part that is remembered.
pub const REMEMBER: &str = include_str!("remember.txt");

/// Values that exclude each other, and phrases which show that a statement has only one value.
pub const VALUES: &str = include_str!("values.txt");

/// Phrases of headings and announcements.
pub const HEADINGS: &str = include_str!("headings.txt");

/// Phrases of questions about what a person said or decided.
pub const ASKED: &str = include_str!("asked.txt");

/// Words of what begins somebody else's words.
pub const RELAYED: &str = include_str!("relayed.txt");

/// Phrases of questions about what failed, and words that report a failure.
pub const FAILURES: &str = include_str!("failures.txt");

/// Words too common to be names by themselves, in lower case.
pub static COMMON_WORDS: LazyLock<Words> = LazyLock::new(|| Words::of(section(COMMON, "words")));

const COMMON: &str = include_str!("common_words.txt");

/// Words that do not distinguish statements.
pub const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// Returns a list of a file by its name; empty if the file has no list with that name.
pub fn section<'f>(file: &'f str, name: &str) -> &'f str {
    sections(file).find(|(found, _)| *found == name).map_or("", |(_, list)| list)
}

/// Returns the lists of a file with their names.
pub fn sections(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.split("\n[").skip(1).filter_map(|list| list.split_once("]\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_list_is_found_and_none_is_empty() {
        let files = [
            ANNOUNCEMENTS,
            ASKED,
            COMMON,
            FAILURES,
            HEADINGS,
            REMEMBER,
            VALUES,
            FUNCTION_WORDS,
            lexicon::LEXICON,
            stop_words::STOP_WORDS,
        ];
        for file in files {
            assert!(file.starts_with('#'), "a file says what it holds");
            let names: Vec<&str> = sections(file).map(|(name, _)| name).collect();
            assert_eq!(names.len(), file.lines().filter(|line| line.starts_with('[')).count());
            assert_eq!(names.len(), names.iter().collect::<HashSet<_>>().len(), "{names:?}");
            for (name, list) in sections(file) {
                assert!(!list.trim().is_empty(), "{name}");
                assert_eq!(list, list.to_lowercase(), "{name}");
                assert_eq!(section(file, name), list);
            }
        }
        assert_eq!(section(ANNOUNCEMENTS, "nothing"), "");
        assert!(ABBREVIATIONS.has("e.g") && PASTE.has("traceback") && MAY_BE_PASTE.has("following"));
        assert_eq!(lexicon::language("französisch"), Some("French"));
    }
}
