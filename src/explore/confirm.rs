//! Confirms each new bug: plays its trace once more in a fresh session, and notes how often it fired.

use super::plan::Plan;
use super::record::Record;
use crate::maze::FireRate;
use crate::replay::{Ask, Outcome, outcome, witness};
use crate::trace::TraceStep;

/// Confirms every bug of the record. A replay that cannot be done leaves its bugs unconfirmed.
pub(super) async fn confirm(plan: &Plan, record: &mut Record) {
    // Bugs with the same way (all those of the page itself) are seen in one session.
    let mut ways: Vec<(Vec<TraceStep>, Vec<usize>)> = Vec::new();
    for (index, bug) in record.bugs.iter().enumerate() {
        match ways.iter_mut().find(|(trace, _)| same_way(trace, &bug.trace)) {
            Some((_, bugs)) => bugs.push(index),
            None => ways.push((bug.trace.clone(), vec![index])),
        }
    }
    let known = record.bugs.clone();
    for (trace, bugs) in ways {
        let here = bugs.iter().filter_map(|index| record.bugs.get(*index));
        let seen = witness(&plan.stage, &trace, Ask::of(0, here)).await.ok();
        for index in bugs {
            let Some(bug) = record.bugs.get_mut(index) else { continue };
            let outcome = seen.as_ref().map(|seen| outcome(bug, seen, &known));
            let fired = outcome == Some(Outcome::Fired);
            bug.confirmed = Some(fired);
            let tried = matches!(outcome, Some(Outcome::Fired | Outcome::Clean | Outcome::Changed { .. }));
            bug.fire_rate = tried.then_some(FireRate { fired: 1 + u32::from(fired), attempts: 2 });
        }
    }
}

fn same_way(one: &[TraceStep], other: &[TraceStep]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.tool == b.tool && a.locator == b.locator && a.value == b.value)
}
