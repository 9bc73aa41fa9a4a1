//! What the targets of decoders share.

use heirloom_engine::event::{Decoded, Decoder, Placement, RecordClass};
use heirloom_engine::source::foreign::restore;
use heirloom_harness::{Harness, by_name};

/// Decodes every line of a stream in one sitting, and again with a new decoder for each line, which goes on from the state
/// of the one before: both must say the same, and nothing may panic.
pub fn decode(program: &str, data: &[u8]) {
    let harness = by_name(program).expect("a program");
    let lines: Vec<&[u8]> = data.split(|b| *b == b'\n').collect();
    compare(harness, &lines, &|decoder, line| decoder.line(line));
}

/// The same with the rows of a program's database, each a line in the canonical form; a line that is no row is decoded as a
/// line.
pub fn decode_rows(program: &str, data: &[u8]) {
    let harness = by_name(program).expect("a program");
    let spec = harness.foreign().expect("a program with a database");
    let lines: Vec<&[u8]> = data.split(|b| *b == b'\n').collect();
    compare(harness, &lines, &|decoder, line| match restore(spec, line) {
        Ok(row) => decoder.row(&row),
        Err(_) => decoder.line(line),
    });
}

fn compare(harness: &dyn Harness, lines: &[&[u8]], read: &dyn Fn(&mut dyn Decoder, &[u8]) -> Decoded) {
    let place = Placement::default();
    let mut whole = harness.decoder(&place, b"");
    let mut paused = harness.decoder(&place, b"");
    for line in lines {
        let decoded = read(&mut *whole, line);
        assert_eq!(decoded, read(&mut *paused, line), "a sitting for each line says something else");
        sound(&decoded);
        paused = harness.decoder(&place, &paused.state());
    }
    // A state nobody wrote counts as none, or as one that knows less.
    for junk in lines.iter().take(2) {
        read(&mut *harness.decoder(&place, junk), junk);
    }
}

/// What the engine relies on, whatever the line said.
fn sound(decoded: &Decoded) {
    assert_eq!(decoded.class == RecordClass::Quarantined, decoded.reason.is_some(), "{decoded:?}");
}
