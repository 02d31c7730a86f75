//! Progress of explorations: a bar per worker and one overall on a terminal, plain lines elsewhere. Draws events.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::event::{Event, EventKind, Events};
use crate::maze::RouteReport;
use crate::ui::{Ui, counted};

/// Draws progress. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Progress {
    ui: Ui,
    place: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    all: MultiProgress,
    overall: ProgressBar,
    workers: Vec<ProgressBar>,
    actions: Vec<u64>,
}

impl Progress {
    /// For so many workers and routes.
    pub(crate) fn new(ui: &Ui, workers: usize, routes: usize) -> Self {
        let all = MultiProgress::with_draw_target(ui.progress_target());
        let overall = all.add(ProgressBar::new(routes as u64));
        let style =
            |template: &str| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        overall.set_style(
            style("{prefix:>8} {bar:28.cyan} {pos}/{len} routes  {elapsed}  {msg}").progress_chars("█▉▊▋▌▍▎▏ "),
        );
        overall.set_prefix("campaign");
        let workers: Vec<ProgressBar> = (0..workers)
            .map(|worker| {
                let bar = all.add(ProgressBar::new_spinner());
                bar.set_style(style("{prefix:>8} {spinner} {wide_msg}"));
                bar.set_prefix(format!("worker {}", worker + 1));
                bar
            })
            .collect();
        let actions = vec![0; workers.len()];
        Self {
            ui: ui.clone(),
            place: PathBuf::new(),
            inner: Arc::new(Mutex::new(Inner { all, overall, workers, actions })),
        }
    }

    /// The files that are told of lie below this directory.
    pub(crate) fn below(self, place: &Path) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    /// So many routes were done before.
    pub(crate) fn with_done(self, routes: usize) -> Self {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).overall.set_position(routes as u64);
        self
    }

    /// The sink that draws.
    pub(crate) fn events(&self) -> Events {
        let this = self.clone();
        Events::new(move |event| this.draw(&event))
    }

    fn say(&self, inner: &Inner, line: &str) {
        if self.ui.is_terminal() {
            inner.all.suspend(|| self.ui.note(line));
        } else {
            self.ui.note(line);
        }
    }

    fn draw(&self, event: &Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = event.worker.unwrap_or(0);
        match &event.kind {
            EventKind::PhaseStarted { phase, routes } => {
                let phase = phase.replace('_', " ");
                inner.overall.set_message(phase.clone());
                self.say(&inner, &format!("{phase}: {}", counted(*routes, "route")));
            }
            EventKind::RouteClaimed { route } | EventKind::SessionStarted { route } => {
                if let Some(actions) = inner.actions.get_mut(worker) {
                    *actions = 0;
                }
                if let Some(bar) = inner.workers.get(worker) {
                    bar.set_message(route.clone());
                }
                if matches!(event.kind, EventKind::SessionStarted { .. }) && !self.ui.is_terminal() {
                    self.say(&inner, &format!("exploring {route}"));
                }
            }
            EventKind::RouteResumed { route, branches } => {
                self.say(&inner, &format!("{route} goes on: {} done before", counted(*branches, "element")));
            }
            EventKind::NodeDone { route, path, result } => {
                let count = inner.actions.get_mut(worker).map_or(0, |actions| {
                    *actions += 1;
                    *actions
                });
                if let Some(bar) = inner.workers.get(worker) {
                    bar.set_message(format!("{route}  {count}  {} → {result}", path.join(" > ")));
                    bar.tick();
                }
                self.ui.detail(format!("  {}: {result}", path.join(" > ")));
            }
            EventKind::BugFound { bug, .. } => {
                self.say(&inner, &format!("  {}: {} ({})", bug.severity, bug.description, bug.location));
            }
            EventKind::RouteCompleted { route, report } => {
                inner.overall.inc(1);
                let seconds = report.duration_ms.unwrap_or(0) as f64 / 1000.0;
                self.say(&inner, &format!("{route}: {} ({seconds:.1} s)", report.summary.clone().unwrap_or_default()));
            }
            EventKind::RouteCrashed { route, error, attempts, failed } => {
                let end = if *failed { "given up".to_owned() } else { format!("attempt {attempts}, still pending") };
                self.say(&inner, &format!("{route}: {error} ({end})"));
                if *failed {
                    inner.overall.inc(1);
                }
            }
            EventKind::Warned { text } => {
                let warn = || self.ui.warn(text);
                if self.ui.is_terminal() { inner.all.suspend(warn) } else { warn() }
            }
            EventKind::RouteReviewed { route, bugs } => {
                self.ui.detail(format!("reviewed {route}: {}", counted(*bugs, "bug")));
            }
            EventKind::ReportWritten { path } => {
                self.say(&inner, &format!("written {}", self.place.join(path).display()));
            }
            EventKind::BugVerified { location, verdict } => {
                inner.overall.inc(1);
                self.say(&inner, &format!("{verdict:<12} {location}"));
            }
            EventKind::TraceShortened { location, steps } => {
                self.ui.detail(format!("{location}: still fires after {}", super::counted(*steps, "step")));
            }
            EventKind::FlowReplayed { flow, steps } => {
                inner.overall.inc(1);
                self.say(&inner, &format!("replayed     {flow} ({})", super::counted(*steps, "step")));
            }
            EventKind::StepOwned { flow, step, owner } => {
                self.ui.detail(format!("{flow}: step {step} is with the {owner}"));
            }
            EventKind::FlowDone { flow, outcome } => {
                inner.overall.inc(1);
                self.say(&inner, &format!("{outcome:<12} {flow}"));
            }
            EventKind::ScreenLooked { .. } | EventKind::StepDone { .. } => {}
        }
    }

    /// A route ended outside a campaign.
    pub(crate) fn route_done(&self, worker: usize, report: Option<&RouteReport>) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.overall.inc(1);
        if let (Some(bar), Some(report)) = (inner.workers.get(worker), report) {
            bar.set_message(format!("{} done", report.route));
        }
    }

    /// Takes the bars away.
    pub(crate) fn finish(&self) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for bar in &inner.workers {
            bar.finish_and_clear();
        }
        inner.overall.finish_and_clear();
    }
}
