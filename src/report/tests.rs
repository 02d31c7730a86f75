//! Laws of the reports: counts agree everywhere, text of pages is data, every format can be read by its readers.

use std::collections::BTreeSet;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use serde_json::json;

use super::fixture::{self, HOSTILE, campaign, report, route, screenshot};
use super::*;

/// The page of a campaign, kept in the target folder to be looked at.
fn keep(name: &str, html: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/report");
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, html).expect("a page");
    path
}

fn picture(path: &str) -> Option<Vec<u8>> {
    static PICTURES: std::sync::LazyLock<Vec<Vec<u8>>> = std::sync::LazyLock::new(|| (0..7).map(screenshot).collect());
    let number = path.bytes().map(usize::from).sum::<usize>() % 7;
    (!path.contains("customers")).then(|| PICTURES[number].clone())
}

fn no_picture(_: &str) -> Option<Vec<u8>> {
    None
}

/// The visible text of Markdown.
fn rendered(markdown: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(markdown, Options::all().difference(Options::ENABLE_SMART_PUNCTUATION)) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::Html(part) | Event::InlineHtml(part) => text.push_str(&format!("<<HTML {part}>>")),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => text.push('\n'),
            _ => {}
        }
    }
    text
}

fn one_route(value: serde_json::Value) -> RouteReview {
    let report = report(value);
    review(&report, "a", "monkey-test-screenshots/a/", None)
}

#[test]
fn bugs_get_ids_by_severity_and_the_worst_comes_first() {
    let review =
        one_route(json!({ "route": "/a", "tested_at": fixture::at(), "status": "partial", "action_tree": {}, "bugs": [
        { "severity": "minor", "description": "one" }, { "severity": "critical", "description": "two" },
        { "severity": "blocker", "description": "three" }, { "severity": "critical", "description": "four" } ] }));
    let ids: Vec<&str> = review.bugs.iter().map(|bug| bug.id.as_str()).collect();
    assert_eq!(ids, ["BUG-a-C1", "BUG-a-C2", "BUG-a-C3", "BUG-a-m1"]);
}

#[test]
fn bugs_with_the_same_screenshot_and_description_are_one() {
    let review =
        one_route(json!({ "route": "/a", "tested_at": fixture::at(), "status": "partial", "action_tree": {}, "bugs": [
        { "severity": "minor", "description": "same", "location": "/a > X", "screenshot": "1.png" },
        { "severity": "major", "description": "same", "location": "/a > Y", "screenshot": "1.png" },
        { "severity": "minor", "description": "same", "location": "/a > Z", "screenshot": "2.png" } ] }));
    assert_eq!(review.bugs.len(), 2);
    assert_eq!(review.bugs[0].id, "BUG-a-M1");
    assert_eq!(review.bugs[0].bug.also_at, ["/a > Y"]);
    assert!(review.notes.iter().any(|note| note.contains("merged")), "{:?}", review.notes);
}

#[test]
fn one_cause_on_fifty_routes_is_one_bug_with_fifty_places() {
    let bug = |route: &str| {
        let parts = crate::trace::FingerprintParts {
            version: 2,
            category: "network".to_owned(),
            location: route.to_owned(),
            role: "button".to_owned(),
            name: "Search".to_owned(),
            signal: "http-5xx".to_owned(),
            detail: "GET /api/search 500".to_owned(),
        };
        json!({ "severity": "major", "description": "Search fails", "location": format!("{route} > Search"),
            "fingerprintV2": parts.v2(), "fingerprintV3": parts.v3(), "fingerprintParts": parts })
    };
    let routes = (0..50).map(|n| format!("/page{n}")).map(|path| {
        let value = json!({ "route": path, "tested_at": fixture::at(), "status": "partial", "action_tree": {},
            "bugs": [bug(&path)] });
        fixture::route(report(value))
    });
    let aggregate = Aggregate::new(fixture::campaign(routes.collect()));
    assert_eq!((aggregate.totals.bugs.major, aggregate.totals.distinct.major), (50, 1));
    let text = final_markdown(&aggregate);
    assert!(text.contains("50 equal bugs on 50 routes") && text.contains("on /page49"), "{text}");
}

#[test]
fn an_error_that_no_bug_speaks_of_is_found_by_the_review() {
    let tree = json!({ "toolbar": [
        { "label": "Save", "type": "button", "action_result": "error", "children": [] },
        { "label": "Load", "type": "button", "action_result": "error", "screenshot": "l.png", "children": [] } ] });
    let review =
        one_route(json!({ "route": "/a", "tested_at": fixture::at(), "status": "partial", "action_tree": tree,
        "bugs": [ { "severity": "minor", "description": "x", "location": "Toolbar → save" } ] }));
    let found: Vec<_> = review.bugs.iter().map(|bug| (bug.id.as_str(), bug.source)).collect();
    assert_eq!(found, [("BUG-a-M1", BugSource::ReviewerFound), ("BUG-a-m1", BugSource::TesterReported)]);
    assert_eq!(review.bugs[0].bug.location, "/a > Load");
}

#[test]
fn screenshots_that_are_missing_unnamed_or_elsewhere_are_noted() {
    let report = report(json!({ "route": "/a", "tested_at": fixture::at(), "status": "pass", "action_tree": {},
        "screenshots": ["01.png", "monkey-test-screenshots/a/02.png", "../../secret.png"] }));
    let files: BTreeSet<String> = ["02.png".to_owned(), "09.png".to_owned()].into();
    let review = review(&report, "a", "monkey-test-screenshots/a/", Some(&files));
    insta::assert_snapshot!(review.notes.join("\n"), @r"
    not a file name in the route's screenshots folder, left out: ../../secret.png
    named in the report and missing in the screenshots folder: 01.png
    in the screenshots folder and not named in the report: 09.png
    ");
}

#[test]
fn a_report_without_elements_and_screenshots_is_no_test_data() {
    let empty = json!({ "route": "/a", "tested_at": fixture::at(), "status": "pass", "action_tree": {} });
    let aggregate = Aggregate::new(campaign(vec![route(report(empty))]));
    assert!(aggregate.routes[0].review.no_test_data);
    assert_eq!(aggregate.totals.clean, 0);
    assert!(
        aggregate.recommendations.iter().any(|advice| advice.contains("Test again")),
        "{:?}",
        aggregate.recommendations
    );
}

#[test]
fn the_campaigns_name_of_a_route_counts() {
    let mut input = fixture::small();
    input.routes[2].report.route = "/elsewhere".to_owned();
    let aggregate = Aggregate::new(input);
    assert_eq!(aggregate.routes[2].route(), "/settings/billing");
    assert_eq!(aggregate.routes[2].review.notes, ["the report names the route `/elsewhere`"]);
}

#[test]
fn what_only_an_outside_reviewer_wrote_is_counted_and_keeps_its_id() {
    let mut input = fixture::small();
    let text = "# Bugs\n\n### BUG-orders-M7: The total is never updated\n\n- **Source:** reviewer-found\n- **Location:** /orders > Create\n- **Screenshot:** [x](../monkey-test-screenshots/orders/08-create-customer.png)\n\n### BUG-orders-C1 - Saving an order fails with HTTP 500\n\n### BUG-other-C1: not ours\n";
    input.routes[0].bug_report = Some(text.to_owned());
    let aggregate = Aggregate::new(input);
    let ids: Vec<&str> = aggregate.routes[0].review.bugs.iter().map(|bug| bug.id.as_str()).collect();
    assert_eq!(ids, ["BUG-orders-C1", "BUG-orders-M1", "BUG-orders-M7", "BUG-orders-m1"]);
    assert_eq!(aggregate.totals.bugs.major, 2);
}

#[test]
fn our_own_bug_report_read_back_adds_nothing() {
    let mut input = fixture::small();
    for description in HOSTILE.iter().filter(|text| !text.is_empty()) {
        let value = json!({ "severity": "minor", "description": description, "screenshot": "x.png" });
        input.routes[0].report.bugs.push(serde_json::from_value(value).expect("a bug"));
    }
    let before = Aggregate::new(input.clone());
    let text = bugs_markdown(&before.routes[0].report, &before.routes[0].review, "monkey-test-screenshots/orders/");
    input.routes[0].bug_report = Some(text);
    let after = Aggregate::new(input);
    assert_eq!(after.totals, before.totals);
}

#[test]
fn equal_bugs_of_many_routes_are_one_group() {
    let aggregate = Aggregate::new(fixture::small());
    let group = aggregate.groups.last().expect("a group");
    assert_eq!((group.routes, group.members.len()), (2, 2));
    assert_eq!((aggregate.totals.bugs.minor, aggregate.totals.distinct.minor), (2, 1));
}

#[test]
fn the_final_report_names_the_state_that_it_reports_on() {
    let text = final_markdown(&Aggregate::new(fixture::small()));
    assert!(text.lines().any(|line| line == "<!-- agent-test digest: sha256:5f1c -->"));
    assert_eq!(digest_in(&text), Some("sha256:5f1c"));
    assert_eq!(digest_in(&digest_line("a --> <script>")), Some("ascript"));
}

#[test]
fn the_bug_report_of_a_route_reads_well() {
    let aggregate = Aggregate::new(fixture::small());
    let part = &aggregate.routes[0];
    insta::assert_snapshot!(bugs_markdown(&part.report, &part.review, &part.screenshots_dir), @r##"
    # Bug Report: /orders

    > Tested 2026-05-02 10:15 UTC, status **partial**, took 1 min 14 s\
    > Page title: Orders\
    > Report: [orders.json](orders.json), screenshots: [monkey-test-screenshots/orders/](../monkey-test-screenshots/orders/)

    ## Summary

    Tester's summary: Table with 5 orders; saving and export fail

    | Severity | Bugs |
    | --- | ---: |
    | Critical | 1 |
    | Major | 1 |
    | Minor | 1 |
    | **Total** | **3** |

    Operations: 11 (7 passed, 3 failed, 1 disabled)

    ## Critical Bugs (1)

    ### BUG-orders-C1: Saving an order fails with HTTP 500

    - **Severity:** critical
    - **Source:** tester-reported
    - **Kind:** http error
    - **Location:** /orders > Create > Save
    - **Expected:** the order is saved
    - **Actual:** toast \`Internal error\`, the dialog stays open
    - **Certainty:** confirmed by a replay, fired in 2 of 2 attempts
    - **Fingerprint:** 6b1f0c9a2d3e4f50 (v3)
    - **Screenshot:** 08-create-save-error.png

    ![BUG-orders-C1](../monkey-test-screenshots/orders/08-create-save-error.png)

    Evidence:

    - POST /api/orders -> 500

    ## Major Bugs (1)

    ### BUG-orders-M1: \`PDF\` ends in an error

    - **Severity:** major
    - **Source:** reviewer-found
    - **Location:** /orders > Export > PDF
    - **Expected:** the action succeeds, or its control is disabled
    - **Actual:** Toast: export failed
    - **Screenshot:** 08-export-pdf-error.png

    ![BUG-orders-M1](../monkey-test-screenshots/orders/08-export-pdf-error.png)

    Evidence:

    - GET /api/export?type=pdf -> 502

    ## Minor Bugs (1)

    ### BUG-orders-m1: \`Print\` has no effect

    - **Severity:** minor
    - **Source:** tester-reported
    - **Kind:** dead control
    - **Location:** /orders > Print
    - **Certainty:** **UNCONFIRMED**: fired in 1 of 2 attempts
    - **Fingerprint:** aaaa0c9a2d3e4f50 (v3)
    - **Screenshot:** 02-toolbar-print.png

    ![BUG-orders-m1](../monkey-test-screenshots/orders/02-toolbar-print.png)

    ## Coverage and Limits

    - Elements: 12 found, 10 acted on, 1 disabled, 1 refused as destructive, 0 skipped
    - Limit reached: depth 8 reached: 3 elements below \`Settings > Advanced\` left undone

    ## Console Errors

    - POST http://127.0.0.1:5000/api/orders 500 (Internal Server Error)
    "##);
}

#[test]
fn the_final_report_reads_well() {
    insta::assert_snapshot!(final_markdown(&Aggregate::new(fixture::small())), @r##"
    # Final Report: Stockroom

    <!-- agent-test digest: sha256:5f1c -->

    > Application: http://127.0.0.1:5000\
    > Campaign began 2026-05-02 08:15 UTC, report written 2026-05-02 10:45 UTC

    ## Executive Summary

    3 of 5 routes tested, 1 failed, 1 still pending. 4 bugs found (1 critical, 1 major, 2 minor), 3 different. 1 of them unconfirmed. 1 route without issues. 14 of 16 elements acted on.

    ## Statistics

    | Measure | Count |
    | --- | ---: |
    | Routes in the campaign | 5 |
    | Routes tested | 3 |
    | Routes failed | 1 |
    | Routes pending | 1 |
    | Status pass | 1 |
    | Status partial | 2 |
    | Status fail | 0 |
    | Routes without issues | 1 |
    | Routes reviewed | 3 (0 pending, 0 failed) |
    | Bugs | 4 |
    | Critical bugs | 1 |
    | Major bugs | 1 |
    | Minor bugs | 2 |
    | Different bugs | 3 |
    | Bugs found by the review | 1 |
    | Unconfirmed bugs | 1 |
    | Operations | 15 |
    | Operations passed | 10 |
    | Operations failed | 4 |
    | Operations disabled | 1 |
    | Elements found | 16 |
    | Elements acted on | 14 |
    | Elements disabled | 1 |
    | Elements refused as destructive | 1 |
    | Elements skipped | 0 |
    | Console errors | 1 |
    | Time in the browser | 1 min 45 s |

    ## Route Health Table

    | Route | Status | Critical | Major | Minor | Operations | Passed | Failed | Disabled | Acted on | Review | Bug report |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
    | /orders | partial | 1 | 1 | 1 | 11 | 7 | 3 | 1 | 10/12 | complete | [orders-bugs.md](orders-bugs.md) |
    | /customers | partial | 0 | 0 | 1 | 3 | 2 | 1 | 0 | 3/3 | complete | [customers-bugs.md](customers-bugs.md) |
    | /settings/billing | pass | 0 | 0 | 0 | 1 | 1 | 0 | 0 | 1/1 | complete | [settings_billing-bugs.md](settings_billing-bugs.md) |
    | **Total** |  | **1** | **1** | **2** | **15** | **10** | **4** | **1** | **14/16** |  |  |

    ## Critical Bugs (1)

    ### BUG-orders-C1: Saving an order fails with HTTP 500

    - **Route:** /orders
    - **Severity:** critical
    - **Source:** tester-reported
    - **Kind:** http error
    - **Location:** /orders > Create > Save
    - **Expected:** the order is saved
    - **Actual:** toast \`Internal error\`, the dialog stays open
    - **Certainty:** confirmed by a replay, fired in 2 of 2 attempts
    - **Fingerprint:** 6b1f0c9a2d3e4f50 (v3)
    - **Screenshot:** 08-create-save-error.png

    ![BUG-orders-C1](../monkey-test-screenshots/orders/08-create-save-error.png)

    Evidence:

    - POST /api/orders -> 500

    ## Major Bugs (1)

    ### BUG-orders-M1: \`PDF\` ends in an error

    - **Route:** /orders
    - **Severity:** major
    - **Source:** reviewer-found
    - **Location:** /orders > Export > PDF
    - **Expected:** the action succeeds, or its control is disabled
    - **Actual:** Toast: export failed
    - **Screenshot:** 08-export-pdf-error.png

    ![BUG-orders-M1](../monkey-test-screenshots/orders/08-export-pdf-error.png)

    Evidence:

    - GET /api/export?type=pdf -> 502

    ## Minor Bugs (2, 1 different)

    ### BUG-orders-m1: \`Print\` has no effect

    **2 equal bugs on 2 routes:**

    - BUG-orders-m1 on /orders, unconfirmed
    - BUG-customers-m1 on /customers

    The first of them:

    - **Severity:** minor
    - **Source:** tester-reported
    - **Kind:** dead control
    - **Location:** /orders > Print
    - **Certainty:** **UNCONFIRMED**: fired in 1 of 2 attempts
    - **Fingerprint:** aaaa0c9a2d3e4f50 (v3)
    - **Screenshot:** 02-toolbar-print.png

    ![BUG-orders-m1](../monkey-test-screenshots/orders/02-toolbar-print.png)

    ## Routes Without Issues (1)

    - /settings/billing (1 operation, 1 of 1 elements acted on)

    ## Routes Not Tested (2)

    | Route | State | Retries | Error |
    | --- | --- | ---: | --- |
    | /reports | failed | 2 | the page did not answer within 30 s |
    | /users | pending |  |  |

    ## Coverage and Limits

    - Elements: 16 found, 14 acted on, 1 disabled, 1 refused as destructive, 0 skipped
    - Limit reached on /orders: depth 8 reached: 3 elements below \`Settings > Advanced\` left undone

    ## Recommendations

    1. Fix 1 critical bug first: BUG-orders-C1.
    2. Fix 1 major bug before a release: BUG-orders-M1.
    3. BUG-orders-m1 shows on 2 routes: one fix should close all of them.
    4. Look by hand at 1 unconfirmed bug that no replay showed again.
    5. Retry 1 failed route: /reports.
    6. Go on with the campaign: 1 route is not tested yet.
    7. 1 route reached a limit, so part of the map is missing: raise the limit and test again where it matters.
    8. 1 element was refused as destructive: test such elements on a copy of the application whose data may change.
    "##);
}

#[test]
fn junit_has_one_case_per_route() {
    insta::assert_snapshot!(junit(&Aggregate::new(fixture::small())).expect("XML"), @r##"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="agent-test: Stockroom" tests="5" skipped="1" failures="1" errors="1" timestamp="2026-05-02T10:45:00.000+00:00" time="105.200">
        <testsuite name="Stockroom" tests="5" skipped="1" errors="1" failures="1" timestamp="2026-05-02T10:45:00.000+00:00" time="105.200">
            <properties>
                <property name="base_url" value="http://127.0.0.1:5000"/>
                <property name="digest" value="sha256:5f1c"/>
            </properties>
            <testcase name="/orders" classname="agent-test.route" assertions="11" timestamp="2026-05-02T10:15:00.000+00:00" time="74.200">
                <failure message="BUG-orders-C1: Saving an order fails with HTTP 500 (and 1 more)" type="critical">BUG-orders-C1 [critical] Saving an order fails with HTTP 500
      location: /orders &gt; Create &gt; Save
      expected: the order is saved
      actual: toast `Internal error`, the dialog stays open
      certainty: confirmed by a replay, fired in 2 of 2 attempts
      screenshot: 08-create-save-error.png

    BUG-orders-M1 [major] `PDF` ends in an error
      location: /orders &gt; Export &gt; PDF
      expected: the action succeeds, or its control is disabled
      actual: Toast: export failed
      screenshot: 08-export-pdf-error.png</failure>
                <system-out>BUG-orders-m1 [minor] `Print` has no effect
      location: /orders &gt; Print
      certainty: UNCONFIRMED: fired in 1 of 2 attempts
      screenshot: 02-toolbar-print.png</system-out>
            </testcase>
            <testcase name="/customers" classname="agent-test.route" assertions="3" timestamp="2026-05-02T10:15:00.000+00:00" time="31.000">
                <system-out>BUG-customers-m1 [minor] `Print` has no effect
      location: /customers &gt; Print
      screenshot: 02-toolbar-print.png</system-out>
            </testcase>
            <testcase name="/settings/billing" classname="agent-test.route" assertions="1" timestamp="2026-05-02T10:15:00.000+00:00"/>
            <testcase name="/reports" classname="agent-test.route">
                <error message="the page did not answer within 30 s" type="route_failed">the page did not answer within 30 s, tried again: 2</error>
            </testcase>
            <testcase name="/users" classname="agent-test.route">
                <skipped message="not tested yet"/>
            </testcase>
        </testsuite>
    </testsuites>
    "##);
}

#[test]
fn the_page_runs_no_script_but_its_own_and_reads_no_file_elsewhere() {
    let mut input = fixture::large(3, 60);
    input.project = "</title><script>alert(1)</script>".to_owned();
    input.failed[0].error = "<img src=x onerror=alert(1)>".to_owned();
    input.routes[0].report.screenshots.push("../../../etc/passwd".to_owned());
    input.routes[0].report.screenshots.push("<script>.png".to_owned());
    let asked = std::cell::RefCell::new(Vec::new());
    let html = final_html(&Aggregate::new(input), |path| {
        asked.borrow_mut().push(path.to_owned());
        picture(path)
    });
    assert_eq!(html.matches("<script").count(), 1);
    assert!(!html.contains("<img src=x") && !html.contains("<svg onload"));
    assert!(asked.borrow().iter().all(|path| path.starts_with("monkey-test-screenshots/") && !path.contains("..")));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_small_campaign_makes_a_small_page() {
    let html = final_html(&Aggregate::new(fixture::small()), picture);
    keep("small.html", &html);
    assert!(html.contains("BUG-orders-C1") && html.len() < 200_000, "{}", html.len());
}

#[test]
fn each_screenshot_is_in_the_page_once_and_too_many_are_linked() {
    let aggregate = Aggregate::new(fixture::large(4, 80));
    let html = final_html(&aggregate, picture);
    assert!(html.matches("data:image/png;base64,").count() <= 7);
    let linked = html::render(&aggregate, picture, 4_000);
    keep("linked.html", &linked);
    assert!(!linked.contains("data:image"));
    assert!(
        linked.contains("loading=\"lazy\"") && linked.contains("../monkey-test-screenshots/orders_0/01-table-page.png")
    );
    assert!(linked.contains("are linked, not embedded"));
}

#[test]
fn a_campaign_of_100_routes_with_200_nodes_makes_a_page_that_can_be_opened() {
    let html = final_html(&Aggregate::new(fixture::large(100, 200)), picture);
    keep("large.html", &html);
    assert!(html.len() < 12_000_000, "{}", html.len());
}

#[test]
fn a_text_of_a_page_shows_as_it_is_in_markdown() {
    for text in HOSTILE.iter().filter(|text| !text.is_empty()) {
        let shown = markdown::one_line(text, 1000);
        let table = format!("| A |\n| --- |\n| {} |\n", markdown::cell(text));
        for markdown in [format!("- **L:** {}\n", markdown::para(text)), format!("{}\n", markdown::para(text)), table] {
            let rendered = rendered(&markdown);
            assert!(rendered.contains(&shown), "{markdown:?} shows {rendered:?}, not {shown:?}");
            assert!(!rendered.contains("<<HTML"), "{markdown}");
        }
    }
}

#[test]
fn a_long_text_is_cut_and_says_so() {
    let text = "ä ".repeat(5_000);
    let cut = markdown::one_line(&text, 50);
    assert!(cut.ends_with("… (10000 characters)") && cut.chars().count() < 80, "{cut}");
    assert_eq!(markdown::one_line("short", 50), "short");
}

/// The numbers behind a table row's or figure's name.
fn number_after(text: &str, name: &str) -> usize {
    let line = text.lines().find(|line| line.starts_with(&format!("| {name} |"))).expect(name);
    line.split('|').nth(2).and_then(|cell| cell.trim().trim_matches('*').parse().ok()).expect(line)
}

fn any_route() -> impl Strategy<Value = (Vec<(u8, u8, bool)>, Vec<u8>, u8)> {
    (prop::collection::vec((0_u8..4, 0_u8..4, any::<bool>()), 0..6), prop::collection::vec(0_u8..10, 0..8), 0_u8..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_agree_in_every_format(routes in prop::collection::vec(any_route(), 0..6), failed in 0_usize..3, pending in 0_usize..3) {
        let inputs = routes.iter().enumerate().map(|(r, (bugs, nodes, status))| {
            let bugs: Vec<_> = bugs.iter().map(|(severity, print, known)| json!({
                "severity": (["critical", "major", "minor", "odd"][usize::from(*severity)]), "description": HOSTILE[usize::from(*print) + r],
                "fingerprintV3": (known.then(|| format!("f{print}"))), "screenshot": format!("{print}.png") })).collect();
            let nodes: Vec<_> = nodes.iter().map(|n| json!({ "label": HOSTILE[usize::from(*n)], "children": [],
                "action_result": (["error", "refused", "skipped", "disabled", "weird", "no_response", "dialog_opened", "out_of_scope", "error", "page_navigated"][usize::from(*n)]) })).collect();
            route(report(json!({ "route": format!("/r{r}"), "tested_at": fixture::at(), "status": (["pass", "partial", "fail", "unclear"][usize::from(*status)]),
                "action_tree": { "toolbar": nodes }, "bugs": bugs })))
        }).collect();
        let mut input = campaign(inputs);
        input.failed = (0..failed).map(|n| FailedRoute { route: format!("/f{n}"), error: HOSTILE[n].to_owned(), retry_count: 1 }).collect();
        input.pending = (0..pending).map(|n| format!("/p{n}")).collect();
        let all = Aggregate::new(input);
        let t = &all.totals;

        // Sums over the routes, and over the groups.
        prop_assert_eq!(t.bugs.total(), all.routes.iter().map(|route| route.review.bugs.len()).sum::<usize>());
        prop_assert_eq!(t.bugs.total(), all.groups.iter().map(|group| group.members.len()).sum::<usize>());
        prop_assert_eq!(t.distinct.total(), all.groups.len());
        let ids: BTreeSet<&str> = all.routes.iter().flat_map(|route| &route.review.bugs).map(|bug| bug.id.as_str()).collect();
        prop_assert_eq!(ids.len(), t.bugs.total());
        prop_assert_eq!(t.operations.total, t.operations.passed + t.operations.failed + t.operations.disabled);
        prop_assert_eq!(t.coverage.found, t.coverage.acted_on + t.coverage.disabled + t.coverage.refused + t.skipped());
        prop_assert_eq!(t.routes, t.tested + t.failed + t.pending);

        // The texts say the same.
        let text = final_markdown(&all);
        prop_assert_eq!(number_after(&text, "Bugs"), t.bugs.total());
        prop_assert_eq!(number_after(&text, "Routes in the campaign"), t.routes);
        let mut sums = [0; 3];
        for part in &all.routes {
            let own = bugs_markdown(&part.report, &part.review, &part.screenshots_dir);
            for (sum, level) in sums.iter_mut().zip(Level::ALL) {
                *sum += number_after(&own, level.title());
                prop_assert_eq!(number_after(&own, level.title()), part.bugs.at(level));
            }
            prop_assert_eq!(own.lines().filter(|line| line.starts_with("### BUG-")).count(), part.bugs.total());
        }
        prop_assert_eq!(sums, [t.bugs.critical, t.bugs.major, t.bugs.minor]);
        let headings = text.lines().filter(|line| line.starts_with("### BUG-")).count();
        prop_assert_eq!(headings, t.distinct.total());

        let page = final_html(&all, no_picture);
        prop_assert_eq!(page.matches("<details class=\"bug ").count(), t.distinct.total());
        prop_assert_eq!(page.matches("class=\"anchor\"").count(), t.bugs.total());
        prop_assert_eq!(page.matches("<details class=\"route ").count(), t.tested);

        let xml = junit(&all).expect("XML");
        let count = |name: &str| xml.matches(name).count();
        prop_assert_eq!(count("<testcase "), t.routes);
        prop_assert_eq!(count("<failure "), all.routes.iter().filter(|route| route.bugs.non_minor() > 0).count());
        prop_assert_eq!(count("<skipped "), t.pending);
        let header = format!("tests=\"{}\"", t.routes);
        prop_assert!(xml.contains(&header));
    }

    #[test]
    fn any_text_shows_as_it_is_in_markdown(text in "[ -~\\n\u{e4}]{1,40}") {
        let shown = markdown::one_line(&text, 1000);
        let table = rendered(&format!("| A |\n| --- |\n| {} |\n", markdown::cell(&text)));
        prop_assert!(table.contains(&shown), "{table:?} {shown:?}");
        let item = rendered(&format!("- **L:** {}\n", markdown::para(&text)));
        prop_assert!(item.contains(&shown), "{item:?} {shown:?}");
    }

    #[test]
    fn junit_is_valid_xml_for_any_text(text in any::<String>()) {
        let bug = json!({ "severity": "major", "description": text, "actual": text });
        let value = json!({ "route": format!("/{text}"), "tested_at": fixture::at(), "status": "partial", "action_tree": {}, "bugs": [bug] });
        let xml = junit(&Aggregate::new(campaign(vec![route(report(value))]))).expect("XML");
        let read = quick_junit::Report::deserialize_from_str(&xml);
        prop_assert!(read.is_ok_and(|report| report.failures == 1));
    }
}
