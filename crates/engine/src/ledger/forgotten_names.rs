//! Names that were forgotten: of people, tools, projects, threads, sessions, files (R14.2).
//!
//! A name also occurs in ids and paths, which programs repeat with every import. The ledger therefore keeps a keyed
//! digest of the words of each forgotten name, and replaces these words in everything it stores, then and later, by a
//! mark: `forgotten-` and eight hex digits of the digest. The same name always gets the same mark, so that rows with
//! that name still match each other.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::params;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};

/// Row of the table `meta` that holds the key of the digests.
const KEY: &str = "forgotten_names_key";

/// Largest number of words that share one mark; a longer name is marked in pieces of this many words.
const MOST_WORDS: usize = 12;

/// Digests of the names a ledger has forgotten. When there are none, texts are returned unread.
#[derive(Clone, Default, Debug)]
pub struct ForgottenNames {
    key: [u8; 32],
    /// Digest of a name, with the number of its words.
    digests: HashMap<[u8; 16], usize>,
    longest: usize,
}

impl ForgottenNames {
    pub fn load(tx: &Read) -> Result<ForgottenNames> {
        let mut names = ForgottenNames::default();
        let mut statement = tx.prepare_cached("SELECT digest, words FROM forgotten_names")?;
        let rows = statement.query_map([], |r| Ok((r.get::<_, Vec<u8>>(0)?, r.get::<_, i64>(1)?)))?;
        for row in rows {
            let (digest, words) = row?;
            if let Ok(digest) = digest.try_into() {
                names.longest = names.longest.max(words as usize);
                names.digests.insert(digest, words as usize);
            }
        }
        if !names.is_empty() {
            names.key = key(tx)?.ok_or_else(|| Error::damaged("the key of forgotten names is gone"))?;
        }
        Ok(names)
    }

    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Returns a text with marks in the place of forgotten names.
    pub fn marked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let words = words(text);
        let (mut out, mut copied, mut at) = (String::new(), 0, 0);
        while at < words.len() {
            let most = self.longest.min(words.len() - at);
            let found = (1..=most).rev().find_map(|n| {
                let digest = self.digest(text, &words[at..at + n]);
                (self.digests.get(&digest) == Some(&n)).then_some((n, digest))
            });
            let Some((n, digest)) = found else {
                at += 1;
                continue;
            };
            out.push_str(&text[copied..words[at].start]);
            out.push_str("forgotten-");
            out.extend(digest[..4].iter().map(|b| format!("{b:02x}")));
            copied = words[at + n - 1].end;
            at += n;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// Replaces forgotten names in `text` by their marks.
    pub fn mark(&self, text: &mut String) {
        if let Cow::Owned(marked) = self.marked(text) {
            *text = marked;
        }
    }

    /// Returns a path with marks in the place of forgotten names; a path that is not UTF-8 is returned unchanged.
    pub fn marked_path(&self, path: &Path) -> PathBuf {
        path.to_str().map_or_else(|| path.to_owned(), |text| PathBuf::from(self.marked(text).as_ref()))
    }

    fn digest(&self, text: &str, words: &[Range<usize>]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for word in words {
            hasher.update(text[word.clone()].nfc().collect::<String>().to_lowercase().as_bytes());
            hasher.update(b" ");
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
    }

    /// Stores the digests of the words of `text` that the given byte ranges touch.
    pub fn take(&mut self, tx: &Write, text: &str, stretches: &[Range<usize>]) -> Result<()> {
        if self.key == [0; 32] {
            self.key = match key(tx)? {
                Some(key) => key,
                None => new_key(tx)?,
            };
        }
        let words = words(text);
        for stretch in stretches {
            let covered: Vec<Range<usize>> =
                words.iter().filter(|w| w.start < stretch.end && stretch.start < w.end).cloned().collect();
            for name in covered.chunks(MOST_WORDS) {
                let digest = self.digest(text, name);
                tx.prepare_cached(
                    "INSERT INTO forgotten_names (digest, words) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![digest, name.len() as i64])?;
                self.longest = self.longest.max(name.len());
                self.digests.insert(digest, name.len());
            }
        }
        Ok(())
    }
}

/// Returns the runs of letters and digits of a text; a letter's accent may be a character of its own.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric() || is_combining_mark(*c)) {
        let end = at + c.len_utf8();
        match all.last_mut() {
            Some(word) if word.end == at => word.end = end,
            _ => all.push(at..end),
        }
    }
    all
}

fn key(tx: &Read) -> Result<Option<[u8; 32]>> {
    let mut statement = tx.prepare_cached("SELECT unhex(value) FROM meta WHERE key = ?1")?;
    let mut rows = statement.query([KEY])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(row.get::<_, Vec<u8>>(0)?.try_into().ok())
}

fn new_key(tx: &Write) -> Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
    tx.execute("INSERT INTO meta (key, value) VALUES (?1, lower(hex(?2)))", params![KEY, key])?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::ledger::{Audit, Ledger, Open};

    /// Forgets the words of `text` that the stretch from `from` up to `to` touches.
    fn forget(ledger: &Ledger, text: &str, from: &str, to: &str) -> ForgottenNames {
        let stretch = text.find(from).unwrap()..text.find(to).unwrap();
        let taken = ledger.write(Audit::new("test", "test.forget"), |tx| {
            let mut names = ForgottenNames::load(tx)?;
            names.take(tx, text, std::slice::from_ref(&stretch))?;
            Ok(names)
        });
        taken.unwrap()
    }

    #[test]
    fn a_forgotten_name_is_marked_wherever_it_stands_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runtime.db");
        let ledger = Ledger::open(&path, folder.path(), Clock::Fixed(0), Open::Full).unwrap();
        assert_eq!(ledger.read(ForgottenNames::load).unwrap().marked("Zoë"), "Zoë");
        // The stretch begins and ends beside other words.
        let taken = forget(&ledger, "ask Zoë Marten, then Ruiz", " Zoë", "then");
        let mark = taken.marked("Zoë Marten").into_owned();
        assert!(mark.starts_with("forgotten-") && mark.len() == "forgotten-".len() + 8, "{mark}");
        drop(ledger);
        let ledger = Ledger::open(&path, folder.path(), Clock::Fixed(0), Open::Full).unwrap();
        let later = forget(&ledger, "of Ruiz.", "Ruiz", ".");
        let loaded = ledger.read(ForgottenNames::load).unwrap();
        let other = loaded.marked("ruiz").into_owned();
        assert!(other.starts_with("forgotten-") && other != mark, "{other}");
        for (text, shown) in [
            ("Zoë Marten", mark.clone()),
            ("/home/zoë-marten/é.md", format!("/home/{mark}/é.md")),
            ("Zoe\u{308} Marten", mark.clone()),
            ("<ZOË.MARTEN> and Zoë Marten Ruiz", format!("<{mark}> and {mark} {other}")),
            ("ask Zoë, then Marten", "ask Zoë, then Marten".into()),
            ("Zoëa Marten, Zoë Martens, Marten Zoë", "Zoëa Marten, Zoë Martens, Marten Zoë".into()),
            ("", String::new()),
        ] {
            assert_eq!(loaded.marked(text), shown, "{text}");
            assert_eq!(later.marked(text), shown, "{text}");
        }
    }

    /// A mark is made with a random key of its ledger. With a fixed key, somebody could mark likely names and compare them
    /// with the marks of another person's ledger.
    #[test]
    fn every_ledger_has_marks_of_its_own() {
        let mut marks = Vec::new();
        for _ in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runtime.db");
            let ledger = Ledger::open(&path, folder.path(), Clock::Fixed(0), Open::Full).unwrap();
            marks.push(forget(&ledger, "Zoë.", "Zoë", ".").marked("Zoë").into_owned());
        }
        assert_ne!(marks[0], marks[1]);
    }

    #[test]
    fn a_long_name_is_marked_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let ledger =
            Ledger::open(&folder.path().join("runtime.db"), folder.path(), Clock::Fixed(0), Open::Full).unwrap();
        let long = "a b c d e f g h i j k l m.";
        forget(&ledger, long, "a", ".");
        let marked = ledger.read(ForgottenNames::load).unwrap().marked(long).into_owned();
        let pieces: Vec<&str> = marked.trim_end_matches('.').split(' ').collect();
        assert_eq!(pieces.len(), 2, "{marked}");
        assert!(pieces.iter().all(|piece| piece.starts_with("forgotten-")), "{marked}");
    }
}
