//! Routes: what one is, its file-safe name, the route map, and the choice of routes from it.
//!
//! Why: a route is written by people, agents and discovery, and becomes an address, a file name and a key of the state.
//! It is parsed once, here; a [`Route`] that exists can be opened below any base URL and never leaves its origin.
//!
//! Invariants
//! * A trailing slash makes no other route (equality ignores it), but the written form is kept and opened.
//! * Slugs of a campaign are distinct without regard to case, and valid file names on every system.
//! * ROUTE_MAP.md is read leniently; its Status column is never read.

mod error;
mod map;
mod parse;
mod path;
mod select;
mod slug;

pub use error::RouteError;
pub use map::{Category, Excluded, MapRoute, RouteMap};
pub use path::Route;
pub use select::{Selection, select};
pub use slug::{Slug, Slugs};
