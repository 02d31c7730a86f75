//! The file-safe name of a route.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::Route;

/// The longest slug without a suffix, in bytes.
const LONGEST: usize = 100;
/// The longest slug of all.
const LIMIT: usize = 120;
/// Hex digits in the suffix of a slug that needed one; more when even that is taken.
const SUFFIX_DIGITS: [usize; 4] = [8, 16, 32, 64];

/// The file-safe name of a route: names its report, its bug report and its folder of screenshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Slug(String);

impl Slug {
    /// The slug of this route alone, before other routes of a campaign are looked at.
    ///
    /// ```
    /// use agent_test::route::{Route, Slug};
    /// let route = Route::parse("/settings/general").unwrap();
    /// assert_eq!(Slug::of(&route).as_str(), "settings_general");
    /// ```
    #[must_use]
    pub fn of(route: &Route) -> Self {
        let key = route.key();
        let (base, plain) = base(&key);
        if plain { Self(base) } else { suffixed(&base, &key, SUFFIX_DIGITS[0]) }
    }

    /// A slug that a file holds, when it is one that we could have made.
    #[must_use]
    pub fn from_file(text: &str) -> Option<Self> {
        let safe = !text.is_empty() && text.len() <= 160 && base(&format!("/{text}")) == (text.to_owned(), true);
        // Ours may be longer than the cut when a suffix was lengthened.
        let long = text.len() > LONGEST && text.len() <= 160 && text.chars().all(is_safe);
        (safe || long).then(|| Self(text.to_owned()))
    }

    /// The slug as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How slugs are compared: some file systems ignore case.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The name by the simple rule, and whether it holds as it is.
fn base(key: &str) -> (String, bool) {
    let name = key.strip_prefix('/').unwrap_or(key);
    if name.is_empty() {
        return ("root".to_owned(), true);
    }
    let mut plain = true;
    let mut out: String = name
        .chars()
        .map(|c| match c {
            '/' => '_',
            c if is_safe(c) => c,
            _ => {
                plain = false;
                '-'
            }
        })
        .collect();
    // A leading dot hides a file, a trailing one is dropped by Windows.
    if out.starts_with('.') || out.ends_with('.') {
        plain = false;
        out = out.trim_matches('.').to_owned();
        if out.is_empty() {
            out.push('-');
        }
    }
    let plain = plain && out.len() <= LONGEST && !is_device(&out);
    (out, plain)
}

/// Names that Windows keeps for devices, with any extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        _ => {
            let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
            numbered.is_some_and(|digit| digit.len() == 1 && digit.chars().all(|c| c.is_ascii_digit()))
        }
    }
}

fn suffixed(base: &str, key: &str, digits: usize) -> Slug {
    let hash = crate::store::sha256_hex(key);
    // A longer suffix takes its room from the name; one byte is left for the mark of a device.
    let room = LONGEST.saturating_sub(2 + SUFFIX_DIGITS[0]).min(LIMIT.saturating_sub(3 + digits));
    // Only ASCII is left in a base.
    let cut = base.get(..base.len().min(room)).unwrap_or(base).trim_end_matches('.');
    let device = if is_device(cut) { "-" } else { "" };
    Slug(format!("{device}{cut}--{}", hash.get(..digits).unwrap_or(&hash)))
}

/// The slugs of one campaign: each route's is given once and never moves.
#[derive(Clone, Debug, Default)]
pub struct Slugs {
    by_route: HashMap<String, Slug>,
    taken: HashSet<String>,
}

impl Slugs {
    /// Keeps a slug that was given before; says whether it was free.
    pub fn keep(&mut self, route: &Route, slug: Slug) -> bool {
        let free = self.taken.insert(slug.folded());
        self.by_route.insert(route.key().into_owned(), slug);
        free
    }

    /// The route's slug, given now when it has none.
    pub fn give(&mut self, route: &Route) -> Slug {
        let key = route.key();
        if let Some(slug) = self.by_route.get(key.as_ref()) {
            return slug.clone();
        }
        let mut slug = Slug::of(route);
        for digits in SUFFIX_DIGITS {
            if !self.taken.contains(&slug.folded()) {
                break;
            }
            slug = suffixed(&base(&key).0, &key, digits);
        }
        self.taken.insert(slug.folded());
        self.by_route.insert(key.into_owned(), slug.clone());
        slug
    }

    /// The route's slug, when it has one.
    #[must_use]
    pub fn get(&self, route: &Route) -> Option<&Slug> {
        self.by_route.get(route.key().as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slug(text: &str) -> String {
        Slug::of(&Route::parse(text).unwrap()).to_string()
    }

    #[test]
    fn plain_routes_follow_the_simple_rule() {
        assert_eq!(slug("/settings/general"), "settings_general");
        assert_eq!(slug("/users/roles/"), "users_roles");
        assert_eq!(slug("/a-b"), "a-b");
        assert_eq!(slug("/"), "root");
    }

    #[test]
    fn what_is_not_safe_in_a_file_name_gets_a_suffix() {
        insta::assert_snapshot!(slug("/con"), @"-con--a24d6b06");
        insta::assert_snapshot!(slug("/a:b"), @"a-b--0568d01c");
        insta::assert_snapshot!(slug("/#/users"), @"-_users--0fb800da");
        assert_ne!(slug("/a%20b"), slug("/a b"));
        assert!(slug(&format!("/{}", "x".repeat(300))).len() <= 100);
        assert!(!slug("/a.").ends_with('.'));
    }

    #[test]
    fn routes_of_one_campaign_never_share_a_slug_even_without_case() {
        let mut slugs = Slugs::default();
        let routes =
            ["/a/b", "/a_b", "/A", "/a", "/", "/root", "/con", "/CON", "/a:b", "/a?b", "/a.", "/nul.txt", "/com1"];
        let given: HashSet<_> = routes.iter().map(|r| slugs.give(&Route::parse(r).unwrap()).folded()).collect();
        assert_eq!(given.len(), routes.len());
    }

    proptest! {
        #[test]
        fn every_slug_is_a_valid_file_name_everywhere(text in "/\\PC{0,200}") {
            if let Ok(route) = Route::parse(&text) {
                let slug = Slug::of(&route);
                prop_assert!(slug.as_str().len() <= LONGEST && !slug.as_str().is_empty());
                prop_assert!(slug.as_str().chars().all(is_safe));
                prop_assert!(!is_device(slug.as_str()) && !slug.as_str().ends_with('.'));
                prop_assert!(Slug::from_file(slug.as_str()).is_some(), "{}", slug);
            }
        }

        #[test]
        fn however_many_routes_want_one_name_each_slug_stays_short(length in 80_usize..140, digits in 0_usize..4) {
            let (name, key) = ("x".repeat(length), "/x");
            prop_assert!(suffixed(&name, key, SUFFIX_DIGITS[digits]).as_str().len() <= LIMIT);
            prop_assert!(suffixed("con", key, SUFFIX_DIGITS[digits]).as_str().len() <= LIMIT);
        }

        #[test]
        fn distinct_routes_have_distinct_slugs(texts in proptest::collection::hash_set("/[aA_./: b%2]{0,6}", 1..20)) {
            let mut slugs = Slugs::default();
            let routes: HashSet<Route> = texts.iter().filter_map(|t| Route::parse(t).ok()).collect();
            let given: HashSet<String> = routes.iter().map(|r| slugs.give(r).folded()).collect();
            prop_assert_eq!(given.len(), routes.len());
        }
    }
}
