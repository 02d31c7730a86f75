//! One campaign through its transitions, as agents drive it.

use crate::campaign_kit::{campaign, complete, report, state, write_report};
use crate::sandbox::{Answer, Sandbox};

#[test]
fn a_campaign_goes_from_init_to_the_final_report() {
    let sandbox = campaign(&["/a", "/b"]);
    let claims = sandbox.run(&["claim", "--batch", "2", "--worker", "w", "--json"]).exits(0).json();
    for claim in claims["claims"].as_array().unwrap() {
        let (route, token) = (claim["route"].as_str().unwrap(), claim["token"].as_str().unwrap());
        let path = write_report(&sandbox, route);
        assert_eq!(claim["reportFile"], path.as_str());
        sandbox.run(&["complete", route, "--report", &path]).exits(2);
        sandbox.run(&["complete", route, "--report", &path, "--token", token]).exits(0);
    }
    assert_eq!(sandbox.run(&["status", "--json"]).json()["phase"], "review");
    for route in ["/a", "/b"] {
        sandbox.write("bugs.md", "# Bugs\n");
        sandbox.run(&["review", "complete", route, "--bug-report", "bugs.md"]).exits(0);
    }
    let standing = sandbox.run(&["status", "--json"]).exits(0).json();
    assert_eq!(standing["phase"], "final_report");
    assert_eq!(standing["counts"]["review_complete"], 2);
    let state = state(&sandbox);
    assert_eq!(state["completed"][0]["bugs_count"], 1);
    assert_eq!(state["completed"][0]["summary"], "one button fails");
    assert_eq!(state["completed"][0]["operations_count"]["disabled"], 1);
    assert_eq!(state["meta"]["pending"], 0);
    assert!(state.get("claims").is_none());
}

#[test]
fn status_shows_a_person_how_far_it_is() {
    let sandbox = campaign(&["/a", "/b", "/c", "/d"]);
    complete(&sandbox, "/a");
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    insta::assert_snapshot!(sandbox.run(&["status"]).exits(0).stdout, @r"
    shop  http://127.0.0.1:9

    phase     testing: 2 to test, 0 held by workers
    tested    [#####xxxxx..........] 1/4 (1 could not be tested)
    reviewed  [....................] 0/1
    waiting   /c
              /d

    next
      agent-test run
        test everything that waits with the built-in explorer
      agent-test claim --batch 3 --json
        or take the next routes for subagents of your own, one each
      agent-test complete ROUTE --report monkey-test-reports/SLUG.json --token TOKEN --json
        hand a route's report in
      agent-test fail ROUTE --error TEXT --token TOKEN --json
        when a route cannot be tested
    ");
}

// S30
#[test]
fn init_twice_is_nothing_to_do_and_another_scope_is_refused() {
    let sandbox = campaign(&["/a", "/b"]);
    complete(&sandbox, "/a");
    let before = sandbox.read(".monkey-test-state.json");
    let same = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/b", "/a"];
    let answer = sandbox.run(&same).exits(0);
    assert!(answer.stdout.contains("unchanged"), "{}", answer.stdout);
    let other = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/z"];
    let answer = sandbox.run(&other).exits(2);
    assert!(answer.stderr.contains("another scope") && answer.stderr.contains("resume"), "{}", answer.stderr);
    assert!(!answer.stderr.contains("--force"), "{}", answer.stderr);
    sandbox.run(&["init", "--base-url", "http://other", "--route", "/a", "/b"]).exits(2);
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
}

#[test]
fn a_forced_init_keeps_the_old_state_as_a_dated_copy() {
    let sandbox = campaign(&["/a"]);
    let before = sandbox.read(".monkey-test-state.json");
    let arguments = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/z", "--force", "--json"];
    let kept = sandbox.run(&arguments).exits(0).json()["kept"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.read(&kept), before);
    assert_eq!(state(&sandbox)["pending"][0], "/z");
}

#[test]
fn init_without_a_selection_lists_the_categories_and_starts_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("ROUTE_MAP.md", "## Users\n- /u1\n- /u2\n## Shop\n- /s1\n");
    let answer = sandbox.run(&["init", "--base-url", "http://h"]).exits(2);
    insta::assert_snapshot!(answer.stderr, @r#"
    error: cannot start a campaign: no routes are selected; the map has
       #  category               routes (for --select)
       1  Users     2 routes     1-2
       2  Shop      1 route      3
    hint: select with --all, --category NAME|#, --route ROUTE or --select "1-5,9"
    "#);
    assert!(!sandbox.file(".monkey-test-state.json").exists());
    sandbox.run(&["init", "--base-url", "http://h", "--category", "shop", "--select", "1"]).exits(0);
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/u1", "/s1"]));
    assert!(sandbox.file("monkey-test-reports").is_dir() && sandbox.file("monkey-test-screenshots").is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn init_on_a_terminal_asks_for_the_routes() {
    use std::io::Write;
    let sandbox = Sandbox::new();
    sandbox.write("ROUTE_MAP.md", "## Users\n- /u1\n- /u2\n## Shop\n- /s1\n");
    let program = env!("CARGO_BIN_EXE_agent-test");
    let mut command = sandbox.command(&[]);
    let mut terminal = std::process::Command::new("script");
    terminal.args(["-qec", &format!("{program} init --base-url http://h"), "/dev/null"]);
    terminal.current_dir(sandbox.path()).env_clear();
    for (name, value) in command.env("TERM", "dumb").get_envs() {
        terminal.env(name, value.unwrap_or_default());
    }
    let mut child = terminal
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("script from util-linux");
    child.stdin.take().unwrap().write_all(b"2-3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Which routes?"), "{text}");
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/u2", "/s1"]), "{text}");
}

#[test]
fn a_report_must_be_of_the_route_with_every_screenshot_there() {
    let sandbox = campaign(&["/a", "/b"]);
    let path = write_report(&sandbox, "/a");
    let before = sandbox.read(".monkey-test-state.json");
    let refused = |route: &str, file: &str, words: &str| {
        let answer = sandbox.run(&["complete", route, "--report", file]).exits(2);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
    };
    refused("/b", &path, "of the route `/a`");
    refused("/a", "monkey-test-reports/none.json", "does not exist");
    sandbox.write("half.json", "{\"route\": \"/a\", ");
    refused("/a", "half.json", "not a route report");
    let mut shots = report("/a");
    shots["screenshots"] = serde_json::json!(["07-final.png"]);
    sandbox.write("shots.json", &shots.to_string());
    refused("/a", "shots.json", "07-final.png");
    shots["screenshots"] = serde_json::json!(["../../secret.png"]);
    sandbox.write("shots.json", &shots.to_string());
    refused("/a", "shots.json", "not a file name");
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
}

#[test]
fn the_same_report_twice_changes_nothing_and_another_one_is_refused() {
    let sandbox = campaign(&["/a", "/b"]);
    complete(&sandbox, "/a");
    let before = sandbox.read(".monkey-test-state.json");
    let path = write_report(&sandbox, "/a");
    let again = sandbox.run(&["complete", "/a", "--report", &path, "--json"]).exits(0).json();
    assert_eq!(again["changed"], false);
    let mut other = report("/a");
    other["summary"] = "another".into();
    sandbox.write("other.json", &other.to_string());
    let answer = sandbox.run(&["complete", "/a", "--report", "other.json"]).exits(2);
    assert!(answer.stderr.contains("completed (review_pending)"), "{}", answer.stderr);
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
    assert!(!sandbox.read(&path).contains("another"));
}

#[test]
fn a_report_from_elsewhere_is_brought_to_its_place() {
    let sandbox = campaign(&["/a"]);
    let place = write_report(&sandbox, "/a");
    std::fs::rename(sandbox.file(&place), sandbox.file("mine.json")).unwrap();
    sandbox.run(&["complete", "/a", "--report", "mine.json"]).exits(0);
    assert_eq!(sandbox.read(&place), sandbox.read("mine.json"));
    sandbox.run(&["check"]).exits(0);
}

#[test]
fn a_requeued_route_keeps_its_old_report_as_an_earlier_version() {
    let sandbox = campaign(&["/a"]);
    complete(&sandbox, "/a");
    let old = sandbox.read("monkey-test-reports/a.json");
    let told = sandbox.run(&["requeue", "/a"]).exits(0).stderr;
    assert!(told.contains("`agent-test run`"), "what tests it again is said: {told}");
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/a"]));
    assert!(!sandbox.file("monkey-test-reports/a.json").exists());
    assert_eq!(sandbox.read(".agent-test/earlier/a/1-a.json"), old);
    let answer = sandbox.run(&["requeue", "/a"]).exits(0);
    assert!(answer.stdout.contains("unchanged"));
}

#[test]
fn the_retry_count_and_the_errors_survive() {
    let sandbox = campaign(&["/a"]);
    for (count, error) in ["first", "second", "third"].into_iter().enumerate() {
        sandbox.run(&["fail", "/a", "--error", error]).exits(0);
        assert_eq!(state(&sandbox)["failed"][0]["retry_count"], count);
        sandbox.run(&["fail", "/a", "--error", error]).exits(0);
        sandbox.run(&["retry", "--all"]).exits(0);
    }
    let state = state(&sandbox);
    let errors: Vec<_> =
        state["attempts"]["/a"]["errors"].as_array().unwrap().iter().map(|e| e["error"].clone()).collect();
    assert_eq!(errors, ["first", "second", "third"]);
}

#[test]
fn a_failed_review_is_work_to_do_until_it_failed_three_times() {
    let sandbox = campaign(&["/a"]);
    complete(&sandbox, "/a");
    for _ in 0..3 {
        let claim = sandbox.run(&["claim", "--phase", "review", "--json"]).exits(0).json();
        let token = claim["claims"][0]["token"].as_str().unwrap().to_owned();
        sandbox.run(&["review", "fail", "/a", "--error", "no data", "--token", &token]).exits(0);
    }
    let claim = sandbox.run(&["claim", "--phase", "review", "--json"]).exits(0).json();
    assert_eq!(claim["claims"], serde_json::json!([]));
    assert_eq!(sandbox.run(&["status", "--json"]).json()["phase"], "final_report");
    assert_eq!(state(&sandbox)["meta"]["review_failed"], 1);
}

#[test]
fn a_review_needs_its_bug_report() {
    let sandbox = campaign(&["/a", "/b"]);
    complete(&sandbox, "/a");
    sandbox.run(&["review", "complete", "/b", "--bug-report", "x.md"]).exits(2);
    let answer = sandbox.run(&["review", "complete", "/a", "--bug-report", "x.md"]).exits(2);
    assert!(answer.stderr.contains("x.md"), "{}", answer.stderr);
    assert_eq!(state(&sandbox)["completed"][0]["review_status"], "review_pending");
}

#[test]
fn an_unknown_route_and_a_misplaced_one_are_refused_by_name() {
    let sandbox = campaign(&["/a"]);
    sandbox.write("r.json", &report("/zzz").to_string());
    let commands: [&[&str]; 7] = [
        &["claim", "/zzz"],
        &["complete", "/zzz", "--report", "r.json"],
        &["fail", "/zzz", "--error", "x"],
        &["retry", "/zzz"],
        &["requeue", "/zzz"],
        &["review", "fail", "/zzz", "--error", "x"],
        &["drop", "/zzz"],
    ];
    for command in commands {
        let answer = sandbox.run(command).exits(2);
        assert!(answer.stderr.contains("/zzz") && answer.stderr.contains("no such route"), "{}", answer.stderr);
    }
    let answer = sandbox.run(&["requeue", "../x", "--json"]).exits(2);
    assert_eq!(answer.json()["error"]["code"], "not_a_route");
    let answer = sandbox.run(&["review", "fail", "/a", "--error", "x"]).exits(2);
    assert!(answer.stderr.contains("it is pending"), "{}", answer.stderr);
}

#[test]
fn a_blocked_campaign_gives_out_nothing_until_it_is_unblocked() {
    let sandbox = campaign(&["/a"]);
    sandbox.run(&["block", "--reason", "login answers 502"]).exits(0);
    let answer = sandbox.run(&["claim"]).exits(2);
    assert!(answer.stderr.contains("login answers 502"), "{}", answer.stderr);
    sandbox.run(&["unblock"]).exits(0);
    sandbox.run(&["unblock"]).exits(0);
    sandbox.run(&["claim"]).exits(0);
}

#[test]
fn add_and_drop_change_the_scope() {
    let sandbox = campaign(&["/a"]);
    sandbox.run(&["add", "/b", "/a/", "/c"]).exits(0);
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/a", "/b", "/c"]));
    sandbox.run(&["claim", "/c"]).exits(0);
    sandbox.run(&["drop", "/c"]).exits(2);
    sandbox.run(&["drop", "/b"]).exits(0);
    sandbox.run(&["drop", "/b"]).exits(0);
    assert_eq!(state(&sandbox)["meta"]["total_routes"], 2);
}

#[test]
fn settings_come_from_the_flag_then_the_environment_then_the_file_then_the_campaign() {
    let batch = |sandbox: &Sandbox, variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = sandbox.command(&[&["claim", "--json", "--lease", "1s"], arguments].concat());
        command.envs(variables.iter().copied());
        let answer = crate::sandbox::Answer::from(command.output().unwrap()).exits(0).json();
        let claims = answer["claims"].as_array().unwrap().clone();
        for claim in &claims {
            sandbox.run(&["release", "--token", claim["token"].as_str().unwrap()]).exits(0);
        }
        claims.len()
    };
    let sandbox = Sandbox::new();
    let routes: Vec<String> = (0..9).map(|n| format!("/r{n}")).collect();
    let mut arguments = vec!["init", "--base-url", "http://h", "--batch-size", "5"];
    for route in &routes {
        arguments.extend(["--route", route]);
    }
    sandbox.run(&arguments).exits(0);
    assert_eq!(batch(&sandbox, &[], &[]), 5);
    sandbox.write("agent-test.toml", "batch_size = 4\n");
    assert_eq!(batch(&sandbox, &[], &[]), 4);
    assert_eq!(batch(&sandbox, &[("MONKEY_TEST_BATCH_SIZE", "2")], &[]), 2);
    assert_eq!(batch(&sandbox, &[("MONKEY_TEST_BATCH_SIZE", "2"), ("AGENT_TEST_BATCH_SIZE", "6")], &[]), 6);
    assert_eq!(batch(&sandbox, &[("AGENT_TEST_BATCH_SIZE", "6")], &["--batch", "1"]), 1);
    sandbox.write("agent-test.toml", "batch_size = \n");
    assert!(sandbox.run(&["claim"]).exits(2).stderr.contains("agent-test.toml"));
}

#[test]
fn no_secret_reaches_the_state() {
    let sandbox = Sandbox::new();
    let arguments = ["init", "--base-url", "http://me:geheim@h/", "--route", "/a"];
    let answer = sandbox.run(&arguments).exits(2);
    assert!(!answer.stderr.contains("geheim"), "{}", answer.stderr);
    let login = ["init", "--base-url", "http://h", "--route", "/a", "--login-url", "/login"];
    let mut command = sandbox.command(&login);
    command.env("AGENT_TEST_PASSWORD", "geheim").env("MONKEY_TEST_PASSWORD", "geheim");
    assert!(command.output().unwrap().status.success());
    let text = sandbox.read(".monkey-test-state.json");
    assert!(text.contains("AGENT_TEST_PASSWORD") && !text.contains("geheim"), "{text}");
}

#[test]
fn a_variable_with_a_wrong_value_is_told_and_nothing_is_done() {
    let sandbox = Sandbox::new();
    for (name, value) in [
        ("AGENT_TEST_MODEL_TIMEOUT", "soon"),
        ("AGENT_TEST_LOCK_TIMEOUT", "-1"),
        ("AGENT_TEST_BATCH_SIZE", "0"),
        ("AGENT_TEST_SAFE_TO_MUTATE", "perhaps"),
    ] {
        let mut command = sandbox.command(&["init", "--base-url", "http://h", "--route", "/a"]);
        let answer = Answer::from(command.env(name, value).output().unwrap()).exits(2);
        assert!(answer.stderr.contains(name) && answer.stderr.contains(value), "{}", answer.stderr);
        assert!(!sandbox.file(".monkey-test-state.json").exists());
    }
}
