//! Asks a model where a missing target is now. The model picks a number from a list; [`crate::replay::guard`] judges it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use url::Url;

use crate::browser::{Element, Look};
use crate::llm::{LlmError, Model, ModelUse, Question};
use crate::replay::{Healer, Healing, Miss, shares_a_word};
use crate::trace::fingerprint::path_template;
use crate::trace::{Locator, TraceStep};

/// So many controls are shown to the model.
pub(super) const MOST_CONTROLS: usize = 200;

const RULES: &str = "\
You maintain a recorded test of a web application. One control of the recording is not found on the screen any more, \
because it was renamed, moved or rebuilt. Pick the control that now does what the recorded one did, by its number. \
Same purpose is what counts, not a similar word: when no control clearly has it, answer null for the number; that is a \
good answer. Never pick a control that deletes, sends, pays or signs out in place of one that did not.";

/// The model's choice.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct Choice {
    /// Number of the control in the list; null when none clearly has the same purpose.
    number: Option<usize>,
    /// Whether that control has the same purpose as the recorded one.
    same_purpose: bool,
    /// Why, in one short sentence.
    reason: String,
}

/// A target that was found anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealedStep {
    /// Index of the step.
    pub index: u32,
    /// Its locator in the recording.
    pub old: Locator,
    /// The locator that found it.
    pub new: Locator,
    /// Why this control.
    pub reason: String,
    /// Who proposed it: `PROVIDER/MODEL`, or `agent command`.
    pub model: String,
    /// What the proposal cost in USD; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What was proposed once holds for the whole command.
type Known = Arc<OnceCell<Result<(Healing, Option<f64>), String>>>;

/// Asks a model, once for each missing target of a page.
#[derive(Debug)]
pub struct ModelHealer {
    model: Model,
    known: Mutex<HashMap<(String, String), Known>>,
    refused: Mutex<Option<LlmError>>,
}

impl ModelHealer {
    /// A healer that asks this model.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self { model, known: Mutex::default(), refused: Mutex::default() }
    }

    /// What was spent.
    #[must_use]
    pub fn spent(&self) -> ModelUse {
        self.model.spent()
    }

    /// The error that every further question would meet, if there was one: the caller must change something.
    #[must_use]
    pub fn refused(&self) -> Option<LlmError> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which of these steps were found anew in a replay.
    #[must_use]
    pub fn healed(&self, recorded: &[TraceStep], played: &[TraceStep]) -> Vec<HealedStep> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let proposals = || known.values().filter_map(|known| known.get()?.as_ref().ok());
        recorded
            .iter()
            .zip(played)
            .filter(|(_, played)| played.resolution.as_deref() == Some("healed"))
            .filter_map(|(recorded, played)| {
                let (old, new) = (recorded.locator.clone()?, played.locator.clone()?);
                let (healing, cost_usd) = proposals().find(|(healing, _)| healing.locator == new)?;
                let model = self.model.label().to_owned();
                Some(HealedStep {
                    index: recorded.index,
                    old,
                    new,
                    reason: healing.reason.clone(),
                    model,
                    cost_usd: *cost_usd,
                })
            })
            .collect()
    }

    async fn ask(&self, miss: Miss<'_>) -> Result<(Healing, Option<f64>), String> {
        if let Some(error) = self.refused() {
            return Err(error.to_string());
        }
        let shown = controls(miss.look, miss.locator);
        if shown.is_empty() {
            return Err("the screen has no control".to_owned());
        }
        let fits = |choice: &Choice| match choice.number {
            Some(number) if !(1..=shown.len()).contains(&number) => {
                Err(format!("{number} is no number of the list, which goes from 1 to {}", shown.len()))
            }
            _ => Ok(()),
        };
        let answer = match self.model.ask(&question(miss, &shown), fits).await {
            Ok(answer) => answer,
            Err(error) => {
                let text = error.to_string();
                if error.is_final() {
                    self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
                return Err(text);
            }
        };
        let choice = answer.value;
        let reason = one_line(&choice.reason);
        let picked = choice.number.and_then(|number| shown.get(number.checked_sub(1)?));
        let Some(element) = picked else {
            return Err(format!("{} finds no control of this purpose ({reason})", self.model.label()));
        };
        if !choice.same_purpose {
            let name = element.display_name();
            return Err(format!("{} calls \"{name}\" the nearest, of another purpose ({reason})", self.model.label()));
        }
        let mut locator = element.locator();
        if !shares_a_word(miss.locator, element) && locator.name.is_none() && locator.label.is_none() {
            // Nothing but a place speaks for it.
            return Err(format!("\"{}\" has no name that could be checked", element.display_name()));
        }
        locator.nth = None;
        Ok((Healing { locator, reason }, answer.cost_usd))
    }
}

impl Healer for ModelHealer {
    fn heal<'a>(&'a self, miss: Miss<'a>) -> BoxFuture<'a, Result<Healing, String>> {
        async move {
            let page = Url::parse(&miss.look.url).map_or_else(|_| miss.look.url.clone(), |url| path_template(&url));
            let target = serde_json::to_string(&(&miss.step.tool, miss.locator)).unwrap_or_default();
            let cell = {
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.entry((page, target)).or_default().clone()
            };
            let told = cell.get_or_init(|| self.ask(miss)).await;
            told.clone().map(|(healing, _)| healing)
        }
        .boxed()
    }
}

/// The controls that the model may choose from, those of the recorded role first.
fn controls<'a>(look: &'a Look, old: &Locator) -> Vec<&'a Element> {
    let usable = || look.elements.iter().filter(|element| !element.disabled);
    let same = |element: &&Element| old.role.as_deref().is_none_or(|role| role == element.role);
    usable().filter(same).chain(usable().filter(|element| !same(element))).take(MOST_CONTROLS).collect()
}

fn question(miss: Miss<'_>, shown: &[&Element]) -> Question {
    let mut list = String::new();
    for (number, element) in (1..).zip(shown) {
        let _ = writeln!(list, "{number}. {}", line(element));
    }
    let old = miss.locator;
    let mut recorded = old.describe();
    for (word, value) in
        [("label", &old.label), ("placeholder", &old.placeholder), ("text", &old.text), ("test id", &old.test_id)]
    {
        if let Some(value) = value {
            let _ = write!(recorded, ", {word} \"{}\"", cut(value));
        }
    }
    if let Some(seen) = &miss.step.observation {
        let _ = write!(recorded, "\nIn the recording, then: {}", cut(seen));
    }
    let path = Url::parse(&miss.look.url).map_or_else(|_| String::new(), |url| url.path().to_owned());
    Question::new("heal-locator", RULES)
        .say(format!("The recorded step is a `{}`.", miss.step.tool))
        .show("The recorded control", recorded)
        .show("The screen", format!("{} | {} | {}", path, cut(&miss.look.title), cut(&miss.look.heading)))
        .show("The controls on the screen", list)
        .say("Which control has the purpose of the recorded one?")
}

/// A control for a model: `button "Save", in dialog, type submit`.
pub(super) fn line(element: &Element) -> String {
    let mut line = format!("{} \"{}\"", element.role, cut(&element.display_name()));
    let others = [
        ("label", element.label.as_deref()),
        ("placeholder", element.placeholder.as_deref()),
        ("test id", element.test_id.as_deref()),
        ("input", element.input.as_deref()),
        ("title", Some(element.title.as_str())),
        ("in", Some(element.landmark.as_str())),
    ];
    for (word, value) in others {
        if let Some(value) = value.filter(|value| !value.is_empty() && *value != element.name) {
            let _ = write!(line, ", {word} {}", cut(value));
        }
    }
    if element.overlay >= 0 {
        line.push_str(", in what is open");
    }
    one_line(&line)
}

fn cut(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect()
}

/// What a model says of itself, for a report: one short line.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(240).collect()
}
