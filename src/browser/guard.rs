//! The guard at the network: decides of each request, before it leaves, whether it may. Pure.
//!
//! Rule (`explorer.md`): unless `safe_to_mutate`, no POST, PUT, PATCH or DELETE that an action causes leaves, and no GET
//! whose control or address reads destructive. The campaign's origin is never left. The login and addresses that the
//! user allows are exempt.

use url::Url;

use super::words;

/// What the campaign allows.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The application's address.
    pub base: Option<Url>,
    /// Further origins that count as the application's (`https://api.example.com`).
    pub own_origins: Vec<String>,
    /// Destructive actions are allowed.
    pub safe_to_mutate: bool,
    /// Requests that may leave whatever their method: `*` stands for anything, matched against `METHOD URL` and `URL`.
    pub allow: Vec<String>,
}

/// What we are doing at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Opening a page: its own requests leave.
    #[default]
    Load,
    /// Logging in: everything to the own origin leaves.
    Login,
    /// Acting on a control.
    Act {
        /// The control reads destructive, so that its GETs are stopped as well.
        destructive: bool,
    },
}

/// A request that wants to leave.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Address.
    pub url: &'a str,
    /// CDP resource type: `Document`, `XHR`, `Fetch`, `Ping`, …
    pub kind: &'a str,
    /// Whether it would replace the page of a window (not of a frame).
    pub top_document: bool,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It leaves.
    Pass,
    /// It would change something.
    Refuse(&'static str),
    /// It would leave the application.
    OutOfScope,
}

impl Policy {
    /// A policy that knows what belongs to the application, and allows nothing more than usual.
    #[must_use]
    pub fn of_application(base: &Url, own_origins: &[String]) -> Self {
        Self { base: Some(base.clone()), own_origins: own_origins.to_vec(), ..Self::default() }
    }

    /// Whether the address belongs to the application.
    #[must_use]
    pub fn is_own(&self, url: &Url) -> bool {
        if matches!(url.scheme(), "about" | "blob" | "data") {
            return true;
        }
        let origin = url.origin().ascii_serialization();
        self.base.as_ref().is_some_and(|base| base.origin().ascii_serialization() == origin)
            || self.own_origins.iter().any(|own| own.trim_end_matches('/').eq_ignore_ascii_case(&origin))
    }

    /// Whether the user allowed this very request.
    #[must_use]
    pub fn is_allowed(&self, method: &str, url: &str) -> bool {
        self.allow.iter().any(|pattern| {
            matches_pattern(pattern, url)
                || matches_pattern(pattern, &format!("{method} {url}"))
                || Url::parse(url).is_ok_and(|url| {
                    let path = url.path();
                    matches_pattern(pattern, path) || matches_pattern(pattern, &format!("{method} {path}"))
                })
        })
    }

    /// Decides.
    #[must_use]
    pub fn decide(&self, mode: Mode, request: &Outgoing<'_>) -> Decision {
        let Ok(url) = Url::parse(request.url) else { return Decision::Pass };
        let own = self.is_own(&url);
        if request.top_document && !own {
            return Decision::OutOfScope;
        }
        let reads = matches!(request.method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
        if self.safe_to_mutate || self.is_allowed(request.method, request.url) {
            return Decision::Pass;
        }
        match mode {
            Mode::Login | Mode::Load => Decision::Pass,
            Mode::Act { destructive } => {
                if !reads {
                    return Decision::Refuse("would change data");
                }
                // What only makes a page look right is let through, unless its very address says that it destroys.
                let dressing = matches!(request.kind, "Stylesheet" | "Script" | "Font");
                if destructive && !dressing {
                    return Decision::Refuse("its control reads destructive");
                }
                if words::address_is_destructive(&url) {
                    return Decision::Refuse("its address reads destructive");
                }
                Decision::Pass
            }
        }
    }
}

/// `*` stands for any rest; everything else is literal.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    let mut parts = pattern.split('*').peekable();
    let Some(first) = parts.next() else { return false };
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return part.is_empty() || rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy { base: Url::parse("http://app.test:5000/").ok(), ..Policy::default() }
    }

    fn ask(policy: &Policy, mode: Mode, method: &str, url: &str, kind: &str, top_document: bool) -> Decision {
        policy.decide(mode, &Outgoing { method, url, kind, top_document })
    }

    const ACT: Mode = Mode::Act { destructive: false };

    #[test]
    fn every_mutating_method_of_an_action_is_refused() {
        for method in ["POST", "PUT", "PATCH", "DELETE", "post", "PROPFIND"] {
            let decision = ask(&policy(), ACT, method, "http://app.test:5000/api/x", "XHR", false);
            assert!(matches!(decision, Decision::Refuse(_)), "{method}: {decision:?}");
        }
    }

    #[test]
    fn reads_of_an_action_leave() {
        assert_eq!(ask(&policy(), ACT, "GET", "http://app.test:5000/api/x", "XHR", false), Decision::Pass);
    }

    #[test]
    fn a_read_with_a_destructive_address_is_refused() {
        for path in ["logout", "users/7/delete", "delete_item?id=3", "item?action=delete"] {
            let url = format!("http://app.test:5000/{path}");
            assert!(matches!(ask(&policy(), ACT, "GET", &url, "Document", true), Decision::Refuse(_)), "{path}");
        }
    }

    #[test]
    fn a_read_of_a_destructive_control_is_refused() {
        let mode = Mode::Act { destructive: true };
        assert!(matches!(ask(&policy(), mode, "GET", "http://app.test:5000/x", "Fetch", false), Decision::Refuse(_)));
        assert!(matches!(ask(&policy(), mode, "GET", "http://app.test:5000/x", "Image", false), Decision::Refuse(_)));
        assert_eq!(ask(&policy(), mode, "GET", "http://app.test:5000/x.css", "Stylesheet", false), Decision::Pass);
    }

    #[test]
    fn a_destructive_address_is_refused_whatever_asks_for_it() {
        for kind in ["Image", "Script", "Stylesheet", "Media", "XHR", "Document", "Other"] {
            let decision = ask(&policy(), ACT, "GET", "http://app.test:5000/item/delete?id=1", kind, false);
            assert!(matches!(decision, Decision::Refuse(_)), "{kind}: {decision:?}");
        }
    }

    #[test]
    fn a_top_document_of_another_origin_is_out_of_scope_even_when_mutating_is_allowed() {
        let mut policy = policy();
        policy.safe_to_mutate = true;
        for url in ["https://example.com/", "http://app.test:5001/", "https://app.test:5000/"] {
            assert_eq!(ask(&policy, ACT, "GET", url, "Document", true), Decision::OutOfScope, "{url}");
        }
        policy.own_origins.push("https://example.com/".into());
        assert_eq!(ask(&policy, ACT, "GET", "https://example.com/x", "Document", true), Decision::Pass);
    }

    #[test]
    fn allowed_reads_over_post_leave() {
        let mut policy = policy();
        policy.allow = vec!["POST */api/search*".into(), "/graphql".into()];
        assert_eq!(ask(&policy, ACT, "POST", "http://app.test:5000/api/search?q=1", "XHR", false), Decision::Pass);
        assert_eq!(ask(&policy, ACT, "POST", "http://app.test:5000/graphql", "XHR", false), Decision::Pass);
        let other = ask(&policy, ACT, "POST", "http://app.test:5000/api/save", "XHR", false);
        assert!(matches!(other, Decision::Refuse(_)));
    }

    #[test]
    fn a_page_that_opens_may_post_and_the_login_too() {
        for mode in [Mode::Load, Mode::Login] {
            assert_eq!(ask(&policy(), mode, "POST", "http://app.test:5000/login", "Document", true), Decision::Pass);
        }
    }
}
