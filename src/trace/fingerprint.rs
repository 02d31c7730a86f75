//! Fingerprints: what makes two bugs the same bug (seed 000; `trace-and-verify.md` 1.4 to 1.6).
//!
//! Three keys of 16 hex digits, each the first 8 bytes of a SHA-256 over its parts joined by NUL:
//! the legacy one over action text, tool and error code; V2 over category, URL template, role + name and signal; V3 adds
//! the failing endpoint or the exception's type and top frame.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use url::Url;

/// What a bug's fingerprints are made of, unhashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FingerprintParts {
    /// Version of the rule: 2.
    pub version: u32,
    /// The oracle that failed: navigation, interaction, assertion, network, page-error or timeout.
    pub category: String,
    /// URL template.
    pub location: String,
    /// Accessible role of the target; empty for a bug of the document.
    #[serde(default)]
    pub role: String,
    /// Accessible name of the target.
    #[serde(default)]
    pub name: String,
    /// Coarse class of the error.
    pub signal: String,
    /// V3 only: failing endpoint's template with its status, or the exception's type with its top frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl FingerprintParts {
    /// The seed's V2 key.
    #[must_use]
    pub fn v2(&self) -> String {
        hash(&[&self.category, &self.location, &self.role, &self.name, &self.signal])
    }

    /// The finer key: V2's parts with counts stripped from the name, and the detail.
    #[must_use]
    pub fn v3(&self) -> String {
        let name = strip_numbers(&self.name);
        hash(&[&self.category, &self.location, &self.role, &name, &self.signal, &self.detail])
    }
}

impl FingerprintParts {
    /// The key of a failing endpoint or an exception wherever it shows: the same cause on many pages, behind many controls.
    /// None where only the place tells bugs apart.
    #[must_use]
    pub fn cause(&self) -> Option<String> {
        (!self.detail.is_empty()).then(|| hash(&[&self.category, &self.signal, &self.detail]))
    }
}

/// The legacy key: action text, tool and a small error code.
#[must_use]
pub fn legacy(action: &str, tool: &str, error_code: &str) -> String {
    hash(&[action, tool, error_code])
}

fn hash(parts: &[&str]) -> String {
    let joined: Vec<String> = parts.iter().map(|part| part.nfc().collect::<String>()).collect();
    crate::store::sha256_hex(joined.join("\0")).chars().take(16).collect()
}

/// Collapses white space and removes private-use characters (icon fonts).
#[must_use]
pub fn normal_name(name: &str) -> String {
    let visible: String = name.nfc().filter(|c| !('\u{e000}'..='\u{f8ff}').contains(c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes numbers, ids and times from a text.
#[must_use]
pub fn strip_numbers(text: &str) -> String {
    static VARYING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?|\b0x[0-9a-f]+\b|\(?\d+([.,:]\d+)*\)?",
        )
        .ok()
    });
    let stripped = VARYING.as_ref().map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, "").into_owned());
    stripped.split_whitespace().collect::<Vec<_>>().join(" ")
}

const TRACKING: &[&str] =
    &["gclid", "gbraid", "wbraid", "fbclid", "msclkid", "mc_cid", "mc_eid", "_ga", "_gl", "yclid", "igshid"];

/// The address with everything that varies between visits replaced (`trace-and-verify.md` 1.6).
///
/// Host in lower case without `www.`, default port and trailing slash removed, ids as `:id`, times as `:ts`, tracking
/// parameters dropped, the rest of the query sorted; the fragment only when it is a route.
#[must_use]
pub fn url_template(url: &Url) -> String {
    let host = url.host_str().unwrap_or("").to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host).to_owned();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), path_template(url))
}

/// Like [`url_template`], without scheme, host and port.
#[must_use]
pub fn path_template(url: &Url) -> String {
    let segments: Vec<String> =
        url.path().split('/').filter(|segment| !segment.is_empty()).map(segment_template).collect();
    let mut text = format!("/{}", segments.join("/"));
    let mut query: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(key, _)| !key.starts_with("utm_") && !TRACKING.contains(&key.as_ref()))
        .map(|(key, value)| (key.into_owned(), segment_template(&value)))
        .collect();
    query.sort();
    if !query.is_empty() {
        let pairs: Vec<String> = query.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        text.push('?');
        text.push_str(&pairs.join("&"));
    }
    if let Some(fragment) = url.fragment().filter(|fragment| fragment.starts_with('/') || fragment.starts_with("!/")) {
        let parts: Vec<String> = fragment.split('/').map(segment_template).collect();
        text.push('#');
        text.push_str(&parts.join("/"));
    }
    text
}

fn segment_template(segment: &str) -> String {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\d{2}-\d{2}([T_ ]\d{2}[:-]?\d{2}([:-]?\d{2}(\.\d+)?)?Z?)?$").ok());
    static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26})$").ok()
    });
    let is = |regex: &LazyLock<Option<Regex>>| regex.as_ref().is_some_and(|regex| regex.is_match(segment));
    let all_digits = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    if is(&TIME) || (all_digits && is_epoch(segment)) {
        return ":ts".to_owned();
    }
    let is_hex = segment.len() >= 8
        && segment.bytes().all(|byte| byte.is_ascii_hexdigit())
        && segment.bytes().any(|byte| byte.is_ascii_digit());
    if all_digits || is_hex || is(&UUID) {
        return ":id".to_owned();
    }
    segment.to_owned()
}

/// Ten digits (seconds) or thirteen (milliseconds) between 2001 and 2100.
fn is_epoch(digits: &str) -> bool {
    let Ok(number) = digits.parse::<u64>() else { return false };
    match digits.len() {
        10 => (1_000_000_000..4_102_444_800).contains(&number),
        13 => (1_000_000_000_000..4_102_444_800_000).contains(&number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> String {
        url_template(&Url::parse(text).expect("a valid address"))
    }

    #[test]
    fn numeric_ids_uuids_and_times_are_templated() {
        assert_eq!(template("http://a.b/users/1"), template("http://a.b/users/2"));
        assert_eq!(template("http://a.b/u/018f6f9e-0d5c-7c0e-b0a3-3f2f7d1a9c11"), "http://a.b/u/:id");
        assert_eq!(template("http://a.b/log/1767225600"), "http://a.b/log/:ts");
        assert_eq!(template("http://a.b/log/2026-05-02T10:15:00Z"), "http://a.b/log/:ts");
    }

    #[test]
    fn words_with_digits_are_not_ids() {
        assert_eq!(template("http://a.b/v1/2fa"), "http://a.b/v1/2fa");
        assert_ne!(template("http://a.b/a/1"), template("http://a.b/b/1"));
    }

    #[test]
    fn host_case_www_default_port_slash_tracking_and_order_do_not_matter_but_the_port_does() {
        assert_eq!(template("http://WWW.A.b:80/x/?b=2&a=z&utm_source=m"), template("http://a.b/x?a=z&b=9"));
        assert_ne!(template("http://a.b:8080/x"), template("http://a.b/x"));
    }

    #[test]
    fn a_hash_route_is_kept_and_an_anchor_is_dropped() {
        assert_eq!(template("http://a.b/#/users/7"), "http://a.b/#/users/:id");
        assert_eq!(template("http://a.b/#top"), "http://a.b/");
    }

    #[test]
    fn parts_hash_to_their_keys_and_each_part_counts() {
        let parts = FingerprintParts {
            version: 2,
            category: "network".into(),
            location: "http://a.b/x".into(),
            role: "button".into(),
            name: "Cart (3)".into(),
            signal: "http-5xx".into(),
            detail: "GET /api/a 500".into(),
        };
        assert_eq!(parts.v2().len(), 16);
        let other_detail = FingerprintParts { detail: "GET /api/b 500".into(), ..parts.clone() };
        assert_eq!(parts.v2(), other_detail.v2());
        assert_ne!(parts.v3(), other_detail.v3());
        let other_count = FingerprintParts { name: "Cart (4)".into(), ..parts.clone() };
        assert_ne!(parts.v2(), other_count.v2());
        assert_eq!(parts.v3(), other_count.v3());
        for changed in [
            FingerprintParts { category: "interaction".into(), ..parts.clone() },
            FingerprintParts { role: "link".into(), ..parts.clone() },
            FingerprintParts { signal: "http-404".into(), ..parts.clone() },
        ] {
            assert_ne!(parts.v2(), changed.v2());
        }
    }

    #[test]
    fn the_legacy_key_is_stable() {
        assert_eq!(legacy("Click Save", "click", "http-500"), legacy("Click Save", "click", "http-500"));
        assert_ne!(legacy("Click Save", "click", "http-500"), legacy("Click Save", "press", "http-500"));
    }
}
