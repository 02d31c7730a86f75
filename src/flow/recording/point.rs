//! Where a point is pressed again: in the node that it was recorded in, wherever that is now; never the bare point when the
//! node is gone. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptor::{Descriptor, Located, describe, locate, twins};
use crate::browser::{Scene, SceneNode};

/// A point of the window, with the window's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct At {
    /// From the left, CSS pixels.
    pub x: i64,
    /// From the top.
    pub y: i64,
    /// Width of the window.
    pub width: u32,
    /// Height of the window.
    pub height: u32,
    /// Box of the node that the point lay in: left, top, width, height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<[i64; 4]>,
}

/// Where a recorded point is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Here, in the node at this index, if it is in one.
    Here(i64, i64, Option<usize>),
    /// Its node is gone, or has no box.
    Missing,
    /// So many nodes read like it.
    Ambiguous(usize),
    /// The window has another size: what is said of it.
    Viewport(String),
}

/// A point with the innermost node around it that can be told from others.
#[must_use]
pub fn at(nodes: &[SceneNode], scene: &Scene, x: i64, y: i64) -> (At, Option<Descriptor>) {
    let bare = At { x, y, width: scene.view_width, height: scene.view_height, inside: None };
    let mut around: Vec<usize> =
        (0..nodes.len()).filter(|at| has_box(&nodes[*at]) && nodes[*at].contains(x, y)).collect();
    around.sort_by_key(|at| nodes[*at].width * nodes[*at].height);
    let known = around.into_iter().find_map(|at| {
        let found = describe(nodes, at).filter(|found| !found.is_anonymous())?;
        Some((At { inside: Some(box_of(&nodes[at])), ..bare }, Some(found)))
    });
    known.unwrap_or((bare, None))
}

fn box_of(node: &SceneNode) -> [i64; 4] {
    [node.x, node.y, node.width, node.height]
}

fn has_box(node: &SceneNode) -> bool {
    node.width > 0 && node.height > 0
}

/// Where a recorded point is on the screen as it is.
#[must_use]
pub fn spot(nodes: &[SceneNode], view: (u32, u32), at: At, target: Option<&Descriptor>) -> Spot {
    let same_view = view == (at.width, at.height);
    let changed =
        || Spot::Viewport(format!("recorded at {}x{}, and the window is {}x{}", at.width, at.height, view.0, view.1));
    let Some(target) = target else {
        return if same_view { Spot::Here(at.x, at.y, None) } else { changed() };
    };
    match locate(nodes, target) {
        Located::Found(one) => follow(nodes, one, at),
        Located::Missing => Spot::Missing,
        Located::Ambiguous(_) if !same_view => changed(),
        Located::Ambiguous(many) => {
            let mut hit: Vec<usize> =
                twins(nodes, target).into_iter().filter(|one| nodes[*one].contains(at.x, at.y)).collect();
            hit.sort_by_key(|one| nodes[*one].width * nodes[*one].height);
            // One in the other is one place; siblings that overlap are two.
            let nested = hit.windows(2).all(|pair| encloses(&nodes[pair[1]], &nodes[pair[0]]));
            match hit.first() {
                Some(one) if nested => follow(nodes, *one, At { inside: Some(box_of(&nodes[*one])), ..at }),
                _ => Spot::Ambiguous(many),
            }
        }
    }
}

fn encloses(outer: &SceneNode, inner: &SceneNode) -> bool {
    outer.x <= inner.x
        && outer.y <= inner.y
        && outer.x + outer.width >= inner.x + inner.width
        && outer.y + outer.height >= inner.y + inner.height
}

/// The same fractional place in the live box.
fn follow(nodes: &[SceneNode], one: usize, at: At) -> Spot {
    let node = &nodes[one];
    let Some([left, top, width, height]) = at.inside.filter(|_| has_box(node)) else { return Spot::Missing };
    let x = node.x + (at.x - left) * node.width / width.max(1);
    let y = node.y + (at.y - top) * node.height / height.max(1);
    Spot::Here(x.min(node.x + node.width - 1), y.min(node.y + node.height - 1), Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: (u32, u32) = (1280, 800);

    fn node(name: &str, [x, y, width, height]: [i64; 4]) -> SceneNode {
        SceneNode { role: "img".into(), name: name.into(), x, y, width, height, ..SceneNode::default() }
    }

    fn recorded(nodes: &[SceneNode], x: i64, y: i64) -> (At, Option<Descriptor>) {
        let scene = Scene { view_width: VIEW.0, view_height: VIEW.1, ..Scene::default() };
        at(nodes, &scene, x, y)
    }

    fn now(nodes: &[SceneNode], view: (u32, u32), (at, target): &(At, Option<Descriptor>)) -> Spot {
        spot(nodes, view, *at, target.as_ref())
    }

    #[test]
    fn r36_a_bare_point_is_pressed_in_a_window_of_the_same_size_only() {
        let bare = recorded(&[], 30, 40);
        assert_eq!(now(&[], VIEW, &bare), Spot::Here(30, 40, None));
        assert!(matches!(now(&[], (390, 844), &bare), Spot::Viewport(why) if why.contains("390x844")));
    }

    #[test]
    fn r37_a_point_follows_its_node_to_another_place_and_size() {
        let point = recorded(&[node("Map", [100, 100, 200, 100])], 150, 125);
        assert_eq!(now(&[node("Map", [0, 300, 400, 200])], (390, 844), &point), Spot::Here(100, 350, Some(0)));
    }

    #[test]
    fn r38_a_node_that_is_gone_or_has_no_box_leaves_no_point() {
        let point = recorded(&[node("Map", [100, 100, 200, 100])], 150, 125);
        assert_eq!(now(&[node("Plan", [100, 100, 200, 100])], VIEW, &point), Spot::Missing);
        assert_eq!(now(&[node("Map", [100, 100, 0, 0])], VIEW, &point), Spot::Missing);
    }

    #[test]
    fn r39_among_look_alikes_the_one_around_the_point_is_meant() {
        let point = recorded(&[node("Map", [100, 100, 200, 100])], 150, 125);
        let two = [node("Map", [100, 100, 200, 100]), node("Map", [400, 100, 200, 100])];
        assert_eq!(now(&two, VIEW, &point), Spot::Here(150, 125, Some(0)));
        assert!(matches!(now(&two, (800, 800), &point), Spot::Viewport(_)));
        let nested = [node("Map", [90, 90, 400, 400]), node("Map", [100, 100, 200, 100])];
        assert_eq!(now(&nested, VIEW, &point), Spot::Here(150, 125, Some(1)));
        let overlap = [node("Map", [100, 100, 200, 100]), node("Map", [140, 110, 200, 100])];
        assert_eq!(now(&overlap, VIEW, &point), Spot::Ambiguous(2));
        assert_eq!(now(&[two[1].clone(), two[1].clone()], VIEW, &point), Spot::Ambiguous(2));
    }

    #[test]
    fn r40_a_point_does_not_settle_a_test_id_at_one_and_the_name_at_another() {
        let with = |name: &str, id: Option<&str>| SceneNode {
            test_id: id.map(str::to_owned),
            ..node(name, [100, 100, 200, 100])
        };
        let point = recorded(&[with("Map", Some("map"))], 150, 125);
        assert_eq!(now(&[with("Plan", Some("map")), with("Map", None)], VIEW, &point), Spot::Missing);
    }

    #[test]
    fn the_innermost_node_that_has_a_name_is_the_points() {
        let nodes = [node("Page", [0, 0, 1000, 800]), node("Map", [100, 100, 200, 100]), node("", [140, 120, 20, 20])];
        assert_eq!(recorded(&nodes, 150, 125).1.unwrap().name.as_deref(), Some("Map"));
    }
}
