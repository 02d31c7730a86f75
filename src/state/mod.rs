//! The state of a campaign: `.monkey-test-state.json`, its types, transitions, invariants and recovery.
//!
//! Why: several agents, people and processes share one file. It is the single source of truth, so every change is one
//! pure transition on values, and one atomic read-modify-write under the lock ([`Project::transact`]).
//!
//! Invariants (a transition never breaks one; [`Project::check`] tells where a file does)
//! 1. A route stands in exactly one of completed, failed and pending.
//! 2. Counters are derived from the lists; the lists are the truth.
//! 3. A completed route has a report that exists and parses.
//! 4. Each completed route has a review status.
//! 5. A reviewed route has a bug report that exists.
//! 6. `last_updated` is not before any `tested_at` or `failed_at`.
//! 7. Slugs are unique, also without regard to case.
//!
//! What a transition does not touch keeps its bytes: unknown keys at any depth, the order of keys, the text of numbers.
//! Our own keys (`claims`, `attempts`, `slugs`, `settings`, `scope`, `dropped`, `final_report`, `transition`) are optional.
//!
//! Each transition has a number and writes one line of history after the state (`history.rs`; a failure there is a
//! warning). The number tells an older state that was brought back (`age.rs`). Leases end by the boot clock where it can
//! be compared, else by the wall clock (`boot.rs`). Linked git worktrees share the main checkout's campaign, and a copy of
//! the state lies in the git directory (`git.rs`): it is offered by a repair and never read as truth.

mod age;
mod boot;
mod campaign;
mod check;
mod claims;
mod conflict;
mod document;
mod entry;
mod error;
mod files;
mod git;
mod handin;
mod history;
mod journal;
mod model;
mod next;
mod project;
mod raw;
mod rebuild;
mod repair;
mod replay;
mod review;
mod scan;
mod scope;
mod standing;
mod testing;
mod text;
mod undo;

pub use boot::BootEnd;
pub use campaign::HandedIn;
pub use check::{Finding, Repair};
pub use claims::{Claim, ClaimPhase, ClaimRequest, DEFAULT_LEASE, Lease, parse_lease};
pub use document::StateFile;
pub use entry::{Completed, CompletedFacts, CompletedView, Failed, Pending, ReviewStatus};
pub use error::StateError;
pub use git::Checkout;
pub use handin::count_operations;
pub use history::{Change, Ground, GroundFailure, HistoryLine, KeptFile, LogFilter, Logged, Undo, Who};
pub use journal::Touched;
pub use model::{Attempts, Counts, FinalReport, Place, SCHEMA_VERSION, State, stamp};
pub use next::{Next, digest, digest_in, digest_line, next};
pub use project::{FINAL_REPORT, OWN_DIR, Project, REPORTS_DIR, ROUTE_MAP, SCREENSHOTS_DIR, STATE_FILE};
pub use scope::{Added, InitRequest, Initialized};
pub use standing::{NextCommand, Standing};
pub use testing::Crash;
pub use undo::Undone;

pub use crate::settings::{Limits, Login, Settings};

/// Crashed subagents after which a route is given up.
pub const MAX_CRASHES: u32 = 3;
/// Failed reviews after which a route is left unreviewed.
pub const MAX_REVIEWS: u32 = 3;

#[cfg(test)]
mod tests;
