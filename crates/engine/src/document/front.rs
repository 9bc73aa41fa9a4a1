//! Finds and parses the front matter.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::lines::{lines, without_break};

/// Largest block in bytes that is read as front matter.
const LARGEST: usize = 64 * 1024;
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whether a file has front matter, and whether it can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Front {
    Missing,
    Sound,
    /// The fault and the line of the file it is on, for people.
    Damaged(String),
}

/// The front matter found at the beginning of a file.
pub(super) struct Found {
    pub front: Front,
    pub fields: Map<String, Value>,
    /// Range of the YAML between the two `---` lines; empty if there is none.
    pub yaml: Range<usize>,
    /// Position after the closing line, or of the beginning of the text if there is no front matter.
    pub behind: usize,
    /// Number of lines before `behind`.
    pub lines: usize,
}

pub(super) fn find(bytes: &[u8]) -> Found {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let none = |front| Found { front, fields: Map::new(), yaml: start..start, behind: start, lines: 0 };
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return none(Front::Damaged("line 1: the file is UTF-16; it has to be saved as UTF-8".into()));
    }
    let mut following = lines(bytes, start);
    let Some(opening) = following.next().filter(|l| bytes[l.clone()].trim_ascii_end() == b"---") else {
        return none(Front::Missing);
    };
    let closing = following.enumerate().find(|(_, line)| closes(&bytes[line.clone()]));
    let Some((between, closing)) = closing else {
        return none(Front::Damaged("line 1: the front matter is not closed by a line ---".into()));
    };
    let yaml = opening.end..closing.start;
    let (front, fields) = match read_bytes(&bytes[yaml.clone()]) {
        Ok(fields) => (Front::Sound, fields),
        // The YAML reader does not see the opening line, so 1 is added.
        Err((line, what)) => (Front::Damaged(format!("line {}: {what}", line + 1)), Map::new()),
    };
    Found { front, fields, yaml, behind: closing.end, lines: between + 2 }
}

/// Whether a line ends front matter.
pub(super) fn closes(line: &[u8]) -> bool {
    matches!(line.trim_ascii_end(), b"---" | b"...")
}

fn read_bytes(bytes: &[u8]) -> Result<Map<String, Value>, (usize, String)> {
    if bytes.len() > LARGEST {
        return Err((0, "the front matter is larger than 64 KiB".into()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text),
        Err(e) => {
            let line = memchr::memchr_iter(b'\n', &bytes[..e.valid_up_to()]).count() + 1;
            Err((line, "the front matter is not valid UTF-8".into()))
        }
    }
}

/// Returns the mapping in a YAML text, or the line of the error and its description.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, (usize, String)> {
    let options = serde_saphyr::options! {
        // Hand-written front matter is far below all of these limits; aliases cannot expand beyond them.
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 255,
            max_events: 50_000,
            max_nodes: 20_000,
            max_documents: 2,
            max_aliases: 64,
            max_anchors: 64,
            max_recorded_anchor_events: 20_000,
            max_recorded_anchor_bytes: 1 << 20,
            max_total_scalar_bytes: 1 << 20,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000,
            max_replay_stack_depth: 8,
        },
        merge_keys: serde_saphyr::MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Tree>(text, options) {
        Ok(Tree(Value::Object(fields))) => Ok(fields),
        Ok(Tree(Value::Null)) if text.lines().all(is_blank_or_comment) => Ok(Map::new()),
        Ok(_) => Err((1, "the front matter is not a list of `key: value` lines".into())),
        Err(e) => {
            let line = e.location().map_or(1, |l| usize::try_from(l.line()).unwrap_or(1));
            Err((line, in_words(&e)))
        }
    }
}

/// Whether a line is blank or a comment.
pub(super) fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_ascii_start();
    line.is_empty() || line.starts_with('#')
}

fn in_words(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::{Error as E, MessageFormatter, UserMessageFormatter};
    match error.without_snippet() {
        E::DuplicateMappingKey { key: Some(key), .. } => format!("the key `{}` stands there twice", key.escape_debug()),
        E::DuplicateMappingKey { .. } => "a key stands there twice".into(),
        E::MultipleDocuments { .. } => "there is more than one YAML document".into(),
        E::Budget { .. } | E::AliasReplayLimitExceeded { .. } | E::AliasReplayStackDepthExceeded { .. } => {
            "the front matter is nested or repeats itself beyond reason".into()
        }
        E::AliasError { error, .. } => in_words(error),
        other => {
            let message = UserMessageFormatter.format_message(other);
            message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
        }
    }
}

/// A value whose keys are all strings. `serde_json` would read `1: x` as `"1": x` and let the last of two equal keys
/// win.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Tree, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Map::new();
        while let Some(Tree(key)) = entries.next_key()? {
            let Value::String(key) = key else {
                return Err(A::Error::custom(format!("a key is not text: {key} (quotes make it text)")));
            };
            let Tree(value) = entries.next_value()?;
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("a key stands there twice"));
            }
        }
        Ok(Tree(map.into()))
    }
}

/// A top-level `key:` line and the lines that belong to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Owned {
    pub key: String,
    /// Range from the beginning of the key line to the end of the last line that belongs to it. Blank lines and
    /// comments at column 0 before the next key belong to the next key.
    pub lines: Range<usize>,
    /// Position after the colon.
    pub colon: usize,
}

/// Returns the top-level keys of a YAML text in order, found by their form. Callers must compare them with the keys
/// that the YAML reader found.
pub(super) fn keys(yaml: &str) -> Vec<Owned> {
    let mut found: Vec<Owned> = Vec::new();
    for line in lines(yaml.as_bytes(), 0) {
        let text = &yaml[line.start..line.start + without_break(&yaml.as_bytes()[line.clone()]).len()];
        if let Some((key, colon)) = key_of(text) {
            found.push(Owned { key, colon: line.start + colon, lines: line });
        } else if let Some(last) = found.last_mut()
            && !text.trim_ascii().is_empty()
            && !text.starts_with('#')
        {
            last.lines.end = line.end;
        }
    }
    found
}

/// Returns the key at the beginning of a line, and the position after its colon.
fn key_of(line: &str) -> Option<(String, usize)> {
    let bytes = line.as_bytes();
    let colon_ends = |at: usize| {
        let rest = bytes.get(at..)?;
        let spaces = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let colon = rest.get(spaces) == Some(&b':') && matches!(rest.get(spaces + 1), None | Some(b' ' | b'\t'));
        colon.then_some(at + spaces + 1)
    };
    match *bytes.first()? {
        quote @ (b'"' | b'\'') => {
            let mut at = 1;
            while *bytes.get(at)? != quote || (quote == b'\'' && bytes.get(at + 1) == Some(&quote)) {
                // An escaped quote (`\"` or `''`) is two bytes long.
                at += if bytes[at] == quote || (quote == b'"' && bytes[at] == b'\\') { 2 } else { 1 };
            }
            let colon = colon_ends(at + 1)?;
            let key = read(&format!("{}: 0", &line[..=at])).ok()?.into_iter().next()?.0;
            Some((key, colon))
        }
        b' ' | b'\t' | b'#' | b'[' | b']' | b'{' | b'}' | b',' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@'
        | b'`' => None,
        b'-' | b'?' if matches!(bytes.get(1), None | Some(b' ' | b'\t')) => None,
        _ => {
            let colon =
                memchr::memchr_iter(b':', bytes).find(|at| matches!(bytes.get(at + 1), None | Some(b' ' | b'\t')))?;
            Some((line[..colon].trim_ascii_end().to_owned(), colon + 1))
        }
    }
}
