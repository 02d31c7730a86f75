//! `FINAL-REPORT.html`: one file that works offline, with scripts off too.
//!
//! The maze map of a route is a tree of native `<details>`, so it unfolds without a script; connectors are drawn by the
//! style sheet. Each screenshot is in the file once, as a `<symbol>`, and is shown by reference wherever it belongs. When
//! all screenshots together pass [`EMBED_LIMIT_BYTES`], they are linked from their folders in place of that. The content security
//! policy allows this page's own script by its hash and nothing else. Maps lie in `<noscript>`: without a script they are
//! shown, with one they are parsed when they are unfolded, so that tens of thousands of nodes open at once.

mod map;
mod page;
mod shots;

use base64::Engine;
use maud::{DOCTYPE, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::aggregate::Aggregate;
use shots::Shots;

/// Screenshots up to this sum are put into the page.
pub const EMBED_LIMIT_BYTES: usize = 40 * 1024 * 1024;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Renders the campaign's report as one HTML page.
///
/// `read` gives the bytes of a screenshot by its path relative to the project root, when there is such a file; it is
/// called once per file, with paths below the routes' screenshots folders only.
#[must_use]
pub fn final_html(campaign: &Aggregate, read: impl Fn(&str) -> Option<Vec<u8>>) -> String {
    render(campaign, read, EMBED_LIMIT_BYTES)
}

/// [`final_html`] with another limit.
pub(super) fn render(campaign: &Aggregate, read: impl Fn(&str) -> Option<Vec<u8>>, embed_limit: usize) -> String {
    let shots = Shots::load(campaign, &read, embed_limit);
    let policy = format!(
        "default-src 'none'; img-src data: file: 'self'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let title = format!("Final Report: {}", super::markdown::one_line(&campaign.project, 100));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("agent-test ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                (PreEscaped(super::digest_line(&campaign.digest)))
                style { (PreEscaped(STYLE)) }
            }
            body {
                (page::body(campaign, &shots))
                (shots.symbols())
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn hash(text: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A text for a fragment identifier in a link.
fn fragment(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC).to_string()
}
