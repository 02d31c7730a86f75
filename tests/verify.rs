//! `verify`, `rerun`, `diff`, `fingerprint`: what became of the bugs of a run, in a real browser.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::explore_input::browsers_of;
use crate::explore_kit::Site;
use crate::sandbox::{Answer, Sandbox};
use crate::verify_kit::{App, Mode, bug, files, key, project, recorded, verify};

#[test]
fn a_bug_that_is_still_there_fires_in_every_attempt() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    let before = files(&sandbox.file(".agent-test/runs"));
    let report = verify(&sandbox, &["--repeat", "2"]).exits(1).json();
    assert_eq!(report["exitCode"], 1);
    assert_eq!(report["bugs"].as_array().map(Vec::len), recorded()["bugs"].as_array().map(Vec::len));
    for bug in report["bugs"].as_array().unwrap() {
        assert_eq!((&bug["verdict"], &bug["fired"]), (&"still_broken".into(), &2.into()), "{bug:#}");
    }
    assert_eq!(files(&sandbox.file(".agent-test/runs")), before, "a stored run is never rewritten");
}

#[test]
fn a_bug_that_was_repaired_is_fixed_and_one_beside_it_is_not() {
    let app = App::start(Mode::Elsewhere);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Sum"), "--repeat", "auto"]).exits(0).json();
    let sum = bug(&report, "> Sum");
    assert_eq!((&sum["verdict"], &sum["clean"]), (&"fixed".into(), &2.into()), "{sum:#}");
    assert!(sum["remainingBelowPercent"].as_f64().unwrap() < 80.0);
    assert_eq!(report["bugs"].as_array().unwrap().len(), 1);
}

#[test]
fn another_failure_at_the_same_step_is_changed_and_fails() {
    let app = App::start(Mode::Elsewhere);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Save")]).exits(1).json();
    let save = bug(&report, "> Save");
    assert_eq!(save["verdict"], "changed", "{save:#}");
    assert!(save["reason"].as_str().unwrap().contains("/api/keep"), "{save:#}");
    assert_ne!(save["now"], recorded()["bugs"][0]["fingerprintV3"]);
}

#[test]
fn a_bug_that_fires_half_the_time_is_flaky() {
    let app = App::start(Mode::Half);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Save"), "--repeat", "4", "--workers", "1"]).exits(1).json();
    let save = bug(&report, "> Save");
    assert_eq!((&save["verdict"], &save["fired"], &save["clean"]), (&"flaky".into(), &2.into(), &2.into()), "{save:#}");
}

#[test]
fn a_renamed_control_is_blocked_and_its_neighbour_is_never_pressed() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Save")]).exits(0).json();
    let save = bug(&report, "> Save");
    assert_eq!(save["verdict"], "blocked", "{save:#}");
    assert!(save["reason"].as_str().unwrap().contains("locator_mismatch"), "{save:#}");
    assert_eq!(app.asked("/api/other") + app.asked("/api/save"), 0);
    verify(&sandbox, &["--bug", &key("> Save"), "--fail-on-blocked"]).exits(1);
}

#[test]
fn a_control_that_is_disabled_now_is_changed() {
    let app = App::start(Mode::Disabled);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Save")]).exits(1).json();
    let save = bug(&report, "> Save");
    assert_eq!(save["verdict"], "changed", "{save:#}");
    assert!(save["reason"].as_str().unwrap().contains("disabled"), "{save:#}");
    assert_eq!(app.asked("/api/save"), 0);
}

#[test]
fn a_target_that_comes_late_is_waited_for() {
    let app = App::start(Mode::Late);
    let sandbox = project(&app);
    let report = verify(&sandbox, &["--bug", &key("> Save")]).exits(0).json();
    assert_eq!(bug(&report, "> Save")["verdict"], "fixed", "{report:#}");
    assert_eq!(app.asked("/api/save"), 1);
}

#[test]
fn an_application_that_is_down_is_blocked_and_never_fixed() {
    let sandbox = project(&App::start(Mode::Broken));
    let report = verify(&sandbox, &[]).exits(0).json();
    for bug in report["bugs"].as_array().unwrap() {
        assert_eq!(bug["verdict"], "blocked", "{bug:#}");
        assert!(bug["reason"].as_str().unwrap().contains("network"), "{bug:#}");
    }
}

#[test]
fn a_maintenance_page_and_a_login_page_in_place_of_the_page_are_blocked() {
    let app = App::start(Mode::Maintenance);
    let sandbox = project(&app);
    for (mode, why) in [(Mode::Maintenance, "maintenance"), (Mode::Login, "login page")] {
        app.become_(mode);
        let report = verify(&sandbox, &["--bug", &key("> Sum")]).exits(0).json();
        let sum = bug(&report, "> Sum");
        assert_eq!(sum["verdict"], "blocked", "{sum:#}");
        assert!(sum["reason"].as_str().unwrap().contains(why), "{sum:#}");
    }
}

#[test]
fn a_browser_that_is_lost_on_the_way_is_blocked_and_no_crash_of_the_page() {
    let app = App::start(Mode::Waits);
    let sandbox = project(&app);
    let mut command = sandbox.command(&["verify", "--json", "--bug", &key("> Save")]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the built binary starts");
    let start = Instant::now();
    while app.asked("/api/save") == 0 {
        assert!(start.elapsed() < Duration::from_mins(1), "the button is never pressed");
        std::thread::sleep(Duration::from_millis(10));
    }
    for pid in browsers_of(&sandbox) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let answer: Answer = child.wait_with_output().unwrap().into();
    let report = answer.exits(0).json();
    assert_eq!(bug(&report, "> Save")["verdict"], "blocked", "{report:#}");
}

#[test]
fn with_a_known_bad_address_a_bug_is_fixed_only_when_it_still_fires_there() {
    let (good, bad) = (App::start(Mode::Fixed), App::start(Mode::Broken));
    let sandbox = project(&good);
    let arguments = ["--bug", &key("> Sum"), "--known-bad-url", &bad.url];
    let report = verify(&sandbox, &arguments).exits(0).json();
    let sum = bug(&report, "> Sum");
    assert_eq!((&sum["verdict"], &sum["control"]["fired"]), (&"fixed".into(), &true.into()), "{sum:#}");
    bad.become_(Mode::Fixed);
    let report = verify(&sandbox, &arguments).exits(0).json();
    assert_eq!(bug(&report, "> Sum")["verdict"], "blocked", "{report:#}");
}

#[test]
fn the_reset_command_runs_before_each_attempt_and_blocks_when_it_fails() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    let marks = sandbox.file("marks");
    let reset = format!("echo x >> '{}'", marks.display());
    let sum = key("> Sum");
    verify(&sandbox, &["--bug", &sum, "--repeat", "3", "--reset-command", &reset]).exits(1);
    assert_eq!(std::fs::read_to_string(&marks).unwrap().lines().count(), 3);
    let report = verify(&sandbox, &["--bug", &sum, "--reset-command", "echo no >&2; exit 4"]).exits(0).json();
    assert!(bug(&report, "> Sum")["reason"].as_str().unwrap().contains("no"), "{report:#}");
}

#[test]
fn the_oracles_can_be_turned_off_as_they_could_in_the_run() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    let off = verify(&sandbox, &["--bug", &key("> Save"), "--no-fail-on-5xx"]).exits(0).json();
    assert_eq!(bug(&off, "> Save")["verdict"], "fixed");
    let off = verify(&sandbox, &["--bug", &key("> Sum"), "--no-strict-oracles"]).exits(0).json();
    assert_eq!(bug(&off, "> Sum")["verdict"], "fixed");
}

#[test]
fn a_rerun_plays_every_step_again_and_leaves_a_run_of_its_own() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    let first = sandbox.run(&["rerun", "--json"]).exits(1).json();
    assert_eq!((&first["missed"], &first["differing"]), (&0.into(), &0.into()), "{first:#}");
    assert_eq!(first["played"], first["steps"]);
    let run: Value = serde_json::from_str(&sandbox.read(first["run"].as_str().unwrap())).unwrap();
    assert_eq!(run["bugs"].as_array().map(Vec::len), recorded()["bugs"].as_array().map(Vec::len));
    let same = sandbox.run(&["diff", "2026-05-02T10-15-00Z", "--json"]).exits(0).json();
    assert!(same["bugs"].as_array().unwrap().iter().all(|bug| bug["change"] == "persisting"), "{same:#}");

    app.become_(Mode::Fixed);
    let second = sandbox.run(&["rerun", "2026-05-02T10-15-00Z", "--json"]).exits(0).json();
    assert_eq!(second["bugs"], serde_json::json!([]), "{second:#}");
    let gone = sandbox.run(&["diff", "2026-05-02T10-15-00Z", "--json"]).exits(0).json();
    assert!(gone["bugs"].as_array().unwrap().iter().all(|bug| bug["change"] == "not_reproduced"), "{gone:#}");
}

#[test]
fn what_an_exploration_judged_is_judged_the_same_in_its_rerun() {
    let site = Site::start(
        &[
            ("/start", "<a href=/other>Other page</a> <button>Does nothing</button>"),
            ("/other", "<p>Other</p><script>throw new Error('of its own')</script>"),
        ],
        "",
    );
    let sandbox = Sandbox::new();
    let explored = sandbox.run(&["explore", "/start", "--json", "--no-confirm", "--base-url", &site.url]).json();
    let run = explored["run"].as_str().unwrap();
    let steps = |name: &str| -> Value {
        serde_json::from_str::<Value>(&sandbox.read(name)).unwrap()["flows"][0]["trace"].take()
    };
    let status = |name: &str, label: &str| {
        let steps = steps(name);
        let step = steps.as_array().unwrap().iter().find(|step| step["locator"]["name"] == label).unwrap();
        (step["status"].as_str().unwrap().to_owned(), step["setAside"].to_string())
    };
    let (link, aside) = status(run, "Other page");
    assert!(link == "passed" && aside.contains("of its own"), "{link} {aside}");
    assert_eq!(status(run, "Does nothing").0, "failed");

    let again = sandbox.run(&["rerun", "--json"]).json();
    assert_eq!((&again["missed"], &again["differing"]), (&0.into(), &0.into()), "{again:#}");
    let replayed = again["run"].as_str().unwrap();
    assert_eq!((status(replayed, "Other page").0, status(replayed, "Does nothing").0), (link, "failed".to_owned()));
}

#[test]
fn a_rerun_stops_a_way_at_a_target_that_is_gone_and_plays_the_others() {
    let app = App::start(Mode::Renamed);
    let sandbox = project(&app);
    let again = sandbox.run(&["rerun", "--json"]).exits(0).json();
    assert_eq!(again["missed"], 1, "{again:#}");
    let run: Value = serde_json::from_str(&sandbox.read(again["run"].as_str().unwrap())).unwrap();
    let steps = run["flows"][0]["trace"].as_array().unwrap();
    let save = steps.iter().find(|step| step["locator"]["name"] == "Save").unwrap();
    assert_eq!(save["status"], "failed");
    let sum = steps.iter().find(|step| step["locator"]["name"] == "Sum").unwrap();
    assert_eq!(sum["status"], "passed");
}

#[test]
fn a_bug_that_was_verified_as_fixed_and_comes_back_is_reopened() {
    let app = App::start(Mode::Fixed);
    let sandbox = project(&app);
    verify(&sandbox, &["--bug", &key("> Sum")]).exits(0);
    app.become_(Mode::Broken);
    sandbox.run(&["rerun"]).exits(1);
    let report = sandbox.run(&["diff", "2026-05-02T10-15-00Z", "--json"]).exits(1).json();
    assert_eq!(bug(&report, "> Sum")["change"], "reopened", "{report:#}");
    assert_eq!(bug(&report, "> Save")["change"], "persisting", "{report:#}");
}

#[test]
fn runs_of_the_seeds_store_and_from_before_traces_are_read() {
    let sandbox = Sandbox::new();
    let old = r#"{"url": "http://127.0.0.1:9", "flows": [{"name": "Buy", "steps": ["Open the shop"]}],
        "bugs": [{"title": "It throws", "fingerprint": "0123456789abcdef", "severity": "major"}]}"#;
    sandbox.write(".monkeytest/2026-05-02T10-15-00Z.json", old);
    let list = sandbox.run(&["fingerprint", "list"]).exits(0).stdout;
    assert!(list.contains("0123456789abcdef") && list.contains("It throws"), "{list}");
    let report = verify(&sandbox, &["2026-05-02T10-15-00Z", "--bug", "012345"]).exits(0).json();
    assert_eq!(report["bugs"][0]["verdict"], "blocked");
    assert!(report["bugs"][0]["reason"].as_str().unwrap().contains("no trace"), "{report:#}");
    let error = sandbox.run(&["rerun", ".monkeytest"]).exits(2).stderr;
    assert!(error.contains("no trace") && error.contains("model"), "{error}");
}

#[test]
fn a_run_that_cannot_be_read_is_told_with_its_place() {
    let sandbox = Sandbox::new();
    let none = sandbox.run(&["verify"]).exits(2).stderr;
    assert!(none.contains(".agent-test/runs"), "{none}");
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", "{\"flows\": [");
    sandbox.write("later.json", r#"{"schemaVersion": 9, "flows": []}"#);
    for (arguments, words) in [
        (&["verify"][..], "2026-05-02T10-15-00Z.json"),
        (&["verify", "later.json"], "version 9"),
        (&["verify", "nowhere"], "nowhere"),
        (&["verify", "../../etc/passwd"], "passwd"),
        (&["rerun", "nowhere"], "nowhere"),
        (&["diff", "nowhere"], "nowhere"),
        (&["fingerprint", "explain", "abcdef"], "2026-05-02T10-15-00Z.json"),
    ] {
        let answer = sandbox.run(arguments).exits(2);
        assert!(answer.stderr.contains(words), "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn a_rerun_that_plays_nothing_ends_with_3_and_leaves_no_run() {
    let sandbox = project(&App::start(Mode::Broken));
    let error = sandbox.run(&["rerun"]).exits(3).stderr;
    assert!(error.contains("network"), "{error}");
    assert_eq!(sandbox.run(&["fingerprint", "list", "--json"]).exits(0).json()["run"], recorded()["id"]);
}

#[test]
fn what_the_reset_command_leaves_running_is_not_waited_for() {
    let app = App::start(Mode::Fixed);
    let sandbox = project(&app);
    let late = sandbox.file("late");
    let reset = format!("(sleep 45; touch '{}') &", late.display());
    verify(&sandbox, &["--bug", &key("> Sum"), "--reset-command", &reset]).exits(0);
    assert!(!late.exists());
}

#[test]
fn a_trace_that_was_cut_off_before_the_failing_step_is_blocked() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    let mut run = recorded();
    for bug in run["bugs"].as_array_mut().unwrap() {
        bug["trace"].as_array_mut().unwrap().truncate(1);
    }
    run["baseUrl"] = app.url.clone().into();
    sandbox.write("cut.json", &run.to_string());
    let report = verify(&sandbox, &["cut.json", "--base-url", &app.url]).exits(0).json();
    assert!(report["bugs"].as_array().unwrap().iter().all(|bug| bug["verdict"] == "blocked"), "{report:#}");
}

#[test]
fn a_broken_latest_run_is_passed_over_with_a_warning() {
    let sandbox = project(&App::start(Mode::Broken));
    sandbox.write(".agent-test/runs/2027-01-01T00-00-00Z.json", "{\"flows\": [");
    let answer = sandbox.run(&["fingerprint", "list", "--json"]).exits(0);
    assert_eq!(answer.json()["run"], recorded()["id"]);
    assert!(answer.stderr.contains("2027-01-01T00-00-00Z.json"), "{}", answer.stderr);
}

#[test]
fn a_known_bad_address_that_is_not_reached_is_told_as_such() {
    let app = App::start(Mode::Fixed);
    let sandbox = project(&app);
    let arguments = ["--bug", &key("> Sum"), "--known-bad-url", "http://127.0.0.1:9"];
    let report = verify(&sandbox, &arguments).exits(0).json();
    let sum = bug(&report, "> Sum");
    assert_eq!(sum["verdict"], "blocked");
    assert!(sum["reason"].as_str().unwrap().contains("not reached at http://127.0.0.1:9"), "{sum:#}");
}

#[test]
fn wrong_arguments_are_told() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    for repeat in ["0", "-1", "abc", ""] {
        sandbox.run(&["verify", &format!("--repeat={repeat}")]).exits(2);
    }
    let error = sandbox.run(&["verify", "--bug", "ffffffffffffffff"]).exits(2).stderr;
    assert!(error.contains("ffffffffffffffff"), "{error}");
    sandbox.run(&["verify", "--workers", "0"]).exits(2);
    let error = sandbox.run(&["verify", "--known-bad-url", "nonsense"]).exits(2).stderr;
    assert!(error.contains("--known-bad-url"), "{error}");
    sandbox.run(&["verify", ""]).exits(2);
}

#[test]
fn a_fingerprint_is_explained_by_its_parts() {
    let sandbox = project(&App::start(Mode::Broken));
    let key = key("> Save");
    let text = sandbox.run(&["fingerprint", "explain", &key[..8]]).exits(0).stdout;
    for word in [key.as_str(), "network", "http-5xx", "/api/save", "V2 V3"] {
        assert!(text.contains(word), "{text}");
    }
    let json = sandbox.run(&["fingerprint", "explain", &key, "--json"]).exits(0).json();
    assert_eq!(json["bugs"][0]["fingerprintV2"], key);
}

#[test]
fn the_documents_fit_their_schemas() {
    let app = App::start(Mode::Fixed);
    let sandbox = project(&app);
    sandbox.write("again.json", &sandbox.read(".agent-test/runs/2026-05-02T10-15-00Z.json"));
    for (name, arguments) in
        [("verify", &["verify", "--json", "--bug", &key("> Sum")][..]), ("diff", &["diff", "again.json", "--json"])]
    {
        let document = sandbox.run(arguments).exits(0).json();
        let schema = agent_test::schema::find(name).unwrap().schema().to_value();
        let problems: Vec<String> =
            jsonschema::validator_for(&schema).unwrap().iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
}
