//! Forgotten words in names, ids and the audit: what is no name stays as it is, spellings stay apart, and programs are
//! still recognised (R14.2).

use heirloom_engine::forget::{self, Wish};
use heirloom_engine::ledger::{Audit, audit};
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::scope::TurnId;
use heirloom_engine::tree::file_table;
use serde_json::{Value, json};

use crate::forget::Story;
use crate::world::{LITTLE, said};

fn matching(text: &str) -> Wish {
    Wish::Match { text: text.into(), ignore_case: false, since: None, until: None }
}

fn in_either_case(text: &str) -> Wish {
    Wish::Match { text: text.into(), ignore_case: true, since: None, until: None }
}

fn line(turn: Value) -> String {
    format!("{turn}\n")
}

/// Returns the details of the audit's rows.
fn details(story: &Story) -> Vec<Value> {
    let newest_first = story.tree.ledger.read(|tx| audit::list(tx, story.tree.agent_no, None, 10_000)).unwrap();
    newest_first.into_iter().rev().map(|row| row.detail).collect()
}

/// Digits are in the numbers, the digests and the seals of the audit, and letters from a to f in the digests.
#[test]
fn numbers_and_digests_of_the_audit_stay_when_digits_are_forgotten() {
    let story = Story::new(&LITTLE);
    for n in 0..14 {
        story.tell(&format!("s{n}.jsonl"), &said(&n.to_string(), "user", &format!("line {n}0")));
    }
    story.tell("x.jsonl", &said("x", "user", "my flat number is 12 and my pin is in the digest"));
    let before = details(&story);
    let digest = before.iter().find_map(|d| d["digests"].as_str()).unwrap();
    for word in ["12", "1", &digest[..4], &digest[20..24], "a", "e", "seal", "digests", "first_record"] {
        story.forget(matching(word));
        let after = details(&story);
        for (was, is) in before.iter().zip(&after) {
            for key in ["digests", "seal", "first_record", "last_record", "records", "turns"] {
                assert_eq!(was[key], is[key], "{key} after {word:?}: {is}");
            }
        }
        story.verified();
    }
}

/// The id of a session is often a UUID, and a path often has a date.
#[test]
fn a_word_inside_an_id_or_a_date_is_no_name() {
    let story = Story::new(&LITTLE);
    let id = "7f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";
    story.line(&json!({"id": "1", "session": id, "role": "user", "text": "my code is 4e55"}).to_string());
    story.line(&json!({"id": "2", "session": "day-2026-11-20", "role": "user", "text": "I am 20"}).to_string());
    story.line(&json!({"id": "3", "session": "room-4e55-20", "role": "user", "text": "meet me there"}).to_string());
    for word in ["4e55", "20"] {
        story.forget(matching(word));
    }
    let mut keys: Vec<String> = story.names("SELECT session_key FROM sessions");
    keys.sort();
    assert_eq!(keys[..2], ["little:7f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b", "little:day-2026-11-20"]);
    assert!(keys[2].starts_with("little:room-forgotten-"), "{keys:?}");
    // The program goes on with the session: it is still the same one.
    story.line(&json!({"id": "4", "session": id, "role": "user", "text": "and on it goes"}).to_string());
    assert_eq!(story.tree.count("SELECT count(*) FROM sessions"), 3);
    // A whole id is a name like any other.
    story.forget(matching(id));
    story.gone(id);
}

/// Rows that differ only in the spelling of a forgotten name stay different rows, also when they come again.
#[test]
fn a_name_in_several_spellings_can_be_forgotten() {
    let turns = |place: &str, spellings: [Value; 3]| -> String {
        let all = spellings.into_iter().enumerate().map(|(n, name)| {
            let mut turn = json!({"id": format!("{place}{n}"), "role": "user", "text": format!("hello {n}")});
            turn["session"] = "s".into();
            turn[place] = name;
            line(turn)
        });
        all.collect()
    };
    let named = |with: &str| ["Annaquux", "annaquux", "ANNAQUUX"].map(|name| Value::String(with.replace("NAME", name)));
    let tools = turns("tool", named("NAME")).replace("\"user\"", "\"tool\"");
    for (place, text) in [
        ("speaker", turns("speaker", named("NAME"))),
        ("participants", turns("participants", [json!(["Annaquux", "annaquux"]), json!(["Bob"]), json!(["ANNAQUUX"])])),
        ("session", turns("session", named("wa:NAME"))),
        ("thread", turns("thread", named("About NAME"))),
        ("tool", tools),
        ("id", turns("id", named("NAME"))),
        (
            "session",
            turns("session", [json!("Zoe\u{308}-Annaquux"), json!("Zo\u{eb}-Annaquux"), json!("Zo\u{eb} Annaquux")]),
        ),
    ] {
        for wish in [Wish::Person("Annaquux".into()), in_either_case("annaquux")] {
            let story = Story::new(&LITTLE);
            story.tell("s.jsonl", &text);
            for line in text.lines() {
                story.line(line);
            }
            let count = |table: &str| story.tree.count(&format!("SELECT count(*) FROM {table}"));
            story.threads();
            let before = ["names", "sessions", "turns", "threads", "participants"].map(|t| (t, count(t)));
            story.forget(wish.clone());
            story.gone("annaquux");
            let after = ["names", "sessions", "turns", "threads", "participants"].map(|t| (t, count(t)));
            assert_eq!(after, before, "{place}, {wish:?}");
            story.import("s.jsonl");
            story.tell("s.jsonl", &format!("{text}\n{}", said("more", "user", "more of it")));
            for line in text.lines() {
                story.line(line);
            }
            story.gone("annaquux");
            assert_eq!(count("turns"), before[2].1 + 1, "{place}, {wish:?}");
        }
    }
}

/// A row that already has the mark of a name, and one that gets it, stay two rows.
#[test]
fn a_name_that_was_stored_again_past_its_mark_can_be_forgotten_again() {
    let story = Story::new(&LITTLE);
    let text = line(json!({"id": "a", "role": "user", "speaker": "Annaquux", "text": "hello"}));
    for _ in 0..3 {
        story.tell("s.jsonl", &text);
        story.forget(Wish::Person("Annaquux".into()));
        story.gone("annaquux");
        story.tree.sql().execute("INSERT INTO names (name) VALUES ('Annaquux')", []).unwrap();
        story.tree.sql().execute("DELETE FROM seals", []).unwrap();
    }
    story.forget(Wish::Person("Annaquux".into()));
    assert_eq!(story.traces("annaquux").len(), 0);
}

/// The id of a program is no name: what was stored is known again, and does not come a second time.
#[test]
fn the_word_in_a_programs_name_brings_nothing_back() {
    let story = Story::new(&LITTLE);
    let text = said("a", "user", "the little program") + &said("b", "user", "something else");
    std::fs::create_dir(story.path(".little")).unwrap();
    story.tell(".little/s.jsonl", &text);
    let line = json!({"id": "1", "session": "live", "role": "user", "text": "hello"}).to_string();
    story.line(&line);
    let counts = || {
        ["sources", "sessions", "turns", "records", "threads"]
            .map(|t| story.tree.count(&format!("SELECT count(*) FROM {t}")))
    };
    let before = counts();
    let word = Wish::Match { text: "little".into(), ignore_case: true, since: None, until: None };
    story.forget(word.clone());
    story.verified();
    story.import(".little/s.jsonl");
    story.line(&line);
    assert_eq!(counts(), before);
    story.tell(".little/s.jsonl", &(text + &said("c", "user", "more of it")));
    assert_eq!(story.tree.count("SELECT count(*) FROM sessions"), before[1]);
    assert_eq!(story.names("SELECT DISTINCT harness FROM sources"), ["little"]);
    assert!(story.names("SELECT session_key FROM sessions").iter().all(|key| key.starts_with("little:")));
    assert_eq!(story.names("SELECT path FROM sources WHERE CAST(path AS TEXT) LIKE '%/.little/%'").len(), 0);
}

/// Keys and files of threads, and ids of projects, have a slug of a name: without capitals and accents.
#[test]
fn a_name_is_gone_from_slugs_too() {
    for (name, left) in [("Quuxfrobnitz", "quuxfrobnitz"), ("\u{c9}lodiequux", "lodiequux")] {
        let story = Story::new(&LITTLE);
        let project = story.path(&format!("{name}-Api"));
        std::fs::create_dir_all(project.join(".git")).unwrap();
        let turns = [
            json!({"id": "1", "session": "a", "role": "user", "thread": format!("About {name}"), "text": "first of all"}),
            json!({"id": "2", "session": format!("wa:{name}"), "role": "user", "text": "second of all"}),
            json!({"id": "3", "session": "c", "role": "user", "cwd": project, "text": "third of all"}),
            json!({"id": "4", "session": "d", "role": "user", "thread": "About quuxfrobnitzes", "text": "of others"}),
        ];
        for turn in &turns {
            story.line(&turn.to_string());
        }
        story.threads();
        let before = story.traces(left);
        for place in ["threads.thread_key", "threads.file", "workspaces.workspace_id"] {
            assert!(before.contains(place), "{place}: {before:?}");
        }
        story.forget(matching(name));
        let lasting: Vec<String> = story
            .names("SELECT thread_key || ' ' || file || ' ' || label FROM threads UNION SELECT workspace_id FROM workspaces")
            .into_iter()
            .filter(|key| key.contains(left) && !key.contains("quuxfrobnitzes"))
            .collect();
        assert_eq!(lasting, Vec::<String>::new());
        story.verified();
        if name != "Quuxfrobnitz" {
            story.gone(left);
        }
    }
}

/// A context that a program was given may repeat any turn or memory: every forget empties all of them, whether it names
/// words or not.
#[test]
fn a_forget_empties_the_contexts_that_were_given() {
    for of_leaf in [false, true] {
        let story = Story::new(&LITTLE);
        story.tell("s.jsonl", &(said("a", "user", "plant the zinnias") + &said("b", "assistant", "done")));
        let at = story.tree.at();
        let leaf = NewLeaf::new(Class::Preference, Scope::Agent, "zinnias before roses");
        let id = memory::add(&at.lock().unwrap(), &leaf).unwrap().id;
        let given = story.tree.ledger.write(Audit::new("test", "context.give"), |tx| {
            tx.execute("INSERT INTO capability_manifests VALUES (1, x'00', '{}')", [])?;
            Ok(tx.execute(
                "INSERT INTO contexts (agent_no, session_key, event, epoch, manifest_no, tokens, at, fingerprint, content,
                   key, digest) VALUES (?1, 'little:s', 'start', 0, 1, 1, 1, x'01', x'02', x'03', x'04')",
                [at.agent_no],
            )?)
        });
        assert_eq!(given.unwrap(), 1);
        let key = || story.names("SELECT hex(sum) FROM seals WHERE name = '' AND part = 0");
        let before = key();
        if of_leaf {
            let entry = at.read(|tx| file_table::item(tx, at.agent_no, &id)).unwrap();
            forget::leaves(&at.lock().unwrap(), entry.as_slice()).unwrap();
        } else {
            story.forget(Wish::Turns(vec![TurnId(1)]));
        }
        let left = "SELECT count(*) FROM contexts WHERE length(content || key || digest || fingerprint) > 0";
        assert_eq!((story.tree.count("SELECT count(*) FROM contexts"), story.tree.count(left)), (1, 0), "{of_leaf}");
        // Under the old key of the seals, a guess of the words could be confirmed.
        assert_ne!(key(), before, "{of_leaf}");
    }
}

/// A page in which a person wrote the words stays theirs. No state of it is stored again while it has them.
#[test]
fn of_a_page_with_the_words_of_a_person_no_state_is_kept() {
    let story = Story::new(&LITTLE);
    story.tell("s.jsonl", &said("a", "user", "it is Quuxfrobnitz"));
    story.tree.refresh();
    story.tree.hand("MEMORY.md", &(story.tree.text("MEMORY.md") + "\nMine: Quuxfrobnitz.\n"));
    drop(story.tree.at().lock().unwrap());
    let is_kept = || story.traces("quuxfrobnitz").contains("file_revisions.data");
    assert!(is_kept());
    story.forget(matching("Quuxfrobnitz"));
    drop(story.tree.at().lock().unwrap());
    assert!(story.tree.text("MEMORY.md").contains("Mine: Quuxfrobnitz.") && !is_kept());
}
