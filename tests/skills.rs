//! Skills: valid by the Agent Skills specification, and every command in them works.

use crate::campaign_kit::{campaign, complete, write_report};
use crate::sandbox::Sandbox;

const STATE_MANAGEMENT: &str = include_str!("../skills/state-management/SKILL.md");

const HEAL_TESTS: &str = include_str!("../skills/heal-tests/SKILL.md");

/// The head's keys with their values, and the body.
fn parts(skill: &str) -> (Vec<(String, String)>, &str) {
    let (head, body) = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a head");
    let keys = head.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(':'));
    (keys.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect(), body)
}

#[test]
fn the_state_management_skill_follows_the_specification() {
    let (head, body) = parts(STATE_MANAGEMENT);
    let keys: Vec<&str> = head.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["name", "description", "metadata"]);
    assert_eq!(head[0].1, "state-management");
    let description = &head[1].1;
    assert!((1..=1024).contains(&description.chars().count()) && !description.contains(": "), "{description}");
    assert!(body.lines().count() < 200);
}

#[test]
fn the_heal_tests_skill_follows_the_specification_and_its_commands_work() {
    let (head, body) = parts(HEAL_TESTS);
    assert_eq!(head[0], ("name".to_owned(), "heal-tests".to_owned()));
    assert!((1..=1024).contains(&head[1].1.chars().count()) && !head[1].1.contains(": "));
    let sandbox = crate::heal_kit::project(crate::heal_kit::SPEC, "'Start'", crate::heal_kit::PAGE);
    sandbox.write("old.ts", crate::heal_kit::SPEC);
    let lines: Vec<&str> = body.lines().filter(|line| line.starts_with("agent-test ")).collect();
    assert_eq!(lines.len(), 3);
    for line in lines {
        let filled = line
            .replace("SPEC", crate::heal_kit::FILE)
            .replace("TESTCOMMAND", "sh run.sh {file}")
            .replace("OLD", "old.ts")
            .replace("NEW", "old.ts");
        let words: Vec<&str> = filled.split_whitespace().skip(1).collect();
        assert_eq!(sandbox.run(&words).exits(0).json()["exitCode"], 0, "{line}");
    }
}

#[test]
fn every_command_of_the_state_management_skill_works() {
    let (_, body) = parts(STATE_MANAGEMENT);
    let mut commands = 0;
    let mut in_code = false;
    for line in body.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            run(line);
            commands += 1;
        }
    }
    assert!(commands > 20, "{commands}");
}

/// Runs one line of the skill in a campaign that is ready for it.
fn run(line: &str) {
    let words: Vec<&str> =
        line.strip_prefix("agent-test ").unwrap_or_else(|| panic!("{line}")).split_whitespace().collect();
    assert!(words.contains(&"--json"), "{line}");
    let sandbox = match words[0] {
        "discover" | "init" => Sandbox::new(),
        _ => campaign(&["/a", "/b"]),
    };
    sandbox.write("ROUTE_MAP.md", "## Users\n- /a\n- /b\n## Shop\n- /c\n");
    sandbox.write("list.txt", "/a\n/b\n");
    sandbox.write("bugs.md", "# Bugs\n");
    let mut report = String::new();
    match words[0] {
        "complete" => report = write_report(&sandbox, "/a"),
        "requeue" | "review" => drop(complete(&sandbox, "/a")),
        "retry" | "undo" => drop(sandbox.run(&["fail", "/a", "--error", "e"]).exits(0)),
        "export" => sandbox.write(
            ".agent-test/runs/2026-05-02T10-15-00Z.json",
            r#"{"baseUrl": "http://127.0.0.1:9", "flows": [], "bugs": [{"description": "It throws", "severity": "major",
                "fingerprintV2": "39e8d6d4f2817dd9", "trace": [{"index": 0, "tool": "goto", "status": "failed",
                "value": "http://127.0.0.1:9/"}]}]}"#,
        ),
        "add" => drop(sandbox.run(&["drop", "/a"]).exits(0)),
        _ if words.contains(&"review") => drop(complete(&sandbox, "/a")),
        _ => {}
    }
    let mut token = String::new();
    if words.contains(&"TOKEN") {
        let phase = if words[0] == "review" { "review" } else { "test" };
        let claim = sandbox.run(&["claim", "/a", "--phase", phase, "--json"]).exits(0).json();
        claim["claims"][0]["token"].as_str().unwrap().clone_into(&mut token);
    }
    let filled: Vec<String> = words
        .iter()
        .map(|word| match *word {
            "ROUTE" => "/a",
            "TOKEN" => &token,
            "REPORT" => &report,
            "BUGS" => "bugs.md",
            "FINGERPRINT" => "39e8d6d4",
            "DIR" => "specs",
            "FILE" => "list.txt",
            "URL" => "http://127.0.0.1:9",
            "CATEGORY" => "Users",
            "NAME" => "worker-1",
            "TEXT" => "some words",
            other => other.trim_matches('"'),
        })
        .map(str::to_owned)
        .collect();
    let answer = sandbox.run(&filled.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(answer.code, 0, "{line}\n{}{}", answer.stdout, answer.stderr);
    assert_eq!(answer.json()["exitCode"], 0, "{line}");
}
