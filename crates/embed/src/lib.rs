//! Embedding models that implement the engine's trait, in a separate crate so that the engine's tests need not carry
//! their weight (R10.8).
//!
//! * [`StaticTable`] is built into the binary: no file, no network, no load step.
//! * [`HttpEmbedder`] asks an OpenAI-compatible endpoint.
//!
//! A sentence model in a folder is run by the crate `heirloom-minilm`, with the word pieces of [`wordpiece`].

mod endpoint;
mod table;
pub mod wordpiece;

pub use endpoint::{Endpoint, HttpEmbedder};
pub use table::StaticTable;

/// Scales `vector` to length 1. A vector whose length is zero or not finite becomes all zeros, which is near to
/// nothing.
///
/// The sum is taken in order and in `f64`, so that every machine gets the same last bit.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().fold(0.0f64, |sum, &x| sum + f64::from(x) * f64::from(x)).sqrt();
    if length.is_normal() {
        for x in vector {
            *x = (f64::from(*x) / length) as f32;
        }
    } else {
        vector.fill(0.0);
    }
}

/// Returns the longest prefix of `text` of at most `most` bytes that ends on a character boundary.
pub fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
