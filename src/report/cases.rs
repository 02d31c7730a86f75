//! JUnit of anything that passes or fails: suites of cases. Flows use it.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::error::ReportError;
use super::markdown::{TEXT_LIMIT, one_line};

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseEnd {
    /// It passed.
    Passed,
    /// It failed: kind, message, and all that is known.
    Failed(String, String, String),
    /// It could not be run: kind, message, and all that is known.
    Error(String, String, String),
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its suite: a file.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// How it ended.
    pub end: CaseEnd,
    /// What it said on the way.
    pub out: String,
}

/// Renders cases for CI, those of one suite side by side.
///
/// # Errors
/// When the XML cannot be written.
pub fn junit_of_cases(title: &str, cases: &[Case]) -> Result<String, ReportError> {
    let mut report = Report::new(title);
    report.set_time(Duration::from_millis(cases.iter().map(|case| case.ms).sum()));
    let mut suites: Vec<(&str, TestSuite)> = Vec::new();
    for case in cases {
        let status = match &case.end {
            CaseEnd::Passed => TestCaseStatus::success(),
            CaseEnd::Failed(kind, message, text) => bad(NonSuccessKind::Failure, kind, message, text),
            CaseEnd::Error(kind, message, text) => bad(NonSuccessKind::Error, kind, message, text),
        };
        let mut test = TestCase::new(case.name.clone(), status);
        test.set_classname(case.suite.clone());
        test.set_time(Duration::from_millis(case.ms));
        if !case.out.is_empty() {
            test.set_system_out(case.out.clone());
        }
        match suites.iter_mut().find(|(name, _)| *name == case.suite) {
            Some((_, suite)) => drop(suite.add_test_case(test)),
            None => {
                let mut suite = TestSuite::new(case.suite.clone());
                suite.add_test_case(test);
                suites.push((&case.suite, suite));
            }
        }
    }
    report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
    report.to_string().map_err(|source| ReportError::Junit { project: title.to_owned(), source })
}

fn bad(kind: NonSuccessKind, word: &str, message: &str, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(word);
    status.set_message(one_line(message, TEXT_LIMIT));
    status.set_description(text);
    status
}
