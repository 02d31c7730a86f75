//! The guard alone, over files or a range of commits: for edits of tests that people and agents make.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::HealError;
use super::git;
use super::guard::{GuardTerms, GuardVerdict, compare};
use crate::store::{read_to_string, read_to_string_if_exists};

/// What the guard says of one file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// The file, as it was named, or relative to the repository.
    pub file: String,
    /// The verdict.
    pub verdict: GuardVerdict,
}

fn judge(name: String, old: &str, new: &str, path: &Path, terms: GuardTerms) -> Result<Checked, HealError> {
    let verdict = compare(old, new, path, terms)
        .map_err(|error| HealError::Options(format!("cannot check `{}`: {error}", path.display())))?;
    Ok(Checked { file: name, verdict })
}

/// Judges a file beside what it was.
///
/// # Errors
/// [`HealError`] when one of them cannot be read or parsed.
pub fn check_files(old: &Path, new: &Path, terms: GuardTerms) -> Result<Checked, HealError> {
    judge(new.display().to_string(), &read_to_string(old)?, &read_to_string(new)?, new, terms)
}

/// Judges every test file that differs from a base; of these only the ones that are named, when any are. A file that is
/// gone has lost its tests; one that was not there before cannot be weaker, but must parse.
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
    let changed = git::changed_tests(directory, base)?.into_iter().filter(|(name, _)| is_named(name));
    changed
        .map(|(name, old)| {
            let path = root.join(&name);
            let new = read_to_string_if_exists(&path)?;
            judge(name, &old.unwrap_or_default(), &new.unwrap_or_default(), &path, terms)
        })
        .collect()
}
