//! The operator's profile.

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::Value;

/// The profile: known keys first, in their order, then the others by name.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProfileReport {
    pub profile: Vec<Value>,
}

/// A value of the profile that was set or removed.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ProfileChange {
    pub key: String,
    /// The value; `None` if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub changed: bool,
}
