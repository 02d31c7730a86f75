//! `/activity`: a page that is never quite still, for good reasons; one button alerts an error.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry};
use crate::demo::shell::{KIT, View};
use crate::maze::ActionResult::{ContentChanged, Error};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Activity",
        "What happens right now",
        &html! {
            span.said { span.spin.small aria-hidden="true" {} " live " span #clock { "--:--:--" } }
            button data-act="pause" { "Pause" }
            button data-act="replay" { "Replay last event" }
        },
        &html! {
            div.bar { select #kind aria-label="Kind of event" { option { "All kinds" } option { "Stock" } option { "Orders" } } span.said { "Events seen: " span #seen { "0" } } span #count .said { "10 of 30 events" } }
            p #replayed .said {}
            div.card {
                ul #feed .feed {
                    @for shelf in 1..=10 {
                        li {
                            span.pill { "stock" }
                            @if shelf == 1 {
                                span.grow { "Shelf 1 was counted " span #event-1 .said hidden { "by Jonas, 42 pieces" } }
                                button.plain data-fold aria-expanded="false" aria-controls="event-1" { "Event details" }
                            } @else {
                                span.grow { "Shelf " (shelf) " was counted" }
                            }
                        }
                    }
                }
                div #sentinel {}
                p { br; button #more data-act="more" { "Load more" } }
            }
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Pause", &[ContentChanged]),
        button("Replay last event", &[Error]),
        entry("Kind of event", "combobox"),
        button("Event details", &[ContentChanged]),
        button("Load more", &[ContentChanged]),
    ]
}
