//! How an element is approached: held back, filled, hovered, focused or pressed; and whether silence would be a fault.

use super::choose::Candidate;
use super::gesture::Way;
use super::signature::shared_key;
use super::walk::{Level, Walker};
use crate::browser::{Element, Look};
use crate::maze::{ActionResult, Node};
use crate::replay::{Action, closes, confirms, ends_session};
use crate::trace::{Tool, page_key};

impl Walker<'_> {
    /// What keeps an element from being acted on.
    pub(super) fn held_back(&mut self, level: &Level, candidate: &Candidate) -> Option<Node> {
        let element = &candidate.element;
        if let Some(key) = shared_key(element)
            && level.depth == 0
            && !element.disabled
            && let Some(other) = self.plan.shared.take(&key, self.plan.route.as_str())
        {
            let reason = format!("shared header or navigation, explored on {other}");
            return Some(self.skipped(
                level,
                candidate,
                &reason,
                Some("shared header or navigation, explored on another route"),
            ));
        }
        if candidate.way == Way::Right && !self.plan.stage.settings.context_menus {
            let reason = "opens with the right button, which is not asked for";
            return Some(self.skipped(level, candidate, reason, None));
        }
        let refuse = |walker: &mut Self, why: &str| {
            walker.coverage.refused += 1;
            let mut node = Self::node(level, candidate);
            node.action_result = Some(ActionResult::Refused);
            node.note = Some(why.to_owned());
            Some(node)
        };
        // Nothing is left to explore after it, so not even where data may change.
        if ends_session(element) {
            return refuse(self, "would end the session");
        }
        if self.plan.stage.settings.safe_to_mutate {
            return None;
        }
        if level.opened_by == Some(ActionResult::ConfirmationDialog) && confirms(element) && is_button(element) {
            return refuse(self, "would confirm the question");
        }
        let scheme = element
            .raw_href
            .as_deref()
            .and_then(|href| href.split_once(':'))
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        if scheme.as_deref().is_some_and(|scheme| matches!(scheme, "mailto" | "tel" | "sms" | "intent" | "market")) {
            *self.coverage.skipped.entry("opens another program".to_owned()).or_default() += 1;
            let mut node = Self::node(level, candidate);
            node.action_result = Some(ActionResult::OutOfScope);
            node.note = Some("opens another program".to_owned());
            return Some(node);
        }
        None
    }
}

fn is_button(element: &Element) -> bool {
    !element.is_text_field()
        && element.input.as_deref().is_none_or(|kind| matches!(kind, "submit" | "button" | "image"))
}
/// A plausible text for a field, by its type and name. Used only where changing data is allowed.
fn plausible(element: &Element) -> String {
    let name = element.name.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match element.input.as_deref() {
        Some("email") => "tester@example.com",
        Some("tel") => "+15550100",
        Some("url") => "https://example.com/",
        Some("number") => "7",
        Some("password") => "Test-pass-1",
        _ if element.role == "spinbutton" || says(&["amount", "quantity", "price", "count"]) => "7",
        _ if says(&["mail"]) => "tester@example.com",
        _ if says(&["phone", "mobile"]) => "+15550100",
        _ if says(&["postcode", "zip"]) => "10115",
        _ => "Test entry",
    }
    .to_owned()
}
pub(super) fn action_for(element: &Element, way: &Way, fills: bool) -> (Action, Tool) {
    if let Some(done) = way.action() {
        return done;
    }
    let chooser = element.tag == "select"
        || matches!(element.input.as_deref(), Some("color" | "date" | "time" | "month" | "week" | "datetime-local"));
    if fills && element.is_text_field() && !element.readonly && !chooser {
        (Action::Fill(plausible(element)), Tool::Fill)
    } else if element.why == "hover" {
        (Action::Hover, Tool::Hover)
    } else if chooser {
        (Action::Focus, Tool::Select)
    } else {
        (Action::Click, Tool::Click)
    }
}
/// Whether an element without any effect would be a fault.
pub(super) fn may_be_dead(element: &Element, look: &Look) -> bool {
    let to_itself = element.raw_href.as_deref().is_some_and(|href| {
        href.is_empty()
            || href.starts_with('#')
            || href.to_ascii_lowercase().starts_with("javascript:")
            || element.href.as_deref().is_some_and(|href| page_key(href) == page_key(&look.url))
    });
    let real = matches!(element.why.as_str(), "native" | "role" | "link");
    let button = matches!(element.role.as_str(), "button" | "link" | "tab" | "menuitem" | "switch");
    let exempt = element.selected
        || element.checked
        || element.submits
        || element.download
        || element.field
        || element.input.as_deref().is_some_and(|kind| kind != "button")
        || element.kind.as_deref() == Some("reset")
        || element.tag == "summary"
        || closes(element)
        || matches!(element.name.to_lowercase().trim(), "times" | "close" | "x" | "×");
    real && button && !to_itself && !exempt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: &str, name: &str) -> Element {
        Element { input: Some(kind.into()), role: "textbox".into(), name: name.into(), ..Element::default() }
    }

    #[test]
    fn a_field_is_filled_only_where_changing_data_is_allowed() {
        assert_eq!(action_for(&field("text", "Name"), &Way::Usual, false), (Action::Click, Tool::Click));
        assert_eq!(
            action_for(&field("text", "Name"), &Way::Usual, true),
            (Action::Fill("Test entry".into()), Tool::Fill)
        );
        assert_eq!(
            action_for(&field("email", "Where to"), &Way::Usual, true),
            (Action::Fill("tester@example.com".into()), Tool::Fill)
        );
        assert_eq!(
            action_for(&Element { readonly: true, ..field("text", "Id") }, &Way::Usual, true),
            (Action::Click, Tool::Click)
        );
    }

    #[test]
    fn a_chooser_is_focused_and_never_opened_natively() {
        assert_eq!(action_for(&field("date", "Day"), &Way::Usual, false), (Action::Focus, Tool::Select));
        assert_eq!(action_for(&field("date", "Day"), &Way::Usual, true), (Action::Focus, Tool::Select));
    }

    #[test]
    fn links_to_the_page_itself_and_chosen_tabs_are_never_dead() {
        let look = Look { url: "http://a.b/x".into(), ..Look::default() };
        let link = Element { why: "link".into(), role: "link".into(), overlay: -1, ..Element::default() };
        let to =
            |href: &str, full: &str| Element { raw_href: Some(href.into()), href: Some(full.into()), ..link.clone() };
        assert!(may_be_dead(&to("/y", "http://a.b/y"), &look));
        assert!(!may_be_dead(&to("#", "http://a.b/x#"), &look));
        assert!(!may_be_dead(&to("/x", "http://a.b/x"), &look));
        assert!(!may_be_dead(&Element { selected: true, ..to("/y", "http://a.b/y") }, &look));
        assert!(!may_be_dead(&Element { field: true, ..to("/y", "http://a.b/y") }, &look));
    }
}
