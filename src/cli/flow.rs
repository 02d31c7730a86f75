//! `flow`: goal steps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Context;
use super::engine::EngineArgs;
use super::model::ModelArgs;
use super::progress::Progress;
use super::rerun::interrupted;
use super::signals::stop_on_signal;
use crate::dispatch::keep_run;
use crate::exit::{Exit, Failure};
use crate::flow::recording::CacheStore;
use crate::flow::{Agent, Flow, FlowOptions, Mode, ModelAgent, Runner, load};
use crate::llm::{LlmError, Model};
use crate::report::junit_of_cases;
use crate::store::write_atomic;

/// Most requests of a run, unless told otherwise.
const FLOW_CALLS: u32 = 200;

/// Run flows: goal steps replay their recordings without a model, and an agent finishes what no longer matches
///
/// A flow is a YAML file of `open`, `act`, `expect`, `assert`, `wait_for` and `extract` steps. The first run of an `act` step
/// needs an agent and is recorded once a later check has passed; later runs replay it. With CI set, recordings are read only,
/// and a healed one is written as a proposal. Ends with 1 when a flow failed, with 2 when a recording is stale under
/// --strict-cache.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Flow files, or directories of them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Set a parameter: name=value; may be given several times
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// Run each flow so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat_each: u32,
    /// Try a failed flow so many times again; a second attempt asks no recording
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// Browsers side by side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,
    /// How recordings are used: off, read-only or read-write (default: read-only with CI set, else read-write)
    #[arg(long, value_name = "MODE", value_parser = cache_mode, conflicts_with = "no_cache")]
    cache: Option<Mode>,
    /// Use no recordings
    #[arg(long)]
    no_cache: bool,
    /// Fail a step whose recording no longer replays, without asking a model
    #[arg(long)]
    strict_cache: bool,
    /// Give up on a target as soon as the screen stands still without it, rather than after 15 seconds
    #[arg(long)]
    fast_miss: bool,
    /// Look for a target that no longer reads as recorded by its test id, or by its name at a role of the same kind
    #[arg(long)]
    relocate: bool,
    /// Keep recordings for this target of their own (default: chromium)
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Most steps of the run that may heal
    #[arg(long, value_name = "N")]
    heal_budget: Option<u32>,
    /// Print the checks that recorded changes suggest
    #[arg(long)]
    suggest: bool,
    /// Write JUnit there
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    model: ModelArgs,
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// That every parameter which is set is one of a flow's.
pub(super) fn known_params(params: &BTreeMap<String, String>, flows: &[Flow]) -> Result<(), Failure> {
    match params.keys().find(|name| !flows.iter().any(|flow| flow.params.contains_key(*name))) {
        Some(name) => Err(Failure::usage("no_param", format!("no flow has a parameter `{name}`"))),
        None => Ok(()),
    }
}

fn cache_mode(text: &str) -> Result<Mode, String> {
    match text {
        "off" => Ok(Mode::Off),
        "read-only" => Ok(Mode::ReadOnly),
        "read-write" => Ok(Mode::ReadWrite),
        _ => Err("expected off, read-only or read-write".to_owned()),
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let files: Vec<PathBuf> = args.files.iter().map(|file| context.file(file)).collect();
    let flows = load(&context.project, &files)?;
    let params: BTreeMap<String, String> = args.params.iter().cloned().collect();
    known_params(&params, &flows)?;
    let entered = args.engine.flow_stage(context)?;
    let model: Option<Model> = match args.model.open(&entered.settings.model, FLOW_CALLS) {
        Ok(model) => Some(model),
        Err(LlmError::NotConfigured) => None,
        Err(error) => return Err(error.into()),
    };
    let store = CacheStore::new(&context.project).signed();
    let options = FlowOptions {
        repeat_each: args.repeat_each,
        retries: args.retries,
        workers: args.workers as usize,
        mode: if args.no_cache { Mode::Off } else { args.cache.unwrap_or_else(|| Mode::usual(&store)) },
        strict: args.strict_cache,
        fast_miss: args.fast_miss,
        relocate: args.relocate,
        target: args.target,
        heal_budget: args.heal_budget,
        params,
    };
    let prepared = entered.prepare(&context.project)?;
    let progress = Progress::new(&context.ui, args.workers as usize, flows.len() * args.repeat_each as usize);
    let events = progress.events();
    let began = context.clock.now();
    let report = super::block_on(async {
        let mut stop = stop_on_signal(&context.ui)?;
        let (stage, _) = prepared.enter().await?;
        let agent = model.clone().map(|model| Arc::new(ModelAgent(model)) as Arc<dyn Agent>);
        let runner = Runner::new(&stage, agent, store, options, &events, &context.clock);
        let spent = || model.as_ref().map(Model::spent);
        let done = tokio::select! {
            done = runner.run(&flows, spent) => done.map_err(Failure::from),
            _ = stop.wait_for(|stop| *stop) => Err(interrupted()),
        };
        stage.launcher.stop().await;
        let kept = runner.run_file(began).map(|mut run| (keep_run(&context.project, &mut run), run.bugs.len()));
        match (done, kept) {
            (Ok(report), Some((file, bugs))) => Ok(report.kept(file?, bugs)),
            (done, _) => done,
        }
    })?;
    progress.finish();
    let report = report?;
    if let Some(file) = &args.junit {
        let text = junit_of_cases("agent-test flow", &report.cases())?;
        write_atomic(file, text.as_bytes())?;
    }
    context.ui.json(&report);
    let mut text = String::new();
    for flow in &report.flows {
        text.push_str(&format!("{:<7} {} ({})\n", flow.outcome.word(), flow.name, flow.file));
        for line in flow.attempts.iter().flat_map(crate::flow::AttemptResult::lines) {
            text.push_str(&format!("{line}\n"));
        }
        if args.suggest {
            let steps = flow.attempts.iter().flat_map(|attempt| &attempt.steps);
            for step in steps.filter(|step| step.suggest.is_some()) {
                text.push_str(&format!(
                    "  after step {}: {}\n",
                    step.number,
                    step.suggest.as_deref().unwrap_or_default()
                ));
            }
        }
    }
    let model_line = report.model.as_ref().map(|model| format!("Model  {}", model.line())).unwrap_or_default();
    for line in
        [model_line, report.cache_line(), report.saved_line(), report.run_line()].iter().filter(|line| !line.is_empty())
    {
        text.push_str(&format!("        {line}\n"));
    }
    context.ui.out(text);
    Ok(report.exit())
}
