//! The list of every file format and message, with its JSON Schema (2020-12).
//!
//! A room that owns a format adds one line to [`FORMATS`]; the command `agent-test schema`, the folder `schemas/` and the
//! tests follow from the list.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};

/// A file format or message.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name on the command line, and of the file `{name}.schema.json`.
    pub name: &'static str,
    /// What it is and where it lies, in one line.
    pub about: &'static str,
    generate: fn() -> Schema,
}

impl Format {
    const fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Self {
        Self { name, about, generate: generate::<T> }
    }

    /// Its schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut schema = (self.generate)();
        schema.insert("title".to_owned(), self.name.into());
        schema
    }

    /// The schema as it lies in `schemas/`, with the line break at its end.
    #[must_use]
    pub fn text(&self) -> String {
        // A schema is a JSON value: printing it cannot fail.
        format!("{:#}\n", self.schema().to_value())
    }

    /// Name of its file in `schemas/`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.schema.json", self.name)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every format, by name.
pub const FORMATS: &[Format] = &[
    Format::of::<crate::demo::Manifest>("demo-manifest", "what is in the demo and wrong with it: `demo --manifest`"),
    Format::of::<crate::verify::DiffReport>("diff", "what changed between two runs: `diff --json`"),
    Format::of::<crate::event::Event>("event", "what happens in a campaign: one line of the event log"),
    Format::of::<crate::flow::FlowFile>("flow", "a flow with goal steps: flows/*.yaml"),
    Format::of::<crate::flow::FlowReport>("flow-report", "what came of flows: `flow --json`"),
    Format::of::<crate::heal::result::BatchResult>(
        "heal-batch",
        "what a heal of several files came to: `heal --all --json`",
    ),
    Format::of::<crate::heal::result::HealResult>(
        "heal-result",
        "what a heal of a Playwright test came to: `heal --json`",
    ),
    Format::of::<crate::heal::tiers::TierFile>("heal-tiers", "a catalogue of model tiers: `heal --tiers FILE`"),
    Format::of::<crate::state::HistoryLine>(
        "history",
        "what was done to a campaign: one line of .agent-test/history.jsonl",
    ),
    Format::of::<crate::verify::MinimiseReport>("minimise", "what shortened traces came to: `minimise --json`"),
    Format::of::<crate::verify::Proposals>(
        "proposals",
        "targets that a model found anew: .agent-test/proposals/{id}.json",
    ),
    Format::of::<crate::flow::recording::Entry>(
        "recording",
        "the recording of a goal step: .agent-test/cache/{key}.json",
    ),
    Format::of::<crate::maze::RouteReport>(
        "route-report",
        "the maze map of one route: monkey-test-reports/{slug}.json",
    ),
    Format::of::<crate::trace::RunFile>("run", "one recorded execution: .agent-test/runs/{id}.json"),
    Format::of::<crate::settings::SettingsFile>("settings", "the settings of a project: agent-test.toml"),
    Format::of::<crate::state::StateFile>("state", "where a campaign stands: .monkey-test-state.json"),
    Format::of::<crate::verify::VerifyReport>("verify", "what became of the bugs of a run: `verify --json`"),
];

/// The format of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

fn generate<T: JsonSchema>() -> Schema {
    // What a reader must accept, so that files of other writers are valid too.
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    SchemaGenerator::new(settings).into_root_schema_for::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_fit_a_file_name() {
        assert!(FORMATS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(FORMATS.iter().all(|f| f.name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    #[test]
    fn every_schema_is_a_valid_schema() {
        for format in FORMATS {
            let schema = format.schema().to_value();
            assert!(jsonschema::meta::is_valid(&schema), "{}", format.name);
        }
    }
}
