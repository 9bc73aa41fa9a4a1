//! Finds other spellings of German words: umlauts and ß written out, endings, and compounds that begin with the word
//! (`Rechnung` in `Rechnungsvorlage`). The full-text engine folds ä to a and stems English; everything else is done to
//! the query, so that one index serves all languages.

/// Another spelling of a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spelling {
    pub text: String,
    /// Whether words that begin with the text match, too.
    pub prefix: bool,
}

/// Minimum length of a prefix; a shorter one would match too many words.
const LEAST: usize = 5;

/// Endings of German words, the longest first.
const ENDINGS: [&str; 9] = ["ern", "en", "er", "em", "es", "et", "e", "n", "s"];

/// Returns the other spellings of a word of a German question.
pub fn spellings(word: &str) -> Vec<Spelling> {
    let word = word.to_lowercase();
    if word.chars().count() < 4 || !word.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let mut spelled = vec![word.clone()];
    for (written, folded) in [("ae", "a"), ("oe", "o"), ("ue", "u")] {
        add(&mut spelled, |form| form.replace(written, folded));
    }
    for (letter, written) in [('ä', "ae"), ('ö', "oe"), ('ü', "ue")] {
        add(&mut spelled, |form| form.replace(letter, written));
    }
    add(&mut spelled, |form| form.replace("ss", "ß"));
    add(&mut spelled, |form| form.replace('ß', "ss"));
    let mut out: Vec<Spelling> = Vec::new();
    for form in &spelled {
        let ending = ENDINGS.iter().find_map(|e| form.strip_suffix(e).filter(|stem| stem.chars().count() >= LEAST));
        let stem = ending.unwrap_or(form);
        let prefix = stem.chars().count() >= LEAST;
        if prefix || *form != word {
            out.push(Spelling { text: if prefix { stem.to_owned() } else { form.clone() }, prefix });
        }
    }
    out
}

/// Returns the forms in which a word may end a compound: as it is, and with other endings.
pub fn forms(word: &str) -> Vec<String> {
    let stem = ENDINGS.iter().find_map(|e| word.strip_suffix(e).filter(|stem| stem.chars().count() >= LEAST));
    let stem = stem.unwrap_or(word);
    let mut forms = vec![word.to_owned()];
    for ending in ["", "e", "n", "en", "s", "er"] {
        let form = format!("{stem}{ending}");
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// Adds a changed copy of each form.
fn add(forms: &mut Vec<String>, change: impl Fn(&str) -> String) {
    for n in 0..forms.len() {
        let changed = change(&forms[n]);
        if !forms.contains(&changed) && forms.len() < 6 {
            forms.push(changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_endings_and_compounds() {
        let of = |word: &str| {
            let terms = spellings(word).into_iter();
            terms.map(|t| t.text + if t.prefix { "*" } else { "" }).collect::<Vec<_>>().join(" ")
        };
        for (word, want) in [
            ("Datenbank", "datenbank*"),
            ("Rechnungen", "rechnung*"),
            ("Häuser", "häuser* haeus*"),
            ("groesse", "groess* gross* groeß* große*"),
            ("Straße", "straß* strass*"),
            ("läuft", "läuft* laeuft*"),
            ("neue", "neu"),
            ("groß", "gross*"),
            ("Bau", ""),
            ("v2.1", ""),
        ] {
            assert_eq!(of(word), want, "{word}");
        }
    }
}
