//! `agent-test man`: the manual pages.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use serde_json::json;

use super::{Cli, Context};
use crate::exit::{Exit, Failure};
use crate::store::{create_dir, write_atomic};

/// Print the manual page (roff), or write one page per command
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Write `agent-test.1` and a page per command into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = args.out else {
        let page = page(command, "agent-test".to_owned())?;
        context.ui.out(page.trim_end());
        context.ui.json(&json!({ "page": page }));
        return Ok(Exit::Ok);
    };
    create_dir(&dir)?;
    let mut files = Vec::new();
    write(&command, "agent-test", &dir, &mut files)?;
    // A name that is not UTF-8 is no JSON text.
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    for file in &files {
        context.ui.out(file);
    }
    context.ui.json(&json!({ "files": files }));
    Ok(Exit::Ok)
}

/// Writes the page of a command and those of its subcommands.
fn write(command: &Command, name: &str, dir: &std::path::Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    write_atomic(&path, page(command.clone(), name.to_owned())?.as_bytes())?;
    files.push(path);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        write(inner, &format!("{name}-{}", inner.get_name()), dir, files)?;
    }
    Ok(())
}

fn page(command: Command, name: String) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.name(name))
        .render(&mut page)
        .map_err(|error| Failure::engine("man_page", format!("cannot write the manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
