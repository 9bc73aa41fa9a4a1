//! Finds the items that are open at the end of a range: the request being worked on, offers and questions that wait for
//! the person, announced steps, and remaining work that somebody stated.

use super::answer;
use super::exchange::{Exchange, in_hand};
use super::list::{JOIN, List};
use super::marks::{Mark, statements};
use super::prompt::{Prompt, Purpose, lists_itself, names_a_file, weight_of};
use super::restricted::without_joint;
use super::stated::taken_back;
use super::tables;
use crate::distill::over::says_over;
use crate::lineage::distillate::{Distillate, Item};
use crate::scope::TurnId;
use crate::statement::{Label, Speaker, Statement};
use crate::text::patterns::phrases;
use crate::text::plain::{cut, lower};
use crate::text::similarity::Bag;
use crate::text::words::{Marks, split};

/// Number of the newest answers in which remaining work is looked for.
const ANSWERS: usize = 4;

/// The same for lists of steps that are left to the person: they stay true until somebody takes them.
const LISTS: usize = 10;

/// Prefix of a question or an offer of the model that nobody has answered.
pub const WAITS: &str = "Waits for an answer: ";

/// Prefix of a failure that the last change was made for.
pub const UNCONFIRMED: &str = "Not confirmed since the last change: ";

/// Maximum length of a request that is quoted whole while it is worked on, in bytes: two lines of a handoff.
pub(super) const WHOLE: usize = 300;

/// Maximum bytes between two questions that are one: a blank, or a bracket of three bytes.
const GAP: usize = 4;

/// The open items of a session.
pub struct Open {
    pub in_progress: List,
    pub blocked: List,
    pub loops: List,
    pub next: List,
}

impl Open {
    /// Finds the open items of these exchanges; `settled`: what was completed, with its position. The goal is not listed
    /// again.
    pub fn of(exchanges: &[Exchange], before: &Distillate, settled: &Settled, goal: Option<&Item>) -> Open {
        let mut open = Open {
            in_progress: List::new(6),
            blocked: List::carrying(6, &before.blocked),
            loops: List::carrying(8, &before.open_loops),
            next: List::new(6),
        };
        for done in &settled.found {
            open.blocked.settle(&done.bag);
            open.loops.settle(&done.bag);
            // "api-7 (open, blocked by api-5): …" is about the ticket it begins with.
            open.loops.settle_named(&done.bag);
        }
        let last = exchanges.len().saturating_sub(1);
        for (i, exchange) in exchanges.iter().enumerate() {
            open.later(exchange, i == last, settled);
            if i + LISTS > last {
                let later = &exchanges[i + 1..];
                open.answer(exchange, later, settled);
            }
            open.person(exchange, exchanges[..i].last(), last - i, settled);
            let next = exchanges.get(i + 1).and_then(|e| e.prompt.as_ref());
            open.lacking(exchange, next, settled);
            if i < last && i + ANSWERS > last {
                open.unhelped(exchange, &exchanges[i + 1..], settled);
                open.untried(exchange, &exchanges[i + 1..], settled);
            }
            if let (Some(prompt), Some(next)) = (&exchange.prompt, next)
                && prompt.is_substantive()
                && next.comes_first()
                && !settled.after(next.at, &prompt.bag())
            {
                open.loops.tell(&prompt.core, &prompt.turns, 3);
            } else if let (Some(prompt), Some(next)) = (&exchange.prompt, next)
                && i + LISTS > last
                && exchange.answer.is_none()
                && !(exchange.is_quiet() && next.goes_on(prompt))
                && prompt.is_substantive()
                && goal.is_none_or(|goal| !goal.turns.contains(&prompt.turn))
                && next.purpose == Purpose::Request
                && !next.refers_back
                && !next.bag().is_like(&prompt.bag())
                && !settled.after(prompt.at, &prompt.bag())
                && !decided_after(&exchanges[i..], prompt.at, &prompt.bag())
            {
                open.loops.tell(&prompt.core, &prompt.turns, 2);
            }
        }
        if let Some((at, exchange)) = in_hand(exchanges) {
            open.running(exchange, &exchanges[..at], before.goal.is_some(), settled);
        }
        open
    }

    /// Adds promises and remaining work that the person stated, and drops items they took back. `age`: the number of
    /// exchanges that follow.
    fn person(&mut self, exchange: &Exchange, before: Option<&Exchange>, age: usize, settled: &Settled) {
        let Some(prompt) = &exchange.prompt else { return };
        let last = age == 0;
        for pair in prompt.answers.iter().filter(|pair| pair.puts_off) {
            self.loops.tell(&pair.text, &pair.turns, 4);
        }
        for (i, s) in prompt.own.iter().enumerate().filter(|(i, _)| prompt.answer_at(*i).is_none()) {
            if let Some(about) = taken_back(s) {
                self.loops.drop_about(&about, 2);
                self.next.drop_about(&about, 2);
            }
            let lasting = s.label == Label::Commitment
                || Mark::ToDo.is_in(s)
                // "Report anything that still needs testing" asks for a report.
                || is_left(s) && !(s.label == Label::Request && s.sure)
                || matches!(s.second, Some(Label::Commitment | Label::Remaining))
                || s.label == Label::Remaining
                || lists_itself(s)
                || !exchange.acted && names_next(s)
                // "Thanks, I'll take a look" was kept by then, unless it is the last word.
                || last && s.label == Label::Assent && Mark::Means.is_in(s);
            // "I'd take the direct one." is an opinion, no promise.
            let lasting = lasting && !Mark::Hypothetical.is_in(s) && !says_over(&s.text);
            // "Zugesagt, 18 Uhr." ("Promised, 6 pm.") does not say what was promised, so a reader cannot use it.
            let lasting = lasting && (s.words() > 3 || Mark::Promise.is_in(s) || s.label != Label::Commitment);
            // A person does not report that a hanging program runs again, so an old report of one is dropped. Waiting for
            // somebody lasts until it is reported over.
            let passed = age >= ANSWERS && exchange.answer.is_some() && !waits(&s.text);
            if s.label == Label::Blocked && s.standalone && !passed && !settled.after(prompt.at, s.bag()) {
                self.blocked.add(&s.text, prompt.turn, 3);
            }
            // "Do that tomorrow" answers a question of the model: that question is what was put off.
            let put_off = lasting && s.label == Label::Remaining && s.words() < 8 && i < 2;
            let asked = before.and_then(|e| e.answer.as_ref()).filter(|_| put_off);
            if let Some((question, answer)) = asked.and_then(|a| a.statements.last().filter(|q| q.asks).zip(Some(a))) {
                let text = format!("{}{JOIN}{}", cut(&question.text, 200), s.text);
                self.loops.tell(&text, &[answer.turn, prompt.turn], 4);
                continue;
            }
            // The statements that make the request are the matter itself, not promises, unless they name a person or a
            // day.
            let (from, count) = prompt.asked;
            let matter = prompt.surely_commands() || before.is_none() && prompt.purpose == Purpose::Request;
            // "Leave it empty, we'll fill it in later" asks for one thing and puts off another.
            let puts_off = !s.bullet && (s.label == Label::Remaining || s.second == Some(Label::Remaining));
            let promised = s.due.is_some() || s.to.is_some() || puts_off;
            // "I will remove the folder. You clean up the references": each side has its part.
            let shared =
                prompt.own.get(i + 1).is_some_and(|next| s.label != Label::Request && is_your_part(&next.text));
            let lasting = lasting || shared && is_my_part(s);
            let asked = matter && !promised && !shared && count > 1 && (from..from + count).contains(&i);
            let over = match puts_off {
                true => settled.after(prompt.at, &Bag::of(last_clause(&s.text))),
                false => settled.after(prompt.at, s.bag()),
            };
            if lasting && !asked && !over {
                if puts_off && s.words() > 8 {
                    self.loops.add(&without_joint(&s.text), prompt.turn, 4);
                    continue;
                }
                let led = prompt.own[..i].last().filter(|led| led.label != Label::Assent && weight_of(led) >= 3);
                let answer = before.and_then(|e| e.answer.as_ref());
                let said = answer.and_then(|a| a.statements.last().map(|said| (a.turn, said)));
                match (led, said) {
                    (Some(led), _)
                        if !s.standalone || s.label == Label::Commitment && !promised && led.text.len() < 160 =>
                    {
                        self.loops.add(&format!("{} {}", led.text, s.text), prompt.turn, 4);
                    }
                    (None, Some((turn, said))) if !s.standalone && s.words() < 8 => {
                        let text = format!("{}{JOIN}{}", cut(&said.text, 200), s.text);
                        self.loops.tell(&text, &[turn, prompt.turn], 4);
                    }
                    _ => self.loops.add(&without_joint(&s.text), prompt.turn, 4),
                }
            }
        }
    }

    /// Adds a failure the person reported a second time, if nothing was changed since.
    fn unhelped(&mut self, exchange: &Exchange, later: &[Exchange], settled: &Settled) {
        let Some(prompt) = exchange.prompt.as_ref().filter(|p| p.complains() && p.is_substantive()) else { return };
        let idle = |e: &Exchange| !e.wrote && !e.acted;
        if idle(exchange)
            && later.iter().all(|e| idle(e) || e.answer.is_none())
            && !settled.after(prompt.at, &prompt.bag())
        {
            self.loops.tell(&prompt.core, &prompt.turns, 3);
        }
    }

    /// Adds a failure that the person was to try again after a change, if they went on to something else without a word
    /// about it.
    fn untried(&mut self, exchange: &Exchange, later: &[Exchange], settled: &Settled) {
        let Some(prompt) = exchange.prompt.as_ref().filter(|p| p.is_substantive()) else { return };
        let told = |p: &Prompt| {
            p.goes_on(prompt)
                || p.refers_back
                || p.own.iter().any(|s| s.label == Label::Assent || Mark::Praise.is_in(s))
        };
        let silent = later.iter().filter_map(|e| e.prompt.as_ref()).all(|p| !told(p));
        if exchange.asks_to_try()
            && silent
            && !settled.after(later.first().map_or(prompt.at, Exchange::at), &prompt.bag())
        {
            self.loops.tell(&format!("{UNCONFIRMED}{}", cut(&prompt.core, 150)), &prompt.turns, 2);
        }
    }

    /// Adds what an answer says is missing, if the person asked for exactly that and does not take it up in the next
    /// prompt.
    fn lacking(&mut self, exchange: &Exchange, next: Option<&Prompt>, settled: &Settled) {
        let (Some(prompt), Some(answer)) = (&exchange.prompt, &exchange.answer) else { return };
        let asked = prompt.own.iter().any(|s| s.asks && Mark::Lacking.is_in(s));
        if !asked || exchange.wrote || next.is_some_and(|next| next.refers_back && next.purpose == Purpose::Request) {
            return;
        }
        let missing = |s: &&Statement| {
            Mark::Lacking.is_in(s) && !s.asks && !s.text.ends_with(':') && !says_done(s) && weight_of(s) >= 4
        };
        for s in answer.statements.iter().filter(missing).filter(|s| !settled.after(answer.at, s.bag())).take(3) {
            self.loops.add(&s.text, answer.turn, 2);
        }
    }

    /// Adds explicit promises ("I'll … later") and TODO sentences of the model.
    fn later(&mut self, exchange: &Exchange, last: bool, settled: &Settled) {
        for message in exchange.messages() {
            // "I'll add the forecast for tomorrow" is done at once, if the work goes on after it.
            let goes_on = exchange.worked && exchange.answer.as_ref().is_none_or(|a| a.turn != message.turn);
            let promises = |s: &Statement| {
                Mark::Promise.is_in(s)
                    && Mark::Later.is_in(s)
                    && (!goes_on || Mark::Awaits.is_in(s))
                    // "Once you add the files, I'll …": the person has spoken since.
                    && (last || !awaits_person(&s.text))
            };
            for s in message
                .statements
                .iter()
                .filter(|s| (promises(s) || Mark::ToDo.is_in(s)) && !s.text.ends_with([':', '：']))
                .filter(|s| s.label != Label::Done && !says_done(s) && !only_notes(s) && !tells_a_habit(&s.text))
            {
                if !settled.after(message.at, s.bag()) {
                    self.loops.add(&s.text, message.turn, 3);
                }
            }
        }
    }

    /// Adds offers, questions, remaining work and blockers of an answer. `later`: the exchanges after it.
    fn answer(&mut self, exchange: &Exchange, later: &[Exchange], settled: &Settled) {
        let Some(answer) = &exchange.answer else { return };
        let (age, last) = (later.len(), later.is_empty());
        // `stands`: later answers could not go on either.
        let quiet = later.iter().all(|e| !e.edited);
        let stands = quiet && later.iter().all(is_stopped);
        let open = |s: &Statement| !settled.has(answer.at, &s.text, s.bag());
        for commands in answer.commands.iter().filter(|_| last) {
            self.next.add(commands, answer.turn, 3);
        }
        // A message of pasted text alone does not answer the question before it.
        let only_pasted = |e: &Exchange| {
            let pasted = |p: &Prompt| matches!(p.purpose, Purpose::Report | Purpose::Empty) && p.chosen.is_empty();
            e.answer.is_none() && e.prompt.as_ref().is_some_and(pasted)
        };
        let unanswered = later.iter().all(only_pasted);
        for step in with_code(&answer.statements).into_iter().filter(|_| last) {
            self.next.add(&step, answer.turn, 3);
        }
        // Each with the place of its end.
        let mut questions: Vec<(usize, String)> = Vec::new();
        for s in answer
            .statements
            .iter()
            // "If you want, I can also add the tests" is an offer like "Shall I add the tests?".
            .filter(|s| !Mark::Hypothetical.is_in(s) || s.label == Label::Offer && serves(&s.text))
            .filter(|s| s.ticked != Some(true) && !Mark::Courtesy.is_in(s))
            // A file name alone does not say what is to be done with the file.
            .filter(|s| !says_done(s) && !names_a_file(&s.text) && !only_notes(s) && !tells_a_habit(&s.text))
            .filter(|s| age < ANSWERS || is_left_to_person(s))
        {
            match s.label {
                // The person's next message answers the question or ignores it, so only the last one is kept.
                Label::Offer | Label::Question
                    if unanswered && (s.sure || s.asks) && !s.text.ends_with([':', '：']) =>
                {
                    // "What do you use it for? (Training? Benchmarks?)" is one question.
                    let goes_on = |(end, _): &&mut (usize, String)| !s.begins_line && s.range.start <= *end + GAP;
                    match questions.last_mut().filter(goes_on) {
                        Some((end, text)) => {
                            *end = s.range.end;
                            text.push_str(if s.text.is_ascii() { " " } else { "" });
                            text.push_str(&s.text);
                        }
                        None => questions.push((s.range.end, s.text.clone())),
                    }
                }
                // "Then restart the server and try again": after the last change, this is left to the person. So is what the
                // last words of an answer order: "Now write the function."
                Label::Finding | Label::Remark | Label::Remaining | Label::Commitment | Label::Decision
                    if last
                        && !s.bullet
                        && ((exchange.wrote || follows_up(&s.text)) && s.begins_line || s.last_paragraph)
                        && directs(s) =>
                {
                    self.next.add(&s.text, answer.turn, 3);
                }
                // "One thing was never verified: whether it holds under load."
                Label::Finding | Label::Remark | Label::Remaining
                    if last && !s.bullet && is_left(s) && weight_of(s) >= 4 && !s.text.ends_with(':') =>
                {
                    self.next.add(&s.text, answer.turn, 3);
                }
                // A later statement of the same list item says more about the work.
                Label::Remaining if s.bullet && !s.begins_line && !Mark::Left.is_in(s) => {}
                // A guess needs a word that says so: "Lists the key changes" describes the work, it asks for none.
                Label::Remaining if last && !s.sure && s.bullet && !names_work(s) => {}
                Label::Remaining if last && !s.text.ends_with(':') && s.standalone => {
                    self.next.add(&s.text, answer.turn, 3)
                }
                // Steps that an answer only advises are not open if the person has gone on without them.
                Label::Remaining
                    if !exchange.worked
                        && s.bullet
                        && s.ticked.is_none()
                        && !Mark::Left.is_in(s)
                        && !Mark::Lacking.is_in(s) => {}
                Label::Remaining | Label::Commitment
                    if (s.sure
                        || s.label == Label::Commitment
                        || (s.bullet || quiet && age < 3) && Mark::Left.is_in(s)
                        || Mark::Unproved.is_in(s) && !settled.has_stored(answer.at, s)
                        // A step outside the project is left to the person: "you need to enable it in the console".
                        || exchange.wrote && Mark::Yours.is_in(s))
                        && !s.text.ends_with(':')
                        && s.standalone
                        && open(s) =>
                {
                    self.loops.add(&s.text, answer.turn, 2);
                }
                // The person has read earlier blockers and spoken since; they are over once an answer goes on.
                // A file that was asked for is given or refused with the next message.
                _ if !last && is_plea(s) => {}
                _ if stands && is_blocker(s) && s.standalone && open(s) => self.blocked.add(&s.text, answer.turn, 2),
                _ => {}
            }
        }
        for (_, text) in questions {
            self.next.add(&format!("{WAITS}{}", cut(&text, WHOLE)), answer.turn, 3);
        }
    }
}

/// Whether a sentence says that somebody waits: "we are waiting for the key from Acme".
fn waits(text: &str) -> bool {
    let east = ["等待", "在等", "待ち", "待って", "기다"];
    phrases!(
        "wait|waits|waiting|awaiting|pending / until / blocked on|by / warte|warten|wartet / bis / attends|attend|attendons|attente / espero|esperamos|espera|esperando / aspetto|aspettiamo|attesa / espero|esperamos|aguardo|aguardando / жду|ждём|ждем|ожидаем|ожидаю / čekám|čekáme / czekam|czekamy"
    )
    .stand_in(text)
        || east.iter().any(|part| text.contains(part))
}

/// Returns the steps left to the person that end in a colon, each with the code below it: "Stop the hook by typing this:
/// `! taskkill /F /PID 104`".
fn with_code(statements: &[Statement]) -> Vec<String> {
    let step = |s: &&[Statement]| {
        let [lead, code] = s else { return false };
        let is_code = code.text.starts_with('`') && code.text.ends_with('`') && code.paragraph == lead.paragraph;
        lead.label == Label::Remaining && lead.bullet && lead.text.ends_with([':', '：']) && is_code
    };
    statements.windows(2).filter(step).map(|s| format!("{} {}", s[0].text, s[1].text)).collect()
}

/// Whether a statement of the model is an order to the person: "Then restart the server and try again."
fn directs(s: &Statement) -> bool {
    // "You need the rights of root" explains.
    let explains =
        phrases!("you|we|i|it|this|that|there|the / du|sie|wir|das / vous|tu|il|le|la / usted|tú|el / você|o|a");
    !s.asks
        && explains.begin(&split(&lower(&s.text), Marks::Dropped)).next().is_none()
        && !s.text.ends_with([':', '：'])
        && !Mark::Announcement.is_in(s)
        && weight_of(s) >= 2
        && is_order(&s.text)
}

/// Whether a text would be a request beyond doubt if a person said it.
pub(super) fn is_order(text: &str) -> bool {
    matches!(&statements(text, Speaker::Person, false)[..], [only] if only.label == Label::Request && only.sure)
}

/// Whether a sentence says what follows the step above it: "Then restart the app and try again."
fn follows_up(text: &str) -> bool {
    phrases!("then / after that / danach / anschließend / dann / ensuite / puis / luego / después / poi / dopo / depois / затем / потом / potom / pak")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a statement of the person says what comes next: "Next we must add the report". An answer without any work
/// leaves it open.
fn names_next(s: &Statement) -> bool {
    let next = phrases!(
        "next we|i must / next we|i need|have to / after that we|i must / after that we|i need|have to / als nächstes müssen|muss|sollten|brauchen wir|ich / ensuite il faut / ensuite nous|on devons|doit / luego|después tenemos|hay que / poi dobbiamo|bisogna / depois temos|precisamos / потом нужно|надо"
    );
    !s.asks && weight_of(s) >= 2 && next.begin(&split(&lower(&s.text), Marks::Dropped)).next().is_some()
}

/// Whether a statement of the person says what they do themselves: "I will remove the folder."
fn is_my_part(s: &Statement) -> bool {
    Mark::Promise.is_in(s) && !s.asks
}

/// Whether a sentence of the person says what the model is to do beside them: "You clean up the references."
fn is_your_part(text: &str) -> bool {
    phrases!("and|but? you / und|aber? du|sie / et|mais? tu|vous / y|pero? tú|tu|usted / e|ma? tu / e? você / а? ты|вы")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a statement asks the person for something: "Please add the file to the chat."
pub(super) fn is_plea(s: &Statement) -> bool {
    phrases!("please / bitte / veuillez / por favor / per favore / пожалуйста / prosím / lütfen").stand_in(&s.text)
}

/// Whether a statement of the model says that it cannot go on: "`.git` is mounted read-only, so I cannot commit".
pub(super) fn is_blocker(s: &Statement) -> bool {
    let access = || {
        phrases!(
            "access|permission|permissions / zugriff / accès / acceso|permisos / accesso / acesso / доступа / dostępu"
        )
        .stand_in(&s.text)
    };
    let stopped = s.label == Label::Finding && Mark::Unable.is_in(s) && (answer::names(&s.text) || access());
    // The heading "What's stuck:" makes it sure that an item blocks.
    let listed = s.bullet && s.begins_line && s.sure;
    !s.text.ends_with(':') && (!s.bullet && stopped || s.label == Label::Blocked && (!s.bullet || listed))
}

/// Whether an answer says that the model still cannot go on.
fn is_stopped(exchange: &Exchange) -> bool {
    let stopped = |s: &Statement| is_blocker(s) || Mark::Unable.is_in(s) || Mark::StillWrong.is_in(s);
    exchange.answer.as_ref().is_none_or(|a| a.statements.iter().any(stopped))
}

/// Whether a promise waits for something the person is to do.
fn awaits_person(text: &str) -> bool {
    phrases!("once|when|whenever|after|if you|you've|you're|you'd / as soon as you / sobald|wenn du|sie|ihr / une fois que tu|vous / quand tu|vous / dès que tu|vous / cuando|si me|quieras")
        .begin(&split(&lower(text), Marks::Dropped))
        .next()
        .is_some()
}

/// Whether a later decision is about a question: between people, a question is answered by what they agree on.
fn decided_after(exchanges: &[Exchange], at: usize, asked: &Bag) -> bool {
    let about = |bag: &Bag| {
        let shared = bag.shared(asked);
        shared >= 3 && 2 * shared >= bag.len().min(asked.len())
    };
    let decides = |s: &Statement| s.label == Label::Decision && about(s.bag());
    exchanges.iter().any(|e| {
        let told = e.prompt.as_ref().is_some_and(|p| p.at > at && p.own.iter().any(decides));
        told || e.messages().any(|m| m.at > at && m.statements.iter().any(decides))
    })
}

/// Whether a statement reports a list that was written: "Todo added and PR created". Nothing is left to do then.
fn says_done(s: &Statement) -> bool {
    let words = split(&lower(&s.text), Marks::Dropped);
    phrases!("todo|todos|to-do|task|reminder added|created|updated|removed|closed|done|completed|moved|written|saved")
        .begin(&words)
        .next()
        .is_some()
}

/// Whether a model's sentence only says that it heard a promise: "I'll keep the numbers for Ingrid in mind".
fn only_notes(s: &Statement) -> bool {
    let words = split(&lower(&s.text), Marks::Dropped);
    phrases!("in mind / im kopf|hinterkopf / en tête / en cuenta").stand_in(&s.text)
        || phrases!(
            "noted / i'll remember|note / i will remember|note / ich merke mir / je note|retiens / lo anoto|recordaré"
        )
        .begin(&words)
        .next()
        .is_some()
}

/// Whether a statement has words for work that is left.
fn names_work(s: &Statement) -> bool {
    [Mark::Left, Mark::Lacking, Mark::Later, Mark::ToDo].into_iter().any(|mark| mark.is_in(s))
        || phrases!("not|never / nicht / pas / no / non / não / не").stand_in(&s.text)
}

/// Whether a statement says that work remains: "We still have to migrate the table."
fn is_left(s: &Statement) -> bool {
    Mark::Left.is_in(s) && !s.text.trim_end().ends_with(['?', '？'])
}

/// Whether an item begins a point of a list that an answer leaves to the person: "Before you publish:", "Still to do:".
fn is_left_to_person(s: &Statement) -> bool {
    let leaves = phrases!(
        "before you / still to do|open / for you to / you need|have to / you still / left for|to you? / remaining|outstanding / to make it live / to finish / bevor du|ihr|sie / noch zu tun / noch offen / für dich zu / avant de / reste à faire / il vous|te reste / antes de / queda|quedan|falta|faltan por / prima di / resta|restano da / перед тем как / осталось / před tím než / zbývá"
    );
    s.label == Label::Remaining
        && s.sure
        && s.bullet
        && s.begins_line
        && s.heading.as_deref().is_some_and(|heading| leaves.stand_in(heading))
}

/// Returns the clause in which a sentence puts something off: of "leave it empty, we'll fill it in later", the second
/// one.
fn last_clause(text: &str) -> &str {
    let joints = [", ", "; ", " and ", " und ", " et ", " y ", " e ", "，", "；"];
    joints
        .iter()
        .filter_map(|joint| text.rsplit_once(joint))
        .map(|(_, clause)| clause)
        .min_by_key(|clause| clause.len())
        .unwrap_or(text)
}

/// Whether a sentence says what the model does each time, which is no promise: "whenever you ask, I'll load the skill".
fn tells_a_habit(text: &str) -> bool {
    let habit = phrases!(
        "whenever / each|every|any time / by default / from now on / jedes mal / immer wenn / ab jetzt|sofort / chaque fois / désormais / cada vez / siempre que / a partir de ahora / ogni volta / d'ora in poi / každé / каждый раз"
    );
    let east = ["时，我会", "时我会", "时，我就会", "每次", "とき、私は", "たびに"];
    habit.stand_in(text) || east.iter().any(|part| text.contains(part))
}

/// Whether an offer says that the model does it: "if you want, I can add the tests", "wenn du magst, baue ich es um".
/// "If you need another port, edit the file" leaves it to the person.
fn serves(offer: &str) -> bool {
    let itself = phrases!(
        "i|i'll|i'd / we can|could / that|it|this|they can|could also? be / just? say|tell|ask the|me / let me know / ich|wir / dann|gerne baue|mache|ergänze / je|j'ai / peux|pourrais|puis-je / dime|dímelo|avísame|avisame / puedo|podría|añado|agrego|hago / posso|potrei|faccio|aggiungo / posso|faço|adiciono / могу|добавлю|сделаю / mohu|můžu|přidám|udělám"
    );
    let east = ["我可以", "我再", "我能", "帮你", "幫你", "我来", "告诉我", "できます", "しましょう", "드릴"];
    itself.stand_in(offer) || east.iter().any(|part| offer.contains(part))
}

/// A piece of completed work, with its position.
pub struct Completed {
    pub at: usize,
    pub bag: Bag,
}

/// All completed work, in order.
#[derive(Default)]
pub struct Settled {
    pub found: Vec<Completed>,
    /// Rows of tables that say something is done, each with its position.
    pub rows: Vec<(usize, String)>,
    /// Turns that say that something was merged.
    pub merged: Vec<TurnId>,
    /// Position of the last commit.
    pub committed: usize,
    /// Position of the last push.
    pub pushed: usize,
}

impl Settled {
    pub fn add(&mut self, at: usize, bag: Bag) {
        self.found.push(Completed { at, bag });
    }

    /// Whether a statement at a position says that something is not committed, or not pushed, and it was later.
    pub fn has_stored(&self, at: usize, s: &Statement) -> bool {
        let commits = phrases!("commit|committed|commits|uncommitted|committet|committé|commiteado");
        let pushes = phrases!("push|pushed|pushes|unpushed|local|gepusht|poussé|subido");
        self.committed > at && commits.stand_in(&s.text) || self.pushed > at && pushes.stand_in(&s.text)
    }

    /// Whether an item of a plan was completed after it was said, also by a table's row with its name.
    pub fn has(&self, at: usize, item: &str, bag: &Bag) -> bool {
        self.after(at, bag) || self.rows.iter().any(|(of_row, row)| *of_row > at && tables::is_about(row, item))
    }

    /// Whether something was merged after the last of these turns.
    pub fn merged_after(&self, turns: &[TurnId]) -> bool {
        self.merged.iter().any(|merged| turns.iter().all(|t| merged > t))
    }

    /// Whether an item said at a position was completed later.
    pub fn after(&self, at: usize, open: &Bag) -> bool {
        let from = self.found.partition_point(|c| c.at <= at);
        self.found[from..].iter().any(|c| c.bag.settles(open))
    }
}
