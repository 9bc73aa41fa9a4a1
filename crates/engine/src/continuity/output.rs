//! The output of a program, stored so that it can be read later: bounded in memory while it arrives, and written in a
//! code fence without control characters. Pure; knows nothing about files or jobs.

use std::collections::VecDeque;

/// Bytes stored of the beginning of a long output, and of its end, which usually shows the outcome.
const HEAD: usize = 64 << 10;
const TAIL: usize = 192 << 10;

/// Most bytes a cut may move so that it falls between two lines.
const LONGEST_LINE: usize = 4 << 10;

/// An output, collected piece by piece in bounded memory.
#[derive(Clone, Default, Debug)]
pub struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    all: u64,
}

impl Output {
    /// Adds the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.all += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Returns the number of bytes received, kept or not.
    pub fn len(&self) -> u64 {
        self.all
    }

    /// Whether nothing but white space was received.
    pub fn is_empty(&self) -> bool {
        self.all == self.head.len() as u64 && self.head.trim_ascii().is_empty()
    }

    /// Returns the output as Markdown, with a note of how much was left out in the middle.
    pub fn to_markdown(&self) -> String {
        let mut tail: Vec<u8> = self.tail.iter().copied().collect();
        let mut left_out = self.all - self.head.len() as u64 - tail.len() as u64;
        if left_out == 0 {
            let mut whole = self.head.clone();
            whole.append(&mut tail);
            return fenced(&readable(&whole));
        }
        let mut head = self.head.as_slice();
        if let Some(at) = head.iter().rposition(|b| *b == b'\n').filter(|at| head.len() - at <= LONGEST_LINE) {
            left_out += (head.len() - at - 1) as u64;
            head = &head[..=at];
        }
        let begin = tail.iter().take(LONGEST_LINE).position(|b| *b == b'\n').map_or(0, |at| at + 1);
        left_out += begin as u64;
        let (head, tail) = (fenced(&readable(head)), fenced(&readable(&tail[begin..])));
        format!("{head}\n… {left_out} bytes were left out here …\n\n{tail}")
    }
}

/// Puts a text in a code fence that nothing in the text can close.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}text\n{text}{end}{fence}\n")
}

/// Returns bytes as text without terminal control sequences: colours are dropped, other control characters are made
/// visible.
pub fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            // A program may redraw a line repeatedly with `\r`: each state of it becomes a line.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                chars.next_if(|c| matches!(c, '@'..='~'));
            }
            c if (c as u32) < 0x20 => out.extend(char::from_u32(0x2400 + c as u32)),
            '\u{7f}' => out.push('\u{2421}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        let mut output = Output::default();
        let mut all = 0;
        for n in 0..200_000 {
            let line = format!("line {n}\n");
            all += line.len();
            output.push(line.as_bytes());
        }
        let text = output.to_markdown();
        assert!(text.len() < HEAD + TAIL + 200, "{}", text.len());
        assert!(text.starts_with("```text\nline 0\nline 1\n") && text.ends_with("\nline 199999\n```\n"));
        let left_out: usize = text.split("… ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let kept: usize = text.lines().filter(|l| l.starts_with("line ")).map(|l| l.len() + 1).sum();
        assert_eq!(kept + left_out, all, "every byte is kept or counted, and no line is cut");
        assert_eq!(output.len(), all as u64);
    }

    #[test]
    fn pieces_make_no_difference() {
        let bytes: Vec<u8> = (0..600_000u32).map(|n| (n * 7 + n / 300) as u8).collect();
        let mut whole = Output::default();
        whole.push(&bytes);
        let mut pieces = Output::default();
        bytes.chunks(777).for_each(|piece| pieces.push(piece));
        assert_eq!(whole.to_markdown(), pieces.to_markdown());
    }

    #[test]
    fn nothing_inside_closes_the_fence_or_reaches_a_terminal() {
        let text = "a ```` b\n```\nc";
        assert_eq!(fenced(text), format!("`````text\n{text}\n`````\n"));
        assert_eq!(fenced(""), "```text\n```\n");
        assert_eq!(readable(b"\x1b[1;31mred\x1b[0m\r\n\x07\x00 1%\r2%\xff\xc2\x9b"), "red\n␇␀ 1%\n2%\u{fffd}\u{fffd}");
        let mut blank = Output::default();
        assert!(blank.is_empty());
        blank.push(b" \n");
        assert!(blank.is_empty() && blank.len() == 2);
    }
}
