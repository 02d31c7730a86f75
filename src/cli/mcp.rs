//! `mcp`: the calling agent finishes what replays cannot.

use super::Context;
use super::engine::EngineArgs;
use crate::exit::{Exit, Failure};
use crate::flow::Mode;
use crate::flow::recording::CacheStore;
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
    let store = CacheStore::new(&context.project).signed();
    let setup = Setup {
        project: context.project.clone(),
        enter,
        mode: Mode::usual(&store),
        store,
        clock: context.clock.clone(),
    };
    super::block_on(serve(setup))??;
    Ok(Exit::Ok)
}
