//! `heirloom backup` with `restore --from`, and `export --all` with `import`: taken while programs write, and equal byte
//! for byte when restored. A damaged backup or export restores nothing at all.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use age::secrecy::ExposeSecret as _;
use heirloom_testkit::Rng;

use crate::world::{HEIRLOOM, World, claude_line, let_it_settle, listing};

fn told(world: &World, sessions: usize) -> std::path::PathBuf {
    let folder = world.test.folder("sessions");
    for n in 0..sessions {
        let session = format!("{n:08}-0000-4000-8000-000000000000");
        let lines: String = (0..20)
            .map(|i| {
                claude_line(&session, i, if i % 2 == 0 { "user" } else { "assistant" }, &format!("{n} says {i}")) + "\n"
            })
            .collect();
        fs::write(folder.join(format!("{session}.jsonl")), lines).unwrap();
    }
    let_it_settle();
    folder
}

#[test]
fn a_backup_taken_under_load_is_put_back_equal() {
    let world = World::new();
    let folder = told(&world, 12);
    world.json(&["remember", "--class", "preference", "Answer in short sentences"]);
    world.json(&["import", folder.join("00000000-0000-4000-8000-000000000000.jsonl").to_str().unwrap()]);
    // Another process stores the rest meanwhile.
    let mut import = world.test.command(HEIRLOOM);
    import.args(["import", folder.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().unwrap();
    let copy = world.test.user().join("copy");
    let to = copy.to_str().unwrap().to_owned();
    let report = world.json(&["backup", &to]);
    import.wait().unwrap();
    assert_eq!(report["backup"], to);
    assert!(report["files"].as_u64().unwrap() > 5, "{report}");
    for (path, _) in listing(&copy) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    let full = folder.to_str().unwrap();
    assert!(world.says(3, &["backup", full]).contains("is not empty"));
    assert!(world.says(3, &["backup", world.test.home().join("b").to_str().unwrap()]).contains("inside the home"));

    let other = world.test.user().join("other");
    let home = other.to_str().unwrap().to_owned();
    let said = world.says(0, &["--home", &home, "restore", "--from", &to]);
    assert!(said.contains("Restored into"), "{said}");
    assert_eq!(world.json(&["--home", &home, "verify"])["ok"], true);
    let sessions = world.json(&["--home", &home, "session", "list", "-n", "1000"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert!(!sessions.is_empty());
    for session in sessions {
        let key = session["session"].as_str().unwrap();
        let path = folder.join(format!("{}.jsonl", key.split(':').nth(1).unwrap()));
        let out = world.run(&["--home", &home, "export", "--session", key]);
        let file = fs::read_to_string(&path).unwrap();
        assert!(file.starts_with(&out.stdout) && !out.stdout.is_empty(), "{key} came back as something else");
    }
    assert!(world.says(0, &["--home", &home, "memory", "list"]).contains("Answer in short sentences"));
    assert!(world.says(3, &["--home", &home, "restore", "--from", &to]).contains("has a memory already"));
}

/// The advice of `verify` and of a command's warning works in a home that lost its ledger, and nothing that was left is
/// lost.
#[test]
fn a_home_that_lost_its_ledger_is_restored_in_place() {
    let world = World::new();
    world.feed(&["append"], b"{\"session\":\"s\",\"text\":\"the barn is red\"}\n");
    world.json(&["loop", "add", "Paint the barn"]);
    let to = world.test.user().join("copy").to_str().unwrap().to_owned();
    world.json(&["backup", &to]);
    let home = world.test.home();
    let restore = ["restore", "--from", &to];
    let lose = || {
        for name in ["runtime.db", "runtime.db-wal", "runtime.db-shm"] {
            let _ = fs::remove_file(home.join("state").join(name));
        }
    };
    // Since the backup only its own row of the audit was written, so nothing has to be set aside.
    lose();
    assert!(world.json(&restore)["aside"].is_null());
    world.verified();
    world.json(&["loop", "add", "Later than the backup"]);
    for made_anew in [false, true] {
        lose();
        if made_anew {
            world.says(1, &["status"]);
            world.json(&["loop", "add", "Into the new one"]);
        } else {
            assert!(world.says(5, &["verify"]).contains(&format!("heirloom restore --from {to}")));
        }
        let report = world.json(&restore);
        assert_eq!(report["ok"], true, "{report}");
        world.verified();
        assert!(home.join("state/index.db").is_file(), "the index is not made");
        let loops = world.says(0, &["loop", "list"]);
        assert!(loops.contains("Paint the barn") && !loops.contains("Later"), "{loops}");
        assert!(world.says(0, &["search", "barn red"]).contains("**barn**"));
        let aside = PathBuf::from(report["aside"].as_str().unwrap());
        let left = below(&aside.join("workspaces/main/continuity/open-loops"));
        assert!(
            left.keys().any(|path| path.to_string_lossy().contains(["later", "new"][usize::from(made_anew)])),
            "{left:?}"
        );
        assert_eq!(aside.join("state/runtime.db").exists(), made_anew);
        assert!(world.says(3, &restore).contains("has a memory already"));
    }
}

#[test]
fn a_backup_that_was_changed_is_not_put_back() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    let copy = world.test.user().join("copy");
    let to = copy.to_str().unwrap().to_owned();
    world.json(&["backup", &to]);
    let page = copy.join("workspaces/main/MEMORY.md");
    let text = fs::read(&page).unwrap();
    let other = world.test.user().join("other");
    let restore = ["--home", other.to_str().unwrap(), "restore", "--from", &to];
    fs::write(&page, "changed").unwrap();
    assert!(world.says(5, &restore).contains("is not what was backed up"));
    fs::remove_file(&page).unwrap();
    assert!(world.says(5, &restore).contains("is missing"));
    assert!(!other.exists(), "nothing was begun");
    let list = fs::read_to_string(copy.join("backup.json")).unwrap();
    fs::write(copy.join("backup.json"), list.replace("workspaces/main/MEMORY.md", "../MEMORY.md")).unwrap();
    world.says(5, &restore);
    fs::write(copy.join("backup.json"), list).unwrap();
    fs::write(&page, text).unwrap();
    world.says(0, &restore);
    assert!(world.says(4, &["restore", "--from", "/nowhere"]).contains("is no backup"));
}

/// Reads every file below a folder into a map from relative path to content.
fn below(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    listing(folder).into_iter().map(|(path, is)| (path.strip_prefix(folder).unwrap().to_owned(), is)).collect()
}

/// Lists the names in the user's folder, where a failed restore would leave its temporary files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A memory with sessions, a memory and an open loop.
fn lived_in(sessions: usize) -> World {
    let world = World::new();
    let folder = told(&world, sessions);
    world.json(&["import", text(&folder)]);
    world.json(&["remember", "--class", "preference", "Answer in short sentences"]);
    world.json(&["loop", "add", "Paint the barn"]);
    world
}

#[test]
fn into_the_same_folder_only_what_changed_is_written() {
    let world = lived_in(30);
    let copy = world.test.user().join("copy");
    let to = text(&copy);
    let first = world.json(&["backup", to]);
    assert_eq!(first["reused"], 0);
    world.json(&["loop", "add", "Mend the gate"]);
    let second = world.json(&["backup", to]);
    let (reused, bytes) = (second["reused"].as_u64().unwrap(), second["bytes"].as_u64().unwrap());
    assert!(reused > 500 && reused < bytes, "{second}");
    assert_eq!(names(&world.test.user()).iter().filter(|name| name.contains("copy")).count(), 1);
    let other = world.test.user().join("other");
    world.says(0, &["--home", text(&other), "restore", "--from", to]);
    assert!(world.says(0, &["--home", text(&other), "loop", "list"]).contains("Mend the gate"));
    // A damaged file of the earlier backup is not linked into the next: its bytes are written again.
    let page = copy.join("config.toml");
    let piece = if page.exists() { page } else { copy.join("state/runtime.db.000000") };
    let mut bytes = fs::read(&piece).unwrap();
    bytes[100] ^= 1;
    fs::write(&piece, bytes).unwrap();
    world.json(&["backup", to]);
    let third = world.test.user().join("third");
    world.says(0, &["--home", text(&third), "restore", "--from", to]);
    // Another memory's folder is not taken over.
    let stranger = World::new();
    stranger.json(&["loop", "add", "Something else"]);
    assert!(stranger.says(3, &["backup", to]).contains("no backup of this memory"));
}

#[test]
fn a_backup_in_one_file_is_put_back_with_its_key_only() {
    let world = lived_in(4);
    let user = world.test.user();
    let before = {
        world.json(&["export", "--all", text(&user.join("before"))]);
        below(&user.join("before"))
    };
    let phrase = user.join("phrase");
    fs::write(&phrase, "correct horse battery\n").unwrap();
    fs::set_permissions(&phrase, fs::Permissions::from_mode(0o644)).unwrap();
    let sealed = user.join("by-phrase.tar.zst.age");
    let by_phrase = ["backup", text(&sealed), "--passphrase-file", text(&phrase)];
    assert!(world.says(3, &by_phrase).contains("can be read by others"));
    fs::set_permissions(&phrase, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(world.says(2, &["backup", text(&user.join("d")), "--passphrase-file", text(&phrase)]).contains(".age"));
    let said = world.says(2, &["backup", text(&user.join("d.tar.zst")), "--passphrase-file", text(&phrase)]);
    assert!(said.contains("d.tar.zst.age") && !said.contains("zst.tar"), "{said}");
    let said = world.says(2, &["backup", text(&user.join("d.zip"))]);
    assert!(said.contains("would be a folder") && !user.join("d.zip").exists(), "{said}");
    assert!(world.says(2, &["backup", text(&sealed)]).contains("nothing says what to encrypt it with"));
    assert!(!sealed.exists());
    let report = world.json(&by_phrase);
    assert_eq!(report["packed"].as_u64(), Some(fs::metadata(&sealed).unwrap().len()));
    assert!(world.says(3, &by_phrase).contains("is there already"));

    let identity = age::x25519::Identity::generate();
    let (mine, other) = (user.join("key"), user.join("other-key"));
    fs::write(&mine, format!("# made by hand\n{}\n", identity.to_string().expose_secret())).unwrap();
    fs::write(&other, age::x25519::Identity::generate().to_string().expose_secret()).unwrap();
    let for_me = user.join("for-me.tar.zst.age");
    world.json(&["backup", text(&for_me), "--recipient", &identity.to_public().to_string()]);
    let plain = user.join("plain.tar.zst");
    world.json(&["backup", text(&plain)]);
    let in_folder = user.join("in-folder");
    world.json(&["backup", text(&in_folder)]);
    let wrong_phrase = user.join("wrong-phrase");
    fs::write(&wrong_phrase, "correct horse bakery").unwrap();
    fs::set_permissions(&wrong_phrase, fs::Permissions::from_mode(0o600)).unwrap();

    let there = names(&user);
    let home = user.join("again");
    for file in [&sealed, &for_me, &plain] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let is_readable = fs::read(file).unwrap().windows(15).any(|w| w == b"Paint the barn.");
        assert!(!is_readable, "{}", file.display());
    }
    let refused = [
        (3, vec![text(&sealed)], "passphrase"),
        (3, vec![text(&sealed), "--passphrase-file", text(&wrong_phrase)], "not the passphrase"),
        (3, vec![text(&sealed), "--identity", text(&mine)], "with a passphrase"),
        (3, vec![text(&for_me)], "--identity"),
        (3, vec![text(&for_me), "--identity", text(&other)], "another key"),
        (2, vec![text(&for_me), "--identity", text(&phrase)], "no age key"),
    ];
    for (code, from, why) in &refused {
        let said = world.says(*code, &[&["--home", text(&home), "restore", "--from"], from.as_slice()].concat());
        assert!(said.contains(why), "{from:?}: {said}");
        let secret = identity.to_string();
        assert!(!said.contains(&secret.expose_secret()[20..]) && !said.contains("horse"), "{said}");
    }
    // An archive that was cut, and one with a flipped bit.
    let broken = user.join("broken");
    for file in [&for_me, &plain] {
        let whole = fs::read(file).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() * 2 / 3] ^= 4;
        for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], &flipped, b"", b"no backup"] {
            fs::write(&broken, bytes).unwrap();
            world.says(5, &["--home", text(&home), "restore", "--from", text(&broken), "--identity", text(&mine)]);
        }
    }
    fs::remove_file(&broken).unwrap();
    assert_eq!(names(&user), there, "nothing was begun, and nothing was left");

    for (n, from) in [
        vec![text(&sealed), "--passphrase-file", text(&phrase)],
        vec![text(&for_me), "--identity", text(&mine)],
        vec![text(&plain)],
        vec![text(&in_folder)],
    ]
    .iter()
    .enumerate()
    {
        let home = user.join(format!("again{n}"));
        let restored = world.json(&[&["--home", text(&home), "restore", "--from"], from.as_slice()].concat());
        assert_eq!((&restored["ok"], restored["findings"].as_array().unwrap().len()), (&true.into(), 0));
        // Every row of every table and every file is equal, except the audit rows that record the backups themselves.
        let out = user.join(format!("out{n}"));
        world.json(&["--home", text(&home), "export", "--all", text(&out)]);
        let after = below(&out);
        for (path, bytes) in &before {
            let of_the_backups =
                ["ledger/audit.jsonl", "ledger/seals.jsonl", "ledger/sqlite_sequence.jsonl", "export.json"];
            match of_the_backups.iter().any(|name| path == Path::new(name)) {
                true => assert!(after[path].as_ref().unwrap().len() >= bytes.as_ref().unwrap().len() - 1),
                false => assert!(after.get(path) == Some(bytes), "{n}: {} came back as another", path.display()),
            }
        }
        assert_eq!(after.len(), before.len());
        let audit = |all: &BTreeMap<PathBuf, Option<Vec<u8>>>| all[Path::new("ledger/audit.jsonl")].clone().unwrap();
        assert!(audit(&after).starts_with(&audit(&before)), "{n}: the chain is another");
        assert_eq!(world.json(&["--home", text(&home), "verify", "--full"])["ok"], true);
    }
}

/// Hooks and commands write while one backup after another is made: each is of one moment.
#[test]
fn every_backup_taken_while_others_write_is_of_one_moment() {
    let world = lived_in(6);
    let user = world.test.user();
    let sessions = world.test.folder("sessions");
    let done = std::sync::atomic::AtomicBool::new(false);
    let copies: Vec<PathBuf> = (0..6).map(|n| user.join(format!("copy{n}{}", [".tar.zst", ""][n % 2]))).collect();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (world, sessions, done) = (&world, &sessions, &done);
                scope.spawn(move || {
                    let mut wrote = 0;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        let word = format!("writer {writer} line {wrote}");
                        let session = format!("{writer:08}-0000-4000-8000-000000000000");
                        let path = sessions.join(format!("{session}.jsonl"));
                        let mut file = fs::File::options().append(true).open(&path).unwrap();
                        std::io::Write::write_all(
                            &mut file,
                            (claude_line(&session, 100 + wrote, "user", &word) + "\n").as_bytes(),
                        )
                        .unwrap();
                        match wrote % 3 {
                            0 => world.run(&["loop", "add", &word]),
                            1 => world.run(&["import", text(&path)]),
                            _ => world.run(&["remember", "--class", "preference", &word]),
                        };
                        wrote += 1;
                    }
                    wrote
                })
            })
            .collect();
        for copy in &copies {
            // A command exits 75 when another one holds the lock of the pages too long: it is repeated.
            while world.run(&["backup", text(copy)]).status == Some(75) {}
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        let wrote: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        assert!(wrote > 10, "{wrote}");
    });
    let mut rows = Vec::new();
    for (n, copy) in copies.iter().enumerate() {
        let home = user.join(format!("again{n}"));
        let restored = world.json(&["--home", text(&home), "restore", "--from", text(copy)]);
        assert_eq!(restored["ok"], true, "{n}: {restored}");
        let verified = world.json(&["--home", text(&home), "verify", "--full"]);
        assert_eq!(verified["ok"], true, "{n}: {verified}");
        rows.push(verified["checked"]["audit_rows"].as_i64().unwrap());
    }
    assert!(rows.is_sorted() && rows[0] < rows[5], "others wrote between them: {rows:?}");
}

/// Kills a command at a random moment of its run time. Returns whether it was killed before it ended.
fn killed(world: &World, args: &[&str], took: Duration, rng: &mut Rng) -> bool {
    let mut command = world.test.command(HEIRLOOM);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(took.mul_f64(rng.below(1000) as f64 / 1000.0));
    let killed = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    killed
}

#[test]
fn what_is_killed_leaves_nothing_half_under_its_name() {
    let world = lived_in(60);
    let user = world.test.user();
    let mut rng = Rng::new(5);
    let timed = |args: &[&str]| {
        let began = Instant::now();
        world.says(0, args);
        began.elapsed()
    };
    let (folder, packed, all) = (user.join("folder"), user.join("packed.tar.zst"), user.join("all"));
    let took = [
        timed(&["backup", text(&folder)]),
        timed(&["backup", text(&packed)]),
        timed(&["export", "--all", text(&all)]),
        timed(&["--home", text(&user.join("one")), "restore", "--from", text(&folder)]),
        timed(&["--home", text(&user.join("two")), "restore", "--from", text(&packed)]),
        timed(&["--home", text(&user.join("three")), "import", text(&all)]),
    ];
    let mut interrupted = [0; 6];
    for trial in 0..8 {
        // A killed backup over an earlier one leaves either the old or the new one, whole.
        world.says(0, &["loop", "add", &format!("Mend the gate, the {trial}th time")]);
        let (p, e) = (user.join(format!("p{trial}.tar.zst")), user.join(format!("e{trial}")));
        let writes = [vec!["backup", text(&folder)], vec!["backup", text(&p)], vec!["export", "--all", text(&e)]];
        for (n, args) in writes.iter().enumerate() {
            let to = Path::new(args[args.len() - 1]);
            interrupted[n] += usize::from(killed(&world, args, took[n], &mut rng));
            if !to.exists() {
                assert!(n > 0, "the earlier backup is gone");
                world.says(0, args);
            }
            let home = user.join(format!("from{n}-{trial}"));
            let home_of = ["--home", text(&home)];
            let back = if n == 2 { ["import", text(to)].to_vec() } else { ["restore", "--from", text(to)].to_vec() };
            world.says(0, &[home_of.as_slice(), &back].concat());
            fs::remove_dir_all(&home).unwrap();
        }
        // A killed restore leaves no memory or a whole one, and repeating the command completes it.
        let backs = [
            vec!["restore", "--from", text(&folder)],
            vec!["restore", "--from", text(&packed)],
            vec!["import", text(&all)],
        ];
        for (n, back) in backs.iter().enumerate() {
            let home = user.join(format!("back{n}-{trial}"));
            let args = [["--home", text(&home)].as_slice(), back].concat();
            interrupted[n + 3] += usize::from(killed(&world, &args, took[n + 3], &mut rng));
            if !home.join("state/runtime.db").exists() {
                world.says(0, &args);
            }
            // One that was killed after its ledger was in place may lack its index, which is derived.
            let verified = world.run(&["--home", text(&home), "verify"]);
            assert!(matches!(verified.status, Some(0 | 1)), "{n} in trial {trial}: {verified:?}");
            world.says(0, &["--home", text(&home), "reindex"]);
            assert_eq!(world.json(&["--home", text(&home), "verify"])["ok"], true, "{n} in trial {trial}");
            fs::remove_dir_all(&home).unwrap();
        }
    }
    println!("{interrupted:?} of 8 each were killed; undisturbed: {took:?}");
    assert!(interrupted.iter().all(|n| *n > 0), "{interrupted:?} of 8 each ({took:?})");
}

/// Runs a command with a limit on the length of files (`ulimit -f`, in blocks of 512 bytes), so that a write fails as on a
/// full disk.
fn with_little_room(world: &World, blocks: u32, args: &[&str]) -> (Option<i32>, String) {
    let mut command = world.test.command("/bin/sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, HEIRLOOM]).args(args);
    let out = heirloom_testkit::run(command, b"");
    (out.status, out.stdout + &out.stderr)
}

#[test]
fn a_disk_that_is_full_leaves_nothing_half_done() {
    let world = lived_in(4);
    let user = world.test.user();
    let (copy, packed) = (user.join("copy"), user.join("copy.tar.zst"));
    let there = names(&user);
    for to in [&copy, &packed] {
        let (status, said) = with_little_room(&world, 200, &["backup", text(to)]);
        assert_eq!(status, Some(1), "{said}");
        assert_eq!(names(&user), there, "{said}");
    }
    assert_eq!(world.json(&["verify"])["ok"], true);
    world.json(&["backup", text(&copy)]);
    world.json(&["backup", text(&packed)]);
    world.json(&["export", "--all", text(&user.join("all"))]);
    let there = names(&user);
    for (n, args) in [["restore", "--from", text(&copy)], ["restore", "--from", text(&packed)]].iter().enumerate() {
        let home = user.join(format!("again{n}"));
        let (status, said) = with_little_room(&world, 200, &[&["--home", text(&home)], args.as_slice()].concat());
        assert_eq!(status, Some(1), "{said}");
        let left = if home.exists() { below(&home) } else { BTreeMap::new() };
        assert!(!left.iter().any(|(path, is)| is.is_some() && !path.starts_with("config.toml")), "{:?}", left.keys());
        world.says(0, &[&["--home", text(&home)], args.as_slice()].concat());
        fs::remove_dir_all(&home).unwrap();
    }
    let home = user.join("again");
    let (status, said) = with_little_room(&world, 200, &["--home", text(&home), "import", text(&user.join("all"))]);
    assert_eq!(status, Some(1), "{said}");
    world.says(0, &["--home", text(&home), "import", text(&user.join("all"))]);
    assert!(home.join("state/audit.head").is_file(), "the end of the audit is noted");
    fs::remove_dir_all(&home).unwrap();
    assert_eq!(names(&user), there);
}

#[test]
fn of_those_made_by_themselves_so_many_are_kept_and_nothing_else_is_touched() {
    let world = lived_in(1);
    let user = world.test.user();
    let config = world.test.home().join("config.toml");
    assert!(world.says(2, &["backup"]).contains("no section backup"));
    let key = age::x25519::Identity::generate().to_public();
    for (n, how) in [String::new(), format!("recipients = [\"{key}\"]")].iter().enumerate() {
        let disk = user.join(format!("disk{n}"));
        fs::write(&config, format!("[backup]\nto = \"{}\"\nkeep = 2\n{how}\n", disk.display())).unwrap();
        // A missing folder (a disk that is not mounted) is an error and is not created.
        assert!(world.says(4, &["backup"]).contains("is not there"));
        assert!(!disk.exists());
        assert!(world.says(1, &["status"]).contains("backup of"), "status says that one failed");
        fs::create_dir(&disk).unwrap();
        let first = PathBuf::from(world.json(&["backup"])["backup"].as_str().unwrap());
        let name = first.file_name().unwrap().to_str().unwrap().to_owned();
        // A mark is eight random hex digits and may begin with "20" as the year does.
        let (mark, moment) = name.split_at("heirloom-01234567-".len());
        assert!(moment.starts_with("20"), "{name}");
        // Rotation leaves other files alone: foreign names, other memories' backups, and names a person gave.
        let others = [
            format!("{mark}of-grandmother.tar.zst.age"),
            format!("{mark}2020-01-01T00-00-00.000Z-kept{}", if n == 0 { "" } else { ".tar.zst.age" }),
            "heirloom-00000000-2020-01-01T00-00-00.000Z".to_owned(),
            "photographs".to_owned(),
        ];
        for other in &others {
            fs::write(disk.join(other), "mine").unwrap();
        }
        // The clock was set back, so one backup is from the future: it and the newest one are the two that stay.
        let future = disk.join(format!("{mark}29{}", &moment[2..]));
        fs::rename(&first, &future).unwrap();
        let mut newest = PathBuf::new();
        for _ in 0..4 {
            newest = PathBuf::from(world.json(&["backup"])["backup"].as_str().unwrap());
            assert!(newest.exists());
        }
        let mut expected: Vec<String> = others.to_vec();
        expected.extend([&future, &newest].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()));
        expected.sort();
        assert_eq!(names(&disk), expected);
        for other in &others {
            assert_eq!(fs::read_to_string(disk.join(other)).unwrap(), "mine");
        }
        assert!(!world.says(0, &["status"]).contains("failed"));
    }
    fs::write(&config, "[backup]\nto = \"here\"\n").unwrap();
    assert!(world.says(2, &["backup"]).contains("no whole path"));
}

#[test]
fn everything_in_plain_files_becomes_a_memory_that_is_the_same() {
    let world = lived_in(12);
    let user = world.test.user();
    let first = user.join("first");
    let report = world.json(&["export", "--all", text(&first)]);
    assert_eq!((report["sessions"].as_u64(), report["turns"].as_u64()), (Some(12), Some(240)), "{report}");
    for (path, _) in listing(&first) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    // A second export of the same memory has the same bytes.
    world.json(&["export", "--all", text(&user.join("once-more"))]);
    assert!(below(&first) == below(&user.join("once-more")), "the same memory gives another export");
    assert!(world.says(3, &["export", "--all", text(&first)]).contains("is not empty"));
    assert!(world.says(2, &["export", "--all"]).contains("into a folder"));

    // Sessions are exported byte for byte, and a line of Python can read the turns.
    let sessions = world.test.folder("sessions");
    let session = first.join("sessions/main");
    let whole: Vec<u8> = below(&session).into_values().flatten().flatten().collect();
    for n in 0..12 {
        let file = fs::read(sessions.join(format!("{n:08}-0000-4000-8000-000000000000.jsonl"))).unwrap();
        assert!(whole.windows(file.len()).any(|w| w == file), "session {n}");
    }
    let turns = fs::read_to_string(first.join("turns.jsonl")).unwrap();
    let turn: serde_json::Value = serde_json::from_str(turns.lines().nth(3).unwrap()).unwrap();
    assert!(turn["text"].as_str().unwrap().contains("says"), "{turn}");

    let home = user.join("again");
    let import = ["--home", text(&home), "import", text(&first)];
    let said = world.says(0, &import);
    assert!(said.contains("Verified: everything is as it was stored"), "{said}");
    let second = user.join("second");
    world.json(&["--home", text(&home), "export", "--all", text(&second)]);
    let (a, b) = (below(&first), below(&second));
    let other: Vec<_> = a.keys().chain(b.keys()).filter(|path| a.get(*path) != b.get(*path)).collect();
    assert_eq!(other, Vec::<&PathBuf>::new(), "what came back is another memory");
    assert!(world.says(0, &["--home", text(&home), "memory", "list"]).contains("Answer in short sentences"));
    assert!(world.says(0, &["--home", text(&home), "search", "says 7"]).contains("**says**"));
    assert!(world.says(3, &import).contains("has a memory already"));
    // The imported home goes on: an import adds the lines written since, and finds the earlier ones known.
    let again = world.json(&["--home", text(&home), "import", text(&sessions)]);
    assert_eq!((again["turns"]["new"].as_u64(), &again["sources"]["unchanged"]), (Some(0), &12.into()), "{again}");
}

/// A home with sub-agents, a file of two sessions, a rewritten file, forgotten turns, a memory with a history, and threads.
#[test]
fn whatever_a_memory_has_seen_comes_back_from_an_export() {
    let world = lived_in(3);
    let folder = world.test.folder("sessions");
    let (one, two) = ("aaaaaaaa-0000-4000-8000-000000000000", "bbbbbbbb-0000-4000-8000-000000000000");
    let mixed: String = (0..8)
        .map(|n| {
            claude_line([one, two][n / 4], n, ["user", "assistant"][n % 2], &format!("mixed {n} äöü \u{1f600}")) + "\n"
        })
        .collect();
    let path = folder.join(format!("{one}.jsonl"));
    fs::write(&path, &mixed).unwrap();
    let lane = folder.join(one).join("subagents");
    fs::create_dir_all(&lane).unwrap();
    let aside =
        claude_line(one, 20, "user", "look at the barn aside").replace("\"isSidechain\":false", "\"isSidechain\":true");
    fs::write(lane.join("agent-a1b2c3d4e5f6a7b8c.jsonl"), aside + "\n").unwrap();
    let_it_settle();
    world.run(&["import", text(&folder)]);
    fs::write(&path, mixed.replace("mixed 2", "other 2") + "{unfinished").unwrap();
    let_it_settle();
    world.run(&["import", text(&folder)]);
    world.run(&["forget", "--match", "1 says 3", "--yes"]);
    world.json(&["remember", "--class", "preference", "Answer in long sentences"]);
    world.feed(&["import", "-"], br#"{"session":"by-hand","role":"user","text":"told by hand"}"#);
    world.says(0, &["session", "list"]);

    let user = world.test.user();
    let (first, second, home) = (user.join("first"), user.join("second"), user.join("again"));
    let report = world.json(&["export", "--all", text(&first)]);
    assert_eq!(report["left_out"].as_array().map(Vec::len), Some(0), "{report}");
    let made = world.json(&["--home", text(&home), "import", text(&first)]);
    assert_eq!((&made["ok"], made["files"].as_u64()), (&true.into(), report["files"].as_u64()), "{made}");
    world.json(&["--home", text(&home), "export", "--all", text(&second)]);
    assert!(below(&first) == below(&second), "what came back is another memory");
    // Commands print the same about both homes.
    for args in [
        ["session", "list"].as_slice(),
        &["loop", "list"],
        &["memory", "list"],
        &["thread", "list"],
        &["search", "mixed"],
    ] {
        let there = world.says(0, &[&["--home", text(&home)], args].concat());
        assert_eq!(world.says(0, args), there, "{args:?}");
    }
    for key in world.sessions() {
        let there = world.json(&["--home", text(&home), "show", "--session", &key]);
        assert_eq!(world.json(&["show", "--session", &key])["turns"], there["turns"], "{key}");
        let there = world.run(&["--home", text(&home), "export", "--session", &key]);
        let here = world.run(&["export", "--session", &key]);
        assert_eq!((here.status, here.stdout), (there.status, there.stdout), "{key}");
    }
    assert_eq!(world.json(&["--home", text(&home), "verify", "--full"])["ok"], true);
    let all = fs::read_to_string(first.join("turns.jsonl")).unwrap();
    assert!(all.contains("told by hand") && all.contains("aside") && all.contains("\u{1f600}"));
    assert!(!all.contains("1 says 3"), "what was forgotten is in no export");
}

#[test]
fn an_export_that_was_changed_becomes_no_memory() {
    let world = lived_in(1);
    let user = world.test.user();
    let all = user.join("all");
    world.json(&["export", "--all", text(&all)]);
    let home = user.join("again");
    let import = ["--home", text(&home), "import", text(&all)];
    let turns = all.join("ledger/turns.jsonl");
    let whole = fs::read(&turns).unwrap();
    for bytes in [&whole[..whole.len() - 1], b""] {
        fs::write(&turns, bytes).unwrap();
        assert!(world.says(5, &import).contains("is not what was exported"));
    }
    fs::remove_file(&turns).unwrap();
    world.says(5, &import);
    fs::write(&turns, &whole).unwrap();
    let at = all.join("export.json");
    let list = fs::read_to_string(&at).unwrap();
    let digest = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    // The list of files is right, and a row of a table is not.
    let odd = b"{\"turn_no\":1}\n".to_vec();
    let of = |bytes: &[u8]| format!("\"bytes\": {},\n      \"digest\": \"{}\"", bytes.len(), digest(bytes));
    assert!(list.contains(&of(&whole)), "{list}");
    fs::write(&turns, &odd).unwrap();
    fs::write(&at, list.replace(&of(&whole), &of(&odd))).unwrap();
    assert!(world.says(5, &import).contains("no row of it"));
    fs::write(&turns, &whole).unwrap();
    // The tables and the list of files agree, but `turns.jsonl` has another text than the tables.
    let readable = all.join("turns.jsonl");
    let told = fs::read(&readable).unwrap();
    let lie = String::from_utf8(told.clone()).unwrap().replacen("0 says 2", "0 says 9", 1).into_bytes();
    assert!(lie != told && list.contains(&of(&told)));
    fs::write(&readable, &lie).unwrap();
    fs::write(&at, list.replace(&of(&told), &of(&lie))).unwrap();
    let said = world.says(5, &import);
    assert!(said.contains("turns.jsonl, from line 3 on") && said.contains("take another export"), "{said}");
    fs::write(&readable, &told).unwrap();
    // A row that its seal does not match.
    let sessions = all.join("ledger/sessions.jsonl");
    let rows = fs::read(&sessions).unwrap();
    let other = String::from_utf8(rows.clone()).unwrap().replacen(
        "\"session_key\":\"claude-code:",
        "\"session_key\":\"claude-kode:",
        1,
    );
    assert!(other.as_bytes() != rows);
    fs::write(&sessions, &other).unwrap();
    fs::write(&at, list.replace(&of(&rows), &of(other.as_bytes()))).unwrap();
    world.says(5, &import);
    let _ = fs::remove_dir_all(&home);
    fs::write(&sessions, &rows).unwrap();
    for (from, to) in [("files/workspaces/main/MEMORY.md", "files/../MEMORY.md"), ("\"turns\",", "\"turnips\",")] {
        assert!(list.contains(from));
        fs::write(&at, list.replace(from, to)).unwrap();
        world.says(5, &import);
    }
    fs::write(&at, list.replace("\"v\": 1", "\"v\": 9")).unwrap();
    assert!(world.says(3, &import).contains("newer version"));
    let left = if home.exists() { below(&home) } else { BTreeMap::new() };
    assert!(!left.values().any(Option::is_some), "{:?}", left.keys());
    fs::write(&at, list).unwrap();
    world.says(0, &import);
}
