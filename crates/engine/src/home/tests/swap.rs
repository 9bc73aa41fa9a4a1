//! A thread exchanges a folder of the home for a symlink to a folder outside, as fast as it can, while all operations
//! run through that folder. A program that checks first and opens afterwards is caught within seconds, which shows that
//! the test works.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering};

use super::publish::Stop;
use super::*;

/// Each folder above this leaf is swapped in turn.
const LEAF: &str = "workspaces/main/memory/preference/x.md";
const FOLDERS: [&str; 4] =
    ["workspaces", "workspaces/main", "workspaces/main/memory", "workspaces/main/memory/preference"];

/// A home in which one folder is going to be swapped, and the folder outside that must stay unchanged.
struct Arena {
    dir: tempfile::TempDir,
    home: Home,
    folder: PathBuf,
}

impl Arena {
    fn new(folder: &str) -> Arena {
        let (dir, home) = new_home();
        home.create_dir_all(&rel(LEAF).parent().unwrap()).unwrap();
        let outside = dir.path().join("outside").join(LEAF.strip_prefix(folder).unwrap().trim_start_matches('/'));
        std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
        std::fs::write(&outside, "CANARY").unwrap();
        symlink(dir.path().join("outside"), home.root().join("link")).unwrap();
        let folder = home.root().join(folder);
        Arena { dir, home, folder }
    }

    /// Runs `round` until it returns false; returns whether the folder outside was touched meanwhile.
    fn race(&self, round: &mut dyn FnMut(usize) -> bool) -> bool {
        let (outside, link) = (self.dir.path().join("outside"), self.home.root().join("link"));
        let before = snapshot(&outside);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &self.folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            // Ends the swapping thread even if `round` panics; otherwise the scope would wait for that thread for ever.
            let _stop = Stop(&stop);
            for n in 0.. {
                if !round(n) {
                    break;
                }
            }
        });
        snapshot(&outside) != before
    }
}

#[test]
fn a_swapped_folder_is_never_followed() {
    let (mut reads, mut written, mut moved, mut refusals) = (0, 0, 0, 0);
    for folder in FOLDERS {
        let arena = Arena::new(folder);
        let walking = arena.home.walking();
        let lock = arena.home.lock("head").unwrap();
        let (x, y) = (rel(LEAF), rel(&LEAF.replace("x.md", "old/y.md")));
        let until = Instant::now() + Duration::from_millis(700);
        let mut escaped = Vec::new();
        let mut own = None;
        let touched = arena.race(&mut |n| {
            let home = if n % 2 == 0 { &*arena.home } else { &walking };
            let mut judge = |doing: &str, error: Error| match error.kind() {
                ErrorKind::Refused | ErrorKind::NotFound => refusals += 1,
                _ => escaped.push(format!("{doing}: {error}")),
            };
            let base = match home.read_with_stamp(&x, CAP) {
                Ok(Some((bytes, _))) if bytes.starts_with(b"ours") => {
                    reads += 1;
                    Some(digest(&bytes))
                }
                Ok(None) => None,
                Ok(other) => panic!("read {other:?}"),
                Err(error) => {
                    judge("read", error);
                    None
                }
            };
            let bytes = format!("ours, round {n}");
            let what = Publication { path: &x, bytes: bytes.as_bytes(), base, own };
            match home.publish(&lock, &what, i64::MAX, &mut |b| panic!("{b:?} displaced")) {
                Ok(Published::Written(_)) => {
                    written += 1;
                    own = Some(digest(bytes.as_bytes()));
                }
                Ok(Published::Moved) => {}
                Ok(other) => panic!("{other:?}"),
                Err(error) => judge("publish", error),
            }
            if n % 3 == 0 {
                match home.rename_new(&lock, &x, &y) {
                    Ok(Renamed::Done) => moved += 1,
                    Ok(_) => {}
                    Err(error) => judge("move", error),
                }
                if let Err(error) = home.remove(&y) {
                    judge("remove", error);
                }
            }
            let aside = rel(&LEAF.replace("x.md", &format!("new-{n}")));
            for done in [
                home.write_new(&aside, b"ours").map(|_| ()),
                home.create_dir_all(&rel(&LEAF.replace("x.md", "deep/er"))),
                home.remove(&aside).map(|_| ()),
                home.list(&x.parent().unwrap()).map(|_| ()),
                home.remove_temporaries_below(&rel("workspaces"), i64::MAX).map(|_| ()),
            ] {
                if let Err(error) = done {
                    judge("another", error);
                }
            }
            let walked = home.walk(&rel("workspaces"), 8, &mut |path, entry| {
                // The file outside has six bytes; files inside the home never do.
                assert!(path.name() != "x.md" || entry.stamp.size != 6, "{path} was seen outside");
            });
            if let Err(error) = walked {
                judge("walk", error);
            }
            Instant::now() < until
        });
        assert!(!touched, "the folder outside was touched");
        assert_eq!(escaped, Vec::<String>::new());
    }
    println!("{reads} read, {written} published, {moved} moved, {refusals} refused");
    assert!(reads > 0 && written > 0 && moved > 0 && refusals > 0, "both sides of the swap were met");
}

/// The control of the test: a program that resolves the real path first and opens it afterwards is caught, both reading
/// and writing.
#[test]
fn a_program_that_checks_first_is_caught() {
    let (began, give_up) = (Instant::now(), Duration::from_secs(20));
    let (mut tries, mut reads, mut writes) = (0, 0, 0);
    while (reads == 0 || writes == 0) && began.elapsed() < give_up {
        for folder in FOLDERS {
            let arena = Arena::new(folder);
            let (root, leaf) = (arena.home.root().to_owned(), arena.home.root().join(LEAF));
            let until = Instant::now() + Duration::from_millis(250);
            std::fs::write(&leaf, "ours").unwrap();
            let checked = || leaf.canonicalize().is_ok_and(|real| real.starts_with(&root));
            let written = arena.race(&mut |n| {
                tries += 1;
                if n % 2 == 0 && checked() {
                    let read = std::fs::read(&leaf).unwrap_or_default();
                    reads += usize::from(read == b"CANARY");
                } else if checked() {
                    let _ = std::fs::write(&leaf, "ours");
                }
                Instant::now() < until
            });
            writes += usize::from(written);
        }
    }
    println!("{tries} tries, {reads} read outside, in {writes} runs the folder outside was written");
    assert!(reads > 0 && writes > 0, "the control got away, so this proves nothing");
}
