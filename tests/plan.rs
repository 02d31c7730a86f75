//! The plan of a run without a trace: played by the model, through the one actor, under the same guard and oracles.

use serde_json::{Value, json};

use crate::explore_kit::Site;
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

const PAGES: &[(&str, &str)] = &[(
    "/",
    "<!doctype html><html lang=en><meta charset=utf-8><title>Shop</title><h1>Shop</h1><p id=out>empty</p>\
     <label>Name <input id=name></label>\
     <button onclick=\"document.getElementById('out').textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>\
     <button onclick=\"null.total\">Sum</button>\
     <button onclick=\"fetch('/hit/delete')\">Delete everything</button>",
)];

fn project(site: &Site, plan: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = json!({ "baseUrl": site.url, "startedAt": "2026-05-02T10:15:00Z",
        "flows": [{ "id": "f", "title": "Shop", "plan": plan }], "bugs": [] });
    sandbox.write(".monkeytest/2026-05-02T10-15-00Z.json", &run.to_string());
    sandbox
}

fn rerun(sandbox: &Sandbox, model: &ModelServer) -> Answer {
    model.command(sandbox, "anthropic", &["rerun", "--json"]).output().unwrap().into()
}

fn trace(sandbox: &Sandbox, document: &Value) -> Vec<Value> {
    let run: Value = serde_json::from_str(&sandbox.read(document["run"].as_str().unwrap())).unwrap();
    run["flows"][0]["trace"].as_array().unwrap().clone()
}

#[test]
fn a_plan_is_played_said_and_recorded_so_that_it_can_be_played_without_a_model() {
    let site = Site::start(PAGES, "");
    let sandbox = project(
        &site,
        &json!(["Type Ann into the name", { "action": "Greet", "expected": "Hello Ann" }, "Check the greeting"]),
    );
    let model = ModelServer::start(&[
        Reply::Act("fill", Some("Name"), Some("Ann")),
        Reply::Act("click", Some("Greet"), None),
        Reply::Act("assert_text", None, Some("Hello Ann")),
    ]);
    let answer = rerun(&sandbox, &model).exits(0);
    assert!(answer.stderr.contains("holds no trace: its plan is played by the model"), "{}", answer.stderr);
    let document = answer.json();
    assert_eq!((&document["ofPlan"], &document["model"]["calls"]), (&true.into(), &3.into()), "{document:#}");
    let steps = trace(&sandbox, &document);
    let told: Vec<(&str, &str)> =
        steps.iter().map(|step| (step["tool"].as_str().unwrap(), step["status"].as_str().unwrap())).collect();
    assert_eq!(told, [("goto", "passed"), ("fill", "passed"), ("click", "passed"), ("assert_text", "passed")]);
    assert_eq!(steps[2]["locator"]["name"], "Greet");
    let again = sandbox.run(&["rerun", "--json"]).exits(0).json();
    assert_eq!(
        (&again["ofPlan"], &again["played"], &again["differing"]),
        (&false.into(), &4.into(), &0.into()),
        "{again:#}"
    );
}

#[test]
fn a_plan_types_the_logins_user_name_and_records_only_its_reference() {
    let site = Site::start(PAGES, "");
    let sandbox = project(&site, &json!(["Type the user name", "Greet"]));
    let model = ModelServer::start(&[
        Reply::Act("fill", Some("Name"), Some("env:AGENT_TEST_USERNAME")),
        Reply::Act("click", Some("Greet"), None),
        Reply::Act("assert_text", None, Some("Hello plan-user")),
    ]);
    let mut command = model.command(&sandbox, "anthropic", &["rerun", "--json"]);
    command.env("AGENT_TEST_USERNAME", "plan-user").env("AGENT_TEST_PASSWORD", "plan-word");
    let answer: Answer = command.output().unwrap().into();
    let document = answer.exits(0).json();
    let steps = trace(&sandbox, &document);
    assert_eq!((&steps[1]["status"], &steps[1]["value"]), (&"passed".into(), &"env:AGENT_TEST_USERNAME".into()));
    assert!(site.requests().iter().all(|seen| !seen.path.contains("plan-word")));
}

#[test]
fn what_an_oracle_finds_in_a_plan_is_a_bug_that_can_be_verified() {
    let site = Site::start(PAGES, "");
    let sandbox = project(&site, &json!(["Add it up"]));
    let model = ModelServer::start(&[Reply::Act("click", Some("Sum"), None)]);
    let document = rerun(&sandbox, &model).exits(1).json();
    let bug = &document["bugs"][0];
    assert_eq!((&bug["kind"], bug["fingerprintV2"].as_str().map(str::len)), (&"exception".into(), Some(16)), "{bug:#}");
    let report = sandbox.run(&["verify", "--json"]).exits(1).json();
    assert_eq!(report["bugs"][0]["verdict"], "still_broken", "{report:#}");
}

#[test]
fn a_model_that_would_destroy_or_leave_is_stopped() {
    let site = Site::start(PAGES, "");
    let sandbox = project(&site, &json!(["Tidy up"]));
    for (reply, why) in [
        (Reply::Act("click", Some("Delete everything"), None), "reads destructive"),
        (Reply::Act("goto", None, Some("https://example.com/")), "leaves the application"),
        (Reply::Act("fill", Some("Name"), Some("env:ANTHROPIC_API_KEY")), "is not typed there"),
    ] {
        let model = ModelServer::start(std::slice::from_ref(&reply));
        let run = sandbox.file(".monkeytest/2026-05-02T10-15-00Z.json");
        let mut command = model.command(&sandbox, "anthropic", &["rerun", "--json", run.to_str().unwrap()]);
        let answer: Answer = command.output().unwrap().into();
        let document = answer.exits(0).json();
        assert!(document["stopped"][0][1].as_str().unwrap().contains(why), "{document:#}");
        assert_eq!(trace(&sandbox, &document)[1]["status"], "skipped");
    }
    assert!(site.requests().iter().all(|seen| !seen.path.starts_with("/hit/")), "{:?}", site.requests());
}

#[test]
fn a_plan_without_a_model_and_a_run_without_a_plan_end_with_2() {
    let site = Site::start(PAGES, "");
    let without_model = project(&site, &json!(["Greet"])).run(&["rerun", "--json"]).exits(2);
    assert!(without_model.stderr.contains("none is configured"), "{}", without_model.stderr);
    let model = ModelServer::start(&[Reply::Hang]);
    let without_plan = rerun(&project(&site, &json!([])), &model).exits(2);
    assert!(without_plan.stderr.contains("neither a trace nor a plan"), "{}", without_plan.stderr);
    assert_eq!(model.calls(), 0);
    assert!(site.requests().is_empty());
}
