//! The words signals are told by. Lists of lower-case words, matched whole.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::patterns::Words;

/// What an assistant does in a conversation; hardly ever what a program does.
pub static CONDUCT: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "answer apologize apologise cite commit compliment explain flatter force-push greet guess hallucinate \
        invent lecture moralise moralize praise push rebase reply respond speak summarise summarize swear talk \
        thank translate",
    )
});

/// What an assistant does to text and code; a specification may say it of a program too.
pub static WORK: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "abbreviate add address amend ask assume avoid backup begin bump call capitalise capitalize change check \
        cite comment confirm consult create delete deploy describe do document double-check draft edit embed end \
        finish focus follow format generate give import include indent insert install keep leave limit link lint \
        list look make mention merge modify move name offer omit organise organize outline output overwrite plan \
        point prefer prefix propose proofread provide publish put quote read recommend refactor refer release \
        remind remove rename reset revert review rewrite round run say search send share show sign skip sort spell \
        split squash start state stay stick stop structure suggest tell test think touch treat try update upgrade \
        use verify wait work wrap write",
    )
});

/// What makes a sentence about the conversation rather than about a program.
pub static CONVERSATION: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "answer answers ask asking chat comment comments commit commits confirmation conversation emoji emojis \
        explain explaining explanation explanations i i'd i'll i'm i've me mine my permission pr prs push pushing \
        replies reply response responses summary tl;dr tone you you're your yourself bullet bullets british \
        american english german french spanish italian portuguese dutch",
    )
});

/// What a program is made of: a sentence with one of these is a specification.
pub static PROGRAM: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "api-key array auth backend boolean browser buffer button cache callback client column cookie cursor dialog \
        dropdown endpoint endpoints event events exception field fields form frontend handler header headers heap \
        http index input integer key lock loop memory modal mutex null object offset packet page panel payload \
        pixel pointer pool port process queue record request requests response-code row rows screen server session \
        sidebar socket spinner stack status status-code stderr stdout stream string table thread timeout token \
        tokens toolbar transaction tx undefined user users value values variable void widget window",
    )
});

/// Adjectives with "be".
pub static MANNER: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "accurate blunt brief careful cautious clear concise critical direct explicit formal friendly frank honest \
        informal kind literal minimal neutral objective pedantic polite precise professional respectful sarcastic \
        serious short skeptical sceptical specific succinct terse thorough transparent verbose",
    )
});

/// What preferences in the first person are about, when liking is all that is said.
pub static TASTE: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "abbreviations abstractions acronyms answers branches buzzwords bullets code comments commits conventions \
        dark diagrams diffs docs docstrings documentation emoji emojis examples exclamation explanations exceptions \
        format formatting functions headings jargon language lists macros markdown mocks mode naming names output \
        paragraphs prs puns replies responses semicolons sentences spaces spelling style summaries syntax tables \
        tabs tests tone types typescript variables whitespace",
    )
});

const LANGUAGES: &str = "afrikaans:Afrikaans arabic:Arabic bengali:Bengali bulgarian:Bulgarian cantonese:Cantonese \
    catalan:Catalan chinese:Chinese croatian:Croatian czech:Czech danish:Danish dutch:Dutch english:English \
    estonian:Estonian farsi:Persian finnish:Finnish flemish:Flemish french:French german:German greek:Greek \
    hebrew:Hebrew hindi:Hindi hungarian:Hungarian icelandic:Icelandic indonesian:Indonesian irish:Irish \
    italian:Italian japanese:Japanese korean:Korean latvian:Latvian lithuanian:Lithuanian malay:Malay \
    mandarin:Mandarin norwegian:Norwegian persian:Persian polish:Polish portuguese:Portuguese punjabi:Punjabi \
    romanian:Romanian russian:Russian serbian:Serbian slovak:Slovak slovenian:Slovenian spanish:Spanish \
    swahili:Swahili swedish:Swedish tagalog:Tagalog tamil:Tamil telugu:Telugu thai:Thai turkish:Turkish \
    ukrainian:Ukrainian urdu:Urdu vietnamese:Vietnamese welsh:Welsh deutsch:German englisch:English \
    französisch:French spanisch:Spanish italienisch:Italian portugiesisch:Portuguese polnisch:Polish \
    russisch:Russian türkisch:Turkish chinesisch:Chinese japanisch:Japanese niederländisch:Dutch \
    ukrainisch:Ukrainian français:French anglais:English allemand:German espagnol:Spanish italien:Italian \
    portugais:Portuguese arabe:Arabic chinois:Chinese japonais:Japanese russe:Russian español:Spanish \
    inglés:English alemán:German francés:French italiano:Italian portugués:Portuguese castellano:Spanish \
    catalán:Catalan";

/// The English name of a language.
pub fn language(word: &str) -> Option<&'static str> {
    static NAMES: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| LANGUAGES.split_ascii_whitespace().filter_map(|w| w.split_once(':')).collect());
    NAMES.get(word).copied()
}

/// The last word of what somebody is by profession.
pub static ROLES: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "accountant actor actress administrator analyst architect artist astronomer attorney baker barista \
        biologist carpenter ceo cfo chef chemist coach composer consultant contractor coo copywriter cto dba \
        dentist designer dev developer devops devrel dietitian director doctor ecologist economist editor \
        electrician engineer entrepreneur epidemiologist farmer filmmaker founder co-founder cofounder freelancer \
        geologist historian illustrator instructor intern interpreter journalist judge lawyer lecturer librarian \
        linguist machinist manager marketer mathematician mechanic musician neuroscientist novelist nurse paralegal \
        paramedic pastor pharmacist philosopher photographer physician physicist physiotherapist pilot plumber pm \
        postdoc producer professor programmer psychiatrist psychologist radiologist realtor recruiter reporter \
        researcher scientist solicitor sre statistician strategist student surgeon sysadmin teacher technician \
        therapist trader translator tutor undergrad veterinarian vet writer",
    )
});

pub const GERMAN_ROLES: &str = "analyst analystin architekt architektin arzt ärztin berater beraterin datenanalyst \
    designer designerin doktorand doktorandin entwickler entwicklerin forscher forscherin freiberufler \
    freiberuflerin gründer gründerin informatiker informatikerin ingenieur ingenieurin jurist juristin journalist \
    journalistin lehrer lehrerin pflegerin physiker physikerin professor professorin programmierer programmiererin \
    rentner rentnerin student studentin softwareentwickler softwareentwicklerin übersetzer übersetzerin \
    wissenschaftler wissenschaftlerin anwalt anwältin";

pub static FRENCH_ROLES: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "analyste architecte avocat avocate chercheur chercheuse comptable consultant consultante designer \
        développeur développeuse directeur directrice écrivain enseignant enseignante étudiant étudiante ingénieur \
        ingénieure journaliste médecin physicien physicienne professeur professeure programmeur programmeuse \
        traducteur traductrice",
    )
});

pub static SPANISH_ROLES: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "abogada abogado analista arquitecta arquitecto científica científico consultor consultora desarrollador \
        desarrolladora diseñador diseñadora enfermera enfermero escritor escritora estudiante física físico \
        ingeniera ingeniero investigador investigadora médica médico periodista profesor profesora programador \
        programadora traductor traductora",
    )
});

pub static ZONES: LazyLock<Words> = LazyLock::new(|| {
    Words::of(
        "utc gmt cet cest eet eest wet west bst ist jst kst hkt sgt aest aedt acst awst nzst nzdt msk pst pdt mst \
        mdt cst cdt est edt akst hst brt art clt cot pet sast eat wat pht wib pt et",
    )
});
