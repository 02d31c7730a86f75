//! Addresses of pages.

use url::Url;

/// The part of an address that decides which page is shown: path, query, and the fragment when it is a route.
#[must_use]
pub fn page_key(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return url.to_owned() };
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let route = url
        .fragment()
        .filter(|f| f.starts_with('/') || f.starts_with("!/"))
        .map(|f| format!("#{f}"))
        .unwrap_or_default();
    format!("{}{}{query}{route}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_the_same_page_and_a_hash_route_is_another() {
        assert_eq!(page_key("http://a.b/x#top"), page_key("http://a.b/x"));
        assert_ne!(page_key("http://a.b/x#/users"), page_key("http://a.b/x"));
        assert_ne!(page_key("http://a.b/x?p=2"), page_key("http://a.b/x"));
    }
}
