//! What one change of the state costs, beside what any program must pay and what others pay.
//!
//! At 100, 10,000 and 100,000 routes, half of them completed with full entries, on a real disk: one claim and one
//! complete inside the library and as a whole process; the floor (the same bytes to a temporary file, fsync, rename, fsync
//! of the directory); serde_json reading and writing the same file; jq making the same edit with a rename. All of them
//! take turns, round by round, and the medians are told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_test::route::{Route, Slug};
use agent_test::state::{ClaimPhase, ClaimRequest, DEFAULT_LEASE, Project, STATE_FILE, digest_line};
use agent_test::store::Clock;
use serde_json::{Value, json};

const SIZES: [usize; 3] = [100, 10_000, 100_000];
const TESTED_AT: &str = "2026-03-26T10:30:00Z";

const FLOOR: &str = "floor: write, fsync, rename, fsync";
const CLAIM: &str = "library: claim";
const COMPLETE: &str = "library: complete";
const CLAIM_PROCESS: &str = "process: claim";
const COMPLETE_PROCESS: &str = "process: complete";
const STATUS: &str = "process: status";
const PLAN: &str = "process: resume --plan";
const SERDE: &str = "serde_json: read, write (no fsync)";
const JQ_CLAIM: &str = "jq: claim, rename (no fsync)";
const JQ_COMPLETE: &str = "jq: complete, rename (no fsync)";
const ROWS: [&str; 10] =
    [FLOOR, CLAIM, COMPLETE, CLAIM_PROCESS, COMPLETE_PROCESS, STATUS, PLAN, SERDE, JQ_CLAIM, JQ_COMPLETE];

/// The medians at one number of routes.
struct Column {
    routes: usize,
    bytes: u64,
    medians: Vec<Option<Duration>>,
}

impl Column {
    fn ms(&self, row: &str) -> Option<f64> {
        let place = ROWS.iter().position(|name| *name == row)?;
        Some(self.medians.get(place).copied().flatten()?.as_secs_f64() * 1000.0)
    }

    fn ratio(&self, row: &str, to: &str) -> Option<f64> {
        Some(self.ms(row)? / self.ms(to)?)
    }
}

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let wanted: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = SIZES.into_iter().filter(|size| wanted.is_empty() || wanted.contains(size));
    let columns: Vec<Column> = sizes.map(measure).collect();
    print(&columns);
}

fn route(number: usize) -> String {
    format!("/area-{}/item-{number}", number % 97)
}

fn slug(route: &str) -> String {
    Slug::of(&Route::parse(route).unwrap()).to_string()
}

fn entry(route: &str) -> Value {
    let slug = slug(route);
    json!({
        "route": route,
        "tested_at": TESTED_AT,
        "status": "partial",
        "bugs_count": 2,
        "operations_count": { "total": 41, "passed": 36, "failed": 2, "disabled": 3 },
        "screenshots_dir": format!("monkey-test-screenshots/{slug}/"),
        "report_file": format!("monkey-test-reports/{slug}.json"),
        "summary": "41 operations, 2 failed, 2 bugs: saving answers 500, the filter forgets its value",
        "review_status": "review_complete",
        "bug_report_file": format!("monkey-test-reports/{slug}-bugs.md"),
        "report_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    })
}

fn report(route: &str) -> Value {
    json!({
        "route": route, "tested_at": TESTED_AT, "status": "pass", "page_info": { "title": "T" },
        "action_tree": { "main": [{ "label": "Save", "type": "button", "state": "enabled", "action_result": "in_page_change", "children": [] }] },
        "bugs": [], "console_errors": [], "summary": "one button works",
    })
}

/// A campaign of this size: half completed, its reports there.
fn campaign(root: &Path, routes: usize) {
    let reports = root.join("monkey-test-reports");
    fs::create_dir_all(&reports).unwrap();
    fs::create_dir_all(root.join("monkey-test-screenshots")).unwrap();
    fs::create_dir_all(root.join(".agent-test")).unwrap();
    let half = routes / 2;
    let state = json!({
        "meta": {
            "project": "bench", "base_url": "http://127.0.0.1:9", "created_at": "2026-03-26T08:00:00Z",
            "last_updated": TESTED_AT, "total_routes": routes, "tested": half, "pending": routes - half, "failed": 0,
            "review_pending": 0, "review_complete": half,
        },
        "completed": (0..half).map(|number| entry(&route(number))).collect::<Vec<_>>(),
        "failed": [],
        "pending": (half..routes).map(route).collect::<Vec<_>>(),
    });
    fs::write(root.join(STATE_FILE), serde_json::to_string_pretty(&state).unwrap() + "\n").unwrap();
    let mut linked: Option<PathBuf> = None;
    for number in 0..half {
        let slug = slug(&route(number));
        // `status` lists them and opens none: links of one file do, as many as a file may have.
        for name in [format!("{slug}.json"), format!("{slug}-bugs.md")] {
            let path = reports.join(name);
            if linked.as_ref().is_none_or(|first| fs::hard_link(first, &path).is_err()) {
                fs::write(&path, "{}\n").unwrap();
                linked = Some(path);
            }
        }
    }
    fs::write(reports.join("FINAL-REPORT.md"), digest_line("0")).unwrap();
}

fn sync_dir(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}

fn floor(root: &Path, bytes: &[u8]) {
    let (temporary, target) = (root.join("floor.tmp"), root.join("floor.json"));
    let mut file = File::create(&temporary).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::rename(&temporary, &target).unwrap();
    sync_dir(root);
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn program(root: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent-test"));
    let command =
        command.args(arguments).env("AGENT_TEST_PROJECT_DIR", root).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success(), "{arguments:?}");
}

fn jq(root: &Path, filter: &str, arguments: &[(&str, &str)]) {
    let mut shell = Command::new("sh");
    shell.current_dir(root).args(["-c", "jq \"$@\" jq.json > jq.tmp && mv jq.tmp jq.json", "sh"]);
    for (name, value) in arguments {
        shell.args(["--argjson", name, value]);
    }
    assert!(shell.arg(filter).status().unwrap().success(), "{filter}");
}

fn measure(routes: usize) -> Column {
    let dir = tempfile::Builder::new().prefix("bench-state-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path();
    warn_of_memory(root);
    campaign(root, routes);
    let project = Project::open(root, Clock::default());
    let bytes = fs::read(root.join(STATE_FILE)).unwrap();
    fs::write(root.join("jq.json"), &bytes).unwrap();
    fs::write(root.join("serde.json"), &bytes).unwrap();
    let has_jq = Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_jq {
        println!("jq is not installed: its rows are left out (`sh scripts/setup.sh bench` installs it)");
    }
    // Each round takes four of the pending routes.
    let rounds = if routes > 10_000 { 9 } else { 25.min(routes / 10) };
    // From the end: the claims take the first.
    let mut last = routes;
    let mut next_report = || {
        last -= 1;
        let name = route(last);
        let path = root.join(format!("monkey-test-reports/{}.json", slug(&name)));
        fs::write(&path, report(&name).to_string()).unwrap();
        (name, path)
    };
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ROWS.len()];
    for round in 0..rounds {
        let mut add = |row: &str, time: Duration| {
            let place = ROWS.iter().position(|name| *name == row).unwrap();
            times[place].push(time);
        };
        add(FLOOR, timed(|| floor(root, &bytes)));
        let request = ClaimRequest {
            routes: Vec::new(),
            batch: 1,
            phase: ClaimPhase::Test,
            worker: "bench".into(),
            lease: DEFAULT_LEASE,
        };
        add(CLAIM, timed(|| assert_eq!(project.claim(&request).unwrap().len(), 1)));
        let (name, path) = next_report();
        let parsed = Route::parse(&name).unwrap();
        add(COMPLETE, timed(|| assert!(project.complete(&parsed, &path, None).unwrap())));
        add(CLAIM_PROCESS, timed(|| program(root, &["claim", "--batch", "1", "--json"])));
        let (name, path) = next_report();
        add(
            COMPLETE_PROCESS,
            timed(|| program(root, &["complete", &name, "--report", path.to_str().unwrap(), "--json"])),
        );
        add(STATUS, timed(|| program(root, &["status", "--json"])));
        add(PLAN, timed(|| program(root, &["resume", "--plan", "--json"])));
        add(
            SERDE,
            timed(|| {
                let value: Value = serde_json::from_slice(&fs::read(root.join("serde.json")).unwrap()).unwrap();
                fs::write(root.join("serde.json"), serde_json::to_string_pretty(&value).unwrap()).unwrap();
            }),
        );
        // It is slow, and steady.
        if has_jq && round < if routes > 10_000 { 3 } else { 11 } {
            let lease = json!({ "token": "t", "worker": "w", "expires_at": TESTED_AT }).to_string();
            let name = json!(route(routes / 2 + round)).to_string();
            let at = json!(TESTED_AT).to_string();
            let filter = ".claims[$route] = $lease | .meta.last_updated = $at";
            add(JQ_CLAIM, timed(|| jq(root, filter, &[("route", &name), ("lease", &lease), ("at", &at)])));
            let name = route(routes - 1 - round);
            let entry = entry(&name).to_string();
            let name = json!(name).to_string();
            let filter = "del(.pending[.pending | index($route)]) | .completed += [$entry] | .meta.tested += 1 \
                          | .meta.pending -= 1 | .meta.review_pending += 1 | .meta.last_updated = $at";
            add(JQ_COMPLETE, timed(|| jq(root, filter, &[("route", &name), ("entry", &entry), ("at", &at)])));
        }
    }
    let medians = times.into_iter().map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    });
    Column { routes, bytes: bytes.len() as u64, medians: medians.collect() }
}

#[cfg(target_os = "linux")]
fn warn_of_memory(root: &Path) {
    const TMPFS: u64 = 0x0102_1994;
    if rustix::fs::statfs(root).is_ok_and(|about| about.f_type as u64 == TMPFS) {
        println!("{} lies in memory, not on a disk: set CARGO_TARGET_DIR to one that does", root.display());
    }
}

#[cfg(not(target_os = "linux"))]
fn warn_of_memory(_: &Path) {}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value < 10.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.0}"),
    }
}

fn print(columns: &[Column]) {
    let mut out = String::from("\nMedians in milliseconds; in brackets, times the floor.\n\n|  |");
    for column in columns {
        let _ = write!(out, " {} routes, {:.1} MB |", column.routes, column.bytes as f64 / 1e6);
    }
    let _ = write!(out, "\n| --- |{}", " ---: |".repeat(columns.len()));
    for row in ROWS {
        let _ = write!(out, "\n| {row} |");
        for column in columns {
            let ratio = column.ratio(row, FLOOR).map_or(String::new(), |ratio| format!(" ({ratio:.2})"));
            let _ = write!(out, " {}{ratio} |", number(column.ms(row)));
        }
    }
    println!("{out}\n");
    for column in columns {
        let faster = |ours: &str, theirs: &str| column.ratio(theirs, ours);
        if let (Some(claim), Some(complete)) = (faster(CLAIM_PROCESS, JQ_CLAIM), faster(COMPLETE_PROCESS, JQ_COMPLETE))
        {
            println!("state: {:.1} x faster than jq as whole process at {} routes", claim.min(complete), column.routes);
        }
        let process = column.ratio(CLAIM_PROCESS, FLOOR).zip(column.ratio(COMPLETE_PROCESS, FLOOR));
        if let Some((claim, complete)) = process {
            println!("state: whole-process ratio {:.2} at {} routes", claim.max(complete), column.routes);
        }
    }
    // The size that the goal is about comes last.
    let mut order: Vec<&Column> = columns.iter().collect();
    order.sort_by_key(|column| column.routes == 10_000);
    for column in order {
        let ratios = column.ratio(CLAIM, FLOOR).zip(column.ratio(COMPLETE, FLOOR));
        if let Some((claim, complete)) = ratios {
            println!(
                "state: in-process ratio {:.2} at {} routes (goal 2 at 10,000)",
                claim.max(complete),
                column.routes
            );
        }
    }
}
