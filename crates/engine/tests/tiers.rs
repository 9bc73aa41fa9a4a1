//! The three tiers over the lineage: the global head, the heads of threads, and their index (R7.1, R7.2); and that no
//! thread is given another's words (R10.3).

use std::collections::{BTreeMap, BTreeSet};

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::memory::{self, Class, NewLeaf};
use heirloom_engine::pages::PageKey;
use heirloom_engine::render::memory::{Tier1Line, for_thread};
use heirloom_engine::render::why::why;
use heirloom_engine::scope::TurnId;
use heirloom_engine::tokens::tokens;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use heirloom_engine::tree::scan;

use crate::place::{API, DAY, NOON};
use crate::tree::rest;
use crate::woven::{API_KEY, Story, after, filed, in_thread, is_reference, item, items, life, reference, titled_loop};

#[test]
fn memory_says_what_matters_across_threads() {
    let (story, ..) = life();
    let expected = "\
## Now
- **heirloom/api**: Orders table half migrated, 3 of 41 tests red · next: Migrate table `tbl_orders` [l:migrate-table-tbl-orders-dd2099] · due 27 Nov · [n6]
- **blog**: blocked: waiting for your answer about the RSS feed [l:waiting-for-your-answer-about-c46bd6] · next: Publish the post on queues [l:publish-the-post-on-queues-a23cda] · [n8]

## Commitments
- Send Marta the benchmark table · [l:send-marta-the-benchmark-table-37b43e]
- `orders_test.rs::refund_twice` fails since the new index · heirloom/api · [l:orders-test-rs-refund-twice-aa896d]
- Write the changelog · heirloom/api · [l:write-the-changelog-272cdd]

## Always
- Never push to main without a green just ci. · api · fact, check before use · [m:never-push-to-main-without-a-c0aba5]
- Answer TL;DR first. · [m:answer-tl-dr-first-cf4126]

## Standing memory
- 1 fact in this agent · [memory/MEMORY.md]

## Further back
- November: 3 sessions, 2 threads · [n6]
- October: 1 session, 1 thread · [n2]
";
    assert_eq!(story.page(&PageKey::Memory), expected);
}

#[test]
fn a_thread_head_says_where_it_stands() {
    let (story, orders, blog) = life();
    story.turn_row(TurnId(0x9c0d), "claude-code:one", NOON - 2 * DAY, false);
    let expected = "\
# heirloom/api

`project/api--0123456789abcdef` · active · last worked in on 20 Nov · with you, claude-code, codex

**Doing.** Move orders to the new schema. Orders table half migrated, 3 of 41 tests red. [n6]

## Open
- Migrate table `tbl_orders` · due 27 Nov · since 21 Nov · next · [l:migrate-table-tbl-orders-dd2099]
- `orders_test.rs::refund_twice` fails since the new index. · [l:orders-test-rs-refund-twice-aa896d]
- Write the changelog · [l:write-the-changelog-272cdd]

## Decided
- Codename ZEPHYR for the queue. · 19 Nov · [t9c0d]
- No Redis: one process is enough until 1 k jobs/s. · [t9c01]

## Lineage
[n6] 20 Nov, 10 turns · [n4] 19 Nov, 10 turns · [n2] 12 Oct, 10 turns
";
    assert_eq!(story.head(orders), expected);
    let blog = story.head(blog);
    assert!(blog.contains("## Open\n- Blocked: waiting for your answer about the RSS feed · [l:"), "{blog}");
    assert!(blog.contains("**Next.** Publish the post on queues [l:publish-the-post-on-queues-"), "{blog}");
}

#[test]
fn a_thread_nobody_has_worked_in_says_so() {
    let story = Story::new();
    let topic = story.thread("topic/bees", "Bees");
    let text = story.head(topic);
    assert_eq!(
        text,
        "# Bees\n\n`topic/bees` · active\n\n**Doing.** Nothing is known of it yet; its head fills with the first conversation \
         in it.\n"
    );
    // A merged thread refers to the other one, and loops under its name are shown there.
    let honey = story.thread("topic/honey", "Honey");
    story.owe(in_thread("Buy more jars", "topic/bees"));
    story.place.sql().execute("UPDATE threads SET merged_into = ?1 WHERE thread_no = ?2", [honey, topic]).unwrap();
    assert!(story.head(topic).contains(&format!("This thread became a part of [Honey]({}.md).", story.file(honey))));
    assert!(story.head(honey).contains("## Open\n- Buy more jars · since 21 Nov · [l:"), "{}", story.head(honey));
    let index = story.page(&PageKey::Threads);
    assert!(index.contains("[Honey]") && index.contains("1 open") && !index.contains("Bees"), "{index}");
}

#[test]
fn the_index_lists_threads_newest_first() {
    let (mut story, _, blog) = life();
    let text = story.page(&PageKey::Threads);
    let expected = "\
- [heirloom/api](project-api-0123456789abcdef--ca0d02a87b2461da.md): Orders table half migrated, 3 of 41 tests red · 3 open · 20 Nov · [n6]
- [blog](project-blog-fedcba9876543210--a43b2cfa13091f07.md): blocked: waiting for your answer about the RSS feed · 1 open · 19 Nov · [n8]
";
    assert_eq!(text, expected);
    story.worked(blog, "codex:four", NOON - 100, |t| Distillate {
        goal: Some(item("Publish", t)),
        ..Distillate::default()
    });
    assert!(story.page(&PageKey::Threads).starts_with("- [blog]"));
    for n in 0..60 {
        let thread = story.thread(&format!("topic/t{n}"), &format!("Topic {n}"));
        if n < 50 {
            story.worked(thread, &format!("codex:t{n}"), NOON - DAY, |_| Distillate::default());
        } else {
            story.place.sql().execute("UPDATE threads SET state = 'closed' WHERE thread_no = ?1", [thread]).unwrap();
        }
    }
    let text = story.page(&PageKey::Threads);
    assert_eq!(text.matches("\n- [").count() + 1, 40, "{text}");
    assert!(text.contains("- … and 12 more: `heirloom thread list`\n\n10 closed:"), "{text}");
}

#[test]
fn every_line_leads_deeper() {
    use heirloom_engine::continuity::channel;
    let (story, orders, _) = life();
    let at = story.place.at();
    channel::ask(&at, "telegram", "4711", Some("Robert"), None).unwrap();
    story.place.do_it(|lock| {
        crate::place::propose(lock, "Deploys", &["Deploy with just"], "procedure", &format!("workspace/{API}"));
    });
    story
        .place
        .sql()
        .execute(
            "INSERT INTO scheduled_runs (agent_no, name, command, started_at, ended_at, exit_code) VALUES (?1, 'nightly backup', 'x', ?2, ?2, 1)",
            (story.place.agent_no, NOON),
        )
        .unwrap();
    story
        .place
        .sql()
        .execute(
            "INSERT INTO pending_memory (agent_no, kind, key, title, text, confidence, state, created_at)
             VALUES (?1, 'preference', 'k', 'Likes tea', 'Likes tea', 0.9, 'pending', 0)",
            [story.place.agent_no],
        )
        .unwrap();
    story.turn_row(TurnId(0x100), "codex:two", NOON, false);
    story.place.sql().execute("UPDATE turn_results SET status = 3, last_at = ?1", [NOON]).unwrap();
    let mut seen: BTreeSet<char> = BTreeSet::new();
    for page in [PageKey::Memory, PageKey::Active, PageKey::Threads, PageKey::Thread(story.file(orders))] {
        let text = story.page(&page);
        for line in items(&text) {
            let id = reference(line);
            assert!(is_reference(id), "{id} in {line}");
            seen.extend(id.chars().next().filter(|_| !id.contains('/')));
        }
    }
    assert_eq!(seen.into_iter().collect::<String>(), "cjlmnptu");
    let active = story.page(&PageKey::Active);
    assert!(
        active
            .contains("## Threads\n- **heirloom/api**: Orders table half migrated, 3 of 41 tests red · 3 open · [n6]")
    );
    assert!(active.contains("`heirloom job show 'nightly backup'` · [j:nightly backup]"), "{active}");
}

#[test]
fn what_was_closed_or_left_is_shown_no_more() {
    let (mut story, orders, _) = life();
    let jars = story.owe(in_thread("Order new jars", API_KEY));
    story.worked(orders, "codex:five", NOON - 1_000, |t| Distillate {
        open_loops: vec![
            filed("somebody has to order new jars soon", t, &jars),
            item("Call the glazier", after(t, 1)),
            item("Paint the fence", after(t, 2)),
        ],
        decisions: vec![item("We keep the old fence", after(t, 3))],
        ..Distillate::default()
    });
    let fence = TurnId(story.turn - 7);
    let before = story.head(orders);
    for words in ["Order new jars", "Call the glazier", "Paint the fence", "keep the old fence"] {
        assert_eq!(before.matches(words).count(), 1, "{words} in {before}");
    }
    assert!(!before.contains("somebody has to"), "the file says it: {before}");
    // A person resolves the loop, and another one with the very words of an item that has no file.
    story.owe(in_thread("Call the glazier", API_KEY));
    let names = [jars, "Call the glazier".to_owned()];
    story.place.do_it(|lock| open_loop::resolve(lock, &names, None).unwrap());
    // The branch that mentions the fence is abandoned.
    for n in [0, 1] {
        story.turn_row(after(fence, n), "codex:five", NOON - 1_000, true);
    }
    let now = story.head(orders);
    for words in ["jars", "glazier", "fence"] {
        assert!(!now.contains(words), "{words} in {now}");
    }
    let at = story.place.at();
    let head = PageKey::Thread(story.file(orders));
    let told = at.read(|tx| why(&at, tx, &head)).unwrap();
    let reasons: Vec<&str> = told.iter().filter_map(|w| w.left_out.as_deref()).collect();
    assert_eq!(
        reasons,
        [
            "said on a branch that was left, or forgotten",
            "its file was resolved, decided or removed",
            "a loop of this name was resolved since",
            "said on a branch that was left, or forgotten"
        ]
    );
    // Said again later, the item is open again.
    let again = story.worked(orders, "codex:six", NOON + 10, |t| Distillate {
        open_loops: vec![item("Call the glazier", t)],
        ..Distillate::default()
    });
    story.turn_row(again.1, "codex:six", NOON + 10, false);
    assert!(story.head(orders).contains("Call the glazier"));
}

/// Forty threads, each with words of its own everywhere: what one is given contains no word of another.
#[test]
fn a_session_is_given_the_words_of_its_own_threads() {
    let mut story = Story::new();
    let mut threads = Vec::new();
    for n in 0..40 {
        let key = format!("project/p{n}--{n:016x}");
        let no = story.thread(&key, &format!("Label{n}"));
        story.worked(no, &format!("codex:s{n}"), NOON - n * 20 * 3_600_000, |t| Distillate {
            goal: Some(item(&format!("canary{n}goal of the project"), t)),
            blocked: vec![item(&format!("canary{n}first is missing"), t), item(&format!("canary{n}second is late"), t)],
            decisions: vec![item(&format!("canary{n}decision taken"), t)],
            open_loops: vec![item(&format!("canary{n}open still"), t)],
            next_steps: vec![item(&format!("canary{n}next to do"), t)],
            ..Distillate::default()
        });
        story.owe(in_thread(&format!("canary{n}loop owed"), &key));
        // A loop that is known by its source session, and one known by its project alone.
        story.owe(NewLoop {
            source: Provenance {
                origin: Origin::Distilled,
                session: Some(format!("codex:s{n}")),
                ..Provenance::default()
            },
            ..titled_loop(&format!("canary{n}said once"))
        });
        story.owe(NewLoop {
            scope: Some(format!("workspace/p{n}--{n:016x}")),
            ..titled_loop(&format!("canary{n}scoped"))
        });
        story.place.do_it(|lock| {
            let scope = memory::Scope::Workspace(format!("p{n}--{n:016x}"));
            memory::add(lock, &NewLeaf::new(Class::Fact, scope, format!("canary{n}fact known"))).unwrap();
        });
        threads.push(no);
    }
    // Loops from an unknown session and an unknown thread do not count as the agent's own because of that.
    story.owe(NewLoop {
        source: Provenance { origin: Origin::Distilled, session: Some("codex:gone".into()), ..Provenance::default() },
        ..titled_loop("canary99 of nowhere")
    });
    story.owe(in_thread("canary98 of no thread", "topic/unheard"));
    story.owe(titled_loop("Everybody may know of the dentist"));
    let facts = story.place.leaves();
    story.place.do_it(|lock| memory::change::pin(lock, &facts, true).unwrap());
    story.place.do_it(|lock| {
        memory::add(lock, &NewLeaf::new(Class::Preference, memory::Scope::Agent, "Tea, never coffee.")).unwrap();
    });
    let lines = story.lines();
    let all: Vec<String> = (0..40).chain([98, 99]).map(|n| format!("canary{n}")).collect();
    let canaries = |text: &str| -> Vec<String> {
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let found = |c: &&String| {
            words
                .iter()
                .any(|w| w.strip_prefix(c.as_str()).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())))
        };
        all.iter().filter(found).cloned().collect()
    };
    // Proof that the test can fail: the whole file has the words of many threads.
    assert!(
        canaries(&lines.iter().map(|l| l.text.as_str()).collect::<String>().replace("canary", " canary")).len() > 30
    );
    for n in [0usize, 3, 17, 39] {
        let text = for_thread(&lines, &[threads[n]], Some(&format!("p{n}--{n:016x}")));
        assert_eq!(canaries(&text), [format!("canary{n}")], "{text}");
        assert!(
            text.contains(&format!("canary{n}loop owed")) && text.contains(&format!("canary{n}said once")),
            "{text}"
        );
        assert!(text.contains(&format!("canary{n}scoped")) && text.contains(&format!("canary{n}fact known")), "{text}");
        assert!(text.contains("dentist") && text.contains("Tea, never coffee"), "{text}");
        assert!(text.contains(&format!("1 fact of p{n}")) && tokens(&text) <= 1_500, "{text}");
        let other = if n == 0 { 1 } else { 0 };
        assert!(text.contains(&format!("- **Label{other}**: 6 open · [n")), "{text}");
        assert!(text.contains("more: `heirloom thread list`"), "{text}");
    }
    // A linked thread is given in full, too; a session without a thread is given only what is meant for all.
    assert_eq!(canaries(&for_thread(&lines, &[threads[2], threads[5]], None)), ["canary2", "canary5"]);
    let nobody = for_thread(&lines, &[], None);
    assert!(canaries(&nobody).is_empty() && nobody.contains("dentist") && !nobody.contains("Standing"), "{nobody}");
}

#[test]
fn equal_loops_take_turns_and_a_day_is_one_page() {
    let mut story = Story::new();
    for n in 0..60 {
        let path = story.place.tree().join(format!("continuity/open-loops/equal-{n:02}.md"));
        std::fs::write(
            &path,
            format!("---\nopened: 2026-01-01T00:00:00Z\n---\n# Equal commitment number {n:02} with a title of some length, as the titles of commitments often are\n"),
        )
        .unwrap();
        rest(&path);
    }
    scan::scan(&story.place.at()).unwrap();
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    for day in 0..30 {
        story = story.on(NOON + day * DAY);
        let lines = story.lines();
        let today: Vec<&Tier1Line> = lines.iter().filter(|l| l.left_out.is_none()).collect();
        assert!(today.len() < 60, "they do not all fit");
        for line in &today {
            *shown.entry(line.reference.clone().unwrap()).or_default() += 1;
        }
        story = story.on(NOON + day * DAY + 3 * 3_600_000);
        let later = story.lines();
        assert_eq!(lines, later, "the same day is the same page");
    }
    assert_eq!(shown.len(), 60, "{shown:?}");
}

#[test]
fn urgent_things_stand_whatever_the_day() {
    let mut story = Story::new();
    for n in 0..80 {
        let path = story.place.tree().join(format!("continuity/open-loops/loop-{n:02}.md"));
        let mark = match n {
            7 => "due: 2026-11-22\n",
            8 => "priority: high\n",
            9 => "pinned: true\n",
            _ => "",
        };
        let title = format!("Commitment number {n:02} with a title of some length, as titles of commitments are");
        std::fs::write(&path, format!("---\nopened: 2026-01-01T00:00:00Z\n{mark}---\n# {title}\n")).unwrap();
        rest(&path);
    }
    scan::scan(&story.place.at()).unwrap();
    for day in 0..12 {
        story = story.on(NOON + day * DAY);
        let lines = story.lines();
        let first: Vec<&str> = lines.iter().take(3).map(|l| l.reference.as_deref().unwrap()).collect();
        assert_eq!(first[0], "l:loop-09", "{lines:?}");
        assert!(first.contains(&"l:loop-07") && first.contains(&"l:loop-08"), "{first:?}");
        assert!(lines[0].reasons.contains(&"pinned +10.00".to_owned()), "{:?}", lines[0].reasons);
    }
}

#[test]
fn old_threads_are_further_back() {
    let (mut story, orders, _) = life();
    story = story.on(NOON + 27 * DAY);
    let text = story.page(&PageKey::Memory);
    let now = text.split("## Commitments").next().unwrap();
    assert!(now.contains("**heirloom/api**") && now.contains("**blog**"), "{text}");
    // Nothing was worked on since: someone who comes back sees where they were.
    story = story.on(NOON + 31 * DAY);
    let text = story.page(&PageKey::Memory);
    let now = text.split("## Commitments").next().unwrap();
    assert!(now.contains("**heirloom/api**") && now.contains("**blog**"), "{text}");
    let bees = story.thread("topic/bees", "Bees");
    story.worked(bees, "codex:nine", NOON + 30 * DAY, |t| Distillate {
        goal: Some(item("Count the hives", t)),
        ..Distillate::default()
    });
    let text = story.page(&PageKey::Memory);
    let now = text.split("## Commitments").next().unwrap();
    assert!(now.contains("**Bees**") && !now.contains("**heirloom/api**") && !now.contains("**blog**"), "{text}");
    assert!(text.contains("- Migrate table `tbl_orders` · heirloom/api · overdue since 27 Nov · [l:"), "{text}");
    assert!(text.contains("- November: 3 sessions, 2 threads · [n6]\n- October:"), "{text}");
    // For other threads its open items are still counted.
    let others = for_thread(&story.lines(), &[], None);
    assert!(others.contains("- **heirloom/api**: 1 open · [n"), "{others}");
    assert!(for_thread(&story.lines(), &[orders], None).contains("Migrate table"));
}

#[test]
fn a_line_of_a_thread_taken_out_stays_out_until_it_says_something_else() {
    let (mut story, _, blog) = life();
    let before = story.page(&PageKey::Memory);
    assert!(before.contains("**blog**") && before.contains("- October: 1 session"));
    let memory = story.place.tree().join("MEMORY.md");
    let gone = |l: &&str| !l.contains("**blog**") && !l.contains("- October");
    crate::place::write(&memory, |t| t.lines().filter(gone).map(|l| format!("{l}\n")).collect());
    for _ in 0..2 {
        let text = story.page(&PageKey::Memory);
        assert!(!text.contains("**blog**") && !text.contains("October") && text.contains("**heirloom/api**"), "{text}");
    }
    story = story.on(NOON + DAY);
    assert!(!story.page(&PageKey::Memory).contains("**blog**"), "the next day is no change");
    assert!(!for_thread(&story.lines(), &[blog], None).contains("RSS"));
    story.worked(blog, "codex:seven", NOON + DAY, |t| Distillate {
        goal: Some(item("Answered: the feed stays", t)),
        ..Distillate::default()
    });
    let text = story.page(&PageKey::Memory);
    assert!(text.contains("**blog**: Answered: the feed stays"), "{text}");
    assert!(!text.contains("- October"), "{text}");
}

#[test]
fn why_tells_scores_and_what_was_left_out() {
    let (story, ..) = life();
    let at = story.place.at();
    let told = at.read(|tx| why(&at, tx, &PageKey::Memory)).unwrap();
    let of = |text: &str| told.iter().find(|w| w.text.contains(text)).unwrap_or_else(|| panic!("{text} in {told:?}"));
    let api = of("**heirloom/api**");
    assert_eq!((api.section.as_str(), api.left_out.as_deref()), ("Now", None));
    assert_eq!(api.reasons, ["1 days old +0.94", "a loop in it: due within a week +0.60 +0.60"]);
    let step = told.iter().find(|w| w.reference.as_deref().is_some_and(|r| r.starts_with("l:migrate"))).unwrap();
    assert_eq!(step.left_out.as_deref(), Some("stands under Now, in the line of its thread"));
    let active = at.read(|tx| why(&at, tx, &PageKey::Active)).unwrap();
    assert!(active.iter().any(
        |w| w.section == "Open loops" && w.reference.as_deref() == Some("l:send-marta-the-benchmark-table-37b43e")
    ));
}
