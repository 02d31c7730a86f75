//! `/`: cards, a chart, lazy content, a link to a document that answers 500.

use maud::{Markup, html};

use crate::demo::element::{Element, button, link, tab};
use crate::demo::shell::{KIT, View};
use crate::maze::ActionResult::{ContentChanged, Error, NoResponse, PageNavigated};

const WEEK: [(&str, u32); 7] =
    [("Mon", 52), ("Tue", 68), ("Wed", 61), ("Thu", 84), ("Fri", 97), ("Sat", 73), ("Sun", 44)];

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    let bars = |factor: u32| {
        html! {
            div.chart role="img" aria-label="Orders per day" {
                @for (day, height) in WEEK { div style=(format!("height:{}%", (height * factor / 100).max(8))) { span { (day) } } }
            }
            p { br; }
        }
    };
    let actions = html! {
        button data-act="numbers" { "Refresh numbers" }
        a.button href="/status" { "System status" }
    };
    view.page(
        "Dashboard",
        "How the shop is doing today",
        &actions,
        &html! {
            div.banner { span.grow { "Summer collection goes live on Friday." } button.plain data-act="dismiss" { "Dismiss" } }
            div.grid {
                a.card.metric href="/orders" aria-label="Open orders" { span { "Open orders" } b { "3" } }
                a.card.metric href="/products" aria-label="Products on sale" { span { "Products on sale" } b { "14" } }
                div.card.metric { span { "Revenue this week" } b { "€ 4,812" } }
                div.card.metric { span { "Returns" } b { "1.8 %" } }
            }
            p #fresh .said {}
            div.card {
                h2 { "Orders" }
                div role="tablist" aria-label="Range" {
                    button role="tab" aria-selected="true" aria-controls="days7" { "Last 7 days" }
                    button role="tab" aria-selected="false" aria-controls="days30" { "Last 30 days" }
                }
                div #days7 role="tabpanel" { (bars(100)) }
                div #days30 role="tabpanel" hidden { (bars(70)) p { "Average of four weeks" } }
            }
            div #lazy .card data-scope { div.skeleton {} }
            // Another origin's picture that never loads: noise, not this application's fault.
            p.said { "Partner of the month " img src="http://127.0.0.1:9/partner.png" alt="Partner" width="16" height="16"; }
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Refresh numbers", &[ContentChanged]),
        link("System status", &[Error, PageNavigated]),
        button("Dismiss", &[ContentChanged]),
        link("Open orders", &[PageNavigated]),
        link("Products on sale", &[PageNavigated]),
        tab("Last 7 days", &[NoResponse, ContentChanged]),
        tab("Last 30 days", &[ContentChanged]),
        button("Next tip", &[ContentChanged]),
    ]
}
