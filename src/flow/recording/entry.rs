//! The recording of a goal step, as it lies on the disk: `.agent-test/cache/{key}.json`. Reading one never repairs it: one
//! field that does not fit voids the entry. An entry may come from anybody's branch: it opens nothing but the application.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::anchor::Anchor;
use super::descriptor::Descriptor;
use super::point::At;
use crate::browser::Chord;
use crate::maze::open_enum;
use crate::trace::bounds::{may_open, may_upload};

/// Version of this format.
pub const SCHEMA: &str = "trace-1";
/// Most actions of a recording.
pub const MOST_ACTIONS: usize = 50;
/// Most characters of a value, an address or a route.
pub const MOST_CHARS: usize = 4096;
/// Most bytes of an entry.
pub const MOST_BYTES: usize = 1 << 20;

open_enum! {
    /// What a recorded action does.
    Verb {
        /// Presses a control.
        Tap = "tap",
        /// Presses it twice.
        DoubleTap = "doubleTap",
        /// Presses it for a while.
        LongPress = "longPress",
        /// Presses it with the secondary button.
        SecondaryTap = "secondaryTap",
        /// Brings the pointer over it.
        Hover = "hover",
        /// Types a text into a field.
        Type = "type",
        /// Types a secret, which is stored by its name only.
        TypeSecret = "typeSecret",
        /// Presses a key, in a control or where the focus is.
        Press = "press",
        /// Chooses an option.
        Select = "select",
        /// Sets a checkbox or switch to a state (`true`, `false`).
        Check = "check",
        /// Gives files of the project to a field.
        Upload = "upload",
        /// Takes one thing to another.
        Drag = "drag",
        /// Scrolls a list or the window (`dx,dy`), so many times.
        Scroll = "scroll",
        /// Opens an address of the application.
        Navigate = "navigate",
        /// Goes back.
        Back = "back",
        /// Presses a point of the window, or of the thing that it was recorded in.
        TapAt = "tapAt",
        /// Brings the pointer over such a point.
        HoverAt = "hoverAt",
        /// Types a text where the focus is.
        TypeText = "typeText",
        /// Something that cannot be repeated: replay stops there.
        Gap = "gap",
    }
}

/// One recorded action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedAction {
    /// What it does.
    pub verb: Verb,
    /// What it is done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Descriptor>,
    /// Where a drag ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Descriptor>,
    /// Text, key, option, state, address, distance, files as a JSON list, or the name of a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// A bare point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// How often a scroll is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The list that was scrolled covered at least half of the window: when it is lost on the way, the window is scrolled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans: bool,
    /// Why a gap cannot be repeated: `whole-node`, `minted-token`, `date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// One line for people and for a hand-off.
    pub summary: String,
}

/// For what an entry was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedFor {
    /// The flow: file and name.
    pub test_id: String,
    /// Who acts, where a flow has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The target: what `--target` names.
    pub target_id: String,
    /// Digest of the instruction.
    pub instruction_digest: String,
    /// Digest of the parameters.
    pub params_digest: String,
    /// Which of several equal steps of the flow (0 = the first).
    pub call_index: u32,
    /// The instruction itself, with its slots, for people.
    pub instruction: String,
}

/// What the recorded way took, so that a replay can say what it saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Requests to a model.
    pub calls: u32,
    /// Tokens of questions and answers, as far as they were counted.
    pub tokens: u64,
    /// USD; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Milliseconds.
    pub ms: u64,
}

/// What the key of an entry was made from, beside its step: so that a later run can say what has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyedBy {
    /// Version of the entry's format.
    pub schema: String,
    /// Version of the rules of replay.
    pub policy: u32,
    /// Digest of what the agent is told beside the goal.
    pub context_digest: String,
}

impl KeyedBy {
    /// What differs, for people.
    #[must_use]
    pub fn difference(&self, now: &Self) -> String {
        let parts = [
            (self.schema != now.schema, "the format of recordings"),
            (self.policy != now.policy, "the rules of replay"),
            (self.context_digest != now.context_digest, "what the agent is told beside the goal (`context`, `agents`)"),
        ];
        let changed: Vec<&str> = parts.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect();
        if changed.is_empty() { "its key".to_owned() } else { changed.join(" and ") }
    }
}

/// The recording of a goal step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Version of this format.
    pub schema_version: String,
    /// When it was recorded (UTC).
    pub created_at: DateTime<Utc>,
    /// Who acted: `PROVIDER/MODEL`, `agent command`, or the name of an MCP client.
    pub executor: String,
    /// For what.
    pub recorded_for: RecordedFor,
    /// What the agent said at the end.
    #[serde(default)]
    pub summary: String,
    /// The actions, in order.
    pub actions: Vec<RecordedAction>,
    /// Route on which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_path: Option<String>,
    /// Route on which it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_path: Option<String>,
    /// What came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end_anchors: Vec<Anchor>,
    /// What went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_anchors: Vec<Anchor>,
    /// Changes for which there was no place in the two lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped_anchors: usize,
    /// The end may take so many milliseconds.
    #[serde(default)]
    pub end_wait_ms: u64,
    /// It only documents, and is never replayed: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// What it took.
    #[serde(default)]
    pub cost: Cost,
    /// Replays since it was recorded that were handed off, newest last: the drift of this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healed_from: Vec<String>,
    /// What its key was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed_by: Option<KeyedBy>,
    /// Who wrote it knew the project's key: see `AGENT_TEST_CACHE_KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl RecordedAction {
    /// An action without anything but its verb.
    #[must_use]
    pub fn new(verb: Verb) -> Self {
        Self {
            verb,
            target: None,
            to: None,
            value: None,
            at: None,
            times: None,
            spans: false,
            derived: None,
            summary: String::new(),
        }
    }

    /// Its line for people, from its parts.
    #[must_use]
    pub fn line(&self) -> String {
        let target = self.target.as_ref().map(Descriptor::describe).unwrap_or_default();
        let value = self.value.as_deref().unwrap_or_default();
        match &self.verb {
            Verb::Tap => format!("tap {target}"),
            Verb::DoubleTap => format!("double tap {target}"),
            Verb::LongPress => format!("long press {target}"),
            Verb::SecondaryTap => format!("secondary tap {target}"),
            Verb::Hover => format!("hover over {target}"),
            Verb::Type => format!("type \"{value}\" into {target}"),
            Verb::TypeSecret => format!("type the secret {value} into {target}"),
            Verb::Press if target.is_empty() => format!("press {value}"),
            Verb::Press => format!("press {value} in {target}"),
            Verb::Select => format!("select \"{value}\" in {target}"),
            Verb::Check if value == "false" => format!("uncheck {target}"),
            Verb::Check => format!("check {target}"),
            Verb::Upload => format!("upload {value} to {target}"),
            Verb::Drag => {
                format!("drag {target} to {}", self.to.as_ref().map(Descriptor::describe).unwrap_or_default())
            }
            Verb::Scroll => {
                let what = if target.is_empty() { "the window" } else { &target };
                let times = self.times.filter(|times| *times > 1);
                let times = times.map(|times| format!(", {times} times")).unwrap_or_default();
                format!("scroll {what} by {value}{times}")
            }
            Verb::Navigate => format!("open {value}"),
            Verb::Back => "go back".to_owned(),
            Verb::TapAt | Verb::HoverAt => {
                let does = if self.verb == Verb::TapAt { "tap" } else { "hover" };
                let at = self.at.map_or_else(|| "a point".to_owned(), |at| format!("{},{}", at.x, at.y));
                format!("{does} at {at}{}", if target.is_empty() { target } else { format!(" in {target}") })
            }
            Verb::TypeText => format!("type \"{value}\" where the focus is"),
            Verb::Gap => {
                format!("something that cannot be repeated ({})", self.derived.as_deref().unwrap_or("unknown"))
            }
            Verb::Other(word) => word.clone(),
        }
    }

    /// Whether it needs a target.
    #[must_use]
    pub fn is_pointed(&self) -> bool {
        !matches!(
            self.verb,
            Verb::Press
                | Verb::Scroll
                | Verb::Navigate
                | Verb::Back
                | Verb::TapAt
                | Verb::HoverAt
                | Verb::TypeText
                | Verb::Gap
        )
    }

    /// Every text in it that may hold a parameter.
    pub(in crate::flow) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let targets = [self.target.as_mut(), self.to.as_mut()].into_iter().flatten().flat_map(Descriptor::texts_mut);
        targets.chain(self.value.as_mut()).chain([&mut self.summary])
    }

    fn check(&self, base: &Url, is_own: &dyn Fn(&Url) -> bool) -> Result<(), String> {
        let value = self.value.as_deref();
        let named =
            |what: &str| value.filter(|value| !value.is_empty()).ok_or(format!("`{}` without {what}", self.verb));
        if self.is_pointed() && self.target.is_none() {
            return Err(format!("`{}` without a target", self.verb));
        }
        match &self.verb {
            Verb::Other(word) => return Err(format!("an action `{word}`, which this version does not know")),
            Verb::Type => drop(value.ok_or("`type` without a text")?),
            Verb::TypeSecret => drop(named("the name of a secret")?),
            Verb::Press => drop(Chord::parse(named("a key")?)?),
            Verb::Select => drop(named("an option")?),
            Verb::Check if !matches!(value, Some("true" | "false")) => return Err("`check` without a state".to_owned()),
            Verb::Upload => drop(may_upload(named("files")?)?),
            Verb::Drag if self.to.is_none() => return Err("`drag` without an end".to_owned()),
            Verb::Scroll => drop(distance(named("a distance")?).ok_or("`scroll` with a distance that is none")?),
            Verb::Navigate => {
                let url =
                    base.join(named("an address")?).map_err(|error| format!("an address that is none: {error}"))?;
                may_open(url.as_str(), is_own)?;
            }
            Verb::TypeText => drop(named("a text")?),
            Verb::TapAt | Verb::HoverAt => {
                let at = self.at.ok_or(format!("`{}` without a point", self.verb))?;
                if self.target.is_some() && at.inside.is_none() {
                    return Err(format!("`{}` in a thing without its box", self.verb));
                }
            }
            _ => {}
        }
        match value {
            Some(value) if value.chars().count() > MOST_CHARS => Err("a value that is too long".to_owned()),
            _ => Ok(()),
        }
    }
}

/// `dx,dy` in CSS pixels.
#[must_use]
pub fn distance(text: &str) -> Option<(i64, i64)> {
    let (dx, dy) = text.split_once(',')?;
    Some((dx.trim().parse().ok()?, dy.trim().parse().ok()?))
}

/// `x,y` in CSS pixels of the window.
#[must_use]
pub fn point_of(text: &str) -> Option<(i64, i64)> {
    distance(text).filter(|(x, y)| *x >= 0 && *y >= 0)
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// What does not fit, for people.
    pub fn parse(bytes: &[u8], base: &Url, is_own: &dyn Fn(&Url) -> bool) -> Result<Self, String> {
        let entry = Self::parse_for_people(bytes)?;
        if entry.truncated.is_some() {
            // It only documents: nothing of it is ever done.
            return Ok(entry);
        }
        for (number, action) in (1..).zip(&entry.actions) {
            action.check(base, is_own).map_err(|why| format!("action {number}: {why}"))?;
        }
        Ok(entry)
    }

    /// Reads an entry to show it; nothing is asked of its actions.
    ///
    /// # Errors
    /// What does not fit, for people.
    pub fn parse_for_people(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MOST_BYTES {
            return Err(format!("it is larger than {MOST_BYTES} bytes"));
        }
        let entry: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if entry.schema_version != SCHEMA {
            return Err(format!("it is of version `{}`, and this program reads `{SCHEMA}`", entry.schema_version));
        }
        if entry.truncated.is_none() && !(1..=MOST_ACTIONS).contains(&entry.actions.len()) {
            return Err(format!("it has {} actions", entry.actions.len()));
        }
        Ok(entry)
    }

    /// Its text on the disk.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{:#}\n", serde_json::to_value(self).unwrap_or_default())
    }

    /// Whether two record the same flow; who acted, when, in what words and how long it took does not count.
    #[must_use]
    pub fn is_same_flow(&self, other: &Self) -> bool {
        let bare = |entry: &Self| {
            let actions: Vec<RecordedAction> = entry
                .actions
                .iter()
                .map(|action| {
                    let plain = |target: &Option<Descriptor>| {
                        target.clone().map(|target| Descriptor { selector: None, ..target })
                    };
                    let (target, to) = (plain(&action.target), plain(&action.to));
                    RecordedAction { summary: String::new(), derived: None, target, to, ..action.clone() }
                })
                .collect();
            (
                actions,
                entry.start_path.clone(),
                entry.end_path.clone(),
                entry.end_anchors.clone(),
                entry.gone_anchors.clone(),
                entry.truncated.is_some(),
            )
        };
        bare(self) == bare(other)
    }

    /// Whether it opens its page itself.
    #[must_use]
    pub fn opens_with_navigate(&self) -> bool {
        self.actions.first().is_some_and(|action| action.verb == Verb::Navigate)
    }
}
