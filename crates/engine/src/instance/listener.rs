//! What a verb tells beside its result: notices for a person, and how far long work has come. Wording and drawing are the
//! caller's.

use crate::error::{Error, Problem};

/// Hears what happens while a verb runs. Called from the thread that runs it.
pub trait Listener: Send + Sync {
    /// Something a person may want to know. It keeps nothing from being done.
    fn notice(&self, _notice: &Notice) {}

    /// Long work has come this far.
    fn progress(&self, _progress: Progress) {}
}

/// Hears nothing.
pub struct Silent;

impl Listener for Silent {}

/// Something worth telling that is no error of the verb.
#[derive(Debug)]
pub enum Notice<'n> {
    /// The home was in use and its ledger is not there any more: a new, empty one was made.
    LedgerMadeAnew,
    /// What hooks left in the spool could not be stored now; it is tried again.
    SpoolLeft(&'n Error),
    /// Something forgotten is not gone everywhere yet; it is tried again.
    ForgettingLeft(&'n Error),
    /// No page could be rendered; the pages stay marked.
    PagesLeft(&'n Error),
    /// One page could not be rendered; it stays marked.
    PageLeft(&'n Problem),
    /// Visible pages could not be made or opened after conversations came in.
    PagesOutOfReach(&'n Error),
    /// Visible files were left out of a search: they are out of reach.
    FilesLeftOut(&'n Error),
    /// The pages about the moment could not be written.
    MomentLeft(&'n Error),
    /// Lines a person wrote into MEMORY.md's block were kept as this proposal, or as this open loop.
    LinesProposed(&'n str),
    /// There is no model that places texts in space: words alone are searched.
    WordsOnly(&'n Error),
    /// Words of something forgotten may still be in the search index.
    IndexMayRemember(&'n Error),
}

/// How far long work has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It begins, and is done after so many steps.
    Begin(Task, u64),
    /// So many steps are done.
    Done(u64),
    /// So many steps more are done.
    More(u64),
    /// So many of so many sources are begun.
    Source(usize, usize),
    End,
}

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// In bytes of source.
    Importing,
    /// In turns.
    Indexing,
    /// In sessions.
    Distilling,
    /// In bytes of source.
    Verifying,
    /// For what is to be forgotten; in bytes of source, twice.
    Looking,
    /// A backup is written, compared and packed, once the ledger is copied; in bytes, as often as they are read.
    BackingUp,
    /// A backup is read, compared and put back; in bytes, as often as they are read.
    PuttingBack,
    /// Everything into plain files; in files.
    Exporting,
    /// A home is made of an export; in files, read and compared.
    TakingIn,
}
