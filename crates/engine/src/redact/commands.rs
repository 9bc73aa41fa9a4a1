//! Passwords given to a command in its own way: `sshpass -p …`, `mysql -p…`, `docker login -p …`, `redis-cli -a …`,
//! `sqlcmd -P …`, `htpasswd -b FILE USER …`, `aws configure set aws_secret_access_key …`,
//! `ngrok config add-authtoken …`, SQL's `IDENTIFIED BY '…'`, and the entries of a `.netrc`.
//!
//! `-p` means something else in most commands, so a rule that begins there looks back for the command on the same line.

use std::ops::Range;

use super::value;
use super::{Kind, MARK, Scan, is_blank, is_word};

/// Beginnings at which [`read`] runs.
pub(super) const HEADS: &[&str] = &[
    " -p",
    " -a ",
    "authtoken ",
    "password ",
    "password\t",
    "identified by ",
    "htpasswd -",
    "set aws_secret_access_key ",
];

/// Words before a user's password in SQL.
const IDENTIFIED: &[u8] = b"identified by ";

/// End of the command that stores a key of AWS.
const SET_KEY: &str = "set aws_secret_access_key ";

/// Most bytes before a password in which its command is looked for.
const LINE: usize = 256;

/// Largest length of a password in bytes.
const LONGEST: usize = 128;

/// Commands that take a password joined to `-p`; `-p` alone asks for it, and the word after it is a database.
const JOINED: &[&[u8]] = &[b"mysql", b"mariadb", b"mysqldump", b"mysqladmin", b"mariadb-dump", b"mariadb-admin"];

/// Commands that take a password as the word after `-p` of `login`.
const LOGINS: &[&[u8]] = &[b"docker", b"podman", b"buildah", b"skopeo", b"nerdctl", b"registry", b"oras"];

/// Reads the password of a command, where its option begins.
pub(super) fn read(scan: &mut Scan, at: usize) -> Option<usize> {
    let range = if scan.starts(at, " -p") {
        option(scan, at)
    } else if scan.starts(at, " -P") || scan.starts(at, " -a") {
        let commands: &[&[u8]] = if scan.starts(at, " -P") { &[b"sqlcmd", b"bcp"] } else { &[b"redis-cli"] };
        word(scan, at + 3).filter(|_| words_before(scan, at).any(|word| commands.contains(&word)))
    } else if scan.starts(at, "htpasswd -") {
        htpasswd(scan, at + "htpasswd ".len())
    } else if scan.starts(at, SET_KEY) {
        let aws = words_before(scan, at).take(8).any(|word| word == b"aws");
        aws.then(|| word(scan, at + SET_KEY.len()))?
    } else if scan.starts(at, "authtoken ") {
        let before = &scan.bytes[at.saturating_sub(16)..at];
        let ngrok = before.ends_with(b"ngrok ") || before.ends_with(b"config add-");
        ngrok.then(|| word(scan, at + "authtoken ".len()))?
    } else if scan.bytes[at..].get(..IDENTIFIED.len()).is_some_and(|s| s.eq_ignore_ascii_case(IDENTIFIED)) {
        word(scan, at + IDENTIFIED.len()).filter(|range| is_quote(scan.before(range.start)))
    } else {
        netrc(scan, at).then(|| word(scan, at + "password ".len()))?
    }?;
    let text = scan.text.get(range.clone())?;
    if text.len() < 4 || value::is_reference(text) || value::is_placeholder(text) || text.starts_with('-') {
        return None;
    }
    let usual = if scan.starts(at, SET_KEY) { Kind::AwsSecret } else { Kind::Password };
    let kind = scan.shape_at(range.start).map_or(usual, |shape| shape.kind);
    scan.add(range, kind)
}

/// Returns the value of the option `-p` that begins here, if the command before it takes a password so.
fn option(scan: &Scan, at: usize) -> Option<Range<usize>> {
    let mut words = words_before(scan, at);
    let joined = !is_blank(scan.at(at + 3));
    let value = word(scan, at + 3)?;
    let mut login = false;
    let takes = words.any(|word| {
        let takes = match joined {
            true => word == b"sshpass" || JOINED.contains(&word),
            false => word == b"sshpass" || (login && LOGINS.contains(&word)),
        };
        login = word == b"login" || (login && word.is_empty());
        takes
    });
    // `-parallel` and `-pretty` are options of their own.
    let is_option = joined && scan.bytes[at + 3..value.end].iter().all(|b| b.is_ascii_lowercase() || *b == b'-');
    (takes && !is_option).then_some(value)
}

/// Returns the words of the command before this position, the last one first.
fn words_before<'a>(scan: &Scan<'a>, at: usize) -> impl Iterator<Item = &'a [u8]> {
    let line = before(scan, at).rsplit(|b| matches!(b, b'\n' | b'|' | b';' | b'&' | b'`')).next().unwrap_or_default();
    line.split(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'/' | b'(')).rev()
}

/// Returns the password of `htpasswd -b FILE USER PASSWORD`, or of `htpasswd -nb USER PASSWORD`, where its options begin.
fn htpasswd(scan: &Scan, at: usize) -> Option<Range<usize>> {
    let mut from = at;
    let (mut given, mut to_file, mut words) = (false, true, 0);
    loop {
        let next = word(scan, from)?;
        let text = scan.bytes.get(next.clone())?;
        from = next.end + usize::from(is_quote(scan.at(next.end)));
        match text.strip_prefix(b"-") {
            // The cost of a hash is a word of its own.
            Some(b"C" | b"r") => from = word(scan, from)?.end,
            Some(options) if words == 0 => {
                given |= options.contains(&b'b');
                to_file &= !options.contains(&b'n');
            }
            _ if words == 1 + usize::from(to_file) => return given.then_some(next),
            _ => words += 1,
        }
    }
}

/// Whether the word `password` here belongs to an entry of a `.netrc`: `machine HOST login USER password …`.
fn netrc(scan: &Scan, at: usize) -> bool {
    let mut words = before(scan, at).split(u8::is_ascii_whitespace).rev().filter(|word| !word.is_empty());
    let (Some(_), Some(login), Some(host), machine) = (words.next(), words.next(), words.next(), words.next()) else {
        return false;
    };
    login == b"login" && (machine == Some(b"machine") || host == b"default")
}

/// Returns the text before a password, back to the last credential: once that is replaced, nothing in it can be read.
fn before<'a>(scan: &Scan<'a>, at: usize) -> &'a [u8] {
    let last = scan.found.last().map_or(0, |last| last.range.end);
    let text = &scan.bytes[at.saturating_sub(LINE).max(last).min(at)..at];
    // A credential that was replaced earlier.
    memchr::memmem::rfind(text, MARK.as_bytes()).map_or(text, |mark| &text[mark..])
}

/// Returns the word that begins here, without its quotes.
fn word(scan: &Scan, from: usize) -> Option<Range<usize>> {
    let start = scan.run(from, is_blank);
    let quote = Some(scan.at(start)).filter(|b| is_quote(*b));
    let start = start + usize::from(quote.is_some());
    let rest = scan.bytes.get(start..scan.bytes.len().min(start + LONGEST))?;
    let ends = |b: &u8| match quote {
        Some(quote) => *b == quote || *b == b'\n',
        None => !(is_word(*b) || b.is_ascii_punctuation() || !b.is_ascii()) || b"\"'`\\<".contains(b),
    };
    let end = start + rest.iter().position(ends).unwrap_or(rest.len());
    (end > start && scan.text.is_char_boundary(end)).then_some(start..end)
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}
