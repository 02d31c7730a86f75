//! What a run of flows leaves: a run file like the explorer's, with the steps of the browser and the bugs that were met.

use serde_json::Value;

use crate::flow_kit::{Lab, RW, record, run, step};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Sandbox;

const FLOW: &str = "\
name: saves a note
steps:
  - open: /notes
  - act: type 'milk' into 'Note'; tap 'Save'
  - expect: { role: status, text: saved }
";

fn notes(path: &str, mode: &str) -> Option<String> {
    match path {
        "/notes" => {
            let fault = if mode == "throws" { "throw new TypeError('no list');" } else { "" };
            Some(format!(
                "<h1>Notes</h1><label>Note <input id=note></label><button onclick=\"did('save'); say('saved'); {fault}\">Save</button><p role=status id=out></p>"
            ))
        }
        "/gone" => Some("!404 <h1>Not here</h1>".to_owned()),
        _ => None,
    }
}

fn silent() -> ModelServer {
    ModelServer::start(&[Reply::Move("done", None, None)])
}

fn run_of(sandbox: &Sandbox, report: &Value) -> Value {
    serde_json::from_str(&sandbox.read(report["run"].as_str().unwrap())).unwrap()
}

#[test]
fn a_flow_leaves_a_run_whose_steps_are_played_again() {
    let (lab, sandbox) = (Lab::start(notes), Sandbox::new());
    record(&lab, &sandbox, FLOW);
    let report = run(&lab, &sandbox, &silent(), RW).exits(0).json();
    let run = run_of(&sandbox, &report);
    assert_eq!(
        (&run["source"], run["bugs"].as_array().unwrap().len(), &report["bugs"]),
        (&"flow".into(), 0, &0.into())
    );
    let trace = run["flows"][0]["trace"].as_array().unwrap();
    let told: Vec<(&str, &str, &str)> = trace
        .iter()
        .map(|step| {
            let text = |at: &str| step.pointer(at).and_then(Value::as_str).unwrap_or_default();
            (text("/tool"), text("/locator/name"), text("/status"))
        })
        .collect();
    assert_eq!(told, [("goto", "", "passed"), ("fill", "Note", "passed"), ("click", "Save", "passed")]);
    assert_eq!((&trace[1]["value"], &trace[2]["urlAfter"]), (&"milk".into(), &format!("{}/notes", lab.url).into()));
    lab.pressed();
    let again = sandbox.run(&["rerun", "--json", "--base-url", &lab.url]).exits(0).json();
    assert_eq!((&again["played"], &again["missed"]), (&3.into(), &0.into()), "{again:#}");
    assert_eq!(lab.pressed(), ["save"]);
}

#[test]
fn a_fault_that_a_flow_meets_fails_its_step_and_is_verified_like_any_other() {
    let (lab, sandbox) = (Lab::start(notes), Sandbox::new());
    let entry = record(&lab, &sandbox, FLOW);
    let recorded = sandbox.read(&entry[0]);
    lab.set("throws");
    let answer = run(&lab, &sandbox, &silent(), RW).exits(1);
    let report = answer.json();
    let told = step(&report, 2);
    assert_eq!((&told["code"], &report["bugs"]), (&"PAGE_FAULT".into(), &1.into()), "{report:#}");
    assert!(told["error"].as_str().unwrap().contains("no list"), "{told:#}");
    // The application is at fault, and not the recording.
    assert_eq!(sandbox.read(&entry[0]), recorded);
    let bug = run_of(&sandbox, &report)["bugs"][0].clone();
    assert_eq!(bug["trace"].as_array().unwrap().len(), 3, "{bug:#}");
    // A later run that meets nothing does not stand before it.
    lab.set("");
    run(&lab, &sandbox, &silent(), RW).exits(0);
    let verdict = |code: i32| {
        let answer = sandbox.run(&["verify", "--json", "--base-url", &lab.url]).exits(code).json();
        answer["bugs"][0]["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(0), "fixed");
    lab.set("throws");
    assert_eq!(verdict(1), "still_broken");
}

#[test]
fn the_oracles_of_a_flow_can_be_put_off() {
    let (lab, sandbox) = (Lab::start(notes), Sandbox::new());
    record(&lab, &sandbox, FLOW);
    lab.set("throws");
    let report = run(&lab, &sandbox, &silent(), &[RW, &["--no-strict-oracles"]].concat()).exits(0).json();
    assert_eq!(report["bugs"], 0, "{report:#}");
}

#[test]
fn an_address_that_answers_404_fails_the_step_that_opens_it() {
    let (lab, sandbox) = (Lab::start(notes), Sandbox::new());
    sandbox
        .write("flows/f.yaml", "name: gone\nsteps:\n  - open: /gone\n  - expect: { role: heading, name: Not here }\n");
    let report = lab.run_alone(&sandbox, &[]).exits(1).json();
    let told = step(&report, 1);
    assert_eq!(told["code"], "PAGE_FAULT", "{report:#}");
    assert!(told["error"].as_str().unwrap().contains("404"), "{told:#}");
    let text = sandbox.run(&["flow", "flows", "--base-url", &lab.url]).exits(1).stdout;
    assert!(text.contains("1 bug met on the way, in .agent-test/runs/"), "{text}");
    lab.run_alone(&sandbox, &["--no-strict-oracles"]).exits(0);
}
