//! Leases: which worker holds which route, until when, under which token.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::boot::BootEnd;
use super::entry::ReviewStatus;
use super::history::Change;
use super::model::{Place, State, stamp};
use super::{MAX_REVIEWS, StateError};
use crate::maze::open_enum;
use crate::route::{Route, Slug};
use crate::store::Ids;

/// How long a lease lives unless told otherwise.
pub const DEFAULT_LEASE: Duration = Duration::from_mins(15);
/// The longest lease.
const LONGEST_LEASE: Duration = Duration::from_hours(7 * 24);

open_enum! {
    /// What a route is claimed for.
    ClaimPhase {
        /// To test it.
        Test = "test",
        /// To review it.
        Review = "review",
    }
}

/// A lease as it stands in the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who may hand the work in.
    pub token: String,
    /// Who holds it.
    pub worker: String,
    /// For what.
    pub phase: ClaimPhase,
    /// Since when.
    pub claimed_at: DateTime<Utc>,
    /// Until when.
    pub expires_at: DateTime<Utc>,
    /// How long one period is, in seconds.
    #[serde(default)]
    pub lease_s: u64,
    /// The same end by the clock of the machine on which it was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootEnd>,
}

impl Lease {
    /// Whether the lease lives. A clock that was set back far does not make a lease immortal: no lease can lie further
    /// in the future than it is long.
    #[must_use]
    pub fn lives(&self, now: DateTime<Utc>) -> bool {
        let period = i64::try_from(self.lease_s).ok().filter(|seconds| *seconds > 0).and_then(TimeDelta::try_seconds);
        let possible = period.is_none_or(|period| (self.expires_at - now) / 2 <= period);
        now < self.expires_at && possible
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// These routes, all or none; empty: the next `batch` that are free.
    pub routes: Vec<Route>,
    /// How many, when no route is named.
    pub batch: usize,
    /// For what.
    pub phase: ClaimPhase,
    /// Who asks.
    pub worker: String,
    /// For how long.
    pub lease: Duration,
}

/// A route that was given out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The route.
    pub route: Route,
    /// Its slug.
    pub slug: Slug,
    /// Needed to hand the work in.
    pub token: String,
    /// For what.
    pub phase: ClaimPhase,
    /// Until when.
    pub expires_at: DateTime<Utc>,
}

/// Parses a duration such as `90`, `90s`, `15m` or `1h`, for a lease.
///
/// # Errors
/// When it is none, is zero, or is longer than a week.
pub fn parse_lease(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return Err(format!("`{text}` is not a duration such as 90s, 15m or 1h")),
    };
    if digits.is_empty() {
        return Err(format!("`{text}` is not a duration such as 90s, 15m or 1h"));
    }
    // Beyond all numbers is beyond a week too.
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).unwrap_or(u64::MAX);
    let lease = Duration::from_secs(seconds);
    if lease.is_zero() || lease > LONGEST_LEASE {
        return Err(format!("`{text}` is not between 1 second and 7 days"));
    }
    Ok(lease)
}

fn end_of(lease: Duration, now: DateTime<Utc>) -> DateTime<Utc> {
    TimeDelta::from_std(lease.min(LONGEST_LEASE)).ok().and_then(|delta| now.checked_add_signed(delta)).unwrap_or(now)
}

impl State {
    /// Gives out routes: those that are named (all or none), or the next free ones. They stay where they are.
    ///
    /// # Errors
    /// When the campaign is blocked, or a named route is unknown, in the wrong place, or under a lease that lives.
    pub fn claim(&mut self, request: &ClaimRequest, now: DateTime<Utc>, ids: &Ids) -> Result<Vec<Claim>, StateError> {
        if let Some(reason) = self.blocked() {
            return Err(StateError::Blocked { reason });
        }
        let leases = self.live_leases(now);
        let routes: Vec<Route> = if request.routes.is_empty() {
            let free = |route: &&Route| !leases.contains_key(route.key().as_ref());
            match request.phase {
                ClaimPhase::Review => self.awaiting_review().filter(free).take(request.batch).cloned().collect(),
                _ => self.pending.iter().map(|entry| &entry.route).filter(free).take(request.batch).cloned().collect(),
            }
        } else {
            for route in &request.routes {
                self.check_claimable(route, &request.phase)?;
                if let Some(lease) = leases.get(route.key().as_ref()) {
                    return Err(leased("claim", route, lease));
                }
            }
            let mut seen = std::collections::HashSet::new();
            let named = request.routes.iter().filter(|route| seen.insert(*route));
            named.map(|route| self.written(route)).collect()
        };
        if routes.is_empty() {
            return Ok(Vec::new());
        }
        self.begin(Change::Claim, &routes, None);
        self.journal.worker = Some(request.worker.clone());
        if request.phase == ClaimPhase::Review {
            self.note("for review");
        }
        let expires_at = end_of(request.lease, now);
        let mut slugs = self.slugs();
        let mut claims = Vec::new();
        for route in routes {
            let token = ids.token();
            let lease = Lease {
                token: token.clone(),
                worker: request.worker.clone(),
                phase: request.phase.clone(),
                claimed_at: now,
                expires_at,
                lease_s: request.lease.as_secs(),
                boot: self.boot_end(request.lease),
            };
            self.claims.remove(&route.key());
            self.claims.set(&route.key(), &lease);
            let slug = slugs.give(&route);
            claims.push(Claim { route, slug, token, phase: request.phase.clone(), expires_at });
        }
        self.touch();
        Ok(claims)
    }

    fn check_claimable(&self, route: &Route, phase: &ClaimPhase) -> Result<(), StateError> {
        let doing = if *phase == ClaimPhase::Review { "claim for review" } else { "claim" };
        let place = self.place(route).ok_or_else(|| StateError::UnknownRoute { doing, route: route.clone() })?;
        let fits = match phase {
            ClaimPhase::Review => matches!(place, Place::Completed(ReviewStatus::Pending | ReviewStatus::Failed)),
            _ => place == Place::Pending,
        };
        if fits { Ok(()) } else { Err(StateError::WrongPlace { doing, route: route.clone(), place }) }
    }

    /// The route as the campaign writes it.
    pub(super) fn written(&self, route: &Route) -> Route {
        self.routes().find(|known| *known == route).unwrap_or(route).clone()
    }

    /// Completed routes whose review is still to do, in order.
    pub fn awaiting_review(&self) -> impl Iterator<Item = &Route> {
        self.completed.iter().filter(|entry| self.needs_review(entry)).map(|entry| &entry.route)
    }

    fn needs_review(&self, entry: &super::Completed) -> bool {
        match entry.review() {
            ReviewStatus::Complete => false,
            ReviewStatus::Failed => self.attempts(&entry.route).review_attempts < MAX_REVIEWS,
            _ => true,
        }
    }

    /// Makes the lease under this token last for `lease` from now (never shorter than it was). Gives back its route and
    /// its new end.
    ///
    /// # Errors
    /// [`StateError::DeadToken`] when no lease lives under it.
    pub fn heartbeat(
        &mut self,
        token: &str,
        lease: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<(Route, DateTime<Utc>), StateError> {
        let dead = || StateError::DeadToken { doing: "lengthen the lease".into(), token: token.into() };
        let (key, held) = self.lease_of(token).filter(|(_, held)| held.lives(now)).ok_or_else(dead)?;
        let route = Route::parse(&key)?;
        let period = lease.unwrap_or(Duration::from_secs(held.lease_s.max(1)));
        let end = end_of(period, now).max(held.expires_at);
        self.begin(Change::Heartbeat, std::slice::from_ref(&route), Some(token));
        let mut object = self.claims.object(&key);
        if let Some(boot) = self.boot_end(period) {
            let old = held.boot.filter(|old| old.id == boot.id).map_or(0, |old| old.expires_ms);
            object.set("boot", &BootEnd { expires_ms: boot.expires_ms.max(old), ..boot });
        } else {
            object.remove("boot");
        }
        object.set("expires_at", &stamp(end));
        object.set("lease_s", &period.as_secs().max(held.lease_s));
        self.claims.set_object(&key, &object);
        self.touch();
        Ok((self.written(&route), end))
    }

    /// Gives a lease back. `None` when there is no lease under this token (any more).
    pub fn release(&mut self, token: &str) -> Option<Route> {
        let (key, _) = self.lease_of(token)?;
        let routes: Vec<Route> = Route::parse(&key).ok().into_iter().collect();
        self.begin(Change::Release, &routes, Some(token));
        self.claims.remove(&key);
        self.touch();
        Route::parse(&key).ok().map(|route| self.written(&route))
    }

    /// Gives back every lease that is of this kind. Gives back the routes.
    pub fn release_where(&mut self, is_it: impl Fn(&Lease) -> bool) -> Vec<Route> {
        let keys: Vec<String> = self
            .claims
            .entries()
            .filter(|(_, text)| serde_json::from_str::<Lease>(text).is_ok_and(|lease| is_it(&lease)))
            .map(|(key, _)| key.to_owned())
            .collect();
        let routes: Vec<Route> = keys.iter().filter_map(|key| Route::parse(key).ok()).collect();
        if !keys.is_empty() {
            self.begin(Change::Release, &routes, None);
            self.note("leases of a process that ended");
        }
        for key in &keys {
            self.claims.remove(key);
            self.touch();
        }
        routes.iter().map(|route| self.written(route)).collect()
    }

    fn lease_of(&self, token: &str) -> Option<(String, Lease)> {
        self.claims
            .entries()
            .filter_map(|(key, text)| Some((key.to_owned(), serde_json::from_str::<Lease>(text).ok()?)))
            .find(|(_, lease)| lease.token == token)
    }

    /// Whether work on this route may be handed in: under a lease that lives only with its token, without one only
    /// without a token.
    pub(super) fn check_token(
        &self,
        doing: &'static str,
        route: &Route,
        token: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<(), StateError> {
        let held = self.claims.get_as::<Lease>(&route.key()).filter(|lease| lease.lives(now));
        match (held, token) {
            (Some(lease), Some(token)) if lease.token == token => Ok(()),
            (Some(lease), None) => Err(leased(doing, route, &lease)),
            (None, None) => Ok(()),
            (_, Some(token)) => {
                Err(StateError::DeadToken { doing: format!("{doing} `{route}`"), token: token.to_owned() })
            }
        }
    }

    /// Drops the lease of a route that moves.
    pub(super) fn drop_lease(&mut self, route: &Route) {
        self.claims.remove(&route.key());
    }
}

fn leased(doing: &'static str, route: &Route, lease: &Lease) -> StateError {
    StateError::Leased { doing, route: route.clone(), worker: lease.worker.clone(), until: lease.expires_at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_beyond_all_numbers_is_too_long_and_no_riddle() {
        for text in ["99999999999999999999999s", "99999999999999999999h", "8000h", "0"] {
            assert!(parse_lease(text).unwrap_err().contains("between 1 second and 7 days"), "{text}");
        }
        for text in ["", "s", "soon", "1d"] {
            assert!(parse_lease(text).unwrap_err().contains("not a duration"), "{text}");
        }
    }
}
