//! `agent-test demo`: the embedded application, served, or tested and scored.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Context;
use crate::campaign::{self, Ended};
use crate::demo::{self, Options, Score};
use crate::dispatch::WorkshopOptions;
use crate::exit::{Exit, Failure};
use crate::maze::RouteReport;
use crate::replay::Credentials;
use crate::route::Route;
use crate::settings::{Overrides, Settings};
use crate::state::{InitRequest, Project, REPORTS_DIR, ROUTE_MAP};
use crate::store;

/// Name of the demo's campaign; a directory that holds another one is left alone.
const PROJECT: &str = "agent-test demo";

/// The embedded demo application, an admin tool with planted bugs: test it and score what was found
///
/// Without `--serve` the application is started on a free port, tested by a campaign with real browsers, and the reports
/// are compared with what is really wrong. Ends with 0 only when every planted bug was found, nothing was made up, and
/// nothing was deleted or changed.
///
/// With `--serve` it only listens on 127.0.0.1 until Ctrl-C: sign in as `admin` with the password `demo-pass-1`. What
/// reached it is at `/api/demo/ledger`, what is in it and wrong with it at `/api/demo/manifest`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Serve the application until Ctrl-C; the first line on stdout is its address
    #[arg(long, conflicts_with = "manifest")]
    serve: bool,
    /// Print the manifest (routes, elements, planted bugs, controls) as JSON and end
    #[arg(long)]
    manifest: bool,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Planted bugs that behave correctly; `all` for every one
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    fixed: Vec<String>,
    /// Controls that carry their new label; `all` for every one
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    rename: Vec<String>,
    /// Directory for the campaign's files; an earlier demo's are replaced
    #[arg(long, value_name = "DIR", default_value = "agent-test-demo", conflicts_with_all = ["serve", "manifest"])]
    out: PathBuf,
    /// Browsers side by side (default: half the cores, at least 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["serve", "manifest"])]
    workers: Option<u32>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let options = Options { port: args.port, fixed: args.fixed, renamed: args.rename };
    let ui = &context.ui;
    if args.manifest {
        let manifest = demo::manifest_with(&options)?;
        let text = serde_json::to_string_pretty(&manifest)
            .map_err(|error| Failure::engine("demo_manifest", format!("cannot write the demo's manifest: {error}")))?;
        ui.raw(text);
        return Ok(Exit::Ok);
    }
    if !args.serve {
        return super::block_on(campaign(context, options, &args.out, args.workers))?;
    }
    let ledger = demo::serve_until_signal(options, |server| {
        ui.out(server.url.as_str());
        ui.json(&json!({ "url": server.url, "pid": std::process::id() }));
        ui.note(format!("demo: sign in as {} with {}; Ctrl-C stops the server", demo::USERNAME, demo::PASSWORD));
    })?;
    ui.note(format!(
        "demo: {} requests, {} changes, {} deleted",
        ledger.requests,
        ledger.mutations.len(),
        ledger.deleted
    ));
    Ok(Exit::Ok)
}

/// Tests the demo and scores what was found.
async fn campaign(context: &Context, options: Options, out: &Path, workers: Option<u32>) -> Result<Exit, Failure> {
    let manifest = demo::manifest_with(&options)?;
    let stop = super::signals::stop_on_signal(&context.ui)?;
    refuse_strangers(context, out)?;
    let server = demo::Server::start(options).await?;
    store::create_dir(out)?;
    store::write_atomic(&out.join(ROUTE_MAP), demo::route_map().as_bytes())?;
    let project = Project::open(out, context.clock.clone());
    let settings = Overrides { workers, ..Overrides::default() };
    project.init(&InitRequest {
        project: PROJECT.to_owned(),
        base_url: server.url.to_string(),
        routes: manifest.routes.iter().map(|entry| Route::parse(&entry.route)).collect::<Result<_, _>>()?,
        settings: settings.clone(),
        force: true,
    })?;
    context.ui.note(format!("demo: testing {} with its reports in {}", server.url, out.display()));
    let workshop = WorkshopOptions {
        base: server.url.clone(),
        settings: Settings::from(settings),
        webdriver: None,
        known: Vec::new(),
        confirm: true,
        campaign: None,
        credentials: Some(Credentials { username: demo::USERNAME.to_owned(), password: demo::PASSWORD.to_owned() }),
    };
    let outcome = super::run::drive(context, &project, &workshop, stop).await?;
    let ledger = server.ledger();
    server.shutdown().await;
    let state = project.read()?;
    let aggregate = campaign::aggregate(&project, &state);
    let reports: Vec<RouteReport> = aggregate.routes.iter().map(|part| part.report.clone()).collect();
    let score = demo::score(&manifest, &reports, &ledger);
    let failure = super::run::stopped(&outcome.ended).map(|failure| match outcome.ended {
        Ended::Interrupted => failure.hinted("the demo's application ended with it; `agent-test demo` begins anew"),
        _ => failure,
    });
    let exit = match &failure {
        Some(failure) => failure.exit,
        None if score.is_perfect() && state.failed().is_empty() => Exit::Ok,
        None => Exit::Found,
    };
    let html = out.join(REPORTS_DIR).join("FINAL-REPORT.html");
    let mut document = json!({
        "directory": out.display().to_string(),
        "score": score,
        "notTested": state.failed().iter().map(|entry| &entry.route).collect::<Vec<_>>(),
        "report": failure.is_none().then(|| html.display().to_string()),
        "exitCode": exit.code(),
    });
    if let Some(failure) = &failure {
        document["error"] = json!({ "code": failure.code, "message": failure.message, "hint": failure.hint });
    }
    context.ui.json(&document);
    context.ui.out(text(&score, &state));
    match failure {
        Some(failure) => context.ui.error(&failure),
        None => context.ui.out(format!("report            {}", html.display())),
    }
    Ok(exit)
}

/// The demo's directory is new, empty, or an earlier demo's.
fn refuse_strangers(context: &Context, out: &Path) -> Result<(), Failure> {
    let project = Project::open(out, context.clock.clone());
    let is_ours =
        if project.has_state() { project.read()?.project() == PROJECT } else { store::file_names(out)?.is_empty() };
    if is_ours {
        return Ok(());
    }
    Err(Failure::usage("not_empty", format!("cannot put the demo into `{}`: it holds something else", out.display()))
        .hinted("name a new directory with --out"))
}

fn text(score: &Score, state: &crate::state::State) -> String {
    let list = |ids: Vec<String>| if ids.is_empty() { String::new() } else { format!("\n  {}", ids.join("\n  ")) };
    let mut out = format!("planted bugs      {} of {} found", score.found.len(), score.planted);
    if !score.missed.is_empty() {
        out.push_str(&format!(", missed:{}", list(score.missed.clone())));
    }
    let false_bugs = score
        .false_bugs
        .iter()
        .map(|bug| {
            let kind = bug.kind.as_ref().map_or_else(|| "bug".to_owned(), ToString::to_string);
            format!("{kind} at {}: {}", bug.location, bug.description)
        })
        .collect();
    out.push_str(&format!("\nfalse bugs        {}{}", score.false_bugs.len(), list(false_bugs)));
    out.push_str(&format!("\nelements          {} of {} visited", score.elements_visited, score.elements_listed));
    if !score.elements_missed.is_empty() {
        let missed =
            score.elements_missed.iter().map(|missed| format!("{} > {}", missed.route, missed.path.join(" > ")));
        out.push_str(&format!(", missed:{}", list(missed.collect())));
    }
    out.push_str(&format!("\ndeleted           {}\nchanged           {}", score.deleted, score.mutations));
    if !state.failed().is_empty() {
        let failed = state.failed().iter().map(|entry| entry.route.to_string()).collect();
        out.push_str(&format!("\nnot tested        {}{}", state.failed().len(), list(failed)));
    }
    out
}
