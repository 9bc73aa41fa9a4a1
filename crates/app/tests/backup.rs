//! `heirloom backup` and `restore --from`, `export --all` and its way back: taken while programs write, compared, put back,
//! equal byte for byte; and nothing half put back, whatever is wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use age::secrecy::ExposeSecret as _;

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
    assert!(said.contains("Back again in"), "{said}");
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

/// What is in a folder, by the paths below it.
fn below(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    listing(folder).into_iter().map(|(path, is)| (path.strip_prefix(folder).unwrap().to_owned(), is)).collect()
}

/// The names in the user's folder: what an attempt left there is among them.
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
    // What a disk did to the earlier copy does not go on into the next.
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
        below(&user.join("before/files"))
    };
    let phrase = user.join("phrase");
    fs::write(&phrase, "correct horse battery\n").unwrap();
    fs::set_permissions(&phrase, fs::Permissions::from_mode(0o644)).unwrap();
    let sealed = user.join("by-phrase.tar.zst.age");
    let by_phrase = ["backup", text(&sealed), "--passphrase-file", text(&phrase)];
    assert!(world.says(3, &by_phrase).contains("can be read by others"));
    fs::set_permissions(&phrase, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(world.says(2, &["backup", text(&user.join("d")), "--passphrase-file", text(&phrase)]).contains(".age"));
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
    // Cut, and one bit of it another.
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
    ]
    .iter()
    .enumerate()
    {
        let home = user.join(format!("again{n}"));
        world.says(0, &[&["--home", text(&home), "restore", "--from"], from.as_slice()].concat());
        assert_eq!(world.json(&["--home", text(&home), "verify"])["ok"], true);
        let out = user.join(format!("out{n}"));
        world.json(&["--home", text(&home), "export", "--all", text(&out)]);
        assert_eq!(below(&out.join("files")), before);
    }
}

/// Runs it where no file may become longer than so many blocks of 512 bytes: the next write fails as on a full disk.
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
        // A disk that is not there is not made up.
        assert!(world.says(4, &["backup"]).contains("is not there"));
        assert!(!disk.exists());
        assert!(world.says(1, &["status"]).contains("backup of"), "status says that one failed");
        fs::create_dir(&disk).unwrap();
        let first = PathBuf::from(world.json(&["backup"])["backup"].as_str().unwrap());
        let name = first.file_name().unwrap().to_str().unwrap().to_owned();
        let mark = &name[..name.find("-20").unwrap() + 1];
        // Not ours: other names, other memories', and those a person has named.
        let others = [
            format!("{mark}of-grandmother.tar.zst.age"),
            format!("{mark}2020-01-01T00-00-00.000Z-kept{}", if n == 0 { "" } else { ".tar.zst.age" }),
            "heirloom-00000000-2020-01-01T00-00-00.000Z".to_owned(),
            "photographs".to_owned(),
        ];
        for other in &others {
            fs::write(disk.join(other), "mine").unwrap();
        }
        // From the future, as the clock was set back since: it is one of the two that stay, and the newest is the other.
        let future = disk.join(name.replace("-20", "-29"));
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
    // The same once more is the same.
    world.json(&["export", "--all", text(&user.join("once-more"))]);
    assert!(below(&first) == below(&user.join("once-more")), "the same memory gives another export");
    assert!(world.says(3, &["export", "--all", text(&first)]).contains("is not empty"));
    assert!(world.says(2, &["export", "--all"]).contains("into a folder"));

    // Sessions byte for byte, and turns that a line of Python reads.
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
    // It goes on: what a program wrote since is added, what it had written before is known.
    let again = world.json(&["--home", text(&home), "import", text(&sessions)]);
    assert_eq!(again["turns"].as_u64(), Some(0), "{again}");
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
    // A list that fits, and rows that do not.
    let odd = b"{\"turn_no\":1}\n".to_vec();
    let of = |bytes: &[u8]| format!("\"bytes\": {},\n      \"digest\": \"{}\"", bytes.len(), digest(bytes));
    assert!(list.contains(&of(&whole)), "{list}");
    fs::write(&turns, &odd).unwrap();
    fs::write(&at, list.replace(&of(&whole), &of(&odd))).unwrap();
    assert!(world.says(5, &import).contains("no row of it"));
    fs::write(&turns, &whole).unwrap();
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
