//! Does the actions of a goal step: those of a recording and those of an agent, through the one actor. Nothing here decides
//! what is done; it finds the target, acts once, and says what came of it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use url::Url;

use crate::browser::{Chord, Mode, Scene, SceneNode, Session, SessionError};
use crate::flow::chronicle::{Chronicle, trace_step};
use crate::flow::expect::fitting;
use crate::flow::file::Expect;
use crate::flow::params::Secrets;
use crate::flow::recording::{
    Descriptor, Labels, Located, RecordedAction, Relocated, Rung, Spot, Verb, describe, distance, locate, place,
    relocate, spot,
};
use crate::replay::{Action, Performed, Stage, Target, Terms, open, perform, reads_destructive, uploads};
use crate::store::Clock;
use crate::trace::StepStatus;
use crate::trace::bounds::may_open;

/// The browser, as a goal step uses it.
pub struct Player<'a> {
    /// The session.
    pub session: &'a Session,
    /// The application.
    pub stage: &'a Stage,
    /// Secrets that may be typed, and are kept out of everything.
    pub secrets: &'a Secrets,
    /// Labels that the flow declares to carry a state.
    pub labels: &'a Labels,
    /// Controls of overlays that come and go: one that is there is pressed before anything else, and never recorded.
    pub dismiss: &'a [Expect],
    /// Whether a target that does not read as recorded is looked for on the ladder.
    pub relocate: bool,
    /// What was done so far.
    pub counts: &'a Counts,
    /// Where the actions are noted as trace steps.
    pub chronicle: &'a Chronicle,
    /// The time.
    pub clock: &'a Clock,
}

/// What a goal step has done beside its actions.
#[derive(Debug, Default)]
pub struct Counts {
    looks: AtomicU32,
    dismissed: AtomicU32,
}

impl Counts {
    /// Looks at the screen.
    #[must_use]
    pub fn looks(&self) -> u32 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Overlays that were put away.
    #[must_use]
    pub fn dismissed(&self) -> u32 {
        self.dismissed.load(Ordering::Relaxed)
    }
}

/// Between two looks at a target that was found on the ladder.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// So many overlays are put away before one look.
const MOST_DISMISSALS: usize = 5;

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was done.
    Done,
    /// Its target is not on the screen.
    Missing,
    /// So many read as its target.
    Ambiguous(usize),
    /// A list was lost while it was scrolled.
    Lost,
    /// The browser could not send it: nothing has reached the application.
    NotSent(String),
    /// The application, the guard or the browser refused it.
    Failed(String),
    /// It failed, and may have reached the application.
    Uncertain(String),
    /// Its point was recorded in a window of another size.
    Viewport(String),
}

/// What an action is done to, on the screen as it is.
#[derive(Clone, Copy, Debug)]
struct On {
    uid: u64,
    to: u64,
}

impl Player<'_> {
    fn terms(&self) -> Terms {
        Terms { nodes: 0, ..self.stage.terms() }
    }

    /// Takes in the screen, with secrets hidden and declared overlays put away; waits before until it is still, when asked
    /// to.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn scene(&self, settled: bool) -> Result<Scene, SessionError> {
        self.counts.looks.fetch_add(1, Ordering::Relaxed);
        let mut scene = self.take(settled).await?;
        for _ in 0..MOST_DISMISSALS {
            let Some(uid) = self.overlay(&scene) else { break };
            let tap = RecordedAction::new(Verb::Tap);
            if self.once(&tap, On { uid, to: 0 }, &scene).await? != Came::Done {
                break;
            }
            // Whoever plays this again need not meet it.
            self.chronicle.mark(StepStatus::Skipped, None);
            self.counts.dismissed.fetch_add(1, Ordering::Relaxed);
            scene = self.take(true).await?;
        }
        Ok(scene)
    }

    /// The control that puts a declared overlay away, when exactly one is there.
    fn overlay(&self, scene: &Scene) -> Option<u64> {
        self.dismiss.iter().find_map(|expect| {
            let mut there = fitting(expect, &scene.nodes);
            there.retain(|node| node.control && !node.disabled);
            match there.as_slice() {
                [one] => Some(one.uid),
                _ => None,
            }
        })
    }

    async fn take(&self, settled: bool) -> Result<Scene, SessionError> {
        if settled {
            let mark = self.session.evidence().mark();
            self.session.still(mark, self.stage.settings.limits.settle_ms).await?;
        }
        let mut scene = self.session.scene(u64::from(self.stage.settings.limits.page_nodes)).await?;
        for node in &mut scene.nodes {
            let texts = [
                Some(&mut node.name),
                Some(&mut node.text),
                node.value.as_mut(),
                node.within.as_mut(),
                node.placeholder.as_mut(),
            ];
            for text in texts.into_iter().flatten() {
                if self.secrets.are_in(text) {
                    *text = self.secrets.hide(text);
                }
            }
        }
        scene.look.url = self.secrets.hide(&scene.look.url);
        self.chronicle.take_in(self.session, Some(&scene.look.url));
        Ok(scene)
    }

    /// The route of a screen.
    #[must_use]
    pub fn route(&self, scene: &Scene) -> String {
        place(&scene.look.url, &self.stage.base)
    }

    /// Finds a recorded target: its index, and by which rung when it does not read as recorded.
    fn find(&self, nodes: &[SceneNode], target: &Descriptor) -> Result<(usize, Option<Rung>), Came> {
        match locate(nodes, target) {
            Located::Found(at) => Ok((at, None)),
            Located::Ambiguous(many) => Err(Came::Ambiguous(many)),
            Located::Missing if self.relocate => match relocate(nodes, target) {
                Relocated::Found(at, rung) => Ok((at, Some(rung))),
                Relocated::Conflict(many) => Err(Came::Ambiguous(many)),
                Relocated::Missing => Err(Came::Missing),
            },
            Located::Missing => Err(Came::Missing),
        }
    }

    /// Does a recorded action on the screen as it is. Gives back the action as it was done: with its new targets where the
    /// ladder found them, and with the repeats that a lost list allowed.
    ///
    /// # Errors
    /// [`SessionError`] when the browser is lost before anything was sent.
    pub async fn play(
        &self,
        action: &RecordedAction,
        scene: &Scene,
    ) -> Result<(Came, Option<RecordedAction>), SessionError> {
        let nodes = self.labels.nodes(&scene.nodes);
        if let (Some(at), Verb::TapAt | Verb::HoverAt) = (action.at, &action.verb) {
            let came = match spot(&nodes, (scene.view_width, scene.view_height), at, action.target.as_ref()) {
                Spot::Here(x, y, inside) => {
                    self.at_point(action, (x, y), inside.map(|one| nodes[one].uid), scene).await?
                }
                Spot::Missing => Came::Missing,
                Spot::Ambiguous(many) => Came::Ambiguous(many),
                Spot::Viewport(why) => Came::Viewport(why),
            };
            return Ok((came, None));
        }
        let found = |nodes: &[SceneNode]| -> Result<Vec<(usize, Option<Rung>)>, Came> {
            action.target.iter().chain(&action.to).map(|target| self.find(nodes, target)).collect()
        };
        let hits = match found(&nodes) {
            Ok(hits) => hits,
            Err(came) => return Ok((came, None)),
        };
        let uid = |at: usize| hits.get(at).map_or(0, |(at, _)| nodes[*at].uid);
        let on = if action.target.is_some() { On { uid: uid(0), to: uid(1) } } else { On { uid: 0, to: 0 } };
        if hits.iter().all(|(_, rung)| rung.is_none()) {
            return self.repeated(action, on, scene).await;
        }
        // A second look must find the same thing by the same rung in the same place; what slides has moved by then.
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let again = self.scene(true).await?;
        let later = self.labels.nodes(&again.nodes);
        let place = |nodes: &[SceneNode], hits: &[(usize, Option<Rung>)]| -> Vec<(u64, [i64; 4], Option<Rung>)> {
            let one = |(at, rung): &(usize, Option<Rung>)| {
                let node = &nodes[*at];
                (node.uid, [node.x, node.y, node.width, node.height], *rung)
            };
            hits.iter().map(one).collect()
        };
        let hits_again = match found(&later) {
            Ok(again) if place(&later, &again) == place(&nodes, &hits) => again,
            Ok(_) => return Ok((Came::Missing, None)),
            Err(came) => return Ok((came, None)),
        };
        let mut targets: Vec<Descriptor> = Vec::new();
        for (at, _) in hits_again {
            let Some(target) = describe(&later, at) else { return Ok((Came::Missing, None)) };
            targets.push(target);
        }
        let mut targets = targets.into_iter();
        let mut healed = RecordedAction { target: targets.next(), to: targets.next(), ..action.clone() };
        healed.summary = healed.line();
        let (came, _) = self.repeated(action, on, &again).await?;
        Ok((came, Some(healed)))
    }

    /// Does an action as often as it was recorded. A list may lose its first row on the way: it is found again before each
    /// repeat, and when it is lost, one that spanned the window leaves the window to be scrolled.
    async fn repeated(
        &self,
        action: &RecordedAction,
        mut on: On,
        scene: &Scene,
    ) -> Result<(Came, Option<RecordedAction>), SessionError> {
        let times = if action.verb == Verb::Scroll { action.times.unwrap_or(1) } else { 1 };
        for repeat in 0..times {
            let again = if repeat == 0 { None } else { Some(self.scene(false).await?) };
            if let (Some(scene), Some(target)) = (&again, action.target.as_ref().filter(|_| on.uid != 0)) {
                match locate(&self.labels.nodes(&scene.nodes), target) {
                    Located::Found(at) => on.uid = scene.nodes[at].uid,
                    _ if action.spans => on.uid = 0,
                    _ => {
                        let done = RecordedAction { times: Some(repeat), ..action.clone() };
                        return Ok((Came::Lost, Some(done)));
                    }
                }
            }
            match self.once(action, on, again.as_ref().unwrap_or(scene)).await? {
                Came::Done => {}
                came => return Ok((came, None)),
            }
        }
        Ok((Came::Done, None))
    }

    /// Does an action on the elements with these numbers.
    ///
    /// # Errors
    /// As [`Player::play`].
    pub async fn act_on(
        &self,
        action: &RecordedAction,
        uid: u64,
        to: u64,
        scene: &Scene,
    ) -> Result<Came, SessionError> {
        self.once(action, On { uid, to }, scene).await
    }

    async fn once(&self, action: &RecordedAction, on: On, scene: &Scene) -> Result<Came, SessionError> {
        self.chronicle.begin(self.session, trace_step(action, on.uid, scene, self.secrets, self.clock));
        let came = self.send(action, on, scene).await;
        match &came {
            Ok(Came::Done) => {}
            Ok(Came::Uncertain(why)) => {
                self.chronicle.mark(StepStatus::Failed, Some(&self.secrets.hide(why)));
            }
            _ => self.chronicle.withdraw(),
        }
        came
    }

    async fn send(&self, action: &RecordedAction, on: On, scene: &Scene) -> Result<Came, SessionError> {
        let value = action.value.as_deref().unwrap_or_default();
        let node = scene.nodes.iter().find(|node| node.uid == on.uid);
        if node.is_some_and(|node| node.disabled) && !matches!(action.verb, Verb::Hover | Verb::Scroll) {
            return Ok(Came::Failed("it is disabled".to_owned()));
        }
        let done = match &action.verb {
            Verb::Tap => Action::Click,
            Verb::DoubleTap => Action::DoubleClick,
            Verb::SecondaryTap => Action::SecondaryClick,
            Verb::LongPress => Action::LongPress(1000),
            Verb::Hover => Action::Hover,
            Verb::Type => Action::Fill(value.to_owned()),
            Verb::TypeSecret => match self.secrets.get(value) {
                Some(secret) => Action::Fill(secret.to_owned()),
                None => return Ok(Came::Failed(format!("the flow has no secret {value}"))),
            },
            Verb::Select => Action::Choose(value.to_owned()),
            Verb::Check => {
                // Sets a state; what has it already is left alone.
                if node.and_then(|node| node.checked).is_some_and(|now| now.to_string() == value) {
                    return Ok(Came::Done);
                }
                Action::Click
            }
            Verb::Upload => match uploads(&self.stage.files, value) {
                Ok(files) => Action::Upload(files.into_iter().collect::<Vec<PathBuf>>()),
                Err(why) => return Ok(Came::Failed(why)),
            },
            Verb::Drag => Action::Drag(on.to),
            Verb::Press => match Chord::parse(value) {
                Ok(chord) if on.uid == 0 => return self.press(&chord).await,
                Ok(chord) => Action::Press(chord),
                Err(why) => return Ok(Came::Failed(why)),
            },
            Verb::Scroll => {
                let (dx, dy) = distance(value).unwrap_or((0, 0));
                let mark = self.session.evidence().mark();
                self.session.scroll_by(on.uid, dx, dy).await?;
                self.session.still(mark, self.terms().cap_ms).await?;
                return Ok(Came::Done);
            }
            Verb::Navigate => return self.navigate(value).await,
            Verb::Back => {
                let went = self.session.back(self.terms().cap_ms).await?;
                return Ok(if went.is_some() {
                    Came::Done
                } else {
                    Came::Failed("there is no page to go back to".to_owned())
                });
            }
            Verb::TapAt | Verb::HoverAt => {
                let Some(at) = action.at else { return Ok(Came::Failed("it names no point".to_owned())) };
                return self.at_point(action, (at.x, at.y), None, scene).await;
            }
            Verb::TypeText => return self.type_text(value).await,
            Verb::Gap | Verb::Other(_) => return Ok(Came::Failed("it cannot be repeated".to_owned())),
        };
        let element = scene.look.elements.iter().find(|element| element.uid == on.uid);
        let destructive = element.is_some_and(reads_destructive);
        let terms = Terms { mode: Mode::Act { destructive }, ..self.terms() };
        Ok(match perform(self.session, &done, Target::Uid(on.uid), terms).await {
            Ok(Performed::Done(effect)) => {
                let stopped =
                    effect.since.requests.iter().find(|request| request.refused.is_some() && request.kind != "Ping");
                match (&effect.hung, stopped) {
                    (Some(why), _) => Came::Uncertain(format!("the page stopped answering: {why}")),
                    (None, Some(request)) => Came::Failed(format!(
                        "the guard stopped {} {}; --safe-to-mutate lets it leave",
                        request.method, request.url
                    )),
                    _ => Came::Done,
                }
            }
            Ok(Performed::Covered { by, .. }) => Came::NotSent(format!("it is covered by {by}")),
            Ok(Performed::Unreachable) => Came::NotSent("it has no point in the window".to_owned()),
            Ok(Performed::Mismatch(why)) => Came::NotSent(why.join(", ")),
            Ok(Performed::Disabled) => Came::Failed("it is disabled".to_owned()),
            Ok(Performed::Refused(why)) => Came::Failed(why),
            Err(error) => Came::Uncertain(error.to_string()),
        })
    }

    async fn type_text(&self, text: &str) -> Result<Came, SessionError> {
        let mark = self.session.evidence().mark();
        self.session.set_mode(self.terms().mode);
        self.session.type_text(text).await?;
        self.session.still(mark, self.terms().cap_ms).await?;
        Ok(Came::Done)
    }

    async fn press(&self, chord: &Chord) -> Result<Came, SessionError> {
        let mark = self.session.evidence().mark();
        self.session.set_mode(self.terms().mode);
        self.session.press_key(chord).await?;
        self.session.still(mark, self.terms().cap_ms).await?;
        Ok(Came::Done)
    }

    async fn navigate(&self, address: &str) -> Result<Came, SessionError> {
        let policy = self.session.policy();
        let joined: Result<Url, String> = self.stage.base.join(address).map_err(|error| error.to_string());
        match joined.and_then(|url| may_open(url.as_str(), |url| policy.is_own(url))) {
            Ok(url) => {
                open(self.session, &url, self.terms()).await?;
                Ok(Came::Done)
            }
            Err(why) => Ok(Came::Failed(why)),
        }
    }

    /// Presses a point of the window, or brings the pointer there. `inside` is the node that it lies in.
    async fn at_point(
        &self,
        action: &RecordedAction,
        (x, y): (i64, i64),
        inside: Option<u64>,
        scene: &Scene,
    ) -> Result<Came, SessionError> {
        let (mut x, mut y) = (x, y);
        let shows = |x: i64, y: i64| {
            (0..i64::from(scene.view_width)).contains(&x) && (0..i64::from(scene.view_height)).contains(&y)
        };
        let mut now = None;
        if let Some(uid) = inside.filter(|_| !shows(x, y)) {
            // Brings it into view; the point goes with it.
            let before = scene.nodes.iter().find(|node| node.uid == uid).map(|node| (node.x, node.y));
            self.session.point(uid).await?;
            let moved = self.take(true).await?;
            let after = moved.nodes.iter().find(|node| node.uid == uid).map(|node| (node.x, node.y));
            if let (Some(before), Some(after)) = (before, after) {
                (x, y) = (x + after.0 - before.0, y + after.1 - before.1);
            }
            now = Some(moved);
        }
        if !shows(x, y) {
            return Ok(Came::NotSent("the point is not in the window".to_owned()));
        }
        let scene = now.as_ref().unwrap_or(scene);
        let mut under: Vec<&SceneNode> =
            scene.nodes.iter().filter(|node| node.control && node.contains(x, y)).collect();
        under.sort_by_key(|node| node.width * node.height);
        let element = |node: &SceneNode| scene.look.elements.iter().find(|element| element.uid == node.uid);
        let destructive = under.first().and_then(|node| element(node)).is_some_and(reads_destructive);
        let mark = self.session.evidence().mark();
        self.session.set_mode(Mode::Act { destructive });
        let (x, y) = (x as f64, y as f64);
        let sent = async {
            self.session.move_to(x, y).await?;
            if action.verb == Verb::TapAt {
                self.session.press_button(x, y).await?;
            }
            self.session.still(mark, self.terms().cap_ms).await
        };
        if let Err(error) = sent.await {
            if matches!(error, SessionError::Hung { .. }) {
                self.session.unhang().await;
            }
            return Ok(Came::Uncertain(error.to_string()));
        }
        Ok(Came::Done)
    }
}
