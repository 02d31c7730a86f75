//! Real input events: pointer, keys, text.

use serde_json::json;

use super::cdp::CdpError;
use super::session::Session;
use super::session_error::SessionError;

impl Session {
    /// Moves the pointer.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn move_to(&self, x: f64, y: f64) -> Result<(), SessionError> {
        self.page_call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y })).await?;
        Ok(())
    }

    /// Presses and releases the left button.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_button(&self, x: f64, y: f64) -> Result<(), SessionError> {
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
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

    /// Presses a key by its name (`Escape`, `Enter`, `Tab`).
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_key(&self, key: &str) -> Result<(), SessionError> {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "ArrowDown" => 40,
            _ => 27,
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "rawKeyDown" {
                params["type"] = json!("keyDown");
                params["text"] = json!("\r");
            }
            self.page_call("Input.dispatchKeyEvent", params).await?;
        }
        Ok(())
    }

    /// Types a text into the element that has the focus.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn type_text(&self, text: &str) -> Result<(), SessionError> {
        self.page_call("Input.insertText", json!({ "text": text })).await?;
        Ok(())
    }
}
