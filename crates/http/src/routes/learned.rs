//! Routes of what `evolve` has learned: candidates found in sessions, and drafts of skills from recurring procedures.

use heirloom_engine::report::evolve::{CandidateReport, SkillReport};
use heirloom_engine::skill::Into as Place;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::page::{self, Page, Rank};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/evolve", "evolve.list", "What sessions were found to show about their projects, best first.", found)
            .item(),
        get("/v1/skills", "skills", "Procedures that recur, those that most sessions show first.", skills).item(),
        get("/v1/skills/{id}", "skill", "One of them, as the SKILL.md it would be.", skill).item(),
        post(
            "/v1/skills/{id}/accept",
            "skill.accept",
            "Say yes: it is written into the project's folder of the memory. Into a program's folder only a command writes it.",
            accept,
        ),
        post("/v1/skills/{id}/reject", "skill.reject", "Say no: it is not drafted again.", |asked, _: Nothing| {
            Ok(asked.engine.reject_skill(asked.at("id"))?)
        }),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Include candidates and drafts that were already decided.
    #[serde(default)]
    all: bool,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn found(asked: &Asked, query: ListQuery) -> Answer<Page<CandidateReport>> {
    let all = asked.engine.candidates(query.all)?.candidates;
    page::of_all("evolve", all, (query.limit, query.cursor.as_deref()), |one| {
        Rank(false, format!("{:.6}", one.confidence), format!("{} {}", one.workspace, one.text))
    })
}

fn skills(asked: &Asked, query: ListQuery) -> Answer<Page<SkillReport>> {
    let all = asked.engine.skills(query.all)?.skills;
    page::of_all("skills", all, (query.limit, query.cursor.as_deref()), |one| {
        Rank(false, format!("{:020}", one.sessions), one.id.clone())
    })
}

fn skill(asked: &Asked, _: Nothing) -> Answer<SkillReport> {
    Ok(asked.engine.skill(asked.at("id"))?)
}

fn accept(asked: &Asked, _: Nothing) -> Answer<SkillReport> {
    Ok(asked.engine.accept_skill(asked.at("id"), &[Place::Workspace])?)
}
