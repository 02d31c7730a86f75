//! What every command needs: the project, the printer, the clock.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::route::Route;
use crate::state::{Checkout, Project, STATE_FILE, Standing};
use crate::store::{Clock, FileKind, exists};
use crate::ui::Ui;

/// Options that every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Project root (default: found upwards by its state file, route map, settings or `.git`)
    #[arg(long, global = true, value_name = "DIR", env = crate::env::PROJECT_DIR)]
    pub project_dir: Option<PathBuf>,
    /// Print one JSON document on stdout and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing on the way; the answer and errors remain
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
    /// Which checkout's campaign this is, when that is not plain: said once, when the project is used.
    worktree: Arc<Mutex<Option<String>>>,
}

impl Context {
    /// The project's state and files; what is odd about them is warned of.
    #[must_use]
    pub fn project(&self) -> Project {
        self.say_worktree();
        let ui = self.ui.clone();
        Project::open(&self.project, self.clock.clone()).warning(move |text| ui.warn(text))
    }

    /// Says once which checkout's project this is, in a linked git worktree.
    pub(crate) fn say_worktree(&self) {
        if let Some(note) = self.worktree.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.ui.note(note);
        }
    }

    /// A file that the caller names: from the working directory, or else from the project root.
    #[must_use]
    pub fn file(&self, name: &Path) -> PathBuf {
        let at_root = self.project.join(name);
        if !name.exists() && at_root.exists() { at_root } else { name.to_path_buf() }
    }

    /// Prints where the campaign stands; what is wrong with it is warned of.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn standing(&self, standing: &Standing) -> Result<Exit, Failure> {
        self.warn_of(standing);
        let document = serde_json::to_value(standing)
            .map_err(|error| Failure::engine("internal", format!("cannot write where the campaign stands: {error}")))?;
        self.answer(document, standing.text())
    }

    /// Warns of what is wrong with the campaign.
    pub(crate) fn warn_of(&self, standing: &Standing) {
        for finding in standing.findings.iter().take(10) {
            self.ui.warn(&finding.message);
        }
        if standing.findings.len() > 10 {
            self.ui.warn(format!("and {} more; `agent-test check` tells all", standing.findings.len() - 10));
        }
    }

    /// Prints an answer that ends with 0: the document with `exitCode`, or the text.
    ///
    /// # Errors
    /// Never; the type is that of a command.
    #[expect(clippy::unnecessary_wraps, reason = "the last expression of a command")]
    pub(crate) fn answer(&self, mut document: serde_json::Value, text: impl AsRef<str>) -> Result<Exit, Failure> {
        if let Some(object) = document.as_object_mut() {
            object.insert("exitCode".to_owned(), Exit::Ok.code().into());
        }
        self.ui.json(&document);
        self.ui.out(text);
        Ok(Exit::Ok)
    }
}

/// Parses routes that the caller names.
///
/// # Errors
/// The first that is none.
pub(crate) fn parse_routes(texts: &[String]) -> Result<Vec<Route>, Failure> {
    texts.iter().map(|text| Route::parse(text).map_err(Failure::from)).collect()
}

/// Parses a route that the caller names.
///
/// # Errors
/// When it is none.
pub(crate) fn parse_route(text: &str) -> Result<Route, Failure> {
    Ok(Route::parse(text)?)
}

/// A text that must say something.
///
/// # Errors
/// When it is blank.
pub(crate) fn required_text<'a>(option: &str, text: &'a str) -> Result<&'a str, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage("bad_argument", format!("{option} needs a text that says why")));
    }
    Ok(text)
}

/// Answers with the routes that moved back to the pending ones, and says what tests them.
///
/// # Errors
/// Never; the type is that of a command.
pub(crate) fn moved(context: &Context, word: &str, routes: &[Route], none: &str) -> Result<Exit, Failure> {
    let lines: Vec<String> = routes.iter().map(|route| format!("{word:<9} {route}")).collect();
    let text = if lines.is_empty() { format!("unchanged {none}") } else { lines.join("\n") };
    if !lines.is_empty() {
        context.ui.note("pending again; `agent-test run` tests what is pending");
    }
    context.answer(serde_json::json!({ word: routes, "changed": !routes.is_empty() }), text)
}

const MARKS: &[&str] = &[".monkey-test-state.json", "ROUTE_MAP.md", "agent-test.toml", ".agent-test", ".git"];

impl Context {
    /// Finds the project.
    ///
    /// # Errors
    /// When `--project-dir` names no directory (exit 2), or the working directory is gone.
    pub fn new(globals: &Globals, ui: Ui) -> Result<Self, Failure> {
        let (project, note) = match &globals.project_dir {
            // What cannot be looked at is not missing: the command that uses it says why.
            Some(dir) if matches!(exists(dir), FileKind::Directory | FileKind::Special) => (dir.clone(), None),
            Some(dir) => {
                return Err(Failure::usage(
                    "no_project",
                    format!("project directory `{}` does not exist", dir.display()),
                )
                .hinted("name an existing directory with --project-dir"));
            }
            None => {
                let here = working_directory()?;
                find_project(&here)
            }
        };
        Ok(Self { project, ui, clock: Clock::from_env(), worktree: Arc::new(Mutex::new(note)) })
    }
}

/// The directory that the program was started in.
///
/// # Errors
/// A [`Failure`] that says what to do, when it was removed or may not be read.
pub(super) fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::usage("no_project", format!("cannot tell the working directory: {error}"))
            .hinted("it may have been removed: change to a directory that exists, or name one with --project-dir")
    })
}

/// The project of this directory. In a linked git worktree it is that of the main checkout, so that all worktrees work on
/// one campaign; only when that has none and the worktree has one, it is the worktree's.
fn find_project(here: &Path) -> (PathBuf, Option<String>) {
    let own = find_upwards(here, None);
    let linked = Checkout::of(here).and_then(|checkout| Some((checkout.main()?, checkout.top)));
    let Some((main, top)) = linked else { return (own.unwrap_or_else(|| here.to_owned()), None) };
    let below = here.canonicalize().ok().and_then(|here| here.strip_prefix(&top).map(Path::to_path_buf).ok());
    let same = below.filter(|below| below.components().next().is_some()).map_or_else(|| main.clone(), |b| main.join(b));
    let shared = find_upwards(&same, Some(&main)).unwrap_or(main);
    match own.filter(|own| has_state(own) && !has_state(&shared)) {
        Some(own) => {
            let note = format!("linked git worktree: using its own campaign in {}", own.display());
            (own, Some(note))
        }
        None => {
            let place = shared.display();
            let note = format!("linked git worktree: using the campaign of the main checkout in {place}");
            (shared, Some(note))
        }
    }
}

fn has_state(dir: &Path) -> bool {
    dir.join(STATE_FILE).exists()
}

fn find_upwards(from: &Path, top: Option<&Path>) -> Option<PathBuf> {
    MARKS.iter().find_map(|mark| {
        let inside = |dir: &&Path| top.is_none_or(|top| dir.starts_with(top));
        from.ancestors().take_while(inside).find(|dir| dir.join(mark).exists()).map(Path::to_path_buf)
    })
}
