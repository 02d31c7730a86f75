//! What a test checks: subject, matcher, values expected.

use tree_sitter::Node;

use super::walk::{Place, Walk};
use super::{Fact, FactKind};
use crate::heal::spec::Hide;
use crate::heal::spec::chain::Chain;

impl Walk<'_> {
    pub(super) fn assertion(&mut self, node: Node<'_>, chain: &Chain, place: &Place) {
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
