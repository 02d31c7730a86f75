//! Real input events: pointer, keys, text.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::cdp::CdpError;
use super::journal::note;
use super::keys::{Chord, Key};
use super::session::Session;
use super::session_error::SessionError;

/// How a button of the pointer is pressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gesture {
    /// The left one, once.
    #[default]
    Once,
    /// The left one, twice.
    Twice,
    /// The right one, once.
    Right,
    /// The left one, for [`HOLD`].
    Held,
}

/// How long a held press lasts: touch libraries take half a second for a long one.
pub const HOLD: Duration = Duration::from_millis(700);

impl Session {
    /// Moves the pointer.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn move_to(&self, x: f64, y: f64) -> Result<(), SessionError> {
        note("move", || json!([x, y]));
        self.page_call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y })).await?;
        Ok(())
    }

    /// Presses and releases a button of the pointer.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_button(&self, x: f64, y: f64, gesture: Gesture) -> Result<(), SessionError> {
        note("press", || json!([x, y]));
        let button = if gesture == Gesture::Right { "right" } else { "left" };
        let counts: &[u32] = if gesture == Gesture::Twice { &[1, 1, 2, 2] } else { &[1, 1] };
        for (at, count) in counts.iter().enumerate() {
            let kind = if at % 2 == 0 { "mousePressed" } else { "mouseReleased" };
            if gesture == Gesture::Held && at == 1 {
                tokio::time::sleep(HOLD).await;
            }
            let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": count });
            // A page that blocks its main thread in the handler answers late or never; the wait that follows tells.
            match self.page_call("Input.dispatchMouseEvent", params).await {
                Ok(_) => {}
                Err(SessionError::Cdp(error)) if error.is_page_gone() => return Ok(()),
                Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
                    return Err(SessionError::Hung { url: String::new(), message: format!("{method} within {ms} ms") });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Presses a key, with the modifiers that are held meanwhile.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_key(&self, chord: &Chord) -> Result<(), SessionError> {
        note("key", || json!(chord.key.key));
        let mut bits = 0;
        for modifier in &chord.held {
            bits |= modifier.bit();
            self.key_event("rawKeyDown", modifier, bits).await?;
        }
        let down = if chord.key.text.is_some() { "keyDown" } else { "rawKeyDown" };
        self.key_event(down, &chord.key, bits).await?;
        self.key_event("keyUp", &chord.key, bits).await?;
        for modifier in chord.held.iter().rev() {
            bits &= !modifier.bit();
            self.key_event("keyUp", modifier, bits).await?;
        }
        Ok(())
    }

    async fn key_event(&self, kind: &str, key: &Key, modifiers: u32) -> Result<(), SessionError> {
        let mut params = json!({
            "type": kind, "key": key.key, "code": key.code, "windowsVirtualKeyCode": key.number, "modifiers": modifiers
        });
        if kind == "keyDown" {
            params["text"] = json!(key.text);
        }
        self.page_call("Input.dispatchKeyEvent", params).await?;
        Ok(())
    }

    /// Types a text into the element that has the focus.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn type_text(&self, text: &str) -> Result<(), SessionError> {
        note("type", || Value::Null);
        self.page_call("Input.insertText", json!({ "text": text })).await?;
        Ok(())
    }

    /// Chooses in an element of the last look: the option of a list by its label or its value (several as a JSON list), or
    /// the value of a field that has a chooser (date, colour, slider). Gives back why it cannot be, if it cannot.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn choose(&self, uid: u64, value: &str) -> Result<Option<String>, SessionError> {
        self.ask(&self.page(), &format!("choose({uid}, {})", json!(value)), self.patience).await
    }

    /// Gives files to a file field of the last look. Gives back why it cannot be, if it cannot.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn give_files(&self, uid: u64, files: &[PathBuf]) -> Result<Option<String>, SessionError> {
        let expression = format!("window[Symbol.for('agent-test')].element({uid})");
        let found = self.page_call("Runtime.evaluate", json!({ "expression": expression })).await?;
        let Some(object) = found.pointer("/result/objectId").and_then(Value::as_str) else {
            return Ok(Some("the field is gone".to_owned()));
        };
        let params = json!({ "files": files, "objectId": object });
        match self.page_call("DOM.setFileInputFiles", params).await {
            Ok(_) => Ok(None),
            Err(SessionError::Cdp(CdpError::Refused { message, .. })) => Ok(Some(message)),
            Err(error) => Err(error),
        }
    }
}
