//! Settings of a campaign: what can be set, where from, and which source wins.
//!
//! Why a room: every command that touches the application must agree on them, and they must survive from one session
//! to the next. Order: flag, `AGENT_TEST_*`, `MONKEY_TEST_*`, `agent-test.toml`, the campaign's settings, the default.
//!
//! Invariant: a secret is never a setting. A login holds the *names* of environment variables, a model no key and
//! no address.

mod check;
mod error;
mod layers;
mod types;

pub use error::SettingsError;
pub use layers::{CONFIG_FILE, Config, SettingsFile, check_waits, parse_address, parse_base_url, resolve};
pub use types::{Limits, Login, ModelSettings, Overrides, PartialLimits, Settings};
