//! The chronicle: what a flow's session does, as trace steps, with what the oracles say of each. The run file is made of it,
//! so that a bug that a flow meets is verified like any other.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::params::Secrets;
use super::recording::{RecordedAction, Verb};
use crate::browser::{Mark, Scene, Session};
use crate::env::SECRET_PREFIX;
use crate::maze::Bug;
use crate::replay::oracle::{self, Finding, Moment, Oracles};
use crate::replay::{bug_at, step_dialog, step_requests, stops};
use crate::store::Clock;
use crate::trace::{Flow, Locator, StepStatus, Tool, TraceStep};

/// What is noted of an attempt's session.
#[derive(Debug)]
pub struct Chronicle {
    title: String,
    oracles: Oracles,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    steps: Vec<TraceStep>,
    bugs: Vec<Bug>,
    /// Of the last step, while it still may show something.
    open: Option<Open>,
    /// Faults since they were last asked for.
    faults: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    mark: Mark,
    began: Instant,
    moment: Moment,
}

impl Chronicle {
    /// Nothing yet. `title` is the flow's name, without secrets.
    #[must_use]
    pub fn new(title: String, oracles: Oracles) -> Self {
        Self { title, oracles, noted: Mutex::default() }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step, right before it is done. Whatever the page shows from here to the next step is this one's.
    pub fn begin(&self, session: &Session, step: TraceStep) {
        self.take_in(session, Some(&step.url_before));
        let mut noted = self.noted();
        let moment = if noted.steps.is_empty() { Moment::Load } else { Moment::Action };
        let index = u32::try_from(noted.steps.len()).unwrap_or(u32::MAX);
        noted.steps.push(TraceStep { index, ..step });
        noted.open = Some(Open { mark: session.evidence().mark(), began: Instant::now(), moment });
    }

    /// The step that was begun was not done after all: nothing has reached the page.
    pub fn withdraw(&self) {
        let mut noted = self.noted();
        if noted.open.take().is_some() {
            noted.steps.pop();
        }
    }

    /// The step that was begun failed, or need not be done when its target is missing.
    pub fn mark(&self, status: StepStatus, error: Option<&str>) {
        if let Some(step) = self.noted().steps.last_mut() {
            step.status = status;
            step.error = error.map(str::to_owned);
        }
    }

    /// Takes in what the last step has brought up to now, with the address that the page has now.
    pub fn take_in(&self, session: &Session, url: Option<&str>) {
        let mut noted = self.noted();
        let Some(open) = noted.open else { return };
        let since = session.evidence().since(open.mark);
        let findings: Vec<Finding> = oracle::judge(&since, session.policy(), open.moment)
            .findings
            .into_iter()
            .filter(|finding| self.oracles.fail(finding))
            .collect();
        let noted = &mut *noted;
        let Some(step) = noted.steps.last_mut() else { return };
        step.requests = step_requests(&since);
        step.dialog = step_dialog(&since);
        step.duration_ms = open.began.elapsed().as_millis() as u64;
        if let Some(url) = url.filter(|url| !url.is_empty()) {
            url.clone_into(&mut step.url_after);
        }
        let failure = findings.iter().find(|finding| stops(finding));
        if let Some(failure) = failure.filter(|_| step.status == StepStatus::Passed) {
            step.status = StepStatus::Failed;
            step.error = Some(failure.description.clone());
        }
        for finding in &findings {
            let Some(bug) = bug_at(finding, &self.title, &noted.steps, "flow") else { continue };
            match noted.bugs.iter_mut().find(|known| known.fingerprint_v3 == bug.fingerprint_v3) {
                Some(known) if known.trace.len() == bug.trace.len() => *known = bug,
                Some(_) => {}
                None => {
                    if stops(finding) {
                        noted.faults.push(finding.description.clone());
                    }
                    noted.bugs.push(bug);
                }
            }
        }
    }

    /// The faults that the oracles have found since this was last asked, each once in an attempt.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        std::mem::take(&mut self.noted().faults)
    }

    /// The flow as it was played, under this id, and the bugs with the ways to them.
    #[must_use]
    pub fn into_parts(self, id: String) -> (Flow, Vec<Bug>) {
        let noted = self.noted.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Flow { id, title: self.title, trace: noted.steps, plan: Vec::new(), paths: Vec::new() }, noted.bugs)
    }
}

/// An action as a trace step on this screen. What a trace has no word for (a drag, a press at a point) is named as the flow
/// names it; a replay says that it cannot do it.
#[must_use]
pub fn trace_step(action: &RecordedAction, uid: u64, scene: &Scene, secrets: &Secrets, clock: &Clock) -> TraceStep {
    let tool = match &action.verb {
        Verb::Tap | Verb::Check => Tool::Click,
        Verb::DoubleTap => Tool::DoubleClick,
        Verb::SecondaryTap => Tool::RightClick,
        Verb::LongPress => Tool::Hold,
        Verb::Hover => Tool::Hover,
        Verb::Type | Verb::TypeSecret => Tool::Fill,
        Verb::Press => Tool::Press,
        Verb::Select => Tool::Select,
        Verb::Upload => Tool::Upload,
        Verb::Navigate => Tool::Goto,
        Verb::Back => Tool::Back,
        other => Tool::Other(other.to_string()),
    };
    let value = match &action.verb {
        Verb::TypeSecret => action.value.as_ref().map(|name| format!("env:{SECRET_PREFIX}{name}")),
        Verb::Check => None,
        _ => action.value.as_deref().map(|value| secrets.hide(value)),
    };
    TraceStep { locator: locator(uid, scene), value, ..TraceStep::new(tool, &scene.look.url, clock.now()) }
}

fn locator(uid: u64, scene: &Scene) -> Option<Locator> {
    if let Some(element) = scene.look.elements.iter().find(|element| element.uid == uid) {
        return Some(element.locator());
    }
    let node = scene.nodes.iter().find(|node| node.uid == uid && uid != 0)?;
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some(Locator {
        test_id: node.test_id.clone(),
        role: some(&node.role).filter(|role| role != "text"),
        name: some(&node.name),
        text: some(&node.text),
        placeholder: node.placeholder.clone(),
        css: some(&node.css),
        frame: node.frame.clone(),
        ..Locator::default()
    })
}
