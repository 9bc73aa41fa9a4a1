//! Guesses the category of a message that contains no word of any list, by the shape of its sentences: "Reduced the image
//! sizes …" tells of work, "a rule that nobody understands is not a rule but …" reflects. Pure.

use super::score::Category;
use crate::text::patterns::{phrases, words};
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Returns the category that a sentence's shape shows, with the words that show it.
pub(super) fn shape(text: &str) -> Option<(Category, String)> {
    let all = split(text, Marks::Kept);
    let clauses = all.split(|w| !w.word && ",;:.!?–—".contains(&text[w.start..w.end]));
    for clause in clauses {
        let said: Vec<Word> = clause.iter().filter(|w| w.word).copied().collect();
        if let Some((category, at, to)) = of_clause(&said, text) {
            return Some((category, lower(&text[said[at].start..said[to].end])));
        }
    }
    None
}

/// Returns the category of a clause, and the first and last word that show it.
fn of_clause(said: &[Word], text: &str) -> Option<(Category, usize, usize)> {
    let (first, last) = (said.first()?, said.len() - 1);
    let raw = |w: &Word| lower(&text[w.start..w.end]);
    let find = |list: &crate::text::patterns::Phrases| {
        (0..said.len()).find_map(|at| list.begin(&said[at..]).map(|(_, taken)| (at, at + taken - 1)).max())
    };
    let ours = phrases!(
        "we|i won't|shan't / let's / lasst uns / made up my|our mind / and that's|thats it|final / that's how we do / es bleibt bei|beim \
         / we shall / for good / wir machen|lassen|bleiben|bauen|kaufen|stellen|nutzen"
    );
    let found = phrases!(
        "looks|seems as if|though / jetzt|nun verstehe|weiß ich|wir / now i|we get|see|understand / was|were|is hiding|hidden \
         / differ|differs because / the trick|catch is|was / es sieht so aus / the difference is|was"
    );
    let broken = phrases!(
        "although|though|obwohl / never left|arrived|came|reached|finished|started|returns|returned / every second|third|other / instead of the \
         / nobody can|gets|receives / zu früh|spät|lang|kurz|weit / by two|three|several"
    );
    let done = phrases!(
        "without a|any hiccup|hitch|problem|fault|complaint|incident / behind us / has|have|is already|been? paid|delivered|accepted / in time / days early / ohne einen? zwischenfall|klage|ausfall"
    );
    let heart = phrases!(
        "my|mein heart|stomach|herz / zu viel / komme|kommen nicht hinterher / weighs on / mir ist|wird / i was|am so|too / ich bin so|ganz|völlig / keeps me awake / hands were shaking"
    );
    let praise = phrases!("what a / i have ever / i've ever / ever seen|made|had|sent");
    let nature = phrases!(
        "is|are not a|an|the? / still yours|mine|ours / der preis der|des / is the price|mother|enemy of / lives on / a machine|person|life|world that"
    );
    for (category, list) in [
        (Category::Decision, ours),
        (Category::Discovery, found),
        (Category::Success, done),
        (Category::Feeling, heart),
        (Category::Sentiment, praise),
        (Category::Issue, broken),
    ] {
        if let Some((at, to)) = find(list) {
            return Some((category, at, to));
        }
    }
    // "… is not a rule but a superstition."
    let but = said.iter().any(|w| words!("but sondern").has_hash(w.hash));
    let antithesis = phrases!("is|are not a|an|the? / ist|sind kein|keine|nicht").stand(said) && but;
    if let Some((at, to)) = find(nature).filter(|_| antithesis || !phrases!("is|are not").stand(said)) {
        return Some((Category::Philosophy, at, to));
    }
    // "The ugliest invoice …": a superlative with "ever".
    let most = |w: &Word| raw(w).len() > 5 && raw(w).ends_with("est");
    if said.iter().any(most) && said.iter().any(|w| words!("ever je").has_hash(w.hash)) {
        return Some((Category::Sentiment, 0, last));
    }
    // "I rearranged the settings", "Reduced the image sizes": past work.
    let past = |w: &Word| raw(w).len() > 4 && raw(w).ends_with("ed");
    let state = words!(
        "wanted needed liked loved hoped wished tried asked wondered seemed stayed lived talked called waited walked watched looked \
         visited attended listened married remembered happened existed based"
    );
    let i = words!("i we").has_hash(first.hash);
    let verb = said.get(usize::from(i)).filter(|w| past(w) && !state.has_hash(w.hash));
    let article =
        words!("the a an all both two three every our my it them").has_hash(said.get(1 + usize::from(i))?.hash);
    if verb.is_some() && article {
        return Some((Category::Implementation, 0, usize::from(i)));
    }
    // "Ich habe den Kalender … angeschlossen."
    let ich = words!("ich wir").has_hash(first.hash) && words!("habe haben").has_hash(said.get(1)?.hash);
    let end = raw(&said[last]);
    let done = end.contains("ge") && (end.ends_with('t') || end.ends_with("en")) && end.chars().all(char::is_lowercase);
    let object =
        said.get(2).is_some_and(|w| words!("den die das dem der alle einen eine ein zwei beide").has_hash(w.hash));
    (ich && done && object).then_some((Category::Implementation, 0, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_without_a_listed_word_have_a_shape() {
        let of = |text: &str| shape(text).map_or("none".to_owned(), |(c, words)| format!("{}: {words}", c.name()));
        for (text, wanted) in [
            ("Reduced the image sizes and put them behind the CDN.", "implementation: reduced"),
            ("Ich habe den Kalender an die Buchungen angeschlossen.", "implementation: ich habe"),
            ("Let's postpone the launch until the second half of October.", "decision: let's"),
            ("I wanted the seat at the window of the train.", "none"),
            ("A rule that nobody understands is not a rule but a superstition.", "philosophy: is not a"),
            ("There are two printers on this floor and one in the basement.", "none"),
            ("", "none"),
        ] {
            assert_eq!(of(text), wanted, "{text}");
        }
    }
}
