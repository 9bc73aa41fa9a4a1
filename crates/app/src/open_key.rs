//! Finds keys that stand open in the words of a command or in an address (R14.4). Such words are written into
//! `config.toml` and are seen in the machine's list of processes, so a key does not belong there.

use heirloom_engine::redact::redact;

/// Words of an option's or a variable's name that say that its value is a secret.
const SECRET: [&str; 13] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pass",
    "passphrase",
    "bearer",
    "auth",
    "authorization",
    "credential",
    "credentials",
];

/// Words of a name that say that its value is the place of a secret, and not the secret.
const PLACE: [&str; 9] = ["file", "path", "env", "var", "variable", "name", "from", "command", "id"];

/// Returns the name of the first word, option or variable that holds a key, without the key: `--api-key`. `None`: there is
/// none.
pub fn in_words(words: &[String]) -> Option<String> {
    words.iter().enumerate().find_map(|(n, word)| {
        let option = word.starts_with('-');
        match word.split_once('=') {
            Some((name, value)) if is_secret(name) && is_value(value) => return Some(name.to_owned()),
            None if option && is_secret(word) && words.get(n + 1).is_some_and(|next| is_value(next)) => {
                return Some(word.clone());
            }
            _ => {}
        }
        // A header, as in: -H 'Authorization: Bearer …'.
        match word.split_once(':') {
            Some((name, value)) if !name.contains('/') && is_secret(name) && is_value(value.trim()) => {
                Some(name.to_owned())
            }
            _ => (redact(word) != *word).then(|| format!("argument {}", n + 1)),
        }
    })
}

/// Returns the name of the first parameter of an address that holds a key.
pub fn in_address(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, value)| is_secret(name) && is_value(value)).map(|(name, _)| name.to_owned())
}

/// Whether the name of an option, a variable or a header says that its value is a secret.
fn is_secret(name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.chars().all(is_name) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let words = || name.split(['-', '_']);
    words().any(|word| SECRET.contains(&word)) && !words().any(|word| PLACE.contains(&word))
}

/// Whether a word can be a secret: it is no option, no number, no reference to a variable and no path.
fn is_value(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['-', '$', '/', '~']) && !word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<String> {
        in_words(&line.split('|').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_key_in_words_is_found_and_only_its_name_told() {
        for (line, name) in [
            ("/bin/ask|--api-key|sk-123", "--api-key"),
            ("/bin/ask|--token=abc", "--token"),
            ("/usr/bin/env|OPENAI_API_KEY=sk-123|ask", "OPENAI_API_KEY"),
            ("/bin/curl|-H|Authorization: Bearer abc", "Authorization"),
            ("/bin/curl|-H|x-api-key: abc", "x-api-key"),
            ("/bin/ask|ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6", "argument 2"),
        ] {
            assert_eq!(found(line).as_deref(), Some(name), "{line}");
        }
    }

    #[test]
    fn what_is_no_key_is_none() {
        for line in [
            "/bin/ask|--max-tokens|500",
            "/bin/ask|--token|--fast",
            "/bin/ask|--api-key-file|key.txt",
            "/bin/ask|--key-env=OPENAI_API_KEY",
            "/bin/ask|--key|/run/keys/one",
            "/bin/ask|--token=$TOKEN",
            "/bin/ask|--key",
            "/usr/bin/pass|show|api-key",
            "/usr/bin/secret-tool|lookup|service|heirloom",
            "/bin/ask|--keyboard=qwerty",
            "/bin/ask|-m|llama3:8b",
            "/bin/ask|http://127.0.0.1:8080",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn a_key_in_an_address_is_found() {
        assert_eq!(in_address("https://a.example/v1?key=abc").as_deref(), Some("key"));
        assert_eq!(in_address("https://a.example/v1?model=abc&version=2"), None);
        assert_eq!(in_address("https://a.example/v1"), None);
    }
}
