//! The oracles: what of the evidence is a fault of the application. Pure.
//!
//! What counts is listed in `explorer.md` ("What is a bug") and seed 000 (page throws, document 404, same-site 5xx of
//! document, xhr or fetch). What we stopped ourselves, and what comes from other origins, is noise and kept apart.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

use crate::browser::{Look, Note, Policy, Request, Since};
use crate::maze::{BugKind, Severity};
use crate::trace::fingerprint::{path_template, strip_numbers};

/// A fault, before it is tied to a place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub kind: BugKind,
    /// How bad.
    pub severity: Severity,
    /// One sentence.
    pub description: String,
    /// What should have happened.
    pub expected: String,
    /// What happened.
    pub actual: String,
    /// Fingerprint: which oracle failed.
    pub category: &'static str,
    /// Fingerprint: coarse class of the error.
    pub signal: String,
    /// Fingerprint V3: failing endpoint with status, or exception type with top frame.
    pub detail: String,
    /// Whether it belongs to the page as such and not to the control that was used.
    pub of_page: bool,
    /// Console messages and requests that show it.
    pub evidence: Vec<String>,
}

/// What was found, and what was seen but does not count.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Faults.
    pub findings: Vec<Finding>,
    /// Noise, one line each.
    pub noise: Vec<String>,
}

impl Judgement {
    /// The same under these oracles: what they do not fail is noise.
    #[must_use]
    pub fn under(mut self, oracles: Oracles) -> Self {
        let (kept, off): (Vec<_>, Vec<_>) = self.findings.into_iter().partition(|finding| oracles.fail(finding));
        self.findings = kept;
        self.noise.extend(off.into_iter().map(|finding| format!("its oracle is off: {}", finding.description)));
        self
    }
}

/// Which oracles fail a step (seed 000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oracles {
    /// A page that throws, a document that is 404, a disabled control.
    pub strict: bool,
    /// A same-site document, xhr or fetch that answers 5xx.
    pub fail_on_5xx: bool,
}

impl Oracles {
    /// Whether this finding fails a step. What is not listed in the seed always does.
    #[must_use]
    pub fn fail(self, finding: &Finding) -> bool {
        match &finding.kind {
            BugKind::HttpError if finding.signal == "http-5xx" => self.fail_on_5xx,
            BugKind::HttpError | BugKind::Exception | BugKind::DisabledControl => self.strict,
            _ => true,
        }
    }
}

impl From<&crate::settings::Settings> for Oracles {
    fn from(settings: &crate::settings::Settings) -> Self {
        Self { strict: settings.strict_oracles, fail_on_5xx: settings.fail_on_5xx }
    }
}

/// When the evidence was gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// While the page was opened.
    Load,
    /// After an action.
    Action,
}

fn same_site(policy: &Policy, url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        policy.is_own(&url)
            || policy.base.as_ref().is_some_and(|base| {
                let bare = |url: &Url| url.host_str().unwrap_or_default().trim_start_matches("www.").to_owned();
                bare(base) == bare(&url) && base.port_or_known_default() == url.port_or_known_default()
            })
    })
}

fn short(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| url.to_owned(),
        |url| {
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            format!("{}{query}", url.path())
        },
    )
}

fn template(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| path_template(&url))
}

/// Judges what the browser told.
#[must_use]
pub fn judge(since: &Since, policy: &Policy, moment: Moment) -> Judgement {
    let mut out = Judgement::default();
    let stopped = since.requests.iter().any(|request| request.refused.is_some() || request.out_of_scope);
    for request in &since.requests {
        if let Some(why) = request.refused {
            out.noise.push(format!("stopped by us: {} {} ({why})", request.method, short(&request.url)));
            continue;
        }
        if request.out_of_scope {
            out.noise.push(format!("left the application, stopped by us: {}", request.url));
            continue;
        }
        judge_request(request, policy, moment, &mut out);
    }
    for note in &since.notes {
        match note {
            Note::Exception { text, class, frame, url } => {
                let foreign = !url.is_empty() && !same_site(policy, url);
                if foreign || text.starts_with("Script error") {
                    out.noise.push(format!("exception in a script of another origin: {text}"));
                } else if stopped {
                    out.noise.push(format!("exception after a request that we stopped: {text}"));
                } else {
                    out.findings.push(exception(text, class, frame, moment));
                }
            }
            Note::Dialog { kind, text, .. } if kind == "alert" && reads_like_error(text) && !stopped => {
                out.findings.push(error_message("An alert reports an error", text));
            }
            Note::Crashed => out.findings.push(Finding {
                kind: BugKind::Crash,
                severity: Severity::Critical,
                description: "The page crashed".to_owned(),
                expected: "the page goes on working".to_owned(),
                actual: "the browser reports that the page's process crashed".to_owned(),
                category: "page-error",
                signal: "crash".to_owned(),
                detail: String::new(),
                of_page: false,
                evidence: Vec::new(),
            }),
            _ => {}
        }
    }
    out
}

fn judge_request(request: &Request, policy: &Policy, moment: Moment, out: &mut Judgement) {
    let Some(status) = request.status else {
        if let Some(error) =
            request.error.as_deref().filter(|error| !error.contains("ABORTED") && !error.contains("BLOCKED"))
        {
            let line = format!("{} {} failed: {error}", request.method, request.url);
            if same_site(policy, &request.url) && matches!(request.kind.as_str(), "Script" | "Stylesheet" | "Image") {
                out.findings.push(broken(request, error));
            } else {
                out.noise.push(line);
            }
        }
        return;
    };
    if status < 400 {
        return;
    }
    let line = format!("{} {} answered {status}", request.method, short(&request.url));
    if !same_site(policy, &request.url) {
        out.noise.push(format!("another origin: {} {} answered {status}", request.method, request.url));
        return;
    }
    match request.kind.as_str() {
        "Document" if matches!(status, 404 | 410) || status >= 500 => {
            let landing = moment == Moment::Load && request.top_document;
            let what = if request.top_document { "page" } else { "frame" };
            out.findings.push(Finding {
                kind: BugKind::HttpError,
                severity: if landing || status >= 500 { Severity::Critical } else { Severity::Major },
                description: format!("The {what} {} answers HTTP {status}", short(&request.url)),
                expected: format!("the {what} opens"),
                actual: line.clone(),
                category: "navigation",
                signal: if status >= 500 { "http-5xx".to_owned() } else { format!("http-{status}") },
                detail: format!("{} {} {status}", request.method, template(&request.url)),
                of_page: landing || !request.top_document,
                evidence: vec![line],
            });
        }
        "XHR" | "Fetch" if status >= 500 => out.findings.push(Finding {
            kind: BugKind::HttpError,
            severity: Severity::Major,
            description: format!("A request to {} answers HTTP {status}", short(&request.url)),
            expected: "the request succeeds".to_owned(),
            actual: line.clone(),
            category: "network",
            signal: "http-5xx".to_owned(),
            detail: format!("{} {} {status}", request.method, template(&request.url)),
            of_page: moment == Moment::Load,
            evidence: vec![line],
        }),
        "Script" | "Stylesheet" | "Image" if !request.url.ends_with("/favicon.ico") => {
            out.findings.push(broken(request, &format!("HTTP {status}")));
        }
        _ => out.noise.push(line),
    }
}

fn broken(request: &Request, why: &str) -> Finding {
    let (kind, severity, what) = match request.kind.as_str() {
        "Image" => (BugKind::BrokenImage, Severity::Minor, "image"),
        "Script" => (BugKind::BrokenResource, Severity::Major, "script"),
        _ => (BugKind::BrokenResource, Severity::Minor, "style sheet"),
    };
    Finding {
        kind,
        severity,
        description: format!("The {what} {} does not load", short(&request.url)),
        expected: format!("the {what} loads"),
        actual: format!("{} {}: {why}", request.method, short(&request.url)),
        category: "network",
        signal: format!("{}-missing", what.replace(' ', "-")),
        detail: format!("{} {}", request.method, template(&request.url)),
        of_page: true,
        evidence: vec![format!("{} {}: {why}", request.method, request.url)],
    }
}

fn exception(text: &str, class: &str, frame: &str, moment: Moment) -> Finding {
    Finding {
        kind: BugKind::Exception,
        severity: Severity::Major,
        description: format!("The page throws: {text}"),
        expected: "no uncaught exception".to_owned(),
        actual: format!("uncaught {text} ({frame})"),
        category: "page-error",
        signal: class.to_owned(),
        detail: format!("{class} {frame} {}", strip_numbers(text)),
        of_page: moment == Moment::Load,
        evidence: vec![text.to_owned()],
    }
}

fn error_message(what: &str, text: &str) -> Finding {
    Finding {
        kind: BugKind::ErrorMessage,
        severity: Severity::Major,
        description: format!("{what}: {text}"),
        expected: "the action succeeds".to_owned(),
        actual: format!("the page says \"{text}\""),
        category: "assertion",
        signal: "error-message".to_owned(),
        detail: strip_numbers(text),
        of_page: false,
        evidence: vec![text.to_owned()],
    }
}

static ERROR_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(error|failed|failure|went wrong|exception|could not|couldn't|cannot be|unable to|unexpected|fehler|fehlgeschlagen|erreur|échec|fallo|falló|errore|erro|ошибка)\b|错误|失败|エラー|오류").ok()
});
static FORM_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(required|please (enter|fill|select|choose|correct|provide)|must (be|have|not)|invalid (e-?mail|value|input|format)|no errors?|without errors?|0 errors|error[- ](rate|log|page)s?)\b").ok()
});

/// Whether a message tells of a failure (and not of a field that wants filling in).
#[must_use]
pub fn reads_like_error(text: &str) -> bool {
    let hit = |regex: &LazyLock<Option<Regex>>| regex.as_ref().is_some_and(|regex| regex.is_match(text));
    hit(&ERROR_TEXT) && !hit(&FORM_TEXT)
}

static ERROR_PAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*((http )?(error )?(404|500|502|503|504)\b|error\b|oops|whoops|something went wrong|an? (unexpected |internal )?error|internal server error|page not found|not found|bad gateway|service unavailable|gateway time-?out|server error|application error|unhandled exception|fatal error|whitelabel error page|traceback)").ok()
});
static STACK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"Traceback \(most recent call last\)|Fatal error: |Whitelabel Error Page|org\.springframework\.|Parse error: syntax error|SQLSTATE\[|Unhandled Runtime Error").ok()
});

/// Judges a page by what it shows after the load: blank, an error page, loading for ever.
///
/// `document_failed` says that the document itself answered with an error, so that its error page is no second bug.
#[must_use]
pub fn judge_page(look: &Look, document_failed: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let hit = |regex: &LazyLock<Option<Regex>>, text: &str| regex.as_ref().is_some_and(|regex| regex.is_match(text));
    let blank = look.body_text.is_empty() && look.elements.is_empty() && look.media == 0;
    if blank && !document_failed {
        findings.push(Finding {
            kind: BugKind::BlankPage,
            severity: Severity::Critical,
            description: "The page stays blank after the load".to_owned(),
            expected: "the page shows its content".to_owned(),
            actual: "no text, no image and no control is visible".to_owned(),
            category: "navigation",
            signal: "blank".to_owned(),
            detail: String::new(),
            of_page: true,
            evidence: vec![format!("{} nodes, no visible text", look.nodes)],
        });
    }
    let short_page = look.body_text.chars().count() < 1500;
    let is_error_page = (hit(&ERROR_PAGE, &look.heading) && short_page) || hit(&STACK, &look.body_text);
    if is_error_page && !document_failed {
        let heading = if look.heading.is_empty() { look.title.clone() } else { look.heading.clone() };
        findings.push(Finding {
            category: "navigation",
            signal: "error-page".to_owned(),
            of_page: true,
            expected: "the page shows its content".to_owned(),
            ..error_message("The page is an error page", &heading)
        });
    }
    findings
}

/// The page still says that it is loading, long after it became still.
#[must_use]
pub fn never_loads(look: &Look, waited_ms: u64) -> Finding {
    let what =
        if look.empty_tables > 0 { "A table never fills" } else { "The page says that it is loading, and never ends" };
    Finding {
        kind: BugKind::NeverLoads,
        severity: Severity::Major,
        description: what.to_owned(),
        expected: "the content appears".to_owned(),
        actual: format!("still loading after {:.1} s without any request under way", waited_ms as f64 / 1000.0),
        category: "timeout",
        signal: "never-loads".to_owned(),
        detail: String::new(),
        of_page: true,
        evidence: vec![format!("{} signs of loading are visible", look.spinners)],
    }
}

/// A new message on the screen that tells of a failure.
#[must_use]
pub fn judge_toasts(before: &Look, after: &Look) -> Vec<Finding> {
    after
        .toasts
        .iter()
        .filter(|toast| reads_like_error(&toast.text) && !before.toasts.iter().any(|old| old.text == toast.text))
        .map(|toast| error_message("An error message appears", &toast.text))
        .collect()
}

/// A control that does nothing.
#[must_use]
pub fn dead_control(label: &str) -> Finding {
    Finding {
        kind: BugKind::DeadControl,
        severity: Severity::Minor,
        description: format!("\"{label}\" has no effect"),
        expected: "an enabled control does something".to_owned(),
        actual: "two presses changed nothing on the screen and sent no request".to_owned(),
        category: "interaction",
        signal: "no-effect".to_owned(),
        detail: String::new(),
        of_page: false,
        evidence: Vec::new(),
    }
}

/// A control that is disabled where a recording used it.
#[must_use]
pub fn disabled_control(label: &str) -> Finding {
    Finding {
        kind: BugKind::DisabledControl,
        severity: Severity::Major,
        description: format!("{label} is disabled"),
        expected: "the control can be used, as it could when it was recorded".to_owned(),
        actual: "it is disabled".to_owned(),
        category: "interaction",
        signal: "not-enabled".to_owned(),
        detail: String::new(),
        of_page: false,
        evidence: Vec::new(),
    }
}

/// A text that a recording expects and the page does not show.
#[must_use]
pub fn missing_text(text: &str) -> Finding {
    Finding {
        kind: BugKind::MissingText,
        severity: Severity::Major,
        description: format!("The text \"{text}\" is not shown"),
        expected: format!("the page shows \"{text}\""),
        actual: "no visible text holds it".to_owned(),
        category: "assertion",
        signal: "text-missing".to_owned(),
        detail: strip_numbers(text),
        of_page: false,
        evidence: Vec::new(),
    }
}

/// A dialog that cannot be closed.
#[must_use]
pub fn focus_trap(name: &str) -> Finding {
    Finding {
        kind: BugKind::FocusTrap,
        severity: Severity::Major,
        description: format!("The dialog \"{name}\" cannot be closed"),
        expected: "Cancel, Close, Escape or a click beside it closes a dialog".to_owned(),
        actual: "every way to close it left it open".to_owned(),
        category: "interaction",
        signal: "focus-trap".to_owned(),
        detail: String::new(),
        of_page: false,
        evidence: Vec::new(),
    }
}

/// The login page where another page should be.
#[must_use]
pub fn login_redirect(url: &str) -> Finding {
    Finding {
        kind: BugKind::LoginRedirect,
        severity: Severity::Major,
        description: "The session is thrown back to the login page".to_owned(),
        expected: "a signed-in session stays signed in".to_owned(),
        actual: format!("the login page {} is shown", short(url)),
        category: "navigation",
        signal: "login-redirect".to_owned(),
        detail: template(url),
        of_page: false,
        evidence: vec![url.to_owned()],
    }
}

/// A page that does not answer any more.
#[must_use]
pub fn hang(message: &str) -> Finding {
    Finding {
        kind: BugKind::Crash,
        severity: Severity::Critical,
        description: "The page hangs".to_owned(),
        expected: "the page goes on answering".to_owned(),
        actual: format!("the page's main thread is blocked ({message})"),
        category: "timeout",
        signal: "hang".to_owned(),
        detail: String::new(),
        of_page: false,
        evidence: vec![message.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn policy() -> Policy {
        Policy { base: Url::parse("http://app.test:5000/").ok(), ..Policy::default() }
    }

    fn request(kind: &str, url: &str, status: u16) -> Request {
        Request {
            id: "1".into(),
            method: "GET".into(),
            url: url.into(),
            kind: kind.into(),
            top_document: kind == "Document",
            status: Some(status),
            mime: None,
            error: None,
            done: true,
            refused: None,
            out_of_scope: false,
            started: Instant::now(),
            loader: String::new(),
        }
    }

    fn kinds(requests: Vec<Request>, notes: Vec<Note>) -> Vec<BugKind> {
        let since = Since { notes, requests };
        judge(&since, &policy(), Moment::Action).findings.into_iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn a_document_404_and_5xx_is_a_bug_and_403_is_not() {
        assert_eq!(kinds(vec![request("Document", "http://app.test:5000/x", 404)], vec![]), [BugKind::HttpError]);
        assert_eq!(kinds(vec![request("Document", "http://app.test:5000/x", 500)], vec![]), [BugKind::HttpError]);
        assert!(kinds(vec![request("Document", "http://app.test:5000/x", 403)], vec![]).is_empty());
    }

    #[test]
    fn an_xhr_5xx_is_a_bug_and_a_404_is_only_evidence() {
        for (status, bugs) in [(499, 0), (500, 1), (599, 1), (404, 0)] {
            let found = kinds(vec![request("XHR", "http://app.test:5000/api", status)], vec![]);
            assert_eq!(found.len(), bugs, "{status}");
        }
    }

    #[test]
    fn failures_of_other_origins_and_ports_are_noise() {
        for url in ["http://cdn.test/x.js", "http://app.test:5001/api"] {
            assert!(kinds(vec![request("Fetch", url, 500)], vec![]).is_empty(), "{url}");
            assert!(kinds(vec![request("Script", url, 404)], vec![]).is_empty(), "{url}");
        }
    }

    #[test]
    fn www_is_the_same_site() {
        let mut policy = policy();
        policy.base = Url::parse("http://example.com/").ok();
        let since = Since { requests: vec![request("Fetch", "http://www.example.com/api", 500)], notes: vec![] };
        assert_eq!(judge(&since, &policy, Moment::Action).findings.len(), 1);
    }

    #[test]
    fn an_exception_is_a_bug_unless_we_stopped_a_request_of_the_same_action() {
        let thrown = Note::Exception {
            text: "TypeError: x is undefined".into(),
            class: "TypeError".into(),
            frame: "f@/app.js".into(),
            url: "http://app.test:5000/app.js".into(),
        };
        assert_eq!(kinds(vec![], vec![thrown.clone()]), [BugKind::Exception]);
        let mut stopped = request("XHR", "http://app.test:5000/api", 0);
        stopped.status = None;
        stopped.refused = Some("would change data");
        assert!(kinds(vec![stopped], vec![thrown]).is_empty());
    }

    #[test]
    fn an_alert_with_an_error_is_a_bug_and_a_greeting_is_not() {
        let alert = |text: &str| Note::Dialog { kind: "alert".into(), text: text.into(), accepted: true };
        assert_eq!(kinds(vec![], vec![alert("Error: could not save")]), [BugKind::ErrorMessage]);
        assert!(kinds(vec![], vec![alert("Welcome back")]).is_empty());
    }

    #[test]
    fn a_field_that_wants_filling_in_is_no_error() {
        assert!(!reads_like_error("Error: this field is required"));
        assert!(!reads_like_error("Please enter a valid name"));
        assert!(reads_like_error("Something went wrong"));
    }

    #[test]
    fn a_blank_page_and_an_error_page_are_bugs_once() {
        let blank = Look::default();
        assert_eq!(judge_page(&blank, false)[0].kind, BugKind::BlankPage);
        assert!(judge_page(&blank, true).is_empty());
        let page = Look {
            heading: "Internal Server Error".into(),
            body_text: "Internal Server Error".into(),
            ..Look::default()
        };
        assert_eq!(judge_page(&page, false)[0].kind, BugKind::ErrorMessage);
        assert!(judge_page(&page, true).is_empty());
        let manual = Look { heading: "Error rates".into(), body_text: "x".repeat(2000), ..Look::default() };
        assert!(judge_page(&manual, false).is_empty());
    }
}
