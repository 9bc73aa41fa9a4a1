//! Durable memory on the command line: one process after the other, and two at once.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, names};

/// A world with a project in it, in whose folder commands run.
struct Project {
    world: World,
    folder: PathBuf,
}

impl Project {
    fn new() -> Project {
        let world = World::new();
        let folder = world.test.user().join("code/api");
        fs::create_dir_all(folder.join(".git")).unwrap();
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Project { world, folder }
    }

    fn run(&self, args: &[&str]) -> heirloom_testkit::Output {
        let mut command = self.world.test.command(HEIRLOOM);
        command.args(args).current_dir(&self.folder);
        heirloom_testkit::run(command, b"")
    }

    fn says(&self, code: i32, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.status, Some(code), "{args:?}\n{}{}", out.stdout, out.stderr);
        format!("{}{}", out.stdout, out.stderr)
    }

    fn json_of(&self, code: i32, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat());
        assert_eq!(out.status, Some(code), "{args:?}\n{}{}", out.stdout, out.stderr);
        assert_eq!(out.stderr, "", "{args:?}");
        serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", out.stdout))
    }

    fn json(&self, args: &[&str]) -> Value {
        self.json_of(0, args)
    }

    fn tree(&self) -> PathBuf {
        self.world.test.home().join("workspaces/main")
    }

    fn file(&self, value: &Value) -> PathBuf {
        self.tree().join(value["path"].as_str().unwrap())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn what_is_remembered_depends_on_where_and_is_said() {
    let project = Project::new();
    let fact = &project.json(&["remember", "Orders live in schema 0042"])["items"][0];
    names(fact, "id title path class scope change superseded");
    assert_eq!((text(&fact["class"]), text(&fact["change"])), ("fact", "new"));
    assert!(text(&fact["scope"]).starts_with("workspace/api--"), "{fact}");
    let again = &project.json(&["remember", "orders live in schema 0042."])["items"][0];
    assert_eq!((&again["id"], text(&again["change"])), (&fact["id"], "same"));
    // In the home folder a memory holds everywhere.
    let liked = &project.world.json(&["remember", "TL;DR first"])["items"][0];
    assert_eq!((text(&liked["class"]), text(&liked["scope"])), ("preference", "agent"));
    let said = project.says(0, &["remember", "Never push on Fridays"]);
    assert!(said.contains("a fact of api") && said.contains("--class preference"), "{said}");
    let said = project.world.says(2, &["remember", "x", "--class", "fact"]);
    assert!(said.contains("--workspace"), "{said}");
    // From another folder the project is named by its path.
    let folder = project.folder.to_str().unwrap();
    let there = &project.world.json(&["remember", "Ports begin at 8080", "--workspace", folder])["items"][0];
    assert_eq!(there["scope"], fact["scope"]);
    for (args, code) in [
        (["remember", " "].as_slice(), 2),
        (&["remember", "x", "--class", "rumour"], 2),
        (&["remember", "x", "--class", "preference", "--workspace", "."], 2),
        (&["remember", &"x".repeat(70_000)], 3),
        (&["memory", "add", "x", "--title", &"t".repeat(400)], 2),
        (&["memory", "add", "x", "--confidence", "7"], 2),
        (&["memory", "show", "nothing-like-it"], 4),
        (&["memory", "show", "../../../etc/passwd"], 2),
        (&["memory", "show", "/etc/passwd"], 2),
        (&["memory", "accept", "x17"], 2),
        (&["memory", "accept", "u:17"], 4),
        (&["proposal", "merge", "nothing-like-it"], 4),
        (&["proposal", "add", "T", "--entry", " "], 2),
        (&["profile", "set", "timezone", "Mars/Olympus"], 2),
        (&["profile", "unset", "name"], 4),
    ] {
        let error = project.json_of(code, args);
        assert!(text(&error["error"]["what"]).len() > 5, "{args:?}: {error}");
        assert!(error["error"]["next"].is_string(), "{args:?} says what to do: {error}");
    }
    // A title may contain anything.
    for title in ["🙂🙂", "two\nlines", &"t".repeat(300), "--- #x: [y]", "\u{1b}[31mred"] {
        let added = &project.json(&["memory", "add", "words of it", &format!("--title={title}")])["items"][0];
        let shown = project.json(&["memory", "show", text(&added["id"])]);
        assert_eq!(shown["text"], "words of it", "{title:?}");
        assert_eq!(shown["problem"], Value::Null, "{title:?}");
        assert!(!project.says(0, &["memory", "show", text(&added["id"])]).contains('\u{1b}'));
    }
    project.world.verified();
}

#[test]
fn memories_are_listed_changed_and_forgotten_by_name() {
    let project = Project::new();
    let old =
        project.json(&["memory", "add", "Deploy with make", "--title", "Deploy", "--tag", "ci"])["items"][0].clone();
    let new = project.json(&["memory", "add", "Deploy with just", "--title", "Deploy"])["items"][0].clone();
    assert_eq!(new["superseded"], json!([old["id"]]));
    let list = project.json(&["memory", "list"]);
    assert_eq!((list["all"].as_u64(), &list["memories"][0]["id"]), (Some(1), &new["id"]));
    assert_eq!(list["memories"][0]["stale"], false);
    assert_eq!(project.json(&["memory", "list", "--superseded"])["memories"][0]["id"], old["id"]);
    assert_eq!(project.json(&["memory", "list", "--class", "reference"])["all"], 0);
    assert_eq!(project.json(&["memory", "show", "deploy"])["id"], new["id"], "the title of the one that counts");
    project.json(&["memory", "pin", "deploy"]);
    assert_eq!(project.json(&["memory", "list", "--pinned"])["all"], 1);
    project.json(&["memory", "pin", "deploy", "--off"]);
    let edited =
        &project.json(&["memory", "edit", "deploy", "--text", "Deploy with just, twice", "--tag", "ops"])["items"][0];
    assert_eq!(edited["fields"]["tags"], json!(["ops"]));
    assert_eq!(project.json(&["memory", "search", "twice"])["hits"][0]["id"], new["id"]);
    assert_eq!(project.json(&["memory", "search", "nowhere-to-be-found"])["hits"], json!([]));
    let said = project.says(2, &["memory", "edit", "deploy"]);
    assert!(said.contains("no terminal") && said.contains(".md"), "{said}");
    let other = project.json(&["memory", "supersede", "deploy", "--text", "Nobody deploys"])["items"][0].clone();
    assert_eq!(other["superseded"], json!([new["id"]]));
    project.json_of(3, &["memory", "supersede", text(&other["id"]), text(&new["id"])]);
    project.json(&["memory", "verify", "Nobody deploys"]);
    // A hand edit counts at once, and so does a deleted file.
    let file = project.file(&other);
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("Nobody deploys", "Everybody deploys")).unwrap();
    assert_eq!(project.json(&["memory", "search", "everybody"])["hits"][0]["id"], other["id"]);
    let gone = project.json(&["memory", "forget", text(&other["id"])]);
    assert_eq!(gone["forgotten"], json!([other["id"]]));
    assert!(!file.exists());
    project.json_of(4, &["memory", "show", text(&other["id"])]);
    let head = fs::read_to_string(project.tree().join("MEMORY.md")).unwrap();
    assert!(!head.to_lowercase().contains("deploys"), "{head}");
    project.world.verified();
}

#[test]
fn a_memory_grows_old_until_it_is_verified() {
    let project = Project::new();
    let at = |days: i64, args: &[&str]| {
        let mut command = project.world.test.command(HEIRLOOM);
        command.args(args).arg("--json").current_dir(&project.folder);
        command.env("HEIRLOOM_NOW", (1_795_262_400_000i64 + days * 86_400_000).to_string());
        let out = heirloom_testkit::run(command, b"");
        assert_eq!(out.status, Some(0), "{args:?}: {out:?}");
        serde_json::from_str::<Value>(&out.stdout).unwrap()
    };
    for (class, days) in [("fact", 30), ("procedure", 14), ("blocker", 14), ("reference", 7)] {
        let words = format!("something of the class {class}");
        at(0, &["remember", &words, "--class", class]);
        let stale = |day: i64| at(day, &["memory", "list", "--class", class, "--stale"])["all"].as_i64().unwrap();
        assert_eq!((stale(days - 1), stale(days + 1)), (0, 1), "{class}");
        at(days + 1, &["remember", &words, "--class", class]);
        assert_eq!(stale(days + 2), 1, "{class}: said again is not verified");
        at(days + 2, &["memory", "verify", &words]);
        assert_eq!((stale(days + 3), stale(3 * days)), (0, 1), "{class}");
    }
    at(0, &["remember", "I prefer tabs", "--class", "preference"]);
    assert_eq!(at(100_000, &["memory", "list", "--class", "preference", "--stale"])["all"], 0);
}

#[test]
fn a_project_does_not_see_into_another() {
    let project = Project::new();
    let blog = project.world.test.user().join("code/blog");
    fs::create_dir_all(&blog).unwrap();
    let ours = project.json(&["remember", "It listens on 8080"])["items"][0].clone();
    let theirs =
        project.json(&["remember", "It is in Zola", "--workspace", blog.to_str().unwrap()])["items"][0].clone();
    project.json(&["memory", "show", text(&ours["id"]), "--workspace", "."]);
    for name in [text(&theirs["id"]), text(&theirs["path"])] {
        let error = project.json_of(3, &["memory", "show", name, "--workspace", "."]);
        assert!(text(&error["error"]["what"]).contains("another workspace"), "{error}");
        project.json(&["memory", "show", name]);
    }
    assert_eq!(project.json(&["memory", "list", "--workspace", "."])["all"], 1);
    let hits = project.json(&["memory", "search", "it", "--workspace", "."]);
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn proposals_wait_for_a_yes_that_can_be_taken_back() {
    let project = Project::new();
    let item = project.json(&["remember", "--propose", "The queue is Kafka"])["items"][0].clone();
    assert!(text(&item["id"]).starts_with("p:") && project.json(&["memory", "list"])["all"] == 0);
    assert_eq!(project.json(&["remember", "--propose", "The queue is Kafka"])["items"][0]["change"], "same");
    let file = fs::read_to_string(project.file(&item)).unwrap();
    assert!(file.contains("source: {type: program}") && file.contains("class: fact"), "{file}");
    project.json(&["proposal", "add", "Habits", "--entry", "use rg", "--entry", "use fd", "--scope", "agent"]);
    let listed = project.json(&["proposal", "list"]);
    assert_eq!(listed["all"], 2);
    // The person corrects the proposal by hand and by command, and accepts both entries.
    let path = project.file(&item);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("- The queue is Kafka", "- The queue is Redpanda"))
        .unwrap();
    assert_eq!(
        project.json(&["proposal", "edit", "habits", "--entry", "use rg", "--entry", "use bat"])["changed"],
        true
    );
    let merged = project.json(&["proposal", "merge", text(&item["id"]), "habits"]);
    let titles: Vec<&str> = merged["merged"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["memories"].as_array().unwrap().iter().map(|l| text(&l["title"])))
        .collect();
    assert_eq!(titles, ["The queue is Redpanda", "use rg", "use bat"]);
    assert_eq!(project.json(&["memory", "search", "redpanda"])["hits"].as_array().unwrap().len(), 1);
    assert_eq!(project.json(&["proposal", "list", "--merged"])["all"], 2);
    let undone = project.json(&["proposal", "undo", "habits"]);
    assert_eq!(undone["removed"].as_array().unwrap().len(), 2);
    assert_eq!(project.json(&["proposal", "show", "habits"])["status"], "pending");
    project.json(&["proposal", "reject", "habits", "--reason", "not mine"]);
    assert_eq!(project.json(&["proposal", "list", "--rejected"])["proposals"][0]["fields"]["reason"], "not mine");
    project.json(&["proposal", "undo", "habits"]);
    // A change after which the proposal could not be merged is refused, and the suggested next step works.
    let said = project.says(2, &["proposal", "edit", "habits", "--class", "fact"]);
    assert!(said.contains("--workspace W") && said.contains("classes that fit agent: preference, identity"), "{said}");
    project.json(&["proposal", "edit", "habits", "--class", "fact", "--scope", "workspace"]);
    project.json(&["proposal", "merge", "habits"]);
    // A memory that was edited since prevents undoing its merge.
    let edited = project.json(&["memory", "edit", "use rg", "--text", "use ripgrep"]);
    let said = project.says(3, &["proposal", "undo", "habits"]);
    assert!(said.contains(text(&edited["items"][0]["id"])), "{said}");
    project.world.verified();
}

#[test]
fn the_profile_is_set_shown_and_unset() {
    let project = Project::new();
    assert_eq!(project.json(&["profile", "set", "timezone", "Asia/Tokyo"])["changed"], true);
    assert_eq!(project.json(&["profile", "set", "timezone", "Asia/Tokyo"])["changed"], false);
    project.json(&["profile", "set", "name", "Ada"]);
    let shown = project.json(&["profile", "show"]);
    let keys: Vec<&str> = shown["profile"].as_array().unwrap().iter().map(|v| text(&v["key"])).collect();
    assert_eq!(keys, ["name", "timezone"]);
    assert!(project.says(0, &["profile", "show"]).contains("Not said: pronouns"));
    project.json(&["profile", "unset", "name"]);
    assert_eq!(project.json(&["profile", "show"])["profile"].as_array().unwrap().len(), 1);
}

#[test]
fn processes_that_remember_at_once_lose_nothing() {
    let project = Project::new();
    project.json(&["remember", "the first one"]);
    let wanted: Vec<String> = (0..8).map(|n| format!("common knowledge {n}")).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for words in &wanted {
                    project.json(&["remember", words]);
                }
            });
        }
    });
    let list = project.json(&["memory", "list"]);
    assert_eq!(list["all"], 9, "{list}");
    assert!(list["memories"].as_array().unwrap().iter().all(|m| m["problem"].is_null() && m["by_hand"] == false));
    project.world.verified();
}

#[test]
fn a_credential_in_a_title_is_in_no_name_and_no_answer() {
    let project = Project::new();
    let secret = "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0";
    let title = format!("rotate {secret} soon");
    let note = project.world.test.folder("notes").join("note.md");
    fs::write(&note, &title).unwrap();
    let mut said = String::new();
    let mut run = |args: &[&str]| {
        let out = project.run(args);
        said += &format!("{}{}", out.stdout, out.stderr);
        assert!(!said.to_lowercase().contains(&secret.to_lowercase()), "{args:?}\n{said}");
        (out.status, out.stdout)
    };
    for (code, args) in [
        (0, ["loop", "add", &title, "--text", &title].as_slice()),
        (0, &["loop", "add", &title, "--json"]),
        (0, &["loop", "show", &title]),
        (0, &["loop", "resolve", &title, "--note", &title]),
        (0, &["loop", "reopen", &title]),
        (4, &["loop", "show", &format!("{title} or never")]),
        (0, &["proposal", "add", &title, "--entry", &title]),
        (0, &["proposal", "edit", &title, "--entry", &format!("never {title}")]),
        (0, &["proposal", "reject", &title, "--reason", &title]),
        (0, &["proposal", "undo", &title]),
        (0, &["proposal", "merge", &title, "--json"]),
        (0, &["memory", "add", &title, "--title", &format!("about {title}"), "--tag", secret, "--subject", secret]),
        (0, &["memory", "pin", &format!("about {title}")]),
        (0, &["memory", "edit", &format!("about {title}"), "--title", &format!("of {title}"), "--summary", secret]),
        (0, &["remember", "--propose", &title]),
        (3, &["profile", "set", "role", secret]),
        (0, &["artifact", "add", &title, "--file", note.to_str().unwrap()]),
        (0, &["loop", "list"]),
        (0, &["proposal", "list", "--merged"]),
        (0, &["memory", "list", "--json"]),
        (0, &["audit", "list", "--json"]),
    ] {
        assert_eq!(run(args).0, Some(code), "{args:?}");
    }
    // A file written by hand stays as it is, but its secret is not shown.
    let hand = project.tree().join("continuity/open-loops/by-hand.md");
    fs::write(&hand, format!("# {title}\n\nAt once.\n")).unwrap();
    for args in
        [["loop", "list"].as_slice(), &["loop", "show", "by-hand"], &["status"], &["loop", "resolve", "by-hand"]]
    {
        assert_eq!(run(args).0, Some(0), "{args:?}");
    }
    for (path, bytes) in crate::world::listing(&project.world.test.home()) {
        let name = path.to_string_lossy().to_lowercase();
        assert!(!name.contains(&secret.to_lowercase()), "{name}");
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).to_lowercase();
        let ours = name.ends_with(".md") && !name.contains("by-hand");
        assert!(!ours || !text.contains(&secret.to_lowercase()), "{name}\n{text}");
    }
}

#[test]
fn a_project_is_named_by_what_is_there() {
    let project = Project::new();
    let fact = project.json(&["remember", "It listens on 8080"])["items"][0].clone();
    let id = text(&fact["scope"]).strip_prefix("workspace/").unwrap();
    // No turn was stored for the project: only its files refer to it.
    for name in [id, "api", ".", project.folder.to_str().unwrap()] {
        assert_eq!(project.json(&["memory", "list", "--workspace", name])["all"], 1, "{name}");
        project.json(&["memory", "show", text(&fact["id"]), "--workspace", name]);
    }
    project.json(&["proposal", "add", "P", "--entry", "e f", "--scope", &format!("workspace/{id}")]);
    let before = crate::world::listing(&project.tree());
    let long = "a/".repeat(2_000);
    for name in [
        "/no/such/place",
        "../../../../../../no",
        "workspace/../x",
        "/etc/passwd",
        "MEMORY.md/",
        "./%2e%2e",
        "%2e%2e",
        "..\\x",
        "a\nb/c",
        "other--0123456789abcdef",
        "",
        " ",
        &long,
    ] {
        for args in [
            ["memory", "add", "x y"].as_slice(),
            &["remember", "x y"],
            &["memory", "list"],
            &["memory", "show", "api"],
            &["memory", "search", "x"],
            &["loop", "add", "x y"],
            &["loop", "list"],
            &["proposal", "add", "x", "--entry", "y"],
            &["proposal", "list"],
            &["proposal", "edit", "P"],
        ] {
            let error = project.json_of(4, &[args, &["--workspace", name]].concat());
            assert!(text(&error["error"]["next"]).contains("path of a folder"), "{error}");
            assert!(error.to_string().len() < 600, "{error}");
        }
    }
    for (code, args) in [
        (4, ["--scope", "workspace/other--0123456789abcdef"].as_slice()),
        (2, &["--scope", "workspace/../x"]),
        (2, &["--scope", "everywhere"]),
        (2, &["--scope", "agent", "--class", "fact"]),
        (2, &["--scope", "workspace", "--class", "identity"]),
    ] {
        project.json_of(code, &[&["proposal", "add", "Q", "--entry", "x"], args].concat());
    }
    project.json_of(2, &["remember", "--propose", "x", "--class", "preference", "--workspace", "."]);
    assert_eq!(crate::world::listing(&project.tree()), before);
}

#[test]
fn a_file_in_a_wrong_place_is_named_with_what_to_do() {
    let project = Project::new();
    let liked = project.json(&["remember", "Tea, not coffee", "--class", "preference"])["items"][0].clone();
    project.json(&["proposal", "add", "P", "--entry", "e f"]);
    let tree = project.tree();
    let proposal = crate::world::files(&tree.join("continuity/proposals"), ".md").remove(0);
    fs::rename(project.file(&liked), tree.join("memory/tea.md")).unwrap();
    fs::rename(proposal, tree.join("continuity/open-loops/p.md")).unwrap();
    fs::create_dir_all(tree.join("memory/workspace/Upper/knowledge/facts")).unwrap();
    fs::write(tree.join("memory/workspace/Upper/knowledge/facts/a.md"), "# A\n").unwrap();
    fs::write(tree.join("memory/preference/b.md"), "---\nx: [\n---\n# B\n").unwrap();
    fs::write(tree.join("memory/preference/c.md"), "---\nclass: fact\n---\n# C\n").unwrap();
    // Other notes of the person are ignored.
    fs::write(tree.join("memory/own.md"), "---\nid: 17\n---\n# Own\n").unwrap();
    let before = crate::world::listing(&tree.join("memory"));
    for args in [["status"].as_slice(), &["doctor"]] {
        let said = project.says(1, args);
        for (file, what, next) in [
            ("memory/tea.md", "does not stand where one belongs", "move it back"),
            ("open-loops/p.md", "it is the proposal p:p-", "move it back"),
            ("facts/a.md", "a workspace id is made of", "rename it"),
            ("preference/b.md", "cannot be read", "mend it"),
            ("preference/c.md", "it says fact", "move the file"),
        ] {
            let line = said.lines().find(|l| l.contains(file)).unwrap_or_else(|| panic!("{file}\n{said}"));
            assert!(line.contains(what) && line.contains(next), "{line}");
        }
        assert!(!said.contains("own.md"), "{said}");
    }
    let after = crate::world::listing(&tree.join("memory"));
    assert!(before.iter().all(|(path, bytes)| path.ends_with("MEMORY.md") || after.get(path) == Some(bytes)));
}

#[test]
fn a_proposal_that_waits_as_something_else_says_so() {
    let project = Project::new();
    project.json(&["proposal", "add", "P", "--entry", "one"]);
    let said = project.says(0, &["proposal", "add", "P", "--entry", "one", "--class", "procedure"]);
    assert!(said.contains("waits as a fact of api") && said.contains("proposal edit p:p-"), "{said}");
    assert!(!project.says(0, &["proposal", "add", "P", "--entry", "one"]).contains("waits as"));
}

#[test]
fn what_is_forgotten_is_in_no_file_of_the_home() {
    let project = Project::new();
    let (words, home) = (["xylozebra", "wombatron", "quixplover"], project.world.test.home());
    let left = || -> Vec<String> {
        let all = crate::world::listing(&home).into_iter();
        let said = |text: String| words.iter().any(|w| text.to_lowercase().contains(w));
        let left = all.filter(|(path, bytes)| {
            let bytes = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            said(path.to_string_lossy().into_owned()) || said(bytes)
        });
        left.map(|(path, _)| path.display().to_string()).collect()
    };
    for n in 0..8 {
        project.says(0, &["remember", &format!("Filler number {n} is here to stay")]);
    }
    project.says(0, &["memory", "add", "The xylozebra is old", "--title", "Wombatron", "--tag", "quixplover"]);
    project.says(0, &["memory", "add", "The xylozebra is new", "--title", "Wombatron"]);
    project.says(0, &["memory", "edit", "Wombatron", "--text", "The xylozebra is newer", "--summary", "Quixplover"]);
    project.says(0, &["proposal", "add", "Quixplover", "--entry", "A wombatron", "--entry", "a xylozebra"]);
    project.says(0, &["proposal", "merge", "Quixplover"]);
    project.says(0, &["proposal", "add", "No", "--entry", "other", "--entry", "the Xylozebra is newer"]);
    project.says(0, &["proposal", "reject", "No"]);
    project.says(0, &["proposal", "add", "Another", "--entry", "other"]);
    project.says(0, &["proposal", "reject", "Another"]);
    for round in 0..2 {
        project.says(0, &["remember", &format!("One more xylozebra in round {round}")]);
        project.says(0, &["memory", "search", "xylozebra"]);
        project.says(0, &["search", "wombatron"]);
        assert!(!left().is_empty());
        let mut ids = Vec::new();
        for superseded in [false, true] {
            let list =
                project.json(&[&["memory", "list"][..], if superseded { &["--superseded"] } else { &[] }].concat());
            let named = list["memories"].as_array().unwrap().iter().map(|m| text(&m["id"]).to_owned());
            ids.extend(named.filter(|id| !id.contains("filler")));
        }
        project.says(0, &[vec!["memory", "forget"], ids.iter().map(String::as_str).collect()].concat());
        assert_eq!(left(), Vec::<String>::new());
    }
    assert_eq!(project.json(&["proposal", "list", "--rejected"])["all"], 1, "what says something else stays");
    assert_eq!(project.json(&["memory", "search", "filler"])["hits"].as_array().unwrap().len(), 8);
    project.world.verified();
}

#[test]
fn titles_have_a_length_and_texts_may_begin_with_a_dash() {
    let project = Project::new();
    for args in [["loop", "add"].as_slice(), &["proposal", "add", "--entry", "x"]] {
        let fits = "w".repeat(4_000);
        project.json(&[args, &[&fits]].concat());
        let error = project.json_of(2, &[args, &[&format!("{fits}w")]].concat());
        assert!(text(&error["error"]["what"]).contains("4000"), "{error}");
        let name = args[0];
        project.json(&[name, "show", &fits]);
    }
    project.json(&["loop", "add", "L", "--text", "- one\n- two"]);
    assert!(text(&project.json(&["loop", "show", "L"])["body"]).ends_with("\n- one\n- two\n"));
    project.json(&["loop", "resolve", "L", "--note", "-- done"]);
    project.json(&["proposal", "add", "P", "--entry", "--flag is on"]);
    project.json(&["proposal", "reject", "P", "--reason", "- no"]);
    project.json(&["remember", "A rule"]);
    project.json(&["memory", "edit", "A rule", "--text", "---\nid: m:other\n---\nwords"]);
    let shown = &project.json(&["memory", "list"])["memories"][0];
    assert_eq!(shown["problem"], Value::Null, "what looks like front matter is text: {shown}");
}
