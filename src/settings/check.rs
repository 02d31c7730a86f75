//! What a setting must not hold, wherever it comes from.

use url::Url;

use super::{Overrides, PartialLimits};

/// The first value that does not fit: the setting's name, and what is wrong with it.
#[must_use]
pub(super) fn misfit(set: &Overrides) -> Option<(&'static str, String)> {
    let PartialLimits { actions, depth, wall_time_s, settle_ms, screens, windows, page_nodes } = &set.limits;
    let wide = |value: &Option<u32>| value.map(u64::from);
    [
        ("batch_size", wide(&set.batch_size)),
        ("review_batch_size", wide(&set.review_batch_size)),
        ("workers", wide(&set.workers)),
        ("limits.actions", wide(actions)),
        ("limits.depth", wide(depth)),
        ("limits.wall_time_s", *wall_time_s),
        ("limits.settle_ms", *settle_ms),
        ("limits.screens", wide(screens)),
        ("limits.windows", wide(windows)),
        ("limits.page_nodes", wide(page_nodes)),
        ("model.max_calls", wide(&set.model.max_calls)),
    ]
    .into_iter()
    .find(|(_, value)| *value == Some(0))
    .map(|(name, _)| (name, "is 0, expected a number above 0".to_owned()))
    .or_else(|| {
        let model = &set.model;
        let (name, _) = [
            ("model.prompt_usd_per_million", model.prompt_usd_per_million),
            ("model.answer_usd_per_million", model.answer_usd_per_million),
            ("model.budget_usd", model.budget_usd),
        ]
        .into_iter()
        .find(|(_, usd)| usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0))?;
        Some((name, "is no amount of money, expected 0 or more USD".to_owned()))
    })
    .or_else(|| {
        let bad = set.own_origins.iter().flatten().find(|text| !is_origin(text))?;
        Some(("own_origins", format!("holds `{bad}`, expected an origin such as https://api.example.com")))
    })
    .or_else(|| {
        let [width, height] = set.viewport?;
        let fits = |side: u32| (100..=10_000).contains(&side);
        let said = format!("is {width}x{height}, expected 100 to 10000 pixels each way");
        (!fits(width) || !fits(height)).then_some(("viewport", said))
    })
    .or_else(|| {
        let bad = set.allow_request.iter().flatten().find(|text| !is_pattern(text))?;
        Some(("allow_request", format!("holds `{bad}`, expected a method and a path such as POST /api/search*")))
    })
}

/// Scheme, host and perhaps a port; nothing else.
fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https" | "ws" | "wss")
            && url.host().is_some()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && !text.contains(char::is_whitespace)
    })
}

/// A path or address, with the method before it or without one; `*` for any rest.
fn is_pattern(text: &str) -> bool {
    let place = match text.split_once(' ') {
        Some((method, place)) if !method.is_empty() && method.chars().all(|letter| letter.is_ascii_uppercase()) => {
            place
        }
        Some(_) => return false,
        None => text,
    };
    (place.starts_with('/') || place.starts_with('*') || place.starts_with("http://") || place.starts_with("https://"))
        && !place.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Config;

    fn told(text: &str) -> String {
        Config::from_toml(text).unwrap_err()
    }

    #[test]
    fn nothing_can_be_done_zero_times() {
        for key in ["workers", "batch_size", "review_batch_size"] {
            assert!(told(&format!("{key} = 0\n")).contains(key));
        }
        for key in ["actions", "depth", "wall_time_s", "settle_ms", "screens", "windows", "page_nodes"] {
            assert!(told(&format!("[limits]\n{key} = 0\n")).contains(key));
        }
    }

    #[test]
    fn a_price_is_an_amount_of_money() {
        for value in ["-1", "nan", "inf"] {
            assert!(told(&format!("[model]\nprompt_usd_per_million = {value}\n")).contains("amount of money"));
        }
        assert!(Config::from_toml("[model]\nanswer_usd_per_million = 0\n").is_ok());
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for good in ["https://api.example.com", "http://127.0.0.1:8080", "https://a.b/"] {
            assert!(is_origin(good), "{good}");
        }
        for bad in ["api.example.com", "", "https://a.b/path", "*", "https://a.b?x", "file:///etc", "https://me@a.b"] {
            assert!(!is_origin(bad), "{bad}");
        }
    }

    #[test]
    fn a_request_is_allowed_by_method_and_path() {
        for good in ["POST /api/search*", "/api/search", "PUT http://h/x", "* "].map(str::trim) {
            assert!(is_pattern(good), "{good}");
        }
        for bad in ["", "api/search", "post /x", "POST", "POST  /x", "POST x"] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
