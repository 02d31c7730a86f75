//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail the test")]

mod sandbox;

mod campaign; // transitions of one campaign, as agents drive them
mod campaign_kit; // no tests: a started campaign, reports as an agent writes them
mod route_map; // the route map's example, discovery from a list, selection
mod skills; // the skills' form, and every command in them
mod state_files; // state files that agents and accidents leave behind
mod state_sharing; // many processes on one state, killed processes, failing disks
