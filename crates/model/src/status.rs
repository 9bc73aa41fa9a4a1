//! The meaning of an error answer, whichever server gave it (R14.4).
//!
//! Servers of the same protocol report errors in different shapes: below `error`, at the top, in a list, as a text, or
//! inside an answer with status 200. A message has the origin, the status and the provider's code for it; it never has
//! the provider's words, which may repeat the key or the question.

use std::time::{Duration, SystemTime};

use heirloom_engine::model::Failure;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;
use ureq::http::HeaderMap;

/// Longest pause requested by a provider that is kept: a day, since the next day has a new budget.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The account cannot pay. The word "billing" alone says nothing: rate limits name the page where one pays.
const NOTHING_LEFT: [&str; 3] = ["insufficient_quota", "credit balance", "billing_"];

/// The question is longer than the model accepts.
const TOO_LONG: [&str; 3] = ["too long", "too many tokens", "maximum number of tokens"];

/// The same in words that can mean nothing else: a server that fails may also say that something took too long.
const PAST_THE_CONTEXT: [&str; 4] = ["context length", "context_length", "context size", "context window"];

/// The model's name is wrong.
const WRONG_MODEL: [&str; 8] = [
    "model_not_found",
    "invalid model",
    "unknown model",
    "model not found",
    "no such model",
    "model does not exist",
    "not a valid model",
    "unsupported_model",
];

/// The question's own words are the reason, so that another question may be accepted: their form, or a filter of what may
/// be asked.
const ABOUT_THE_INPUT: [&str; 15] = [
    "prompt",
    "messages",
    "text content",
    "input is",
    "input text",
    "input length",
    "invalid utf",
    "surrogate",
    "content filter",
    "content_filter",
    "content policy",
    "content_policy",
    "safety",
    "moderation",
    "flagged",
];

/// The key is not accepted; some servers say so with status 400.
const BAD_KEY: [&str; 4] = ["incorrect api key", "invalid api key", "api key not valid", "invalid_api_key"];

/// The provider's filter refuses the content.
const FILTERED: [&str; 4] = ["content_filter", "content management policy", "flagged_input", "flagged as"];

/// An answer that reports an error.
pub(crate) struct Status {
    /// The status of the error; 500 if an answer with status 200 reports an error without one.
    pub status: u16,
    /// Whether the answer had status 200 and the error stands inside.
    inside: bool,
    /// The provider's words in lower case; they are searched and never passed on.
    words: String,
    /// The provider's error code: letters and underscores.
    code: Option<String>,
    after: Option<Duration>,
}

impl Status {
    /// Reads an answer with an error status. `after`: the pause the answer asks for.
    pub fn of(status: u16, body: &[u8], after: Option<Duration>) -> Status {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        // Google puts the answer into a list. vLLM and others put the fields of the error at the top.
        let body = body.get(0).unwrap_or(&body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        Status::read(status, false, error, body, after)
    }

    /// Reads the error inside an answer with status 200, if there is one. Servers that pass questions on answer so if the
    /// server behind them failed.
    pub fn inside(answer: &Value, after: Option<Duration>) -> Option<Status> {
        let answer = answer.get(0).unwrap_or(answer);
        let reports = |error: &&Value| match error {
            Value::Object(fields) => !fields.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => false,
        };
        let places = [answer.get("error"), answer.pointer("/choices/0/error")];
        let error = places.into_iter().flatten().find(reports)?;
        let numbers = ["code", "status"].iter().filter_map(|name| error[*name].as_u64());
        let status = numbers.filter_map(|n| u16::try_from(n).ok()).find(|n| (400..600).contains(n));
        Some(Status::read(status.unwrap_or(500), true, error, answer, after))
    }

    /// `around`: the object that has the error, or the error itself.
    fn read(status: u16, inside: bool, error: &Value, around: &Value, after: Option<Duration>) -> Status {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        // Only the fields that say what happened: others repeat the question or the model's words.
        let said = [&error["message"], &error["type"], &error["code"], &error["detail"], error, &around["code"]];
        // A server that passes questions on puts the words of the server behind it here.
        let behind = &error["metadata"]["raw"];
        let mut words = said.map(text).join(" ");
        words.push_str(&text(behind));
        if !error["metadata"]["flagged_input"].is_null() {
            words.push_str(" flagged_input");
        }
        let plain =
            |code: &&str| (1..=40).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let code = [&error["code"], &error["type"]].into_iter().find_map(|v| v.as_str().filter(plain));
        Status { status, inside, words, code: code.map(str::to_owned), after }
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }

    /// Whether the question is longer than the model accepts.
    pub fn is_too_long(&self) -> bool {
        // "Too many tokens" with status 429 means: in this minute.
        match self.status {
            413 => true,
            400 | 422 => self.has(&TOO_LONG) || self.has(&PAST_THE_CONTEXT),
            500 => self.has(&PAST_THE_CONTEXT),
            _ => false,
        }
    }

    /// Whether the provider's filter refuses this question; others may be accepted.
    pub fn is_filtered(&self) -> bool {
        matches!(self.status, 400 | 403) && self.has(&FILTERED)
    }

    /// Whether the key is not accepted.
    pub fn is_about_the_key(&self) -> bool {
        !self.is_filtered() && (matches!(self.status, 401 | 403) || (self.status == 400 && self.has(&BAD_KEY)))
    }

    /// Whether a part of the request can be the reason, so that another form of it may be accepted.
    pub fn is_about_the_form(&self) -> bool {
        matches!(self.status, 400 | 415 | 422 | 501)
            && !self.is_too_long()
            && !self.is_filtered()
            && !self.is_about_the_key()
    }

    /// Whether no other form of the request helps: the model's name is wrong, or there is nothing left to spend.
    pub fn is_hopeless(&self) -> bool {
        self.has(&NOTHING_LEFT) || self.has(&WRONG_MODEL)
    }

    /// Whether the request is refused for a reason that lies in the settings: it says nothing about the question, so
    /// every other question would be refused, too.
    fn is_about_the_settings(&self) -> bool {
        matches!(self.status, 400 | 405 | 415 | 422 | 501)
            && !self.is_about_the_answer()
            && (self.has(&WRONG_MODEL) || !self.has(&ABOUT_THE_INPUT))
    }

    /// Whether the server itself checked the model's words against the form and did not find it. That says nothing about
    /// the forms it accepts.
    pub fn is_about_the_answer(&self) -> bool {
        self.code.as_deref() == Some("json_validate_failed")
    }

    /// Whether the provider names this part of a request.
    pub fn names(&self, part: &str) -> bool {
        self.words.contains(part)
    }

    /// Returns the failure this means. `origin`: scheme, host and port of the provider.
    pub fn failure(&self, origin: &str) -> Failure {
        let code = self.code.as_ref().map(|code| format!(", {code}")).unwrap_or_default();
        let at = match self.inside {
            false => format!("{origin} (status {}{code})", self.status),
            true => format!("{origin} (status 200, inside it error {}{code})", self.status),
        };
        match self.status {
            300..=399 => Failure::Refused(format!("{at} has moved to another address; redirects are not followed")),
            // With a pause it is not the account that is empty, but the share of the questions under way.
            402 if self.after.is_some() => Failure::Later { why: at, after: self.after },
            _ if self.status == 402 || self.has(&NOTHING_LEFT) => {
                Failure::Refused(format!("there is nothing left to spend at {at}"))
            }
            _ if self.is_filtered() => Failure::Unusable(format!("the question is refused by a filter of {at}")),
            _ if self.is_about_the_key() => Failure::Refused(format!("its key is not accepted at {at}")),
            404 => Failure::Refused(format!("there is no such model or address at {at}")),
            _ if self.is_too_long() => Failure::Unusable(format!("the question is longer than it takes, says {at}")),
            408 | 425 | 429 | 500..=599 => Failure::Later { why: at, after: self.after },
            _ if self.has(&WRONG_MODEL) => Failure::Refused(format!("there is no such model at {at}")),
            _ if self.is_about_the_settings() => Failure::Refused(format!(
                "no request is accepted by {at}: the model's name, the address or an option of it is wrong"
            )),
            _ => Failure::Unusable(format!("the question is not accepted by {at}")),
        }
    }
}

/// Reads the header `Retry-After`: seconds, also with a fraction, or a point in time.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    let pause = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds.ceil()).ok()?,
        Err(_) => {
            let until = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            let now = Timestamp::try_from(SystemTime::now()).ok()?;
            Duration::try_from(until.duration_since(now)).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, body: &str) -> String {
        Status::of(status, body.as_bytes(), None).failure("https://a.example").to_string()
    }

    #[test]
    fn a_pause_is_read_in_each_form_and_has_an_end() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(of("7"), Some(Duration::from_secs(7)));
        assert_eq!(of("1.2"), Some(Duration::from_secs(2)));
        assert_eq!(of("99999999999"), Some(LONGEST_PAUSE));
        assert_eq!(of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(of("Fri, 06 Nov 2893 08:49:37 GMT"), Some(LONGEST_PAUSE));
        for odd in ["soon", "-1", "nan", "inf"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_a_server_says_is_not_repeated() {
        let echo = r#"{"error":{"type":"sk-secret","message":"bad key sk-secret for 'my diary'"}}"#;
        assert_eq!(said(401, echo), "it refuses: its key is not accepted at https://a.example (status 401)");
        let quota = r#"{"error":{"message":"You exceeded","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert!(said(429, quota).starts_with("it refuses: there is nothing left"), "{}", said(429, quota));
        assert!(said(400, r#"{"error":{"message":"Your credit balance is too low"}}"#).starts_with("it refuses"));
        assert!(said(529, r#"{"error":{"type":"overloaded_error"}}"#).ends_with("(status 529, overloaded_error)"));
        assert!(said(302, "").contains("redirects are not followed"));
        assert!(said(404, "<html>").contains("no such model or address"));
        assert!(said(400, r#"{"error":"prompt is too long"}"#).contains("longer than it takes"));
    }

    #[test]
    fn a_400_that_says_nothing_about_the_question_is_about_the_settings() {
        for body in [
            r#"{"error":{"message":"invalid model ID","type":"invalid_request_error"}}"#,
            r#"{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}"#,
            r#"{"error":{"message":"Unrecognized request argument supplied: reasoning","type":"invalid_request_error"}}"#,
            r#"{"error":{"message":"temperature: Extra inputs are not permitted"}}"#,
            "",
        ] {
            assert!(said(400, body).starts_with("it refuses: "), "{body}: {}", said(400, body));
        }
        for body in [
            r#"{"error":{"message":"messages: text content blocks must be non-empty"}}"#,
            r#"{"error":{"message":"invalid prompt: it has a lone surrogate"}}"#,
            r#"{"error":{"message":"Failed to validate JSON","code":"json_validate_failed"}}"#,
            r#"{"error":{"message":"Your request was rejected by our safety system","code":"content_policy_violation"}}"#,
        ] {
            assert!(said(400, body).starts_with("its answer cannot be used"), "{body}: {}", said(400, body));
        }
    }

    /// The shapes in which servers of the same protocols report the same errors, with words of our own.
    #[test]
    fn each_shape_of_an_error_is_understood() {
        let too_long = [
            (400, r#"{"error":{"message":"maximum context length is 4 tokens","code":"context_length_exceeded"}}"#),
            (
                400,
                r#"{"object":"error","message":"maximum context length is 4 tokens","type":"BadRequestError","code":400}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"it exceeds the available context size","type":"exceed_context_size_error","n_ctx":4}}"#,
            ),
            (500, r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#),
            (
                400,
                r#"[{"error":{"code":400,"message":"5 exceeds the maximum number of tokens allowed (4)","status":"INVALID_ARGUMENT"}}]"#,
            ),
            (413, r#"{"type":"error","error":{"type":"request_too_large","message":"too large"}}"#),
        ];
        for (status, body) in too_long {
            assert!(said(status, body).contains("longer than it takes"), "{body}: {}", said(status, body));
        }
        let bad_key = [
            (
                400,
                r#"{"code":"Some argument is invalid","error":"Incorrect API key provided: sk-***. Look at your console."}"#,
            ),
            (400, r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#),
            (401, r#"{"detail":"Unauthorized"}"#),
            (403, r#"{"error":{"code":403,"message":"Key limit exceeded"}}"#),
        ];
        for (status, body) in bad_key {
            assert!(said(status, body).contains("its key is not accepted"), "{body}: {}", said(status, body));
        }
        let later = [
            // A limit per minute that names the page where one pays.
            (
                429,
                r#"{"error":{"message":"Rate limit reached. Pay at https://b.example/account/billing","type":"requests","code":"rate_limit_exceeded"}}"#,
            ),
            (
                429,
                r#"[{"error":{"code":429,"message":"Look at your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]"#,
            ),
            (429, r#"{"message":"Too many tokens, please wait."}"#),
            (504, r#"{"error":{"message":"The answer took too long."}}"#),
        ];
        for (status, body) in later {
            assert!(said(status, body).starts_with("it cannot answer now"), "{body}: {}", said(status, body));
        }
        let filtered = [
            (
                400,
                r#"{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"needs moderation","metadata":{"reasons":["x"],"flagged_input":"my diary"}}}"#,
            ),
        ];
        for (status, body) in filtered {
            let said = said(status, body);
            assert!(said.contains("refused by a filter") && !said.contains("diary"), "{body}: {said}");
        }
    }

    #[test]
    fn an_error_inside_a_successful_answer_is_one() {
        let inside = |body: &str| {
            let status = Status::inside(&serde_json::from_str(body).unwrap(), None)?;
            Some(status.failure("https://a.example").to_string())
        };
        for (body, part) in [
            (
                r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"down"}}}"#,
                "cannot answer now: https://a.example (status 200, inside it error 502)",
            ),
            (
                r#"{"id":"1","choices":[{"finish_reason":"error","message":{"content":"{\"sa"},"error":{"code":429,"message":"slow down"}}]}"#,
                "inside it error 429)",
            ),
            (
                r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"message\":\"maximum context length is 4\"}"}}}"#,
                "longer than it takes",
            ),
            (r#"{"error":{"code":"content_filter","status":400,"message":"filtered"}}"#, "refused by a filter"),
            (r#"{"error":"the server went away"}"#, "it cannot answer now"),
        ] {
            let said = inside(body).unwrap();
            assert!(said.contains(part), "{body}: {said}");
        }
        for fine in [r#"{"error":null,"choices":[]}"#, r#"{"error":{}}"#, r#"{"error":""}"#, "{}", "[]", "7"] {
            assert_eq!(inside(fine), None, "{fine}");
        }
    }
}
