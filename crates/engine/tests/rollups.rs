//! Pages of days, weeks and months, from the lineage (R6.9, R8.3).

use heirloom_engine::ledger::Audit;
use heirloom_engine::lineage::Kind;
use heirloom_engine::lineage::distillate::{Distillate, Item, Proposed};
use heirloom_engine::pages::{Happened, PageKey, Period};
use heirloom_engine::scope::AgentId;
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read::ensure_agent;
use heirloom_engine::{continuity::open_loop, profile};

use crate::story::{DAY, HOUR, MINUTE, NOON, Story, answer, item, titled, user, within};

const WEEK: &str = "continuity/rollups/2026/2026-W47.md";
const MONTH: &str = "continuity/rollups/2026/2026-11.md";
const TODAY: &str = "continuity/daily/2026/11/2026-11-21.md";

fn millis(moment: &str) -> i64 {
    moment.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

#[test]
fn a_week_is_told_thread_by_thread() {
    let story = Story::new();
    let api = story.project("api");
    story.said(
        "a",
        &[within(&api), titled("Orders"), user("Move the orders", NOON - 2 * DAY), answer("Moved", NOON - 2 * DAY)],
    );
    story.said("b", &[within(&api), user("Which table?", NOON - DAY)]);
    story.said("c", &[user("Buy milk", NOON - DAY)]);
    let (asked, moved) = (story.turn("a", "Move the orders"), story.turn("a", "Moved"));
    let which = story.turn("b", "Which table?");
    let a = Distillate {
        goal: Some(item("Move the orders to the new table", asked)),
        done: vec![item("Orders moved", moved)],
        open_loops: vec![item("Write the changelog", moved), item("Choose a table for invoices", asked)],
        ..Distillate::default()
    };
    let b = Distillate {
        decisions: vec![item("Invoices get a table of their own", which)],
        done: vec![item("Chose a table for invoices", which)],
        ..Distillate::default()
    };
    let a = story.summed_up("a", &[Kind::Compaction, Kind::Session], "Orders were moved. It took long.", &a);
    let b = story.summed_up("b", &[Kind::Compaction], "Chose.", &b);
    let c = story.summed_up("c", &[Kind::Session], "Milk.", &Distillate::default());
    story.refresh();
    let week = story.block(WEEK);
    let key = week.lines().find_map(|l| l.split_once("`project/api--")).unwrap().1.trim_end_matches('`');
    assert_eq!(
        week,
        format!(
            "3 sessions · 2 threads · 4 turns · little\n\n\
             ## api\n2 sessions · 3 turns · little · `project/api--{key}`\n\
             - Goal: Move the orders to the new table [{asked}]\n\
             - Decided: Invoices get a table of their own [{which}]\n\
             - Still open: Write the changelog [l:write-the-changelog-272cdd]\n\
             - Done: Orders moved [{moved}]\n\
             - Done: Chose a table for invoices [{which}]\n\
             - Sessions: Which table? [{}] · Orders [{}]\n\n\
             ## Buy milk\n1 session · 1 turn · little · `session/little:c`\n- Sessions: Buy milk [{}]\n",
            b[1], a[2], c[1]
        )
    );
    // The month shows what changed, not the same lines again.
    assert_eq!(
        story.block(MONTH),
        format!(
            "3 sessions · 2 threads · 4 turns · little\n\n\
             ## api\n2 sessions · 3 turns · little · `project/api--{key}`\n\
             - Began: Move the orders to the new table [{asked}]\n\
             - Settled: Choose a table for invoices [{asked}]\n\
             - Decided: Invoices get a table of their own [{which}]\n\
             - Finished: Orders moved [{moved}]\n\
             - Finished: Chose a table for invoices [{which}]\n\
             - Open at the end: 1 [l:write-the-changelog-272cdd]\n\n\
             ## Buy milk\n1 session · 1 turn · little · `session/little:c`\n"
        )
    );
    let text = std::fs::read_to_string(story.tree().join(WEEK)).unwrap();
    assert!(
        text.starts_with(
            "---\nperiod: \"2026-W47\"\nformat: 1\n---\n# Week 47 of 2026, 16 November 2026 to 22 November 2026\n"
        ),
        "{text}"
    );
    // Only periods with sessions have a page.
    let all = story.files("continuity/rollups/");
    assert_eq!(all.iter().filter(|p| !p.ends_with("README.md")).collect::<Vec<_>>(), [MONTH, WEEK]);
}

#[test]
fn a_day_says_what_its_sessions_came_to_and_nothing_twice() {
    let story = Story::new();
    let api = story.project("api");
    story.said("a", &[within(&api), titled("Orders"), user("Move", NOON - 3 * HOUR), answer("Moved", NOON - 3 * HOUR)]);
    story.said("b", &[user("Bare words", NOON - 2 * HOUR)]);
    let at = story.turn("a", "Moved");
    let carried = |text: &str| Item { file: Some(format!("l:{text}-123456")), ..item(text, at) };
    let d = Distillate {
        open_loops: vec![carried("one"), carried("two"), item("none", at)],
        proposals: vec![Proposed {
            title: "t".into(),
            text: "t".into(),
            class: "fact".into(),
            turns: vec![at],
            file: Some("p:t-123456".into()),
        }],
        ..Distillate::default()
    };
    let nodes = story.summed_up("a", &[Kind::Compaction, Kind::Session], "Orders were moved. It took long.", &d);
    story.cut("a", nodes[1], at, &[], NOON - 2 * HOUR + MINUTE);
    story.refresh();
    assert_eq!(
        story.block(TODAY),
        format!(
            "- 09:00 Session in api: Orders: Orders were moved. · 2 turns · [{}]\n\
             - 10:00 Session: Bare words · 1 turn · `little:b`\n\
             - 10:01 Compacted in api: Orders: 2 turns, 2 loops, 1 proposal → [{}]\n",
            nodes[2], nodes[1]
        )
    );
    // The session continues the next day and ends there: each day keeps its own part.
    story.said("a", &[user("More", NOON + DAY)]);
    let more = story.summed_up("a", &[Kind::Session], "And more", &Distillate::default());
    story.refresh();
    assert!(story.block(TODAY).starts_with("- 09:00 Session in api: Orders: Orders were moved."));
    assert_eq!(
        story.block("continuity/daily/2026/11/2026-11-22.md"),
        format!("- 12:00 Session in api: Orders: And more · 1 turn · [{}]\n", more[1])
    );
}

#[test]
fn every_line_of_a_day_ends_in_where_it_leads() {
    let story = Story::new();
    story.said("a", &[user("Bare words", NOON - HOUR), crate::story::ended("failed", "overloaded", NOON - HOUR)]);
    story.said("b", &[user("Others", NOON - HOUR)]);
    story.summed_up("b", &[Kind::Compaction, Kind::Session], "Some", &Distillate::default());
    for sql in [
        "INSERT INTO scheduled_runs (agent_no, name, command, started_at, ended_at, exit_code)
         VALUES (1, 'back up', 'true', ?1, ?1, 0)",
        "INSERT INTO scheduled_runs (agent_no, name, command, started_at, ended_at, exit_code, artifact)
         VALUES (1, 'nightly', 'true', ?1, ?1, 0, 'continuity/artifacts/x.md')",
        "INSERT INTO channel_events (agent_no, channel, peer, state, at, decided_at) VALUES (1, 'tg', '4711', 'approved', ?1, ?1)",
    ] {
        story.sql().execute(sql, [NOON - MINUTE]).unwrap();
    }
    story.refresh();
    let text = story.block(TODAY);
    assert_eq!(text.lines().count(), 8, "{text}");
    for line in text.lines() {
        assert!(line.ends_with([']', '`', ')']), "{line}");
    }
}

/// A note that is older than a month keeps its sessions when the time zone changes.
#[test]
fn old_notes_outlive_another_time_zone() {
    let story = Story::new();
    let api = story.project("api");
    let then = millis("2026-09-01T23:30:00Z");
    story.said("old", &[within(&api), titled("Orders"), user("Move the orders", then), answer("Moved", then)]);
    story.refresh();
    // The day has a note because it was requested once.
    let day = PageKey::Daily(jiff::civil::date(2026, 9, 1));
    let ask = || Audit::new("test", "head.mark").of_agent(story.agent_no);
    let asked = Happened::PagesAsked(vec![day]);
    story.ledger.write(ask(), |tx| heirloom_engine::pages::mark(tx, story.agent_no, &asked)).unwrap();
    story.refresh();
    assert!(story.block("continuity/daily/2026/09/2026-09-01.md").contains("Orders"));
    story.ledger.write(ask(), |tx| heirloom_engine::pages::mark(tx, story.agent_no, &Happened::ZoneMoved)).unwrap();
    let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let at = heirloom_engine::tree::AssistantHome::create(
        &story.home,
        &story.ledger,
        &story.agent,
        story.agent_no,
        "test",
        berlin,
    )
    .unwrap();
    heirloom_engine::render::refresh(&at, heirloom_engine::render::Occasion::Look).unwrap();
    let moved = story.block("continuity/daily/2026/09/2026-09-02.md");
    assert!(moved.contains("Orders"), "{moved}");
}

#[test]
fn weeks_and_days_are_those_of_the_operator() {
    // This is half past eleven in the evening of Sunday, 3 January 2027, in Tallinn: still the last ISO week of 2026.
    let moment = millis("2027-01-03T21:30:00Z");
    for (zone, day, week, month) in [
        ("Europe/Tallinn", "2027-01-03", "2026-W53", "2027-01"),
        ("Asia/Tokyo", "2027-01-04", "2027-W01", "2027-01"),
        ("UTC", "2027-01-03", "2026-W53", "2027-01"),
    ] {
        let story = Story::new();
        profile::set(&story.at(), "timezone", zone, "user").unwrap();
        let at = story.at();
        let date = at.day_of(moment).unwrap();
        assert_eq!(PageKey::Daily(date).to_string(), format!("daily/{day}"));
        let pages = Period::of(date).unwrap().map(|period| PageKey::Rollup(period).to_string());
        assert_eq!(pages, [format!("rollup/{week}"), format!("rollup/{month}")]);
        drop(at);
        story.said("s", &[user("Late words", moment)]);
        story.summed_up("s", &[Kind::Session], "Late.", &Distillate::default());
        story.refresh();
        let all: Vec<String> =
            story.files("continuity/rollups/").into_iter().filter(|p| !p.ends_with("README.md")).collect();
        let expected = [&week, &month].map(|p| format!("continuity/rollups/{}/{p}.md", &p[..4]));
        assert!(expected.iter().all(|p| all.contains(p)) && all.len() == 2, "{zone}: {all:?}");
        for page in &all {
            assert!(story.block(page).contains("Late words"), "{zone}: {}", story.block(page));
        }
    }
}

/// In another time zone weeks have other borders, and the pages follow.
#[test]
fn another_time_zone_has_other_weeks() {
    let story = Story::new();
    profile::set(&story.at(), "timezone", "UTC", "user").unwrap();
    let moment = millis("2026-11-15T23:30:00Z");
    story.said("s", &[user("Late words", moment)]);
    story.summed_up("s", &[Kind::Session], "Late.", &Distillate::default());
    story.refresh();
    let week = |n: u32| story.block(&format!("continuity/rollups/2026/2026-W{n}.md"));
    assert!(week(46).contains("Late words"));
    profile::set(&story.at(), "timezone", "Asia/Tokyo", "user").unwrap();
    story.refresh();
    assert!(week(47).contains("Late words"), "{}", week(47));
    assert_eq!(week(46), "Nothing was closed in this time.\n");
}

#[test]
fn names_of_periods_read_back_and_nothing_else_does() {
    for name in ["2026-W01", "2026-W53", "2026-12", "0999-01"] {
        assert_eq!(Period::parse(name).unwrap().to_string(), name);
        assert_eq!(PageKey::parse(&format!("rollup/{name}")).unwrap().to_string(), format!("rollup/{name}"));
    }
    for name in [
        "",
        "2026",
        "2026-13",
        "2026-00",
        "2026-W54",
        "2025-W53",
        "2026-W1",
        "26-W01",
        "2026-1",
        "2026-011",
        "../2026-11",
    ] {
        assert_eq!((Period::parse(name), PageKey::parse(&format!("rollup/{name}"))), (None, None), "{name}");
    }
    // Every day is in one week and one month, whose pages have it.
    let story = Story::new();
    let at = story.at();
    for n in 0..800 {
        let day = at.day_of(NOON + n * DAY).unwrap();
        let [week, month] = Period::of(day).unwrap().map(|period| PageKey::Rollup(period).to_string());
        assert_eq!(month, format!("rollup/{}", day.strftime("%Y-%m")));
        assert_eq!(week, format!("rollup/{}", day.strftime("%G-W%V")));
    }
}

/// Two sessions about one matter: the month shows what they changed, not what each list contained.
#[test]
fn a_month_says_what_changed() {
    let story = Story::new();
    let api = story.project("api");
    story.said("a", &[within(&api), user("Move the orders", NOON - 10 * DAY), answer("Moved some", NOON - 10 * DAY)]);
    story.said("b", &[within(&api), user("Go on with the orders", NOON - DAY), answer("All moved", NOON - DAY)]);
    let (asked, some) = (story.turn("a", "Move the orders"), story.turn("a", "Moved some"));
    let (on, all) = (story.turn("b", "Go on with the orders"), story.turn("b", "All moved"));
    let a = Distillate {
        goal: Some(item("Move the orders to the new table", asked)),
        decisions: vec![item("We use Redis for the queue of orders", asked)],
        done: vec![item("Created the new table", some), item("Moved the orders of last year", some)],
        open_loops: vec![item("Move the orders of this year", some), item("Write the changelog", asked)],
        ..Distillate::default()
    };
    let b = Distillate {
        goal: Some(item("Move the orders to the new table → Go on with the orders", on)),
        decisions: vec![item("No longer Redis: we use Postgres for the queue of orders", on)],
        done: vec![item("Moved the orders of this year", all)],
        open_loops: vec![item("Drop the old table", all)],
        ..Distillate::default()
    };
    story.summed_up("a", &[Kind::Session], "Some.", &a);
    story.summed_up("b", &[Kind::Session], "All.", &b);
    story.refresh();
    let month = story.block(MONTH);
    let lines: Vec<&str> = month.lines().filter(|l| l.starts_with("- ")).collect();
    assert_eq!(
        lines[..5],
        [
            format!("- Began: Move the orders to the new table [{asked}]"),
            format!("- Settled: Move the orders of this year [{some}]"),
            format!(
                "- Decided: No longer Redis: we use Postgres for the queue of orders \
                 (replaces: We use Redis for the queue of orders) [{on}]"
            ),
            format!("- Finished: Created the new table [{some}]"),
            format!("- Finished: Moved the orders of this year [{all}]"),
        ],
        "{month}"
    );
    assert!(lines[5].starts_with("- Open at the end: 2, 1 of them new [l:drop-the-old-table-"), "{month}");
    assert!(lines[5].ends_with(" [l:write-the-changelog-272cdd]"), "{month}");
}

#[test]
fn a_day_long_ago_has_its_note() {
    let story = Story::new();
    story.said("old", &[user("Words of long ago", NOON - 400 * DAY)]);
    story.refresh();
    let note = "continuity/daily/2025/10/2025-10-17.md";
    assert!(story.files("continuity/daily/").contains(&note.to_owned()), "{:?}", story.files("continuity/daily/"));
    assert!(story.block(note).contains("Words of long ago"));
}

#[test]
fn a_month_with_too_much_in_it_stays_a_page_and_starves_nobody() {
    let story = Story::new();
    let many = |n: usize, turn| {
        (0..9).map(|m| item(&format!("Item {m} of {n}, {}", "in some words ".repeat(9)), turn)).collect()
    };
    for n in 0..12 {
        let project = story.project(&format!("project-{n}"));
        let session = format!("s{n}");
        let mut lines = vec![within(&project)];
        lines.extend((0..20 - n).map(|m| user(&format!("Words {m}"), NOON - DAY + m as i64)));
        story.said(&session, &lines);
        let turn = story.turn(&session, "Words 0");
        let d = Distillate {
            goal: Some(item("Get on", turn)),
            decisions: many(n, turn),
            done: many(n, turn),
            open_loops: many(n, turn),
            ..Distillate::default()
        };
        story.summed_up(&session, &[Kind::Session], "Much.", &d);
    }
    story.refresh();
    let text = story.block(MONTH);
    assert!((600..=900).contains(&tokens(&text)), "{} {text}", tokens(&text));
    let heads: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("## ")).collect();
    assert!(heads.len() >= 5 && heads.iter().enumerate().all(|(n, h)| *h == format!("project-{n}")), "{text}");
    assert!(
        text.ends_with(&format!("\n- … and {} threads more: `heirloom thread list`\n", 12 - heads.len())),
        "{text}"
    );
    for word in ["Finished", "Decided", "Open at the end"] {
        assert!(text.matches(&format!("- {word}: ")).count() >= heads.len() - 1, "{word}: {text}");
    }
}

#[test]
fn only_what_stands_is_told() {
    let story = Story::new();
    story.said("s", &[user("Left", NOON - HOUR)]);
    let turn = story.turn("s", "Left");
    let item = item("Decided left", turn);
    let d = Distillate { decisions: vec![item], ..Distillate::default() };
    // An unfinished act belongs to an agent nobody looks at, because a look at this agent would finish it.
    let ada = AgentId::parse("ada").unwrap();
    let plan =
        "INSERT INTO flushes (flush_id, agent_no, action, state, created_at) VALUES ('f', ?1, 'x', 'planned', 0)";
    let planned = story.ledger.write(Audit::new("test", "flush.plan"), |tx| {
        tx.execute(plan, [ensure_agent(tx, &ada)?])?;
        Ok(())
    });
    planned.unwrap();
    story.summed_up_in("s", &[Kind::Session], "Went.", &d, Some("f"));
    story.refresh();
    assert!(story.files("continuity/rollups/2026").is_empty(), "its act is not finished");
    assert!(story.block(TODAY).contains("`little:s`"));
    story.sql().execute("UPDATE flushes SET state = 'done'", []).unwrap();
    story.refresh();
    assert!(story.block(WEEK).contains("Decided left"));
    assert!(story.block(TODAY).contains("Left: Decided left ·"), "{}", story.block(TODAY));
    // The program has since gone back and abandoned that branch.
    story.said("s", &[user("Right", NOON - MINUTE)]);
    let other = story.turn("s", "Right");
    story
        .sql()
        .execute(
            "UPDATE turn_results SET left_by = (SELECT run_no FROM turns WHERE turn_no = ?2)
             WHERE run_no = (SELECT run_no FROM turns WHERE turn_no = ?1)",
            [turn.0, other.0],
        )
        .unwrap();
    story.summed_up("s", &[Kind::Session], "Went right.", &Distillate::default());
    story.refresh();
    assert!(!story.block(WEEK).contains("Decided left"), "{}", story.block(WEEK));
}

#[test]
fn what_is_resolved_is_still_open_no_longer() {
    let story = Story::new();
    let new = open_loop::NewLoop { title: "Write the changelog".into(), ..open_loop::NewLoop::default() };
    let open = open_loop::add(&story.at().lock().unwrap(), &new).unwrap();
    story.said("s", &[user("Words", NOON - HOUR)]);
    let turn = story.turn("s", "Words");
    let d = Distillate {
        open_loops: vec![Item { file: Some(open.id.clone()), ..item("Write the changelog", turn) }],
        ..Distillate::default()
    };
    story.summed_up("s", &[Kind::Session], "Words.", &d);
    story.refresh();
    assert!(story.block(WEEK).contains(&format!("- Still open: Write the changelog [{}]\n", open.id)));
    let ends = || story.block(MONTH).lines().find(|l| l.contains("Open at the end")).map(str::to_owned);
    assert!(ends().is_some_and(|line| line.contains(&open.id)), "{}", story.block(MONTH));
    // Nothing else happens: the pages of week and month change because of the file alone.
    open_loop::resolve(&story.at().lock().unwrap(), std::slice::from_ref(&open.id), None).unwrap();
    story.refresh();
    assert!(!story.block(WEEK).contains("changelog"), "{}", story.block(WEEK));
    assert_eq!(ends(), None, "{}", story.block(MONTH));
    // A loop from a day without sessions makes no page.
    let pages = story.files("continuity/rollups/");
    let new = open_loop::NewLoop { title: "Of long ago".into(), opened: Some(NOON - 90 * DAY), ..new };
    open_loop::add(&story.at().lock().unwrap(), &new).unwrap();
    story.refresh();
    assert_eq!(story.files("continuity/rollups/"), pages);
}

#[test]
fn agents_have_their_own_weeks() {
    let story = Story::new();
    story.said("s", &[user("Of main", NOON - HOUR)]);
    story.summed_up("s", &[Kind::Session], "Main.", &Distillate::default());
    let story = story.of("ada");
    story.refresh();
    assert_eq!(story.files("continuity/rollups/2026"), [""; 0]);
    story.said("z", &[user("Of ada", NOON - HOUR)]);
    story.summed_up("z", &[Kind::Session], "Ada.", &Distillate::default());
    story.refresh();
    assert!(story.block(WEEK).contains("Of ada") && !story.block(WEEK).contains("Of main"));
    let story = story.of("main");
    story.refresh();
    assert!(story.block(WEEK).contains("Of main") && !story.block(WEEK).contains("Of ada"));
}
