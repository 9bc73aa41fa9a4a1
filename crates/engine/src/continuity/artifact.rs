//! Artifacts: results kept as dated files (R8.1). An artifact never replaces an earlier one, so a taken name gets `-2`,
//! `-3`.

use serde_json::{Map, Value};

use super::output::{Output, fenced, readable};
use super::{Change, FORMAT, Item, sound_title};
use crate::clock::{Millis, rfc3339};
use crate::document::{Document, Front};
use crate::error::{Error, Result};
use crate::home::{RelPath, layout};
use crate::pages::Happened;
use crate::redact::redact;
use crate::scope::slug;
use crate::title::wordless;
use crate::tree::TreeLock;
use crate::tree::journal::{Act, Step};
use crate::tree::provenance::Provenance;

/// The longest text in bytes: the file table does not accept larger files.
pub const LONGEST: usize = 4 << 20;

/// The longest title in characters, because it is shown in lists.
const LONGEST_TITLE: usize = 200;

/// The content of an artifact.
#[derive(Clone, Debug)]
pub enum Text {
    /// Markdown, unchanged; its own front matter is kept together with Heirloom's.
    Markdown(String),
    /// Any other text: complete, in a code fence.
    Plain(String),
    /// The output of a program: in a code fence, shortened in the middle.
    Output(Output),
}

/// An artifact to be kept.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    pub title: String,
    pub text: Text,
    pub source: Provenance,
    /// `note`, `job`, `draft`.
    pub kind: Option<String>,
    /// When the artifact was made; the file is named after this day.
    pub created: Millis,
    /// Additional front matter.
    pub fields: Map<String, Value>,
}

/// Keeps an artifact.
pub fn add(lock: &TreeLock, new: &NewArtifact) -> Result<Item> {
    let (plan, item) = plan_to_add(lock, new, Act::new("artifact.add"))?;
    lock.perform(plan.note("item", wordless(&item.id)), |_| Ok(()))?;
    Ok(item)
}

/// Adds the step that keeps an artifact to an act.
pub fn plan_to_add(lock: &TreeLock, new: &NewArtifact, plan: Act) -> Result<(Act, Item)> {
    // A title that comes from a file may be of any length, so it is cut instead of refused.
    let mut title = redact(&new.title.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    if let Some((at, _)) = title.char_indices().nth(LONGEST_TITLE) {
        title.truncate(at);
    }
    let title = sound_title(&title)?;
    if let Text::Markdown(text) | Text::Plain(text) = &new.text
        && text.len() > LONGEST
    {
        return Err(Error::refused(format!("the text is {} bytes long, and {LONGEST} are the most", text.len()))
            .hint("keep the file where it is, and say in an artifact what it is and where it lies"));
    }
    let path = free_name(lock, &title, new.created)?;
    let mut doc = written(&title, &new.text)?;
    doc.set("title", &title.as_str().into())?;
    doc.set("created", &rfc3339(new.created).into())?;
    if let Some(kind) = &new.kind {
        doc.set("kind", &kind.as_str().into())?;
    }
    doc.set("source", &new.source.to_value())?;
    for (key, value) in &new.fields {
        doc.set(key, value)?;
    }
    doc.set("format", &FORMAT.into())?;
    let id = format!("a:{}", crate::title::short_of_file(path.name()));
    let step = Step::Create { path: path.as_str().into(), text: String::from_utf8_lossy(doc.print()).into_owned() };
    Ok((plan.step(step).tells(&Happened::ArtifactChanged), Item { id, title, path, change: Change::New }))
}

/// Returns `YYYY/MM/YYYY-MM-DD-<slug>.md`, with the first suffix for which no file exists.
fn free_name(lock: &TreeLock, title: &str, created: Millis) -> Result<RelPath> {
    let bad = || Error::usage(format!("{created} ms is no time")).hint("give a time of this age");
    let day = lock.at.day_of(created).ok_or_else(bad)?;
    let stem = format!("{}/{day}-{}", day.strftime("%Y/%m"), slug(title).trim_end_matches('-'));
    let mut n = 1u32;
    loop {
        let end = if n == 1 { String::new() } else { format!("-{n}") };
        let path = layout::ARTIFACTS.join(&format!("{stem}{end}.md"))?;
        if lock.at.files.stat(&path)?.is_none() {
            return Ok(path);
        }
        n += 1;
    }
}

fn written(title: &str, text: &Text) -> Result<Document> {
    let mut doc = Document::new();
    let body = match text {
        Text::Markdown(text) => {
            let own = Document::parse(text.as_bytes().to_vec());
            match own.front() {
                Front::Sound if can_combine(&own) => return Ok(own),
                Front::Missing if own.heading().is_some() => return Ok(own),
                Front::Missing => format!("# {title}\n\n{text}"),
                // Front matter that is damaged, or sets keys reserved for Heirloom, is kept as text.
                _ => headed(title, &fenced(&readable(text.as_bytes()))),
            }
        }
        Text::Plain(text) => headed(title, &fenced(&readable(text.as_bytes()))),
        Text::Output(output) => headed(title, &output.to_markdown()),
    };
    // The body needs front matter above it, otherwise its first lines could be taken for front matter.
    doc.set("title", &title.into())?;
    doc.set_body(&body)?;
    Ok(doc)
}

fn headed(title: &str, body: &str) -> String {
    format!("# {title}\n\n{body}")
}

/// Whether the text's own front matter can be combined with Heirloom's: it can be edited line by line and has none of
/// the keys that identify an item.
fn can_combine(doc: &Document) -> bool {
    let ours = ["id", "flush", "source", "draft", "draft_digest", "job", "run"];
    ours.iter().all(|key| doc.get(key).is_none()) && doc.clone().set("format", &FORMAT.into()).is_ok()
}
