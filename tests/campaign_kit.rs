//! A campaign in a sandbox: started, with reports and screenshots as an agent would write them.

use serde_json::json;

use crate::sandbox::{Answer, Sandbox};

/// A started campaign of these routes.
pub fn campaign(routes: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["init", "--base-url", "http://127.0.0.1:9", "--project", "shop"];
    for route in routes {
        arguments.extend(["--route", route]);
    }
    sandbox.run(&arguments).exits(0);
    sandbox
}

/// A sandbox whose state is this text.
pub fn with_state(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".monkey-test-state.json", text);
    sandbox
}

/// The state as it stands on the disk.
#[track_caller]
pub fn state(sandbox: &Sandbox) -> serde_json::Value {
    serde_json::from_str(&sandbox.read(".monkey-test-state.json")).expect("the state is JSON")
}

/// Writes a valid report of a route where it belongs, with one screenshot, and gives back its path.
pub fn write_report(sandbox: &Sandbox, route: &str) -> String {
    let slug = sandbox.run(&["slug", route]).exits(0).stdout.trim().to_owned();
    sandbox.write(&format!("monkey-test-screenshots/{slug}/01-page.png"), "png");
    let path = format!("monkey-test-reports/{slug}.json");
    sandbox.write(&path, &report(route).to_string());
    path
}

/// A report with one button and one bug.
pub fn report(route: &str) -> serde_json::Value {
    json!({
        "route": route,
        "tested_at": "2026-03-26T10:30:00Z",
        "status": "partial",
        "page_info": { "title": "T" },
        "action_tree": { "toolbar": [
            { "label": "Save", "type": "button", "state": "enabled", "action_result": "error", "screenshot": "01-page.png", "children": [] },
            { "label": "Off", "type": "button", "state": "disabled", "action_result": "not_clickable", "children": [] },
        ] },
        "bugs": [{ "severity": "major", "description": "500 on save" }],
        "console_errors": [],
        "summary": "one button fails",
    })
}

/// Completes a route with a valid report.
#[track_caller]
pub fn complete(sandbox: &Sandbox, route: &str) -> Answer {
    let path = write_report(sandbox, route);
    sandbox.run(&["complete", route, "--report", &path]).exits(0)
}
