//! `agent-test log`.

use serde_json::json;

use super::{Context, parse_route};
use crate::exit::{Exit, Failure};
use crate::state::{HistoryLine, LogFilter, Logged, stamp};
use crate::ui::in_one_line;

/// Show what was done to the campaign: when, by whom, what
///
/// The latest comes last. The history lies in `.agent-test/history.jsonl`, one line per transition.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only what touched this route
    #[arg(long, value_name = "ROUTE")]
    route: Option<String>,
    /// Only what this worker or session did
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// At most the latest N lines
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let filter = LogFilter {
        route: args.route.as_deref().map(parse_route).transpose()?,
        worker: args.worker,
        limit: Some(args.limit as usize),
    };
    let project = context.project();
    let lines = project.log(&filter)?;
    if lines.is_empty() {
        let none = if project.has_state() { "the history has no such line" } else { "there is no campaign here" };
        context.ui.note(none);
    }
    // What undo and repair need is for them.
    let documents: Vec<_> = lines
        .iter()
        .map(|Logged { line, edited_before }| {
            json!({
                "seq": line.seq,
                "at": line.at,
                "event": line.event,
                "routes": line.routes,
                "detail": line.detail,
                "who": line.who,
                "before": line.before,
                "after": line.after,
                "undid": line.undid,
                "canBeUndone": line.undo.is_some(),
                "editedBefore": edited_before,
            })
        })
        .collect();
    if lines.is_empty() {
        context.ui.json(&json!({ "log": [], "exitCode": 0 }));
        return Ok(Exit::Ok);
    }
    context.answer(json!({ "log": documents }), table(&lines))
}

fn table(lines: &[Logged]) -> String {
    let row = |line: &HistoryLine| {
        [
            line.seq.to_string(),
            stamp(line.at),
            line.event.to_string(),
            in_one_line(&line.who.name()),
            in_one_line(&about(line)),
        ]
    };
    let rows: Vec<([String; 5], bool)> = lines.iter().map(|shown| (row(&shown.line), shown.edited_before)).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|(row, _)| row.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let [number, at, event, who] = [width(0), width(1), width(2), width(3)];
    let mut out = Vec::new();
    for ([a, b, c, d, e], edited) in &rows {
        if *edited {
            out.push(format!("{:>number$}  the state file was edited by something else here", "-"));
        }
        out.push(format!("{a:>number$}  {b:<at$}  {c:<event$}  {d:<who$}  {e}").trim_end().to_owned());
    }
    out.join("\n")
}

/// The routes, at most three by name, and the detail.
fn about(line: &HistoryLine) -> String {
    let mut text: Vec<String> = line.routes.iter().take(3).map(ToString::to_string).collect();
    if line.routes.len() > 3 {
        text.push(format!("and {} more", line.routes.len() - 3));
    }
    let routes = text.join(" ");
    match &line.detail {
        Some(detail) if routes.is_empty() => detail.replace('\n', " "),
        Some(detail) => format!("{routes}: {}", detail.replace('\n', " ")),
        None => routes,
    }
}
