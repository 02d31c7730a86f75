//! A target that is not found: asked of a model only then, judged before anything is pressed, marked, proposed, and
//! written into the stored run only when that is asked for.

use std::process::Stdio;
use std::time::{Duration, Instant};

use agent_test::demo::{Options, PASSWORD, Server, USERNAME};
use serde_json::{Value, json};

use crate::model_kit::{Asked, KEY, ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};
use crate::verify_kit::{App, Mode, bug, files, key, project};

/// `verify --heal` of the bug at "Save", with this server as the model.
fn heal(sandbox: &Sandbox, model: &ModelServer, provider: &str, more: &[&str]) -> Answer {
    let key = key("> Save");
    let arguments = [&["verify", "--json", "--heal", "--bug", &key][..], more].concat();
    let answer: Answer = model.command(sandbox, provider, &arguments).output().unwrap().into();
    assert!(!format!("{}{}", answer.stdout, answer.stderr).contains(KEY), "the key is shown:\n{}", answer.stderr);
    answer
}

fn save(answer: &Answer) -> Value {
    bug(&answer.json(), "> Save").clone()
}

#[test]
fn a_renamed_control_that_works_is_healed_with_one_question_and_nothing_stored_changes() {
    let app = App::start(Mode::Renamed);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Keep")]));
    let before = files(&sandbox.file(".agent-test/runs"));
    let answer = heal(&sandbox, &model, "openai", &["--repeat", "2"]).exits(0);
    let (report, save) = (answer.json(), save(&answer));
    assert_eq!((&save["verdict"], &save["clean"]), (&"healed".into(), &2.into()), "{save:#}");
    let healed = &save["attempts"][0]["healed"][0];
    assert_eq!((&healed["old"]["name"], &healed["new"]["name"]), (&"Save".into(), &"Keep".into()), "{healed:#}");
    assert_eq!((&healed["model"], &healed["reason"]), (&"openai/test-model".into(), &"it was renamed to Keep".into()));
    assert_eq!((model.calls(), &report["model"]["calls"]), (1, &1.into()), "{report:#}");
    assert_eq!(report["model"].get("costUsd"), None, "no price is known");
    assert_eq!(files(&sandbox.file(".agent-test/runs")), before, "a stored run is never rewritten");
    let proposals: Value = serde_json::from_str(&sandbox.read(report["proposals"].as_str().unwrap())).unwrap();
    let proposal = &proposals["proposals"][0];
    assert_eq!((&proposal["judged"], &proposal["accepted"]), (&true.into(), &false.into()), "{proposal:#}");
    assert_eq!(proposal["healed"]["new"]["name"], "Keep");
    assert_eq!(save_verdict(&heal(&sandbox, &model, "openai", &["--fail-on-healed"]).exits(1)), "healed");
}

fn save_verdict(answer: &Answer) -> String {
    save(answer)["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_renamed_control_that_still_fails_is_still_broken() {
    let app = App::start(Mode::RenamedBroken);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Keep")]));
    let answer = heal(&sandbox, &model, "gemini", &[]).exits(1);
    assert_eq!(save_verdict(&answer), "still_broken");
    assert_eq!(save(&answer)["attempts"][0]["healed"][0]["new"]["name"], "Keep");
}

#[test]
fn every_provider_is_asked_in_its_own_shape() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    for (provider, path) in [
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1beta/models/test-model:generateContent"),
        ("openrouter", "/v1/chat/completions"),
        ("openai_compatible", "/v1/chat/completions"),
    ] {
        let model = ModelServer::start(&[Reply::Pick("Keep")]);
        assert_eq!(save_verdict(&heal(&sandbox, &model, provider, &[]).exits(0)), "healed", "{provider}");
        let asked = &model.asked()[0];
        assert_eq!((asked.path.as_str(), asked.key.as_str()), (path, KEY), "{provider}");
    }
}

#[test]
fn no_model_is_asked_while_every_target_is_found() {
    let app = App::start(Mode::Fixed);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Save")]));
    let answer = heal(&sandbox, &model, "openai", &[]).exits(0);
    assert_eq!((save_verdict(&answer).as_str(), model.calls()), ("fixed", 0));
    assert_eq!(answer.json()["model"]["calls"], 0);
}

#[test]
fn without_a_model_or_its_key_no_browser_is_started() {
    let sandbox = project(&App::start(Mode::Renamed));
    for (model, word) in [
        (&[][..], "no_model"),
        (&["--model", "openai/x"], "OPENAI_API_KEY"),
        (&["--model", "nobody/x"], "bad_model"),
        (&["--model", "openai_compatible/x"], "bad_model_url"),
        (&["--model", "openai_compatible/x", "--model-url", "http://h/v1", "--budget-usd", "1"], "no_model_price"),
    ] {
        for command in ["verify", "rerun"] {
            let mut command = sandbox.command(&[&[command, "--json", "--heal"], model].concat());
            // A browser that cannot be found would be another error.
            let answer: Answer =
                command.env("AGENT_TEST_CHROMEDRIVER", "/nowhere/chromedriver").output().unwrap().into();
            let answer = answer.exits(2);
            let said = format!("{}{}", answer.stdout, answer.stderr);
            assert!(said.contains(word), "{model:?}: {said}");
        }
    }
}

#[test]
fn a_choice_that_destroys_is_refused_whoever_makes_it() {
    let app = App::start(Mode::Trap);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Delete notes")]));
    let before = files(&sandbox.file(".agent-test/runs"));
    let answer = heal(&sandbox, &model, "openai", &["--accept-heal"]).exits(0);
    let save = save(&answer);
    let reason = save["reason"].as_str().unwrap();
    assert_eq!(save["verdict"], "blocked", "{save:#}");
    let (first, then) = (reason.find("locator_mismatch").unwrap(), reason.find("reads destructive").unwrap());
    assert!(first < then, "{reason}");
    assert_eq!(app.asked("/api/save"), 0);
    assert_eq!(files(&sandbox.file(".agent-test/runs")), before, "a refused heal leaves the run as it was");
}

#[test]
fn a_wrong_answer_is_told_once_and_a_busy_provider_is_asked_again() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let wrong = ModelServer::start(&[
        Reply::Say(r#"{"number": 99, "same_purpose": true, "reason": "sure"}"#),
        Reply::Pick("Keep"),
    ]);
    assert_eq!(save_verdict(&heal(&sandbox, &wrong, "openai", &[]).exits(0)), "healed");
    assert!(wrong.asked()[1].words().contains("99 is no number of the list"));
    let busy = ModelServer::start(&[Reply::Status(429), Reply::Status(503), Reply::Pick("Keep")]);
    let answer = heal(&sandbox, &busy, "anthropic", &[]).exits(0);
    assert_eq!((save_verdict(&answer).as_str(), busy.calls()), ("healed", 3));
    assert_eq!(answer.json()["model"]["ledger"].as_array().unwrap().len(), 3);
}

#[test]
fn a_model_that_gives_no_usable_answer_leaves_the_bug_blocked_with_both_reasons() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    for (reply, word, calls) in [
        (Reply::Say("I would press Keep."), "no JSON object", 2),
        (Reply::Say(r#"{"number": null, "same_purpose": false, "reason": "none fits"}"#), "none fits", 1),
        (Reply::Status(500), "no luck", 3),
        (Reply::Flood, "larger than 4 MiB", 2),
    ] {
        let model = ModelServer::start(std::slice::from_ref(&reply));
        let answer = heal(&sandbox, &model, "openai", &[]).exits(0);
        let reason = save(&answer)["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains("locator_mismatch") && reason.contains(word), "{reply:?}: {reason}");
        assert_eq!(model.calls(), calls, "{reply:?}");
    }
    assert_eq!(app.asked("/api/save"), 0);
}

#[test]
fn a_model_that_hangs_is_given_up_in_time() {
    let app = App::start(Mode::Renamed);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Hang]));
    let arguments = ["verify", "--json", "--heal", "--bug", &key("> Save")];
    let start = Instant::now();
    let mut command = model.command(&sandbox, "openai", &arguments);
    let answer: Answer = command.env("AGENT_TEST_MODEL_TIMEOUT", "1").output().unwrap().into();
    assert!(save(&answer.exits(0))["reason"].as_str().unwrap().contains("did not answer in time"));
    assert!(start.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_key_that_is_refused_ends_the_command_and_a_redirect_gets_no_key() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let refused = ModelServer::start(&[Reply::Status(401)]);
    let answer = heal(&sandbox, &refused, "openai", &[]).exits(2);
    assert!(answer.stderr.contains("401") && answer.stderr.contains("[key]"), "{}", answer.stderr);
    let thief = ModelServer::start(&[Reply::Pick("Keep")]);
    let moved = ModelServer::start(&[Reply::Moved(format!("{}/v1/chat/completions", thief.url))]);
    heal(&sandbox, &moved, "openai", &[]).exits(2);
    assert_eq!(thief.calls(), 0, "a redirect was followed");
}

#[test]
fn calls_and_money_have_a_limit_that_is_kept_before_the_call() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let model = ModelServer::start(&[Reply::Status(500)]);
    let answer = heal(&sandbox, &model, "openai", &["--max-model-calls", "2"]).exits(0);
    assert!(save(&answer)["reason"].as_str().unwrap().contains("limit of 2 calls"));
    assert_eq!(model.calls(), 2);
    let prices = "[model]\nname = \"openai/test-model\"\nprompt_usd_per_million = 1\nanswer_usd_per_million = 1000\n";
    sandbox.write("agent-test.toml", prices);
    let model = ModelServer::start(&[Reply::Pick("Keep")]);
    let answer = heal(&sandbox, &model, "openai", &["--budget-usd", "0.1"]).exits(0);
    assert!(save(&answer)["reason"].as_str().unwrap().contains("of 0.1 USD are left"), "{}", answer.stdout);
    assert_eq!(model.calls(), 0);
    let answer = heal(&sandbox, &model, "openai", &["--budget-usd", "9"]).exits(0);
    let cost = answer.json()["model"]["costUsd"].as_f64().unwrap();
    assert!((cost - 0.051).abs() < 1e-9, "{cost}");
}

#[test]
fn an_accepted_locator_is_written_into_the_run_and_needs_no_model_afterwards() {
    let app = App::start(Mode::Renamed);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Keep")]));
    let file = ".agent-test/runs/2026-05-02T10-15-00Z.json";
    let earlier = sandbox.read(file);
    let answer = heal(&sandbox, &model, "openai", &["--accept-heal"]).exits(0);
    assert!(answer.json()["accepted"].as_u64().unwrap() >= 1, "{}", answer.stdout);
    assert_eq!(sandbox.read(&format!("{file}.before-heal")), earlier);
    let again = sandbox.run(&["verify", "--json", "--bug", &key("> Save")]).exits(0);
    assert_eq!(save_verdict(&again), "fixed");
    assert_eq!(model.calls(), 1);
}

#[test]
fn a_program_answers_in_place_of_a_model() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let earlier = sandbox.read(".agent-test/runs/2026-05-02T10-15-00Z.json");
    sandbox.write(
        "agent.sh",
        "n=$(sed -n 's/.*\\\\n\\([0-9]*\\)\\. button \\\\\"Keep\\\\\".*/\\1/p')\n\
         echo \"{\\\"number\\\": ${n:-0}, \\\"same_purpose\\\": true, \\\"reason\\\": \\\"same place\\\"}\"\n",
    );
    let key = key("> Save");
    let arguments = ["verify", "--json", "--heal", "--bug", &key, "--agent-command", "sh agent.sh"];
    let answer = sandbox.run(&arguments).exits(0);
    let save = save(&answer);
    assert_eq!(save["verdict"], "healed", "{save:#}");
    assert_eq!(save["attempts"][0]["healed"][0]["model"], "agent command");
    let text = sandbox.run(&[&["verify"], &arguments[2..], &["--accept-heal"]].concat()).exits(0).stdout;
    for line in
        ["healed        ", "step 2: button \"Save\" is now button \"Keep\" (agent command: same place)", "accepted  "]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &earlier);
    let failed = sandbox.run(&[&arguments[..6], &["echo no luck >&2; exit 3"]].concat()).exits(0);
    assert!(self::save(&failed)["reason"].as_str().unwrap().contains("no luck"), "{}", failed.stdout);
}

#[test]
fn a_program_dies_with_us_however_we_end() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let command = "(sleep 600 & echo $! > child.pid; wait)";
    let arguments = ["verify", "--heal", "--bug", &key("> Save"), "--agent-command", command];
    let mut child = sandbox.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_mins(1), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let written = || std::fs::read_to_string(sandbox.file("child.pid")).is_ok_and(|text| text.ends_with('\n'));
    wait("the program is never asked", &written);
    let pid: u32 = sandbox.read("child.pid").trim().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    wait("the program's child still runs", &|| agent_test::store::process_stat(pid).is_none_or(|stat| !stat.runs));
}

#[test]
fn a_renamed_control_of_the_demo_is_healed_where_its_bug_is_fixed() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let renamed = Options { renamed: vec!["orders-refresh".to_owned()], ..Options::default() };
    let repaired = Options { fixed: vec!["orders-refresh-500".to_owned()], ..renamed.clone() };
    let model = ModelServer::start(&[Reply::Pick("Reload list")]);
    for (options, verdict, code) in [(repaired, "healed", 0), (renamed, "still_broken", 1)] {
        let server = runtime.block_on(Server::start(options)).unwrap();
        let base = server.url.as_str().trim_end_matches('/');
        let sandbox = Sandbox::new();
        let step = |index: u32, tool: &str, status: &str| json!({ "index": index, "tool": tool, "status": status, "urlBefore": format!("{base}/orders") });
        let (mut open, mut press) = (step(0, "goto", "passed"), step(1, "click", "failed"));
        open["value"] = json!(format!("{base}/orders"));
        press["locator"] = json!({ "role": "button", "name": "Refresh" });
        let bug = json!({ "fingerprint": "aaaaaaaaaaaaaaaa", "severity": "major", "description": "It answers 500",
            "location": "/orders > Refresh", "trace": [open, press] });
        let run = json!({ "baseUrl": base, "flows": [], "bugs": [bug] });
        sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &run.to_string());
        let verify = |arguments: &[&str], code: i32| {
            let mut command = model.command(&sandbox, "openai", &[&["verify", "--json"], arguments].concat());
            command.env("AGENT_TEST_USERNAME", USERNAME).env("AGENT_TEST_PASSWORD", PASSWORD);
            let answer: Answer = command.output().unwrap().into();
            answer.exits(code).json()["bugs"][0]["verdict"].as_str().unwrap().to_owned()
        };
        assert_eq!(verify(&[], 0), "blocked");
        assert_eq!(verify(&["--heal"], code), verdict);
    }
}

#[test]
fn a_rerun_marks_the_healed_step_in_its_own_run() {
    let app = App::start(Mode::Renamed);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Keep")]));
    let before = files(&sandbox.file(".agent-test/runs"));
    let answer: Answer = model.command(&sandbox, "openai", &["rerun", "--json", "--heal"]).output().unwrap().into();
    let document = answer.exits(0).json();
    assert!(document["healed"].as_u64().unwrap() >= 1 && document["proposals"].is_string(), "{document:#}");
    assert_eq!(model.calls(), 1, "one target, one question");
    let run: Value = serde_json::from_str(&sandbox.read(document["run"].as_str().unwrap())).unwrap();
    let steps = run["flows"][0]["trace"].as_array().unwrap();
    let healed = steps.iter().find(|step| step["resolution"] == "healed").unwrap();
    assert_eq!((&healed["locator"]["name"], &healed["status"]), (&"Keep".into(), &"passed".into()), "{healed:#}");
    let after = files(&sandbox.file(".agent-test/runs"));
    assert!(before.iter().all(|file| after.contains(file)), "a stored run was rewritten");
}

#[test]
fn a_page_cannot_speak_to_the_model_in_our_name() {
    let app = App::start(Mode::Trap);
    let (sandbox, model) = (project(&app), ModelServer::start(&[Reply::Pick("Delete notes")]));
    heal(&sandbox, &model, "openai", &[]).exits(0);
    heal(&sandbox, &model, "openai", &[]).exits(0);
    let words: Vec<String> = model.asked().iter().map(Asked::words).collect();
    let fence = |words: &str| {
        let line = words.lines().find(|line| line.starts_with("<<<DATA ")).expect("a fence").to_owned();
        line.trim_start_matches("<<<DATA ").to_owned()
    };
    assert_ne!(fence(&words[0]), fence(&words[1]), "the mark of a fence is new in every call");
    for words in &words {
        let mark = fence(words);
        let inside: Vec<&str> = words.split(&format!("<<<DATA {mark}\n")).skip(1).collect();
        let outside: String =
            inside.iter().map(|part| part.split(&format!("DATA {mark}>>>")).nth(1).unwrap()).collect();
        assert!(words.contains("Delete notes") && !outside.contains("Delete notes"), "{words}");
    }
}
