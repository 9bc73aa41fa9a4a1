//! `heirloom backup`

use std::path::{Path, PathBuf};

use heirloom_archive::{Lock, recipients_of};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::upkeep::BackedUp;

use crate::backup::{ENCRYPTED, PACKED, passphrase_of_file, passphrase_of_stdin};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::{config, print};

/// Copy the whole memory into a folder or one file, while programs run
///
/// Copies the ledger, the visible files, drafts, the spool and the settings as of one moment, then reads the copy back and
/// compares it. In a folder with an earlier backup of this memory only changed data is written. A name that ends with
/// .tar.zst makes one compressed file; one that ends with .age is encrypted (age), with a passphrase you are asked for, or
/// for recipients. A backup contains everything that was said, secrets included: encrypt it, or keep it where only you can
/// read it. heirloom restore --from restores it; the search index is rebuilt. The section backup of config.toml lets the
/// service make scheduled backups: to = "/folder", every = "1d", keep = 7, and recipients = ["age1…"] or
/// passphrase_file = "/file".
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A folder: new, empty, or with an earlier backup of this memory. Or a new file: NAME.tar.zst, NAME.tar.zst.age
    /// [default: the next scheduled backup of config.toml]
    #[arg(value_name = "DIR|FILE")]
    to: Option<PathBuf>,

    /// Encrypt for the owner of this public key (age1…); may be repeated
    #[arg(long, value_name = "AGE1", requires = "to", conflicts_with_all = ["passphrase_file", "passphrase_stdin"])]
    recipient: Vec<String>,

    /// Encrypt with the passphrase in this file; only you may have permission to read it
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "passphrase_stdin")]
    passphrase_file: Option<PathBuf>,

    /// Encrypt with the passphrase on standard input
    #[arg(long, requires = "to")]
    passphrase_stdin: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let engine = context.acting_as("cli backup");
    let Some(to) = &args.to else {
        let plan = config::file(engine.home())?.backup.plan()?.ok_or_else(|| {
            Error::usage("where to? config.toml has no section backup")
                .hint("heirloom backup DIR, or to = \"/folder\" there")
        })?;
        return Ok(said(global, &plan.run(&engine)?));
    };
    let lock = lock(&args, to)?;
    let report = match is_file(to) {
        true => engine
            .backup_packed(to, &|folder, file, progress| heirloom_archive::write(folder, file, &lock, progress))?,
        false => engine.backup(to)?,
    };
    Ok(said(global, &report))
}

/// Returns whether the name has the ending of a packed backup, so that one file is asked for.
fn is_file(to: &Path) -> bool {
    let name = to.to_string_lossy();
    (name.ends_with(PACKED) || name.ends_with(".age")) && !to.is_dir()
}

fn lock(args: &Args, to: &Path) -> Result<Lock> {
    let is_encrypted = !args.recipient.is_empty() || args.passphrase_file.is_some() || args.passphrase_stdin;
    let name = to.to_string_lossy();
    let ends_so = is_file(to) && name.ends_with(".age");
    if is_encrypted && !ends_so {
        return Err(Error::usage("an encrypted backup is one file whose name ends with .age")
            .hint(format!("heirloom backup {}{ENCRYPTED} …", print::safe_line(name.trim_end_matches(PACKED)))));
    }
    const OTHERS: [&str; 9] = [".zip", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".7z", ".zst", ".db"];
    if !is_file(to) && !to.exists() && OTHERS.iter().any(|ending| name.ends_with(ending)) {
        let what = format!("{} would be a folder: a backup in one file is NAME.tar.zst", print::safe_line(&name));
        return Err(Error::usage(what).hint("give it that ending, or make the folder first"));
    }
    match (&args.passphrase_file, args.passphrase_stdin) {
        (Some(file), _) => passphrase_of_file(file).and_then(|text| Lock::passphrase(&text)),
        (None, true) => passphrase_of_stdin().and_then(|text| Lock::passphrase(&text)),
        _ if !args.recipient.is_empty() => recipients_of(&args.recipient),
        _ if ends_so => {
            let first = crate::backup::ask("Passphrase: ")?.ok_or_else(|| {
                Error::usage("nothing says what to encrypt it with")
                    .hint("--recipient age1…, --passphrase-file FILE or --passphrase-stdin")
            })?;
            let lock = Lock::passphrase(&first)?;
            match crate::backup::ask("The same again: ")? {
                Some(second) if second == first => Ok(lock),
                _ => Err(Error::usage("the two are not the same; nothing was written").hint("run it again")),
            }
        }
        _ => Ok(Lock::None),
    }
}

fn said(global: &Global, report: &BackedUp) -> Exit {
    print::answer(global.json, report, || {
        let size = match (report.packed, report.reused) {
            (Some(packed), _) => format!("{}, packed {}", print::bytes(report.bytes), print::bytes(packed)),
            (None, 0) => print::bytes(report.bytes),
            (None, reused) => {
                format!(
                    "{}, {} of it unchanged and not written again",
                    print::bytes(report.bytes),
                    print::bytes(reused)
                )
            }
        };
        print::line(&format!(
            "{}  {}, {size}, up to audit row {}",
            print::safe_line(&report.backup),
            print::counted(report.files, "file"),
            report.audit_row
        ));
        for left in &report.left_out {
            print::note(&format!("not in it: {}", print::safe_line(left)));
        }
    })
}
