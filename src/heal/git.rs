//! What the repository says: the change that a screenshot may be explained by, and files as they were on another branch.

use std::path::Path;
use std::process::{Command, Stdio};

use super::error::HealError;

/// So much of a change is kept.
const MOST: usize = 4000;

fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last commit's message and the change against a base (or the last commit), without tests, baselines and lock files.
#[must_use]
pub fn context(directory: &Path, base: Option<&str>) -> Option<String> {
    let message = git(directory, &["log", "-1", "--format=%B"])?;
    let range = base.map_or_else(|| "HEAD".to_owned(), |base| format!("{base}...HEAD"));
    let leave = [":(exclude)*.spec.*", ":(exclude)*.test.*", ":(exclude)*-snapshots/*", ":(exclude)*lock*"];
    let diff = |kind: &[&str]| {
        git(directory, &[&["diff"][..], kind, &[range.as_str(), "--", "."], &leave].concat()).unwrap_or_default()
    };
    let text = format!("{}\n\n{}\n{}", message.trim(), diff(&["--stat"]), diff(&["--unified=1"]));
    Some(text.chars().take(MOST).collect())
}

/// The test files that differ from a base, with their text there (none: the file is new).
///
/// # Errors
/// [`HealError::Options`] when the base is unknown.
pub fn changed_tests(directory: &Path, base: &str) -> Result<Vec<(String, Option<String>)>, HealError> {
    let bad = |problem: &str| HealError::Options(format!("cannot compare with `{base}`: {problem}"));
    if base.starts_with('-') {
        return Err(bad("it is no name of a commit"));
    }
    let top = git(directory, &["rev-parse", "--show-toplevel"]).ok_or_else(|| bad("this is no git repository"))?;
    let top = Path::new(top.trim());
    let from = git(top, &["merge-base", base, "HEAD"]).ok_or_else(|| bad("there is no such commit"))?;
    let from = from.trim();
    let names = git(top, &["diff", "--name-only", "-z", "--no-renames", from, "--"])
        .ok_or_else(|| bad("git gives no difference"))?;
    let is_test = |name: &&str| {
        let code =
            [".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs"].iter().any(|ending| name.ends_with(ending));
        let last = name.rsplit('/').next().unwrap_or(name);
        code && (last.contains(".spec.") || last.contains(".test."))
    };
    Ok(names
        .split('\0')
        .filter(|name| !name.is_empty())
        .filter(is_test)
        .map(|name| (name.to_owned(), git(top, &["show", &format!("{from}:{name}")])))
        .collect())
}

/// The root of the repository.
#[must_use]
pub fn root(directory: &Path) -> Option<std::path::PathBuf> {
    git(directory, &["rev-parse", "--show-toplevel"]).map(|top| std::path::PathBuf::from(top.trim()))
}
