//! JSON that is edited in place: keys keep their order, values that are not touched keep their text.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::OnceLock;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A JSON object whose values are raw text. `depth` is how far its braces are indented.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    entries: Vec<(String, String)>,
    depth: usize,
    /// Where a key stands (its last place), once the object is too large to look through.
    index: OnceLock<HashMap<String, usize>>,
}

/// Objects of more keys are looked up by an index.
const SMALL: usize = 32;

impl Object {
    pub(super) fn new(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }

    pub(super) fn parse(text: &str, depth: usize) -> serde_json::Result<Self> {
        let mut object: Self = serde_json::from_str(text)?;
        object.depth = depth;
        Ok(object)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, text)| (key.as_str(), text.as_str()))
    }

    /// A key that stands more than once.
    pub(super) fn doubled(&self) -> Option<&str> {
        let mut seen = HashSet::new();
        self.entries().map(|(key, _)| key).find(|key| !seen.insert(*key))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value's text. Of a key that stands twice, the last counts, as everywhere.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(self.find(key)?).map(|(_, text)| text.as_str())
    }

    fn find(&self, key: &str) -> Option<usize> {
        if self.entries.len() <= SMALL {
            return self.entries.iter().rposition(|(name, _)| name == key);
        }
        let build = || self.entries.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        self.index.get_or_init(build).get(key).copied()
    }

    /// The value, when it is there and is of this type.
    pub(super) fn get_as<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// The value as an object one level deeper; an empty one when it is missing or something else.
    pub(super) fn object(&self, key: &str) -> Self {
        let empty = || Self::new(self.depth + 1);
        self.get(key).map_or_else(empty, |text| Self::parse(text, self.depth + 1).unwrap_or_else(|_| empty()))
    }

    /// Puts the value in the key's place, or at the end.
    pub(super) fn set(&mut self, key: &str, value: &impl Serialize) {
        let text = pretty(value, self.depth + 1);
        self.set_text(key, text);
    }

    pub(super) fn set_object(&mut self, key: &str, value: &Self) {
        self.set_text(key, value.render());
    }

    /// Puts a key at the end that is not there yet.
    pub(super) fn append(&mut self, key: &str, text: String) {
        self.entries.push((key.to_owned(), text));
        self.index.take();
    }

    pub(super) fn set_text(&mut self, key: &str, text: String) {
        match self.find(key).and_then(|place| self.entries.get_mut(place)) {
            Some((_, old)) => *old = text,
            None => {
                if let Some(index) = self.index.get_mut() {
                    index.insert(key.to_owned(), self.entries.len());
                }
                self.entries.push((key.to_owned(), text));
            }
        }
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<String> {
        let text = self.get(key)?.to_owned();
        self.entries.retain(|(name, _)| name != key);
        self.index.take();
        Some(text)
    }

    pub(super) fn render(&self) -> String {
        if self.entries.is_empty() {
            return "{}".to_owned();
        }
        let indent = "  ".repeat(self.depth + 1);
        let mut out = String::from("{");
        for (place, (key, text)) in self.entries.iter().enumerate() {
            out.push_str(if place == 0 { "\n" } else { ",\n" });
            out.push_str(&indent);
            out.push_str(&pretty(key, 0));
            out.push_str(": ");
            out.push_str(text);
        }
        out.push('\n');
        out.push_str(&"  ".repeat(self.depth));
        out.push('}');
        out
    }
}

/// The value as indented JSON; lines after the first are indented by `depth`.
pub(super) fn pretty(value: &impl Serialize, depth: usize) -> String {
    // Our own types hold nothing that cannot be serialised.
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| "null".to_owned());
    if depth == 0 { text } else { text.replace('\n', &format!("\n{}", "  ".repeat(depth))) }
}

/// A list at this depth, from the texts of its elements.
pub(super) fn render_list<'a>(texts: impl Iterator<Item = &'a str>, depth: usize) -> String {
    let mut out = String::from("[");
    let indent = "  ".repeat(depth + 1);
    for (place, text) in texts.enumerate() {
        out.push_str(if place == 0 { "\n" } else { ",\n" });
        out.push_str(&indent);
        out.push_str(text);
    }
    if out.len() > 1 {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(']');
    out
}

/// The texts of a list's elements.
pub(super) fn list_texts(text: &str) -> serde_json::Result<Vec<String>> {
    let elements: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(elements.into_iter().map(|element| element.get().to_owned()).collect())
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut object = Object::default();
                while let Some(key) = map.next_key::<String>()? {
                    let text: &RawValue = map.next_value()?;
                    object.entries.push((key, text.get().to_owned()));
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Reads a value leniently: another writer's odd type counts as absent.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(text.get()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_keeps_its_text_and_place() {
        let text = "{\n  \"b\": 1.0e+2,\n  \"a\": [ 1,2 ],\n  \"c\": 12345678901234567890123\n}";
        let mut object = Object::parse(text, 0).unwrap();
        assert_eq!(object.render(), text);
        object.set("a", &3);
        assert_eq!(object.render(), "{\n  \"b\": 1.0e+2,\n  \"a\": 3,\n  \"c\": 12345678901234567890123\n}");
    }
}
