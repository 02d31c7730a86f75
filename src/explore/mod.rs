//! The explorer: walks one route depth-first, acts on every element, and makes the maze map. Needs no model.
//!
//! [`explore`] does one route from a fresh browser session to its report. Pure rules stand apart: what is the same
//! (`signature`), what is acted on (`choose`), what came of it (`classify`), how screenshots are named (`shots`).
//!
//! Invariants
//! * Every element found is in the tree, or counted with a reason; every limit reached is in the report.
//! * Every screenshot on the disk is named in the report, and every one named exists.
//! * A node's trace is made of recorded steps: opening navigation, then the actions that lead to it.
//! * What we stopped ourselves is never the application's bug.

mod act;
mod approach;
mod checkpoint;
mod choose;
mod classify;
mod confirm;
mod gesture;
mod options;
mod plan;
mod record;
mod restore;
mod route;
mod shots;
mod signature;
mod walk;

pub use checkpoint::forget;
pub use classify::{Outcome, classify, node_type};
pub use plan::{Plan, Shared, Unfinished};
pub use route::{ExploreError, Explored, explore};
