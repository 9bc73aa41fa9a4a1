//! Walking a tree with special files, a deep one, and one that changes during the walk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

fn walk(home: &Rooted, depth: usize) -> (Vec<(String, Kind)>, Walked) {
    let mut seen = Vec::new();
    let walked = home.walk(&rel("workspaces"), depth, &mut |path, entry| {
        assert_eq!(path.name(), entry.name.to_str().unwrap());
        seen.push((path.as_str()["workspaces/".len()..].to_owned(), entry.kind));
    });
    (seen, walked.unwrap())
}

#[test]
fn everything_is_shown_as_what_it_is() {
    let (dir, home) = new_home();
    let at = home.root().join("workspaces");
    home.create_dir_all(&rel("workspaces/b/c/d")).unwrap();
    for name in ["a.md", "b/c/d/x.md", "b/.hidden", "b/.hl-0123456789abcdef.tmp", "z.md"] {
        std::fs::write(at.join(name), name).unwrap();
    }
    std::fs::write(dir.path().join("canary"), "CANARY").unwrap();
    symlink(dir.path(), at.join("link")).unwrap();
    named_pipe(&at.join("pipe"));
    std::fs::write(at.join(OsStr::from_bytes(b"\xff.md")), "").unwrap();
    std::fs::write(at.join("line\nbreak"), "").unwrap();
    for home in [&*home, &home.walking()] {
        let (seen, walked) = walk(home, 8);
        let expected = [
            ("a.md", Kind::File),
            ("b", Kind::Directory),
            ("b/.hidden", Kind::File),
            ("b/c", Kind::Directory),
            ("b/c/d", Kind::Directory),
            ("b/c/d/x.md", Kind::File),
            ("link", Kind::Symlink),
            ("pipe", Kind::Other),
            ("z.md", Kind::File),
        ];
        assert_eq!(seen.iter().map(|(p, k)| (p.as_str(), *k)).collect::<Vec<_>>(), expected);
        let problems: Vec<_> = walked.problems.iter().map(|p| p.what.as_str()).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("control character") && problems[1].contains("not UTF-8"), "{problems:?}");
        assert_eq!(walked.unseen, []);
    }
    let (seen, walked) = walk(&home, 1);
    assert!(seen.iter().any(|(p, _)| p == "b/c") && !seen.iter().any(|(p, _)| p == "b/c/d"));
    assert_eq!(walked.unseen, [rel("workspaces/b/c")], "too deep is unknown, not empty");

    let nothing = &mut |_: RelPath, _: &Entry| panic!("nothing to show");
    assert_eq!(home.walk(&rel("none"), 8, nothing).unwrap_err().kind(), ErrorKind::NotFound);
    refused(home.walk(&rel("workspaces/link"), 8, nothing), "is a symlink");
    refused(home.walk(&rel("workspaces/a.md"), 8, nothing), "is a file");
}

/// Files and folders appear and vanish at full speed: the walk returns no error and no problem, and sees the file that
/// stays each time.
#[test]
fn what_comes_and_goes_is_no_problem() {
    let (_dir, home) = new_home();
    let at = home.root().join("workspaces");
    home.create_dir_all(&rel("workspaces/stays")).unwrap();
    std::fs::write(at.join("stays/x.md"), "x").unwrap();
    let until = Instant::now() + Duration::from_millis(400);
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if Instant::now() > until {
                    break;
                }
                let folder = at.join(format!("goes-{}", n % 7));
                std::fs::create_dir(&folder).unwrap();
                std::fs::write(folder.join("y.md"), "y").unwrap();
                std::fs::remove_dir_all(&folder).unwrap();
            }
        });
        while Instant::now() < until {
            let (seen, walked) = walk(&home, 8);
            assert_eq!(walked, Walked::default());
            assert!(seen.iter().any(|(p, _)| p == "stays/x.md"), "{seen:?}");
            rounds += 1;
        }
    });
    assert!(rounds > 10, "{rounds}");
}

/// A file that is written to while it is read is never returned half old and half new with a stamp.
#[test]
fn a_stamp_stands_for_the_bytes_that_were_read() {
    let (_dir, home) = new_home();
    let (x, at) = (rel("workspaces/x"), home.root().join("workspaces/x"));
    let version = |n: u8| vec![b'a' + n % 26; 60_000 + usize::from(n)];
    std::fs::write(&at, version(0)).unwrap();
    let until = Instant::now() + Duration::from_millis(400);
    let (mut whole, mut busy) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::os::unix::fs::FileExt;
            let file = std::fs::File::options().write(true).open(&at).unwrap();
            for n in 0.. {
                if Instant::now() > until {
                    break;
                }
                let bytes = version(n as u8);
                file.set_len(0).unwrap();
                for (i, part) in bytes.chunks(10_000).enumerate() {
                    file.write_all_at(part, i as u64 * 10_000).unwrap();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        while Instant::now() < until {
            match home.read_with_stamp(&x, CAP) {
                Ok(Some((bytes, stamp))) => {
                    assert_eq!(bytes.len() as u64, stamp.size);
                    assert!(bytes.iter().all(|b| *b == bytes[0]), "two versions in one");
                    whole += 1;
                }
                Ok(None) => panic!("it is always there"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
                    busy += 1;
                }
            }
        }
    });
    println!("{whole} read whole, {busy} busy");
    assert!(whole > 10);
    assert_eq!(home.read_with_stamp(&rel("workspaces/none"), CAP).unwrap(), None);
    assert_eq!(home.read_with_stamp(&rel("none/none"), CAP).unwrap(), None);
}
