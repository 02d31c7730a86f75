//! `/app#/inbox` and `/app#/archive`: hash routes.

use maud::{Markup, html};

use crate::demo::element::{Element, button, field as entry, link};
use crate::demo::shell::{View, dialog, field};
use crate::maze::ActionResult::{ContentChanged, DialogOpened, NoResponse, NotClickable, PageNavigated, Refused};

/// The one document of both routes.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Messages",
        "Mail of the workspace",
        &html! {},
        &html! {
            div #folders .bar { a.button href="#/inbox" { "Inbox" } a.button href="#/archive" { "Archive" } }
            h2 #mailbox-title {}
            div #mailbox {}
            (dialog("compose", "New message", &html! {
                (field("Recipient", "to", "text", "")) (field("Subject line", "subject", "text", ""))
            }, &html! { button data-close { "Close draft" } button.primary data-api="POST /api/messages" data-form="yes" data-done="Message sent" { "Send message" } }))
        },
        &["app.js", "mailbox.js"],
    )
}

fn folders() -> Vec<Element> {
    let folder = |label| link(label, &[PageNavigated, ContentChanged, NoResponse]);
    vec![folder("Inbox"), folder("Archive")]
}

/// Elements of the inbox.
pub(in crate::demo) fn inbox_elements() -> Vec<Element> {
    let mut elements = folders();
    elements.extend([
        button("Compose", &[DialogOpened]).with_dialog(vec![
            entry("Recipient", "textbox"),
            entry("Subject line", "textbox"),
            button("Close draft", &[ContentChanged]),
            button("Send message", &[Refused, ContentChanged]),
        ]),
        button("Welcome aboard", &[ContentChanged]).with(vec![button("Back to inbox", &[ContentChanged])]),
        button("Star Welcome aboard", &[ContentChanged]),
    ]);
    elements
}

/// Elements of the archive.
pub(in crate::demo) fn archive_elements() -> Vec<Element> {
    let mut elements = folders();
    elements.extend([button("Sort by date", &[ContentChanged]), button("Restore all", &[NotClickable])]);
    elements
}
