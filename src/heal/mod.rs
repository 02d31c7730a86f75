//! Repairs a failing Playwright test inside a budget, or puts everything back.

pub mod guard;
pub mod spec;
