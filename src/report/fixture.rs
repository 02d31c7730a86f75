//! Campaigns for tests: realistic ones of any size, and the texts that a hostile page would use.

use chrono::{DateTime, Duration, Utc};

use super::{CampaignInput, FailedRoute, ReviewStatus, RouteInput};
use crate::maze::RouteReport;

/// What a page could put into its labels.
pub(super) const HOSTILE: &[&str] = &[
    "a | b || c",
    "`code` ``` fence",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "line one\nline two\r\n# heading\n- item",
    "[link](javascript:alert(1)) ![x](y)",
    "*bold* _it_ ~~gone~~ snake_case __x__",
    "&lt;b&gt; &amp; &#124;",
    "1. first",
    "- dash",
    "# hash",
    "\u{202e}desrever\u{0007}",
    "--> <!-- comment",
    "\\| back\\slash \\",
    "'\"><svg onload=alert(1)>",
    "",
];

pub(super) fn at() -> DateTime<Utc> {
    DateTime::from_timestamp(1_777_716_900, 0).unwrap_or_default()
}

pub(super) fn report(value: serde_json::Value) -> RouteReport {
    serde_json::from_value(value).expect("a report")
}

pub(super) fn route(report: RouteReport) -> RouteInput {
    let slug = report.route.trim_start_matches('/').replace('/', "_");
    RouteInput {
        route: report.route.clone(),
        screenshots_dir: format!("monkey-test-screenshots/{slug}/"),
        screenshot_files: None,
        bug_report_file: Some(format!("monkey-test-reports/{slug}-bugs.md")),
        bug_report: None,
        review_status: ReviewStatus::Complete,
        slug,
        report,
    }
}

pub(super) fn campaign(routes: Vec<RouteInput>) -> CampaignInput {
    CampaignInput {
        project: "Stockroom".to_owned(),
        base_url: "http://127.0.0.1:5000".to_owned(),
        created_at: at() - Duration::hours(2),
        generated_at: at() + Duration::minutes(30),
        digest: "sha256:5f1c".to_owned(),
        routes,
        failed: Vec::new(),
        pending: Vec::new(),
    }
}

/// Orders, customers, billing and one route each that failed and that waits.
pub(super) fn small() -> CampaignInput {
    let orders = report(serde_json::json!({
        "route": "/orders", "tested_at": at(), "status": "partial", "duration_ms": 74_200,
        "summary": "Table with 5 orders; saving and export fail",
        "page_info": { "title": "Orders", "has_table": true, "row_count": 5, "column_headers": ["No.", "Customer", "Total"] },
        "action_tree": {
            "toolbar": [
                { "label": "Create", "type": "button", "state": "enabled", "action_result": "dialog_opened",
                  "screenshot": "02-toolbar-create.png", "duration_ms": 240, "children": [
                    { "label": "Customer", "type": "input", "state": "enabled", "action_result": "content_changed", "screenshot": "08-create-customer.png", "children": [] },
                    { "label": "Save", "type": "button", "state": "enabled", "action_result": "error",
                      "screenshot": "08-create-save-error.png", "requests": ["POST /api/orders -> 500"], "children": [] },
                    { "label": "Cancel", "type": "button", "state": "enabled", "action_result": "content_changed", "screenshot": "08-create-cancel.png", "children": [] }
                ] },
                { "label": "Export", "type": "dropdown_trigger", "state": "enabled", "action_result": "dropdown_opened",
                  "screenshot": "02-toolbar-export.png", "children": [
                    { "label": "CSV", "type": "dropdown_item", "state": "enabled", "action_result": "download_started", "screenshot": "08-export-csv.png", "children": [] },
                    { "label": "PDF", "type": "dropdown_item", "state": "enabled", "action_result": "error", "screenshot": "08-export-pdf-error.png",
                      "note": "Toast: export failed", "requests": ["GET /api/export?type=pdf -> 502"], "children": [] }
                ] },
                { "label": "Print", "type": "button", "state": "enabled", "action_result": "no_response", "screenshot": "02-toolbar-print.png", "children": [] }
            ],
            "row_actions": [
                { "label": "Edit", "type": "dropdown_item", "state": "enabled", "action_result": "page_navigated", "url_after": "http://127.0.0.1:5000/orders/7/edit", "screenshot": "03-row-edit.png", "children": [] },
                { "label": "Delete", "type": "dropdown_item", "state": "disabled", "action_result": "disabled", "screenshot": "03-row-delete-disabled.png", "note": "Button was disabled, could not click", "children": [] },
                { "label": "Cancel order", "type": "dropdown_item", "state": "enabled", "action_result": "refused", "skipped_reason": "destructive", "children": [] }
            ],
            "detail_header_actions": [],
            "detail_tabs": [
                { "label": "History", "type": "tab", "state": "enabled", "action_result": "content_changed", "screenshot": "06-tab-history.png", "children": [] }
            ]
        },
        "screenshots": ["01-table-page.png", "07-final-state.png"],
        "limits": ["depth 8 reached: 3 elements below `Settings > Advanced` left undone"],
        "bugs": [
            { "severity": "critical", "description": "Saving an order fails with HTTP 500", "location": "/orders > Create > Save",
              "expected": "the order is saved", "actual": "toast `Internal error`, the dialog stays open",
              "screenshot": "08-create-save-error.png", "kind": "http_error", "fingerprintV3": "6b1f0c9a2d3e4f50",
              "confirmed": true, "fire_rate": { "fired": 2, "attempts": 2 }, "source": "explorer",
              "evidence": ["POST /api/orders -> 500"] },
            { "severity": "minor", "description": "`Print` has no effect", "location": "/orders > Print", "screenshot": "02-toolbar-print.png",
              "kind": "dead_control", "fingerprintV3": "aaaa0c9a2d3e4f50", "confirmed": false, "fire_rate": { "fired": 1, "attempts": 2 } }
        ],
        "console_errors": ["POST http://127.0.0.1:5000/api/orders 500 (Internal Server Error)"]
    }));
    let customers = report(serde_json::json!({
        "route": "/customers", "tested_at": at(), "status": "partial", "duration_ms": 31_000,
        "page_info": { "title": "Customers" },
        "action_tree": { "toolbar": [
            { "label": "Print", "type": "button", "state": "enabled", "action_result": "no_response", "screenshot": "02-toolbar-print.png", "children": [] },
            { "label": "New", "type": "button", "state": "enabled", "action_result": "wizard_opened", "screenshot": "02-toolbar-new.png", "children": [
                { "label": "Step 1 - Basic Info", "type": "wizard_step", "screenshot": "02-toolbar-new-step1.png", "children": [] } ] }
        ] },
        "bugs": [ { "severity": "minor", "description": "`Print` has no effect", "location": "/customers > Print",
            "screenshot": "02-toolbar-print.png", "kind": "dead_control", "fingerprintV3": "aaaa0c9a2d3e4f50" } ]
    }));
    let billing = report(serde_json::json!({
        "route": "/settings/billing", "tested_at": at(), "status": "pass",
        "action_tree": { "toolbar": [ { "label": "Plan", "type": "link", "state": "enabled", "action_result": "page_navigated", "children": [] } ] }
    }));
    let mut input = campaign(vec![route(orders), route(customers), route(billing)]);
    input.failed.push(FailedRoute {
        route: "/reports".to_owned(),
        error: "the page did not answer within 30 s".to_owned(),
        retry_count: 2,
    });
    input.pending.push("/users".to_owned());
    input
}

/// A campaign with so many routes and nodes, with every result, hostile labels strewn in.
pub(super) fn large(routes: usize, nodes: usize) -> CampaignInput {
    const RESULTS: &[&str] = &[
        "dialog_opened",
        "dropdown_opened",
        "page_navigated",
        "content_changed",
        "content_changed",
        "no_response",
        "not_clickable",
        "refused",
        "toast_notification",
        "submenu_opened",
        "skipped",
        "content_changed",
    ];
    const LABELS: &[&str] = &[
        "Create",
        "Import",
        "Export",
        "Filter by status",
        "Sort by date",
        "Assign to …",
        "Columns",
        "Refresh",
        "Archive",
        "Edit",
        "Duplicate",
        "Share with team",
        "Preferences",
        "Help",
    ];
    const PAGES: &[&str] =
        &["orders", "customers", "invoices", "products/inventory", "settings/general", "reports/weekly"];
    fn node(seed: usize, depth: usize, left: &mut usize) -> serde_json::Value {
        *left = left.saturating_sub(1);
        let result = RESULTS[seed * 7 % RESULTS.len()];
        let label = if seed % 23 == 22 { HOSTILE[seed % HOSTILE.len()] } else { LABELS[seed * 5 % LABELS.len()] };
        let mut children = Vec::new();
        if matches!(result, "dialog_opened" | "dropdown_opened" | "submenu_opened") && depth < 4 {
            for child in 0..3 + seed % 4 {
                if *left == 0 {
                    break;
                }
                children.push(node(seed * 3 + child * 11 + 1, depth + 1, left));
            }
        }
        serde_json::json!({
            "label": label, "type": if depth == 0 { "button" } else { "menu_item" },
            "state": if result == "not_clickable" { "disabled" } else { "enabled" },
            "action_result": result, "screenshot": format!("02-{seed}-{depth}.png"), "duration_ms": 90 + seed % 400,
            "requests": if seed.is_multiple_of(5) { vec![format!("GET /api/items?page={seed} -> 200")] } else { vec![] },
            "skipped_reason": if result == "skipped" { Some("same as a sibling") } else { None },
            "children": children
        })
    }
    let all = (0..routes)
        .map(|r| {
            let mut left = nodes;
            let mut sections = [vec![], vec![], vec![], vec![]];
            let mut seed = r;
            while left > 0 {
                let section = [0, 0, 0, 1, 2, 3][seed % 6];
                sections[section].push(node(seed, 0, &mut left));
                seed += 1;
            }
            let [toolbar, row_actions, detail_header_actions, detail_tabs] = sections;
            let mut bugs = Vec::new();
            if r % 5 == 1 {
                bugs.push(serde_json::json!({ "severity": "critical", "description": format!("Saving fails with HTTP 500 on page {r}"),
                    "location": format!("/{}/{r} > Create", PAGES[r % PAGES.len()]), "expected": "the record is saved",
                    "actual": "a toast says `Internal error` and the dialog stays open", "screenshot": format!("02-{r}-0.png"), "confirmed": true,
                    "fire_rate": { "fired": 3, "attempts": 3 }, "evidence": ["POST /api/save -> 500"] }));
            }
            if r.is_multiple_of(3) {
                bugs.push(serde_json::json!({ "severity": "major", "description": "The help panel throws TypeError: help is undefined",
                    "location": format!("/{}/{r} > Help", PAGES[r % PAGES.len()]), "fingerprintV3": "00c0ffee00c0ffee", "screenshot": format!("02-{r}-0.png"), "confirmed": r.is_multiple_of(2) }));
            }
            if r.is_multiple_of(4) {
                bugs.push(serde_json::json!({ "severity": "minor", "description": "`Refresh` has no effect", "location": format!("/{}/{r} > Refresh", PAGES[r % PAGES.len()]),
                    "fingerprintV2": "0badcafe0badcafe" }));
            }
            let status = if bugs.is_empty() { "pass" } else { "partial" };
            route(report(serde_json::json!({
                "route": format!("/{}/{r}", PAGES[r % PAGES.len()]), "tested_at": at(), "status": status, "duration_ms": 20_000 + r * 1_300,
                "page_info": { "title": "Stockroom", "has_table": true, "row_count": 20, "column_headers": ["Name", "Status", "Updated"] },
                "action_tree": { "toolbar": toolbar, "row_actions": row_actions, "detail_header_actions": detail_header_actions, "detail_tabs": detail_tabs },
                "screenshots": ["01-table-page.png", "07-final-state.png"], "bugs": bugs,
                "console_errors": if r.is_multiple_of(3) { vec!["TypeError: help is undefined at app.js:120"] } else { vec![] },
            })))
        })
        .collect();
    let mut input = campaign(all);
    input.failed.push(FailedRoute {
        route: "/exports".to_owned(),
        error: "the browser crashed".to_owned(),
        retry_count: 3,
    });
    input.pending.push("/audit".to_owned());
    input
}

/// A picture of a page: a bar, a side panel and lines, different for each `seed`.
pub(super) fn screenshot(seed: usize) -> Vec<u8> {
    let (width, height) = (640_u32, 400_u32);
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            let color: [u8; 3] = if y < 36 {
                [38, 50, 66]
            } else if x < 120 {
                [236, 238, 241]
            } else if seed % 3 == 1 && (220..520).contains(&x) && (110..300).contains(&y) {
                if y < 140 { [90, 130, 190] } else { [255, 255, 255] }
            } else if y % 28 < 2 {
                [222, 225, 229]
            } else if y % 28 > 10 && y % 28 < 18 && x > 140 && x < 300 + (y / 28 * 37 + seed as u32 * 13) % 260 {
                [150, 158, 168]
            } else {
                [250, 250, 250]
            };
            pixels.extend_from_slice(&color);
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header().expect("a header").write_image_data(&pixels).expect("an image");
    bytes
}
