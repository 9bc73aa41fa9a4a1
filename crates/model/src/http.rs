//! Shared parts of providers over HTTP: one address that alone is asked, its key, and limits (R14.4).
//!
//! No redirect is followed and no proxy used.

use std::time::Duration;

use heirloom_engine::error::{Error, Result};
use heirloom_engine::model::Failure;
use serde_json::Value;
use ureq::http::Uri;

use crate::asking::{LARGEST_ANSWER, Question};
use crate::held::Held;
use crate::status::{Status, retry_after};

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

    /// Sends a body and reads the JSON of a successful answer, of limited size. The request is counted as one of the
    /// question, unless no connection was made.
    pub fn post(&self, question: &Question, headers: &[(&str, &str)], body: &Value) -> Result<Value, Silence> {
        let other = |failure| Silence::Other(failure);
        let mut post = self.agent.post(&self.url).content_type("application/json");
        for (name, value) in headers {
            post = post.header(*name, *value);
        }
        if let Some((name, before, held)) = &self.key {
            let key = held.key().map_err(other)?;
            post = post.header(*name, format!("{before}{}", key.secret()));
        }
        let mut answer = post.send(body.to_string()).map_err(|e| {
            let failure = self.silent(&e);
            if !matches!(failure, Failure::Unsent { .. }) {
                question.count(false);
            }
            other(failure)
        })?;
        let status = answer.status().as_u16();
        let after = retry_after(answer.headers());
        question.count(status != 200);
        let body = answer.body_mut().with_config().limit(LARGEST_ANSWER as u64).read_to_vec();
        let refused = |status: Status| {
            if let (true, Some((_, _, held))) = (status.is_about_the_key(), &self.key) {
                held.drop_printed();
            }
            Err(Silence::Status(status))
        };
        if status != 200 {
            return refused(Status::of(status, &body.unwrap_or_default(), after));
        }
        let body = body.map_err(|e| {
            other(match e {
                ureq::Error::BodyExceedsLimit(_) => Failure::Unusable(format!(
                    "it has more than {LARGEST_ANSWER} bytes, which is far more than was asked for"
                )),
                e => self.silent(&e),
            })
        })?;
        let answer = serde_json::from_slice(&body).map_err(|_| other(self.unknown()))?;
        match Status::inside(&answer, after) {
            Some(status) => {
                question.is_free.set(true);
                refused(status)
            }
            None => Ok(answer),
        }
    }

    /// Returns the failure of an answer that has no known form.
    pub fn unknown(&self) -> Failure {
        Failure::Unusable(format!("{} answered in no form we know", self.origin))
    }

    /// Returns the failure that a status means.
    pub fn failure(&self, status: &Status) -> Failure {
        status.failure(&self.origin)
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
        let why = format!("{} {why}", self.origin);
        let is_unsent = match cause {
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => true,
            ureq::Error::Timeout(at) => matches!(at, ureq::Timeout::Resolve | ureq::Timeout::Connect),
            ureq::Error::Io(e) => e.kind() == std::io::ErrorKind::ConnectionRefused,
            _ => false,
        };
        match is_unsent {
            true => Failure::Unsent { why, after: None },
            false => Failure::Later { why, after: None },
        }
    }
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
}
