//! Publishing and moving: every outcome, every refusal, and people who save in between.

use std::os::unix::process::CommandExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::home::publish::{Prepared, Ready};
use crate::home::read::Found;

/// Ends another thread's loop when it goes out of scope, in a panic as well.
pub(super) struct Stop<'a>(pub(super) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns a time long after every file of a test was saved.
fn later() -> Millis {
    crate::clock::Clock::System.now() + 60_000
}

/// A `keep` function for publications that must not displace anything.
fn nothing_to_keep(bytes: &[u8]) -> Result<()> {
    panic!("{:?} was handed over", String::from_utf8_lossy(bytes));
}

fn write(home: &Rooted, lock: &HomeLock, path: &RelPath, bytes: &[u8], base: Option<&[u8]>) -> Result<Published> {
    let what = Publication { path, bytes, base: base.map(digest), own: base.map(digest) };
    home.publish(lock, &what, later(), &mut nothing_to_keep)
}

#[track_caller]
fn written(result: Result<Published>) -> Stamp {
    match result.unwrap() {
        Published::Written(stamp) => stamp,
        other => panic!("{other:?}"),
    }
}

/// Returns a publication prepared up to its last step.
#[track_caller]
fn ready<'a>(home: &'a Rooted, path: &'a RelPath, bytes: &'a [u8], base: Option<&[u8]>) -> Box<Ready<'a>> {
    let what = Publication { path, bytes, base: base.map(digest), own: base.map(digest) };
    match home.prepare(&what, later()).unwrap() {
        Prepared::Ready(ready) => ready,
        Prepared::Answer(answer) => panic!("{answer:?}"),
    }
}

/// Returns the names in `workspaces/`, temporary files included.
fn names(home: &Home) -> Vec<String> {
    let listing = std::fs::read_dir(home.root().join("workspaces")).unwrap();
    let mut names: Vec<_> = listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_made_replaced_and_left_alone() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    let stamp = written(write(&home, &lock, &x, b"one", None));
    assert_eq!(home.stat(&x).unwrap().unwrap().stamp, stamp, "the stamp is that of the file under its name");
    assert_eq!((mode(&at), std::fs::read(&at).unwrap()), (0o600, b"one".to_vec()));
    assert_eq!(write(&home, &lock, &x, b"one", Some(b"one")).unwrap(), Published::Unchanged(stamp));

    let stamp = written(write(&home.walking(), &lock, &x, b"two", Some(b"one")));
    assert_eq!(home.read_with_stamp(&x, CAP).unwrap().unwrap(), (b"two".to_vec(), stamp));
    for base in [None, Some(&b"one"[..]), Some(b"")] {
        assert_eq!(write(&home, &lock, &x, b"three", base).unwrap(), Published::Moved);
    }
    assert_eq!(std::fs::read(&at).unwrap(), b"two");
    // A deleted file is not created again.
    std::fs::remove_file(&at).unwrap();
    assert_eq!(write(&home, &lock, &x, b"three", Some(b"two")).unwrap(), Published::Moved);
    assert_eq!(names(&home), Vec::<String>::new());

    assert_eq!(write(&home, &lock, &rel("workspaces/none/x"), b"", None).unwrap_err().kind(), ErrorKind::NotFound);
    let temporary = rel("workspaces/.hl-0123456789abcdef.tmp");
    assert_eq!(write(&home, &lock, &temporary, b"", None).unwrap_err().kind(), ErrorKind::Usage);
    let huge = vec![0; crate::home::publish::LARGEST as usize + 1];
    refused(write(&home, &lock, &x, &huge, None), "larger than");
    let sparse = std::fs::File::create(&at).unwrap();
    sparse.set_len(1 << 40).unwrap();
    refused(write(&home, &lock, &x, b"", None), "larger than");
}

#[test]
fn a_file_somebody_is_saving_is_deferred() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    std::fs::write(&at, "theirs").unwrap();
    let saved = home.stat(&x).unwrap().unwrap().stamp.modified_ns / 1_000_000;
    let ask = |own: Option<&[u8]>, now| {
        let what = Publication { path: &x, bytes: b"ours", base: Some(digest(b"theirs")), own: own.map(digest) };
        match home.prepare(&what, now).unwrap() {
            Prepared::Answer(answer) => Some(answer),
            Prepared::Ready(_) => None,
        }
    };
    let deferred = Some(Published::Deferred { until: saved + 2_000 });
    for now in [saved, saved + 1_999, saved - 2_000] {
        assert_eq!(ask(None, now), deferred, "{}", now - saved);
        assert_eq!(ask(Some(b"older"), now), deferred, "{}", now - saved);
        assert_eq!(ask(Some(b"theirs"), now), None, "what we wrote ourselves is finished");
    }
    // At the time named by the deferral the publication goes through; a file from the future means a wrong clock.
    for now in [saved + 2_000, saved + 60_000, saved - 2_001, 0] {
        assert_eq!(ask(None, now), None, "{}", now - saved);
    }
    // A publication that must be made anew is not worth waiting for.
    assert_eq!(write(&home, &lock, &x, b"ours", None).unwrap(), Published::Moved);
    assert_eq!((std::fs::read(&at).unwrap(), names(&home)), (b"theirs".to_vec(), vec!["x.md".to_owned()]));
}

#[test]
fn the_mode_of_a_file_is_its_owners_choice() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    let mut old = vec![b'0'];
    written(write(&home, &lock, &x, &old, None));
    for (n, bits) in [0o644, 0o400, 0o777, 0o640, 0o600].into_iter().enumerate() {
        set_mode(&at, bits);
        let new = vec![b'1' + n as u8];
        written(write(&home, &lock, &x, &new, Some(&old)));
        assert_eq!((mode(&at), std::fs::read(&at).unwrap()), (bits, new.clone()));
        old = new;
    }
    if rustix::process::geteuid().is_root() {
        set_mode(&at, 0o640);
        std::os::unix::fs::chown(&at, None, Some(65534)).unwrap();
        written(write(&home, &lock, &x, b"x", Some(&old)));
        assert_eq!(std::os::unix::fs::MetadataExt::gid(&at.metadata().unwrap()), 65534, "the same group may read it");
    }
}

#[test]
fn odd_leaves_are_replaced_or_refused_without_hanging() {
    let (dir, home) = new_home();
    let (lock, at) = (home.lock("head").unwrap(), home.root().join("workspaces"));
    let outside = dir.path().join("canary");
    std::fs::write(&outside, "CANARY").unwrap();
    let began = Instant::now();
    // D8: a symlink is replaced, whatever the caller thinks was there.
    for (n, target) in [outside.to_str().unwrap(), "../../canary", "nowhere", "/proc/self", "."].into_iter().enumerate()
    {
        for base in [None, Some(&b"CANARY"[..])] {
            let link = at.join(format!("link-{n}"));
            let _ = std::fs::remove_file(&link);
            symlink(target, &link).unwrap();
            let x = rel(&format!("workspaces/link-{n}"));
            refused(home.read(&x, CAP), "is a symlink");
            refused(home.read_with_stamp(&x, CAP), "is a symlink");
            written(write(&home, &lock, &x, b"ours", base));
            assert!(!link.is_symlink());
            assert_eq!((mode(&link), std::fs::read(&link).unwrap()), (0o600, b"ours".to_vec()));
        }
    }
    assert_eq!(std::fs::read(&outside).unwrap(), b"CANARY");
    for (path, _) in snapshot(&at) {
        std::fs::remove_file(path).unwrap();
    }

    named_pipe(&at.join("pipe"));
    std::fs::hard_link(&outside, at.join("hard")).unwrap();
    std::fs::create_dir(at.join("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
    let mut odd = vec![
        ("pipe", "is a named pipe"),
        ("hard", "has 2 hard links"),
        ("folder", "is a directory"),
        ("socket", "is a socket"),
    ];
    if rustix::process::geteuid().is_root() {
        std::fs::write(at.join("foreign"), "CANARY").unwrap();
        std::os::unix::fs::chown(at.join("foreign"), Some(65534), None).unwrap();
        odd.push(("foreign", "belongs to another user"));
    }
    let before = names(&home);
    for (name, why) in odd {
        let x = rel(&format!("workspaces/{name}"));
        for home in [&*home, &home.walking()] {
            for base in [None, Some(&b"CANARY"[..])] {
                refused(write(home, &lock, &x, b"ours", base), why);
            }
            refused(home.rename_new(&lock, &x, &rel("workspaces/moved")), why);
        }
        // The special file is put there just before the exchange.
        let late = rel("workspaces/late");
        let _ = std::fs::remove_file(at.join("late"));
        std::fs::write(at.join("late"), "old").unwrap();
        let publication = ready(&home, &late, b"ours", Some(b"old"));
        std::fs::remove_file(at.join("late")).unwrap();
        if name != "hard" {
            std::fs::rename(at.join(name), at.join("late")).unwrap();
        } else {
            std::fs::hard_link(at.join(name), at.join("late")).unwrap();
        }
        let (inode, why) = (home.stat(&late).unwrap().unwrap().stamp.inode, why.replace("2 hard", "3 hard"));
        refused(publication.put(&mut nothing_to_keep), &why);
        assert_eq!(home.stat(&late).unwrap().unwrap().stamp.inode, inode, "{name} has its name back");
        if name != "hard" {
            std::fs::rename(at.join("late"), at.join(name)).unwrap();
        }
        let _ = std::fs::remove_file(at.join("late"));
    }
    assert_eq!(names(&home), before);
    assert_eq!(std::fs::read(&outside).unwrap(), b"CANARY");
    assert!(began.elapsed() < Duration::from_secs(2), "something waited");
}

/// Root may do everything, so as root this runs the same test binary again as user `nobody`.
#[test]
fn missing_rights_are_refusals() {
    const MARK: &str = "HEIRLOOM_TEST_NOBODY";
    if rustix::process::geteuid().is_root() {
        let test = "home::tests::publish::missing_rights_are_refusals";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", test, "--nocapture"]).env(MARK, "1").current_dir("/").uid(65534).gid(65534);
        match again.output() {
            Ok(ran) => {
                assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
                assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "the test was renamed");
            }
            Err(e) => println!("skipped: nobody cannot run the test binary: {e}"),
        }
        return;
    }
    let (_dir, home) = new_home();
    let (lock, at) = (home.lock("head").unwrap(), home.root().join("workspaces"));
    home.create_dir_all(&rel("workspaces/closed/below")).unwrap();
    home.create_dir_all(&rel("workspaces/listed")).unwrap();
    let (x, y) = (rel("workspaces/x.md"), rel("workspaces/closed/y.md"));
    written(write(&home, &lock, &x, b"old", None));
    written(write(&home, &lock, &y, b"old", None));
    written(write(&home, &lock, &rel("workspaces/listed/z.md"), b"old", None));

    set_mode(&at.join("x.md"), 0o000);
    refused(write(&home, &lock, &x, b"new", Some(b"old")), "Permission denied");
    assert_eq!(mode(&at.join("x.md")), 0o000);
    set_mode(&at.join("x.md"), 0o600);
    set_mode(&at, 0o500);
    refused(write(&home, &lock, &x, b"new", Some(b"old")), "Permission denied");
    refused(home.rename_new(&lock, &x, &rel("workspaces/new.md")), "Permission denied");
    assert_eq!(std::fs::read(at.join("x.md")).unwrap(), b"old");

    // A folder that cannot be entered does not hide its siblings and does not look empty.
    set_mode(&at.join("closed"), 0o000);
    set_mode(&at.join("listed"), 0o400);
    let mut seen = Vec::new();
    let walked = home.walk(&rel("workspaces"), 8, &mut |path, _| seen.push(path.to_string())).unwrap();
    assert_eq!(seen, ["workspaces/closed", "workspaces/listed", "workspaces/x.md"]);
    assert_eq!(walked.unseen, [rel("workspaces/closed"), rel("workspaces/listed")]);
    assert_eq!(walked.problems.len(), 2, "{walked:?}");
    assert!(walked.problems.iter().all(|p| p.what.contains("Permission denied")), "{walked:?}");
    refused(home.walk(&rel("workspaces/closed"), 8, &mut |_, _| ()), "Permission denied");
    refused(home.read_with_stamp(&y, CAP), "Permission denied");
    for name in ["", "closed", "listed"] {
        set_mode(&at.join(name), 0o700);
    }
}

/// The new file may be written into before it has its name. The stamp that is returned fits no file then, so that the
/// file table reads the file again.
#[test]
fn the_stamp_of_a_file_edited_since_is_not_returned() {
    let (_dir, home) = new_home();
    let (x, at) = (rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    let publication = ready(&home, &x, b"new", None);
    let [temporary] = &names(&home)[..] else { panic!("one temporary file") };
    std::fs::write(at.with_file_name(temporary), "newer").unwrap();
    let stamp = written(publication.put(&mut nothing_to_keep));
    let (bytes, found) = home.read_with_stamp(&x, CAP).unwrap().unwrap();
    assert_eq!(bytes, b"newer");
    assert_ne!(stamp, found);
}

#[test]
fn what_was_saved_in_between_is_handed_over() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    let human = at.with_file_name("human");
    for in_place in [false, true] {
        let _ = std::fs::remove_file(&at);
        written(write(&home, &lock, &x, b"old", None));
        let publication = ready(&home, &x, b"new", Some(b"old"));
        let saved = if in_place { &at } else { &human };
        std::fs::write(saved, "saved").unwrap();
        let _ = std::fs::rename(&human, &at);
        let mut kept = Vec::new();
        let done = publication.put(&mut |bytes| {
            assert_eq!(std::fs::read(&at).unwrap(), b"new", "readers have the new file already");
            kept.push(bytes.to_vec());
            Ok(())
        });
        let Published::Displaced(stamp) = done.unwrap() else { panic!("not noticed") };
        assert_eq!((kept, names(&home)), (vec![b"saved".to_vec()], vec!["x.md".to_owned()]));
        assert_eq!(home.read_with_stamp(&x, CAP).unwrap().unwrap(), (b"new".to_vec(), stamp));
    }

    // An editor holds the file open and keeps writing while we read the displaced file.
    use std::io::Write;
    let mut editor = std::fs::File::options().append(true).open(&at).unwrap();
    let publication = ready(&home, &x, b"newer", Some(b"new"));
    editor.write_all(b"+1").unwrap();
    let mut kept = Vec::new();
    let done = publication.put(&mut |bytes| {
        kept.push(String::from_utf8(bytes.to_vec()).unwrap());
        if kept.len() < 4 {
            editor.write_all(b"+").unwrap();
        }
        Ok(())
    });
    assert!(matches!(done.unwrap(), Published::Displaced(_)));
    assert_eq!(kept, ["new+1", "new+1+", "new+1++", "new+1+++"]);

    // The file is deleted, created, or replaced by a symlink just before the exchange.
    let publication = ready(&home, &x, b"newest", Some(b"newer"));
    std::fs::remove_file(&at).unwrap();
    assert_eq!(publication.put(&mut nothing_to_keep).unwrap(), Published::Moved);
    let publication = ready(&home, &x, b"newest", None);
    std::fs::write(&at, "saved").unwrap();
    assert_eq!(publication.put(&mut nothing_to_keep).unwrap(), Published::Moved);
    let publication = ready(&home, &x, b"newest", Some(b"saved"));
    std::fs::remove_file(&at).unwrap();
    symlink("nowhere", &at).unwrap();
    written(publication.put(&mut nothing_to_keep));
    assert_eq!((std::fs::read(&at).unwrap(), names(&home)), (b"newest".to_vec(), vec!["x.md".to_owned()]));
}

#[test]
fn what_cannot_be_kept_goes_back() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    written(write(&home, &lock, &x, b"old", None));
    let publication = ready(&home, &x, b"new", Some(b"old"));
    std::fs::write(&at, "saved").unwrap();
    let inode = home.stat(&x).unwrap().unwrap().stamp.inode;
    let error = publication.put(&mut |_| Err(Error::refused("no room"))).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.next_step()), ("no room", None));
    assert_eq!((std::fs::read(&at).unwrap(), names(&home)), (b"saved".to_vec(), vec!["x.md".to_owned()]));
    assert_eq!(home.stat(&x).unwrap().unwrap().stamp.inode, inode, "it is the very same file");

    // The file is saved once more, on top of the new one, while the first save could not be kept: both stay.
    for in_place in [true, false] {
        let publication = ready(&home, &x, b"new", Some(b"saved"));
        std::fs::write(&at, "first").unwrap();
        let error = publication
            .put(&mut |_| {
                if !in_place {
                    std::fs::remove_file(&at).unwrap();
                }
                std::fs::write(&at, "second").unwrap();
                Err(Error::refused("no room"))
            })
            .unwrap_err();
        let aside = names(&home).into_iter().find(|n| n.starts_with("saved-")).expect("a file of its own");
        assert!(error.next_step().unwrap().contains(&aside), "{error:?}");
        assert_eq!(std::fs::read(&at).unwrap(), b"second", "the latest version keeps the name");
        assert_eq!(std::fs::read(at.with_file_name(&aside)).unwrap(), b"first");
        std::fs::remove_file(at.with_file_name(&aside)).unwrap();
        std::fs::write(&at, "saved").unwrap();
    }
    // The new file is deleted meanwhile: the file that was saved still gets its name back.
    let publication = ready(&home, &x, b"new", Some(b"saved"));
    std::fs::write(&at, "first").unwrap();
    let done = publication.put(&mut |_| {
        std::fs::remove_file(&at).unwrap();
        Err(Error::refused("no room"))
    });
    assert!(done.is_err());
    assert_eq!((std::fs::read(&at).unwrap(), names(&home)), (b"first".to_vec(), vec!["x.md".to_owned()]));
}

/// Where two names cannot be exchanged, writes into the old file are still noticed.
#[test]
fn without_an_exchange_the_open_file_is_watched() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    let whole = || match home.look(&home.parent_of(&x).unwrap().0, &x, CAP).unwrap() {
        Found::File(whole) => Some(whole),
        _ => panic!("no file"),
    };
    written(write(&home, &lock, &x, b"old", None));
    let (publication, old) = (ready(&home, &x, b"new", Some(b"old")), whole());
    std::fs::write(&at, "saved").unwrap();
    let mut kept = Vec::new();
    let done = publication.replace(old, &mut |bytes| {
        kept.push(bytes.to_vec());
        Ok(())
    });
    assert!(matches!(done.unwrap(), Published::Displaced(_)));
    assert_eq!((kept, std::fs::read(&at).unwrap()), (vec![b"saved".to_vec()], b"new".to_vec()));

    let (publication, old) = (ready(&home, &x, b"newer", Some(b"new")), whole());
    std::fs::write(&at, "saved").unwrap();
    set_mode(&at, 0o640);
    assert!(publication.replace(old, &mut |_| Err(Error::refused("no room"))).is_err());
    assert_eq!((mode(&at), std::fs::read(&at).unwrap(), names(&home).len()), (0o640, b"saved".to_vec(), 1));

    let (publication, old) = (ready(&home, &x, b"newer", Some(b"saved")), whole());
    std::fs::write(&at, "first").unwrap();
    let done = publication.replace(old, &mut |_| {
        std::fs::write(&at, "second").unwrap();
        Err(Error::refused("no room"))
    });
    let aside = names(&home).into_iter().find(|n| n.starts_with("saved-")).expect("a file of its own");
    assert!(done.unwrap_err().next_step().unwrap().contains(&aside));
    assert_eq!(std::fs::read(&at).unwrap(), b"second", "the latest version keeps the name");
    assert_eq!(std::fs::read(at.with_file_name(&aside)).unwrap(), b"first");
}

/// A person saves as fast as they can, by replacing the file or by writing into it, while we publish new text made from
/// the text we read: every line they ever saved is in the file or was handed over.
#[test]
fn nothing_a_person_saves_is_lost() {
    let (_dir, home) = new_home();
    let (lock, x, at) = (home.lock("head").unwrap(), rel("workspaces/x.md"), home.root().join("workspaces/x.md"));
    written(write(&home, &lock, &x, b"", None));
    let (saved, kept) = (Mutex::new(Vec::new()), Mutex::new(String::new()));
    let stop = AtomicBool::new(false);
    let (mut answers, mut own) = ([0usize; 3], digest(b""));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = Rng::new(7);
            for n in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let line = format!("human {n}\n");
                if rng.below(2) == 0 {
                    use std::io::Write;
                    // This branch appends in one write, as a shell's `>>` does.
                    let file = std::fs::File::options().append(true).open(&at);
                    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
                } else {
                    let text = std::fs::read_to_string(&at).unwrap() + &line;
                    let next = at.with_file_name("next");
                    std::fs::write(&next, text).unwrap();
                    std::fs::rename(&next, &at).unwrap();
                }
                saved.lock().unwrap().push(line);
                std::thread::sleep(Duration::from_micros(rng.below(4_000) as u64));
            }
        });
        let _stop = Stop(&stop);
        let began = Instant::now();
        for n in 0.. {
            let long_enough = if answers[1] < 5 { 15 } else { 1 };
            if began.elapsed() > Duration::from_secs(long_enough) {
                break;
            }
            let mut text = home.read(&x, CAP).unwrap().unwrap();
            let base = digest(&text);
            text.extend_from_slice(format!("ours {n}\n").as_bytes());
            let what = Publication { path: &x, bytes: &text, base: Some(base), own: Some(own) };
            let done = home.publish(&lock, &what, later(), &mut |bytes| {
                kept.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
                Ok(())
            });
            match done.unwrap() {
                Published::Written(_) => answers[0] += 1,
                Published::Displaced(_) => answers[1] += 1,
                Published::Moved | Published::Deferred { .. } => {
                    answers[2] += 1;
                    continue;
                }
                Published::Unchanged(_) => panic!("every version is new"),
            }
            own = digest(&text);
        }
    });
    let all = std::fs::read_to_string(&at).unwrap() + &kept.into_inner().unwrap();
    let saved = saved.into_inner().unwrap();
    let lost: Vec<_> = saved.iter().filter(|line| !all.contains(line.as_str())).collect();
    let [written, displaced, again] = answers;
    println!("{} saved, {written} written, {displaced} displaced, {again} made anew", saved.len());
    assert!(displaced > 0, "nobody came in between, so this proves nothing");
    assert_eq!(lost, Vec::<&String>::new(), "of {}", saved.len());
    assert_eq!(names(&home), ["x.md"]);
}

#[test]
fn a_move_replaces_nothing() {
    let (dir, home) = new_home();
    let (lock, at) = (home.lock("head").unwrap(), home.root().join("workspaces"));
    let (x, y, deep) = (rel("workspaces/x.md"), rel("workspaces/y.md"), rel("workspaces/a/b/x.md"));
    for home in [&*home, &home.walking()] {
        assert_eq!(home.rename_new(&lock, &x, &deep).unwrap(), Renamed::SourceMissing);
        assert_eq!(home.rename_new(&lock, &rel("workspaces/none/x"), &deep).unwrap(), Renamed::SourceMissing);
        assert!(!at.join("a").exists(), "nothing is made for nothing");
        written(write(home, &lock, &x, b"x", None));
        written(write(home, &lock, &y, b"y", None));
        assert_eq!(home.rename_new(&lock, &x, &y).unwrap(), Renamed::TargetExists);
        assert_eq!(home.rename_new(&lock, &x, &x).unwrap(), Renamed::TargetExists);
        symlink("nowhere", at.join("link")).unwrap();
        assert_eq!(home.rename_new(&lock, &x, &rel("workspaces/link")).unwrap(), Renamed::TargetExists);
        refused(home.rename_new(&lock, &rel("workspaces/link"), &deep), "is a symlink");
        assert_eq!(home.rename_new(&lock, &x, &deep).unwrap(), Renamed::Done);
        assert_eq!((mode(&at.join("a")), mode(&at.join("a/b"))), (0o700, 0o700));
        assert_eq!((home.read(&x, CAP).unwrap(), home.read(&deep, CAP).unwrap()), (None, Some(b"x".to_vec())));
        assert_eq!(std::fs::read(at.join("y.md")).unwrap(), b"y");

        symlink(dir.path(), at.join("out")).unwrap();
        refused(home.rename_new(&lock, &y, &rel("workspaces/out/y.md")), "is a symlink");
        refused(home.rename_new(&lock, &y, &rel("workspaces/out/new/y.md")), "is a symlink");
        refused(home.rename_new(&lock, &rel("workspaces/out/canary"), &x), "is a symlink");
        let temporary = rel("workspaces/.hl-0123456789abcdef.tmp");
        assert_eq!(home.rename_new(&lock, &y, &temporary).unwrap_err().kind(), ErrorKind::Usage);
        std::fs::remove_dir_all(&at).unwrap();
        std::fs::create_dir(&at).unwrap();
    }
    assert_eq!(snapshot(dir.path()).iter().filter(|(p, _)| !p.starts_with(home.root())).count(), 0);
}
