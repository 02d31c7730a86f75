//! The route map: its example, discovery from a list, and the choice of routes from it.

use crate::campaign_kit::state;
use crate::sandbox::Sandbox;

const EXAMPLE: &str = include_str!("../ROUTE_MAP.example.md");

#[test]
fn the_example_is_a_route_map_in_the_form_that_we_write() {
    let map = agent_test::route::RouteMap::parse(EXAMPLE).unwrap();
    assert_eq!((map.routes.len(), map.excluded.len(), map.categories.len()), (14, 5, 6));
    assert!(map.problems.is_empty());
    let at = "2026-03-26T10:00:00Z".parse().unwrap();
    assert_eq!(map.render(at, "code (React Router)"), EXAMPLE);
    assert_eq!(map.clone().in_category_order(), map);
}

#[test]
fn routes_of_the_example_are_selected_by_number_and_category() {
    for (selection, expected) in [
        (&["--select", "2-3,14"][..], vec!["/products/inventory", "/products/inventory/new", "/#/about"]),
        (&["--category", "users", "6"], vec!["/users/roles", "/users/permissions", "/#/about"]),
        (&["--route", "/orders", "--category", "1"], vec!["/", "/orders"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("ROUTE_MAP.md", EXAMPLE);
        sandbox.run(&[&["init", "--base-url", "http://h"], selection].concat()).exits(0);
        assert_eq!(state(&sandbox)["pending"], serde_json::json!(expected));
    }
    let sandbox = Sandbox::new();
    sandbox.write("ROUTE_MAP.md", EXAMPLE);
    for bad in [&["--select", "15"][..], &["--category", "nothing"], &["--route", "/nothing"], &["--select", "x"]] {
        let answer = sandbox.run(&[&["init", "--base-url", "http://h"], bad].concat()).exits(2);
        assert!(answer.stderr.contains("cannot select"), "{}", answer.stderr);
    }
}

#[test]
fn discover_writes_the_map_from_a_list_and_keeps_a_different_one() {
    let sandbox = Sandbox::new();
    sandbox.write("list.txt", "/users\nhttp://h:1/settings/general?x=1#y\n/users/\nforgotten\n/../etc\n/users/roles\n");
    let answer = sandbox.run(&["discover", "--from-list", "list.txt", "--json"]).exits(0);
    assert_eq!(answer.json()["routes"], 3);
    assert!(answer.stderr.contains("forgotten") && answer.stderr.contains("/../etc"), "{}", answer.stderr);
    let text = sandbox.read("ROUTE_MAP.md");
    assert!(text.contains("| 3 | /settings/general?x=1#y |"), "{text}");
    sandbox.run(&["discover", "--from-list", "list.txt"]).exits(0);
    assert_eq!(sandbox.read("ROUTE_MAP.md"), text);
    sandbox.write("other.txt", "/z\n");
    let kept = sandbox.run(&["discover", "--from-list", "other.txt", "--json"]).exits(0).json()["kept"].clone();
    assert_eq!(sandbox.read(kept.as_str().unwrap()), text);
}

#[test]
fn a_list_without_routes_or_of_two_origins_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("none.txt", "nothing\n");
    sandbox.write("two.txt", "http://a/x\nhttp://b/y\n");
    assert!(sandbox.run(&["discover", "--from-list", "none.txt"]).exits(2).stderr.contains("no route"));
    assert!(sandbox.run(&["discover", "--from-list", "two.txt"]).exits(2).stderr.contains("more than one origin"));
    assert!(sandbox.run(&["discover", "--from-list", "gone.txt"]).exits(2).stderr.contains("gone.txt"));
    assert!(!sandbox.file("ROUTE_MAP.md").exists());
}
