//! Versions of the programs with which their options were tried.

/// Whether the program's `--version` output names a known version. The error is a sentence with the known versions.
pub(crate) fn check(program: &str, said: &str) -> Result<(), String> {
    let known = known(program);
    let found = find(said);
    if found.is_some_and(|v| known.iter().any(|(from, below)| (*from..*below).contains(&v))) {
        return Ok(());
    }
    let told = |v: &[u64; 3]| v.map(|n| n.to_string()).join(".");
    let has = found.as_ref().map_or("of a version it does not tell".to_owned(), told);
    let tried: Vec<String> =
        known.iter().map(|(from, below)| format!("{} to below {}", told(from), told(below))).collect();
    Err(format!("{program} is {has}; that a call leaves no trace was tried with {} only", tried.join(", ")))
}

/// Returns the known version ranges of a program: first version, and the version that ends the range.
fn known(program: &str) -> Vec<([u64; 3], [u64; 3])> {
    let lines = include_str!("known.txt").lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = lines.filter(|words| words.first() == Some(&program));
    rows.filter_map(|words| Some((find(words.get(1)?)?, find(words.get(2)?)?))).collect()
}

/// Finds the first three numbers with dots between them.
fn find(text: &str) -> Option<[u64; 3]> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let numbers: Option<Vec<u64>> = word.trim_matches('.').split('.').map(|n| n.parse().ok()).collect();
        numbers?.try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_or_refused_by_name() {
        for said in ["2.1.330 (Claude Code)", "2.1.999\n"] {
            assert_eq!(check("claude", said), Ok(()), "{said}");
        }
        assert_eq!(check("codex", "codex-cli 0.169.4"), Ok(()));
        assert_eq!(check("openclaw", "OpenClaw 2026.9.6 (abc1234)"), Ok(()));
        assert_eq!(
            check("claude", "2.2.0 (Claude Code)").unwrap_err(),
            "claude is 2.2.0; that a call leaves no trace was tried with 2.1.330 to below 2.2.0 only"
        );
        assert!(check("codex", "").unwrap_err().starts_with("codex is of a version it does not tell"));
        assert!(check("codex", "99999999999999999999.0.0").is_err());
    }
}
