//! Reads what one clause states: its subject, its value, and whether it is a fact, the end of one, or a prohibition.
//! Pure; the word lists are `sentences.txt`.

use std::collections::BTreeSet;

use super::corrected::denied_values;
use super::grammar::{
    BARE, SMALL, SPECIFIC_WORDS, after_leads, among, content, is_finite, is_hard, is_request, listed, names_something,
    singular, unquoted,
};
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Maximum number of words before the verb.
pub(super) const SUBJECT: usize = 9;

/// The statement that the words of a clause make.
pub(super) struct Core {
    pub subject: Vec<String>,
    pub value: Vec<String>,
    pub kind: Stated,
    pub changed: bool,
    /// Where its text begins.
    pub start: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    Fact,
    Gone,
    Rule,
}

/// Reads the clause that states something, with the clause after it.
pub(super) fn core(part: &[Word], text: &str, next: Option<&[Word]>) -> Option<Core> {
    let said: Vec<Word> = after_leads(part).to_vec();
    let whole = said.first()?.start;
    // "From now on we …": a change, which its sentence goes on to say.
    let front =
        listed!("change fronts").begin(&said).map(|(_, taken)| taken).max().filter(|taken| said.len() > taken + 2);
    let german_front =
        front.is_some() && said.get(front.unwrap_or(0)).is_some_and(|w| among!("german verbs").has_hash(w.hash));
    let said = if german_front { said } else { said[front.unwrap_or(0)..].to_vec() };
    // "… from this year on" at the end tells since when.
    let end = said.len().saturating_sub(4);
    let on = said.len() > 6
        && words!("from").has_hash(said[end].hash)
        && words!("this next now").has_hash(said[end + 1].hash)
        && words!("on").has_hash(said[end + 3].hash);
    let said = if on { said[..end].to_vec() } else { said };
    if !(3..=28).contains(&said.len()) {
        return None;
    }
    let raw = |w: &Word| &text[w.start..w.end];
    let start = match whole {
        at if text[..at].ends_with('`') => at - 1,
        at => at,
    };
    let changed = front.is_some() || on || listed!("changed").stand(part);
    if let Some(taken) = listed!("forget").begin(&said).map(|(_, taken)| taken).max() {
        let once = said.iter().any(|w| words!("this these now today yet").has_hash(w.hash));
        let subject = content(&said[taken..], text, &[]);
        return (!subject.is_empty() && !once).then(|| Core {
            subject,
            value: Vec::new(),
            kind: Stated::Gone,
            changed: true,
            start,
        });
    }
    if [listed!("reported"), listed!("irony")].iter().any(|l| l.stand(&said)) {
        return None;
    }
    // "It's no longer true that …", "the rule about … does not apply any more".
    if words!("it's it es that dass").has_hash(said[0].hash) {
        let gone = listed!("gone").stand(&said) && words!("true valid wahr gültig").has_hash(said[said.len() - 1].hash)
            || said.iter().take(6).any(|w| words!("true valid wahr").has_hash(w.hash))
                && listed!("retraction").stand(&said[..6.min(said.len())]);
        let rest: Vec<Word> = said
            .iter()
            .filter(|w| !words!("it's it that true valid wahr dass es stimmt").has_hash(w.hash))
            .copied()
            .collect();
        let (subject, value) = key_of(&rest, (0, 0), false, text, &[]);
        return (gone && !subject.is_empty()).then_some(Core {
            subject,
            value,
            kind: Stated::Gone,
            changed: true,
            start,
        });
    }
    // "Scrap the ticket rule", "wir haben Unleash abgeschafft".
    let scraps = words!("forget scrap ignore drop vergiss").has_hash(said[0].hash)
        && said.iter().skip(1).take(7).any(|w| among!("things").has_hash(w.hash));
    let abolished = words!("wir").has_hash(said[0].hash)
        && words!("abgeschafft abgeschaltet eingestellt entfernt gestrichen").has_hash(said[said.len() - 1].hash);
    if scraps || abolished {
        let rest: Vec<Word> = said[1..]
            .iter()
            .filter(|w| !among!("things").has_hash(w.hash) && !among!("german verbs").has_hash(w.hash))
            .copied()
            .collect();
        let subject = content(&rest[..rest.len() - usize::from(abolished)], text, &[]);
        return (!subject.is_empty()).then_some(Core {
            subject,
            value: Vec::new(),
            kind: Stated::Gone,
            changed: true,
            start,
        });
    }
    // "Max. 4 participants per booking."
    if words!("max maximum min minimum maximal höchstens mindestens").has_hash(said[0].hash)
        && said.len() <= 9
        && said.iter().any(|w| is_hard(raw(w)))
        && said.iter().any(|w| words!("per pro is each je").has_hash(w.hash))
        && !listed!("passing").stand(&said)
        && !doubted(&said, text)
    {
        let (subject, value) = key_of(&said, (0, 0), false, text, &[]);
        return (!subject.is_empty()).then_some(Core { subject, value, kind: Stated::Fact, changed, start });
    }
    // "Only Miriam can approve releases."
    if words!("only nur").has_hash(said[0].hash) {
        let name = said[1..].iter().take_while(|w| raw(w).starts_with(|c: char| c.is_uppercase() || c == '@')).count();
        let may = said.get(1 + name).is_some_and(|w| words!("can may is has kann darf hat ist").has_hash(w.hash));
        let subject = if (1..=2).contains(&name) && may { content(&said[2 + name..], text, &[]) } else { Vec::new() };
        let value = said[1..1 + name].iter().map(|w| lower(raw(w))).collect();
        return (!subject.is_empty()).then_some(Core { subject, value, kind: Stated::Fact, changed, start });
    }
    let we = words!("we we've we're wir").has_hash(said[0].hash);
    let there = listed!("there").begin(&said).map(|(_, taken)| taken).max();
    // "This project uses pnpm" names the project.
    let project = words!("project repo repository codebase app application service package monorepo workspace projekt");
    let whole = words!("this dieses").has_hash(said[0].hash) && said.get(1).is_some_and(|w| project.has_hash(w.hash));
    let said = if whole { said[1..].to_vec() } else { said };
    if there.is_none() && listed!("pointing").stand(&said[..1]) || among!("questions").has_hash(said[0].hash) {
        return None;
    }
    if listed!("conditions").begin(&said).next().is_some() {
        return None;
    }
    // Files in a folder for passing files do not last.
    if said.iter().any(|w| raw(w).contains("/tmp/")) {
        return None;
    }
    // Where the verb stands, and where the value begins.
    let change = (1..said.len().min(SUBJECT + 1))
        .find_map(|at| listed!("change verbs").begin(&said[at..]).map(|(_, taken)| (at, at + taken)).max());
    // "We moved the docs from A to B."
    let ours = || {
        let moved =
            words!("moved switched migrated renamed replaced upgraded swapped changed bumped raised lowered increased reduced extended shortened pinned downgraded").has_hash(said.get(1)?.hash);
        let to = said.iter().any(|w| words!("to with by").has_hash(w.hash));
        // The object before "from" and "to" is the subject of the change: "we moved CI from …".
        let object =
            said.iter().skip(3).position(|w| words!("from to with by").has_hash(w.hash)).map_or(2, |at| at + 3);
        let end = words!("umgestiegen gewechselt umgezogen umgestellt migriert übergegangen")
            .has_hash(said[said.len() - 1].hash);
        let umgestiegen = end
            && words!("wir").has_hash(said[0].hash)
            && words!("sind haben").has_hash(said.get(1)?.hash)
            && said.iter().any(|w| words!("auf zu nach").has_hash(w.hash));
        match (we && moved && to, umgestiegen) {
            (true, _) => Some((0, object)),
            (_, german) => german.then_some((0, 2)),
        }
    };
    let change = change.filter(|(_, to)| *to < said.len()).or_else(ours);
    // In "the build logs are", the verb comes after the last word that may be one.
    let finite = || {
        let found = (1..said.len().min(SUBJECT + 1)).find(|at| is_finite(&said, *at, text))?;
        let next = found + 1;
        Some(if next + 1 < said.len() && is_finite(&said, next, text) { next } else { found })
    };
    let gone = (1..said.len()).find(|at| listed!("gone").begin(&said[*at..]).next().is_some());
    let gone = if listed!("gone").begin(&said).next().is_some() { Some(0) } else { gone };
    let (verb, from) = match (there, change) {
        (Some(taken), _) => (0, taken),
        (_, Some(found)) => found,
        _ if gone == Some(0) => (0, listed!("gone").begin(&said).map(|(_, taken)| taken).max().unwrap_or(1)),
        _ if we => verb_of_we(&said, text)?,
        _ if owner(&said[..1], &said[1..], text).is_some() => (1, 2),
        _ => match front_we(&said) {
            Some(at) if is_finite(&said, at - 1, text) => (at - 1, at + 1),
            Some(at) => {
                let (verb, from) = verb_of_we(&said[at..], text)?;
                (verb + at, from + at)
            }
            None => finite().map(|at| (at, at + 1)).or(gone.map(|at| (at, at + 1)))?,
        },
    };
    let (subject_words, behind) = (&said[..verb], &said[from..]);
    // "All others use RTSP" is about what another sentence names.
    if subject_words
        .iter()
        .any(|w| words!("others former latter rest übrigen anderen erstere letztere").has_hash(w.hash))
    {
        return None;
    }
    if names_a_detail(subject_words, text)
        || listed!("pointing").stand(subject_words) && !we && there.is_none() && front_we(&said).is_none()
    {
        return None;
    }
    let negated = listed!("negations").stand(&said);
    if behind.is_empty() && !negated && gone.is_none()
        || said.iter().any(|w| words!("i i'm i've you your my me ich du mein meine mir").has_hash(w.hash))
    {
        return None;
    }
    let rule = negated && listed!("rule").stand(&said[verb..]);
    if doubted(&said, text) {
        return None;
    }
    if (negated && !rule || gone.is_some()) && !(negated && has_other_side(&said)) {
        if !listed!("retraction").stand(&said) && gone.is_none() {
            return None;
        }
        // "The server doesn't answer any more" complains; "the jobs don't run on worker-5 any more" retracts.
        let ends =
            said.iter().rposition(|w| !words!("any more anymore longer no mehr nicht").has_hash(w.hash)).unwrap_or(0);
        if gone.is_none() && among!("malfunctions").has_hash(said[ends].hash) {
            return None;
        }
        let points = words!("this that these those them");
        if listed!("passing").stand(&said[..verb.max(1)])
            || said.windows(2).any(|w| points.has_hash(w[1].hash) && !words!("like").has_hash(w[0].hash))
        {
            return None;
        }
        let (subject, value) = key_of(&said, (verb, from), we && gone != Some(0), text, &[]);
        let subject = if subject.is_empty() { content(&said, text, &[]) } else { subject };
        return (!subject.is_empty()).then_some(Core { subject, value, kind: Stated::Gone, changed: true, start });
    }
    let inside: Vec<Word> = said[usize::from(there.is_some()) * from..]
        .iter()
        .filter(|w| !words!("above below").has_hash(w.hash) || w.end == said[said.len() - 1].end)
        .copied()
        .collect();
    if listed!("pointing inside").stand(&inside) {
        return None;
    }
    if let Some(name) = owner(subject_words, &said[verb..], text) {
        let taken = listed!("owning").begin(&said[verb..]).map(|(_, taken)| taken).max().unwrap_or(1);
        let subject = content(&said[(verb + taken).min(said.len())..], text, &[]);
        return (!subject.is_empty()).then_some(Core {
            subject,
            value: name,
            kind: Stated::Fact,
            changed: changed || takes_over(&said[verb..]),
            start,
        });
    }
    // "Since yesterday" tells when a change came.
    let since = words!("since seit from ab");
    let lasting: Vec<Word> = behind
        .iter()
        .enumerate()
        .filter(|(at, w)| {
            let day = words!("yesterday today gestern heute").has_hash(w.hash);
            // "Is done via the header", "are pushed to the registry" tell how it always goes.
            let how = words!("via by in with through to into").has_hash(behind.get(at + 1).map_or(0, |n| n.hash));
            // "The folder is /srv/b now (was /srv/a)."
            let before = words!("was were").has_hash(w.hash) && text[..w.start].ends_with('(');
            let habit = before
                || words!("done").has_hash(w.hash)
                || words!("are").has_hash(said[verb].hash) && words!("pushed merged").has_hash(w.hash);
            // "Above" points at the conversation only if nothing follows that it is above of.
            let place = words!("above below").has_hash(w.hash) && *at + 1 < behind.len();
            let came = day && *at > 0 && since.has_hash(behind[at - 1].hash);
            !(came || how && habit || before || place)
        })
        .map(|(_, w)| *w)
        .collect();
    let momentary = words!("currently temporarily today yesterday gestern heute gerade momentan derzeit");
    let for_now = listed!("passing").begin(&said).any(|(_, taken)| taken > 1);
    if listed!("passing").stand(&lasting) || momentary.has_hash(said[0].hash) || for_now {
        return None;
    }
    // "CI is waiting" tells what goes on; "the database is running on port 1" tells where it is.
    let goes_on_now = (verb..said.len().min(from + 2)).any(|at| {
        let ing = said.get(at + 1).is_some_and(|w| raw(w).ends_with("ing") && raw(w).len() > 5);
        words!("is are we're keeps keep").has_hash(said[at].hash)
            && ing
            && listed!("lasting ing").begin(&said[at + 1..]).next().is_none()
    });
    if goes_on_now {
        return None;
    }
    // "The list must have …" is a wish for now; "all lists must …" is a rule.
    let must = words!("must muss müssen").has_hash(said[verb].hash);
    let stays = said.get(verb + 1).is_some_and(|w| words!("stay remain bleiben").has_hash(w.hash));
    let generic = generic_plural(subject_words, text);
    if must && !rule && !stays && !generic && !words!("all every each any alle jede jeder jedes").has_hash(said[0].hash)
    {
        return None;
    }
    let old = if change.is_some() || changed { former(&said, text) } else { BTreeSet::new() };
    // "The table has 3 double rows" counts what is there today; a limit says so, or is about any.
    let counts = words!("has have contains contain takes take needs need includes include hat haben braucht dauert")
        .has_hash(said[verb].hash);
    let bare = behind.iter().find(|w| !words!("about around roughly currently").has_hash(w.hash)).is_some_and(|w| {
        raw(w).bytes().all(|b| b.is_ascii_digit())
            || words!("two three four five six seven eight nine ten").has_hash(w.hash)
    });
    let any = words!("a an every each any all ein eine jede jeder jedes alle").has_hash(said[0].hash)
        || generic_plural(subject_words, text);
    let unit = behind.iter().any(|w| words!("gb mb kb tb ghz mhz khz hz kg km ms").has_hash(w.hash));
    let plural = words!("have haben").has_hash(said[verb].hash) && !we;
    if counts && bare && !any && !changed && !unit && !plural {
        return None;
    }
    // The value of a password is never remembered.
    let secret = subject_words
        .iter()
        .any(|w| words!("password passwort secret token passphrase credential credentials pin").has_hash(w.hash));
    if secret && words!("is are ist sind lautet").has_hash(said[verb].hash) && behind.len() <= 2 {
        return None;
    }
    let old: Vec<String> = old.into_iter().collect();
    let (subject, value) = key_of(&said, (verb, from), we, text, &old);
    let subject = if subject.is_empty() && change.is_some() { old.clone() } else { subject };
    let bound = words!(
        "older newer more less over under above below than longer shorter bigger larger smaller mehr älter über"
    );
    let begins = words!("starting beginning ending with from between ab mit");
    let kinds =
        generic_plural(&said[..verb.min(1)], text) || words!("all every each any alle jede").has_hash(said[0].hash);
    let bounded = subject_words.iter().any(|w| is_hard(raw(w)))
        && subject_words.iter().any(|w| bound.has_hash(w.hash) || kinds && begins.has_hash(w.hash));
    // "Jobs are numbered per quay and year."
    let per = words!("are is get sind werden").has_hash(said[verb].hash)
        && behind.len() > 2
        && words!("per by pro nach").has_hash(behind[1].hash)
        && (raw(&behind[0]).ends_with("ed") || raw(&behind[0]).ends_with('t'))
        && words!("numbered billed charged counted grouped sorted priced paid metered sharded partitioned indexed keyed limited nummeriert abgerechnet sortiert")
            .has_hash(behind[0].hash);
    let bounded = bounded || per;
    let placed = subject_words.iter().any(|w| raw(w).contains('/'))
        && words!("is are ist sind").has_hash(said[verb].hash)
        && behind.first().is_some_and(|w| raw(w).ends_with("ed") || raw(w).ends_with("en"));
    // "Java 21 is the minimum", "RabbitMQ is our broker".
    let ours = words!("is are ist sind").has_hash(said[verb].hash)
        && subject_words.len() <= 3
        && subject_words
            .iter()
            .any(|w| names_something(raw(w), w.start == said[0].start) || among!("products").has_hash(w.hash))
        && (words!("our unser unsere").has_hash(behind[0].hash)
            || behind.iter().any(|w| words!("minimum maximum default standard limit target").has_hash(w.hash)));
    let bounded = bounded || placed || ours;
    let never = next.is_some_and(|n| words!("never nie niemals only nur").has_hash(n[0].hash));
    let specific = listed!("specific").stand(behind) || listed!("units").stand(behind) || bounded || never;
    if value.is_empty() && !specific && !rule || subject.is_empty() {
        return None;
    }
    // "Patient names must never be logged" is a rule whatever it names.
    let always = said
        .windows(2)
        .any(|w| words!("must may darf dürfen").has_hash(w[0].hash) && words!("never nie niemals").has_hash(w[1].hash))
        || (generic || raw(&said[0]).ends_with("en"))
            && said
                .windows(2)
                .any(|w| words!("are werden").has_hash(w[0].hash) && words!("never nie niemals").has_hash(w[1].hash));
    let plural = generic
        && said
            .windows(2)
            .any(|w| words!("must may dürfen").has_hash(w[0].hash) && words!("not nicht").has_hash(w[1].hash));
    if rule && value.is_empty() && (always || plural) {
        return Some(Core { subject, value, kind: Stated::Rule, changed, start });
    }
    if rule && !said.iter().any(|w| names_something(raw(w), w.start == said[0].start)) {
        return None;
    }
    let kind = Stated::Fact;
    Some(Core { subject, value, kind, changed: changed || change.is_some(), start })
}

/// Whether a subject is a part of the code or of a screen, which the files show better than a memory, or something that
/// is out of order.
pub(super) fn names_a_detail(subject: &[Word], text: &str) -> bool {
    let places = words!("of in on for with at from to by into under from der des im in von für auf");
    let head =
        subject.iter().skip(1).position(|w| places.has_hash(w.hash)).map_or(subject.last(), |at| subject.get(at));
    let broken = words!("failing broken red flaky missing wrong failed crashed stuck kaputte fehlende");
    // "Missing values are encoded as …" names a kind of values.
    let kind = subject.len() == 2 && words!("missing").has_hash(subject[0].hash) && generic_plural(subject, text);
    let mut named = subject.iter().filter(|w| !SMALL.has_hash(w.hash)).peekable();
    let bare = named.peek().is_some() && named.all(|w| among!("bare things").has_hash(w.hash));
    let any = subject.first().is_some_and(|w| words!("every each all any").has_hash(w.hash));
    bare || !any && head.is_some_and(|w| among!("code things").has_hash(w.hash))
        || subject.iter().any(|w| is_source(&text[w.start..w.end]))
        || !any && head.is_some_and(|w| among!("widgets").has_hash(w.hash))
        || !kind && subject.iter().any(|w| broken.has_hash(w.hash))
}

/// Whether a word is the name of a file of code.
pub(super) fn is_source(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, end)| {
        let code = words!("rs py js ts tsx jsx mjs go java kt cs c h cpp hpp rb php swift css scss html vue svelte sql lua ex exs dart scala");
        !stem.is_empty() && code.has(end)
    })
}

/// Whether a subject is about all things of a kind: a plural without an article.
pub(super) fn generic_plural(subject: &[Word], text: &str) -> bool {
    let article = subject.first().is_some_and(|w| words!("the a an our this der die das").has_hash(w.hash));
    !article && subject.last().is_some_and(|w| text[w.start..w.end].ends_with('s'))
}

/// Whether the words of a statement doubt it. "Until March 2027" and "iOS 16 or newer" do not.
pub(super) fn doubted(said: &[Word], text: &str) -> bool {
    let bound = words!("newer later higher lower above below older more less greater");
    let limited = listed!("bounds").stand(said);
    let kept: Vec<Word> = said
        .iter()
        .enumerate()
        .filter(|(at, w)| {
            let or = words!("or oder").has_hash(w.hash);
            let can = words!("can may kann können").has_hash(w.hash)
                && (limited
                    || said.get(at + 1).is_some_and(|n| words!("never not").has_hash(n.hash))
                        && words!("may").has_hash(w.hash));
            // "15 May" is a day.
            let month = text[w.start..w.end].starts_with("May")
                && *at > 0
                && (is_hard(&text[said[at - 1].start..said[at - 1].end])
                    || words!("in until of since by").has_hash(said[at - 1].hash));
            !(can || month || or && said.get(at + 1).is_some_and(|n| bound.has_hash(n.hash)))
        })
        .map(|(_, w)| *w)
        .collect();
    listed!("hedges").stand(&kept)
}

/// Whether a "not" is only the one side of a comparison: "… and not …".
pub(super) fn has_other_side(said: &[Word]) -> bool {
    said.windows(2).any(|w| words!("and und").has_hash(w[0].hash) && words!("not nicht never nie").has_hash(w[1].hash))
}

/// Returns the verb after "we" and where its object begins.
pub(super) fn verb_of_we(said: &[Word], text: &str) -> Option<(usize, usize)> {
    let adverbs = words!(
        "only always also now still never no longer don't do not currently just all usually nur immer jetzt nun auch"
    );
    let skip = 1 + said[1..].iter().take_while(|w| adverbs.has_hash(w.hash)).count();
    let w = said.get(skip)?;
    let on = words!("on using hosted running in at").has_hash(said.get(skip + 1).map_or(0, |w| w.hash));
    let fits = BARE.has_hash(w.hash)
        || words!("have haben").has_hash(w.hash)
        || on && words!("are sind").has_hash(w.hash)
        || among!("german verbs").has_hash(w.hash);
    let fits = fits || words!("wir").has_hash(said[0].hash) && lower(&text[w.start..w.end]).ends_with("en");
    // Any other word after "we" is a verb, too, unless it tells what happened or what is wanted.
    let past = words!(
        "saw found made did went got had broke lost ran wrote sent took gave came knew thought were was need want see think know get should can must may try hope like love"
    );
    let open = words!("we").has_hash(said[0].hash)
        && text[w.start..w.end].len() > 2
        && text[w.start..w.end].chars().all(char::is_lowercase)
        && !text[w.start..w.end].ends_with("ed")
        && !past.has_hash(w.hash)
        && !among!("momentary").has_hash(w.hash)
        && !words!("have are").has_hash(w.hash);
    let fits = fits || open;
    let pinned = words!("we're").has_hash(said[0].hash) && text[w.start..w.end].ends_with("ed");
    let fits = fits || pinned;
    let contracted =
        words!("we're").has_hash(said[0].hash) && words!("on using at in running hosting").has_hash(w.hash);
    (fits && !words!("get hit reach need").has_hash(w.hash) || contracted).then_some((0, skip))
}

/// Returns the place of "we" behind a beginning such as "for the EU".
pub(super) fn front_we(said: &[Word]) -> Option<usize> {
    if !among!("prepositions").has_hash(said[0].hash) {
        return None;
    }
    (2..said.len().min(7)).find(|at| words!("we wir").has_hash(said[*at].hash))
}

/// Returns the words of the subject, and those of the value.
pub(super) fn key_of(
    said: &[Word],
    (verb, from): (usize, usize),
    we: bool,
    text: &str,
    old: &[String],
) -> (Vec<String>, Vec<String>) {
    let raw = |w: &Word| &text[w.start..w.end];
    let low = |w: &Word| lower(raw(w)).trim_matches('`').to_owned();
    let german = said.iter().any(|w| {
        words!("der die das den dem des ist sind und für auf bei nach im am zum jeden jedes jede alle um liegen liegt mit nicht wir").has_hash(w.hash)
    }) || among!("german verbs").has_hash(said[verb].hash) && !words!("hat").has_hash(said[verb].hash);
    let owners = listed!("owners").stand(said);
    let behind = &said[from.min(said.len())..];
    let is_value = |at: usize| {
        let w = &behind[at];
        let word = raw(w);
        let called = at > 0 && words!("called named codenamed").has_hash(behind[at - 1].hash);
        if called
            || text[w.end..].starts_with('/')
            || text[..w.start].ends_with('`')
            || among!("products").has_hash(w.hash)
            || words!(SPECIFIC_WORDS).has_hash(w.hash)
        {
            return true;
        }
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let inner = word.chars().skip(1).any(char::is_uppercase);
        if !german || is_hard(word) || inner || !capital {
            return names_something(word, w.start == 0);
        }
        // A German noun begins with a capital; a name has no article.
        let before = if at == 0 { said.get(from.wrapping_sub(1)) } else { behind.get(at - 1) };
        // "Wir sind von memoQ auf Phrase umgestiegen."
        let goal = words!("umgestiegen gewechselt umgezogen umgestellt migriert übergegangen");
        let goal = before.is_some_and(|b| words!("auf zu").has_hash(b.hash))
            && behind.get(at + 1).is_some_and(|w| goal.has_hash(w.hash));
        goal || before.is_some_and(|b| {
            words!("bei über durch von nach per heißt heißen namens").has_hash(b.hash)
                || words!("in").has_hash(b.hash)
                    && words!("steht stehen liegt liegen sitzt sitzen").has_hash(said[verb].hash)
                || owners && words!("ist sind jetzt nun").has_hash(b.hash)
        })
    };
    let mut value: Vec<String> = (0..behind.len()).filter(|at| is_value(*at)).map(|at| low(&behind[at])).collect();
    value.retain(|v| !old.contains(v));
    // If the value has a number or a path, names beside it belong to the subject: German nouns, products.
    let hard = |v: &String| v.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_'));
    if value.iter().any(hard) {
        value.retain(hard);
    }
    value.truncate(4);
    let links = if we { 0..0 } else { verb..from.min(said.len()) };
    let small = &*SMALL;
    let subject: Vec<String> = said
        .iter()
        .enumerate()
        .filter(|(at, w)| !links.contains(at) && !small.has_hash(w.hash))
        .map(|(_, w)| low(w))
        .filter(|w| !value.contains(w) && !old.contains(w))
        .map(|w| singular(&w))
        .take(8)
        .collect();
    (subject, value)
}

/// Whether somebody takes something over: "Petra took over the translations".
pub(super) fn takes_over(behind: &[Word]) -> bool {
    listed!("owning").begin(behind).any(|(_, taken)| taken > 1) && words!("took takes taken").has_hash(behind[0].hash)
        || words!("hat übernimmt").has_hash(behind[0].hash)
            && behind.iter().any(|w| words!("übernommen übernimmt").has_hash(w.hash))
}

/// Returns the name of a person or team who is said to own something: "Joost owns the tariff engine".
pub(super) fn owner(subject: &[Word], behind: &[Word], text: &str) -> Option<Vec<String>> {
    let is = words!("is ist").has_hash(behind[0].hash) && listed!("owners").stand(behind);
    let takes = takes_over(behind);
    // "CI runs on Woodpecker" tells where it runs; whoever owns something owns it without a preposition.
    let place = behind
        .get(1)
        .is_some_and(|w| among!("prepositions").has_hash(w.hash) || words!("from through via every").has_hash(w.hash));
    if place && words!("runs manages leads handles").has_hash(behind[0].hash) {
        return None;
    }
    if listed!("owning").begin(behind).next().is_none() && !is && !takes {
        return None;
    }
    let no_name =
        words!("the a an our everyone everybody nobody someone somebody who it that each every der die das unser");
    let plain = |w: &Word| !no_name.has_hash(w.hash);
    let capital = |w: &Word| text[w.start..w.end].starts_with(|c: char| c.is_uppercase() || c == '@');
    let sure = subject.len() == 1 && words!("owns maintains betreut verantwortet").has_hash(behind[0].hash);
    let fits = (1..=3).contains(&subject.len()) && subject.iter().all(plain);
    (fits && (subject.iter().all(capital) || sure))
        .then(|| subject.iter().map(|w| lower(&text[w.start..w.end])).collect())
}

/// Returns the values that a statement says were so before: "moved from port 1 to port 2", "replaced X with Y",
/// "… instead of X".
pub(super) fn former(said: &[Word], text: &str) -> BTreeSet<String> {
    let values = |part: &[Word]| values(part, text);
    let mut out = BTreeSet::new();
    let ends = words!("to with by into and nach auf durch zu but sondern");
    for at in 0..said.len() {
        let begins = listed!("former").begin(&said[at..]).map(|(_, taken)| taken).max();
        let bracket = words!("was formerly früher").has_hash(said[at].hash) && text[..said[at].start].ends_with('(');
        let begins =
            begins.or(bracket.then_some(1)).or_else(|| words!("from von vom").has_hash(said[at].hash).then_some(1));
        let Some(taken) = begins else { continue };
        let rest = &said[at + taken..];
        let end = rest.iter().take(6).position(|w| ends.has_hash(w.hash));
        let closed = words!("from von vom replaced replaces replacing").has_hash(said[at].hash);
        match (end, closed) {
            (Some(end), _) => out.extend(values(&rest[..end])),
            (None, false) => out.extend(values(&rest[..rest.len().min(4)])),
            (None, true) => {}
        }
    }
    out
}

/// Returns the words that can be values: numbers, paths, names, days.
pub(super) fn values(part: &[Word], text: &str) -> Vec<String> {
    let raw = |w: &Word| &text[w.start..w.end];
    let named = part.iter().filter(|w| {
        names_something(raw(w), false) || among!("products").has_hash(w.hash) || words!(SPECIFIC_WORDS).has_hash(w.hash)
    });
    named.map(|w| lower(raw(w))).collect()
}

/// Returns the values that a sentence says were so before.
pub fn former_values(text: &str) -> BTreeSet<String> {
    let denied = denied_values(text);
    if !denied.is_empty() {
        return denied.into_iter().collect();
    }
    let said: Vec<Word> = unquoted(&split(text, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    if listed!("changed").stand(&said) || listed!("change verbs").stand(&said) || listed!("former").stand(&said) {
        former(&said, text)
    } else {
        BTreeSet::new()
    }
}

/// Reads what must not be done to a thing of the project: "never force-push to release/4", "leave db/legacy alone, the
/// auditors signed it off". Without a "never" or a reason it may be meant for the task in hand.
pub(super) fn forbidden(said: &[Word], text: &str, start: usize) -> Option<Core> {
    let raw = |w: &Word| &text[w.start..w.end];
    let forbids =
        (0..said.len()).find_map(|at| listed!("forbid").begin(&said[at..]).map(|(_, taken)| (at, taken)).next());
    let closed = listed!("closed").stand(said);
    let darf = said.iter().any(|w| words!("darf dürfen").has_hash(w.hash))
        && said.iter().any(|w| words!("nicht nie niemals nichts").has_hash(w.hash));
    let forbids = forbids.or((closed || darf).then_some((0, 0)));
    let alone = listed!("leave alone").begin(said).next().is_some();
    let guarded = listed!("guarded").stand(said) || words!("alone").has_hash(said[said.len() - 1].hash);
    // "Never overwrite …": whatever verb stands behind a "never" at the beginning, it is forbidden.
    let first = words!("never ever niemals").has_hash(said[0].hash) && said.len() > 2;
    let verb =
        said.get(1).map(raw).is_some_and(|v| v.len() > 2 && v.chars().all(char::is_lowercase) && !v.ends_with('s'));
    let guarded = guarded || first && verb && !SMALL.has_hash(said[1].hash) && raw(&said[1]) != "mind";
    let path = |w: &Word| {
        raw(w).contains('/')
            || text[w.end..].starts_with('/')
            || is_hard(raw(w)) && !raw(w).chars().all(|c| c.is_ascii_digit())
    };
    let hours = first && said.iter().any(|w| is_hard(raw(w)));
    let thing = hours
        || said.iter().any(path)
        || said.iter().any(|w| {
            words!("main master production prod live staging release branch branches database cluster").has_hash(w.hash)
        })
        || said.iter().skip(1).any(|w| names_something(raw(w), false) && raw(w).len() > 2);
    if forbids.is_none() && !alone || !guarded && !closed || !thing && !closed {
        return None;
    }
    if doubted(said, text)
        || said.iter().any(|w| words!("i i'm i've me my yet now today this ich mir noch jetzt heute").has_hash(w.hash))
    {
        return None;
    }
    if words!("da dort es it that there here this").has_hash(said[0].hash) {
        return None;
    }
    let sure = forbids.is_some();
    let reason = text[said[said.len() - 1].end..].trim_start_matches([',', ' ', '-', '–', ':', ';', '(']);
    let why = split(reason, Marks::Dropped);
    let begins = why.len() > 2 && !is_request(&why, reason) && !listed!("passing").stand(&why);
    if !sure && !begins {
        return None;
    }
    let subject = content(said, text, &[]);
    (!subject.is_empty()).then_some(Core { subject, value: Vec::new(), kind: Stated::Rule, changed: false, start })
}
