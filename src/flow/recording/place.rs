//! Where a screen is: a route in a form that survives new ids and nothing else. Pure.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

/// A route as recordings name it: the path, the sorted query, a hash route; ids as `{id}`; the origin only when it is not
/// the application's.
#[must_use]
pub fn place(url: &str, base: &Url) -> String {
    let Ok(url) = Url::parse(url) else { return url.to_owned() };
    let origin = if url.origin() == base.origin() { String::new() } else { url.origin().ascii_serialization() };
    let path = segments(url.path());
    let mut terms: Vec<String> = url
        .query_pairs()
        .map(|(key, value)| format!("{key}={}", if is_minted_value(&value) { "{id}" } else { &value }))
        .collect();
    terms.sort();
    let query = if terms.is_empty() { String::new() } else { format!("?{}", terms.join("&")) };
    let hash = url.fragment().filter(|hash| hash.starts_with('/') || hash.starts_with("!/"));
    let hash = hash.map(|hash| format!("#{}", segments(hash))).unwrap_or_default();
    format!("{origin}{path}{query}{hash}")
}

/// Whether an address is a place of an application at all: a new window has none.
#[must_use]
pub fn has_place(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn segments(path: &str) -> String {
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
    path.split('/').map(|segment| if is_minted(segment) { "{id}" } else { segment }).collect::<Vec<_>>().join("/")
}

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

static MINTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"^(?:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8,}|\d+|[A-Za-z]+-\d{2,})$",
    )
});
static MINTED_VALUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| regex(r"^(?:\d{4}-\d{2}-\d{2}.*|[A-Za-z0-9+/_-]{16,}={0,2}|[\w-]+(?:[.:][\w-]+){2,})$"));

/// Whether a part of a path looks as if a machine had made it for this one thing.
fn is_minted(segment: &str) -> bool {
    let digits = segment.chars().filter(char::is_ascii_digit).count();
    let letters = segment.chars().any(char::is_alphabetic);
    let mixed = segment.chars().count() >= 12 && letters && digits >= 2;
    let spaced = segment.chars().any(char::is_whitespace);
    mixed || spaced || MINTED.as_ref().is_some_and(|regex| regex.is_match(segment))
}

fn is_minted_value(value: &str) -> bool {
    let digits = value.chars().any(|c| c.is_ascii_digit());
    is_minted(value) || (digits && MINTED_VALUE.as_ref().is_some_and(|regex| regex.is_match(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> String {
        place(url, &Url::parse("http://a.b:1/").unwrap())
    }

    #[test]
    fn ids_become_slots_and_words_stay() {
        assert_eq!(at("http://a.b:1/orders/17/edit"), "/orders/{id}/edit");
        assert_eq!(at("http://a.b:1/orders/ABC-1234"), "/orders/{id}");
        assert_eq!(at("http://a.b:1/u/0192aaaa-0000-4000-8000-0123456789ab"), "/u/{id}");
        assert_eq!(at("http://a.b:1/blog/how-to-save"), "/blog/how-to-save");
    }

    #[test]
    fn the_query_is_sorted_and_its_words_count() {
        assert_eq!(at("http://a.b:1/x?b=2&a=safe"), "/x?a=safe&b={id}");
        assert_ne!(at("http://a.b:1/x?mode=unsafe"), at("http://a.b:1/x?mode=safe"));
        assert_ne!(at("http://a.b:1/x?utm=mail"), at("http://a.b:1/x"));
    }

    #[test]
    fn a_fragment_counts_only_as_a_hash_route() {
        assert_eq!(at("http://a.b:1/x#top"), "/x");
        assert_eq!(at("http://a.b:1/#/orders/7"), "/#/orders/{id}");
    }

    #[test]
    fn another_origin_is_another_screen() {
        assert_eq!(at("http://c.d/x"), "http://c.d/x");
    }
}
