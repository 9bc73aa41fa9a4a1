//! Forgotten words as they stand in slugs: names of files, ids of projects, keys of threads. A slug has other letters
//! than its words: small ones, and none with an accent.

use std::ops::Range;

use crate::scope::slug;

/// Fewest bytes of a slug that is searched for; a shorter one would match too many other words.
const LEAST: usize = 3;

/// Slugs of forgotten words.
#[derive(Clone, Default, Debug)]
pub(super) struct Slugs(Vec<String>);

impl Slugs {
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Slugs {
        let named = |word: &str| word.chars().any(|c| c.is_ascii_alphanumeric());
        let mut all: Vec<String> = words.into_iter().filter(|word| named(word)).map(slug).collect();
        all.retain(|slug| slug.len() >= LEAST);
        Slugs(all)
    }

    pub fn are_in(&self, text: &str) -> bool {
        !self.stretches(text).is_empty()
    }

    /// Returns where the slugs stand in a text as whole words of a slug.
    pub fn stretches(&self, text: &str) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        if self.0.is_empty() || !text.contains(['-', '/']) {
            return all;
        }
        let lower = text.to_ascii_lowercase();
        for slug in &self.0 {
            let found = lower.match_indices(slug.as_str()).map(|(at, slug)| at..at + slug.len());
            all.extend(found.filter(|at| is_whole(text, at) && is_in_slug(text, at)));
        }
        all
    }
}

fn is_whole(text: &str, at: &Range<usize>) -> bool {
    !text[..at.start].ends_with(char::is_alphanumeric) && !text[at.end..].starts_with(char::is_alphanumeric)
}

/// Whether a stretch is in a slug: the name of a file or an id, which ends in a digest (`roof--3f2a…`), the key of a
/// thread (`topic/roof`), or a folder some program named after another (`-home-me-roof`).
fn is_in_slug(text: &str, at: &Range<usize>) -> bool {
    let ends = |c: char| c == '/' || c == ':' || c.is_whitespace() || "\"'`()[]{}<>,;".contains(c);
    let start =
        text[..at.start].rfind(ends).map_or(0, |end| end + text[end..].chars().next().map_or(1, char::len_utf8));
    let end = text[at.end..].find(ends).map_or(text.len(), |end| at.end + end);
    let (name, before) = (&text[start..end], &text[..start]);
    if name.starts_with('-') && before.ends_with('/') {
        return true;
    }
    let slug = name.split('.').next().unwrap_or_default();
    let plain = slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let digest = |tail: &str| matches!(tail.len(), 16 | 36) && tail.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let key = ["topic/", "lane/"]
        .iter()
        .any(|kind| before.strip_suffix(kind).is_some_and(|b| b.is_empty() || b.ends_with('/')));
    plain && at.end <= start + slug.len() && (key || slug.match_indices("--").any(|(at, _)| digest(&slug[at + 2..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_slugs_and_nowhere_else() {
        let slugs = Slugs::of(["Roof", "\u{c9}lodie Quux", "ab", "\u{e4}"]);
        let hex = "3f2a9c1e0b7d4e55";
        let uuid = "7f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";
        for (text, found) in [
            ("topic/roof", 1),
            ("topic/the-roof-of-lodie-quux", 2),
            ("x/lane/roof", 1),
            (&format!("the-roof--{hex}"), 1),
            (&format!("threads/roof--{hex}.md, see"), 1),
            (&format!("roof--{uuid}--{uuid}.md"), 1),
            ("/home/me/.x/projects/-home-me-Roof-api/s.jsonl", 1),
            ("the roof and/or a roof-top", 0),
            ("topic/roofer", 0),
            ("a-topic/roof", 0),
            (&format!("Roof--{hex}"), 0),
            (&format!("roofs--{hex} roof"), 0),
            ("topic/ab", 0),
        ] {
            assert_eq!(slugs.stretches(text).len(), found, "{text}");
        }
        assert!(Slugs::of(["\u{65e5}\u{672c}"]).stretches("topic/item").is_empty());
    }
}
