//! The guard: an edit of a test, before and after, and whether it weakens the test. Pure; who made the edit does not matter.
//!
//! Two ways to hold an edit to it. A patch of ours ([`Strictness::LocatorsOnly`]) may change locators and nothing else: the
//! rest must be the same token by token. An edit of a person or an agent ([`Strictness::NotWeaker`], `heal --check`) may add
//! tests, actions and assertions; what was done and checked must still be, in order, as strictly as before.
//!
//! Two things are less plain than they look. The locator of an assertion that only asks whether something is there
//! *is* what it expects, so another text in it is another expectation. And an assertion that something is absent passes with
//! every locator that finds nothing, so its locator never changes.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asserted::Asserted;
use super::free::is_another;
use super::spec::{Chain, Fact, FactKind, Facts, Hide, LocatorUse, Spec, SpecError, TestFacts};
use crate::browser::words;

/// What an edit is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Only locators may differ.
    LocatorsOnly,
    /// Nothing may be weaker; more is fine.
    NotWeaker,
}

/// The terms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardTerms {
    /// How strict.
    pub strictness: Strictness,
    /// Whether values expected may change: the change was declared.
    pub allow_expectation: bool,
}

/// What the guard says of an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardVerdict {
    /// Whether the edit may stand.
    pub passed: bool,
    /// Why not.
    pub findings: Vec<GuardFinding>,
    /// Locators that changed.
    pub locators_changed: usize,
    /// Expected values that changed, and were allowed to.
    pub expectations_changed: usize,
}

/// One reason of the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardFinding {
    /// Which rule: `assertion-removed`, `expectation-changed`, `skip`, `force`, …
    pub rule: String,
    /// The test; empty outside of tests.
    pub test: String,
    /// What is wrong, for people.
    pub message: String,
    /// Line in the new text (in the old one for what is gone).
    pub line: usize,
}

/// Compares two texts of one file.
///
/// # Errors
/// When the old text cannot be parsed. A new one that cannot be parsed is a finding.
pub fn compare(old: &str, new: &str, path: &Path, terms: GuardTerms) -> Result<GuardVerdict, SpecError> {
    compare_beside(old, new, path, terms, &Asserted::default())
}

/// The same for a file whose locators other files assert.
///
/// # Errors
/// As [`compare`].
pub fn compare_beside(
    old: &str,
    new: &str,
    path: &Path,
    terms: GuardTerms,
    asserted: &Asserted,
) -> Result<GuardVerdict, SpecError> {
    let before = Spec::parse(old, path)?;
    let after = match Spec::parse(new, path) {
        Ok(after) => after,
        Err(error) => {
            let line = if let SpecError::Syntax { line } = &error { *line } else { 1 };
            let mut verdict = GuardVerdict::default();
            verdict.say("syntax", "", error.to_string(), line);
            return Ok(verdict);
        }
    };
    let mut verdict = GuardVerdict::default();
    tests(&before.facts(), &after.facts(), terms, &mut verdict);
    asserted.judge(&before, &after, terms.allow_expectation, &mut verdict);
    too_wide(&before, &after, &mut verdict);
    if terms.strictness == Strictness::LocatorsOnly && verdict.findings.is_empty() {
        let hide = if terms.allow_expectation { Hide::Expected } else { Hide::Locators };
        if before.whole(hide) != after.whole(hide) {
            verdict.say("other-change", "", "something else than a locator differs".to_owned(), 1);
        }
    }
    verdict.passed = verdict.findings.is_empty();
    Ok(verdict)
}

impl GuardVerdict {
    fn say(&mut self, rule: &str, test: &str, message: String, line: usize) {
        self.findings.push(GuardFinding { rule: rule.to_owned(), test: test.to_owned(), message, line });
    }

    /// The reasons in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let all: Vec<String> =
            self.findings.iter().map(|finding| format!("{} ({})", finding.message, finding.rule)).collect();
        all.join("; ")
    }
}

fn tests(old: &Facts, new: &Facts, terms: GuardTerms, verdict: &mut GuardVerdict) {
    let key = |tests: &[TestFacts], index: usize| {
        let title = tests.get(index).map(|test| test.title.clone()).unwrap_or_default();
        let nth = tests.iter().take(index).filter(|test| test.title == title).count();
        (title, nth)
    };
    let new_keys: Vec<_> = (0..new.tests.len()).map(|index| key(&new.tests, index)).collect();
    let mut seen = vec![false; new.tests.len()];
    for (index, test) in old.tests.iter().enumerate() {
        let wanted = key(&old.tests, index);
        let Some(at) = new_keys.iter().position(|key| *key == wanted) else {
            verdict.say("test-removed", &test.title, format!("the test `{}` is gone", test.title), test.line);
            continue;
        };
        if let (Some(other), Some(seen)) = (new.tests.get(at), seen.get_mut(at)) {
            *seen = true;
            one_test(test, other, terms, verdict);
        }
    }
    for (test, seen) in new.tests.iter().zip(seen) {
        if seen {
            continue;
        }
        if terms.strictness == Strictness::LocatorsOnly {
            verdict.say("test-added", &test.title, format!("the test `{}` is new", test.title), test.line);
        } else if test.hazards.contains_key("only") {
            verdict.say("only", &test.title, "`only` leaves all other tests out".to_owned(), test.line);
        }
    }
}

fn one_test(old: &TestFacts, new: &TestFacts, terms: GuardTerms, verdict: &mut GuardVerdict) {
    let pairs = align(&old.facts, &new.facts);
    let title = &old.title;
    for (old, new) in &pairs {
        match (old, new) {
            (Some(old), Some(new)) => pair(old, new, title, terms, verdict),
            (Some(old), None) => {
                let (rule, what) = if old.kind == FactKind::Action {
                    ("action-removed", "does not")
                } else {
                    ("assertion-removed", "no longer checks")
                };
                let message = if old.kind == FactKind::Action {
                    format!("the test {what} `{}` any more", told(old))
                } else {
                    format!("the test {what} `{}`", told(old))
                };
                verdict.say(rule, title, message, old.line);
            }
            (None, Some(new)) if terms.strictness == Strictness::LocatorsOnly => {
                let rule = if new.kind == FactKind::Action { "action-added" } else { "assertion-added" };
                verdict.say(rule, title, format!("`{}` is new", told(new)), new.line);
            }
            _ => {}
        }
    }
    for (name, count) in &new.hazards {
        let before = old.hazards.get(name).copied().unwrap_or_default();
        // An early end only hurts what stands behind it; a new branch of a helper outside of tests is common.
        let tolerable = new.title.is_empty()
            && matches!(name.as_str(), "return" | "throw" | "break" | "continue" | "try" | "catch")
            && terms.strictness == Strictness::NotWeaker;
        if *count > before && !tolerable {
            verdict.say(name.split('=').next().unwrap_or(name), title, hazard(name), new.line);
        }
    }
    for (name, limit) in &new.limits {
        if *limit > old.limits.get(name).copied().unwrap_or(u64::MAX) {
            verdict.say("longer-timeout", title, "a time limit is longer than before".to_owned(), new.line);
        }
    }
}

fn hazard(name: &str) -> String {
    match name {
        "skip" | "fixme" => format!("a new `{name}`: the test does not run any more"),
        "fail" => "a new `fail`: the test passes when it fails".to_owned(),
        "only" => "a new `only`: other tests do not run any more".to_owned(),
        "slow" | "timeout" | "setTimeout" | "setDefaultTimeout" => format!("a new time limit (`{name}`)"),
        "waitForTimeout" => "a new fixed wait (`waitForTimeout`)".to_owned(),
        "force" => "a new `force`: what a user could not press is pressed".to_owned(),
        "nth" => "a new `nth`, `first` or `last`: one of several is taken blindly".to_owned(),
        "try" | "catch" => format!("a new `{name}`: a failure is swallowed"),
        "return" | "throw" | "break" | "continue" => format!("a new `{name}`: what stands behind it may not run"),
        name => format!("a new `{name}`"),
    }
}

/// The pairs of an alignment that keeps the order and pairs as much as it can.
fn align<'a>(old: &'a [Fact], new: &'a [Fact]) -> Vec<(Option<&'a Fact>, Option<&'a Fact>)> {
    let score = |a: &Fact, b: &Fact| -> u32 {
        if a.kind != b.kind {
            return 0;
        }
        let same_locator = a.locator.as_ref().map(|l| &l.text) == b.locator.as_ref().map(|l| &l.text);
        match (a.shape == b.shape, a.expected == b.expected, same_locator) {
            (true, true, true) => 20,
            (true, true, false) => 12,
            (true, false, true) => 10,
            (true, false, false) => 6,
            (false, _, _) if a.method == b.method => {
                if same_locator {
                    5
                } else {
                    2
                }
            }
            (false, _, true) if a.locator.is_some() => 3,
            _ if a.kind == FactKind::Assertion && subject(a) == subject(b) => 2,
            _ => 0,
        }
    };
    let mut best = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let paired = match score(a, b) {
                0 => 0,
                points => points + best[i + 1][j + 1],
            };
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old.len() || j < new.len() {
        let points = if i < old.len() && j < new.len() { score(&old[i], &new[j]) } else { 0 };
        if points > 0 && best[i][j] == points + best[i + 1][j + 1] {
            pairs.push((Some(&old[i]), Some(&new[j])));
            i += 1;
            j += 1;
        } else if i < old.len() && (j >= new.len() || best[i][j] == best[i + 1][j]) {
            pairs.push((Some(&old[i]), None));
            i += 1;
        } else {
            pairs.push((None, Some(&new[j])));
            j += 1;
        }
    }
    pairs
}

fn pair(old: &Fact, new: &Fact, title: &str, terms: GuardTerms, verdict: &mut GuardVerdict) {
    let line = new.line;
    let assertion = old.kind == FactKind::Assertion;
    if old.shape != new.shape && !(old.soft && !new.soft && old.shape.replace(".soft", "") == new.shape) {
        if assertion && !old.soft && new.soft {
            verdict.say("soft", title, format!("`{}` is soft now: the test goes on when it fails", told(new)), line);
        } else {
            let rule = if assertion { "assertion-changed" } else { "action-changed" };
            verdict.say(rule, title, format!("`{}` became `{}`", told(old), told(new)), line);
        }
    }
    if old.awaited && !new.awaited {
        verdict.say("not-awaited", title, format!("`{}` is not awaited any more", told(new)), line);
    }
    if !is_subsequence(&new.within, &old.within) {
        let what = new.within.iter().find(|what| !old.within.contains(what)).cloned().unwrap_or_default();
        verdict.say("conditional", title, format!("`{}` stands in `{what}` now", told(new)), line);
    }
    if old.expected != new.expected && old.shape == new.shape {
        if terms.allow_expectation {
            verdict.expectations_changed += 1;
        } else {
            let message = format!("the expected value {} became {}", list(&old.expected), list(&new.expected));
            verdict.say("expectation-changed", title, message, line);
        }
    }
    let (Some(from), Some(to)) = (&old.locator, &new.locator) else { return };
    if from.text == to.text {
        return;
    }
    verdict.locators_changed += 1;
    if old.checks_absence() {
        let message = format!("`{}` checks that something is absent, and its locator changed", told(old));
        verdict.say("negative-assertion", title, message, line);
    } else if old.checks_presence() && from.words != to.words {
        if terms.allow_expectation {
            verdict.expectations_changed += 1;
        } else {
            let message = format!(
                "`{}` asks only whether something is there, and it asks for {} in place of {} now",
                told(old),
                list(&to.words),
                list(&from.words)
            );
            verdict.say("expectation-changed", title, message, line);
        }
    }
    // Green proves nothing here: a neighbour of the target may do what the test checks.
    if terms.strictness == Strictness::LocatorsOnly
        && !terms.allow_expectation
        && !(old.checks_presence() && from.words != to.words)
        && from.words.len() == to.words.len()
        && let Some((was, is)) = from.words.iter().zip(&to.words).find(|(was, is)| is_another(was, is))
    {
        verdict.say("another-target", title, format!("`{is}` names another thing than `{was}`"), line);
    }
    let destroys = |locator: &LocatorUse| {
        locator.words.iter().any(|word| words::is_destructive(word, locator.role.as_deref() == Some("link")))
    };
    // A test id or a path says it too.
    let says = |text: &str| {
        text.split(['\'', '"', '`'])
            .skip(1)
            .step_by(2)
            .any(|part| words::is_destructive(&part.replace(['-', '_', '#', '.'], " "), false))
    };
    if !assertion && destroys(to) && !destroys(from) && !says(&from.text) {
        verdict.say(
            "destructive",
            title,
            format!("`{}` reads destructive, and `{}` did not", to.text, from.text),
            line,
        );
    }
}

/// Locators that find about anything.
fn too_wide(old: &Spec, new: &Spec, verdict: &mut GuardVerdict) {
    let wide = |spec: &Spec| -> Vec<(String, usize)> {
        let chains = spec.chains();
        let subjects: Vec<Chain> = chains.iter().filter_map(|chain| chain.subject(spec)).collect();
        let all = chains.into_iter().chain(subjects);
        all.filter(|chain| chain.locator_links().iter().any(is_wide))
            .filter_map(|chain| Some((spec.text().get(chain.locator()?)?.to_owned(), spec.line(chain.range.start))))
            .collect()
    };
    let before = wide(old);
    for (text, line) in wide(new) {
        if !before.iter().any(|(known, _)| *known == text) {
            verdict.say("locator-too-wide", "", format!("`{text}` finds about anything"), line);
        }
    }
}

fn is_wide(link: &super::spec::Link) -> bool {
    let text = link.text.as_deref().map(str::trim);
    let css = matches!(
        text,
        Some(
            "" | "*"
                | "body"
                | "html"
                | ":root"
                | "//*"
                | "div"
                | "xpath=//*"
                | "css=*"
                | "body *"
                | "//body"
                | "#root"
                | "#app"
        )
    );
    match link.method.as_str() {
        "locator" => css,
        "or" => true,
        "getByText" | "getByLabel" | "getByPlaceholder" | "getByTestId" | "getByTitle" | "getByAltText"
        | "getByRole" => {
            let blank = |text: &str| text.trim().is_empty();
            text.is_some_and(blank) && link.method != "getByRole"
                || link.name_option.as_deref().is_some_and(blank)
                || link.args.iter().any(|argument| {
                    argument.contains("/.*/")
                        || argument.contains("/.+/")
                        || argument.contains("/./")
                        || argument.contains("/^/")
                        || argument.contains("/(?:)/")
                })
        }
        _ => false,
    }
}

/// What an assertion is about.
pub(super) fn subject(fact: &Fact) -> &str {
    fact.shape.rsplit_once(").").map_or(fact.shape.as_str(), |(subject, _)| subject)
}

fn is_subsequence(small: &[String], large: &[String]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|one| rest.any(|other| other == one))
}

fn list(values: &[String]) -> String {
    if values.is_empty() { "nothing".to_owned() } else { values.join(", ") }
}

fn told(fact: &Fact) -> String {
    let locator = fact.locator.as_ref().map_or("…", |locator| locator.text.as_str());
    let text = fact.shape.replace("⟦L⟧", locator);
    let text = if fact.kind == FactKind::Assertion { format!("{text}({})", fact.expected.join(", ")) } else { text };
    if text.chars().count() > 160 { text.chars().take(159).chain(['…']).collect() } else { text }
}

#[cfg(test)]
mod tests;
