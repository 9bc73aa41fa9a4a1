//! A sentence model of the MiniLM kind, run from a folder (R10.8): BERT's encoder, the mean of its last layer, length 1.
//!
//! Plain loops over `f32`: sums are taken in one order, and the exponential is implemented here, so that vectors are
//! the same on every machine. A text costs 21 million multiplications for each piece; on one core, batching would gain
//! nothing.

mod forward;
mod weights;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use heirloom_embed::wordpiece::{Pieces, words};
use heirloom_embed::{beginning, normalise};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::index::Embedder;
use serde::Deserialize;

use forward::Encoder;
use weights::Weights;

/// Pieces of a text that are read, including its start and end marks: the length these models were trained on.
const MOST_PIECES: usize = 256;

/// Bytes of a text in which these pieces are searched; 64 bytes a piece leave room for white space.
const MOST_BYTES: usize = 16 * 1024;

/// A BERT sentence model of 384 dimensions or so, out of a folder with `config.json`, `model.safetensors` (`F32`) and
/// `vocab.txt`, as sentence-transformers keeps them: all-MiniLM-L6-v2 and -L12-v2 and their like, uncased and mean pooled.
///
/// The first 256 pieces of a text are read; a text without a known word gets all zeros. The weights are held in memory
/// (90 MB for MiniLM-L6). Once the model is open, it never fails.
pub struct MiniLm {
    model: String,
    vocabulary: Vocabulary,
    encoder: Encoder,
}

#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default)]
    hidden_act: String,
    #[serde(default = "bert_epsilon")]
    layer_norm_eps: f32,
}

fn bert_epsilon() -> f32 {
    1e-12
}

impl MiniLm {
    /// Reads the model. Its name contains a hash of its weights and vocabulary, so that another model in the same
    /// folder has another name.
    ///
    /// `NotFound` if a file is missing, `Refused` if the folder holds no such model, `Damaged` if the weights are cut
    /// short.
    pub fn open(folder: &Path) -> Result<MiniLm> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|e| {
                let error = Error::io("read", &path, e);
                error.hint("the folder needs config.json, model.safetensors and vocab.txt of a sentence model")
            })
        };
        let other = |why: String| {
            Error::refused(format!("{} is not a sentence model this build can run: {why}", folder.display()))
                .hint("take one of the MiniLM kind, such as sentence-transformers/all-MiniLM-L6-v2")
        };
        let config: Config = serde_json::from_slice(&read("config.json")?)
            .map_err(|e| other(format!("config.json is not that of a BERT model ({e})")))?;
        let sizes =
            [config.hidden_size, config.num_attention_heads, config.intermediate_size, config.num_hidden_layers];
        if !sizes.iter().all(|size| (1..=8192).contains(size))
            || !config.hidden_size.is_multiple_of(config.num_attention_heads)
            || !(3..=8192).contains(&config.max_position_embeddings)
        {
            return Err(other("config.json has sizes that do not fit together".into()));
        }
        if config.hidden_act != "gelu" {
            return Err(other(format!("its activation is {:?}, not gelu", config.hidden_act)));
        }
        let vocabulary = read("vocab.txt")?;
        let file = read("model.safetensors")?;
        let mut hash = blake3::Hasher::new();
        hash.update(&vocabulary).update(&file);
        let model = format!("minilm-{}-{}", config.hidden_size, &hash.finalize().to_hex()[..12]);
        let vocabulary = Vocabulary::read(&vocabulary).map_err(other)?;
        let weights = Weights::read(&file, folder)?;
        let encoder = Encoder::read(&config, vocabulary.size, &weights)?;
        Ok(MiniLm { model, vocabulary, encoder })
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let words_of = &self.vocabulary;
        let most = MOST_PIECES.min(self.encoder.positions) - 1;
        let (mut pieces, mut known) = (vec![words_of.start], false);
        words(beginning(text, MOST_BYTES), words_of, |found| {
            known |= found.is_some();
            for &piece in found.unwrap_or(&[words_of.unknown]) {
                if pieces.len() < most {
                    pieces.push(piece);
                }
            }
        });
        pieces.push(words_of.end);
        let mut vector = if known { self.encoder.mean(&pieces) } else { vec![0.0; self.encoder.width] };
        normalise(&mut vector);
        vector.resize(self.dimensions(), 0.0);
        vector
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.encoder.width.next_multiple_of(64)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    /// Returns false: a text takes tens of milliseconds.
    fn is_quick(&self) -> bool {
        false
    }
}

/// The pieces of `vocab.txt`: those that start a word, and those that continue one.
struct Vocabulary {
    starting: HashMap<String, u32>,
    continuing: HashMap<String, u32>,
    longest: usize,
    size: usize,
    start: u32,
    end: u32,
    unknown: u32,
}

impl Vocabulary {
    fn read(file: &[u8]) -> Result<Vocabulary, String> {
        let text = str::from_utf8(file).map_err(|_| "vocab.txt is not text".to_owned())?;
        let (mut starting, mut continuing) = (HashMap::new(), HashMap::new());
        let mut size = 0;
        for piece in text.lines() {
            match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => continuing.insert(rest.to_owned(), size),
                _ => starting.insert(piece.to_owned(), size),
            };
            size += 1;
        }
        let named = |name: &str| starting.get(name).copied().ok_or(format!("vocab.txt has no {name}"));
        let (start, end, unknown) = (named("[CLS]")?, named("[SEP]")?, named("[UNK]")?);
        let longest = starting.keys().chain(continuing.keys()).map(String::len).max().unwrap_or(0);
        Ok(Vocabulary { starting, continuing, longest, size: size as usize, start, end, unknown })
    }
}

impl Pieces for Vocabulary {
    fn longest(&self, word: &str, continuing: bool) -> Option<(usize, u32)> {
        let pieces = if continuing { &self.continuing } else { &self.starting };
        (1..=word.len().min(self.longest))
            .rev()
            .filter_map(|length| Some((length, word.get(..length)?)))
            .find_map(|(length, beginning)| Some((length, *pieces.get(beginning)?)))
    }
}
