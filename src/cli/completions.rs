//! `agent-test completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Context};
use crate::exit::{Exit, Failure};

/// Print the completion script of a shell
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a command")]
pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agent-test", &mut script);
    let script = String::from_utf8_lossy(&script);
    context.ui.out(script.trim_end());
    context.ui.json(&serde_json::json!({ "shell": args.shell.to_string(), "script": script }));
    Ok(Exit::Ok)
}
