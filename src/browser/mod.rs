//! The browser: WebDriver sessions and the driver process; the screen (what is on it, what changed, is it still);
//! evidence (requests, exceptions, console, dialogs); the guard at the network.
//!
//! Technique, where it departs from `explorer.md`: listeners, closed shadow roots and pending timers are remembered by a
//! hook that runs before the page's code (in place of one listing call per look), so a look is exactly one round trip;
//! role and name are the browser's own (`computedRole`, `computedName`). The browser is begun and ended
//! through WebDriver; a session is a user context in it; looks, input and the guard go over the browser's DevTools socket,
//! because a request can only be stopped there.

mod cdp;
mod code_use;
pub mod driver;
mod evidence;
mod guard;
mod host;
mod input;
pub mod journal;
mod keys;
mod launcher;
mod pump;
mod scene;
mod screen;
mod sense;
mod session;
mod session_error;
mod wait;
pub mod words;

pub use cdp::{Cdp, CdpError, CdpEvent};
pub use code_use::{CodeUse, RanCode, ScriptUse};
pub use evidence::{Evidence, Mark, Note, Request, Since};
pub use guard::{Decision, Mode, Outgoing, Policy};
pub use input::{Button, HOLD_MS};
pub use keys::{Chord, Key};
pub use launcher::Launcher;
pub use scene::{Scene, SceneNode};
pub use screen::{Aim, Choice, Element, Found, Frame, Layer, Look, Overlay, Point, Still, Table, Tally, Toast};
pub use session::Session;
pub use session_error::SessionError;

/// Installs the TLS provider, once; every HTTP client needs it.
pub fn install_tls() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // Already installed by a host program: theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
