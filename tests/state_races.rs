//! Many processes of every kind at once, and every pair of commands: nothing is lost, nothing is given twice.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::campaign_kit::{campaign, complete, report, state};
use crate::sandbox::{Answer, Sandbox};

const STATE: &str = ".monkey-test-state.json";

/// A wait between 0 and 50 ms that differs from start to start and is the same in every run.
fn stagger(seed: u64) {
    let millis = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) % 51;
    std::thread::sleep(Duration::from_millis(millis));
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("/{prefix}{number}")).collect()
}

/// Writes the report of a route whose slug is plain, without starting a process.
fn hand_in(sandbox: &Sandbox, route: &str) -> String {
    let slug = &route[1..];
    sandbox.write(&format!("monkey-test-screenshots/{slug}/01-page.png"), "png");
    let path = format!("in/{slug}.json");
    sandbox.write(&path, &report(route).to_string());
    path
}

fn list<'a>(state: &'a Value, name: &str) -> Vec<&'a str> {
    let entries = state[name].as_array().unwrap().iter();
    entries.filter_map(|entry| entry.as_str().or_else(|| entry["route"].as_str())).collect()
}

#[test]
fn thirty_two_processes_of_every_kind_lose_no_change_and_give_no_route_twice() {
    const OF_EACH: usize = 4;
    let kinds = 8;
    // The pool comes first: claims take from it, the other routes are worked on by name.
    let (pool, to_fail, to_retry) = (names("pool", 8 * OF_EACH), names("f", OF_EACH), names("t", OF_EACH));
    let (to_complete, to_review) = (names("c", OF_EACH), names("v", OF_EACH));
    let all: Vec<&str> =
        [&pool, &to_fail, &to_retry, &to_complete, &to_review].into_iter().flatten().map(String::as_str).collect();
    let sandbox = campaign(&all);
    for route in &to_retry {
        sandbox.run(&["fail", route, "--error", "before"]).exits(0);
    }
    for route in &to_review {
        complete(&sandbox, route);
        sandbox.write(&format!("monkey-test-reports{route}-bugs.md"), "# Bugs\n");
    }
    let given: Mutex<HashSet<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for worker in 0..OF_EACH * kinds {
            let (sandbox, given) = (&sandbox, &given);
            let (to_fail, to_retry, to_complete, to_review) = (&to_fail, &to_retry, &to_complete, &to_review);
            scope.spawn(move || {
                stagger(worker as u64 + 1);
                let number = worker / kinds;
                let twice = |arguments: &[&str]| {
                    sandbox.run(arguments).exits(0);
                    // A fresh process sees it: to it there is nothing left to do.
                    let again = sandbox.run(arguments).exits(0);
                    assert!(again.stdout.contains("unchanged"), "{arguments:?}: {}", again.stdout);
                };
                match worker % kinds {
                    0 | 1 => {
                        let answer = sandbox.run(&["claim", "--batch", "4", "--json"]).exits(0).json();
                        let claims = answer["claims"].as_array().unwrap().clone();
                        assert_eq!(claims.len(), 4);
                        for claim in &claims {
                            let route = claim["route"].as_str().unwrap().to_owned();
                            assert!(given.lock().unwrap().insert(route.clone()), "{route} was given twice");
                        }
                        let of = |place: usize, key: &str| claims[place][key].as_str().unwrap().to_owned();
                        let path = hand_in(sandbox, &of(0, "route"));
                        sandbox
                            .run(&["complete", &of(0, "route"), "--report", &path, "--token", &of(0, "token")])
                            .exits(0);
                        stagger(worker as u64 + 100);
                        sandbox.run(&["fail", &of(1, "route"), "--error", "e", "--token", &of(1, "token")]).exits(0);
                        sandbox.run(&["heartbeat", "--token", &of(2, "token")]).exits(0);
                        // Another's token opens nothing.
                        sandbox.run(&["fail", &of(3, "route"), "--error", "e", "--token", &of(2, "token")]).exits(2);
                    }
                    2 => twice(&["fail", &to_fail[number], "--error", "e"]),
                    3 => twice(&["retry", &to_retry[number]]),
                    4 => {
                        let path = hand_in(sandbox, &to_complete[number]);
                        twice(&["complete", &to_complete[number], "--report", &path]);
                    }
                    5 => {
                        let route = &to_review[number];
                        let bugs = format!("monkey-test-reports{route}-bugs.md");
                        twice(&["review", "complete", route, "--bug-report", &bugs]);
                    }
                    6 => twice(&["add", &format!("/new{number}")]),
                    _ => {
                        for turn in 0..3 {
                            stagger((worker * 10 + turn) as u64);
                            let counts = sandbox.run(&["status", "--json"]).exits(0).json()["counts"].clone();
                            let count = |name: &str| counts[name].as_u64().unwrap();
                            assert_eq!(count("total_routes"), count("tested") + count("pending") + count("failed"));
                        }
                    }
                }
            });
        }
    });
    let state = state(&sandbox);
    let (completed, failed, pending) = (list(&state, "completed"), list(&state, "failed"), list(&state, "pending"));
    assert_eq!(given.into_inner().unwrap().len(), 8 * OF_EACH);
    assert_eq!(completed.iter().filter(|route| route.starts_with("/pool")).count(), 2 * OF_EACH);
    assert_eq!(failed.iter().filter(|route| route.starts_with("/pool")).count(), 2 * OF_EACH);
    assert_eq!(state["claims"].as_object().unwrap().len(), 4 * OF_EACH);
    for number in 0..OF_EACH {
        assert!(failed.contains(&to_fail[number].as_str()) && pending.contains(&to_retry[number].as_str()));
        assert!(
            completed.contains(&to_complete[number].as_str()) && pending.contains(&format!("/new{number}").as_str())
        );
    }
    assert_eq!(state["meta"]["review_complete"], OF_EACH);
    sandbox.run(&["check"]).exits(0);
}

/// A command of the matrix: its arguments (`{claimed}` and `{held}` stand for tokens), and what must be seen afterwards.
struct Change {
    arguments: &'static [&'static str],
    seen: fn(&Value) -> bool,
}

const fn change(arguments: &'static [&'static str], seen: fn(&Value) -> bool) -> Change {
    Change { arguments, seen }
}

fn stands(state: &Value, list_name: &str, route: &str) -> bool {
    list(state, list_name).contains(&route)
}

fn of<'a>(state: &'a Value, route: &str) -> &'a Value {
    state["completed"].as_array().unwrap().iter().find(|entry| entry["route"] == route).unwrap_or(&Value::Null)
}

const MATRIX: [Change; 12] = [
    change(&["claim", "/claim", "--worker", "w"], |state| state["claims"]["/claim"]["worker"] == "w"),
    change(&["heartbeat", "--token", "{claimed}", "--lease", "2h"], |state| {
        state["claims"]["/beat"]["lease_s"] == 7200
    }),
    change(&["release", "--token", "{held}"], |state| state["claims"].get("/release").is_none()),
    change(&["complete", "/complete", "--report", "in/complete.json"], |state| stands(state, "completed", "/complete")),
    change(&["fail", "/fail", "--error", "e"], |state| stands(state, "failed", "/fail")),
    change(&["retry", "/retry"], |state| stands(state, "pending", "/retry")),
    change(&["requeue", "/requeue"], |state| stands(state, "pending", "/requeue")),
    change(&["review", "complete", "/review", "--bug-report", "in/bugs.md"], |state| {
        of(state, "/review")["review_status"] == "review_complete"
    }),
    change(&["review", "fail", "/unread", "--error", "e"], |state| {
        of(state, "/unread")["review_status"] == "review_failed"
    }),
    change(&["block", "--reason", "r"], |state| state["meta"]["blocked_reason"] == "r"),
    change(&["add", "/new"], |state| stands(state, "pending", "/new")),
    change(&["drop", "/drop"], |state| state["dropped"] == json!(["/drop"]) && !stands(state, "pending", "/drop")),
];

#[test]
fn of_every_pair_of_commands_both_changes_stand() {
    let template = campaign(&[
        "/claim",
        "/beat",
        "/release",
        "/complete",
        "/fail",
        "/retry",
        "/requeue",
        "/review",
        "/unread",
        "/drop",
    ]);
    let token = |route: &str| -> String {
        let answer = template.run(&["claim", route, "--json"]).exits(0).json();
        answer["claims"][0]["token"].as_str().unwrap().to_owned()
    };
    let (claimed, held) = (token("/beat"), token("/release"));
    template.run(&["fail", "/retry", "--error", "before"]).exits(0);
    for route in ["/requeue", "/review", "/unread"] {
        complete(&template, route);
    }
    hand_in(&template, "/complete");
    template.write("in/bugs.md", "# Bugs\n");
    let pairs: Vec<(usize, usize)> =
        (0..MATRIX.len()).flat_map(|first| (first + 1..MATRIX.len()).map(move |second| (first, second))).collect();
    let work = Mutex::new(pairs.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((first, second)) = work.lock().unwrap().next() else { return };
                    let sandbox = template.copy();
                    let start = |place: usize| {
                        let words: Vec<&str> = MATRIX[place]
                            .arguments
                            .iter()
                            .map(|word| match *word {
                                "{claimed}" => claimed.as_str(),
                                "{held}" => held.as_str(),
                                word => word,
                            })
                            .collect();
                        let mut command = sandbox.command(&words);
                        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                        command.spawn().unwrap()
                    };
                    // Every third pair starts together, the others apart.
                    let one = start(first);
                    if !(first + second).is_multiple_of(3) {
                        stagger((first * MATRIX.len() + second) as u64);
                    }
                    let two = start(second);
                    let answers = [one, two].map(|child| Answer::from(child.wait_with_output().unwrap()));
                    let state = state(&sandbox);
                    for (place, answer) in [first, second].into_iter().zip(answers) {
                        // A claim after the block is refused, and only that.
                        let refused = answer.code == 2 && place == 0 && second == 9;
                        assert!(answer.code == 0 || refused, "{first} {second}: {}", answer.stderr);
                        assert!(
                            refused || (MATRIX[place].seen)(&state),
                            "{first} {second}: {place} was lost: {state:#}"
                        );
                    }
                    sandbox.run(&["check"]).exits(0);
                }
            });
        }
    });
}

#[test]
fn of_two_writers_from_the_same_state_the_second_sees_the_first() {
    let routes = names("r", 6);
    let sandbox = campaign(&routes.iter().map(String::as_str).collect::<Vec<_>>());
    for (round, route) in routes.iter().enumerate() {
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let start = |name: &'static str| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    if name == "two" && round % 2 == 1 {
                        stagger(round as u64);
                    }
                    sandbox.run(&["fail", route, "--error", name])
                })
            };
            [start("one"), start("two")].map(|thread| thread.join().unwrap()).into()
        });
        let mut codes: Vec<i32> = answers.iter().map(|answer| answer.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 2], "exactly one may succeed");
        let refused = answers.iter().find(|answer| answer.code == 2).unwrap();
        assert!(refused.stderr.contains("it is failed"), "{}", refused.stderr);
    }
    assert_eq!(state(&sandbox)["meta"]["failed"], 6);
}

#[test]
fn a_reader_that_holds_the_old_file_keeps_it_whole() {
    use std::io::Read;
    let sandbox = campaign(&["/a", "/b"]);
    let before = sandbox.read(STATE);
    let mut held = std::fs::File::open(sandbox.file(STATE)).unwrap();
    sandbox.run(&["fail", "/a", "--error", "e"]).exits(0);
    let mut text = String::new();
    held.read_to_string(&mut text).unwrap();
    assert_eq!(text, before, "the file was changed in place");
    assert_ne!(sandbox.read(STATE), before);
}
