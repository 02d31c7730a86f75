//! The command line: one file per command. Arguments in, one call of the library, text or `--json` out.

mod context;
mod demo;
mod doctor;
mod engine;
mod explore;
mod guard;
mod hold_driver;
mod progress;
mod schema;

use clap::{Parser, Subcommand};

pub use context::{Context, Globals};

use crate::exit::{Exit, Failure};
use crate::ui::{Ui, Verbosity};

/// Explores every route of a web application in a real browser and keeps the campaign's state.
#[derive(Debug, Parser)]
#[command(name = "agent-test", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// One variant per command. Add: the variant here, its line in `dispatch`, its file.
#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Doctor(doctor::Args),
    Explore(explore::Args),
    #[command(name = "__guard", hide = true)]
    Guard(guard::Args),
    #[command(name = "__hold-driver", hide = true)]
    HoldDriver(hold_driver::Args),
    Schema(schema::Args),
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Explore(args) => explore::run(context, args),
        Command::Guard(args) => guard::run(&args),
        Command::HoldDriver(args) => hold_driver::run(context, args),
        Command::Schema(args) => schema::run(context, args),
    }
}

/// Runs a command's asynchronous work to its end.
///
/// # Errors
/// When the operating system gives no threads for it (exit 3).
pub(crate) fn block_on<F: Future>(work: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::engine("no_runtime", format!("cannot start the worker threads: {error}")))?;
    Ok(runtime.block_on(work))
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok };
        }
    };
    if let Some(filter) = crate::env::get(crate::env::LOG) {
        // Diagnostics for those who work on the program; always on stderr.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .try_init();
    }
    let ui = Ui::new(Verbosity { json: cli.globals.json, quiet: cli.globals.quiet, verbose: cli.globals.verbose });
    let context = match Context::new(&cli.globals, ui.clone()) {
        Ok(context) => context,
        Err(failure) => return ui.failure(&failure),
    };
    dispatch(&context, cli.command).unwrap_or_else(|failure| ui.failure(&failure))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_tree_is_sound() {
        super::Cli::command().debug_assert();
    }
}
