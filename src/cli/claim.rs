//! `agent-test claim`.

use serde_json::json;

use super::{Context, parse_routes};
use crate::env;
use crate::exit::{Exit, Failure};
use crate::settings::{self, Config, Settings};
use crate::state::{ClaimPhase, ClaimRequest, DEFAULT_LEASE, Next, Project, REPORTS_DIR, SCREENSHOTS_DIR, parse_lease};

/// Which routes, for what, for how long.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// These routes, all or none (default: the next free ones)
    #[arg(value_name = "ROUTE", conflicts_with = "batch")]
    routes: Vec<String>,
    /// How many of the next free routes (default: the campaign's batch size)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// What the routes are claimed for
    #[arg(long, value_enum, default_value_t = Phase::Test)]
    phase: Phase,
    /// Who claims (default: the session that AGENT_TEST_SESSION names, or this process)
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long the lease lives without a heartbeat, such as 90s, 15m or 1h (default: 15m)
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Test,
    Review,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let project = context.project();
    let routes = parse_routes(&args.routes)?;
    let lease = match &args.lease {
        Some(text) => {
            parse_lease(text).map_err(|problem| Failure::usage("bad_argument", format!("--lease: {problem}")))?
        }
        None => DEFAULT_LEASE,
    };
    let batch = match args.batch {
        Some(batch) => batch,
        None => {
            let config = settings::resolve(Config::default(), &context.project, project.read_settings()?)?;
            let settings = Settings::from(config.settings);
            if args.phase == Phase::Review { settings.review_batch_size } else { settings.batch_size }
        }
    };
    let worker =
        args.worker.or_else(|| env::get(env::SESSION)).unwrap_or_else(|| format!("process {}", std::process::id()));
    let phase = if args.phase == Phase::Review { ClaimPhase::Review } else { ClaimPhase::Test };
    let request = ClaimRequest { routes, batch: batch as usize, phase, worker, lease };
    let claims = project.claim(&request)?;
    if claims.is_empty() {
        return nothing(context, &project, &request);
    }
    let documents: Vec<_> = claims
        .iter()
        .map(|claim| {
            json!({
                "route": claim.route,
                "slug": claim.slug,
                "token": claim.token,
                "phase": claim.phase,
                "expiresAt": claim.expires_at,
                "reportFile": format!("{REPORTS_DIR}/{}.json", claim.slug),
                "screenshotsDir": format!("{SCREENSHOTS_DIR}/{}/", claim.slug),
                "bugReportFile": format!("{REPORTS_DIR}/{}-bugs.md", claim.slug),
            })
        })
        .collect();
    let lines: Vec<String> = claims.iter().map(|claim| format!("{}  {}", claim.token, claim.route)).collect();
    let document = json!({ "claims": documents, "worker": request.worker });
    context.answer(document, lines.join("\n"))
}

/// Nothing is free: says what the campaign waits for, and what to claim in its phase.
fn nothing(context: &Context, project: &Project, request: &ClaimRequest) -> Result<Exit, Failure> {
    let next = project.next(&project.read()?)?;
    let review = matches!(&next, Next::Review { free, .. } if !free.is_empty()) && request.phase != ClaimPhase::Review;
    let testing = matches!(&next, Next::Testing { free, .. } if !free.is_empty());
    let hint = if review {
        "nothing is left to test; take routes to review with `agent-test claim --phase review`"
    } else if testing && request.phase == ClaimPhase::Review {
        "nothing waits for review yet; take routes to test with `agent-test claim`"
    } else {
        "no route is free to claim; `agent-test status` shows what the campaign waits for"
    };
    context.ui.note(hint);
    context.ui.json(&json!({
        "claims": [],
        "worker": request.worker,
        "phase": next.phase(),
        "hint": hint,
        "exitCode": 0,
    }));
    Ok(Exit::Ok)
}
