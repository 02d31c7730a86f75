//! The command line: one file per command. Arguments in, one call of the library, text or `--json` out.

mod context;
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
    Schema(schema::Args),
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Schema(args) => schema::run(context, args),
    }
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
