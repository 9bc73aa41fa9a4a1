//! Quotes material to a language model, and checks that its answer contains nothing else. Storey 2 (R14.3, R14.4).
//!
//! Quoted material is redacted and enclosed in two fence lines that cannot occur in it. Every number, path and
//! identifier of an answer must occur in the material; other words are the model's own and are not compared.

use crate::redact::redact;

/// Quoted material as a model gets it.
pub struct Quoted {
    /// The question: a description, and the material between two fence lines.
    pub question: String,
    /// The material in lower case, for comparisons.
    words: String,
}

impl Quoted {
    /// Quotes material. `head`: a description of the material, in our words.
    pub fn new(head: &str, material: &str) -> Quoted {
        let material = redact(material);
        // A text cannot contain its own digest, so it cannot contain this fence.
        let fence = format!("=== quoted {} ===", &blake3::hash(material.as_bytes()).to_hex()[..16]);
        let question = format!("{}\n{fence}\n{}\n{fence}", head.trim_end(), material.trim_end());
        Quoted { question, words: material.to_lowercase() }
    }

    /// Whether the material contains every number, path and identifier of a text.
    pub fn has_exact(&self, text: &str) -> bool {
        has_exact(&self.words, text)
    }
}

/// Whether `lower`, which is in lower case, contains every number, path and identifier of a text.
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

/// Returns a text on one line, in lower case: texts that differ only in spaces and capitals become equal.
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
