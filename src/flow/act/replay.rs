//! Plays a recording as far as it matches the screen. Never a guess, never an action out of its order.

use std::time::{Duration, Instant};

use super::player::{Came, Player};
use crate::browser::{Scene, SceneNode, SessionError};
use crate::flow::recording::{
    Baseline, Entry, Reason, RecordedAction, Sight, Verb, expected, has_cause, holds, looks_ms,
};

/// A target may appear this late, in milliseconds.
const PATIENCE_MS: u64 = 15_000;
/// So much of the step's time is kept for whoever takes over.
const RESERVE: Duration = Duration::from_secs(20);
/// With `--fast-miss`: looks of a still screen before it is given up, two seconds after the first one at the earliest.
const STILL_LOOKS: usize = 4;

/// Why a replay stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The reason.
    pub reason: Reason,
    /// Where, and what it met.
    pub detail: String,
    /// The action that may have reached the application.
    pub uncertain: Option<String>,
}

/// How far a replay came.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The actions that were done, as they were done.
    pub done: Vec<RecordedAction>,
    /// How many of them were found on the ladder.
    pub relocated: usize,
    /// Why it stopped; none: it came to its end, and the end held.
    pub stop: Option<Stop>,
    /// The step's time was over before the next action.
    pub timed_out: bool,
}

impl Replayed {
    /// A replay that stopped before its first action.
    #[must_use]
    pub fn not_begun(reason: Reason, detail: impl Into<String>) -> Self {
        let stop = Stop { reason, detail: detail.into(), uncertain: None };
        Self { done: vec![], relocated: 0, stop: Some(stop), timed_out: false }
    }
}

/// How a replay is done.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// When the step must have ended.
    pub deadline: Instant,
    /// Give up on a target as soon as the screen stands still without it.
    pub fast_miss: bool,
}

/// The first screen of the last stretch on the end route.
#[derive(Default)]
struct Seen {
    route: String,
    baseline: Option<Vec<SceneNode>>,
}

impl Seen {
    fn look(&mut self, player: &Player<'_>, scene: &Scene, end: Option<&str>) {
        let route = player.route(scene);
        if Some(route.as_str()) != end {
            self.baseline = None;
        } else if self.baseline.is_none() {
            self.baseline = Some(player.labels.nodes(&scene.nodes).into_owned());
        }
        self.route = route;
    }
}

/// Plays the entry from the screen that the step began with.
///
/// # Errors
/// [`SessionError`] when the browser is lost.
pub async fn replay(
    player: &Player<'_>,
    entry: &Entry,
    start: &Scene,
    manner: Manner,
) -> Result<Replayed, SessionError> {
    let mut did = Replayed { done: vec![], relocated: 0, stop: None, timed_out: false };
    let mut seen = Seen::default();
    let total = entry.actions.len();
    let mut first = Some(start.clone());
    for (number, action) in (1..).zip(&entry.actions) {
        if Instant::now() >= manner.deadline {
            did.timed_out = true;
            return Ok(did);
        }
        let at = format!("at action {number} of {total}, {}", action.line());
        let stopped = |reason: Reason, why: &str| {
            let detail = if why.is_empty() { at.clone() } else { format!("{at}: {why}") };
            Some(Stop { reason, detail, uncertain: (reason == Reason::ActionUncertain).then(|| action.line()) })
        };
        if action.verb == Verb::Gap {
            did.stop = stopped(Reason::Gap, "");
            return Ok(did);
        }
        let scene = match first.take() {
            Some(scene) => scene,
            None => match player.scene(true).await {
                Ok(scene) if scene.is_semantic() => scene,
                Ok(_) => {
                    did.stop = stopped(Reason::ActionFailed, "the screen could not be read");
                    return Ok(did);
                }
                Err(error) => {
                    did.stop = stopped(Reason::ActionFailed, &error.to_string());
                    return Ok(did);
                }
            },
        };
        seen.look(player, &scene, entry.end_path.as_deref());
        let (came, done) = find_and_play(player, action, scene, manner, &mut seen, entry.end_path.as_deref()).await?;
        let (reason, why) = match came {
            Came::Done => {
                did.relocated += usize::from(done.is_some());
                did.done.push(done.unwrap_or_else(|| action.clone()));
                continue;
            }
            Came::Lost => {
                // A part of it was done: it counts as an action, with its repeats.
                did.done.extend(done);
                (Reason::TargetNotFound, "the list was lost while it was scrolled".to_owned())
            }
            Came::Missing => (Reason::TargetNotFound, String::new()),
            Came::Ambiguous(many) => (Reason::TargetAmbiguous, format!("{many} read like it")),
            Came::NotSent(why) | Came::Failed(why) => (Reason::ActionFailed, why),
            Came::Uncertain(why) => (Reason::ActionUncertain, why),
            Came::Viewport(why) => (Reason::ViewportChanged, why),
        };
        did.stop = stopped(reason, player.secrets.hide(&why).as_str());
        return Ok(did);
    }
    did.stop = end(player, entry, start, &seen, manner).await?;
    Ok(did)
}

/// Looks for the target on the ladder of looks, and acts on it once.
async fn find_and_play(
    player: &Player<'_>,
    action: &RecordedAction,
    mut scene: Scene,
    manner: Manner,
    seen: &mut Seen,
    end: Option<&str>,
) -> Result<(Came, Option<RecordedAction>), SessionError> {
    let began = Instant::now();
    let looks = looks_ms(PATIENCE_MS);
    let twins = action.target.iter().chain(&action.to).any(|target| target.position.is_some());
    let mut unchanged = 0;
    let mut resent = false;
    for (at, ms) in looks.iter().enumerate() {
        if at > 0 {
            let until = began + Duration::from_millis(*ms);
            if until > manner.deadline {
                break;
            }
            tokio::time::sleep_until(until.into()).await;
            let now = match player.scene(false).await {
                Ok(now) => now,
                Err(error) => return Ok((Came::Failed(error.to_string()), None)),
            };
            unchanged = if now.nodes == scene.nodes { unchanged + 1 } else { 0 };
            scene = now;
            seen.look(player, &scene, end);
        }
        let (mut came, mut done) = player.play(action, &scene).await?;
        if player.relocate && !resent && matches!(came, Came::NotSent(_)) {
            // Nothing was sent: once more, when the screen holds still.
            resent = true;
            scene = player.scene(true).await?;
            (came, done) = player.play(action, &scene).await?;
        }
        match came {
            Came::Missing if at + 1 < looks.len() => {
                // Opt-in: whoever stands still and waits for nothing will not bring it.
                if manner.fast_miss && unchanged >= STILL_LOOKS {
                    return Ok((Came::Missing, None));
                }
            }
            Came::Ambiguous(_) if twins && at + 1 < looks.len() && !(manner.fast_miss && unchanged >= STILL_LOOKS) => {}
            came => return Ok((came, done)),
        }
    }
    Ok((Came::Missing, None))
}

/// The end check, with its wait.
async fn end(
    player: &Player<'_>,
    entry: &Entry,
    start: &Scene,
    seen: &Seen,
    manner: Manner,
) -> Result<Option<Stop>, SessionError> {
    let baseline: Baseline<'_> = seen.baseline.as_deref();
    let moved = entry.end_path.as_deref() != Some(seen.route.as_str());
    let mismatch = |why: String| {
        let detail = format!("{}; {why}", expected(entry));
        Some(Stop { reason: Reason::EndMismatch, detail: player.secrets.hide(&detail), uncertain: None })
    };
    if !has_cause(entry, baseline, moved) {
        return Ok(mismatch("it was already so before the replay acted".to_owned()));
    }
    let began = Instant::now();
    let budget = Duration::from_millis(PATIENCE_MS.max(entry.end_wait_ms));
    let mut looks = looks_ms(PATIENCE_MS).into_iter();
    let before = player.labels.nodes(&start.nodes);
    let mut last: Option<Vec<SceneNode>> = None;
    let mut unchanged = 0;
    let mut first = true;
    loop {
        let looked = player.scene(first).await;
        let why = match looked {
            Ok(scene) if scene.is_semantic() => {
                let route = player.route(&scene);
                let nodes = player.labels.nodes(&scene.nodes);
                let held = holds(entry, Sight { route: &route, nodes: &nodes }, baseline, &before);
                unchanged = if last.as_ref() == Some(&scene.nodes) { unchanged + 1 } else { 0 };
                last = Some(scene.nodes);
                match held {
                    Ok(()) => return Ok(None),
                    Err(why) => why,
                }
            }
            Ok(_) => "the screen could not be read".to_owned(),
            Err(error) => error.to_string(),
        };
        if first {
            first = false;
            looks.next();
        }
        let next = looks.next().map_or_else(|| began.elapsed() + Duration::from_secs(1), Duration::from_millis);
        let over = next > budget || began + next + RESERVE > manner.deadline;
        if over || (manner.fast_miss && unchanged >= STILL_LOOKS) {
            return Ok(mismatch(why));
        }
        tokio::time::sleep_until((began + next).into()).await;
    }
}
