//! What the tests of a spec do and check, as values that can be compared. Pure.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::chain::Chain;
use super::{Hide, Spec, unquoted, visit};

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

/// Where the walk stands.
#[derive(Clone, Default)]
struct Place {
    titles: Vec<String>,
    test: Option<usize>,
    within: Vec<String>,
    awaited: bool,
}

struct Walk<'a> {
    spec: &'a Spec,
    tests: Vec<TestFacts>,
    outside: TestFacts,
    declared: BTreeMap<String, LocatorUse>,
}

pub(super) fn collect(spec: &Spec) -> Facts {
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
    fn test(&mut self, place: &Place) -> &mut TestFacts {
        match place.test.and_then(|index| self.tests.get_mut(index)) {
            Some(test) => test,
            None => &mut self.outside,
        }
    }

    /// The locator of a chain, also where a variable or field of this file holds it.
    fn locator(&self, chain: &Chain) -> Option<LocatorUse> {
        LocatorUse::of(self.spec, chain).or_else(|| {
            let member =
                chain.links.first().filter(|link| !link.is_call).map(|link| format!("{}.{}", chain.root, link.method));
            self.declared.get(&chain.root).or_else(|| self.declared.get(&member?)).cloned()
        })
    }

    fn hazard(&mut self, place: &Place, name: &str) {
        *self.test(place).hazards.entry(name.to_owned()).or_default() += 1;
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

    fn hazards_of_call(&mut self, chain: &Chain, callee: &str, arguments: Option<Node<'_>>, place: &Place) {
        let names: Vec<String> =
            chain.links.iter().filter(|link| link.is_call).map(|link| link.method.clone()).collect();
        let own_test =
            callee.starts_with("test.") || callee.starts_with("testInfo.") || callee.starts_with("test.info()");
        for name in &names {
            match name.as_str() {
                "nth" | "first" | "last" => self.hazard(place, "nth"),
                "waitForTimeout"
                | "catch"
                | "setDefaultTimeout"
                | "setDefaultNavigationTimeout"
                | "routeFromHAR"
                | "route"
                | "addInitScript" => self.hazard(place, name),
                "skip" | "fixme" | "fail" | "only" | "slow" | "setTimeout" | "configure" if own_test => {
                    self.hazard(place, name);
                }
                _ => {}
            }
        }
        if let Some(arguments) = arguments {
            self.options(arguments, place);
            if names.last().is_some_and(|name| name.to_ascii_lowercase().contains("timeout")) {
                let number = arguments.named_child(0).and_then(|node| self.spec.of(node).replace('_', "").parse().ok());
                if let Some(number) = number {
                    self.limit(place, "setTimeout", number);
                }
            }
        }
    }

    fn limit(&mut self, place: &Place, name: &str, value: u64) {
        // Zero means without an end.
        let value = if value == 0 { u64::MAX } else { value };
        let limit = self.test(place).limits.entry(name.to_owned()).or_default();
        *limit = limit.saturating_add(value);
    }

    /// Options that weaken: `force`, `timeout`, `noWaitAfter`, tolerances of screenshots, `retries`.
    fn options(&mut self, arguments: Node<'_>, place: &Place) {
        let mut cursor = arguments.walk();
        let objects: Vec<Node<'_>> =
            arguments.named_children(&mut cursor).filter(|node| node.kind() == "object").collect();
        for object in objects {
            let mut pairs = object.walk();
            let all: Vec<Node<'_>> = object.named_children(&mut pairs).collect();
            for pair in all {
                let (Some(key), Some(value)) = (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
                else {
                    continue;
                };
                let key = self.spec.of(key).trim_matches(['\'', '"']).to_owned();
                let value = self.spec.of(value).to_owned();
                match key.as_str() {
                    "force" | "noWaitAfter" | "trial" | "retries" => self.hazard(place, &key),
                    "maxDiffPixels" | "maxDiffPixelRatio" | "threshold" | "mask" | "maskColor" | "clip"
                    | "omitBackground" => {
                        self.hazard(place, &format!("{key}={value}"));
                    }
                    "timeout" => {
                        self.hazard(place, "timeout");
                        if let Ok(number) = value.replace('_', "").parse() {
                            self.limit(place, "timeout", number);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn assertion(&mut self, node: Node<'_>, chain: &Chain, place: &Place) {
        let spec = self.spec;
        let calls = || chain.links.iter().rev().filter(|link| link.is_call);
        let Some(matcher) = calls().find(|link| link.method.starts_with("to")).or_else(|| calls().next()) else {
            return;
        };
        for link in calls().filter(|link| link.method == "catch") {
            self.hazard(place, &link.method);
        }
        // `expect.extend`, `expect.configure` alone check nothing.
        if chain.root == "expect"
            && chain.links.iter().filter(|link| link.is_call).count() < 2
            && !matches!(matcher.method.as_str(), "fail")
        {
            return;
        }
        let mut at = node;
        let mut subject = None;
        while let Some(callee) = at.child_by_field_name("function") {
            subject = at.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
            match callee.child_by_field_name("object") {
                Some(mut object) => {
                    while object.kind() == "member_expression" {
                        match object.child_by_field_name("object") {
                            Some(inner) => object = inner,
                            None => break,
                        }
                    }
                    if object.kind() != "call_expression" {
                        break;
                    }
                    at = object;
                }
                None => break,
            }
        }
        let words: Vec<&str> = chain.links.iter().map(|link| link.method.as_str()).collect();
        let subject_chain = subject.map(|subject| Chain::of(spec, subject));
        let locator = subject_chain.as_ref().and_then(|chain| self.locator(chain));
        let subject_text = subject.map(|subject| spec.normal(subject, Hide::Locators)).unwrap_or_default();
        let has_options = matcher
            .args
            .last()
            .is_some_and(|last| last.starts_with('{') && matcher.args.len() > 1 || last.contains("timeout:"));
        let values =
            if has_options { matcher.args.get(..matcher.args.len() - 1).unwrap_or_default() } else { &matcher.args };
        let fact = Fact {
            kind: FactKind::Assertion,
            shape: format!("expect({subject_text}).{}", words.join(".")),
            expected: values.to_vec(),
            locator,
            awaited: place.awaited,
            soft: words.contains(&"soft"),
            negated: words.iter().filter(|word| **word == "not").count() % 2 == 1,
            method: matcher.method.clone(),
            within: place.within.clone(),
            line: node.start_position().row + 1,
        };
        self.test(place).facts.push(fact);
        let mut arguments = Vec::new();
        let mut down = Some(node);
        while let Some(call) = down {
            arguments.extend(call.child_by_field_name("arguments"));
            down = call
                .child_by_field_name("function")
                .and_then(|callee| callee.child_by_field_name("object"))
                .filter(|object| object.kind() == "call_expression");
        }
        for arguments in arguments {
            self.options(arguments, place);
        }
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
