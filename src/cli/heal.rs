//! `agent-test heal`: repairs a failing Playwright test, or puts everything back; `--check` is the guard alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::context::working_directory;
use super::signals::stop_on_signal;
use super::{Context, block_on};
use crate::exit::{Exit, Failure};
use crate::heal::HealError;
use crate::heal::advisor::{Advisor, ModelAdvisor};
use crate::heal::artifacts::usual_folders;
use crate::heal::batch::heal_all;
use crate::heal::command::{TestCommand, TestRunner};
use crate::heal::gate::{Checked, check_files, check_range};
use crate::heal::git;
use crate::heal::guard::{GuardTerms, Strictness};
use crate::heal::journal::recover;
use crate::heal::measure::Rect;
use crate::heal::result::{BatchResult, HealResult};
use crate::heal::run::{Hands, HealOptions, heal};
use crate::heal::tiers::{self, Tier, TierFile};
use crate::heal::vrt::ReviewTerms;
use crate::llm::{Budget, PriceList};
use crate::store::{Ids, read_to_string, write_atomic};
use crate::ui::{Ui, in_one_line};

/// Repair a failing Playwright test inside a budget, or put everything back
///
/// Runs the test command, which stands behind `--`, and finds out from Playwright's report what is wrong. Only a locator
/// that drifted is repaired: first without a model, then by the tiers that are named, cheapest first. Every edit passes the
/// guard (the same tests, actions and assertions; nothing skipped, forced or softened), and stands only when the test is
/// green three times, the same tests ran, and a false expectation turns it red. On every other verdict the test file and all
/// baselines are as they were, also after a kill: the next start puts them back first.
///
/// Ends with 0 when it is fixed or was green, with 1 on any other verdict.
///
/// With --check it runs nothing: it compares two texts of a test file (or every test file that differs from a git base) and
/// ends with 1 when the edit weakens a test. That is a gate for edits by people and agents.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The test file; with --all: test files; with --check: the old and the new file
    #[arg(value_name = "TESTFILE")]
    files: Vec<PathBuf>,
    /// Heal several files, one after another; `{file}` in the command stands for each
    #[arg(long, conflicts_with_all = ["check", "recover"])]
    all: bool,
    /// Compare OLD and NEW by the guard, and run nothing
    #[arg(long, conflicts_with = "recover")]
    check: bool,
    /// With --check: every test file that differs from this commit or branch
    #[arg(long, value_name = "COMMIT", requires = "check")]
    base: Option<String>,
    /// With --check: only locators may differ, as for a repair of ours
    #[arg(long, requires = "check")]
    strict: bool,
    /// Put back what killed heals have left, and do nothing else
    #[arg(long)]
    recover: bool,
    #[command(flatten)]
    bounds: Bounds,
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    review: ReviewArgs,
    /// Other files that may be written too (page objects)
    #[arg(long, value_name = "FILE")]
    also: Vec<PathBuf>,
    /// Where Playwright leaves a failing test's page, if the report does not name it (usually it does) [default:
    /// test-results and e2e-results here and above]
    #[arg(long, value_name = "FOLDER")]
    output_dir: Option<PathBuf>,
    /// Refresh an accepted baseline by this line for the shell, in place of writing the reviewed bytes; what it writes must
    /// show the reviewed picture, and every other image beside it is put back
    #[arg(long, value_name = "COMMAND")]
    update_snapshots_command: Option<String>,
    /// Show the repair and put everything back
    #[arg(long)]
    dry_run: bool,
    /// Write the summary for a pull request into this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The test command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// Most attempts at one file
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// So many times green and then red is flaky
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    flaky_threshold: u32,
    /// Longest run of the test command, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Let expected values and texts change (a declared change allows those that it names)
    #[arg(long)]
    allow_expectation: bool,
    /// Let a model write the whole file anew; the guard holds all the same
    #[arg(long)]
    allow_rewrite: bool,
    /// Request, plan or inventory of locators that a model must keep to
    #[arg(long, value_name = "FILE", num_args = 1..)]
    guardrail: Vec<PathBuf>,
}

/// Who is asked, and what it may cost.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model options")]
pub(crate) struct Models {
    /// A model for locators, cheapest first: PROVIDER/MODEL[,url=URL][,prompt=USD][,answer=USD][,free]
    #[arg(long, value_name = "TIER")]
    codegen_tier: Vec<Tier>,
    /// A model that can judge screenshots, cheapest first
    #[arg(long, value_name = "TIER")]
    observe_tier: Vec<Tier>,
    /// A catalogue of tiers (JSON: `codegen`, `observe`)
    #[arg(long, value_name = "FILE")]
    tiers: Option<PathBuf>,
    /// Prices as OpenRouter lists them, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "fetch_prices")]
    prices: Option<PathBuf>,
    /// Ask OpenRouter for prices
    #[arg(long)]
    fetch_prices: bool,
    /// Most money for one file, in USD, over all tiers
    #[arg(long, value_name = "USD", default_value_t = 1.0, value_parser = money)]
    budget_usd: f64,
    /// With --all: most money for all files
    #[arg(long, value_name = "USD", value_parser = money)]
    total_budget_usd: Option<f64>,
    /// Most requests to models for one file
    #[arg(long, value_name = "N", default_value_t = 20)]
    max_model_calls: u32,
    /// Failures of a tier before the next one is asked
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    escalate_after: u32,
}

/// The terms for screenshots.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Screenshots and declared changes")]
pub(crate) struct ReviewArgs {
    /// The change that is intended, in words
    #[arg(long, value_name = "TEXT")]
    expected_change: Option<String>,
    /// Where it may be seen, in pixels: a difference outside is a regression
    #[arg(long, value_name = "X,Y,WIDTH,HEIGHT", value_parser = rect)]
    expected_region: Vec<Rect>,
    /// Tell the reviewers what changed in the repository, against this base when one is named
    #[arg(long, value_name = "BASE", num_args = 0..=1, default_missing_value = "")]
    git_context: Option<String>,
    /// Least confidence of an acceptance
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = share)]
    accept_threshold: f64,
    /// Do not have the strongest tier confirm an acceptance
    #[arg(long)]
    no_confirm_accept: bool,
}

fn money(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
        .ok_or_else(|| "expected 0 or more USD".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number between 0 and 1".to_owned())
}

fn rect(text: &str) -> Result<Rect, String> {
    let numbers: Vec<u32> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match numbers.as_slice() {
        [x, y, width, height] if text.matches(',').count() == 3 => {
            Ok(Rect { x: *x, y: *y, width: *width, height: *height })
        }
        _ => Err("expected four numbers: X,Y,WIDTH,HEIGHT".to_owned()),
    }
}

impl ReviewArgs {
    pub(crate) fn terms(&self, directory: &Path) -> ReviewTerms {
        ReviewTerms {
            expected: self.expected_change.clone(),
            git: self
                .git_context
                .as_ref()
                .and_then(|base| git::context(directory, Some(base.as_str()).filter(|base| !base.is_empty()))),
            regions: self.expected_region.clone(),
            threshold: self.accept_threshold,
            confirm: !self.no_confirm_accept,
        }
    }
}

/// The tiers with their prices; nothing is asked yet.
pub(crate) struct Tiers {
    pub(crate) file: TierFile,
    prices: PriceList,
    pub(crate) budget_usd: f64,
    max_calls: u32,
}

impl Models {
    pub(crate) fn tiers(&self) -> Result<Tiers, Failure> {
        let mut file = match &self.tiers {
            Some(path) => tiers::read(path)?,
            None => TierFile::default(),
        };
        file.codegen.extend(self.codegen_tier.iter().cloned());
        file.observe.extend(self.observe_tier.iter().cloned());
        let prices = match (&self.prices, self.fetch_prices) {
            (Some(path), _) => PriceList::parse(&read_to_string(path)?)?,
            (None, true) => block_on(PriceList::fetch(None))??,
            (None, false) => PriceList::default(),
        };
        let tiers = Tiers { file, prices, budget_usd: self.budget_usd, max_calls: self.max_model_calls };
        // What is wrong with a tier is said before anything runs.
        tiers.open(self.budget_usd)?;
        Ok(tiers)
    }
}

/// Tiers that share one budget.
pub(crate) struct Opened {
    pub(crate) codegen: Vec<ModelAdvisor>,
    pub(crate) observe: Vec<ModelAdvisor>,
    pub(crate) budget: Budget,
}

impl Tiers {
    pub(crate) fn open(&self, usd: f64) -> Result<Opened, HealError> {
        let budget = Budget::new(self.max_calls, Some(usd));
        let ids = Ids::random();
        let open = |tiers: &[Tier]| {
            tiers.iter().map(|tier| tiers::open(tier, &self.prices, &budget, usd, &ids)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Opened { codegen: open(&self.file.codegen)?, observe: open(&self.file.observe)?, budget: budget.clone() })
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    // The journal and the result name files as texts.
    if let Some(file) = args.files.iter().find(|file| file.to_str().is_none()) {
        let message = format!("cannot heal `{}`: its name is not valid UTF-8", file.display());
        return Err(Failure::usage("bad_argument", message).hinted("give the file a name in UTF-8"));
    }
    if args.check {
        return check(context, &args);
    }
    let restored = recover(&context.project)?;
    for path in &restored.restored {
        context.ui.note(format!("put back `{}`, which a killed heal had left", path.display()));
    }
    for kept in &restored.kept {
        context.ui.warn(format!("of a killed heal: {}", kept.line()));
    }
    if args.recover {
        let text = format!("{} put back\n", super::counted(restored.restored.len() + restored.removed.len(), "file"));
        let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let kept = restored.kept.iter().map(|kept| {
            json!({ "path": kept.path.display().to_string(), "original": kept.original.as_ref().map(|path| path.display().to_string()) })
        });
        let recovered = json!({
            "restored": shown(&restored.restored),
            "removed": shown(&restored.removed),
            "kept": kept.collect::<Vec<_>>(),
        });
        return context.answer(json!({ "recovered": recovered }), text);
    }
    let directory = working_directory()?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (directory, project) = (real(&directory), real(&context.project));
    let root = if directory.starts_with(&project) { project.clone() } else { directory.clone() };
    if args.files.is_empty() {
        return Err(Failure::usage("bad_argument", "no test file was named")
            .hinted("name it before `--`, and the test command behind it"));
    }
    if args.files.len() > 1 && !args.all {
        return Err(Failure::usage("bad_argument", "several test files were named")
            .hinted("heal them one after another with --all"));
    }
    if args.all && args.files.len() > 1 && !args.command.iter().any(|word| word.contains("{file}")) {
        return Err(Failure::usage("bad_argument", "the command does not say where each file belongs")
            .hinted("write `{file}` where the test file stands in the command"));
    }
    let command = TestCommand::new(args.command.clone(), directory.clone(), Duration::from_secs(args.bounds.timeout))?;
    let refresh = args
        .update_snapshots_command
        .as_deref()
        .map(|line| TestCommand::refreshing(line, directory.clone(), Duration::from_secs(args.bounds.timeout)))
        .transpose()?;
    let tiers = args.models.tiers()?;
    let guardrail: Vec<String> =
        args.bounds.guardrail.iter().map(|path| read_to_string(path)).collect::<Result<_, _>>()?;
    let options = |file: PathBuf| HealOptions {
        project: project.clone(),
        also: args.also.clone(),
        max_attempts: args.bounds.max_attempts,
        flaky_threshold: args.bounds.flaky_threshold,
        escalate_after: args.models.escalate_after,
        allow_expectation: args.bounds.allow_expectation,
        allow_rewrite: args.bounds.allow_rewrite,
        guardrail: guardrail.join("\n\n---\n\n"),
        review: args.review.terms(&directory),
        dry_run: args.dry_run,
        output: args
            .output_dir
            .as_ref()
            .map_or_else(|| usual_folders(&directory, &root), |folder| vec![directory.join(folder)]),
        ..HealOptions::new(file, root.clone())
    };
    let all = args.all;
    let work = async {
        let mut stop = stop_on_signal(&context.ui)?;
        let batch = heal_all(
            args.files.clone(),
            args.models.total_budget_usd.filter(|_| all),
            args.models.budget_usd,
            |file, usd| {
                let (options, tiers, ui) = (options(file), &tiers, &context.ui);
                let commands = (&command, refresh.as_ref());
                Box::pin(async move { one(&options, tiers, usd, commands, ui).await })
            },
        );
        tokio::select! {
            batch = batch => Ok::<_, Failure>(batch?),
            // What was written is put back when the work is dropped.
            _ = stop.wait_for(|stop| *stop) => Err(HealError::Stopped.into()),
        }
    };
    let mut batch: BatchResult = block_on(work)??;
    if let Some(path) = &args.markdown {
        let text = match batch.entries.first().and_then(|entry| entry.result.as_ref()) {
            Some(result) if !all => result.markdown(),
            _ => batch.markdown(),
        };
        write_atomic(path, text.as_bytes())?;
    }
    if all {
        let exit = batch.exit();
        let mut document = to_value(&batch)?;
        document["exitCode"] = exit.code().into();
        context.ui.json(&document);
        context.ui.out(batch_text(&batch));
        return Ok(exit);
    }
    let entry = batch.entries.pop().ok_or_else(|| Failure::engine("internal", "nothing was healed"))?;
    match (entry.result, entry.error) {
        (Some(result), _) => {
            let exit = result.verdict.exit();
            let mut document = to_value(&result)?;
            document["exitCode"] = exit.code().into();
            context.ui.json(&document);
            context.ui.out(text(&result));
            Ok(exit)
        }
        (None, error) => Err(Failure::usage("heal_failed", error.unwrap_or_default())),
    }
}

async fn one(
    options: &HealOptions,
    tiers: &Tiers,
    usd: f64,
    (command, refresh): (&TestCommand, Option<&TestCommand>),
    ui: &Ui,
) -> Result<HealResult, HealError> {
    let opened = tiers.open(usd)?;
    let spent = || opened.budget.spent();
    let say = |text: &str| ui.note(text);
    let hands = Hands {
        runner: command,
        refresh: refresh.map(|command| command as &dyn TestRunner),
        codegen: opened.codegen.iter().map(|model| model as &dyn Advisor).collect(),
        observe: opened.observe.iter().map(|model| model as &dyn Advisor).collect(),
        spent: &spent,
        say: &say,
        ids: Ids::random(),
    };
    heal(options, &hands).await
}

fn to_value(of: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::engine("internal", format!("cannot write the result: {error}")))
}

fn text(result: &HealResult) -> String {
    let mut text = format!("{}: {}\n", result.verdict.word(), in_one_line(&result.reason));
    for attempt in &result.attempts {
        text.push_str(&format!("  {:<9} {:<24} {}\n", attempt.outcome, attempt.tier, in_one_line(&attempt.reason)));
        if let (Some(old), Some(new)) = (&attempt.old, &attempt.new) {
            text.push_str(&format!("            {}\n         -> {}\n", in_one_line(old), in_one_line(new)));
        }
    }
    if !result.diff.is_empty() {
        text.push_str(&format!("\n{}\n", result.diff));
    }
    for path in &result.promoted {
        text.push_str(&format!("promoted  {}\n", path.display()));
    }
    text.push_str(&format!("{}; {}\n", super::counted(result.test_runs as usize, "test run"), result.model.line()));
    text
}

fn batch_text(batch: &BatchResult) -> String {
    let mut text = String::new();
    for entry in &batch.entries {
        let (word, why) = match (&entry.result, &entry.error) {
            (Some(result), _) => (result.verdict.word(), result.reason.as_str()),
            (None, Some(error)) => ("error", error.as_str()),
            (None, None) => ("skipped", "the budget of the batch is spent"),
        };
        text.push_str(&format!("{word:<14} {}: {why}\n", entry.file.display(), why = in_one_line(why)));
    }
    text.push_str(&format!("{} of {} fixed, {:.4} USD\n", batch.fixed, batch.entries.len(), batch.total_cost_usd));
    text
}

fn check(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let strictness = if args.strict { Strictness::LocatorsOnly } else { Strictness::NotWeaker };
    let terms = GuardTerms {
        strictness,
        allow_expectation: args.bounds.allow_expectation || args.review.expected_change.is_some(),
    };
    let checked: Vec<Checked> = match (&args.base, args.files.as_slice()) {
        (Some(base), files) => check_range(&context.project, base, files, terms)?,
        (None, [old, new]) => vec![check_files(old, new, terms)?],
        (None, _) => {
            return Err(Failure::usage("bad_argument", "--check compares two files")
                .hinted("name the old and the new file, or a commit with --base"));
        }
    };
    let passed = checked.iter().all(|one| one.verdict.passed);
    let exit = if passed { Exit::Ok } else { Exit::Found };
    let mut text = String::new();
    for Checked { file: name, verdict } in &checked {
        text.push_str(&format!("{:<7} {name}\n", if verdict.passed { "passed" } else { "refused" }));
        for finding in &verdict.findings {
            let test = if finding.test.is_empty() { String::new() } else { format!(" in `{}`", finding.test) };
            text.push_str(&format!(
                "        {}:{}{test}: {} ({})\n",
                name,
                finding.line,
                in_one_line(&finding.message),
                finding.rule
            ));
        }
    }
    if checked.is_empty() {
        text.push_str("no test file differs\n");
    }
    context.ui.json(&json!({ "passed": passed, "files": checked, "exitCode": exit.code() }));
    context.ui.out(text);
    Ok(exit)
}
