use std::path::PathBuf;
use std::process::Command;

use agent_test::report::{Aggregate, CampaignInput, ReviewStatus, RouteInput, final_html};
use serde_json::json;

use crate::sandbox::Sandbox;

fn browser() -> PathBuf {
    if let Some(path) = std::env::var_os("AGENT_TEST_CHROME") {
        return path.into();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .flat_map(|dir| ["chromium", "chromium-browser", "google-chrome", "chrome"].map(|name| dir.join(name)))
        .find(|path| path.is_file())
        .expect("a Chromium on PATH or in AGENT_TEST_CHROME")
}

/// The page's elements after the browser has run it, as HTML.
#[track_caller]
fn opened(sandbox: &Sandbox, fragment: &str) -> String {
    let profile = tempfile::tempdir().expect("a profile");
    let output = Command::new(browser())
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}{fragment}", sandbox.path().join("report.html").display()))
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn campaign(label: &str) -> Aggregate {
    let at = "2026-05-02T10:15:00Z".parse().expect("a time");
    let route = |path: &str| {
        let report = json!({
            "route": path, "tested_at": at, "status": "partial",
            "action_tree": { "toolbar": [ { "label": label, "type": "button", "action_result": "dialog_opened", "note": label,
                "children": [ { "label": "Save", "type": "button", "action_result": "error", "children": [] } ] } ] },
            "bugs": [ { "severity": "critical", "description": label, "location": format!("{path} > {label} > Save") } ]
        });
        RouteInput {
            route: path.to_owned(),
            slug: path.trim_start_matches('/').to_owned(),
            report: serde_json::from_value(report).expect("a report"),
            screenshots_dir: format!("monkey-test-screenshots{path}/"),
            screenshot_files: None,
            bug_report_file: None,
            bug_report: None,
            review_status: ReviewStatus::Complete,
        }
    };
    Aggregate::new(CampaignInput {
        project: label.to_owned(),
        base_url: "http://127.0.0.1".to_owned(),
        created_at: at,
        generated_at: at,
        digest: "d1".to_owned(),
        routes: vec![route("/orders"), route("/users")],
        failed: Vec::new(),
        pending: Vec::new(),
    })
}

/// The opening tag of the route's part of the page.
#[track_caller]
fn route_tag<'a>(page: &'a str, slug: &str) -> &'a str {
    let mark = format!("data-route=\"{slug}\"");
    page.split('<').find(|tag| tag.starts_with("details") && tag.contains(&mark)).expect("the route's part")
}

#[test]
fn a_link_to_a_route_unfolds_it_and_no_other() {
    let sandbox = Sandbox::new();
    sandbox.write("report.html", &final_html(&campaign("Create"), |_| None));
    let page = opened(&sandbox, "#route-users");
    assert!(page.contains("<html lang=\"en\" class=\"js\">"), "the page's own script runs");
    assert!(route_tag(&page, "users").contains("open"));
    assert!(!route_tag(&page, "orders").contains("open"));
}

#[test]
fn text_of_a_page_runs_nothing_in_the_report() {
    let sandbox = Sandbox::new();
    let hostile =
        "</title></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";
    sandbox.write("report.html", &final_html(&campaign(hostile), |_| None));
    let page = opened(&sandbox, "#BUG-orders-C1");
    assert!(!page.contains("<title>owned"), "a text of the page was run");
    assert!(!page.contains("<img"), "a text of the page became an element");
    assert!(page.contains("class=\"js\""));
}
