//! Screenshots: measured, judged by a model server, promoted by the reviewed bytes, or put back.

use serde_json::Value;

use crate::heal_kit::{FILE, PAGE, SPEC, hard, heal, project, report, tier};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Sandbox;

const ACCEPT: &str =
    r#"{"verdict": "accept", "confidence": 0.97, "explained": [1, 2, 3, 4], "reason": "the badge is red as declared"}"#;
const REJECT: &str =
    r#"{"verdict": "reject", "confidence": 0.95, "explained": [], "reason": "the heading is garbled"}"#;
const DECLARED: [&str; 2] = ["--expected-change", "The badge turns red"];
const BASELINE: &str = "tests/a.spec.ts-snapshots/badge-linux.png";

fn png(paint: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 160, 96);
    encoder.set_color(png::ColorType::Rgb);
    let data: Vec<u8> = (0..96).flat_map(|y| (0..160).map(move |x| (x, y))).flat_map(|(x, y)| paint(x, y)).collect();
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    bytes
}

/// A badge of this colour, and perhaps a heading.
fn picture(colour: [u8; 3], heading: bool) -> Vec<u8> {
    png(|x, y| {
        if heading && x < 60 && y < 12 && x.is_multiple_of(3) {
            [0, 0, 0]
        } else if (100..124).contains(&x) && (60..72).contains(&y) && !x.is_multiple_of(5) {
            colour
        } else {
            [255, 255, 255]
        }
    })
}

/// A project whose screenshot differs until the baseline is the page's picture.
fn visual(actual: &[u8]) -> Sandbox {
    let sandbox = project(SPEC, "never", PAGE);
    sandbox.write(BASELINE, "");
    std::fs::write(sandbox.file(BASELINE), picture([0, 0, 255], true)).unwrap();
    std::fs::write(sandbox.file("actual.png"), actual).unwrap();
    let mut red: Value = serde_json::from_str(&report(Some(("Error: expect(page).toHaveScreenshot(expected) failed\n\n  120 pixels (ratio 0.01 of all image pixels) are different.", 4, 9)))).unwrap();
    red["suites"][0]["specs"][0]["tests"][0]["results"][0]["attachments"] = serde_json::json!([
        { "name": "badge-expected.png", "contentType": "image/png", "path": format!("@ROOT@/{BASELINE}") },
        { "name": "badge-actual.png", "contentType": "image/png", "path": "@ROOT@/actual.png" },
    ]);
    sandbox.write("red.json", &red.to_string());
    sandbox.write(
        "run.sh",
        &sandbox.read("run.sh").replace("grep -q \"$(cat want)\" \"$spec\"", &format!("cmp -s actual.png {BASELINE}")),
    );
    sandbox
}

fn bytes(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    std::fs::read(sandbox.file(name)).unwrap()
}

fn tiers(servers: &[&ModelServer]) -> Vec<String> {
    servers
        .iter()
        .enumerate()
        .flat_map(|(index, server)| {
            ["--observe-tier".to_owned(), format!("openai_compatible/m{index},url={}/v1,prompt=1,answer=2", server.url)]
        })
        .collect()
}

#[track_caller]
fn review(sandbox: &Sandbox, servers: &[&ModelServer], options: &[&str], word: &str) -> Value {
    let tiers = tiers(servers);
    let all: Vec<&str> = tiers.iter().map(String::as_str).chain(options.iter().copied()).collect();
    let before = bytes(sandbox, BASELINE);
    let document = heal(sandbox, &all).json();
    assert_eq!(document["verdict"], word, "{document:#}");
    if word == "fixed" {
        assert_eq!(bytes(sandbox, BASELINE), bytes(sandbox, "actual.png"), "the reviewed bytes are the promoted ones");
    } else {
        assert_eq!(bytes(sandbox, BASELINE), before, "the baseline is as it was");
    }
    assert_eq!(sandbox.read(FILE), SPEC);
    document
}

#[test]
fn a_declared_change_that_both_tiers_accept_is_promoted_and_the_images_were_sent() {
    let sandbox = visual(&picture([255, 0, 0], true));
    let (cheap, strong) = (ModelServer::start(&[Reply::Say(ACCEPT)]), ModelServer::start(&[Reply::Say(ACCEPT)]));
    let document = review(&sandbox, &[&cheap, &strong], &DECLARED, "fixed");
    assert_eq!((cheap.calls(), strong.calls()), (1, 1));
    let content = cheap.asked()[0].body.pointer("/messages/1/content").cloned().unwrap();
    assert_eq!(content.as_array().unwrap().iter().filter(|part| part["type"] == "image_url").count(), 2);
    assert!(content[0]["text"].as_str().unwrap().contains("region 1: changed"));
    assert_eq!(
        (&document["reviews"][0]["intent"], document["promoted"].as_array().unwrap().len()),
        (&"declared".into(), 1)
    );
    assert_eq!(document["model"]["calls"], 2);
}

#[test]
fn what_is_rejected_is_a_regression_and_what_is_disputed_a_persons() {
    let sandbox = visual(&picture([255, 0, 0], true));
    let document = review(&sandbox, &[&ModelServer::start(&[Reply::Say(REJECT)])], &DECLARED, "regression");
    assert_eq!(document["reviews"][0]["reason"], "the heading is garbled");
    let (cheap, strong) = (ModelServer::start(&[Reply::Say(ACCEPT)]), ModelServer::start(&[Reply::Say(REJECT)]));
    review(&sandbox, &[&cheap, &strong], &DECLARED, "needs-review");
    let once = ModelServer::start(&[Reply::Say(ACCEPT)]);
    review(&sandbox, &[&once, &strong], &[&DECLARED[..], &["--no-confirm-accept"]].concat(), "fixed");
    assert_eq!(once.calls(), 1);
}

#[test]
fn a_vanished_heading_is_not_promoted_whatever_the_models_say() {
    let sandbox = visual(&picture([255, 0, 0], false));
    let liar = ModelServer::start(&[Reply::Say(ACCEPT)]);
    review(&sandbox, &[&liar], &DECLARED, "needs-review");
    review(&sandbox, &[&liar], &[&DECLARED[..], &["--expected-region", "90,50,60,40"]].concat(), "regression");
}

#[test]
fn nothing_is_promoted_without_a_model_or_without_a_declared_change() {
    let sandbox = visual(&picture([255, 0, 0], true));
    review(&sandbox, &[], &DECLARED, "needs-review");
    review(&sandbox, &[&ModelServer::start(&[Reply::Say(ACCEPT)])], &[], "needs-review");
}

#[test]
fn a_promotion_that_does_not_end_in_fixed_is_undone() {
    let sandbox = visual(&picture([255, 0, 0], true));
    // Green once, red at both of the runs that prove it, again and again.
    sandbox.write("red_runs", "4 5 7 8");
    review(
        &sandbox,
        &[&ModelServer::start(&[Reply::Say(ACCEPT)])],
        &[&DECLARED[..], &["--flaky-threshold", "1"]].concat(),
        "flaky",
    );
}

#[test]
fn a_killed_promotion_is_undone_by_the_next_start() {
    let sandbox = visual(&picture([255, 0, 0], true));
    let before = bytes(&sandbox, BASELINE);
    sandbox.write("hold", "4");
    let tiers = tiers(&[&ModelServer::start(&[Reply::Say(ACCEPT)])]);
    // The server must live until the end of the heal.
    let server = ModelServer::start(&[Reply::Say(ACCEPT)]);
    let tier = tiers[1].split(",url=").next().map(|name| format!("{name},url={}/v1,free", server.url)).unwrap();
    let mut child = crate::heal_kit::start(&sandbox, &[&["--observe-tier", &tier][..], &DECLARED].concat());
    crate::heal_kit::until("the run that is held", || sandbox.file("held").exists());
    assert_ne!(bytes(&sandbox, BASELINE), before);
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.run(&["heal", "--recover"]).exits(0);
    assert_eq!(bytes(&sandbox, BASELINE), before);
}

#[test]
fn a_first_baseline_that_playwright_wrote_goes_again() {
    let sandbox = project(SPEC, "never", PAGE);
    sandbox.write(
        "red.json",
        &report(Some(("Error: A snapshot doesn't exist at /x/new-linux.png, writing actual.", 4, 9))),
    );
    let script = sandbox.read("run.sh").replace(
        "word=green\n",
        "word=green\nmkdir -p tests/a.spec.ts-snapshots; echo new > tests/a.spec.ts-snapshots/new-linux.png\n",
    );
    sandbox.write("run.sh", &script);
    let document = heal(&sandbox, &[]).exits(1).json();
    assert_eq!(document["verdict"], "needs-review", "{document:#}");
    assert!(!sandbox.file("tests/a.spec.ts-snapshots/new-linux.png").exists());
}

#[test]
fn three_images_alone_are_reviewed() {
    let sandbox = visual(&picture([255, 0, 0], true));
    let server = ModelServer::start(&[Reply::Say(ACCEPT)]);
    let tiers = tiers(&[&server]);
    let arguments = ["vrt", "review", BASELINE, "actual.png", "--json", &tiers[0], &tiers[1], DECLARED[0], DECLARED[1]];
    let document = sandbox.run(&arguments).exits(0).json();
    assert_eq!(
        (&document["verdict"], &document["outcome"], &document["model"]["calls"]),
        (&"accept".into(), &"intentional-change".into(), &1.into())
    );
    let unsure = sandbox.run(&["vrt", "review", BASELINE, "actual.png", "--json"]).exits(1).json();
    assert_eq!(
        (&unsure["verdict"], &unsure["measured"]["regions"][0]["kind"]),
        (&"unsure".into(), &"changed".into()),
        "{unsure:#}"
    );
    sandbox.run(&["vrt", "review", BASELINE, "run.sh"]).exits(2);
}

#[test]
fn a_picture_of_another_size_is_for_a_person_and_no_model_is_asked() {
    let mut larger = Vec::new();
    let mut encoder = png::Encoder::new(&mut larger, 160, 104);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&vec![255; 160 * 104 * 3]).unwrap();
    let (sandbox, server) = (visual(&larger), ModelServer::start(&[Reply::Say(ACCEPT)]));
    let document = review(&sandbox, &[&server], &DECLARED, "needs-review");
    assert!(document["reason"].as_str().unwrap().contains("another size"), "{document:#}");
    assert_eq!(server.calls(), 0);
}

#[test]
fn a_reviewer_that_talks_nonsense_leaves_it_to_a_person_and_is_told_what_was_declared() {
    let sandbox = visual(&picture([255, 0, 0], true));
    let server = ModelServer::start(&[Reply::Say("I cannot say.")]);
    review(&sandbox, &[&server], &DECLARED, "needs-review");
    let told =
        |server: &ModelServer| server.asked()[0].body.pointer("/messages/1/content").cloned().unwrap().to_string();
    assert!(told(&server).contains("The badge turns red"), "{}", told(&server));
    let server = ModelServer::start(&[Reply::Say(ACCEPT)]);
    review(&sandbox, &[&server], &[], "needs-review");
    assert!(told(&server).contains("No change was declared."));
}

#[test]
fn a_promotion_after_which_the_page_differs_again_is_undone_and_not_reviewed_again() {
    let sandbox = visual(&picture([255, 0, 0], true));
    sandbox.write("red_runs", "1 2 3 4 5 6 7 8 9");
    let server = ModelServer::start(&[Reply::Say(ACCEPT)]);
    review(&sandbox, &[&server], &DECLARED, "flaky");
    assert_eq!(server.calls(), 1);
}

#[test]
fn an_update_command_is_held_to_the_review() {
    let with = |command: &str, word: &str| -> (Sandbox, Value) {
        let sandbox = visual(&picture([255, 0, 0], true));
        std::fs::write(sandbox.file("tests/a.spec.ts-snapshots/other-linux.png"), picture([0, 0, 9], true)).unwrap();
        std::fs::write(sandbox.file("wrong.png"), picture([255, 0, 0], false)).unwrap();
        let server = ModelServer::start(&[Reply::Say(ACCEPT)]);
        let tiers = tiers(&[&server]);
        let options = [&[&tiers[0], &tiers[1], "--update-snapshots-command", command][..], &DECLARED].concat();
        let document = heal(&sandbox, &options).json();
        assert_eq!(document["verdict"], word, "{document:#}");
        assert_eq!(
            bytes(&sandbox, "tests/a.spec.ts-snapshots/other-linux.png"),
            picture([0, 0, 9], true),
            "an image that nobody reviewed is as it was"
        );
        (sandbox, document)
    };
    let folder = "tests/a.spec.ts-snapshots";
    let (sandbox, _) = with(
        &format!("cp actual.png {BASELINE}; cp wrong.png {folder}/other-linux.png; cp wrong.png {folder}/new.png"),
        "fixed",
    );
    assert_eq!(bytes(&sandbox, BASELINE), bytes(&sandbox, "actual.png"));
    assert!(!sandbox.file("tests/a.spec.ts-snapshots/new.png").exists());
    for (command, why) in
        [(format!("cp wrong.png {BASELINE}"), "another picture"), ("true".to_owned(), "left the baseline as it was")]
    {
        let (sandbox, document) = with(&command, "needs-review");
        assert!(document["reason"].as_str().unwrap().contains(why), "{document:#}");
        assert_eq!(bytes(&sandbox, BASELINE), picture([0, 0, 255], true));
    }
}

#[test]
fn a_first_baseline_in_a_folder_of_its_own_goes_again_and_those_of_other_platforms_are_named() {
    let sandbox = project(SPEC, "never", PAGE);
    sandbox.write("shots/page-darwin.png", "other");
    sandbox.write(
        "red.json",
        &report(Some(("Error: A snapshot doesn't exist at @ROOT@/shots/page-linux.png, writing actual.", 4, 9))),
    );
    let script = sandbox.read("run.sh").replace("word=green\n", "word=green\necho new > shots/page-linux.png\n");
    sandbox.write("run.sh", &script);
    let document = heal(&sandbox, &[]).exits(1).json();
    assert_eq!(document["verdict"], "needs-review", "{document:#}");
    assert!(document["reason"].as_str().unwrap().contains("there is one for darwin"), "{document:#}");
    assert!(!sandbox.file("shots/page-linux.png").exists() && sandbox.file("shots/page-darwin.png").exists());
}

/// A project whose button only a model finds, and whose screenshot differs once it is found.
fn both_kinds() -> Sandbox {
    let sandbox = hard();
    let shots = visual(&picture([255, 0, 0], true));
    sandbox.write(BASELINE, "");
    for name in [BASELINE, "actual.png"] {
        std::fs::write(sandbox.file(name), bytes(&shots, name)).unwrap();
    }
    sandbox.write("shot.json", &shots.read("red.json"));
    let differs = format!("[ $word = green ] && ! cmp -s actual.png {BASELINE} && word=shot\nif grep -q 'falsified");
    sandbox.write("run.sh", &sandbox.read("run.sh").replacen("if grep -q 'falsified", &differs, 1));
    sandbox
}

#[test]
fn locators_and_screenshots_are_paid_from_one_budget() {
    // A call is reserved at 4000 tokens of an answer, 0.008 USD, and costs 0.0001: two need 0.0081.
    for (budget, observed, word) in [("0.00805", 0, "needs-review"), ("0.00815", 1, "fixed")] {
        let sandbox = both_kinds();
        let codegen = ModelServer::start(&[Reply::Pick("Go live")]);
        let observe = ModelServer::start(&[Reply::Say(ACCEPT)]);
        let (pick, look) = (tier(&codegen, "prompt=0,answer=2"), tier(&observe, "prompt=0,answer=2"));
        let before = bytes(&sandbox, BASELINE);
        let tiers = ["--codegen-tier", &pick, "--observe-tier", &look, "--budget-usd", budget];
        let document = heal(&sandbox, &[&tiers[..], &DECLARED].concat()).json();
        assert_eq!(document["verdict"], word, "{document:#}");
        assert_eq!((codegen.calls(), observe.calls()), (1, observed), "{document:#}");
        let cost = document["model"]["costUsd"].as_f64().unwrap();
        let calls = f64::from(u32::try_from(1 + observed).unwrap());
        assert!((cost - 0.0001 * calls).abs() < 1e-9 && cost <= budget.parse().unwrap(), "{cost}");
        if word == "fixed" {
            assert_eq!(bytes(&sandbox, BASELINE), bytes(&sandbox, "actual.png"));
        } else {
            assert_eq!((sandbox.read(FILE), bytes(&sandbox, BASELINE)), (SPEC.to_owned(), before));
        }
    }
}
