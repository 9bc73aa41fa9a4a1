//! The form of an error answer: `application/problem+json` (RFC 9457), by the table of kinds in [`ErrorKind::told`].
//! Every problem says what to do next: its own step, or else that of its kind.

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
    pub next: String,
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

/// Errors only HTTP has, each with the name, exit code, status, title and usual next step of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    Malformed,
    Unauthorized,
    Forbidden,
    NoMethod,
    NotAcceptable,
    TooLarge,
    MediaType,
    NoMatch,
    Unconditional,
}

impl Wrong {
    #[cfg(test)]
    const ALL: [Wrong; 9] = [
        Wrong::Malformed,
        Wrong::Unauthorized,
        Wrong::Forbidden,
        Wrong::NoMethod,
        Wrong::NotAcceptable,
        Wrong::TooLarge,
        Wrong::MediaType,
        Wrong::NoMatch,
        Wrong::Unconditional,
    ];

    fn told(self) -> (&'static str, ErrorKind, u16, &'static str, &'static str) {
        use ErrorKind::{Refused, Usage};
        match self {
            Wrong::Malformed => {
                ("malformed", Usage, 400, "The request cannot be read", "send it as /v1/openapi.json says")
            }
            Wrong::Unauthorized => (
                "unauthorized",
                Refused,
                401,
                "Who asks is not known",
                "send `Authorization: Bearer TOKEN`; heirloom token new makes one",
            ),
            Wrong::Forbidden => (
                "forbidden",
                Refused,
                403,
                "This may not be asked from there",
                "ask through the socket run/heirloom.sock of the home, as the user it belongs to",
            ),
            Wrong::NoMethod => (
                "method",
                Usage,
                405,
                "This is not done with it",
                "use a method that /v1/openapi.json has for this path",
            ),
            Wrong::NotAcceptable => (
                "not-acceptable",
                Usage,
                406,
                "There is no answer of that type",
                "send `Accept: application/json, text/event-stream`",
            ),
            Wrong::TooLarge => ("too-large", Usage, 413, "The body is too large", "send less at once"),
            Wrong::MediaType => {
                ("media-type", Usage, 415, "The body is of another type", "send `Content-Type: application/json`")
            }
            Wrong::NoMatch => (
                "changed",
                Refused,
                412,
                "It was changed in between",
                "make the edit again from `current`, and send its ETag as If-Match",
            ),
            Wrong::Unconditional => (
                "if-match",
                Usage,
                428,
                "The edit does not say what it rests on",
                "GET it, and send its ETag as If-Match with the edit",
            ),
        }
    }
}

/// Returns the next step for an error of the engine that names none of its own.
fn usual_step(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "compare the request with /v1/openapi.json",
        ErrorKind::Refused => "read what is there now, and decide again",
        ErrorKind::NotFound => "the lists and searches of /v1/openapi.json name what there is",
        ErrorKind::Damaged => "see what is affected: heirloom verify",
        ErrorKind::Busy => "send the same request again in a moment",
        ErrorKind::Machine => "look at the machine with heirloom doctor, then send the request again",
    }
}

impl Problem {
    /// Makes a problem with the usual next step of its kind.
    pub fn of(wrong: Wrong, detail: impl Into<String>) -> Problem {
        let (name, kind, status, title, next) = wrong.told();
        Problem::new(name, kind.told().exit, (status, title), detail.into(), next)
    }

    fn new(name: &str, exit: u8, (status, title): (u16, &str), detail: String, next: &str) -> Problem {
        Problem(Box::new(Form {
            urn: format!("urn:heirloom:{name}"),
            title: title.to_owned(),
            status,
            detail: cut(detail),
            exit,
            next: cut(next.to_owned()),
            holder: None,
            current: None,
            headers: Vec::new(),
        }))
    }

    /// Replaces the usual next step by one for this case.
    pub fn next(mut self, step: &str) -> Problem {
        self.next = cut(step.to_owned());
        self
    }

    /// Returns the problem for a call that ended without an answer because the memory stopped.
    pub fn stopped() -> Problem {
        Error::new(ErrorKind::Machine, "the memory stopped").into()
    }

    pub fn unauthorized(detail: &str) -> Problem {
        let mut problem = Problem::of(Wrong::Unauthorized, detail);
        problem.headers.push((WWW_AUTHENTICATE, "Bearer".into()));
        problem
    }

    pub fn no_method(allowed: &str) -> Problem {
        let mut problem = Problem::of(Wrong::NoMethod, "this path is not asked with this method");
        if !allowed.is_empty() {
            problem.headers.push((ALLOW, allowed.to_owned()));
        }
        problem
    }

    /// Returns the problem for an edit that was based on an older state. `tag` and `current` are those of the newest
    /// state.
    pub fn changed(tag: &str, current: Value) -> Problem {
        let mut problem = Problem::of(Wrong::NoMatch, "somebody changed it since you read it");
        problem.current = Some(current);
        problem.headers.push((ETAG, tag.to_owned()));
        problem
    }

    /// Returns the problem for something another program holds for at most `free_in_ms` milliseconds more.
    pub fn held(holder: Option<String>, detail: String, next: String, free_in_ms: i64) -> Problem {
        let mut problem = Problem::from(Error::new(ErrorKind::Busy, detail)).next(&next);
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
        let next = error.next_step().unwrap_or_else(|| usual_step(error.kind()));
        let mut problem = Problem::new(told.name, told.exit, (told.status, told.title), error.to_string(), next);
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
            assert!(!Problem::of(wrong, "x").next.is_empty(), "{wrong:?}");
        }
        for kind in ErrorKind::ALL {
            assert!(!Problem::from(Error::new(kind, "x")).next.is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn a_long_detail_is_cut_between_characters() {
        let problem = Problem::from(Error::usage("ü".repeat(1 << 20)));
        assert_eq!(problem.detail.chars().count(), LONGEST + 1);
    }
}
