//! A recorded locator as Playwright's locators and as a recorder's selectors, the best rung first. Pure.

use super::Refusal;
use super::text::{literal, with_any_number};
use crate::trace::Locator;

/// Longest name that a look keeps whole; what is longer was cut there.
const CUT_NAME: usize = 160;
/// Longest text that a look keeps whole.
const CUT_TEXT: usize = 80;

/// Roles by which Playwright finds what Chromium calls the same.
const ROLES: &[&str] = &[
    "alert",
    "article",
    "button",
    "cell",
    "checkbox",
    "columnheader",
    "combobox",
    "dialog",
    "grid",
    "gridcell",
    "heading",
    "img",
    "link",
    "list",
    "listbox",
    "listitem",
    "menu",
    "menubar",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "progressbar",
    "radio",
    "radiogroup",
    "row",
    "rowheader",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "table",
    "tablist",
    "textbox",
    "tree",
    "treeitem",
];

/// Roles of what speaks or holds other things, which Playwright knows as well.
const MORE_ROLES: &[&str] = &[
    "alertdialog",
    "form",
    "group",
    "log",
    "main",
    "navigation",
    "note",
    "region",
    "rowgroup",
    "separator",
    "status",
    "tabpanel",
    "timer",
    "toolbar",
    "tooltip",
];

/// Whether Playwright finds things by this role.
pub(super) fn is_role(role: &str) -> bool {
    ROLES.contains(&role) || MORE_ROLES.contains(&role)
}

/// Where a target is looked for: an expression of Playwright, and the locators in it, the best first, the path last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    /// `page`, or the frames and shadow hosts that lead to the target.
    pub(super) scope: String,
    /// Expressions in which `$` stands for the scope.
    pub(super) list: Vec<String>,
    /// Whether only its number among equals, or a path without a name, tells it.
    pub(super) unstable: Option<&'static str>,
}

/// The locators of a target.
///
/// # Errors
/// [`Refusal`] when nothing tells which element is meant.
pub(super) fn ways(locator: &Locator, page: &str) -> Result<Ways, Refusal> {
    let role = known_role(locator);
    let whole = |text: &&String, most: usize| !(text.ends_with('…') && text.chars().count() >= most);
    let mut ways = Vec::new();
    if let Some(id) = &locator.test_id {
        ways.push(format!("$.locator(testId({}))", literal(id)));
    }
    if let (Some(role), Some(name)) = (role, locator.name.as_ref().filter(|name| whole(name, CUT_NAME))) {
        ways.push(format!("$.getByRole({}, {{ name: {}, exact: true }})", literal(role), literal(name)));
    }
    if let Some(label) = locator.label.as_ref().filter(|label| whole(label, CUT_NAME)) {
        ways.push(format!("$.getByLabel({}, {{ exact: true }})", literal(label)));
    }
    if let Some(placeholder) = &locator.placeholder {
        ways.push(format!("$.getByPlaceholder({}, {{ exact: true }})", literal(placeholder)));
    }
    // A text alone finds a headline as well as a button: only where the role cannot.
    if let Some(text) = locator.text.as_ref().filter(|text| role.is_none() && whole(text, CUT_TEXT)) {
        ways.push(format!("$.getByText({}, {{ exact: true }})", literal(text)));
    }
    if let Some(css) = &locator.css {
        let path = format!("$.locator({})", literal(css));
        // A path alone may lead to a neighbour: role and name must agree. Counts in a name may change.
        let name = locator.name.as_ref().filter(|name| !name.is_empty() && whole(name, CUT_NAME));
        ways.push(match (role, name) {
            (Some(role), Some(name)) => {
                format!("{path}.and($.getByRole({}, {{ name: /^{}$/ }}))", literal(role), pattern(name))
            }
            (Some(role), None) => format!("{path}.and($.getByRole({}))", literal(role)),
            (None, Some(name)) => format!("{path}.filter({{ hasText: /{}/ }})", pattern(name)),
            (None, None) => path,
        });
    }
    if ways.is_empty() {
        return Err(Refusal::new("a step's target has neither a name nor a path by which it could be found"));
    }
    let only_path = ways.len() == 1 && locator.css.is_some();
    let unstable = match locator.nth {
        Some(_) if locator.name.is_none() => {
            return Err(Refusal::new("a step's target is one of several equal elements without a name"));
        }
        Some(_) => Some("unstable: only its number among equal elements tells it"),
        None if only_path => Some("unstable: only its path in the document tells it"),
        None => None,
    };
    Ok(Ways { scope: scope(locator, page), list: ways, unstable })
}

/// The role, when browsers and libraries agree about it.
pub(super) fn known_role(locator: &Locator) -> Option<&str> {
    // The browser and Playwright disagree about the role of a summary.
    let summary = locator.css.as_deref().is_some_and(|css| css.ends_with("summary"));
    locator.role.as_deref().filter(|role| !summary && ROLES.contains(role))
}

/// A regular expression's source that can stand between slashes in one line.
fn pattern(name: &str) -> String {
    let source = with_any_number(name);
    source
        .chars()
        .flat_map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { vec!['.'] } else { vec![c] })
        .collect()
}

fn scope(locator: &Locator, page: &str) -> String {
    let mut scope = page.to_owned();
    for css in &locator.frame {
        match css.strip_prefix(">>") {
            Some(host) => scope.push_str(&format!(".locator({})", literal(host))),
            None => scope.push_str(&format!(".frameLocator({})", literal(css))),
        }
    }
    for host in &locator.shadow {
        scope.push_str(&format!(".locator({})", literal(host)));
    }
    scope
}

#[cfg(test)]
mod tests {
    use super::*;

    fn button() -> Locator {
        Locator {
            role: Some("button".into()),
            name: Some("Save (3)".into()),
            text: Some("Save (3)".into()),
            css: Some("main > button:nth-of-type(2)".into()),
            ..Locator::default()
        }
    }

    #[test]
    fn the_best_rung_comes_first_and_the_path_must_agree_with_the_name() {
        let found = ways(&Locator { test_id: Some("save".into()), ..button() }, "page").unwrap();
        assert_eq!(
            found.list,
            [
                r#"$.locator(testId("save"))"#,
                r#"$.getByRole("button", { name: "Save (3)", exact: true })"#,
                r#"$.locator("main > button:nth-of-type(2)").and($.getByRole("button", { name: /^Save \([\d.,]+\)$/ }))"#,
            ]
        );
        assert_eq!((found.scope.as_str(), found.unstable), ("page", None));
    }

    #[test]
    fn frames_and_shadow_hosts_are_entered_from_the_outside() {
        let locator = Locator {
            frame: vec![">>x-box".into(), "iframe#one".into()],
            shadow: vec!["sticky-note".into()],
            ..button()
        };
        assert_eq!(
            ways(&locator, "page").unwrap().scope,
            r#"page.locator("x-box").frameLocator("iframe#one").locator("sticky-note")"#
        );
    }

    #[test]
    fn what_is_not_unique_is_flagged_or_refused() {
        assert!(ways(&Locator { nth: Some(2), ..button() }, "page").unwrap().unstable.unwrap().contains("number"));
        let path = Locator { css: Some("body > div".into()), role: Some("generic".into()), ..Locator::default() };
        assert!(ways(&path, "page").unwrap().unstable.unwrap().contains("path"));
        assert!(ways(&Locator { nth: Some(1), ..path }, "page").is_err());
        assert!(ways(&Locator { role: Some("button".into()), ..Locator::default() }, "page").is_err());
    }
}
