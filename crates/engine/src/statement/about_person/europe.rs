//! Reads strong signals in German, French and Spanish: the plain forms, one table per language.

use std::sync::LazyLock;

use super::english;
use super::profile::{self, Value};
use super::prose::{Sentence, Token};
use super::{Context, Found, Joint, SignalKind, clauses, eat, has, has_phrase, is_question, joined, led, trimmed};
use crate::text::language::lexicon;
use crate::text::patterns::{Phrases, Words, one_of, phrases, words};

/// A key of the profile, its value, and the confidence.
type About = (&'static str, String, f64);

struct Language {
    /// A sentence with a signal contains at least one of these words.
    hints: Words,
    /// Phrases before a statement that carry no meaning.
    leads: Phrases,
    /// Phrases like "remember that".
    remember: Phrases,
    /// Phrases like "from now on", also at the end of a statement.
    standing: Phrases,
    /// Phrases like "I want you to": a directive may follow.
    wishes: Phrases,
    /// Phrases like "I prefer".
    prefer: Phrases,
    /// Phrases like "I hate": they count only for matters of taste.
    like: Phrases,
    always: Words,
    never: Words,
    /// Imperatives, infinitives and second-person forms of verbs for an assistant's conduct in a conversation.
    conduct: Words,
    /// The same forms of verbs for an assistant's work on text and code.
    work: Words,
    /// Words that may follow "from now on" directly: "only", "no".
    bare: Words,
    taste: Words,
    /// Words that refer to the current work.
    at_hand: Words,
    /// Words that describe a program's behaviour.
    program: Words,
    /// Words before a statement which show that it is not the author's own, or not meant seriously.
    suspect: Words,
    questions: Words,
    tasks: Words,
    first: Words,
    /// Whether an infinitive comes last in a directive.
    infinitive_last: bool,
    /// Reads a profile value from a clause, with its confidence.
    about: fn(&str, &[Token]) -> Option<About>,
}

static LANGUAGES: [&LazyLock<Language>; 3] = [&GERMAN, &FRENCH, &SPANISH];

static GERMAN: LazyLock<Language> = LazyLock::new(|| Language {
    hints: Words::of(
        "ich mein meine mir nenn nenne merk merke denk vergiss beachte immer nie niemals stets jedesmal \
        grundsätzlich generell ab an künftig zukünftig fortan zukunft",
    ),
    leads: Phrases::of(
        "bitte / also / und / aber / ok|okay|gut|super|prima|danke / vielen dank / hallo|hi|hey|moin|servus / guten \
        morgen|tag|abend / ach|so|übrigens|außerdem|ausserdem|noch / noch etwas|was",
    ),
    remember: Phrases::of(
        "merk|merke dir : :? / merk|merke dir , dass? / merk|merke dir bitte? :|, dass? / denk|denke daran , dass / \
        denk|denke dran , dass / vergiss nicht , dass / beachte , dass",
    ),
    standing: Phrases::of(
        "ab jetzt|sofort|heute|nun / von nun|jetzt an / künftig|zukünftig|fortan / in zukunft / für die zukunft",
    ),
    wishes: Phrases::of(
        "ich möchte|will|hätte , dass du / ich möchte|will dass du / du sollst|musst|sollest|darfst|solltest / \
        bitte",
    ),
    prefer: Phrases::of(
        "ich bevorzuge / ich bevorzuge grundsätzlich|generell / mir ist sind? lieber / meine bevorzugte|mein \
        bevorzugter|mein bevorzugtes",
    ),
    like: Phrases::of("ich hasse|mag|liebe"),
    always: Words::of("immer stets jedesmal grundsätzlich generell"),
    never: Words::of("nie niemals nie-mals"),
    conduct: Words::of(
        "antworte antworten antwortest erklär erkläre erklären erklärst frag frage fragen fragst sprich sprechen \
        sprichst duze duzen sieze siezen push pushe pushen pusht committe commit committen entschuldige \
        entschuldigen fass fasse zusammenfassen nachfragen begründe begründen übersetze übersetzen rate raten \
        erfinde erfinden",
    ),
    work: Words::of(
        "schreib schreibe schreiben schreibst verwende verwenden verwendest nutze nutzen nutzt benutze benutzen \
        benutzt nimm nehmen nimmst zeig zeige zeigen gib geben formuliere formulieren prüfe prüfen teste testen \
        lösche löschen ändere ändern ergänze halte fange beginne beginnen starte formatiere formatieren kommentiere \
        kommentieren sei mach mache machen nenn nenne lass lassen lässt gibst zeigst machst prüfst testest nennst \
        formulierst kommentierst füge hinzufügen einfügen ausführen laufen",
    ),
    bare: Words::of("nur keine kein keinen kurze knappe alle"),
    taste: Words::of(
        "emojis kommentare antworten tests tabs leerzeichen semikolons listen tabellen erklärungen abkürzungen \
        anglizismen floskeln",
    ),
    at_hand: Words::of("dies diese dieser diesen diesem dieses hier jene heute jetzt gerade dort da"),
    program: Words::of(
        "server client nutzer benutzer funktion zurück zurückgeben null header request button dialog datenbank",
    ),
    suspect: Words::of(
        "wenn falls ob sagt sagte gesagt schreibt steht laut angenommen stell meint meinte beispiel fehlermeldung \
        tu",
    ),
    questions: Words::of(
        "warum wieso weshalb was wie wer wo welche welcher soll sollte sollen kannst könntest kann ist sind hast \
        willst darf muss",
    ),
    tasks: Words::of("implementiere erstelle baue schreib schreibe füge entwickle programmiere ergänze ändere"),
    first: Words::of(
        "der die das ein eine es er sie wir ihr man dieser diese dieses mein meine unser unsere ich alle jeder da \
        weil",
    ),
    infinitive_last: true,
    about: german,
});

fn german(prompt: &str, t: &[Token]) -> Option<About> {
    let at = |v: Value| (v.0, v.1, v.2);
    if let Some(r) = eat(t, phrases!("ich heiße|heisse / mein name ist|lautet / mein vorname ist")) {
        return profile::name(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("nenn|nenne mich / nenn|nenne mich bitte")) {
        return profile::nickname(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("meine zeitzone ist|: / ich bin in der? zeitzone")) {
        return profile::timezone(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("ich wohne|lebe in / mein wohnort ist")) {
        return profile::location(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("ich spreche nur? / meine muttersprache|sprache ist")) {
        return profile::language(r, 0.85).map(at);
    }
    if let Some(r) = eat(t, phrases!("meine pronomen sind|:")) {
        return profile::pronouns(r).map(at);
    }
    let r = eat(t, phrases!("ich bin von beruf ein|eine? / ich bin ein|eine? / ich arbeite als ein|eine?"))?;
    german_role(prompt, r).map(at)
}

/// Reads a profession, which German writes as one word: "Backend-Entwickler", "Softwareentwicklerin".
fn german_role<'t>(prompt: &str, r: &'t [Token]) -> Option<Value<'t>> {
    german_profession(prompt, r)
        .map(|(key, value, confidence, rest)| (key, super::capitalised(&value), confidence, rest))
}

fn german_profession<'t>(prompt: &str, r: &'t [Token]) -> Option<Value<'t>> {
    let ends = |t: &&Token| lexicon::GERMAN_ROLES.split_ascii_whitespace().any(|role| t.low.ends_with(role));
    let profession = r.iter().take(3).take_while(|t| t.word).find(ends)?;
    profile::role(prompt, r, &Words::of(&profession.low), &GERMAN_STOPS, 0)
}

static GERMAN_STOPS: LazyLock<Words> =
    LazyLock::new(|| Words::of("und aber der die das mit seit weil wohne lebe aus von"));
static FRENCH_STOPS: LazyLock<Words> = LazyLock::new(|| Words::of("et mais qui avec depuis car donc je j'habite"));
static SPANISH_STOPS: LazyLock<Words> = LazyLock::new(|| Words::of("y pero que con desde porque vivo así"));

static FRENCH: LazyLock<Language> = LazyLock::new(|| Language {
    hints: Words::of(
        "je j'habite j'aime m'appeler mon ma mes appelle-moi appelez-moi souviens-toi rappelle-toi retiens n'oublie \
        note toujours systématiquement jamais désormais dorénavant maintenant aujourd'hui là l'avenir futur",
    ),
    leads: Phrases::of(
        "s'il te|vous plaît|plait / stp|svp / et / mais / ok|merci|super|parfait / bonjour|salut|coucou / \
        aussi|sinon / au fait / alors|donc",
    ),
    remember: Phrases::of(
        "souviens-toi que|qu' / souviens-toi : / rappelle-toi que|: / retiens que|: / retiens bien que|: / n'oublie \
        pas que / note que|:",
    ),
    standing: Phrases::of("désormais|dorénavant / à partir de maintenant|aujourd'hui|là / à l'avenir / dans le futur"),
    wishes: Phrases::of("je veux|souhaite|voudrais|préfère que tu|vous / tu dois|devrais|peux / vous devez"),
    prefer: Phrases::of("je préfère / j'aime mieux / je préfère toujours / ma préférence est"),
    like: Phrases::of("je déteste / j'aime / je n'aime pas"),
    always: Words::of("toujours systématiquement"),
    never: Words::of("jamais"),
    conduct: Words::of(
        "réponds répondez répondre répondes reponds repondez explique expliquez expliquer expliques parle parlez \
        parler tutoie tutoyez vouvoie vouvoyez push pushe pusher pousse commit commite committe commiter excuse \
        t'excuse résume résumer traduis traduire invente inventer devine demande demandez demander demandes",
    ),
    work: Words::of(
        "utilise utilisez utiliser utilises écris écrivez écrire écrives emploie employez employer ajoute ajoutez \
        ajouter ajoutes mets mettre fais faire commence commencer termine montre montrer vérifie vérifier teste \
        tester formate supprime supprimer modifie modifier sois garde donne donner rédige rédiger commente \
        commenter préfère",
    ),
    bare: Words::of("seulement uniquement pas plus aucun aucune"),
    taste: Words::of(
        "emojis commentaires réponses tests tabulations espaces points-virgules listes tableaux explications \
        anglicismes",
    ),
    at_hand: Words::of("ce cet cette ces ceci cela ça ici là celui celle maintenant aujourd'hui"),
    program: Words::of("serveur client utilisateur fonction null header requête bouton base renvoie retourne"),
    suspect: Words::of("si dit dis disait écrit selon exemple supposons imagine quand erreur message"),
    questions: Words::of(
        "pourquoi comment qui quoi quel quelle est-ce dois-je devrais-je peux-tu pouvez-vous faut-il où as-tu",
    ),
    tasks: Words::of("implémente crée écris ajoute développe corrige modifie programme"),
    first: Words::of(
        "le la les un une il elle on nous vous ils elles ce cette mon ma mes notre je j'ai l'utilisateur parce",
    ),
    infinitive_last: false,
    about: french,
});

fn french(prompt: &str, t: &[Token]) -> Option<About> {
    let at = |v: Value| (v.0, v.1, v.2);
    if let Some(r) = eat(t, phrases!("je m'appelle / mon nom|prénom est|:")) {
        return profile::name(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("appelle-moi|appelez-moi / tu peux m'appeler / vous pouvez m'appeler")) {
        return profile::nickname(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("mon fuseau horaire est|: / je suis dans le fuseau horaire?")) {
        return profile::timezone(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("j'habite à|en|au|aux? / je vis|réside à|en|au|aux")) {
        return profile::location(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("je parle le? / ma langue maternelle? est le?")) {
        return profile::language(r, 0.85).map(at);
    }
    if let Some(r) = eat(t, phrases!("mes pronoms sont|:")) {
        return profile::pronouns(r).map(at);
    }
    let r = eat(t, phrases!("je suis un|une? / je travaille comme|en-tant-que un|une?"))?;
    profile::role(prompt, r, &lexicon::FRENCH_ROLES, &FRENCH_STOPS, 2).map(at)
}

static SPANISH: LazyLock<Language> = LazyLock::new(|| Language {
    hints: Words::of(
        "me mi mis yo llámame llamame llamarme vivo resido hablo soy trabajo recuerda acuérdate ten olvides \
        prefiero odio detesto siempre nunca jamás ahora hoy adelante futuro",
    ),
    leads: Phrases::of(
        "por favor / y / pero / ok|vale|gracias|perfecto|bien|genial / hola|buenas / buenos días / buenas \
        tardes|noches / también|además / oye",
    ),
    remember: Phrases::of("recuerda que|: / recuerda esto : / acuérdate de que / ten en cuenta que / no olvides que"),
    standing: Phrases::of(
        "a partir de ahora|hoy / de ahora|hoy en adelante / en adelante / desde ahora / en el futuro / de aquí en \
        adelante",
    ),
    wishes: Phrases::of("quiero|quisiera|prefiero|necesito que / debes|deberías|tienes que?"),
    prefer: Phrases::of("prefiero / yo prefiero / prefiero siempre / mi preferencia es"),
    like: Phrases::of("odio|detesto / me gustan|gusta / no me gustan|gusta"),
    always: Words::of("siempre"),
    never: Words::of("nunca jamás"),
    conduct: Words::of(
        "responde responder respondas respóndeme contéstame contesta contestar contestes contestame explica \
        explicar expliques habla háblame hablar hables háblame pregunta preguntar preguntes pregúntame tutéame \
        hagas push pushees commitees disculpes resume resumir traduce inventes adivines",
    ),
    work: Words::of(
        "usa usar uses utiliza utilizar utilices escribe escribir escribas emplea pon poner pongas añade añadir \
        añadas agrega agregues incluye incluir incluyas haz hacer empieza empezar termina muestra muéstrame \
        verifica prueba formatea borres borra elimines elimina modifiques sé mantén da dame comenta comentes",
    ),
    bare: Words::of("solo sólo nada sin ningún ninguna"),
    taste: Words::of(
        "emojis comentarios respuestas tests pruebas tabuladores espacios listas tablas explicaciones anglicismos \
        tabs",
    ),
    at_hand: Words::of("este esta esto estos estas ese esa eso aquí ahí ahora hoy aquello"),
    program: Words::of("servidor cliente usuario función null header petición botón base devuelve retorna"),
    suspect: Words::of("si dice dijo dicen según ejemplo supón imagina cuando error mensaje"),
    questions: Words::of("por-qué cómo quién qué cuál dónde debo debería puedes podrías es son"),
    tasks: Words::of("implementa crea escribe añade agrega desarrolla corrige modifica programa"),
    first: Words::of("el la los las un una él ella nosotros ellos ese este mi mis nuestro lo se"),
    infinitive_last: false,
    about: spanish,
});

fn spanish(prompt: &str, t: &[Token]) -> Option<About> {
    let at = |v: Value| (v.0, v.1, v.2);
    if let Some(r) = eat(t, phrases!("me llamo / yo me llamo / mi nombre es|:")) {
        return profile::name(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("llámame|llamame / puedes llamarme")) {
        return profile::nickname(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("mi zona|huso horaria|horario es|:")) {
        return profile::timezone(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("vivo en / yo vivo en / resido en")) {
        return profile::location(prompt, r).map(at);
    }
    if let Some(r) = eat(t, phrases!("hablo / yo hablo / mi lengua|idioma materna|materno? es el?")) {
        return profile::language(r, 0.85).map(at);
    }
    if let Some(r) = eat(t, phrases!("mis pronombres son|:")) {
        return profile::pronouns(r).map(at);
    }
    let r = eat(t, phrases!("soy un|una? / yo soy un|una? / trabajo como|de un|una?"))?;
    profile::role(prompt, r, &lexicon::SPANISH_ROLES, &SPANISH_STOPS, 2).map(at)
}

/// Returns the signals of one sentence.
pub fn read<'t>(prompt: &str, sentence: &'t Sentence, context: &Context) -> Vec<Found<'t>> {
    LANGUAGES
        .iter()
        .map(|language| language.read(prompt, sentence, context))
        .find(|f| !f.is_empty())
        .unwrap_or_default()
}

/// Whether the sentence asks to build something.
pub fn is_task(tokens: &[Token]) -> bool {
    LANGUAGES.iter().any(|language| {
        let start = led(tokens, &language.leads);
        start.len() > 3 && start.first().is_some_and(|t| one_of(t, &language.tasks))
    })
}

impl Language {
    fn read<'t>(&self, prompt: &str, sentence: &'t Sentence, context: &Context) -> Vec<Found<'t>> {
        let tokens = &sentence.tokens[..];
        if !sentence.listed && !has(tokens, &self.hints) {
            return Vec::new();
        }
        let start = led(tokens, &self.leads);
        let mut found: Vec<Found<'t>> = Vec::new();
        if is_question(tokens) || start.first().is_some_and(|t| one_of(t, &self.questions)) {
            return found;
        }
        for (from, joint) in clauses(tokens) {
            let before = &tokens[..from];
            if joint == Joint::Colon && has_phrase(before, &self.remember) {
                // "Merk dir: …" is read from the beginning of the sentence.
                continue;
            }
            if joint == Joint::Colon || has(before, &self.suspect) || has(before, &english::SUSPECT) {
                continue;
            }
            let (mut clause, mut remember, mut standing) =
                (led(&tokens[from..], &self.leads), false, sentence.listed && from == 0);
            if let Some(rest) = eat(clause, &self.remember) {
                (clause, remember) = (led(rest, &self.leads), true);
            }
            if let Some(rest) = eat(clause, &self.standing) {
                (clause, standing) = (led(rest, &self.leads), true);
            }
            if let Some((key, value, confidence)) = (self.about)(prompt, clause) {
                found.push(Found { kind: SignalKind::Profile { key, value }, core: clause, confidence });
                continue;
            }
            if found.iter().any(|f| !matches!(f.kind, SignalKind::Profile { .. })) {
                continue;
            }
            let led_by = led(before, &self.leads).first().is_some_and(|t| one_of(t, &self.first));
            let free = joint == Joint::Start || standing || joint == Joint::Break || !led_by;
            let wish = |clause: &'t [Token], standing: bool| {
                self.first_person(clause, remember)
                    .or_else(|| if free { self.directive(clause, standing, context) } else { None })
            };
            let several = joined::wishes(clause, standing, |rest| self.next_wish(rest, standing), wish);
            if several.is_empty() {
                found.extend(wish(clause, standing));
            }
            found.extend(several);
        }
        found
    }

    /// Returns the tokens after a joint, if they explicitly state another wish.
    fn next_wish<'t>(&self, rest: &'t [Token], standing: bool) -> Option<(&'t [Token], bool)> {
        let mut rest = led(rest, &self.leads);
        let mut standing = standing;
        if let Some(opened) = eat(rest, &self.standing) {
            (rest, standing) = (led(opened, &self.leads), true);
        }
        let near = &rest[..rest.len().min(6)];
        // The next "always" may come after the following joint.
        let near = &near[..clauses(near).get(1).map_or(near.len(), |(at, _)| *at)];
        let cued = has(near, &self.always)
            || has(near, &self.never)
            || eat(rest, &self.prefer).is_some()
            || eat(rest, &self.like).is_some()
            || standing && rest.first().is_some_and(|t| one_of(t, &self.bare));
        cued.then_some((rest, standing))
    }

    fn first_person<'t>(&self, clause: &'t [Token], remember: bool) -> Option<Found<'t>> {
        let core = trimmed(clause, &self.standing);
        let words = core.iter().filter(|t| t.word).count();
        let found = |kind, confidence| Some(Found { kind, core: self.tidy(core), confidence });
        if has(core, &self.at_hand) || core.iter().any(|t| t.name) {
            return None;
        }
        if let Some(rest) = eat(core, &self.prefer) {
            let definite = rest.first().is_none_or(|t| {
                !t.word
                    || one_of(
                        t,
                        words!("das die den der le la les cette el la los las que opción option variante version es"),
                    )
            });
            return if definite || words < 2 { None } else { found(SignalKind::Preference, 0.8) };
        }
        if let Some(rest) = eat(core, &self.like) {
            return if has(&rest[..rest.len().min(4)], &self.taste) {
                found(SignalKind::Preference, 0.65)
            } else {
                None
            };
        }
        let me = words!(
            "ich mein meine je j'ai j'aime j'utilise j'habite mon ma mes soy mi mis me tengo vivo trabajo uso no yo"
        );
        let mine = core.first().is_some_and(|t| one_of(t, me) || t.low.starts_with("j'"));
        if remember
            && mine
            && words >= 2
            && !has(core, words!("war hatte habe gestern heute été hier hé fue ayer hice"))
        {
            return found(SignalKind::Identity, 0.9);
        }
        None
    }

    fn directive<'t>(&self, clause: &'t [Token], standing: bool, context: &Context) -> Option<Found<'t>> {
        let core = self.tidy(trimmed(clause, &self.standing));
        let standing = standing || has_phrase(clause, &self.standing) && !has(clause, words!("damit para pour afin"));
        let body = led(eat(core, &self.wishes).unwrap_or(core), &self.leads);
        let wished = body.len() < core.len();
        let first = body.first().filter(|t| t.word && !t.quoted)?;
        let words = body.iter().filter(|t| t.word).count();
        if words < 2 || has(body, &self.at_hand) || body.iter().any(|t| t.name) || context.persona && !standing {
            return None;
        }
        // French and Spanish put "ne" and "no" before the verb, or join it: "n'utilise".
        let bare = eat(body, phrases!("ne|no / no te|me")).filter(|_| words > 2).unwrap_or(body);
        let verb = |t: &Token| t.low.trim_start_matches("n'").trim_end_matches("-moi").to_owned();
        let conduct = |t: &Token| self.conduct.has(&verb(t));
        let known = |t: &Token| conduct(t) || self.work.has(&verb(t));
        let ever = |t: &Token| t.word && !t.quoted && (one_of(t, &self.always) || one_of(t, &self.never));
        let near = body.iter().take(6).any(ever);
        let opens = ever(first);
        // The verb: the first word, the word after always or never, the last word in German.
        let after = body.iter().skip(1).find(|t| t.word && !one_of(t, words!("me te m'en t'en")));
        let last = body.iter().rfind(|t| t.word);
        let act = bare.first().filter(|t| known(t)).or_else(|| {
            let next = after.filter(|t| (opens || standing) && known(t));
            next.or_else(|| last.filter(|t| self.infinitive_last && (opens || standing || wished) && known(t)))
        });
        let Some(act) = act else {
            let short = standing && one_of(first, &self.bare) && words <= 12;
            let apt = || has(body, &self.taste) || body.iter().any(|t| lexicon::language(&t.low).is_some());
            return (short && apt()).then_some(Found { kind: SignalKind::Preference, core: body, confidence: 0.8 });
        };
        let spec = has(body, &self.program) || context.task && !conduct(act);
        if !standing && (!near || spec) {
            return None;
        }
        let core = if wished { core } else { body };
        Some(Found { kind: SignalKind::Preference, core, confidence: if conduct(act) { 0.85 } else { 0.75 } })
    }

    fn tidy<'t>(&self, tokens: &'t [Token]) -> &'t [Token] {
        trimmed(
            tokens,
            phrases!("bitte / danke / merci / gracias / por favor / s'il te plaît / s'il vous plaît / stp / svp"),
        )
    }
}
