//! Passwords people tell in a sentence: `my password is …`, `das Passwort fürs WLAN lautet …`.
//!
//! Sentences about passwords are much more frequent than sentences that contain one. So the text after `is` must look
//! like a password (with a digit or a sign, or letters of both cases) and end its clause, unless it cannot be a word at
//! all; only where the speaker says `my` may it be a plain word, four or five of them, or be followed by more of the
//! clause. After a colon (`Passwort: …`) or with nothing between (`Password …`) it must look like a password in any case.

use std::sync::LazyLock;

use super::{Kind, Scan, value};

/// Beginnings of names, at which the rule runs; they cover all names of `spoken.txt`.
pub(super) const NAMES: &[&str] = &[
    "pass",
    "pwd",
    "pw ",
    "pw:",
    "pin",
    "api key",
    "access token",
    "secret key",
    "kennwort",
    "zugangscode",
    "api-schl",
    "mot de passe",
    "code secret",
    "code pin",
    "contrase",
    "clave",
    "parola",
    "senha",
    "palavra-passe",
    "wachtwoord",
    "pincode",
    "has\u{142}o",
    "l\u{f6}senord",
    "adgangskode",
    "\u{15f}ifre",
    "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{41f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{5bc6}\u{7801}",
    "\u{5bc6}\u{78bc}",
    "\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}",
    "\u{be44}\u{bc00}\u{bc88}\u{d638}",
    "\u{c554}\u{d638}",
];

/// Most bytes between a name and the word that joins it to its value: `for the guest wifi`.
const BETWEEN: usize = 48;

/// Words after a password that say when or for which purpose it is so, and end its clause.
const AFTER: &[&str] = &[
    "today",
    "now",
    "tonight",
    "until",
    "if",
    "at",
    "heute",
    "jetzt",
    "bis",
    "f\u{fc}r",
    "seit",
    "hoy",
    "ahora",
    "para",
    "hasta",
    "vandaag",
    "nu",
    "voor",
    "tot",
    "aujourd",
    "maintenant",
    "pour",
    "\u{441}\u{435}\u{433}\u{43e}\u{434}\u{43d}\u{44f}",
    "\u{441}\u{435}\u{439}\u{447}\u{430}\u{441}",
    "\u{434}\u{43b}\u{44f}",
];

/// Names of algorithms and formats, with which words about passwords begin: `PBKDF2WithHmacSHA256`.
const ALGORITHMS: &[&str] = &[
    "aes", "argon", "base", "bcrypt", "ecdsa", "ed25519", "hmac", "md5", "oauth", "pbkdf", "pkcs", "rsa", "scrypt",
    "sha", "utf", "x509",
];

/// Words that no phrase chosen as a password has, but sentences about passwords have.
const SMALL_WORDS: &[&str] = &[
    "a",
    "all",
    "also",
    "always",
    "an",
    "and",
    "any",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "can",
    "did",
    "do",
    "does",
    "even",
    "ever",
    "for",
    "from",
    "had",
    "has",
    "have",
    "here",
    "how",
    "if",
    "in",
    "inside",
    "is",
    "it",
    "just",
    "like",
    "long",
    "my",
    "never",
    "no",
    "not",
    "now",
    "of",
    "off",
    "on",
    "only",
    "or",
    "our",
    "out",
    "own",
    "same",
    "since",
    "so",
    "some",
    "somewhere",
    "still",
    "such",
    "than",
    "that",
    "the",
    "their",
    "then",
    "there",
    "this",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "what",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "your",
];

/// Largest length of a password in bytes.
const LONGEST: usize = 128;

/// Words that follow the joining word in sentences that tell no password.
const SAID_OF_IT: &[&str] = &[
    "base64",
    "base-64",
    "bcrypt",
    "argon2",
    "argon2id",
    "pbkdf2",
    "md5",
    "sha1",
    "sha-1",
    "sha256",
    "sha-256",
    "sha512",
    "sha-512",
    "utf8",
    "utf-8",
    "case-sensitive",
    "correct",
    "compromised",
    "different",
    "expired",
    "forgotten",
    "generated",
    "hashed",
    "encrypted",
    "incorrect",
    "invalid",
    "mandatory",
    "missing",
    "needed",
    "optional",
    "protected",
    "required",
    "secure",
    "shared",
    "stored",
    "unchanged",
    "unknown",
    "visible",
    "wrong",
    "falsch",
    "vergessen",
    "unbekannt",
    "abgelaufen",
    "erforderlich",
    "verschl\u{fc}sselt",
    "oubli\u{e9}",
    "incorrecta",
    "incorrecto",
    "obligatoria",
    "requerida",
    "sbagliata",
    "incorreta",
    "obrigat\u{f3}ria",
    "verlopen",
    "vergeten",
    "available",
    "confidential",
    "deprecated",
    "documented",
    "embedded",
    "exposed",
    "included",
    "outdated",
    "rejected",
    "somewhere",
    "temporary",
    "together",
    "verified",
    "whatever",
];

/// Words of one language.
struct Language {
    names: Vec<&'static str>,
    joins: Vec<&'static str>,
    own: Vec<&'static str>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let listed = |column: Option<&'static str>| {
        let mut all: Vec<&str> = column.unwrap_or_default().split(',').filter(|word| !word.is_empty()).collect();
        all.sort_by_key(|word| std::cmp::Reverse(word.len()));
        all
    };
    let lines = include_str!("spoken.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t').skip(1);
            Language { names: listed(columns.next()), joins: listed(columns.next()), own: listed(columns.next()) }
        })
        .collect()
});

/// Reads a sentence at a position where one of [`NAMES`] begins.
pub(super) fn read(scan: &mut Scan, at: usize) -> Option<usize> {
    let text = scan.text;
    // The position is inside another word or an identifier.
    if text[..at].ends_with(|c: char| c.is_alphanumeric() && c.is_ascii() || c == '_' || c == '-')
        || !text.is_char_boundary(at)
    {
        return None;
    }
    LANGUAGES.iter().find_map(|language| in_language(scan, at, language).or_else(|| beside(scan, at, language)))
}

/// Reads a password that stands directly behind its name: `Passwort: X`, `user bob and password X`.
fn beside(scan: &mut Scan, at: usize, language: &Language) -> Option<usize> {
    let text = scan.text;
    let name = *language.names.iter().find(|name| starts(&text[at..], name))?;
    let rest = &text[at + name.len()..];
    let is_pin = name.starts_with("pin") || name.ends_with("pin");
    let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\u{a0}']).len();
    let before_colon = blanks(rest);
    let colon = rest[before_colon..].strip_prefix([':', '\u{ff1a}']).filter(|_| before_colon <= 1);
    let (mut start, told_by_sign) = match colon {
        Some(value) => (text.len() - value.len(), true),
        None if before_colon == 1 => (at + name.len(), false),
        None => return None,
    };
    start += text[start..].bytes().take(8).take_while(|b| matches!(b, b' ' | b'*' | b'`')).count();
    let (told, _) = word_at(text, start)?;
    let end = start + told.len();
    let rest = &text[end..];
    let ends = rest.is_empty() || rest.starts_with(['.', ',', ';', '!', '\n', '\\', '<', '`', ')', '*']);
    let lines = text[..at].rsplit('\n').next().unwrap_or_default();
    let first = !lines.chars().any(char::is_alphanumeric);
    let fits = if is_pin {
        // A pin of a plug is numbered, too.
        told_by_sign
            && text[at..].starts_with("PIN")
            && (4..=8).contains(&told.len())
            && told.bytes().all(|b| b.is_ascii_digit())
            && ends
    } else if !is_plausible(told) || value::is_path_or_url(told) {
        false
    } else if told_by_sign {
        // The names of assignments in programs have a rule of their own; others may name a key of a table.
        let assigned = ["password", "passphrase", "passcode", "passwd", "pwd"].contains(&name);
        let vague = ["clave", "api key", "access token", "secret key"].contains(&name);
        is_unlike_words(told) || (!assigned && !vague && is_made(told))
    } else {
        !told.contains(['_', '.', '/', ':', '=']) && (is_unlike_words(told) || (first && ends && is_made(told)))
    };
    if !fits {
        return None;
    }
    let kind = scan.shape_at(start).map_or(Kind::Password, |shape| shape.kind);
    scan.add(start..end, kind)
}

/// Returns the word at this position without the signs that end its clause, and the text after it.
fn word_at(text: &str, start: usize) -> Option<(&str, &str)> {
    let stops = |c: char| c.is_whitespace() || "\"'`<>\\\u{3002}\u{ff0c}".contains(c);
    let rest = text.get(start..text.floor_char_boundary(start + LONGEST))?;
    let end = rest.find(stops).unwrap_or(rest.len());
    let word = rest[..end].trim_end_matches(['.', ',', ';', ':', ')', '*', ']', '}']);
    Some((word, &text[start + word.len()..]))
}

fn in_language(scan: &mut Scan, at: usize, language: &Language) -> Option<usize> {
    let text = scan.text;
    let name = language.names.iter().find(|name| starts(&text[at..], name))?;
    let after = at + name.len();
    // Words between name and value may say what the password is for, but must not end the clause.
    let window = &text[after..text.floor_char_boundary(after + BETWEEN)];
    let clause = window.find(['.', ',', ';', '?', '!', '\n', '(', '"', '\\', '{', '=']).unwrap_or(window.len());
    let written = |word: &str| !word.is_ascii() && !word.chars().any(|c| c.is_lowercase());
    // People also write "MY PASSWORD IS". Only ASCII letters change, so positions in `lower` are those in `window`.
    let lower = window.to_ascii_lowercase();
    let (join, word) = language
        .joins
        .iter()
        .flat_map(|listed| {
            let word = listed.strip_prefix('>').unwrap_or(listed);
            let directly = word.len() < listed.len();
            let all = lower[..clause].match_indices(word).map(move |(found, _)| (found, word));
            all.filter(move |(found, _)| !directly || *found == 1)
        })
        .filter(|(found, word)| {
            let (before, behind) = (&window[..*found], &window[found + word.len()..]);
            written(word) || (before.ends_with(' ') && behind.starts_with([' ', ':']))
        })
        .min_by_key(|(found, word)| (*found, std::cmp::Reverse(word.len())))?;
    let directed = language.joins.iter().any(|listed| listed.strip_prefix('>') == Some(word));
    let mut start = after + join + word.len();
    start += text[start..].bytes().take(8).take_while(|b| b.is_ascii_whitespace() && *b != b'\n' || *b == b':').count();
    let opened = text[start..].chars().next().filter(|c| "\"'`\u{201c}\u{201e}\u{ab}*".contains(*c));
    let marks = opened.map_or(0, |mark| text[start..].chars().take_while(|c| *c == mark).map(char::len_utf8).sum());
    start += marks;
    // `change my password to something` tells none.
    let own = !directed && {
        let before = text[..at].trim_end();
        let said = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default().to_lowercase();
        let said = said.trim_matches(|c: char| !c.is_alphanumeric());
        language.own.contains(&said) || language.own.iter().any(|word| !word.is_ascii() && before.ends_with(word))
    };
    let end = match opened {
        Some(mark) => {
            let close = match mark {
                '\u{201e}' => '\u{201c}',
                '\u{201c}' => '\u{201d}',
                '\u{ab}' => '\u{bb}',
                mark => mark,
            };
            start + text[start..text.floor_char_boundary(start + LONGEST)].find([close, '\n'])?
        }
        None if own && join == 1 && language.own.contains(&"my") && phrase_at(&text[start..]).is_some() => {
            start + phrase_at(&text[start..])?
        }
        // After a colon a password of several words may follow, up to the end of the clause.
        None if own && text[..start].trim_end().ends_with(':') && words_at(&text[start..]).is_some() => {
            start + words_at(&text[start..])?
        }
        None => start + word_at(text, start)?.0.len(),
    };
    let told = text.get(start..end)?;
    // The clause must end after the value: `is 8 characters long` tells no password.
    let rest = text[end..].trim_start_matches(['"', '\'', '`', '*', '\u{201c}', '\u{201d}', '\u{bb}', ')']);
    let next = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let next = next.as_str();
    let ends = rest.is_empty()
        || rest.starts_with(['.', ',', ';', '!', '\n', '\\', '<', '\u{3002}', '\u{ff0c}', ':'])
        || ["and", "und", "et", "y", "e", "en", "but", "please", "bitte", "for", "on"].contains(&next);
    let is_pin = starts(name, "pin") || name.ends_with("pin");
    // A plain word in capitals directly after `password is`: a name somebody chose. In German every noun has a capital,
    // and in a headline every word.
    let named = join == 1
        && ends
        && window[join..].starts_with(word)
        && ["is", "was"].contains(&word)
        && opened.is_none()
        && is_proper(told);
    let phrase = own && told.contains(' ') && opened.is_none();
    // A value that may be no word is one wherever its clause goes on.
    let in_clause = opened.is_none()
        && is_plausible(told)
        && if is_pin {
            join == 1 && text[at..].starts_with("PIN") && told.len() >= 4 && is_told(told, false, true, ends, true)
        } else {
            !value::is_path_or_url(told) && (is_unlike_words(told) || (is_made(told) && AFTER.contains(&next)))
        };
    if !(named || phrase || in_clause || is_told(told, opened.is_some(), own, ends, is_pin)) {
        return None;
    }
    let kind = scan.shape_at(start).map_or(Kind::Password, |shape| shape.kind);
    scan.add(start..end, kind)
}

/// Returns the length of two to four short words that end a line or a sentence.
fn words_at(text: &str) -> Option<usize> {
    let end = text[..text.floor_char_boundary(48)].find(['\n', '.', ',', ';', '!', '?', '(', '"', '\\']);
    let end = end.or((text.len() <= 48).then_some(text.len()))?;
    let words = text[..end].split_whitespace().count();
    (2..=4).contains(&words).then(|| text[..end].trim_end().len())
}

/// Returns the length of the four or five plain words that are the rest of a sentence: a phrase somebody chose, and no
/// statement about a password.
fn phrase_at(text: &str) -> Option<usize> {
    let end = text[..text.floor_char_boundary(64)].find(['\n', '.', ',', ';', '!', '?', '(', '"', '\\']);
    let end = end.or((text.len() <= 64).then_some(text.len()))?;
    let said = text[..end].trim_end();
    let plain = |word: &str| {
        (3..=10).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !SMALL_WORDS.contains(&word)
            && !["ed", "ing", "ly"].iter().any(|end| word.ends_with(end))
    };
    let words = said.split(' ').count();
    ((4..=5).contains(&words) && said.split(' ').all(plain)).then_some(said.len())
}

/// Whether the text may be a password at all: no placeholder, no code, and no word about passwords.
fn is_plausible(told: &str) -> bool {
    let lower = told.to_lowercase();
    let parts = || lower.split(['-', '_', '/']);
    !(value::is_reference(told)
        || value::is_placeholder(told)
        || told.contains(['(', '[', '{', '|', '$'])
        || told.contains("::")
        || told.len() > 64
        || ALGORITHMS.iter().any(|name| lower.starts_with(name))
        || parts().any(|part| SAID_OF_IT.contains(&part) || ["encoded", "based", "derived", "bit"].contains(&part)))
}

/// Whether the text mixes letters with digits or signs.
fn is_made(told: &str) -> bool {
    let body = told.trim_end_matches(['!', '?']);
    let letters = body.chars().any(char::is_alphabetic);
    let digit = body.chars().any(|c| c.is_ascii_digit());
    let sign = body.chars().any(|c| c.is_ascii_punctuation() && !"-_./:'(),".contains(c));
    told.len() >= 6 && letters && (digit || sign)
}

/// Whether the text cannot be a word or a name: signs among letters and digits, or digits among letters.
fn is_unlike_words(told: &str) -> bool {
    let bytes = told.as_bytes();
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let sign = bytes.iter().any(|b| b.is_ascii_punctuation() && !b"-_./:'(),".contains(b));
    let cases = bytes.iter().any(u8::is_ascii_lowercase) && bytes.iter().any(u8::is_ascii_uppercase);
    let inside = bytes.windows(2).any(|two| two[0].is_ascii_digit() && two[1].is_ascii_alphabetic());
    let letters = told.chars().any(char::is_alphabetic);
    bytes.len() >= 8
        && digit
        && letters
        && (sign || (cases && inside) || value::looks_generated(bytes) || value::made_by_hand(bytes))
}

/// Whether the text is one word with a capital that describes no password.
fn is_proper(told: &str) -> bool {
    let mut letters = told.chars();
    told.len() >= 6
        && letters.next().is_some_and(char::is_uppercase)
        && letters.all(char::is_lowercase)
        && !value::is_placeholder(told)
        && !SAID_OF_IT.contains(&told.to_lowercase().as_str())
}

/// Whether the text is a password and not a statement about one.
fn is_told(told: &str, quoted: bool, own: bool, ends: bool, is_pin: bool) -> bool {
    let has = |what: fn(char) -> bool| told.chars().any(what);
    let lower = told.to_lowercase();
    if is_pin {
        return (4..=8).contains(&told.len()) && told.bytes().all(|b| b.is_ascii_digit()) && (own || ends);
    }
    let spaces = told.matches(' ').count();
    if told.len() < 4
        || value::is_reference(told)
        || value::is_placeholder(told)
        || SAID_OF_IT.contains(&lower.as_str())
    {
        return false;
    }
    // Words that describe a password, joined by a hyphen: `base64-encoded`.
    if lower.split(['-', '_']).any(|part| SAID_OF_IT.contains(&part)) && lower.contains('-') {
        return false;
    }
    let digit = has(|c| c.is_ascii_digit());
    let sign = has(|c| c.is_ascii_punctuation() && !"-_./:'(),".contains(c));
    let cases = told.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    if quoted {
        return (spaces == 0 || own) && told.len() <= 64 && (own || digit || sign || cases || told.len() >= 8);
    }
    let code = told.contains(['(', '[', '{']) || told.contains("::");
    if code && !(own && digit) {
        return false;
    }
    let letters = has(char::is_alphabetic);
    let made = (digit && letters && told.len() >= 6) || (sign && told.len() >= 6) || (cases && digit);
    if own { made || (ends && told.len() >= 8) || (digit && told.len() >= 6) } else { made && ends }
}

/// Whether a text begins with `with`, in either case.
fn starts(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|head| head == with || head.to_lowercase() == with)
        || (!with.is_ascii()
            && text.chars().zip(with.chars()).filter(|(a, b)| a.to_lowercase().eq(b.to_lowercase())).count()
                == with.chars().count()
            && text.chars().count() >= with.chars().count()
            && text.char_indices().nth(with.chars().count()).map_or(text.len(), |(at, _)| at) == with.len())
}
