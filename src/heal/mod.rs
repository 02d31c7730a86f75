//! Repairs a failing Playwright test inside a budget, or puts everything back.
//!
//! Order of work on a red test: diagnose from the report ([`diagnose`]), run once more, the free tier ([`free`]), models
//! cheapest first ([`advisor`]), give up. Every patch passes the [`guard`]; what stands in the end is proved ([`run`]).
//! Screenshots are measured ([`measure`]) before a model judges them ([`vrt`]).
//!
//! Invariants
//! * Nothing is written but the test file, files that the caller names, and baselines that were reviewed; all of it through
//!   the [`journal`], which puts everything back on any verdict but fixed, on a panic, a signal, and after a kill.
//! * Only locators change; an expected value only where the change was declared.
//! * What a page says is data. It never becomes an instruction, a path or code other than a quoted name.
//! * Nothing is spent before a call's worst price is set aside, and nothing at all when the free tier is sure.

pub mod advisor;
pub mod artifacts;
pub mod asserted;
pub mod batch;
pub mod command;
pub mod diagnose;
mod error;
pub mod falsify;
pub mod free;
pub mod gate;
pub mod git;
pub mod guard;
pub mod journal;
pub mod measure;
pub mod page;
pub mod report;
pub mod result;
pub mod run;
pub mod spec;
pub mod tiers;
pub mod vrt;

pub use error::HealError;
