//! Bugs that can be trusted: plays their traces again and says what became of them. Needs no model;
//! where one is configured and asked for, it finds a missing target anew (`heal`) or plays a plan (`plan`).
//!
//! Pure rules stand apart: what several attempts mean together (`verdict`), which bugs of two runs are the same
//! (`pair`, `diff`). Runs are read leniently, those of the seed's `.monkeytest` stores and of other programs too (`runs`).
//!
//! Invariants
//! * Trouble of the infrastructure is never taken for a repair: what was not reached is blocked.
//! * One attempt is one fresh session; nothing of one is left in the next.
//! * A stored run is never rewritten, but for locators that were found anew, judged and accepted (`proposals`); a rerun
//!   writes its own.
//! * A model proposes. It is asked only where a target is missing, and its choice is judged before anything is done.

mod diff;
mod error;
mod heal;
mod ledger;
mod minimise;
mod pair;
mod plan;
mod proposals;
mod rebase;
mod rerun;
mod reset;
mod runs;
mod verdict;
mod verifier;

pub use diff::{Change, DiffReport, Difference, diff};
pub use error::VerifyError;
pub use heal::{HealedStep, ModelHealer};
pub use ledger::{fixed_bugs, keep_report};
pub use minimise::{MinimiseOptions, MinimiseReport, Minimised, minimise};
pub use pair::chosen;
pub use plan::play_plan;
pub use proposals::{Proposal, Proposals, accept, keep_proposals, proposals_of};
pub use rebase::rebase;
pub use rerun::{Rerun, rerun};
pub use runs::{RunSource, find_run, run_from_text};
pub use verdict::{Verdict, failure_bound, repeats_for, verdict};
pub use verifier::{AttemptReport, BugVerdict, Control, VerifyOptions, VerifyReport, verify};
