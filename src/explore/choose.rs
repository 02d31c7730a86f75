//! Chooses what is acted on: which part of the report an element belongs to, which of many alike stand for the rest, and
//! in which order. Pure.

use std::collections::HashMap;

use super::gesture::{Way, ways};
use super::signature::family;
use crate::browser::Element;
use crate::replay::{closes, reads_destructive};
use crate::trace::fingerprint::strip_numbers;

/// An element that is to be acted on.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The element as it was seen.
    pub element: Element,
    /// Which of several elements with this signature it is.
    pub nth: usize,
    /// How far the page was scrolled when it was seen, in CSS pixels.
    pub scroll: i64,
    /// Place in the document, for the order in the report.
    pub order: usize,
    /// How many more like it were left out for it.
    pub stands_for: usize,
    /// It was acted on before, and leads on from here as well: the next step of a wizard.
    pub again: bool,
    /// How it is used.
    pub way: Way,
}

impl Candidate {
    /// Elements of one family that are used in the same way are more of the same.
    #[must_use]
    pub fn family(&self) -> String {
        let family = family(&self.element);
        if self.way == Way::Usual { family } else { format!("{family}|{}", self.way.label(&self.element)) }
    }
}

/// Each candidate once for each way in which it is used.
#[must_use]
pub fn with_ways(chosen: Vec<Candidate>) -> Vec<Candidate> {
    let each = |candidate: Candidate| {
        let ways = if candidate.way == Way::Usual { ways(&candidate.element) } else { vec![candidate.way.clone()] };
        ways.into_iter().map(move |way| Candidate { way, ..candidate.clone() })
    };
    chosen.into_iter().flat_map(each).collect()
}

/// Lists longer than this are sampled when their items have names of their own.
const LONG_LIST: usize = 12;
/// Items whose names differ only by numbers are sampled beyond this.
const SAME_NAME: usize = 3;

/// The elements that are acted on, and how many were left out for being like one of them.
#[must_use]
pub fn choose(mut found: Vec<Candidate>) -> (Vec<Candidate>, usize) {
    let before = found.len();
    drop_wrappers(&mut found);
    // Rows after the first of a table are more of the same.
    let mut more: HashMap<Option<u32>, usize> = HashMap::new();
    for candidate in found.iter().filter(|candidate| candidate.element.row.is_some_and(|row| row > 0)) {
        *more.entry(candidate.element.table).or_default() += 1;
    }
    found.retain(|candidate| candidate.element.row.is_none_or(|row| row == 0));
    for candidate in found.iter_mut().filter(|candidate| candidate.element.row == Some(0)) {
        candidate.stands_for += more.remove(&candidate.element.table).unwrap_or(0);
    }
    sample(&mut found, |candidate| same_name(&candidate.element), SAME_NAME);
    sample(&mut found, |candidate| same_shape(&candidate.element), LONG_LIST);
    let left_out = before - found.len();
    found.sort_by_key(|candidate| (rank(&candidate.element), candidate.order));
    (found, left_out)
}

/// What only wraps a control of the same name is that control: its every point belongs to the inner one.
fn drop_wrappers(found: &mut Vec<Candidate>) {
    let controls: Vec<(String, String)> = found
        .iter()
        .filter(|candidate| candidate.element.role != "generic")
        .map(|candidate| (candidate.element.css.clone(), candidate.element.name.clone()))
        .collect();
    found.retain(|candidate| {
        let element = &candidate.element;
        let wraps = |(css, name): &(String, String)| {
            *name == element.name && css.strip_prefix(&element.css).is_some_and(|rest| rest.starts_with(" > "))
        };
        element.role != "generic" || element.name.is_empty() || !controls.iter().any(wraps)
    });
}

fn same_name(element: &Element) -> Option<String> {
    let label = element.display_name();
    let has_number = label != strip_numbers(&label) || element.name.is_empty();
    // Icons without a name are told apart by their class names.
    (element.landmark != "navigation").then(|| {
        let icon = if element.name.is_empty() { element.icons.as_str() } else { "" };
        let name = if has_number { strip_numbers(&label) } else { label };
        format!(
            "{}|{name}|{icon}|{}|{}|{}",
            family(element),
            element.overlay,
            element.parent_kind(),
            element.row.is_some()
        )
    })
}

fn same_shape(element: &Element) -> Option<String> {
    let in_frame = matches!(element.landmark.as_str(), "navigation" | "banner" | "complementary" | "contentinfo");
    let choice = matches!(element.role.as_str(), "option" | "gridcell" | "link" | "listitem" | "generic" | "treeitem")
        || element.why == "delegated"
        || element.tag == "td"
        || element.tag == "li";
    (!in_frame && choice && element.row.is_none())
        .then(|| format!("{}|{}|{}|{}", element.role, element.group, element.overlay, element.frame.join(">")))
}

impl Element {
    fn parent_kind(&self) -> &str {
        if self.overlay >= 0 { "overlay" } else { "page" }
    }
}

/// Keeps the first, one from the middle and the last of each group that is larger than `most`.
fn sample(found: &mut Vec<Candidate>, key: impl Fn(&Candidate) -> Option<String>, most: usize) {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, candidate) in found.iter().enumerate() {
        if let Some(key) = key(candidate) {
            groups.entry(key).or_default().push(index);
        }
    }
    let mut drop = vec![false; found.len()];
    for members in groups.values().filter(|members| members.len() > most) {
        let last = members.len() - 1;
        let keep = [0, last / 2, last];
        for (place, &index) in members.iter().enumerate() {
            drop[index] = !keep.contains(&place);
        }
        if let Some(first) = members.first().and_then(|index| found.get_mut(*index)) {
            first.stands_for += members.len() - 3;
        }
    }
    let mut index = 0;
    found.retain(|_| {
        index += 1;
        !drop[index - 1]
    });
}

/// Order of acting: what stays on the page, then what leaves it, then what reads destructive, then what closes.
fn rank(element: &Element) -> u8 {
    if closes(element) {
        return 4;
    }
    if reads_destructive(element) {
        return 3;
    }
    if element.submits {
        return 2;
    }
    u8::from(
        element.role == "link"
            && element.raw_href.as_deref().is_some_and(|href| !href.is_empty() && !href.starts_with('#')),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(order: usize, role: &str, name: &str, row: Option<u32>) -> Candidate {
        let element = Element {
            uid: order as u64,
            role: role.into(),
            name: name.into(),
            group: "li.item<ul".into(),
            overlay: -1,
            row,
            ..Element::default()
        };
        Candidate { element, nth: 0, scroll: 0, order, stands_for: 0, again: false, way: Way::Usual }
    }

    fn names(found: &[Candidate]) -> Vec<&str> {
        found.iter().map(|candidate| candidate.element.name.as_str()).collect()
    }

    #[test]
    fn only_the_first_row_of_a_table_is_acted_on_and_the_rest_are_counted() {
        let found = (0..5).map(|row| candidate(row, "button", "Edit", Some(row as u32))).collect();
        let (kept, left_out) = choose(found);
        assert_eq!((kept.len(), left_out, kept[0].stands_for), (1, 4, 4));
    }

    #[test]
    fn three_items_with_names_of_their_own_are_all_acted_on() {
        let found = ["Inbox", "Drafts", "Starred"]
            .iter()
            .enumerate()
            .map(|(i, name)| candidate(i, "listitem", name, None))
            .collect();
        assert_eq!(choose(found).0.len(), 3);
    }

    #[test]
    fn what_only_wraps_a_control_of_the_same_name_is_that_control() {
        let mut wrapper = candidate(0, "generic", "Charts", None);
        wrapper.element.css = "nav > li".into();
        let mut link = candidate(1, "link", "Charts", None);
        link.element.css = "nav > li > a".into();
        let mut other = candidate(2, "generic", "Charts", None);
        other.element.css = "nav > li:nth-of-type(2)".into();
        let (kept, left_out) = choose(vec![wrapper, link, other]);
        assert_eq!((kept.iter().map(|c| c.order).collect::<Vec<_>>(), left_out), (vec![1, 2], 1));
    }

    #[test]
    fn a_long_list_is_sampled_first_middle_last() {
        let labels: Vec<String> =
            (0..31).map(|i| format!("Person {}", (b'a' + (i % 26) as u8) as char).repeat(1 + i / 26)).collect();
        let found = labels.iter().enumerate().map(|(i, name)| candidate(i, "link", name, None)).collect();
        let (kept, left_out) = choose(found);
        assert_eq!((kept.len(), left_out), (3, 28));
        assert_eq!((kept[0].order, kept[1].order, kept[2].order), (0, 15, 30));
    }

    #[test]
    fn calendar_cells_that_differ_by_numbers_are_sampled() {
        let found = (1..=31).map(|day| candidate(day, "gridcell", &day.to_string(), None)).collect();
        let (kept, _) = choose(found);
        assert_eq!(names(&kept), ["1", "16", "31"]);
    }

    #[test]
    fn what_leaves_the_page_comes_after_what_stays_and_destructive_after_both() {
        let mut link = candidate(0, "link", "Orders", None);
        link.element.raw_href = Some("/orders".into());
        let found = vec![link, candidate(1, "button", "Delete", None), candidate(2, "button", "Filter", None)];
        assert_eq!(names(&choose(found).0), ["Filter", "Orders", "Delete"]);
    }
}
