//! How a target is described when it is recorded, and found again: exactly, or not at all. Pure.
//!
//! A live node is projected by the same function as a recorded one, so a node always equals its own recording. What was
//! not recorded is not compared. Nothing here measures likeness: a control that no longer reads as recorded is not found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::browser::SceneNode;

/// Twins are counted up to so many.
const MOST_TWINS: usize = 1000;

/// What a target was when it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Role.
    pub role: String,
    /// Accessible name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Visible text; identity only when neither name nor test id was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Value of a test id attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Placeholder of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// What a field is for (`autocomplete`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_purpose: Option<String>,
    /// First text of the nearest row, list item or named group around it. Never loosened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// CSS paths of the frames around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame: Vec<String>,
    /// Its place among others that read alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// CSS path, for people; nothing is ever found by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// In which state a toggle was; only `--relocate` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
}

/// The state of a toggle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct States {
    /// Checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Pressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<bool>,
}

impl States {
    /// The state of a node; none when it is no toggle.
    #[must_use]
    pub fn of(node: &SceneNode) -> Option<Self> {
        let states = Self { checked: node.checked, pressed: node.pressed };
        (states.checked.is_some() || states.pressed.is_some()).then_some(states)
    }
}

/// A place among twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// 0 = the first.
    pub index: usize,
    /// How many there were.
    pub of: usize,
}

/// How the search for a target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located {
    /// At this index of the nodes.
    Found(usize),
    /// Nothing on the screen reads as recorded.
    Missing,
    /// So many read as recorded, and the recorded place does not settle it.
    Ambiguous(usize),
}

/// What a node reads as: every identity field, without its place.
#[must_use]
pub fn project(node: &SceneNode) -> Descriptor {
    let some = |text: &str| Some(flat(text)).filter(|text| !text.is_empty());
    let of = |text: &Option<String>| text.as_deref().and_then(some);
    Descriptor {
        role: node.role.clone(),
        name: some(&node.name),
        text: some(&node.text),
        test_id: of(&node.test_id),
        placeholder: of(&node.placeholder),
        input_purpose: of(&node.purpose),
        within: of(&node.within),
        frame: node.frame.clone(),
        position: None,
        selector: some(&node.css),
        states: States::of(node),
    }
}

/// White space collapsed, cut at 300 characters.
pub(super) fn flat(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 300 { line } else { line.chars().take(299).chain(['…']).collect() }
}

/// Describes the node at this index so that it can be found again; none when nothing identifies it.
#[must_use]
pub fn describe(nodes: &[SceneNode], at: usize) -> Option<Descriptor> {
    let mut descriptor = project(nodes.get(at)?);
    let twins: Vec<usize> = matches(nodes, &descriptor, false);
    let index = twins.iter().position(|twin| *twin == at)?;
    let of = twins.len();
    if descriptor.is_anonymous() {
        // The only one of its role, or one that a named container holds by its place.
        if descriptor.within.is_none() && of > 1 {
            return None;
        }
        descriptor.position = (descriptor.within.is_some() && of <= MOST_TWINS).then_some(Position { index, of });
        return Some(descriptor);
    }
    if of > MOST_TWINS {
        return None;
    }
    descriptor.position = (of > 1).then_some(Position { index, of });
    Some(descriptor)
}

impl Descriptor {
    /// Whether nothing but its role is known of it.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        [&self.name, &self.text, &self.test_id, &self.placeholder].into_iter().all(Option::is_none)
    }

    /// A short text for people: `button "Apply"`.
    #[must_use]
    pub fn describe(&self) -> String {
        let label = [&self.name, &self.text, &self.placeholder, &self.test_id].into_iter().flatten().next();
        let of =
            label.map_or_else(|| format!("{} without a name", self.role), |label| format!("{} \"{label}\"", self.role));
        match &self.within {
            Some(within) => format!("{of} in \"{within}\""),
            None => of,
        }
    }

    /// Every text in it, for filling and hiding.
    pub(in crate::flow) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.text, &mut self.test_id, &mut self.placeholder, &mut self.within]
            .into_iter()
            .flatten()
    }

    /// The labels in it that a flow may declare.
    pub(in crate::flow) fn labels_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.text, &mut self.within].into_iter().flatten()
    }

    fn fits(&self, live: &Descriptor, without_test_id: bool) -> bool {
        if self.role != live.role || self.frame != live.frame {
            return false;
        }
        // A container that was recorded is never loosened; one that was not may have come.
        if self.within.is_some() && self.within != live.within {
            return false;
        }
        if self.is_anonymous() {
            return live.is_anonymous() && self.input_purpose == live.input_purpose;
        }
        let same = |recorded: &Option<String>, live: &Option<String>| recorded.is_none() || recorded == live;
        let text_counts = self.name.is_none() && self.test_id.is_none();
        same(&self.name, &live.name)
            && (without_test_id || same(&self.test_id, &live.test_id))
            && same(&self.placeholder, &live.placeholder)
            && same(&self.input_purpose, &live.input_purpose)
            && (!text_counts || same(&self.text, &live.text))
    }
}

fn matches(nodes: &[SceneNode], descriptor: &Descriptor, without_test_id: bool) -> Vec<usize> {
    let fits = |node: &SceneNode| node.role == descriptor.role && descriptor.fits(&project(node), without_test_id);
    (0..).zip(nodes).filter(|(_, node)| fits(node)).map(|(at, _)| at).collect()
}

/// Everything on the screen that reads as recorded.
pub(super) fn twins(nodes: &[SceneNode], descriptor: &Descriptor) -> Vec<usize> {
    let mut hits = matches(nodes, descriptor, false);
    // A test id that is minted anew with every build: the rest must still identify it, and nobody else may carry it.
    let rest = descriptor.name.is_some() || descriptor.placeholder.is_some() || descriptor.text.is_some();
    if hits.is_empty() && descriptor.test_id.is_some() && rest {
        let carried = nodes.iter().any(|node| node.test_id == descriptor.test_id);
        if !carried {
            let without = Descriptor { test_id: None, ..descriptor.clone() };
            hits = matches(nodes, &without, true);
        }
    }
    hits
}

/// Finds a recorded target on the screen.
#[must_use]
pub fn locate(nodes: &[SceneNode], descriptor: &Descriptor) -> Located {
    let hits = twins(nodes, descriptor);
    match (hits.as_slice(), descriptor.position) {
        ([], _) => Located::Missing,
        // One survivor of twins may be any of them.
        ([_], Some(position)) if position.of > 1 => Located::Ambiguous(1),
        ([one], _) => Located::Found(*one),
        (many, Some(position)) if position.of == many.len() && position.index < many.len() => {
            Located::Found(many[position.index])
        }
        (many, _) => Located::Ambiguous(many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(role: &str, name: &str) -> SceneNode {
        SceneNode { role: role.into(), name: name.into(), control: true, ..SceneNode::default() }
    }

    fn inside(role: &str, name: &str, within: &str) -> SceneNode {
        SceneNode { within: Some(within.into()), ..node(role, name) }
    }

    fn with_id(name: &str, id: &str) -> SceneNode {
        SceneNode { test_id: Some(id.into()), ..node("button", name) }
    }

    #[test]
    fn every_node_equals_its_own_recording() {
        let nodes = vec![node("button", "A"), node("button", "A"), inside("button", "Like", "Milk"), with_id("B", "b")];
        for at in 0..nodes.len() {
            assert_eq!(locate(&nodes, &describe(&nodes, at).unwrap()), Located::Found(at), "{at}");
        }
    }

    #[test]
    fn a_renamed_control_is_not_found() {
        let recorded = describe(&[node("button", "Apply")], 0).unwrap();
        assert_eq!(locate(&[node("button", "Redeem"), node("link", "Apply")], &recorded), Located::Missing);
    }

    #[test]
    fn two_that_read_alike_are_ambiguous_without_a_recorded_place() {
        let recorded = describe(&[node("button", "Add")], 0).unwrap();
        assert_eq!(locate(&[node("button", "Add"), node("button", "Add")], &recorded), Located::Ambiguous(2));
    }

    #[test]
    fn a_place_among_another_number_of_twins_is_ambiguous() {
        let recorded = describe(&[node("button", "Add"), node("button", "Add"), node("button", "Add")], 1).unwrap();
        assert_eq!(recorded.position, Some(Position { index: 1, of: 3 }));
        assert_eq!(locate(&[node("button", "Add"), node("button", "Add")], &recorded), Located::Ambiguous(2));
        assert_eq!(locate(&[node("button", "Add")], &recorded), Located::Ambiguous(1));
    }

    #[test]
    fn a_test_id_that_was_minted_anew_is_passed_over_and_one_that_moved_is_not() {
        let recorded = describe(&[with_id("Save", "x-1")], 0).unwrap();
        assert_eq!(locate(&[with_id("Save", "x-2")], &recorded), Located::Found(0));
        assert_eq!(locate(&[with_id("Save", "x-2"), with_id("Other", "x-1")], &recorded), Located::Missing);
        assert_eq!(locate(&[with_id("Keep", "x-1")], &recorded), Located::Missing);
    }

    #[test]
    fn the_same_label_in_another_row_is_not_found() {
        let recorded = describe(&[inside("button", "Like", "Milk"), inside("button", "Like", "Bread")], 0).unwrap();
        assert_eq!(recorded.position, None);
        assert_eq!(locate(&[inside("button", "Like", "Bread")], &recorded), Located::Missing);
    }

    #[test]
    fn a_field_without_a_name_never_stands_in_for_one_with_a_name() {
        let recorded = describe(&[node("textbox", "City")], 0).unwrap();
        assert_eq!(locate(&[node("textbox", "")], &recorded), Located::Missing);
        let bare = describe(&[node("textbox", "")], 0).unwrap();
        assert_eq!(locate(&[node("textbox", "City")], &bare), Located::Missing);
        assert_eq!(locate(&[node("textbox", "")], &bare), Located::Found(0));
    }

    #[test]
    fn twins_without_a_name_are_found_by_their_place_in_a_named_group_only() {
        let grouped = [inside("textbox", "", "Size"), inside("textbox", "", "Size")];
        let recorded = describe(&grouped, 1).unwrap();
        assert_eq!(locate(&grouped, &recorded), Located::Found(1));
        assert_eq!(describe(&[node("textbox", ""), node("textbox", "")], 1), None);
    }

    #[test]
    fn a_target_in_a_frame_is_not_found_outside_it() {
        let framed = SceneNode { frame: vec!["#pay".into()], ..node("button", "Pay") };
        let recorded = describe(&[framed.clone(), node("button", "Pay")], 0).unwrap();
        assert_eq!(locate(&[node("button", "Pay")], &recorded), Located::Missing);
        assert_eq!(locate(&[node("button", "Pay"), framed], &recorded), Located::Found(1));
    }

    #[test]
    fn a_count_in_a_label_makes_another_label() {
        let recorded = describe(&[node("button", "Like (0)")], 0).unwrap();
        assert_eq!(locate(&[node("button", "Like (1)")], &recorded), Located::Missing);
    }
}
