//! An older state that was brought back, and a state that is gone: noticed, not gone on with, brought forward.

use std::process::Command;

use crate::campaign_kit::{campaign, complete, state};
use crate::sandbox::Sandbox;

const STATE: &str = ".monkey-test-state.json";

#[track_caller]
fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C"]);
    command.arg(sandbox.path()).args(arguments).env("HOME", sandbox.path());
    let output = command.output().expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Nothing goes on from this state, and everything says so; the file keeps its bytes.
#[track_caller]
fn is_told_to_be_older(sandbox: &Sandbox) {
    let before = sandbox.read(STATE);
    let status = sandbox.run(&["status", "--json"]).exits(0);
    assert_eq!(status.json()["findings"][0]["code"], "older", "{}", status.stdout);
    assert!(status.stderr.contains("older than the last transition known"), "{}", status.stderr);
    for command in [&["resume"][..], &["run"], &["claim"], &["fail", "/b", "--error", "e"], &["undo"]] {
        let answer = sandbox.run(command).exits(2);
        assert!(answer.stderr.contains("older than the last transition known"), "{command:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("check --repair --dry-run"), "{}", answer.stderr);
        for bad in ["git ", "--force", "rm ", "--repair`"] {
            assert!(!answer.stderr.contains(bad), "{}", answer.stderr);
        }
    }
    let check = sandbox.run(&["check", "--json"]).exits(1).json();
    assert_eq!(check["findings"][0]["code"], "older");
    assert_eq!(sandbox.read(STATE), before);
}

// S10
#[test]
fn a_state_of_an_old_branch_is_noticed_and_brought_forward() {
    let sandbox = campaign(&["/a", "/b", "/c"]);
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "-f", STATE]);
    git(&sandbox, &["commit", "-qm", "one"]);
    git(&sandbox, &["checkout", "-qb", "work"]);
    complete(&sandbox, "/a");
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    git(&sandbox, &["commit", "-qam", "two"]);
    git(&sandbox, &["checkout", "-q", "main"]);
    assert_eq!(state(&sandbox)["meta"]["tested"], 0);
    is_told_to_be_older(&sandbox);
    let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
    assert!(plan.stdout.contains("bring it forward"), "{}", plan.stdout);
    sandbox.run(&["check", "--repair"]).exits(0);
    let now = state(&sandbox);
    assert_eq!((now["meta"]["tested"].as_u64(), now["meta"]["failed"].as_u64()), (Some(1), Some(1)));
    assert_eq!(now["failed"][0]["error"], "no login");
    assert!(now["transition"].as_u64() > Some(3));
    sandbox.run(&["claim"]).exits(0);
    // A side branch merged the other way round is not older.
    sandbox.run(&["check"]).exits(0);
}

#[test]
fn a_hand_edit_is_not_older() {
    let sandbox = campaign(&["/a", "/b"]);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    let text = sandbox.read(STATE).replace("\"error\": \"e\"", "\"error\": \"edited\"");
    sandbox.write(STATE, &text);
    sandbox.run(&["check"]).exits(0);
    sandbox.run(&["claim"]).exits(0);
    // A writer that drops the keys it does not know is not older either.
    let mut other = state(&sandbox);
    for key in ["transition", "claims", "attempts", "scope"] {
        other.as_object_mut().unwrap().remove(key);
    }
    sandbox.write(STATE, &serde_json::to_string(&other).unwrap());
    sandbox.run(&["claim", "/b"]).exits(0);
    assert!(state(&sandbox)["transition"].as_u64() > Some(3));
}

#[test]
fn a_state_without_a_number_is_older_when_it_is_an_earlier_one_byte_for_byte() {
    let sandbox = crate::campaign_kit::with_state(include_str!("fixtures/state/written-by-an-agent.json"));
    let first = sandbox.read(STATE);
    sandbox.run(&["claim", "--batch", "1"]).exits(0);
    sandbox.write(STATE, &first);
    is_told_to_be_older(&sandbox);
}

#[test]
fn what_was_taken_back_stays_taken_back_in_a_repair() {
    let sandbox = campaign(&["/a", "/b"]);
    let old = sandbox.read(STATE);
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    sandbox.run(&["undo"]).exits(0);
    sandbox.run(&["fail", "/b", "--error", "e"]).exits(0);
    sandbox.write(STATE, &old);
    sandbox.run(&["check", "--repair"]).exits(0);
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/a"]));
    sandbox.run(&["log"]).exits(0);
}

#[test]
fn a_lost_state_is_rebuilt_from_the_history_with_what_failed() {
    let sandbox = campaign(&["/a", "/b", "/c", "/d"]);
    complete(&sandbox, "/a");
    sandbox.run(&["fail", "/b", "--error", "no login"]).exits(0);
    sandbox.run(&["drop", "/d"]).exits(0);
    sandbox.run(&["add", "/e"]).exits(0);
    // The map has a route that was not selected.
    sandbox.write("ROUTE_MAP.md", "- /a\n- /b\n- /c\n- /d\n- /other\n");
    std::fs::write(sandbox.file(STATE), vec![0; 100]).unwrap();
    let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
    assert!(plan.stdout.contains("from the history") && plan.stdout.contains("could not know"), "{}", plan.stdout);
    sandbox.run(&["check", "--repair"]).exits(0);
    let now = state(&sandbox);
    assert_eq!(now["pending"], serde_json::json!(["/c", "/e"]));
    assert_eq!((&now["failed"][0]["error"], &now["completed"][0]["route"]), (&"no login".into(), &"/a".into()));
    assert_eq!(now["meta"]["base_url"], "http://127.0.0.1:9");
    sandbox.run(&["check"]).exits(0);
    sandbox.run(&["claim"]).exits(0);
}

// S34
#[test]
fn a_copy_survives_git_clean_and_is_offered_by_a_repair() {
    let sandbox = Sandbox::new();
    git(&sandbox, &["init", "-q"]);
    sandbox.write("code.txt", "x");
    git(&sandbox, &["add", "code.txt"]);
    git(&sandbox, &["commit", "-qm", "one"]);
    let init = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/a", "--route", "/b"];
    let answer = sandbox.run(&init).exits(0);
    assert!(answer.stderr.contains(".git/info/exclude"), "{}", answer.stderr);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    // The same again adds nothing; what teams commit is not left out.
    let exclude = sandbox.read(".git/info/exclude");
    sandbox.run(&init).exits(0);
    assert_eq!(sandbox.read(".git/info/exclude"), exclude);
    sandbox.write(".agent-test/cache/a.json", "{}");
    assert!(git(&sandbox, &["status", "--porcelain", "-uall"]).contains(".agent-test/cache/a.json"));
    // The phase changes, so a copy is due.
    sandbox.run(&["fail", "/a", "--error", "no login"]).exits(0);
    sandbox.run(&["block", "--reason", "down"]).exits(0);
    for (removal, gone) in [(&["clean", "-fdxq"][..], true), (&["stash", "-qu"], false)] {
        git(&sandbox, removal);
        if gone {
            assert!(!sandbox.file(STATE).exists() && !sandbox.file(".agent-test").exists());
            let answer = sandbox.run(&["status"]).exits(2);
            assert!(answer.stderr.contains("check --repair --dry-run"), "{}", answer.stderr);
            let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
            assert!(plan.stdout.contains("take the copy in the git directory"), "{}", plan.stdout);
            sandbox.run(&["check", "--repair"]).exits(0);
        }
        let now = state(&sandbox);
        assert_eq!(now["failed"][0]["error"], "no login");
        assert_eq!(now["meta"]["blocked_reason"], "down");
    }
}

// S17
#[test]
fn a_merge_conflict_is_told_side_by_side_and_a_repair_takes_what_both_have() {
    let sandbox = campaign(&["/a", "/b", "/c"]);
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "-f", STATE]);
    git(&sandbox, &["commit", "-qm", "one"]);
    git(&sandbox, &["checkout", "-qb", "other"]);
    complete(&sandbox, "/a");
    git(&sandbox, &["commit", "-qam", "two"]);
    git(&sandbox, &["checkout", "-q", "main"]);
    // Another machine: it has no history of the first.
    std::fs::remove_dir_all(sandbox.file(".agent-test")).unwrap();
    std::fs::remove_dir_all(sandbox.file(".git/agent-test")).ok();
    complete(&sandbox, "/b");
    git(&sandbox, &["commit", "-qam", "three"]);
    let merge = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-C"])
        .arg(sandbox.path())
        .args(["merge", "-q", "other"])
        .env("HOME", sandbox.path())
        .output()
        .unwrap();
    assert!(!merge.status.success());
    let conflicted = sandbox.read(STATE);
    assert!(conflicted.contains("<<<<<<<"));
    let answer = sandbox.run(&["status", "--json"]).exits(2);
    assert_eq!(answer.json()["error"]["code"], "merge_conflict");
    let plan = sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
    for word in ["the side `HEAD` has 1 completed", "the side `other` has 1 completed", "take the side"] {
        assert!(plan.stdout.contains(word), "{word}: {}", plan.stdout);
    }
    assert!(!plan.stdout.contains("init") && !plan.stdout.contains("anew"), "{}", plan.stdout);
    assert_eq!(sandbox.read(STATE), conflicted);
    sandbox.run(&["check", "--repair"]).exits(0);
    assert_eq!(state(&sandbox)["meta"]["tested"], 2);
    sandbox.run(&["check"]).exits(0);
}

// S17
#[test]
fn doctor_warns_when_git_tracks_the_state() {
    let sandbox = campaign(&["/a"]);
    git(&sandbox, &["init", "-q"]);
    let grade = || {
        let output = sandbox.command(&["doctor", "--quick", "--json"]).output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["checks"].as_array().unwrap().iter().find(|check| check["name"] == "git").unwrap().clone()
    };
    assert_eq!(grade()["grade"], "ok");
    git(&sandbox, &["add", "-f", STATE]);
    let check = grade();
    assert_eq!(check["grade"], "warn");
    assert!(check["found"].as_str().unwrap().contains(STATE), "{check}");
}
