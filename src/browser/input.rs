//! Real input events: pointer, keys, text.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::cdp::CdpError;
use super::journal::note;
use super::keys::{Chord, Key};
use super::session::Session;
use super::session_error::SessionError;

/// A button of the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    /// The first one.
    Left,
    /// The second one, which opens a context menu.
    Right,
}

impl Button {
    fn word(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// How long a long press lasts, in milliseconds: touch libraries take half a second for one.
pub const HOLD_MS: u64 = 700;

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
    /// As [`Session::press`].
    pub async fn press_button(&self, x: f64, y: f64) -> Result<(), SessionError> {
        self.press(x, y, Button::Left, 1, 0).await
    }

    /// Presses and releases a button so many times, each time held for so many milliseconds.
    ///
    /// # Errors
    /// [`SessionError::Hung`] when the page does not answer, [`SessionError::Cdp`].
    pub async fn press(&self, x: f64, y: f64, button: Button, times: u32, hold_ms: u64) -> Result<(), SessionError> {
        note("press", || json!([x, y]));
        for count in 1..=times {
            for kind in ["mousePressed", "mouseReleased"] {
                if !self.button_event(kind, x, y, button, count).await? {
                    return Ok(());
                }
                if kind == "mousePressed" && hold_ms > 0 {
                    tokio::time::sleep(Duration::from_millis(hold_ms)).await;
                }
            }
        }
        Ok(())
    }

    /// Takes one element of the last look to another with the pointer: number, and point in the window.
    ///
    /// # Errors
    /// As [`Session::press`].
    pub async fn drag(&self, from: (u64, f64, f64), to: (u64, f64, f64)) -> Result<(), SessionError> {
        // The browser's own drag and drop takes the pointer away from the page: its events are sent in its place.
        if self.ask::<bool>(&self.page(), &format!("dragOver({}, {})", from.0, to.0), self.patience).await? {
            return Ok(());
        }
        self.move_to(from.1, from.2).await?;
        if !self.button_event("mousePressed", from.1, from.2, Button::Left, 1).await? {
            return Ok(());
        }
        for part in 1..=5 {
            let share = f64::from(part) / 5.0;
            let (x, y) = (from.1 + (to.1 - from.1) * share, from.2 + (to.2 - from.2) * share);
            let params = json!({ "type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1 });
            self.page_call("Input.dispatchMouseEvent", params).await?;
        }
        self.button_event("mouseReleased", to.1, to.2, Button::Left, 1).await.map(|_| ())
    }

    /// Gives back whether the page is still there.
    async fn button_event(&self, kind: &str, x: f64, y: f64, button: Button, count: u32) -> Result<bool, SessionError> {
        let params = json!({ "type": kind, "x": x, "y": y, "button": button.word(), "clickCount": count });
        // A page that blocks its main thread in the handler answers late or never; the wait that follows tells.
        match self.page_call("Input.dispatchMouseEvent", params).await {
            Ok(_) => Ok(true),
            Err(SessionError::Cdp(error)) if error.is_page_gone() => Ok(false),
            Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
                Err(SessionError::Hung { url: String::new(), message: format!("{method} within {ms} ms") })
            }
            Err(error) => Err(error),
        }
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
