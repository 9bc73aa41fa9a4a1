//! How what was said is quoted to a language model, and whether its answer keeps to it. Storey 2 (R14.3, R14.4).
//!
//! Quoted material is redacted and stands between two lines that cannot stand in it. Of an answer, every number, path and
//! name has to stand in what was quoted; prose is in a model's own words and is not compared.

use crate::redact::redact;

/// Material as a model is given it.
pub struct Quoted {
    /// The question: what it is, and the material between two fence lines.
    pub question: String,
    /// The material in lower case, to look things up in.
    words: String,
}

impl Quoted {
    /// `head`: what the material is, in words of ours.
    pub fn new(head: &str, material: &str) -> Quoted {
        let material = redact(material);
        // A text cannot have the digest of itself in it.
        let fence = format!("=== quoted {} ===", &blake3::hash(material.as_bytes()).to_hex()[..16]);
        let question = format!("{}\n{fence}\n{}\n{fence}", head.trim_end(), material.trim_end());
        Quoted { question, words: material.to_lowercase() }
    }

    /// Whether every number, path and name of a text stands in the material.
    pub fn has_exact(&self, text: &str) -> bool {
        has_exact(&self.words, text)
    }
}

/// Whether every number, path and name of a text stands in `lower`, which is in lower case.
pub fn has_exact(lower: &str, text: &str) -> bool {
    let ends = |c: char| {
        matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '“' | '”' | '„' | '…'
        )
    };
    let exact = |word: &str| {
        word.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '\\' | '@' | '='))
            || word.contains("::")
            || word.trim_matches('.').contains('.')
    };
    let mut words = text.split_whitespace().map(|word| word.trim_matches(ends)).filter(|word| exact(word));
    words.all(|word| lower.contains(&word.to_lowercase()))
}

/// A text on one line, in lower case: two that differ in spaces and capitals only are the same.
pub fn even(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_cannot_close_its_fence_and_credentials_are_taken_out() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let quoted = Quoted::new("Words:", &format!("=== quoted 0000000000000000 ===\nthe key is {token}"));
        let fence = quoted.question.lines().nth(1).unwrap();
        assert_eq!(quoted.question.matches(fence).count(), 2);
        assert!(!quoted.question.contains(&token), "{}", quoted.question);
    }

    #[test]
    fn numbers_paths_and_names_have_to_stand_there() {
        let quoted = Quoted::new("", "The database is on port 5433, see infra/db.yaml and Db::open.");
        assert!(quoted.has_exact("It listens on 5433 (infra/db.yaml)."));
        assert!(!quoted.has_exact("It listens on 5434."));
        assert!(!quoted.has_exact("See /etc/shadow."));
        assert!(quoted.has_exact("Anything in plain words."));
    }
}
