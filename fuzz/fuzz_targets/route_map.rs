//! The route map: reading never panics; what is read and written names the same routes; they have distinct slugs.
#![no_main]

use agent_test::route::{RouteMap, Slugs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(map) = RouteMap::parse(text) else { return };
    // A tab is written as a blank, and a backtick cannot be quoted: such routes do not survive the map.
    if map.routes.iter().any(|entry| entry.route.as_str().contains(['`', '\t'])) {
        return;
    }
    let written = map.render(chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default(), "list");
    let again = RouteMap::parse(&written).expect("what was written is read");
    let routes = |map: &RouteMap| map.routes.iter().map(|entry| entry.route.as_str().to_owned()).collect::<Vec<_>>();
    assert_eq!(routes(&again), routes(&map), "the routes changed:\n{written}");
    let mut slugs = Slugs::default();
    let given: std::collections::HashSet<String> =
        map.routes.iter().map(|entry| slugs.give(&entry.route).folded()).collect();
    assert_eq!(given.len(), map.routes.len(), "two routes share a slug");
});
