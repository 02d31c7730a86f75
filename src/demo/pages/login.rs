//! The login page; not a route of the campaign.

use maud::{Markup, html};

use crate::demo::shell::{View, field};

/// The form, with the message of a failed try.
pub(in crate::demo) fn page(view: &View, next: &str, failed: bool) -> Markup {
    view.bare(
        "Sign in",
        &html! {
            div.login {
                form.card method="post" action="/login" {
                    h1 { "Quayside" }
                    p.said { "Sign in to your workspace" }
                    @if failed { div.note role="alert" { "Wrong user name or password." } }
                    (field("Username", "username", "text", ""))
                    (field("Password", "password", "password", ""))
                    input type="hidden" name="next" value=(next);
                    button.primary type="submit" { "Sign in" }
                }
            }
        },
        &[],
    )
}
