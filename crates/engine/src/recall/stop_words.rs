//! Words that stand in every text and tell nothing: left out of queries unless a query has no others
//! (RETRIEVAL: +6 R@10). Frequency does the rest.
//!
//! A function word of one language is a content word of another ("die", "war", "son"), so the words of one language go:
//! the one the query is written in, English where that cannot be told.

use std::collections::HashMap;
use std::sync::OnceLock;

/// A language whose function words are known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
}

/// In the order of [`WORDS`], which is the order of ties.
const LANGUAGES: [Language; 7] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
];

const WORDS: [&str; 7] = [
    "a about above after again against all also am an and any are as at be because been before being below between both \
     but by can could did do does doing down during each few for from further had has have having he her here hers \
     herself him himself his how i if in into is it its itself just let me more most my myself no nor not now of off on \
     once only or other our ours ourselves out over own same she should so some such than that the their theirs them \
     themselves then there these they this those through to too under until up us very was we were what when where which \
     while who whom why will with would you your yours yourself yourselves",
    "aber alle als also am an ans auch auf aus bei beim bin bis da dabei damit dann das dass dein deine dem den denn der \
     des dich die diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas \
     euch euer für gab gibt habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre im in ins ist ja jetzt kann \
     können man mein meine mich mir mit muss nach nicht noch nun nur ob oder ohne sein seine seit sich sie sind so soll \
     sollte über um und uns unser unsere unter vom von vor wann war waren warum was wegen weil welche welcher welches wem \
     wen wenn wer werden weshalb wie wieso will wir wird wo wofür wollte woran wurde wurden zu zum zur zwischen",
    "à ai alors as au aux avait avec avez avoir avons ce cela ces cet cette comme comment dans de depuis des donc du elle \
     elles en est et été être étaient était eu fait il ils j je la le les leur leurs lui ma mais me mes moi mon n ne nos \
     notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que quel quelle quels qui quoi sa sans se ses si \
     son sont sur ta te tes toi ton tu un une vos votre vous y",
    "a al algo antes así aún como con cómo cuál cuándo cuando de del desde donde dónde e el él ella ellas ellos en entre \
     era eran es esa ese eso esta está estaba están este esto estos fue fueron ha había han hasta hay he la las le les lo \
     los más me mi mis muy nada ni no nos nosotros o para pero por porque qué que quién quien se sea ser si sí sin sobre \
     son su sus también te tenemos tiene tu tus un una unas uno unos y ya yo",
    "a abbiamo ad agli ai al alla alle anche avere aveva c che chi ci come con cosa da dagli dal dalla dei del della delle \
     dello di dopo dove e è ed era erano gli ha hai hanno ho i il in io l la le lei lo loro lui ma mi mia mio ne nei nel \
     nella noi non nostra nostro o per perché più prima quale quando quella quello questa questo qui se sei si sia siamo \
     sono sta stato su sua sugli sul sulla suo te ti tra tu tua tuo un una uno vi",
    "a à ao aos aquela aquele aqui as até com como da das de dela dele depois do dos e é ela elas ele eles em entre era \
     eram essa esse esta está estava este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na nas não \
     nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque por quando que quem se sem ser \
     seu sua são só também te tem tinha tu um uma você vocês",
    "aan al als ben bij daar dan dat de der deze die dit doen door dus een en er ge geen had hadden heb hebben heeft hem \
     het hier hij hoe hun ik in is je jij jullie kan kon maar me meer men met mij mijn na naar niet niets nog nu of om \
     omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor waar waarom wanneer waren was wat we wel \
     welke werd wezen wie wij wil wordt zal ze zei zich zij zijn zo zonder zou",
];

/// Function words of other languages that are words of content in English: one of them alone tells nothing.
const ENGLISH_TOO: &str = "also as been being bin come con da dance dare dean dem den der des dir do door dot dove due \
    dun dot el em er era fin for gab had hat he hem her here hers hier hoe hun ma man mas me men met mi mir most na nat \
    no not on or os pas per plus pour prima sea sei sin so son sur ton van war was wear we wel will ze zoom sole sole ben \
    die ins ai al ad i is in an am at us if it";

struct Known {
    /// Bits of the languages a word is a function word of.
    words: HashMap<&'static str, u8>,
    english_too: std::collections::HashSet<&'static str>,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut words: HashMap<&'static str, u8> = HashMap::new();
        for (n, list) in WORDS.iter().enumerate() {
            for word in list.split_ascii_whitespace() {
                *words.entry(word).or_default() |= 1 << n;
            }
        }
        Known { words, english_too: ENGLISH_TOO.split_ascii_whitespace().collect() }
    })
}

/// The language of lower-case words, told by their function words and by letters only one language has.
///
/// Another language than English needs more of them than English has: two, or one that is a word of no other kind.
pub fn language<'w>(words: impl Iterator<Item = &'w str>) -> Language {
    let known = known();
    let (mut found, mut sure) = ([0u32; 7], [0u32; 7]);
    let mut seen = std::collections::HashSet::new();
    for word in words.filter(|w| seen.insert(*w)) {
        let bits = known.words.get(word).copied().unwrap_or(0);
        // One letter is a variable, an axis, a language: no proof.
        let clear = word.chars().count() > 1 && !known.english_too.contains(word);
        for n in (0..LANGUAGES.len()).filter(|n| bits & (1 << n) != 0) {
            found[n] += 1;
            sure[n] += u32::from(clear);
        }
        let letters = |list: &[char]| u32::from(bits == 0 && word.contains(list));
        found[1] += letters(&['ä', 'ö', 'ü', 'ß']);
        found[2] += letters(&['ç', 'œ', 'ê', 'è']);
        found[3] += letters(&['ñ', '¿', '¡']);
        found[5] += letters(&['ã', 'õ']);
    }
    let mut best = 0;
    for n in 1..LANGUAGES.len() {
        if sure[n] > 0 && (found[n], sure[n]) > (found[best], if best == 0 { u32::MAX } else { sure[best] }) {
            best = n;
        }
    }
    LANGUAGES[best]
}

/// Whether a lower-case word is a function word of a language.
pub fn is_stop_word(word: &str, language: Language) -> bool {
    let bit = LANGUAGES.iter().position(|l| *l == language).unwrap_or(0);
    known().words.get(word).is_some_and(|bits| bits & (1 << bit) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_question() {
        let left = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            let language = language(words.iter().copied());
            let left: Vec<&str> = words.into_iter().filter(|w| !is_stop_word(w, language)).collect();
            format!("{language:?}: {}", left.join(" "))
        };
        for (text, want) in [
            ("why did we drop the redis", "English: drop redis"),
            ("die hard", "English: die hard"),
            ("star war", "English: star war"),
            ("my son has a man", "English: son man"),
            ("what did the war do to his son", "English: war son"),
            ("van door", "English: van door"),
            ("redis", "English: redis"),
            ("c compiler", "English: c compiler"),
            ("y axis", "English: y axis"),
            ("warum war die migration so langsam", "German: migration langsam"),
            ("was hat der kunde über redis gesagt", "German: kunde redis gesagt"),
            ("wann haben wir redis entfernt", "German: redis entfernt"),
            ("warum redis", "German: redis"),
            ("größere tabellen", "English: größere tabellen"),
            ("pourquoi avons nous supprimé redis", "French: supprimé redis"),
            ("le fils de mon ami", "French: fils ami"),
            ("por qué quitamos la cola", "Spanish: quitamos cola"),
            ("perché abbiamo tolto il database", "Italian: tolto database"),
            ("por que não usamos o banco", "Portuguese: usamos banco"),
            ("waarom hebben we de wachtrij verwijderd", "Dutch: wachtrij verwijderd"),
        ] {
            assert_eq!(left(text), want, "{text}");
        }
    }
}
