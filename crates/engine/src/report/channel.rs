//! Requests to be let into a channel, as reports.

use schemars::JsonSchema;
use serde::Serialize;

use crate::continuity::Change;
use crate::continuity::channel::Event;
use crate::redact::redact;

/// A request of a person to be let into a channel. Name and detail are without credentials.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RequestReport {
    /// Id of the request, such as `c:17`.
    pub id: String,
    #[serde(flatten)]
    pub event: Event,
    /// Change that an act made to the request; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl RequestReport {
    pub fn of(event: Event, change: Option<Change>) -> RequestReport {
        let clean = |text: &Option<String>| text.as_deref().map(|t| redact(t).into_owned());
        let event = Event { name: clean(&event.name), detail: clean(&event.detail), ..event };
        RequestReport { id: event.id(), event, change }
    }
}

/// Requests, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct RequestsReport {
    pub events: Vec<RequestReport>,
    /// Number of all requests, including those the filter left out.
    pub all: u64,
}

/// Requests that were just made or answered.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct AnsweredReport {
    pub events: Vec<RequestReport>,
}

impl AnsweredReport {
    pub fn of(events: Vec<(Event, Change)>) -> AnsweredReport {
        let events = events.into_iter().map(|(event, change)| RequestReport::of(event, Some(change)));
        AnsweredReport { events: events.collect() }
    }
}
