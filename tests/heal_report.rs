//! `heal`: what the report of a run tells, and where a failing test's page stands.

use serde_json::{Value, json};

use crate::heal_kit::{FILE, MISSING, PAGE, SPEC, edited, ends, heal, project, runs};

/// The first try of the only test.
fn first_try(document: &mut Value) -> &mut Value {
    &mut document["suites"][0]["specs"][0]["tests"][0]["results"][0]
}

#[test]
fn a_page_that_stands_only_in_the_error_details_is_read_there() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let error = "# Error details\n\n```\nTimeoutError: locator.click\n```\n\n";
    let source = "# Test source\n\n```ts\n- button \"Begin\"\n```\n";
    sandbox.write("context.md", &format!("# Instructions\n\nExplain.\n\n{error}{source}"));
    let document = ends(&sandbox, &[], "give-up");
    assert!(document["reason"].as_str().unwrap().contains("shows no page"), "{document:#}");
    sandbox.write("context.md", &format!("# Instructions\n\nExplain.\n\n{error}```yaml\n{PAGE}```\n\n{source}"));
    ends(&sandbox, &[], "fixed");
    assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Start'"));
}

#[test]
fn a_page_that_the_test_attached_or_an_aria_snapshot_received_is_read_from_the_report() {
    let difference = "Error: expect(locator).toMatchAriaSnapshot(expected) failed\n\nLocator: locator('body')\n- Expected  - 1\n+ Received  + 1\n\n  - heading \"Orders\" [level=1]\n- - button \"Begin\"\n+ - button \"Start\"\n  - button \"Cancel\"\n  - status: done\n";
    let attached = json!([{ "name": "aria snapshot", "contentType": "text/plain", "body": base64(PAGE) }]);
    for (errors, attachments) in [(&[][..], attached), (&[difference][..], json!([]))] {
        let sandbox = project(SPEC, "'Start'", PAGE);
        let red = edited(Some(MISSING), |document| {
            let result = first_try(document);
            result["attachments"] = attachments;
            let all = result["errors"].as_array_mut().unwrap();
            all.extend(errors.iter().map(|message| json!({ "message": message })));
        });
        sandbox.write("red.json", &red);
        ends(&sandbox, &[], "fixed");
        assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Start'"));
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn a_shard_of_the_tests_proves_nothing_and_is_refused_wherever_it_is_set() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    for options in [&["--shard=1/2"][..], &["--shard", "1/2"]] {
        let words = [&["heal", FILE, "--json", "--", "sh", "run.sh", "{file}"], options].concat();
        let refused = sandbox.run(&words).exits(2).json();
        assert!(refused["error"]["message"].as_str().unwrap().contains("shard"), "{refused:#}");
    }
    assert_eq!(runs(&sandbox), 0);
    // The configuration may set one too: only the report tells.
    let sharded = |total: u32| {
        edited(Some(MISSING), |document| document["config"]["shard"] = json!({ "current": 1, "total": total }))
    };
    sandbox.write("red.json", &sharded(2));
    let refused = heal(&sandbox, &[]).exits(2).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("shard"), "{refused:#}");
    assert_eq!((sandbox.read(FILE), runs(&sandbox)), (SPEC.to_owned(), 1));
    sandbox.write("red.json", &sharded(1));
    ends(&sandbox, &[], "fixed");
}

#[test]
fn a_test_that_fails_in_one_of_its_projects_after_retries_is_repaired_for_all() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let both = |document: &mut Value, first_is_green: bool| {
        let tests = document["suites"][0]["specs"][0]["tests"].as_array_mut().unwrap();
        let mut second = tests[0].clone();
        tests[0]["projectName"] = "chromium".into();
        second["projectName"] = "firefox".into();
        if first_is_green {
            tests[0]["status"] = "expected".into();
            tests[0]["results"] = json!([{ "retry": 0, "status": "passed" }]);
        }
        // Each retry fails as the first try did.
        let tries = second["results"].as_array_mut().unwrap();
        if tries[0]["status"] == "failed" {
            let mut retry = tries[0].clone();
            retry["retry"] = 1.into();
            tries.push(retry);
        }
        tests.push(second);
    };
    for (name, first_is_green) in [("red.json", true), ("green.json", true), ("false.json", false)] {
        let mut document: Value = serde_json::from_str(&sandbox.read(name)).unwrap();
        both(&mut document, first_is_green);
        sandbox.write(name, &document.to_string());
    }
    assert_eq!(ends(&sandbox, &[], "fixed")["proof"]["testsRun"], 2);
}
