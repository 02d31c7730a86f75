//! `/widgets`: shadow roots open and closed, popover, accordion, menus by hover and by right click.

use maud::{Markup, html};

use crate::demo::element::{Element, button, input, menu_item, tab, trigger};
use crate::demo::manifest::Place;
use crate::demo::shell::View;
use crate::maze::ActionResult::{
    ContentChanged, DialogOpened, DropdownOpened, Error, NoResponse, Skipped, SubmenuOpened, ToastNotification,
};

/// The page.
pub(in crate::demo) fn page(view: &View) -> Markup {
    view.page(
        "Widgets",
        "Building blocks of the shop",
        &html! {},
        &html! {
            div.grid.two {
                div.card { h2 { "Colour" } colour-picker {} }
                div.card { h2 { "Sticky note" } sticky-note {} }
                div.card {
                    h2 { "Disclosure" }
                    details { summary { "Shipping policy" } p { "Parcels leave within a day." } }
                    p { button data-fold aria-expanded="false" aria-controls="hours" { "Opening hours" } }
                    p #hours .said hidden { "Monday to Friday, 9 to 17" }
                    p { button data-fold aria-expanded="false" aria-controls="returns" { "Returns" } }
                    p #returns .said hidden { "Thirty days" }
                }
                div.card {
                    h2 { "Popover" }
                    button popovertarget="tip-box" { "Show tip" }
                    div #tip-box popover { p { "Drag a product onto the board." } button data-act="gotIt" { "Understood" } }
                }
                div.card {
                    h2 { "Menus" }
                    div.bar {
                        span #hover .wrap {
                            button aria-haspopup="true" { "Quick actions" }
                            div.menu role="menu" hidden style="top:100%" {
                                button role="menuitem" data-act="quick" { "Pin to board" }
                                button role="menuitem" data-act="quick" { "Share board" }
                            }
                        }
                        span.wrap {
                            button data-menu aria-haspopup="menu" aria-expanded="false" { "File" }
                            div.menu role="menu" hidden {
                                button role="menuitem" data-toast="A note was started" { "New note" }
                                div.wrap {
                                    button role="menuitem" data-menu aria-haspopup="menu" aria-expanded="false" { "Recent" }
                                    div.menu.beside role="menu" hidden { button role="menuitem" data-toast="note-1.txt opened" { "note-1.txt" } }
                                }
                            }
                        }
                    }
                    p #quick-said .said {}
                }
                div.card {
                    h2 { "Tabs" }
                    div role="tablist" aria-label="Board" {
                        button role="tab" aria-selected="true" aria-controls="w-board" { "Board" }
                        button role="tab" aria-selected="false" aria-controls="w-specs" { "Specs" }
                    }
                    div #w-board role="tabpanel" { label.check { "Volume" input #volume type="range" min="0" max="10" value="5" aria-label="Volume"; span #volume-said .said { "Volume 5" } } }
                    div #w-specs role="tabpanel" hidden { p { "Twelve columns, any height." } }
                }
                div.card {
                    h2 { "Right click" }
                    div #pad .pad { "Right-click area" }
                    div.wrap { div #context .menu role="menu" hidden { button role="menuitem" data-act="inspect" { "Inspect" } } }
                    p #context-said .said {}
                }
                div.card { h2 { "Double click" } div #rename .pad { "Double-click to rename" } }
            }
        },
        &["app.js", "widgets.js", "widgets-extra.js"],
    )
}

/// Its elements.
pub(in crate::demo) fn elements() -> Vec<Element> {
    vec![
        button("Next colour", &[ContentChanged]).in_place(Place::ShadowOpen),
        button("Previous colour", &[ContentChanged]).in_place(Place::ShadowOpen),
        button("Add line", &[ContentChanged]).in_place(Place::ShadowClosed),
        button("Pin note", &[Error]).in_place(Place::ShadowClosed),
        input("Shipping policy", "button", &[ContentChanged]),
        button("Opening hours", &[ContentChanged]),
        button("Returns", &[ContentChanged]),
        button("Show tip", &[ContentChanged, DialogOpened, DropdownOpened])
            .with(vec![button("Understood", &[ContentChanged]).in_place(Place::Popover)]),
        trigger("Quick actions", &[DropdownOpened, ContentChanged])
            .with(vec![menu_item("Pin to board", &[ContentChanged]), menu_item("Share board", &[ContentChanged])]),
        trigger("File", &[DropdownOpened]).with(vec![
            menu_item("New note", &[ToastNotification]),
            menu_item("Recent", &[SubmenuOpened, DropdownOpened])
                .with(vec![menu_item("note-1.txt", &[ToastNotification])]),
        ]),
        tab("Board", &[NoResponse, ContentChanged]).with(vec![input(
            "Volume",
            "slider",
            &[Skipped, ContentChanged, NoResponse],
        )]),
        tab("Specs", &[ContentChanged]),
        input("Right-click area", "generic", &[DropdownOpened, ContentChanged])
            .with(vec![input("Inspect", "menuitem", &[ContentChanged]).in_place(Place::Menu)]),
        input("Double-click to rename", "generic", &[ContentChanged]),
    ]
}
