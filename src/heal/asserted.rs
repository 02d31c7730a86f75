//! Locators that stand in one file and are asserted in another: the field of a page object of which a test only asks
//! whether it is there. What such an assertion expects is the field's locator, so an edit of the page object alone can
//! change it. Pure.
//!
//! Files are tied by the member's name alone (`message` in `expect(cart.message).toBeVisible()`): fixtures and base classes
//! hide which object it is of. That refuses an edit too many where two page objects share a name, and misses none.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::guard::{GuardFinding, GuardVerdict, subject};
use super::spec::{Chain, FactKind, LocatorUse, Spec, is_locator_method, visit};

/// Members of which assertions ask whether something is there, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asserted {
    presence: BTreeSet<String>,
    absence: BTreeSet<String>,
}

static MEMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\.([A-Za-z_$][\w$]*)|\b([A-Za-z_$][\w$]*)\(").ok());

impl Asserted {
    /// Takes what a file asserts.
    pub fn add(&mut self, spec: &Spec) {
        let tests = spec.facts().tests;
        for fact in tests.iter().flat_map(|test| &test.facts).filter(|fact| fact.kind == FactKind::Assertion) {
            let names = if fact.checks_absence() {
                &mut self.absence
            } else if fact.checks_presence() {
                &mut self.presence
            } else {
                continue;
            };
            let about = subject(fact).split_once('(').map_or("", |(_, about)| about);
            let members = MEMBER.iter().flat_map(|member| member.captures_iter(about));
            names.extend(
                members
                    .filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned()))
                    .filter(|name| !is_locator_method(name)),
            );
        }
    }

    /// Whether nothing is asserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.presence.is_empty() && self.absence.is_empty()
    }

    /// Adds what an edit of a file changes in locators that these assertions are about.
    pub(super) fn judge(&self, old: &Spec, new: &Spec, allow_expectation: bool, verdict: &mut GuardVerdict) {
        let before = exposed(old);
        let mut after = exposed(new);
        for (name, from, _) in before {
            let Some(at) = after.iter().position(|(other, ..)| *other == name) else { continue };
            let (_, to, line) = after.remove(at);
            if from.text == to.text {
                continue;
            }
            let (rule, what) = if self.absence.contains(&name) {
                ("negative-assertion", "that it is absent")
            } else if self.presence.contains(&name) && from.words != to.words {
                ("expectation-changed", "whether it is there")
            } else {
                continue;
            };
            if rule == "expectation-changed" && allow_expectation {
                verdict.expectations_changed += 1;
                continue;
            }
            // An assertion of this file was judged with its locator.
            if verdict.findings.iter().any(|finding| finding.rule == rule && finding.message.contains(&name)) {
                continue;
            }
            verdict.findings.push(GuardFinding {
                rule: rule.to_owned(),
                test: String::new(),
                message: format!(
                    "an assertion asks of `{name}` only {what}, and it is `{}` in place of `{}` now",
                    to.text, from.text
                ),
                line,
            });
        }
    }
}

/// Whether an edit touches a locator that another file could assert.
#[must_use]
pub fn touches_members(old: &Spec, new: &Spec) -> bool {
    let texts = |spec| exposed(spec).into_iter().map(|(name, locator, _)| (name, locator.text)).collect::<Vec<_>>();
    texts(old) != texts(new)
}

/// The members, variables and functions of a file that are a locator, in the order of the text, with their lines.
fn exposed(spec: &Spec) -> Vec<(String, LocatorUse, usize)> {
    let mut found = Vec::new();
    visit(spec.root(), &mut |node| {
        let field = |field: &str| node.child_by_field_name(field);
        let (name, value) = match node.kind() {
            "variable_declarator" | "public_field_definition" => (field("name"), field("value")),
            "assignment_expression" => (field("left"), field("right")),
            "pair" => (field("key"), field("value")),
            "method_definition" | "function_declaration" => (field("name"), field("body")),
            _ => return,
        };
        let (Some(name), Some(value)) = (name, value) else { return };
        let name = spec.of(name).rsplit('.').next().unwrap_or_default().trim_matches(['\'', '"', '#']).to_owned();
        let chain = Chain::of(spec, returned(value));
        if let Some(locator) = LocatorUse::of(spec, &chain).filter(|_| chain.is_locator_only()) {
            found.push((name, locator, spec.line(chain.range.start)));
        }
    });
    found
}

/// What a value is, or what a function returns when that is all it does.
fn returned(value: Node<'_>) -> Node<'_> {
    match value.kind() {
        "arrow_function" | "function_expression" => value.child_by_field_name("body").map_or(value, returned),
        "statement_block" => match (value.named_child(0), value.named_child_count()) {
            (Some(only), 1) if only.kind() == "return_statement" => only.named_child(0).unwrap_or(value),
            _ => value,
        },
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::heal::guard::{GuardTerms, Strictness, compare_beside};

    fn asserted(test: &str) -> Asserted {
        let text = format!("test('a', async ({{ page, cart }}) => {{ {test} }});");
        let mut asserted = Asserted::default();
        asserted.add(&Spec::parse(&text, Path::new("a.spec.ts")).unwrap());
        asserted
    }

    fn rules(asserted: &Asserted, object: &str, from: &str, to: &str, allow_expectation: bool) -> Vec<String> {
        assert!(object.contains(from), "{object}");
        let new = object.replacen(from, to, 1);
        let terms = GuardTerms { strictness: Strictness::NotWeaker, allow_expectation };
        let verdict = compare_beside(object, &new, Path::new("cart.ts"), terms, asserted).unwrap();
        verdict.findings.into_iter().map(|finding| finding.rule).collect()
    }

    const WAYS: &[&str] = &[
        "export class Cart { constructor(page) { this.message = page.getByText('Saved'); } }",
        "export class Cart { readonly message = this.page.getByText('Saved'); }",
        "export class Cart { get message() { return this.page.getByText('Saved'); } }",
        "export class Cart { message = () => this.page.getByText('Saved'); }",
        "export const cart = (page) => ({ message: page.getByText('Saved') });",
        "export const message = (page) => page.getByText('Saved');",
        "export function message(page) { return page.getByText('Saved'); }",
    ];

    #[test]
    fn another_text_of_a_member_that_is_only_asked_to_be_there_is_another_expectation() {
        for object in WAYS {
            for test in [
                "await expect(cart.message).toBeVisible();",
                "await expect(cart.message()).toBeVisible();",
                "await expect(cart.message.first()).toHaveCount(2);",
                "expect(await cart.message.isVisible()).toBe(true);",
                "await expect(message(page)).toBeVisible();",
            ] {
                let asserted = asserted(test);
                assert_eq!(rules(&asserted, object, "'Saved'", "'Failed'", false), ["expectation-changed"], "{test}");
                assert_eq!(rules(&asserted, object, "'Saved'", "'Failed'", true), [""; 0], "{test}");
            }
        }
    }

    #[test]
    fn a_member_that_must_be_absent_keeps_its_locator() {
        for test in [
            "await expect(cart.message).toBeHidden();",
            "await expect(cart.message).not.toBeVisible();",
            "await expect(cart.message).toHaveCount(0);",
            "expect(await cart.message.isVisible()).toBeFalsy();",
        ] {
            for allow in [false, true] {
                let found = rules(&asserted(test), WAYS[0], "getByText('Saved')", "getByTestId('x')", allow);
                assert_eq!(found, ["negative-assertion"], "{test}");
            }
        }
    }

    #[test]
    fn a_member_that_is_acted_on_or_whose_value_is_checked_may_have_another_locator() {
        for test in ["await cart.message.click();", "await expect(cart.message).toHaveText('x');", ""] {
            assert_eq!(rules(&asserted(test), WAYS[0], "'Saved'", "'Stored'", false), [""; 0], "{test}");
        }
        // The same words by another way.
        let visible = asserted("await expect(cart.message).toBeVisible();");
        assert_eq!(
            rules(&visible, WAYS[0], "getByText('Saved')", "getByRole('status', { name: 'Saved' })", false),
            [""; 0]
        );
    }

    #[test]
    fn an_assertion_of_the_same_file_is_named_once() {
        let object = "export class Cart { readonly message = this.page.getByText('Saved'); async check() { await expect(this.message).toBeVisible(); } }";
        let mut asserted = Asserted::default();
        asserted.add(&Spec::parse(object, Path::new("cart.ts")).unwrap());
        assert_eq!(rules(&asserted, object, "'Saved'", "'Failed'", false).len(), 1);
    }
}
