//! Many processes on one state, killed processes, and disks that fail.

use std::collections::HashSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::campaign_kit::{campaign, state, write_report};
use crate::sandbox::{Answer, Sandbox};

fn start(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the built binary starts")
}

fn end(child: Child) -> Answer {
    child.wait_with_output().expect("it ends").into()
}

fn routes(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("/r{n}")).collect()
}

fn started(count: usize) -> Sandbox {
    let routes = routes(count);
    campaign(&routes.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn eight_processes_complete_eight_routes_at_once_and_none_is_lost() {
    let sandbox = started(8);
    let all: Vec<(String, String)> =
        routes(8).into_iter().map(|route| (write_report(&sandbox, &route), route)).collect();
    let children: Vec<Child> =
        all.iter().map(|(path, route)| start(&sandbox, &["complete", route, "--report", path])).collect();
    for child in children {
        end(child).exits(0);
    }
    assert_eq!(state(&sandbox)["meta"]["tested"], 8);
    sandbox.run(&["check"]).exits(0);
}

#[test]
fn twenty_commands_back_to_back_are_all_seen_by_the_next_process() {
    let sandbox = started(20);
    for (count, route) in routes(20).iter().enumerate() {
        sandbox.run(&["fail", route, "--error", "e"]).exits(0);
        assert_eq!(sandbox.run(&["status", "--json"]).json()["counts"]["failed"], count + 1);
    }
}

#[test]
fn of_fifty_claims_on_one_route_one_wins_and_the_others_hear_who() {
    let sandbox = started(2);
    let children: Vec<Child> =
        (0..50).map(|n| start(&sandbox, &["claim", "/r0", "--worker", &format!("w{n}")])).collect();
    let answers: Vec<Answer> = children.into_iter().map(end).collect();
    assert_eq!(answers.iter().filter(|answer| answer.code == 0).count(), 1);
    for answer in answers.iter().filter(|answer| answer.code != 0) {
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains("already claimed by w"), "{}", answer.stderr);
    }
}

#[test]
fn ten_processes_that_claim_batches_get_disjoint_routes() {
    let sandbox = started(40);
    let children: Vec<Child> = (0..10).map(|_| start(&sandbox, &["claim", "--batch", "3", "--json"])).collect();
    let mut seen = HashSet::new();
    for child in children {
        let answer = end(child).exits(0).json();
        let claims = answer["claims"].as_array().unwrap();
        assert_eq!(claims.len(), 3);
        for claim in claims {
            assert!(seen.insert(claim["route"].to_string()), "{claim} twice");
            assert!(seen.insert(claim["token"].to_string()), "{claim} twice");
        }
    }
}

#[test]
fn every_changing_command_takes_part_in_the_same_lock() {
    let sandbox = started(12);
    sandbox.run(&["fail", "/r0", "--error", "e"]).exits(0);
    let report = write_report(&sandbox, "/r1");
    let commands: [&[&str]; 8] = [
        &["retry", "/r0"],
        &["complete", "/r1", "--report", &report],
        &["fail", "/r2", "--error", "e"],
        &["claim", "/r3"],
        &["drop", "/r4"],
        &["add", "/new"],
        &["block", "--reason", "x"],
        &["fail", "/r5", "--error", "e"],
    ];
    let children: Vec<Child> = commands.iter().map(|command| start(&sandbox, command)).collect();
    let blocked = children.into_iter().map(end).filter(|answer| answer.code != 0).count();
    // Only the claim may be refused, when the block came first.
    assert!(blocked <= 1);
    let state = state(&sandbox);
    assert_eq!((state["meta"]["tested"].as_u64(), state["meta"]["failed"].as_u64()), (Some(1), Some(2)));
    assert_eq!(state["meta"]["total_routes"], 12);
    assert_eq!(state["meta"]["blocked_reason"], "x");
}

#[cfg(unix)]
#[test]
fn a_process_killed_while_it_holds_the_lock_leaves_nothing_locked() {
    let sandbox = started(2);
    let text = sandbox.read(".monkey-test-state.json");
    // A state that is large enough to keep the command inside its transaction for a while.
    let many: Vec<String> = (0..60_000).map(|n| format!("/many/{n}")).collect();
    let mut large: serde_json::Value = serde_json::from_str(&text).unwrap();
    large["pending"] = many.into();
    sandbox.write(".monkey-test-state.json", &large.to_string());
    let mut holder = start(&sandbox, &["claim", "--batch", "1"]);
    let lock = std::fs::File::options().write(true).open(sandbox.file(".monkey-test-state.lock")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while lock.try_lock().is_ok() {
        lock.unlock().unwrap();
        assert!(Instant::now() < deadline, "the command never took the lock");
        std::thread::yield_now();
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    sandbox.write(".monkey-test-state.json", &text);
    let start = Instant::now();
    sandbox.run(&["claim"]).exits(0);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_command_that_waits_too_long_for_the_lock_says_how_to_wait_longer() {
    let sandbox = started(2);
    let lock = std::fs::File::options().write(true).open(sandbox.file(".monkey-test-state.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = sandbox.command(&["fail", "/r1", "--error", "e"]);
    waiting.env("AGENT_TEST_LOCK_TIMEOUT", "0.2");
    let waiting: Answer = waiting.output().unwrap().into();
    assert!(waiting.code == 3 && waiting.stderr.contains("AGENT_TEST_LOCK_TIMEOUT"), "{}", waiting.stderr);
}

#[cfg(unix)]
#[test]
fn processes_killed_anywhere_leave_a_whole_state_and_no_litter() {
    let sandbox = started(30);
    for (round, route) in routes(30).iter().enumerate() {
        let mut child = start(&sandbox, &["fail", route, "--error", "e"]);
        let until = Instant::now() + Duration::from_micros(700 * round as u64);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(state(&sandbox)["meta"]["total_routes"], 30);
    }
    sandbox.run(&["add", "/last"]).exits(0);
    let litter = std::fs::read_dir(sandbox.path())
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(".agent-test-write-"));
    assert_eq!(litter.count(), 0);
    sandbox.run(&["check"]).exits(0);
}

#[cfg(unix)]
#[test]
fn a_write_that_fails_leaves_the_old_state_whole() {
    let sandbox = started(60);
    let before = sandbox.read(".monkey-test-state.json");
    // The state is larger than a file may become here.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" claim --json", env!("CARGO_BIN_EXE_agent-test")]);
    let answer: Answer =
        shell.current_dir(sandbox.path()).env("AGENT_TEST_PROJECT_DIR", sandbox.path()).output().unwrap().into();
    assert_eq!(answer.code, 3, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("unchanged"), "{}", answer.stderr);
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
    sandbox.run(&["claim"]).exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_and_leaves_the_old_state_whole() {
    let sandbox = started(60);
    // A file system of its own, as small as the state and a little more; it needs user namespaces.
    let script = "mount -t tmpfs -o size=24k tmpfs disk && cp .monkey-test-state.json disk/ && cd disk \
                  && head -c 100000 /dev/zero > fill 2>/dev/null; \"$0\" --project-dir . claim; code=$?; \
                  cmp .monkey-test-state.json ../.monkey-test-state.json && exit $code";
    std::fs::create_dir(sandbox.file("disk")).unwrap();
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_agent-test")]).current_dir(sandbox.path());
    let Ok(output) = command.output() else { return };
    let answer = Answer::from(output);
    if answer.stderr.contains("unshare") || answer.stderr.contains("mount:") {
        eprintln!("no user namespaces here: {}", answer.stderr);
        return;
    }
    assert_eq!(answer.code, 3, "{}{}", answer.stdout, answer.stderr);
    assert!(
        answer.stderr.to_lowercase().contains("no space") || answer.stderr.contains("free some space"),
        "{}",
        answer.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_read_only_project_is_said_to_be_one() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = started(2);
    let before = sandbox.read(".monkey-test-state.json");
    let set = |name: &str, mode| {
        std::fs::set_permissions(sandbox.file(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (name, read_only, writable) in [("", 0o555, 0o755), (".monkey-test-state.json", 0o444, 0o644)] {
        set(name, read_only);
        let answer = sandbox.run(&["claim", "--json"]);
        sandbox.run(&["status"]).exits(0);
        set(name, writable);
        assert_eq!(answer.code, 3, "{}", answer.stderr);
        assert_eq!(answer.json()["error"]["code"], "read_only");
        assert!(answer.stderr.contains("read-only"), "{}", answer.stderr);
    }
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
}

#[cfg(unix)]
#[test]
fn a_state_that_is_a_link_out_of_the_project_is_not_written() {
    let sandbox = started(2);
    let outside = Sandbox::new();
    std::fs::rename(sandbox.file(".monkey-test-state.json"), outside.file("s.json")).unwrap();
    std::os::unix::fs::symlink(outside.file("s.json"), sandbox.file(".monkey-test-state.json")).unwrap();
    let before = outside.read("s.json");
    let answer = sandbox.run(&["claim"]).exits(2);
    assert!(answer.stderr.contains("symbolic link"), "{}", answer.stderr);
    assert_eq!(outside.read("s.json"), before);
}

// S28
#[test]
fn a_session_that_merely_ends_completes_nothing() {
    let sandbox = started(1);
    let claim = sandbox.run(&["claim", "--json"]).exits(0).json();
    let token = claim["claims"][0]["token"].as_str().unwrap();
    sandbox.run(&["release", "--token", token]).exits(0);
    sandbox.run(&["release", "--token", token]).exits(0);
    let path = write_report(&sandbox, "/r0");
    // Under a token that holds nothing any more the work is not taken.
    let answer = sandbox.run(&["complete", "/r0", "--report", &path, "--token", token]).exits(2);
    assert!(answer.stderr.contains("claim the route again"), "{}", answer.stderr);
    assert_eq!(state(&sandbox)["meta"]["tested"], 0);
}

// S20
#[test]
fn a_lease_that_ran_out_frees_its_route_and_its_token_is_dead() {
    let sandbox = started(1);
    let at = |time: &str, arguments: &[&str]| -> Answer {
        sandbox.command(arguments).env("AGENT_TEST_INTERNAL_NOW", time).output().unwrap().into()
    };
    let claim = at("2030-01-01T00:00:00Z", &["claim", "--lease", "10m", "--json"]).exits(0).json();
    let token = claim["claims"][0]["token"].as_str().unwrap().to_owned();
    at("2030-01-01T00:09:00Z", &["claim", "/r0"]).exits(2);
    at("2030-01-01T00:09:00Z", &["heartbeat", "--token", &token]).exits(0);
    at("2030-01-01T00:18:00Z", &["claim", "/r0"]).exits(2);
    at("2030-01-01T00:19:30Z", &["heartbeat", "--token", &token]).exits(2);
    at("2030-01-01T00:19:30Z", &["claim", "/r0"]).exits(0);
    at("2030-01-01T00:19:30Z", &["fail", "/r0", "--error", "e", "--token", &token]).exits(2);
}
