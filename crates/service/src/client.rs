//! Asks a service over its socket: one HTTP request and one answer, without an HTTP library. Used by hooks, whose whole
//! time is the start of their process, and by commands that ask for the service's state.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The response header that names the build.
const BUILD: &str = "heirloom-build";

/// Maximum size of an answer, in bytes.
const LONGEST: usize = 32 << 20;

/// A request to the service.
pub struct Question<'q> {
    /// HTTP method, such as `POST`.
    pub method: &'q str,
    pub path: &'q str,
    /// Names and values of the request's headers.
    pub headers: &'q [(&'q str, &'q str)],
    pub body: &'q [u8],
    /// Time at which to give up.
    pub until: Instant,
}

/// Answer of the service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub status: u16,
    /// Build of the service: `<schema of the ledger>.<version>`.
    pub build: Option<String>,
    pub body: Vec<u8>,
}

/// Reason why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// Nobody listens on the socket: nothing was sent.
    NobodyThere,
    /// The request was sent, and may have been carried out.
    NoAnswer(&'static str),
}

/// Sends a request to the service at `socket` and waits for its answer.
pub fn ask(socket: &Path, question: &Question) -> Result<Answer, Silence> {
    let mut stream = UnixStream::connect(socket).map_err(|_| Silence::NobodyThere)?;
    let Question { method, path, headers, body, until } = question;
    let mut sent = format!(
        "{method} {path} HTTP/1.1\r\nhost: heirloom\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in *headers {
        sent += &format!("{name}: {value}\r\n");
    }
    sent += "\r\n";
    let mut bytes = sent.into_bytes();
    bytes.extend_from_slice(body);
    let limit = |stream: &UnixStream| -> Result<(), Silence> {
        let left = until.saturating_duration_since(Instant::now());
        if left < Duration::from_millis(1) {
            return Err(Silence::NoAnswer("out of time"));
        }
        let set = stream.set_write_timeout(Some(left)).and_then(|()| stream.set_read_timeout(Some(left)));
        set.map_err(|_| Silence::NoAnswer("no time limit could be set"))
    };
    limit(&stream)?;
    stream.write_all(&bytes).map_err(|e| Silence::NoAnswer(lost(&e)))?;
    let mut got = Vec::with_capacity(4096);
    let mut piece = [0u8; 16 * 1024];
    loop {
        limit(&stream)?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => got.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Silence::NoAnswer(lost(&e))),
        }
        if got.len() > LONGEST {
            return Err(Silence::NoAnswer("the answer is too long"));
        }
        if let Some(answer) = whole(&got) {
            return Ok(answer);
        }
    }
    whole(&got).ok_or(Silence::NoAnswer("the service ended before it answered"))
}

fn lost(e: &std::io::Error) -> &'static str {
    match e.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time",
        _ => "the service ended before it answered",
    }
}

/// Parses the answer once all of it has arrived. Our service always sends the length of a body.
fn whole(got: &[u8]) -> Option<Answer> {
    let end = got.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&got[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    let (mut length, mut build) = (None, None);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<usize>().ok()?);
        } else if name.eq_ignore_ascii_case(BUILD) {
            build = Some(value.trim().to_owned());
        }
    }
    // An answer without a body (204) has no length header.
    let length = if status == 204 { 0 } else { length? };
    let body = got.get(end + 4..(end + 4).checked_add(length)?)?;
    Some(Answer { status, build, body: body.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_whole_or_not_at_all() {
        let said = b"HTTP/1.1 200 OK\r\nHeirloom-Build: 7.0.1\r\ncontent-length: 5\r\n\r\nhello";
        let answer = whole(said).unwrap();
        assert_eq!(
            (answer.status, answer.build.as_deref(), answer.body.as_slice()),
            (200, Some("7.0.1"), &b"hello"[..])
        );
        for cut in 0..said.len() {
            assert_eq!(whole(&said[..cut]), None, "{cut}");
        }
        assert!(whole(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().body.is_empty());
        for broken in [
            "",
            "\r\n\r\n",
            "HTTP/1.1 x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx",
        ] {
            assert_eq!(whole(broken.as_bytes()), None, "{broken}");
        }
    }
}
