//! `heirloom reindex`

use heirloom_engine::error::Result;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Rebuild the search index from the ledger and the visible files; nothing can be lost
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let done = Context::open(global)?.acting_as("cli reindex").reindex()?;
    Ok(print::answer(global.json, &done, || {
        print::line(&format!(
            "{}{} indexed in {:.1} s, {}",
            print::counted(done.turns, "turn"),
            if done.files == 0 { String::new() } else { format!(" and {}", print::counted(done.files, "file")) },
            done.seconds,
            print::bytes(done.bytes)
        ));
    }))
}
