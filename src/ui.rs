//! The one printer: what goes to stdout, what to stderr, and whether there is anybody to draw a progress bar for.
//!
//! stdout carries the answer (text, or exactly one JSON document with `--json`); everything said on the way goes to
//! stderr. Nothing else in the program writes to either.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressDrawTarget;
use serde::Serialize;

use crate::exit::{Exit, Failure};

/// How much is said, and in which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbosity {
    /// `--json`: one document on stdout.
    pub json: bool,
    /// `--quiet`: no notes or progress; warnings and errors only.
    pub quiet: bool,
    /// `--verbose`: details on stderr.
    pub verbose: bool,
}

/// The printer.
#[derive(Clone, Debug)]
pub struct Ui {
    verbosity: Verbosity,
    color: bool,
    terminal: bool,
}

impl Ui {
    /// A printer for this process: colour and progress bars only on a terminal, `NO_COLOR` and `CI` honoured.
    #[must_use]
    pub fn new(verbosity: Verbosity) -> Self {
        let plain = crate::env::is_set(crate::env::NO_COLOR) || crate::env::is_set(crate::env::CI);
        let terminal = std::io::stderr().is_terminal() && !crate::env::is_set(crate::env::CI);
        Self { verbosity, color: !plain && std::io::stdout().is_terminal(), terminal }
    }

    /// Whether `--json` was asked for.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.verbosity.json
    }

    /// Whether `--quiet` was asked for.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.verbosity.quiet
    }

    /// Whether a person watches stderr on a terminal (progress bars may be drawn).
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal && !self.verbosity.quiet
    }

    /// Whether a question can be asked: both ends are a terminal.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        !self.verbosity.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Asks a question on the terminal; `None` when nobody can answer.
    #[must_use]
    pub fn ask(&self, question: &str) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        let _ = write!(std::io::stderr().lock(), "{question} ");
        let _ = std::io::stderr().lock().flush();
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer).ok()?;
        (read > 0).then(|| answer.trim().to_owned())
    }

    /// Where progress bars are drawn.
    #[must_use]
    pub fn progress_target(&self) -> ProgressDrawTarget {
        if self.is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }

    /// Prints text that is the answer; nothing with `--json`.
    pub fn out(&self, text: impl AsRef<str>) {
        if !self.verbosity.json {
            answer(&tame(text.as_ref()));
        }
    }

    /// Prints text that is the answer whether or not `--json` was given (a schema, a completion script).
    pub fn raw(&self, text: impl AsRef<str>) {
        answer(text.as_ref());
    }

    /// Prints the one JSON document; nothing without `--json`.
    pub fn json(&self, value: &impl Serialize) {
        if self.verbosity.json {
            let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
            answer(&text);
        }
    }

    /// Says something on the way (stderr).
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.verbosity.quiet {
            talk(&tame(text.as_ref()));
        }
    }

    /// Says a detail (stderr, only with `--verbose`).
    pub fn detail(&self, text: impl AsRef<str>) {
        if self.verbosity.verbose {
            talk(&tame(text.as_ref()));
        }
    }

    /// Warns (stderr).
    pub fn warn(&self, text: impl AsRef<str>) {
        let label = self.paint("33", "warning:");
        talk(&format!("{label} {}", tame(text.as_ref())));
    }

    /// Prints a failure for the reader, or as the one JSON document, and gives back its exit code.
    pub fn failure(&self, failure: &Failure) -> Exit {
        if self.verbosity.json {
            self.json(&serde_json::json!({
                "error": { "code": failure.code, "message": failure.message, "hint": failure.hint },
                "exitCode": failure.exit.code(),
            }));
        }
        self.error(failure);
        failure.exit
    }

    /// Says a failure on stderr; the document is the caller's.
    pub fn error(&self, failure: &Failure) {
        let label = self.paint("31", "error:");
        let mut text = format!("{label} {}", tame(&failure.message));
        if let Some(hint) = &failure.hint {
            text.push_str(&format!("\n{} {hint}", self.paint("36", "hint:")));
        }
        talk(&text);
    }

    /// The text in an ANSI colour, where colour is wanted.
    #[must_use]
    pub fn paint(&self, ansi: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{ansi}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Whether an answer could not be written to stdout.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether an answer was lost: stdout could not be written to. A closed pipe on the other side is not our failure.
#[must_use]
pub fn answer_was_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn answer(text: &str) {
    if let Err(error) = write_line(&mut std::io::stdout().lock(), text)
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// What nobody can be told is not told.
fn talk(text: &str) {
    let _ = write_line(&mut std::io::stderr().lock(), text);
}

fn write_line(target: &mut dyn Write, text: &str) -> std::io::Result<()> {
    target.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        target.write_all(b"\n")?;
    }
    target.flush()
}

/// Marks that turn the direction of the text around them, and what has no width.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Words of a page or a file as a part of one line: none of them begins a line of its own, or turns the text around it.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    text.split(is_invisible).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Text of a page or a file must not steer the reader's terminal: control characters are shown, not sent.
fn tame(text: &str) -> Cow<'_, str> {
    let wild = |c: char| is_invisible(c) && !matches!(c, '\n' | '\t');
    if text.contains(wild) { Cow::Owned(text.replace(wild, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// `1 bug`, `2 bugs`, `3 categories`, `4 classes`.
#[must_use]
pub fn counted(count: usize, word: &str) -> String {
    if count == 1 {
        return format!("1 {word}");
    }
    let before_y = word.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{count} {stem}ies"),
        None if word.ends_with('s') => format!("{count} {word}es"),
        None => format!("{count} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_page_cannot_steer_the_terminal() {
        let told = tame("esc \u{1b}[31mRED\u{1b}]0;pwn\u{7} and\tmore\nlines");
        assert!(!told.contains('\u{1b}') && !told.contains('\u{7}'));
        assert!(told.contains("RED") && told.contains("\tmore\nlines"));
        assert!(!tame("abc \u{202e}gpj.exe").contains('\u{202e}'));
    }

    #[test]
    fn words_of_a_page_begin_no_line_of_their_own() {
        assert_eq!(in_one_line("Save\r\nfixed  0 bugs\u{202e}x"), "Save fixed  0 bugs x");
        assert_eq!(in_one_line("plain"), "plain");
    }

    #[test]
    fn one_is_counted_apart() {
        let words = [counted(1, "category"), counted(2, "category"), counted(0, "bug"), counted(2, "day")];
        assert_eq!(words, ["1 category", "2 categories", "0 bugs", "2 days"]);
    }
}
