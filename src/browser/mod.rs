//! The browser: the driver process, sessions, what is on the screen, evidence.
//!
//! Everything that speaks WebDriver goes through `reqwest`, which is built without a TLS provider of its own so that
//! only one is ever linked. Whoever makes a client calls [`install_tls`] first.

use std::sync::Once;

pub mod driver;

/// Installs the TLS provider of this process, once; further calls do nothing.
///
/// Without it every HTTP client panics when it is built, also for plain `http://`. Library entry points and tests call
/// it as well as `main`, since none of them can rely on another having done so.
pub fn install_tls() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error means that the embedding program chose a provider already: that one serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
