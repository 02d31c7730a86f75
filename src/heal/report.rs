//! What a run of Playwright came to, read from its JSON report. Pure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine as _;
use regex::Regex;
use serde::Deserialize;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Every test of every project.
    pub tests: Vec<TestResult>,
    /// Errors outside of tests: a file that does not compile, no tests, a server that did not start.
    pub errors: Vec<ReportError>,
    /// Whether only a shard of the tests ran.
    pub sharded: bool,
}

/// One test in one project.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    /// Titles from the outermost `describe` to the test.
    pub title: String,
    /// Its file.
    pub file: PathBuf,
    /// Its line.
    pub line: usize,
    /// Name of its project; may be empty.
    pub project: String,
    /// `expected`, `unexpected`, `flaky`, `skipped`.
    pub outcome: String,
    /// Each try, in order.
    pub tries: Vec<Try>,
}

/// One try of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Try {
    /// `passed`, `failed`, `timedOut`, `skipped`, `interrupted`.
    pub status: String,
    /// Its errors.
    pub errors: Vec<ReportError>,
    /// What it left: screenshots, the page's snapshot.
    pub attachments: Vec<Attachment>,
    /// Aria snapshots that were attached as text.
    pub snapshots: Vec<String>,
}

/// An error as Playwright tells it, without colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportError {
    /// The message without the printed source.
    pub message: String,
    /// Where it happened.
    pub place: Option<Place>,
    /// The places of the stack, from the inside.
    pub stack: Vec<Place>,
}

/// A place in a file; line and column from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A file that a try left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// `error-context`, `badge-expected.png`, …
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct RawReport {
    config: RawConfig,
    suites: Vec<RawSuite>,
    errors: Vec<RawError>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawConfig {
    root_dir: PathBuf,
    shard: Option<RawShard>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawShard {
    total: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSuite {
    title: String,
    suites: Vec<RawSuite>,
    specs: Vec<RawSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    title: String,
    file: PathBuf,
    line: usize,
    tests: Vec<RawTest>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawTest {
    project_name: String,
    status: String,
    results: Vec<RawResult>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawResult {
    status: Option<String>,
    errors: Vec<RawError>,
    attachments: Vec<RawAttachment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawError {
    message: Option<String>,
    stack: Option<String>,
    location: Option<RawPlace>,
}

#[derive(Deserialize)]
struct RawPlace {
    file: PathBuf,
    line: usize,
    column: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawAttachment {
    name: String,
    path: Option<PathBuf>,
    /// Its bytes as base64, when it is no file.
    body: Option<String>,
}

impl RawAttachment {
    /// Its text, when it is an aria snapshot that is no file.
    fn snapshot(&self) -> Option<String> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(self.body.as_ref()?).ok()?;
        String::from_utf8(bytes).ok().filter(|_| is_snapshot(&self.name))
    }
}

/// Whether an attachment of this name is a page as text: `aria`, `page snapshot`.
#[must_use]
pub fn is_snapshot(name: &str) -> bool {
    let name: String = name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    name.contains("aria") || name.contains("pagesnapshot")
}

impl Report {
    /// Reads a report, of Playwright's own reporter or of ours.
    ///
    /// # Errors
    /// When it is none, in words for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let raw: RawReport =
            serde_json::from_str(text).map_err(|error| format!("it is no JSON report of Playwright ({error})"))?;
        let mut tests = Vec::new();
        for suite in raw.suites {
            // The outermost suite is the file.
            collect(suite, &[], &raw.config.root_dir, true, &mut tests);
        }
        let sharded = raw.config.shard.is_some_and(|shard| shard.total > 1);
        Ok(Self { tests, errors: raw.errors.into_iter().map(error).collect(), sharded })
    }

    /// The part of it that is about one file.
    #[must_use]
    pub fn of_file(&self, file: &Path) -> Self {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Self {
            tests: self.tests.iter().filter(|test| test.file == file).cloned().collect(),
            errors: self
                .errors
                .iter()
                .filter(|error| {
                    error.place.as_ref().is_none_or(|place| place.file == file || place.file.parent() != file.parent())
                        || error.message.contains(name)
                })
                .cloned()
                .collect(),
            sharded: self.sharded,
        }
    }

    /// Tests that ran (were not skipped), with their projects.
    #[must_use]
    pub fn executed(&self) -> Vec<(String, String)> {
        let ran = self.tests.iter().filter(|test| test.outcome != "skipped" && !test.tries.is_empty());
        ran.map(|test| (test.project.clone(), test.title.clone())).collect()
    }

    /// Whether every test passed at its first try, and at least one ran.
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.errors.is_empty()
            && !self.executed().is_empty()
            && self.tests.iter().all(|test| matches!(test.outcome.as_str(), "expected" | "skipped"))
    }
}

fn collect(suite: RawSuite, titles: &[String], root: &Path, is_file: bool, out: &mut Vec<TestResult>) {
    let mut path = titles.to_vec();
    if !is_file && !suite.title.is_empty() {
        path.push(suite.title);
    }
    for spec in suite.specs {
        for test in spec.tests {
            let tries = test.results.into_iter().map(|result| Try {
                status: result.status.unwrap_or_default(),
                errors: result.errors.into_iter().map(error).collect(),
                snapshots: result.attachments.iter().filter_map(RawAttachment::snapshot).collect(),
                attachments: result
                    .attachments
                    .into_iter()
                    .filter_map(|a| Some(Attachment { name: a.name, path: a.path? }))
                    .collect(),
            });
            let title = path.iter().cloned().chain([spec.title.clone()]).collect::<Vec<_>>().join(" › ");
            out.push(TestResult {
                title,
                file: if spec.file.is_absolute() { spec.file.clone() } else { root.join(&spec.file) },
                line: spec.line,
                project: test.project_name,
                outcome: test.status,
                tries: tries.collect(),
            });
        }
    }
    for inner in suite.suites {
        collect(inner, &path, root, false, out);
    }
}

static ANSI: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*[A-Za-z]").ok());
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*>?\s*\d+ \|").ok());
static STACK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s+at (?:.*\()?(/[^()]*|[A-Za-z]:[^()]*):(\d+):(\d+)\)?$").ok());

/// The text without colours.
#[must_use]
pub fn plain(text: &str) -> String {
    ANSI.as_ref().map_or_else(|| text.to_owned(), |ansi| ansi.replace_all(text, "").into_owned())
}

fn error(raw: RawError) -> ReportError {
    let all = plain(&raw.message.unwrap_or_default());
    let stack = raw.stack.map(|stack| plain(&stack)).unwrap_or_default();
    let frame =
        |line: &str| FRAME.as_ref().is_some_and(|frame| frame.is_match(line)) || line.trim_start().starts_with("at ");
    let message: Vec<&str> = all.lines().take_while(|line| !frame(line)).collect();
    let places = all.lines().chain(stack.lines()).filter_map(|line| {
        let found = STACK.as_ref()?.captures(line)?;
        let number = |index: usize| found.get(index)?.as_str().parse().ok();
        Some(Place { file: PathBuf::from(found.get(1)?.as_str()), line: number(2)?, column: number(3)? })
    });
    let mut unique: Vec<Place> = Vec::new();
    for place in places.filter(|place| !place.file.components().any(|part| part.as_os_str() == "node_modules")) {
        if !unique.contains(&place) {
            unique.push(place);
        }
    }
    ReportError {
        message: message.join("\n").trim().to_owned(),
        place: raw.location.map(|place| Place { file: place.file, line: place.line, column: place.column }),
        stack: unique,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_read_with_its_nested_suites_and_without_colours_and_source() {
        let text = json!({
            "config": { "rootDir": "/w" },
            "suites": [{ "title": "a.spec.ts", "file": "a.spec.ts", "specs": [], "suites": [{ "title": "shop", "specs": [{
                "title": "buys", "file": "a.spec.ts", "line": 3,
                "tests": [{ "projectName": "chromium", "status": "unexpected", "results": [{
                    "retry": 0, "status": "failed", "attachments": [{ "name": "error-context", "contentType": "text/markdown", "path": "/w/e.md" }],
                    "errors": [{ "message": "TimeoutError: \u{1b}[2mlocator.click\u{1b}[22m: x\n  4 | toHaveScreenshot\n    at L.s (/w/p.ts:4:60)\n    at /w/a.spec.ts:9:5",
                        "location": { "file": "/w/p.ts", "line": 4, "column": 60 } }] }] }] }] }] }],
            "errors": []
        });
        let report = Report::parse(&text.to_string()).unwrap();
        let test = &report.tests[0];
        assert_eq!(
            (test.title.as_str(), test.file.to_str(), test.outcome.as_str()),
            ("shop › buys", Some("/w/a.spec.ts"), "unexpected")
        );
        let error = &test.tries[0].errors[0];
        assert_eq!(error.message, "TimeoutError: locator.click: x");
        assert_eq!(error.stack.iter().map(|place| place.line).collect::<Vec<_>>(), [4, 9]);
        assert!(!report.is_green());
    }

    #[test]
    fn a_run_of_skipped_tests_is_not_green() {
        let text = json!({ "suites": [{ "title": "a", "specs": [{ "title": "t", "file": "/a", "line": 1,
            "tests": [{ "status": "skipped", "results": [{ "status": "skipped" }] }] }] }] });
        assert!(!Report::parse(&text.to_string()).unwrap().is_green());
        assert!(Report::parse("{}").is_ok() && Report::parse("no").is_err());
    }
}
