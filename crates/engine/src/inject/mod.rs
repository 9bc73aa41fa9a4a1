//! What a program is given: one bounded block put together from handoff, heads, pages and what recall found (R10.4–R10.7).
//! Storey 3.
//!
//! [`assemble`] reads, [`give`] also records: what was given where, so that it is not given twice, can be replayed, and
//! can be explained. Restoration order decides who gets room first; printing is cacheable parts first. The budgets stand
//! in one table ([`budget`]).

pub mod budget;
mod dedup;
pub mod epoch;
mod parts;
mod print;
mod record;

pub(crate) use record::forget as forget_given;

use serde_json::{Value, json};

use crate::audience::{Audience, Hint};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::Audit;
use crate::program::HookCall;
use crate::recall::recalled::{Dropped, Recalled};
use crate::scope::SessionKey;
use crate::tokens::{cut, tokens};
use crate::tree::AssistantHome;

pub use crate::recall::given::{ContextId, Replayed, list, replay};
pub use budget::Part;
pub use print::{FENCE, contained};

/// When a program asks for a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A session begins, with nothing in its context.
    Start,
    /// A program goes on with its own session: what it holds it still holds (R10.5).
    Resume,
    /// A person cleared the context, and wants it clear.
    Clear,
    /// The context was cut.
    Compact,
    /// A person said something.
    Prompt,
}

impl Event {
    pub const ALL: [Event; 5] = [Event::Start, Event::Resume, Event::Clear, Event::Compact, Event::Prompt];

    pub fn name(self) -> &'static str {
        match self {
            Event::Start => "start",
            Event::Resume => "resume",
            Event::Clear => "clear",
            Event::Compact => "compact",
            Event::Prompt => "prompt",
        }
    }

    pub fn parse(name: &str) -> Result<Event> {
        Event::ALL.into_iter().find(|e| e.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::usage(format!("{shown:?} is no event")).hint("use start, resume, clear, compact or prompt")
        })
    }
}

/// What the program that asks can take; stored with what it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Its name, such as `claude-code`, or that of a client.
    pub program: String,
    /// How a context reaches it: `additionalContext`, `system`, `stdout`.
    pub channel: String,
    /// The program stores what it is given, and sends it again by itself; otherwise every call needs all of it (R10.6).
    pub stores: bool,
    /// The program keeps the newest turns itself; otherwise the raw tail is given, too.
    pub keeps_tail: bool,
    /// The most characters it accepts.
    pub characters: usize,
}

impl Capabilities {
    /// Those of a program that calls a hook. Every program with hooks keeps its newest turns itself.
    pub fn of(call: &HookCall) -> Capabilities {
        Capabilities {
            program: call.program.to_owned(),
            channel: call.injection.channel.to_owned(),
            stores: call.injection.stores,
            keeps_tail: true,
            characters: call.injection.characters,
        }
    }

    fn manifest(&self) -> Value {
        json!({
            "program": self.program, "channel": self.channel, "stores": self.stores, "keeps_tail": self.keeps_tail,
            "characters": self.characters,
        })
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    pub session: SessionKey,
    pub event: Event,
    pub hint: Hint,
    pub prompt: Option<&'a str>,
    /// The most tokens of the whole block; without one what the event has by itself.
    pub budget: Option<usize>,
    pub can: Capabilities,
}

/// A part as it is given.
#[derive(Clone, PartialEq, Debug)]
pub struct PartGiven {
    pub part: Part,
    /// The same in every session of the thread until a page changes, so that a prompt cache holds it.
    pub cacheable: bool,
    pub tokens: usize,
    pub text: String,
    /// What its lines lead to, each with what tells this version of it from another.
    said: Vec<(Option<String>, Vec<u8>)>,
}

impl PartGiven {
    /// What its lines lead to: ids `heirloom expand` takes.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.said.iter().filter_map(|(item, _)| item.as_deref())
    }
}

/// A context.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    /// Where it was recorded; `None` of one that was only assembled, or in which nothing is new.
    pub id: Option<ContextId>,
    /// What the program is given, fence included; empty where there is nothing to give.
    pub block: String,
    pub tokens: usize,
    /// In the order they are printed.
    pub parts: Vec<PartGiven>,
    pub dropped: Vec<Dropped>,
    pub degraded: Vec<String>,
    pub epoch: u64,
    pub audience: Audience,
    /// Of the sanitised request: equal requests over equal memory have equal ones.
    pub fingerprint: String,
    /// The last context the session had been given in this epoch when this one was planned.
    seen: ContextId,
}

/// The longest prompt that is stored with a request, in tokens: what it was about, not all of it.
const PROMPT_TOKENS: usize = 200;

/// Puts a context together, records it, and says what it is. Nothing new to say: nothing is recorded.
pub fn give(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    let given = plan(at, ask, recalled)?;
    if given.parts.is_empty() {
        return at.read(|tx| record::standing_only(tx, ask, given));
    }
    at.ledger.write(Audit::new(&at.actor, "context.give").of_agent(at.agent_no), |tx| given.record(tx, at, ask))
}

/// The same without recording it: a look at what would be given.
pub fn assemble(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    let mut given = plan(at, ask, recalled)?;
    if !given.parts.is_empty() {
        given.block = print::block(&given, None, at.ledger.now(), at);
    }
    given.tokens = tokens(&given.block);
    Ok(given)
}

/// What would be given, in parts.
pub(crate) fn plan(at: &AssistantHome, ask: &Ask, recalled: Recalled) -> Result<Given> {
    at.read(|tx| {
        let audience = Audience::of(tx, at.agent_no, &ask.session, &ask.hint)?;
        let epoch = epoch::of(tx, &audience, ask.event)?;
        let now = at.ledger.now();
        let seen = record::last(tx, &audience, epoch)?;
        let held = dedup::held(tx, at.agent_no, &dedup::stretches(tx, &audience, epoch)?)?;
        let Recalled { items, mut dropped, degraded } = recalled;
        let drafts = parts::drafts(at, tx, ask, &audience, items, now)?;
        let most = budget::most(ask.event, ask.budget, ask.can.characters);
        let spare = most.saturating_sub(print::FENCE_TOKENS);
        let mut parts = budget::share(ask.event, spare, &drafts, &held, &mut dropped);
        // Restoration order has decided who has room; a prompt cache wants what seldom changes in front.
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

/// The request as it is stored: without credentials, bounded, with digests in the place of what was given.
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

/// Ten minutes: a session that was active so lately may still be running.
const RUNNING_MS: Millis = 10 * 60_000;
