//! Checks that every embedder has to pass, however it makes its vectors.

use heirloom_engine::index::Embedder;

/// Returns texts that nobody should write and somebody will.
pub fn hostile() -> Vec<String> {
    vec![
        "\u{0}\u{1}\u{7f}\u{9f}\u{feff}\u{200b}".into(),
        "\u{301}\u{301}\u{301}".into(),
        "e\u{301}\u{302}".repeat(20_000),
        "a".repeat(3_000_000),
        "!".repeat(3_000_000),
        "the cat sat on the mat. ".repeat(100_000),
        "記憶は大切です。".repeat(10_000),
        "🦀👩‍👩‍👧‍👦".repeat(10_000),
        "\u{202e}reversed\u{202c} İSTANBUL ﬁ ǅ ẞ".into(),
        "## ##ing [UNK] [CLS] [SEP] [PAD]".into(),
        format!("{}é", "x".repeat(16 * 1024 - 1)),
    ]
}

/// Checks the contract of the trait. `Busy` fails the check: the caller makes sure that the model answers.
pub fn conforms(model: &dyn Embedder) {
    let n = model.dimensions();
    assert!(n > 0 && n.is_multiple_of(64), "{n} dimensions");
    assert!(!model.model().is_empty() && model.model() == model.model());
    assert!(model.embed(&[]).unwrap().is_empty(), "no texts, no vectors");

    let plain = ["the build failed on the linker step", "we had dinner by the lake", "fn main() -> Result<(), Error>"];
    let hostile = hostile();
    let mut texts: Vec<&str> = plain.to_vec();
    texts.extend(["", " \n\t"]);
    texts.extend(hostile.iter().map(String::as_str));
    texts.extend(plain);
    let together = model.embed(&texts).unwrap();
    assert_eq!(together.len(), texts.len(), "one vector for each text");
    for (text, vector) in texts.iter().zip(&together) {
        let start: String = text.chars().take(20).collect();
        assert_eq!(vector.len(), n, "{start:?}");
        let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let zero = vector.iter().all(|&x| x == 0.0);
        assert!(zero || (length - 1.0).abs() < 1e-5, "{start:?} has length {length}");
    }
    for text in 0..plain.len() {
        assert!(together[text].iter().any(|&x| x != 0.0), "{} has a vector", plain[text]);
        assert_eq!(together[text], together[texts.len() - plain.len() + text], "the place in the batch says nothing");
    }
    assert!(together[3].iter().chain(&together[4]).all(|&x| x == 0.0), "nothing is near to nothing");
    assert_ne!(together[0], together[1]);

    let mut backwards = texts.clone();
    backwards.reverse();
    let mut again = model.embed(&backwards).unwrap();
    again.reverse();
    assert!(again == together, "the order of texts is the order of vectors, and asking again changes nothing");
    for (text, vector) in texts.iter().zip(&together) {
        assert!(model.embed(&[text]).unwrap()[0] == *vector, "alone as in a batch");
    }
    let shared = std::thread::scope(|scope| {
        let other = scope.spawn(|| model.embed(&plain).unwrap());
        (model.embed(&plain).unwrap(), other.join().unwrap())
    });
    assert_eq!(shared.0, shared.1, "two threads, one model");
}

/// Checks that texts near in meaning have vectors near in angle. In each row the first two belong together; the third
/// shares words or form with the first and means something else.
pub fn places_meanings(model: &dyn Embedder) {
    let rows = [
        ["the dog chased a cat", "a puppy ran after the kitten", "the committee chased a deadline"],
        ["how do I fix a null pointer crash", "debugging a segmentation fault", "how do I fix a flat bicycle tyre"],
        ["we moved to a new apartment", "they bought a house and relocated", "we moved the meeting to a new day"],
        ["the database query is slow", "SQL performance is poor", "the train to the coast is slow"],
        [
            "my daughter plays the violin",
            "her child is learning a musical instrument",
            "my daughter fell off the swing",
        ],
        ["deploy the server to production", "release the service to live users", "the waiter served the dessert"],
        [
            "she was very sad after the funeral",
            "grief over a death in the family",
            "she was very early after the holiday",
        ],
        ["encrypt the password before storing it", "hash credentials securely", "store the potatoes before winter"],
    ];
    let mut wrong = Vec::new();
    for [a, near, far] in rows {
        let v = model.embed(&[a, near, far]).unwrap();
        let cosine = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
        if cosine(&v[0], &v[1]) <= cosine(&v[0], &v[2]) {
            wrong.push(a);
        }
    }
    assert!(wrong.len() <= 1, "near meanings are not nearer: {wrong:?}");
    let v = model.embed(&["the dog chased a cat", "The DOG chased a cat!", "the invoice is overdue"]).unwrap();
    let cosine = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
    assert!(cosine(&v[0], &v[1]) > 0.9 && cosine(&v[0], &v[2]) < 0.5);
}
