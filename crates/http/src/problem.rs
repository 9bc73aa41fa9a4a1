//! The form of an error answer: `application/problem+json` (RFC 9457), by the table of kinds in [`ErrorKind::told`].

use std::ops::{Deref, DerefMut};

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use heirloom_engine::error::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Maximum number of characters of a sentence in a problem: a hostile id is not echoed whole.
const LONGEST: usize = 600;

/// An error answer in a box, so that the many results that carry one stay small.
#[derive(Clone, Debug)]
pub struct Problem(Box<Form>);

impl Deref for Problem {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.0
    }
}

impl DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Form {
        &mut self.0
    }
}

/// Body of an error answer.
#[derive(Clone, Serialize, JsonSchema, Debug)]
#[schemars(rename = "Problem")]
pub struct Form {
    /// Kind of the error as `urn:heirloom:<kind>`; programs branch on it.
    #[serde(rename = "type")]
    pub urn: String,
    /// Kind of the error in words for people.
    pub title: String,
    pub status: u16,
    /// Description of what went wrong.
    pub detail: String,
    /// Exit code the command line has for this error.
    pub exit: u8,
    /// Suggested next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Process or program that holds what the request needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Current state of the thing, if the edit was based on an older one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Value>,
    /// Response headers that belong to this error.
    #[serde(skip)]
    headers: Vec<(axum::http::HeaderName, String)>,
}

/// Errors only HTTP has, each with the name, exit code, status and title of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    Malformed,
    Unauthorized,
    Forbidden,
    NoMethod,
    TooLarge,
    MediaType,
    NoMatch,
    Unconditional,
}

impl Wrong {
    #[cfg(test)]
    const ALL: [Wrong; 8] = [
        Wrong::Malformed,
        Wrong::Unauthorized,
        Wrong::Forbidden,
        Wrong::NoMethod,
        Wrong::TooLarge,
        Wrong::MediaType,
        Wrong::NoMatch,
        Wrong::Unconditional,
    ];

    fn told(self) -> (&'static str, ErrorKind, u16, &'static str) {
        use ErrorKind::{Refused, Usage};
        match self {
            Wrong::Malformed => ("malformed", Usage, 400, "The request cannot be read"),
            Wrong::Unauthorized => ("unauthorized", Refused, 401, "Who asks is not known"),
            Wrong::Forbidden => ("forbidden", Refused, 403, "This may not be asked from there"),
            Wrong::NoMethod => ("method", Usage, 405, "This is not done with it"),
            Wrong::TooLarge => ("too-large", Usage, 413, "The body is too large"),
            Wrong::MediaType => ("media-type", Usage, 415, "The body is of another type"),
            Wrong::NoMatch => ("changed", Refused, 412, "It was changed in between"),
            Wrong::Unconditional => ("if-match", Usage, 428, "The edit does not say what it rests on"),
        }
    }
}

impl Problem {
    pub fn of(wrong: Wrong, detail: impl Into<String>, next: &str) -> Problem {
        let (name, kind, status, title) = wrong.told();
        let mut problem = Problem::new(name, kind.told().exit, status, title, detail.into());
        problem.next = (!next.is_empty()).then(|| next.to_owned());
        problem
    }

    fn new(name: &str, exit: u8, status: u16, title: &str, detail: String) -> Problem {
        Problem(Box::new(Form {
            urn: format!("urn:heirloom:{name}"),
            title: title.to_owned(),
            status,
            detail: cut(detail),
            exit,
            next: None,
            holder: None,
            current: None,
            headers: Vec::new(),
        }))
    }

    /// Returns the problem for a call that ended without an answer because the memory stopped.
    pub fn stopped() -> Problem {
        let machine = ErrorKind::Machine.told();
        Problem::new(machine.name, machine.exit, machine.status, machine.title, "the memory stopped".into())
    }

    pub fn unauthorized(detail: &str) -> Problem {
        let next = "send `Authorization: Bearer TOKEN`; heirloom token new makes one";
        let mut problem = Problem::of(Wrong::Unauthorized, detail, next);
        problem.headers.push((WWW_AUTHENTICATE, "Bearer".into()));
        problem
    }

    pub fn no_method(allowed: &str) -> Problem {
        let mut problem =
            Problem::of(Wrong::NoMethod, "this path is not asked with this method", "see /v1/openapi.json");
        if !allowed.is_empty() {
            problem.headers.push((ALLOW, allowed.to_owned()));
        }
        problem
    }

    /// Returns the problem for an edit that was based on an older state. `tag` and `current` are those of the newest
    /// state.
    pub fn changed(tag: &str, current: Value) -> Problem {
        let next = "make the edit again from `current`, and send its ETag as If-Match";
        let mut problem = Problem::of(Wrong::NoMatch, "somebody changed it since you read it", next);
        problem.current = Some(current);
        problem.headers.push((ETAG, tag.to_owned()));
        problem
    }

    /// Returns the problem for something another program holds for at most `free_in_ms` milliseconds more.
    pub fn held(holder: Option<String>, detail: String, next: String, free_in_ms: i64) -> Problem {
        let mut problem = Problem::from(Error::new(ErrorKind::Busy, detail));
        problem.next = Some(next);
        problem.holder = holder;
        problem.headers = vec![(RETRY_AFTER, ((free_in_ms.max(0) + 999) / 1000).max(1).to_string())];
        problem
    }

    pub fn with_current(mut self, current: Value) -> Problem {
        self.current = Some(current);
        self
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let told = error.kind().told();
        let mut problem = Problem::new(told.name, told.exit, told.status, told.title, error.to_string());
        problem.next = error.next_step().map(|next| cut(next.to_owned()));
        if error.kind() == ErrorKind::Busy {
            problem.headers.push((RETRY_AFTER, "1".into()));
        }
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let form = *self.0;
        let body = serde_json::to_vec(&form).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(form.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        for (name, value) in form.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_every_status_means_one_thing() {
        let mut names: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.told().name).collect();
        names.extend(Wrong::ALL.iter().map(|wrong| wrong.told().0));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for wrong in Wrong::ALL {
            assert!((400..500).contains(&wrong.told().2), "{wrong:?}");
        }
    }

    #[test]
    fn a_long_detail_is_cut_between_characters() {
        let problem = Problem::from(Error::usage("ü".repeat(1 << 20)));
        assert_eq!(problem.detail.chars().count(), LONGEST + 1);
    }
}
