//! An older state that was brought back: by a change of branch, a restored backup, a stash.
//!
//! Each transition has a number, which the state carries and the history too. A state whose number is behind the last one
//! known is older; a hand edit keeps the number and is none. A state without a number (another writer dropped it) is
//! older when it is, byte for byte, an earlier one that the history knows.

use chrono::{DateTime, Utc};

use super::model::{State, stamp};
use super::{Project, StateError};

/// Our key in the state: the number of its last transition.
pub(super) const TRANSITION: &str = "transition";

/// The last transition that anything knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) seq: u64,
    pub(super) at: DateTime<Utc>,
}

/// How a state is older than what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Age {
    /// The state's last transition.
    pub(super) has: u64,
    /// The last one known.
    pub(super) known: Known,
}

impl Age {
    pub(super) fn message(&self) -> String {
        let Self { has, known } = self;
        format!(
            "the state is older than the last transition known: it is at number {has}, and number {} was made on {}",
            known.seq,
            stamp(known.at)
        )
    }
}

/// The rule for a state that carries its number.
fn behind(has: u64, known: Known) -> Option<Age> {
    (has < known.seq).then_some(Age { has, known })
}

impl State {
    /// The number of its last transition, when it carries one.
    pub(super) fn transition(&self) -> Option<u64> {
        self.top.get_as(TRANSITION)
    }
}

impl Project {
    /// The last transition that the history or the copy in the git directory knows of. Readers that take no lock ask this
    /// before they read the state: afterwards it could know a transition that the state they read does not have yet.
    pub(super) fn last_known(&self) -> Option<Known> {
        let of_history = self.history_end().last.map(|(seq, at)| Known { seq, at });
        let of_copy = self.known_copy().map(|copy| Known { seq: copy.transition, at: copy.at });
        match (of_history, of_copy) {
            (Some(a), Some(b)) => Some(if b.seq > a.seq { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// Whether this state is older than what is known.
    pub(super) fn age(&self, state: &State, digest: &str, known: Option<Known>) -> Option<Age> {
        let known = known?;
        if let Some(has) = state.transition() {
            return behind(has, known);
        }
        let lines = self.history().ok()?;
        let has = lines.iter().rev().find_map(|line| {
            if line.after.as_deref() == Some(digest) {
                Some(line.seq)
            } else {
                (line.before.as_deref() == Some(digest)).then(|| line.seq.saturating_sub(1))
            }
        })?;
        behind(has, known)
    }

    pub(super) fn refuse_older(&self, state: &State, digest: &str, known: Option<Known>) -> Result<(), StateError> {
        match self.age(state, digest, known) {
            Some(age) => Err(StateError::Older { path: self.state_path(), age: age.message() }),
            None => Ok(()),
        }
    }

    /// Refuses to go on from a state that is older than what is known.
    ///
    /// # Errors
    /// [`StateError::Older`]; what [`Project::read`] refuses.
    pub fn require_current(&self) -> Result<(), StateError> {
        let known = self.last_known();
        let (state, digest) = self.parsed()?;
        self.refuse_older(&state, &digest, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_that_is_behind_makes_a_state_older() {
        let known = Known { seq: 7, at: DateTime::UNIX_EPOCH };
        assert!(behind(6, known).is_some_and(|age| age.message().contains("at number 6, and number 7")));
        // The same one, edited by hand or not; and one whose last line did not reach the history.
        assert!(behind(7, known).is_none() && behind(8, known).is_none());
    }
}
