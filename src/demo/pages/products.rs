//! `/products`: the list with toolbar, nested dialogs, a dropdown with submenu, row actions and a Delete that deletes.

use maud::{Markup, PreEscaped, html};

use crate::demo::data::Product;
use crate::demo::element::{Element, button, field as entry, input, link, menu_item, trigger};
use crate::demo::manifest::Place;
use crate::demo::shell::{View, dialog, field};
use crate::maze::ActionResult::{
    ConfirmationDialog, ContentChanged, DialogOpened, DownloadStarted, DropdownOpened, Error, NoResponse, NotClickable,
    PageNavigated, Refused, Skipped, SubmenuOpened, ToastNotification,
};

fn toolbar(view: &View) -> Markup {
    html! {
        div.bar {
            button.primary data-open="create" data-testid=[view.test_id("products-create")] { (view.name("products-create")) }
            span.wrap {
                button data-menu aria-haspopup="menu" aria-expanded="false" { "Export" }
                div.menu role="menu" hidden {
                    a role="menuitem" href="/api/products/export.csv" download { "CSV" }
                    a role="menuitem" href="/api/products/export.json" download { "JSON" }
                    div.wrap {
                        button role="menuitem" data-menu aria-haspopup="menu" aria-expanded="false" { "More formats" }
                        div.menu.beside role="menu" hidden {
                            button role="menuitem" data-open="xml" { "XML…" }
                            button role="menuitem" data-toast="The spreadsheet is on its way" { "Spreadsheet" }
                        }
                    }
                }
            }
            button data-act="compare" { (view.name("products-compare")) }
            button #bulk data-act="archive" disabled { "Archive selected" }
            span #picked .said {}
        }
        div.bar {
            input #query type="search" placeholder="Filter by name" aria-label="Filter by name";
            button data-act="lookup" { "Search" }
            select #status aria-label="Status" {
                option value="" { "Any status" }
                @for status in ["Active", "Draft", "Retired"] { option { (status) } }
            }
            span #looked .said {}
        }
    }
}

fn dialogs() -> Markup {
    let cancel = html! { button data-close { "Cancel" } };
    html! {
        (dialog("create", "Create a product", &html! {
            (field("Product name", "name", "text", ""))
            (field("Price in euro", "price", "number", "20"))
            p #advanced-said .said {}
            button data-open="advanced" { "Advanced" }
        }, &html! { (cancel) button.primary data-act="create" { "Save product" } }))
        (dialog("advanced", "Advanced options", &html! {
            (field("Supplier code", "supplier", "text", "Q-17"))
            label.check { input type="checkbox" name="track" role="switch" aria-label="Track stock" checked; "Track stock" span.state.said { "On" } }
        }, &html! { button data-close { "Back" } button.primary data-act="applyAdvanced" { "Apply options" } }))
        (dialog("edit", "Edit product", &field("New name", "name", "text", ""),
            &html! { (cancel) button.primary data-act="saveEdit" { "Save edit" } }))
        dialog #confirm role="alertdialog" aria-label="Delete product" {
            h2 { "Delete product?" }
            p { b #doomed {} " is removed for good. This cannot be undone." }
            div.feet { button data-close { "Keep product" } button.solid data-act="reallyDelete" { "Delete for good" } }
        }
        (dialog("xml", "Export as XML", &html! {
            label.check { input type="checkbox" role="switch" aria-label="Include retired"; "Include retired" span.state.said { "Off" } }
            pre #xml-preview {}
        }, &html! { button data-act="xmlPreview" { "Preview" } button data-close { "Close export" } }))
    }
}

/// The page.
pub(in crate::demo) fn page(view: &View, products: &[Product]) -> Markup {
    // `<` is the only character that could end the script element early.
    let data = serde_json::to_string(products).unwrap_or_else(|_| "[]".to_owned()).replace('<', "\\u003c");
    view.page(
        "Products",
        "Everything on the shelves",
        &html! {},
        &html! {
            (toolbar(view))
            div.card.flush {
                table {
                    thead { tr {
                        th { input type="checkbox" aria-label="Select all products" onchange="kit.acts.selectAll(this)"; }
                        @for (key, label) in [("name", "Name"), ("price", "Price"), ("stock", "Stock")] {
                            th aria-sort="none" { button.plain data-act="sort" data-key=(key) { (label) } }
                        }
                        th { "State" } th {}
                    } }
                    tbody #rows {}
                }
                div #pager .pager {}
            }
            (dialogs())
            script #products-data type="application/json" { (PreEscaped(data)) }
        },
        &["app.js", "products.js"],
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    let closes = |label| button(label, &[ContentChanged]);
    vec![
        button("Create product", &[DialogOpened]).with_dialog(vec![
            entry("Product name", "textbox"),
            entry("Price in euro", "spinbutton"),
            button("Advanced", &[DialogOpened]).with_dialog(vec![
                entry("Supplier code", "textbox"),
                input("Track stock", "switch", &[ContentChanged, Skipped]),
                closes("Back"),
                closes("Apply options"),
            ]),
            closes("Cancel"),
            button("Save product", &[Refused, ContentChanged]),
        ]),
        trigger("Export", &[DropdownOpened]).with(vec![
            menu_item("CSV", &[DownloadStarted]),
            menu_item("JSON", &[DownloadStarted]),
            menu_item("More formats", &[SubmenuOpened, DropdownOpened]).with(vec![
                menu_item("XML…", &[DialogOpened]).with_dialog(vec![
                    input("Include retired", "switch", &[ContentChanged, Skipped]),
                    button("Preview", &[Error]),
                    closes("Close export"),
                ]),
                menu_item("Spreadsheet", &[ToastNotification]),
            ]),
        ]),
        button("Compare", &[NoResponse]),
        button("Archive selected", &[NotClickable]),
        input("Filter by name", "searchbox", &[Skipped, ContentChanged, NoResponse]),
        button("Search", &[ContentChanged]),
        entry("Status", "combobox"),
        input("Select all products", "checkbox", &[ContentChanged, Skipped]),
        button("Name", &[ContentChanged]),
        button("Price", &[ContentChanged]),
        button("Stock", &[ContentChanged]),
        button("Previous", &[NotClickable]),
        button("Page 2", &[ContentChanged]),
        button("Page 3", &[ContentChanged]),
        button("Next", &[ContentChanged]),
        input("Select Aurora Desk Lamp", "checkbox", &[ContentChanged, Skipped]).in_place(Place::Row),
        link("Aurora Desk Lamp", &[PageNavigated]).in_place(Place::Row),
        button("Edit", &[DialogOpened])
            .with_dialog(vec![
                entry("New name", "textbox"),
                closes("Cancel"),
                button("Save edit", &[Refused, ContentChanged]),
            ])
            .in_place(Place::Row),
        button("Duplicate", &[Refused, ContentChanged]).in_place(Place::Row),
        button("Delete", &[ConfirmationDialog, DialogOpened, Refused])
            .with_dialog(vec![closes("Keep product"), button("Delete for good", &[Refused])])
            .in_place(Place::Row),
        trigger("More", &[DropdownOpened])
            .with(vec![
                menu_item("View details", &[PageNavigated]),
                menu_item("Copy link", &[ToastNotification]),
                menu_item("Print label", &[NoResponse, ContentChanged]),
            ])
            .in_place(Place::Row),
    ]
}
