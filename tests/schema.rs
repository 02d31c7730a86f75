use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn schemas_folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

#[track_caller]
fn assert_valid(format: &str, instance: &Value) {
    let schema = agent_test::schema::find(format).expect("a format").schema().to_value();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{format}: {errors:#?}");
}

/// A route report as its users know it: result `disabled`, a wizard's step without a state, console errors in two places,
/// keys that nobody knows.
fn report_of_another_writer() -> Value {
    json!({
        "route": "/products/inventory", "tested_at": "2026-05-02T10:15:00Z", "status": "partial",
        "page_info": {
            "title": "Inventory", "has_table": true, "row_count": 5, "column_headers": ["Name", "Status"],
            "console_errors": ["404 /favicon.ico"]
        },
        "action_tree": {
            "toolbar": [ {
                "label": "Create", "type": "button", "state": "enabled", "action_result": "dialog_opened",
                "screenshot": "02-toolbar-create.png",
                "children": [ { "label": "Step 1 - Basic Info", "type": "wizard_step", "screenshot": "02-toolbar-create-step1.png", "children": [] } ]
            } ],
            "row_actions": [
                { "label": "Delete", "type": "dropdown_item", "state": "disabled", "action_result": "not_clickable",
                  "screenshot": "03-row-action-delete-disabled.png", "note": "Button was disabled, could not click", "children": [] },
                { "label": "Archive", "type": "dropdown_item", "state": "disabled", "action_result": "disabled", "colour": "grey", "children": [] }
            ],
            "detail_header_actions": [],
            "detail_tabs": []
        },
        "bugs": [ { "severity": "major", "description": "Create does nothing", "location": "toolbar > Create" } ],
        "console_errors": [],
        "tester_notes": { "mood": "good" }
    })
}

fn run_file() -> Value {
    json!({
        "schemaVersion": 1, "id": "2026-05-02T10-15-00Z", "baseUrl": "http://127.0.0.1:5000", "startedAt": "2026-05-02T10:15:00Z",
        "settings": { "strictOracles": true, "viewport": [1280, 800] },
        "flows": [ { "id": "orders", "title": "/orders", "trace": [
            { "index": 0, "tool": "goto", "value": "/orders", "urlBefore": "about:blank", "urlAfter": "http://127.0.0.1:5000/orders",
              "startedAt": "2026-05-02T10:15:01Z", "durationMs": 120, "status": "passed" },
            { "index": 1, "tool": "click", "locator": { "role": "button", "name": "Save" }, "urlBefore": "http://127.0.0.1:5000/orders",
              "urlAfter": "http://127.0.0.1:5000/orders", "startedAt": "2026-05-02T10:15:02Z", "durationMs": 90, "status": "failed",
              "error": "HTTP 500", "requests": [ { "method": "POST", "url": "/api/orders", "kind": "fetch", "status": 500 } ] }
        ], "paths": [ { "traceRef": "orders#1", "steps": [0, 1] } ] } ],
        "bugs": [ { "severity": "critical", "description": "Saving fails", "fingerprintV2": "6b1f0c9a2d3e4f50", "fire_rate": { "fired": 1, "attempts": 2 } } ]
    })
}

#[test]
fn the_folder_holds_the_current_schemas_and_no_others() {
    let mut expected: Vec<String> = Vec::new();
    for format in agent_test::schema::FORMATS {
        let path = schemas_folder().join(format.file_name());
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == format.text(),
            "{} is not current: run `agent-test schema --all --out schemas`",
            path.display()
        );
        expected.push(format.file_name());
    }
    let mut found: Vec<String> = std::fs::read_dir(schemas_folder())
        .expect("schemas/")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_report_of_another_writer_is_valid_and_is_read() {
    let value = report_of_another_writer();
    assert_valid("route-report", &value);
    let report: agent_test::maze::RouteReport = serde_json::from_value(value).expect("a report");
    assert_eq!(report.action_tree.row_actions[1].action_result, Some(agent_test::maze::ActionResult::NotClickable));
    assert_valid("route-report", &serde_json::to_value(&report).expect("JSON"));
}

#[test]
fn a_report_with_required_keys_only_is_valid() {
    let value = json!({ "route": "/a", "tested_at": "2026-05-02T10:15:00Z", "status": "pass", "action_tree": {} });
    assert_valid("route-report", &value);
    serde_json::from_value::<agent_test::maze::RouteReport>(value).expect("a report");
}

#[test]
fn what_is_no_report_is_invalid() {
    let schema = agent_test::schema::find("route-report").expect("a format").schema().to_value();
    for broken in [json!({}), json!([]), json!({ "route": 7, "tested_at": "x", "status": "pass", "action_tree": {} })] {
        assert!(!jsonschema::is_valid(&schema, &broken), "{broken}");
    }
}

#[test]
fn a_run_file_is_valid_as_written_and_as_read_back() {
    assert_valid("run", &run_file());
    let run: agent_test::trace::RunFile = serde_json::from_value(run_file()).expect("a run");
    assert_valid("run", &serde_json::to_value(&run).expect("JSON"));
}

#[test]
fn an_event_is_valid() {
    let report: agent_test::maze::RouteReport = serde_json::from_value(report_of_another_writer()).expect("a report");
    let kinds = [
        agent_test::event::EventKind::RouteClaimed { route: "/orders".to_owned() },
        agent_test::event::EventKind::BugFound { route: "/orders".to_owned(), bug: Box::new(report.bugs[0].clone()) },
        agent_test::event::EventKind::RouteCompleted { route: "/orders".to_owned(), report: Box::new(report) },
    ];
    for kind in kinds {
        let event =
            agent_test::event::Event { at: "2026-05-02T10:15:00Z".parse().expect("a time"), worker: Some(1), kind };
        let value = serde_json::to_value(&event).expect("JSON");
        assert_valid("event", &value);
        assert_eq!(serde_json::from_value::<agent_test::event::Event>(value).expect("an event"), event);
    }
}

#[test]
fn the_demos_manifest_is_valid() {
    assert_valid("demo-manifest", &Sandbox::new().run(&["demo", "--manifest"]).exits(0).json());
}

#[test]
fn the_state_of_a_campaign_is_valid() {
    let sandbox = crate::campaign_kit::campaign(&["/a", "/b"]);
    sandbox.run(&["fail", "/b", "--error", "gone"]).exits(0);
    sandbox.run(&["claim", "/a"]).exits(0);
    let state = serde_json::from_str(&sandbox.read(".monkey-test-state.json")).expect("JSON");
    assert_valid("state", &state);
}

#[test]
fn settings_with_every_kind_of_key_are_valid() {
    let settings = json!({
        "base_url": "http://127.0.0.1:9", "workers": 2, "allow_request": ["POST /api/search*"],
        "limits": { "depth": 3 }, "login": { "url": "/login" }
    });
    assert_valid("settings", &settings);
    let schema = agent_test::schema::find("settings").expect("a format").schema().to_value();
    assert!(!jsonschema::is_valid(&schema, &json!({ "workers": "two" })));
}

#[test]
fn a_report_with_null_for_optional_keys_is_valid() {
    let value = json!({
        "route": "/a", "tested_at": "2026-05-02T10:15:00Z", "status": "pass", "page_info": null, "bugs": null,
        "action_tree": { "toolbar": [ { "label": "Save", "type": null, "children": null } ], "row_actions": null },
        "coverage": { "found": 1, "skipped": null }
    });
    assert_valid("route-report", &value);
    serde_json::from_value::<agent_test::maze::RouteReport>(value).expect("a report");
}

#[test]
fn without_a_name_the_formats_are_listed() {
    let sandbox = Sandbox::new();
    let text = sandbox.run(&["schema"]).exits(0).stdout;
    insta::assert_snapshot!(text, @r"
    demo-manifest  what is in the demo and wrong with it: `demo --manifest`
    diff           what changed between two runs: `diff --json`
    event          what happens in a campaign: one line of the event log
    flow           a flow with goal steps: flows/*.yaml
    flow-report    what came of flows: `flow --json`
    heal-batch     what a heal of several files came to: `heal --all --json`
    heal-result    what a heal of a Playwright test came to: `heal --json`
    heal-tiers     a catalogue of model tiers: `heal --tiers FILE`
    history        what was done to a campaign: one line of .agent-test/history.jsonl
    minimise       what shortened traces came to: `minimise --json`
    proposals      targets that a model found anew: .agent-test/proposals/{id}.json
    recording      the recording of a goal step: .agent-test/cache/{key}.json
    route-report   the maze map of one route: monkey-test-reports/{slug}.json
    run            one recorded execution: .agent-test/runs/{id}.json
    settings       the settings of a project: agent-test.toml
    state          where a campaign stands: .monkey-test-state.json
    verify         what became of the bugs of a run: `verify --json`
    ");
    let json = sandbox.run(&["schema", "--json"]).exits(0).json();
    assert_eq!(json["formats"][8]["name"], "history");
}

#[test]
fn a_named_schema_is_printed_the_same_with_json() {
    let sandbox = Sandbox::new();
    let plain = sandbox.run(&["schema", "route-report"]).exits(0);
    let json = sandbox.run(&["schema", "route-report", "--json"]).exits(0);
    assert_eq!(plain.json(), json.json());
    assert_eq!(plain.json()["title"], "route-report");
}

#[test]
fn all_schemas_are_written_as_files() {
    let sandbox = Sandbox::new();
    let answer = sandbox.run(&["schema", "--all", "--out", "deep/folder", "--json"]).exits(0).json();
    assert_eq!(answer["files"].as_array().map(Vec::len), Some(agent_test::schema::FORMATS.len()));
    for format in agent_test::schema::FORMATS {
        assert_eq!(sandbox.read(&format!("deep/folder/{}", format.file_name())), format.text());
    }
}

#[test]
fn an_unknown_format_is_the_callers_mistake() {
    let answer = Sandbox::new().run(&["schema", "nonsense"]).exits(2);
    assert!(answer.stderr.contains("there is no format `nonsense`"), "{}", answer.stderr);
    assert!(answer.stderr.contains("route-report"), "{}", answer.stderr);
}
