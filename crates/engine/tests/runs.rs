//! Runs and their results.

use heirloom_engine::clock::Clock;
use heirloom_engine::ledger::Audit;
use heirloom_engine::transcript::{self, read};
use heirloom_testkit::Rng;

use crate::world::{NOON, World};

/// Checks the runs of some lines, which are given without their outer braces.
fn check(lines: &[&str], expect: &str) -> World {
    let world = World::new();
    world.write("s.jsonl", lines.iter().map(|l| format!("{{{l}}}\n")).collect::<String>());
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(runs_of(&world), expect);
    world
}

fn runs_of(world: &World) -> String {
    world.dump().lines().filter(|l| l.starts_with("  run")).map(|l| l.trim().to_owned() + "\n").collect()
}

#[test]
fn the_next_prompt_closes_a_run() {
    check(
        &[
            r#""role":"user","id":"p","text":"question","at":1000"#,
            r#""role":"assistant","id":"t","kind":"tool-call","text":"ls","tool":"bash","at":2000"#,
            r#""role":"tool","id":"r","kind":"tool-result","text":"a b","at":2500"#,
            r#""role":"assistant","id":"a","text":"answer","at":3000"#,
            r#""role":"user","id":"q","text":"next","at":9000"#,
            r#""role":"user","id":"z","text":"once more","at":9500"#,
        ],
        "run 0 completed p..a closed by next-prompt 1000..3000\n\
         run 1 superseded q..- closed by next-prompt 9000..9000\n\
         run 2 open z..- 9500..9500\n",
    );
}

#[test]
fn a_run_with_a_key_takes_what_names_it() {
    check(
        &[
            r#""role":"user","id":"p","text":"one","run":"A""#,
            r#""role":"user","id":"q","text":"two","run":"B""#,
            r#""role":"assistant","id":"a","text":"answer to one","run":"A""#,
            r#""role":"assistant","id":"b","text":"answer to two","run":"B""#,
            r#""fact":"run-end","run":"B","value":"completed","reason":"end_turn""#,
        ],
        "run 0 superseded p..a key A closed by next-prompt 0..0\n\
         run 1 completed q..b key B closed by turn-end because end_turn 0..0\n",
    );
}

#[test]
fn usage_counts_once_per_message_and_a_reported_total_replaces_it() {
    let lines = [
        r#""role":"user","id":"p","text":"one""#,
        r#""role":"assistant","id":"a","kind":"thinking","text":"hm","message":"m1","usage":[10,1]"#,
        r#""role":"assistant","id":"b","text":"yes","message":"m1","usage":[10,5]"#,
        r#""role":"assistant","id":"c","text":"and","message":"m2","usage":[20,7]"#,
    ];
    check(&lines, "run 0 open p..c tokens 30/12 0..0\n");
    let with_total = [
        &lines[..],
        &[
            r#""fact":"run-usage","input":99,"output":11"#,
            r#""role":"assistant","id":"d","text":"more","message":"m3","usage":[1,1]"#,
        ],
    ]
    .concat();
    check(&with_total, "run 0 open p..d tokens 99/11 0..0\n");
}

#[test]
fn interruption_and_failure_stay() {
    check(
        &[
            r#""role":"user","id":"p","text":"one""#,
            r#""role":"assistant","id":"a","text":"I begin""#,
            r#""fact":"run-end","value":"interrupted","reason":"esc""#,
            r#""fact":"run-end","value":"completed""#,
            r#""role":"user","id":"q","text":"two""#,
            r#""role":"assistant","id":"b","text":"API error","failed":true"#,
            r#""role":"user","id":"r","text":"three""#,
        ],
        "run 0 interrupted p..a closed by turn-end because esc 0..0\n\
         run 1 failed q..b 0..0\n\
         run 2 open r..- 0..0\n",
    );
}

#[test]
fn a_session_that_ended_is_open_again_when_it_goes_on() {
    let world = check(
        &[
            r#""role":"user","id":"p","text":"one","at":1000"#,
            r#""role":"assistant","id":"a","text":"bye","at":2005"#,
            r#""fact":"session-end","at":2000"#,
        ],
        "run 0 completed p..a closed by session-end 1000..2005\n",
    );
    assert!(world.dump().contains("ended by \"program\""), "{}", world.dump());
    world.add("s.jsonl", "{\"role\":\"user\",\"id\":\"q\",\"text\":\"back\",\"at\":5000}\n");
    world.import(&["s.jsonl"]);
    assert!(!world.dump().contains("ended by"), "{}", world.dump());
}

#[test]
fn a_session_end_without_a_time_holds_in_two_sittings_too() {
    let world = World::new();
    world.write("s.jsonl", "{\"role\":\"user\",\"id\":\"p\",\"text\":\"one\",\"at\":1000}\n");
    world.import(&["s.jsonl"]);
    world.add(
        "s.jsonl",
        "{\"role\":\"assistant\",\"id\":\"a\",\"text\":\"bye\",\"at\":2000}\n{\"fact\":\"session-end\"}\n",
    );
    world.import(&["s.jsonl"]);
    assert!(world.dump().contains("ended by \"program\" from 1000 to 2000 ended 2000"), "{}", world.dump());
}

#[test]
fn quiet_runs_are_closed_after_ten_minutes() {
    let world = World::at(Clock::Fixed(NOON));
    let line = |id: &str, run: &str, at: i64| {
        format!("{{\"role\":\"user\",\"id\":\"{id}\",\"text\":\"x\",\"run\":\"{run}\",\"at\":{at}}}\n")
    };
    world.write("old.jsonl", line("p", "A", NOON - 11 * 60_000));
    world.write("new.jsonl", line("q", "B", NOON - 60_000));
    world.import(&["old.jsonl", "new.jsonl"]);
    let closed = world.ledger.write(Audit::new("test", "run.close_idle"), transcript::close_idle).unwrap();
    assert_eq!((closed.runs, closed.next), (1, Some(NOON + 9 * 60_000)));
    let agent_no = world.agent_no();
    let old = world.ledger.read(|tx| read::session_named(tx, agent_no, "old")).unwrap().no;
    assert_eq!(closed.sessions.into_iter().collect::<Vec<_>>(), [old]);
    assert!(runs_of(&world).contains("superseded p..- key A closed by idle"), "{}", runs_of(&world));
    assert!(runs_of(&world).contains("open q..- key B"));
}

#[test]
fn a_session_ended_by_hand_has_no_open_run() {
    let world = check(&[r#""role":"user","id":"p","text":"one""#], "run 0 open p..- 0..0\n");
    let agent_no = world.agent_no();
    let no = world.ledger.read(|tx| read::session_named(tx, agent_no, "s")).unwrap().no;
    let end = || world.ledger.write(Audit::new("test", "session.end"), |tx| transcript::end_session(tx, no)).unwrap();
    assert!(end());
    assert!(!end());
    assert_eq!(runs_of(&world), "run 0 superseded p..- closed by session-end 0..0\n");
}

#[test]
fn boundaries_are_noted() {
    let world = check(
        &[
            r#""role":"user","id":"p","text":"one""#,
            r#""fact":"compaction","value":"auto""#,
            r#""fact":"segment","value":"reset""#,
            r#""role":"assistant","id":"a","text":"alone""#,
        ],
        "run 0 superseded p..a closed by segment 0..0\n",
    );
    assert!(world.dump().contains("boundary compaction Some(\"auto\")\n  boundary segment Some(\"reset\")"));
}

/// Returns a random session: prompts, answers, echoes, run keys, facts, shared turns.
fn by_chance(rng: &mut Rng) -> Vec<String> {
    (0..30 + rng.below(20))
        .map(|i| {
            let run = *rng.pick(&["", "", r#","run":"A""#, r#","run":"B""#, r#","run":"C""#]);
            let at = if rng.below(3) == 0 { String::new() } else { format!(",\"at\":{}", NOON + rng.below(100_000) as i64) };
            let text = *rng.pick(&["ok", "yes", "go on"]);
            let id = if rng.below(4) == 0 { String::new() } else { format!("\"id\":\"e{i}\",") };
            match rng.below(12) {
                0..=2 => format!("{{{id}\"role\":\"user\",\"text\":\"{text}\"{run}{at}}}\n"),
                3..=5 => {
                    let message = rng.below(4);
                    format!(
                        "{{{id}\"role\":\"assistant\",\"text\":\"{text}\"{run}{at},\"message\":\"m{message}\",\"usage\":[{},{}]}}\n",
                        rng.below(9),
                        rng.below(9)
                    )
                }
                6 => format!("{{\"role\":\"assistant\",\"text\":\"{text}\",\"echo\":true{run}{at}}}\n"),
                7 => format!("{{\"fact\":\"run-end\",\"value\":\"{}\"{run}{at}}}\n", rng.pick(&["completed", "interrupted", "failed"])),
                8 => format!("{{\"fact\":\"run-usage\",\"input\":{}{run}}}\n", rng.below(100)),
                9 => format!("{{\"fact\":\"{}\",\"value\":\"x\"{run}{at}}}\n", rng.pick(&["segment", "compaction", "session-end", "model", "title", "request"])),
                10 => format!("{{\"id\":\"shared{}\",\"role\":\"user\",\"text\":\"shared\"}}\n", rng.below(3)),
                _ => "broken\n".to_owned(),
            }
        })
        .collect()
}

#[test]
fn several_sittings_come_to_the_same_as_one() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let lines = by_chance(&mut rng);
        let original: String =
            (0..3).map(|i| format!("{{\"id\":\"shared{i}\",\"role\":\"user\",\"text\":\"shared\"}}\n")).collect();
        let tell = |cuts: &[usize]| {
            let world = World::new();
            world.write("original.jsonl", &original);
            world.write("s.jsonl", "");
            world.import_as(&crate::world::GLOBAL, &["original.jsonl"]);
            let mut from = 0;
            for &to in cuts {
                world.add("s.jsonl", lines[from..to].concat());
                world.import_as(&crate::world::GLOBAL, &["s.jsonl"]);
                from = to;
            }
            world.dump()
        };
        let mut cuts: Vec<usize> = (0..1 + rng.below(5)).map(|_| rng.below(lines.len())).collect();
        cuts.push(lines.len());
        cuts.sort_unstable();
        assert_eq!(tell(&cuts), tell(&[lines.len()]), "seed {seed}, cuts {cuts:?}\n{}", lines.concat());
    }
}
