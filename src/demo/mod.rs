//! The demo: a small admin application, embedded, with planted bugs of every kind and a list of what is wrong.
//!
//! Why: the explorer has to be judged against something whose truth is known, and a newcomer wants to see a campaign
//! without an application of their own. So the pages, the list of their elements and the list of their bugs live next
//! to each other, and a test holds them together.
//!
//! Invariants:
//! * Everything that changes something is a request that is not a GET, and the ledger counts it as it arrives: "nothing
//!   was deleted" is read from the server, never concluded from what the explorer says.
//! * Every bug has a switch that makes the same control behave; nothing else changes with it.
//! * No host but 127.0.0.1 is ever named in a page; one picture and one link name a dead port there, as another origin.
//! * State is in memory, per server; two servers know nothing of each other.

mod api;
mod catalog;
mod data;
mod element;
mod error;
mod ledger;
mod manifest;
mod pages;
mod route_map;
mod score;
mod server;
mod shell;
mod switches;

pub use error::DemoError;
pub use ledger::{Ledger, Mutation};
pub use manifest::{
    BugEntry, ControlEntry, Decoy, ElementEntry, Excluded, Manifest, Place, RouteEntry, manifest, manifest_with,
};
pub use route_map::route_map;
pub use score::{FalseBug, FoundBug, MissedElement, Score, score};
pub use server::{PASSWORD, Server, USERNAME, serve_until_signal};
pub use switches::Options;
