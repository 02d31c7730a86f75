//! The report of a route: reading and counting never panic; what is read and written is the same report.
#![no_main]

use agent_test::maze::RouteReport;
use agent_test::state::count_operations;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(report) = serde_json::from_slice::<RouteReport>(data) else { return };
    let written = serde_json::to_string_pretty(&report).expect("a report is written");
    let again: RouteReport = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(again, report);
    let count = count_operations(&report);
    assert_eq!(count, count_operations(&again));
    report.action_tree.visit(|_, _, _| {});
});
