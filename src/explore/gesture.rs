//! How an element wants to be used: the event types that are really registered choose. Pure.

use std::borrow::Cow;

use crate::browser::{Chord, Element, HOLD_MS};
use crate::replay::Action;
use crate::trace::Tool;

/// A way to use an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// What its kind asks for: a click, a pointer over it, the focus, a text.
    #[default]
    Usual,
    /// A double click.
    Twice,
    /// A click of the right button.
    Right,
    /// A long press.
    Held,
    /// The focus, and Enter.
    Enter,
    /// An option of a list, by its label.
    Option(String),
}

impl Way {
    /// What is done, and the name of the step; none for the usual way, which the element's kind decides.
    #[must_use]
    pub fn action(&self) -> Option<(Action, Tool)> {
        Some(match self {
            Self::Usual => return None,
            Self::Twice => (Action::DoubleClick, Tool::DoubleClick),
            Self::Right => (Action::SecondaryClick, Tool::RightClick),
            Self::Held => (Action::LongPress(HOLD_MS), Tool::Hold),
            Self::Enter => (Action::Press(Chord::enter()), Tool::Press),
            Self::Option(label) => (Action::Choose(label.clone()), Tool::Select),
        })
    }

    /// The part of an element that is used: of a list, one option.
    #[must_use]
    pub fn part<'a>(&self, element: &'a Element) -> Cow<'a, Element> {
        match self {
            Self::Option(label) => {
                Cow::Owned(Element { tag: "option".to_owned(), name: label.clone(), ..element.clone() })
            }
            _ => Cow::Borrowed(element),
        }
    }

    /// The label of a node for an element that is used in this way.
    #[must_use]
    pub fn label(&self, element: &Element) -> String {
        let name = element.display_name();
        match self {
            Self::Usual => name,
            Self::Twice => format!("{name} (double click)"),
            Self::Right => format!("{name} (right click)"),
            Self::Held => format!("{name} (long press)"),
            Self::Enter => format!("{name} (Enter)"),
            Self::Option(label) => label.clone(),
        }
    }
}

/// The ways in which an element is used, at least one. A part that is a control by nature is used as such; one that only
/// its listeners betray is used as they say.
#[must_use]
pub fn ways(element: &Element) -> Vec<Way> {
    let hears = |types: &[&str]| element.types.iter().any(|known| types.contains(&known.as_str()));
    let mut ways = Vec::new();
    if element.why != "listener" || hears(&["click", "auxclick", "touchstart", "touchend"]) {
        ways.push(Way::Usual);
    } else {
        let pressed = hears(&["mousedown", "pointerdown"]);
        let released = hears(&["mouseup", "pointerup"]);
        match (pressed, released) {
            (true, true) => ways.push(Way::Held),
            (true, false) | (false, true) => ways.push(Way::Usual),
            (false, false) if hears(&["keydown", "keyup"]) => ways.push(Way::Enter),
            (false, false) => {}
        }
    }
    if hears(&["dblclick"]) {
        ways.push(Way::Twice);
    }
    if hears(&["contextmenu"]) {
        ways.push(Way::Right);
    }
    if ways.is_empty() {
        ways.push(Way::Usual);
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(why: &str, types: &[&str]) -> Vec<Way> {
        ways(&Element {
            why: why.into(),
            types: types.iter().map(|kind| (*kind).to_owned()).collect(),
            ..Element::default()
        })
    }

    #[test]
    fn the_registered_event_types_choose_the_gesture() {
        for (types, expected) in [
            (&["click"][..], vec![Way::Usual]),
            (&["dblclick"], vec![Way::Twice]),
            (&["click", "dblclick"], vec![Way::Usual, Way::Twice]),
            (&["contextmenu"], vec![Way::Right]),
            (&["click", "contextmenu"], vec![Way::Usual, Way::Right]),
            (&["mousedown", "mouseup"], vec![Way::Held]),
            (&["pointerdown", "pointerup"], vec![Way::Held]),
            (&["mousedown"], vec![Way::Usual]),
            (&["mousedown", "mouseup", "click"], vec![Way::Usual]),
            (&["keydown"], vec![Way::Enter]),
            (&[], vec![Way::Usual]),
        ] {
            assert_eq!(heard("listener", types), expected, "{types:?}");
        }
    }

    #[test]
    fn a_native_control_is_always_used_as_such() {
        assert_eq!(heard("native", &["mousedown", "mouseup"]), [Way::Usual]);
        assert_eq!(heard("role", &["keydown"]), [Way::Usual]);
        assert_eq!(heard("link", &["contextmenu"]), [Way::Usual, Way::Right]);
    }
}
