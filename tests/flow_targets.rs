//! How a replay finds what it acts on, how often it looks, and where it stops: the cases R and L of the replay cache.

use serde_json::{Value, json};

use crate::flow_kit::{Lab, RW, record, recordings, run, step};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::Sandbox;

const DONE: Reply = Reply::Move("done", None, None);
const APPLY: &str = "<button onclick=\"did('apply'); say('10% off')\">Apply</button>";

/// A picture on which only a point can be pressed.
fn map(x: u32, y: u32) -> String {
    format!(
        "<img alt=Map style='position:absolute;left:{x}px;top:{y}px' width=200 height=100 src=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='200' height='100'/%3E\" onclick=\"did(event.offsetX + ' ' + event.offsetY); say('Pinned')\">"
    )
}

fn list(name: &str, height: &str, mode: &str) -> String {
    let lost = if mode == "lost" { "document.querySelector('li')?.remove();" } else { "" };
    let rows: Vec<String> = (1..40).map(|number| format!("<li style='height:40px'>{name} {number}</li>")).collect();
    let rows = rows.concat();
    format!(
        "<h1>List</h1><p role=status id=out></p><ul style='height:{height};overflow:auto;margin:0' onscroll=\"if (!this.seen) {{ this.seen = true; say('You have seen more') }} {lost}\">{rows}</ul><div style='height:3000px'></div>"
    )
}

fn page(path: &str, mode: &str) -> Option<String> {
    let out = "<p role=status id=out></p>";
    let body = match path {
        "/apply" => match mode {
            "removed" => format!("<h1>Shop</h1>{out}"),
            "twin" => format!("<h1>Shop</h1>{out}{APPLY}{APPLY}"),
            "disabled" => format!(
                "<h1>Shop</h1>{out}<button disabled>Apply</button><button onclick=\"say('10% off')\">Redeem</button>"
            ),
            "hangs" => format!(
                "<h1>Shop</h1>{out}<button onclick=\"const t = Date.now(); while (Date.now() - t < 60000);\">Apply</button>"
            ),
            _ => format!("<h1>Shop</h1>{out}{APPLY}"),
        },
        "/twins" => {
            let one = |name: &str| format!("<div><button onclick=\"did('{name}'); say('Added')\">Add</button></div>");
            let later = "<div id=late></div><script>setTimeout(() => { document.getElementById('late').innerHTML = `<div><button onclick=\"did('second'); say('Added')\">Add</button></div>` }, 5000)</script>";
            match mode {
                "rendering" => format!("<h1>Rows</h1>{out}{}{later}", one("first")),
                "three" => format!("<h1>Rows</h1>{out}{}{}{}", one("first"), one("second"), one("third")),
                _ => format!("<h1>Rows</h1>{out}{}{}", one("first"), one("second")),
            }
        }
        "/unnamed" => format!("<h1>Fields</h1>{out}<input onchange=\"say('Kept')\"><input>"),
        "/board" => {
            let bin = "<div role=button tabindex=0 aria-label=Bin ondragover=\"event.preventDefault()\" ondrop=\"did('dropped'); say('Thrown away')\">Bin</div>";
            let card = "<div role=button tabindex=0 draggable=true ondragstart=\"did('dragged'); event.dataTransfer.setData('text', 'card')\">Card</div>";
            format!("<h1>Board</h1>{out}{card}{}", if mode == "no bin" { "" } else { bin })
        }
        "/small" => list("Row", "200px", mode),
        "/big" => list("Row", "calc(100vh - 120px)", mode),
        "/code" => format!(
            "<h1>Entry</h1>{out}<button onclick=\"document.getElementById('code').hidden = false\">Show</button><p id=code hidden>Your code is KX-4711</p><label>Code <input></label><button onclick=\"did(document.querySelector('input').value); say('Right')\">Go</button>"
        ),
        "/wizard" => format!(
            "<h1>Step 1</h1><button onclick=\"did('next'); location = '{}'\">Next</button>",
            if mode == "blank" { "/blank" } else { "/apply" }
        ),
        "/blank" => String::new(),
        "/map" => match mode {
            "moved" => format!("<h1>Map</h1>{out}{}", map(500, 300)),
            "gone" => format!(
                "<h1>Map</h1>{out}<button onclick=\"did('plan')\" style='position:absolute;left:100px;top:150px;width:200px;height:100px'>Plan</button>"
            ),
            _ => format!("<h1>Map</h1>{out}{}", map(100, 150)),
        },
        "/canvas" => format!(
            "<h1>Paper</h1>{out}<canvas width=300 height=200 style='position:absolute;left:50px;top:200px' onclick=\"did('drawn'); say('Drawn')\"></canvas>"
        ),
        "/labels" => {
            let (label, id) = if mode.is_empty() { ("Apply", "go") } else { ("Redeem", "go") };
            format!(
                "<h1>Shop</h1>{out}<button data-testid={id} onclick=\"did('{label}'); say('10% off')\">{label}</button>"
            )
        }
        "/sliding" => {
            let slide = if mode.is_empty() {
                ""
            } else {
                "<script>{ const one = document.querySelector('button'); one.textContent = 'Redeem'; const began = Date.now(); const move = () => { const left = Math.max(0, 400 - (Date.now() - began) / 10); one.style.marginLeft = `${Math.round(left)}px`; if (left > 0) setTimeout(move, 10) }; move() }</script>"
            };
            format!(
                "<h1>Shop</h1>{out}<button data-testid=go onclick=\"did(this.style.marginLeft || '0px'); say('10% off')\">Apply</button>{slide}"
            )
        }
        "/likes" => format!(
            "<h1>Likes</h1>{out}<button onclick=\"did('like'); say('Liked')\">Like ({})</button>",
            if mode.is_empty() { "0" } else { "1,204" }
        ),
        "/consent" => {
            let banner = "<div role=dialog aria-label=Cookies style='position:fixed;inset:0;background:white'><p>We use cookies</p><button onclick=\"did('accept'); this.parentElement.remove()\">Accept all</button></div>";
            format!("<h1>Shop</h1>{out}{APPLY}{}", if mode.is_empty() { "" } else { banner })
        }
        _ => return None,
    };
    Some(body)
}

fn flow(open: &str, act: &str) -> String {
    format!("steps:\n  - open: {open}\n  - act: \"{act}\"\n  - expect: {{ role: heading }}\n")
}

fn cache(report: &Value) -> Value {
    step(report, 2)["cache"].clone()
}

fn start(open: &str, act: &str) -> (Lab, Sandbox) {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    record(&lab, &sandbox, &flow(open, act));
    (lab, sandbox)
}

#[test]
fn r15_r16_a_replay_begins_with_the_look_that_the_step_began_with_and_gives_up_after_nine() {
    let (lab, sandbox) = start("/apply", "tap 'Apply'");
    let report = lab.run_alone(&sandbox, &[]).exits(0).json();
    assert_eq!(cache(&report)["looks"], 2, "one to begin with, one at the end: {report:#}");
    lab.pressed();
    lab.set("removed");
    let cache = cache(&sandbox.run(&["flow", "flows", "--json", "--base-url", &lab.url]).exits(2).json());
    assert_eq!((&cache["reason"], &cache["looks"]), (&json!("target-not-found"), &json!(9)), "{cache:#}");
    assert!(lab.pressed().is_empty());
}

#[test]
fn r18_two_that_read_alike_without_a_recorded_place_are_ambiguous_at_the_first_look() {
    let (lab, sandbox) = start("/apply", "tap 'Apply'");
    lab.set("twin");
    let cache = cache(&sandbox.run(&["flow", "flows", "--json", "--base-url", &lab.url]).exits(2).json());
    assert_eq!((&cache["reason"], &cache["looks"]), (&json!("target-ambiguous"), &json!(1)), "{cache:#}");
    assert!(lab.pressed().is_empty());
}

#[test]
fn l45_two_that_read_as_recorded_are_ambiguous_with_the_ladder_too() {
    let (lab, sandbox) = start("/apply", "tap 'Apply'");
    lab.set("twin");
    let report = lab.run_alone(&sandbox, &["--relocate"]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], lab.pressed().len()), (&json!("target-ambiguous"), 0), "{report:#}");
}

#[test]
fn r19_r20_twins_that_are_still_drawn_are_waited_for_and_another_number_of_them_is_ambiguous() {
    let (lab, sandbox) = start("/twins", "tap 'Add'");
    lab.set("rendering");
    let report = sandbox.run(&["flow", "flows", "--json", "--base-url", &lab.url]).exits(0).json();
    assert_eq!((&cache(&report)["mode"], lab.pressed()), (&json!("self-finalized"), vec!["first".to_owned()]));
    assert!(cache(&report)["looks"].as_u64().unwrap() > 2, "{report:#}");
    lab.set("three");
    let report = lab.run_alone(&sandbox, &[]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], lab.pressed().len()), (&json!("target-ambiguous"), 0), "{report:#}");
}

#[test]
fn r26_a_field_that_nothing_tells_from_others_makes_a_recording_that_only_documents() {
    let (lab, sandbox) = start("/unnamed", "type 'Ada' into ''; press 'Tab' anywhere");
    let entry: Value = serde_json::from_str(&sandbox.read(&recordings(&sandbox)[0])).unwrap();
    assert!(entry["truncated"].as_str().unwrap().contains("nothing tells"), "{entry:#}");
    let report = lab.run_alone(&sandbox, &[]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], &cache(&report)["replayedActions"]), (&json!("truncated"), &json!(0)));
}

#[test]
fn r27_a_drag_whose_end_is_not_there_is_not_begun() {
    let (lab, sandbox) = start("/board", "drag 'Card' to 'Bin'");
    lab.set("no bin");
    let report = lab.run_alone(&sandbox, &[]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], lab.pressed().len()), (&json!("target-not-found"), 0), "{report:#}");
}

#[test]
fn r29_a_folded_scroll_is_looked_at_before_each_repeat_and_a_lost_list_leaves_the_window_only_when_it_spanned_it() {
    let act = "scroll '0,60' in 'Row 1'; scroll '0,60' in 'Row 1'; scroll '0,60' in 'Row 1'";
    let (lab, sandbox) = start("/small", act);
    let entry: Value = serde_json::from_str(&sandbox.read(&recordings(&sandbox)[0])).unwrap();
    assert_eq!(
        (entry["actions"].as_array().unwrap().len(), &entry["actions"][0]["times"]),
        (1, &json!(3)),
        "{entry:#}"
    );
    let report = lab.run_alone(&sandbox, &[]).exits(0).json();
    assert_eq!(cache(&report)["looks"], 4, "to begin with, before two repeats, at the end: {report:#}");
    lab.set("lost");
    let model = ModelServer::start(&[DONE]);
    let report = run(&lab, &sandbox, &model, &[]).exits(0).json();
    let told = cache(&report);
    assert_eq!(
        (&told["mode"], &told["reason"], &told["replayedActions"]),
        (&json!("agent-concluded"), &json!("target-not-found"), &json!(1)),
        "{report:#}"
    );
    assert!(
        model.asked()[0].words().contains("1. scroll text \"Row 1\" by 0,60")
            || model.asked()[0].words().contains("1. scroll listitem \"Row 1\" by 0,60"),
        "{}",
        model.asked()[0].words()
    );
    let (lab, sandbox) = start("/big", act);
    lab.set("lost");
    let report = lab.run_alone(&sandbox, &[]).exits(0).json();
    assert_eq!(report["cache"]["replayed"], 1, "{report:#}");
}

#[test]
fn r30_w77_a_replay_stops_before_what_this_run_alone_made_and_the_same_way_is_not_written_again() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    sandbox.write("flows/f.yaml", &flow("/code", "enter the code that is shown"));
    let way = [
        Reply::Move("tap", Some("Show"), None),
        Reply::Move("type", Some("Code"), Some("KX-4711")),
        Reply::Move("tap", Some("Go"), None),
        DONE,
    ];
    run(&lab, &sandbox, &ModelServer::start(&way), RW).exits(0);
    let path = recordings(&sandbox).remove(0);
    let before = sandbox.read(&path);
    lab.pressed();
    let model = ModelServer::start(&way[1..]);
    let report = run(&lab, &sandbox, &model, &["--cache", "read-write", "--strict-cache"]).exits(0).json();
    let cache = cache(&report);
    assert_eq!(
        (&cache["reason"], &cache["derived"], &cache["replayedActions"]),
        (&json!("gap"), &json!("minted-token"), &json!(1)),
        "{report:#}"
    );
    assert_eq!((&cache["write"], lab.pressed()), (&json!("kept"), vec!["KX-4711".to_owned()]));
    assert_eq!(sandbox.read(&path), before);
}

#[test]
fn r31_a_refused_action_is_handed_over_and_fails_no_step() {
    let (lab, sandbox) = start("/apply", "tap 'Apply'");
    lab.set("disabled");
    let model = ModelServer::start(&[Reply::Move("tap", Some("Redeem"), None), DONE]);
    let report = run(&lab, &sandbox, &model, RW).exits(0).json();
    assert_eq!(
        (&cache(&report)["reason"], &cache(&report)["write"]),
        (&json!("action-failed"), &json!("saved")),
        "{report:#}"
    );
}

#[test]
fn r32_an_action_that_may_have_arrived_is_named_and_not_repeated() {
    let (lab, sandbox) = start("/apply", "hover 'Apply'; tap 'Apply'");
    lab.set("hangs");
    let model = ModelServer::start(&[DONE]);
    let report = run(&lab, &sandbox, &model, &[]).json();
    let cache = cache(&report);
    assert_eq!((&cache["reason"], &cache["replayedActions"]), (&json!("action-uncertain"), &json!(1)), "{report:#}");
    let words = model.asked()[0].words();
    assert!(words.contains("may have reached the application: tap button \"Apply\""), "{words}");
}

#[test]
fn r33_a_step_whose_time_is_over_ends_as_that() {
    let (lab, sandbox) = start("/apply", "hover 'Apply'; tap 'Apply'");
    let limited =
        flow("/apply", "hover 'Apply'; tap 'Apply'").replace("  - expect", "    timeout_ms: 4000\n  - expect");
    sandbox.write("flows/f.yaml", &limited);
    lab.set("removed");
    let report = run(&lab, &sandbox, &ModelServer::start(&[Reply::Hang]), RW).exits(1).json();
    assert_eq!((&step(&report, 2)["code"], recordings(&sandbox).len()), (&json!("STEP_TIMEOUT"), 1), "{report:#}");
}

#[test]
fn r34_a_screen_that_cannot_be_read_before_the_second_action_stops_after_the_first() {
    let (lab, sandbox) = start("/wizard", "tap 'Next'; tap 'Apply'");
    lab.set("blank");
    let cache = cache(&lab.run_alone(&sandbox, &[]).exits(2).json());
    assert_eq!((&cache["reason"], &cache["replayedActions"]), (&json!("action-failed"), &json!(1)), "{cache:#}");
    assert_eq!(lab.pressed(), ["next"]);
}

#[test]
fn r36_r37_r38_a_point_follows_the_picture_that_it_was_recorded_in_and_goes_with_it() {
    let (lab, sandbox) = start("/map", "tap_at '150,175' there");
    lab.run_alone(&sandbox, &[]).exits(0);
    assert_eq!(lab.pressed(), ["50 25"]);
    lab.set("moved");
    lab.run_alone(&sandbox, &["--viewport", "900x700"]).exits(0);
    assert_eq!(lab.pressed(), ["50 25"]);
    lab.set("gone");
    let report = lab.run_alone(&sandbox, &[]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], lab.pressed().len()), (&json!("target-not-found"), 0), "{report:#}");
    // Nothing says what lies under this one.
    let (lab, sandbox) = start("/canvas", "tap_at '100,250' there");
    lab.run_alone(&sandbox, &[]).exits(0);
    assert_eq!(lab.pressed(), ["drawn"]);
    let report = lab.run_alone(&sandbox, &["--viewport", "900x700"]).exits(2).json();
    assert_eq!((&cache(&report)["reason"], lab.pressed().len()), (&json!("viewport-changed"), 0), "{report:#}");
}

#[test]
fn l41_l52_with_the_ladder_a_new_label_at_the_same_test_id_replays_is_counted_and_heals() {
    let (lab, sandbox) = start("/labels", "tap 'Apply'");
    lab.set("renamed");
    let report = lab.run_alone(&sandbox, &[]).exits(2).json();
    assert_eq!(cache(&report)["reason"], "target-not-found", "off unless it is asked for: {report:#}");
    let ladder: &[&str] = &["--cache", "read-write", "--relocate"];
    let report = lab.run_alone(&sandbox, ladder).exits(0).json();
    let told = cache(&report);
    assert_eq!(
        (&told["mode"], &told["relocated"], &told["write"]),
        (&json!("self-finalized"), &json!(1), &json!("saved")),
        "{report:#}"
    );
    assert_eq!((&report["cache"]["relocated"], lab.pressed()), (&json!(1), vec!["Redeem".to_owned()]));
    let report = lab.run_alone(&sandbox, ladder).exits(0).json();
    assert_eq!((&cache(&report)["relocated"], &cache(&report)["write"]), (&Value::Null, &json!("kept")), "{report:#}");
}

#[test]
fn l49_a_control_that_slides_is_acted_on_only_when_it_is_still() {
    let (lab, sandbox) = start("/sliding", "tap 'Apply'");
    lab.set("sliding");
    let report = lab.run_alone(&sandbox, &["--relocate"]).exits(0).json();
    assert_eq!((&cache(&report)["relocated"], lab.pressed()), (&json!(1), vec!["0px".to_owned()]), "{report:#}");
}

#[test]
fn a_label_that_a_flow_declares_replays_whatever_its_number() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    let flow = format!("labels: [\"Like ({{number}})\"]\n{}", flow("/likes", "tap 'Like (0)'"));
    record(&lab, &sandbox, &flow);
    assert!(sandbox.read(&recordings(&sandbox)[0]).contains("Like ({number})"));
    lab.set("later");
    let report = lab.run_alone(&sandbox, RW).exits(0).json();
    assert_eq!(
        (&cache(&report)["mode"], lab.pressed()),
        (&json!("self-finalized"), vec!["like".to_owned()]),
        "{report:#}"
    );
}

#[test]
fn an_overlay_that_a_flow_declares_is_put_away_and_never_recorded() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    let declared = format!("dismiss: [{{ role: button, name: Accept all }}]\n{}", flow("/consent", "tap 'Apply'"));
    lab.set("banner");
    record(&lab, &sandbox, &declared);
    let text = sandbox.read(&recordings(&sandbox)[0]);
    assert!(!text.contains("Accept") && !text.contains("cookies"), "{text}");
    for (mode, pressed, dismissed) in [("", vec!["apply"], Value::Null), ("banner", vec!["accept", "apply"], json!(1))]
    {
        lab.set(mode);
        let report = lab.run_alone(&sandbox, RW).exits(0).json();
        assert_eq!(
            (report["cache"]["replayed"].as_u64(), lab.pressed()),
            (Some(1), pressed.into_iter().map(str::to_owned).collect()),
            "{report:#}"
        );
        assert_eq!(step(&report, 2)["dismissed"], dismissed, "{report:#}");
    }
    // Without the declaration it stands in the way.
    sandbox.write("flows/f.yaml", &flow("/consent", "tap 'Apply'"));
    let report = lab.run_alone(&sandbox, RW).exits(2).json();
    assert_eq!(lab.pressed().len(), 0, "{report:#}");
}

#[test]
fn a_recording_made_with_moves_of_all_kinds_is_one_that_the_flow_reads_again() {
    let (lab, sandbox) = (Lab::start(page), Sandbox::new());
    sandbox.write("flows/f.yaml", &flow("/code", "hover_at '20,20' there; type 'AB' anywhere; tap 'Go'"));
    let model = ModelServer::start(&[
        Reply::Move("tap", Some("Code"), None),
        Reply::Move("type", None, Some("AB")),
        Reply::Move("hover_at", None, Some("20,20")),
        Reply::Move("tap", Some("Go"), None),
        DONE,
    ]);
    run(&lab, &sandbox, &model, RW).exits(0);
    lab.pressed();
    let report = lab.run_alone(&sandbox, RW).exits(0).json();
    assert_eq!((report["cache"]["replayed"].as_u64(), lab.pressed()), (Some(1), vec!["AB".to_owned()]), "{report:#}");
}
