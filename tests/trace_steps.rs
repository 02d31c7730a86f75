//! Every kind of trace step, played from run files by `rerun` in a real browser.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::explore_kit::Site;
use crate::sandbox::Sandbox;

/// What a page did is written into its title; a step that waits for a text proves it.
const PAGES: &[(&str, &str)] = &[
    (
        "/form",
        "<!doctype html><html lang=en><title>Form</title><h1>Form</h1><p id=out>-</p>
        <script>const said = []; const say = (text) => { said.push(text); document.getElementById('out').textContent = said.join(' '); };</script>
        <label>Size <select id=size onchange=\"say('size=' + this.value)\"><option value=s>Small</option><option value=l>Large</option><option disabled>Giant</option></select></label>
        <label>Day <input type=date id=day onchange=\"say('day=' + this.value)\"></label>
        <label>Tags <select multiple id=tags onchange=\"say('tags=' + [...this.selectedOptions].map((o) => o.value).join('+'))\"><option>red</option><option>green</option><option>blue</option></select></label>
        <label>File <input type=file multiple id=file onchange=\"Promise.all([...this.files].map((f) => f.text())).then((all) => say('files=' + all.join('+')))\"></label>
        <label>Find <input id=find onkeydown=\"if (event.key === 'Enter') say('found=' + this.value)\"></label>
        <label>Key <input id=key type=password oninput=\"say('key=' + this.value.length)\"></label>
        <script>addEventListener('keydown', (event) => { if (event.ctrlKey && event.key === 'k') say('palette'); });</script>
        <button onmouseenter=\"say('hovered')\">Hover me</button>
        <button onclick=\"say(confirm('Sure?') ? 'yes' : 'no')\">Ask</button>
        <button onclick=\"say(innerWidth + 'x' + innerHeight)\">Measure</button>",
    ),
    (
        "/windows",
        "<!doctype html><html lang=en><title>First</title><h1>First</h1><p id=out>-</p>
        <button onclick=\"window.open('/second')\">Open window</button>
        <iframe src=/inner title=inner></iframe>
        <div id=host></div>
        <script>const root = document.getElementById('host').attachShadow({mode: 'closed'});
        root.innerHTML = '<button>Deep</button>'; root.querySelector('button').onclick = () => { document.getElementById('out').textContent = 'deep pressed'; };</script>",
    ),
    ("/second", "<!doctype html><html lang=en><title>Second</title><h1>Second</h1><button onclick=\"this.textContent = 'Done'\">Work</button>"),
    ("/inner", "<!doctype html><button onclick=\"parent.document.getElementById('out').textContent = 'inner pressed'\">Inside</button>"),
];

static SITE: LazyLock<Site> = LazyLock::new(|| Site::start(PAGES, ""));

/// Replays steps on a page (the opening navigation is added); gives back the steps of the new run.
fn played(page: &str, settings: Value, steps: Vec<Value>, prepare: impl FnOnce(&Sandbox)) -> Vec<Value> {
    let sandbox = Sandbox::new();
    prepare(&sandbox);
    let url = format!("{}{page}", SITE.url);
    let opening = json!({ "tool": "goto", "value": url, "urlAfter": url });
    let trace: Vec<Value> = std::iter::once(opening).chain(steps).collect();
    let run = json!({ "baseUrl": SITE.url, "settings": settings, "flows": [{ "id": "steps", "trace": trace }] });
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &run.to_string());
    let answer = sandbox.run(&["rerun", "--json"]);
    let document = answer.json();
    let path = document["run"].as_str().unwrap_or_else(|| panic!("no new run: {document:#}"));
    let again: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
    again["flows"][0]["trace"].as_array().unwrap().clone()
}

fn on(tool: &str, css: &str, value: &str) -> Value {
    json!({ "tool": tool, "locator": { "css": css }, "value": value })
}

fn click(name: &str) -> Value {
    json!({ "tool": "click", "locator": { "role": "button", "name": name } })
}

fn shows(text: &str) -> Value {
    json!({ "tool": "assert_text", "value": text })
}

#[track_caller]
fn all_passed(steps: &[Value]) {
    for step in steps {
        assert_eq!(step["status"], "passed", "{step:#}");
    }
}

#[track_caller]
fn failed(steps: &[Value], why: &str) {
    let failed = steps.iter().find(|step| step["status"] == "failed").expect("a failed step");
    assert!(failed["error"].as_str().unwrap().contains(why), "{failed:#}");
}

#[test]
fn options_are_chosen_by_label_or_value_and_dates_are_set() {
    all_passed(&played(
        "/form",
        json!({}),
        vec![
            on("select", "#size", "Large"),
            shows("size=l"),
            on("select", "#size", "s"),
            shows("size=s"),
            on("select", "#tags", r#"["red", "blue"]"#),
            shows("tags=red+blue"),
            on("select", "#day", "2026-05-02"),
            shows("day=2026-05-02"),
        ],
        |_| {},
    ));
}

#[test]
fn an_option_that_is_not_there_or_disabled_is_not_chosen() {
    failed(&played("/form", json!({}), vec![on("select", "#size", "Huge")], |_| {}), "there is no option \"Huge\"");
    failed(&played("/form", json!({}), vec![on("select", "#size", "Giant")], |_| {}), "is disabled");
}

#[test]
fn files_below_the_project_are_uploaded() {
    let steps = vec![on("upload", "#file", r#"["data/a.txt", "b.txt"]"#), shows("files=one+two")];
    all_passed(&played("/form", json!({}), steps, |sandbox| {
        sandbox.write("data/a.txt", "one");
        sandbox.write("b.txt", "two");
    }));
}

#[test]
fn no_other_file_is_given_away() {
    let attempt = |value: &str, why: &str| {
        failed(
            &played("/form", json!({}), vec![on("upload", "#file", value)], |sandbox| {
                std::os::unix::fs::symlink("/etc/hostname", sandbox.file("link.txt")).unwrap();
            }),
            why,
        );
    };
    attempt("/etc/hostname", "does not lie below the project");
    attempt("../x", "does not lie below the project");
    attempt("link.txt", "leads out of the project");
    attempt("missing.txt", "there is no such file");
}

#[test]
fn keys_are_pressed_with_their_modifiers_in_the_page_or_in_a_field() {
    all_passed(&played(
        "/form",
        json!({}),
        vec![
            json!({ "tool": "press", "value": "Control+k" }),
            shows("palette"),
            on("fill", "#find", "tea"),
            on("press", "#find", "Enter"),
            shows("found=tea"),
        ],
        |_| {},
    ));
    failed(
        &played("/form", json!({}), vec![json!({ "tool": "press", "value": "Entr" })], |_| {}),
        "no key named `Entr`",
    );
}

#[test]
fn a_secret_is_taken_from_the_environment_and_without_it_the_step_is_not_done() {
    failed(
        &played("/form", json!({}), vec![on("fill", "#key", "env:AGENT_TEST_SECRET_NONE")], |_| {}),
        "needs the environment variable AGENT_TEST_SECRET_NONE",
    );
}

#[test]
fn a_trace_types_no_variable_that_is_none_of_its_secrets_and_opens_no_other_place() {
    for name in ["PATH", "OPENAI_API_KEY"] {
        let steps = vec![on("fill", "#key", &format!("env:{name}"))];
        failed(&played("/form", json!({}), steps, |_| {}), "only those of the login");
    }
    for (address, why) in [
        ("javascript:fetch('/gone', {method: 'DELETE'})", "which is never opened"),
        ("file:///etc/hostname", "which is never opened"),
        ("http://127.0.0.2:9/", "which is not the application"),
    ] {
        failed(&played("/form", json!({}), vec![json!({ "tool": "goto", "value": address })], |_| {}), why);
    }
    assert!(SITE.requests().iter().all(|seen| seen.method != "DELETE"));
}

#[test]
fn pointers_hover_dialogs_are_dismissed_and_windows_have_the_recorded_size() {
    all_passed(&played(
        "/form",
        json!({ "viewport": [800, 600] }),
        vec![
            json!({ "tool": "hover", "locator": { "role": "button", "name": "Hover me" } }),
            shows("hovered"),
            click("Ask"),
            shows("no"),
            click("Measure"),
            shows("800x600"),
            json!({ "tool": "wait" }),
            json!({ "tool": "noop" }),
        ],
        |_| {},
    ));
}

#[test]
fn steps_act_in_other_windows_in_frames_and_in_closed_shadow_roots() {
    let work = json!({ "tool": "click", "tab": 1, "locator": { "role": "button", "name": "Work" } });
    let done = json!({ "tool": "assert_text", "tab": 1, "value": "Done" });
    let inside = json!({ "tool": "click", "locator": { "role": "button", "name": "Inside", "frame": ["iframe"] } });
    let deep = json!({ "tool": "click", "locator": { "role": "button", "name": "Deep", "shadow": ["#host"] } });
    all_passed(&played(
        "/windows",
        json!({}),
        vec![click("Open window"), work, done, inside, shows("inner pressed"), deep, shows("deep pressed")],
        |_| {},
    ));
    let nowhere = json!({ "tool": "click", "tab": 3, "locator": { "role": "button", "name": "Work" } });
    failed(&played("/windows", json!({}), vec![nowhere], |_| {}), "there is no window 3");
}

#[test]
fn a_step_that_was_skipped_and_is_not_there_stays_skipped() {
    let skipped = json!({ "tool": "click", "status": "skipped", "locator": { "role": "button", "name": "Gone" } });
    let steps = played("/form", json!({}), vec![skipped, click("Ask"), shows("no")], |_| {});
    let words: Vec<&str> = steps.iter().map(|step| step["status"].as_str().unwrap()).collect();
    assert_eq!(words, ["passed", "skipped", "passed", "passed"]);
}

#[test]
fn a_step_of_a_later_version_is_named_and_not_guessed() {
    failed(
        &played("/form", json!({}), vec![json!({ "tool": "levitate" })], |_| {}),
        "`levitate` step cannot be played",
    );
}

#[test]
fn a_run_from_elsewhere_does_not_get_the_password() {
    let sandbox = Sandbox::new();
    let goto = json!([{ "index": 0, "tool": "goto", "value": "http://app.example/" }]);
    let run = json!({ "baseUrl": "http://app.example/", "flows": [{ "id": "a", "trace": goto }], "bugs": [] });
    sandbox.write("theirs.json", &run.to_string());
    let output = sandbox
        .command(&["rerun", "theirs.json"])
        .env("AGENT_TEST_USERNAME", "me")
        .env("AGENT_TEST_PASSWORD", "mine-4711")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("comes from elsewhere") && said.contains("--base-url") && !said.contains("4711"), "{said}");
}
