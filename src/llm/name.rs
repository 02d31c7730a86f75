//! Which model: provider, name, price. Pure.

use std::fmt;
use std::str::FromStr;

use super::error::LlmError;

/// Who serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI chat completions.
    OpenAi,
    /// Gemini generateContent.
    Gemini,
    /// OpenRouter, in OpenAI's shape.
    OpenRouter,
    /// Anything else in OpenAI's shape: a local server, a gateway.
    OpenAiCompatible,
}

impl Provider {
    /// Every provider's word.
    pub const WORDS: [&'static str; 5] = ["anthropic", "openai", "gemini", "openrouter", "openai_compatible"];

    const ALL: [Self; 5] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::OpenRouter, Self::OpenAiCompatible];

    /// The environment variable that holds its key.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => crate::env::ANTHROPIC_API_KEY,
            Self::OpenAi => crate::env::OPENAI_API_KEY,
            Self::Gemini => crate::env::GEMINI_API_KEY,
            Self::OpenRouter => crate::env::OPENROUTER_API_KEY,
            Self::OpenAiCompatible => crate::env::OPENAI_COMPATIBLE_API_KEY,
        }
    }

    /// Where it is, unless told otherwise.
    #[must_use]
    pub fn address(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::OpenRouter => Some("https://openrouter.ai/api/v1"),
            Self::OpenAiCompatible => None,
        }
    }
}

/// A provider and one of its models: `openai/gpt-4o-mini`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// Who serves it.
    pub provider: Provider,
    /// Its name there; may hold slashes.
    pub model: String,
}

impl FromStr for ModelName {
    type Err = LlmError;

    fn from_str(text: &str) -> Result<Self, LlmError> {
        let bad = |problem: &str| LlmError::BadName { name: text.to_owned(), problem: problem.to_owned() };
        let (word, model) = text.trim().split_once('/').ok_or_else(|| bad("the provider or the model is missing"))?;
        let provider = Provider::ALL
            .into_iter()
            .zip(Provider::WORDS)
            .find(|(_, known)| word.eq_ignore_ascii_case(known))
            .map(|(provider, _)| provider)
            .ok_or_else(|| bad(&format!("there is no provider `{word}`")))?;
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c);
        if model.is_empty() || !model.chars().all(fits) || model.split('/').any(|part| matches!(part, "" | "." | ".."))
        {
            return Err(bad("the model's name is empty or holds a character that no name has"));
        }
        Ok(Self { provider, model: model.to_owned() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Provider::ALL.iter().zip(Provider::WORDS).find(|(known, _)| **known == self.provider);
        write!(f, "{}/{}", word.map_or("", |(_, word)| word), self.model)
    }
}

/// What a model costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// USD for a million tokens of the question.
    pub prompt: f64,
    /// USD for a million tokens of the answer.
    pub answer: f64,
}

impl Prices {
    /// What so many tokens cost, in USD.
    #[must_use]
    pub fn cost(self, prompt_tokens: u64, answer_tokens: u64) -> f64 {
        (prompt_tokens as f64 * self.prompt + answer_tokens as f64 * self.answer) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_by_its_provider_and_its_name_there() {
        for text in ["openai/gpt-4o-mini", "openrouter/anthropic/claude-3.5-haiku", "openai_compatible/qwen3:8b"] {
            assert_eq!(text.parse::<ModelName>().unwrap().to_string(), text);
        }
        for text in ["gpt-4o", "openai/", "nobody/x", "gemini/../../x", "gemini/a b", "gemini/x?key=1", ""] {
            assert!(text.parse::<ModelName>().is_err(), "{text}");
        }
    }

    #[test]
    fn cost_is_tokens_times_price() {
        let cost = Prices { prompt: 3.0, answer: 15.0 }.cost(1_000_000, 100_000);
        assert!((cost - 4.5).abs() < 1e-9);
    }
}
