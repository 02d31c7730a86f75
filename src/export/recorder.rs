//! A bug as a recording that Chrome's `DevTools` and `@puppeteer/replay` play. Pure.
//!
//! The format knows no oracles, no login, no guard at the network and no references to secrets. What it can say as an
//! expression of the page is said so, the bug's own check last; what it cannot is refused or noted.

use serde_json::{Value as Json, json};
use url::Url;

use super::Refusal;
use super::check::{self, Check};
use super::place::known_role;
use super::steps::{Terms, Value, playable, value};
use super::text::line;
use crate::browser::HOLD_MS;
use crate::maze::{Bug, BugKind};
use crate::replay::is_destructive;
use crate::trace::{Locator, RunFile, StepStatus, Tool, TraceStep};

/// Milliseconds that a step may take.
const TIMEOUT_MS: u32 = 10_000;
/// Milliseconds that the last check may take.
const CHECK_MS: u32 = 5_000;
/// Where in the element a click goes, in CSS pixels from its corner: inside small ones, and inside round corners.
const OFFSET: u32 = 8;

/// A recording, and what a reader must know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The document.
    pub document: Json,
    /// What it cannot say.
    pub notes: Vec<String>,
}

/// The recording of a bug.
///
/// # Errors
/// [`Refusal`] when the format cannot express it, or when playing it without our guard could change data.
pub fn recording(run: &RunFile, bug: &Bug, terms: &Terms) -> Result<Recording, Refusal> {
    let (_, last) = playable(bug, terms)?;
    if !run.settings.safe_to_mutate {
        refuse_unguarded(bug)?;
    }
    let viewport = run.settings.viewport.unwrap_or(terms.settings.viewport);
    let mut steps = vec![json!({
        "type": "setViewport", "width": viewport[0], "height": viewport[1], "deviceScaleFactor": 1,
        "isMobile": false, "hasTouch": false, "isLandscape": false
    })];
    let check = check::of(bug);
    let frames = Frames::of(bug);
    for step in &bug.trace {
        let is_last = step.index == last.index;
        let place = Place { frame: frames.number(step)?, target: target(step) };
        let acts = !matches!(step.tool, Tool::Goto | Tool::Wait | Tool::Noop | Tool::AssertText);
        if acts && (is_last || step.dialog.is_some()) {
            steps.push(place.put(json!({ "type": "waitForExpression", "expression": check::watch(step) })));
        }
        // What is disabled cannot be pressed: whether it still is, is the check.
        if !(is_last && bug.kind == Some(BugKind::DisabledControl)) {
            write_step(&mut steps, step, run, &place, terms)?;
        }
        if is_last && let Check::Expression(expression) = &check {
            steps
                .push(place.put(json!({ "type": "waitForExpression", "timeout": CHECK_MS, "expression": expression })));
        }
    }
    let document = json!({ "title": line(&title(bug)), "timeout": TIMEOUT_MS, "steps": steps });
    Ok(Recording { document, notes: notes(&check) })
}

fn title(bug: &Bug) -> String {
    let place = if bug.location.is_empty() { String::new() } else { format!(" ({})", bug.location) };
    format!("{}{place}", bug.description)
}

fn notes(check: &Check) -> Vec<String> {
    let mut notes = Vec::new();
    if let Check::None(why) = check {
        notes.push(format!("it plays the steps and checks nothing at the end: {why}"));
    }
    notes
}

/// Our guard stops what would change data; a replay elsewhere has none. What reads destructive and sent nothing under the
/// guard only opens something; of another program's trace nobody knows.
fn refuse_unguarded(bug: &Bug) -> Result<(), Refusal> {
    for step in &bug.trace {
        let at = step.index;
        if step.requests.iter().any(|request| request.refused) {
            return Err(Refusal::new(format!(
                "its step {at} sends a request that was stopped because it would change data; a replay would let it leave"
            )));
        }
        let is_ours = bug.kind.is_some();
        if !is_ours && step.tool == Tool::Click && step.locator.as_ref().is_some_and(is_destructive) {
            return Err(Refusal::new(format!(
                "its step {at} presses what reads destructive; a replay would let its requests leave"
            )));
        }
    }
    Ok(())
}

/// The frame and the window that a step works in.
struct Place {
    frame: Option<Vec<u32>>,
    target: Option<String>,
}

impl Place {
    fn put(&self, mut step: Json) -> Json {
        if let Some(object) = step.as_object_mut() {
            if let Some(frame) = &self.frame {
                object.insert("frame".to_owned(), json!(frame));
            }
            if let Some(target) = &self.target {
                object.insert("target".to_owned(), json!(target));
            }
        }
        step
    }
}

/// Another window is known by its address.
fn target(step: &TraceStep) -> Option<String> {
    (step.tab > 0).then(|| step.url_before.clone())
}

/// What a trace tells of its frames: the format names them by number, and the trace by path.
struct Frames {
    /// Documents that were loaded into frames of the first page.
    documents: usize,
}

impl Frames {
    fn of(bug: &Bug) -> Self {
        let count = |step: &TraceStep| {
            let documents = step.requests.iter().filter(|request| request.kind.eq_ignore_ascii_case("document"));
            documents.filter(|request| !is_page(&request.url, step)).count()
        };
        Self { documents: bug.trace.iter().map(count).sum() }
    }

    fn number(&self, step: &TraceStep) -> Result<Option<Vec<u32>>, Refusal> {
        let frames = step.locator.as_ref().map_or(&[][..], |locator| &locator.frame);
        if frames.is_empty() {
            return Ok(None);
        }
        if frames.len() == 1 && self.documents == 1 {
            return Ok(Some(vec![0]));
        }
        Err(Refusal::new(format!(
            "its step {} works in a frame, which this format names by number, and the trace does not tell the number",
            step.index
        )))
    }
}

/// Whether a document is the page itself and not one of its frames.
fn is_page(url: &str, step: &TraceStep) -> bool {
    // The run may have been moved to another address; its requests tell where they went.
    let bare =
        |text: &str| Url::parse(text).map(|url| url[url::Position::BeforePath..url::Position::AfterQuery].to_owned());
    let own = [Some(&step.url_after), Some(&step.url_before), step.value.as_ref()];
    own.into_iter().flatten().any(|known| bare(known).is_ok_and(|known| bare(url) == Ok(known)))
}

fn write_step(
    steps: &mut Vec<Json>,
    step: &TraceStep,
    run: &RunFile,
    place: &Place,
    terms: &Terms,
) -> Result<(), Refusal> {
    let text = step.value.clone().unwrap_or_default();
    let expression = |expression: String| place.put(json!({ "type": "waitForExpression", "expression": expression }));
    let mut selectors = || -> Result<Json, Refusal> {
        let (selectors, condition) = found_by(step, run)?;
        steps.extend(condition.map(&expression));
        Ok(selectors)
    };
    let moves = |mut json: Json| {
        if is_navigation(step)
            && let Some(object) = json.as_object_mut()
        {
            let url = without_secrets(&step.url_after);
            object.insert("assertedEvents".to_owned(), json!([{ "type": "navigation", "url": url, "title": "" }]));
        }
        json
    };
    match &step.tool {
        Tool::Goto => {
            let url = without_secrets(terms.base.join(&text).map_or(text, |url| url.to_string()).as_str());
            steps.push(place.put(json!({
                "type": "navigate", "url": url,
                "assertedEvents": [{ "type": "navigation", "url": url, "title": "" }]
            })));
        }
        Tool::Click => {
            let selectors = selectors()?;
            let click = json!({ "type": "click", "selectors": selectors, "offsetX": OFFSET, "offsetY": OFFSET });
            steps.push(moves(place.put(click)));
        }
        Tool::DoubleClick | Tool::RightClick | Tool::Hold => {
            let selectors = selectors()?;
            let mut click = json!({ "type": "click", "selectors": selectors, "offsetX": OFFSET, "offsetY": OFFSET });
            match step.tool {
                Tool::DoubleClick => click["type"] = json!("doubleClick"),
                Tool::RightClick => click["button"] = json!("secondary"),
                _ => click["duration"] = json!(HOLD_MS),
            }
            steps.push(moves(place.put(click)));
        }
        Tool::Hover => {
            let selectors = selectors()?;
            steps.push(place.put(json!({ "type": "hover", "selectors": selectors })));
        }
        Tool::Fill => match value(step) {
            Value::Plain(text) => {
                let selectors = selectors()?;
                steps.push(place.put(json!({ "type": "change", "selectors": selectors, "value": text })));
            }
            Value::Secret(name) => {
                return Err(Refusal::new(format!(
                    "its step {} types a secret ({name}), and the format has no place for a reference",
                    step.index
                )));
            }
        },
        Tool::Select => {
            let css = path(step)?;
            let name = step.locator.as_ref().and_then(|locator| locator.name.as_deref());
            steps.push(expression(check::is_there(&[&css], name)));
            steps.push(expression(match &step.value {
                Some(option) => check::choose(&css, option),
                None => check::focus(&css),
            }));
        }
        Tool::Upload if step.value.is_none() => steps.push(expression(check::focus(&path(step)?))),
        Tool::Upload => {
            return Err(Refusal::new(format!("its step {} sets files, which the format cannot", step.index)));
        }
        Tool::Press => {
            if step.locator.is_some() {
                steps.push(expression(check::focus(&path(step)?)));
            }
            let key = if text.is_empty() { "Escape" } else { &text };
            steps.push(place.put(json!({ "type": "keyDown", "key": key })));
            steps.push(moves(place.put(json!({ "type": "keyUp", "key": key }))));
        }
        Tool::Scroll => {
            let y = text.parse::<i64>().unwrap_or(0);
            steps.push(place.put(json!({ "type": "scroll", "x": 0, "y": y })));
        }
        Tool::Back => steps.push(moves(expression("(history.back(), true)".to_owned()))),
        // The last one's check says the same.
        Tool::AssertText if step.status != StepStatus::Failed => steps.push(expression(check::shows(&text))),
        Tool::AssertText => {}
        Tool::Wait | Tool::Noop => steps.push(expression("document.readyState === 'complete'".to_owned())),
        Tool::Other(tool) => return Err(Refusal::new(format!("its step {} is a `{tool}`", step.index))),
    }
    Ok(())
}

fn without_secrets(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Whether the step put another document into the window.
fn is_navigation(step: &TraceStep) -> bool {
    let bare = |text: &str| text.split('#').next().unwrap_or_default().to_owned();
    !step.url_after.is_empty() && bare(&step.url_before) != bare(&step.url_after)
}

fn path(step: &TraceStep) -> Result<String, Refusal> {
    let css = step.locator.as_ref().filter(|locator| locator.shadow.is_empty()).and_then(|locator| locator.css.clone());
    css.ok_or_else(|| Refusal::new(format!("its step {} names no path to its target", step.index)))
}

/// How a target is found: one selector, and what must be true before it may be used.
///
/// A player takes whichever alternative it finds first, so that a second one which has drifted could lead to another
/// element. The name is the steadiest; where it may not stand alone, the path leads, and the name must agree.
fn found_by(step: &TraceStep, run: &RunFile) -> Result<(Json, Option<String>), Refusal> {
    let Some(locator) = &step.locator else {
        return Err(Refusal::new(format!("its step {} names no target", step.index)));
    };
    let unclear = || Refusal::new(format!("nothing tells the target of its step {} from others", step.index));
    if locator.nth.is_some() {
        return Err(unclear());
    }
    if let (Some(role), Some(name)) = (known_role(locator), &locator.name)
        && !name.is_empty()
        && !name.contains(['"', '\\', '[', ']', '…'])
        && is_the_only_one(locator, step, run)
    {
        return Ok((json!([[format!("aria/{name}[role=\"{role}\"]")]]), None));
    }
    let Some(css) = &locator.css else { return Err(unclear()) };
    let chain: Vec<&String> = locator.shadow.iter().chain([css]).collect();
    let name = locator.name.as_ref().or(locator.text.as_ref()).filter(|name| !name.is_empty() && !name.contains('…'));
    Ok((json!([chain]), Some(check::is_there(&chain, name.map(String::as_str)))))
}

/// Whether a name may stand alone: no row of a list, and no other element of the page that the run met with this name.
fn is_the_only_one(locator: &Locator, step: &TraceStep, run: &RunFile) -> bool {
    let css = locator.css.as_deref().unwrap_or_default();
    let in_list = ["tr", "li", "article", "tbody", "option", "dd"]
        .iter()
        .any(|tag| css.split(" > ").any(|part| part.starts_with(&format!("{tag}:nth-of-type"))));
    let page = |step: &TraceStep| step.url_before.split(['?', '#']).next().unwrap_or_default().to_owned();
    let twin =
        run.flows.iter().flat_map(|flow| &flow.trace).chain(run.bugs.iter().flat_map(|bug| &bug.trace)).any(|other| {
            page(other) == page(step)
                && other.locator.as_ref().is_some_and(|other| {
                    other.role == locator.role
                        && other.name == locator.name
                        && (&other.css, &other.shadow, &other.frame) != (&locator.css, &locator.shadow, &locator.frame)
                })
        });
    !in_list && !twin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn run_of(steps: &Json) -> RunFile {
        let mut steps = steps.clone();
        for (at, step) in steps.as_array_mut().unwrap().iter_mut().enumerate() {
            step["index"] = at.into();
            step["startedAt"] = "2026-05-02T10:15:00Z".into();
            step["urlBefore"] = "http://a.b/x".into();
        }
        serde_json::from_value(json!({
            "id": "r", "baseUrl": "http://a.b/", "startedAt": "2026-05-02T10:15:00Z", "flows": [],
            "bugs": [{ "description": "It throws", "severity": "major", "kind": "exception", "trace": steps }]
        }))
        .unwrap()
    }

    fn of(steps: &Json) -> Result<Recording, Refusal> {
        let run = run_of(steps);
        let terms = Terms { base: Url::parse("http://a.b/").unwrap(), settings: Settings::default(), known_bad: false };
        recording(&run, &run.bugs[0], &terms)
    }

    fn goto() -> Json {
        json!({ "tool": "goto", "value": "http://a.b/x", "status": "passed" })
    }

    fn click(locator: &Json) -> Json {
        json!({ "tool": "click", "locator": locator, "status": "failed" })
    }

    fn selectors_of(recording: &Recording) -> Json {
        let steps = recording.document["steps"].as_array().unwrap();
        steps.iter().find(|step| step["type"] == "click").unwrap()["selectors"].clone()
    }

    #[test]
    fn a_name_leads_where_it_is_the_only_one_and_the_path_where_it_is_not() {
        let at = |css: &str| json!({ "role": "button", "name": "Edit", "css": css });
        let alone = of(&json!([goto(), click(&at("main > button"))])).unwrap();
        assert_eq!(selectors_of(&alone), json!([["aria/Edit[role=\"button\"]"]]));
        let row = of(&json!([goto(), click(&at("tbody > tr:nth-of-type(3) > td > button"))])).unwrap();
        assert_eq!(selectors_of(&row), json!([["tbody > tr:nth-of-type(3) > td > button"]]));
        assert!(row.document.to_string().contains("innerText"), "the name must agree");
        let twins = json!([goto(), { "tool": "click", "locator": at("#other"), "status": "passed" }, click(&at("main > button"))]);
        assert_eq!(selectors_of(&of(&twins).unwrap()), json!([["#other"]]));
    }

    #[test]
    fn what_the_format_cannot_say_is_refused() {
        let button = json!({ "role": "button", "name": "Go", "css": "#go" });
        let why = |steps: Json| of(&steps).unwrap_err().to_string();
        let stopped = json!([{ "method": "POST", "url": "http://a.b/x", "kind": "xhr", "refused": true }]);
        let step = json!({ "tool": "click", "locator": button, "status": "failed", "requests": stopped });
        assert!(why(json!([goto(), step])).contains("would change data"));
        let secret =
            json!({ "tool": "fill", "locator": button, "value": "env:AGENT_TEST_SECRET_PIN", "status": "failed" });
        assert!(why(json!([goto(), secret])).contains("types a secret (AGENT_TEST_SECRET_PIN)"));
        let files = json!({ "tool": "upload", "locator": button, "value": "a.txt", "status": "failed" });
        assert!(why(json!([goto(), files])).contains("sets files"));
        let deep = json!({ "role": "button", "name": "Go", "css": "#go", "frame": ["#a", "#b"] });
        assert!(why(json!([goto(), click(&deep)])).contains("by number"));
        assert!(
            why(json!([goto(), click(&json!({ "role": "button", "name": "Go", "nth": 2 }))])).contains("from others")
        );
    }

    #[test]
    fn a_frame_is_named_by_its_number_when_there_is_only_one() {
        let document = |url: &str| json!({ "method": "GET", "url": url, "kind": "document" });
        let mut open = goto();
        open["requests"] = json!([document("http://old.host/x"), document("http://a.b/inner")]);
        let inside = json!({ "role": "button", "name": "Go", "css": "#go", "frame": ["iframe"] });
        let recording = of(&json!([open, click(&inside)])).unwrap();
        let steps = recording.document["steps"].as_array().unwrap();
        assert!(steps.iter().filter(|step| step["type"] == "click").all(|step| step["frame"] == json!([0])));
    }

    #[test]
    fn what_is_not_checked_is_noted() {
        let opening = json!([{ "tool": "goto", "value": "http://a.b/x", "status": "failed" }]);
        assert!(of(&opening).unwrap().notes[0].contains("checks nothing"));
    }
}
