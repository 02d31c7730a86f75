//! The free tier: where a target is now, from the page as the report shows it, without a model. Pure.
//!
//! It knows one thing well: a target of the same role whose name says the same in other words. Everything that is not
//! clearly that, it leaves alone, with the reason: a wrong repair costs more than none.

mod names;
mod resolve;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnose::{Failure, FailureKind};
use super::page::{Node, Page};
use super::spec::{Chain, Edit, Link, PRESENCE, Spec, quoted};
use crate::browser::words;
pub use names::{is_another, similarity};
use resolve::{Found, is_field, resolve};

/// A name must be this alike.
pub const LEAST_SCORE: f64 = 0.75;
/// The runner-up must be this far behind.
pub const LEAST_MARGIN: f64 = 0.2;

/// What was found, and how sure it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The element as the test names it.
    pub before: String,
    /// The element on the page.
    pub after: String,
    /// How alike they are, 0 to 1.
    pub score: f64,
    /// How far the next candidate is behind; absent: there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The next candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<String>,
    /// Why this one, in words.
    pub reason: String,
}

/// A proposed edit of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The edit.
    pub edit: Edit,
    /// The locator before.
    pub old: String,
    /// The locator after.
    pub new: String,
    /// Why.
    pub evidence: Evidence,
}

/// Why nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abstained {
    /// No sure candidate.
    Unsure(String),
    /// What failed is itself an expectation: the application may be wrong.
    Expectation(String),
    /// Several are equally good.
    Ambiguous(String),
}

impl Abstained {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsure(reason) | Self::Expectation(reason) | Self::Ambiguous(reason) => reason,
        }
    }
}

/// One element that might be the target.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its index in the page.
    pub index: usize,
    /// How alike it is.
    pub score: f64,
    /// `button "Start"`.
    pub told: String,
}

/// The failing locator in a file.
#[derive(Clone, Debug)]
pub struct Target {
    /// The chain that makes the locator.
    pub chain: Chain,
    /// Which of its links finds nothing.
    pub broken: usize,
    /// The node in which the broken link searches.
    scope: Option<usize>,
}

/// What may be proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeTerms<'a> {
    /// Whether expectations may change.
    pub allow_expectation: bool,
    /// The change that was declared.
    pub declared: Option<&'a str>,
}

/// Finds the chain of a failing call in a file: at its place, or by the locator that the report prints.
#[must_use]
pub fn find_chain(spec: &Spec, path: &Path, failure: &Failure) -> Option<Chain> {
    let places = failure.place.iter().chain(&failure.stack).filter(|place| place.file == path);
    for place in places {
        let Some(chain) = spec.chain_at(place.line, place.column) else { continue };
        let chain = if chain.is_expect() { chain.subject(spec).unwrap_or(chain) } else { chain };
        if chain.locator().is_some() && !chain.is_expect() && agrees(spec, &chain, failure) {
            return Some(chain);
        }
    }
    // The locator stands in a variable or a field.
    let all: Vec<Chain> = spec.chains().into_iter().filter(|chain| !chain.is_expect()).collect();
    let blind = |chain: &Chain| chain.locator_links().last().is_none_or(|last| !last.method.starts_with("getBy"));
    let mut hits =
        all.into_iter().filter(|chain| !blind(chain) && failure.locator.is_some() && agrees(spec, chain, failure));
    let first = hits.next()?;
    hits.next().is_none().then_some(first)
}

/// Whether the report's locator ends as this chain does, as far as both say it alike.
fn agrees(spec: &Spec, chain: &Chain, failure: &Failure) -> bool {
    let Some(printed) = &failure.locator else { return true };
    let squeeze = |text: &str| {
        text.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '"' { '\'' } else { c }).collect::<String>()
    };
    let printed = squeeze(printed);
    let Some(last) = chain.locator_links().last() else { return false };
    let Some(text) = spec.text().get(last.name.start..last.end) else { return false };
    let text = squeeze(text);
    let bare = text.replace(",)", ")").replace(",}", "}");
    printed.ends_with(&bare)
        || matches!(
            last.method.as_str(),
            "filter" | "nth" | "first" | "last" | "locator" | "frameLocator" | "and" | "or"
        )
        || last.text.as_deref().is_some_and(|text| printed.contains(&squeeze(&format!("'{text}'"))))
}

/// Proposes where the failing target is now.
///
/// # Errors
/// [`Abstained`], with the reason.
pub fn propose(
    spec: &Spec,
    path: &Path,
    failure: &Failure,
    page: &Page,
    terms: FreeTerms<'_>,
) -> Result<Proposal, Abstained> {
    let unsure = |reason: &str| Err(Abstained::Unsure(reason.to_owned()));
    match failure.kind {
        FailureKind::Locator => {}
        FailureKind::AmbiguousLocator => return ambiguous(spec, path, failure, page),
        FailureKind::AssertionValue => return value(spec, path, failure, terms),
        FailureKind::NotActionable => {
            return Err(Abstained::Expectation("the element is there and cannot be used".to_owned()));
        }
        _ => return unsure("it is no matter of a locator"),
    }
    if page.nodes.is_empty() {
        return unsure("the report shows no page");
    }
    let presence = failure.is_assertion && PRESENCE.contains(&failure.method.as_str());
    if presence && !terms.allow_expectation {
        return Err(Abstained::Expectation(
            "an assertion that something is there fails because it is not there; the application may be wrong"
                .to_owned(),
        ));
    }
    let negative = matches!(failure.method.as_str(), "toBeHidden") || failure.message.contains(".not.");
    if negative {
        return Err(Abstained::Expectation("an assertion that something is absent is never repaired".to_owned()));
    }
    let Some(chain) = find_chain(spec, path, failure) else { return unsure("the failing locator is not in this file") };
    let target = locate(chain, page)?;
    let candidates = candidates(spec, &target, failure, page);
    let Some(best) = candidates.first().filter(|best| best.score >= LEAST_SCORE) else {
        return moved(spec, &target, failure, page).ok_or_else(|| {
            let nearest = candidates.first().map_or_else(
                || "no element of its role is left".to_owned(),
                |best| format!("the nearest, {}, is not alike enough ({:.2})", best.told, best.score),
            );
            Abstained::Unsure(format!("nothing on the page is clearly the target: {nearest}"))
        });
    };
    let runner_up = candidates.get(1);
    let margin = runner_up.map(|next| best.score - next.score);
    if margin.is_some_and(|margin| margin < LEAST_MARGIN) {
        let other = runner_up.map(|next| next.told.clone()).unwrap_or_default();
        return Err(Abstained::Ambiguous(format!("{} and {other} are about equally good", best.told)));
    }
    let Some(node) = page.nodes.get(best.index) else { return unsure("the page has changed") };
    if let Some(declared) = terms.declared.filter(|_| presence)
        && !declared.to_lowercase().contains(&node.name.to_lowercase())
    {
        return Err(Abstained::Expectation(format!("the declared change does not name {}", best.told)));
    }
    let before = before(&target);
    let evidence = Evidence {
        before,
        after: best.told.clone(),
        score: round(best.score),
        margin: margin.map(round),
        runner_up: runner_up.map(|next| format!("{} ({:.2})", next.told, next.score)),
        reason: "same role, and a name that says the same".to_owned(),
    };
    write(spec, &target, node, page, evidence)
        .ok_or_else(|| Abstained::Ambiguous(format!("no locator leads to {} alone", best.told)))
}

fn round(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}

/// The elements that might be the target of a failing call, best first: what a model may pick from.
#[must_use]
pub fn shortlist(
    spec: &Spec,
    path: &Path,
    failure: &Failure,
    page: &Page,
    most: usize,
) -> Option<(Target, Vec<Candidate>)> {
    let chain = find_chain(spec, path, failure)?;
    let target = locate(chain, page).ok()?;
    let mut all = candidates(spec, &target, failure, page);
    all.truncate(most);
    Some((target, all))
}

/// The edit that leads a target to this element.
#[must_use]
pub fn lead_to(spec: &Spec, target: &Target, candidate: &Candidate, page: &Page, reason: &str) -> Option<Proposal> {
    let node = page.nodes.get(candidate.index)?;
    let evidence = Evidence {
        before: before(target),
        after: candidate.told.clone(),
        score: round(candidate.score),
        margin: None,
        runner_up: None,
        reason: reason.to_owned(),
    };
    write(spec, target, node, page, evidence)
}

/// The element that a target names, for people.
#[must_use]
pub fn before(target: &Target) -> String {
    let Some(link) = target.chain.links.get(target.broken) else { return String::new() };
    match (link.method.as_str(), &link.text, &link.name_option) {
        ("getByRole", Some(role), Some(name)) => format!("{role} \"{name}\""),
        (_, Some(text), _) => format!("{}({text})", link.method),
        _ => link.method.clone(),
    }
}

/// Which link of the chain finds nothing, and in what it searches.
fn locate(chain: Chain, page: &Page) -> Result<Target, Abstained> {
    let mut scope = None;
    let mut unknown = None;
    let links = chain.locator_links();
    if let Some(blind) =
        links.iter().find(|link| matches!(link.method.as_str(), "nth" | "first" | "last" | "and" | "or" | "owner"))
    {
        return Err(Abstained::Unsure(format!("the locator takes one of several (`{}`)", blind.method)));
    }
    let count = links.len();
    for index in 0..count {
        let Some(link) = chain.links.get(index) else { break };
        if link.method == "filter" {
            continue;
        }
        // A filter belongs to the link before it.
        let filter = chain
            .links
            .get(index + 1)
            .filter(|next| next.method == "filter" && next.is_call)
            .and_then(|next| next.name_option.clone());
        match resolve(link, filter.as_deref(), page, scope) {
            Found::Nodes(nodes) if nodes.is_empty() => return Ok(Target { chain, broken: index, scope }),
            Found::Nodes(nodes) => {
                if let [one] = nodes.as_slice() {
                    scope = Some(*one);
                } else if index + 1 < count {
                    // Several scopes: the whole of what was searched stays.
                }
            }
            Found::Unknown => unknown = Some(index),
        }
    }
    match unknown {
        Some(broken) => Ok(Target { chain, broken, scope: if broken + 1 == count { scope } else { None } }),
        None => Err(Abstained::Unsure(
            "the page as shown holds the target; it came too late, or stands in another frame".to_owned(),
        )),
    }
}

fn told(node: &Node) -> String {
    match (&node.name, &node.placeholder) {
        (name, _) if !name.is_empty() => format!("{} \"{name}\"", node.role),
        (_, Some(placeholder)) => format!("{} with placeholder \"{placeholder}\"", node.role),
        _ => format!("{} \"{}\"", node.role, node.text),
    }
}

fn candidates(spec: &Spec, target: &Target, failure: &Failure, page: &Page) -> Vec<Candidate> {
    let Some(link) = target.chain.links.get(target.broken) else { return Vec::new() };
    let taken = other_names(spec, target);
    let mut all: Vec<Candidate> = page
        .nodes
        .iter()
        .enumerate()
        .filter(|(index, node)| page.is_in(*index, target.scope) && fits(link, node, failure) && !node.disabled)
        .filter(|(_, node)| node.name.is_empty() || !taken.contains(&node.name))
        .map(|(index, node)| Candidate { index, score: score(link, node), told: told(node) })
        .collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all
}

/// Names that other locators of the file use: their elements are others.
fn other_names(spec: &Spec, target: &Target) -> Vec<String> {
    let chains = spec.chains();
    let subjects: Vec<Chain> = chains.iter().filter_map(|chain| chain.subject(spec)).collect();
    chains
        .iter()
        .chain(&subjects)
        .filter(|chain| chain.root_range.start != target.chain.root_range.start)
        .flat_map(Chain::locator_links)
        .flat_map(|link| link.name_option.iter().chain(link.text.iter().filter(|_| link.method != "getByRole")))
        .cloned()
        .collect()
}

/// Whether an element can be what this link meant, for what was to be done with it.
fn fits(link: &Link, node: &Node, failure: &Failure) -> bool {
    let can = match failure.method.as_str() {
        "fill" | "type" | "pressSequentially" | "clear" => {
            matches!(node.role.as_str(), "textbox" | "searchbox" | "combobox" | "spinbutton")
        }
        "check" | "uncheck" | "setChecked" => {
            matches!(node.role.as_str(), "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio")
        }
        "selectOption" => matches!(node.role.as_str(), "combobox" | "listbox"),
        _ => true,
    };
    if !can {
        return false;
    }
    match link.method.as_str() {
        "getByRole" => link.text.as_deref() == Some(&node.role),
        "getByLabel" => is_field(&node.role),
        "getByPlaceholder" => matches!(node.role.as_str(), "textbox" | "searchbox" | "combobox" | "spinbutton"),
        "getByText" => !failure.is_assertion && names::is_control(&node.role),
        "getByTestId" | "locator" => {
            let hint = link.text.as_deref().and_then(names::role_hint);
            !failure.is_assertion
                && (names::is_control(&node.role) || is_field(&node.role))
                && hint.is_none_or(|hint| hint.contains(&node.role.as_str()))
        }
        _ => false,
    }
}

fn score(link: &Link, node: &Node) -> f64 {
    let wanted = match link.method.as_str() {
        "getByRole" => link.name_option.clone(),
        "getByTestId" | "locator" => link.text.as_deref().and_then(names::words_of_id),
        _ => link.text.clone(),
    };
    let Some(wanted) = wanted else { return 0.0 };
    let names = [node.name.as_str(), node.placeholder.as_deref().unwrap_or_default()];
    let best = names.iter().filter(|name| !name.is_empty()).map(|name| similarity(&wanted, name)).fold(0.0, f64::max);
    let is_link = node.role == "link";
    let new_destroys = words::is_destructive(&node.name, is_link);
    if new_destroys == words::is_destructive(&wanted, is_link) { best } else { 0.0 }
}

/// The target under its own name, outside of the part of the page in which it was searched.
fn moved(spec: &Spec, target: &Target, failure: &Failure, page: &Page) -> Option<Proposal> {
    if target.chain.locator_links().len() < 2 || failure.is_assertion {
        return None;
    }
    let last = target.chain.locator_links().last()?;
    if last.method == "filter"
        || target
            .chain
            .locator_links()
            .iter()
            .any(|link| matches!(link.method.as_str(), "frameLocator" | "contentFrame"))
    {
        return None;
    }
    let Found::Nodes(nodes) = resolve(last, None, page, None) else { return None };
    let [index] = nodes.as_slice() else { return None };
    let node = page.nodes.get(*index)?;
    let text = spec.text().get(last.name.start..last.end)?;
    let old = spec.text().get(target.chain.locator()?)?.to_owned();
    let new = format!("{}.{text}", target.chain.root);
    Some(Proposal {
        edit: Edit { range: target.chain.root_range.start..last.end, replacement: new.clone() },
        old,
        new,
        evidence: Evidence {
            before: before(target),
            after: told(node),
            score: 1.0,
            margin: None,
            runner_up: None,
            reason: "the same role and name, once on the page, outside of where it was searched".to_owned(),
        },
    })
}

/// Writes the locator: in the words of the old one where the page has them, or else by role and name.
fn write(spec: &Spec, target: &Target, node: &Node, page: &Page, evidence: Evidence) -> Option<Proposal> {
    let links = target.chain.locator_links();
    let link = links.get(target.broken)?;
    let literal = |range: &Option<std::ops::Range<usize>>, text: &str| {
        range.clone().map(|range| {
            let double = spec.text().get(range.start..=range.start) == Some("\"");
            Edit {
                range,
                replacement: if double {
                    serde_json::to_string(text).unwrap_or_else(|_| quoted(text))
                } else {
                    quoted(text)
                },
            }
        })
    };
    let by_role = |exact: bool| {
        let exact = if exact { ", exact: true" } else { "" };
        let call = format!("getByRole({}, {{ name: {}{exact} }})", quoted(&node.role), quoted(&node.name));
        Edit { range: link.name.start..link.end, replacement: call }
    };
    let mut tries = Vec::new();
    match link.method.as_str() {
        "getByRole" => tries.extend(literal(&link.option_range, &node.name)),
        "getByPlaceholder" => {
            if let Some(placeholder) = &node.placeholder {
                tries.extend(literal(&link.text_range, placeholder));
            }
        }
        "getByLabel" | "getByText" if !node.name.is_empty() => tries.extend(literal(&link.text_range, &node.name)),
        _ => {}
    }
    if !node.name.is_empty() {
        tries.push(by_role(false));
        tries.push(by_role(true));
    }
    if let Some(placeholder) = node.placeholder.as_ref().filter(|_| node.name.is_empty()) {
        tries.push(Edit {
            range: link.name.start..link.end,
            replacement: format!("getByPlaceholder({})", quoted(placeholder)),
        });
    }
    let index = page.nodes.iter().position(|other| std::ptr::eq(other, node))?;
    let old_range = target.chain.locator()?;
    let old = spec.text().get(old_range.clone())?.to_owned();
    for edit in tries {
        let text = edit.apply(spec.text())?;
        let shift = |at: usize| at + edit.replacement.len() - edit.range.len();
        let new = text.get(old_range.start..shift(old_range.end))?.to_owned();
        // What is written must lead to this element and no other.
        let Ok(parsed) = Spec::parse(&format!("{new};"), Path::new("locator.ts")) else { continue };
        let Some(chain) = parsed.chains().into_iter().next() else { continue };
        let Some(written) = chain.links.get(target.broken) else { continue };
        if let Found::Nodes(nodes) = resolve(written, None, page, target.scope)
            && nodes == [index]
            && new != old
        {
            return Some(Proposal { edit, old, new, evidence });
        }
    }
    None
}

/// Several elements where one was meant: the one whose name is exactly it.
fn ambiguous(spec: &Spec, path: &Path, failure: &Failure, page: &Page) -> Result<Proposal, Abstained> {
    let several = |reason: &str| Abstained::Ambiguous(reason.to_owned());
    let chain = find_chain(spec, path, failure)
        .ok_or_else(|| several("the locator finds several, and it is not in this file"))?;
    let Some(link) = chain.locator_links().last().cloned() else { return Err(several("the locator finds several")) };
    let wanted = if link.method == "getByRole" { link.name_option.clone() } else { link.text.clone() };
    let wanted = wanted.filter(|_| {
        !link.exact && matches!(link.method.as_str(), "getByRole" | "getByText" | "getByLabel" | "getByPlaceholder")
    });
    let Some(wanted) = wanted else {
        return Err(several("the locator finds several elements, and its name does not tell them apart"));
    };
    let same = |node: &&Node| match link.method.as_str() {
        "getByRole" => link.text.as_deref() == Some(&node.role) && node.name == wanted,
        "getByPlaceholder" => node.placeholder.as_deref() == Some(&wanted),
        "getByLabel" => is_field(&node.role) && node.name == wanted,
        _ => node.name == wanted || node.text == wanted,
    };
    let exact: Vec<&Node> = page.nodes.iter().filter(same).collect();
    let [node] = exact.as_slice() else {
        return Err(several("the locator finds several elements, and not exactly one has exactly its name"));
    };
    let range = link.args_range.clone().ok_or_else(|| several("the locator has no arguments"))?;
    let call = if link.method == "getByRole" {
        format!("({}, {{ name: {}, exact: true }})", quoted(&node.role), quoted(&wanted))
    } else {
        format!("({}, {{ exact: true }})", quoted(&wanted))
    };
    // Other options than a name would be lost.
    if link.args.len() > 1
        && (link.method != "getByRole" || link.args.get(1).is_none_or(|options| options.matches(':').count() != 1))
    {
        return Err(several("the locator finds several elements, and has options of its own"));
    }
    let edit = Edit { range, replacement: call };
    let text = edit.apply(spec.text()).ok_or_else(|| several("the file has changed"))?;
    let old_range = chain.locator().ok_or_else(|| several("there is no locator"))?;
    let end = old_range.end + edit.replacement.len() - edit.range.len();
    let (old, new) = (
        spec.text().get(old_range.clone()).unwrap_or_default().to_owned(),
        text.get(old_range.start..end).unwrap_or_default().to_owned(),
    );
    let evidence = Evidence {
        before: format!("{wanted:?}, anywhere in a name"),
        after: told(node),
        score: 1.0,
        margin: None,
        runner_up: None,
        reason: "of the elements found, one has exactly this name".to_owned(),
    };
    Ok(Proposal { edit, old, new, evidence })
}

/// Another expected value, where that was declared.
fn value(spec: &Spec, path: &Path, failure: &Failure, terms: FreeTerms<'_>) -> Result<Proposal, Abstained> {
    let wrong = || {
        Abstained::Expectation(
            "the page says something else than the test expects; the application may be wrong".to_owned(),
        )
    };
    if !terms.allow_expectation || failure.message.contains(".not.") {
        return Err(wrong());
    }
    let received = failure.received.as_deref().ok_or_else(wrong)?;
    let text: String = serde_json::from_str(received)
        .map_err(|_| wrong())
        .or_else(|error| received.parse::<f64>().map(|_| received.to_owned()).map_err(|_| error))?;
    if terms.declared.is_some_and(|declared| !declared.to_lowercase().contains(&text.to_lowercase())) {
        return Err(Abstained::Expectation(format!("the declared change does not name {received}")));
    }
    let place = failure.place.as_ref().filter(|place| place.file == path).ok_or_else(wrong)?;
    let chain = spec.chain_at(place.line, place.column).filter(Chain::is_expect).ok_or_else(wrong)?;
    let link = chain.links.iter().rev().find(|link| link.method == failure.method).ok_or_else(wrong)?;
    let whole = link.args_range.clone().filter(|_| link.args.len() == 1).ok_or_else(wrong)?;
    let numeric = link.args.first().is_some_and(|argument| argument.parse::<f64>().is_ok());
    let (range, replacement) = match (&link.text_range, numeric) {
        (Some(range), _) => (range.clone(), quoted(&text)),
        (None, true) => (whole, format!("({text})")),
        (None, false) => return Err(wrong()),
    };
    let old = spec.text().get(range.clone()).unwrap_or_default().to_owned();
    let evidence = Evidence {
        before: old.clone(),
        after: received.to_owned(),
        score: 1.0,
        margin: None,
        runner_up: None,
        reason: "the page says so, and the change was declared".to_owned(),
    };
    Ok(Proposal { edit: Edit { range, replacement: replacement.clone() }, old, new: replacement, evidence })
}

#[cfg(test)]
mod tests;
