//! `export`: specs and recordings, run by Playwright and by the library that Chrome's DevTools replay with.
//!
//! `fixtures/demo-run.json` is the run of a whole campaign on the demo, without what an export does not read. A new one:
//! `agent-test demo`, then in its directory
//! `jq -c 'del(.flows[].paths, .flows[].trace[]["requests", "observation", "screenshot", "durationMs", "urlAfter"],
//! .bugs[].screenshot, .bugs[].trace[]["observation", "screenshot", "durationMs"])' .agent-test/runs/*.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_test::browser::driver::find_browser;
use agent_test::demo::{Options, PASSWORD, Server, USERNAME};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::verify_kit::{App, Mode, key, project};

const DEMO_RUN: &str = include_str!("fixtures/demo-run.json");

/// A project that holds the demo's run.
fn demo_project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".agent-test/runs/2026-12-01T01-22-49Z.json", DEMO_RUN);
    sandbox
}

/// What plays exports.
fn npm() -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    let is_there = packages.join("node_modules/@playwright/test").is_dir();
    assert!(is_there, "the packages that play exports are missing: run `sh scripts/setup.sh node`");
    packages
}

/// A program that plays exports, with the browser and the credentials.
fn player(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .env("AGENT_TEST_CHROME", find_browser(None).expect("a browser"))
        .env("AGENT_TEST_USERNAME", USERNAME)
        .env("AGENT_TEST_PASSWORD", PASSWORD)
        .env_remove("BASE_URL")
        .env_remove("CI");
    command
}

/// Runs the specs of a directory that holds nothing else with Playwright: file -> "passed", or the first line of what
/// failed.
pub fn play_specs(directory: &Path, base: &str) -> BTreeMap<String, String> {
    play_specs_with(directory, base, &[])
}

/// The same, with more variables.
pub fn play_specs_with(directory: &Path, base: &str, variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let packages = directory.join("node_modules");
    if !packages.exists() {
        std::os::unix::fs::symlink(npm().join("node_modules"), &packages).unwrap();
    }
    let output = player("npx", directory)
        .args(["--no-install", "playwright", "test", "--workers=2", "--reporter=json"])
        .env("BASE_URL", base)
        .envs(variables.iter().copied())
        .output()
        .expect("npx starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr)));
    let mut outcomes = BTreeMap::new();
    for suite in report["suites"].as_array().unwrap() {
        let test = &suite["specs"][0]["tests"][0];
        let said = test["results"][0]["errors"][0]["message"]
            .as_str()
            .unwrap_or("expected to fail, and passed")
            .lines()
            .next()
            .unwrap();
        let outcome = if test["status"] == "expected" { "passed" } else { said.trim_start_matches("Error: ") };
        outcomes.insert(suite["file"].as_str().unwrap().to_owned(), outcome.to_owned());
    }
    assert!(!outcomes.is_empty(), "{report:#}");
    outcomes
}

/// A server of the demo, until dropped.
struct Demo {
    url: String,
    _server: Server,
    _runtime: tokio::runtime::Runtime,
}

impl Demo {
    fn start(fixed: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fixed = fixed.iter().map(|id| (*id).to_owned()).collect();
        let server = runtime.block_on(Server::start(Options { port: 0, fixed, renamed: Vec::new() })).unwrap();
        Self { url: server.url.to_string(), _server: server, _runtime: runtime }
    }
}

fn name_of(file: &Value) -> String {
    Path::new(file["path"].as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_spec_fails_with_its_own_bug_where_it_is_and_passes_where_it_is_repaired() {
    let sandbox = demo_project();
    let document = sandbox.run(&["export", "--playwright", "--out", "specs", "--json"]).exits(0).json();
    assert_eq!(document["leftOut"], json!([]), "{document:#}");
    let files = document["files"].as_array().unwrap();
    assert!(files.len() >= 25, "{document:#}");
    let broken = play_specs(&sandbox.file("specs"), &Demo::start(&[]).url);
    for file in files {
        let (name, kind) = (name_of(file), file["kind"].as_str().unwrap());
        assert!(broken[&name].starts_with(&format!("bug: [{kind}] ")), "{name}: {}", broken[&name]);
    }
    let repaired = play_specs(&sandbox.file("specs"), &Demo::start(&["all"]).url);
    assert_eq!(repaired.len(), files.len());
    for (name, outcome) in repaired {
        assert_eq!(outcome, "passed", "{name}");
    }
}

/// Fingerprints of the demo's bugs, one of each kind; `AGENT_TEST_RECORDINGS=all`: of all of them.
fn one_of_each_kind() -> Vec<String> {
    let run: Value = serde_json::from_str(DEMO_RUN).unwrap();
    let mut kinds = BTreeMap::new();
    for bug in run["bugs"].as_array().unwrap() {
        let key = bug["fingerprintV2"].as_str().unwrap();
        let all = std::env::var("AGENT_TEST_RECORDINGS").is_ok_and(|value| value == "all");
        kinds.entry(if all { key } else { bug["kind"].as_str().unwrap() }).or_insert(key);
    }
    kinds.into_values().map(str::to_owned).collect()
}

/// Plays recordings of the demo's bugs at this address: file -> "passed", or what failed.
fn play_recordings(sandbox: &Sandbox, base: &str, out: &str) -> (Value, BTreeMap<String, String>) {
    let all = ["export", "--recorder-json", "--out", out, "--base-url", base, "--json"];
    let keys = one_of_each_kind();
    let chosen = keys.iter().flat_map(|key| ["--bug", key]);
    let arguments: Vec<&str> = all.into_iter().chain(chosen).collect();
    let document = sandbox.run(&arguments).exits(0).json();
    let mut command = player("node", sandbox.path());
    command.arg(npm().join("replay.mjs")).arg(find_browser(None).unwrap()).arg(format!("{base}login"));
    command.args(document["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()));
    let output = command.output().expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let outcomes = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr)));
    (document, outcomes)
}

#[test]
fn a_recording_of_each_kind_is_played_by_chromes_own_library_and_its_check_tells_the_builds_apart() {
    let sandbox = demo_project();
    let repaired = Demo::start(&["all"]);
    let (document, outcomes) = play_recordings(&sandbox, &repaired.url, "repaired");
    assert_eq!(document["leftOut"], json!([]), "{document:#}");
    assert!(outcomes.len() >= 10, "{outcomes:#?}");
    for (name, outcome) in outcomes {
        assert_eq!(outcome, "passed", "{name}");
    }
    let broken = Demo::start(&[]);
    let (document, outcomes) = play_recordings(&sandbox, &broken.url, "broken");
    for file in document["files"].as_array().unwrap() {
        let outcome = &outcomes[&name_of(file)];
        // A page that hangs keeps the player at the step itself.
        let expected = match (file["notes"] != json!([]), file["kind"] == "crash") {
            (true, _) => "passed",
            (_, true) => "",
            _ => "check: ",
        };
        assert!(outcome.starts_with(expected) && (expected == "passed" || outcome != "passed"), "{file:#}: {outcome}");
    }
}

#[test]
fn a_spec_says_whether_it_is_the_bug_another_failure_or_an_earlier_step() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    sandbox.run(&["export", "--playwright", "--bug", &key("> Save"), "--out", "specs"]).exits(0);
    let play = |mode: Mode| {
        app.become_(mode);
        play_specs(&sandbox.file("specs"), &app.url).into_values().next().unwrap()
    };
    for (mode, said) in [
        (Mode::Broken, "bug: [http_error]"),
        (Mode::Fixed, "passed"),
        (Mode::Elsewhere, "changed: the step fails in another way: [http_error]"),
        (Mode::Disabled, "changed: the step fails in another way: [disabled_control]"),
        (Mode::Renamed, "not reached: step 2:"),
        (Mode::Maintenance, "not reached: step 0: a maintenance page"),
        (Mode::Late, "passed"),
    ] {
        let outcome = play(mode);
        assert!(outcome.starts_with(said), "{mode:?}: {outcome}");
    }
    drop(app);
    assert!(
        play_specs(&sandbox.file("specs"), "http://127.0.0.1:9/")
            .into_values()
            .all(|said| said.starts_with("not reached"))
    );
}

#[test]
fn a_known_bug_is_expected_to_fail_and_tells_when_it_is_gone() {
    let app = App::start(Mode::Broken);
    let sandbox = project(&app);
    sandbox.run(&["export", "--playwright", "--known-bad", "--bug", &key("> Sum"), "--out", "specs"]).exits(0);
    let play = |mode: Mode| {
        app.become_(mode);
        play_specs(&sandbox.file("specs"), &app.url).into_values().next().unwrap()
    };
    assert_eq!(play(Mode::Broken), "passed");
    assert_eq!(play(Mode::Fixed), "expected to fail, and passed");
    let lost = play(Mode::Maintenance);
    assert!(lost.starts_with("not reached"), "{lost}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_whose_name_is_not_utf_8_is_written_to_and_told() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = demo_project();
    let name = std::ffi::OsStr::from_bytes(b"of\xff");
    let mut command = sandbox.command(&["export", "--playwright", "--bug", "115b512e", "--json", "--out"]);
    let answer: crate::sandbox::Answer = command.arg(name).output().unwrap().into();
    assert_eq!(answer.exits(0).json()["files"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_told_with_what_to_do() {
    let sandbox = demo_project();
    sandbox.write("specs", "mine");
    let told = sandbox.run(&["export", "--playwright", "--bug", "115b512e", "--out", "specs"]).exits(2).stderr;
    assert!(told.contains("it is a file, not a directory") && told.contains("hint:"), "{told}");
    assert_eq!(sandbox.read("specs"), "mine");
}

#[test]
fn a_file_that_was_edited_is_never_lost() {
    let sandbox = demo_project();
    let arguments = ["export", "--playwright", "--bug", "115b512e", "--out", "specs"];
    let path = sandbox.run(&[&arguments[..], &["--json"]].concat()).exits(0).json()["files"][0]["path"].clone();
    let path = path.as_str().unwrap();
    assert_eq!(sandbox.run(&[&arguments[..], &["--json"]].concat()).exits(0).json()["files"][0]["unchanged"], true);
    sandbox.write(path, "edited");
    let refused = sandbox.run(&arguments).exits(2);
    assert!(refused.stderr.contains(path) && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(sandbox.read(path), "edited");
    sandbox.run(&[&arguments[..], &["--force"]].concat()).exits(0);
    assert!(sandbox.read(path).contains("BASE_URL"));
}

#[test]
fn a_bug_without_a_trace_is_told_and_nothing_at_all_ends_with_two() {
    let sandbox = Sandbox::new();
    let bug = |trace: Value| json!({ "description": "It breaks", "severity": "major", "fingerprintV2": "aaaaaaaa11111111", "trace": trace });
    let goto = json!([{ "index": 0, "tool": "goto", "value": "http://a.b/", "status": "failed" }]);
    let write = |bugs: Value| {
        let run = json!({ "baseUrl": "http://a.b/", "flows": [], "bugs": bugs });
        sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &run.to_string());
    };
    write(json!([bug(json!([]))]));
    let none = sandbox.run(&["export", "--playwright", "--json"]).exits(2).json();
    assert_eq!(none["error"]["code"], "nothing_to_export", "{none:#}");
    assert!(!sandbox.file("agent-test-export").exists());
    write(json!([bug(json!([])), bug(goto)]));
    let one = sandbox.run(&["export", "--playwright", "--recorder-json", "--json"]).exits(0).json();
    assert_eq!((one["files"].as_array().unwrap().len(), one["leftOut"].as_array().unwrap().len()), (2, 2));
    assert_eq!(one["leftOut"][0]["why"], "it has no trace");
    assert_eq!(one["exitCode"], 0);
    sandbox.run(&["export"]).exits(2);
    sandbox.run(&["export", "--playwright", "--bug", "ffffffff"]).exits(2);
}

/// A run with one bug behind three fields: a secret by reference, a password in clear, and a plain text.
fn run_with_secrets(base: &str) -> String {
    let step = |index: u32, tool: &str, name: &str, value: Value, status: &str| {
        json!({ "index": index, "tool": tool, "value": value, "status": status,
            "locator": { "role": if tool == "click" { "button" } else { "textbox" }, "name": name } })
    };
    json!({ "baseUrl": base, "flows": [], "bugs": [{
        "description": "A request to /api/save answers HTTP 500", "severity": "major", "kind": "http_error",
        "location": "/notes > Save", "fingerprintV2": "bbbbbbbb22222222",
        "fingerprintParts": { "version": 2, "category": "network", "location": "/notes", "signal": "http-5xx", "detail": "GET /api/save 500" },
        "trace": [
            { "index": 0, "tool": "goto", "value": format!("{}notes", base.replace("://", "://me:u5er-s3cret@")), "status": "passed" },
            step(1, "fill", "Card", json!("env:AGENT_TEST_SECRET_CARD"), "passed"),
            step(2, "fill", "Password", json!("cl3ar-pa55"), "passed"),
            step(3, "fill", "City", json!("Rome"), "passed"),
            step(4, "click", "Save", Value::Null, "failed"),
        ] }] })
    .to_string()
}

#[test]
fn no_secret_stands_in_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &run_with_secrets("http://127.0.0.1:9/"));
    sandbox.write(
        "agent-test.toml",
        "[login]\nurl = \"/login\"\nusername_env = \"SHOP_USER\"\npassword_env = \"SHOP_PASSWORD\"\n",
    );
    let mut command = sandbox.command(&["export", "--playwright", "--out", "specs", "--json"]);
    command.envs([
        ("SHOP_PASSWORD", "sh0p-pa55"),
        ("SHOP_USER", "me"),
        ("AGENT_TEST_SECRET_CARD", "4711-0815"),
        ("AGENT_TEST_PASSWORD", "gl0bal-pa55"),
    ]);
    let answer = crate::sandbox::Answer::from(command.output().unwrap()).exits(0);
    let text = sandbox.read(answer.json()["files"][0]["path"].as_str().unwrap());
    for secret in ["sh0p-pa55", "4711-0815", "cl3ar-pa55", "u5er-s3cret", "gl0bal-pa55"] {
        assert!(!text.contains(secret) && !answer.stdout.contains(secret), "{secret}");
    }
    for reference in [
        "secret(\"AGENT_TEST_SECRET_CARD\")",
        "secret(\"AGENT_TEST_PASSWORD\")",
        "\"SHOP_PASSWORD\"",
        "value: \"Rome\"",
    ] {
        assert!(text.contains(reference), "{reference}\n{text}");
    }
    let refused = sandbox.run(&["export", "--recorder-json", "--json"]).exits(2).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("types a secret"), "{refused:#}");
}

#[test]
fn a_spec_and_a_recording_read_like_this() {
    let sandbox = demo_project();
    let document = sandbox
        .run(&["export", "--playwright", "--recorder-json", "--bug", "e452ff6b", "--out", "out", "--json"])
        .exits(0)
        .json();
    let text = |at: usize| sandbox.read(document["files"][at]["path"].as_str().unwrap());
    let spec = text(0).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    // What stands below is the same in every spec; it is `src/export/play.ts`.
    let own = spec.split("// ------").next().unwrap();
    insta::assert_snapshot!("spec", own);
    insta::assert_snapshot!("recording", text(1));
}
