//! Replaces forgotten names by marks before anything is stored: such names come back with every record of a source that
//! contains them (R14.2).

use crate::event::{Fact, NewTurn};
use crate::ledger::forgotten_names::ForgottenNames;
use crate::source::project::ProjectRoot;
use crate::transcript::prepare::Batch;

pub(super) fn mark_forgotten(names: &ForgottenNames, batch: &mut Batch) {
    for step in &mut batch.steps {
        step.origin.path = names.marked_path(&step.origin.path);
        names.mark(&mut step.key);
        names.mark(&mut step.placement.native);
        names.mark(&mut step.placement.lane);
        if let Some((key, _)) = &mut step.group {
            names.mark(key);
        }
        for record in &mut step.records {
            if let Some((reason, _)) = &mut record.reason {
                names.mark(reason);
            }
            for planned in &mut record.turns {
                turn(names, &mut planned.turn);
            }
            for fact in &mut record.facts {
                mark_fact(names, fact);
            }
        }
    }
    let projects = std::mem::take(&mut batch.projects);
    batch.projects = projects
        .into_iter()
        .map(|(cwd, project)| (names.marked(&cwd).into_owned(), project.map(|project| marked(names, project))))
        .collect();
}

fn marked(names: &ForgottenNames, mut project: ProjectRoot) -> ProjectRoot {
    project.path = names.marked_path(&project.path);
    names.mark(&mut project.workspace_id);
    names.mark(&mut project.label);
    project
}

fn turn(names: &ForgottenNames, turn: &mut NewTurn) {
    let NewTurn { entry, parent, session, speaker, tool, call, model, message, run, cwd, participants, thread, .. } =
        turn;
    for text in [entry, parent, session, speaker, tool, call, model, message, run, cwd, thread].into_iter().flatten() {
        names.mark(text);
    }
    participants.iter_mut().for_each(|name| names.mark(name));
}

fn mark_fact(names: &ForgottenNames, fact: &mut Fact) {
    let mut texts: Vec<&mut String> = match fact {
        Fact::Session { native, lane, parent_call } => {
            [Some(native), Some(lane), parent_call.as_mut()].into_iter().flatten().collect()
        }
        Fact::LaneCall { lane, call } => vec![lane, call],
        Fact::Title(text) | Fact::Cwd(text) | Fact::Version(text) | Fact::ForkOf { native: text } => vec![text],
        Fact::RunEnd { run, reason, .. } => run.iter_mut().chain(reason).collect(),
        Fact::RunUsage { run, .. } => run.iter_mut().collect(),
        Fact::RequestFingerprint { run, fingerprint } => run.iter_mut().chain([fingerprint]).collect(),
        Fact::Compaction { trigger, .. } => trigger.iter_mut().collect(),
        Fact::Segment { reason, .. } => vec![reason],
        Fact::SessionEnd { .. } => Vec::new(),
    };
    texts.iter_mut().for_each(|text| names.mark(text));
}
