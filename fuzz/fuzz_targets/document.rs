//! Markdown with front matter: printed it is what was read, and a change does what it says or nothing.
#![no_main]

use heirloom_engine::document::Document;
use serde_json::json;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let before = Document::parse(data);
    assert_eq!(before.print(), data, "reading changes nothing");
    before.bullets();
    before.heading();
    for (key, value) in [("title", json!("a: # b")), ("tags", json!(["x", "- y"])), ("new key", json!(null))] {
        let mut changed = before.clone();
        match changed.set(key, &value) {
            Ok(()) => {
                assert_eq!(changed.get(key), Some(&value));
                assert_eq!(changed.body(), before.body(), "the body is left alone");
                for (other, was) in before.fields().iter().filter(|(other, _)| *other != key) {
                    assert_eq!(changed.get(other), Some(was), "the other keys are left alone");
                }
            }
            Err(_) => assert_eq!(changed.print(), data, "what is refused changes nothing"),
        }
        let mut without = before.clone();
        if without.unset(key).is_ok() {
            assert_eq!(without.get(key), None);
            assert_eq!(without.body(), before.body());
        }
    }
    let mut rendered = before.clone();
    rendered.set_region("head", "", "one\n\ntwo\n");
    let once = rendered.print().to_vec();
    rendered.set_region("head", "", "one\n\ntwo\n");
    assert_eq!(rendered.print(), once, "rendering the same again changes nothing");
    let mut body = before.clone();
    let _ = body.set_body("# Other\n\ntext");
    let _ = body.set_heading("Another");
    let _ = body.append("- one more", true);
});
