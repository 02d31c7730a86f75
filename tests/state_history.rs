//! The history of a campaign: `log`, `undo`, and that it never stops a transition.

use crate::campaign_kit::{campaign, complete, report, state, write_report};
use crate::sandbox::{Answer, Sandbox};

const HISTORY: &str = ".agent-test/history.jsonl";

fn history(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    sandbox.read(HISTORY).lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn events(sandbox: &Sandbox) -> Vec<String> {
    history(sandbox).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

/// The state without what every transition changes.
fn outcome(sandbox: &Sandbox) -> serde_json::Value {
    let mut state = state(sandbox);
    state.as_object_mut().unwrap().remove("transition");
    let meta = state["meta"].as_object_mut().unwrap();
    meta.remove("last_updated");
    // Written once it says something, and from then on.
    if meta.get("review_failed").is_none() {
        meta.insert("review_failed".into(), 0.into());
    }
    state
}

#[test]
fn every_transition_is_one_line_that_says_who_did_what() {
    let sandbox = campaign(&["/a", "/b"]);
    let claim = sandbox.run(&["claim", "/a", "--worker", "ann", "--json"]).exits(0).json();
    let token = claim["claims"][0]["token"].as_str().unwrap().to_owned();
    let path = write_report(&sandbox, "/a");
    let mut command = sandbox.command(&["complete", "/a", "--report", &path, "--token", &token]);
    Answer::from(command.env("AGENT_TEST_SESSION", "s1").output().unwrap()).exits(0);
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    // Nothing changes here, so nothing is written.
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    sandbox.run(&["status"]).exits(0);
    assert_eq!(events(&sandbox), ["init", "claim", "complete", "fail"]);
    let lines = history(&sandbox);
    for (place, line) in lines.iter().enumerate() {
        assert_eq!(line["seq"], place as u64 + 1);
        assert!(line["who"]["pid"].is_u64() && line["who"]["host"].is_string() && line["at"].is_string());
        if place > 0 {
            assert_eq!(line["before"], lines[place - 1]["after"], "the digests are a chain");
        }
    }
    assert_eq!((&lines[2]["who"]["worker"], &lines[2]["who"]["session"]), (&"ann".into(), &"s1".into()));
    assert_eq!(lines[3]["detail"], "no login");
    assert_eq!(state(&sandbox)["transition"], 4);
    let schema = agent_test::schema::find("history").unwrap().schema().to_value();
    for line in &lines {
        assert!(jsonschema::is_valid(&schema, line), "{line}");
    }
}

#[test]
fn log_is_filtered_by_route_and_worker_and_limited() {
    let sandbox = campaign(&["/a", "/b"]);
    sandbox.run(&["claim", "/a", "--worker", "ann"]).exits(0);
    sandbox.run(&["claim", "/b", "--worker", "bob"]).exits(0);
    let log = |arguments: &[&str]| {
        let answer = sandbox.run(&[&["log", "--json"], arguments].concat()).exits(0).json();
        let lines = answer["log"].as_array().unwrap().clone();
        lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(log(&[]), [1, 2, 3]);
    assert_eq!(log(&["--route", "/a/"]), [2]);
    assert_eq!(log(&["--worker", "bob"]), [3]);
    assert_eq!(log(&["--limit", "1"]), [3]);
    assert_eq!(log(&["--worker", "nobody"]), [0_u64; 0]);
    let text = sandbox.run(&["log"]).exits(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("claim  ann") && lines[1].ends_with("/a"), "{text}");
    assert_eq!(lines[0].find("init"), lines[1].find("claim"), "{text}");
}

#[test]
fn log_shows_where_the_file_was_edited_by_hand() {
    let sandbox = campaign(&["/a", "/b"]);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    sandbox.write(".monkey-test-state.json", &sandbox.read(".monkey-test-state.json").replace("shop", "store"));
    sandbox.run(&["fail", "/b", "--error", "e"]).exits(0);
    let log = sandbox.run(&["log", "--json"]).exits(0).json();
    let edited: Vec<bool> =
        log["log"].as_array().unwrap().iter().map(|line| line["editedBefore"].as_bool().unwrap()).collect();
    assert_eq!(edited, [false, false, true]);
    let text = sandbox.run(&["log"]).exits(0).stdout;
    assert!(text.lines().nth(2).unwrap().contains("edited by something else"), "{text}");
}

#[test]
fn undo_takes_each_kind_of_transition_back_and_leaves_the_reports() {
    let sandbox = campaign(&["/a", "/b", "/c"]);
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut then = |words: &[&str]| commands.push(words.iter().map(|word| (*word).to_owned()).collect());
    let path = write_report(&sandbox, "/a");
    sandbox.write("bugs.md", "# Bugs\n");
    then(&["claim", "/c"]);
    then(&["complete", "/a", "--report", &path]);
    then(&["fail", "/b", "--error", "e"]);
    then(&["retry", "/b"]);
    then(&["review", "fail", "/a", "--error", "e"]);
    then(&["review", "complete", "/a", "--bug-report", "bugs.md"]);
    then(&["requeue", "/a"]);
    then(&["block", "--reason", "r"]);
    then(&["unblock"]);
    then(&["add", "/new"]);
    then(&["drop", "/b"]);
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let before = outcome(&sandbox);
        sandbox.run(&words).exits(0);
        let after = outcome(&sandbox);
        assert_ne!(before, after, "{words:?}");
        let plan = sandbox.run(&["undo", "--dry-run", "--json"]).exits(0).json();
        assert_eq!((plan["done"].as_bool(), outcome(&sandbox)), (Some(false), after), "{words:?}");
        let done = sandbox.run(&["undo", "--json"]).exits(0).json();
        assert_eq!(done["done"], true, "{words:?}");
        assert_eq!(outcome(&sandbox), before, "{words:?}");
        // What a requeue put aside is back.
        let completed = before["completed"].as_array().unwrap().iter().any(|entry| entry["route"] == "/a");
        assert!(!completed || sandbox.file(&path).is_file(), "{words:?}");
        sandbox.run(&words).exits(0);
    }
    assert!(sandbox.file(".agent-test/earlier/a").is_dir());
}

#[test]
fn undo_goes_back_step_by_step_and_stops_at_the_beginning() {
    let sandbox = campaign(&["/a", "/b"]);
    let begun = outcome(&sandbox);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    sandbox.run(&["fail", "/b", "--error", "e"]).exits(0);
    sandbox.run(&["undo"]).exits(0);
    let answer = sandbox.run(&["undo"]).exits(0);
    assert!(answer.stdout.contains("undone    fail (number 2") && answer.stdout.contains("/a"), "{}", answer.stdout);
    assert_eq!(outcome(&sandbox), begun);
    let answer = sandbox.run(&["undo"]).exits(2);
    assert!(answer.stderr.contains("it began the campaign"), "{}", answer.stderr);
    assert_eq!(events(&sandbox), ["init", "fail", "fail", "undo", "undo"]);
}

#[test]
fn undo_is_refused_when_something_came_in_between() {
    let sandbox = campaign(&["/a", "/b"]);
    let claim = sandbox.run(&["claim", "/a", "--json"]).exits(0).json();
    let token = claim["claims"][0]["token"].as_str().unwrap().to_owned();
    sandbox.run(&["heartbeat", "--token", &token, "--lease", "1h"]).exits(0);
    // A heartbeat depends on its claim.
    let answer = sandbox.run(&["undo", "--json"]).exits(2);
    assert_eq!(answer.json()["error"]["code"], "cannot_undo");
    sandbox.run(&["release", "--token", &token]).exits(0);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    let text = sandbox.read(".monkey-test-state.json");
    sandbox.write(".monkey-test-state.json", &text.replace("\"last_error\": \"e\"", "\"last_error\": \"mine\""));
    let before = sandbox.read(".monkey-test-state.json");
    let answer = sandbox.run(&["undo"]).exits(2);
    assert!(answer.stderr.contains("changed since"), "{}", answer.stderr);
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
    // By hand, but elsewhere: that does not matter.
    sandbox.write(".monkey-test-state.json", &text.replace("\"project\": \"shop\"", "\"project\": \"other\""));
    sandbox.run(&["undo"]).exits(0);
    assert_eq!(state(&sandbox)["meta"]["project"], "other");
}

#[test]
fn undo_of_a_requeue_is_refused_when_a_newer_report_stands_there() {
    let sandbox = campaign(&["/a"]);
    complete(&sandbox, "/a");
    sandbox.run(&["requeue", "/a"]).exits(0);
    let mut newer = report("/a");
    newer["summary"] = "newer".into();
    sandbox.write("monkey-test-reports/a.json", &newer.to_string());
    let answer = sandbox.run(&["undo"]).exits(2);
    assert!(answer.stderr.contains("a newer file stands at `monkey-test-reports/a.json`"), "{}", answer.stderr);
    assert!(sandbox.read("monkey-test-reports/a.json").contains("newer"));
}

#[test]
fn a_history_that_cannot_be_written_is_a_warning_and_stops_nothing() {
    let sandbox = campaign(&["/a", "/b"]);
    std::fs::remove_file(sandbox.file(HISTORY)).unwrap();
    std::fs::create_dir(sandbox.file(HISTORY)).unwrap();
    let answer = sandbox.run(&["fail", "/a", "--error", "e", "--json"]).exits(0);
    assert!(
        answer.stderr.contains("warning: the change is made, but the history was not written"),
        "{}",
        answer.stderr
    );
    assert_eq!(answer.json()["exitCode"], 0);
    assert_eq!(state(&sandbox)["meta"]["failed"], 1);
    std::fs::remove_dir(sandbox.file(HISTORY)).unwrap();
    sandbox.run(&["fail", "/b", "--error", "e"]).exits(0);
    // The number goes on from the state's.
    assert_eq!(history(&sandbox)[0]["seq"], 3);
    std::fs::remove_dir_all(sandbox.file(".agent-test")).unwrap();
    std::fs::write(sandbox.file(".agent-test"), "no directory").unwrap();
    let answer = sandbox.run(&["retry", "--all"]).exits(0);
    assert!(answer.stderr.contains("history was not written"), "{}", answer.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_history_on_a_full_disk_is_a_warning_and_stops_nothing() {
    let sandbox = campaign(&["/a"]);
    std::fs::remove_file(sandbox.file(HISTORY)).unwrap();
    std::os::unix::fs::symlink("/dev/full", sandbox.file(HISTORY)).unwrap();
    let answer = sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    assert!(answer.stderr.contains("history was not written"), "{}", answer.stderr);
    assert_eq!(state(&sandbox)["meta"]["failed"], 1);
}

#[test]
fn a_torn_last_line_is_ended_and_passed_over() {
    let sandbox = campaign(&["/a", "/b"]);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    let text = sandbox.read(HISTORY);
    sandbox.write(HISTORY, &text[..text.len() - 20]);
    sandbox.run(&["fail", "/b", "--error", "e"]).exits(0);
    let log = sandbox.run(&["log", "--json"]).exits(0).json();
    let numbers: Vec<_> = log["log"].as_array().unwrap().iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 3]);
    // NUL bytes, as after a power loss, neither stop it.
    std::fs::write(sandbox.file(HISTORY), vec![0; 4096]).unwrap();
    sandbox.run(&["retry", "--all"]).exits(0);
    assert_eq!(sandbox.run(&["log", "--json"]).exits(0).json()["log"][0]["seq"], 4);
}

#[test]
fn a_history_that_grew_large_is_reduced_to_what_a_repair_needs() {
    let sandbox = campaign(&["/a", "/b"]);
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    let line = sandbox.read(HISTORY).lines().last().unwrap().to_owned();
    let mut text = sandbox.read(HISTORY);
    while text.len() + line.len() < (8 << 20) {
        text.push_str(&line);
        text.push('\n');
    }
    sandbox.write(HISTORY, &text);
    for _ in 0..2 {
        sandbox.run(&["claim", "/a", "--worker", &"w".repeat(400)]).exits(0);
        sandbox.run(&["undo"]).exits(0);
    }
    let size = std::fs::metadata(sandbox.file(HISTORY)).unwrap().len();
    assert!(size < 3 << 20, "{size}");
    let first = &history(&sandbox)[0];
    assert_eq!(first["event"], "compacted");
    assert_eq!(first["ground"]["routes"].as_array().unwrap().len(), 2);
    assert_eq!(first["ground"]["failed"][0]["error"], "no login");
    assert_eq!(state(&sandbox)["transition"], 6);
}

#[test]
fn a_transition_of_a_large_campaign_writes_a_short_line() {
    let sandbox = Sandbox::new();
    let list: Vec<String> = (0..5000).map(|n| format!("/section/{}/page/{n}", n % 50)).collect();
    sandbox.write("routes.txt", &list.join("\n"));
    sandbox.run(&["discover", "--from-list", "routes.txt"]).exits(0);
    sandbox.run(&["init", "--base-url", "http://127.0.0.1:9", "--all"]).exits(0);
    let began = std::fs::metadata(sandbox.file(HISTORY)).unwrap().len();
    sandbox.run(&["claim", "--batch", "3"]).exits(0);
    let grown = std::fs::metadata(sandbox.file(HISTORY)).unwrap().len() - began;
    assert!(grown < 2000, "{grown}");
}
