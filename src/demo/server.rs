//! The server: starts, answers, stops.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use super::api;
use super::data::{Product, products};
use super::error::DemoError;
use super::ledger::Ledger;
use super::switches::{Options, Switches};

/// User name of the demo's login.
pub const USERNAME: &str = "admin";
/// Password of the demo's login: public, it protects nothing.
pub const PASSWORD: &str = "demo-pass-1";

/// A running demo server. Dropping it stops the server.
#[derive(Debug)]
pub struct Server {
    /// Its address, `http://127.0.0.1:PORT/`.
    pub url: Url,
    world: Arc<World>,
    stop: watch::Sender<bool>,
    task: JoinHandle<std::io::Result<()>>,
}

/// What one server knows.
#[derive(Debug)]
pub(super) struct World {
    pub(super) switches: Switches,
    /// `true` once the server is asked to stop: open streams end.
    pub(super) stopping: watch::Receiver<bool>,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) products: Vec<Product>,
    pub(super) sessions: HashSet<String>,
    pub(super) ledger: Ledger,
}

impl World {
    /// The state. A handler that panicked leaves it as it was.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ledger as it stands.
    pub(super) fn ledger(&self) -> Ledger {
        let state = self.state();
        Ledger { products: state.products.len() as u64, ..state.ledger.clone() }
    }
}

impl Server {
    /// Starts a server on 127.0.0.1; it answers when this returns.
    ///
    /// # Errors
    /// When a switch names an unknown id, or the port cannot be taken.
    pub async fn start(options: Options) -> Result<Self, DemoError> {
        let switches = Switches::new(&options)?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let failed = |source| DemoError::Listen { address: wanted, source };
        let listener = tokio::net::TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let url = Url::parse(&format!("http://{address}/"))
            .map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        let (stop, stopping) = watch::channel(false);
        let world = Arc::new(World {
            switches,
            stopping: stopping.clone(),
            state: Mutex::new(State { products: products(), sessions: HashSet::new(), ledger: Ledger::default() }),
        });
        let router = api::router(Arc::clone(&world));
        let mut stopped = stopping;
        let task = tokio::spawn(async move {
            axum::serve(listener, router)
                .with_graceful_shutdown(async move {
                    // An error means that the sender is gone, which stops the server as well.
                    let _ = stopped.wait_for(|stop| *stop).await;
                })
                .await
        });
        Ok(Self { url, world, stop, task })
    }

    /// What reached the server so far.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.world.ledger()
    }

    /// Stops the server: open requests get half a second.
    pub async fn shutdown(mut self) {
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(Duration::from_millis(500), &mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        self.task.abort();
    }
}

/// Runs a server until SIGINT or SIGTERM; calls `ready` once it answers.
///
/// # Errors
/// As [`Server::start`], or when there is no runtime.
pub fn serve_until_signal(options: Options, ready: impl FnOnce(&Server)) -> Result<Ledger, DemoError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(DemoError::Runtime)?;
    let ledger = runtime.block_on(async {
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(DemoError::Runtime)?;
        let mut interrupt =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(DemoError::Runtime)?;
        let server = Server::start(options).await?;
        ready(&server);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let ledger = server.ledger();
        server.shutdown().await;
        Ok(ledger)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    ledger
}
