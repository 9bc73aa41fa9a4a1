//! A sentence model from a folder. `HEIRLOOM_MINILM` names one: `cargo test -p heirloom-minilm -- --include-ignored`.

use std::fs;
use std::path::PathBuf;

use heirloom_engine::error::ErrorKind;
use heirloom_engine::index::Embedder;
use heirloom_minilm::MiniLm;

use crate::suite;

/// Returns the folder with config.json, model.safetensors and vocab.txt.
fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("HEIRLOOM_MINILM").expect("HEIRLOOM_MINILM names the folder of a model"))
}

/// lineage: R10.8
#[test]
#[ignore = "needs a model: HEIRLOOM_MINILM names its folder"]
fn a_model_from_a_folder_conforms() {
    let folder = folder();
    let model = MiniLm::open(&folder).unwrap();
    suite::conforms(&model);
    suite::places_meanings(&model);
    assert_eq!(MiniLm::open(&folder).unwrap().model(), model.model());
}

/// The example all-MiniLM-L6-v2's card publishes. lineage: R10.8
#[test]
#[ignore = "needs all-MiniLM-L6-v2: HEIRLOOM_MINILM names its folder"]
fn all_minilm_l6_v2_is_itself() {
    let folder = folder();
    let model = MiniLm::open(&folder).unwrap();
    assert_eq!(model.model(), "minilm-384-ff386c82f58d");
    let vectors = model.embed(&["This is an example sentence", "Each sentence is converted"]).unwrap();
    for (x, wanted) in vectors[0].iter().zip([0.0677, 0.0635, 0.0487, 0.0793]) {
        assert!((x - wanted).abs() < 1e-4, "{x} {wanted}");
    }
    let cosine = |v: &[Vec<f32>]| v[0].iter().zip(&v[1]).map(|(x, y)| x * y).sum::<f32>();
    assert!((cosine(&vectors) - 0.40456).abs() < 1e-4, "{}", cosine(&vectors));
}

/// A folder may contain any files, so folders without a model are refused.
#[test]
fn folders_without_a_model_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model");
    let write = |name: &str, bytes: &[u8]| fs::write(place.join(name), bytes).unwrap();
    let refused = |why: &str| {
        let Err(error) = MiniLm::open(&place) else { panic!("{why}: opened") };
        assert!(error.next_step().is_some(), "{why}: {error}");
        error.kind()
    };
    fs::create_dir_all(&place).unwrap();
    assert_eq!(refused("nothing there"), ErrorKind::NotFound);
    write("config.json", b"{\"hidden_size\": 384}");
    assert_eq!(refused("another config"), ErrorKind::Refused);
    let config = |heads: usize| {
        format!(
            r#"{{"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": {heads}, "intermediate_size": 8,
                "max_position_embeddings": 8, "hidden_act": "gelu"}}"#
        )
    };
    write("config.json", config(3).as_bytes());
    assert_eq!(refused("heads that do not divide"), ErrorKind::Refused);
    write("config.json", config(2).as_bytes());
    write("vocab.txt", b"[CLS]\n[SEP]\na\n");
    write("model.safetensors", b"");
    assert_eq!(refused("no [UNK]"), ErrorKind::Refused);
    write("vocab.txt", b"[CLS]\n[SEP]\n[UNK]\na\n");
    assert_eq!(refused("empty weights"), ErrorKind::Damaged);
    write("model.safetensors", &[255; 64]);
    assert_eq!(refused("a header of impossible length"), ErrorKind::Damaged);
    let named = |header: &str| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 16]].concat();
    write("model.safetensors", &named("{}"));
    assert_eq!(refused("no tensors"), ErrorKind::Refused);
    let places =
        r#"{"embeddings.position_embeddings.weight": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}"#;
    write("model.safetensors", &named(places));
    assert_eq!(refused("a tensor longer than the file"), ErrorKind::Damaged);
    write("model.safetensors", &named(&places.replace("[0, 256]", "[256, 0]")));
    assert_eq!(refused("a tensor that ends before it starts"), ErrorKind::Damaged);
    write("model.safetensors", &named(&places.replace("F32", "F16")));
    assert_eq!(refused("half precision"), ErrorKind::Refused);
}
