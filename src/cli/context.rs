//! What every command needs: the project, the printer, the clock.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Failure;
use crate::store::Clock;
use crate::ui::Ui;

/// Options that every command takes.
#[derive(Args, Clone, Debug)]
pub struct Globals {
    /// Project root (default: found upwards from here by its state file, route map, configuration or `.git`)
    #[arg(long, global = true, value_name = "DIR", env = crate::env::PROJECT_DIR)]
    pub project_dir: Option<PathBuf>,
    /// Print one JSON document on stdout and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing on the way
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// What every command needs.
#[derive(Clone, Debug)]
pub struct Context {
    /// The project root.
    pub project: PathBuf,
    /// The printer.
    pub ui: Ui,
    /// The clock.
    pub clock: Clock,
}

const MARKS: &[&str] = &[".monkey-test-state.json", "ROUTE_MAP.md", "agent-test.toml", ".agent-test", ".git"];

impl Context {
    /// Finds the project.
    ///
    /// # Errors
    /// When `--project-dir` names no directory (exit 2), or the working directory is gone.
    pub fn new(globals: &Globals, ui: Ui) -> Result<Self, Failure> {
        let project = match &globals.project_dir {
            Some(dir) if dir.is_dir() => dir.clone(),
            Some(dir) => {
                return Err(Failure::usage(
                    "no_project",
                    format!("project directory `{}` does not exist", dir.display()),
                )
                .hinted("name an existing directory with --project-dir"));
            }
            None => {
                let here = std::env::current_dir().map_err(|error| {
                    Failure::usage("no_project", format!("cannot tell the working directory: {error}"))
                })?;
                find_upwards(&here).unwrap_or(here)
            }
        };
        Ok(Self { project, ui, clock: Clock::from_env() })
    }
}

fn find_upwards(from: &Path) -> Option<PathBuf> {
    MARKS.iter().find_map(|mark| from.ancestors().find(|dir| dir.join(mark).exists()).map(Path::to_path_buf))
}
