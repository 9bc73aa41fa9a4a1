//! Messages of a verb besides its result: notices for a person, and progress of long work. The caller words and draws
//! them.

use crate::error::{Error, Problem};

/// Receives notices and progress while a verb runs. Called on the thread that runs the verb.
pub trait Listener: Send + Sync {
    /// Receives something a person may want to know. It does not stop the verb.
    fn notice(&self, _notice: &Notice) {}

    /// Receives the progress of long work.
    fn progress(&self, _progress: Progress) {}
}

/// Ignores everything.
pub struct Silent;

impl Listener for Silent {}

/// Something worth reporting that is not an error of the verb.
#[derive(Debug)]
pub enum Notice<'n> {
    /// The home was in use before but its ledger is gone: a new, empty one was made.
    LedgerMadeAnew,
    /// Calls in the spool could not be stored now; a later command tries again.
    SpoolLeft(&'n Error),
    /// Something forgotten could not be removed everywhere yet; a later command tries again.
    ForgettingLeft(&'n Error),
    /// No page could be rendered; the pages stay marked.
    PagesLeft(&'n Error),
    /// One page could not be rendered; it stays marked.
    PageLeft(&'n Problem),
    /// Visible pages could not be made or opened after conversations came in.
    PagesOutOfReach(&'n Error),
    /// The visible files cannot be reached and were left out of a search.
    FilesLeftOut(&'n Error),
    /// The pages about the moment could not be written.
    MomentLeft(&'n Error),
    /// Lines a person wrote inside the rendered block of MEMORY.md were kept as this proposal or open loop.
    LinesProposed(&'n str),
    /// There is no embedding model: only words are searched.
    WordsOnly(&'n Error),
    /// Words of something forgotten may still be in the search index.
    IndexMayRemember(&'n Error),
}

/// Progress of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The task begins; it has this many steps.
    Begin(Task, u64),
    /// This many steps are done in all.
    Done(u64),
    /// This many more steps are done.
    More(u64),
    /// The source with the first number is begun; the second is the number of sources.
    Source(usize, usize),
    End,
}

/// The kind of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// Reading sources; steps are bytes of source.
    Importing,
    /// Indexing; steps are turns.
    Indexing,
    /// Distilling; steps are sessions.
    Distilling,
    /// Verifying; steps are bytes of source.
    Verifying,
    /// Planning what to forget; steps are bytes of source, counted twice because they are read twice.
    Looking,
    /// Writing, comparing and packing a backup, after the ledger was copied; steps are bytes, counted each time they
    /// are read.
    BackingUp,
    /// Reading, comparing and restoring a backup; steps are bytes, counted each time they are read.
    PuttingBack,
    /// Exporting everything as plain files; steps are files.
    Exporting,
    /// Making a home from an export; steps are files read and compared.
    TakingIn,
}
