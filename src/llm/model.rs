//! A model that can be asked: configured, paid for, mistrusted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Host, Url};

use super::agent;
use super::answer::parse;
use super::budget::{Budget, CallRecord, ModelUse, Reserved};
use super::error::LlmError;
use super::http::{self, Sent};
use super::name::{ModelName, Prices, Provider};
use super::question::{Prompt, Question};
use super::wire::{self, MOST_ANSWER_TOKENS, Said};
use crate::store::Ids;
use crate::ui::counted;

/// Requests for one question before it is given up.
const TRIES: u32 = 3;
/// Seconds for one answer, unless told otherwise.
const LIMIT_S: u64 = 120;

/// Which model, and what it may cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelOptions {
    /// `PROVIDER/MODEL`.
    pub name: Option<String>,
    /// Its address, in place of the provider's own.
    pub url: Option<Url>,
    /// A program that answers in its place.
    pub agent_command: Option<String>,
    /// What it costs, when that is known.
    pub prices: Option<Prices>,
    /// Most requests.
    pub max_calls: u32,
    /// Most money, in USD.
    pub budget_usd: Option<f64>,
}

/// A model that can be asked. Cheap to clone; clones share its budget.
#[derive(Clone, Debug)]
pub struct Model(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: String,
    speaker: Speaker,
    prices: Option<Prices>,
    budget: Budget,
    limit: Duration,
    ids: Ids,
}

enum Speaker {
    Provider { name: ModelName, base: Url, key: Option<String>, client: reqwest::Client },
    Program(String),
}

impl std::fmt::Debug for Speaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Provider { name, .. } => write!(f, "{name}"),
            Self::Program(_) => f.write_str("agent command"),
        }
    }
}

/// An answer with what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// What was answered.
    pub value: T,
    /// Requests that it took.
    pub calls: u32,
    /// USD; none: not known.
    pub cost_usd: Option<f64>,
    /// Tokens of questions and answers, as far as they were counted.
    pub tokens: u64,
}

impl Model {
    /// Makes the configured model ready; nothing is asked yet.
    ///
    /// # Errors
    /// [`LlmError`], each of which the caller can mend.
    pub fn open(options: ModelOptions, ids: Ids) -> Result<Self, LlmError> {
        let budget = Budget::new(options.max_calls, options.budget_usd);
        Self::open_with(options, budget, ids)
    }

    /// The same with a budget that it shares with others.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_with(options: ModelOptions, budget: Budget, ids: Ids) -> Result<Self, LlmError> {
        let limit = crate::env::get(crate::env::MODEL_TIMEOUT).and_then(|text| text.trim().parse().ok());
        let limit = Duration::from_secs(limit.filter(|seconds| *seconds > 0).unwrap_or(LIMIT_S));
        let (label, speaker, prices) = match (options.agent_command, options.name) {
            // What a program of the user's costs, only the user knows.
            (Some(command), _) => ("agent command".to_owned(), Speaker::Program(command), options.prices),
            (None, None) => return Err(LlmError::NotConfigured),
            (None, Some(name)) => {
                let name: ModelName = name.parse()?;
                let label = name.to_string();
                let own = name.provider == Provider::OpenAiCompatible;
                let key = crate::env::get(name.provider.key_variable())
                    .or_else(|| crate::env::get(crate::env::VLMKIT_HEAL_BASEURL_KEY).filter(|_| own));
                let key = key.map(|key| key.trim().to_owned());
                let base = address(&name, options.url, key.is_some())?;
                if key.is_none() && name.provider != Provider::OpenAiCompatible {
                    return Err(LlmError::NoKey { model: label, variable: name.provider.key_variable() });
                }
                let client = http::client(limit).map_err(|message| LlmError::Unreachable {
                    model: label.clone(),
                    tries: "no try".to_owned(),
                    message,
                })?;
                (label, Speaker::Provider { name, base, key, client }, options.prices)
            }
        };
        if let Some(price) = prices
            .into_iter()
            .flat_map(|prices| [prices.prompt, prices.answer])
            .find(|price| !price.is_finite() || *price < 0.0)
        {
            return Err(LlmError::BadPrice { model: label, price });
        }
        if let (Some(budget), None) = (options.budget_usd, prices) {
            return Err(LlmError::NoPrice { model: label, budget });
        }
        Ok(Self(Arc::new(Inner { label, speaker, prices, budget, limit, ids })))
    }

    /// `PROVIDER/MODEL`, or `agent command`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// What was spent by it and by everybody who shares its budget.
    #[must_use]
    pub fn spent(&self) -> ModelUse {
        self.0.budget.spent()
    }

    /// Asks. An answer that does not fit its type or `check` is told to the model once; the second one is an error.
    ///
    /// # Errors
    /// [`LlmError`].
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        question: &Question,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> Result<Answer<T>, LlmError> {
        let schema = SchemaSettings::draft2020_12()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .into_generator()
            .into_root_schema_for::<T>()
            .to_value();
        let mut wrong = None;
        let mut taken = Taken { calls: 0, cost_usd: Some(0.0), tokens: 0 };
        for _ in 0..2 {
            let prompt = question.prompt(&self.0.ids.token(), &schema, wrong.as_deref());
            let text = self.say(question.purpose, &prompt, &schema, &mut taken).await?;
            match parse::<T>(&text).and_then(|value| check(&value).map(|()| value)) {
                Ok(value) => {
                    let Taken { calls, cost_usd, tokens } = taken;
                    return Ok(Answer { value, calls, cost_usd, tokens });
                }
                Err(problem) => wrong = Some(problem),
            }
        }
        Err(LlmError::WrongAnswer { model: self.0.label.clone(), problem: wrong.unwrap_or_default() })
    }

    async fn say(
        &self,
        purpose: &'static str,
        prompt: &Prompt,
        schema: &Value,
        taken: &mut Taken,
    ) -> Result<String, LlmError> {
        let inner = &*self.0;
        let worst = inner.prices.map(|prices| prices.cost(prompt.most_tokens(schema), MOST_ANSWER_TOKENS));
        let mut tries = 0;
        loop {
            tries += 1;
            let reserved = inner.budget.reserve(worst)?;
            let began = Instant::now();
            let ended = inner.once(purpose, prompt, schema).await;
            let (cost, message) = inner.settle(purpose, reserved, began, &ended);
            taken.add(cost);
            if let Ended::Said(said) = &ended {
                taken.tokens += said.prompt_tokens.unwrap_or(0) + said.answer_tokens.unwrap_or(0);
            }
            match ended {
                Ended::Said(said) => return Ok(said.text),
                Ended::Program(problem) => return Err(LlmError::Agent { problem }),
                Ended::Refused { status, message } => {
                    return Err(LlmError::Refused { model: inner.label.clone(), status, message });
                }
                Ended::Again { after, late, .. } => {
                    let pause = http::next_pause(tries, after);
                    // Who is silent for the whole time once is asked once more, not twice.
                    let most = if late { TRIES - 1 } else { TRIES };
                    let Some(pause) = pause.filter(|_| tries < most) else {
                        let tries = counted(tries as usize, "try");
                        return Err(LlmError::Unreachable { model: inner.label.clone(), tries, message });
                    };
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

struct Taken {
    calls: u32,
    cost_usd: Option<f64>,
    tokens: u64,
}

impl Taken {
    fn add(&mut self, cost: Option<f64>) {
        self.calls += 1;
        self.cost_usd = self.cost_usd.zip(cost).map(|(sum, cost)| sum + cost);
    }
}

/// How one request ended.
enum Ended {
    Said(Said),
    Refused { status: u16, message: String },
    Again { message: String, after: Option<Duration>, late: bool },
    Program(String),
}

impl Inner {
    async fn once(&self, purpose: &str, prompt: &Prompt, schema: &Value) -> Ended {
        match &self.speaker {
            Speaker::Program(command) => match agent::ask(command, purpose, prompt, schema, self.limit).await {
                Ok(text) => Ended::Said(Said { text, ..Said::default() }),
                Err(problem) => Ended::Program(problem),
            },
            Speaker::Provider { name, base, key, client } => {
                let request = wire::request(name, base, key.as_deref(), prompt, schema);
                match http::send(client, &request, key.as_deref()).await {
                    Sent::Refused { status, message } => Ended::Refused { status, message },
                    Sent::Again { message, after, may_cost } => Ended::Again { message, after, late: may_cost },
                    Sent::Answer(body) => match wire::said(name.provider, &body) {
                        Ok(said) => Ended::Said(said),
                        Err(problem) => {
                            let message = format!("its answer has an unknown shape: {problem}");
                            Ended::Again { message, after: None, late: true }
                        }
                    },
                }
            }
        }
    }

    /// Writes the request into the ledger; gives back what it cost, and what came in place of an answer.
    fn settle(&self, purpose: &str, reserved: Reserved, began: Instant, ended: &Ended) -> (Option<f64>, String) {
        let worst = self.prices.map(|_| reserved.worst());
        let free = self.prices.map(|_| 0.0);
        let (said, cost, message) = match ended {
            Ended::Said(said) => {
                let counted = said.prompt_tokens.zip(said.answer_tokens);
                let by_price = self
                    .prices
                    .map(|prices| counted.map_or(reserved.worst(), |(prompt, answer)| prices.cost(prompt, answer)));
                (Some(said), said.cost_usd.or(by_price), String::new())
            }
            Ended::Again { message, late, .. } => (None, if *late { worst } else { free }, message.clone()),
            Ended::Refused { status, message } => (None, free, format!("{status}: {message}")),
            Ended::Program(problem) => (None, worst, problem.clone()),
        };
        reserved.settle(CallRecord {
            purpose: purpose.to_owned(),
            model: self.label.clone(),
            prompt_tokens: said.and_then(|said| said.prompt_tokens),
            answer_tokens: said.and_then(|said| said.answer_tokens),
            cost_usd: cost,
            duration_ms: began.elapsed().as_millis() as u64,
            outcome: if said.is_some() { "answered".to_owned() } else { message.clone() },
        });
        (cost, message)
    }
}

/// Where the model is asked.
fn address(name: &ModelName, url: Option<Url>, has_key: bool) -> Result<Url, LlmError> {
    let bad = |url: &str, problem| LlmError::BadUrl { model: name.to_string(), url: url.to_owned(), problem };
    let own = match name.provider {
        Provider::OpenAiCompatible => crate::env::get(crate::env::OPENAI_COMPATIBLE_BASE_URL),
        provider => provider.address().map(str::to_owned),
    };
    let url = match (url, own) {
        (Some(url), _) => url,
        (None, Some(text)) => Url::parse(text.trim()).map_err(|_| bad("the address given", "it is no address"))?,
        (None, None) => return Err(bad("no address", "this provider has none of its own")),
    };
    // Never with what stands before the host or behind the path: that may be a secret.
    let shown = match url.host() {
        Some(_) => url.origin().ascii_serialization(),
        None => format!("`{}:…`", url.scheme()),
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(bad(&shown, "it is no http or https address"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(bad(
            &shown,
            "it holds credentials or a query, which would be shown; a key comes by its own variable",
        ));
    }
    if has_key && url.scheme() == "http" && !is_here(&url) {
        return Err(bad(&shown, "its key would travel unencrypted"));
    }
    Ok(url)
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str, has_key: bool) -> Result<Url, LlmError> {
        let name: ModelName = "openai_compatible/m".parse().unwrap();
        address(&name, Some(Url::parse(url).unwrap()), has_key)
    }

    #[test]
    fn a_key_does_not_travel_unencrypted() {
        assert!(at("http://127.0.0.1:8080/v1", true).is_ok() && at("https://llm.example.com/v1", true).is_ok());
        assert!(at("http://llm.example.com/v1", true).is_err() && at("http://llm.example.com/v1", false).is_ok());
    }

    #[test]
    fn an_address_with_a_secret_is_refused_without_showing_it() {
        for url in ["https://me:geheim@h/v1", "https://h/v1?key=geheim"] {
            let error = at(url, false).unwrap_err().to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn without_configuration_there_is_no_model() {
        let error = Model::open(ModelOptions::default(), Ids::random()).unwrap_err();
        assert!(matches!(error, LlmError::NotConfigured));
    }

    #[test]
    fn an_address_without_a_host_is_told_by_its_scheme() {
        let error = at("javascript:geheim", false).unwrap_err().to_string();
        assert!(error.contains("javascript:") && !error.contains("geheim") && !error.contains("null"), "{error}");
    }
}
