//! A goal step: its recording is played as far as it matches the screen; an agent finishes the rest; what came of it is
//! recorded anew.

mod live;
mod player;
mod record;
mod replay;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use player::{Counts, Player};

use self::live::{Ended, Task, live};
use self::record::{Took, Way, difference, record, suggest};
use self::replay::{Manner, Replayed, Stop, replay};
use super::agent::Agent;
use super::file::Heal;
use super::hand_off::HandOff;
use super::params::Values;
use super::recording::{
    CacheMode, CacheStore, Cost, Descriptor, Entry, Facts, KeyedBy, Labels, Reason, RecordedAction, RecordedFor,
    Staged, StepEnd, StepKey, Stored, Write, has_place, stage,
};
use crate::browser::{Scene, SessionError};

/// How recordings are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Replays, records, takes away.
    ReadWrite,
    /// Replays only.
    ReadOnly,
    /// Not at all.
    Off,
}

impl Mode {
    /// How recordings are used when nothing says it: in CI the project's files are only read. Who keeps recordings
    /// elsewhere decides there what CI may write.
    #[must_use]
    pub fn usual(store: &CacheStore) -> Self {
        Self::usual_of(store, crate::env::is_set(crate::env::CI))
    }

    fn usual_of(store: &CacheStore, is_ci: bool) -> Self {
        if is_ci && !store.is_custom() { Self::ReadOnly } else { Self::ReadWrite }
    }
}

/// How a recording served a step: `step.cache`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepCache {
    /// How the step was done.
    pub mode: CacheMode,
    /// Why the recording did not serve, or not to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Why an action cannot be repeated, at a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// Recorded actions that were done.
    pub replayed_actions: usize,
    /// Actions of the recording.
    pub total_actions: usize,
    /// Key of the entry.
    pub entry: String,
    /// Who recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_with: Option<String>,
    /// Where and why the replay stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What became of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Write>,
    /// Why the store did not take it, or did not take the old one away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_written: Option<String>,
    /// Where the entry lies, when not in the project's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why nothing could be recorded: `param-collision`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_recorded: Option<String>,
    /// Looks at the screen that the replay took, the first one of the step among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<u32>,
    /// Targets that did not read as recorded and were found on the ladder (`--relocate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated: Option<usize>,
    /// What the replay saved, as the recording took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Cost>,
}

/// What a healed step does otherwise than its recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealDiff {
    /// Actions of the recording.
    pub old_actions: Vec<String>,
    /// Actions of this run.
    pub new_actions: Vec<String>,
    /// Controls that this run used and the recording did not.
    pub new_controls: Vec<String>,
    /// Alerts at the end that the recording did not have.
    pub new_alerts: Vec<String>,
}

/// What a goal step is done with.
pub struct Work<'a> {
    /// The browser.
    pub player: Player<'a>,
    /// Who finishes what a replay cannot.
    pub agent: Option<&'a dyn Agent>,
    /// Where recordings lie.
    pub store: &'a CacheStore,
    /// How they are used.
    pub mode: Mode,
    /// A stale recording fails the step.
    pub strict: bool,
    /// Give up on a target as soon as the screen stands still without it.
    pub fast_miss: bool,
    /// Which attempt of the flow this is (0 = the first).
    pub attempt: u32,
    /// Values of this run.
    pub values: &'a Values,
    /// The time.
    pub now: DateTime<Utc>,
    /// Is told who has the step: `cache` before the first look of a replay, `agent` when it is given away. Not told anything
    /// of a step that nothing is recorded for.
    pub owned: &'a (dyn Fn(&'static str) + Sync),
}

/// The goal step itself.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the words of the flow file")]
pub struct Goal<'a> {
    /// The goal, with its values.
    pub goal: String,
    /// What the flow says beside it.
    pub context: &'a str,
    /// Under which key it is recorded.
    pub key: StepKey,
    /// Whether it may be healed.
    pub heal: Heal,
    /// Whether the run's budget of heals allows another one.
    pub may_heal: bool,
    /// How long it may take.
    pub limit: Duration,
}

/// Why a goal step did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A word for programs: `REPLAY_STALE`, `HEAL_REFUSED`, `STEP_FAILED`, `STEP_TIMEOUT`, `NO_VERDICT`,
    /// `NO_AGENT`.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

/// What came of a goal step.
#[derive(Debug)]
pub struct Acted {
    /// Why it did not pass, if it did not.
    pub fault: Option<Fault>,
    /// How its recording served.
    pub cache: Option<StepCache>,
    /// What becomes of the recording when the attempt confirms it.
    pub staged: Staged<Entry>,
    /// What was read of the recording.
    pub was: Option<Stored>,
    /// What the agent took.
    pub cost: Cost,
    /// What it does otherwise than the recording, when it was handed off.
    pub diff: Option<HealDiff>,
    /// A check that the recorded change suggests.
    pub suggest: Option<String>,
}

/// What the store holds for a step.
enum Held {
    Usable(Box<Entry>),
    Not(Reason, Option<String>),
    /// The store could not be read: a slower run, not a stale recording.
    Down(String),
}

/// Does a goal step.
///
/// # Errors
/// [`SessionError`] when the browser is lost.
pub async fn act(work: &Work<'_>, goal: Goal<'_>) -> Result<Acted, SessionError> {
    let began = Instant::now();
    let deadline = began + goal.limit;
    let player = &work.player;
    let key = goal.key.digest();
    let (held, was) = read(work, &key).await;
    let is_down = matches!(held, Held::Down(_));
    let is_cached = matches!(held, Held::Usable(_));
    if is_cached {
        (work.owned)("cache");
    }
    let looks_before = player.counts.looks();
    let start = player.scene(true).await?;
    let start_route = Some(player.route(&start)).filter(|_| has_place(&start.look.url));
    let mut cache = StepCache {
        mode: CacheMode::Missed,
        reason: None,
        derived: None,
        replayed_actions: 0,
        total_actions: 0,
        entry: key.clone(),
        recorded_with: None,
        detail: None,
        write: None,
        not_written: None,
        place: work.store.is_custom().then(|| work.store.place_of(&key)),
        not_recorded: None,
        looks: None,
        relocated: None,
        saved: None,
    };
    let mut old: Option<Entry> = None;
    let mut replayed: Vec<RecordedAction> = Vec::new();
    let stop = match held {
        Held::Not(reason, detail) => {
            let moved =
                if reason == Reason::NoEntry && work.mode != Mode::Off { rekeyed(work, &goal.key).await } else { None };
            if let (Some((other, keyed_by)), true) = (moved, work.strict) {
                let message = format!(
                    "the recording of this step lies under another key, {}: {} changed since; `agent-test cache rekey` takes it over",
                    work.store.place_of(&other),
                    keyed_by.difference(&goal.key.keyed_by())
                );
                return Ok(stale(work, cache, was, message));
            }
            Stop { reason, detail: detail.unwrap_or_default(), uncertain: None }
        }
        Held::Down(why) => Stop { reason: Reason::InvalidEntry, detail: why, uncertain: None },
        Held::Usable(entry) => {
            cache.total_actions = entry.actions.len();
            cache.recorded_with = Some(entry.executor.clone());
            let outcome = if !is_readable(&start) {
                Replayed::not_begun(Reason::Truncated, "the screen could not be read")
            } else if let Some(why) = &entry.truncated {
                Replayed::not_begun(Reason::Truncated, why)
            } else if !entry.opens_with_navigate() && (start_route.is_none() || entry.start_path != start_route) {
                let name = |route: &Option<String>| route.clone().unwrap_or_else(|| "no route".to_owned());
                let (recorded, now) = (name(&entry.start_path), name(&start_route));
                Replayed::not_begun(
                    Reason::WrongContext,
                    format!("recorded on {recorded}, and the step begins on {now}"),
                )
            } else {
                replay(player, &entry, &start, Manner { deadline, fast_miss: work.fast_miss }).await?
            };
            cache.looks = Some(player.counts.looks() - looks_before);
            cache.relocated = Some(outcome.relocated).filter(|many| *many > 0);
            cache.replayed_actions = outcome.done.len();
            let mut facts = Facts {
                end: StepEnd::Passed,
                mode: CacheMode::SelfFinalized,
                reason: None,
                replayed: cache.replayed_actions,
                had_entry: true,
                agent_acted: 0,
                relocated: outcome.relocated,
            };
            if outcome.timed_out {
                facts.end = StepEnd::Failed;
                facts.mode = CacheMode::AgentConcluded;
                cache.mode = if facts.replayed > 0 { CacheMode::AgentConcluded } else { CacheMode::Missed };
                return Ok(Acted { staged: stage(facts, None), ..failed(cache, was, "STEP_TIMEOUT", out_of_time()) });
            }
            let Some(stop) = outcome.stop else {
                cache.mode = CacheMode::SelfFinalized;
                let mut saved = entry.cost.clone();
                saved.ms = saved.ms.saturating_sub(began.elapsed().as_millis() as u64);
                cache.saved = Some(saved);
                let suggest = suggest(&entry);
                let fresh = if outcome.relocated > 0 {
                    let end = player.scene(false).await?;
                    let way = Way::replayed(&entry, outcome.done);
                    record(work, &goal, &mut cache, Took { start: &start, end: &end, old: Some(&entry), way, began })
                } else {
                    None
                };
                return Ok(Acted {
                    fault: None,
                    cache: Some(cache),
                    staged: stage(facts, fresh),
                    was,
                    cost: Cost::default(),
                    diff: None,
                    suggest,
                });
            };
            if stop.reason == Reason::Gap {
                cache.derived = entry.actions.get(outcome.done.len()).and_then(|action| action.derived.clone());
            }
            replayed = outcome.done;
            old = Some(*entry);
            stop
        }
    };
    cache.reason = Some(stop.reason);
    cache.detail = Some(stop.detail.chars().take(600).collect::<String>()).filter(|detail| !detail.is_empty());
    if cache.replayed_actions > 0 {
        cache.mode = CacheMode::AgentConcluded;
    }
    if work.strict && stop.reason.is_stale() && !is_down && work.mode != Mode::Off {
        let message = format!("the recording no longer replays ({}): {}", stop.reason.word(), stop.reason.phrase());
        return Ok(stale(work, cache, was, message));
    }
    if was.is_some() && stop.reason.is_stale() && (goal.heal == Heal::Fail || !goal.may_heal) {
        let why = if goal.may_heal {
            "the flow forbids to heal this step (`heal: fail`)"
        } else {
            "the run's budget of heals is used up"
        };
        let message =
            format!("{why}; its recording no longer replays ({}): {}", stop.reason.word(), stop.reason.phrase());
        return Ok(failed(cache, was, "HEAL_REFUSED", message));
    }
    let hand_off = (cache.mode == CacheMode::AgentConcluded).then(|| HandOff {
        replayed_actions: replayed.iter().map(|action| player.secrets.hide(&action.line())).collect(),
        total_actions: cache.total_actions,
        stop_reason: stop.reason,
        uncertain_action: stop.uncertain.clone(),
    });
    let Some(agent) = work.agent else {
        let message = "this step needs an agent, and none is configured; name one with --model or --agent-command, or run the flow from your agent over `agent-test mcp`".to_owned();
        return Ok(Acted { staged: Staged::Nothing, ..failed(cache, was, "NO_AGENT", message) });
    };
    if is_cached {
        (work.owned)("agent");
    }
    let task = Task {
        goal: &goal.goal,
        context: goal.context,
        hand_off: hand_off.as_ref(),
        deadline,
        replayed: replayed.len(),
    };
    let scene = if cache.replayed_actions == 0 { start.clone() } else { player.scene(true).await? };
    let did = live(player, agent, task, scene).await?;
    let end = player.scene(true).await?;
    let mut facts = Facts {
        end: StepEnd::Passed,
        mode: cache.mode,
        reason: cache.reason,
        replayed: cache.replayed_actions,
        had_entry: was.is_some(),
        agent_acted: did.actions.len(),
        relocated: cache.relocated.unwrap_or_default(),
    };
    let fault = match &did.ended {
        Ended::Reached(_) => None,
        Ended::Failed(why) => Some(Fault { code: "STEP_FAILED", message: why.clone() }),
        Ended::TimedOut => Some(Fault { code: "STEP_TIMEOUT", message: out_of_time() }),
        Ended::NoVerdict(why) => Some(Fault { code: "NO_VERDICT", message: why.clone() }),
    };
    facts.end = match &did.ended {
        Ended::Reached(_) => StepEnd::Passed,
        Ended::Failed(_) | Ended::TimedOut => StepEnd::Failed,
        Ended::NoVerdict(_) => StepEnd::NoVerdict,
    };
    let cost = did.cost.clone();
    let diff = old
        .as_ref()
        .filter(|_| cache.mode == CacheMode::AgentConcluded)
        .map(|old| difference(old, &replayed, &did, (&start, &end), player.labels));
    let fresh = if fault.is_none() {
        let way = Way::finished(replayed, did, agent.label());
        record(work, &goal, &mut cache, Took { start: &start, end: &end, old: old.as_ref(), way, began })
    } else {
        None
    };
    let suggest = fresh.as_ref().and_then(suggest);
    Ok(Acted {
        fault,
        cache: Some(cache).filter(|_| work.mode != Mode::Off),
        staged: stage(facts, fresh),
        was,
        cost,
        diff,
        suggest,
    })
}

fn out_of_time() -> String {
    "the step ran out of time; `timeout_ms` beside it allows more".to_owned()
}

/// Whether a step may begin on this screen: it can be read, or it is a new window, where there is nothing to read.
fn is_readable(scene: &Scene) -> bool {
    scene.is_semantic() || !has_place(&scene.look.url)
}

fn stale(work: &Work<'_>, mut cache: StepCache, was: Option<Stored>, message: String) -> Acted {
    let entry = work.store.place_of(&cache.entry);
    cache.reason.get_or_insert(Reason::NoEntry);
    let detail = cache.detail.clone().map(|detail| format!("; {detail}")).unwrap_or_default();
    let message = format!(
        "{message}{detail}; --strict-cache is on: run once without it where recordings may be written, and keep {entry}"
    );
    Acted { staged: Staged::Nothing, ..failed(cache, was, "REPLAY_STALE", message) }
}

fn failed(cache: StepCache, was: Option<Stored>, code: &'static str, message: String) -> Acted {
    Acted {
        fault: Some(Fault { code, message }),
        cache: Some(cache),
        staged: Staged::Nothing,
        was,
        cost: Cost::default(),
        diff: None,
        suggest: None,
    }
}

async fn read(work: &Work<'_>, key: &str) -> (Held, Option<Stored>) {
    if work.mode == Mode::Off {
        return (Held::Not(Reason::NoEntry, None), None);
    }
    if work.attempt > 0 {
        return (Held::Not(Reason::Retry, None), None);
    }
    let asked = key.to_owned();
    let stored = match work.store.aside(move |store| store.read(&asked).map_err(|error| error.to_string())).await {
        Ok(Ok(Some(stored))) => stored,
        Ok(Ok(None)) => return (Held::Not(Reason::NoEntry, None), None),
        Ok(Err(why)) | Err(why) => return (Held::Down(work.player.secrets.hide(&why)), None),
    };
    let policy = work.player.session.policy();
    let entry = stored.entry(&work.player.stage.base, &|url| policy.is_own(url));
    let vouched = entry.and_then(|entry| work.store.vouches_for(key, &entry).map(|()| entry));
    let held = match vouched.and_then(|entry| filled(entry, work.values, work.player.labels)) {
        Ok(entry) => Held::Usable(Box::new(entry)),
        Err(why) => Held::Not(Reason::InvalidEntry, Some(why)),
    };
    (held, Some(stored))
}

/// The entry with this run's values in its slots, and its labels as the flow declares them.
fn filled(mut entry: Entry, values: &Values, labels: &Labels) -> Result<Entry, String> {
    let mut fill = |text: &mut String| -> Result<(), String> {
        if text.contains("{{param:") {
            *text = values.from_slots(text).map_err(|slot| format!("nothing fills {slot}"))?;
        }
        Ok(())
    };
    entry.actions.iter_mut().flat_map(|action| action.texts_mut().collect::<Vec<_>>()).try_for_each(&mut fill)?;
    let anchors = entry.end_anchors.iter_mut().chain(&mut entry.gone_anchors);
    anchors.flat_map(|anchor| anchor.texts_mut().collect::<Vec<_>>()).try_for_each(&mut fill)?;
    [&mut entry.start_path, &mut entry.end_path].into_iter().flatten().try_for_each(&mut fill)?;
    if !labels.is_empty() {
        let targets = entry.actions.iter_mut().flat_map(|action| [action.target.as_mut(), action.to.as_mut()]);
        targets.flatten().flat_map(Descriptor::labels_mut).for_each(|label| labels.put(label));
        let anchors = entry.end_anchors.iter_mut().chain(&mut entry.gone_anchors);
        anchors.flat_map(super::recording::Anchor::labels_mut).for_each(|label| labels.put(label));
    }
    Ok(entry)
}

/// The key of an entry that was recorded for this very step, under other circumstances.
async fn rekeyed(work: &Work<'_>, key: &StepKey) -> Option<(String, KeyedBy)> {
    let bare = |step: &RecordedFor| RecordedFor { instruction: String::new(), ..step.clone() };
    let wanted = bare(&key.step);
    let find = move |store: &CacheStore| {
        store.keys().ok()?.into_iter().find_map(|other| {
            let entry = store.read(&other).ok().flatten()?.entry_for_people().ok()?;
            let same = entry.truncated.is_none() && bare(&entry.recorded_for) == wanted;
            entry.keyed_by.filter(|_| same).map(|keyed_by| (other, keyed_by))
        })
    };
    work.store.aside(find).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::flow::recording::FileShelf;

    #[test]
    fn in_ci_the_projects_files_are_only_read_and_a_store_of_the_callers_is_written_too() {
        let files = CacheStore::new(Path::new("."));
        let custom = CacheStore::on(Arc::new(FileShelf::new(Path::new("."))));
        let usual = |store, is_ci| Mode::usual_of(store, is_ci);
        assert_eq!((usual(&files, true), usual(&files, false)), (Mode::ReadOnly, Mode::ReadWrite));
        assert_eq!((usual(&custom, true), usual(&custom, false)), (Mode::ReadWrite, Mode::ReadWrite));
    }
}
