//! A store of the caller's in place of the project's files: a library's user runs flows on it, in a browser.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_test::event::Events;
use agent_test::flow::cache::{clear, rows};
use agent_test::flow::recording::{CacheMode, CacheStore, Place, Reason, Shelf, ShelfError, Stored, Write};
use agent_test::flow::{
    Agent, AgentError, FlowOptions, Judgement, Mode, Move, Outcome, Reading, Runner, StepCache, Told, Tool, Turn, parse,
};
use agent_test::replay::EnterOptions;
use agent_test::settings::Settings;
use agent_test::store::Clock;
use chrono::Utc;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use crate::flow_kit::Lab;

/// A store in memory, with faults.
#[derive(Debug, Default)]
struct Memory {
    all: Mutex<BTreeMap<(Place, String), Vec<u8>>>,
    fault: Mutex<Option<Fault>>,
    reads: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Reads,
    Panics,
    Writes,
    Deletes,
}

impl Memory {
    fn fails(&self, with: Fault) -> bool {
        *self.fault.lock().unwrap() == Some(with)
    }

    fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// The bytes of the one recording.
    fn recording(&self) -> Vec<u8> {
        let all = self.all.lock().unwrap();
        all.iter().find(|((place, _), _)| *place == Place::Recordings).unwrap().1.clone()
    }

    fn replace(&self, bytes: &[u8]) {
        for ((place, _), content) in self.all.lock().unwrap().iter_mut() {
            if *place == Place::Recordings {
                bytes.clone_into(content);
            }
        }
    }

    fn count(&self, place: Place) -> usize {
        self.all.lock().unwrap().keys().filter(|(at, _)| *at == place).count()
    }
}

impl Shelf for Memory {
    fn read(&self, place: Place, key: &str) -> Result<Option<Stored>, ShelfError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        assert!(!self.fails(Fault::Panics), "the network is gone");
        if self.fails(Fault::Reads) {
            return Err(ShelfError::Other("the network is down".to_owned()));
        }
        Ok(self.all.lock().unwrap().get(&(place, key.to_owned())).cloned().map(Stored::new))
    }

    fn swap(&self, place: Place, key: &str, was: Option<&str>, content: Option<&[u8]>) -> Result<bool, ShelfError> {
        if self.fails(Fault::Writes) {
            return Err(ShelfError::Other("the bucket is read-only".to_owned()));
        }
        if self.read(place, key)?.as_ref().map(Stored::version) != was {
            return Ok(false);
        }
        let at = (place, key.to_owned());
        match content {
            Some(content) => drop(self.all.lock().unwrap().insert(at, content.to_owned())),
            None if self.fails(Fault::Deletes) => return Err(ShelfError::CannotDelete(self.place_of(place, key))),
            None => drop(self.all.lock().unwrap().remove(&at)),
        }
        Ok(true)
    }

    fn keys(&self, place: Place) -> Result<Vec<String>, ShelfError> {
        let all = self.all.lock().unwrap();
        Ok(all.keys().filter(|(at, _)| *at == place).map(|(_, key)| key.clone()).collect())
    }

    fn place_of(&self, _: Place, key: &str) -> String {
        format!("memory:{}", &key[..8])
    }
}

/// Presses `Apply`, and counts how often it was asked.
#[derive(Default)]
struct Applies(AtomicUsize);

impl Agent for Applies {
    fn label(&self) -> String {
        "test".to_owned()
    }

    fn act<'a>(&'a self, turn: Turn<'a>) -> BoxFuture<'a, Result<Told<Move>, AgentError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let at = turn.scene.nodes.iter().position(|node| node.control && node.name == "Apply");
        let number = at.filter(|_| turn.history.is_empty()).map(|at| at + 1);
        let tool = if number.is_some() { Tool::Tap } else { Tool::Done };
        let value = Move { tool, number, to: None, text: None, reason: String::new() };
        async move { Ok(Told { value, calls: 1, tokens: 0, usd: None }) }.boxed()
    }

    fn judge<'a>(&'a self, _: Turn<'a>) -> BoxFuture<'a, Result<Told<Judgement>, AgentError>> {
        async { Err(AgentError::NoAnswer(String::new())) }.boxed()
    }

    fn read<'a>(&'a self, _: Turn<'a>) -> BoxFuture<'a, Result<Told<Reading>, AgentError>> {
        async { Err(AgentError::NoAnswer(String::new())) }.boxed()
    }
}

fn page(path: &str, _: &str) -> Option<String> {
    let body = "<h1>Shop</h1><button onclick=\"did('apply'); say('10% off')\">Apply</button><p role=status id=out></p>";
    (path == "/shop").then(|| body.to_owned())
}

const FLOW: &str = "steps:\n  - open: /shop\n  - act: apply it\n  - expect: { role: status, text: 10% off }\n";

/// What a run of the flow came to: its outcome, how the recording served, how often the agent was asked.
struct Came {
    outcome: Outcome,
    cache: StepCache,
    line: String,
    asked: usize,
}

/// The application and a store in memory.
struct Rig {
    lab: Lab,
    memory: Arc<Memory>,
    project: tempfile::TempDir,
}

impl Rig {
    fn start() -> Self {
        Self { lab: Lab::start(page), memory: Arc::default(), project: tempfile::tempdir().unwrap() }
    }

    fn store(&self) -> CacheStore {
        CacheStore::on(self.memory.clone())
    }

    fn run(&self, strict: bool, flow: &str) -> Came {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(run(&self.lab.url, self.project.path(), self.store(), (strict, 0), flow))
    }
}

async fn run(url: &str, project: &Path, store: CacheStore, (strict, retries): (bool, u32), flow: &str) -> Came {
    let base = Url::parse(url).unwrap();
    let enter = EnterOptions { base, settings: Settings::default(), webdriver: None, credentials: None };
    let (stage, _) = enter.prepare(project).unwrap().enter().await.unwrap();
    let options = FlowOptions {
        repeat_each: 1,
        retries,
        workers: 1,
        mode: Mode::ReadWrite,
        strict,
        fast_miss: true,
        relocate: false,
        target: None,
        heal_budget: None,
        params: BTreeMap::new(),
    };
    let (events, clock, agent) = (Events::ignore(), Clock::from_env(), Arc::new(Applies::default()));
    let runner = Runner::new(&stage, Some(agent.clone()), store, options, &events, &clock);
    let flow = parse("flows/f.yaml", flow).unwrap();
    let report = runner.run(&[flow], || None).await.unwrap();
    stage.launcher.stop().await;
    let attempt = report.flows[0].attempts.last().unwrap();
    let cache = attempt.steps[1].cache.clone().unwrap();
    Came { outcome: attempt.outcome, line: cache.line(), cache, asked: agent.0.load(Ordering::Relaxed) }
}

#[test]
fn a_flow_is_recorded_in_a_store_of_the_callers_and_replayed_from_it() {
    let rig = Rig::start();
    let first = rig.run(false, FLOW);
    assert_eq!((first.outcome, first.cache.write, first.asked), (Outcome::Passed, Some(Write::Saved), 2));
    let second = rig.run(true, FLOW);
    assert_eq!((second.cache.mode, second.cache.write, second.asked), (CacheMode::SelfFinalized, Some(Write::Kept), 0));
    assert!(second.line.ends_with(&format!("(`memory:{}`)", &second.cache.entry[..8])), "{}", second.line);
    assert!(!rig.project.path().join(".agent-test").exists(), "nothing of it lies in the project");
    // What people ask of recordings is asked of any store.
    assert_eq!(rows(&rig.store()).unwrap()[0].instruction, "apply it");
    let before = rig.memory.recording();
    assert_eq!(clear(&rig.store(), Utc::now()).unwrap(), (1, vec![]));
    assert!(rig.store().undo(&second.cache.entry).unwrap().is_some());
    assert_eq!(rig.memory.recording(), before);
}

#[test]
fn k7_s108_a_store_whose_read_fails_or_panics_is_a_miss_and_the_flow_passes_also_under_strict() {
    let rig = Rig::start();
    rig.run(false, FLOW);
    for (fault, strict, why) in [(Fault::Reads, false, "the network is down"), (Fault::Panics, true, "did not answer")]
    {
        rig.memory.set(Some(fault));
        let came = rig.run(strict, FLOW);
        let cache = &came.cache;
        assert_eq!(
            (came.outcome, cache.mode, cache.reason, cache.write),
            (Outcome::Passed, CacheMode::Missed, Some(Reason::InvalidEntry), Some(Write::NotWritten))
        );
        assert!(cache.detail.as_ref().unwrap().contains(why), "{cache:?}");
    }
    rig.memory.set(None);
    assert_eq!(rig.run(true, FLOW).cache.mode, CacheMode::SelfFinalized);
}

#[test]
fn k9_a_retry_does_not_even_read_the_store() {
    let rig = Rig::start();
    let flow = FLOW.replace("10% off", "20% off");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let came = runtime.block_on(run(&rig.lab.url, rig.project.path(), rig.store(), (false, 1), &flow));
    assert_eq!((came.outcome, came.cache.reason), (Outcome::Failed, Some(Reason::Retry)));
    // The first attempt asked once, and nothing was there.
    assert_eq!(rig.memory.reads.load(Ordering::Relaxed), 1);
}

#[test]
fn a_store_that_takes_nothing_is_told_and_the_flow_passes() {
    let rig = Rig::start();
    rig.memory.set(Some(Fault::Writes));
    let came = rig.run(false, FLOW);
    assert_eq!((came.outcome, came.cache.write), (Outcome::Passed, Some(Write::NotWritten)));
    assert!(came.line.contains("the bucket is read-only"), "{}", came.line);
    assert_eq!(rig.memory.count(Place::Recordings), 0);
}

#[test]
fn where_nothing_can_be_deleted_a_recording_that_failed_stays_and_that_is_told() {
    let rig = Rig::start();
    rig.run(false, FLOW);
    rig.memory.set(Some(Fault::Deletes));
    let came = rig.run(false, &format!("{FLOW}  - expect: {{ text: Elsewhere }}\n").replace("10% off }", "20% off }"));
    assert_eq!((came.outcome, came.cache.write), (Outcome::Failed, Some(Write::NotWritten)));
    assert!(came.line.contains("cannot delete"), "{}", came.line);
    assert_eq!(rig.memory.count(Place::Recordings), 1);
}

#[test]
fn k8_whatever_a_store_holds_goes_through_the_same_reader_and_is_recorded_anew() {
    let rig = Rig::start();
    rig.run(false, FLOW);
    let good = rig.memory.recording();
    let flies = String::from_utf8(good.clone()).unwrap().replace("\"tap\"", "\"fly\"");
    let large = [good.as_slice(), &vec![b' '; 2 << 20]].concat();
    for (bytes, why) in
        [(b"\xff\xfe".as_slice(), "expected"), (flies.as_bytes(), "fly"), (large.as_slice(), "larger than")]
    {
        rig.memory.replace(bytes);
        let came = rig.run(false, FLOW);
        assert_eq!(
            (came.outcome, came.cache.reason, came.cache.write),
            (Outcome::Passed, Some(Reason::InvalidEntry), Some(Write::Saved))
        );
        assert!(came.cache.detail.as_ref().unwrap().contains(why), "{:?}", came.cache);
    }
}
