//! Replays that shortening a trace takes, in a real browser, beside those that plain ddmin would take on the same trace:
//! traces of 8 to 60 steps whose needed steps are known.
//!
//! `make bench-minimise`; the last line says whether every trace came down to what is needed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "a benchmark that cannot go on says so by panicking"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_test::event::Events;
use agent_test::replay::EnterOptions;
use agent_test::settings::Settings;
use agent_test::store::Clock;
use agent_test::verify::{MinimiseOptions, minimise, run_from_text};
use url::Url;

#[path = "../tests/minimise_lab.rs"]
mod lab;

/// Steps between opening and failing step, and which of them are needed.
const TRACES: &[(usize, &[usize])] = &[
    (8, &[6]),
    (8, &[2, 7]),
    (12, &[9, 11]),
    (15, &[8, 12, 14]),
    (20, &[3]),
    (20, &[4, 11, 12]),
    (30, &[21, 25, 29]),
    (30, &[2, 15, 28]),
    (45, &[30, 38, 41, 44]),
    (60, &[35, 41, 48, 50, 55, 59]),
    (60, &[5, 14, 26, 37, 45, 58]),
];

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!(
        "{:>5}  {:>6}  {:>4}  {:>7}  {:>12}  {:>7}  {:>13}  {:>12}",
        "steps", "needed", "left", "replays", "steps played", "seconds", "ddmin replays", "steps played"
    );
    let mut exact = 0;
    for (steps, need) in TRACES {
        let lab = lab::Lab::start(need, 1);
        let run = lab.run(&[("a", (1..=*steps).collect())]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let began = Instant::now();
        let done = runtime.block_on(async {
            let run = run_from_text(&run.to_string(), "lab").unwrap();
            let base = Url::parse(&lab.url).unwrap();
            let options = EnterOptions { base, settings: Settings::default(), webdriver: None, credentials: None };
            let (stage, _) = options.prepare(Path::new(".")).unwrap().enter().await.unwrap();
            let root = tempfile::tempdir().unwrap();
            let how = MinimiseOptions { deadline: Duration::from_mins(30), reset_command: None };
            let done =
                minimise(&stage, &run, &run.bugs[0], &how, root.path(), &Events::ignore(), &Clock::from_env()).await;
            stage.launcher.stop().await;
            done.unwrap()
        });
        let left = done.steps_after - 2;
        exact += usize::from(left == need.len() && done.complete);
        let (replays, played) = ddmin(*steps, need);
        println!(
            "{steps:>5}  {:>6}  {left:>4}  {:>7}  {:>12}  {:>7.0}  {replays:>13}  {played:>12}",
            need.len(),
            done.replays,
            done.steps_played,
            began.elapsed().as_secs_f64()
        );
    }
    println!(
        "ours with three replays before and two as a proof; opening and failing step aside; ddmin without any of them"
    );
    println!("minimise: {exact} of {} traces came down to the needed steps", TRACES.len());
}

/// Replays and steps (opening and failing step counted) that ddmin takes (Zeller and Hildebrandt), none of them twice.
fn ddmin(steps: usize, need: &[usize]) -> (usize, usize) {
    let mut known: BTreeMap<Vec<usize>, bool> = BTreeMap::new();
    let mut fires =
        |kept: &[usize]| *known.entry(kept.to_vec()).or_insert_with(|| need.iter().all(|n| kept.contains(n)));
    let mut all: Vec<usize> = (1..=steps).collect();
    let mut parts = 2;
    while all.len() >= 2 {
        let size = all.len().div_ceil(parts);
        let chunks: Vec<Vec<usize>> = all.chunks(size).map(<[usize]>::to_vec).collect();
        let rest =
            |chunk: &[usize]| -> Vec<usize> { all.iter().copied().filter(|step| !chunk.contains(step)).collect() };
        if let Some(chunk) = chunks.iter().find(|chunk| fires(chunk)) {
            (all, parts) = (chunk.clone(), 2);
        } else if let Some(rest) = chunks.iter().map(|chunk| rest(chunk)).find(|rest| fires(rest)) {
            (all, parts) = (rest, (parts - 1).max(2));
        } else if parts < all.len() {
            parts = (parts * 2).min(all.len());
        } else {
            break;
        }
    }
    if all.len() == 1 {
        fires(&[]);
    }
    (known.len(), known.keys().map(|kept| kept.len() + 2).sum())
}
