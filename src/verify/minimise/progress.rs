//! What was tried so far, on disk: a call that was cut off goes on from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::BASELINE;
use super::plan::Candidate;
use crate::maze::FireRate;
use crate::store::{self, StoreError};
use crate::trace::TraceStep;

/// What was tried so far.
#[derive(Debug)]
pub(super) struct Progress {
    path: PathBuf,
    /// What the trace was; another one is not gone on with.
    trace: String,
    tried: HashMap<Candidate, bool>,
    /// Replays that were played.
    pub replays: u32,
    /// Steps that those replays played.
    pub steps_played: u64,
    /// Attempts at the whole trace.
    pub baseline: FireRate,
    /// The slowest step of those that fired, in milliseconds.
    pub slowest_ms: u64,
    /// Other failures that were met.
    pub seen: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct File {
    trace: String,
    tried: Vec<Tried>,
    replays: u32,
    steps_played: u64,
    baseline: FireRate,
    slowest_ms: u64,
    #[serde(default)]
    seen: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Tried {
    start: usize,
    keep: Vec<usize>,
    fired: bool,
}

impl Progress {
    /// Reads what an earlier call has left for the same trace. What does not fit is begun anew.
    pub fn load(path: &Path, trace: &[TraceStep]) -> Self {
        let digest = store::sha256_hex(serde_json::to_vec(trace).unwrap_or_default());
        let read = store::read_to_string_if_exists(path).ok().flatten();
        let file = read.and_then(|text| serde_json::from_str::<File>(&text).ok()).filter(|file| file.trace == digest);
        let file = file.unwrap_or_else(|| File {
            trace: digest,
            tried: Vec::new(),
            replays: 0,
            steps_played: 0,
            baseline: FireRate { fired: 0, attempts: 0 },
            slowest_ms: 0,
            seen: Vec::new(),
        });
        let tried =
            file.tried.into_iter().map(|Tried { start, keep, fired }| (Candidate { start, keep }, fired)).collect();
        Self {
            path: path.to_owned(),
            trace: file.trace,
            tried,
            replays: file.replays,
            steps_played: file.steps_played,
            baseline: file.baseline,
            slowest_ms: file.slowest_ms,
            seen: file.seen,
        }
    }

    /// What is known of a candidate.
    pub fn known(&self, candidate: &Candidate) -> Option<bool> {
        self.tried.get(candidate).copied()
    }

    /// Writes down what became of a candidate.
    pub fn note(&mut self, candidate: &Candidate, fired: bool) -> Result<(), StoreError> {
        self.tried.insert(candidate.clone(), fired);
        self.save()
    }

    /// Writes down an attempt at the whole trace.
    pub fn note_baseline(&mut self, fired: bool) -> Result<(), StoreError> {
        self.baseline.attempts += 1;
        self.baseline.fired += u32::from(fired);
        self.save()
    }

    /// Three that fired and nothing else settle it; so do ten attempts, or more misses than those may hold.
    pub fn baseline_is_known(&self) -> bool {
        let FireRate { fired, attempts } = self.baseline;
        let misses = attempts.saturating_sub(fired);
        (fired >= 3 && misses == 0) || attempts >= BASELINE.attempts || misses > BASELINE.attempts - BASELINE.fired
    }

    /// Another failure was met.
    pub fn also_seen(&mut self, what: String) {
        if !self.seen.contains(&what) {
            self.seen.push(what);
        }
    }

    /// Writes everything down.
    pub fn save(&self) -> Result<(), StoreError> {
        let tried = self.tried.iter().map(|(Candidate { start, keep }, fired)| Tried {
            start: *start,
            keep: keep.clone(),
            fired: *fired,
        });
        let file = File {
            trace: self.trace.clone(),
            tried: tried.collect(),
            replays: self.replays,
            steps_played: self.steps_played,
            baseline: self.baseline,
            slowest_ms: self.slowest_ms,
            seen: self.seen.clone(),
        };
        if let Some(directory) = self.path.parent() {
            store::create_dir(directory)?;
        }
        store::write_atomic(&self.path, &serde_json::to_vec(&file).unwrap_or_default())
    }

    /// Nothing is left to go on with.
    pub fn forget(&self) -> Result<(), StoreError> {
        store::remove_file(&self.path)
    }
}
