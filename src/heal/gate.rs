//! The guard alone, over files or a range of commits: for edits of tests that people and agents make.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asserted::{Asserted, touches_members};
use super::error::HealError;
use super::git::{self, Changed};
use super::guard::{GuardTerms, GuardVerdict, compare_beside};
use super::spec::Spec;
use crate::store::{read_to_string, read_to_string_if_exists};

/// What the guard says of one file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// The file, as it was named, or relative to the repository.
    pub file: String,
    /// The verdict.
    pub verdict: GuardVerdict,
}

fn judge(
    name: String,
    old: &str,
    new: &str,
    path: &Path,
    terms: GuardTerms,
    asserted: &Asserted,
) -> Result<Checked, HealError> {
    let verdict = compare_beside(old, new, path, terms, asserted)
        .map_err(|error| HealError::Options(format!("cannot check `{}`: {error}", path.display())))?;
    Ok(Checked { file: name, verdict })
}

/// Judges a file beside what it was, and beside what the tests of its repository assert.
///
/// # Errors
/// [`HealError`] when one of them cannot be read or parsed.
pub fn check_files(old: &Path, new: &Path, terms: GuardTerms) -> Result<Checked, HealError> {
    let (before, after) = (read_to_string(old)?, read_to_string(new)?);
    let mut asserted = Asserted::default();
    if touches(&before, &after, new) {
        let beside = new.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        take_all(&mut asserted, git::root(beside).as_deref());
    }
    judge(new.display().to_string(), &before, &after, new, terms, &asserted)
}

/// Judges every test file, page object and helper that differs from a base; of these only the ones that are named, when any
/// are. A test file that is gone has lost its tests, a page object that is gone its assertions; what was not there before
/// cannot be weaker, but must parse.
///
/// # Errors
/// [`HealError::Options`] when the base is unknown or a file does not parse; when one cannot be read.
pub fn check_range(
    directory: &Path,
    base: &str,
    named: &[PathBuf],
    terms: GuardTerms,
) -> Result<Vec<Checked>, HealError> {
    let root = git::root(directory).unwrap_or_else(|| directory.to_path_buf());
    let is_named = |name: &str| named.is_empty() || named.iter().any(|file| Path::new(name).ends_with(file));
    let mut files = Vec::new();
    for changed in git::changed(directory, base)? {
        let path = root.join(&changed.name);
        let new = read_to_string_if_exists(&path)?;
        if changed.is_test || [&changed.old, &new].into_iter().flatten().any(|text| speaks_playwright(text)) {
            files.push((changed, path, new));
        }
    }
    let mut asserted = Asserted::default();
    let old_of = |changed: &Changed| changed.old.clone().unwrap_or_default();
    if files.iter().any(|(changed, path, new)| touches(&old_of(changed), new.as_deref().unwrap_or_default(), path)) {
        take_all(&mut asserted, Some(&root));
        // What was asserted before counts too: an assertion may have gone in the same range.
        for (changed, path, _) in &files {
            take(&mut asserted, &old_of(changed), path);
        }
    }
    let mut all = Vec::new();
    for (changed, path, new) in files.into_iter().filter(|(changed, ..)| is_named(&changed.name)) {
        let gone = new.is_none();
        let (old, new) = (old_of(&changed), new.unwrap_or_default());
        let mut checked = judge(changed.name, &old, &new, &path, terms, &asserted)?;
        if gone && !changed.is_test {
            // Whoever used its actions does not compile any more, or is a test that was changed and is judged itself.
            checked.verdict.findings.retain(|finding| finding.rule == "assertion-removed");
            checked.verdict.passed = checked.verdict.findings.is_empty();
        }
        all.push(checked);
    }
    Ok(all)
}

/// Whether a text is a page object or a helper of Playwright tests.
fn speaks_playwright(text: &str) -> bool {
    ["'@playwright/", "\"@playwright/", "'playwright", "\"playwright"].iter().any(|import| text.contains(import))
}

fn touches(old: &str, new: &str, path: &Path) -> bool {
    match (Spec::parse(old, path), Spec::parse(new, path)) {
        (Ok(old), Ok(new)) => touches_members(&old, &new),
        // The guard says what is wrong with it.
        _ => false,
    }
}

/// What a text asserts; one that does not parse asserts nothing that could be tied.
fn take(asserted: &mut Asserted, text: &str, path: &Path) {
    if text.contains("expect")
        && let Ok(spec) = Spec::parse(text, path)
    {
        asserted.add(&spec);
    }
}

/// What the tests, page objects and helpers of a repository assert.
#[must_use]
pub fn asserted_in(root: &Path) -> Asserted {
    let mut asserted = Asserted::default();
    take_all(&mut asserted, git::root(root).as_deref());
    asserted
}

fn take_all(asserted: &mut Asserted, root: Option<&Path>) {
    let Some(root) = root else { return };
    for name in git::code_files(root).into_iter().filter(|name| !name.contains("node_modules/")) {
        let path = root.join(&name);
        let Ok(text) = read_to_string(&path) else { continue };
        if git::is_test(&name) || speaks_playwright(&text) {
            take(asserted, &text, &path);
        }
    }
}
