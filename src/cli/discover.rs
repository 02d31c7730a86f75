//! `agent-test discover`.

use std::io::Read;
use std::path::PathBuf;

use serde_json::json;

use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::route::RouteMap;
use crate::state::ROUTE_MAP;
use crate::store;

/// Where the routes come from.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A list of routes: one path or address per line, a Markdown list or table, or a route map (`-`: standard input)
    #[arg(long, value_name = "FILE", required = true)]
    from_list: PathBuf,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let text = if args.from_list.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage("read_failed", format!("cannot read standard input: {error}")))?;
        text
    } else {
        store::read_to_string(&context.file(&args.from_list))?
    };
    let map = RouteMap::from_list(&text)?.in_category_order();
    for problem in &map.problems {
        context.ui.warn(format!("left out: {problem}"));
    }
    let project = context.project();
    let kept = project.write_route_map(&map, "list")?;
    if let Some(kept) = &kept {
        context.ui.note(format!("the {ROUTE_MAP} that stood here is kept as {kept}"));
    }
    let categories: Vec<_> = map
        .categories
        .iter()
        .map(|category| json!({ "name": category.name, "routes": category.routes.len() }))
        .collect();
    context.answer(
        json!({
            "routeMap": ROUTE_MAP,
            "routes": map.routes.len(),
            "categories": categories,
            "excluded": map.excluded.len(),
            "problems": map.problems,
            "kept": kept,
        }),
        format!("{ROUTE_MAP}: {} in {}", counted(map.routes.len(), "route"), counted(map.categories.len(), "category")),
    )
}
