//! Visible files under the real binary: killed at every system call, several processes at once, folders exchanged
//! during commands, and other things in the place of files.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::world::{HEIRLOOM, World};

fn tree(world: &World) -> PathBuf {
    world.test.home().join("workspaces/main")
}

/// Returns every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_symlink() || !path.is_dir() { found.push(path) } else { folders.push(path) }
        }
    }
    found.sort();
    found
}

fn titles(world: &World, args: &[&str], list: &str) -> BTreeSet<String> {
    let value = world.json(args);
    value[list].as_array().unwrap().iter().map(|e| e["title"].as_str().unwrap().to_owned()).collect()
}

/// Sets a file's time back, so that it does not count as being edited.
fn rest(path: &Path) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
}

fn strace() -> bool {
    let found = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = found.is_ok_and(|s| s.success());
    if !there {
        eprintln!("skipped: there is no strace here");
    }
    there
}

#[test]
fn killed_at_any_system_call_an_act_is_done_whole_or_not_at_all() {
    if !strace() {
        return;
    }
    let world = World::new();
    world.says(0, &["loop", "add", "Started"]);
    let mut kills = 0;
    // Killing at every call takes minutes; the calls that are left out change with the day, so that each has its turn.
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    let day = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as usize / 86_400;
    for (call, stride) in
        [("renameat2", 1), ("unlinkat", 1), ("fsync", 3), ("fdatasync", 3), ("pwrite64", 40), ("openat2", 60)]
    {
        let stride = if full { 1 } else { stride };
        for n in (1 + day % stride..).step_by(stride) {
            let title = format!("{call} {n}");
            world.says(0, &["loop", "add", &title, "--text", "Words of mine."]);
            let mut command = Command::new("strace");
            let inject = format!("inject={call}:signal=KILL:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, HEIRLOOM, "loop", "resolve", &title]);
            let like = world.test.command(HEIRLOOM);
            command.env_clear().envs(like.get_envs().filter_map(|(k, v)| Some((k, v?)))).current_dir(world.test.user());
            let out = heirloom_testkit::run(command, b"");
            let killed = out.status.is_none() || out.status == Some(137);
            kills += usize::from(killed);
            // The next command finds the loop either open or resolved, once, and nothing half done.
            let open = titles(&world, &["loop", "list", "-n", "9999"], "loops").contains(&title);
            let resolved = titles(&world, &["loop", "list", "--resolved", "-n", "9999"], "loops").contains(&title);
            assert!(open != resolved, "{title}: open {open}, resolved {resolved}");
            if open {
                world.says(0, &["loop", "resolve", &title]);
            }
            if !killed {
                assert!(resolved, "{title}: {out:?}");
                break;
            }
        }
    }
    assert!(kills > 8, "{kills} kills");
    assert_eq!(world.json(&["status"])["wrong"], serde_json::json!([]));
    world.says(0, &["loop", "resolve", "Started"]);
    let archive = files(&tree(&world).join("continuity/open-loops"));
    let mut stems = BTreeSet::new();
    for file in &archive {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with('.'), "a temporary file was left: {name}");
        assert!(stems.insert(name.rsplit_once("--").unwrap().0.to_owned()), "{name} is there twice");
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("status: resolved") && text.contains("flush: "), "{text}");
        assert!(text.contains("# Started") || text.contains("Words of mine."), "{text}");
    }
    world.says(0, &["verify"]);
}

/// Regression: with twelve merges at once, one proposal ended with four entries.
#[test]
fn several_processes_at_once_lose_nothing() {
    let world = World::new();
    world.says(0, &["loop", "add", "Seed"]);
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    let (processes, each) = if full { (16, 25) } else { (6, 4) };
    let project = world.test.folder("project");
    let project = project.to_str().unwrap();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for p in 0..processes {
            let world = &world;
            scope.spawn(move || {
                for n in 0..each {
                    let title = format!("Loop {p} {n}");
                    world.says(0, &["loop", "add", &title]);
                    let (one, two) = (format!("Fact {p} {n} one"), format!("Fact {p} {n} two"));
                    let proposal = format!("Proposal {p} {n}");
                    world.says(
                        0,
                        &["proposal", "add", &proposal, "--entry", &one, "--entry", &two, "--workspace", project],
                    );
                    world.says(0, &["proposal", "merge", &proposal]);
                    if n % 2 == 0 {
                        world.says(0, &["loop", "resolve", &title]);
                    }
                }
            });
        }
    });
    eprintln!("{processes} processes, {each} times 3.5 acts: {:.1} s", began.elapsed().as_secs_f64());
    let numbered = || (0..processes).flat_map(|p| (0..each).map(move |n| (p, n)));
    let loops = |even: bool| -> BTreeSet<String> {
        numbered().filter(|(_, n)| (n % 2 == 0) == even).map(|(p, n)| format!("Loop {p} {n}")).collect()
    };
    let open = titles(&world, &["loop", "list", "-n", "9999"], "loops");
    assert_eq!(titles(&world, &["loop", "list", "--resolved", "-n", "9999"], "loops"), loops(true));
    assert_eq!(open, &loops(false) | &BTreeSet::from(["Seed".to_owned()]));
    // Every entry is a leaf, as a file and as a row; every proposal is archived once.
    let facts: BTreeSet<String> =
        numbered().flat_map(|(p, n)| [format!("Fact {p} {n} one"), format!("Fact {p} {n} two")]).collect();
    let listed = world.json(&["memory", "list", "-n", "9999"]);
    let listed: BTreeSet<String> =
        listed["memories"].as_array().unwrap().iter().map(|m| m["title"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, facts);
    let on_disk: BTreeSet<String> = files(&tree(&world).join("memory/workspace"))
        .iter()
        .filter(|f| f.to_string_lossy().contains("/knowledge/facts/"))
        .map(|f| std::fs::read_to_string(f).unwrap().lines().last().unwrap().trim_start_matches("# ").to_owned())
        .collect();
    assert_eq!(on_disk, facts);
    let proposals = tree(&world).join("continuity/proposals/memory");
    let archived = files(&proposals.join("archive/merged"));
    assert_eq!(archived.len(), processes * each);
    assert_eq!(files(&proposals).len(), archived.len(), "nothing else is left there");
    // The pages show the final state.
    let active = std::fs::read_to_string(tree(&world).join("continuity/ACTIVE.md")).unwrap();
    assert!(active.contains(&format!("and {} more", open.len() - 10)), "{active}");
    let index = files(&tree(&world).join("memory/workspace")).into_iter().find(|f| f.ends_with("MEMORY.md")).unwrap();
    let shown = std::fs::read_to_string(index).unwrap().matches("](knowledge/facts/").count();
    assert_eq!(shown, facts.len().min(200));
    let stray = files(&tree(&world)).into_iter().find(|f| f.file_name().unwrap().to_string_lossy().starts_with('.'));
    assert_eq!(stray, None);
    assert_eq!(world.json(&["status"])["wrong"], serde_json::json!([]));
    world.says(0, &["verify"]);
}

#[test]
fn folders_exchanged_for_symlinks_lead_nobody_out() {
    let world = World::new();
    world.says(0, &["loop", "add", "Inside"]);
    let outside = world.test.folder("outside");
    const CANARY: &str = "CANARY-7f3a";
    const FAR: &str = "words from far outside";
    let canary = format!("# {CANARY}\n\n{FAR}\n");
    std::fs::write(outside.join("canary.md"), &canary).unwrap();
    // The folder outside has the same subfolders, so that a command that follows the link finds something.
    for folder in ["open-loops", "artifacts/2026/11", "proposals/memory", "daily/2026/11", "preference", "drafts"] {
        std::fs::create_dir_all(outside.join(folder)).unwrap();
        std::fs::write(outside.join(folder).join("canary.md"), &canary).unwrap();
    }
    let there = files(&outside);
    world.says(0, &["remember", "Inside too", "--class", "preference"]);
    world.feed(&["artifact", "add", "Inside", "--file", "-"], b"words");
    let drafts = world.test.home().join("runtime/main/codex/drafts");
    std::fs::create_dir_all(&drafts).unwrap();
    for n in 1..100 {
        std::fs::write(drafts.join(format!("d{n}.md")), format!("# Draft {n}\n")).unwrap();
    }
    let swaps = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let caught = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for component in SWAPPED.iter().cycle() {
                let real = tree(&world).join(component);
                let link = world.test.home().join(".swap");
                let _ = std::fs::remove_file(&link);
                symlink(&outside, &link).unwrap();
                let until = Instant::now() + Duration::from_millis(100);
                while Instant::now() < until && !done.load(Ordering::Relaxed) {
                    exchange(&real, &link);
                    std::thread::sleep(Duration::from_micros(300));
                    exchange(&real, &link);
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
                let _ = std::fs::remove_file(&link);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // Proof that the test works: code that checks a path first and opens it later is led outside.
        scope.spawn(|| {
            let path = tree(&world).join("continuity/open-loops/canary.md");
            let until = Instant::now() + Duration::from_secs(30);
            while !caught.load(Ordering::Relaxed) && Instant::now() < until {
                let inside = path.parent().unwrap().canonicalize().is_ok_and(|p| p.starts_with(tree(&world)));
                if inside && std::fs::read_to_string(&path).is_ok_and(|t| t.contains(FAR)) {
                    caught.store(true, Ordering::Relaxed);
                }
            }
        });
        let began = Instant::now();
        let turns = world.test.folder("turns");
        let (mut n, mut ran) = (0, BTreeSet::new());
        // On a busy machine more rounds are needed until enough commands found their folders in place.
        let enough = |ran: &BTreeSet<&str>| ran.len() > 20;
        while began.elapsed() < Duration::from_secs(3) || !caught.load(Ordering::Relaxed) || !enough(&ran) {
            n += 1;
            let session = turns.join(format!("t{n}"));
            let line = serde_json::json!({"session": format!("s{n}"), "text": "Words"});
            std::fs::write(&session, format!("{line}\n")).unwrap();
            for line in FILE_COMMANDS {
                let args: Vec<String> = line
                    .split(' ')
                    .map(|w| w.replace("%n", &n.to_string()).replace('_', " "))
                    .map(|w| if w == "TURNS" { session.to_str().unwrap().to_owned() } else { w })
                    .collect();
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let out = world.feed(&args, b"Text to keep\n");
                let said = format!("{}{}", out.stdout, out.stderr);
                assert!(out.status.is_some_and(|c| c != 101), "{args:?}: {said}");
                // The word itself may be repeated from the arguments; in the file it is a heading.
                assert!(!said.contains(&format!("# {CANARY}")) && !said.contains(FAR), "{args:?} was led out: {said}");
                if out.status == Some(0) {
                    ran.insert(*line);
                }
            }
            if began.elapsed() > Duration::from_secs(30) {
                break;
            }
        }
        let never: Vec<_> = FILE_COMMANDS.iter().filter(|c| !ran.contains(*c)).collect();
        eprintln!("{n} rounds, {} swaps; never went through: {never:?}", swaps.load(Ordering::Relaxed));
        done.store(true, Ordering::Relaxed);
        assert!(ran.len() > 12, "too few went through to mean anything: {never:?}");
    });
    assert!(
        caught.load(Ordering::Relaxed),
        "the naive reader was not caught in {} swaps",
        swaps.load(Ordering::Relaxed)
    );
    assert_eq!(files(&outside), there, "nothing was written outside");
    for file in &there {
        assert_eq!(std::fs::read_to_string(file).unwrap(), canary);
    }
    // Nothing of it was read into files or lists either.
    for args in [&["search", "far", "outside"][..], &["loop", "list", "-n", "9999"], &["memory", "list", "-n", "9999"]]
    {
        let out = world.run(args);
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(!said.contains(FAR) && !said.contains(CANARY), "{args:?}: {said}");
    }
    for file in files(&tree(&world)) {
        assert!(!std::fs::read_to_string(&file).unwrap_or_default().contains(FAR), "{}", file.display());
    }
    world.says(0, &["loop", "list"]);
    world.says(0, &["verify"]);
}

/// Folders that are exchanged for links, relative to the assistant home.
const SWAPPED: &[&str] = &[
    "continuity/open-loops",
    "continuity",
    "memory",
    "continuity/artifacts",
    "../../runtime/main/codex",
    "memory/preference",
];

/// Every command that touches visible files. `%n` is the number of the round, `_` a space in a word.
const FILE_COMMANDS: &[&str] = &[
    "loop add Swap_%n",
    "loop list",
    "loop show canary",
    "loop resolve Swap_%n",
    "loop reopen Swap_%n",
    "proposal add Habit_%n --entry Word_%n --class preference",
    "proposal list",
    "proposal show canary",
    "proposal merge Habit_%n",
    "proposal undo Habit_%n",
    "proposal reject Habit_%n",
    "remember Likes_tea_%n --class preference",
    "memory add Likes_coffee_%n --title Coffee_%n --class preference",
    "memory show canary",
    "memory edit Coffee_%n --text Likes_it_black_%n",
    "memory pin Coffee_%n",
    "memory search likes",
    "memory forget Coffee_%n",
    "artifact add Kept_%n --file -",
    "artifact list",
    "artifact show canary",
    "job run nightly -- echo words",
    "channel ask irc peer%n",
    "channel approve irc/peer%n",
    "draft list",
    "draft promote codex/d%n.md",
    "draft promote codex/canary.md",
    "draft discard codex/canary.md",
    "show continuity/open-loops/canary.md",
    "show memory/preference/canary.md",
    "search words",
    "import TURNS",
    "status",
    "doctor",
    "verify",
    "reindex",
];

fn exchange(a: &Path, b: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
}

#[test]
fn whatever_stands_in_place_of_a_file_is_named_in_no_time() {
    let world = World::new();
    world.says(0, &["loop", "add", "Real one"]);
    let loops = tree(&world).join("continuity/open-loops");
    let outside = world.test.folder("outside").join("secret.md");
    std::fs::write(&outside, "# SECRET-WORD\n").unwrap();
    symlink(&outside, loops.join("link.md")).unwrap();
    symlink("/proc/self/environ", loops.join("proc.md")).unwrap();
    symlink("nowhere", loops.join("dangling.md")).unwrap();
    std::fs::hard_link(&outside, loops.join("hard.md")).unwrap();
    heirloom_testkit::named_pipe(&loops.join("pipe.md"));
    std::fs::create_dir(loops.join("folder.md")).unwrap();
    std::fs::File::create(loops.join("sparse.md")).unwrap().set_len(1 << 40).unwrap();
    std::os::unix::net::UnixListener::bind(loops.join("socket.md")).unwrap();
    let odd = ["link", "proc", "dangling", "hard", "pipe", "folder", "sparse", "socket"];
    for args in
        [vec!["loop", "list"], vec!["loop", "add", "Another"], vec!["status"], vec!["search", "SECRET"], vec!["verify"]]
    {
        let began = Instant::now();
        let out = world.run(&args);
        assert!(began.elapsed() < Duration::from_secs(2), "{args:?} took {:?}", began.elapsed());
        assert!(matches!(out.status, Some(0 | 1)), "{args:?}: {out:?}");
        assert!(!out.stdout.contains("SECRET-WORD"), "{args:?}: {out:?}");
    }
    for name in odd {
        let began = Instant::now();
        for command in ["show", "resolve"] {
            let out = world.run(&["loop", command, &format!("{name}.md")]);
            assert!(matches!(out.status, Some(2..=4)), "{name}: {out:?}");
        }
        assert!(began.elapsed() < Duration::from_secs(2));
    }
    let said = world.says(1, &["status"]);
    for name in odd {
        assert!(said.contains(&format!("{name}.md")), "{name} is not named: {said}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "# SECRET-WORD\n");
}

/// Files below a folder that was exchanged for a link count as out of sight, not as deleted.
#[test]
fn a_link_in_place_of_a_folder_is_named_and_nothing_counts_as_deleted() {
    let world = World::new();
    world.says(0, &["loop", "add", "Still owed"]);
    let (loops, away) = (tree(&world).join("continuity/open-loops"), world.test.folder("away").join("open-loops"));
    std::fs::rename(&loops, &away).unwrap();
    symlink(&away, &loops).unwrap();
    let said = world.says(1, &["status"]);
    assert!(said.contains("continuity/open-loops: is a symlink"), "{said}");
    // The list shows the loop, and its exit code says that others may be missing.
    let list = world.json_of(1, &["loop", "list"]);
    assert_eq!(list["loops"][0]["title"], "Still owed");
    assert!(std::fs::read_to_string(tree(&world).join("MEMORY.md")).unwrap().contains("Still owed"));
    std::fs::remove_file(&loops).unwrap();
    std::fs::rename(&away, &loops).unwrap();
    assert_eq!(world.json(&["status"])["wrong"], serde_json::json!([]));
}

#[test]
fn modes_are_private_whatever_the_umask() {
    let world = World::new();
    let script = format!(
        "umask 000; {HEIRLOOM} loop add One && {HEIRLOOM} loop resolve One && {HEIRLOOM} loop add Two && {HEIRLOOM} reindex"
    );
    let mut command = world.test.command("/bin/sh");
    command.args(["-c", &script]);
    let out = heirloom_testkit::run(command, b"");
    assert_eq!(out.status, Some(0), "{out:?}");
    let (mut folders, mut seen) = (vec![world.test.home()], 0);
    while let Some(folder) = folders.pop() {
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                seen += 1;
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", entry.path().display());
            }
        }
    }
    assert!(seen > 12, "{seen} files");
}

#[test]
fn a_title_may_be_long_or_wordless_and_never_empty() {
    let world = World::new();
    let long = "Überlange Überschrift ".repeat(16);
    for title in [long.as_str(), "🙂🙃", "--help me", "a\nb\tc", "../../etc/passwd", "MEMORY.md/", "\u{202e}evil"] {
        let added = || -> serde_json::Value {
            let out = world.run(&["--json", "loop", "add", "--", title]);
            assert_eq!(out.status, Some(0), "{title:?}: {out:?}");
            serde_json::from_str(&out.stdout).unwrap()
        };
        let value = added();
        let path = value["items"][0]["path"].as_str().unwrap();
        assert!(path.starts_with("continuity/open-loops/") && path.matches('/').count() == 2, "{title:?}: {path}");
        assert!(tree(&world).join(path).is_file());
        let again = added();
        assert_eq!(again["items"][0]["change"], "same", "{title:?}");
    }
    for title in ["", "   ", "\u{200b}", "\n"] {
        world.says(2, &["loop", "add", "--", title]);
    }
    assert_eq!(titles(&world, &["loop", "list"], "loops").len(), 7);
}

#[test]
fn a_disk_without_room_loses_nothing_and_the_act_is_finished_later() {
    let world = World::new();
    let small = world.test.folder("small");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "none"]).arg(&small).stderr(Stdio::null()).status();
    if !mount.is_ok_and(|s| s.success()) {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    }
    struct Unmount(PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(small.clone());
    let home = small.join("home");
    let home = home.to_str().unwrap();
    world.says(0, &["--home", home, "loop", "add", "Before"]);
    let mine = Path::new(home).join("workspaces/main/MEMORY.md");
    let ballast = small.join("ballast");
    let mut added = BTreeSet::new();
    for n in 0..60 {
        // Less and less room, down to none.
        let room = 60_000u64.saturating_sub(n * 1_500);
        let free = free_bytes(&small);
        let file = std::fs::File::options().append(true).create(true).open(&ballast).unwrap();
        let size = file.metadata().unwrap().len();
        if free > room {
            let _ = std::fs::write(&ballast, vec![0; (size + free - room) as usize]);
        }
        let title = format!("Full {n}");
        let out = world.run(&["--home", home, "loop", "add", &title]);
        if out.status == Some(0) {
            added.insert(title);
        } else {
            assert!(!out.stderr.contains("panicked"), "{out:?}");
        }
        let text = std::fs::read_to_string(&mine).unwrap();
        assert!(text.starts_with("# Memory\n") && text.trim_end().ends_with("<!-- /heirloom:head -->"), "{text:?}");
    }
    std::fs::remove_file(&ballast).unwrap();
    let list = world.json(&["--home", home, "loop", "list", "-n", "999"]);
    let there: BTreeSet<String> =
        list["loops"].as_array().unwrap().iter().map(|e| e["title"].as_str().unwrap().to_owned()).collect();
    assert!(added.is_subset(&there), "{:?}", added.difference(&there).collect::<Vec<_>>());
    assert!(added.len() < 60, "the disk was never full");
    world.says(0, &["--home", home, "loop", "add", "After"]);
    let status = world.json(&["--home", home, "status"]);
    assert!(!status["wrong"].to_string().contains("not finished"), "{status}");
    world.says(0, &["--home", home, "verify"]);
}

fn free_bytes(path: &Path) -> u64 {
    let stat = rustix::fs::statvfs(path).unwrap();
    stat.f_bavail * stat.f_frsize
}

#[test]
fn hand_edits_are_seen_without_a_restart() {
    let world = World::new();
    let value = world.json(&["loop", "add", "Call mum"]);
    let path = tree(&world).join(value["items"][0]["path"].as_str().unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("---\n# Call mum\n", "due: 2026-12-01\nmine: true # kept\n---\r\n# Call mum\n\nMy words"),
    )
    .unwrap();
    rest(&path);
    let seen = world.json(&["loop", "list"]);
    assert_eq!(seen["loops"][0]["fields"]["due"], "2026-12-01", "{seen}");
    assert_eq!(seen["loops"][0]["by_hand"], true);
    let done = world.json(&["loop", "resolve", "Call mum", "--note", "She is fine"]);
    let archived = std::fs::read_to_string(tree(&world).join(done["items"][0]["path"].as_str().unwrap())).unwrap();
    assert!(
        archived.contains("mine: true # kept\n") && archived.ends_with("\r\n# Call mum\n\nMy words"),
        "{archived:?}"
    );
    std::fs::write(tree(&world).join("continuity/open-loops/own.md"), "My own, without any front matter").unwrap();
    assert_eq!(titles(&world, &["loop", "list"], "loops"), BTreeSet::from(["own".to_owned()]));
    std::fs::remove_file(tree(&world).join("continuity/open-loops/own.md")).unwrap();
    assert_eq!(titles(&world, &["loop", "list"], "loops"), BTreeSet::new());
}

#[test]
fn the_first_commands_of_all_may_come_at_once() {
    let world = World::new();
    std::thread::scope(|scope| {
        for n in 0..10 {
            let world = &world;
            scope.spawn(move || world.says(0, &["loop", "add", &format!("First {n}")]));
        }
    });
    assert_eq!(titles(&world, &["loop", "list"], "loops").len(), 10);
    let backups = files(&world.test.home().join("state/backups"));
    assert!(backups.is_empty(), "a new ledger is no old one: {backups:?}");
    world.says(0, &["verify"]);
}

/// Returns every file below a folder with its bytes and mode, and the mode of every folder.
fn picture(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let (mut seen, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            seen.insert(path, (meta.permissions().mode(), bytes));
        }
    }
    seen
}

/// Makes LionClaw's home as that program leaves it: readable by others, without a ledger of ours, metadata in bullets.
fn lionclaw(world: &World) -> PathBuf {
    let home = world.test.folder("lionclaw");
    let tree = home.join("workspaces/xyz");
    let put = |path: PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        rest(&path);
    };
    put(home.join("config.toml"), "[daemon]\nworkspace = \"xyz\"\n");
    put(home.join("lionclaw.db"), "not ours");
    put(tree.join("SOUL.md"), "# Soul\n\nMine.\n");
    put(tree.join("MEMORY.md"), "# Memory\n\nMine, kumquat.\n");
    put(tree.join("continuity/daily/2026-01-02.md"), "# 2026-01-02\r\n\r\n- did x\r\n");
    let key = "aaaaaaaa-bbbb-5ccc-8ddd-eeeeeeeeeeee";
    put(
        tree.join(format!("continuity/open-loops/call-the-plumber--{key}.md")),
        "# Call the plumber\n\n- Status: open\n- Thread: home\n\nThe sink leaks, zanzibar.",
    );
    put(
        tree.join(format!("continuity/proposals/memory/tea--{key}.md")),
        "# Tea\n\n- Status: pending\n- Captured At: 2026-01-02\n- Scope: agent\n\n## Entries\n\n- Likes green tea\n",
    );
    for folder in ["", "workspaces", "workspaces/xyz", "workspaces/xyz/continuity", "workspaces/xyz/continuity/daily"] {
        std::fs::set_permissions(home.join(folder), PermissionsExt::from_mode(0o755)).unwrap();
    }
    home
}

#[test]
fn a_lionclaw_home_is_looked_at_where_it_is_and_no_file_of_it_changes() {
    let world = World::new();
    let home = lionclaw(&world);
    let h = ["--home", home.to_str().unwrap()];
    let before = picture(&home);
    let status = world.json_of(1, &[&h[..], &["status"]].concat());
    assert_eq!(status["agent"], "xyz", "{status}");
    assert_eq!(status["wrong"].as_array().unwrap().len(), 1, "an open home is named once: {status}");
    for (args, says) in [
        (&["status"][..], "1 open loop, 1 proposal"),
        (&["loop", "list"], "Call the plumber"),
        (&["proposal", "list"], "Tea"),
        (&["search", "zanzibar"], "call-the-plumber"),
        (&["search", "kumquat"], "MEMORY.md"),
        (&["show", "l:call-the-plumber"], "The sink leaks"),
        (&["verify"], "as it was stored"),
        (&["doctor"], "LionClaw"),
        (&["up"], "No sessions on this machine yet."),
        (&["loop", "list"], "Call the plumber"),
    ] {
        let out = world.run(&[&h[..], args].concat());
        assert!(matches!(out.status, Some(0 | 1)) && out.stdout.contains(says), "{args:?}: {out:?}");
        let after = picture(&home);
        for (path, was) in &before {
            assert_eq!(after.get(path), Some(was), "{args:?} changed {}", path.display());
        }
        assert!(!home.join("workspaces/xyz/continuity/daily/2026").exists(), "{args:?} made a page of another day");
    }
    // Acts work and lose nothing, and the metadata in bullets is still known afterwards.
    for act in [&["loop", "resolve", "Call the plumber"][..], &["loop", "reopen", "Call the plumber"]] {
        world.says(0, &[&h[..], act].concat());
    }
    let loops = world.json(&[&h[..], &["loop", "list"]].concat());
    assert_eq!(loops["loops"][0]["fields"]["thread"], "home", "{loops}");
    assert_eq!(loops["loops"][0]["fields"]["status"], "open", "what front matter says comes first: {loops}");
    let text = std::fs::read_to_string(home.join("workspaces/xyz").join(loops["loops"][0]["path"].as_str().unwrap()));
    assert!(text.unwrap().ends_with("- Status: open\n- Thread: home\n\nThe sink leaks, zanzibar."));
    world.says(0, &[&h[..], &["proposal", "reject", "Tea"]].concat());
    world.says(0, &[&h[..], &["proposal", "undo", "Tea"]].concat());
    world.says(0, &[&h[..], &["proposal", "merge", "Tea"]].concat());
    let listed = titles(&world, &[&h[..], &["memory", "list"]].concat(), "memories");
    assert_eq!(listed, BTreeSet::from(["Tea".to_owned()]), "its metadata is nothing to remember");
}

/// Writes a file as a person left it a while ago, and returns its path.
fn left(world: &World, path: &str, bytes: &[u8]) -> PathBuf {
    let path = tree(world).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    rest(&path);
    path
}

#[test]
fn what_is_added_to_a_file_changes_no_byte_that_was_there() {
    let world = World::new();
    world.says(0, &["loop", "add", "Seed"]);
    let mine = b"---\na: 1 # mine\n---\n# Mine\r\nlf\ncrlf\r\ncaf\xe9\n\n\n";
    for (end, more) in [(&b""[..], &b"Added.\n"[..]), (b"no end", b"\n\nAdded.\n")] {
        let bytes = [&mine[..], end].concat();
        let body = bytes.len() - bytes.windows(4).position(|w| w == b"# Mi").unwrap();
        let path = left(&world, "continuity/open-loops/mine.md", &bytes);
        let key = world.json(&["loop", "add", "Mine", "--text", "x"])["items"][0]["path"].clone();
        let named = tree(&world).join(key.as_str().unwrap());
        std::fs::rename(&path, &named).unwrap();
        world.says(0, &["loop", "add", "Mine", "--text", "Added."]);
        let after = std::fs::read(&named).unwrap();
        let expected = [&bytes[bytes.len() - body..], more].concat();
        assert!(after.ends_with(&expected), "{}", String::from_utf8_lossy(&after));
        assert!(after.starts_with(b"---\na: 1 # mine\n"));
        std::fs::remove_file(named).unwrap();
    }
    // Changing the title of a memory changes its heading and nothing else.
    let path = left(&world, "memory/preference/tea.md", b"# Tea\r\n\r\nlf\ncaf\xe9  \r\n\r\n");
    world.says(0, &["memory", "edit", "tea.md", "--title", "Green tea"]);
    let after = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&after);
    assert!(after.ends_with(b"# Green tea\r\n\r\nlf\ncaf\xe9  \r\n\r\n"), "{text:?}");
    let kept = world.says(0, &["show", "--revisions", "memory/preference/tea.md"]);
    assert!(kept.contains("edited by command"), "{kept}");
}

/// Front matter may be valid and still not changeable line by line.
#[test]
fn what_cannot_be_changed_is_refused_before_anything_moves() {
    let world = World::new();
    world.says(0, &["loop", "add", "Seed"]);
    for (name, front) in [("flow", "{a: 1, b: 2}"), ("indent", "  a: 1\n  b: 2"), ("anchors", "status: &s open\nz: *s")]
    {
        let text = format!("---\n{front}\n---\n# {name}\n\n- an entry\n");
        let files = [
            ("loop", "resolve", left(&world, &format!("continuity/open-loops/{name}.md"), text.as_bytes())),
            ("proposal", "reject", left(&world, &format!("continuity/proposals/memory/{name}.md"), text.as_bytes())),
            ("proposal", "merge", left(&world, &format!("continuity/proposals/memory/{name}.md"), text.as_bytes())),
        ];
        for (noun, verb, path) in files {
            let said = world.says(3, &[noun, verb, name]);
            assert!(said.contains("nothing was changed") && said.contains(&format!("{name}.md")), "{said}");
            assert_eq!(std::fs::read_to_string(path).unwrap(), text, "{noun} {verb}");
        }
    }
    let status = world.json(&["status"]);
    assert_eq!(status["wrong"], serde_json::json!([]), "nothing is half done: {status}");
    assert_eq!(files(&tree(&world).join("memory/preference")), Vec::<PathBuf>::new());
}

#[test]
fn a_text_that_is_replaced_is_kept_whenever_the_command_is_killed() {
    if !strace() {
        return;
    }
    let world = World::new();
    world.says(0, &["remember", "Seed"]);
    let mut kills = 0;
    for n in 1..12 {
        let old = format!("# Tea\n\nWords of mine, number {n}.\n");
        let path = left(&world, "memory/preference/tea.md", old.as_bytes());
        let mut command = Command::new("strace");
        let inject = format!("inject=renameat2,unlinkat:signal=KILL:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, HEIRLOOM, "memory", "edit", "tea.md"]);
        command.args(["--text", &format!("Theirs, {n}.")]);
        let like = world.test.command(HEIRLOOM);
        command.env_clear().envs(like.get_envs().filter_map(|(k, v)| Some((k, v?)))).current_dir(world.test.user());
        let out = heirloom_testkit::run(command, b"");
        kills += usize::from(matches!(out.status, None | Some(137)));
        world.says(0, &["memory", "list"]);
        let now = std::fs::read_to_string(&path).unwrap();
        let kept = world.says(0, &["show", "--revisions", "memory/preference/tea.md"]);
        let newest = kept.split_whitespace().find(|w| w.parse::<u64>().is_ok()).unwrap_or("0").to_owned();
        let revision = world.run(&["show", "--raw", "--revision", &newest, "memory/preference/tea.md"]).stdout;
        let mine = format!("number {n}.");
        assert!(now.contains(&mine) || revision.contains(&mine), "{n}: {now}\n{kept}\n{revision}");
        if !matches!(out.status, None | Some(137)) {
            break;
        }
    }
    assert!(kills > 1, "{kills} kills");
}

#[test]
fn an_adopted_tree_that_is_out_of_reach_is_not_an_empty_one() {
    let world = World::new();
    let (there, away) = (world.test.folder("workspace"), world.test.folder("disk").join("away"));
    std::fs::write(there.join("SOUL.md"), "# Soul\n").unwrap();
    let named = there.to_str().unwrap().to_owned();
    world.says(0, &["agent", "adopt", &named]);
    world.says(0, &["loop", "add", "Still owed"]);
    let said = world.says(4, &["agent", "adopt", "/nowhere/at/all"]);
    assert!(said.contains("there is no folder /nowhere/at/all") && !said.contains("heirloom up"), "{said}");
    std::fs::rename(&there, &away).unwrap();
    for (code, args) in [
        (1, &["status"][..]),
        (1, &["doctor"]),
        (3, &["loop", "list"]),
        (3, &["loop", "add", "Another"]),
        (0, &["search", "owed"]),
        (1, &["verify"]),
    ] {
        let said = world.says(code, args);
        assert!(said.contains(&named) && said.contains("is not there"), "{args:?}: {said}");
    }
    assert!(!there.exists(), "nobody makes it anew");
    world.says(0, &["agent", "adopt", "--undo"]);
    assert_eq!(titles(&world, &["loop", "list"], "loops"), BTreeSet::new());
    std::fs::rename(&away, &there).unwrap();
    world.says(0, &["agent", "adopt", &named]);
    assert_eq!(titles(&world, &["loop", "list"], "loops"), BTreeSet::from(["Still owed".to_owned()]));
}

#[test]
fn words_that_were_kept_aside_are_named_and_can_be_read() {
    let world = World::new();
    world.says(0, &["loop", "add", "Seed"]);
    assert!(world.says(0, &["show", "--revisions"]).contains("No earlier state was kept"));
    // A command was killed while a person saved: the person's words have only a temporary name.
    left(&world, "continuity/open-loops/.hl-0123456789abcdef.tmp", b"Words of mine.\n");
    std::fs::write(world.test.home().join("run/files-main.lock"), "held").unwrap();
    world.says(0, &["loop", "add", "Next"]);
    let status = world.says(0, &["status"]);
    let list = world.json(&["show", "--revisions"]);
    let no = list["revisions"][0]["revision"].as_i64().unwrap().to_string();
    let see = format!("heirloom show --revision {no}");
    assert!(status.contains("were kept aside") && status.contains(&see), "{status}");
    assert!(list["revisions"][0]["path"].as_str().unwrap().starts_with("continuity/open-loops/found-"), "{list}");
    assert!(world.says(0, &["show", "--revision", &no]).starts_with("Words of mine.\n"));
    assert_eq!(world.bytes(&["show", "--revision", &no, "--raw"]), b"Words of mine.\n");
    world.says(4, &["show", "--revision", "7000"]);
    world.says(2, &["show"]);
    // An edit inside a rendered block is kept, too, and found under the page's name.
    let page = tree(&world).join("MEMORY.md");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("## Commitments", "## My commitments")).unwrap();
    rest(&page);
    world.says(0, &["loop", "add", "Third"]);
    assert!(world.says(0, &["show", "MEMORY.md", "--revisions"]).contains("edited inside the rendered block"));
}
