//! Reads one message of a person: the request in their own words, without the text they pasted.

use std::borrow::Cow;

use super::answer::is_greeting;
use super::forms::{Choice, cards};
use super::goal::vocabulary;
use super::list::JOIN;
use super::marks::{Mark, reword, statements};
use super::numbered::{Item, Pair, items};
use super::reported::failure_in;
use super::story::narrates;
use crate::distill::Said;
use crate::distill::over::says_over;
use crate::memory::remember::remembered;
use crate::scope::TurnId;
use crate::statement::{Label, Speaker, Statement};
use crate::text::patterns::{phrases, words};
use crate::text::plain::{cut, lower, plain};
use crate::text::similarity::Bag;
use crate::text::words::{Marks, split};

/// Maximum length of the words of a request, in bytes.
const LONGEST: usize = 300;

/// Length in bytes up to which a message is a request as a whole: two or three sentences.
const SHORT: usize = 200;

/// Phrases of a complaint in scripts without blanks.
const STILL_WRONG: [&str; 11] = [
    "还是不",
    "還是不",
    "仍然",
    "依然",
    "不行",
    "没用",
    "不是这个原因",
    "まだ",
    "直っていない",
    "直らない",
    "変わらない",
];

/// The purpose of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Work to do.
    Request,
    /// Only an answer is wanted.
    Question,
    /// Only pasted text: an error, a log.
    Report,
    /// Agreement, thanks, "continue".
    GoOn,
    /// The person says that the result is wrong, or not wanted.
    Reject,
    /// Rules, decisions, promises: something to remember, with nothing to do now.
    Note,
    /// No words of the person, only a command of the program.
    Empty,
}

/// A message of a person.
#[derive(Debug)]
pub struct Prompt {
    pub turn: TurnId,
    /// Position of the message in the range.
    pub at: usize,
    pub purpose: Purpose,
    /// The person's own statements.
    pub own: Vec<Statement>,
    /// The request or question in the person's words.
    pub ask: String,
    /// Only the sentence that asks, with the sentences that lead up to it.
    pub core: String,
    /// Index of the first statement of `own` that is in `ask`, and the number of such statements.
    pub asked: (usize, usize),
    /// The most telling line of the pasted text, if it reports a failure.
    pub report: Option<String>,
    /// Whether the message cannot be understood without what was said before.
    pub refers_back: bool,
    /// The numbered items of the message.
    pub items: Vec<Item>,
    /// The numbered questions of the previous answer that this message answers.
    pub answers: Vec<Pair>,
    /// The offers of the previous answer that this message accepts, with their turn.
    pub accepted: Vec<(String, TurnId)>,
    /// The turns whose words the request contains, oldest first.
    pub turns: Vec<TurnId>,
    /// The questions of a form that the message gives with their answers.
    pub chosen: Vec<Choice>,
}

impl Prompt {
    /// Returns the numbered answer to a question that a statement of the message is part of.
    pub fn answer_at(&self, statement: usize) -> Option<&Pair> {
        self.answers.iter().find(|pair| pair.answer.contains(&statement))
    }

    pub fn bag(&self) -> Bag {
        Bag::of(&self.ask)
    }

    /// Adds the words of the offers that this message accepts.
    pub fn accepts(&mut self, offers: &[&Statement], turn: TurnId) {
        let mut offers: Vec<Statement> = offers.iter().map(|s| (*s).clone()).collect();
        let tasks = offers.iter().any(|offer| names_task(&offer.text));
        for offer in &mut offers {
            if let Some(task) = task_of(&offer.text) {
                offer.text = task;
            } else if tasks {
                offer.text.truncate(offer.text.trim_end_matches(['?', ' ']).len());
            }
        }
        let accepted = joined(offers.iter());
        // An offer like "Shall I?" names nothing.
        if weight(&accepted) < 4 {
            return;
        }
        self.ask = match self.purpose {
            Purpose::GoOn => cut(&accepted, LONGEST),
            _ => cut(&format!("{}{JOIN}{accepted}", self.ask.trim_end_matches(['.', ':', '!'])), LONGEST),
        };
        self.core.clone_from(&self.ask);
        self.turns.insert(0, turn);
        (self.purpose, self.refers_back) = (Purpose::Request, false);
        // "Copy it into the repo? Something like `notes.md`?" is one offer, not two.
        self.accepted.clear();
        for s in &offers {
            match self.accepted.last_mut() {
                Some((text, _)) if s.asks && weight_of(s) <= 3 => *text = format!("{text} … {}", s.text),
                _ => self.accepted.push((s.text.clone(), turn)),
            }
        }
    }

    /// Adds the title of the plan or report that this message refers back to.
    pub fn names(&mut self, title: &str, turn: TurnId) {
        self.turns.insert(0, turn);
        self.core = cut(&format!("{}{JOIN}{title}", self.core.trim_end_matches(['.', ':', '!'])), LONGEST);
        self.ask.clone_from(&self.core);
    }

    /// Whether the message says enough to be a goal.
    pub fn is_substantive(&self) -> bool {
        matches!(self.purpose, Purpose::Request | Purpose::Question) && weight(&self.ask) >= 3
    }

    /// Whether a sentence of the message is a request.
    pub fn commands(&self) -> bool {
        self.own.iter().any(|s| s.label == Label::Request)
    }

    /// Whether a sentence of the message is a request beyond doubt, and not put off.
    pub fn surely_commands(&self) -> bool {
        self.own.iter().any(|s| s.label == Label::Request && s.sure)
    }

    /// Whether the message names something that is still to be done, beside or instead of a request.
    pub fn promises(&self) -> bool {
        let open = |s: &Statement| matches!(s.label, Label::Commitment | Label::Remaining | Label::Blocked);
        self.own.iter().any(open)
    }

    /// Whether the message keeps something for later: "I promised Ana the table. Put that on the list."
    pub fn is_listed(&self) -> bool {
        self.own.iter().any(|s| Mark::Listed.is_in(s) && (self.promises() || lists_itself(s)))
    }

    /// Whether the message says that the earlier attempt did not help.
    pub fn complains(&self) -> bool {
        let east = |s: &Statement| !s.text.is_ascii() && STILL_WRONG.iter().any(|part| s.text.contains(part));
        self.own.iter().take(3).any(|s| Mark::StillWrong.is_in(s) || east(s))
    }

    /// Whether the message reports that something is wrong, or asks to mend it: "The button isn't under the text."
    pub fn reports_fault(&self) -> bool {
        let mends = |s: &Statement| {
            phrases!("fix|fixes|fixing|repair|mend|resolve|solve / behebe|behebt|beheben|repariere|korrigiere / répare|réparer|corrige|corriger / arregla|arreglar|soluciona / correggi|sistema / conserta / исправь|почини / oprav")
                .stand_in(&s.text)
        };
        let denies = |s: &Statement| {
            phrases!("isn't|isnt|aren't|doesn't|doesnt|don't|didn't|can't|cant|cannot|couldn't|won't|not|nothing / nicht|kein|keine|nichts / pas / no / non / não / не / nejde|není")
                .stand_in(&s.text)
        };
        // "If there is no text, hide the line" and "not sure whether this is the place" report nothing.
        let supposes = |s: &Statement| {
            phrases!("if|when|unless|wenn|falls|sobald|si|quand|cuando|se|quando|если|когда|když").begin(&split(&lower(&s.text), Marks::Dropped)).next().is_some()
                || phrases!("not sure|certain / nicht sicher / pas sûr|sûre / no estoy seguro|segura / non sono sicuro|sicura / не уверен|уверена").stand_in(&s.text)
        };
        // "Let's change the plan to error detection" orders work, and "that makes more sense" praises.
        let orders = |s: &Statement| {
            phrases!("let's|lets / let us / lass|lasst|lassen uns / vamos a / andiamo / давай|давайте / pojďme")
                .stand_in(&s.text)
        };
        let is_fault = |s: &Statement| Mark::Fault.is_in(s) && !Mark::NoFault.is_in(s) && !Mark::Praise.is_in(s);
        let is_wrong = |s: &Statement| is_fault(s) || Mark::StillWrong.is_in(s) || denies(s);
        let wrong = |s: &Statement| !s.asks && !supposes(s) && !orders(s) && is_wrong(s);
        self.own.iter().any(mends) || !self.surely_commands() && self.own.iter().take(2).any(wrong)
    }

    /// Whether the message says more about the matter of an earlier prompt: they share three words.
    pub fn goes_on(&self, earlier: &Prompt) -> bool {
        let (own, other) = (vocabulary(&self.words()), vocabulary(&earlier.ask));
        own.iter().filter(|w| other.binary_search(w).is_ok()).take(3).count() > 2
    }

    /// Whether the message asks for something to be done before the previous request: "before that, change the layout".
    pub fn comes_first(&self) -> bool {
        let Some(first) = self.own.iter().find(|s| s.label != Label::Assent) else { return false };
        let words = split(&lower(&first.text), Marks::Dropped);
        phrases!("but? before that|this|it|we|you / but? before doing that|this|it / vorher|davor noch? / avant ça|cela / antes de eso|esto / prima di questo")
            .begin(&words)
            .next()
            .is_some()
    }

    /// Returns all words of the person in this message.
    pub fn words(&self) -> String {
        self.own.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the person's statements except the one that makes the request: the first that asks, or the first of the
    /// request if only remarks lead up to it.
    pub fn beside(&self) -> impl Iterator<Item = &Statement> {
        let (from, count) = self.asked;
        let leads = |s: &&Statement| matches!(s.label, Label::Remark | Label::Finding | Label::Identity);
        let led = self.own.iter().skip(from).take_while(leads).count();
        let ask = if led < count { from + led } else { from };
        self.own.iter().enumerate().filter(move |(i, _)| *i != ask).map(|(_, s)| s)
    }

    /// Returns the number chosen, if the message is a choice from a list: "2", "option 2".
    pub fn choice(&self) -> Option<u32> {
        let [one] = &self.own[..] else { return None };
        let words = split_words(&one.text);
        if words.len() > 4 {
            return None;
        }
        words.iter().find_map(|w| w.parse().ok().or_else(|| ordinal(w)))
    }
}

/// Whether a sentence names a task and keeps it for later: "Order the rootstocks by Monday, put that on the list."
pub fn lists_itself(s: &Statement) -> bool {
    s.label == Label::Request && Mark::Listed.is_in(s) && weight_of(s) >= 4
}

/// Returns the task that an offer is about: for "Want me to copy it into the repo?", "Copy it into the repo". `None` if
/// the text is no plain offer, or offers a choice.
pub fn task_of(offer: &str) -> Option<String> {
    const LEADS: [&str; 18] = [
        "let me know if you want me to ",
        "let me know if you'd like me to ",
        "let me know if i should ",
        "if you'd like, i can ",
        "do you want me to ",
        "would you like me to ",
        "want me to ",
        "shall i ",
        "should i ",
        "shall we ",
        "should we ",
        "if you want, i can ",
        "if you like, i can ",
        "i can also ",
        "soll ich ",
        "sollen wir ",
        "möchtest du, dass ich ",
        "vuoi che ",
    ];
    let low = lower(offer);
    let lead = LEADS.iter().find(|lead| low.starts_with(**lead))?;
    // Lower-casing can change a text's length in bytes; these leads are ASCII and keep theirs.
    let task = offer.get(lead.len()..)?.trim_end_matches(['?', '.', '!', ' ']);
    if task.split(' ').count() < 2 || task.contains(['?', ',']) && low.contains(" or ") {
        return None;
    }
    let mut letters = task.chars();
    let first = letters.next()?;
    Some(first.to_uppercase().chain(letters).collect())
}

/// Whether a question of the model names a task: "Fix the `find` inconsistency?"
fn names_task(offer: &str) -> bool {
    let task = offer.trim_end().trim_end_matches('?');
    let read = statements(task, Speaker::Person, false);
    task.len() < offer.trim_end().len() && matches!(&read[..], [only] if only.label == Label::Request && only.sure)
}

/// Whether a text contains a name rather than only words of a language: `billing-7`, `src/a.rs`, `next_token`.
pub fn names(text: &str) -> bool {
    let is_name = |w: &str| {
        let w = w.trim_matches(|c: char| !c.is_alphanumeric());
        w.len() > 3 && w.contains(['-', '_', '/', '.', '#', ':'])
            || w.len() > 1 && w.bytes().any(|b| b.is_ascii_digit())
    };
    text.split_whitespace().any(is_name)
}

/// Returns the number of meaningful words; for scripts without spaces, a third of the characters.
pub fn weight(text: &str) -> usize {
    let narrow: String = text.chars().map(|c| if is_wide(c) { ' ' } else { c }).collect();
    Bag::of(&narrow).len() + text.chars().filter(|c| is_wide(*c)).count() / 3
}

/// Whether a character belongs to a script that is written without spaces.
pub fn is_wide(c: char) -> bool {
    matches!(c as u32, 0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF)
}

/// Returns the [`weight`] of a statement.
pub fn weight_of(s: &Statement) -> usize {
    if s.text.is_ascii() || !s.text.chars().any(is_wide) { s.bag().len() } else { weight(&s.text) }
}

/// Reads a message at a position of the range. `before`: the model's message before it; sentences copied from there are
/// the model's.
pub fn read(said: &Said, at: usize, before: Option<&str>) -> Prompt {
    let text = without_program_lines(&said.text);
    let told = without_attachments(&text);
    let mut all = statements(told, Speaker::Person, false);
    // Such lines answer a form if the model's message before ends with a question or a colon; otherwise the person pasted
    // a page.
    let asked_for = before.is_some_and(|b| b.trim_end().ends_with(['?', ':', '？', '：']));
    let cards = if asked_for { cards(told) } else { Vec::new() };
    all.retain(|s| !cards.iter().any(|(_, _, bytes)| bytes.contains(&s.range.start)));
    let surely_pasted = all.iter().any(|s| s.label == Label::Pasted && s.sure);
    let pasted = surely_pasted || without_machine_text(&mut all);
    // The classifier often takes a person's own list for pasted text, so a guess alone removes no sentence.
    let is_code = |s: &Statement| s.text.ends_with([',', ';', '{', '}', '(']) && is_machine(&s.text);
    all.retain(|s| !(is_data(&s.text) || s.label == Label::Pasted && (s.sure || is_code(s))));
    all.iter_mut().filter(|s| s.label == Label::Pasted).for_each(|s| s.label = Label::Remark);
    all.retain_mut(without_command);
    if !all.iter().all(is_persona) {
        all.retain(|s| !is_persona(s));
    }
    // "Bom dia, claude." opens the message and says nothing.
    let greets = |s: &Statement| s.words() <= 3 && !s.asks && is_greeting(&s.text);
    if !all.iter().all(greets) {
        all.retain(|s| !greets(s));
    }
    without_quotes(&mut all, before.unwrap_or_default());
    // Sentences that ask to remember something become proposals when the prompt is stored. Here they are facts, not
    // requests.
    let kept = remembered(&said.text);
    for s in all.iter_mut().filter(|_| !kept.is_empty()) {
        let low = lower(&s.text);
        if kept.iter().map(|r| lower(&r.text)).any(|r| low.contains(r.trim_end_matches('.')) || r.contains(&low)) {
            (s.label, s.sure) = (Label::Identity, true);
        }
    }
    let own = all;
    // "Create the check. The error must be below 0.5%": what a specification says of errors reports none.
    let specifies = !surely_pasted && own.first().is_some_and(|s| s.sure && s.label == Label::Request);
    let report = (pasted && !specifies || own.is_empty()).then(|| failure_in(&said.text)).flatten();
    let purpose = match purpose(&own, report.is_some()) {
        // A message with nothing but choices asks for nothing new.
        Purpose::Empty if !cards.is_empty() => Purpose::GoOn,
        purpose => purpose,
    };
    let asked = asked(&own);
    let ask = words(&own, asked);
    let core = Some(core(&own, asked.0)).filter(|core| weight(core) >= 3).unwrap_or_else(|| cut(&ask, SHORT));
    let counts = weight(&ask);
    let refers_back = counts <= 2 && !names(&ask)
        || counts <= 5 && own.get(asked.0).is_some_and(|s| !s.standalone)
        || own.iter().all(|s| !s.standalone);
    Prompt {
        turn: said.id,
        at,
        purpose,
        ask,
        core,
        asked,
        report,
        refers_back,
        items: items(told, &own),
        answers: Vec::new(),
        own,
        accepted: Vec::new(),
        turns: vec![said.id],
        chosen: cards
            .into_iter()
            .map(|(question, answer, _)| Choice { question, answer, turns: vec![said.id] })
            .collect(),
    }
}

/// Fewest lines of commands in a message that are pasted, and no words of the person.
const COMMANDS: usize = 3;

/// Whether a text begins with a command for a shell. Words that begin sentences as well, such as "make" and "go", are no sign.
pub fn is_shell_line(line: &str) -> bool {
    const PROGRAMS: &str = "git cd mkdir cp mv rm chmod chown curl wget npm npx pnpm yarn pip pip3 docker kubectl sudo apt apt-get brew \
         cargo cmake ssh scp export ln tar unzip systemctl python3";
    let mut all = line.split_whitespace();
    let first = all.next().unwrap_or_default().trim_start_matches('$');
    words!(PROGRAMS).has(first) && all.next().is_some() && !line.trim_end().ends_with(['.', '?', '!', ':'])
}

/// Removes the lines of a program: a question that lists its keys ("Add file? (Y)es/(N)o"), the placeholder for a
/// message without words (`<blank>`), calls, and several commands for a shell.
fn without_program_lines(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    let shell: Vec<usize> = (0..lines.len()).filter(|i| is_shell_line(lines[*i])).collect();
    let pasted = match shell[..] {
        [first, .., last] if shell.len() >= COMMANDS && last - first < 2 * shell.len() => first..last + 1,
        _ => 0..0,
    };
    // Some programs write the calls for an attached file into the message.
    let is_call = |line: &str| line.starts_with("Called the ") && line.contains(" tool with the following input:");
    let is_program = |line: &str| line.contains("(Y)es/(N)o") || line.trim() == "<blank>" || is_call(line);
    let is_left_out = |i: usize| pasted.contains(&i) || is_program(lines[i]);
    let left = || (0..lines.len()).filter(|i| !is_left_out(*i)).map(|i| lines[i]);
    // If a message has nothing but commands, they are its request.
    let only_commands = !pasted.is_empty() && left().all(|line| line.trim().is_empty());
    match !only_commands && (0..lines.len()).any(is_left_out) {
        true => Cow::Owned(left().collect::<Vec<_>>().join("\n")),
        false => Cow::Borrowed(text),
    }
}

/// Removes from the head of a message the file names and sizes that an editor puts there, each on a line:
/// `shop.py#10-12`, `image.png`, `1240×1052`, or several on one: `@README.md @docs/plan.md`. A message that has nothing
/// else is returned whole.
fn without_attachments(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n')
        && is_attachment(line.trim())
    {
        rest = after;
    }
    if rest.trim().is_empty() || is_attachment(rest.trim()) { text } else { rest }
}

fn is_attachment(line: &str) -> bool {
    let size = || line.split_once('×').is_some_and(|(w, h)| w.parse::<u32>().is_ok() && h.parse::<u32>().is_ok());
    let is_file = |text: &str| names_a_file(text.rsplit_once('#').map_or(text, |(path, _)| path));
    is_file(line) || size() || line.starts_with('@') && line.split_whitespace().all(is_file)
}

/// Whether a text is the name of a file and nothing else: one word with a short extension that has a letter.
pub fn names_a_file(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    !text.contains(char::is_whitespace)
        && !text.contains("://")
        && (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Removes from a message that is mostly a log, a file or a terminal everything between its first and last machine
/// line, and keeps what the person wrote before and after. Returns whether anything was removed.
///
/// The sentence that opens the message and asks for something is the person's, also if it names a file.
fn without_machine_text(all: &mut Vec<Statement>) -> bool {
    // Items below a request that opens the message are what it asks for, also where the classifier guesses otherwise.
    let guessed = all.first().is_some_and(|s| s.sure && s.label == Label::Request);
    let pasted = |s: &Statement| s.label == Label::Pasted && (s.sure || !(guessed && s.bullet));
    let machine = |s: &Statement| pasted(s) || is_machine(&s.text);
    let count = all.iter().filter(|s| machine(s)).count();
    let opening = all.iter().take_while(|s| s.sure && s.label == Label::Request).count();
    let first = all.iter().skip(opening).position(machine).map(|at| opening + at);
    let ends = first.zip(all.iter().rposition(machine));
    let Some((first, last)) = ends.filter(|_| count >= 4 && 2 * count >= all.len()) else { return false };
    all.drain(first..=last);
    true
}

/// Removes sentences copied from a message of the model, if the person says something beside them.
fn without_quotes(all: &mut Vec<Statement>, message: &str) {
    // Few words in common are no copy.
    const COPIED: usize = 4;
    let may_be = |s: &Statement| s.words() >= COPIED || s.bullet && s.words() > 1;
    if all.len() < 2 || message.is_empty() || !all.iter().any(may_be) {
        return;
    }
    // Copied from a rendered page, code has lost its marks.
    let unmarked = |text: &str| text.replace('`', "");
    let message = unmarked(&plain(message));
    let is_quote = |s: &Statement| may_be(s) && message.contains(unmarked(&s.text).trim_end_matches(['.', ':', ',']));
    if !all.iter().all(is_quote) {
        all.retain(|s| !is_quote(s));
    }
}

/// Whether a line is a command or a setting rather than a sentence: it has signs or digits, and no function words that
/// only join others.
pub fn is_machine(text: &str) -> bool {
    let signs = |c: char| c.is_ascii_digit() || matches!(c, '/' | '\\' | '$' | '=' | '{' | '}' | '<' | '>' | '_' | '|');
    text.contains(signs) && !text.chars().any(is_wide) && {
        let words = text.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).count();
        Bag::of(text).len() >= words
    }
}

/// Removes the command of a program from the front of a statement: `/ask how …`. Returns false if no sentence is left.
fn without_command(s: &mut Statement) -> bool {
    let Some(rest) = s.text.strip_prefix('/') else { return true };
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_command = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'));
    if !is_command {
        return true;
    }
    let is_prose = rest.split_whitespace().filter(|w| !w.contains(['/', '\\']) && !names_a_file(w)).count() > 2;
    let rest = rest.trim().to_owned();
    reword(s, &rest);
    is_prose
}

/// Whether a sentence only tells the model whom to play: "Act as a backend architect", "Role: backend engineer".
fn is_persona(s: &Statement) -> bool {
    s.words() <= 10
        && phrases!("act as|like a|an|the|my / you are a|an|the|my / your? role is? / rolle / agiere als / du bist ein|eine / agis comme|en / tu es un|une / actúa como / eres un|una / agisci come / aja como / você é um|uma")
            .begin(&split(&lower(&s.text), Marks::Dropped))
            .next()
            .is_some()
}

/// Whether a line is measurements rather than words: more than a quarter of it are digits.
fn is_data(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.len() > 60 && 4 * digits > text.len()
}

/// Maximum number of words of a sentence that is guessed to be a request and is a report: "the key from Acme arrived".
const SHORT_REPORT: usize = 14;

fn purpose(own: &[Statement], reports: bool) -> Purpose {
    // "I sent Marta the table" asks for nothing.
    let is_over = |s: &Statement| {
        let may = s.label != Label::Request || !s.sure && s.words() <= SHORT_REPORT;
        !s.asks && may && says_over(&s.text)
    };
    let has = |label: Label| own.iter().any(|s| s.label == label && !is_over(s));
    if own.is_empty() {
        return if reports { Purpose::Report } else { Purpose::Empty };
    }
    if has(Label::Request) {
        return Purpose::Request;
    }
    if has(Label::Question) || own.iter().any(|s| s.asks) {
        return Purpose::Question;
    }
    if has(Label::Reject) {
        return Purpose::Reject;
    }
    if reports {
        return Purpose::Report;
    }
    let kept = |s: &Statement| {
        matches!(
            s.label,
            Label::Directive | Label::Decision | Label::Commitment | Label::Identity | Label::Remaining | Label::Assent
        ) && (s.sure || s.label != Label::Remaining)
            || is_over(s)
    };
    if own.iter().all(kept) && !own.iter().all(|s| s.label == Label::Assent) {
        return Purpose::Note;
    }
    let weight: usize = own.iter().filter(|s| s.label != Label::Assent).map(weight_of).sum();
    match weight {
        // "No, there are none": what was tried did not help.
        0..=2 if own[0].words() > 1 && denies(&own[0].text) && !declines(&own[0].text) => Purpose::Reject,
        0..=2 => Purpose::GoOn,
        _ => Purpose::Request,
    }
}

/// Whether a text only declines what was offered, or is content: "No thanks", "no need", "nothing else".
fn declines(text: &str) -> bool {
    let content = phrases!(
        "thanks|thank|thx|need|problem|worries|matter|else|fine|ok|okay|good|all|more|now|yet|later / danke|nötig|problem|mehr|jetzt|später|passt / merci|besoin|problème|plus / gracias|necesario|problema|ahora / hace falta / grazie|serve|problema / obrigado|obrigada|precisa|problema / спасибо|надо|нужно|проблема / díky|dziękuję|trzeba"
    );
    let east = ["谢谢", "謝謝", "不用", "没关系", "沒關係", "大丈夫", "結構です", "ありがとう"];
    content.stand_in(text) || east.iter().any(|part| text.contains(part))
}

/// Whether a text begins with a no.
fn denies(text: &str) -> bool {
    let east = ["不，", "不是", "没有", "沒有", "还没", "還沒", "いいえ", "いや", "아니"];
    phrases!("no|nope|nah|still / nein|nee|nö|immer noch|nicht / non / nem / нет|неа / nie / ne / não / hayır")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
        || east.iter().any(|part| text.starts_with(part))
}

/// Returns the range of statements that make the request: from the first that asks, with the one before if the request
/// needs it.
fn asked(own: &[Statement]) -> (usize, usize) {
    // A short message is taken whole: what is wrong, and what is wanted instead. Leading assents and addresses are
    // skipped, because an address alone asks for nothing.
    let is_address = |s: &Statement| s.text.contains("://") && !s.text.contains(' ');
    let lead = own.iter().take_while(|s| s.label == Label::Assent || is_address(s)).count();
    if lead < own.len() && own[lead..].iter().map(|s| s.text.len() + 1).sum::<usize>() <= SHORT {
        return (lead, own.len() - lead);
    }
    let is = |s: &Statement| matches!(s.label, Label::Request | Label::Question) || s.asks;
    // "I have to move the mails by Friday. See who sends them.": the commitment is the matter, the request only serves
    // it.
    let due = |i: usize| own[i].label == Label::Commitment && own[i + 1..].iter().any(|s| s.label == Label::Request);
    let asks = |i: usize| own[i].label == Label::Request && !gives_way(own, i);
    let first = (0..own.len())
        .find(|i| asks(*i) || due(*i))
        .or_else(|| own.iter().position(is))
        .or_else(|| own.iter().position(|s| s.label != Label::Assent))
        .unwrap_or(0);
    // "Why does dev.yml start and test.yml not? Give it your best": the question says what the request is about.
    let first = match own[..first].iter().position(|s| s.asks && names(&s.text)) {
        Some(question) if !names(&own[first].text) => question,
        _ => first,
    };
    // A remark may introduce the question: "For the current day, events are truncated. Is there a way around that?"
    let leads = |s: &Statement| {
        matches!(s.label, Label::Remark | Label::Finding | Label::Remaining | Label::Blocked)
            && weight_of(s) >= 3
            && !Mark::Praise.is_in(s)
            && s.text.len() + own[first].text.len() <= SHORT
    };
    let from = if first > 0
        && own[first - 1].label != Label::Assent
        && (!own[first].standalone || weight_of(&own[first]) <= 3 || first == lead + 1 && leads(&own[first - 1]))
    {
        first - 1
    } else {
        first
    };
    let (mut length, mut count) = (0, 0);
    for s in &own[from..] {
        length += s.text.len() + 1;
        if count > first - from && (length > LONGEST || s.label == Label::Directive) {
            break;
        }
        count += 1;
    }
    (from, count)
}

/// Whether a statement is only guessed to ask, and a later one surely does: "It's serving a few sites. I'm looking for a
/// fault in its settings.", "I installed it and it gave me an error: … So can you change the folder?"
fn gives_way(own: &[Statement], at: usize) -> bool {
    let states = |s: &Statement| !s.sure && (Mark::Praise.is_in(s) || is_statement(&s.text) || denies(&s.text));
    let tells = !own[at].sure && narrates(&own[at].text);
    let says_no = denies(&own[at].text);
    let asks = |s: &Statement| s.label == Label::Request && !states(s) || (tells || says_no) && s.asks;
    (states(&own[at]) || tells) && own[at + 1..].iter().any(asks)
}

/// Whether a sentence begins like one that says how something is.
fn is_statement(text: &str) -> bool {
    phrases!("it's / it is / this|that|there is|are|was / that's|there's / the idea|problem|issue|point|situation here? is|was / es|das|dies ist / c'est / il y a / es|esto|eso es / hay / è|questo è")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

fn words(own: &[Statement], (from, count): (usize, usize)) -> String {
    let chosen = || own.iter().skip(from).take(count);
    // Rules are listed among the constraints, so they are left out here; if there is nothing else, the rules are the
    // request.
    let rules_too = chosen().all(|s| s.label == Label::Directive);
    let text = joined(chosen().filter(|s| rules_too || s.label != Label::Directive));
    cut(&text, LONGEST)
}

/// Appends to a text that announces a list ("build these:") the items of that list.
fn with_items(text: String, own: &[Statement], at: usize) -> String {
    if !text.ends_with([':', '：']) {
        return text;
    }
    let items = listed(own, at).iter().take_while(|s| s.label != Label::Directive);
    let items: Vec<&str> = items.map(|s| s.text.trim_end_matches(['.', ';', ','])).take(8).collect();
    match own.get(at + 1) {
        Some(next) if items.is_empty() => cut(&format!("{text} {}", next.text), LONGEST),
        _ if items.is_empty() => text,
        _ => cut(&format!("{text} {}", items.join("; ")), LONGEST),
    }
}

/// Returns the list that the statement at a position announces with a colon: its bullets, or the lines of its paragraph
/// if they are no sentences.
pub fn listed(own: &[Statement], at: usize) -> &[Statement] {
    let Some(lead) = own.get(at).filter(|s| s.text.trim_end().ends_with([':', '：'])) else { return &[] };
    let rest = &own[at + 1..];
    let line = |s: &Statement| {
        s.begins_line && s.paragraph == lead.paragraph && !s.text.ends_with(['.', '!', '?', ':', '。', '？', '：'])
    };
    let bullets = rest.iter().take_while(|s| s.bullet).count();
    let count = if bullets > 0 { bullets } else { rest.iter().take_while(|s| line(s)).count() };
    &rest[..count]
}

/// Joins statements to one line, with an ellipsis where text between them was left out.
pub fn joined<'s>(statements: impl Iterator<Item = &'s Statement>) -> String {
    let (mut text, mut end): (String, Option<(usize, usize)>) = (String::new(), None);
    for s in statements {
        if let Some((end, paragraph)) = end {
            let adjoins = paragraph == s.paragraph && s.range.start.saturating_sub(end) <= 1;
            text.push_str(if adjoins { " " } else { " … " });
        }
        text.push_str(&s.text);
        end = Some((s.range.end, s.paragraph));
    }
    text
}

/// Returns the sentence that asks, with those before it if they are short.
fn core(own: &[Statement], from: usize) -> String {
    let is = |i: &usize| {
        let s = &own[*i];
        (matches!(s.label, Label::Request | Label::Question) || s.asks) && !gives_way(own, *i)
    };
    // If no sentence is known to ask, all of them count as the request.
    let last = own.len().saturating_sub(1).max(from);
    let at = (from..own.len()).find(is).unwrap_or(last);
    let praise = own[from..at].iter().take_while(|s| Mark::Praise.is_in(s)).count();
    let from = from + praise;
    let led = words(own, (from, at + 1 - from));
    let ask = words(own, (at, 1));
    let text = if led.len() <= SHORT {
        led
    } else if at > from && weight(&ask) <= 4 {
        // "Can you help me with this?" means nothing without the sentence that describes the problem: the one before it.
        let told = if weight_of(&own[at - 1]) >= 4 { &own[at - 1] } else { &own[from] };
        format!("{} … {ask}", cut(&told.text, SHORT - 40))
    } else {
        ask
    };
    with_items(text, own, at)
}

/// Whether a message of a person repeats one of the model, which some programs send back as the person's.
pub fn repeats(text: &str, message: &str) -> bool {
    let (text, message) = (text.trim(), message.trim());
    let head = &text[..text.floor_char_boundary(400)];
    text.len() > 200 && message.contains(head)
}

fn split_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

/// Returns the number of an ordinal that chooses from a list: "first", "zweite", "troisième".
fn ordinal(word: &str) -> Option<u32> {
    const WORDS: [(&[&str], u32); 4] = [
        (&["first", "erste", "ersten", "erstes", "premier", "première", "primero", "primera"], 1),
        (&["second", "zweite", "zweiten", "zweites", "deuxième", "segundo", "segunda"], 2),
        (&["third", "dritte", "dritten", "drittes", "troisième", "tercero", "tercera"], 3),
        (&["fourth", "vierte", "vierten", "viertes", "quatrième", "cuarto", "cuarta"], 4),
    ];
    WORDS.iter().find(|(words, _)| words.contains(&word)).map(|(_, number)| *number)
}
