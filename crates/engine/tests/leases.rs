//! Heads with several writers: acquired, committed to, released; nothing is lost between them, and nothing older
//! replaces anything newer (R7.4).

use std::sync::atomic::{AtomicBool, Ordering};

use heirloom_engine::clock::Clock;
use heirloom_engine::error::ErrorKind;
use heirloom_engine::forget::{self, Request, Wish};
use heirloom_engine::home::RelPath;
use heirloom_engine::ledger::Audit;
use heirloom_engine::pages::{self, PageKey, shared};
use heirloom_engine::render::head_commits::{self, Acquired, Change, Committed, Granted, NotNow};
use heirloom_engine::render::{self, Occasion, revisions};
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::transcript::read::ensure_agent;
use heirloom_engine::tree::{AssistantHome, revise};

use crate::tree::{self, Tree, rest};

const MEMORY: &str = "MEMORY.md";

fn take(at: &AssistantHome, head: &PageKey, owner: &str) -> Granted {
    match head_commits::acquire(at, head, owner, 10_000).unwrap() {
        Acquired::Granted(grant) => grant,
        Acquired::Held(busy) => panic!("{owner} finds {busy:?}"),
    }
}

fn held(at: &AssistantHome, head: &PageKey, owner: &str) -> Option<String> {
    match head_commits::acquire(at, head, owner, 10_000).unwrap() {
        Acquired::Granted(_) => None,
        Acquired::Held(busy) => Some(busy.by),
    }
}

fn put(
    at: &AssistantHome,
    head: &PageKey,
    (section, owner): (&str, &str),
    content: &str,
    grant: &Granted,
) -> Committed {
    let change = Change { section, owner, content };
    head_commits::commit(at, head, &change, grant.epoch, grant.base_revision).unwrap()
}

fn stands(committed: Committed) -> i64 {
    match committed {
        Committed::Stands { revision, published: true } => revision,
        other => panic!("{other:?}"),
    }
}

fn refused(committed: Committed) -> NotNow {
    match committed {
        Committed::Refused(not_now) => not_now,
        other => panic!("{other:?}"),
    }
}

/// Acquires the head, commits, releases it.
fn write(at: &AssistantHome, head: &PageKey, (section, owner): (&str, &str), content: &str) -> i64 {
    let grant = take(at, head, owner);
    let revision = stands(put(at, head, (section, owner), content, &grant));
    assert!(head_commits::release(at, head, owner, grant.epoch).unwrap());
    revision
}

fn section(at: &AssistantHome, head: &PageKey, name: &str) -> Option<String> {
    let sections = at.read(|tx| shared::sections(tx, at.agent_no, head)).unwrap();
    sections.get(name).map(|s| s.content.clone())
}

/// Makes a thread with a head, as joining a thread does.
fn thread(tree: &Tree, agent_no: AgentNo, key: &str) -> PageKey {
    let file = key.replace('/', "-");
    tree.sql()
        .execute(
            "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (?1, ?2, ?3, ?2, 'active', 0)",
            rusqlite::params![agent_no, key, file],
        )
        .unwrap();
    PageKey::Thread(file)
}

fn kept(tree: &Tree, path: &str) -> Vec<String> {
    let all = tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some(path), 99)).unwrap();
    all.into_iter().map(|r| String::from_utf8_lossy(&r.bytes).into_owned()).collect()
}

/// Checks that every revision of a head follows the one before it.
fn is_unbroken(tree: &Tree, head: &PageKey) {
    let (log, all) = revisions::log(&tree.at(), head, 10_000).unwrap();
    let numbers: Vec<i64> = log.iter().rev().map(|e| e.revision).collect();
    assert_eq!(numbers, (1..=all as i64).collect::<Vec<_>>());
}

#[test]
fn a_section_stands_behind_the_block_and_nobody_else_touches_it() {
    let tree = Tree::new();
    tree.hand(MEMORY, "Mine, above.\n\nMine, below without an end");
    tree.add("Water the plants");
    tree.refresh();
    let before = tree.text(MEMORY);
    let at = tree.at();
    let first = write(&at, &PageKey::Memory, ("plan", "ci"), "1. ship it\n2. rest");
    let text = tree.text(MEMORY);
    let block_end = text.find("<!-- /heirloom:head -->\n").unwrap() + "<!-- /heirloom:head -->\n".len();
    assert!(text[block_end..].starts_with("<!-- heirloom:sections "), "{text}");
    assert!(text.contains("### plan · ci\n1. ship it\n2. rest\n"), "{text}");
    assert!(text.starts_with(&before[..40]), "{text}");

    // Sections stay when the page is rendered again, when a person writes around them, and when another program
    // commits.
    std::fs::write(tree.path(MEMORY), format!("{text}My last word.")).unwrap();
    rest(&tree.path(MEMORY));
    tree.add("Feed the cat");
    tree.refresh();
    let second = write(&at, &PageKey::Memory, ("notes", "codex"), "remember the milk");
    assert!(second > first);
    let text = tree.text(MEMORY);
    assert!(text.contains("1. ship it\n2. rest\n") && text.contains("remember the milk"), "{text}");
    assert!(text.contains("Feed the cat") && text.ends_with("My last word."), "{text}");

    // The owner replaces its section; an empty commit removes it, and the region disappears with the last section.
    write(&at, &PageKey::Memory, ("plan", "ci"), "done");
    assert!(!tree.text(MEMORY).contains("ship it"));
    for (name, owner) in [("plan", "ci"), ("notes", "codex")] {
        write(&at, &PageKey::Memory, (name, owner), "");
    }
    assert!(!tree.text(MEMORY).contains("heirloom:sections"), "{}", tree.text(MEMORY));
    assert!(tree.text(MEMORY).ends_with("My last word."));
    is_unbroken(&tree, &PageKey::Memory);
    assert_eq!(kept(&tree, MEMORY), [""; 0], "nobody's words had to be kept aside");
}

#[test]
fn a_commit_that_says_nothing_new_makes_no_revision_and_neither_does_a_render() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.refresh();
    let at = tree.at();
    let revision = write(&at, &PageKey::Memory, ("plan", "ci"), "ship it");
    assert_eq!(write(&at, &PageKey::Memory, ("plan", "ci"), "ship it\n"), revision);
    render::mark_all(&at).unwrap();
    tree.refresh();
    let state = at.read(|tx| shared::state(tx, at.agent_no, &PageKey::Memory)).unwrap();
    assert_eq!((state.revision, state.lease), (revision, None));
}

#[test]
fn what_cannot_be_a_section_is_refused_and_changes_nothing() {
    let tree = Tree::new();
    let at = tree.at();
    let grant = take(&at, &PageKey::Memory, "ci");
    let kind = |section: &str, owner: &str, content: &str| {
        let change = Change { section, owner, content };
        head_commits::commit(&at, &PageKey::Memory, &change, grant.epoch, grant.base_revision).unwrap_err().kind()
    };
    for name in ["", "Plan", "a b", "../x", "é", &"a".repeat(41)] {
        assert_eq!(kind(name, "ci", "x"), ErrorKind::Usage, "{name}");
    }
    for owner in ["", "a b", "heirloom", "a\nb", &"a".repeat(65), "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"] {
        assert_eq!(kind("plan", owner, "x"), ErrorKind::Usage, "{owner}");
    }
    for content in
        ["<!-- heirloom:head -->", "a\n  <!-- /heirloom:sections -->", "\u{1b}[2J", "\u{202e}", &"x".repeat(4_097)]
    {
        assert_eq!(kind("plan", "ci", content), ErrorKind::Usage, "{content}");
    }
    let daily = PageKey::parse("daily/2026-11-20").unwrap();
    assert_eq!(head_commits::acquire(&at, &daily, "ci", 1_000).unwrap_err().kind(), ErrorKind::Usage);
    for ttl in [0, -1, 60_001] {
        assert_eq!(head_commits::acquire(&at, &PageKey::Memory, "ci", ttl).unwrap_err().kind(), ErrorKind::Usage);
    }
    // None of these refusals ended the lease. A credential in the text is redacted; an open fence is closed.
    let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    stands(put(&at, &PageKey::Memory, ("plan", "ci"), &format!("use {token}\n```\nopen"), &grant));
    let text = section(&at, &PageKey::Memory, "plan").unwrap();
    assert!(text.starts_with("use [redacted:") && !tree.text(MEMORY).contains(token), "{text}");
    assert!(tree.text(MEMORY).contains("open\n```\n<!-- /heirloom:sections -->"), "{}", tree.text(MEMORY));
}

#[test]
fn a_section_belongs_to_who_made_it_and_a_head_has_room_for_eight() {
    let tree = Tree::new();
    let at = tree.at();
    for n in 0..8 {
        write(&at, &PageKey::Active, (&format!("s{n}"), "ci"), "x");
    }
    let grant = take(&at, &PageKey::Active, "bob");
    let try_it = |section: &str, content: &str| {
        let change = Change { section, owner: "bob", content };
        head_commits::commit(&at, &PageKey::Active, &change, grant.epoch, grant.base_revision).unwrap_err()
    };
    for content in ["mine now", ""] {
        let error = try_it("s3", content);
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("belongs to ci"), "{error}");
    }
    let full = try_it("ninth", "x");
    assert_eq!(full.kind(), ErrorKind::Refused);
    assert!(full.to_string().contains("8 sections"), "{full}");
    head_commits::release(&at, &PageKey::Active, "bob", grant.epoch).unwrap();
    write(&at, &PageKey::Active, ("s0", "ci"), "");
    write(&at, &PageKey::Active, ("ninth", "bob"), "x");
}

#[test]
fn a_paused_holder_is_fenced_and_its_words_land_on_what_stands() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.refresh();
    let head = thread(&tree, tree.agent_no, "topic/a");
    // Three processes on the same home, with clocks of their own.
    let start = 1_000_000;
    let at_time = |ms: i64| tree::open_at(tree.home.root(), Clock::Fixed(start + ms));
    let (slow_home, slow_ledger) = at_time(0);
    let slow = tree::at(&slow_home, &slow_ledger, tree.agent_no);
    let paused = take(&slow, &head, "slow");
    let (early_home, early_ledger) = at_time(9_999);
    let early = tree::at(&early_home, &early_ledger, tree.agent_no);
    assert_eq!(held(&early, &head, "quick").as_deref(), Some("slow"));
    let (home, ledger) = at_time(10_000);
    let quick = tree::at(&home, &ledger, tree.agent_no);
    let grant = take(&quick, &head, "quick");
    assert_eq!(grant.epoch, paused.epoch + 1);

    // The slow process wakes up while another holds the head: its commit is refused, with the holder's name, and
    // deferred.
    let not_now = refused(put(&quick, &head, ("slow", "slow"), "from before", &paused));
    assert!(not_now.deferred, "{not_now:?}");
    assert_eq!(not_now.holder.map(|b| b.by).as_deref(), Some("quick"));
    let revision = stands(put(&quick, &head, ("quick", "quick"), "while it slept", &grant));
    assert_eq!(section(&quick, &head, "slow"), None);
    assert!(head_commits::release(&quick, &head, "quick", grant.epoch).unwrap());

    // After the release both sections are there, in the ledger and in the file.
    assert_eq!(section(&quick, &head, "slow").as_deref(), Some("from before"));
    let text = tree.text(head.path().unwrap().as_str());
    assert!(text.contains("while it slept") && text.contains("from before"), "{text}");
    let state = quick.read(|tx| shared::state(tx, tree.agent_no, &head)).unwrap();
    assert_eq!(state.revision, revision + 1);
    is_unbroken(&tree, &head);

    // Nobody holds the head any more, and the old lease is still invalid: its owner's section was written since.
    let again = refused(put(&quick, &head, ("slow", "slow"), "even older", &paused));
    assert!(!again.deferred && again.holder.is_none() && again.epoch > paused.epoch, "{again:?}");
    assert!(!head_commits::release(&quick, &head, "slow", paused.epoch).unwrap());
    render::refresh(&quick, Occasion::Act).unwrap();
    assert_eq!(section(&quick, &head, "slow").as_deref(), Some("from before"));
}

#[test]
fn an_owner_who_comes_back_finds_its_deferred_words_and_replaces_them() {
    let tree = Tree::new();
    let at = tree.at();
    let old = take(&at, &PageKey::Memory, "ci");
    assert!(head_commits::release(&at, &PageKey::Memory, "ci", old.epoch).unwrap());
    let other = take(&at, &PageKey::Memory, "bob");
    assert!(refused(put(&at, &PageKey::Memory, ("plan", "ci"), "one", &old)).deferred);
    assert!(head_commits::release(&at, &PageKey::Memory, "bob", other.epoch).unwrap());
    // The deferred commit was applied with the release, so the next holder reads it.
    let mine = take(&at, &PageKey::Memory, "ci");
    assert_eq!(mine.sections["plan"].content, "one");
    // A second process of the same owner makes this lease invalid; its commit, which misses the newer words, is not
    // applied.
    let newer = take(&at, &PageKey::Memory, "ci");
    stands(put(&at, &PageKey::Memory, ("plan", "ci"), "one, two", &newer));
    let stale = refused(put(&at, &PageKey::Memory, ("plan", "ci"), "one, three", &mine));
    assert!(!stale.deferred && stale.why.contains("acquire again"), "{stale:?}");
    assert!(head_commits::release(&at, &PageKey::Memory, "ci", newer.epoch).unwrap());
    assert_eq!(section(&at, &PageKey::Memory, "plan").as_deref(), Some("one, two"));
}

/// Words that wait for the head are older than what their owner commits to the section afterwards: they do not come back.
#[test]
fn deferred_words_do_not_replace_what_their_owner_committed_since() {
    let tree = Tree::new();
    let at = tree.at();
    let (old, newer) = (take(&at, &PageKey::Memory, "ci"), take(&at, &PageKey::Memory, "ci"));
    assert!(refused(put(&at, &PageKey::Memory, ("plan", "ci"), "one", &old)).deferred);
    stands(put(&at, &PageKey::Memory, ("plan", "ci"), "one, two", &newer));
    // The release of the older grant ends nothing: the newer one is in force.
    assert!(!head_commits::release(&at, &PageKey::Memory, "ci", old.epoch).unwrap());
    assert_eq!(held(&at, &PageKey::Memory, "bob").as_deref(), Some("ci"));
    assert!(head_commits::release(&at, &PageKey::Memory, "ci", newer.epoch).unwrap());
    assert_eq!(section(&at, &PageKey::Memory, "plan").as_deref(), Some("one, two"));
}

#[test]
fn a_lease_of_another_boot_has_run_out() {
    let tree = Tree::new();
    let at = tree.at();
    let grant = take(&at, &PageKey::Memory, "ci");
    assert_eq!(held(&at, &PageKey::Memory, "bob").as_deref(), Some("ci"));
    tree.sql().execute("UPDATE heads SET lease_boot = 'before' WHERE head = 'memory'", []).unwrap();
    let not_now = refused(put(&at, &PageKey::Memory, ("plan", "ci"), "x", &grant));
    assert!(not_now.deferred && not_now.holder.is_none(), "{not_now:?}");
    // Acquiring the head applies the deferred commit first.
    let next = take(&at, &PageKey::Memory, "bob");
    assert_eq!(next.sections["plan"].content, "x");
    assert!(next.epoch > grant.epoch && next.base_revision > grant.base_revision);
}

/// The boot clock may be that of another machine, as in a copied home: a lease is never longer than the maximum.
#[test]
fn a_lease_longer_than_any_has_run_out() {
    let tree = Tree::new();
    let at = tree.at();
    take(&at, &PageKey::Memory, "ci");
    assert_eq!(held(&at, &PageKey::Memory, "bob").as_deref(), Some("ci"));
    tree.sql().execute("UPDATE heads SET lease_until = lease_until + 86400000 WHERE head = 'memory'", []).unwrap();
    assert_eq!(held(&at, &PageKey::Memory, "bob"), None);
    take(&at, &PageKey::Memory, "bob");
}

#[test]
fn the_boot_clock_runs_and_has_a_name() {
    let one = Clock::System.boot();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let two = Clock::System.boot();
    assert!(one.id == two.id && !one.id.is_empty() && two.ms >= one.ms + 5, "{one:?} {two:?}");
    let fixed = Clock::Fixed(77).boot();
    assert_eq!((fixed.id.as_str(), fixed.ms), ("fixed", 77));
}

#[test]
fn of_what_was_deferred_the_newest_lands_once_after_a_restart_too() {
    let tree = Tree::new();
    tree.refresh();
    let head = PageKey::Threads;
    {
        let (home, ledger) = tree.other();
        let at = tree::at(&home, &ledger, tree.agent_no);
        let mine = take(&at, &head, "ci");
        assert!(head_commits::release(&at, &head, "ci", mine.epoch).unwrap());
        take(&at, &head, "bob");
        for n in 0..20 {
            assert!(refused(put(&at, &head, ("plan", "ci"), &format!("synthesis {n}"), &mine)).deferred);
        }
        // Deferred commits are not applied while the head is held, and are not forgotten.
        render::refresh(&at, Occasion::Act).unwrap();
        assert_eq!(section(&at, &head, "plan"), None);
        assert!(!render::is_dirty(&at).unwrap(), "there is nothing to do before the lease has run out");
    }
    // Bob's process died with its lease, and all others did as well.
    tree.sql().execute("UPDATE heads SET lease_until = 0 WHERE head = 'threads'", []).unwrap();
    let (home, ledger) = tree.other();
    let at = tree::at(&home, &ledger, tree.agent_no);
    let before = at.read(|tx| shared::state(tx, at.agent_no, &head)).unwrap().revision;
    assert!(render::is_dirty(&at).unwrap());
    render::refresh(&at, Occasion::Look).unwrap();
    assert_eq!(section(&at, &head, "plan").as_deref(), Some("synthesis 19"));
    let after = at.read(|tx| shared::state(tx, at.agent_no, &head)).unwrap().revision;
    assert_eq!((after, tree.count("SELECT count(*) FROM head_deferred")), (before + 1, 0));
    assert!(!render::is_dirty(&at).unwrap());
    assert!(tree.text(head.path().unwrap().as_str()).contains("synthesis 19"));
}

#[test]
fn a_busy_head_is_rendered_later_and_never_taken_for_done() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.refresh();
    let at = tree.at();
    let grant = take(&at, &PageKey::Memory, "ci");
    tree.add("Feed the cat");
    let refreshed = tree.refresh();
    assert!(refreshed.failed.is_empty() && refreshed.deferred.iter().any(|p| p.as_str() == MEMORY), "{refreshed:?}");
    assert!(!tree.text(MEMORY).contains("cat") && tree.text("continuity/ACTIVE.md").contains("cat"));
    assert!(render::is_dirty(&at).unwrap());
    // The holder does not lose the head because of that, and its commit is published meanwhile.
    stands(put(&at, &PageKey::Memory, ("plan", "ci"), "in the middle", &grant));
    assert!(tree.text(MEMORY).contains("in the middle") && !tree.text(MEMORY).contains("cat"));
    assert!(head_commits::release(&at, &PageKey::Memory, "ci", grant.epoch).unwrap());
    tree.refresh();
    let text = tree.text(MEMORY);
    assert!(text.contains("in the middle") && text.contains("Feed the cat"), "{text}");
    assert!(!render::is_dirty(&at).unwrap());
    is_unbroken(&tree, &PageKey::Memory);
}

#[test]
fn a_publisher_who_comes_late_brings_the_newest_revision() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.refresh();
    let at = tree.at();
    let grant = take(&at, &PageKey::Memory, "ci");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Another process holds the tree lock: both processes commit, neither can publish yet.
        let lock = at.lock().unwrap();
        let commit = |n: i64| {
            let root = tree.home.root().to_owned();
            let (agent_no, grant) = (tree.agent_no, grant.clone());
            scope.spawn(move || {
                let (home, ledger) = tree::open(&root);
                let at = tree::at(&home, &ledger, agent_no);
                let change = Change { section: "plan", owner: "ci", content: &format!("mark {n}") };
                head_commits::commit(&at, &PageKey::Memory, &change, grant.epoch, grant.base_revision + n).unwrap()
            })
        };
        let wait_for = |revision: i64| {
            for _ in 0..1_000 {
                if at.read(|tx| shared::state(tx, at.agent_no, &PageKey::Memory)).unwrap().revision == revision {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            panic!("revision {revision} never came");
        };
        let first = commit(0);
        wait_for(grant.base_revision + 1);
        let second = commit(1);
        wait_for(grant.base_revision + 2);
        assert!(!tree.text(MEMORY).contains("mark"), "nobody could publish");
        let path = tree.path(MEMORY);
        let stop = &stop;
        let reader = scope.spawn(move || {
            let (mut newest, mut reads) = (-1, 0);
            while !stop.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap();
                let mark = (0..2).find(|n| text.contains(&format!("mark {n}"))).unwrap_or(-1);
                assert!(mark >= newest && text.contains("/heirloom:head"), "{mark} after {newest}: {text}");
                (newest, reads) = (mark, reads + 1);
            }
            (newest, reads)
        });
        drop(lock);
        for done in [first, second] {
            stands(done.join().unwrap());
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().unwrap().0.max(1), 1);
    });
    assert!(tree.text(MEMORY).contains("mark 1") && !tree.text(MEMORY).contains("mark 0"));
}

#[test]
fn a_file_left_behind_by_a_crash_is_brought_up_by_the_next_refresh() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.refresh();
    let at = tree.at();
    let old = std::fs::read(tree.path(MEMORY)).unwrap();
    let published: i64 = tree.count("SELECT published FROM heads WHERE head = 'memory'");
    write(&at, &PageKey::Memory, ("plan", "ci"), "committed");
    // The state after a kill between the commit and the file.
    std::fs::write(tree.path(MEMORY), old).unwrap();
    rest(&tree.path(MEMORY));
    tree.sql().execute("UPDATE heads SET published = ?1 WHERE head = 'memory'", [published]).unwrap();
    assert!(render::is_dirty(&at).unwrap());
    let refreshed = render::refresh(&at, Occasion::Look).unwrap();
    assert_eq!(refreshed.written.len(), 1, "{refreshed:?}");
    assert!(tree.text(MEMORY).contains("committed"));
    assert!(!render::is_dirty(&at).unwrap());
}

#[test]
fn what_a_person_changed_among_the_sections_is_kept_and_the_section_stands_again() {
    let tree = Tree::new();
    let at = tree.at();
    write(&at, &PageKey::Memory, ("plan", "ci"), "ship it");
    let edited = tree.text(MEMORY).replace("ship it", "never ship it");
    std::fs::write(tree.path(MEMORY), &edited).unwrap();
    rest(&tree.path(MEMORY));
    render::mark_all(&at).unwrap();
    tree.refresh();
    assert!(kept(&tree, MEMORY).contains(&edited));
    assert!(tree.text(MEMORY).contains("\nship it\n"), "{}", tree.text(MEMORY));
    // With two pairs of markers the first counts, and people are told.
    let doubled = format!("{0}\n<!-- heirloom:sections -->\nx\n<!-- /heirloom:sections -->\n", tree.text(MEMORY));
    std::fs::write(tree.path(MEMORY), doubled).unwrap();
    let faults = render::marker_faults(&at).unwrap();
    assert!(faults.iter().any(|f| f.what.contains("second rendered block")), "{faults:?}");
}

#[test]
fn revisions_are_listed_compared_and_their_sections_brought_back() {
    let tree = Tree::new();
    let at = tree.at();
    tree.refresh();
    let head = thread(&tree, tree.agent_no, "topic/a");
    let one = write(&at, &head, ("plan", "ci"), "a\nb\nc");
    write(&at, &head, ("plan", "ci"), "a\nB\nc");
    let three = write(&at, &head, ("extra", "bob"), "more");
    let (log, all) = revisions::log(&at, &head, 2).unwrap();
    assert_eq!((log.len(), all >= 3), (2, true));
    assert_eq!(
        (log[0].revision, log[0].owner.as_str(), &*log[0].sections),
        (three, "bob", &["extra".to_owned(), "plan".into()][..])
    );
    let text = |n| revisions::revision(&at, &head, n).unwrap().text();
    let changed: Vec<String> = revisions::diff(&text(one), &text(three))
        .into_iter()
        .filter(|(kind, _)| *kind != revisions::Line::Same)
        .map(|(kind, line)| format!("{}{line}", if kind == revisions::Line::Added { "+" } else { "-" }))
        .collect();
    assert!(changed.contains(&"-b".to_owned()) && changed.contains(&"+B".into()), "{changed:?}");
    assert!(changed.contains(&"+more".into()) && !changed.iter().any(|l| l.ends_with('c')), "{changed:?}");

    let restored = revisions::restore(&at, &head, one).unwrap();
    assert_eq!(restored, three + 1);
    assert_eq!((section(&at, &head, "plan").as_deref(), section(&at, &head, "extra")), (Some("a\nb\nc"), None));
    let file = tree.text(head.path().unwrap().as_str());
    assert!(file.contains("a\nb\nc") && !file.contains("more"), "{file}");
    assert_eq!(revisions::restore(&at, &head, one).unwrap(), restored, "restored already");
    for n in [0, -1, restored + 1] {
        assert_eq!(revisions::restore(&at, &head, n).unwrap_err().kind(), ErrorKind::NotFound, "{n}");
    }
    take(&at, &head, "ci");
    assert_eq!(revisions::restore(&at, &head, three).unwrap_err().kind(), ErrorKind::Busy);
    is_unbroken(&tree, &head);
    let listed = revisions::list(&at).unwrap();
    let names: Vec<&str> = listed.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["memory", "active", "threads", "topic/a"]);
    assert_eq!(listed[3].holder.as_ref().map(|b| b.by.as_str()), Some("ci"));
}

#[test]
fn the_oldest_revisions_are_let_go() {
    let tree = Tree::new();
    let at = tree.at();
    let head = thread(&tree, tree.agent_no, "topic/a");
    for n in 0..3 {
        write(&at, &head, ("plan", "ci"), &format!("{n}"));
    }
    tree.sql().execute("UPDATE heads SET revision = 1002, published = 1002 WHERE head LIKE 'thread/%'", []).unwrap();
    write(&at, &head, ("plan", "ci"), "newest");
    let oldest = tree.count("SELECT min(revision) FROM head_revisions WHERE head LIKE 'thread/%'");
    assert!(oldest > 3, "{oldest}");
    assert_eq!(revisions::revision(&at, &head, 2).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_forget_takes_rendered_words_out_of_every_revision_and_leaves_the_sections() {
    let tree = Tree::new();
    let at = tree.at();
    tree.add("Water the zinnias");
    tree.refresh();
    write(&at, &PageKey::Memory, ("plan", "ci"), "ship it");
    let (log, _) = revisions::log(&at, &PageKey::Memory, 99).unwrap();
    let says = |n: i64| revisions::revision(&at, &PageKey::Memory, n).unwrap();
    assert!(log.iter().any(|e| says(e.revision).rendered.contains("zinnias")));
    let leaf = heirloom_engine::memory::NewLeaf::new(
        heirloom_engine::memory::Class::Preference,
        heirloom_engine::memory::Scope::Agent,
        "zinnias before roses",
    );
    let id = heirloom_engine::memory::add(&at.lock().unwrap(), &leaf).unwrap().id;
    tree.refresh();
    let entry = at
        .read(|tx| heirloom_engine::tree::file_table::item(tx, at.agent_no, &id))
        .unwrap()
        .unwrap_or_else(|| panic!("no {id}"));
    heirloom_engine::forget::leaves(&at.lock().unwrap(), &[entry]).unwrap();
    tree.refresh();
    let (log, _) = revisions::log(&at, &PageKey::Memory, 99).unwrap();
    assert!(log.iter().skip(1).all(|e| e.forgotten && says(e.revision).rendered.is_empty()), "{log:?}");
    let newest = says(log[0].revision);
    assert!(newest.rendered.contains("Water the zinnias") && !newest.rendered.contains("before roses"), "{newest:?}");
    assert_eq!(newest.sections["plan"].content, "ship it");
    assert!(says(log[1].revision).sections.contains_key("plan"));
}

/// A forget does not wait for writers: who took a head before it cannot commit what they read then.
#[test]
fn a_forget_ends_every_lease() {
    let tree = Tree::new();
    let at = tree.at();
    let grant = take(&at, &PageKey::Memory, "ci");
    let wish = Wish::Match { text: "zinnias".into(), ignore_case: false, since: None, until: None };
    let plan = forget::plan(&at, &Request { wish, global_ids: &|_| false }, &mut |_| {}).unwrap();
    forget::carry_out(&at.lock().unwrap(), &plan).unwrap();
    let not_now = refused(put(&at, &PageKey::Memory, ("plan", "ci"), "water them", &grant));
    assert!(not_now.holder.is_none() && not_now.epoch > grant.epoch, "{not_now:?}");
    assert!(!head_commits::release(&at, &PageKey::Memory, "ci", grant.epoch).unwrap());
}

#[test]
fn verify_names_revisions_that_are_not_what_was_committed() {
    let broken = |breaking: &str| {
        let tree = Tree::new();
        let at = tree.at();
        for n in 0..3 {
            write(&at, &PageKey::Memory, ("plan", "ci"), &format!("{n}"));
        }
        let sound = |tree: &Tree| tree.ledger.read(pages::revisions::unsound).unwrap();
        assert_eq!(sound(&tree), [""; 0]);
        tree.sql().execute_batch(breaking).unwrap();
        sound(&tree).join("; ")
    };
    let found = broken("UPDATE head_revisions SET sections = replace(sections, 'plan', 'plot') WHERE revision = 2");
    assert!(found.contains("revision 2 of memory is not what was committed"), "{found}");
    let found = broken("UPDATE head_revisions SET content = x'28b52ffd' WHERE revision = 1");
    assert!(found.contains("revision 1 of memory is not what was committed"), "{found}");
    let found = broken("DELETE FROM head_revisions WHERE revision = 2");
    assert_eq!(found, "revision 3 of memory does not follow the revision before it");
    let found = broken("UPDATE head_sections SET content = 'x'");
    assert!(found.ends_with("has other sections than the head"), "{found}");
    let found = broken("UPDATE heads SET revision = 1 WHERE head = 'memory'");
    assert!(found.contains("is newer than the head"), "{found}");
}

#[test]
fn agents_have_heads_of_their_own() {
    let tree = Tree::new();
    let at = tree.at();
    let ada = AgentId::parse("ada").unwrap();
    let ada_no = tree.ledger.write(Audit::new("test", "agent.add"), |tx| ensure_agent(tx, &ada)).unwrap();
    let theirs =
        AssistantHome::create(&tree.home, &tree.ledger, &ada, ada_no, "test", jiff::tz::TimeZone::UTC).unwrap();
    thread(&tree, tree.agent_no, "topic/a");
    thread(&tree, ada_no, "topic/a");
    let only_mine = thread(&tree, tree.agent_no, "topic/b");
    let head = tree.ledger.read(|tx| render::shared::named(tx, ada_no, "topic/a")).unwrap();
    take(&at, &head, "ci");
    // The head is held for one agent and free for the other.
    write(&theirs, &head, ("plan", "bob"), "for ada");
    assert_eq!(section(&at, &head, "plan"), None);
    assert!(!tree.text(MEMORY).contains("for ada"));
    let unknown = tree.ledger.read(|tx| render::shared::named(tx, ada_no, "topic/nothing")).unwrap_err();
    let foreign = tree.ledger.read(|tx| render::shared::named(tx, ada_no, "topic/b")).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert_eq!(foreign.to_string().replace("topic/b", "topic/nothing"), unknown.to_string());
    assert!(tree.ledger.read(|tx| render::shared::named(tx, ada_no, &only_mine.to_string())).is_err());
    assert_eq!(revisions::log(&theirs, &only_mine, 9).unwrap().1, 0);
}

/// Leases use the boot clock and not the wall clock; with a fixed clock both would be the same.
#[test]
fn a_lease_runs_on_the_boot_clock() {
    let tree = Tree::new();
    let before = Clock::System.boot().ms;
    take(&tree.at(), &PageKey::Memory, "ann");
    let until = tree.count("SELECT lease_until FROM heads WHERE owner = 'ann'");
    assert!((before..=Clock::System.boot().ms + 10_000).contains(&until), "{until} is no time of this boot");
}

/// A process that asks repeatedly for a held head must not fill the audit with equal rows.
#[test]
fn the_audit_says_once_that_a_lease_kept_others_out() {
    let tree = Tree::new();
    let at = tree.at();
    let head = PageKey::Memory;
    let rows = || -> i64 {
        let sql = "SELECT count(*) FROM audit WHERE action = 'head.acquire'";
        tree.ledger.read(|tx| Ok(tx.query_row(sql, [], |r| r.get(0))?)).unwrap()
    };
    let grant = take(&at, &head, "a");
    assert_eq!(rows(), 1);
    for _ in 0..20 {
        assert_eq!(held(&at, &head, "b").as_deref(), Some("a"));
    }
    assert_eq!(rows(), 2);
    assert!(head_commits::release(&at, &head, "a", grant.epoch).unwrap());
    take(&at, &head, "b");
    assert_eq!(held(&at, &head, "a").as_deref(), Some("b"), "another lease");
    assert_eq!(rows(), 4);
}

#[test]
fn of_a_file_the_newest_hundred_versions_are_kept() {
    let tree = Tree::new();
    let at = tree.at();
    let path = RelPath::parse("memory/preference/short.md").unwrap();
    let all: Vec<String> = (0..120).map(|n| format!("version {n}")).collect();
    for version in &all {
        at.keep_revision(&path, version.as_bytes(), "test").unwrap();
    }
    at.keep_revision(&RelPath::parse("memory/preference/other.md").unwrap(), b"other", "test").unwrap();
    let revisions = tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some(path.as_str()), 999)).unwrap();
    let mut kept: Vec<_> = revisions.into_iter().map(|r| (r.no, String::from_utf8(r.bytes).unwrap())).collect();
    kept.sort();
    assert_eq!(kept.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), all[20..]);
}
