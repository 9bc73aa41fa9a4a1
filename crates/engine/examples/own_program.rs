//! A program of one's own: what it takes to keep the sessions of a program nobody has an adapter for. This one writes a
//! line `who: words` for each thing that is said.
//! `cargo run --example own_program -p heirloom-engine -- HOME CHAT.log`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_engine::engine::{Engine, How, Options, SearchRequest, Source};
use heirloom_engine::error::Result;
use heirloom_engine::event::{Decoded, Decoder, NewTurn, Placement, RecordClass, Role, Row, TurnKind};
use heirloom_engine::program::{Form, Program};

/// The program: what its files are and how a line is read.
struct Chat;

impl Program for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn title(&self) -> &'static str {
        "Chat"
    }

    fn global_ids(&self) -> bool {
        false
    }

    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn form(&self, path: &Path) -> Option<Form> {
        path.extension().is_some_and(|end| end == "log").then_some(Form::Lines)
    }

    fn place(&self, path: &Path) -> Placement {
        let native = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Placement { native, ..Placement::default() }
    }

    fn decoder(&self, _: &Placement, _: &[u8]) -> Box<dyn Decoder> {
        Box::new(Lines)
    }
}

/// Reads one line at a time and remembers nothing.
struct Lines;

impl Decoder for Lines {
    fn line(&mut self, bytes: &[u8]) -> Decoded {
        let Ok(line) = std::str::from_utf8(bytes) else { return Decoded::quarantined("the line is not UTF-8") };
        let Some((who, words)) = line.split_once(": ") else { return Decoded::of(RecordClass::Unknown) };
        let role = if who == "assistant" { Role::Assistant } else { Role::User };
        let turn = NewTurn { speaker: Some(who.to_owned()), ..NewTurn::new(role, TurnKind::Message, words) };
        Decoded { turns: vec![turn], ..Decoded::of(RecordClass::Conversation) }
    }

    fn row(&mut self, _: &Row) -> Decoded {
        Decoded::of(RecordClass::Unknown)
    }

    fn state(&self) -> Vec<u8> {
        Vec::new()
    }
}

fn main() -> Result<()> {
    let [home, log] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("HOME CHAT.log");
    let options = Options { programs: vec![Arc::new(Chat)], ..Options::default() };
    let engine = Engine::open(home.as_ref(), How::Create, options)?.acting_as("example");
    let done = engine.import(&[Source { program: "chat", form: Form::Lines, path: log.into() }])?;
    println!("{} turns new, {} set aside", done.turns.new, done.set_aside);
    for hit in engine.search(&SearchRequest { query: "today".into(), ..SearchRequest::default() })?.hits {
        println!("{} {}: {}", hit.turn, hit.speaker.unwrap_or_default(), hit.snippet);
    }
    Ok(())
}
