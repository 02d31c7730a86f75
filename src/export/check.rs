//! The oracles as expressions that a page evaluates, for formats that know no others. Pure.
//!
//! A player asks an expression again and again until it is true or the time is up. So a check is true only once the fault
//! has had its time to show, and never when it did.

use super::text::{literal, with_any_number};
use crate::maze::{Bug, BugKind};
use crate::trace::{FingerprintParts, TraceStep};

/// Milliseconds in which a fault has its time to show.
const QUIET_MS: u32 = 1_500;

/// What can be checked at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// This becomes true where the bug is gone.
    Expression(String),
    /// Nothing, and why.
    None(&'static str),
}

/// What is remembered from before the step: errors, alerts, changes.
const MEMORY: &str = "(window.__agentTest ??= { errors: [], alerts: [], changes: 0 })";

/// Begins to watch the page; dialogs are answered as they were in the recording, without stopping the player.
pub(super) fn watch(step: &TraceStep) -> String {
    let yes = step.dialog.as_ref().is_some_and(|dialog| dialog.accepted);
    let (confirm, prompt) = if yes { ("true", "''") } else { ("false", "null") };
    format!(
        "(() => {{ const memory = {MEMORY}; if (memory.watching) return true; memory.watching = true; \
         addEventListener('error', (event) => memory.errors.push(String(event.message))); \
         addEventListener('unhandledrejection', ({{ reason }}) => memory.errors.push(reason?.message === undefined ? String(reason) : `${{reason.name}}: ${{reason.message}}`)); \
         window.alert = (text) => {{ memory.alerts.push(String(text)); }}; \
         window.confirm = () => {confirm}; window.prompt = () => {prompt}; \
         new MutationObserver((records) => {{ memory.changes += records.length; }}).observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }}); \
         memory.requests = performance.getEntriesByType('resource').length; memory.url = location.href; return true; }})()"
    )
}

/// True once `bad` did not hold for a while.
fn never(bad: &str) -> String {
    format!(
        "(() => {{ const memory = {MEMORY}; memory.from ??= performance.now(); \
         if ({bad}) memory.bad = true; \
         return !memory.bad && performance.now() - memory.from > {QUIET_MS}; }})()"
    )
}

/// True once `bad` does not hold any more, a while after the step.
fn no_longer(bad: &str) -> String {
    format!(
        "(() => {{ const memory = {MEMORY}; memory.from ??= performance.now(); \
         return performance.now() - memory.from > {QUIET_MS} && !({bad}); }})()"
    )
}

const VISIBLE: &str =
    "((element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 1)";
const LAYERS: &str =
    "[...document.querySelectorAll('[role=dialog], [role=alertdialog], [aria-modal=true], dialog[open]')]";

/// The check of a bug's kind.
pub(super) fn of(bug: &Bug) -> Check {
    let (Some(kind), Some(parts)) = (&bug.kind, &bug.fingerprint_parts) else {
        return Check::None("another program found it, and says not by which rule");
    };
    let failing = bug.trace.last();
    let opening = bug.trace.len() < 2;
    let css = failing.and_then(|step| step.locator.as_ref()).and_then(|locator| locator.css.as_deref());
    Check::Expression(match kind {
        BugKind::HttpError => http_error(parts),
        BugKind::BrokenImage | BugKind::BrokenResource => {
            let pattern = address(parts.detail.split_once(' ').map_or("", |(_, path)| path));
            never(&format!(
                "performance.getEntriesByType('resource').some((entry) => {pattern}.test(new URL(entry.name).pathname) && entry.responseStatus >= 400)"
            ))
        }
        BugKind::Exception if opening => {
            return Check::None("the page throws while it loads, before anything can listen");
        }
        BugKind::Exception => {
            let text = bug.description.trim_start_matches("The page throws: ");
            never(&format!("memory.errors.some((text) => {}.test(text))", regex(text)))
        }
        BugKind::ErrorMessage if parts.signal == "error-page" => {
            let text = bug.description.trim_start_matches("The page is an error page: ");
            never(&format!(
                "{}.test((document.querySelector('h1, h2, [role=heading]')?.innerText ?? document.title).trim())",
                regex(text)
            ))
        }
        BugKind::ErrorMessage => {
            let text = bug.description.split_once(": ").map_or(bug.description.as_str(), |(_, text)| text);
            never(&format!(
                "{pattern}.test(document.body.innerText.replace(/\\s+/g, ' ')) || memory.alerts.some((text) => {pattern}.test(text))",
                pattern = regex(text)
            ))
        }
        BugKind::BlankPage => no_longer(
            "!document.body || (!document.body.innerText.trim() && !document.querySelector('img, svg, canvas, video, iframe, input, button'))",
        ),
        BugKind::NeverLoads => no_longer(&format!(
            "[...document.querySelectorAll('[class*=spinner], [class*=loader], [class*=loading], [class*=skeleton], [aria-busy=true], [role=progressbar]')].some((element) => {VISIBLE}(element) && \
             (element.ariaBusy === 'true' || /loading|please wait|laden|chargement|cargando|carregando|caricamento|загрузка|読み込み中|加载中|로딩/i.test(`${{element.innerText}} ${{element.ariaLabel}} ${{element.parentElement?.innerText.slice(0, 120)}}`)))"
        )),
        BugKind::DeadControl => format!(
            "(() => {{ const memory = {MEMORY}; return memory.changes > 0 || !memory.watching || location.href !== memory.url || performance.getEntriesByType('resource').length > memory.requests; }})()"
        ),
        BugKind::FocusTrap => format!(
            "(() => {{ const open = {LAYERS}.filter({VISIBLE}); const memory = {MEMORY}; \
             for (const button of open.flatMap((layer) => [...layer.querySelectorAll('button, [role=button]')])) \
             if (!memory.closed && /^(cancel|close|dismiss|no|not now|keep|back|abbrechen|schließen|annuler|fermer|cancelar|cerrar|×|x|✕)$/i.test((button.ariaLabel || button.innerText).trim())) {{ memory.closed = true; button.click(); }} \
             if (open.length) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Escape', bubbles: true }})); \
             return open.length === 0; }})()"
        ),
        BugKind::LoginRedirect => {
            never(&format!("[...document.querySelectorAll('input[type=password]')].some({VISIBLE})"))
        }
        // A page that hangs answers nothing.
        BugKind::Crash => no_longer("false"),
        BugKind::DisabledControl => match css {
            Some(css) => no_longer(&format!(
                "document.querySelector({})?.matches(':disabled, [aria-disabled=true]') ?? true",
                literal(css)
            )),
            None => return Check::None("its target has no path"),
        },
        BugKind::MissingText => match failing.and_then(|step| step.value.as_deref()) {
            Some(text) => shows(text),
            None => return Check::None("its text is not known"),
        },
        BugKind::Other(_) => return Check::None("its kind has no rule"),
    })
}

/// A request that must not answer with an error.
fn http_error(parts: &FingerprintParts) -> String {
    let path = parts.detail.split(' ').nth(1).unwrap_or_default();
    let pattern = address(path);
    let (kind, from) = if parts.category == "navigation" { ("navigation", 400) } else { ("resource", 500) };
    let bad = format!(
        "performance.getEntriesByType('{kind}').some((entry) => {pattern}.test(new URL(entry.name).pathname) && entry.responseStatus >= {from})"
    );
    never(&bad)
}

/// The path of an address template as a regular expression.
fn address(template: &str) -> String {
    let path = template.split(['?', '#']).next().unwrap_or_default();
    let source = path
        .split('/')
        .map(|part| match part {
            ":id" | ":ts" => "[^/]+".to_owned(),
            part => regex::escape(part),
        })
        .collect::<Vec<_>>()
        .join("/");
    format!("new RegExp({})", literal(&format!("^{source}/?$")))
}

fn regex(text: &str) -> String {
    format!("new RegExp({})", literal(&with_any_number(text)))
}

/// That the page shows a text.
pub(super) fn shows(text: &str) -> String {
    format!("document.body.innerText.replace(/\\s+/g, ' ').includes({})", literal(text))
}

/// That a path leads to an element with this name; counts in it may have changed.
pub(super) fn is_there(chain: &[&String], name: Option<&str>) -> String {
    let mut find = "document".to_owned();
    for (at, css) in chain.iter().enumerate() {
        let root = if at == 0 { "" } else { "?.shadowRoot" };
        find.push_str(&format!("{root}?.querySelector({})", literal(css)));
    }
    let agrees = name.map_or_else(
        || "true".to_owned(),
        |name| {
            format!(
                "[element.innerText, element.ariaLabel, element.title, element.placeholder, element.value, element.labels?.[0]?.innerText, element.querySelector('img, svg')?.getAttribute('alt')]\
                 .some((text) => new RegExp({}).test(String(text ?? '').replace(/\\s+/g, ' ').trim()))",
                literal(&with_any_number(name))
            )
        },
    );
    format!("(() => {{ const element = {find}; return !!element && {agrees}; }})()")
}

/// Puts the focus on an element.
pub(super) fn focus(css: &str) -> String {
    format!(
        "(() => {{ const element = document.querySelector({}); element?.focus(); return !!element; }})()",
        literal(css)
    )
}

/// Chooses an option by its label or its value, once the element is there.
pub(super) fn choose(css: &str, option: &str) -> String {
    format!(
        "(() => {{ const element = document.querySelector({}); const wanted = {}; \
         const option = [...(element?.options ?? [])].find((one) => one.label === wanted) ?? [...(element?.options ?? [])].find((one) => one.value === wanted); \
         if (!option) return false; element.focus(); element.value = option.value; \
         for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, {{ bubbles: true }})); return true; }})()",
        literal(css),
        literal(option)
    )
}
