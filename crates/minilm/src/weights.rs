//! The tensors of a safetensors file: a JSON header with the place of each, then their bytes.

use std::collections::HashMap;
use std::path::Path;

use heirloom_engine::error::{Error, Result};
use serde::Deserialize;

pub(super) struct Weights<'a> {
    entries: HashMap<String, Entry>,
    bytes: &'a [u8],
    folder: &'a Path,
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Weights<'a> {
    pub(super) fn read(file: &'a [u8], folder: &'a Path) -> Result<Weights<'a>> {
        let broken = || {
            Error::damaged(format!("model.safetensors in {} is cut short or no safetensors file", folder.display()))
                .hint("fetch the file again")
        };
        let (size, rest) = file.split_first_chunk::<8>().ok_or_else(broken)?;
        let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| broken())?;
        let (header, bytes) = rest.split_at_checked(size).ok_or_else(broken)?;
        let mut header: HashMap<String, serde_json::Value> = serde_json::from_slice(header).map_err(|_| broken())?;
        header.remove("__metadata__");
        let mut entries = HashMap::new();
        for (name, entry) in header {
            let entry: Entry = serde_json::from_value(entry).map_err(|_| broken())?;
            // Some models are saved with the encoder's name before every tensor's.
            entries.insert(name.strip_prefix("bert.").unwrap_or(&name).to_owned(), entry);
        }
        Ok(Weights { entries, bytes, folder })
    }

    /// Returns the numbers of the tensor of that name and shape.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let place = || format!("model.safetensors in {}", self.folder.display());
        let refused = |why: String| {
            Error::refused(format!("{} {why}", place())).hint("it must hold a BERT encoder in F32; convert it first")
        };
        let entry = self.entries.get(name).ok_or_else(|| refused(format!("has no {name}")))?;
        if entry.dtype != "F32" || entry.shape != shape {
            return Err(refused(format!("has {name} as {} {:?}, not F32 {shape:?}", entry.dtype, entry.shape)));
        }
        let (start, end) = entry.data_offsets;
        let bytes = self.bytes.get(start..end).filter(|b| b.len() == 4 * shape.iter().product::<usize>());
        let bytes = bytes.ok_or_else(|| {
            Error::damaged(format!("{} is cut short at {name}", place())).hint("fetch the file again")
        })?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
    }
}
