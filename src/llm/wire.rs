//! The three wire shapes. Pure: a question as the body of a request, the body of an answer as a text with its counts.

use serde_json::{Value, json};
use url::Url;

use super::name::{ModelName, Provider};
use super::question::Prompt;

/// Most tokens of an answer; what a model thinks to itself counts as well.
pub(super) const MOST_ANSWER_TOKENS: u64 = 4000;

/// A request before it is sent.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) url: Url,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

/// What a provider said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) prompt_tokens: Option<u64>,
    pub(super) answer_tokens: Option<u64>,
    /// USD, where the provider says it.
    pub(super) cost_usd: Option<f64>,
}

/// The request that asks this.
pub(super) fn request(name: &ModelName, base: &Url, key: Option<&str>, prompt: &Prompt, schema: &Value) -> Request {
    let at = |path: &str| {
        let mut url = base.clone();
        url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
        url
    };
    let bearer = || key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
    match name.provider {
        Provider::Anthropic => Request {
            url: at("v1/messages"),
            headers: key
                .map(|key| ("x-api-key", key.to_owned()))
                .into_iter()
                .chain([("anthropic-version", "2023-06-01".to_owned())])
                .collect(),
            body: json!({
                "model": name.model,
                "max_tokens": MOST_ANSWER_TOKENS,
                "system": prompt.system,
                "messages": [{ "role": "user", "content": content(name.provider, prompt) }],
                "tools": [{ "name": "answer", "description": "Gives the answer.", "input_schema": schema }],
                "tool_choice": { "type": "tool", "name": "answer" },
            }),
        },
        Provider::Gemini => Request {
            url: at(&format!("v1beta/models/{}:generateContent", name.model)),
            headers: key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect(),
            body: json!({
                "systemInstruction": { "parts": [{ "text": prompt.system }] },
                "contents": [{ "role": "user", "parts": content(name.provider, prompt) }],
                "generationConfig": { "maxOutputTokens": MOST_ANSWER_TOKENS, "responseMimeType": "application/json" },
            }),
        },
        Provider::OpenAi | Provider::OpenRouter | Provider::OpenAiCompatible => {
            let own = name.provider == Provider::OpenAi;
            let mut body = json!({
                "model": name.model,
                (if own { "max_completion_tokens" } else { "max_tokens" }): MOST_ANSWER_TOKENS,
                "messages": [
                    { "role": "system", "content": prompt.system },
                    { "role": "user", "content": content(name.provider, prompt) },
                ],
            });
            // Servers that merely speak the shape may not know the field; the schema stands in the prompt too.
            if name.provider != Provider::OpenAiCompatible {
                body["response_format"] =
                    json!({ "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } });
            }
            Request { url: at("chat/completions"), headers: bearer(), body }
        }
    }
}

/// What the user says: a plain text where there is no picture.
fn content(provider: Provider, prompt: &Prompt) -> Value {
    let text = |key: &str| match key {
        "gemini" => json!({ "text": prompt.user }),
        _ => json!({ "type": "text", "text": prompt.user }),
    };
    let parts = |word: &str, one: fn(&String) -> Value| {
        Value::Array(std::iter::once(text(word)).chain(prompt.pictures.iter().map(one)).collect())
    };
    match provider {
        Provider::Gemini => parts("gemini", |data| json!({ "inlineData": { "mimeType": "image/png", "data": data } })),
        _ if prompt.pictures.is_empty() => Value::String(prompt.user.clone()),
        Provider::Anthropic => parts(
            "",
            |data| json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } }),
        ),
        Provider::OpenAi | Provider::OpenRouter | Provider::OpenAiCompatible => parts(
            "",
            |data| json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{data}") } }),
        ),
    }
}

/// What the body of an answer says.
pub(super) fn said(provider: Provider, body: &Value) -> Result<Said, String> {
    let count = |path: &[&str]| path.iter().map(|path| body.pointer(path)?.as_u64()).sum::<Option<u64>>();
    let either = |paths: &[&str]| paths.iter().filter_map(|path| body.pointer(path)?.as_u64()).sum::<u64>();
    match provider {
        Provider::Anthropic => {
            let blocks = body["content"].as_array().ok_or("it has no `content`")?;
            let call = blocks.iter().find(|block| block["type"] == "tool_use").map(|block| block["input"].to_string());
            let text = || blocks.iter().filter_map(|block| block["text"].as_str()).collect::<String>();
            let cached = either(&["/usage/cache_creation_input_tokens", "/usage/cache_read_input_tokens"]);
            Ok(Said {
                text: call.unwrap_or_else(text),
                prompt_tokens: count(&["/usage/input_tokens"]).map(|tokens| tokens + cached),
                answer_tokens: count(&["/usage/output_tokens"]),
                cost_usd: None,
            })
        }
        Provider::Gemini => {
            let Some(parts) = body.pointer("/candidates/0/content/parts").and_then(Value::as_array) else {
                let reason = [body.pointer("/candidates/0/finishReason"), body.pointer("/promptFeedback/blockReason")];
                let reason = reason.into_iter().flatten().find_map(Value::as_str);
                return Err(reason.map_or_else(|| "it has no candidate".to_owned(), |why| format!("it ended by {why}")));
            };
            let spoken = parts.iter().filter(|part| part["thought"] != true);
            Ok(Said {
                text: spoken.filter_map(|part| part["text"].as_str()).collect(),
                prompt_tokens: count(&["/usageMetadata/promptTokenCount"]),
                answer_tokens: count(&["/usageMetadata/candidatesTokenCount"])
                    .map(|tokens| tokens + either(&["/usageMetadata/thoughtsTokenCount"])),
                cost_usd: None,
            })
        }
        Provider::OpenAi | Provider::OpenRouter | Provider::OpenAiCompatible => {
            let message = body.pointer("/choices/0/message").ok_or("it has no choice")?;
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
                _ => message["refusal"].as_str().unwrap_or_default().to_owned(),
            };
            let cost = body.pointer("/usage/cost").and_then(Value::as_f64);
            Ok(Said {
                text,
                prompt_tokens: count(&["/usage/prompt_tokens"]),
                answer_tokens: count(&["/usage/completion_tokens"]),
                cost_usd: cost.filter(|cost| cost.is_finite() && *cost > 0.0),
            })
        }
    }
}

/// What a provider says of an error.
pub(super) fn problem(body: &Value) -> Option<&str> {
    ["/error/message", "/0/error/message", "/message", "/error"].iter().find_map(|path| body.pointer(path)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_says_its_answer_and_its_counts() {
        let anthropic = json!({
            "content": [{ "type": "text", "text": "Well." }, { "type": "tool_use", "input": { "number": 3 } }],
            "usage": { "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90 }
        });
        let openai = json!({
            "choices": [{ "message": { "content": "{\"number\":3}" } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 5, "cost": 0.25 }
        });
        let gemini = json!({
            "candidates": [{ "content": { "parts": [{ "text": "hm", "thought": true }, { "text": "{\"number\":3}" }] } }],
            "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 2, "thoughtsTokenCount": 3 }
        });
        for (provider, body, cost) in [
            (Provider::Anthropic, anthropic, None),
            (Provider::OpenRouter, openai, Some(0.25)),
            (Provider::Gemini, gemini, None),
        ] {
            let expected = Said {
                text: "{\"number\":3}".into(),
                prompt_tokens: Some(100),
                answer_tokens: Some(5),
                cost_usd: cost,
            };
            assert_eq!(said(provider, &body), Ok(expected), "{provider:?}");
        }
    }

    #[test]
    fn a_picture_travels_in_each_providers_shape_and_a_text_alone_stays_plain() {
        let mut prompt = Prompt { system: "s".into(), user: "u".into(), pictures: vec![] };
        assert_eq!(content(Provider::OpenRouter, &prompt), json!("u"));
        prompt.pictures.push("AAAA".into());
        assert_eq!(content(Provider::Anthropic, &prompt)[1]["source"]["data"], "AAAA");
        assert_eq!(content(Provider::Gemini, &prompt)[1]["inlineData"]["data"], "AAAA");
        assert_eq!(content(Provider::OpenAiCompatible, &prompt)[1]["image_url"]["url"], "data:image/png;base64,AAAA");
    }

    #[test]
    fn an_answer_of_another_shape_is_an_error() {
        for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Gemini] {
            assert!(said(provider, &json!({ "ok": true })).is_err(), "{provider:?}");
            assert!(said(provider, &json!([])).is_err(), "{provider:?}");
        }
        let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
        assert!(said(Provider::Gemini, &blocked).unwrap_err().contains("SAFETY"));
    }
}
