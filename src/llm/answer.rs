//! What a model answered, as a value. Pure. Lenient towards wrapping, strict towards content.

use serde::de::DeserializeOwned;

/// Reads the one JSON object in a text: bare, in a code fence, or with words around it.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = text.trim().trim_start_matches('\u{feff}');
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut problem = None;
    for (start, _) in text.match_indices('{').take(20) {
        let rest = text.get(start..).unwrap_or_default();
        match serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>().next() {
            Some(Ok(value)) => return serde_json::from_value(value).map_err(|error| error.to_string()),
            Some(Err(error)) => {
                problem.get_or_insert(error.to_string());
            }
            None => {}
        }
    }
    Err(problem.map_or_else(|| "it holds no JSON object".to_owned(), |problem| format!("it is no JSON ({problem})")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Pick {
        number: Option<u32>,
    }

    #[test]
    fn an_answer_is_found_in_its_wrapping() {
        for text in [
            r#"{"number": 3}"#,
            "```json\n{\"number\": 3}\n```",
            "Sure! Here it is: {\"number\": 3} Hope that helps {really}.",
            "{oh well} {\"number\": 3}",
        ] {
            assert_eq!(parse::<Pick>(text), Ok(Pick { number: Some(3) }), "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_says_why() {
        assert!(parse::<Pick>("I would press Save.").unwrap_err().contains("no JSON object"));
        assert!(parse::<Pick>("{\"number\": \"three\"}").unwrap_err().contains("three"));
        assert!(parse::<Pick>("{\"number\": 3").unwrap_err().contains("no JSON"));
        assert!(parse::<Pick>("").is_err());
    }
}
