//! A flow as a Playwright test that stands alone: its checks as expects, its goal steps as what was recorded of them. Pure
//! but for the store that the recordings are read from.
//!
//! What a recording proves at its end is expected here too: the address, what came, what went. A step that needs a model,
//! and one whose recording stops at a gap, cannot be written down: then the flow is left out, and each such step is told.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use url::Url;

use super::flow_found::{Wanted, target};
use super::playwright::{COMMON, using};
use super::text::{line, literal, slug};
use super::{Document, ExportError};
use crate::browser::Policy;
use crate::env::SECRET_PREFIX;
use crate::flow::cache::{recorded, values_of};
use crate::flow::recording::{Anchor, CacheStore, Entry, RecordedAction, Verb, distance, stable};
use crate::flow::{Does, Expect, Extract, Flow, Param, Step, Values, known_secrets, wanted_place};
use crate::settings::Settings;
use crate::store::free_name;
use crate::trace::bounds::may_upload;

/// What the tests of flows have in common.
const HELPERS: &str = include_str!("flow.ts");
/// The variables that values of a run are read from begin so.
const PARAM_PREFIX: &str = "AGENT_TEST_PARAM_";
const ENDING: &str = ".spec.ts";
/// A target or a recorded end may come so late, in milliseconds.
const PATIENCE_MS: u64 = 15_000;

/// What an export of flows is told beside them.
#[derive(Clone, Debug)]
pub struct FlowTerms {
    /// Address of the application.
    pub base: Url,
    /// Settings that hold: the window, own origins, the session to begin with.
    pub settings: Settings,
    /// For which target the recordings were made.
    pub target: String,
    /// Parameters, in place of those of the files.
    pub params: BTreeMap<String, String>,
}

/// A flow that became a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// The file.
    pub document: Document,
    /// What the file does not say.
    pub notes: Vec<String>,
}

/// A step that cannot be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The flow's file.
    pub file: String,
    /// Number of the step, from 1; 0: an overlay that is put away.
    pub step: usize,
    /// Its line in the flow's file.
    pub line: u64,
    /// What it says.
    pub says: String,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}, step {} ({}): {}", self.file, self.line, self.step, self.says, self.why)
    }
}

/// What became of flows.
#[derive(Debug)]
pub struct Flows<'a> {
    /// Those that became a file.
    pub specs: Vec<(&'a Flow, FlowSpec)>,
    /// The steps of others that stand in the way.
    pub missing: Vec<Missing>,
}

/// The specs of flows, from the recordings of their goal steps; a flow with a step that cannot be written down has none.
///
/// # Errors
/// [`ExportError::NoFlow`] when none is left; [`ExportError::Flow`] when the recordings cannot be read, or a parameter
/// does not fit.
pub fn flow_specs<'a>(flows: &'a [Flow], store: &CacheStore, terms: &FlowTerms) -> Result<Flows<'a>, ExportError> {
    let policy = Policy::of_application(&terms.base, &terms.settings.own_origins);
    let own = |url: &Url| policy.is_own(url);
    let mut done = Flows { specs: Vec::new(), missing: Vec::new() };
    for flow in flows {
        let values = values_of(flow, &terms.params)?;
        let recordings = recorded(store, flow, &terms.params, &terms.target, (&terms.base, &own))?;
        // A secret in a title is one too.
        let hidden = Flow { name: known_secrets(flow).hide(&flow.name), ..flow.clone() };
        match write_spec(&hidden, &values, &recordings, terms) {
            Ok(mut spec) => {
                let is_taken =
                    |stem: &str| done.specs.iter().any(|(_, other)| other.document.name == format!("{stem}{ENDING}"));
                spec.document.name = format!("{}{ENDING}", free_name(&spec.document.name, is_taken));
                done.specs.push((flow, spec));
            }
            Err(missing) => done.missing.extend(missing),
        }
    }
    if done.specs.is_empty() {
        return Err(ExportError::NoFlow { missing: done.missing.iter().map(Missing::to_string).collect() });
    }
    Ok(done)
}

fn write_spec(
    flow: &Flow,
    values: &Values,
    recordings: &BTreeMap<usize, Result<Entry, String>>,
    terms: &FlowTerms,
) -> Result<FlowSpec, Vec<Missing>> {
    let secrets = known_secrets(flow);
    let says = |step: &Step| secrets.hide(&step.does.line());
    let mut writer = Writer { flow, values, base: &terms.base, out: String::new(), notes: Vec::new() };
    let mut missing = Vec::new();
    for (number, step) in (1..).zip(&flow.steps) {
        writer.out.push_str(&filled(&format!("  await test.step({}, async () => {{\n", writer.text(&says(step)))));
        if let Err(why) = writer.step(step, recordings.get(&number)) {
            missing.push(Missing { file: flow.file.clone(), step: number, line: step.line, says: says(step), why });
        }
        writer.out.push_str("  });\n");
    }
    let (steps, notes) = (std::mem::take(&mut writer.out), std::mem::take(&mut writer.notes));
    let dismissals: Vec<String> =
        flow.dismiss.iter().filter_map(|expect| writer.dismissal(expect, &mut missing)).collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let mut out = head(flow, recordings.len(), terms);
    out.push_str(&constants(flow, terms));
    let viewport = terms.settings.viewport;
    let begins = terms.settings.storage_state.as_deref();
    out.push_str(&using(viewport, begins, terms.settings.login.is_some(), &["actionTimeout: 15_000"]));
    let _ = writeln!(out, "test({}, async ({{ page }}) => {{", literal(&flow.name));
    let most: u64 = flow.steps.iter().map(|step| step.timeout_ms).sum();
    let _ = writeln!(out, "  test.setTimeout({most});");
    if terms.settings.safe_to_mutate {
        let _ = writeln!(out, "  page.on('dialog', (dialog) => dialog.accept());");
    }
    out.push_str(&dismissals.concat());
    out.push_str(&steps);
    out.push_str("});\n\n");
    out.push_str(HELPERS);
    out.push('\n');
    out.push_str(COMMON);
    let mut notes = notes;
    if terms.settings.login.is_some() && begins.is_none() {
        notes.push("it does not log in: AGENT_TEST_STORAGE_STATE names a session to begin with".to_owned());
    }
    let stem = slug(&flow.name, 60);
    let name = if stem.is_empty() { "flow".to_owned() } else { stem };
    Ok(FlowSpec { document: Document { name, text: out }, notes })
}

fn head(flow: &Flow, recordings: usize, terms: &FlowTerms) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "// {}", line(&flow.name));
    let recordings = crate::ui::counted(recordings, "recording");
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "// Written by agent-test {version} from {} and {recordings}.", line(&flow.file));
    out.push_str("//\n// Run it:   npm install -D @playwright/test && npx playwright test\n// From the environment:\n");
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "//   {name:<26} {}", line(text));
    };
    row("BASE_URL", "address of the application");
    row(crate::env::CHROME, "a Chromium to use in place of the one that `npx playwright install` brings");
    for (name, _) in marked(flow) {
        row(&variable(name), &format!("the parameter {name}; a new one in each run without it"));
    }
    for name in &flow.secrets {
        row(&format!("{SECRET_PREFIX}{name}"), "a secret that the test types; it stands in no file");
    }
    if terms.settings.storage_state.is_some() || terms.settings.login.is_some() {
        row("AGENT_TEST_STORAGE_STATE", "file with the session that the test begins with");
    }
    out.push_str("\nimport { expect, test, type FrameLocator, type Locator, type Page } from '@playwright/test';\n\n");
    out
}

/// Parameters that are others in each run, with their values.
fn marked(flow: &Flow) -> impl Iterator<Item = (&String, &String)> {
    flow.params.iter().filter_map(|(name, param)| match param {
        Param::Marked { default, unique: true } => Some((name, default)),
        _ => None,
    })
}

fn variable(name: &str) -> String {
    format!("{PARAM_PREFIX}{}", name.to_uppercase())
}

fn constants(flow: &Flow, terms: &FlowTerms) -> String {
    let mut base = terms.base.clone();
    let _ = base.set_username("");
    let _ = base.set_password(None);
    let mut out = format!(
        "/** Where the application is. */\nconst BASE = process.env.BASE_URL || {};\n/** A word that no other run has. */\nconst RUN = Date.now().toString(36);\n/** Values of this run. */\nconst values: Record<string, string> = {{\n  run: RUN,\n",
        literal(base.as_str())
    );
    for (name, default) in marked(flow) {
        let default = terms.params.get(name).unwrap_or(default);
        let parts: Vec<String> = default.split("{{run}}").map(literal).collect();
        let _ = writeln!(out, "  {}: process.env.{} ?? {},", literal(name), variable(name), parts.join(" + RUN + "));
    }
    out.push_str("};\n\n");
    out
}

/// Puts values in the place of their slots, which stand in literals.
fn filled(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("{{param:/") {
        let (before, slot) = rest.split_at(at);
        let Some(end) = slot.find("}}") else { break };
        let (name, how) = slot[9..end].split_once(':').unwrap_or((&slot[9..end], ""));
        let value = match how {
            "percent" | "form" | "slug" => format!("{how}(values[{}])", literal(name)),
            _ => format!("values[{}]", literal(name)),
        };
        // An empty literal before or behind it is left out.
        let after = &slot[end + 2..];
        match before.strip_suffix('"').filter(|before| !before.ends_with('\\')) {
            Some(before) => out.push_str(&format!("{before}{value}")),
            None => out.push_str(&format!("{before}\" + {value}")),
        }
        match after.strip_prefix('"') {
            Some(after) => rest = after,
            None => {
                out.push_str(" + \"");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

struct Writer<'a> {
    flow: &'a Flow,
    values: &'a Values,
    base: &'a Url,
    out: String,
    notes: Vec<String>,
}

impl Writer<'_> {
    fn code(&mut self, code: &str) {
        let _ = writeln!(self.out, "    {}", filled(code));
    }

    /// A text of the flow's file as a literal, with slots for values of the run.
    fn text(&self, text: &str) -> String {
        literal(&self.values.key_text(text))
    }

    fn step(&mut self, step: &Step, recording: Option<&Result<Entry, String>>) -> Result<(), String> {
        const LIVE: &str = "a model judges it in each run; write it as `expect`";
        match &step.does {
            Does::Open(address) => {
                let address = self.text(address);
                self.code(&format!("await page.goto(new URL({address}, BASE).href);"));
                Ok(())
            }
            Does::Expect(expect) => self.expect(expect, step.timeout_ms),
            Does::Assert(_) | Does::WaitFor(_) => Err(LIVE.to_owned()),
            Does::Extract(values) => values.iter().try_for_each(|(name, value)| match value {
                Extract::Words(_) => {
                    Err("a model reads it in each run; write where it stands (`role`, `name`, …)".to_owned())
                }
                Extract::Node(expect) => {
                    let found = self.wanted(expect).found()?;
                    self.code(&format!("values[{}] = await read({found}, {});", literal(name), step.timeout_ms));
                    Ok(())
                }
            }),
            Does::Act(_) => match recording {
                Some(Ok(entry)) => self.act(entry),
                Some(Err(why)) => Err(why.clone()),
                None => Err("nothing is recorded for it".to_owned()),
            },
        }
    }

    fn wanted(&self, expect: &Expect) -> Wanted {
        let fill = |text: &Option<String>| text.as_deref().map(|text| self.values.key_text(text));
        Wanted {
            role: expect.role.clone(),
            name: fill(&expect.name),
            text: fill(&expect.text),
            contains: fill(&expect.contains),
            test_id: fill(&expect.test_id),
            within: fill(&expect.within),
            states: expect.checked.iter().map(|checked| Wanted::checked(*checked)).collect(),
            ..Wanted::default()
        }
    }

    fn expect(&mut self, expect: &Expect, limit: u64) -> Result<(), String> {
        if let Some(url) = &expect.url {
            let url = self.values.key_text(url);
            if url.contains("{{param:") {
                return Err("its `url` holds a value that is another one in each run".to_owned());
            }
            let place = literal(&wanted_place(&url, self.base));
            self.code(&format!("await isOn(page, {place}, {limit});"));
        }
        if let Some(title) = &expect.title {
            let title = self.text(title);
            self.code(&format!("await expect(page).toHaveTitle(exactly({title}), {{ timeout: {limit} }});"));
        }
        if !expect.is_of_a_node() {
            return Ok(());
        }
        let found = self.wanted(expect).found()?;
        let value = expect.value.as_ref().map(|value| self.text(value));
        self.shows(&found, value.as_deref(), (expect.count, expect.gone), limit)
    }

    fn shows(
        &mut self,
        found: &str,
        value: Option<&str>,
        (count, gone): (Option<usize>, bool),
        limit: u64,
    ) -> Result<(), String> {
        let wait = format!("{{ timeout: {limit} }}");
        match (value, count, gone) {
            (Some(value), None, false) => {
                self.code(&format!("await expect.poll(() => held({found}), {wait}).toContain({value});"));
            }
            (Some(value), None, true) => {
                self.code(&format!("await expect.poll(() => held({found}), {wait}).not.toContain({value});"));
            }
            (Some(_), Some(_), _) => return Err("fields that hold a `value` cannot be counted there".to_owned()),
            (None, Some(count), _) => self.code(&format!("await expect({found}).toHaveCount({count}, {wait});")),
            (None, None, true) => self.code(&format!("await expect({found}).toHaveCount(0, {wait});")),
            (None, None, false) => self.code(&format!("await expect({found}.first()).toBeVisible({wait});")),
        }
        Ok(())
    }

    fn dismissal(&self, expect: &Expect, missing: &mut Vec<Missing>) -> Option<String> {
        match self.wanted(expect).found() {
            Ok(found) => Some(filled(&format!(
                "  await page.addLocatorHandler({found}.first(), async (overlay) => {{ await overlay.click(); }});\n"
            ))),
            Err(why) => {
                let says = format!("dismiss {}", expect.describe());
                missing.push(Missing { file: self.flow.file.clone(), step: 0, line: 1, says, why });
                None
            }
        }
    }

    fn act(&mut self, entry: &Entry) -> Result<(), String> {
        self.values.from_slots(&entry.text()).map_err(|slot| format!("nothing fills {slot} of its recording"))?;
        for (number, action) in (1..).zip(&entry.actions) {
            let code = self
                .action(action)
                .map_err(|why| format!("action {number} of its recording, {}: {why}", action.line()))?;
            self.code(&code);
        }
        self.out.push_str("    // What came of it when it was recorded.\n");
        let limit = PATIENCE_MS.max(entry.end_wait_ms);
        if let Some(place) = &entry.end_path {
            // A secret in an address was hidden when it was recorded.
            let hidden = |place: String, name: &String| place.replace(&format!("({name})"), "{id}");
            let place = self.flow.secrets.iter().fold(place.clone(), hidden);
            self.code(&format!("await isOn(page, {}, {limit});", literal(&place)));
        }
        for (anchor, gone) in
            entry.end_anchors.iter().map(|one| (one, false)).chain(entry.gone_anchors.iter().map(|one| (one, true)))
        {
            self.anchor(anchor, gone, limit);
        }
        Ok(())
    }

    /// A recorded change as a check; what cannot be checked is told.
    fn anchor(&mut self, anchor: &Anchor, gone: bool, limit: u64) {
        let value = anchor.value.as_deref().map(literal);
        let checked = self.anchored(anchor).and_then(|found| self.shows(&found, value.as_deref(), (None, gone), limit));
        if let Err(why) = checked {
            let told = format!("{}{}", anchor.describe(), if gone { " gone" } else { "" });
            let _ = writeln!(self.out, "    // Not checked, {}: {}.", line(&why), line(&told));
            self.notes.push(format!("{told} is not checked: {why}"));
        }
    }

    fn anchored(&self, anchor: &Anchor) -> Result<String, String> {
        if stable(anchor.label()) != anchor.label() {
            return Err("it is another text each time".to_owned());
        }
        let value = anchor.value.as_deref().unwrap_or_default();
        let shows = |name: &String| [anchor.label(), value].iter().any(|text| text.contains(&format!("({name})")));
        if self.flow.secrets.iter().any(shows) {
            return Err("it may show a secret".to_owned());
        }
        if self.is_pattern(anchor.label()) {
            return Err("its label is declared to carry a state".to_owned());
        }
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let expanded = |on: bool| {
            let details = if on { "details[open]" } else { "details:not([open])" };
            format!("[aria-expanded={on}], {details} > summary")
        };
        let states = [
            anchor.checked.map(Wanted::checked),
            anchor.expanded.map(expanded),
            anchor.pressed.map(|on| format!("[aria-pressed={on}]")),
            anchor.selected.map(|on| format!("[aria-selected={on}]")),
            anchor.disabled.then(|| ":disabled, [aria-disabled=true]".to_owned()),
        ];
        let wanted = Wanted {
            role: Some(anchor.role.clone()),
            name: some(&anchor.name),
            text: some(&anchor.text),
            placeholder: anchor.placeholder.clone(),
            within: anchor.within.clone(),
            states: states.into_iter().flatten().collect(),
            ..Wanted::default()
        };
        wanted.found()
    }

    fn is_pattern(&self, text: &str) -> bool {
        !self.flow.labels.is_empty() && (text.contains("{number}") || text.contains("{text}"))
    }

    fn action(&self, action: &RecordedAction) -> Result<String, String> {
        let labels =
            action.target.iter().chain(&action.to).flat_map(|target| [&target.name, &target.text, &target.within]);
        if labels.flatten().any(|label| self.is_pattern(label)) {
            return Err("its label is declared to carry a state".to_owned());
        }
        let found = action.target.as_ref().map(target).transpose()?;
        let on = || found.clone().ok_or_else(|| "it names no target".to_owned());
        let value = action.value.as_deref().unwrap_or_default();
        let text = literal(value);
        Ok(match &action.verb {
            Verb::Tap => format!("await {}.click();", on()?),
            Verb::DoubleTap => format!("await {}.dblclick();", on()?),
            Verb::SecondaryTap => format!("await {}.click({{ button: 'right' }});", on()?),
            Verb::LongPress => format!("await {}.click({{ delay: 1000 }});", on()?),
            Verb::Hover => format!("await {}.hover();", on()?),
            Verb::Type => format!("await {}.fill({text});", on()?),
            Verb::TypeSecret => {
                format!("await {}.fill(secret({}));", on()?, literal(&format!("{SECRET_PREFIX}{value}")))
            }
            Verb::Press => match &found {
                Some(found) => format!("await {found}.press({text});"),
                None => format!("await page.keyboard.press({text});"),
            },
            Verb::Select => format!("await {}.selectOption({{ label: {text} }});", on()?),
            Verb::Check => format!("await {}.setChecked({});", on()?, value == "true"),
            Verb::Upload => {
                let files: Vec<String> = may_upload(value)?.iter().map(|file| literal(file)).collect();
                format!("await {}.setInputFiles([{}]);", on()?, files.join(", "))
            }
            Verb::Drag => {
                let to = action.to.as_ref().map(target).transpose()?.ok_or("it names no end")?;
                format!("await {}.dragTo({to});", on()?)
            }
            Verb::Scroll => {
                let (x, y) = distance(value).ok_or("its distance is none")?;
                let from = found.unwrap_or_else(|| "page.locator(':root')".to_owned());
                format!("await scroll({from}, {x}, {y}, {});", action.times.unwrap_or(1))
            }
            Verb::Navigate => {
                let origin = self.base.origin().ascii_serialization();
                let own = value.strip_prefix(origin.as_str()).unwrap_or(value);
                format!("await page.goto(new URL({}, BASE).href);", literal(own))
            }
            Verb::Back => "await page.goBack();".to_owned(),
            Verb::TypeText => format!("await page.keyboard.type({text});"),
            Verb::TapAt | Verb::HoverAt => {
                let at = action.at.ok_or("it names no point")?;
                let press = action.verb == Verb::TapAt;
                match (&found, at.inside) {
                    (Some(found), Some([left, top, width, height])) if width > 0 && height > 0 => {
                        let part = |from: i64, to: i64, of: i64| (to - from) as f64 / of as f64;
                        let (x, y) = (part(left, at.x, width), part(top, at.y, height));
                        format!("await point({found}, {x:.4}, {y:.4}, {press});")
                    }
                    _ => {
                        let does = if press { "click" } else { "move" };
                        let size = format!("{{ width: {}, height: {} }}", at.width, at.height);
                        format!(
                            "expect(page.viewportSize()).toEqual({size});\n    await page.mouse.{does}({}, {});",
                            at.x, at.y
                        )
                    }
                }
            }
            Verb::Gap => return Err("it cannot be repeated".to_owned()),
            Verb::Other(word) => return Err(format!("this version does not know `{word}`")),
        })
    }
}

#[cfg(test)]
mod tests;
