//! `agent-test`: tests a web application's user interface with coding agents.
//!
//! This page is the map of the house. A room imports rooms below it, some also one beside it; none imports upward.
//!
//! | floor | room | owns |
//! | --- | --- | --- |
//! | 6 | [`schema`] | the list of every file format, and its JSON Schema |
//! | 6 | [`cli`] | one file per command: arguments in, one call, text or `--json` out |
//! | 6 | [`mcp`] | flows as tools of the calling agent, over stdio |
//! | 5 | [`campaign`] | the phases of a campaign: test, review, report; a run goes on from what the state says |
//! | 5 | [`dispatch`] | one fresh subagent per route; the run log |
//! | 4 | [`explore`] | walks one route depth-first, makes the maze map |
//! | 4 | [`export`] | a bug or a flow as a test that stands alone: a Playwright spec, a recording for Chrome |
//! | 4 | [`flow`] | goal steps: replayed from their recordings without a model, finished by an agent, recorded anew |
//! | 4 | [`heal`] | repairs a failing Playwright test inside a budget, or puts everything back; the guard on edits of tests |
//! | 4 | [`verify`] | plays the traces of bugs and runs again: rerun, verify, diff, minimise; heals, and plays plans |
//! | 3 | [`replay`] | plays trace steps in a browser, judged by the oracles; the one actor |
//! | 3 | [`report`] | per-route bug reports, FINAL-REPORT (Markdown, HTML), JUnit; the review |
//! | 3 | [`llm`] | which model is asked, what it may cost, what it answered; nothing else talks to a model |
//! | 3 | [`demo`] | the embedded demo application, its list of what is there and what is wrong, and the score |
//! | 2 | [`browser`] | WebDriver sessions and the driver process; the screen; evidence; the guard at the network |
//! | 1 | [`state`] | `.monkey-test-state.json`: its types, transitions, invariants, what comes next, history, repair |
//! | 1 | [`settings`] | what a campaign is told, and where it is told from |
//! | 1 | [`route`] | route, slug, ROUTE_MAP.md, selection |
//! | 1 | [`maze`] | the route report with its action tree |
//! | 1 | [`trace`] | trace step, locator, run file, fingerprints |
//! | 1 | [`event`] | what happens in a campaign, as values |
//! | 0 | [`store`] | atomic writes and the cross-process lock; the clock and ids behind them |
//! | 0 | [`child`] | programs of the user's that we start, and their end |
//! | 0 | [`ui`], [`mod@env`], [`exit`] | the one printer; environment variables; exit codes |

#![doc(test(attr(deny(warnings))))]

pub mod browser;
pub mod campaign;
pub mod child;
pub mod cli;
pub mod demo;
pub mod dispatch;
pub mod env;
pub mod event;
pub mod exit;
pub mod explore;
pub mod export;
pub mod flow;
pub mod heal;
pub mod llm;
pub mod maze;
pub mod mcp;
pub mod replay;
pub mod report;
pub mod route;
pub mod schema;
pub mod settings;
pub mod state;
pub mod store;
pub mod trace;
pub mod ui;
pub mod verify;
