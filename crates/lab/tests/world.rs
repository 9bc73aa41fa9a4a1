//! Shared by the tests of the laboratory: a user's machine with the laboratory on it.

use std::path::PathBuf;

use heirloom_testkit::{Output, TestHome};
use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_heirloom-lab");

/// A user of the laboratory.
pub struct World {
    pub test: TestHome,
}

impl World {
    pub fn new() -> World {
        World { test: TestHome::new() }
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.test.run(LAB, args, b"")
    }

    /// Runs the laboratory, checks the exit code, and returns standard output and standard error together.
    pub fn says(&self, code: i32, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.status, Some(code), "{args:?}\n{}{}", out.stdout, out.stderr);
        format!("{}{}", out.stdout, out.stderr)
    }

    /// Runs the laboratory with `--json`, checks that it prints one line and leaves nothing behind, and returns the
    /// JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat());
        assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""), "{args:?}\n{}", out.stdout);
        assert_eq!(out.stdout.lines().count(), 1, "{args:?}: one line of JSON\n{}", out.stdout);
        self.untouched();
        serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", out.stdout))
    }

    /// Checks that no memory of the person was made, and that no temporary home is left.
    pub fn untouched(&self) {
        assert!(!self.test.home().exists(), "a measurement does not touch the memory");
        let left = std::fs::read_dir(self.cache()).map_or(0, |there| there.count());
        assert_eq!(left, 0, "a measurement leaves nothing in {}", self.cache().display());
    }

    /// Returns the folder in which temporary homes are made.
    pub fn cache(&self) -> PathBuf {
        self.test.user().join(".cache/heirloom-lab")
    }
}

/// Checks that an object has exactly these fields, in any order.
pub fn names(value: &Value, expected: &str) {
    let mut expected: Vec<&str> = expected.split_whitespace().collect();
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}
