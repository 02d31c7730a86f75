//! The screen: what one look at a page tells.

use serde::Deserialize;

use crate::trace::Locator;

/// What is visible now: every control, what is open, and what the page says of itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Look {
    /// Identity of the document; another one after every load.
    pub doc: String,
    /// Address.
    pub url: String,
    /// Title.
    pub title: String,
    /// Nodes read.
    pub nodes: u64,
    /// The walk ended at the limit of nodes.
    pub truncated: bool,
    /// Interactive elements, in document order.
    pub elements: Vec<Element>,
    /// Frames, entered or not.
    pub frames: Vec<Frame>,
    /// Addresses of visible images that did not load.
    pub broken: Vec<String>,
    /// Visible password fields.
    pub passwords: u32,
    /// Visible signs of loading.
    pub spinners: u32,
    /// Dialogs, menus and popovers that are open, outermost first.
    pub overlays: Vec<Overlay>,
    /// Messages in live regions, toasts and alerts.
    pub toasts: Vec<Toast>,
    /// The largest table.
    pub table: Option<Table>,
    /// Tables with headers and no row.
    pub empty_tables: u32,
    /// Names of tabs.
    pub tabs: Vec<String>,
    /// The first 4,000 characters of visible text.
    pub body_text: String,
    /// The first heading.
    pub heading: String,
    /// Height of the window, CSS pixels.
    pub view_height: i64,
    /// Images, controls, frames and drawings in the document.
    pub media: u32,
    /// How far the page is scrolled, in CSS pixels.
    pub scroll_y: i64,
    /// Its height, in CSS pixels.
    pub scroll_height: i64,
    /// The element that has the focus; 0 = none.
    pub focus: u64,
    /// Milliseconds that asking for names and roles took.
    pub names_ms: f64,
}

/// One interactive element.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Element {
    /// Number within its document; survives as long as the element does.
    pub uid: u64,
    /// Tag.
    pub tag: String,
    /// Why it counts as a control: `link`, `native`, `role`, `editable`, `listener`, `delegated`, `pointer`, `label`, `hover`.
    pub why: String,
    /// Accessible role, the browser's own.
    pub role: String,
    /// Accessible name, the browser's own where it has one.
    pub name: String,
    /// Type of an input.
    pub input: Option<String>,
    /// Resolved address of a link.
    pub href: Option<String>,
    /// Address as written.
    pub raw_href: Option<String>,
    /// Target window of a link.
    pub target: Option<String>,
    /// The link asks for a download.
    pub download: bool,
    /// Pressing it submits a form.
    pub submits: bool,
    /// Method of its form.
    pub form_method: Option<String>,
    /// Address of its form.
    pub form_action: Option<String>,
    /// Tooltip.
    pub title: String,
    /// Class names of it and of its icons.
    pub icons: String,
    /// It cannot be used.
    pub disabled: bool,
    /// Checked.
    pub checked: bool,
    /// `aria-expanded`, or whether a disclosure is open.
    pub expanded: Option<String>,
    /// Selected, current or pressed.
    pub selected: bool,
    /// It says that it opens something.
    pub haspopup: Option<String>,
    /// Cannot be written to.
    pub readonly: bool,
    /// It works on a text field beside it, which may be empty.
    pub field: bool,
    /// `type` of a button or field.
    pub kind: Option<String>,
    /// It has a listener for clicks.
    pub clicks: bool,
    /// It has a listener for the pointer coming in.
    pub hovers: bool,
    /// Event types listened for.
    pub types: Vec<String>,
    /// Value of a test id attribute.
    pub test_id: Option<String>,
    /// Label of a field.
    pub label: Option<String>,
    /// Placeholder of a field.
    pub placeholder: Option<String>,
    /// Visible text.
    pub text: Option<String>,
    /// CSS path from the root that owns it.
    pub css: String,
    /// CSS paths of the shadow hosts around it.
    pub shadow: Vec<String>,
    /// CSS paths of the frames around it.
    pub frame: Vec<String>,
    /// Landmark that it stands in.
    pub landmark: String,
    /// Index of the innermost overlay that it stands in; -1 = none.
    pub overlay: i64,
    /// Nearest positioned layer that it stands in.
    pub layer: Option<Layer>,
    /// Structural path with class names: equal for repeated items.
    pub group: String,
    /// Its parent's number (its row's parent for cells).
    pub parent: u64,
    /// Row of a table.
    pub row: Option<u32>,
    /// Table.
    pub table: Option<u32>,
    /// Left edge in the window, CSS pixels.
    pub x: i64,
    /// Top edge.
    pub y: i64,
    /// Width.
    pub width: i64,
    /// Height.
    pub height: i64,
}

/// A positioned layer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Layer {
    /// Number of the element that makes it.
    pub uid: u64,
    /// Share of the window that it covers, 0 to 1.
    pub share: f64,
    /// Fixed to the window.
    pub fixed: bool,
}

/// A frame.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// CSS path.
    pub css: String,
    /// Address.
    pub url: String,
    /// Why it was not entered.
    pub skipped: Option<String>,
}

/// Something open above the page.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overlay {
    /// Number of its element.
    pub uid: u64,
    /// `dialog`, `alertdialog`, `menu` or `popover`.
    pub kind: String,
    /// Its heading or label.
    pub name: String,
    /// Its text, up to 400 characters.
    pub text: String,
    /// It asks to confirm something.
    pub question: bool,
    /// Fields in it.
    pub fields: u32,
    /// Buttons in it.
    pub buttons: u32,
    /// It shows steps.
    pub wizard: bool,
    /// Nothing behind it can be used.
    pub modal: bool,
}

impl Overlay {
    /// Whether it is a dialog (rather than a menu).
    #[must_use]
    pub fn is_dialog(&self) -> bool {
        matches!(self.kind.as_str(), "dialog" | "alertdialog")
    }
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toast {
    /// Number of its element.
    pub uid: u64,
    /// Its text.
    pub text: String,
    /// It reads like an error.
    pub error: bool,
    /// It floats above the page.
    pub fixed: bool,
    /// It is a live region.
    pub live: bool,
}

/// A table.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Table {
    /// Rows.
    pub rows: u64,
    /// Column headers.
    pub headers: Vec<String>,
}

impl Element {
    /// How to find it again, every rung that holds.
    #[must_use]
    pub fn locator(&self) -> Locator {
        let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Locator {
            test_id: self.test_id.clone(),
            role: non_empty(&self.role),
            name: non_empty(&self.name),
            label: self.label.clone(),
            placeholder: self.placeholder.clone(),
            text: self.text.clone(),
            css: non_empty(&self.css),
            frame: self.frame.clone(),
            shadow: self.shadow.clone(),
            nth: None,
        }
    }

    /// Visible or accessible name, or what stands for one.
    #[must_use]
    pub fn display_name(&self) -> String {
        [Some(&self.name), self.text.as_ref(), Some(&self.title), self.placeholder.as_ref(), self.test_id.as_ref()]
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty())
            .cloned()
            .unwrap_or_else(|| {
                format!("({} without a name)", if self.role == "generic" { &self.tag } else { &self.role })
            })
    }

    /// Whether it is a field that takes text.
    #[must_use]
    pub fn is_text_field(&self) -> bool {
        self.input.as_deref().is_some_and(|kind| {
            matches!(
                kind,
                "text"
                    | "search"
                    | "email"
                    | "password"
                    | "tel"
                    | "url"
                    | "number"
                    | "date"
                    | "time"
                    | "month"
                    | "week"
                    | "datetime-local"
            )
        }) || self.role == "textbox"
            || self.role == "searchbox"
            || self.role == "spinbutton"
    }
}

/// Where to press an element.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Point {
    /// From the left edge of the window, CSS pixels.
    pub x: Option<f64>,
    /// From the top edge.
    pub y: Option<f64>,
    /// The element is no longer in the document.
    pub gone: bool,
    /// What lies above every point of it.
    pub cover: Option<String>,
    /// Number of the covering element.
    pub cover_uid: Option<u64>,
    /// It has no point in the window.
    pub hidden: bool,
}

/// What stands at a point that is about to be pressed.
#[derive(Clone, Debug, Deserialize)]
pub struct Aim {
    /// The press would hit its element.
    pub hits: bool,
    /// The counts before it.
    pub tally: Tally,
}

/// What the page counted, to be compared before and after an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Document.
    pub doc: String,
    /// Changes of the document, tickers aside.
    pub changes: u64,
    /// Effects that leave no mark in the document.
    pub effects: u64,
    /// Scrolling that we did not cause.
    pub scrolled: u64,
    /// Focus moves.
    pub focused: u64,
    /// Address.
    pub url: String,
    /// The last effects by name.
    pub recent: Vec<String>,
}

/// How the wait for a still screen ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Still {
    /// It became still.
    pub still: bool,
    /// What kept it busy.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// How long each reason held it up, in milliseconds; `quiet` is the wait that nothing comes any more.
    pub held: std::collections::BTreeMap<String, f64>,
    /// Timers of the load that did nothing, by delay and code.
    pub idle: Vec<String>,
    /// Timers of the load that did something.
    pub busy: Vec<String>,
    /// What the page had counted by then.
    pub tally: Tally,
}

/// An option of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Choice {
    /// What it reads.
    pub label: String,
    /// The label is whole, and names the option.
    pub exact: bool,
    /// It is chosen.
    pub chosen: bool,
    /// It cannot be chosen.
    pub disabled: bool,
}

/// Answer of the search for a recorded locator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Found {
    /// The element's number.
    pub uid: Option<u64>,
    /// The rung that found it.
    pub rung: Option<String>,
    /// Why the rungs above did not.
    pub drift: Vec<String>,
    /// Why no rung did.
    pub why: Vec<String>,
    /// The element is disabled: natively, by its fieldset or by `aria-disabled`.
    pub disabled: bool,
}
