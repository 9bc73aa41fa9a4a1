//! Renders the handoff of every dumped session, for a person to read: `LOOK=FOLDER cargo test -p heirloom-engine --lib
//! distill::deterministic::tests::rendered -- --ignored`.

use super::look::load;
use super::*;
use crate::distill::handoff;

#[test]
#[ignore = "renders sessions of a folder for a person to read"]
fn sessions_of_a_folder() {
    let folder = std::env::var("LOOK").expect("LOOK=FOLDER");
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let root = json["root"].as_str().map(str::to_owned);
        let turns = load(path.to_str().unwrap());
        let mut read = String::new();
        for exchange in exchanges(&turns) {
            if let Some(p) = &exchange.prompt {
                let _ = writeln!(
                    read,
                    "== {} {:?} back {} report {:?} ask {}",
                    p.turn, p.purpose, p.refers_back, p.report, p.ask
                );
                for s in &p.own {
                    let _ = writeln!(read, "   P {:?}{} {}", s.label, if s.sure { "!" } else { "" }, s.text);
                }
            }
            for m in exchange.messages() {
                for s in &m.statements {
                    let _ = writeln!(
                        read,
                        "   M {} {:?}{} w{} {}",
                        m.turn,
                        s.label,
                        if s.sure { "!" } else { "" },
                        answer::worth(s),
                        s.text
                    );
                }
            }
        }
        std::fs::write(path.with_extension("txt"), read).unwrap();
        let d = distil(&Request { turns: &turns, before: None, root: root.as_deref() });
        std::fs::write(path.with_extension("md"), handoff::render(&d, handoff::TOKENS)).unwrap();
    }
}
