//! What proves the end of a replay: an outcome that was already there, that comes late, on another screen, or on one that
//! cannot be read. The cases E of the replay cache.

use serde_json::{Value, json};

use crate::flow_kit::{Lab, edit, record, step};
use crate::sandbox::Sandbox;

const SAVE: &str = "<p role=status id=out></p><button onclick=\"did('save'); say('Saved')\">Save</button>";
const DEAD: &str = "<p role=status id=out>Saved</p><button onclick=\"did('save')\">Save</button>";

fn page(path: &str, mode: &str) -> Option<String> {
    let body = match path {
        "/start" => "<h1>Start</h1>".to_owned(),
        "/opened" => format!("<h1>Form</h1>{}", if mode == "dead" { DEAD } else { SAVE }),
        "/keys" => {
            let (text, does) = if mode == "dead" { ("Saved", "") } else { ("", "say('Saved')") };
            format!(
                "<h1>Form</h1><p role=status id=out>{text}</p><script>document.addEventListener('keydown', (event) => {{ if (event.key === 'Enter') {{ did('enter'); {does} }} }})</script>"
            )
        }
        "/leave" => {
            let go = match mode {
                "late" => "setTimeout(() => { location = '/done' }, 1200)",
                "never" => "",
                "blank" => "location = '/blank'",
                _ => "location = '/done'",
            };
            format!("<h1>Leave</h1><button onclick=\"did('go'); {go}\">Go</button>")
        }
        "/done" => "<h1>Done</h1><p role=status>All is saved</p>".to_owned(),
        "/blank" => String::new(),
        "/slow" => {
            let does = match mode {
                "slow" => "setTimeout(() => say('Saved'), 16000)",
                "elsewhere" => "location = '/twin'",
                _ => "say('Saved')",
            };
            format!("<h1>Form</h1><p role=status id=out></p><button onclick=\"did('save'); {does}\">Save</button>")
        }
        "/twin" => format!("<h1>Form</h1>{DEAD}"),
        _ => return None,
    };
    Some(body)
}

fn flow(open: &str, act: &str, more: &str) -> String {
    format!("steps:\n  - open: {open}\n  - act: \"{act}\"\n{more}  - expect: {{ role: heading }}\n")
}

fn cache(report: &Value) -> Value {
    step(report, 2)["cache"].clone()
}

/// Records the step, lets the page drift, and gives back how the recording serves then, with nobody to ask.
#[track_caller]
fn drifted(flow: &str, mode: &str) -> (Value, Vec<String>) {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    record(&lab, &sandbox, flow);
    let same = lab.run_alone(&sandbox, &[]).exits(0).json();
    assert_eq!(same["cache"]["replayed"], 1, "{same:#}");
    lab.pressed();
    lab.set(mode);
    (cache(&lab.run_alone(&sandbox, &[]).json()), lab.pressed())
}

#[test]
fn e57_a_navigation_that_commits_late_is_waited_for_and_one_that_never_comes_is_a_mismatch() {
    let late = drifted(&flow("/leave", "tap 'Go'", ""), "late").0;
    assert_eq!(late["mode"], "self-finalized", "{late:#}");
    let never = drifted(&flow("/leave", "tap 'Go'", ""), "never").0;
    assert_eq!(never["reason"], "end-mismatch", "{never:#}");
    assert!(never["detail"].as_str().unwrap().contains("/done"), "{never:#}");
}

#[test]
fn e59_on_the_page_that_a_recorded_address_opened_an_outcome_that_stood_there_proves_nothing() {
    let (cache, pressed) = drifted(&flow("/start", "navigate to '/opened' there; tap 'Save'", ""), "dead");
    assert_eq!((&cache["reason"], pressed), (&json!("end-mismatch"), vec!["save".to_owned()]), "{cache:#}");
}

#[test]
fn e60_keys_alone_after_an_address_are_looked_at_before_they_are_pressed() {
    let (cache, pressed) = drifted(&flow("/start", "navigate to '/keys' there; press 'Enter' anywhere", ""), "dead");
    assert_eq!((&cache["reason"], pressed), (&json!("end-mismatch"), vec!["enter".to_owned()]), "{cache:#}");
}

#[test]
fn e69_a_recorded_wait_is_waited_out_and_never_eats_what_a_hand_off_needs() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    let path = record(&lab, &sandbox, &flow("/slow", "tap 'Save'", "")).remove(0);
    edit(&sandbox, &path, |entry| entry["endWaitMs"] = json!(30_000));
    lab.set("slow");
    let patient = ["flow", "flows", "--json", "--base-url", &lab.url];
    let report = sandbox.run(&patient).exits(0).json();
    assert_eq!(cache(&report)["mode"], "self-finalized", "{report:#}");
    sandbox.write("flows/f.yaml", &flow("/slow", "tap 'Save'", "    timeout_ms: 24000\n"));
    let report = sandbox.run(&patient).exits(2).json();
    assert_eq!(cache(&report)["reason"], "end-mismatch", "{report:#}");
}

#[test]
fn e70_e71_the_recorded_outcome_on_another_screen_or_none_that_can_be_read_is_a_mismatch() {
    let (elsewhere, _) = drifted(&flow("/slow", "tap 'Save'", ""), "elsewhere");
    assert_eq!(elsewhere["reason"], "end-mismatch", "{elsewhere:#}");
    assert!(elsewhere["detail"].as_str().unwrap().contains("/twin"), "{elsewhere:#}");
    let (blank, _) = drifted(&flow("/leave", "tap 'Go'", ""), "blank");
    assert_eq!(blank["reason"], "end-mismatch", "{blank:#}");
    assert!(blank["detail"].as_str().unwrap().contains("could not be read"), "{blank:#}");
}
