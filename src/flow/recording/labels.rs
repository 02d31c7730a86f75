//! Labels that carry a state, as the flow declares them: `Like ({number})`. Never inferred. Pure.

use std::borrow::Cow;

use regex::Regex;

use crate::browser::SceneNode;

/// What a flow declares of its labels; none for most flows.
#[derive(Clone, Debug, Default)]
pub struct Labels(Vec<(String, Regex)>);

impl Labels {
    /// These patterns: words, with `{number}` and `{text}` for what is another one each time.
    ///
    /// # Errors
    /// What does not fit, and what was expected.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        patterns.iter().map(|pattern| Ok((pattern.clone(), read(pattern)?))).collect::<Result<_, String>>().map(Self)
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A label as recordings hold it: the first pattern that it fits, whole; else itself.
    #[must_use]
    pub fn of<'a>(&'a self, text: &'a str) -> &'a str {
        self.0.iter().find(|(_, regex)| regex.is_match(text.trim())).map_or(text, |(pattern, _)| pattern)
    }

    /// Nodes with their labels as recordings hold them.
    #[must_use]
    pub fn nodes<'a>(&self, nodes: &'a [SceneNode]) -> Cow<'a, [SceneNode]> {
        if self.is_empty() {
            return Cow::Borrowed(nodes);
        }
        let read = |node: &SceneNode| {
            let mut node = node.clone();
            for text in [Some(&mut node.name), Some(&mut node.text), node.within.as_mut()].into_iter().flatten() {
                self.put(text);
            }
            node
        };
        Cow::Owned(nodes.iter().map(read).collect())
    }

    /// Puts the pattern in the place of a label that fits it.
    pub fn put(&self, text: &mut String) {
        let known = self.of(text);
        if known != text.as_str() {
            *text = known.to_owned();
        }
    }
}

fn read(pattern: &str) -> Result<Regex, String> {
    let words = pattern.replace("{number}", "").replace("{text}", "");
    if words == pattern {
        return Err(format!("the label `{pattern}` has no `{{number}}` and no `{{text}}`"));
    }
    if !words.chars().any(char::is_alphanumeric) {
        return Err(format!("the label `{pattern}` fits everything, expected a word of its own in it"));
    }
    let body =
        regex::escape(pattern).replace(r"\{number\}", r"[+-]?\d+(?:[.,\u{a0} ]\d+)*").replace(r"\{text\}", r".+?");
    Regex::new(&format!("^{body}$")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_label_reads_the_same_whatever_its_number_and_no_other_does() {
        let labels = Labels::new(&["Like ({number})".to_owned(), "Order of {text}".to_owned()]).unwrap();
        assert_eq!((labels.of("Like (0)"), labels.of("Like (1,204)")), ("Like ({number})", "Like ({number})"));
        assert_eq!(
            (labels.of("Like"), labels.of("Dislike (3)"), labels.of("Like (x)")),
            ("Like", "Dislike (3)", "Like (x)")
        );
        assert_eq!(labels.of("Order of Ada"), "Order of {text}");
    }

    #[test]
    fn a_pattern_that_fits_everything_or_nothing_else_is_refused() {
        for bad in ["{text}", "({number})", "Like"] {
            assert!(Labels::new(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
