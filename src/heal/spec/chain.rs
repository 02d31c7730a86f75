//! A chain of calls: `page.getByRole('dialog').getByText('x').click()`.

use std::ops::Range;

use tree_sitter::Node;

use super::{Hide, Spec, unquoted};

/// A chain of members and calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Text of what it begins with: `page`, `this.page`, `expect`, a variable.
    pub root: String,
    /// Bytes of the root.
    pub root_range: Range<usize>,
    /// Its links, in order.
    pub links: Vec<Link>,
    /// Bytes of the whole.
    pub range: Range<usize>,
}

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Name of the member.
    pub method: String,
    /// Whether it is called.
    pub is_call: bool,
    /// The arguments' texts.
    pub args: Vec<String>,
    /// The first argument as a text, when it is a string.
    pub text: Option<String>,
    /// The `name` (or `hasText`) option, when it is a string.
    pub name_option: Option<String>,
    /// Whether `exact: true` stands there.
    pub exact: bool,
    /// Bytes of the member's name.
    pub name: Range<usize>,
    /// Byte behind the link.
    pub end: usize,
    /// Bytes of the arguments, with their parentheses.
    pub args_range: Option<Range<usize>>,
    /// Bytes of the literal of `text`.
    pub text_range: Option<Range<usize>>,
    /// Bytes of the literal of `name_option`.
    pub option_range: Option<Range<usize>>,
}

const LOCATORS: &[&str] = &[
    "locator",
    "getByRole",
    "getByText",
    "getByLabel",
    "getByPlaceholder",
    "getByTestId",
    "getByAltText",
    "getByTitle",
    "frameLocator",
    "contentFrame",
    "owner",
    "filter",
    "nth",
    "first",
    "last",
    "and",
    "or",
];

/// Whether a method of this name makes a locator.
#[must_use]
pub fn is_locator_method(name: &str) -> bool {
    LOCATORS.contains(&name)
}

impl Chain {
    pub(crate) fn of(spec: &Spec, node: Node<'_>) -> Self {
        let mut links = Vec::new();
        let mut at = node;
        loop {
            match at.kind() {
                "call_expression" => {
                    let Some(callee) = at.child_by_field_name("function") else { break };
                    if callee.kind() != "member_expression" {
                        break;
                    }
                    let (Some(object), Some(property)) =
                        (callee.child_by_field_name("object"), callee.child_by_field_name("property"))
                    else {
                        break;
                    };
                    links.push(link(spec, property, at.child_by_field_name("arguments"), at.end_byte()));
                    at = object;
                }
                "member_expression" => {
                    let (Some(object), Some(property)) =
                        (at.child_by_field_name("object"), at.child_by_field_name("property"))
                    else {
                        break;
                    };
                    // `this.page` and `login.page` are where a chain begins, not links of it.
                    if matches!(object.kind(), "this" | "identifier")
                        && links.iter().any(|link: &Link| link.is_call)
                        && !links.is_empty()
                        && !matches!(spec.of(property), "not" | "soft" | "poll" | "resolves" | "rejects")
                    {
                        break;
                    }
                    links.push(link(spec, property, None, at.end_byte()));
                    at = object;
                }
                "parenthesized_expression"
                | "await_expression"
                | "non_null_expression"
                | "as_expression"
                | "satisfies_expression" => match at.named_child(0) {
                    Some(inner) => at = inner,
                    None => break,
                },
                _ => break,
            }
        }
        links.reverse();
        Self { root: spec.of(at).to_owned(), root_range: at.byte_range(), links, range: node.byte_range() }
    }

    /// How many of its links, from the first, make a locator.
    #[must_use]
    pub fn locator_links(&self) -> &[Link] {
        let count = self.links.iter().take_while(|link| link.is_call && is_locator_method(&link.method)).count();
        self.links.get(..count).unwrap_or_default()
    }

    /// Bytes of the locator that it begins with.
    #[must_use]
    pub fn locator(&self) -> Option<Range<usize>> {
        self.locator_links().last().map(|last| self.root_range.start..last.end)
    }

    /// Whether it is a locator and nothing else.
    #[must_use]
    pub fn is_locator_only(&self) -> bool {
        !self.links.is_empty()
            && self.locator_links().len() == self.links.len()
            && self
                .links
                .iter()
                .any(|link| !matches!(link.method.as_str(), "first" | "last" | "filter" | "and" | "or" | "nth"))
    }

    /// Whether it is an assertion.
    #[must_use]
    pub fn is_expect(&self) -> bool {
        let root = self.root.trim_start();
        let begins = root == "expect" || root.starts_with("expect(");
        begins && self.links.iter().any(|link| link.is_call)
    }

    /// What an assertion is about, when that is a chain.
    #[must_use]
    pub fn subject(&self, spec: &Spec) -> Option<Chain> {
        if !self.is_expect() {
            return None;
        }
        let mut node = spec.root().descendant_for_byte_range(self.range.start, self.range.start + 1)?;
        // The innermost call whose function is `expect` or `expect.soft`.
        loop {
            if node.kind() == "call_expression" && node.start_byte() == self.range.start {
                let first = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0))?;
                return Some(Chain::of(spec, first));
            }
            node = node.parent()?;
        }
    }
}

fn link(spec: &Spec, property: Node<'_>, arguments: Option<Node<'_>>, end: usize) -> Link {
    let mut args = Vec::new();
    let (mut text, mut name_option, mut exact) = (None, None, false);
    let (mut text_range, mut option_range) = (None, None);
    if let Some(arguments) = arguments {
        let mut cursor = arguments.walk();
        for (index, argument) in
            arguments.named_children(&mut cursor).filter(|node| node.kind() != "comment").enumerate()
        {
            args.push(spec.normal(argument, Hide::Nothing));
            if index == 0 && argument.kind() == "string" {
                text = Some(unquoted(spec.of(argument)));
                text_range = Some(argument.byte_range());
            }
            if argument.kind() == "object" {
                let mut pairs = argument.walk();
                for pair in argument.named_children(&mut pairs).filter(|node| node.kind() == "pair") {
                    let (Some(key), Some(value)) = (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
                    else {
                        continue;
                    };
                    match (spec.of(key).trim_matches(['\'', '"']), value.kind()) {
                        ("name" | "hasText", "string") => {
                            name_option = Some(unquoted(spec.of(value)));
                            option_range = Some(value.byte_range());
                        }
                        ("exact", "true") => exact = true,
                        _ => {}
                    }
                }
            }
        }
    }
    Link {
        method: spec.of(property).to_owned(),
        is_call: arguments.is_some(),
        args,
        text,
        name_option,
        exact,
        name: property.byte_range(),
        end,
        args_range: arguments.map(|node| node.byte_range()),
        text_range,
        option_range,
    }
}
