//! The part of HTTP/1.1 that a model's clients use: one request and one answer per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Most bytes of request line and headers together. The programs send 1 to 4 KiB.
const HEAD_BYTES: u64 = 64 << 10;

/// Most bytes of a body: more than a million tokens of context.
const BODY_BYTES: u64 = 64 << 20;

/// A request, as far as it is used.
#[derive(PartialEq, Eq, Debug)]
pub struct Incoming {
    pub method: String,
    /// The request target with its query; a whole URL (`http://host/path`) if the client uses the fake model as a
    /// proxy.
    pub target: String,
    pub body: Vec<u8>,
    /// Whether the client asks for another protocol on this connection.
    pub upgrade: bool,
    /// Headers, their names in lower case.
    pub headers: Vec<(String, String)>,
}

/// Reason why a request is not processed.
#[derive(PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The client left before the request was complete: no answer.
    Gone,
    /// The bytes are not HTTP as it is implemented here.
    Malformed,
    TooLarge,
}

impl Incoming {
    /// Reads one request. Never buffers more than the two limits.
    pub fn read(stream: &mut impl Read) -> Result<Incoming, Refusal> {
        let mut reader = BufReader::new(stream);
        let mut left = HEAD_BYTES;
        let first = line(&mut reader, &mut left)?;
        let mut words = first.split_ascii_whitespace();
        let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Err(Refusal::Malformed);
        };
        if !version.starts_with("HTTP/1.") {
            return Err(Refusal::Malformed);
        }
        let (method, target) = (method.to_owned(), target.to_owned());
        let (mut length, mut chunked, mut upgrade, mut headers) = (0, false, false, Vec::new());
        loop {
            let header = line(&mut reader, &mut left)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or(Refusal::Malformed)?;
            let value = value.trim();
            let name = name.to_ascii_lowercase();
            headers.push((name.clone(), value.to_owned()));
            match name.as_str() {
                "content-length" => length = value.parse().map_err(|_| Refusal::Malformed)?,
                "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
                "upgrade" => upgrade = true,
                // Compressed bodies are not supported; no program compresses requests to a local model.
                "content-encoding" if value != "identity" => return Err(Refusal::Malformed),
                _ => {}
            }
        }
        let body = if chunked { chunks(&mut reader)? } else { exactly(&mut reader, length, BODY_BYTES)? };
        Ok(Incoming { method, target, body, upgrade, headers })
    }
}

/// Reads a line without its end, counted against the limit of the head.
fn line(reader: &mut impl BufRead, left: &mut u64) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    let read = reader.take(*left).read_until(b'\n', &mut bytes).map_err(|_| Refusal::Gone)?;
    *left -= read as u64;
    if bytes.pop() != Some(b'\n') {
        return Err(if *left == 0 { Refusal::TooLarge } else { Refusal::Gone });
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|_| Refusal::Malformed)
}

fn exactly(reader: &mut impl Read, length: u64, most: u64) -> Result<Vec<u8>, Refusal> {
    if length > most {
        return Err(Refusal::TooLarge);
    }
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes).map_err(|_| Refusal::Gone)?;
    if (bytes.len() as u64) < length { Err(Refusal::Gone) } else { Ok(bytes) }
}

fn chunks(reader: &mut impl BufRead) -> Result<Vec<u8>, Refusal> {
    let mut body = Vec::new();
    loop {
        let size = line(reader, &mut 256)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| Refusal::Malformed)?;
        body.append(&mut exactly(reader, size, BODY_BYTES - body.len() as u64)?);
        // An empty line after a chunk; after the last chunk perhaps trailers before it.
        while !line(reader, &mut 1024)?.is_empty() {}
        if size == 0 {
            return Ok(body);
        }
    }
}

/// An answer, ready to be sent.
#[derive(PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
    pub headers: Vec<(String, String)>,
    /// Whether the connection is closed in the middle of the body.
    pub cut: bool,
    /// Time in which nothing is sent before the answer.
    pub pause: Duration,
}

impl Outgoing {
    pub fn json(status: u16, body: &serde_json::Value) -> Outgoing {
        Outgoing::of(status, "application/json", body.to_string())
    }

    /// Makes an answer of server-sent events.
    pub fn events(body: String) -> Outgoing {
        Outgoing::of(200, "text/event-stream", body)
    }

    pub fn of(status: u16, content_type: &'static str, body: String) -> Outgoing {
        Outgoing { status, content_type, body, headers: Vec::new(), cut: false, pause: Duration::ZERO }
    }

    /// Sends the answer and closes the connection. Errors are ignored: the client may be gone.
    pub fn send(&self, stream: &mut TcpStream, with_body: bool) {
        std::thread::sleep(self.pause);
        let more: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let reason = if self.status < 400 { "OK" } else { "Refused" };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: {}\r\ncontent-length: {}\r\ncache-control: no-store\r\n{more}connection: close\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        let body = if with_body { self.body.as_bytes() } else { &[] };
        let body = if self.cut { &body[..body.len() / 2] } else { body };
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let _ = stream.flush();
    }
}

/// Returns one server-sent event; the protocols differ in whether it has a name.
pub fn event(name: Option<&str>, data: &str) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Incoming, Refusal> {
        Incoming::read(&mut &bytes[..])
    }

    #[test]
    fn a_body_comes_with_its_length_or_in_chunks() {
        let whole = read(b"POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello and more").unwrap();
        assert_eq!(
            (whole.method.as_str(), whole.target.as_str(), whole.body.as_slice(), whole.upgrade),
            ("POST", "/v1/messages?beta=true", &b"hello"[..], false)
        );
        let chunked =
            b"POST / HTTP/1.1\nTransfer-Encoding: Chunked\n\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";
        assert_eq!(read(chunked).unwrap().body, b"hello");
        assert!(read(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n").unwrap().upgrade);
    }

    #[test]
    fn what_is_odd_is_refused_and_never_read_without_end() {
        assert_eq!(read(b""), Err(Refusal::Gone));
        assert_eq!(read(b"GET / HT"), Err(Refusal::Gone));
        assert_eq!(read(b"\r\n\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"\x16\x03\x01\x02\xff\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"PRI * HTTP/2.0\r\n\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"GET / HTTP/1.1\r\nno colon\r\n\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort"), Err(Refusal::Gone));
        assert_eq!(read(b"POST / HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n"), Err(Refusal::Malformed));
        let endless = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX);
        assert_eq!(read(endless.as_bytes()), Err(Refusal::TooLarge));
        let endless = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        assert_eq!(read(endless), Err(Refusal::TooLarge));
        let mut endless = b"GET / HTTP/1.1\r\n".to_vec();
        endless.resize(1 << 20, b'x');
        assert_eq!(read(&endless), Err(Refusal::TooLarge));
    }
}
