//! Repairs a failing Playwright test inside a budget, or puts everything back.

pub mod diagnose;
pub mod free;
pub mod guard;
pub mod page;
pub mod report;
pub mod spec;
