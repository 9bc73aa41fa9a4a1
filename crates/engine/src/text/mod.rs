//! The language room: tells which parts of a text are code, quotation, log or paste; reads blocks, sentences and words;
//! compares texts; knows scripts. Storey 1.
//!
//! [`blocks`] reads the structure and [`headings`] the topic of a title, [`quotes`] finds quotation marks, code spans
//! and tags, [`sentences`] splits a block, [`words`] splits a sentence, [`plain`] makes one line of a text.
//! [`relayed`] finds where somebody else's words begin, [`borrowed`] texts that a message only carries, [`thoughts`] where
//! a model's reasoning ends. [`patterns`] looks up words and phrases, [`similarity`] compares texts, [`scripts`] identifies writing systems, [`indexed`] is the form of
//! the full-text index, [`language`] has the word lists, which are data files beside it.
//!
//! This room does not interpret content: the rooms above find goals, wishes and open loops.

pub mod blocks;
pub mod borrowed;
pub mod denial;
pub mod headings;
pub mod indexed;
pub mod language;
pub mod patterns;
pub mod plain;
pub mod quotes;
pub mod relayed;
pub mod scripts;
pub mod sentences;
pub mod similarity;
#[cfg(test)]
mod tests;
pub mod thoughts;
pub mod words;
