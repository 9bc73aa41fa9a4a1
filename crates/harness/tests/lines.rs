//! Checks for every adapter of line files: a decoded stream as plain text, the same result in any split into sittings,
//! and no panic on any bytes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::rfc3339;
use heirloom_engine::event::{Decoded, NewTurn, Placement};
use heirloom_harness::Harness;

/// Returns a file of this crate's fixtures.
pub fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

/// Returns all `.jsonl` files below a folder of recorded sessions; panics if there are none.
pub fn recorded(path: &str) -> Vec<PathBuf> {
    let root = heirloom_testkit::recordings().join(path);
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(!files.is_empty(), "there are no recorded sessions in {}", root.display());
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "jsonl") {
            files.push(path);
        }
    }
}

/// Returns the lines of a file without blank ones, which the engine leaves out, too.
pub fn lines(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).expect("a readable file");
    bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()).map(<[u8]>::to_vec).collect()
}

/// Decodes a whole file in one sitting.
pub fn decode_file(harness: &dyn Harness, path: &Path) -> Vec<Decoded> {
    decode(harness, &harness.place(path), &lines(path), |_| false)
}

/// Decodes lines, and begins a new sitting after each line for which `pause` returns true.
pub fn decode(
    harness: &dyn Harness,
    placement: &Placement,
    lines: &[Vec<u8>],
    pause: impl Fn(usize) -> bool,
) -> Vec<Decoded> {
    let mut decoder = harness.decoder(placement, b"");
    let mut decoded = Vec::with_capacity(lines.len());
    for (i, line) in lines.iter().enumerate() {
        decoded.push(decoder.line(line));
        if pause(i) {
            decoder = harness.decoder(placement, &decoder.state());
        }
    }
    decoded
}

/// Asserts that a file is decoded to the same result in any split into sittings.
pub fn assert_splits_agree(harness: &dyn Harness, path: &Path) {
    let (placement, lines) = (harness.place(path), lines(path));
    let whole = decode(harness, &placement, &lines, |_| false);
    assert_eq!(decode(harness, &placement, &lines, |_| true), whole, "a sitting per line of {}", path.display());
    let cuts = proptest::collection::vec(proptest::bool::weighted(0.2), lines.len());
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 16,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(&cuts, |cuts| {
            proptest::prop_assert_eq!(&decode(harness, &placement, &lines, |i| cuts[i]), &whole);
            Ok(())
        })
        .expect("every split gives the same");
}

/// Decodes 1,000 damaged copies of the lines, with as many good lines after them.
pub fn assert_never_panics(harness: &dyn Harness, path: &Path) {
    let lines = lines(path);
    let mut decoder = harness.decoder(&harness.place(path), b"");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..1_000 {
        let good = &lines[random.below(lines.len())];
        decoder.line(&damage(good, round, &mut random));
        decoder.line(good);
    }
    let state = decoder.state();
    assert!(state.len() < 64 * 1024, "a state of {} bytes is not small", state.len());
    for junk in [&b""[..], b"{", b"null", b"[]", b"{\"calls\":7}", b"\xff\xff", &damage(&state, 0, &mut random)] {
        harness.decoder(&harness.place(path), junk).line(&lines[0]);
    }
}

/// Prints how fast lines are decoded, by the class of their records.
pub fn print_throughput(harness: &dyn Harness, paths: &[PathBuf]) {
    let mut spent: std::collections::BTreeMap<String, (usize, std::time::Duration)> = Default::default();
    for path in paths {
        let lines = lines(path);
        for _ in 0..20 {
            let mut decoder = harness.decoder(&harness.place(path), b"");
            for line in &lines {
                let start = std::time::Instant::now();
                let class = decoder.line(line).class;
                let (bytes, time) = spent.entry(format!("{class:?}")).or_default();
                *bytes += line.len();
                *time += start.elapsed();
            }
        }
    }
    for (class, (bytes, time)) in spent {
        eprintln!("{class:>14} {bytes:>10} bytes {:>6.0} MB/s", bytes as f64 / time.as_secs_f64() / 1e6);
    }
}

fn damage(line: &[u8], round: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = if line.is_empty() { vec![b'{'] } else { line.to_vec() };
    let place = random.below(bytes.len().max(1));
    match round % 12 {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes.truncate(place),
        2 => bytes[place] = 0,
        3 => bytes.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop),
        4 => bytes.push(b'\r'),
        5 => replace_value(&mut bytes, b"7", random),
        6 => replace_value(&mut bytes, b"1e400", random),
        7 => replace_value(&mut bytes, b"{\"type\":[null]}", random),
        8 => replace_value(&mut bytes, b"\"\\ud800\"", random),
        9 => replace_value(&mut bytes, "[".repeat(5_000).as_bytes(), random),
        10 => replace_value(&mut bytes, format!("{}{}", "[".repeat(200), "]".repeat(200)).as_bytes(), random),
        _ => bytes.splice(place..place, *b"\xff\xfe\"}").for_each(drop),
    }
    bytes
}

/// Replaces a string value somewhere in the line by `value`.
fn replace_value(bytes: &mut Vec<u8>, value: &[u8], random: &mut Random) {
    let starts: Vec<usize> = bytes.windows(2).enumerate().filter(|(_, w)| w == b":\"").map(|(i, _)| i + 1).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[random.below(starts.len())];
    let Some(len) = bytes[start + 1..].iter().position(|b| *b == b'"') else { return };
    bytes.splice(start..start + len + 2, value.iter().copied());
}

/// A small random number generator, which makes the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Compares a decoded fixture with the text beside it; `BLESS=1` writes the text instead.
pub fn assert_reads(harness: &dyn Harness, name: &str) {
    let path = fixture(name);
    let shown = show(&decode_file(harness, &path));
    let expected = path.with_extension("txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, &shown).expect("a writable fixture");
    }
    assert_eq!(shown, std::fs::read_to_string(&expected).unwrap_or_default(), "{name}");
}

fn show(decoded: &[Decoded]) -> String {
    let mut out = String::new();
    for (i, record) in decoded.iter().enumerate() {
        let reason = record.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        writeln!(out, "{} {:?}{reason}", i + 1, record.class).expect("a string");
        for fact in &record.facts {
            writeln!(out, "  ! {fact:?}").expect("a string");
        }
        for turn in &record.turns {
            show_turn(&mut out, turn);
        }
    }
    out
}

fn show_turn(out: &mut String, turn: &NewTurn) {
    write!(out, "  {:?} {:?}", turn.role, turn.kind).expect("a string");
    let texts = [
        ("entry", &turn.entry),
        ("parent", &turn.parent),
        ("session", &turn.session),
        ("speaker", &turn.speaker),
        ("tool", &turn.tool),
        ("call", &turn.call),
        ("model", &turn.model),
        ("message", &turn.message),
        ("run", &turn.run),
        ("cwd", &turn.cwd),
        ("thread", &turn.thread),
        ("at", &turn.at.map(rfc3339)),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            write!(out, " {name}={value}").expect("a string");
        }
    }
    if let Some(usage) = turn.usage {
        let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        write!(out, " usage={counts:?}").expect("a string");
    }
    if !turn.participants.is_empty() {
        write!(out, " participants={}", turn.participants.join(",")).expect("a string");
    }
    for (name, set) in [("failed", turn.failed), ("echo", turn.echo)] {
        if set {
            write!(out, " {name}").expect("a string");
        }
    }
    out.push('\n');
    for line in turn.text.lines() {
        writeln!(out, "    | {line}").expect("a string");
    }
}
