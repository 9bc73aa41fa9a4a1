//! Records what a command does to the files of its user: `strace` lists its system calls with all bytes, and they are
//! read as changes of a [`Disk`]. A call that changes files and is not understood here ends the test, and the recorded
//! changes must lead to the very files the command left.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use heirloom_testkit::{Output, run};

use super::disk::{Change, Disk, History, Node, is_shared_memory};
use crate::world::{HEIRLOOM, World};

/// The calls that are recorded: all that change files, and those that show where a `write` writes.
const CALLS: &str = "trace=open,openat,openat2,creat,close,lseek,write,pwrite64,writev,pwritev,pwritev2,ftruncate,\
    truncate,fsync,fdatasync,sync,syncfs,sync_file_range,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,\
    link,linkat,symlink,symlinkat,mknod,mknodat,fallocate,copy_file_range,sendfile,splice,mmap,io_uring_setup,fork,vfork,\
    clone,clone3";

/// A recording of one command after another.
pub struct Recording<'a> {
    world: &'a World,
    recorder: Recorder,
}

impl<'a> Recording<'a> {
    /// Begins with the files of the user as they are, all of them durable.
    pub fn begin(world: &'a World) -> Recording<'a> {
        let root = world.test.user().canonicalize().unwrap();
        let recorder = Recorder::new(&root, Disk::read(&root));
        Recording { world, recorder }
    }

    /// Runs a command and adds what it did; `fault` is something `strace` injects.
    pub fn run(&mut self, args: &[&str], stdin: &str, fault: Option<&str>) -> Output {
        let log = self.world.test.folder("log").join("changes");
        let mut command = self.world.test.command("strace");
        // Every text is written as hexadecimal numbers, so that no text looks like a part of the trace.
        command.args(["-f", "-y", "-xx", "-s", "1000000000", "-o"]).arg(&log).args(["-e", CALLS]);
        command.args(fault.iter().flat_map(|fault| ["-e", fault])).arg(HEIRLOOM).args(args);
        let out = run(command, stdin.as_bytes());
        self.recorder.read(&std::fs::read_to_string(&log).unwrap());
        let real = Disk::read(&self.recorder.root);
        let (modelled, real) = (self.recorder.now.listing(), real.listing());
        for path in modelled.keys().chain(real.keys()) {
            assert!(modelled.get(path) == real.get(path), "{args:?}: {} is not as the trace says", path.display());
        }
        out
    }

    pub fn end(self) -> History {
        History::new(self.recorder.base, self.recorder.changes)
    }
}

/// A system call.
struct Call<'a> {
    name: &'a str,
    args: Vec<&'a str>,
    /// The result; `None`: the call failed or did not return.
    result: Option<&'a str>,
}

impl Call<'_> {
    fn read(line: &str) -> Call<'_> {
        let (call, result) = line.rsplit_once(" = ").unwrap_or((line, "?"));
        let (name, args) = call.trim_end().split_once('(').unwrap_or_else(|| panic!("no call: {line}"));
        let args = args.strip_suffix(')').unwrap_or(args);
        let mut depth = 0;
        let separated = args.split(|c: char| {
            depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
            c == ',' && depth == 0
        });
        let args = separated.map(str::trim).collect();
        Call { name, args, result: Some(result).filter(|result| !result.starts_with(['-', '?'])) }
    }

    fn number(&self, at: usize) -> usize {
        self.args[at].parse().unwrap_or_else(|_| panic!("{}: {}", self.name, self.args[at]))
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        let text = self.args[at].strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        unhex(text.unwrap_or_else(|| panic!("{}: the bytes are not all in the trace", self.name)))
    }

    fn text(&self, at: usize) -> String {
        String::from_utf8(self.bytes(at)).unwrap()
    }
}

/// Returns the bytes of `\x…\x…`.
fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Returns the number and the path of `7<\x…>`; a path of a file that has no name any more is left out.
fn descriptor(arg: &str) -> (&str, Option<PathBuf>) {
    let Some((number, path)) = arg.split_once('<') else { return (arg, None) };
    let path = path.strip_suffix('>').filter(|path| path.starts_with("\\x"));
    (number, path.map(|path| String::from_utf8(unhex(path)).unwrap().into()))
}

struct Recorder {
    root: PathBuf,
    /// The disk before the command, with all files that get a name later.
    base: Disk,
    now: Disk,
    changes: Vec<Change>,
    /// Positions of open files, and whether they are opened for appending.
    places: HashMap<String, (usize, bool)>,
}

impl Recorder {
    fn new(root: &Path, base: Disk) -> Recorder {
        Recorder { root: root.to_owned(), now: base.clone(), base, changes: Vec::new(), places: HashMap::new() }
    }

    /// Reads a trace.
    fn read(&mut self, trace: &str) {
        self.places.clear();
        // The beginnings of calls during which another thread made one, and the number of changes at that time.
        let mut begun = HashMap::new();
        for line in trace.lines() {
            let (thread, rest) = line.split_once(' ').unwrap();
            let rest = rest.trim_start();
            if rest.starts_with("---") || rest.starts_with("+++") {
                continue;
            }
            if let Some(start) = rest.strip_suffix("<unfinished ...>") {
                begun.insert(thread, (start.trim_end(), self.changes.len()));
            } else if let Some((_, end)) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
                let (start, covers) = begun.remove(thread).unwrap();
                self.take(&Call::read(&format!("{start}{end}")), covers);
            } else {
                let covers = self.changes.len();
                self.take(&Call::read(rest), covers);
            }
        }
    }

    fn make(&mut self, change: Change) {
        self.now.apply(&change);
        self.changes.push(change);
    }

    /// Returns a path below the root that is not SQLite's shared memory.
    fn within(&self, path: &Path) -> Option<PathBuf> {
        let path = path.strip_prefix(&self.root).ok()?;
        (!is_shared_memory(path.to_str().unwrap())).then(|| path.to_owned())
    }

    /// Returns an open file or folder that has a name below the root.
    fn open(&self, arg: &str) -> Option<Node> {
        self.now.at(&self.within(&descriptor(arg).1?)?)
    }

    /// Returns the path below the root that two arguments name: a folder and a path.
    fn path(&self, call: &Call, folder: Option<usize>, at: usize) -> Option<PathBuf> {
        let folder = folder.and_then(|at| descriptor(call.args[at]).1).unwrap_or_default();
        self.within(&folder.join(call.text(at)))
    }

    fn name(&mut self, path: &Path, node: Option<Node>) -> (Node, String, Option<Node>) {
        let folder = self.now.at(path.parent().unwrap()).unwrap();
        (folder, path.file_name().unwrap().to_str().unwrap().to_owned(), node)
    }

    fn take(&mut self, call: &Call, covers: usize) {
        let Some(result) = call.result else { return };
        match call.name {
            "open" => self.opened(result, call.args[1]),
            "openat" | "openat2" => self.opened(result, call.args[2]),
            "close" => drop(self.places.remove(descriptor(call.args[0]).0)),
            "lseek" => {
                let appends = self.places.get(descriptor(call.args[0]).0).is_some_and(|place| place.1);
                self.places.insert(descriptor(call.args[0]).0.into(), (result.parse().unwrap(), appends));
            }
            "write" => self.write(call, result.parse().unwrap()),
            "pwrite64" => {
                if let Some(file) = self.open(call.args[0]) {
                    let bytes = call.bytes(1)[..result.parse().unwrap()].to_vec();
                    self.make(Change::Write { file, at: call.number(3), bytes });
                }
            }
            "ftruncate" => {
                if let Some(file) = self.open(call.args[0]) {
                    self.make(Change::Resize { file, to: call.number(1) });
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(node) = self.open(call.args[0]) {
                    self.make(Change::Sync { node, covers });
                }
            }
            "mkdir" => self.made(self.path(call, None, 0)),
            "mkdirat" => self.made(self.path(call, Some(0), 1)),
            "unlink" | "rmdir" => self.removed(self.path(call, None, 0)),
            "unlinkat" => self.removed(self.path(call, Some(0), 1)),
            "link" => self.linked(self.path(call, None, 0), self.path(call, None, 1)),
            "linkat" => self.linked(self.path(call, Some(0), 1), self.path(call, Some(2), 3)),
            "rename" => self.renamed(self.path(call, None, 0), self.path(call, None, 1), ""),
            "renameat" => self.renamed(self.path(call, Some(0), 1), self.path(call, Some(2), 3), ""),
            "renameat2" => self.renamed(self.path(call, Some(0), 1), self.path(call, Some(2), 3), call.args[4]),
            "fork" | "vfork" => panic!("another process changes files"),
            "clone" | "clone3" => {
                assert!(call.args[0].contains("CLONE_THREAD") || call.args.concat().contains("CLONE_THREAD"))
            }
            "mmap" => {
                let writes = call.args[2].contains("PROT_WRITE") && call.args[3].contains("MAP_SHARED");
                assert!(!writes || self.open(call.args[4]).is_none(), "a file is changed in memory");
            }
            _ => assert!(
                call.args.iter().all(|arg| self.open(arg).is_none()) && !call.name.contains("symlink"),
                "{} is not understood",
                call.name
            ),
        }
    }

    fn opened(&mut self, result: &str, flags: &str) {
        let (number, path) = descriptor(result);
        self.places.insert(number.to_owned(), (0, flags.contains("O_APPEND")));
        let Some(path) = path.and_then(|path| self.within(&path)) else { return };
        assert!(!flags.contains("O_TMPFILE"), "a file without a name");
        match self.now.at(&path) {
            Some(file) if flags.contains("O_TRUNC") => self.make(Change::Resize { file, to: 0 }),
            Some(_) => {}
            None => {
                assert!(flags.contains("O_CREAT"), "{} is unknown", path.display());
                let node = self.base.new_file();
                assert_eq!(self.now.new_file(), node);
                let name = self.name(&path, Some(node));
                self.make(Change::Names(vec![name]));
            }
        }
    }

    fn write(&mut self, call: &Call, count: usize) {
        let number = descriptor(call.args[0]).0;
        let bytes = call.bytes(1)[..count].to_vec();
        if let Some(file) = self.open(call.args[0]) {
            let length = self.now.length(file);
            let place = self.places.get_mut(number).expect("an open file");
            let at = if place.1 { length } else { place.0 };
            place.0 = at + count;
            self.make(Change::Write { file, at, bytes });
        } else if number == "1" {
            self.make(Change::Said(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }

    fn made(&mut self, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        let node = self.base.new_folder();
        assert_eq!(self.now.new_folder(), node);
        let name = self.name(&path, Some(node));
        self.make(Change::Names(vec![name]));
    }

    fn removed(&mut self, path: Option<PathBuf>) {
        let Some(path) = path else { return };
        let name = self.name(&path, None);
        self.make(Change::Names(vec![name]));
    }

    fn linked(&mut self, from: Option<PathBuf>, to: Option<PathBuf>) {
        if from.is_none() && to.is_none() {
            return;
        }
        let (from, to) = (from.expect("a file comes from outside"), to.expect("a file goes outside"));
        let name = self.name(&to, self.now.at(&from));
        self.make(Change::Names(vec![name]));
    }

    fn renamed(&mut self, from: Option<PathBuf>, to: Option<PathBuf>, flags: &str) {
        if from.is_none() && to.is_none() {
            return;
        }
        let (from, to) = (from.expect("a file comes from outside"), to.expect("a file goes outside"));
        let (moved, other) = (self.now.at(&from), self.now.at(&to));
        let other = other.filter(|_| flags.contains("RENAME_EXCHANGE"));
        let names = vec![self.name(&from, other), self.name(&to, moved)];
        self.make(Change::Names(names));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    #[test]
    fn a_trace_is_read_as_changes() {
        let (folder, t, x, said) = (hex("/u/f"), hex("t"), hex("/u/f/x"), hex("done\n"));
        let at_t = hex("/u/f/t");
        let trace = format!(
            "7 mkdir(\"{folder}\", 0700) = 0\n\
             7 openat(3<{folder}>, \"{t}\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4<{at_t}>\n\
             7 write(4<{at_t}>, \"{}\", 2) = 2\n\
             7 write(4<{at_t}>, \"{}\", 3) = 1\n\
             8 fsync(4<{at_t}> <unfinished ...>\n\
             7 pwrite64(4<{at_t}>, \"{}\", 1, 0) = 1\n\
             8 <... fsync resumed>)                = 0\n\
             7 openat(3<{folder}>, \"{t}\", O_WRONLY|O_CREAT|O_EXCL, 0600) = -1 EEXIST (File exists)\n\
             7 renameat2(3<{folder}>, \"{t}\", AT_FDCWD<{}>, \"{x}\", RENAME_NOREPLACE) = 0\n\
             7 write(1<pipe:[5]>, \"{said}\", 5)    = 5\n\
             7 unlink(\"{x}\")                      = 0\n\
             7 +++ exited with 0 +++\n",
            hex("ab"),
            hex("cde"),
            hex("X"),
            hex("/"),
        );
        let mut recorder = Recorder::new(Path::new("/u"), Disk::new());
        recorder.read(&trace);
        let history = History::new(recorder.base, recorder.changes);
        let (folder, file) = (1, 2);
        let write = |at, text: &str| Change::Write { file, at, bytes: text.into() };
        let expected = [
            Change::Names(vec![(0, "f".into(), Some(folder))]),
            Change::Names(vec![(folder, "t".into(), Some(file))]),
            write(0, "ab"),
            write(2, "c"),
            write(0, "X"),
            Change::Sync { node: file, covers: 4 },
            Change::Names(vec![(folder, "t".into(), None), (folder, "x".into(), Some(file))]),
            Change::Said("done\n".into()),
            Change::Names(vec![(folder, "x".into(), None)]),
        ];
        assert_eq!(history.changes(), expected);
        assert_eq!(history.after(8).listing()[Path::new("f/x")], Some(b"Xbc".as_slice()));
    }
}
