//! Summaries by a language model, if one is chosen and may be asked (D5).

use std::time::{Duration, Instant};

use super::Instance;
use super::asking::given_up;
use super::status::with_next_step;
use crate::budget::Pause;
use crate::clock::Millis;
use crate::distill::advance::Pass;
use crate::distill::model_pass::{self, Told};
use crate::distill::model_summarizer;
use crate::error::{Error, Problem, Result};
use crate::evolve::{extraction, model_pass as reading};
use crate::judge::{self, model as judging};
use crate::ledger::Audit;
use crate::ledger::job_queue::{self, JobKind};
use crate::ledger::model_calls::Spent;
use crate::lineage::model_summary::{self, Due};
use crate::model::{Ask, Failure, Model as _, Purpose};
use crate::pages::{self, Happened, PageKey};
use crate::render::Occasion;
use crate::report::model::{Asked, LanguageModelReport, ModelPreview, ModelTrial};
use crate::review::model_matters;
use crate::scope::AgentId;
use crate::tokens::tokens;

/// Number of days from which a day's use is estimated.
const FORTNIGHT: i64 = 14;

const DAY_MS: Millis = 86_400_000;

/// How long the model is asked in one pass before other work is done; a question that was begun is finished.
const PATIENCE: Duration = Duration::from_secs(60);

/// Result of asking the model.
#[derive(Default)]
pub(super) struct Summarised {
    pub made: u64,
    /// Whether there is more to ask now.
    pub more: bool,
    pub problems: Vec<Problem>,
}

impl Instance {
    /// Asks the language model for better versions of the summaries made without one, for every agent, and renders the
    /// pages that show them. Summaries that cannot be asked for now are queued.
    pub(super) fn summarise(&self, actor: &str) -> Result<Summarised> {
        let mut all = Summarised::default();
        if self.read_only || self.settings.model.is_none() {
            return Ok(all);
        }
        let limits = *self.settings.limits.as_ref().map_err(Error::from)?;
        let until = Instant::now() + PATIENCE;
        let mut again: Option<Millis> = None;
        for agent in self.agents()? {
            let model = match self.language_model(&agent, actor) {
                None => return Ok(all),
                // Everything works without the model; its error is reported as a problem.
                Some(Err(e)) => {
                    all.problems.push(Problem::of(std::path::Path::new("model"), &e));
                    return Ok(all);
                }
                Some(Ok(model)) => model,
            };
            let at = self.assistant(&agent, actor)?;
            let told: Told = model_pass::run(&Pass::new(&at, limits), &model, Some(until))?;
            if told.made > 0 {
                self.render(&at, Occasion::Look);
            }
            if told.stopped.is_some() {
                self.model_changed(&agent)?;
                self.render(&at, Occasion::Look);
            }
            all.made += told.made;
            all.more |= told.more;
            let now = self.ledger.now();
            let next = match (told.more, &told.stopped) {
                (true, _) => Some(now),
                (false, None) => None,
                (false, Some(_)) => match model.pause()? {
                    Some(Pause::Refused { .. }) => None,
                    Some(Pause::Rests { until, .. }) => Some(until),
                    Some(Pause::Spent) | None => Some(model.tomorrow()),
                },
            };
            again = again.into_iter().chain(next).min();
        }
        if let Some(at) = again {
            self.ledger.write(Audit::new(actor, "job.enqueue"), |tx| {
                job_queue::enqueue(tx, JobKind::Summaries, "all", "{}", at).map(drop)
            })?;
        }
        Ok(all)
    }

    /// Records that a person chose a language model: it is asked about what another one gave no usable answer to.
    pub fn model_chosen(&self, agent: &AgentId, actor: &str) -> Result<()> {
        self.ask_again(actor)?;
        self.model_changed(agent)
    }

    /// Marks the page that says whether the language model is off: its settings changed, or it was asked.
    pub fn model_changed(&self, agent: &AgentId) -> Result<()> {
        let Some(agent_no) = self.agent_no(agent)? else { return Ok(()) };
        self.ledger.write(Audit::new("model", "pages.mark"), |tx| {
            pages::mark(tx, agent_no, &Happened::PagesAsked(vec![PageKey::Active]))
        })
    }

    /// Reports which language model the settings name, what it used today, and whether it is asked now. `None` if they
    /// name none.
    pub fn language_model_report(&self, agent: &AgentId, actor: &str) -> Result<Option<LanguageModelReport>> {
        let Some(model) = self.language_model(agent, actor) else { return Ok(None) };
        let now = self.ledger.now();
        let (summaries, due, read, judged, given_up) = match self.agent_no(agent)? {
            Some(no) => self.ledger.read(|tx| {
                let due = model_summary::due(tx, no, usize::MAX >> 1)?.len() as u64;
                let summaries = model_summary::all(tx, Some(no))?.len() as u64;
                let read = Asked { done: reading::readings(tx, no)?, due: reading::waiting(tx, no, now)? };
                let judged = Asked { done: judge::by_model(tx, no)?, due: judging::waiting(tx, no, now)? };
                Ok((summaries, due, read, judged, given_up(tx, no, now)?))
            })?,
            None => (0, 0, Asked::default(), Asked::default(), 0),
        };
        let budget = self.settings.model.as_ref().map(|m| m.budget).unwrap_or_default();
        Ok(Some(match model {
            Ok(model) => LanguageModelReport {
                model: Some(model.model.name().to_owned()),
                problem: None,
                budget,
                spent: model.spent()?,
                pause: model.pause()?,
                held_back: match due + read.due + judged.due {
                    0 => None,
                    _ => model.held_back(model_summarizer::smallest())?,
                },
                summaries,
                due,
                read,
                judged,
                given_up,
            },
            Err(e) => LanguageModelReport {
                model: None,
                problem: Some(with_next_step(&e, "; ")),
                budget,
                spent: Spent::default(),
                pause: None,
                held_back: None,
                summaries,
                due,
                read,
                judged,
                given_up,
            },
        }))
    }

    /// Reports what a language model would be asked in this home, and its estimated daily use.
    pub fn model_preview(&self, agent: &AgentId, actor: &str) -> Result<ModelPreview> {
        let nothing = ModelPreview { prompt: None, prompt_tokens: 0, calls_a_day: 0.0, tokens_a_day: 0, backlog: 0 };
        let Some(agent_no) = self.agent_no(agent)? else { return Ok(nothing) };
        let Some(at) = self.assistant_as_it_is(agent, actor)? else { return Ok(nothing) };
        let limits = *self.settings.limits.as_ref().map_err(Error::from)?;
        let due = self.ledger.read(|tx| model_summary::due(tx, agent_no, usize::MAX >> 1))?;
        let since = self.ledger.now() - FORTNIGHT * DAY_MS;
        let older = due.iter().filter(|d: &&Due| d.last_at.is_none_or(|at| at < since)).count();
        let prompt = match due.first() {
            Some(newest) => model_pass::question(&Pass::new(&at, limits), newest.node)?,
            None => None,
        };
        let now = self.ledger.now();
        let (summed, judgements) = self
            .ledger
            .read(|tx| Ok((model_summary::lately(tx, agent_no, since)?, judging::estimated(tx, agent_no, now)?)))?;
        // Each session is summarised and read for facts, whether a model did so already or not: the next ones are like
        // them.
        let sessions = reading::lately(&at, since)?;
        let to_sum = sessions.iter().filter(|s| !s.is_summed && s.said >= model_summary::WORTH_A_CALL).map(|s| s.said);
        let summaries = summed.into_iter().chain(to_sum).map(|said| (1, model_summarizer::estimated(said)));
        let readings = sessions.iter().map(|s| s.reading);
        let all = summaries.chain(readings).chain([model_matters::estimated(&at, since)?]);
        let (calls, used) = all.fold((0, 0), |(calls, used), (more, tokens)| (calls + more, used + tokens));
        let a_day =
            |of_all: u64, of_judge: u64| of_all as f64 / FORTNIGHT as f64 + of_judge as f64 / judgements.2 as f64;
        let (calls, used) = (a_day(calls, judgements.0), a_day(used, judgements.1));
        let (prompt, constant) = match prompt {
            Some(prompt) => (Some(prompt), model_summarizer::constant_tokens()),
            None => (reading::newest_question(&at)?, extraction::constant_tokens()),
        };
        Ok(ModelPreview {
            prompt_tokens: prompt.as_deref().map_or(0, |p| tokens(p) as u64 + constant),
            prompt,
            calls_a_day: (calls * 10.0).round() / 10.0,
            tokens_a_day: used as u64,
            backlog: older as u64,
        })
    }

    /// Asks the language model a small question, so that a person sees it answer. The call counts towards the budget,
    /// and is made even while the model rests or after it refused. `Usage` if the settings name no model; other errors
    /// as [`LanguageModel::load`].
    ///
    /// [`LanguageModel::load`]: super::LanguageModel::load
    pub fn try_model(&self, agent: &AgentId, actor: &str) -> Result<ModelTrial> {
        let model = self
            .language_model(agent, actor)
            .ok_or_else(|| Error::usage("the settings name no language model").hint("choose one: ⟨model use⟩"))??;
        let schema = serde_json::json!({
            "type": "object", "required": ["word"], "additionalProperties": false,
            "properties": {"word": {"type": "string", "maxLength": 40}},
        });
        let ask = Ask {
            purpose: Purpose::Trial,
            system: "You are being tried out. Answer in the form you are asked for.",
            input: "Answer with the word: heirloom",
            schema: &schema,
            max_output: 200,
        };
        let began = Instant::now();
        let answer = model.answer(&ask);
        let ms = began.elapsed().as_millis() as u64;
        self.model_changed(agent)?;
        let name = model.model.name().to_owned();
        let kind = answer.as_ref().err().map(|failure| match failure {
            Failure::Unusable(_) => "unusable",
            Failure::Later { .. } | Failure::Unsent { .. } => "later",
            Failure::Refused(_) => "refused",
            Failure::Withheld(_) => "withheld",
        });
        if answer.is_ok() {
            self.ask_again(actor)?;
        }
        let failure = answer.as_ref().err().map(ToString::to_string);
        let answer = answer.ok();
        Ok(ModelTrial {
            model: name,
            failure,
            kind,
            ms,
            tokens_in: answer.as_ref().and_then(|a| a.tokens_in),
            tokens_out: answer.as_ref().and_then(|a| a.tokens_out),
            cost: answer.as_ref().and_then(|a| a.cost),
        })
    }
}
