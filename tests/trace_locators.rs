//! How a recorded target is found again, and what a step is held to, played from run files by `rerun` in a real browser.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::explore_kit::Site;
use crate::sandbox::Sandbox;

const PAGES: &[(&str, &str)] = &[
    (
        "/rungs",
        "<!doctype html><html lang=en><title>Rungs</title><h1>Rungs</h1><p id=out>-</p>
        <script>const say = (text) => { document.getElementById('out').textContent = text; };</script>
        <button data-testid=save onclick=\"say('by test id')\">Keep it</button>
        <button onclick=\"say('by role')\">Send</button>
        <label>Town <input onclick=\"say('by label')\"></label>
        <input placeholder=Postcode onclick=\"say('by placeholder')\">
        <div role=button aria-label=x onclick=\"say('by text')\">Read all of it</div>
        <div class=only onclick=\"say('by path')\" tabindex=0>o</div>
        <p><button>Twice</button><button>Twice</button></p>
        <a href=#x data-testid=moved>Moved</a>
        <div style=position:relative><button onclick=\"say('under')\">Under</button>
        <div id=cover style=position:absolute;inset:0;background:white>cover</div></div>",
    ),
    (
        "/drawer",
        "<!doctype html><html lang=en><title>Drawer</title><h1>Drawer</h1><p id=out>-</p>
        <style>nav { width: 60px; border: 1px solid } nav button { display: block; width: 100%; height: 30px }
        nav .sub { display: none } nav:hover { width: 250px } nav:hover .sub { display: block }</style>
        <script>const say = (text) => { document.getElementById('out').textContent = text; };</script>
        <nav><div class=sub><button onclick=\"say('wrong')\">One</button><button onclick=\"say('wrong')\">Two</button></div>
        <button onclick=\"say('right')\">Charts</button></nav>",
    ),
    (
        "/pictures",
        "<!doctype html><html lang=en><title>Pictures</title><h1>Pictures</h1><p id=out>-</p>
        <ul><li><a href=# role=button data-toggle=dropdown onclick=\"document.getElementById('menu').style.display = 'block'; return false\">3</a>
        <div id=menu class=dropdown-menu style=display:none><a href=#one onclick=\"document.getElementById('out').textContent = 'pressed'\">
        <div><img src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7' width=20 height=20 alt='User Avatar'><div><h3>Brad Diesel</h3><p>Call me</p></div></div></a></div></li></ul>",
    ),
    (
        "/marks",
        "<!doctype html><html lang=en><title>Marks</title><h1>Marks</h1><p id=out>-</p>
        <button onclick=\"localStorage.mark = document.cookie = 'mark=1'\">Mark</button>
        <button onclick=\"document.getElementById('out').textContent = (localStorage.mark || document.cookie) ? 'marked' : 'clean'\">Tell</button>",
    ),
];

static SITE: LazyLock<Site> = LazyLock::new(|| Site::start(PAGES, ""));

/// Replays each list of steps as a flow of its own; gives back what each step of each became.
fn played(page: &str, flows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let sandbox = Sandbox::new();
    let url = format!("{}{page}", SITE.url);
    let flows: Vec<Value> = flows
        .into_iter()
        .zip(0..)
        .map(|(steps, number)| {
            let opening = json!({ "tool": "goto", "value": url, "urlAfter": url });
            let trace: Vec<Value> = std::iter::once(opening).chain(steps).collect();
            json!({ "id": format!("flow-{number}"), "trace": trace })
        })
        .collect();
    let run = json!({ "baseUrl": SITE.url, "flows": flows });
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &run.to_string());
    let document = sandbox.run(&["rerun", "--json"]).json();
    let again: Value = serde_json::from_str(&sandbox.read(document["run"].as_str().expect("a run"))).unwrap();
    let traces = again["flows"].as_array().unwrap().iter().map(|flow| flow["trace"].as_array().unwrap().clone());
    traces.collect()
}

fn click(locator: Value) -> Value {
    json!({ "tool": "click", "locator": locator })
}

fn shows(text: &str) -> Value {
    json!({ "tool": "assert_text", "value": text })
}

#[test]
fn each_rung_finds_its_target_when_those_above_it_are_gone() {
    // The test id wins where all match; below it each rung in its order, with everything above it gone.
    let rungs = [
        (json!({ "testId": "save", "role": "button", "name": "Send", "text": "Twice" }), "by test id"),
        (json!({ "testId": "gone", "role": "button", "name": "Send", "label": "Town" }), "by role"),
        (
            json!({ "testId": "gone", "role": "textbox", "name": "Gone", "label": "Town", "placeholder": "Postcode" }),
            "by label",
        ),
        (json!({ "role": "textbox", "name": "Gone", "label": "Gone", "placeholder": "Postcode" }), "by placeholder"),
        (
            json!({ "role": "button", "label": "Gone", "placeholder": "Gone", "text": "Read all of it", "css": ".only" }),
            "by text",
        ),
        (json!({ "placeholder": "Gone", "text": "Gone", "css": ".only" }), "by path"),
    ];
    let flows = rungs.iter().map(|(locator, said)| vec![click(locator.clone()), shows(said)]).collect();
    for (steps, (locator, said)) in played("/rungs", flows).iter().zip(&rungs) {
        assert!(steps.iter().all(|step| step["status"] == "passed"), "{locator} {said}: {steps:#?}");
    }
}

#[test]
fn what_is_gone_ambiguous_of_another_role_or_covered_is_not_pressed() {
    let refused = [
        (json!({ "testId": "a", "role": "button", "name": "b", "css": ".c" }), "locator_mismatch"),
        (json!({ "role": "button", "name": "Twice", "text": "Twice" }), "ambiguous (2)"),
        // The test id stands on something else now; nothing below it is tried.
        (json!({ "testId": "moved", "role": "button", "name": "Send" }), "identity conflict (role link)"),
        (json!({ "role": "button", "name": "Under" }), "is covered by"),
    ];
    let flows = refused.iter().map(|(locator, _)| vec![click(locator.clone()), shows("-")]).collect();
    for (steps, (locator, why)) in played("/rungs", flows).iter().zip(&refused) {
        assert_eq!(steps[1]["status"], "failed", "{locator}");
        assert!(steps[1]["error"].as_str().unwrap().contains(why), "{locator}: {:#}", steps[1]);
        assert_eq!(steps[2]["status"], "not_attempted", "the rest of the flow is not attempted");
    }
}

#[test]
fn a_target_that_is_pushed_away_as_the_pointer_comes_is_followed() {
    let flows = played("/drawer", vec![vec![click(json!({ "role": "button", "name": "Charts" })), shows("right")]]);
    assert!(flows[0].iter().all(|step| step["status"] == "passed"), "{flows:#?}");
}

#[test]
fn a_link_is_found_by_the_name_that_it_has_once_its_menu_is_open() {
    let link = json!({ "role": "link", "name": "User Avatar Brad Diesel Call me", "css": "#menu > a" });
    let open = click(json!({ "role": "button", "name": "3" }));
    let flows = played("/pictures", vec![vec![open, click(link), shows("pressed")]]);
    assert!(flows[0].iter().all(|step| step["status"] == "passed"), "{flows:#?}");
}

#[test]
fn no_flow_sees_what_another_one_left_in_the_browser() {
    let tell = || click(json!({ "role": "button", "name": "Tell" }));
    let mark = click(json!({ "role": "button", "name": "Mark" }));
    let flows = played("/marks", vec![vec![mark, tell(), shows("marked")], vec![tell(), shows("clean")]]);
    assert!(flows.iter().flatten().all(|step| step["status"] == "passed"), "{flows:#?}");
}
