//! Plays trace steps in a browser.

use url::Url;

use super::perform::{Action, Effect, Performed, Target, Terms, open, perform, scroll_to};
use crate::browser::{Look, Mode, Session, SessionError, words};
use crate::trace::{Locator, Tool, TraceStep};

/// How a replay ended.
#[derive(Clone, Debug)]
pub enum Played {
    /// Every step was done; what came of the last one, and the screen before it.
    Reached {
        /// The last step's effect.
        last: Box<Effect>,
        /// The screen before the last step; none when the last step is the opening navigation.
        before: Option<Box<Look>>,
    },
    /// A step could not be done.
    Stopped {
        /// Its index in the trace.
        at: usize,
        /// Why.
        why: String,
    },
}

/// Whether a control with this locator reads destructive.
#[must_use]
pub fn is_destructive(locator: &Locator) -> bool {
    let is_link = locator.role.as_deref() == Some("link");
    [&locator.name, &locator.text].into_iter().flatten().any(|text| words::is_destructive(text, is_link))
}

/// Plays the steps from the first one.
///
/// # Errors
/// [`SessionError`] when the browser is lost or the application cannot be reached.
pub async fn play(session: &Session, steps: &[TraceStep], terms: Terms) -> Result<Played, SessionError> {
    let mut last: Option<Effect> = None;
    let mut before = None;
    for (at, step) in steps.iter().enumerate() {
        let stopped = |why: String| Ok(Played::Stopped { at, why });
        let previous = last.take().map(|effect| effect.look);
        let effect = match &step.tool {
            Tool::Goto => {
                let Some(url) = step.value.as_deref().and_then(|url| Url::parse(url).ok()) else {
                    return stopped("the step names no address".to_owned());
                };
                open(session, &url, terms).await?
            }
            Tool::Click | Tool::Hover | Tool::Select | Tool::Fill | Tool::Upload => {
                let Some(locator) = &step.locator else { return stopped("the step names no target".to_owned()) };
                let action = match &step.tool {
                    Tool::Hover => Action::Hover,
                    Tool::Select | Tool::Upload => Action::Focus,
                    Tool::Fill => Action::Fill(step.value.clone().unwrap_or_default()),
                    _ => Action::Click,
                };
                let terms = Terms { mode: Mode::Act { destructive: is_destructive(locator) }, ..terms };
                match perform(session, &action, Target::Locator(locator), terms).await? {
                    Performed::Done(effect) => *effect,
                    Performed::Covered { by, .. } => {
                        return stopped(format!("{} is covered by {by}", locator.describe()));
                    }
                    Performed::Unreachable => return stopped(format!("{} cannot be reached", locator.describe())),
                    Performed::Mismatch(why) => {
                        return stopped(format!("locator_mismatch: {} ({})", locator.describe(), why.join(", ")));
                    }
                }
            }
            Tool::Scroll => {
                let y = step.value.as_deref().and_then(|value| value.parse().ok()).unwrap_or(0);
                Effect::of_look(scroll_to(session, y, terms).await?)
            }
            Tool::Press => {
                let mark = session.evidence().mark();
                session.press_key(step.value.as_deref().unwrap_or("Escape")).await?;
                let still = session.still(mark, terms.cap_ms).await?;
                let since = session.evidence().since(mark);
                Effect { since, still, ..Effect::of_look(session.look(terms.nodes).await?) }
            }
            Tool::Noop | Tool::Wait => match previous {
                Some(look) => {
                    before = Some(look.clone());
                    last = Some(Effect::of_look(look));
                    continue;
                }
                None => return stopped("nothing was opened before".to_owned()),
            },
            other => return stopped(format!("the explorer cannot play a `{other}` step")),
        };
        before = previous;
        if effect.hung.is_some() && at + 1 < steps.len() {
            return stopped("the page hangs".to_owned());
        }
        last = Some(effect);
    }
    match last {
        Some(last) => Ok(Played::Reached { last: Box::new(last), before: before.map(Box::new) }),
        None => Ok(Played::Stopped { at: 0, why: "the trace has no step".to_owned() }),
    }
}
