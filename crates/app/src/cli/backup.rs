//! `heirloom backup`

use std::path::PathBuf;

use heirloom_engine::error::Result;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Copy the whole memory into a folder, while programs run
///
/// The ledger, the visible files, drafts, the spool and the settings, as of one moment, read back and compared. It has
/// everything that was said, secrets included: keep it where only you can read it. heirloom restore --from DIR puts it
/// back. The search index is made again.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A folder that is not there yet, or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let report = Context::open(global)?.acting_as("cli backup").backup(&args.folder)?;
    Ok(print::answer(global.json, &report, || {
        print::line(&format!(
            "{}  {}, {}, up to audit row {}",
            print::safe_line(&report.backup),
            print::counted(report.files, "file"),
            print::bytes(report.bytes),
            report.audit_row
        ));
        for left in &report.left_out {
            print::note(&format!("not in it: {}", print::safe_line(left)));
        }
    }))
}
