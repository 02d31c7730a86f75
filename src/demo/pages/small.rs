//! Pages without controls of their own: what links lead to, and error pages.

use maud::{Markup, html};

use crate::demo::shell::{KIT, View};

/// A page with a heading and a paragraph.
pub(in crate::demo) fn page(view: &View, title: &str, text: &str) -> Markup {
    view.page(title, "", &html! {}, &html! { div.card { p { (text) } } }, KIT)
}

/// An error page as an application server shows it.
pub(in crate::demo) fn error(view: &View, title: &str, text: &str) -> Markup {
    view.bare(title, &html! { div.login { div.card { h1 { (title) } p { (text) } } } }, &[])
}
