//! Recognises requests that say how their matter has to be: "create them in that folder only", "without a new
//! dependency". Such a request binds later work, too, so it is a rule of the task and not only work that was done.

use super::prompt::{Prompt, Purpose, weight};
use crate::statement::{Label, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::lower;
use crate::text::words::{Marks, split};

/// Whether a request limits how it is carried out. A complaint says how things are, not how they have to be.
pub fn is_restricted(prompt: &Prompt) -> bool {
    prompt.purpose == Purpose::Request && !prompt.complains() && !prompt.reports_fault() && restricts(&prompt.core)
}

/// Whether a text says how something has to be.
pub fn restricts(text: &str) -> bool {
    let limits = phrases!(
        "only|without|instead|exactly|never|always|must|don't|dont|otherwise|myself|manually / by hand / do|should not / no more|less|longer than / rather than / at least|most / make sure / same as / should be|allow|have|show|contain|return|use|support|include|stay|remain|keep|fit|match|not / nur|ohne|statt|stattdessen|genau|niemals|immer|muss|müssen|soll|sollen|sollte|sollten|kein|keine|keinen|mindestens|höchstens|sonst|ansonsten / von hand / seulement|uniquement|sans|exactement|jamais|toujours|doit|doivent|sinon / moi-même / à la place / au moins|plus / solo|sólo|solamente|únicamente|exactamente|nunca|siempre|debe|deben|debería|deberían|manualmente / si no / en lugar|vez de / al menos / somente|apenas|exatamente|sempre|devem / em vez de / soltanto|senza|invece|esattamente|mai|devono / только|без|вместо|точно|никогда|всегда|должен|должна|должно|должны|иначе|вручную / jen|pouze|bez|místo|přesně|nikdy|vždy|musí|jinak|ručně / tylko|zawsze|nigdy|zamiast|inaczej|ręcznie"
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
        "不想",
        "不需要",
        "手动",
        "手動",
        "设置为",
        "设为",
        "改为",
        "改成",
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

/// Whether a sentence beside a request is a rule without a verb: "No adaptive stepping, no scipy", "Flat numpy only".
pub fn is_terse_rule(s: &Statement) -> bool {
    let words = split(&lower(&s.text), Marks::Dropped);
    let begins = phrases!(
        "no|only|without / kein|keine|keinen|nur|ohne / pas de|d / sans|seulement / sin|solo|sólo|ningún|ninguna / senza|solo|niente / sem|somente|nenhum / без|только|никаких / bez|jen|žádné / bez|tylko|żadnych"
    );
    let idle = phrases!(
        "no problem|idea|need|worries|wonder|way|one|thanks|clue|luck|change|changes|errors|error|success|result|difference|such|more|longer|matter|doubt|i|it|that|this|the|there|you|we / kein problem / keine ahnung|sorge / sin problema|embargo|duda / sans problème|doute / sem problema|dúvida / senza problemi|dubbio / без проблем"
    );
    // "Only", with a break behind it within the first words.
    let limits = || {
        let head: Vec<&str> = s.text.split_whitespace().take(5).collect();
        head.windows(2).any(|two| {
            let broken = two[0].ends_with([',', ';', ':']) || matches!(two[1], "—" | "–" | "-");
            broken
                && matches!(
                    lower(two[0].trim_end_matches([',', ';', ':'])).as_str(),
                    "only" | "nur" | "solo" | "только"
                )
        })
    };
    // "No tables were created" reports.
    let tells = phrases!(
        "is|are|was|were|has|have|had|did|does|do|exists|exist|works|work|appears|appear|shows|comes|happens|found|yet / ist|sind|war|waren|wurde|wurden|hat|haben|gibt|geht / est|sont|était|a|ont / es|son|era|hay|está|están|fue|ha|han / è|sono|era|ha|hanno / é|são|era|há|foi / было|была|были|есть|нет|работает / je|jsou|byl|byla|bylo"
    );
    let plain = !s.text.starts_with("No,") && !s.text.contains('?') && !tells.stand_in(&s.text);
    matches!(s.label, Label::Remark | Label::Finding | Label::Remaining)
        && plain
        && s.words() <= 16
        && s.words() > 1
        && (begins.begin(&words).next().is_some() && idle.begin(&words).next().is_none() || limits())
}

/// Returns the part of a request that says how its matter has to be: of "add the to-do, and make sure it names the
/// file", the second clause; the whole request if no clause says it alone.
pub fn limit(request: &str) -> String {
    let clauses = request.split_inclusive([',', ';', '，', '；']).rev();
    let mut clauses = clauses.map(|clause| clause.trim().trim_end_matches([',', ';', '，', '；']));
    clauses.find(|clause| restricts(clause) && weight(clause) >= 3).map_or_else(|| request.to_owned(), without_joint)
}

/// Removes the conjunction that joins a sentence or a clause to the one before: "But wait with the booking".
pub fn without_joint(text: &str) -> String {
    const JOINTS: [&str; 13] =
        ["but ", "and ", "so ", "also, ", "aber ", "und ", "mais ", "et ", "pero ", "y ", "ma ", "mas ", "e "];
    let joins = |joint: &&&str| text.get(..joint.len()).is_some_and(|head| head.eq_ignore_ascii_case(joint));
    let Some(joint) = JOINTS.iter().find(joins) else { return text.to_owned() };
    let mut letters = text[joint.len()..].chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
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
        assert_eq!(limit("add the to-do, and make sure it names the file"), "Make sure it names the file");
        assert_eq!(limit("create variations in that folder only"), "create variations in that folder only");
        for text in ["add a page for the prices", "run the tests again", "给首页加一个按钮"] {
            assert!(!restricts(text), "{text}");
        }
    }
}
