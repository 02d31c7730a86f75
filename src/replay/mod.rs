//! Plays trace steps in a browser, judged by the oracles. One actor ([`perform`]) does every action of every engine.

pub mod oracle;
mod perform;
mod play;

pub use perform::{Action, Effect, Performed, Target, Terms, open, perform, scroll_to};
pub use play::{Played, is_destructive, play};
