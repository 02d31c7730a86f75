//! The end check: did the replay produce what was recorded? Pure.

use super::anchor::Anchor;
use super::entry::Entry;
use crate::browser::SceneNode;

/// A screen with its route.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Its route; see [`super::place`].
    pub route: &'a str,
    /// What is on it.
    pub nodes: &'a [SceneNode],
}

/// What a replay knows before its last action: the first screen that it saw in its last stretch on the end route. None when
/// the last action itself moved there.
pub type Baseline<'a> = Option<&'a [SceneNode]>;

/// Whether at least one recorded change can still happen in this replay. What stood there before it acted proves nothing.
#[must_use]
pub fn has_cause(entry: &Entry, baseline: Baseline<'_>, moved: bool) -> bool {
    let Some(baseline) = baseline else { return moved };
    let anchors = || {
        entry
            .end_anchors
            .iter()
            .map(|anchor| (anchor, true))
            .chain(entry.gone_anchors.iter().map(|anchor| (anchor, false)))
    };
    let only_echoes = anchors().all(|(anchor, _)| anchor.echo);
    anchors().any(|(anchor, appeared)| (only_echoes || !anchor.echo) && anchor.is_on(baseline) != appeared)
}

/// Whether the end is as recorded.
///
/// # Errors
/// What is not, for people.
pub fn holds(entry: &Entry, now: Sight<'_>, baseline: Baseline<'_>, start: &[SceneNode]) -> Result<(), String> {
    if let Some(route) = &entry.end_path
        && route != now.route
    {
        return Err(format!("the recorded end is on {route}, and the screen is {}", now.route));
    }
    if let Some(anchor) = entry.end_anchors.iter().find(|anchor| !anchor.is_on(now.nodes)) {
        return Err(format!("{} did not come", anchor.describe()));
    }
    if let Some(anchor) = entry.gone_anchors.iter().find(|anchor| anchor.is_on(now.nodes)) {
        return Err(format!("{} did not go", anchor.describe()));
    }
    match new_alert(entry, now.nodes, baseline.unwrap_or(start)) {
        Some(alert) => Err(format!("{} is new and was not recorded", alert.describe())),
        None => Ok(()),
    }
}

/// An alert that was neither there before nor recorded.
fn new_alert(entry: &Entry, nodes: &[SceneNode], before: &[SceneNode]) -> Option<Anchor> {
    let alerts = nodes.iter().filter(|node| matches!(node.role.as_str(), "alert" | "alertdialog" | "dialog"));
    alerts.map(Anchor::of).find(|alert| {
        let recorded = entry.end_anchors.iter().any(|anchor| anchor.role == alert.role && anchor.is_on(nodes));
        !(recorded || alert.is_on(before))
    })
}

/// What the recorded end is, for a message: its route and its first two anchors.
#[must_use]
pub fn expected(entry: &Entry) -> String {
    let anchors: Vec<String> = entry.end_anchors.iter().take(2).map(Anchor::describe).collect();
    let gone: Vec<String> = entry
        .gone_anchors
        .iter()
        .take(2 - anchors.len().min(2))
        .map(|anchor| format!("{} gone", anchor.describe()))
        .collect();
    let all = [anchors, gone].concat().join(", ");
    format!(
        "expected {}{}",
        entry.end_path.as_deref().unwrap_or("the recorded screen"),
        if all.is_empty() { String::new() } else { format!(" with {all}") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::recording::fixture::entry;

    fn text(role: &str, text: &str) -> SceneNode {
        SceneNode { role: role.into(), text: text.into(), ..SceneNode::default() }
    }

    fn recorded() -> Entry {
        let off = Anchor::of(&text("status", "10% off"));
        Entry { end_path: Some("/checkout".into()), end_anchors: vec![off], ..entry() }
    }

    fn at<'a>(route: &'a str, nodes: &'a [SceneNode]) -> Sight<'a> {
        Sight { route, nodes }
    }

    #[test]
    fn what_stood_there_before_the_replay_acted_is_no_evidence() {
        let done = [text("status", "10% off")];
        assert!(!has_cause(&recorded(), Some(&done), false));
        assert!(has_cause(&recorded(), Some(&[]), false));
        assert!(has_cause(&recorded(), None, true));
        assert!(!has_cause(&Entry { end_anchors: vec![], ..recorded() }, Some(&[]), false));
    }

    #[test]
    fn a_typed_value_is_evidence_only_when_nothing_else_changed() {
        let field = |value: &str| SceneNode {
            value: Some(value.into()),
            name: "Code".into(),
            role: "textbox".into(),
            ..SceneNode::default()
        };
        let echo = Anchor { echo: true, ..Anchor::of(&field("X")) };
        let alone = Entry { end_anchors: vec![echo.clone()], ..entry() };
        assert!(has_cause(&alone, Some(&[field("")]), false));
        let beside = Entry { end_anchors: vec![recorded().end_anchors[0].clone(), echo], ..entry() };
        assert!(!has_cause(&beside, Some(&[field(""), text("status", "10% off")]), false));
    }

    #[test]
    fn all_of_it_must_hold_on_the_recorded_route() {
        let done = [text("status", "10% off")];
        assert_eq!(holds(&recorded(), at("/checkout", &done), Some(&[]), &[]), Ok(()));
        assert!(holds(&recorded(), at("/elsewhere", &done), Some(&[]), &[]).unwrap_err().contains("/elsewhere"));
        assert!(holds(&recorded(), at("/checkout", &[]), Some(&[]), &[]).unwrap_err().contains("10% off"));
        let left = Entry { gone_anchors: vec![Anchor::of(&text("text", "Item"))], ..recorded() };
        let both = [text("status", "10% off"), text("text", "Item")];
        assert!(holds(&left, at("/checkout", &both), Some(&[]), &[]).unwrap_err().contains("did not go"));
    }

    #[test]
    fn a_new_alert_fails_it_and_one_that_was_there_or_is_recorded_does_not() {
        let declined = [text("status", "10% off"), text("alert", "Card declined")];
        assert!(holds(&recorded(), at("/checkout", &declined), Some(&[]), &[]).unwrap_err().contains("Card declined"));
        assert_eq!(holds(&recorded(), at("/checkout", &declined), Some(&declined[1..]), &[]), Ok(()));
        let mut known = recorded();
        known.end_anchors.push(Anchor::of(&declined[1]));
        assert_eq!(holds(&known, at("/checkout", &declined), Some(&[]), &[]), Ok(()));
    }

    #[test]
    fn e54_what_is_told_of_a_mismatch_names_the_route_and_what_was_to_come() {
        assert_eq!(expected(&recorded()), "expected /checkout with status \"10% off\"");
    }

    #[test]
    fn e55_e56_an_id_of_its_own_is_the_same_end_and_any_other_word_is_another_one() {
        let base = url::Url::parse("http://a.b/").unwrap();
        let route = |path: &str| super::super::place(&format!("http://a.b{path}"), &base);
        let order = Entry { end_path: Some(route("/orders/17?view=safe")), ..recorded() };
        let done = [text("status", "10% off")];
        let now = |path: &str| holds(&order, at(&route(path), &done), Some(&[]), &[]);
        assert_eq!(now("/orders/18?view=safe"), Ok(()));
        for other in ["/orders/new?view=safe", "/invoices/17?view=safe", "/orders/17?view=unsafe", "/orders/17"] {
            assert!(now(other).is_err(), "{other}");
        }
    }

    #[test]
    fn twice_is_there_too() {
        let twice = [text("status", "10% off"), text("status", "10% off")];
        assert_eq!(holds(&recorded(), at("/checkout", &twice), Some(&[]), &[]), Ok(()));
    }
}
