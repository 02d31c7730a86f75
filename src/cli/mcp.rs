//! `mcp`: the calling agent finishes what replays cannot.

use super::Context;
use super::engine::EngineArgs;
use super::flow::usual_mode;
use crate::exit::{Exit, Failure};
use crate::mcp::{Setup, serve};

/// Serve flows to an agent over MCP: it runs them, and finishes the steps whose recordings no longer match
///
/// Speaks the Model Context Protocol on stdin and stdout, until the client goes away. Tools: flow, screen, tap, type, press,
/// select, move, done.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let enter = args.engine.flow_stage(context)?;
    let setup = Setup { project: context.project.clone(), enter, mode: usual_mode(), clock: context.clock.clone() };
    super::block_on(serve(setup))??;
    Ok(Exit::Ok)
}
