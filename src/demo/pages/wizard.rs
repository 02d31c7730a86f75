//! `/wizard`: three steps in a dialog; the second has a bug.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry, input};
use crate::demo::shell::{KIT, View, field};
use crate::maze::ActionResult::{ContentChanged, DialogOpened, Error, NoResponse, Refused, Skipped, WizardOpened};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    let next = view.name("wizard-next");
    view.page(
        "Onboarding",
        "Set up a warehouse in three steps",
        &html! { button.primary data-act="wizard" { "Start setup" } },
        &html! {
            div.card {
                h2 { "Before you start" }
                details { summary { "What do I need?" } p { "The address of the warehouse and two minutes." } }
            }
            dialog #wizard aria-label="Warehouse setup" {
                h2 { "Warehouse setup" }
                ol.steps { li.on { "Warehouse" } li { "Address" } li { "Review" } }
                div data-step="1" {
                    (field("Warehouse name", "warehouse", "text", "North pier"))
                    label.check { input type="radio" name="size" value="small" checked; "Small" }
                    label.check { input type="radio" name="size" value="large"; "Large" }
                    div.feet { button data-close { "Cancel setup" } button.primary data-act="next" { (next) } }
                }
                div data-step="2" hidden {
                    (field("Postcode", "postcode", "text", "20457"))
                    button data-act="postcode" { "Look up postcode" }
                    p #city .said {}
                    div.feet { button data-close { "Cancel setup" } button data-act="back" { "Back" } button.primary data-act="next" { (next) } }
                }
                div data-step="3" hidden {
                    p { "North pier, 20457" }
                    label.check { input type="checkbox" role="switch" aria-label="Send me a summary"; "Send me a summary" span.state.said { "Off" } }
                    div.feet { button data-close { "Cancel setup" } button data-act="back" { "Back" } button.primary data-api="POST /api/wizard" data-done="Warehouse created" { "Finish" } }
                }
            }
        },
        KIT,
    )
}

/// Its elements: each step's are children of the Next that leads to it.
pub(in crate::demo) fn elements() -> Vec<Element> {
    let closes = |label| button(label, &[ContentChanged]);
    vec![
        input("What do I need?", "button", &[ContentChanged]),
        button("Start setup", &[WizardOpened, DialogOpened]).with_dialog(vec![
            entry("Warehouse name", "textbox"),
            input("Small", "radio", &[NoResponse, Skipped, ContentChanged]),
            input("Large", "radio", &[ContentChanged, Skipped, NoResponse]),
            closes("Cancel setup"),
            button("Next", &[ContentChanged, WizardOpened]).with(vec![
                entry("Postcode", "textbox"),
                button("Look up postcode", &[Error]),
                closes("Back"),
                button("Next", &[ContentChanged, WizardOpened]).with(vec![
                    input("Send me a summary", "switch", &[ContentChanged, Skipped]),
                    button("Finish", &[Refused, ContentChanged]),
                ]),
            ]),
        ]),
    ]
}
