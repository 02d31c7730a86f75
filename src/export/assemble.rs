//! The files of a run's bugs, and the bugs that are left out. Pure.

use super::playwright::spec;
use super::recorder::recording;
use super::steps::{Terms, file_stem};
use super::write::Document;
use crate::maze::Bug;
use crate::store::free_name;
use crate::trace::RunFile;

/// What a bug is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A Playwright spec.
    Playwright,
    /// A recording for Chrome's `DevTools` and `@puppeteer/replay`.
    Recorder,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Self::Playwright => ".spec.ts",
            Self::Recorder => ".recording.json",
        }
    }

    /// The format in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Playwright => "playwright",
            Self::Recorder => "recorder-json",
        }
    }
}

/// A bug that became a file.
#[derive(Clone, Debug)]
pub struct Exported<'a> {
    /// The bug.
    pub bug: &'a Bug,
    /// As what.
    pub format: Format,
    /// The file.
    pub document: Document,
    /// What the file cannot say.
    pub notes: Vec<String>,
}

/// A bug that did not.
#[derive(Clone, Debug)]
pub struct LeftOut<'a> {
    /// The bug.
    pub bug: &'a Bug,
    /// As what.
    pub format: Format,
    /// Why.
    pub why: String,
}

/// The files of these bugs in this format.
#[must_use]
pub fn export<'a>(
    run: &RunFile,
    bugs: &'a [Bug],
    terms: &Terms,
    format: Format,
) -> (Vec<Exported<'a>>, Vec<LeftOut<'a>>) {
    let mut files: Vec<Exported<'a>> = Vec::new();
    let mut left_out = Vec::new();
    for bug in bugs {
        let written = match format {
            Format::Playwright => spec(run, bug, terms).map(|text| (text, Vec::new())),
            Format::Recorder => recording(run, bug, terms).map(|recording| {
                let text = serde_json::to_string_pretty(&recording.document).unwrap_or_default();
                (format!("{text}\n"), recording.notes)
            }),
        };
        match written {
            Ok((text, notes)) => {
                let ending = format.ending();
                let is_taken = |stem: &str| files.iter().any(|file| file.document.name == format!("{stem}{ending}"));
                let name = format!("{}{ending}", free_name(&file_stem(bug), is_taken));
                files.push(Exported { bug, format, document: Document { name, text }, notes });
            }
            Err(refusal) => left_out.push(LeftOut { bug, format, why: refusal.to_string() }),
        }
    }
    (files, left_out)
}
