//! `/orders`: status tabs, delegated row clicks, a native confirm.

use maud::{Markup, html};

use crate::demo::data::ORDERS;
use crate::demo::element::{Element, button, input, tab, trigger};
use crate::demo::manifest::Place;
use crate::demo::shell::View;
use crate::maze::ActionResult::{ConfirmationDialog, ContentChanged, DropdownOpened, Error, NoResponse, Refused};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    let tone = |status: &str| match status {
        "Open" => "pill warn",
        "Shipped" => "pill good",
        _ => "pill",
    };
    view.page(
        "Orders",
        "Six orders this week",
        &html! {
            button data-act="refresh" { (view.name("orders-refresh")) }
            button data-act="totals" { "Recalculate totals" }
            span.wrap {
                button data-menu aria-haspopup="menu" aria-expanded="false" { "Columns" }
                div.menu.right role="menu" hidden {
                    button role="menuitemcheckbox" aria-checked="true" data-act="column" data-name="channel" { "Show channel" }
                    button role="menuitemcheckbox" aria-checked="true" data-act="column" data-name="total" { "Show total" }
                }
            }
        },
        &html! {
            div role="tablist" aria-label="Status of the order" {
                @for (label, status) in [("All orders", ""), ("Open", "Open"), ("Shipped", "Shipped"), ("Cancelled", "Cancelled")] {
                    button role="tab" aria-selected=(if status.is_empty() { "true" } else { "false" }) data-act="status" data-status=(status) { (label) }
                }
            }
            p #shown .said { "6 orders shown" }
            p #tracked .said {}
            div #panel .card hidden {
                h2 #panel-title {}
                p #panel-text {}
                button data-act="closePanel" { "Close panel" }
            }
            div.card.flush {
                table {
                    thead { tr { th { "Order" } th { "Customer" } th data-column="channel" { "Channel" } th data-column="total" { "Total" } th { "Status" } th {} } }
                    tbody #orders {
                        @for order in ORDERS {
                            tr.click data-id=(order.id) data-who=(order.who) data-status=(order.status) {
                                td { "#" (order.id) } td { (order.who) } td data-column="channel" { (order.channel) }
                                td data-column="total" { "€ " (order.total) } td { span class=(tone(order.status)) { (order.status) } }
                                td.acts { button data-act="track" { "Track" } " " button.danger data-act="cancel" { "Cancel order" } }
                            }
                        }
                    }
                }
            }
        },
        &["app.js", "orders.js"],
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Refresh", &[Error, ContentChanged]),
        button("Recalculate totals", &[Error]),
        trigger("Columns", &[DropdownOpened]).with(vec![
            input("Show channel", "menuitemcheckbox", &[ContentChanged]).in_place(Place::Menu),
            input("Show total", "menuitemcheckbox", &[ContentChanged]).in_place(Place::Menu),
        ]),
        tab("All orders", &[NoResponse, ContentChanged]),
        tab("Open", &[ContentChanged]),
        tab("Shipped", &[ContentChanged]),
        tab("Cancelled", &[ContentChanged]),
        input("#1001", "row", &[ContentChanged])
            .with(vec![button("Close panel", &[ContentChanged])])
            .in_place(Place::Row),
        button("Track", &[ContentChanged]).in_place(Place::Row),
        button("Cancel order", &[ConfirmationDialog, Refused]).in_place(Place::Row),
    ]
}
