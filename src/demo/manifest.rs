//! The machine-readable list of what is in the demo and what is wrong with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalog::{BUGS, CONTROLS};
use super::element::Element;
use super::error::DemoError;
use super::pages::{
    activity, customers, dashboard, exports, help, insights, mailbox, orders, product, products, reports, settings,
    widgets, wizard,
};
use super::shell;
use super::switches::{Options, Switches};
use crate::maze::{ActionResult, BugKind, Severity};

/// Everything that is in the demo, and everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The application's name.
    pub application: String,
    /// The routes of a campaign, in the order of the route map.
    pub routes: Vec<RouteEntry>,
    /// Routes that a campaign leaves out, with the reason.
    pub excluded: Vec<Excluded>,
    /// Elements that every page inside the frame shares (navigation, header, user menu).
    pub shared: Vec<ElementEntry>,
    /// Elements of single routes, in document order, parents before children.
    pub elements: Vec<ElementEntry>,
    /// What is wrong and not fixed.
    pub bugs: Vec<BugEntry>,
    /// Ids of planted bugs that a switch has fixed.
    pub fixed: Vec<String>,
    /// Controls that can be renamed.
    pub controls: Vec<ControlEntry>,
    /// What looks like a bug and is none.
    pub decoys: Vec<Decoy>,
}

/// A route of the demo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteEntry {
    /// The route, hash included.
    pub route: String,
    /// Title of the page.
    pub title: String,
    /// Page type as a route map names it: dashboard, list, list+detail, detail, settings, tool.
    pub page_type: String,
    /// Route of the page above it; `/` when there is none.
    pub parent: String,
    /// Section of the navigation.
    pub category: String,
    /// What can be done there, in one word each.
    pub known_actions: Vec<String>,
}

/// A route that is not tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excluded {
    /// The route.
    pub route: String,
    /// Why.
    pub reason: String,
}

/// Where an element stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The page itself.
    Top,
    /// A table's row (the first one is listed).
    Row,
    /// A dropdown, submenu or context menu.
    Menu,
    /// A dialog.
    Dialog,
    /// A popover.
    Popover,
    /// A frame of the same origin.
    Iframe,
    /// An open shadow root.
    ShadowOpen,
    /// A closed shadow root.
    ShadowClosed,
}

/// An interactive element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ElementEntry {
    /// Its route; `*` for the shared ones.
    pub route: String,
    /// Labels of what has to be opened first, outermost first.
    pub path: Vec<String>,
    /// Its accessible name; for a row, a text that it contains.
    pub label: String,
    /// Its accessible role.
    pub role: String,
    /// Results that an explorer may truthfully report; the first is the most telling.
    pub expect: Vec<ActionResult>,
    /// Where it stands.
    #[serde(rename = "where")]
    pub place: Place,
}

/// A planted bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BugEntry {
    /// Its id, for `--fixed`.
    pub id: String,
    /// Its route.
    pub route: String,
    /// What kind of fault it is.
    pub kind: BugKind,
    /// Kinds under which the same fault may be reported as well without being a false bug.
    pub also_kinds: Vec<BugKind>,
    /// How bad it is.
    pub severity: Severity,
    /// Label of the control that shows it; null for a fault of the page.
    pub label: Option<String>,
    /// Labels of links and tabs that lead to it, also from other routes.
    pub reached_by: Vec<String>,
    /// What is wrong.
    pub about: String,
    /// What happens when the switch has fixed it.
    pub fixed_by: String,
}

/// A control that can be renamed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlEntry {
    /// Its id, for `--rename`.
    pub id: String,
    /// Its route; `*` for the shared navigation.
    pub route: String,
    /// Its label at first.
    pub old: String,
    /// Its label after the rename.
    pub new: String,
    /// Whether it has a test id that survives the rename.
    pub test_id_kept: bool,
    /// Its test id before the rename.
    pub test_id: Option<String>,
    /// Its test id after the rename.
    pub new_test_id: Option<String>,
    /// Whether it is renamed now.
    pub renamed: bool,
}

/// What looks like a bug and is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decoy {
    /// Its route; `*` for every page.
    pub route: String,
    /// Label of the control, where there is one.
    pub label: Option<String>,
    /// Why it is none.
    pub about: String,
}

/// The manifest of a demo without any switch.
#[must_use]
pub fn manifest() -> Manifest {
    build(&Switches::default())
}

/// The manifest of a demo with these switches: fixed bugs are gone, renamed controls carry their new label.
///
/// # Errors
/// When an id is unknown.
pub fn manifest_with(options: &Options) -> Result<Manifest, DemoError> {
    Ok(build(&Switches::new(options)?))
}

/// Route, title, page type, parent, category, known actions.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

/// The routes, in the order of the route map.
const ROUTES: &[Row] = &[
    ("/", "Dashboard", "dashboard", "/", "Start", &["refresh", "open"]),
    ("/products", "Products", "list+detail", "/", "Trade", &["create", "edit", "delete", "duplicate", "export"]),
    ("/products/1", "Aurora Desk Lamp", "detail", "/products", "Trade", &["edit", "retire", "follow"]),
    ("/orders", "Orders", "list", "/", "Trade", &["refresh", "filter", "cancel", "track"]),
    ("/customers", "Customers", "list", "/", "Trade", &["create", "sync", "merge", "invite"]),
    ("/wizard", "Onboarding", "tool", "/", "Trade", &["create"]),
    ("/reports", "Reports", "dashboard", "/", "Watch", &["reload", "drill"]),
    ("/insights", "Insights", "dashboard", "/", "Watch", &[]),
    ("/activity", "Activity", "list", "/", "Watch", &["pause", "replay"]),
    ("/exports", "Exports", "tool", "/", "Watch", &["export"]),
    ("/app#/inbox", "Inbox", "list", "/", "Office", &["create", "open", "star"]),
    ("/app#/archive", "Archive", "list", "/app#/inbox", "Office", &["sort"]),
    ("/widgets", "Widgets", "tool", "/", "Office", &["open"]),
    ("/settings/general", "Settings", "settings", "/", "Office", &["edit", "check", "delete"]),
    ("/settings/billing", "Billing", "settings", "/", "Office", &["edit", "pay"]),
    ("/help", "Help", "tool", "/", "Office", &["open", "download"]),
];

fn elements_of(route: &str) -> Vec<Element> {
    match route {
        "/" => dashboard::elements(),
        "/products" => products::elements(),
        "/products/1" => product::elements(),
        "/orders" => orders::elements(),
        "/customers" => customers::elements(),
        "/wizard" => wizard::elements(),
        "/reports" => reports::elements(),
        "/insights" => insights::elements(),
        "/activity" => activity::elements(),
        "/exports" => exports::elements(),
        "/app#/inbox" => mailbox::inbox_elements(),
        "/app#/archive" => mailbox::archive_elements(),
        "/widgets" => widgets::elements(),
        "/settings/general" => settings::general_elements(),
        "/settings/billing" => settings::billing_elements(),
        "/help" => help::elements(),
        _ => Vec::new(),
    }
}

/// Route, label, why it is no bug.
const DECOYS: &[(&str, Option<&str>, &str)] = &[
    ("*", None, "the navigation's link to the page that is open has no effect"),
    ("/", None, "the console carries a warning"),
    ("/", None, "the partner's picture belongs to another origin and never loads"),
    ("/", Some("Last 7 days"), "the tab is selected already"),
    ("/products", Some("Search"), "a newer request aborts the one under way"),
    ("/orders", Some("All orders"), "the tab is selected already"),
    ("/customers", Some("Check avatar"), "the request answers 404 and the page says so calmly"),
    ("/wizard", Some("Small"), "the choice is made already"),
    ("/help", Some("Community (soon)"), "a placeholder link"),
    ("/help", Some("This page"), "a link to the page itself"),
    ("/help", Some("Vendor site"), "another origin"),
    ("/activity", None, "a clock ticks, a small spinner turns, an event stream and a long poll stay open"),
    ("*", None, "changes that are stopped before they leave are answered with a calm note"),
];

pub(super) fn build(switches: &Switches) -> Manifest {
    let name = |route: &str, label: &str| -> String {
        CONTROLS
            .iter()
            .find(|control| control.old == label && control.route == route && switches.renamed(control.id))
            .map_or(label, |control| control.new)
            .to_owned()
    };
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut elements = Vec::new();
    for (route, ..) in ROUTES {
        flatten(route, &mut Vec::new(), elements_of(route), &name, &mut elements);
    }
    let mut shared = Vec::new();
    flatten("*", &mut Vec::new(), shell::elements(), &name, &mut shared);
    let (live, fixed): (Vec<_>, Vec<_>) = BUGS.iter().partition(|bug| switches.live(bug.id));
    Manifest {
        application: "Quayside".to_owned(),
        routes: ROUTES
            .iter()
            .map(|(route, title, page_type, parent, category, actions)| RouteEntry {
                route: (*route).to_owned(),
                title: (*title).to_owned(),
                page_type: (*page_type).to_owned(),
                parent: (*parent).to_owned(),
                category: (*category).to_owned(),
                known_actions: words(actions),
            })
            .collect(),
        excluded: vec![
            Excluded { route: "/login".to_owned(), reason: "the login itself, used by every session".to_owned() },
            Excluded { route: "/logout".to_owned(), reason: "ends the session".to_owned() },
        ],
        shared,
        elements,
        bugs: live
            .into_iter()
            .map(|bug| BugEntry {
                id: bug.id.to_owned(),
                route: bug.route.to_owned(),
                kind: bug.kind.clone(),
                also_kinds: bug.also.to_vec(),
                severity: bug.severity.clone(),
                label: bug.label.map(|label| name(bug.route, label)),
                reached_by: bug.reached_by.iter().map(|label| name(bug.route, label)).collect(),
                about: bug.about.to_owned(),
                fixed_by: bug.when_fixed.to_owned(),
            })
            .collect(),
        fixed: fixed.into_iter().map(|bug| bug.id.to_owned()).collect(),
        controls: CONTROLS
            .iter()
            .map(|control| ControlEntry {
                id: control.id.to_owned(),
                route: control.route.to_owned(),
                old: control.old.to_owned(),
                new: control.new.to_owned(),
                test_id_kept: control.test_id.is_some() && control.test_id == control.new_test_id,
                test_id: control.test_id.map(str::to_owned),
                new_test_id: control.new_test_id.map(str::to_owned),
                renamed: switches.renamed(control.id),
            })
            .collect(),
        decoys: DECOYS
            .iter()
            .map(|(route, label, about)| Decoy {
                route: (*route).to_owned(),
                label: label.map(str::to_owned),
                about: (*about).to_owned(),
            })
            .collect(),
    }
}

fn flatten(
    route: &str,
    path: &mut Vec<String>,
    tree: Vec<Element>,
    name: &impl Fn(&str, &str) -> String,
    into: &mut Vec<ElementEntry>,
) {
    for element in tree {
        let label = name(route, element.label);
        into.push(ElementEntry {
            route: route.to_owned(),
            path: path.clone(),
            label: label.clone(),
            role: element.role.to_owned(),
            expect: element.expect.to_vec(),
            place: element.place,
        });
        path.push(label);
        flatten(route, path, element.children, name, into);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_of_bug_is_planted_and_every_bug_and_control_has_its_element() {
        let manifest = manifest();
        let kinds: BTreeSet<&str> = manifest.bugs.iter().map(|bug| bug.kind.as_str()).collect();
        // What only a recording can miss is not found by exploring.
        let recorded = [BugKind::DisabledControl, BugKind::MissingText];
        let explored = BugKind::WORDS.iter().copied().filter(|word| !recorded.contains(&BugKind::from(*word)));
        assert_eq!(kinds, explored.collect());
        let has = |route: &str, label: &str| {
            manifest.elements.iter().chain(&manifest.shared).any(|entry| entry.route == route && entry.label == label)
        };
        for bug in &manifest.bugs {
            assert!(manifest.routes.iter().any(|route| route.route == bug.route), "{}", bug.id);
            assert!(bug.label.as_ref().is_none_or(|label| has(&bug.route, label)), "{}", bug.id);
            assert!(!bug.also_kinds.contains(&bug.kind), "{}", bug.id);
        }
        for control in &manifest.controls {
            assert!(has(&control.route, &control.old), "{}", control.id);
        }
        let ids: BTreeSet<&str> = manifest.bugs.iter().map(|bug| bug.id.as_str()).collect();
        assert_eq!(ids.len(), manifest.bugs.len());
    }

    #[test]
    fn every_place_is_used_and_every_result_is_a_word_of_ours() {
        let manifest = manifest();
        for place in [
            Place::Top,
            Place::Row,
            Place::Menu,
            Place::Dialog,
            Place::Popover,
            Place::Iframe,
            Place::ShadowOpen,
            Place::ShadowClosed,
        ] {
            assert!(manifest.elements.iter().any(|element| element.place == place), "{place:?}");
        }
        for element in manifest.elements.iter().chain(&manifest.shared) {
            assert!(!element.expect.is_empty(), "{}", element.label);
            assert!(element.expect.iter().all(|word| !matches!(word, ActionResult::Other(_))), "{}", element.label);
        }
    }

    #[test]
    fn switches_remove_a_bug_and_rename_a_control_everywhere() {
        let options = Options {
            fixed: vec!["orders-recalculate-throws".into()],
            renamed: vec!["orders-refresh".into(), "wizard-next".into()],
            ..Options::default()
        };
        let manifest = manifest_with(&options).expect("known ids");
        assert_eq!(manifest.fixed, ["orders-recalculate-throws"]);
        assert!(manifest.bugs.iter().all(|bug| bug.id != "orders-recalculate-throws"));
        let refresh = manifest.bugs.iter().find(|bug| bug.id == "orders-refresh-500").expect("still planted");
        assert_eq!(refresh.label.as_deref(), Some("Reload list"));
        assert!(manifest.elements.iter().any(|element| element.path.contains(&"Continue".to_owned())));
        // Another page's button of the same old label keeps it.
        assert!(manifest.elements.iter().any(|element| element.route == "/products" && element.label == "Next"));
    }

    #[test]
    fn an_unknown_id_is_refused_with_the_known_ones() {
        use crate::exit::{Exit, Explain};
        let error = manifest_with(&Options { fixed: vec!["nope".into()], ..Options::default() }).expect_err("unknown");
        assert_eq!(error.exit(), Exit::Usage);
        assert!(error.hint().is_some_and(|hint| hint.contains("insights-blank")));
    }

    #[test]
    fn the_manifest_survives_json() {
        let manifest = manifest();
        let text = serde_json::to_string(&manifest).expect("json");
        assert_eq!(serde_json::from_str::<Manifest>(&text).expect("the same type"), manifest);
    }
}
