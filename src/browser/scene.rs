//! The scene: a look together with what the page says, as nodes in document order. Goal steps are recorded and found again
//! in it.

use std::time::Duration;

use serde::Deserialize;

use super::screen::Look;
use super::session::Session;
use super::session_error::SessionError;

/// A look, and everything on the screen that has a meaning.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scene {
    /// The look that it was made from.
    pub look: Look,
    /// Controls, texts, headings, messages and dialogs, in document order.
    pub nodes: Vec<SceneNode>,
    /// Width of the window in CSS pixels.
    pub view_width: u32,
    /// Its height.
    pub view_height: u32,
}

/// One thing on the screen: a control, or something that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SceneNode {
    /// Number of its element; see [`super::Element::uid`].
    pub uid: u64,
    /// It can be acted on.
    pub control: bool,
    /// Role; `text` for plain text.
    pub role: String,
    /// Accessible name.
    pub name: String,
    /// Visible text, at most 300 characters; of a control only when it has no name.
    pub text: String,
    /// Value of a test id attribute.
    pub test_id: Option<String>,
    /// Placeholder of a field.
    pub placeholder: Option<String>,
    /// What a field is for (`autocomplete`).
    pub purpose: Option<String>,
    /// First text of the nearest row, list item or named group around it.
    pub within: Option<String>,
    /// CSS paths of the frames around it.
    pub frame: Vec<String>,
    /// Checked, where that can be.
    pub checked: Option<bool>,
    /// Expanded.
    pub expanded: Option<bool>,
    /// Pressed.
    pub pressed: Option<bool>,
    /// Selected.
    pub selected: Option<bool>,
    /// It cannot be used.
    pub disabled: bool,
    /// What a field holds; never that of a password field.
    pub value: Option<String>,
    /// It holds a secret.
    pub secure: bool,
    /// CSS path, for people; nothing is found by it.
    pub css: String,
    /// Left edge in the window, CSS pixels.
    pub x: i64,
    /// Top edge.
    pub y: i64,
    /// Width.
    pub width: i64,
    /// Height.
    pub height: i64,
}

impl SceneNode {
    /// A short text for people: `button "Save"`.
    #[must_use]
    pub fn describe(&self) -> String {
        let label = [Some(&self.name), Some(&self.text), self.placeholder.as_ref(), self.test_id.as_ref()];
        match label.into_iter().flatten().find(|text| !text.is_empty()) {
            Some(label) => format!("{} \"{label}\"", self.role),
            None => format!("{} without a name", self.role),
        }
    }

    /// Whether a point of the window lies in it.
    #[must_use]
    pub fn contains(&self, x: i64, y: i64) -> bool {
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }
}

impl Scene {
    /// Whether the page could be read as nodes at all.
    #[must_use]
    pub fn is_semantic(&self) -> bool {
        !self.nodes.is_empty() && !self.look.truncated
    }
}

impl Session {
    /// Takes in the whole scene of the window that we work in, in one round trip.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn scene(&self, most_nodes: u64) -> Result<Scene, SessionError> {
        self.ask(&self.page(), &format!("scene({{nodes: {most_nodes}}})"), Duration::from_secs(15)).await
    }

    /// The part of the window, in percent, that a scroll of this element moves (0 = the window: all of it).
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn scroll_share(&self, uid: u64) -> Result<u32, SessionError> {
        self.ask(&self.page(), &format!("scrollShare({uid})"), self.patience).await
    }

    /// Scrolls what an element stands in (0 = the window); gives back how far it went, in CSS pixels.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn scroll_by(&self, uid: u64, dx: i64, dy: i64) -> Result<(i64, i64), SessionError> {
        self.ask(&self.page(), &format!("scrollBy({uid}, {dx}, {dy})"), self.patience).await
    }
}
