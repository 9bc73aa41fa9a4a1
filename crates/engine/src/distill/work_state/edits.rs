//! Finds file changes made by shell commands: redirections, moves, in-place edits, patches, and small scripts that
//! write files by literal names. Only certain changes count: a path with a variable is resolved or left out.

use std::collections::HashMap;

use super::files::{Deed, patch};
use super::input::field;
use super::shell::{self, Arg, Simple};
use crate::lineage::distillate::Touch;

/// Maximum number of values of a variable, and of files of one command.
const MOST: usize = 40;
/// Maximum bytes of a script or patch that are read.
const LARGEST: usize = 256 * 1024;

/// Returns the certain file changes of a shell command.
pub fn commands(input: &str) -> Vec<Deed> {
    deeds(input, true)
}

/// Returns the certain file changes of a script that failed, except those of its last command, which changed nothing.
pub fn commands_before_last(input: &str) -> Vec<Deed> {
    deeds(input, false)
}

fn deeds(input: &str, whole: bool) -> Vec<Deed> {
    let Some(command) = shell::command_in(input).or_else(|| input.starts_with("[\"").then_some(input)) else {
        return if input.starts_with("*** Begin Patch") { patch(input) } else { Vec::new() };
    };
    let script = shell::script(command);
    let mut folder: Option<String> = ["workdir", "cwd"].iter().find_map(|k| field(input, k)).map(str::to_owned);
    if script.contains("*** Begin Patch") {
        if !whole {
            return Vec::new();
        }
        let mut deeds = patch(&script);
        if let Some(folder) = folder {
            deeds.iter_mut().filter(|d| !d.path.starts_with('/')).for_each(|d| d.path = format!("{folder}/{}", d.path));
        }
        return deeds;
    }
    let mut found = Vec::new();
    let mut values: HashMap<String, Vec<String>> = HashMap::new();
    let mut simples = shell::parse(&script);
    if !whole {
        simples.pop();
    }
    for simple in simples {
        learn(&simple, &mut values);
        if matches!(simple.program(), "cd" | "pushd") {
            folder = match simple.operands().next() {
                Some(to) if to.certain && to.text.starts_with('/') => Some(to.text.trim_end_matches('/').to_owned()),
                Some(to) if to.certain && !to.text.starts_with('~') => Some(match &folder {
                    Some(f) => format!("{f}/{}", to.text.trim_end_matches('/')),
                    None => to.text.trim_end_matches('/').to_owned(),
                }),
                _ => Some("?".to_owned()),
            };
            continue;
        }
        for simple in instances(simple, &values) {
            let mut deeds = Vec::new();
            simple_deeds(&simple, &mut deeds);
            for mut deed in deeds {
                let relative = !deed.path.starts_with(['/', '~']);
                match &folder {
                    Some(f) if relative && (f == "?" || f.contains("..")) => continue,
                    Some(f) if relative => deed.path = format!("{f}/{}", deed.path),
                    _ => {}
                }
                found.push(deed);
            }
        }
    }
    found
}

/// Remembers the values of variables: `F=src/a.rs`, `for f in a.rs b.rs`.
fn learn(simple: &Simple, values: &mut HashMap<String, Vec<String>>) {
    for (name, value) in &simple.sets {
        if value.certain && values.len() < MOST {
            values.insert(name.clone(), vec![value.text.clone()]);
        } else {
            values.remove(name);
        }
    }
    let words: Vec<&Arg> = simple.args.iter().collect();
    if let [head, name, within, of @ ..] = &words[..]
        && head.text == "for"
        && within.text == "in"
    {
        values.remove(&name.text);
        if of.len() <= MOST && of.iter().all(|a| a.certain) {
            values.insert(name.text.clone(), of.iter().map(|a| a.text.clone()).collect());
        }
    }
}

/// Returns the command once for each value of the variable it contains.
fn instances(simple: Simple, values: &HashMap<String, Vec<String>>) -> Vec<Simple> {
    let all = |s: &Simple| s.args.iter().chain(&s.outputs).filter(|a| !a.certain).cloned().collect::<Vec<_>>();
    let uncertain = all(&simple);
    let marks = |name: &str| [format!("${{{name}}}"), format!("${name}")];
    let named =
        values.iter().find(|(name, _)| uncertain.iter().any(|a| marks(name).iter().any(|m| a.text.contains(m))));
    let Some((name, of)) = named else { return vec![simple] };
    let put = |arg: &mut Arg, value: &str| {
        if arg.certain {
            return;
        }
        for mark in marks(name) {
            // `$FILES` does not contain the variable `$FILE`.
            if let Some(at) = arg.text.find(&mark)
                && !arg.text[at + mark.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            {
                arg.text = arg.text.replacen(&mark, value, 1);
            }
        }
        arg.certain = !arg.text.contains(['$', '*', '?', '`', '[', '{']);
    };
    let made = of.iter().map(|value| {
        let mut one = simple.clone();
        one.args.iter_mut().chain(&mut one.outputs).for_each(|a| put(a, value));
        one
    });
    made.collect()
}

fn plain(arg: &Arg) -> bool {
    arg.certain && !arg.text.is_empty() && !arg.text.ends_with('/') && arg.text != "." && !arg.text.contains('\n')
}

fn simple_deeds(simple: &Simple, found: &mut Vec<Deed>) {
    let mut did = |path: &str, touch: Touch| {
        if found.len() < 4 * MOST {
            found.push(Deed { path: path.to_owned(), touch });
        }
    };
    // A file that a program prints into a data folder is its product; a file that `cat` or `echo` writes there is
    // intended.
    let authored = matches!(simple.program(), "" | "cat" | "echo" | "printf" | "tee");
    let made = |a: &&Arg| plain(a) && (authored || !is_product(&a.text));
    simple.outputs.iter().filter(made).for_each(|a| did(&a.text, Touch::Changed));
    // `uv run --with x python - <<EOF`, `poetry run jupyter nbconvert …`: the program that the runner starts.
    if let Some(inner) = started(simple) {
        return simple_deeds(&inner, found);
    }
    let operands: Vec<&Arg> = simple.operands().collect();
    let files = |from: usize| operands.iter().skip(from).copied().filter(|a| plain(a));
    let whole = |letter: char| {
        simple
            .args
            .iter()
            .skip(1)
            .any(|a| a.text.starts_with('-') && !a.text.starts_with("--") && a.text.contains(letter))
    };
    match simple.program() {
        // Removing a folder names no files: a path with a slash at its end marks the folder, and the files created in
        // it count as gone.
        "rm" | "unlink" => {
            let folders = whole('r') || whole('R');
            for arg in operands.iter().filter(|a| a.certain && !a.text.is_empty() && !a.text.contains('\n')) {
                if !folders || is_file(arg) {
                    did(arg.text.trim_end_matches('/'), Touch::Deleted);
                } else {
                    did(&format!("{}/", arg.text.trim_end_matches('/')), Touch::Deleted);
                }
            }
        }
        "touch" | "tee" => files(0).for_each(|a| did(&a.text, Touch::Changed)),
        "truncate" => files(0).filter(|a| is_file(a)).for_each(|a| did(&a.text, Touch::Changed)),
        "mv" => moved(&operands, true).iter().for_each(|d| did(&d.path, d.touch)),
        "cp" | "install" if !whole('r') && !whole('R') && !whole('a') && !whole('d') => {
            moved(&operands, false)
                .iter()
                .filter(|d| d.touch == Touch::Created && !is_product(&d.path))
                .for_each(|d| did(&d.path, Touch::Changed));
        }
        "ln" if operands.len() == 2 && plain(operands[1]) && is_file(operands[1]) => {
            did(&operands[1].text, Touch::Created)
        }
        // PowerShell, whose file is an option's value or the first operand.
        "Out-File" | "Set-Content" | "Add-Content" => {
            let named = after(simple, &["-FilePath", "-Path", "-LiteralPath"]);
            let file = named.first().copied().or_else(|| operands.first().copied());
            file.filter(|a| plain(a)).into_iter().for_each(|a| did(&a.text, Touch::Changed));
        }
        "curl" => after(simple, &["-o", "--output"]).iter().for_each(|a| did(&a.text, Touch::Changed)),
        "wget" => after(simple, &["-O", "--output-document"]).iter().for_each(|a| did(&a.text, Touch::Changed)),
        "sed" if in_place(simple) => {
            let script = after(simple, &["-e", "-f", "--expression", "--file"]);
            let rest: Vec<&Arg> = operands
                .iter()
                .copied()
                .filter(|a| !a.text.is_empty() && !script.iter().any(|s| std::ptr::eq(*s, *a)))
                .collect();
            // The first operand is the script, unless the script is given with -e.
            let skip =
                usize::from(script.is_empty() && !simple.args.iter().any(|a| a.text.starts_with("--expression=")));
            rest.into_iter().skip(skip).filter(|a| plain(a) && is_file(a)).for_each(|a| did(&a.text, Touch::Changed));
        }
        "perl" | "ruby" if in_place(simple) => {
            // In `-pi -e script file …` and `-pe script -i file`, the first operand is the script.
            files(1).filter(|a| is_file(a)).for_each(|a| did(&a.text, Touch::Changed));
        }
        "patch" => unified(&simple.here).iter().for_each(|d| did(&d.path, d.touch)),
        "python" | "python3" | "node" | "bun" | "deno" | "ruby" => {
            let codes = after(simple, &["-c", "-e", "--eval"]).into_iter().map(|a| &a.text).chain([&simple.here]);
            for path in codes.flat_map(|c| written(c)).filter(|p| !is_product(p)) {
                did(&path, Touch::Changed);
            }
        }
        "jupyter" | "nbconvert" | "nbstripout" if simple.has("--inplace") || simple.program() == "nbstripout" => {
            files(0).filter(|a| a.text.ends_with(".ipynb")).for_each(|a| did(&a.text, Touch::Changed));
        }
        "git" => git(simple, &operands).iter().for_each(|d| did(&d.path, d.touch)),
        _ => {}
    }
}

/// Returns the command that a runner of a Python environment starts: `uv run --with x python -c …` starts `python -c …`.
fn started(simple: &Simple) -> Option<Simple> {
    if !matches!(simple.program(), "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "pixi") {
        return None;
    }
    let run = simple.args.iter().position(|a| a.text == "run")?;
    let known = |a: &Arg| {
        let name = a.text.rsplit('/').next().unwrap_or("");
        matches!(name, "python" | "python3" | "jupyter" | "nbconvert" | "nbstripout")
    };
    let at = run + 1 + simple.args[run + 1..].iter().position(known)?;
    // The files its output goes to were told already.
    Some(Simple { args: simple.args[at..].to_vec(), outputs: Vec::new(), ..simple.clone() })
}

fn git(simple: &Simple, operands: &[&Arg]) -> Vec<Deed> {
    // The values of git's own options are no operands: `git -C folder …`, `git -c key=value …`
    let taken = after(simple, &["-C", "-c"]);
    let folder = after(simple, &["-C"]).first().map(|a| a.text.trim_end_matches('/'));
    if folder.is_some_and(|f| f.contains('$')) {
        return Vec::new();
    }
    let operands: Vec<&Arg> =
        operands.iter().copied().filter(|a| !taken.iter().any(|t| std::ptr::eq(*t, *a))).collect();
    let of =
        |touch: Touch| operands[1..].iter().filter(|a| plain(a)).map(move |a| Deed { path: a.text.clone(), touch });
    let mut found: Vec<Deed> = match operands.first().map(|a| a.text.as_str()) {
        Some("mv") => moved(&operands[1..], true),
        Some("rm") if !simple.has("--cached") => {
            of(Touch::Deleted).filter(|d| !simple.has("-r") && !simple.has("-rf") || names_file(&d.path)).collect()
        }
        Some("apply" | "am") => unified(&simple.here),
        _ => Vec::new(),
    };
    if let Some(folder) = folder {
        found.iter_mut().filter(|d| !d.path.starts_with('/')).for_each(|d| d.path = format!("{folder}/{}", d.path));
    }
    found
}

/// Returns the removed and the new paths of a move: `mv a b`, `mv a b folder/`.
fn moved(operands: &[&Arg], gone: bool) -> Vec<Deed> {
    let Some((to, from)) = operands.split_last() else { return Vec::new() };
    if from.is_empty() || from.len() > MOST || !to.certain || to.text.is_empty() || !from.iter().all(|a| plain(a)) {
        return Vec::new();
    }
    // The target is a folder if it ends with a slash, has several sources, or has no extension while the source has
    // one.
    let folder = to.text.ends_with('/') || to.text == "." || from.len() > 1;
    let into = folder || !is_file(to);
    if into && !from.iter().all(|a| is_file(a)) || !folder && into && is_file(from[0]) && !to.text.contains('/') {
        return Vec::new();
    }
    let mut found = Vec::new();
    for one in from {
        if gone {
            found.push(Deed { path: one.text.clone(), touch: Touch::Deleted });
        }
        let name = one.text.rsplit('/').next().unwrap_or(&one.text);
        let path = match (folder, to.text.trim_end_matches('/')) {
            (true, "." | "") => name.to_owned(),
            (true, folder) => format!("{folder}/{name}"),
            (false, path) => path.to_owned(),
        };
        found.push(Deed { path, touch: Touch::Created });
    }
    // A target without an extension may be a folder or a file, so only the removal is certain.
    found.retain(|d| folder || !into || d.touch == Touch::Deleted);
    found
}

/// Whether an option asks for an edit in place: `-i`, `-i.bak`, `-pi`, `-Ei`, `--in-place`.
fn in_place(simple: &Simple) -> bool {
    simple.args.iter().skip(1).any(|a| {
        let short = a.text.strip_prefix('-').filter(|s| !s.starts_with('-') && s.len() <= 8);
        let letters = short.map_or("", |s| s.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or(s));
        letters.contains('i') && !letters.contains("li") || a.text.starts_with("--in-place")
    })
}

/// Returns the arguments of options that take one.
fn after<'s>(simple: &'s Simple, options: &[&str]) -> Vec<&'s Arg> {
    simple.args.windows(2).filter(|w| options.contains(&w[0].text.as_str())).map(|w| &w[1]).collect()
}

/// Returns the files of a unified diff.
pub fn unified(text: &str) -> Vec<Deed> {
    let mut found: Vec<Deed> = Vec::new();
    let mut old: Option<&str> = None;
    for line in text.get(..LARGEST).unwrap_or(text).lines() {
        let path = |rest: &'_ str| rest.split('\t').next().map_or(0, |p| p.trim_end().len());
        let line = line.trim_start_matches("diff: ").trim_start_matches("patch: ");
        if let Some(rest) = line.strip_prefix("--- ") {
            old = Some(&rest[..path(rest)]);
        } else if let (Some(rest), Some(from)) = (line.strip_prefix("+++ "), old.take()) {
            let to = &rest[..path(rest)];
            let bare = |p: &str| p.strip_prefix("a/").or_else(|| p.strip_prefix("b/")).unwrap_or(p).to_owned();
            let (path, touch) = match (from, to) {
                ("/dev/null", to) => (bare(to), Touch::Created),
                (from, "/dev/null") => (bare(from), Touch::Deleted),
                (_, to) => (bare(to), Touch::Changed),
            };
            if found.len() < 4 * MOST && !path.is_empty() {
                found.push(Deed { path, touch });
            }
        }
    }
    found
}

/// Returns the files a small script writes by a literal name, or by a variable with a literal value: `open("a", "w")`,
/// `Path("a").write_text`, `writeFileSync("a"`.
fn written(code: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if code.is_empty() || code.len() > LARGEST {
        return found;
    }
    let mut names: HashMap<&str, &str> = HashMap::new();
    for line in code.lines().take(2000) {
        // A variable may hold a path: `p = "src/a.py"`, `const p = 'a.ts'`, `p = Path("src/a.py")`
        if let Some((name, value)) = line.split_once('=') {
            let name = name.trim().rsplit(' ').next().unwrap_or("");
            let value = value.trim();
            let value = value.strip_prefix("pathlib.").unwrap_or(value);
            let value = value.strip_prefix("Path(").unwrap_or(value);
            let whole = literal(value).filter(|(_, rest)| rest.trim_matches([')', ';', ' ']).is_empty());
            match whole {
                Some((path, _)) if !name.is_empty() && names.len() < MOST => drop(names.insert(name, path)),
                _ => drop(names.remove(name)),
            }
        }
        let said = |text: &'_ str| -> Option<(String, usize)> {
            if let Some((path, rest)) = literal(text) {
                return Some((path.to_owned(), text.len() - rest.len()));
            }
            let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
            names.get(&text[..end]).map(|p| ((*p).to_owned(), end))
        };
        let mut put = |path: String| {
            if found.len() < MOST && !path.contains(['{', '$', '*', '\\']) && !path.is_empty() && !found.contains(&path)
            {
                found.push(path);
            }
        };
        for (at, mark) in line.match_indices("open(") {
            let rest = &line[at + mark.len()..];
            if let Some((path, end)) = said(rest) {
                let mode = rest[end..].trim_start_matches([',', ' ']).trim_start_matches("mode=");
                if literal(mode).is_some_and(|(m, _)| m.contains(['w', 'a', 'x', '+'])) {
                    put(path);
                }
            }
        }
        for mark in ["writeFileSync(", "writeFile(", "Bun.write(", "appendFileSync(", "File.write("] {
            for (at, _) in line.match_indices(mark) {
                if let Some((path, _)) = said(&line[at + mark.len()..]) {
                    put(path);
                }
            }
        }
        for (at, _) in line.match_indices(".write_text(").chain(line.match_indices(".write_bytes(")) {
            let before = line[..at].trim_end_matches(')');
            let from = before.rfind("Path(").map(|i| i + 5);
            let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            match from.and_then(|i| said(&before[i..])) {
                Some((path, _)) if before.len() < at => put(path),
                _ => drop(names.get(name).map(|p| put((*p).to_owned()))),
            }
        }
    }
    found
}

/// Returns the quoted string a text begins with, and the text after it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let (inner, rest) = text[1..].split_once(quote)?;
    Some((inner, rest))
}

/// Whether a path is data or a log in a folder for output, and so a program's product.
pub fn is_product(path: &str) -> bool {
    const KINDS: [&str; 14] =
        ["json", "jsonl", "ndjson", "csv", "tsv", "txt", "log", "out", "xml", "parquet", "db", "sqlite", "pkl", "html"];
    const FOLDERS: [&str; 15] = [
        "data", "raw", "out", "output", "outputs", "results", "logs", "log", "tmp", "temp", "cache", ".cache", "dist",
        "build", "coverage",
    ];
    let Some((folders, name)) = path.rsplit_once('/') else { return path.ends_with(".log") };
    name.rsplit_once('.').is_some_and(|(_, end)| KINDS.contains(&end))
        && folders.split('/').any(|f| FOLDERS.contains(&f))
}

/// Whether a word looks like a file rather than a folder.
fn is_file(arg: &Arg) -> bool {
    names_file(&arg.text)
}

fn names_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or("");
    name.contains('.') && !name.starts_with("..") && name.len() > 1
        || matches!(
            name,
            "Makefile"
                | "Dockerfile"
                | "justfile"
                | "Justfile"
                | "Gemfile"
                | "Rakefile"
                | "Procfile"
                | "LICENSE"
                | "README"
                | "CODEOWNERS"
        )
}
