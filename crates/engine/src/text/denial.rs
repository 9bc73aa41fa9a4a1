//! Counts what a text denies, in many languages, so that two texts about one thing can be compared: a text made of the
//! words of another one must not say the opposite (R14.3). Pure.

use super::patterns::words;
use super::plain::lower;
use super::scripts::is_unspaced;

/// Words that deny, in the languages in which people use agent programs.
const WORDS: &str = "\
    no not never nobody none nothing nowhere neither nor without cannot dont doesnt didnt isnt arent wasnt werent cant \
    couldnt wont wouldnt shouldnt mustnt hasnt havent \
    nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden niemandem nichts nirgends weder ohne nein \
    ne pas jamais aucun aucune sans non nunca jamás nadie ningún ninguna ninguno sin tampoco \
    não nem ninguém nenhum nenhuma sem mai nessuno nessuna nessun niente nulla senza né \
    niet geen nooit niemand niets zonder не нет нельзя никогда никто никому ничего ни без ні ніколи ніхто нічого \
    nie nigdy nikt bez żaden żadna nikdy nikdo nic nesmí nelze inte aldrig ingen inget ikke aldri intet nem soha sem \
    değil yok asla không chưa đừng tidak bukan jangan δεν μην לא אין لا لم لن ليس";

/// Signs and endings that deny where words are not divided by spaces, or not from their endings.
const EAST: [&str; 15] =
    ["不", "没", "沒", "無", "无", "未", "勿", "禁", "ない", "なく", "ません", "않", "못", "없", "아니"];

/// Beginnings that turn a word into its opposite: "unsupported", Czech "nepoužívá".
const BEFORE: [&str; 3] = ["un", "ne", "non"];

/// Returns the number of words and signs with which a text denies something.
pub fn denials(text: &str) -> usize {
    let low = lower(text).replace('’', "'");
    let all = words!(WORDS);
    let spaced = split(&low).filter(|w| {
        let clipped = w.starts_with("n'") && w.len() > 2;
        all.has(w.trim_matches('\'')) || w.ends_with("n't") || clipped
    });
    // "한" and "안" are single letters of many words, so only the words above count.
    let east: usize =
        if low.chars().any(is_east) { EAST.iter().map(|sign| low.matches(sign).count()).sum() } else { 0 };
    spaced.count() + east
}

/// Whether one of two texts has a word that is the opposite of a word of the other: "supported", "unsupported".
pub fn has_opposites(one: &str, other: &str) -> bool {
    let (one, other) = (lower(one), lower(other));
    let (one, other): (Vec<&str>, Vec<&str>) = (split(&one).collect(), split(&other).collect());
    let is_opposite = |a: &&str, all: &[&str]| {
        !all.contains(a)
            && BEFORE.iter().any(|before| {
                a.strip_prefix(before)
                    .map(|rest| rest.trim_start_matches('-'))
                    .is_some_and(|rest| rest.chars().count() > 3 && all.contains(&rest))
            })
    };
    one.iter().any(|a| is_opposite(a, &other)) || other.iter().any(|a| is_opposite(a, &one))
}

fn split(low: &str) -> impl Iterator<Item = &str> {
    low.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-'))).filter(|w| !w.is_empty())
}

/// Whether a letter is Chinese, Japanese or Korean.
fn is_east(c: char) -> bool {
    is_unspaced(c) || matches!(c, '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_is_seen_in_many_languages() {
        for (said, turned) in [
            ("Nobody may deploy the gateway on Fridays.", "Anybody may deploy the gateway on Fridays."),
            ("We can't use Redis here.", "We can use Redis here."),
            ("You mustn’t restart it without a ticket.", "You must restart it with a ticket."),
            ("Der Dienst darf niemals neu starten.", "Der Dienst darf immer neu starten."),
            ("Wir haben keinen Zugang.", "Wir haben einen Zugang."),
            ("Le serveur n'utilise jamais Redis.", "Le serveur utilise Redis."),
            ("El servidor nunca usa Redis.", "El servidor siempre usa Redis."),
            ("O servidor não usa Redis.", "O servidor usa Redis."),
            ("Il server non usa mai Redis.", "Il server usa Redis."),
            ("Сервер никогда не использует Redis.", "Сервер использует Redis."),
            ("Serwer nie używa Redisa.", "Serwer używa Redisa."),
            ("Servern använder inte Redis.", "Servern använder Redis."),
            ("服务器不使用Redis。", "服务器使用Redis。"),
            ("サーバーはRedisを使いません。", "サーバーはRedisを使います。"),
            ("서버는 Redis를 사용하지 않는다.", "서버는 Redis를 사용한다."),
        ] {
            assert_ne!(denials(said), denials(turned), "{said}");
        }
        assert_eq!(denials("The port is 5433, note the knot in the notebook."), 0);
    }

    #[test]
    fn a_word_and_its_opposite_are_two_things() {
        assert!(has_opposites("Dark mode is unsupported.", "Dark mode is supported."));
        assert!(has_opposites("Server používá Redis.", "Server nepoužívá Redis."));
        assert!(!has_opposites("The unit is under test.", "The unit is tested under load."));
        assert!(!has_opposites("Use it until the next release.", "Use it until release."));
    }
}
