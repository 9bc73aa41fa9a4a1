//! Input: hooks, live lines, and imports of session stores.

use axum::http::Method;
use heirloom_engine::report::import::{Imported, LineReport, LinesReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::ImportRequest;
use crate::concurrency::Kind;
use crate::problem::{Problem, Wrong};
use crate::raw;
use crate::route::{Asked, Gives, Route, Takes, post, raw as raw_route, send};

pub fn routes() -> Vec<Route> {
    vec![
        raw_route(
            Method::POST,
            "/v1/hooks/{program}/{event}",
            "hook",
            "A program's hook: its payload as it is; answers what the hook prints. Only through the socket.",
            (
                Takes::Bytes("application/octet-stream", "What the program wrote to its hook, at most 16 MiB."),
                Gives::Other("application/octet-stream", "What the hook prints; 204 where it prints nothing."),
            ),
            raw::hook,
        ),
        send(
            "/v1/append",
            "append",
            "Store a live conversation: a JSON line for each turn; the same record twice is one turn.",
            ("application/x-ndjson", "One object a line: `session`, `text`, and more (docs/API.md)."),
            append,
        ),
        post("/v1/import", "import", "Read what is new in the programs' session stores.", import).kind(Kind::Imports),
    ]
}

/// Results for the lines that were sent.
#[derive(Serialize, JsonSchema)]
struct Appended {
    /// One entry for each line that was not blank, in the order sent.
    lines: Vec<LineReport>,
    #[serde(flatten)]
    all: LinesReport,
}

fn append(asked: &Asked) -> Answer<Appended> {
    let mut done = Appended { lines: Vec::new(), all: LinesReport::default() };
    asked.engine.append("turns", true, |appending| {
        for (number, line) in asked.body.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let ack = appending.line(line)?;
            done.all.count(&ack);
            done.lines.push(LineReport::of(number as u64 + 1, &ack));
        }
        Ok(())
    })?;
    Ok(done)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportBody {
    /// Names of the programs to import; empty for all of them.
    #[serde(default)]
    programs: Vec<String>,
    /// Files and folders to read in place of the programs' own stores. Only accepted through the socket.
    #[serde(default)]
    paths: Vec<std::path::PathBuf>,
}

fn import(asked: &Asked, body: ImportBody) -> Answer<Imported> {
    if !body.paths.is_empty() && !asked.asker.is_local() {
        return Err(
            Problem::of(Wrong::Forbidden, "only a process on the socket may name files").next("leave out paths")
        );
    }
    if !asked.asker.is_local() && asked.engine.agent() != asked.api.0.parts.engine.agent() {
        // Sessions of this machine's programs belong to the home's own agent: the token of another agent must not
        // import them into that agent's memory and read them.
        let what = "sessions of programs are imported for the home's own agent";
        return Err(
            Problem::of(Wrong::Forbidden, what).next("use a token for that agent; heirloom token new makes one")
        );
    }
    let request = ImportRequest { programs: body.programs, paths: body.paths };
    Ok((asked.api.0.parts.import)(&asked.engine, request)?)
}
