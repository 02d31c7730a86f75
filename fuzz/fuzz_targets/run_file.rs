//! A run file, of whatever writer: reading never panics, what is written is read back as the same run, and every bug of it
//! is exported or left out with a reason.
#![no_main]

use agent_test::export::{Format, Terms, export};
use agent_test::settings::Settings;
use agent_test::verify::{chosen, rebase, run_from_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(run) = run_from_text(text, "2026-05-02T10-15-00Z") else { return };
    let written = serde_json::to_string_pretty(&run).expect("a run is written");
    let again = run_from_text(&written, "other").expect("what was written is read");
    assert_eq!(again, run);
    let bugs = chosen(&run, &[]).expect("all of them");
    assert_eq!(bugs.len(), run.bugs.len());
    let base: url::Url = "http://127.0.0.1:8080/app/".parse().expect("an address");
    let recorded = url::Url::parse(&run.base_url).unwrap_or_else(|_| base.clone());
    for bug in &bugs {
        assert_eq!(rebase(&bug.trace, &recorded, &base).len(), bug.trace.len());
    }
    for format in [Format::Playwright, Format::Recorder] {
        let terms = Terms { base: base.clone(), settings: Settings::default(), known_bad: false };
        let (done, left) = export(&run, &bugs, &terms, format);
        assert!(done.len() + left.len() >= bugs.len());
    }
});
