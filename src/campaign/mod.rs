//! The phases of a campaign: test, review, report; each run goes on from whatever the state says.
//!
//! [`run`] asks the state what comes next and does it, until nothing is left or something stops it. Nothing is kept in
//! memory that the next session would need: a run that is interrupted, killed or that crashes is the same as one that
//! never began the routes it had in hand.
//!
//! Invariants
//! * One route, one fresh subagent, one lease. The lease's worker names its process, so that the routes of a dead
//!   process are free at once, and those of a living one never are.
//! * What is not the route's fault (application down, login refused, disk full) never counts as its crash.
//! * The final report carries the digest of the state that it reports on; only then is a campaign done.
//! * A report of an application that went down on the way is thrown away: every click would look like a bug.

mod crew;
mod error;
mod files;
mod review;
mod run;

pub use error::CampaignError;
pub use files::{Written, aggregate, write_reports};
pub use run::{Ended, Outcome, run};

/// Begins the name of every worker of a run; its process and its number follow.
const WORKER_PREFIX: &str = "agent-test/";
