//! What an export of a bug is made of: its steps, its addresses, its values, the oracle that it failed. Pure.

use url::Url;

use super::Refusal;
use super::text::{literal, slug};
use crate::browser::Policy;
use crate::maze::{Bug, BugKind};
use crate::replay::login_variables;
use crate::settings::Settings;
use crate::trace::bounds::{may_open, may_type, may_upload};
use crate::trace::fingerprint::strip_numbers;
use crate::trace::{FingerprintParts, Locator, RunFile, StepStatus, Tool, TraceStep};

/// What an export is told beside the run.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Address of the application that the run was recorded on.
    pub base: Url,
    /// Settings that hold: how to log in, own origins, requests that may leave.
    pub settings: Settings,
    /// The bug is known: the test is expected to fail.
    pub known_bad: bool,
}

/// Whether a bug can be played at all.
///
/// # Errors
/// [`Refusal`] with what is missing.
pub(super) fn playable<'a>(bug: &'a Bug, terms: &Terms) -> Result<(&'a TraceStep, &'a TraceStep), Refusal> {
    let (Some(first), Some(last)) = (bug.trace.first(), bug.trace.last()) else {
        return Err(Refusal::new("it has no trace"));
    };
    if bug.kind.is_some() && last.status == StepStatus::Passed {
        return Err(Refusal::new("its trace ends before the failing step"));
    }
    if first.tool != Tool::Goto || first.value.as_deref().is_none_or(|url| Url::parse(url).is_err()) {
        return Err(Refusal::new("its trace does not begin with an address"));
    }
    bounded(bug, terms)?;
    if let Some(kind @ BugKind::Other(_)) = &bug.kind {
        return Err(Refusal::new(format!("a bug of the kind `{kind}` has no rule by which it could be seen again")));
    }
    if let Some(step) = bug.trace.iter().find(|step| matches!(step.tool, Tool::Other(_))) {
        return Err(Refusal::new(format!(
            "its step {} is a `{}`, which this version cannot play",
            step.index, step.tool
        )));
    }
    Ok((first, last))
}

/// A trace that would leave the application, or give a file or a variable away, is not written down.
fn bounded(bug: &Bug, terms: &Terms) -> Result<(), Refusal> {
    let policy = Policy::of_application(&terms.base, &terms.settings.own_origins);
    let own = |url: &Url| policy.is_own(url);
    let login = login_variables(&terms.settings);
    let login: Vec<&str> = login.iter().map(String::as_str).collect();
    for step in &bug.trace {
        let value = step.value.as_deref().unwrap_or_default();
        let judged = match (&step.tool, value.strip_prefix("env:")) {
            (_, Some(name)) => may_type(name, &login),
            (Tool::Goto, _) => may_open(value, own).map(|_| ()),
            (Tool::Upload, _) if step.value.is_some() => may_upload(value).map(|_| ()),
            _ => Ok(()),
        };
        judged.map_err(|why| Refusal::new(format!("step {}: {why}", step.index)))?;
    }
    Ok(())
}

/// Name of a bug's file without its ending: where, what, which.
#[must_use]
pub fn file_stem(bug: &Bug) -> String {
    let kind = bug.kind.as_ref().map_or("bug", BugKind::as_str);
    let place = slug(&bug.location, 60);
    let key = bug.fingerprint_v2.as_deref().or(bug.fingerprint.as_deref()).unwrap_or_default();
    let parts = [place, slug(kind, 20), slug(key, 8)];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("-")
}

/// The part of an address behind the base, when it belongs to the application: `/orders?page=2`.
pub(super) fn own_path(url: &Url, base: &Url) -> Option<String> {
    if url.origin() != base.origin() {
        return None;
    }
    let below = base.path().trim_end_matches('/');
    let path = url.path().strip_prefix(below).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let fragment = url.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
    path.map(|path| format!("{}{query}{fragment}", if path.is_empty() { "/" } else { path }))
}

/// The address as an expression that follows `BASE_URL`.
pub(super) fn address(text: &str, base: &Url) -> String {
    let Ok(mut url) = Url::parse(text) else { return literal(text) };
    if let Some(path) = own_path(&url, base) {
        return format!("at({})", literal(&path));
    }
    if url.origin() == base.origin() {
        let rest = &url[url::Position::BeforePath..];
        return format!("new URL({}, BASE).href", literal(rest));
    }
    // What stands before an `@` is a secret.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    literal(url.as_str())
}

/// A step's value: a text, or the name of the variable that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// It may be read by anybody.
    Plain(String),
    /// It stands in this environment variable.
    Secret(String),
}

/// What a step types or chooses. A password that stands in the run in clear does not go on.
pub(super) fn value(step: &TraceStep) -> Value {
    let text = step.value.clone().unwrap_or_default();
    if let Some(name) = text.strip_prefix("env:") {
        return Value::Secret(name.to_owned());
    }
    if step.tool == Tool::Fill && !text.is_empty() && step.locator.as_ref().is_some_and(is_password) {
        return Value::Secret(crate::env::PASSWORD.to_owned());
    }
    Value::Plain(text)
}

fn is_password(locator: &Locator) -> bool {
    let words = ["passw", "passphrase", "kennwort", "contrase", "mot de passe", "senha", "secret", "api key", "token"];
    [&locator.name, &locator.label, &locator.placeholder, &locator.test_id, &locator.css].into_iter().flatten().any(
        |text| {
            let text = text.to_lowercase();
            words.iter().any(|word| text.contains(word))
        },
    )
}

/// What tells a bug from others at its step, as an exported spec compares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Kind, empty when another program wrote the bug.
    pub(super) kind: String,
    /// Category of the oracle, empty when it is not known.
    pub(super) category: String,
    /// Class of the error.
    pub(super) signal: String,
    /// What exactly failed.
    pub(super) detail: String,
}

impl Mark {
    pub(super) fn of(bug: &Bug) -> Self {
        let Some(parts) = &bug.fingerprint_parts else { return Self::default() };
        let kind = bug.kind.as_ref().map(|kind| kind.as_str().to_owned()).unwrap_or_default();
        let detail = match &bug.kind {
            Some(BugKind::Exception) => thrown(bug, parts),
            _ => parts.detail.clone(),
        };
        Self { kind, category: parts.category.clone(), signal: parts.signal.clone(), detail }
    }
}

/// File and message of an exception: Playwright tells no more of the frame that is the same in every browser.
fn thrown(bug: &Bug, parts: &FingerprintParts) -> String {
    let text = strip_numbers(bug.description.trim_start_matches("The page throws: "));
    let rest = parts.detail.strip_prefix(&parts.signal).unwrap_or(&parts.detail).trim_start();
    let frame = rest.strip_suffix(text.as_str()).unwrap_or_default().trim_end();
    let file = frame.rsplit_once('@').map_or(frame, |(_, file)| file);
    let text = text.trim_start_matches("Uncaught ").trim_start_matches("(in promise) ");
    format!("{file} {text}")
}

/// The other bugs of the run that may show at this bug's last step: those on the pages that its trace passes.
pub(super) fn neighbours<'a>(run: &'a RunFile, bug: &Bug) -> Vec<&'a Bug> {
    let page = |text: &str| text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let pages: Vec<String> = bug
        .trace
        .iter()
        .flat_map(|step| [&step.url_before, &step.url_after])
        .filter(|url| url.starts_with("http"))
        .map(|url| page(url))
        .collect();
    let here = |other: &&Bug| {
        other.fingerprint_parts.is_some()
            && (other.fingerprint_v3 != bug.fingerprint_v3 || other.fingerprint_v3.is_none())
            && !std::ptr::eq(*other, bug)
            && other.trace.iter().any(|step| pages.contains(&page(&step.url_after)))
    };
    run.bugs.iter().filter(here).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, base: &str) -> String {
        address(text, &Url::parse(base).unwrap())
    }

    #[test]
    fn own_addresses_follow_the_base_and_others_stay() {
        assert_eq!(at("http://a.b:81/x?q=1#/r", "http://a.b:81/"), r#"at("/x?q=1#/r")"#);
        assert_eq!(at("http://a.b/app/x", "http://a.b/app/"), r#"at("/x")"#);
        assert_eq!(at("http://a.b/app", "http://a.b/app/"), r#"at("/")"#);
        assert_eq!(at("http://a.b/application", "http://a.b/app/"), r#"new URL("/application", BASE).href"#);
        assert_eq!(at("http://me:secret@other.c/x", "http://a.b/"), r#""http://other.c/x""#);
    }

    #[test]
    fn a_password_in_clear_becomes_a_reference() {
        let step = |name: &str, value: &str| -> TraceStep {
            serde_json::from_value(serde_json::json!({
                "index": 1, "tool": "fill", "locator": { "role": "textbox", "name": name }, "value": value,
                "startedAt": "2026-05-02T10:15:00Z", "status": "passed"
            }))
            .unwrap()
        };
        assert_eq!(value(&step("Password", "hunter2")), Value::Secret("AGENT_TEST_PASSWORD".into()));
        assert_eq!(value(&step("City", "env:HOME_TOWN")), Value::Secret("HOME_TOWN".into()));
        assert_eq!(value(&step("City", "Rome")), Value::Plain("Rome".into()));
    }
}
