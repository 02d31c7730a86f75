//! The workers of one run: each takes one route at a time, gives it to a fresh subagent, and hands in what comes of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::error::CampaignError;
use super::run::blocking;
use crate::browser::SessionError;
use crate::dispatch::{DispatchError, Workshop};
use crate::event::{EventKind, Events};
use crate::exit::Failure;
use crate::explore::ExploreError;
use crate::state::{Claim, ClaimPhase, ClaimRequest, DEFAULT_LEASE, Project, StateError};

/// How often a lease is lengthened while its route is explored.
const HEARTBEAT: Duration = Duration::from_secs(DEFAULT_LEASE.as_secs() / 3);

/// How a worker, or all of them, came to an end.
#[derive(Debug)]
pub(super) enum Ending {
    /// No route is free any more.
    NoMore,
    /// Told to stop.
    Stopped,
    /// The login is refused; the campaign is blocked.
    Blocked,
    /// The application does not answer.
    Unreachable(DispatchError),
    /// The browser driver is gone.
    DriverGone,
    /// Nothing can go on.
    Failed(CampaignError),
}

/// What workers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Halt {
    /// Go on.
    No,
    /// Take no new route.
    Drain,
    /// Give up the route in hand as well.
    Now,
}

/// What the workers share.
#[derive(Clone)]
struct Crew {
    project: Project,
    workshop: Arc<Workshop>,
    events: Events,
    /// Their name without the number.
    name: String,
}

/// Lets so many workers take routes until none is free, or until `stop`.
pub(super) async fn work(
    project: &Project,
    workshop: &Arc<Workshop>,
    workers: usize,
    name: &str,
    events: &Events,
    stop: &mut watch::Receiver<bool>,
) -> Ending {
    let crew =
        Crew { project: project.clone(), workshop: workshop.clone(), events: events.clone(), name: name.to_owned() };
    let (halt, _) = watch::channel(Halt::No);
    let mut set: JoinSet<Ending> = (0..workers).map(|number| worker(crew.clone(), number, halt.subscribe())).collect();
    let mut first = Ending::NoMore;
    let mut stopped = false;
    loop {
        tokio::select! {
            joined = set.join_next() => {
                let ending = match joined {
                    None => break,
                    Some(Ok(ending)) => ending,
                    Some(Err(error)) => Ending::Failed(CampaignError::Worker(told(error))),
                };
                let told = match &ending {
                    Ending::NoMore | Ending::Stopped => continue,
                    Ending::DriverGone => Halt::Drain,
                    _ => Halt::Now,
                };
                halt.send_modify(|halt| *halt = told.max(*halt));
                if matches!(first, Ending::NoMore | Ending::DriverGone) {
                    first = ending;
                }
            }
            () = is_stopped(stop), if !stopped => {
                stopped = true;
                halt.send_replace(Halt::Now);
            }
        }
    }
    if stopped && matches!(first, Ending::NoMore | Ending::DriverGone) { Ending::Stopped } else { first }
}

/// Waits until the run is to stop.
pub(super) async fn is_stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is left who could stop it.
        std::future::pending::<()>().await;
    }
}

async fn worker(crew: Crew, number: usize, mut halt: watch::Receiver<Halt>) -> Ending {
    loop {
        if *halt.borrow() != Halt::No {
            return Ending::Stopped;
        }
        let claim = match crew.claim(number).await {
            Ok(Some(claim)) => claim,
            // Somebody else blocked the campaign: the state says so to whoever asks next.
            Ok(None) | Err(StateError::Blocked { .. }) => return Ending::NoMore,
            Err(error) => return Ending::Failed(error.into()),
        };
        match crew.one(number, &claim, &mut halt).await {
            Ok(None) => {}
            Ok(Some(ending)) => return ending,
            Err(error) => return Ending::Failed(error),
        }
    }
}

impl Crew {
    async fn claim(&self, number: usize) -> Result<Option<Claim>, StateError> {
        let request = ClaimRequest {
            routes: Vec::new(),
            batch: 1,
            phase: ClaimPhase::Test,
            worker: format!("{}{}", self.name, number + 1),
            lease: DEFAULT_LEASE,
        };
        let claims = blocking(&self.project, move |project| project.claim(&request)).await?;
        let claim = claims.into_iter().next();
        if let Some(claim) = &claim {
            self.emit(number, EventKind::RouteClaimed { route: claim.route.to_string() });
        }
        Ok(claim)
    }

    /// One route, one subagent. `Some` when this worker is to end.
    async fn one(
        &self,
        number: usize,
        claim: &Claim,
        halt: &mut watch::Receiver<Halt>,
    ) -> Result<Option<Ending>, CampaignError> {
        let mut subagent = {
            let (workshop, route, slug) = (self.workshop.clone(), claim.route.clone(), claim.slug.clone());
            tokio::spawn(async move { Box::pin(workshop.explore(number, &route, &slug)).await })
        };
        let mut beat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let finished = loop {
            tokio::select! {
                finished = &mut subagent => break finished,
                () = is_halted(halt) => {
                    subagent.abort();
                    let _ = subagent.await;
                    self.give_back(claim).await?;
                    return Ok(Some(Ending::Stopped));
                }
                _ = beat.tick() => {
                    let token = claim.token.clone();
                    match blocking(&self.project, move |project| project.heartbeat(&token, None)).await {
                        Ok(_) => {}
                        Err(StateError::DeadToken { .. }) => {
                            subagent.abort();
                            let _ = subagent.await;
                            self.workshop.abandon(&claim.route, &claim.slug);
                            self.warn(number, format!("{}: its lease was taken away, so it is left", claim.route));
                            return Ok(None);
                        }
                        Err(error) => self.warn(number, format!("{}: {error}", claim.route)),
                    }
                }
            }
        };
        match finished {
            Ok(Ok((report, path))) => {
                let (route, token) = (claim.route.clone(), claim.token.clone());
                match blocking(&self.project, move |project| project.complete(&route, &path, Some(&token))).await {
                    Ok(_) => {
                        let route = claim.route.to_string();
                        self.emit(number, EventKind::RouteCompleted { route, report: Box::new(report) });
                        Ok(None)
                    }
                    Err(error @ StateError::BadReport { .. }) => {
                        self.workshop.abandon(&claim.route, &claim.slug);
                        self.crash(number, claim, Failure::from(error).message).await
                    }
                    Err(error) if is_moved(&error) => {
                        self.warn(number, Failure::from(error).message);
                        Ok(None)
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Ok(Err(error)) => self.judge(number, claim, error).await,
            Err(error) => {
                self.workshop.discard(&claim.route, &claim.slug);
                self.crash(number, claim, told(error)).await
            }
        }
    }

    /// Whose fault it is that a subagent came back without a report.
    async fn judge(&self, number: usize, claim: &Claim, error: DispatchError) -> Result<Option<Ending>, CampaignError> {
        match error {
            DispatchError::Store(_) | DispatchError::Explore(ExploreError::Store(_)) => {
                self.give_back(claim).await?;
                return Err(error.into());
            }
            DispatchError::Unreachable { .. } => {
                self.give_back(claim).await?;
                return Ok(Some(Ending::Unreachable(error)));
            }
            _ => {}
        }
        if let Err(down) = self.workshop.reach().await {
            self.give_back(claim).await?;
            return Ok(Some(Ending::Unreachable(down)));
        }
        if matches!(error, DispatchError::Explore(ExploreError::Login(_))) {
            let reason = format!("{}: {error}", claim.route);
            blocking(&self.project, move |project| project.block(&reason)).await?;
            self.give_back(claim).await?;
            return Ok(Some(Ending::Blocked));
        }
        let lost = matches!(
            error,
            DispatchError::Explore(ExploreError::Session(SessionError::Start { .. } | SessionError::Cdp(_)))
        );
        let driver_gone = lost && !self.workshop.has_driver().await;
        let ending = self.crash(number, claim, Failure::from(error).message).await?;
        Ok(if driver_gone { Some(Ending::DriverGone) } else { ending })
    }

    /// Counts a crashed subagent.
    async fn crash(&self, number: usize, claim: &Claim, error: String) -> Result<Option<Ending>, CampaignError> {
        let (route, token, cause) = (claim.route.clone(), claim.token.clone(), error.clone());
        match blocking(&self.project, move |project| project.crash(&route, Some(&token), &cause)).await {
            Ok(crash) => {
                let route = claim.route.to_string();
                self.emit(
                    number,
                    EventKind::RouteCrashed { route, error, attempts: crash.attempts, failed: crash.failed },
                );
                Ok(None)
            }
            Err(moved) if is_moved(&moved) => {
                self.warn(number, format!("{}: {error}", claim.route));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The route is as free as if it had never been taken.
    async fn give_back(&self, claim: &Claim) -> Result<(), StateError> {
        self.workshop.abandon(&claim.route, &claim.slug);
        let token = claim.token.clone();
        blocking(&self.project, move |project| project.release(&token)).await.map(|_| ())
    }

    fn emit(&self, number: usize, kind: EventKind) {
        self.events.for_worker(number).emit(self.project.now(), kind);
    }

    fn warn(&self, number: usize, text: String) {
        self.emit(number, EventKind::Warned { text });
    }
}

async fn is_halted(halt: &mut watch::Receiver<Halt>) {
    // Without a sender nobody waits for this worker either.
    let _ = halt.wait_for(|halt| *halt == Halt::Now).await;
}

/// Whether somebody else moved the route meanwhile: their word counts.
fn is_moved(error: &StateError) -> bool {
    matches!(
        error,
        StateError::DeadToken { .. }
            | StateError::WrongPlace { .. }
            | StateError::UnknownRoute { .. }
            | StateError::Leased { .. }
    )
}

/// What a task that ended badly says.
fn told(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => {
            let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("the subagent panicked: {}", words.unwrap_or_else(|| "without a word".to_owned()))
        }
        Err(error) => format!("the subagent was ended: {error}"),
    }
}
