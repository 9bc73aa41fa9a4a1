//! Credentials recognised by the name they are assigned to: assignments, headers, arguments, cookies.

use std::ops::Range;

use super::value::{self, Trust, Written};
use super::{Kind, Scan, is_blank, is_word};

/// Number of bytes of a name before its decisive word, or of blanks, that are examined.
const NAME: usize = 64;
/// Most bytes by which a name continues from the beginning of its decisive word: `secret_key_base`, `Authorization`.
const SUFFIX: usize = 16;
/// Most bytes between two quotes; a quote that is not closed within them is ignored.
const VALUE: usize = 2048;

/// Reads an assignment at each word that may be part of a secret's name.
pub(super) fn read(scan: &mut Scan, at: usize) -> Option<usize> {
    let name = name_around(scan, at)?;
    // Almost every word of prose ends here, because no value is assigned to it.
    let assignment = assignment(scan, &name)?;
    match announced_by(&scan.bytes[name.clone()])? {
        Name::Cookie => cookies(scan, assignment.start),
        Name::Authorization => authorization(scan, &assignment),
        Name::Signature => {
            let end = scan.run(assignment.start, |b| is_word(b) || matches!(b, b'%' | b'+' | b'/' | b'='));
            let query = matches!(scan.before(name.start), b'?' | b'&') && end - assignment.start >= 40;
            if !query || !value::looks_generated(&scan.bytes[assignment.start..end]) {
                return None;
            }
            scan.add(assignment.start..end, Kind::AzureKey)
        }
        Name::Key => {
            let end = scan.run(assignment.start, |b| is_word(b) || b == b'-');
            let text = scan.text.get(assignment.start..end)?;
            // `?key=` also names rows and objects: their names are shorter, words, or UUIDs.
            let is_row = text.len() < 20 || text.bytes().filter(|b| *b == b'-').count() > 3;
            if !assignment.query || is_row || !value::looks_generated(text.as_bytes()) {
                return None;
            }
            scan.add(assignment.start..end, Kind::ApiKey)
        }
        Name::Secret(Kind::Secret, _) if assignment.query && is_one_time(scan, name.start) => {
            let end = scan.run(assignment.start, |b| b.is_ascii_alphanumeric() || b == b'=');
            let text = scan.text.get(assignment.start..end)?;
            if text.len() < 8 || value::is_placeholder(text) || value::is_reference(text) {
                return None;
            }
            scan.add(assignment.start..end, Kind::OtpSecret)
        }
        Name::Secret(kind, trust) => {
            let range = secret(scan, &assignment, trust)?;
            let shape = scan.shape_at(range.start).filter(|s| s.range.start == range.start);
            let end = shape.as_ref().map_or(range.end, |s| s.range.end.max(range.end));
            scan.add(range.start..end, shape.map_or(kind, |s| s.kind))
        }
    }
}

/// Whether the URL that ends here sets up one-time passwords.
fn is_one_time(scan: &Scan, at: usize) -> bool {
    let before = &scan.bytes[at.saturating_sub(256)..at];
    let from = before.iter().rposition(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<'));
    memchr::memmem::find(&before[from.unwrap_or(0)..], b"otpauth://").is_some()
}

/// Returns the name that ends with this word, apart from a suffix. If more words follow, they are examined on their
/// own, so that no credential is skipped.
fn name_around(scan: &Scan, at: usize) -> Option<Range<usize>> {
    let after = scan.bytes[at..].iter().take(SUFFIX + 1).take_while(|b| is_word(**b)).count();
    if after > SUFFIX {
        return None;
    }
    let from = scan.found.last().map_or(0, |last| last.range.end).max(at.saturating_sub(NAME));
    let before = scan.bytes[from..at].iter().rev().take_while(|b| is_word(**b)).count();
    let mut start = at - before;
    // The letter of `\n` does not belong to the name after it.
    if matches!(scan.at(start), b'n' | b'r' | b't') && scan.before(start) == b'\\' && start < at {
        start += 1;
    }
    Some(start..at + after)
}

enum Name {
    Secret(Kind, Trust),
    /// `key` alone, which names a credential in the query of a URL at most.
    Key,
    Authorization,
    Cookie,
    Signature,
}

/// Words of the names of tokens that are counted or used for paging, and of public ones: these are no credentials.
const COUNTED: &[&str] = &[
    "max",
    "maximum",
    "num",
    "number",
    "count",
    "counter",
    "page",
    "pages",
    "next",
    "continuation",
    "cursor",
    "cancel",
    "cancellation",
    "public",
    "publickey",
    "sync",
    "synchronization",
];

/// Whether a text is such words run together: `nextpage`.
fn is_of_counted(text: &str) -> bool {
    COUNTED.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || is_of_counted(rest)))
}

/// Returns the kind of value a name announces; its last words decide.
fn announced_by(name: &[u8]) -> Option<Name> {
    let mut joined = String::with_capacity(name.len());
    // Where the words of the name begin.
    let mut words = vec![0];
    let written = name;
    for (at, byte) in name.iter().enumerate() {
        let hump = byte.is_ascii_uppercase() && at > 0 && name[at - 1].is_ascii_lowercase();
        if !byte.is_ascii_alphanumeric() || hump {
            words.push(joined.len());
        }
        if byte.is_ascii_alphanumeric() {
            joined.push(byte.to_ascii_lowercase() as char);
        }
    }
    let name = joined.trim_end_matches(|c: char| c.is_ascii_digit());
    words.retain(|start| *start < joined.len());
    let last = words.last().and_then(|start| name.get(*start..)).unwrap_or("");
    let ends = |with: &[&str]| with.iter().any(|end| name.ends_with(end));

    if ends(&["password", "passwd", "passphrase", "passcode", "pwd"]) {
        return Some(Name::Secret(Kind::Password, Trust::Password));
    }
    if last == "pass" {
        return Some(Name::Secret(Kind::Password, Trust::Pass));
    }
    if ends(&["authorization"]) {
        return Some(Name::Authorization);
    }
    if ends(&["cookie"]) {
        return Some(Name::Cookie);
    }
    if name == "sig" {
        return Some(Name::Signature);
    }
    if written == b"key" {
        return Some(Name::Key);
    }
    if ends(&["awssecretaccesskey", "awssecretkey", "awssecret", "secretaccesskey"]) {
        return Some(Name::Secret(Kind::AwsSecret, Trust::Generated));
    }
    if ends(&["accountkey", "sharedaccesskey"]) {
        return Some(Name::Secret(Kind::AzureKey, Trust::Generated));
    }
    if ends(&["token"]) {
        let mut words = words.iter().zip(words.iter().skip(1)).filter_map(|(from, to)| name.get(*from..*to));
        let counted = words.any(|word| COUNTED.contains(&word))
            || is_of_counted(last.strip_suffix("token").unwrap_or_default())
            || ["eostoken", "bostoken", "padtoken", "unktoken", "masktoken", "stoptoken"].contains(&name);
        return (!counted).then_some(Name::Secret(Kind::Token, Trust::Generated));
    }
    // A personal access token; `pat` alone means many other things.
    if last == "pat" && written.ends_with(b"_PAT") && !written.iter().any(u8::is_ascii_lowercase) {
        return Some(Name::Secret(Kind::Token, Trust::Generated));
    }
    if ends(&["secret", "secretvalue", "secretkeybase", "clientsecret"]) {
        return Some(Name::Secret(Kind::Secret, Trust::Generated));
    }
    let keys = [
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "encryptionkey",
        "signingkey",
        "masterkey",
        "adminkey",
        "clientkeydata",
        "authkey",
        "rolekey",
        "storagekey",
        "servicekey",
        "sharedkey",
        "appkey",
        "subscriptionkey",
        "licensekey",
    ];
    if ends(&keys) {
        return Some(Name::Secret(Kind::ApiKey, Trust::Generated));
    }
    (last == "auth").then_some(Name::Secret(Kind::Token, Trust::Vague))
}

/// Place of a name's value, and the form of the assignment.
struct Assignment {
    start: usize,
    /// The sign between name and value.
    sign: u8,
    literal: bool,
    compared: bool,
    /// Whether the assignment is in the query of a URL.
    query: bool,
}

fn assignment(scan: &Scan, name: &Range<usize>) -> Option<Assignment> {
    let closers = scan.bytes[name.end..].iter().take(8).take_while(|b| b"\"'`]*\\".contains(b)).count();
    let quoted_name = closers > 0 && scan.bytes[name.end..name.end + closers].iter().any(|b| b"\"'`".contains(b));
    let mut at = name.end + closers;
    let text = &scan.bytes[name.clone()];
    let argument = text.starts_with(b"--") || text.starts_with(b"-") && text.len() > 6;
    let before = scan.before(name.start);
    if scan.at(at) == b'>' && before == b'<' {
        return Some(Assignment { start: at + 1, sign: b'>', literal: true, compared: false, query: false });
    }
    let spaced = blanks(scan, at);
    let (mut literal, mut compared) = (false, false);
    let after_space = spaced > at;
    at = spaced;
    let sign = scan.at(at);
    match sign {
        b'=' => {
            let signs = scan.bytes[at..].iter().take(3).take_while(|b| **b == b'=').count();
            compared = signs > 1;
            at += signs;
            if scan.at(at) == b'>' {
                at += 1;
            } else if scan.at(at) == b'~' {
                return None;
            }
            let capitals = !text.iter().any(u8::is_ascii_lowercase);
            literal = !compared && !after_space && !scan.at(at).is_ascii_whitespace() && (argument || capitals);
        }
        b':' if scan.at(at + 1) == b':' => return None,
        b':' | b'?' => {
            at += 1;
            if sign == b'?' && !matches!(scan.at(at), b'=' | b':') {
                return None;
            }
            if matches!(scan.at(at), b'=' | b':') {
                at += 1;
            }
        }
        b',' if argument && quoted_name => {
            at += 1;
            literal = true;
        }
        _ if argument && after_space => literal = true,
        _ => {
            at = named_apart(scan, at, quoted_name)?;
        }
    }
    // Skips emphasis and code marks, a continued line, or a line break after a quoted name.
    let mut start = at;
    for _ in 0..4 {
        start = blanks(scan, start);
        let broken = scan.at(start) == b'\\' && scan.at(start + 1) == b'\n';
        if broken {
            start += 2;
        } else if scan.at(start) == b'\n' && quoted_name && sign == b':' {
            start += 1;
        } else if scan.starts(start, "**") {
            start += 2;
        } else {
            break;
        }
    }
    // In a YAML block scalar the value is the next line.
    if sign == b':' && matches!(scan.at(start), b'|' | b'>') {
        let line = scan.run(start, |b| matches!(b, b'|' | b'>' | b'-' | b'+'));
        if scan.at(line) == b'\n' {
            start = blanks(scan, line + 1);
            literal = true;
        }
    }
    if matches!(scan.at(start), b'b' | b'r' | b'f' | b'u' | b'@' | b'$') && matches!(scan.at(start + 1), b'"' | b'\'') {
        start += 1;
    }
    let query = sign == b'=' && matches!(before, b'?' | b'&');
    Some(Assignment { start, sign, literal, compared, query })
}

/// Returns where the value begins in `name: DB_PASSWORD, value: …`: lists of variables separate name and value.
fn named_apart(scan: &Scan, at: usize, quoted: bool) -> Option<usize> {
    let gap = scan.bytes.get(at..)?.iter().take(64);
    let skip = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b'"' | b'\'' | b'\\');
    let start = at + gap.take_while(|b| skip(b)).count();
    let start = if scan.before(start) == b'\\' && scan.at(start) == b'n' {
        start + 1 + scan.bytes[start + 1..].iter().take(64).take_while(|b| skip(b)).count()
    } else {
        start
    };
    let value = scan.bytes.get(start..start + 5)?;
    if !value.eq_ignore_ascii_case(b"value") || (!quoted && start == at) {
        return None;
    }
    let end = start
        + 5
        + scan.bytes[start + 5..].iter().take(8).take_while(|b| matches!(b, b'"' | b'\'' | b'\\' | b' ')).count();
    (scan.at(end) == b':').then_some(end + 1)
}

fn blanks(scan: &Scan, at: usize) -> usize {
    at + scan.bytes[at.min(scan.bytes.len())..].iter().take(NAME).take_while(|b| is_blank(**b)).count()
}

/// Returns the span of the value, if it looks like a secret.
fn secret(scan: &Scan, assignment: &Assignment, trust: Trust) -> Option<Range<usize>> {
    let Assignment { start, sign, literal, compared, query } = *assignment;
    if let Some(range) = quoted(scan, start) {
        let written = Written { quoted: true, literal: false, compared };
        return value::is_secret(&scan.text[range.clone()], trust, written).then_some(range);
    }
    let range = unquoted(scan, start, literal, query, sign == b'>');
    // `<password>@host` is a placeholder, `<password>…</password>` an element.
    if sign == b'>' && !scan.starts(range.end, "</") {
        return None;
    }
    let text = scan.text.get(range.clone())?;
    let written = Written { quoted: false, literal: literal || query, compared };
    if value::is_secret(text, trust, written) {
        return Some(range);
    }
    // In `token: &str = "…"` the text after the colon is the type.
    if sign != b':' {
        return None;
    }
    let typed = |b: &u8| b.is_ascii_alphanumeric() || b"_<>&'[]|.? ".contains(b);
    let end = start + scan.bytes[start.min(scan.bytes.len())..].iter().take(NAME).take_while(|b| typed(b)).count();
    if end == start || scan.at(end) != b'=' || matches!(scan.at(end + 1), b'=' | b'>') {
        return None;
    }
    let range = quoted(scan, blanks(scan, end + 1))?;
    let written = Written { quoted: true, literal: false, compared };
    value::is_secret(&scan.text[range.clone()], trust, written).then_some(range)
}

/// Returns the text between quotes from here. Quotes in JSON nested in JSON have backslashes; the closing quote has as
/// many as the opening one, or fewer when the whole text ends first.
fn quoted(scan: &Scan, at: usize) -> Option<Range<usize>> {
    let slashes = scan.bytes.get(at..)?.iter().take(16).take_while(|b| **b == b'\\').count();
    let quote = scan.at(at + slashes);
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let mut start = at + slashes + 1;
    if scan.at(start) == quote && scan.at(start + 1) == quote {
        start += 2;
    }
    let limit = scan.bytes.len().min(start + VALUE);
    let mut from = start;
    while let Some(found) = memchr::memchr2(quote, b'\n', &scan.bytes[from..limit]) {
        let end = from + found;
        if scan.bytes[end] == b'\n' {
            return None;
        }
        let before = scan.bytes[start..end].iter().rev().take_while(|b| **b == b'\\').count();
        if before <= slashes || (before - slashes).is_multiple_of(2 * (slashes + 1)) {
            return Some(start..end - before.min(slashes));
        }
        from = end + 1;
    }
    None
}

/// Returns the text from here up to a character that cannot be part of an unquoted value.
fn unquoted(scan: &Scan, at: usize, literal: bool, query: bool, element: bool) -> Range<usize> {
    let mut end = at.min(scan.bytes.len());
    while let Some(byte) = scan.bytes.get(end) {
        let stops = match byte {
            b'"' | b'\'' | b'`' | b';' | b'<' => true,
            b'\\' if scan.at(end + 1) == b'\n' && is_word(scan.at(end + 2)) && literal => {
                end += 2;
                continue;
            }
            b'\\' => true,
            b'&' | b'#' if query => true,
            b'>' | b'|' | b',' | b'&' => !literal && !element,
            byte => byte.is_ascii_whitespace() || byte.is_ascii_control(),
        };
        if stops {
            break;
        }
        end += 1;
        // Secrets without quotes are never longer than [`VALUE`].
        if end - at > VALUE {
            return at..at;
        }
    }
    let text = &scan.bytes[at.min(end)..end];
    let trailing = text.iter().rev().take_while(|b| b".,:)]}*".contains(b)).count();
    at.min(end)..end - trailing
}

/// Reads `Bearer …` at any place: prose often follows the word alone, so the rest must look generated.
pub(super) fn bearer(scan: &mut Scan, at: usize) -> Option<usize> {
    if !scan.may_begin(at) {
        return None;
    }
    let start = blanks(scan, at + 6);
    let limit = scan.bytes.len().min(start + 2 * VALUE);
    let fine = |b: &u8| is_word(*b) || b".~+/=".contains(b);
    let end = start + scan.bytes[start..limit].iter().take_while(|b| fine(b)).count();
    let end = if scan.before(end) == b'.' { end - 1 } else { end };
    let text = scan.text.get(start..end)?;
    let made = text.len() >= 16 && value::looks_generated(text.as_bytes()) && !value::is_placeholder(text);
    if !made || value::is_reference(text) {
        return None;
    }
    let kind = scan.shape_at(start).map_or(Kind::Authorization, |s| s.kind);
    scan.add(start..end, kind)
}

/// Reads the text after the scheme of `Authorization: Basic …`.
fn authorization(scan: &mut Scan, assignment: &Assignment) -> Option<usize> {
    let slashes = scan.bytes.get(assignment.start..)?.iter().take(16).take_while(|b| **b == b'\\').count();
    let quote = assignment.start + slashes;
    let start = if matches!(scan.at(quote), b'"' | b'\'' | b'`') { quote + 1 } else { assignment.start };
    let scheme_end = start + scan.bytes[start..].iter().take(24).take_while(|b| is_word(**b)).count();
    let scheme = &scan.bytes[start..scheme_end];
    let basic = scheme.eq_ignore_ascii_case(b"basic");
    let with_scheme = is_blank(scan.at(scheme_end)) && !scheme.is_empty();
    let start = if with_scheme { blanks(scan, scheme_end) } else { start };
    let range = unquoted(scan, start, false, false, false);
    let text = scan.text.get(range.clone())?;
    let bytes = text.as_bytes();
    let known =
        [&b"bearer"[..], b"token", b"basic", b"apikey", b"bot", b"key", b"geniekey", b"flyv1", b"splunk", b"ssws"];
    let fine = if basic {
        let base64 = |b: &u8| b.is_ascii_alphanumeric() || b"+/=-_".contains(b);
        let mixed = bytes.iter().any(u8::is_ascii_uppercase) || bytes.iter().any(u8::is_ascii_digit);
        bytes.len() >= 8 && bytes.iter().all(base64) && mixed
    } else if with_scheme {
        known.iter().any(|k| scheme.eq_ignore_ascii_case(k)) && bytes.len() >= 8 && value::looks_generated(bytes)
    } else {
        bytes.len() >= 16 && value::looks_generated(bytes)
    };
    if !fine || value::is_reference(text) || (!basic && value::is_placeholder(text)) || text.contains('(') {
        return None;
    }
    let kind = scan.shape_at(range.start).map_or(Kind::Authorization, |s| s.kind);
    scan.add(range, kind)
}

/// Reads the values of `name=value; name=value` that look like a session and not like a setting.
fn cookies(scan: &mut Scan, at: usize) -> Option<usize> {
    let slashes = scan.bytes.get(at..)?.iter().take(16).take_while(|b| **b == b'\\').count();
    let quote = at + slashes;
    let mut at = if matches!(scan.at(quote), b'"' | b'\'' | b'`') { quote + 1 } else { at };
    let mut last = None;
    for _ in 0..64 {
        at = blanks(scan, at);
        let name_end = at + scan.bytes[at..].iter().take(NAME).take_while(|b| is_word(**b) || **b == b'.').count();
        let name = &scan.bytes[at..name_end];
        if name.is_empty() || !matches!(scan.at(name_end), b'=' | b';') {
            return last;
        }
        if scan.at(name_end) == b'=' {
            let ends = |b: &u8| b.is_ascii_whitespace() || b"\";,'\\`<".contains(b);
            let start = name_end + 1;
            let limit = scan.bytes.len().min(start + 2 * VALUE);
            let end = start + scan.bytes[start..limit].iter().take_while(|b| !ends(b)).count();
            let lower = name.to_ascii_lowercase();
            let has = |part: &[u8]| memchr::memmem::find(&lower, part).is_some();
            let attribute =
                [&b"path"[..], b"expires", b"domain", b"max-age", b"samesite", b"version"].contains(&&lower[..]);
            let session = [&b"sess"[..], b"sid", b"auth", b"token", b"jwt", b"csrf", b"xsrf", b"login", b"remember"];
            let needed = if session.iter().any(|part| has(part)) { 8 } else { 16 };
            if let Some(text) = scan.text.get(start..end)
                && !attribute
                && text.len() >= needed
                && value::looks_generated(text.as_bytes())
                && !value::is_reference(text)
                && !value::is_placeholder(text)
            {
                let kind = scan.shape_at(start).map_or(Kind::Cookie, |s| s.kind);
                last = scan.add(start..end, kind);
            } else if !scan.bytes[start..end].iter().all(|b| is_word(*b) || b".%~|+/[]".contains(b)) {
                // The value is not skipped: another rule may find a credential in it.
                return last;
            }
            at = end;
            if lower == b"expires" {
                let date = |b: &u8| b.is_ascii_alphanumeric() || b", :-+".contains(b);
                at += scan.bytes[at..].iter().take(40).take_while(|b| date(b)).count();
            }
        } else {
            at = name_end;
        }
        if scan.at(at) != b';' {
            return last;
        }
        at += 1;
    }
    last
}
