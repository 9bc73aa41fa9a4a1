//! Acts of people on threads: names, merges, links, closing, and the views of them.

use heirloom_engine::clock::Clock;
use heirloom_engine::error::ErrorKind;
use heirloom_engine::scope::ThreadNo;
use heirloom_engine::thread;
use serde_json::json;

use crate::threads::{act, answer, join, lines, look, no, prompt, runs, table, told};
use crate::world::{NOON, World};

/// Makes threads of these topics, each with a run.
fn with_topics(names: &[&str]) -> World {
    let world = World::new();
    for (n, name) in names.iter().enumerate() {
        told(&world, &format!("{n}.jsonl"), &[prompt(name, json!({"thread": name, "at": NOON + n as i64}))]);
    }
    join(&world);
    world
}

#[test]
fn names_lead_to_a_thread_for_good() {
    let world = with_topics(&["taxes", "garden", "Garden shed"]);
    let taxes = no(&world, "taxes");
    let rename = |no: ThreadNo, name: &str| act(&world, |tx, agent| thread::rename(tx, agent, no, name));
    assert_eq!(rename(taxes, "  Tax\nreturn ").unwrap().label, "Tax return");
    assert_eq!(rename(taxes, "Money").unwrap().label, "Money");
    for name in ["taxes", "TAX RETURN", "money", "topic/taxes"] {
        assert_eq!(no(&world, name), taxes, "{name}");
        let said = told(&world, &format!("{name}.jsonl").replace('/', "-"), &[prompt(name, json!({"thread": name}))]);
        assert!(said.ends_with("topic/taxes \"Money\"\n"), "{said}");
    }
    assert_eq!(rename(taxes, "taxes").unwrap().label, "taxes", "a name of its own");
    // A name of another thread, in whatever form, is refused and changes nothing.
    rename(taxes, "Money").unwrap();
    for name in ["GARDEN", "garden shed", "topic/garden"] {
        let error = rename(taxes, name).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Refused | ErrorKind::Usage), "{name}: {error}");
        assert!(error.next_step().is_some());
    }
    let garden = no(&world, "garden");
    for (name, kind) in [
        ("tax return", ErrorKind::Refused),
        ("", ErrorKind::Usage),
        (" \n ", ErrorKind::Usage),
        ("person/mail:x", ErrorKind::Usage),
    ] {
        assert_eq!(rename(garden, name).unwrap_err().kind(), kind, "{name:?}");
    }
    assert_eq!(look(&world, |tx, agent| thread::row(tx, agent, garden)).label, "garden");
    // A label that several threads share leads to one of them once the others give it up.
    world.set_up("UPDATE threads SET label = 'garden' WHERE label = 'Garden shed'");
    rename(garden, "Roses").unwrap();
    assert_eq!(look(&world, |tx, agent| thread::named(tx, agent, "garden")).key, "topic/garden-shed");
    // A credential cannot become a label.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    assert!(!rename(garden, &format!("the {secret}")).unwrap().label.contains("a1B2"));
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn beginnings_of_keys_are_enough_where_they_are_clear() {
    let world = with_topics(&["kitchen table", "kitchen tiles", "attic"]);
    let called = |name: &str| {
        let agent = world.agent_no();
        world.ledger.read(|tx| thread::named(tx, agent, name)).map(|t| t.key)
    };
    assert_eq!(called("kitchen-ta").unwrap(), "topic/kitchen-table");
    assert_eq!(called("topic/kitchen-ti").unwrap(), "topic/kitchen-tiles");
    let error = called("kitchen").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.next_step(), Some("use a key: topic/kitchen-table, topic/kitchen-tiles"));
    for unknown in ["attic-", "atti", "topic/", "topic/atti", "topic/a%", "%", ""] {
        assert_eq!(called(unknown).unwrap_err().kind(), ErrorKind::NotFound, "{unknown}");
    }
}

#[test]
fn merging_leads_on_and_can_be_undone() {
    let world = with_topics(&["a", "b", "c", "d"]);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| no(&world, name));
    let merge = |from: ThreadNo, into: ThreadNo| act(&world, |tx, agent| thread::merge(tx, agent, from, into));
    act(&world, |tx, agent| thread::link(tx, agent, a, d, Some("one garden"))).unwrap();
    assert_eq!(merge(a, b).unwrap().no, b);
    assert_eq!(merge(b, c).unwrap().no, c);
    for name in ["a", "b", "topic/a", "topic/b", "c"] {
        assert_eq!(no(&world, name), c, "{name}");
    }
    assert_eq!(look(&world, |tx, agent| thread::called(tx, agent, "a")).no, a);
    assert_eq!(look(&world, |tx, _| thread::members(tx, c)), vec![a, b, c]);
    // Links of a merged thread count as links of the thread it was merged into, from both sides.
    let others = |no: ThreadNo| -> Vec<ThreadNo> {
        look(&world, |tx, _| thread::links(tx, no)).into_iter().map(|l| l.thread_no).collect()
    };
    assert_eq!((others(c), others(a), others(d)), (vec![d], vec![d], vec![c]));
    // Merges in a circle are refused, and so is merging a part a second time.
    for (from, into) in [(a, a), (a, c), (c, a), (b, c), (c, c)] {
        assert_eq!(merge(from, into).unwrap_err().kind(), ErrorKind::Refused, "{from} {into}");
    }
    let error = merge(a, d).unwrap_err();
    assert!(error.to_string().contains("part of topic/b already"), "{error}");
    // Turns under an old key belong to the new thread; nodes and rows keep their original key.
    let said = told(&world, "late.jsonl", &[prompt("late", json!({"thread": "topic/a"}))]);
    assert!(said.ends_with("late: topic/c \"c\"\n"), "{said}");
    assert_eq!(
        world.count(&format!("SELECT thread_no FROM run_threads WHERE run_no = {}", runs(&world, &world.agent)[0].0)),
        a.0
    );
    join(&world);
    let shown = look(&world, |tx, agent| {
        let members = thread::members(tx, c)?;
        let sessions: Vec<String> =
            thread::sessions(tx, &members, 10)?.iter().map(|s| format!("{} {}", s.session, s.runs)).collect();
        Ok((sessions.join(", "), thread::reading::counts(tx, agent)?[&c], thread::reading::turns(tx, &members)?))
    });
    assert_eq!(shown.0, "little:2 1, little:1 1, little:late 1, little:0 1");
    assert_eq!((shown.1.sessions, shown.1.runs, shown.2), (4, 4, 4));
    assert_eq!(look(&world, thread::list).len(), 2);
    assert_eq!(look(&world, thread::list_all).len(), 4);
    // After unmerging, each thread has its own runs again; runs that came meanwhile stay where they were put.
    let parted = act(&world, |tx, agent| thread::unmerge(tx, agent, b)).unwrap();
    assert_eq!((parted.no, parted.merged_into), (b, None));
    assert_eq!((no(&world, "a"), no(&world, "b"), others(b), others(c)), (b, b, vec![d], vec![]));
    assert_eq!(
        table(&world),
        "a: topic/b \"b\"\nb: topic/b \"b\"\nc: topic/c \"c\"\nd: topic/d \"d\"\nlate: topic/c \"c\"\n"
    );
    for no in [b, c, d] {
        let error = act(&world, |tx, agent| thread::unmerge(tx, agent, no)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{no}");
    }
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn a_closed_thread_opens_when_something_new_begins_in_it() {
    let world = World::at(Clock::Fixed(NOON + 1000));
    told(&world, "s.jsonl", &[prompt("one", json!({"thread": "taxes"}))]);
    join(&world);
    let taxes = no(&world, "taxes");
    let state = |world: &World| look(world, |tx, agent| thread::row(tx, agent, taxes)).state;
    let close = |world: &World| act(world, |tx, agent| thread::close(tx, agent, taxes)).unwrap();
    // A run that began before the thread was closed, and is processed later, does not reopen it.
    world.add("s.jsonl", lines(&[prompt("before", json!({"at": NOON + 500}))]));
    world.import(&["s.jsonl"]);
    assert!(close(&world));
    assert!(!close(&world), "once is enough");
    join(&world);
    assert_eq!(state(&world), "closed");
    world.add("s.jsonl", lines(&[prompt("after", json!({"at": NOON + 2000}))]));
    world.import(&["s.jsonl"]);
    assert_eq!(state(&world), "closed");
    join(&world);
    assert_eq!(state(&world), "active");
    close(&world);
    join(&world);
    assert_eq!(state(&world), "closed", "what is known is not new");
    assert!(act(&world, |tx, agent| thread::reopen(tx, agent, taxes)).unwrap());
    assert!(!act(&world, |tx, agent| thread::reopen(tx, agent, taxes)).unwrap());
    // Merging an open thread into a closed one reopens that one.
    close(&world);
    told(&world, "t.jsonl", &[prompt("other", json!({"thread": "money", "at": NOON + 3000}))]);
    join(&world);
    let money = no(&world, "money");
    act(&world, |tx, agent| thread::merge(tx, agent, money, taxes)).unwrap();
    assert_eq!(state(&world), "active");
}

#[test]
fn links_are_kept_once_and_from_both_sides() {
    let world = with_topics(&["a", "b", "c"]);
    let [a, b, c] = ["a", "b", "c"].map(|name| no(&world, name));
    let link = |one: ThreadNo, other: ThreadNo, why: Option<&str>| {
        act(&world, |tx, agent| thread::link(tx, agent, one, other, why))
    };
    assert!(link(b, a, None).unwrap());
    assert!(!link(a, b, None).unwrap());
    assert!(link(a, b, Some("the same\nhouse")).unwrap());
    assert!(!link(b, a, Some("the same house")).unwrap() && !link(b, a, None).unwrap());
    assert!(link(a, c, None).unwrap());
    assert_eq!(link(a, a, None).unwrap_err().kind(), ErrorKind::Refused);
    let shown = |no: ThreadNo| -> Vec<(ThreadNo, Option<String>)> {
        look(&world, |tx, _| thread::links(tx, no)).into_iter().map(|l| (l.thread_no, l.why)).collect()
    };
    let why = Some("the same house".to_owned());
    assert_eq!((shown(a), shown(b)), (vec![(b, why.clone()), (c, None)], vec![(a, why)]));
    act(&world, |tx, agent| thread::unlink(tx, agent, a, b)).unwrap();
    let error = act(&world, |tx, agent| thread::unlink(tx, agent, b, a)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    // A link of the merged thread is removed together with it.
    act(&world, |tx, agent| thread::merge(tx, agent, c, b)).unwrap();
    assert_eq!(shown(b), vec![(a, None)]);
    act(&world, |tx, agent| thread::unlink(tx, agent, b, a)).unwrap();
    assert_eq!(world.count("SELECT count(*) FROM thread_links"), 0);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn who_takes_part_is_told_by_names_and_programs() {
    let world = World::new();
    told(
        &world,
        "s.jsonl",
        &[
            prompt("one", json!({"thread": "trip", "speaker": "Marta", "participants": ["Jonas", "Pip"]})),
            answer("two", json!({"speaker": "Pip"})),
        ],
    );
    told(&world, "t.jsonl", &[prompt("three", json!({"thread": "trip", "speaker": "Zoë"}))]);
    told(&world, "u.jsonl", &[prompt("four", json!({"thread": "else", "speaker": "Eve"}))]);
    join(&world);
    let found = look(&world, |tx, agent| {
        let members = thread::members(tx, thread::named(tx, agent, "trip")?.no)?;
        thread::participants(tx, agent, &members)
    });
    assert_eq!((found.people.join(" "), found.programs.join(" ")), ("Jonas Marta Zoë".into(), "little".into()));
}
