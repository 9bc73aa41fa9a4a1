//! Checks which paths name a memory, and that all others are refused.

use super::*;

const OURS: &str = "heirloom--0123456789abcdef";

#[test]
fn the_allowed_forms_pass() {
    let longest = format!("{}--{}", "a".repeat(60), "f".repeat(16));
    for (text, workspace) in [
        ("MEMORY.md", None),
        ("preference/tea.md", None),
        ("preference/日本 & co 100%.md", None),
        ("identity/name.md", None),
        ("identity/a.b.md", None),
        (&format!("workspace/{OURS}/MEMORY.md"), Some(OURS)),
        (&format!("workspace/{OURS}/knowledge/facts/db.md"), Some(OURS)),
        (&format!("workspace/{OURS}/evolve/skills/x/SKILL.md"), Some(OURS)),
        (&format!("workspace/{longest}/notes"), Some(&*longest)),
    ] {
        let path = MemoryPath::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((path.as_str(), path.workspace(), path.to_string().as_str()), (text, workspace, text));
        assert_eq!(path.in_home().as_str(), format!("memory/{text}"));
        match MemoryPath::parse(text, Some(OURS)) {
            Ok(again) => assert!(again == path && workspace.is_none_or(|id| id == OURS)),
            Err(error) => {
                assert_eq!((error.kind(), workspace), (ErrorKind::Refused, Some(&*longest)));
                assert!(error.to_string().contains("belongs to another workspace"), "{error}");
            }
        }
    }
    let longest = format!("workspace/{OURS}/xy{}", "/x".repeat(489));
    let path = MemoryPath::parse(&longest, None).unwrap();
    assert_eq!(path.in_home().as_str().len(), 1_024);
}

#[test]
fn each_broken_rule_is_named() {
    let (name, path) =
        (format!("preference/{}.md", "x".repeat(253)), format!("workspace/{OURS}/xyz{}", "/x".repeat(489)));
    let too_long_id = format!("workspace/{}/x.md", "a".repeat(81));
    for (text, rule) in [
        ("", "empty"),
        ("/MEMORY.md", "absolute"),
        ("preference/../x.md", "`..`"),
        ("./MEMORY.md", "`.`"),
        ("preference//x.md", "component is empty"),
        ("MEMORY.md/", "component is empty"),
        ("preference/x\0.md", "NUL"),
        ("preference/x\n.md", "control character"),
        ("preference/x\u{85}.md", "control character"),
        ("preference/x\\y.md", "backslash"),
        ("preference/%2e%2e/x.md", "percent-encoded"),
        ("preference/a%2Fb.md", "percent-encoded"),
        ("preference/a%5cb.md", "percent-encoded"),
        ("preference/a%00.md", "percent-encoded"),
        ("preference/%252e.md", "percent-encoded"),
        ("preference/\u{2024}\u{2024}/x.md", "looks like a dot"),
        ("preference/\u{ff0e}.md", "looks like a dot"),
        ("preference/a\u{2215}b.md", "looks like a slash"),
        ("preference/a\u{2044}b.md", "looks like a slash"),
        ("preference/a\u{ff0f}b.md", "looks like a slash"),
        ("preference/a\u{29f8}b.md", "looks like a slash"),
        ("preference/a\u{200b}.md", "invisible"),
        ("preference/a\u{202e}dm.md", "invisible"),
        ("preference/a\u{feff}.md", "invisible"),
        ("preference/x.md.", "ends in a dot or a space"),
        ("preference/x.md ", "ends in a dot or a space"),
        ("workspace/a /x.md", "ends in a dot or a space"),
        ("preference/.x.md", "begins with a dot"),
        ("workspace/a/.git/config", "begins with a dot"),
        (&name, "longer than 255 bytes"),
        (&path, "longer than 1,024 bytes"),
        (&"x/".repeat(600), "longer than 1,024 bytes"),
        ("preference/x.txt", "ends in .md"),
        ("identity/x", "ends in .md"),
        ("identity/a/b.md", "no folders"),
        ("workspace/A/x.md", "a workspace id"),
        ("workspace/-a/x.md", "a workspace id"),
        ("workspace/a_b/x.md", "a workspace id"),
        (&too_long_id, "a workspace id"),
        ("workspace/a", "none of the allowed forms"),
        ("preference", "none of the allowed forms"),
        ("memory.md", "none of the allowed forms"),
        ("memory/MEMORY.md", "none of the allowed forms"),
        ("Preference/x.md", "none of the allowed forms"),
        ("~/x.md", "none of the allowed forms"),
        ("SOUL.md", "none of the allowed forms"),
    ] {
        let error = MemoryPath::parse(text, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains(rule), "{error} should name {rule:?}");
        assert!(error.to_string().is_ascii(), "what is invisible is spelled out: {error}");
        let hint = error.next_step().unwrap();
        for form in ["MEMORY.md", "preference/<file>.md", "identity/<file>.md", "workspace/<workspace id>/"] {
            assert!(hint.contains(form), "{hint}");
        }
    }
}

/// Implements the rules of R3.3 a second time, in another way.
fn is_allowed(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_ .%é:~$\u{a0}".contains(c);
    let encoded = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|e| text.to_ascii_lowercase().contains(e));
    let parts: Vec<&str> = text.split('/').collect();
    let sound = |part: &&str| {
        !part.is_empty()
            && part.len() <= 255
            && part.chars().all(plain)
            && !part.starts_with('.')
            && !part.ends_with(['.', ' ', '\u{a0}'])
    };
    let id = |id: &str| {
        id.len() <= 80
            && !id.starts_with('-')
            && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let form = match parts[0] {
        "MEMORY.md" => parts.len() == 1,
        "preference" | "identity" => parts.len() == 2 && parts[1].ends_with(".md"),
        "workspace" => parts.len() >= 3 && id(parts[1]),
        _ => false,
    };
    form && !encoded && text.len() + "memory/".len() <= 1_024 && parts.iter().all(sound)
}

#[test]
fn hostile_memory_paths_reach_nothing_outside() {
    let (dir, home) = new_home();
    home.create_dir_all(&rel("workspaces/main/memory")).unwrap();
    let (main, lock) = (home.open_dir(&rel("workspaces/main")).unwrap(), home.lock("head").unwrap());
    let memory = home.root().join("workspaces/main/memory");
    for canary in [dir.path().join("canary"), home.root().join("workspaces/main/SOUL.md"), home.root().join("x.md")] {
        std::fs::write(canary, "CANARY").unwrap();
    }
    // A symlink out of the home, which the code must not follow.
    std::fs::create_dir_all(memory.join("workspace/out")).unwrap();
    symlink(dir.path(), memory.join("workspace/out/link")).unwrap();
    symlink(dir.path().join("canary"), memory.join("workspace/out/leaf.md")).unwrap();
    let outside = || snapshot(dir.path()).into_iter().filter(|(p, _)| !p.starts_with(&memory)).collect::<Vec<_>>();
    let before = outside();
    const PARTS: &[&str] = &[
        "preference",
        "identity",
        "workspace",
        "MEMORY.md",
        OURS,
        "out",
        "link",
        "leaf.md",
        "x.md",
        "tea.md",
        "canary",
        "knowledge",
        "é.md",
        "..",
        ".",
        "",
        "%2e%2e",
        "%2E.",
        "%2f",
        "%5C",
        "%00",
        "%252e",
        "\\",
        "..\\",
        "\0",
        "\n",
        "\r",
        "\u{7f}",
        "\u{85}",
        "\u{2024}",
        "\u{2025}",
        "\u{ff0e}",
        "\u{fe52}",
        "\u{2215}",
        "\u{2044}",
        "\u{ff0f}",
        "\u{29f8}",
        "\u{ff3c}",
        "\u{200b}",
        "\u{200d}",
        "\u{202e}",
        "\u{2066}",
        "\u{feff}",
        "\u{e0041}",
        " ",
        ". ",
        "x.md.",
        "x.md ",
        "\u{a0}",
        ".git",
        ".hl-0123456789abcdef.tmp",
        "~",
        "$HOME",
        "C:",
        "file:",
        "proc/self/root",
        "SOUL.md",
        "memory",
        "main",
        "A",
        "-a",
        "a_b",
    ];
    const PREFIXES: &[&str] = &["", "", "preference/", "identity/", "workspace/", "workspace/out/", "/", "memory/"];
    let mut rng = Rng::new(0xF3);
    let (mut taken, mut turned_away) = (0, 0);
    for _ in 0..6_000 {
        let mut text = PREFIXES[rng.below(PREFIXES.len())].to_owned();
        for _ in 0..=rng.below(4) {
            text.push_str(PARTS[rng.below(PARTS.len())]);
            if rng.below(2) > 0 {
                text.push('/');
            }
        }
        match rng.below(16) {
            0 => text.insert_str(0, dir.path().to_str().unwrap()),
            1 => text = text.repeat(4_096 / text.len().max(1) + 1),
            2..8 => text = text.trim_end_matches('/').to_owned() + ".md",
            8..12 => text = text.trim_end_matches('/').to_owned(),
            _ => {}
        }
        let parsed = MemoryPath::parse(&text, None);
        assert_eq!(parsed.is_ok(), is_allowed(&text), "{text:?}: {parsed:?}");
        let Ok(path) = parsed else {
            turned_away += 1;
            continue;
        };
        taken += 1;
        if let Some(id) = path.workspace() {
            assert!(MemoryPath::parse(&text, Some(id)).is_ok());
            refused(MemoryPath::parse(&text, Some("another")), "belongs to another workspace");
        }
        let path = path.in_home();
        // It does not matter whether any of these calls succeeds, only that nothing outside is touched.
        let _ = path.parent().map(|above| main.create_dir_all(&above));
        if let Ok(Some(bytes)) = main.read(&path, CAP) {
            assert_eq!(bytes, b"x", "{text:?}");
        }
        let what = Publication { path: &path, bytes: b"x", base: None, own: None };
        let _ = main.publish(&lock, &what, 0, &mut |_| panic!("{text:?} displaced something"));
        let _ = main.rename_new(&lock, &path, &rel("memory/moved.md"));
        let _ = main.remove(&path);
        let _ = main.remove(&rel("memory/moved.md"));
    }
    println!("{taken} taken, {turned_away} turned away");
    assert!(taken > 200 && turned_away > 2_000, "the generator makes both kinds: {taken} and {turned_away}");
    assert_eq!(outside(), before);
}
