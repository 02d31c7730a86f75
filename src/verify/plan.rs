//! Plays the stored plan of a run that holds no trace: a model says what each instruction means on the screen, the one
//! actor does it, the oracles judge it, and the new run holds the trace.
//!
//! The model chooses a tool and a control; it does not decide what is allowed. Words that destroy, other sites and
//! secrets are refused here, whatever a page has told it, and the guard at the network stands behind.

use std::fmt::Write as _;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::error::VerifyError;
use super::heal::{MOST_CONTROLS, line, one_line};
use super::pair::same;
use super::rerun::{Rerun, empty, new_bug};
use crate::browser::{Chord, Element, Look, Session, SessionError, words};
use crate::event::{EventKind, Events};
use crate::llm::{LlmError, Model, Question};
use crate::replay::oracle::{Finding, Moment};
use crate::replay::{
    Effect, End, Outcome, Player, Sight, Stage, StageError, Stepped, Witness, ends_session, judge, reads_destructive,
    stops,
};
use crate::store::Clock;
use crate::trace::{Flow, PlannedStep, RunFile, StepStatus, Tool, TraceStep};

/// Actions that one instruction may take.
const MOST_MOVES: usize = 5;

const RULES: &str = "\
You carry out a written test of a web application, one action at a time. Given an instruction and the screen, say the next \
action: its tool, the number of the control where the tool needs one, and its value. Tools: click (number), fill (number, \
value: the text), select (number, value: the option), press (value: a key such as Enter, Tab, ArrowDown or Control+K), goto (value: a path \
of this application), assert_text (value: a text that the instruction expects to see), wait, noop (the instruction already \
holds), skip (it cannot be done here). `finished` is true when the instruction is carried out after this action.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Click,
    Fill,
    Press,
    Select,
    Goto,
    AssertText,
    Wait,
    Noop,
    Skip,
}

/// The model's next action.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct Move {
    /// What to do.
    tool: Verb,
    /// Number of the control in the list, for click, fill and select.
    #[serde(default)]
    number: Option<usize>,
    /// Text, option, key or path.
    #[serde(default)]
    value: Option<String>,
    /// Whether the instruction is carried out after this action.
    #[serde(default = "yes")]
    finished: bool,
    /// Why, in one short sentence.
    #[serde(default)]
    reason: String,
}

fn yes() -> bool {
    true
}

/// Plays the plans of a run.
///
/// # Errors
/// [`VerifyError::NoPlan`]; [`VerifyError::Model`] when the model cannot be asked at all; [`VerifyError::Session`].
pub async fn play_plan(
    stage: &Stage,
    run: &RunFile,
    model: &Model,
    events: &Events,
    clock: &Clock,
) -> Result<Rerun, VerifyError> {
    if run.flows.iter().all(|flow| flow.plan.is_empty()) {
        return Err(VerifyError::NoPlan(run.id.clone()));
    }
    // Whatever is found counts: the stored bugs have no trace that could be played beside it.
    let mut again = Rerun::begin(RunFile { bugs: Vec::new(), ..empty(run, stage, clock.now()) });
    let mut first = None;
    for flow in &run.flows {
        let mut playing = Playing { stage, model, clock, flow, steps: Vec::new(), findings: Vec::new(), stopped: None };
        if !flow.plan.is_empty() {
            let session = stage.session().await?;
            let ended = playing.flow(&session).await;
            session.close().await;
            match ended {
                Ok(()) => {}
                Err(Broken::Model(error)) => return Err(error.into()),
                Err(Broken::Session(error)) => playing.stopped = Some(error.to_string()),
            }
        }
        let Playing { steps, findings, stopped, .. } = playing;
        if let Some(why) = stopped {
            again.missed += 1;
            first.get_or_insert_with(|| why.clone());
            again.stopped.push((flow.title.clone(), why));
        }
        for witness in &findings {
            if let Some(bug) = new_bug(&again.empty_run(), flow, witness)
                && !again.run.bugs.iter().any(|known| known.fingerprint_v3 == bug.fingerprint_v3)
            {
                again.run.bugs.push(bug);
            }
        }
        again.played += steps.iter().filter(|step| step.status != StepStatus::Skipped).count();
        events.emit(clock.now(), EventKind::FlowReplayed { flow: flow.title.clone(), steps: steps.len() });
        again.run.flows.push(Flow { trace: steps, paths: Vec::new(), ..flow.clone() });
    }
    if again.played == 0 {
        let why = first.unwrap_or_else(|| "every instruction was left out".to_owned());
        return Err(VerifyError::NothingPlayed { run: run.id.clone(), why });
    }
    for bug in &run.bugs {
        if !again.run.bugs.iter().any(|found| same(found, bug)) {
            let why = "it has no trace; the plan was played, and this is not among what it met".to_owned();
            again.silent.push((bug.location.clone(), Outcome::Blocked { at: None, why }));
        }
    }
    again.run.finished_at = Some(clock.now());
    Ok(again)
}

enum Broken {
    Model(LlmError),
    Session(SessionError),
}

impl From<SessionError> for Broken {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

/// One flow while it is played.
struct Playing<'a> {
    stage: &'a Stage,
    model: &'a Model,
    clock: &'a Clock,
    flow: &'a Flow,
    steps: Vec<TraceStep>,
    findings: Vec<Witness>,
    stopped: Option<String>,
}

/// What an instruction came to.
enum Came {
    On(Box<Look>),
    End,
}

impl Playing<'_> {
    async fn flow(&mut self, session: &Session) -> Result<(), Broken> {
        let base = self.stage.base.clone();
        let began = Instant::now();
        let mut step = self.step(Tool::Goto, "about:blank");
        step.value = Some(base.to_string());
        let opened = match self.stage.open(session, &base).await {
            Ok(opened) => opened,
            Err(StageError::Session(error)) => return Err(error.into()),
            Err(error @ StageError::Login(_)) => {
                self.stopped = Some(error.to_string());
                return Ok(());
            }
        };
        let mut look = opened.effect.look.clone();
        let mut player = Player::new(
            session,
            self.stage.terms(),
            self.stage.settings.limits.settle_ms,
            Some(opened.effect.look.clone()),
        )
        .on(self.stage);
        self.judged(session, step, opened.effect, None, None, began);
        for planned in self.flow.plan.clone() {
            match self.instruction(session, &mut player, &planned, look).await? {
                Came::On(now) => look = *now,
                Came::End => break,
            }
        }
        Ok(())
    }

    async fn instruction(
        &mut self,
        session: &Session,
        player: &mut Player<'_>,
        planned: &PlannedStep,
        mut look: Look,
    ) -> Result<Came, Broken> {
        for _ in 0..MOST_MOVES {
            let shown: Vec<&Element> =
                look.elements.iter().filter(|element| !element.disabled).take(MOST_CONTROLS).collect();
            let question = self.question(planned, &look, &shown);
            let chosen = match self.model.ask(&question, |chosen| fits(chosen, shown.len())).await {
                Ok(answer) => answer.value,
                Err(error) if error.is_final() => return Err(Broken::Model(error)),
                Err(error) => return Ok(self.end(format!("\"{}\": {error}", cut(&planned.instruction, 80)))),
            };
            let target = chosen.number.and_then(|number| shown.get(number.checked_sub(1)?)).copied();
            let mut step = self.step(tool(chosen.tool), &look.url);
            step.observation = Some(one_line(&format!("{} ({})", planned.instruction, chosen.reason)));
            step.value.clone_from(&chosen.value);
            if matches!(chosen.tool, Verb::Skip) {
                step.status = StepStatus::Skipped;
                self.steps.push(step);
                return Ok(Came::On(Box::new(look)));
            }
            if let Err(why) = allow(&mut step, &chosen, target, self.stage) {
                let told = format!("\"{}\" is not done: {why}", cut(&planned.instruction, 80));
                self.steps.push(TraceStep { status: StepStatus::Skipped, error: Some(why), ..step });
                return Ok(self.end(told));
            }
            let began = Instant::now();
            match player.step(&step).await? {
                Stepped::Done { effect, before, failed } => {
                    let hung = effect.hung.is_some();
                    look = effect.look.clone();
                    self.judged(session, step, *effect, before.map(|look| *look), failed.map(|failed| *failed), began);
                    if hung {
                        return Ok(self.end("the page hangs".to_owned()));
                    }
                }
                Stepped::Missed(why) | Stepped::Impossible(why) => {
                    self.steps.push(TraceStep { status: StepStatus::Failed, error: Some(why.clone()), ..step });
                    return Ok(self.end(why));
                }
            }
            if chosen.finished {
                return Ok(Came::On(Box::new(look)));
            }
        }
        Ok(self.end(format!("\"{}\" takes more than {MOST_MOVES} actions", cut(&planned.instruction, 80))))
    }

    fn end(&mut self, why: String) -> Came {
        self.stopped = Some(why);
        Came::End
    }

    fn step(&self, tool: Tool, url: &str) -> TraceStep {
        let index = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        TraceStep { index, ..TraceStep::new(tool, url, self.clock.now()) }
    }

    /// Writes down a step that was done, with what the oracles say.
    fn judged(
        &mut self,
        session: &Session,
        mut step: TraceStep,
        effect: Effect,
        before: Option<Look>,
        failed: Option<Finding>,
        began: Instant,
    ) {
        let moment = if self.steps.is_empty() { Moment::Load } else { Moment::Action };
        let oracles = self.stage.oracles();
        let mut findings = judge(&effect, before.as_ref(), session, moment);
        findings.extend(failed);
        findings.retain(|finding| oracles.fail(finding));
        step.duration_ms = began.elapsed().as_millis() as u64;
        step.url_after.clone_from(&effect.look.url);
        if let Some(failure) = findings.iter().find(|finding| stops(finding)) {
            step.status = StepStatus::Failed;
            step.error = Some(failure.description.clone());
        }
        self.steps.push(step);
        if !findings.is_empty() {
            let sight = Sight { effect, before, findings, trapped: false };
            let end = End::Reached(Box::new(sight));
            self.findings.push(Witness { end, steps: self.steps.clone(), drift: Vec::new(), duration_ms: 0 });
        }
    }

    fn question(&self, planned: &PlannedStep, look: &Look, shown: &[&Element]) -> Question {
        let mut list = String::new();
        for (number, element) in (1..).zip(shown) {
            let _ = writeln!(list, "{number}. {}", line(element));
        }
        let mut done = String::new();
        for step in self.steps.iter().rev().take(8).rev() {
            let target = step.locator.as_ref().map(|locator| format!(" {}", locator.describe())).unwrap_or_default();
            let value = step.value.as_deref().map(|value| format!(" \"{}\"", cut(value, 60))).unwrap_or_default();
            let _ = writeln!(done, "{}{target}{value}: {}", step.tool, step.status);
        }
        let mut task = format!("Instruction: {}", one_line(&planned.instruction));
        if let Some(expected) = &planned.expected {
            let _ = write!(task, "\nExpected: {}", one_line(expected));
        }
        if self.stage.credentials.is_some() {
            let _ = write!(
                task,
                "\nTo log in, fill the values env:{} and env:{} as they stand here.",
                crate::env::USERNAME,
                crate::env::PASSWORD
            );
        }
        let path = Url::parse(&look.url).map_or_else(|_| String::new(), |url| url.path().to_owned());
        Question::new("play-plan", RULES)
            .say(task)
            .show("Done up to now", done)
            .show("The screen", format!("{path} | {} | {}\n{}", look.title, look.heading, cut(&look.body_text, 1500)))
            .show("The controls on the screen", list)
            .say("What is the next action?")
    }
}

fn tool(verb: Verb) -> Tool {
    match verb {
        Verb::Click => Tool::Click,
        Verb::Fill => Tool::Fill,
        Verb::Press => Tool::Press,
        Verb::Select => Tool::Select,
        Verb::Goto => Tool::Goto,
        Verb::AssertText => Tool::AssertText,
        Verb::Wait => Tool::Wait,
        Verb::Noop | Verb::Skip => Tool::Noop,
    }
}

/// Whether an answer can be carried out at all.
fn fits(chosen: &Move, controls: usize) -> Result<(), String> {
    let needs_number = matches!(chosen.tool, Verb::Click | Verb::Fill | Verb::Select);
    match chosen.number {
        None if needs_number => return Err("the number of the control is missing".to_owned()),
        Some(number) if needs_number && !(1..=controls).contains(&number) => {
            return Err(format!("{number} is no number of the list, which goes from 1 to {controls}"));
        }
        _ => {}
    }
    let needs_value = matches!(chosen.tool, Verb::Fill | Verb::Select | Verb::Press | Verb::Goto | Verb::AssertText);
    let value = chosen.value.as_deref().unwrap_or_default();
    if needs_value && chosen.value.is_none() || chosen.tool == Verb::AssertText && value.trim().is_empty() {
        return Err("the value is missing".to_owned());
    }
    if chosen.tool == Verb::Press {
        Chord::parse(value)?;
    }
    Ok(())
}

/// Completes a step with its target; or says why it is not done.
fn allow(step: &mut TraceStep, chosen: &Move, target: Option<&Element>, stage: &Stage) -> Result<(), String> {
    let policy = stage.policy();
    if let Some(element) = target.filter(|_| matches!(chosen.tool, Verb::Click | Verb::Fill | Verb::Select)) {
        let name = element.display_name();
        let address = element.href.as_deref().or(element.form_action.as_deref()).and_then(|url| Url::parse(url).ok());
        if ends_session(element) {
            return Err(format!("\"{name}\" ends the session"));
        }
        let destroys = reads_destructive(element) || address.as_ref().is_some_and(words::address_is_destructive);
        if destroys && !policy.safe_to_mutate {
            return Err(format!("\"{name}\" reads destructive, and --safe-to-mutate is not given"));
        }
        if address.as_ref().is_some_and(|address| !policy.is_own(address)) {
            return Err(format!("\"{name}\" leaves the application"));
        }
        if chosen.tool == Verb::Fill && (element.readonly || !element.is_text_field()) {
            return Err(format!("\"{name}\" takes no text"));
        }
        step.locator = Some(element.locator());
    }
    let value = chosen.value.as_deref().unwrap_or_default();
    if let Some(variable) = value.strip_prefix("env:") {
        let password = variable == crate::env::PASSWORD;
        let into_password = target.is_some_and(|element| element.input.as_deref() == Some("password"));
        let known = password && into_password || variable == crate::env::USERNAME && !into_password;
        if !known || chosen.tool != Verb::Fill || stage.credentials.is_none() {
            return Err(format!("`{}` is not typed there", cut(value, 60)));
        }
    }
    if chosen.tool == Verb::Goto {
        let url = stage.base.join(value).map_err(|error| format!("`{}` is no address: {error}", cut(value, 60)))?;
        if !matches!(url.scheme(), "http" | "https") || !policy.is_own(&url) {
            return Err(format!("`{}` leaves the application", cut(value, 60)));
        }
        if words::address_is_destructive(&url) && !policy.safe_to_mutate {
            return Err(format!("`{}` reads destructive, and --safe-to-mutate is not given", cut(value, 60)));
        }
        step.value = Some(url.to_string());
    }
    Ok(())
}

fn cut(text: &str, most: usize) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Move {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_answer_that_cannot_be_carried_out_says_what_is_missing() {
        assert!(fits(&chosen(r#"{"tool":"click","number":9}"#), 3).unwrap_err().contains("1 to 3"));
        assert!(fits(&chosen(r#"{"tool":"fill","number":1}"#), 3).unwrap_err().contains("value"));
        assert!(fits(&chosen(r#"{"tool":"press","value":"Entr"}"#), 3).unwrap_err().contains("Entr"));
        assert!(fits(&chosen(r#"{"tool":"assert_text","value":" "}"#), 3).is_err());
        assert!(fits(&chosen(r#"{"tool":"wait"}"#), 0).is_ok());
    }
}
