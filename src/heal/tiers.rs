//! Model tiers: which models, cheapest first, and one budget for all of them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::advisor::ModelAdvisor;
use super::error::HealError;
use crate::llm::{Budget, Model, ModelName, ModelOptions, PriceList, Prices};
use crate::store::{Ids, read_to_string};

/// One tier, as a catalogue file or an option names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// `PROVIDER/MODEL`.
    pub model: String,
    /// Its address, in place of its provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<Url>,
    /// USD for a million tokens of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_usd_per_million: Option<f64>,
    /// USD for a million tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_usd_per_million: Option<f64>,
    /// Whether it costs nothing.
    #[serde(default)]
    pub free: bool,
}

/// A catalogue of tiers in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TierFile {
    /// Who is asked for locators, cheapest first.
    #[serde(default)]
    pub codegen: Vec<Tier>,
    /// Who is asked for screenshots, cheapest first.
    #[serde(default)]
    pub observe: Vec<Tier>,
}

impl std::str::FromStr for Tier {
    type Err = String;

    /// `PROVIDER/MODEL[,url=URL][,prompt=USD][,answer=USD][,free]`
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let model = parts.next().filter(|model| !model.is_empty()).ok_or("the model is missing")?.to_owned();
        let mut tier =
            Self { model, base_url: None, prompt_usd_per_million: None, answer_usd_per_million: None, free: false };
        for part in parts {
            let number = |value: &str| value.parse::<f64>().map_err(|_| format!("`{value}` is no number"));
            match part.split_once('=') {
                None if part == "free" => tier.free = true,
                Some(("url", value)) => {
                    tier.base_url = Some(Url::parse(value).map_err(|_| "its address is none".to_owned())?);
                }
                Some(("prompt", value)) => tier.prompt_usd_per_million = Some(number(value)?),
                Some(("answer", value)) => tier.answer_usd_per_million = Some(number(value)?),
                _ => return Err(format!("`{part}` is none of url=, prompt=, answer=, free")),
            }
        }
        Ok(tier)
    }
}

/// Reads a catalogue.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<TierFile, HealError> {
    let text = read_to_string(path)?;
    serde_json::from_str(&text).map_err(|error| {
        HealError::Options(format!("the catalogue of tiers `{}` cannot be read: {error}", path.display()))
    })
}

/// Makes a tier ready. One without a price is refused, unless it is declared free.
///
/// # Errors
/// [`HealError::Model`].
pub fn open(
    tier: &Tier,
    prices: &PriceList,
    budget: &Budget,
    budget_usd: f64,
    ids: &Ids,
) -> Result<ModelAdvisor, HealError> {
    let mut name = tier.model.clone();
    // An own address speaks OpenAI's shape, and the key of OpenRouter goes nowhere else.
    if tier.base_url.is_some()
        && let Some(model) = name.strip_prefix("openrouter/")
    {
        name = format!("openai_compatible/{model}");
    }
    let parsed: ModelName = tier.model.parse()?;
    let given =
        tier.prompt_usd_per_million.zip(tier.answer_usd_per_million).map(|(prompt, answer)| Prices { prompt, answer });
    let free = tier.free.then_some(Prices { prompt: 0.0, answer: 0.0 });
    let options = ModelOptions {
        name: Some(name),
        url: tier.base_url.clone(),
        agent_command: None,
        prices: given.or_else(|| prices.of(&parsed)).or(free),
        max_calls: u32::MAX,
        budget_usd: Some(budget_usd),
    };
    Ok(ModelAdvisor(Model::open_with(options, budget.clone(), ids.clone())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_read_from_one_word() {
        let tier: Tier = "openai_compatible/m,url=http://127.0.0.1:1/v1,prompt=0.5,answer=2".parse().unwrap();
        assert_eq!(
            (tier.prompt_usd_per_million, tier.answer_usd_per_million, tier.free),
            (Some(0.5), Some(2.0), false)
        );
        assert!("".parse::<Tier>().is_err() && "a/b,cheap".parse::<Tier>().is_err());
    }

    #[test]
    fn a_tier_without_a_price_or_with_a_negative_one_is_refused() {
        let budget = Budget::new(9, Some(1.0));
        let open = |word: &str| open(&word.parse().unwrap(), &PriceList::default(), &budget, 1.0, &Ids::random());
        let url = "openai_compatible/m,url=http://127.0.0.1:1/v1";
        assert!(open(url).unwrap_err().to_string().contains("price"));
        assert!(open(&format!("{url},prompt=-1,answer=0")).unwrap_err().to_string().contains("no price"));
        assert!(open(&format!("{url},free")).is_ok() && open(&format!("{url},prompt=0.1,answer=0.4")).is_ok());
    }
}
