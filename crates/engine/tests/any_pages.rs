//! Pages of random homes: each stays within its budget, repeats nothing, and every line leads deeper (R7.1, R7.2); also
//! the cost of a render.

use std::collections::BTreeSet;

use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::pages::PageKey;
use heirloom_engine::render::memory::{for_thread, tier1};
use heirloom_engine::render::why::why;
use heirloom_engine::scope::{ThreadNo, TurnId};
use heirloom_engine::tokens::tokens;
use heirloom_engine::tree::scan;
use heirloom_testkit::Rng;

use crate::place::{DAY, NOON};
use crate::tree::rest;
use crate::woven::{Story, after, is_reference, item, items, reference};

/// Makes a world of random size and shape, with words that look like markup.
fn any_world(seed: u64) -> (Story, Vec<ThreadNo>) {
    let (mut rng, mut story) = (Rng::new(seed), Story::new());
    const WORDS: [&str; 14] = [
        "migrate",
        "日本語の文章",
        "orders",
        "[n1]",
        "## Always",
        "<!-- /heirloom:head -->",
        "\u{202e}live",
        "the",
        "schema",
        "refund_twice",
        "\n- obey",
        "αβγδ",
        "retry",
        "[l:forged]",
    ];
    let words = |rng: &mut Rng, most: usize| -> String {
        let n = 1 + rng.below(most);
        (0..n).map(|_| format!("{}{}", rng.pick(&WORDS), rng.below(40))).collect::<Vec<_>>().join(" ")
    };
    let mut threads = Vec::new();
    for n in 0..1 + rng.below(45) {
        let key = format!("project/p{n}--{n:016x}");
        let thread = story.thread(&key, &words(&mut rng, 6));
        threads.push(thread);
        for _ in 0..1 + rng.below(3) {
            let list = |rng: &mut Rng, t: TurnId| -> Vec<Item> {
                (0..rng.below(9)).map(|i| item(&words(rng, 40), after(t, i as i64))).collect()
            };
            let at = NOON - rng.below(60) as i64 * DAY;
            let session = format!("codex:{}", rng.below(30));
            let mut said = Distillate::default();
            let t = TurnId(story.turn + 1);
            said.goal = list(&mut rng, t).pop();
            for to in [
                &mut said.in_progress,
                &mut said.blocked,
                &mut said.decisions,
                &mut said.open_loops,
                &mut said.next_steps,
                &mut said.done,
            ] {
                *to = list(&mut rng, t);
            }
            story.worked(thread, &session, at, |_| said);
        }
    }
    let loops = [0, 3, 40, 150][rng.below(4)];
    for n in 0..loops {
        let mut front = format!("opened: 2026-{:02}-01T00:00:00Z\n", 1 + rng.below(11));
        if rng.below(3) > 0 {
            let p = rng.below(50);
            front.push_str(&format!("thread: project/p{p}--{p:016x}\n"));
        }
        if rng.below(6) == 0 {
            front.push_str("due: 2026-12-01\n");
        }
        let title = words(&mut rng, 30).replace('\n', " ");
        let path = story.place.tree().join(format!("continuity/open-loops/l{n}.md"));
        std::fs::write(&path, format!("---\n{front}---\n# {title}\n")).unwrap();
        rest(&path);
    }
    for n in 0..rng.below(60) {
        let title = words(&mut rng, 30).replace('\n', " ");
        let path = story.place.tree().join(format!("memory/preference/p{n}.md"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("---\nobserved: 2026-10-01T00:00:00Z\n---\n# {title}\n")).unwrap();
        rest(&path);
    }
    scan::scan(&story.place.at()).unwrap();
    (story, threads)
}

#[test]
fn whatever_is_in_a_home_pages_keep_their_budget_and_say_nothing_twice() {
    for seed in 0..24 {
        let (story, threads) = any_world(seed);
        let mut pages = vec![(1_500, story.page(&PageKey::Memory)), (4_000, story.page(&PageKey::Threads))];
        let own: Vec<ThreadNo> = threads.iter().copied().step_by(3).collect();
        pages.push((1_500, for_thread(&story.lines(), &own, None)));
        pages.extend(threads.iter().take(4).map(|t| (700, story.head(*t))));
        for (most, page) in pages {
            assert!(tokens(&page) <= most, "seed {seed}: {} tokens of {most}\n{page}", tokens(&page));
            let mut lines = BTreeSet::new();
            for line in items(&page) {
                assert!(lines.insert(line.split(" · [").next().unwrap()), "seed {seed}: twice: {line}\n{page}");
                let id = if line.starts_with("- **") && !line.contains(" · [") { continue } else { reference(line) };
                assert!(is_reference(id), "seed {seed}: {line}");
            }
            assert!(!page.lines().any(|l| l.starts_with("- obey")) && !page.contains("<!-- /heirloom"), "{page}");
        }
    }
}

/// Credentials are also redacted in pages, because the text of a node may contain one.
#[test]
fn no_credential_of_a_node_stands_in_a_page() {
    let mut story = Story::new();
    let key = concat!("ghp_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9");
    let thread = story.thread("topic/keys", &format!("Keys {key}"));
    story.worked(thread, "codex:keys", NOON, |t| Distillate {
        goal: Some(item(&format!("Use {key} for the goal"), t)),
        decisions: vec![item(&format!("We decided on {key}"), t)],
        open_loops: vec![item(&format!("Rotate {key} soon"), t)],
        next_steps: vec![item(&format!("Next: revoke {key}"), t)],
        blocked: vec![item(&format!("Waiting for {key} to work"), t)],
        ..Distillate::default()
    });
    for page in [PageKey::Memory, PageKey::Threads, PageKey::Active, PageKey::Thread(story.file(thread))] {
        let text = story.page(&page);
        assert!(!text.contains("ghp_"), "{}: {text}", page);
    }
    assert!(story.head(thread).contains("[redacted:"));
}

/// Prints the cost of a render in a large home: `cargo test --release -- --ignored --nocapture what_a_render_costs`.
#[test]
#[ignore = "a measurement"]
fn what_a_render_costs() {
    let mut story = Story::new();
    let mut threads = Vec::new();
    for n in 0..200 {
        threads.push(story.thread(&format!("project/p{n}--{n:016x}"), &format!("Project {n}")));
    }
    for n in 0..1_000usize {
        let many = |what: &str, t: TurnId| -> Vec<Item> {
            (0..6)
                .map(|i| item(&format!("{what} number {i} of conversation {n} about schema{n} and orders{i}"), t))
                .collect()
        };
        let at = NOON - (1_000 - n as i64) * 2_000_000;
        story.worked(threads[n % 200], &format!("codex:s{n}"), at, |t| Distillate {
            goal: Some(item(&format!("Goal of conversation {n}"), t)),
            in_progress: many("progress", t),
            decisions: many("decision", t),
            open_loops: many("loop", t),
            next_steps: many("step", t),
            constraints: many("rule", t),
            done: many("work", t),
            ..Distillate::default()
        });
    }
    for n in 0..500usize {
        let path = story.place.tree().join(format!("continuity/open-loops/l{n}.md"));
        let source = format!("source: {{type: distilled, session: \"codex:s{n}\", turns: [t{:x}]}}", 0x9c01 + n * 10);
        std::fs::write(&path, format!("---\nopened: 2026-11-01T00:00:00Z\n{source}\n---\n# Loop {n} to be closed\n"))
            .unwrap();
        rest(&path);
    }
    scan::scan(&story.place.at()).unwrap();
    let at = story.place.at();
    let timed = |name: &str, act: &dyn Fn()| {
        // Processor time is measured, because other processes use this machine.
        let spent = || -> u64 {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
            text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        act();
        let before = spent();
        for _ in 0..50 {
            act();
        }
        println!("{name}: {} µs", (spent() - before) / 50_000);
    };
    timed("Tier 1", &|| drop(at.read(|tx| tier1(&at, tx)).unwrap()));
    let lines = story.lines();
    timed("Tier 1 for a session", &|| drop(for_thread(&lines, &[threads[3]], None)));
    let file = story.file(threads[3]);
    timed("a thread head", &|| drop(at.read(|tx| why(&at, tx, &PageKey::Thread(file.clone()))).unwrap()));
    timed("the index of threads", &|| drop(at.read(|tx| why(&at, tx, &PageKey::Threads)).unwrap()));
    timed("the now-page", &|| drop(at.read(|tx| why(&at, tx, &PageKey::Active)).unwrap()));
}
