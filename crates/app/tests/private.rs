//! Text between private tags is written to no file of the home, whether a hook, an import or a live line brings it
//! (R14.2, D6).

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::programs::{Session, at_rest, hook_command, hooks, no_worker, told, with_hooks};
use crate::world::{World, let_it_settle, traces};

const WORD: &str = "quuxfrobnitz";

/// Ways in which a person may write the tags. The last one is escaped, as some programs write it.
const SPANS: [&str; 6] = [
    "<private>QUUXFROBNITZ</private>",
    "<PRIVATE>\n\"Quuxfrobnitz\" \\ in\nlines </Private>",
    "<private>a <private>QUUXFROBNITZ</private> QUUXFROBNITZ</private>",
    "<private class=\"mine\">QUUXFROBNITZ</private>",
    "the `<private>` tag: <private>QUUXFROBNITZ</private>",
    "\u{1}<private>QUUXFROBNITZ</private>",
];

/// Replaces a word of a text in JSON with the span.
fn marked(json: &str, session: &Session) -> String {
    let span = SPANS[session.n % SPANS.len()];
    let quoted = serde_json::to_string(span).unwrap();
    let mut quoted = quoted[1..quoted.len() - 1].to_owned();
    if let Some(escaped) = quoted.strip_prefix("\\u0001") {
        quoted = escaped.replace('<', "\\u003c").replace('>', "\\u003e");
    }
    json.replace("barn", &format!("{quoted} barn")).replace("Barn", &format!("{quoted} Barn"))
}

/// Puts the span into the program's own store.
fn mark_store(world: &World, session: &Session) {
    let store = session.store(world);
    if session.program == "opencode" {
        let db = Connection::open(store).unwrap();
        let mut statement = db.prepare("SELECT id, data FROM part WHERE session_id = ?1").unwrap();
        let rows = statement.query_map([session.id()], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
        let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>().unwrap();
        for (id, data) in rows {
            db.execute("UPDATE part SET data = ?2 WHERE id = ?1", [&id, &marked(&data, session)]).unwrap();
        }
        return;
    }
    let text = fs::read_to_string(&store).unwrap();
    // The folder has the same name as the word, and is not part of what was said.
    let text = text.replace("/barn\"", "/shed\"");
    fs::write(&store, marked(&text, session).replace("/shed\"", "/barn\"")).unwrap();
}

/// Calls every hook of a session's program.
fn call_hooks(world: &World, session: &Session) {
    for (program, event) in hooks().into_iter().filter(|(program, _)| *program == session.program) {
        let payload =
            session.payload(world, event).to_string().replace("/barn\"", "/shed\"").replace("/-barn", "/-shed");
        let payload = marked(&payload, session).replace("/shed\"", "/barn\"").replace("/-shed", "/-barn");
        assert!(payload.to_lowercase().contains(WORD), "{payload}");
        let mut child = hook_command(world, program, event)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

fn nothing_of_it_is_kept(world: &World) {
    assert_eq!(traces(&world.test.home(), WORD), Vec::<String>::new());
}

#[test]
fn stores_of_every_program_come_in_without_it_and_are_found_again() {
    let world = told();
    let sessions = Session::of_each(0, SPANS.len());
    let mut stores = Vec::new();
    for session in &sessions {
        session.write(&world);
        mark_store(&world, session);
        stores.push(session.store(&world));
    }
    stores.sort();
    stores.dedup();
    let_it_settle();
    let paths: Vec<_> = stores.iter().map(std::path::PathBuf::as_path).collect();
    let first = world.import(0, &paths);
    assert_eq!(first["turns"]["new"], 2 * sessions.len());
    assert!(first["private"].as_u64().unwrap() >= 2 * sessions.len() as u64, "{first}");
    world.says(0, &["work", "--drain"]);
    nothing_of_it_is_kept(&world);
    for session in &sessions {
        let said: Vec<Value> = world.turns(&session.key());
        let texts: Vec<&str> = said.iter().map(|t| t["text"].as_str().unwrap()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        for text in texts {
            assert!(text.to_lowercase().contains(">***</private> barn"), "{text}");
        }
        let export = String::from_utf8(world.bytes(&["export", "--session", &session.key()])).unwrap();
        assert!(export.contains("************") && !export.to_lowercase().contains(WORD), "{export}");
    }
    assert_eq!(world.found(WORD).len(), 0);
    world.verified();

    // Importing the files again stores nothing new; only added lines are stored.
    for path in &stores {
        let text = fs::read(path).unwrap();
        fs::write(path, text).unwrap();
    }
    let again = world.import(0, &paths);
    assert_eq!((&again["records"], &again["sources"]["rewritten"]), (&Value::from(0), &Value::from(0)), "{again}");
    for session in sessions.iter().filter(|s| s.program != "opencode" && s.n == 1) {
        session.write(&world);
    }
    let more = world.import(0, &paths);
    assert_eq!(more["sources"]["rewritten"], 0, "{more}");
    nothing_of_it_is_kept(&world);
    world.verified();
}

#[test]
fn hooks_of_every_program_leave_nothing_of_it() {
    let world = told();
    for program in with_hooks() {
        for n in 0..2 {
            let session = Session { program, n };
            session.write(&world);
            mark_store(&world, &session);
            call_hooks(&world, &session);
        }
    }
    at_rest(&world);
    nothing_of_it_is_kept(&world);
    world.says(0, &["work", "--drain"]);
    nothing_of_it_is_kept(&world);
    for program in with_hooks() {
        let said = world.turns(&Session { program, n: 0 }.key());
        assert_eq!(said.len(), 2, "told and stored are one: {said:?}");
    }
    world.verified();
}

#[test]
fn what_waits_in_the_spool_has_nothing_of_it() {
    let world = told();
    let alone = no_worker(&world);
    let lock = Connection::open(world.ledger()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    for program in with_hooks() {
        call_hooks(&world, &Session { program, n: 1 });
    }
    assert!(!crate::programs::spooled(&world).is_empty());
    nothing_of_it_is_kept(&world);
    lock.execute_batch("ROLLBACK").unwrap();
    drop((lock, alone));
    world.says(0, &["work", "--drain"]);
    assert_eq!(crate::programs::spooled(&world), Vec::<String>::new());
    nothing_of_it_is_kept(&world);
}

#[test]
fn lines_of_a_conversation_that_goes_on_have_nothing_of_it() {
    let world = told();
    let line = r#"{"session":"chat","id":"1","text":"the code is <private>quuxfrobnitz</private>, ask me"}"#;
    for _ in 0..2 {
        let out = world.feed(&["append"], line.as_bytes());
        assert_eq!(out.status, Some(0), "{}", out.stderr);
    }
    let said = world.turns("turns:chat");
    assert_eq!(said.len(), 1, "the same line is known");
    assert_eq!(said[0]["text"], "the code is <private>***</private>, ask me");
    nothing_of_it_is_kept(&world);
    world.verified();
}
