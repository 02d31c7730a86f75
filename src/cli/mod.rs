//! The command line: one file per command. Arguments in, one call of the library, text or `--json` out.

mod add;
mod block;
mod cache;
mod check;
mod claim;
mod complete;
mod completions;
mod context;
mod demo;
mod diff;
mod discover;
mod doctor;
mod drop;
mod engine;
mod explore;
mod export;
mod fail;
mod fingerprint;
mod flow;
mod guard;
mod heal;
mod heartbeat;
mod hold_driver;
mod init;
mod log;
mod man;
mod mcp;
mod minimise;
mod model;
mod progress;
mod release;
mod report;
mod requeue;
mod rerun;
mod resume;
mod retry;
mod review;
mod run;
mod schema;
mod signals;
mod slug;
mod status;
mod unblock;
mod undo;
mod verify;
mod vrt;

use std::io::Write;

use clap::{Parser, Subcommand};

pub use context::{Context, Globals};
pub(crate) use context::{moved, parse_route, parse_routes, required_text};

use crate::exit::{Exit, Failure};
pub(crate) use crate::ui::counted;
use crate::ui::{Ui, Verbosity};

/// Explore every route of a web application in a real browser and keep the campaign's state
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
    /// Take new routes into the campaign
    Add(add::Args),
    /// Stop the campaign with a reason
    Block(block::Args),
    #[command(subcommand)]
    Cache(cache::Command),
    /// Tell what is wrong with the campaign's files, or repair it
    Check(check::Args),
    /// Take routes under a lease, so that no other worker does them
    Claim(claim::Args),
    /// Hand in a route's report
    Complete(complete::Args),
    Completions(completions::Args),
    Demo(demo::Args),
    Diff(diff::Args),
    /// Write ROUTE_MAP.md from a list of routes
    Discover(discover::Args),
    Doctor(doctor::Args),
    /// Take pending routes out of the campaign
    Drop(drop::Args),
    Explore(explore::Args),
    Export(export::Args),
    /// Note that a route could not be tested
    Fail(fail::Args),
    Fingerprint(fingerprint::Args),
    Flow(Box<flow::Args>),
    #[command(name = "__guard", hide = true)]
    Guard(guard::Args),
    Heal(Box<heal::Args>),
    /// Lengthen a lease
    Heartbeat(heartbeat::Args),
    #[command(name = "__hold-driver", hide = true)]
    HoldDriver(hold_driver::Args),
    /// Start a campaign: which application, which routes, with which settings
    Init(Box<init::Args>),
    Log(log::Args),
    Man(man::Args),
    Mcp(Box<mcp::Args>),
    /// Give a lease back
    Release(release::Args),
    Report(report::Args),
    /// Put completed routes back, to be tested again
    Requeue(requeue::Args),
    Resume(Box<resume::Args>),
    #[command(visible_alias = "minimize")]
    Minimise(Box<minimise::Args>),
    Rerun(Box<rerun::Args>),
    /// Put failed routes back, to be tried again
    Retry(retry::Args),
    /// Hand in the review of a route
    Review(review::Args),
    Run(Box<run::Args>),
    Schema(schema::Args),
    /// Print the file-safe name of a route
    Slug(slug::Args),
    /// Show where the campaign stands and what comes next
    Status(status::Args),
    /// Let a blocked campaign go on
    Unblock(unblock::Args),
    Undo(undo::Args),
    Verify(Box<verify::Args>),
    Vrt(vrt::Args),
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Add(args) => add::run(context, args),
        Command::Block(args) => block::run(context, args),
        Command::Cache(command) => cache::run(context, command),
        Command::Check(args) => check::run(context, args),
        Command::Claim(args) => claim::run(context, args),
        Command::Complete(args) => complete::run(context, args),
        Command::Completions(args) => completions::run(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::Discover(args) => discover::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Drop(args) => drop::run(context, args),
        Command::Explore(args) => explore::run(context, args),
        Command::Export(args) => export::run(context, args),
        Command::Fail(args) => fail::run(context, args),
        Command::Fingerprint(args) => fingerprint::run(context, args),
        Command::Flow(args) => flow::run(context, *args),
        Command::Guard(args) => guard::run(&args),
        Command::Heal(args) => heal::run(context, *args),
        Command::Heartbeat(args) => heartbeat::run(context, args),
        Command::HoldDriver(args) => hold_driver::run(context, args),
        Command::Init(args) => init::run(context, *args),
        Command::Log(args) => log::run(context, args),
        Command::Man(args) => man::run(context, args),
        Command::Mcp(args) => mcp::run(context, *args),
        Command::Release(args) => release::run(context, args),
        Command::Report(args) => report::run(context, args),
        Command::Requeue(args) => requeue::run(context, args),
        Command::Minimise(args) => minimise::run(context, *args),
        Command::Rerun(args) => rerun::run(context, *args),
        Command::Resume(args) => resume::run(context, *args),
        Command::Retry(args) => retry::run(context, args),
        Command::Review(args) => review::run(context, args),
        Command::Run(args) => run::run(context, *args),
        Command::Schema(args) => schema::run(context, args),
        Command::Slug(args) => slug::run(context, args),
        Command::Status(args) => status::run(context, args),
        Command::Unblock(args) => unblock::run(context, args),
        Command::Undo(args) => undo::run(context, args),
        Command::Verify(args) => verify::run(context, *args),
        Command::Vrt(args) => vrt::run(context, args),
    }
}

/// Runs a command's asynchronous work to its end.
///
/// # Errors
/// When the operating system gives no threads for it (exit 3).
pub(crate) fn block_on<F: Future>(work: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // A walk calls itself once per level of what it opens, and so does every poll of it.
        .thread_stack_size(64 << 20)
        .build()
        .map_err(|error| Failure::engine("no_runtime", format!("cannot start the worker threads: {error}")))?;
    Ok(runtime.block_on(work))
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> Exit {
    let json = || std::env::args_os().any(|argument| argument == "--json");
    let bare = |json: bool| Ui::new(Verbosity { json, ..Verbosity::default() });
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Clap's own words for this name the hidden commands too.
        Err(error) if error.kind() == clap::error::ErrorKind::MissingSubcommand => {
            let failure = Failure::usage("no_command", "no command was given");
            return bare(json()).failure(&failure.hinted("`agent-test --help` lists the commands"));
        }
        Err(error) if error.use_stderr() && json() => {
            // The one document is owed for a mistake in the arguments too.
            let text = error.render().to_string();
            let message = text.trim_end().trim_start_matches("error: ");
            return bare(true).failure(&Failure::usage("bad_arguments", message));
        }
        Err(error) => {
            // What was asked for (help, the version) must not be lost silently; a pipe that was closed is the reader's.
            let told = error.print().and_then(|()| std::io::stdout().flush());
            let lost = told.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
            return match error.use_stderr() {
                true => Exit::Usage,
                false if lost => Ui::new(Verbosity::default())
                    .failure(&Failure::engine("answer_lost", "the answer could not be written to stdout")),
                false => Exit::Ok,
            };
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
    if let Err(error) = crate::settings::check_waits() {
        return ui.failure(&error.into());
    }
    let context = match Context::new(&cli.globals, ui.clone()) {
        Ok(context) => context,
        Err(failure) => return ui.failure(&failure),
    };
    let exit = dispatch(&context, cli.command).unwrap_or_else(|failure| ui.failure(&failure));
    if crate::ui::answer_was_lost() {
        let lost =
            Failure::engine("answer_lost", "the answer could not be written to stdout; what the command did stands");
        ui.error(&lost);
        return Exit::Engine;
    }
    exit
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_tree_is_sound() {
        super::Cli::command().debug_assert();
    }
}
