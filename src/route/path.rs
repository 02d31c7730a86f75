//! A route of the application under test.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use url::Url;

use super::RouteError;

/// A path of the application, with query and hash, as it was written. Compared without a trailing slash.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(transparent)]
pub struct Route(String);

/// A longer address is refused by every common server.
const LONGEST: usize = 8192;

impl Route {
    /// Parses a route: a path that begins with `/` and cannot leave the application.
    ///
    /// # Errors
    /// [`RouteError::NotARoute`] for an empty text, another origin, more than 8192 bytes, a backslash, NUL, `.` or `..` segments.
    ///
    /// ```
    /// use agent_test::route::Route;
    /// assert_eq!(Route::parse("/list?tab=2").unwrap().as_str(), "/list?tab=2");
    /// assert!(Route::parse("/../etc").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        if text.len() > LONGEST {
            let text = text.chars().take(60).chain(['…']).collect();
            return Err(RouteError::NotARoute { text, reason: "it is longer than 8192 bytes, which no server takes" });
        }
        // Almost every route is as plain as this.
        if is_plain(text.as_bytes()) {
            return Ok(Self(text.to_owned()));
        }
        let text = text.trim();
        let refuse = |reason| Err(RouteError::NotARoute { text: text.chars().take(200).collect(), reason });
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.starts_with("//")
            || text
                .split_once(':')
                .is_some_and(|(scheme, rest)| rest.starts_with("//") && !scheme.is_empty() && !scheme.contains('/'))
        {
            return refuse("it names another origin");
        }
        if !text.starts_with('/') {
            return refuse("it does not begin with `/`");
        }
        if text.contains('\\') {
            return refuse("it holds a backslash");
        }
        if text.contains('\0') {
            return refuse("it holds a NUL character");
        }
        if text.contains(|c: char| c.is_control() && c != '\t') {
            return refuse("it holds a control character");
        }
        let path = text.split(['?', '#']).next().unwrap_or(text);
        for segment in path.split('/') {
            // Browsers resolve the encoded forms too, and drop tabs and line ends before they do.
            let plain: String = segment.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
            if matches!(plain.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..") {
                return refuse("it holds a `.` or `..` segment");
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The route as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The route's identity: without the trailing slash of its path.
    #[must_use]
    pub fn key(&self) -> Cow<'_, str> {
        let end = self.0.find(['?', '#']).unwrap_or(self.0.len());
        let (path, rest) = self.0.split_at(end);
        let trimmed = path.trim_end_matches('/');
        if trimmed.len() == path.len() {
            Cow::Borrowed(&self.0)
        } else if trimmed.is_empty() {
            if path.len() == 1 { Cow::Borrowed(&self.0) } else { Cow::Owned(format!("/{rest}")) }
        } else if rest.is_empty() {
            Cow::Borrowed(trimmed)
        } else {
            Cow::Owned(format!("{trimmed}{rest}"))
        }
    }

    /// Where the route lies: below the base URL's path, with the route's query and hash.
    ///
    /// # Errors
    /// [`RouteError::BadBase`] when the base is not http or https.
    pub fn url(&self, base: &Url) -> Result<Url, RouteError> {
        if !matches!(base.scheme(), "http" | "https") {
            return Err(RouteError::BadBase { url: base.to_string(), reason: "it is not http or https" });
        }
        let (before_hash, hash) = match self.0.split_once('#') {
            Some((before, hash)) => (before, Some(hash)),
            None => (self.0.as_str(), None),
        };
        let (path, query) = match before_hash.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (before_hash, None),
        };
        let mut url = base.clone();
        url.set_path(&encode_controls(&format!("{}{path}", base.path().trim_end_matches('/'))));
        url.set_query(query.map(encode_controls).as_deref());
        url.set_fragment(hash.map(encode_controls).as_deref());
        Ok(url)
    }
}

/// Whether a text is a route at a glance: segments of letters, digits, `-` and `_`, each after one slash.
fn is_plain(text: &[u8]) -> bool {
    let mut after_slash = false;
    text.first() == Some(&b'/')
        && text.iter().all(|byte| {
            let slash = *byte == b'/';
            let fits = if slash { !after_slash } else { byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') };
            after_slash = slash;
            fits
        })
}

/// The URL parser would drop them.
fn encode_controls(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_ascii_control() {
            out.push_str(&format!("%{:02X}", c as u32));
        } else {
            out.push(c);
        }
        out
    })
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.0.as_bytes(), other.0.as_bytes());
        // Texts of one route differ first where one of them has its trailing slash.
        match one.iter().zip(two).find(|(a, b)| a != b) {
            Some((a, b)) if *a != b'/' && *b != b'/' => false,
            None if one.len() == two.len() => true,
            _ => self.key() == other.key(),
        }
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Route {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Route {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::str::FromStr for Route {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for Route {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(base: &str, route: &str) -> String {
        Route::parse(route).unwrap().url(&Url::parse(base).unwrap()).unwrap().to_string()
    }

    proptest::proptest! {
        #[test]
        fn routes_are_equal_when_their_keys_are(a in "/[ab/?#]{0,5}", b in "/[ab/?#]{0,5}") {
            if let (Ok(a), Ok(b)) = (Route::parse(&a), Route::parse(&b)) {
                proptest::prop_assert_eq!(a == b, a.key() == b.key());
            }
        }
    }

    #[test]
    fn a_route_is_opened_below_the_base_urls_path() {
        assert_eq!(opened("http://h:1", "/a/b"), "http://h:1/a/b");
        assert_eq!(opened("http://h/app", "/a?x=1#y"), "http://h/app/a?x=1#y");
        assert_eq!(opened("http://h/app/", "/"), "http://h/app/");
        assert_eq!(opened("http://h/app?old=1#old", "/#/users"), "http://h/app/#/users");
        assert_eq!(opened("http://h", "/a/"), "http://h/a/");
        assert_eq!(opened("http://h", "/a b"), "http://h/a%20b");
        assert_eq!(opened("http://h", "/a\tb"), "http://h/a%09b");
    }

    #[test]
    fn what_could_leave_the_application_is_no_route() {
        for text in
            ["", " ", "a", "//evil/x", "http://evil/x", "/a/../b", "/.", "/%2e%2E/x", "/a\\b", "/a\0b", "/.\t./x"]
        {
            assert!(Route::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_trailing_slash_makes_no_other_route_but_query_and_hash_do() {
        let route = |text| Route::parse(text).unwrap();
        assert_eq!(route("/a/"), route("/a"));
        assert_eq!(route("/a/?x=1"), route("/a?x=1"));
        assert_eq!(route("/#/users").key(), "/#/users");
        assert_ne!(route("/#/users"), route("/"));
        assert_ne!(route("/a?x=1"), route("/a"));
        assert_ne!(route("/#/a"), route("/#/a/"));
        assert_eq!(route("/a/").as_str(), "/a/");
    }

    #[test]
    fn an_address_that_no_server_takes_is_no_route() {
        let long = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
        assert!(Route::parse(&long(LONGEST)).is_ok());
        let error = Route::parse(&long(LONGEST + 1)).unwrap_err().to_string();
        assert!(error.contains("8192") && error.len() < 200, "{error}");
    }
}
