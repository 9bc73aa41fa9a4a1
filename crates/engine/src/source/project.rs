//! Finds the project a working directory belongs to (the *workspace* of SPEC §2).
//!
//! A subfolder belongs to its repository, and so does a linked git worktree, but only if the repository refers back to
//! it: a `.git` file comes with the folder, and a folder from elsewhere must not join a project by claiming to be part
//! of it. Two folders with the same name are two projects. Old records name folders that no longer exist; then the path
//! itself is used. This module reads `.git` entries of at most 4 KiB and nothing else, runs no git command, and does
//! not know where a user's home is.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use crate::scope;

/// Largest pointer file in bytes: a `.git` file and a worktree's `gitdir` hold one path, and no path is longer on
/// Linux.
const LARGEST_POINTER: u64 = 4096;

/// A project, identified by its root folder.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProjectRoot {
    /// The canonical path of the folder, as far as it exists.
    pub path: PathBuf,
    /// Unique for `path`, and usable as a file name.
    pub workspace_id: String,
    /// The display name: the folder's name, or `/`.
    pub label: String,
}

impl ProjectRoot {
    fn at(path: PathBuf) -> ProjectRoot {
        let label = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        // The id is made from the path's bytes, not from its text: paths that are not UTF-8 can have equal texts.
        let workspace_id = scope::file_key(&label, path.as_os_str().as_bytes());
        ProjectRoot { path, workspace_id, label }
    }
}

/// Returns the project a working directory belongs to; `None` when `cwd` is empty or relative.
///
/// The search for a repository goes upwards and ends at `stop_at` (the user's home) and at `/`: a repository there
/// would include every project below it, so it is used only for a `cwd` that is exactly that folder.
///
/// - a `.git` directory with a `HEAD` in it: the repository is here. Without `HEAD`, git does not see a repository
///   either, and the search goes on;
/// - a `.git` file of a linked worktree: the repository it names, if that names the worktree in return; a bare
///   repository is its own folder, or the folder around it that points to it (`project/.bare`);
/// - any other `.git` file (submodule, separate git directory, pointing elsewhere, broken) and a symlink of that name:
///   this folder is a project of its own;
/// - no repository on the way: `cwd` itself.
pub fn project_root(cwd: &Path, stop_at: Option<&Path>) -> Option<ProjectRoot> {
    if !cwd.is_absolute() {
        return None;
    }
    let cwd = settled(cwd);
    let stop_at = stop_at.filter(|path| path.is_absolute()).map(settled);
    for dir in cwd.ancestors() {
        if dir != cwd && (dir.parent().is_none() || Some(dir) == stop_at.as_deref()) {
            break;
        }
        if let Some(root) = repository_at(dir) {
            return Some(ProjectRoot::at(root));
        }
    }
    Some(ProjectRoot::at(cwd))
}

/// Returns the canonical form of an absolute path; if the path does not exist, of its longest existing part.
fn settled(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let path = normalised(path);
    for existing in path.ancestors() {
        if let (Ok(canonical), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            // Joining nothing would add a slash at the end.
            return if rest.as_os_str().is_empty() { canonical } else { canonical.join(rest) };
        }
    }
    path
}

/// Removes `.`, `..` and doubled slashes without looking at the file system.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => drop(out.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// Returns the root of the repository whose working tree begins at `dir`, if there is one.
fn repository_at(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    // Symlinks are not followed: a folder must not join a project through one.
    let kind = git.symlink_metadata().ok()?.file_type();
    if kind.is_symlink() {
        return Some(dir.to_owned());
    }
    if kind.is_dir() {
        return has_head(&git).then(|| dir.to_owned());
    }
    if kind.is_file() {
        return Some(worktree_owner(&git).unwrap_or_else(|| dir.to_owned()));
    }
    // Git ignores a pipe, socket or device.
    None
}

/// Returns the root of the repository a linked worktree belongs to; `None` unless both refer to each other.
fn worktree_owner(git: &Path) -> Option<PathBuf> {
    let admin = pointed_to(git)?;
    // `<repository>/worktrees/<name>`; anything else is a submodule or a separate git directory.
    let worktrees = admin.parent().filter(|path| path.file_name() == Some(OsStr::new("worktrees")))?;
    let repository = worktrees.parent().filter(|path| has_head(path))?;
    // The reference back, absolute or relative to its folder, must lead to this very entry and not to a symlink to it.
    let back = admin.join(OsStr::from_bytes(&read_pointer(&admin.join("gitdir"))?));
    if back.parent()?.canonicalize().ok()?.join(back.file_name()?) != git {
        return None;
    }
    let around = repository.parent()?;
    if repository.file_name() == Some(OsStr::new(".git")) {
        return Some(around.to_owned());
    }
    // A git directory inside another one belongs to a submodule; only git's settings tell where its working tree is.
    if around.components().any(|component| component.as_os_str() == ".git") {
        return None;
    }
    // A bare repository inside a project folder that points to it: folder and worktrees are one project.
    let hidden = pointed_to(&around.join(".git")).as_deref() == Some(repository);
    Some(if hidden { around.to_owned() } else { repository.to_owned() })
}

/// Returns the target of a `.git` file, if it exists. Git requires exactly this prefix.
fn pointed_to(git: &Path) -> Option<PathBuf> {
    let bytes = read_pointer(git)?;
    let target = OsStr::from_bytes(bytes.strip_prefix(b"gitdir: ")?);
    if target.is_empty() {
        return None;
    }
    git.parent()?.join(target).canonicalize().ok()
}

/// Returns the content of a small regular file without the line break at its end. `O_NONBLOCK` is set because opening a
/// named pipe would otherwise wait for its writer.
fn read_pointer(path: &Path) -> Option<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST_POINTER {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_POINTER).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
    bytes.truncate(end);
    Some(bytes)
}

/// Whether a folder has the `HEAD` entry every git directory has. A folder that may not be read counts as having one:
/// it is a repository with restricted access and must not be skipped for one further up.
fn has_head(git: &Path) -> bool {
    match git.join("HEAD").symlink_metadata() {
        Ok(_) => true,
        Err(e) => e.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    use heirloom_testkit::{Rng, named_pipe};

    use super::*;

    /// A folder in which tests build repositories by hand, without running git.
    struct Ground {
        dir: tempfile::TempDir,
    }

    impl Ground {
        fn new() -> Ground {
            Ground { dir: tempfile::tempdir().unwrap() }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(path)
        }

        fn folder(&self, path: &str) -> PathBuf {
            std::fs::create_dir_all(self.at(path)).unwrap();
            self.at(path)
        }

        fn file(&self, path: &str, content: impl AsRef<[u8]>) {
            self.folder(Path::new(path).parent().unwrap().to_str().unwrap());
            std::fs::write(self.at(path), content).unwrap();
        }

        fn repository(&self, path: &str) -> PathBuf {
            self.file(&format!("{path}/.git/HEAD"), "ref: refs/heads/main\n");
            self.at(path)
        }

        /// Makes a worktree of the git directory `git`, with the files `git worktree add` writes.
        fn worktree(&self, git: &str, path: &str, name: &str) -> PathBuf {
            self.file(&format!("{path}/.git"), format!("gitdir: {}/worktrees/{name}\n", self.at(git).display()));
            self.file(&format!("{git}/worktrees/{name}/gitdir"), format!("{}/.git\n", self.at(path).display()));
            self.at(path)
        }
    }

    #[track_caller]
    fn root(cwd: impl AsRef<Path>) -> PathBuf {
        let found = project_root(cwd.as_ref(), None).unwrap();
        assert_eq!(found, ProjectRoot::at(found.path.clone()));
        found.path
    }

    fn id(cwd: impl AsRef<Path>) -> String {
        project_root(cwd.as_ref(), None).unwrap().workspace_id
    }

    #[test]
    fn a_plain_folder_is_its_own_project() {
        let ground = Ground::new();
        let plain = ground.folder("some/Plain Folder");
        let found = project_root(&plain, None).unwrap();
        assert_eq!((&found.path, found.label.as_str()), (&plain, "Plain Folder"));
        assert!(found.workspace_id.starts_with("plain-folder--"), "{}", found.workspace_id);
        assert_eq!(project_root(Path::new("/"), None).unwrap().label, "/");
        for unknown in ["", ".", "relative/path"] {
            assert_eq!(project_root(Path::new(unknown), None), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_subfolder_belongs_to_its_repository() {
        let ground = Ground::new();
        let repo = ground.repository("repo");
        let sub = ground.folder("repo/src/deep");
        for cwd in [&repo, &sub, &sub.join("gone/since"), &repo.join(".git"), &repo.join("src/./../src//deep")] {
            assert_eq!(root(cwd), repo, "{}", cwd.display());
        }
        // The nearest repository is used.
        let nested = ground.repository("repo/vendor/nested");
        assert_eq!(root(nested.join("src")), nested);
        // Git does not accept a folder without HEAD as a repository, and neither do we.
        ground.folder("repo/empty/.git");
        assert_eq!(root(ground.at("repo/empty")), repo);
    }

    #[test]
    fn a_repository_around_everything_counts_only_for_itself() {
        let ground = Ground::new();
        let user = ground.repository("user");
        let plain = ground.folder("user/projects/plain");
        let inner = ground.repository("user/projects/inner");
        let at = |cwd: &Path| project_root(cwd, Some(&user)).unwrap().path;
        assert_eq!(at(&user), user);
        assert_eq!(at(&plain), plain);
        assert_eq!(at(&user.join("projects/gone")), user.join("projects/gone"));
        assert_eq!(at(&inner.join("src")), inner);
        assert_eq!(root(&plain), user, "without the hint it does swallow");
        // The hint is compared as a folder, not as text.
        symlink(&user, ground.at("link")).unwrap();
        assert_eq!(project_root(&plain, Some(&ground.at("link"))).unwrap().path, plain);
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_repository() {
        let ground = Ground::new();
        let repo = ground.repository("repo");
        let tree = ground.worktree("repo/.git", "elsewhere/tree", "tree");
        assert_eq!(root(&tree), repo);
        assert_eq!(root(tree.join("src/gone")), repo);
        assert_eq!(id(&tree), id(&repo));
        assert_eq!(root(ground.worktree("repo/.git", "repo/.claude/worktrees/x", "x")), repo);
        // Newer git can write both ways relative.
        ground.file("elsewhere/relative/.git", "gitdir: ../../repo/.git/worktrees/relative\n");
        ground.file("repo/.git/worktrees/relative/gitdir", "../../../../elsewhere/relative/.git\n");
        assert_eq!(root(ground.at("elsewhere/relative")), repo);
        // Once the worktree is gone there is nothing to read, and its path is used.
        std::fs::remove_dir_all(&tree).unwrap();
        assert_eq!(root(&tree), tree);
    }

    #[test]
    fn a_forged_worktree_stays_separate() {
        let ground = Ground::new();
        let repo = ground.repository("repo");
        let real = ground.worktree("repo/.git", "real", "tree");
        let git = repo.join(".git").display().to_string();
        for (name, content) in [
            ("claims-the-repository", format!("gitdir: {git}\n")),
            ("claims-a-new-worktree", format!("gitdir: {git}/worktrees/none\n")),
            ("claims-the-real-one", format!("gitdir: {git}/worktrees/tree\n")),
            ("claims-with-dots", format!("gitdir: {git}/worktrees/x/../tree\n")),
            ("no-prefix", format!("{git}/worktrees/tree\n")),
            ("empty", String::new()),
            ("only-the-prefix", "gitdir: \n".into()),
            ("nul", format!("gitdir: {git}\0/worktrees/tree")),
            ("too-long", format!("gitdir: {}{git}/worktrees/tree", "/".repeat(5_000))),
        ] {
            ground.file(&format!("{name}/.git"), content);
            assert_eq!(root(ground.at(&format!("{name}/src"))), ground.at(name), "{name}");
        }
        // A folder that brings both references with it can only claim itself.
        ground.file("forger/bare/HEAD", "");
        ground.file("forger/.git", format!("gitdir: {}\n", ground.at("forger/bare/worktrees/x").display()));
        ground.file("forger/bare/worktrees/x/gitdir", format!("{}\n", real.join(".git").display()));
        assert_eq!(root(ground.at("forger")), ground.at("forger"));
        // A symlink to a real worktree's `.git` makes a folder no part of that project.
        ground.folder("linked");
        symlink(real.join(".git"), ground.at("linked/.git")).unwrap();
        assert_eq!(root(ground.at("linked")), ground.at("linked"));
        ground.folder("linked-dir");
        symlink(repo.join(".git"), ground.at("linked-dir/.git")).unwrap();
        assert_eq!(root(ground.at("linked-dir")), ground.at("linked-dir"));
        assert_eq!(root(&real), repo, "the real one is unharmed");
    }

    #[test]
    fn a_submodule_is_its_own_project() {
        let ground = Ground::new();
        let repo = ground.repository("repo");
        ground.file("repo/.git/modules/sub/HEAD", "");
        ground.file("repo/lib/sub/.git", "gitdir: ../../.git/modules/sub\n");
        assert_eq!(root(repo.join("lib/sub/src")), repo.join("lib/sub"));
        // A worktree of a submodule is its own project, too: only git's settings tell where the submodule itself is.
        let tree = ground.worktree("repo/.git/modules/sub", "sub-tree", "t");
        assert_eq!(root(&tree), tree);
    }

    #[test]
    fn worktrees_of_a_bare_repository_are_one_project() {
        let ground = Ground::new();
        ground.file("repo.git/HEAD", "");
        let one = ground.worktree("repo.git", "one", "one");
        let two = ground.worktree("repo.git", "two", "two");
        assert_eq!(root(&one), ground.at("repo.git"));
        assert_eq!(id(&one), id(&two));
        assert_eq!(id(&one), id(ground.at("repo.git")));
        // A bare repository hidden in a project folder that points to it: that folder is the better name.
        ground.file("project/.bare/HEAD", "");
        ground.file("project/.git", "gitdir: ./.bare\n");
        let main = ground.worktree("project/.bare", "project/main", "main");
        assert_eq!(root(&main), ground.at("project"));
        assert_eq!(root(ground.at("project")), ground.at("project"));
    }

    #[test]
    fn odd_entries_named_git_neither_hang_nor_count() {
        let ground = Ground::new();
        let repo = ground.repository("repo");
        let pipe = ground.folder("repo/pipe");
        named_pipe(&pipe.join(".git"));
        // A pipe in place of the reference back.
        ground.file("repo/.git/worktrees/p/HEAD", "");
        named_pipe(&repo.join(".git/worktrees/p/gitdir"));
        ground.file("tree/.git", format!("gitdir: {}/.git/worktrees/p\n", repo.display()));
        let began = Instant::now();
        assert_eq!(root(&pipe), repo);
        assert_eq!(root(ground.at("tree")), ground.at("tree"));
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn one_folder_has_one_id_however_it_is_written() {
        let ground = Ground::new();
        let real = ground.folder("real/project");
        symlink(ground.at("real"), ground.at("link")).unwrap();
        for other in
            ["link/project", "real/./project", "real//project/", "link/project/gone/..", "link/../real/project"]
        {
            assert_eq!(id(ground.at(other)), id(&real), "{other}");
        }
        // A deleted folder keeps its id, through a symlink as well.
        assert_eq!(id(ground.at("link/gone/x")), id(ground.at("real/gone/x")));
        let before = id(&real);
        std::fs::remove_dir(&real).unwrap();
        assert_eq!(id(&real), before);
    }

    #[test]
    fn different_folders_have_different_ids() {
        let ground = Ground::new();
        let pairs: &[(&str, &str)] = &[
            ("/gone/a-b/c", "/gone/a/b-c"),
            ("/gone/a/api", "/gone/b/api"),
            ("/gone/Api", "/gone/api"),
            ("/gone/api", "/gone/api."),
            ("/gone/api", "/gone/api "),
            ("/gone/é", "/gone/e\u{301}"),
            ("/gone/日本", "/gone/中国"),
            ("/gone", "/gone/gone"),
        ];
        for (a, b) in pairs {
            assert_ne!(id(a), id(b), "{a} and {b}");
        }
        assert_ne!(id(ground.folder("x/api")), id(ground.folder("y/api")));
        let raw = |byte| PathBuf::from(OsString::from_vec([b"/gone/".as_slice(), &[byte]].concat()));
        assert_ne!(id(raw(0xFE)), id(raw(0xFF)), "both look the same as text");
    }

    #[test]
    fn ten_thousand_pairs_do_not_meet() {
        const NAMES: &[&[u8]] =
            &[b"a", b"b", b"a-b", b"A", b"a.", b" a", b"\xFF", b"\xFE", "é".as_bytes(), b"api", b"-", b"..", b".", b""];
        let mut rng = Rng::new(11);
        let mut path = || {
            let mut bytes = b"/no-such-folder-here".to_vec();
            for _ in 0..=rng.below(7) {
                bytes.push(b'/');
                bytes.extend(*rng.pick(NAMES));
            }
            PathBuf::from(OsString::from_vec(bytes))
        };
        let mut seen: HashMap<String, PathBuf> = HashMap::new();
        for _ in 0..10_000 {
            let (a, b) = (project_root(&path(), None).unwrap(), project_root(&path(), None).unwrap());
            assert_eq!(a.path == b.path, a.workspace_id == b.workspace_id, "{a:?} {b:?}");
            for found in [a, b] {
                let before = seen.entry(found.workspace_id.clone()).or_insert_with(|| found.path.clone());
                assert_eq!(*before, found.path);
            }
        }
        assert!(seen.len() > 5_000, "the pairs differ: {}", seen.len());
    }

    #[test]
    fn no_path_makes_it_panic() {
        let mut rng = Rng::new(12);
        for length in (0..300).chain([4_096, 70_000]) {
            let mut bytes = rng.bytes(length);
            bytes.insert(0, b'/');
            let path = PathBuf::from(OsString::from_vec(bytes));
            assert!(project_root(&path, Some(Path::new("not absolute"))).is_some());
        }
    }
}
