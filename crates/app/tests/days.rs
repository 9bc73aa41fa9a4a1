//! Days are those of the operator's time zone: midnight, other zones, days of 23 and 25 hours, days with very many
//! turns.

use std::path::PathBuf;

use crate::world::World;

fn note(world: &World, date: &str) -> PathBuf {
    let (year, month) = (&date[..4], &date[5..7]);
    world.test.home().join(format!("workspaces/main/continuity/daily/{year}/{month}/{date}.md"))
}

/// Returns the rendered lines of a day; empty if there is no note.
fn said(world: &World, date: &str) -> String {
    let text = std::fs::read_to_string(note(world, date)).unwrap_or_default();
    text.lines().filter(|l| l.starts_with("- ")).map(|l| format!("{l}\n")).collect()
}

/// Imports turns, each with a session and a time.
fn import(world: &World, name: &str, turns: &[(&str, &str, &str)]) {
    let lines: String = turns
        .iter()
        .map(|(session, time, text)| {
            serde_json::json!({"session": session, "time": time, "text": text}).to_string() + "\n"
        })
        .collect();
    let file = world.test.folder("turns").join(name);
    std::fs::write(&file, lines).unwrap();
    world.says(0, &["import", file.to_str().unwrap()]);
}

fn ago(days: i64) -> jiff::Timestamp {
    jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days)
}

fn on(moment: jiff::Timestamp) -> String {
    moment.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

#[test]
fn a_session_that_goes_on_stands_on_each_day_it_came_to_rest() {
    let world = World::new();
    let (first, second, third) = (ago(3), ago(2), ago(1));
    import(&world, "one", &[("s", &first.to_string(), "Repair the roof of the shed")]);
    assert!(said(&world, &on(first)).contains("Repair the roof of the shed · 1 turn"), "{}", said(&world, &on(first)));
    import(&world, "two", &[("s", &second.to_string(), "We go on")]);
    assert!(said(&world, &on(second)).contains(" · 1 turn"), "{}", said(&world, &on(second)));
    assert_eq!(said(&world, &on(first)).matches(" · 1 turn").count(), 1, "what it came to then is still so");
    // Text a person wrote below the block stays.
    let mine = std::fs::read_to_string(note(&world, &on(second))).unwrap() + "\nMy own words of the day.\n";
    std::fs::write(note(&world, &on(second)), mine).unwrap();
    rest(&note(&world, &on(second)));
    import(&world, "three", &[("s", &third.to_string(), "And on")]);
    let before = std::fs::read_to_string(note(&world, &on(second))).unwrap();
    assert!(!before.contains("And on") && before.ends_with("\nMy own words of the day.\n"), "{before}");
    assert!(said(&world, &on(third)).contains(" · 1 turn"), "{}", said(&world, &on(third)));
}

#[test]
fn another_time_zone_has_other_days() {
    let world = World::new();
    world.says(0, &["profile", "set", "timezone", "UTC"]);
    let day: jiff::civil::Date = on(ago(5)).parse().unwrap();
    // At this moment it is already the next day in Kiritimati, and half past eight in the evening of the same day in
    // St. John's.
    let moment = format!("{day}T23:59:30Z");
    import(&world, "one", &[("late", &moment, "Late words")]);
    assert!(said(&world, &day.to_string()).starts_with("- 23:59 Session: Late words"));
    world.says(0, &["profile", "set", "timezone", "Pacific/Kiritimati"]);
    let next = day.tomorrow().unwrap().to_string();
    assert!(said(&world, &next).starts_with("- 13:59 Session: Late words"), "{}", said(&world, &next));
    assert_eq!(said(&world, &day.to_string()), "", "and nowhere else");
    world.says(0, &["profile", "unset", "timezone"]);
    world.says(0, &["profile", "set", "timezone", "America/St_Johns"]);
    assert!(said(&world, &day.to_string()).contains("Late words"));
    assert_eq!(said(&world, &next), "");
    // A scheduled run also belongs to the operator's day.
    world.says(0, &["job", "run", "nightly", "--", "true"]);
    world.says(0, &["profile", "set", "timezone", "Pacific/Kiritimati"]);
    let there = jiff::Timestamp::now().in_tz("Pacific/Kiritimati").unwrap().date().to_string();
    assert!(said(&world, &there).contains("Job nightly done"), "{}", said(&world, &there));
}

/// In the night of a clock change every moment belongs to exactly one day.
#[test]
fn days_of_23_and_25_hours_have_no_seam() {
    for (now, moments) in [
        // Clocks go forward on 2026-03-08 in St. John's (UTC-3:30, then -2:30).
        (
            "2026-03-09T12:00:00Z",
            [
                ("2026-03-08T03:29:59Z", "07"),
                ("2026-03-08T03:30:00Z", "08"),
                ("2026-03-09T02:29:59Z", "08"),
                ("2026-03-09T02:30:00Z", "09"),
            ],
        ),
        // Clocks go back on 2026-11-01.
        (
            "2026-11-02T12:00:00Z",
            [
                ("2026-11-01T02:29:59Z", "31"),
                ("2026-11-01T02:30:00Z", "01"),
                ("2026-11-02T03:29:59Z", "01"),
                ("2026-11-02T03:30:00Z", "02"),
            ],
        ),
    ] {
        let world = World::new();
        let now: jiff::Timestamp = now.parse().unwrap();
        let at = |args: &[&str]| {
            let mut command = world.test.command(crate::world::HEIRLOOM);
            command.args(args).env("HEIRLOOM_NOW", now.as_millisecond().to_string());
            let out = heirloom_testkit::run(command, b"");
            assert_eq!(out.status, Some(0), "{out:?}");
        };
        at(&["profile", "set", "timezone", "America/St_Johns"]);
        let file = world.test.folder("turns").join("t");
        let lines: String = moments
            .iter()
            .map(|(m, _)| serde_json::json!({"session": m, "time": m, "text": format!("At {m}")}).to_string() + "\n")
            .collect();
        std::fs::write(&file, lines).unwrap();
        at(&["import", file.to_str().unwrap()]);
        for (moment, day) in moments {
            let notes = world.test.home().join("workspaces/main/continuity/daily");
            let mut command = std::process::Command::new("grep");
            let found = command.args(["-rl", &format!("At {moment}")]).arg(notes).output().unwrap();
            let found = String::from_utf8(found.stdout).unwrap();
            assert_eq!(found.lines().count(), 1, "{moment}: {found}");
            assert!(found.trim_end().ends_with(&format!("-{day}.md")), "{moment}: {found}");
        }
    }
}

#[test]
fn a_day_with_too_much_in_it_stays_a_page() {
    let world = World::new();
    let day = on(ago(2));
    let names: Vec<String> = (0..500).map(|n| format!("s{n:03}")).collect();
    let times: Vec<String> = (0..500).map(|n| format!("{day}T{:02}:{:02}:00Z", n / 60, n % 60)).collect();
    let turns: Vec<(&str, &str, &str)> =
        names.iter().zip(&times).map(|(n, t)| (n.as_str(), t.as_str(), "Some words")).collect();
    import(&world, "many", &turns);
    let text = said(&world, &day);
    assert_eq!(text.lines().count(), 101, "{text}");
    assert!(text.ends_with("- … and 400 sessions more: `heirloom timeline`\n"), "{text}");
}

/// A failure that is old by now leaves the page with the first act on another day.
#[test]
fn a_failure_of_last_week_leaves_the_page_with_the_day() {
    let world = World::new();
    world.says(1, &["job", "run", "backup", "--", "false"]);
    let active = || std::fs::read_to_string(world.test.home().join("workspaces/main/continuity/ACTIVE.md")).unwrap();
    assert!(active().contains("Job backup failed"));
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * 9);
    let mut command = world.test.command(crate::world::HEIRLOOM);
    command.args(["profile", "set", "name", "Ada"]).env("HEIRLOOM_NOW", later.as_millisecond().to_string());
    assert_eq!(heirloom_testkit::run(command, b"").status, Some(0));
    assert!(!active().contains("Job backup failed"), "{}", active());
}

/// Sets a file's time back, so that it does not count as being edited.
fn rest(path: &std::path::Path) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
}

#[test]
fn every_time_people_read_is_that_of_their_zone() {
    let world = World::new();
    world.says(0, &["profile", "set", "timezone", "Pacific/Kiritimati"]);
    // In Kiritimati it is already half past one in the afternoon of the next day.
    import(&world, "one", &[("late", "2025-05-03T23:30:00Z", "The okapi came late to the pond")]);
    assert!(world.says(0, &["search", "okapi"]).contains("4 May 2025"));
    assert!(world.says(0, &["timeline"]).contains("13:30"));
    let found = |since: &str, until: &str| {
        let found = world.json(&["search", "okapi", "--since", since, "--until", until]);
        found["hits"].as_array().unwrap().len()
    };
    assert_eq!((found("2025-05-04", "2025-05-04"), found("2025-05-03", "2025-05-03")), (1, 0));
    // In JSON a moment is the same in every zone.
    assert_eq!(world.json(&["search", "okapi"])["hits"][0]["at"], "2025-05-03T23:30:00.000Z");
    assert!(world.says(0, &["recall", "the okapi at the pond"]).contains("4 May 2025"));
    // The session that has the turn in its context is not given it; another session is.
    let key = world.sessions().remove(0);
    world.says(0, &["session", "end", &key]);
    world.says(0, &["work", "--drain"]);
    let thread = world.json(&["thread", "list"])["threads"][0]["thread"].as_str().unwrap().to_owned();
    let asked =
        ["context", "--session", "turns:new", "--thread", &thread, "--prompt", "when did the okapi come to the pond?"];
    let given = world.says(0, &asked);
    assert!(given.contains("2025-05-04 13:30"), "{given}");
    let note = world.test.user().join("note.md");
    std::fs::write(&note, "# A note\n").unwrap();
    world.says(0, &["artifact", "add", "A note", "--file", note.to_str().unwrap()]);
    let page = std::fs::read_to_string(world.test.home().join("workspaces/main/continuity/ACTIVE.md")).unwrap();
    let there = jiff::Timestamp::now().in_tz("Pacific/Kiritimati").unwrap().date().to_string();
    let line = page.lines().find(|l| l.contains("[A note]")).unwrap_or_else(|| panic!("{page}"));
    assert!(line.contains(&format!(" · {there} · ")), "{line}");
    // Without a time zone in the profile, the machine's is used.
    world.says(0, &["profile", "unset", "timezone"]);
    assert!(world.says(0, &["search", "okapi"]).contains("3 May 2025"));
}
