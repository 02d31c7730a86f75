//! `agent-test init`.

use std::path::PathBuf;

use serde_json::json;

use super::{Context, counted, parse_routes};
use crate::env;
use crate::exit::{Exit, Failure};
use crate::route::{Route, RouteMap, Selection, select};
use crate::settings::{Config, Login, Overrides, parse_base_url};
use crate::state::{InitRequest, ROUTE_MAP};
use crate::store;

/// Which application, which routes, with which settings.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Address of the application, for example http://localhost:5000
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The route map (default: ROUTE_MAP.md of the project)
    #[arg(long, value_name = "FILE")]
    route_map: Option<PathBuf>,
    /// Every route of the map
    #[arg(long)]
    all: bool,
    /// A category of the map, by name or number; may be given several times
    #[arg(long, value_name = "NAME|N", num_args = 1..)]
    category: Vec<String>,
    /// A route; may be given several times
    #[arg(long, value_name = "ROUTE", num_args = 1..)]
    route: Vec<String>,
    /// Routes by their numbers in the map, such as "1-5,9", or "all"
    #[arg(long, value_name = "SPEC")]
    select: Option<String>,
    /// Name of the project (default: that of the directory)
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Begin anew although there is a campaign; its state is kept as a dated copy
    #[arg(long)]
    force: bool,
    /// Routes in one batch of tests (default: 3)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: Option<u32>,
    /// Routes in one batch of reviews (default: 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    review_batch_size: Option<u32>,
    /// Browsers side by side (default: half the cores, at least 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Allow actions that change data: confirm questions, fill forms, let every request leave
    #[arg(long)]
    safe_to_mutate: bool,
    /// Let this request leave although it is no GET (`POST /api/search*`); may be given several times
    #[arg(long, value_name = "PATTERN")]
    allow_request: Vec<String>,
    /// Count this origin as the application's own; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    own_origin: Vec<String>,
    /// Page on which to log in
    #[arg(long, value_name = "URL")]
    login_url: Option<String>,
    /// Environment variable that holds the user name (default: AGENT_TEST_USERNAME)
    #[arg(long, value_name = "VARIABLE", requires = "login_url")]
    username_env: Option<String>,
    /// Environment variable that holds the password (default: AGENT_TEST_PASSWORD)
    #[arg(long, value_name = "VARIABLE", requires = "login_url")]
    password_env: Option<String>,
    /// Begin each session with these cookies (the JSON that Playwright's `storageState` writes)
    #[arg(long, value_name = "FILE")]
    storage_state: Option<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let asked = args.config();
    let config = asked.clone().or(Config::from_env()?);
    let from_file = Config::from_file(&context.project)?;
    let base_url = config.base_url.clone().or(from_file.base_url).ok_or_else(|| {
        Failure::usage("no_base_url", "cannot start a campaign: the application's address is not known")
            .hinted(format!("give --base-url http://host:port, set {} or base_url in agent-test.toml", env::BASE_URL))
    })?;
    parse_base_url(&base_url)?;
    let name = config
        .project
        .or(from_file.project)
        .or_else(|| context.project.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned()));
    let routes = args.routes(context)?;
    let request = InitRequest {
        project: name.unwrap_or_else(|| "project".to_owned()),
        base_url: base_url.trim().to_owned(),
        routes,
        settings: config.settings,
        force: args.force,
    };
    let project = context.project();
    let result = project.init(&request)?;
    match project.exclude_from_git() {
        Ok(Some(file)) => context.ui.note(format!("the campaign's files are left out of git by {}", file.display())),
        Ok(None) => {}
        Err(error) => context.ui.warn(format!("the campaign's files are not left out of git: {error}")),
    }
    let kept_settings = if result.created { Vec::new() } else { unchanged_settings(&asked, &project.read_settings()?) };
    if !kept_settings.is_empty() {
        context.ui.warn(format!(
            "the campaign keeps the settings that it was started with: {} stays as it is; a flag of `run`, its variable or agent-test.toml changes it",
            kept_settings.join(", ")
        ));
    }
    if let Some(kept) = &result.kept {
        context.ui.note(format!("the state that stood here is kept as {kept}"));
    }
    let text = if result.created {
        format!("started {} with {} of {}", request.project, counted(result.routes, "route"), request.base_url)
    } else {
        format!("unchanged: this campaign with {} stands here already", counted(result.routes, "route"))
    };
    context.answer(
        json!({
            "created": result.created,
            "routes": result.routes,
            "project": request.project,
            "baseUrl": request.base_url,
            "kept": result.kept,
            "unchangedSettings": kept_settings,
        }),
        text,
    )
}

/// Settings that were asked for and that the campaign has otherwise.
fn unchanged_settings(asked: &Config, has: &Config) -> Vec<String> {
    let object = |config: &Config| match serde_json::to_value(&config.settings) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => serde_json::Map::new(),
    };
    let has = object(has);
    object(asked).into_iter().filter(|(key, value)| has.get(key) != Some(value)).map(|(key, _)| key).collect()
}

impl Args {
    fn config(&self) -> Config {
        let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let login = self.login_url.clone().map(|url| Login {
            url,
            username_env: self.username_env.clone().unwrap_or_else(|| env::USERNAME.to_owned()),
            password_env: self.password_env.clone().unwrap_or_else(|| env::PASSWORD.to_owned()),
            username_locator: None,
            password_locator: None,
            submit_locator: None,
        });
        Config {
            base_url: self.base_url.clone(),
            project: self.project.clone(),
            settings: Overrides {
                batch_size: self.batch_size,
                review_batch_size: self.review_batch_size,
                safe_to_mutate: self.safe_to_mutate.then_some(true),
                allow_request: given(&self.allow_request),
                own_origins: given(&self.own_origin),
                login,
                storage_state: self.storage_state.clone(),
                workers: self.workers,
                ..Overrides::default()
            },
        }
    }

    /// The selected routes. Without a selection a person is asked; there is never a silent "everything".
    fn routes(&self, context: &Context) -> Result<Vec<Route>, Failure> {
        let mut selection = Selection {
            all: self.all,
            categories: self.category.clone(),
            routes: parse_routes(&self.route)?,
            spec: self.select.clone(),
        };
        let path = self.route_map.as_ref().map_or_else(|| context.project.join(ROUTE_MAP), |path| context.file(path));
        let Some(text) = store::read_to_string_if_exists(&path)? else {
            let only_routes = Selection { routes: selection.routes.clone(), ..Selection::default() };
            if self.route_map.is_none() && !selection.routes.is_empty() && selection == only_routes {
                return Ok(selection.routes);
            }
            return Err(Failure::usage(
                "no_route_map",
                format!("cannot select routes: `{}` does not exist", path.display()),
            )
            .hinted("write it with `agent-test discover --from-list FILE`, or name the routes with --route"));
        };
        let map = RouteMap::parse(&text)?;
        for problem in &map.problems {
            context.ui.warn(format!("left out of the route map: {problem}"));
        }
        if selection.is_empty() {
            let listing = listing(&map);
            let question = format!("{listing}\nWhich routes? Numbers and ranges (1-5,9), a category's name, or all:");
            match context.ui.ask(&question) {
                Some(answer) if map.categories.iter().any(|c| c.name.eq_ignore_ascii_case(&answer)) => {
                    selection.categories.push(answer);
                }
                Some(answer) => selection.spec = Some(answer),
                None => {
                    return Err(Failure::usage(
                        "no_selection",
                        format!("cannot start a campaign: no routes are selected; the map has\n{listing}"),
                    )
                    .hinted("select with --all, --category NAME|#, --route ROUTE or --select \"1-5,9\""));
                }
            }
        }
        Ok(select(&map, &selection)?)
    }
}

/// The categories with the numbers of their routes, under a heading that tells which number is which.
fn listing(map: &RouteMap) -> String {
    let width = map.categories.iter().map(|category| category.name.chars().count()).max().unwrap_or(0).max(8);
    let lines = map.categories.iter().enumerate().map(|(place, category)| {
        let numbers: Vec<usize> = category.routes.iter().filter_map(|route| map.number(route)).collect();
        format!(
            "  {:>2}  {:<width$}  {:<11}  {}",
            place + 1,
            category.name,
            counted(category.routes.len(), "route"),
            ranges(&numbers)
        )
    });
    let heading = format!("  {:>2}  {:<width$}  {:<11}  {}", "#", "category", "", "routes (for --select)");
    std::iter::once(heading).chain(lines).collect::<Vec<_>>().join("\n")
}

/// `1-3,7` for 1, 2, 3, 7.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let texts = runs.into_iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    texts.collect::<Vec<_>>().join(",")
}
