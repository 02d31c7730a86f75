//! A DevTools connection to the browser: one WebSocket, many sessions (flat mode), every event delivered.
//!
//! The WebDriver library's own socket binds one session and drops events when a reader is slow. The guard at the network
//! must see every paused request of every window and frame, so this small client delivers all events, in order, into an
//! unbounded queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

/// A CDP session id, as the browser names it.
pub type SessionId = String;

/// Why a command was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CdpError {
    /// The socket is gone: the browser ended.
    #[error("the connection to the browser is closed")]
    Closed,
    /// No answer in time: the page hangs, or a dialog blocks it.
    #[error("the browser did not answer `{method}` within {ms} ms")]
    Timeout {
        /// The command.
        method: String,
        /// How long it was waited for.
        ms: u128,
    },
    /// The browser refused the command.
    #[error("the browser refused `{method}`: {message}")]
    Refused {
        /// The command.
        method: String,
        /// Its words.
        message: String,
    },
    /// The socket could not be opened.
    #[error("cannot connect to the browser at `{url}`: {message}")]
    Connect {
        /// Address.
        url: String,
        /// Why.
        message: String,
    },
}

impl CdpError {
    /// Whether the page that was asked went away (navigation, closed window) rather than the browser.
    #[must_use]
    pub fn is_page_gone(&self) -> bool {
        let Self::Refused { message, .. } = self else { return false };
        [
            "context was destroyed",
            "Cannot find context",
            "Inspected target navigated",
            "Session with given id",
            "Target closed",
            "navigated or closed",
            "Cannot find default execution context",
            "Not attached",
            "uniqueContextId not found",
        ]
        .iter()
        .any(|words| message.contains(words))
    }
}

/// Something that the browser told.
#[derive(Debug, Clone)]
pub struct CdpEvent {
    /// `Domain.event`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
}

/// An answer, and how many events came before it.
type Answer = (Result<Value, CdpError>, u64);
type Waiting = Arc<Mutex<HashMap<u64, (String, oneshot::Sender<Answer>)>>>;

/// Keeps answers behind the events that came before them: who reads an answer must find those events dealt with.
#[derive(Debug)]
struct Order {
    told: AtomicU64,
    handled: watch::Sender<u64>,
    /// The browser has hung up: nothing will be answered any more.
    ended: AtomicBool,
}

/// The connection. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cdp {
    out: mpsc::UnboundedSender<Message>,
    waiting: Waiting,
    next: Arc<AtomicU64>,
    order: Arc<Order>,
}

const DEADLINE: Duration = Duration::from_secs(20);

impl Cdp {
    /// Connects, and gives back every event that will come.
    ///
    /// # Errors
    /// [`CdpError::Connect`].
    pub async fn connect(url: &str) -> Result<(Self, mpsc::UnboundedReceiver<CdpEvent>), CdpError> {
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), true)
            .await
            .map_err(|error| CdpError::Connect { url: url.to_owned(), message: error.to_string() })?;
        let (mut sink, mut stream) = socket.split();
        let (out, mut outgoing) = mpsc::unbounded_channel::<Message>();
        let (tell, events) = mpsc::unbounded_channel();
        let waiting: Waiting = Arc::default();
        tokio::spawn(async move {
            while let Some(message) = outgoing.recv().await {
                if sink.send(message).await.is_err() {
                    break;
                }
            }
            let _ = sink.close().await;
        });
        let answers = waiting.clone();
        // Until somebody says that events are read, answers wait for nothing.
        let order = Arc::new(Order {
            told: AtomicU64::new(0),
            handled: watch::Sender::new(u64::MAX),
            ended: AtomicBool::new(false),
        });
        let counted = order.clone();
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message
                    && let Ok(value) = serde_json::from_str::<Value>(text.as_str())
                {
                    deliver(value, &answers, &tell, &counted);
                }
            }
            counted.ended.store(true, Ordering::SeqCst);
            for (_, (_, reply)) in answers.lock().unwrap_or_else(PoisonError::into_inner).drain() {
                let _ = reply.send((Err(CdpError::Closed), 0));
            }
        });
        Ok((Self { out, waiting, next: Arc::new(AtomicU64::new(1)), order }, events))
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// [`CdpError`], after 20 s at the latest.
    pub async fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, CdpError> {
        self.call_within(session, method, params, DEADLINE).await
    }

    /// Like [`Cdp::call`], with a deadline of the caller's.
    ///
    /// # Errors
    /// [`CdpError`].
    pub async fn call_within(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        deadline: Duration,
    ) -> Result<Value, CdpError> {
        let (id, answer) = self.post(session, method, params)?;
        let result = tokio::time::timeout(deadline, answer).await;
        match result {
            Ok(Ok((answer, events))) => {
                let mut handled = self.order.handled.subscribe();
                let _ = tokio::time::timeout(deadline, handled.wait_for(|handled| *handled >= events)).await;
                answer
            }
            Ok(Err(_)) => Err(CdpError::Closed),
            Err(_) => {
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                Err(CdpError::Timeout { method: method.to_owned(), ms: deadline.as_millis() })
            }
        }
    }

    /// Whether the browser has hung up.
    pub(super) fn has_ended(&self) -> bool {
        self.order.ended.load(Ordering::SeqCst)
    }

    /// So many events have been dealt with since the connection began. From the first call on, an answer is only given
    /// once the events before it have been.
    pub(super) fn handled(&self, events: u64) {
        self.order.handled.send_replace(events);
    }

    /// Sends a command and does not wait.
    pub fn send(&self, session: Option<&str>, method: &str, params: Value) {
        let _ = self.post(session, method, params);
    }

    fn post(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<(u64, oneshot::Receiver<Answer>), CdpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let (reply, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, (method.to_owned(), reply));
        // After the insertion: whoever hangs up in between finds the entry, or is found out here.
        if self.order.ended.load(Ordering::SeqCst) {
            return Err(CdpError::Closed);
        }
        self.out.send(Message::text(message.to_string())).map_err(|_| CdpError::Closed)?;
        Ok((id, answer))
    }
}

fn deliver(mut value: Value, waiting: &Waiting, tell: &mpsc::UnboundedSender<CdpEvent>, order: &Order) {
    if let Some(id) = value.get("id").and_then(Value::as_u64) {
        let entry = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some((method, reply)) = entry {
            let answer = match value.get("error") {
                Some(error) => Err(CdpError::Refused {
                    method,
                    message: error.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned(),
                }),
                None => Ok(value["result"].take()),
            };
            let _ = reply.send((answer, order.told.load(Ordering::Acquire)));
        }
    } else if let Some(method) = value.get("method").and_then(Value::as_str).map(str::to_owned) {
        let session = value.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        order.told.fetch_add(1, Ordering::Release);
        let _ = tell.send(CdpEvent { method, params: value["params"].take(), session });
    }
}
