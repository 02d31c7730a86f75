//! The one actor: does one action as a person would, waits until the screen is still, and tells what came of it.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use url::Url;

use crate::browser::journal;
use crate::browser::{
    Button, CdpError, Chord, Look, Mark, Mode, Note, Point, Session, SessionError, Since, Still, Tally,
};
use crate::trace::{Locator, page_key};

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The pointer goes there, presses and releases.
    Click,
    /// The pointer goes there and stays.
    Hover,
    /// The element takes the focus, without a press (choosers that would open a native window).
    Focus,
    /// The element is clicked, emptied, and this text is typed.
    Fill(String),
    /// An option is chosen in a list (by label or value), or a value set in a field with a chooser.
    Choose(String),
    /// These files are given to a file field.
    Upload(Vec<PathBuf>),
    /// The element takes the focus, and a key is pressed.
    Press(Chord),
    /// The pointer goes there and presses twice.
    DoubleClick,
    /// The pointer goes there and presses with its secondary button.
    SecondaryClick,
    /// The pointer goes there and holds the button for so many milliseconds.
    LongPress(u64),
    /// The pointer takes it to another element of the last look, and lets go there.
    Drag(u64),
    /// What it stands in is scrolled by so many CSS pixels, to the right and down.
    Scroll(i64, i64),
}

/// What it is done to.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// An element of the last look.
    Uid(u64),
    /// An element to be found.
    Locator(&'a Locator),
}

/// How the action is guarded and how long it may take to settle.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What the guard is told.
    pub mode: Mode,
    /// The screen may take this long to be still, in milliseconds.
    pub cap_ms: u64,
    /// A look reads so many nodes at most; 0: no look is taken afterwards, because the caller takes a scene.
    pub nodes: u64,
    /// Another page that the action opens is not gone into: it need only have loaded, and its look tells everything but
    /// its controls.
    pub passing: bool,
}

/// What came of an action.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Counts before.
    pub before: Tally,
    /// Counts after.
    pub after: Tally,
    /// What the browser told meanwhile.
    pub since: Since,
    /// How the wait ended.
    pub still: Still,
    /// The page stopped answering.
    pub hung: Option<String>,
    /// The screen afterwards.
    pub look: Look,
    /// The rungs that no longer held, when a locator was searched for.
    pub drift: Vec<String>,
}

impl Effect {
    /// An effect of which only the screen is known.
    #[must_use]
    pub fn of_look(look: Look) -> Self {
        Self {
            before: Tally::default(),
            after: Tally::default(),
            since: Since::default(),
            still: Still::default(),
            hung: None,
            look,
            drift: Vec::new(),
        }
    }

    /// Whether anything at all came of it: a change, a request, a window, a dialog, a download.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.hung.is_some()
            || !self.since.requests.is_empty()
            || self.before.doc != self.after.doc
            || self.before.changes != self.after.changes
            || self.before.effects != self.after.effects
            || self.before.scrolled != self.after.scrolled
            || self.before.url != self.after.url
            || self.since.notes.iter().any(|note| !matches!(note, Note::ConsoleError { .. }))
    }
}

/// How far an action came.
#[derive(Clone, Debug)]
pub enum Performed {
    /// It was done.
    Done(Box<Effect>),
    /// Something lies above every point of the element.
    Covered {
        /// What.
        by: String,
        /// Its number.
        uid: u64,
    },
    /// The element has no point in the window, or is gone.
    Unreachable,
    /// No rung of the locator fits.
    Mismatch(Vec<String>),
    /// The element that the locator finds is disabled.
    Disabled,
    /// The element does not take what it was given.
    Refused(String),
}

/// An action for the journal, which holds no text that is typed.
fn told(action: &Action) -> String {
    match action {
        Action::Fill(_) => "Fill".to_owned(),
        other => format!("{other:?}"),
    }
}

/// So often an element that moves away from the pointer is followed.
const AIMS: u32 = 3;

/// Does one action.
///
/// # Errors
/// [`SessionError`] when the browser is lost. A page that hangs is an effect, not an error.
pub async fn perform(
    session: &Session,
    action: &Action,
    target: Target<'_>,
    terms: Terms,
) -> Result<Performed, SessionError> {
    let mut drift = Vec::new();
    let uid = match target {
        Target::Uid(uid) => uid,
        Target::Locator(locator) => {
            let found = session.find(locator).await?;
            let Some(uid) = found.uid else { return Ok(Performed::Mismatch(found.why)) };
            if found.disabled && *action != Action::Hover {
                return Ok(Performed::Disabled);
            }
            drift = found.drift;
            uid
        }
    };
    let mark = session.evidence().mark();
    session.set_mode(terms.mode);
    journal::note("target", || json!({ "uid": uid, "action": told(action) }));
    if let Some((refused, before)) = without_pointer(session, action, uid).await? {
        return match refused {
            Some(why) => Ok(Performed::Refused(why)),
            None => settle(session, mark, before, terms, drift).await,
        };
    }
    let hovers = *action == Action::Hover;
    let mut tries = 0;
    let (x, y, before) = loop {
        let mut point = session.point(uid).await?;
        if point.x.is_none() && !point.gone {
            // Something may still be on its way out.
            session.still(mark, 400).await?;
            point = session.point(uid).await?;
        }
        let (Some(x), Some(y)) = (point.x, point.y) else {
            return Ok(match (point.cover, point.cover_uid) {
                (Some(by), Some(uid)) => Performed::Covered { by, uid },
                _ => Performed::Unreachable,
            });
        };
        let unmoved = if hovers { Some(session.tally().await?) } else { None };
        session.move_to(x, y).await?;
        if let Some(before) = unmoved {
            return settle(session, mark, before, terms, drift).await;
        }
        // What opens under the pointer may have pushed the element away: it is followed, as a person does.
        let aim = session.aim(uid, x, y).await?;
        tries += 1;
        if aim.hits {
            break (x, y, aim.tally);
        }
        if tries >= AIMS {
            return Ok(Performed::Unreachable);
        }
        session.still(mark, 400).await?;
    };
    let pressed = match action {
        Action::DoubleClick => session.press(x, y, Button::Left, 2, 0).await,
        Action::SecondaryClick => session.press(x, y, Button::Right, 1, 0).await,
        Action::LongPress(ms) => session.press(x, y, Button::Left, 1, *ms).await,
        Action::Drag(to) => match session.point(*to).await? {
            Point { x: Some(to_x), y: Some(to_y), .. } => {
                // Bringing the end into view may have moved the beginning.
                let from = session.point(uid).await?;
                let (from_x, from_y) = (from.x.unwrap_or(x), from.y.unwrap_or(y));
                session.drag((uid, from_x, from_y), (*to, to_x, to_y)).await
            }
            _ => return Ok(Performed::Unreachable),
        },
        _ => session.press_button(x, y).await,
    };
    match pressed {
        Ok(()) => {}
        Err(SessionError::Hung { message, .. }) => return hung(session, mark, before, message).await,
        Err(error) => return Err(error),
    }
    if let Action::Fill(text) = action {
        let script = format!(
            "(() => {{ const e = window[Symbol.for('agent-test')].element({uid}); if (e && e.select) e.select(); return 0; }})()"
        );
        let _: Value = session.evaluate(&script).await?;
        session.type_text(text).await?;
    }
    settle(session, mark, before, terms, drift).await
}

/// Does what needs no pointer: gives back the counts before it, and why the element does not take it.
async fn without_pointer(
    session: &Session,
    action: &Action,
    uid: u64,
) -> Result<Option<(Option<String>, Tally)>, SessionError> {
    let focus = format!("window[Symbol.for('agent-test')].element({uid})?.focus()");
    let before = match action {
        Action::Focus | Action::Choose(_) | Action::Upload(_) | Action::Press(_) | Action::Scroll(..) => {
            session.tally().await?
        }
        _ => return Ok(None),
    };
    let refused = match action {
        Action::Choose(value) => session.choose(uid, value).await?,
        Action::Upload(files) => session.give_files(uid, files).await?,
        Action::Scroll(dx, dy) => match session.scroll_by(uid, *dx, *dy).await? {
            (0, 0) => Some("it does not scroll any further".to_owned()),
            _ => None,
        },
        Action::Press(chord) => {
            let _: Value = session.evaluate(&focus).await?;
            session.press_key(chord).await?;
            None
        }
        _ => {
            let _: Value = session.evaluate(&focus).await?;
            None
        }
    };
    Ok(Some((refused, before)))
}

async fn settle(
    session: &Session,
    mark: Mark,
    before: Tally,
    terms: Terms,
    drift: Vec<String>,
) -> Result<Performed, SessionError> {
    let waited = if terms.passing {
        session.still_or_loaded(mark, terms.cap_ms, &before.doc).await
    } else {
        session.still(mark, terms.cap_ms).await
    };
    let still = match waited {
        Ok(still) => still,
        Err(SessionError::Hung { message, .. }) => return hung(session, mark, before, message).await,
        Err(error) => return Err(error),
    };
    let looked = async {
        if terms.nodes == 0 {
            return Ok((still, Look::default()));
        }
        if !terms.passing || still.tally.doc == before.doc {
            return Ok::<_, SessionError>((still, session.look(terms.nodes).await?));
        }
        if page_key(&still.tally.url) != page_key(&before.url) {
            let look = session.glance(terms.nodes).await?;
            if look.doc == still.tally.doc && look.spinners == 0 && !look.body_text.is_empty() {
                return Ok((still, look));
            }
        }
        // Still to come to something, or the same page again, which is gone on with.
        Ok((session.still(mark, terms.cap_ms).await?, session.look(terms.nodes).await?))
    };
    match looked.await {
        Ok((still, look)) => {
            let after = still.tally.clone();
            let since = session.evidence().since(mark);
            tracing::debug!(?before, ?after, "performed");
            Ok(Performed::Done(Box::new(Effect { before, after, since, still, hung: None, look, drift })))
        }
        Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
            hung(session, mark, before, format!("{method} within {ms} ms")).await
        }
        Err(error) => Err(error),
    }
}

async fn hung(session: &Session, mark: Mark, before: Tally, message: String) -> Result<Performed, SessionError> {
    session.unhang().await;
    let since = session.evidence().since(mark);
    let after = before.clone();
    let effect = Effect {
        before,
        after,
        since,
        still: Still::default(),
        hung: Some(message),
        look: Look::default(),
        drift: vec![],
    };
    Ok(Performed::Done(Box::new(effect)))
}

/// A page that shows no control after its load may take so long to begin, in milliseconds.
const BARE_MS: u64 = 1500;
/// One that shows some text by then is given that time only if it changes again as soon as this, in milliseconds.
const GOES_ON_MS: u64 = 100;

/// Waits for a page without any control to show what it is about to show: an application that draws itself a moment after
/// it has loaded, also one whose changes a busy machine draws out.
async fn grown(session: &Session, mark: Mark, terms: Terms, first: Still) -> Result<(Still, Look), SessionError> {
    let began = Instant::now();
    let (mut still, mut look) = (first, session.look(terms.nodes).await?);
    while look.elements.is_empty() && look.overlays.is_empty() && look.frames.is_empty() {
        let left = BARE_MS.saturating_sub(began.elapsed().as_millis() as u64);
        let within = if look.body_text.is_empty() { left } else { left.min(GOES_ON_MS) };
        if left == 0 || !session.changed(within).await.unwrap_or(false) {
            break;
        }
        still = session.still(mark, terms.cap_ms).await?;
        look = session.look(terms.nodes).await?;
    }
    Ok((still, look))
}

/// Opens an address and tells what came of it.
///
/// # Errors
/// [`SessionError::Unreachable`] when the browser cannot reach it; [`SessionError`] when the browser is lost.
pub async fn open(session: &Session, url: &Url, terms: Terms) -> Result<Effect, SessionError> {
    let mark = session.evidence().mark();
    let before = Tally::default();
    let went = session.goto(url, terms.cap_ms).await;
    let still = match went {
        Ok(still) => still,
        Err(SessionError::Hung { message, .. }) => {
            return match hung(session, mark, before, message).await? {
                Performed::Done(effect) => Ok(*effect),
                _ => Err(SessionError::Hung { url: url.to_string(), message: "no answer".to_owned() }),
            };
        }
        Err(error) => return Err(error),
    };
    let looked = if terms.nodes == 0 {
        Ok((still.clone(), Look::default()))
    } else {
        grown(session, mark, terms, still.clone()).await
    };
    let (still, look) = match looked {
        Ok(grown) => grown,
        Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
            session.unhang().await;
            let since = session.evidence().since(mark);
            let hung = Some(format!("{method} within {ms} ms"));
            let after = Tally::default();
            return Ok(Effect { before, after, since, still, hung, look: Look::default(), drift: vec![] });
        }
        Err(error) => return Err(error),
    };
    let after = still.tally.clone();
    let since = session.evidence().since(mark);
    Ok(Effect { before, after, since, still, hung: None, look, drift: Vec::new() })
}

/// Scrolls the window to a place, and waits until the screen is still.
///
/// # Errors
/// [`SessionError`].
pub async fn scroll_to(session: &Session, y: i64, terms: Terms) -> Result<Look, SessionError> {
    let mark = session.evidence().mark();
    journal::note("scroll", || json!(y));
    let script = format!("window.scroll({})", json!({ "top": y, "behavior": "instant" }));
    let _: Value = session.evaluate(&script).await?;
    session.still(mark, terms.cap_ms).await?;
    session.look(terms.nodes).await
}
