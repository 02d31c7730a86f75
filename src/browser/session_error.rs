//! Why a session failed.

use super::cdp::CdpError;
use crate::exit::{Exit, Explain};

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// WebDriver gave no session.
    #[error("the WebDriver at `{url}` gave no browser session: {message}")]
    Start {
        /// The WebDriver.
        url: String,
        /// Its words, first line.
        message: String,
    },
    /// The browser has no DevTools socket.
    #[error("the browser behind `{url}` offers no DevTools address, so its requests cannot be guarded")]
    NoDevTools {
        /// The WebDriver.
        url: String,
    },
    /// The browser opened no window for a session.
    #[error("the browser opened no window for a new session within 10 s")]
    NoWindow,
    /// The application could not be reached.
    #[error("cannot open `{url}`: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// The browser's words.
        reason: String,
    },
    /// The page hangs.
    #[error("the page at `{url}` does not answer: {message}")]
    Hung {
        /// Address.
        url: String,
        /// What was asked.
        message: String,
    },
    /// The connection or a command failed.
    #[error(transparent)]
    Cdp(#[from] CdpError),
    /// The page's answer was not what our script gives.
    #[error("the page at `{url}` answered our script with something else: {message}")]
    Answer {
        /// Address.
        url: String,
        /// Why.
        message: String,
    },
}

impl Explain for SessionError {
    fn exit(&self) -> Exit {
        Exit::Engine
    }

    fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::Start { .. } | Self::NoWindow => "`agent-test doctor` checks browser, driver and their versions",
                Self::NoDevTools { .. } => "use Chromium or Chrome; on a Grid, a node that reports `se:cdp`",
                Self::Unreachable { .. } => "is the application running, and is the base URL right?",
                Self::Hung { .. } => "the page blocks its own main thread",
                Self::Cdp(_) | Self::Answer { .. } => return None,
            }
            .to_owned(),
        )
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Start { .. } | Self::NoWindow => "no_browser_session",
            Self::NoDevTools { .. } => "no_devtools",
            Self::Unreachable { .. } => "unreachable",
            Self::Hung { .. } => "page_hung",
            Self::Cdp(_) => "browser_lost",
            Self::Answer { .. } => "page_answer",
        }
    }
}
