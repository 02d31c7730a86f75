//! `heal`: what the report of a run tells, and where a failing test's page stands.

use serde_json::{Value, json};

use crate::heal_kit::{FILE, MISSING, PAGE, SPEC, edited, ends, project};

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
