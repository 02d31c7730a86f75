//! `heal --check`: the guard alone, over two files and over a range of commits.

use crate::heal_kit::{FILE, PAGE, SPEC, git, project};
use crate::sandbox::{Answer, Sandbox};

#[test]
fn the_guard_alone_judges_two_files_and_a_git_range() {
    let sandbox = Sandbox::new();
    sandbox.write("old.ts", SPEC);
    sandbox.write("renamed.ts", &SPEC.replace("'Begin'", "'Start'"));
    sandbox.write("weaker.ts", &SPEC.replace("toHaveText('done')", "toBeVisible()"));
    let passed = sandbox.run(&["heal", "--check", "old.ts", "renamed.ts", "--json"]).exits(0).json();
    assert_eq!((&passed["passed"], &passed["files"][0]["verdict"]["locatorsChanged"]), (&true.into(), &1.into()));
    let refused = sandbox.run(&["heal", "--check", "old.ts", "weaker.ts", "--json"]).exits(1).json();
    assert_eq!(refused["files"][0]["verdict"]["findings"][0]["rule"], "assertion-changed", "{refused:#}");
    let git = |arguments: &[&str]| git(&sandbox, arguments);
    git(&["init", "-q", "-b", "main"]);
    sandbox.write(FILE, SPEC);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    sandbox.run(&["heal", "--check", "--base", "main"]).exits(0);
    sandbox.write(FILE, &SPEC.replace("test('starts'", "test.skip('starts'"));
    let refused = sandbox.run(&["heal", "--check", "--base", "main", "--json"]).exits(1).json();
    assert_eq!(refused["files"][0]["file"], FILE);
    assert_eq!(refused["files"][0]["verdict"]["findings"][0]["rule"], "skip");
    sandbox.run(&["heal", "--check", "--base", "nonsense"]).exits(2);
    sandbox.run(&["heal", "--check", "old.ts"]).exits(2);
}

/// A repository with a page object that a test asserts.
fn page_object() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "tests/cart.spec.ts",
        "import { test, expect } from './fixtures';\ntest('saves', async ({ cart }) => {\n  await cart.save();\n  await expect(cart.message).toBeVisible();\n  await expect(cart.error).toBeHidden();\n});\n",
    );
    sandbox.write(
        "pages/cart.ts",
        "import type { Page } from '@playwright/test';\nexport class Cart {\n  constructor(readonly page: Page) {}\n  readonly message = this.page.getByText('Saved');\n  readonly error = this.page.getByRole('alert');\n  async save() { await this.page.getByRole('button', { name: 'Save' }).click(); }\n}\n",
    );
    git(&sandbox, &["init", "-q", "-b", "main"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-qm", "one"]);
    sandbox
}

#[test]
fn a_text_that_is_nested_without_end_is_an_error_and_no_crash() {
    let sandbox = Sandbox::new();
    for (open, close) in [("[", "]"), ("(", ")"), ("{\"a\":", "}"), ("- ", "")] {
        sandbox.write("a.spec.ts", &format!("const a = {}1{};\n", open.repeat(10_000), close.repeat(10_000)));
        let answer = sandbox.run(&["heal", "--check", "a.spec.ts", "a.spec.ts", "--json"]).exits(2).json();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("a.spec.ts") && message.contains("nested more than"), "{message}");
    }
}

#[test]
fn the_guard_sees_a_locator_of_a_page_object_that_a_test_only_asks_to_be_there() {
    let sandbox = page_object();
    let object = sandbox.read("pages/cart.ts");
    for (from, to, rule) in [
        ("getByText('Saved')", "getByText('Failed')", "expectation-changed"),
        ("getByRole('alert')", "getByTestId('nothing')", "negative-assertion"),
        (".click();", ".click({ force: true });", "force"),
    ] {
        sandbox.write("pages/cart.ts", &object.replace(from, to));
        let refused = sandbox.run(&["heal", "--check", "--base", "main", "--json"]).exits(1).json();
        assert_eq!(refused["files"][0]["file"], "pages/cart.ts", "{refused:#}");
        assert_eq!(refused["files"][0]["verdict"]["findings"][0]["rule"], rule, "{refused:#}");
    }
    // Two files alone, in the same repository.
    sandbox.write("old.ts", &object);
    sandbox.write("pages/cart.ts", &object.replace("'Saved'", "'Failed'"));
    sandbox.run(&["heal", "--check", "old.ts", "pages/cart.ts"]).exits(1);
    sandbox.run(&["heal", "--check", "old.ts", "pages/cart.ts", "--allow-expectation"]).exits(0);
    sandbox.write("pages/cart.ts", &object.replace("name: 'Save'", "name: 'Store'"));
    sandbox.run(&["heal", "--check", "old.ts", "pages/cart.ts"]).exits(0);
    sandbox.run(&["heal", "--check", "--base", "main"]).exits(0);
}

#[test]
fn a_renamed_test_file_is_compared_with_what_it_was() {
    let sandbox = page_object();
    git(&sandbox, &["mv", "tests/cart.spec.ts", "tests/basket.spec.ts"]);
    sandbox.run(&["heal", "--check", "--base", "main"]).exits(0);
    let text = sandbox.read("tests/basket.spec.ts");
    sandbox.write("tests/basket.spec.ts", &text.replace("  await expect(cart.error).toBeHidden();\n", ""));
    let refused = sandbox.run(&["heal", "--check", "--base", "main", "--json"]).exits(1).json();
    assert_eq!(refused["files"][0]["verdict"]["findings"][0]["rule"], "assertion-removed", "{refused:#}");
}

#[test]
fn the_example_script_heals_after_a_generator_and_refuses_what_is_weaker() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/heal-after-generator.sh");
    let run = |base: &str| -> Answer {
        let mut command = std::process::Command::new("sh");
        command.arg(&script).arg(FILE).current_dir(sandbox.path()).env("AGENT_TEST", env!("CARGO_BIN_EXE_agent-test"));
        command.env("TEST_COMMAND", "sh run.sh").env("BASE", base).env("AGENT_TEST_PROJECT_DIR", sandbox.path());
        command.output().unwrap().into()
    };
    let git = |arguments: &[&str]| git(&sandbox, arguments);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    run("main").exits(0);
    assert_eq!(sandbox.read(FILE), SPEC.replace("'Begin'", "'Start'"));
    assert!(sandbox.read("heal-summary.md").contains("fixed"));
    sandbox.write(FILE, &SPEC.replace("'Begin'", "'Start'").replace("toHaveText('done')", "toBeVisible()"));
    let weaker = run("main").exits(1);
    assert!(weaker.stdout.contains("assertion-changed"), "{}", weaker.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_not_utf_8_is_refused_before_anything_runs() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"u\xff.spec.ts");
    std::fs::write(sandbox.path().join(name), SPEC).unwrap();
    let mut command = sandbox.command(&["heal", "--json"]);
    let answer: Answer = command.arg(name).args(["--", "touch", "ran"]).output().unwrap().into();
    assert!(answer.exits(2).json()["error"]["message"].as_str().unwrap().contains("not valid UTF-8"));
    assert!(!sandbox.file("ran").exists());
}
