//! Files read or changed by tools of any program. A failed call changed nothing. Shell commands are handled by `edits`.

use std::collections::HashMap;

use super::edits;
use crate::lineage::distillate::{Touch, TouchedFile};
use crate::scope::TurnId;
use crate::text::plain::plain;

/// The most files in a distillate; at most [`MOST_READ`] of them were only read.
const MOST: usize = 60;
const MOST_READ: usize = 25;
/// The most files remembered while reading.
const MOST_KNOWN: usize = 4000;
const LONGEST_PATH: usize = 300;
/// The most bytes of a patch that are read.
const LARGEST_PATCH: usize = 1024 * 1024;

/// What one call does to a file, if it succeeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    pub path: String,
    pub touch: Touch,
}

#[derive(Debug)]
struct Known {
    touch: Touch,
    turns: Vec<TurnId>,
    reads: usize,
    seq: usize,
}

/// The files so far.
#[derive(Debug)]
pub struct Files<'r> {
    root: Option<&'r str>,
    known: HashMap<String, Known>,
}

impl<'r> Files<'r> {
    pub fn new(root: Option<&'r str>) -> Files<'r> {
        Files { root: root.map(|r| r.trim_end_matches('/')).filter(|r| !r.is_empty()), known: HashMap::new() }
    }

    /// Adds what a successful call did.
    pub fn add(&mut self, deed: &Deed, turn: TurnId, seq: usize) {
        let Some(path) = self.shortened(&deed.path) else { return };
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&path) {
            // Files only read are dropped first, then those changed long ago; half at once.
            let mut ages: Vec<(bool, usize)> = self.known.values().map(|k| (k.touch != Touch::Read, k.seq)).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            self.known.retain(|_, k| (k.touch != Touch::Read, k.seq) > middle);
        }
        let known = self.known.entry(path).or_insert(Known { touch: deed.touch, turns: Vec::new(), reads: 0, seq });
        known.reads += usize::from(deed.touch == Touch::Read);
        if deed.touch != Touch::Read {
            if known.touch == Touch::Read {
                known.turns.clear();
            }
            // After a deletion or a new creation the last action counts, else the strongest.
            let again = known.touch == Touch::Deleted;
            known.touch = if again { deed.touch.max(Touch::Changed) } else { known.touch.max(deed.touch) };
        } else if known.touch != Touch::Read {
            return;
        }
        known.seq = seq;
        if known.turns.last() != Some(&turn) {
            known.turns.push(turn);
            if known.turns.len() > 4 {
                known.turns.remove(0);
            }
        }
    }

    /// The path relative to the project; `None` if it is not a path.
    fn shortened(&self, path: &str) -> Option<String> {
        let path = path.trim().trim_matches(['"', '\'', '`']);
        let path = path.strip_prefix("file://").unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        let path = match self.root.and_then(|r| path.strip_prefix(r)) {
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
            Some("") => return None,
            _ => path,
        };
        let odd = path.is_empty()
            || path.len() > LONGEST_PATH
            || path.contains('\n')
            || path.starts_with("/dev/")
            || path == "."
            || path == "..";
        let path = if odd { return None } else { plain(path) };
        let path = crate::redact::redact(&path).into_owned();
        (!path.is_empty()).then_some(path)
    }

    /// Read files first, then changed ones, each in the order of last use.
    pub fn into_list(self) -> Vec<TouchedFile> {
        let mut all: Vec<(String, Known)> = self.known.into_iter().collect();
        let temporary =
            |p: &str| p.starts_with("/tmp/") || p.starts_with("/private/tmp/") || p.starts_with("/var/folders/");
        all.retain(|(p, k)| k.touch != Touch::Read || !temporary(p));
        // Files read more often and later matter more, files outside the project less.
        all.sort_by_key(|(p, k)| {
            (k.touch == Touch::Read, temporary(p), p.starts_with('/'), std::cmp::Reverse((k.reads.min(3), k.seq)))
        });
        let changed = all.iter().filter(|(_, k)| k.touch != Touch::Read).count();
        if changed > MOST {
            all[..changed].sort_by_key(|(p, k)| (temporary(p), p.starts_with('/'), std::cmp::Reverse(k.seq)));
        }
        let reads = MOST_READ.min(MOST.saturating_sub(changed));
        all.truncate(changed.min(MOST) + reads);
        all.sort_by(|(p, a), (q, b)| ((a.touch != Touch::Read), a.seq, p).cmp(&((b.touch != Touch::Read), b.seq, q)));
        all.into_iter().map(|(path, k)| TouchedFile { path, touch: k.touch, turns: k.turns }).collect()
    }
}

/// A tool's name without the program's prefix and spelling: `mcp__fs__write_file` is `writefile`.
pub fn plain_tool(name: &str) -> String {
    let last = name.rsplit("__").next().unwrap_or(name);
    let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
    last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).take(40).collect()
}

/// What a call does to files if it succeeds.
pub fn deeds(tool: &str, input: &str) -> Vec<Deed> {
    let touch = match tool {
        "read" | "view" | "readfile" | "openfile" | "cat" | "notebookread" | "viewfile" | "readtextfile"
        | "viewimage" | "getfilecontents" => Touch::Read,
        "write"
        | "writefile"
        | "edit"
        | "multiedit"
        | "editfile"
        | "notebookedit"
        | "strreplace"
        | "strreplaceeditor"
        | "strreplacebasededittool"
        | "replace"
        | "insert"
        | "updatefile"
        | "filewrite"
        | "fileedit"
        | "searchreplace"
        | "insertedit"
        | "replaceinfile"
        | "writetofile"
        | "savefile"
        | "inserteditintofile"
        | "replacestringinfile"
        | "replacesymbolbody"
        | "insertaftersymbol"
        | "insertbeforesymbol"
        | "replaceregex"
        | "replacecontent"
        | "replacetextinfile"
        | "insertcontent"
        | "append"
        | "appendfile" => Touch::Changed,
        "createfile" | "create" | "newfile" | "createnewfile" | "createtextfile" => Touch::Created,
        "deletefile" | "removefile" | "delete" => Touch::Deleted,
        "applypatch" | "patch" | "applydiff" | "diff" => {
            let told = patch(input);
            let told = if told.is_empty() { edits::unified(input) } else { told };
            if told.is_empty() {
                return path_in(input)
                    .map(|p| Deed { path: p.to_owned(), touch: Touch::Changed })
                    .into_iter()
                    .collect();
            }
            return told;
        }
        "movefile" | "renamefile" | "move" | "rename" => {
            let of = |keys: [&str; 4]| keys.iter().find_map(|k| super::tasks::field(input, k)).map(str::to_owned);
            let from = of(["source", "old_path", "from", "oldPath"]);
            let to = of(["destination", "new_path", "to", "newPath"]);
            let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
            return vec![Deed { path: from, touch: Touch::Deleted }, Deed { path: to, touch: Touch::Created }];
        }
        "multireplacestringinfile" => {
            let paths = memchr::memmem::find_iter(input.as_bytes(), "\"filePath\":\"").take(500);
            let paths = paths.filter_map(|at| input.get(at + 12..)?.split('"').next());
            return paths.map(|p| Deed { path: p.to_owned(), touch: Touch::Changed }).collect();
        }
        _ => return edits::commands(input),
    };
    let (editor, input_head) = (matches!(tool, "strreplaceeditor" | "strreplacebasededittool"), input);
    let touch = match super::tasks::field(input_head, "command").filter(|_| editor) {
        Some("view") => Touch::Read,
        Some("create") => Touch::Created,
        _ => touch,
    };
    if input.contains("*** Begin Patch") {
        return patch(input);
    }
    path_in(input).map(|path| Deed { path: path.to_owned(), touch }).into_iter().collect()
}

/// The path among `key: value` lines: before the first long value, else the last line that has one.
fn path_in(input: &str) -> Option<&str> {
    const PATHS: [&str; 13] = [
        "file_path: ",
        "filePath: ",
        "path: ",
        "notebook_path: ",
        "file: ",
        "filename: ",
        "target_file: ",
        "absolute_path: ",
        "relative_path: ",
        "TargetFile: ",
        "AbsolutePath: ",
        "pathInProject: ",
        "uri: ",
    ];
    const LONG: [&str; 16] = [
        "old_string: ",
        "new_string: ",
        "content: ",
        "contents: ",
        "oldString: ",
        "newString: ",
        "old_str: ",
        "new_str: ",
        "file_text: ",
        "edits: ",
        "text: ",
        "new_source: ",
        "insert_text: ",
        "code: ",
        "diff: ",
        "patch: ",
    ];
    let path = |line: &'_ str| PATHS.iter().find_map(|k| line.strip_prefix(k).map(|v| line.len() - v.len()));
    let mut at = 0;
    for line in input.split('\n').take(40) {
        if let Some(from) = path(line) {
            return Some(line[from..].trim()).filter(|v| !v.is_empty());
        }
        if LONG.iter().any(|k| line.starts_with(k)) {
            // After a long value, whose lines may look like keys: the last one is the program's.
            return input[at..]
                .rsplit('\n')
                .take(20)
                .find_map(|l| path(l).map(|from| l[from..].trim()))
                .filter(|v| !v.is_empty());
        }
        at += line.len() + 1;
    }
    // The input may be just a path.
    let bare = input.trim();
    (bare.starts_with(['/', '~', '.']) && !bare.contains(char::is_whitespace)).then_some(bare)
}

/// `*** Update File: path` and similar lines.
pub fn patch(text: &str) -> Vec<Deed> {
    let mut found: Vec<Deed> = Vec::new();
    let mut end = text.len().min(LARGEST_PATCH);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let heads = [
        ("*** Update File: ", Touch::Changed),
        ("*** Add File: ", Touch::Created),
        ("*** Delete File: ", Touch::Deleted),
    ];
    for at in memchr::memmem::find_iter(text.as_bytes(), "*** ") {
        // Only at the beginning of a line: patched text is prefixed.
        if at > 0 && !matches!(text.as_bytes()[at - 1], b'\n' | b'"' | b'\'' | b' ') || found.len() >= 500 {
            continue;
        }
        let line = text[at..].split(['\n', '\r']).next().unwrap_or("");
        // In JSON a line ends with an escape.
        let line = line.split("\\n").next().unwrap_or(line);
        if let Some((head, touch)) = heads.iter().find(|(h, _)| line.starts_with(h)) {
            found.push(Deed { path: line[head.len()..].trim().to_owned(), touch: *touch });
        } else if let Some(to) = line.strip_prefix("*** Move to: ")
            && let Some(from) = found.last_mut()
        {
            from.touch = Touch::Deleted;
            found.push(Deed { path: to.trim().to_owned(), touch: Touch::Created });
        }
    }
    found
}

/// Adds what the result of a call reveals: that a file was created, and the files of a commit.
pub fn add_from_result(tool: &str, input: &str, result: &str, deeds: &mut Vec<Deed>) {
    let head = crate::text::plain::ends(result, 8 * 1024);
    if let [deed] = &mut deeds[..]
        && deed.touch == Touch::Changed
        && matches!(tool, "write" | "writefile" | "edit" | "filewrite" | "writetofile")
        && head.first().is_some_and(|h| h.get(..200.min(h.len())).unwrap_or(h).to_ascii_lowercase().contains("created"))
    {
        deed.touch = Touch::Created;
    }
    if !input.contains("git commit") {
        return;
    }
    for line in head.iter().flat_map(|p| p.lines()) {
        let line = line.trim();
        let mode = [("create mode ", Touch::Created), ("delete mode ", Touch::Deleted)]
            .iter()
            .find_map(|(h, t)| Some((line.strip_prefix(h)?, *t)));
        if let Some((path, touch)) = mode.and_then(|(rest, t)| Some((rest.split_once(' ')?.1, t))) {
            deeds.push(Deed { path: path.to_owned(), touch });
        }
        // `rename src/{old.rs => new.rs} (98%)`
        if let Some((from, to)) = line.strip_prefix("rename ").and_then(renamed) {
            deeds.push(Deed { path: from, touch: Touch::Deleted });
            deeds.push(Deed { path: to, touch: Touch::Created });
        }
    }
}

fn renamed(told: &str) -> Option<(String, String)> {
    let told = told.rsplit_once(" (").map_or(told, |(t, _)| t);
    let (head, inner, tail) = match (told.split_once('{'), told.rsplit_once('}')) {
        (Some((head, rest)), Some((_, tail))) => (head, rest.split_once('}')?.0, tail),
        _ => ("", told, ""),
    };
    let (from, to) = inner.split_once(" => ")?;
    let path = |part: &str| format!("{head}{part}{tail}").replace("//", "/");
    Some((path(from), path(to)))
}
