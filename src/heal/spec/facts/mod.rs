//! What the tests of a spec do and check, as values that can be compared. Pure.

use std::collections::BTreeMap;

use super::Spec;
use super::chain::Chain;

mod assertions;
mod hazards;
mod walk;

pub(super) use walk::collect;

/// What a spec does and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The tests, in order; last, what stands outside of all tests (hooks, helpers, page objects).
    pub tests: Vec<TestFacts>,
}

/// What one test does and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestFacts {
    /// Titles from the outermost `describe` to the test; empty for what stands outside of tests.
    pub title: String,
    /// Line of the test, from 1.
    pub line: usize,
    /// Actions and assertions, in order.
    pub facts: Vec<Fact>,
    /// What weakens a test, counted: `skip`, `only`, `timeout`, `force`, `nth`, `try`, `return`, …
    pub hazards: BTreeMap<String, usize>,
    /// Largest time limits in milliseconds, by where they stand (`timeout`, `setTimeout`).
    pub limits: BTreeMap<String, u64>,
}

/// What a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// Something is done.
    Action,
    /// Something is checked.
    Assertion,
}

/// One action or assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which.
    pub kind: FactKind,
    /// The call without its locators and, for an assertion, without the values expected.
    pub shape: String,
    /// The values expected (arguments of the matcher), for an assertion.
    pub expected: Vec<String>,
    /// Its locator.
    pub locator: Option<LocatorUse>,
    /// Whether it is awaited or returned.
    pub awaited: bool,
    /// `expect.soft`.
    pub soft: bool,
    /// Whether it checks that something is not so.
    pub negated: bool,
    /// The matcher of an assertion, the method of an action.
    pub method: String,
    /// The conditions, loops, `try`s and callbacks that it stands in, from the outside.
    pub within: Vec<String>,
    /// Line, from 1.
    pub line: usize,
}

/// A locator as it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocatorUse {
    /// Its text, in normal form.
    pub text: String,
    /// The words that a person sees which it names: text, label, placeholder, accessible name.
    pub words: Vec<String>,
    /// The methods of its links.
    pub methods: Vec<String>,
    /// The role of its last `getByRole`.
    pub role: Option<String>,
}

impl LocatorUse {
    /// Of a chain's locator.
    #[must_use]
    pub fn of(spec: &Spec, chain: &Chain) -> Option<Self> {
        let range = chain.locator()?;
        let links = chain.locator_links();
        let mut words = Vec::new();
        let mut role = None;
        for link in links {
            match link.method.as_str() {
                "getByRole" => {
                    role.clone_from(&link.text);
                    words.extend(link.name_option.clone());
                }
                "getByText" | "getByLabel" | "getByPlaceholder" | "getByAltText" | "getByTitle" => {
                    words.extend(link.text.clone());
                }
                "filter" | "locator" => words.extend(link.name_option.clone()),
                _ => {}
            }
            // A pattern is a word too: what it must not become is another one.
            if link.text.is_none() && link.name_option.is_none() && link.method.starts_with("getBy") {
                words.extend(link.args.iter().filter(|argument| argument.starts_with('/')).cloned());
            }
        }
        let text: String = spec.text().get(range)?.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Self { text, words, methods: links.iter().map(|link| link.method.clone()).collect(), role })
    }
}

/// Matchers that only ask whether something is there: their locator is what they expect.
pub(crate) const PRESENCE: &[&str] =
    &["toBeVisible", "toBeAttached", "toBeInViewport", "toHaveCount", "toBeTruthy", "toBeDefined", "toBeHidden"];

impl Fact {
    /// Whether the locator is itself what is expected.
    #[must_use]
    pub fn checks_presence(&self) -> bool {
        self.kind == FactKind::Assertion && (PRESENCE.contains(&self.method.as_str()) || self.asks_state())
    }

    /// Whether it expects `false` or nothing at all.
    fn is_false(&self) -> bool {
        self.method == "toBeFalsy"
            || (self.method == "toBe" || self.method == "toEqual")
                && self.expected.first().is_some_and(|value| matches!(value.as_str(), "false" | "0"))
    }

    /// `expect(await locator.isVisible()).toBe(true)` and its kin.
    fn asks_state(&self) -> bool {
        [".isVisible()", ".isHidden()", ".count()"].iter().any(|asks| self.shape.contains(asks))
    }

    /// Whether it checks that something is absent or otherwise.
    #[must_use]
    pub fn checks_absence(&self) -> bool {
        self.kind == FactKind::Assertion
            && (self.negated
                || self.method == "toBeHidden"
                || (self.method == "toHaveCount" && self.expected.first().is_some_and(|count| count == "0"))
                || (self.asks_state() && self.is_false() != self.shape.contains(".isHidden()")))
    }
}
