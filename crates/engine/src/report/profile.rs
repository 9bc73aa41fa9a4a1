//! The operator's profile.

use serde::Serialize;

use crate::clock::rfc3339;
use crate::profile::Value;

/// The profile: known keys first, in their order, then the others by name.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ProfileReport {
    pub profile: Vec<ProfileValue>,
    #[serde(skip)]
    pub values: Vec<Value>,
}

/// A value of the profile.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ProfileValue {
    pub key: String,
    pub value: String,
    /// Where it came from: `user` or `prompt`.
    pub source: String,
    /// When it was set.
    pub set: String,
}

impl ProfileReport {
    pub fn of(values: Vec<Value>) -> ProfileReport {
        let profile = values.iter().map(|v| ProfileValue {
            key: v.key.clone(),
            value: v.value.clone(),
            source: v.source.clone(),
            set: rfc3339(v.set_at),
        });
        ProfileReport { profile: profile.collect(), values }
    }
}

/// A value of the profile after it was set or taken out.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ProfileChange {
    pub key: String,
    /// `None` where it was taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub changed: bool,
}
