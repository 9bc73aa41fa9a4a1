//! The engine's door: one engine for several threads, several engines on one home, and the examples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use heirloom_engine::capture::LineAck;
use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::engine::{ContextRequest, Engine, How, Options, RecallRequest, SearchRequest};
use heirloom_engine::inject::Event;
use heirloom_engine::scope::AgentId;
use heirloom_engine::verify::verify;

use crate::world::{LITTLE, Little, NOON};

/// Number of lines each thread and each process appends.
const LINES: usize = 12;

/// Variable with the home for the processes of the stress test, which are this test binary started again.
const HOME: &str = "HEIRLOOM_TEST_DOOR_HOME";

fn open(home: &Path) -> Engine {
    let little = Little { global_ids: LITTLE.global_ids };
    let options = Options { clock: Clock::Fixed(NOON), programs: vec![Arc::new(little)], ..Options::default() };
    Engine::open(home, How::Create, options).unwrap()
}

/// Plays a day of work: lines are appended, loops are opened, and questions are asked in between.
fn work(engine: &Engine, name: &str) {
    let engine = engine.acting_as(name);
    for n in 0..LINES {
        let line =
            format!("{{\"session\":\"{name}\",\"id\":\"{n}\",\"role\":\"user\",\"text\":\"Word {n} of {name}.\"}}");
        engine.append("little", true, |appending| appending.line(line.as_bytes())).unwrap();
        if n % 4 == 0 {
            let new = NewLoop { title: format!("Loop {n} of {name}"), ..NewLoop::default() };
            engine.act(|lock| open_loop::add(lock, &new)).unwrap();
        }
        let found = engine.search(&SearchRequest { query: format!("word {n}"), ..SearchRequest::default() });
        // Another process may be replacing the index at that moment.
        if let Err(e) = found {
            assert_eq!(e.kind(), heirloom_engine::error::ErrorKind::Busy, "{e}");
        }
    }
}

#[test]
fn an_engine_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Engine>();
}

#[test]
fn two_threads_and_four_processes_work_on_one_home() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let engine = open(&home);
    let processes: Vec<_> = (0..4)
        .map(|n| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "door::one_process_of_the_stress_test", "--ignored", "--nocapture"])
                .env(HOME, &home)
                .env("HEIRLOOM_TEST_DOOR_NAME", format!("process{n}"))
                // The message of a failure is then its only line.
                .env("RUST_BACKTRACE", "0")
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for n in 0..2 {
            let engine = engine.clone();
            scope.spawn(move || work(&engine, &format!("thread{n}")));
        }
    });
    for process in processes {
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let status = engine.status().unwrap();
    assert_eq!((status.stored.sessions, status.stored.turns), (6, 6 * LINES as u64));
    assert_eq!(engine.loops(false, None, 100).unwrap().all, 6 * LINES.div_ceil(4));
    let report = verify(engine.ledger(), None, &mut |_| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    for name in ["thread1", "process3"] {
        let found =
            engine.search(&SearchRequest { query: name.into(), limit: 50, ..SearchRequest::default() }).unwrap();
        assert_eq!(found.hits.iter().filter(|h| h.session == format!("little:{name}")).count(), LINES);
    }
}

#[test]
#[ignore = "started by two_threads_and_four_processes_work_on_one_home"]
fn one_process_of_the_stress_test() {
    let home = PathBuf::from(std::env::var_os(HOME).expect(HOME));
    work(&open(&home), &std::env::var("HEIRLOOM_TEST_DOOR_NAME").unwrap());
}

/// A program that holds the whole index, as one does that is closing it, keeps no line from being stored.
#[test]
fn a_line_is_stored_while_nobody_can_open_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder.path().join("home"));
    let line = |n: u32| format!("{{\"session\":\"s\",\"id\":\"{n}\",\"role\":\"user\",\"text\":\"Sparrow {n}.\"}}");
    let append = |n: u32| engine.append("little", true, |appending| appending.line(line(n).as_bytes()));
    append(1).unwrap();
    let path = folder.path().join("home").join(heirloom_engine::home::layout::INDEX_DB.as_str());
    engine.rest();
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM meta WHERE key = ''").unwrap();
    assert!(matches!(append(2), Ok(LineAck::Stored { .. })));
    drop(holder);
    let request = SearchRequest { query: "sparrow".into(), ..SearchRequest::default() };
    assert_eq!(engine.search(&request).unwrap().hits.len(), 2);
}

#[test]
fn clones_act_for_their_own_agent_in_their_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder.path().join("home"));
    let other = engine.for_agent(AgentId::parse("other").unwrap()).acting_as("a friend");
    other.act(|lock| open_loop::add(lock, &NewLoop { title: "Theirs".into(), ..NewLoop::default() })).unwrap();
    engine.act(|lock| open_loop::add(lock, &NewLoop { title: "Ours".into(), ..NewLoop::default() })).unwrap();
    let titles = |engine: &Engine| -> Vec<String> {
        engine.loops(false, None, 9).unwrap().loops.into_iter().map(|l| l.title).collect()
    };
    assert_eq!((titles(&engine), titles(&other)), (vec!["Ours".to_owned()], vec!["Theirs".to_owned()]));
    let actors = engine
        .read(|tx| {
            let mut rows = tx.prepare("SELECT actor FROM audit WHERE action = 'loop.add' ORDER BY audit_no")?;
            let actors = rows.query_map([], |r| r.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(actors)
        })
        .unwrap();
    assert_eq!(actors, ["a friend", "library"]);
}

#[test]
fn every_reading_verb_answers_in_an_empty_home_or_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder.path().join("home"));
    let refused = [
        engine.search(&SearchRequest { query: "x".into(), ..SearchRequest::default() }).err(),
        engine.recall(&RecallRequest::default()).err(),
        engine.context(&ContextRequest { dry_run: true, ..ContextRequest::new("little:x", Event::Start, "t") }).err(),
        engine.compact("little:x", None, true).err(),
    ];
    for error in refused {
        let error = error.expect("there is nothing to find yet");
        assert!(error.next_step().is_some(), "{error}");
    }
    assert_eq!(engine.status().unwrap().stored.turns, 0);
    assert!(engine.verify().is_ok());
    assert_eq!(engine.work().unwrap().failed, 0);
}

#[test]
fn the_first_example_is_shorter_than_thirty_lines() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/first_twenty_lines.rs")).unwrap();
    assert!(text.lines().count() < 30, "{} lines", text.lines().count());
}

/// If the folder of the ledger is exchanged, SQLite goes on in a file outside the home: nothing is acknowledged.
#[test]
fn nothing_is_acknowledged_once_the_state_folder_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let engine = open(&home);
    let say = |n: u32| {
        let line = format!(r#"{{"session":"s","id":"{n}","role":"user","text":"Word {n}."}}"#);
        engine.append("little", false, |appending| appending.line(line.as_bytes())).map(drop)
    };
    say(1).unwrap();
    let (state, aside) = (home.join("state"), home.join("aside"));
    std::fs::rename(&state, &aside).unwrap();
    assert!(say(2).is_err());
    std::fs::create_dir_all(state.join("scratch")).unwrap();
    std::fs::create_dir_all(state.join("backups")).unwrap();
    std::fs::copy(aside.join("runtime.db"), state.join("runtime.db")).unwrap();
    let error = say(2).unwrap_err();
    assert_eq!(error.kind(), heirloom_engine::error::ErrorKind::Refused);
    assert!(error.to_string().contains("exchanged or moved"), "{error}");
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::rename(&aside, &state).unwrap();
    say(3).unwrap();
    let report = verify(engine.ledger(), None, &mut |_| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// A home that was in use and has lost its ledger says so, at once and in its status.
#[test]
fn a_ledger_that_is_gone_is_told() {
    struct Heard(std::sync::Mutex<Vec<String>>);
    impl heirloom_engine::engine::Listener for Heard {
        fn notice(&self, notice: &heirloom_engine::engine::Notice) {
            self.0.lock().unwrap().push(format!("{notice:?}"));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let heard = Arc::new(Heard(Default::default()));
    let open = || {
        let options = Options { listener: heard.clone(), ..Options::default() };
        Engine::open(&home, How::Create, options).unwrap()
    };
    let add = |title: &str| {
        let new = NewLoop { title: title.into(), ..NewLoop::default() };
        open().act(|lock| open_loop::add(lock, &new)).unwrap();
    };
    add("Paint the barn");
    assert_eq!(heard.0.lock().unwrap().len(), 0, "a new home has lost nothing");
    for entry in std::fs::read_dir(home.join("state")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let engine = open();
    assert_eq!(*heard.0.lock().unwrap(), ["LedgerMadeAnew"]);
    assert_eq!(engine.loops(false, None, 9).map(|l| l.loops.len()).unwrap_or(0), 0);
    let wrong = engine.status().unwrap().wrong;
    assert!(wrong.iter().any(|w| w.contains("runtime.db was gone")), "{wrong:?}");
}

/// Processes that open a new home at the same time tell nobody that its ledger was lost.
#[test]
fn a_home_opened_for_the_first_time_by_many_at_once_has_lost_nothing() {
    struct Heard(std::sync::atomic::AtomicUsize);
    impl heirloom_engine::engine::Listener for Heard {
        fn notice(&self, _: &heirloom_engine::engine::Notice) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let heard = Arc::new(Heard(Default::default()));
    let folder = tempfile::tempdir().unwrap();
    // One or two homes in forty showed the race of the processes, so there are many.
    for n in 0..40 {
        let home = folder.path().join(format!("home{n}"));
        let together = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    let options = Options { listener: heard.clone(), ..Options::default() };
                    Engine::open(&home, How::Create, options).unwrap();
                });
            }
        });
    }
    assert_eq!(heard.0.load(std::sync::atomic::Ordering::Relaxed), 0);
}
