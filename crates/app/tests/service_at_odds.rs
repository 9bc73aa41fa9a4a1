//! The service under bad conditions: of the machine, of its clients, of other services.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::service::{Served, manager, put_build};
use crate::world::HEIRLOOM;

#[test]
fn of_services_started_at_once_one_stays() {
    let served = Served::world();
    let start = || {
        let mut command = served.command(HEIRLOOM.as_ref(), &["serve", "--port", "0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut all: Vec<_> = (0..6).map(|_| start()).collect();
    let ended = |all: &mut Vec<std::process::Child>| {
        all.iter_mut().filter_map(|child| child.try_wait().unwrap()).collect::<Vec<_>>()
    };
    served.until("five have ended", || ended(&mut all).len() == 5);
    assert!(ended(&mut all).iter().all(|status| status.code() == Some(75)), "{:?}", ended(&mut all));
    served.until("the sixth answers", || served.answers());
    served.prompt(1);
    assert_eq!((served.turns(), served.spooled()), (1, 0));
    for child in &mut all {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs a service that may open at most this many files, until it has reported how it watches or has ended.
fn with_few_files(most: u32) -> (Option<i32>, String, bool) {
    let served = Served::world();
    let mut command: Command = served.world.test.command("sh");
    let script = format!("ulimit -n {most}; exec '{HEIRLOOM}' serve --port 0");
    let log = fs::File::create(served.world.test.user().join("few.log")).unwrap();
    let mut child =
        command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let said = || fs::read_to_string(served.world.test.user().join("few.log")).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if said().contains("looks for changes") || served.said()["watching"]["by_events"] == true {
            break None;
        }
        assert!(Instant::now() < until, "with {most} files it does nothing: {}", said());
        std::thread::sleep(Duration::from_millis(20));
    };
    let answers = code.is_none() && served.answers();
    let _ = child.kill();
    let _ = child.wait();
    (code, said(), answers)
}

#[cfg(target_os = "linux")]
#[test]
fn with_too_few_files_it_looks_for_changes_or_says_why_it_ends() {
    // The number that is enough for all but watching depends on the files open at that moment: about 22, and only that.
    for most in 14..34 {
        let (code, said, answers) = with_few_files(most);
        assert!(!said.contains("panicked"), "{most}: {said}");
        match code {
            // It could not start, and says so.
            Some(code) => assert!(code != 0 && said.contains("heirloom: "), "{most}: {code} {said}"),
            None if said.contains("looks for changes") => {
                assert!(said.contains("open files") || said.contains("os error 24"), "{most}: {said}");
            }
            None => assert!(answers || most < 30, "{most}: {said}"),
        }
    }
}

#[test]
fn clients_that_take_all_its_files_do_not_end_it() {
    let mut served = Served::world();
    let script = served.world.test.folder("few").join("heirloom");
    fs::write(&script, format!("#!/bin/sh\nulimit -n 64\nexec '{HEIRLOOM}' \"$@\"\n")).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    served.serve(&script, &[]);
    let socket = served.said()["socket"].as_str().unwrap().to_owned();
    let greedy: Vec<_> = (0..200).filter_map(|_| UnixStream::connect(&socket).ok()).collect();
    assert!(greedy.len() > 64);
    // A hook's call is still stored: at once, or from the spool.
    served.prompt(1);
    drop(greedy);
    served.until("it answers again", || served.answers());
    served.until("the call is stored", || served.turns() == 1 && served.spooled() == 0);
    served.all_is_well();
}

#[test]
fn a_folder_of_a_program_that_is_replaced_is_watched_again() {
    let served = Served::begin();
    let user = served.world.test.user();
    let (program, sessions) = (user.join(".claude"), user.join(".claude/projects"));
    let away = |folder: &Path| {
        let to = served.world.test.folder("away").join(served.turns().to_string());
        fs::rename(folder, to).unwrap();
    };
    let again = || fs::create_dir_all(&sessions).unwrap();
    let removed = |folder: &Path| {
        fs::remove_dir_all(folder).unwrap();
        again();
    };
    let moved = |folder: &Path| {
        away(folder);
        again();
    };
    let exchanged = |folder: &Path| {
        fs::create_dir_all(user.join("new/projects")).unwrap();
        away(folder);
        fs::rename(user.join("new"), folder).unwrap();
    };
    let acts: [(&str, &dyn Fn()); 5] = [
        ("the program's folder is removed", &|| removed(&program)),
        ("its sessions are removed", &|| removed(&sessions)),
        ("the program's folder is moved", &|| moved(&program)),
        ("its sessions are moved", &|| moved(&sessions)),
        ("the program's folder is exchanged", &|| exchanged(&program)),
    ];
    let mut written = 0;
    let mut line = |what: &str| {
        let session = format!("{written:08}-0b7d-4e55-9a41-6c1d2e3f4a5b");
        served.write(&sessions.join(format!("-p{written}/{session}.jsonl")), written..written + 1);
        written += 1;
        served.until(what, || served.turns() == written as i64);
    };
    for (what, act) in acts {
        line(&format!("a line before {what}"));
        act();
        // The first one is found because everything is looked at anew, the second one because the folder is watched.
        line(&format!("a line after {what}"));
        line(&format!("another line after {what}"));
    }
}

#[test]
fn settings_that_make_no_sense_leave_the_old_ones_in_use() {
    let mut served = Served::begin();
    let config = served.home().join("config.toml");
    let before = served.said()["since"].clone();
    let wrong = [
        ("[lineage]\nchunk_turns = \"30\n", "cannot be read"),
        ("[daemon]\nprot = 7400\n", "has no prot"),
        ("[lineage]\nchunk_trns = 30\n", "has no chunk_trns"),
        ("[profile]\nname = \"Ada\"\n", "means nothing: profile"),
    ];
    for (settings, why) in wrong {
        fs::write(&config, settings).unwrap();
        served.until(why, || served.said()["old_settings"].as_str().is_some_and(|said| said.contains(why)));
        let status = served.world.says(0, &["service", "status"]);
        assert!(status.contains("the old ones are in use") && status.contains(why), "{status}");
        let doctor = served.world.says(1, &["doctor"]);
        assert!(doctor.contains("uses older settings") && doctor.contains(why), "{doctor}");
    }
    assert!(served.answers());
    // The settings it began with need no new beginning.
    fs::remove_file(&config).unwrap();
    served.until("it is content", || served.said()["old_settings"].is_null() && served.said()["pid"].is_number());
    assert_eq!(served.said()["since"], before);
    fs::write(&config, wrong[1].0).unwrap();
    served.until("it says so again", || served.said()["old_settings"].is_string());
    fs::write(&config, "[lineage]\nchunk_turns = 30\n").unwrap();
    served.until("it has begun again", || served.said()["since"].is_number() && served.said()["since"] != before);
    served.until("it answers", || served.answers());
    assert!(served.said()["old_settings"].is_null(), "{}", served.said());
    served.signal("TERM");
    let (code, log) = served.ended();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(log.matches("has no chunk_trns").count(), 1, "{log}");
}

/// Returns a port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_port_that_was_changed_is_listened_on_and_the_old_one_is_not() {
    let mut served = Served::world();
    let config = served.home().join("config.toml");
    let (old, new) = (free_port(), free_port());
    fs::write(&config, format!("[daemon]\nport = {old}\n")).unwrap();
    served.serve_as_set(HEIRLOOM.as_ref(), &[]);
    assert_eq!(served.said()["port"], old);
    fs::write(&config, format!("[daemon]\nport = {new}\n")).unwrap();
    served.until("it listens on the new port", || served.said()["port"] == new && served.answers());
    TcpStream::connect(("127.0.0.1", new)).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", old)).is_err());
    // A port that cannot be had leaves it where it is.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(&config, format!("[daemon]\nport = {}\n", taken.local_addr().unwrap().port())).unwrap();
    served.until("it says so", || {
        served.said()["old_settings"].as_str().is_some_and(|why| why.contains("cannot listen"))
    });
    served.until("it answers", || served.answers());
    assert_eq!(served.said()["port"], new);
}

#[test]
fn the_address_it_listens_on_is_the_one_it_names() {
    if TcpListener::bind("[::1]:0").is_err() {
        println!("skipped: this machine has no IPv6");
        return;
    }
    let mut served = Served::world();
    served.serve(HEIRLOOM.as_ref(), &["--listen", "[::1]:0"]);
    let url = format!("http://[::1]:{}", served.said()["port"]);
    assert_eq!(served.world.json(&["service", "status"])["url"], url);
    for args in [&["service", "status"][..], &["doctor"], &["ui", "--no-open"]] {
        let said = served.world.run(args).stdout;
        assert!(said.contains(&url), "{args:?}: {said}");
    }
    served.signal("TERM");
    let (_, log) = served.ended();
    assert!(log.contains(&url), "{log}");
}

#[test]
fn a_service_that_cannot_start_says_why() {
    let served = Served::world();
    let config = served.home().join("config.toml");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    fs::write(&config, format!("[daemon]\nport = {}\n", at.port())).unwrap();
    let said = served.world.says(1, &["service", "start"]);
    assert!(said.contains(&format!("cannot listen on {at}")) && said.contains("choose another port"), "{said}");
    fs::write(&config, "[daemon]\nprot = 1\n").unwrap();
    let said = served.world.says(1, &["service", "start"]);
    assert!(said.contains("has no prot") && !said.contains("cannot listen"), "{said}");
}

#[test]
fn up_has_a_service_hand_over_to_the_build_in_its_place() {
    let mut served = Served::world();
    let program = served.world.test.folder("bin").join("heirloom");
    let replace = || put_build(&program);
    replace();
    served.serve(&program, &[]);
    let before = served.said()["since"].clone();
    served.world.says(0, &["up"]);
    assert_eq!(served.said()["since"], before, "there is no new build");
    replace();
    served.world.says(0, &["up"]);
    served.until("the new build serves", || {
        let since = served.said()["since"].clone();
        since.is_number() && since != before && served.answers()
    });
}

#[test]
fn a_home_of_a_long_path_without_a_short_folder_says_what_to_do() {
    let served = Served::world();
    let long = served.world.test.user().join("l".repeat(120));
    fs::rename(served.home(), &long).unwrap();
    let mut command = served.command(HEIRLOOM.as_ref(), &["serve", "--port", "0", "--home", long.to_str().unwrap()]);
    command.env_remove("XDG_RUNTIME_DIR");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{said}");
    assert!(said.contains("XDG_RUNTIME_DIR"), "{said}");
}

#[test]
fn a_clock_that_is_set_back_loses_nothing() {
    const NOW: i64 = 1_795_344_540_000;
    const DAY: i64 = 86_400_000;
    let mut served = Served::world();
    let file = served.world.test.user().join(".claude/projects/-barn/6a1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl");
    // The clock jumps years ahead, back before everything stored, and to where it was.
    for (n, now) in [NOW, NOW + 2_000 * DAY, NOW - 2_000 * DAY, NOW + DAY].into_iter().enumerate() {
        served.now = Some(now);
        served.serve(HEIRLOOM.as_ref(), &[]);
        served.prompt(n);
        served.write(&file, n..n + 1);
        served.until("both are stored", || served.turns() == 2 * (n as i64 + 1) && served.spooled() == 0);
        served.signal("TERM");
        let (code, log) = served.ended();
        assert_eq!(code, Some(0), "{log}");
    }
    for word in ["word0", "word3"] {
        assert!(served.world.run(&["search", word]).stdout.contains(&format!("**{word}**")), "{word}");
    }
    served.all_is_well();
}

#[cfg(target_os = "linux")]
#[test]
fn a_newcomer_installs_it_and_finds_what_a_program_without_hooks_wrote() {
    let served = Served::world();
    let (folder, _) = manager(&served, true);
    let mut install = served.command(HEIRLOOM.as_ref(), &["service", "install", "--yes"]);
    install.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()));
    let installed = heirloom_testkit::run(install, b"");
    assert_eq!(installed.status, Some(0), "{}{}", installed.stdout, installed.stderr);
    served.until("it answers", || served.answers());
    // No program is connected: the session is only a file.
    served.write(&served.transcript(), 4..5);
    served.until("it is found", || served.world.run(&["search", "word4"]).stdout.contains("**word4**"));
    served.world.says(0, &["service", "stop"]);
    served.all_is_well();
}

#[test]
#[ignore = "takes minutes in a debug build"]
fn five_thousand_files_changed_at_once_are_all_found() {
    let served = Served::begin();
    let folder = served.world.test.user().join(".claude/projects/-many");
    let file = |n: usize| folder.join(format!("{n:08}-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl"));
    for n in 0..5_000 {
        served.write(&file(n), n..n + 1);
    }
    let until = Instant::now() + Duration::from_secs(900);
    let wait_for = |turns: i64| {
        while served.turns() < turns {
            assert!(Instant::now() < until, "{} of {turns}", served.turns());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    wait_for(5_000);
    for n in 0..5_000 {
        served.write(&file(n), n + 10_000..n + 10_001);
    }
    wait_for(10_000);
    served.all_is_well();
}
