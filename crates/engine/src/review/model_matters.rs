//! Asks a language model which open loops are settled, the same, or badly named (D5). The question quotes the loops and
//! the talk since; an item of the answer counts only if its words are in the quoted text. Accepted items become matters
//! that wait for a person's yes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use rusqlite::{OptionalExtension, params};
use serde::Deserialize;
use serde_json::{Value, json};

use super::matter::{self, NewMatter, What};
use crate::budget::{Budgeted, Pause};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::{Role, TurnKind, unwrapped};
use crate::ledger::blocks::Opener;
use crate::ledger::{Read, Write};
use crate::model::{Ask, Failure, Model as _, Purpose};
use crate::quoting::{Quoted, even, has_exact};
use crate::recall::spoken;
use crate::redact::redact;
use crate::scope::{AgentNo, SessionKey, TurnId};
use crate::text::plain::lower;
use crate::tokens::{cut, tokens};
use crate::transcript::read;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::provenance::Provenance;

const PROMPT: &str = include_str!("model_prompt.md");

/// Maximum number of loops in one question, maximum tokens of talk, and of one message.
const LOOPS: usize = 30;
const TALK: usize = 4_000;
const MESSAGE: usize = 120;

/// Maximum age of talk, minimum time between two questions about a project, and time to wait after an answer that could
/// not be used, in milliseconds.
const RECENT_MS: Millis = 3 * 24 * 60 * 60_000;
const EVERY_MS: Millis = 12 * 60 * 60_000;
const AGAIN_MS: Millis = 30 * 60_000;

const MOST_ANSWERED: usize = 1_200;
const LARGEST_ANSWER: usize = 32 * 1024;
const LONGEST_TITLE: usize = 80;
const LONGEST_QUOTE: usize = 300;
/// Minimum number of words in a quotation.
const QUOTED_WORDS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settled {
    id: String,
    turn: String,
    quote: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Same {
    keep: String,
    drop: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Titled {
    id: String,
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    settled: Vec<Settled>,
    same: Vec<Same>,
    titles: Vec<Titled>,
}

fn schema() -> Value {
    let text = |most: usize| json!({"type": "string", "maxLength": most});
    let list = |properties: Value| {
        let names: Vec<String> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({"type": "array", "maxItems": 10, "items":
            {"type": "object", "required": names, "additionalProperties": false, "properties": properties}})
    };
    json!({
        "type": "object", "required": ["settled", "same", "titles"], "additionalProperties": false,
        "properties": {
            "settled": list(json!({"id": text(40), "turn": text(20), "quote": text(LONGEST_QUOTE)})),
            "same": list(json!({"keep": text(40), "drop": text(40)})),
            "titles": list(json!({"id": text(40), "title": text(LONGEST_TITLE)})),
        },
    })
}

/// An open loop as the model gets it.
#[derive(Clone, PartialEq, Debug)]
struct Open {
    id: String,
    title: String,
    /// The newest turn the loop came from.
    turn: Option<TurnId>,
}

/// Result of a pass.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Told {
    /// Number of new matters.
    pub found: u64,
    /// Time at which to ask again; `None`: no project waits.
    pub next: Option<Millis>,
}

/// Asks about the open loops of each project in which people or agents have spoken since.
pub fn run(at: &AssistantHome, model: &Budgeted, until: Option<Instant>) -> Result<Told> {
    let mut told = Told::default();
    let mut by_scope: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in at.read(|tx| file_table::list(tx, at.agent_no, Kind::OpenLoop, State::Active))? {
        by_scope.entry(entry.scope.clone().unwrap_or_default()).or_default().push(entry);
    }
    for (scope, entries) in by_scope {
        let Some(workspace) = scope.strip_prefix("workspace/") else { continue };
        let now = at.ledger.now();
        let loops: Vec<Open> = entries.iter().take(LOOPS).filter_map(open).collect();
        let talk = at.read(|tx| talk(tx, at, workspace, now))?;
        let since = loops.iter().filter_map(|l| l.turn).min();
        if talk.last().map(|(turn, _)| *turn) <= since || loops.is_empty() {
            continue;
        }
        let quoted = question(&loops, &talk);
        let digest = blake3::hash(quoted.question.as_bytes());
        let asked: Option<(Vec<u8>, i64, Millis)> = at.read(|tx| {
            let sql = "SELECT digest, tries, at FROM matters_asked WHERE agent_no = ?1 AND scope = ?2";
            let row = |r: &rusqlite::Row| Ok((r.get(0)?, r.get(1)?, r.get(2)?));
            Ok(tx.prepare_cached(sql)?.query_row(params![at.agent_no, scope], row).optional()?)
        })?;
        if let Some((old, tries, when)) = &asked {
            let next = when + if *tries > 0 { AGAIN_MS } else { EVERY_MS };
            if old == digest.as_bytes() && (*tries == 0 || *tries > 1) {
                continue;
            }
            if next > now {
                told.next = told.next.into_iter().chain([next]).min();
                continue;
            }
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            told.next = Some(now);
            return Ok(told);
        }
        let schema = schema();
        let ask = Ask {
            purpose: Purpose::Matters,
            system: PROMPT,
            input: &quoted.question,
            schema: &schema,
            max_output: MOST_ANSWERED,
        };
        let found = match model.answer(&ask) {
            Ok(answer) => read_answer(&answer.text, &loops, &talk),
            Err(Failure::Unusable(_)) => Err("it cannot be used"),
            Err(_) => {
                let next = match model.pause()? {
                    Some(Pause::Refused { .. }) => None,
                    Some(Pause::Rests { until, .. }) => Some(until),
                    Some(Pause::Spent) => Some(model.tomorrow()),
                    None => Some(now + AGAIN_MS),
                };
                told.next = told.next.into_iter().chain(next).min();
                return Ok(told);
            }
        };
        let tries = if found.is_ok() { 0 } else { 1 + asked.filter(|a| a.0 == digest.as_bytes()).map_or(0, |a| a.1) };
        told.found += at.write("matters.model", |tx| {
            tx.note("model", model.name());
            tx.prepare_cached(
                "INSERT INTO matters_asked (agent_no, scope, digest, tries, at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (agent_no, scope) DO UPDATE SET digest = ?3, tries = ?4, at = ?5",
            )?
            .execute(params![at.agent_no, scope, digest.as_bytes(), tries, tx.now()])?;
            let new = matter::put(tx, at.agent_no, model.name(), found.as_deref().unwrap_or_default())?;
            tx.note("found", new);
            Ok(new)
        })?;
        if tries == 1 {
            told.next = told.next.into_iter().chain([now + AGAIN_MS]).min();
        }
    }
    Ok(told)
}

/// Lets a model be asked once more about the projects whose answers could not be used.
pub fn ask_again(tx: &Write, agent_no: AgentNo) -> Result<()> {
    let sql = "UPDATE matters_asked SET tries = 1 WHERE agent_no = ?1 AND tries > 1";
    tx.prepare_cached(sql)?.execute([agent_no])?;
    Ok(())
}

/// Estimates the number of questions about the projects with open loops since a time, and their tokens: one for each half
/// day in which somebody spoke there.
pub fn estimated(at: &AssistantHome, since: Millis) -> Result<(u64, u64)> {
    const ANSWER: u64 = 200;
    let mut by_scope: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in at.read(|tx| file_table::list(tx, at.agent_no, Kind::OpenLoop, State::Active))? {
        by_scope.entry(entry.scope.clone().unwrap_or_default()).or_default().push(entry);
    }
    let constant = (tokens(PROMPT) + tokens(&schema().to_string())) as u64 + ANSWER;
    let sql = "SELECT count(DISTINCT t.at / ?4) FROM turns t JOIN sessions s USING (session_no)
         JOIN workspaces v ON v.workspace_no = s.workspace_no
         JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
         WHERE s.agent_no = ?1 AND w.workspace_id = ?2 AND s.forgotten IS NULL AND t.at >= ?3";
    let (mut calls, mut used) = (0, 0);
    for (scope, entries) in by_scope {
        let Some(workspace) = scope.strip_prefix("workspace/") else { continue };
        let loops: Vec<Open> = entries.iter().take(LOOPS).filter_map(open).collect();
        if loops.is_empty() {
            continue;
        }
        let (halves, talk) = at.read(|tx| {
            let wanted = params![at.agent_no, workspace, since, EVERY_MS];
            let halves = tx.prepare_cached(sql)?.query_row(wanted, |r| r.get::<_, i64>(0))?.max(0) as u64;
            Ok((halves, talk(tx, at, workspace, at.ledger.now())?))
        })?;
        calls += halves;
        used += halves * (constant + tokens(&question(&loops, &talk).question) as u64);
    }
    Ok((calls, used))
}

fn open(entry: &Entry) -> Option<Open> {
    let turn = Provenance::from_value(entry.fields.get("source")).turns.into_iter().max();
    Some(Open { id: entry.item.clone()?, title: entry.title.clone(), turn })
}

/// Returns recent messages of people and agents in the sessions of a project, oldest first, without tools and machine
/// text.
fn talk(tx: &Read, at: &AssistantHome, workspace: &str, now: Millis) -> Result<Vec<(TurnId, String)>> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_key FROM sessions s JOIN workspaces v ON v.workspace_no = s.workspace_no
         JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
         WHERE s.agent_no = ?1 AND w.workspace_id = ?2 AND s.last_at >= ?3 AND s.forgotten IS NULL
         ORDER BY s.last_at DESC LIMIT 20",
    )?;
    let keys = statement.query_map(params![at.agent_no, workspace, now - RECENT_MS], |r| r.get::<_, String>(0))?;
    let keys: Vec<String> = keys.collect::<rusqlite::Result<_>>()?;
    let mut said: Vec<(TurnId, String)> = Vec::new();
    for key in keys {
        let key = SessionKey::from(key);
        let session = read::session_named(tx, at.agent_no, key.as_str())?;
        read::session_turns(tx, &Opener::default(), &session, Some(""), |turn| {
            if turn.kind != TurnKind::Message || !matches!(turn.role, Role::User | Role::Assistant) {
                return Ok(());
            }
            let text = if turn.role == Role::User { unwrapped(&turn.text) } else { turn.text.as_str() };
            if let Some(text) = spoken(turn.role, turn.kind, text) {
                let line = redact(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
                let who = if turn.role == Role::User { "person" } else { "agent" };
                said.push((turn.id, format!("{who}: {}", cut(&line, MESSAGE))));
            }
            Ok(())
        })?;
    }
    said.sort_by_key(|(turn, _)| *turn);
    said.dedup_by_key(|(turn, _)| *turn);
    let mut left = TALK;
    let fits = said.iter().rev().take_while(|(_, line)| {
        let needs = tokens(line) + 6;
        let fits = needs <= left;
        left = left.saturating_sub(needs);
        fits
    });
    let from = said.len() - fits.count();
    Ok(said.split_off(from))
}

fn question(loops: &[Open], talk: &[(TurnId, String)]) -> Quoted {
    let mut material = String::from("Open matters:\n");
    for one in loops {
        let since = one.turn.map(|turn| format!(" [since {turn}]")).unwrap_or_default();
        let _ = writeln!(material, "({}) {}{since}", one.id, cut(&one.title, MESSAGE));
    }
    material.push_str("What was said, oldest first:\n");
    for (turn, line) in talk {
        let _ = writeln!(material, "[{turn}] {line}");
    }
    Quoted::new("These are open matters of one project, and what was said in it lately.", &material)
}

/// Reads an answer and keeps the items that pass the checks.
fn read_answer(answer: &str, loops: &[Open], talk: &[(TurnId, String)]) -> Result<Vec<NewMatter>, &'static str> {
    if answer.len() > LARGEST_ANSWER {
        return Err("it is longer than any answer");
    }
    let answered: Answered = serde_json::from_str(answer).map_err(|_| "it is not of the agreed form")?;
    let named = |id: &str| loops.iter().find(|l| l.id == id);
    let mut out: Vec<NewMatter> = Vec::new();
    for s in answered.settled {
        let (Some(about), Some(turn)) = (named(&s.id), TurnId::parse(&s.turn)) else { continue };
        let Some((_, line)) = talk.iter().find(|(t, _)| *t == turn) else { continue };
        let (quote, line) = (even(&s.quote), even(line));
        // The words that settle a loop come after it, and share a word with it.
        let later = about.turn.is_none_or(|made| turn > made);
        let stands = quote.split(' ').count() >= QUOTED_WORDS && line.contains(&quote);
        if later && stands && shared(&about.title, &line) > 0 && !line.trim_end().ends_with('?') {
            let (loop_id, text) = (about.id.clone(), s.quote.split_whitespace().collect::<Vec<_>>().join(" "));
            out.push(NewMatter { what: What::Settled, loop_id, other: String::new(), text, turn: Some(turn) });
        }
    }
    for s in answered.same {
        let (Some(keep), Some(gone)) = (named(&s.keep), named(&s.drop)) else { continue };
        let low = lower(&keep.title);
        // Two loops that differ in a number or a name are not the same.
        let alike = has_exact(&low, &gone.title) && has_exact(&lower(&gone.title), &keep.title);
        if keep.id != gone.id && alike && shared(&gone.title, &keep.title) > 0 {
            let (loop_id, other) = (gone.id.clone(), keep.id.clone());
            out.push(NewMatter { what: What::Same, loop_id, other, text: String::new(), turn: keep.turn });
        }
    }
    for t in answered.titles {
        let Some(about) = named(&t.id) else { continue };
        let title = t.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let (all, there) = (stems(&title).len(), shared(&title, &about.title));
        let sound = !title.is_empty() && title.chars().count() <= LONGEST_TITLE && title != about.title;
        if sound && all > 0 && there * 5 >= all * 4 && has_exact(&lower(&about.title), &title) {
            let loop_id = about.id.clone();
            out.push(NewMatter { what: What::Title, loop_id, other: String::new(), text: title, turn: about.turn });
        }
    }
    Ok(out)
}

/// Number of letters of a word that are compared, because endings differ.
const STEM: usize = 5;

fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() >= 4);
    words.map(|w| lower(w).chars().take(STEM).collect()).collect()
}

/// Returns how many of the longer words of a text are in another one.
fn shared(of: &str, within: &str) -> usize {
    let low = lower(within);
    stems(of).iter().filter(|stem| low.contains(stem.as_str())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(answer: Value) -> Vec<(What, String, String)> {
        let open = |id: &str, title: &str, turn| Open { id: id.into(), title: title.into(), turn: Some(TurnId(turn)) };
        let loops = [
            open("l:aaaa", "I'll mail the invoice list to Miriam", 10),
            open("l:bbbb", "Send Miriam the invoice list by mail", 12),
            open("l:cccc", "Fix the crash on port 5433 when the importer …", 14),
        ];
        let talk = [
            (TurnId(9), "person: the invoice list is with Miriam".to_owned()),
            (TurnId(20), "agent: The invoice list went to Miriam this morning.".to_owned()),
            (TurnId(21), "person: Is the crash on port 5433 fixed?".to_owned()),
        ];
        let found = read_answer(&answer.to_string(), &loops, &talk).unwrap();
        found.into_iter().map(|m| (m.what, m.loop_id, m.text)).collect()
    }

    #[test]
    fn only_what_stands_in_later_words_settles() {
        let settled = |id: &str, turn: i64, quote: &str| {
            found(
                json!({"settled": [{"id": id, "turn": TurnId(turn).to_string(), "quote": quote}], "same": [], "titles": []}),
            )
        };
        assert_eq!(settled("l:aaaa", 20, "invoice list went to Miriam").len(), 1);
        assert!(settled("l:aaaa", 9, "invoice list is with Miriam").is_empty(), "said before it was promised");
        assert!(settled("l:aaaa", 20, "the invoice list is paid").is_empty(), "nobody said that");
        assert!(settled("l:cccc", 20, "invoice list went to Miriam").is_empty(), "about something else");
        assert!(settled("l:cccc", 21, "the crash on port 5433 fixed").is_empty(), "it is asked");
        assert!(settled("l:zzzz", 20, "invoice list went to Miriam").is_empty(), "no such loop");
        assert!(settled("l:aaaa", 99, "invoice list went to Miriam").is_empty(), "a turn of elsewhere");
    }

    #[test]
    fn two_are_the_same_only_where_numbers_and_names_are() {
        let same = |keep: &str, drop: &str| {
            found(json!({"settled": [], "same": [{"keep": keep, "drop": drop}], "titles": []}))
        };
        assert_eq!(same("l:bbbb", "l:aaaa").len(), 1);
        assert!(same("l:aaaa", "l:cccc").is_empty());
        assert!(same("l:aaaa", "l:aaaa").is_empty());
    }

    #[test]
    fn a_title_is_made_of_its_own_words() {
        let title =
            |title: &str| found(json!({"settled": [], "same": [], "titles": [{"id": "l:cccc", "title": title}]}));
        assert_eq!(title("Crash of the importer on port 5433").len(), 1);
        assert!(title("Delete every backup on the server").is_empty());
        assert!(title("Crash of the importer on port 5434").is_empty());
        assert!(title(&"crash ".repeat(20)).is_empty());
    }
}
