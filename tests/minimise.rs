//! `minimise`: the steps that a bug needs, found by replays in a real browser.

use serde_json::{Value, json};

use crate::minimise_lab::Lab;
use crate::sandbox::{Answer, Sandbox};
use crate::verify_kit::files;

const RUN: &str = ".agent-test/runs/2026-05-02T10-15-00Z.json";

fn project(run: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(RUN, &run.to_string());
    sandbox
}

fn minimise(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    sandbox.run(&[&["minimise", "--json"], arguments].concat())
}

/// What each step of the short trace acts on.
fn left(sandbox: &Sandbox, document: &Value) -> Vec<String> {
    let file = document["bugs"][0]["file"].as_str().unwrap_or_else(|| panic!("no short trace: {document:#}"));
    let run: Value = serde_json::from_str(&sandbox.read(file)).unwrap();
    let trace = run["bugs"][0]["trace"].as_array().unwrap();
    trace.iter().map(|step| step["locator"]["name"].as_str().or(step["value"].as_str()).unwrap().to_owned()).collect()
}

#[test]
fn of_twenty_steps_the_three_that_are_needed_are_left() {
    let lab = Lab::start(&[4, 11, 12], 1);
    let buttons: Vec<usize> = (1..=20).collect();
    let sandbox = project(&lab.run(&[("a", buttons)]));
    let schema = sandbox.run(&["schema", "minimise"]).exits(0).json();
    let before = sandbox.read(RUN);
    let document = minimise(&sandbox, &[]).exits(0).json();
    let bug = &document["bugs"][0];
    assert!(jsonschema::is_valid(&schema, &document), "{document:#}");
    assert_eq!(left(&sandbox, &document), [format!("{}/p/a", lab.url).as_str(), "Do 4", "Do 11", "Do 12", "Fail"]);
    assert_eq!((&bug["stepsBefore"], &bug["stepsAfter"], &bug["complete"]), (&22.into(), &5.into(), &true.into()));
    assert_eq!(bug["proof"]["fired"], bug["proof"]["attempts"], "{bug:#}");
    assert!(bug["proof"]["attempts"].as_u64() >= Some(2), "{bug:#}");
    assert!(bug["replays"].as_u64() <= Some(35), "{bug:#}");
    assert_eq!(sandbox.read(RUN), before, "a stored run is never rewritten");
    let short = bug["file"].as_str().unwrap();
    let kept: Value = serde_json::from_str(&sandbox.read(short)).unwrap();
    assert_eq!(kept["bugs"][0]["original_trace"].as_array().map(Vec::len), Some(22), "the whole trace is kept");
    assert_eq!(files(&sandbox.file(".agent-test/minimised")).len(), 1, "nothing else is left when it is complete");
    let again = sandbox.run(&["verify", short, "--json"]).exits(1).json();
    assert_eq!(again["bugs"][0]["verdict"], "still_broken");
    let played = sandbox.run(&["rerun", short, "--json"]).exits(1).json();
    assert_eq!((&played["steps"], &played["missed"]), (&5.into(), &0.into()), "{played:#}");
}

#[test]
fn another_bug_on_the_way_is_told_and_not_accepted() {
    // Without any of its steps the button throws something else.
    let lab = Lab::start(&[3], 1);
    let sandbox = project(&lab.run(&[("a", vec![1, 2, 3, 4, 5])]));
    let document = minimise(&sandbox, &[]).exits(0).json();
    assert_eq!(left(&sandbox, &document)[1..], ["Do 3", "Fail"]);
    let seen = document["bugs"][0]["alsoSeen"].to_string();
    assert!(seen.contains("RangeError: nothing was done"), "{seen}");
}

#[test]
fn pages_that_are_not_needed_are_left_out_and_a_needed_one_stays() {
    let lab = Lab::start(&[2, 7], 1);
    let pages = [("a", vec![1, 3]), ("b", vec![2, 5]), ("c", vec![6, 8]), ("a", vec![7, 9])];
    let sandbox = project(&lab.run(&pages));
    let document = minimise(&sandbox, &[]).exits(0).json();
    let left = left(&sandbox, &document);
    assert_eq!(left.iter().filter(|step| step.starts_with("Do")).collect::<Vec<_>>(), ["Do 2", "Do 7"]);
    assert!(left.len() <= 5, "{left:?}");
}

#[test]
fn at_the_deadline_the_best_so_far_is_kept_and_the_next_call_goes_on() {
    let lab = Lab::start(&[9, 13], 1);
    let sandbox = project(&lab.run(&[("a", (5..=14).collect())]));
    let first = minimise(&sandbox, &["--deadline", "1"]).exits(0).json();
    let (early, replays) = (&first["bugs"][0], first["bugs"][0]["replays"].as_u64().unwrap());
    assert_eq!(early["complete"], false, "{early:#}");
    let text = sandbox.run(&["minimise", "--deadline", "1"]).exits(0).stdout;
    assert!(text.contains("the same command goes on from here"), "{text}");
    let second = minimise(&sandbox, &[]).exits(0).json();
    assert_eq!(second["bugs"][0]["complete"], true);
    assert_eq!(left(&sandbox, &second)[1..], ["Do 9", "Do 13", "Fail"]);
    assert!(second["bugs"][0]["replays"].as_u64().unwrap() > replays, "earlier replays are counted");
    assert_eq!(second["bugs"][0]["baseline"]["attempts"], 3, "what was played of the baseline is not played again");
}

#[test]
fn a_bug_that_seldom_fires_is_not_shortened() {
    let lab = Lab::start(&[1], 4);
    let sandbox = project(&lab.run(&[("a", vec![1, 2, 3])]));
    let document = minimise(&sandbox, &[]).exits(1).json();
    let reason = document["bugs"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("attempts only"), "{reason}");
    assert_eq!(document["bugs"][0]["stepsAfter"], 5);
    assert!(files(&sandbox.file(".agent-test/minimised")).is_empty());
}

#[test]
fn login_steps_are_left_out_only_where_a_kept_session_takes_their_place() {
    let lab = Lab::start(&[1], 1);
    let (enter, private) = (format!("{}/enter", lab.url), format!("{}/private", lab.url));
    let mut going_in = Lab::press("Enter", &enter, "passed");
    going_in["urlAfter"] = json!(private);
    let trace = vec![
        json!({ "tool": "goto", "value": enter, "urlAfter": enter }),
        json!({ "tool": "fill", "locator": { "css": "input" }, "value": "4711", "urlBefore": enter, "urlAfter": enter }),
        going_in,
        Lab::press("Do 1", &private, "passed"),
        Lab::press("Fail", &private, "failed"),
    ];
    let sandbox = project(&lab.run_of(trace));
    let without = minimise(&sandbox, &[]).exits(0).json();
    assert_eq!(left(&sandbox, &without)[1..], ["Enter", "Do 1", "Fail"]);
    let cookie = json!({ "name": "in", "value": "1", "domain": "127.0.0.1", "path": "/" });
    sandbox.write("session.json", &json!({ "cookies": [cookie], "origins": [] }).to_string());
    let with = minimise(&sandbox, &["--storage-state", "session.json"]).exits(0).json();
    assert_eq!(left(&sandbox, &with), [private.as_str(), "Do 1", "Fail"]);
}

#[test]
fn there_must_be_a_trace() {
    let sandbox =
        project(&json!({ "baseUrl": "http://127.0.0.1:9", "bugs": [{ "fingerprint": "abcd", "severity": "major" }] }));
    let answer = minimise(&sandbox, &[]).exits(2);
    assert!(answer.stderr.contains("has a trace to shorten"), "{}", answer.stderr);
    let answer = minimise(&sandbox, &["--bug", "ffff"]).exits(2);
    assert!(answer.stderr.contains("no bug with the fingerprint"), "{}", answer.stderr);
}
