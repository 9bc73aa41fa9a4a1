//! Decisions on proposals, on notices and on the profile; interrupted and concurrent merges.

use heirloom_engine::error::ErrorKind;
use heirloom_engine::memory::pending::{self, Notice, NoticeKind, State};
use heirloom_engine::memory::{Class, NewLeaf, Outcome, Scope, add, leaf};
use heirloom_engine::profile;
use heirloom_engine::review;
use heirloom_engine::review::inbox::{self, Answer, Change};
use heirloom_engine::scope::PendingNo;
use heirloom_engine::tree::file_table::{self, Entry};
use heirloom_engine::tree::{journal, scan};
use serde_json::json;

use crate::place::*;
use crate::tree::rest;

#[test]
fn a_merge_takes_the_file_as_it_stands_and_can_be_taken_back() {
    let (_folder, place) = place();
    let before = place.do_it(|lock| add(lock, &titled("Deploy", "Deploy with make.")).unwrap());
    let known = place.do_it(|lock| add(lock, &fact("Tests need docker")).unwrap());
    let (one, two) = place.do_it(|lock| {
        let scope = format!("workspace/{API}");
        let one = propose(lock, "Deploy", &["Deploy with just, on Fridays never."], "fact", &scope);
        (one, propose(lock, "Habits", &["I prefer tabs", "Answer briefly"], "preference", "agent"))
    });
    // A person edits both by hand: another entry, another class.
    let file = |place: &Place, id: &str| {
        let at = place.at();
        scan::scan(&at).unwrap();
        let entry = at.read(|tx| file_table::item(tx, at.agent_no, id)).unwrap().unwrap();
        place.tree().join(entry.path.as_str())
    };
    write(&file(&place, &one), |t| t.replace("class: fact", "class: procedure"));
    write(&file(&place, &two), |t| {
        t.replace("- Answer briefly\n", "- Answer in German\n\n* Sign with Z.\n  And a dash.\n")
    });
    let merged = place.do_it(|lock| review::merge(lock, &[one.clone(), two.clone()], None).unwrap());
    assert_eq!(merged[0].leaves[0].class, Class::Procedure);
    assert_eq!(merged[0].leaves[0].superseded.len(), 0, "a procedure contradicts no fact");
    let texts: Vec<String> = merged[1]
        .leaves
        .iter()
        .map(|l| leaf::text_of(&leaf::read(&place.at(), l.path.as_ref().unwrap()).unwrap()))
        .collect();
    assert_eq!(texts, ["I prefer tabs", "Answer in German", "Sign with Z.\nAnd a dash."]);
    let made = place.leaf(&merged[0].leaves[0].id);
    assert_eq!(made.fields["source"], json!({"type": "program", "session": "codex:1"}));
    assert_eq!(made.fields["confidence"], json!(0.7));
    assert!(made.fields.contains_key("verified"), "a yes is a look");
    let archived = |id: &str| {
        let at = place.at();
        at.read(|tx| file_table::item(tx, at.agent_no, id)).unwrap().unwrap()
    };
    let entry = archived(&two);
    assert_eq!((entry.status.as_deref(), entry.field("status")), (Some("merged"), Some("merged")));
    assert_eq!(entry.fields["leaves"].as_array().unwrap().len(), 3);
    assert_eq!(archived(&one).field("flush"), entry.field("flush"), "one act");
    assert_eq!(place.count("SELECT count(*) FROM flushes WHERE action = 'proposal.merge'"), 1);

    // The merge is undone: its leaves are removed, and the proposal waits again as before.
    let undone = place.do_it(|lock| review::undo(lock, &two, None).unwrap());
    assert_eq!(undone.removed.len(), 3);
    let text = std::fs::read_to_string(file(&place, &two)).unwrap();
    assert!(text.contains("status: pending") && !text.contains("leaves:") && text.contains("* Sign with Z."), "{text}");
    assert_eq!(place.leaves().len(), 3);
    // It is merged again.
    let again = place.do_it(|lock| review::merge(lock, std::slice::from_ref(&two), None).unwrap());
    assert!(again[0].leaves.iter().all(|l| l.outcome == Outcome::New));
    // A leaf that was edited since prevents undoing the merge.
    let touched = again[0].leaves[1].clone();
    write(&place.tree().join(touched.path.as_ref().unwrap().as_str()), |t| format!("{t}\nmy own line\n"));
    let refused = place.do_it(|lock| review::undo(lock, &two, None).unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains(&touched.id), "{refused}");
    assert_eq!(place.leaves().len(), 6, "nothing was undone");

    // A contradiction supersedes, a known text is not added again, and undoing restores.
    let three = place.do_it(|lock| propose(lock, "Deploy", &["Deploy by hand."], "fact", &format!("workspace/{API}")));
    let four = place.do_it(|lock| {
        propose(
            lock,
            "More",
            &["Docker is slow", "tests  need docker.", "Tests need docker"],
            "fact",
            &format!("workspace/{API}"),
        )
    });
    let merged = place.do_it(|lock| review::merge(lock, &[three.clone(), four.clone()], None).unwrap());
    assert_eq!(merged[0].leaves[0].superseded, std::slice::from_ref(&before.id));
    let outcomes: Vec<Outcome> = merged[1].leaves.iter().map(|l| l.outcome).collect();
    assert_eq!(outcomes, [Outcome::New, Outcome::Same, Outcome::Same]);
    let entry = archived(&four);
    assert_eq!(entry.fields["known"].as_array().unwrap().len() + entry.fields["leaves"].as_array().unwrap().len(), 2);
    let undone = place.do_it(|lock| review::undo(lock, &three, None).unwrap());
    assert_eq!(undone.restored, std::slice::from_ref(&before.id));
    assert_eq!(place.leaf(&before.id).status.as_deref(), Some("active"));
    let _ = known;

    // A proposal is rejected, and the rejection is undone.
    let no = place.do_it(|lock| review::reject(lock, std::slice::from_ref(&three), Some("not now")).unwrap());
    assert!(no[0].path.as_str().contains("archive/rejected"));
    assert_eq!(archived(&three).field("reason"), Some("not now"));
    place.do_it(|lock| review::undo(lock, &three, None).unwrap());
    assert_eq!(archived(&three).status.as_deref(), Some("pending"));
}

#[test]
fn a_proposal_that_cannot_be_merged_says_why_and_nothing_is_merged() {
    let (_folder, place) = place();
    let fine = place.do_it(|lock| propose(lock, "Fine", &["All is well"], "preference", "agent"));
    for (class, scope, said) in [
        ("fact", "agent", "--workspace"),
        ("preference", "workspace/api--0123456789abcdef", "scope: agent"),
        ("rumour", "agent", "preference, identity"),
        ("fact", "workspace/../x", "workspace id"),
        ("fact", "everywhere", "workspace/<workspace id>"),
    ] {
        let title = format!("{class} {scope}");
        let id = place.do_it(|lock| propose(lock, &title, &["Something"], class, scope));
        let error = place.do_it(|lock| review::merge(lock, &[fine.clone(), id.clone()], None).unwrap_err());
        assert!(error.to_string().contains(&id), "{error}");
        let next = error.next_step().unwrap().to_owned();
        assert!(next.contains(said) && next.contains("proposal edit"), "{title}: {next}");
        assert_eq!(place.leaves().len(), 0, "all or none");
    }
    let folder = place.tree().join("continuity/proposals/memory");
    std::fs::write(folder.join("empty.md"), "# Empty\n").unwrap();
    std::fs::write(folder.join("broken.md"), "---\na: [\n---\n# Broken\n\n- x\n").unwrap();
    for name in ["Empty", "Broken"] {
        assert_eq!(
            place.do_it(|lock| review::merge(lock, &[name.into()], None).unwrap_err()).kind(),
            ErrorKind::Refused
        );
    }
    assert_eq!(
        place.do_it(|lock| review::merge(lock, &["nothing".into()], None).unwrap_err()).kind(),
        ErrorKind::NotFound
    );
    // A proposal written by hand without front matter: its lines give class and scope, also after being undone.
    let scope = format!("workspace/{API}");
    std::fs::write(
        folder.join("own.md"),
        format!("# Own\n\n- Class: procedure\n- Scope: {scope}\n\n- Run just first\n"),
    )
    .unwrap();
    for _ in 0..2 {
        let merged = place.do_it(|lock| review::merge(lock, &["own".into()], None).unwrap());
        assert_eq!(merged[0].leaves.len(), 1);
        assert_eq!(
            (merged[0].leaves[0].class, merged[0].leaves[0].scope.to_string()),
            (Class::Procedure, scope.clone())
        );
        place.do_it(|lock| review::undo(lock, "own", None).unwrap());
    }
    // Without a class it becomes a fact in a project, and a preference elsewhere.
    std::fs::write(folder.join("bare.md"), "- I like tea\n").unwrap();
    let merged = place.do_it(|lock| review::merge(lock, &["bare".into()], None).unwrap());
    assert_eq!(merged[0].leaves[0].class, Class::Preference);
}

#[test]
fn notices_are_counted_decided_once_and_accepted_into_leaves_and_profile() {
    let (_folder, place) = place();
    let notice = |kind: NoticeKind, text: &str| Notice { kind, title: text.into(), text: text.into(), confidence: 0.8 };
    let profile_of = |key: &str, value: &str| NoticeKind::Profile { key: key.into(), value: value.into() };
    let notices = [
        notice(NoticeKind::Preference, "TL;DR first"),
        notice(NoticeKind::Identity, "I maintain a compiler"),
        notice(profile_of("name", "Ada"), "My name is Ada"),
    ];
    let capture = || place.at().write("test", |tx| pending::capture(tx, place.agent_no, None, None, &notices)).unwrap();
    assert_eq!(capture(), 3);
    assert_eq!(capture(), 0);
    let list = |all: bool| place.ledger.read(|tx| pending::list(tx, place.agent_no, all)).unwrap();
    assert!(list(false).len() == 3 && list(false).iter().all(|p| p.seen == 2));
    let no = |title: &str| list(true).iter().find(|p| p.title.contains(title)).unwrap().no;
    assert_eq!(pending::parse_id(&list(true)[0].id()).unwrap(), list(true)[0].no);
    let accepted = place.do_it(|lock| review::noticed::accept(lock, &[no("TL;DR"), no("Ada")]).unwrap());
    let leaf = accepted[0].leaf.as_ref().unwrap();
    assert_eq!((leaf.class, leaf.outcome), (Class::Preference, Outcome::New));
    assert_eq!(place.leaf(&leaf.id).fields["source"]["type"], "prompt");
    let values = place.ledger.read(|tx| profile::show(tx, place.agent_no)).unwrap();
    assert_eq!(
        (values[0].key.as_str(), values[0].value.as_str(), values[0].source.as_str()),
        ("name", "Ada", "prompt")
    );
    pending::dismiss(&place.at(), &[no("compiler")]).unwrap();
    assert_eq!((list(false).len(), list(true).len()), (0, 3));
    assert_eq!(capture(), 0, "nothing is asked twice");
    assert!(list(true).iter().all(|p| p.state != State::Pending));
    // A decided notice cannot be decided again; of several, all are decided or none.
    place
        .at()
        .write("test", |tx| {
            pending::capture(tx, place.agent_no, None, None, &[notice(NoticeKind::Preference, "No Redis")])
        })
        .unwrap();
    let mixed = [no("No Redis"), no("compiler")];
    assert_eq!(place.do_it(|lock| review::noticed::accept(lock, &mixed).unwrap_err()).kind(), ErrorKind::Refused);
    assert_eq!(pending::dismiss(&place.at(), &mixed).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(list(false).len(), 1);
    assert_eq!(
        place.do_it(|lock| review::noticed::accept(lock, &[PendingNo(999)]).unwrap_err()).kind(),
        ErrorKind::NotFound
    );
    // A statement that is already remembered is not noticed.
    place.do_it(|lock| add(lock, &NewLeaf::new(Class::Preference, Scope::Agent, "Dark mode")).unwrap());
    let known = [notice(NoticeKind::Preference, "Dark mode"), notice(profile_of("name", "Ada"), "Ada")];
    assert_eq!(place.at().write("test", |tx| pending::capture(tx, place.agent_no, None, None, &known)).unwrap(), 0);
}

#[test]
fn the_profile_takes_one_line_values_under_plain_keys() {
    let (_folder, place) = place();
    let at = place.at();
    assert!(profile::set(&at, "timezone", "Europe/Berlin", "user").unwrap());
    assert!(!profile::set(&at, "Timezone", " Europe/Berlin ", "user").unwrap());
    assert!(profile::set(&at, "shoe_size", "44", "user").unwrap());
    assert!(profile::set(&at, "name", "Ada", "user").unwrap());
    let keys: Vec<String> = at.read(|tx| profile::show(tx, at.agent_no)).unwrap().into_iter().map(|v| v.key).collect();
    assert_eq!(keys, ["name", "timezone", "shoe_size"]);
    for (key, value) in [
        ("timezone", "Mars/Olympus"),
        ("Bad Key", "x"),
        ("1x", "x"),
        ("", "x"),
        ("name", " "),
        ("name", "a\nb"),
        ("name", &"x".repeat(501)),
        (&"k".repeat(42), "x"),
        ("ключ", "x"),
    ] {
        assert_eq!(profile::set(&at, key, value, "user").unwrap_err().kind(), ErrorKind::Usage, "{key}: {value}");
    }
    assert_eq!(profile::set(&at, "aws", "AKIAIOSFODNN7EXAMPLE", "user").unwrap_err().kind(), ErrorKind::Refused);
    profile::unset(&at, "name").unwrap();
    assert_eq!(profile::unset(&at, "name").unwrap_err().kind(), ErrorKind::NotFound);
    // The zone decides which day a daily note belongs to.
    assert_eq!(place.at().zone.iana_name(), Some("Europe/Berlin"));
}

#[test]
fn two_processes_add_and_merge_without_loss_or_doubles() {
    let (folder, place) = place();
    let proposals: Vec<String> = place.do_it(|lock| {
        (0..6).map(|n| propose(lock, &format!("P{n}"), &[&format!("proposed {n}")], "preference", "agent")).collect()
    });
    let root = folder.path().join("home");
    let merged: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (root, proposals) = (root.clone(), proposals.clone());
                scope.spawn(move || {
                    let place = Place::open(&root, NOON);
                    let mut merged = 0;
                    for (n, id) in proposals.iter().enumerate() {
                        place.do_it(|lock| add(lock, &fact(&format!("both say {n}"))).unwrap());
                        match place.do_it(|lock| review::merge(lock, std::slice::from_ref(id), None)) {
                            Ok(_) => merged += 1,
                            Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "{e}"),
                        }
                        place.do_it(|lock| add(lock, &titled("Subject", &format!("version {n}"))).unwrap());
                    }
                    merged
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(merged.iter().sum::<usize>(), 6, "each is merged by one of them");
    let leaves = place.leaves();
    let of = |word: &str| leaves.iter().filter(|e| e.title.starts_with(word)).count();
    assert_eq!((of("both say"), of("P")), (6, 6));
    let subject: Vec<&Entry> = leaves.iter().filter(|e| e.title == "Subject").collect();
    assert!(subject.len() >= 6);
    assert_eq!(subject.iter().filter(|e| e.status.as_deref() == Some("active")).count(), 1, "one counts");
    assert_eq!(place.count("SELECT count(*) FROM flushes WHERE state = 'planned'"), 0);
}

/// Restores a plan as it was stored before its files were written, and the files with it.
#[test]
fn a_merge_cut_off_anywhere_is_finished_once() {
    let scope = format!("workspace/{API}");
    for cut in 0..5 {
        let (_folder, place) = place();
        let old = place.do_it(|lock| add(lock, &titled("Deploy", "Deploy with make.")).unwrap());
        let id = place.do_it(|lock| propose(lock, "Deploy", &["Deploy with just."], "fact", &scope));
        // The last transaction fails: a trigger stands for the crash.
        let sql = place.sql();
        sql.execute_batch(
            "CREATE TRIGGER crash BEFORE UPDATE OF state ON flushes BEGIN SELECT raise(abort, 'crash'); END",
        )
        .unwrap();
        let before = files(&place.tree());
        assert!(place.do_it(|lock| review::merge(lock, std::slice::from_ref(&id), None)).is_err());
        let after = files(&place.tree());
        sql.execute_batch("DROP TRIGGER crash").unwrap();
        assert_eq!(place.ledger.read(|tx| journal::unfinished(tx, place.agent_no)).unwrap().len(), 1);
        // Files are put into the states that a crash at each point could have left.
        let is_leaf = |name: &String| name.starts_with("memory/workspace");
        let put = |name: &str, text: &str| {
            std::fs::write(place.tree().join(name), text).unwrap();
            rest(&place.tree().join(name));
        };
        let (new_leaf, old_leaf) = {
            let new = after.keys().find(|n| is_leaf(n) && !before.contains_key(*n)).unwrap().clone();
            (new, old.path.clone().unwrap().to_string())
        };
        let archived = after.keys().find(|n| n.contains("archive/merged")).unwrap().clone();
        let waiting = before.keys().find(|n| n.starts_with("continuity/proposals/memory/deploy")).unwrap().clone();
        let back = |move_it: bool| {
            std::fs::remove_file(place.tree().join(&archived)).unwrap();
            put(if move_it { &waiting } else { &archived }, &before[&waiting]);
        };
        match cut {
            0 => {
                std::fs::remove_file(place.tree().join(&new_leaf)).unwrap();
                put(&old_leaf, &before[&old_leaf]);
                back(true);
            }
            1 => {
                put(&old_leaf, &before[&old_leaf]);
                back(true);
            }
            2 => back(true),
            // The proposal was moved, and its front matter is not edited yet.
            3 => back(false),
            _ => {}
        }
        let place = Place::open(place.home.root(), NOON + 1000);
        place.do_it(|_| ());
        assert_eq!(place.count("SELECT count(*) FROM flushes WHERE state = 'planned'"), 0, "cut {cut}");
        assert_eq!(files(&place.tree()), after, "cut {cut}");
        let leaves = place.leaves();
        assert_eq!(leaves.len(), 2, "cut {cut}");
        assert_eq!(place.leaf(&old.id).status.as_deref(), Some("superseded"), "cut {cut}");
        assert!(leaves.iter().all(|e| !e.by_hand()), "cut {cut}: what we wrote is ours");
        let undone = place.do_it(|lock| review::undo(lock, &id, None).unwrap());
        assert_eq!((undone.removed.len(), undone.restored.len()), (1, 1), "cut {cut}");
    }
}

/// Returns everything that waits, as `id prefix: first entry <- text it would supersede`.
fn waits(place: &Place) -> Vec<String> {
    let at = place.at();
    scan::scan(&at).unwrap();
    let line = |w: review::inbox::Waiting| {
        let older: Vec<String> = w.replaces.into_iter().map(|o| o.text).collect();
        let prefix = w.id.split(':').next().unwrap().to_owned();
        format!("{prefix}: {} <- {}", w.entries.join(" + "), older.join(", "))
    };
    review::inbox::waiting(&at).unwrap().into_iter().map(line).collect()
}

fn id_of(place: &Place, prefix: &str) -> String {
    let all = review::inbox::waiting(&place.at()).unwrap();
    all.into_iter().find(|w| w.id.starts_with(prefix)).unwrap_or_else(|| panic!("no {prefix}")).id
}

const YES: Answer = Answer::Accept { both: false };
const NO: Answer = Answer::Reject { reason: None };

#[test]
fn two_memories_that_contradict_each_other_wait_for_a_decision() {
    let (_folder, place) = place();
    let (old, new) = place.do_it(|lock| {
        let earlier = NewLeaf { observed: Some(NOON - DAY), ..fact("The staging database listens on port 5432") };
        let new = add(lock, &fact("The staging database listens on port 6543")).unwrap();
        add(lock, &fact("The staging cache listens on port 6379")).unwrap();
        (add(lock, &earlier).unwrap(), new)
    });
    let pair = ["s: The staging database listens on port 6543 <- The staging database listens on port 5432"];
    assert_eq!(waits(&place), pair);
    let id = id_of(&place, "s:");
    let status = |id: &str| place.leaf(id).status.clone().unwrap();
    // A no keeps both memories, and the question is not asked again.
    place.do_it(|lock| inbox::decide(lock, &id, None, &NO).unwrap());
    assert_eq!((waits(&place).len(), status(&old.id).as_str()), (0, "active"));
    // Undone, the question waits again; a yes marks the older memory as superseded.
    let last = inbox::last_decided(&place.at()).unwrap();
    assert_eq!(last, id);
    place.do_it(|lock| inbox::undo(lock, &last).unwrap());
    assert_eq!(waits(&place), pair);
    let done = place.do_it(|lock| inbox::decide(lock, &id, None, &YES).unwrap());
    assert_eq!(done.superseded, std::slice::from_ref(&old.id));
    assert_eq!((status(&old.id).as_str(), status(&new.id).as_str()), ("superseded", "active"));
    assert_eq!(leaf::superseded_ids(&place.leaf(&new.id)), std::slice::from_ref(&old.id));
    assert_eq!(waits(&place), [""; 0]);
    // After the second undo everything is as before.
    let undone = place.do_it(|lock| inbox::undo(lock, &id).unwrap());
    assert_eq!(undone.restored, std::slice::from_ref(&old.id));
    assert_eq!((status(&old.id).as_str(), waits(&place).len()), ("active", 1));
    assert!(
        !place.leaf(&new.id).fields.contains_key("supersedes") && !place.leaf(&new.id).fields.contains_key("beside")
    );
}

#[test]
fn what_waits_is_decided_with_one_pair_of_verbs_and_taken_back() {
    let (_folder, place) = place();
    let old = place.do_it(|lock| add(lock, &fact("We deploy on Fridays")).unwrap());
    let notice = |kind, text: &str| Notice { kind, title: text.into(), text: text.into(), confidence: 0.9 };
    let at_api = |class| NoticeKind::Project { class, workspace: API.into() };
    let language = |value: &str| NoticeKind::Profile { key: "language".into(), value: value.into() };
    let say = |notices: &[Notice]| {
        let at = place.at();
        at.write("test.notice", |tx| pending::capture(tx, at.agent_no, None, None, notices)).unwrap()
    };
    profile::set(&place.at(), "language", "French", "user").unwrap();
    let said = [
        notice(at_api(Class::Fact), "We deploy on Mondays"),
        notice(language("German"), "Language is German"),
        notice(at_api(Class::Procedure), "Always run make lint before committing"),
    ];
    assert_eq!((say(&said), say(&said)), (3, 0), "the same words make no second one");
    let proposal = place.do_it(|lock| propose(lock, "Habits", &["Use tabs"], "preference", "agent"));
    assert_eq!(
        waits(&place),
        [
            "u: Always run make lint before committing <- ",
            "u: language: German <- language: French",
            "u: We deploy on Mondays <- We deploy on Fridays",
            "p: Use tabs <- ",
        ]
    );
    let u = |n: i64| format!("u:{n}");
    // The item was seen in another version: the decision is refused, and nothing changes.
    let seen = inbox::one(&place.at(), &proposal).unwrap().version;
    write(&place.tree().join(inbox::one(&place.at(), &proposal).unwrap().path.unwrap()), |t| {
        t.replace("tabs", "spaces")
    });
    scan::scan(&place.at()).unwrap();
    let refused = place.do_it(|lock| inbox::decide(lock, &proposal, Some(&seen), &YES).unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains("changed meanwhile"), "{refused}");

    let yes = |id: &str| place.do_it(|lock| inbox::decide(lock, id, None, &YES).unwrap());
    let language_is = || place.at().read(|tx| profile::get(tx, place.agent_no, "language")).unwrap();
    assert_eq!(yes(&u(1)).superseded, std::slice::from_ref(&old.id), "the person saw both sentences");
    assert_eq!(yes(&u(2)).profile.as_deref(), Some("profile:language"));
    assert_eq!(yes(&u(3)).memories[0].class, Class::Procedure);
    yes(&proposal);
    assert_eq!((language_is().as_deref(), waits(&place).len(), place.leaves().len()), (Some("German"), 0, 4));
    assert!(place.do_it(|lock| inbox::decide(lock, &u(1), None, &YES).unwrap_err()).to_string().contains("already"));
    assert_eq!(say(&said), 0, "and what was decided is not asked again");

    // The decisions are undone one by one, the last one first.
    let back = || {
        let last = inbox::last_decided(&place.at()).unwrap();
        let undone = place.do_it(|lock| inbox::undo(lock, &last).unwrap());
        (last, undone)
    };
    assert_eq!(back().0, proposal);
    assert_eq!(back().1.removed.len(), 1);
    assert_eq!(back().0, u(2));
    assert_eq!(language_is().as_deref(), Some("French"), "the value it took the place of is back");
    assert_eq!(back().1.restored, std::slice::from_ref(&old.id));
    assert_eq!(inbox::last_decided(&place.at()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!((waits(&place).len(), place.leaves().len()), (4, 1));

    // A notice is rejected, and another accepted with both memories kept.
    place.do_it(|lock| inbox::decide(lock, &u(3), None, &NO).unwrap());
    let both = place.do_it(|lock| inbox::decide(lock, &u(1), None, &Answer::Accept { both: true }).unwrap());
    assert_eq!((both.superseded.len(), place.leaf(&old.id).status.as_deref()), (0, Some("active")));
    assert!(waits(&place).iter().all(|l| !l.starts_with("s:")), "both hold, as the person said: {:?}", waits(&place));
    // A memory that was edited since it was made stays.
    let made = both.memories[0].path.clone().unwrap();
    write(&place.tree().join(made.as_str()), |t| format!("{t}\nAnd never before ten.\n"));
    scan::scan(&place.at()).unwrap();
    assert_eq!(place.do_it(|lock| inbox::undo(lock, &u(1)).unwrap_err()).kind(), ErrorKind::Refused);
}

#[test]
fn what_waits_is_changed_and_what_a_yes_would_refuse_is_refused() {
    let (_folder, place) = place();
    let id = place.do_it(|lock| propose(lock, "Habits", &["Use tabs"], "preference", "agent"));
    let change = |change: Change| place.do_it(|lock| inbox::change(lock, &id, &change));
    let refused = change(Change { class: Some(Class::Fact), ..Change::default() }).unwrap_err();
    let next = refused.next_step().unwrap().to_owned();
    assert!(next.contains("preference, identity") && next.contains("--workspace"), "{next}");
    change(Change { class: Some(Class::Fact), scope: Some(api()), ..Change::default() }).unwrap();
    change(Change { entries: Some(vec!["Use spaces".into()]), ..Change::default() }).unwrap();
    let now = inbox::one(&place.at(), &id).unwrap();
    assert_eq!((now.class.as_str(), now.entries.as_slice()), ("fact", &["Use spaces".to_owned()][..]));

    let at = place.at();
    let notice =
        Notice { kind: NoticeKind::Preference, title: "No emojis".into(), text: "No emojis".into(), confidence: 0.9 };
    at.write("test.notice", |tx| pending::capture(tx, at.agent_no, None, None, std::slice::from_ref(&notice))).unwrap();
    let edit = |change: Change| place.do_it(|lock| inbox::change(lock, "u:1", &change));
    assert!(edit(Change { class: Some(Class::Fact), ..Change::default() }).is_err());
    edit(Change {
        class: Some(Class::Procedure),
        scope: Some(api()),
        entries: Some(vec!["No emojis in commits".into()]),
    })
    .unwrap();
    let now = inbox::one(&at, "u:1").unwrap();
    assert_eq!((now.title.as_str(), now.scope.as_str()), ("No emojis in commits", api().to_string().as_str()));
    assert_eq!(place.do_it(|lock| inbox::decide(lock, "u:1", None, &YES).unwrap()).memories[0].class, Class::Procedure);
}

#[test]
fn words_kept_aside_are_put_back_where_they_stay() {
    let (_folder, place) = place();
    let at = place.at();
    let path = heirloom_engine::home::RelPath::parse("continuity/threads/a-thread.md").unwrap();
    let file = place.tree().join(path.as_str());
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "# A thread\n\nMine.\n").unwrap();
    at.keep_revision(&path, b"# A thread\n\nMine.\n\nAsk Bob about the cache.\n- a loop [l:x]\n", "edited inside")
        .unwrap();
    assert_eq!(waits(&place), ["r: Ask Bob about the cache. <- "]);
    let id = id_of(&place, "r:");
    place.do_it(|lock| inbox::decide(lock, &id, None, &YES).unwrap());
    assert_eq!(place.text(&path), "# A thread\n\nMine.\n\nAsk Bob about the cache.\n");
    assert_eq!(waits(&place), [""; 0]);
    assert_eq!(inbox::last_decided(&at).unwrap(), id);
    place.do_it(|lock| inbox::undo(lock, &id).unwrap());
    assert_eq!((place.text(&path).as_str(), waits(&place).len()), ("# A thread\n\nMine.\n", 1));
    // The edit is rejected: it is not asked about again; after undoing, the person's text is unchanged.
    place.do_it(|lock| inbox::decide(lock, &id, None, &NO).unwrap());
    assert_eq!(waits(&place), [""; 0]);
    place.do_it(|lock| inbox::undo(lock, &id).unwrap());
    assert_eq!((place.text(&path).as_str(), waits(&place).len()), ("# A thread\n\nMine.\n", 1));
}
