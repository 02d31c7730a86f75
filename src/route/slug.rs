//! The file-safe name of a route.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use super::Route;
use crate::store::{DigestSet, table_digest};

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
///
/// Of the many routes whose slug follows from themselves only digests are kept.
#[derive(Clone, Debug, Default)]
pub struct Slugs {
    /// Slugs that do not follow from their route alone.
    odd: HashMap<String, Slug>,
    /// Routes (their keys) that have a slug which does.
    plain: DigestSet,
    /// Every slug, compared without case.
    taken: DigestSet,
}

impl Slugs {
    /// Room for this many routes.
    #[must_use]
    pub fn with_capacity(routes: usize) -> Self {
        let set = || DigestSet::with_capacity_and_hasher(routes, std::hash::BuildHasherDefault::default());
        Self { odd: HashMap::new(), plain: set(), taken: set() }
    }

    /// Keeps a slug that was given before; says whether it was free.
    pub fn keep(&mut self, route: &Route, slug: Slug) -> bool {
        let free = self.taken.insert(folded(slug.as_str().bytes()));
        self.odd.insert(route.key().into_owned(), slug);
        free
    }

    /// The route's slug, given now when it has none.
    pub fn give(&mut self, route: &Route) -> Slug {
        self.note(route);
        self.get(route).unwrap_or_else(|| Slug::of(route))
    }

    /// Gives the route a slug when it has none.
    pub fn note(&mut self, route: &Route) {
        let key = route.key();
        let key = key.as_ref();
        if !self.odd.is_empty() && self.odd.contains_key(key) {
            return;
        }
        let digest = table_digest(key.bytes());
        if is_its_own(key) {
            if self.plain.contains(&digest) {
                return;
            }
            if self.taken.insert(folded(key.bytes().skip(1).map(|byte| if byte == b'/' { b'_' } else { byte }))) {
                self.plain.insert(digest);
                return;
            }
        }
        let mut slug = Slug::of(route);
        for digits in SUFFIX_DIGITS {
            if !self.taken.contains(&folded(slug.as_str().bytes())) {
                break;
            }
            slug = suffixed(&base(key).0, key, digits);
        }
        self.taken.insert(folded(slug.as_str().bytes()));
        self.odd.insert(key.to_owned(), slug);
    }

    /// The route's slug, when it has one.
    #[must_use]
    pub fn get(&self, route: &Route) -> Option<Slug> {
        let key = route.key();
        match self.odd.get(key.as_ref()) {
            Some(slug) => Some(slug.clone()),
            None => self.plain.contains(&table_digest(key.bytes())).then(|| Slug::of(route)),
        }
    }

    /// The slugs that do not follow from their route alone, by the route's key; `/`, whose slug is fixed, among them.
    pub fn odd(&self) -> impl Iterator<Item = (&str, &Slug)> {
        self.odd.iter().map(|(key, slug)| (key.as_str(), slug))
    }
}

/// The digest of a slug, without regard to case: slugs are ASCII.
fn folded(slug: impl Iterator<Item = u8>) -> u64 {
    table_digest(slug.map(|byte| byte.to_ascii_lowercase()))
}

/// Whether a key is, at a glance, its own slug but for the slashes.
fn is_its_own(key: &str) -> bool {
    let name = key.strip_prefix('/').unwrap_or(key);
    !name.is_empty()
        && name.len() <= LONGEST
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/'))
        && (name.len() > 4 || !is_device(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

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
            // What was given is found again, and follows from the route alone unless it is told to be odd.
            for route in &routes {
                let slug = slugs.give(route);
                prop_assert_eq!(slugs.get(route), Some(slug.clone()));
                let odd = slugs.odd().any(|(key, _)| key == route.key());
                prop_assert!(odd || slug == Slug::of(route));
            }
        }
    }
}
