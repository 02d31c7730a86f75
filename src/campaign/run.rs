//! The loop over the phases.

use std::sync::Arc;

use tokio::sync::watch;

use super::crew::{self, Ending};
use super::error::CampaignError;
use super::{WORKER_PREFIX, files, review};
use crate::dispatch::{DispatchError, Workshop, WorkshopOptions};
use crate::event::{EventKind, Events};
use crate::state::{Next, Project};
use crate::store::{self, Clock, FileKind, Owner};

/// Dead drivers in one run, after which it gives up.
const MAX_DRIVERS: usize = 5;

/// Why a run came to its end.
#[derive(Debug)]
pub enum Ended {
    /// Nothing is left to do.
    Done,
    /// The campaign is blocked.
    Blocked {
        /// Why.
        reason: String,
    },
    /// It was told to stop.
    Interrupted,
    /// The application does not answer.
    Unreachable(DispatchError),
    /// All that is left is in the hands of other workers.
    Held {
        /// How many routes.
        routes: usize,
    },
}

/// What a run did.
#[derive(Debug)]
pub struct Outcome {
    /// Why it came to its end.
    pub ended: Ended,
    /// Its run files, relative to the project.
    pub runs: Vec<String>,
}

/// Goes on with the campaign until nothing is left, or until `stop` becomes `true`. The routes known to the workshop are
/// those of the state, whatever the options say.
///
/// # Errors
/// [`CampaignError`]: the state cannot be read or written, there is no browser, the disk fails. The routes in hand are
/// given back.
pub async fn run(
    project: &Project,
    options: &WorkshopOptions,
    clock: &Clock,
    events: &Events,
    mut stop: watch::Receiver<bool>,
) -> Result<Outcome, CampaignError> {
    blocking(project, |project| project.release_where(|lease| is_of_the_dead(&lease.worker))).await?;
    let name = format!("{WORKER_PREFIX}{}/", Owner::this());
    let mut runs = Vec::new();
    let ended = phases(project, options, clock, events, &mut stop, &name, &mut runs).await;
    let mine = name.clone();
    let released =
        blocking(project, move |project| project.release_where(|lease| lease.worker.starts_with(&mine))).await;
    let ended = ended?;
    released?;
    Ok(Outcome { ended, runs })
}

async fn phases(
    project: &Project,
    options: &WorkshopOptions,
    clock: &Clock,
    events: &Events,
    stop: &mut watch::Receiver<bool>,
    name: &str,
    runs: &mut Vec<String>,
) -> Result<Ended, CampaignError> {
    let mut phase = "";
    let mut drivers = 0;
    loop {
        if *stop.borrow() {
            return Ok(Ended::Interrupted);
        }
        let (state, next) = blocking(project, |project| {
            let state = project.read()?;
            let next = project.next(&state)?;
            Ok::<_, CampaignError>((state, next))
        })
        .await?;
        let started = |routes: usize, phase: &mut &'static str| {
            if *phase != next.phase() {
                *phase = next.phase();
                events.emit(project.now(), EventKind::PhaseStarted { phase: (*phase).to_owned(), routes });
            }
        };
        match &next {
            Next::Blocked { reason } => return Ok(Ended::Blocked { reason: reason.clone() }),
            Next::Done => return Ok(Ended::Done),
            Next::Testing { free, leased } | Next::Review { free, leased } if free.is_empty() => {
                return Ok(Ended::Held { routes: leased.len() });
            }
            Next::Testing { free, leased } => {
                started(free.len() + leased.len(), &mut phase);
                let options = WorkshopOptions {
                    known: state.routes().cloned().collect(),
                    campaign: Some(state.created_at().map(|at| at.to_rfc3339()).unwrap_or_default()),
                    ..options.clone()
                };
                let workers = (options.settings.workers as usize).clamp(1, free.len());
                let opened = tokio::select! {
                    opened = Workshop::open(project.clone(), options, clock.clone(), events.clone()) => opened,
                    () = crew::is_stopped(stop) => return Ok(Ended::Interrupted),
                };
                let workshop = match opened {
                    Ok(workshop) => Arc::new(workshop),
                    Err(error @ DispatchError::Unreachable { .. }) => return Ok(Ended::Unreachable(error)),
                    Err(error) => return Err(error.into()),
                };
                let ending = crew::work(project, &workshop, workers, name, events, stop).await;
                // Every subagent has ended, so nobody else holds it.
                let closed = match Arc::into_inner(workshop) {
                    Some(workshop) => workshop.close().await.map(Some),
                    None => Ok(None),
                };
                if let Ok(Some(file)) = &closed
                    && store::exists(&project.root().join(file)) == FileKind::File
                {
                    runs.push(file.clone());
                }
                match ending {
                    Ending::Failed(error) => return Err(error),
                    Ending::Unreachable(error) => return Ok(Ended::Unreachable(error)),
                    Ending::Stopped => return Ok(Ended::Interrupted),
                    Ending::DriverGone => {
                        drivers += 1;
                        if drivers >= MAX_DRIVERS {
                            return Err(CampaignError::Driver { times: drivers });
                        }
                        let text = "the browser driver died; another one is started".to_owned();
                        events.emit(project.now(), EventKind::Warned { text });
                    }
                    // The state says what comes next.
                    Ending::NoMore | Ending::Blocked => {}
                }
                closed?;
            }
            Next::Review { free, .. } => {
                started(free.len(), &mut phase);
                let (at, sink, stopping) = (free.clone(), events.clone(), stop.clone());
                let reviewed = blocking(project, move |project| {
                    review::review_routes(project, &at, &sink, &|| *stopping.borrow())
                })
                .await?;
                if reviewed == 0 && !*stop.borrow() {
                    return Ok(Ended::Held { routes: free.len() });
                }
            }
            Next::FinalReport => {
                started(state.counts().total_routes, &mut phase);
                let written = blocking(project, files::write_reports).await?;
                events.emit(project.now(), EventKind::ReportWritten { path: written.markdown });
            }
        }
    }
}

/// Whether a worker was one of a run whose process is dead.
fn is_of_the_dead(worker: &str) -> bool {
    worker
        .strip_prefix(WORKER_PREFIX)
        .and_then(|rest| rest.rsplit_once('/'))
        .and_then(|(owner, _)| owner.parse::<Owner>().ok())
        .is_some_and(|owner| owner.is_dead())
}

/// Does work on the disk where it holds up nobody: the state's lock may have to be waited for.
pub(super) async fn blocking<T: Send + 'static, E: Send + 'static>(
    project: &Project,
    work: impl FnOnce(&Project) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let project = project.clone();
    match tokio::task::spawn_blocking(move || work(&project)).await {
        Ok(answer) => answer,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down ends such work before it began; then nobody waits for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dead_process_loses_its_routes() {
        let this = Owner::this();
        assert!(!is_of_the_dead(&format!("{WORKER_PREFIX}{this}/1")));
        let (machine, _) = this.to_string().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(is_of_the_dead(&format!("{WORKER_PREFIX}{machine}/1.999999999999/1")));
        assert!(!is_of_the_dead("somebody"));
        assert!(!is_of_the_dead("agent-test/elsewhere.7/1.1/1"));
    }
}
