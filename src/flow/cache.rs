//! What people ask of recordings: which there are, what is in one, why a step would or would not replay, which belong to no
//! step any more.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::FlowError;
use super::file::{Does, Flow};
use super::params::Values;
use super::prepare::{TARGET, known_secrets, step_key};
use super::recording::{CacheStore, Entry, Reason, RecordedAction, StepKey};

/// One recording in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its key.
    pub key: String,
    /// The flow that it belongs to.
    pub test: String,
    /// The target.
    pub target: String,
    /// The instruction.
    pub instruction: String,
    /// When it was recorded (UTC); absent: it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<DateTime<Utc>>,
    /// Its actions.
    pub actions: usize,
    /// Its bytes.
    pub bytes: u64,
    /// How often it healed since it was recorded first.
    pub healed: usize,
    /// Why it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Every recording.
///
/// # Errors
/// [`FlowError::Shelf`].
pub fn rows(store: &CacheStore) -> Result<Vec<Row>, FlowError> {
    let mut rows = Vec::new();
    for key in store.keys()? {
        let Some(stored) = store.read(&key)? else { continue };
        let bytes = stored.size();
        rows.push(match stored.entry_for_people() {
            Ok(entry) => Row {
                key,
                test: entry.recorded_for.test_id,
                target: entry.recorded_for.target_id,
                instruction: entry.recorded_for.instruction,
                created_at: Some(entry.created_at),
                actions: entry.actions.len(),
                bytes,
                healed: entry.healed_from.len(),
                problem: entry.truncated.map(|why| format!("only documents: {why}")),
            },
            Err(why) => Row {
                key,
                test: String::new(),
                target: String::new(),
                instruction: String::new(),
                created_at: None,
                actions: 0,
                bytes,
                healed: 0,
                problem: Some(why),
            },
        });
    }
    rows.sort_by(|a, b| (&a.test, &a.instruction).cmp(&(&b.test, &b.instruction)));
    Ok(rows)
}

/// The one key among these that begins like this.
///
/// # Errors
/// [`FlowError::Key`] when there is none, or more than one.
pub fn named(keys: &[String], prefix: &str) -> Result<String, FlowError> {
    let prefix = prefix.trim_end_matches(".json");
    let prefix = prefix.rsplit('/').next().unwrap_or(prefix);
    let found: Vec<&String> = keys.iter().filter(|key| !prefix.is_empty() && key.starts_with(prefix)).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(FlowError::Key(format!("there is no recording `{prefix}`"))),
        many => Err(FlowError::Key(format!("`{prefix}` begins {} recordings", many.len()))),
    }
}

/// A recording.
///
/// # Errors
/// [`FlowError::Key`] when it cannot be read.
pub fn entry(store: &CacheStore, key: &str) -> Result<Entry, FlowError> {
    let stored = store.read(key)?.ok_or_else(|| FlowError::Key(format!("there is no recording {key}")))?;
    stored.entry_for_people().map_err(|why| FlowError::Key(format!("the recording {key} cannot be used: {why}")))
}

/// A key as people see it: its first twelve characters.
#[must_use]
pub fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}

/// What differs between two recordings of a step.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The key.
    pub key: String,
    /// Which one the present recording is compared with: `proposal` or `quarantine`.
    pub against: &'static str,
    /// The differences, one a line.
    pub lines: Vec<String>,
}

/// Compares a recording with its proposal, else with the one in quarantine.
///
/// # Errors
/// [`FlowError::Key`] when there is nothing to compare with; [`FlowError::Shelf`].
pub fn compare(store: &CacheStore, key: &str) -> Result<Comparison, FlowError> {
    let kept = store.quarantined()?;
    let mut keys = store.proposed()?;
    keys.extend(kept.iter().map(|kept| kept.key.clone()));
    keys.sort();
    keys.dedup();
    let key = named(&keys, key)?;
    let now = entry(store, &key).ok();
    if let Some(proposal) = store.proposal(&key)? {
        let now = now.unwrap_or_else(|| empty(&proposal));
        return Ok(Comparison { against: "proposal", lines: difference(&now, &proposal), key });
    }
    let old = kept.iter().find(|kept| kept.key == key);
    let old = old
        .and_then(|kept| Entry::parse_for_people(&kept.bytes()?).ok())
        .ok_or_else(|| FlowError::Key(format!("what lies in quarantine under {key} cannot be read")))?;
    let now = now.unwrap_or_else(|| empty(&old));
    Ok(Comparison { against: "quarantine", lines: difference(&old, &now), key })
}

/// The same recording without anything in it, to compare with.
fn empty(entry: &Entry) -> Entry {
    Entry { actions: vec![], end_anchors: vec![], gone_anchors: vec![], end_path: None, ..entry.clone() }
}

/// Puts recordings that belong to no step into quarantine; gives back their keys and instructions. With `dry_run` nothing
/// is moved.
///
/// # Errors
/// [`FlowError`].
pub fn prune(
    store: &CacheStore,
    flows: &[Flow],
    params: &BTreeMap<String, String>,
    now: DateTime<Utc>,
    dry_run: bool,
) -> Result<Vec<(String, String)>, FlowError> {
    let mut pruned = Vec::new();
    for (key, entry) in orphans(store, flows, params)? {
        let Some(stored) = store.read(&key)? else { continue };
        if dry_run || store.evict(&key, stored.version(), "it belonged to no step", now)? {
            pruned.push((key, entry.recorded_for.instruction));
        }
    }
    Ok(pruned)
}

/// Gives a recording to another step, counted from 1; gives back the old and the new key.
///
/// # Errors
/// [`FlowError::Key`] when the step takes none, or has one.
pub fn rekey(
    store: &CacheStore,
    key: &str,
    flow: &Flow,
    params: &BTreeMap<String, String>,
    step: usize,
) -> Result<(String, String), FlowError> {
    let old = named(&store.keys()?, key)?;
    let recorded = entry(store, &old)?;
    let steps = keys_of(flow, params, &recorded.recorded_for.target_id)?;
    let Some((_, new)) = steps.into_iter().find(|(number, _)| *number == step) else {
        return Err(FlowError::Key(format!("step {step} of {} is no `act`", flow.file)));
    };
    let entry = Entry { recorded_for: new.step.clone(), keyed_by: Some(new.keyed_by()), ..recorded };
    let new = new.digest();
    if new == old || !store.rekey(&old, &new, &entry)? {
        return Err(FlowError::Key(format!("nothing was changed: a recording stands under {new} already")));
    }
    Ok((old, new))
}

/// Takes proposals into the recordings, all of them when none is named; gives back their keys.
///
/// # Errors
/// [`FlowError`].
pub fn apply(store: &CacheStore, named_keys: &[String], now: DateTime<Utc>) -> Result<Vec<String>, FlowError> {
    let all = store.proposed()?;
    let chosen = if named_keys.is_empty() {
        all
    } else {
        named_keys.iter().map(|key| named(&all, key)).collect::<Result<_, _>>()?
    };
    let mut applied = Vec::new();
    for key in chosen {
        if store.apply(&key, now)? {
            applied.push(key);
        }
    }
    Ok(applied)
}

/// Signs recordings that were looked at, all of them when none is named; gives back their keys.
///
/// # Errors
/// [`FlowError::Key`] without a key to sign with; [`FlowError::Shelf`].
pub fn sign(store: &CacheStore, named_keys: &[String]) -> Result<Vec<String>, FlowError> {
    if !store.signs() {
        return Err(FlowError::Key(format!("nothing can be signed: {} is not set", crate::env::CACHE_KEY)));
    }
    let all = store.keys()?;
    let chosen: Vec<String> = if named_keys.is_empty() {
        all
    } else {
        named_keys.iter().map(|key| named(&all, key)).collect::<Result<_, _>>()?
    };
    let mut signed = Vec::new();
    for key in chosen {
        if store.sign(&key)? {
            signed.push(key);
        }
    }
    Ok(signed)
}

/// Puts all recordings into quarantine; gives back how many, and why others stayed.
///
/// # Errors
/// [`FlowError::Shelf`] when the recordings cannot be listed.
pub fn clear(store: &CacheStore, now: DateTime<Utc>) -> Result<(usize, Vec<String>), FlowError> {
    let (mut cleared, mut stayed) = (0, Vec::new());
    for key in store.keys()? {
        // One that cannot go holds none of the others up.
        let gone = store.read(&key).and_then(|stored| match stored {
            Some(stored) => store.evict(&key, stored.version(), "all were cleared", now),
            None => Ok(false),
        });
        match gone {
            Ok(gone) => cleared += usize::from(gone),
            Err(error) => stayed.push(error.to_string()),
        }
    }
    Ok((cleared, stayed))
}

/// A recording for people: what it does, and what proves its end.
#[must_use]
pub fn text(entry: &Entry) -> String {
    let mut text = format!(
        "test      {}\nstep      {}\nrecorded  {} with {}\nbegins on {}\n",
        entry.recorded_for.test_id,
        entry.recorded_for.instruction,
        entry.created_at.format("%Y-%m-%d %H:%M UTC"),
        entry.executor,
        entry.start_path.as_deref().unwrap_or("-"),
    );
    for line in lines(entry) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(why) = &entry.truncated {
        text.push_str(&format!("only documents: {why}\n"));
    }
    for healed in &entry.healed_from {
        text.push_str(&format!("healed    {healed}\n"));
    }
    text
}

/// What a recording does and checks, one line each.
#[must_use]
pub fn lines(entry: &Entry) -> Vec<String> {
    let actions =
        (1..).zip(&entry.actions).map(|(number, action)| format!("{number}. {}", RecordedAction::line(action)));
    let came = entry.end_anchors.iter().map(|anchor| format!("came: {}", anchor.describe()));
    let went = entry.gone_anchors.iter().map(|anchor| format!("went: {}", anchor.describe()));
    let end = entry.end_path.iter().map(|path| format!("ends on {path}"));
    actions.chain(end).chain(came).chain(went).collect()
}

/// What another recording does otherwise: lines with `-`, `+` or two blanks before them.
#[must_use]
pub fn difference(old: &Entry, new: &Entry) -> Vec<String> {
    let (old, new) = (lines(old), lines(new));
    let mut all: Vec<String> =
        old.iter().map(|line| format!("{} {line}", if new.contains(line) { ' ' } else { '-' })).collect();
    all.extend(new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}")));
    all
}

/// Whether a step would replay, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The flow's file.
    pub file: String,
    /// Number of the step, from 1.
    pub step: usize,
    /// The goal.
    pub instruction: String,
    /// Its key.
    pub key: String,
    /// Whether a replay would be tried.
    pub replays: bool,
    /// Why not, in the words of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// For people.
    pub detail: String,
    /// A recording under another key that belongs to this step: `cache rekey` takes it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan: Option<String>,
}

/// The values of a flow with these parameters, apart from what only a run knows.
///
/// # Errors
/// The parameter that does not fit.
pub fn values_of(flow: &Flow, params: &BTreeMap<String, String>) -> Result<Values, FlowError> {
    let own = params
        .iter()
        .filter(|(name, _)| flow.params.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut values =
        Values::new(&flow.params, &own, "run").map_err(|name| FlowError::NoParam { flow: flow.name.clone(), name })?;
    // What a step reads is another one in each run; a later step's key sees a slot.
    for name in flow.steps.iter().filter_map(|step| step.does.reads()).flatten() {
        values.set(name, String::new());
    }
    Ok(values)
}

/// The keys of a flow's goal steps: number of the step, key.
///
/// # Errors
/// The parameter that does not fit.
pub fn keys_of(
    flow: &Flow,
    params: &BTreeMap<String, String>,
    target: &str,
) -> Result<Vec<(usize, StepKey)>, FlowError> {
    let values = values_of(flow, params)?;
    let secrets = known_secrets(flow);
    let steps = flow.steps.iter().enumerate().filter_map(|(at, step)| match &step.does {
        Does::Act(words) => Some((at + 1, step_key(flow, &values, &secrets, target, at, words))),
        _ => None,
    });
    Ok(steps.collect())
}

/// The application, and which addresses belong to it.
pub type Own<'a> = (&'a Url, &'a dyn Fn(&Url) -> bool);

/// The recordings of a flow's goal steps, by the number of the step: those that replay whole, and why others do not.
///
/// # Errors
/// [`FlowError::Shelf`], [`FlowError::NoParam`].
pub fn recorded(
    store: &CacheStore,
    flow: &Flow,
    params: &BTreeMap<String, String>,
    target: &str,
    own: Own<'_>,
) -> Result<BTreeMap<usize, Result<Entry, String>>, FlowError> {
    let keys = keys_of(flow, params, target)?;
    let steps = keys.into_iter().map(|(step, key)| {
        let entry = usable(store, &key.digest(), own)?.map_err(|(reason, why)| format!("{why} ({})", reason.word()));
        Ok((step, entry))
    });
    steps.collect()
}

/// The recording under a key when it replays whole, or why it does not.
fn usable(store: &CacheStore, key: &str, (base, own): Own<'_>) -> Result<Result<Entry, (Reason, String)>, FlowError> {
    let Some(stored) = store.read(key)? else {
        return Ok(Err((Reason::NoEntry, "nothing is recorded under its key".to_owned())));
    };
    let entry = match stored.entry(base, own) {
        Err(why) => return Ok(Err((Reason::InvalidEntry, why))),
        Ok(Entry { truncated: Some(why), .. }) => return Ok(Err((Reason::Truncated, why))),
        Ok(entry) => entry,
    };
    if let Err(why) = store.vouches_for(key, &entry) {
        return Ok(Err((Reason::InvalidEntry, why)));
    }
    Ok(match entry.actions.iter().find(|action| action.derived.is_some()) {
        Some(gap) => Err((Reason::Gap, format!("it replays up to: {}", gap.line()))),
        None => Ok(entry),
    })
}

/// Says of every goal step whether it would replay.
///
/// # Errors
/// [`FlowError::Shelf`], [`FlowError::NoParam`].
pub fn explain(
    store: &CacheStore,
    flows: &[Flow],
    params: &BTreeMap<String, String>,
    target: Option<&str>,
    base: Option<&Url>,
) -> Result<Vec<Explained>, FlowError> {
    let all = orphans(store, flows, params)?;
    let nowhere = Url::parse("http://application.invalid/").map_err(|error| FlowError::Key(error.to_string()))?;
    let base = base.unwrap_or(&nowhere);
    let mut told = Vec::new();
    for flow in flows {
        for (step, key) in keys_of(flow, params, target.unwrap_or(TARGET))? {
            let digest = key.digest();
            let own = |url: &Url| url.origin() == base.origin();
            let (reason, detail) = match usable(store, &digest, (base, &own))? {
                Err((reason, why)) => (Some(reason), why),
                Ok(entry) => {
                    let begins = entry.start_path.as_deref().unwrap_or("-");
                    (None, format!("{} actions, begins on {begins}", entry.actions.len()))
                }
            };
            let orphan = if reason == Some(Reason::NoEntry) {
                all.iter().find(|(_, entry)| belongs(entry, &key)).map(|(other, _)| other.clone())
            } else {
                None
            };
            let detail = match &orphan {
                Some(other) => {
                    let was = all
                        .iter()
                        .find(|(key, _)| key == other)
                        .map(|(_, entry)| entry.recorded_for.instruction.clone())
                        .unwrap_or_default();
                    format!("{detail}; {other} was recorded for \"{was}\" of the same flow")
                }
                None => detail,
            };
            told.push(Explained {
                file: flow.file.clone(),
                step,
                instruction: key.step.instruction.clone(),
                key: digest,
                replays: reason.is_none(),
                reason,
                detail,
                orphan,
            });
        }
    }
    Ok(told)
}

/// Whether an orphan may be an earlier recording of this step: the same file, or the same words.
fn belongs(entry: &Entry, key: &StepKey) -> bool {
    let file = |id: &str| id.split('#').next().unwrap_or_default().to_owned();
    file(&entry.recorded_for.test_id) == file(&key.step.test_id)
        || entry.recorded_for.instruction_digest == key.step.instruction_digest
}

/// Recordings that belong to no goal step of these flows.
///
/// # Errors
/// [`FlowError::Shelf`], [`FlowError::NoParam`].
pub fn orphans(
    store: &CacheStore,
    flows: &[Flow],
    params: &BTreeMap<String, String>,
) -> Result<Vec<(String, Entry)>, FlowError> {
    let mut all = Vec::new();
    for key in store.keys()? {
        if let Some(entry) = store.read(&key)?.and_then(|stored| stored.entry_for_people().ok()) {
            all.push((key, entry));
        }
    }
    let targets: BTreeSet<String> = all.iter().map(|(_, entry)| entry.recorded_for.target_id.clone()).collect();
    let mut used = Vec::new();
    for (flow, target) in flows.iter().flat_map(|flow| targets.iter().map(move |target| (flow, target))) {
        used.extend(keys_of(flow, params, target)?.into_iter().map(|(_, key)| key.digest()));
    }
    all.retain(|(key, _)| !used.contains(key));
    Ok(all)
}
