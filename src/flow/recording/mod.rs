//! Recordings of goal steps: what one holds, under which key, how a target is found again, what proves the end, and what
//! becomes of it. Pure rules, apart from [`CacheStore`] and the [`Shelf`] that it lies on.

mod anchor;
mod descriptor;
mod end;
mod entry;
mod key;
mod labels;
mod ladder;
mod place;
mod point;
mod reason;
mod settle;
mod shelf;
mod sign;
mod store;

pub use anchor::{Anchor, Delta, MOST_ANCHORS, delta, stable};
pub use descriptor::{Descriptor, Located, Position, States, describe, locate, project};
pub use end::{Baseline, Sight, expected, has_cause, holds};
pub use entry::{
    Cost, Entry, KeyedBy, MOST_ACTIONS, MOST_CHARS, RecordedAction, RecordedFor, SCHEMA, Verb, distance, point_of,
};
pub use key::{StepKey, digest, instruction};
pub use labels::Labels;
pub use ladder::{Relocated, Rung, relocate};
pub use place::{has_place, place};
pub use point::{At, Spot, at, spot};
pub use reason::{CacheMode, Reason};
pub use settle::{Deed, Facts, Staged, StepEnd, Write, settle, stage};
pub use shelf::{CACHE, FileShelf, Place, Shelf, ShelfError, Stored};
pub use store::{CacheStore, Quarantined};

/// The looks of a replay for one target, in milliseconds after the first one.
#[must_use]
pub fn looks_ms(limit_ms: u64) -> Vec<u64> {
    let mut looks = vec![0];
    let mut at = 0;
    for delay in [100, 300, 600, 1000].into_iter().chain(std::iter::repeat(3000)) {
        at += delay;
        if at > limit_ms {
            return looks;
        }
        looks.push(at);
    }
    looks
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    /// A recording of one tap.
    pub(in crate::flow) fn entry() -> Entry {
        let target = Descriptor { role: "button".into(), name: Some("Apply".into()), ..Descriptor::default() };
        let tap = RecordedAction { target: Some(target), summary: "tap".into(), ..RecordedAction::new(Verb::Tap) };
        Entry {
            schema_version: SCHEMA.into(),
            created_at: chrono::DateTime::UNIX_EPOCH,
            executor: "m".into(),
            recorded_for: RecordedFor::default(),
            summary: String::new(),
            actions: vec![tap],
            start_path: Some("/checkout".into()),
            end_path: Some("/checkout".into()),
            end_anchors: vec![],
            gone_anchors: vec![],
            dropped_anchors: 0,
            end_wait_ms: 0,
            truncated: None,
            cost: Cost::default(),
            healed_from: vec![],
            keyed_by: None,
            signature: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use url::Url;

    #[test]
    fn a_target_is_looked_for_nine_times_within_fifteen_seconds() {
        assert_eq!(looks_ms(15_000), [0, 100, 400, 1000, 2000, 5000, 8000, 11_000, 14_000]);
    }

    fn parsed(change: impl FnOnce(&mut serde_json::Value)) -> Result<Entry, String> {
        let mut value = serde_json::to_value(fixture::entry()).unwrap();
        change(&mut value);
        let base = Url::parse("http://a.b/").unwrap();
        Entry::parse(value.to_string().as_bytes(), &base, &|url| url.host_str() == Some("a.b"))
    }

    #[test]
    fn one_action_that_does_not_fit_voids_the_entry() {
        assert!(parsed(|_| {}).is_ok());
        let bad = [
            json!({ "verb": "fly", "summary": "" }),
            json!({ "verb": "tap", "summary": "" }),
            json!({ "verb": "navigate", "value": "http://elsewhere.c/", "summary": "" }),
            json!({ "verb": "upload", "target": { "role": "button" }, "value": "/etc/passwd", "summary": "" }),
            json!({ "verb": "check", "target": { "role": "checkbox" }, "value": "maybe", "summary": "" }),
            json!({ "verb": "press", "value": "Entr", "summary": "" }),
            json!({ "verb": "type", "target": { "role": "textbox" }, "value": "x".repeat(5000), "summary": "" }),
        ];
        for action in bad {
            assert!(parsed(|entry| entry["actions"] = json!([action])).is_err(), "{action}");
        }
        assert!(parsed(|entry| entry["schemaVersion"] = json!("trace-9")).is_err());
        assert!(parsed(|entry| entry["actions"] = json!([])).is_err());
        assert!(parsed(|entry| entry["unknown"] = json!(1)).is_ok());
    }

    #[test]
    fn the_same_flow_in_other_words_is_the_same_flow() {
        let mut other = fixture::entry();
        other.summary = "said otherwise".into();
        other.end_wait_ms = 9000;
        other.executor = "another".into();
        assert!(fixture::entry().is_same_flow(&other));
        other.actions.push(other.actions[0].clone());
        assert!(!fixture::entry().is_same_flow(&other));
    }
}
