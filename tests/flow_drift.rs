//! The drift laboratory: one application, many ways in which it changed since a step was recorded. For each: whether the
//! recording replays, or why it is handed off, and that nothing was pressed that the step did not mean.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::flow_kit::{Lab, by_goal};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

struct Drift {
    name: &'static str,
    goal: &'static str,
    before: &'static str,
    after: &'static str,
    /// What becomes of the replay: `replayed`, or the reason of the hand-off.
    comes: &'static str,
    /// What may be pressed in the replay.
    may: &'static [&'static str],
}

const APPLY: &str = "<p role=status id=out></p><button onclick=\"did('apply'); say('10% off')\">Apply</button>";
const TAP: &str = "tap 'Apply'";

#[rustfmt::skip]
const DRIFTS: &[Drift] = &[
    Drift { name: "same", goal: TAP, before: APPLY, after: APPLY, comes: "replayed", may: &["apply"] },
    Drift { name: "dead-button", goal: TAP, before: APPLY, comes: "end-mismatch", may: &["apply"],
        after: "<p role=status id=out>10% off</p><button onclick=\"did('apply')\">Apply</button>" },
    Drift { name: "neighbour", goal: "tap 'Like Milk'; tap 'Like'", comes: "target-not-found", may: &["open"],
        before: "<button onclick=\"did('open')\">Like Milk</button><ul><li><span>Milk</span> <button onclick=\"did('milk'); say('Liked')\">Like</button></li></ul><p role=status id=out></p>",
        after: "<button onclick=\"did('open')\">Like Milk</button><ul><li><span>Bread</span> <button onclick=\"did('bread'); say('Liked')\">Like</button></li></ul><p role=status id=out></p>" },
    Drift { name: "renamed", goal: TAP, before: APPLY, comes: "target-not-found", may: &[],
        after: "<p role=status id=out></p><button onclick=\"did('redeem'); say('10% off')\">Redeem</button>" },
    Drift { name: "renamed-test-id", goal: TAP, comes: "target-not-found", may: &[],
        before: "<p role=status id=out></p><button data-testid=go onclick=\"did('apply'); say('10% off')\">Apply</button>",
        after: "<p role=status id=out></p><button data-testid=go onclick=\"did('redeem'); say('10% off')\">Redeem</button>" },
    Drift { name: "new-test-id", goal: TAP, comes: "replayed", may: &["apply"],
        before: "<p role=status id=out></p><button data-testid=b-17 onclick=\"did('apply'); say('10% off')\">Apply</button>",
        after: "<p role=status id=out></p><button data-testid=b-42 onclick=\"did('apply'); say('10% off')\">Apply</button>" },
    Drift { name: "moved", goal: TAP, before: APPLY, comes: "replayed", may: &["apply"],
        after: "<main><section><div><div><button class=big onclick=\"did('apply'); say('10% off')\">Apply</button></div></div></section></main><p role=status id=out></p>" },
    Drift { name: "late", goal: TAP, before: APPLY, comes: "replayed", may: &["apply"],
        after: "<p role=status id=out></p><div id=late></div><script>setTimeout(() => { document.getElementById('late').innerHTML = `<button onclick=\"did('apply'); say('10% off')\">Apply</button>`; }, 1900)</script>" },
    Drift { name: "shuffled", goal: "tap 'Pick Milk'; tap 'Add'", comes: "replayed", may: &["pick", "milk"],
        before: "<button onclick=\"did('pick'); document.getElementById('list').hidden = false\">Pick Milk</button><ul id=list hidden><li><b>Milk</b> <button onclick=\"did('milk'); say('Milk added')\">Add</button></li><li><b>Bread</b> <button onclick=\"did('bread'); say('Milk added')\">Add</button></li></ul><p role=status id=out></p>",
        after: "<button onclick=\"did('pick'); document.getElementById('list').hidden = false\">Pick Milk</button><ul id=list hidden><li><b>Eggs</b> <button onclick=\"did('eggs'); say('Milk added')\">Add</button></li><li><b>Bread</b> <button onclick=\"did('bread'); say('Milk added')\">Add</button></li><li><b>Milk</b> <button onclick=\"did('milk'); say('Milk added')\">Add</button></li></ul><p role=status id=out></p>" },
    Drift { name: "relative-time", goal: "tap 'Save'", comes: "replayed", may: &["save"],
        before: "<p role=status id=out></p><button onclick=\"did('save'); say('Saved 2 minutes ago')\">Save</button>",
        after: "<p role=status id=out></p><button onclick=\"did('save'); say('Saved 5 minutes ago')\">Save</button>" },
    Drift { name: "clock-text", goal: "tap 'Save'", comes: "replayed", may: &["save"],
        before: "<p role=status id=out></p><button onclick=\"did('save'); say('Saved at 10:42')\">Save</button>",
        after: "<p role=status id=out></p><button onclick=\"did('save'); say('Saved at 18:05')\">Save</button>" },
    Drift { name: "dead-counter", goal: "tap 'Add'", comes: "end-mismatch", may: &["add"],
        before: "<p role=status id=out></p><button onclick=\"did('add'); say('3 records imported')\">Add</button>",
        after: "<p role=status id=out></p><button onclick=\"did('add')\">Add</button>" },
    Drift { name: "moved-field-id", goal: "type 'SUMMER' into 'Code'; tap 'Apply'", comes: "target-not-found", may: &[],
        before: "<p role=status id=out></p><label>Code <input data-testid=code></label><button onclick=\"did('apply'); say('10% off')\">Apply</button>",
        after: "<p role=status id=out></p><label>Code <input></label><label>Name <input data-testid=code onchange=\"did('name')\"></label><button onclick=\"did('apply'); say('10% off')\">Apply</button>" },
    Drift { name: "declared-label", goal: "tap 'Inbox 2'", comes: "replayed", may: &["inbox"],
        before: "<p role=status id=out></p><button onclick=\"did('inbox'); say('Opened')\">Inbox 2</button>",
        after: "<p role=status id=out></p><button onclick=\"did('inbox'); say('Opened')\">Inbox 17</button>" },
    Drift { name: "new-confirm", goal: TAP, before: APPLY, comes: "end-mismatch", may: &["apply"],
        after: "<p role=status id=out></p><button onclick=\"did('apply'); document.getElementById('ask').hidden = false\">Apply</button><div role=alertdialog aria-label=Sure id=ask hidden><p>Really?</p><button onclick=\"did('yes'); say('10% off')\">Yes</button></div>" },
    Drift { name: "removed", goal: TAP, before: APPLY, comes: "target-not-found", may: &[], after: "<p role=status id=out></p><p>Codes are closed</p>" },
    Drift { name: "a-b-label", goal: "tap 'Start trial'", comes: "target-not-found", may: &[],
        before: "<p role=status id=out></p><button onclick=\"did('a'); say('Started')\">Start trial</button>",
        after: "<p role=status id=out></p><button onclick=\"did('b'); say('Started')\">Try it free</button>" },
    Drift { name: "state-in-label", goal: "tap 'Like (0)'", comes: "target-not-found", may: &[],
        before: "<p role=status id=out></p><button onclick=\"did('like'); say('Liked')\">Like (0)</button>",
        after: "<p role=status id=out></p><button onclick=\"did('like'); say('Liked')\">Like (1)</button>" },
    Drift { name: "link-for-button", goal: TAP, before: APPLY, comes: "target-not-found", may: &[],
        after: "<p role=status id=out></p><a href=# onclick=\"did('apply'); say('10% off')\">Apply</a>" },
    Drift { name: "look-alike", goal: "tap 'Next'", comes: "end-mismatch", may: &[],
        before: "<a href=/lab/look-alike/summary>Next</a>", after: "<a href=/lab/look-alike/preview>Next</a>" },
    Drift { name: "query-value", goal: "tap 'Next'", comes: "end-mismatch", may: &[],
        before: "<a href='/lab/query-value/list?mode=safe'>Next</a>", after: "<a href='/lab/query-value/list?mode=unsafe'>Next</a>" },
    Drift { name: "twin", goal: TAP, before: APPLY, comes: "target-ambiguous", may: &[],
        after: "<p role=status id=out></p><button onclick=\"did('one'); say('10% off')\">Apply</button><button onclick=\"did('two'); say('10% off')\">Apply</button>" },
    Drift { name: "new-alert", goal: TAP, before: APPLY, comes: "end-mismatch", may: &["apply"],
        after: "<p role=status id=out></p><p role=alert id=bad></p><button onclick=\"did('apply'); say('10% off'); say('Card declined', 'bad')\">Apply</button>" },
    Drift { name: "disabled", goal: TAP, before: APPLY, comes: "action-failed", may: &[],
        after: "<p role=status id=out></p><button disabled onclick=\"did('apply'); say('10% off')\">Apply</button>" },
    Drift { name: "switch-left-off", goal: "check 'Alerts'", comes: "end-mismatch", may: &["switch"],
        before: "<button role=switch aria-checked=false onclick=\"did('switch'); this.setAttribute('aria-checked', 'true'); say('Alerts are on')\">Alerts</button><p role=status id=out></p>",
        after: "<button role=switch aria-checked=false onclick=\"did('switch'); say('Alerts are on')\">Alerts</button><p role=status id=out></p>" },
    Drift { name: "other-start", goal: TAP, before: APPLY, comes: "wrong-context", may: &[],
        after: "<script>history.replaceState(null, '', '/lab/other-start/sale')</script><p role=status id=out></p><button onclick=\"did('apply'); say('10% off')\">Apply</button>" },
];

fn page(path: &str, mode: &str) -> Option<String> {
    let name = path.strip_prefix("/lab/")?.split(['/', '?']).next()?;
    let drift = DRIFTS.iter().find(|drift| drift.name == name)?;
    if path != format!("/lab/{name}") {
        return Some("<h1>Lab</h1><p>All is well</p>".to_owned());
    }
    Some(format!("<h1>Lab</h1>{}", if mode.is_empty() { drift.before } else { drift.after }))
}

fn steps(report: &Value) -> BTreeMap<String, Value> {
    let flows = report["flows"].as_array().unwrap();
    flows
        .iter()
        .map(|flow| (flow["name"].as_str().unwrap().to_owned(), flow["attempts"][0]["steps"][1].clone()))
        .collect()
}

#[test]
fn what_drifted_is_replayed_exactly_or_handed_off_and_nothing_wrong_is_ever_pressed() {
    let lab = Lab::start(page);
    let sandbox = Sandbox::new();
    for drift in DRIFTS {
        let flow = format!(
            "labels: [\"Inbox {{number}}\"]\nsteps:\n  - open: /lab/{}\n  - act: \"{}\"\n  - expect: {{ role: heading, text: Lab }}\n",
            drift.name, drift.goal
        );
        sandbox.write(&format!("flows/{}.yaml", drift.name), &flow);
    }
    let model = ModelServer::start(&[Reply::Make(by_goal)]);
    let recording: Answer =
        model.command(&sandbox, "openai", &lab.arguments(&["--cache", "read-write"])).output().unwrap().into();
    let report = recording.exits(0).json();
    for (name, step) in steps(&report) {
        assert_eq!(step["cache"]["write"], "saved", "{name}: {step:#}");
    }
    // Unchanged pages replay without anybody to ask, whatever the drift will be.
    lab.pressed();
    let again = lab.run_alone(&sandbox, &["--cache", "read-only"]).exits(0).json();
    assert_eq!(again["cache"]["replayed"], DRIFTS.len(), "{:#}", again["flows"]);
    lab.set("drifted");
    println!("{:<18} {:<18} wrong actions", "drift", "came to");
    let mut wrong = 0;
    for drift in DRIFTS {
        lab.pressed();
        let file = format!("flows/{}.yaml", drift.name);
        let arguments = ["flow", &file, "--json", "--base-url", &lab.url, "--fast-miss", "--cache", "read-only"];
        let step = steps(&sandbox.run(&arguments).json()).remove(drift.name).unwrap();
        let cache = &step["cache"];
        let comes =
            if cache["mode"] == "self-finalized" { "replayed" } else { cache["reason"].as_str().unwrap_or("nothing") };
        let bad: Vec<String> = lab.pressed().into_iter().filter(|what| !drift.may.contains(&what.as_str())).collect();
        println!("{:<18} {comes:<18} {}", drift.name, bad.join(", "));
        wrong += bad.len();
        assert_eq!(comes, drift.comes, "{}: {step:#}", drift.name);
    }
    assert_eq!(wrong, 0, "wrong actions");
}
