//! Tracks files read or changed by tools of any program. A failed call changed nothing. `edits` handles shell commands.

use std::collections::HashMap;

use super::{edits, input};
use crate::lineage::distillate::{Touch, TouchedFile};
use crate::scope::TurnId;
use crate::text::plain::plain;

/// Maximum number of files in a distillate; at most [`MOST_READ`] of them were only read.
const MOST: usize = 60;
const MOST_READ: usize = 25;
/// Maximum number of files remembered while reading.
const MOST_KNOWN: usize = 4000;
const LONGEST_PATH: usize = 300;
/// Maximum bytes of a patch that are read.
const LARGEST_PATCH: usize = 1024 * 1024;

/// The effect of one call on a file, if the call succeeds.
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
    /// Whether the file was created in this range.
    new: bool,
}

/// The files read or changed so far.
#[derive(Debug)]
pub struct Files<'r> {
    root: Option<&'r str>,
    known: HashMap<String, Known>,
    /// The folders in which commands ran, with the number of commands.
    folders: HashMap<String, usize>,
}

impl<'r> Files<'r> {
    pub fn new(root: Option<&'r str>) -> Files<'r> {
        Files {
            root: root.map(|r| r.trim_end_matches('/')).filter(|r| !r.is_empty()),
            known: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// Notes that a command changed to a folder. The folder can show where the project is, if the session began outside
    /// it.
    pub fn went(&mut self, folder: &str) {
        let parts = |p: &str| p.split('/').filter(|s| !s.is_empty()).count();
        if self.root.is_none_or(|r| parts(r) <= 2)
            && let Some(folder) = self.shortened(folder).filter(|f| parts(f) >= 2 && !is_apart(f))
            && (self.folders.len() < MOST_READ || self.folders.contains_key(&folder))
        {
            *self.folders.entry(folder).or_default() += 1;
        }
    }

    /// Returns the prefix to cut from paths: the folder of the project below the root, as far as commands and changes
    /// show it. If nothing tells the root, it is the folder around the one that all changed files share.
    pub fn base(&self) -> String {
        let inside = |f: &str, p: &str| p.strip_prefix(f).is_some_and(|r| r.starts_with('/'));
        let changed = self.known.iter().filter(|(p, k)| k.touch != Touch::Read && !is_apart(p)).map(|(p, _)| p);
        // If the root is unknown, only absolute paths show it.
        let changed: Vec<&String> = changed.filter(|p| self.root.is_some() || is_absolute(p)).collect();
        let fits = |f: &str| 2 * changed.iter().filter(|p| inside(f, p)).count() > changed.len();
        let best = self.folders.iter().filter(|(f, _)| fits(f)).max_by_key(|(f, n)| (**n, f.len(), (*f).clone()));
        best.map(|(f, _)| format!("{f}/"))
            .or_else(|| self.root.is_none().then(|| around(&changed))?)
            .unwrap_or_default()
    }

    /// Adds the effect of a successful call. Returns the file's path as it is listed, if it is a file of the project
    /// and was changed.
    pub fn add(&mut self, deed: &Deed, turn: TurnId, seq: usize) -> Option<String> {
        if deed.touch == Touch::Deleted && deed.path.ends_with('/') {
            self.folder_gone(&deed.path, turn, seq);
            return None;
        }
        let path = self.shortened(&deed.path)?;
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&path) {
            // If there are too many files, half are dropped: first those only read, then those changed longest ago.
            let mut ages: Vec<(bool, usize)> = self.known.values().map(|k| (k.touch != Touch::Read, k.seq)).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            self.known.retain(|_, k| (k.touch != Touch::Read, k.seq) > middle);
        }
        let known = self.known.entry(path.clone()).or_insert(Known {
            touch: deed.touch,
            turns: Vec::new(),
            reads: 0,
            seq,
            new: deed.touch == Touch::Created,
        });
        known.reads += usize::from(deed.touch == Touch::Read);
        if deed.touch != Touch::Read {
            if known.touch == Touch::Read {
                known.turns.clear();
            }
            // After a deletion the last action counts, else the strongest.
            let again = known.touch == Touch::Deleted;
            known.touch = if again { deed.touch.max(Touch::Changed) } else { known.touch.max(deed.touch) };
        } else if known.touch != Touch::Read {
            return None;
        }
        known.also(turn, seq);
        (deed.touch != Touch::Read && !is_apart(&path)).then_some(path)
    }

    /// Whether a file was created in this range and deleted again.
    pub fn is_gone(&self, path: &str) -> bool {
        self.known.get(path).is_none_or(|k| k.new && k.touch == Touch::Deleted)
    }

    /// Notes that a folder was removed: files created in it are gone, changed ones are deleted.
    fn folder_gone(&mut self, folder: &str, turn: TurnId, seq: usize) {
        let Some(folder) = self.shortened(folder.trim_end_matches('/')) else { return };
        let inside = |p: &str| p.strip_prefix(folder.as_str()).is_some_and(|r| r.starts_with('/'));
        self.known.retain(|p, k| !(inside(p) && k.new));
        for (_, known) in self.known.iter_mut().filter(|(p, k)| inside(p) && k.touch > Touch::Read) {
            known.touch = Touch::Deleted;
            known.also(turn, seq);
        }
    }

    /// Returns the path relative to the project; `None` if the text is not a path.
    pub fn shortened(&self, path: &str) -> Option<String> {
        let path = path.trim().trim_matches(['"', '\'', '`']);
        let path = path.strip_prefix("file://").unwrap_or(path);
        if path.contains('\\') && !path.contains('/') {
            return self.shortened(&path.replace("\\\\", "/").replace('\\', "/"));
        }
        let path = tidy(path);
        let path = match self.root.and_then(|r| path.strip_prefix(r)) {
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
            Some("") => return None,
            _ => &path,
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

    /// Returns the changed files and those only read, each in the order of last use.
    pub fn into_lists(mut self, base: &str) -> (Vec<TouchedFile>, Vec<TouchedFile>) {
        let gone = |p: &str, k: &Known| k.touch == Touch::Deleted && (k.new || edits::is_product(p));
        self.known.retain(|p, k| !is_apart(p) && !gone(p, k));
        self.join_names(base);
        let (mut read, mut changed): (Vec<_>, Vec<_>) =
            self.known.into_iter().partition(|(_, k)| k.touch == Touch::Read);
        // Files read more often and later are preferred; files outside the project come last.
        read.sort_by_key(|(p, k)| (p.starts_with('/'), std::cmp::Reverse((k.reads.min(3), k.seq))));
        changed.sort_by_key(|(p, k)| (p.starts_with('/'), std::cmp::Reverse(k.seq)));
        read.truncate(MOST_READ.min(MOST.saturating_sub(changed.len())));
        changed.truncate(MOST);
        let listed = |mut files: Vec<(String, Known)>| {
            files.sort_by(|(p, a), (q, b)| (a.seq, p).cmp(&(b.seq, q)));
            files.into_iter().map(|(path, k)| TouchedFile { path, touch: k.touch, turns: k.turns }).collect()
        };
        (listed(changed), listed(read))
    }

    /// Merges the entries of a file known under its full and under a short path, because there was no root or a base
    /// below it.
    fn join_names(&mut self, base: &str) {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut ends: HashMap<&str, usize> = HashMap::new();
        for path in self.known.keys() {
            if let Some(short) = path.strip_prefix(base).filter(|_| !base.is_empty()) {
                pairs.push((path.clone(), short.to_owned()));
            } else if is_whole(path) {
                let short = path.match_indices('/').skip(1).take(24).map(|(at, _)| &path[at + 1..]);
                if let Some(short) = short.into_iter().find(|s| self.known.contains_key(*s)) {
                    *ends.entry(short).or_default() += 1;
                    pairs.push((path.clone(), short.to_owned()));
                }
            }
        }
        // A short path that fits two files is ambiguous, so they are not merged.
        let ends: HashMap<String, usize> = ends.into_iter().map(|(s, n)| (s.to_owned(), n)).collect();
        pairs.retain(|(_, short)| ends.get(short).is_none_or(|n| *n == 1));
        pairs.sort();
        for (long, short) in pairs {
            let Some(long) = self.known.remove(&long) else { continue };
            match self.known.get_mut(&short) {
                None => drop(self.known.insert(short, long)),
                Some(known) => {
                    known.touch = known.touch.max(long.touch);
                    known.seq = known.seq.max(long.seq);
                    known.turns.extend(long.turns);
                    known.turns.sort();
                    known.turns.dedup();
                    let over = known.turns.len().saturating_sub(4);
                    known.turns.drain(..over);
                }
            }
        }
    }
}

impl Known {
    fn also(&mut self, turn: TurnId, seq: usize) {
        self.seq = seq;
        if self.turns.last() != Some(&turn) {
            self.turns.push(turn);
            if self.turns.len() > 4 {
                self.turns.remove(0);
            }
        }
    }
}

fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":/")
}

/// Returns a path without `./`, `//` and, where it is certain, `..`.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (i, part) in path.split('/').enumerate() {
        match part {
            "" if i > 0 => {}
            "." => {}
            ".." if parts.last().is_some_and(|p| !p.is_empty() && *p != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a file is outside the project: in a folder for temporary files, or among the program's own memory and plans.
pub fn is_apart(path: &str) -> bool {
    const TEMPORARY: [&str; 6] = ["/tmp/", "/private/tmp/", "/var/folders/", "/var/tmp/", "$TMPDIR/", "%TEMP%/"];
    let own = include_str!("own_folders.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    const NOTES: [&str; 6] = ["plans/", "memory/", "memories/", "todos/", "projects/", "tasks/"];
    if TEMPORARY.iter().any(|t| path.starts_with(t)) || path.contains("/AppData/Local/Temp/") {
        return true;
    }
    own.into_iter().any(|own| {
        let Some(at) = path.find(own).filter(|at| *at == 0 || path[..*at].ends_with('/')) else { return false };
        // Below a home folder everything in such a folder is the program's; in a project only its notes are.
        at > 0 && (is_whole(path) || path.starts_with('~'))
            || NOTES.iter().any(|n| path[at + own.len()..].starts_with(n))
    })
}

/// Plain names of tools that read, edit, create or only look.
const READS: &str =
    "read view readfile openfile cat notebookread viewfile readtextfile viewimage getfilecontents readmanyfiles";
const EDITS: &str = "write writefile edit multiedit editfile notebookedit editnotebook strreplace strreplaceeditor
    strreplacebasededittool replace insert updatefile filewrite fileedit searchreplace insertedit replaceinfile
    writetofile savefile inserteditintofile replacestringinfile replacesymbolbody insertaftersymbol insertbeforesymbol
    replaceregex replacecontent replacetextinfile insertcontent append appendfile codeedit proposecodeedit reapply";
const CREATES: &str = "createfile create newfile createnewfile createtextfile";

const LOOKS: &str = "grep glob ls list listdir listdirectory listfiles search searchfiles searchcode codebasesearch
    filesearch grepsearch findfiles websearch webfetch fetch fetchurl readurl readlints getdiagnostics toolsearch
    todoread todowrite updateplan taskget tasklist taskoutput bashoutput think askuserquestion viewimage";

/// Whether a tool only looks at something.
pub fn looks(tool: &str) -> bool {
    [READS, LOOKS].iter().any(|list| list.split_whitespace().any(|t| t == tool))
}

/// Returns the effects of a call on files, if the call succeeds.
pub fn deeds(tool: &str, input: &str) -> Vec<Deed> {
    let among = |list: &str| list.split_whitespace().any(|t| t == tool);
    let touch = match tool {
        _ if among(READS) => Touch::Read,
        _ if among(EDITS) => Touch::Changed,
        _ if among(CREATES) => Touch::Created,
        "deletefile" | "removefile" | "delete" => Touch::Deleted,
        "applypatch" | "patch" | "applydiff" | "diff" => {
            let told = patch(input);
            let told = if told.is_empty() { edits::unified(input) } else { told };
            if told.is_empty() {
                return input::path(input)
                    .map(|p| Deed { path: p.to_owned(), touch: Touch::Changed })
                    .into_iter()
                    .collect();
            }
            return told;
        }
        "movefile" | "renamefile" | "move" | "rename" => {
            let of = |keys: [&str; 4]| keys.iter().find_map(|k| super::input::field(input, k)).map(str::to_owned);
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
    let touch = match super::input::field(input_head, "command").filter(|_| editor) {
        Some("view") => Touch::Read,
        Some("create") => Touch::Created,
        _ => touch,
    };
    if input.contains("*** Begin Patch") {
        return patch(input);
    }
    input::path(input).map(|path| Deed { path: path.to_owned(), touch }).into_iter().collect()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') && path.as_bytes().get(2) == Some(&b'/')
}

/// Returns the folder around the one that these files share, with its slash; `None` if there are less than two, or if
/// they share no folder of a project.
fn around(files: &[&String]) -> Option<String> {
    // `/home/ana/shop`: fewer parts are nobody's project.
    const LEAST: usize = 3;
    let folder =
        |file: &str| file.rsplit_once('/').map_or(Vec::new(), |(f, _)| f.split('/').map(str::to_owned).collect());
    let [first, others @ ..] = files else { return None };
    if others.is_empty() || !files.iter().all(|f| is_absolute(f)) {
        return None;
    }
    let shared = others.iter().fold(folder(first), |mut shared: Vec<String>, file| {
        let same = shared.iter().zip(folder(file)).take_while(|(a, b)| *a == b).count();
        shared.truncate(same);
        shared
    });
    // The first part is empty or the name of a drive.
    let parts = (shared.len() - 1).max(LEAST + 1);
    (shared.len() > LEAST).then(|| format!("{}/", shared[..parts].join("/")))
}

/// Returns the files of a patch with lines like `*** Update File: path`.
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
        // The header must be at the beginning of a line or string, since patched text has a prefix.
        if at > 0 && !matches!(text.as_bytes()[at - 1], b'\n' | b'"' | b'\'' | b' ') || found.len() >= 500 {
            continue;
        }
        let line = text[at..].split(['\n', '\r']).next().unwrap_or("");
        // In JSON, a line ends with an escaped newline.
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

/// Adds the facts that only the result of a call shows: that a file was created, or which files a patch changed.
pub fn add_from_result(tool: &str, result: &str, deeds: &mut Vec<Deed>) {
    if deeds.is_empty() && matches!(tool, "applypatch" | "patch" | "applydiff") {
        deeds.extend(patched(result));
    }
    if let [deed] = &mut deeds[..]
        && deed.touch == Touch::Changed
        && matches!(tool, "write" | "writefile" | "edit" | "filewrite" | "writetofile")
        && result[..result.floor_char_boundary(200)].to_ascii_lowercase().contains("created")
    {
        deed.touch = Touch::Created;
    }
}

/// Returns the files a patch changed, as its tool reports them: `M src/lib.rs`, line by line.
fn patched(result: &str) -> Vec<Deed> {
    let Some((_, listed)) = result.split_once("Updated the following files:") else { return titled(result) };
    let lines = listed.lines().skip(1).map(|line| line.trim().split_once(' '));
    let deed = |(letter, path): (&str, &str)| {
        let touch = match letter {
            "A" => Touch::Created,
            "M" => Touch::Changed,
            "D" => Touch::Deleted,
            _ => return None,
        };
        Some(Deed { path: path.trim().to_owned(), touch })
    };
    lines.map_while(|line| line.and_then(deed)).collect()
}

/// Returns the files of a patch that an imported history shows in Markdown: ``**Update: `src/lib.rs`**`` above each
/// difference.
fn titled(text: &str) -> Vec<Deed> {
    let deed = |line: &str| {
        let (word, path) = line.trim().strip_prefix("**")?.split_once(": `")?;
        let touch = match word {
            "Add" | "Create" => Touch::Created,
            "Update" | "Edit" => Touch::Changed,
            "Delete" | "Remove" => Touch::Deleted,
            _ => return None,
        };
        Some(Deed { path: path.strip_suffix("`**")?.to_owned(), touch })
    };
    text.lines().filter_map(deed).take(500).collect()
}

/// Returns the files a commit renamed or deleted, as git reports it. Created files are left out, because a commit may
/// contain anybody's.
pub fn by_commit(result: &[&str]) -> Vec<Deed> {
    let mut deeds = Vec::new();
    for line in result.iter().flat_map(|p| p.lines()) {
        let line = line.trim();
        if let Some((_, path)) = line.strip_prefix("delete mode ").and_then(|rest| rest.split_once(' ')) {
            deeds.push(Deed { path: path.to_owned(), touch: Touch::Deleted });
        }
        // The form `rename src/{old.rs => new.rs} (98%)`
        if let Some((from, to)) = line.strip_prefix("rename ").and_then(renamed) {
            deeds.push(Deed { path: from, touch: Touch::Deleted });
            deeds.push(Deed { path: to, touch: Touch::Created });
        }
    }
    deeds
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
