//! A memory in twenty lines: imports a session of Claude Code, searches it, and prints what a new session is given.
//! `cargo run --example first_twenty_lines -p heirloom-engine -- HOME SESSION.jsonl WORDS`
use heirloom_engine::engine::{ContextRequest, Engine, How, Options, SearchRequest, Source};
use heirloom_engine::{error::Result, inject::Event, program::Form};
use heirloom_harness::{HostPaths, on_machine};

fn main() -> Result<()> {
    let [home, session, words] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("HOME SESSION WORDS");
    let options = Options { programs: on_machine(&HostPaths::default()), ..Options::default() };
    let engine = Engine::open(home.as_ref(), How::Create, options)?.acting_as("example");
    let source = Source { program: "claude-code", form: Form::Lines, path: session.into() };
    let imported = engine.import(&[source])?;
    println!("{} turns new, {} problems", imported.turns.new, imported.problems.len());
    for hit in engine.search(&SearchRequest { query: words, ..SearchRequest::default() })?.hits {
        println!("{} {}: {}", hit.turn, hit.role, hit.snippet);
    }
    let given = engine.context(&ContextRequest::new("claude-code:a-new-session", Event::Start, "claude-code"))?;
    println!("{}", given.block);
    Ok(())
}
