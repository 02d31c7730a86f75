//! `agent-test vrt review`: one visual change, judged.

use std::path::PathBuf;

use super::heal::{Models, ReviewArgs};
use super::{Context, block_on};
use crate::exit::{Exit, Failure};
use crate::heal::advisor::Advisor;
use crate::heal::result::Verdict;
use crate::heal::vrt::{Shots, review};
use crate::store::read_bytes;

/// Judge a visual change
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Review(Box<ReviewCommand>),
}

/// Judge one screenshot against its baseline: three images in, a verdict out
///
/// What differs is measured first: regions, sizes, colours. Models (`--observe-tier`, cheapest first) judge only what a
/// declared change may explain; without one, or without a model, the verdict is `unsure`. Nothing is written.
///
/// Ends with 0 when the change is accepted, with 1 otherwise.
#[derive(clap::Args, Debug)]
struct ReviewCommand {
    /// The baseline (PNG)
    baseline: PathBuf,
    /// The page now (PNG)
    actual: PathBuf,
    /// The difference (PNG)
    diff: Option<PathBuf>,
    #[command(flatten)]
    review: ReviewArgs,
    #[command(flatten)]
    models: Models,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let Command::Review(args) = args.command;
    let tiers = args.models.tiers()?;
    let opened = tiers.open(tiers.budget_usd)?;
    let shots = Shots {
        name: args.baseline.display().to_string(),
        baseline: read_bytes(&args.baseline)?,
        actual: read_bytes(&args.actual)?,
        diff: args.diff.as_deref().map(read_bytes).transpose()?,
    };
    let terms = args.review.terms(&context.project);
    let judges: Vec<&dyn Advisor> = opened.observe.iter().map(|model| model as &dyn Advisor).collect();
    let mut found = block_on(review(&shots, &terms, &judges))??;
    if found.outcome == Verdict::Fixed {
        // Nothing is promoted here: the word is on the change alone.
        found.outcome = Verdict::IntentionalChange;
    }
    let exit = if found.outcome == Verdict::IntentionalChange { Exit::Ok } else { Exit::Found };
    let mut document = serde_json::to_value(&found)
        .map_err(|error| Failure::engine("internal", format!("cannot write the review: {error}")))?;
    document["model"] = serde_json::to_value(opened.budget.spent()).unwrap_or_default();
    document["exitCode"] = exit.code().into();
    context.ui.json(&document);
    context.ui.out(format!(
        "{} ({}, {:.2}): {}\n{}\n",
        found.verdict.word(),
        found.outcome.word(),
        found.confidence,
        found.reason,
        found.measured.describe()
    ));
    Ok(exit)
}
