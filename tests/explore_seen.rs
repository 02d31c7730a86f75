//! What a look holds: controls in boxes that scroll, late pages, long lists; and the journal that tells of all of it.

use std::sync::LazyLock;

use serde_json::Value;

use crate::explore_kit::{PASSWORD, Ran, USERNAME};

const PAGES: &[(&str, &str)] = &[
    (
        "/scroller",
        "<div style='height: 160px; overflow: hidden'><div style='height: 160px; overflow: auto'><div style='height: 700px'>Tall</div>
          <button onclick='hit(`scroller/below`)'>Below</button></div></div>
        <div style='height: 40px; overflow: hidden'><div style='height: 60px'>Cut off</div><button onclick='hit(`scroller/cut`)'>Cut</button></div>",
    ),
    (
        "/late",
        "<!doctype html><title>Late</title><body><script>const tick = new Worker(URL.createObjectURL(new Blob(['setTimeout(() => postMessage(0), 400)'])));
        tick.onmessage = () => { document.body.innerHTML = '<button onclick=\"fetch(`/hit/late`); this.textContent = `Done`\">Drawn late</button>'; };</script>",
    ),
    (
        "/rows",
        "<table><thead><tr><th>Name</th></tr></thead><tbody id=rows></tbody></table>
        <script>get('rows').innerHTML = Array.from({ length: 80 }, (_, n) => `<tr><td>Entry ${n}</td></tr>`).join('');
        get('rows').addEventListener('click', () => show('row'));</script>",
    ),
    (
        "/timers",
        "<button onclick='location.reload()'>Again</button><button onclick='pressed = true; setTimeout(later, 400)'>Later</button>
        <button onclick='location.reload()'>Once more</button>
        <script>let pressed = false; const later = () => { if (pressed) show('it is later'); }; setTimeout(later, 400);</script>",
    ),
    (
        "/handlers",
        "<div id=set>Set as a property</div><div id=taken>Taken away again</div><p class=told>Told to the document</p><p class=other>Not told of</p>
        <div id=list><p class=listed>Listed</p><p>Plain of the list</p></div>
        <script>get('set').onclick = () => hit('handlers/set'); get('taken').onclick = () => hit('handlers/taken'); get('taken').onclick = null;
        window.jQuery = { _data: (owner, what) => what !== 'events' ? undefined : owner === document ? { click: [{ selector: '.told' }] } : owner.id === 'list' ? { click: [{ selector: '.listed' }] } : undefined };
        get('list').addEventListener('click', (event) => { if (event.target.closest('.listed')) hit('handlers/listed'); });
        document.addEventListener('click', (event) => { if (event.target.closest('.told')) hit('handlers/told'); });</script>",
    ),
    (
        "/edited",
        "<div id=host></div><div contenteditable>Plain</div>
        <script>get('host').attachShadow({ mode: 'open' }).innerHTML = '<div contenteditable aria-label=Inside>x</div>';</script>",
    ),
    ("/login", "<form method=post action=/login><input name=u aria-label=User><input name=p type=password aria-label=Pass><button>Sign in</button></form>"),
    ("/in/home", "<button onclick='show(`home`)'>Home</button>"),
];

static RAN: LazyLock<Ran> = LazyLock::new(|| {
    let routes = ["/scroller", "/late", "/rows", "/timers", "/handlers", "/edited", "/in/home"];
    let variables =
        [("AGENT_TEST_USERNAME", USERNAME), ("AGENT_TEST_PASSWORD", PASSWORD), ("AGENT_TEST_LOG", "journal=trace")];
    Ran::explore(PAGES, &routes, &[], &variables)
});

/// The journal's lines.
fn journal() -> Vec<Value> {
    let lines = RAN.answer.stderr.lines().filter_map(|line| line.split_once(" journal: "));
    lines.map(|(_, line)| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_lies_below_the_fold_of_an_inner_box_is_used() {
    RAN.assert_hit("scroller/below");
}

#[test]
fn what_a_box_without_a_way_to_scroll_cuts_off_is_left_alone() {
    RAN.assert_untouched("/hit/scroller/cut");
}

#[test]
fn a_page_that_draws_itself_after_its_load_is_explored() {
    assert_eq!(RAN.result("/late", "Drawn late"), "content_changed");
    RAN.assert_hit("late");
}

#[test]
fn rows_of_one_listener_are_all_counted() {
    let found = RAN.report("/rows")["coverage"]["found"].as_u64().unwrap();
    assert!(found >= 80, "{found}");
}

#[test]
fn a_handler_that_is_a_property_betrays_a_control_while_it_is_there() {
    RAN.assert_hit("handlers/set");
    assert!(!RAN.report("/handlers").to_string().contains("Taken away"));
}

#[test]
fn what_jquery_hears_of_at_the_document_or_a_container_is_a_control_and_its_neighbours_are_not() {
    RAN.assert_hit("handlers/told");
    RAN.assert_hit("handlers/listed");
    let report = RAN.report("/handlers").to_string();
    assert!(!report.contains("Not told of") && !report.contains("Plain of the list"), "{report}");
}

#[test]
fn editable_text_is_a_field_inside_a_shadow_root_too() {
    assert_eq!(RAN.report("/edited")["coverage"]["found"], 2, "{:#}", RAN.report("/edited"));
}

#[test]
fn a_timer_that_did_nothing_at_the_load_is_waited_for_after_a_press() {
    assert_eq!(RAN.result("/timers", "Later"), "content_changed");
}

#[test]
fn the_journal_tells_every_press_and_what_was_seen_after_it() {
    let ops: Vec<String> = journal().iter().map(|line| line["op"].as_str().unwrap().to_owned()).collect();
    for op in ["session", "goto", "look", "shot", "target", "move", "press", "type", "end"] {
        assert!(ops.iter().any(|one| one == op), "no {op} in {ops:?}");
    }
    let presses = ops.iter().filter(|op| *op == "press").count();
    let looks = ops.iter().filter(|op| *op == "look").count();
    assert!(presses > 0 && looks >= presses, "{presses} presses, {looks} looks");
}

#[test]
fn the_journal_holds_no_text_that_is_typed() {
    assert!(!RAN.answer.stderr.contains(PASSWORD));
}

/// A screen whose first control opens more and more that is new, and eight that are plain.
const MAZE: &[(&str, &str)] = &[(
    "/maze",
    "<div id=maze><button onclick='grow(this)'>Amber</button></div><hr>
    <button onclick='hit(`one`)'>First</button><a href='#two' onclick='hit(`two`)'>Second</a><input type=checkbox aria-label=Third onchange='hit(`three`)'>
    <select aria-label=Fourth onchange='hit(`four`)'><option>x<option>y</select><button role=switch aria-checked=false onclick='hit(`five`)'>Fifth</button>
    <summary role=button tabindex=0 onclick='hit(`six`)'>Sixth</summary><button class=other onclick='hit(`seven`)'>Seventh</button>
    <script>let n = 0; const words = ['Beryl', 'Coral', 'Diamond', 'Emerald', 'Flint', 'Garnet', 'Heliodor', 'Iolite', 'Jade', 'Kunzite'];
    const grow = (from) => { for (let i = 0; i < 3; i += 1) { const tag = ['button', 'a', 'div'][i]; const next = document.createElement(tag);
      next.className = 'kind' + n; next.setAttribute('role', ['button', 'link', 'menuitem'][i]); next.tabIndex = 0; next.textContent = words[n % 10] + ' ' + String.fromCharCode(97 + n % 26) + 'x';
      n += 1; next.onclick = () => grow(next); document.getElementById('maze').append(next); } };</script>",
)];

#[test]
fn a_deep_branch_leaves_the_limit_that_the_rest_of_the_screen_needs() {
    let ran = Ran::explore_set(MAZE, &["/maze"], &["--no-confirm"], &[], "[limits]\nactions = 24\n");
    for what in ["one", "two", "three", "four", "five", "six", "seven"] {
        ran.assert_hit(what);
    }
    let report = ran.report("/maze");
    assert!(!report["action_tree"]["toolbar"][0]["children"].as_array().unwrap().is_empty(), "{report:#}");
    assert!(report["limits"].to_string().contains("is kept for the screens above"), "{:#}", report["limits"]);
}
