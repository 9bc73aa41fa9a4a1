//! The settings of the programs: what is connected is there, a second time changes nothing, and disconnecting gives back
//! every byte. The first byte chooses program and file, the rest is what stands in the file.
#![no_main]

use heirloom_harness::install::{Change, Installed, Past, Standing};
use heirloom_harness::{ALL, HostPaths};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((which, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let host = HostPaths { home: "/home/ann".into(), ..HostPaths::default() };
    let how = Installed { command: vec!["/usr/bin/heirloom".into()] };
    let plans: Vec<_> = ALL.iter().filter_map(|h| h.install_plan(&host, &how)).collect();
    // The files of others: one that is ours as a whole has nothing to be kept.
    let edits: Vec<_> = plans
        .iter()
        .flat_map(|plan| plan.edits.iter().map(move |edit| (plan, edit)))
        .filter(|(_, edit)| !matches!(edit.change, Change::Own(_)))
        .collect();
    let (plan, edit) = edits[usize::from(*which) % edits.len()];
    let first = match &edit.change {
        Change::Trust { .. } => plan.edits[0].change.put(None, None, "").expect("a new file").text,
        _ => text.to_owned(),
    };
    let absent = edit.change.standing(Some(text), &first) == Ok(Standing::Absent);
    let Ok(put) = edit.change.put(Some(text), None, &first) else { return };
    assert_eq!(edit.change.standing(Some(&put.text), &first), Ok(Standing::Current), "{}", put.text);
    let past = Past { exact: put.exact, was_absent: put.was_absent, steps: put.steps.clone(), made: put.made.clone() };
    let again = edit.change.put(Some(&put.text), Some(&past), &first).expect("it was put there");
    assert_eq!(again.text, put.text, "a second time changes nothing");
    let back = edit.change.take(&put.text, Some(&past), &first).expect("it was put there");
    if absent {
        assert_eq!(back.as_deref(), Some(text), "every byte is back");
    }
});
