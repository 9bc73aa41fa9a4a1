//! The page: the command prints its address, and a real browser shows and uses it. `scripts/browser` installs the
//! browser; without it those tests fail and say so.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, claude_line, let_it_settle};

/// A home with the demo's sessions and a service with a port.
struct Served {
    world: World,
    home: String,
    service: Child,
}

impl Served {
    fn with_demo() -> Served {
        let world = World::new();
        world.says(0, &["up", "--demo"]);
        let home = world.test.user().join(".cache/heirloom/demo/home");
        let home = home.to_str().unwrap().to_owned();
        let mut command = world.test.command(Path::new(HEIRLOOM));
        command.args(["serve", "--port", "0", "--home", &home]);
        let service = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let served = Served { world, home, service };
        let until = Instant::now() + Duration::from_secs(30);
        while !is_running(&served) {
            assert!(Instant::now() < until, "the service does not begin");
            std::thread::sleep(Duration::from_millis(50));
        }
        served
    }

    fn address(&self) -> String {
        let page = self.world.json(&["--home", &self.home, "ui"]);
        assert_eq!((page["opened"].as_bool(), page["seconds"].as_u64()), (Some(false), Some(60)));
        page["address"].as_str().unwrap().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn is_running(served: &Served) -> bool {
    let out = served.world.run(&["--home", &served.home, "--json", "service", "status"]);
    serde_json::from_str::<Value>(&out.stdout).is_ok_and(|said| said["running"] == true)
}

/// Sends a request to a port of this machine. Returns status and body.
fn ask(port: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut got = String::new();
    stream.read_to_string(&mut got).unwrap();
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[test]
fn the_command_gives_an_address_that_opens_the_page_once() {
    let served = Served::with_demo();
    let address = served.address();
    let (origin, code) = address.split_once("/#").unwrap();
    let port = origin.strip_prefix("http://127.0.0.1:").unwrap();
    let (status, document) = ask(port, "GET", "/", "");
    assert!(status == 200 && document.contains("/web/app.js") && !document.contains("redis"), "{document}");
    assert_eq!(ask(port, "GET", "/v1/now", "").0, 401);
    let bring = json!({ "code": code }).to_string();
    let (status, opened) = ask(port, "POST", "/v1/session", &bring);
    let opened: Value = serde_json::from_str(&opened).unwrap();
    assert_eq!((status, opened["agents"][0].as_str()), (200, Some("main")));
    assert_eq!(ask(port, "POST", "/v1/session", &bring).0, 409, "a code is good once");

    // For people, standard output has only the address, so that it can be copied.
    let out = served.world.run(&["--home", &served.home, "ui", "--no-open"]);
    assert_eq!(out.status, Some(0), "{out:?}");
    assert!(out.stdout.trim().starts_with(&format!("{origin}/#hlm_")) && out.stdout.lines().count() == 1, "{out:?}");
    assert!(out.stderr.contains("60 seconds"), "{out:?}");
}

#[test]
fn a_home_that_is_not_there_has_no_page() {
    let world = World::new();
    let value = world.json_of(4, &["ui"]);
    assert_eq!(value["error"]["kind"], "not-found", "{value}");
}

/// Returns the folders of playwright-core and of the browser. `Err` says what is missing.
fn browser() -> Result<(PathBuf, PathBuf), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("HEIRLOOM_BROWSER").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        root.join(std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)).join("browser")
    });
    let playwright = folder.join("node_modules/playwright-core");
    if !playwright.join("package.json").exists() {
        return Err(format!("playwright-core is not in {}: run scripts/browser", folder.display()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
    let chromium = named.into_iter().chain(found).find(|file| file.exists());
    Ok((playwright, chromium.ok_or("there is no Chromium: run scripts/browser")?))
}

/// Imports a session whose main line goes on after its sub-agent: 30 later turns have higher ids than those of the
/// sub-agent and stand before them.
fn import_a_session_with_a_sub_agent(served: &Served) {
    let id = "1a9e5000-0000-4000-8000-000000000001";
    let folder = served.world.test.folder("lanes");
    let lines = |steps: std::ops::Range<usize>| -> String {
        steps.map(|n| claude_line(id, n, "user", &format!("Step {n}.")) + "\n").collect()
    };
    fs::create_dir_all(folder.join(id).join("subagents")).unwrap();
    let sub = lines(70..130).replace("\"isSidechain\":false", "\"isSidechain\":true");
    for main in [lines(0..70), lines(0..70) + &lines(130..200)] {
        fs::write(folder.join(format!("{id}.jsonl")), main).unwrap();
        fs::write(folder.join(id).join("subagents/agent-a1b2c3d4e5f6a7b8c.jsonl"), &sub).unwrap();
        let_it_settle();
        served.world.says(0, &["--home", &served.home, "import", folder.to_str().unwrap()]);
    }
}

#[test]
#[ignore = "needs Chromium and playwright-core: scripts/browser"]
fn every_place_shows_acts_and_asks_for_nothing_elsewhere() {
    let (playwright, chromium) = browser().unwrap_or_else(|missing| panic!("{missing}"));
    let served = Served::with_demo();
    let at = |args: &[&str]| served.world.says(0, &[&["--home", served.home.as_str()], args].concat());
    let mut lines = vec![
        json!({"session": "hostile", "id": "h1", "text": "<script>globalThis.pwned=1</script><img src=x \
            onerror=\"globalThis.pwned=2\"><iframe src=https://evil.example></iframe>"}),
        json!({"session": "hostile", "id": "h2", "role": "assistant", "text": "[click](javascript:globalThis.pwned=3) and \
            [safe](https://example.org/a) and ![pic](https://evil.example/x.png) \u{202e}gnp.exe \u{1b}[31mred zero\u{200b}width"}),
        json!({"session": "hostile", "id": "h3", "text": "x".repeat(5_000_000)}),
    ];
    lines.push(
        json!({"session": "code", "id": "c1", "role": "assistant", "text": "So:\n\n```rust\n// A remark\nfn main() { \
        let n = 42; println!(\"hello\"); }\n```\n\n```diff\n@@ -1 +1 @@\n-old\n+new\n```\n"}),
    );
    // More of them are measured with TURNS=50000, which takes minutes to store.
    let turns = std::env::var("TURNS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    for n in 0..turns {
        let heron = if n % 500 == 7 { "A heron stood here. " } else { "" };
        let words = "Words and words. ".repeat(n % 40);
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        let text = format!("Turn {n} of the long one. {heron}{words}");
        lines.push(json!({"session": "long", "id": format!("n{n}"), "role": role, "text": text}));
    }
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let out = served.world.feed(&["--home", &served.home, "append"], lines.as_bytes());
    assert_eq!(out.status, Some(0), "{}", out.stderr);
    import_a_session_with_a_sub_agent(&served);
    at(&["remember", "--class", "preference", "Answer in short sentences"]);
    let sessions = served.world.json(&["--home", &served.home, "session", "list"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    let codex = sessions.iter().find(|s| s["session"].as_str().unwrap().starts_with("codex:")).unwrap();
    at(&["context", "--session", codex["session"].as_str().unwrap(), "--prompt", "why did we drop redis"]);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/page.mjs");
    let mut node = Command::new("node");
    let axe = playwright.join("../axe-core/axe.min.js");
    let user = served.world.test.user();
    let code = format!("HOME='{}' '{HEIRLOOM}' --home '{}' ui --no-open 2>/dev/null", user.display(), served.home);
    node.arg(script).env("ADDRESS", served.address()).env("PLAYWRIGHT", playwright).env("CHROMIUM", chromium);
    node.env("AXE", axe).env("SERVICE", served.service.id().to_string()).env("CODE", code);
    let out = node.output().expect("Node is there: scripts/browser needs it, too");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}\n{}", String::from_utf8_lossy(&out.stderr));
    // The times it measured.
    println!("{said}");
    assert!(said.lines().filter(|line| line.starts_with("ok ")).count() >= 40, "{said}");
}
