use proptest::prelude::*;

use super::*;
use crate::flow::parse;
use crate::flow::recording::{Descriptor, KeyedBy};

fn terms() -> FlowTerms {
    FlowTerms {
        base: Url::parse("http://a.b/").unwrap(),
        settings: Settings::default(),
        target: "chromium".into(),
        params: BTreeMap::new(),
    }
}

fn action(verb: Verb, value: &str) -> RecordedAction {
    let target = Descriptor { role: "textbox".into(), name: Some("Code".into()), ..Descriptor::default() };
    RecordedAction { target: Some(target), value: Some(value.into()), ..RecordedAction::new(verb) }
}

fn entry(actions: Vec<RecordedAction>) -> Entry {
    let json = serde_json::json!({
        "schemaVersion": "trace-1", "createdAt": "2026-05-02T10:15:00Z", "executor": "m", "actions": [],
        "recordedFor": { "testId": "", "targetId": "", "instructionDigest": "", "paramsDigest": "", "callIndex": 0, "instruction": "" }
    });
    Entry { actions, ..serde_json::from_value(json).unwrap() }
}

/// The spec of a flow whose second step has this recording.
fn spec(more: &str, entry: Entry) -> Result<FlowSpec, Vec<Missing>> {
    let flow = parse("flows/f.yaml", &format!("{more}steps:\n  - open: /x\n  - act: do it\n")).unwrap();
    let values = values_of(&flow, &BTreeMap::new()).unwrap();
    write_spec(&flow, &values, &BTreeMap::from([(2, Ok(entry))]), &terms())
}

fn text(more: &str, entry: Entry) -> String {
    spec(more, entry).unwrap().document.text
}

proptest! {
    #[test]
    fn no_text_of_a_page_or_a_recording_becomes_code(words in any::<String>()) {
        prop_assume!(!words.is_empty() && !words.contains("{{param:") && !words.contains('…'));
        let of = |words: &str| {
            let mut typed = action(Verb::Type, words);
            typed.target = Some(Descriptor {
                name: Some(words.into()), within: Some(words.into()), test_id: Some(words.into()),
                placeholder: Some(words.into()), ..typed.target.unwrap_or_default()
            });
            let came = Anchor { role: "status".into(), name: words.into(), ..Anchor::default() };
            let entry = Entry { end_path: Some(words.into()), end_anchors: vec![came], ..entry(vec![typed]) };
            text("", entry)
        };
        // A text that left its literal or its comment would add a line, or take one away.
        prop_assert_eq!(of(&words).lines().count(), of("plain").lines().count());
    }
}

#[test]
fn every_action_is_played() {
    let plain = |verb, value: &str| RecordedAction { target: None, ..action(verb, value) };
    let actions = vec![
        action(Verb::DoubleTap, ""),
        action(Verb::SecondaryTap, ""),
        action(Verb::LongPress, ""),
        action(Verb::Hover, ""),
        action(Verb::TypeSecret, "PIN"),
        action(Verb::Press, "Enter"),
        plain(Verb::Press, "Control+K"),
        action(Verb::Select, "Red"),
        action(Verb::Check, "false"),
        action(Verb::Upload, "[\"a.txt\",\"b.txt\"]"),
        RecordedAction { to: action(Verb::Tap, "").target, ..action(Verb::Drag, "") },
        RecordedAction { times: Some(3), ..plain(Verb::Scroll, "0,200") },
        plain(Verb::Navigate, "http://a.b/y?q=1"),
        plain(Verb::Back, ""),
        plain(Verb::TypeText, "hello"),
    ];
    let text = text("", entry(actions));
    for part in [
        ".dblclick();",
        ".click({ button: 'right' });",
        ".click({ delay: 1000 });",
        ".hover();",
        r#".fill(secret("AGENT_TEST_SECRET_PIN"));"#,
        r#".press("Enter");"#,
        r#"page.keyboard.press("Control+K");"#,
        r#".selectOption({ label: "Red" });"#,
        ".setChecked(false);",
        r#".setInputFiles(["a.txt", "b.txt"]);"#,
        ".dragTo(page.getByRole",
        "scroll(page.locator(':root'), 0, 200, 3);",
        r#"page.goto(new URL("/y?q=1", BASE).href);"#,
        "page.goBack();",
        r#"page.keyboard.type("hello");"#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn values_of_the_run_stand_in_the_place_of_their_slots() {
    assert_eq!(filled(r#"x("{{param:/who}}")"#), r#"x(values["who"])"#);
    assert_eq!(filled(r#"x("/u/{{param:/who:percent}}?a")"#), r#"x("/u/" + percent(values["who"]) + "?a")"#);
    assert_eq!(filled(r#"x("a\"{{param:/who}}\"")"#), r#"x("a\"" + values["who"] + "\"")"#);
}

#[test]
fn what_cannot_be_played_is_told_with_its_step() {
    let why = |more: &str, entry: Entry| spec(more, entry).unwrap_err()[0].to_string();
    let gap = why("", entry(vec![action(Verb::Gap, "")]));
    assert!(
        gap.starts_with("flows/f.yaml:3, step 2 (act: do it): action 1") && gap.contains("cannot be repeated"),
        "{gap}"
    );
    assert!(why("", entry(vec![action(Verb::Type, "{{param:/nobody}}")])).contains("nothing fills {{param:/nobody}}"));
    let bare = Descriptor { role: "textbox".into(), ..Descriptor::default() };
    assert!(
        why("", entry(vec![RecordedAction { target: Some(bare), ..action(Verb::Tap, "") }])).contains("neither a name")
    );
    let declared = Descriptor { name: Some("Like ({number})".into()), ..action(Verb::Tap, "").target.unwrap() };
    let likes = entry(vec![RecordedAction { target: Some(declared), ..action(Verb::Tap, "") }]);
    assert!(why("labels: [\"Like ({number})\"]\n", likes).contains("declared"));
}

#[test]
fn a_change_that_reads_otherwise_each_time_is_not_checked_and_that_is_told() {
    let saved = Anchor { role: "status".into(), text: "Saved at 10:42".into(), ..Anchor::default() };
    let entry = Entry { end_anchors: vec![saved], keyed_by: None::<KeyedBy>, ..entry(vec![action(Verb::Tap, "")]) };
    let spec = spec("", entry).unwrap();
    assert!(spec.notes[0].contains("another text each time"), "{:?}", spec.notes);
    assert!(spec.document.text.contains("// Not checked, it is another text each time: status \"Saved at 10:42\"."));
}
