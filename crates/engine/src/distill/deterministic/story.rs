//! Recognises sentences of a person that want nothing. People tell stories before, after and between their requests ("I
//! noticed that two panels were bad"), and describe the screen ("it is still dispatching"). Neither is a rule.

use super::marks::Mark;
use crate::statement::Statement;
use crate::text::patterns::phrases;
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Number of sentences about what happened from which a message is a story, and their least share of its sentences.
const STORY: usize = 4;
const SHARE: usize = 4;

/// Whether a message mostly tells a story, so that its other sentences are parts of it unless they demand something.
pub fn is_story(own: &[Statement]) -> bool {
    let told = own.iter().filter(|s| narrates(&s.text)).count();
    told >= STORY && told * SHARE >= own.len()
}

/// Whether a sentence tells of the past: an action of the person or of others, or a former state.
pub fn narrates(text: &str) -> bool {
    let low = lower(text);
    let words: Vec<&str> = split(&low, Marks::Dropped).iter().map(|w| &low[w.start..w.end]).collect();
    let after_subject = |at: usize| {
        let rest = &words[at + 1..];
        // "I then started", "we both went".
        let skipped = rest.iter().take(2).take_while(|w| ADVERBS.contains(w)).count();
        rest.get(skipped).is_some_and(|word| is_past(word))
    };
    let subjects = words.iter().enumerate().filter(|(_, word)| SUBJECTS.contains(word));
    subjects.map(|(at, _)| at).any(after_subject)
        || phrases!(
            "everything|nothing|everyone|there|that|it was|were / ich|wir habe|haben|hatte|hatten|war|waren|bin|wurde|wurden / j'ai|j'avais|j'étais / nous avons|avions|étions / on a|avait / c'était / me di|dio|pasó / yo|nosotros estaba|fui|hice|tuve|había / estaba|estábamos|había|hubo|empecé|noté / io|noi ho|avevo|ero|abbiamo|eravamo / я|мы был|была|были|заметил|заметила|увидел|пошел|пошёл"
        )
        .stand_in(&low)
}

/// Whether a sentence describes a sight of the person: an observation or a fault that is still there.
pub fn observes(s: &Statement) -> bool {
    Mark::StillWrong.is_in(s)
        || phrases!(
            "i can see / i see|saw / i'm seeing / im seeing / is|are|it's|its still / ich sehe / ist|sind immer noch / je vois / est|sont toujours / veo / sigue|siguen / vedo / è|sono ancora / я вижу / всё|все ещё|еще"
        )
        .stand_in(&s.text)
}

/// Whether a sentence introduces its reader or the parties of a matter: "You've just joined the team", "Your colleague at
/// the venue is Marcus", "It explains the situation". A brief that a person hands on begins with such sentences.
pub fn introduces(text: &str) -> bool {
    let low = lower(text);
    let words = split(&low, Marks::Dropped);
    let reader = phrases!("you're|you've / you are|were / it|this explains|describes / du bist|warst / sie sind / es beschreibt / tu es / vous êtes / eres / usted es / sei|siete / você é / ты / вы являетесь").begin(&words).next().is_some();
    let party = phrases!("your|our / dein|deine|euer|eure|unser|unsere / ton|ta|votre|notre / tu|su|nuestro|nuestra / tuo|tua|nostro|nostra / seu|sua|nosso|nossa").begin(&words).next().is_some();
    reader || party && is_copula(&low, &words[..words.len().min(6)])
}

/// Whether a sentence defines what its first words name: "Greenroom is software for venues".
pub fn defines(text: &str) -> bool {
    let low = lower(text);
    let words = split(&low, Marks::Dropped);
    is_copula(&low, words.get(1..words.len().min(3)).unwrap_or_default())
}

fn is_copula(low: &str, words: &[Word]) -> bool {
    const COPULAS: [&str; 12] = ["is", "are", "ist", "sind", "est", "sont", "es", "son", "è", "sono", "é", "são"];
    words.iter().any(|w| COPULAS.contains(&&low[w.start..w.end]))
}

const SUBJECTS: [&str; 6] = ["i", "we", "he", "she", "they", "it"];

const ADVERBS: [&str; 12] =
    ["then", "also", "just", "always", "both", "all", "finally", "suddenly", "first", "recently", "actually", "soon"];

/// Irregular verbs in the past that people tell stories with.
const PAST: [&str; 44] = [
    "was", "were", "had", "did", "went", "came", "saw", "found", "thought", "took", "got", "began", "felt", "told",
    "said", "knew", "gave", "left", "lost", "heard", "kept", "ran", "sent", "spent", "stood", "wrote", "broke",
    "bought", "brought", "built", "caught", "fell", "forgot", "grew", "held", "led", "met", "paid", "read", "sat",
    "set", "spoke", "woke", "won",
];

fn is_past(word: &str) -> bool {
    PAST.contains(&word) || word.len() > 4 && word.ends_with("ed") && !word.ends_with("need")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::deterministic::marks::statements;
    use crate::statement::Speaker;

    #[test]
    fn what_happened_is_told_from_what_is_wanted() {
        for told in [
            "I noticed that two of the microinverters were bad.",
            "Somewhere between 2 and 3 years ago we had some storms rip through the neighborhood.",
            "Then I started to dig deeper than anticipated.",
            "Everything was all fun and games connecting an api here.",
            "I can see that 200 requests were dispatched.",
            "Ich war überrascht und habe nachgesehen.",
            "Nous avons remarqué que la batterie était vide.",
        ] {
            assert!(narrates(told) || observes(&statements(told, Speaker::Person, false)[0]), "{told}");
        }
        for wanted in [
            "The player picks a mask and survives a shift.",
            "All menus must work without a keyboard.",
            "I want the seed to be fixed.",
            "We need two buttons.",
            "When it is set to HTML, the fetched page is displayed.",
            "The button is disabled until the form is filled.",
            "Es soll auf Englisch sein.",
        ] {
            assert!(!narrates(wanted), "{wanted}");
        }
    }

    #[test]
    fn parties_and_things_are_introduced() {
        for text in [
            "You've just joined Greenroom as a product manager.",
            "Your colleague at the venue is Marcus Holland.",
            "Our customers are small rooms.",
            "It explains the situation you're walking into.",
        ] {
            assert!(introduces(text), "{text}");
        }
        for text in
            ["You have to read it first.", "Your answer has three parts.", "Use our colours.", "It lists each panel."]
        {
            assert!(!introduces(text), "{text}");
        }
        assert!(defines("Greenroom is software for venues."));
        assert!(!defines("Make sure the button is blue."));
    }

    #[test]
    fn a_story_has_several_such_sentences() {
        let own = |text: &str| statements(text, Speaker::Person, false);
        let story =
            "I set out on a mission. We had storms. I noticed two bad panels. I was shocked. Allow me to explain.";
        assert!(is_story(&own(story)));
        let request = "I noticed two bad panels. Add a page for them. It lists each panel. I want it sorted by name.";
        assert!(!is_story(&own(request)));
    }
}
