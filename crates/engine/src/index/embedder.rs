//! What turns a text into a vector (R10.8). The engine knows no model; one is plugged in as an [`Embedder`].

use crate::error::Result;

/// A model that places texts in space: near in meaning, near in angle.
///
/// The same model gives the same vectors for the same texts, in every process and on every machine; another table,
/// version or number of dimensions has another [`model`](Embedder::model), because vectors of two models are never
/// compared.
pub trait Embedder: Send + Sync {
    /// Names the model and its version, such as `static-minilm-256-v1`. Stored beside the vectors.
    fn model(&self) -> &str;

    /// Numbers in a vector; a multiple of 64.
    fn dimensions(&self) -> usize;

    /// A vector of length 1 for each text, in their order; all zeros where a text has nothing the model knows, which is
    /// near to nothing. Any text is a text: empty, of megabytes, of control characters.
    ///
    /// `Busy` where a model that is elsewhere does not answer: nothing else waits for it, and it is asked again later.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Whether it takes microseconds for a text, so that vectors are made while the index is locked, in the transaction
    /// that stores the words. `false` for a model behind a connection, and for one that computes: its vectors are made
    /// afterwards, by the worker.
    fn is_quick(&self) -> bool {
        true
    }
}
