//! What can go wrong with the demo server.

use std::net::SocketAddr;

use crate::exit::{Exit, Explain};

/// Why the demo server did not start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// `--fixed` names no planted bug.
    #[error("cannot fix `{id}`: the demo has no planted bug of that id")]
    UnknownBug {
        /// What was asked for.
        id: String,
        /// The ids that exist.
        known: String,
    },
    /// `--rename` names no control.
    #[error("cannot rename `{id}`: the demo has no control of that id")]
    UnknownControl {
        /// What was asked for.
        id: String,
        /// The ids that exist.
        known: String,
    },
    /// The port cannot be taken.
    #[error("cannot listen on {address} for the demo application")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// No runtime, or no signal handler.
    #[error("cannot run the demo application's server")]
    Runtime(#[source] std::io::Error),
}

impl Explain for DemoError {
    fn exit(&self) -> Exit {
        match self {
            Self::UnknownBug { .. } | Self::UnknownControl { .. } => Exit::Usage,
            Self::Listen { source, .. }
                if matches!(source.kind(), std::io::ErrorKind::AddrInUse | std::io::ErrorKind::PermissionDenied) =>
            {
                Exit::Usage
            }
            Self::Listen { .. } | Self::Runtime(_) => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownBug { known, .. } => Some(format!("known bugs: all, {known}")),
            Self::UnknownControl { known, .. } => Some(format!("known controls: all, {known}")),
            Self::Listen { .. } => {
                Some("choose another port with --port, or leave it out to take a free one".to_owned())
            }
            Self::Runtime(_) => None,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::UnknownBug { .. } => "unknown_demo_bug",
            Self::UnknownControl { .. } => "unknown_demo_control",
            Self::Listen { .. } => "demo_port",
            Self::Runtime(_) => "demo_server",
        }
    }
}
