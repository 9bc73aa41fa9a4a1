//! Recognises requests that say how their matter has to be: "create them in that folder only", "without a new
//! dependency". Such a request binds later work, too, so it is a rule of the task and not only work that was done.

use super::prompt::{Prompt, Purpose};
use crate::text::patterns::phrases;

/// Whether a request limits how it is carried out. A complaint says how things are, not how they have to be.
pub fn is_restricted(prompt: &Prompt) -> bool {
    prompt.purpose == Purpose::Request && !prompt.complains() && !prompt.reports_fault() && restricts(&prompt.core)
}

/// Whether a text says how something has to be.
pub fn restricts(text: &str) -> bool {
    let limits = phrases!(
        "only|without|instead|exactly|never|always|must|don't|dont / do|should not / no more|less|longer than / rather than / at least|most / make sure / same as / nur|ohne|statt|stattdessen|genau|niemals|immer|muss|müssen|kein|keine|keinen|mindestens|höchstens / seulement|uniquement|sans|exactement|jamais|toujours|doit|doivent / à la place / au moins|plus / solo|sólo|solamente|únicamente|exactamente|nunca|siempre|debe|deben / en lugar|vez de / al menos / somente|apenas|exatamente|sempre|devem / em vez de / soltanto|senza|invece|esattamente|mai|devono / только|без|вместо|точно|никогда|всегда|должен|должна|должно|должны / jen|pouze|bez|místo|přesně|nikdy|vždy|musí"
    );
    let east = [
        "只",
        "仅",
        "僅",
        "不要",
        "不能",
        "不得",
        "必须",
        "必須",
        "应该",
        "應該",
        "否则",
        "否則",
        "而不是",
        "按照",
        "のみ",
        "だけ",
        "しないで",
        "必ず",
        "ではなく",
        "말고",
        "반드시",
        "대신",
    ];
    limits.stand_in(text) || east.iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_a_request_is_seen() {
        for text in [
            "create variations in that folder only",
            "reload the container without knowing where the file is",
            "remove the old window and make a web page instead",
            "baue es ohne neue Abhängigkeit",
            "相同值为1，否则值为0",
        ] {
            assert!(restricts(text), "{text}");
        }
        for text in ["add a page for the prices", "run the tests again", "给首页加一个按钮"] {
            assert!(!restricts(text), "{text}");
        }
    }
}
