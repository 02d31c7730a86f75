//! What a flow looks for, as expressions of Playwright. Pure.

use super::place::{is_role, ways};
use super::text::literal;
use crate::flow::recording::Descriptor;
use crate::trace::Locator;

/// Something on the screen; all that is given must hold of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) role: Option<String>,
    pub(super) name: Option<String>,
    pub(super) text: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) test_id: Option<String>,
    pub(super) placeholder: Option<String>,
    pub(super) within: Option<String>,
    /// States, each as a selector.
    pub(super) states: Vec<String>,
}

impl Wanted {
    /// A state as a selector.
    pub(super) fn checked(checked: bool) -> String {
        if checked {
            ":checked, [aria-checked=true]".to_owned()
        } else {
            "input:not(:checked):not([aria-checked=true]), [aria-checked=false]".to_owned()
        }
    }

    /// What finds it, all of it that is visible.
    ///
    /// # Errors
    /// Why nothing does, for people.
    pub(super) fn found(&self) -> Result<String, String> {
        let scope = scope("page", self.within.as_deref());
        // Plain text has no role of its own.
        let role = self.role.as_deref().filter(|role| *role != "text");
        if let Some(role) = role.filter(|role| !is_role(role)) {
            return Err(format!("browsers know no role `{role}`"));
        }
        let mut all = Vec::new();
        match (role, &self.name) {
            // A dialog is called by its headline here.
            (Some(role @ ("dialog" | "alertdialog")), Some(name)) => all.push(format!(
                "roles({scope}, {0}).filter({{ hasText: part({1}) }}).or({scope}.getByRole({0}, {{ name: {1}, exact: true }}))",
                literal(role),
                literal(name)
            )),
            (Some(role), Some(name)) => {
                all.push(format!("{scope}.getByRole({}, {{ name: {}, exact: true }})", literal(role), literal(name)));
            }
            (None, Some(name)) => all.push(format!("saying({scope}, {})", literal(name))),
            (Some(_) | None, None) => {}
        }
        match (role, &self.text) {
            (Some(role), Some(text)) => all.push(format!("says({scope}, {}, {})", literal(role), literal(text))),
            (None, Some(text)) => all.push(format!("saying({scope}, {})", literal(text))),
            (Some(role), None) if self.name.is_none() => all.push(format!("roles({scope}, {})", literal(role))),
            (_, None) => {}
        }
        if let Some(id) = &self.test_id {
            all.push(format!("{scope}.locator(testId({}))", literal(id)));
        }
        if let Some(placeholder) = &self.placeholder {
            all.push(format!("{scope}.getByPlaceholder({}, {{ exact: true }})", literal(placeholder)));
        }
        if let Some(text) = self.contains.as_ref().filter(|_| all.is_empty()) {
            all.push(format!("{scope}.getByText(part({}))", literal(text)));
        }
        if all.is_empty() && !self.states.is_empty() {
            all.push(format!("{scope}.locator('*')"));
        }
        let mut all = all.into_iter();
        let mut found = all.next().ok_or("nothing tells what is meant")?;
        for more in all {
            found.push_str(&format!(".and({more})"));
        }
        if let Some(text) = self.contains.as_ref().filter(|_| !found.contains(".getByText(part(")) {
            found.push_str(&format!(".filter({{ hasText: part({}) }})", literal(text)));
        }
        for state in &self.states {
            found.push_str(&format!(".and({scope}.locator({}))", literal(state)));
        }
        Ok(format!("{found}.filter({{ visible: true }})"))
    }
}

fn scope(page: &str, within: Option<&str>) -> String {
    within.map_or_else(|| page.to_owned(), |within| format!("place({page}, {})", literal(within)))
}

/// What finds the target of a recorded action: everything that was recorded of it must hold, and exactly one must fit.
///
/// # Errors
/// Why nothing does, for people.
pub(super) fn target(recorded: &Descriptor) -> Result<String, String> {
    let locator = Locator {
        role: Some(recorded.role.clone()),
        name: recorded.name.clone(),
        test_id: recorded.test_id.clone(),
        placeholder: recorded.placeholder.clone(),
        frame: recorded.frame.clone(),
        ..Locator::default()
    };
    let found = match (&recorded.name, &recorded.test_id, &recorded.text) {
        // A text is its identity only where nothing better was recorded.
        (None, None, Some(text)) if recorded.frame.is_empty() => Wanted {
            role: Some(recorded.role.clone()),
            text: Some(text.clone()),
            placeholder: recorded.placeholder.clone(),
            within: recorded.within.clone(),
            ..Wanted::default()
        }
        .found()?,
        _ => {
            let ways = ways(&locator, "page").map_err(|refusal| refusal.to_string())?;
            let scope = scope(&ways.scope, recorded.within.as_deref());
            let all: Vec<String> = ways
                .list
                .iter()
                .map(|way| way.strip_prefix('$').map_or_else(|| way.clone(), |rest| format!("{scope}{rest}")))
                .collect();
            let (first, more) = all.split_first().ok_or("nothing tells what is meant")?;
            let more: Vec<String> = more.iter().map(|way| format!(".and({way})")).collect();
            format!("{first}{}.filter({{ visible: true }})", more.concat())
        }
    };
    Ok(match recorded.position {
        Some(position) => format!("(await among({found}, {}, {}))", position.index, position.of),
        None => found,
    })
}
