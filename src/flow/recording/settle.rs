//! What becomes of a recording when its step and its attempt have ended. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reason::{CacheMode, Reason};

/// How the step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// It did what it should.
    Passed,
    /// It failed.
    Failed,
    /// It failed because strictness forbade to go on.
    Stale,
    /// Nobody can say: it was cancelled, or no model answered.
    NoVerdict,
}

/// What is to become of the entry, if the attempt confirms it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staged<E> {
    /// The entry stays as it is.
    Keep,
    /// This takes its place.
    Write(Box<E>),
    /// It goes, whatever the attempt says: why.
    Evict(&'static str),
    /// There is nothing to record.
    NoChange,
    /// Nothing is done.
    Nothing,
}

/// What a step did, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// How the step ended.
    pub end: StepEnd,
    /// How the recording served it.
    pub mode: CacheMode,
    /// Why it did not serve, or not to the end.
    pub reason: Option<Reason>,
    /// Actions of the recording that were done.
    pub replayed: usize,
    /// An entry had been read.
    pub had_entry: bool,
    /// Actions that the agent did.
    pub agent_acted: usize,
    /// Targets that were found on the ladder of `--relocate`.
    pub relocated: usize,
}

/// What is staged when a step ends. `fresh` is the new recording, when there is one.
#[must_use]
pub fn stage<E>(facts: Facts, fresh: Option<E>) -> Staged<E> {
    match facts.end {
        StepEnd::Failed if facts.replayed > 0 => Staged::Evict("the step failed after a replay"),
        StepEnd::NoVerdict | StepEnd::Stale | StepEnd::Failed => Staged::Nothing,
        StepEnd::Passed if facts.mode == CacheMode::SelfFinalized => match fresh {
            Some(entry) if facts.relocated > 0 => Staged::Write(Box::new(entry)),
            _ => Staged::Keep,
        },
        StepEnd::Passed if facts.reason == Some(Reason::EndMismatch) && facts.agent_acted > 0 => {
            Staged::Evict("the agent had to mend what the replay left")
        }
        StepEnd::Passed => match fresh {
            Some(entry) => Staged::Write(Box::new(entry)),
            None if facts.had_entry => Staged::Evict("the step passed without it, and left nothing to record"),
            None => Staged::NoChange,
        },
    }
}

/// What became of an entry, as `step.cache.write` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Write {
    /// Written.
    Saved,
    /// It stays as it is.
    Kept,
    /// No later check passed.
    Unconfirmed,
    /// It was taken away, into quarantine.
    Evicted,
    /// The step changed nothing that could be checked.
    NoChange,
    /// The store did not take it.
    NotWritten,
    /// It may not be saved here, and was written as a proposal.
    Proposed,
}

impl Write {
    /// For people.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Saved => "recording saved",
            Self::Kept => "recording kept",
            Self::Unconfirmed => "not recorded: no check passed after the step",
            Self::Evicted => "recording put into quarantine",
            Self::NoChange => "not recorded: the step changed nothing that could be checked",
            Self::NotWritten => "not recorded: the store did not take it",
            Self::Proposed => "recording proposed",
        }
    }
}

/// What is done to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed<E> {
    /// Nothing; this is said of it.
    Leave(Option<Write>),
    /// The entry is written.
    Save(Box<E>),
    /// The entry goes into quarantine: why, and what is said of it.
    Remove(&'static str, Write),
}

/// What is done when the attempt has ended. `confirmed`: a check passed after the step. `no_answer`: the attempt failed for
/// nothing but a model that gave no answer.
#[must_use]
pub fn settle<E>(staged: Staged<E>, had_entry: bool, confirmed: bool, no_answer: bool) -> Deed<E> {
    match staged {
        Staged::Nothing => Deed::Leave(None),
        Staged::Evict(why) if had_entry => Deed::Remove(why, Write::Evicted),
        Staged::NoChange | Staged::Evict(_) => Deed::Leave(Some(Write::NoChange)),
        Staged::Keep if confirmed || no_answer => Deed::Leave(Some(Write::Kept)),
        Staged::Keep => Deed::Remove("no check passed after its replay", Write::Evicted),
        Staged::Write(entry) if confirmed => Deed::Save(entry),
        Staged::Write(_) if had_entry && !no_answer => {
            Deed::Remove("it did not serve, and no check passed after the step", Write::Unconfirmed)
        }
        Staged::Write(_) => Deed::Leave(Some(Write::Unconfirmed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        end: StepEnd::Passed,
        mode: CacheMode::AgentConcluded,
        reason: Some(Reason::TargetNotFound),
        replayed: 1,
        had_entry: true,
        agent_acted: 1,
        relocated: 0,
    };

    fn end(facts: Facts, fresh: Option<u8>, confirmed: bool) -> Deed<u8> {
        settle(stage(facts, fresh), facts.had_entry, confirmed, false)
    }

    #[test]
    fn a_hand_off_with_a_check_after_it_saves_the_new_recording() {
        assert_eq!(end(FACTS, Some(7), true), Deed::Save(Box::new(7)));
        assert!(matches!(end(FACTS, Some(7), false), Deed::Remove(_, Write::Unconfirmed)));
    }

    #[test]
    fn a_whole_replay_keeps_its_entry_when_a_check_follows_and_loses_it_otherwise() {
        let whole = Facts { mode: CacheMode::SelfFinalized, reason: None, agent_acted: 0, ..FACTS };
        assert_eq!(end(whole, None, true), Deed::Leave(Some(Write::Kept)));
        assert!(matches!(end(whole, None, false), Deed::Remove(_, Write::Evicted)));
        assert_eq!(settle(stage::<u8>(whole, None), true, false, true), Deed::Leave(Some(Write::Kept)));
    }

    #[test]
    fn a_whole_replay_that_used_a_rung_is_recorded_anew_and_an_exact_one_carries_nothing() {
        let whole = Facts { mode: CacheMode::SelfFinalized, reason: None, agent_acted: 0, relocated: 1, ..FACTS };
        assert_eq!(end(whole, Some(7), true), Deed::Save(Box::new(7)));
        assert_eq!(end(Facts { relocated: 0, ..whole }, Some(7), true), Deed::Leave(Some(Write::Kept)));
    }

    #[test]
    fn an_end_that_the_agent_had_to_mend_evicts_and_one_it_accepted_is_anchored_anew() {
        let mismatch = Facts { reason: Some(Reason::EndMismatch), ..FACTS };
        assert!(matches!(end(mismatch, Some(7), true), Deed::Remove(_, Write::Evicted)));
        assert_eq!(end(Facts { agent_acted: 0, ..mismatch }, Some(7), true), Deed::Save(Box::new(7)));
    }

    #[test]
    fn a_failed_step_evicts_only_what_was_replayed() {
        let failed = Facts { end: StepEnd::Failed, ..FACTS };
        assert!(matches!(end(failed, None, false), Deed::Remove(_, Write::Evicted)));
        assert_eq!(end(Facts { replayed: 0, ..failed }, None, false), Deed::Leave(None));
    }

    #[test]
    fn strictness_cancellation_and_a_dead_model_leave_everything() {
        for end_ in [StepEnd::Stale, StepEnd::NoVerdict] {
            assert_eq!(end(Facts { end: end_, ..FACTS }, Some(7), true), Deed::Leave(None));
        }
    }

    #[test]
    fn a_step_that_changed_nothing_records_nothing_and_loses_what_did_not_serve() {
        assert_eq!(end(Facts { had_entry: false, ..FACTS }, None, true), Deed::Leave(Some(Write::NoChange)));
        assert!(matches!(end(FACTS, None, true), Deed::Remove(_, Write::Evicted)));
    }
}
