//! Which recording a step gets, what becomes of it, and what is said of it: the cases K, W, P, S and V of the replay cache.

use std::time::Duration;

use serde_json::{Value, json};

use crate::flow_kit::{Lab, RW, by_goal, edit, names, record, recordings, run, step};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

fn page(path: &str, mode: &str) -> Option<String> {
    let body = match path.split('?').next()? {
        "/cart" => "<h1>Cart</h1><button onclick=\"did('add'); say(['One', 'Two', 'Three'][window.n = (window.n ?? -1) + 1] + ' in the cart')\">Add</button><button>Nothing</button><button onclick=\"this.remove()\">Hide me</button><button onclick=\"location = '/empty'\">Leave</button><p role=status id=out></p>".to_owned(),
        "/shop" => {
            let label = if mode == "renamed" { "Redeem" } else { "Apply" };
            let out = match mode {
                "other words" => "say('Ten percent off')",
                "confirm" => "document.getElementById('ask').hidden = false",
                _ => "say('10% off')",
            };
            format!("<h1>Shop</h1><label>Code <input></label><button onclick=\"did('{label}'); {out}\">{label}</button><p role=status id=out></p><div role=alertdialog aria-label=Sure id=ask hidden><p>Really?</p><button onclick=\"did('yes'); document.getElementById('ask').remove(); say('10% off')\">Yes</button></div>")
        }
        "/order" => "<h1>Orders</h1><form action=/hello><label>Customer <input name=who></label><button>Order</button></form>".to_owned(),
        "/hello" => "<h1 id=out></h1><script>say('Order for ' + new URLSearchParams(location.search).get('who'))</script>".to_owned(),
        user if user.starts_with("/user/") => "<h1>User</h1><script>did(location.pathname + location.search)</script>".to_owned(),
        "/empty" => String::new(),
        _ => return None,
    };
    Some(body)
}

fn start() -> (Lab, Sandbox) {
    (Lab::start(page), Sandbox::new())
}

const DONE: Reply = Reply::Move("done", None, None);
const SHOP: &str = "steps:\n  - open: /shop\n  - act: \"type 'SUMMER' into 'Code'; tap 'Apply'\"\n  - expect: { role: heading, text: Shop }\n";
const ADD: &str = "steps:\n  - open: /cart\n  - act: \"tap 'Add'\"\n  - expect: { role: status }\n";

fn by_hand() -> ModelServer {
    ModelServer::start(&[Reply::Make(by_goal)])
}

fn redeems() -> ModelServer {
    ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE])
}

fn cache(report: &Value) -> Value {
    step(report, 2)["cache"].clone()
}

#[test]
fn k1_k11_equal_steps_have_a_recording_each_and_steps_between_them_keep_them_apart() {
    let (lab, sandbox) = start();
    let flow = "steps:\n  - open: /cart\n  - act: \"tap 'Add'\"\n  - expect: { text: One in the cart }\n  - act: \"tap 'Add'\"\n  - expect: { text: Two in the cart }\n";
    let paths = record(&lab, &sandbox, flow);
    let mut indices: Vec<Value> = paths
        .iter()
        .map(|path| serde_json::from_str::<Value>(&sandbox.read(path)).unwrap()["recordedFor"]["callIndex"].clone())
        .collect();
    indices.sort_by_key(Value::as_u64);
    assert_eq!(indices, [json!(0), json!(1)]);
    assert_eq!(lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"], 2);
    assert_eq!(recordings(&sandbox), paths);
}

#[test]
fn k2_k12_two_targets_have_a_recording_each_both_replay_and_both_are_listed() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", ADD);
    let wide: &[&str] = &["--cache", "read-write", "--target", "desktop"];
    let small: &[&str] = &["--cache", "read-write", "--target", "phone", "--viewport", "390x844"];
    for target in [wide, small] {
        let report = run(&lab, &sandbox, &by_hand(), target).exits(0).json();
        assert_eq!(cache(&report)["write"], "saved", "{report:#}");
    }
    assert_eq!(recordings(&sandbox).len(), 2);
    for target in [wide, small] {
        assert_eq!(lab.run_alone(&sandbox, target).exits(0).json()["cache"]["replayed"], 1);
    }
    let listed = sandbox.run(&["cache", "ls"]).exits(0).stdout;
    assert!(listed.contains("  desktop  ") && listed.contains("  phone  "), "{listed}");
    assert!(sandbox.run(&["cache", "prune", "flows"]).exits(0).stdout.starts_with("0 recordings"));
    assert!(sandbox.run(&["cache", "explain", "flows", "--target", "phone"]).exits(0).stdout.starts_with("replays"));
    assert!(sandbox.run(&["cache", "explain", "flows"]).exits(0).stdout.starts_with("no-entry"));
}

#[test]
fn k3_k4_s111_two_agents_are_apart_and_another_context_is_a_miss_that_strict_names() {
    let (lab, sandbox) = start();
    let flow = |told: &str| {
        format!(
            "agents: {{ buyer: You buy., seller: {told} }}\nsteps:\n  - open: /cart\n  - act: \"tap 'Add'\"\n    agent: buyer\n  - expect: {{ text: One in the cart }}\n  - act: \"tap 'Add'\"\n    agent: seller\n  - expect: {{ text: Two in the cart }}\n"
        )
    };
    let paths = record(&lab, &sandbox, &flow("You sell."));
    for path in &paths {
        let entry: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
        assert_eq!(entry["recordedFor"]["callIndex"], 0, "each agent counts its own steps");
    }
    assert_eq!((paths.len(), lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"].as_u64()), (2, Some(2)));
    // One agent is told something else: its step alone is stale.
    sandbox.write("flows/f.yaml", &flow("You sell dear."));
    let strict: &[&str] = &["--cache", "read-write", "--strict-cache"];
    let silent = ModelServer::start(&[DONE]);
    let report = run(&lab, &sandbox, &silent, strict).exits(2).json();
    let told = step(&report, 4);
    let error = told["error"].as_str().unwrap();
    assert_eq!((&told["code"], silent.calls()), (&json!("REPLAY_STALE"), 0), "{report:#}");
    assert!(paths.iter().any(|path| error.contains(path.as_str())) && error.contains("context"), "{error}");
    let model = by_hand();
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert!(model.asked()[0].words().contains("You sell dear."));
    assert_eq!(
        (&step(&report, 2)["cache"]["mode"], &step(&report, 4)["cache"]["reason"]),
        (&json!("self-finalized"), &json!("no-entry"))
    );
    lab.run_alone(&sandbox, strict).exits(0);
}

#[test]
fn k7_s108_a_store_that_cannot_be_read_is_a_slower_run_even_under_strict() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, ADD).remove(0);
    std::fs::remove_file(sandbox.file(&path)).unwrap();
    std::fs::create_dir(sandbox.file(&path)).unwrap();
    let report = run(&lab, &sandbox, &by_hand(), &["--cache", "read-write", "--strict-cache"]).exits(0).json();
    let cache = cache(&report);
    assert_eq!(
        (&cache["mode"], &cache["reason"], &cache["write"]),
        (&json!("missed"), &json!("invalid-entry"), &json!("not-written")),
        "{report:#}"
    );
}

/// Under strict the flow fails because of this, asks nobody, says what to do, and keeps the recording.
#[track_caller]
fn is_stale(lab: &Lab, sandbox: &Sandbox, path: &str, reason: &str) {
    let before = sandbox.read(path);
    let silent = ModelServer::start(&[DONE]);
    let report = run(lab, sandbox, &silent, &["--cache", "read-write", "--strict-cache"]).exits(2).json();
    let told = step(&report, 2);
    assert_eq!((&told["code"], &told["cache"]["reason"]), (&json!("REPLAY_STALE"), &json!(reason)), "{report:#}");
    let error = told["error"].as_str().unwrap();
    let advice = "--strict-cache is on: run once without it where recordings may be written";
    assert!(error.contains(reason) && error.contains(advice) && error.contains(path), "{error}");
    assert_eq!((silent.calls(), sandbox.read(path) == before), (0, true));
}

/// A run that is not strict meets the same recording, and heals it: then a strict one passes without a model.
#[track_caller]
fn heals(lab: &Lab, sandbox: &Sandbox, model: &ModelServer, reason: &str) {
    let report = run(lab, sandbox, model, RW).exits(0).json();
    let cache = cache(&report);
    assert_eq!((&cache["reason"], &cache["write"]), (&json!(reason), &json!("saved")), "{report:#}");
    let silent = ModelServer::start(&[DONE]);
    let report = run(lab, sandbox, &silent, &["--cache", "read-write", "--strict-cache"]).exits(0).json();
    assert_eq!((&report["cache"]["replayed"], silent.calls()), (&json!(1), 0), "{report:#}");
}

#[test]
fn s105_s106_a_renamed_button_is_stale_under_strict_and_a_lenient_run_heals_it() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, SHOP).remove(0);
    lab.set("renamed");
    is_stale(&lab, &sandbox, &path, "target-not-found");
    heals(&lab, &sandbox, &redeems(), "target-not-found");
}

#[test]
fn s105_s106_another_route_is_stale_under_strict_and_a_lenient_run_heals_it() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, SHOP).remove(0);
    sandbox.write("flows/f.yaml", &SHOP.replace("/shop", "/shop?view=new"));
    is_stale(&lab, &sandbox, &path, "wrong-context");
    heals(&lab, &sandbox, &by_hand(), "wrong-context");
}

#[test]
fn k8_s105_s106_an_entry_that_cannot_be_read_is_stale_under_strict_and_a_lenient_run_heals_it() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, ADD).remove(0);
    edit(&sandbox, &path, |entry| entry["actions"][0]["verb"] = json!("fly"));
    is_stale(&lab, &sandbox, &path, "invalid-entry");
    heals(&lab, &sandbox, &by_hand(), "invalid-entry");
}

#[test]
fn what_is_no_recording_at_all_is_never_taken_away_in_part() {
    let sandbox = Sandbox::new();
    let path = |letter: &str| format!(".agent-test/cache/{}.json", letter.repeat(64));
    let large = "x".repeat(2 << 20);
    sandbox.write(&path("a"), &large);
    sandbox.write(&path("b"), "");
    std::fs::write(sandbox.file(&path("b")), b"\xff\xfe").unwrap();
    let told = sandbox.run(&["cache", "clear", "--json"]).exits(1).json();
    assert_eq!((&told["cleared"], told["stayed"].as_array().unwrap().len()), (&json!(1), 1), "{told:#}");
    assert!(told["stayed"][0].as_str().unwrap().contains(&path("a")), "{told:#}");
    assert!(sandbox.read(&path("a")) == large && !sandbox.file(&path("b")).exists());
    sandbox.run(&["cache", "undo", &"b".repeat(64)]).exits(0);
    assert_eq!(std::fs::read(sandbox.file(&path("b"))).unwrap(), b"\xff\xfe");
}

#[test]
fn k10_of_two_repetitions_the_first_records_and_the_second_replays() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", ADD);
    let model = by_hand();
    let report = run(&lab, &sandbox, &model, &["--cache", "read-write", "--repeat-each", "2"]).exits(0).json();
    assert_eq!(report["cache"], json!({ "replayed": 1, "handedOff": 0, "missed": 1 }), "{report:#}");
    assert_eq!((model.calls(), recordings(&sandbox).len()), (2, 1));
}

#[test]
fn s108_what_never_could_replay_runs_live_under_strict() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", ADD);
    let strict: &[&str] = &["--cache", "read-write", "--strict-cache"];
    let report = run(&lab, &sandbox, &by_hand(), strict).exits(0).json();
    assert_eq!((&cache(&report)["reason"], &cache(&report)["write"]), (&json!("no-entry"), &json!("saved")));
    edit(&sandbox, &recordings(&sandbox)[0], |entry| entry["truncated"] = json!("by hand"));
    let report = run(&lab, &sandbox, &by_hand(), strict).exits(0).json();
    assert_eq!((&cache(&report)["reason"], &cache(&report)["write"]), (&json!("truncated"), &json!("saved")));
    sandbox.write("flows/f.yaml", &ADD.replace("{ role: status }", "{ text: Nothing of the kind }"));
    let report = run(&lab, &sandbox, &by_hand(), &["--strict-cache", "--retries", "1"]).exits(1).json();
    let second = &report["flows"][0]["attempts"][1];
    assert_eq!((&second["steps"][1]["cache"]["reason"], &second["outcome"]), (&json!("retry"), &json!("failed")));
}

#[test]
fn w79_an_end_in_other_words_that_the_agent_accepts_is_anchored_anew() {
    let (lab, sandbox) = start();
    record(&lab, &sandbox, SHOP);
    lab.set("other words");
    let report = run(&lab, &sandbox, &ModelServer::start(&[DONE]), RW).exits(0).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["write"]),
        (&json!("end-mismatch"), &json!("saved")),
        "{report:#}"
    );
    assert_eq!(lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"], 1);
}

#[test]
fn e74_a_new_question_is_a_mismatch_its_repair_evicts_and_the_next_run_records() {
    let (lab, sandbox) = start();
    record(&lab, &sandbox, SHOP);
    lab.set("confirm");
    let model = ModelServer::start(&[Reply::Move("tap", Some("Yes"), None), DONE]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["write"]),
        (&json!("end-mismatch"), &json!("evicted")),
        "{report:#}"
    );
    let type_it = Reply::Move("type", Some("Code"), Some("SUMMER"));
    let model = ModelServer::start(&[
        type_it,
        Reply::Move("tap", Some("Apply"), None),
        Reply::Move("tap", Some("Yes"), None),
        DONE,
    ]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["write"]),
        (&json!("no-entry"), &json!("saved")),
        "{report:#}"
    );
    assert_eq!(lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"], 1);
}

#[test]
fn w82_w90_a_failed_step_without_a_replay_and_a_read_only_run_leave_the_recording() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, SHOP).remove(0);
    let before = sandbox.read(&path);
    // Read only: neither a pass nor a failed check after it touches anything.
    sandbox.write("flows/f.yaml", &SHOP.replace("text: Shop", "text: Elsewhere"));
    lab.run_alone(&sandbox, &["--cache", "read-only"]).exits(1);
    assert_eq!((sandbox.read(&path), names(&sandbox, ".agent-test/cache-proposals").len()), (before.clone(), 0));
    // Nothing of it was replayed, and the agent gave up.
    sandbox.write("flows/f.yaml", &SHOP.replace("/shop", "/cart"));
    let gives_up = ModelServer::start(&[Reply::Move("fail", None, None)]);
    let report = run(&lab, &sandbox, &gives_up, RW).exits(1).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["write"]),
        (&json!("wrong-context"), &Value::Null),
        "{report:#}"
    );
    assert_eq!(sandbox.read(&path), before);
}

#[test]
fn w83_a_run_that_is_stopped_leaves_the_recording() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, SHOP).remove(0);
    let before = sandbox.read(&path);
    lab.set("renamed");
    let model = ModelServer::start(&[Reply::Hang]);
    let mut child = model.command(&sandbox, "openai", &lab.arguments(RW)).spawn().unwrap();
    while model.calls() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it asked");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert_eq!((sandbox.read(&path), names(&sandbox, ".agent-test/cache-quarantine").len()), (before, 0));
}

#[test]
fn w84_w91_w92_what_no_check_follows_or_nothing_came_of_is_not_recorded_and_a_removal_is() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", "steps:\n  - open: /cart\n  - act: \"tap 'Add'\"\n");
    let report = run(&lab, &sandbox, &by_hand(), RW).exits(0).json();
    assert_eq!((&cache(&report)["write"], recordings(&sandbox).len()), (&json!("unconfirmed"), 0));
    sandbox.write("flows/f.yaml", &ADD.replace("Add", "Nothing").replace("role: status", "role: heading"));
    let report = run(&lab, &sandbox, &by_hand(), RW).exits(0).json();
    assert_eq!((&cache(&report)["write"], recordings(&sandbox).len()), (&json!("no-change"), 0));
    let removal = ADD.replace("Add", "Hide me").replace("role: status", "role: heading");
    let path = record(&lab, &sandbox, &removal).remove(0);
    let entry: Value = serde_json::from_str(&sandbox.read(&path)).unwrap();
    assert_eq!((&entry["endAnchors"], &entry["goneAnchors"][0]["name"]), (&Value::Null, &json!("Hide me")));
    assert_eq!(lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"], 1);
}

#[test]
fn w87_a_judge_that_does_not_answer_leaves_the_recording_of_a_whole_replay() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", &SHOP.replace("expect: { role: heading, text: Shop }", "assert: the discount shows"));
    let holds = Reply::Say("{\"holds\":true,\"reason\":\"it does\"}");
    let type_it = Reply::Move("type", Some("Code"), Some("SUMMER"));
    let model = ModelServer::start(&[type_it, Reply::Move("tap", Some("Apply"), None), DONE, holds]);
    run(&lab, &sandbox, &model, RW).exits(0);
    let path = recordings(&sandbox).remove(0);
    let before = sandbox.read(&path);
    let report = run(&lab, &sandbox, &ModelServer::start(&[Reply::Status(401)]), RW).exits(1).json();
    assert_eq!(
        (&cache(&report)["mode"], &step(&report, 3)["code"]),
        (&json!("self-finalized"), &json!("NO_VERDICT")),
        "{report:#}"
    );
    assert_eq!(sandbox.read(&path), before);
}

#[test]
fn w94_a_step_that_begins_or_ends_on_a_screen_that_cannot_be_read_runs_and_is_not_recorded() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", "steps:\n  - open: /empty\n  - act: go and add\n  - expect: { role: status }\n");
    let model = ModelServer::start(&[
        Reply::Move("navigate", None, Some("/cart")),
        Reply::Move("tap", Some("Add"), None),
        DONE,
    ]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!((&cache(&report)["write"], recordings(&sandbox).len()), (&json!("no-change"), 0), "{report:#}");
    sandbox.write("flows/f.yaml", "steps:\n  - open: /cart\n  - act: \"tap 'Leave'\"\n  - expect: { url: /empty }\n");
    let report = run(&lab, &sandbox, &by_hand(), RW).exits(0).json();
    assert_eq!((&cache(&report)["write"], recordings(&sandbox).len()), (&json!("no-change"), 0), "{report:#}");
}

#[test]
fn w95_a_step_in_a_new_window_is_recorded_only_when_it_opens_its_page_itself() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", "steps:\n  - act: go and add\n  - expect: { role: status }\n");
    let (go, add) = (Reply::Move("navigate", None, Some("/cart")), Reply::Move("tap", Some("Add"), None));
    let model = ModelServer::start(&[Reply::Move("press", None, Some("Tab")), go.clone(), add.clone(), DONE]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!(
        (&step(&report, 1)["cache"]["write"], recordings(&sandbox).len()),
        (&json!("no-change"), 0),
        "{report:#}"
    );
    run(&lab, &sandbox, &ModelServer::start(&[go, add, DONE]), RW).exits(0);
    let entry: Value = serde_json::from_str(&sandbox.read(&recordings(&sandbox)[0])).unwrap();
    assert_eq!((&entry["startPath"], &entry["endPath"]), (&Value::Null, &json!("/cart")));
    assert_eq!(lab.run_alone(&sandbox, RW).exits(0).json()["cache"]["replayed"], 1);
}

#[test]
fn w97_what_an_older_recording_does_not_say_of_its_key_is_filled_in_once() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, ADD).remove(0);
    let whole = sandbox.read(&path);
    edit(&sandbox, &path, |entry| drop(entry.as_object_mut().unwrap().remove("keyedBy")));
    let report = lab.run_alone(&sandbox, RW).exits(0).json();
    assert_eq!((&cache(&report)["write"], sandbox.read(&path)), (&json!("kept"), whole));
}

#[test]
fn p98_p99_a_slot_stands_in_texts_and_addresses_and_one_that_nothing_fills_is_never_typed() {
    let (lab, sandbox) = start();
    let flow = "params:\n  who: { default: Ada Lovelace, unique: true }\nsteps:\n  - open: /order\n  - act: \"type '{{who}}' into 'Customer'; tap 'Order'\"\n  - expect: { role: heading, text: \"Order for {{who}}\" }\n";
    let path = record(&lab, &sandbox, flow).remove(0);
    let text = sandbox.read(&path);
    assert!(text.contains("Order for {{param:/who}}") && !text.contains("Ada") && !text.contains("Lovelace"), "{text}");
    let report = lab.run_alone(&sandbox, &["--cache", "read-write", "--param", "who=Grace Hopper"]).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
    sandbox.write(&path, &text.replace("{{param:/who}}", "{{param:/nobody}}"));
    let report = lab.run_alone(&sandbox, RW).exits(2).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["replayedActions"]),
        (&json!("invalid-entry"), &json!(0)),
        "{report:#}"
    );
}

#[test]
fn p98_a_value_of_this_run_is_a_slot_in_typed_texts_paths_queries_and_headings_and_the_next_one_replays() {
    let (lab, sandbox) = start();
    let flow = "params:\n  who: { default: Ada Lovelace, unique: true }\nsteps:\n  - open: /order\n  - act: order as {{who}}\n  - expect: { role: heading, text: \"Order for {{who}}\" }\n";
    sandbox.write("flows/f.yaml", flow);
    let goes = |address| Reply::Move("navigate", None, Some(address));
    let model = ModelServer::start(&[
        goes("/user/Ada%20Lovelace"),
        goes("/user/find?who=Ada+Lovelace"),
        goes("/order"),
        Reply::Move("type", Some("Customer"), Some("Ada Lovelace")),
        Reply::Move("tap", Some("Order"), None),
        DONE,
    ]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!(cache(&report)["write"], "saved", "{report:#}");
    assert_eq!(lab.pressed(), ["/user/Ada%20Lovelace", "/user/find?who=Ada+Lovelace"]);
    let text = sandbox.read(&recordings(&sandbox)[0]);
    let entry: Value = serde_json::from_str(&text).unwrap();
    let values: Vec<&Value> = (0..4).map(|at| &entry["actions"][at]["value"]).collect();
    assert_eq!(
        values,
        [
            &json!("/user/{{param:/who:percent}}"),
            &json!("/user/find?who={{param:/who:form}}"),
            &json!("/order"),
            &json!("{{param:/who}}")
        ]
    );
    assert!(entry["endAnchors"].to_string().contains("Order for {{param:/who}}"), "{text}");
    let raw = text.to_lowercase();
    assert!(!raw.contains("ada") && !raw.contains("lovelace"), "{text}");
    let next: &[&str] = &["--cache", "read-write", "--strict-cache", "--param", "who=Grace Hopper"];
    let report = lab.run_alone(&sandbox, next).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
    assert_eq!(lab.pressed(), ["/user/Grace%20Hopper", "/user/find?who=Grace+Hopper"]);
}

#[test]
fn p102_p104_a_secret_in_a_title_or_on_the_page_is_in_no_recording_and_no_answer() {
    let (lab, sandbox) = start();
    let secret = "geheim-0815";
    let flow = |context: &str| {
        format!(
            "name: order of {secret}\ncontext: {context}\nsecrets: [PIN]\nsteps:\n  - open: /order\n  - act: \"type_secret 'PIN' into 'Customer'; tap 'Order'\"\n  - expect: {{ role: heading }}\n"
        )
    };
    let with = |model: Option<&ModelServer>, more: &[&str]| -> Answer {
        let arguments = lab.arguments(more);
        let mut command =
            model.map_or_else(|| sandbox.command(&arguments), |model| model.command(&sandbox, "openai", &arguments));
        command.env("AGENT_TEST_SECRET_PIN", secret).output().unwrap().into()
    };
    sandbox.write("flows/f.yaml", &flow("Before."));
    let model = by_hand();
    with(Some(&model), RW).exits(0);
    assert!(!sandbox.read(&recordings(&sandbox)[0]).contains(secret));
    assert!(model.asked().iter().all(|asked| !asked.words().contains(secret)));
    sandbox.write("flows/f.yaml", &flow("After."));
    let strict = with(None, &["--cache", "read-write", "--strict-cache", "--verbose"]).exits(2);
    let report = strict.json();
    assert_eq!(step(&report, 2)["code"], "REPLAY_STALE", "{report:#}");
    assert!(!strict.stdout.contains(secret) && !strict.stderr.contains(secret), "{}{}", strict.stdout, strict.stderr);
}

#[test]
fn v112_progress_says_who_has_a_step_and_nothing_of_one_that_is_not_recorded() {
    let (lab, sandbox) = start();
    sandbox.write("flows/f.yaml", SHOP);
    let verbose: &[&str] = &["--cache", "read-write", "--verbose"];
    let (cache, agent) = ("step 2 is with the cache", "step 2 is with the agent");
    let first = run(&lab, &sandbox, &by_hand(), verbose).exits(0).stderr;
    assert!(!first.contains(cache) && !first.contains(agent), "{first}");
    let second = lab.run_alone(&sandbox, verbose).exits(0).stderr;
    assert!(second.contains(cache) && !second.contains(agent), "{second}");
    lab.set("renamed");
    let third = run(&lab, &sandbox, &redeems(), verbose).exits(0).stderr;
    assert!(third.find(cache).zip(third.find(agent)).is_some_and(|(cache, agent)| cache < agent), "{third}");
}

#[test]
fn with_a_key_only_signed_recordings_are_played_and_a_person_may_sign_one() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, ADD).remove(0);
    let with = |arguments: &[&str]| -> Answer {
        sandbox.command(arguments).env("AGENT_TEST_CACHE_KEY", "of the project").output().unwrap().into()
    };
    let strict = lab.arguments(&["--strict-cache"]);
    let report = with(&strict).exits(2).json();
    assert!(step(&report, 2)["error"].as_str().unwrap().contains("cache sign"), "{report:#}");
    assert!(with(&["cache", "explain", "flows"]).exits(0).stdout.starts_with("invalid-entry"));
    assert!(with(&["cache", "sign"]).exits(0).stdout.starts_with("1 recording"));
    with(&strict).exits(0);
    edit(&sandbox, &path, |entry| entry["actions"][0]["target"]["name"] = json!("Delete all"));
    with(&strict).exits(2);
    assert!(lab.pressed().iter().all(|what| what == "add"));
    let told = sandbox.run(&["cache", "sign"]).exits(2).stderr;
    assert!(told.contains("hint: set AGENT_TEST_CACHE_KEY"), "{told}");
}

#[test]
fn what_does_not_wait_in_place_of_a_recording_is_said_not_to_wait() {
    let (lab, sandbox) = start();
    let path = record(&lab, &sandbox, ADD).remove(0);
    let key = path.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned();
    let told = sandbox.run(&["cache", "diff", &key]).exits(2).stderr;
    assert!(told.contains("no proposal") && told.contains("cache show"), "{told}");
    assert_eq!(sandbox.run(&["cache", "apply"]).exits(0).stdout.trim(), "no proposal is waiting");
}
