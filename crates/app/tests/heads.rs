//! Heads that several processes write at once: nothing is lost or torn, and nothing older replaces anything newer
//! (R7.4). `HEIRLOOM_TEST_FULL=1` runs the long form with a crowd.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heirloom_testkit::{Output, Rng};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, listing, names};

const WRITERS: usize = 16;
const AGENTS: [&str; 4] = ["main", "ada", "bob", "eve"];
const THREADS: [&str; 4] = ["topic/a", "topic/b", "topic/c", "topic/d"];

/// Makes a home with agents that have threads.
fn home(agents: &[&str]) -> World {
    let world = World::new();
    world.json(&["loop", "add", "Water the plants"]);
    for agent in &agents[1..] {
        world.json(&["agent", "add", agent]);
    }
    let db = Connection::open(world.ledger()).unwrap();
    for agent in agents {
        for key in THREADS {
            db.execute(
                "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at)
                 SELECT agent_no, ?2, ?3, ?2, 'active', 0 FROM agents WHERE agent_id = ?1",
                [agent, key, &file_of(key)],
            )
            .unwrap();
        }
    }
    // The seals are dropped, as by a migration that writes rows itself: the next write seals the rows.
    db.execute("DELETE FROM seals", []).unwrap();
    world
}

fn file_of(key: &str) -> String {
    key.replace('/', "-")
}

fn page(world: &World, agent: &str, key: &str) -> PathBuf {
    world.test.home().join(format!("workspaces/{agent}/continuity/threads/{}.md", file_of(key)))
}

fn json_of(out: &Output) -> Value {
    serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
}

/// Runs `heirloom head …` for an agent, as a program does.
fn head(world: &World, agent: &str, args: &[&str], stdin: &str) -> (i32, Value) {
    let out = world.feed(&[&["--agent", agent, "--json", "head"], args].concat(), stdin.as_bytes());
    (out.status.unwrap_or_else(|| panic!("{args:?}: {out:?}")), json_of(&out))
}

fn ok(world: &World, args: &[&str], stdin: &str) -> Value {
    let (code, said) = head(world, "main", args, stdin);
    assert_eq!(code, 0, "{args:?}: {said}");
    said
}

fn acquire(world: &World, key: &str, owner: &str, ttl: &str) -> Value {
    ok(world, &["acquire", key, "--owner", owner, "--ttl", ttl], "")
}

fn commit_args<'a>(key: &'a str, section: &'a str, owner: &'a str, epoch: &'a str, base: &'a str) -> [&'a str; 10] {
    ["commit", key, "--section", section, "--owner", owner, "--epoch", epoch, "--base", base]
}

/// Commits a section based on a lease.
fn commit(world: &World, key: &str, (section, owner): (&str, &str), grant: &Value, words: &str) -> (i32, Value) {
    let (epoch, base) = (grant["epoch"].to_string(), grant["base_revision"].to_string());
    head(world, "main", &commit_args(key, section, owner, &epoch, &base), words)
}

/// Results of a crowd of writers.
#[derive(Default)]
struct Met {
    refused: AtomicU64,
    took: Mutex<Vec<Duration>>,
}

/// Adds a mark to the present content of a section, with as many attempts as needed.
fn add_mark(world: &World, (agent, key): (&str, &str), (section, owner): (&str, &str), mark: &str, met: &Met) {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(120), "{mark} starves");
        let (code, grant) = head(world, agent, &["acquire", key, "--owner", owner], "");
        if code == 75 {
            met.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
            continue;
        }
        assert_eq!(code, 0, "{grant}");
        let (epoch, base) = (grant["epoch"].to_string(), grant["base_revision"].to_string());
        let release = || head(world, agent, &["release", key, "--owner", owner, "--epoch", &epoch], "");
        let was = grant["sections"][section]["content"].as_str().unwrap_or_default();
        // An earlier attempt was refused, but its deferred commit has been applied since.
        if was.lines().any(|l| l == mark) {
            release();
            break;
        }
        let words = format!("{was}\n{mark}");
        let (code, said) = head(world, agent, &commit_args(key, section, owner, &epoch, &base), &words);
        if code == 75 {
            assert!(
                said["deferred"].is_boolean() && said["current_epoch"].as_i64() >= grant["epoch"].as_i64(),
                "{said}"
            );
            met.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        assert_eq!(code, 0, "{said}");
        assert!(said["revision"].as_i64() > grant["base_revision"].as_i64(), "{said}");
        release();
        break;
    }
    met.took.lock().unwrap().push(began.elapsed());
}

/// Returns the marks in a page; panics if the page is torn.
fn marks(text: &str, path: &Path) -> BTreeSet<String> {
    for region in ["thread", "sections"] {
        let (open, close) = (format!("<!-- heirloom:{region} "), format!("<!-- /heirloom:{region} -->\n"));
        assert_eq!(text.matches(&open).count(), text.matches(&close).count(), "{}: {text}", path.display());
    }
    assert!(text.contains("<!-- /heirloom:thread -->\n"), "{}: {text:?}", path.display());
    text.lines().filter(|l| l.starts_with("mark-")).map(str::to_owned).collect()
}

#[test]
fn a_crowd_of_writers_loses_nothing_and_no_reader_sees_a_torn_page() {
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    let rounds = if full { 50 } else { 6 };
    let world = home(&AGENTS);
    let (met, stop, reads) = (Met::default(), AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let written: Vec<(&str, &str, String)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                let (world, met) = (&world, &met);
                scope.spawn(move || {
                    let me = format!("p{n}");
                    let mut done = Vec::new();
                    for round in 0..rounds {
                        let agent = AGENTS[(n / 4 + round) % 4];
                        // Half of the commits go into one section that many write under one name, half into sections of
                        // their own.
                        let (key, place) = match round % 2 {
                            0 => (THREADS[(n + round / 2) % 4], ("log", "team")),
                            _ => (THREADS[n % 4], (me.as_str(), me.as_str())),
                        };
                        let mark = format!("mark-{n}-{round}");
                        add_mark(world, (agent, key), place, &mark, met);
                        done.push((agent, key, mark));
                    }
                    done
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut seen: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
            while !stop.load(Ordering::Relaxed) {
                for (agent, key) in AGENTS.iter().flat_map(|a| THREADS.iter().map(move |t| (a, t))) {
                    let path = page(&world, agent, key);
                    let Ok(text) = std::fs::read_to_string(&path) else { continue };
                    let now = marks(&text, &path);
                    let before = seen.insert(path.clone(), now.clone()).unwrap_or_default();
                    assert!(before.is_subset(&now), "{}: {before:?}, then {now:?}", path.display());
                    reads.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let written = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        written
    });
    let took = began.elapsed();

    assert_eq!(written.len(), WRITERS * rounds);
    for (agent, key) in AGENTS.iter().flat_map(|a| THREADS.iter().map(move |t| (*a, *t))) {
        let expected: BTreeSet<String> =
            written.iter().filter(|(a, k, _)| (*a, *k) == (agent, key)).map(|(_, _, mark)| mark.clone()).collect();
        let (code, shown) = head(&world, agent, &["show", key], "");
        assert_eq!(code, 0, "{shown}");
        let sections = shown["sections"].as_object().unwrap();
        let words = || sections.values().flat_map(|s| s["content"].as_str().unwrap().lines());
        assert_eq!(words().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{agent} {key}");
        assert_eq!(words().count(), expected.len(), "nothing twice");
        let path = page(&world, agent, key);
        assert_eq!(marks(&std::fs::read_to_string(&path).unwrap(), &path), expected, "the file is the newest revision");
        let (_, log) = head(&world, agent, &["log", key, "-n", "100000"], "");
        let numbers: Vec<i64> =
            log["revisions"].as_array().unwrap().iter().rev().map(|r| r["revision"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=shown["revision"].as_i64().unwrap()).collect::<Vec<_>>(), "{agent} {key}");
    }
    world.verified();
    let mut each = met.took.into_inner().unwrap();
    each.sort();
    println!(
        "{} writes in {took:.1?} ({:.1}/s), {} refusals, p50 {:.0?}, p95 {:.0?}, slowest {:.0?}, {} reads, 0 lost, 0 torn",
        written.len(),
        written.len() as f64 / took.as_secs_f64(),
        met.refused.load(Ordering::Relaxed),
        each[each.len() / 2],
        each[each.len() * 95 / 100],
        each[each.len() - 1],
        reads.load(Ordering::Relaxed),
    );
}

/// Sends a signal to a process this test started.
fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_holder_stopped_past_its_lease_is_refused_when_it_goes_on() {
    let world = home(&AGENTS[..1]);
    let slow = acquire(&world, "topic/a", "slow", "1");
    names(&slow, "head epoch base_revision owner lease_until_ms_from_now content sections");
    let (epoch, base) = (slow["epoch"].to_string(), slow["base_revision"].to_string());
    let mut command = world.test.command(HEIRLOOM);
    command.args(["--json", "head"]).args(commit_args("topic/a", "slow", "slow", &epoch, &base));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    signal("-STOP", child.id());
    std::thread::sleep(Duration::from_millis(1_100));

    let quick = acquire(&world, "topic/a", "quick", "60");
    assert!(quick["epoch"].as_i64() > slow["epoch"].as_i64());
    let (code, stands) = commit(&world, "topic/a", ("quick", "quick"), &quick, "while it slept");
    assert_eq!((code, &stands["published"], &stands["deferred"]), (0, &json!(true), &json!(false)), "{stands}");

    signal("-CONT", child.id());
    child.stdin.take().unwrap().write_all(b"from before").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(75), "{out:?}");
    let said: Value = serde_json::from_slice(&out.stdout).unwrap();
    names(&said, "head section deferred holder free_in_ms current_epoch current_revision error");
    assert_eq!((&said["deferred"], &said["holder"]), (&json!(true), &json!("quick")), "{said}");
    assert_eq!((&said["current_epoch"], &said["current_revision"]), (&quick["epoch"], &stands["revision"]), "{said}");
    let text = std::fs::read_to_string(page(&world, "main", "topic/a")).unwrap();
    assert!(text.contains("while it slept") && !text.contains("from before"), "{text}");

    // A writer that asks for the held head is told who has it and for how long.
    let (code, held) = head(&world, "main", &["acquire", "topic/a", "--owner", "third"], "");
    assert_eq!((code, &held["holder"], &held["error"]["kind"]), (75, &json!("quick"), &json!("busy")), "{held}");
    assert!((1..=60_000).contains(&held["free_in_ms"].as_i64().unwrap()), "{held}");
    let list = ok(&world, &["list"], "");
    let listed = list["heads"].as_array().unwrap().iter().find(|h| h["head"] == "topic/a").unwrap();
    assert_eq!(listed["deferred"], json!([{"section": "slow", "owner": "slow"}]), "{listed}");

    // After the release, the deferred content is applied.
    let epoch = quick["epoch"].to_string();
    ok(&world, &["release", "topic/a", "--owner", "quick", "--epoch", &epoch], "");
    let text = std::fs::read_to_string(page(&world, "main", "topic/a")).unwrap();
    assert!(text.contains("while it slept") && text.contains("from before"), "{text}");
}

#[test]
fn work_lands_what_waits_for_a_holder_that_never_came_back() {
    let world = home(&AGENTS[..1]);
    let early = acquire(&world, "memory", "ci", "10");
    let epoch = early["epoch"].to_string();
    assert_eq!(ok(&world, &["release", "memory", "--owner", "ci", "--epoch", &epoch], "")["released"], true);
    assert_eq!(ok(&world, &["release", "memory", "--owner", "ci", "--epoch", &epoch], "")["released"], false);
    acquire(&world, "memory", "gone", "1");
    for n in 0..3 {
        let (code, said) = commit(&world, "memory", ("plan", "ci"), &early, &format!("plan {n}"));
        assert_eq!((code, &said["deferred"]), (75, &json!(true)), "{said}");
    }
    world.json(&["work", "--drain"]);
    let text = || std::fs::read_to_string(world.test.home().join("workspaces/main/MEMORY.md")).unwrap();
    assert!(!text().contains("plan "), "{}", text());
    std::thread::sleep(Duration::from_millis(1_100));
    world.json(&["work", "--drain"]);
    assert!(text().contains("plan 2") && !text().contains("plan 1"), "{}", text());
}

#[test]
fn commits_killed_anywhere_leave_the_old_page_or_the_new_one() {
    let world = home(&AGENTS[..1]);
    acquire(&world, "topic/a", "ci", "10");
    let path = page(&world, "main", "topic/a");
    let mut rng = Rng::new(7);
    let (mut killed, mut took) = (0, Duration::from_millis(60));
    for n in 0..50 {
        let grant = acquire(&world, "topic/a", "ci", "10");
        let (epoch, base) = (grant["epoch"].to_string(), grant["base_revision"].to_string());
        let mut command = world.test.command(HEIRLOOM);
        command.args(["--json", "head"]).args(commit_args("topic/a", "plan", "ci", &epoch, &base));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let words = format!("mark-{n}\n{}", format!("line of {n}\n").repeat(200));
        child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
        std::thread::sleep(took.mul_f64(rng.below(1000) as f64 / 1000.0));
        match child.try_wait().unwrap() {
            None => killed += 1,
            Some(_) => took = began.elapsed(),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = marks(&text, &path);
        assert!(found.len() <= 1, "{text}");
        if let Some(mark) = found.first() {
            let line = format!("line of {}", &mark["mark-".len()..]);
            assert_eq!(text.lines().filter(|l| *l == line).count(), 200, "{text}");
        }
        // Marks in the file were committed before.
        let newest = ok(&world, &["show", "topic/a"], "")["sections"]["plan"]["content"].clone();
        let newest = newest.as_str().and_then(|c| c.lines().next()).map(str::to_owned);
        let mark_of = |m: &String| m["mark-".len()..].parse::<i64>().unwrap();
        assert!(found.first().map(mark_of) <= newest.as_ref().map(mark_of), "{found:?} and {newest:?}");
    }
    println!("{killed} of 50 were killed before their end");
    assert!(killed >= 10, "only {killed} of 50 were killed before their end");
    // A file that was changed within two seconds is left alone, as an editor's save would be: the test waits.
    std::thread::sleep(Duration::from_millis(2_100));
    world.json(&["work", "--drain"]);
    let shown = ok(&world, &["show", "topic/a"], "");
    let listed = ok(&world, &["list"], "");
    let head = listed["heads"].as_array().unwrap().iter().find(|h| h["head"] == "topic/a").unwrap();
    assert_eq!(head["published"], head["revision"], "{head}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(shown["sections"]["plan"]["content"].as_str().unwrap()), "{text}");
    let left: Vec<_> = listing(path.parent().unwrap())
        .into_keys()
        .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    world.verified();
}

#[test]
fn a_section_through_its_life_and_what_is_refused() {
    let world = home(&AGENTS[..1]);
    let grant = acquire(&world, "memory", "ci", "30");
    assert!(grant["content"].as_str().unwrap().contains("Water the plants"), "{grant}");
    let (code, first) = commit(&world, "memory", ("plan", "ci"), &grant, "ship it");
    assert_eq!(code, 0, "{first}");
    names(&first, "head section revision epoch published deferred");
    let next = json!({"epoch": grant["epoch"], "base_revision": first["revision"]});
    let (code, second) = commit(&world, "memory", ("plan", "ci"), &next, "ship it twice");
    assert_eq!(code, 0, "{second}");
    let (a, b) = (first["revision"].to_string(), second["revision"].to_string());
    let diff = world.says(0, &["head", "diff", "memory", &a, &b]);
    assert!(diff.contains("- ship it\n+ ship it twice\n"), "{diff}");
    assert_eq!(diff, world.says(0, &["head", "diff", "memory", &a]), "the newest, where none is named");

    // Refusals: an old base, another owner's section, invalid names; each with its own exit code.
    let (code, said) = commit(&world, "memory", ("plan", "ci"), &grant, "from before");
    assert_eq!(
        (code, &said["deferred"], &said["current_revision"]),
        (75, &json!(false), &second["revision"]),
        "{said}"
    );
    let epoch = grant["epoch"].to_string();
    ok(&world, &["release", "memory", "--owner", "ci", "--epoch", &epoch], "");
    let bob = acquire(&world, "memory", "bob", "30");
    let (code, said) = commit(&world, "memory", ("plan", "bob"), &bob, "mine");
    assert_eq!((code, &said["error"]["kind"]), (3, &json!("refused")), "{said}");
    assert!(said["error"]["what"].as_str().unwrap().contains("belongs to ci"), "{said}");
    for (section, owner) in [("No", "bob"), ("plan", "b b"), ("plan", "heirloom")] {
        let (code, said) = commit(&world, "memory", (section, owner), &bob, "x");
        assert_eq!((code, &said["error"]["kind"]), (2, &json!("usage")), "{said}");
    }
    let (code, said) = commit(&world, "memory", ("big", "bob"), &bob, &"x".repeat(5_000));
    assert_eq!(code, 2, "{said}");
    for args in [["show", "topic/none"], ["log", "topic/none"], ["show", "--revision=999"]] {
        assert_eq!(head(&world, "main", &args, "").0, 4, "{args:?}");
    }
    for ttl in ["0", "61", "x"] {
        assert_eq!(head(&world, "main", &["acquire", "memory", "--owner", "ci", "--ttl", ttl], "").0, 2);
    }
    assert_eq!(head(&world, "nobody", &["acquire", "memory", "--owner", "ci"], "").0, 4);
    let epoch = bob["epoch"].to_string();
    ok(&world, &["release", "memory", "--owner", "bob", "--epoch", &epoch], "");

    // The sections of a revision are restored; older revisions can be shown.
    ok(&world, &["restore", "memory", &a], "");
    assert_eq!(ok(&world, &["show"], "")["sections"]["plan"], json!({"owner": "ci", "content": "ship it"}));
    assert_eq!(ok(&world, &["show", "--revision", &b], "")["sections"]["plan"]["content"], "ship it twice");
    let said = world.says(0, &["head", "show"]);
    assert!(said.contains("### plan · ci\nship it\n") && said.contains("Water the plants"), "{said}");
    assert!(world.says(0, &["head", "list"]).contains("1 section"), "listed");
    // A thread's head is rendered once a program asks for it.
    assert!(world.says(4, &["head", "show", "--thread", "topic/b"]).contains("was not rendered yet"));
    acquire(&world, "topic/b", "ci", "1");
    assert!(world.says(0, &["head", "show", "--thread", "topic/b"]).contains("revision 1"));
    world.verified();
}
