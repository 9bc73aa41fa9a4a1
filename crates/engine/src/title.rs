//! Turns a title into a file name and a short id (R8.1). Storey 0.
//!
//! The same title always gives the same file, and different titles never share one: the name contains a UUID made from
//! the title, and before it a slug for people to read. This room does not know which files exist.

use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::scope;

/// UUID namespace of LionClaw, used so that the files of an adopted home keep their names.
const NAMESPACE: Uuid = Uuid::from_u128(0x5f026ae9_551b_4d3e_a511_f0f2d74cf241);

/// Maximum length of a file name that all common file systems can store, in bytes.
const LONGEST_NAME: usize = 255;

/// Maximum bytes of a title's slug in a short id.
const ID_SLUG: usize = 32;

/// A title normalised for comparison, with the names derived from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TitleKey {
    normal: String,
    uuid: Uuid,
}

impl TitleKey {
    /// Normalises a title to NFC with white space collapsed and ASCII in lower case. A title without a visible
    /// character gives the error `Usage`.
    pub fn of(title: &str) -> Result<TitleKey> {
        let words: Vec<String> = title.split(separates).filter(|w| !w.is_empty()).map(|w| w.nfc().collect()).collect();
        let normal = words.join(" ").to_ascii_lowercase();
        if normal.is_empty() {
            return Err(Error::usage("the title is empty").hint("say in a few words what it is about"));
        }
        let uuid = Uuid::new_v5(&NAMESPACE, normal.as_bytes());
        Ok(TitleKey { normal, uuid })
    }

    /// Returns the normalised title.
    pub fn as_str(&self) -> &str {
        &self.normal
    }

    /// Returns the file name `{slug}--{uuid5}.md`.
    pub fn file_name(&self) -> String {
        let tail = format!("--{}.md", self.uuid);
        format!("{}{tail}", cut(&slug(&self.normal), LONGEST_NAME - tail.len()))
    }

    /// Returns the short id `{slug}-{6 hex}`: stable, and short enough for a line.
    pub fn short(&self) -> String {
        short_of(&slug(&self.normal), &self.uuid.simple().to_string())
    }
}

/// Returns the name of an archived file: `{stem}--{uuid7}.md`, so that one title can be archived any number of times.
pub fn archived_name(name: &str) -> String {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let tail = format!("--{}.md", Uuid::now_v7());
    // If the name is too long, the slug is cut and the title's key is kept.
    let stem = match stem.rsplit_once("--") {
        Some((slug, key)) if stem.len() + tail.len() > LONGEST_NAME && key.len() == 36 => {
            format!("{}--{key}", cut(slug, LONGEST_NAME - tail.len() - key.len() - 2))
        }
        _ => cut(stem, LONGEST_NAME - tail.len()).to_owned(),
    };
    format!("{stem}{tail}")
}

/// Returns an id for a batch of file changes; ids sort by time.
pub fn flush_id() -> String {
    Uuid::now_v7().to_string()
}

/// Returns the short id of a file name: `{slug}-{6 hex}` for `{slug}--{key}.md` (also in an archive), the stem for any
/// other.
pub fn short_of_file(name: &str) -> String {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let mut stem = stem;
    // In an archive, a second key follows the title's key.
    let parts: Vec<&str> = stem.split("--").collect();
    if let [.., key, archive] = parts.as_slice()
        && is_key(key)
        && is_uuid(archive)
    {
        stem = &stem[..stem.len() - archive.len() - 2];
    } else if let [.., archive] = parts.as_slice()
        && parts.len() > 1
        && archive.len() == 36
        && Uuid::parse_str(archive).is_ok_and(|u| u.get_version_num() == 7)
    {
        return stem[..stem.len() - archive.len() - 2].to_owned();
    }
    match stem.rsplit_once("--") {
        Some((slug, key)) if is_key(key) => short_of(slug, &key.replace('-', "")),
        _ => stem.to_owned(),
    }
}

/// Returns an archived file's name without the archive's suffix; any other name unchanged.
pub fn active_name(name: &str) -> String {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    match stem.rsplit_once("--") {
        Some((before, uuid)) if Uuid::parse_str(uuid).is_ok_and(|u| u.get_version_num() == 7) => format!("{before}.md"),
        _ => name.to_owned(),
    }
}

/// Replaces everything outside `[a-z0-9]` by `-`, with runs collapsed and ends trimmed; `item` if nothing is left. The
/// length is not limited.
fn slug(normal: &str) -> String {
    let mut out = String::new();
    for c in normal.chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "item".into() } else { out.into() }
}

fn short_of(slug: &str, hex: &str) -> String {
    let mut shown = cut(slug, ID_SLUG);
    // Cut between words, unless that would leave too little.
    if shown.len() < slug.len()
        && !slug[shown.len()..].starts_with('-')
        && let Some(at) = shown.rfind('-').filter(|at| *at >= ID_SLUG / 2)
    {
        shown = &shown[..at];
    }
    format!("{}-{}", shown.trim_end_matches('-'), &hex[..6])
}

/// Cuts an ASCII text to at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end_matches('-')
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && Uuid::parse_str(text).is_ok()
}

/// Whether a text is the key after the slug in one of our file names: a UUID, or 16 hex digits ([`scope::file_key`]).
fn is_key(text: &str) -> bool {
    is_uuid(text) || (text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()))
}

/// Whether a character is white space, a control or zero-width: titles that differ only in these are the same.
fn separates(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Returns the name and short id of a file whose key is not only its title.
pub fn keyed(title: &str, key: &[u8]) -> (String, String) {
    let stem = scope::file_key(title, key);
    let name = format!("{stem}.md");
    let short = short_of_file(&name);
    (name, short)
}

/// Returns an id without its slug: `m:3f2a91` for `m:push-rule-3f2a91`. Permanent records use this form, so that they
/// contain no words of a forgotten item.
pub fn wordless(id: &str) -> String {
    let (prefix, rest) = id.split_once(':').unwrap_or(("", id));
    match rest.rsplit('-').next() {
        Some(hex) if hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => format!("{prefix}:{hex}"),
        // A person named the file, so the id is made from its name.
        _ => format!("{prefix}:{}", &Uuid::new_v5(&NAMESPACE, rest.as_bytes()).simple().to_string()[..6]),
    }
}

/// Returns a path without the slug in its file name, also for permanent records.
pub fn wordless_path(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name.split_once("--") {
        Some((_, keys)) => format!("{folder}/…--{keys}"),
        None => format!("{folder}/…"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn file(title: &str) -> String {
        TitleKey::of(title).unwrap().file_name()
    }

    #[test]
    fn the_same_title_is_the_same_file() {
        let name = file("Migrate table `tbl_orders`");
        assert_eq!(name, file("  MIGRATE\ttable\n `TBL_orders` "));
        assert!(name.starts_with("migrate-table-tbl-orders--") && name.ends_with(".md"), "{name}");
        // Decomposed and composed letters are the same word.
        assert_eq!(file("caf\u{e9}"), file("cafe\u{301}"));
        // Only ASCII is lower-cased, because other scripts have their own rules.
        assert_ne!(file("Ä"), file("ä"));
        assert!(TitleKey::of(" \n\u{200b}").is_err() && TitleKey::of("").is_err());
    }

    #[test]
    fn different_titles_never_share_a_file() {
        let mut seen: HashMap<String, String> = HashMap::new();
        let mut rng = heirloom_testkit::Rng::new(7);
        let letters =
            ["a", "A", "b", "-", " ", "_", "é", "日", "🙂", "/", "..", "x".repeat(60).as_str()].map(String::from);
        for _ in 0..10_000 {
            let title: String = (0..=rng.below(9)).map(|_| rng.pick(&letters).as_str()).collect();
            let Ok(key) = TitleKey::of(&title) else { continue };
            let name = key.file_name();
            assert!(name.len() <= 255 && !name.contains('/') && archived_name(&name).len() <= 255, "{name}");
            let known = seen.entry(name).or_insert_with(|| key.as_str().to_owned());
            assert_eq!(known, key.as_str());
        }
    }

    #[test]
    fn long_and_wordless_titles_have_names() {
        let long = "word ".repeat(60);
        assert_eq!(file(&long).len(), 255);
        assert!(file("🙂🙂").starts_with("item--"));
        let archived = archived_name(&file(&long));
        assert!(archived.len() <= 255);
        assert_eq!(short_of_file(&archived), TitleKey::of(&long).unwrap().short());
    }

    #[test]
    fn archives_keep_every_entry_and_the_id() {
        let name = file("Push rule");
        let (one, two) = (archived_name(&name), archived_name(&name));
        assert_ne!(one, two);
        assert_eq!((active_name(&one), active_name(&name)), (name.clone(), name.clone()));
        assert_eq!(short_of_file(&one), short_of_file(&name));
        assert_eq!(short_of_file("call-mum.md"), "call-mum");
        assert_eq!(short_of_file(&archived_name("call-mum.md")), "call-mum");
        assert!(short_of_file(&name).starts_with("push-rule-"));
    }

    #[test]
    fn what_is_kept_for_ever_has_no_words() {
        assert_eq!(wordless("m:push-rule-3f2a91"), "m:3f2a91");
        assert_eq!(wordless("m:zanzibar").len(), "m:123456".len());
        let (name, short) = keyed("Push rule", b"key");
        assert!(short.ends_with(wordless(&short).strip_prefix(':').unwrap()));
        let path = wordless_path(&format!("memory/preference/{name}"));
        assert!(path.starts_with("memory/preference/…--") && path.ends_with(".md"), "{path}");
        assert_eq!(wordless_path("memory/identity/zanzibar.md"), "memory/identity/…");
    }

    #[test]
    fn the_namespace_is_the_published_one() {
        assert_eq!(NAMESPACE.to_string(), "5f026ae9-551b-4d3e-a511-f0f2d74cf241");
        assert_eq!(file("Push rule"), format!("push-rule--{}.md", Uuid::new_v5(&NAMESPACE, b"push rule")));
    }
}
