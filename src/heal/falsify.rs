//! A spec with one expectation turned false: a repaired test must go red on it, or it checks nothing. Pure.

use std::path::Path;

use super::spec::{Chain, Edit, FactKind, Spec, visit};

/// What a falsified value begins with.
const MARK: &str = "falsified by agent-test: ";

/// The first assertion of a test, from a line on, with its expectation turned false; none when nothing is checked there.
#[must_use]
pub fn falsify(spec: &Spec, title: &str, from_line: usize) -> Option<Edit> {
    let facts = spec.facts();
    let test = facts.tests.iter().find(|test| test.title == title)?;
    let fact =
        test.facts.iter().find(|fact| fact.kind == FactKind::Assertion && !fact.soft && fact.line >= from_line)?;
    let chain = spec.chains_of_expect().into_iter().find(|chain| {
        spec.line(chain.range.start) == fact.line && chain.links.iter().any(|link| link.method == fact.method)
    })?;
    edit(&chain, fact.negated)
}

fn edit(chain: &Chain, negated: bool) -> Option<Edit> {
    let matcher = chain.links.iter().rev().find(|link| link.is_call && link.method.starts_with("to"))?;
    if negated {
        let not = chain.links.iter().find(|link| link.method == "not")?;
        return Some(Edit { range: not.name.start..matcher.name.start, replacement: String::new() });
    }
    let first = matcher.args.first();
    let number = first.and_then(|first| first.parse::<f64>().ok());
    if let Some(range) = &matcher.text_range {
        let text = format!("{MARK}{}", matcher.text.as_deref().unwrap_or_default());
        return Some(Edit { range: range.clone(), replacement: super::spec::quoted(&text) });
    }
    if let (Some(_), Some(range), 1) = (number, &matcher.args_range, matcher.args.len()) {
        // Counts and comparisons alike: a number that nothing has.
        let far = if matcher.method.contains("Less") { "-987654321" } else { "987654321" };
        return Some(Edit { range: range.clone(), replacement: format!("({far})") });
    }
    Some(Edit { range: matcher.name.start..matcher.name.start, replacement: "not.".to_owned() })
}

impl Spec {
    /// Every assertion.
    #[must_use]
    pub fn chains_of_expect(&self) -> Vec<Chain> {
        let mut found = Vec::new();
        visit(self.root(), &mut |node| {
            let inner = node.parent().is_some_and(|up| {
                matches!(up.kind(), "member_expression" | "call_expression") && up.child(0) == Some(node)
            });
            if node.kind() == "call_expression" && !inner {
                let chain = Chain::of(self, node);
                if chain.is_expect() {
                    found.push(chain);
                }
            }
        });
        found
    }
}

/// The text of a spec with an expectation of this test turned false.
#[must_use]
pub fn falsified(text: &str, path: &Path, title: &str, from_line: usize) -> Option<String> {
    let spec = Spec::parse(text, path).ok()?;
    falsify(&spec, title, from_line)?.apply(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(assertion: &str) -> String {
        let text = format!("test('a', async ({{ page }}) => {{\n  await page.click('x');\n  await {assertion};\n}});");
        let new = falsified(&text, Path::new("a.ts"), "a", 2).unwrap();
        new.lines().nth(2).unwrap().trim().trim_start_matches("await ").trim_end_matches(';').to_owned()
    }

    #[test]
    fn each_kind_of_expectation_is_turned_false() {
        assert_eq!(of("expect(x).toHaveText('42')"), "expect(x).toHaveText('falsified by agent-test: 42')");
        assert_eq!(of("expect(x).toBeVisible()"), "expect(x).not.toBeVisible()");
        assert_eq!(of("expect(x).not.toBeVisible()"), "expect(x).toBeVisible()");
        assert_eq!(of("expect(x).toHaveCount(3)"), "expect(x).toHaveCount(987654321)");
        assert_eq!(of("expect(x).toHaveText(/a/)"), "expect(x).not.toHaveText(/a/)");
    }

    #[test]
    fn a_test_that_checks_nothing_afterwards_cannot_be_falsified() {
        let text =
            "test('a', async ({ page }) => {\n  await expect(page).toHaveURL('/');\n  await page.click('x');\n});";
        assert_eq!(falsified(text, Path::new("a.ts"), "a", 3), None);
    }
}
