//! The clock, injected everywhere.

use chrono::{DateTime, SubsecRound, Utc};

/// Tells the time in UTC, to the millisecond.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    fixed: Option<DateTime<Utc>>,
}

impl Clock {
    /// The machine's clock, or the time that a test set (`AGENT_TEST_INTERNAL_NOW`).
    #[must_use]
    pub fn from_env() -> Self {
        let fixed = crate::env::get(crate::env::TEST_NOW)
            .and_then(|text| DateTime::parse_from_rfc3339(&text).ok())
            .map(|time| time.with_timezone(&Utc));
        Self { fixed }
    }

    /// A clock that stands.
    #[must_use]
    pub fn fixed(at: DateTime<Utc>) -> Self {
        Self { fixed: Some(at) }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.fixed.unwrap_or_else(|| Utc::now().trunc_subsecs(3))
    }
}
