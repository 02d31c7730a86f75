//! Closes what is open above the page, as a person would: its own closing controls, Escape, a click beside it.

use super::perform::{Action, Performed, Target, Terms, perform};
use super::reading::{closes, reads_destructive};
use crate::browser::{Chord, Element, Look, Mode, Session, SessionError};
use crate::trace::page_key;

/// Words of a control that only takes note of what a dialog says.
const HARMLESS: &[&str] =
    &["ok", "okay", "done", "got it", "understood", "finish", "fertig", "verstanden", "d'accord", "aceptar"];
/// Layers that are closed one after the other.
const LAYERS: usize = 4;

/// Closes layers until `wanted` of them are left. Gives back the screen, and whether no more than that are open.
///
/// # Errors
/// [`SessionError`] when the browser is lost.
pub async fn close_down_to(
    session: &Session,
    mut look: Look,
    wanted: usize,
    terms: Terms,
) -> Result<(Look, bool), SessionError> {
    for _ in 0..LAYERS {
        let before = look.overlays.len();
        if before <= wanted {
            return Ok((look, true));
        }
        let closed;
        (look, closed) = close_top(session, look, terms).await?;
        if !closed && look.overlays.len() >= before {
            return Ok((look, false));
        }
    }
    let closed = look.overlays.len() <= wanted;
    Ok((look, closed))
}

async fn close_top(session: &Session, look: Look, terms: Terms) -> Result<(Look, bool), SessionError> {
    let Some(top) = look.overlays.last() else { return Ok((look, true)) };
    let index = i64::try_from(look.overlays.len()).unwrap_or(0) - 1;
    let page = page_key(&look.url);
    let count = look.overlays.len();
    let is_closed = |now: &Look| now.overlays.len() < count && page_key(&now.url) == page;
    let mut look = look.clone();
    if top.is_dialog() {
        for way in ways_out(&look, index, top.question) {
            let terms = Terms { mode: Mode::Act { destructive: true }, ..terms };
            if let Performed::Done(effect) = perform(session, &Action::Click, Target::Uid(way), terms).await?
                && effect.hung.is_none()
            {
                look = effect.look;
                if is_closed(&look) {
                    return Ok((look, true));
                }
            }
            if page_key(&look.url) != page {
                return Ok((look, false));
            }
        }
    }
    let mark = session.evidence().mark();
    session.set_mode(Mode::Act { destructive: false });
    session.press_key(&Chord::escape()).await?;
    session.still(mark, terms.cap_ms).await?;
    look = session.look(terms.nodes).await?;
    if is_closed(&look) {
        return Ok((look, true));
    }
    let point = session.blank_point().await?;
    if let (Some(x), Some(y)) = (point.x, point.y) {
        let mark = session.evidence().mark();
        session.move_to(x, y).await?;
        session.press_button(x, y).await?;
        session.still(mark, terms.cap_ms).await?;
        look = session.look(terms.nodes).await?;
    }
    let closed = is_closed(&look);
    Ok((look, closed))
}

/// The controls of the top layer that close it, the likeliest three. "OK" only where nothing is asked.
fn ways_out(look: &Look, index: i64, question: bool) -> Vec<u64> {
    let usable = |element: &&Element| element.overlay == index && !element.disabled;
    let closing = look.elements.iter().filter(usable).filter(|element| closes(element));
    let harmless = look
        .elements
        .iter()
        .filter(usable)
        .filter(|element| !reads_destructive(element) && HARMLESS.contains(&element.name.to_lowercase().trim()));
    closing.chain(harmless.filter(|_| !question)).map(|element| element.uid).take(3).collect()
}
