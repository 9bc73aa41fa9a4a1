//! Finds other forms of a word in languages whose endings the full-text engine does not know: it stems English, and
//! German has [a room of its own](super::german). All words with the same beginning are forms of one word; which endings
//! there are need not be known for that.

use super::stop_words::Language;

/// Minimum length of a beginning, in letters; a shorter one would match too many words.
const LEAST: usize = 4;

/// Letters of an ending, by the length of the word: Russian `неполадка` and `неполадку`, Spanish `borrado` and
/// `borrar`, Czech `stylů` and `styly`.
fn ending(letters: usize) -> usize {
    match letters {
        0..=5 => 1,
        6..=8 => 2,
        _ => 3,
    }
}

/// Returns the beginning that other forms of a word of a question share; `None` if the engine stems the language or the
/// word is too short. `word` is in lower case.
pub fn beginning(word: &str, language: Language) -> Option<&str> {
    if matches!(language, Language::English | Language::German) || !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let letters = word.chars().count();
    let kept = letters.checked_sub(ending(letters)).filter(|kept| *kept >= LEAST)?;
    word.char_indices().nth(kept).map(|(at, _)| &word[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_its_beginning() {
        for (language, word, forms) in [
            (Language::Russian, "неполадка", "неполадку неполадками"),
            (Language::Russian, "чтений", "чтение чтения"),
            (Language::Russian, "вводом", "ввод ввода"),
            (Language::Spanish, "borrado", "borrar borra"),
            (Language::French, "supprimé", "supprimer supprimons"),
            (Language::Italian, "pipeline", "pipeline"),
            (Language::Czech, "stylů", "styly stylem"),
            (Language::Polish, "plików", "pliki plik"),
        ] {
            let beginning = beginning(word, language).unwrap();
            assert!(forms.split(' ').all(|form| form.starts_with(beginning)), "{word}: {beginning}");
        }
        for (language, word) in [
            (Language::English, "objectives"),
            (Language::German, "Rechnungen"),
            (Language::Russian, "файл"),
            (Language::French, "fichier.rs"),
            (Language::French, ""),
        ] {
            assert_eq!(beginning(word, language), None, "{word}");
        }
    }
}
