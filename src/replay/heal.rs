//! A target that is not found may be found anew: somebody proposes another locator, and the guard here judges it.
//!
//! Who proposes is not known here (`verify` asks a model). Whoever it is, and whatever a page has told them: the proposal
//! must lead to exactly one visible, usable control of the same family, that neither destroys nor leaves where the
//! recorded one did not, and a secret is typed only where it clearly belongs.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use url::Url;

use super::play::is_destructive;
use super::reading::{ends_session, reads_destructive};
use crate::browser::{Element, Look, Policy, words};
use crate::trace::{Locator, Tool, TraceStep};

/// A step whose target is not found.
#[derive(Clone, Copy, Debug)]
pub struct Miss<'a> {
    /// The step.
    pub step: &'a TraceStep,
    /// What it was to find.
    pub locator: &'a Locator,
    /// What is on the screen.
    pub look: &'a Look,
}

/// Another locator for a step's target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Healing {
    /// The locator.
    pub locator: Locator,
    /// Why this control, in one line.
    pub reason: String,
}

/// Proposes where a missing target is now.
pub trait Healer: Send + Sync {
    /// A proposal, or why there is none.
    fn heal<'a>(&'a self, miss: Miss<'a>) -> BoxFuture<'a, Result<Healing, String>>;
}

/// Why this element must not take the place of the recorded target.
///
/// # Errors
/// The reason, in words for people.
pub fn guard(step: &TraceStep, old: &Locator, new: &Element, policy: &Policy) -> Result<(), String> {
    let name = new.display_name();
    let role = old.role.as_deref().unwrap_or_default();
    if !same_family(role, &new.role) {
        return Err(format!("{} \"{name}\" is no {role}", new.role));
    }
    if new.disabled {
        return Err(format!("{} \"{name}\" is disabled", new.role));
    }
    if matches!(step.tool, Tool::Fill) && (new.readonly || !new.is_text_field()) {
        return Err(format!("{} \"{name}\" takes no text", new.role));
    }
    let old_says = |test: fn(&str) -> bool| [&old.name, &old.text].into_iter().flatten().any(|text| test(text));
    if ends_session(new) && !old_says(words::ends_session) {
        return Err(format!("{} \"{name}\" ends the session, and {} did not", new.role, old.describe()));
    }
    let address = new.href.as_deref().or(new.form_action.as_deref()).and_then(|address| Url::parse(address).ok());
    let destroys = reads_destructive(new) || address.as_ref().is_some_and(words::address_is_destructive);
    if destroys && !is_destructive(old) {
        return Err(format!("{} \"{name}\" reads destructive, and {} did not", new.role, old.describe()));
    }
    if address.as_ref().is_some_and(|address| !policy.is_own(address)) {
        return Err(format!("{} \"{name}\" leaves the application", new.role));
    }
    let secret = step.value.as_deref().is_some_and(|value| value.starts_with("env:"));
    if secret && new.input.as_deref() != Some("password") && !shares_a_word(old, new) {
        return Err(format!(
            "a secret is not typed into {} \"{name}\", which shares no word with the recorded field",
            new.role
        ));
    }
    Ok(())
}

/// Roles that a redesign turns into one another. A recording without a role fits all.
fn same_family(old: &str, new: &str) -> bool {
    const FAMILIES: &[&[&str]] = &[
        &["button", "link", "menuitem", "tab", "generic"],
        &["textbox", "searchbox", "combobox", "spinbutton"],
        &["combobox", "listbox"],
        &["checkbox", "switch", "menuitemcheckbox"],
        &["radio", "menuitemradio"],
        &["option", "menuitem", "treeitem"],
    ];
    old.is_empty() || old == new || FAMILIES.iter().any(|family| family.contains(&old) && family.contains(&new))
}

/// Whether the recorded target and this element have a word in common in what they are called.
#[must_use]
pub fn shares_a_word(old: &Locator, new: &Element) -> bool {
    let of = |texts: &[Option<&String>]| -> BTreeSet<String> {
        texts
            .iter()
            .flatten()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
            .map(str::to_lowercase)
            .filter(|word| word.chars().count() > 1)
            .collect()
    };
    let old =
        of(&[old.name.as_ref(), old.label.as_ref(), old.test_id.as_ref(), old.text.as_ref(), old.placeholder.as_ref()]);
    let new =
        of(&[Some(&new.name), new.label.as_ref(), new.test_id.as_ref(), new.text.as_ref(), new.placeholder.as_ref()]);
    !old.is_disjoint(&new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(tool: &str, value: Option<&str>) -> TraceStep {
        serde_json::from_value(serde_json::json!({
            "index": 1, "tool": tool, "value": value, "startedAt": "2026-05-02T10:15:00Z", "status": "passed"
        }))
        .unwrap()
    }

    fn old(role: &str, name: &str) -> Locator {
        Locator { role: Some(role.into()), name: Some(name.into()), ..Locator::default() }
    }

    fn new(role: &str, name: &str) -> Element {
        let input = (role == "textbox").then(|| "text".to_owned());
        Element { role: role.into(), name: name.into(), input, ..Element::default() }
    }

    fn judged(old: &Locator, new: &Element) -> Result<(), String> {
        let base = Url::parse("http://a.b/").unwrap();
        guard(&step("click", None), old, new, &Policy { base: Some(base), ..Policy::default() })
    }

    #[test]
    fn a_renamed_control_of_the_same_family_is_taken() {
        assert_eq!(judged(&old("button", "Save"), &new("button", "Keep")), Ok(()));
        assert_eq!(judged(&old("button", "Save"), &new("link", "Store")), Ok(()));
        assert_eq!(judged(&old("textbox", "Name"), &new("combobox", "Full name")), Ok(()));
    }

    #[test]
    fn another_role_a_disabled_one_and_another_site_are_refused() {
        assert!(judged(&old("button", "Save"), &new("textbox", "Save")).unwrap_err().contains("no button"));
        let disabled = Element { disabled: true, ..new("button", "Keep") };
        assert!(judged(&old("button", "Save"), &disabled).unwrap_err().contains("disabled"));
        let away = Element { href: Some("http://elsewhere.c/".into()), ..new("link", "Help") };
        assert!(judged(&old("link", "Support"), &away).unwrap_err().contains("leaves"));
    }

    #[test]
    fn what_destroys_takes_the_place_only_of_what_destroyed() {
        assert!(judged(&old("button", "Save"), &new("button", "Delete all")).unwrap_err().contains("destructive"));
        assert_eq!(judged(&old("button", "Delete"), &new("button", "Remove")), Ok(()));
        assert!(judged(&old("button", "Delete"), &new("button", "Log out")).unwrap_err().contains("session"));
        let address = Element { href: Some("http://a.b/items/7/delete".into()), ..new("link", "Item") };
        assert!(judged(&old("link", "Thing"), &address).is_err());
    }

    #[test]
    fn a_secret_goes_into_a_password_field_or_one_of_the_same_name() {
        let typed = |new: &Element| {
            let step = step("fill", Some("env:AGENT_TEST_PASSWORD"));
            guard(&step, &old("textbox", "Password"), new, &Policy::default())
        };
        assert!(typed(&new("textbox", "Comment")).unwrap_err().contains("secret"));
        assert_eq!(typed(&new("textbox", "Password again")), Ok(()));
        assert_eq!(typed(&Element { input: Some("password".into()), ..new("textbox", "Kennwort") }), Ok(()));
    }
}
