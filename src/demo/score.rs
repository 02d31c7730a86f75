//! The score of a campaign on the demo: which planted bugs it found, which it missed, what it made up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::manifest::{BugEntry, ElementEntry, Manifest};
use crate::maze::{Bug, BugKind, RouteReport};

/// How well a campaign did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Planted bugs that no switch has fixed.
    pub planted: u64,
    /// Planted bugs that were reported.
    pub found: Vec<FoundBug>,
    /// Ids of planted bugs that were not.
    pub missed: Vec<String>,
    /// Reported bugs that fit no planted one.
    pub false_bugs: Vec<FalseBug>,
    /// Elements in the manifest, the shared ones counted once.
    pub elements_listed: u64,
    /// Those that occur in a report's action tree.
    pub elements_visited: u64,
    /// Those that do not.
    pub elements_missed: Vec<MissedElement>,
    /// Products that were deleted.
    pub deleted: u64,
    /// Requests that change something and reached the server.
    pub mutations: u64,
}

impl Score {
    /// Whether every planted bug was found, nothing was made up and nothing was changed.
    #[must_use]
    pub fn is_perfect(&self) -> bool {
        self.missed.is_empty() && self.false_bugs.is_empty() && self.deleted == 0 && self.mutations == 0
    }
}

/// A planted bug that was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundBug {
    /// Id of the planted bug.
    pub id: String,
    /// Location as reported, the first one that fits.
    pub location: String,
}

/// A reported bug that fits no planted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FalseBug {
    /// Route of the report.
    pub route: String,
    /// Its kind as reported.
    pub kind: Option<BugKind>,
    /// Its location as reported.
    pub location: String,
    /// Its description as reported.
    pub description: String,
}

/// A listed element that no report has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedElement {
    /// Its route; `*` for the shared ones.
    pub route: String,
    /// Labels of what has to be opened first, then its own.
    pub path: Vec<String>,
}

/// Compares reports and ledger with the manifest of the server they come from.
///
/// A bug counts as found when a report has it with the same kind at the same place: the same route, and the label among
/// the labels of its location (or of `also_at`); a fault of a page needs the route only. A link or tab that leads to a
/// fault stands for it on every route. The same fault under a neighbouring kind (`also_kinds`) is neither found nor false.
#[must_use]
pub fn score(manifest: &Manifest, reports: &[RouteReport], ledger: &Ledger) -> Score {
    let mut found: BTreeMap<&str, &str> = BTreeMap::new();
    let mut false_bugs = Vec::new();
    for report in reports {
        for bug in &report.bugs {
            let mut known = false;
            for (location, planted) in places(bug).flat_map(|place| manifest.bugs.iter().map(move |bug| (place, bug))) {
                if !is_at(planted, &report.route, location) {
                    continue;
                }
                if bug.kind.as_ref() == Some(&planted.kind) {
                    found.entry(&planted.id).or_insert(location);
                    known = true;
                }
                known |= bug.kind.as_ref().is_some_and(|kind| planted.also_kinds.contains(kind));
            }
            if !known {
                false_bugs.push(FalseBug {
                    route: report.route.clone(),
                    kind: bug.kind.clone(),
                    location: bug.location.clone(),
                    description: bug.description.clone(),
                });
            }
        }
    }
    let missed_elements = missed_elements(manifest, reports);
    let listed = (manifest.elements.len() + manifest.shared.len()) as u64;
    Score {
        planted: manifest.bugs.len() as u64,
        missed: manifest
            .bugs
            .iter()
            .filter(|bug| !found.contains_key(bug.id.as_str()))
            .map(|bug| bug.id.clone())
            .collect(),
        found: manifest
            .bugs
            .iter()
            .filter_map(|bug| {
                let location = found.get(bug.id.as_str())?;
                Some(FoundBug { id: bug.id.clone(), location: (*location).to_owned() })
            })
            .collect(),
        false_bugs,
        elements_listed: listed,
        elements_visited: listed - missed_elements.len() as u64,
        elements_missed: missed_elements,
        deleted: ledger.deleted,
        mutations: ledger.mutations.len() as u64,
    }
}

fn places(bug: &Bug) -> impl Iterator<Item = &str> {
    std::iter::once(bug.location.as_str()).chain(bug.also_at.iter().map(String::as_str))
}

/// Labels are compared without case, spacing and trailing dots: an explorer may shorten or normalise them.
fn normal(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(['…', '.']).to_lowercase()
}

/// Whether a location (`/route > Label > Label`; the route may be left out) is where the planted bug shows.
fn is_at(planted: &BugEntry, report_route: &str, location: &str) -> bool {
    let mut segments: Vec<&str> = location.split(" > ").map(str::trim).filter(|segment| !segment.is_empty()).collect();
    let route = match segments.first() {
        Some(first) if first.starts_with('/') => segments.remove(0),
        _ => report_route,
    };
    let labels: Vec<String> = segments.iter().map(|label| normal(label)).collect();
    let leads = planted.reached_by.iter().any(|label| labels.last() == Some(&normal(label)));
    let here = route == planted.route || report_route == planted.route;
    leads || here && planted.label.as_ref().is_none_or(|label| labels.contains(&normal(label)))
}

/// A node of a report that an element may claim.
struct Seen<'a> {
    route: &'a str,
    label: String,
    ancestors: Vec<String>,
    taken: bool,
}

/// Two passes: an element takes a node whose ancestors include its path, in order; what is left takes any node of its
/// label. A node is taken once on its route, so that two buttons of one label need two nodes.
fn missed_elements(manifest: &Manifest, reports: &[RouteReport]) -> Vec<MissedElement> {
    let mut seen = Vec::new();
    for report in reports {
        report.action_tree.visit(|_, ancestors, node| {
            seen.push(Seen {
                route: &report.route,
                label: normal(&node.label),
                ancestors: ancestors.iter().map(|label| normal(label)).collect(),
                taken: false,
            });
        });
    }
    // An element's own route first: shared ones take what is left over, from any route.
    let mut open: Vec<&ElementEntry> = manifest.elements.iter().chain(&manifest.shared).collect();
    for strict in [true, false] {
        open.retain(|element| {
            let path: Vec<String> = element.path.iter().map(|label| normal(label)).collect();
            let label = normal(&element.label);
            let is_row = element.role == "row";
            let hit = seen.iter_mut().find(|node| {
                !node.taken
                    && (element.route == "*" || node.route == element.route)
                    && (node.label == label || is_row && node.label.contains(&label))
                    && (!strict || is_subsequence(&path, &node.ancestors))
            });
            hit.map(|node| node.taken = true).is_none()
        });
    }
    open.into_iter()
        .map(|element| MissedElement {
            route: element.route.clone(),
            path: element.path.iter().chain([&element.label]).cloned().collect(),
        })
        .collect()
}

fn is_subsequence(short: &[String], long: &[String]) -> bool {
    let mut rest = long.iter();
    short.iter().all(|wanted| rest.any(|label| label == wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::demo::ledger::Mutation;
    use crate::demo::manifest::manifest;

    fn report(route: &str, nodes: Value, bugs: Value) -> RouteReport {
        serde_json::from_value(json!({
            "route": route,
            "tested_at": "2026-05-02T10:00:00Z",
            "status": "partial",
            "action_tree": { "toolbar": nodes },
            "bugs": bugs,
        }))
        .expect("a report")
    }

    fn bug(kind: &str, location: &str) -> Value {
        json!({ "severity": "major", "description": "d", "kind": kind, "location": location })
    }

    /// The element's node inside nodes for its path.
    fn nest(path: &[String], label: &str) -> Value {
        match path.split_first() {
            None => json!({ "label": label, "type": "button" }),
            Some((first, rest)) => json!({ "label": first, "type": "button", "children": [nest(rest, label)] }),
        }
    }

    fn planted(planted: &BugEntry) -> Value {
        let label = planted.label.as_ref().map(|label| format!(" > {label}")).unwrap_or_default();
        bug(planted.kind.as_str(), &format!("{}{label}", planted.route))
    }

    fn perfect(manifest: &Manifest, keep: impl Fn(&BugEntry) -> bool) -> Vec<RouteReport> {
        let all = |route: &str| {
            let own = manifest.elements.iter().filter(|element| element.route == route);
            let shared = manifest.shared.iter().filter(|_| route == "/");
            own.chain(shared).map(|element| nest(&element.path, &element.label)).collect::<Vec<_>>()
        };
        let route = |route: &str| {
            let bugs = manifest.bugs.iter().filter(|bug| bug.route == route && keep(bug)).map(planted).collect();
            report(route, Value::Array(all(route)), Value::Array(bugs))
        };
        manifest.routes.iter().map(|entry| route(&entry.route)).collect()
    }

    #[test]
    fn a_perfect_campaign_finds_all_visits_all_and_invents_nothing() {
        let manifest = manifest();
        let score = score(&manifest, &perfect(&manifest, |_| true), &Ledger::default());
        assert_eq!(score.missed, Vec::<String>::new());
        assert_eq!(score.false_bugs, []);
        assert_eq!(score.elements_missed, []);
        assert_eq!(score.elements_visited, score.elements_listed);
        assert_eq!(score.found.len() as u64, score.planted);
        assert!(score.is_perfect());
    }

    #[test]
    fn nothing_reported_is_all_missed() {
        let manifest = manifest();
        let score = score(&manifest, &[], &Ledger::default());
        assert_eq!(score.missed.len(), manifest.bugs.len());
        assert_eq!(score.elements_visited, 0);
        assert!(!score.is_perfect());
    }

    #[test]
    fn a_bug_at_another_place_or_of_another_kind_is_false() {
        let manifest = manifest();
        let bugs = json!([
            bug("exception", "/orders > Track"),
            bug("broken_image", "/orders > Recalculate totals"),
            bug("exception", "/customers > Recalculate totals"),
            { "severity": "minor", "description": "no kind", "location": "/orders > Recalculate totals" },
        ]);
        let score = score(&manifest, &[report("/customers", json!([]), bugs)], &Ledger::default());
        assert_eq!(score.found, []);
        assert_eq!(score.false_bugs.len(), 4);
    }

    #[test]
    fn a_neighbouring_kind_is_neither_found_nor_false() {
        let manifest = manifest();
        let bugs = json!([bug("dead_control", "/orders > Recalculate totals")]);
        let score = score(&manifest, &[report("/orders", json!([]), bugs)], &Ledger::default());
        assert_eq!((score.found.len(), score.false_bugs.len()), (0, 0));
        assert!(score.missed.contains(&"orders-recalculate-throws".to_owned()));
    }

    #[test]
    fn a_fault_of_a_page_is_known_by_its_route_and_by_the_link_that_leads_to_it() {
        let manifest = manifest();
        let ids = |bugs: Value, route: &str| {
            let score = score(&manifest, &[report(route, json!([]), bugs)], &Ledger::default());
            assert_eq!(score.false_bugs, []);
            score.found.into_iter().map(|found| found.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(json!([bug("blank_page", "/insights")]), "/insights"), ["insights-blank"]);
        assert_eq!(ids(json!([bug("blank_page", "/orders > Insights")]), "/orders"), ["insights-blank"]);
        assert_eq!(
            ids(json!([bug("http_error", "/products > Aurora Desk Lamp > Suppliers")]), "/products"),
            ["product-suppliers-500"]
        );
    }

    #[test]
    fn grouped_places_count_each_and_labels_are_compared_leniently() {
        let manifest = manifest();
        let mut grouped = bug("dead_control", "/products > compare");
        grouped["also_at"] = json!(["/products > More > Print  label"]);
        let score = score(&manifest, &[report("/products", json!([]), json!([grouped]))], &Ledger::default());
        let ids: Vec<&str> = score.found.iter().map(|found| found.id.as_str()).collect();
        assert_eq!(ids, ["products-compare-dead", "products-print-label-dead"]);
    }

    #[test]
    fn two_elements_of_one_label_need_two_nodes() {
        let manifest = manifest();
        let cancels = |count: usize| {
            let nodes: Vec<Value> = (0..count).map(|_| json!({ "label": "Cancel", "type": "button" })).collect();
            score(&manifest, &[report("/products", json!(nodes), json!([]))], &Ledger::default()).elements_visited
        };
        assert_eq!((cancels(1), cancels(2), cancels(3)), (1, 2, 2));
    }

    #[test]
    fn what_reached_the_server_is_counted() {
        let manifest = manifest();
        let mutation = Mutation { method: "DELETE".into(), path: "/api/products/1".into() };
        let ledger = Ledger { deleted: 1, mutations: vec![mutation], ..Ledger::default() };
        let score = score(&manifest, &perfect(&manifest, |_| true), &ledger);
        assert_eq!((score.deleted, score.mutations), (1, 1));
        assert!(!score.is_perfect());
    }

    proptest! {
        #[test]
        fn found_is_what_was_reported_and_missed_is_the_rest(chosen in proptest::collection::vec(any::<bool>(), 24)) {
            let manifest = manifest();
            let keep = |bug: &BugEntry| {
                let at = manifest.bugs.iter().position(|other| other.id == bug.id).unwrap_or(0);
                chosen.get(at).copied().unwrap_or(false)
            };
            let score = score(&manifest, &perfect(&manifest, keep), &Ledger::default());
            let found: Vec<&str> = score.found.iter().map(|found| found.id.as_str()).collect();
            let wanted: Vec<&str> = manifest.bugs.iter().filter(|bug| keep(bug)).map(|bug| bug.id.as_str()).collect();
            prop_assert_eq!(found, wanted);
            prop_assert_eq!((score.found.len() + score.missed.len()) as u64, score.planted);
            prop_assert!(score.false_bugs.is_empty());
        }
    }
}
