//! Plays trace steps in a browser, judged by the oracles.
//!
//! One actor ([`perform`]) does every action of every engine, one replayer ([`Player`]) plays every step, and one rule
//! ([`outcome`]) says whether a bug fired. A [`Stage`] is where all of it happens: the application, entered.

mod bug;
mod close;
mod enter;
mod heal;
mod login;
pub mod oracle;
mod outcome;
mod perform;
mod play;
mod reading;
mod stage;
mod witness;

pub use bug::{bug_at, step_dialog, step_requests};
pub use close::close_down_to;
pub use enter::{EnterError, EnterOptions, Prepared};
pub use heal::{Healer, Healing, Miss, guard, shares_a_word};
pub use login::{Credentials, LoggedIn, is_login_address, log_in, redact, redact_value};
pub use outcome::{Outcome, is_explained, outcome};
pub use perform::{Action, Effect, Performed, Target, Terms, open, perform, scroll_to};
pub use play::{Played, Player, Stepped, is_destructive, play, uploads};
pub use reading::{closes, confirms, ends_session, reads_destructive};
pub use stage::{Opened, Stage, StageError, login_variables};
pub use witness::{Ask, End, Sight, Witness, judge, stops, witness, witness_healing};
