//! The one replayer: plays trace steps in a browser, one after the other.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::heal::{Healer, Healing, Miss, guard};
use super::oracle::{self, Finding};
use super::perform::{Action, Effect, Performed, Target, Terms, open, perform, scroll_to};
use super::stage::Stage;
use crate::browser::{Chord, HOLD_MS, Look, Mode, Session, SessionError, words};
use crate::trace::bounds::{may_open, may_type, may_upload};
use crate::trace::{Locator, StepStatus, Tool, TraceStep};
use serde_json::{Value, json};

/// What came of a step.
#[derive(Clone, Debug)]
pub enum Stepped {
    /// It was done.
    Done {
        /// What came of it.
        effect: Box<Effect>,
        /// The screen before it; none for the opening navigation.
        before: Option<Box<Look>>,
        /// What the step itself found wrong: a disabled control, a text that is missing.
        failed: Option<Box<Finding>>,
    },
    /// No element fits its locator (`locator_mismatch`).
    Missed(String),
    /// It could not be done.
    Impossible(String),
}

/// Plays steps in a session.
pub struct Player<'a> {
    session: &'a Session,
    terms: Terms,
    /// A target may appear this late, in milliseconds.
    patience_ms: u64,
    look: Option<Look>,
    /// Where the files of uploads lie.
    files: PathBuf,
    /// Variables of the login, which steps may type.
    login: Vec<String>,
    /// The window that the last step acted in.
    tab: u32,
    /// Who is asked where a target is now.
    healer: Option<&'a dyn Healer>,
    healed: Option<Healing>,
}

/// Whether a control with this locator reads destructive.
#[must_use]
pub fn is_destructive(locator: &Locator) -> bool {
    let is_link = locator.role.as_deref() == Some("link");
    [&locator.name, &locator.text].into_iter().flatten().any(|text| words::is_destructive(text, is_link))
}

impl<'a> Player<'a> {
    /// A player before the first step. `look` is the screen that is open, when one is known.
    #[must_use]
    pub fn new(session: &'a Session, terms: Terms, patience_ms: u64, look: Option<Look>) -> Self {
        Self {
            session,
            terms,
            patience_ms,
            look,
            files: PathBuf::new(),
            login: Vec::new(),
            tab: 0,
            healer: None,
            healed: None,
        }
    }

    /// The same on a stage: its files are uploaded, its login's variables are typed.
    #[must_use]
    pub fn on(self, stage: &Stage) -> Self {
        Self { files: stage.files.clone(), login: stage.login_variables(), ..self }
    }

    /// The same, with somebody to ask where a missing target is now.
    #[must_use]
    pub fn healing(self, healer: Option<&'a dyn Healer>) -> Self {
        Self { healer, ..self }
    }

    /// How the target of the last step was found anew, if it was.
    pub fn take_healed(&mut self) -> Option<Healing> {
        self.healed.take()
    }

    /// Plays one step.
    ///
    /// # Errors
    /// [`SessionError`] when the browser is lost or the application cannot be reached.
    pub async fn step(&mut self, step: &TraceStep) -> Result<Stepped, SessionError> {
        let before = self.look.take();
        self.healed = None;
        let value = match resolve(step.value.as_deref(), &self.login) {
            Ok(value) => value,
            Err(why) => return Ok(Stepped::Impossible(why)),
        };
        if step.tab != self.tab {
            let within = Duration::from_millis(self.patience_ms.max(1));
            if !self.session.work_in(step.tab as usize, within).await? {
                return Ok(Stepped::Impossible(format!("there is no window {} in which the step acts", step.tab)));
            }
            self.tab = step.tab;
            let mark = self.session.evidence().mark();
            self.session.still(mark, self.terms.cap_ms).await?;
        }
        let done = match &step.tool {
            Tool::Goto => {
                let policy = self.session.policy();
                let url = match may_open(value.as_deref().unwrap_or_default(), |url| policy.is_own(url)) {
                    Ok(url) => url,
                    Err(why) => return Ok(Stepped::Impossible(why)),
                };
                open(self.session, &url, self.terms).await?
            }
            tool if tool.is_pointed() || (*tool == Tool::Press && step.locator.is_some()) => {
                let Some(locator) = &step.locator else {
                    return Ok(Stepped::Impossible("the step names no target".to_owned()));
                };
                let action = match self.action(step, value) {
                    Ok(action) => action,
                    Err(why) => return Ok(Stepped::Impossible(why)),
                };
                let mut performed = self.act(&action, locator).await?;
                if let Performed::Mismatch(why) = &mut performed {
                    // What the recording left out may stay left out: nobody is asked for it.
                    let healer = self.healer.filter(|_| step.status != StepStatus::Skipped);
                    match self.heal(healer, step, locator).await? {
                        None => {}
                        Some(Err(refused)) => {
                            let text = format!("locator_mismatch: {} ({})", locator.describe(), why.join(", "));
                            return Ok(Stepped::Missed(format!("{text}; not healed: {refused}")));
                        }
                        Some(Ok(healing)) => {
                            performed = self.act(&action, &healing.locator).await?;
                            self.healed = Some(healing);
                        }
                    }
                }
                match performed {
                    Performed::Done(effect) => *effect,
                    Performed::Covered { by, .. } => {
                        return Ok(Stepped::Impossible(format!("{} is covered by {by}", locator.describe())));
                    }
                    Performed::Unreachable => {
                        return Ok(Stepped::Impossible(format!("{} cannot be reached", locator.describe())));
                    }
                    Performed::Refused(why) => {
                        return Ok(Stepped::Impossible(format!("{} does not take it: {why}", locator.describe())));
                    }
                    Performed::Mismatch(why) => {
                        let text = format!("locator_mismatch: {} ({})", locator.describe(), why.join(", "));
                        return Ok(Stepped::Missed(text));
                    }
                    Performed::Disabled => {
                        return self.stood_still(before, oracle::disabled_control(&locator.describe())).await;
                    }
                }
            }
            Tool::Scroll => {
                let y = value.as_deref().and_then(|value| value.parse().ok()).unwrap_or(0);
                Effect::of_look(scroll_to(self.session, y, self.terms).await?)
            }
            Tool::Press => match Chord::parse(value.as_deref().unwrap_or("Escape")) {
                Ok(chord) => self.press(&chord).await?,
                Err(why) => return Ok(Stepped::Impossible(why)),
            },
            Tool::Back => {
                let mark = self.session.evidence().mark();
                if self.session.back(self.terms.cap_ms).await?.is_none() {
                    return Ok(Stepped::Impossible("there is no page to go back to".to_owned()));
                }
                let since = self.session.evidence().since(mark);
                Effect { since, ..Effect::of_look(self.session.look(self.terms.nodes).await?) }
            }
            Tool::AssertText => {
                let text = value.unwrap_or_default();
                if !self.shows(&text).await? {
                    return self.stood_still(before, oracle::missing_text(&text)).await;
                }
                Effect::of_look(self.session.look(self.terms.nodes).await?)
            }
            // The tools that have a target were played above.
            Tool::Noop | Tool::Wait => {
                let mark = self.session.evidence().mark();
                self.session.still(mark, self.terms.cap_ms).await?;
                Effect::of_look(self.session.look(self.terms.nodes).await?)
            }
            other => {
                return Ok(Stepped::Impossible(format!("a `{other}` step cannot be played by this version")));
            }
        };
        self.look = Some(done.look.clone());
        Ok(Stepped::Done { effect: Box::new(done), before: before.map(Box::new), failed: None })
    }

    /// What a step with a target does to it.
    fn action(&self, step: &TraceStep, value: Option<String>) -> Result<Action, String> {
        Ok(match (&step.tool, value) {
            (Tool::Hover, _) => Action::Hover,
            (Tool::Fill, value) => Action::Fill(value.unwrap_or_default()),
            // The explorer looks at a chooser without choosing.
            (Tool::Select | Tool::Upload, None) => Action::Focus,
            (Tool::Select, Some(value)) => Action::Choose(value),
            (Tool::Upload, Some(value)) => Action::Upload(uploads(&self.files, &value)?),
            (Tool::DoubleClick, _) => Action::DoubleClick,
            (Tool::RightClick, _) => Action::SecondaryClick,
            (Tool::Hold, _) => Action::LongPress(HOLD_MS),
            (Tool::Press, value) => Action::Press(Chord::parse(value.as_deref().unwrap_or("Escape"))?),
            _ => Action::Click,
        })
    }

    /// Asks for the target that is missing, and judges the answer; nothing when there is nobody to ask.
    async fn heal(
        &self,
        healer: Option<&dyn Healer>,
        step: &TraceStep,
        locator: &Locator,
    ) -> Result<Option<Result<Healing, String>>, SessionError> {
        let Some(healer) = healer else { return Ok(None) };
        let look = self.session.look(self.terms.nodes).await?;
        let healing = match healer.heal(Miss { step, locator, look: &look }).await {
            Ok(healing) => healing,
            Err(why) => return Ok(Some(Err(why))),
        };
        // Whoever proposes may have looked a while ago: it is found again, by its locator alone.
        let found = self.session.find(&healing.locator).await?;
        let now = self.session.look(self.terms.nodes).await?;
        let element = found.uid.and_then(|uid| now.elements.iter().find(|element| element.uid == uid));
        let judged = match element {
            None => Err(format!("{} is not the only one of its kind, or is gone", healing.locator.describe())),
            Some(element) if found.disabled && !element.disabled => {
                Err(format!("{} is disabled", healing.locator.describe()))
            }
            Some(element) => guard(step, locator, element, self.session.policy()),
        };
        Ok(Some(judged.map(|()| healing)))
    }

    /// A step that did nothing to the screen and failed.
    async fn stood_still(&mut self, before: Option<Look>, failed: Finding) -> Result<Stepped, SessionError> {
        let effect = Effect::of_look(self.session.look(self.terms.nodes).await?);
        self.look = Some(effect.look.clone());
        Ok(Stepped::Done { effect: Box::new(effect), before: before.map(Box::new), failed: Some(Box::new(failed)) })
    }

    /// Acts on what the locator finds, as soon as it is there.
    async fn act(&self, action: &Action, locator: &Locator) -> Result<Performed, SessionError> {
        let began = Instant::now();
        let terms = Terms { mode: Mode::Act { destructive: is_destructive(locator) }, ..self.terms };
        loop {
            let performed = perform(self.session, action, Target::Locator(locator), terms).await?;
            let late = matches!(
                performed,
                Performed::Mismatch(_) | Performed::Covered { .. } | Performed::Unreachable | Performed::Disabled
            );
            let left = self.patience_ms.saturating_sub(began.elapsed().as_millis() as u64);
            if !late || left == 0 {
                return Ok(performed);
            }
            // Until something changes: the next look is worth nothing before that.
            let mark = self.session.evidence().mark();
            self.session.changed(left.min(250)).await?;
            self.session.still(mark, left).await?;
        }
    }

    async fn press(&self, chord: &Chord) -> Result<Effect, SessionError> {
        let mark = self.session.evidence().mark();
        self.session.set_mode(self.terms.mode);
        let before = self.session.tally().await?;
        self.session.press_key(chord).await?;
        let still = self.session.still(mark, self.terms.cap_ms).await?;
        let since = self.session.evidence().since(mark);
        Ok(Effect {
            before,
            after: still.tally.clone(),
            since,
            still,
            ..Effect::of_look(self.session.look(self.terms.nodes).await?)
        })
    }

    /// Whether the page shows a text, now or within the patience.
    async fn shows(&self, text: &str) -> Result<bool, SessionError> {
        let began = Instant::now();
        let script = format!("(document.body?.innerText ?? '').replace(/\\s+/g, ' ').includes({})", json!(text));
        loop {
            if self.session.evaluate::<Value>(&script).await? == Value::Bool(true) {
                return Ok(true);
            }
            let left = self.patience_ms.saturating_sub(began.elapsed().as_millis() as u64);
            if left == 0 {
                return Ok(false);
            }
            self.session.changed(left.min(250)).await?;
        }
    }
}

/// The files of an upload: a path, or several as a JSON list, below a directory. A trace may come from anywhere; it gives
/// away no other file.
///
/// # Errors
/// Why it must not be given, for people.
pub fn uploads(directory: &Path, value: &str) -> Result<Vec<PathBuf>, String> {
    let names = may_upload(value)?;
    let mut files = Vec::new();
    for name in names {
        let file = directory.join(&name);
        let real = file.canonicalize().ok().filter(|real| real.is_file());
        let root = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        match real {
            Some(real) if real.starts_with(&root) => files.push(real),
            Some(_) => return Err(format!("the step uploads `{name}`, which leads out of the project")),
            None => return Err(format!("the step uploads `{name}`, and there is no such file in {}", root.display())),
        }
    }
    Ok(files)
}

/// A value with its secret put in: `env:NAME` is what that variable holds.
fn resolve(value: Option<&str>, login: &[String]) -> Result<Option<String>, String> {
    let Some(name) = value.and_then(|value| value.strip_prefix("env:")) else { return Ok(value.map(str::to_owned)) };
    let login: Vec<&str> = login.iter().map(String::as_str).collect();
    may_type(name, &login)?;
    crate::env::get(name)
        .map(Some)
        .ok_or_else(|| format!("the step needs the environment variable {name}, which is not set"))
}

/// How a replay ended.
#[derive(Clone, Debug)]
pub enum Played {
    /// Every step was done; what came of the last one.
    Reached(Box<Effect>),
    /// A step could not be done.
    Stopped {
        /// Its index in the trace.
        at: usize,
        /// Why.
        why: String,
    },
}

/// Plays the steps from the first one, without a judgement.
///
/// # Errors
/// [`SessionError`] when the browser is lost or the application cannot be reached.
pub async fn play(session: &Session, steps: &[TraceStep], terms: Terms) -> Result<Played, SessionError> {
    let mut player = Player::new(session, terms, 0, None);
    let mut last = None;
    for (at, step) in steps.iter().enumerate() {
        match player.step(step).await? {
            Stepped::Done { failed: Some(finding), .. } => {
                return Ok(Played::Stopped { at, why: finding.description });
            }
            Stepped::Done { effect, .. } => {
                if effect.hung.is_some() && at + 1 < steps.len() {
                    return Ok(Played::Stopped { at, why: "the page hangs".to_owned() });
                }
                last = Some(effect);
            }
            Stepped::Missed(why) | Stepped::Impossible(why) => return Ok(Played::Stopped { at, why }),
        }
    }
    Ok(last.map_or_else(|| Played::Stopped { at: 0, why: "the trace has no step".to_owned() }, Played::Reached))
}
