//! How a recording served a step, and why it did not. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a step was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// All recorded actions were done, and the end held: no model was asked.
    SelfFinalized,
    /// At least one recorded action was done, then the agent took over.
    AgentConcluded,
    /// The agent did the step from its beginning.
    Missed,
}

/// Why a recording did not serve, or not to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A second attempt runs live.
    Retry,
    /// Nothing is recorded under this key.
    NoEntry,
    /// The entry cannot be used.
    InvalidEntry,
    /// The entry only documents.
    Truncated,
    /// The step begins on another screen than the recording.
    WrongContext,
    /// A recorded target is not on the screen.
    TargetNotFound,
    /// Several read as the recorded target.
    TargetAmbiguous,
    /// The next action cannot be repeated.
    Gap,
    /// The application or the browser refused an action.
    ActionFailed,
    /// An action failed, and may have reached the application.
    ActionUncertain,
    /// A point was recorded in a window of another size.
    ViewportChanged,
    /// Every action was done, and the recorded end did not come of it.
    EndMismatch,
}

impl Reason {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::NoEntry => "no-entry",
            Self::InvalidEntry => "invalid-entry",
            Self::Truncated => "truncated",
            Self::WrongContext => "wrong-context",
            Self::TargetNotFound => "target-not-found",
            Self::TargetAmbiguous => "target-ambiguous",
            Self::Gap => "gap",
            Self::ActionFailed => "action-failed",
            Self::ActionUncertain => "action-uncertain",
            Self::ViewportChanged => "viewport-changed",
            Self::EndMismatch => "end-mismatch",
        }
    }

    /// For people.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Retry => "a second attempt runs live",
            Self::NoEntry => "nothing is recorded for this step",
            Self::InvalidEntry => "the recording cannot be used",
            Self::Truncated => "the recording only documents",
            Self::WrongContext => "the step begins on another screen than its recording",
            Self::TargetNotFound => "a recorded target is not on the screen",
            Self::TargetAmbiguous => "several things on the screen read as the recorded target",
            Self::Gap => "the next recorded action cannot be repeated",
            Self::ActionFailed => "a recorded action was refused",
            Self::ActionUncertain => "a recorded action failed and may have reached the application",
            Self::ViewportChanged => "a point was recorded in a window of another size",
            Self::EndMismatch => "every action was done, but the recorded result did not come of it",
        }
    }

    /// Whether the recording is stale, so that a strict run fails.
    #[must_use]
    pub fn is_stale(self) -> bool {
        !matches!(self, Self::Retry | Self::NoEntry | Self::Truncated | Self::Gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_fails_for_what_went_stale_and_lets_live_what_never_could_replay() {
        use Reason::{
            ActionFailed, ActionUncertain, EndMismatch, Gap, InvalidEntry, NoEntry, Retry, TargetAmbiguous,
            TargetNotFound, Truncated, ViewportChanged, WrongContext,
        };
        for live in [Retry, NoEntry, Truncated, Gap] {
            assert!(!live.is_stale(), "{}", live.word());
        }
        for stale in [
            InvalidEntry,
            WrongContext,
            TargetNotFound,
            TargetAmbiguous,
            ActionFailed,
            ActionUncertain,
            ViewportChanged,
            EndMismatch,
        ] {
            assert!(stale.is_stale(), "{}", stale.word());
        }
    }
}
