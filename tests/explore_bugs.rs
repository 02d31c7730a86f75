//! `explore`: each kind of fault as it stands in the report, the report's own promises, and a login.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::explore_kit::{PASSWORD, Ran, USERNAME, nodes};

const PAGES: &[(&str, &str)] = &[
    ("/throws", "<button onclick='throw new TypeError(`planted`)'>Throw</button>"),
    ("/rejects", "<button onclick='Promise.reject(new Error(`planted`))'>Reject</button>"),
    ("/link-404", "<a href=/nowhere>Nowhere</a>"),
    ("/link-500", "<a href=/500>Broken page</a>"),
    ("/fetch-500", "<button onclick='fetch(`/500`).then(() => show(`came back`))'>Load</button>"),
    (
        "/toasts",
        "<button onclick='get(`say`).textContent = `Saving failed`'>Save</button><div role=alert id=say></div>",
    ),
    ("/alerts", "<button onclick='alert(`Error: could not be stored`)'>Store</button>"),
    ("/blank", "<!doctype html><title>Blank</title><script>document.title = 'Still blank';</script>"),
    (
        "/never-fills",
        "<table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody><tr><td colspan=2 class=loading>Loading…</td></tr></tbody></table>",
    ),
    ("/dead", "<button>Refresh</button><p>Between</p><button>Print all</button>"),
    (
        "/trap",
        "<button onclick='get(`t`).hidden = false'>Open it</button>
        <div role=dialog aria-modal=true aria-label=Trap id=t hidden style='position: fixed; inset: 0; background: white'><p>No way out</p>
          <button onclick='get(`c`).textContent += `.`'>Count</button><p id=c></p></div>",
    ),
    ("/image", "<img src=/missing.png alt='A plan' width=40 height=40>"),
    ("/script", "<script src=/missing.js></script>"),
    ("/hangs", "<button onclick='for (;;);'>Compute</button>"),
    (
        "/in/home",
        "<a href=/logout>Log out</a><a href=/in/billing>Billing</a>
        <button onclick='get(`say`).textContent = `Your key is PASSWORD`; console.error(`PASSWORD`)'>Show key</button><div role=status id=say></div>",
    ),
    (
        "/login",
        "<form method=post action=/login><label>User <input name=u></label><label>Password <input type=password name=p></label><button>Sign in</button></form>",
    ),
];

static RAN: LazyLock<Ran> = LazyLock::new(|| {
    let routes: Vec<&str> = PAGES
        .iter()
        .map(|(route, _)| *route)
        .filter(|route| !route.starts_with("/in/") && *route != "/login")
        .collect();
    Ran::explore(PAGES, &routes, &[], &[])
});

static SIGNED_IN: LazyLock<Ran> = LazyLock::new(|| {
    let who = [("AGENT_TEST_USERNAME", USERNAME), ("AGENT_TEST_PASSWORD", PASSWORD)];
    Ran::explore(PAGES, &["/in/home"], &[], &who)
});

/// The route's one bug, with all that a bug owes to its reader. `label` is the control that fails; without it, the page.
#[track_caller]
fn the_bug<'a>(ran: &'a Ran, route: &str, label: Option<&str>, kind: &str, severity: &str) -> &'a Value {
    let bugs = ran.bugs(route);
    assert_eq!(bugs.len(), 1, "{bugs:#?}");
    let bug = &bugs[0];
    assert_eq!((bug["kind"].as_str(), bug["severity"].as_str()), (Some(kind), Some(severity)), "{bug:#}");
    assert_eq!(bug["confirmed"], true, "{bug:#}");
    assert_eq!(bug["fire_rate"], serde_json::json!({ "fired": 2, "attempts": 2 }));
    let trace = bug["trace"].as_array().unwrap();
    assert_eq!(trace[0]["tool"], "goto");
    let last = trace.last().unwrap();
    assert_eq!(last["status"], "failed", "{last:#}");
    match label {
        Some(label) => {
            assert_eq!(last["locator"]["name"], label);
            assert_eq!(bug["location"], format!("{route} > {label}"));
        }
        None => assert_eq!((trace.len(), &bug["location"]), (1, &route.into())),
    }
    // A page that hangs cannot be photographed.
    if kind != "crash" {
        let shot = bug["screenshot"].as_str().unwrap_or_else(|| panic!("no screenshot: {bug:#}"));
        let slug = route.trim_start_matches('/').replace('/', "_");
        assert!(ran.shots[&slug].contains(shot), "{shot} is not among {:?}", ran.shots[&slug]);
    }
    assert_eq!(ran.report(route)["status"], "partial");
    bug
}

#[test]
fn an_uncaught_exception_is_a_bug() {
    let bug = the_bug(&RAN, "/throws", Some("Throw"), "exception", "major");
    assert!(bug["description"].as_str().unwrap().contains("planted"));
    assert_eq!(RAN.result("/throws", "Throw"), "error");
}

#[test]
fn an_unhandled_rejection_is_a_bug() {
    the_bug(&RAN, "/rejects", Some("Reject"), "exception", "major");
}

#[test]
fn a_link_to_nothing_is_a_bug() {
    let bug = the_bug(&RAN, "/link-404", Some("Nowhere"), "http_error", "major");
    assert!(bug["actual"].as_str().unwrap().contains("GET /nowhere answered 404"));
}

#[test]
fn a_link_to_a_page_that_fails_is_a_bug() {
    the_bug(&RAN, "/link-500", Some("Broken page"), "http_error", "critical");
}

#[test]
fn a_request_of_the_page_that_fails_on_the_server_is_a_bug() {
    the_bug(&RAN, "/fetch-500", Some("Load"), "http_error", "major");
}

#[test]
fn a_toast_that_tells_of_a_failure_is_a_bug() {
    let bug = the_bug(&RAN, "/toasts", Some("Save"), "error_message", "major");
    assert!(bug["actual"].as_str().unwrap().contains("Saving failed"));
}

#[test]
fn an_alert_that_tells_of_a_failure_is_a_bug() {
    the_bug(&RAN, "/alerts", Some("Store"), "error_message", "major");
}

#[test]
fn a_page_that_stays_blank_is_a_bug() {
    the_bug(&RAN, "/blank", None, "blank_page", "critical");
}

#[test]
fn a_table_that_never_fills_is_a_bug() {
    the_bug(&RAN, "/never-fills", None, "never_loads", "major");
}

#[test]
fn buttons_without_any_effect_are_one_small_bug() {
    let bug = the_bug(&RAN, "/dead", Some("Refresh"), "dead_control", "minor");
    assert_eq!(bug["also_at"], serde_json::json!(["/dead > Print all"]));
    assert_eq!(RAN.report("/dead")["operations_count"]["failed"], 2);
}

#[test]
fn a_dialog_that_cannot_be_closed_is_a_bug() {
    the_bug(&RAN, "/trap", Some("Open it"), "focus_trap", "major");
    assert_eq!(RAN.result("/trap", "Count"), "content_changed");
}

#[test]
fn a_broken_image_is_a_bug() {
    the_bug(&RAN, "/image", None, "broken_image", "minor");
}

#[test]
fn a_missing_script_is_a_bug() {
    the_bug(&RAN, "/script", None, "broken_resource", "major");
}

#[test]
fn a_page_that_hangs_is_a_bug_and_ends_nothing() {
    the_bug(&RAN, "/hangs", Some("Compute"), "crash", "critical");
    assert_eq!(RAN.reports.len(), 14);
}

#[test]
fn a_session_that_is_thrown_back_to_the_login_is_a_bug() {
    the_bug(&SIGNED_IN, "/in/home", Some("Billing"), "login_redirect", "major");
    assert!(SIGNED_IN.report("/in/home")["screenshots"].to_string().contains("00-login-success.png"));
    SIGNED_IN.assert_untouched("/logout");
}

#[test]
fn a_password_stands_in_no_file_even_when_the_page_shows_it() {
    assert_eq!(SIGNED_IN.result("/in/home", "Show key"), "toast_notification");
    for (name, bytes) in &SIGNED_IN.files {
        let found = bytes.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
        assert!(!found, "{name}: {}", String::from_utf8_lossy(bytes));
    }
    assert!(!SIGNED_IN.answer.stdout.contains(PASSWORD) && !SIGNED_IN.answer.stderr.contains(PASSWORD));
}

#[test]
fn found_bugs_are_the_exit_code() {
    assert_eq!((RAN.answer.code, &RAN.document["exitCode"]), (1, &1.into()));
}

/// Both explorations with a name for the message.
fn all() -> impl Iterator<Item = (&'static String, &'static Value, &'static Ran)> {
    let runs: [&'static Ran; 3] = [&RAN, &SIGNED_IN, crate::explore::ran()];
    runs.into_iter().flat_map(|ran| ran.reports.iter().map(move |(route, report)| (route, report, ran)))
}

#[track_caller]
fn assert_valid(schema: &str, document: &Value) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_report_is_valid() {
    for (_, report, _) in all() {
        assert_valid(include_str!("../schemas/route-report.schema.json"), report);
    }
}

#[test]
fn every_screenshot_that_is_named_exists_and_every_one_that_exists_is_named() {
    for (route, report, ran) in all() {
        let slug = report_slug(ran, route);
        let mut named: Vec<&str> = nodes(report).iter().filter_map(|node| node["screenshot"].as_str()).collect();
        named.extend(report["screenshots"].as_array().into_iter().flatten().filter_map(Value::as_str));
        let distinct: BTreeSet<String> = named.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(distinct.len(), named.len(), "{route}: a picture belongs to two");
        let bugs = report["bugs"].as_array().unwrap().iter().filter_map(|bug| bug["screenshot"].as_str());
        let distinct: BTreeSet<String> = distinct.into_iter().chain(bugs.map(str::to_owned)).collect();
        assert_eq!(distinct, ran.shots.get(&slug).cloned().unwrap_or_default(), "{route}");
    }
}

#[test]
fn operations_add_up_and_agree_with_the_tree() {
    for (route, report, _) in all() {
        let count = |key: &str| report["operations_count"][key].as_u64().unwrap();
        assert_eq!(count("total"), count("passed") + count("failed") + count("disabled"), "{route}");
        let all = nodes(report);
        // Refused is counted beside what passed or failed.
        let acted = |node: &&&Value| node["trace_ref"].is_string() && node["action_result"] != "refused";
        let acted = all.iter().filter(acted).count() as u64;
        let disabled = all.iter().filter(|node| node["action_result"] == "not_clickable").count() as u64;
        assert_eq!((count("passed") + count("failed"), count("disabled")), (acted, disabled), "{route}");
    }
}

#[test]
fn every_element_found_is_accounted_for() {
    for (route, report, _) in all() {
        let coverage = &report["coverage"];
        let count = |key: &str| coverage[key].as_u64().unwrap();
        let skipped: u64 = coverage["skipped"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(
            count("found"),
            count("acted_on") + count("disabled") + count("refused") + skipped,
            "{route}: {coverage:#}"
        );
    }
}

#[test]
fn the_run_file_has_the_way_to_every_node() {
    for (route, report, ran) in all() {
        assert_valid(include_str!("../schemas/run.schema.json"), &ran.run);
        let slug = report_slug(ran, route);
        let flow = ran.run["flows"].as_array().unwrap().iter().find(|flow| flow["id"] == *slug).expect("its flow");
        assert_eq!((&flow["title"], &flow["trace"][0]["tool"]), (&route.as_str().into(), &"goto".into()));
        let steps = flow["trace"].as_array().unwrap().len() as u64;
        let mut known = BTreeSet::new();
        for path in flow["paths"].as_array().into_iter().flatten() {
            let way: Vec<u64> = path["steps"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
            assert!(way[0] == 0 && way.is_sorted() && way.iter().all(|step| *step < steps), "{route}: {path}");
            assert_eq!(path["traceRef"], format!("{slug}#{}", way.last().unwrap()));
            known.insert(path["traceRef"].as_str().unwrap());
        }
        for node in nodes(report) {
            assert!(node["trace_ref"].as_str().is_none_or(|wanted| known.contains(wanted)), "{route}: {node:#}");
        }
    }
}

/// The slug of a route, from the path of its report.
fn report_slug(ran: &Ran, route: &str) -> String {
    let routes = ran.document["routes"].as_array().unwrap();
    let path = routes.iter().find(|entry| entry["route"] == route).unwrap()["report"].as_str().unwrap();
    path.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned()
}
