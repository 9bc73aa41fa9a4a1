//! Tests of models over real connections and real processes, with servers and programs that answer as a test says.

mod keys;
mod programs;
mod providers;
mod shapes;
mod walls;

use heirloom_engine::model::{Ask, Purpose};
use heirloom_model::Folders;
use heirloom_testkit::TestHome;
use serde_json::{Value, json};

/// Returns a schema with a length, which strict forms refuse, and an optional field.
pub fn schema() -> Value {
    json!({
        "type": "object", "required": ["says"], "additionalProperties": false,
        "properties": {"says": {"type": "string", "maxLength": 40}, "why": {"type": "string"}},
    })
}

pub fn ask(schema: &Value) -> Ask<'_> {
    Ask { purpose: Purpose::Trial, system: "Say it.", input: "my diary", schema, max_output: 200 }
}

/// Returns the two folders of a home that a program works with.
pub fn folders(home: &TestHome) -> Folders {
    Folders { empty: home.folder("model"), scratch: home.folder("scratch") }
}
