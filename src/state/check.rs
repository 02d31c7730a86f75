//! What is wrong with a campaign's files, and what a repair would do about it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::thread::JoinHandle;

use serde::Serialize;

use super::StateError;
use super::entry::{Completed, ReviewStatus};
use super::handin::read_report;
use super::model::{SCHEMA_VERSION, State};
use super::project::{Project, REPORTS_DIR};
use crate::exit::Failure;
use crate::route::Route;
use crate::settings::parse_address;
use crate::store::{self, DigestSet, FileKind, StoreError, table_digest};

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable word: `counters`, `twice`, `report`, `review_status`, `status_word`, `byte_order_mark`,
    /// `bug_report`, `last_updated`, `slug`, `newer`, `older`, `own_dir`,
    /// `base_url`, `unreadable`.
    pub code: &'static str,
    /// The route that it is about.
    pub route: Option<Route>,
    /// What is wrong, in one line.
    pub message: String,
    /// What a repair would do.
    pub repair: Option<String>,
}

/// What a repair does or did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Repair {
    /// What was found.
    pub findings: Vec<Finding>,
    /// What is done about it, one line each.
    pub actions: Vec<String>,
    /// What cannot be known.
    pub unknown: Vec<String>,
    /// Whether it was done.
    pub done: bool,
    /// Where the old state is kept, relative to the project.
    pub kept: Option<String>,
}

impl Finding {
    pub(super) fn new(code: &'static str, route: Option<&Route>, message: String, repair: Option<&str>) -> Self {
        Self { code, route: route.cloned(), message, repair: repair.map(str::to_owned) }
    }
}

/// What the state says about itself.
fn own_findings(state: &State) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, written, truth) in state.wrong_counters() {
        let written = written.map_or_else(|| state.meta_text(name), |count| count.to_string());
        findings.push(Finding::new(
            "counters",
            None,
            format!("meta.{name} is {written}, the lists say {truth}"),
            Some("write it right"),
        ));
    }
    let mut digests = DigestSet::default();
    let shared =
        !state.completed.iter().filter_map(Completed::report_path).all(|file| digests.insert(digest_of(&file)));
    let mut report_files: HashMap<String, &Route> = HashMap::new();
    for entry in &state.completed {
        if entry.review_status.is_none() {
            findings.push(Finding::new(
                "review_status",
                Some(&entry.route),
                format!("`{}` is completed without a review status", entry.route),
                Some("set it to review_pending"),
            ));
        }
        if shared
            && let Some(file) = entry.report_path()
            && let Some(other) = report_files.insert(file.to_lowercase(), &entry.route)
        {
            findings.push(Finding::new(
                "slug",
                Some(&entry.route),
                format!("`{}` and `{other}` share the report `{file}`", entry.route),
                Some("test it again under a slug of its own"),
            ));
        }
    }
    for (route, word) in state.unknown_words() {
        let message = format!("`{route}` has the unknown status `{word}`: it is kept");
        findings.push(Finding::new("status_word", Some(&route), message, None));
    }
    if state.journal.byte_order_mark {
        findings.push(Finding::new(
            "byte_order_mark",
            None,
            "the state begins with a byte-order mark: it is kept".into(),
            None,
        ));
    }
    let address = state.base_url();
    if !address.is_empty()
        && let Err(error) = parse_address("meta.base_url", &address)
    {
        let message = format!("{error}: --base-url or agent-test.toml can name another");
        findings.push(Finding::new("base_url", None, message, None));
    }
    if let Some(updated) = state.last_updated()
        && state.latest_after(updated).is_some()
    {
        findings.push(Finding::new(
            "last_updated",
            None,
            "meta.last_updated is before a route's test".into(),
            Some("write it right"),
        ));
    }
    findings
}

/// The digest of a file's name, without regard to case.
fn digest_of(file: &str) -> u64 {
    if file.is_ascii() {
        table_digest(file.bytes().map(|byte| byte.to_ascii_lowercase()))
    } else {
        table_digest(file.to_lowercase().bytes())
    }
}

impl Project {
    /// Lists the folder of reports on the side: of a large campaign that takes as long as reading the state.
    pub(super) fn list_reports(&self) -> JoinHandle<Result<store::Listing, StoreError>> {
        let directory = self.reports_dir();
        std::thread::spawn(move || store::Listing::of(&directory))
    }

    /// What can be told from the state and one listing of the folder of reports.
    pub(super) fn quick_findings(
        &self,
        state: &State,
        listing: JoinHandle<Result<store::Listing, StoreError>>,
    ) -> Result<Vec<Finding>, StateError> {
        let mut findings = own_findings(state);
        let listing = match listing.join() {
            Ok(listing) => listing?,
            Err(_) => store::Listing::of(&self.reports_dir())?,
        };
        // The listing may be from just before a report was handed in: what is not in it is looked at itself.
        let there = |file: &str| {
            let name = file.strip_prefix(REPORTS_DIR).and_then(|rest| rest.strip_prefix('/'));
            name.is_some_and(|name| !name.contains('/') && listing.contains(name))
                || store::exists(&self.root().join(file)) == FileKind::File
        };
        for entry in &state.completed {
            match entry.report_path() {
                Some(file) if there(&file) => {}
                file => findings.push(report_gone(&entry.route, file.as_deref())),
            }
            if entry.review() == ReviewStatus::Complete && !entry.bug_report_path().as_deref().is_some_and(there) {
                findings.push(bugs_gone(&entry.route, entry.bug_report_path().as_deref()));
            }
        }
        Ok(findings)
    }

    /// Everything that is wrong: the state, every report with its screenshots, every bug report.
    ///
    /// # Errors
    /// When there is no state, or it cannot be read or understood.
    pub fn check(&self) -> Result<Vec<Finding>, StateError> {
        let known = self.last_known();
        let (state, digest) = self.parsed()?;
        let older = self.age(&state, &digest, known).map(|age| older(&age));
        Ok(older.into_iter().chain(self.findings(&state)?).collect())
    }

    pub(super) fn findings(&self, state: &State) -> Result<Vec<Finding>, StateError> {
        let mut findings: Vec<Finding> = state
            .twice()
            .into_iter()
            .map(|(route, places)| {
                let keep = self.keeper(state, &route);
                Finding::new(
                    "twice",
                    Some(&route),
                    format!("`{route}` stands in {places}"),
                    Some(&format!("keep it in {keep}, take it out of the others")),
                )
            })
            .collect();
        if let Some(error) = store::no_directory(&self.own_dir()) {
            let message = format!("no history is written, and nothing can be taken back: {}", Failure::from(error));
            findings.push(Finding::new("own_dir", None, message, None));
        }
        if state.schema_version() > SCHEMA_VERSION {
            findings.push(Finding::new("newer", None, "a newer program wrote the state".into(), None));
        }
        findings.extend(self.quick_findings(state, self.list_reports())?);
        let gone: HashSet<Route> = findings
            .iter()
            .filter(|finding| finding.code == "report")
            .filter_map(|finding| finding.route.clone())
            .collect();
        for entry in state.completed.iter().filter(|entry| !gone.contains(&entry.route)) {
            if let Err(error) = self.read_report_of(state, entry) {
                findings.push(Finding::new(
                    "report",
                    Some(&entry.route),
                    error.to_string(),
                    Some("test the route again"),
                ));
            }
        }
        Ok(findings)
    }

    fn read_report_of(&self, state: &State, entry: &super::Completed) -> Result<(), StateError> {
        let file = self.root().join(entry.report_file.as_deref().unwrap_or_default());
        let slug = entry
            .screenshots_dir
            .as_deref()
            .and_then(|folder| Path::new(folder).file_name()?.to_str())
            .and_then(crate::route::Slug::from_file)
            .unwrap_or_else(|| state.slug(&entry.route));
        read_report(self, &entry.route, &slug, &file).map(|_| ())
    }

    /// Where a route that stands in several lists is kept: completed when its report holds, otherwise pending, so that
    /// it is tested again, otherwise failed.
    pub(super) fn keeper(&self, state: &State, route: &Route) -> &'static str {
        let holds =
            state.completed.iter().any(|entry| entry.route == *route && self.read_report_of(state, entry).is_ok());
        if holds {
            "completed"
        } else if state.pending.iter().any(|entry| entry.route == *route) {
            "pending"
        } else {
            "failed"
        }
    }
}

/// The state is older than what is known.
pub(super) fn older(age: &super::age::Age) -> Finding {
    Finding::new("older", None, age.message(), Some("bring it forward by what the copy and the history tell"))
}

fn report_gone(route: &Route, file: Option<&str>) -> Finding {
    let message = match file {
        Some(file) => format!("`{route}` is completed, but its report `{file}` does not exist"),
        None => format!("`{route}` is completed, but names no report"),
    };
    Finding::new("report", Some(route), message, Some("test the route again"))
}

fn bugs_gone(route: &Route, file: Option<&str>) -> Finding {
    let message = match file {
        Some(file) => format!("`{route}` is reviewed, but its bug report `{file}` does not exist"),
        None => format!("`{route}` is reviewed, but names no bug report"),
    };
    Finding::new("bug_report", Some(route), message, Some("review the route again"))
}
