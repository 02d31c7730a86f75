//! Prices of many models: OpenRouter's list, from its address or from a file.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::error::LlmError;
use super::name::{ModelName, Prices, Provider};

/// Prices by a model's name at OpenRouter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceList(BTreeMap<String, Prices>);

/// Largest list that is read.
const MOST_BYTES: usize = 16 << 20;

impl PriceList {
    /// Reads a list: `{"data": [{"id": …, "pricing": {"prompt": "0.0000001", "completion": …}}]}`, in USD for one token.
    ///
    /// A model whose price is variable (negative), missing or no number has none here.
    ///
    /// # Errors
    /// [`LlmError::PriceList`].
    pub fn parse(text: &str) -> Result<Self, LlmError> {
        let value: Value = serde_json::from_str(text).map_err(|error| LlmError::PriceList(error.to_string()))?;
        let models = value["data"].as_array().ok_or_else(|| LlmError::PriceList("it has no `data`".to_owned()))?;
        let number = |value: &Value| -> Option<f64> {
            let number = value.as_str().map_or_else(|| value.as_f64(), |text| text.trim().parse().ok())?;
            (number.is_finite() && number >= 0.0).then_some(number * 1e6)
        };
        let one = |model: &Value| {
            let pricing = &model["pricing"];
            // What is charged for each picture or request is not counted in tokens: such a model has no usable price.
            let extra = ["image", "request"].iter().any(|key| number(&pricing[*key]).is_some_and(|price| price > 0.0));
            let prices = Prices { prompt: number(&pricing["prompt"])?, answer: number(&pricing["completion"])? };
            (!extra).then_some((model["id"].as_str()?.to_owned(), prices))
        };
        Ok(Self(models.iter().filter_map(one).collect()))
    }

    /// Asks OpenRouter (or another address of its shape).
    ///
    /// # Errors
    /// [`LlmError::PriceList`].
    pub async fn fetch(base: Option<Url>) -> Result<Self, LlmError> {
        let failed = |error: String| LlmError::PriceList(error);
        let base =
            base.map_or_else(|| Provider::OpenRouter.address().unwrap_or_default().to_owned(), |url| url.to_string());
        let address = format!("{}/models", base.trim_end_matches('/'));
        // The list is public: no key is sent.
        let client = super::http::client(std::time::Duration::from_secs(30)).map_err(failed)?;
        let mut answer = client.get(&address).send().await.map_err(|error| failed(error.without_url().to_string()))?;
        if !answer.status().is_success() {
            return Err(failed(format!("its address answers {}", answer.status().as_u16())));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(error.without_url().to_string()))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err(failed("it is too long".to_owned()));
            }
        }
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// The price of a model.
    #[must_use]
    pub fn of(&self, name: &ModelName) -> Option<Prices> {
        self.0.get(&name.model).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_list_is_fetched_without_a_key() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/api/v1", listener.local_addr().unwrap())).unwrap();
        let list = |headers: axum::http::HeaderMap| async move {
            assert!(!headers.contains_key("authorization"));
            r#"{"data": [{"id": "a/b", "pricing": {"prompt": "0.000001", "completion": "0"}}]}"#
        };
        let app = axum::Router::new().route("/api/v1/models", axum::routing::get(list));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let fetched = PriceList::fetch(Some(base)).await.unwrap();
        assert!(fetched.of(&"openrouter/a/b".parse().unwrap()).is_some());
    }

    #[test]
    fn prices_are_read_and_a_variable_one_is_none() {
        let list = PriceList::parse(
            r#"{"data": [{"id": "a/b", "pricing": {"prompt": "0.00000025", "completion": "0.000002"}},
                {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}, {"id": "odd", "pricing": {"prompt": "x"}},
                {"id": "per/picture", "pricing": {"prompt": "0", "completion": "0", "image": "0.01"}}]}"#,
        )
        .unwrap();
        let of = |name: &str| list.of(&format!("openrouter/{name}").parse().unwrap());
        let prices = of("a/b").unwrap();
        assert!((prices.prompt - 0.25).abs() < 1e-9 && (prices.answer - 2.0).abs() < 1e-9);
        assert_eq!((of("auto"), of("odd"), of("per/picture"), of("none")), (None, None, None, None));
        assert!(PriceList::parse("[]").is_err());
    }
}
