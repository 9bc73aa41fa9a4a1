//! Prints the state of the work of whole sessions, for a person to inspect; not part of the ordinary run: `LOOK=folder
//! cargo test -p heirloom-engine --lib distill::work_state::tests::look -- --ignored --nocapture`. The folder contains
//! sessions as `heirloom show --session KEY --full --json` prints them; a file `NAME.cut` beside one names the entry up
//! to which it is read, `NAME.root` the project's folder.

use super::*;
use crate::distill::labelled::printed;

#[test]
#[ignore = "to look at"]
fn look() {
    let Ok(folder) = std::env::var("LOOK") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
        let beside = |end: &str| std::fs::read_to_string(path.with_extension(end)).ok().map(|t| t.trim().to_owned());
        let all = printed(&std::fs::read_to_string(path).unwrap());
        let cut = beside("cut").and_then(|cut| all.iter().rposition(|(_, e)| e.contains(&cut)));
        let turns: Vec<Said> = all.into_iter().take(cut.map_or(usize::MAX, |c| c + 1)).map(|(s, _)| s).collect();
        let root = beside("root");
        let (work, _) = track(&turns, root.as_deref(), None);
        println!("== {}\n{}", path.file_stem().unwrap().to_string_lossy(), show(&work));
    }
}
