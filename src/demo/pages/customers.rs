//! `/customers`: a dialog that cannot be closed, an unhandled rejection, a 404 that is handled.

use maud::{Markup, html};

use crate::demo::data::CUSTOMERS;
use crate::demo::element::{Element, button, field as entry, link};
use crate::demo::manifest::Place;
use crate::demo::shell::{KIT, View, dialog, field};
use crate::maze::ActionResult::{ContentChanged, DialogOpened, Error, NoResponse, OutOfScope, Refused, Skipped};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Customers",
        "People who buy from us",
        &html! {
            button.primary data-open="add" { "Add customer" }
            button data-act="sync" data-testid=[view.test_id("customers-sync")] { (view.name("customers-sync")) }
            button data-act="merge" { "Merge duplicates" }
        },
        &html! {
            div.bar { button data-act="group" aria-pressed="false" { "Group by plan" } span #group-said .said {} span #avatar-said .said {} }
            div.card.flush {
                table {
                    thead { tr { th { "Customer" } th { "Mail" } th { "Plan" } th {} } }
                    tbody {
                        @for (at, (name, mail, plan)) in CUSTOMERS.iter().enumerate() {
                            tr {
                                td { (name) p.said hidden id=(format!("notes{at}")) { "Prefers deliveries before noon." } }
                                td { a href=(format!("mailto:{mail}")) { (mail) } } td { span.pill { (plan) } }
                                td.acts {
                                    button data-fold aria-expanded="false" aria-controls=(format!("notes{at}")) { "Notes" } " "
                                    button data-act="avatar" { "Check avatar" } " "
                                    button data-api=(format!("POST /api/customers/{}/invite", at + 1)) data-done="Invitation sent" { "Invite" }
                                }
                            }
                        }
                    }
                }
            }
            (dialog("add", "Add customer", &html! {
                (field("Full name", "name", "text", "")) (field("Mail address", "mail", "email", ""))
            }, &html! { button data-close { "Cancel" } button.primary data-api="POST /api/customers" data-form="yes" { "Save customer" } }))
            div #merge .veil hidden {
                div.modal role="dialog" aria-modal="true" aria-label="Merge duplicate customers" {
                    h2 { "Merge duplicate customers" }
                    p { "No duplicates were found." }
                    div.feet { button data-act="mergeClose" { "Close" } button data-act="mergeClose" { "Not now" } }
                }
            }
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    let closes = |label| button(label, &[ContentChanged]);
    let stuck = |label| button(label, &[NoResponse, Error, ContentChanged, Skipped]);
    vec![
        button("Add customer", &[DialogOpened]).with_dialog(vec![
            entry("Full name", "textbox"),
            entry("Mail address", "textbox"),
            closes("Cancel"),
            button("Save customer", &[Refused, ContentChanged]),
        ]),
        button("Sync contacts", &[Error]),
        button("Merge duplicates", &[DialogOpened, Error]).with_dialog(vec![stuck("Close"), stuck("Not now")]),
        button("Group by plan", &[ContentChanged]),
        link("nora@quayside.example", &[OutOfScope, Skipped]).in_place(Place::Row),
        button("Notes", &[ContentChanged]).in_place(Place::Row),
        button("Check avatar", &[ContentChanged]).in_place(Place::Row),
        button("Invite", &[Refused, ContentChanged]).in_place(Place::Row),
    ]
}
