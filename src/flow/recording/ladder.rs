//! With `--relocate` only: where a target may be when nothing reads exactly as recorded. Each rung asks for one thing alone,
//! and every two kinds of evidence must agree: likeness is never measured here either. Pure.

use super::descriptor::{Descriptor, States, project};
use crate::browser::SceneNode;

/// By what a target was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Test id and role.
    TestIdAndRole,
    /// Test id alone.
    TestId,
    /// Role and name.
    RoleAndName,
    /// The name, at a role of the same family.
    NameInFamily,
}

/// How the search on the ladder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocated {
    /// At this index of the nodes, by this rung.
    Found(usize, Rung),
    /// No rung gives exactly one.
    Missing,
    /// Test id and name point at different things: so many.
    Conflict(usize),
}

/// Roles that stand in for each other when a name stays.
const FAMILIES: [&[&str]; 4] = [
    &["button", "link", "menuitem", "tab"],
    &["checkbox", "switch", "menuitemcheckbox"],
    &["radio", "menuitemradio"],
    &["textbox", "searchbox", "combobox"],
];

fn are_kin(one: &str, other: &str) -> bool {
    one == other || FAMILIES.iter().any(|family| family.contains(&one) && family.contains(&other))
}

/// Looks for a target that [`super::locate`] found nothing for. Never for one that was ambiguous.
#[must_use]
pub fn relocate(nodes: &[SceneNode], descriptor: &Descriptor) -> Relocated {
    if descriptor.is_anonymous() {
        return Relocated::Missing;
    }
    let here: Vec<(usize, &SceneNode, Descriptor)> = (0..)
        .zip(nodes)
        .map(|(at, node)| (at, node, project(node)))
        .filter(|(_, _, live)| live.frame == descriptor.frame)
        // A container that was recorded holds on every rung.
        .filter(|(_, _, live)| descriptor.within.is_none() || live.within == descriptor.within)
        .collect();
    let all = |fits: &dyn Fn(&Descriptor) -> bool| -> Vec<usize> {
        here.iter().filter(|(_, _, live)| fits(live)).map(|(at, ..)| *at).collect()
    };
    let same_id = |live: &Descriptor| descriptor.test_id.is_some() && live.test_id == descriptor.test_id;
    let same_name = |live: &Descriptor| descriptor.name.is_some() && live.name == descriptor.name;
    let by_id = all(&same_id);
    let by_name = all(&|live| same_name(live) && are_kin(&live.role, &descriptor.role));
    if !by_id.is_empty() && !by_name.is_empty() && !by_id.iter().any(|at| by_name.contains(at)) {
        return Relocated::Conflict(by_id.len() + by_name.len());
    }
    let rungs: [(Rung, Vec<usize>); 4] = [
        (Rung::TestIdAndRole, all(&|live| same_id(live) && live.role == descriptor.role)),
        (Rung::TestId, by_id.clone()),
        (Rung::RoleAndName, all(&|live| same_name(live) && live.role == descriptor.role)),
        (Rung::NameInFamily, by_name),
    ];
    for (rung, hits) in rungs {
        let Some(at) = settled(&hits, descriptor) else { continue };
        // By its name, nobody passes over those that still carry the recorded test id.
        if !by_id.is_empty() && !by_id.contains(&at) {
            return Relocated::Conflict(by_id.len() + 1);
        }
        let is_in_state = States::of(&nodes[at]).is_none_or(|now| descriptor.states == Some(now));
        return if is_in_state { Relocated::Found(at, rung) } else { Relocated::Missing };
    }
    Relocated::Missing
}

/// The only one, or the recorded place among as many as were recorded.
fn settled(hits: &[usize], descriptor: &Descriptor) -> Option<usize> {
    match (hits, descriptor.position) {
        ([one], None) => Some(*one),
        (many, Some(position)) if position.of == many.len() => many.get(position.index).copied(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::descriptor::describe;
    use super::*;

    fn node(role: &str, name: &str, id: Option<&str>) -> SceneNode {
        SceneNode {
            role: role.into(),
            name: name.into(),
            test_id: id.map(str::to_owned),
            control: true,
            ..SceneNode::default()
        }
    }

    fn inside(name: &str, id: Option<&str>, within: &str) -> SceneNode {
        SceneNode { within: Some(within.into()), ..node("button", name, id) }
    }

    fn recorded(nodes: &[SceneNode]) -> Descriptor {
        describe(nodes, 0).unwrap()
    }

    #[test]
    fn l41_a_new_label_with_the_same_test_id_is_found() {
        let apply = recorded(&[node("button", "Apply", Some("go"))]);
        assert_eq!(relocate(&[node("button", "Redeem", Some("go"))], &apply), Relocated::Found(0, Rung::TestIdAndRole));
        assert_eq!(relocate(&[node("link", "Redeem", Some("go"))], &apply), Relocated::Found(0, Rung::TestId));
    }

    #[test]
    fn l42_a_test_id_at_one_and_the_name_at_another_conflict() {
        let apply = recorded(&[node("button", "Apply", Some("go"))]);
        let now = [node("button", "Redeem", Some("go")), node("button", "Apply", None)];
        assert_eq!(relocate(&now, &apply), Relocated::Conflict(2));
    }

    #[test]
    fn l43_several_that_share_the_old_test_id_and_the_name_elsewhere_conflict() {
        let apply = recorded(&[node("button", "Apply", Some("go"))]);
        let now =
            [node("button", "A", Some("go")), node("button", "B", Some("go")), node("link", "Apply", Some("other"))];
        assert_eq!(relocate(&now, &apply), Relocated::Conflict(3));
    }

    #[test]
    fn l44_a_link_may_have_become_a_button_and_never_a_heading() {
        let next = recorded(&[node("link", "Next", None)]);
        assert_eq!(relocate(&[node("button", "Next", None)], &next), Relocated::Found(0, Rung::NameInFamily));
        assert_eq!(relocate(&[node("heading", "Next", None)], &next), Relocated::Missing);
    }

    #[test]
    fn l46_a_rung_that_gives_two_is_passed_over() {
        let apply = recorded(&[node("button", "Apply", Some("go"))]);
        let two = [node("button", "A", Some("go")), node("button", "B", Some("go"))];
        assert_eq!(relocate(&two, &apply), Relocated::Missing);
        let one_of_the_role = [node("button", "A", Some("go")), node("link", "B", Some("go"))];
        assert_eq!(relocate(&one_of_the_role, &apply), Relocated::Found(0, Rung::TestIdAndRole));
    }

    #[test]
    fn l47_container_and_place_hold_on_every_rung() {
        let like = recorded(&[inside("Like", Some("like"), "Milk")]);
        assert_eq!(relocate(&[inside("Love", Some("like"), "Bread")], &like), Relocated::Missing);
        assert_eq!(relocate(&[inside("Love", Some("like"), "Milk")], &like), Relocated::Found(0, Rung::TestIdAndRole));
        let twins = [node("button", "Add", Some("add")), node("button", "Add", Some("add"))];
        let second = describe(&twins, 1).unwrap();
        let renamed = |many: usize| vec![node("button", "Put in", Some("add")); many];
        assert_eq!(relocate(&renamed(2), &second), Relocated::Found(1, Rung::TestIdAndRole));
        assert_eq!(relocate(&renamed(3), &second), Relocated::Missing);
        assert_eq!(relocate(&renamed(1), &second), Relocated::Missing);
    }

    #[test]
    fn l50_a_toggle_is_taken_in_its_recorded_state_only() {
        let toggle = |name: &str, on: bool| SceneNode { pressed: Some(on), ..node("button", name, Some("mute")) };
        let mute = recorded(&[toggle("Mute", false)]);
        assert_eq!(relocate(&[toggle("Silence", false)], &mute), Relocated::Found(0, Rung::TestIdAndRole));
        assert_eq!(relocate(&[toggle("Silence", true)], &mute), Relocated::Missing);
    }

    #[test]
    fn the_shape_of_a_label_is_no_evidence_and_the_anonymous_have_no_ladder() {
        let like = recorded(&[node("button", "Like (0)", None)]);
        assert_eq!(relocate(&[node("button", "Like (1)", None)], &like), Relocated::Missing);
        let bare = recorded(&[node("textbox", "", None)]);
        assert_eq!(relocate(&[node("searchbox", "", None)], &bare), Relocated::Missing);
    }
}
