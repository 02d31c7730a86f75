//! Confirms each new bug: plays its trace once more in a fresh session, and notes how often it fired.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::record::Record;
use super::route::open_logged_in;
use crate::browser::{Look, Policy};
use crate::maze::{Bug, BugKind, FireRate};
use crate::replay::oracle::{self, Finding, Moment};
use crate::replay::{Effect, Played, Terms, play};
use crate::trace::TraceStep;

/// Confirms every bug of the record. A replay that cannot be done leaves its bugs unconfirmed.
pub(super) async fn confirm(plan: &Plan, record: &mut Record) {
    // Bugs with the same way (all those of the page itself) are seen in one session.
    let mut ways: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    let mut traces: Vec<Vec<TraceStep>> = Vec::new();
    for (index, bug) in record.bugs.iter().enumerate() {
        let known = traces.iter().position(|trace| same_way(trace, &bug.trace));
        let way = known.unwrap_or_else(|| {
            traces.push(bug.trace.clone());
            traces.len() - 1
        });
        ways.entry(vec![u32::try_from(way).unwrap_or(0)]).or_default().push(index);
    }
    for (way, bugs) in ways {
        let Some(trace) = way.first().and_then(|way| traces.get(*way as usize)) else { continue };
        let seen = replay_once(plan, trace).await;
        for index in bugs {
            let Some(bug) = record.bugs.get_mut(index) else { continue };
            let fired = seen.as_ref().is_some_and(|seen| fires(bug, seen));
            bug.confirmed = Some(fired);
            bug.fire_rate = seen.is_some().then_some(FireRate { fired: 1 + u32::from(fired), attempts: 2 });
        }
    }
}

fn same_way(one: &[TraceStep], other: &[TraceStep]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.tool == b.tool && a.locator == b.locator && a.value == b.value)
}

/// What a replay showed.
struct Seen {
    effect: Effect,
    before: Option<Look>,
    findings: Vec<Finding>,
}

async fn replay_once(plan: &Plan, trace: &[TraceStep]) -> Option<Seen> {
    let session = plan.launcher.session(plan.policy()).await.ok()?;
    let terms = Terms {
        mode: crate::browser::Mode::Act { destructive: false },
        cap_ms: plan.settings.limits.settle_ms,
        nodes: u64::from(plan.settings.limits.page_nodes),
    };
    let played = async {
        if plan.credentials.is_some() {
            open_logged_in(plan, &session).await.ok()?;
        }
        play(&session, trace, terms).await.ok()
    }
    .await;
    let seen = match played {
        Some(Played::Reached { last, before }) => {
            let moment = if before.is_some() { Moment::Action } else { Moment::Load };
            let findings = judged(&last, before.as_deref(), &plan.policy(), moment);
            Some(Seen { effect: *last, before: before.map(|look| *look), findings })
        }
        _ => None,
    };
    session.close().await;
    seen
}

fn judged(effect: &Effect, before: Option<&Look>, policy: &Policy, moment: Moment) -> Vec<Finding> {
    if let Some(message) = &effect.hung {
        return vec![oracle::hang(message)];
    }
    let mut findings = oracle::judge(&effect.since, policy, moment).findings;
    let failed = findings.iter().any(|finding| finding.category == "navigation");
    findings.extend(oracle::judge_page(&effect.look, failed));
    if let Some(before) = before {
        findings.extend(oracle::judge_toasts(before, &effect.look));
    }
    findings
}

fn fires(bug: &Bug, seen: &Seen) -> bool {
    let Some(parts) = &bug.fingerprint_parts else { return false };
    match &bug.kind {
        Some(BugKind::DeadControl) => !seen.effect.is_any(),
        Some(BugKind::FocusTrap) => {
            let open = seen.before.as_ref().map_or(0, |before| before.overlays.len());
            seen.effect.look.overlays.len() > open
        }
        Some(BugKind::NeverLoads) => seen.effect.look.spinners > 0,
        Some(BugKind::LoginRedirect) => seen.effect.look.passwords > 0,
        kind => seen.findings.iter().any(|finding| {
            Some(&finding.kind) == kind.as_ref() && finding.signal == parts.signal && finding.detail == parts.detail
        }),
    }
}
