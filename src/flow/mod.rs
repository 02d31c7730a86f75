//! Goal steps that replay without a model and heal themselves.
//!
//! Why: a test that says what it wants (`act: apply the discount code SUMMER`) should cost a model once, not in every run.
//! The first run is recorded; later ones replay the recording, as long as the screen reads exactly as recorded. Replay never
//! guesses: a control that no longer matches is handed, with what was done so far, to an agent, and what it does is recorded
//! anew once a later check has passed.
//!
//! * [`recording`]: the rules, pure: how a target is found again, what proves the end, what becomes of an entry.
//! * `act`: one goal step: replay, hand-off, the agent's moves, the new recording.
//! * `chronicle`: what the session did, as trace steps judged by the oracles; the run file is made of it.
//! * [`run`](Runner): flows with their repetitions, attempts and workers; the settlement at an attempt's end.
//!
//! Invariants
//! * What is acted on is found exactly, by the identity that was recorded, or not at all.
//! * An end that already stood there before the replay acted is no success.
//! * Without an agent, replays go on working; a step that needs one says so.
//! * What the oracles find fails the step in which it was met, and takes no recording away: it is the application's fault.
//! * A secret is stored by its name; page text is data for the agent, fenced.
//! * A recording is executable input from the repository: it opens and uploads only what the application and the project own.

mod act;
mod agent;
pub mod cache;
mod channel;
mod chronicle;
mod error;
mod expect;
mod file;
mod hand_off;
mod params;
mod prepare;
pub mod recording;
mod result;
mod run;
mod settlement;

pub use act::{HealDiff, Mode, StepCache};
pub use agent::{Agent, AgentError, Judgement, ModelAgent, Move, Reading, Told, Tool, Turn, check, screen};
pub use channel::{ChannelAgent, Kind, Reply, Waiting};
pub use error::FlowError;
pub use expect::wanted_place;
pub use file::{Does, Expect, Extract, Flow, FlowFile, Heal, Step, StepFile, parse};
pub use hand_off::HandOff;
pub use params::{Param, Secrets, Values, placeholders};
pub use prepare::{TARGET, known_secrets, load, secrets, step_key};
pub use result::{AttemptResult, CacheCounts, FlowReport, FlowResult, Outcome, StepResult};
pub use run::{FlowOptions, Runner};
