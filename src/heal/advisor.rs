//! Who may be asked where the free tier stops: models, cheapest first. They pick and judge; what they propose is guarded like
//! anybody's edit.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measure::Measured;
use crate::llm::{Answer, LlmError, Model, Question};

/// Somebody who may be asked. The seam to the models.
pub trait Advisor: Send + Sync {
    /// `PROVIDER/MODEL`.
    fn label(&self) -> &str;
    /// Picks one of the candidates by its number.
    fn pick<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Pick, f64), LlmError>>;
    /// Proposes edits of the file.
    fn edit<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Edits, f64), LlmError>>;
    /// Judges a screenshot.
    fn review<'a>(&'a self, about: &'a Sight) -> BoxFuture<'a, Result<(Judgement, f64), LlmError>>;
}

/// What a model is told of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The test.
    pub test: String,
    /// The error.
    pub error: String,
    /// The failing locator.
    pub locator: String,
    /// The candidates, from 1.
    pub candidates: Vec<String>,
    /// The page.
    pub page: String,
    /// The file's text.
    pub source: String,
    /// What was tried, and why it did not help.
    pub history: Vec<String>,
    /// Request, plan, inventory of locators.
    pub guardrail: String,
    /// Whether the whole file may be written anew.
    pub rewrite: bool,
}

/// What a model is shown of a visual change.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// Name of the snapshot.
    pub name: String,
    /// The baseline, PNG.
    pub baseline: Vec<u8>,
    /// The page now, PNG.
    pub actual: Vec<u8>,
    /// The difference, PNG.
    pub diff: Option<Vec<u8>>,
    /// What was measured.
    pub measured: Measured,
    /// The declared change.
    pub expected: Option<String>,
    /// What changed in the repository.
    pub git: Option<String>,
}

/// A model's choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pick {
    /// Number of the element in the list; null when none clearly is the target.
    pub number: Option<usize>,
    /// Whether that element has the same purpose as the one that the test meant.
    pub same_purpose: bool,
    /// Why, in one short sentence.
    pub reason: String,
}

/// Edits that a model proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edits {
    /// The edits; none when there is no sure one.
    #[serde(default)]
    pub edits: Vec<TextEdit>,
    /// The whole file anew, only where that is allowed.
    #[serde(default)]
    pub rewrite: Option<String>,
    /// Why, in one short sentence.
    pub reason: String,
}

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextEdit {
    /// Text of the file that is replaced; it stands there exactly once.
    pub range: String,
    /// What comes in its place.
    pub replacement: String,
}

/// What a model judges of a visual change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// `accept`, `reject` or `unsure`.
    pub verdict: ReviewVerdict,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Numbers of the measured regions that the declared change explains.
    #[serde(default)]
    pub explained: Vec<usize>,
    /// Why, in one short sentence; names what changed besides.
    pub reason: String,
}

/// A word on a visual change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewVerdict {
    /// It is what was declared, and nothing else changed.
    Accept,
    /// It is not.
    Reject,
    /// It cannot be told.
    Unsure,
}

impl ReviewVerdict {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Unsure => "unsure",
        }
    }
}

const PICK: &str = "\
You maintain Playwright tests. One locator of a test does not find its element any more, because the page changed. Pick \
the element of the list that now is what the locator meant, by its number. The same purpose counts, not a similar word. \
When none clearly has it, answer null: the application may be broken, and then the test is right. Never pick an element \
that deletes, pays, sends or signs out in place of one that did not. Keep within the request, the plan and the inventory \
of locators, when they are given.";

const EDIT: &str = "\
You maintain Playwright tests. A locator of a test does not find its element any more, because the page changed. Propose \
edits of the file that change this locator and nothing else. Every edit replaces a text that stands in the file exactly \
once. Do not remove, add, reorder or weaken actions or assertions, do not change what is expected, do not skip, wait \
longer, force, or take one of several: such an edit is refused. `[ref=…]` is no locator. When you are not sure, propose \
no edit: the application may be broken, and then the test is right. Do not drop the main interaction, and use no locator \
outside of a given inventory.";

const REVIEW: &str = "\
You review a screenshot of a web application against its baseline. Positions, sizes and colours were measured; take them \
as given and measure nothing. Accept only when a declared change (or, failing that, the change in the repository) explains \
every measured region and nothing else changed; name every region that it does not explain. Something that vanished \
without being declared, or a text that became garbled, is a reason to reject. Without any declared change stay at a \
confidence of 0.5. Be unsure when you cannot tell.";

/// A model as an advisor.
#[derive(Clone, Debug)]
pub struct ModelAdvisor(pub Model);

/// So much of a guardrail's text is shown.
const MOST_GUARDRAIL: usize = 4000;
/// So much of a page or a file is shown.
const MOST_TEXT: usize = 24_000;

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn trouble(purpose: &'static str, rules: &str, about: &Trouble) -> Question {
    let mut question = Question::new(purpose, rules)
        .say(format!("Test: {}\nFailing locator: {}", one_line(&about.test), one_line(&about.locator)))
        .show("The error", cut(&about.error, 2000));
    if !about.guardrail.is_empty() {
        question = question
            .show("Request, plan and locators that the test must keep to", cut(&about.guardrail, MOST_GUARDRAIL));
    }
    if !about.history.is_empty() {
        question = question
            .show("What was tried from the original, and why it did not help", cut(&about.history.join("\n"), 3000));
    }
    question
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), 300)
}

fn costs<T>(answer: Answer<T>) -> (T, f64) {
    (answer.value, answer.cost_usd.unwrap_or(0.0))
}

impl Advisor for ModelAdvisor {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn pick<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Pick, f64), LlmError>> {
        Box::pin(async move {
            let list: Vec<String> =
                about.candidates.iter().enumerate().map(|(index, told)| format!("{}. {told}", index + 1)).collect();
            let question = trouble("heal-pick", PICK, about).show("Elements", list.join("\n"));
            let count = about.candidates.len();
            let check = |pick: &Pick| match pick.number {
                Some(number) if number == 0 || number > count => Err(format!("{number} is no number of the list")),
                _ => Ok(()),
            };
            self.0.ask(&question, check).await.map(costs)
        })
    }

    fn edit<'a>(&'a self, about: &'a Trouble) -> BoxFuture<'a, Result<(Edits, f64), LlmError>> {
        Box::pin(async move {
            let rewrite = if about.rewrite {
                "You may give the whole file anew in `rewrite`."
            } else {
                "`rewrite` is not allowed."
            };
            let question = trouble("heal-edit", EDIT, about)
                .say(rewrite)
                .show("The page", cut(&about.page, MOST_TEXT))
                .show("The file", about.source.clone());
            self.0.ask(&question, |_| Ok(())).await.map(costs)
        })
    }

    fn review<'a>(&'a self, about: &'a Sight) -> BoxFuture<'a, Result<(Judgement, f64), LlmError>> {
        Box::pin(async move {
            let mut question = Question::new("heal-review", REVIEW).say(format!(
                "Snapshot: {}\nMeasured: {}",
                one_line(&about.name),
                about.measured.describe()
            ));
            question = match (&about.expected, &about.git) {
                (None, None) => question.say("No change was declared."),
                (expected, git) => {
                    let mut question = question;
                    if let Some(expected) = expected {
                        question = question.show("The declared change", cut(expected, 2000));
                    }
                    if let Some(git) = git {
                        question = question.show("The change in the repository", cut(git, 4000));
                    }
                    question
                }
            };
            question = question
                .picture("the baseline (before)", about.baseline.clone())
                .picture("the page now (after)", about.actual.clone());
            if let Some(diff) = &about.diff {
                question = question.picture("the difference", diff.clone());
            }
            let check = |judgement: &Judgement| {
                if (0.0..=1.0).contains(&judgement.confidence) {
                    Ok(())
                } else {
                    Err("the confidence is not between 0 and 1".to_owned())
                }
            };
            self.0.ask(&question, check).await.map(costs)
        })
    }
}

/// Values of the environment that must not travel: those of variables whose names speak of secrets.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, value) in crate::env::secrets() {
        text = text.replace(&value, &format!("[{name}]"));
    }
    text
}
