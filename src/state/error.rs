//! Why something could not be done with the state.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::model::Place;
use crate::exit::{Exit, Explain};
use crate::route::{Route, RouteError};
use crate::settings::SettingsError;
use crate::store::StoreError;

/// Why something could not be done with the state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A route, route map or selection.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No campaign here.
    #[error("there is no campaign here: `{}` does not exist", path.display())]
    NoState {
        /// Where the state would be.
        path: PathBuf,
    },
    /// The state file cannot be understood.
    #[error("cannot understand the state `{}`: {problem}", path.display())]
    Broken {
        /// The state file.
        path: PathBuf,
        /// Where and why.
        problem: String,
    },
    /// What stands where the state has to be is no file that a state could be in.
    #[error("cannot read the state `{}`: {problem}", path.display())]
    NoFile {
        /// The state file.
        path: PathBuf,
        /// What it is instead.
        problem: String,
    },
    /// A route stands in more than one place.
    #[error("the state `{}` is ambiguous: {}", path.display(), places.iter().map(|(route, at)| format!("`{route}` stands in {at}")).collect::<Vec<_>>().join("; "))]
    Ambiguous {
        /// The state file.
        path: PathBuf,
        /// Each route with its places (`completed and pending`).
        places: Vec<(Route, String)>,
    },
    /// A newer program wrote the state.
    #[error("the state `{}` has schema version {version}, this program writes version {}", path.display(), super::model::SCHEMA_VERSION)]
    Newer {
        /// The state file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// An older state was brought back.
    #[error("cannot go on from `{}`: {age}", path.display())]
    Older {
        /// The state file.
        path: PathBuf,
        /// How it is older.
        age: String,
    },
    /// A transition that cannot be taken back.
    #[error("cannot take back {what}: {problem}")]
    CannotUndo {
        /// Which one.
        what: String,
        /// Why.
        problem: String,
    },
    /// Another campaign stands here.
    #[error("a campaign exists already in `{}`, with {difference}", path.display())]
    Exists {
        /// The state file.
        path: PathBuf,
        /// What is different from what was asked for.
        difference: String,
    },
    /// The campaign does not have the route.
    #[error("cannot {doing} `{route}`: the campaign has no such route")]
    UnknownRoute {
        /// What was being done.
        doing: &'static str,
        /// The route.
        route: Route,
    },
    /// The route stands where this cannot be done.
    #[error("cannot {doing} `{route}`: it is {place}")]
    WrongPlace {
        /// What was being done.
        doing: &'static str,
        /// The route.
        route: Route,
        /// Where it stands.
        place: Place,
    },
    /// Another worker holds the route.
    #[error("cannot {doing} `{route}`: already claimed by {worker} until {}", super::model::stamp(*until))]
    Leased {
        /// What was being done.
        doing: &'static str,
        /// The route.
        route: Route,
        /// Who.
        worker: String,
        /// Until when.
        until: DateTime<Utc>,
    },
    /// The token belongs to no lease that lives.
    #[error("cannot {doing}: the token `{token}` holds no lease that lives")]
    DeadToken {
        /// What was being done.
        doing: String,
        /// The token.
        token: String,
    },
    /// The campaign is blocked.
    #[error("the campaign is blocked: {reason}")]
    Blocked {
        /// Why.
        reason: String,
    },
    /// A report that cannot complete its route.
    #[error("the report `{}` cannot complete `{route}`: {problem}", path.display())]
    BadReport {
        /// The route.
        route: Route,
        /// The report.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A file that should be there is not.
    #[error("cannot {doing} `{route}`: `{}` {problem}", path.display())]
    BadFile {
        /// What was being done.
        doing: &'static str,
        /// The route.
        route: Route,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An argument that does not fit.
    #[error("{0}")]
    Argument(String),
    /// There is nothing to rebuild a state from.
    #[error("cannot rebuild `{}`: {problem}", path.display())]
    NothingToRebuild {
        /// The state file.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
}

impl Explain for StateError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Route(error) => return error.hint(),
            Self::Settings(error) => return error.hint(),
            Self::Argument(_) => return None,
            Self::NoState { .. } => {
                "start one with `agent-test init`, or name the project with --project-dir; if it was lost, `agent-test check --repair --dry-run` shows what can be rebuilt".into()
            }
            Self::NoFile { .. } => {
                "move away what stands there, or put the state file in its place; when it is away, `agent-test check --repair --dry-run` shows what can be rebuilt".into()
            }
            // Without all marks of a merge, no repair can tell the sides.
            Self::Broken { problem, .. } if problem.contains(super::conflict::ODD_MARKS) => {
                "take one side and the marks out of the file by hand at that line, or put the file back from a backup".into()
            }
            Self::Broken { problem, .. } if problem.contains("merge conflict") => {
                "resolve the conflict in the file, or see with `agent-test check --repair --dry-run` which side has what and what a repair would take".into()
            }
            Self::Broken { .. } => {
                "correct the file, or see what can be rebuilt from ROUTE_MAP.md and the reports with `agent-test check --repair --dry-run`".into()
            }
            Self::Ambiguous { .. } => "see what a repair would do with `agent-test check --repair --dry-run`".into(),
            Self::Newer { .. } => "use the newer agent-test; this one only reads the file".into(),
            Self::Older { .. } => {
                "a change of branch or a restored backup brought an older file back; put the newer one back, or see what a repair would do with `agent-test check --repair --dry-run`".into()
            }
            Self::CannotUndo { .. } => "`agent-test log` shows what was done".into(),
            Self::Exists { .. } => "go on with it by `agent-test resume`, or change its routes with `add` and `drop`".into(),
            Self::UnknownRoute { .. } => "the state file lists the campaign's routes (pending, completed, failed); `add` takes in a new one".into(),
            Self::WrongPlace { doing, place, .. } => match (*doing, place) {
                ("retry", Place::Completed(_)) => "to test a completed route again, requeue it".into(),
                ("complete" | "fail" | "claim", Place::Completed(_)) => "requeue the route to test it again".into(),
                ("complete" | "claim", Place::Failed) => "retry the route first".into(),
                ("requeue", Place::Failed) => "retry the route instead".into(),
                _ => "`agent-test status` shows where the campaign stands".into(),
            },
            Self::Leased { doing: "claim" | "claim for review", .. } => {
                "claim another route, or wait until the lease has run out".into()
            }
            Self::Leased { .. } => "give the token of the lease with --token, claim another route, or wait until the lease has run out".into(),
            Self::DeadToken { .. } => "claim the route again; the work that was done can be handed in under the new token".into(),
            Self::Blocked { .. } => "when the cause is gone, clear it with `agent-test unblock`".into(),
            Self::BadReport { .. } => "correct the report or test the route again; the route stays pending".into(),
            Self::BadFile { .. } => "write the file first, then do the same again".into(),
            Self::NothingToRebuild { .. } => {
                "put the state back from a backup, or write down in ROUTE_MAP.md which routes there are: then it can be rebuilt".into()
            },
        })
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Route(error) => error.code(),
            Self::Settings(error) => error.code(),
            Self::NoState { .. } => "no_state",
            Self::Broken { problem, .. } if problem.contains("merge conflict") => "merge_conflict",
            Self::Broken { .. } | Self::NoFile { .. } => "broken_state",
            Self::Ambiguous { .. } => "ambiguous_state",
            Self::Newer { .. } => "newer_state",
            Self::Older { .. } => "older_state",
            Self::CannotUndo { .. } => "cannot_undo",
            Self::Exists { .. } => "campaign_exists",
            Self::UnknownRoute { .. } => "unknown_route",
            Self::WrongPlace { .. } => "wrong_place",
            Self::Leased { .. } => "already_claimed",
            Self::DeadToken { .. } => "dead_token",
            Self::Blocked { .. } => "blocked",
            Self::BadReport { .. } => "bad_report",
            Self::BadFile { .. } => "bad_file",
            Self::Argument(_) => "bad_argument",
            Self::NothingToRebuild { .. } => "nothing_to_rebuild",
        }
    }
}
