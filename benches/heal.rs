//! What the free tier's decision costs (parse the spec, read the page, find the target, pass the guard), beside one run of the
//! test command that it stands between. `make bench-heal`; the last line is `heal: decision D ms, test run R ms`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot go on says so by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_test::browser::driver::find_browser;
use agent_test::heal::command::{TestCommand, TestRunner};
use agent_test::heal::diagnose::{Diagnosis, diagnose};
use agent_test::heal::free::{FreeTerms, propose};
use agent_test::heal::guard::{GuardTerms, Strictness, compare};
use agent_test::heal::page::Page;
use agent_test::heal::spec::Spec;

/// Decisions for each size.
const ROUNDS: usize = 50;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(run());
}

/// A spec with so many other tests, and its page with so many other controls.
fn spec(others: usize) -> String {
    let mut page =
        String::from("<h1>Orders</h1><button onclick=\"out.textContent='done'\">Start</button><p id=out></p>");
    for index in 0..others * 4 {
        let _ = write!(page, "<button>Open order {index}</button>");
    }
    let mut text = format!(
        "import {{ test, expect }} from '@playwright/test';\ntest('starts', async ({{ page }}) => {{\n  await page.setContent(`{page}`);\n  await page.getByRole('button', {{ name: 'Begin' }}).click();\n  await expect(page.locator('#out')).toHaveText('done');\n}});\n"
    );
    for index in 0..others {
        let _ = write!(
            text,
            "test.describe('group {index}', () => {{\n  test('other {index}', async ({{ page }}) => {{\n    expect(await page.title()).toBe('');\n  }});\n}});\n"
        );
    }
    text
}

async fn run() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/node_modules");
    let chrome = find_browser(None).expect("a browser");
    let mut last = (0.0, 0.0);
    println!("{:>12}  {:>12}  {:>12}", "tests", "decision", "test run");
    for others in [0, 20, 100] {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&packages, root.join("node_modules")).unwrap();
        std::fs::write(
            root.join("playwright.config.ts"),
            format!(
                "export default {{ use: {{ actionTimeout: 1000, launchOptions: {{ executablePath: '{}' }} }} }};",
                chrome.display()
            ),
        )
        .unwrap();
        let (file, text) = (root.join("a.spec.ts"), spec(others));
        std::fs::write(&file, &text).unwrap();
        // The failing test alone: a run of all of them would flatter the decision.
        let words =
            ["npx", "--no-install", "playwright", "test", "a.spec.ts", "-g", "starts"].map(str::to_owned).to_vec();
        let command = TestCommand::new(words, root.clone(), Duration::from_mins(5)).unwrap();
        let mut runs = Vec::new();
        let mut report = None;
        for _ in 0..3 {
            let done = command.run(&file).await.unwrap();
            runs.push(done.duration_ms as f64);
            report = done.report;
        }
        let report = report.unwrap();
        let Diagnosis::Failing(failures) = diagnose(&report) else { panic!("it is not red") };
        let snapshot = std::fs::read_to_string(failures[0].context.as_ref().unwrap()).unwrap();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let parsed = Spec::parse(&text, &file).unwrap();
            let proposal =
                propose(&parsed, &file, &failures[0], &Page::of_context(&snapshot), FreeTerms::default()).unwrap();
            let new = proposal.edit.apply(&text).unwrap();
            let terms = GuardTerms { strictness: Strictness::LocatorsOnly, allow_expectation: false };
            assert!(compare(&text, &new, &file, terms).unwrap().passed);
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        last = (median(times), median(runs));
        println!("{:>12}  {:>9.1} ms  {:>9.0} ms", others + 1, last.0, last.1);
    }
    println!("heal: decision {:.1} ms, test run {:.0} ms", last.0, last.1);
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
