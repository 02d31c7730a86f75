//! What happens in a campaign, as values. Engines emit events; the terminal, the run file and the reports are drawn
//! from them.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::maze::{ActionResult, Bug, RouteReport};
use crate::trace::TraceStep;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When (UTC).
    pub at: DateTime<Utc>,
    /// Which worker (0 = the first), when one did it.
    pub worker: Option<usize>,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A goal step of a flow is with the cache, or was given to an agent.
    StepOwned {
        /// The flow.
        flow: String,
        /// Number of the step, from 1.
        step: usize,
        /// `cache` or `agent`.
        owner: String,
    },
    /// A flow ended.
    FlowDone {
        /// The flow.
        flow: String,
        /// How: `passed`, `flaky`, `failed`, `stale` or `error`.
        outcome: String,
    },
    /// The work of a phase begins.
    PhaseStarted {
        /// `testing`, `review` or `final_report`.
        phase: String,
        /// Routes to do in it.
        routes: usize,
    },
    /// A route was handed to a worker.
    RouteClaimed {
        /// The route.
        route: String,
    },
    /// A browser session stands.
    SessionStarted {
        /// The route.
        route: String,
    },
    /// An exploration that was cut off goes on.
    RouteResumed {
        /// The route.
        route: String,
        /// Elements of the page that were done with.
        branches: usize,
    },
    /// A look at the screen was taken.
    ScreenLooked {
        /// The route.
        route: String,
        /// Interactive elements on it.
        elements: usize,
    },
    /// A step was done.
    StepDone {
        /// The route.
        route: String,
        /// The step.
        step: Box<TraceStep>,
    },
    /// An element was dealt with.
    NodeDone {
        /// The route.
        route: String,
        /// Labels from the section to the element.
        path: Vec<String>,
        /// What came of it.
        result: ActionResult,
    },
    /// A bug was found.
    BugFound {
        /// The route.
        route: String,
        /// The bug.
        bug: Box<Bug>,
    },
    /// A route was explored and its report written.
    RouteCompleted {
        /// The route.
        route: String,
        /// Its report.
        report: Box<RouteReport>,
    },
    /// A route could not be explored this time.
    RouteCrashed {
        /// The route.
        route: String,
        /// Why.
        error: String,
        /// How often it has crashed in this campaign.
        attempts: u32,
        /// Whether it is given up.
        failed: bool,
    },
    /// A route's review was written.
    RouteReviewed {
        /// The route.
        route: String,
        /// Bugs in it.
        bugs: usize,
    },
    /// A bug was played again as often as it was to be.
    BugVerified {
        /// Where it was found.
        location: String,
        /// What became of it.
        verdict: String,
    },
    /// A flow of a run was played again.
    FlowReplayed {
        /// What it is about.
        flow: String,
        /// Steps in it.
        steps: usize,
    },
    /// A shorter trace of a bug fires as well.
    TraceShortened {
        /// Where the bug was found.
        location: String,
        /// Steps that are left.
        steps: usize,
    },
    /// The final report was written.
    ReportWritten {
        /// Its path.
        path: String,
    },
    /// Something that a person should know.
    Warned {
        /// The text.
        text: String,
    },
}

/// Where events go. Cheap to clone.
#[derive(Clone)]
pub struct Events {
    send: std::sync::Arc<dyn Fn(Event) + Send + Sync>,
    worker: Option<usize>,
}

impl Events {
    /// Events go to this function.
    #[must_use]
    pub fn new(send: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self { send: std::sync::Arc::new(send), worker: None }
    }

    /// Events go nowhere.
    #[must_use]
    pub fn ignore() -> Self {
        Self::new(|_| ())
    }

    /// The same sink for one worker's events.
    #[must_use]
    pub fn for_worker(&self, worker: usize) -> Self {
        Self { send: self.send.clone(), worker: Some(worker) }
    }

    /// Emits one.
    pub fn emit(&self, at: DateTime<Utc>, kind: EventKind) {
        (self.send)(Event { at, worker: self.worker, kind });
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("worker", &self.worker).finish_non_exhaustive()
    }
}
