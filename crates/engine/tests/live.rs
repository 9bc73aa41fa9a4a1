//! Live lines, appended one by one.

use heirloom_engine::capture::{Capture, LineAck};

use crate::world::{LATER, LITTLE, World, open_ledger};

fn line(session: &str, id: &str, text: &str) -> String {
    format!("{{\"session\":\"{session}\",\"id\":\"{id}\",\"role\":\"user\",\"text\":\"{text}\"}}")
}

#[test]
fn a_line_is_stored_then_known_and_nonsense_is_refused() {
    let world = World::new();
    let LineAck::Stored { session, turn: Some(turn) } = world.line(&line("x", "a", "one")) else { panic!() };
    assert_eq!(session.as_str(), "little:x");
    let rows = world.audit_rows();
    assert_eq!(world.line(&line("x", "a", "one")), LineAck::Known { session: session.clone(), turn });
    assert_eq!(world.line("nonsense"), LineAck::Refused { reason: "not JSON".into() });
    let unnamed = "{\"role\":\"user\",\"text\":\"no session\"}";
    assert_eq!(world.line(unnamed), LineAck::Refused { reason: "there are no words in text".into() });
    assert_eq!(world.audit_rows(), rows, "none of these wrote anything");
    assert!(matches!(world.line(&line("x", "a", "one, corrected")), LineAck::Stored { .. }));
    assert!(matches!(world.line(&line("y", "a", "one")), LineAck::Stored { .. }));
    assert_eq!((world.texts("x").len(), world.texts("y").len()), (2, 1));
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn equal_lines_without_an_id_are_all_kept() {
    let world = World::new();
    for _ in 0..3 {
        world.line("{\"session\":\"x\",\"role\":\"user\",\"text\":\"ok\"}");
    }
    assert_eq!(world.texts("x"), ["ok", "ok", "ok"]);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn two_at_once_in_one_session_lose_nothing() {
    let world = World::new();
    let folder = world.folder.path();
    std::thread::scope(|scope| {
        for who in ["a", "b"] {
            scope.spawn(move || {
                let ledger = open_ledger(folder, LATER);
                let agent = heirloom_engine::scope::AgentId::main();
                let mut capture = Capture::new(&ledger, None, who, &folder.join("scratch"), None).unwrap();
                for i in 0..200 {
                    let line = line("x", &format!("{who}{i}"), &format!("{who} {i}"));
                    let ack = capture.line(&LITTLE, &agent, line.as_bytes()).unwrap();
                    assert!(matches!(ack, LineAck::Stored { .. }), "{ack:?}");
                }
            });
        }
    });
    let texts = world.texts("x");
    for who in ["a", "b"] {
        let own: Vec<String> = texts.iter().filter(|t| t.starts_with(who)).cloned().collect();
        assert_eq!(own, (0..200).map(|i| format!("{who} {i}")).collect::<Vec<_>>());
    }
    assert_eq!(world.findings(), Vec::<String>::new());
    assert!(world.streams().contains(" line 400\n"), "{}", world.streams());
}
