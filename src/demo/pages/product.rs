//! `/products/1`: the detail page with header actions and tabs.

use maud::{Markup, html};

use crate::demo::data::Product;
use crate::demo::element::{Element, button, field as entry, link, tab};
use crate::demo::shell::{KIT, View, dialog, field};
use crate::maze::ActionResult::{
    ConfirmationDialog, ContentChanged, DialogOpened, Error, NoResponse, PageNavigated, Refused,
};

/// The page.
pub(in crate::demo) fn page(view: &View, product: &Product) -> Markup {
    let id = product.id;
    let actions = html! {
        button data-act="follow" aria-pressed="false" { "Follow" }
        button data-open="price" { "Change price" }
        button.danger data-open="retire" { "Retire product" }
    };
    let tabs = [("overview", "Overview"), ("stock", "Stock history"), ("suppliers", "Suppliers")];
    view.page(
        &product.name,
        "Product",
        &actions,
        &html! {
            p { a href="/products" { "Back to list" } }
            div.card {
                div role="tablist" aria-label="Product" {
                    @for (at, (key, label)) in tabs.iter().enumerate() {
                        button role="tab" aria-selected=(if at == 0 { "true" } else { "false" })
                            aria-controls=(format!("tab-{key}"))
                            data-act=[(*key == "suppliers").then_some("suppliers")] { (label) }
                    }
                }
                div #tab-overview role="tabpanel" {
                    div.bar {
                        img.photo src=(format!("/photos/{id}.svg")) alt="Product photo";
                        div { p { "Price " b { "€ " (product.price) } } p { "In stock " b { (product.stock) } } span.pill.good { (product.status) } }
                    }
                    button data-fold aria-expanded="false" aria-controls="dimensions" { "Dimensions" }
                    p #dimensions .said hidden { "18 × 18 × 42 cm, 1.3 kg" }
                }
                div #tab-stock role="tabpanel" hidden {
                    p { "Counted on Friday: " (product.stock) " pieces." }
                    button data-get=(format!("/api/products/{id}/history")) data-into="#history" { "Load older counts" }
                    p #history .said {}
                }
                div #tab-suppliers role="tabpanel" hidden { p #suppliers-said { "Loading…" } }
            }
            (dialog("price", "Change price", &field("New price", "price", "number", &product.price.to_string()), &html! {
                button data-close { "Cancel" }
                button.primary data-api=(format!("PUT /api/products/{id}")) data-form="yes" { "Save price" }
            }))
            dialog #retire role="alertdialog" aria-label="Retire product" {
                h2 { "Retire this product?" }
                p { "Customers no longer see it." }
                div.feet { button data-close { "Keep selling" } button.solid data-api=(format!("POST /api/products/{id}/retire")) { "Retire now" } }
            }
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    let closes = |label| button(label, &[ContentChanged]);
    vec![
        button("Follow", &[ContentChanged]),
        button("Change price", &[DialogOpened]).with_dialog(vec![
            entry("New price", "spinbutton"),
            closes("Cancel"),
            button("Save price", &[Refused, ContentChanged]),
        ]),
        button("Retire product", &[ConfirmationDialog, DialogOpened])
            .with_dialog(vec![closes("Keep selling"), button("Retire now", &[Refused, ContentChanged])]),
        link("Back to list", &[PageNavigated]),
        tab("Overview", &[NoResponse, ContentChanged]).with(vec![button("Dimensions", &[ContentChanged])]),
        tab("Stock history", &[ContentChanged]).with(vec![button("Load older counts", &[ContentChanged])]),
        tab("Suppliers", &[Error, ContentChanged]),
    ]
}
