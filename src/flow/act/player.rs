//! Does the actions of a goal step: those of a recording and those of an agent, through the one actor. Nothing here decides
//! what is done; it finds the target, acts once, and says what came of it.

use std::path::PathBuf;

use url::Url;

use crate::browser::{Chord, Mode, Scene, Session, SessionError};
use crate::flow::params::Secrets;
use crate::flow::recording::{Descriptor, Located, RecordedAction, Verb, distance, locate, place};
use crate::replay::{Action, Performed, Stage, Target, Terms, open, perform, reads_destructive, uploads};
use crate::trace::bounds::may_open;

/// The browser, as a goal step uses it.
pub struct Player<'a> {
    /// The session.
    pub session: &'a Session,
    /// The application.
    pub stage: &'a Stage,
    /// Secrets that may be typed, and are kept out of everything.
    pub secrets: &'a Secrets,
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was done.
    Done,
    /// Its target is not on the screen.
    Missing,
    /// So many read as its target.
    Ambiguous(usize),
    /// The application or the browser refused it; nothing was sent.
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

    /// Takes in the screen, with secrets hidden; waits before until it is still, when asked to.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn scene(&self, settled: bool) -> Result<Scene, SessionError> {
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
        Ok(scene)
    }

    /// The route of a screen.
    #[must_use]
    pub fn route(&self, scene: &Scene) -> String {
        place(&scene.look.url, &self.stage.base)
    }

    /// Does a recorded action on the screen as it is.
    ///
    /// # Errors
    /// [`SessionError`] when the browser is lost before anything was sent.
    pub async fn play(&self, action: &RecordedAction, scene: &Scene) -> Result<Came, SessionError> {
        let found = |target: &Option<Descriptor>| match target.as_ref().map(|target| locate(&scene.nodes, target)) {
            None => Ok(0),
            Some(Located::Found(at)) => Ok(scene.nodes[at].uid),
            Some(Located::Missing) => Err(Came::Missing),
            Some(Located::Ambiguous(many)) => Err(Came::Ambiguous(many)),
        };
        let on = match (found(&action.target), found(&action.to)) {
            (Ok(uid), Ok(to)) => On { uid, to },
            (Err(came), _) | (_, Err(came)) => return Ok(came),
        };
        if let Some(at) = action.at
            && action.target.is_none()
            && (at.width, at.height) != (scene.view_width, scene.view_height)
        {
            let (now, then) =
                (format!("{}x{}", scene.view_width, scene.view_height), format!("{}x{}", at.width, at.height));
            return Ok(Came::Viewport(format!("recorded at {then}, and the window is {now}")));
        }
        let times = if action.verb == Verb::Scroll { action.times.unwrap_or(1) } else { 1 };
        for repeat in 0..times {
            // A list may lose its first row on the way: it is found again before each repeat.
            let again = if repeat == 0 { None } else { Some(self.scene(false).await?) };
            let on = match (&again, &action.target) {
                (Some(scene), Some(target)) => match locate(&scene.nodes, target) {
                    Located::Found(at) => On { uid: scene.nodes[at].uid, to: 0 },
                    _ => return Ok(Came::Missing),
                },
                _ => on,
            };
            match self.once(action, on, again.as_ref().unwrap_or(scene)).await? {
                Came::Done => {}
                came => return Ok(came),
            }
        }
        Ok(Came::Done)
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
            Verb::TapAt => return self.tap_at(action).await,
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
            Ok(Performed::Covered { by, .. }) => Came::Failed(format!("it is covered by {by}")),
            Ok(Performed::Unreachable) => Came::Failed("it has no point in the window".to_owned()),
            Ok(Performed::Mismatch(why)) => Came::Failed(why.join(", ")),
            Ok(Performed::Disabled) => Came::Failed("it is disabled".to_owned()),
            Ok(Performed::Refused(why)) => Came::Failed(why),
            Err(error) => Came::Uncertain(error.to_string()),
        })
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

    async fn tap_at(&self, action: &RecordedAction) -> Result<Came, SessionError> {
        let Some(at) = action.at else { return Ok(Came::Failed("it names no point".to_owned())) };
        let mark = self.session.evidence().mark();
        self.session.set_mode(self.terms().mode);
        self.session.press_button(at.x as f64, at.y as f64).await?;
        self.session.still(mark, self.terms().cap_ms).await?;
        Ok(Came::Done)
    }
}
