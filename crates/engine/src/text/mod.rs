//! Language: what in a text is code, quotation, log or paste; its blocks, sentences and words; what makes two texts the
//! same; scripts. Storey 1.
//!
//! There is one of each: [`blocks`] reads the structure and [`headings`] what stands under a title, [`quotes`] finds what
//! stands in quotation marks, code spans and tags, [`sentences`] cuts a block, [`words`] cuts a sentence, [`plain`] makes
//! one line of a text. [`patterns`] looks words and phrases up, [`similarity`] compares texts, [`scripts`] tells writing
//! systems apart, [`indexed`] is the form of the full-text index, [`language`] holds the word lists, which are data files
//! beside it.
//!
//! Knows nothing about what is said: goals, wishes and open loops are found by the rooms above.

pub mod blocks;
pub mod headings;
pub mod indexed;
pub mod language;
pub mod patterns;
pub mod plain;
pub mod quotes;
pub mod scripts;
pub mod sentences;
pub mod similarity;
#[cfg(test)]
mod tests;
pub mod words;
