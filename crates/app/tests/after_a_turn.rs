//! The worker of a hook: once it is done, the pages about the moment show the newest turn (R5.2, R7.3), and the cost of
//! a turn does not depend on the size of the memory.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use heirloom_testkit::run;
use rusqlite::Connection;

use crate::programs::{Session, at_rest, hook_command, is_as_promised, no_worker, told};
use crate::world::{HEIRLOOM, World, files};

fn hook(world: &World, session: &Session, event: &str) {
    let out = run(hook_command(world, session.program, event), session.payload(world, event).to_string().as_bytes());
    is_as_promised(session.program, event, &out).unwrap();
}

/// Plays one turn: the prompt's hook, the program's store, the hook of the turn's end.
fn turn(world: &World, session: &Session) {
    let (prompt, end) = match session.program {
        "opencode" => ("chat.message", "session.idle"),
        "openclaw" => ("before_prompt_build", "agent_end"),
        _ => ("UserPromptSubmit", "Stop"),
    };
    hook(world, session, prompt);
    session.write(world);
    hook(world, session, end);
}

/// Runs the worker as a hook starts it, and waits for it.
fn worker(world: &World) {
    let mut command = world.test.command(HEIRLOOM);
    command.env("HEIRLOOM_HOOK", "1").args(["work", "--drain", "--detached"]);
    let out = run(command, b"");
    assert_eq!((out.status, out.stdout.as_str(), out.stderr.as_str()), (Some(0), "", ""));
}

fn page(world: &World, name: &str) -> String {
    let found = files(&world.test.home().join("workspaces"), &format!("runtime/{name}"));
    assert!(found.len() <= 1, "{found:?}");
    found.first().map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default()
}

fn session_pages(world: &World) -> Vec<PathBuf> {
    let all = files(&world.test.home().join("workspaces"), ".md");
    all.into_iter().filter(|path| path.parent().unwrap().ends_with("runtime/session-memory")).collect()
}

#[test]
fn once_the_worker_is_done_the_pages_about_the_moment_say_what_was_said() {
    let world = told();
    for (n, session) in Session::of_each(0, 2).iter().enumerate() {
        let held = no_worker(&world);
        turn(&world, session);
        drop(held);
        worker(&world);
        let latest = page(&world, "latest-turn.md");
        assert!(latest.contains(&session.prompt()) && latest.contains(&session.answer()), "{session:?}: {latest}");
        assert!(page(&world, "recent-turns.md").contains(&session.prompt()), "{session:?}");
        let pages = session_pages(&world);
        assert_eq!(pages.len(), n + 1, "{session:?}: {pages:?}");
        let own = pages.iter().map(|path| fs::read_to_string(path).unwrap()).filter(|p| p.contains(&session.key()));
        let own: Vec<String> = own.collect();
        assert!(own.len() == 1 && own[0].contains(&session.answer()), "{session:?}: {own:?}");
    }
    world.verified();
}

#[test]
fn the_worker_a_hook_starts_writes_them() {
    let world = told();
    let mut took = Vec::new();
    for session in Session::of_each(0, 2) {
        turn(&world, &session);
        let over = Instant::now();
        while !page(&world, "latest-turn.md").contains(&session.answer()) {
            // A worker runs at low priority: on a busy machine it takes minutes.
            assert!(over.elapsed() < Duration::from_secs(300), "{session:?}: {}", page(&world, "latest-turn.md"));
            std::thread::sleep(Duration::from_millis(5));
        }
        took.push(over.elapsed());
    }
    took.sort();
    println!("the pages were there {:?} after the hook was over, {:?} at most", took[took.len() / 2], took.last());
    at_rest(&world);
    world.verified();
}

/// A hook reports a turn, and the program's store later gives that turn another time: the index covers it already and
/// is not rebuilt.
#[test]
fn a_turn_the_store_confirms_makes_no_new_index() {
    let world = told();
    let before = Session { program: "claude-code", n: 0 };
    before.write(&world);
    world.import(0, &[&before.store(&world)]);
    at_rest(&world);
    let indexed = || -> i64 {
        let index = Connection::open(world.test.home().join("state/index.db")).unwrap();
        index.query_row("SELECT count(*) FROM (SELECT rowid FROM fts)", [], |r| r.get(0)).unwrap()
    };
    assert_eq!(indexed(), 2);
    // A rebuilt index would contain this missing row again.
    let index = Connection::open(world.test.home().join("state/index.db")).unwrap();
    assert_eq!(index.execute("DELETE FROM fts WHERE rowid = (SELECT min(rowid) FROM fts)", []).unwrap(), 1);
    drop(index);
    let held = no_worker(&world);
    let session = Session { program: "claude-code", n: 1 };
    hook(&world, &session, "UserPromptSubmit");
    // The index has the turn with the time the hook gave it.
    world.says(0, &["search", "barn"]);
    assert_eq!(indexed(), 2);
    session.write(&world);
    hook(&world, &session, "Stop");
    drop(held);
    worker(&world);
    let ledger = Connection::open(world.ledger()).unwrap();
    let confirmed: i64 = ledger
        .query_row(
            "SELECT count(*) FROM witnesses w JOIN turns t USING (turn_no) WHERE t.at = 1795168861000",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(confirmed, 1, "the prompt has the time its program gave it");
    assert_eq!(indexed(), 3, "the index was made anew");
}
