//! The agent's part of a goal step: one move after the other, each recorded as a replay will need it.

use std::time::Instant;

use chrono::Utc;

use super::player::{Came, Player};
use crate::browser::{Scene, SceneNode, SessionError};
use crate::flow::agent::{Agent, AgentError, Move, Tool, Turn, check};
use crate::flow::hand_off::HandOff;
use crate::flow::recording::{Cost, MOST_ACTIONS, MOST_CHARS, RecordedAction, Verb, at, describe, point_of};

/// How the agent's part ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// It says that the goal is reached: in its words.
    Reached(String),
    /// It could not reach it.
    Failed(String),
    /// The step's time is over.
    TimedOut,
    /// Nobody can say.
    NoVerdict(String),
}

/// The agent's part.
#[derive(Clone, Debug)]
pub struct Live {
    /// How it ended.
    pub ended: Ended,
    /// What it did.
    pub actions: Vec<RecordedAction>,
    /// Why this cannot be replayed, if it cannot.
    pub truncated: Option<String>,
    /// When the last action was done.
    pub last: Option<Instant>,
    /// What it took.
    pub cost: Cost,
}

/// What the agent is told.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The goal.
    pub goal: &'a str,
    /// What the flow says beside it.
    pub context: &'a str,
    /// What a replay has done.
    pub hand_off: Option<&'a HandOff>,
    /// When the step must have ended.
    pub deadline: Instant,
    /// Actions that a replay has done: they count towards the step's most.
    pub replayed: usize,
}

/// Lets the agent act until it says that it is done.
///
/// # Errors
/// [`SessionError`] when the browser is lost.
pub async fn live(
    player: &Player<'_>,
    agent: &dyn Agent,
    task: Task<'_>,
    mut scene: Scene,
) -> Result<Live, SessionError> {
    let mut live = Live {
        ended: Ended::Failed(String::new()),
        actions: Vec::new(),
        truncated: None,
        last: None,
        cost: Cost { usd: Some(0.0), ..Cost::default() },
    };
    let began = Instant::now();
    let secrets: Vec<String> = player.secrets.names().map(str::to_owned).collect();
    let mut history: Vec<String> = Vec::new();
    let mut moves = task.replayed;
    live.ended = loop {
        if moves > MOST_ACTIONS {
            break Ended::Failed(format!("the step took {MOST_ACTIONS} actions and was not done"));
        }
        moves += 1;
        let turn = Turn {
            goal: task.goal,
            context: task.context,
            hand_off: task.hand_off,
            history: &history,
            secrets: &secrets,
            scene: &scene,
        };
        let asked = tokio::time::timeout_at(task.deadline.into(), agent.act(turn)).await;
        let told = match asked {
            Err(_) => break Ended::TimedOut,
            Ok(Err(AgentError::Invalid(why) | AgentError::Spent(why))) => break Ended::Failed(why),
            Ok(Err(AgentError::None(why))) => break Ended::NoVerdict(format!("this step needs an agent: {why}")),
            Ok(Err(AgentError::NoAnswer(why))) => break Ended::NoVerdict(why),
            Ok(Ok(told)) => told,
        };
        live.cost.calls += told.calls;
        live.cost.tokens += told.tokens;
        live.cost.usd = live.cost.usd.zip(told.usd).map(|(sum, usd)| sum + usd);
        let next = told.value;
        if let Err(why) = check(&next, &scene) {
            break Ended::Failed(format!("the agent made a move that cannot be made: {why}"));
        }
        match next.tool {
            Tool::Done => break Ended::Reached(player.secrets.hide(&next.reason)),
            Tool::Fail => break Ended::Failed(format!("the agent gives up: {}", player.secrets.hide(&next.reason))),
            Tool::Wait => {
                player.session.changed(2000).await?;
                history.push("wait".to_owned());
                scene = player.scene(true).await?;
                continue;
            }
            _ => {}
        }
        let (mut action, poison) = recorded(&next, &scene, task.goal, task.context, player);
        if action.verb == Verb::Scroll && action.target.is_some() {
            let uid = next.number.and_then(|number| scene.nodes.get(number.checked_sub(1)?)).map_or(0, |node| node.uid);
            action.spans = player.session.scroll_share(uid).await? >= 50;
        }
        action.summary = action.line();
        let line = action.summary.clone();
        // What is done now needs no gap: only a replay stops there.
        let now = RecordedAction { verb: verb(&next), value: value(&next), ..action.clone() };
        let came = act(player, &now, &next, &scene).await?;
        let result = match came {
            Came::Done => {
                live.last = Some(Instant::now());
                live.truncated = live.truncated.or(poison);
                push(&mut live.actions, action);
                "done".to_owned()
            }
            Came::Missing => "not on the screen".to_owned(),
            Came::Ambiguous(many) => format!("{many} read like it"),
            Came::Lost => "the list was lost".to_owned(),
            Came::NotSent(why) | Came::Failed(why) | Came::Viewport(why) => format!("refused: {why}"),
            Came::Uncertain(why) => {
                live.truncated
                    .get_or_insert_with(|| format!("an action failed and may have reached the application: {line}"));
                format!("failed, and may have reached the application: {why}")
            }
        };
        history.push(player.secrets.hide(&format!("{line}: {result}")));
        scene = player.scene(true).await?;
    };
    live.cost.ms = began.elapsed().as_millis() as u64;
    Ok(live)
}

/// A scroll of the same thing by the same distance is folded into the one before.
fn push(actions: &mut Vec<RecordedAction>, action: RecordedAction) {
    if let Some(last) = actions.last_mut()
        && action.verb == Verb::Scroll
        && last.verb == Verb::Scroll
        && last.target == action.target
        && last.value == action.value
    {
        last.times = Some(last.times.unwrap_or(1) + 1);
        last.spans &= action.spans;
        last.summary = last.line();
        return;
    }
    actions.push(action);
}

/// Acts on the very thing that the agent pointed at, whether or not it could be found again.
async fn act(player: &Player<'_>, action: &RecordedAction, next: &Move, scene: &Scene) -> Result<Came, SessionError> {
    let node =
        |number: Option<usize>| number.and_then(|number| scene.nodes.get(number.checked_sub(1)?)).map(|node| node.uid);
    player.act_on(action, node(next.number).unwrap_or(0), node(next.to).unwrap_or(0), scene).await
}

fn verb(next: &Move) -> Verb {
    match next.tool {
        Tool::DoubleTap => Verb::DoubleTap,
        Tool::SecondaryTap => Verb::SecondaryTap,
        Tool::LongPress => Verb::LongPress,
        Tool::Hover => Verb::Hover,
        Tool::TapAt => Verb::TapAt,
        Tool::HoverAt => Verb::HoverAt,
        Tool::Type if next.number.is_none() => Verb::TypeText,
        Tool::Type => Verb::Type,
        Tool::TypeSecret => Verb::TypeSecret,
        Tool::Press => Verb::Press,
        Tool::Select => Verb::Select,
        Tool::Check | Tool::Uncheck => Verb::Check,
        Tool::Upload => Verb::Upload,
        Tool::Drag => Verb::Drag,
        Tool::Scroll => Verb::Scroll,
        Tool::Navigate => Verb::Navigate,
        Tool::Back => Verb::Back,
        Tool::Tap | Tool::Wait | Tool::Done | Tool::Fail => Verb::Tap,
    }
}

fn value(next: &Move) -> Option<String> {
    match next.tool {
        Tool::Check => Some("true".to_owned()),
        Tool::Uncheck => Some("false".to_owned()),
        Tool::Type => Some(next.text.clone().unwrap_or_default()),
        Tool::TapAt | Tool::HoverAt => None,
        _ => next.text.clone(),
    }
}

/// A move as it is recorded, and why it makes the recording one that only documents.
fn recorded(
    next: &Move,
    scene: &Scene,
    goal: &str,
    context: &str,
    player: &Player<'_>,
) -> (RecordedAction, Option<String>) {
    let mut action = RecordedAction { value: value(next), ..RecordedAction::new(verb(next)) };
    let nodes = player.labels.nodes(&scene.nodes);
    let mut poison = None;
    let mut target = |number: Option<usize>| {
        let at = number?.checked_sub(1)?;
        let found = describe(&nodes, at);
        if found.is_none() {
            poison = Some(format!(
                "nothing tells {} from others",
                scene.nodes.get(at).map(SceneNode::describe).unwrap_or_default()
            ));
        }
        found
    };
    action.target = target(next.number);
    action.to = if next.tool == Tool::Drag { target(next.to) } else { None };
    if let (Some((x, y)), Tool::TapAt | Tool::HoverAt) = (next.text.as_deref().and_then(point_of), next.tool) {
        let (at, inside) = at(&nodes, scene, x, y);
        (action.at, action.target) = (Some(at), inside);
    }
    if let Some(value) = &action.value {
        if value.chars().count() > MOST_CHARS {
            poison = Some("a value is too long".to_owned());
        } else if player.secrets.are_in(value) {
            poison = Some("a secret was typed in plain".to_owned());
            action.value = Some(player.secrets.hide(value));
        } else if next.tool == Tool::Type && !goal.contains(value.as_str()) && !context.contains(value.as_str()) {
            action.derived = derived(value, scene, next.number);
        }
    }
    if action.derived.is_some() {
        action.verb = Verb::Gap;
    }
    (action, poison)
}

/// Why a typed value belongs to this run alone.
fn derived(value: &str, scene: &Scene, target: Option<usize>) -> Option<String> {
    let value = value.trim();
    if value.chars().count() < 2 {
        return None;
    }
    if value.contains(&Utc::now().format("%Y-%m-%d").to_string()) {
        return Some("date".to_owned());
    }
    let others = || (1..).zip(&scene.nodes).filter(|(number, _)| Some(*number) != target).map(|(_, node)| node);
    let is_minted = value.chars().count() >= 5
        && value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(char::is_alphabetic);
    let word =
        |text: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).any(|word| word == value);
    if others().any(|node| !node.control && (node.name == value || node.text == value)) {
        return Some("whole-node".to_owned());
    }
    (is_minted && others().any(|node| word(&node.text) || word(&node.name))).then(|| "minted-token".to_owned())
}
