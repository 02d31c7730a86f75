//! The switches: which planted bugs are fixed, which controls are renamed.

use std::collections::BTreeSet;

use super::catalog::{BUGS, CONTROLS};
use super::error::DemoError;

/// How a demo server is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// Ids of planted bugs that behave correctly; `all` fixes every one.
    pub fixed: Vec<String>,
    /// Ids of controls that carry their new label; `all` renames every one.
    pub renamed: Vec<String>,
}

/// The options, checked: every id is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Switches {
    fixed: BTreeSet<&'static str>,
    renamed: BTreeSet<&'static str>,
}

impl Switches {
    /// Checks the ids.
    pub(super) fn new(options: &Options) -> Result<Self, DemoError> {
        let bugs: Vec<&'static str> = BUGS.iter().map(|bug| bug.id).collect();
        let controls: Vec<&'static str> = CONTROLS.iter().map(|control| control.id).collect();
        let known = |wanted: &[String], ids: &[&'static str], unknown: fn(String, String) -> DemoError| {
            let mut set = BTreeSet::new();
            for word in wanted {
                if word == "all" {
                    set.extend(ids.iter().copied());
                } else if let Some(id) = ids.iter().find(|id| **id == word.as_str()) {
                    set.insert(*id);
                } else {
                    return Err(unknown(word.clone(), ids.join(", ")));
                }
            }
            Ok(set)
        };
        Ok(Self {
            fixed: known(&options.fixed, &bugs, |id, known| DemoError::UnknownBug { id, known })?,
            renamed: known(&options.renamed, &controls, |id, known| DemoError::UnknownControl { id, known })?,
        })
    }

    /// Whether the bug is there (not fixed).
    pub(super) fn live(&self, bug: &str) -> bool {
        !self.fixed.contains(bug)
    }

    /// Whether the control carries its new label.
    pub(super) fn renamed(&self, control: &str) -> bool {
        self.renamed.contains(control)
    }
}
