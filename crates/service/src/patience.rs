//! Time limits for clients: a body that does not arrive, or an answer that nobody reads, ends the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::places::Place;

/// Time limit for the whole body of a request: enough for 100 MB at a few MB a second.
pub const BODY: Duration = Duration::from_secs(30);

/// Maximum time without progress while an answer is written.
const ANSWER: Duration = Duration::from_secs(30);

/// The body of a request, with a time limit. Until all of it is there, its client can lose its place.
pub struct Timed<B> {
    body: B,
    limit: Pin<Box<Sleep>>,
    place: Arc<Place>,
}

impl<B: Body> Timed<B> {
    pub fn new(body: B, limit: Duration, place: Arc<Place>) -> Timed<B> {
        match body.is_end_stream() {
            true => _ = place.is_answered(),
            false => place.waits(),
        }
        Timed { body, limit: Box::pin(sleep(limit)), place }
    }
}

impl<B: Body + Unpin> Body for Timed<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = B::Data;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                if frame.is_none() || self.body.is_end_stream() {
                    self.place.is_answered();
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => match self.limit.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err("the body did not come in time".into()))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: once it is sent, we wait for the client's next request.
pub struct Answer<B> {
    body: B,
    place: Arc<Place>,
}

impl<B> Answer<B> {
    pub fn new(body: B, place: Arc<Place>) -> Answer<B> {
        Answer { body, place }
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        self.place.waits();
    }
}

/// A stream that fails if nobody reads what it writes.
pub struct Patient<S> {
    stream: S,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub fn new(stream: S) -> Patient<S> {
        Patient { stream, stalled: None }
    }

    fn judge<T>(&mut self, cx: &mut Context<'_>, wrote: Poll<std::io::Result<T>>) -> Poll<std::io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(ANSWER)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(std::io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
