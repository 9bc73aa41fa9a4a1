//! An embedding model behind an OpenAI-compatible `/v1/embeddings` endpoint, on this machine or another (R10.8).

use std::fmt;
use std::time::Duration;

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::index::Embedder;
use heirloom_engine::redact::redact;
use serde::{Deserialize, Serialize};
use ureq::Agent;
use ureq::http::Uri;

use crate::{beginning, normalise};

/// The address of an endpoint and its settings.
pub struct Endpoint {
    /// The URL of the endpoint, such as `http://127.0.0.1:11434/v1/embeddings`. `http` or `https`, without a name and
    /// password in it.
    pub url: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token. Never over `http` to another machine.
    pub key: Option<String>,
    /// The number of dimensions of the vectors the endpoint returns.
    pub dimensions: usize,
    /// Whether to send `dimensions` in the request. Models whose vectors can be shortened accept it, others refuse it.
    pub shorten: bool,
    /// The time limit of one request, from name resolution to the last byte of the answer.
    pub timeout: Duration,
    /// The number of texts in one request.
    pub batch: usize,
    /// The number of bytes of a text that are sent; the rest is ignored. A token is never shorter than a byte, so a
    /// model that reads that many tokens never refuses a text as too long.
    pub most_bytes: usize,
}

impl Endpoint {
    /// Makes an endpoint with the default settings: 30 seconds, 64 texts a request, 8,000 bytes a text, no key, not
    /// shortened.
    pub fn new(url: impl Into<String>, model: impl Into<String>, dimensions: usize) -> Endpoint {
        Endpoint {
            url: url.into(),
            model: model.into(),
            key: None,
            dimensions,
            shorten: false,
            timeout: Duration::from_secs(30),
            batch: 64,
            most_bytes: 8000,
        }
    }
}

/// Most dimensions accepted; more than any model's vectors have.
const MOST_DIMENSIONS: usize = 1 << 14;

/// Requests vectors from an endpoint, a batch at a time, on the calling thread.
///
/// Vectors are scaled to length 1. If their dimension is not a multiple of 64, zeros fill them up to the next one,
/// which changes no angle. A text without a letter in it (empty, white space) is not sent, since endpoints refuse it,
/// and gets all zeros. No redirect is followed and no proxy used: texts are sent to the given address only.
///
/// Errors, each with what to do: `Busy` if the endpoint is not reached, does not answer in time, or says that it is
/// busy or broken (408, 429, 5xx); `Refused` if it refuses the request, and if its answer is not one vector of the
/// right size for each text. No error and no debug output contains the key.
pub struct HttpEmbedder {
    endpoint: Endpoint,
    agent: Agent,
    /// Scheme, host and port, for errors; path and query may contain a secret.
    origin: String,
    model: String,
}

impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEmbedder").field("origin", &self.origin).field("model", &self.model).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Complaint {
    error: ComplaintText,
}

/// Text of an error answer: in OpenAI's form, or in the simpler form of some servers.
#[derive(Deserialize)]
#[serde(untagged)]
enum ComplaintText {
    Full { message: String },
    Plain(String),
}

impl HttpEmbedder {
    /// Checks the settings; sends no request. `Usage` for settings that can never work, `Refused` if the key would be
    /// sent unencrypted over a network.
    pub fn new(endpoint: Endpoint) -> Result<HttpEmbedder> {
        let origin = origin(&endpoint)?;
        for (what, value) in
            [("dimensions", endpoint.dimensions), ("batch", endpoint.batch), ("bytes of a text", endpoint.most_bytes)]
        {
            if value == 0 {
                return Err(Error::usage(format!("the embedding endpoint's {what} cannot be 0")));
            }
        }
        if endpoint.key.as_ref().is_some_and(|key| !key.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(Error::usage("the embedding endpoint's key has a character in it that no key has")
                .hint("look for a line break or a space around it"));
        }
        let agent = Agent::config_builder()
            .timeout_global(Some(endpoint.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        let model = format!("endpoint:{}:{}", endpoint.model, endpoint.dimensions);
        Ok(HttpEmbedder { endpoint, agent, origin, model })
    }

    /// Asks an endpoint how many dimensions the vectors of its model have; the dimensions in the settings are ignored.
    /// The errors are those of [`Embedder::embed`].
    pub fn dimensions_of(endpoint: Endpoint) -> Result<usize> {
        let asked = HttpEmbedder::new(Endpoint { dimensions: MOST_DIMENSIONS, ..endpoint })?;
        match asked.answer(&["dimensions"])?.data.first().map(|row| row.embedding.len()) {
            Some(0) | None => Err(asked.malformed("has no vector in it")),
            Some(dimensions) => Ok(dimensions),
        }
    }

    /// Returns the vectors of texts that are not blank.
    fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.in_order(self.answer(texts)?, texts.len())
    }

    fn answer(&self, texts: &[&str]) -> Result<Answer> {
        let it = &self.endpoint;
        let request = Request {
            model: &it.model,
            input: texts.to_vec(),
            encoding_format: "float",
            dimensions: it.shorten.then_some(it.dimensions),
        };
        let body = serde_json::to_vec(&request).expect("strings and numbers are JSON");
        let mut post = self.agent.post(&it.url).content_type("application/json");
        if let Some(key) = &it.key {
            post = post.header("authorization", format!("Bearer {key}"));
        }
        let mut answer = post.send(&body[..]).map_err(|e| self.silent(&e))?;
        let status = answer.status().as_u16();
        // A number takes at most some 26 bytes in JSON. An answer far larger than that allows is not valid.
        let most = 1_000_000 + 32 * (texts.len() * it.dimensions) as u64;
        let body = answer.body_mut().with_config().limit(most).read_to_vec();
        if status != 200 {
            return Err(self.complains(status, &body.unwrap_or_default()));
        }
        let body = body.map_err(|e| match e {
            ureq::Error::BodyExceedsLimit(_) => self.malformed("is far longer than what was asked for"),
            e => self.silent(&e),
        })?;
        serde_json::from_slice(&body)
            .map_err(|e| self.malformed(&format!("is not what it should be at its byte {}", e.column())))
    }

    /// Returns one vector for each text, in the order of the texts, whatever order the answer has.
    fn in_order(&self, answer: Answer, count: usize) -> Result<Vec<Vec<f32>>> {
        if answer.data.len() != count {
            return Err(self.malformed(&format!("has {} vectors for {count} texts", answer.data.len())));
        }
        let mut out = vec![Vec::new(); count];
        for Row { index, embedding: mut vector } in answer.data {
            if vector.len() != self.endpoint.dimensions {
                let (n, wanted) = (vector.len(), self.endpoint.dimensions);
                return Err(self
                    .malformed(&format!("has vectors of {n} dimensions, not {wanted}"))
                    .hint(format!("set the dimensions of the embedding endpoint to {n}, or name another model")));
            }
            if !vector.iter().all(|x| x.is_finite()) {
                return Err(self.malformed("has a number in it that is too large"));
            }
            normalise(&mut vector);
            vector.resize(self.dimensions(), 0.0);
            match out.get_mut(index) {
                Some(slot) if slot.is_empty() => *slot = vector,
                _ => return Err(self.malformed(&format!("numbers its vectors wrongly (index {index})"))),
            }
        }
        Ok(out)
    }

    fn silent(&self, cause: &ureq::Error) -> Error {
        // The cause's message may contain the whole URL, including its query.
        let why = match cause {
            ureq::Error::Timeout(_) => format!("did not answer within {:?}", self.endpoint.timeout),
            ureq::Error::HostNotFound => "has a name that no address is known for".into(),
            ureq::Error::Io(e) => format!("cannot be reached ({})", e.kind()),
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "did not agree on a secure connection".into(),
            _ => "cannot be talked to in HTTP".into(),
        };
        Error::new(ErrorKind::Busy, format!("the embedding endpoint at {} {why}", self.origin))
            .hint("start it, or check its address; search goes on with words until it answers")
    }

    fn complains(&self, status: u16, body: &[u8]) -> Error {
        let (kind, hint) = match status {
            408 | 425 | 429 | 500..=599 => (ErrorKind::Busy, "it is asked again later; its own log says more"),
            300..=399 => (ErrorKind::Refused, "set the address it has moved to; redirects are not followed"),
            401 | 403 => (ErrorKind::Refused, "check the key of the embedding endpoint"),
            404 => (ErrorKind::Refused, "check the path of its address (/v1/embeddings) and the model's name"),
            _ => (ErrorKind::Refused, "check the model's name and what it takes"),
        };
        let mut what = format!("the embedding endpoint at {} answered with status {status}", self.origin);
        if let Ok(Complaint { error: ComplaintText::Full { message } | ComplaintText::Plain(message) }) =
            serde_json::from_slice(body)
        {
            what += &format!(": {}", beginning(&self.without_key(&message), 200).replace(char::is_control, " "));
        }
        Error::new(kind, what).hint(hint)
    }

    /// Removes the key from a text: some servers repeat the key they refuse, whole or with its middle starred out.
    fn without_key(&self, text: &str) -> String {
        let shown = |word: &str| match &self.endpoint.key {
            Some(key) => {
                let head = beginning(key, 6);
                !head.is_empty() && word.contains(head)
            }
            None => false,
        };
        let words: Vec<&str> = text.split_whitespace().map(|w| if shown(w) { "[key]" } else { w }).collect();
        redact(&words.join(" ")).into_owned()
    }

    fn malformed(&self, why: &str) -> Error {
        Error::refused(format!("the answer of the embedding endpoint at {} {why}", self.origin))
            .hint("check that it is an OpenAI-compatible /v1/embeddings endpoint and that the model makes embeddings")
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.endpoint.dimensions.next_multiple_of(64)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut out = vec![vec![0.0; self.dimensions()]; texts.len()];
        let cut: Vec<&str> = texts.iter().map(|text| beginning(text, self.endpoint.most_bytes)).collect();
        let sent: Vec<usize> = (0..texts.len()).filter(|&n| cut[n].contains(char::is_alphanumeric)).collect();
        for batch in sent.chunks(self.endpoint.batch) {
            let vectors = self.ask(&batch.iter().map(|&n| cut[n]).collect::<Vec<_>>())?;
            for (&n, vector) in batch.iter().zip(vectors) {
                out[n] = vector;
            }
        }
        Ok(out)
    }
}

/// Scheme, host and port of a valid endpoint URL.
fn origin(endpoint: &Endpoint) -> Result<String> {
    let bad = |why: &str| {
        Error::usage(format!("the address of the embedding endpoint {why}"))
            .hint("write it like http://127.0.0.1:11434/v1/embeddings")
    };
    let uri: Uri = endpoint.url.parse().map_err(|_| bad("is no address"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(bad("has no scheme or no host"));
    };
    if !matches!(scheme, "http" | "https") {
        return Err(bad("is neither http nor https"));
    }
    if authority.as_str().contains('@') {
        return Err(bad("has a name or a password in it").hint("put the key where keys go"));
    }
    if endpoint.key.is_some() && scheme == "http" && !on_this_machine(authority.host()) {
        return Err(Error::refused("the key of the embedding endpoint would cross the network in the clear")
            .hint("use its https address, or an endpoint on this machine"));
    }
    Ok(format!("{scheme}://{authority}"))
}

fn on_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|a| a.is_loopback())
}
