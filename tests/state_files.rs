//! State files that agents, people and accidents leave behind.

use crate::campaign_kit::{campaign, complete, state, with_state};
use crate::sandbox::Sandbox;

const BY_AN_AGENT: &str = include_str!("fixtures/state/written-by-an-agent.json");
const UNKNOWN_KEYS: &str = include_str!("fixtures/state/unknown-keys.json");
const COUNTERS: &str = include_str!("fixtures/state/counters-wrong.json");
const TWICE: &str = include_str!("fixtures/state/route-in-two-lists.json");
const COMMA: &str = include_str!("fixtures/state/trailing-comma.json");
const CONFLICT: &str = include_str!("fixtures/state/conflict-markers.json");
const BLOCKED: &str = include_str!("fixtures/state/blocked.json");
const REVIEW: &str = include_str!("fixtures/state/review-phase.json");

/// Every command that changes the state.
const CHANGES: [&[&str]; 14] = [
    &["claim", "--batch", "1"],
    &["claim", "/products/q0"],
    &["heartbeat", "--token", "t"],
    &["release", "--token", "t"],
    &["complete", "/products/q0", "--report", "r.json"],
    &["fail", "/products/q0", "--error", "e"],
    &["retry", "--all"],
    &["requeue", "/settings/p0"],
    &["review", "complete", "/settings/p1", "--bug-report", "r.json"],
    &["review", "fail", "/settings/p1", "--error", "e"],
    &["block", "--reason", "r"],
    &["unblock"],
    &["add", "/new"],
    &["drop", "/products/q1"],
];

/// Puts something into a place.
type Put = fn(&std::path::Path);

/// Every change is refused with this code and these words, and the file keeps its bytes.
#[track_caller]
fn refuses(text: &[u8], words: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.file(".monkey-test-state.json"), text).unwrap();
    sandbox.write("r.json", "{}");
    for command in CHANGES {
        let answer = sandbox.run(command).exits(2);
        for word in words {
            assert!(answer.stderr.contains(word), "{command:?}: {}", answer.stderr);
        }
        assert_eq!(std::fs::read(sandbox.file(".monkey-test-state.json")).unwrap(), text);
    }
    sandbox
}

#[test]
fn a_state_that_an_agent_wrote_is_read_and_check_complains_only_of_missing_reports() {
    let sandbox = with_state(BY_AN_AGENT);
    assert_eq!(sandbox.run(&["status", "--json"]).exits(0).json()["phase"], "testing");
    let findings = sandbox.run(&["check", "--json"]).exits(1).json();
    for finding in findings["findings"].as_array().unwrap() {
        assert!(finding["message"].as_str().unwrap().contains("does not exist"), "{finding}");
    }
    assert_eq!(sandbox.read(".monkey-test-state.json"), BY_AN_AGENT);
}

// S27
#[test]
fn unknown_keys_stay_unchanged_and_in_their_place_through_every_transition() {
    let commands: [&[&str]; 9] = [
        &["claim", "--batch", "2"],
        &["fail", "/products/q0", "--error", "e"],
        &["retry", "--all"],
        &["review", "fail", "/settings/p0", "--error", "e"],
        &["review", "complete", "/settings/p1", "--bug-report", "bugs.md"],
        &["block", "--reason", "r"],
        &["unblock"],
        &["add", "/new"],
        &["drop", "/products/q1"],
    ];
    for command in commands {
        let sandbox = with_state(&UNKNOWN_KEYS.replace("\"z\": 1", "\"z\": 1.50e+3"));
        sandbox.write("bugs.md", "# Bugs\n");
        sandbox.run(command).exits(0);
        let text = sandbox.read(".monkey-test-state.json");
        let state = state(&sandbox);
        assert_eq!(state["meta"]["notes"], "kept by the team");
        assert!(text.contains("\"custom\": {\n    \"z\": 1.50e+3,\n    \"a\": 2\n  }"), "{command:?}\n{text}");
        assert!(text.contains("\"tester\": {\n        \"model\": \"m\",\n        \"tokens\": [\n          1,\n          2\n        ]\n      }"), "{command:?}\n{text}");
        let keys: Vec<_> = state.as_object().unwrap().keys().take(5).cloned().collect();
        assert_eq!(keys, ["meta", "completed", "failed", "pending", "custom"], "{command:?}");
    }
}

#[test]
fn wrong_counters_are_warned_of_and_written_right_by_the_next_change() {
    let sandbox = with_state(COUNTERS);
    let answer = sandbox.run(&["status", "--json"]).exits(0);
    assert!(answer.stderr.contains("meta.pending is 0, the lists say 3"), "{}", answer.stderr);
    assert_eq!(answer.json()["phase"], "testing");
    let answer = sandbox.run(&["claim"]).exits(0);
    assert!(answer.stderr.contains("warning"), "{}", answer.stderr);
    let meta = state(&sandbox)["meta"].clone();
    assert_eq!((meta["tested"].as_u64(), meta["pending"].as_u64()), (Some(2), Some(3)));
}

#[test]
fn a_route_in_two_lists_is_refused_by_name_and_only_a_repair_takes_it_out() {
    let sandbox = refuses(TWICE.as_bytes(), &["/settings/p0", "completed and pending"]);
    let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
    assert!(plan.stdout.contains("keep it in pending"), "{}", plan.stdout);
    assert_eq!(sandbox.read(".monkey-test-state.json"), TWICE);
    let done = sandbox.run(&["check", "--repair", "--json"]).exits(0).json();
    assert_eq!(sandbox.read(done["kept"].as_str().unwrap()), TWICE);
    sandbox.run(&["check"]).exits(0);
    sandbox.run(&["claim"]).exits(0);
}

#[test]
fn broken_json_is_refused_with_line_and_column_and_can_be_mended() {
    let sandbox = refuses(COMMA.as_bytes(), &["line 63 column 3"]);
    sandbox.run(&["check", "--repair"]).exits(0);
    let state = state(&sandbox);
    assert_eq!(state["pending"].as_array().unwrap().len(), 5, "{state:#}");
    assert_eq!(state["failed"][0]["error"], "Login expired");
}

// S17
#[test]
fn a_merge_conflict_is_called_one() {
    let sandbox = refuses(CONFLICT.as_bytes(), &["merge conflict", "line 59"]);
    let answer = sandbox.run(&["status", "--json"]).exits(2);
    assert_eq!(answer.json()["error"]["code"], "merge_conflict");
}

#[test]
fn the_hint_of_a_merge_conflict_leads_on_whether_or_not_its_sides_can_be_told() {
    // Marks that are not complete: no repair can tell the sides, so none is promised.
    let hint = with_state(CONFLICT).run(&["status", "--json"]).exits(2).json()["error"]["hint"].to_string();
    assert!(hint.contains("by hand") && !hint.contains("--repair"), "{hint}");
    // Sides that can be told are told by the command that the hint names, also when neither can be read alone.
    let sides = "{\n<<<<<<< main\n\"meta\": 1\n=======\n\"meta\": 2\n>>>>>>> topic\n}\n";
    let sandbox = with_state(sides);
    let hint = sandbox.run(&["status", "--json"]).exits(2).json()["error"]["hint"].to_string();
    assert!(hint.contains("check --repair --dry-run"), "{hint}");
    let told = sandbox.run(&["check", "--repair", "--dry-run"]).exits(2).stderr;
    assert!(told.contains("`main`") && told.contains("`topic`"), "{told}");
}

#[test]
fn a_key_that_stands_twice_is_refused_by_name() {
    let doubled = BY_AN_AGENT.replacen("\"pending\": [", "\"pending\": [\"/z\"], \"pending\": [", 2);
    assert_ne!(doubled, BY_AN_AGENT);
    refuses(doubled.as_bytes(), &["`pending`", "twice"]);
    let doubled = BY_AN_AGENT.replacen("\"project\":", "\"base_url\": \"http://other\", \"project\":", 1);
    refuses(doubled.as_bytes(), &["`meta`", "`base_url`", "twice"]);
}

#[test]
fn an_address_or_a_counter_that_is_none_is_told_as_it_stands() {
    let text =
        BY_AN_AGENT.replacen("http://localhost:5000", "javascript:1", 1).replacen("\"tested\": 2", "\"tested\": -1", 1);
    let told = with_state(&text).run(&["check"]).exits(1).stdout;
    assert!(told.contains("javascript:1") && told.contains("meta.tested is -1"), "{told}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_in_the_states_place_is_told_with_a_way_out_and_init_leaves_nothing() {
    use std::os::unix::fs::symlink;
    let put: [(&str, Put); 3] = [
        ("it is a directory", |path| std::fs::create_dir(path).unwrap()),
        ("which does not exist", |path| symlink("gone.json", path).unwrap()),
        ("symbolic link", |path| symlink(path.file_name().unwrap(), path).unwrap()),
    ];
    for (says, put) in put {
        let sandbox = Sandbox::new();
        put(&sandbox.file(".monkey-test-state.json"));
        let init: &[&str] = &["init", "--base-url", "http://h", "--route", "/a"];
        for command in [&["status"][..], &["claim"], &["check"], &["check", "--repair", "--dry-run"], init] {
            let answer = sandbox.run(command).exits(2);
            assert!(answer.stderr.contains(says), "{command:?}: {}", answer.stderr);
            let hint = answer.stderr.split("hint: ").nth(1).unwrap_or_default().to_owned();
            assert!(
                hint.contains("move away") || hint.contains("in the link's place"),
                "{command:?}: {}",
                answer.stderr
            );
        }
        let left =
            ["monkey-test-reports", "monkey-test-screenshots", ".agent-test"].map(|name| sandbox.file(name).exists());
        assert_eq!(left, [false; 3], "{says}");
    }
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_our_own_directory_is_told_by_every_command_that_needs_it() {
    use std::os::unix::fs::symlink;
    let put: [(&str, Put); 3] = [
        ("it is a file, not a directory", |path| std::fs::write(path, "").unwrap()),
        ("which does not exist", |path| symlink("gone", path).unwrap()),
        ("symbolic link", |path| symlink(path.file_name().unwrap(), path).unwrap()),
    ];
    for (says, put) in put {
        let sandbox = campaign(&["/a"]);
        std::fs::remove_dir_all(sandbox.file(".agent-test")).unwrap();
        put(&sandbox.file(".agent-test"));
        let warned = sandbox.run(&["add", "/b"]).exits(0).stderr;
        assert!(warned.contains("the history was not written") && warned.contains(says), "{warned}");
        let found = sandbox.run(&["check"]).exits(1).stdout;
        assert!(found.contains("own_dir") && found.contains(says), "{found}");
        for command in ["undo", "log"] {
            let refused = sandbox.run(&[command]).exits(2).stderr;
            assert!(refused.contains(says) && refused.contains("hint:"), "{command}: {refused}");
        }
    }
}

// S23
#[test]
fn what_a_power_loss_leaves_is_refused_and_never_replaced_by_an_empty_state() {
    refuses(&vec![0; BY_AN_AGENT.len()], &["NUL"]);
    refuses(b"", &["empty"]);
    refuses(&BY_AN_AGENT.as_bytes()[..BY_AN_AGENT.len() / 2], &["ends too early", "check --repair --dry-run"]);
    refuses(&[0xff, 0xfe, 0x00], &["UTF-8"]);
    refuses(b"[]", &["expected an object"]);
    refuses(b"{\"meta\": {}, \"pending\": [\"no-slash\"]}", &["pending[0]", "no-slash"]);
    refuses(&[BY_AN_AGENT.as_bytes(), &[0, 0, 0][..]].concat(), &["line 65"]);
}

// S23
#[test]
fn garbage_after_the_end_is_taken_off_by_a_repair() {
    let sandbox = with_state(&format!("{BY_AN_AGENT}ed\": 3}}\n"));
    sandbox.run(&["status"]).exits(2);
    sandbox.run(&["check", "--repair"]).exits(0);
    assert_eq!(state(&sandbox)["failed"][0]["error"], "Login expired");
}

#[test]
fn a_lost_state_is_rebuilt_from_the_map_and_the_reports() {
    let sandbox = campaign(&["/a", "/b", "/c"]);
    complete(&sandbox, "/a");
    complete(&sandbox, "/b");
    sandbox.write("monkey-test-reports/b-bugs.md", "# Bugs\n");
    sandbox.write("ROUTE_MAP.md", "- /a\n- /b\n- /c\n");
    sandbox.write("agent-test.toml", "base_url = \"http://127.0.0.1:9\"\n");
    for broken in [None, Some(vec![0; 64])] {
        std::fs::remove_dir_all(sandbox.file(".agent-test")).unwrap();
        match &broken {
            None => std::fs::remove_file(sandbox.file(".monkey-test-state.json")).unwrap(),
            Some(bytes) => std::fs::write(sandbox.file(".monkey-test-state.json"), bytes).unwrap(),
        }
        sandbox.run(&["status"]).exits(2);
        let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
        assert!(plan.stdout.contains("2 completed") && plan.stdout.contains("could not know"), "{}", plan.stdout);
        sandbox.run(&["check", "--repair"]).exits(0);
        let state = state(&sandbox);
        assert_eq!(state["pending"], serde_json::json!(["/c"]));
        assert_eq!(state["meta"]["review_complete"], 1);
        assert_eq!(state["meta"]["base_url"], "http://127.0.0.1:9");
        sandbox.run(&["check"]).exits(0);
    }
}

#[test]
fn a_blocked_state_says_why_and_unblock_clears_it() {
    let sandbox = with_state(BLOCKED);
    let standing = sandbox.run(&["status", "--json"]).exits(0).json();
    assert_eq!(standing["phase"], "blocked");
    assert_eq!(standing["blockedReason"], "Login page answers 502");
    sandbox.run(&["unblock"]).exits(0);
    assert!(state(&sandbox)["meta"].get("status").is_none());
    assert_eq!(sandbox.run(&["status", "--json"]).json()["phase"], "testing");
}

#[test]
fn a_state_in_review_names_the_route_that_waits() {
    let standing = with_state(REVIEW).run(&["status", "--json"]).exits(0).json();
    assert_eq!(standing["phase"], "review");
    assert_eq!(standing["freeRoutes"], serde_json::json!(["/settings/p1"]));
}

// S27
#[test]
fn a_newer_state_is_read_and_never_written() {
    let newer = BY_AN_AGENT.replacen("\"meta\": {", "\"meta\": {\n    \"schema_version\": 99,", 1);
    let sandbox = refuses(newer.as_bytes(), &["schema version 99"]);
    sandbox.run(&["status"]).exits(0);
    sandbox.run(&["check", "--repair"]).exits(2);
    sandbox.run(&["init", "--base-url", "http://h", "--route", "/a", "--force"]).exits(2);
    assert_eq!(sandbox.read(".monkey-test-state.json"), newer);
}

#[test]
fn without_a_state_every_command_says_so_and_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    sandbox.write("r.json", "{}");
    for command in CHANGES.into_iter().chain([&["status"][..], &["check"]]) {
        let answer = sandbox.run(command).exits(2);
        assert!(
            answer.stderr.contains("no campaign here") && answer.stderr.contains("agent-test init"),
            "{}",
            answer.stderr
        );
    }
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 1);
}

// S31
#[test]
fn with_every_warning_at_once_stdout_is_still_one_document() {
    let text = COUNTERS
        .replace("\"review_status\": \"review_pending\",", "")
        .replace("2026-03-26T10:31:00Z", "2030-01-01T00:00:00Z");
    for command in [
        &["status", "--json"][..],
        &["check", "--json"],
        &["claim", "--json"],
        &["claim", "--nonsense", "--json"],
        &["add", "/x", "--json"],
    ] {
        let answer = with_state(&text).run(command);
        assert_eq!(answer.json()["exitCode"], answer.code, "{command:?}");
        assert!(command[0] == "check" || !answer.stderr.is_empty(), "{command:?}");
    }
}

// S30
#[test]
fn no_refusal_holds_a_command_that_destroys() {
    for (text, command) in [
        (BY_AN_AGENT, &["init", "--base-url", "http://h", "--route", "/x"][..]),
        (COMMA, &["status"]),
        (CONFLICT, &["claim"]),
        (TWICE, &["claim"]),
        (BY_AN_AGENT, &["requeue", "/tools/export"]),
        (BY_AN_AGENT, &["complete", "/settings/p0", "--report", "x"]),
    ] {
        let answer = with_state(text).run(command).exits(2);
        for bad in ["--force", "rm ", "git ", "--repair`", "agent-test drop /", "agent-test requeue /"] {
            assert!(!answer.stderr.contains(bad), "{}", answer.stderr);
        }
    }
}
