//! A client of the plain line format: takes a conversation live, a JSON line for each turn, and prints what became of
//! each one after it was stored.
//! `echo '{"session": "kitchen", "text": "The oven is fixed."}' | cargo run --example plain_turns -p heirloom-engine -- HOME`

use std::io::BufRead;

use heirloom_engine::capture::LineAck;
use heirloom_engine::engine::{Engine, How, Options};
use heirloom_engine::error::{Error, Result};
use heirloom_harness::{HostPaths, on_machine};

fn main() -> Result<()> {
    let home = std::env::args().nth(1).expect("HOME");
    let options = Options { programs: on_machine(&HostPaths::default()), ..Options::default() };
    let engine = Engine::open(home.as_ref(), How::Create, options)?.acting_as("example");
    engine.append("turns", true, |appending| {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|e| Error::io("read", "standard input".as_ref(), e))?;
            match appending.line(line.as_bytes())? {
                LineAck::Stored { session, .. } => println!("stored in {}", session.as_str()),
                LineAck::Known { turn, .. } => println!("known as {turn}"),
                LineAck::Refused { reason } => println!("refused: {reason}"),
            }
        }
        Ok(())
    })
}
