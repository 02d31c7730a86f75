//! Where the campaign stands and what comes next, for people and for agents.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::check::{Finding, older};
use super::claims::Lease;
use super::model::{Counts, State};
use super::project::{FINAL_REPORT, REPORTS_DIR};
use super::{Next, Project, StateError};
use crate::route::Route;
use crate::settings::Settings;

/// Routes that a document names; the counts tell how many there are.
const NAMED: usize = 20;

/// A command that an agent can run next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextCommand {
    /// What it is for.
    pub why: String,
    /// The command line; words in capitals are to be filled in.
    pub command: String,
}

/// A lease that lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// The route.
    pub route: Route,
    /// Who.
    pub worker: String,
    /// Until when.
    pub expires_at: DateTime<Utc>,
}

/// Where the campaign stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The project's name.
    pub project: String,
    /// Address of the application.
    pub base_url: String,
    /// `testing`, `review`, `final_report`, `done` or `blocked`.
    pub phase: &'static str,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// The counters, from the lists.
    pub counts: Counts,
    /// Routes free to claim in this phase: how many.
    pub free: usize,
    /// The first of them.
    pub free_routes: Vec<Route>,
    /// Routes that a worker holds: how many.
    pub leased: usize,
    /// The first of them.
    pub leases: Vec<Held>,
    /// Routes that could not be tested, the first of them.
    pub failed_routes: Vec<Route>,
    /// When the state last changed.
    pub last_updated: Option<DateTime<Utc>>,
    /// Path of the final report, when it is of this very state.
    pub final_report: Option<String>,
    /// What is wrong with the state or its files.
    pub findings: Vec<Finding>,
    /// What to run next.
    pub next: Vec<NextCommand>,
}

impl Project {
    /// Where the campaign stands: the state, and one listing of the folder of reports.
    ///
    /// # Errors
    /// As [`Project::read`].
    pub fn standing(&self) -> Result<Standing, StateError> {
        let known = self.last_known();
        let listing = self.list_reports();
        let (state, digest) = self.parsed()?;
        let state = self.unambiguous(state)?;
        let older = self.age(&state, &digest, known).map(|age| older(&age));
        let findings = older.into_iter().chain(self.quick_findings(&state, listing)?).collect();
        let next = self.next(&state)?;
        let settings = Settings::from(state.config().settings);
        Ok(Standing::new(&state, &next, &settings, findings, self.now()))
    }
}

impl Standing {
    /// Puts together what is known.
    #[must_use]
    pub fn new(state: &State, next: &Next, settings: &Settings, findings: Vec<Finding>, now: DateTime<Utc>) -> Self {
        let (free, leased) = match next {
            Next::Testing { free, leased } | Next::Review { free, leased } => (free.as_slice(), leased.len()),
            _ => (&[][..], 0),
        };
        let leases = state.live_leases(now);
        let mut held: Vec<Held> = leases
            .into_iter()
            .filter_map(|(key, Lease { worker, expires_at, .. })| {
                Some(Held { route: Route::parse(&key).ok()?, worker, expires_at })
            })
            .collect();
        held.sort_by(|a, b| a.route.cmp(&b.route));
        held.truncate(NAMED);
        Self {
            project: state.project(),
            base_url: state.base_url(),
            phase: next.phase(),
            blocked_reason: state.blocked(),
            counts: state.counts(),
            free: free.len(),
            free_routes: free.iter().take(NAMED).cloned().collect(),
            leased,
            leases: held,
            failed_routes: state.failed().iter().take(NAMED).map(|entry| entry.route.clone()).collect(),
            last_updated: state.last_updated(),
            final_report: (*next == Next::Done).then(|| format!("{REPORTS_DIR}/{FINAL_REPORT}")),
            findings,
            next: commands(state, next, settings),
        }
    }

    /// For a person: a few aligned lines.
    #[must_use]
    pub fn text(&self) -> String {
        let counts = &self.counts;
        let mut out = format!("{}  {}\n\n", or_dash(&self.project), or_dash(&self.base_url));
        let phase = match self.phase {
            "testing" => format!("testing: {} to test, {} held by workers", self.free + self.leased, self.leased),
            "review" => format!("review: {} to review, {} held by workers", self.free + self.leased, self.leased),
            "final_report" => "final report: everything is tested and reviewed, the report is to be written".to_owned(),
            "blocked" => format!("blocked: {}", self.blocked_reason.as_deref().unwrap_or("no reason was given")),
            _ => "done".to_owned(),
        };
        out.push_str(&format!("phase     {phase}\n"));
        let marks = bar(counts.tested, counts.failed, counts.total_routes);
        out.push_str(&format!("tested    {marks} {}/{}", counts.tested, counts.total_routes));
        if counts.failed > 0 {
            out.push_str(&format!(" ({} could not be tested)", counts.failed));
        }
        let reviewed = counts.review_complete;
        out.push_str(&format!("\nreviewed  {} {reviewed}/{}", bar(reviewed, 0, counts.tested), counts.tested));
        if counts.review_failed > 0 {
            out.push_str(&format!(" ({} failed)", counts.review_failed));
        }
        out.push('\n');
        if let Some(report) = &self.final_report {
            out.push_str(&format!("report    {report}\n"));
        }
        for (place, route) in self.free_routes.iter().take(5).enumerate() {
            out.push_str(&format!("{}  {route}\n", if place == 0 { "waiting " } else { "        " }));
        }
        if self.free > 5 {
            out.push_str(&format!("          and {} more\n", self.free - 5));
        }
        if !self.next.is_empty() {
            out.push_str("\nnext\n");
            for next in &self.next {
                out.push_str(&format!("  {}\n    {}\n", next.command, next.why));
            }
        }
        out
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// `[#####x....]`, understandable without colour: done, given up, still to do.
fn bar(done: usize, failed: usize, total: usize) -> String {
    const WIDTH: usize = 20;
    let part = |count: usize| (count * WIDTH).checked_div(total).unwrap_or(0).min(WIDTH);
    let full = part(done);
    let failed = part(done + failed) - full;
    format!("[{}{}{}]", "#".repeat(full), "x".repeat(failed), ".".repeat(WIDTH - full - failed))
}

fn commands(state: &State, next: &Next, settings: &Settings) -> Vec<NextCommand> {
    let command = |command: String, why: &str| NextCommand { why: why.to_owned(), command };
    match next {
        Next::Testing { free, .. } if free.is_empty() => {
            vec![command(
                "agent-test status --json".into(),
                "every route is held by a worker; look again when one is done",
            )]
        }
        Next::Testing { .. } => vec![
            command("agent-test run".into(), "test everything that waits with the built-in explorer"),
            command(
                format!("agent-test claim --batch {} --json", settings.batch_size),
                "or take the next routes for subagents of your own, one each",
            ),
            command(
                format!("agent-test complete ROUTE --report {REPORTS_DIR}/SLUG.json --token TOKEN --json"),
                "hand a route's report in",
            ),
            command("agent-test fail ROUTE --error TEXT --token TOKEN --json".into(), "when a route cannot be tested"),
        ],
        Next::Review { free, .. } if free.is_empty() => {
            vec![command(
                "agent-test status --json".into(),
                "every review is held by a worker; look again when one is done",
            )]
        }
        Next::Review { .. } => vec![
            command("agent-test run".into(), "review everything that waits"),
            command(
                format!("agent-test claim --phase review --batch {} --json", settings.review_batch_size),
                "or take the next routes for reviewers of your own, one each",
            ),
            command(
                format!(
                    "agent-test review complete ROUTE --bug-report {REPORTS_DIR}/SLUG-bugs.md --token TOKEN --json"
                ),
                "hand a route's bug report in",
            ),
            command(
                "agent-test review fail ROUTE --error TEXT --token TOKEN --json".into(),
                "when a route cannot be reviewed",
            ),
        ],
        Next::FinalReport => vec![command("agent-test report".into(), "write the final report")],
        Next::Done if state.failed().is_empty() => Vec::new(),
        Next::Done => vec![command("agent-test retry --all".into(), "try the routes again that could not be tested")],
        Next::Blocked { .. } => vec![command("agent-test unblock".into(), "when the cause is gone")],
    }
}
