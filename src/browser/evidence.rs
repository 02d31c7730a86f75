//! Evidence: what the browser told while a session lived, in order. An action takes a mark before it begins and reads
//! what has come since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// One request, from its start to its end.
#[derive(Clone, Debug)]
pub struct Request {
    /// The browser's id.
    pub id: String,
    /// HTTP method.
    pub method: String,
    /// Address.
    pub url: String,
    /// CDP resource type: `Document`, `XHR`, `Fetch`, `Script`, `Image`, …
    pub kind: String,
    /// Whether it is the document of a window itself.
    pub top_document: bool,
    /// HTTP status, when an answer came.
    pub status: Option<u16>,
    /// MIME type of the answer.
    pub mime: Option<String>,
    /// Why there was no answer (`net::ERR_…`).
    pub error: Option<String>,
    /// Whether it is over.
    pub done: bool,
    /// Why we stopped it, when we did.
    pub refused: Option<&'static str>,
    /// We stopped it because it would leave the application.
    pub out_of_scope: bool,
    /// When it began.
    pub started: Instant,
    /// The document that it was made for, as the browser names it.
    pub loader: String,
}

/// Anything that is not a request.
#[derive(Clone, Debug)]
pub enum Note {
    /// An uncaught exception or rejection.
    Exception {
        /// First line of its text.
        text: String,
        /// `TypeError`, `Error`, …
        class: String,
        /// `function@/path.js` of the first frame.
        frame: String,
        /// Address of the script that threw; empty when unknown.
        url: String,
    },
    /// A console message at level error.
    ConsoleError {
        /// Text.
        text: String,
        /// Address that it speaks of.
        url: String,
    },
    /// A JavaScript dialog, already answered.
    Dialog {
        /// `alert`, `confirm`, `prompt`, `beforeunload`.
        kind: String,
        /// Text.
        text: String,
        /// Whether it was accepted.
        accepted: bool,
    },
    /// A window opened.
    Window {
        /// Target id.
        target: String,
        /// Session attached to it.
        session: String,
        /// Address at that time.
        url: String,
    },
    /// A download began, and was stopped.
    Download {
        /// Suggested file name.
        name: String,
    },
    /// A file chooser was asked for, and was not shown.
    FileChooser,
    /// The page's process crashed.
    Crashed,
    /// The address changed without a new document.
    Moved {
        /// New address.
        url: String,
    },
    /// A new document was committed in the top frame.
    Committed {
        /// Its address.
        url: String,
    },
    /// The connection to the browser ended: nothing more will be told.
    Lost,
}

#[cfg(test)]
impl Request {
    /// A request that we stopped, for tests.
    pub(crate) fn stopped(kind: &str) -> Self {
        Self {
            id: "1".into(),
            method: "POST".into(),
            url: "http://a.b/save".into(),
            kind: kind.into(),
            top_document: false,
            status: None,
            mime: None,
            error: None,
            done: true,
            refused: Some("would change data"),
            out_of_scope: false,
            started: Instant::now(),
            loader: String::new(),
        }
    }
}

#[derive(Default, Debug)]
struct Inner {
    notes: Vec<Note>,
    requests: Vec<Request>,
    index: HashMap<String, usize>,
    /// Method and address of requests that were waited for in vain: long polls.
    endless: std::collections::HashSet<String>,
}

/// A point in the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    notes: usize,
    requests: usize,
}

/// The record. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    inner: Arc<Mutex<Inner>>,
    changed: Arc<Notify>,
}

/// What has come since a mark.
#[derive(Clone, Debug, Default)]
pub struct Since {
    /// Notes in order.
    pub notes: Vec<Note>,
    /// Requests that began since.
    pub requests: Vec<Request>,
}

/// Requests of these kinds are work that a page waits for.
const COUNTED: &[&str] = &["Document", "XHR", "Fetch", "Script", "Stylesheet"];

impl Evidence {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a note down.
    pub fn note(&self, note: Note) {
        self.lock().notes.push(note);
        self.changed.notify_waiters();
    }

    /// A request began (or was redirected, which is the same request at another address).
    pub fn began(&self, request: Request) {
        let mut inner = self.lock();
        if let Some(&at) = inner.index.get(&request.id) {
            let entry = &mut inner.requests[at];
            // The guard may have seen it first; keep its verdict.
            entry.method = request.method;
            entry.url = request.url;
            entry.kind = request.kind;
            entry.top_document |= request.top_document;
        } else {
            let at = inner.requests.len();
            inner.index.insert(request.id.clone(), at);
            inner.requests.push(request);
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Changes a request that is known.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Request)) {
        let mut inner = self.lock();
        if let Some(&at) = inner.index.get(id) {
            change(&mut inner.requests[at]);
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// The document that a request was made for, when it is known.
    #[must_use]
    pub fn loader_of(&self, id: &str) -> Option<String> {
        let inner = self.lock();
        inner.index.get(id).and_then(|at| inner.requests.get(*at)).map(|request| request.loader.clone())
    }

    /// A window shows another document: what older ones were still waiting for is over.
    pub fn replaced(&self, loader: &str) {
        let mut inner = self.lock();
        let newest = inner.requests.iter().rposition(|request| request.loader == loader && request.kind == "Document");
        for request in &mut inner.requests[..newest.unwrap_or(0)] {
            request.done = true;
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// The present point.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let inner = self.lock();
        Mark { notes: inner.notes.len(), requests: inner.requests.len() }
    }

    /// What has come since.
    #[must_use]
    pub fn since(&self, mark: Mark) -> Since {
        let inner = self.lock();
        Since {
            notes: inner.notes.get(mark.notes..).unwrap_or_default().to_vec(),
            requests: inner.requests.get(mark.requests..).unwrap_or_default().to_vec(),
        }
    }

    /// How many requests that began since the mark are still worth waiting for.
    ///
    /// Not counted: kinds that never end (streams, beacons, media), requests older than `patience_ms`, and an address
    /// that has been asked for again and again (a poll).
    #[must_use]
    pub fn in_flight(&self, mark: Mark, patience_ms: u128) -> usize {
        let inner = self.lock();
        let mut times: HashMap<(&str, &str), usize> = HashMap::new();
        for request in &inner.requests {
            if matches!(request.kind.as_str(), "XHR" | "Fetch") {
                *times.entry((&request.method, without_query(&request.url))).or_default() += 1;
            }
        }
        inner
            .requests
            .get(mark.requests..)
            .unwrap_or_default()
            .iter()
            .filter(|request| {
                !request.done
                    && COUNTED.contains(&request.kind.as_str())
                    && request.url.starts_with("http")
                    && !inner.endless.contains(&endless_key(request))
                    && request.started.elapsed().as_millis() < patience_ms
                    && times.get(&(request.method.as_str(), without_query(&request.url))).copied().unwrap_or(0) < 20
            })
            .count()
    }

    /// What is under way since the mark was waited for in vain: nobody waits for the same address again.
    pub fn give_up(&self, mark: Mark) {
        let mut inner = self.lock();
        let open = inner.requests.get(mark.requests..).unwrap_or_default().iter().filter(|request| !request.done);
        let keys: Vec<String> = open.map(endless_key).collect();
        inner.endless.extend(keys);
    }

    /// The requests that are still under way, for diagnostics: `kind url`.
    #[must_use]
    pub fn under_way(&self, mark: Mark) -> Vec<String> {
        let inner = self.lock();
        let open = inner.requests.get(mark.requests..).unwrap_or_default().iter().filter(|request| !request.done);
        open.map(|request| format!("{} {} {:?}", request.kind, request.url, request.status)).collect()
    }

    /// Waits for the next change of the record.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Asks again with everything that comes, and every tenth of a second, until there is an answer or the deadline. Nothing
    /// that comes between a question and the wait is missed.
    pub async fn until<T>(&self, deadline: Instant, mut answer: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = answer() {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let _ = tokio::time::timeout(left.min(Duration::from_millis(100)), changed).await;
        }
    }
}

fn endless_key(request: &Request) -> String {
    format!("{} {}", request.method, without_query(&request.url))
}

fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

impl Since {
    /// The documents of the window itself, oldest first.
    pub fn documents(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(|request| request.top_document && request.kind == "Document")
    }

    /// Requests that we stopped because they would change something (beacons, and pictures of a harmless address, aside).
    pub fn refused(&self) -> impl Iterator<Item = &Request> {
        let by_address = |request: &Request| request.refused == Some("its address reads destructive");
        let active = |request: &Request| matches!(request.kind.as_str(), "Document" | "XHR" | "Fetch" | "EventSource");
        self.requests.iter().filter(move |request| {
            request.refused.is_some()
                && (active(request) || by_address(request) || request.method != "GET")
                && request.kind != "Ping"
        })
    }
}
