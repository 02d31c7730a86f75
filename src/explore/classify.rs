//! Classifies what came of an action, from two looks and the evidence between them. Pure.

use super::signature::appeared;
use crate::browser::{Element, Look, Note, Overlay};
use crate::maze::{ActionResult, NodeType};
use crate::replay::Effect;
use crate::trace::page_key;

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The word.
    pub result: ActionResult,
    /// What a reader should know besides.
    pub note: Option<String>,
}

fn outcome(result: ActionResult, note: impl Into<String>) -> Outcome {
    let note = note.into();
    Outcome { result, note: (!note.is_empty()).then_some(note) }
}

/// Classifies. `in_menu` says that the element stands in a menu that an action before had opened.
#[must_use]
pub fn classify(element: &Element, before: &Look, effect: &Effect, in_menu: bool) -> Outcome {
    if let Some(message) = &effect.hung {
        return outcome(ActionResult::Error, format!("the page hangs ({message})"));
    }
    let after = &effect.look;
    let since = &effect.since;
    for note in &since.notes {
        match note {
            Note::Dialog { kind, text, accepted } => {
                let answer = if *accepted { "accepted" } else { "cancelled" };
                let text = format!("{kind}: \"{text}\" ({answer})");
                return match kind.as_str() {
                    "alert" => outcome(ActionResult::DialogOpened, text),
                    "beforeunload" => continue,
                    _ => outcome(ActionResult::ConfirmationDialog, text),
                };
            }
            Note::Download { name } => return outcome(ActionResult::DownloadStarted, format!("\"{name}\", stopped")),
            Note::FileChooser => return outcome(ActionResult::FileChooser, ""),
            _ => {}
        }
    }
    if let Some(request) = since.requests.iter().find(|request| request.out_of_scope) {
        return outcome(ActionResult::OutOfScope, format!("leads to {}", request.url));
    }
    let refused: Vec<String> = since
        .refused()
        .map(|request| format!("{} {} ({})", request.method, request.url, request.refused.unwrap_or_default()))
        .collect();
    if !refused.is_empty() {
        return outcome(ActionResult::Refused, format!("stopped before it left: {}", refused.join(", ")));
    }
    if let Some(Note::Window { url, .. }) = since.notes.iter().find(|note| matches!(note, Note::Window { .. })) {
        return outcome(ActionResult::NewWindow, url.clone());
    }
    let moved = page_key(&before.url) != page_key(&after.url);
    if before.doc != after.doc || moved {
        return outcome(ActionResult::PageNavigated, "");
    }
    if effect.since.notes.iter().any(|note| matches!(note, Note::Crashed)) {
        return outcome(ActionResult::Error, "the page crashed");
    }
    let old: Vec<u64> = before.overlays.iter().map(|overlay| overlay.uid).collect();
    let opened: Vec<&Overlay> = after.overlays.iter().filter(|overlay| !old.contains(&overlay.uid)).collect();
    if let Some(dialog) = opened.iter().find(|overlay| overlay.is_dialog()) {
        let name = if dialog.name.is_empty() { String::new() } else { format!("\"{}\"", dialog.name) };
        let at =
            after.overlays.iter().position(|overlay| overlay.uid == dialog.uid).and_then(|at| i64::try_from(at).ok());
        let has_next = after.elements.iter().any(|element| Some(element.overlay) == at && leads_on(element));
        return if (dialog.wizard || has_next) && dialog.buttons > 1 {
            outcome(ActionResult::WizardOpened, name)
        } else if dialog.question && dialog.fields == 0 {
            outcome(ActionResult::ConfirmationDialog, name)
        } else {
            outcome(ActionResult::DialogOpened, name)
        };
    }
    if effect.after.recent.iter().any(|name| name == "print") && effect.after.effects > effect.before.effects {
        return outcome(ActionResult::DialogOpened, "the print dialog was asked for");
    }
    let menu = if in_menu { ActionResult::SubmenuOpened } else { ActionResult::DropdownOpened };
    if !opened.is_empty() {
        return outcome(menu, "");
    }
    let new = appeared(before, after);
    if let Some(result) = by_layer(before, after, &new) {
        return outcome(if result == ActionResult::DropdownOpened { menu } else { result }, "");
    }
    let now = after.elements.iter().find(|candidate| candidate.uid == element.uid);
    let expands = |element: &Element| element.expanded.as_deref() == Some("true");
    let flipped = now.is_some_and(|now| expands(now) && !expands(element));
    if flipped && (element.haspopup.is_some() || in_menu) && !new.is_empty() {
        return outcome(menu, "");
    }
    if let Some(toast) = after.toasts.iter().find(|toast| !before.toasts.iter().any(|old| old.text == toast.text)) {
        return outcome(ActionResult::ToastNotification, format!("\"{}\"", toast.text));
    }
    if element.tag == "select" {
        return outcome(ActionResult::DropdownOpened, "a native list of choices");
    }
    if effect.before.changes != effect.after.changes || !new.is_empty() {
        return outcome(ActionResult::ContentChanged, "");
    }
    let recent = effect.after.recent.join(", ");
    if effect.before.effects != effect.after.effects {
        return outcome(ActionResult::ContentChanged, format!("effect outside the page: {recent}"));
    }
    if effect.before.scrolled != effect.after.scrolled {
        return outcome(ActionResult::ContentChanged, "scrolled the page");
    }
    if now.is_some_and(|now| now.checked != element.checked || now.selected != element.selected) {
        return outcome(ActionResult::ContentChanged, "");
    }
    if (element.is_text_field() || element.input.is_some())
        && (after.focus == element.uid || effect.after.focused > effect.before.focused)
    {
        return outcome(ActionResult::ContentChanged, "took the focus; forms are not filled in");
    }
    if !since.requests.is_empty() {
        return outcome(ActionResult::NoResponse, "sent a request, changed nothing on the screen");
    }
    outcome(ActionResult::NoResponse, "")
}

/// New controls that all stand in one layer that was not there before: a dropdown, or a dialog when it is large and fixed.
fn by_layer(before: &Look, after: &Look, new: &[usize]) -> Option<ActionResult> {
    let first = after.elements.get(*new.first()?)?.layer.as_ref()?;
    let known = before.elements.iter().filter_map(|element| element.layer.as_ref()).any(|layer| layer.uid == first.uid);
    let all = new
        .iter()
        .all(|index| after.elements.get(*index).and_then(|e| e.layer.as_ref()).is_some_and(|l| l.uid == first.uid));
    if known || !all {
        return None;
    }
    Some(if first.fixed && first.share > 0.2 { ActionResult::DialogOpened } else { ActionResult::DropdownOpened })
}

/// Whether a control leads to the next step.
#[must_use]
pub fn leads_on(element: &Element) -> bool {
    let name = element.name.to_lowercase();
    let first = name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default();
    matches!(
        first,
        "next"
            | "continue"
            | "weiter"
            | "suivant"
            | "siguiente"
            | "próximo"
            | "avanti"
            | "volgende"
            | "dalej"
            | "далее"
            | "次へ"
            | "下一步"
            | "다음"
    ) && !element.disabled
        && element.role != "link"
}

/// What kind of control an element is. `opened_by` is the result of the action that made it appear.
#[must_use]
pub fn node_type(element: &Element, opened_by: Option<&ActionResult>) -> NodeType {
    let in_menu = matches!(opened_by, Some(ActionResult::DropdownOpened | ActionResult::SubmenuOpened));
    let name = element.name.to_lowercase();
    let pops = element.haspopup.as_deref().is_some_and(|value| value != "false" && value != "dialog");
    if in_menu && !element.is_text_field() {
        return if pops {
            NodeType::SubmenuTrigger
        } else if opened_by == Some(&ActionResult::SubmenuOpened) {
            NodeType::MenuItem
        } else {
            NodeType::DropdownItem
        };
    }
    match element.role.as_str() {
        "tab" => return NodeType::Tab,
        "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio" => return NodeType::Toggle,
        "row" => return NodeType::Row,
        "menuitem" => return if pops { NodeType::SubmenuTrigger } else { NodeType::MenuItem },
        "searchbox" => return NodeType::Filter,
        _ => {}
    }
    if element.tag == "tr" {
        return NodeType::Row;
    }
    if element.is_text_field()
        || matches!(element.role.as_str(), "combobox" | "slider" | "listbox")
        || element.tag == "select"
    {
        let narrows = ["filter", "search", "suche", "sort by", "status:"].iter().any(|word| name.contains(word));
        return if narrows { NodeType::Filter } else { NodeType::Input };
    }
    if opened_by == Some(&ActionResult::WizardOpened) && leads_on(element) {
        return NodeType::WizardStep;
    }
    if pops {
        return NodeType::DropdownTrigger;
    }
    match element.role.as_str() {
        "link" => NodeType::Link,
        "button" => NodeType::Button,
        _ if element.clicks => NodeType::Button,
        _ => NodeType::Unclassified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::{Layer, Request, Since, Still, Tally, Toast};

    fn look(elements: Vec<Element>) -> Look {
        Look { doc: "d".into(), url: "http://a.b/x".into(), elements, ..Look::default() }
    }

    fn button(uid: u64) -> Element {
        Element { uid, role: "button".into(), name: format!("B{uid}"), overlay: -1, ..Element::default() }
    }

    fn effect(after: Look) -> Effect {
        Effect { since: Since::default(), still: Still { still: true, ..Still::default() }, ..Effect::of_look(after) }
    }

    fn result(before: &Look, effect: &Effect) -> ActionResult {
        classify(&button(1), before, effect, false).result
    }

    #[test]
    fn nothing_is_no_response() {
        let before = look(vec![button(1)]);
        assert_eq!(result(&before, &effect(before.clone())), ActionResult::NoResponse);
    }

    #[test]
    fn another_document_or_address_is_a_navigation_and_an_anchor_is_not() {
        let before = look(vec![button(1)]);
        let loaded = Look { doc: "e".into(), ..before.clone() };
        assert_eq!(result(&before, &effect(loaded)), ActionResult::PageNavigated);
        let pushed = Look { url: "http://a.b/y".into(), ..before.clone() };
        assert_eq!(result(&before, &effect(pushed)), ActionResult::PageNavigated);
        let anchor = Look { url: "http://a.b/x#part".into(), ..before.clone() };
        assert_ne!(result(&before, &effect(anchor)), ActionResult::PageNavigated);
    }

    #[test]
    fn dialogs_are_told_apart() {
        let before = look(vec![button(1)]);
        let with = |overlay: Overlay| effect(Look { overlays: vec![overlay], ..before.clone() });
        let dialog = Overlay { uid: 9, kind: "dialog".into(), fields: 2, buttons: 2, ..Overlay::default() };
        assert_eq!(result(&before, &with(dialog.clone())), ActionResult::DialogOpened);
        let question = Overlay { question: true, fields: 0, ..dialog.clone() };
        assert_eq!(result(&before, &with(question)), ActionResult::ConfirmationDialog);
        let wizard = Overlay { wizard: true, ..dialog.clone() };
        assert_eq!(result(&before, &with(wizard)), ActionResult::WizardOpened);
        let step = Element { name: "Next".into(), overlay: 0, ..button(3) };
        let with_next =
            effect(Look { overlays: vec![dialog.clone()], elements: vec![button(1), step], ..before.clone() });
        assert_eq!(result(&before, &with_next), ActionResult::WizardOpened);
        let menu = Overlay { kind: "menu".into(), ..dialog };
        assert_eq!(result(&before, &with(menu.clone())), ActionResult::DropdownOpened);
        assert_eq!(classify(&button(1), &before, &with(menu), true).result, ActionResult::SubmenuOpened);
    }

    #[test]
    fn a_dialog_that_was_open_before_is_not_opened_by_the_action() {
        let open = Overlay { uid: 9, kind: "dialog".into(), ..Overlay::default() };
        let before = Look { overlays: vec![open], ..look(vec![button(1)]) };
        assert_eq!(result(&before, &effect(before.clone())), ActionResult::NoResponse);
    }

    #[test]
    fn new_controls_in_a_new_layer_are_a_dropdown_and_in_the_page_a_change() {
        let before = look(vec![button(1)]);
        let layered = Element { layer: Some(Layer { uid: 50, share: 0.05, fixed: false }), ..button(2) };
        assert_eq!(result(&before, &effect(look(vec![button(1), layered]))), ActionResult::DropdownOpened);
        assert_eq!(result(&before, &effect(look(vec![button(1), button(2)]))), ActionResult::ContentChanged);
    }

    #[test]
    fn a_new_message_is_a_toast_and_an_old_one_is_not() {
        let before = look(vec![button(1)]);
        let toast = Toast { text: "Saved".into(), ..Toast::default() };
        let after = Look { toasts: vec![toast], ..before.clone() };
        assert_eq!(result(&before, &effect(after.clone())), ActionResult::ToastNotification);
        assert_eq!(result(&after, &effect(after.clone())), ActionResult::NoResponse);
    }

    #[test]
    fn a_javascript_question_is_a_confirmation_and_an_alert_a_dialog() {
        let before = look(vec![button(1)]);
        for (kind, word) in [
            ("confirm", ActionResult::ConfirmationDialog),
            ("prompt", ActionResult::ConfirmationDialog),
            ("alert", ActionResult::DialogOpened),
        ] {
            let mut effect = effect(before.clone());
            effect.since.notes.push(Note::Dialog { kind: kind.into(), text: "?".into(), accepted: false });
            assert_eq!(result(&before, &effect), word, "{kind}");
        }
    }

    #[test]
    fn a_stopped_request_is_refused_and_a_stopped_beacon_is_not() {
        let before = look(vec![button(1)]);
        let mut stopped = effect(before.clone());
        stopped.since.requests.push(Request::stopped("XHR"));
        assert_eq!(result(&before, &stopped), ActionResult::Refused);
        let mut beacon = effect(before.clone());
        beacon.since.requests.push(Request::stopped("Ping"));
        assert_eq!(result(&before, &beacon), ActionResult::NoResponse);
    }

    #[test]
    fn a_change_without_a_new_control_is_a_change() {
        let before = look(vec![button(1)]);
        let mut changed = effect(before.clone());
        changed.after = Tally { changes: 3, ..Tally::default() };
        assert_eq!(result(&before, &changed), ActionResult::ContentChanged);
    }

    #[test]
    fn types_follow_role_and_place() {
        let element = |role: &str, tag: &str| Element { role: role.into(), tag: tag.into(), ..Element::default() };
        assert_eq!(node_type(&element("tab", "button"), None), NodeType::Tab);
        assert_eq!(node_type(&element("checkbox", "input"), None), NodeType::Toggle);
        assert_eq!(node_type(&element("link", "a"), None), NodeType::Link);
        assert_eq!(
            node_type(&element("button", "button"), Some(&ActionResult::DropdownOpened)),
            NodeType::DropdownItem
        );
        let search = Element { name: "Search".into(), ..element("textbox", "input") };
        assert_eq!(node_type(&search, None), NodeType::Filter);
        let opener = Element { haspopup: Some("true".into()), ..element("button", "button") };
        assert_eq!(node_type(&opener, None), NodeType::DropdownTrigger);
        assert_eq!(node_type(&opener, Some(&ActionResult::DropdownOpened)), NodeType::SubmenuTrigger);
    }
}
