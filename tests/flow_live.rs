//! The live check, against a model server of the tests: the same script that the workflow runs with real models.

use std::process::Command;

use crate::model_kit::{KEY, ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

#[test]
fn the_script_of_the_live_check_plays_the_story_to_its_end() {
    let sandbox = Sandbox::new();
    let done = || Reply::Move("done", None, None);
    let model = ModelServer::start(&[
        Reply::Move("type", Some("Discount code"), Some("SUMMER")),
        Reply::Move("tap", Some("Apply"), None),
        done(),
        Reply::Move("tap", Some("Redeem"), None),
        done(),
    ]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/live.sh");
    let answer: Answer = Command::new("bash")
        .args([script, "openai_compatible/test-model"])
        .current_dir(sandbox.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", sandbox.path())
        .env("TMPDIR", sandbox.path())
        .env("AGENT_TEST_BIN", env!("CARGO_BIN_EXE_agent-test"))
        .env("OPENAI_COMPATIBLE_BASE_URL", format!("{}/v1", model.url))
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .output()
        .unwrap()
        .into();
    let answer = answer.exits(0);
    assert!(answer.stdout.contains("the story holds"), "{}", answer.stdout);
    assert_eq!(model.calls(), 5, "two of the four runs ask nobody");
    assert!(!answer.stdout.contains(KEY) && !answer.stderr.contains(KEY));
}
