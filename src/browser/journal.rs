//! What is done to a browser, in order, for whoever watches: each input event, navigation, look and screenshot is one
//! line of JSON on the `tracing` target `journal`, where that is turned on (`AGENT_TEST_LOG=journal=trace`).
//!
//! The benchmarks read it: they play the same sequence with another tool, and know every element that a look held.
//! Texts that are typed are left out. Turned off it costs one comparison.

use std::sync::LazyLock;
use std::time::Instant;

use serde_json::{Value, json};

use super::screen::{Element, Look};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn ms() -> f64 {
    BEGAN.elapsed().as_secs_f64() * 1000.0
}

/// Notes what is about to be done: `op` names it, `what` says to what. `t` is the time in milliseconds since the first line.
pub fn note(op: &str, what: impl FnOnce() -> Value) {
    if tracing::enabled!(target: "journal", tracing::Level::TRACE) {
        let line = json!({ "op": op, "t": ms(), "what": what() });
        tracing::trace!(target: "journal", "{line}");
    }
}

/// Notes a look that was taken and how long it took, names and all, in milliseconds. `cost` is the time that making this
/// line took, to be taken off.
pub(super) fn look(look: &Look, took_ms: f64) {
    if !tracing::enabled!(target: "journal", tracing::Level::TRACE) {
        return;
    }
    let began = Instant::now();
    let elements: Vec<Value> = look.elements.iter().map(element).collect();
    let mut line = json!({
        "op": "look", "t": ms(), "took": took_ms, "names": look.names_ms, "doc": look.doc, "url": look.url,
        "nodes": look.nodes, "scroll": look.scroll_y, "text": look.body_text, "elements": elements,
        "overlays": look.overlays.iter().map(|overlay| &overlay.kind).collect::<Vec<_>>(),
    });
    line["cost"] = json!(began.elapsed().as_secs_f64() * 1000.0);
    tracing::trace!(target: "journal", "{line}");
    note("looked", || Value::Null);
}

fn element(element: &Element) -> Value {
    json!([
        element.uid,
        element.css,
        element.shadow,
        element.frame,
        element.tag,
        element.why,
        element.role,
        element.display_name(),
        [element.x, element.y, element.width, element.height],
        element.disabled
    ])
}
