//! Why a model gave no answer.

use crate::exit::{Exit, Explain};

/// Why a model gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LlmError {
    /// None is configured.
    #[error("this asks a model, and none is configured")]
    NotConfigured,
    /// Its name does not fit.
    #[error("`{name}` names no model: {problem}")]
    BadName {
        /// As given.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Its address does not fit.
    #[error("the model {model} cannot be asked at {url}: {problem}")]
    BadUrl {
        /// The model.
        model: String,
        /// The address.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Its key is missing.
    #[error("the model {model} needs a key, and the environment variable {variable} is not set")]
    NoKey {
        /// The model.
        model: String,
        /// Where the key is looked for.
        variable: &'static str,
    },
    /// A limit of money needs a price.
    #[error("a budget of {budget} USD was set, and the price of {model} is not known")]
    NoPrice {
        /// The model.
        model: String,
        /// The budget.
        budget: f64,
    },
    /// A price that is none.
    #[error("the price of {model} is {price}, which is no price")]
    BadPrice {
        /// The model.
        model: String,
        /// The price.
        price: f64,
    },
    /// A list of prices cannot be used.
    #[error("the list of prices cannot be used: {0}")]
    PriceList(String),
    /// The provider does not serve this request: a wrong key, an unknown model, a request it cannot read.
    #[error("{model} refuses the request ({status}): {message}")]
    Refused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// No usable answer came, however often it was tried.
    #[error("{model} gave no answer in {tries}: {message}")]
    Unreachable {
        /// The model.
        model: String,
        /// How often it was tried, as a text.
        tries: String,
        /// What came instead.
        message: String,
    },
    /// It answered something else than it was asked, twice.
    #[error("{model} answered twice what cannot be used: {problem}")]
    WrongAnswer {
        /// The model.
        model: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The external program failed.
    #[error("the agent command {problem}")]
    Agent {
        /// How.
        problem: String,
    },
    /// Nothing more may be spent.
    #[error("no model is asked any more: {limit}")]
    Spent {
        /// Which limit is reached.
        limit: String,
    },
}

impl LlmError {
    /// Whether asking again, for something else, would end the same way.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.exit() == Exit::Usage && !matches!(self, Self::Spent { .. })
    }
}

impl Explain for LlmError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } | Self::WrongAnswer { .. } | Self::Agent { .. } => Exit::Engine,
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotConfigured => format!(
                "name one with --model PROVIDER/MODEL, in {}, or as `name` below [model] in `agent-test.toml`; or a program of yours with --agent-command",
                crate::env::MODEL
            ),
            Self::BadName { .. } => {
                format!("write it as PROVIDER/MODEL; providers are {}", super::Provider::WORDS.join(", "))
            }
            Self::BadUrl { .. } => {
                format!("name the address with --model-url or in {}", crate::env::OPENAI_COMPATIBLE_BASE_URL)
            }
            Self::NoKey { variable, .. } => format!("set {variable}; a key is read from the environment only"),
            Self::NoPrice { .. } => {
                "set prompt_usd_per_million and answer_usd_per_million below [model] in `agent-test.toml` (0 when it is free)"
                    .to_owned()
            }
            Self::BadPrice { .. } | Self::PriceList(_) => {
                "name prices of 0 or more USD for a million tokens; a variable price cannot be kept within a budget".to_owned()
            }
            Self::Refused { .. } => "check the model's name and its key".to_owned(),
            Self::Unreachable { .. } | Self::WrongAnswer { .. } => "try again later, or name another model".to_owned(),
            Self::Agent { .. } => {
                "it gets one JSON document on stdin and answers one that fits its `schema` on stdout".to_owned()
            }
            Self::Spent { .. } => "raise --max-model-calls or --budget-usd".to_owned(),
        })
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotConfigured => "no_model",
            Self::BadName { .. } => "bad_model",
            Self::BadUrl { .. } => "bad_model_url",
            Self::NoKey { .. } => "no_model_key",
            Self::NoPrice { .. } => "no_model_price",
            Self::BadPrice { .. } => "bad_model_price",
            Self::PriceList(_) => "bad_price_list",
            Self::Refused { .. } => "model_refused",
            Self::Unreachable { .. } => "model_unreachable",
            Self::WrongAnswer { .. } => "model_wrong_answer",
            Self::Agent { .. } => "agent_failed",
            Self::Spent { .. } => "model_budget_spent",
        }
    }
}
