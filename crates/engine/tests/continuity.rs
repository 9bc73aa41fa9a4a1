//! Working state: open loops, artifacts, runs of jobs, channel requests, drafts; and the pages that show them.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use heirloom_engine::continuity::artifact::{self, NewArtifact, Text};
use heirloom_engine::continuity::channel::{self, Pairing};
use heirloom_engine::continuity::draft::{self, Form};
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::output::Output;
use heirloom_engine::continuity::scheduled::{self, JobName, Outcome, Run, Status};
use heirloom_engine::continuity::{Change, Item};
use heirloom_engine::error::ErrorKind;
use heirloom_engine::render;
use heirloom_engine::scope::RequestNo;
use heirloom_engine::tree::file_table::{self, Kind, State};
use heirloom_engine::tree::provenance::Provenance;

use crate::tree::{Tree, is_new};
use crate::world::NOON;

const ACTIVE: &str = "continuity/ACTIVE.md";
const LOOPS: &str = "continuity/open-loops";
const ARCHIVE: &str = "continuity/open-loops/archive";

fn resolve(tree: &Tree, name: &str) -> Item {
    open_loop::resolve(&tree.at().lock().unwrap(), &[name.to_owned()], None).unwrap().remove(0)
}

fn reopen(tree: &Tree, name: &str) -> Item {
    open_loop::reopen(&tree.at().lock().unwrap(), &[name.to_owned()]).unwrap().remove(0)
}

fn keep(tree: &Tree, title: &str, text: Text) -> Item {
    let source = Provenance::default();
    let new = NewArtifact { title: title.into(), text, source, kind: None, created: NOON, fields: Default::default() };
    artifact::add(&tree.at().lock().unwrap(), &new).unwrap()
}

fn markdown(text: &str) -> Text {
    Text::Markdown(text.into())
}

fn ran(tree: &Tree, name: &str, outcome: &Outcome, said: &str) -> Run {
    let at = tree.at();
    let begun = scheduled::begin(&at, &JobName::parse(name).unwrap(), "sh -c x", tree.ledger.now()).unwrap();
    let mut output = Output::default();
    output.push(said.as_bytes());
    let finished = scheduled::finish(&at, begun, outcome, (!said.is_empty()).then_some(&output)).unwrap();
    assert!(finished.output_lost.is_none());
    finished.run
}

fn today(tree: &Tree) -> String {
    let day = tree.at().day_of(tree.ledger.now()).unwrap();
    format!("continuity/daily/{}/{day}.md", day.strftime("%Y/%m"))
}

fn draft_file(tree: &Tree, name: &str, bytes: impl AsRef<[u8]>) -> std::path::PathBuf {
    let (harness, file) = name.split_once('/').unwrap();
    let path = tree.home.root().join("runtime/main").join(harness).join("drafts").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

// Open loops

/// The act is cut off after it made its file and before the ledger knew. A person may change that file until the act is
/// finished: it is not made a second time.
#[test]
fn what_an_act_made_before_it_was_cut_off_is_not_made_again() {
    let tree = Tree::new();
    let cut = "CREATE TRIGGER cut BEFORE INSERT ON audit WHEN NEW.action = 'flush.done' BEGIN SELECT raise(ABORT, 'cut'); END";
    drop(tree.at().lock().unwrap());
    let sql = rusqlite::Connection::open(tree.ledger.path()).unwrap();
    sql.execute_batch(cut).unwrap();
    let new = NewLoop { title: "Call Ada".into(), ..NewLoop::default() };
    assert!(open_loop::add(&tree.at().lock().unwrap(), &new).is_err());
    let folder = tree.home.root().join("workspaces/main").join(LOOPS);
    let made: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()).collect();
    let [file] = made.as_slice() else { panic!("{made:?}") };
    fs::create_dir_all(folder.join("archive")).unwrap();
    fs::rename(file, folder.join("archive").join(file.file_name().unwrap())).unwrap();
    sql.execute_batch("DROP TRIGGER cut").unwrap();
    drop(tree.at().lock().unwrap());
    assert!(!file.exists(), "what was archived meanwhile does not come back");
}

#[test]
fn opening_the_same_loop_again_writes_nothing() {
    let tree = Tree::new();
    let new = NewLoop {
        title: "Call the  bank".into(),
        text: Some("token: ghp_0123456789abcdefghijABCDEFGHIJ012345".into()),
        due: Some("2026-12-01".into()),
        ..NewLoop::default()
    };
    let first = open_loop::add(&tree.at().lock().unwrap(), &new).unwrap();
    let text = tree.text(first.path.as_str());
    assert!(text.contains("[redacted:") && !text.contains("ghp_0123"), "{text}");
    let audit = tree.count("SELECT count(*) FROM audit");
    for title in ["Call the bank", "call THE bank", " Call\tthe bank "] {
        let again =
            open_loop::add(&tree.at().lock().unwrap(), &NewLoop { title: title.into(), ..new.clone() }).unwrap();
        assert_eq!((again.change, again.id.as_str()), (Change::Same, first.id.as_str()), "{title}");
    }
    assert_eq!(tree.text(first.path.as_str()), text);
    assert_eq!(tree.count("SELECT count(*) FROM audit"), audit);
    // New text is added below the existing text.
    let more = NewLoop { text: Some("Ask for Ms Brown.".into()), due: Some("2026-12-02".into()), ..new };
    assert_eq!(open_loop::add(&tree.at().lock().unwrap(), &more).unwrap().change, Change::Changed);
    let text = tree.text(first.path.as_str());
    assert!(text.contains("[redacted:") && text.ends_with("\n\nAsk for Ms Brown.\n"), "{text}");
    assert!(text.contains("2026-12-02") && !text.contains("2026-12-01"), "{text}");
    assert_eq!(open_loop::add(&tree.at().lock().unwrap(), &more).unwrap().change, Change::Same);
}

#[test]
fn a_loop_archived_fifty_times_has_fifty_entries_and_the_newest_is_reopened() {
    let tree = Tree::new();
    let item = tree.add("Water the plants");
    for n in 0..50 {
        if n > 0 {
            assert!(is_new(&tree.add("Water the plants")), "an archive never stands in the way");
        }
        let how = format!("round {n}");
        open_loop::resolve(&tree.at().lock().unwrap(), &["Water the plants".to_owned()], Some(&how)).unwrap();
    }
    assert_eq!(tree.files(ARCHIVE).len(), 50);
    assert_eq!(tree.items(Kind::OpenLoop, State::Archived), vec![item.id.clone(); 50]);
    assert!(tree.items(Kind::OpenLoop, State::Active).is_empty());
    // The resolved loop is found by reading the files in the archive.
    let newest = tree.files(ARCHIVE).pop().unwrap();
    assert!(tree.text(&format!("{ARCHIVE}/{newest}")).contains("round 49"));
    let back = reopen(&tree, &item.id);
    assert_eq!(back.path, item.path);
    assert_eq!(tree.files(ARCHIVE).len(), 49);
    assert!(!tree.files(ARCHIVE).contains(&newest));
    let text = tree.text(back.path.as_str());
    assert!(text.contains("status: open") && !text.contains("resolution") && !text.contains("resolved:"), "{text}");
    // While it is open, none of the others with this title can be reopened.
    let refused = open_loop::reopen(&tree.at().lock().unwrap(), &[item.id]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert_eq!(tree.files(ARCHIVE).len(), 49);
}

#[test]
fn every_byte_of_a_person_survives_resolving_and_reopening() {
    let tree = Tree::new();
    let item = tree.add("Ship it");
    let own = "---\r\n# mine\r\nid: ID\r\nstatus: \"open\"   # for now\r\nmood:  [good,  {so: so}]\r\n---\r\n\r\n# Ship it\t\r\n\r\n* a\r\n<!-- note -->\r\n\r\n   deep\r\nno end";
    let own = own.replace("ID", &item.id);
    tree.hand(item.path.as_str(), &own);
    let away = resolve(&tree, "Ship it");
    let text = tree.text(away.path.as_str());
    assert!(text.contains("\"resolved\"") || text.contains("resolved   # for now"), "{text}");
    let back = reopen(&tree, "Ship it");
    assert_eq!(back.path, item.path);
    let text = tree.text(back.path.as_str());
    for line in own.split("\r\n").filter(|l| !l.starts_with("status")) {
        assert!(text.contains(line), "{line:?} in {text:?}");
    }
    assert_eq!(text.split("---\r\n").last(), own.split("---\r\n").last(), "the body is as it was");
    assert!(text.contains("# for now"), "{text}");
}

#[test]
fn a_renamed_or_copied_loop_is_named_as_a_problem_and_nothing_is_done_to_it() {
    let tree = Tree::new();
    let item = tree.add("Original");
    let copy = format!("{LOOPS}/copy.md");
    fs::copy(tree.path(item.path.as_str()), tree.path(&copy)).unwrap();
    tree.items(Kind::OpenLoop, State::Active);
    let troubled = tree.ledger.read(|tx| file_table::troubled(tx, tree.agent_no)).unwrap();
    assert_eq!(troubled.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), [copy.as_str()]);
    assert!(troubled[0].problem.as_ref().unwrap().contains("renamed or copied"));
    let before = tree.text(&copy);
    resolve(&tree, &item.id);
    assert_eq!(tree.text(&copy), before);
    assert!(!tree.path(item.path.as_str()).exists());
}

#[test]
fn two_thousand_titles_are_two_thousand_loops() {
    let tree = Tree::new();
    let at = tree.at();
    let lock = at.lock().unwrap();
    let began = Instant::now();
    let mut ids = BTreeSet::new();
    for n in 0..2_000 {
        // All titles give the same slug.
        let title = format!("Fix {} it", "!".repeat(n + 1));
        let item = open_loop::add(&lock, &NewLoop { title, ..NewLoop::default() }).unwrap();
        assert_eq!(item.change, Change::New);
        ids.insert(item.path.as_str().to_owned());
    }
    drop(lock);
    assert_eq!(ids.len(), 2_000);
    let wrote = began.elapsed();
    assert_eq!(tree.items(Kind::OpenLoop, State::Active).len(), 2_000);
    tree.refresh();
    let page = tree.text(ACTIVE);
    assert!(page.len() < 4_000 && page.contains("and 1990 more"), "{page}");
    println!("2,000 loops in {wrote:?}, then {:?}", began.elapsed());
}

// Artifacts

#[test]
fn a_taken_name_gets_the_next_number() {
    let tree = Tree::new();
    let paths: Vec<String> = ["Plan: B", "plan b", "PLAN/B"]
        .iter()
        .map(|t| keep(&tree, t, markdown("x")).path.as_str().to_owned())
        .collect();
    let stem = "continuity/artifacts/2026/11/2026-11-21-plan-b";
    assert_eq!(paths, [format!("{stem}.md"), format!("{stem}-2.md"), format!("{stem}-3.md")]);
    // A person's own file occupies a name as well.
    tree.hand(&format!("{stem}-4.md"), "mine");
    let item = keep(&tree, "plan b", markdown("y"));
    assert_eq!((item.path.as_str(), item.id.as_str()), (format!("{stem}-5.md").as_str(), "a:2026-11-21-plan-b-5"));
    assert_eq!(tree.text(&format!("{stem}-4.md")), "mine");
    let entries = tree.entries(Kind::Artifact, State::Active);
    assert_eq!(entries.len(), 5);
    let first = entries.iter().find(|e| e.item.as_deref() == Some("a:2026-11-21-plan-b")).unwrap();
    assert_eq!((first.title.as_str(), first.field("created")), ("Plan: B", Some("2026-11-21T12:00:00.000Z")));
    let long = keep(&tree, &"word ".repeat(100), markdown("x"));
    assert!(long.path.name().len() <= 11 + 60 + 3, "{}", long.path);
    assert_eq!(keep(&tree, "日本", markdown("x")).path.name(), "2026-11-21-item.md");
}

#[test]
fn the_day_of_an_artifact_is_the_operators() {
    let tree = Tree::new();
    tree.sql().execute_batch("INSERT INTO profile VALUES (1, 'timezone', 'Pacific/Auckland', 'user', 0)").unwrap();
    // In that zone, NOON is one o'clock of the next day.
    assert_eq!(keep(&tree, "late", markdown("x")).path.name(), "2026-11-22-late.md");
}

#[test]
fn an_artifact_says_what_it_was_given() {
    let tree = Tree::new();
    let text = |item: &Item| tree.text(item.path.as_str());
    let plain = text(&keep(&tree, "Log", Text::Plain("a ``` b\n````\n---\nx: y".into())));
    assert!(plain.ends_with("---\n# Log\n\n`````text\na ``` b\n````\n---\nx: y\n`````\n"), "{plain}");
    let own = keep(&tree, "Given", markdown("---\nmood: good # today\ntags: [a, b]\n---\n# Own heading\n\ntext\n"));
    let own = text(&own);
    assert!(own.starts_with("---\nmood: good # today\ntags: [a, b]\ntitle: Given\n"), "{own}");
    assert!(own.ends_with("---\n# Own heading\n\ntext\n"), "{own}");
    // Text that claims to be another item, or whose front matter cannot be parsed, is kept in a fence.
    for odd in ["---\nid: a:other\n---\nx\n", "---\na: [\n---\nx\n", "---\nnever closed\n"] {
        let kept = text(&keep(&tree, "Odd", markdown(odd)));
        assert!(kept.contains(&format!("```text\n{odd}```\n")), "{kept}");
    }
    assert!(tree.entries(Kind::Artifact, State::Active).iter().all(|e| e.problem.is_none()));
    let secret = text(&keep(&tree, "Secret", markdown("ghp_0123456789abcdefghijABCDEFGHIJ012345\n")));
    assert!(!secret.contains("ghp_0123"), "{secret}");
    let huge = Text::Plain("x".repeat(artifact::LONGEST + 1));
    let new = NewArtifact {
        title: "Huge".into(),
        text: huge,
        source: Provenance::default(),
        kind: None,
        created: NOON,
        fields: Default::default(),
    };
    assert_eq!(artifact::add(&tree.at().lock().unwrap(), &new).unwrap_err().kind(), ErrorKind::Refused);
}

// Scheduled work

#[test]
fn a_job_is_on_the_pages_for_as_long_as_it_fails() {
    let tree = Tree::new();
    tree.hand(ACTIVE, "# Mine\n\nabove\n\n<!-- heirloom:active -->\n<!-- /heirloom:active -->\n\nbelow\n");
    let run = ran(&tree, "nightly backup", &Outcome::Exit(3), "disk is full\n");
    assert_eq!((run.status(), run.exit_code), (Status::Failed, Some(3)));
    tree.refresh();
    let page = tree.text(ACTIVE);
    assert!(page.starts_with("# Mine\n\nabove\n\n<!-- heirloom:active") && page.ends_with("-->\n\nbelow\n"), "{page}");
    assert!(
        page.contains("Job nightly backup failed (exit 3)") && page.contains("job show 'nightly backup'"),
        "{page}"
    );
    let artifact = run.artifact.unwrap();
    assert!(page.contains(artifact.rsplit('/').next().unwrap()), "{page}");
    assert!(tree.text(&artifact).contains("```text\ndisk is full\n```"));
    let note = tree.text(&today(&tree));
    let link = note.split("[output](").nth(1).unwrap().split(')').next().unwrap();
    assert!(note.contains("Job nightly backup failed: exit 3"), "{note}");
    let from = tree.path(&today(&tree)).parent().unwrap().join(link);
    assert!(from.canonicalize().unwrap().ends_with(&artifact), "{link}");

    // An acknowledged failure is not shown until the job fails again; a success removes it for good.
    assert_eq!(scheduled::acknowledge(&tree.at(), "nightly backup").unwrap(), 1);
    assert_eq!(scheduled::acknowledge(&tree.at(), "nightly backup").unwrap(), 0);
    tree.refresh();
    assert!(!tree.text(ACTIVE).contains("failed (exit"));
    ran(&tree, "nightly backup", &Outcome::Signal(9), "");
    tree.refresh();
    assert!(tree.text(ACTIVE).contains("Job nightly backup failed (ended by signal 9)"));
    ran(&tree, "nightly backup", &Outcome::Exit(0), "");
    tree.refresh();
    assert!(!tree.text(ACTIVE).contains("failed (ended"), "{}", tree.text(ACTIVE));
    assert_eq!(tree.text(&today(&tree)).matches("Job nightly backup").count(), 3);
    let none = scheduled::acknowledge(&tree.at(), "other").unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[test]
fn a_run_whose_wrapper_died_is_cut_off_and_one_that_lives_is_not() {
    let tree = Tree::new();
    let at = tree.at();
    let name = JobName::parse("sync").unwrap();
    let dies = scheduled::begin(&at, &name, "rsync --password=hunter2hunter2 a b", NOON).unwrap();
    let dead = dies.run_no;
    let lives = scheduled::begin(&at, &name, "rsync", NOON).unwrap();
    drop(dies);
    // Runs that began too long ago are not looked for; with a time of today both are noticed.
    let now = tree.ledger.now();
    tree.sql().execute("UPDATE scheduled_runs SET started_at = ?1", [now]).unwrap();
    let (home, ledger) = tree.other();
    let other = crate::tree::at(&home, &ledger, tree.agent_no);
    assert_eq!(scheduled::notice_cut_off(&other).unwrap(), 1);
    assert_eq!(scheduled::notice_cut_off(&other).unwrap(), 0);
    let runs = tree.ledger.read(|tx| scheduled::runs(tx, tree.agent_no, "sync", 10)).unwrap();
    assert_eq!((runs[0].status(), runs[1].status()), (Status::Running, Status::Failed));
    assert!(runs[1].no == dead && runs[1].error.as_ref().unwrap().starts_with("cut off"));
    assert!(!runs[1].command.contains("hunter2"), "{}", runs[1].command);
    let run = scheduled::finish(&at, lives, &Outcome::Exit(0), None).unwrap().run;
    assert_eq!(run.status(), Status::Done);
    let locks = fs::read_dir(tree.home.root().join("run")).unwrap();
    let left: Vec<_> = locks.map(|e| e.unwrap().file_name()).filter(|n| n.to_string_lossy().contains("job")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_end_of_a_run_is_recorded_where_its_output_cannot_be() {
    let tree = Tree::new();
    let at = tree.at();
    fs::remove_dir(tree.path("continuity/artifacts")).unwrap();
    fs::write(tree.path("continuity/artifacts"), "in the way").unwrap();
    let begun = scheduled::begin(&at, &JobName::parse("x").unwrap(), "x", tree.ledger.now()).unwrap();
    let mut output = Output::default();
    output.push(b"words\n");
    let finished = scheduled::finish(&at, begun, &Outcome::Exit(1), Some(&output)).unwrap();
    assert!(finished.output_lost.is_some());
    assert_eq!((finished.run.status(), finished.run.artifact), (Status::Failed, None));
}

#[test]
fn names_of_jobs_follow_the_rule() {
    for good in ["a", "Nightly backup", "0.x_y-z", &"a".repeat(64)] {
        assert!(JobName::parse(good).is_ok(), "{good}");
    }
    for bad in ["", " a", "-a", ".a", "a/b", "a\nb", "ä", &"a".repeat(65)] {
        assert_eq!(JobName::parse(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad:?}");
    }
}

// Channels

#[test]
fn asking_again_is_the_same_request_until_it_is_answered() {
    let tree = Tree::new();
    let at = tree.at();
    let ask = |name: Option<&str>| channel::ask(&at, "telegram", "4711", name, None).unwrap();
    let (first, change) = ask(Some("Bob"));
    assert_eq!((change, first.id().as_str()), (Change::New, "c:1"));
    let audit = tree.count("SELECT count(*) FROM audit");
    assert_eq!(ask(Some("Bob")), (first.clone(), Change::Same));
    assert_eq!(ask(None).1, Change::Same);
    assert_eq!(tree.count("SELECT count(*) FROM audit"), audit);
    assert_eq!((ask(Some("Robert")).0.name.as_deref(), ask(None).0.no), (Some("Robert"), RequestNo(1)));
    tree.refresh();
    assert!(tree.text(ACTIVE).contains("Robert (4711) asks to be let in on telegram · `heirloom channel approve 1`"));

    let answer = |which: &str, yes| channel::decide(&at, &[which.to_owned()], yes);
    assert_eq!(answer("telegram/4711", true).unwrap()[0].0.state, Pairing::Approved);
    assert_eq!(answer("c:1", true).unwrap()[0].1, Change::Same);
    assert_eq!(answer("1", false).unwrap_err().kind(), ErrorKind::Refused);
    tree.refresh();
    assert!(!tree.text(ACTIVE).contains("Robert"));
    let note = tree.text(&today(&tree));
    assert!(note.contains("Robert (4711) asked to be let in") && note.contains("was approved on telegram"), "{note}");
    assert_eq!(ask(None).0.no, RequestNo(2), "answered, it can be asked again");
    // Either all requests are decided, or none.
    let both = channel::decide(&at, &["c:2".to_owned(), "c:99".to_owned()], false).unwrap_err();
    assert_eq!(both.kind(), ErrorKind::NotFound);
    let (waiting, count) = tree.ledger.read(|tx| channel::list(tx, tree.agent_no, false, 10)).unwrap();
    assert_eq!((waiting.len(), count), (1, 1));
}

#[test]
fn what_peers_say_is_bounded_and_plain_and_an_identity_is_never_mended() {
    let tree = Tree::new();
    let at = tree.at();
    for (channel, peer) in [
        ("", "x"),
        ("c", ""),
        ("c", " x"),
        ("c", "a\nb"),
        ("c", "ali\u{200b}ce"),
        ("c", "a\u{202e}b"),
        ("c\u{7}", "x"),
        (&"c".repeat(65), "x"),
        ("c", &"x".repeat(201)),
    ] {
        let refused = channel::ask(&at, channel, peer, None, None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage, "{channel:?} {peer:?}");
    }
    let name = format!("Eve\n## Attention\n<!-- /heirloom:active -->\u{1b}[31m\u{202e}{}", "x".repeat(300));
    let (event, _) = channel::ask(&at, "irc", "eve", Some(&name), Some(&"y".repeat(5_000))).unwrap();
    let said = event.name.unwrap();
    assert!(
        said.starts_with("Eve ## Attention") && said.chars().count() <= 200 && !said.contains('\u{202e}'),
        "{said}"
    );
    assert!(!said.contains(['\n', '\u{1b}']) && event.detail.unwrap().len() == 2_000);
    tree.refresh();
    let page = tree.text(ACTIVE);
    assert_eq!(page.matches("<!-- /heirloom:active -->").count(), 1, "{page}");
    assert!(!page.lines().any(|l| l.starts_with("## Attention")), "{page}");
    tree.sql()
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO channel_events (agent_no, channel, peer, state, at) SELECT 1, 'full', 'p' || i, 'pending', 0 FROM n",
        )
        .unwrap();
    assert_eq!(channel::ask(&at, "full", "one more", None, None).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(channel::ask(&at, "full", "p7", None, None).unwrap().1, Change::Same);
    render::mark_all(&at).unwrap();
    tree.refresh();
    assert!(tree.text(ACTIVE).contains("more: `heirloom channel pending`"));
}

// Drafts

#[test]
fn drafts_are_listed_promoted_and_discarded_and_are_never_memory() {
    let tree = Tree::new();
    assert_eq!(draft::list(&tree.at()).unwrap().0.len(), 0);
    assert!(!tree.home.root().join("runtime").exists(), "looking makes nothing");
    let plan = draft_file(&tree, "codex/plans/plan a.md", "# Plan\n\nkestrel\n");
    draft_file(&tree, "codex/data.bin", b"\xff\xfe\x00");
    draft_file(&tree, "opencode/log.txt", "```\nkestrel\n");
    draft_file(&tree, "opencode/nul", "a\0b");
    fs::write(tree.home.root().join("runtime/main/codex/private.md"), "private").unwrap();
    let (drafts, problems) = draft::list(&tree.at()).unwrap();
    let listed: Vec<(&str, Form)> = drafts.iter().map(|d| (d.name.as_str(), d.form)).collect();
    assert_eq!(
        listed,
        [
            ("codex/data.bin", Form::Binary),
            ("codex/plans/plan a.md", Form::Markdown),
            ("opencode/log.txt", Form::Text),
            ("opencode/nul", Form::Binary)
        ]
    );
    assert!(problems.is_empty());
    tree.items(Kind::Artifact, State::Active);
    assert_eq!(tree.count("SELECT count(*) FROM catalogue WHERE path LIKE '%plan%' OR path LIKE '%runtime%'"), 0);

    let at = tree.at();
    let promote = |name: &str| draft::promote(&at.lock().unwrap(), name, None);
    let item = promote("codex/plans/plan a.md").unwrap();
    assert!(item.id.ends_with("-plan-a") && !plan.exists());
    assert!(tree.text(item.path.as_str()).ends_with("---\n# Plan\n\nkestrel\n"));
    // After a crash between making the artifact and removing the draft, the draft still exists.
    fs::write(&plan, "# Plan\n\nkestrel\n").unwrap();
    let again = promote("codex/plans/plan a.md").unwrap();
    assert_eq!((again.change, again.path), (Change::Same, item.path));
    assert!(!plan.exists());
    for binary in ["codex/data.bin", "opencode/nul"] {
        let refused = promote(binary).unwrap_err();
        assert!(refused.kind() == ErrorKind::Refused && refused.to_string().contains("is no text"), "{refused}");
    }
    let log = promote("opencode/log.txt").unwrap();
    assert!(tree.text(log.path.as_str()).contains("````text\n```\nkestrel\n````"));
    draft::discard(&at.lock().unwrap(), "codex/data.bin").unwrap();
    let (drafts, _) = draft::list(&at).unwrap();
    assert_eq!(drafts.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["opencode/nul"]);
    assert_eq!(promote("codex/data.bin").unwrap_err().kind(), ErrorKind::NotFound);
    let audited = tree.count("SELECT count(*) FROM audit WHERE detail LIKE '%kestrel%'");
    assert_eq!((audited, tree.count("SELECT count(*) FROM audit WHERE action = 'draft.discard'")), (0, 1));
}

#[test]
fn no_name_leads_out_of_the_drafts_and_odd_files_are_left_alone() {
    let tree = Tree::new();
    let canary = tree.folder.path().join("canary");
    fs::write(&canary, "canary").unwrap();
    let file = draft_file(&tree, "codex/a.md", "# A\n");
    let folder = file.parent().unwrap();
    let private = tree.home.root().join("runtime/main/codex/private.md");
    fs::write(&private, "private").unwrap();
    std::os::unix::fs::symlink(&canary, folder.join("link.md")).unwrap();
    std::os::unix::fs::symlink(tree.folder.path(), folder.join("out")).unwrap();
    std::os::unix::fs::symlink(folder, tree.home.root().join("runtime/main/linked")).unwrap();
    heirloom_testkit::named_pipe(&folder.join("pipe"));
    fs::write(folder.join("line\nbreak.md"), "x").unwrap();
    fs::hard_link(&canary, folder.join("second.md")).unwrap();
    let (drafts, problems) = draft::list(&tree.at()).unwrap();
    let listed: Vec<(&str, Form)> = drafts.iter().map(|d| (d.name.as_str(), d.form)).collect();
    assert_eq!(listed, [("codex/a.md", Form::Markdown), ("codex/second.md", Form::Unreadable)]);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for (name, what) in [
        ("link.md", "symlink"),
        ("out", "symlink"),
        ("pipe", "regular"),
        ("break.md", "control"),
        ("second.md", "hard links"),
        ("linked", "symlink"),
    ] {
        assert!(said.iter().any(|p| p.contains(name) && p.contains(what)), "{name}: {said:#?}");
    }
    let at = tree.at();
    for name in [
        "codex/link.md",
        "codex/out/canary",
        "codex/pipe",
        "codex/second.md",
        "codex/../private.md",
        "a.md",
        "",
        "/etc/passwd",
        "../codex/a.md",
        "codex/./a.md",
        "linked/a.md",
        "codex/",
        "codex/line\nbreak.md",
        "codex/../drafts/a.md",
    ] {
        let lock = at.lock().unwrap();
        let promoted = draft::promote(&lock, name, None).unwrap_err();
        assert!(matches!(promoted.kind(), ErrorKind::Usage | ErrorKind::Refused), "{name}: {promoted}");
        let discarded = draft::discard(&lock, name).unwrap_err();
        assert!(matches!(discarded.kind(), ErrorKind::Usage | ErrorKind::Refused), "{name}: {discarded}");
    }
    assert!(file.exists() && private.exists() && folder.join("link.md").symlink_metadata().is_ok());
    assert_eq!(fs::read_to_string(&canary).unwrap(), "canary");
    assert!(tree.items(Kind::Artifact, State::Active).is_empty());
}

#[test]
fn the_folder_of_programs_is_looked_at_only_where_there_is_one() {
    let tree = Tree::new();
    let about = || -> Vec<_> {
        let runtime = tree.home.root().join("runtime");
        tree.home.findings().into_iter().filter(|f| f.path.starts_with(&runtime)).collect()
    };
    assert!(about().is_empty() && !tree.home.root().join("runtime").exists());
    let file = draft_file(&tree, "codex/a.md", "# A\n");
    std::os::unix::fs::symlink("a.md", file.with_file_name("b.md")).unwrap();
    let found = about();
    assert!(found.iter().any(|f| f.path.ends_with("b.md") && f.what.contains("symlink")), "{found:?}");
}

// Pages that cannot be written, audits that cannot be written

#[test]
fn a_page_that_cannot_be_written_stops_no_mutation() {
    let tree = Tree::new();
    fs::remove_file(tree.path(ACTIVE)).unwrap();
    fs::create_dir(tree.path(ACTIVE)).unwrap();
    let item = tree.add("Still open");
    ran(&tree, "job", &Outcome::Exit(1), "words\n");
    let (event, _) = channel::ask(&tree.at(), "irc", "bob", None, None).unwrap();
    channel::decide(&tree.at(), &[event.id()], true).unwrap();
    draft_file(&tree, "codex/a.md", "# A\n");
    draft::promote(&tree.at().lock().unwrap(), "codex/a.md", None).unwrap();
    keep(&tree, "Kept", markdown("x"));
    let refreshed = render::refresh(&tree.at(), render::Occasion::Act).unwrap();
    assert!(refreshed.failed.iter().any(|p| p.place.ends_with("ACTIVE.md")), "{refreshed:?}");
    assert!(tree.count("SELECT count(*) FROM audit WHERE action = 'continuity.refresh_failed'") > 0);
    assert!(tree.path(item.path.as_str()).exists());
    assert!(tree.text(&today(&tree)).contains("bob was approved on irc"), "the other pages are rendered");
    resolve(&tree, &item.id);
    // Once the folder is gone, the next command renders the page.
    fs::remove_dir(tree.path(ACTIVE)).unwrap();
    assert!(tree.refresh().failed.is_empty());
    assert!(tree.text(ACTIVE).contains("Job job failed (exit 1)"));
}

#[test]
fn without_its_audit_row_nothing_is_changed() {
    let tree = Tree::new();
    let at = tree.at();
    let item = tree.add("Stays open");
    channel::ask(&at, "irc", "bob", None, None).unwrap();
    ran(&tree, "seen", &Outcome::Exit(1), "");
    let draft = draft_file(&tree, "codex/a.md", "# A\n");
    tree.sql()
        .execute_batch(
            "CREATE TRIGGER no BEFORE INSERT ON audit
             WHEN NEW.action NOT IN ('catalogue.sweep') BEGIN SELECT RAISE(ABORT, 'no audit'); END",
        )
        .unwrap();
    let state = || {
        let rows: Vec<i64> = [
            "flushes",
            "scheduled_runs",
            "channel_events WHERE state = 'pending'",
            "catalogue",
            "scheduled_runs WHERE acknowledged = 1",
            "audit",
        ]
        .iter()
        .map(|t| tree.count(&format!("SELECT count(*) FROM {t}")))
        .collect();
        (rows, tree.files(LOOPS), tree.files(ARCHIVE), tree.files("continuity/artifacts"), draft.exists())
    };
    let before = state();
    let name = JobName::parse("new").unwrap();
    assert!(open_loop::add(&at.lock().unwrap(), &NewLoop { title: "New".into(), ..NewLoop::default() }).is_err());
    assert!(open_loop::resolve(&at.lock().unwrap(), &[item.id], None).is_err());
    let kept = NewArtifact {
        title: "K".into(),
        text: markdown("x"),
        source: Provenance::default(),
        kind: None,
        created: NOON,
        fields: Default::default(),
    };
    assert!(artifact::add(&at.lock().unwrap(), &kept).is_err());
    assert!(scheduled::begin(&at, &name, "x", NOON).is_err());
    assert!(scheduled::acknowledge(&at, "seen").is_err());
    assert!(channel::ask(&at, "irc", "eve", None, None).is_err());
    assert!(channel::decide(&at, &["c:1".to_owned()], true).is_err());
    assert!(draft::promote(&at.lock().unwrap(), "codex/a.md", None).is_err());
    assert!(draft::discard(&at.lock().unwrap(), "codex/a.md").is_err());
    assert_eq!(state(), before);
}
