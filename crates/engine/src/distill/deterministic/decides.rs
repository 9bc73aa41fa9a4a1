//! Recognises sentences in which the model decides something: a declared decision, a choice with its reason, what was
//! taken and what was not.

use super::marks::Mark;
use super::stated::{is_fault, is_not};
use super::{answer, prompt};
use crate::statement::{Label, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::lower;
use crate::text::words::{Marks, split};

/// Whether a statement of the model is a decision that a reader can understand.
pub fn is_choice(s: &Statement) -> bool {
    let understood = s.standalone || prompt::weight_of(s) >= 3;
    // An item below "Key decisions:" is one whatever it says.
    let listed = s.bullet && s.begins_line && s.sure;
    declares(&s.text)
        || s.label == Label::Decision && (listed || understood && answer::worth(s) > 0 && !weighs(&s.text))
}

/// Phrases that give a reason or name what was not chosen, in scripts without blanks.
const REASONS: [&str; 9] = ["而不是", "避免", "以免", "因为", "因為", "代わりに", "ため", "改由", "改用"];

/// Whether a statement about a change gives the reason for it, or names what was not chosen: "Poppins is loaded with a
/// link, which is faster than an import", "the key lives in the browser's storage, not in the database".
pub fn is_reasoned(s: &Statement) -> bool {
    let contrasts = || [", not ", "— not ", "– not ", "; not "].iter().any(|not| s.text.contains(not));
    let east = || !s.text.is_ascii() && REASONS.iter().any(|part| s.text.contains(part));
    let told = matches!(s.label, Label::Done | Label::Finding | Label::Remark | Label::Decision | Label::Directive);
    told && !s.asks
        && answer::names(&s.text)
        && answer::worth(s) > 0
        && (5..=45).contains(&s.words().max(prompt::weight_of(s)))
        && !is_fault(s)
        && !is_not(&s.text)
        && !Mark::Hypothetical.is_in(s)
        && !weighs(&s.text)
        && (Mark::Reasoned.is_in(s) || contrasts() || east())
}

/// Whether the model names, during its work, its choice and the other one: "I'll point compose at it via `env_file`
/// instead of requiring a root `.env`".
pub fn prefers(s: &Statement) -> bool {
    let contrasts = phrases!(
        "instead of / rather than / in place of / statt|anstatt|anstelle / au lieu de / plutôt que / en lugar de / en vez de / invece di|che / piuttosto che / em vez de / вместо / místo"
    );
    is_own(&s.text)
        && !s.asks
        && (6..=40).contains(&s.words())
        && answer::names(&s.text)
        && !Mark::Hypothetical.is_in(s)
        && !is_fault(s)
        && contrasts.stand_in(&s.text)
}

/// Whether a text begins with its speaker: "I'll keep the table form".
pub fn is_own(text: &str) -> bool {
    phrases!("i'll / i will / i'm / i am / we'll / we will / let's / i / we / ich / wir / je / nous / voy / vamos")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a text only weighs a possibility: "Using the other registry can drop the cost" decides nothing.
fn weighs(text: &str) -> bool {
    let words = split(&lower(text), Marks::Dropped);
    let may = phrases!(
        "can|could|might|may|would / kann|könnte|würde / peut|pourrait / puede|podría / può|potrebbe / pode|poderia"
    );
    !is_own(text) && words.iter().take(12).any(|w| may.begin(&[*w]).next().is_some())
}

/// Whether a text begins with a label that declares a decision: "My decision: …", "Entscheidung: …".
pub fn declares(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(24)];
    head.contains(':') && phrases!("decision / my decision / our decision / decided / entscheidung / meine entscheidung / décision / ma décision / decisión / mi decisión")
        .begin(&split(&lower(head), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether the model draws a conclusion for what it does: "The small ones are sold out, so I'm taking the CPX32",
/// "the keys are deliberately not copied".
pub fn follows(s: &Statement) -> bool {
    let east = ["所以我用", "所以使用", "因此使用", "因此采用", "因此我", "故意不", "特意", "あえて", "일부러"];
    let told = matches!(s.label, Label::Remark | Label::Finding | Label::Done | Label::Decision | Label::Commitment);
    told && !s.asks
        && (answer::names(&s.text) || prompt::weight_of(s) >= 5)
        && s.words().max(prompt::weight_of(s)) <= 45
        && !Mark::Hypothetical.is_in(s)
        && !is_not(&s.text)
        && (Mark::Concluded.is_in(s)
            || Mark::OnPurpose.is_in(s)
            || !s.text.is_ascii() && east.iter().any(|part| s.text.contains(part)))
}
