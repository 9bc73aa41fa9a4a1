//! Cues: phrases that tell what a sentence does, in English, German, French and Spanish. Words are matched whole and
//! outside quotations; the tables are data, the matcher is one look-up per word.
//!
//! A pattern is words with blanks between them: `a|b` is either, `a?` may be missing. Several patterns are parted by
//! ` / `.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::sentences::Sentence;

/// What a phrase is a cue for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cue {
    /// "please", "also", "ok": says nothing by itself.
    Lead,
    /// "and also", "by the way": something besides.
    Besides,
    Negation,
    /// "if", "maybe", "would".
    Hypothesis,
    /// "he said", "according to".
    Reported,
    /// "can you", "I want", "we need to".
    Request,
    /// A verb somebody is asked to do something with.
    Task,
    /// "don't", "never", "always", "make sure": a directive where it begins a clause.
    Directive,
    /// "must", "have to", "I'd prefer": a directive wherever it stands.
    Rule,
    /// "forget what I said about".
    Retraction,
    /// A choice.
    Decision,
    /// A choice where the user says it: "let's use".
    Choice,
    /// What follows is what was not chosen: "instead of", "drop".
    Rejected,
    /// Something is done.
    Done,
    /// A word that says so where it begins the statement: "Implemented …".
    Participle,
    /// Something begins: "let me", "now".
    Start,
    /// Something is to be done later.
    Later,
    /// What comes next.
    Next,
    Blocked,
    /// "the problem was", "it turns out".
    Finding,
    /// A question that waits for the user.
    Ask,
}

/// A cue and where its words stand.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub cue: Cue,
    pub from: usize,
    pub to: usize,
}

struct Pattern {
    cue: Cue,
    /// Behind the first word: what may stand there, by hash, and whether it may be missing.
    rest: Vec<(Vec<u64>, bool)>,
}

/// A hasher for keys that are hashes already.
#[derive(Default)]
pub struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Words by their hashes.
pub type HashedSet = HashSet<u64, BuildHasherDefault<Hashed>>;

/// Which hashes may be among some: most words are in no list, and one bit tells so.
#[derive(Debug)]
struct Sieve([u64; 64]);

impl Sieve {
    fn of(hashes: impl Iterator<Item = u64>) -> Sieve {
        let mut bits = [0; 64];
        for hash in hashes {
            let (at, bit) = Sieve::place(hash);
            bits[at] |= bit;
        }
        Sieve(bits)
    }

    fn place(hash: u64) -> (usize, u64) {
        // FNV mixes upwards: the low bits alone tell little.
        let mixed = hash ^ hash >> 29;
        ((mixed >> 6 & 63) as usize, 1 << (mixed & 63))
    }

    fn may_have(&self, hash: u64) -> bool {
        let (at, bit) = Sieve::place(hash);
        self.0[at] & bit != 0
    }
}

struct Patterns {
    by_word: HashMap<u64, Vec<Pattern>, BuildHasherDefault<Hashed>>,
    sieve: Sieve,
}

/// By the hash of the first word. Words are compared by their hashes: 64 bits do not collide among a few thousand.
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let mut by_word: HashMap<u64, Vec<Pattern>, _> = HashMap::default();
    for (cue, table) in TABLES {
        for pattern in table.split(" / ") {
            let mut parts = pattern.split_ascii_whitespace();
            let first = parts.next().unwrap_or_default();
            for word in first.split('|') {
                let rest = parts
                    .clone()
                    .map(|p| (p.trim_end_matches('?').split('|').map(hash).collect(), p.ends_with('?')))
                    .collect();
                by_word.entry(hash(word)).or_default().push(Pattern { cue: *cue, rest });
            }
        }
    }
    let sieve = Sieve::of(by_word.keys().copied());
    Patterns { by_word, sieve }
});

/// All cues of a sentence outside its quotations, in order.
pub fn find(sentence: &Sentence) -> Vec<Hit> {
    let patterns = &*PATTERNS;
    let mut found = Vec::new();
    // A quoted word is none here.
    let words = sentence.words();
    let is = |at: usize, choice: &[u64]| words.get(at).is_some_and(|w| !w.quoted && choice.contains(&w.hash));
    for (at, word) in words.iter().enumerate() {
        if word.quoted || !patterns.sieve.may_have(word.hash) {
            continue;
        }
        let Some(candidates) = patterns.by_word.get(&word.hash) else { continue };
        for pattern in candidates {
            let mut to = at + 1;
            let fits = pattern.rest.iter().all(|(choice, may_lack)| {
                let here = is(to, choice);
                to += usize::from(here);
                here || *may_lack
            });
            if fits {
                found.push(Hit { cue: pattern.cue, from: at, to });
            }
        }
    }
    found
}

/// Where runs of letters and digits begin, with their hashes.
pub fn starts(low: &str) -> Vec<(usize, u64)> {
    let (mut found, mut from) = (Vec::with_capacity(low.len() / 6 + 1), None);
    for (at, c) in low.char_indices() {
        match (c.is_alphanumeric(), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                found.push((start, hash(&low[start..at])));
                from = None;
            }
            _ => {}
        }
    }
    if let Some(start) = from {
        found.push((start, hash(&low[start..])));
    }
    found
}

/// FNV-1a of a word.
pub fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Phrases by the hash of the run they begin with, and those that begin with none.
struct Phrases {
    by_start: Vec<(u64, &'static str)>,
    sieve: Sieve,
    odd: Vec<Finder<'static>>,
}

impl Phrases {
    fn of(phrases: &'static str) -> Phrases {
        let all = phrases.split('|').map(str::trim).filter(|p| !p.is_empty());
        let (plain, odd): (Vec<_>, Vec<_>) = all.partition(|p| p.starts_with(char::is_alphanumeric));
        let run = |p: &'static str| hash(p.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(p));
        let mut by_start: Vec<_> = plain.into_iter().map(|p| (run(p), p)).collect();
        by_start.sort_unstable();
        let sieve = Sieve::of(by_start.iter().map(|(h, _)| *h));
        Phrases { by_start, sieve, odd: odd.into_iter().map(|p| Finder::new(p.as_bytes())).collect() }
    }

    fn stand(&self, low: &str, starts: &[(usize, u64)]) -> bool {
        let whole = |at: usize, phrase: &str| {
            low[at..].starts_with(phrase) && !low[at + phrase.len()..].starts_with(char::is_alphanumeric)
        };
        let found = starts.iter().filter(|(_, hash)| self.sieve.may_have(*hash)).any(|(at, hash)| {
            let from = self.by_start.partition_point(|(h, _)| h < hash);
            self.by_start[from..].iter().take_while(|(h, _)| h == hash).any(|(_, phrase)| whole(*at, phrase))
        });
        found || self.odd.iter().any(|p| p.find(low.as_bytes()).is_some())
    }
}

thread_local! {
    /// Lists of phrases are constants: each is taken apart once.
    static LISTS: RefCell<HashMap<u64, Phrases, BuildHasherDefault<Hashed>>> = RefCell::new(HashMap::default());
}

/// As [`stands`], for a text whose runs are known and phrases that never change.
pub fn say(low: &str, starts: &[(usize, u64)], phrases: &'static str) -> bool {
    // Where a constant lies and how long it is tell which it is: no two lists overlap.
    let place = (phrases.as_ptr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ phrases.len() as u64;
    LISTS.with_borrow_mut(|lists| lists.entry(place).or_insert_with(|| Phrases::of(phrases)).stand(low, starts))
}

/// Whether one of the phrases (parted by `|`) stands in the text as whole words.
pub fn stands(low: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| {
        let phrase = phrase.trim();
        low.match_indices(phrase).any(|(at, _)| {
            let before = low[..at].chars().next_back();
            let after = low[at + phrase.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    })
}

const TABLES: &[(Cue, &str)] = &[
    (Cue::Lead, LEAD),
    (Cue::Besides, BESIDES),
    (Cue::Negation, NEGATION),
    (Cue::Hypothesis, HYPOTHESIS),
    (Cue::Reported, REPORTED),
    (Cue::Request, REQUEST),
    (Cue::Task, TASK),
    (Cue::Directive, DIRECTIVE),
    (Cue::Rule, RULE),
    (Cue::Retraction, RETRACTION),
    (Cue::Decision, DECISION),
    (Cue::Choice, CHOICE),
    (Cue::Rejected, REJECTED),
    (Cue::Done, DONE),
    (Cue::Participle, PARTICIPLE),
    (Cue::Start, START),
    (Cue::Later, LATER),
    (Cue::Next, NEXT),
    (Cue::Blocked, BLOCKED),
    (Cue::Finding, FINDING),
    (Cue::Ask, ASK),
];

const LEAD: &str = "please|pls|plz|kindly / also / and|but|so|then / ok|okay|k|alright|right / btw|fyi / oh|ah|um|well|hm|hmm / \
    hey|hi|hello|hallo|hola|salut|bonjour / thanks|thx|thank|cheers|danke|merci|gracias you? / just|simply / yes|yeah|yep|no|nope|sure / \
    great|perfect|nice|cool|good|awesome|lgtm|excellent / again / sorry / actually|honestly|basically / important|note|nb|reminder|remember : / \
    in addition / additionally / one more thing / to be clear / and / from now on / going forward / in future / \
    for now / in this|our|the repo|repository|project|workspace|codebase / here / bitte / auch / und / aber / also / gut|super|prima / ab jetzt|sofort / von nun an / \
    s'il vous|te plaît / svp / aussi / et / mais / désormais / à partir de maintenant / por favor / también / y / pero / de ahora en adelante / a partir de ahora";

const BESIDES: &str = "also / btw / by the way / meanwhile / in the meantime / additionally / in addition / one more thing / while you're|you are at it|there / \
    on the side / quick|small|side thing|question|request|note / before that|you / another thing / oh and / \
    and also|then / außerdem / übrigens / nebenbei / aussi / au passage / además / por cierto / de paso";

const NEGATION: &str = "not / never / no / cannot / can't|cant|won't|wont|don't|dont|doesn't|didn't|isn't|aren't|wasn't|weren't|haven't|hasn't|hadn't|shouldn't|wouldn't|couldn't / \
    without / nothing / none / nobody / nor / neither / hardly / nicht / kein|keine|keinen|keinem|keiner / nie|niemals / ohne / pas / jamais / aucun|aucune / sin / nunca|jamás / ningún|ninguna / tampoco";

const HYPOTHESIS: &str = "if / whether / unless / suppose|supposing|imagine|assume|assuming|hypothetically / maybe|perhaps|possibly|probably / might / would|could / what if / for example|instance / e.g / \
    once / in theory / either / alternatively / one option / another option / wenn / falls / ob / vielleicht / könnte|könnten|würde|würden / angenommen / zum beispiel / z.b / \
    si / peut-être / pourrait|pourrions / par exemple / supposons / quizás|quizá / podría|podríamos / por ejemplo / supongamos / tal vez";

const REPORTED: &str = "he|she|they|someone|somebody|everyone|people|boss|manager|teacher|colleague|client|customer|friend said|says|say|wrote|writes|told|asked|asks|thinks|wants|claims|claimed|insists|insisted|recommends|recommended|suggested / \
    docs|documentation|readme|guide|manual|issue|ticket|email|mail|message|error|log|output|article|page|comment|book|spec|prompt|website|site|tutorial|linter|compiler say|says|said|state|states|recommend|recommends|recommended|mentions|suggests|reads|claims|tells / \
    said|claims|claimed|insists|insisted / wiki|runbook|changelog|policy|style say|says|said / according to / it says|said|reads / told me to? / asked me to / says|say to / used to|be|have / \
    er|sie|chef|kollege|kunde sagt|sagte|meint|meinte|schreibt|schrieb|will / laut / il|elle|on a? dit|disait|écrit|veut / selon / él|ella|jefe|cliente dice|dijo|escribió|quiere / según";

const REQUEST: &str = "can|could|would|will you / could|can we / i|we want|need|wanna you? to? / i'd|we'd|i|we would? like you? to? / help me|us / let's|lets / \
    i|we have to / your|the|my task|job|goal is / the goal|task|idea|plan is / i'm|i am|we're trying to / i'm|i am|we're|we are looking for|to|into / please / \
    remind me / tell|show|give|send|find|get|explain me|us / how do|can|should i|we / how to / take care of / go ahead and / \
    kannst|könntest|würdest du / könntest|können|könnten sie|du|wir / ich|wir möchte|möchten|will|wollen|brauche|brauchen / hilf mir|uns / lass|lasst uns / bitte / \
    peux-tu|pourrais-tu|pouvez-vous|pourriez-vous / tu peux|pourrais / je veux|voudrais|souhaite / aide-moi / il faut|faudrait / j'aimerais / s'il te|vous plaît / \
    puedes|podrías|puede|podría / quiero|queremos|necesito|necesitamos / ayúdame / quisiera / me gustaría / por favor";

const TASK: &str = "add|analyse|analyze|annotate|apply|arrange|ask|assess|audit|benchmark|book|build|bump|buy|calculate|call|cancel|change|check|clarify|clean|close|collect|combine|commit|compare|compile|complete|compute|configure|connect|consolidate|continue|convert|copy|correct|count|cover|create|cut|debug|define|delete|deploy|derive|describe|design|determine|develop|diagnose|disable|document|download|draft|draw|dockerize|edit|email|enable|evaluate|examine|execute|expand|explain|explore|export|extend|extract|figure|file|fill|find|finish|fix|format|generate|get|give|handle|implement|import|improve|include|increase|inspect|install|integrate|introduce|investigate|list|load|look|make|mark|measure|merge|migrate|modify|move|name|open|optimise|optimize|order|organise|organize|outline|pack|parse|patch|pay|plan|play|polish|port|prepare|print|profile|propose|prove|publish|push|put|read|rebase|rebuild|recommend|record|redesign|reduce|refactor|register|release|remove|rename|render|renew|repair|replace|report|reproduce|research|reschedule|reserve|resolve|restore|restructure|resume|revert|review|rewrite|run|save|schedule|search|send|set|ship|show|simplify|solve|sort|speed|split|start|submit|suggest|summarise|summarize|support|swap|switch|tackle|take|teach|tell|test|tidy|track|train|transcribe|translate|trim|try|tune|turn|uninstall|unify|update|upgrade|upload|validate|verify|walk|wire|work|wrap|write|remind / \
    implementiere|implementier|baue|bau|erstelle|erstell|schreibe|schreib|füge|ändere|entferne|lösche|behebe|repariere|prüfe|teste|übersetze|erkläre|zeige|zeig|suche|such|finde|mach|mache|bereite|buche|bestelle|plane|aktualisiere|verschiebe|vergleiche|optimiere|richte|erinnere|fasse / \
    ajoute|ajoutez|crée|créez|corrige|corrigez|écris|écrivez|supprime|supprimez|modifie|modifiez|explique|expliquez|traduis|traduisez|vérifie|vérifiez|trouve|trouvez|prépare|préparez|réserve|mets|mettez|fais|faites|teste|remplace|implémente|refactorise / \
    añade|agrega|crea|corrige|arregla|escribe|elimina|borra|modifica|explica|traduce|verifica|busca|encuentra|prepara|reserva|haz|prueba|reemplaza|implementa|actualiza|revisa|muestra|cambia";

const DIRECTIVE: &str = "don't|dont|never|always|avoid|refrain|only|ensure|prefer|keep|stick|leave|limit|respect|preserve|use|stop|skip|follow|do / do not / make|be sure / be|stay careful|brief|concise|short|terse|precise|polite|honest|consistent|thorough|specific|conservative|strict|mindful|aware|explicit / \
    no|zero|without / at most|least / remember|don't forget to / try not to / under no circumstances / at no point / in no case / not more than / nothing / answer|reply|respond|speak|write|talk in|with|like|as|using|only|always|briefly / stay|work within|on|in / hands off / \
    nie|niemals|immer|vermeide|vermeidet|benutze|benutz|verwende|nutze|nutz|achte|beachte|stelle|nur|kein|keine|keinen|nicht|ohne|bleib|antworte|halte|lass|mach|mache|ändere nicht|keine|kein|nie|nur|immer|sicher|darauf|in|auf|dich|die|kurz? / auf keinen fall / \
    ne|n'utilise|n'utilisez|évite|évitez|toujours|jamais|utilise|utilisez|garde|gardez|réponds|répondez|assure-toi|assurez-vous|pas|seulement|uniquement|respecte|respectez|préfère / \
    no|nunca|siempre|evita|usa|utiliza|mantén|responde|asegúrate|solo|sólo|únicamente|respeta|prefiere|sin";

const RULE: &str = "must|mustn't / must not / shall / shall not / has|have|needs|need to be|stay|remain|support|keep|work|use|run|have|come|go|match / should|shouldn't always|never|not|only|be|use|have|stay|keep / shouldn't / should / may|can not / may never|only / \
    i'd|i would? prefer|rather|like / i prefer / i|we don't|do|dont not? want|like|need / i hate|dislike / i only|always|never want|use|need|like|accept / we always|never|only / you always|never / you should|shouldn't|must|may|can only / \
    no need to / it's|it is important|essential|crucial|critical|mandatory|forbidden|required / is|are off-limits|forbidden|required|mandatory|read-only|not / off limits / make sure / be sure / \
    at all times / under no circumstances / instead of / rather than / no more than / at most|least / not allowed / allowed to / deadline / \
    muss|müssen|darf|dürfen|soll|sollen|sollte|sollten / ich bevorzuge|mag|möchte lieber|keine? / ich will kein|keine|nicht / wichtig ist|: / du sollst|darfst|musst|solltest / \
    doit|doivent|dois|devez / il faut|ne faut / il ne faut pas / je préfère|veux pas / je ne veux pas / tu dois / c'est important / \
    debe|deben|debes / hay que / tiene|tienen que / prefiero / no quiero / es importante";

const RETRACTION: &str = "forget|ignore|disregard|scrap|scratch what i said|wrote? about? / forget|ignore|disregard|scrap|drop the|that|this|my rule|requirement|restriction|constraint|instruction|preference / never mind the|that|about / nevermind the|that|about / \
    no longer need|needs|necessary|required|required|a|applies|matters|important / not needed|necessary|required|important anymore|any|now|after / you|we can|may now / you|we are|re free|allowed to now? / is|are|it's fine|ok|okay|allowed now|again|after / is fine after all / doesn't matter anymore|any / \
    don't|do need|have|want|care not? to? that|this|it? anymore / \
    vergiss das|die|was|den / nicht mehr nötig|notwendig|wichtig / doch nicht / oublie ce|la|le / plus besoin|nécessaire / olvida lo|la|el / ya no hace|es|necesitamos|importa";

const DECISION: &str = "decided|decide|deciding to|on|that|for|against|we|it? / it|that|so|then is decided / decision is|:|was / the decision / we're|we|i|i'm|are|am going with / going with / go|went|goes with / settled|settle|settling on|for / \
    opted|opt|opting for|to|against / chose|choose|chosen|choosing / i've|we've|have picked|chosen|selected / picked|picking / agreed|agree on|to|that|: / agreed / stick|sticking|stuck with|to / let's|lets drop|keep|stick|go|skip|not|avoid|switch|defer|postpone|use|stay|leave|settle / \
    we|i drop|keep|skip|defer|postpone|abandon|won't / we're|i'm|we|are|am dropping|keeping|skipping|switching|abandoning|deferring|postponing|replacing / i'll|we'll|will use|keep|go|stick|drop|skip|switch|avoid|store|leave / i'm using|keeping / \
    switched|switching|switch from|to|away|over / replaced|replacing / instead of / rather than / ruled|rule out / final decision|choice|answer / in favour|favor of / \
    entschieden|entschlossen / wir|ich nehmen|nehme|verwenden|verwende|behalten|behalte|lassen|streichen|bleiben|bleibe|verzichten|verzichte|wechseln|verwerfen / beschlossen|beschluss / stattdessen / statt|anstatt|anstelle / \
    décidé|décidons|décision / choisi|choisissons|optons|opté / on|nous garde|gardons|abandonne|abandonnons|prend|prenons|utilise|utilisons|part|partons / plutôt que|qu' / au lieu de|d' / \
    decidido|decidimos|decisión / elegimos|elegido|optamos / nos quedamos con / usaremos|usamos|vamos con|a usar|descartamos|mantenemos / en lugar|vez de";

const CHOICE: &str = "let's|lets use|do|take|go|make|start|have|move|try|target|call|name|store|put|support|ship|run|work / use / go|keep|stay|stick with / take / drop / option|variant|approach|plan|version|design|number a|b|c|d|1|2|3|4|one|two|three / \
    the first|second|third|former|latter one|option|approach? / i|we choose|pick|take / we'll|i'll use|take|go|keep / sounds|looks good / nehmen wir / wir nehmen / prenons / vamos con / i'd|i would? go|take|rather|say / i pick|choose / ok|okay|yes|fine with / for now we|i";

const REJECTED: &str = "instead of / rather than / drop|dropping|dropped / abandon|abandoning|abandoned / not / no longer / no more / scrap|scrapping|scrapped / remove|removing / away from / switch|switched|switching|migrate|move|moved|moving from / replace|replacing|replaced / over / against / ditch|ditching / revert|reverting|reverted / forget|skip|skipping / \
    statt|anstatt|anstelle / kein|keine|keinen / streichen|verzichten|verwerfen / auf / au lieu de|d' / plutôt que / abandonne|abandonnons / en lugar|vez de / descartamos|abandonamos";

const DONE: &str = "all? tests|specs|checks|suites pass|passed|passing|green / tests|checks|test|suite now|all|still? pass|passes|passed / all|everything green|passing|passes|done|pushed|merged|good|works|clean / 0 failures|failed|errors / no failures|errors|issues|warnings / is|are|it's|that's|now|all now|all|also|fully|already? done|complete|completed|finished|fixed|resolved|implemented|written|built|created|added|updated|removed|merged|deployed|pushed|committed|live|working|released|published|installed|configured|sent|booked|ordered|scheduled|in / \
    has|have|i've|we've|had now|all|also|already|just|been|successfully? been? added|implemented|fixed|created|updated|removed|renamed|refactored|written|built|committed|pushed|merged|deployed|installed|configured|migrated|finished|completed|resolved|moved|replaced|changed|tested|verified|sent|booked|ordered|scheduled|paid|published|documented|extracted|converted|cleaned|closed|set|made|wired|registered|generated|rewritten|split|reproduced / \
    i|we just|also|then? added|implemented|fixed|created|updated|removed|renamed|refactored|wrote|built|committed|pushed|merged|deployed|installed|configured|migrated|finished|completed|resolved|moved|replaced|tested|verified|sent|booked|ordered|scheduled|paid|published|documented|extracted|converted|cleaned|closed|made|wired|registered|generated|rewrote|split|reproduced / \
    committed|done and pushed / works|work now|again|correctly|fine|end-to-end / now works|passes|work|pass / done / finished / completed / complete / successfully / credo|clippy|lint|eslint|typecheck|build is? clean|green|passes / clean compile|build|run / compiles|builds cleanly|fine|now|without / ran cleanly / \
    erledigt|fertig|abgeschlossen|behoben|implementiert|umgesetzt|gepusht|committet|gebucht|bestellt|gesendet|verschickt / alle tests grün|bestanden|laufen / läuft wieder|jetzt / ist|sind jetzt? da|durch|online / \
    terminé|fini|corrigé|implémenté|ajouté|créé|déployé|envoyé|réservé|c'est fait / les tests passent / fait / \
    terminado|hecho|listo|corregido|implementado|añadido|creado|desplegado|enviado|reservado|arreglado / las pruebas pasan / los tests pasan";

const PARTICIPLE: &str = "added|addressed|adjusted|applied|booked|built|bumped|cancelled|changed|checked|cleaned|closed|committed|completed|configured|confirmed|connected|converted|copied|corrected|covered|created|deleted|deployed|documented|downloaded|dropped|enabled|disabled|exported|extended|extracted|finished|fixed|formatted|generated|handled|implemented|imported|improved|increased|installed|integrated|introduced|investigated|merged|migrated|modified|moved|ordered|optimised|optimized|paid|patched|ported|published|pushed|rebased|reduced|refactored|registered|released|removed|renamed|replaced|reproduced|rescheduled|resolved|restored|reverted|reworked|rewrote|rewritten|scheduled|sent|set|shipped|simplified|solved|sorted|split|started|stopped|summarised|summarized|switched|tested|tightened|translated|uninstalled|unified|updated|upgraded|uploaded|validated|verified|wired|wrapped|wrote|new / \
    hinzugefügt|erstellt|behoben|geändert|entfernt|implementiert|aktualisiert|umbenannt|gebucht|bestellt / ajouté|créé|corrigé|modifié|supprimé|implémenté|renommé|mis / añadido|añadí|creado|creé|corregido|modificado|eliminado|implementado|actualizado|agregué|agregado";

const START: &str = "let me / now / now let me / i'll|ill / i will / i'm going to / i am going to / i'm now|currently / next / first / starting|start with|on|by|the|to? / working on / moving on? to / continuing with? / on to / time to / time for / i need to / we need to / i should / going to / \
    jetzt / als nächstes / ich werde / zuerst / lass mich / maintenant / je vais / d'abord / ensuite / ahora / voy a / primero";

const LATER: &str = "later / todo|todos|fixme / to-do / still|yet need|needs|have|has|needed|required|missing|to|open|pending|outstanding|remaining|left|remains|waiting|unresolved|unclear|untested|undone|not|lacks|lack / remains|remain to|open|untested|unsolved / remaining|outstanding / not|n't yet / not done|finished|started|implemented|tested|complete|covered|fixed|committed|pushed yet? / haven't|hasn't|have|has not? yet|been / \
    haven't|hasn't been? tested|implemented|done|written|added|fixed|covered|updated|checked|verified|committed|pushed|run|started|finished|deployed|migrated|touched / left to|open|for / tomorrow / afterwards / follow-up|followup / follow up / next week|time|session|month|sprint / in a follow-up|followup|later|separate / get back to / i'll|we'll remind|follow|revisit|return|come|get / remind me|us|you / don't|do not? forget / tbd / to be done|decided|determined|written|added|fixed|tested / open question|item|issue|point|until / for another day / postponed|deferred|postpone|defer / when you're|i'm|we're back / as soon as / need|needs to? / needs / must be / should also|still / we|i should / unresolved / missing / \
    später / noch nicht|offen|zu|fehlt|ausstehend|machen|erledigen|nötig / fehlt|fehlen|ausstehend / morgen / danach / muss|müssen|musst noch / wir|ich brauchen|brauche / erinnere|erinner mich|uns / nächste|nächsten woche|mal|monat / merken / \
    plus tard / pas encore / reste|restent à / reste|encore à / à faire / demain / rappelle-moi / il manque|faut|faudra / \
    más tarde / luego / aún|todavía no|falta|faltan|hay / falta|faltan|queda|quedan|pendiente|pendientes / mañana / recuérdame / por hacer";

const NEXT: &str = "next / next step|steps|up|:|is|i'll|we|i|we'll / the? next step|steps|thing / then i'll|we|i|we'll / up next / after that|this / what's|what remains|left|next / remaining / we|i|you can|could|should now|then|next / ready to / proceed|proceeding|continue|continuing with|to / i'll|we'll then|next|continue|proceed|start|begin|now / \
    als nächstes|nächster / nächste|nächster|nächsten schritt|schritte|schritten / danach / ensuite / prochaine|prochaines étape|étapes / après cela / siguiente|siguientes|próximo|próximos paso|pasos / después / a continuación";

const BLOCKED: &str = "blocked|blocker|blocking / stuck / can't|cannot|couldn't|can not? access|connect|reach|proceed|continue|reproduce|run|build|find|open|install|log|push|finish|test|verify|do|get|resolve|complete / unable to / wasn't|weren't|not able to / waiting|wait for|on|until / needs|need your|credentials|access|permission|approval|a / requires|require your|credentials|access|permission|approval / permission|access denied / no access|permission / \
    still|keeps|keep|now|is|are failing|fails|fail|broken|crashing|hanging|blocked|stuck / doesn't|does|don't|didn't|won't not? work|compile|build|pass|start|run|help / not working|possible|available|reachable / fails|failing|failed with|on|because|when|in|to|at|due / tests? fail|fails|failed|failing / failed / \
    blockiert|hängt|scheitert|fehlgeschlagen|kaputt / geht|funktioniert|läuft nicht / kein|keinen zugriff|zugang / warte|warten|wartet auf / bloqué|échoue|échoué / ne fonctionne|marche pas / pas d'accès / en attente|attends / bloqueado|falla|fallan|falló / no funciona|puedo|tengo / esperando";

const FINDING: &str = "the|real|actual|root|main root? cause|problem|issue|bug|culprit|reason|error|failure|fix|trick is|was|: / root cause / turns|turned out / because of / caused by / the reason|cause / due to / the fix is|was / \
    found the|it|a|out? bug|issue|problem|cause|culprit|root|that? / which means / doesn't|does|don't not? support / requires|require / das|die|der problem|ursache|grund|fehler ist|war|liegt|lag / es liegt|lag an / le|la problème|cause|raison|bug est|était|vient / el|la problema|causa|razón|error|motivo es|era|está";

const ASK: &str = "should|shall|may|can i|we / do|would|could|can|did|are|will|have you / which|what|where|when|who|how|why / is|are that|this|it|there|the / or / want|like|prefer me|you|to? / any / ok|okay to|with|if? / \
    soll|sollen|darf|möchtest|willst|kannst|welche|welcher|welches|was|wann|wo|wie / dois-je|veux-tu|voulez-vous|préférez-vous|quel|quelle|quels|est-ce|faut-il|que|où|quand / debo|quieres|prefieres|cuál|qué|cuándo|dónde|cómo";
