//! Terminal output: safe text, sizes, times, tables, progress.
//!
//! Text from a transcript goes through [`safe`] before it reaches a terminal: escape sequences, direction overrides and
//! invisible tags are shown as text, never executed.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use heirloom_engine::clock::Millis;
pub use heirloom_engine::report::{count, counted};
use heirloom_engine::zone;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::{Timestamp, Unit, Zoned, tz::TimeZone};

/// Makes text from a transcript harmless for a terminal. Line breaks and tabs stay.
pub fn safe(text: &str) -> String {
    if text.chars().all(harmless) {
        return text.to_owned();
    }
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    std::iter::from_fn(|| {
        let c = chars.next()?;
        let joins = joins(before, c, chars.peek().copied());
        before = c;
        Some((c, joins))
    })
    .map(|(c, joins)| match c {
        c if joins || harmless(c) => c.to_string(),
        '\r' => String::new(),
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}').to_string(),
        '\u{7f}' => '\u{2421}'.to_string(),
        c => format!("<U+{:04X}>", c as u32),
    })
    .collect()
}

/// Returns whether a terminal shows the character and does nothing else with it.
fn harmless(c: char) -> bool {
    (!c.is_control() || c == '\n' || c == '\t')
        && !matches!(c as u32,
            // direction marks, overrides and isolates; interlinear marks; invisible tags
            0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069 | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F |
            // of no width: spaces, joiners, soft hyphens, invisible operators, deprecated format characters
            0x00AD | 0x180E | 0x200B..=0x200D | 0x2060..=0x2065 | 0x206A..=0x206F | 0xFEFF)
}

/// Returns whether this is a joiner or non-joiner between characters that need one: Persian and Indic letters, composed
/// emoji.
fn joins(before: char, c: char, after: Option<char>) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
        && [Some(before), after].iter().all(|beside| beside.is_some_and(|b| b as u32 >= 0x0600 && harmless(b)))
}

/// Makes text safe as [`safe`] does, and puts it on one line.
pub fn safe_line(text: &str) -> String {
    safe(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts text to at most `width` characters, with an ellipsis if something was left out.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Formats a size such as `1.9 GB`, `240 MB`, `812 B`: decimal, as disks and programs print it.
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 || unit == "TB" {
            return match unit {
                "B" => format!("{n} B"),
                _ if value < 9.95 => format!("{value:.1} {unit}"),
                _ => format!("{value:.0} {unit}"),
            };
        }
        value /= 1000.0;
    }
    unreachable!("the last unit returns")
}

/// Returns the time zone of this machine.
pub fn machine_zone() -> TimeZone {
    static MACHINES: OnceLock<TimeZone> = OnceLock::new();
    MACHINES.get_or_init(|| named_zone().unwrap_or_else(TimeZone::system)).clone()
}

/// Returns the zone named by `TZ`, or else by the link `/etc/localtime`, if any.
fn named_zone() -> Option<TimeZone> {
    let name = match std::env::var_os("TZ") {
        Some(name) => name.into_string().ok()?.trim_start_matches(':').to_owned(),
        None => {
            let target = std::fs::read_link("/etc/localtime").ok()?;
            target.to_str()?.rsplit_once("zoneinfo/")?.1.to_owned()
        }
    };
    zone::named(&name)
}

/// Time zone from the profile of this process's agent.
static USER_ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Sets the zone in which days and times are printed, so that they agree with the pages.
pub fn set_zone(zone: TimeZone) {
    // A later call changes nothing; a process has only one home and one agent.
    let _ = USER_ZONE.set(zone);
}

/// Returns the user's time zone: from their profile, otherwise the machine's.
pub fn zone() -> TimeZone {
    USER_ZONE.get().cloned().unwrap_or_else(machine_zone)
}

/// Returns a time in the user's zone.
pub fn local(at: Millis) -> Option<Zoned> {
    Timestamp::from_millisecond(at).ok().map(|t| t.to_zoned(zone()))
}

/// Formats a time relative to now: `today 17:22`, `yesterday 09:40`, `18 Nov 09:40`, `18 Nov 2025`.
pub fn when(at: Option<Millis>, now: Millis) -> String {
    let (Some(at), Some(now)) = (at.and_then(local), local(now)) else { return "no date".into() };
    let days = now.date().since((Unit::Day, at.date())).map_or(i32::MAX, |s| s.get_days());
    match days {
        0 => at.strftime("today %H:%M").to_string(),
        1 => at.strftime("yesterday %H:%M").to_string(),
        _ if at.year() == now.year() => at.strftime("%-d %b %H:%M").to_string(),
        _ => at.strftime("%-d %b %Y").to_string(),
    }
}

/// Formats a day: `18 Nov 2026`.
pub fn day(at: Millis) -> String {
    local(at).map_or("no date".into(), |z| z.strftime("%-d %b %Y").to_string())
}

/// Formats a range of days: `18 Nov 2026`, or `18 Nov 2026 to 21 Nov 2026`.
pub fn days(from: Millis, to: Millis) -> String {
    let (first, last) = (day(from), day(to));
    if first == last { first } else { format!("{first} to {last}") }
}

/// Colour and weight, used only on a terminal that supports them.
#[derive(Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub fn stdout() -> Paint {
        Paint { on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn accent(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Highlights a match in a passage. Without colour the match is set in asterisks, so that it is still visible.
    pub fn found(self, text: &str) -> String {
        if self.on { self.wrap("1;33", text) } else { format!("**{text}**") }
    }
}

/// Returns the width to print in: the terminal's, or 100 if there is none.
pub fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let terminal = || {
        let term = console::Term::stdout();
        term.is_term().then(|| term.size().1 as usize)
    };
    named.or_else(terminal).unwrap_or(100).clamp(60, 140)
}

/// Aligns columns by padding all but the last one to their widest cell.
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
            if c + 1 < row.len() {
                line.push_str(&" ".repeat(widths[c] - width(cell) + 3));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Prints the rows of a list, and how many of all `all` rows the option `-n` left out.
pub fn list(rows: &[Vec<String>], all: usize) {
    out(&table(rows));
    if all > rows.len() {
        line(&format!("… and {} more (-n {all})", all - rows.len()));
    }
}

/// Makes a progress bar on standard error, if that is a terminal and `--json` is not set. `template` is its layout.
pub fn bar(total: u64, what: &'static str, template: &str, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar.set_prefix(what);
    bar
}

/// Layout of a bar that counts bytes.
pub const BYTES: &str = "{prefix:9}  {bar:32.cyan/dim}  {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";

/// Prints a report as JSON.
pub fn report(report: &impl serde::Serialize) {
    line(&serde_json::json!(report).to_string());
}

/// Prints a report: as JSON for programs, otherwise by calling `people`.
pub fn answer(json: bool, answer: &impl serde::Serialize, people: impl FnOnce()) -> crate::error::Exit {
    if json {
        report(answer)
    } else {
        people()
    }
    crate::error::Exit::Ok
}

/// Prints a JSON report to standard error, for commands whose standard output belongs to another program.
pub fn note_report(report: &impl serde::Serialize) {
    note(&serde_json::json!(report).to_string());
}

/// Escape codes of [`Paint`], the only ones that reach a terminal.
const CODES: &[&str] = &["[1m", "[2m", "[36m", "[33m", "[1;33m", "[0m"];

static JSON_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Sets the output to JSON: control characters are then escaped as in JSON.
pub fn set_json() {
    JSON_OUTPUT.store(true, Ordering::Relaxed);
}

static UNREAD: AtomicBool = AtomicBool::new(false);

/// Lets this process go on after a reader has closed standard output, for commands whose act matters more than their
/// words.
pub fn go_on_unread() {
    UNREAD.store(true, Ordering::Relaxed);
}

/// Writes to standard output; a closed reader (`| head`) is not an error. Text that a caller did not make safe is made
/// safe here.
pub fn out(text: &str) {
    let text =
        if JSON_OUTPUT.load(Ordering::Relaxed) { escaped(text) } else { safe_except_paint(text, Paint::stdout()) };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if written.is_err() && !UNREAD.load(Ordering::Relaxed) {
        std::process::exit(0);
    }
}

/// Standard output for the raw bytes of a file; a closed reader is not an error here either.
pub struct Raw;

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match std::io::stdout().lock().write(bytes) {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
            done => done,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().lock().flush()
    }
}

/// Writes bytes unchanged to standard output.
pub fn raw(bytes: &[u8]) -> crate::error::Exit {
    let _ = Raw.write_all(bytes);
    crate::error::Exit::Ok
}

/// Writes one line to standard error, made safe.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(text));
}

/// Makes text safe as [`safe`] does, but keeps our own colour codes.
fn safe_except_paint(text: &str, paint: Paint) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = safe(parts.next().unwrap_or_default());
    for part in parts {
        match CODES.iter().find(|code| paint.on && part.starts_with(**code)) {
            Some(code) => {
                out.push('\u{1b}');
                out.push_str(code);
                out.push_str(&safe(&part[code.len()..]));
            }
            None => {
                out.push('\u{241b}');
                out.push_str(&safe(part));
            }
        }
    }
    out
}

/// Escapes all characters of JSON that a terminal would execute; they occur only inside strings.
fn escaped(json: &str) -> String {
    if json.chars().all(harmless) {
        return json.to_owned();
    }
    let mut out = String::new();
    for c in json.chars() {
        if harmless(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Prints text as [`out`] does, with a line end.
pub fn line(text: &str) {
    out(&format!("{text}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_shown_not_obeyed() {
        assert_eq!(safe("a\u{1b}[31mred\u{7}"), "a␛[31mred␇");
        assert_eq!(safe("x\u{202e}y"), "x<U+202E>y");
        assert_eq!(safe("plain\n\ttext é 日本"), "plain\n\ttext é 日本");
        assert_eq!(safe("a\r\nb"), "a\nb");
        // Characters without width could hide an instruction or break a word apart, so they are shown as codes.
        assert_eq!(safe("ig\u{200b}nore\u{feff}\u{2060}"), "ig<U+200B>nore<U+FEFF><U+2060>");
        assert_eq!(safe("\u{ad}\u{61c}a\u{200d}b"), "<U+00AD><U+061C>a<U+200D>b");
        // Joiners belong to Persian words and to composed emoji.
        for whole in ["\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", "\u{1f469}\u{200d}\u{1f4bb}"] {
            assert_eq!(safe(whole), whole);
        }
    }

    #[test]
    fn only_our_own_paint_reaches_the_terminal() {
        let paint = Paint { on: true };
        let line = format!("{} \u{1b}]0;x\u{7} \u{1b}[2J", paint.found("hit"));
        assert_eq!(safe_except_paint(&line, paint), "\u{1b}[1;33mhit\u{1b}[0m ␛]0;x␇ ␛[2J");
        assert_eq!(safe_except_paint("\u{1b}[1mx", Paint { on: false }), "␛[1mx");
    }

    #[test]
    fn json_stays_what_it_says() {
        let value = serde_json::json!({"text": "a\u{1b}b\u{9b}c\u{202e}d\u{e0041}e\u{7f} 日本"});
        let shown = escaped(&value.to_string());
        assert!(shown.chars().all(harmless), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(812), "812 B");
        assert_eq!(bytes(1_900_000_000), "1.9 GB");
        assert_eq!(bytes(240_400_000), "240 MB");
        assert_eq!(bytes(999_700), "1.0 MB");
        assert_eq!(count(118_204), "118,204");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn tables_align() {
        assert_eq!(table(&[vec!["a".into(), "b".into()], vec!["long".into(), "c".into()]]), "a      b\nlong   c\n");
    }
}
