//! A Playwright spec as a tree: which tests it holds, what they do and check, and where each locator stands. Pure.
//!
//! The parser is tree-sitter with its TypeScript grammar: it needs no C++ toolchain, adds four crates, and says of a broken
//! text that it is broken, which is all that a guard must know of it.

mod chain;
mod facts;

use std::ops::Range;
use std::path::Path;

use tree_sitter::{Node, Parser, Tree};

pub use chain::{Chain, Link, is_locator_method};
pub(crate) use facts::PRESENCE;
pub use facts::{Fact, FactKind, Facts, LocatorUse, TestFacts};

/// Levels of a syntax tree that are read.
const MOST_LEVELS: u32 = 500;

/// A parsed spec (or page object).
#[derive(Debug)]
pub struct Spec {
    text: String,
    tree: Tree,
}

/// Why a text is no spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// It does not parse.
    #[error("it is no valid TypeScript at line {line}")]
    Syntax {
        /// First line with an error, from 1.
        line: usize,
    },
    /// It is nested too deep to be read.
    #[error("it is nested more than {MOST_LEVELS} levels deep at line {line}")]
    TooDeep {
        /// Where that depth is reached, from 1.
        line: usize,
    },
    /// The parser did not start.
    #[error("the TypeScript parser cannot be used: {0}")]
    Parser(String),
}

impl Spec {
    /// Parses a text; `path` tells by its ending whether it may hold JSX.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, SpecError> {
        let jsx = path.extension().is_some_and(|ending| ending == "tsx" || ending == "jsx");
        let grammar =
            if jsx { tree_sitter_typescript::LANGUAGE_TSX } else { tree_sitter_typescript::LANGUAGE_TYPESCRIPT };
        let mut parser = Parser::new();
        parser.set_language(&grammar.into()).map_err(|error| SpecError::Parser(error.to_string()))?;
        let tree = parser.parse(text, None).ok_or_else(|| SpecError::Parser("it gave no tree".to_owned()))?;
        // Whoever walks the tree calls itself for each level; a person's test stays far below this.
        if let Some(line) = deeper_than(MOST_LEVELS, &tree) {
            return Err(SpecError::TooDeep { line });
        }
        if tree.root_node().has_error() {
            return Err(SpecError::Syntax { line: first_error(tree.root_node()).unwrap_or(1) });
        }
        Ok(Self { text: text.to_owned(), tree })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of a node.
    pub(super) fn of<'a>(&'a self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The whole text in normal form.
    pub(crate) fn whole(&self, hide: Hide) -> String {
        self.normal(self.root(), hide)
    }

    /// What its tests do and check.
    #[must_use]
    pub fn facts(&self) -> Facts {
        facts::collect(self)
    }

    /// Every chain of calls with a locator in it, in the order of the text.
    #[must_use]
    pub fn chains(&self) -> Vec<Chain> {
        let mut found = Vec::new();
        visit(self.root(), &mut |node| {
            let inner = node.parent().is_some_and(|up| {
                matches!(up.kind(), "member_expression" | "call_expression") && up.child(0) == Some(node)
            });
            if matches!(node.kind(), "call_expression" | "member_expression") && !inner {
                let chain = Chain::of(self, node);
                if chain.links.iter().any(|link| link.is_call && is_locator_method(&link.method)) {
                    found.push(chain);
                }
            }
        });
        found
    }

    /// The chain whose method stands at this place (line and column from 1, as a report counts them).
    #[must_use]
    pub fn chain_at(&self, line: usize, column: usize) -> Option<Chain> {
        let at = self.offset(line, column)?;
        let mut node = self.root().descendant_for_byte_range(at, at)?;
        // Upwards to the outermost chain that this method is a link of.
        let mut best = None;
        loop {
            if matches!(node.kind(), "call_expression" | "member_expression") {
                let chain = Chain::of(self, node);
                if chain.links.iter().any(|link| link.name.contains(&at)) {
                    best = Some(chain);
                }
            }
            let Some(up) = node.parent() else { break };
            if matches!(up.kind(), "arguments" | "statement_block" | "expression_statement") && best.is_some() {
                break;
            }
            node = up;
        }
        best
    }

    /// Byte offset of a place.
    #[must_use]
    pub fn offset(&self, line: usize, column: usize) -> Option<usize> {
        let start = if line <= 1 { 0 } else { self.text.match_indices('\n').nth(line - 2)?.0 + 1 };
        let rest = self.text.get(start..)?;
        let mut units = 1;
        for (index, letter) in rest.char_indices() {
            if units >= column || letter == '\n' {
                return Some(start + index);
            }
            units += letter.len_utf16();
        }
        Some(self.text.len())
    }

    /// Line (from 1) of a byte offset.
    #[must_use]
    pub fn line(&self, offset: usize) -> usize {
        self.text.get(..offset).unwrap_or(&self.text).matches('\n').count() + 1
    }

    /// A node's tokens without comments, blank space, trailing commas and the kind of quotes; every locator as `⟦L⟧` where
    /// `hide` says so.
    pub(crate) fn normal(&self, node: Node<'_>, hide: Hide) -> String {
        let mut tokens: Vec<String> = Vec::new();
        self.tokens(node, hide, &mut tokens);
        let mut text = String::new();
        for (index, token) in tokens.iter().enumerate() {
            let closes = tokens.get(index + 1).is_some_and(|next| matches!(next.as_str(), ")" | "]" | "}"));
            if token == ";" || (token == "," && closes) {
                continue;
            }
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            if text.ends_with(word) && token.starts_with(word) {
                text.push(' ');
            }
            text.push_str(token);
        }
        text
    }

    fn tokens(&self, node: Node<'_>, hide: Hide, out: &mut Vec<String>) {
        match node.kind() {
            "comment" => return,
            "string" => {
                out.push(serde_json::to_string(&unquoted(self.of(node))).unwrap_or_default());
                return;
            }
            "template_string" | "regex" if node.named_child_count() == 0 || node.kind() == "regex" => {
                out.push(self.of(node).to_owned());
                return;
            }
            "call_expression" if hide != Hide::Nothing => {
                let chain = Chain::of(self, node);
                if hide == Hide::Expected
                    && chain.is_expect()
                    && node.child_by_field_name("function").is_some_and(|callee| callee.kind() == "member_expression")
                {
                    if let Some(callee) = node.child_by_field_name("function") {
                        self.tokens(callee, hide, out);
                    }
                    out.push("(⟦E⟧)".to_owned());
                    return;
                }
                if chain.is_locator_only() {
                    out.push("⟦L⟧".to_owned());
                    return;
                }
            }
            _ => {}
        }
        if node.child_count() == 0 {
            out.push(self.of(node).to_owned());
            return;
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.tokens(child, hide, out);
        }
    }
}

/// Calls `f` with a node and everything in it.
pub(super) fn visit<'a>(node: Node<'a>, f: &mut impl FnMut(Node<'a>)) {
    f(node);
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        visit(child, f);
    }
}

/// The value of a string literal; escapes as JavaScript reads the usual ones.
#[must_use]
pub fn unquoted(literal: &str) -> String {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(letter) => text.push(letter),
                    None => text.push_str(&format!("\\u{digits}")),
                }
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}

/// A string literal in single quotes, safe wherever it is put.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut literal = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' => literal.push_str("\\'"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\u{2028}' | '\u{2029}' => literal.push_str(&format!("\\u{:04x}", letter as u32)),
            letter if letter.is_control() => literal.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => literal.push(letter),
        }
    }
    literal.push('\'');
    literal
}

/// What a normal form leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hide {
    /// Nothing.
    Nothing,
    /// Locators.
    Locators,
    /// Locators, and what assertions expect.
    Expected,
}

/// One replacement in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Bytes that are replaced.
    pub range: Range<usize>,
    /// What comes in their place.
    pub replacement: String,
}

impl Edit {
    /// The text with this edit; none when it does not fit.
    #[must_use]
    pub fn apply(&self, text: &str) -> Option<String> {
        let (before, after) = (text.get(..self.range.start)?, text.get(self.range.end..)?);
        Some([before, &self.replacement, after].concat())
    }
}

/// The line at which a tree is deeper than this, if it is; found without a call for each level.
fn deeper_than(most: u32, tree: &Tree) -> Option<usize> {
    let mut cursor = tree.walk();
    loop {
        if cursor.goto_first_child() {
            if cursor.depth() > most {
                return Some(cursor.node().start_position().row + 1);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

fn first_error(node: Node<'_>) -> Option<usize> {
    if node.is_error() || node.is_missing() {
        return Some(node.start_position().row + 1);
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| child.has_error() || child.is_missing()).find_map(first_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn spec(text: &str) -> Spec {
        Spec::parse(text, Path::new("a.spec.ts")).unwrap()
    }

    #[test]
    fn a_broken_text_is_refused_with_its_line() {
        let error = Spec::parse("const a = 1;\ntest('x', async ({ page }) => {\n", Path::new("a.spec.ts")).unwrap_err();
        assert!(matches!(error, SpecError::Syntax { .. }), "{error:?}");
    }

    #[test]
    fn a_text_that_is_nested_without_end_is_refused_with_its_line() {
        let deep =
            |open: &str, close: &str| format!("let a = 1;\nlet b = {}1{};", open.repeat(20_000), close.repeat(20_000));
        for text in [deep("[", "]"), deep("(", ")"), deep("- ", ""), deep("a=>", ""), deep("1 + ", "")] {
            assert_eq!(Spec::parse(&text, Path::new("a.ts")).unwrap_err(), SpecError::TooDeep { line: 2 });
        }
        assert!(Spec::parse(&deep("[", ""), Path::new("a.ts")).is_err());
        let chain = format!("await page{};", ".locator('a')".repeat(100));
        assert!(Spec::parse(&chain, Path::new("a.ts")).is_ok());
    }

    #[test]
    fn the_failing_call_is_found_by_the_place_that_a_report_names() {
        let spec = spec(
            "test('é', async ({ page }) => {\n  await page.getByRole('button', { name: 'Begin' }).click();\n});\n",
        );
        let chain = spec.chain_at(2, 53).unwrap();
        let names: Vec<&str> = chain.links.iter().map(|link| link.method.as_str()).collect();
        assert_eq!((chain.root.as_str(), names), ("page", vec!["getByRole", "click"]));
        assert_eq!(&spec.text()[chain.locator().unwrap()], "page.getByRole('button', { name: 'Begin' })");
    }

    #[test]
    fn the_subject_of_an_assertion_is_found_inside_its_expect() {
        let text = "await expect(page.getByTestId('a').first()).not.toHaveText('x', { timeout: 5 });";
        let spec = spec(text);
        let chain = spec.chain_at(1, text.find("toHaveText").unwrap() + 1).unwrap();
        assert_eq!(&spec.text()[chain.subject(&spec).unwrap().locator().unwrap()], "page.getByTestId('a').first()");
    }

    #[test]
    fn quoting_and_unquoting_are_each_others_inverse() {
        for text in ["Start", "it's \\ here", "two\nlines", "\u{2028}"] {
            assert_eq!(unquoted(&quoted(text)), text);
        }
    }

    #[test]
    fn form_does_not_matter_and_words_do() {
        let of = |text: &str| {
            let spec = spec(text);
            spec.normal(spec.root(), Hide::Locators)
        };
        assert_eq!(of("await a.b( \"x\", );"), of("await a.b('x') // why"));
        assert_eq!(of("await page.getByText('a').click()"), of("await page.locator('#b').click()"));
        assert_ne!(of("await page.getByText('a').click()"), of("await page.getByText('a').dblclick()"));
    }
}
