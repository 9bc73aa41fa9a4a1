//! Reads values of the operator profile from a sentence: names, places, time zones, languages, pronouns, professions.
//!
//! Each reader gets the words after the announcement ("my name is …") and finds where the value ends.

use std::sync::LazyLock;

use super::prose::Token;
use super::{eat, has};
use crate::text::language::lexicon;
use crate::text::patterns::{Words, one_of, phrases, words};
use crate::text::scripts::is_unspaced;

/// A key, the value, the confidence, and the tokens after the value.
pub type Value<'t> = (&'static str, String, f64, &'t [Token]);

pub fn title(key: &str, value: &str) -> String {
    let key = super::capitalised(key);
    let verb = if key == "Pronouns" { "are" } else { "is" };
    super::cut(&format!("{key} {verb} {value}"))
}

fn capital(prompt: &str, token: &Token) -> bool {
    prompt[token.start..token.end].chars().next().is_some_and(|c| c.is_uppercase() || is_unspaced(c))
}

/// Returns the word as written, if it mixes cases; otherwise with each part capitalised.
fn cased(raw: &str) -> String {
    let mixed = raw.chars().any(char::is_lowercase) && raw.chars().any(char::is_uppercase);
    let short = raw.len() <= 3 && raw.chars().all(char::is_uppercase);
    if mixed || short {
        return raw.to_owned();
    }
    let (mut out, mut begins) = (String::new(), true);
    for c in raw.chars() {
        if begins {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        begins = matches!(c, '-' | '\'' | '’');
    }
    out
}

fn plain(token: &Token) -> bool {
    token.word
        && !token.name
        && !token.quoted
        && token.low.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '.'))
}

/// Reads up to `most` capitalised words, or one lower-case word that ends the clause.
fn proper<'t>(prompt: &str, tokens: &'t [Token], most: usize, small: &Words) -> Option<(String, &'t [Token])> {
    let first = tokens.first().filter(|t| plain(t) && !one_of(t, &lexicon::NO_NAME))?;
    let ends = |rest: &[Token]| {
        rest.first().is_none_or(|t| !t.word && t.low != "'" && t.low != "\"" || one_of(t, words!("and but und et y")))
    };
    if !capital(prompt, first) {
        let ok = ends(&tokens[1..]) && first.low.chars().count() >= 2 && !first.low.ends_with("ly");
        return ok.then(|| (cased(&first.low), &tokens[1..]));
    }
    let (mut value, mut taken, mut solid) = (String::new(), 0, 0);
    for token in tokens.iter().take(most) {
        let joins =
            taken > 0 && one_of(token, small) && tokens.get(taken + 1).is_some_and(|t| plain(t) && capital(prompt, t));
        let shouts = token.low != "i" && !one_of(token, words!("and but"));
        if !plain(token) || !(joins || capital(prompt, token) && shouts) || token.low.contains("i'") {
            break;
        }
        if taken > 0 {
            value.push(' ');
        }
        value.push_str(&if joins { token.low.clone() } else { cased(&prompt[token.start..token.end]) });
        taken += 1;
        solid += usize::from(!joins);
    }
    let rest = &tokens[taken..];
    // "My name is Marta something" is not a name; a clause that continues with one of these small words may have one.
    let goes_on = rest.first().is_some_and(|t| {
        t.word && !one_of(t, words!("and but from so at in or by with for who please now then & und aus et y de"))
    });
    (solid > 0 && !goes_on).then_some((value, rest))
}

pub fn name<'t>(prompt: &str, tokens: &'t [Token]) -> Option<Value<'t>> {
    let (value, rest) = proper(prompt, tokens, 4, words!("van von de da del di la bin al der den"))?;
    Some(("name", value, 0.95, rest))
}

/// Reads "call me Jo": a capitalised word, or one word that ends the sentence.
pub fn nickname<'t>(prompt: &str, tokens: &'t [Token]) -> Option<Value<'t>> {
    let (value, rest) = proper(prompt, tokens, 3, words!(""))?;
    let ends =
        rest.iter().all(|t| !t.word) || eat(rest, phrases!(", / please / from now on / not / and / . / !")).is_some();
    ends.then_some(("name", value, 0.95, rest))
}

pub fn location<'t>(prompt: &str, tokens: &'t [Token]) -> Option<Value<'t>> {
    let (article, tokens) = match eat(tokens, phrases!("the")) {
        Some(rest)
            if rest.first().is_some_and(|t| capital(prompt, t) || one_of(t, words!("netherlands us usa uk"))) =>
        {
            ("the ", rest)
        }
        _ => ("", tokens),
    };
    let upper = |t: &Token| one_of(t, words!("uk us usa uae nyc sf la"));
    if let Some(first) = tokens.first().filter(|t| upper(t) && tokens.get(1).is_none_or(|n| !n.word)) {
        return Some(("location", format!("{article}{}", first.low.to_uppercase()), 0.9, &tokens[1..]));
    }
    let (mut value, mut rest) = proper(prompt, tokens, 4, words!("de la of do da le les los san am an der"))?;
    if rest.first().is_some_and(|t| t.word && !one_of(t, words!("and but so now with for und et y or who please"))) {
        return None;
    }
    // In "Lisbon, Portugal", the second part is capitalised and ends the clause.
    if let Some((region, after)) = eat(rest, phrases!(",")).and_then(|r| proper(prompt, r, 3, words!("of"))) {
        let capitalised =
            rest.get(1).is_some_and(|t| capital(prompt, t) && !one_of(t, words!("please use always never my")));
        if capitalised && after.iter().take(1).all(|t| !t.word || one_of(t, words!("and but so"))) {
            value = format!("{value}, {region}");
            rest = after;
        }
    }
    Some(("location", format!("{article}{value}"), 0.9, rest))
}

pub fn timezone<'t>(prompt: &str, tokens: &'t [Token]) -> Option<Value<'t>> {
    let tokens = eat(tokens, phrases!("the")).unwrap_or(tokens);
    let first = tokens.first().filter(|t| t.word && !t.quoted)?;
    let raw = &prompt[first.start..first.end];
    let rest = &tokens[1..];
    let found = |value: String, rest| Some(("timezone", value, 0.95, rest));
    // The form Area/City.
    if let Some((area, city)) = raw.split_once('/') {
        let areas = words!("africa america antarctica asia atlantic australia europe indian pacific etc");
        let letters = |s: &str| {
            !s.is_empty()
                && s.chars().all(|c| c.is_alphabetic() || matches!(c, '_' | '-' | '/' | '+') || c.is_ascii_digit())
        };
        let part = |s: &str| s.split(['_', '/']).map(cased).collect::<Vec<_>>();
        return (areas.has(&area.to_lowercase()) && letters(city)).then(|| {
            let city = city.split('/').map(|c| part(c).join("_")).collect::<Vec<_>>().join("/");
            ("timezone", format!("{}/{city}", cased(area)), 0.95, rest)
        });
    }
    // The forms UTC, UTC+2, GMT-03:30, UTC + 2.
    let upper = raw.to_uppercase();
    if let Some(offset) = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")) {
        let offset = offset.replace(['−', '–'], "-");
        if offset.is_empty() {
            if let [sign, hours, after @ ..] = rest
                && matches!(sign.low.as_str(), "+" | "-" | "−" | "–")
                && is_offset(&hours.low)
            {
                let sign = if sign.low == "+" { '+' } else { '-' };
                return found(format!("{upper}{sign}{}", hours.low), after);
            }
            return found(upper, rest);
        }
        return (offset.starts_with(['+', '-', '±']) && is_offset(&offset[1..]))
            .then(|| ("timezone", format!("{}{offset}", &upper[..3]), 0.95, rest));
    }
    if one_of(first, &lexicon::ZONES) && first.low.len() >= 3 {
        return found(upper, rest);
    }
    let spoken = phrases!(
        "central european summer? time / eastern european time / western european time / \
        pacific|eastern|central|mountain standard|daylight? time / british summer time / indian? standard time / \
        japan standard time / greenwich mean time"
    );
    let after = eat(tokens, spoken)?;
    let value: Vec<String> = tokens[..tokens.len() - after.len()].iter().map(|t| cased(&t.low)).collect();
    found(value.join(" "), after)
}

fn is_offset(text: &str) -> bool {
    let (hours, minutes) = text.split_once(':').unwrap_or((text, "00"));
    let number = |s: &str, most: u8| !s.is_empty() && s.len() <= 2 && s.parse::<u8>().is_ok_and(|n| n <= most);
    number(hours, 14) && number(minutes, 59)
}

/// Reads "German", "German and French".
pub fn language<'t>(tokens: &'t [Token], confidence: f64) -> Option<Value<'t>> {
    let mut rest = eat(tokens, phrases!("mainly|mostly|primarily|only")).unwrap_or(tokens);
    let mut value: Vec<&str> = Vec::new();
    while let Some(name) = rest.first().filter(|t| !t.quoted).and_then(|t| lexicon::language(&t.low)) {
        if !value.contains(&name) {
            value.push(name);
        }
        rest = &rest[1..];
        let joined = eat(rest, phrases!(", and|und|et|y? / and|und|et|y|or"));
        match joined.filter(|r| r.first().is_some_and(|t| lexicon::language(&t.low).is_some())) {
            Some(next) => rest = next,
            None => break,
        }
    }
    // "I speak German better than you" and "German keyboards" state no language.
    let ends = rest
        .first()
        .is_none_or(|t| !t.word || one_of(t, words!("and but so natively fluently und et y als as at with")));
    (ends && !value.is_empty()).then(|| ("language", value.join(", "), confidence, rest))
}

/// Reads "they/them", "she/her/hers".
pub fn pronouns<'t>(tokens: &'t [Token]) -> Option<Value<'t>> {
    let first = tokens.first().filter(|t| t.word && !t.quoted)?;
    let parts: Vec<&str> = first.low.split('/').collect();
    let known = (2..=4).contains(&parts.len()) && parts.iter().all(|p| lexicon::PRONOUNS.has(p));
    known.then(|| ("pronouns", first.low.clone(), 0.95, &tokens[1..]))
}

/// Reads "backend engineer at a bank" after "I'm a".
pub fn role<'t>(
    prompt: &str,
    tokens: &'t [Token],
    roles: &Words,
    stops: &Words,
    adjectives: usize,
) -> Option<Value<'t>> {
    let head = tokens.iter().take(6).take_while(|t| t.word && !t.quoted && !t.name).position(|t| one_of(t, roles))?;
    // The role ends with the last of several nouns: "software engineer", "data scientist", "engineering manager".
    let mut last = head;
    while tokens.get(last + 1).is_some_and(|t| t.word && one_of(t, roles)) {
        last += 1;
    }
    let doubtful = words!(
        "bit better different lot new not real single terrible bad lousy great good careful curious typical \
        customer user beginner user's type guide language test"
    );
    if has(&tokens[..=last], doubtful) || has(&tokens[..last], words!("who of in at for to and or but with")) {
        return None;
    }
    let mut end = last + 1;
    // An adjective follows the noun in "ingénieur logiciel" and "desarrolladora web".
    let bound = |t: &Token| one_of(t, &PLACED) || one_of(t, stops);
    end += tokens[end..].iter().take(adjectives).take_while(|t| plain(t) && !bound(t)).count();
    let glued = |i: usize| prompt[tokens[i - 1].end..tokens[i].start].is_empty();
    match tokens.get(end) {
        Some(t) if t.word && one_of(t, &PLACED) => {
            // The place of work continues up to the next joint.
            let stop = tokens[end..].iter().take(8).position(|t| !t.word || one_of(t, stops));
            let reach = stop.map_or(tokens.len().min(end + 8), |i| end + i);
            let clause = &tokens[end..reach];
            if clause.len() >= 2
                && clause.iter().all(|t| !t.name)
                && !has(clause, words!("this that these heart training here i my"))
            {
                end = reach;
            }
        }
        // "I'm a developer working on …" and "I'm a writer but …" state a role; "a designer tool" does not.
        Some(t) if t.word && !one_of(t, stops) => return None,
        Some(t) if !t.word && matches!(t.low.as_str(), "'" | "\"") && glued(end) => return None,
        _ => {}
    }
    let upper = words!("ceo cfo cto coo sre dba pm hr qa it ui ux ai ml ibm bbc uk us");
    let mut value = String::new();
    for (i, token) in tokens[..end].iter().enumerate() {
        if i > 0 && !glued(i) {
            value.push(' ');
        }
        let raw = &prompt[token.start..token.end];
        // Names of places and companies keep their capitals.
        let named = i > last && capital(prompt, token) && raw.chars().any(char::is_lowercase);
        let spelt = if named {
            raw.to_owned()
        } else if one_of(token, upper) {
            token.low.to_uppercase()
        } else {
            token.low.clone()
        };
        value.push_str(&spelt);
    }
    (value.chars().count() <= 70).then(|| ("role", value, 0.85, &tokens[end..]))
}

static PLACED: LazyLock<Words> = LazyLock::new(|| Words::of("at in for of on bei für chez dans pour en de"));

/// The words that end a role in English.
pub static STOPS: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "and but so who which that working with by based living here because since trying specialising specializing \
        focused focusing learning, turned then now",
    )
});
