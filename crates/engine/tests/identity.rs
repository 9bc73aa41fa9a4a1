//! Identity of turns: records of the same turn, and records that only look alike.

use heirloom_engine::scope::SessionNo;
use heirloom_engine::transcript::read;

use crate::world::{GLOBAL, LITTLE, World, said};

#[test]
fn a_thousand_equal_texts_without_ids_are_a_thousand_turns() {
    let world = World::new();
    let line = "{\"role\":\"user\",\"text\":\"ok\"}\n";
    world.write("s.jsonl", line.repeat(1000));
    world.import(&["s.jsonl"]);
    assert_eq!(world.texts("s"), vec!["ok"; 1000]);
    world.assert_kept("s.jsonl");
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!(totals.turns, 0);
}

#[test]
fn equal_ids_and_places_in_different_sessions_are_kept_apart() {
    let world = World::new();
    let lines = said("1", "user", "hello") + "{\"role\":\"assistant\",\"text\":\"without id\"}\n";
    world.write("one.jsonl", &lines);
    world.write("two.jsonl", &lines);
    let (totals, _) = world.import_as(&LITTLE, &["one.jsonl", "two.jsonl"]);
    assert_eq!((totals.turns, totals.references), (4, 0));
    // With global ids a turn with an id is shared between sessions; a turn known only by its place is not.
    let world = World::new();
    world.write("one.jsonl", &lines);
    world.write("two.jsonl", &lines);
    let (totals, _) = world.import_as(&GLOBAL, &["one.jsonl", "two.jsonl"]);
    assert_eq!((totals.turns, totals.references), (3, 1));
}

#[test]
fn a_fork_refers_to_the_turns_it_was_copied_from() {
    let world = World::new();
    let old = said("a", "user", "the zebra question") + &said("b", "assistant", "an answer");
    world.write("old.jsonl", &old);
    world.write("new.jsonl", old.clone() + &said("c", "user", "and further") + &said("d", "assistant", "done"));
    world.import_as(&GLOBAL, &["old.jsonl", "new.jsonl"]);
    world.assert_kept("new.jsonl");
    assert_eq!(
        world.dump(),
        "session little:new 2+2\n\
         \x20 a user message run of another session \"the zebra question\"\n\
         \x20 b assistant message run of another session \"an answer\"\n\
         \x20 c user message run 0 \"and further\"\n\
         \x20 d assistant message run 0 \"done\"\n\
         \x20 run 0 open c..d 0..0\n\
         session little:old 2+0\n\
         \x20 a user message run 0 \"the zebra question\"\n\
         \x20 b assistant message run 0 \"an answer\"\n\
         \x20 run 0 open a..b 0..0\n"
    );
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "zebra").iter().filter(|t| t.contains("zebra")).count(), 1);
}

#[test]
fn an_equal_id_with_another_text_is_a_turn_of_its_own_in_the_fork() {
    let world = World::new();
    world.write("old.jsonl", said("a", "user", "one"));
    world.write("new.jsonl", said("a", "user", "one, edited"));
    let (totals, _) = world.import_as(&GLOBAL, &["old.jsonl", "new.jsonl"]);
    assert_eq!((totals.turns, totals.references), (2, 0));
    assert_eq!(world.texts("new"), ["one, edited"]);
}

#[test]
fn two_equal_texts_with_two_echoes_are_two_turns() {
    let world = World::new();
    let line = |id: &str, echo: bool| {
        let id = if id.is_empty() { String::new() } else { format!("\"id\":\"{id}\",") };
        format!("{{{id}\"role\":\"assistant\",\"run\":\"r\",\"text\":\"ok\",\"echo\":{echo}}}\n")
    };
    world.write("s.jsonl", line("a", false) + &line("b", false) + &line("", true) + &line("", true));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (2, 2));
    // The third echo has no turn left to belong to and makes a turn of its own.
    world.add("s.jsonl", line("", true));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (1, 0));
}

#[test]
fn an_echo_before_its_twin_is_the_turn_and_the_twin_its_witness() {
    let world = World::new();
    let line = |echo: bool| format!("{{\"id\":\"a\",\"role\":\"user\",\"text\":\"hello\",\"echo\":{echo}}}\n");
    world.write("s.jsonl", line(true) + &line(false));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (1, 1));
    assert_eq!(world.texts("s"), ["hello"]);
}

/// Returns a message as newer rollouts write it: the event for the user interface, then the message itself.
fn twice(id: &str, run: &str, text: &str) -> String {
    let line = |id: &str, echo: bool| {
        format!("{{{id}\"role\":\"assistant\",\"run\":\"{run}\",\"text\":\"{text}\",\"echo\":{echo}}}\n")
    };
    line("", true) + &line(&format!("\"id\":\"{id}\","), false)
}

fn entries(world: &World) -> Vec<String> {
    let tx = world.sql();
    let mut statement = tx.prepare("SELECT entry FROM turns ORDER BY turn_no").unwrap();
    statement.query_map([], |r| r.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_record_takes_over_the_turn_of_the_echo_before_it() {
    let world = World::new();
    world.write("s.jsonl", twice("a", "r", "done") + &twice("b", "r", "ok") + &twice("c", "r", "ok"));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (3, 3));
    assert_eq!(world.texts("s"), ["done", "ok", "ok"]);
    assert_eq!(entries(&world), ["a", "b", "c"]);
    // The place of either record leads to the turn.
    let second = twice("a", "r", "done").len();
    let record = second + twice("b", "r", "ok").find('\n').unwrap() + 1;
    let at = |place: usize| {
        world.ledger.read(|tx| read::turn_of_entry(tx, SessionNo(1), &format!("@{place}"))).unwrap().map(|t| t.0)
    };
    assert_eq!((at(0), at(second), at(record), at(1)), (Some(1), Some(2), Some(2), None));
    // The second record may arrive in a later import.
    let both = twice("d", "r", "later");
    let (echo, record) = both.split_at(both.find('\n').unwrap() + 1);
    world.add("s.jsonl", echo);
    world.import(&["s.jsonl"]);
    world.add("s.jsonl", record);
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (0, 1));
    assert_eq!(entries(&world), ["a", "b", "c", "d"]);
}

#[test]
fn a_copy_of_a_session_repeats_the_echoes_too() {
    let world = World::new();
    let run = said("p", "user", "go").replace("{", "{\"run\":\"r\",") + &twice("a", "r", "done");
    world.write("old.jsonl", run.clone());
    world.write("new.jsonl", run + &twice("b", "r2", "more"));
    let (totals, _) = world.import_as(&GLOBAL, &["old.jsonl", "new.jsonl"]);
    assert_eq!((totals.turns, totals.references), (3, 2));
    assert_eq!(world.texts("new"), ["go", "done", "more"]);
}

#[test]
fn an_echo_of_another_run_or_speaker_is_not_taken_over() {
    let world = World::new();
    let echo = "{\"role\":\"assistant\",\"run\":\"q\",\"text\":\"ok\",\"echo\":true}\n";
    let record = "{\"id\":\"a\",\"role\":\"assistant\",\"run\":\"r\",\"text\":\"ok\"}\n";
    world.write("s.jsonl", [echo, record].concat());
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.turns, totals.witnesses), (2, 0));
}

#[test]
fn an_echo_alone_is_a_turn() {
    let world = World::new();
    world.write("s.jsonl", "{\"role\":\"user\",\"text\":\"only here\",\"echo\":true}\n");
    world.import(&["s.jsonl"]);
    assert_eq!(world.texts("s"), ["only here"]);
}

#[test]
fn an_echo_does_not_reach_back_into_an_earlier_run() {
    let world = World::new();
    let echo = "{\"role\":\"assistant\",\"text\":\"ok\",\"echo\":true}\n";
    world.write(
        "s.jsonl",
        said("a", "user", "first") + &said("b", "assistant", "ok") + &said("c", "user", "second") + echo,
    );
    world.import(&["s.jsonl"]);
    assert_eq!(world.texts("s"), ["first", "ok", "second", "ok"]);
}

#[test]
fn several_turns_of_one_record_keep_their_order() {
    let world = World::new();
    world.write("s.jsonl", "{\"id\":\"a\",\"role\":\"user\",\"text\":\"1\",\"more\":[\"2\",\"3\"]}\n{\"role\":\"user\",\"text\":\"4\",\"more\":[\"5\"]}\n");
    world.import(&["s.jsonl"]);
    assert_eq!(world.texts("s"), ["1", "2", "3", "4", "5"]);
    world.assert_kept("s.jsonl");
}

#[test]
fn a_stream_that_mixes_sessions_gives_each_its_own() {
    let world = World::new();
    let line =
        |session: &str, text: &str| format!("{{\"session\":\"{session}\",\"role\":\"user\",\"text\":\"{text}\"}}\n");
    world.write("mixed.jsonl", line("x", "1") + &line("y", "2") + &line("x", "3"));
    world.import(&["mixed.jsonl"]);
    world.add("mixed.jsonl", line("y", "4") + &line("x", "5"));
    world.import(&["mixed.jsonl"]);
    assert_eq!(
        (world.texts("x"), world.texts("y")),
        (vec!["1".into(), "3".into(), "5".into()], vec!["2".into(), "4".into()])
    );
    world.assert_kept("mixed.jsonl");
}

#[test]
fn hundreds_of_sessions_in_one_batch_keep_their_own_projects_and_times() {
    let world = World::new();
    for project in 0..7 {
        std::fs::create_dir_all(world.path(&format!("project{project}/.git"))).unwrap();
    }
    let mut lines = String::new();
    for round in 0..2i64 {
        for n in 0..600i64 {
            let cwd = world.path(&format!("project{}", n % 7));
            // The second time only a tool speaks, in another folder: the project stays the prompt's.
            let (role, cwd) = if round == 0 { ("user", cwd) } else { ("assistant", world.path("project6")) };
            let line = serde_json::json!({
                "session": format!("s{n}"), "role": role, "text": format!("{round} {n}"), "at": 1_000 * round + n,
                "cwd": cwd.to_str().unwrap(),
            });
            lines += &format!("{line}\n");
        }
    }
    world.write("mixed.jsonl", lines);
    world.import(&["mixed.jsonl"]);
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 600);
    let sql = world.sql();
    let mut statement = sql
        .prepare(
            "SELECT s.session_key, s.started_at, s.last_at, group_concat(w.label, ' ')
             FROM sessions s JOIN turns t USING (session_no) JOIN workspaces w ON w.workspace_no = t.workspace_no
             GROUP BY session_no ORDER BY session_no",
        )
        .unwrap();
    let rows: Vec<(String, i64, i64, String)> = statement
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 600);
    for (n, (session, first, last, projects)) in rows.into_iter().enumerate() {
        let project = format!("project{}", n % 7);
        assert!(session.ends_with(&format!("s{n}")), "{session}");
        assert_eq!((first, last), (n as i64, 1_000 + n as i64), "{session}");
        assert_eq!(projects, format!("{project} {project}"), "{session}");
    }
}
