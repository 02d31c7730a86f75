//! `heal`: the loop and its money, with a test command that is a script.

use serde_json::Value;

use crate::heal_kit::{
    FILE, MISSING, MODEL, PAGE, SPEC, arguments, edited, ends, hard, heal, project, report, runs, tier, verdict,
};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Answer;

#[test]
fn a_renamed_button_is_repaired_without_a_model_and_proved() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let document = ends(&sandbox, &[], "fixed");
    assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Start'"));
    assert_eq!((&document["proof"]["greenRuns"], &document["proof"]["falsified"][0]), (&3.into(), &"starts".into()));
    assert_eq!(document["model"]["calls"], 0);
    let evidence = &document["attempts"][0]["evidence"];
    assert_eq!((&evidence["before"], &evidence["after"]), (&"button \"Begin\"".into(), &"button \"Start\"".into()));
    assert!(
        document["diff"].as_str().unwrap().contains("+  await page.getByRole('button', { name: 'Start' }).click();")
    );
    // Red, red, green, twice more, false.
    assert_eq!((runs(&sandbox), &document["testRuns"]), (6, &6.into()));
    let schema = agent_test::schema::find("heal-result").unwrap().schema().to_value();
    assert!(jsonschema::is_valid(&schema, &document));
}

#[test]
fn a_green_test_is_left_alone() {
    let sandbox = project(SPEC, "Begin", PAGE);
    let document = ends(&sandbox, &[], "already-green");
    assert_eq!(document["attempts"], Value::Array(vec![]));
}

#[test]
fn a_dry_run_shows_the_repair_and_puts_it_back() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let document = heal(&sandbox, &["--dry-run"]).exits(0).json();
    assert_eq!(document["verdict"], "fixed");
    assert!(document["diff"].as_str().unwrap().contains("'Start'"));
    assert_eq!(sandbox.read(FILE), SPEC);
}

#[test]
fn red_and_then_green_without_a_change_is_flaky_and_nothing_is_spent() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("green_runs", "2");
    ends(&sandbox, &[], "flaky");
    assert_eq!(runs(&sandbox), 2);
}

#[test]
fn green_and_then_red_again_and_again_is_flaky() {
    let sandbox = project(SPEC, "Begin", PAGE);
    sandbox.write("red_runs", "3 6");
    ends(&sandbox, &["--flaky-threshold", "2"], "flaky");
}

#[test]
fn a_repair_that_is_red_now_and_then_is_flaky_and_put_back() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("red_runs", "5 8 9");
    ends(&sandbox, &["--flaky-threshold", "2"], "flaky");
}

#[test]
fn an_application_that_is_not_there_is_no_matter_of_the_test() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write(
        "red.json",
        &report(Some(("Error: page.goto: net::ERR_CONNECTION_REFUSED at http://127.0.0.1:1/", 3, 9))),
    );
    ends(&sandbox, &[], "environment");
    let blank = project(SPEC, "'Start'", "- generic [ref=e1]\n");
    ends(&blank, &[], "environment");
    let login = project(SPEC, "'Start'", "- textbox \"Password\"\n- button \"Log in\"\n");
    ends(&login, &[], "environment");
    let broken = project(SPEC, "'Start'", "- heading \"500 Internal Server Error\" [level=1]\n");
    ends(&broken, &[], "environment");
}

#[test]
fn a_value_that_differs_is_the_applications_until_it_was_declared() {
    let sandbox = project(SPEC, "'complete'", PAGE);
    let message = "Error: expect(locator).toHaveText(expected) failed\n\nLocator: getByRole('status')\nExpected: \"done\"\nReceived: \"complete\"\n";
    sandbox.write("red.json", &report(Some((message, 4, 42))));
    ends(&sandbox, &[], "app-regression-suspected");
    ends(&sandbox, &["--expected-change", "The badge is red now"], "app-regression-suspected");
    ends(&sandbox, &["--expected-change", "The status reads complete now"], "fixed");
    assert_eq!(sandbox.read(FILE), SPEC.replace("'done'", "'complete'"));
}

#[test]
fn a_feature_that_is_gone_is_not_repaired_away() {
    let sandbox = project(SPEC, "'Cancel'", "- heading \"Orders\"\n- button \"Cancel\"\n- status: done\n");
    ends(&sandbox, &[], "give-up");
}

#[test]
fn a_test_that_is_green_whatever_it_expects_is_not_called_fixed() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    std::fs::remove_file(sandbox.file("false.json")).unwrap();
    std::fs::copy(sandbox.file("green.json"), sandbox.file("false.json")).unwrap();
    let document = ends(&sandbox, &[], "needs-review");
    assert!(document["reason"].as_str().unwrap().contains("turned false"), "{document:#}");
}

#[test]
fn a_click_that_nothing_checks_is_for_a_person() {
    let spec = "import { test, expect } from '@playwright/test';\ntest('starts', async ({ page }) => {\n  await page.getByRole('button', { name: 'Begin' }).click();\n});\n";
    let sandbox = project(spec, "'Start'", PAGE);
    let answer = heal(&sandbox, &[]).exits(1);
    assert_eq!(verdict(&answer), "needs-review");
    assert_eq!(sandbox.read(FILE), spec);
}

#[test]
fn a_locator_of_a_page_object_is_repaired_only_where_that_is_allowed() {
    let place = "export class Login {\n  constructor(readonly page) {}\n  async start() { await this.page.getByRole('button', { name: 'Begin' }).click(); }\n}\n";
    let spec = "import { test, expect } from '@playwright/test';\ntest('starts', async ({ page }) => {\n  await new Login(page).start();\n  await expect(page.getByRole('status')).toHaveText('done');\n});\n";
    let sandbox = project(spec, "Login", PAGE);
    sandbox.write("pages/login.ts", place);
    let column = place.lines().nth(2).unwrap().find("click").unwrap() as u32 + 1;
    let message = format!(
        "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button', {{ name: 'Begin' }})\n\n   at pages/login.ts:3\n    at Login.start (@ROOT@/pages/login.ts:3:{column})\n    at @ROOT@/{FILE}:3:25"
    );
    sandbox.write(
        "red.json",
        &report(Some((&message, 3, column))).replace(
            &format!("\"file\":\"@ROOT@/{FILE}\",\"line\":3"),
            "\"file\":\"@ROOT@/pages/login.ts\",\"line\":3",
        ),
    );
    sandbox.write(
        "run.sh",
        &sandbox.read("run.sh").replace("grep -q \"$(cat want)\" \"$spec\"", "grep -q \"'Start'\" pages/login.ts"),
    );
    let refused = heal(&sandbox, &[]).exits(1).json();
    assert_eq!(refused["verdict"], "needs-review", "{refused:#}");
    assert!(refused["reason"].as_str().unwrap().contains("login.ts:3"), "{refused:#}");
    let fixed = heal(&sandbox, &["--also", "pages/login.ts"]).exits(0).json();
    assert_eq!(fixed["verdict"], "fixed", "{fixed:#}");
    assert_eq!(
        (sandbox.read("pages/login.ts"), sandbox.read(FILE)),
        (place.replace("'Begin'", "'Start'"), spec.to_owned())
    );
}

#[test]
fn a_repair_after_which_fewer_tests_run_is_none() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let other = |document: &mut Value| {
        let specs = document["suites"][0]["specs"].as_array_mut().unwrap();
        let mut other = specs[0].clone();
        other["title"] = "other".into();
        other["tests"][0]["status"] = "expected".into();
        other["tests"][0]["results"] = serde_json::json!([{ "retry": 0, "status": "passed" }]);
        specs.push(other);
    };
    sandbox.write("red.json", &edited(Some(MISSING), other));
    let document = ends(&sandbox, &[], "give-up");
    assert!(document["reason"].as_str().unwrap().contains("not the same tests"), "{document:#}");
    sandbox.write("runs", "");
    sandbox.write("green.json", &edited(None, other));
    let mut false_report: Value = serde_json::from_str(&sandbox.read("false.json")).unwrap();
    other(&mut false_report);
    sandbox.write("false.json", &false_report.to_string());
    assert_eq!(ends(&sandbox, &[], "fixed")["proof"]["testsRun"], 2);
}

#[test]
fn a_repair_that_is_green_only_at_a_second_try_or_by_skipping_is_none() {
    for (status, why) in [("flaky", "only at a later try"), ("skipped", "skipped")] {
        let sandbox = project(SPEC, "'Start'", PAGE);
        sandbox.write(
            "green.json",
            &edited(None, |document| document["suites"][0]["specs"][0]["tests"][0]["status"] = status.into()),
        );
        let document = ends(&sandbox, &[], "give-up");
        assert!(document["attempts"][0]["reason"].as_str().unwrap().contains(why), "{document:#}");
    }
}

#[test]
fn a_repair_on_a_machine_that_is_too_slow_is_tried_once_more() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let slow = "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button', { name: 'Start' })\n    - locator resolved to <button>Start</button>\n  - attempting click action\n    - waiting for element to be visible, enabled and stable\n";
    sandbox.write("slow.json", &report(Some((slow, 3, 53))));
    let script = sandbox.read("run.sh").replace("sed \"s|", "[ $count = 3 ] && word=slow\nsed \"s|");
    sandbox.write("run.sh", &script);
    assert_eq!(ends(&sandbox, &[], "fixed")["testRuns"], 7);
}

#[test]
fn a_test_of_several_projects_is_repaired_once_for_all() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let both = |document: &mut Value| {
        let tests = document["suites"][0]["specs"][0]["tests"].as_array_mut().unwrap();
        let mut second = tests[0].clone();
        tests[0]["projectName"] = "chromium".into();
        second["projectName"] = "firefox".into();
        tests.push(second);
    };
    for name in ["red.json", "green.json", "false.json"] {
        let mut document: Value = serde_json::from_str(&sandbox.read(name)).unwrap();
        both(&mut document);
        sandbox.write(name, &document.to_string());
    }
    assert_eq!(ends(&sandbox, &[], "fixed")["proof"]["testsRun"], 2);
}

#[test]
fn a_file_that_does_not_compile_or_holds_no_test_is_not_repaired() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let broken = serde_json::json!({ "suites": [], "errors": [{ "message": "SyntaxError: tests/a.spec.ts: Unexpected token (3:4)" }] });
    sandbox.write("red.json", &broken.to_string());
    let document = ends(&sandbox, &[], "give-up");
    assert!(document["reason"].as_str().unwrap().contains("Unexpected token"), "{document:#}");
    sandbox.write("red.json", r#"{ "suites": [], "errors": [] }"#);
    let document = ends(&sandbox, &[], "give-up");
    assert!(document["reason"].as_str().unwrap().contains("no test was found"), "{document:#}");
}

#[test]
fn a_page_that_the_report_does_not_name_is_found_in_the_output_folder() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let bare = |document: &mut Value| {
        document["suites"][0]["specs"][0]["tests"][0]["results"][0]["attachments"] = serde_json::json!([]);
    };
    sandbox.write("red.json", &edited(Some(MISSING), bare));
    let document = ends(&sandbox, &[], "give-up");
    assert!(document["reason"].as_str().unwrap().contains("shows no page"), "{document:#}");
    let leaves = |folder: &str| {
        let line =
            format!("mkdir -p {folder}/a-starts; cp context.md {folder}/a-starts/error-context.md\nmkdir -p shots");
        let script = sandbox.read("run.sh");
        let script: Vec<&str> = script.lines().filter(|line| !line.contains("mkdir -p")).collect();
        sandbox
            .write("run.sh", &script.join("\n").replacen("echo run >> runs", &format!("echo run >> runs\n{line}"), 1));
    };
    leaves("out");
    ends(&sandbox, &[], "give-up");
    ends(&sandbox, &["--output-dir", "out"], "fixed");
    sandbox.write(FILE, SPEC);
    leaves("test-results");
    std::fs::remove_dir_all(sandbox.file("out")).unwrap();
    ends(&sandbox, &[], "fixed");
}

#[test]
fn a_command_that_hangs_is_ended() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("hold", "1");
    let document = ends(&sandbox, &["--timeout", "1"], "environment");
    assert!(document["reason"].as_str().unwrap().contains("in time"));
}

#[test]
fn a_command_without_a_report_is_the_callers_mistake() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let answer = sandbox.run(&["heal", FILE, "--json", "--", "true"]).exits(2).json();
    assert!(answer["error"]["message"].as_str().unwrap().contains("without a report"), "{answer:#}");
    sandbox.run(&["heal", FILE, "--", "npx", "playwright", "test", "--update-snapshots"]).exits(2);
    sandbox.run(&["heal", FILE]).exits(2);
    sandbox.run(&["heal", "missing.spec.ts", "--", "true"]).exits(2);
}

#[cfg(unix)]
#[test]
fn a_spec_that_leads_out_of_the_project_is_refused() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), SPEC).unwrap();
    std::os::unix::fs::symlink(outside.path(), sandbox.file("tests/link.spec.ts")).unwrap();
    sandbox.run(&["heal", "tests/link.spec.ts", "--", "sh", "run.sh", "{file}"]).exits(2);
    assert_eq!(std::fs::read_to_string(outside.path()).unwrap(), SPEC);
}

#[test]
fn a_model_picks_where_the_free_tier_stops_and_its_cost_is_in_the_ledger() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Go live")]));
    let document = ends(&sandbox, &["--codegen-tier", &tier(&server, "prompt=1,answer=2")], "fixed");
    assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Go live'"));
    assert_eq!(document["model"]["calls"], 1);
    let cost = document["model"]["costUsd"].as_f64().unwrap();
    assert!((cost - 0.0011).abs() < 1e-9, "{cost}");
    assert_eq!(document["model"]["ledger"][0]["purpose"], "heal-pick");
}

#[test]
fn a_model_that_finds_nothing_is_followed_by_the_next_tier() {
    let (sandbox, server) = (
        hard(),
        ModelServer::start(&[
            Reply::Say(r#"{"number": null, "same_purpose": false, "reason": "not clear"}"#),
            Reply::Pick("Go live"),
        ]),
    );
    let one = tier(&server, "free");
    let document =
        ends(&sandbox, &["--codegen-tier", &one, "--codegen-tier", &one.replace("/m,", "/strong,")], "fixed");
    assert_eq!(document["model"]["calls"], 2);
    assert!(server.asked()[1].words().contains("not clear"), "the stronger is told what was tried");
}

#[test]
fn an_adversary_gets_nothing_past_the_guard() {
    let edits = [
        r#"{"edits": [{"range": "toHaveText('done')", "replacement": "toHaveText(/.*/)"}], "reason": "x"}"#,
        r#"{"edits": [{"range": "  await page.getByRole('button', { name: 'Begin' }).click();\n", "replacement": ""}], "reason": "x"}"#,
        r#"{"edits": [{"range": "test('starts'", "replacement": "test.skip('starts'"}], "reason": "x"}"#,
        r#"{"edits": [{"range": "await expect", "replacement": "await expect.soft"}], "reason": "x"}"#,
        r#"{"edits": [{"range": "'Begin' }).click()", "replacement": "'[ref=e1]' }).click()"}], "reason": "x"}"#,
        r#"{"edits": [], "rewrite": "import { test } from '@playwright/test'; test('starts', async () => {});", "reason": "x"}"#,
    ];
    for edit in edits {
        // Nothing to pick from: the page holds no button.
        let sandbox = project(SPEC, "nothing-is-enough", "- heading \"Orders\" [level=1]\n- status: done\n");
        sandbox.write("always", "");
        let server = ModelServer::start(&[Reply::Say(edit)]);
        let document = ends(&sandbox, &["--codegen-tier", &tier(&server, "free"), "--allow-rewrite"], "give-up");
        assert_eq!(document["attempts"].as_array().unwrap().last().unwrap()["tier"], "free", "{document:#}");
        assert!(
            document["attempts"].as_array().unwrap().iter().any(|attempt| attempt["outcome"] == "refused"),
            "{edit}\n{document:#}"
        );
    }
}

#[test]
fn an_adversary_that_picks_the_wrong_element_is_undone() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Cancel")]));
    let document = ends(&sandbox, &["--codegen-tier", &tier(&server, "free")], "give-up");
    assert!(
        document["attempts"].as_array().unwrap().iter().any(|attempt| attempt["outcome"] == "failed"),
        "{document:#}"
    );
}

#[test]
fn a_call_that_could_cost_more_than_is_left_is_not_made() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Go live")]));
    let document =
        ends(&sandbox, &["--codegen-tier", &tier(&server, "prompt=1,answer=2"), "--budget-usd", "0.0001"], "give-up");
    assert_eq!((server.calls(), &document["model"]["calls"]), (0, &0.into()));
}

#[test]
fn a_tier_without_a_price_is_refused_before_anything_runs() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Hang]));
    let answer = heal(&sandbox, &["--codegen-tier", &format!("{MODEL},url={}/v1", server.url)]).exits(2).json();
    assert_eq!(answer["error"]["code"], "no_model_price");
    let negative = heal(&sandbox, &["--codegen-tier", &tier(&server, "prompt=-1,answer=1")]).exits(2).json();
    assert_eq!(negative["error"]["code"], "bad_model_price");
    assert_eq!((runs(&sandbox), server.calls()), (0, 0));
}

#[test]
fn prices_come_from_a_list_and_tiers_from_a_catalogue() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Go live")]));
    sandbox.write(
        "prices.json",
        r#"{"data": [{"id": "m", "pricing": {"prompt": "0.000001", "completion": "0.000002"}}]}"#,
    );
    sandbox.write(
        "tiers.json",
        &format!(r#"{{"codegen": [{{"model": "openrouter/m", "baseUrl": "{}/v1"}}]}}"#, server.url),
    );
    let document = ends(&sandbox, &["--tiers", "tiers.json", "--prices", "prices.json"], "fixed");
    assert!((document["model"]["costUsd"].as_f64().unwrap() - 0.0011).abs() < 1e-9, "{document:#}");
}

#[test]
fn a_tier_is_left_after_as_many_failures_as_was_said() {
    let (sandbox, server) = (
        hard(),
        ModelServer::start(&[
            Reply::Say(r#"{"number": null, "same_purpose": false, "reason": "not clear"}"#),
            Reply::Say(r#"{"number": null, "same_purpose": false, "reason": "still not"}"#),
            Reply::Pick("Go live"),
        ]),
    );
    let (cheap, strong) = (tier(&server, "free"), tier(&server, "free").replace("/m,", "/strong,"));
    let options = ["--codegen-tier", &cheap, "--codegen-tier", &strong, "--escalate-after", "2"];
    let document = ends(&sandbox, &options, "fixed");
    let tiers: Vec<&str> =
        document["attempts"].as_array().unwrap().iter().map(|attempt| attempt["tier"].as_str().unwrap()).collect();
    let asked: Vec<&&str> = tiers.iter().filter(|tier| **tier != "free").collect();
    assert_eq!(asked, [&"openai_compatible/m", &"openai_compatible/m", &"openai_compatible/strong"]);
}

#[test]
fn the_last_tier_is_asked_again_as_long_as_it_has_something_new() {
    let (sandbox, server) = (
        project(
            SPEC,
            "'Go live'",
            "- heading \"Orders\" [level=1]\n- button \"Go live\" [ref=e1]\n- button \"Cancel\" [ref=e2]\n- button \"Later\" [ref=e3]\n- status: done\n",
        ),
        ModelServer::start(&[Reply::Pick("Cancel"), Reply::Pick("Later"), Reply::Pick("Go live")]),
    );
    let (cheap, strong) = (tier(&server, "free"), tier(&server, "free").replace("/m,", "/strong,"));
    ends(&sandbox, &["--codegen-tier", &cheap, "--codegen-tier", &strong], "fixed");
    assert_eq!(server.calls(), 3);
    assert!(server.asked()[2].words().contains("Later"), "it is told what was tried");
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Cancel")]));
    ends(&sandbox, &["--codegen-tier", &tier(&server, "free")], "give-up");
    assert_eq!(server.calls(), 2, "the same again ends it");
}

#[test]
fn a_free_repair_that_did_not_help_leaves_the_cheapest_tier_its_turn() {
    let (sandbox, server) = (
        project(
            SPEC,
            "'Go live'",
            "- heading \"Orders\" [level=1]\n- button \"Start\" [ref=e1]\n- button \"Go live\" [ref=e2]\n- status: done\n",
        ),
        ModelServer::start(&[Reply::Pick("Go live")]),
    );
    let (cheap, strong) = (tier(&server, "free"), tier(&server, "free").replace("/m,", "/strong,"));
    let document = ends(&sandbox, &["--codegen-tier", &cheap, "--codegen-tier", &strong], "fixed");
    let tiers: Vec<&str> =
        document["attempts"].as_array().unwrap().iter().map(|attempt| attempt["tier"].as_str().unwrap()).collect();
    assert_eq!((tiers.first(), tiers.last()), (Some(&"free"), Some(&"openai_compatible/m")), "{document:#}");
    assert!(document["attempts"][0]["outcome"] == "failed", "{document:#}");
}

#[test]
fn a_model_that_does_not_answer_ends_in_giving_up_with_everything_back() {
    for reply in [Reply::Status(400), Reply::Say("no JSON at all")] {
        let (sandbox, server) = (hard(), ModelServer::start(&[reply]));
        ends(&sandbox, &["--codegen-tier", &tier(&server, "free")], "give-up");
    }
}

#[test]
fn a_model_that_is_busy_or_breaks_is_asked_again_and_the_heal_ends_fixed() {
    let busy = Reply::Later(429, &[("retry-after", "0")]);
    let until = Reply::Later(429, &[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]);
    for script in
        [[busy, Reply::Status(500), Reply::Pick("Go live")], [until, Reply::Status(500), Reply::Pick("Go live")]]
    {
        let (sandbox, server) = (hard(), ModelServer::start(&script));
        let document = ends(&sandbox, &["--codegen-tier", &tier(&server, "prompt=1,answer=2")], "fixed");
        assert_eq!((server.calls(), &document["model"]["calls"]), (3, &3.into()));
        // Only the answer is paid for.
        assert!((document["model"]["costUsd"].as_f64().unwrap() - 0.0011).abs() < 1e-9, "{document:#}");
        assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Go live'"));
    }
}

#[test]
fn a_model_that_asks_for_a_long_pause_is_not_waited_for_and_everything_is_put_back() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Later(429, &[("retry-after", "3600")])]));
    ends(&sandbox, &["--codegen-tier", &tier(&server, "free")], "give-up");
    assert_eq!(server.calls(), 1);
}

#[test]
fn a_model_is_told_of_no_secret_and_of_the_guardrail() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Go live")]));
    sandbox.write("context.md", "# Page snapshot\n\n```yaml\n- button \"Go live\" [ref=e1]\n- button \"token hunter2-secret\"\n- status: done\n```\n");
    sandbox.write("plan.md", "Never drop the publishing step.");
    let tier = tier(&server, "free");
    let mut command = sandbox.command(&arguments(&["--codegen-tier", &tier, "--guardrail", "plan.md"]));
    let answer: Answer = command
        .env("SHOP_PASSWORD", "hunter2-secret")
        .env("VLMKIT_HEAL_BASEURL_KEY", "sk-own")
        .output()
        .unwrap()
        .into();
    assert_eq!(verdict(&answer), "fixed");
    let asked = &server.asked()[0];
    assert!(!asked.words().contains("hunter2-secret") && asked.words().contains("[SHOP_PASSWORD]"));
    assert!(asked.words().contains("Never drop the publishing step."));
    assert_eq!(asked.key, "sk-own");
}

#[test]
fn a_batch_keeps_to_its_budget_and_goes_on_after_an_error() {
    let (sandbox, server) = (hard(), ModelServer::start(&[Reply::Pick("Go live")]));
    for name in ["tests/b.spec.ts", "tests/c.spec.ts"] {
        sandbox.write(name, SPEC);
    }
    // Each file's report is its own.
    sandbox.write("run.sh", &sandbox.read("run.sh").replace("|$PWD|g\"", "|$PWD|g; s|tests/a.spec.ts|$spec|g\""));
    let tier = tier(&server, "prompt=0,answer=2");
    let arguments = [
        "heal",
        "--all",
        FILE,
        "missing.spec.ts",
        "tests/b.spec.ts",
        "tests/c.spec.ts",
        "--json",
        "--codegen-tier",
        &tier,
        "--total-budget-usd",
        "0.0011",
        "--markdown",
        "out.md",
        "--budget-usd",
        "1",
        "--",
        "sh",
        "run.sh",
        "{file}",
    ];
    // A call is reserved at 4000 tokens of an answer, 0.008 USD, and costs 0.0001.
    // The first call may cost more than all of it, so nothing is spent at all.
    let document = sandbox.run(&arguments).exits(1).json();
    assert_eq!((&document["fixed"], server.calls()), (&0.into(), 0), "{document:#}");
    let raised: Vec<&str> = arguments.iter().map(|word| if *word == "0.0011" { "0.00805" } else { word }).collect();
    let document = sandbox.run(&raised).exits(1).json();
    assert_eq!(document["fixed"], 1, "{document:#}");
    assert!(document["entries"][1]["error"].as_str().unwrap().contains("missing.spec.ts"));
    assert!(document["totalCostUsd"].as_f64().unwrap() <= 0.00805);
    let schema = agent_test::schema::find("heal-batch").unwrap().schema().to_value();
    assert!(jsonschema::is_valid(&schema, &document));
    assert!(sandbox.read("out.md").contains("# Healed tests"));
}

#[test]
fn a_summary_for_a_pull_request_is_written_and_cannot_be_broken_out_of() {
    let sandbox = project(SPEC, "'Start'", &PAGE.replace("\"Cancel\"", "\"Cancel | ``` <script>\""));
    heal(&sandbox, &["--markdown", "summary.md"]).exits(0);
    let text = sandbox.read("summary.md");
    assert!(text.starts_with("## fixed: ") && text.contains("```diff") && !text.contains("<script>"), "{text}");
}
