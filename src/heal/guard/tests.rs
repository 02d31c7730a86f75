//! What the guard refuses and lets pass.

use super::*;

const OLD: &str = "\
import { test, expect } from '@playwright/test';
test.describe('shop', () => {
  test('buys', async ({ page }) => {
    await page.goto('/');
    await page.getByRole('button', { name: 'Begin' }).click();
    await page.getByLabel('Mail').fill('a@b.c');
    await expect(page.getByTestId('total')).toHaveText('42');
    await expect(page.getByText('Thanks')).toBeVisible();
    await expect(page.getByText('Error')).toBeHidden();
    expect(await page.title()).toBe('Shop');
  });
  test('leaves', async ({ page }) => {
    await page.getByRole('link', { name: 'Home' }).click();
    await expect(page).toHaveURL('/');
  });
});
";

fn with(strictness: Strictness, allow_expectation: bool, new: &str) -> Vec<String> {
    let verdict = compare(OLD, new, Path::new("a.spec.ts"), GuardTerms { strictness, allow_expectation }).unwrap();
    assert_eq!(verdict.passed, verdict.findings.is_empty());
    verdict.findings.into_iter().map(|finding| finding.rule).collect()
}

/// Both strictnesses must refuse it by this rule.
#[track_caller]
fn refused(rule: &str, from: &str, to: &str) {
    assert!(OLD.contains(from), "{from}");
    let new = OLD.replacen(from, to, 1);
    for strictness in [Strictness::LocatorsOnly, Strictness::NotWeaker] {
        let rules = with(strictness, false, &new);
        assert!(rules.iter().any(|found| found == rule), "{strictness:?} {rules:?}: {to}");
    }
}

#[test]
fn another_locator_of_an_action_or_of_a_value_is_fine() {
    for (from, to) in [
        ("getByRole('button', { name: 'Begin' })", "getByRole('button', { name: 'Start' })"),
        ("getByLabel('Mail')", "getByPlaceholder('Your mail')"),
        ("getByTestId('total')", "getByTestId('sum')"),
    ] {
        let new = OLD.replacen(from, to, 1);
        assert_eq!(with(Strictness::LocatorsOnly, false, &new), [""; 0], "{to}");
        assert_eq!(with(Strictness::NotWeaker, false, &new), [""; 0], "{to}");
    }
}

#[test]
fn what_is_gone_is_named() {
    refused("assertion-removed", "    await expect(page.getByTestId('total')).toHaveText('42');\n", "");
    refused(
        "assertion-removed",
        "    await expect(page.getByTestId('total')).toHaveText('42');\n",
        "    // await expect(page.getByTestId('total')).toHaveText('42');\n",
    );
    refused("action-removed", "    await page.getByRole('button', { name: 'Begin' }).click();\n", "");
    refused(
        "action-removed",
        "    await page.getByLabel('Mail').fill('a@b.c');\n",
        "    const later = () => page.getByLabel('Mail');\n",
    );
    refused("test-removed", "test('leaves'", "test('goes'");
}

#[test]
fn a_weaker_assertion_is_named() {
    refused("expectation-changed", "toHaveText('42')", "toHaveText('43')");
    refused("assertion-changed", "toHaveText('42')", "toContainText('4')");
    refused("assertion-changed", "toHaveText('42')", "not.toHaveText('42')");
    refused("soft", "await expect(page.getByTestId('total'))", "await expect.soft(page.getByTestId('total'))");
    refused("not-awaited", "await expect(page.getByTestId('total'))", "expect(page.getByTestId('total'))");
    refused("expectation-changed", "getByText('Thanks')", "getByText('Sorry')");
    refused("negative-assertion", "getByText('Error')", "getByText('Trouble')");
    refused("assertion-changed", "expect(await page.title())", "expect('Shop')");
    refused("assertion-changed", "expect(await page.title()).toBe('Shop')", "expect(await page.title()).toBeTruthy()");
    refused("assertion-removed", "expect(page.getByTestId('total')).toHaveText('42')", "expect(page).toBeDefined()");
    refused(
        "assertion-removed",
        "expect(await page.title()).toBe('Shop')",
        "expect((await page.title()).length).toBeGreaterThanOrEqual(0)",
    );
    refused("locator-too-wide", "getByTestId('total')", "locator('body')");
    refused("locator-too-wide", "getByText('Thanks')", "getByText(/.*/)");
}

#[test]
fn what_keeps_a_test_from_failing_is_named() {
    refused("skip", "test('buys'", "test.skip('buys'");
    refused("fixme", "test('buys'", "test.fixme('buys'");
    refused("fail", "test('buys'", "test.fail('buys'");
    refused("only", "test('leaves'", "test.only('leaves'");
    refused("skip", "test.describe('shop'", "test.describe.skip('shop'");
    refused("skip", "    await page.goto('/');\n", "    await page.goto('/');\n    test.skip();\n");
    refused("skip", "    await page.goto('/');\n", "    await page.goto('/');\n    test.info().skip();\n");
    refused("return", "    await page.goto('/');\n", "    await page.goto('/');\n    return;\n");
    refused("configure", "  test('leaves'", "  test.describe.configure({ retries: 3 });\n  test('leaves'");
    refused("force", ".click();", ".click({ force: true });");
    refused("timeout", "toHaveText('42')", "toHaveText('42', { timeout: 60000 })");
    refused("setTimeout", "    await page.goto('/');\n", "    test.setTimeout(120_000);\n    await page.goto('/');\n");
    refused(
        "waitForTimeout",
        "    await page.goto('/');\n",
        "    await page.goto('/');\n    await page.waitForTimeout(3000);\n",
    );
    refused("nth", "getByRole('button', { name: 'Begin' })", "getByRole('button').first()");
    refused(
        "conditional",
        "    await expect(page.getByTestId('total')).toHaveText('42');\n",
        "    if (await page.getByTestId('total').isVisible()) {\n      await expect(page.getByTestId('total')).toHaveText('42');\n    }\n",
    );
    refused(
        "try",
        "    await expect(page.getByTestId('total')).toHaveText('42');\n",
        "    try { await expect(page.getByTestId('total')).toHaveText('42'); } catch {}\n",
    );
    refused("catch", "toHaveText('42');", "toHaveText('42').catch(() => {});");
    refused("destructive", "getByRole('button', { name: 'Begin' })", "getByRole('button', { name: 'Delete account' })");
    refused("syntax", "toHaveText('42');", "toHaveText('42';");
}

#[test]
fn a_neighbour_of_the_target_is_refused_from_a_patch_and_left_to_a_person() {
    let new = OLD.replacen("getByLabel('Mail')", "getByLabel('Work mail 2')", 1);
    assert_eq!(with(Strictness::LocatorsOnly, false, &new), ["another-target"]);
    assert_eq!(with(Strictness::NotWeaker, false, &new), [""; 0]);
}

#[test]
fn more_is_fine_for_a_person_and_not_for_a_patch() {
    let more = OLD.replacen(
        "    await page.goto('/');\n",
        "    await page.goto('/');\n    await expect(page).toHaveTitle('Shop');\n",
        1,
    );
    assert_eq!(with(Strictness::NotWeaker, false, &more), [""; 0]);
    assert_eq!(with(Strictness::LocatorsOnly, false, &more), ["assertion-added"]);
    let import = OLD.replacen("{ test, expect }", "{ test, expect, devices }", 1);
    assert_eq!(with(Strictness::NotWeaker, false, &import), [""; 0]);
    assert_eq!(with(Strictness::LocatorsOnly, false, &import), ["other-change"]);
}

#[test]
fn another_expectation_needs_to_be_declared() {
    for (from, to) in [("toHaveText('42')", "toHaveText('43')"), ("getByText('Thanks')", "getByText('Thank you')")] {
        let new = OLD.replacen(from, to, 1);
        assert_eq!(with(Strictness::LocatorsOnly, true, &new), [""; 0], "{to}");
    }
    let weaker = OLD.replacen("toHaveText('42')", "toContainText('4')", 1);
    assert_eq!(with(Strictness::LocatorsOnly, true, &weaker), ["assertion-changed"]);
}

#[test]
fn a_presence_whose_locator_stands_in_a_variable_is_seen() {
    let old =
        "test('a', async ({ page }) => { const saved = page.getByText('Saved'); await expect(saved).toBeVisible(); });";
    let new = old.replace("'Saved'", "'Failed'");
    let terms = GuardTerms { strictness: Strictness::LocatorsOnly, allow_expectation: false };
    let verdict = compare(old, &new, Path::new("a.ts"), terms).unwrap();
    assert_eq!(verdict.findings[0].rule, "expectation-changed");
}

#[test]
fn swapped_actions_are_named() {
    let (first, second) = (
        "    await page.getByRole('button', { name: 'Begin' }).click();\n",
        "    await page.getByLabel('Mail').fill('a@b.c');\n",
    );
    let new = OLD.replace(&[first, second].concat(), &[second, first].concat());
    for strictness in [Strictness::LocatorsOnly, Strictness::NotWeaker] {
        assert!(!with(strictness, false, &new).is_empty());
    }
}
