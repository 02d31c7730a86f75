//! `/help`: windows, downloads, links out, an anchor, placeholders.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry, input, link};
use crate::demo::shell::{KIT, View, dialog, field};
use crate::maze::ActionResult::{
    ContentChanged, DialogOpened, DownloadStarted, Error, FileChooser, NewWindow, NoResponse, OutOfScope,
    PageNavigated, Refused, Skipped,
};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Help",
        "Guides and contacts",
        &html! { button data-act="print" { "Print page" } },
        &html! {
            div.grid.two {
                div.card {
                    h2 { "Read" }
                    p { a href="/help/guide" target="_blank" { "Guide in a new window" } }
                    p { a href="/help/release-notes" data-testid=[view.test_id("help-release-notes")] { (view.name("help-release-notes")) } }
                    p { a href="/help/handbook.txt" download { "Download handbook" } }
                    p { a href="http://127.0.0.1:9/vendor" { "Vendor site" } }
                }
                div.card {
                    h2 { "Talk" }
                    p { button data-act="chat" { "Open chat" } " " button data-open="support" { "Contact support" } }
                    p { a href="#" { "Community (soon)" } }
                    p { a href="#contact" { "Jump to contact" } }
                    p { a href="/help" { "This page" } }
                    label.field { span { "Attach a log" } input #attach type="file"; }
                    p #attached .said {}
                }
            }
            p #printed .said {}
            div.card style="margin-top:420px" { h2 #contact { "Contact" } p { "Harbour street 1, weekdays from 9 to 17." } }
            (dialog("support", "Contact support", &field("Your question", "question", "text", ""), &html! {
                button data-close { "Never mind" } button.primary data-api="POST /api/support" data-form="yes" data-done="Question sent" { "Send question" }
            }))
        },
        KIT,
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Print page", &[ContentChanged]),
        link("Guide in a new window", &[NewWindow]),
        link("Release notes", &[Error, PageNavigated]),
        link("Download handbook", &[DownloadStarted]),
        link("Vendor site", &[OutOfScope]),
        button("Open chat", &[NewWindow]),
        button("Contact support", &[DialogOpened]).with_dialog(vec![
            entry("Your question", "textbox"),
            button("Never mind", &[ContentChanged]),
            button("Send question", &[Refused, ContentChanged]),
        ]),
        link("Community (soon)", &[NoResponse, PageNavigated, ContentChanged]),
        link("Jump to contact", &[NoResponse, PageNavigated, ContentChanged]),
        link("This page", &[NoResponse, PageNavigated]),
        input("Attach a log", "button", &[FileChooser, Skipped]),
    ]
}
