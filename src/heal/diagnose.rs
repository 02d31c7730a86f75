//! What kind of failure a red test is, from the report alone. Pure, and without a model.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::Page;
use super::report::{Place, Report, ReportError, TestResult, Try, is_snapshot};

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The application or the browser is not there, answers with an error, or wants a login.
    Environment,
    /// A test passed at a later try.
    Flaky,
    /// A locator finds nothing.
    Locator,
    /// A locator finds several.
    AmbiguousLocator,
    /// Something is there and says something else than expected.
    AssertionValue,
    /// A screenshot differs.
    Visual,
    /// A screenshot that does not become still.
    UnstablePage,
    /// There is no baseline to compare with.
    MissingBaseline,
    /// A file does not compile, or holds no test.
    CompileError,
    /// Something did not happen in time, and no locator is to blame.
    Timeout,
    /// An element is there and cannot be used: disabled, hidden, covered.
    NotActionable,
    /// Anything else: an error in the test's own code, an exception.
    Other,
}

/// One failing test.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// The test.
    pub test: String,
    /// Its project.
    pub project: String,
    /// Its file and line.
    pub test_place: Place,
    /// The error.
    pub message: String,
    /// Where the failing call stands.
    pub place: Option<Place>,
    /// The places of the stack.
    pub stack: Vec<Place>,
    /// The method that failed: `click`, `toBeVisible`.
    pub method: String,
    /// Whether it is an assertion.
    pub is_assertion: bool,
    /// The locator, as Playwright prints it.
    pub locator: Option<String>,
    /// What was received, as Playwright prints it, when that is one line.
    pub received: Option<String>,
    /// The page's snapshot file.
    pub context: Option<PathBuf>,
    /// Where the page may stand when no such file holds it: snapshots that the test attached, the errors of the try.
    pub told: Vec<String>,
    /// What holds the page: that file, once it was read, or one of the others.
    pub snapshot: String,
    /// Baseline, actual, difference.
    pub images: Images,
}

/// The images of one comparison, all of one try of one test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// The baseline.
    pub baseline: Option<PathBuf>,
    /// What the page looks like now.
    pub actual: Option<PathBuf>,
    /// The difference.
    pub diff: Option<PathBuf>,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Diagnosis {
    /// Every test passed at its first try.
    Green,
    /// Not a matter of the tests: no application, no browser.
    Environment(String),
    /// A file does not compile, or no test was found.
    Compile(String),
    /// Every failure went away at a later try.
    Flaky(Vec<String>),
    /// These tests fail.
    Failing(Vec<Failure>),
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static METHOD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?m)^(?:\w*Error: )?(?:Error: )?(?:locator|page|frame|elementHandle|keyboard|mouse)\.(\w+): ")
});
static MATCHER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"expect(?:\.\w+)?\([^)]*\)(?:\.\w+)*\.(to\w+)\("));
static WAITING: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\s*-\s*waiting for ((?:locator|getBy|frameLocator|internal).*?)(?: to be \w+)?$"));
static LOCATOR: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\s*Locator:\s*(.+)$"));
static STRICT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"strict mode violation: (.+) resolved to \d+ elements"));
static RECEIVED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\s*Received(?: string)?:\s*(.+)$"));

const ENVIRONMENT: &[&str] = &[
    "net::ERR_",
    "NS_ERROR_",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "EADDRINUSE",
    "Executable doesn't exist",
    "browserType.launch",
    "browser has been closed",
    "config.webServer",
    "Target crashed",
    "Page crashed",
    "Could not connect to the server",
    "Failed to launch",
    "SSL_ERROR",
];

/// What a report says.
#[must_use]
pub fn diagnose(report: &Report) -> Diagnosis {
    if report.tests.is_empty() || !report.errors.is_empty() {
        let messages: Vec<&str> = report.errors.iter().filter_map(|error| error.message.lines().next()).collect();
        let text = if messages.is_empty() { "no test was found".to_owned() } else { messages.join("; ") };
        if report.errors.iter().any(|error| is_environment(&error.message)) {
            return Diagnosis::Environment(text);
        }
        return Diagnosis::Compile(text);
    }
    let red: Vec<&TestResult> = report.tests.iter().filter(|test| test.outcome == "unexpected").collect();
    if red.is_empty() {
        let flaky: Vec<String> =
            report.tests.iter().filter(|test| test.outcome == "flaky").map(|test| test.title.clone()).collect();
        return if !flaky.is_empty() {
            Diagnosis::Flaky(flaky)
        } else if report.executed().is_empty() {
            Diagnosis::Compile("every test is skipped".to_owned())
        } else {
            Diagnosis::Green
        };
    }
    let failures: Vec<Failure> = red.into_iter().filter_map(failure).collect();
    match failures.iter().find(|failure| failure.kind == FailureKind::Environment) {
        Some(failure) => Diagnosis::Environment(failure.message.lines().next().unwrap_or_default().to_owned()),
        None => Diagnosis::Failing(failures),
    }
}

fn is_environment(message: &str) -> bool {
    ENVIRONMENT.iter().any(|word| message.contains(word))
}

fn failure(test: &TestResult) -> Option<Failure> {
    let last = test.tries.last()?;
    // Of several errors, the one that names a call says most.
    let named =
        |error: &&ReportError| find(&WAITING, &error.message).is_some() || find(&MATCHER, &error.message).is_some();
    let empty = ReportError::default();
    let error = last.errors.iter().find(named).or(last.errors.first()).unwrap_or(&empty);
    let message = error.message.clone();
    let matcher = find(&MATCHER, &message);
    let is_assertion = matcher.is_some();
    let method = matcher.or_else(|| find(&METHOD, &message)).unwrap_or_default();
    let images = images(last);
    let named = |is: fn(&str) -> bool| last.attachments.iter().find(|a| is(&a.name)).map(|a| a.path.clone());
    let text = |path: &PathBuf| !path.extension().is_some_and(|end| end == "png" || end == "webp" || end == "jpeg");
    let context = named(|name| name == "error-context").or_else(|| named(is_snapshot).filter(text));
    let told = last.snapshots.iter().chain(last.errors.iter().map(|error| &error.message)).cloned().collect();
    let locator = find(&STRICT, &message).or_else(|| find(&LOCATOR, &message)).or_else(|| find(&WAITING, &message));
    let test_place = Place { file: test.file.clone(), line: test.line, column: 1 };
    Some(Failure {
        kind: kind(&message, is_assertion, &method, last),
        test: test.title.clone(),
        project: test.project.clone(),
        test_place,
        place: error.place.clone().or_else(|| error.stack.first().cloned()),
        stack: error.stack.clone(),
        method,
        is_assertion,
        locator,
        received: find(&RECEIVED, &message),
        message,
        context,
        told,
        snapshot: String::new(),
        images,
    })
}

fn kind(message: &str, is_assertion: bool, method: &str, last: &Try) -> FailureKind {
    let has = |text: &str| message.contains(text);
    if is_environment(message) {
        FailureKind::Environment
    } else if has("strict mode violation") {
        FailureKind::AmbiguousLocator
    } else if has("A snapshot doesn't exist at") {
        FailureKind::MissingBaseline
    } else if method == "toHaveScreenshot"
        || method == "toMatchSnapshot"
        || has("pixels (ratio")
        || has("Expected an image")
    {
        let unstable = last.attachments.iter().any(|a| a.name.contains("-previous"))
            || has("Failed to take two consecutive stable screenshots");
        if unstable { FailureKind::UnstablePage } else { FailureKind::Visual }
    } else if is_assertion {
        let missing = has("element(s) not found") || has("<element(s) not found>");
        if missing { FailureKind::Locator } else { FailureKind::AssertionValue }
    } else if find(&WAITING, message).is_some() {
        let refuses =
            ["lement is not", "intercepts pointer events", "outside of the viewport", "did not find some options"];
        if refuses.iter().any(|reason| has(reason)) {
            FailureKind::NotActionable
        } else if has("locator resolved to") {
            // It is there, and nothing speaks against it: the time was too short.
            FailureKind::Timeout
        } else {
            FailureKind::Locator
        }
    } else if has("SyntaxError") || has("Cannot find module") {
        FailureKind::CompileError
    } else if last.status == "timedOut" || has("Timeout") || has("timeout of") {
        FailureKind::Timeout
    } else {
        FailureKind::Other
    }
}

fn find(regex: &LazyLock<Option<Regex>>, text: &str) -> Option<String> {
    Some(regex.as_ref()?.captures(text)?.get(1)?.as_str().trim().to_owned())
}

fn images(last: &Try) -> Images {
    let mut images = Images::default();
    for attachment in &last.attachments {
        let stem = attachment.name.rsplit_once('.').map_or(attachment.name.as_str(), |(stem, _)| stem);
        let slot = match stem.rsplit_once('-').map(|(_, word)| word) {
            Some("expected") => &mut images.baseline,
            Some("actual") => &mut images.actual,
            Some("diff") => &mut images.diff,
            _ => continue,
        };
        // The last comparison of the try is the one that failed.
        *slot = Some(attachment.path.clone());
    }
    images
}

impl Failure {
    /// Takes what holds the page: what was read from its file, or else what the report itself tells.
    pub fn see(&mut self, read: Option<String>) {
        let holds = |text: &&String| !Page::of_context(text).nodes.is_empty();
        let found = read.iter().chain(&self.told).find(holds).or(read.as_ref());
        self.snapshot = found.cloned().unwrap_or_default();
    }

    /// Two failures of this signature are the same one.
    #[must_use]
    pub fn signature(&self) -> String {
        let place =
            self.place.as_ref().map(|place| format!("{}:{}", place.file.display(), place.line)).unwrap_or_default();
        format!(
            "{:?} {} {} {place} {}",
            self.kind,
            self.project,
            self.test,
            self.locator.as_deref().unwrap_or_default()
        )
    }

    /// The same with a look at the page: a missing element on another page is no drift.
    #[must_use]
    pub fn environment_of(&self, page: &Page, spec: &str) -> Option<&'static str> {
        matches!(self.kind, FailureKind::Locator | FailureKind::Timeout).then(|| page.is_elsewhere(spec)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Attachment;
    use super::*;

    fn of(message: &str) -> Failure {
        let test = TestResult {
            title: "t".into(),
            file: "/a".into(),
            line: 1,
            project: String::new(),
            outcome: "unexpected".into(),
            tries: vec![Try {
                status: "failed".into(),
                errors: vec![ReportError { message: message.into(), ..ReportError::default() }],
                ..Try::default()
            }],
        };
        failure(&test).unwrap()
    }

    #[test]
    fn each_message_has_its_kind() {
        use FailureKind as K;
        for (kind, method, message) in [
            (
                K::Locator,
                "click",
                "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button', { name: 'Begin' })\n",
            ),
            (
                K::Locator,
                "click",
                "Error: locator.click: Test timeout of 8000ms exceeded.\nCall log:\n  - waiting for getByTestId('go')\n",
            ),
            (
                K::NotActionable,
                "click",
                "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button')\n    - locator resolved to <button disabled>Go</button>\n  - attempting click action\n      - element is not enabled",
            ),
            (
                K::Timeout,
                "click",
                "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button')\n    - locator resolved to <button>Go</button>\n  - attempting click action\n    - waiting for element to be visible, enabled and stable",
            ),
            (
                K::Locator,
                "toBeVisible",
                "Error: expect(locator).toBeVisible() failed\n\nLocator: getByText('x')\nExpected: visible\nTimeout: 1000ms\nError: element(s) not found\n",
            ),
            (
                K::AssertionValue,
                "toHaveText",
                "Error: expect(locator).toHaveText(expected) failed\n\nLocator:  getByRole('heading')\nExpected: \"a\"\nReceived: \"b\"\n",
            ),
            (
                K::AmbiguousLocator,
                "click",
                "Error: locator.click: Error: strict mode violation: getByRole('button') resolved to 2 elements:\n  1) <b>",
            ),
            (K::MissingBaseline, "", "Error: A snapshot doesn't exist at /a/s-linux.png, writing actual."),
            (
                K::Visual,
                "toHaveScreenshot",
                "Error: expect(page).toHaveScreenshot(expected) failed\n\n  120 pixels (ratio 0.01 of all image pixels) are different.",
            ),
            (
                K::UnstablePage,
                "toHaveScreenshot",
                "Error: expect(page).toHaveScreenshot(expected) failed\n\n  Failed to take two consecutive stable screenshots.",
            ),
            (K::Environment, "goto", "Error: page.goto: net::ERR_CONNECTION_REFUSED at http://127.0.0.1:1/"),
            (K::Timeout, "", "Test timeout of 30000ms exceeded."),
            (
                K::AssertionValue,
                "toBe",
                "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 2\nReceived: 3",
            ),
            (K::Other, "", "TypeError: x is not a function"),
        ] {
            let failure = of(message);
            assert_eq!((failure.kind, failure.method.as_str()), (kind, method), "{message}");
        }
    }

    #[test]
    fn the_images_are_those_of_one_try_of_one_test() {
        let shot = |name: &str, path: &str| Attachment { name: name.into(), path: path.into() };
        let one = |number: u32| Try {
            status: "failed".into(),
            attachments: vec![
                shot("page-expected.png", "/shots/page-linux.png"),
                shot("page-actual.png", &format!("/out/{number}/page-actual.png")),
            ],
            ..Try::default()
        };
        let test = TestResult {
            title: "t".into(),
            file: "/a".into(),
            line: 1,
            project: "firefox".into(),
            outcome: "unexpected".into(),
            tries: vec![one(0), one(1)],
        };
        let failure = failure(&test).unwrap();
        assert_eq!(failure.images.actual, Some("/out/1/page-actual.png".into()));
        assert_eq!((failure.images.baseline, failure.images.diff), (Some("/shots/page-linux.png".into()), None));
        assert_eq!(failure.project, "firefox");
    }

    #[test]
    fn the_locator_and_what_was_received_are_read() {
        let failure = of(
            "Error: expect(locator).toHaveText(expected) failed\n\nLocator:  getByRole('heading')\nExpected: \"a\"\nReceived: \"b\"\n",
        );
        assert_eq!(
            (failure.locator.as_deref(), failure.received.as_deref()),
            (Some("getByRole('heading')"), Some("\"b\""))
        );
    }
}
