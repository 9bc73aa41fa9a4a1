//! `heirloom restore`

use heirloom_engine::error::Result;
use heirloom_engine::report::home::Restored;
use heirloom_engine::tree::restore;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Bring back a page, memory or open loop that was deleted by hand
///
/// What you delete in the visible files is gone from the memory; its newest state is kept for 30 days. Comes back with
/// the bytes it had; a file that is there is never overwritten. What heirloom forget removed is kept nowhere.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The path it had in the visible files, or its id (m:…, l:…)
    #[arg(value_name = "PATH")]
    name: String,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli restore");
    let path = engine.act(|lock| restore::restore(lock, &args.name).map(|path| lock.at.shown(&path)))?;
    let report = Restored { restored: path };
    Ok(print::answer(global.json, &report, || {
        print::line(&format!("Back again: {}", print::safe_line(&report.restored)));
    }))
}
