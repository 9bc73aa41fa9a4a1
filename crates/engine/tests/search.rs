//! Finding turns.

use heirloom_engine::clock::{Clock, parse_rfc3339};
use heirloom_engine::event::Role;
use heirloom_engine::index::Index;
use heirloom_engine::ledger::Audit;
use heirloom_engine::recall::{self, Filter};
use heirloom_engine::scope::AgentId;
use heirloom_engine::transcript::{read, workspaces};
use jiff::tz::TimeZone;

use crate::world::{LITTLE, NOON, World, said};

/// Makes four hundred ordinary turns in two sessions, each turn with one word of its own.
fn talk() -> World {
    let world = World::new();
    for session in 0..2 {
        let lines: String = (0..200)
            .map(|i| {
                let role = ["user", "assistant"][i % 2];
                said(
                    &format!("e{i}"),
                    role,
                    &format!("we looked at the build and the tests, note unique{session}x{i} about deploy"),
                )
            })
            .collect();
        world.write(&format!("s{session}.jsonl"), lines);
    }
    world.import(&["s0.jsonl", "s1.jsonl"]);
    world
}

/// Writes each text as a turn in its own session; the query must find the first one first.
fn check(texts: &[&str], query: &str) {
    let world = World::new();
    for (i, text) in texts.iter().enumerate() {
        world.write(&format!("s{i}.jsonl"), said("a", "user", text));
        world.import(&[&format!("s{i}.jsonl")]);
    }
    let mut index = world.caught_up();
    let found = world.search(&mut index, query);
    assert_eq!(found.first().map(String::as_str), Some(texts[0]), "{query}");
}

#[test]
fn a_word_that_occurs_once_is_found_first() {
    let world = talk();
    let mut index = world.caught_up();
    for (session, i) in [(0, 0), (0, 7), (1, 100), (1, 199)] {
        let found = world.search(&mut index, &format!("why was the unique{session}x{i} about deploy"));
        assert!(found[0].contains(&format!("unique{session}x{i} ")), "{found:?}");
    }
    assert_eq!(world.search(&mut index, "nowhere"), Vec::<String>::new());
}

#[test]
fn phrases_prefixes_stems_and_accents() {
    check(&["the unique index was dropped", "an index that is not unique"], "\"unique index\"");
    check(&["refunding twice", "something else"], "refund*");
    check(&["we migrated the tables", "something else"], "migrating");
    check(&["café au lait", "tea"], "cafe");
    check(&["cafe au lait", "tea"], "CAFÉ");
    check(&["see orders_test.rs for it", "see orders.md"], "orders_test.rs");
    check(&["error E0277 again", "error E0308"], "E0277");
    check(&["to be or not to be", "something else"], "to be or not");
}

#[test]
fn scripts_of_the_world() {
    check(&["明日は東京へ行く予定です", "大阪で会いましょう"], "東京");
    check(&["我们决定使用数据库索引", "今天天气很好"], "数据库");
    check(&["내일 서울에서 만나요", "부산은 멀어요"], "서울");
    check(&["พรุ่งนี้ไปกรุงเทพ", "วันนี้ฝนตก"], "กรุงเทพ");
    check(&["мы удалили индекс из базы", "погода хорошая"], "индекс");
    check(&["قاعدة البيانات بطيئة", "الطقس جميل"], "البيانات");
    check(&["größere Änderungen", "kleine"], "anderungen");
    check(&["मेरा नाम हीरा है", "कुछ और"], "हीरा");
}

#[test]
fn tool_calls_and_results_are_found() {
    let world = World::new();
    world.write(
        "s.jsonl",
        "{\"id\":\"a\",\"role\":\"assistant\",\"kind\":\"tool-call\",\"tool\":\"ripgrep\",\"call\":\"c\",\"text\":\"needle in src\"}\n\
         {\"id\":\"b\",\"role\":\"tool\",\"kind\":\"tool-result\",\"tool\":\"ripgrep\",\"call\":\"c\",\"text\":\"src/haystack.rs: 12\"}\n",
    );
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "needle"), ["needle in src"]);
    assert_eq!(world.search(&mut index, "haystack"), ["src/haystack.rs: 12"]);
    // A call and its result are one hit.
    assert_eq!(world.search(&mut index, "ripgrep"), ["needle in src"]);
}

/// Returns one line of a program's session.
fn line(id: &str, role: &str, kind: &str, text: &str) -> String {
    let text = text.replace('\n', "\\n");
    format!("{{\"id\":\"{id}\",\"role\":\"{role}\",\"kind\":\"{kind}\",\"text\":\"{text}\"}}\n")
}

#[test]
fn an_answer_comes_before_remarks_output_and_notices() {
    let world = World::new();
    let texts = [
        ("a", "user", "message", "good morning"),
        ("b", "assistant", "message", "let me look at the retry queue and its backoff"),
        ("c", "assistant", "tool-call", "grep backoff in the retry queue of the mailer"),
        ("d", "tool", "tool-result", "retry queue, backoff, mailer: twelve places know it"),
        ("e", "assistant", "message", "the retry queue of the mailer now has a backoff of nine seconds"),
        ("f", "user", "message", "thanks"),
        ("g", "system", "machine-prompt", "retry queue backoff mailer"),
    ];
    world.write("s.jsonl", texts.map(|(id, role, kind, text)| line(id, role, kind, text)).concat());
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    let found = world.search(&mut index, "backoff of the retry queue of the mailer");
    let place = |text: &str| found.iter().position(|f| f == text).unwrap_or_else(|| panic!("{text}: {found:?}"));
    assert_eq!(place(texts[4].3), 0, "{found:?}");
    assert_eq!(place(texts[6].3), found.len() - 1, "what machines wrote comes last: {found:?}");
    let of_system = Filter { role: Some(Role::System), ..Filter::default() };
    assert_eq!(world.search_with(&mut index, "backoff", of_system), [texts[6].3]);
}

/// Makes a session of messages of the model, which do not follow each other.
fn messages(texts: &[&str]) -> World {
    let world = World::new();
    let lines = texts.iter().enumerate().map(|(n, text)| {
        let talk = line(&format!("u{n}"), "user", "message", "go on");
        talk + &line(&format!("a{n}"), "assistant", "message", text)
    });
    world.write("s.jsonl", lines.collect::<String>());
    world.import(&["s.jsonl"]);
    world
}

#[test]
fn a_short_remark_loses_to_a_message_that_says_something() {
    let short = "Now let me write the seed script for the amounts.";
    let long = "The amounts in the seed script are strings: the database returns numeric columns as text, so that no cent \
                is lost on the way, and the tests compare them as text.";
    let other = "The walrus sits on the beach and looks at the sea, because the ships of the morning bring fish, and the \
                 ships of the evening bring letters from the other side of the bay, which nobody ever reads aloud.";
    let world = messages(&[long, short, other, &other.replace("walrus", "heron"), &other.replace("walrus", "crab")]);
    let found = world.search(&mut world.caught_up(), "amounts in the seed script");
    assert_eq!(found[..2], [long.to_owned(), short.to_owned()], "{found:?}");
}

#[test]
fn a_question_about_a_failure_finds_its_report() {
    let report = "fatal: permission denied for the harbour key";
    let world = messages(&["The harbour page is blue and has a list of ships.", "The harbour has a gate.", report]);
    let found = world.search(&mut world.caught_up(), "what went wrong with the harbour deployment");
    assert_eq!(found.first().map(String::as_str), Some(report), "{found:?}");
    let found = world.search(&mut world.caught_up(), "what is on the harbour page");
    assert!(!found.is_empty() && found[0] != report, "{found:?}");
}

#[test]
fn a_word_of_an_inflected_language_is_found_in_another_form() {
    let world = messages(&["Мы исправили неполадку в записи голоса.", "Погода хорошая, запись идёт."]);
    let found = world.search(&mut world.caught_up(), "в чём была неполадка");
    assert_eq!(found.first().map(String::as_str), Some("Мы исправили неполадку в записи голоса."), "{found:?}");
    assert!(!found.contains(&"Погода хорошая, запись идёт.".to_owned()), "{found:?}");
}

#[test]
fn an_answer_without_the_words_of_its_question_is_found_by_it() {
    let world = World::new();
    let texts = [
        ("a", "user", "message", "which colour does the customs form get"),
        ("b", "assistant", "tool-call", "open the style sheet"),
        ("c", "tool", "tool-result", "body, main, aside"),
        ("d", "assistant", "message", "teal, like everything else of that kind"),
        ("e", "user", "message", "and now something else entirely"),
        ("f", "assistant", "message", "sure"),
    ];
    world.write("s.jsonl", texts.map(|(id, role, kind, text)| line(id, role, kind, text)).concat());
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "colour customs form"), [texts[0].3, texts[3].3]);
}

#[test]
fn what_says_the_same_is_one_hit() {
    let file: String = (0..30).map(|n| format!("let walrus_{n} = {n};\n")).collect();
    let numbered: String = file.lines().enumerate().map(|(n, l)| format!("{n}: {l}\n")).collect();
    let world = World::new();
    let texts = [
        ("a", "tool", "tool-result", file.as_str()),
        ("b", "user", "message", "what is the walrus for"),
        ("c", "tool", "tool-result", numbered.as_str()),
        ("d", "assistant", "message", "a walrus counts, as the others do, one by one"),
        ("e", "assistant", "message", "A walrus counts, as the others do, one by one."),
        ("f", "assistant", "message", "walrus!"),
        ("g", "assistant", "message", "walrus!"),
    ];
    world.write("s.jsonl", texts.map(|(id, role, kind, text)| line(id, role, kind, text)).concat());
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    let filter = Filter { limit: 10, ..Filter::default() };
    let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask("walrus"), &filter).unwrap();
    let mut hits: Vec<(String, usize)> = found.hits.iter().map(|h| (h.turn.entry.clone(), h.others.len())).collect();
    hits.sort();
    let entries: Vec<&str> = hits.iter().map(|(entry, _)| entry.as_str()).collect();
    assert_eq!(hits.iter().map(|(_, others)| others).sum::<usize>(), 2, "{hits:?}");
    assert!(entries.contains(&"f") && entries.contains(&"g"), "a word said twice means two things: {hits:?}");
    // The number of hits is the limit, each of them a different one.
    let two = Filter { limit: 2, ..Filter::default() };
    assert_eq!(world.search_with(&mut index, "walrus", two).len(), 2);
}

#[test]
fn a_history_with_a_named_program_is_no_chat_between_two_people() {
    let world = World::new();
    let named = |id: &str, role: &str, speaker: &str, text: &str| {
        format!("{{\"id\":\"{id}\",\"role\":\"{role}\",\"speaker\":\"{speaker}\",\"text\":\"{text}\"}}\n")
    };
    let long = "there is a lot to be said about the weather and the harvest and one thing about the osprey, too, but \
                nothing that matters here, and so it goes on for a good while until somebody is tired of it";
    world.write("h.jsonl", named("a", "user", "user", "hello") + &named("b", "assistant", "helper", long));
    world.write("s.jsonl", said("a", "user", "hello") + &said("b", "assistant", "the osprey nests on the mast"));
    world.import(&["h.jsonl", "s.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "osprey nests mast")[0], "the osprey nests on the mast");
}

#[test]
fn filters_limit_what_is_found() {
    let world = World::new();
    let (one, two) = (world.path("one"), world.path("two"));
    for folder in [&one, &two] {
        std::fs::create_dir_all(folder.join(".git")).unwrap();
    }
    let line = |id: &str, role: &str, at: i64, cwd: &std::path::Path| {
        let cwd = cwd.display();
        format!("{{\"id\":\"{id}\",\"role\":\"{role}\",\"text\":\"zebra {id}\",\"at\":{at},\"cwd\":\"{cwd}\"}}\n")
    };
    world.write("s0.jsonl", line("a", "user", NOON, &one) + &line("b", "assistant", NOON + 1000, &one));
    world.write("s1.jsonl", line("c", "user", NOON + 2000, &two));
    world.import(&["s0.jsonl", "s1.jsonl"]);
    let mut index = world.caught_up();
    let agent_no = world.agent_no();
    let named = |name: &str| world.ledger.read(|tx| workspaces::workspace_named(tx, agent_no, name));
    let session = world.ledger.read(|tx| read::session_named(tx, agent_no, "s1")).unwrap().no;
    let mut found = |filter: Filter| {
        let mut texts = world.search_with(&mut index, "zebra", filter);
        texts.sort();
        texts.join(", ")
    };
    let everything = "zebra a, zebra b, zebra c";
    assert_eq!(found(Filter::default()), everything);
    assert_eq!(found(Filter { workspaces: Some(named("one").unwrap()), ..Filter::default() }), "zebra a, zebra b");
    assert_eq!(found(Filter { workspaces: Some(named("two").unwrap()), ..Filter::default() }), "zebra c");
    assert_eq!(found(Filter { workspaces: Some(vec![]), ..Filter::default() }), "");
    assert_eq!(found(Filter { harness: Some("little".into()), ..Filter::default() }), everything);
    assert_eq!(found(Filter { harness: Some("other".into()), ..Filter::default() }), "");
    assert_eq!(found(Filter { sessions: Some(vec![session]), ..Filter::default() }), "zebra c");
    assert_eq!(found(Filter { role: Some(Role::Assistant), ..Filter::default() }), "zebra b");
    assert_eq!(found(Filter { since: Some(NOON + 1000), ..Filter::default() }), "zebra b, zebra c");
    assert_eq!(found(Filter { until: Some(NOON + 1000), ..Filter::default() }), "zebra a, zebra b");
    assert_eq!(found(Filter { since: Some(NOON + 1), until: Some(NOON + 1999), ..Filter::default() }), "zebra b");
    assert_eq!(found(Filter { since: Some(NOON + 9000), ..Filter::default() }), "");
    // After an alias both names mean both folders.
    let ids: Vec<String> =
        world.ledger.read(|tx| workspaces::workspaces(tx, agent_no)).unwrap().into_iter().map(|w| w.id).collect();
    world
        .ledger
        .write(Audit::new("test", "workspace.alias"), |tx| workspaces::alias_workspace(tx, agent_no, &ids[0], &ids[1]))
        .unwrap();
    for name in ["one", "two"] {
        assert_eq!(found(Filter { workspaces: Some(named(name).unwrap()), ..Filter::default() }), everything);
    }
}

#[test]
fn the_reply_to_a_good_turn_is_found_beside_it() {
    let world = talk();
    world.write(
        "s9.jsonl",
        said("a", "user", "what about the okapi?")
            + &said("b", "assistant", "It lives in the forest.")
            + &said("c", "user", "thanks"),
    );
    world.import(&["s9.jsonl"]);
    let mut index = world.caught_up();
    let filter = Filter { limit: 5, ..Filter::default() };
    let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask("okapi"), &filter).unwrap();
    assert_eq!(found.hits[0].turn.text, "what about the okapi?");
    let beside = found.hits.iter().find(|h| h.turn.text == "It lives in the forest.").unwrap();
    assert_eq!((beside.beside, beside.matched), (Some(found.hits[0].turn.id), 0));
    assert!(beside.score < found.hits[0].score);
}

#[test]
fn whatever_is_typed_is_words() {
    let world = talk();
    let mut index = world.caught_up();
    let filter = Filter { limit: 3, ..Filter::default() };
    for query in [
        "AND OR NOT",
        "NEAR(a b, 3)",
        "text:build",
        "scope : xqruser",
        "build^2 -tests +note",
        "(((",
        "\"",
        "\"\"\"",
        "build*",
        "*",
        "'; DROP TABLE fts; --",
        "a\u{0}b\u{1}c",
        "\u{202e}build\u{200b}",
        "{build}",
        "col : (a OR b)",
        "xqruser",
        "😀",
        "\u{301}\u{301}",
        "build \"unclosed",
    ] {
        match recall::search(&world.ledger, &mut index, &world.agent, &world.ask(query), &filter) {
            Ok(_) => {}
            Err(e) => assert_eq!(e.kind(), heirloom_engine::error::ErrorKind::Usage, "{query:?}: {e}"),
        }
    }
    assert_eq!(world.search(&mut index, "xqruser"), Vec::<String>::new(), "what limits a search is no word");
    for long in [
        "unique0x7 ".to_owned() + &"build ".repeat(20_000),
        "unique0x7 ".to_owned() + &"x".repeat(100_000),
        "é".repeat(60_000),
        "(\"a ".repeat(30_000),
    ] {
        let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask(&long), &filter).unwrap();
        assert!(found.query_cut);
        assert!(!long.starts_with("unique") || found.hits[0].turn.text.contains("unique0x7 "));
    }
}

#[test]
fn another_agents_turns_are_never_found() {
    let world = World::new();
    let other = AgentId::parse("other").unwrap();
    world.write("s.jsonl", said("a", "user", "the zebra of main") + &said("b", "assistant", "reply to main"));
    world.import(&["s.jsonl"]);
    world.write("s.jsonl", said("a", "user", "the zebra of other") + &said("b", "assistant", "reply to other"));
    // The same session key and the same ids, for another agent.
    world.try_import(&crate::world::GLOBAL, &other, &["s.jsonl"], None).unwrap();
    let mut index = world.caught_up();
    let filter = Filter { limit: 10, ..Filter::default() };
    for (agent, own, foreign) in [(&world.agent, "main", "other"), (&other, "other", "main")] {
        for query in ["zebra", foreign, "reply", "the zebra of other main"] {
            let found = recall::search(&world.ledger, &mut index, agent, &world.ask(query), &filter).unwrap();
            assert!(found.hits.iter().all(|h| h.turn.text.ends_with(own)), "{agent} {query}");
        }
    }
    let nobody = AgentId::parse("nobody").unwrap();
    assert!(recall::search(&world.ledger, &mut index, &nobody, &world.ask("zebra"), &filter).unwrap().hits.is_empty());
    let other_no = world.ledger.read(|tx| read::agent_no(tx, &other)).unwrap().unwrap();
    let opener = heirloom_engine::ledger::blocks::Opener::default();
    let foreign =
        world.ledger.read(|tx| read::find_turn(tx, &opener, other_no, heirloom_engine::scope::TurnId(1))).unwrap();
    assert_eq!(foreign, None);
    let _ = LITTLE;
}

#[test]
fn how_frequent_a_word_is_another_agent_does_not_decide() {
    let world = World::new();
    let other = AgentId::parse("other").unwrap();
    // The agent main has many turns, every second with the word; the other agent has many without it.
    let say = |n: usize, text: &str| said(&format!("t{n}"), "user", text);
    let mine: String =
        (0..1200).map(|n| say(n, if n % 2 == 0 { "the lorry again" } else { "nothing of note" })).collect();
    world.write("mine.jsonl", mine + &say(1200, "the lorry met a quokka"));
    world.import(&["mine.jsonl"]);
    let looked = |index: &mut Index, agent: &AgentId| {
        recall::search(
            &world.ledger,
            index,
            agent,
            &world.ask("lorry quokka"),
            &Filter { limit: 3, ..Filter::default() },
        )
        .unwrap()
    };
    let mut index = world.caught_up();
    let alone = looked(&mut index, &world.agent);
    assert_eq!(alone.too_frequent, ["lorry"]);
    world.write("theirs.jsonl", (0..1800).map(|n| say(n, "quokka and more quokka")).collect::<String>());
    world.try_import(&crate::world::GLOBAL, &other, &["theirs.jsonl"], Some(&mut index)).unwrap();
    let beside = looked(&mut index, &world.agent);
    assert_eq!(beside.too_frequent, alone.too_frequent);
    assert_eq!(beside.hits[0].turn.text, "the lorry met a quokka");
    assert_eq!(looked(&mut index, &other).too_frequent, Vec::<String>::new());
    assert_eq!(world.findings_with(Some(&index)), Vec::<String>::new());
}

#[test]
fn what_stands_at_the_end_of_a_long_text_is_found() {
    let world = talk();
    let long = "filler words of a long log\\n".repeat(40_000) + "and there the capybara crashed";
    world.write("long.jsonl", format!("{{\"id\":\"a\",\"role\":\"tool\",\"text\":\"{long}\"}}\n"));
    world.import(&["long.jsonl"]);
    let mut index = world.caught_up();
    let filter = Filter { limit: 3, ..Filter::default() };
    for query in ["capybara", "\"capybara crashed\""] {
        let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask(query), &filter).unwrap();
        assert!(found.hits[0].turn.text.len() > 1_000_000);
        assert!(found.hits[0].passage.contains("\u{2}capybara"), "{}", found.hits[0].passage);
    }
}

#[test]
fn of_two_equals_the_later_one_comes_first() {
    let day = 24 * 3600 * 1000;
    for order in [["old.jsonl", "new.jsonl"], ["new.jsonl", "old.jsonl"]] {
        let world = World::new();
        let line =
            |id: &str, at: i64| format!("{{\"id\":\"{id}\",\"role\":\"user\",\"text\":\"the zebra\",\"at\":{at}}}\n");
        world.write("old.jsonl", line("old", NOON - 300 * day));
        world.write("new.jsonl", line("new", NOON));
        world.import(&order[..1]);
        world.import(&order[1..]);
        let mut index = world.caught_up();
        let filter = Filter { limit: 2, ..Filter::default() };
        let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask("zebra"), &filter).unwrap();
        assert_eq!(found.hits[0].turn.entry, "new", "{order:?}");
    }
}

#[test]
fn a_turn_with_all_the_words_comes_before_a_short_one_with_the_rarest() {
    let both = "we talked for a long while about many things, the weather among them, and in the end agreed to drop \
                the old queue, which was redis, and to keep the rest of it as it has always been";
    check(&[both, "drop it", "drop that, too", "redis restarted", "redis again and redis once more"], "drop redis");
}

#[test]
fn a_name_found_whole_comes_before_its_pieces() {
    let whole = "somewhere in a long list of tests that ran tonight there is one called refund_twice, which is red";
    check(&[whole, "refund it twice, refund them twice", "a refund made twice", "twice a refund"], "refund_twice");
}

/// Makes a small history, seen from Sunday, 22 November 2026: a turn about redis in every month of the year, one about
/// postgres last Tuesday, and a talk between Caroline and an assistant called Nova yesterday.
fn history() -> World {
    let world = World::at(Clock::Fixed(parse_rfc3339("2026-11-22T09:00:00Z").unwrap()));
    let line = |id: &str, at: &str, speaker: &str, role: &str, text: &str| {
        format!(
            "{{\"id\":\"{id}\",\"role\":\"{role}\",\"speaker\":\"{speaker}\",\"text\":\"{text}\",\"at\":{}}}\n",
            parse_rfc3339(at).unwrap()
        )
    };
    for month in 1..=11 {
        let at = format!("2026-{month:02}-14T10:00:00Z");
        let text = format!("redis again, note{month}");
        world.write(&format!("m{month}.jsonl"), line("a", &at, "Caroline", "user", &text));
        world.import(&[&format!("m{month}.jsonl")]);
    }
    world.write("t.jsonl", line("a", "2026-11-17T10:00:00Z", "Caroline", "user", "postgres at last"));
    let talk = line("a", "2026-11-21T10:00:00Z", "Caroline", "user", "shall we paint")
        + &line("b", "2026-11-21T10:01:00Z", "Nova", "assistant", "yes, the fence, as you did two years ago");
    world.write("y.jsonl", talk);
    world.import(&["t.jsonl", "y.jsonl"]);
    world
}

#[test]
fn times_limit_and_favour_what_is_found() {
    let world = history();
    let mut index = world.caught_up();
    let mut found = |query: &str| world.search(&mut index, query).join(" | ");
    assert_eq!(found("redis since October"), "redis again, note11 | redis again, note10");
    assert_eq!(found("redis before 15 February"), "redis again, note2 | redis again, note1");
    assert_eq!(found("redis between March and April"), "redis again, note4 | redis again, note3");
    assert_eq!(found("redis 2026-05-14"), "redis again, note5");
    assert_eq!(found("redis between 20 February and 10 March"), found("redis"), "a limit that holds nothing is let go");
    for (query, first) in [
        ("redis in May", "redis again, note5"),
        ("was war im Juni mit redis", "redis again, note6"),
        ("redis a couple of months ago", "redis again, note9"),
        ("redis in Q1", "redis again, note3"),
        ("redis last week", "redis again, note11"),
    ] {
        let all = found(query);
        assert!(all.starts_with(first), "{query}: {all}");
        assert!(all.split(" | ").count() >= 10, "a wish leaves nothing out: {query}: {all}");
    }
    // A time alone finds the turns of that time; a quoted time is a phrase.
    assert_eq!(found("what did we do yesterday"), "yes, the fence, as you did two years ago | shall we paint");
    assert_eq!(found("last Tuesday"), "postgres at last");
    assert_eq!(found("on Friday"), "", "nothing was said then, and the word stands nowhere");
    let quoted = found("\"two years ago\"");
    assert!(quoted.starts_with("yes, the fence"), "{quoted}");
    // Nothing was said two years ago, so a turn that mentions the words is found.
    assert_eq!(found("fence two years ago").split(" | ").next(), Some("yes, the fence, as you did two years ago"));
    // The 31st of February does not exist, so these are words.
    assert_eq!(found("31 February"), "redis again, note2");
}

#[test]
fn what_is_said_in_the_wished_time_is_looked_at_though_better_turns_are_many() {
    let world = World::at(Clock::Fixed(parse_rfc3339("2026-11-22T09:00:00Z").unwrap()));
    let day = 24 * 3600 * 1000;
    let line = |n: i64, at: i64, text: &str| {
        format!("{{\"id\":\"e{n}\",\"role\":\"user\",\"text\":\"{text}\",\"at\":{at}}}\n")
    };
    let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    // Hundreds of short turns in a session each, which the full-text engine all ranks before the longer one.
    for n in 0..260 {
        world.write(&format!("s{n}.jsonl"), line(n, now - 90 * day + n, "zebra crossing"));
    }
    let names: Vec<String> = (0..260).map(|n| format!("s{n}.jsonl")).collect();
    world.import(&names.iter().map(String::as_str).collect::<Vec<_>>());
    world.write("w.jsonl", line(1000, now - 9 * day, "the zebra crossing was closed for repair"));
    world.import(&["w.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "zebra crossing")[0], "zebra crossing");
    let found = world.search(&mut index, "zebra crossing last week");
    assert!(found.iter().any(|text| text.starts_with("the zebra")), "{found:?}");
}

/// Returns a turn at a time of 21 November 2026, in UTC.
fn at(id: &str, time: &str, role: &str, text: &str) -> String {
    let at = parse_rfc3339(&format!("2026-11-21T{time}:00Z")).unwrap();
    format!("{{\"id\":\"{id}\",\"role\":\"{role}\",\"text\":\"{text}\",\"at\":{at}}}\n")
}

#[test]
fn what_a_person_said_comes_first_where_they_ask_for_it() {
    let world = World::at(Clock::Fixed(parse_rfc3339("2026-11-22T09:00:00Z").unwrap()));
    let lines = [
        at("a", "09:00", "user", "the colour of the header must be teal"),
        at("b", "09:01", "assistant", "teal it is"),
        at("c", "09:02", "user", "go on"),
        at(
            "d",
            "09:03",
            "assistant",
            "the header colour, the colour of the header in header colour tests, is read from a file",
        ),
    ];
    world.write("s.jsonl", lines.concat());
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    assert!(world.search(&mut index, "header colour tests")[0].starts_with("the header colour"));
    for question in ["which header colour did I ask for?", "welche header colour habe ich mir gewünscht?"] {
        let found = world.search(&mut index, question);
        assert_eq!(found[0], "the colour of the header must be teal", "{question}");
        assert!(found.iter().any(|text| text.starts_with("the header colour")), "nothing is left out: {question}");
    }
}

#[test]
fn what_was_said_at_a_time_of_the_day_comes_first() {
    let world = World::at(Clock::Fixed(parse_rfc3339("2026-11-22T09:00:00Z").unwrap()));
    let lines = [
        at("a", "09:00", "user", "deploy the shop"),
        at("b", "12:00", "user", "deploy the shop, carefully"),
        at("c", "21:04", "user", "no, wait until tomorrow with it"),
        at("d", "21:05", "assistant", "I wait"),
    ];
    world.write("s.jsonl", lines.concat());
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    for question in [
        "what did we say about the deploy around 21:04?",
        "deploy yesterday at 9 pm",
        "what about the deploy late in the evening of the 21st",
        "deploy gestern abend",
    ] {
        let found = world.search(&mut index, question);
        assert!(found[..2].iter().any(|t| t == "no, wait until tomorrow with it"), "{question}: {found:?}");
    }
    assert_eq!(world.search(&mut index, "what happened around 9:00?")[0], "deploy the shop");
    assert_eq!(world.search(&mut index, "between 9:00 and 10:00")[0], "deploy the shop");
    // Nothing was said at that time: the words decide.
    assert_eq!(world.search(&mut index, "careful deploy of the shop at 4 am")[0], "deploy the shop, carefully");
}

#[test]
fn a_phrase_in_a_question_boosts_and_alone_it_filters() {
    let texts = ["the unique index is gone", "an index that is unique, unique indeed", "index of all unique things"];
    check(&texts, "where did the \"unique index\" go");
    let world = World::new();
    for (i, text) in texts.iter().enumerate() {
        world.write(&format!("s{i}.jsonl"), said("a", "user", text));
    }
    world.import(&["s0.jsonl", "s1.jsonl", "s2.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "where did the \"unique index\" go").len(), 3);
    assert_eq!(world.search(&mut index, "\"unique index\""), [texts[0]]);
    assert_eq!(world.search(&mut index, "what is \"never said\" of the index").len(), 3);
    assert!(world.search(&mut index, "\"never said\"").is_empty());
}

#[test]
fn words_are_found_inside_others() {
    check(&["we need a Rechnungsvorlage soon", "something else"], "Vorlage");
    check(&["die Rechnungsvorlagen sind fertig", "die Straße ist lang"], "wo ist die Vorlage");
    check(&["die Datenbankverbindung bricht ab", "nichts"], "warum bricht die Datenbank ab");
    check(&["see openRefundDialog for it", "something else"], "refund");
    check(&["die Straße ist lang", "der Weg ist kurz"], "Strasse");
    check(&["das Maß ist voll", "das Glas ist leer"], "Mass");
    check(&["die Häuser sind alt", "die Gärten sind neu"], "Haeuser");
    check(&["shipped 🚀 at last", "shipped at last, at last"], "🚀");
    check(&["shipped 🚀 at last", "and more was shipped"], "when was it shipped 🚀?");
}

#[test]
fn the_echo_of_a_message_that_was_stored_twice_is_found_once() {
    let world = World::new();
    let line = |id: &str, run: &str, echo: bool| {
        format!("{{{id}\"role\":\"assistant\",\"run\":\"{run}\",\"text\":\"the zebra is striped\",\"echo\":{echo}}}\n")
    };
    let more = said("z", "user", "and the zebra").replace('{', "{\"run\":\"r\",");
    world.write("s.jsonl", line("", "q", true) + &line("\"id\":\"a\",", "r", false) + &more);
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "striped").len(), 3, "two runs said it");
    drop(index);
    // Earlier versions stored the two records of one message like this.
    world.sql().execute("UPDATE turns SET run_no = (SELECT max(run_no) FROM turns)", []).unwrap();
    std::fs::remove_file(world.path("index.db")).unwrap();
    let mut index = world.caught_up();
    assert_eq!(world.search(&mut index, "striped"), ["the zebra is striped", "and the zebra"]);
}

#[test]
fn who_is_named_is_a_person_of_this_agent() {
    let world = history();
    let other = AgentId::parse("other").unwrap();
    let line = "{\"id\":\"a\",\"role\":\"user\",\"speaker\":\"Melanie\",\"text\":\"hello\"}\n";
    world.write("other.jsonl", line);
    world.try_import(&crate::world::GLOBAL, &other, &["other.jsonl"], None).unwrap();
    let query = world.ask("What did Caroline's neighbour, Melanie and Nova say about \"Caroline\" last week?");
    let names: Vec<&str> = query.people.iter().map(|p| p.name.as_str()).collect();
    // Melanie talks to another agent only, and Nova has spoken as an assistant.
    assert_eq!(names, ["Caroline"]);
    assert_eq!(query.dense_text(), "What did neighbour, Melanie and Nova say about Caroline");
    let theirs = recall::understand(&world.ledger, &other, "Melanie and Caroline", &TimeZone::UTC).unwrap();
    assert_eq!(theirs.people.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["Melanie"]);
    let nobody = AgentId::parse("nobody").unwrap();
    let none = recall::understand(&world.ledger, &nobody, "Melanie and Caroline", &TimeZone::UTC).unwrap();
    assert_eq!((none.people.len(), none.shown()), (0, "Melanie Caroline".to_owned()));
}

#[test]
fn names_are_found_whole_in_other_spellings_and_in_pieces() {
    check(&["see refund_twice for it", "refund it, and twice"], "refundTwice");
    check(&["see refundTwice for it", "refunded again"], "refund_twice");
    check(&["it broke at src/queue/mod.rs again", "the queue of the mod"], "src/queue/mod.rs:120");
    check(&["fixed in a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "a1 b2"], "a1b2c3d");
    check(&["fixed in a1b2c3d", "something else"], "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678");
    check(&["we are on v1.95.0 now", "95 of 1 and 0"], "1.95.0");
    check(&["the proxy says HTTP 502", "502 pages over HTTP, and more"], "HTTP 502");
    check(&["数据库的索引坏了", "今天天气很好"], "为什么数据库索引坏了");
    check(&["東京タワーを見た", "京都に行った"], "東京タワーはどこですか");
    check(&["서울에서 만나요", "부산은 멀어요"], "서울은");
}

#[test]
fn a_passage_of_a_long_text_shows_what_the_engine_found_in_it() {
    // The text has no word that begins like "scrolling"; only the stem matches.
    let filler = "the quick build ran and was green again ".repeat(400);
    let world = World::new();
    world.write("s.jsonl", said("a", "tool", &format!("{filler} then scroll to the line {filler}")));
    world.import(&["s.jsonl"]);
    let mut index = world.caught_up();
    let filter = Filter { limit: 1, ..Filter::default() };
    let found = recall::search(&world.ledger, &mut index, &world.agent, &world.ask("scrolling"), &filter).unwrap();
    let passage = &found.hits[0].passage;
    assert!(passage.contains("\u{2}scroll\u{3} to the line"), "{passage}");
}
