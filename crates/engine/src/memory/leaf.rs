//! One memory ("leaf"): reading its file, and writing a new one (R9.2).

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use super::class::Class;
use super::staleness::moment;
use super::{FORMAT, LARGEST_TEXT, Scope};
use crate::clock::{Millis, rfc3339};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::home::RelPath;
use crate::redact::redact;
use crate::title::{self, TitleKey};
use crate::tree::AssistantHome;
use crate::tree::file_table::{Entry, Kind};
use crate::tree::provenance::{Origin, Provenance};

/// A memory to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct NewLeaf {
    /// Title; if it is missing, the text's first sentence is the title.
    pub title: Option<String>,
    pub text: String,
    pub class: Class,
    pub scope: Scope,
    pub tags: Vec<String>,
    /// Subject of the memory: another text with the same subject supersedes this one. A given title is a subject as
    /// well.
    pub subject: Option<String>,
    pub confidence: Option<f64>,
    pub source: Provenance,
    /// When the fact was observed; `None` means now.
    pub observed: Option<Millis>,
    /// Whether the memory counts as verified now.
    pub verified: bool,
    /// Whether a person has confirmed exactly this text, whatever its origin.
    pub confirmed: bool,
}

impl NewLeaf {
    pub fn new(class: Class, scope: Scope, text: impl Into<String>) -> NewLeaf {
        NewLeaf {
            title: None,
            text: text.into(),
            class,
            scope,
            tags: Vec::new(),
            subject: None,
            confidence: None,
            source: Provenance::default(),
            observed: None,
            verified: false,
            confirmed: false,
        }
    }

    /// Whether a person, and not a program, stated or confirmed the memory.
    pub(super) fn by_person(&self) -> bool {
        self.confirmed || matches!(self.source.origin, Origin::User | Origin::Hand)
    }
}

/// Largest length of a given title, in characters; a derived title is shorter.
const LONGEST_TITLE: usize = 300;
const LONGEST_DERIVED: usize = 80;
const LONGEST_SUMMARY: usize = 120;
const LONGEST_TAG: usize = 60;
const MOST_TAGS: usize = 32;

/// A new memory after checking, in the form it is written in.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CheckedLeaf {
    pub title: String,
    pub given: bool,
    pub text: String,
    pub subject: Option<String>,
    pub tags: Vec<String>,
}

/// Checks a new memory. Every error is reported before anything is written.
pub(super) fn checked(new: &NewLeaf) -> Result<CheckedLeaf> {
    let text = sound_text(&new.text)?;
    let (title, given) = match new.title.as_deref().map(one_line).filter(|t| !t.is_empty()) {
        Some(title) if title.chars().count() > LONGEST_TITLE => {
            return Err(Error::usage(format!("the title is longer than {LONGEST_TITLE} characters"))
                .hint("say in a few words what it is about; the text holds the rest"));
        }
        Some(title) => (redact(&title).into_owned(), true),
        None => (derived_title(&text), false),
    };
    TitleKey::of(&title)?;
    let subject = match new.subject.as_deref().map(str::trim).filter(|s| !s.is_empty()) {
        Some(subject) => Some(TitleKey::of(&redact(subject))?.as_str().to_owned()),
        None => subject_of(&title, given, &text)?,
    };
    if let Some(confidence) = new.confidence
        && !(0.0..=1.0).contains(&confidence)
    {
        return Err(Error::usage(format!("{confidence} is no confidence")).hint("give a number from 0 to 1"));
    }
    Ok(CheckedLeaf { title, given, text, subject, tags: sound_tags(&new.tags)? })
}

/// Returns a text in the form in which it is written to the file, or the reason to refuse it.
pub(super) fn sound_text(text: &str) -> Result<String> {
    if text.len() > LARGEST_TEXT {
        let most = LARGEST_TEXT >> 10;
        return Err(Error::refused(format!("the text is longer than {most} KiB, which is the most a memory holds"))
            .hint("keep it as a file and remember where it stands and what for"));
    }
    let text = text.replace("\r\n", "\n").replace('\0', "");
    let text = redact(text.trim()).into_owned();
    TitleKey::of(&text).map_err(|_| Error::usage("there is nothing to remember in an empty text").hint("say what"))?;
    Ok(text)
}

/// Refuses a text that cannot be remembered.
pub fn check_text(text: &str) -> Result<()> {
    sound_text(text).map(drop)
}

pub(super) fn sound_tags(tags: &[String]) -> Result<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    for tag in tags.iter().map(|t| redact(&one_line(t)).into_owned()).filter(|t| !t.is_empty()) {
        if tag.chars().count() > LONGEST_TAG {
            return Err(Error::usage(format!("a tag is longer than {LONGEST_TAG} characters")));
        }
        if !out.contains(&tag) {
            out.push(tag);
        }
    }
    if out.len() > MOST_TAGS {
        return Err(Error::usage(format!("a memory has at most {MOST_TAGS} tags")));
    }
    Ok(out)
}

/// Returns the subject a title implies: a given title is the subject; a derived title is one only if it is the whole
/// text.
pub(super) fn subject_of(title: &str, given: bool, text: &str) -> Result<Option<String>> {
    let key = TitleKey::of(title)?;
    Ok((given || key.as_str() == lowered(text)).then(|| key.as_str().to_owned()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a text, on one line, cut between words.
pub fn derived_title(text: &str) -> String {
    sentence(text, LONGEST_DERIVED)
}

/// Returns the summary shown in lists, for a memory whose text says more than its title.
pub(super) fn summary_of(title: &str, text: &str) -> Option<String> {
    (lowered(title) != lowered(text)).then(|| sentence(text, LONGEST_SUMMARY))
}

/// Short words with a full stop that does not end a sentence.
const ABBREVIATIONS: [&str; 7] = ["Dr.", "Mr.", "Ms.", "St.", "vs.", "No.", "cf."];

fn sentence(text: &str, most: usize) -> String {
    let line =
        text.lines().map(|l| l.trim_start_matches(['#', '-', '*', '>', ' ', '\t'])).find(|l| !l.trim().is_empty());
    let line = one_line(line.unwrap_or(text));
    let ends = |at: &usize| {
        let (head, rest) = line.split_at(*at);
        let word = head.rsplit(' ').next().unwrap_or_default();
        // "e.g. This", "Dr. No" and "v1. 2" do not end a sentence.
        let short = word.len() < 3 || word[..word.len() - 1].contains('.') || ABBREVIATIONS.contains(&word);
        let next = rest.strip_prefix(' ').and_then(|r| r.chars().next());
        !short && next.is_some_and(|c| !c.is_lowercase() && !c.is_ascii_digit())
    };
    let mut stops = line.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?')).map(|(at, c)| at + c.len_utf8());
    let first = stops.find(ends).map_or(line.as_str(), |at| &line[..at]);
    let first = if first.len() < line.len() { first.trim_end_matches('.') } else { first };
    if first.chars().count() <= most {
        return first.to_owned();
    }
    let cut: String = first.chars().take(most - 1).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| if head.len() > most / 2 { head } else { &cut });
    format!("{}…", cut.trim_end())
}

/// Returns a text in the form in which two texts are compared: spacing, the case of the first letter and a final full
/// stop do not matter.
pub(super) fn comparable(text: &str) -> String {
    let text = normal(text);
    let text = text.strip_suffix('.').filter(|t| !t.ends_with('.')).unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Composes letters and reduces white space to single spaces.
fn normal(text: &str) -> String {
    text.nfc().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text in the form in which it is compared with titles and with forgotten texts: case does not matter
/// either.
pub(super) fn lowered(text: &str) -> String {
    TitleKey::of(text).map(|k| k.as_str().to_owned()).unwrap_or_default()
}

/// Returns the file name and the id of a memory with this content. `again`: number of existing files with that name and
/// other content.
pub(super) fn name(class: Class, scope: &Scope, title: &str, text: &str, again: usize) -> (String, String) {
    let mut key = format!("{class}\0{scope}\0{}\0{}", lowered(title), comparable(text));
    if again > 0 {
        key.push_str(&format!("\0{again}"));
    }
    let (name, short) = title::keyed(title, key.as_bytes());
    (name, format!("m:{short}"))
}

/// Makes the document of a new memory.
pub(super) fn document(new: &NewLeaf, checked: &CheckedLeaf, id: &str, now: Millis) -> Result<Document> {
    let class = new.class;
    let mut staleness = json!({"policy": class.policy().name()});
    if let Some(days) = class.stale_days() {
        staleness["after"] = json!(format!("{days}d"));
    }
    let observed = new.observed.unwrap_or(now);
    let fields: Vec<(&str, Option<Value>)> = vec![
        ("id", Some(id.into())),
        ("class", Some(class.name().into())),
        ("scope", Some(new.scope.to_string().into())),
        ("title", Some(checked.title.as_str().into())),
        ("summary", summary_of(&checked.title, &checked.text).map(Value::from)),
        ("tags", (!checked.tags.is_empty()).then(|| json!(checked.tags))),
        ("subject", checked.subject.as_deref().map(Value::from)),
        ("verification", Some(class.verification().name().into())),
        ("staleness", Some(staleness)),
        ("observed", Some(rfc3339(observed).into())),
        ("verified", new.verified.then(|| rfc3339(now).into())),
        ("confidence", Some(new.confidence.unwrap_or_else(|| new.source.origin.confidence()).into())),
        ("source", Some(new.source.to_value())),
        ("format", Some(FORMAT.into())),
    ];
    let mut doc = Document::new();
    for (key, value) in fields {
        if let Some(value) = value {
            doc.set(key, &value)?;
        }
    }
    doc.set_body(&body(&checked.title, &checked.text))?;
    Ok(doc)
}

/// Returns the body of a memory's file; a text equal to its title is written only once.
pub(super) fn body(title: &str, text: &str) -> String {
    if normal(title) == normal(text) { format!("# {title}\n") } else { format!("# {title}\n\n{text}\n") }
}

/// Returns the text of a file without its heading, or the heading if the file has nothing else.
pub fn text_of(doc: &Document) -> String {
    let body = doc.body();
    let body = body.trim();
    let rest = match body.split_once('\n') {
        Some((first, rest)) if is_heading(first) => rest,
        None if is_heading(body) => "",
        _ => body,
    };
    match rest.trim() {
        "" => doc.heading().unwrap_or_default(),
        text => text.to_owned(),
    }
}

fn is_heading(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with("#\t")
}

/// Reads and parses the file of a memory.
pub fn read(at: &AssistantHome, path: &RelPath) -> Result<Document> {
    let found = at.files.read_with_stamp(path, crate::tree::LARGEST_FILE)?;
    let (bytes, _) = found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(path))))?;
    Ok(Document::parse(bytes))
}

/// Returns the class of a memory, which its path implies.
pub fn class_of(entry: &Entry) -> Option<Class> {
    (entry.kind == Kind::Leaf).then(|| Class::parse(entry.class.as_deref()?).ok()).flatten()
}

/// Returns the scope of a memory, which its path implies.
pub fn scope_of(entry: &Entry) -> Scope {
    match entry.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")) {
        Some(id) => Scope::Workspace(id.to_owned()),
        None => Scope::Agent,
    }
}

/// Returns the time of observation in the memory's front matter.
pub fn observed_of(entry: &Entry) -> Option<Millis> {
    entry.field("observed").and_then(moment)
}

/// Whether a person has pinned the memory.
pub fn is_pinned(entry: &Entry) -> bool {
    entry.fields.get("pinned") == Some(&true.into())
}

/// Returns the id of the memory that supersedes this one; `None` unless its status says `superseded`.
pub fn superseded_by(entry: &Entry) -> Option<&str> {
    entry.field("superseded_by").filter(|_| entry.status.as_deref() == Some("superseded"))
}

/// Front matter key with the ids of memories that hold beside this one although they seem to contradict it.
pub const BESIDE: &str = "beside";

/// Returns the ids of the memories that a person declared to hold beside this one.
pub fn beside_ids(entry: &Entry) -> Vec<String> {
    let list = entry.fields.get(BESIDE).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

/// Returns the ids of the memories this one supersedes.
pub fn superseded_ids(entry: &Entry) -> Vec<String> {
    match entry.fields.get("supersedes") {
        Some(Value::String(id)) => vec![id.clone()],
        Some(Value::Array(ids)) => ids.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_first_sentences() {
        for (text, title) in [
            ("I prefer tabs", "I prefer tabs"),
            ("I prefer tabs.", "I prefer tabs."),
            ("Deploy with just. Then wait.", "Deploy with just"),
            ("Use e.g. This one. Or that.", "Use e.g. This one"),
            ("No push without ci. It costs.", "No push without ci"),
            ("Ask Dr. No. Or not.", "Ask Dr. No. Or not."),
            ("v1. 2 comes next", "v1. 2 comes next"),
            ("- a list item\n- another", "a list item"),
            ("# Heading\n\nmore", "Heading"),
            ("🙂", "🙂"),
            ("Why? Because.", "Why?"),
        ] {
            assert_eq!(derived_title(text), title);
        }
        let long = derived_title(&"word ".repeat(60));
        assert!(long.chars().count() <= LONGEST_DERIVED && long.ends_with("word…"), "{long}");
        assert_eq!(derived_title(&"日".repeat(200)).chars().count(), LONGEST_DERIVED);
    }

    #[test]
    fn names_follow_content() {
        let of = |title: &str, text: &str| name(Class::Fact, &Scope::Workspace("w".into()), title, text, 0);
        assert_eq!(of("A title", "the  text\n"), of("a TITLE", " the text"));
        assert_eq!(of("A title", "the text"), of("A title", "The text."));
        assert_ne!(of("A title", "the text").0, of("A title", "the Text").0);
        assert_ne!(of("A", "t"), name(Class::Fact, &Scope::Workspace("v".into()), "A", "t", 0));
        assert_ne!(of("A", "t"), name(Class::Fact, &Scope::Workspace("w".into()), "A", "t", 1));
        let (file, id) = of(&"🙂".repeat(70), "t");
        assert!(file.starts_with("item--") && id.starts_with("m:item-"), "{file} {id}");
    }

    #[test]
    fn what_a_body_says_is_read_back() {
        for (title, text) in
            [("T", "some text"), ("All of it", "All of it"), ("T", "# not the heading\n\nx"), ("T", "- a\n- b")]
        {
            let mut doc = Document::new();
            doc.set_body(&body(title, text)).unwrap();
            assert_eq!(text_of(&doc), text);
        }
        assert_eq!(text_of(&Document::parse("no heading at all\n")), "no heading at all");
        assert_eq!(text_of(&Document::parse("# Only\n")), "Only");
    }
}
