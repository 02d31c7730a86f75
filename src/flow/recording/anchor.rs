//! What a step changed on the screen, and which of it is worth checking the next time. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptor::{Descriptor, flat};
use crate::browser::SceneNode;

/// So many anchors of each side are kept.
pub const MOST_ANCHORS: usize = 8;

/// A thing on the screen that an end check looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// Role.
    pub role: String,
    /// Accessible name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Placeholder of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// First text of the row, list item or group around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Expanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// Pressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<bool>,
    /// Selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// It cannot be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// What a field holds, compared exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// It is what the step itself typed or switched: evidence only when nothing else changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub echo: bool,
}

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// Text that is another one each time: times, dates, durations, ids.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"(?ix)
        \b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?\b
        | \b\d{4}-\d{2}-\d{2}(?:[t\s]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?z?)?\b
        | \b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b
        | \b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,2}(?:,?\s+\d{4})?\b
        | \b\d{1,2}\.?\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s+\d{4})?\b
        | \b\d+(?:\.\d+)?\s?(?:ms|milliseconds?|s|sec|secs|seconds?|m|min|mins|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?)\b
        | \bjust\s+now\b
        | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    )
});
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"\b[\w-]{12,}\b"));
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"\d+(?:[.,]\d+)*"));

/// A text with what is another one each time taken out.
#[must_use]
pub fn stable(text: &str) -> String {
    let text =
        VOLATILE.as_ref().map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, "{time}").into_owned());
    TOKEN.as_ref().map_or_else(
        || text.clone(),
        |regex| {
            regex
                .replace_all(&text, |found: &regex::Captures<'_>| {
                    let token = &found[0];
                    let digits = token.chars().filter(char::is_ascii_digit).count();
                    let letters = token.chars().filter(|c| c.is_alphabetic()).count();
                    if digits >= 2 && letters >= 1 { "{id}".to_owned() } else { token.to_owned() }
                })
                .into_owned()
        },
    )
}

fn without_numbers(text: &str) -> String {
    NUMBER.as_ref().map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, "#").into_owned())
}

impl Anchor {
    /// What a node reads as, with its state and value.
    #[must_use]
    pub fn of(node: &SceneNode) -> Self {
        Self {
            role: node.role.clone(),
            name: flat(&node.name),
            text: if node.name.is_empty() { flat(&node.text) } else { String::new() },
            placeholder: node.placeholder.as_deref().map(flat),
            within: node.within.as_deref().map(flat),
            checked: node.checked,
            expanded: node.expanded,
            pressed: node.pressed,
            selected: node.selected,
            disabled: node.disabled,
            value: if node.secure { None } else { node.value.clone() },
            echo: false,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn label(&self) -> &str {
        [self.name.as_str(), self.text.as_str(), self.placeholder.as_deref().unwrap_or_default()]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// A short text for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{} \"{}\"", self.role, self.label());
        let states = [
            ("checked", self.checked),
            ("expanded", self.expanded),
            ("pressed", self.pressed),
            ("selected", self.selected),
        ];
        for (word, state) in states {
            match state {
                Some(true) => text.push_str(&format!(", {word}")),
                Some(false) => text.push_str(&format!(", not {word}")),
                None => {}
            }
        }
        if let Some(value) = self.value.as_ref().filter(|value| !value.is_empty()) {
            text.push_str(&format!(" = \"{value}\""));
        }
        text
    }

    /// Whether it announces something.
    #[must_use]
    pub fn is_alert(&self) -> bool {
        matches!(self.role.as_str(), "alert" | "alertdialog")
    }

    fn rank(&self) -> u8 {
        match self.role.as_str() {
            "alert" | "alertdialog" | "status" => 0,
            "dialog" | "list" | "table" | "group" | "region" | "form" | "article" | "row" => 2,
            _ => 1,
        }
    }

    /// Equal for two that are the same but for what is another one each time.
    fn key(&self) -> Self {
        Self {
            name: stable(&self.name),
            text: stable(&self.text),
            within: self.within.as_deref().map(stable),
            echo: false,
            ..self.clone()
        }
    }

    /// Whether what it says is another one each time.
    fn is_volatile(&self) -> bool {
        stable(&self.name) != self.name || stable(&self.text) != self.text
    }

    /// Whether this node is it.
    #[must_use]
    pub fn reads_as(&self, node: &SceneNode) -> bool {
        node.role == self.role && Anchor::of(node).key() == self.key()
    }

    /// Whether it is on this screen; once is enough.
    #[must_use]
    pub fn is_on(&self, nodes: &[SceneNode]) -> bool {
        let key = self.key();
        nodes.iter().any(|node| node.role == self.role && Anchor::of(node).key() == key)
    }

    /// The labels in it that a flow may declare.
    pub(in crate::flow) fn labels_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.text].into_iter().chain(self.within.as_mut())
    }

    /// Every text in it, for filling and hiding.
    pub(in crate::flow) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.text]
            .into_iter()
            .chain([&mut self.placeholder, &mut self.within, &mut self.value].into_iter().flatten())
    }
}

/// What a step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// What came, the most telling first.
    pub appeared: Vec<Anchor>,
    /// What went.
    pub gone: Vec<Anchor>,
    /// Changes that did not fit into the two lists.
    pub dropped: usize,
}

impl Delta {
    /// Whether nothing changed that could be checked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.appeared.is_empty() && self.gone.is_empty()
    }
}

/// What changed between two screens. `touched` are the targets that the step itself typed into or switched; `moved` says
/// that the step ended on another route.
#[must_use]
pub fn delta(start: &[SceneNode], end: &[SceneNode], touched: &[Descriptor], moved: bool) -> Delta {
    let before = Side::of(start);
    let after = Side::of(end);
    let is_echo = |anchor: &Anchor| {
        touched.iter().any(|target| {
            target.role == anchor.role
                && target.name.as_deref().unwrap_or_default() == anchor.name
                && target.within == anchor.within
        })
    };
    let mark = |anchors: Vec<Anchor>| -> Vec<Anchor> {
        anchors.into_iter().map(|anchor| Anchor { echo: is_echo(&anchor), ..anchor }).collect()
    };
    let came =
        mark(after.without(&before).into_iter().filter(|anchor| !is_idle_count(anchor, &before, moved)).collect());
    let went =
        mark(before.without(&after).into_iter().filter(|anchor| !is_idle_count(anchor, &after, moved)).collect());
    // What is another one each time is used only when nothing else changed; an alert always.
    let any_stable = came.iter().chain(&went).any(|anchor| !anchor.is_volatile() && !anchor.echo);
    let usable = |anchor: &Anchor| anchor.is_alert() || !anchor.is_volatile() || !any_stable;
    let (appeared, first) = choose(came.into_iter().filter(usable).collect());
    let (gone, second) = choose(went.into_iter().filter(usable).collect());
    Delta { appeared, gone, dropped: first + second }
}

/// A screen's anchors, each once.
struct Side {
    order: Vec<Anchor>,
    keys: HashSet<String>,
    counts: HashSet<(String, String)>,
}

impl Side {
    fn of(nodes: &[SceneNode]) -> Self {
        let mut side = Self { order: Vec::new(), keys: HashSet::new(), counts: HashSet::new() };
        for node in nodes {
            let anchor = Anchor::of(node);
            if anchor.label().is_empty() && anchor.value.is_none() {
                continue;
            }
            side.counts.insert((anchor.role.clone(), without_numbers(&stable(anchor.label()))));
            if side.keys.insert(fingerprint(&anchor)) {
                side.order.push(anchor);
            }
        }
        side
    }

    fn without(&self, other: &Self) -> Vec<Anchor> {
        self.order.iter().filter(|anchor| !other.keys.contains(&fingerprint(anchor))).cloned().collect()
    }
}

fn fingerprint(anchor: &Anchor) -> String {
    serde_json::to_string(&anchor.key()).unwrap_or_default()
}

/// A number that merely moved, came with another page, or stands alone says nothing of this step.
fn is_idle_count(anchor: &Anchor, other: &Side, moved: bool) -> bool {
    if anchor.value.is_some() || anchor.is_alert() {
        return false;
    }
    let label = stable(anchor.label());
    let bare = without_numbers(&label);
    if bare == label {
        return false;
    }
    let words = bare.chars().any(char::is_alphabetic);
    !words && !label.contains('%') || moved || other.counts.contains(&(anchor.role.clone(), bare))
}

/// The most telling ones, each label once; gives back how many were left out.
fn choose(mut anchors: Vec<Anchor>) -> (Vec<Anchor>, usize) {
    anchors.sort_by_key(|anchor| (anchor.echo, anchor.rank()));
    let mut chosen: Vec<Anchor> = Vec::new();
    let mut dropped = 0;
    for anchor in anchors {
        let same =
            |known: &Anchor| known.label() == anchor.label() && known.within == anchor.within && anchor.value.is_none();
        if !anchor.label().is_empty() && chosen.iter().any(same) {
            continue;
        }
        if chosen.len() < MOST_ANCHORS {
            chosen.push(anchor);
        } else {
            dropped += 1;
        }
    }
    (chosen, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(role: &str, text: &str) -> SceneNode {
        SceneNode { role: role.into(), text: text.into(), ..SceneNode::default() }
    }

    fn control(role: &str, name: &str) -> SceneNode {
        SceneNode { role: role.into(), name: name.into(), control: true, ..SceneNode::default() }
    }

    fn labels(anchors: &[Anchor]) -> Vec<&str> {
        anchors.iter().map(Anchor::label).collect()
    }

    #[test]
    fn messages_come_first_and_what_went_is_told() {
        let start = [text("text", "Your cart"), control("button", "Apply")];
        let end = [text("text", "Your cart"), control("button", "Remove code"), text("status", "10% off")];
        let delta = delta(&start, &end, &[], false);
        assert_eq!(labels(&delta.appeared), ["10% off", "Remove code"]);
        assert_eq!(labels(&delta.gone), ["Apply"]);
    }

    #[test]
    fn a_count_that_merely_moved_and_a_bare_number_are_no_anchors() {
        let start = [text("text", "Items: 2"), text("text", "7")];
        let end = [text("text", "Items: 3"), text("text", "8"), text("text", "3 records imported")];
        assert_eq!(labels(&delta(&start, &end, &[], false).appeared), ["3 records imported"]);
        assert!(delta(&start, &end, &[], true).appeared.is_empty());
    }

    #[test]
    fn p101_counts_of_results_timings_and_badges_are_no_anchors() {
        let start = [text("text", "12 results in 35 ms"), text("text", "3"), control("link", "Inbox 3")];
        let end = [
            text("text", "9 results in 41 ms"),
            text("text", "4"),
            control("link", "Inbox 4"),
            text("status", "Filtered"),
        ];
        let delta = delta(&start, &end, &[], false);
        assert_eq!((labels(&delta.appeared), delta.gone.len()), (vec!["Filtered"], 0));
    }

    #[test]
    fn clock_times_are_compared_without_the_time() {
        let anchor = Anchor::of(&text("status", "Saved at 10:42"));
        assert!(anchor.is_on(&[text("status", "Saved at 10:45")]));
        assert!(!anchor.is_on(&[text("status", "Save failed")]));
        let ago = Anchor::of(&text("text", "Updated 2 minutes ago"));
        assert!(ago.is_on(&[text("text", "Updated 5 minutes ago")]));
    }

    #[test]
    fn volatile_texts_are_used_only_when_nothing_else_changed_but_alerts_always() {
        let end = [text("text", "Updated 10:42"), text("text", "Done"), text("alert", "Failed at 10:42")];
        assert_eq!(labels(&delta(&[], &end, &[], false).appeared), ["Failed at 10:42", "Done"]);
        assert_eq!(labels(&delta(&[], &end[..1], &[], false).appeared), ["Updated 10:42"]);
    }

    #[test]
    fn a_date_in_a_field_is_compared_exactly() {
        let field = |value: &str| SceneNode { value: Some(value.into()), ..control("textbox", "Due") };
        let anchor = Anchor::of(&field("2026-05-02"));
        assert!(anchor.is_on(&[field("2026-05-02")]) && !anchor.is_on(&[field("2026-05-03")]));
    }

    #[test]
    fn a_state_belongs_to_an_anchor() {
        let switch = |on: bool| SceneNode { checked: Some(on), ..control("switch", "Alerts") };
        let anchor = Anchor::of(&switch(true));
        assert!(
            anchor.is_on(&[switch(true)])
                && !anchor.is_on(&[switch(false)])
                && !anchor.is_on(&[control("switch", "Alerts")])
        );
    }

    #[test]
    fn what_the_step_typed_itself_is_an_echo() {
        let field = |value: &str| SceneNode { value: Some(value.into()), ..control("textbox", "Code") };
        let target = Descriptor { role: "textbox".into(), name: Some("Code".into()), ..Descriptor::default() };
        let delta = delta(&[field("")], &[field("SUMMER"), text("status", "Applied")], &[target], false);
        assert_eq!(labels(&delta.appeared), ["Applied", "Code"]);
        assert!(!delta.appeared[0].echo && delta.appeared[1].echo);
    }

    #[test]
    fn a_secret_field_shows_no_value() {
        let field = SceneNode { secure: true, value: Some("x".into()), ..control("textbox", "Password") };
        assert_eq!(Anchor::of(&field).value, None);
    }

    #[test]
    fn no_more_than_eight_are_kept_and_the_rest_is_counted() {
        let end: Vec<SceneNode> =
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].iter().map(|t| text("text", t)).collect();
        let delta = delta(&[], &end, &[], false);
        assert_eq!((delta.appeared.len(), delta.dropped), (8, 2));
    }
}
