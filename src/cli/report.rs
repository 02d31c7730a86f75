//! `agent-test report`: the campaign's reports from the state as it is.

use super::Context;
use crate::campaign;
use crate::exit::{Exit, Failure};

/// Write FINAL-REPORT.md, FINAL-REPORT.html and junit.xml from the state as it is
///
/// At any time: routes that are not tested or not reviewed yet are named as such. Ends with 1 when there is a bug that is
/// not minor or a route could not be tested.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _: Args) -> Result<Exit, Failure> {
    let project = context.project();
    let written = campaign::write_reports(&project)?;
    let exit = super::run::verdict(&written.aggregate);
    let mut document = super::run::document(&written.aggregate);
    document["final"] = written.is_final.into();
    document["reports"] = super::run::reports();
    document["exitCode"] = exit.code().into();
    context.ui.json(&document);
    if !written.is_final {
        context.ui.note("the campaign is not at its end: this report is of the state as it is");
    }
    context.ui.out(super::run::text(&written.aggregate, true));
    Ok(exit)
}
