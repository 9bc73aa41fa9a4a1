//! Names that were forgotten: of people, tools, projects, threads, sessions, files (R14.2).
//!
//! A name also occurs in ids and paths, which programs repeat with every import. The ledger therefore keeps a keyed
//! digest of the words of each forgotten name, and replaces these words in everything it stores, then and later, by a
//! mark: `forgotten-` and eight hex digits of the digest. The same name always gets the same mark, so that rows with
//! that name still match each other. Where two rows differ only in the spelling of a name, one spelling gets a mark of
//! its own ([`ForgottenNames::tell_apart`]), so that they stay two rows.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::params;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};

/// Row of the table `meta` that holds the key of the digests.
const KEY: &str = "forgotten_names_key";

/// Beginning of every mark.
const MARK: &str = "forgotten-";

/// Lengths of the digests, keys and seals that programs write in hexadecimal digits.
const DIGESTS: &[usize] = &[16, 32, 40, 64];

/// Largest number of words that share one mark; a longer name is marked in pieces of this many words.
const MOST_WORDS: usize = 12;

/// Digests of the names a ledger has forgotten. When there are none, texts are returned unread.
#[derive(Clone, Default, Debug)]
pub struct ForgottenNames {
    key: [u8; 32],
    /// Digest of a name, with the number of its words.
    digests: HashMap<[u8; 16], usize>,
    /// Digests of the spellings that have a mark of their own; stored with the number of words 0.
    spellings: HashSet<[u8; 16]>,
    longest: usize,
}

impl ForgottenNames {
    pub fn load(tx: &Read) -> Result<ForgottenNames> {
        let mut names = ForgottenNames::default();
        let mut statement = tx.prepare_cached("SELECT digest, words FROM forgotten_names")?;
        let rows = statement.query_map([], |r| Ok((r.get::<_, Vec<u8>>(0)?, r.get::<_, i64>(1)?)))?;
        for row in rows {
            let (digest, words) = row?;
            let Ok(digest) = digest.try_into() else { continue };
            if words == 0 {
                names.spellings.insert(digest);
            } else {
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

    /// Returns a text with marks in the place of forgotten names. Words inside an id or a date are no names.
    pub fn marked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut out, mut copied) = (String::new(), 0);
        for (range, digest) in self.found(text) {
            out.push_str(&text[copied..range.start]);
            out.push_str(MARK);
            out.extend(digest[..4].iter().map(|b| format!("{b:02x}")));
            copied = range.end;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// Returns where forgotten names stand in a text, each with the digest its mark is made of.
    fn found(&self, text: &str) -> Vec<(Range<usize>, [u8; 16])> {
        let mut all = Vec::new();
        if self.is_empty() {
            return all;
        }
        let (words, mut at, mut ids) = (words(text), 0, None);
        while at < words.len() {
            let most = self.longest.min(words.len() - at);
            let found = (1..=most).rev().find_map(|n| {
                let digest = self.digest(text, &words[at..at + n]);
                let range = words[at].start..words[at + n - 1].end;
                (self.digests.get(&digest) == Some(&n) && is_apart(&range, ids.get_or_insert_with(|| ids_in(text))))
                    .then_some((n, range, digest))
            });
            let Some((n, range, digest)) = found else {
                at += 1;
                continue;
            };
            let own = self.spelling(&text[range.clone()]);
            all.push((range, if self.spellings.contains(&own) { own } else { digest }));
            at += n;
        }
        all
    }

    /// Gives spellings of forgotten names marks of their own, where they make the only difference between two texts.
    /// Returns whether that gave a mark to a spelling which had none.
    pub fn tell_apart(&mut self, tx: &Write, one: &str, other: &str) -> Result<bool> {
        if self.marked(one) != self.marked(other) {
            return Ok(false);
        }
        let spelt = |text: &str| -> Vec<[u8; 16]> {
            self.found(text).into_iter().map(|(range, _)| self.spelling(&text[range])).collect()
        };
        let (first, second) = (spelt(one), spelt(other));
        let new = |of: &[[u8; 16]], than: &[[u8; 16]]| -> Vec<[u8; 16]> {
            of.iter().filter(|s| !than.contains(s) && !self.spellings.contains(*s)).copied().collect()
        };
        let mut own = new(&second, &first);
        if own.is_empty() {
            own = new(&first, &second);
        }
        for digest in &own {
            tx.prepare_cached("INSERT INTO forgotten_names (digest, words) VALUES (?1, 0) ON CONFLICT DO NOTHING")?
                .execute([digest])?;
            self.spellings.insert(*digest);
        }
        Ok(!own.is_empty())
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

    /// Returns the digest of a name exactly as it is written.
    fn spelling(&self, name: &str) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::keyed_hash(&self.key, name.as_bytes()).as_bytes()[..16]);
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

/// Whether a stretch of a text is in none of the ids, except that it may be a whole one.
pub fn is_apart(stretch: &Range<usize>, ids: &[Range<usize>]) -> bool {
    let inside = |id: &Range<usize>| id.start < stretch.end && stretch.start < id.end;
    !ids.iter().any(|id| inside(id) && !(stretch.start <= id.start && id.end <= stretch.end))
}

/// Returns where a text has ids, digests, dates and marks: their digits and letters are no words of people.
pub fn ids_in(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let alone = |range: Range<usize>| {
        let adjoins = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        range.end <= bytes.len() && !adjoins(range.start.checked_sub(1)) && !adjoins(Some(range.end))
    };
    // `x` stands for a hex digit, `0` for a digit, any other byte for itself.
    let fits = |at: usize, form: &str| {
        bytes.get(at..at + form.len()).is_some_and(|part| {
            part.iter().zip(form.bytes()).all(|(b, wanted)| match wanted {
                b'x' => b.is_ascii_hexdigit(),
                b'0' => b.is_ascii_digit(),
                _ => *b == wanted,
            })
        })
    };
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes[at..].iter().take_while(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(*b)).count();
        let length = match () {
            () if fits(at, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") && alone(at..at + 36) => 36,
            () if fits(at, "forgotten-xxxxxxxx") && alone(at..at + 18) => 18,
            () if fits(at, "0000-00-00T00:00:00") || fits(at, "0000-00-00T00-00-00") => 19,
            () if fits(at, "0000-00-00") && alone(at..at + 10) => 10,
            () if DIGESTS.contains(&hex)
                && alone(at..at + hex)
                && bytes[at..at + hex].iter().any(u8::is_ascii_digit)
                && bytes[at..at + hex].iter().any(u8::is_ascii_lowercase) =>
            {
                hex
            }
            () => 0,
        };
        if length > 0 {
            all.push(at..at + length);
            at += length;
        } else {
            // Only the beginning of a run of letters and digits can begin an id.
            at += bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count().max(1);
        }
    }
    all
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
    fn words_inside_ids_and_dates_are_no_names() {
        let id = "7f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";
        let digest = "b27e3c1c282a2407125a589b5d0d915a";
        for (text, ids) in [
            (format!("codex:{id}"), vec![id]),
            (format!("/x/rollout-2026-11-20T10-11-12-{id}.jsonl"), vec!["2026-11-20T10-11-12", id]),
            (format!("roof--{}", &digest[..16]), vec![&digest[..16]]),
            (format!("{digest}, {digest}{digest}."), vec![digest]),
            ("at 2026-11-20T10:11:12.5Z or 2026-11-20".into(), vec!["2026-11-20T10:11:12", "2026-11-20"]),
            ("of forgotten-1a2b3c4d".into(), vec!["forgotten-1a2b3c4d"]),
            (format!("a{digest} {id}0 {} 2026-11-201 12026-11-20", &digest[..15]), vec![]),
            ("4716471647164716 feedfeedfeedfeed DE89370400440532013000 2026 Zo\u{eb}".into(), vec![]),
        ] {
            let mut found: Vec<&str> = ids_in(&text).into_iter().map(|id| &text[id]).collect();
            found.dedup_by(|next, last| next.starts_with(*last));
            assert_eq!(found, ids, "{text}");
        }
        assert!(is_apart(&(2..4), &[0..2, 4..9]) && is_apart(&(3..10), std::slice::from_ref(&(4..9))));
        assert!(!is_apart(&(4..8), std::slice::from_ref(&(4..9))));
    }

    #[test]
    fn spellings_can_have_marks_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let ledger =
            Ledger::open(&folder.path().join("runtime.db"), folder.path(), Clock::Fixed(0), Open::Full).unwrap();
        let before = forget(&ledger, "Zo\u{eb}.", "Z", ".");
        let told = |one: &str, other: &str| {
            let told = ledger
                .write(Audit::new("test", "test.forget"), |tx| ForgottenNames::load(tx)?.tell_apart(tx, one, other));
            told.unwrap()
        };
        assert!(told("wa:Zo\u{eb}", "wa:zo\u{eb}") && !told("wa:Zo\u{eb}", "wa:zo\u{eb}"));
        let after = ledger.read(ForgottenNames::load).unwrap();
        assert_eq!(after.marked("wa:Zo\u{eb}"), before.marked("wa:Zo\u{eb}"));
        assert_ne!(after.marked("wa:zo\u{eb}"), before.marked("wa:zo\u{eb}"));
        assert_eq!(after.marked("wa:ZO\u{eb}"), before.marked("wa:ZO\u{eb}"));
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
