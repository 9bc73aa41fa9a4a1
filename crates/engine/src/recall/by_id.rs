//! Gives the turns and nodes that a question names by their ids in brackets, `[t9c11]`, `[n4]`, as pages and contexts
//! print them. They come first, whatever their words; an id that nothing has is reported.

use super::live::Live;
use super::named::Named;
use super::program;
use super::recalled::{Dropped, Item, Recalled, Stage};
use super::snippet::{self, Sought};
use super::staged::admission;
use super::turns::scope_of_turn;
use super::withheld::IN_CONTEXT;
use crate::audience::Audience;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage;
use crate::redact::redact;
use crate::render::memory::Scope;
use crate::scope::{NodeId, TurnId};
use crate::thread;
use crate::transcript::{read, role_name};
use crate::tree::AssistantHome;

/// Largest number of items that are given by their ids.
const MOST: usize = 4;

/// Returns what is named, in the order of the ids. What the audience has in its context, and text of machines, is
/// dropped; an id of nothing is added to `degraded`.
pub(super) fn items(
    at: &AssistantHome,
    (audience, live): (Option<&Audience>, &Live),
    named: &Named,
    out: &mut Recalled,
) -> Result<Vec<Item>> {
    if named.bracketed.is_empty() {
        return Ok(Vec::new());
    }
    at.read(|tx| {
        let mut items = Vec::new();
        for id in named.bracketed.iter().take(MOST) {
            let found = match (TurnId::parse(id), NodeId::parse(id)) {
                (Some(turn), _) => of_turn(at, tx, turn, live, audience.is_some())?,
                (None, Some(node)) => of_node(at, tx, node)?,
                (None, None) => continue,
            };
            let (mut item, scope) = match found {
                Found::Thing(item, scope) => (*item, scope),
                Found::Withheld(why) => {
                    out.dropped.push(Dropped { id: id.clone(), why: why.to_owned() });
                    continue;
                }
                Found::Nothing => {
                    out.degraded.push(format!("there is no {id}"));
                    continue;
                }
            };
            item.thread = admission(audience, named, true, &scope, &mut item.reasons).flatten();
            items.push(item);
        }
        Ok(items)
    })
}

/// The thing with an id.
enum Found {
    Thing(Box<Item>, Scope),
    /// Exists, but is not given: the reason.
    Withheld(&'static str),
    Nothing,
}

fn of_turn(at: &AssistantHome, tx: &Read, id: TurnId, live: &Live, for_program: bool) -> Result<Found> {
    let Some(turn) = read::find_turn(tx, &Opener::of_one(), at.agent_no, id)?.filter(|turn| !turn.text.is_empty())
    else {
        return Ok(Found::Nothing);
    };
    if live.holds(tx, id)? {
        return Ok(Found::Withheld(IN_CONTEXT));
    }
    if for_program && program::is_machine(turn.role, turn.kind) {
        return Ok(Found::Withheld("text of a machine"));
    }
    let said = snippet::unnumbered(&turn.text);
    let item = Item {
        id: id.to_string(),
        stage: Stage::Transcript,
        kind: turn.speaker.clone().unwrap_or_else(|| role_name(turn.role).to_owned()),
        text: beginning(&redact(&said)),
        thread: None,
        at: turn.at,
        score: 1.0,
        reasons: vec!["named by its id".to_owned()],
        marks: Vec::new(),
    };
    Ok(Found::Thing(Box::new(item), scope_of_turn(tx, at.agent_no, id)?))
}

fn of_node(at: &AssistantHome, tx: &Read, id: NodeId) -> Result<Found> {
    let Some(node) = lineage::find(tx, at.agent_no, id)?.filter(|node| !node.abandoned) else {
        return Ok(Found::Nothing);
    };
    let thread = thread::named(tx, at.agent_no, &node.thread)?;
    let item = Item {
        id: id.to_string(),
        stage: Stage::Lineage,
        kind: node.kind.name().to_owned(),
        text: beginning(&redact(&node.summary)),
        thread: None,
        at: node.times.1,
        score: 1.0,
        reasons: vec!["named by its id".to_owned()],
        marks: node.model.iter().map(|model| format!("by {model}")).collect(),
    };
    Ok(Found::Thing(Box::new(item), Scope::Thread(thread.no, thread.label)))
}

/// Returns the first sentences of a text; `expand` leads to all of it.
fn beginning(text: &str) -> String {
    snippet::plain(text, &Sought { needles: &[], weights: &[], near: None })
}
