//! Assembles the context a program is given: one bounded block of handoff, heads, pages and recalled items
//! (R10.4–R10.7). Storey 3.
//!
//! [`assemble`] only reads; [`give`] also records what was given to which session, so that it is not given twice, can
//! be replayed and can be explained. Room is assigned in restoration order; cacheable parts are printed first. The
//! budgets are in one table ([`budget`]).

mod already_given;
pub mod budget;
pub mod epoch;
mod held;
mod parts;
mod print;
mod record;

pub(crate) use held::{forget_items, forget_unknown};
pub(crate) use record::forget as forget_given;

use serde_json::{Value, json};

use crate::audience::{Audience, Hint, Keeps};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::{Audit, Read, Write};
use crate::program::HookCall;
use crate::recall::recalled::{Dropped, Recalled};
use crate::scope::{AgentNo, SessionKey, named};
use crate::tokens::{cut, tokens};
use crate::tree::AssistantHome;

pub use crate::recall::replay::{ContextId, Replayed, list, replay};
pub use budget::Part;
pub use print::{FENCE, contained};

named! {
    /// The moment at which a program asks for a context.
    pub enum Event {
        /// A session begins with an empty context.
        Start = "start",
        /// A program continues its own session: its context still holds what it held (R10.5).
        Resume = "resume",
        /// A person cleared the context, and wants it empty.
        Clear = "clear",
        /// The context was cut.
        Compact = "compact",
        /// A person sent a prompt.
        Prompt = "prompt",
    }
}

impl Event {
    pub fn parse(name: &str) -> Result<Event> {
        Event::named(name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::usage(format!("{shown:?} is no event")).hint("use start, resume, clear, compact or prompt")
        })
    }
}

/// Capabilities of the requesting program; stored with the context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Name of the program, such as `claude-code`, or of another client.
    pub program: String,
    /// The channel a context is delivered through: `additionalContext`, `system`, `stdout`.
    pub channel: String,
    /// Whether the program stores what it is given and sends it again itself; otherwise every call returns the whole
    /// context (R10.6).
    pub stores: bool,
    /// Whether the program keeps the newest turns itself; otherwise the context includes them.
    pub keeps_tail: bool,
    /// Whether the program keeps the person's messages over a compaction, in addition to its summary.
    pub keeps_words: bool,
    /// Largest number of characters it accepts.
    pub characters: usize,
}

impl Capabilities {
    /// Returns the capabilities of a program that calls a hook. Every program with hooks keeps its newest turns itself.
    pub fn of(call: &HookCall) -> Capabilities {
        Capabilities {
            program: call.program.to_owned(),
            channel: call.injection.channel.to_owned(),
            stores: call.injection.stores,
            keeps_tail: true,
            keeps_words: call.injection.keeps_words,
            characters: call.injection.characters,
        }
    }

    /// Returns what the program keeps in its model's context by itself.
    pub fn keeps(&self) -> Keeps {
        Keeps { turns: self.keeps_tail, words: self.keeps_words }
    }

    fn manifest(&self) -> Value {
        json!({
            "program": self.program, "channel": self.channel, "stores": self.stores, "keeps_tail": self.keeps_tail,
            "keeps_words": self.keeps_words, "characters": self.characters,
        })
    }
}

/// A request for a context.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    pub session: SessionKey,
    pub event: Event,
    pub hint: Hint,
    pub prompt: Option<&'a str>,
    /// Largest number of tokens of the whole block; `None` for the event's default.
    pub budget: Option<usize>,
    pub can: Capabilities,
}

impl Ask<'_> {
    /// Returns the audience of the request, with what its program keeps.
    pub fn audience(&self, tx: &Read, agent_no: AgentNo) -> Result<Audience> {
        let audience = Audience::of(tx, agent_no, &self.session, &self.hint)?;
        let cut = epoch::told_cut(tx, agent_no, &self.session)?;
        Ok(Audience { keeps: self.can.keeps(), cut, ..audience })
    }
}

/// A part as it is given.
#[derive(Clone, PartialEq, Debug)]
pub struct PartGiven {
    pub part: Part,
    /// Whether the part is the same in every session of the thread until a page changes, so that a prompt cache can
    /// reuse it.
    pub cacheable: bool,
    pub tokens: usize,
    pub text: String,
    said: Vec<Said>,
}

/// A line of a part.
#[derive(Clone, PartialEq, Debug)]
struct Said {
    /// The item it refers to.
    item: Option<String>,
    /// The bytes that identify its version.
    version: Vec<u8>,
    /// Number of the line in the text of its part, counted from 0.
    line: usize,
    why: budget::Chosen,
}

impl PartGiven {
    /// Returns the ids its lines refer to; `heirloom expand` accepts them.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.said.iter().filter_map(|said| said.item.as_deref())
    }
}

/// A context.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    /// The id of its record; `None` if it was only assembled or contains nothing new.
    pub id: Option<ContextId>,
    /// The text for the program, fence included; empty if there is nothing to give.
    pub block: String,
    pub tokens: usize,
    /// Parts in printed order.
    pub parts: Vec<PartGiven>,
    pub dropped: Vec<Dropped>,
    pub degraded: Vec<String>,
    pub epoch: u64,
    pub audience: Audience,
    /// Digest of the sanitised request: equal requests over equal memory have equal fingerprints.
    pub fingerprint: String,
    /// The last context the session had been given in this epoch when this one was planned.
    seen: ContextId,
}

/// Largest number of tokens of a prompt stored with a request: enough to show its subject.
const PROMPT_TOKENS: usize = 200;

/// Assembles a context and records it. If there is nothing new, nothing is recorded.
pub fn give(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    give_with(at, ask, recalled, |_| Ok(()))
}

/// Does the same as [`give`], with `also` in the transaction that records the context.
pub(crate) fn give_with(
    at: &AssistantHome,
    ask: &Ask,
    recalled: Recalled,
    also: impl FnOnce(&mut Write) -> Result<()>,
) -> Result<Given> {
    let given = plan(at, ask, recalled)?;
    if given.parts.is_empty() {
        return at.read(|tx| record::standing_only(tx, ask, given));
    }
    at.ledger.write(Audit::new(&at.actor, "context.give").of_agent(at.agent_no), |tx| {
        also(tx)?;
        given.record(tx, at, ask)
    })
}

/// Assembles a context without recording it, to preview it.
pub fn assemble(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    let mut given = plan(at, ask, recalled)?;
    if !given.parts.is_empty() {
        given.block = print::block(&given, None, at);
    }
    given.tokens = tokens(&given.block);
    Ok(given)
}

/// Plans a context in parts.
pub(crate) fn plan(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    at.read(|tx| {
        let audience = ask.audience(tx, at.agent_no)?;
        let epoch = epoch::of(tx, &audience, ask.event)?;
        let now = at.ledger.now();
        let seen = record::last(tx, &audience, epoch)?;
        let stretches = held::stretches(tx, &audience, epoch)?;
        let held = held::held(tx, at.agent_no, &stretches)?;
        let Recalled { items, mut dropped, degraded } = recalled;
        let mut drafts = parts::drafts(at, tx, ask, &audience, items, now)?;
        drafts.iter_mut().for_each(|draft| budget::distinct(draft, &mut dropped));
        parts::say_goal_once(&mut drafts, &mut dropped);
        // Most prompts recall nothing, and then there is nothing to compare with earlier contexts.
        let told = match drafts.iter().all(|draft| draft.pieces.is_empty()) {
            true => already_given::Told::default(),
            false => already_given::Told::of(tx, &audience, &stretches)?,
        };
        let most = budget::most(ask.event, ask.budget, ask.can.characters);
        let spare = most.saturating_sub(print::FENCE_TOKENS);
        let mut parts = budget::share(ask.event, spare, &drafts, &held, told, &mut dropped);
        // Room was assigned in restoration order; a prompt cache needs stable parts first.
        parts.sort_by_key(|p| (!p.cacheable, p.part));
        let fingerprint =
            print::hex(blake3::hash(request(ask, &audience, epoch, &parts).to_string().as_bytes()).as_bytes());
        let tokens = parts.iter().map(|p| p.tokens).sum();
        Ok(Given {
            id: None,
            block: String::new(),
            tokens,
            parts,
            dropped,
            degraded,
            epoch,
            audience,
            fingerprint,
            seen,
        })
    })
}

/// Returns the request as it is stored: credentials redacted, bounded, with digests instead of the items given.
fn request(ask: &Ask, audience: &Audience, epoch: u64, parts: &[PartGiven]) -> Value {
    let prompt = ask.prompt.map(|p| cut(&crate::redact::redact(p), PROMPT_TOKENS));
    json!({
        "session": ask.session.as_str(), "event": ask.event.name(), "epoch": epoch,
        "thread": audience.thread.as_ref().map(|t| &t.key), "workspace": audience.workspace, "prompt": prompt,
        "budget": ask.budget, "can": ask.can.manifest(),
        "parts": parts.iter().map(|p| json!({
            "part": p.part.name(), "digest": print::hex(&blake3::hash(p.text.as_bytes()).as_bytes()[..8]),
        })).collect::<Vec<_>>(),
    })
}

/// Ten minutes: a session active since then may still be running.
const RUNNING_MS: Millis = 10 * 60_000;
