//! Choices of recall (R10.1–R10.3): answers in other words are found, nothing is given twice or by chance, and
//! similarity never gives one thread another's words.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::index::{Embedder, Index};
use heirloom_engine::lineage::Kind;
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::recall::{self, Audience, Hint, Question, Recalled, Stage};
use heirloom_engine::scope::SessionKey;
use heirloom_testkit::word_vector;

use crate::story::{MINUTE, NOON, Story, answer, user, within};

/// Groups of words with the same meaning for [`Kin`].
const KIN: [&[&str]; 5] = [
    &["database", "postgresql", "storage", "datenbank"],
    &["deploy", "ship", "release", "rollout"],
    &["billed", "invoiced", "charged"],
    &["chose", "use", "picked"],
    &["reply", "answer", "replies"],
];

/// Words that carry no meaning in this model.
const LIGHT: &str = " a an and are at be by can did do does for how in is it of on our or the this to up we what when which who why with you your ";

/// A tiny model: texts are near if their words have the same meaning. Counts its calls.
pub struct Kin {
    pub asked: AtomicUsize,
    pub fails: bool,
    seen: Mutex<Vec<String>>,
}

impl Kin {
    pub fn new() -> Arc<Kin> {
        Arc::new(Kin { asked: AtomicUsize::new(0), fails: false, seen: Mutex::default() })
    }

    fn of(text: &str) -> Vec<f32> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !LIGHT.contains(&format!(" {w} ")));
        let kin = words.map(|w| KIN.iter().find(|kin| kin.contains(&w)).map_or(w, |kin| kin[0]));
        word_vector(7, 256, &kin.collect::<Vec<_>>().join(" "))
    }
}

impl Embedder for Kin {
    fn model(&self) -> &str {
        "kin"
    }

    fn dimensions(&self) -> usize {
        256
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().unwrap().extend(texts.iter().map(|t| (*t).to_owned()));
        if self.fails {
            return Err(Error::new(ErrorKind::Busy, "nobody answers"));
        }
        Ok(texts.iter().map(|t| Kin::of(t)).collect())
    }
}

struct Told {
    story: Story,
    index: Index,
}

impl Told {
    fn new(story: Story, model: Option<Arc<Kin>>) -> Told {
        let path = story.folder.path().join("index.db");
        let mut index = Index::open(&path, story.ledger.id(), Duration::from_secs(5)).unwrap().0;
        if let Some(model) = model {
            index = index.with_embedder(model).unwrap();
        }
        index.catch_up(&story.ledger, None, &mut |_| {}).unwrap();
        index.catch_up_files(&story.at(), None).unwrap();
        Told { story, index }
    }

    /// Asks as a session of a project; as the person if there is no project.
    fn ask(&mut self, workspace: Option<&str>, text: &str) -> Recalled {
        self.ask_as(workspace, text, false)
    }

    fn ask_as(&mut self, workspace: Option<&str>, text: &str, deep: bool) -> Recalled {
        self.recall(workspace, Question { text, most: 20, deep, prompt: false })
    }

    /// Asks with a prompt.
    fn prompt(&mut self, text: &str) -> Recalled {
        self.recall(None, Question { text, most: 20, deep: false, prompt: true })
    }

    fn recall(&mut self, workspace: Option<&str>, question: Question) -> Recalled {
        let at = self.story.at();
        let place = workspace.map(|id| {
            let hint = Hint { workspace: Some(id.to_owned()), thread: None };
            let key = SessionKey::from("little:asks".to_owned());
            at.read(|tx| Audience::of(tx, at.agent_no, &key, &hint)).unwrap()
        });
        recall::recall(&at, &mut self.index, place.as_ref(), &question).unwrap()
    }
}

fn leaf(story: &Story, class: Class, scope: Scope, text: &str) -> String {
    memory::add(&story.at().lock().unwrap(), &NewLeaf::new(class, scope, text)).unwrap().id
}

fn of(workspace: &str) -> Scope {
    Scope::Workspace(workspace.to_owned())
}

const HERE: &str = "here--0123456789abcdef";
const THERE: &str = "there--fedcba9876543210";

fn texts(found: &Recalled) -> Vec<&str> {
    found.items.iter().map(|i| i.text.as_str()).collect()
}

fn why<'r>(found: &'r Recalled, id: &str) -> &'r str {
    found.dropped.iter().find(|d| d.id == id).map_or("not found", |d| d.why.as_str())
}

#[test]
fn a_leaf_is_found_by_other_words_for_the_same() {
    let story = Story::new();
    leaf(&story, Class::Fact, of(HERE), "We chose PostgreSQL for storage");
    leaf(&story, Class::Fact, of(HERE), "The staging machine stands in Falkenstein");
    leaf(&story, Class::Preference, Scope::Agent, "Answer in short sentences");
    let mut told = Told::new(story, Some(Kin::new()));
    let found = told.ask(Some(HERE), "which database do we use");
    assert_eq!(texts(&found), ["We chose PostgreSQL for storage"], "{found:?}");
    assert!(found.items[0].reasons.iter().any(|r| r.starts_with("near ")), "{found:?}");
    let found = told.ask(Some(HERE), "how long may your replies be, in sentences");
    assert_eq!(texts(&found), ["Answer in short sentences"], "{found:?}");
    assert_eq!(texts(&told.ask(Some(HERE), "who won the football match on Saturday")), [""; 0]);
    // A single word is only searched for literally.
    assert_eq!(texts(&told.ask(Some(HERE), "database")), [""; 0]);
    // Without the model the words find nothing, and the answer does not pretend otherwise.
    let mut without = Told::new(told.story, None);
    assert_eq!(texts(&without.ask(Some(HERE), "which database do we use")), [""; 0]);
}

#[test]
fn policies_in_the_front_matter_are_no_words() {
    let story = Story::new();
    leaf(&story, Class::Fact, of(HERE), "The kiln stands in the yard");
    let mut told = Told::new(story, None);
    let found = told.ask(None, "check the glaze before use");
    assert!(found.items.is_empty() && found.dropped.is_empty(), "{found:?}");
}

#[test]
fn likeness_lets_nobody_hear_another_projects_leaf() {
    let story = Story::new();
    let there = leaf(&story, Class::Fact, of(THERE), "We chose PostgreSQL for storage");
    leaf(&story, Class::Preference, Scope::Agent, "Prefers PostgreSQL as database");
    let mut told = Told::new(story, Some(Kin::new()));
    for question in ["which database do we use", "We chose PostgreSQL for storage", "PostgreSQL storage"] {
        let found = told.ask(Some(HERE), question);
        assert_eq!(texts(&found), ["Prefers PostgreSQL as database"], "{question}: {found:?}");
        assert_eq!(why(&found, &there), "of another thread, which the question does not name");
    }
    // In its own project, and for the person, it is given.
    for place in [Some(THERE), None] {
        assert!(texts(&told.ask(place, "which database do we use")).contains(&"We chose PostgreSQL for storage"));
    }
    // Its id in the question is an explicit signal: the item is given, with its thread.
    let found = told.ask(Some(HERE), &format!("which database do we use, see {there}"));
    let item = found.items.iter().find(|i| i.id == there).expect("it is named");
    assert_eq!(item.thread.as_deref(), Some("there"));
}

#[test]
fn a_known_name_needs_no_cue_unless_it_is_a_common_word() {
    let story = Story::new();
    for name in ["bluebird", "zephyr", "orders"] {
        story.said(name, &[within(&story.project(name)), user("hello", NOON - MINUTE)]);
        crate::canary::joined(&story, name);
    }
    let named = |text: &str| story.ledger.read(|tx| recall::named::named(tx, story.agent_no, text)).unwrap();
    let projects = |text: &str| {
        let ids = named(text).workspaces;
        ids.iter().filter_map(|id| id.split_once("--")).map(|(name, _)| name.to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (text, want) in [
        ("which theme did we decide in bluebird?", "bluebird"),
        ("bluebird's theme", "bluebird"),
        ("Bluebirds Farben", "bluebird"),
        ("zephyr: add a test", "zephyr"),
        ("what is in ~/bluebird", "bluebird"),
        ("what is in ~/bluebird/src/main.rs", "bluebird"),
        ("bluebird/src/main.rs does not build", "bluebird"),
        ("compare bluebird, zephyr and the orders project", "bluebird orders zephyr"),
        ("`orders` is red", "orders"),
        ("sort the orders by date", ""),
        ("Orders are late", ""),
        ("Warum sind die Orders rot", ""),
        ("blue birds sing", ""),
        ("~/nowhere and ~/", ""),
        ("", ""),
    ] {
        assert_eq!(projects(text), want, "{text}");
    }
    let ids = |text: &str| named(text).ids.into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(ids("what became of [n4] and [t9c11, n5]?"), "n4 n5 t9c11");
    assert_eq!(ids("is n4 a number"), "", "a short one needs its brackets");
    // Items of a named project are given, and only those.
    let id = named("bluebird").workspaces.pop_first().unwrap();
    leaf(&story, Class::Fact, of(&id), "The theme is midnight green");
    leaf(&story, Class::Fact, of(THERE), "The theme is coral");
    let mut told = Told::new(story, None);
    let found = told.ask(Some(HERE), "which theme did we decide in bluebird?");
    assert_eq!(texts(&found)[0], "The theme is midnight green", "{found:?}");
    assert!(!texts(&found).iter().any(|text| text.contains("coral")));
    assert!(!texts(&told.ask(Some(HERE), "which theme did we decide?")).iter().any(|t| t.contains("midnight")));
}

#[test]
fn what_may_not_be_told_crowds_out_nothing() {
    let story = Story::new();
    for n in 0..70 {
        leaf(&story, Class::Fact, of(THERE), &format!("We use the database PostgreSQL in cluster {n}"));
    }
    leaf(&story, Class::Fact, of(HERE), "We picked SQLite for storage, cheap and small");
    for model in [Some(Kin::new()), None] {
        let mut told = Told::new(Story { ..story_of(&story) }, model.clone());
        let found =
            told.ask(Some(HERE), if model.is_some() { "which database do we use" } else { "cheap storage cluster" });
        assert_eq!(texts(&found), ["We picked SQLite for storage, cheap and small"], "{found:?}");
    }
}

/// Opens the same home with other handles.
fn story_of(story: &Story) -> Story {
    let (home, ledger) = crate::tree::open_at(story.home.root(), heirloom_engine::clock::Clock::Fixed(NOON));
    let folder = tempfile::tempdir().unwrap();
    Story { folder, home, ledger, agent: story.agent.clone(), agent_no: story.agent_no }
}

#[test]
fn a_question_is_embedded_once_and_a_model_that_does_not_answer_is_asked_once() {
    let model = Kin::new();
    let story = Story::new();
    leaf(&story, Class::Fact, of(HERE), "We chose PostgreSQL for storage");
    story.said("talk", &[user("The release is on Thursday", NOON - 9 * MINUTE), answer("Noted.", NOON - 8 * MINUTE)]);
    story.summed_up("talk", &[Kind::Session], "Talked about the release.", &Distillate::default());
    let mut told = Told::new(story, Some(model.clone()));
    model.seen.lock().unwrap().clear();
    let found = told.ask(None, "when do we ship the new version");
    assert_eq!(*model.seen.lock().unwrap(), ["when do we ship the new version"]);
    let stages: Vec<Stage> = found.items.iter().map(|i| i.stage).collect();
    assert!(stages.contains(&Stage::Lineage) && stages.contains(&Stage::Transcript), "{found:?}");
    assert!(found.degraded.is_empty(), "{found:?}");
    let deaf = Arc::new(Kin { asked: AtomicUsize::new(0), fails: true, seen: Mutex::default() });
    told.index = told.index.with_embedder(deaf.clone()).unwrap();
    let found = told.ask(None, "when is the release of the new version");
    assert_eq!(deaf.asked.load(Ordering::Relaxed), 1);
    assert_eq!(found.degraded, ["by words only: nobody answers"]);
    assert!(texts(&found).iter().any(|t| t.contains("Thursday")), "{found:?}");
}

#[test]
fn a_summary_that_says_less_than_a_turn_is_left_out() {
    let story = Story::new();
    let said = "The raw stream has no container headers, so the player quits after the first picture.";
    story.said("talk", &[user("What is wrong with it?", NOON - 9 * MINUTE), answer(said, NOON - 8 * MINUTE)]);
    story.said("other", &[user("about the player", NOON - 7 * MINUTE), answer("yes", NOON - 6 * MINUTE)]);
    let nodes = story.summed_up("other", &[Kind::Session], "The player was shown to Ana.", &Distillate::default());
    let mut told = Told::new(story, Some(Kin::new()));
    let found = told.ask(None, "why does the player quit after the first picture");
    assert_eq!(found.items[0].stage, Stage::Transcript, "{found:?}");
    assert!(why(&found, &nodes[1].to_string()).starts_with("says less of the question than t"), "{found:?}");
    // Without a better turn it is what there is, and a question may name it.
    let found = told.ask(None, "who saw the player, Ana?");
    assert_eq!(found.items[0].stage, Stage::Lineage, "{found:?}");
    let found = told.ask(None, &format!("why does the player quit after the first picture, see [{}]", nodes[1]));
    assert!(found.items.iter().any(|item| item.id == nodes[1].to_string()), "{found:?}");
}

#[test]
fn a_question_about_a_day_is_answered_by_that_day() {
    let story = Story::new();
    let yesterday = NOON - 24 * 60 * MINUTE;
    story.said("old", &[user("The roof needs forty slates", yesterday), answer("Noted.", yesterday + 1)]);
    story.said("new", &[user("about the roof", NOON - 9 * MINUTE), answer("yes", NOON - 8 * MINUTE)]);
    let nodes = story.summed_up("new", &[Kind::Session], "The roof was mended by Maier.", &Distillate::default());
    let mut told = Told::new(story, None);
    let found = told.ask(None, "what did I say about the roof yesterday");
    assert_eq!(texts(&found)[0], "The roof needs forty slates", "{found:?}");
    assert_eq!(why(&found, &nodes[1].to_string()), "of another time than the question asks about");
    let found = told.ask(None, "what did I say about the roof");
    assert!(found.items.iter().any(|item| item.id == nodes[1].to_string()), "{found:?}");
}

#[test]
fn front_matter_answers_no_question() {
    let story = Story::new();
    let new = NewLoop { title: "Deploy the board to the new host".into(), ..NewLoop::default() };
    open_loop::add(&story.at().lock().unwrap(), &new).unwrap();
    let mut told = Told::new(story, None);
    assert_eq!(texts(&told.ask(None, "where do we deploy the board")), ["Deploy the board to the new host"]);
    // `status: open` and `opened: …` are lines of its front matter.
    for question in ["which status has it", "status opened"] {
        assert_eq!(texts(&told.ask(None, question)), [""; 0], "{question}");
    }
}

#[test]
fn of_summaries_over_the_same_turns_the_best_is_told() {
    let story = Story::new();
    let mut nodes = Vec::new();
    for (session, summary, before) in [
        ("one", "The roof was mended by Maier.", 90),
        ("two", "Maier mended the chimney beside the roof in spring.", 70),
    ] {
        let at = NOON - before * MINUTE;
        story.said(session, &[user("about the roof", at), answer("yes", at + 1)]);
        nodes.push(story.summed_up(session, &[Kind::Session], summary, &Distillate::default()));
    }
    let mut told = Told::new(story, Some(Kin::new()));
    let found = told.ask(None, "who mended the roof, was it Maier?");
    let summaries: Vec<&str> =
        found.items.iter().filter(|i| i.stage == Stage::Lineage).map(|i| i.id.as_str()).collect();
    assert_eq!(summaries.len(), 2, "one of each session: {found:?}");
    for pair in nodes {
        let ids: Vec<String> = pair.iter().map(ToString::to_string).collect();
        let told: Vec<&String> = ids.iter().filter(|id| summaries.contains(&id.as_str())).collect();
        assert_eq!(told.len(), 1, "{ids:?} {found:?}");
        let other = ids.iter().find(|id| *id != told[0]).unwrap();
        assert_eq!(why(&found, other), format!("covers the same turns as {}", told[0]));
    }
}

#[test]
fn the_words_themselves_are_told_where_they_answer_and_nothing_says_it_already() {
    let story = Story::new();
    let project = story.project("house");
    let mut lines = vec![within(&project)];
    for n in 0..60 {
        let at = NOON - (200 - n) * MINUTE;
        lines.push(user(&format!("please look at the window number {n} again"), at));
        lines.push(answer(&format!("done with number {n}"), at + 1));
    }
    lines.push(user("The zeppelin is moored by the window", NOON - 5 * MINUTE));
    lines.push(user("Maier gets the key", NOON - 4 * MINUTE));
    story.said("s", &lines);
    let leaf = leaf(&story, Class::Preference, Scope::Agent, "Maier gets the key, always");
    let mut told = Told::new(story, Some(Kin::new()));
    // "look" and "number" occur everywhere and are not the subject of the question.
    let found = told.ask(None, "look up how many tulips and daffodils a gardener plants");
    assert_eq!(texts(&found), [""; 0], "{found:?}");
    assert!(found.dropped.iter().any(|d| d.why.contains("no rare one")), "{found:?}");
    // One rare word among many is enough of a lead.
    let found = told.ask(None, "that zeppelin somebody mentioned months ago, what happened");
    assert!(texts(&found).iter().any(|t| t.contains("zeppelin")), "{found:?}");
    let found = told.ask(None, "who gets the key from Maier?");
    assert_eq!(texts(&found)[0], "Maier gets the key, always");
    assert!(!found.items.iter().any(|i| i.stage == Stage::Transcript && i.text.contains("Maier")), "{found:?}");
    // The leaf has every word of the question, so turns are not even searched.
    assert_eq!(found.dropped, [], "{found:?}");
    let deep = told.ask_as(None, "who gets the key from Maier?", true);
    assert!(deep.dropped.iter().any(|d| d.why == format!("all of it stands in {leaf}")), "{deep:?}");
}

#[test]
fn a_sentence_of_a_turn_is_not_told_again_by_the_summary_above_it() {
    let story = Story::new();
    let roof = "The roof was mended by Maier in spring. He left his blue ladder behind it.";
    story.said("one", &[user(roof, NOON - 90 * MINUTE), answer("I put the ladder away.", NOON - 89 * MINUTE)]);
    let more = "The roof was mended by Maier in spring. Decided: the roof was mended by Maier in spring. The bill of \
                the roof is not paid yet.";
    story.summed_up("one", &[Kind::Session], more, &Distillate::default());
    let chimney = "The chimney was swept by Huber in June. His brush is red.";
    story.said("two", &[user(chimney, NOON - 80 * MINUTE), answer("I noted the brush.", NOON - 79 * MINUTE)]);
    let same = "Decided: the chimney was swept by Huber in June.";
    let nodes = story.summed_up("two", &[Kind::Session], same, &Distillate::default());
    let mut told = Told::new(story, Some(Kin::new()));
    let found = told.ask(None, "which roof was mended, and what of its bill?");
    let (all, bill) = (texts(&found), "The bill of the roof is not paid yet.");
    assert!(all.contains(&roof) && all.contains(&bill), "{found:?}");
    // Nothing is left of a summary that repeats the turn.
    let found = told.ask(None, "which chimney was swept, and by which sweep?");
    assert_eq!(texts(&found).iter().filter(|text| text.contains("swept")).collect::<Vec<_>>(), [&chimney], "{found:?}");
    let whys: Vec<&str> = nodes.iter().map(|node| why(&found, &node.to_string())).collect();
    assert!(whys.iter().any(|why| why.starts_with("says what t")), "{whys:?}");
}

#[test]
fn a_prompt_is_given_only_what_answers_it() {
    let story = Story::new();
    let project = story.project("house");
    let mut lines = vec![within(&project)];
    for n in 0..40 {
        let at = NOON - (200 - n) * MINUTE;
        lines.push(user(&format!("please run the tests of the roof number {n}"), at));
        lines.push(answer(&format!("The tests of number {n} ran and the roof holds."), at + 1));
    }
    lines.push(user("How is the zeppelin moored?", NOON - 5 * MINUTE));
    lines.push(answer("The zeppelin is moored to the chimney by a hemp rope.", NOON - 4 * MINUTE));
    story.said("s", &lines);
    let mut told = Told::new(story, Some(Kin::new()));
    let rope = "The zeppelin is moored to the chimney by a hemp rope.";
    for prompt in ["what is the zeppelin moored to?", "moor the zeppelin to another chimney"] {
        let found = told.prompt(prompt);
        assert!(texts(&found).contains(&rope), "{prompt} {found:?}");
        assert!(!texts(&found).iter().any(|text| text.contains("tests")), "{prompt} {found:?}");
        assert!(
            !texts(&found).iter().any(|text| text.ends_with('?')),
            "a question answers nothing: {prompt} {found:?}"
        );
    }
    // A question to the memory itself keeps such turns: the person may look for the question.
    let found = told.ask(None, "what is the zeppelin moored to?");
    assert!(texts(&found).iter().any(|text| text.ends_with('?')), "{found:?}");
    for prompt in ["run the tests", "write a sonnet about the sea and run it by me", "continue"] {
        let found = told.prompt(prompt);
        assert_eq!(texts(&found), [""; 0], "{prompt} {found:?}");
    }
    // Each turn that was found and left out has a reason.
    let found = told.prompt("run the tests");
    assert!(found.dropped.iter().any(|d| d.why.contains("rarer words")), "{found:?}");
    // A question to the memory itself gets what was found.
    assert!(!texts(&told.ask(None, "run the tests")).is_empty());
    assert!(!texts(&told.ask_as(None, "run the tests", true)).is_empty());
}

#[test]
fn what_a_question_names_by_its_id_comes_first_whatever_its_words() {
    let story = Story::new();
    let roof = "The roof was mended by Maier in spring.";
    story.said("one", &[user(roof, NOON - 90 * MINUTE), answer("I put the ladder away.", NOON - 89 * MINUTE)]);
    story.said("two", &[user("The chimney is red.", NOON - 80 * MINUTE), answer("So it is.", NOON - 79 * MINUTE)]);
    let nodes = story.summed_up("one", &[Kind::Session], "The roof was mended.", &Distillate::default());
    let mut told = Told::new(story, Some(Kin::new()));
    assert_eq!(texts(&told.ask(None, "[t1]")), [roof]);
    let found = told.ask(None, "what did I say about the chimney, and what was [t2]?");
    assert_eq!(texts(&found)[0], "I put the ladder away.", "{found:?}");
    assert!(texts(&found).contains(&"The chimney is red."), "{found:?}");
    assert_eq!(texts(&told.ask(None, &format!("[{}]", nodes[0]))), ["The roof was mended."]);
    // Without brackets it may be the name of a machine.
    assert_eq!(texts(&told.ask(None, "is t2 fast enough for the greenhouse")), [""; 0]);
    let found = told.ask(None, "[t99999999]");
    assert_eq!((texts(&found), &*found.degraded), (vec![], &["there is no t99999999".to_owned()][..]));
    // Of a prompt, too, and from another conversation.
    assert_eq!(texts(&told.prompt("go on with [t1]"))[0], roof);
}
