//! When a lease ends, though somebody sets the clock.
//!
//! Beside the wall clock a lease carries its end by the clock since the machine's start, with the id of that start. On the
//! same start of the same machine that clock decides: when a state is read, the wall time of such a lease is put where the
//! boot clock says it is, so that all rules go on with one kind of time. Elsewhere (another machine, after a restart, a
//! system without such an id) the wall clock decides, with the rule that no lease ends further ahead than it is long.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claims::Lease;
use super::model::{State, stamp};
use crate::store::BootTime;

/// Clocks drift; a difference below this is none.
const DRIFT: TimeDelta = TimeDelta::seconds(2);

/// The end of a lease by the clock since the machine's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootEnd {
    /// Which start of which machine.
    pub id: String,
    /// Until when, in milliseconds since then.
    pub expires_ms: u64,
}

/// When this lease ends by the wall clock of now, as the boot clock says; `None` when it cannot tell.
fn wall_end(lease: &Lease, boot: &BootTime, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let end = lease.boot.as_ref().filter(|end| end.id == boot.id)?;
    let left = i64::try_from(end.expires_ms).ok()?.checked_sub(i64::try_from(boot.ms).ok()?)?;
    now.checked_add_signed(TimeDelta::try_milliseconds(left)?)
}

impl State {
    /// The end of a lease that begins now, by the boot clock.
    pub(super) fn boot_end(&self, lease: Duration) -> Option<BootEnd> {
        let boot = self.journal.boot.as_ref()?;
        let lease = u64::try_from(lease.as_millis()).ok()?;
        Some(BootEnd { id: boot.id.clone(), expires_ms: boot.ms.checked_add(lease)? })
    }

    /// Puts the end of each lease where the boot clock says it is, when the wall clock was set since.
    pub(super) fn align_leases(&mut self, now: DateTime<Utc>) {
        let Some(boot) = self.journal.boot.clone() else { return };
        let moved: Vec<(String, DateTime<Utc>)> = self
            .claims
            .entries()
            .filter_map(|(key, text)| {
                let lease = serde_json::from_str::<Lease>(text).ok()?;
                let end = wall_end(&lease, &boot, now)?;
                ((end - lease.expires_at).abs() > DRIFT).then(|| (key.to_owned(), end))
            })
            .collect();
        for (key, end) in moved {
            let mut object = self.claims.object(&key);
            object.set("expires_at", &stamp(end));
            self.claims.set_object(&key, &object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ClaimPhase;

    fn lease(boot: Option<BootEnd>, expires_at: DateTime<Utc>) -> Lease {
        let (token, worker) = ("t".to_owned(), "w".to_owned());
        Lease { token, worker, phase: ClaimPhase::Test, claimed_at: expires_at, expires_at, lease_s: 600, boot }
    }

    #[test]
    fn on_the_same_start_the_boot_clock_decides_whatever_the_wall_clock_was_set_to() {
        let claimed = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let end = BootEnd { id: "b".into(), expires_ms: 601_000 };
        let lease = lease(Some(end), claimed + TimeDelta::minutes(10));
        for day in [-1, 0, 1] {
            // Nine minutes in, and eleven.
            for (ms, lives) in [(541_000, true), (661_000, false)] {
                let now = claimed + TimeDelta::days(day) + TimeDelta::milliseconds(ms - 1000);
                let boot = BootTime { id: "b".into(), ms: ms.unsigned_abs() };
                let end = wall_end(&lease, &boot, now).unwrap();
                assert_eq!(Lease { expires_at: end, ..lease.clone() }.lives(now), lives, "day {day}, {ms} ms");
            }
        }
    }

    #[test]
    fn on_another_start_or_machine_the_wall_clock_decides() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let lease = lease(Some(BootEnd { id: "b".into(), expires_ms: 1 }), now);
        assert_eq!(wall_end(&lease, &BootTime { id: "c".into(), ms: 0 }, now), None);
        assert_eq!(wall_end(&Lease { boot: None, ..lease }, &BootTime { id: "c".into(), ms: 0 }, now), None);
    }
}
