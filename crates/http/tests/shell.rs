//! The page: its files are served without a token and hold no data; everything they show needs a token.

use heirloom_http::Caller;

use crate::world::{Answer, PORT, World, request};

const HOST: (&str, &str) = ("host", "127.0.0.1:7411");

/// Finds the paths of the page's own files named in a text, such as `"/web/app.css"`, `"./parts.js"`, `"../api.js"`.
fn named_in(text: &str, from: &str) -> Vec<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let quoted = text.split('"').skip(1).step_by(2);
    let mut out: Vec<String> = quoted.filter(|q| q.starts_with("/web/")).map(str::to_owned).collect();
    // Behind `from`, or behind `import` alone.
    let imports = text.split("from\"").skip(1).chain(text.split("import\"").skip(1));
    for name in imports.filter_map(|behind| behind.split('"').next()).filter(|name| name.ends_with(".js")) {
        out.push(match (name.strip_prefix("./"), name.strip_prefix("../")) {
            (Some(name), _) => format!("{folder}/{name}"),
            (_, Some(name)) => format!("{above}/{name}"),
            _ => panic!("{from} imports {name}"),
        });
    }
    out
}

/// Fetches the document and every file it leads to.
fn all(world: &World) -> Vec<(String, Answer)> {
    let (mut wanted, mut got): (Vec<String>, Vec<(String, Answer)>) = (vec!["/".into()], Vec::new());
    while let Some(path) = wanted.pop() {
        if got.iter().any(|(known, _)| *known == path) {
            continue;
        }
        let answer = world.tcp(&path, &[HOST]);
        assert_eq!(answer.status, 200, "{path}");
        let text = String::from_utf8(answer.body.clone()).unwrap();
        wanted.extend(named_in(&text, &path));
        got.push((path, answer));
    }
    got
}

#[test]
fn its_files_need_no_token_and_lead_to_nothing_that_is_not_there() {
    let world = World::new();
    let files = all(&world);
    assert!(files.len() > 15, "{}", files.len());
    for (path, answer) in &files {
        let kind = match path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(answer.header("content-type"), kind, "{path}");
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri \
             'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
            "{path}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        let tag = answer.header("etag");
        assert!(!tag.is_empty(), "{path}");
        let again = world.tcp(path, &[HOST, ("if-none-match", tag)]).is(304);
        assert!(again.body.is_empty() && !again.header("content-security-policy").is_empty());
        // The document has no inline script or style, nothing is loaded from elsewhere, and our modules never use text
        // as markup.
        let text = String::from_utf8_lossy(&answer.body);
        if path != "/web/vendor.js" {
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                assert!(!text.contains(forbidden), "{path} has {forbidden}");
            }
        }
        for outside in ["src=\"http", "href=\"http", "url(http", "fetch(\"http", "from \"http", "@import"] {
            assert!(!text.contains(outside), "{path} has {outside}");
        }
    }
    assert_eq!(world.tcp("/web/vendor.licences.txt", &[HOST]).status, 200);
}

#[test]
fn it_stays_small() {
    let world = World::new();
    let files = all(&world);
    let size = |end: &str| files.iter().filter(|(p, _)| p.ends_with(end)).map(|(_, a)| a.body.len()).sum::<usize>();
    let (script, style) = (size(".js"), size(".css"));
    assert!(script <= 90_000, "{script} bytes of script, as they are delivered");
    assert!(style <= 25_000, "{style} bytes of style");
}

#[test]
fn it_holds_no_data_and_opens_none() {
    let (empty, full) = (World::new(), World::with_words());
    for ((path, one), (other, two)) in all(&empty).into_iter().zip(all(&full)) {
        assert_eq!((path, one.body), (other, two.body), "the same whatever is remembered");
    }
    // Only these files are open, only for reading, and only under the host names of this port.
    for path in ["/web", "/web/", "/web/../v1/status", "/web/none.js", "//", "/index.html", "/v1", "/v1/status", "/mcp"]
    {
        assert_eq!(full.tcp(path, &[HOST]).status, 401, "{path}");
    }
    let post = request("POST", "/", &[HOST], b"");
    assert_eq!(full.send(Some(Caller::Tcp { port: PORT }), post).status, 401);
    assert_eq!(full.tcp("/", &[("host", "evil.example:7411")]).status, 403);
    assert_eq!(full.tcp("/web/app.js", &[HOST, ("sec-fetch-site", "cross-site")]).status, 403);
    assert_eq!(full.tcp("/", &[HOST, ("sec-fetch-site", "none")]).status, 200);
}

#[test]
fn a_session_has_an_outline_and_its_turns_their_records() {
    let world = World::new();
    let line = |n: usize| format!(r#"{{"session": "long", "id": "n{n}", "text": "Turn {n} of a long session."}}"#);
    let lines: Vec<String> = (0..120).map(line).collect();
    world.post_as("/v1/append", "application/x-ndjson", lines.join("\n").as_bytes()).is(200);
    let outline = world.get("/v1/sessions/turns:long/outline").is(200).json();
    let sections = outline["sections"].as_array().unwrap();
    assert_eq!(sections.iter().map(|s| s["count"].as_u64().unwrap()).collect::<Vec<_>>(), [50, 50, 20]);
    assert!(outline["at"].is_null());
    let mut seen = Vec::new();
    for section in sections {
        let cursor = section["cursor"].as_str().map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let path = format!("/v1/sessions/turns:long/turns?limit={}{cursor}", section["count"]);
        let page = world.get(&path).is(200).json();
        let items = page["items"].as_array().unwrap();
        assert_eq!(items[0]["turn"], section["first"]);
        let bytes: usize = items.iter().map(|t| t["text"].as_str().unwrap().len()).sum();
        assert_eq!(section["bytes"], bytes);
        seen.extend(items.iter().map(|t| t["turn"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen.len(), 120);
    let at = |turn: &str| world.get(&format!("/v1/sessions/turns:long/outline?at={turn}")).is(200).json()["at"].clone();
    assert_eq!((at(&seen[49]), at(&seen[50]), at("tffff")), (0.into(), 1.into(), serde_json::Value::Null));
    world.get("/v1/sessions/turns:none/outline").is(404);

    let record = world.get(&format!("/v1/turns/{}/record", seen[7])).is(200).json();
    assert!(record["text"].as_str().unwrap().contains("Turn 7 of a long session."), "{record}");
    assert_eq!((record["cut"].as_bool(), record["turn"].as_str()), (Some(false), Some(seen[7].as_str())));
    world.get("/v1/turns/tffff/record").is(404);
    world.get("/v1/turns/x/record").is(404);
}
