//! Tests of the home: modes, refusals, special files, hostile paths. The modules below test publishing, crashes at
//! every system call, and a directory that is swapped for a symlink during the work.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use heirloom_testkit::{Rng, named_pipe};

use super::*;
use crate::error::ErrorKind;

mod crash;
mod memory_path;
mod publish;
mod swap;
mod walk;

/// The read cap of these tests.
const CAP: u64 = 1 << 20;

fn new_home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::create(&dir.path().join("home")).unwrap();
    (dir, home)
}

fn rel(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Asserts that the error is a refusal that names `part` and has a hint.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains(part), "{error} should name {part:?}");
    assert!(error.next_step().is_some(), "{error} has no hint");
}

/// Returns everything below a folder with its bytes, to check that nothing changed.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.push((path.clone(), Vec::new()));
            found.extend(snapshot(&path));
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_home_is_created_once_and_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/b/home");
    let missing = Home::open(&root).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.next_step().is_some());
    assert!(!dir.path().join("a").exists(), "opening creates nothing");

    let home = Home::create(&root).unwrap();
    for path in layout::DIRECTORIES {
        assert_eq!(mode(&home.root().join(path.as_str())), 0o700, "{path}");
    }
    assert_eq!(home.write_new(&rel("state/x"), b"1").unwrap(), NewFile::Written);
    set_mode(&root.join("logs"), 0o750);
    drop(home);
    let again = Home::create(&root).unwrap();
    assert_eq!(again.read(&rel("state/x"), CAP).unwrap().unwrap(), b"1");
    assert_eq!(mode(&root.join("logs")), 0o750, "the mode of an existing folder is its owner's business");
    assert!(again.findings().iter().any(|f| f.path.ends_with("logs") && f.fix.starts_with("chmod 700")));
    Home::open(&root).unwrap();
}

/// The umask belongs to the whole process, so this runs the same test binary again below a shell that sets it.
#[test]
fn modes_do_not_depend_on_the_umask() {
    const MARK: &str = "HEIRLOOM_TEST_UMASK";
    if std::env::var_os(MARK).is_none() {
        for umask in ["000", "002", "077", "0277"] {
            let test = "home::tests::modes_do_not_depend_on_the_umask";
            let ran = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("umask {umask}; exec \"$0\" --exact {test} --nocapture")])
                .arg(std::env::current_exe().unwrap())
                .env(MARK, umask)
                .output()
                .unwrap();
            assert!(ran.status.success(), "umask {umask}: {}", String::from_utf8_lossy(&ran.stderr));
            assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "the test was renamed");
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o700);
    let home = Home::create(&dir.path().join("home")).unwrap();
    home.create_dir_all(&rel("workspaces/main/memory/preference")).unwrap();
    let _ = home.write_new(&rel("workspaces/main/memory/preference/tea.md"), b"green").unwrap();
    let lock = home.lock("test").unwrap();
    let (tea, head) = (rel("workspaces/main/memory/preference/tea.md"), rel("workspaces/main/MEMORY.md"));
    for (path, base) in [(&tea, Some(digest(b"green"))), (&head, None)] {
        let what = Publication { path, bytes: b"black", base, own: base };
        let done = home.publish(&lock, &what, 0, &mut |_| Ok(())).unwrap();
        assert!(matches!(done, Published::Written(_)), "{done:?}");
    }
    assert_eq!(home.rename_new(&lock, &head, &rel("workspaces/main/archive/2026/old.md")).unwrap(), Renamed::Done);
    for (path, _) in snapshot(home.root()) {
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert_eq!(mode(home.root()), 0o700);
    assert_eq!(home.findings(), []);
}

#[test]
fn a_home_others_can_write_is_refused() {
    let (_dir, home) = new_home();
    for bad in [0o770, 0o702, 0o777] {
        set_mode(home.root(), bad);
        refused(Home::open(home.root()), "can be written by");
        refused(Home::create(home.root()), "can be written by");
        assert_eq!(mode(home.root()), bad, "it is refused, not changed");
        let hint = Home::open(home.root()).unwrap_err();
        assert_eq!(hint.next_step().unwrap(), format!("run: chmod go-w {}", home.root().display()));
    }
    // Readable by others is allowed and reported; a writable folder inside such a home is refused.
    set_mode(home.root(), 0o755);
    Home::open(home.root()).unwrap();
    assert!(home.findings().iter().any(|f| f.path == home.root()));
    set_mode(&home.root().join("state"), 0o770);
    refused(Home::open(home.root()), "state can be written by its group");
    // In a home that is closed to other users the mode of a folder does not matter.
    set_mode(home.root(), 0o700);
    Home::open(home.root()).unwrap();
}

#[test]
fn a_home_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a folder away");
        return;
    }
    let (_dir, home) = new_home();
    std::os::unix::fs::chown(home.root().join("spool"), Some(65534), None).unwrap();
    refused(Home::open(home.root()), "spool belongs to another user");
    std::os::unix::fs::chown(home.root(), Some(65534), None).unwrap();
    refused(Home::open(home.root()), "belongs to another user");
    let _ = home.write_new(&rel("state/x"), b"1").unwrap();
    std::os::unix::fs::chown(home.root().join("state/x"), Some(65534), None).unwrap();
    refused(home.read(&rel("state/x"), CAP), "belongs to another user");
}

#[test]
fn the_root_may_be_a_symlink_and_nothing_below_it() {
    let (dir, home) = new_home();
    let link = dir.path().join("link");
    symlink(home.root(), &link).unwrap();
    assert_eq!(Home::open(&link).unwrap().root(), home.root());

    let outside = dir.path().join("outside");
    std::fs::rename(home.root().join("state"), &outside).unwrap();
    symlink(&outside, home.root().join("state")).unwrap();
    let before = snapshot(&outside);
    refused(Home::open(home.root()), "state is a symlink");
    refused(Home::create(home.root()), "state is a symlink");
    assert_eq!(snapshot(&outside), before);

    symlink(dir.path().join("nowhere"), dir.path().join("dangling")).unwrap();
    refused(Home::create(&dir.path().join("dangling")), "points to nothing");
    std::fs::write(dir.path().join("file"), "").unwrap();
    refused(Home::create(&dir.path().join("file")), "is not a directory");
    refused(Home::open(&dir.path().join("file/below")), "is not a directory");
}

#[test]
fn files_are_written_read_listed_and_removed() {
    let (_dir, home) = new_home();
    for home in [&*home, &home.walking()] {
        home.create_dir_all(&rel("workspaces/main/memory")).unwrap();
        let main = home.open_dir(&rel("workspaces/main")).unwrap();
        let tea = rel("memory/tea.md");
        assert_eq!(main.read(&tea, CAP).unwrap(), None);
        assert_eq!(main.stat(&tea).unwrap(), None);
        assert_eq!(main.write_new(&tea, b"green").unwrap(), NewFile::Written);
        assert_eq!(main.write_new(&tea, b"black").unwrap(), NewFile::Exists);
        assert_eq!(main.read(&tea, 5).unwrap().unwrap(), b"green");
        refused(main.read(&tea, 4), "larger than 4 bytes");
        assert_eq!(main.stat(&tea).unwrap().unwrap().stamp.size, 5);

        let listed = home.list(&rel("workspaces/main/memory")).unwrap();
        assert_eq!(
            listed.iter().map(|e| (e.name.to_str().unwrap(), e.kind)).collect::<Vec<_>>(),
            [("tea.md", Kind::File)]
        );
        assert_eq!(home.list(&rel("nothing")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(main.write_new(&rel("none/x"), b"").unwrap_err().kind(), ErrorKind::NotFound);
        refused(main.read(&rel("memory/tea.md/x"), CAP), "tea.md is a file");
        refused(main.list(&tea), "tea.md is a file");

        assert!(main.remove(&tea).unwrap());
        assert!(!main.remove(&tea).unwrap());
        assert!(!main.remove(&rel("none/x")).unwrap());
        assert!(main.remove(&rel("memory")).unwrap_err().to_string().contains("is a directory"));
    }
}

#[test]
fn odd_leaves_are_refused_without_hanging() {
    let (dir, home) = new_home();
    let state = home.root().join("state");
    let outside = dir.path().join("canary");
    std::fs::write(&outside, "CANARY").unwrap();
    named_pipe(&state.join("pipe"));
    symlink(&outside, state.join("absolute")).unwrap();
    symlink("../../canary", state.join("relative")).unwrap();
    symlink("nowhere", state.join("dangling")).unwrap();
    symlink("/proc/self", state.join("magic")).unwrap();
    std::fs::hard_link(&outside, state.join("hard")).unwrap();
    std::fs::create_dir(state.join("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(state.join("socket")).unwrap();
    let sparse = std::fs::File::create(state.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();

    let began = Instant::now();
    for home in [&*home, &home.walking()] {
        for (name, why) in [
            ("pipe", "is a named pipe"),
            ("absolute", "is a symlink"),
            ("relative", "is a symlink"),
            ("dangling", "is a symlink"),
            ("magic", "is a symlink"),
            ("hard", "has 2 hard links"),
            ("folder", "is a directory"),
            ("socket", "is a socket"),
            ("sparse", "is larger than"),
        ] {
            let path = rel(&format!("state/{name}"));
            refused(home.read(&path, CAP), why);
            assert_eq!(home.write_new(&path, b"x").unwrap(), NewFile::Exists, "{name}");
            if name != "sparse" {
                refused(home.file_path(&path), why);
            }
        }
        refused(home.read(&rel("state/magic/environ"), CAP), "is a symlink");
        refused(home.open_dir(&rel("state/absolute")).map(|_| ()), "is a symlink");
    }
    assert!(began.elapsed() < Duration::from_secs(2), "something waited");

    // Removing deletes the link, never its target.
    for name in ["absolute", "relative", "dangling", "magic", "hard", "pipe", "socket"] {
        assert!(home.remove(&rel(&format!("state/{name}"))).unwrap(), "{name}");
    }
    assert_eq!(std::fs::read(&outside).unwrap(), b"CANARY");
}

#[test]
fn a_symlinked_component_is_refused_by_name() {
    let (dir, home) = new_home();
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "CANARY").unwrap();
    symlink(&outside, home.root().join("workspaces/main")).unwrap();
    let before = snapshot(&outside);
    for home in [&*home, &home.walking()] {
        let x = rel("workspaces/main/x");
        let why = "workspaces/main is a symlink";
        refused(home.read(&x, CAP), why);
        refused(home.write_new(&rel("workspaces/main/new"), b"x"), why);
        refused(home.remove(&x), why);
        refused(home.stat(&x), why);
        refused(home.file_path(&x), why);
        refused(home.list(&rel("workspaces/main")), why);
        refused(home.open_dir(&rel("workspaces/main")), why);
        refused(home.create_dir_all(&rel("workspaces/main/deeper")), why);
        refused(home.create_dir_all(&rel("workspaces/main")), why);
        refused(home.remove_temporaries_below(&rel("workspaces/main"), i64::MAX), why);
    }
    assert_eq!(snapshot(&outside), before);
    assert!(home.findings().iter().any(|f| f.path.ends_with("workspaces/main") && f.what.contains("symlink")));
}

#[test]
fn what_others_could_read_is_found() {
    let (_dir, home) = new_home();
    assert_eq!(home.findings(), []);
    let _ = home.write_new(&layout::RUNTIME_DB, b"").unwrap();
    let _ = home.write_new(&rel("workspaces/note.md"), b"").unwrap();
    set_mode(&home.root().join("state/runtime.db"), 0o644);
    set_mode(&home.root().join("workspaces/note.md"), 0o644);
    let found = home.findings();
    assert_eq!(found.len(), 1, "a note in a closed home is its owner's business: {found:?}");
    assert_eq!(found[0].fix, format!("chmod 600 {}", home.root().join("state/runtime.db").display()));
    set_mode(home.root(), 0o755);
    let found = home.findings();
    assert_eq!(found.len(), 2, "closing the home closes its notes: {found:?}");
    assert_eq!(found[0].fix, format!("chmod 700 {}", home.root().display()));
}

#[test]
fn old_temporaries_are_swept_and_never_listed() {
    const HOUR: Millis = 60 * 60 * 1000;
    let (_dir, home) = new_home();
    let now = crate::clock::Clock::System.now();
    let names = [
        "state/.hl-0123456789abcdef.tmp",
        "state/scratch/.hl-00000000000000ff.tmp",
        // SQLite leaves these beside a database that was being made under a temporary name.
        "state/.hl-0123456789abcdef.tmp-journal",
        "state/.hl-0123456789abcdef.tmp-wal",
        "state/.hl-0123456789abcdef.tmp-shm",
    ];
    let kept = ["state/.hl-short.tmp", "state/.hl-0123456789abcdef.db", "state/mine.tmp"];
    for name in names.iter().chain(&kept) {
        std::fs::write(home.root().join(name), "").unwrap();
    }
    std::fs::create_dir(home.root().join("state/.hl-1111111111111111.tmp")).unwrap();
    assert!(home.write_new(&rel(names[0]), b"").is_err(), "nobody else may use such a name");
    assert_eq!(home.list(&rel("state/scratch")).unwrap(), []);
    assert_eq!(home.remove_temporaries(now).unwrap(), 0, "somebody may still be writing them");
    assert_eq!(home.remove_temporaries(now + HOUR + 60_000).unwrap(), names.len());
    for name in kept {
        assert!(home.root().join(name).exists(), "{name}");
    }
    assert_eq!(home.remove_temporaries_below(&rel("workspaces/none"), now).unwrap(), 0);
}

#[test]
fn what_lives_as_long_as_a_command_is_gone_after_a_day() {
    const DAY: Millis = 24 * 60 * 60 * 1000;
    let (_dir, home) = new_home();
    let now = crate::clock::Clock::System.now();
    for name in ["foreign-0123456789abcdef.db", "foreign-0123456789abcdef.db-wal", "unpacked"] {
        std::fs::write(home.root().join("state/scratch").join(name), "a copy").unwrap();
    }
    std::fs::create_dir(home.root().join("state/scratch/folder")).unwrap();
    assert_eq!(home.remove_temporaries(now + DAY - 60_000).unwrap(), 0, "a long import may still read it");
    assert_eq!(home.remove_temporaries(now + DAY + 60_000).unwrap(), 3);
    assert_eq!(home.list(&rel("state/scratch")).unwrap().len(), 1);
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let (_dir, home) = new_home();
    let _ = home.write_new(&rel("spool/x"), b"1").unwrap();
    assert_eq!(home.write_new(&rel("spool/x"), b"2").unwrap(), NewFile::Exists);
    assert_eq!(snapshot(&home.root().join("spool")).len(), 1);
}

/// A person who saves by rename all the time never loses a save to the removal of an earlier version.
#[test]
fn only_the_file_that_was_meant_is_removed() {
    let (_dir, home) = new_home();
    let lock = home.lock("files").unwrap();
    let path = rel("state/x.md");
    let at = home.root().join("state/x.md");
    let mut none = |_: &[u8]| -> crate::error::Result<()> { panic!("nothing was in the way") };
    std::fs::write(&at, "other").unwrap();
    assert!(!home.remove_exactly(&lock, &path, super::digest(b"meant"), &mut none).unwrap());
    assert_eq!(std::fs::read(&at).unwrap(), b"other");
    assert!(home.remove_exactly(&lock, &path, super::digest(b"other"), &mut none).unwrap());
    assert!(home.remove_exactly(&lock, &path, super::digest(b"other"), &mut none).unwrap(), "gone is gone");
    symlink("/etc/hostname", &at).unwrap();
    refused(home.remove_exactly(&lock, &path, super::digest(b"x"), &mut none), "is a symlink");
    std::fs::remove_file(&at).unwrap();

    let until = Instant::now() + Duration::from_millis(300);
    let (mut removed, mut kept) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let vanished = std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            let (mut n, mut vanished) = (0u32, std::collections::BTreeSet::new());
            let next = home.root().join("state/next");
            while Instant::now() < until {
                std::fs::write(&next, (n + 1).to_string()).unwrap();
                // Replaces only the last version written here; if the file is missing, creates it.
                if std::fs::read(&at).is_ok() {
                    std::fs::rename(&next, &at).unwrap();
                } else if renameat_with(CWD, &next, CWD, &at, RenameFlags::NOREPLACE).is_ok() {
                    vanished.insert(n.to_string().into_bytes());
                } else {
                    continue;
                }
                n += 1;
            }
            vanished.remove(&b"0"[..]);
            vanished
        });
        while Instant::now() < until {
            let Ok(Some(bytes)) = home.read(&path, CAP) else { continue };
            let mut keep = |newer: &[u8]| {
                kept.insert(newer.to_vec());
                Ok(())
            };
            if home.remove_exactly(&lock, &path, super::digest(&bytes), &mut keep).unwrap() {
                removed.insert(bytes);
            }
        }
        editor.join().unwrap()
    });
    assert!(!vanished.is_empty());
    for save in &vanished {
        let known = removed.contains(save) || kept.contains(save);
        assert!(
            known,
            "{} of {} saves are gone, and nobody asked for it",
            String::from_utf8_lossy(save),
            vanished.len()
        );
    }
    let left = std::fs::read_dir(home.root().join("state")).unwrap();
    assert!(left.flatten().all(|e| !e.file_name().to_string_lossy().starts_with(".hl-")));
}

#[test]
fn one_holder_at_a_time() {
    let (_dir, home) = new_home();
    let held = home.lock("head").unwrap();
    assert!(home.try_lock("head").unwrap().is_none());
    assert!(home.try_lock("other").unwrap().is_some());
    let waited = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let lock = home.lock("head").unwrap();
            drop(lock);
            Instant::now()
        });
        std::thread::sleep(Duration::from_millis(50));
        let released = Instant::now();
        drop(held);
        waiter.join().unwrap() >= released
    });
    assert!(waited, "the second came in before the first left");
    for bad in ["", "a/b", "..", "a b", "\0"] {
        assert!(home.try_lock(bad).is_err(), "{bad:?}");
    }
    std::fs::remove_dir_all(home.root().join("run")).unwrap();
    let _again = home.try_lock("head").unwrap().expect("a lock in a new run/");
    let outside = home.root().join("outside");
    symlink(&outside, home.root().join("run/linked.lock")).unwrap();
    refused(home.try_lock("linked"), "is a symlink");
    std::fs::create_dir(home.root().join("run/folder.lock")).unwrap();
    refused(home.try_lock("folder"), "is a directory");
    assert!(!outside.exists());
}

#[test]
fn a_holder_that_does_not_go_on_is_named() {
    let (_dir, home) = new_home();
    let held = home.lock("files-main").unwrap();
    let began = Instant::now();
    let error = home.lock_within("files-main", Duration::from_millis(40)).unwrap_err();
    assert!(began.elapsed() >= Duration::from_millis(40));
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains(&format!("(process {})", std::process::id())), "{error}");
    drop(held);
    assert!(!home.lock("files-main").unwrap().was_abandoned());
}

/// A file that is constantly exchanged for another is always read whole, as one or the other.
#[test]
fn a_replaced_file_is_never_an_error() {
    let (_dir, home) = new_home();
    let target = home.root().join("state/x");
    std::fs::write(&target, "one").unwrap();
    let until = Instant::now() + Duration::from_millis(300);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < until {
                let next = home.root().join("state/next");
                std::fs::write(&next, "one").unwrap();
                std::fs::rename(&next, &target).unwrap();
            }
        });
        while Instant::now() < until {
            assert_eq!(home.read(&rel("state/x"), CAP).unwrap().unwrap(), b"one");
            home.list(&rel("state")).unwrap();
        }
    });
}

#[test]
fn hostile_paths_create_nothing_outside() {
    let (dir, home) = new_home();
    let inside = home.root().to_owned();
    let outside = |root: &Path| snapshot(root).into_iter().filter(|(p, _)| !p.starts_with(&inside)).collect::<Vec<_>>();
    std::fs::write(dir.path().join("canary"), "CANARY").unwrap();
    let before = outside(dir.path());
    const PARTS: &[&str] = &[
        "..",
        ".",
        "",
        "/",
        "//",
        "\\",
        "..\\",
        "%2e%2e",
        "%2f",
        "\0",
        "\n",
        "\u{2024}",
        "\u{2025}",
        "\u{ff0e}",
        "\u{ff0f}",
        "\u{2215}",
        "a",
        "memory",
        "MEMORY.md",
        "workspaces",
        "main",
        " ",
        ".. ",
        "...",
        "~",
        "$HOME",
        "canary",
        "home",
        "state",
        "C:",
        "file://",
        "\u{202e}",
        "\u{85}",
        "proc/self/root",
        "CON",
        "a.",
        "é",
    ];
    let mut rng = Rng::new(0x5EED);
    let (mut taken, mut turned_away) = (0, 0);
    for _ in 0..2_000 {
        let mut text = String::new();
        for _ in 0..=rng.below(6) {
            text.push_str(PARTS[rng.below(PARTS.len())]);
            if rng.below(3) > 0 {
                text.push('/');
            }
        }
        match rng.below(12) {
            0 => text.insert(0, '/'),
            1 => text = text.repeat(4_096 / text.len().max(1) + 1),
            2 => text.insert_str(0, dir.path().to_str().unwrap()),
            3 => text = text.trim_end_matches('/').to_owned(),
            _ => {}
        }
        let Ok(path) = RelPath::parse(&text) else {
            turned_away += 1;
            continue;
        };
        taken += 1;
        let rooted = if rng.below(2) == 0 { home.walking() } else { home.open_dir(&rel("workspaces")).unwrap() };
        // It does not matter whether any of these calls succeeds, only that nothing outside is touched.
        if let Some(parent) = path.parent() {
            let _ = rooted.create_dir_all(&parent);
        }
        let _ = rooted.write_new(&path, b"x");
        if let Ok(Some(bytes)) = rooted.read(&path, CAP) {
            assert_eq!(bytes, b"x", "{text:?}");
        }
        let _ = rooted.file_path(&path).map(|p| assert!(p.starts_with(&inside)));
        let _ = rooted.remove(&path);
    }
    assert!(taken > 100 && turned_away > 100, "the generator makes both kinds: {taken} and {turned_away}");
    assert_eq!(outside(dir.path()), before);
}
