//! The word lists of this room, all languages together. A list with the same name in several files has one number.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::language::sections;
use crate::text::patterns::Phrases;

/// Word lists of languages that put blanks between words.
const SPACED: [&str; 5] = [
    include_str!("lists/en.txt"),
    include_str!("lists/de.txt"),
    include_str!("lists/fr.txt"),
    include_str!("lists/es.txt"),
    include_str!("lists/more.txt"),
];
const EAST: &str = include_str!("lists/east.txt");

/// A set of lists, one bit for each.
pub type Set = u128;

/// All lists, compiled once.
pub struct Lists {
    names: Vec<&'static str>,
    pub phrases: Phrases<u8>,
    /// Phrases of scripts without blanks, by their first character.
    pub parts: HashMap<char, Vec<(&'static str, u8)>>,
}

pub static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut names: Vec<&'static str> = Vec::new();
    let mut number = |name: &'static str| match names.iter().position(|n| *n == name) {
        Some(at) => at as u8,
        None => {
            names.push(name);
            (names.len() - 1) as u8
        }
    };
    let spaced: Vec<(u8, &'static str)> =
        SPACED.iter().flat_map(|file| sections(file)).map(|(name, list)| (number(name), list)).collect();
    let east: Vec<(u8, &'static str)> = sections(EAST).map(|(name, list)| (number(name), list)).collect();
    let mut parts: HashMap<char, Vec<(&'static str, u8)>> = HashMap::new();
    for (list, text) in east {
        for part in text.split_ascii_whitespace() {
            if let Some(first) = part.chars().next() {
                parts.entry(first).or_default().push((part, list));
            }
        }
    }
    Lists { phrases: Phrases::labelled(spaced), names, parts }
});

impl Lists {
    /// Returns the set of one list; empty if no list has this name.
    pub fn set(&self, name: &str) -> Set {
        self.names.iter().position(|n| *n == name).map_or(0, |at| 1 << at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_says_what_it_holds_and_fits_into_a_set() {
        for file in SPACED.into_iter().chain([EAST]) {
            assert!(file.starts_with('#'));
            let names = sections(file).count();
            assert_eq!(names, file.lines().filter(|line| line.starts_with('[')).count());
            for (name, list) in sections(file) {
                assert!(!list.trim().is_empty(), "{name}");
                assert_eq!(list, list.to_lowercase(), "{name}");
                assert!(sections(SPACED[0]).any(|(english, _)| english == name), "{name} is not in English");
            }
        }
        assert!(LISTS.names.len() <= 128);
    }
}
