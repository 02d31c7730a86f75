//! The exit codes, the same for every command, and the one way in which a room's error becomes one.
//!
//! Every room has its own typed error. It implements [`Explain`], so that the face of the program can print what was
//! being done, what to do next, and end with the right code, without knowing any room's error by name.
//!
//! Where the line between 2 and 3 runs: 2 is what was *asked for* (arguments, settings, what a named file is or holds); asking
//! otherwise helps. 3 is what the *machine* does not let us do with a sound request: no browser, a full disk, and also a file
//! or directory without the permission to write or read it. A read-only mount or another user's file is no fault of the
//! arguments, and the same command goes through once the machine allows it.

use std::fmt;
use std::process::ExitCode;

/// How a command ended. The numbers are a contract with CI and agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done; nothing found that should fail a build.
    Ok = 0,
    /// Done; something was found that should fail a build: a non-minor bug, a verdict, a failed flow.
    Found = 1,
    /// The caller must change something: arguments, configuration, an unknown route, a missing or broken file.
    Usage = 2,
    /// The engine failed: no browser, application unreachable, disk full. Wins over [`Exit::Found`].
    Engine = 3,
}

impl Exit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What every room's error can say about itself.
pub trait Explain: std::error::Error + Send + Sync + 'static {
    /// The exit code that this error ends the command with.
    fn exit(&self) -> Exit;

    /// What the reader can do next; never a complete destructive command line.
    fn hint(&self) -> Option<String> {
        None
    }

    /// A stable word for programs, in `snake_case`.
    fn code(&self) -> &'static str;
}

/// An error on its way to the reader: message, next step, exit code.
#[derive(Debug)]
pub struct Failure {
    /// What was being done, to which route or file, and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// A stable word for programs.
    pub code: &'static str,
    /// The exit code.
    pub exit: Exit,
}

impl Failure {
    /// A mistake of the caller's (exit 2).
    #[must_use]
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code, exit: Exit::Usage }
    }

    /// A failure of the engine or the machine (exit 3).
    #[must_use]
    pub fn engine(code: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code, exit: Exit::Engine }
    }

    /// The same failure with a next step.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        // The whole chain in one line: each room's error names its own part.
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            let text = cause.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self { message, hint: error.hint(), code: error.code(), exit: error.exit() }
    }
}
