//! Requests of people to be let in on a channel, and the answers. Heirloom only records them: the channel's own program
//! lets people in and reports it here.

use heirloom_engine::report::channel::{AnsweredReport, RequestReport, RequestsReport};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::page::{self, Page, Rank};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/channels/requests", "requests", "Who waits to be let in on a channel, newest first.", requests),
        post(
            "/v1/channels/requests",
            "request.ask",
            "Note that somebody asks to be let in; while they wait, asking again is the same request.",
            ask,
        ),
        post("/v1/channels/requests/{id}/approve", "request.approve", "Note that they were let in.", approve),
        post("/v1/channels/requests/{id}/deny", "request.deny", "Note that they were not let in.", deny),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequestsQuery {
    /// Include answered requests.
    #[serde(default)]
    all: bool,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn requests(asked: &Asked, query: RequestsQuery) -> Answer<Page<RequestReport>> {
    let RequestsReport { events, .. } = asked.engine.requests(query.all, usize::MAX >> 1)?;
    page::of_all("requests", events, (query.limit, query.cursor.as_deref()), |request| {
        Rank(false, String::new(), format!("{:020}", request.event.no.0))
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskBody {
    /// The channel, as its program names it: `telegram`.
    channel: String,
    /// Id of the person, as the channel names them.
    peer: String,
    /// Name the person goes by.
    name: Option<String>,
    /// Message the person sent with the request.
    detail: Option<String>,
}

fn ask(asked: &Asked, body: AskBody) -> Answer<AnsweredReport> {
    let AskBody { channel, peer, name, detail } = body;
    Ok(asked.engine.ask_in(&channel, &peer, name.as_deref(), detail.as_deref())?)
}

fn approve(asked: &Asked, _: Nothing) -> Answer<AnsweredReport> {
    Ok(asked.engine.answer_asked(&[asked.at("id").to_owned()], true)?)
}

fn deny(asked: &Asked, _: Nothing) -> Answer<AnsweredReport> {
    Ok(asked.engine.answer_asked(&[asked.at("id").to_owned()], false)?)
}
