//! Goal steps in a browser: recorded, replayed without a model, handed off, recorded anew.

use serde_json::Value;

use crate::flow_kit::{Lab, by_goal, names, step};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

const FLOW: &str = "\
name: applies a discount code
steps:
  - open: /checkout
  - act: apply the discount code SUMMER
  - expect: { role: status, text: 10% off }
";

fn checkout(path: &str, mode: &str) -> Option<String> {
    if path != "/checkout" {
        return None;
    }
    let label = match mode {
        "renamed" => "Redeem",
        "renamed again" => "Use code",
        _ => "Apply",
    };
    let out =
        if mode == "dead" { "" } else { "if (document.getElementById('code').value === 'SUMMER') say('10% off')" };
    Some(format!(
        "<h1>Checkout</h1><label>Discount code <input id=code></label> <button onclick=\"did('{label}'); {out}\">{label}</button><p role=status id=out></p>"
    ))
}

const TYPE: Reply = Reply::Move("type", Some("Discount code"), Some("SUMMER"));
const DONE: Reply = Reply::Move("done", None, None);

fn shop() -> (Lab, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.write("flows/discount.yaml", FLOW);
    (Lab::start(checkout), sandbox)
}

fn run(lab: &Lab, sandbox: &Sandbox, model: &ModelServer, provider: &str, more: &[&str]) -> Answer {
    model.command(sandbox, provider, &lab.arguments(more)).output().unwrap().into()
}

const RW: &[&str] = &["--cache", "read-write"];

/// Records the checkout, and gives back its one entry's text.
fn recorded(lab: &Lab, sandbox: &Sandbox) -> String {
    let model = ModelServer::start(&[TYPE, Reply::Move("tap", Some("Apply"), None), DONE]);
    run(lab, sandbox, &model, "openai_compatible", RW).exits(0);
    let entries = names(sandbox, ".agent-test/cache");
    assert_eq!(entries.len(), 1, "{entries:?}");
    format!(".agent-test/cache/{}", entries[0])
}

#[test]
fn the_story_of_the_discount_code() {
    let (lab, sandbox) = shop();
    // The first run records.
    let first = ModelServer::start(&[TYPE, Reply::Move("tap", Some("Apply"), None), DONE]);
    let report = run(&lab, &sandbox, &first, "openai_compatible", RW).exits(0).json();
    let cache = step(&report, 2)["cache"].clone();
    assert_eq!(
        (&cache["mode"], &cache["reason"], &cache["write"]),
        (&"missed".into(), &"no-entry".into(), &"saved".into()),
        "{report:#}"
    );
    assert!(!first.asked()[0].words().contains("Cached replay"), "a miss gives no notice");
    // The second one replays with no model call.
    let silent = ModelServer::start(&[DONE]);
    let report = run(&lab, &sandbox, &silent, "openai_compatible", RW).exits(0).json();
    let cache = step(&report, 2)["cache"].clone();
    assert_eq!((&cache["mode"], &cache["write"]), (&"self-finalized".into(), &"kept".into()), "{report:#}");
    assert_eq!((cache["replayedActions"].as_u64(), silent.calls()), (Some(2), 0));
    assert_eq!(report["saved"]["calls"], 3, "{report:#}");
    // The button is renamed: handed off after 1 of 2.
    lab.set("renamed");
    let third = ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE]);
    let report = run(&lab, &sandbox, &third, "openai_compatible", RW).exits(0).json();
    let told = step(&report, 2);
    let cache = &told["cache"];
    assert_eq!(
        (&cache["mode"], &cache["reason"], &cache["write"]),
        (&"agent-concluded".into(), &"target-not-found".into(), &"saved".into()),
        "{report:#}"
    );
    assert_eq!((cache["replayedActions"].as_u64(), cache["totalActions"].as_u64()), (Some(1), Some(2)));
    let schema = agent_test::schema::find("flow-report").unwrap().schema().to_value();
    assert!(jsonschema::is_valid(&schema, &report), "v114: {report:#}");
    assert_eq!(cache["detail"], "at action 2 of 2, tap button \"Apply\"");
    assert_eq!(told["healDiff"]["newControls"][0], "button \"Redeem\"");
    assert_eq!(report["cache"]["handedOff"], 1);
    let notice = "Cached replay already performed these recorded actions for this step:\n\
        1. type \"SUMMER\" into textbox \"Discount code\"\n\
        Replay stopped (target-not-found) after 1 of 2 recorded actions.\n\
        Continue the step from the CURRENT screen state shown below — do NOT redo the actions above.";
    let words = third.asked()[0].words();
    assert!(words.contains(notice) && words.find(notice) < words.find("The current screen"), "{words}");
    // The next run replays the whole step.
    let report = run(&lab, &sandbox, &silent, "openai_compatible", RW).exits(0).json();
    assert_eq!((&step(&report, 2)["cache"]["mode"], silent.calls()), (&"self-finalized".into(), 0), "{report:#}");
    // Renamed once more, under strict: it fails without a model call, and keeps the entry.
    lab.set("renamed again");
    let entry = format!(".agent-test/cache/{}", names(&sandbox, ".agent-test/cache")[0]);
    let before = sandbox.read(&entry);
    let report =
        run(&lab, &sandbox, &silent, "openai_compatible", &["--cache", "read-write", "--strict-cache"]).exits(2).json();
    let told = step(&report, 2);
    assert_eq!((&told["code"], silent.calls()), (&"REPLAY_STALE".into(), 0), "{report:#}");
    assert!(told["error"].as_str().unwrap().contains("--strict-cache"), "{told:#}");
    assert_eq!(sandbox.read(&entry), before);
    // A lenient run meets the same entry, and heals.
    let last = ModelServer::start(&[Reply::Move("tap", Some("Use code"), None), DONE]);
    run(&lab, &sandbox, &last, "openai_compatible", RW).exits(0);
    run(&lab, &sandbox, &silent, "openai_compatible", &["--cache", "read-write", "--strict-cache"]).exits(0);
}

#[test]
fn a_replay_leaves_bytes_and_time_of_its_entry_alone_and_needs_no_model() {
    let (lab, sandbox) = shop();
    let entry = sandbox.file(&recorded(&lab, &sandbox));
    let stamp = || (std::fs::read(&entry).unwrap(), std::fs::metadata(&entry).unwrap().modified().unwrap());
    let before = stamp();
    let report = lab.run_alone(&sandbox, &["--cache", "read-write", "--repeat-each", "2"]).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 2, "{report:#}");
    assert_eq!(stamp(), before);
}

#[test]
fn every_provider_finishes_the_same_hand_off() {
    let (lab, sandbox) = shop();
    recorded(&lab, &sandbox);
    lab.set("renamed");
    for provider in ["openai", "anthropic", "gemini", "openai_compatible"] {
        let model = ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE]);
        let report = run(&lab, &sandbox, &model, provider, &["--cache", "read-only"]).exits(0).json();
        assert_eq!(
            (&step(&report, 2)["cache"]["mode"], model.calls()),
            (&"agent-concluded".into(), 2),
            "{provider}: {report:#}"
        );
        assert!(model.asked()[0].words().contains("after 1 of 2 recorded actions"), "{provider}");
    }
}

#[test]
fn in_ci_a_healed_step_is_proposed_and_applied_by_hand() {
    let (lab, sandbox) = shop();
    let entry = recorded(&lab, &sandbox);
    let before = sandbox.read(&entry);
    lab.set("renamed");
    let model = ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE]);
    let report = run(&lab, &sandbox, &model, "openai", &[]).exits(0).json();
    assert_eq!(step(&report, 2)["cache"]["write"], "proposed", "{report:#}");
    assert_eq!(sandbox.read(&entry), before);
    let key = &names(&sandbox, ".agent-test/cache")[0][..12];
    let diff = sandbox.run(&["cache", "diff", key]).exits(0).stdout;
    assert!(diff.contains("- 2. tap button \"Apply\"") && diff.contains("+ 2. tap button \"Redeem\""), "{diff}");
    sandbox.run(&["cache", "apply"]).exits(0);
    let report = lab.run_alone(&sandbox, &[]).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
}

#[test]
fn a_replay_into_a_failed_check_goes_into_quarantine_and_comes_back() {
    let (lab, sandbox) = shop();
    let entry = recorded(&lab, &sandbox);
    let before = sandbox.read(&entry);
    sandbox.write("flows/discount.yaml", &FLOW.replace("10% off", "20% off"));
    let report = lab.run_alone(&sandbox, RW).exits(1).json();
    assert_eq!(step(&report, 2)["cache"]["write"], "evicted", "{report:#}");
    assert!(names(&sandbox, ".agent-test/cache").is_empty());
    let listed = sandbox.run(&["cache", "undo"]).exits(0).stdout;
    assert!(listed.contains("no check passed"), "{listed}");
    sandbox.run(&["cache", "undo", listed.split(' ').next().unwrap()]).exits(0);
    assert_eq!(sandbox.read(&entry), before);
}

#[test]
fn a_dead_model_leaves_the_recording_as_it_is() {
    let (lab, sandbox) = shop();
    let entry = recorded(&lab, &sandbox);
    let before = sandbox.read(&entry);
    lab.set("renamed");
    let model = ModelServer::start(&[Reply::Status(401)]);
    let report = run(&lab, &sandbox, &model, "openai", RW).exits(1).json();
    assert_eq!(step(&report, 2)["code"], "NO_VERDICT", "{report:#}");
    assert_eq!(sandbox.read(&entry), before);
}

#[test]
fn a_replay_whose_result_does_not_come_is_handed_off_with_a_warning_and_a_repair_evicts() {
    let (lab, sandbox) = shop();
    recorded(&lab, &sandbox);
    lab.set("dead");
    let model = ModelServer::start(&[Reply::Move("tap", Some("Apply"), None), Reply::Move("fail", None, None)]);
    let report = run(&lab, &sandbox, &model, "openai", RW).exits(1).json();
    let cache = step(&report, 2)["cache"].clone();
    assert_eq!((&cache["reason"], &cache["write"]), (&"end-mismatch".into(), &"evicted".into()), "{report:#}");
    assert!(cache["detail"].as_str().unwrap().contains("10% off"), "{cache:#}");
    assert!(model.asked()[0].words().contains("BEFORE you act"), "{}", model.asked()[0].words());
}

#[test]
fn a_step_without_an_agent_says_what_to_do_and_replays_go_on() {
    let (lab, sandbox) = shop();
    let report = lab.run_alone(&sandbox, RW).exits(2).json();
    let told = step(&report, 2);
    assert_eq!(told["code"], "NO_AGENT");
    assert!(told["error"].as_str().unwrap().contains("--model"), "{told:#}");
}

#[test]
fn the_policy_and_the_budget_of_heals_fail_a_step_without_asking() {
    let (lab, sandbox) = shop();
    recorded(&lab, &sandbox);
    lab.set("renamed");
    let model = ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE]);
    let report = run(&lab, &sandbox, &model, "openai", &["--heal-budget", "0"]).exits(1).json();
    assert_eq!((&step(&report, 2)["code"], model.calls()), (&"HEAL_REFUSED".into(), 0), "{report:#}");
    sandbox.write("flows/discount.yaml", &format!("heal: fail\n{FLOW}"));
    let report = run(&lab, &sandbox, &model, "openai", &[]).exits(1).json();
    assert_eq!((&step(&report, 2)["code"], model.calls()), (&"HEAL_REFUSED".into(), 0), "{report:#}");
    sandbox.write("flows/discount.yaml", &format!("heal: warn\n{FLOW}"));
    let report = run(&lab, &sandbox, &model, "openai", &[]).exits(0).json();
    assert!(step(&report, 2)["warning"].is_string(), "{report:#}");
}

#[test]
fn a_program_finishes_the_same_hand_off() {
    let (lab, sandbox) = shop();
    recorded(&lab, &sandbox);
    lab.set("renamed");
    sandbox.write(
        "agent.sh",
        "all=$(cat)\ncase \"$all\" in *'moves so far'*) echo '{\"tool\":\"done\",\"reason\":\"ok\"}' ;; *)\n\
         n=$(printf '%s' \"$all\" | sed -n 's/.*\\\\n\\([0-9]*\\)\\. button \\\\\"Redeem\\\\\".*/\\1/p')\n\
         echo \"{\\\"tool\\\":\\\"tap\\\",\\\"number\\\":$n}\" ;; esac\n",
    );
    let report = sandbox.run(&lab.arguments(&["--agent-command", "sh agent.sh"])).exits(0).json();
    let cache = step(&report, 2)["cache"].clone();
    assert_eq!((&cache["mode"], &cache["write"]), (&"agent-concluded".into(), &"proposed".into()), "{report:#}");
}

/// One page with everything that can be done to a page; each action leaves a line.
fn bench(path: &str, _: &str) -> Option<String> {
    match path {
        "/bench" => Some(
            "<h1>Bench</h1><ul id=log aria-label=Log></ul><script>window.log = (text) => { const li = document.createElement('li'); li.textContent = text; document.getElementById('log').append(li); did(text); };</script>\
             <label>Name <input onchange=\"log('named ' + this.value)\"></label>\
             <label>Size <select onchange=\"log('size ' + this.value)\"><option>Small<option>Large</select></label>\
             <label><input type=checkbox onchange=\"log('news ' + this.checked)\"> News</label>\
             <label>Photo <input type=file onchange=\"log('file ' + this.files[0].name)\"></label>\
             <button ondblclick=\"log('doubled')\">Twice</button>\
             <button onmouseenter=\"log('hovered')\">Over</button>\
             <button oncontextmenu=\"event.preventDefault(); log('context')\">Menu</button>\
             <input aria-label=Find onkeydown=\"if (event.key === 'Enter') log('entered')\">\
             <div role=button tabindex=0 draggable=true ondragstart=\"event.dataTransfer.setData('text', 'card')\">Card</div>\
             <div role=button tabindex=0 aria-label=Bin ondragover=\"event.preventDefault()\" ondrop=\"log('dropped ' + event.dataTransfer.getData('text'))\">Bin</div>\
             <iframe src=/inner width=300 height=60></iframe>\
             <x-box></x-box><script>customElements.define('x-box', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'closed' }).innerHTML = '<button>Deep</button>'; } });\
             document.addEventListener('click', (event) => { if (event.target.localName === 'x-box') log('deep'); });</script>"
                .to_owned(),
        ),
        "/inner" => Some("<button onclick=\"parent.log('framed')\">Inside</button>".to_owned()),
        _ => None,
    }
}

#[test]
fn every_kind_of_action_replays_in_frames_and_shadow_too() {
    let lab = Lab::start(bench);
    let sandbox = Sandbox::new();
    sandbox.write("photo.txt", "x");
    let moves = "type 'Ada' into 'Name'; select 'Large' in 'Size'; check 'News'; upload 'photo.txt' to 'Photo'; double_tap 'Twice'; hover 'Over'; secondary_tap 'Menu'; press 'Enter' in 'Find'; drag 'Card' to 'Bin'; tap 'Inside'; tap 'Deep'";
    sandbox.write(
        "flows/bench.yaml",
        &format!("steps:\n  - open: /bench\n  - act: \"{moves}\"\n  - expect: {{ text: deep }}\n"),
    );
    let model = ModelServer::start(&[Reply::Make(by_goal)]);
    run(&lab, &sandbox, &model, "openai", RW).exits(0);
    let first = lab.pressed();
    let expected = [
        "named Ada",
        "size Large",
        "news true",
        "file photo.txt",
        "doubled",
        "hovered",
        "context",
        "entered",
        "dropped card",
        "framed",
        "deep",
    ];
    for line in expected {
        assert!(first.iter().any(|done| done == line), "{line}: {first:?}");
    }
    let report = lab.run_alone(&sandbox, RW).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
    let again = lab.pressed();
    for line in expected {
        assert!(again.iter().any(|done| done == line), "{line}: {again:?}");
    }
}

#[test]
fn a_flow_file_that_does_not_fit_is_told_with_its_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.write("flows/bad.yaml", "steps:\n  - open: /x\n  - tap: Save\n");
    let answer = sandbox.run(&["flow", "flows/bad.yaml", "--base-url", "http://127.0.0.1:9"]).exits(2);
    assert!(answer.stderr.contains("flows/bad.yaml:3:") && answer.stderr.contains("expected"), "{}", answer.stderr);
}

fn orders(path: &str, _: &str) -> Option<String> {
    match path {
        "/orders" => Some("<h1>Orders</h1><label>Customer <input id=who></label><label>Pin <input type=password id=pin></label><button onclick=\"say('Order for ' + document.getElementById('who').value); did(document.getElementById('pin').value.length)\">Order</button><p role=status id=out></p>".to_owned()),
        _ => None,
    }
}

#[test]
fn marked_parameters_are_slots_and_secrets_are_names() {
    let lab = Lab::start(orders);
    let sandbox = Sandbox::new();
    sandbox.write(
        "flows/order.yaml",
        "params:\n  who: { default: \"Ada {{run}}\", unique: true }\nsecrets: [PIN]\nsteps:\n  - open: /orders\n  - act: \"type '{{who}}' into 'Customer'; type_secret 'PIN' into 'Pin'; tap 'Order'\"\n  - expect: { role: status, text: \"Order for {{who}}\" }\n",
    );
    let model = ModelServer::start(&[Reply::Make(by_goal)]);
    let secret = "geheim-0815";
    let mut command = model.command(&sandbox, "openai", &lab.arguments(RW));
    let answer: Answer = command.env("AGENT_TEST_SECRET_PIN", secret).output().unwrap().into();
    let report = answer.exits(0).json();
    assert_eq!(step(&report, 2)["cache"]["write"], "saved", "{report:#}");
    let text = sandbox.read(&format!(".agent-test/cache/{}", names(&sandbox, ".agent-test/cache")[0]));
    assert!(text.contains("{{param:/who}}") && !text.contains("Ada ") && !text.contains(secret), "{text}");
    for asked in model.asked() {
        assert!(!asked.words().contains(secret));
    }
    lab.pressed();
    let mut alone = sandbox.command(&lab.arguments(RW));
    let answer: Answer = alone.env("AGENT_TEST_SECRET_PIN", secret).output().unwrap().into();
    let report = answer.exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
    assert_eq!(lab.pressed(), [secret.len().to_string()]);
    assert!(!report.to_string().contains(secret));
    let missing = lab.run_alone(&sandbox, RW).exits(2);
    assert!(
        missing.stderr.contains("AGENT_TEST_SECRET_PIN") || missing.stdout.contains("AGENT_TEST_SECRET_PIN"),
        "{}",
        missing.stderr
    );
}

#[test]
fn junit_and_a_retry_tell_what_happened() {
    let (lab, sandbox) = shop();
    recorded(&lab, &sandbox);
    sandbox.write("flows/discount.yaml", &FLOW.replace("10% off", "20% off"));
    let report = lab.run_alone(&sandbox, &["--junit", "out.xml", "--cache", "read-only"]).exits(1).json();
    assert_eq!(report["exitCode"], 1);
    let xml = sandbox.read("out.xml");
    assert!(
        xml.contains("EXPECT_FAILED")
            && xml.contains("applies a discount code")
            && xml.contains("cache: replayed all 2"),
        "{xml}"
    );
    let model = ModelServer::start(&[TYPE, Reply::Move("tap", Some("Apply"), None), DONE]);
    let report = run(&lab, &sandbox, &model, "openai", &["--retries", "1", "--cache", "read-only"]).exits(1).json();
    let second: &Value = &report["flows"][0]["attempts"][1]["steps"][1]["cache"];
    assert_eq!((&second["reason"], &second["mode"]), (&"retry".into(), &"missed".into()), "{report:#}");
}

#[test]
fn words_are_judged_and_values_read() {
    let (lab, sandbox) = shop();
    sandbox.write("flows/discount.yaml", "steps:\n  - open: /checkout\n  - extract: { title: { role: heading } }\n  - assert: the page is titled {{title}}\n  - wait_for: the page is ready\n  - extract: { code: the code }\n  - expect: { role: heading, text: \"{{code}}\" }\n");
    let model = ModelServer::start(&[
        Reply::Say("{\"holds\":true,\"reason\":\"yes\"}"),
        Reply::Say("{\"holds\":false,\"reason\":\"not yet\"}"),
        Reply::Say("{\"holds\":true,\"reason\":\"now\"}"),
        Reply::Say("{\"value\":\"Checkout\"}"),
    ]);
    run(&lab, &sandbox, &model, "openai", &[]).exits(0);
    assert!(model.asked()[0].words().contains("the page is titled Checkout"));
    assert_eq!(model.calls(), 4);
    let wrong = ModelServer::start(&[Reply::Say("{\"holds\":false,\"reason\":\"it is empty\"}")]);
    let report = run(&lab, &sandbox, &wrong, "openai", &[]).exits(1).json();
    assert!(step(&report, 3)["error"].as_str().unwrap().contains("it is empty"), "{report:#}");
}

#[test]
fn the_cache_is_listed_explained_pruned_and_taken_over() {
    let (lab, sandbox) = shop();
    let entry = recorded(&lab, &sandbox);
    let key = entry.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned();
    let listed = sandbox.run(&["cache", "ls"]).exits(0).stdout;
    assert!(listed.contains(&key[..12]) && listed.contains("apply the discount code SUMMER"), "{listed}");
    assert!(sandbox.run(&["cache", "stats"]).exits(0).stdout.starts_with("1 recording"));
    let shown = sandbox.run(&["cache", "show", &key[..8]]).exits(0).stdout;
    assert!(shown.contains("2. tap button \"Apply\"") && shown.contains("came: status \"10% off\""), "{shown}");
    assert!(sandbox.run(&["cache", "explain", "flows"]).exits(0).stdout.starts_with("replays"));
    // A word of the goal changes: the recording is found, and taken over.
    sandbox.write("flows/discount.yaml", &FLOW.replace("apply the", "use the"));
    let told = sandbox.run(&["cache", "explain", "flows", "--json"]).exits(0).json();
    assert_eq!(
        (&told["steps"][0]["reason"], &told["steps"][0]["orphan"]),
        (&"no-entry".into(), &key.as_str().into()),
        "{told:#}"
    );
    let dry = sandbox.run(&["cache", "prune", "flows", "--dry-run"]).exits(0).stdout;
    assert!(dry.starts_with("1 recording would go"), "{dry}");
    sandbox.run(&["cache", "rekey", &key, "flows/discount.yaml", "2"]).exits(0);
    assert_eq!(lab.run_alone(&sandbox, &[]).exits(0).json()["cache"]["replayed"], 1);
    sandbox.run(&["cache", "clear"]).exits(0);
    assert!(names(&sandbox, ".agent-test/cache").is_empty());
    sandbox.run(&["cache", "show", "ffff"]).exits(2);
}
