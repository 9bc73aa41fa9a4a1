//! Recognises sentences that ask to remember something: "Remember: the staging database listens on port 6543" (R9.5).
//!
//! A sentence counts if it begins with words that ask to keep something ("keep in mind that", "merk dir:", "记住"), and
//! the rest of it is worth keeping: a statement, a standing rule, a way of doing something. Questions, requests for
//! this task ("remember to run the tests now"), the speaker's own duties, quotations and pasted text do not count.
//! "Remember that." keeps the sentence before it. The phrases are data: `text/language/remember.txt`.

use std::ops::Range;
use std::sync::LazyLock;

use super::Class;
use super::leaf::derived_title;
use crate::text::blocks::{Block, Reach, blocks};
use crate::text::language::{REMEMBER, section};
use crate::text::patterns::{Phrases, words};
use crate::text::plain::lower;
use crate::text::relayed::relayed;
use crate::text::scripts::is_unspaced;
use crate::text::sentences;
use crate::text::words::{Marks, Word, split};

/// A statement that a prompt asks to keep.
#[derive(Clone, PartialEq, Debug)]
pub struct Remembered {
    /// Class of the memory, if it belongs to the project the prompt was said in.
    pub class: Class,
    /// Class of the memory where there is no project.
    pub elsewhere: Class,
    pub title: String,
    /// The statement, without the words that ask to keep it.
    pub text: String,
    /// Confidence between 0 and 1.
    pub confidence: f64,
    /// The position of the whole sentence in the prompt, in bytes.
    pub range: Range<usize>,
}

/// Bytes of a prompt that are read: all of a short prompt, both ends of a longer one, as for every notice.
const REACH: Reach = Reach { whole: 4_000, ends: 1_000 };
/// Most statements taken from one prompt.
const MOST: usize = 8;
/// Largest length of a statement in bytes; anything longer is a document.
const LONGEST: usize = 600;
/// Largest length in bytes of a prompt in which "Note:" and "FYI" count; in a longer one they belong to the text they
/// describe.
const LONGEST_NOTE: usize = 1_200;

/// Strength of an opener: how clearly it says that something is to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opener {
    /// "Remember", "keep in mind".
    Asks,
    /// "Note", "FYI", "for the record".
    Tells,
}

/// Words or signs between an opener and the statement to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    /// "that …".
    That,
    /// ": …", "- …".
    Colon,
    /// ", …".
    Comma,
    /// "to …".
    To,
    Bare,
    /// Nothing follows: the opener refers to the sentence before.
    Nothing,
}

macro_rules! listed {
    ($name:literal) => {{
        static LIST: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(section(REMEMBER, $name)));
        &*LIST
    }};
}

/// Number of bytes at the beginning of a text within which the words that ask to keep it stand.
const ASKED_WITHIN: usize = 60;

static OPENERS: LazyLock<Phrases<Opener>> = LazyLock::new(|| {
    let asks = (Opener::Asks, section(REMEMBER, "asks"));
    Phrases::labelled([asks, (Opener::Tells, section(REMEMBER, "tells"))])
});

/// Whether a text begins by asking to keep what follows: "Remember that we prune in February". Much cheaper than
/// [`remembered`], for the many lines of given contexts that ask nothing.
pub fn begins_by_asking(text: &str) -> bool {
    let low = lower(&text[..text.floor_char_boundary(ASKED_WITHIN)]);
    OPENERS.begin(&split(&low, Marks::Kept)).next().is_some()
}

/// Returns the statements a prompt asks to keep, in the order of the text.
pub fn remembered(prompt: &str) -> Vec<Remembered> {
    let mut found: Vec<Remembered> = Vec::new();
    // The last sentence of the same paragraph, and whether the last line only announced a list of things to keep.
    let mut before: Option<(usize, Range<usize>)> = None;
    let mut listing = false;
    for block in blocks(prompt, REACH) {
        let doubtful = block.document || block.pasted || block.ticked.is_some();
        if listing && block.item && !block.document && !doubtful {
            let said = Said::new(prompt, block.range.clone());
            found.extend(said.keep(0, Link::Colon, Opener::Asks, None));
            continue;
        }
        listing = false;
        if doubtful || block.behind_paste {
            continue;
        }
        for range in whole_sentences(prompt, &block) {
            let said = Said::new(prompt, range.clone());
            let last = before.take().filter(|(paragraph, _)| *paragraph == block.paragraph).map(|(_, range)| range);
            match said.read(last) {
                Read::Kept(kept) => found.extend(*kept),
                Read::Announced => listing = true,
                Read::Other => {}
            }
            before = Some((block.paragraph, range));
        }
        if found.len() >= MOST {
            break;
        }
    }
    let mut seen: Vec<String> = Vec::new();
    found.retain(|kept| {
        let key = super::leaf::lowered(&kept.text);
        let new = !seen.contains(&key);
        seen.push(key);
        new
    });
    found.truncate(MOST);
    found
}

/// Returns the sentences of a block in the author's own words, without a sentence that was cut off.
fn whole_sentences(prompt: &str, block: &Block) -> Vec<Range<usize>> {
    let ranges = sentences::split(&prompt[block.range.clone()], usize::MAX);
    let whole = usize::from(block.cut.0)..ranges.len().saturating_sub(usize::from(block.cut.1));
    let own = ranges.get(whole).unwrap_or_default().iter();
    // The head of somebody else's words asks nothing itself.
    let theirs = relayed(&prompt[block.range.clone()]).unwrap_or(usize::MAX);
    let own = own.filter(|r| r.end <= theirs);
    own.filter(|r| r.len() <= LONGEST).map(|r| block.range.start + r.start..block.range.start + r.end).collect()
}

/// Result of reading a sentence.
enum Read {
    Kept(Box<Option<Remembered>>),
    /// "Remember:", which announces that the list below is to be kept.
    Announced,
    Other,
}

/// A sentence and its words.
struct Said<'p> {
    prompt: &'p str,
    range: Range<usize>,
    words: Vec<Word>,
}

impl<'p> Said<'p> {
    fn new(prompt: &'p str, range: Range<usize>) -> Said<'p> {
        Said { prompt, words: split(&prompt[range.clone()], Marks::Kept), range }
    }

    fn text(&self) -> &'p str {
        &self.prompt[self.range.clone()]
    }

    fn raw(&self, at: usize) -> &'p str {
        self.words.get(at).map_or("", |w| &self.text()[w.start..w.end])
    }

    fn read(&self, before: Option<Range<usize>>) -> Read {
        if self.is_question() {
            return Read::Other;
        }
        if let Some(kept) = self.eastern(&before) {
            return Read::Kept(Box::new(kept));
        }
        // "Fix the bug, and remember that …": an opener after a joint counts only if it asks outright.
        let joints = self.words.iter().enumerate().filter(|(_, w)| !w.quoted);
        let joints = joints
            .filter(|(at, _)| matches!(self.raw(*at), "," | ";" | "—" | "–" | "-" | "(" | "and" | "und" | "et" | "y"));
        for from in std::iter::once(0).chain(joints.map(|(at, _)| at + 1)) {
            let at = self.after_leads(from);
            let Some((opener, taken)) = OPENERS.begin(&self.words[at..]).max_by_key(|(_, taken)| *taken) else {
                continue;
            };
            let (link, content) = self.link(at + taken);
            if from > 0 && link == Link::Nothing && opener == Opener::Asks {
                // "We deploy on Fridays, remember that."
                let end = self.range.start + self.words[from - 1].start;
                return Read::Kept(Box::new(self.pointed_at(Some(self.range.start..end))));
            }
            if from > 0 && (opener == Opener::Tells || !matches!(link, Link::That | Link::Colon)) {
                continue;
            }
            if link == Link::Colon && content >= self.words.len() && opener == Opener::Asks {
                return Read::Announced;
            }
            return Read::Kept(Box::new(self.keep(content, link, opener, before)));
        }
        Read::Other
    }

    fn is_question(&self) -> bool {
        let end = self.words.iter().rposition(|w| w.word).map_or(0, |at| at + 1);
        (end..self.words.len()).any(|at| matches!(self.raw(at), "?" | "？")) || self.text().starts_with('¿')
    }

    /// Returns the index of the first word after "please", "also" and the like.
    fn after_leads(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            at += self.words[at..].iter().take_while(|w| !w.word && !w.quoted).count();
            match listed!("leads").eat(&self.words[at..]) {
                Some(rest) if rest.len() < self.words.len() - at => at = self.words.len() - rest.len(),
                _ => return at,
            }
        }
    }

    /// Returns how the words after an opener are joined to it, and the index of the first word to keep.
    fn link(&self, mut at: usize) -> (Link, usize) {
        // "Keep in mind please:", "remember, please, that".
        let please = words!("please pls bitte also always");
        let end = self.words.len();
        while self.words.get(at).is_some_and(|w| please.has_hash(w.hash)) && self.raw(at) != "always" {
            at += 1;
        }
        let comma = usize::from(matches!(self.raw(at), "," | "，"));
        let next = at + comma;
        if self.words[at.min(end)..].iter().all(|w| !w.word) && !matches!(self.raw(at), ":" | "：") {
            return (Link::Nothing, end);
        }
        if let Some(rest) = listed!("that").eat(self.words.get(next..).unwrap_or_default()) {
            let after = end - rest.len();
            // "Remember that." and "remember that one thing" refer to the sentence before.
            return if rest.iter().any(|w| w.word) {
                (Link::That, self.mark_passed(after))
            } else {
                (Link::Nothing, end)
            };
        }
        match self.raw(at) {
            ":" | "：" | "-" | "–" | "—" | "=" => return (Link::Colon, (at + 1).min(end)),
            _ => {}
        }
        let word = self.raw(next).to_lowercase();
        if word.starts_with("qu'") || word.starts_with("qu’") {
            return (Link::That, next);
        }
        if matches!(word.as_str(), "to" | "à") || comma == 0 && matches!(word.as_str(), "de") || word.starts_with("d'")
        {
            return (Link::To, if matches!(word.as_str(), "to" | "de" | "à") { next + 1 } else { next });
        }
        // "Denk daran, die Tests zu starten", "recuerda ejecutar": an infinitive is a request.
        let infinitive = |w: &str| w.len() > 4 && (w.ends_with("ar") || w.ends_with("er") || w.ends_with("ir"));
        let zu = (next + 1..end.saturating_sub(1)).any(|i| self.raw(i) == "zu" && self.raw(i + 1).ends_with('n'));
        if zu
            || at > 0
                && infinitive(&word)
                && words!("recuerda recuerde olvides olvide ricorda").has(&self.raw(at - 1).to_lowercase())
        {
            return (Link::To, next);
        }
        if comma > 0 { (Link::Comma, next) } else { (Link::Bare, at) }
    }

    /// Skips a colon or comma after "that": "keep in mind that: …".
    fn mark_passed(&self, at: usize) -> usize {
        at + usize::from(matches!(self.raw(at), ":" | ","))
    }

    /// Makes the statement to keep, from the word `from` on.
    fn keep(&self, from: usize, link: Link, opener: Opener, before: Option<Range<usize>>) -> Option<Remembered> {
        if link == Link::Nothing {
            return (opener == Opener::Asks).then(|| self.pointed_at(before)).flatten();
        }
        let mut from =
            from + self.words.get(from..)?.iter().take_while(|w| !w.word && self.raw_mark(w) != "\"").count();
        // The whole rule is kept both in "Remember: always …" and in "remember to always …".
        if link == Link::To && self.raw(from) == "to" {
            from += 1;
        }
        let words = self.words.get(from..)?;
        let elided = ["qu'", "qu’", "d'", "d’"].iter().find(|e| self.raw(from).to_lowercase().starts_with(**e));
        let start = words.first()?.start + elided.map_or(0, |e| e.len());
        let end = self.end_of_content();
        let content = self.text().get(start..end)?.trim().trim_end_matches(['.', '!', '…', ';', ',']).trim_end();
        let judged = Judged { words, raw: content, sentence: self.text(), link, opener, prompt: self.prompt };
        let (class, elsewhere) = judged.class()?;
        let mut text = match link {
            Link::That if self.is_german_clause(from) => main_clause(content),
            _ => capitalised(content),
        };
        if listed!("cannot stand alone").eat(words).is_some() && listed!("this place").eat(words).is_none() {
            // A statement that cannot stand alone is kept together with the sentence it refers to.
            let before = Said::new(self.prompt, before?);
            if before.is_question() || before.range.len() > LONGEST {
                return None;
            }
            text = format!("{} {text}", with_stop(before.text().trim()));
        }
        Some(self.made(class, elsewhere, &text, opener))
    }

    /// Whether the statement follows "dass", so that its verb stands last.
    fn is_german_clause(&self, from: usize) -> bool {
        from > 0 && matches!(self.raw(from - 1).to_lowercase().as_str(), "dass" | "daß")
    }

    fn raw_mark(&self, w: &Word) -> &'p str {
        &self.text()[w.start..w.end]
    }

    /// Returns the end of the statement, without a closing "please" or "ok".
    fn end_of_content(&self) -> usize {
        let last = self.words.iter().rposition(|w| w.word);
        let tail = words!("please pls thanks thx bitte danke merci gracias stp");
        match last {
            Some(at) if at > 0 && tail.has_hash(self.words[at].hash) => self.words[at - 1].end,
            _ => self.text().len(),
        }
    }

    /// Makes a statement of the sentence before: "The database listens on 6543. Remember that."
    fn pointed_at(&self, before: Option<Range<usize>>) -> Option<Remembered> {
        let before = Said::new(self.prompt, before?);
        if before.is_question() {
            return None;
        }
        let content = before.text().trim().trim_end_matches(['.', '!', '。', '！']);
        let from = before.after_leads(0);
        let words = before.words.get(from..)?;
        if listed!("cannot stand alone").eat(words).is_some() {
            return None;
        }
        let (link, opener, prompt) = (Link::Colon, Opener::Asks, self.prompt);
        let judged = Judged { words, raw: content, sentence: before.text(), link, opener, prompt };
        let (class, elsewhere) = judged.class()?;
        let text = capitalised(before.text().get(words.first()?.start..content.len()).unwrap_or(content));
        Some(self.made(class, elsewhere, &text, Opener::Asks))
    }

    fn made(&self, class: Class, elsewhere: Class, text: &str, opener: Opener) -> Remembered {
        Remembered {
            class,
            elsewhere,
            title: derived_title(text),
            text: text.to_owned(),
            confidence: if opener == Opener::Asks { 0.95 } else { 0.75 },
            range: self.range.clone(),
        }
    }

    /// Reads Chinese, Japanese and Korean, which have no spaces, by how the sentence begins or ends. The outer `None`:
    /// the sentence does not ask to keep anything.
    fn eastern(&self, before: &Option<Range<usize>>) -> Option<Option<Remembered>> {
        const BEGINS: [&str; 29] = [
            "请帮我记住",
            "请帮我记一下",
            "帮我记住",
            "帮我记一下",
            "请你记住",
            "请记住",
            "請記住",
            "你要记住",
            "要记住",
            "记住",
            "記住",
            "请记一下",
            "记一下",
            "記一下",
            "请记下",
            "记下来",
            "记下",
            "別忘了",
            "别忘了",
            "不要忘记",
            "请不要忘记",
            "请牢记",
            "牢记",
            "备忘",
            "覚えておいてください",
            "覚えておいて",
            "覚えといて",
            "忘れないでください",
            "기억해줘",
        ];
        const ENDS: [&str; 17] = [
            "ことを覚えておいてください",
            "のを覚えておいてください",
            "を覚えておいてください",
            "と覚えておいてください",
            "覚えておいてください",
            "ことを覚えておいて",
            "を覚えておいて",
            "と覚えておいて",
            "覚えておいて",
            "覚えておいてね",
            "ことを忘れないでください",
            "ことを忘れないで",
            "メモしておいて",
            "请记住",
            "记住了",
            "请记一下",
            "기억해줘",
        ];
        const NO_OBJECT: [&str; 8] = ["密码", "用户名", "账号", "登录", "我的选择", "パスワード", "了吗", "我"];
        let said = self.text().trim().trim_end_matches(['。', '.', '！', '!', '～', '~']).trim();
        if !said.chars().any(is_unspaced) || said.ends_with(['か', '吗', '嗎', '呢', '么']) {
            return None;
        }
        let marks: &[char] = &['：', ':', '，', ',', '、', ' ', '—', '–', '-'];
        let lead = said.trim_start_matches("另外").trim_start_matches("还有").trim_start_matches(marks);
        let begun = BEGINS.iter().find_map(|b| lead.strip_prefix(b)).map(|rest| {
            let pointers = ["这一点", "这点", "这个", "这件事", "これを", "これ", "了"];
            pointers.iter().find_map(|p| rest.strip_prefix(p)).unwrap_or(rest)
        });
        let rest = begun.or_else(|| {
            let ended = ENDS.iter().filter_map(|e| said.strip_suffix(e)).min_by_key(|rest| rest.len())?;
            Some(ended.trim_end_matches(marks))
        })?;
        let marked = rest.starts_with(marks);
        let content = rest.trim_start_matches(marks).trim_matches(['。', '！']).trim();
        if content.is_empty() {
            return Some(self.pointed_at(before.clone()));
        }
        let letters = content.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < 4 || !marked && NO_OBJECT.iter().any(|n| content.starts_with(n)) {
            return Some(None);
        }
        let has = |list: &[&str]| list.iter().any(|w| content.contains(w));
        let standing = has(&[
            "总是",
            "永远",
            "每次",
            "一律",
            "不要",
            "必须",
            "之前",
            "始终",
            "必ず",
            "毎回",
            "常に",
            "いつも",
            "しないで",
            "する前",
            "前に",
        ]);
        let one_off = has(&["现在", "马上", "待会", "明天", "今天", "先把", "今すぐ", "明日", "今日", "あとで"]);
        if one_off && !standing {
            return Some(None);
        }
        let manners = has(&[
            "回答",
            "回复",
            "中文",
            "日文",
            "日本語",
            "英語",
            "英文",
            "表情",
            "语气",
            "我喜欢",
            "我不喜欢",
            "敬語",
            "絵文字",
        ]);
        let personal = content.starts_with('我') && !content.starts_with("我们")
            || content.starts_with("私は")
            || content.starts_with("僕は");
        let (class, elsewhere) = match (manners, personal, standing) {
            (true, ..) => (Class::Preference, Class::Preference),
            (_, true, _) => (Class::Identity, Class::Identity),
            (.., true) => (Class::Procedure, Class::Preference),
            _ => (Class::Fact, Class::Preference),
        };
        Some(Some(self.made(class, elsewhere, content, Opener::Asks)))
    }
}

/// A statement whose class is being judged.
struct Judged<'s> {
    words: &'s [Word],
    raw: &'s str,
    /// Sentence that `words` hold byte ranges of.
    sentence: &'s str,
    link: Link,
    opener: Opener,
    prompt: &'s str,
}

impl Judged<'_> {
    /// Returns the class of the memory in a project and elsewhere; `None` if the statement is not to be kept.
    fn class(&self) -> Option<(Class, Class)> {
        let words = self.words;
        let said = words.iter().filter(|w| w.word).count();
        let eastern = self.raw.chars().any(is_unspaced);
        let fewest = if self.link == Link::Colon { 2 } else { 3 };
        if said < fewest && !eastern || self.raw.len() > LONGEST || !self.raw.chars().any(char::is_alphabetic) {
            return None;
        }
        let begins = |list: &Phrases| list.eat(words).is_some();
        let standing = listed!("standing").stand(words);
        let order = begins(listed!("orders"));
        let states = listed!("states").stand(&words[1..]) || self.looks_finite();
        let own = listed!("this place").stand(words);
        // A duty of somebody is an open loop, not knowledge.
        if begins(listed!("owes")) && !(standing && self.raw.len() < 80) {
            return None;
        }
        if matches!(self.link, Link::Bare | Link::Comma) && begins(listed!("no object")) {
            return None;
        }
        if begins(&YOU) && !standing {
            return None;
        }
        let wish = begins(listed!("wishes"));
        let manners = listed!("manners").stand(words);
        let negated = begins(phrases_of_no());
        // An order for the current task is a request.
        let once = listed!("one-off").stand(words) && !self.is_rule();
        let lasting = match self.link {
            _ if once && order && (!states || self.link == Link::To) => false,
            Link::To => standing && !once,
            Link::Comma | Link::Bare => wish || (order && standing) || (!order && states),
            _ => !order || standing || manners || negated || states || begins(&USE),
        };
        if !lasting {
            return None;
        }
        if self.opener == Opener::Tells {
            let near = &words[..words.len().min(3)];
            let passing = listed!("passing").stand(words);
            let pointing = listed!("pointing").stand(near) && !own;
            let speaker = begins(&SPEAKER) && !wish;
            let order = order && !standing && !negated;
            if passing
                || pointing
                || speaker
                || order
                || !(states || standing || eastern)
                || self.prompt.len() > LONGEST_NOTE
            {
                return None;
            }
        }
        let personal = begins(&I) || begins(&MY) && listed!("personal").stand(&words[..words.len().min(4)]);
        Some(if wish || manners && (order || negated || !states) {
            // A wish that names its project is a rule of the project.
            let here = if own && !wish { Class::Procedure } else { Class::Preference };
            (here, Class::Preference)
        } else if personal {
            (Class::Identity, Class::Identity)
        } else if (order || self.link == Link::To || self.explains()) && !begins(&THE) {
            (Class::Procedure, Class::Preference)
        } else {
            (Class::Fact, Class::Preference)
        })
    }

    /// Whether a standing word makes the statement a rule, even if it says "this": "always run this before pushing".
    fn is_rule(&self) -> bool {
        let always =
            words!("always never every each whenever immer nie jedes jedem toujours jamais siempre nunca cada");
        self.words.iter().any(|w| always.has_hash(w.hash))
    }

    /// Whether the statement explains how something is done: "To deploy, run just release".
    fn explains(&self) -> bool {
        let how = words!("to when whenever before after if um wenn bevor pour quand para cuando");
        self.words.first().is_some_and(|w| how.has_hash(w.hash))
    }

    /// Whether a word after the first looks like a finite verb: "listens on", "waits for".
    fn looks_finite(&self) -> bool {
        let after = words!("on at in to from with by for the a an no only as through over under into every");
        let raw = |w: &Word| self.sentence.get(w.start..w.end);
        let pairs = self.words.windows(2).skip(1);
        pairs.filter(|p| p[0].word && after.has_hash(p[1].hash)).any(|p| {
            raw(&p[0]).is_some_and(|w| w.len() > 3 && w.ends_with('s') && !w.ends_with("ss") && w == w.to_lowercase())
        })
    }
}

static YOU: LazyLock<Phrases> = LazyLock::new(|| Phrases::of("you|you're|your|we're|du|ihr|tu|vous|tú|usted"));
static SPEAKER: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::of("i|i'm|i've|i'll|i'd|we've|we'll|ich|je|j'ai|yo|he|she"));
static I: LazyLock<Phrases> = LazyLock::new(|| Phrases::of("i|i'm|i've|i'd|ich / je|j'ai|j'habite|yo|soy|vivo|tengo"));
static MY: LazyLock<Phrases> = LazyLock::new(|| Phrases::of("my|mein|meine|mon|ma|mes|mi|mis"));
static THE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of("the|our|we|a|an|all|der|die|das|unser|unsere|wir|le|la|les|notre|nous|on|el|los|las|nuestro|nuestra")
});
static USE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of("use|prefer|avoid|stick|only|no|nutze|benutze|verwende|vermeide|utilise|évite|usa|evita|keep")
});

/// Returns phrases that begin a rule unless the sentence limits them to now: "Never …", "don't …".
fn phrases_of_no() -> &'static Phrases {
    static NO: LazyLock<Phrases> = LazyLock::new(|| {
        Phrases::of("always|never|no|don't|dont|avoid|nie|niemals|immer|jamais|toujours|ne|nunca|siempre|no / do not")
    });
    &NO
}

/// Turns a German clause after "dass" into a sentence of its own: its verb, which stands last, moves behind the
/// subject.
fn main_clause(clause: &str) -> String {
    let words: Vec<&str> = clause.split_whitespace().collect();
    let whole = || capitalised(clause);
    let [first, .., verb] = words.as_slice() else { return whole() };
    let plain = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_lowercase());
    if words.len() < 3 || !plain(verb) || clause.contains([',', ';', ':']) {
        return whole();
    }
    let pronoun = words!("ich du er sie es wir ihr man");
    let begins = words!(
        "auf in im an am bei beim um mit von vom zu zum zur nach vor ab bis über unter hinter durch für gegen ohne aus seit \
        nur immer nie niemals nicht kein keine keinen nachts freitags montags dienstags mittwochs donnerstags samstags \
        sonntags täglich jeden jede jedes jetzt noch schon erst neu automatisch manuell"
    );
    let behind = match pronoun.has(&first.to_lowercase()) {
        true => Some(1),
        false => (1..words.len() - 1).find(|at| begins.has(&words[*at].to_lowercase())),
    };
    let Some(at) = behind else { return whole() };
    let mut said: Vec<&str> = words[..at].to_vec();
    said.push(verb);
    said.extend(&words[at..words.len() - 1]);
    capitalised(&said.join(" "))
}

/// Returns a statement with its first letter in upper case. A first word that is a name or code is left as it is.
fn capitalised(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let plain =
        first.trim_end_matches([',', ':', ';']).chars().all(|c| c.is_lowercase() || matches!(c, '\'' | '’' | '-'));
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if plain => c.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

fn with_stop(text: &str) -> String {
    if text.ends_with(['.', '!', '。', ':', '！']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::sections;

    #[test]
    fn what_is_asked_to_be_kept_is_found_and_nothing_else() {
        let (mut kept, mut left, mut wrong) = (0, 0, Vec::new());
        for (name, cases) in sections(include_str!("remember_cases.txt")) {
            for (prompt, expected) in cases.lines().filter_map(|line| line.split_once(" =>")) {
                let prompt = prompt.replace("\\n", "\n");
                let found = remembered(&prompt);
                let said: Vec<String> = found.iter().map(|f| format!("{} | {}", f.class, f.text)).collect();
                if said.join(" ;; ") != expected.trim() {
                    wrong.push(format!("{name}: {prompt}\n  {}\n  instead of {}", said.join(" ;; "), expected.trim()));
                }
                if expected.trim().is_empty() {
                    left += 1
                } else {
                    kept += 1
                }
                for f in found {
                    assert!(f.range.end <= prompt.len() && (0.0..=1.0).contains(&f.confidence), "{prompt}");
                    assert!(!f.elsewhere.of_workspace() && !f.title.is_empty(), "{prompt}");
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
        assert!(kept >= 14 && left >= 30, "{kept} {left}");
    }

    #[test]
    fn no_input_is_too_odd() {
        for odd in [
            "",
            "remember",
            "Remember:",
            "remember that:",
            "记住",
            "Remember: 😀",
            "note note note",
            "qu'",
            "Remember: \"",
            "Merk dir, ",
        ] {
            assert_eq!(remembered(odd), [], "{odd}");
        }
        let long = format!("Remember: {}", "word ".repeat(100_000));
        assert_eq!(remembered(&long), []);
        let many: String = (0..50).map(|n| format!("Remember: port number {n} is taken.\n")).collect();
        assert_eq!(remembered(&many).len(), MOST);
        let same = "Remember: the port is 6543.\nRemember: The port is 6543!";
        assert_eq!(remembered(same).len(), 1);
    }
}
