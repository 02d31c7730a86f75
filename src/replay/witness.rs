//! A witness: one trace played in one fresh session, and what its last step showed.
//!
//! The rules of what counts as reached are those of `verify` (seed 000; `trace-and-verify.md`): a step before the last
//! one that fails where it did not fail in the recording, a target that is not found, a login page or a maintenance page
//! in place of the page: all of these mean that the last step was not reached, and nothing can be said about the bug.

use std::sync::LazyLock;
use std::time::Instant;

use regex::Regex;
use url::Url;

use super::close::close_down_to;
use super::heal::Healer;
use super::login::is_login_address;
use super::oracle::{self, Finding, Moment};
use super::perform::Effect;
use super::play::{Player, Stepped};
use super::stage::{Stage, StageError};
use crate::browser::{Look, Note, Session, SessionError};
use crate::maze::{Bug, BugKind};
use crate::trace::bounds::may_open;
use crate::trace::fingerprint::path_template;
use crate::trace::{StepStatus, Tool, TraceStep};

/// How a replay is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// A target may appear this late, in milliseconds.
    pub patience_ms: u64,
    /// Whether to try to close what the last step opened.
    pub close: bool,
}

impl Ask {
    /// What a replay of these bugs must look at.
    pub fn of<'a>(patience_ms: u64, bugs: impl IntoIterator<Item = &'a Bug>) -> Self {
        let close = bugs.into_iter().any(|bug| bug.kind == Some(BugKind::FocusTrap));
        Self { patience_ms, close }
    }
}

/// What a replay showed.
#[derive(Clone, Debug)]
pub struct Witness {
    /// How it ended.
    pub end: End,
    /// The steps as they were played; those behind the end are `not_attempted`.
    pub steps: Vec<TraceStep>,
    /// Rungs of locators that no longer held, though another one did.
    pub drift: Vec<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// How a replay ended.
#[derive(Clone, Debug)]
pub enum End {
    /// The last step was done.
    Reached(Box<Sight>),
    /// It was not reached.
    Stopped {
        /// Index of the step that could not be done.
        at: u32,
        /// Why.
        why: String,
        /// What is wrong there, when an oracle says so.
        finding: Option<Box<Finding>>,
    },
}

impl End {
    fn stopped(at: u32, why: impl Into<String>) -> Self {
        Self::Stopped { at, why: why.into(), finding: None }
    }
}

/// What the last step showed.
#[derive(Clone, Debug)]
pub struct Sight {
    /// What came of it.
    pub effect: Effect,
    /// The screen before it; none when it is the opening navigation.
    pub before: Option<Look>,
    /// What the oracles say.
    pub findings: Vec<Finding>,
    /// Whether what the step opened could not be closed; only where that was asked for.
    pub trapped: bool,
}

/// Plays a trace in a fresh session.
///
/// # Errors
/// [`SessionError`] when no browser session could be begun. A browser that is lost on the way, an application that does
/// not answer and a login that fails are ends.
pub async fn witness(stage: &Stage, trace: &[TraceStep], ask: Ask) -> Result<Witness, SessionError> {
    witness_healing(stage, trace, ask, None).await
}

/// The same, with somebody to ask where a missing target is now. A step that was found anew has the resolution `healed`,
/// the locator that found it, and the reason as its observation.
///
/// # Errors
/// As [`witness`].
pub async fn witness_healing(
    stage: &Stage,
    trace: &[TraceStep],
    ask: Ask,
    healer: Option<&dyn Healer>,
) -> Result<Witness, SessionError> {
    let began = Instant::now();
    if trace.is_empty() {
        let end = End::stopped(0, "there is no trace");
        return Ok(Witness { end, steps: Vec::new(), drift: Vec::new(), duration_ms: 0 });
    }
    let session = stage.session().await?;
    let mut played = Played { steps: Vec::new(), drift: Vec::new() };
    let end = watch(stage, &session, trace, (ask, healer), &mut played).await;
    let end = match end {
        Ok(end) => end,
        Err(error) => crashed_or_lost(&session, trace, &played, &error),
    };
    session.close().await;
    let Played { mut steps, drift } = played;
    for step in trace.iter().skip(steps.len()) {
        steps.push(TraceStep { status: StepStatus::NotAttempted, error: None, screenshot: None, ..step.clone() });
    }
    if let End::Stopped { at, why, .. } = &end {
        tell_on_step(&mut steps, *at, why);
    }
    Ok(Witness { end, steps, drift, duration_ms: began.elapsed().as_millis() as u64 })
}

/// Writes on the step at which a replay stopped why it did.
fn tell_on_step(steps: &mut [TraceStep], at: u32, why: &str) {
    if let Some(step) = steps.iter_mut().find(|step| step.index == at) {
        if step.status == StepStatus::Passed {
            step.status = StepStatus::Failed;
        }
        step.error.get_or_insert_with(|| why.to_owned());
    }
}

struct Played {
    steps: Vec<TraceStep>,
    drift: Vec<String>,
}

/// A page that crashed is what its step showed; a browser that is lost shows nothing.
fn crashed_or_lost(session: &Session, trace: &[TraceStep], played: &Played, error: &SessionError) -> End {
    let done = played.steps.len();
    let at = trace.get(done).map_or(0, |step| step.index);
    let since = session.evidence().since(crate::browser::Mark::default());
    if !since.notes.iter().any(|note| matches!(note, Note::Crashed)) {
        return End::stopped(at, error.to_string());
    }
    let mut findings = oracle::judge(&since, session.policy(), Moment::Action).findings;
    findings.retain(|finding| finding.kind == BugKind::Crash);
    if done + 1 < trace.len() {
        let finding = findings.pop().map(Box::new);
        return End::Stopped { at, why: "an earlier step fails: the page crashed".to_owned(), finding };
    }
    let effect = Effect { since, ..Effect::of_look(Look::default()) };
    End::Reached(Box::new(Sight { effect, before: None, findings, trapped: false }))
}

async fn watch(
    stage: &Stage,
    session: &Session,
    trace: &[TraceStep],
    (ask, healer): (Ask, Option<&dyn Healer>),
    played: &mut Played,
) -> Result<End, SessionError> {
    let oracles = stage.oracles();
    let player = |look| Player::new(session, stage.terms(), ask.patience_ms, look).on(stage).healing(healer);
    let mut playing = player(None);
    let mut last = None;
    for (place, step) in trace.iter().enumerate() {
        let at = step.index;
        let is_last = place + 1 == trace.len();
        let clock = Instant::now();
        let stepped = match first_page(stage, session, step, place).await? {
            Some(First::Opened(effect)) => {
                playing = player(Some(effect.look.clone()));
                Stepped::Done { effect, before: None, failed: None }
            }
            Some(First::Stopped(why)) => return Ok(End::stopped(at, why)),
            None => match playing.step(step).await {
                Ok(stepped) => stepped,
                Err(error @ SessionError::Unreachable { .. }) => {
                    return Ok(End::stopped(at, format!("network: {error}")));
                }
                Err(error) => return Err(error),
            },
        };
        let mut done = TraceStep {
            status: StepStatus::Passed,
            error: None,
            screenshot: None,
            observation: None,
            resolution: None,
            duration_ms: clock.elapsed().as_millis() as u64,
            ..step.clone()
        };
        if let Some(healing) = playing.take_healed() {
            done.observation = Some(format!(
                "healed: {} is now {} ({})",
                step.locator.clone().unwrap_or_default().describe(),
                healing.locator.describe(),
                healing.reason
            ));
            done.locator = Some(healing.locator);
            done.resolution = Some("healed".to_owned());
        }
        let (effect, before, failed) = match stepped {
            Stepped::Done { effect, before, failed } => (effect, before, failed),
            // What the recording left out may stay left out.
            Stepped::Missed(_) if step.status == StepStatus::Skipped && !is_last => {
                played.steps.push(TraceStep { status: StepStatus::Skipped, ..done });
                continue;
            }
            Stepped::Missed(why) | Stepped::Impossible(why) => {
                done.status = StepStatus::Failed;
                done.error = Some(why.clone());
                played.steps.push(done);
                return Ok(End::stopped(at, why));
            }
        };
        played.drift.extend(effect.drift.iter().map(|rung| format!("step {at}: {rung}")));
        let moment = if place == 0 { Moment::Load } else { Moment::Action };
        let mut findings = judge(&effect, before.as_deref(), session, moment);
        findings.extend(failed.map(|failed| *failed));
        findings.retain(|finding| oracles.fail(finding) && !step.set_aside.contains(&finding.description));
        done.url_after.clone_from(&effect.look.url);
        let failure = findings.iter().find(|finding| stops(finding)).cloned();
        // A fault that stops nothing (a picture, a style sheet) failed the step in the recording too, or not.
        let told = failure.as_ref().or(findings.first().filter(|_| step.status == StepStatus::Failed));
        if let Some(failure) = told {
            done.status = StepStatus::Failed;
            done.error = Some(failure.description.clone());
        } else if was_dead(step) && !effect.is_any() {
            done.status = StepStatus::Failed;
            done.error.clone_from(&step.error);
        }
        played.steps.push(done);
        if !is_last {
            if let Some(failure) = failure.filter(|_| step.status != StepStatus::Failed) {
                let why = format!("an earlier step fails: {}", failure.description);
                return Ok(End::Stopped { at, why, finding: Some(Box::new(failure)) });
            }
            if let Some(message) = &effect.hung {
                return Ok(End::stopped(at, format!("the page hangs ({message})")));
            }
        }
        if place == 0
            && let Some(why) = not_the_page(step, &effect.look, &findings)
        {
            return Ok(End::stopped(at, why));
        }
        last = Some((effect, before, findings));
    }
    let Some((effect, before, findings)) = last else {
        return Ok(End::stopped(0, "every step was left out"));
    };
    let open = before.as_ref().map_or(0, |before| before.overlays.len());
    let trapped = ask.close
        && effect.look.overlays.len() > open
        && !close_down_to(session, effect.look.clone(), open, stage.terms()).await?.1;
    Ok(End::Reached(Box::new(Sight { effect: *effect, before: before.map(|look| *look), findings, trapped })))
}

enum First {
    Opened(Box<Effect>),
    Stopped(String),
}

/// The first page is opened as every engine opens it: logged in where that is needed.
async fn first_page(
    stage: &Stage,
    session: &Session,
    step: &TraceStep,
    place: usize,
) -> Result<Option<First>, SessionError> {
    if place > 0 || step.tool != Tool::Goto {
        return Ok(None);
    }
    let policy = session.policy();
    let url = match may_open(step.value.as_deref().unwrap_or_default(), |url| policy.is_own(url)) {
        Ok(url) => url,
        Err(why) => return Ok(Some(First::Stopped(why))),
    };
    match stage.open(session, &url).await {
        Ok(opened) => Ok(Some(First::Opened(Box::new(opened.effect)))),
        Err(StageError::Login(why)) => Ok(Some(First::Stopped(format!("the login failed: {why}")))),
        Err(StageError::Session(error @ SessionError::Unreachable { .. })) => {
            Ok(Some(First::Stopped(format!("network: {error}"))))
        }
        Err(StageError::Session(error)) => Err(error),
    }
}

/// What is wrong, by the same oracles that the explorer uses.
#[must_use]
pub fn judge(effect: &Effect, before: Option<&Look>, session: &Session, moment: Moment) -> Vec<Finding> {
    if let Some(message) = &effect.hung {
        return vec![oracle::hang(message)];
    }
    let mut findings = oracle::judge(&effect.since, session.policy(), moment).findings;
    let failed = findings.iter().any(|finding| finding.category == "navigation");
    findings.extend(oracle::judge_page(&effect.look, failed));
    if let Some(before) = before {
        findings.extend(oracle::judge_toasts(before, &effect.look));
    }
    findings
}

/// What fails a step: the strict oracles of the seed. A broken image or a message on the screen does not.
#[must_use]
pub fn stops(finding: &Finding) -> bool {
    matches!(
        finding.kind,
        BugKind::Exception | BugKind::HttpError | BugKind::Crash | BugKind::DisabledControl | BugKind::MissingText
    )
}

/// Whether the recording holds against a step that nothing came of it.
fn was_dead(step: &TraceStep) -> bool {
    step.status == StepStatus::Failed && step.observation.as_deref() == Some("no_response")
}

/// Why this is not the page that was recorded, if it is not.
fn not_the_page(step: &TraceStep, look: &Look, findings: &[Finding]) -> Option<String> {
    static MAINTENANCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(under|for|scheduled|undergoing)\s+maintenance\b|\bmaintenance mode\b|\b(be|come) (right )?back (soon|shortly|later)\b|\btemporarily (unavailable|offline|down)\b|\bwartungsarbeiten\b|\ben maintenance\b|\ben mantenimiento\b").ok()
    });
    let path = |url: &str| Url::parse(url).map_or_else(|_| url.to_owned(), |url| path_template(&url));
    let recorded = if step.url_after.is_empty() { step.value.as_deref().unwrap_or_default() } else { &step.url_after };
    if look.passwords > 0 && is_login_address(&look.url) && !is_login_address(recorded) {
        return Some(format!(
            "the login page {} is shown in place of the page; set {} and {}",
            look.url,
            crate::env::USERNAME,
            crate::env::PASSWORD
        ));
    }
    let text = format!("{} {} {}", look.title, look.heading, look.body_text);
    if look.elements.len() < 12
        && look.body_text.len() < 1500
        && MAINTENANCE.as_ref().is_some_and(|regex| regex.is_match(&text))
    {
        return Some(format!("a maintenance page is shown (\"{}\")", look.title));
    }
    // A page that answers with an error may redirect; that is what the bug is about.
    if findings.is_empty() && !look.url.is_empty() && path(&look.url) != path(recorded) {
        return Some(format!("{} was opened, the recording stood on {recorded}", look.url));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(url: &str) -> TraceStep {
        serde_json::from_value(serde_json::json!({
            "index": 0, "tool": "goto", "value": url, "urlAfter": url, "startedAt": "2026-05-02T10:15:00Z",
            "status": "passed"
        }))
        .unwrap()
    }

    fn page(url: &str, body: &str) -> Look {
        Look { url: url.into(), body_text: body.into(), ..Look::default() }
    }

    #[test]
    fn another_page_than_the_recorded_one_is_told() {
        let step = opening("http://a.b/orders/7");
        assert_eq!(not_the_page(&step, &page("http://a.b/orders/9", "Orders"), &[]), None);
        assert_eq!(not_the_page(&step, &page("http://other:81/orders/7/", "Orders"), &[]), None);
        assert!(not_the_page(&step, &page("http://a.b/home", "Home"), &[]).is_some());
        let login = Look { passwords: 1, ..page("http://a.b/login?next=/orders/7", "Sign in") };
        assert!(not_the_page(&step, &login, &[]).unwrap().contains("login page"));
        let down = page("http://a.b/orders/7", "We are down for maintenance. Be right back soon.");
        assert!(not_the_page(&step, &down, &[]).unwrap().contains("maintenance"));
    }

    #[test]
    fn a_page_about_maintenance_is_no_maintenance_page() {
        let step = opening("http://a.b/orders/7");
        assert_eq!(
            not_the_page(&step, &page("http://a.b/orders/7", "Maintenance of vehicles: 7 open orders"), &[]),
            None
        );
    }
}
