//! Requests to be let in on a channel.

use serde::Serialize;

use crate::clock::Millis;
use crate::continuity::Change;
use crate::continuity::channel::Event;
use crate::redact::redact;

/// A request to be let in on a channel. Times are in milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RequestReport {
    /// `c:17`.
    pub id: String,
    pub channel: String,
    /// The peer that asks, as the channel names it.
    pub peer: String,
    /// What the peer calls itself.
    pub name: Option<String>,
    pub detail: Option<String>,
    /// `pending`, `approved` or `denied`.
    pub state: &'static str,
    pub at: Millis,
    pub decided_at: Option<Millis>,
    /// What an act did to it: `new`, `changed` or `same`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<&'static str>,
}

impl From<Event> for RequestReport {
    fn from(event: Event) -> RequestReport {
        let clean = |text: Option<String>| text.map(|t| redact(&t).into_owned());
        RequestReport {
            id: event.id(),
            channel: event.channel,
            peer: event.peer,
            name: clean(event.name),
            detail: clean(event.detail),
            state: event.state.name(),
            at: event.at,
            decided_at: event.decided_at,
            change: None,
        }
    }
}

/// Requests, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct RequestsReport {
    pub events: Vec<RequestReport>,
    /// How many there are, those that were not asked for included.
    pub all: u64,
}

/// Requests after they were made or answered.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct AnsweredReport {
    pub events: Vec<RequestReport>,
}

impl AnsweredReport {
    pub fn of(events: Vec<(Event, Change)>) -> AnsweredReport {
        let events = events.into_iter().map(|(event, change)| {
            let report = RequestReport::from(event);
            RequestReport { change: Some(change.name()), ..report }
        });
        AnsweredReport { events: events.collect() }
    }
}
