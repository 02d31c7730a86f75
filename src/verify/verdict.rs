//! What several attempts at one bug mean together (seed 000; `trace-and-verify.md` 1.10). Pure.

use crate::maze::{FireRate, open_enum};
use crate::replay::Outcome;

open_enum! {
    /// What became of a bug.
    Verdict {
        /// The failing step was done in every attempt, and nothing was wrong.
        Fixed = "fixed",
        /// It fired, and never once did not.
        StillBroken = "still_broken",
        /// It fired in some attempts and not in others.
        Flaky = "flaky",
        /// It did not fire, and a target on the way was found only by asking for it anew.
        Healed = "healed",
        /// The failing step could not be reached: nothing is known.
        Blocked = "blocked",
        /// The failing step fails in another way than it did.
        Changed = "changed",
    }
}

impl Verdict {
    /// Whether it fails the process: the bug, or another one in its place, is there.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::StillBroken | Self::Flaky | Self::Changed)
    }
}

/// What the attempts mean together.
///
/// Any that fired and any clean one: flaky. Fired and blocked: still broken. Clean and blocked: blocked, because "fixed"
/// needs every attempt. No attempt at all is blocked.
#[must_use]
pub fn verdict<'a>(attempts: impl Iterator<Item = &'a Outcome> + Clone) -> Verdict {
    let any = |test: fn(&Outcome) -> bool| attempts.clone().any(test);
    let fired = any(|outcome| *outcome == Outcome::Fired);
    let clean = any(|outcome| *outcome == Outcome::Clean);
    let changed = any(|outcome| matches!(outcome, Outcome::Changed { .. }));
    let blocked = any(|outcome| matches!(outcome, Outcome::Blocked { .. }));
    match (fired, changed, clean) {
        (true, _, true) => Verdict::Flaky,
        (true, _, false) => Verdict::StillBroken,
        (false, true, _) => Verdict::Changed,
        (false, false, true) if !blocked => Verdict::Fixed,
        _ => Verdict::Blocked,
    }
}

/// A way that was found anew in any attempt proves no repair: what would be fixed is healed.
#[must_use]
pub fn with_healing(verdict: Verdict, healed: bool) -> Verdict {
    match verdict {
        Verdict::Fixed if healed => Verdict::Healed,
        other => other,
    }
}

/// With so many clean attempts and none that fired: the failure rate that remains possible at 95 % confidence, in percent.
#[must_use]
pub fn failure_bound(clean: u32) -> Option<f64> {
    (clean > 0).then(|| (1.0 - 0.05_f64.powf(1.0 / f64::from(clean))) * 100.0)
}

/// How often a bug must stay away before that says something: its chance to hide in all attempts is below 5 %.
///
/// A rate is only known from the few attempts that there were, so nothing counts as firing every time. At most 30.
#[must_use]
pub fn repeats_for(rate: Option<FireRate>) -> u32 {
    let known = rate.filter(|rate| rate.attempts > 0);
    let share = known.map_or(0.8, |rate| f64::from(rate.fired) / f64::from(rate.attempts)).clamp(0.1, 0.8);
    let tries = (0.05_f64.ln() / (1.0 - share).ln()).ceil();
    (tries as u32).clamp(1, 30)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocked() -> Outcome {
        Outcome::Blocked { at: Some(1), why: "gone".into() }
    }

    fn changed() -> Outcome {
        Outcome::Changed { what: "x".into(), key: "k".into() }
    }

    #[test]
    fn every_pair_of_outcomes_has_its_verdict() {
        use Outcome::{Clean, Fired};
        for (attempts, expected) in [
            (vec![Clean], Verdict::Fixed),
            (vec![Clean, Clean], Verdict::Fixed),
            (vec![Fired, Fired], Verdict::StillBroken),
            (vec![Fired, Clean], Verdict::Flaky),
            (vec![Fired, blocked()], Verdict::StillBroken),
            (vec![Clean, blocked()], Verdict::Blocked),
            (vec![blocked()], Verdict::Blocked),
            (vec![changed()], Verdict::Changed),
            (vec![changed(), Clean], Verdict::Changed),
            (vec![changed(), Fired], Verdict::StillBroken),
            (vec![], Verdict::Blocked),
        ] {
            assert_eq!(verdict(attempts.iter()), expected, "{attempts:?}");
        }
    }

    #[test]
    fn only_a_clean_way_that_was_healed_is_healed() {
        for word in Verdict::WORDS {
            let told = with_healing(Verdict::from(*word), true);
            let expected = if *word == "fixed" { "healed" } else { word };
            assert_eq!((told.as_str(), told.is_failure()), (expected, Verdict::from(*word).is_failure()));
            assert_eq!(with_healing(Verdict::from(*word), false).as_str(), *word);
        }
    }

    #[test]
    fn the_remaining_failure_rate_is_the_rule_of_three_and_its_kin() {
        let rounded: Vec<Option<i64>> =
            [0, 1, 3, 5, 10, 30, 59].map(|clean| failure_bound(clean).map(|bound| bound.round() as i64)).to_vec();
        assert_eq!(rounded, [None, Some(95), Some(63), Some(45), Some(26), Some(10), Some(5)]);
    }

    #[test]
    fn a_bug_that_seldom_fires_is_tried_more_often() {
        let rate = |fired, attempts| repeats_for(Some(FireRate { fired, attempts }));
        assert_eq!((rate(2, 2), rate(1, 2), rate(3, 10), rate(1, 5)), (2, 5, 9, 14));
        assert_eq!(repeats_for(None), 2);
    }

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        prop_oneof![Just(Outcome::Fired), Just(Outcome::Clean), Just(changed()), Just(blocked())]
    }

    proptest! {
        #[test]
        fn fixed_needs_every_attempt_clean_and_the_order_does_not_matter(
            mut attempts in proptest::collection::vec(any_outcome(), 0..8)
        ) {
            let given = verdict(attempts.iter());
            if given == Verdict::Fixed {
                prop_assert!(!attempts.is_empty());
                prop_assert!(attempts.iter().all(|outcome| *outcome == Outcome::Clean));
            }
            if attempts.contains(&Outcome::Fired) {
                prop_assert!(given.is_failure());
            }
            attempts.reverse();
            prop_assert_eq!(verdict(attempts.iter()), given);
        }
    }
}
