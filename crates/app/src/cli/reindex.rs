//! `heirloom reindex`

use std::time::{Duration, Instant};

use heirloom_engine::error::Result;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Make the search index anew from the ledger and the visible files; nothing can be lost
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let started = Instant::now();
    let context = Context::open(global)?;
    let _lock = context.home().try_lock("import")?;
    let mut index = context.instance().recreate_index(Duration::from_secs(5))?;
    let turns = context.instance().build(&mut index)?;
    let files = context.instance().build_files(&mut index, "cli reindex")?;
    let seconds = started.elapsed().as_secs_f64();
    if global.json {
        let value = json!({"turns": turns, "files": files, "bytes": index.bytes_on_disk(), "seconds": (seconds * 1000.0).round() / 1000.0});
        print::line(&value.to_string());
    } else {
        print::line(&format!(
            "{}{} indexed in {seconds:.1} s, {}",
            print::counted(turns, "turn"),
            if files == 0 { String::new() } else { format!(" and {}", print::counted(files, "file")) },
            print::bytes(index.bytes_on_disk())
        ));
    }
    Ok(Exit::Ok)
}
