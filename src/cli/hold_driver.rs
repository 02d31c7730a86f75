//! `agent-test __hold-driver` (hidden, for the tests): a process that has a browser open, so that it can be killed.

use std::path::PathBuf;

use crate::browser::driver::{Driver, DriverOptions, GuardProgram, open_session};
use crate::cli::Context;
use crate::exit::{Exit, Failure};

/// Opens a browser, says so in one JSON line, and waits (used by the tests).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the driver's files go
    runtime_dir: PathBuf,
    /// Panic as soon as the browser is open
    #[arg(long)]
    panic: bool,
    /// Let the shell stand guard, as in a program that merely links the library
    #[arg(long)]
    shell_guard: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let guard = if args.shell_guard { GuardProgram::Shell } else { GuardProgram::of_this_process() };
    super::block_on(async {
        let driver = Driver::start_guarded(&DriverOptions::new(args.runtime_dir), &guard).await?;
        let profile = driver.profile_dir();
        let session = open_session(driver.url(), Some((driver.chrome_path(), &profile))).await?;
        context.ui.raw(
            serde_json::json!({
                "group": driver.process_group(),
                "guard": driver.guard_process(),
                "profile": profile,
                "url": driver.url(),
            })
            .to_string(),
        );
        assert!(!args.panic, "asked to panic with a browser open");
        // Until stdin closes, or a signal ends us the hard way.
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
        let _ = session.quit().await;
        driver.stop().await;
        Ok(Exit::Ok)
    })?
}
