//! State of the memory and of the process that serves it.

use axum::http::Method;
use heirloom_engine::report::home::{AgentsReport, ProjectsReport};
use heirloom_engine::report::status::{Overview, StatusReport};
use heirloom_engine::scope::AgentId;
use heirloom_engine::verify::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::ChecksReport;
use crate::concurrency::Kind;
use crate::guard::SESSION;
use crate::problem::{Problem, Wrong};
use crate::raw;
use crate::route::{Asked, Gives, Nothing, Route, Takes, get, post, raw as raw_route};
use crate::sessions;

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/status", "status", "What is stored, how big, what is pending, what is wrong.", status),
        get("/v1/health", "health", "Whether somebody is at home.", health),
        get("/v1/now", "now", "What was worked on, and what is being worked on now.", now).item(),
        get("/v1/doctor", "doctor", "Home, service, programs and what connects them, each with what to do.", doctor),
        post(
            "/v1/verify",
            "verify",
            "Recompute everything that is stored, and name what differs. It takes a while.",
            verify,
        )
        .kind(Kind::Imports),
        get("/v1/agents", "agents", "The agents that may be asked for.", agents).item(),
        get("/v1/workspaces", "workspaces", "The agent's projects, the one last worked in first.", workspaces).item(),
        post(
            "/v1/session/code",
            "session.code",
            "A code for one use, with which a page gets its token within a minute. Only through the socket.",
            code,
        ),
        post(
            SESSION,
            "session.open",
            "Exchange a code for the token of a page; the only request without a token.",
            open,
        ),
        post(
            "/v1/daemon/retire",
            "retire",
            "Ask the process to make room for a newer one. Only through the socket.",
            retire,
        ),
        raw_route(
            Method::GET,
            "/v1/openapi.json",
            "openapi",
            "This document.",
            (Takes::Nothing, Gives::Other("application/json", "OpenAPI 3.1.")),
            raw::openapi,
        ),
    ]
}

/// Answer of the health check.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always true: a process that is not healthy does not answer.
    ok: bool,
    /// Build of the process: `<schema>.<version>`.
    build: String,
    /// Agent this process answers for if a request names none.
    agent: String,
    /// Newest row number of the audit.
    newest: u64,
}

/// Confirms that the process was asked to end for a newer build.
#[derive(Serialize, JsonSchema)]
struct Retiring {
    retiring: bool,
}

fn status(asked: &Asked, _: Nothing) -> Answer<StatusReport> {
    Ok(asked.engine.status()?)
}

fn now(asked: &Asked, _: Nothing) -> Answer<Overview> {
    Ok(asked.engine.overview()?)
}

fn health(asked: &Asked, _: Nothing) -> Answer<Health> {
    Ok(Health {
        ok: true,
        build: asked.api.0.parts.build.clone(),
        agent: asked.engine.agent().to_string(),
        newest: asked.engine.newest_change()?,
    })
}

fn agents(asked: &Asked, _: Nothing) -> Answer<AgentsReport> {
    let mut report = asked.engine.agents()?;
    if let Some(allowed) = &asked.asker.agents {
        report.agents.retain(|row| allowed.iter().any(|agent| agent.as_str() == row.agent));
    }
    Ok(report)
}

fn workspaces(asked: &Asked, _: Nothing) -> Answer<ProjectsReport> {
    Ok(asked.engine.projects()?)
}

/// Admits callers that may ask for the home's own agent: these answers concern the whole home.
fn may_see_all(asked: &Asked, instead: &str) -> Answer<()> {
    let ours = asked.api.0.parts.engine.agent();
    match &asked.asker.agents {
        Some(agents) if !agents.contains(ours) => {
            Err(Problem::of(Wrong::Forbidden, "this token is not for the whole home").next(instead))
        }
        _ => Ok(()),
    }
}

fn doctor(asked: &Asked, _: Nothing) -> Answer<ChecksReport> {
    may_see_all(asked, "run heirloom doctor on the machine")?;
    Ok((asked.api.0.parts.doctor)(&asked.engine)?)
}

/// Result of recomputing everything that is stored.
#[derive(Serialize, JsonSchema)]
struct Verified {
    /// True if nothing was found.
    ok: bool,
    /// True if stored data is damaged; false if everything found can be rebuilt.
    damaged: bool,
    /// Number of records checked; the next fields count turns, files and audit rows.
    records: u64,
    turns: u64,
    files: u64,
    audit_rows: u64,
    findings: Vec<VerifyFinding>,
    seconds: f64,
}

/// One deviation that verify found.
#[derive(Serialize, JsonSchema)]
struct VerifyFinding {
    /// True if stored data is damaged; false if it can be rebuilt from stored data.
    damaged: bool,
    subject: String,
    what: String,
}

fn verify(asked: &Asked, _: Nothing) -> Answer<Verified> {
    may_see_all(asked, "run heirloom verify on the machine")?;
    let report = asked.engine.verify()?;
    let findings = report.findings.iter().map(|finding| VerifyFinding {
        damaged: finding.severity == Severity::Damaged,
        subject: finding.subject.clone(),
        what: finding.what.clone(),
    });
    Ok(Verified {
        ok: report.ok,
        damaged: report.is_damaged(),
        records: report.checked.records,
        turns: report.checked.turns,
        files: report.checked.files,
        audit_rows: report.checked.audit_rows,
        findings: findings.collect(),
        seconds: report.seconds,
    })
}

fn retire(asked: &Asked, _: Nothing) -> Answer<Retiring> {
    if !asked.asker.is_local() {
        return Err(Problem::of(Wrong::Forbidden, "only a process on the socket may ask this"));
    }
    (asked.api.0.parts.retire)();
    Ok(Retiring { retiring: true })
}

/// Request of a code for a page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CodeBody {
    /// Agents the page may ask for; default the agent of this request.
    #[serde(default)]
    agents: Vec<String>,
}

/// A code that can be used once.
#[derive(Serialize, JsonSchema)]
struct Code {
    code: String,
    /// Validity of the code in seconds.
    seconds: u64,
}

fn code(asked: &Asked, body: CodeBody) -> Answer<Code> {
    if !asked.asker.is_local() {
        return Err(Problem::of(Wrong::Forbidden, "only a process on the socket may ask this"));
    }
    let mut agents: Vec<AgentId> = body.agents.iter().map(|id| AgentId::parse(id)).collect::<Result<_, _>>()?;
    if agents.is_empty() {
        agents.push(asked.engine.agent().clone());
    }
    Ok(Code { code: asked.api.0.sessions.code(agents)?, seconds: sessions::CODE.as_secs() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenBody {
    /// The code.
    code: String,
}

/// Token of a page.
#[derive(Serialize, JsonSchema)]
struct Opened {
    token: String,
    /// Agents the token opens; the first is used if a request names none.
    agents: Vec<String>,
    /// Validity of the token in seconds; it also ends with the process.
    seconds: u64,
}

fn open(asked: &Asked, body: OpenBody) -> Answer<Opened> {
    let (token, agents) = asked.api.0.sessions.exchange(&body.code)?;
    let agents = agents.iter().map(ToString::to_string).collect();
    Ok(Opened { token, agents, seconds: sessions::SESSION.as_secs() })
}
