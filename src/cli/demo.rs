//! `agent-test demo`: the embedded application.

use serde_json::json;

use super::Context;
use crate::demo::{self, Options};
use crate::exit::{Exit, Failure};

/// The embedded demo application: an admin tool with planted bugs
///
/// Sign in as `admin` with the password `demo-pass-1`. The server listens on 127.0.0.1 and stops on Ctrl-C. What
/// reached it is at `/api/demo/ledger`, what is in it and wrong with it at `/api/demo/manifest`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Serve the application until Ctrl-C; the first line on stdout is its address
    #[arg(long, conflicts_with = "manifest", required_unless_present = "manifest")]
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
