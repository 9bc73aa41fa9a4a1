//! `heirloom restore`

use std::path::{Path, PathBuf};

use heirloom_archive::Key;
use heirloom_engine::engine::put_back;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::home::Restored;
use heirloom_engine::report::upkeep::PutBack;
use heirloom_engine::tree::restore;
use heirloom_engine::verify::{Finding, Severity};
use serde::Serialize;

use crate::backup::{ask, passphrase_of_file, passphrase_of_stdin, text_of};
use crate::context::{Context, Global, home_options};
use crate::error::Exit;
use crate::terminal::{Terminal, with_next_step};
use crate::{config, print};

/// Number of findings printed at most.
const SHOWN: usize = 20;

/// Bring back a page, memory or open loop that was deleted or emptied, or a whole backup
///
/// When you delete a page, memory or open loop by hand, heirloom no longer uses it, but keeps its last version for 30 days; so
/// it does when a file is empty or no text any more. This command writes that version back, byte for byte. Heirloom renders a
/// page again by itself: if you had written in it, this command restores your version and keeps the page rendered meanwhile as
/// a revision, as it keeps bytes that are no text. It overwrites no other file. It cannot bring back what heirloom forget removed. --from restores a whole backup into a home without a memory, verifies it
/// and makes its search index; for an encrypted backup it asks for the passphrase. In a home that has lost its ledger, the
/// pages that are left are set aside in a folder beside the home.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The path it had in the visible files, or its id (m:…, l:…)
    #[arg(value_name = "PATH", required_unless_present = "from")]
    name: Option<String>,

    /// Restore a whole memory from this folder or file made by heirloom backup
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "name")]
    from: Option<PathBuf>,

    /// File with the passphrase of the backup; only you may have permission to read it
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with_all = ["passphrase_stdin", "identity"])]
    passphrase_file: Option<PathBuf>,

    /// Read the passphrase of the backup from standard input
    #[arg(long, requires = "from", conflicts_with = "identity")]
    passphrase_stdin: bool,

    /// File with the secret key (from age-keygen) for which the backup was encrypted
    #[arg(long, value_name = "FILE", requires = "from")]
    identity: Option<PathBuf>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if let Some(from) = &args.from {
        return whole(global, from, &args);
    }
    let name = args.name.unwrap_or_default();
    let engine = Context::open(global)?.acting_as("cli restore");
    let path = engine.act(|lock| restore::restore(lock, &name).map(|path| lock.at.shown(&path)))?;
    let report = Restored { restored: path };
    Ok(print::answer(global.json, &report, || {
        print::line(&format!("Restored: {}", print::safe_line(&report.restored)));
    }))
}

fn whole(global: &Global, from: &Path, args: &Args) -> Result<Exit> {
    let root = config::home(global.home.as_deref())?.value;
    let (options, terminal) = (home_options(), Terminal::new(global.json));
    let report = match from.is_file() {
        true => {
            let unpacked = Unpacked::beside(&root)?;
            heirloom_archive::unpack(from, &key(from, args)?, &unpacked.0)?;
            put_back(&unpacked.0, &root, &options, &terminal)?
        }
        false => put_back(from, &root, &options, &terminal)?,
    };
    said(global, "cli restore", "Restored into", &report)
}

/// Report of a whole memory restored or imported into an empty home, with the findings of `verify`.
#[derive(Serialize)]
struct Made<'a> {
    #[serde(flatten)]
    made: &'a PutBack,
    /// True where `verify` found no damage.
    ok: bool,
    findings: &'a [Finding],
}

/// Verifies a memory that was just restored or imported, and prints the report with the findings.
pub fn said(global: &Global, actor: &str, begin: &str, made: &PutBack) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(actor);
    let verified = engine.verify()?;
    // The index is made below: what `verify` says of it, and of other derived data, is left out.
    let findings: Vec<Finding> = match verified.is_damaged() {
        true => verified.findings.iter().filter(|f| f.severity == Severity::Damaged).cloned().collect(),
        false => Vec::new(),
    };
    // A backup has no search index. Where it cannot be made, the next search tries again.
    if let Err(e) = engine.index_restored() {
        print::note(&format!("the search index is not made yet: {}", with_next_step(&e)));
    }
    let exit = if findings.is_empty() { Exit::Ok } else { Exit::Damaged };
    print::answer(global.json, &Made { made, ok: findings.is_empty(), findings: &findings }, || {
        print::line(&format!(
            "{begin} {}: {}, {}, as of {}",
            print::safe_line(&made.home),
            print::counted(made.files, "file"),
            print::bytes(made.bytes),
            print::safe_line(&made.of)
        ));
        if let Some(aside) = &made.aside {
            print::line(&format!("What was there without its ledger is in {}", print::safe_line(aside)));
        }
        if findings.is_empty() {
            print::line("Verified: everything is as it was stored.");
            return;
        }
        for f in findings.iter().take(SHOWN) {
            print::note(&format!("{}: {}", print::safe_line(&f.subject), print::safe_line(&f.what)));
        }
        print::note(&format!(
            "It is what was written, and that was damaged: {}. All of them: heirloom verify",
            print::counted(findings.len() as u64, "finding")
        ));
    });
    Ok(exit)
}

/// Returns the key that decrypts the backup: from the flags, or, where it is encrypted, from a prompt.
fn key(from: &Path, args: &Args) -> Result<Key> {
    if let Some(file) = &args.identity {
        return Key::identities(&text_of(file)?);
    }
    if let Some(file) = &args.passphrase_file {
        return passphrase_of_file(file).map(|text| Key::passphrase(&text));
    }
    if args.passphrase_stdin {
        return passphrase_of_stdin().map(|text| Key::passphrase(&text));
    }
    match heirloom_archive::is_encrypted(from)? {
        true => Ok(ask("Passphrase: ")?.map_or(Key::None, |text| Key::passphrase(&text))),
        false => Ok(Key::None),
    }
}

/// A temporary folder beside the home, on the same disk, into which a packed backup is unpacked. Dropping it removes it.
struct Unpacked(PathBuf);

impl Unpacked {
    fn beside(root: &Path) -> Result<Unpacked> {
        use std::os::unix::fs::DirBuilderExt as _;
        let root = std::path::absolute(root).map_err(|e| Error::io("find", root, e))?;
        let name = root.file_name().map_or_else(Default::default, |name| name.to_string_lossy().into_owned());
        let begin = format!(".{name}.restoring-");
        let parent = root.parent().unwrap_or(Path::new("/"));
        // A restore that was killed leaves its folder behind: remove those older than an hour.
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            let is_old = age.is_some_and(|age| age > std::time::Duration::from_secs(3600));
            if entry.file_name().to_string_lossy().starts_with(&begin) && is_old {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let folder = parent.join(format!("{begin}{}-{}", std::process::id(), now.as_nanos()));
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(&folder))
            .map_err(|e| Error::io("make", &folder, e))?;
        Ok(Unpacked(folder))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
