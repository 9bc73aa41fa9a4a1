//! Chooses the statements of a message that are worth keeping.

use super::marks::{Mark, is_stressed, reword};
use super::prompt::{is_machine, is_wide, names_a_file, weight, weight_of};
use crate::statement::{Label, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower};
use crate::text::similarity::is_id;
use crate::text::words::{Marks, split};

/// Returns a score of how much a statement of the model says about results or findings. 0: nothing.
///
/// The label counts most, then that the statement opens the message or a paragraph, and that it names something.
/// Statements that announce a list, or that cannot stand alone, lose points.
pub fn worth(s: &Statement) -> u32 {
    // "I'll rewrite the seed file" reports no work done yet.
    let announces = Mark::Announcement.is_in(s) && s.label != Label::Finding || Mark::announce(s);
    if matches!(s.label, Label::Remark | Label::Done | Label::Finding | Label::Commitment) && announces {
        return 0;
    }
    // "Make sure that the packages are installed" tells the person what to do, not what was done.
    if matches!(s.label, Label::Remark | Label::Done | Label::Finding | Label::Directive) && Mark::Advice.is_in(s) {
        return 0;
    }
    // "Ready for the next task" says that the model waits, not what it did.
    if Mark::Idle.is_in(s) && s.words() <= 14 {
        return 0;
    }
    if s.words() <= 3 && is_greeting(&s.text) || aims(&s.text) || retells(&s.text) {
        return 0;
    }
    // The name of a file above its code says nothing.
    let bare = s.text.trim().trim_matches('`');
    if !bare.contains(' ') && (names_a_file(bare) || !s.text.starts_with('`') && bare.contains(['.', '/'])) {
        return 0;
    }
    // `PGDATABASE_WRITE=nostr` is a line of a listing, "the string is ..." has its end elsewhere.
    if !bare.contains(' ') && !s.text.starts_with('`') && is_machine(bare) || s.text.ends_with(" ...") {
        return 0;
    }
    // "(if all went well)" belongs to the sentence before it.
    if s.text.starts_with(['(', '（']) && s.text.trim_end_matches('.').ends_with([')', '）']) {
        return 0;
    }
    // An item that continues a sentence begun above the list: "detect missing input,".
    if s.bullet && s.text.ends_with([',', ';']) {
        return 0;
    }
    // "Already empty" and "the rest of the layout remains unchanged" name nothing that was done or found.
    if !says(s) && (s.words() <= 2 || Mark::Unchanged.is_in(s)) {
        return 0;
    }
    let base = match s.label {
        Label::Done => 12,
        Label::Decision => 11,
        Label::Finding => 8,
        Label::Directive | Label::Commitment | Label::Blocked => 5,
        Label::Remark | Label::Remaining => 3,
        _ => return 0,
    };
    if s.asks || s.text.ends_with([':', '：']) || s.text.chars().count() < 12 {
        return 0;
    }
    // "lena — 57.9 (Reach 91.2)" is a measurement.
    let numbers = s.text.split_whitespace().filter(|w| w.bytes().any(|b| b.is_ascii_digit())).count();
    if s.bullet && numbers > 1 && s.words() < if s.sure { 3 } else { 4 } * numbers {
        return 0;
    }
    let mut score = base + u32::from(s.sure) * 3;
    score += if s.paragraph == 0 { 4 } else { 0 };
    score += if names(&s.text) { 3 } else { 0 };
    score += if s.bullet { 0 } else { 1 };
    // Among statements that no rule labels, those with the most weighty words win.
    score += if s.sure { 0 } else { (weight_of(s) / 4).min(4) as u32 };
    score += if concludes(s) { 5 } else { 0 };
    score = score.saturating_sub(if s.standalone { 0 } else { 4 });
    score = score.saturating_sub(if s.text.len() > 260 { 3 } else { 0 });
    score
}

/// Minimum weight of a stressed statement; a lighter one is a title or a name.
const STRESSED: usize = 4;

/// Whether a statement is what its writer concludes: a sentence in bold, or one behind a label that says so ("Root
/// cause: …", "总结：…").
pub fn concludes(s: &Statement) -> bool {
    let labels = phrases!(
        "fix / the? root? cause / the? reason / solution / conclusion / in short / bottom line / summary / verdict / ursache / grund / lösung / fazit / kurz gesagt / cause / raison / solution / conclusion / en résumé / causa|motivo / razón / solución / conclusión / en resumen / soluzione / conclusione / in breve / motivo / solução / conclusão / em resumo / причина / решение / вывод / příčina / řešení / závěr"
    );
    let east = ["总结", "總結", "结论", "結論", "原因", "根本原因", "解决方案", "解決方案", "まとめ", "결론", "원인"];
    let label = s.text.split_once([':', '：']).filter(|(head, rest)| head.len() <= LABEL && weight(rest) >= STRESSED);
    let is_label = |head: &str| {
        let words = split(&lower(head), Marks::Dropped);
        labels.begin(&words).any(|(_, taken)| taken == words.len()) || east.contains(&head.trim())
    };
    !s.asks && (is_stressed(s) && weight_of(s) >= STRESSED || label.is_some_and(|(head, _)| is_label(head)))
}

/// Maximum length of a label before a conclusion, in bytes.
const LABEL: usize = 24;

/// Maximum number of words of a list's item that says nothing without the report above the list.
const FRAGMENT: usize = 8;

/// Maximum length of a report with its list, in bytes: two lines of a handoff.
const LONGEST: usize = 240;

/// Returns the statements of an answer, with lists of fragments joined to the report above them: "Implemented `count`
/// with: input from stdin; the ten most frequent words".
pub fn gathered(statements: &[Statement]) -> Vec<Statement> {
    let mut out: Vec<Statement> = Vec::with_capacity(statements.len());
    let mut rest = statements;
    while let [first, after @ ..] = rest {
        rest = after;
        let items = after.iter().take_while(|s| s.bullet).count();
        let reports = first.label == Label::Done && first.sure && !first.bullet && first.text.ends_with([':', '：']);
        // An item that reports something by itself is no fragment.
        if !reports || items < 2 || after[..items].iter().any(|s| s.sure || s.words() > FRAGMENT) {
            out.push(first.clone());
            continue;
        }
        let told: Vec<&str> = after[..items].iter().map(|s| s.text.trim_end_matches(['.', ';', ','])).collect();
        let mut joined = first.clone();
        reword(&mut joined, &cut(&format!("{} {}", first.text, told.join("; ")), LONGEST));
        out.push(joined);
        rest = &after[items..];
    }
    out
}

/// Returns the best of some statements, in their order.
pub fn best(statements: &[Statement], most: usize, least: u32) -> Vec<&Statement> {
    let mut ranked: Vec<(u32, usize)> =
        statements.iter().enumerate().map(|(i, s)| (worth(s), i)).filter(|(w, _)| *w >= least).collect();
    ranked.sort_by_key(|(w, i)| (std::cmp::Reverse(*w), *i));
    ranked.truncate(most);
    ranked.sort_by_key(|(_, i)| *i);
    ranked.into_iter().map(|(_, i)| &statements[i]).collect()
}

/// Whether a statement names something, or is in a script whose names are not told apart.
pub fn says(s: &Statement) -> bool {
    names(&s.text) || s.text.chars().any(is_wide)
}

/// Whether a text names something that cannot be guessed: a file, an identifier, a number.
pub fn names(text: &str) -> bool {
    text.contains('`')
        || text
            .split_whitespace()
            .any(|w| is_id(w.trim_matches(|c: char| !c.is_alphanumeric())) || w.bytes().any(|b| b.is_ascii_digit()))
}

/// Whether a model tells itself what it was asked, in a message that some programs store like an answer: "The user wants me to
/// check the tests." Models reason in English in conversations of any language.
fn retells(text: &str) -> bool {
    phrases!("the user wants|asks|asked|requests|requested|reports|reported|mentioned|said / the user is|was asking|requesting|reporting|getting|saying|noticing / the user has|now? asked|requested|reported|said|allowed|provided|shared|wants / i understand the user|that?")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a text says what is to be reached, not what was: "The goal is to remove the check."
fn aims(text: &str) -> bool {
    phrases!("the|our goal|aim|idea|plan|intention here? is|was to / das ziel ist / l'objectif est / el objetivo es / l'obiettivo è / o objetivo é / цель")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a text begins with a greeting.
pub fn is_greeting(text: &str) -> bool {
    let words = split(&lower(text), Marks::Dropped);
    phrases!("hello|hi|hey|welcome / good morning|afternoon|evening / hallo|moin|willkommen / guten morgen|tag|abend / bonjour|salut|bienvenue|bonsoir / hola|bienvenido|bienvenida / buenos días / buenas tardes|noches / ciao|buongiorno|buonasera / olá|oi / bom dia / boa tarde|noite / привет|здравствуйте / добрый день|вечер / ahoj / dobrý den / cześć / dzień dobry / goedemorgen / merhaba|günaydın")
        .begin(&words)
        .next()
        .is_some()
}

/// Whether a statement can settle an open item: a report of work done. A short plain sentence may be one, whatever its
/// label, because the item it settles must share its words.
pub fn completes(s: &Statement) -> bool {
    let short =
        matches!(s.label, Label::Finding | Label::Remark) && s.words() <= 6 && !s.asks && !Mark::Announcement.is_in(s);
    s.label == Label::Done || s.second == Some(Label::Done) || short
}
