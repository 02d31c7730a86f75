//! What strangers leave in place of the state, and what agents hand in: each told exactly, nothing lost.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::campaign_kit::{campaign, complete, report, state, with_state, write_report};
use crate::sandbox::{Answer, Sandbox};

const STATE: &str = ".monkey-test-state.json";
const BY_AN_AGENT: &str = include_str!("fixtures/state/written-by-an-agent.json");

/// Every kind of command refuses what stands in place of the state, in these words and soon.
#[track_caller]
fn is_refused(sandbox: &Sandbox, words: &str) {
    for command in [
        &["status"][..],
        &["resume"],
        &["claim"],
        &["fail", "/a", "--error", "e"],
        &["add", "/x"],
        &["undo"],
        &["check"],
        &["check", "--repair", "--dry-run"],
        &["check", "--repair"],
        &["init", "--base-url", "http://h", "--route", "/a"],
    ] {
        let mut child =
            sandbox.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let until = Instant::now() + Duration::from_mins(1);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("{command:?} hangs");
            }
            std::thread::yield_now();
        }
        let answer = Answer::from(child.wait_with_output().unwrap()).exits(2);
        assert!(answer.stderr.contains(words), "{command:?}: {}", answer.stderr);
    }
}

#[test]
fn a_directory_in_place_of_the_state_is_called_one() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.file(STATE)).unwrap();
    sandbox.write(".monkey-test-state.json/mine", "x");
    is_refused(&sandbox, "it is a directory");
    assert_eq!(sandbox.read(".monkey-test-state.json/mine"), "x");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_state_is_called_one_and_nothing_waits_for_it() {
    let sandbox = Sandbox::new();
    assert!(Command::new("mkfifo").arg(sandbox.file(STATE)).status().unwrap().success());
    is_refused(&sandbox, "it is a pipe or a device");
}

#[test]
fn a_file_of_200_megabytes_is_not_even_read() {
    let sandbox = Sandbox::new();
    std::fs::File::create(sandbox.file(STATE)).unwrap().set_len(200_000_000).unwrap();
    is_refused(&sandbox, "it is 200 MB large");
    assert_eq!(std::fs::metadata(sandbox.file(STATE)).unwrap().len(), 200_000_000);
}

#[cfg(unix)]
#[test]
fn a_link_inside_the_project_is_followed_and_stays_a_link() {
    let sandbox = campaign(&["/a"]);
    std::fs::create_dir(sandbox.file("kept")).unwrap();
    std::fs::rename(sandbox.file(STATE), sandbox.file("kept/state.json")).unwrap();
    std::os::unix::fs::symlink("kept/state.json", sandbox.file(STATE)).unwrap();
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    assert!(sandbox.file(STATE).is_symlink());
    assert!(sandbox.read("kept/state.json").contains("\"error\": \"e\""));
}

#[test]
fn a_byte_order_mark_is_read_kept_and_warned_of() {
    let sandbox = with_state(&format!("\u{feff}{BY_AN_AGENT}"));
    assert!(sandbox.run(&["status"]).exits(0).stderr.contains("byte-order mark"));
    let answer = sandbox.run(&["claim", "--batch", "1"]).exits(0);
    assert!(answer.stderr.contains("byte-order mark"), "{}", answer.stderr);
    assert!(sandbox.read(STATE).starts_with("\u{feff}{\n"));
    assert_eq!(sandbox.run(&["status", "--json"]).exits(0).json()["leased"], 1);
}

#[test]
fn a_status_word_that_nobody_knows_is_kept_and_warned_of() {
    let text = BY_AN_AGENT.replacen("\"status\": \"pass\"", "\"status\": \"mostly\"", 1).replacen(
        "\"review_status\": \"review_pending\"",
        "\"review_status\": \"in_review\"",
        1,
    );
    let sandbox = with_state(&text);
    for word in ["mostly", "in_review"] {
        let answer = sandbox.run(&["status"]).exits(0);
        assert!(answer.stderr.contains(&format!("unknown status `{word}`")), "{}", answer.stderr);
    }
    let answer = sandbox.run(&["claim", "--batch", "1"]).exits(0);
    assert!(answer.stderr.contains("unknown status"), "{}", answer.stderr);
    let after = sandbox.read(STATE);
    assert!(after.contains("\"status\": \"mostly\"") && after.contains("\"review_status\": \"in_review\""), "{after}");
}

#[test]
fn a_report_that_is_gone_is_warned_of_everywhere_and_only_a_repair_puts_its_route_back() {
    let sandbox = campaign(&["/a", "/b"]);
    complete(&sandbox, "/a");
    std::fs::remove_file(sandbox.file("monkey-test-reports/a.json")).unwrap();
    let before = sandbox.read(STATE);
    for command in [&["status"][..], &["resume", "--plan"], &["resume"], &["run"]] {
        let mut command = sandbox.command(command);
        let answer = Answer::from(command.env("AGENT_TEST_CHROME", "/no/such/browser").output().unwrap());
        assert!(answer.stderr.contains("`/a` is completed, but its report"), "{}", answer.stderr);
    }
    let check = sandbox.run(&["check", "--json"]).exits(1).json();
    assert_eq!((&check["findings"][0]["code"], &check["findings"][0]["route"]), (&"report".into(), &"/a".into()));
    sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
    assert_eq!(state(&sandbox)["completed"], serde_json::from_str::<serde_json::Value>(&before).unwrap()["completed"]);
    sandbox.run(&["check", "--repair"]).exits(0);
    assert_eq!(state(&sandbox)["pending"], serde_json::json!(["/b", "/a"]));
}

#[test]
fn a_trailing_slash_makes_no_other_route() {
    let text = BY_AN_AGENT.replacen("\"/products/q0\",", "\"/products/q0\",\n    \"/products/q0/\",", 1);
    let sandbox = with_state(&text);
    let answer = sandbox.run(&["claim"]).exits(2);
    assert!(answer.stderr.contains("stands in pending and pending"), "{}", answer.stderr);
    assert_eq!(sandbox.read(STATE), text);
    sandbox.run(&["check", "--repair"]).exits(0);
    let pending = state(&sandbox)["pending"].clone();
    let same = pending.as_array().unwrap().iter().filter(|route| route.as_str().unwrap().starts_with("/products/q0"));
    assert_eq!(same.count(), 1, "{pending}");
}

// S23
#[test]
fn what_a_power_loss_leaves_is_put_right_from_what_is_known_and_the_old_file_is_kept() {
    let whole = {
        let sandbox = campaign(&["/a", "/b"]);
        complete(&sandbox, "/a");
        sandbox.read(STATE)
    };
    let half = whole.as_bytes()[..whole.len() / 2].to_vec();
    for broken in [Vec::new(), vec![0; whole.len()], half, [whole.as_bytes(), b"}}garbage"].concat()] {
        let sandbox = campaign(&["/a", "/b"]);
        complete(&sandbox, "/a");
        std::fs::write(sandbox.file(STATE), &broken).unwrap();
        sandbox.run(&["claim"]).exits(2);
        sandbox.run(&["check", "--repair", "--dry-run"]).exits(1);
        assert_eq!(std::fs::read(sandbox.file(STATE)).unwrap(), broken);
        let kept = sandbox.run(&["check", "--repair", "--json"]).exits(0).json()["kept"].clone();
        assert_eq!(std::fs::read(sandbox.file(kept.as_str().unwrap())).unwrap(), broken);
        let now = state(&sandbox);
        assert_eq!((&now["meta"]["tested"], &now["pending"]), (&1.into(), &serde_json::json!(["/b"])));
        sandbox.run(&["check"]).exits(0);
    }
}

// S28
#[test]
fn a_report_completes_only_its_own_route_once_and_under_its_own_lease() {
    let sandbox = campaign(&["/a", "/b"]);
    let path = write_report(&sandbox, "/a");
    sandbox.run(&["complete", "/b", "--report", &path]).exits(2);
    sandbox.run(&["complete", "/a", "--report", "none.json"]).exits(2);
    let claim = sandbox.run(&["claim", "/a", "--json"]).exits(0).json();
    sandbox.run(&["complete", "/a", "--report", &path]).exits(2);
    let token = claim["claims"][0]["token"].as_str().unwrap();
    sandbox.run(&["complete", "/a", "--report", &path, "--token", token]).exits(0);
    let answer = sandbox.run(&["complete", "/a", "--report", &path, "--json"]).exits(0).json();
    assert_eq!(answer["changed"], false);
    let mut other = report("/a");
    other["summary"] = "another".into();
    sandbox.write("other.json", &other.to_string());
    sandbox.run(&["complete", "/a", "--report", "other.json"]).exits(2);
    assert_eq!(state(&sandbox)["completed"][0]["summary"], "one button fails");
}

#[test]
fn counts_that_cannot_be_are_taken_from_the_tree_and_said() {
    let sandbox = campaign(&["/a"]);
    write_report(&sandbox, "/a");
    let mut odd = report("/a");
    odd["operations_count"] = serde_json::json!({ "total": 3, "passed": 9, "failed": 0, "disabled": 0 });
    odd["bugs"][0]["severity"] = "showstopper".into();
    sandbox.write("odd.json", &odd.to_string());
    let answer = sandbox.run(&["complete", "/a", "--report", "odd.json", "--json"]).exits(0);
    assert!(answer.stderr.contains("operations_count does not add up"), "{}", answer.stderr);
    assert!(answer.stderr.contains("`showstopper` is none of critical, major, minor"), "{}", answer.stderr);
    assert_eq!(answer.json()["exitCode"], 0);
    let count = state(&sandbox)["completed"][0]["operations_count"].clone();
    assert_eq!((&count["total"], &count["failed"], &count["disabled"]), (&2.into(), &1.into(), &1.into()));
}

#[test]
fn usual_words_for_a_severity_are_understood() {
    let sandbox = campaign(&["/a"]);
    write_report(&sandbox, "/a");
    let mut odd = report("/a");
    odd["action_tree"] = serde_json::json!({});
    odd["bugs"] = serde_json::json!([
        { "severity": "blocker", "description": "x" },
        { "severity": "High", "description": "y" },
        { "severity": "low", "description": "z" },
    ]);
    sandbox.write("odd.json", &odd.to_string());
    let answer = sandbox.run(&["complete", "/a", "--report", "odd.json"]).exits(0);
    assert!(!answer.stderr.contains("severity"), "{}", answer.stderr);
    let bugs = sandbox.run(&["report", "--json"]).json()["bugs"].clone();
    assert_eq!(bugs, serde_json::json!({ "critical": 1, "major": 1, "minor": 1 }));
}

#[test]
fn a_plain_claim_in_the_review_phase_names_what_to_claim() {
    let sandbox = campaign(&["/a"]);
    complete(&sandbox, "/a");
    let answer = sandbox.run(&["claim", "--json"]).exits(0);
    assert!(answer.stderr.contains("`agent-test claim --phase review`"), "{}", answer.stderr);
    assert_eq!(answer.json()["phase"], "review");
    assert_eq!(answer.json()["claims"], serde_json::json!([]));
}

// S30
#[test]
fn settings_that_a_second_init_does_not_change_are_named() {
    let sandbox = campaign(&["/a"]);
    let again = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/a", "--project", "shop"];
    let answer = sandbox.run(&again).exits(0);
    assert!(!answer.stderr.contains("settings"), "{}", answer.stderr);
    let before = sandbox.read(STATE);
    let answer = sandbox.run(&[&again[..], &["--batch-size", "7", "--json"]].concat()).exits(0);
    assert!(answer.stderr.contains("batch_size stays as it is"), "{}", answer.stderr);
    assert_eq!(answer.json()["unchangedSettings"], serde_json::json!(["batch_size"]));
    assert_eq!(sandbox.read(STATE), before);
}

// S32
#[test]
fn every_route_of_the_slug_table_has_a_file_name_of_its_own_that_windows_takes() {
    let long = format!("/{}", "long-".repeat(60));
    let routes = [
        "/con",
        "/CON",
        "/nul.txt",
        "/a:b",
        "/a?b",
        "/a",
        "/A",
        "/a/b",
        "/a_b",
        "/",
        "/root",
        &long,
        "/a%20b",
        "/a b",
        "/end.",
        "/#/users",
        "/list?tab=2",
        "/ümlaut",
        "/.hidden",
    ];
    let sandbox = campaign(&routes);
    let slug = |route: &str| sandbox.run(&["slug", route]).exits(0).stdout.trim().to_owned();
    let before: Vec<String> = routes.iter().map(|route| slug(route)).collect();
    let folded: std::collections::HashSet<String> = before.iter().map(|slug| slug.to_lowercase()).collect();
    assert_eq!(folded.len(), routes.len(), "{before:?}");
    for slug in &before {
        assert!(slug.len() <= 120 && !slug.ends_with('.') && !slug.starts_with('.'), "{slug}");
        assert!(slug.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{slug}");
        let stem = slug.split('.').next().unwrap().to_lowercase();
        assert!(!["con", "nul", "aux", "prn"].contains(&stem.as_str()), "{slug}");
        sandbox.write(&format!("monkey-test-reports/{slug}.json"), "{}");
    }
    // They stay when routes come and go.
    sandbox.run(&["drop", "/a_b", "/A"]).exits(0);
    sandbox.run(&["add", "/b/a", "/A", "/a_b", "/CON/"]).exits(0);
    let after: Vec<String> = routes.iter().map(|route| slug(route)).collect();
    assert_eq!(after, before);
}

#[test]
fn what_is_no_route_is_refused() {
    let sandbox = campaign(&["/a"]);
    for bad in ["/a/../b", "/./a", "\\a", "http://elsewhere/x", "a\u{0}b"].iter().filter(|bad| !bad.contains('\u{0}')) {
        let answer = sandbox.run(&["add", bad, "--json"]);
        assert_eq!(answer.code, 2, "{bad}: {}", answer.stdout);
    }
}

// S11
#[test]
fn what_is_derived_is_never_read_back_as_truth() {
    let sandbox = Sandbox::new();
    sandbox.write("routes.txt", "/a\n/b\n");
    sandbox.run(&["discover", "--from-list", "routes.txt"]).exits(0);
    sandbox.run(&["init", "--base-url", "http://127.0.0.1:9", "--all"]).exits(0);
    complete(&sandbox, "/a");
    let before = sandbox.read(STATE);
    // An old mirror says otherwise: the map's Status column, a report of a pending route, a loop's counters.
    sandbox.write("ROUTE_MAP.md", &sandbox.read("ROUTE_MAP.md").replace("| pending |", "| completed |"));
    write_report(&sandbox, "/b");
    sandbox.write(".monkey-test-loop-state.json", "{\"tested\": 0, \"pending\": 0}");
    sandbox.write("monkey-test-reports/FINAL-REPORT.md", "# Final Report\n\nAll 2 routes are done.\n");
    let standing = sandbox.run(&["status", "--json"]).exits(0).json();
    assert_eq!((&standing["counts"]["tested"], &standing["counts"]["pending"]), (&1.into(), &1.into()));
    assert_eq!(standing["phase"], "testing");
    sandbox.run(&["init", "--base-url", "http://127.0.0.1:9", "--all"]).exits(0);
    sandbox.run(&["check"]).exits(0);
    assert_eq!(sandbox.read(STATE), before);
}

// S31
#[test]
fn with_every_warning_of_a_stranger_at_once_stdout_is_still_one_document() {
    let sandbox = campaign(&["/a", "/b", "/c"]);
    let old = sandbox.read(STATE);
    complete(&sandbox, "/a");
    let odd = old.replacen("\"pending\": 3", "\"pending\": 9", 1);
    sandbox.write(STATE, &format!("\u{feff}{odd}"));
    for (command, code) in [(&["status", "--json"][..], 0), (&["check", "--json"], 1), (&["claim", "--json"], 2)] {
        let answer = sandbox.run(command).exits(code);
        assert_eq!(answer.json()["exitCode"], code);
    }
    let status = sandbox.run(&["status", "--json"]);
    for words in ["older than", "meta.pending is 9", "byte-order mark"] {
        assert!(status.stderr.contains(words), "{words}: {}", status.stderr);
    }
}

#[test]
#[cfg(unix)]
fn a_working_directory_that_was_removed_is_told_with_what_to_do() {
    let sandbox = Sandbox::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" status --json";
    let binary = env!("CARGO_BIN_EXE_agent-test");
    let output = Command::new("sh").args(["-c", script, binary]).current_dir(sandbox.path()).output().unwrap();
    let answer = Answer::from(output).exits(2);
    assert_eq!(answer.json()["error"]["code"], "no_project");
    assert!(answer.json()["error"]["hint"].as_str().unwrap().contains("--project-dir"), "{}", answer.stdout);
}
