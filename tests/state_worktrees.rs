//! Linked git worktrees: one campaign for all of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::campaign_kit::write_report;
use crate::sandbox::{Answer, Sandbox};

/// A repository with a linked worktree beside it, in one sandbox.
struct Repository {
    sandbox: Sandbox,
}

impl Repository {
    fn new() -> Self {
        let this = Self { sandbox: Sandbox::new() };
        std::fs::create_dir(this.main()).unwrap();
        this.git(&this.main(), &["init", "-q"]);
        this.git(&this.main(), &["commit", "-q", "--allow-empty", "-m", "one"]);
        this.git(&this.main(), &["worktree", "add", "-q", "../linked"]);
        std::fs::create_dir(this.linked().join("sub")).unwrap();
        this
    }

    fn main(&self) -> PathBuf {
        self.sandbox.file("main")
    }

    fn linked(&self) -> PathBuf {
        self.sandbox.file("linked")
    }

    #[track_caller]
    fn git(&self, directory: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C"]);
        command.arg(directory).args(arguments).env("HOME", self.sandbox.path());
        let output = command.output().expect("git");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a command in a directory, where it finds its project by itself. No git is there to be run.
    fn run(&self, directory: &Path, arguments: &[&str]) -> Answer {
        let mut command = self.sandbox.command(arguments);
        command.current_dir(directory).env_remove("AGENT_TEST_PROJECT_DIR").env("PATH", "/nowhere");
        command.output().expect("the built binary starts").into()
    }
}

fn state(directory: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join(".monkey-test-state.json")).unwrap()).unwrap()
}

const INIT: [&str; 8] = ["init", "--base-url", "http://127.0.0.1:9", "--route", "/a", "/b", "--project", "shop"];

// S15
#[test]
fn a_linked_worktree_finds_the_campaign_of_the_main_checkout_and_says_so() {
    let repository = Repository::new();
    repository.run(&repository.main(), &INIT).exits(0);
    for directory in [repository.linked(), repository.linked().join("sub")] {
        let answer = repository.run(&directory, &["status", "--json"]).exits(0);
        assert_eq!(answer.json()["project"], "shop");
        assert!(answer.stderr.contains("using the campaign of the main checkout"), "{}", answer.stderr);
        assert!(answer.stderr.contains("/main"), "{}", answer.stderr);
    }
    assert!(!repository.run(&repository.main(), &["status"]).stderr.contains("worktree"));
}

// S15
#[test]
fn a_campaign_begun_in_a_linked_worktree_is_everybodys() {
    let repository = Repository::new();
    repository.run(&repository.linked(), &INIT).exits(0);
    assert!(!repository.linked().join(".monkey-test-state.json").exists());
    assert_eq!(repository.run(&repository.main(), &["status", "--json"]).exits(0).json()["project"], "shop");
    let exclude = std::fs::read_to_string(repository.main().join(".git/info/exclude")).unwrap();
    assert!(exclude.contains("/.monkey-test-state.json\n"), "{exclude}");
}

// S15
#[test]
fn an_explicit_project_wins_and_a_worktree_with_the_only_campaign_keeps_it() {
    let repository = Repository::new();
    let linked = repository.linked();
    let named = ["--project-dir", linked.to_str().unwrap()];
    repository.run(&repository.main(), &[&INIT[..], &named].concat()).exits(0);
    let answer = repository.run(&linked, &["claim", "/a"]).exits(0);
    assert!(answer.stderr.contains("using its own campaign"), "{}", answer.stderr);
    assert!(state(&linked)["claims"]["/a"].is_object());
    // Its copy is its own: the main checkout knows nothing of it.
    repository.run(&repository.main(), &INIT).exits(0);
    assert_eq!(state(&repository.main())["transition"], 1);
    let answer = repository.run(&linked, &["status", "--json"]).exits(0);
    assert!(answer.stderr.contains("main checkout"), "{}", answer.stderr);
    assert_eq!(repository.run(&linked, &[&["status", "--json"][..], &named].concat()).exits(0).json()["leased"], 1);
}

// S15
#[test]
fn a_project_below_the_top_of_a_repository_is_found_from_the_same_folder_of_a_worktree() {
    let repository = Repository::new();
    let (main, linked) = (repository.main().join("app"), repository.linked().join("app/deep"));
    std::fs::create_dir_all(&main).unwrap();
    std::fs::create_dir_all(&linked).unwrap();
    let named = ["--project-dir", main.to_str().unwrap()];
    repository.run(&main, &[&INIT[..], &named].concat()).exits(0);
    let answer = repository.run(&linked, &["status", "--json"]).exits(0);
    assert!(answer.stderr.contains("/main/app"), "{}", answer.stderr);
    let exclude = std::fs::read_to_string(repository.main().join(".git/info/exclude")).unwrap();
    assert!(exclude.contains("/app/.monkey-test-state.json\n"), "{exclude}");
}

// S16
#[test]
fn a_whole_campaign_is_worked_on_from_a_linked_worktree() {
    let repository = Repository::new();
    let linked = repository.linked();
    let run = |arguments: &[&str]| repository.run(&linked, arguments).exits(0);
    std::fs::write(repository.main().join("routes.txt"), "/a\n/b\n/c\n/d\n").unwrap();
    run(&["discover", "--from-list", "../main/routes.txt"]);
    run(&["init", "--base-url", "http://127.0.0.1:9", "--all"]);
    // Reports are handed in from the worktree and lie in the project.
    let workshop = Sandbox::new();
    let report = workshop.file(&write_report(&workshop, "/a"));
    let folder = repository.main().join("monkey-test-screenshots/a");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("01-page.png"), "png").unwrap();
    let claim = run(&["claim", "/a", "--json"]).json();
    let token = claim["claims"][0]["token"].as_str().unwrap().to_owned();
    run(&["heartbeat", "--token", &token]);
    run(&["complete", "/a", "--report", report.to_str().unwrap(), "--token", &token]);
    run(&["fail", "/b", "--error", "e"]);
    run(&["retry", "--all"]);
    run(&["add", "/e"]);
    run(&["drop", "/e"]);
    std::fs::write(linked.join("bugs.md"), "# Bugs\n").unwrap();
    run(&["review", "complete", "/a", "--bug-report", "bugs.md"]);
    run(&["requeue", "/a"]);
    run(&["undo"]);
    run(&["block", "--reason", "r"]);
    run(&["unblock"]);
    run(&["check"]);
    run(&["slug", "/a"]);
    run(&["resume", "--plan"]);
    assert!(run(&["log", "--json"]).json()["log"].as_array().unwrap().len() > 10);
    let now = state(&repository.main());
    assert_eq!((&now["meta"]["tested"], &now["meta"]["review_complete"]), (&1.into(), &1.into()));
    assert!(repository.main().join("monkey-test-reports/a-bugs.md").is_file());
    assert!(!linked.join(".monkey-test-state.json").exists() && !linked.join(".agent-test").exists());
}
