//! Laws of the transitions, on values alone.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::*;
use crate::maze::{OperationsCount, RouteStatus};
use crate::route::Route;
use crate::settings::Overrides;
use crate::store::Ids;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn route(text: &str) -> Route {
    Route::parse(text).unwrap()
}

fn campaign(routes: &[&str]) -> State {
    let request = InitRequest {
        project: "p".into(),
        base_url: "http://h".into(),
        routes: routes.iter().map(|text| route(text)).collect(),
        settings: Overrides::default(),
        force: false,
    };
    State::initialize(&request, now()).unwrap()
}

fn facts(sha: &str) -> CompletedFacts {
    CompletedFacts {
        tested_at: now(),
        status: RouteStatus::Pass,
        bugs_count: 0,
        operations_count: OperationsCount::default(),
        screenshots_dir: "monkey-test-screenshots/a/".into(),
        report_file: "monkey-test-reports/a.json".into(),
        summary: "fine".into(),
        report_sha256: sha.into(),
    }
}

fn request(routes: &[&str], batch: usize) -> ClaimRequest {
    ClaimRequest {
        routes: routes.iter().map(|text| route(text)).collect(),
        batch,
        phase: ClaimPhase::Test,
        worker: "w".into(),
        lease: DEFAULT_LEASE,
    }
}

/// The file as it would be written, read again.
fn written(state: &State) -> State {
    let mut state = state.clone();
    state.settle(now());
    State::parse(&state.render()).unwrap()
}

#[test]
fn a_new_campaign_has_the_known_shape() {
    let mut state = campaign(&["/a", "/b", "/a/"]);
    state.settle(now());
    insta::assert_snapshot!(state.render(), @r#"
    {
      "meta": {
        "project": "p",
        "base_url": "http://h",
        "created_at": "2027-01-15T08:00:00Z",
        "last_updated": "2027-01-15T08:00:00Z",
        "total_routes": 2,
        "tested": 0,
        "pending": 2,
        "failed": 0,
        "review_pending": 0,
        "review_complete": 0
      },
      "completed": [],
      "failed": [],
      "pending": [
        "/a",
        "/b"
      ],
      "scope": "920e113638336091"
    }
    "#);
}

#[test]
fn a_lease_is_exclusive_until_it_has_run_out() {
    let mut state = campaign(&["/a", "/b"]);
    let ids = Ids::counted();
    let first = state.claim(&request(&["/a"], 0), now(), &ids).unwrap();
    assert!(matches!(state.claim(&request(&["/a"], 0), now(), &ids), Err(StateError::Leased { .. })));
    assert!(matches!(state.complete(&route("/a"), &facts("x"), None, now()), Err(StateError::Leased { .. })));
    let later = now() + TimeDelta::minutes(16);
    let second = state.claim(&request(&["/a"], 0), later, &ids).unwrap();
    let (old, new) = (first.first().unwrap().token.as_str(), second.first().unwrap().token.as_str());
    assert!(matches!(state.heartbeat(old, None, later), Err(StateError::DeadToken { .. })));
    assert!(matches!(state.complete(&route("/a"), &facts("x"), Some(old), later), Err(StateError::DeadToken { .. })));
    assert!(state.complete(&route("/a"), &facts("x"), Some(new), later).unwrap());
    assert!(!state.complete(&route("/a"), &facts("x"), Some(new), later).unwrap());
}

#[test]
fn a_clock_that_is_set_back_makes_no_lease_immortal() {
    let mut state = campaign(&["/a"]);
    state.claim(&request(&["/a"], 0), now() + TimeDelta::days(1), &Ids::counted()).unwrap();
    assert_eq!(state.claim(&request(&["/a"], 0), now(), &Ids::counted()).unwrap().len(), 1);
}

#[test]
fn a_heartbeat_never_shortens_a_lease() {
    let mut state = campaign(&["/a"]);
    let claim = state.claim(&request(&["/a"], 0), now(), &Ids::counted()).unwrap().remove(0);
    let (_, end) = state.heartbeat(&claim.token, Some(Duration::from_secs(1)), now()).unwrap();
    assert_eq!(end, claim.expires_at);
}

#[test]
fn three_crashes_fail_the_route_and_a_retry_starts_counting_anew() {
    let mut state = campaign(&["/a"]);
    for attempts in 1..=3 {
        let claim = state.claim(&request(&[], 1), now(), &Ids::counted()).unwrap().remove(0);
        let crash = state.crash(&claim.route, Some(&claim.token), "gone", now()).unwrap();
        assert_eq!(crash, Crash { attempts, failed: attempts == 3 });
    }
    assert_eq!(state.place(&route("/a")), Some(Place::Failed));
    state.retry(&[], now()).unwrap();
    assert!(!state.crash(&route("/a"), None, "gone", now()).unwrap().failed);
    state.fail(&route("/a"), "again", None, now()).unwrap();
    let state = written(&state);
    assert_eq!(state.failed().first().unwrap().retry_count, Some(1));
    assert!(state.render().matches("\"error\": \"gone\"").count() >= 4, "{}", state.render());
}

#[test]
fn the_phase_follows_the_lists_and_the_final_reports_digest() {
    let mut state = campaign(&["/a", "/b"]);
    assert_eq!(next(&state, None, now()).phase(), "testing");
    state.complete(&route("/a"), &facts("x"), None, now()).unwrap();
    state.fail(&route("/b"), "no", None, now()).unwrap();
    assert_eq!(next(&state, None, now()).phase(), "review");
    for _ in 0..3 {
        assert_eq!(next(&state, None, now()).phase(), "review");
        state.review_fail(&route("/a"), "no", None, now()).unwrap();
    }
    assert_eq!(next(&state, None, now()), Next::FinalReport);
    let digest = state.digest();
    state.report_written(&digest, now());
    assert_eq!(next(&state, None, now()), Next::FinalReport);
    let file = format!("# Report\n{}\n", digest_line(&digest));
    assert_eq!(next(&written(&state), digest_in(&file), now()), Next::Done);
    state.retry(&[], now()).unwrap();
    assert_eq!(next(&state, Some(&digest), now()).phase(), "testing");
    state.fail(&route("/b"), "no", None, now() + TimeDelta::seconds(1)).unwrap();
    assert_eq!(next(&state, Some(&digest), now()), Next::FinalReport);
    state.block("down");
    assert_eq!(next(&state, Some(&digest), now()), Next::Blocked { reason: "down".into() });
}

#[test]
fn an_init_of_the_same_scope_is_known_again_after_add_and_drop() {
    let request = |routes: &[&str]| InitRequest {
        project: "p".into(),
        base_url: "http://h/".into(),
        routes: routes.iter().map(|text| route(text)).collect(),
        settings: Overrides::default(),
        force: false,
    };
    let mut state = campaign(&["/a", "/b"]);
    state.add(&[route("/c")]);
    state.drop_routes(&[route("/a")], now()).unwrap();
    assert_eq!(state.drop_routes(&[route("/a")], now()).unwrap().unchanged.len(), 1);
    let state = written(&state);
    assert_eq!(state.difference(&request(&["/b", "/a"])), None);
    assert_eq!(state.difference(&request(&["/b", "/c"])), None);
    assert!(state.difference(&request(&["/b"])).is_some());
}

#[test]
fn a_requeued_route_gets_its_unknown_keys_back() {
    let text = include_str!("../../tests/fixtures/state/unknown-keys.json");
    let mut state = State::parse(text).unwrap();
    state.requeue(&[route("/settings/p0")], now()).unwrap();
    let mut state = written(&state);
    state.complete(&route("/settings/p0"), &facts("x"), None, now()).unwrap();
    let text = written(&state).render();
    assert!(text.contains("\"model\": \"m\""), "{text}");
}

#[test]
fn what_agents_write_and_what_we_write_fits_the_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(StateFile)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut state = State::parse(include_str!("../../tests/fixtures/state/unknown-keys.json")).unwrap();
    let ids = Ids::counted();
    state.retry(&[], now()).unwrap();
    state.claim(&request(&[], 2), now(), &ids).unwrap();
    state.crash(&route("/tools/export"), None, "gone", now()).unwrap();
    state.complete(&route("/products/q2"), &facts("x"), None, now()).unwrap();
    state.review_fail(&route("/settings/p1"), "no", None, now()).unwrap();
    state.requeue(&[route("/settings/p0")], now()).unwrap();
    state.fail(&route("/settings/p0"), "no", None, now()).unwrap();
    state.add(&[route("/A b"), route("/x")]);
    state.drop_routes(&[route("/x")], now()).unwrap();
    state.block("down");
    state.report_written("d", now());
    let text = {
        state.settle(now());
        state.render()
    };
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let read: StateFile = serde_json::from_str(&text).unwrap();
    assert_eq!(read.meta.total_routes, 7);
    assert_eq!(read.attempts.values().filter(|attempts| !attempts.errors.is_empty()).count(), 2);
}

#[derive(Clone, Debug)]
enum Move {
    Claim(usize),
    Complete(usize),
    Fail(usize),
    Crash(usize),
    Retry(usize),
    Requeue(usize),
    Review(usize),
    ReviewFail(usize),
    Add(usize),
    Drop(usize),
    Block,
    Unblock,
}

fn moves() -> impl Strategy<Value = Move> {
    let r = 0..8_usize;
    prop_oneof![
        r.clone().prop_map(Move::Claim),
        r.clone().prop_map(Move::Complete),
        r.clone().prop_map(Move::Fail),
        r.clone().prop_map(Move::Crash),
        r.clone().prop_map(Move::Retry),
        r.clone().prop_map(Move::Requeue),
        r.clone().prop_map(Move::Review),
        r.clone().prop_map(Move::ReviewFail),
        r.clone().prop_map(Move::Add),
        r.prop_map(Move::Drop),
        Just(Move::Block),
        Just(Move::Unblock),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_transitions_breaks_an_invariant_or_loses_a_foreign_key(all in proptest::collection::vec(moves(), 1..40)) {
        let mut state = State::parse(
            "{\"x\": [1.50, {\"deep\": 1e3}], \"meta\": {\"note\": 1.0, \"project\": \"p\", \"base_url\": \"http://h\"}, \
             \"pending\": [\"/r0\", \"/r1/\", \"/r2\"], \"completed\": [], \"failed\": [{\"route\": \"/r3\", \"error\": \"e\", \"mine\": 2.0}], \"z\": null}",
        ).unwrap();
        let ids = Ids::counted();
        let mut at = now();
        for step in all {
            at += TimeDelta::seconds(7);
            let name = |n: usize| route(&format!("/r{n}"));
            let before = state.counts().total_routes;
            let result = match &step {
                Move::Claim(n) => state.claim(&request(&[], *n), at, &ids).map(|_| ()),
                Move::Complete(n) => state.complete(&name(*n), &facts(&at.to_string()), None, at).map(|_| ()),
                Move::Fail(n) => state.fail(&name(*n), "e", None, at).map(|_| ()),
                Move::Crash(n) => state.crash(&name(*n), None, "e", at).map(|_| ()),
                Move::Retry(n) => state.retry(&[name(*n)], at).map(|_| ()),
                Move::Requeue(n) => state.requeue(&[name(*n)], at).map(|_| ()),
                Move::Review(n) => state.review_complete(&name(*n), "b.md", None, at).map(|_| ()),
                Move::ReviewFail(n) => state.review_fail(&name(*n), "e", None, at).map(|_| ()),
                Move::Add(n) => { state.add(&[name(*n)]); Ok(()) }
                Move::Drop(n) => state.drop_routes(&[name(*n)], at).map(|_| ()),
                Move::Block => { state.block("b"); Ok(()) }
                Move::Unblock => { state.unblock(); Ok(()) }
            };
            state.settle(at);
            let text = state.render();
            let read = State::parse(&text).unwrap();
            prop_assert_eq!(read.render(), text.clone());
            prop_assert!(read.twice().is_empty());
            prop_assert!(read.wrong_counters().is_empty());
            let counts = read.counts();
            prop_assert_eq!(counts.review_pending + counts.review_complete + counts.review_failed, counts.tested);
            prop_assert!(text.contains("\"x\": [1.50, {\"deep\": 1e3}]") && text.contains("\"note\": 1.0") && text.contains("\"mine\": 2.0"), "{}", text);
            if result.is_err() || !matches!(step, Move::Add(_) | Move::Drop(_)) {
                prop_assert_eq!(counts.total_routes, before);
            }
            let updated = read.last_updated().unwrap();
            prop_assert!(read.completed().iter().all(|entry| entry.tested_at.unwrap() <= updated));
            state = read;
        }
    }
}

proptest! {
    /// Routes of a nasty alphabet come and go: each keeps its slug while it stays, and all are distinct and valid.
    #[test]
    fn slugs_never_move_and_never_clash(
        first in proptest::collection::vec("/[aA_b]{1,2}(/[aA_:%con]{0,3}){0,2}", 1..6),
        steps in proptest::collection::vec((proptest::bool::ANY, "/[aA_b]{1,2}(/[aA_:%con]{0,3}){0,2}"), 0..12),
    ) {
        let routes: Vec<&str> = first.iter().filter(|text| Route::parse(text).is_ok()).map(String::as_str).collect();
        prop_assume!(!routes.is_empty());
        let mut state = written(&campaign(&routes));
        let mut known: std::collections::HashMap<String, String> = std::collections::HashMap::new();
        for step in std::iter::once(None).chain(steps.iter().map(Some)) {
            if let Some((comes, text)) = step
                && let Ok(route) = Route::parse(text)
            {
                if *comes {
                    state.add(&[route]);
                } else if state.counts().total_routes > 1 && state.drop_routes(std::slice::from_ref(&route), now()).is_ok() {
                    known.remove(route.key().as_ref());
                }
                state = written(&state);
            }
            let mut folded = std::collections::HashSet::new();
            for route in state.routes() {
                let slug = state.slug(route);
                prop_assert!(slug.as_str().len() <= 120 && crate::route::Slug::from_file(slug.as_str()).is_some());
                prop_assert!(folded.insert(slug.folded()), "{slug} twice");
                let before = known.entry(route.key().into_owned()).or_insert_with(|| slug.to_string());
                prop_assert_eq!(before.as_str(), slug.as_str());
            }
        }
    }

    /// Whatever one transition did, taking it back gives the state before.
    #[test]
    fn what_is_taken_back_was_never_done(which in 0_usize..8, place in 0_usize..4) {
        let names = ["/a", "/b", "/c", "/d"];
        let mut before = campaign(&names);
        before.complete(&route("/a"), &facts("x"), None, now()).unwrap();
        before.fail(&route("/b"), "e", None, now()).unwrap();
        let before = written(&before);
        let mut state = before.clone();
        let one = route(names[place]);
        let _ = match which {
            0 => state.claim(&request(&[names[place]], 1), now(), &Ids::counted()).map(drop),
            1 => state.complete(&one, &facts("y"), None, now()).map(drop),
            2 => state.fail(&one, "other", None, now()).map(drop),
            3 => state.retry(&[], now()).map(drop),
            4 => state.requeue(&[one], now()).map(drop),
            5 => state.drop_routes(&[one], now()).map(drop),
            6 => state.review_fail(&one, "e", None, now()).map(drop),
            _ => { state.block("r"); Ok(()) }
        };
        if state.changed {
            let undo = state.undo_notes().unwrap();
            let mut state = written(&state);
            prop_assert_eq!(state.left(&undo), undo.left.clone());
            state.take_back(&undo).unwrap();
            let strip = |state: &State| written(state).render().replace("    \"review_failed\": 0,\n", "");
            let (a, b): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(&strip(&state)).unwrap(), serde_json::from_str(&strip(&before)).unwrap());
            for key in ["completed", "failed", "pending", "claims", "attempts", "dropped"] {
                prop_assert_eq!(a.get(key), b.get(key), "{}", key);
            }
            prop_assert_eq!(a["meta"].get("status"), b["meta"].get("status"));
        }
    }
}

#[test]
fn the_quick_way_reads_what_the_thorough_way_reads() {
    let plain = include_str!("../../tests/fixtures/state/written-by-an-agent.json");
    let texts = [
        plain.to_owned(),
        include_str!("../../tests/fixtures/state/unknown-keys.json").to_owned(),
        include_str!("../../tests/fixtures/state/counters-wrong.json").to_owned(),
        include_str!("../../tests/fixtures/state/blocked.json").to_owned(),
        include_str!("../../tests/fixtures/state/review-phase.json").to_owned(),
        plain.replace("\": ", "\" :\t"),
        plain.split_whitespace().collect(),
        plain.replace("/settings/p0", "/s\\u00e4\\/p0").replace("\"review_pending\",", "\"r\\u0065view_complete\","),
        plain
            .replace("\"summary\":", "\"summary\": 7, \"mine\": {\"a\\u0062\": [1, {}], \"a\": 1, \"a\": 2}, \"was\":"),
    ];
    for text in texts {
        let quick = State::quickly(&std::sync::Arc::new(text.clone())).expect("it is plain");
        let thorough = State::thoroughly(&text).unwrap();
        assert_eq!(quick.render(), thorough.render());
        assert_eq!(quick.counts(), thorough.counts());
        assert_eq!(quick.digest(), thorough.digest());
        for (one, two) in quick.completed().iter().zip(thorough.completed()) {
            assert_eq!((&one.review_status, &one.summary), (&two.review_status, &two.summary));
            assert_eq!((one.report_path(), one.bug_report_path()), (two.report_path(), two.bug_report_path()));
            assert_eq!(one.report_path().as_deref(), one.report_file.as_deref());
        }
    }
}

proptest! {
    /// One byte of a state is changed: both ways read the same, or neither reads it.
    #[test]
    fn a_damaged_state_is_read_by_both_ways_alike(place in any::<prop::sample::Index>(), byte in 0_u8..128) {
        let mut bytes = include_bytes!("../../tests/fixtures/state/unknown-keys.json").to_vec();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let text = String::from_utf8(bytes).unwrap();
        match (State::quickly(&std::sync::Arc::new(text.clone())), State::thoroughly(&text)) {
            (Some(quick), Ok(thorough)) => prop_assert_eq!(quick.render(), thorough.render()),
            (Some(_), Err(problem)) => prop_assert!(false, "{}", problem),
            (None, _) => {}
        }
    }
}
