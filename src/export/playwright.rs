//! A bug as a Playwright spec that stands alone. Pure.

use std::fmt::Write as _;

use super::Refusal;
use super::place::ways;
use super::steps::{Mark, Terms, Value, address, neighbours, own_path, playable, value};
use super::text::{line, literal};
use crate::maze::{Bug, BugKind};
use crate::replay::is_destructive;
use crate::trace::bounds::may_upload;
use crate::trace::{RunFile, StepStatus, Tool, TraceStep};

/// How steps are played and judged: the same text in every spec, but for the sections of other kinds.
const PLAY: &str = include_str!("play.ts");
/// What every spec has in common, of bugs and of flows.
pub(super) const COMMON: &str = include_str!("common.ts");

/// The spec of a bug.
///
/// # Errors
/// [`Refusal`] when the bug cannot be expressed.
pub fn spec(run: &RunFile, bug: &Bug, terms: &Terms) -> Result<String, Refusal> {
    let (first, last) = playable(bug, terms)?;
    let mut steps = String::new();
    for step in &bug.trace {
        write_step(&mut steps, step, terms)?;
    }
    let mut out = head(run, bug, terms);
    out.push_str(&constants(run, bug, terms, first, last));
    let viewport = run.settings.viewport.unwrap_or(terms.settings.viewport);
    out.push_str(&using(viewport, terms.settings.storage_state.as_deref(), false, &[]));
    let _ = writeln!(out, "test({}, async ({{ page }}) => {{", literal(&bug.description));
    let _ = writeln!(out, "  test.setTimeout(120_000);");
    let _ = writeln!(out, "  const play = await Play.begin(page);");
    out.push_str(&steps);
    let _ = writeln!(out, "  await play.verdict();\n}});\n");
    out.push_str(&sections(PLAY, &wanted(bug)));
    out.push('\n');
    out.push_str(COMMON);
    Ok(out)
}

/// How a spec uses its browser: the window, the session to begin with, where Chromium is, and more. With `may_begin` the
/// environment may name a session though none was recorded.
pub(super) fn using(viewport: [u32; 2], begins: Option<&str>, may_begin: bool, more: &[&str]) -> String {
    let mut out = "test.use({\n".to_owned();
    let _ = writeln!(out, "  viewport: {{ width: {}, height: {} }},", viewport[0], viewport[1]);
    let _ = writeln!(out, "  serviceWorkers: 'block',");
    for one in more {
        let _ = writeln!(out, "  {one},");
    }
    if let Some(state) = begins.filter(|state| may_upload(state).is_ok()) {
        let _ = writeln!(
            out,
            "  // The session that the run began with; the file holds its cookies and is not part of this one."
        );
        let _ = writeln!(out, "  storageState: process.env.AGENT_TEST_STORAGE_STATE ?? {},", literal(state));
    } else if may_begin {
        let _ = writeln!(out, "  storageState: process.env.AGENT_TEST_STORAGE_STATE,");
    }
    let _ =
        writeln!(out, "  // A browser of this machine in place of Playwright's own, without a change of this file.");
    let _ = writeln!(
        out,
        "  ...(process.env.{chrome} ? {{ launchOptions: {{ executablePath: process.env.{chrome} }} }} : {{}}),",
        chrome = crate::env::CHROME
    );
    let _ = writeln!(out, "}});\n");
    out
}

fn head(run: &RunFile, bug: &Bug, terms: &Terms) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        let _ = writeln!(out, "// {}", line(text));
    };
    say(&bug.description);
    say(&format!("Where:       {}", bug.location));
    say(&format!("Expected:    {}", bug.expected));
    say(&format!("Actual:      {}", bug.actual));
    let kind = bug.kind.as_ref().map_or("of another program", BugKind::as_str);
    say(&format!("Kind:        {kind}, {}", bug.severity));
    if let Some(key) = bug.fingerprint_v2.as_ref().or(bug.fingerprint.as_ref()) {
        say(&format!("Fingerprint: {key}"));
    }
    say(&format!("Written by agent-test {} from the run {}.", env!("CARGO_PKG_VERSION"), run.id));
    out.push_str("//\n");
    if terms.known_bad {
        out.push_str(
            "// A known bug: green as long as the bug is there (it is expected to fail), red once it is repaired.\n",
        );
    } else {
        out.push_str("// Red as long as the bug is there, green once it is repaired. A failure says which it is:\n");
        out.push_str("//   bug:          this bug is there\n");
        out.push_str("//   changed:      its last step fails in another way\n");
        out.push_str("//   not reached:  an earlier step could not be done, which says nothing about the bug\n");
    }
    out.push_str("//\n");
    out.push_str("// Run it:   npm install -D @playwright/test && npx playwright test\n");
    out.push_str("// From the environment:\n");
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "//   {name:<26} {}", line(text));
    };
    row("BASE_URL", "address of the application");
    row(crate::env::CHROME, "a Chromium to use in place of the one that `npx playwright install` brings");
    let (username, password) = login_names(terms);
    row(&username, "who logs in, where a login page is met");
    row(&password, "the password for it; it stands in no file");
    if terms.settings.storage_state.is_some() {
        row("AGENT_TEST_STORAGE_STATE", "file with the session that the test begins with");
    }
    for step in &bug.trace {
        if let Value::Secret(name) = value(step)
            && name != password
            && name != username
        {
            row(&name, &format!("what step {} types", step.index));
        }
    }
    out.push_str("\nimport { test, type BrowserContext, type Locator, type Page, type Request, type Route } from '@playwright/test';\n\n");
    out
}

fn login_names(terms: &Terms) -> (String, String) {
    terms.settings.login.as_ref().map_or_else(
        || (crate::env::USERNAME.to_owned(), crate::env::PASSWORD.to_owned()),
        |login| (login.username_env.clone(), login.password_env.clone()),
    )
}

fn constants(run: &RunFile, bug: &Bug, terms: &Terms, first: &TraceStep, last: &TraceStep) -> String {
    let mut out = String::new();
    let mut constant = |about: &str, name: &str, value: &str| {
        let _ = writeln!(out, "/** {about} */\nconst {name} = {value};");
    };
    let mut base = terms.base.clone();
    let _ = base.set_username("");
    let _ = base.set_password(None);
    constant("Where the application is.", "BASE", &format!("process.env.BASE_URL || {}", literal(base.as_str())));
    let mark = Mark::of(bug);
    constant(
        "The bug: what a fault of the last step must be to be this one.",
        "BUG",
        &format!(
            "{{\n  title: {},\n  kind: {},\n  category: {},\n  signal: {},\n  detail: {},\n}}",
            literal(&bug.description),
            literal(&mark.kind),
            literal(&mark.category),
            literal(&mark.signal),
            literal(&mark.detail),
        ),
    );
    let known: Vec<String> = neighbours(run, bug)
        .into_iter()
        .map(Mark::of)
        .map(|mark| {
            let (kind, signal, detail) = (literal(&mark.kind), literal(&mark.signal), literal(&mark.detail));
            format!("\n  {{ kind: {kind}, signal: {signal}, detail: {detail} }},")
        })
        .collect();
    let known = if known.is_empty() { "[]".to_owned() } else { format!("[{}\n]", known.concat()) };
    constant(
        "Other bugs of these pages: they have specs of their own, and are no failure of this one.",
        "KNOWN: Array<{ kind: string; signal: string; detail: string }>",
        &known,
    );
    constant("The bug is known, and the test is expected to fail.", "KNOWN_BAD", bool_word(terms.known_bad));
    let opened = if first.url_after.is_empty() { first.value.as_deref().unwrap_or_default() } else { &first.url_after };
    constant("The page that the recording stood on after the first step.", "OPENED", &address(opened, &terms.base));
    constant("The failing step.", "LAST", &last.index.to_string());
    let with = |holds: &dyn Fn(&TraceStep) -> bool| -> String {
        let list: Vec<String> =
            bug.trace.iter().filter(|step| holds(step)).map(|step| step.index.to_string()).collect();
        format!("[{}]", list.join(", "))
    };
    constant(
        "Steps that failed in the recording too, or opened a page whose own faults it set aside.",
        "FAILED: number[]",
        &with(&|step| step.status == StepStatus::Failed || !step.set_aside.is_empty()),
    );
    constant(
        "Steps that the recording left out, and that may stay left out.",
        "SKIPPED: number[]",
        &with(&|step| step.status == StepStatus::Skipped),
    );
    let accepted: Vec<String> = bug
        .trace
        .iter()
        .filter_map(|step| step.dialog.as_ref())
        .filter(|dialog| dialog.accepted && !matches!(dialog.kind.as_str(), "alert" | "beforeunload"))
        .map(|dialog| literal(&format!("{} {}", dialog.kind, dialog.text)))
        .collect();
    constant(
        "Questions that the recording answered with yes; others are cancelled.",
        "ACCEPTED: string[]",
        &format!("[{}]", accepted.join(", ")),
    );
    let refused = last.requests.iter().any(|request| request.refused);
    constant("A request of the last step was stopped in the recording as well.", "REFUSED", bool_word(refused));
    constant("The run was allowed to change data.", "SAFE_TO_MUTATE", bool_word(run.settings.safe_to_mutate));
    let texts = |list: &[String]| format!("[{}]", list.iter().map(|text| literal(text)).collect::<Vec<_>>().join(", "));
    constant(
        "Requests that may leave although they are no reads (`POST /api/search*`).",
        "ALLOWED: string[]",
        &texts(&terms.settings.allow_request),
    );
    constant(
        "Origins that belong to the application, beside its own.",
        "OWN_ORIGINS: string[]",
        &texts(&terms.settings.own_origins),
    );
    constant(
        "A page that throws, a document 404 and a disabled control fail a step.",
        "STRICT",
        bool_word(run.settings.strict_oracles),
    );
    constant(
        "A same-site 5xx of a document, xhr or fetch fails a step.",
        "FAIL_ON_5XX",
        bool_word(run.settings.fail_on_5xx),
    );
    constant(
        "How to log in: names of variables, and where the form is when it cannot be told.",
        "LOGIN: { url?: string; username: string; password: string; usernameField?: string; passwordField?: string; submit?: string }",
        &login(terms),
    );
    out.push('\n');
    out
}

fn login(terms: &Terms) -> String {
    let (username, password) = login_names(terms);
    let mut parts = vec![format!("username: {}", literal(&username)), format!("password: {}", literal(&password))];
    if let Some(login) = &terms.settings.login {
        let url = terms.base.join(&login.url).ok();
        let path = url.as_ref().and_then(|url| own_path(url, &terms.base)).unwrap_or_else(|| login.url.clone());
        parts.insert(0, format!("url: {}", literal(&path)));
        let fields = [
            ("usernameField", &login.username_locator),
            ("passwordField", &login.password_locator),
            ("submit", &login.submit_locator),
        ];
        for (name, css) in fields {
            if let Some(css) = css {
                parts.push(format!("{name}: {}", literal(css)));
            }
        }
    }
    format!("{{ {} }}", parts.join(", "))
}

fn bool_word(yes: bool) -> &'static str {
    if yes { "true" } else { "false" }
}

fn write_step(out: &mut String, step: &TraceStep, terms: &Terms) -> Result<(), Refusal> {
    let at = step.index;
    let text = step.value.as_deref().unwrap_or_default();
    let call = match &step.tool {
        Tool::Goto => {
            let verb = if out.is_empty() { "open" } else { "visit" };
            format!("play.{verb}({at}, {})", address(text, &terms.base))
        }
        Tool::Press if step.locator.is_some() => return write_act(out, step),
        Tool::Press => format!("play.press({at}, {})", literal(if text.is_empty() { "Escape" } else { text })),
        Tool::Back => format!("play.back({at})"),
        Tool::Scroll => format!("play.scroll({at}, {})", text.parse::<i64>().unwrap_or(0)),
        Tool::AssertText => format!("play.showsText({at}, {})", literal(text)),
        Tool::Wait | Tool::Noop => format!("play.still({at})"),
        tool if tool.is_pointed() => return write_act(out, step),
        _ => return Err(Refusal::new(format!("its step {at} cannot be played"))),
    };
    let _ = writeln!(out, "  await {call};");
    Ok(())
}

fn write_act(out: &mut String, step: &TraceStep) -> Result<(), Refusal> {
    let at = step.index;
    let Some(locator) = &step.locator else { return Err(Refusal::new(format!("its step {at} names no target"))) };
    let page = if step.tab == 0 { "page" } else { "(await play.window(TAB))" };
    let found = ways(locator, "page").map_err(|refusal| Refusal::new(format!("step {at}: {refusal}")))?;
    let text = step.value.clone().unwrap_or_default();
    // A field that the recording only looked at has no value.
    let doing = match &step.tool {
        Tool::Select | Tool::Upload if step.value.is_none() => "focus",
        tool => tool.as_str(),
    };
    let mut options = Vec::new();
    match value(step) {
        Value::Secret(name) => options.push(format!("value: secret({})", literal(&name))),
        Value::Plain(_) if step.tool == Tool::Upload => {
            if step.value.is_some() {
                let paths: Vec<String> = serde_json::from_str(&text).unwrap_or_else(|_| vec![text.clone()]);
                let paths: Vec<String> = paths.iter().map(|path| literal(path)).collect();
                options.push(format!("value: [{}]", paths.join(", ")));
            }
        }
        Value::Plain(text) if doing == "press" && text.is_empty() => options.push("value: 'Escape'".to_owned()),
        Value::Plain(text) if matches!(doing, "fill" | "select" | "press") => {
            options.push(format!("value: {}", literal(&text)));
        }
        Value::Plain(_) => {}
    }
    if let Some(nth) = locator.nth {
        options.push(format!("nth: {nth}"));
    }
    if is_destructive(locator) {
        options.push("destructive: true".to_owned());
    }
    if let Some(why) = found.unstable {
        let _ = writeln!(out, "  // {why}.");
    }
    // Every window, frame and host that leads there once, by a name.
    let scope = found.scope.strip_prefix("page").unwrap_or_default();
    let name = if step.tab == 0 && scope.is_empty() {
        "page".to_owned()
    } else {
        let window = page.replace("TAB", &step.tab.to_string());
        let _ = writeln!(out, "  const place{at} = {window}{scope};");
        format!("place{at}")
    };
    let _ = writeln!(out, "  await play.act({at}, '{doing}', {}, [", literal(&locator.describe()));
    for way in &found.list {
        let _ = writeln!(out, "    {},", put_scope(way, &name));
    }
    let options = if options.is_empty() { String::new() } else { format!(", {{ {} }}", options.join(", ")) };
    let _ = writeln!(out, "  ]{options});");
    Ok(())
}

/// Puts the scope where a locator begins: at its head, and behind `.and(`.
fn put_scope(way: &str, scope: &str) -> String {
    let way = way.strip_prefix('$').map_or_else(|| way.to_owned(), |rest| format!("{scope}{rest}"));
    way.replacen(".and($.getByRole(", &format!(".and({scope}.getByRole("), 1)
}

/// Sections that a bug's kind needs.
fn wanted(bug: &Bug) -> Vec<&str> {
    let mut wanted = Vec::new();
    if let Some(kind @ (BugKind::DeadControl | BugKind::FocusTrap | BugKind::NeverLoads | BugKind::LoginRedirect)) =
        &bug.kind
    {
        wanted.push(kind.as_str());
    }
    let in_shadow = |step: &TraceStep| {
        step.locator
            .as_ref()
            .is_some_and(|locator| !locator.shadow.is_empty() || locator.frame.iter().any(|css| css.starts_with(">>")))
    };
    if bug.trace.iter().any(in_shadow) {
        wanted.push("shadow");
    }
    wanted
}

/// The text without the sections that are not wanted. A section begins with `//# name` (or `//# !name`: wanted when the
/// other is not) and ends with the next such line.
fn sections(text: &str, wanted: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut keep = true;
    for line in text.lines() {
        let Some(name) = line.trim_start().strip_prefix("//#") else {
            if keep {
                out.push_str(line);
                out.push('\n');
            }
            continue;
        };
        let name = name.trim();
        keep = match name.strip_prefix('!') {
            Some(name) => !wanted.contains(&name),
            None => name.is_empty() || wanted.contains(&name),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use url::Url;

    use super::*;
    use crate::settings::Settings;

    fn terms() -> Terms {
        Terms { base: Url::parse("http://a.b/").unwrap(), settings: Settings::default(), known_bad: false }
    }

    fn run_of(steps: &serde_json::Value) -> RunFile {
        let mut steps = steps.clone();
        for (at, step) in steps.as_array_mut().unwrap().iter_mut().enumerate() {
            step["index"] = at.into();
            step["startedAt"] = "2026-05-02T10:15:00Z".into();
        }
        serde_json::from_value(json!({
            "id": "2026-05-02T10-15-00Z", "baseUrl": "http://a.b/", "startedAt": "2026-05-02T10:15:00Z", "flows": [],
            "bugs": [{ "description": "It throws", "severity": "major", "kind": "exception", "trace": steps }]
        }))
        .unwrap()
    }

    fn spec_of(steps: &serde_json::Value) -> Result<String, Refusal> {
        let run = run_of(steps);
        spec(&run, &run.bugs[0], &terms())
    }

    fn goto() -> serde_json::Value {
        json!({ "tool": "goto", "value": "http://a.b/x", "status": "passed" })
    }

    proptest! {
        #[test]
        fn no_text_of_a_page_becomes_code(text in any::<String>()) {
            let target = |text: &str| json!({ "role": "button", "name": text, "label": text, "testId": text, "css": text });
            let steps = |text: &str| json!([goto(), { "tool": "fill", "value": text, "locator": target(text), "status": "failed" }]);
            let of = |text: &str| {
                let mut run = run_of(&steps(text));
                let bug = &mut run.bugs[0];
                for field in [&mut bug.description, &mut bug.location, &mut bug.actual] {
                    *field = text.to_owned();
                }
                spec(&run, &run.bugs[0], &terms()).unwrap()
            };
            // A text that left its literal or its comment would add a line, or take one away.
            prop_assume!(!text.starts_with("env:") && !text.is_empty() && !text.ends_with('…'));
            prop_assert_eq!(of(&text).lines().count(), of("plain").lines().count());
        }
    }

    #[test]
    fn every_tool_is_played() {
        let button = json!({ "role": "button", "name": "Go", "css": "#go" });
        let text = spec_of(&json!([
            goto(),
            { "tool": "hover", "locator": button, "status": "passed" },
            { "tool": "select", "value": "Red", "locator": button, "status": "passed" },
            { "tool": "select", "locator": button, "status": "passed" },
            { "tool": "upload", "value": "[\"a.txt\", \"b.txt\"]", "locator": button, "status": "passed" },
            { "tool": "upload", "value": "c.txt", "locator": button, "status": "passed" },
            { "tool": "press", "value": "Enter", "status": "passed" },
            { "tool": "scroll", "value": "400", "status": "passed" },
            { "tool": "back", "status": "passed" },
            { "tool": "wait", "status": "passed" },
            { "tool": "assert_text", "value": "Hello", "status": "passed" },
            { "tool": "goto", "value": "http://a.b/y", "status": "passed" },
            { "tool": "click", "locator": button, "tab": 1, "status": "failed" },
        ]))
        .unwrap();
        for part in [
            r#"play.open(0, at("/x"))"#,
            "play.act(1, 'hover'",
            r#"]{ value: "Red" });"#.trim_start_matches(']'),
            "play.act(3, 'focus'",
            r#"{ value: ["a.txt", "b.txt"] }"#,
            r#"{ value: ["c.txt"] }"#,
            r#"play.press(6, "Enter")"#,
            "play.scroll(7, 400)",
            "play.back(8)",
            "play.still(9)",
            r#"play.showsText(10, "Hello")"#,
            r#"play.visit(11, at("/y"))"#,
            "const place12 = (await play.window(1));",
            "place12.getByRole",
            "const LAST = 12;",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn a_step_whose_page_had_faults_of_its_own_may_show_them_again() {
        let button = json!({ "role": "button", "name": "Go", "css": "#go" });
        let text = spec_of(&json!([
            goto(),
            { "tool": "click", "locator": button, "status": "passed", "setAside": ["document GET /gone answers 404"] },
            { "tool": "click", "locator": button, "status": "failed" },
        ]))
        .unwrap();
        assert!(text.contains("const FAILED: number[] = [1, 2];"), "{text}");
    }

    #[test]
    fn what_cannot_be_expressed_is_refused_with_the_reason() {
        let why = |steps: serde_json::Value| spec_of(&steps).unwrap_err().to_string();
        assert_eq!(why(json!([])), "it has no trace");
        assert_eq!(why(json!([goto()])), "its trace ends before the failing step");
        assert!(why(json!([{ "tool": "click", "status": "failed" }])).contains("begin with an address"));
        assert!(why(json!([goto(), { "tool": "drag", "status": "failed" }])).contains("`drag`"));
        let vague = json!({ "role": "button" });
        assert!(why(json!([goto(), { "tool": "click", "locator": vague, "status": "failed" }])).contains("step 1"));
        let run = {
            let mut run = run_of(&json!([{ "tool": "goto", "value": "http://a.b/", "status": "failed" }]));
            run.bugs[0].kind = Some(BugKind::from("ugly"));
            run
        };
        assert!(spec(&run, &run.bugs[0], &terms()).unwrap_err().to_string().contains("`ugly`"));
    }

    #[test]
    fn a_section_is_there_only_where_it_is_needed() {
        let text = "a\n  //# one\nb\n//# two\nc\n//# !two\nd\n//#\ne\n";
        assert_eq!(sections(text, &["one"]), "a\nb\nd\ne\n");
        assert_eq!(sections(text, &["two"]), "a\nc\ne\n");
    }
}
