//! Shared parts of providers over HTTP: one address that alone is asked, limits, and the meaning of a status (R14.4).
//!
//! No redirect is followed and no proxy used. A message has the origin, the status and the provider's code for it; it
//! never has the provider's words, which may repeat the key or the question.

use std::time::{Duration, SystemTime};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::model::Failure;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;
use ureq::http::{HeaderMap, Uri};

use crate::asking::LARGEST_ANSWER;
use crate::held::Held;

/// Longest pause requested by a provider that is kept: a day, since the next day has a new budget.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// One address of a provider.
pub(crate) struct Address {
    url: String,
    /// Scheme, host and port, for messages; path and query may contain a secret.
    pub origin: String,
    agent: ureq::Agent,
    timeout: Duration,
    /// Name of the header with the key, the text before the key, and the key.
    key: Option<(&'static str, String, Held)>,
}

/// An answer with an error status.
pub(crate) struct Status {
    pub status: u16,
    /// The provider's words in lower case; they are searched and never passed on.
    words: String,
    /// The provider's error code: letters and underscores.
    code: Option<String>,
    after: Option<Duration>,
}

impl Status {
    /// Whether the question is longer than the model accepts.
    pub fn is_too_long(&self) -> bool {
        ["context length", "context_length", "too long", "too many tokens"].iter().any(|w| self.words.contains(w))
    }
}

/// Reason why a request got no answer.
pub(crate) enum Silence {
    Status(Status),
    Other(Failure),
}

impl Address {
    /// Makes the address of `path` below `base`, which may contain the path already. `header`: name of the header with
    /// the key, and the text before the key. `Usage` for an invalid address, `Refused` if the key would cross a network
    /// in the clear.
    pub fn new(
        base: &str,
        path: &str,
        key: Option<Held>,
        header: (&'static str, &str),
        timeout: Duration,
    ) -> Result<Address> {
        let origin = origin(base, key.is_some())?;
        let base = base.trim_end_matches('/');
        let url = if base.ends_with(path) { base.to_owned() } else { format!("{base}{path}") };
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        let key = key.map(|key| (header.0, header.1.to_owned(), key));
        Ok(Address { url, origin, agent, timeout, key })
    }

    /// Sends a body and reads the JSON of a successful answer, of limited size.
    pub fn post(&self, headers: &[(&str, &str)], body: &Value) -> Result<Value, Silence> {
        let other = |failure| Silence::Other(failure);
        let mut post = self.agent.post(&self.url).content_type("application/json");
        for (name, value) in headers {
            post = post.header(*name, *value);
        }
        if let Some((name, before, held)) = &self.key {
            let key = held.key().map_err(other)?;
            post = post.header(*name, format!("{before}{}", key.secret()));
        }
        let mut answer = post.send(body.to_string()).map_err(|e| other(self.silent(&e)))?;
        let status = answer.status().as_u16();
        let after = retry_after(answer.headers());
        let body = answer.body_mut().with_config().limit(LARGEST_ANSWER as u64).read_to_vec();
        if let (401 | 403, Some((_, _, held))) = (status, &self.key) {
            held.drop_printed();
        }
        if status != 200 {
            return Err(Silence::Status(Status::of(status, &body.unwrap_or_default(), after)));
        }
        let body = body.map_err(|e| {
            other(match e {
                ureq::Error::BodyExceedsLimit(_) => Failure::Unusable(format!(
                    "it has more than {LARGEST_ANSWER} bytes, which is far more than was asked for"
                )),
                e => self.silent(&e),
            })
        })?;
        serde_json::from_slice(&body)
            .map_err(|_| other(Failure::Unusable(format!("{} answered in no form we know", self.origin))))
    }

    /// Returns the failure that a status means.
    pub fn failure(&self, status: &Status) -> Failure {
        let has = |words: &[&str]| words.iter().any(|w| status.words.contains(w));
        let code = status.code.as_ref().map(|code| format!(", {code}")).unwrap_or_default();
        let at = format!("{} (status {}{code})", self.origin, status.status);
        match status.status {
            300..=399 => Failure::Refused(format!("{at} has moved to another address; redirects are not followed")),
            _ if has(&["insufficient_quota", "credit balance", "billing"]) => {
                Failure::Refused(format!("there is nothing left to spend at {at}"))
            }
            401 | 403 => Failure::Refused(format!("its key is not accepted at {at}")),
            402 => Failure::Refused(format!("there is nothing left to spend at {at}")),
            404 => Failure::Refused(format!("there is no such model or address at {at}")),
            408 | 425 | 429 | 500..=599 => Failure::Later { why: at, after: status.after },
            _ if status.is_too_long() => Failure::Unusable(format!("the question is longer than it takes, says {at}")),
            _ => Failure::Unusable(format!("the question is not accepted by {at}")),
        }
    }

    /// Turns the reason why a request got no answer into a failure.
    pub fn failed(&self, silence: Silence) -> Failure {
        match silence {
            Silence::Status(status) => self.failure(&status),
            Silence::Other(failure) => failure,
        }
    }

    fn silent(&self, cause: &ureq::Error) -> Failure {
        // The cause's message may contain the whole URL, including its query.
        let why = match cause {
            ureq::Error::Timeout(_) => format!("did not answer within {:?}", self.timeout),
            ureq::Error::HostNotFound => "has a name that no address is known for".into(),
            ureq::Error::Io(e) => format!("cannot be reached ({})", e.kind()),
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "did not agree on a secure connection".into(),
            _ => "cannot be talked to in HTTP".into(),
        };
        Failure::Later { why: format!("{} {why}", self.origin), after: None }
    }
}

impl Status {
    fn of(status: u16, body: &[u8], after: Option<Duration>) -> Status {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = &body["error"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        let words = [&error["message"], &error["type"], &error["code"], error].map(text).join(" ");
        let plain =
            |code: &&str| (1..=40).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let code = [&error["code"], &error["type"]].into_iter().find_map(|v| v.as_str().filter(plain));
        Status { status, words, code: code.map(str::to_owned), after }
    }
}

/// Reads the header `Retry-After`: seconds, or a point in time.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    let pause = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            let now = Timestamp::try_from(SystemTime::now()).ok()?;
            Duration::try_from(until.duration_since(now)).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}

/// Returns scheme, host and port of a valid address.
fn origin(url: &str, has_key: bool) -> Result<String> {
    let bad = |why: &str| {
        Error::usage(format!("the address of the language model {why}")).hint("write it like http://127.0.0.1:8080/v1")
    };
    let uri: Uri = url.parse().map_err(|_| bad("is no address"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(bad("has no scheme or no host"));
    };
    if !matches!(scheme, "http" | "https") {
        return Err(bad("is neither http nor https"));
    }
    if authority.as_str().contains('@') {
        return Err(bad("has a name or a password in it").hint("put the key where keys go: --key-from or --key-stdin"));
    }
    if has_key && scheme == "http" && !on_this_machine(authority.host()) {
        return Err(Error::refused("the key of the language model would cross the network in the clear")
            .hint("use its https address, or a model on this machine"));
    }
    Ok(format!("{scheme}://{authority}"))
}

fn on_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|a| a.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn an_address_is_checked_before_anything_is_sent() {
        let key = Key::parse("sk-secret").unwrap();
        let of = |url: &str, key: Option<&Key>| {
            let key = key.cloned().map(Held::Given);
            let made = Address::new(url, "/v1/messages", key, ("x-api-key", ""), Duration::from_secs(1));
            made.map(|a| (a.url, a.origin)).map_err(|e| e.to_string())
        };
        assert_eq!(
            of("https://a.example/", Some(&key)).unwrap(),
            ("https://a.example/v1/messages".into(), "https://a.example".into())
        );
        assert_eq!(of("https://a.example/v1/messages", None).unwrap().0, "https://a.example/v1/messages");
        assert!(of("http://[::1]:8080", Some(&key)).is_ok() && of("http://192.0.2.1", None).is_ok());
        for (url, why) in [
            ("http://192.0.2.1", "in the clear"),
            ("ftp://a.example", "neither http"),
            ("https://me:pw@a.example", "a name or a password"),
            ("a.example", "no scheme"),
            ("", "is no address"),
        ] {
            let error = of(url, Some(&key)).unwrap_err();
            assert!(error.contains(why) && !error.contains("secret") && !error.contains("pw"), "{url}: {error}");
        }
    }

    #[test]
    fn a_pause_is_read_in_both_forms_and_has_an_end() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(of("7"), Some(Duration::from_secs(7)));
        assert_eq!(of("99999999999"), Some(LONGEST_PAUSE));
        assert_eq!(of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(of("Fri, 06 Nov 2893 08:49:37 GMT"), Some(LONGEST_PAUSE));
        assert_eq!(of("soon"), None);
    }

    #[test]
    fn what_a_server_says_is_not_repeated() {
        let address = Address::new("https://a.example", "", None, ("x", ""), Duration::from_secs(1)).unwrap();
        let said = |status, body: &str| address.failure(&Status::of(status, body.as_bytes(), None)).to_string();
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
}
