//! The frame around every page: navigation, header, scripts.

use maud::{DOCTYPE, Markup, html};

use super::catalog::{BUGS, control};
use super::element::{Element, button, input, link, menu_item, trigger};
use super::switches::Switches;
use crate::maze::ActionResult::{
    ContentChanged, DialogOpened, DropdownOpened, NoResponse, PageNavigated, Refused, Skipped, ToastNotification,
};

/// What a page needs to know to be drawn.
pub(super) struct View<'a> {
    pub(super) switches: &'a Switches,
    /// The document's path; hash routes share one.
    pub(super) path: &'a str,
}

impl View<'_> {
    /// Whether the planted bug is there.
    pub(super) fn live(&self, bug: &str) -> bool {
        self.switches.live(bug)
    }

    /// The label that the control carries now.
    pub(super) fn name(&self, id: &str) -> &'static str {
        control(id).map_or("", |control| if self.switches.renamed(id) { control.new } else { control.old })
    }

    /// The test id that the control carries now.
    pub(super) fn test_id(&self, id: &str) -> Option<&'static str> {
        control(id).and_then(|control| if self.switches.renamed(id) { control.new_test_id } else { control.test_id })
    }

    /// Ids of this document's live bugs, for its scripts.
    fn bugs(&self) -> String {
        // The frame belongs to the page around it.
        let path = if self.path == "/reports/frame" { "/reports" } else { self.path };
        let own = |route: &str| route.split('#').next() == Some(path);
        let ids: Vec<&str> = BUGS.iter().filter(|bug| own(bug.route) && self.live(bug.id)).map(|bug| bug.id).collect();
        ids.join(" ")
    }

    /// A whole page inside the frame. `scripts` are names under `/assets/`.
    pub(super) fn page(&self, title: &str, about: &str, actions: &Markup, body: &Markup, scripts: &[&str]) -> Markup {
        let nav = |address: &str, label: &str, test_id: Option<&str>| {
            let here = address == self.path;
            html! { a href=(address) aria-current=[here.then_some("page")] data-testid=[test_id] { (label) } }
        };
        self.bare(
            title,
            &html! {
                div.frame {
                    aside.side {
                        a.brand href="/" { i {} "Quayside" }
                        nav aria-label="Main" {
                            (nav("/", "Dashboard", None))
                            div.group { "Trade" }
                            (nav("/products", "Products", None))
                            (nav("/orders", "Orders", None))
                            (nav("/customers", self.name("nav-customers"), self.test_id("nav-customers")))
                            (nav("/wizard", "Onboarding", None))
                            div.group { "Watch" }
                            (nav("/reports", "Reports", None))
                            (nav("/insights", "Insights", None))
                            (nav("/activity", "Activity", None))
                            (nav("/exports", "Exports", None))
                            div.group { "Office" }
                            (nav("/app#/inbox", "Messages", None))
                            (nav("/widgets", "Widgets", None))
                            (nav("/settings/general", "Settings", None))
                            (nav("/settings/billing", "Billing", None))
                            (nav("/help", "Help", None))
                        }
                    }
                    div {
                        header.top {
                            input #everything type="search" placeholder="Search everything" aria-label="Search everything";
                            span #everything-hits .said hidden {}
                            span.grow {}
                            button data-act="theme" { "Dark theme" }
                            span.wrap {
                                button data-menu aria-haspopup="menu" aria-expanded="false" { "Notifications" }
                                div.menu.right role="menu" hidden {
                                    button role="menuitem" data-toast="Stock of Harbor Mug is low" { "Low stock alert" }
                                    a role="menuitem" href="/activity" { "See all activity" }
                                }
                            }
                            span.wrap {
                                button data-menu aria-haspopup="menu" aria-expanded="false" { span.avatar aria-hidden="true" {} " Admin" }
                                div.menu.right role="menu" hidden {
                                    a role="menuitem" href="/settings/general" { "Your profile" }
                                    button role="menuitem" data-open="shortcuts" { "Keyboard shortcuts" }
                                    a role="menuitem" href="/logout" { "Log out" }
                                }
                            }
                        }
                        main {
                            div.head { div.grow { h1 { (title) } p { (about) } } (actions) }
                            (body)
                        }
                    }
                }
                dialog #shortcuts aria-label="Keyboard shortcuts" {
                    h2 { "Keyboard shortcuts" }
                    p { "Escape closes what is open." }
                    div.feet { button data-close { "Got it" } }
                }
            },
            scripts,
        )
    }

    /// A document without navigation: login, frame, blank page.
    pub(super) fn bare(&self, title: &str, body: &Markup, scripts: &[&str]) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) " · Quayside" }
                    link rel="icon" href="/favicon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/assets/app.css";
                    @for name in scripts {
                        script defer src=(format!("/assets/{name}")) {}
                    }
                }
                body data-bugs=(self.bugs()) {
                    (body)
                    div #toasts aria-live="polite" {}
                }
            }
        }
    }
}

/// The scripts of an ordinary page.
pub(super) const KIT: &[&str] = &["app.js", "pages.js"];

/// A dialog with a heading, a body and its row of buttons.
pub(super) fn dialog(id: &str, title: &str, body: &Markup, feet: &Markup) -> Markup {
    html! {
        dialog id=(id) aria-label=(title) { h2 { (title) } (body) div.feet { (feet) } }
    }
}

/// A text field with its label.
pub(super) fn field(label: &str, name: &str, kind: &str, value: &str) -> Markup {
    html! { label.field { span { (label) } input type=(kind) name=(name) value=(value) autocomplete="off"; } }
}

/// The elements that every page of the frame shares.
pub(super) fn elements() -> Vec<Element> {
    let nav = |label| link(label, &[PageNavigated]);
    vec![
        nav("Quayside"),
        nav("Dashboard"),
        nav("Products"),
        nav("Orders"),
        nav("Customers"),
        nav("Onboarding"),
        nav("Reports"),
        nav("Insights"),
        nav("Activity"),
        nav("Exports"),
        nav("Messages"),
        nav("Widgets"),
        nav("Settings"),
        nav("Billing"),
        nav("Help"),
        input("Search everything", "searchbox", &[Skipped, ContentChanged, NoResponse]),
        button("Dark theme", &[ContentChanged]),
        trigger("Notifications", &[DropdownOpened]).with(vec![
            menu_item("Low stock alert", &[ToastNotification]),
            menu_item("See all activity", &[PageNavigated]),
        ]),
        trigger("Admin", &[DropdownOpened]).with(vec![
            menu_item("Your profile", &[PageNavigated]),
            menu_item("Keyboard shortcuts", &[DialogOpened]).with_dialog(vec![button("Got it", &[ContentChanged])]),
            menu_item("Log out", &[Refused]),
        ]),
    ]
}
