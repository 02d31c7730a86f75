//! `/reports`: throws while it loads; a frame with controls of its own.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry, input};
use crate::demo::manifest::Place;
use crate::demo::shell::{KIT, View};
use crate::maze::ActionResult::{ContentChanged, Error};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Reports",
        "Sales by period",
        &html! { button data-act="reload" { "Reload chart" } },
        &html! {
            p #report-summary .said { "Total of the quarter: € 48,200" }
            p #reloaded .said {}
            iframe src="/reports/frame" title="Sales chart" {}
            div.card {
                button data-fold aria-expanded="false" aria-controls="as-table" { "Show as table" }
                table #as-table hidden { tr { th { "Month" } th { "Sales" } } tr { td { "April" } td { "€ 15,900" } } tr { td { "May" } td { "€ 17,200" } } }
            }
        },
        KIT,
    )
}

/// The document inside the frame.
pub(in crate::demo) fn frame(view: &View) -> Markup {
    view.bare(
        "Sales chart",
        &html! {
            main {
                div.bar {
                    select #period aria-label="Period" { option { "Quarter" } option { "Month" } option { "Week" } }
                    button data-act="drill" { "Drill down" }
                    button data-act="zoom" { "Zoom in" }
                    button data-act="fit" { "Fit chart" }
                    span #zoom .said { "Zoom 1.0" }
                }
                div.chart { @for height in [40, 64, 52, 88, 71, 95] { div style=(format!("height:{height}%")) {} } }
                p #drilled .said {}
                details { summary { "How is this counted?" } p { "Paid orders, without shipping." } }
            }
        },
        KIT,
    )
}

/// Its elements, those of the frame included.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Reload chart", &[ContentChanged]),
        button("Show as table", &[ContentChanged]),
        entry("Period", "combobox").in_place(Place::Iframe),
        button("Drill down", &[Error, ContentChanged]).in_place(Place::Iframe),
        button("Zoom in", &[ContentChanged]).in_place(Place::Iframe),
        button("Fit chart", &[ContentChanged]).in_place(Place::Iframe),
        input("How is this counted?", "button", &[ContentChanged]).in_place(Place::Iframe),
    ]
}
