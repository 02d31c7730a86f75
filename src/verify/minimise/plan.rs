//! What can be known about a trace without playing it: where a shorter one may begin, which steps do nothing, which belong
//! to one page. Pure.

use std::collections::BTreeSet;

use crate::trace::{StepStatus, Tool, TraceStep, page_key};

/// A shorter trace: where it begins, and which of the steps behind that are kept. The failing step always is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    /// Place of the step before which the page is opened; 0: the trace's own opening.
    pub start: usize,
    /// Places of the steps that are kept between the opening and the failing step, in order.
    pub keep: Vec<usize>,
}

impl Candidate {
    /// The whole trace.
    pub fn whole(trace: &[TraceStep]) -> Self {
        Self { start: 0, keep: between(trace, 0) }
    }

    /// The steps that it plays, renumbered.
    pub fn steps(&self, trace: &[TraceStep]) -> Vec<TraceStep> {
        let kept = self.keep.iter().filter_map(|place| trace.get(*place));
        let last = trace.len().saturating_sub(1);
        let failing = trace.get(last).filter(|step| self.start < last || step.tool != Tool::Goto);
        let steps = opening(trace, self.start).into_iter().chain(kept.cloned()).chain(failing.cloned());
        steps.zip(0..).map(|(step, index)| TraceStep { index, ..step }).collect()
    }
}

/// The step that opens the page on which `start` acts.
fn opening(trace: &[TraceStep], start: usize) -> Option<TraceStep> {
    let step = trace.get(start)?;
    if start == 0 || step.tool == Tool::Goto {
        return Some(step.clone());
    }
    let opening = TraceStep::new(Tool::Goto, &step.url_before, step.started_at);
    Some(TraceStep { value: Some(step.url_before.clone()), ..opening })
}

/// Places between the opening at `start` and the failing step.
pub(super) fn between(trace: &[TraceStep], start: usize) -> Vec<usize> {
    let opens = start == 0 || trace.get(start).is_some_and(|step| step.tool == Tool::Goto);
    let first = if opens { start + 1 } else { start };
    (first..trace.len().saturating_sub(1)).collect()
}

/// Places before which the page can be opened directly, the latest first: the failing step's own page, then those at
/// which the page changed.
pub(super) fn starts(trace: &[TraceStep]) -> Vec<usize> {
    let page = |place: usize| trace.get(place).map(|step| page_key(&step.url_before));
    let known = |place: usize| {
        trace.get(place).is_some_and(|step| {
            step.tool == Tool::Goto && step.value.is_some() || step.url_before.starts_with("http") && step.tab == 0
        })
    };
    let last = trace.len().saturating_sub(1);
    let changes = |place: usize| {
        trace.get(place).is_some_and(|step| step.tool == Tool::Goto) || page(place) != page(place - 1) && place > 1
    };
    (1..=last).rev().filter(|place| known(*place) && (*place == last || changes(*place))).collect()
}

/// Places of steps that do nothing to the end of the trace, as far as can be told without playing it.
pub(super) fn idle(trace: &[TraceStep]) -> BTreeSet<usize> {
    let mut idle = BTreeSet::new();
    let last = trace.len().saturating_sub(1);
    for (place, step) in trace.iter().enumerate().take(last).skip(1) {
        let next = trace.get(place + 1).filter(|_| place + 1 < last);
        let same_target = next.is_some_and(|next| next.tool == step.tool && next.locator == step.locator);
        let does_nothing = matches!(step.tool, Tool::Noop | Tool::Wait | Tool::AssertText)
            || step.status == StepStatus::Skipped
            || (step.tool == Tool::Fill && same_target)
            || (step.tool == Tool::Goto && next.is_some_and(|next| next.tool == Tool::Goto));
        if does_nothing {
            idle.insert(place);
        }
        // Opened and closed again by the same control.
        if step.tool == Tool::Click && same_target && !idle.contains(&place) && step.url_before == step.url_after {
            idle.extend([place, place + 1]);
        }
    }
    idle
}

/// The kept places, those of one page together.
pub(super) fn segments(trace: &[TraceStep], keep: &[usize]) -> Vec<Vec<usize>> {
    let mut segments: Vec<(String, Vec<usize>)> = Vec::new();
    for place in keep {
        let page = trace.get(*place).map(|step| page_key(&step.url_before)).unwrap_or_default();
        match segments.last_mut() {
            Some((known, places)) if *known == page => places.push(*place),
            _ => segments.push((page, vec![*place])),
        }
    }
    segments.into_iter().map(|(_, places)| places).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(tool: &str, css: &str, before: &str) -> Value {
        json!({ "index": 0, "tool": tool, "locator": { "css": css }, "urlBefore": before, "urlAfter": before,
            "startedAt": "2026-05-02T10:15:00Z", "status": "passed" })
    }

    fn trace(steps: Vec<Value>) -> Vec<TraceStep> {
        serde_json::from_value(Value::Array(steps)).unwrap()
    }

    fn goto(url: &str, before: &str) -> Value {
        json!({ "index": 0, "tool": "goto", "value": url, "urlBefore": before, "urlAfter": url,
            "startedAt": "2026-05-02T10:15:00Z", "status": "passed" })
    }

    const A: &str = "http://h/a";
    const B: &str = "http://h/b";

    #[test]
    fn a_shorter_trace_keeps_its_opening_and_the_failing_step() {
        let trace = trace(vec![goto(A, ""), step("click", "1", A), step("click", "2", A), step("click", "3", A)]);
        let css = |candidate: &Candidate| -> Vec<String> {
            let steps = candidate.steps(&trace);
            assert!(steps.iter().zip(0..).all(|(step, index)| step.index == index));
            steps.iter().map(|step| step.locator.as_ref().map_or("goto".into(), |l| l.css.clone().unwrap())).collect()
        };
        assert_eq!(css(&Candidate::whole(&trace)), ["goto", "1", "2", "3"]);
        assert_eq!(css(&Candidate { start: 0, keep: vec![2] }), ["goto", "2", "3"]);
        assert_eq!(css(&Candidate { start: 3, keep: vec![] }), ["goto", "3"]);
        assert_eq!(Candidate { start: 3, keep: vec![] }.steps(&trace)[0].value.as_deref(), Some(A));
    }

    #[test]
    fn a_trace_whose_failing_step_opens_a_page_may_be_that_step_alone() {
        let trace = trace(vec![goto(A, ""), step("click", "1", A), goto(B, A)]);
        let steps = Candidate { start: 2, keep: vec![] }.steps(&trace);
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].value.as_deref(), Some(B));
        assert_eq!(Candidate::whole(&trace).steps(&trace).len(), 3);
    }

    #[test]
    fn a_trace_may_begin_where_the_page_changed() {
        let trace = trace(vec![
            goto(A, ""),
            step("click", "1", A),
            step("click", "2", B),
            step("click", "3", B),
            step("click", "4", A),
        ]);
        assert_eq!(starts(&trace), [4, 2]);
        assert_eq!(between(&trace, 2), [2, 3]);
        assert_eq!(between(&trace, 0), [1, 2, 3]);
        assert_eq!(segments(&trace, &[1, 2, 3]), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn steps_that_do_nothing_are_known_without_playing() {
        let trace = trace(vec![
            goto(A, ""),
            step("wait", "", A),
            step("fill", "x", A),
            step("fill", "x", A),
            step("click", "menu", A),
            step("click", "menu", A),
            step("click", "go", A),
            step("click", "go", A),
        ]);
        assert_eq!(idle(&trace).into_iter().collect::<Vec<_>>(), [1, 2, 4, 5]);
    }
}
