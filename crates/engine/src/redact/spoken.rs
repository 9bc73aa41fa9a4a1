//! Passwords people tell in a sentence: `my password is …`, `das Passwort fürs WLAN lautet …`.
//!
//! Sentences about passwords are much more frequent than sentences that contain one. So the text after `is` must look
//! like a password (with a digit or a sign, or letters of both cases) and end its clause; only where the speaker says
//! `my` may it be a plain word or be followed by more of the clause.

use std::sync::LazyLock;

use super::{Kind, Scan, value};

/// Beginnings of names, at which the rule runs; they cover all names of `spoken.txt`.
pub(super) const NAMES: &[&str] = &[
    "pass",
    "pwd",
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
    LANGUAGES.iter().find_map(|language| in_language(scan, at, language))
}

fn in_language(scan: &mut Scan, at: usize, language: &Language) -> Option<usize> {
    let text = scan.text;
    let name = language.names.iter().find(|name| starts(&text[at..], name))?;
    let after = at + name.len();
    // Words between name and value may say what the password is for, but must not end the clause.
    let window = &text[after..text.floor_char_boundary(after + BETWEEN)];
    let clause = window.find(['.', ',', ';', '?', '!', '\n', '(', '"', '\\', '{', '=']).unwrap_or(window.len());
    let written = |word: &str| !word.is_ascii() && !word.chars().any(|c| c.is_lowercase());
    let (join, word) = language
        .joins
        .iter()
        .flat_map(|word| window[..clause].match_indices(word).map(move |(found, _)| (found, *word)))
        .filter(|(found, word)| {
            let (before, behind) = (&window[..*found], &window[found + word.len()..]);
            written(word) || (before.ends_with(' ') && behind.starts_with([' ', ':']))
        })
        .min_by_key(|(found, word)| (*found, std::cmp::Reverse(word.len())))?;
    let mut start = after + join + word.len();
    start += text[start..].bytes().take(8).take_while(|b| b.is_ascii_whitespace() && *b != b'\n' || *b == b':').count();
    let opened = text[start..].chars().next().filter(|c| "\"'`\u{201c}\u{201e}\u{ab}*".contains(*c));
    let marks = opened.map_or(0, |mark| text[start..].chars().take_while(|c| *c == mark).map(char::len_utf8).sum());
    start += marks;
    let own = {
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
        // After a colon a password of several words may follow, up to the end of the clause.
        None if own && text[..start].trim_end().ends_with(':') && words_at(&text[start..]).is_some() => {
            start + words_at(&text[start..])?
        }
        None => {
            let stops = |c: char| c.is_whitespace() || "\"'`<>\\\u{3002}\u{ff0c}".contains(c);
            let rest = &text[start..text.floor_char_boundary(start + LONGEST)];
            let end = rest.find(stops).unwrap_or(rest.len());
            start + rest[..end].trim_end_matches(['.', ',', ';', ':', ')', '*', ']', '}']).len()
        }
    };
    let told = text.get(start..end)?;
    // The clause must end after the value: `is 8 characters long` tells no password.
    let rest = text[end..].trim_start_matches(['"', '\'', '`', '*', '\u{201c}', '\u{201d}', '\u{bb}', ')']);
    let ends =
        rest.is_empty() || rest.starts_with(['.', ',', ';', '!', '\n', '\\', '<', '\u{3002}', '\u{ff0c}', ':']) || {
            let next = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            ["and", "und", "et", "y", "e", "en", "but", "please", "bitte", "for", "on"].contains(&next)
        };
    let is_pin = starts(name, "pin") || name.ends_with("pin");
    // A plain word in capitals directly after `password is`: a name somebody chose. In German every noun has a capital.
    let named = join == 1 && ends && ["is", "was"].contains(&word) && opened.is_none() && is_proper(told);
    let phrase = own && told.contains(' ') && opened.is_none();
    if !(named || phrase || is_told(told, opened.is_some(), own, ends, is_pin)) {
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
