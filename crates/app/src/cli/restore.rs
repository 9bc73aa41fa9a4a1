//! `heirloom restore`

use std::path::{Path, PathBuf};

use heirloom_engine::engine::put_back;
use heirloom_engine::error::Result;
use heirloom_engine::home::HomeOptions;
use heirloom_engine::report::home::Restored;
use heirloom_engine::tree::restore;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::{config, print};

/// Bring back a page, memory or open loop that was deleted by hand, or a whole backup
///
/// When you delete a page, memory or open loop by hand, heirloom no longer uses it, but keeps its last version for 30 days.
/// This command writes that version back, byte for byte. It never overwrites a file. It cannot bring back what heirloom
/// forget removed. --from DIR writes a backup into a home that has no memory yet, and verifies it.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The path it had in the visible files, or its id (m:…, l:…)
    #[arg(value_name = "PATH", required_unless_present = "from")]
    name: Option<String>,

    /// A whole memory, from this folder made by heirloom backup
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    from: Option<PathBuf>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if let Some(from) = &args.from {
        return whole(global, from);
    }
    let name = args.name.unwrap_or_default();
    let engine = Context::open(global)?.acting_as("cli restore");
    let path = engine.act(|lock| restore::restore(lock, &name).map(|path| lock.at.shown(&path)))?;
    let report = Restored { restored: path };
    Ok(print::answer(global.json, &report, || {
        print::line(&format!("Back again: {}", print::safe_line(&report.restored)));
    }))
}

fn whole(global: &Global, from: &Path) -> Result<Exit> {
    let root = config::home(global.home.as_deref())?.value;
    let report = put_back(from, &root, &HomeOptions { allow_network_fs: config::allow_network_fs() })?;
    let verified = Context::open(global)?.acting_as("cli restore").verify()?;
    let exit = if verified.is_damaged() { Exit::Damaged } else { Exit::Ok };
    print::answer(global.json, &report, || {
        let files = print::counted(report.files, "file");
        print::line(&format!(
            "Back again in {}: {files}, {}, as of {}",
            print::safe_line(&report.home),
            print::bytes(report.bytes),
            print::safe_line(&report.of)
        ));
        let found = verified.findings.iter().filter(|_| verified.is_damaged());
        found.for_each(|f| print::note(&format!("{}: {}", print::safe_line(&f.subject), print::safe_line(&f.what))));
    });
    Ok(exit)
}
