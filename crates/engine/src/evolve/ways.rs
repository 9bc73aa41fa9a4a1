//! Reads procedures in a person's words: "To release: first run `just ci`, then tag, then push the tag", the same as a
//! list of steps, "Restoring a tenant works like this: …". Pure; the word lists are `sentences.txt`.

use super::grammar::{SMALL, after_leads, is_request, listed, shown, singular, unquoted};
use super::sentences::{Told, plain, quotes_speech};
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Maximum length of a procedure, in bytes; a longer one is a document.
const LONGEST: usize = 600;
/// Maximum number of words that name the purpose.
const PURPOSE: usize = 10;

/// Whether a sentence goes on with the steps of the one before.
pub(super) fn goes_on(text: &str) -> bool {
    let all = unquoted(&split(text, Marks::Kept));
    let all: Vec<Word> = all.iter().copied().skip_while(|w| !w.word || words!("and und").has_hash(w.hash)).collect();
    [listed!("then"), listed!("first")].iter().any(|list| list.begin(&all).next().is_some())
        && !text.ends_with(['?', '？'])
}

/// Returns the words of a purpose as a key. `None` if it is one for the task in hand only.
fn key(named: &[Word], text: &str) -> Option<String> {
    let named: Vec<Word> = named.iter().filter(|w| w.word).copied().collect();
    let trailing = |w: &&Word| words!("you we one i man du wir").has_hash(w.hash);
    let named: Vec<Word> = match named.split_last() {
        Some((last, rest)) if trailing(&last) => rest.to_vec(),
        _ => named,
    };
    // In "when an animal dies" it is an English verb.
    let dies = |w: &&Word| words!("dies").has_hash(w.hash) && named.len() > 1 && w.start > named[0].start;
    let pointed: Vec<Word> = named.iter().filter(|w| !dies(w)).copied().collect();
    let once = listed!("pointing").stand(&pointed) || listed!("one-off").stand(&named);
    // "The new field" is one that is being made; "a new tenant" is any.
    let new = named.windows(2).any(|w| {
        words!("the die den das der").has_hash(w[0].hash) && words!("new neue neuen neues").has_hash(w[1].hash)
    });
    // "To add the filter, …" is about the one that is being made.
    let makes = words!("add implement change make improve build write create let get move")
        .has_hash(named.first()?.hash)
        && named.get(1).is_some_and(|w| words!("the this that my it").has_hash(w.hash));
    let once = once || makes;
    let steps = words!(
        "flow workflow way steps procedure process checklist runbook howto recipe routine schritte ablauf vorgehen checkliste anleitung how do is"
    );
    let key: Vec<String> = named
        .iter()
        .filter(|w| !SMALL.has_hash(w.hash) && !steps.has_hash(w.hash))
        .map(|w| singular(&lower(&text[w.start..w.end])))
        .collect();
    (!once && !new && !key.is_empty() && named.len() <= PURPOSE).then(|| key.join(" "))
}

/// Returns the purpose of a procedure ("To release the app:", "When we deploy,"), the words after it, and whether a
/// colon announces them.
fn purpose<'w>(said: &'w [Word], text: &str) -> Option<(String, &'w [Word], bool)> {
    let rest = after_leads(said);
    let colon = |words: &[Word]| words.iter().position(|w| !w.word && &text[w.start..w.end] == ":");
    let ways = (1..rest.len().min(PURPOSE))
        .find_map(|at| listed!("ways").begin(&rest[at..]).map(|(_, taken)| (at, at + taken)).max());
    if let Some((at, behind)) = ways
        && let Some(mark) = colon(rest).filter(|mark| *mark >= behind.saturating_sub(1))
    {
        return Some((key(&rest[..at], text)?, &rest[mark + 1..], true));
    }
    // "Adding a clinic: …", "our release flow: …", "Neue Klinik anlegen: erst …"
    if let Some(mark) =
        colon(rest).filter(|mark| (2..=PURPOSE).contains(mark) || *mark == 1 && listed!("steps").stand(&rest[..1]))
        && listed!("purpose").begin(rest).next().is_none()
    {
        return Some((key(&rest[..mark], text)?, &rest[mark + 1..], true));
    }
    let arrows = text.contains("->") || text.contains('→');
    if arrows
        && let Some(is) = rest
            .iter()
            .take(6)
            .position(|w| words!("is ist").has_hash(w.hash))
            .filter(|_| listed!("steps").stand(&rest[..rest.len().min(6)]))
    {
        return Some((key(&rest[..is], text)?, &rest[is + 1..], true));
    }
    let taken = listed!("purpose").begin(rest).map(|(_, taken)| taken).max()?;
    let words_of = &rest[taken..];
    let mark = words_of.iter().position(|w| !w.word && matches!(&text[w.start..w.end], ":" | ","));
    let first = (0..words_of.len()).find(|at| listed!("first").begin(&words_of[*at..]).next().is_some());
    // "To cut a release you run …"
    let you = (1..words_of.len()).find(|at| words!("you we man wir").has_hash(words_of[*at].hash));
    let end = mark.unwrap_or(usize::MAX).min(first.unwrap_or(usize::MAX)).min(you.unwrap_or(usize::MAX));
    if end == usize::MAX || end == 0 || end > PURPOSE {
        return None;
    }
    let announced = text[words_of[end].start..words_of[end].end] == *":";
    Some((key(&words_of[..end], text)?, &words_of[end..], announced))
}

/// Whether steps doubt, report or point at the task in hand.
fn doubtful(steps: &[Word]) -> bool {
    let mine =
        words!("i i'm i've i'd me my mine this these let's please ich mir mich mein meine dies diese diesen bitte");
    [listed!("doubts"), listed!("reported"), listed!("irony")].iter().any(|list| list.stand(steps))
        || steps.iter().any(|w| mine.has_hash(w.hash))
}

/// Returns a text without the request after its last comma or dash.
fn without_request(text: &str) -> &str {
    let all = unquoted(&split(text, Marks::Kept));
    let asks = words!("please pls bitte can could kannst könntest so");
    let mark = |w: &Word| !w.word && matches!(&text[w.start..w.end], "," | "-" | "–" | "—" | ".");
    let cut = (0..all.len().saturating_sub(1))
        .find(|at| mark(&all[*at]) && asks.has_hash(all[at + 1].hash) && is_request(&all[at + 1..], text));
    cut.map_or(text, |at| &text[..all[at].start])
}

/// Reads a procedure on one line: "To release: first …, then …".
pub(super) fn way(text: &str) -> Option<Told> {
    let text = without_request(text.trim());
    if text.len() > LONGEST || text.contains(['?', '？']) || quotes_speech(text) {
        return None;
    }
    let all = unquoted(&split(text, Marks::Kept));
    let (subject, behind, announced) = purpose(&all, text)?;
    let behind = match behind.first() {
        Some(w) if !w.word => &behind[1..],
        _ => behind,
    };
    let then = |at: usize| listed!("then").begin(&behind[at..]).next().is_some();
    let steps = (0..behind.len()).filter(|at| then(*at)).count();
    let first = (0..behind.len()).any(|at| listed!("first").begin(&behind[at..]).next().is_some());
    // Behind a colon, steps may be parted by commas only.
    let mark = |w: &Word| !w.word && matches!(&text[w.start..w.end], "," | ";" | "→");
    let arrows = text.matches("->").count();
    let is_and = |at: usize| words!("and und").has_hash(behind[at].hash) && is_request(&behind[at + 1..], text);
    let numbers = (1..10).take_while(|n| text.contains(&format!("{n})")) || text.contains(&format!(" {n}. "))).count();
    let parts = 1 + arrows + numbers + (0..behind.len()).filter(|at| mark(&behind[*at]) || is_and(*at)).count();
    // Without words for a purpose, a colon may announce anything: the steps must be clear.
    let named = listed!("purpose").begin(after_leads(&all)).next().is_some()
        || listed!("steps").stand(&all[..all.len().min(8)])
        || listed!("ways").stand(&all[..all.len().min(12)])
        || text[after_leads(&all).first()?.start..].split(' ').next().is_some_and(|w| w.ends_with("ing"));
    let does = (0..behind.len()).filter(|at| is_request(&behind[*at..], text)).count();
    let clear = steps >= 1 || first || arrows > 0 || does >= 2 || text.matches('`').count() >= 4;
    let enough = clear
        && (steps >= 2
            || first && steps >= 1
            || named && (announced && parts >= 3 || parts >= 2 && steps >= 1)
            || announced && parts >= 3 && steps >= 1);
    (enough && !doubtful(behind)).then(|| {
        let start = after_leads(&all).first().map_or(0, |w| w.start);
        Told::Procedure { subject, text: shown(&text[start..]) }
    })
}

/// Reads a line that announces the steps of a procedure: "Release steps:", "To release:", "How we do a hotfix here:".
/// Returns its subject and the line.
pub(super) fn announced(text: &str) -> Option<(String, String)> {
    let head = text.trim().strip_suffix(':')?;
    if head.len() > 80 || quotes_speech(head) {
        return None;
    }
    let all = unquoted(&split(text, Marks::Kept));
    if let Some((subject, behind, _)) = purpose(&all, text)
        && behind.iter().all(|w| !w.word)
    {
        return Some((subject, plain(head)));
    }
    let said: Vec<Word> =
        after_leads(&all).iter().filter(|w| w.word && !words!("here hier").has_hash(w.hash)).copied().collect();
    let steps = listed!("steps").stand(&said) || listed!("ways").stand(&said);
    if said.len() > 8 || !steps {
        return None;
    }
    Some((key(&said, text)?, plain(head)))
}

/// Returns the procedure that a list tells.
pub(super) fn of_list((subject, head, steps): (String, String, Vec<String>)) -> Option<Told> {
    let doubt = |step: &String| {
        let said = unquoted(&split(step, Marks::Dropped));
        step.ends_with('?') || step.len() > 200 || doubtful(&said) || listed!("hedges").stand(&said)
    };
    if !(2..=12).contains(&steps.len()) || steps.iter().any(doubt) {
        return None;
    }
    let numbered: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(n, s)| format!("{}. {}", n + 1, without_request(s).trim_end_matches('.')))
        .collect();
    let text = shown(&format!("{head}: {}", numbered.join("; ")));
    (text.len() <= LONGEST).then_some(Told::Procedure { subject, text })
}
