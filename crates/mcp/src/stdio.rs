//! Messages over standard input and output, one a line. The SDK's own transport drops broken lines without an answer,
//! knows no batches, and ends with a client whose first message is a notification; a client that makes such a mistake is
//! told here, and goes on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::faults;

/// Maximum number of bytes of a line.
const LONGEST: usize = 16 << 20;
/// Number of bytes of the line's buffer that are kept for the next line.
const KEPT: usize = 64 << 10;

/// Lines to be written, each with the place to tell whether it was.
type Lines = mpsc::UnboundedSender<(Vec<u8>, oneshot::Sender<std::io::Result<()>>)>;

/// One client.
pub struct Stdio<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    skipping: bool,
    /// Messages of a batch that were not handed over yet.
    waiting: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// Whether the client has said who it is; before that, the SDK takes no notification.
    greeted: bool,
    lines: Lines,
    told: Arc<Mutex<Told>>,
}

/// State that answers need: the revision agreed on, and the batches whose answers are still being collected.
#[derive(Default)]
struct Told {
    /// The revision that was agreed on.
    revision: Option<String>,
    batches: Vec<Batch>,
}

/// The requests of a batch that wait for their answers, and the answers.
struct Batch {
    ids: Vec<Value>,
    answers: Vec<Value>,
}

impl Told {
    /// Returns the line to write for an answer; `None` if other answers of its batch are still to come.
    fn line(&mut self, answer: Value) -> Option<Value> {
        if let Some(revision) = answer.pointer("/result/protocolVersion").and_then(Value::as_str)
            && answer.pointer("/result/serverInfo").is_some()
        {
            self.revision = Some(revision.to_owned());
        }
        let at = self.batches.iter().position(|batch| batch.ids.contains(&answer["id"]));
        let Some(at) = at.filter(|_| answer.get("method").is_none()) else { return Some(answer) };
        self.batches[at].ids.retain(|id| *id != answer["id"]);
        self.batches[at].answers.push(answer);
        self.whole(at)
    }

    /// Notes that a request was taken back and may get no answer. Returns the line to write if it was the last one.
    fn taken_back(&mut self, id: &Value) -> Option<Value> {
        let at = self.batches.iter().position(|batch| batch.ids.contains(id))?;
        self.batches[at].ids.retain(|known| known != id);
        self.whole(at)
    }

    fn whole(&mut self, at: usize) -> Option<Value> {
        if !self.batches[at].ids.is_empty() {
            return None;
        }
        let answers = self.batches.swap_remove(at).answers;
        (!answers.is_empty()).then_some(Value::Array(answers))
    }
}

impl<R: AsyncRead + Unpin + Send> Stdio<R> {
    pub fn new(read: R, mut write: impl AsyncWrite + Unpin + Send + 'static) -> Stdio<R> {
        let (lines, mut written) = mpsc::unbounded_channel::<(Vec<u8>, oneshot::Sender<std::io::Result<()>>)>();
        tokio::spawn(async move {
            while let Some((line, told)) = written.recv().await {
                let done = async {
                    write.write_all(&line).await?;
                    write.flush().await
                };
                // Nobody waits for lines that are not answers.
                let _ = told.send(done.await);
            }
        });
        let read = BufReader::new(read);
        let (line, waiting, told) = (Vec::new(), VecDeque::new(), Arc::default());
        Stdio { read, line, skipping: false, waiting, greeted: false, lines, told }
    }

    /// Reads the rest of a line into `self.line`; false at the end of the input. A read that is broken off is resumed by
    /// the next one.
    async fn rest_of_line(&mut self) -> std::io::Result<bool> {
        loop {
            let bytes = self.read.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if !self.skipping {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            self.read.consume(taken);
            if self.line.len() > LONGEST {
                self.line = Vec::new();
                self.skipping = true;
                self.write(&faults::too_long(LONGEST));
            }
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return Ok(true);
            }
        }
    }

    /// Takes the messages of a line, or answers what is none.
    fn take(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        let batch = match faults::message(line) {
            Err(fault) => return self.write(&fault),
            Ok(Value::Array(batch)) => batch,
            Ok(message) => {
                let taken = self.message(message);
                return self.waiting.extend(taken);
            }
        };
        let has_batches = self.told().revision.as_deref().is_some_and(|agreed| faults::has_batches(Some(agreed)));
        if !has_batches {
            return self.write(&faults::no_batch());
        }
        let has = |message: &Value, key| message.get(key).is_some();
        let asks = |message: &&Value| has(message, "id") && !has(message, "result") && !has(message, "error");
        let ids = batch.iter().filter(asks).map(|message| message["id"].clone()).collect();
        self.told().batches.push(Batch { ids, answers: Vec::new() });
        for message in batch {
            let taken = self.message(message);
            self.waiting.extend(taken);
        }
        // A batch of notifications has no answer.
        self.told().batches.retain(|batch| !batch.ids.is_empty());
    }

    /// Reads one message; what is none is answered, if it could be a request.
    fn message(&mut self, value: Value) -> Option<RxJsonRpcMessage<RoleServer>> {
        let is_request = value.get("id").is_some();
        if value["method"] == "notifications/cancelled" {
            let id = value.pointer("/params/requestId").cloned().unwrap_or_default();
            let whole = self.told().taken_back(&id);
            whole.iter().for_each(|line| self.write(line));
        }
        self.greeted |= value["method"] == "initialize" || faults::names_its_revision(&value);
        if !(self.greeted || is_request && value.get("method").is_some()) {
            return None;
        }
        match serde_json::from_value(value.clone()) {
            Ok(message) => Some(message),
            Err(_) if !is_request && value.get("method").is_some() => None,
            Err(_) => {
                let line = self.told().line(faults::no_message(&value));
                line.iter().for_each(|line| self.write(line));
                None
            }
        }
    }

    fn write(&self, line: &Value) {
        let (told, _) = oneshot::channel();
        let _ = self.lines.send((format!("{line}\n").into_bytes(), told));
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let line = serde_json::to_value(item).map_err(std::io::Error::other).map(|answer| self.told().line(answer));
        let lines = self.lines.clone();
        async move {
            let Some(line) = line? else { return Ok(()) };
            let (told, written) = oneshot::channel();
            lines.send((format!("{line}\n").into_bytes(), told)).map_err(|_| gone())?;
            written.await.map_err(|_| gone())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            if !self.rest_of_line().await.unwrap_or(false) {
                // Faults that were told before the end are written before it.
                let _ = self.close().await;
                return None;
            }
            let line = std::mem::take(&mut self.line);
            self.take(&line);
            if line.capacity() <= KEPT {
                self.line = line;
                self.line.clear();
            }
        }
    }

    /// Waits until everything is written.
    async fn close(&mut self) -> Result<(), Self::Error> {
        let (told, written) = oneshot::channel();
        let _ = self.lines.send((Vec::new(), told));
        written.await.unwrap_or(Ok(()))
    }
}
