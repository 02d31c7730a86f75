//! The walk over a spec's syntax: which test, in which conditions, awaited or not.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::{Fact, FactKind, Facts, LocatorUse, TestFacts};
use crate::heal::spec::chain::Chain;
use crate::heal::spec::{Hide, Spec, unquoted, visit};

/// Where the walk stands.
#[derive(Clone, Default)]
pub(super) struct Place {
    titles: Vec<String>,
    test: Option<usize>,
    pub(super) within: Vec<String>,
    pub(super) awaited: bool,
}

pub(super) struct Walk<'a> {
    pub(super) spec: &'a Spec,
    tests: Vec<TestFacts>,
    outside: TestFacts,
    declared: BTreeMap<String, LocatorUse>,
}

pub(in crate::heal::spec) fn collect(spec: &Spec) -> Facts {
    let mut walk = Walk { spec, tests: Vec::new(), outside: TestFacts::default(), declared: declared(spec) };
    walk.node(spec.root(), &Place::default());
    let mut tests = walk.tests;
    tests.push(walk.outside);
    Facts { tests }
}

/// Variables and fields that hold a locator.
fn declared(spec: &Spec) -> BTreeMap<String, LocatorUse> {
    let mut found = BTreeMap::new();
    visit(spec.root(), &mut |node| {
        let (name, value) = match node.kind() {
            "variable_declarator" | "public_field_definition" => ("name", "value"),
            "assignment_expression" => ("left", "right"),
            _ => return,
        };
        let (Some(name), Some(value)) = (node.child_by_field_name(name), node.child_by_field_name(value)) else {
            return;
        };
        let chain = Chain::of(spec, value);
        if let Some(locator) = LocatorUse::of(spec, &chain).filter(|_| chain.is_locator_only()) {
            let field = if node.kind() == "public_field_definition" { "this." } else { "" };
            found.insert(format!("{field}{}", spec.of(name)), locator);
        }
    });
    found
}

impl Walk<'_> {
    pub(super) fn test(&mut self, place: &Place) -> &mut TestFacts {
        match place.test.and_then(|index| self.tests.get_mut(index)) {
            Some(test) => test,
            None => &mut self.outside,
        }
    }

    /// The locator of a chain, also where a variable or field of this file holds it.
    pub(super) fn locator(&self, chain: &Chain) -> Option<LocatorUse> {
        LocatorUse::of(self.spec, chain).or_else(|| {
            let member =
                chain.links.first().filter(|link| !link.is_call).map(|link| format!("{}.{}", chain.root, link.method));
            self.declared.get(&chain.root).or_else(|| self.declared.get(&member?)).cloned()
        })
    }

    fn children(&mut self, node: Node<'_>, place: &Place) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        for child in children {
            self.node(child, place);
        }
    }

    fn within(&mut self, node: Node<'_>, place: &Place, what: String) {
        let mut inner = place.clone();
        inner.within.push(what);
        self.children(node, &inner);
    }

    fn node(&mut self, node: Node<'_>, place: &Place) {
        let mut plain = place.clone();
        plain.awaited = false;
        let named = |field: &str| node.child_by_field_name(field);
        let normal =
            |node: Option<Node<'_>>| node.map_or_else(String::new, |node| self.spec.normal(node, Hide::Locators));
        match node.kind() {
            "comment" | "import_statement" => {}
            "await_expression" | "return_statement" => {
                if node.kind() == "return_statement" {
                    let calls = node
                        .named_child(0)
                        .is_some_and(|child| matches!(child.kind(), "call_expression" | "await_expression"));
                    if !calls {
                        self.hazard(place, "return");
                    }
                }
                let mut inner = plain;
                inner.awaited = true;
                self.children(node, &inner);
            }
            "throw_statement" | "break_statement" | "continue_statement" => {
                self.hazard(place, node.kind().trim_end_matches("_statement"));
                self.children(node, &plain);
            }
            "if_statement" => {
                let condition = normal(named("condition"));
                if let Some(test) = named("condition") {
                    self.node(test, &plain);
                }
                for (field, word) in [("consequence", "if"), ("alternative", "else")] {
                    if let Some(branch) = named(field) {
                        self.within(branch, &plain, format!("{word} {condition}"));
                    }
                }
            }
            "try_statement" => {
                let catches = named("handler").is_some();
                if catches {
                    self.hazard(place, "try");
                }
                if let Some(body) = named("body") {
                    if catches { self.within(body, &plain, "try".to_owned()) } else { self.children(body, &plain) }
                }
                for (field, word) in [("handler", "catch"), ("finalizer", "finally")] {
                    if let Some(part) = named(field) {
                        self.within(part, &plain, word.to_owned());
                    }
                }
            }
            "for_statement" | "for_in_statement" | "while_statement" | "do_statement" => {
                let head = ["condition", "left", "right", "initializer", "increment"]
                    .map(|field| normal(named(field)))
                    .join(" ");
                self.within(node, &plain, format!("loop {}", head.trim()));
            }
            "switch_case" | "switch_default" => {
                let value = normal(named("value"));
                self.within(node, &plain, format!("case {value}"));
            }
            "ternary_expression" => {
                let condition = normal(named("condition"));
                self.within(node, &plain, format!("if {condition}"));
            }
            "binary_expression"
                if named("operator").is_some_and(|operator| matches!(self.spec.of(operator), "&&" | "||" | "??")) =>
            {
                let left = normal(named("left"));
                if let Some(part) = named("left") {
                    self.node(part, &plain);
                }
                if let Some(part) = named("right") {
                    self.within_one(part, &plain, format!("if {left}"));
                }
            }
            "function_declaration" | "method_definition" => {
                let name = normal(named("name"));
                self.within(node, &plain, format!("function {name}"));
            }
            "arrow_function" | "function_expression" => self.within(node, &plain, "callback".to_owned()),
            "call_expression" => self.call(node, place),
            _ => {
                let mut inner = plain;
                // Parentheses and casts around a call that is awaited.
                inner.awaited = place.awaited
                    && matches!(node.kind(), "parenthesized_expression" | "as_expression" | "non_null_expression");
                self.children(node, &inner);
            }
        }
    }

    fn within_one(&mut self, node: Node<'_>, place: &Place, what: String) {
        let mut inner = place.clone();
        inner.within.push(what);
        self.node(node, &inner);
    }

    fn call(&mut self, node: Node<'_>, place: &Place) {
        let spec = self.spec;
        let chain = Chain::of(spec, node);
        let arguments = node.child_by_field_name("arguments");
        let callee =
            node.child_by_field_name("function").map(|callee| spec.normal(callee, Hide::Locators)).unwrap_or_default();
        let mut plain = place.clone();
        plain.awaited = false;
        if self.declares(node, &callee, place) {
            return;
        }
        if chain.is_expect() {
            self.assertion(node, &chain, place);
            // What stands in the subject may be an action of its own: `expect(await page.title())`.
            self.inside(node, &plain, false);
            return;
        }
        let last = chain.links.last();
        let method = last.map_or(callee.as_str(), |link| link.method.as_str()).to_owned();
        self.hazards_of_call(&chain, &callee, arguments, place);
        if chain.is_locator_only() {
            self.inside(node, &plain, false);
            return;
        }
        let statement = node.parent().is_some_and(|up| up.kind() == "expression_statement");
        let is_test_setting = callee.starts_with("test.") && callee != "test.step";
        if (place.awaited || statement) && !is_test_setting {
            let locator = self.locator(&chain);
            let shape = spec.normal(node, Hide::Locators);
            self.test(place).facts.push(Fact {
                kind: FactKind::Action,
                shape: without_options(&shape),
                expected: Vec::new(),
                locator,
                awaited: place.awaited,
                soft: false,
                negated: false,
                method,
                within: place.within.clone(),
                line: node.start_position().row + 1,
            });
        }
        // `test.step` and the like run their callback as a part of the test.
        self.inside(node, &plain, callee == "test.step");
    }

    /// Looks into the arguments of all calls of a chain.
    fn inside(&mut self, node: Node<'_>, place: &Place, transparent: bool) {
        let mut at = node;
        loop {
            if at.kind() == "call_expression" {
                if let Some(arguments) = at.child_by_field_name("arguments") {
                    if transparent {
                        let mut cursor = arguments.walk();
                        let all: Vec<Node<'_>> = arguments.named_children(&mut cursor).collect();
                        for argument in all {
                            if matches!(argument.kind(), "arrow_function" | "function_expression") {
                                self.children(argument, place);
                            } else {
                                self.node(argument, place);
                            }
                        }
                    } else {
                        self.children(arguments, place);
                    }
                }
                match at.child_by_field_name("function") {
                    Some(callee) => at = callee,
                    None => return,
                }
            } else if at.kind() == "member_expression" {
                match at.child_by_field_name("object") {
                    Some(object) => at = object,
                    None => return,
                }
            } else {
                self.node(at, place);
                return;
            }
        }
    }

    /// Takes `test(…)`, `test.describe(…)` and their kin; whether it was one.
    fn declares(&mut self, node: Node<'_>, callee: &str, place: &Place) -> bool {
        let words: Vec<&str> = callee.split('.').collect();
        let (Some(first), rest) = (words.first(), words.get(1..).unwrap_or_default()) else { return false };
        if !matches!(*first, "test" | "it" | "describe") {
            return false;
        }
        let Some(arguments) = node.child_by_field_name("arguments") else { return false };
        let mut cursor = arguments.walk();
        let all: Vec<Node<'_>> =
            arguments.named_children(&mut cursor).filter(|node| node.kind() != "comment").collect();
        let body =
            all.iter().rev().find(|node| matches!(node.kind(), "arrow_function" | "function_expression")).copied();
        let title = all
            .first()
            .filter(|node| matches!(node.kind(), "string" | "template_string" | "identifier" | "binary_expression"));
        let (Some(body), Some(title)) = (body, title) else { return false };
        let is_describe = *first == "describe" || rest.first() == Some(&"describe");
        let known = rest
            .iter()
            .all(|word| matches!(*word, "describe" | "only" | "skip" | "fixme" | "fail" | "serial" | "parallel"));
        if !known {
            return false;
        }
        let title =
            if title.kind() == "string" { unquoted(self.spec.of(*title)) } else { self.spec.of(*title).to_owned() };
        let mut inner = place.clone();
        inner.awaited = false;
        inner.titles.push(title);
        let modifiers = rest.iter().filter(|word| matches!(**word, "only" | "skip" | "fixme" | "fail"));
        if is_describe {
            for word in modifiers {
                self.hazard(place, word);
            }
        } else {
            let mut test = TestFacts {
                title: inner.titles.join(" › "),
                line: node.start_position().row + 1,
                ..TestFacts::default()
            };
            for word in modifiers {
                *test.hazards.entry((*word).to_owned()).or_default() += 1;
            }
            inner.test = Some(self.tests.len());
            self.tests.push(test);
            // A test in a loop or a condition keeps saying so.
            inner.within.retain(|what| what != "callback");
        }
        self.children(body, &inner);
        true
    }
}

/// An action without the options that are judged on their own.
fn without_options(shape: &str) -> String {
    let mut text = shape.to_owned();
    for option in ["force:true", "noWaitAfter:true", "trial:true"] {
        text = text.replace(&format!(",{option}"), "").replace(option, "");
    }
    while let Some(at) = text.find("timeout:") {
        let end = text.get(at..).and_then(|rest| rest.find([',', '}'])).map_or(text.len(), |length| at + length);
        let end = if text.get(end..).is_some_and(|rest| rest.starts_with(',')) { end + 1 } else { end };
        text.replace_range(at..end, "");
    }
    text.replace(",{}", "").replace("({})", "()")
}
