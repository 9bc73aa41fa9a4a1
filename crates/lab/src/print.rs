//! Output of measurements for people: tables, sizes, counts, and words of a transcript made harmless for a terminal.

use std::io::{IsTerminal, Write};

pub use heirloom_engine::report::{count, counted};

/// Formats columns padded to their widest cell, except the last column.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |s: &str| s.chars().count();
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().filter_map(|r| r.get(c)).map(|s| width(s)).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            line.push_str(cell);
            line.push_str(&" ".repeat(widths[c] - width(cell) + 3));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Formats a size: `1.9 GB`, `240 MB`, `812 B`; decimal, as disks and programs print it.
pub fn bytes(n: u64) -> String {
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 999.5 && unit < 4 {
        value /= 1000.0;
        unit += 1;
    }
    let name = ["B", "kB", "MB", "GB", "TB"][unit];
    if unit > 0 && value < 9.95 { format!("{value:.1} {name}") } else { format!("{value:.0} {name}") }
}

/// Returns one line of a transcript, at most `width` characters, without anything a terminal would execute.
pub fn excerpt(text: &str, width: usize) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(obeyed, "\u{fffd}");
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Writes to standard output; a closed reader (`| head`) is not an error.
pub fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Writes a line to standard output.
pub fn line(text: &str) {
    out(&format!("{text}\n"));
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints the current step, for people who wait at a terminal.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_tables_read_well() {
        assert_eq!([812, 1_900_000_000, 240_400_000, 999_700].map(bytes), ["812 B", "1.9 GB", "240 MB", "1.0 MB"]);
        assert_eq!((count(118_204), counted(1, "turn")), ("118,204".into(), "1 turn".into()));
        assert_eq!(table(&[vec!["a".into(), "b".into()], vec!["long".into(), "c".into()]]), "a      b\nlong   c\n");
        assert_eq!(excerpt("a\u{1b}[31m\n b\u{202e}", 90), "a\u{fffd}[31m b\u{fffd}");
        assert_eq!(excerpt("four words are here", 6), "four …");
    }
}
