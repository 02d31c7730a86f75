//! The flow file: YAML, one flow each. What does not fit is told with its line and column, and what was expected there.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::error::FlowError;
use super::params::{Param, placeholders};
use super::recording::Labels;
use crate::trace::bounds::is_of_the_web;

/// A flow: steps that are played from top to bottom in a fresh session.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// What the flow is called (default: the file's name).
    #[serde(default)]
    pub name: Option<String>,
    /// What it shows, for people.
    #[serde(default)]
    pub description: Option<String>,
    /// Values that steps use as `{{name}}`; `--param name=value` sets them otherwise.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
    /// Secrets that a step may type, by name: `PIN` is what the environment variable AGENT_TEST_SECRET_PIN holds.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// What the agent is told beside each goal. It belongs to the key of a recording.
    #[serde(default)]
    pub context: Option<String>,
    /// Several who act, by name, with what each of them is told beside its goals: `agent` beside an `act` names one.
    #[serde(default)]
    pub agents: BTreeMap<String, String>,
    /// Labels that carry a state, as patterns: `Like ({number})`, `Hello {text}`. Recordings hold the pattern.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Controls of overlays that come and go (a cookie banner's): one that is there is pressed before each look, and is never
    /// recorded.
    #[serde(default)]
    pub dismiss: Vec<Expect>,
    /// Whether a step whose recording no longer fits may be handed to an agent.
    #[serde(default)]
    pub heal: Heal,
    /// The steps.
    #[schemars(with = "Vec<StepFile>")]
    pub steps: Vec<Spanned<StepFile>>,
}

/// Whether a step whose recording no longer fits may be handed to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Heal {
    /// It may.
    #[default]
    Allow,
    /// It may, and the run says so as a warning.
    Warn,
    /// The step fails instead; nobody is asked.
    Fail,
}

/// One step: exactly one of `open`, `act`, `expect`, `assert`, `wait_for`, `extract`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// Opens an address of the application.
    #[serde(default)]
    pub open: Option<String>,
    /// Reaches a goal in words; recorded, and replayed without a model.
    #[serde(default)]
    pub act: Option<String>,
    /// Waits until the screen shows this, without a model.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// Says in words what must hold now; a model judges it.
    #[serde(default)]
    pub assert: Option<String>,
    /// Waits until what the words say holds; a model judges it.
    #[serde(default)]
    pub wait_for: Option<String>,
    /// Reads values from the screen, for `{{name}}` in later steps.
    #[serde(default)]
    pub extract: Option<BTreeMap<String, Extract>>,
    /// Only for `act`: whether it may be handed to an agent when its recording no longer fits.
    #[serde(default)]
    pub heal: Option<Heal>,
    /// Only for `act`: who acts, of `agents`.
    #[serde(default)]
    pub agent: Option<String>,
    /// The step may take so many milliseconds (`act`: 120000, `wait_for`: 60000, `expect`: 5000).
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// What the screen must show. All that is given must hold, of one thing on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Role: `button`, `status`, `heading`, …
    #[serde(default)]
    pub role: Option<String>,
    /// Accessible name, whole.
    #[serde(default)]
    pub name: Option<String>,
    /// Visible text or name, whole.
    #[serde(default)]
    pub text: Option<String>,
    /// A part of the visible text or name.
    #[serde(default)]
    pub contains: Option<String>,
    /// Test id.
    #[serde(default)]
    pub test_id: Option<String>,
    /// What a field holds.
    #[serde(default)]
    pub value: Option<String>,
    /// Whether it is checked.
    #[serde(default)]
    pub checked: Option<bool>,
    /// First text of the row, list item or group around it.
    #[serde(default)]
    pub within: Option<String>,
    /// How many of it there are.
    #[serde(default)]
    pub count: Option<usize>,
    /// It must not be there.
    #[serde(default)]
    pub gone: bool,
    /// Path and query of the address (`/checkout`); ids may be written `{id}`.
    #[serde(default)]
    pub url: Option<String>,
    /// Title of the page.
    #[serde(default)]
    pub title: Option<String>,
}

/// Where a value is read from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the value in words, or what it is read from (`role`, `name`, `within`, …)")]
pub enum Extract {
    /// In words; a model reads it.
    Words(String),
    /// From one thing on the screen, without a model.
    Node(Box<Expect>),
}

/// What a step does.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a flow has few steps, most of them goals")]
pub enum Does {
    /// Opens an address.
    Open(String),
    /// Reaches a goal.
    Act(String),
    /// Waits for the screen.
    Expect(Expect),
    /// Has words judged.
    Assert(String),
    /// Waits for words to hold.
    WaitFor(String),
    /// Reads values.
    Extract(BTreeMap<String, Extract>),
}

/// A step, read.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub does: Does,
    /// Whether it may be healed.
    pub heal: Heal,
    /// Who acts, where the flow has several.
    pub agent: Option<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Its line in the file.
    pub line: u64,
}

/// A flow, read.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its file, as it was named.
    pub file: String,
    /// What it is called.
    pub name: String,
    /// Its parameters.
    pub params: BTreeMap<String, Param>,
    /// Names of its secrets.
    pub secrets: Vec<String>,
    /// What the agent is told beside each goal.
    pub context: String,
    /// Several who act, with what each is told.
    pub agents: BTreeMap<String, String>,
    /// Labels that carry a state.
    pub labels: Labels,
    /// Controls of overlays that come and go.
    pub dismiss: Vec<Expect>,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Flow {
    /// What the one who acts is told beside a goal.
    #[must_use]
    pub fn context_of(&self, agent: Option<&str>) -> String {
        let own = agent.and_then(|agent| self.agents.get(agent)).map(String::as_str);
        [self.context.as_str(), own.unwrap_or_default()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Does {
    /// Its verb and what it says, for people.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Open(address) => format!("open {address}"),
            Self::Act(goal) => format!("act: {goal}"),
            Self::Expect(expect) => format!("expect {}", expect.describe()),
            Self::Assert(words) => format!("assert: {words}"),
            Self::WaitFor(words) => format!("wait for: {words}"),
            Self::Extract(values) => format!("extract {}", values.keys().cloned().collect::<Vec<_>>().join(", ")),
        }
    }

    /// Names of the values that it reads, if it reads any.
    pub(super) fn reads(&self) -> Option<impl Iterator<Item = &String>> {
        match self {
            Self::Extract(values) => Some(values.keys()),
            _ => None,
        }
    }

    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Open(text) | Self::Act(text) | Self::Assert(text) | Self::WaitFor(text) => vec![text],
            Self::Expect(expect) => expect.texts(),
            Self::Extract(values) => values
                .values()
                .flat_map(|value| match value {
                    Extract::Words(text) => vec![text.as_str()],
                    Extract::Node(expect) => expect.texts(),
                })
                .collect(),
        }
    }
}

impl Expect {
    fn texts(&self) -> Vec<&str> {
        let all =
            [&self.name, &self.text, &self.contains, &self.test_id, &self.value, &self.within, &self.url, &self.title];
        all.into_iter().flatten().map(String::as_str).collect()
    }

    /// Whether it asks for a thing on the screen (rather than for the page's address or title alone).
    #[must_use]
    pub fn is_of_a_node(&self) -> bool {
        let texts = [&self.role, &self.name, &self.text, &self.contains, &self.test_id, &self.value, &self.within];
        texts.into_iter().any(Option::is_some) || self.checked.is_some()
    }

    /// For people.
    #[must_use]
    pub fn describe(&self) -> String {
        let parts = [
            ("", &self.role),
            ("named ", &self.name),
            ("", &self.text),
            ("containing ", &self.contains),
            ("test id ", &self.test_id),
            ("holding ", &self.value),
            ("in ", &self.within),
            ("address ", &self.url),
            ("title ", &self.title),
        ];
        let mut words: Vec<String> = parts
            .into_iter()
            .filter_map(|(word, value)| {
                value.as_ref().map(|value| {
                    if word.is_empty() && Some(value) == self.role.as_ref() {
                        value.clone()
                    } else {
                        format!("{word}\"{value}\"")
                    }
                })
            })
            .collect();
        match self.checked {
            Some(true) => words.push("checked".to_owned()),
            Some(false) => words.push("not checked".to_owned()),
            None => {}
        }
        if let Some(count) = self.count {
            words.push(format!("{count} times"));
        }
        if self.gone {
            words.push("gone".to_owned());
        }
        words.join(" ")
    }
}

/// What the library says, without the words of its own programming interface.
fn plainly(message: &str) -> String {
    let what = message.rsplit_once(" at line ").map_or(message, |(what, _)| what);
    if let Some(key) = what.strip_prefix("duplicate mapping key: ") {
        let key = key.split(", set DuplicateKeyPolicy").next().unwrap_or(key);
        return format!("the key `{key}` stands twice");
    }
    if what.contains("from_str_multiple") {
        return "the file holds more than one document, expected one flow".to_owned();
    }
    message.to_owned()
}

/// Reads a flow from the text of a file.
///
/// # Errors
/// [`FlowError::File`] with line and column, and what was expected there.
pub fn parse(file: &str, text: &str) -> Result<Flow, FlowError> {
    let read: FlowFile = serde_saphyr::from_str(text).map_err(|error| {
        let at = error.location();
        let (line, column) = at.map_or((1, 1), |at| (at.line(), at.column()));
        let message = error.without_snippet().to_string();
        FlowError::File {
            file: file.to_owned(),
            line,
            column,
            problem: plainly(message.lines().next().unwrap_or_default()),
        }
    })?;
    let at = |line: u64, column: u64, problem: String| FlowError::File { file: file.to_owned(), line, column, problem };
    if read.steps.is_empty() {
        return Err(at(1, 1, "`steps` is empty, expected at least one step".to_owned()));
    }
    let labels = Labels::new(&read.labels).map_err(|problem| at(1, 1, problem))?;
    if let Some(bad) =
        read.dismiss.iter().find(|expect| !expect.is_of_a_node() || expect.gone || expect.count.is_some())
    {
        let what = bad.describe();
        return Err(at(1, 1, format!("`dismiss` names no control ({what}), expected `role` with `name` or `test_id`")));
    }
    let mut known: Vec<String> = read.params.keys().cloned().collect();
    known.push("run".to_owned());
    let mut steps = Vec::new();
    for spanned in read.steps {
        let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
        let step = read_step(spanned.value, read.heal).map_err(|problem| at(line, column, problem))?;
        if let Some(agent) = step.agent.as_ref().filter(|agent| !read.agents.contains_key(*agent)) {
            let names = read.agents.keys().cloned().collect::<Vec<_>>().join("`, `");
            return Err(at(line, column, format!("`{agent}` is none of the flow's agents, expected one of `{names}`")));
        }
        let step = Step { line, ..step };
        for text in step.does.texts() {
            for name in placeholders(text) {
                if !known.contains(&name) {
                    let names = known.join("`, `");
                    return Err(at(
                        line,
                        column,
                        format!("`{{{{{name}}}}}` names no parameter, expected one of `{names}`"),
                    ));
                }
            }
        }
        if let Does::Extract(values) = &step.does {
            known.extend(values.keys().cloned());
        }
        steps.push(step);
    }
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Flow {
        file: file.to_owned(),
        name: read.name.or(stem).unwrap_or_else(|| "flow".to_owned()),
        params: read.params,
        secrets: read.secrets,
        context: read.context.unwrap_or_default(),
        agents: read.agents,
        labels,
        dismiss: read.dismiss,
        steps,
    })
}

/// What is known of an address before its parameters are filled in and it is joined to the application's: its scheme.
fn may_be_opened(text: &str) -> Result<(), String> {
    match url::Url::parse(text.trim()) {
        Ok(url) if !is_of_the_web(&url) => Err(format!(
            "`open` is given the scheme `{}:`, expected a path as in `open: /orders`, or an address of the application that begins with http:// or https://",
            url.scheme()
        )),
        _ => Ok(()),
    }
}

fn read_step(step: StepFile, heal: Heal) -> Result<Step, String> {
    const VERBS: &str = "`open`, `act`, `expect`, `assert`, `wait_for`, `extract`";
    let StepFile { open, act, expect, assert, wait_for, extract, heal: own, agent, timeout_ms } = step;
    let all = [
        open.map(|text| (Does::Open(text), 30_000)),
        act.map(|text| (Does::Act(text), 120_000)),
        expect.map(|expect| (Does::Expect(expect), 5_000)),
        assert.map(|text| (Does::Assert(text), 30_000)),
        wait_for.map(|text| (Does::WaitFor(text), 60_000)),
        extract.map(|values| (Does::Extract(values), 5_000)),
    ];
    let mut given = all.into_iter().flatten();
    let (does, limit) = given.next().ok_or(format!("the step does nothing, expected one of {VERBS}"))?;
    if given.next().is_some() {
        return Err(format!("the step does two things, expected exactly one of {VERBS}"));
    }
    if agent.is_some() && !matches!(does, Does::Act(_)) {
        return Err("`agent` stands beside a step that is no `act`".to_owned());
    }
    if own.is_some() && !matches!(does, Does::Act(_)) {
        return Err("`heal` stands beside a step that is no `act`".to_owned());
    }
    match &does {
        Does::Expect(expect) if !expect.is_of_a_node() && expect.url.is_none() && expect.title.is_none() => {
            return Err("`expect` asks for nothing, expected `role`, `name`, `text`, `contains`, `test_id`, `value`, `within`, `url` or `title`".to_owned());
        }
        Does::Open(text) | Does::Act(text) | Does::Assert(text) | Does::WaitFor(text) if text.trim().is_empty() => {
            return Err("the step is empty, expected a text".to_owned());
        }
        Does::Open(text) => may_be_opened(text)?,
        _ => {}
    }
    Ok(Step { does, heal: own.unwrap_or(heal), agent, timeout_ms: timeout_ms.unwrap_or(limit), line: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> (u64, u64, String) {
        match parse("flows/x.yaml", text).unwrap_err() {
            FlowError::File { line, column, problem, .. } => (line, column, problem),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_flow_is_read_with_its_defaults() {
        let flow = parse("flows/pay.yaml", "params: { code: SUMMER }\nsteps:\n  - open: /checkout\n  - act: apply {{code}}\n    heal: fail\n  - expect: { role: status, text: 10% off }\n").unwrap();
        assert_eq!((flow.name.as_str(), flow.steps.len()), ("pay", 3));
        assert_eq!((flow.steps[1].heal, flow.steps[1].timeout_ms), (Heal::Fail, 120_000));
        assert_eq!(flow.steps[2].does.line(), "expect status \"10% off\"");
    }

    #[test]
    fn what_does_not_fit_is_told_with_line_column_and_what_was_expected() {
        let (line, _, text) = problem("steps:\n  - open: /x\n  - tap: Save\n");
        assert_eq!(line, 3, "{text}");
        assert!(text.contains("tap") && text.contains("act"), "{text}");
        let (line, column, text) = problem("steps:\n  - open: /x\n    act: y\n");
        assert_eq!((line, column), (2, 5));
        assert!(text.contains("exactly one of `open`"), "{text}");
        let (line, _, text) = problem("steps:\n  - open: /x\n  - act: apply {{coupon}}\n");
        assert!(line == 3 && text.contains("expected one of"), "{text}");
        assert!(problem("steps: [\n").2.len() > 5);
        assert_eq!(problem("steps:\n  - expect: { count: x }\n").0, 2);
        assert!(problem("steps: []\n").2.contains("at least one"));
        assert!(problem("steps:\n  - expect: {}\n").2.contains("asks for nothing"));
        for bad in ["javascript:alert(1)", "file:///etc/hostname", "localhost:3000/x"] {
            let (line, _, text) = problem(&format!("steps:\n  - act: y\n  - open: {bad}\n"));
            assert!(line == 3 && text.contains("scheme") && text.contains("/orders"), "{text}");
        }
        for good in ["/x", "orders?a=b:c", "http://a.b/x", "\"{{where}}:8080/x\""] {
            let text = format!("params: {{ where: \"http://a.b\" }}\nsteps:\n  - open: {good}\n");
            assert!(parse("x.yaml", &text).is_ok(), "{good}");
        }
    }

    #[test]
    fn agents_labels_and_overlays_are_checked_before_anything_is_run() {
        let flow = parse("x.yaml", "context: A shop.\nagents: { admin: You run it. }\nlabels: [\"Like ({number})\"]\ndismiss: [{ role: button, name: Accept all }]\nsteps:\n  - act: open it\n    agent: admin\n").unwrap();
        assert_eq!(flow.context_of(flow.steps[0].agent.as_deref()), "A shop.\nYou run it.");
        assert_eq!(flow.context_of(None), "A shop.");
        assert!(problem("agents: { admin: x }\nsteps:\n  - act: y\n    agent: buyer\n").2.contains("`admin`"));
        assert!(problem("steps:\n  - open: /x\n    agent: buyer\n").2.contains("no `act`"));
        assert!(problem("labels: [\"{text}\"]\nsteps:\n  - act: y\n").2.contains("fits everything"));
        assert!(problem("dismiss: [{ url: /x }]\nsteps:\n  - act: y\n").2.contains("names no control"));
    }

    #[test]
    fn what_an_earlier_step_reads_a_later_one_may_use() {
        let text = "steps:\n  - extract: { total: { role: status } }\n  - expect: { text: \"{{total}}\" }\n";
        assert!(parse("x.yaml", text).is_ok());
    }

    #[test]
    fn what_the_yaml_library_says_is_told_without_its_own_names() {
        for (text, says) in [
            ("name: x\nname: y\nsteps: []\n", "the key `name` stands twice"),
            ("steps:\n  - open: /x\n---\nsteps:\n  - open: /y\n", "more than one document"),
            ("params: { a: 1 }\nsteps:\n  - open: /x\n", "a number in quotes"),
        ] {
            let told = problem(text).2;
            assert!(told.contains(says), "{told}");
            for word in ["Policy", "from_str", "Options"] {
                assert!(!told.contains(word), "{told}");
            }
        }
    }
}
