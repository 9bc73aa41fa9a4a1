//! Properties that hold for any session.

use heirloom_testkit::Rng;
use proptest::prelude::*;

use super::corpus::kept;
use super::*;

/// Pieces of inputs and outputs, complete and broken.
const PIECES: &[&str] = &[
    "command: ",
    "cargo test -q && just ci",
    "npm test -- cart",
    "git add -A && git commit -m \"fix: a; b\" && git push",
    "git status --short\n",
    "cd /p/web; sed -i s/a/b/ a.rs",
    "rm -rf web/ a.rs",
    "cat > b.md <<'EOF'\n- [ ] x\nEOF\n",
    "run_in_background: true\n",
    "running in background with ID: b7",
    "file_path: /p/a.rs\n",
    "file_path: TODO.md\ncontent: - [ ] a\n- End: <TBD>\n",
    "old_string: - [ ] a\nnew_string: - [x] a\n",
    "[main 1a2b3c4] fix: a; b\n",
    " ! [rejected] main -> main\n",
    "2 failed, 3 passed\n",
    "error: `boom` fails: x\n",
    " M a.rs\n",
    "subject: Write (task 3)\n",
    "Task #3 created successfully: Write",
    "taskId: 3\nstatus: completed\n",
    "todos: [{\"content\":\"a b\",\"status\":\"pending\"}]\n",
    "const patch = \"*** Begin Patch\\n*** Add File: n.rs\\n\"; tools.apply_patch(patch)",
    "tools.exec_command({\"cmd\":\"ls\", x: {y: [1, \"}\"]}})",
    "Script running with cell ID 4",
    "cell_id: 4\n",
    "Tool use: **edit_file** • Edit file: d:\\\\x\\\\y.ts</summary>",
    "<tool-use data-tool-type=\"shell\">",
    "Tool use: **bash**</summary>\n```bash\nnpm test\n```\n```\n1 failed\n```\n",
    "a.py\n```\n<<<<<<< SEARCH\n",
    "Applied edit to a.py\n",
    "Commit 1a2b3c4 fix\n",
    "<task-id>b7</task-id><status>completed</status>",
    "## Next Steps\n- [ ] go\n",
    "bd close shop-4 --reason 'it is so'",
    "12\tOPEN\tTitle of it\n",
    "\n",
    "`",
    "\"",
    "\\",
    "$(",
    "(",
    "日本語",
    "\u{202e}",
    "{",
];
const TOOLS: &[&str] = &[
    "Bash",
    "Edit",
    "Write",
    "Read",
    "exec",
    "wait",
    "TaskCreate",
    "TaskUpdate",
    "TodoWrite",
    "ExitPlanMode",
    "shell",
];

fn stretch(seed: u64, from: i64) -> Vec<Said> {
    let mut rng = Rng::new(seed);
    let turn = |rng: &mut Rng, id: i64| {
        let kinds = [
            (Role::Assistant, TurnKind::ToolCall),
            (Role::Tool, TurnKind::ToolResult),
            (Role::Assistant, TurnKind::ToolCall),
            (Role::Tool, TurnKind::ToolResult),
            (Role::Assistant, TurnKind::Message),
            (Role::User, TurnKind::Message),
            (Role::System, TurnKind::MachinePrompt),
            (Role::System, TurnKind::CompactSummary),
        ];
        let (role, kind) = *rng.pick(&kinds);
        let text: String = (0..rng.below(6)).map(|_| *rng.pick(PIECES)).collect();
        Said {
            id: TurnId(id),
            role,
            kind,
            run: RunNo(id / 7),
            main: rng.below(8) > 0,
            speaker: None,
            tool: Some((*rng.pick(TOOLS)).to_owned()),
            call: (rng.below(5) > 0).then(|| format!("c{}", rng.below(4))),
            failed: rng.below(6) == 0,
            at: None,
            text,
        }
    };
    let count = 1 + rng.below(60) as i64;
    (0..count).map(|i| turn(&mut rng, from + i)).collect()
}

#[test]
fn items_are_plain_and_name_turns_of_the_range() {
    for seed in 0..600 {
        let turns = stretch(seed, 1);
        let (work, _) = track(&turns, Some("/p"), None);
        for (name, text) in rows(&work) {
            assert!(!text.is_empty() && text.len() <= 2 * LONGEST_ITEM, "{name}: {text}");
            assert!(!text.chars().any(char::is_control) && !text.contains('\u{202e}'), "{name}: {text:?}");
        }
        for item in kept(&work).lists().iter().flat_map(|(_, l)| l.iter()) {
            let known = |t: &TurnId| turns.iter().any(|s| s.id == *t);
            assert!(item.turns.is_sorted() && !item.turns.is_empty() && item.turns.iter().all(known), "{item:?}");
        }
    }
}

#[test]
fn what_is_open_stays_open_while_nothing_happens() {
    for seed in 0..600 {
        let open = kept(&track(&stretch(seed, 1), Some("/p"), None).0);
        let own = |d: &Distillate| {
            let mut d = d.clone();
            d.retain(|i| is_state(&i.text));
            d
        };
        let again = kept(&track(&[], Some("/p"), Some(&open)).0);
        let third = kept(&track(&[], Some("/p"), Some(&again)).0);
        assert_eq!(again, third, "seed {seed}");
        let lost = own(&open).lists().iter().map(|(_, l)| l.len()).sum::<usize>()
            - own(&again).lists().iter().map(|(_, l)| l.len()).sum::<usize>();
        assert_eq!(lost, 0, "seed {seed}: {open:#?}\n{again:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", more in any::<String>()) {
        for tool in TOOLS {
            let said = |id: i64, role, kind, text: String| Said {
                id: TurnId(id), role, kind, run: RunNo(1), main: true, speaker: None, tool: Some((*tool).to_owned()),
                call: Some("c".into()), failed: false, at: None, text,
            };
            let turns = [
                said(1, Role::Assistant, TurnKind::ToolCall, format!("command: {text} tools.x({more}")),
                said(2, Role::Tool, TurnKind::ToolResult, format!("Tool use: **{more}")),
                said(3, Role::Assistant, TurnKind::Message, format!("Tool use: **{text}** • {more}")),
                said(4, Role::System, TurnKind::CompactSummary, format!("## Next\n{text}\n{more}")),
            ];
            track(&turns, None, None);
        }
    }
}
