//! `/exports`: one button hangs the page.

use maud::{Markup, html};

use crate::demo::element::{Element, button};
use crate::demo::shell::{KIT, View};
use crate::maze::ActionResult::{ContentChanged, Error};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Exports",
        "Everything in one archive",
        &html! {},
        &html! {
            div.card {
                p { "The archive holds products, orders and customers." }
                button data-act="estimate" { "Estimate size" } " "
                button data-act="archive" { "Build archive" }
                p #estimate .said {}
            }
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![button("Estimate size", &[ContentChanged]), button("Build archive", &[Error])]
}
