//! No tests: a project whose test command is a script that answers with a report of Playwright's shape, by what stands in the spec.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::model_kit::ModelServer;
use crate::sandbox::{Answer, Sandbox};

/// The spec of the project.
pub const SPEC: &str = "\
import { test, expect } from '@playwright/test';
test('starts', async ({ page }) => {
  await page.getByRole('button', { name: 'Begin' }).click();
  await expect(page.getByRole('status')).toHaveText('done');
});
";

/// Where it lies.
pub const FILE: &str = "tests/a.spec.ts";

/// The page after `Begin` became `Start`.
pub const PAGE: &str =
    "- heading \"Orders\" [level=1]\n- button \"Start\" [ref=e1]\n- button \"Cancel\" [ref=e2]\n- status: done\n";

/// Green when the spec holds `want`, red otherwise; `hold` names a run that never ends, `green_runs` and `red_runs` force one.
const SCRIPT: &str = r#"
spec="$1"
echo run >> runs
count=$(wc -l < runs)
mkdir -p shots
if [ "$(cat hold 2>/dev/null)" = "$count" ]; then touch held; sleep 600; fi
case " $(cat edit 2>/dev/null) " in *" $count "*) echo '// edited' >> "$spec" ;; esac
word=green
grep -q "$(cat want)" "$spec" || word=red
if grep -q 'falsified by agent-test' "$spec"; then word=false; fi
case " $(cat red_runs 2>/dev/null) " in *" $count "*) word=red ;; esac
case " $(cat green_runs 2>/dev/null) " in *" $count "*) word=green ;; esac
if [ -f always_green ]; then word=green; fi
sed "s|@ROOT@|$PWD|g" "$word.json" > "$AGENT_TEST_HEAL_REPORT"
test "$word" = green
"#;

/// A project with this spec, which is green once it holds `want`.
pub fn project(spec: &str, want: &str, page: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, spec);
    sandbox.write("run.sh", SCRIPT);
    sandbox.write("want", want);
    sandbox.write("context.md", &format!("# Page snapshot\n\n```yaml\n{page}```\n"));
    let locator = "getByRole('button', { name: 'Begin' })";
    let red = format!("TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for {locator}\n");
    sandbox.write("red.json", &report(Some((&red, 3, 53))));
    let wrong = "Error: expect(locator).toHaveText(expected) failed\n\nLocator: getByRole('status')\nExpected: \"falsified\"\nReceived: \"done\"\n";
    sandbox.write("false.json", &report(Some((wrong, 4, 42))));
    sandbox.write("green.json", &report(None));
    sandbox
}

/// A report of one test, green or red with this message at this place.
pub fn report(red: Option<(&str, u32, u32)>) -> String {
    let file = format!("@ROOT@/{FILE}");
    let result = match red {
        None => json!({ "retry": 0, "status": "passed", "errors": [], "attachments": [] }),
        Some((message, line, column)) => json!({
            "retry": 0, "status": "failed",
            "errors": [{ "message": message, "location": { "file": file, "line": line, "column": column } }],
            "attachments": [{ "name": "error-context", "contentType": "text/markdown", "path": "@ROOT@/context.md" }],
        }),
    };
    let status = if red.is_none() { "expected" } else { "unexpected" };
    json!({
        "config": { "rootDir": "@ROOT@" }, "errors": [],
        "suites": [{ "title": "a.spec.ts", "file": file, "suites": [], "specs": [{
            "title": "starts", "file": file, "line": 2,
            "tests": [{ "projectName": "", "status": status, "results": [result] }] }] }],
    })
    .to_string()
}

/// The arguments of a heal with these options.
pub fn arguments<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["heal", FILE, "--json"][..], options, &["--", "sh", "run.sh", "{file}"]].concat()
}

pub fn heal(sandbox: &Sandbox, options: &[&str]) -> Answer {
    sandbox.run(&arguments(options))
}

/// A heal that is under way.
pub fn start(sandbox: &Sandbox, options: &[&str]) -> Child {
    let mut command: Command = sandbox.command(&arguments(options));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the built binary starts")
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How often the test command ran.
pub fn runs(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.file("runs")).unwrap_or_default().lines().count()
}

/// Runs git in the project.
#[track_caller]
pub fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let done = std::process::Command::new("git")
        .current_dir(sandbox.path())
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The verdict in an answer.
pub fn verdict(answer: &Answer) -> String {
    answer.json()["verdict"].as_str().unwrap_or_default().to_owned()
}

/// Heals, and holds the answer to this verdict.
#[track_caller]
pub fn ends(sandbox: &Sandbox, options: &[&str], word: &str) -> Value {
    let answer = heal(sandbox, options);
    let document = answer.json();
    assert_eq!(document["verdict"], word, "{document:#}\n{}", answer.stderr);
    let exit = i32::from(!matches!(word, "fixed" | "already-green"));
    assert_eq!((answer.code, &document["exitCode"]), (exit, &exit.into()));
    if word != "fixed" {
        assert_eq!(sandbox.read(FILE), SPEC, "the spec is as it was");
    }
    document
}

/// A report with these changes.
pub fn edited(red: Option<(&str, u32, u32)>, edit: impl FnOnce(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(&report(red)).unwrap();
    edit(&mut document);
    document.to_string()
}

/// The error of a button that is gone, and its place.
pub const MISSING: (&str, u32, u32) = (
    "TimeoutError: locator.click: Timeout 1000ms exceeded.\nCall log:\n  - waiting for getByRole('button', { name: 'Begin' })\n",
    3,
    53,
);

/// A model of nobody's.
pub const MODEL: &str = "openai_compatible/m";

/// A project whose button says something that only a model knows to be the same.
pub fn hard() -> Sandbox {
    project(
        SPEC,
        "'Go live'",
        "- heading \"Orders\" [level=1]\n- button \"Go live\" [ref=e1]\n- button \"Cancel\" [ref=e2]\n- status: done\n",
    )
}

/// A tier on this server.
pub fn tier(server: &ModelServer, price: &str) -> String {
    format!("{MODEL},url={}/v1,{price}", server.url)
}
