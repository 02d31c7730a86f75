//! A corpus of small specs that fail, each for a known cause, with real Playwright and Chromium: what is repaired, and what must
//! not be. The loop of every spec is the real one; only its runs of Playwright are made together, one command for all specs that
//! wait, in one browser. `cargo test` plays a sample; `make bench-heal` the whole, and prints the table of the README.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_test::browser::driver::find_browser;
use agent_test::heal::HealError;
use agent_test::heal::advisor::{Advisor, Edits, Judgement, ModelAdvisor, Pick, Sight, Trouble};
use agent_test::heal::command::{TestCommand, TestRun, TestRunner};
use agent_test::heal::result::{HealResult, Verdict};
use agent_test::heal::run::{Hands, HealOptions, heal};
use agent_test::heal::tiers;
use agent_test::heal::vrt::ReviewTerms;
use agent_test::llm::{Budget, LlmError, PriceList};
use agent_test::store::Ids;
use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Sandbox;

mod cases;

use cases::{Case, Kind, Should, cases};

/// Runs Playwright once for all specs that wait for a run.
struct Together {
    ask: mpsc::UnboundedSender<Message>,
}

enum Message {
    Run(PathBuf, oneshot::Sender<Result<TestRun, HealError>>),
    Done,
}

impl TestRunner for Together {
    fn run<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<TestRun, HealError>> {
        Box::pin(async move {
            let (send, receive) = oneshot::channel();
            let gone = || HealError::Command("the runs have ended".to_owned());
            self.ask.send(Message::Run(file.to_path_buf(), send)).map_err(|_| gone())?;
            receive.await.map_err(|_| gone())?
        })
    }
}

/// What Playwright said of each file when it failed first, with the locators that it suggests (`aka …`).
type Suggested = Arc<Mutex<HashMap<PathBuf, String>>>;

/// One browser for all workers of all runs: a worker ends with its first red test, and a browser of its own would with it.
struct SharedBrowser {
    server: Child,
    address: String,
}

const SERVER: &str = "const { chromium } = require('playwright-core');
chromium.launchServer({ executablePath: process.argv[1], host: '127.0.0.1' }).then((server) => {
  console.log(server.wsEndpoint());
  process.stdin.on('end', () => server.close()).resume();
});";

impl SharedBrowser {
    fn start(root: &Path, chrome: &Path) -> Self {
        let mut command = std::process::Command::new("node");
        command.arg("-e").arg(SERVER).arg(chrome).current_dir(root);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
        let mut address = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("ws://"), "the browser does not start: {address}");
        Self { server, address: address.trim().to_owned() }
    }
}

impl Drop for SharedBrowser {
    fn drop(&mut self) {
        // It ends with its input, so also when this process is killed.
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

/// How long a locator is waited for follows from how fast this machine is now: most of the time of a red test is this.
const CONFIG: &str = "import { defineConfig } from '@playwright/test';
import { existsSync, readFileSync } from 'node:fs';
const pace = existsSync(`${__dirname}/pace`) ? Number(readFileSync(`${__dirname}/pace`, 'utf8')) : 15000;
export default defineConfig({ testDir: 'tests', fullyParallel: true, timeout: 90000, expect: { timeout: pace }, reporter: 'line',
  use: { actionTimeout: pace, viewport: { width: 400, height: 300 }, connectOptions: { wsEndpoint: '@ADDRESS@' } } });
";
const PACE: &str = "import { test, expect } from '@playwright/test';
import { mkdirSync, writeFileSync } from 'node:fs';
for (const name of ['a', 'b', 'c']) {
  test(name, async ({ page }) => {
    await page.setContent('<iframe srcdoc=\"<button onclick=this.textContent=1>Start</button>\"></iframe>');
    const button = page.frameLocator('iframe').getByRole('button');
    // The first is slower than any that a test makes, because everything starts at once.
    await button.click();
    const began = Date.now();
    await button.click();
    await expect(button).toHaveText('1');
    mkdirSync('paces', { recursive: true });
    writeFileSync(`paces/${name}`, String(Date.now() - began));
  });
}
";

/// A command of Playwright; without `npx`, which takes longer to start than a test to run.
fn playwright(options: &[&str]) -> Vec<String> {
    let command = ["node", "node_modules/@playwright/test/cli.js", "test"];
    command.iter().chain(options).map(|word| (*word).to_owned()).collect()
}

async fn coordinate(
    directory: PathBuf,
    mut active: usize,
    mut inbox: mpsc::UnboundedReceiver<Message>,
    rounds: Arc<Mutex<Vec<(usize, f64)>>>,
    suggested: Suggested,
) {
    let mut waiting = Vec::new();
    while active > 0 {
        match inbox.recv().await {
            Some(Message::Run(file, reply)) => waiting.push((file, reply)),
            Some(Message::Done) => active -= 1,
            None => return,
        }
        if waiting.is_empty() || waiting.len() < active {
            continue;
        }
        let began = Instant::now();
        let mut words = playwright(&["--workers=4"]);
        // A name is a pattern to Playwright.
        words.extend(
            waiting
                .iter()
                .map(|(file, _)| format!("{}$", file.file_name().unwrap().to_string_lossy().replace('.', "\\."))),
        );
        let command = TestCommand::new(words, directory.clone(), Duration::from_mins(15)).unwrap();
        let run = command.run(&directory).await;
        let seconds = began.elapsed().as_secs_f64();
        println!("run {}: {} specs, {seconds:.0} s", rounds.lock().unwrap().len() + 1, waiting.len());
        rounds.lock().unwrap().push((waiting.len(), seconds));
        for test in run.iter().flat_map(|run| &run.report).flat_map(|report| &report.tests) {
            let messages = test.tries.iter().flat_map(|one| &one.errors).map(|error| error.message.clone());
            suggested
                .lock()
                .unwrap()
                .entry(test.file.clone())
                .or_insert_with(|| messages.collect::<Vec<_>>().join("\n"));
        }
        for (_, reply) in waiting.drain(..) {
            let run = run.as_ref().map(Clone::clone).map_err(|error| HealError::Command(error.to_string()));
            let _ = reply.send(run);
        }
    }
}

/// Answers from a script that knows what is right, or (as an adversary) always with the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    None,
    Script,
    Adversary,
}

impl Model {
    fn word(self) -> &'static str {
        match self {
            Self::None => "free",
            Self::Script => "script",
            Self::Adversary => "adversary",
        }
    }
}

/// An adversary: picks the likest first and then the last, accepts everything, edits as it likes.
#[derive(Default)]
struct Adversary(AtomicUsize);

impl Advisor for Adversary {
    fn label(&self) -> &'static str {
        "adversary"
    }
    fn pick<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Pick, f64), LlmError>> {
        let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
        let number = Some(if first { 1 } else { about.candidates.len() });
        Box::pin(async move { Ok((Pick { number, same_purpose: true, reason: "trust me".into() }, 0.0)) })
    }
    fn edit<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Edits, f64), LlmError>> {
        let whole = about.source.replace("test('", "test.skip('").replace("await expect", "await expect.soft");
        Box::pin(async move { Ok((Edits { edits: vec![], rewrite: Some(whole), reason: "trust me".into() }, 0.0)) })
    }
    fn review<'a>(&'a self, _: &'a Sight) -> BoxFuture<'a, Result<(Judgement, f64), LlmError>> {
        let judgement = Judgement {
            verdict: agent_test::heal::advisor::ReviewVerdict::Accept,
            confidence: 1.0,
            explained: (1..99).collect(),
            reason: "trust me".into(),
        };
        Box::pin(async move { Ok((judgement, 0.0)) })
    }
}

/// The one application: every case is a page of it.
fn application(pages: HashMap<String, (String, String, bool)>, old: Arc<Mutex<bool>>) -> Router {
    let visits = Arc::<Mutex<HashMap<String, u32>>>::default();
    let pages = Arc::new(pages);
    Router::new().fallback(move |uri: Uri| {
        let (pages, visits, old) = (pages.clone(), visits.clone(), old.clone());
        async move { page(&pages, &visits, *old.lock().unwrap(), uri.path()) }
    })
}

fn page(
    pages: &HashMap<String, (String, String, bool)>,
    visits: &Mutex<HashMap<String, u32>>,
    old: bool,
    path: &str,
) -> Response {
    let name = path.trim_start_matches('/');
    let Some((before, after, flaky)) = pages.get(name) else { return StatusCode::NOT_FOUND.into_response() };
    let count = *visits.lock().unwrap().entry(name.to_owned()).and_modify(|count| *count += 1).or_insert(1);
    if after == "500" {
        return (StatusCode::INTERNAL_SERVER_ERROR, Html("<h1>Internal Server Error</h1>")).into_response();
    }
    // A flaky page is the new one at every other visit.
    let body = if old || (*flaky && count.is_multiple_of(2)) { before } else { after };
    Html(format!(
        "<!doctype html><title>Shop</title><style>body {{ font: 20px sans-serif; margin: 20px }} * {{ animation: none }}</style>\
         <script>var say = (text) => document.querySelector('#out').textContent = text;</script>{body}<p role=status id=out></p>"
    ))
    .into_response()
}

/// What one case came to.
struct Outcome {
    case: Case,
    model: Model,
    result: HealResult,
    text: String,
    page_object: String,
}

impl Outcome {
    fn is_fixed(&self) -> bool {
        self.result.verdict == Verdict::Fixed
    }

    /// Fixed, and by the element that it is now.
    fn is_right(&self) -> bool {
        match &self.case.should {
            Should::Fix(to) | Should::FixByModel(to) => {
                self.is_fixed() && (self.text.contains(to) || self.page_object.contains(to))
            }
            Should::Promote => self.is_fixed() && !self.result.promoted.is_empty(),
            Should::Not => !self.is_fixed(),
        }
    }

    /// Green where it must not be, or by another element than the right one.
    fn is_false(&self) -> bool {
        self.is_fixed() && !self.is_right()
    }
}

struct Played {
    outcomes: Vec<Outcome>,
    rounds: Vec<(usize, f64)>,
    seconds: f64,
    /// Drifted cases, those for which Playwright itself suggests a locator, and those where it is the right one.
    playwright: [usize; 3],
}

/// These cases by these models, all in the same runs of Playwright.
fn jobs(cases: Vec<Case>, model: Model) -> Vec<(Case, Model)> {
    let named = |case: Case| Case { name: format!("{}-{}", model.word(), case.name), ..case };
    cases.into_iter().map(|case| (named(case), model)).collect()
}

fn play(chosen: Vec<(Case, Model)>) -> Played {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(play_async(chosen))
}

async fn play_async(chosen: Vec<(Case, Model)>) -> Played {
    let began = Instant::now();
    let sandbox = Sandbox::new();
    let root = sandbox.path().canonicalize().unwrap();
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/node_modules");
    assert!(packages.join("@playwright/test").is_dir(), "run `sh scripts/setup.sh node`");
    std::os::unix::fs::symlink(packages, root.join("node_modules")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    // Nobody listens there any more.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (pages, old) = (
        chosen
            .iter()
            .map(|(case, _)| (case.name.clone(), (case.before.clone(), case.after.clone(), case.kind == Kind::Flaky)))
            .collect(),
        Arc::new(Mutex::new(false)),
    );
    let app = application(pages, old.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let chrome = find_browser(None).expect("a browser");
    let browser = SharedBrowser::start(&root, &chrome);
    sandbox.write("playwright.config.ts", &CONFIG.replace("@ADDRESS@", &browser.address));
    sandbox.write("tests/pace.spec.ts", PACE);
    for (case, _) in &chosen {
        let address = if case.after == "down" { format!("http://{nobody}/") } else { format!("{base}/{}", case.name) };
        sandbox.write(&format!("tests/{}.spec.ts", case.name), &case.spec(&address));
        if let Some(object) = &case.page_object {
            sandbox.write(&format!("pages/{}.ts", case.name), object);
        }
    }
    // The baselines, from the pages as they were; and how long a click takes here and now.
    let visual = chosen.iter().map(|(case, _)| case).filter(|case| case.kind == Kind::Visual && case.baseline);
    let mut words = playwright(&["--workers=3", "pace\\.spec\\.ts$"]);
    words.extend(visual.map(|case| format!("{}\\.spec\\.ts$", case.name)));
    *old.lock().unwrap() = true;
    let command = TestCommand::new(words, root.clone(), Duration::from_mins(5)).unwrap();
    command.run(&root).await.unwrap();
    *old.lock().unwrap() = false;
    let paces = std::fs::read_dir(root.join("paces")).unwrap();
    let pace = paces.map(|pace| std::fs::read_to_string(pace.unwrap().path()).unwrap().parse::<u32>().unwrap()).max();
    let pace = (3 * pace.unwrap()).clamp(1000, 15000);
    println!("a locator is waited for {pace} ms");
    sandbox.write("pace", &pace.to_string());
    let (ask, inbox) = mpsc::unbounded_channel();
    let rounds = Arc::<Mutex<Vec<(usize, f64)>>>::default();
    let suggested = Suggested::default();
    tokio::spawn(coordinate(root.clone(), chosen.len(), inbox, rounds.clone(), suggested.clone()));
    let mut tasks = Vec::new();
    for (case, model) in chosen {
        let (ask, root) = (ask.clone(), root.clone());
        tasks.push(tokio::spawn(async move {
            let outcome = one(case, &root, &Together { ask: ask.clone() }, model).await;
            let _ = ask.send(Message::Done);
            outcome
        }));
    }
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    let rounds = rounds.lock().unwrap().clone();
    let mut playwright = [0; 3];
    for outcome in &outcomes {
        if outcome.model != Model::None {
            continue;
        }
        let (Should::Fix(to) | Should::FixByModel(to)) = &outcome.case.should else { continue };
        let said = suggested.lock().unwrap().get(&outcome.result.file).cloned().unwrap_or_default();
        let locators: Vec<&str> = said.split(" aka ").skip(1).filter_map(|rest| rest.lines().next()).collect();
        let one = locators.len() == 1;
        playwright[0] += 1;
        playwright[1] += usize::from(!locators.is_empty());
        // A list of all that were found is no choice.
        playwright[2] += usize::from(one && locators.iter().any(|locator| locator.contains(to)));
    }
    Played { outcomes, rounds, seconds: began.elapsed().as_secs_f64(), playwright }
}

async fn one(case: Case, root: &Path, runner: &Together, model: Model) -> Outcome {
    let file = root.join(format!("tests/{}.spec.ts", case.name));
    let object = root.join(format!("pages/{}.ts", case.name));
    let original = std::fs::read_to_string(&file).unwrap();
    let mut options = HealOptions::new(file.clone(), root.to_path_buf());
    options.review = ReviewTerms {
        expected: case.declared.map(str::to_owned),
        regions: case.region.into_iter().collect(),
        ..ReviewTerms::default()
    };
    options.allow_rewrite = matches!(model, Model::Adversary);
    if case.page_object.is_some() {
        options.also.push(object.clone());
    }
    // The server blocks its own runtime when it goes; it lives on a thread of its own.
    let reply = match &case.should {
        Should::FixByModel(_) => Reply::Pick(case.model_picks.unwrap_or_default()),
        Should::Promote => Reply::Say(
            r#"{"verdict": "accept", "confidence": 0.95, "explained": [1,2,3,4,5,6], "reason": "as declared"}"#,
        ),
        _ if case.kind == Kind::Visual => {
            Reply::Say(r#"{"verdict": "reject", "confidence": 0.95, "explained": [], "reason": "not as declared"}"#)
        }
        _ => Reply::Say(r#"{"number": null, "same_purpose": false, "edits": [], "reason": "not clear"}"#),
    };
    let server = tokio::task::spawn_blocking(move || ModelServer::start(&[reply])).await.unwrap();
    let budget = Budget::new(20, Some(1.0));
    let tier = format!("openai_compatible/m,url={}/v1,prompt=0.25,answer=2", server.url).parse().unwrap();
    let scripted: ModelAdvisor = tiers::open(&tier, &PriceList::default(), &budget, 1.0, &Ids::random()).unwrap();
    let adversary = Adversary::default();
    let asked: Vec<&dyn Advisor> = match model {
        Model::None => vec![],
        Model::Script => vec![&scripted],
        Model::Adversary => vec![&adversary, &adversary],
    };
    let spent = || budget.spent();
    let hands = Hands {
        runner,
        refresh: None,
        codegen: asked.clone(),
        observe: asked,
        spent: &spent,
        say: &|_| {},
        ids: Ids::random(),
    };
    let result = heal(&options, &hands).await.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    if result.verdict != Verdict::Fixed {
        assert_eq!(text, original, "{}: the spec is as it was", case.name);
    }
    Outcome { case, model, result, text, page_object: std::fs::read_to_string(&object).unwrap_or_default() }
}

/// Cases, those to be repaired, repaired, falsely repaired, and the verdicts.
type Row = (usize, usize, usize, usize, BTreeMap<&'static str, usize>);

/// Checks what must hold whoever is asked, and prints the table; what does not hold.
fn judge(model: Model, played: &Played) -> Vec<String> {
    let (name, free_only) = (model.word(), model == Model::None);
    let outcomes = || played.outcomes.iter().filter(|outcome| outcome.model == model);
    let mut rows: BTreeMap<Kind, Row> = BTreeMap::new();
    let mut wrong = Vec::new();
    for outcome in outcomes() {
        let row = rows.entry(outcome.case.kind).or_default();
        row.0 += 1;
        let should = !matches!(outcome.case.should, Should::Not);
        row.1 += usize::from(should);
        row.2 += usize::from(should && outcome.is_right());
        row.3 += usize::from(outcome.is_false());
        *row.4.entry(outcome.result.verdict.word()).or_default() += 1;
        // What only a model can know, and an adversary will not say.
        let must = model == Model::Script || !matches!(outcome.case.should, Should::FixByModel(_) | Should::Promote);
        if outcome.is_false()
            || (must && should && !outcome.is_right())
            || outcome.case.verdict.is_some_and(|verdict| free_only && verdict != outcome.result.verdict)
        {
            wrong.push(format!(
                "{}: {} ({})\n{}",
                outcome.case.name,
                outcome.result.verdict.word(),
                outcome.result.reason,
                outcome.result.diff
            ));
        }
    }
    println!("\n{name}: kind, cases, to be repaired, repaired, falsely repaired, verdicts");
    for (kind, (cases, should, right, falsely, verdicts)) in &rows {
        println!("{kind:?}  {cases}  {should}  {right}  {falsely}  {verdicts:?}");
    }
    let fixed: Vec<&Outcome> = outcomes().filter(|outcome| outcome.is_fixed()).collect();
    let calls: u32 = fixed.iter().map(|outcome| outcome.result.model.calls).sum();
    let cost: f64 = fixed.iter().filter_map(|outcome| outcome.result.model.cost_usd).sum();
    let runs: u32 = fixed.iter().map(|outcome| outcome.result.test_runs).sum();
    let count = fixed.len().max(1) as f64;
    let (tests, seconds) =
        played.rounds.iter().fold((0, 0.0), |(tests, seconds), (count, time)| (tests + count, seconds + time));
    println!(
        "{name}: for each repair {:.2} model calls, {:.6} USD, {:.1} test runs of {:.1} s; {:.0} s in all, {} commands of Playwright",
        f64::from(calls) / count,
        cost / count,
        f64::from(runs) / count,
        seconds / tests.max(1) as f64,
        played.seconds,
        played.rounds.len()
    );
    let [drifted, suggests, right] = played.playwright;
    if free_only {
        println!(
            "Playwright's own suggestions: of {drifted} drifted cases, a locator for {suggests}, and the right one alone for {right}"
        );
    }
    wrong
}

/// Plays these and judges each model; what must not be so.
fn judge_all(chosen: Vec<(Case, Model)>) -> Vec<String> {
    let models: Vec<Model> = [Model::None, Model::Script, Model::Adversary]
        .into_iter()
        .filter(|model| chosen.iter().any(|(_, used)| used == model))
        .collect();
    let played = play(chosen);
    models.into_iter().flat_map(|model| judge(model, &played)).collect()
}

#[test]
fn the_corpus_holds_every_kind_and_the_whole_of_it_is_judged_alike() {
    let all = cases();
    assert!(all.len() >= 60, "{}", all.len());
    for kind in [Kind::Drift, Kind::Bug, Kind::Flaky, Kind::Visual, Kind::Environment, Kind::Injected] {
        assert!(all.iter().filter(|case| case.kind == kind).count() >= 3, "{kind:?}");
    }
    let mut names: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    // It takes minutes, so `make bench-heal` asks for it: `free`, `models`, both by `all`, or names of cases with commas.
    let Ok(wanted) = std::env::var("AGENT_TEST_CORPUS") else { return };
    let mut wrong = Vec::new();
    if wanted == "all" || wanted == "free" {
        wrong.extend(judge_all(jobs(cases(), Model::None)));
    }
    if wanted == "all" || wanted == "models" {
        // Where the free tier is sure, no model is asked: the same run once more.
        let left = || cases().into_iter().filter(|case| !matches!(case.should, Should::Fix(_))).collect();
        wrong.extend(judge_all([jobs(left(), Model::Script), jobs(left(), Model::Adversary)].concat()));
    }
    let names: Vec<&str> = wanted.split(',').collect();
    let chosen: Vec<Case> = cases().into_iter().filter(|case| names.contains(&case.name.as_str())).collect();
    if !chosen.is_empty() {
        wrong.extend(judge_all([jobs(chosen.clone(), Model::Script), jobs(chosen, Model::Adversary)].concat()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_sample_of_the_corpus_ends_as_each_kind_must() {
    // One of each kind; where the free tier is sure, no model is asked.
    let sample =
        ["begin-start", "object", "model-publish", "wrong-total", "flaky-button", "badge", "down", "injected-name"];
    let chosen: Vec<Case> = cases().into_iter().filter(|case| sample.contains(&case.name.as_str())).collect();
    assert_eq!(chosen.len(), sample.len());
    let wrong = judge_all(jobs(chosen, Model::Script));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
