//! Artifacts, and scheduled jobs with their runs.

use heirloom_engine::clock::rfc3339;
use heirloom_engine::continuity::Item;
use heirloom_engine::continuity::artifact::{NewArtifact, Text};
use heirloom_engine::continuity::output::Output;
use heirloom_engine::continuity::scheduled::{Outcome, ToldRun};
use heirloom_engine::error::Error;
use heirloom_engine::report::file::FileTextReport;
use heirloom_engine::report::items::EntryReport;
use heirloom_engine::report::scheduled::{AcknowledgedReport, JobReport, RunReport};
use heirloom_engine::tree::file_table::Kind;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::page::{self, Page, Rank};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/artifacts", "artifacts", "What was made and kept, newest first.", artifacts).of_files(),
        get("/v1/artifacts/{id}", "artifact", "An artifact with its text.", artifact).item(),
        post("/v1/artifacts", "artifact.add", "Keep a text; a taken name gets -2, -3.", keep),
        get("/v1/jobs", "jobs", "Every scheduled job and how it ended last, newest first.", jobs).item(),
        get("/v1/jobs/{name}", "job", "The last runs of a job, newest first.", job).item(),
        post(
            "/v1/jobs/{name}/runs",
            "job.tell",
            "Record a run that has ended; the same command begun at the same moment is the same run.",
            tell,
        ),
        post("/v1/jobs/{name}/ack", "job.ack", "Mark a job's failures as seen.", ack),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageQuery {
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn artifacts(asked: &Asked, query: PageQuery) -> Answer<Page<EntryReport>> {
    let all = asked.engine.artifacts(usize::MAX >> 1)?.artifacts;
    page::of_all("artifacts", all, (query.limit, query.cursor.as_deref()), |entry| {
        Rank(false, entry.entry.field("created").unwrap_or_default().to_owned(), entry.path.clone())
    })
}

fn artifact(asked: &Asked, _: Nothing) -> Answer<FileTextReport> {
    let none = || Error::not_found("nothing was kept yet").hint("POST /v1/artifacts");
    Ok(asked.engine.file(Kind::Artifact, asked.at("id"))?.ok_or_else(none)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KeepBody {
    /// Title in a few words; the file is named after the title and the day.
    title: String,
    /// Text of the artifact, as Markdown.
    text: String,
    /// The text is not Markdown: it is stored in a fence.
    #[serde(default)]
    plain: bool,
}

fn keep(asked: &Asked, body: KeepBody) -> Answer<Item> {
    if body.text.trim().is_empty() {
        return Err(Error::usage("there is no text to keep").hint("an artifact says something").into());
    }
    let text = if body.plain { Text::Plain(body.text) } else { Text::Markdown(body.text) };
    let source = Provenance { origin: Origin::Program, ..Provenance::default() };
    let created = asked.engine.now();
    let new = NewArtifact { title: body.title, text, source, kind: None, created, fields: serde_json::Map::new() };
    Ok(asked.engine.keep(&new)?)
}

fn jobs(asked: &Asked, query: PageQuery) -> Answer<Page<RunReport>> {
    let all = asked.engine.jobs()?.jobs;
    page::of_all("jobs", all, (query.limit, query.cursor.as_deref()), |run| {
        Rank(false, rfc3339(run.run.started_at), run.run.name.clone())
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobQuery {
    /// Number of runs: 1 to 500, default 50.
    limit: Option<u16>,
}

fn job(asked: &Asked, query: JobQuery) -> Answer<JobReport> {
    Ok(asked.engine.job(asked.at("name"), page::size(query.limit)?)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunBody {
    /// The command line, as a person would read it.
    command: String,
    /// Start time in milliseconds since 1970; default now.
    started_at: Option<i64>,
    /// Exit code; 0 is success. One of `exit_code`, `signal` and `error` is needed.
    exit_code: Option<i32>,
    /// Number of the signal that ended the job.
    signal: Option<i32>,
    /// Reason of a failure without an exit code, such as a command that could not be started or ran out of time.
    error: Option<String>,
    /// Output of the job, stored as an artifact; of a long output only the beginning and the end are kept.
    #[serde(default)]
    output: String,
}

fn tell(asked: &Asked, body: RunBody) -> Answer<RunReport> {
    let outcome = match (body.exit_code, body.signal, body.error) {
        (code, signal, Some(why)) => Outcome::Failed { code, signal, why },
        (Some(code), None, None) => Outcome::Exit(code),
        (None, Some(signal), None) => Outcome::Signal(signal),
        _ => return Err(Error::usage("say how the run ended").hint("exit_code, signal or error").into()),
    };
    let mut output = Output::default();
    output.push(body.output.as_bytes());
    let job = asked.at("name").to_owned();
    Ok(asked.engine.tell_run(&ToldRun { job, command: body.command, started_at: body.started_at, outcome, output })?)
}

fn ack(asked: &Asked, _: Nothing) -> Answer<AcknowledgedReport> {
    Ok(asked.engine.acknowledge(asked.at("name"))?)
}
