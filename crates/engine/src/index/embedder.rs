//! Embedders turn texts into vectors (R10.8). The engine knows no model; one is plugged in as an [`Embedder`].

use crate::error::Result;

/// A model that maps texts to vectors: similar meanings have a small angle.
///
/// The model returns the same vectors for the same texts, in every process and on every machine. Another table, version
/// or number of dimensions must have another [`model`](Embedder::model), because vectors of two models are never
/// compared.
pub trait Embedder: Send + Sync {
    /// Name and version of the model, such as `static-minilm-256-v1`. Stored beside the vectors.
    fn model(&self) -> &str;

    /// Dimensions of a vector; a multiple of 64.
    fn dimensions(&self) -> usize;

    /// Returns a vector of length 1 for each text, in their order; all zeros for a text without anything the model
    /// knows, which is similar to nothing. Any text is valid: empty, of megabytes, of control characters.
    ///
    /// `Busy` if a remote model does not answer: nothing else waits for it, and it is asked again later.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Returns the vector of a question, to be compared with those of texts. A model may leave out words of which it only
    /// knows the letters: they would make the question similar to every text in the same letters.
    fn embed_question(&self, question: &str) -> Result<Vec<f32>> {
        Ok(self.embed(&[question])?.pop().unwrap_or_default())
    }

    /// Whether a text takes microseconds, so that vectors can be made while the index is locked, in the transaction
    /// that stores the words. `false` for a model behind a connection, and for a slow local one: the worker makes its
    /// vectors afterwards.
    fn is_quick(&self) -> bool {
        true
    }
}
