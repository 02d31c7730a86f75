//! What a screen must show: the rule, without a model. Pure.

use url::Url;

use super::file::Expect;
use super::params::Values;
use super::recording::place;
use crate::browser::{Scene, SceneNode};

/// The things on the screen that fit, in document order.
#[must_use]
pub fn fitting<'a>(expect: &Expect, nodes: &'a [SceneNode]) -> Vec<&'a SceneNode> {
    nodes.iter().filter(|node| fits(expect, node)).collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fits(expect: &Expect, node: &SceneNode) -> bool {
    // A heading, a cell, a message is named by what it says.
    let named = |name: &String| {
        flat(if node.name.is_empty() && node.role != "text" { &node.text } else { &node.name }) == flat(name)
    };
    let says = |wanted: &String| [&node.name, &node.text].into_iter().any(|text| flat(text) == flat(wanted));
    let holds = |wanted: &String| [&node.name, &node.text].into_iter().any(|text| flat(text).contains(&flat(wanted)));
    let none_or = |wanted: &Option<String>, test: &dyn Fn(&String) -> bool| wanted.as_ref().is_none_or(test);
    none_or(&expect.role, &|role| *role == node.role)
        && none_or(&expect.name, &named)
        && none_or(&expect.text, &says)
        && none_or(&expect.contains, &holds)
        && none_or(&expect.test_id, &|id| node.test_id.as_ref() == Some(id))
        && none_or(&expect.value, &|value| node.value.as_ref() == Some(value))
        && none_or(&expect.within, &|within| node.within.as_deref().map(flat) == Some(flat(within)))
        && expect.checked.is_none_or(|checked| node.checked == Some(checked))
}

/// The address that a flow names, as [`place`] names addresses.
#[must_use]
pub fn wanted_place(wanted: &str, base: &Url) -> String {
    base.join(wanted).map_or_else(|_| wanted.to_owned(), |url| place(url.as_str(), base)).replace("%7Bid%7D", "{id}")
}

/// Whether the screen shows it.
///
/// # Errors
/// What it shows instead, for people.
pub fn shows(expect: &Expect, scene: &Scene, base: &Url) -> Result<(), String> {
    if let Some(wanted) = &expect.url {
        let now = place(&scene.look.url, base);
        let wanted = wanted_place(wanted, base);
        if now != wanted {
            return Err(format!("the address is {now}, expected {wanted}"));
        }
    }
    if let Some(wanted) = expect.title.as_ref().filter(|wanted| **wanted != scene.look.title) {
        return Err(format!("the title is \"{}\", expected \"{wanted}\"", scene.look.title));
    }
    if !expect.is_of_a_node() {
        return Ok(());
    }
    let found = fitting(expect, &scene.nodes).len();
    let ok = match (expect.count, expect.gone) {
        (Some(count), _) => found == count,
        (None, true) => found == 0,
        (None, false) => found > 0,
    };
    if ok {
        return Ok(());
    }
    let near: Vec<String> = near(expect, &scene.nodes).into_iter().map(SceneNode::describe).collect();
    let near = if near.is_empty() || found > 0 { String::new() } else { format!("; there is {}", near.join(", ")) };
    Err(format!(
        "{} on the screen, expected {}{near}",
        if found == 0 { "it is not".to_owned() } else { format!("it is {found} times") },
        expect.describe()
    ))
}

/// What the reader may have meant: what says the same in another role, else something like it, else what has the role.
fn near<'a>(expect: &Expect, nodes: &'a [SceneNode]) -> Vec<&'a SceneNode> {
    let wanted = [&expect.name, &expect.text, &expect.contains].into_iter().flatten().next();
    let wanted = wanted.map(|text| flat(text).to_lowercase()).unwrap_or_default();
    let texts = |node: &SceneNode| [flat(&node.name).to_lowercase(), flat(&node.text).to_lowercase()];
    let like = |node: &SceneNode| {
        texts(node).iter().any(|text| !text.is_empty() && (text.contains(&wanted) || wanted.contains(text.as_str())))
    };
    let role = |node: &SceneNode| expect.role.as_ref().is_some_and(|role| *role == node.role);
    let rank = |node: &SceneNode| match () {
        () if wanted.is_empty() => usize::from(!role(node)),
        () if texts(node).contains(&wanted) => 0,
        () if like(node) && role(node) => 1,
        () if like(node) => 2,
        () if role(node) => 3,
        () => 4,
    };
    let worst = if wanted.is_empty() { 1 } else { 4 };
    let mut near: Vec<(usize, &SceneNode)> = nodes.iter().map(|node| (rank(node), node)).collect();
    near.retain(|(rank, _)| *rank < worst);
    near.sort_by_key(|(rank, _)| *rank);
    near.into_iter().take(3).map(|(_, node)| node).collect()
}

impl Expect {
    /// With its parameters filled in.
    #[must_use]
    pub(super) fn filled(&self, values: &Values) -> Self {
        let fill = |text: &Option<String>| text.as_deref().map(|text| values.fill(text));
        Self {
            role: self.role.clone(),
            name: fill(&self.name),
            text: fill(&self.text),
            contains: fill(&self.contains),
            test_id: fill(&self.test_id),
            value: fill(&self.value),
            within: fill(&self.within),
            url: fill(&self.url),
            title: fill(&self.title),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let node = |role: &str, text: &str| SceneNode { role: role.into(), text: text.into(), ..SceneNode::default() };
        let mut scene = Scene {
            nodes: vec![node("status", "10%  off"), node("listitem", "Milk"), node("listitem", "Bread")],
            ..Scene::default()
        };
        scene.look.url = "http://a.b/orders/17?x=1".into();
        scene
    }

    fn shown(expect: Expect) -> Result<(), String> {
        shows(&expect, &scene(), &Url::parse("http://a.b/").unwrap())
    }

    #[test]
    fn all_that_is_given_must_hold_of_one_thing() {
        assert_eq!(
            shown(Expect { role: Some("status".into()), text: Some("10% off".into()), ..Expect::default() }),
            Ok(())
        );
        let wrong = shown(Expect { role: Some("status".into()), text: Some("20% off".into()), ..Expect::default() })
            .unwrap_err();
        assert!(wrong.contains("10%  off") || wrong.contains("10% off"), "{wrong}");
        assert!(shown(Expect { role: Some("alert".into()), text: Some("Milk".into()), ..Expect::default() }).is_err());
    }

    #[test]
    fn what_a_heading_says_is_its_name() {
        let item = |name: &str| Expect { role: Some("listitem".into()), name: Some(name.into()), ..Expect::default() };
        assert_eq!(shown(item("Milk")), Ok(()));
        assert!(shown(item("Mil")).is_err());
    }

    #[test]
    fn what_says_the_same_in_another_role_is_named_first() {
        let wrong = shown(Expect { role: Some("status".into()), name: Some("Bread".into()), ..Expect::default() });
        let wrong = wrong.unwrap_err();
        let (bread, status) = (wrong.find("listitem \"Bread\"").unwrap(), wrong.find("10%").unwrap());
        assert!(bread < status, "{wrong}");
    }

    #[test]
    fn counts_absence_and_addresses_are_checked() {
        let items = |count| Expect { role: Some("listitem".into()), count: Some(count), ..Expect::default() };
        assert!(shown(items(2)).is_ok() && shown(items(3)).is_err());
        assert!(shown(Expect { text: Some("Eggs".into()), gone: true, ..Expect::default() }).is_ok());
        assert!(shown(Expect { text: Some("Milk".into()), gone: true, ..Expect::default() }).is_err());
        assert!(shown(Expect { url: Some("/orders/{id}?x=1".into()), ..Expect::default() }).is_ok());
        assert!(shown(Expect { url: Some("/orders".into()), ..Expect::default() }).is_err());
    }
}
