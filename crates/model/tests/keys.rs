//! Tests of a key that a program prints: shell scripts stand for `secret-tool` and its like.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use heirloom_engine::model::{Failure, Model as _};
use heirloom_model::{Choice, Kind};
use heirloom_testkit::TestHome;
use heirloom_testkit::fake_model::{FakeModel, Reply};

use crate::{ask, folders, schema};

const KEY: &str = "sk-test-0123456789abcdef";

const GOOD: &str = r#"{"says":"done"}"#;

/// Makes a script that counts how often it is run, and notes its arguments and what it can read.
fn keyring(home: &TestHome, body: &str) -> PathBuf {
    let bin = home.folder("bin");
    let path = bin.join("keyring");
    let noted = bin.display();
    let script = format!("#!/bin/sh\necho \"$@\" >>'{noted}/runs'\ncat >'{noted}/input'\npwd >'{noted}/cwd'\n{body}\n");
    std::fs::write(bin.join("new"), script).unwrap();
    std::fs::set_permissions(bin.join("new"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(bin.join("new"), &path).unwrap();
    path
}

fn choice(home: &TestHome, server: &FakeModel, body: &str) -> Choice {
    let program = keyring(home, body).display().to_string();
    Choice {
        model: Some("small".into()),
        url: Some(server.url()),
        key_command: vec![program, "lookup".into(), "my entry; touch x".into()],
        ..Choice::new(Kind::Anthropic)
    }
}

fn runs(home: &TestHome) -> Vec<String> {
    let text = std::fs::read_to_string(home.folder("bin").join("runs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_program_is_run_with_the_first_question_and_its_key_goes_to_the_origin() {
    let home = TestHome::new();
    let server = FakeModel::start(Box::new(|_| Some(Reply::text(GOOD))));
    let choice = choice(&home, &server, &format!("echo 'looking' >&2; echo {KEY}"));
    let model = choice.open(folders(&home)).unwrap();
    assert!(runs(&home).is_empty(), "a model that is only looked at opens no keyring");
    for _ in 0..2 {
        assert_eq!(model.answer(&ask(&schema())).unwrap().text, GOOD);
    }
    assert_eq!(runs(&home), ["lookup my entry; touch x"], "arguments as they are, once for both questions");
    assert!(server.requests().iter().all(|r| r.header("x-api-key") == Some(KEY)));
    let noted = |what: &str| std::fs::read_to_string(home.folder("bin").join(what)).unwrap();
    assert_eq!(noted("input"), "", "the program is told nothing");
    assert_eq!(noted("cwd").trim(), folders(&home).empty.canonicalize().unwrap().to_str().unwrap());
    assert!(!format!("{choice:?}").contains("sk-"));
}

#[test]
fn a_key_that_is_not_accepted_is_read_again() {
    let refusals = [(401, "{}"), (400, r#"{"error":{"message":"API key not valid."}}"#)];
    for (status, body) in refusals {
        the_key_is_read_again_after(status, body);
    }
}

fn the_key_is_read_again_after(status: u16, body: &'static str) {
    let home = TestHome::new();
    let server = FakeModel::start(Box::new(move |_| Some(Reply::raw(status, body))));
    let turn =
        format!("folder=$(dirname \"$0\"); if [ -e \"$folder/new-key\" ]; then echo {KEY}; else echo sk-old; fi");
    let model = choice(&home, &server, &turn).open(folders(&home)).unwrap();
    assert!(matches!(model.answer(&ask(&schema())), Err(Failure::Refused(_))));
    std::fs::write(home.folder("bin").join("new-key"), "").unwrap();
    server.answers(Box::new(|_| Some(Reply::text(GOOD))));
    assert_eq!(model.answer(&ask(&schema())).unwrap().text, GOOD);
    assert_eq!(runs(&home).len(), 2);
    let sent: Vec<String> = server.requests().iter().map(|r| r.header("x-api-key").unwrap().to_owned()).collect();
    assert_eq!(sent, ["sk-old", KEY]);
}

#[test]
fn what_is_no_key_is_said_without_any_of_its_words() {
    let server = FakeModel::start(Box::new(|_| Some(Reply::text(GOOD))));
    let secret = "hunter2-hunter2";
    for (body, is_later, part) in [
        (format!("echo {secret} >&2; exit 1"), true, "the program keyring ended with exit status: 1: run its command"),
        (
            "exit 1".into(),
            true,
            "exit status: 1: it says nothing; either it has no entry of this name, or the keyring is",
        ),
        (format!("echo 'Cannot autolaunch D-Bus for {secret}' >&2; exit 1"), true, "there is no session bus here"),
        (format!("echo '{secret} is not in the password store.' >&2; exit 1"), true, "it has no entry of this name"),
        (format!("echo 'gpg: decryption of {secret} failed: No secret key' >&2; exit 2"), true, "nobody can be asked"),
        (format!("echo {secret}; exit 3"), true, "ended with exit status: 3"),
        (format!("echo {secret} >&2"), true, "printed nothing"),
        ("printf '\\n \\n'".into(), true, "printed nothing"),
        (format!("printf '{secret}\\nuser: me\\n'"), false, "printed 2 lines, and a key is one"),
        (format!("echo '{secret} {secret}'"), false, "is no key"),
        (format!("printf '{secret}\\377'"), false, "is no key"),
        (format!("yes {secret} | head -c 3000000"), false, "printed more than"),
    ] {
        let home = TestHome::new();
        let failure = choice(&home, &server, &body).open(folders(&home)).unwrap().answer(&ask(&schema())).unwrap_err();
        let said = failure.to_string();
        assert!(said.contains("its key cannot be read") && said.contains(part), "{body}: {said}");
        assert!(!said.contains("hunter2") && !said.contains("my entry"), "{said}");
        match failure {
            Failure::Unsent { after, .. } => assert!(is_later && after >= Some(Duration::from_secs(3_600)), "{body}"),
            Failure::Refused(_) => assert!(!is_later, "{body}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    let home = TestHome::new();
    let mut gone = choice(&home, &server, "");
    std::fs::remove_file(&gone.key_command[0]).unwrap();
    let failure = gone.look_for_key(&folders(&home)).unwrap_err();
    assert!(matches!(&failure, Failure::Refused(why) if why.contains("cannot be started")), "{failure:?}");
    gone.key_command.clear();
    gone.look_for_key(&folders(&home)).unwrap();
    assert!(server.requests().is_empty(), "without a key nothing is sent");
}

#[test]
fn a_locked_keyring_is_not_waited_for_without_end() {
    let home = TestHome::new();
    let server = FakeModel::start(Box::new(|_| Some(Reply::text(GOOD))));
    let mut choice = choice(&home, &server, "sleep 600");
    choice.timeout = Duration::from_millis(400);
    let began = Instant::now();
    let failure = choice.open(folders(&home)).unwrap().answer(&ask(&schema())).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(20));
    let said = failure.to_string();
    assert!(matches!(failure, Failure::Unsent { after: Some(_), .. }), "{said}");
    assert!(said.contains("did not answer within") && said.contains("unlock the keyring"), "{said}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_printed_key_crosses_no_network_in_the_clear_either() {
    let home = TestHome::new();
    let server = FakeModel::start(Box::new(|_| None));
    let mut choice = choice(&home, &server, &format!("echo {KEY}"));
    choice.url = Some("http://192.0.2.1".into());
    let Err(error) = choice.open(folders(&home)) else { panic!("it was opened") };
    assert!(error.to_string().contains("in the clear"), "{error}");
    assert!(runs(&home).is_empty());
}
