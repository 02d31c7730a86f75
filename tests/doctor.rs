//! `agent-test doctor`.

use std::os::unix::fs::PermissionsExt;

use crate::sandbox::Sandbox;

fn check<'a>(document: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let checks = document["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check {name} in {document}"))
}

#[test]
fn a_machine_with_everything_opens_a_browser_and_ends_with_0() {
    let answer = Sandbox::new().run(&["doctor", "--json"]).exits(0);
    let document = answer.json();
    assert_eq!(document["exitCode"], 0);
    for name in ["browser", "chromedriver", "versions", "project", "loopback", "localhost", "profiles", "session"] {
        assert_eq!(check(&document, name)["grade"], "ok", "{document}");
    }
}

#[test]
fn quick_opens_no_browser() {
    let answer = Sandbox::new().run(&["doctor", "--quick"]).exits(0);
    assert!(!answer.stdout.contains("session"), "{}", answer.stdout);
    assert!(answer.stdout.contains("ok    browser"), "{}", answer.stdout);
}

#[test]
fn a_browser_that_is_not_where_it_was_said_to_be_is_the_caller_s_to_change() {
    let sandbox = Sandbox::new();
    let output =
        sandbox.command(&["doctor", "--json"]).env("AGENT_TEST_CHROME", "/no/such/browser").output().expect("starts");
    let answer = crate::sandbox::Answer::from(output).exits(2);
    let document = answer.json();
    assert_eq!(document["exitCode"], 2);
    let browser = check(&document, "browser");
    assert_eq!(browser["grade"], "fail");
    assert_eq!(browser["found"], "cannot find the browser at `/no/such/browser`, as AGENT_TEST_CHROME says");
    assert_eq!(browser["todo"], "correct AGENT_TEST_CHROME, or leave it out to have the usual places searched");
}

#[test]
fn versions_that_do_not_fit_end_with_3_and_say_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.write("chromedriver", "#!/bin/sh\necho 'ChromeDriver 7.1.2 (x)'\n");
    let fake = sandbox.file("chromedriver");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let answer = sandbox.run(&["doctor", "--quick", "--chromedriver", fake.to_str().expect("a path")]).exits(3);
    assert!(answer.stdout.contains("fail  versions"), "{}", answer.stdout);
    assert!(answer.stdout.contains("take both from one source"), "{}", answer.stdout);
}

#[test]
fn the_hidden_commands_are_not_in_the_help() {
    let answer = Sandbox::new().run(&["--help"]).exits(0);
    assert!(!answer.stdout.contains("__"), "{}", answer.stdout);
}
