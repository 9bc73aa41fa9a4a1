//! The queue of prompts typed while the model works, rebuilt from a session file.
//!
//! An `enqueue` record has the text; a later record says how the text left the queue. `dequeue`: the run was over, and
//! the text follows as an ordinary line. `remove`: the text was passed to the model in the middle of the run, and in
//! version 2.1.39 no other record says so. Later versions (observed: 2.1.330) also write an attachment with the text,
//! and readers of other tools report it before or after the `remove`. `popAll`: the person took back the waiting
//! prompts. Only `enqueue` reliably has a text, and even it lacks one for prompts with pictures.
//!
//! The queue is part of the decoder's state, which must stay small: at most [`MOST`] prompts, no text longer than
//! [`LONGEST`], all together no longer than [`ROOM`]. A longer text is reduced to its beginning and end; if all
//! together are too long, the oldest lose their text. The stored records keep all texts in full.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Most waiting prompts, and most handed-over prompts that a second record may mention. A person types a handful.
const MOST: usize = 32;

/// Most bytes of one waiting text in the state.
const LONGEST: usize = 16 * 1024;

/// Most bytes of all waiting texts together in the state.
const ROOM: usize = 32 * 1024;

/// The waiting prompts of one stream, and those just handed over.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Number of prompts that were dequeued and whose ordinary lines have not come yet; the line shows which prompt it
    /// was.
    due: usize,
    handed: VecDeque<Handed>,
    /// Time of the newest `remove`, and the number of `remove` records with that time.
    removed: (i64, usize),
}

/// A waiting prompt; without a text if none was written or it was dropped for space.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Waiting {
    text: Option<String>,
    at: Option<i64>,
}

/// A prompt handed over, for which one of two possible records has come. Only a fingerprint of its text is kept.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Handed {
    entry: Option<String>,
    /// The program's id of the prompt, if it gives one.
    command: String,
    text: u64,
    /// Whether that record was the attachment, and not the `remove`.
    attached: bool,
    /// Whether the program, and not a person, put the prompt into the queue.
    machine: bool,
}

impl Handed {
    /// Whether a record with this id and text is about this prompt. A record with neither is about the oldest.
    fn is(&self, command: &str, text: Option<&str>) -> bool {
        match text {
            _ if !self.command.is_empty() && !command.is_empty() => self.command == command,
            Some(text) => self.text == fingerprint(text),
            None => true,
        }
    }
}

/// The result of a `remove`.
pub(super) enum Removed {
    /// Nothing a person wrote, as far as the file shows.
    Nothing,
    /// A prompt that no record has reported yet, and when it was typed, if known.
    New { text: String, at: Option<i64> },
    /// A prompt that the attachment with this entry id has reported.
    Reported { text: String, entry: Option<String> },
}

impl Queue {
    /// Records that a person typed a prompt.
    pub fn enqueue(&mut self, text: Option<&str>, at: Option<i64>) {
        if let Some(text) = text {
            // The prompt was typed again: an attachment that follows is about this one.
            let text = fingerprint(text);
            self.handed.retain(|handed| handed.attached || handed.text != text);
        }
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
            self.due = self.due.saturating_sub(1);
        }
        self.waiting.push_back(Waiting { text: text.map(shortened), at });
        let mut room = ROOM;
        for waiting in self.waiting.iter_mut().rev() {
            match room.checked_sub(waiting.text.as_deref().map_or(0, written)) {
                Some(left) => room = left,
                None => waiting.text = None,
            }
        }
    }

    /// Records that a prompt left the queue to become an ordinary line.
    pub fn dequeue(&mut self, text: Option<&str>) {
        match text.and_then(|text| self.place_of(text)) {
            Some(place) => drop(self.waiting.remove(place)),
            None => self.due = (self.due + 1).min(self.waiting.len()),
        }
    }

    /// Records that the person took back all waiting prompts.
    pub fn take_back(&mut self) {
        self.waiting.clear();
        self.due = 0;
    }

    /// Records that a prompt came as an ordinary line. If no record says that it was queued, the program was idle, and
    /// prompts still waiting here were left by a process that ended.
    pub fn line(&mut self, text: &str) {
        self.handed.clear();
        if let Some(place) = self.place_of(text) {
            self.waiting.remove(place);
            self.due = self.due.saturating_sub(1);
        } else if self.due > 0 && self.drop_textless() {
            self.due -= 1;
        } else if self.due > 0 {
            self.settle();
        } else {
            self.waiting.clear();
        }
    }

    /// Records that a command typed into the queue came as the lines of a command.
    pub fn command_line(&mut self) {
        if self.due > 0 {
            let is_command = |waiting: &Waiting| waiting.text.as_deref().is_some_and(|text| text.starts_with('/'));
            if let Some(place) = self.waiting.iter().position(is_command) {
                self.waiting.remove(place);
            }
            self.due -= 1;
        }
    }

    /// Records that a text the program had queued came as an ordinary line, so that the last `dequeue` meant that text.
    pub fn machine_line(&mut self) {
        self.due = self.due.saturating_sub(1);
    }

    /// Records that an attachment reports a handed-over prompt. Returns the entry id of the turn made from its
    /// `remove`.
    pub fn attached(
        &mut self,
        text: &str,
        command: &str,
        entry: Option<&str>,
        machine: bool,
    ) -> Option<Option<String>> {
        let reported = |handed: &Handed| !handed.attached && handed.is(command, Some(text));
        if let Some(place) = self.handed.iter().position(reported) {
            return self.handed.remove(place).map(|handed| handed.entry);
        }
        self.hand(Handed {
            entry: entry.map(str::to_owned),
            command: command.to_owned(),
            text: fingerprint(text),
            attached: true,
            machine,
        });
        None
    }

    /// Records that a prompt left the queue in the middle of a run. If the record has no text, it is the prompt whose
    /// attachment came before, or else the oldest.
    pub fn remove(&mut self, text: Option<&str>, command: &str) -> Removed {
        let reported = |handed: &Handed| handed.attached && handed.is(command, text);
        let reported = self.handed.iter().position(reported).and_then(|place| self.handed.remove(place));
        let waited = match (&reported, text) {
            (Some(reported), None) => self.take(|waiting| fingerprint(waiting) == reported.text),
            (_, Some(text)) => {
                let text = shortened(text);
                self.take(|waiting| waiting == text)
            }
            (None, None) => {
                self.settle();
                self.waiting.pop_front().unwrap_or_default()
            }
        };
        // A waiting text may have been emptied because it was forgotten.
        let text = text.map(str::to_owned).or(waited.text).filter(|text| !text.trim().is_empty());
        let Some(text) = text else { return Removed::Nothing };
        match reported {
            Some(reported) if reported.machine => Removed::Nothing,
            Some(reported) => Removed::Reported { text, entry: reported.entry },
            None => Removed::New { text, at: waited.at },
        }
    }

    /// Returns how many earlier `remove` records had the same time: programs remove several prompts at once.
    pub fn removed_at(&mut self, time: i64) -> usize {
        if self.removed.0 != time {
            self.removed = (time, 0);
        }
        self.removed.1 += 1;
        self.removed.1 - 1
    }

    /// Records that a turn was made from a `remove`; an attachment may still report the same prompt.
    pub fn handed_over(&mut self, text: &str, command: &str, entry: Option<&str>) {
        self.hand(Handed {
            entry: entry.map(str::to_owned),
            command: command.to_owned(),
            text: fingerprint(text),
            attached: false,
            machine: false,
        });
    }

    fn hand(&mut self, handed: Handed) {
        // No id of the program is longer than this, so nothing is lost, and the state stays small.
        if handed.command.len() + handed.entry.as_ref().map_or(0, String::len) > 512 {
            return;
        }
        if self.handed.len() >= MOST {
            self.handed.pop_front();
        }
        self.handed.push_back(handed);
    }

    fn place_of(&self, text: &str) -> Option<usize> {
        if self.waiting.is_empty() {
            return None;
        }
        let text = shortened(text);
        self.waiting.iter().position(|waiting| waiting.text.as_deref() == Some(text.as_str()))
    }

    /// Takes the oldest prompt with that text, or else the oldest prompt without a text, which may be the one.
    fn take(&mut self, is: impl Fn(&str) -> bool) -> Waiting {
        let place = self.waiting.iter().position(|waiting| waiting.text.as_deref().is_some_and(&is));
        let place = place.or_else(|| self.waiting.iter().position(|waiting| waiting.text.is_none()));
        place.and_then(|place| self.waiting.remove(place)).unwrap_or_default()
    }

    fn drop_textless(&mut self) -> bool {
        let place = self.waiting.iter().position(|waiting| waiting.text.is_none());
        place.and_then(|place| self.waiting.remove(place)).is_some()
    }

    /// Drops the oldest prompts that were announced: their lines matched no waiting prompt.
    fn settle(&mut self) {
        self.waiting.drain(..self.due.min(self.waiting.len()));
        self.due = 0;
    }
}

/// Returns a text in the form the queue stores: of a long text the beginning and the end, since the request is usually
/// in one of them.
fn shortened(text: &str) -> String {
    // JSON writes no character in more than six times its bytes.
    if text.len() <= LONGEST / 6 || written(text) <= LONGEST {
        return text.to_owned();
    }
    let half = |room: usize, characters: &mut dyn Iterator<Item = char>| -> usize {
        let mut left = room;
        let fits = |c: &char| match left.checked_sub(cost(*c)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        characters.take_while(fits).map(char::len_utf8).sum()
    };
    // The other 64 bytes are for the line between the two parts.
    let room = LONGEST / 2 - 64;
    let head = half(room, &mut text.chars());
    let tail = text.len() - half(room, &mut text.chars().rev());
    format!("{}\n[… {} bytes …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Returns an upper bound of the bytes the state needs for a text.
fn written(text: &str) -> usize {
    text.chars().map(cost).sum()
}

fn cost(c: char) -> usize {
    if c.is_ascii_control() || matches!(c, '"' | '\\') { 6 } else { c.len_utf8() }
}

/// Hashes a text with FNV-1a, which distinguishes the few texts in a queue and is the same in every version of this
/// program.
fn fingerprint(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    shortened(text).bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
