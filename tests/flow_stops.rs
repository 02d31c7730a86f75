//! Where a replay stops in its middle: what was not sent is sent once more, and a budget of heals that is spent asks nobody.

use serde_json::{Value, json};

use crate::flow_kit::{Lab, RW, record, recordings, run, step};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Sandbox;

/// So often a target is followed before it is given up.
const AIMS: usize = 3;

fn page(path: &str, mode: &str) -> Option<String> {
    let out = "<h1>Shop</h1><p role=status id=out></p>";
    let body = match path {
        // It flees from the pointer so many times.
        "/flees" => {
            let times = if mode.is_empty() { "0" } else { mode };
            format!(
                "{out}<button id=go onclick=\"did('apply'); say('10% off')\">Apply</button><script>{{ let left = {times}, last = ''; const one = document.getElementById('go'); one.addEventListener('mousemove', (event) => {{ const at = event.clientX + ',' + event.clientY; if (left > 0 && at !== last) {{ last = at; left -= 1; did('fled'); one.style.marginLeft = one.style.marginLeft ? '' : '300px' }} }}) }}</script>"
            )
        }
        "/two" => {
            let (apply, save) = if mode.is_empty() { ("Apply", "Save") } else { ("Redeem", "Store") };
            format!(
                "{out}<button onclick=\"did('{apply}'); say('10% off')\">{apply}</button><button onclick=\"did('open'); say('Opened')\">Open</button><button onclick=\"did('{save}'); say('Saved')\">{save}</button>"
            )
        }
        _ => return None,
    };
    Some(body)
}

fn flow(open: &str, acts: &[&str]) -> String {
    let acts = acts.iter().map(|act| format!("  - act: \"{act}\"\n")).collect::<Vec<_>>().concat();
    format!("steps:\n  - open: {open}\n{acts}  - expect: {{ role: heading }}\n")
}

fn cache(report: &Value, number: usize) -> Value {
    step(report, number)["cache"].clone()
}

#[test]
fn l51_a_click_that_was_not_sent_is_sent_once_more_with_the_ladder_and_only_once() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    record(&lab, &sandbox, &flow("/flees", &["tap 'Apply'"]));
    // How often the target fled, and how often it was pressed. A report of the page may be late: so often at most.
    let counts = || {
        let told = lab.pressed();
        let applied = told.iter().filter(|what| *what == "apply").count();
        (told.len() - applied, applied)
    };
    lab.set("99");
    let report = lab.run_alone(&sandbox, &[]).json();
    let (fled, applied) = counts();
    assert_eq!((&cache(&report, 2)["reason"], applied), (&json!("action-failed"), 0), "{report:#}");
    assert!(fled <= AIMS, "{fled}");
    lab.set(&AIMS.to_string());
    let report = lab.run_alone(&sandbox, &["--relocate"]).exits(0).json();
    assert_eq!((&cache(&report, 2)["mode"], counts().1), (&json!("self-finalized"), 1), "{report:#}");
    lab.set("99");
    let report = lab.run_alone(&sandbox, &["--relocate"]).json();
    let (fled, applied) = counts();
    assert_eq!((&cache(&report, 2)["reason"], applied), (&json!("action-failed"), 0), "{report:#}");
    assert!(fled <= 2 * AIMS, "{fled}");
}

#[test]
fn r33_a_budget_of_heals_that_is_spent_ends_a_step_in_the_middle_of_its_replay() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    record(&lab, &sandbox, &flow("/two", &["tap 'Apply'", "tap 'Open'; tap 'Save'"]));
    let second = recordings(&sandbox).into_iter().find(|path| sandbox.read(path).contains("Save")).unwrap();
    let before = sandbox.read(&second);
    lab.set("renamed");
    let script = [
        Reply::Move("tap", Some("Redeem"), None),
        Reply::Move("done", None, None),
        Reply::Move("tap", Some("Store"), None),
        Reply::Move("done", None, None),
    ];
    let model = ModelServer::start(&script);
    let report = run(&lab, &sandbox, &model, &["--heal-budget", "1"]).exits(1).json();
    // The first heal is all that may be: the second step stops after what it replayed, and nobody is asked.
    assert_eq!((model.calls(), lab.pressed()), (2, vec!["Redeem".to_owned(), "open".to_owned()]), "{report:#}");
    let (told, kept) = (step(&report, 3), cache(&report, 3));
    assert_eq!(told["code"], "HEAL_REFUSED", "{report:#}");
    assert!(told["error"].as_str().unwrap().contains("budget of heals"), "{told:#}");
    assert_eq!((&kept["reason"], &kept["replayedActions"]), (&json!("target-not-found"), &json!(1)), "{told:#}");
    assert_eq!(sandbox.read(&second), before);
    // With one more it is healed too.
    let report = run(&lab, &sandbox, &ModelServer::start(&script), &[&["--heal-budget", "2"], RW].concat());
    report.exits(0);
    assert_eq!(lab.pressed(), ["Redeem", "open", "Store"]);
}
