//! Parameters and secrets: what goes into a step's words, into a recording, and never onto the disk. Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

/// A parameter of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a parameter's value is a text (a number in quotes), or `default` with `unique`")]
pub enum Param {
    /// Its value; part of the key of a recording.
    Plain(String),
    /// Its value, with more said of it.
    Marked {
        /// Its value; `{{run}}` in it is another word in each run.
        default: String,
        /// It is another one in each run: recordings hold a slot in its place.
        #[serde(default)]
        unique: bool,
    },
}

static PLACEHOLDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}").ok());

/// Names of the parameters that a text uses.
#[must_use]
pub fn placeholders(text: &str) -> Vec<String> {
    PLACEHOLDER
        .as_ref()
        .map_or_else(Vec::new, |regex| regex.captures_iter(text).map(|found| found[1].to_owned()).collect())
}

/// The values of one run of a flow.
#[derive(Clone, Debug, Default)]
pub struct Values {
    all: BTreeMap<String, String>,
    unique: Vec<String>,
}

impl Values {
    /// The parameters of a flow, with what the caller set, for the run with this word.
    ///
    /// # Errors
    /// A name that the flow does not have.
    pub fn new(params: &BTreeMap<String, Param>, given: &BTreeMap<String, String>, run: &str) -> Result<Self, String> {
        if let Some(name) = given.keys().find(|name| !params.contains_key(*name)) {
            return Err(name.clone());
        }
        let mut values = Self::default();
        values.all.insert("run".to_owned(), run.to_owned());
        for (name, param) in params {
            let (default, unique) = match param {
                Param::Plain(text) => (text, false),
                Param::Marked { default, unique } => (default, *unique),
            };
            let value = given.get(name).cloned().unwrap_or_else(|| default.replace("{{run}}", run));
            if unique {
                values.unique.push(name.clone());
            }
            values.all.insert(name.clone(), value);
        }
        Ok(values)
    }

    /// Sets what a step read.
    pub fn set(&mut self, name: &str, value: String) {
        self.all.insert(name.to_owned(), value);
        // It is this run's.
        self.unique.push(name.to_owned());
    }

    /// A text with the values in it.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        Self::replace(text, |name| self.all.get(name).cloned())
    }

    /// A text as the key sees it: marked values stay slots.
    #[must_use]
    pub fn key_text(&self, text: &str) -> String {
        Self::replace(
            text,
            |name| {
                if self.is_unique(name) { Some(slot(name, "raw")) } else { self.all.get(name).cloned() }
            },
        )
    }

    fn is_unique(&self, name: &str) -> bool {
        name == "run" || self.unique.iter().any(|unique| unique == name)
    }

    fn replace(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
        PLACEHOLDER.as_ref().map_or_else(
            || text.to_owned(),
            |regex| {
                regex
                    .replace_all(text, |found: &regex::Captures<'_>| {
                        value(&found[1]).unwrap_or_else(|| found[0].to_owned())
                    })
                    .into_owned()
            },
        )
    }

    /// Marked values with their spellings, the longest first.
    fn spellings(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, value) in self.all.iter().filter(|(name, value)| self.is_unique(name) && value.chars().count() >= 2)
        {
            for (how, text) in spelled(value) {
                if !all.iter().any(|(known, _): &(String, String)| *known == text) {
                    all.push((text, slot(name, how)));
                }
            }
        }
        all.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        all
    }

    /// Whether two marked values cannot be told apart, or one stands in an unmarked one.
    #[must_use]
    pub fn collide(&self) -> bool {
        let marked: Vec<&String> = self
            .all
            .iter()
            .filter(|(name, _)| name.as_str() != "run" && self.is_unique(name))
            .map(|(_, value)| value)
            .collect();
        let twice = (0..marked.len()).any(|at| marked[at + 1..].contains(&marked[at]));
        let plain = || self.all.iter().filter(|(name, _)| !self.is_unique(name)).map(|(_, value)| value);
        twice
            || marked
                .iter()
                .any(|value| value.chars().count() >= 2 && plain().any(|other| other.contains(value.as_str())))
    }

    /// A recorded text with slots in place of marked values.
    #[must_use]
    pub fn to_slots(&self, text: &str) -> String {
        let spellings = self.spellings();
        let mut done = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((value, slot)) = spellings.iter().find(|(value, _)| rest.starts_with(value.as_str())) {
                done.push_str(slot);
                rest = &rest[value.len()..];
            } else {
                let next = rest.chars().next().map_or(1, char::len_utf8);
                done.push_str(&rest[..next]);
                rest = &rest[next..];
            }
        }
        done
    }

    /// A recorded text with this run's values in its slots.
    ///
    /// # Errors
    /// The slot that no value fills.
    pub fn from_slots(&self, text: &str) -> Result<String, String> {
        let mut done = text.to_owned();
        for (name, value) in &self.all {
            for (how, spelling) in spelled(value) {
                done = done.replace(&slot(name, how), &spelling);
            }
        }
        match done.find("{{param:") {
            Some(at) => Err(done[at..].chars().take(60).collect()),
            None => Ok(done),
        }
    }
}

fn slot(name: &str, how: &str) -> String {
    if how == "raw" { format!("{{{{param:/{name}}}}}") } else { format!("{{{{param:/{name}:{how}}}}}") }
}

/// A value as it stands in texts, addresses, forms and slugs.
fn spelled(value: &str) -> [(&'static str, String); 4] {
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-")
        .replace("%5F", "_")
        .replace("%2E", ".")
        .replace("%7E", "~");
    let form = percent.replace("%20", "+");
    let words = value.to_lowercase();
    let slug =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    [("raw", value.to_owned()), ("percent", percent), ("form", form), ("slug", slug)]
}

/// The secrets of a run: kept out of everything that is written or shown.
#[derive(Clone, Default)]
pub struct Secrets(Vec<(String, String)>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// These secrets: name and value.
    #[must_use]
    pub fn new(all: Vec<(String, String)>) -> Self {
        let mut all = all;
        all.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self(all)
    }

    /// A secret's value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A text without them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().filter(|(_, value)| value.len() >= 3).fold(text.to_owned(), |text, (name, value)| {
            if text.contains(value.as_str()) { text.replace(value.as_str(), &format!("({name})")) } else { text }
        })
    }

    /// Whether a text holds one.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|(_, value)| value.len() >= 3 && text.contains(value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(params: &[(&str, &str, bool)]) -> Values {
        let params = params
            .iter()
            .map(|(name, value, unique)| {
                ((*name).to_owned(), Param::Marked { default: (*value).to_owned(), unique: *unique })
            })
            .collect();
        Values::new(&params, &BTreeMap::new(), "r1").unwrap()
    }

    #[test]
    fn marked_values_become_slots_in_every_spelling_and_are_filled_anew() {
        let first = values(&[("name", "Ada Löw", true)]);
        let recorded = first.to_slots("Hello Ada Löw at /u/Ada%20L%C3%B6w?q=Ada+L%C3%B6w and ada-löw");
        assert!(!recorded.contains("Ada") && !recorded.contains("ada"), "{recorded}");
        let next = values(&[("name", "Bo X", true)]);
        assert_eq!(next.from_slots(&recorded).unwrap(), "Hello Bo X at /u/Bo%20X?q=Bo+X and bo-x");
    }

    #[test]
    fn a_slot_that_nothing_fills_is_told() {
        assert!(values(&[]).from_slots("type {{param:/name}}").is_err());
    }

    #[test]
    fn the_key_sees_unmarked_values_and_no_marked_ones() {
        let values = values(&[("code", "SUMMER", false), ("user", "u-17", true)]);
        assert_eq!(values.key_text("apply {{code}} for {{user}}"), "apply SUMMER for {{param:/user}}");
        assert_eq!(values.fill("apply {{code}} for {{user}}"), "apply SUMMER for u-17");
    }

    #[test]
    fn values_that_cannot_be_told_apart_collide() {
        assert!(values(&[("a", "same", true), ("b", "same", true)]).collide());
        assert!(values(&[("a", "sum", true), ("b", "summer", false)]).collide());
        assert!(!values(&[("a", "one", true), ("b", "two", false)]).collide());
    }

    #[test]
    fn a_name_that_the_flow_does_not_have_is_told() {
        let given = BTreeMap::from([("coupon".to_owned(), "x".to_owned())]);
        assert_eq!(Values::new(&BTreeMap::new(), &given, "r").unwrap_err(), "coupon");
    }

    #[test]
    fn secrets_are_hidden_everywhere() {
        let secrets = Secrets::new(vec![("PIN".into(), "4711".into())]);
        assert_eq!(secrets.hide("pin 4711!"), "pin (PIN)!");
        assert!(secrets.are_in("x4711y") && !format!("{secrets:?}").contains("4711"));
    }
}
