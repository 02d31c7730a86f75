//! Leases, though somebody sets the clock. The program's clocks are set by what tests may set.

use serde_json::Value;

use crate::campaign_kit::{campaign, state, write_report};
use crate::sandbox::{Answer, Sandbox};

/// A wall clock and minutes since the machine's start.
type Clocks = (&'static str, u64);

fn at((wall, minutes): Clocks, sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    let mut command = sandbox.command(arguments);
    command.env("AGENT_TEST_INTERNAL_NOW", wall);
    command.env("AGENT_TEST_INTERNAL_BOOT", format!("boot-1:{}", minutes * 60_000));
    command.output().unwrap().into()
}

fn token(answer: &Value) -> String {
    answer["claims"][0]["token"].as_str().unwrap().to_owned()
}

const DAY: &str = "2030-01-10T00:00:00Z";
/// Five minutes later by the machine, a day on or back by the wall.
const JUMPS: [Clocks; 2] = [("2030-01-11T00:05:00Z", 105), ("2030-01-09T00:05:00Z", 105)];

// S21
#[test]
fn a_clock_that_jumps_a_day_ends_no_lease_and_lets_exactly_one_worker_finish() {
    for jump in JUMPS {
        let sandbox = campaign(&["/a"]);
        let path = write_report(&sandbox, "/a");
        let token = token(&at((DAY, 100), &sandbox, &["claim", "/a", "--lease", "15m", "--json"]).exits(0).json());
        let answer = at(jump, &sandbox, &["claim", "/a", "--worker", "thief"]).exits(2);
        assert!(answer.stderr.contains("already claimed"), "{}", answer.stderr);
        at(jump, &sandbox, &["complete", "/a", "--report", &path]).exits(2);
        at(jump, &sandbox, &["heartbeat", "--token", &token]).exits(0);
        at(jump, &sandbox, &["complete", "/a", "--report", &path, "--token", &token]).exits(0);
        assert_eq!(state(&sandbox)["meta"]["tested"], 1);
    }
}

// S21
#[test]
fn a_dead_lease_is_free_within_one_period_after_a_jump() {
    for (wall, later) in [("2030-01-11T00:16:00Z", 116), ("2030-01-09T00:16:00Z", 116)] {
        let sandbox = campaign(&["/a"]);
        let dead = token(&at((DAY, 100), &sandbox, &["claim", "/a", "--lease", "15m", "--json"]).exits(0).json());
        let fresh = token(&at((wall, later), &sandbox, &["claim", "/a", "--json"]).exits(0).json());
        at((wall, later), &sandbox, &["heartbeat", "--token", &dead]).exits(2);
        at((wall, later), &sandbox, &["fail", "/a", "--error", "e", "--token", &dead]).exits(2);
        at((wall, later), &sandbox, &["fail", "/a", "--error", "e", "--token", &fresh]).exits(0);
    }
}

// S21
#[test]
fn a_heartbeat_after_a_jump_never_shortens_the_lease() {
    for jump in JUMPS {
        let sandbox = campaign(&["/a"]);
        let token = token(&at((DAY, 100), &sandbox, &["claim", "/a", "--lease", "1h", "--json"]).exits(0).json());
        at(jump, &sandbox, &["heartbeat", "--token", &token, "--lease", "1m"]).exits(0);
        let lease = &state(&sandbox)["claims"]["/a"];
        assert_eq!(lease["boot"]["expires_ms"], 160 * 60_000, "{lease}");
        let end: chrono::DateTime<chrono::Utc> = lease["expires_at"].as_str().unwrap().parse().unwrap();
        let now: chrono::DateTime<chrono::Utc> = jump.0.parse().unwrap();
        assert_eq!((end - now).num_minutes(), 55);
    }
}

// S21
#[test]
fn after_a_restart_the_wall_clock_decides_and_no_lease_is_immortal() {
    let sandbox = campaign(&["/a"]);
    at((DAY, 100), &sandbox, &["claim", "/a", "--lease", "15m"]).exits(0);
    let restarted = |wall: &str, arguments: &[&str]| -> Answer {
        let mut command = sandbox.command(arguments);
        command.env("AGENT_TEST_INTERNAL_NOW", wall).env("AGENT_TEST_INTERNAL_BOOT", "boot-2:1000");
        command.output().unwrap().into()
    };
    restarted("2030-01-10T00:05:00Z", &["claim", "/a"]).exits(2);
    // A clock that came up years behind: no lease ends further ahead than it is long.
    restarted("2020-01-01T00:00:00Z", &["claim", "/a"]).exits(0);
}

// S20
#[test]
fn an_expired_token_neither_completes_nor_renews_nor_reviews_nor_comes_back_to_life() {
    let sandbox = campaign(&["/a", "/b"]);
    let path = write_report(&sandbox, "/a");
    let old = token(&at((DAY, 100), &sandbox, &["claim", "/a", "--lease", "1m", "--json"]).exits(0).json());
    let late: Clocks = ("2030-01-10T00:02:00Z", 102);
    for command in [
        &["complete", "/a", "--report", &path, "--token", &old][..],
        &["fail", "/a", "--error", "e", "--token", &old],
        &["heartbeat", "--token", &old],
        &["heartbeat", "--token", &old, "--lease", "1h"],
    ] {
        let answer = at(late, &sandbox, command).exits(2);
        assert!(answer.stderr.contains("claim the route again"), "{command:?}: {}", answer.stderr);
    }
    let new = token(&at(late, &sandbox, &["claim", "/a", "--worker", "w2", "--json"]).exits(0).json());
    // Giving the dead one back does not free the live one.
    at(late, &sandbox, &["release", "--token", &old]).exits(0);
    at(late, &sandbox, &["claim", "/a"]).exits(2);
    at(late, &sandbox, &["complete", "/a", "--report", &path, "--token", &old]).exits(2);
    at(late, &sandbox, &["complete", "/a", "--report", &path, "--token", &new]).exits(0);
    sandbox.write("bugs.md", "# Bugs\n");
    at(late, &sandbox, &["review", "complete", "/a", "--bug-report", "bugs.md", "--token", &new]).exits(2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lease_names_the_start_of_this_machine() {
    let sandbox = campaign(&["/a"]);
    sandbox.run(&["claim", "/a"]).exits(0);
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(state(&sandbox)["claims"]["/a"]["boot"]["id"], id.trim());
}
