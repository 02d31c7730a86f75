//! `/insights`: stays blank after the load.

use maud::{Markup, html};

use crate::demo::element::Element;
use crate::demo::shell::{KIT, View};

/// The page; with the bug, an empty root that no script fills.
pub(in crate::demo) fn page(view: &View) -> Markup {
    if view.live("insights-blank") {
        return view.bare("Insights", &html! { div #root {} }, &[]);
    }
    view.page(
        "Insights",
        "What the numbers say",
        &html! {},
        &html! { div.card { p { "Lamps sell best on rainy days." } } },
        KIT,
    )
}

/// Its elements: none.
pub(in crate::demo) fn elements() -> Vec<Element> {
    Vec::new()
}
