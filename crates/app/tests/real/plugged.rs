//! Claude Code with Heirloom as a plugin: installed from the folder that `heirloom connect --plugin` makes, or loaded
//! from it for one run; and beside hooks in the settings.

use std::path::PathBuf;

use heirloom_testkit::fake_model::{Reply, table};

use super::hooked::{at_rest, is_kept_once, ours};
use super::{ClaudeCode, Machine, Program};

/// Makes a home with a memory, and the plugin's folder.
fn folder(machine: &Machine) -> PathBuf {
    machine.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let decided = "We decided to use Postgres for the mail queue because it is there already.";
    machine.model.answers(table([("queue have", Reply::text(decided))]));
    let folder = machine.home().join("our plugins");
    machine.world.says(0, &["connect", "claude-code", "--plugin", folder.to_str().unwrap()]);
    folder
}

/// Runs two turns and a new session, in which everything is given once.
fn remembers(machine: &Machine, program: &mut dyn Program) {
    let project = machine.project("barn");
    let first = program.turn(&project, "Which store should the mail queue have?", None);
    assert_eq!(first.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&first.heard));
    let second = program.turn(&project, "Go on, please.", Some(&first.session));
    assert_eq!(second.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&second.heard));
    at_rest(machine);
    let other = program.turn(&project, "What was decided?", None);
    assert_eq!(other.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&other.heard));
    assert_eq!(other.heard.matches("use Postgres for the mail queue").count(), 1, "{}", ours(&other.heard));
    is_kept_once(machine, &[program]);
}

/// Installs the plugin by the program's own commands, as `heirloom connect` prints them.
fn install(machine: &Machine, folder: &std::path::Path) {
    let said = machine.world.json(&["connect", "claude-code", "--plugin", folder.to_str().unwrap()]);
    for line in said["then"].as_array().unwrap() {
        machine.run("claude-plugin", machine.shell(line.as_str().unwrap()));
    }
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_plugin_of_claude_code_remembers() {
    let machine = Machine::new();
    let folder = folder(&machine);
    install(&machine, &folder);
    remembers(&machine, &mut ClaudeCode::on(&machine));
    let said = machine.world.says(0, &["doctor"]);
    assert!(said.contains("connected as a plugin"), "{said}");
    let said = machine.world.says(0, &["connect", "claude-code", "--yes"]);
    assert!(said.contains("connected as a plugin"), "no second set of hooks: {said}");
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_plugin_for_one_run_of_claude_code_remembers() {
    let machine = Machine::new();
    let folder = folder(&machine).join("heirloom");
    remembers(&machine, &mut ClaudeCode::on(&machine).with(&["--plugin-dir", folder.to_str().unwrap()]));
}

#[test]
#[ignore = "needs the real programs: scripts/real-programs"]
fn a_plugin_beside_hooks_of_claude_code_gives_nothing_twice() {
    let machine = Machine::new();
    let folder = folder(&machine);
    machine.connect("claude-code");
    install(&machine, &folder);
    let mut program = ClaudeCode::on(&machine);
    remembers(&machine, &mut program);
    let project = machine.project("barn");
    let first = program.turn(&project, "How is the roof?", None);
    program.compact(&project, &first.session);
    let after = program.turn(&project, "Where were we?", Some(&first.session));
    assert_eq!(after.heard.matches("Answer in short sentences").count(), 1, "{}", ours(&after.heard));
    is_kept_once(&machine, &[&mut program]);
    let said = machine.world.says(1, &["doctor"]);
    assert!(said.contains("connected as a plugin (heirloom@heirloom), and by its settings"), "{said}");
    machine.world.says(0, &["disconnect", "claude-code"]);
    let said = machine.world.says(0, &["doctor"]);
    assert!(said.contains("connected as a plugin"), "{said}");
}
