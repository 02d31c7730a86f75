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

/// A code file that differs from a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name, relative to the repository; of a file that is gone, the old one.
    pub name: String,
    /// Its text at the base, also when it had another name there; none: it is new.
    pub old: Option<String>,
    /// Whether its name is that of a test file.
    pub is_test: bool,
}

fn is_code(name: &str) -> bool {
    [".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a name is that of a test file.
#[must_use]
pub fn is_test(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.contains(".spec.") || last.contains(".test.")
}

/// The code files that differ from a base, committed or not.
///
/// # Errors
/// [`HealError::Options`] when the base is unknown.
pub fn changed(directory: &Path, base: &str) -> Result<Vec<Changed>, HealError> {
    let bad = |problem: &str| HealError::Options(format!("cannot compare with `{base}`: {problem}"));
    if base.starts_with('-') {
        return Err(bad("it is no name of a commit"));
    }
    let top = git(directory, &["rev-parse", "--show-toplevel"]).ok_or_else(|| bad("this is no git repository"))?;
    let top = Path::new(top.trim());
    let from = git(top, &["merge-base", base, "HEAD"]).ok_or_else(|| bad("there is no such commit"))?;
    let from = from.trim();
    let listed = git(top, &["diff", "--name-status", "-z", "--find-renames", from, "--"])
        .ok_or_else(|| bad("git gives no difference"))?;
    let mut words = listed.split('\0').filter(|word| !word.is_empty());
    let mut all = Vec::new();
    while let Some(status) = words.next() {
        let Some(old) = words.next() else { break };
        // A rename (and a copy) names both.
        let name = if status.starts_with(['R', 'C']) { words.next().unwrap_or(old) } else { old };
        if is_code(name) || is_code(old) {
            let text = if status == "A" { None } else { git(top, &["show", &format!("{from}:{old}")]) };
            all.push(Changed { name: name.to_owned(), old: text, is_test: is_test(name) || is_test(old) });
        }
    }
    Ok(all)
}

/// Every code file of the repository that is not ignored, relative to its root.
#[must_use]
pub fn code_files(root: &Path) -> Vec<String> {
    let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).unwrap_or_default();
    listed.split('\0').filter(|name| is_code(name)).map(str::to_owned).collect()
}

/// The root of the repository.
#[must_use]
pub fn root(directory: &Path) -> Option<std::path::PathBuf> {
    git(directory, &["rev-parse", "--show-toplevel"]).map(|top| std::path::PathBuf::from(top.trim()))
}
