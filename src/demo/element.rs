//! A small builder for the manifest's elements, so that each page lists its own next to its HTML.

use super::manifest::Place;
use crate::maze::ActionResult;

/// An interactive element with what it opens.
pub(super) struct Element {
    pub(super) label: &'static str,
    pub(super) role: &'static str,
    pub(super) expect: &'static [ActionResult],
    pub(super) place: Place,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// What it opens, in the same place.
    pub(super) fn with(mut self, children: Vec<Element>) -> Self {
        self.children.extend(children.into_iter().map(|child| match self.role {
            "button" | "menuitem" if child.role == "menuitem" && child.place == Place::Top => {
                child.in_place(Place::Menu)
            }
            _ => child,
        }));
        self
    }

    /// What it opens in a dialog.
    pub(super) fn with_dialog(mut self, children: Vec<Element>) -> Self {
        self.children.extend(children.into_iter().map(|child| child.in_place(Place::Dialog)));
        self
    }

    /// The element in that place, with its children unless they have a place of their own.
    pub(super) fn in_place(mut self, place: Place) -> Self {
        if self.place == Place::Top {
            self.place = place;
        }
        self.children = self
            .children
            .into_iter()
            .map(|child| if child.place == Place::Top { child.in_place(place) } else { child })
            .collect();
        self
    }
}

fn element(label: &'static str, role: &'static str, expect: &'static [ActionResult]) -> Element {
    Element { label, role, expect, place: Place::Top, children: Vec::new() }
}

/// A button.
pub(super) fn button(label: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, "button", expect)
}

/// A button that opens a menu.
pub(super) fn trigger(label: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, "button", expect)
}

/// A link.
pub(super) fn link(label: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, "link", expect)
}

/// An item of a menu.
pub(super) fn menu_item(label: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, "menuitem", expect)
}

/// A tab.
pub(super) fn tab(label: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, "tab", expect)
}

/// A field or another control with its own role.
pub(super) fn input(label: &'static str, role: &'static str, expect: &'static [ActionResult]) -> Element {
    element(label, role, expect)
}

/// A text field or select: an explorer that fills nothing may skip it, focus it or open its choices.
pub(super) fn field(label: &'static str, role: &'static str) -> Element {
    use ActionResult::{ContentChanged, DropdownOpened, NoResponse, Skipped};
    element(label, role, &[Skipped, NoResponse, ContentChanged, DropdownOpened])
}
