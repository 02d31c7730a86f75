//! `agent-test schema`: the JSON Schema of every format.

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};
use crate::schema::{FORMATS, Format, find};
use crate::store::{create_dir, write_atomic};

/// Print the JSON Schema of a file format, or list the formats
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Format whose schema to print; without it the formats are listed
    #[arg(value_name = "NAME", conflicts_with = "all")]
    name: Option<String>,
    /// Every format
    #[arg(long)]
    all: bool,
    /// Write `NAME.schema.json` into this folder in place of printing it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let chosen: Vec<&Format> = match &args.name {
        Some(name) => vec![find(name).ok_or_else(|| unknown(name))?],
        None if args.all || args.out.is_some() => FORMATS.iter().collect(),
        None => {
            list(context);
            return Ok(Exit::Ok);
        }
    };
    if let Some(dir) = &args.out {
        write(context, dir, &chosen)?;
    } else if let [format] = chosen.as_slice() {
        // The schema is the one document, with --json and without.
        context.ui.raw(format.text());
    } else {
        let all: serde_json::Map<String, serde_json::Value> =
            chosen.iter().map(|format| (format.name.to_owned(), format.schema().to_value())).collect();
        context.ui.raw(format!("{:#}", serde_json::Value::Object(all)));
    }
    Ok(Exit::Ok)
}

fn list(context: &Context) {
    let width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    for format in FORMATS {
        context.ui.out(format!("{:width$}  {}", format.name, format.about));
    }
    let formats: Vec<_> = FORMATS.iter().map(|format| json!({ "name": format.name, "about": format.about })).collect();
    context.ui.json(&json!({ "formats": formats }));
}

fn write(context: &Context, dir: &std::path::Path, chosen: &[&Format]) -> Result<(), Failure> {
    let mut files = Vec::new();
    create_dir(dir)?;
    for format in chosen {
        let path = dir.join(format.file_name());
        write_atomic(&path, format.text().as_bytes()).map_err(|error| {
            Failure::engine("schema_not_written", format!("cannot write schema `{}`: {error}", path.display()))
                .hinted("name a folder that can be written with --out")
        })?;
        context.ui.out(path.display().to_string());
        // A name that is not UTF-8 is no JSON text.
        files.push(path.display().to_string());
    }
    context.ui.json(&json!({ "files": files }));
    Ok(())
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    Failure::usage("unknown_format", format!("there is no format `{name}`"))
        .hinted(format!("the formats are {}", names.join(", ")))
}
