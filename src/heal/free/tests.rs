use std::path::PathBuf;

use super::*;
use crate::heal::diagnose::Images;
use crate::heal::report::Place;

const FILE: &str = "/w/a.spec.ts";

fn failure(text: &str, marker: &str, method: &str, kind: FailureKind) -> Failure {
    let at = text.find(marker).unwrap() + marker.find(method).unwrap();
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |at| at + 1) + 1;
    let place = Place { file: PathBuf::from(FILE), line, column };
    Failure {
        kind,
        test: "t".into(),
        project: String::new(),
        test_place: place.clone(),
        message: String::new(),
        place: Some(place),
        stack: vec![],
        method: method.into(),
        is_assertion: method.starts_with("to"),
        locator: None,
        received: None,
        context: None,
        told: Vec::new(),
        snapshot: String::new(),
        images: Images::default(),
    }
}

fn healed(call: &str, method: &str, page: &str) -> Result<String, Abstained> {
    let text = format!("test('t', async ({{ page }}) => {{\n  await {call};\n}});\n");
    let spec = Spec::parse(&text, Path::new(FILE)).unwrap();
    let failure = failure(&text, &format!(".{method}("), method, FailureKind::Locator);
    let terms = FreeTerms::default();
    let proposal = propose(&spec, Path::new(FILE), &failure, &Page::parse(page), terms)?;
    let new = proposal.edit.apply(&text).unwrap();
    assert!(new.contains(&proposal.new), "{new}");
    Ok(proposal.new)
}

const PAGE: &str = "\
- heading \"Orders\" [level=1]
- textbox \"Mail\":
  - /placeholder: Your mail
- button \"Start\"
- button \"Cancel\"
- dialog \"Edit\":
  - button \"Save the order\"
- iframe:
  - button \"Go on\"
";

#[test]
fn drift_of_each_kind_is_repaired_in_the_words_of_the_old_locator() {
    for (call, method, expected) in [
        ("page.getByRole('button', { name: 'Begin' }).click()", "click", "page.getByRole('button', { name: 'Start' })"),
        (
            "page.getByRole(\"button\", { name: \"Begin\" }).click()",
            "click",
            "page.getByRole(\"button\", { name: \"Start\" })",
        ),
        ("page.getByPlaceholder('Your e-mail please').fill('x')", "fill", "page.getByPlaceholder('Your mail')"),
        ("page.getByLabel('E-mail').fill('x')", "fill", "page.getByLabel('Mail')"),
        ("page.getByText('Begin').click()", "click", "page.getByText('Start')"),
        ("page.getByTestId('begin-button').click()", "click", "page.getByRole('button', { name: 'Start' })"),
        ("page.locator('#begin').click()", "click", "page.getByRole('button', { name: 'Start' })"),
        (
            "page.getByRole('dialog', { name: 'Edit' }).getByRole('button', { name: 'Save order' }).click()",
            "click",
            "page.getByRole('dialog', { name: 'Edit' }).getByRole('button', { name: 'Save the order' })",
        ),
        (
            "page.frameLocator('iframe').getByRole('button', { name: 'Go on now' }).click()",
            "click",
            "page.frameLocator('iframe').getByRole('button', { name: 'Go on' })",
        ),
        (
            "page.getByRole('dialog').getByRole('button', { name: 'Start' }).click()",
            "click",
            "page.getByRole('button', { name: 'Start' })",
        ),
    ] {
        assert_eq!(healed(call, method, PAGE).as_deref(), Ok(expected), "{call}");
    }
}

#[test]
fn what_is_not_clearly_it_is_left_alone() {
    for (call, method) in [
        ("page.getByRole('button', { name: 'Delete' }).click()", "click"),
        ("page.getByRole('link', { name: 'Start' }).click()", "click"),
        ("page.getByRole('button', { name: 'Publish' }).click()", "click"),
        ("page.getByRole('button', { name: /begin/i }).click()", "click"),
        ("page.getByRole('button').nth(4).click()", "click"),
        ("page.locator('div > span').click()", "click"),
        ("page.getByTestId('x1').click()", "click"),
        ("page.getByLabel('Password').fill('x')", "fill"),
    ] {
        assert!(matches!(healed(call, method, PAGE), Err(Abstained::Unsure(_))), "{call}");
    }
    let presence =
        healed("expect(page.getByRole('heading', { name: 'The orders' })).toBeVisible()", "toBeVisible", PAGE);
    assert!(matches!(presence, Err(Abstained::Expectation(_))), "{presence:?}");
}

#[test]
fn two_that_are_equally_good_are_ambiguous() {
    let page = "- button \"Start\"\n- main:\n  - button \"Launch\"\n";
    let both = healed("page.getByRole('button', { name: 'Begin' }).click()", "click", page);
    assert!(matches!(both, Err(Abstained::Ambiguous(_))), "{both:?}");
}

#[test]
fn an_element_that_another_locator_of_the_file_names_is_another_one() {
    let text = "test('t', async ({ page }) => {\n  await page.getByRole('button', { name: 'Begin' }).click();\n  await page.getByRole('button', { name: 'Start' }).click();\n});\n";
    let spec = Spec::parse(text, Path::new(FILE)).unwrap();
    let failure = failure(text, ".click(", "click", FailureKind::Locator);
    assert!(propose(&spec, Path::new(FILE), &failure, &Page::parse(PAGE), FreeTerms::default()).is_err());
}

#[test]
fn a_name_that_is_part_of_another_becomes_exact() {
    let page = "- button \"Save\"\n- button \"Save and close\"\n";
    let text = "test('t', async ({ page }) => {\n  await page.getByRole('button', { name: 'Save' }).click();\n});\n";
    let spec = Spec::parse(text, Path::new(FILE)).unwrap();
    let failure = failure(text, ".click(", "click", FailureKind::AmbiguousLocator);
    let proposal = propose(&spec, Path::new(FILE), &failure, &Page::parse(page), FreeTerms::default()).unwrap();
    assert_eq!(proposal.new, "page.getByRole('button', { name: 'Save', exact: true })");
}

#[test]
fn a_value_changes_only_where_that_was_declared() {
    let text =
        "test('t', async ({ page }) => {\n  await expect(page.getByRole('heading')).toHaveText('Order list');\n});\n";
    let spec = Spec::parse(text, Path::new(FILE)).unwrap();
    let mut failure = failure(text, ".toHaveText(", "toHaveText", FailureKind::AssertionValue);
    failure.received = Some("\"Orders\"".into());
    let with = |allow_expectation, declared| {
        propose(&spec, Path::new(FILE), &failure, &Page::parse(PAGE), FreeTerms { allow_expectation, declared })
    };
    assert!(matches!(with(false, None), Err(Abstained::Expectation(_))));
    assert!(matches!(with(true, Some("The badge is red")), Err(Abstained::Expectation(_))));
    assert_eq!(
        with(true, Some("The heading is now Orders")).unwrap().edit.apply(text).unwrap(),
        text.replace("Order list", "Orders")
    );
}
