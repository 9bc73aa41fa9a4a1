//! The models that place texts in space, behind the engine's one trait, apart from everything else so that their weight
//! never enters the engine's tests (R10.8).
//!
//! * [`StaticTable`] is built into the binary: no file, no network, no load step.
//! * [`HttpEmbedder`] asks an OpenAI-compatible endpoint.
//! * `MiniLm` (feature `minilm`) runs a sentence model of the MiniLM kind from a folder.

mod endpoint;
#[cfg(feature = "minilm")]
mod minilm;
mod table;
mod wordpiece;

pub use endpoint::{Endpoint, HttpEmbedder};
#[cfg(feature = "minilm")]
pub use minilm::MiniLm;
pub use table::StaticTable;

/// Makes `vector` as long as 1. One of no length, or of no finite length, becomes all zeros: near to nothing.
///
/// The sum is taken in order and in `f64`, so that every machine comes to the same last bit.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().fold(0.0f64, |sum, &x| sum + f64::from(x) * f64::from(x)).sqrt();
    if length.is_normal() {
        for x in vector {
            *x = (f64::from(*x) / length) as f32;
        }
    } else {
        vector.fill(0.0);
    }
}

/// The longest beginning of `text` of at most `most` bytes that ends between two characters.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
