//! The state file: whatever stands in it, reading, checking and repairing never panic; what is read and written is the
//! same state, with every foreign key; a repair leads to a file that is read.
#![no_main]

use agent_test::state::{Project, State, next};
use agent_test::store::Clock;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Keys that may come and go, because they are ours or derived.
const OURS: [&str; 6] = ["meta", "completed", "failed", "pending", "claims", "attempts"];

fn now() -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default()
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        read_and_write(text);
    }
    // The disk is slow: some inputs only.
    if data.len() % 16 == 3 {
        repair(data);
    }
});

fn read_and_write(text: &str) {
    let Ok(state) = State::parse(text) else { return };
    let written = state.render();
    let again = State::parse(&written).expect("what was written is read");
    assert_eq!(again.render(), written, "written twice, it is another file");
    assert_eq!(again.counts(), state.counts());
    assert_eq!(again.digest(), state.digest());
    assert_eq!(again.twice().is_empty(), state.twice().is_empty());
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let (Ok(Value::Object(before)), Ok(Value::Object(after))) =
        (serde_json::from_str::<Value>(plain), serde_json::from_str::<Value>(&written))
    {
        for (key, value) in &before {
            assert!(OURS.contains(&key.as_str()) || after.get(key) == Some(value), "`{key}` was lost");
        }
        for list in ["completed", "failed", "pending"] {
            let length = |map: &serde_json::Map<String, Value>| map.get(list).and_then(Value::as_array).map_or(0, Vec::len);
            assert_eq!(before.get(list).map_or(0, |_| length(&before)), length(&after), "{list}");
            assert!(before.get(list).is_none() || before.get(list) == after.get(list), "{list} was changed");
        }
        assert_eq!(before.get("meta"), after.get("meta"));
    }
    // What a reader asks.
    let mut slugs = std::collections::HashSet::new();
    let given = state.slugs();
    if state.twice().is_empty() {
        for route in state.routes().take(64) {
            assert_eq!(state.place(route).is_some(), true);
            let slug = given.get(route).expect("every route has a slug");
            assert!(slug.as_str().len() <= 160);
            slugs.insert(slug.folded());
        }
    }
    for entry in state.completed() {
        assert_eq!(entry.report_path().as_deref(), entry.report_file.as_deref());
        assert_eq!(entry.bug_report_path().as_deref(), entry.bug_report_file.as_deref());
    }
    let _ = (next(&state, None, now()), state.wrong_counters(), state.config(), state.final_report(), slugs);
}

fn repair(data: &[u8]) {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let Ok(dir) = dir else { return };
    let project = Project::open(dir.path(), Clock::fixed(now()));
    std::fs::write(project.state_path(), data).expect("a written file");
    let _ = project.standing();
    let _ = project.check();
    let Ok(plan) = project.repair(true) else { return };
    assert_eq!(std::fs::read(project.state_path()).expect("it stands"), data, "a dry run wrote");
    let done = project.repair(false).expect("what was planned can be done");
    assert_eq!(done.actions.len(), plan.actions.len());
    project.read().expect("a repaired state is read");
}
