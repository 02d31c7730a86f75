//! `/settings/general` and `/settings/billing`.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry, input, link, tab};
use crate::demo::shell::{KIT, View, dialog, field};
use crate::maze::ActionResult::{
    ConfirmationDialog, ContentChanged, DialogOpened, Error, NoResponse, NotClickable, PageNavigated, Refused, Skipped,
    ToastNotification,
};

/// The general settings.
pub(in crate::demo) fn general(view: &View) -> Markup {
    let switch = |label: &str, on: bool| {
        html! { label.check { input type="checkbox" role="switch" aria-label=(label) checked[on]; (label) span.state.said { @if on { "On" } @else { "Off" } } } }
    };
    view.page(
        "Settings",
        "Profile, notifications and appearance",
        &html! {},
        &html! {
            div.card {
                div role="tablist" aria-label="Settings" {
                    button role="tab" aria-selected="true" aria-controls="profile" { "Profile" }
                    button role="tab" aria-selected="false" aria-controls="mails" { "Mail notices" }
                    button role="tab" aria-selected="false" aria-controls="looks" { "Appearance" }
                }
                div #profile role="tabpanel" data-scope {
                    form onsubmit="return false" {
                        (field("Display name", "display", "text", "Harbour crew"))
                        label.field { span { "Language" } select name="language" aria-label="Language" { option { "English" } option { "Deutsch" } option { "Español" } } }
                        div.bar {
                            button.primary type="button" data-act="save" data-testid=[view.test_id("settings-save")] { (view.name("settings-save")) }
                            button type="button" data-act="revert" { "Revert edits" }
                            button type="button" data-act="connection" data-testid=[view.test_id("settings-connection")] { (view.name("settings-connection")) }
                        }
                        p #reverted .said {}
                    }
                }
                div #mails role="tabpanel" hidden { (switch("Order mails", true)) (switch("Weekly digest", false)) }
                div #looks role="tabpanel" hidden {
                    label.check { input type="radio" name="density" value="comfortable" checked; "Comfortable" }
                    label.check { input type="radio" name="density" value="compact"; "Compact" }
                    p #density .said {}
                }
            }
            div.card {
                h2 { "Danger zone" }
                button.danger data-open="goodbye" { "Delete workspace" }
            }
            dialog #goodbye role="alertdialog" aria-label="Delete workspace" {
                h2 { "Delete the whole workspace?" }
                p { "All products are removed for good." }
                div.feet { button data-close { "Keep workspace" } button.solid data-api="DELETE /api/workspace" data-done="Workspace deleted" { "Delete everything" } }
            }
        },
        KIT,
    )
}

/// Elements of the general settings.
pub(in crate::demo) fn general_elements() -> Vec<Element> {
    vec![
        tab("Profile", &[NoResponse, ContentChanged]).with(vec![
            entry("Display name", "textbox"),
            entry("Language", "combobox"),
            button("Save changes", &[Refused, ContentChanged]),
            button("Revert edits", &[ContentChanged]),
            button("Check connection", &[Error, ToastNotification]),
        ]),
        tab("Mail notices", &[ContentChanged]).with(vec![
            input("Order mails", "switch", &[ContentChanged, Skipped]),
            input("Weekly digest", "switch", &[ContentChanged, Skipped]),
        ]),
        tab("Appearance", &[ContentChanged]).with(vec![
            input("Comfortable", "radio", &[NoResponse, Skipped, ContentChanged]),
            input("Compact", "radio", &[ContentChanged, Skipped]),
        ]),
        button("Delete workspace", &[ConfirmationDialog, DialogOpened, Refused])
            .with_dialog(vec![button("Keep workspace", &[ContentChanged]), button("Delete everything", &[Refused])]),
    ]
}

/// The billing settings.
pub(in crate::demo) fn billing(view: &View) -> Markup {
    view.page(
        "Billing",
        "Plan, invoices and cards",
        &html! { button.primary data-open="plan" { "Change plan" } },
        &html! {
            div.grid.two {
                div.card {
                    h2 { "Team plan" }
                    p { "€ 49 a month, next payment on the first." }
                    button data-api="POST /api/billing/pay" data-done="Paid" { "Pay now" } " "
                    button disabled { "Add card" }
                }
                div.card data-scope {
                    h2 { "Usage" }
                    button data-act="usage" { "Show usage" }
                    p #usage .said {}
                }
            }
            div.card {
                h2 { "Documents" }
                p { a href="/settings/billing/invoice" { "Latest invoice" } }
                p { a href="/settings/billing/methods" { "Payment methods" } }
                button data-fold aria-expanded="false" aria-controls="tax" { "Tax details" }
                p #tax .said hidden { "VAT is charged at 19 %." }
            }
            (dialog("plan", "Change plan", &html! {
                label.check { input type="radio" name="plan" value="team" checked; "Team" }
                label.check { input type="radio" name="plan" value="business"; "Business" }
            }, &html! { button data-close { "Cancel" } button.primary data-api="PUT /api/billing/plan" data-done="Plan changed" { "Confirm plan" } }))
        },
        KIT,
    )
}

/// Elements of the billing settings.
pub(in crate::demo) fn billing_elements() -> Vec<Element> {
    vec![
        button("Change plan", &[DialogOpened]).with_dialog(vec![
            input("Team", "radio", &[NoResponse, Skipped, ContentChanged]),
            input("Business", "radio", &[ContentChanged, Skipped, NoResponse]),
            button("Cancel", &[ContentChanged]),
            button("Confirm plan", &[Refused, ContentChanged]),
        ]),
        button("Pay now", &[Refused, ContentChanged]),
        button("Add card", &[NotClickable]),
        button("Show usage", &[ContentChanged, Error]),
        link("Latest invoice", &[PageNavigated, Error]),
        link("Payment methods", &[PageNavigated, Error]),
        button("Tax details", &[ContentChanged]),
    ]
}
