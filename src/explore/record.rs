//! What a route's exploration leaves: trace steps, the ways to nodes, screenshots, bugs, noise.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::browser::{Element, Note, Since};
use crate::maze::{Bug, FireRate};
use crate::replay::oracle::Finding;
use crate::replay::{step_dialog, step_requests};
use crate::store::{self, StoreError};
use crate::trace::fingerprint::{legacy, normal_name, url_template};
use crate::trace::{FingerprintParts, NodePath, StepStatus, Tool, TraceStep};

/// The record of one route.
#[derive(Debug)]
pub struct Record {
    flow: String,
    shots: PathBuf,
    shot_prefix: String,
    /// Steps as they happened; index 0 is the opening navigation.
    pub steps: Vec<TraceStep>,
    /// Ways to nodes.
    pub paths: Vec<NodePath>,
    /// Bugs, equal ones merged.
    pub bugs: Vec<Bug>,
    /// Noise, each line once.
    pub noise: BTreeSet<String>,
    /// Console messages, each once, in order.
    pub console: Vec<String>,
    names: HashSet<String>,
}

/// What a record holds, as it is written down for an exploration that may be cut off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    steps: Vec<TraceStep>,
    paths: Vec<NodePath>,
    bugs: Vec<Bug>,
    noise: BTreeSet<String>,
    console: Vec<String>,
    names: BTreeSet<String>,
}

impl Recorded {
    /// File names of the screenshots.
    pub fn shots(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

impl Record {
    /// What it holds.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        Recorded {
            steps: self.steps.clone(),
            paths: self.paths.clone(),
            bugs: self.bugs.clone(),
            noise: self.noise.clone(),
            console: self.console.clone(),
            names: self.names.iter().cloned().collect(),
        }
    }

    /// Holds this from now on.
    pub fn take_up(&mut self, left: Recorded) {
        self.steps = left.steps;
        self.paths = left.paths;
        self.bugs = left.bugs;
        self.noise = left.noise;
        self.console = left.console;
        self.names = left.names.into_iter().collect();
    }

    /// An empty record. Screenshots go to `shots` (a directory that exists); `shot_prefix` is that directory relative to
    /// the project, with a trailing slash.
    #[must_use]
    pub fn new(flow: String, shots: PathBuf, shot_prefix: String) -> Self {
        Self {
            flow,
            shots,
            shot_prefix,
            steps: Vec::new(),
            paths: Vec::new(),
            bugs: Vec::new(),
            noise: BTreeSet::new(),
            console: Vec::new(),
            names: HashSet::new(),
        }
    }

    /// Appends a step and gives back its index.
    #[expect(clippy::too_many_arguments, reason = "each is one field of the step")]
    pub fn step(
        &mut self,
        tool: Tool,
        element: Option<&Element>,
        value: Option<String>,
        started: DateTime<Utc>,
        duration_ms: u64,
        urls: (&str, &str),
        since: &Since,
        observation: String,
        error: Option<String>,
    ) -> u32 {
        let index = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.steps.push(TraceStep {
            index,
            tool,
            locator: element.map(Element::locator),
            value,
            url_before: urls.0.to_owned(),
            url_after: urls.1.to_owned(),
            started_at: started,
            duration_ms,
            status: if error.is_some() { StepStatus::Failed } else { StepStatus::Passed },
            observation: Some(observation).filter(|text| !text.is_empty()),
            error,
            screenshot: None,
            resolution: None,
            dialog: step_dialog(since),
            tab: 0,
            requests: step_requests(since),
            set_aside: Vec::new(),
        });
        index
    }

    /// Notes on a step what was seen and is another page's own matter: there it is noise.
    pub fn set_aside(&mut self, index: u32, page: &str, faults: Vec<Finding>) {
        let faults: Vec<String> = faults.into_iter().map(|finding| finding.description).collect();
        self.noise.extend(faults.iter().map(|fault| format!("on {page}: {fault}")));
        if let Some(step) = self.steps.get_mut(index as usize) {
            step.set_aside = faults;
        }
    }

    /// Marks a step as failed by an oracle.
    pub fn fail_step(&mut self, index: u32, error: &str) {
        if let Some(step) = self.steps.get_mut(index as usize) {
            step.status = StepStatus::Failed;
            step.error.get_or_insert_with(|| error.to_owned());
        }
    }

    /// Names the screenshot of a step.
    pub fn step_shot(&mut self, index: u32, file: &str) {
        let path = format!("{}{file}", self.shot_prefix);
        if let Some(step) = self.steps.get_mut(index as usize) {
            step.screenshot = Some(path);
        }
    }

    /// Notes the way to a node; gives back its reference.
    pub fn node_path(&mut self, steps: &[u32]) -> Option<String> {
        let last = steps.last()?;
        let trace_ref = format!("{}#{last}", self.flow);
        self.paths.push(NodePath { trace_ref: trace_ref.clone(), steps: steps.to_vec() });
        Some(trace_ref)
    }

    /// Writes a screenshot under a name that is free; gives back the name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn shot(&mut self, name: &str, png: &[u8]) -> Result<String, StoreError> {
        let mut file = format!("{name}.png");
        let mut number = 2;
        while !self.names.insert(file.to_lowercase()) {
            file = format!("{name}-{number}.png");
            number += 1;
        }
        store::write_evidence(&self.shots.join(&file), png)?;
        Ok(file)
    }

    /// The steps that lead to a node, renumbered, the node's own step last.
    #[must_use]
    pub fn trace(&self, steps: &[u32]) -> Vec<TraceStep> {
        let picked = steps.iter().filter_map(|index| self.steps.get(*index as usize));
        picked
            .enumerate()
            .map(|(place, step)| TraceStep { index: u32::try_from(place).unwrap_or(u32::MAX), ..step.clone() })
            .collect()
    }

    /// Keeps console messages of level error.
    pub fn console_of(&mut self, since: &Since) {
        for note in &since.notes {
            if let Note::ConsoleError { text, url } = note {
                let line = if url.is_empty() { text.clone() } else { format!("{text} ({url})") };
                if !url.ends_with("/favicon.ico") && self.console.len() < 200 && !self.console.contains(&line) {
                    self.console.push(line);
                }
            }
        }
    }

    /// Files a finding as a bug, or adds the place to the bug that it equals. Gives back whether it is new.
    pub fn bug(&mut self, finding: &Finding, at: &Place<'_>, shot: Option<&str>) -> bool {
        let target = if finding.of_page { None } else { at.element };
        let parts = FingerprintParts {
            version: 2,
            category: finding.category.to_owned(),
            location: Url::parse(at.url).map_or_else(|_| at.url.to_owned(), |url| url_template(&url)),
            role: target.map(|element| element.role.clone()).unwrap_or_default(),
            name: target.map(|element| normal_name(&element.display_name())).unwrap_or_default(),
            signal: finding.signal.clone(),
            detail: finding.detail.clone(),
        };
        let location = if finding.of_page { at.route.to_owned() } else { at.location() };
        let v3 = parts.v3();
        // The same failing address or exception, or one more dead control, is one bug with many places.
        let same = self.bugs.iter_mut().find(|bug| {
            let kind_matches = bug.kind.as_ref() == Some(&finding.kind);
            let known = bug.fingerprint_v3.as_deref() == Some(v3.as_str());
            let old = bug.fingerprint_parts.as_ref();
            let same_detail = !finding.detail.is_empty() && old.is_some_and(|old| old.detail == finding.detail);
            kind_matches && (known || same_detail || finding.signal == "no-effect")
        });
        if let Some(bug) = same {
            if bug.location != location && !bug.also_at.contains(&location) {
                bug.also_at.push(location);
            }
            return false;
        }
        let tool = at.steps.last().and_then(|index| self.steps.get(*index as usize)).map(|step| step.tool.to_string());
        self.bugs.push(Bug {
            severity: finding.severity.clone(),
            description: finding.description.clone(),
            location,
            expected: finding.expected.clone(),
            actual: finding.actual.clone(),
            screenshot: shot.map(str::to_owned),
            kind: Some(finding.kind.clone()),
            fingerprint: Some(legacy(&at.location(), tool.as_deref().unwrap_or("goto"), &finding.signal)),
            fingerprint_v2: Some(parts.v2()),
            fingerprint_v3: Some(v3),
            fingerprint_parts: Some(parts),
            trace: self.trace(if finding.of_page && at.element.is_none() {
                at.steps.get(..1).unwrap_or_default()
            } else {
                at.steps
            }),
            original_trace: Vec::new(),
            source: Some("explorer".to_owned()),
            confirmed: None,
            fire_rate: Some(FireRate { fired: 1, attempts: 1 }),
            also_at: Vec::new(),
            evidence: finding.evidence.clone(),
        });
        true
    }
}

/// Where a finding was met.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The route.
    pub route: &'a str,
    /// Labels from the section to the element.
    pub labels: &'a [String],
    /// The element; none for the page itself.
    pub element: Option<&'a Element>,
    /// Address of the page.
    pub url: &'a str,
    /// Steps that lead there.
    pub steps: &'a [u32],
}

impl Place<'_> {
    /// `/route > Label > Label`.
    #[must_use]
    pub fn location(&self) -> String {
        let mut text = self.route.to_owned();
        for label in self.labels {
            text.push_str(" > ");
            text.push_str(label);
        }
        text
    }
}
