//! Options of every command that may ask a model.

use url::Url;

use super::Context;
use crate::env;
use crate::llm::{LlmError, Model, ModelOptions, ModelUse, Prices};
use crate::settings::ModelSettings;
use crate::store::Ids;
use crate::verify::{HealedStep, Proposal, Proposals, RunSource, VerifyError, accept, keep_proposals};

/// Options of every command that may ask a model.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Model options")]
pub(crate) struct ModelArgs {
    /// The model to ask: anthropic/…, openai/…, gemini/…, openrouter/… or openai_compatible/…
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Address of the model, in place of its provider's own
    #[arg(long, value_name = "URL")]
    model_url: Option<Url>,
    /// Ask this program in place of a model: one JSON document on its stdin, one on its stdout
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["model", "model_url"])]
    agent_command: Option<String>,
    /// Most requests to the model (default: 20 to heal, 60 for a plan)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_model_calls: Option<u32>,
    /// Most money for the model; its prices must be in the settings
    #[arg(long, value_name = "USD", value_parser = money)]
    budget_usd: Option<f64>,
}

fn money(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0).ok_or("expected 0 or more USD".to_owned())
}

impl ModelArgs {
    /// Makes the model ready: flags, then the environment, then the settings. Nothing is asked yet.
    ///
    /// # Errors
    /// [`LlmError`]: none is configured, or it cannot be asked like this.
    pub(crate) fn open(&self, settings: &ModelSettings, calls: u32) -> Result<Model, LlmError> {
        let flags = ModelSettings {
            name: self.model.clone(),
            max_calls: self.max_model_calls,
            budget_usd: self.budget_usd,
            ..ModelSettings::default()
        };
        let set = flags.or(settings.clone());
        // A model that is named on the command line is meant, whatever the environment holds.
        let program = || env::get(env::AGENT_COMMAND).filter(|_| self.model.is_none());
        let address = || match env::get(env::MODEL_URL) {
            Some(text) => Url::parse(text.trim()).map(Some).map_err(|_| LlmError::BadUrl {
                model: set.name.clone().unwrap_or_default(),
                url: format!("the address in {}", env::MODEL_URL),
                problem: "it is no address",
            }),
            None => Ok(None),
        };
        let url = if self.model_url.is_some() { self.model_url.clone() } else { address()? };
        let prices = set.prompt_usd_per_million.zip(set.answer_usd_per_million);
        let options = ModelOptions {
            name: set.name.clone(),
            url,
            agent_command: self.agent_command.clone().or_else(program),
            prices: prices.map(|(prompt, answer)| Prices { prompt, answer }),
            max_calls: set.max_calls.unwrap_or(calls),
            budget_usd: set.budget_usd,
        };
        Model::open(options, Ids::random())
    }
}

/// Most requests to heal, unless told otherwise.
pub(crate) const HEAL_CALLS: u32 = 20;
/// Most requests for a plan, unless told otherwise.
pub(crate) const PLAN_CALLS: u32 = 60;

/// Whether and how targets are found anew.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct HealArgs {
    /// Ask the model where a target is that is not found any more; what it finds is marked, and proposed only
    #[arg(long)]
    pub(crate) heal: bool,
    /// Write the locators that were found and judged into the stored run; the earlier file is kept beside it
    #[arg(long, requires = "heal")]
    pub(crate) accept_heal: bool,
}

/// What became of the targets that were found anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// File with the proposals.
    pub(crate) file: Option<String>,
    /// Targets of the stored run that were rewritten, when that was asked for.
    pub(crate) accepted: Option<usize>,
}

impl HealArgs {
    /// Keeps the proposals, and writes them into the stored run where that is asked for.
    ///
    /// # Errors
    /// When the stored run cannot be rewritten. Proposals that cannot be kept are a warning.
    pub(crate) fn keep(
        &self,
        context: &Context,
        source: &RunSource,
        mut proposals: Vec<Proposal>,
        model: ModelUse,
    ) -> Result<Kept, VerifyError> {
        let accepted = if self.accept_heal { Some(accept(&source.path, &mut proposals)?) } else { None };
        if proposals.is_empty() {
            return Ok(Kept { file: None, accepted });
        }
        let created_at = context.clock.now();
        let proposals = Proposals { schema_version: 1, run: source.run.id.clone(), created_at, proposals, model };
        let file = keep_proposals(&context.project, &proposals)
            .map_err(|error| context.ui.warn(format!("what was found anew is not remembered: {error}")))
            .ok();
        Ok(Kept { file, accepted })
    }
}

impl Kept {
    /// The lines for people.
    pub(crate) fn lines(&self, source: &RunSource) -> String {
        let mut lines = String::new();
        if let Some(file) = &self.file {
            lines.push_str(&format!("proposals  {file}\n"));
        }
        match self.accepted {
            None if self.file.is_some() => {
                lines.push_str("the stored run is as it was; --accept-heal writes what was judged into it\n");
            }
            Some(count) if count > 0 => lines.push_str(&format!(
                "accepted   {} in {}; the earlier file is beside it\n",
                super::counted(count, "target"),
                source.path.display()
            )),
            _ => {}
        }
        lines
    }
}

/// One target that was found anew, for people.
pub(crate) fn healed_line(healed: &HealedStep) -> String {
    let (old, new) = (healed.old.describe(), healed.new.describe());
    format!("healed: step {}: {old} is now {new} ({}: {})", healed.index, healed.model, healed.reason)
}
