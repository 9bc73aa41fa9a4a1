//! The key of a provider. It is sent to the provider's origin only, and no message, debug output or report contains it
//! (R14.4).

use std::fmt;

use heirloom_engine::error::{Error, Result};

/// A key, in the form in which it is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Reads a key from the text of a variable or a file, without the white space around it. `Usage` if it is empty or
    /// has a character that keys do not have.
    pub fn parse(text: &str) -> Result<Key> {
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::usage(
                "this is no key of a language model: it is empty, or has a space or a line break in it",
            )
            .hint("look at the variable or the file it comes from"));
        }
        Ok(Key(key.to_owned()))
    }

    /// Returns the key itself, to be sent to its origin or stored where only its owner can read it.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::parse(" sk-one\n").unwrap();
        assert_eq!((key.secret(), format!("{key:?}").as_str()), ("sk-one", "[key]"));
        for odd in ["", " \n", "two words", "sk-\u{7f}", "sk-ä"] {
            let error = Key::parse(odd).unwrap_err().to_string();
            assert!(error.contains("no key") && !error.contains("sk-"), "{error}");
        }
    }
}
