//! Flows as specs that stand alone: played by Playwright, on the application that they were recorded on.

use serde_json::{Value, json};

use crate::export::play_specs_with;
use crate::flow_kit::{Lab, RW, edit, record, recordings};
use crate::sandbox::{Answer, Sandbox};

fn page(path: &str, mode: &str) -> Option<String> {
    let broken = mode == "broken";
    Some(match path.split('?').next()? {
        "/shop" => format!(
            "<h1>Shop</h1><label>Code <input data-testid=code></label><button onclick=\"did('apply'); {}\">Apply</button><p role=status id=out></p><p id=old>No code yet</p>",
            if broken { "" } else { "say('10% off'); document.getElementById('old').remove()" }
        ),
        "/order" => "<h1>Orders</h1><form action=/hello><label>Customer <input name=who></label><label>Pin <input name=pin type=password></label><button>Order</button></form>".to_owned(),
        "/hello" => format!(
            "<h1 id=out></h1><p>Total: <b>17</b></p><script>const who = new URLSearchParams(location.search); did(who.get('who') + ' ' + who.get('pin')); say('{} for ' + who.get('who'))</script>",
            if broken { "Nothing" } else { "Order" }
        ),
        "/list" => format!(
            "<h1>List</h1><ul><li>Bread <button onclick=\"did('bread')\">Like</button></li><li>Milk <button onclick=\"did('milk'); {}\">Like</button></li></ul>\
             <label>Size <select onchange=\"did('size ' + this.value)\"><option>Small<option>Large</select></label>\
             <label><input type=checkbox onchange=\"did('news ' + this.checked)\"> News</label>\
             <div><button onclick=\"did('first')\">Same</button><button onclick=\"did('second')\">Same</button></div>\
             <input aria-label=Find onkeydown=\"if (event.key === 'Enter') did('entered')\"><p role=status id=out></p>",
            if broken { "" } else { "say('Milk liked')" }
        ),
        _ => return None,
    })
}

fn start() -> (Lab, Sandbox) {
    (Lab::start(page), Sandbox::new())
}

fn export(lab: &Lab, sandbox: &Sandbox, more: &[&str]) -> Answer {
    let all = ["export", "--playwright", "--flow", "flows", "--out", "specs", "--base-url", &lab.url, "--json"];
    sandbox.run(&[&all[..], more].concat())
}

/// What Playwright says of the one spec.
fn play(lab: &Lab, sandbox: &Sandbox, variables: &[(&str, &str)]) -> String {
    let outcomes = play_specs_with(&sandbox.file("specs"), &lab.url, variables);
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.into_values().next().unwrap()
}

const SHOP: &str = "name: applies a discount code\nsteps:\n  - open: /shop\n  - act: \"type 'SUMMER' into 'Code'; tap 'Apply'\"\n  - expect: { role: status, text: 10% off }\n";

#[test]
fn an_exported_flow_passes_where_its_outcome_comes_and_fails_where_it_does_not() {
    let (lab, sandbox) = start();
    record(&lab, &sandbox, SHOP);
    let document = export(&lab, &sandbox, &[]).exits(0).json();
    assert_eq!((&document["leftOut"], &document["files"][0]["notes"]), (&json!([]), &json!([])), "{document:#}");
    let spec = sandbox.read(document["files"][0]["path"].as_str().unwrap());
    let own = spec.split("// ------").next().unwrap().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!("flow_spec", own.replace(&lab.url, "http://127.0.0.1:PORT"));
    assert_eq!(play(&lab, &sandbox, &[]), "passed");
    assert_eq!(lab.pressed(), ["apply"]);
    lab.set("broken");
    let said = play(&lab, &sandbox, &[]);
    assert!(said.contains("toBeVisible") || said.contains("10% off"), "{said}");
    // Its own check as well, without what was recorded of the end.
    lab.set("");
    sandbox.write("flows/f.yaml", &SHOP.replace("10% off", "20% off"));
    export(&lab, &sandbox, &["--force"]).exits(0);
    assert_ne!(play(&lab, &sandbox, &[]), "passed");
}

#[test]
fn values_of_a_run_and_secrets_come_from_the_environment_and_stand_in_no_file() {
    let (lab, sandbox) = start();
    let secret = "geheim-0815";
    sandbox.write(
        "flows/f.yaml",
        "name: order with geheim-0815\nparams: { who: { default: Ada Lovelace, unique: true } }\nsecrets: [PIN]\nsteps:\n  - open: /order\n  - act: \"type '{{who}}' into 'Customer'; type_secret 'PIN' into 'Pin'; tap 'Order'\"\n  - expect: { role: heading, text: \"Order for {{who}}\" }\n  - extract: { total: { contains: Total } }\n  - expect: { text: \"{{total}}\" }\n",
    );
    let model = crate::model_kit::ModelServer::start(&[crate::model_kit::Reply::Make(crate::flow_kit::by_goal)]);
    let mut command = model.command(&sandbox, "openai", &lab.arguments(RW));
    Answer::from(command.env("AGENT_TEST_SECRET_PIN", secret).output().unwrap()).exits(0);
    lab.pressed();
    let arguments = ["export", "--playwright", "--flow", "flows", "--out", "specs", "--base-url", &lab.url, "--json"];
    let mut command = sandbox.command(&arguments);
    let told = Answer::from(command.env("AGENT_TEST_SECRET_PIN", secret).output().unwrap()).exits(0);
    let spec = sandbox.read(told.json()["files"][0]["path"].as_str().unwrap());
    assert!(!spec.contains(secret) && !spec.contains("{{") && !told.stdout.contains(secret), "{spec}");
    let pin = ("AGENT_TEST_SECRET_PIN", "4711");
    assert_eq!(play(&lab, &sandbox, &[pin]), "passed");
    assert_eq!(play(&lab, &sandbox, &[pin, ("AGENT_TEST_PARAM_WHO", "Grace \"Amazing\" Hopper")]), "passed");
    assert_eq!(lab.pressed(), ["Ada Lovelace 4711", "Grace \"Amazing\" Hopper 4711"]);
    let said = play(&lab, &sandbox, &[]);
    assert!(said.contains("AGENT_TEST_SECRET_PIN"), "{said}");
}

#[test]
fn rows_twins_states_and_keys_are_played_as_they_were_recorded() {
    let (lab, sandbox) = start();
    let flow = "steps:\n  - open: /list\n  - act: \"select 'Large' in 'Size'; check 'News'; type 'x' into 'Find'; press 'Enter' in 'Find'; tap 'Same'; tap 'Like'\"\n  - expect: { role: heading, text: List }\n  - expect: { role: listitem, count: 2, gone: false }\n  - expect: { role: checkbox, name: News, checked: true }\n  - expect: { text: Eggs, gone: true }\n  - expect: { url: /list }\n";
    record(&lab, &sandbox, flow);
    // The second of the twins, and the row of the milk.
    let path = recordings(&sandbox).remove(0);
    edit(&sandbox, &path, |entry| {
        entry["actions"][4]["target"]["position"] = json!({ "index": 1, "of": 2 });
        entry["actions"][5]["target"]["within"] = json!("Milk");
        entry["endAnchors"].as_array_mut().unwrap().push(json!({ "role": "status", "text": "Milk liked" }));
    });
    export(&lab, &sandbox, &[]).exits(0);
    assert_eq!(play(&lab, &sandbox, &[]), "passed");
    assert_eq!(lab.pressed(), ["size Large", "news true", "entered", "second", "milk"]);
    lab.set("broken");
    assert_ne!(play(&lab, &sandbox, &[]), "passed");
}

#[test]
fn what_cannot_be_exported_is_told_with_its_step_and_no_flow_at_all_ends_with_two() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, SHOP).remove(0);
    sandbox.write("flows/other.yaml", "steps:\n  - open: /shop\n  - act: buy it\n  - assert: it is bought\n  - extract: { total: the total }\n  - wait_for: the end\n");
    let document = export(&lab, &sandbox, &[]).exits(1).json();
    assert_eq!((document["files"].as_array().unwrap().len(), &document["exitCode"]), (1, &json!(1)), "{document:#}");
    let told: Vec<(u64, &str)> = document["leftOut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["step"].as_u64().unwrap(), one["why"].as_str().unwrap()))
        .collect();
    assert_eq!(told.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [2, 3, 4, 5], "{document:#}");
    assert!(told[0].1.contains("no-entry") && told[1].1.contains("model"), "{document:#}");
    std::fs::remove_file(sandbox.file("flows/other.yaml")).unwrap();
    // A gap.
    edit(&sandbox, &path, |entry| {
        entry["actions"][1]["verb"] = json!("gap");
        entry["actions"][1]["derived"] = json!("date");
    });
    let none: Value = export(&lab, &sandbox, &["--force"]).exits(2).json();
    let message = none["error"]["message"].as_str().unwrap();
    assert!(message.contains("step 2") && message.contains("gap") && message.contains("flows/f.yaml"), "{none:#}");
    sandbox.run(&["export", "--flow", "flows", "--recorder-json"]).exits(2);
}
