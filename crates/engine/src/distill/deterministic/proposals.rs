//! Durable knowledge of the project somebody said in so many words (R9.4). Few and precise: what the user states as
//! standing, or the assistant states and the user confirms. Nothing from tools, quotations or pastes; preferences of
//! the user are taken from prompts elsewhere (R9.5).

use super::cues::Cue;
use super::list::line;
use super::sentences::Sentence;
use crate::lineage::distillate::Proposed;
use crate::memory::signals::{Signal, SignalKind};
use crate::scope::TurnId;
use crate::text::patterns::phrases;
use crate::text::plain::cut;
use crate::text::similarity::Bag;

/// No stretch of conversation proposes more.
const MOST: usize = 6;

/// The proposals so far.
#[derive(Debug, Default)]
pub struct Proposals {
    list: Vec<(Proposed, Bag)>,
    /// What the assistant said of the project last, until the user speaks.
    unconfirmed: Vec<(String, TurnId)>,
}

impl Proposals {
    /// A prompt by the user.
    pub fn hear_user(&mut self, turn: TurnId, signals: &[Signal], sentences: &[Sentence]) {
        let confirms = sentences.first().is_some_and(|s| {
            matches!(
                s.word(0),
                "yes"
                    | "right"
                    | "exactly"
                    | "correct"
                    | "true"
                    | "indeed"
                    | "ja"
                    | "genau"
                    | "stimmt"
                    | "oui"
                    | "sí"
                    | "exacto"
            ) && !s.has(Cue::Negation)
        });
        for (text, said) in std::mem::take(&mut self.unconfirmed) {
            if confirms {
                let class = class_of(&text);
                self.add(&text, class, &[said, turn]);
            }
        }
        for signal in signals {
            if signal.kind == SignalKind::Rule {
                self.add(&signal.text, "procedure", &[turn]);
            }
        }
        for s in sentences {
            if let Some(class) = standing(s) {
                self.add(&s.text, class, &[turn]);
            }
        }
    }

    /// A message of the assistant.
    pub fn hear_assistant(&mut self, turn: TurnId, sentences: &[Sentence]) {
        self.unconfirmed.clear();
        for s in sentences.iter().filter(|s| !s.asks() && !s.is_quotation() && s.len() <= 40 && s.len() >= 5) {
            let project = s.says(phrases!(
                "this project / this repo / this repository / this codebase / the project / the repo / \
         the repository / the codebase"
            ));
            let stable = s.says(phrases!("uses|requires|expects|needs|follows|targets|always|never / relies on"));
            if project && stable && !passing(s) && !s.begins(Cue::Start) && self.unconfirmed.len() < 2 {
                self.unconfirmed.push((s.text.clone(), turn));
            }
        }
    }

    fn add(&mut self, text: &str, class: &str, turns: &[TurnId]) {
        let text = line(text);
        let bag = Bag::of(&text);
        let known = self.list.iter().any(|(p, b)| b.is_like(&bag) || p.text.contains(&text) || text.contains(&p.text));
        if self.list.len() >= MOST || bag.len() < 2 || known || text.contains("[redacted:") {
            return;
        }
        let title = cut(text.trim_end_matches(['.', '!', ' ']), 80);
        let mut turns = turns.to_vec();
        turns.sort();
        self.list.push((Proposed { title, text, class: class.to_owned(), turns, file: None }, bag));
    }

    pub fn into_list(self) -> Vec<Proposed> {
        self.list.into_iter().map(|(p, _)| p).collect()
    }
}

const THINGS: &str = "staging|production|prod|database|db|server|servers|repo|repository|project|ci|pipeline|deploy|deploys|\
    deployment|deployments|build|builds|tests|api|branch|branches|release|releases|config|docs|documentation|\
    wiki|dashboard|runbook|migrations|cluster|backups|backup|logs|package|packages|module|service|services|\
    codebase|monorepo|registry|bucket|queue|cron|schema|main|master|datenbank|projekt|dépôt|serveur|proyecto|\
    repositorio|servidor / test suite / base de données / base de datos";

/// A statement of the user that is meant to hold.
fn standing(s: &Sentence) -> Option<&'static str> {
    if s.asks() || s.pasted || s.is_quotation() || s.len() < 5 || s.len() > 40 || passing(s) {
        return None;
    }
    // Somebody else's words in it.
    if s.text.contains(['"', '“', '„', '«']) {
        return None;
    }
    let start = s.start();
    let thing = s.says(phrases!(THINGS));
    if !thing {
        return None;
    }
    let rule = s.says(phrases!(
        "always|never|every|immer|niemals|jedes|toujours|jamais|chaque|siempre|nunca|cada / before pushing / \
         before committing / before every"
    ));
    let here = s.says(phrases!(
        "in this repo / in this project / in this repository / in this codebase / in our repo / \
         in our project / for this project / in diesem projekt / dans ce projet / en este proyecto"
    ));
    let orders = s.hits().iter().any(|h| {
        matches!(h.cue, Cue::Directive | Cue::Task) && (h.from == start || s.clause_starts(h.from) && h.from > 0)
    });
    if orders {
        return (here && (rule || s.begins(Cue::Directive))).then_some("procedure");
    }
    // "The staging database is read-only on weekends."
    let subject = matches!(
        s.word(start),
        "the"
            | "our"
            | "all"
            | "every"
            | "each"
            | "we"
            | "production"
            | "staging"
            | "ci"
            | "deploys"
            | "deployments"
            | "releases"
            | "migrations"
            | "tests"
            | "die"
            | "der"
            | "das"
            | "unsere"
            | "unser"
            | "la"
            | "le"
            | "les"
            | "notre"
            | "el"
            | "los"
            | "las"
            | "nuestra"
            | "nuestro"
            | "note"
            | "backups"
            | "to"
    );
    let stable = s.says(phrases!(
        "uses|use|requires|require|expects|every|always|never|must|happens|happen|ist|liegt|läuft|sind|est|\
         tourne|está|corre|usa / is read-only / are read-only / runs on / run on / lives in / lives at / \
         live in / is hosted / are hosted / is deployed / are deployed / deploys to / deploy to / \
         deploys from / is protected / are protected / is on / are on / is in / are in / is at / are at / \
         listens on / belongs to / owned by / are owned / is owned / only on / only from / goes through / \
         go through / is called / are called / se trouve"
    ));
    if !subject || !stable || !(rule || definite(s)) {
        return None;
    }
    Some(class_of(&s.text))
}

/// Says more than "the server is on": a day, a place, a rule, a version.
fn definite(s: &Sentence) -> bool {
    s.says(phrases!(
        "read-only|weekends|weekend|weekdays|monday|mondays|tuesday|tuesdays|wednesday|wednesdays|thursday|\
         thursdays|friday|fridays|saturdays|sundays|nightly|protected|only|hosted|owned|requires|lives|\
         deploys|must|nur|freitags|uniquement|week-end|solo / runs on / am wochenende / fines de semana"
    )) || s.text.contains("://")
        || s.text.split_whitespace().any(|w| w.len() > 2 && w.contains('/') && !w.starts_with('/'))
        || s.text.contains('`')
}

/// Said of now, of this once, of a guess: nothing to keep.
fn passing(s: &Sentence) -> bool {
    s.has(Cue::Hypothesis)
        || s.has(Cue::Reported)
        || s.has(Cue::Retraction)
        || s.says(phrases!(
            "now|currently|today|yesterday|tomorrow|tonight|just|again|still|already|seems|seem|looks|think|\
         guess|might|maybe|broken|failing|fails|failed|crashed|crashes|error|errors|down|slow|stuck|\
         temporarily|until|last|next|here's|i|i'm|i've|i'd|i'll|my|me|was|were|been|yet|jetzt|heute|gerade|morgen|\
         gestern|ich|aujourd'hui|maintenant|demain|je|hoy|ahora|mañana|ayer|yo|kaputt|bug|bugs|some|should / \
         this time / at the moment / right now / for now / this morning"
        ))
}

fn class_of(text: &str) -> &'static str {
    if text.contains("://")
        || phrases!("docs|wiki|dashboard|runbook|documentation / lives at / lives in / se trouve").stand_in(text)
    {
        "reference"
    } else if phrases!(
        "must|requires / always run / before pushing / before every / to deploy / goes through / go through"
    )
    .stand_in(text)
    {
        "procedure"
    } else {
        "fact"
    }
}
