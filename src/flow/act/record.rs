//! What a goal step leaves: its recording, what a heal changed, and a check that costs no model.

use std::time::Instant;

use super::live::{Ended, Live};
use super::{Goal, HealDiff, StepCache, Work, is_readable};
use crate::browser::Scene;
use crate::flow::recording::{
    Cost, Descriptor, Entry, Labels, MOST_ACTIONS, MOST_CHARS, Reason, RecordedAction, SCHEMA, Verb, delta, has_place,
    stable,
};

/// How the end of a step was reached.
pub(super) struct Way {
    actions: Vec<RecordedAction>,
    truncated: Option<String>,
    summary: String,
    last: Option<Instant>,
    cost: Cost,
    executor: String,
}

impl Way {
    /// By a replay alone.
    pub(super) fn replayed(entry: &Entry, actions: Vec<RecordedAction>) -> Self {
        Self {
            actions,
            truncated: None,
            summary: entry.summary.clone(),
            last: None,
            cost: Cost::default(),
            executor: entry.executor.clone(),
        }
    }

    /// By an agent, after what a replay had done.
    pub(super) fn finished(replayed: Vec<RecordedAction>, did: Live, executor: String) -> Self {
        let summary = match &did.ended {
            Ended::Reached(words) => words.chars().take(300).collect(),
            _ => String::new(),
        };
        let actions = [replayed, did.actions].concat();
        Self { actions, truncated: did.truncated, summary, last: did.last, cost: did.cost, executor }
    }
}

/// What a step took, for its recording.
pub(super) struct Took<'a> {
    pub(super) start: &'a Scene,
    pub(super) end: &'a Scene,
    pub(super) old: Option<&'a Entry>,
    pub(super) way: Way,
    pub(super) began: Instant,
}

/// The recording of a step that passed; none when there is nothing to record.
pub(super) fn record(work: &Work<'_>, goal: &Goal<'_>, cache: &mut StepCache, took: Took<'_>) -> Option<Entry> {
    let Took { start, end, old, way, began } = took;
    let player = &work.player;
    let Way { actions, truncated, summary, last, cost, executor } = way;
    let opens = actions.first().is_some_and(|action| action.verb == Verb::Navigate);
    if actions.is_empty() || !is_readable(start) || !end.is_semantic() || (!has_place(&start.look.url) && !opens) {
        return None;
    }
    if work.values.collide() {
        cache.not_recorded = Some("param-collision".to_owned());
        return None;
    }
    let start_route = Some(player.route(start)).filter(|_| has_place(&start.look.url));
    let end_route = Some(player.route(end));
    let touched: Vec<_> = actions
        .iter()
        .filter(|action| {
            matches!(action.verb, Verb::Type | Verb::TypeSecret | Verb::Check | Verb::Select | Verb::Upload)
        })
        .filter_map(|action| action.target.clone())
        .collect();
    let (before, after) = (player.labels.nodes(&start.nodes), player.labels.nodes(&end.nodes));
    let changed = delta(&before, &after, &touched, start_route != end_route);
    if changed.is_empty() && start_route == end_route {
        return None;
    }
    let too_long = [&start_route, &end_route].into_iter().flatten().any(|route| route.chars().count() > MOST_CHARS);
    let truncated = truncated
        .or(too_long.then(|| "a route is too long".to_owned()))
        .or_else(|| (actions.len() > MOST_ACTIONS).then(|| format!("it has {} actions", actions.len())));
    let since_last = last.map_or(0, |last| last.elapsed().as_millis() as u64);
    let mut healed_from = old.map(|old| old.healed_from.clone()).unwrap_or_default();
    if old.is_some() {
        let why = cache.reason.map_or("relocated", Reason::word);
        healed_from.push(format!("{} {why}", work.now.format("%Y-%m-%d")));
        let extra = healed_from.len().saturating_sub(10);
        healed_from.drain(..extra);
    }
    let mut entry = Entry {
        schema_version: SCHEMA.to_owned(),
        created_at: work.now,
        executor,
        recorded_for: goal.key.step.clone(),
        summary,
        actions,
        start_path: start_route,
        end_path: end_route,
        end_anchors: changed.appeared,
        gone_anchors: changed.gone,
        dropped_anchors: changed.dropped,
        end_wait_ms: match last {
            Some(_) => (since_last + 10_000).min(120_000),
            None => old.map_or(10_000, |old| old.end_wait_ms),
        },
        truncated,
        // What a live run takes: a healed one took less.
        cost: match old {
            Some(old) if old.cost.calls > cost.calls => old.cost.clone(),
            _ => Cost { ms: began.elapsed().as_millis() as u64, ..cost },
        },
        healed_from,
        keyed_by: Some(goal.key.keyed_by()),
        signature: None,
    };
    for text in entry.actions.iter_mut().flat_map(|action| action.texts_mut().collect::<Vec<_>>()) {
        *text = work.values.to_slots(text);
    }
    for text in entry
        .end_anchors
        .iter_mut()
        .chain(&mut entry.gone_anchors)
        .flat_map(|anchor| anchor.texts_mut().collect::<Vec<_>>())
    {
        *text = work.values.to_slots(text);
    }
    for text in [&mut entry.start_path, &mut entry.end_path].into_iter().flatten() {
        *text = work.values.to_slots(text);
    }
    Some(entry)
}

pub(super) fn difference(
    old: &Entry,
    replayed: &[RecordedAction],
    did: &Live,
    (start, end): (&Scene, &Scene),
    labels: &Labels,
) -> HealDiff {
    let lines = |actions: &[RecordedAction]| actions.iter().map(RecordedAction::line).collect::<Vec<_>>();
    let controls = |actions: &[RecordedAction]| -> Vec<String> {
        actions.iter().filter_map(|action| action.target.as_ref()).map(Descriptor::describe).collect()
    };
    let known = controls(&old.actions);
    let (start, end) = (labels.nodes(&start.nodes), labels.nodes(&end.nodes));
    let alerts = end.iter().filter(|node| matches!(node.role.as_str(), "alert" | "alertdialog"));
    let new_alerts =
        alerts.filter(|node| !start.contains(node) && !old.end_anchors.iter().any(|anchor| anchor.reads_as(node)));
    HealDiff {
        old_actions: lines(&old.actions),
        new_actions: [lines(replayed), lines(&did.actions)].concat(),
        new_controls: controls(&did.actions).into_iter().filter(|control| !known.contains(control)).collect(),
        new_alerts: new_alerts.map(crate::browser::SceneNode::describe).collect(),
    }
}

/// A check that costs no model, from what the step changed.
pub(super) fn suggest(entry: &Entry) -> Option<String> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    if let Some(anchor) = entry
        .end_anchors
        .iter()
        .find(|anchor| !anchor.echo && !anchor.label().is_empty() && stable(anchor.label()) == anchor.label())
    {
        return Some(format!("- expect: {{ role: {}, text: {} }}", anchor.role, quoted(anchor.label())));
    }
    if entry.start_path != entry.end_path {
        return entry.end_path.as_deref().map(|path| format!("- expect: {{ url: {} }}", quoted(path)));
    }
    let gone = entry.gone_anchors.iter().find(|anchor| !anchor.echo && !anchor.label().is_empty())?;
    Some(format!("- expect: {{ role: {}, text: {}, gone: true }}", gone.role, quoted(gone.label())))
}
