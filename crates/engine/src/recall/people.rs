//! Names of people in a query: who is meant, and where the name occurs.
//!
//! A name draws a vector towards everything that person said, so vector search leaves names out, and turns of the named
//! speaker are ranked higher instead (RETRIEVAL §3: the largest single effect).

use std::ops::Range;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::USER;
use crate::scope::{AgentNo, NameNo};
use crate::text::language::stop_words::{Language, is_stop_word};
use crate::text::words::runs;

/// A person named in a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    /// The name as turns give it for the speaker.
    pub name: String,
    /// Byte range in the query, including a genitive.
    pub span: Range<usize>,
    /// Whether the person is the operator, whose own turns name no speaker.
    pub operator: bool,
}

/// A person a query may name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub name: String,
    pub operator: bool,
}

/// Largest number of people looked for in one query.
const MOST: usize = 64;

/// Speaker labels that are roles, not people.
const ROLES: &[&str] = &["user", "assistant", "system", "tool", "human", "ai", "bot", "agent", "me", "you"];

/// Given names that are also English words: they count as names only if capitalised inside a sentence.
const WORDS_TOO: &str = "angel art august autumn bill bob brook buck candy chance chase chip chuck crystal daisy dale dawn \
    dean destiny drew earnest faith finn frank gene grace grant guy harmony heath holly hope hunter iris ivy jack jade jasmine \
    jewel joy june king lance lane lily mark marshall mason max may melody mercy miles nick olive page parker pat paris patience \
    pearl penny pierce piper ray rich rob robin rocky rod rose ruby rusty sandy sky skip stone storm sunny sue summer ted \
    terry tim tony trinity tucker van violet wade ward will willow wren";

/// Returns the people named in a text, in order; a person named twice is listed twice.
pub fn named(text: &str, known: &[Known]) -> Vec<Person> {
    let words = words(text);
    let mut found: Vec<Person> = Vec::new();
    for person in known.iter().take(MOST) {
        let name = name_words(&person.name);
        if name.is_empty() || ROLES.contains(&name[0].as_str()) {
            continue;
        }
        let mut at = 0;
        while at < words.len() {
            let whole = name.len() <= words.len() - at && name.iter().zip(&words[at..]).all(|(n, w)| *n == w.lower);
            // The first or last part of a full name is enough, unless it is an initial.
            let end = [name.first(), name.last()].into_iter().flatten().any(|n| n.len() > 2 && *n == words[at].lower);
            let n = if whole { name.len() } else { usize::from(end) };
            if n == 0 || (n == 1 && !meant(&words, at)) {
                at += 1;
                continue;
            }
            let span = words[at].from..words[at + n - 1].end;
            found.push(Person { name: person.name.clone(), span, operator: person.operator });
            at += n;
        }
    }
    found.sort_by(|a, b| a.span.start.cmp(&b.span.start).then(b.span.end.cmp(&a.span.end)).then(a.name.cmp(&b.name)));
    // "Ann Lee" does not also name another person called Lee: the longer name wins.
    let mut kept: Vec<Person> = Vec::new();
    for person in found {
        let inside = kept.iter().any(|k| person.span.start < k.span.end && person.span != k.span);
        if !inside && !kept.contains(&person) {
            kept.push(person);
        }
    }
    kept
}

/// Whether a name that is also a word is written as a name here.
fn meant(words: &[Word], at: usize) -> bool {
    let word = &words[at];
    let odd =
        is_stop_word(&word.lower, Language::English) || WORDS_TOO.split_ascii_whitespace().any(|w| w == word.lower);
    !odd || (word.capital && at > 0)
}

struct Word {
    lower: String,
    capital: bool,
    from: usize,
    /// End including a genitive, if there is one.
    end: usize,
}

fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = 0;
    for (start, word) in runs(text, &[]) {
        // The letter of a genitive is not a word of its own.
        if start < rest {
            continue;
        }
        let end = start + word.len();
        let after = &text[end..];
        let genitive = ["'s", "’s"].iter().find(|s| {
            let sign = after.get(..s.len()).is_some_and(|sign| sign.eq_ignore_ascii_case(s));
            sign && !after[s.len()..].starts_with(char::is_alphanumeric)
        });
        let genitive = genitive.map_or(0, |s| s.len());
        found.push(Word {
            lower: word.to_lowercase(),
            capital: word.chars().next().is_some_and(char::is_uppercase),
            from: start,
            end: end + genitive,
        });
        rest = end + genitive;
    }
    found
}

fn name_words(name: &str) -> Vec<String> {
    words(name).into_iter().map(|w| w.lower).collect()
}

/// Returns the people of an agent's conversations that a text may name: the operator, and named participants that never
/// spoke as a model or a tool. Only names that share a word with the text are examined closely.
pub fn known(tx: &Read, agent_no: AgentNo, text: &str) -> Result<Vec<Known>> {
    let asked: std::collections::HashSet<String> = words(text).into_iter().map(|w| w.lower).collect();
    let shares = |name: &str| name_words(name).iter().any(|w| asked.contains(w));
    let mut found = Vec::new();
    if let Some(name) = crate::profile::get(tx, agent_no, "name")?.filter(|name| shares(name)) {
        found.push(Known { name, operator: true });
    }
    let mut names = tx.prepare_cached("SELECT name_no, name FROM names")?;
    let mut took_part = tx.prepare_cached(&format!(
        "SELECT 1 FROM participants p JOIN sessions s USING (session_no)
         WHERE p.name_no = ?1 AND s.agent_no = ?2 AND NOT EXISTS (
           SELECT 1 FROM turns t WHERE t.session_no = p.session_no AND t.speaker_no = p.name_no
             AND t.speaker_no IS NOT NULL AND t.role > {USER})
         LIMIT 1"
    ))?;
    let mut rows = names.query([])?;
    while let Some(r) = rows.next()? {
        let name: String = r.get(1)?;
        if found.len() >= MOST {
            break;
        }
        if shares(&name)
            && took_part.query_row(params![r.get::<_, NameNo>(0)?, agent_no], |_| Ok(())).optional()?.is_some()
        {
            found.push(Known { name, operator: false });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_named() {
        let known: Vec<Known> = ["Caroline", "Ann Lee", "Bruce Lee", "Will", "user", "José", "mk_87", "李雷"]
            .map(|name| Known { name: name.into(), operator: false })
            .into();
        let who = |text: &str| {
            let found: Vec<String> =
                named(text, &known).into_iter().map(|p| format!("{}={}", &text[p.span], p.name)).collect();
            found.join(", ")
        };
        for (text, want) in [
            ("When did Caroline go?", "Caroline=Caroline"),
            ("caroline's camping trip", "caroline's=Caroline"),
            ("Caroline’s dog and Caroline", "Caroline’s=Caroline, Caroline=Caroline"),
            ("what did ann lee say", "ann lee=Ann Lee"),
            ("what did Ann say", "Ann=Ann Lee"),
            ("what did Lee say", "Lee=Ann Lee, Lee=Bruce Lee"),
            ("will it work", ""),
            ("Will it work", ""),
            ("did Will say so", "Will=Will"),
            ("the user said", ""),
            ("José's idea", "José's=José"),
            ("mk_87 asked", "mk_87=mk_87"),
            ("李雷 说了什么", "李雷=李雷"),
            ("carolines", ""),
            ("", ""),
        ] {
            assert_eq!(who(text), want, "{text}");
        }
    }
}
